//! Switching: what a router does with a packet that arrives.
//!
//! With each of these a packet starts on a link only when the buffer at the far end has room for the whole of it, and its
//! room comes back when its tail has left: what a [`Switching`] decides is when a packet may be forwarded. Wormhole
//! switching, which reserves room by the flit and stops packets on links, needs more than that.

use chasqui_engine::Time;

chasqui_config::choice! {
    /// What a router does with a packet that arrives.
    pub enum Switching {
        /// The head is forwarded while the rest still arrives; a packet that is blocked is buffered whole.
        CutThrough = "cut-through",
        /// A packet is forwarded when all of it has arrived.
        StoreAndForward = "store-and-forward",
    }
}

/// What a packet spends in a router that has nothing else to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forwarding {
    pub switching: Switching,
    /// What a router needs to find the way.
    pub routing_delay: Time,
}

impl Forwarding {
    /// From the arrival of a packet's head to when the packet may leave, if nothing is in its way; it occupies a link for
    /// `serialization`.
    #[inline]
    pub fn after(self, serialization: Time) -> Time {
        match self.switching {
            // The head is all that routing needs. Links are alike, so the rest never arrives too late. P. Kermani and
            // L. Kleinrock, "Virtual cut-through: a new computer communication switching technique", Computer Networks 3,
            // 1979; J. Duato, S. Yalamanchili and L. Ni, "Interconnection Networks", section 2.2, for its place beside
            // wormhole switching.
            Switching::CutThrough => self.routing_delay,
            // The tail has arrived, and then the packet is routed (Duato, Yalamanchili and Ni, section 2.2). Ethernet
            // bridges that check a frame before they send it on do so.
            Switching::StoreAndForward => serialization + self.routing_delay,
        }
    }
}

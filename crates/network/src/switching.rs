//! Switching: what a router does with a packet that arrives.
//!
//! With each of these a packet starts on a link only when the buffer at the far end has room for the whole of it, and its
//! room comes back when its tail has left: what a [`Switching`] decides is when a packet may be forwarded, and whether
//! several may be the pieces of a worm.
//!
//! A worm's pieces are its flits: room is reserved for each of them, and a worm that is stopped lies in the buffers along its
//! way, whose links it holds. So are worms in a network of stop and go symbols, where what stands for credits is a mark of how
//! full the buffer is: it must have room for what is on its way until *stop* has come to the sender and *go* has been obeyed,
//! two latencies of the cable, and so must ours if the link is to be busy (N. Boden et al., "Myrinet: a gigabit-per-second
//! local area network", IEEE Micro 15(1), 1995: the slack buffer).
//!
//! Deadlock: a worm holds channels while it waits for the next, in the order in which a route takes them, as packets hold
//! buffers. So the order of channels that each topology gives is enough for worms too (Dally and Seitz 1987, whose theorem is
//! about worms).

use chasqui_engine::Time;

chasqui_config::choice! {
    /// What a router does with a packet that arrives.
    pub enum Switching {
        /// The head is forwarded while the rest still arrives; a packet that is blocked is buffered whole.
        CutThrough = "cut-through",
        /// A packet is forwarded when all of it has arrived.
        StoreAndForward = "store-and-forward",
        /// As cut-through; and several packets may be the pieces of a worm, for which links are held until the last has passed.
        Wormhole = "wormhole",
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
            // A worm's pieces are alike in this: the later ones need no routing, but come as long behind each other as they
            // left.
            Switching::CutThrough | Switching::Wormhole => self.routing_delay,
            // The tail has arrived, and then the packet is routed (Duato, Yalamanchili and Ni, section 2.2). Ethernet
            // bridges that check a frame before they send it on do so.
            Switching::StoreAndForward => serialization + self.routing_delay,
        }
    }
}

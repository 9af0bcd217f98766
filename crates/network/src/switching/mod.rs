//! Switching: what a router does with a packet that arrives. One file per alternative.
//!
//! With each of these a packet starts on a link only when the buffer at the far end has room for the whole of it, and its
//! room comes back when its tail has left: what a [`Switching`] decides is when a packet may be forwarded. Wormhole
//! switching, which reserves room by the flit and stops packets on links, needs more than that.

mod cut_through;
mod store_and_forward;
mod technique;

use chasqui_engine::Time;

use cut_through::CutThrough;
use store_and_forward::StoreAndForward;
use technique::Technique;

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
    /// From the arrival of a packet's head to when the packet may leave; it occupies a link for `serialization`.
    #[inline]
    pub fn after(self, serialization: Time) -> Time {
        match self.switching {
            Switching::CutThrough => CutThrough::forward_after(self.routing_delay, serialization),
            Switching::StoreAndForward => StoreAndForward::forward_after(self.routing_delay, serialization),
        }
    }
}

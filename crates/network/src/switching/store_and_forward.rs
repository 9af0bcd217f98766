//! Store-and-forward switching (J. Duato, S. Yalamanchili and L. Ni, "Interconnection Networks", section 2.2): each
//! router waits for the whole packet. Ethernet bridges that check a frame before they send it on do so.

use chasqui_engine::Time;

use super::technique::Technique;

pub(super) struct StoreAndForward;

impl Technique for StoreAndForward {
    /// The tail has arrived, and then the packet is routed.
    #[inline]
    fn forward_after(routing_delay: Time, serialization: Time) -> Time {
        serialization + routing_delay
    }
}

//! What switching techniques have in common.

use chasqui_engine::Time;

/// A switching technique.
pub(super) trait Technique {
    /// From the arrival of a packet's head at a router to when the packet may leave, nothing being in its way.
    /// `routing_delay`: what the router needs to find the way. `serialization`: time for which the packet occupies a link.
    fn forward_after(routing_delay: Time, serialization: Time) -> Time;
}

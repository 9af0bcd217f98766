//! Virtual cut-through (P. Kermani and L. Kleinrock, "Virtual cut-through: a new computer communication switching
//! technique", Computer Networks 3, 1979; J. Duato, S. Yalamanchili and L. Ni, "Interconnection Networks", section
//! 2.2, for its place beside wormhole switching).

use chasqui_engine::Time;

use super::technique::Technique;

pub(super) struct CutThrough;

impl Technique for CutThrough {
    /// The head is all that routing needs. Links are alike, so the rest never arrives too late.
    #[inline]
    fn forward_after(routing_delay: Time, _: Time) -> Time {
        routing_delay
    }
}

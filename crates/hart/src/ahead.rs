//! Running ahead of the other harts of a node, whose transactions may yet come before what has been executed.
//!
//! A hart runs ahead by instructions that depend on nothing but itself: whose fetches and accesses hit, and that do not
//! concern system software or observers. Before any other it stops ([`crate::Halt::Turn`]), for its turn. If another hart's
//! transaction turns out to come before, and to concern a line that was used meanwhile, everything is taken back, and
//! executed again as far as that. (As an optimistic simulation, with a hart as the process: D. R. Jefferson, "Virtual
//! time", ACM TOPLAS 7, 1985.)

use crate::State;
use crate::hart::HartStatistics;
use crate::predictor::Predictor;

/// What a hart was when it began to run ahead, beside its port.
pub struct Before {
    pub(crate) state: State,
    pub(crate) cycle: u64,
    pub(crate) statistics: HartStatistics,
    pub(crate) predictor: Predictor,
    pub(crate) fetched: u8,
}

impl Before {
    /// The cycle at which it began.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }
}

//! Running ahead of the other harts of a node, whose transactions may yet come before what has been executed.
//!
//! A hart runs ahead by instructions that depend on nothing but itself: whose fetches and accesses hit, and that do not
//! concern system software or observers. Before any other it stops ([`Halt::Turn`]), for its turn. If another hart's
//! transaction turns out to come before, and to concern a line that was used meanwhile, everything is taken back, and
//! executed again as far as that. (As an optimistic simulation, with a hart as the process: D. R. Jefferson, "Virtual
//! time", ACM TOPLAS 7, 1985.)

use crate::State;
use crate::executor::Executor;
use crate::hart::{Halt, Hart, HartStatistics};
use crate::predictor::Predictor;
use crate::run::{Exit, HaltAtMarks};

/// What a hart was when it began to run ahead, beside its port.
pub struct Before {
    state: State,
    cycle: u64,
    statistics: HartStatistics,
    predictor: Predictor,
    fetched: u8,
}

impl Before {
    /// The cycle at which it began.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }
}

impl Hart {
    /// The hart may run ahead: by blocks, with caches, no instruction under way, and no interrupt before cycle `end`.
    pub fn may_run_ahead(&self, end: u64) -> bool {
        let is_between = self.fetched == 0 && !self.begun && !self.recheck;
        let traps = self.has_levels() && self.trap_cycle() < end;
        self.execution.executor != Executor::Reference && is_between && !traps && self.port.may_run_ahead()
    }

    /// What is executed from here on may be taken back.
    pub fn begin_ahead(&mut self) -> Before {
        self.port.begin_ahead();
        Before {
            state: self.state.clone(),
            cycle: self.cycle,
            statistics: self.statistics,
            predictor: self.predictor.clone(),
            fetched: self.fetched,
        }
    }

    /// Executes instructions that start before cycle `end` and depend on nothing but the hart. True: it came so far. Else
    /// the next one is for its turn.
    pub fn run_ahead(&mut self, end: u64) -> bool {
        // Others may have yet to store what would be decoded.
        self.may_decode = false;
        let came = self.execute_ahead(end);
        self.may_decode = true;
        came
    }

    /// The hart is as it was when it began, and executes again what starts before cycle `end`, which it had.
    pub fn run_again(&mut self, before: &Before, end: u64) {
        self.take_back(before);
        let came = self.execute_ahead(end);
        assert!(came, "what was executed ahead is not executed again");
    }

    fn execute_ahead(&mut self, end: u64) -> bool {
        self.is_ahead = true;
        self.port.set_ahead(true);
        self.blocks.begin();
        let came = self.repeat_ahead(end);
        self.port.set_ahead(false);
        self.is_ahead = false;
        came
    }

    fn repeat_ahead(&mut self, end: u64) -> bool {
        while self.cycle < end {
            let next = self.resume().or_else(|| Some((self.block()?, 0)));
            let Some((block, index)) = next else { break };
            match self.run_blocks::<true>(block, index, &mut HaltAtMarks, end, end) {
                Exit::Lookup | Exit::Halt(Halt::Deadline) => {}
                // The rare instruction, or the one that halts, has not been executed.
                Exit::Rare | Exit::Halt(_) => break,
            }
        }
        self.cycle >= end
    }

    /// The hart is as it was.
    fn take_back(&mut self, before: &Before) {
        self.port.take_back();
        self.state.clone_from(&before.state);
        (self.cycle, self.statistics) = (before.cycle, before.statistics);
        self.predictor.clone_from(&before.predictor);
        (self.fetched, self.begun) = (before.fetched, false);
        self.blocks.resume = None;
    }
}

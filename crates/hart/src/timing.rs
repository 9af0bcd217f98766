//! In-order timing: cycles by class of instruction, and what branches cost.

use crate::predictor::{Outcome, Prediction};
use crate::{CLASSES, Class, Op, class};

/// What instructions cost when every access hits [cycles of the hart].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Cycles of each [`Class`], by its number.
    pub class: [u16; CLASSES],
    /// Further cycles of a conditional branch that goes as predicted and is taken.
    pub branch_taken: u8,
    /// Further cycles of a conditional branch that does not go as predicted.
    pub branch_mispredicted: u8,
    /// How branches are predicted.
    pub prediction: Prediction,
    /// From an instruction that traps, or an interrupt, to the first instruction of the trap's handler.
    pub trap: u16,
    /// From an interrupt to the first instruction of its handler at user level.
    pub handler_entry: u16,
}

impl Timing {
    /// Every instruction takes one cycle.
    pub const UNIT: Timing = Timing {
        class: [1; CLASSES],
        branch_taken: 0,
        branch_mispredicted: 0,
        prediction: Prediction::Static,
        trap: 1,
        handler_entry: 1,
    };

    /// Cycles of `op` without branch costs and waiting. A mark takes none.
    #[inline]
    pub fn of(&self, op: Op) -> u64 {
        if op == Op::Mark { 0 } else { u64::from(self.class[class(op) as usize]) }
    }

    /// Further cycles of a branch or a jump that a predictor is asked for, at most.
    pub(crate) fn branch_extra_max(&self) -> u64 {
        let missed = match self.prediction {
            Prediction::Static => 0,
            Prediction::Counters(costs) => costs.target_missed.max(costs.jump_mispredicted),
        };
        u64::from(self.branch_mispredicted.max(self.branch_taken)) + u64::from(missed)
    }

    /// Cycles of `class`.
    pub fn of_class(&self, class: Class) -> u64 {
        u64::from(self.class[class as usize])
    }

    /// Further cycles of a conditional branch by static prediction, and how it was predicted. `backward`: its target
    /// precedes it.
    pub(crate) fn branch(&self, backward: bool, taken: bool) -> (u64, Outcome) {
        match (taken == backward, taken) {
            (false, _) => (self.branch_mispredicted.into(), Outcome::Wrong),
            (true, true) => (self.branch_taken.into(), Outcome::Right),
            (true, false) => (0, Outcome::Right),
        }
    }
}

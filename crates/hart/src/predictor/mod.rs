//! Prediction of branches: what branches and jumps cost beyond their class, and what is learnt of them.
//!
//! Two alternatives, which `node.core.predictor.kind` chooses. The static one has no state, so that the costs of a branch
//! are known when its block is decoded. The other is in `counters.rs`; of a hart that has it every branch and every jump
//! is told to it, by the reference ([`Hart::step`](crate::Hart::step)) and by blocks alike.

mod counters;

use chasqui_config::{Count, Cycles};

use crate::Timing;
pub use counters::{CounterCosts, Counters};

chasqui_config::choice! {
    /// How branches are predicted.
    pub enum PredictorKind {
        /// Backward branches are taken, forward ones are not. Where a jump goes to costs what its class says.
        Static = "static",
        /// A table of 2-bit counters says whether a branch is taken, a cache of targets where to, as in the PowerPC 604.
        Counters = "counters",
    }
}

chasqui_config::parameters! {
    /// Prediction of branches. What is not about the kind that is chosen counts for nothing.
    pub struct PredictorParameters {
        /// How branches are predicted.
        kind: PredictorKind = "static", source "ours: the cost of a branch is seen from the program; a machine whose processor learns says so";
        /// Branch history table: its 2-bit counters, a power of two. The address of a branch, in units of two bytes, selects
        /// one; there are no tags.
        history: Count = 512, range 1 ..= 65536, source "PowerPC 604 User's Manual, 1.1: 512 entries, direct-mapped, two bits each";
        /// Branch target address cache: its entries, fully associative. The oldest is replaced.
        targets: Count = 64, range 1 ..= 4096, source "PowerPC 604 User's Manual, 1.1: 64 entries, fully associative; that the oldest is replaced is an assumption";
        /// Further cycles of a direct jump, or of a branch that was rightly predicted taken, if its target was not in the
        /// cache.
        target_missed: Cycles = 1, range 0 ..= 100, source "PowerPC 604 User's Manual, 1.2.1.1: the decode stage, one behind fetch, corrects it";
        /// Further cycles of an indirect jump if its target was not in the cache, or another was.
        jump_mispredicted: Cycles = 2, range 0 ..= 100, source "PowerPC 604e Technical Summary, 1.2.3: the dispatch stage, two behind fetch, resolves unconditional branches";
    }
}

impl PredictorParameters {
    /// What is wrong with it.
    pub fn mistake(&self) -> Option<String> {
        let wrong = self.kind == PredictorKind::Counters && !self.history.is_power_of_two();
        wrong.then(|| format!("node.core.predictor.history: {} is not a power of two", self.history))
    }

    /// The kind, with its sizes and costs.
    pub fn prediction(&self) -> Prediction {
        match self.kind {
            PredictorKind::Static => Prediction::Static,
            PredictorKind::Counters => Prediction::Counters(CounterCosts {
                history: self.history as u32,
                targets: self.targets as u32,
                target_missed: self.target_missed.cycles() as u8,
                jump_mispredicted: self.jump_mispredicted.cycles() as u8,
            }),
        }
    }
}

/// What a predictor is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prediction {
    /// [`PredictorKind::Static`]
    Static,
    /// [`PredictorKind::Counters`]
    Counters(CounterCosts),
}

/// A hart's predictor, with all that it has learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predictor {
    /// [`PredictorKind::Static`]
    Static,
    /// [`PredictorKind::Counters`]
    Counters(Box<Counters>),
}

/// How a branch or a jump was predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Rightly, with its target if it goes elsewhere.
    Right,
    /// Rightly, but its target was not known.
    TargetMissed,
    /// Wrongly.
    Wrong,
}

impl Predictor {
    pub(crate) fn new(prediction: Prediction) -> Predictor {
        match prediction {
            Prediction::Static => Predictor::Static,
            Prediction::Counters(costs) => Predictor::Counters(Box::new(Counters::new(costs))),
        }
    }

    /// The conditional branch at `pc` to `target` is `taken` or not: its further cycles, and how it was predicted.
    #[inline]
    pub(crate) fn branch(&mut self, timing: &Timing, pc: u64, target: u64, taken: bool) -> (u64, Outcome) {
        match self {
            Predictor::Static => timing.branch((target.wrapping_sub(pc) as i64) < 0, taken),
            Predictor::Counters(counters) => counters.branch(timing, pc, target, taken),
        }
    }

    /// The direct jump at `pc` goes to `target`.
    pub(crate) fn jump(&mut self, pc: u64, target: u64) -> (u64, Outcome) {
        match self {
            Predictor::Static => (0, Outcome::Right),
            Predictor::Counters(counters) => counters.jump(pc, target),
        }
    }

    /// The indirect jump at `pc` goes to `target`.
    pub(crate) fn jump_register(&mut self, pc: u64, target: u64) -> (u64, Outcome) {
        match self {
            Predictor::Static => (0, Outcome::Right),
            Predictor::Counters(counters) => counters.jump_register(pc, target),
        }
    }
}

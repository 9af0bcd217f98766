//! What executes a hart's instructions: three alternatives that differ in host time alone.

use chasqui_config::{Count, choice};

choice! {
    /// What executes instructions.
    pub enum Executor {
        /// [`Hart::step`](crate::Hart::step): one instruction at a time, fetched and decoded anew.
        Reference = "reference",
        /// Pre-decoded blocks.
        Threaded = "threaded",
        /// Pre-decoded blocks, and those that are executed often translated to the host's code. On hosts that are not
        /// translated for it is the same as *threaded*.
        Translated = "translated",
    }
}

/// How a hart executes instructions. Nothing that is simulated depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// What does it.
    pub executor: Executor,
    /// A block is translated when so many blocks have been executed in chains that it began. Chains are up to 128 blocks
    /// long, so that this is a sample: of a loop of several blocks each begins some of the chains.
    pub translate_after: Count,
}

impl Execution {
    /// What pays.
    pub const DEFAULT: Execution = Execution { executor: Executor::Translated, translate_after: 60_000 };
}

impl Default for Execution {
    fn default() -> Execution {
        Execution::DEFAULT
    }
}

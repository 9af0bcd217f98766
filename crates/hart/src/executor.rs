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
    /// Length of the translations that are kept of one hart's code, or of a text that harts share [bytes], but for the one that is
    /// made last: when it is reached, all are dropped.
    pub translated_bytes_max: usize,
}

/// What has been translated of a hart's own code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Translations {
    /// Regions, counted each time.
    pub made: u64,
    /// Length of those that are kept [bytes].
    pub bytes: usize,
    /// Times that all were dropped because they had taken too much room.
    pub drops: u64,
}

impl Execution {
    /// What pays.
    pub const DEFAULT: Execution =
        Execution { executor: Executor::Translated, translate_after: 60_000, translated_bytes_max: 8 << 20 };
}

impl Default for Execution {
    fn default() -> Execution {
        Execution::DEFAULT
    }
}

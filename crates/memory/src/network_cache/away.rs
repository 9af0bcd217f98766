//! Lines of bound messages that are still in network memory (independent lines, 3.1.4): where they are, until the
//! program asks for them or something else takes their place. An entry of the network TLB stands for each message of
//! which there are some.

use std::collections::BTreeMap;

use super::message::Stored;

/// A line of the message `id`, in network memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AwayLine {
    pub id: u64,
    pub line: Stored,
}

/// All of them, by the sectors that they are bound to.
#[derive(Debug, Default)]
pub(super) struct Away {
    lines: BTreeMap<u64, AwayLine>,
}

impl Away {
    /// What is bound to `sector`, where nothing is, is in network memory.
    pub fn add(&mut self, sector: u64, away: AwayLine) {
        let before = self.lines.insert(sector, away);
        debug_assert!(before.is_none(), "{before:?} is bound to {sector:#x}");
    }

    /// What is bound to `sector` is not there any more, or not wanted.
    pub fn remove(&mut self, sector: u64) -> Option<AwayLine> {
        self.lines.remove(&sector)
    }

    /// Sectors from `first` on, below `end`.
    pub fn within(&self, first: u64, end: u64) -> impl Iterator<Item = (u64, Stored)> + '_ {
        // Few programs ever have one: an access that misses must not pay for it.
        let lines = if self.lines.is_empty() { None } else { Some(self.lines.range(first..end)) };
        lines.into_iter().flatten().map(|(&sector, away)| (sector, away.line))
    }

    /// How many of the message `id`.
    pub fn of(&self, id: u64) -> usize {
        self.lines.values().filter(|away| away.id == id).count()
    }

    /// The messages that have some.
    pub fn names(&self) -> impl Iterator<Item = u64> + '_ {
        self.lines.values().map(|away| away.id)
    }
}

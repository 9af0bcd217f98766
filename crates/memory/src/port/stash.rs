//! Injection: another master's write that the outermost cache takes in place of memory, as with Intel's DDIO (into ways
//! of the last level) or Arm's cache stashing (into a processor's L2).
//!
//! A line that the L2 holds is updated where it is; one that it lacks takes a way of the first `stash_ways` of its set,
//! the least recently used of them. The L1s lose their copies: the L2 includes them, so it has what was modified there.

use chasqui_counters::counters;

use super::Port;
use crate::cache::State;

/// What came of a write that the L2 was to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stashed {
    /// The L2 has it; memory is not written.
    Taken,
    /// The same, but the rest of the line has to be fetched from memory.
    Merged,
    /// There is no L2, or a message that is bound there: caches must drop their copies, memory is written.
    Refused,
}

counters! {
    /// Counters of injection.
    pub struct StashStatistics {
        /// Lines that the NI's writes brought into the L2.
        lines: "count";
        /// Lines that came so and of which the rest was fetched from memory.
        merged: "count";
        /// Writes of the NI into lines that the L2 held.
        updates: "count";
        /// Lines that came so and that the hart used.
        used: "count";
        /// Lines that came so and were replaced before the hart used them.
        lost: "count";
        /// Lines of the hart's own that lines that came so replaced.
        displaced: "count";
        /// Writes that were to be taken and went to memory.
        refused: "count";
    }
}

impl Port {
    /// Counters of injection, if there has been any.
    pub fn stash_statistics(&self) -> Option<&StashStatistics> {
        (self.stash != StashStatistics::default()).then_some(&self.stash)
    }

    /// Another master writes the `bytes` from `address` on, which lie in one line of the L2, for the L2 to take.
    pub fn stash(&mut self, address: u64, bytes: u32, cycle: u64) -> Stashed {
        let end = address + u64::from(bytes);
        let bound = self.has_bound(address, u64::from(bytes));
        let Some(l2) = self.l2.as_ref().filter(|_| !bound) else {
            self.stash.refused += 1;
            return Stashed::Refused;
        };
        let (line, length) = (l2.line_of(address), l2.line_bytes());
        let is_whole = u64::from(bytes) == length;
        let held = l2.find(line);
        let was_stale = held.is_some_and(|way| l2.way(way).stale);
        // Copies that were left would be found by the coherence checker.
        self.note_device_write(address, u64::from(bytes));
        self.drop_copies(address, end);
        let outcome = match held {
            Some(_) => {
                self.stash.updates += 1;
                Stashed::Taken
            }
            None => self.allot_stash(line, length, is_whole),
        };
        self.tick += 1;
        let l2 = self.l2.as_mut().expect("an L2");
        let way = l2.find(line).expect("the line is there");
        let way = l2.way_mut(way);
        (way.state, way.stamp, way.stale) = (State::Modified, self.tick, was_stale && !is_whole);
        self.changes += 1;
        self.issue_posted(cycle);
        outcome
    }

    /// The L1s' copies go, and a reservation.
    fn drop_copies(&mut self, address: u64, end: u64) {
        let first = self.l1i.line_of(address);
        self.remove_instruction_lines(first, end - first);
        let first = self.line(address);
        for line in (first..end).step_by(self.l1d.line_bytes() as usize) {
            self.statistics.l1d_invalidations += u64::from(self.remove_data(line).is_some());
        }
        if self.reserves(first, end) {
            self.reservation = None;
        }
    }

    /// A line that comes into the L2 takes the place of another.
    fn allot_stash(&mut self, line: u64, length: u64, is_whole: bool) -> Stashed {
        let l2 = self.l2.as_mut().expect("an L2");
        let way = l2.victim_among(line, self.parameters.l2.stash_ways as usize, |w| w.stamp);
        let old = *l2.way(way);
        l2.place(way, line, State::Modified, self.tick);
        l2.way_mut(way).stashed = true;
        if old.state != State::Invalid {
            self.note_lost(old.stashed);
            self.stash.displaced += u64::from(!old.stashed);
            self.evict_from_l2(old.line, length, old.state == State::Modified);
        }
        self.stash.lines += 1;
        self.stash.merged += u64::from(!is_whole);
        if is_whole { Stashed::Taken } else { Stashed::Merged }
    }

    /// A line leaves the L2; `stashed`: it came by injection and was not used.
    pub(super) fn note_lost(&mut self, stashed: bool) {
        self.stash.lost += u64::from(stashed);
    }

    /// The hart uses the line in way `way` of the L2.
    #[inline]
    pub(super) fn use_stashed(&mut self, way: usize) {
        let way = self.l2.as_mut().expect("an L2").way_mut(way);
        self.stash.used += u64::from(std::mem::take(&mut way.stashed));
    }
}

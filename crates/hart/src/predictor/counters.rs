//! A predictor that learns: 2-bit counters and a cache of targets (J. E. Smith, "A Study of Branch Prediction Strategies",
//! ISCA 1981, strategy 7; PowerPC 604 User's Manual, 1.1 and 1.2.1.1).

use super::Outcome;
use crate::Timing;

/// Sizes and costs of [`Counters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterCosts {
    /// Counters, a power of two.
    pub history: u32,
    /// Entries of the cache of targets.
    pub targets: u32,
    /// Further cycles of a direct jump, or of a branch that was rightly predicted taken, without a target.
    pub target_missed: u8,
    /// Further cycles of an indirect jump that was not predicted, or wrongly.
    pub jump_mispredicted: u8,
}

/// The counters and targets of a hart. All processes on it share them, by virtual address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Branch history table: 0 and 1 predict that a branch is not taken, 2 and 3 that it is. All are 0 at first.
    history: Box<[u8]>,
    targets: Targets,
    costs: CounterCosts,
}

/// The most that a counter counts to.
const STRONGLY_TAKEN: u8 = 3;
/// From here on a counter predicts that a branch is taken.
const TAKEN: u8 = 2;

impl Counters {
    pub(super) fn new(costs: CounterCosts) -> Counters {
        assert!(costs.history.is_power_of_two(), "a history of {} counters", costs.history);
        Counters {
            history: vec![0; costs.history as usize].into(),
            targets: Targets::new(costs.targets as usize),
            costs,
        }
    }

    #[inline(always)]
    pub(super) fn branch(&mut self, timing: &Timing, pc: u64, target: u64, taken: bool) -> (u64, Outcome) {
        // Mostly a loop goes round again, which teaches nothing.
        let counter = self.history[(pc >> 1) as usize & (self.history.len() - 1)];
        if taken && counter == STRONGLY_TAKEN && self.targets.has(pc, target) {
            return (timing.branch_taken.into(), Outcome::Right);
        }
        self.learn(timing, pc, target, taken)
    }

    #[inline(never)]
    fn learn(&mut self, timing: &Timing, pc: u64, target: u64, taken: bool) -> (u64, Outcome) {
        let mask = self.history.len() - 1;
        let counter = &mut self.history[(pc >> 1) as usize & mask];
        let predicted = *counter >= TAKEN;
        *counter = if taken { STRONGLY_TAKEN.min(*counter + 1) } else { counter.saturating_sub(1) };
        let is_known = taken && self.targets.learn(pc, target);
        let mut cycles = u64::from(match (predicted == taken, taken) {
            (false, _) => return (timing.branch_mispredicted.into(), Outcome::Wrong),
            (true, true) => timing.branch_taken,
            (true, false) => return (0, Outcome::Right),
        });
        if is_known {
            return (cycles, Outcome::Right);
        }
        cycles += u64::from(self.costs.target_missed);
        (cycles, Outcome::TargetMissed)
    }

    pub(super) fn jump(&mut self, pc: u64, target: u64) -> (u64, Outcome) {
        self.to(pc, target, self.costs.target_missed)
    }

    pub(super) fn jump_register(&mut self, pc: u64, target: u64) -> (u64, Outcome) {
        self.to(pc, target, self.costs.jump_mispredicted)
    }

    fn to(&mut self, pc: u64, target: u64, missed: u8) -> (u64, Outcome) {
        if self.targets.learn(pc, target) {
            (0, Outcome::Right)
        } else {
            (missed.into(), Outcome::TargetMissed)
        }
    }
}

/// Where branches and jumps went that were taken.
#[derive(Clone, Debug)]
struct Targets {
    /// Address and target; [`NOWHERE`]: none yet. A ring.
    entries: Box<[(u64, u64)]>,
    /// The next to be replaced.
    oldest: usize,
    /// By address: the entry in which it was found last, to be looked at first. They are no state of the machine's.
    hints: Box<[u16]>,
}

/// No instruction has this address.
const NOWHERE: u64 = u64::MAX;

impl Targets {
    fn new(entries: usize) -> Targets {
        let hints = vec![0; (4 * entries).next_power_of_two()].into();
        Targets { entries: vec![(NOWHERE, NOWHERE); entries].into(), oldest: 0, hints }
    }

    /// It is known, where it is looked for first, that the branch at `pc` goes to `target`.
    #[inline(always)]
    fn has(&self, pc: u64, target: u64) -> bool {
        let hint = self.hints[(pc >> 1) as usize & (self.hints.len() - 1)];
        self.entries[usize::from(hint)] == (pc, target)
    }

    /// The branch at `pc` goes to `target`. True: that was known.
    fn learn(&mut self, pc: u64, target: u64) -> bool {
        let hint = (pc >> 1) as usize & (self.hints.len() - 1);
        let mut at = usize::from(self.hints[hint]);
        if self.entries[at].0 != pc {
            let found = self.entries.iter().position(|entry| entry.0 == pc);
            at = found.unwrap_or_else(|| self.replace(pc));
            self.hints[hint] = at as u16;
        }
        std::mem::replace(&mut self.entries[at].1, target) == target
    }

    /// Gives the oldest entry to `pc`.
    fn replace(&mut self, pc: u64) -> usize {
        let at = self.oldest;
        self.oldest = (at + 1) % self.entries.len();
        self.entries[at] = (pc, NOWHERE);
        at
    }

    /// The entries, the oldest first.
    fn by_age(&self) -> impl Iterator<Item = &(u64, u64)> {
        let (newer, older) = self.entries.split_at(self.oldest);
        older.iter().chain(newer)
    }
}

/// Where the ring begins makes no difference to what is to come.
impl PartialEq for Targets {
    fn eq(&self, other: &Targets) -> bool {
        self.by_age().eq(other.by_age())
    }
}

impl Eq for Targets {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_target_is_replaced() {
        let mut targets = Targets::new(2);
        assert!(!targets.learn(0x10, 1) && !targets.learn(0x20, 2));
        // A hit makes an entry no younger.
        assert!(targets.learn(0x10, 1) && !targets.learn(0x30, 3) && targets.learn(0x20, 2));
        assert!(!targets.learn(0x10, 1), "it was the oldest");
        assert!(!targets.learn(0x10, 4) && targets.learn(0x10, 4), "another target");
    }

    #[test]
    fn equal_rings_go_on_alike() {
        let (mut a, mut b) = (Targets::new(3), Targets::new(3));
        for pc in [2, 4, 6, 8] {
            a.learn(pc, 0);
        }
        for pc in [4, 6, 8] {
            b.learn(pc, 0);
        }
        assert!(a == b && a.oldest != b.oldest);
        a.learn(10, 0);
        b.learn(10, 0);
        assert!(a == b && a.learn(6, 0) && b.learn(6, 0) && !a.learn(4, 0) && !b.learn(4, 0));
        a.learn(12, 0);
        assert!(a != b);
    }
}

//! What a process has used of its harts, and what of it in MPI calls.

use std::ops::{Add, Sub};

use chasqui_hart::Hart;
use chasqui_memory::Stall;

use crate::harts::Core;

/// Cycles that system software had a hart spend.
#[derive(Clone, Copy)]
pub(crate) struct SoftwareCycles {
    charged: u64,
    blocked: u64,
    slept: u64,
}

impl SoftwareCycles {
    pub fn of(core: &Core) -> SoftwareCycles {
        SoftwareCycles {
            charged: core.statistics.software_cycles,
            blocked: core.blocked_cycles,
            slept: core.slept_cycles,
        }
    }
}

/// What a process has used of its harts, or what others have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Instructions.
    pub instructions: u64,
    /// Cycles, whatever for.
    pub cycles: u64,
    /// Cycles charged for system calls and page faults.
    pub software_cycles: u64,
    /// Cycles in which a thread waited for another.
    pub blocked_cycles: u64,
    /// Cycles in which a thread slept.
    pub slept_cycles: u64,
    stalls: [u64; Stall::ALL.len()],
}

impl Usage {
    /// What has been used of `core` by all.
    pub(crate) fn of(core: &Core) -> Usage {
        Usage::of_hart(&core.hart, SoftwareCycles::of(core))
    }

    /// The same, from its parts.
    pub(crate) fn of_hart(hart: &Hart, software: SoftwareCycles) -> Usage {
        Usage {
            instructions: hart.statistics.instructions,
            cycles: hart.cycle,
            software_cycles: software.charged,
            blocked_cycles: software.blocked,
            slept_cycles: software.slept,
            stalls: Stall::ALL.map(|stall| hart.port.statistics.stalls[stall]),
        }
    }

    /// Cycles in which a hart waited for this.
    pub fn stalled(&self, stall: Stall) -> u64 {
        self.stalls[stall as usize]
    }

    /// Cycles in which a hart waited for its port.
    pub fn stalled_by_all(&self) -> u64 {
        self.stalls.iter().sum()
    }

    fn combine(self, other: Usage, of: impl Fn(u64, u64) -> u64) -> Usage {
        Usage {
            instructions: of(self.instructions, other.instructions),
            cycles: of(self.cycles, other.cycles),
            software_cycles: of(self.software_cycles, other.software_cycles),
            blocked_cycles: of(self.blocked_cycles, other.blocked_cycles),
            slept_cycles: of(self.slept_cycles, other.slept_cycles),
            stalls: std::array::from_fn(|stall| of(self.stalls[stall], other.stalls[stall])),
        }
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        self.combine(other, |mine, others| mine + others)
    }
}

impl Sub for Usage {
    type Output = Usage;

    fn sub(self, other: Usage) -> Usage {
        self.combine(other, |all, others| all - others)
    }
}

/// Cycles in which others had a process's hart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Away {
    /// The process slept, or waited for another thread.
    pub asleep: u64,
    /// It could have gone on.
    pub displaced: u64,
}

impl Away {
    fn combine(self, other: Away, of: impl Fn(u64, u64) -> u64) -> Away {
        Away { asleep: of(self.asleep, other.asleep), displaced: of(self.displaced, other.displaced) }
    }
}

/// What a process has used of a hart, and others while it was away from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// By itself.
    pub used: Usage,
    /// Others.
    pub away: Away,
}

impl Add for Spent {
    type Output = Spent;

    fn add(self, other: Spent) -> Spent {
        let sum = |mine, others| mine + others;
        Spent { used: self.used.combine(other.used, sum), away: self.away.combine(other.away, sum) }
    }
}

impl Sub for Spent {
    type Output = Spent;

    fn sub(self, other: Spent) -> Spent {
        let difference = |all, others| all - others;
        Spent {
            used: self.used.combine(other.used, difference),
            away: self.away.combine(other.away, difference),
        }
    }
}

/// What was spent on a hart in MPI calls.
#[derive(Clone, Copy, Default)]
pub(crate) struct InCalls {
    /// In those that have been left.
    left: Spent,
    /// In all, when the one that it is in was entered.
    entered: Option<Spent>,
}

impl InCalls {
    /// So much has been spent in all where a call was entered, or left, as `is_in` says.
    pub fn pass(&mut self, is_in: bool, spent: Spent) {
        match self.entered.take() {
            None if is_in => self.entered = Some(spent),
            Some(entered) if !is_in => self.left = self.left + (spent - entered),
            entered => self.entered = entered,
        }
    }

    /// When so much has been spent in all.
    pub fn so_far(&self, spent: Spent) -> Spent {
        self.entered.map_or(self.left, |entered| self.left + (spent - entered))
    }
}

//! Where a debugger has a hart stop: before instructions at some addresses, after accesses to some memory, after a step.
//!
//! The hart stops between two instructions (`Halt::Stop`), as at a deadline, and has done nothing for it: that it stopped
//! changes neither state nor time, and memory is as the program has it. Blocks end before an address at which the hart
//! stops; accesses and steps are seen by the reference, which executes everything while they are asked for. What a supervisor
//! level executes is the kernel's: there the hart does not stop.

use std::ops::Range;
use std::sync::Arc;

use crate::class::{Class, class};
use crate::{Executor, Insn, Op, State};

/// Accesses that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Accesses {
    /// Loads.
    Loads,
    /// Stores.
    Stores,
    /// Both.
    All,
}

/// Memory whose accesses are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchpoint {
    /// First virtual address.
    pub first: u64,
    /// Last virtual address.
    pub last: u64,
    /// Accesses.
    pub of: Accesses,
}

/// Where a hart stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    breakpoints: Vec<u64>,
    watchpoints: Vec<Watchpoint>,
}

impl Stops {
    /// Before the instructions at the addresses `breakpoints`, and after the accesses of `watchpoints`.
    pub fn new(mut breakpoints: Vec<u64>, watchpoints: Vec<Watchpoint>) -> Stops {
        breakpoints.sort_unstable();
        breakpoints.dedup();
        Stops { breakpoints, watchpoints }
    }

    /// The breakpoints.
    pub fn breakpoints(&self) -> &[u64] {
        &self.breakpoints
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.breakpoints.is_empty() && self.watchpoints.is_empty()
    }

    pub(crate) fn has(&self, pc: u64) -> bool {
        self.breakpoints.binary_search(&pc).is_ok()
    }

    /// The first breakpoint behind `pc`.
    pub(crate) fn after(&self, pc: u64) -> u64 {
        let place = self.breakpoints.partition_point(|&at| at <= pc);
        self.breakpoints.get(place).copied().unwrap_or(u64::MAX)
    }

    /// The watchpoint that `access` meets, with the first address that is watched.
    fn watched(&self, access: Access) -> Option<Stopped> {
        let last = access.address.wrapping_add(access.bytes - 1);
        let meets = |w: &&Watchpoint| {
            let of = match w.of {
                Accesses::Loads => access.loads,
                Accesses::Stores => access.stores,
                Accesses::All => true,
            };
            of && access.address <= w.last && w.first <= last
        };
        let found = self.watchpoints.iter().find(meets)?;
        Some(Stopped::Access { address: found.first.max(access.address), of: found.of })
    }
}

/// Why a hart has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It is about to execute the instruction at a breakpoint.
    Breakpoint,
    /// Its latest instruction has accessed memory that is watched, at this virtual address.
    Access {
        /// The first address that is watched and was accessed.
        address: u64,
        /// What is looked for there.
        of: Accesses,
    },
    /// It has executed the step that was asked for.
    Step,
}

/// An access of an instruction.
#[derive(Clone, Copy)]
struct Access {
    address: u64,
    bytes: u64,
    loads: bool,
    stores: bool,
}

impl Access {
    /// What `insn` is about to access, if it is a load, a store or an atomic operation of a program's memory.
    fn of(state: &State, insn: &Insn) -> Option<Access> {
        let base = state.x[usize::from(insn.rs1)];
        let bytes = match insn.op {
            Op::Lb | Op::Lbu | Op::Sb => 1,
            Op::Lh | Op::Lhu | Op::Sh => 2,
            Op::Lw | Op::Lwu | Op::Sw | Op::Flw | Op::Fsw => 4,
            Op::Ld | Op::Sd | Op::Fld | Op::Fsd => 8,
            Op::St64b | Op::St64bv => 64,
            // As their width is encoded.
            _ if class(insn.op) == Class::Amo => insn.op.encoding().map_or(8, |e| 1 << (e.bits >> 12 & 3)),
            _ => return None,
        };
        let is_offset = !matches!(class(insn.op), Class::Amo | Class::Store64);
        let address = if is_offset { base.wrapping_add(insn.imm as u64) } else { base };
        let loads_only = matches!(insn.op, Op::LrW | Op::LrD);
        let (loads, stores) = match class(insn.op) {
            Class::Store | Class::Store64 => (false, true),
            Class::Amo if matches!(insn.op, Op::ScW | Op::ScD) => (false, true),
            Class::Amo => (true, !loads_only),
            _ => (true, false),
        };
        Some(Access { address, bytes, loads, stores })
    }
}

/// What a debugger has asked of a hart.
pub(crate) struct Debugged {
    pub stops: Arc<Stops>,
    /// It stops when it has executed an instruction and is not within these addresses.
    pub step: Option<Range<u64>>,
    /// It goes on through the stop at this address, once: when it has executed so many instructions.
    pub passes: Option<Place>,
    /// It is to stop before it executes anything.
    pub due: Option<Stopped>,
    /// What it executes by when nothing is looked at.
    pub executor: Executor,
}

/// The address of the next instruction, and how many have been executed.
pub(crate) type Place = (u64, u64);

impl Debugged {
    /// Of a hart that executes by `executor`.
    pub fn new(executor: Executor) -> Debugged {
        Debugged { stops: Arc::default(), step: None, passes: None, due: None, executor }
    }

    /// Each instruction is looked at.
    pub fn looks_at_each(&self) -> bool {
        self.step.is_some() || !self.stops.watchpoints.is_empty()
    }

    /// The hart, which is about to execute what is `here`, is to stop.
    pub fn is_to_stop(&mut self, here: Place) -> bool {
        if self.due.is_none() && self.passes != Some(here) && self.stops.has(here.0) {
            self.due = Some(Stopped::Breakpoint);
        }
        self.due.is_some()
    }

    /// What `insn`, which is about to be executed in `state`, accesses that is looked for.
    pub fn accessed(&self, state: &State, insn: &Insn) -> Option<Stopped> {
        if self.stops.watchpoints.is_empty() {
            return None;
        }
        Access::of(state, insn).and_then(|access| self.stops.watched(access))
    }

    /// The instruction at `from` has been executed; the hart is at `pc`, and stops if `due` says why.
    pub fn executed(&mut self, from: u64, pc: u64, due: Option<Stopped>) {
        // A mark or a call does not count as an instruction.
        if self.passes.is_some_and(|(at, _)| at == from) {
            self.passes = None;
        }
        let steps = self.step.as_ref().is_some_and(|range| !range.contains(&pc));
        self.due = self.due.or(due).or(steps.then_some(Stopped::Step));
    }
}

/// `insn`, which was executed and has left `state`, is a conditional store that has stored nothing.
pub(crate) fn has_failed(state: &State, insn: &Insn) -> bool {
    matches!(insn.op, Op::ScW | Op::ScD) && insn.rd != 0 && state.x[usize::from(insn.rd)] != 0
}

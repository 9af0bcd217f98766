//! Where a debugger has a hart stop: before instructions at some addresses, after accesses to some memory, after a step.
//!
//! The hart stops between two instructions ([`Halt::Stop`]), as at a deadline, and has done nothing for it: that it stopped
//! changes neither state nor time, and memory is as the program has it. Blocks end before an address at which the hart
//! stops; accesses and steps are seen by the reference, which executes everything while they are asked for. What a supervisor
//! level executes is the kernel's: there the hart does not stop.

use std::ops::Range;
use std::sync::Arc;

use crate::class::{Class, class};
use crate::hart::{Halt, Hart};
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

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.breakpoints.is_empty() && self.watchpoints.is_empty()
    }

    fn has(&self, pc: u64) -> bool {
        self.breakpoints.binary_search(&pc).is_ok()
    }

    /// The first breakpoint behind `pc`.
    fn after(&self, pc: u64) -> u64 {
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
    fn of(hart: &Hart, insn: &Insn) -> Option<Access> {
        let base = hart.state.x[usize::from(insn.rs1)];
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
    stops: Arc<Stops>,
    /// It stops when it has executed an instruction and is not within these addresses.
    step: Option<Range<u64>>,
    /// It goes on through the stop at this address, once: when it has executed so many instructions.
    passes: Option<(u64, u64)>,
    /// It is to stop before it executes anything.
    due: Option<Stopped>,
    /// What it executes by when nothing is looked at.
    executor: Executor,
}

impl Debugged {
    fn looks_at_each(&self) -> bool {
        self.step.is_some() || !self.stops.watchpoints.is_empty()
    }
}

impl Hart {
    /// A debugger has the hart stop at `stops` from now on. `None`: there is none any more. A hart with a debugger does not
    /// run ahead of others.
    pub fn set_stops(&mut self, stops: Option<Arc<Stops>>) {
        let executor = self.debugged.as_ref().map_or(self.execution.executor, |d| d.executor);
        let before = self.debugged.take();
        let is_same = before.as_ref().map(|d| &d.stops.breakpoints) == stops.as_ref().map(|s| &s.breakpoints);
        self.debugged = stops.map(|stops| {
            let rest = before.unwrap_or_else(|| {
                let stops = Arc::default();
                Box::new(Debugged { stops, step: None, passes: None, due: None, executor })
            });
            Box::new(Debugged { stops, ..*rest })
        });
        if !is_same {
            // Blocks end elsewhere.
            self.forget_code();
        }
        self.choose_executor(executor);
    }

    /// The hart stops when it has executed an instruction and is not at one of the addresses `range`; `None`: it does not.
    pub fn set_step(&mut self, range: Option<Range<u64>>) {
        let Some(debugged) = &mut self.debugged else { return };
        debugged.step = range;
        let executor = debugged.executor;
        self.choose_executor(executor);
    }

    fn choose_executor(&mut self, usual: Executor) {
        let each = self.debugged.as_ref().is_some_and(|d| d.looks_at_each());
        self.execution.executor = if each { Executor::Reference } else { usual };
        self.blocks.resume = None;
    }

    /// The hart may stop somewhere.
    pub fn may_stop(&self) -> bool {
        self.debugged.as_ref().is_some_and(|d| d.looks_at_each() || !d.stops.is_empty())
    }

    /// Why it has stopped, if it has. What is due while the kernel runs waits for its end.
    pub fn stopped(&self) -> Option<Stopped> {
        self.debugged.as_ref().and_then(|d| d.due).filter(|_| !self.is_supervisor())
    }

    /// It goes on where it has stopped.
    pub fn pass_stop(&mut self) {
        let here = self.here();
        let Some(debugged) = &mut self.debugged else { return };
        debugged.due = None;
        debugged.passes = Some(here);
    }

    /// It stops where it is, if there is a stop, though it was to go on.
    pub fn stop_again(&mut self) {
        if let Some(debugged) = &mut self.debugged {
            debugged.passes = None;
        }
    }

    /// The next instruction, and how many have been executed.
    fn here(&self) -> (u64, u64) {
        (self.state.pc, self.statistics.instructions)
    }

    /// Goes on with `state`, a debugger's, between two instructions. False: one has begun.
    pub fn replace_state(&mut self, state: &State) -> bool {
        if !self.begun {
            self.state.clone_from(state);
            self.state.x[0] = 0;
            self.fetched = 0;
            self.blocks.resume = None;
        }
        !self.begun
    }

    /// A debugger has the hart halt before the instruction at `pc`.
    #[inline]
    pub(crate) fn stops_here(&mut self) -> bool {
        self.debugged.is_some() && self.is_to_stop()
    }

    #[cold]
    fn is_to_stop(&mut self) -> bool {
        let (here, is_supervisor) = (self.here(), self.is_supervisor());
        let Some(debugged) = self.debugged.as_mut().filter(|_| !is_supervisor) else { return false };
        if debugged.due.is_none() && debugged.passes != Some(here) && debugged.stops.has(here.0) {
            debugged.due = Some(Stopped::Breakpoint);
        }
        debugged.due.is_some()
    }

    /// A block may begin at `pc`. Where it ends at the latest.
    #[inline]
    pub(crate) fn block_end(&self, pc: u64) -> Option<u64> {
        let Some(debugged) = &self.debugged else { return Some(u64::MAX) };
        (!debugged.stops.has(pc)).then(|| debugged.stops.after(pc))
    }

    /// [`Hart::try_step`] of a hart with a debugger.
    #[cold]
    pub(crate) fn try_step_debugged(&mut self, insn: &Insn) -> Result<Option<Halt>, Halt> {
        let (pc, instructions) = (self.state.pc, self.statistics.instructions);
        let is_users = !self.is_supervisor();
        let stops = &self.debugged.as_ref().expect("it has a debugger").stops;
        let watches = is_users && !stops.watchpoints.is_empty();
        let access = if watches { Access::of(self, insn) } else { None };
        let done = self.try_step_alone(insn);
        let is_executed =
            self.statistics.instructions > instructions || matches!(done, Ok(Some(Halt::Mark { .. })));
        if is_users && is_executed {
            let due = access.and_then(|access| self.debugged.as_ref()?.stops.watched(access));
            self.executed(pc, due.filter(|_| !self.has_failed(insn)));
        }
        done
    }

    /// `insn`, which was executed, is a conditional store that has stored nothing.
    fn has_failed(&self, insn: &Insn) -> bool {
        matches!(insn.op, Op::ScW | Op::ScD) && insn.rd != 0 && self.state.x[usize::from(insn.rd)] != 0
    }

    /// The instruction at `from` has been executed, which is why the hart stops if `due` says so.
    fn executed(&mut self, from: u64, due: Option<Stopped>) {
        let pc = self.state.pc;
        let Some(debugged) = &mut self.debugged else { return };
        // A mark or a call does not count as an instruction.
        if debugged.passes.is_some_and(|(at, _)| at == from) {
            debugged.passes = None;
        }
        let steps = debugged.step.as_ref().is_some_and(|range| !range.contains(&pc));
        debugged.due = debugged.due.or(due).or(steps.then_some(Stopped::Step));
    }

    /// The call at `from` has returned, or was passed to the supervisor: it has been executed.
    #[inline]
    pub(crate) fn has_called(&mut self, from: u64) {
        if self.debugged.is_some() {
            self.executed(from, None);
        }
    }
}

//! A hart: state, port, time, and why it stops.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use chasqui_counters::counters;
use chasqui_engine::{Clock, Cycles, Time};
use chasqui_memory::{Fault, Outwaited, Port, SharedAccesses, Stall, Stop};

use crate::blocks::{Blocks, Text};
use crate::debug::{Debugged, Stopped, Stops};
use crate::executor::{Execution, Executor, Translations};
use crate::handlers::Handlers;
use crate::predictor::{Outcome, Predictor};
use crate::run::Course;
use crate::supervisor::Supervisor;
use crate::{State, Timing};

/// Why [`Hart::run`] returned. Unless it says otherwise the instruction at `pc` has not been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The next instruction would start at or after the deadline.
    Deadline,
    /// The port has requests for the bus; the hart can go on.
    Bus,
    /// The instruction at `pc` waits for its port.
    Wait(Stall),
    /// The hart runs ahead of others, and the instruction at `pc` is for its turn ([`Hart::run_ahead`]); or others run ahead, and
    /// what they may have stored there is to be read ([`Hart::set_code_reads`]).
    Turn,
    /// `ecall` at `pc`; the node advances `pc`. Where there is a supervisor level, it is the supervisor's.
    Call,
    /// A mark has been passed; it took no time.
    Mark {
        /// Code, [`chasqui_abi` `mark`] numbers.
        code: u32,
        /// Call number.
        call: u32,
        /// Value of the live register.
        value: u64,
    },
    /// A `pause` has been executed.
    Pause,
    /// The instruction at `pc` can't be executed: what is wrong with its access.
    Fault(Fault),
    /// The bits at `pc` are no instruction, or one that may not be executed at this level.
    Illegal(u32),
    /// `ebreak` at `pc`.
    Breakpoint,
    /// A debugger has the hart stop before the instruction at `pc` ([`Hart::stopped`]).
    Stop,
    /// `wfi` at `pc`, and no interrupt is pending that is enabled. Executed again when one is, it is over.
    Idle,
}

impl Halt {
    /// It concerns more than the hart: system software deals with it, if not the supervisor.
    pub fn asks_for_software(&self) -> bool {
        matches!(self, Halt::Call | Halt::Mark { .. } | Halt::Fault(_) | Halt::Illegal(_) | Halt::Breakpoint)
    }
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Halt {
        match stop {
            Stop::Wait(stall) => Halt::Wait(stall),
            Stop::Turn => Halt::Turn,
            Stop::Fault(fault) => Halt::Fault(fault),
        }
    }
}

/// Lines that an instruction may lie in.
pub(crate) const FETCHED: u8 = 2;

counters! {
    /// Counters of a hart.
    pub struct HartStatistics {
        /// Instructions executed.
        instructions: "count";
        /// Loads executed, atomic operations included.
        loads: "count";
        /// Stores executed, atomic operations included.
        stores: "count";
        /// Conditional branches that did not go as predicted.
        mispredicted: "count";
        /// Jumps, and branches rightly predicted taken, whose target was not in the cache of targets, or another. Of a
        /// hart that predicts statically none.
        targets_missed: "count";
    }
}

/// External interrupt lines of a hart, one for each level that takes interrupts: they are asserted or not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lines {
    pub supervisor: bool,
    pub user: bool,
}

/// One RV64GC hart, at user level unless a supervisor level has begun.
pub struct Hart {
    /// Architectural state.
    pub state: State,
    /// Way to memory.
    pub port: Port,
    /// The cycle at which the next instruction starts.
    pub cycle: u64,
    /// What happened so far.
    pub statistics: HartStatistics,
    pub(crate) timing: Timing,
    pub(crate) predictor: Predictor,
    pub(crate) blocks: Blocks,
    /// What [`Hart::run`] executes instructions by. Where nothing is translated, it is after 0 blocks.
    pub(crate) execution: Execution,
    /// So many lines of the instruction at `pc` were fetched while it waited: they are not fetched again,
    /// or its data and its code could take each other's places for ever. [`FETCHED`]: all.
    pub(crate) fetched: u8,
    /// The instruction at `pc` has begun: its fetch or an access of its has taken time. No interrupt comes before it.
    pub(crate) begun: bool,
    /// Supervisor level, once it has begun.
    pub(crate) supervisor: Option<Box<Supervisor>>,
    /// Interrupts at user level, if it has them.
    pub(crate) handlers: Option<Box<Handlers>>,
    pub(crate) lines: Lines,
    /// Interrupts taken.
    pub(crate) interrupts: u64,
    /// Which interrupts trap, and when, may be different from now on: [`Hart::run`] looks again.
    pub(crate) recheck: bool,
    pub(crate) course: Course,
    /// What a debugger has asked, if there is one.
    pub(crate) debugged: Option<Box<Debugged>>,
    timebase: Clock,
    pub(crate) cycles: Cycles,
    /// A cycle and its time, asked for last.
    latest: Cell<(u64, Time)>,
}

impl Hart {
    /// A hart at `state.pc` at time 0. `timebase_hz`: frequency of the `time` CSR.
    pub fn new(state: State, port: Port, timing: Timing, clock: Clock, timebase_hz: u64) -> Hart {
        Hart {
            state,
            port,
            cycle: 0,
            statistics: HartStatistics::default(),
            timing,
            predictor: Predictor::new(timing.prediction),
            blocks: Blocks::default(),
            execution: Execution { executor: Executor::Threaded, translate_after: 0, ..Execution::DEFAULT },
            fetched: 0,
            begun: false,
            supervisor: None,
            handlers: None,
            lines: Lines::default(),
            interrupts: 0,
            recheck: false,
            course: Course::default(),
            debugged: None,
            timebase: Clock::new(timebase_hz),
            cycles: Cycles::new(clock, 0, Time::ZERO),
            latest: Cell::new((0, Time::ZERO)),
        }
    }

    /// It has levels that interrupts go to.
    #[inline]
    pub(crate) fn has_levels(&self) -> bool {
        self.supervisor.is_some() || self.handlers.is_some()
    }

    /// Interrupts that it has taken so far.
    pub fn interrupts(&self) -> u64 {
        self.interrupts
    }

    /// The hart's clock.
    pub fn clock(&self) -> Clock {
        self.cycles.clock()
    }

    /// The time at which `cycle` starts.
    #[inline]
    pub fn time_of(&self, cycle: u64) -> Time {
        self.cycles.time_of(cycle)
    }

    /// The time at which the next instruction starts.
    #[inline]
    pub fn now(&self) -> Time {
        let (cycle, time) = self.latest.get();
        if cycle == self.cycle {
            return time;
        }
        let time = self.time_of(self.cycle);
        self.latest.set((self.cycle, time));
        time
    }

    /// When the instruction started that was executed last before `halt`, or at which the hart has halted: the latest that has
    /// made a request or asks for software.
    pub fn latest_start(&self, halt: Halt) -> Time {
        match halt {
            // Since it was moved on it has executed nothing of the kind.
            Halt::Deadline | Halt::Stop if self.course.started < self.cycles.first() => Time::ZERO,
            Halt::Deadline | Halt::Stop | Halt::Bus | Halt::Wait(_) | Halt::Fault(_) | Halt::Pause => {
                self.time_of(self.course.started)
            }
            _ => self.now(),
        }
    }

    /// The first cycle that starts at or after `time`.
    #[inline]
    pub fn cycle_at(&self, time: Time) -> u64 {
        self.cycles.cycle_at(time)
    }

    /// The next instruction starts at `time` exactly, edge or not: for an idealised machine whose
    /// overheads are not whole cycles.
    pub fn start_at(&mut self, time: Time) {
        let edge = self.cycle_at(time);
        self.cycle = edge;
        self.cycles = Cycles::new(self.clock(), edge, time);
        self.port.set_cycles(self.cycles);
        self.latest.set((edge, time));
    }

    /// From now on accesses to messages' data are noted in `accesses`.
    pub fn note_accesses(&mut self, accesses: SharedAccesses) {
        self.port.note_accesses(accesses, self.cycles);
    }

    /// The `ecall` at `pc` has given `value`: the hart goes on behind it.
    pub fn return_from_call(&mut self, value: i64) {
        let from = self.state.pc;
        self.state.x[10] = value as u64;
        self.state.pc += 4;
        self.has_called(from);
    }

    /// What [`Hart::run`] executes instructions by from now on. Nothing that is simulated changes, so that two whole runs
    /// can be compared.
    pub fn execute_by(&mut self, execution: Execution) {
        let translates = execution.executor == Executor::Translated;
        let translate_after = if translates { execution.translate_after } else { 0 };
        self.execution = Execution { translate_after, ..execution };
    }

    /// What has been translated of its own code.
    pub fn translations(&self) -> Translations {
        self.blocks.translations()
    }

    /// What predicts its branches. It stays with the hart, whichever process is on it.
    pub fn predictor(&self) -> &Predictor {
        &self.predictor
    }

    /// Further cycles of the conditional branch at `pc` to `target`, which is `taken` or not.
    #[inline]
    pub(crate) fn branched(&mut self, pc: u64, target: u64, taken: bool) -> u64 {
        let predicted = self.predictor.branch(&self.timing, pc, target, taken);
        self.count(predicted)
    }

    /// Further cycles of the direct jump at `pc` to `target`.
    pub(crate) fn jumped(&mut self, pc: u64, target: u64) -> u64 {
        let predicted = self.predictor.jump(pc, target);
        self.count(predicted)
    }

    /// Further cycles of the indirect jump at `pc` to `target`.
    pub(crate) fn jumped_by_register(&mut self, pc: u64, target: u64) -> u64 {
        let predicted = self.predictor.jump_register(pc, target);
        self.count(predicted)
    }

    #[inline]
    fn count(&mut self, (cycles, outcome): (u64, Outcome)) -> u64 {
        self.statistics.mispredicted += u64::from(outcome == Outcome::Wrong);
        self.statistics.targets_missed += u64::from(outcome == Outcome::TargetMissed);
        cycles
    }

    /// The clock of the `time` CSR.
    pub fn timebase(&self) -> Clock {
        self.timebase
    }

    /// Value of the `time` CSR.
    pub(crate) fn time_csr(&self) -> u64 {
        let now = self.now();
        let next = self.timebase.edge_at_or_after(now);
        if self.timebase.edge(next) == now { next } else { next - 1 }
    }

    /// An access that took until cycle `done` does not succeed. `None`: it waited, and is tried again at `done`; else why the
    /// hart halts.
    pub(crate) fn outwait(&mut self, stop: Stop, done: &mut u64) -> Option<Halt> {
        let Stop::Wait(stall) = stop else { return Some(stop.into()) };
        match self.port.outwait(stall, done) {
            Outwaited::Again => None,
            Outwaited::AfterNode => Some(Halt::Bus),
            Outwaited::No => Some(stop.into()),
        }
    }

    /// Shares the decoded `text` with other harts from now on, or nothing.
    pub fn share_text(&mut self, text: Option<Text>) {
        self.blocks.share(text);
    }

    /// From now on host thread number `thread` runs the hart, 0 at first: one of those that its text is for
    /// ([`Text::new`]).
    pub fn hosted_by(&mut self, thread: usize) {
        self.blocks.hosted_by(thread);
    }

    /// Goes on with `state`, which gets what the hart had: of another process. An instruction that was fetched and not
    /// yet executed is fetched again when its turn comes.
    pub fn exchange_state(&mut self, state: &mut State) {
        std::mem::swap(&mut self.state, state);
        (self.fetched, self.begun) = (0, false);
        self.forget_code();
    }

    /// Forgets the code that this hart alone has decoded: memory that holds code, or its mapping, changed.
    pub fn forget_code(&mut self) {
        self.blocks.clear();
    }
}

/// Under a debugger.
impl Hart {
    /// A debugger has the hart stop at `stops` from now on. `None`: there is none any more. A hart with a debugger does not
    /// run ahead of others.
    pub fn set_stops(&mut self, stops: Option<Arc<Stops>>) {
        let executor = self.debugged.as_ref().map_or(self.execution.executor, |d| d.executor);
        let before = self.debugged.take();
        let is_same =
            before.as_ref().map(|d| d.stops.breakpoints()) == stops.as_ref().map(|s| s.breakpoints());
        if !is_same {
            // Blocks end elsewhere.
            self.forget_code();
        }
        self.debugged = stops.map(|stops| {
            let before = before.unwrap_or_else(|| Box::new(Debugged::new(executor)));
            Box::new(Debugged { stops, ..*before })
        });
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
        (debugged.due, debugged.passes) = (None, Some(here));
    }

    /// It stops where it is, if there is a stop, though it was to go on.
    pub fn stop_again(&mut self) {
        if let Some(debugged) = &mut self.debugged {
            debugged.passes = None;
        }
    }

    fn here(&self) -> (u64, u64) {
        (self.state.pc, self.statistics.instructions)
    }

    /// Goes on with `state`, a debugger's, between two instructions; bit 0 of its pc is taken as zero, as `jalr` does. False:
    /// one has begun.
    pub fn replace_state(&mut self, state: &State) -> bool {
        if !self.begun {
            self.state.clone_from(state);
            self.state.x[0] = 0;
            self.state.pc &= !1;
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
        self.debugged.as_mut().is_some_and(|debugged| !is_supervisor && debugged.is_to_stop(here))
    }

    /// A block may begin at `pc`. Where it ends at the latest.
    #[inline]
    pub(crate) fn block_end(&self, pc: u64) -> Option<u64> {
        let Some(debugged) = &self.debugged else { return Some(u64::MAX) };
        (!debugged.stops.has(pc)).then(|| debugged.stops.after(pc))
    }

    /// The call at `from` has returned, or was passed to the supervisor: it has been executed.
    #[inline]
    pub(crate) fn has_called(&mut self, from: u64) {
        let pc = self.state.pc;
        if let Some(debugged) = &mut self.debugged {
            debugged.executed(from, pc, None);
        }
    }
}

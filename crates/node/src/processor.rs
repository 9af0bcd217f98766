//! A processor of a node: a hart, the process on it, and what stops them.

use std::sync::Arc;

use chasqui_abi::mark;
use chasqui_engine::Time;
use chasqui_hart::{Halt, Hart, State, Text};
use chasqui_linux::{Elf, Flush, Outcome, Process, Stream};
use chasqui_memory::{Access, Bus, Fault, FlatMemory, Incoherence, PAGE_BYTES, Port, Stall};
use chasqui_record::{Cause, RankLife, RankProfile, Recorder};

use crate::spin::{Parked, Repetition, Spin};
use crate::watch::{Watch, WatchPlan};

/// Where the output of processes goes.
pub trait Output: Send + Sync {
    /// Process `rank` writes `bytes` at `now`.
    fn write(&self, rank: u32, now: Time, stream: Stream, bytes: &[u8]);
    /// Process `rank` makes a system call at `now` that is not served.
    fn unknown_call(&self, rank: u32, now: Time, number: u64);
    /// So many more instructions were executed, by any process.
    fn executed(&self, instructions: u64);
    /// Lines of the instruction trace of `rank`.
    fn traced(&self, _rank: u32, _lines: &str) {}
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited, with this status.
    Exit(i32),
    /// It called MPI_Abort, with this status.
    Abort(i32),
    /// A guest fault: the signal that Linux would send, and what happened.
    Fault {
        /// Signal number.
        signal: i32,
        /// Where and what, in words.
        text: String,
    },
}

/// What a hart does at the moment.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one in a node")]
pub(crate) enum Activity {
    /// It can execute the instruction at `pc`.
    Ready,
    /// It waits for its port since this cycle.
    Waiting(u64, Stall),
    /// It repeats a polling loop.
    Parked(Parked),
    /// It repeats itself in some other way: it goes on when an event comes.
    Suspended,
    /// It sleeps until then.
    Sleeping(Time),
    /// It waits for another thread, and there is none.
    Blocked(String),
    /// Its process has ended.
    Ended,
}

/// The part of a program that is simulated in detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// The program has not come to it.
    Ahead,
    /// The program is in it.
    Within,
    /// The program has left it.
    Behind,
}

/// Counters of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorStatistics {
    /// System calls served.
    pub calls: u64,
    /// Page faults served.
    pub page_faults: u64,
    /// Cycles charged for system calls and page faults.
    pub software_cycles: u64,
}

impl ProcessorStatistics {
    /// Visits the counters: name, unit, documentation, value.
    pub fn visit(&self, visit: &mut dyn FnMut(&str, &'static str, &'static str, u64)) {
        visit("calls", "count", "System calls served", self.calls);
        visit("page_faults", "count", "Page faults served", self.page_faults);
        visit("software_cycles", "cycles", "Charged for system calls and page faults", self.software_cycles);
    }
}

/// What a processor is started with.
pub struct ProcessorSpec {
    /// The process.
    pub process: Process,
    /// World rank.
    pub rank: u32,
    /// The program's text, if harts share it decoded.
    pub text: Option<Text>,
    /// Cycles of a system call.
    pub syscall_cycles: u64,
    /// Cycles of a page fault.
    pub page_fault_cycles: u64,
    /// MPI calls take no time of the hart's (the `loggp` machine).
    pub free_calls: bool,
    /// Before the part of interest instructions take no time.
    pub fast_forward: bool,
    /// Skip polling loops.
    pub spin_skip: bool,
    /// Calls of a rank kept for the timeline.
    pub timeline_max: usize,
    /// What is watched of it.
    pub watch: WatchPlan,
    /// Where output goes.
    pub output: Arc<dyn Output>,
}

/// A hart with its process.
pub struct Processor {
    /// The hart.
    pub hart: Hart,
    /// The process.
    pub process: Process,
    /// What the process's marks say.
    pub life: RankLife,
    /// World rank.
    pub rank: u32,
    /// What happened so far.
    pub statistics: ProcessorStatistics,
    /// How and when the process ended.
    pub ended: Option<(Time, Ended)>,
    pub(crate) activity: Activity,
    pub(crate) spin: Spin,
    pub(crate) watch: Option<Box<Watch>>,
    /// How far the program's part of interest has come, if the rest is fast-forwarded.
    pub region: Option<Region>,
    spec: Costs,
    /// Instructions that the output knows of.
    reported: u64,
    pub(crate) output: Arc<dyn Output>,
}

#[derive(Clone, Copy)]
struct Costs {
    syscall_cycles: u64,
    page_fault_cycles: u64,
    free_calls: bool,
    spin_skip: bool,
}

/// Signals (Linux include/uapi/asm-generic/signal.h).
const SIGILL: i32 = 4;
const SIGTRAP: i32 = 5;
const SIGBUS: i32 = 7;
const SIGSEGV: i32 = 11;

impl Processor {
    /// A processor about to execute the first instruction of its process.
    pub fn new(spec: ProcessorSpec, make_hart: impl FnOnce(State) -> Hart) -> Processor {
        let mut state = State::new(spec.process.entry());
        state.x[2] = spec.process.stack_pointer();
        let mut hart = make_hart(state);
        hart.port.set_root(spec.process.space.root());
        hart.share_text(spec.text);
        hart.port.set_timed(!spec.fast_forward);
        let watch = Watch::new(&spec.watch, spec.rank, spec.process.elf(), &spec.output);
        Processor {
            hart,
            life: RankLife::new(spec.rank as u16, spec.timeline_max),
            rank: spec.rank,
            process: spec.process,
            statistics: ProcessorStatistics::default(),
            ended: None,
            activity: Activity::Ready,
            spin: Spin::default(),
            watch,
            region: spec.fast_forward.then_some(Region::Ahead),
            spec: Costs {
                syscall_cycles: spec.syscall_cycles,
                page_fault_cycles: spec.page_fault_cycles,
                free_calls: spec.free_calls,
                spin_skip: spec.spin_skip,
            },
            reported: 0,
            output: spec.output,
        }
    }

    /// When the hart can execute its next instruction, if nothing else happens.
    pub(crate) fn ready_at(&self) -> Time {
        match self.activity {
            Activity::Ready => self.hart.now(),
            Activity::Sleeping(until) => until,
            _ => Time::NEVER,
        }
    }

    /// Something of the hart's port is finished at `now`: it tries again what it waited for.
    pub(crate) fn wake(&mut self, now: Time) {
        if let Activity::Waiting(since, stall) = self.activity {
            if self.hart.port.is_timed() {
                self.hart.cycle = self.hart.cycle.max(self.hart.cycle_at(now));
                self.hart.port.waited(stall, self.hart.cycle - since);
                self.watch(|watch, hart| watch.stalled(hart, stall));
            }
            self.activity = Activity::Ready;
        }
    }

    pub(crate) fn end(&mut self, how: Ended) {
        let now = self.hart.now();
        self.life.finish(now.0);
        self.ended = Some((now, how));
        self.activity = Activity::Ended;
    }

    /// Ends the process by `signal`, because of what is said in `what`.
    pub(crate) fn fault(&mut self, signal: i32, what: &str) {
        let text = format!("rank {} at {}: {what}, pc {}", self.rank, self.hart.now(), self.place());
        self.end(Ended::Fault { signal, text });
    }

    /// The hart's pc with its symbol.
    pub fn place(&self) -> String {
        let pc = self.hart.state.pc;
        match self.process.elf().symbolize(pc) {
            Some((name, 0)) => format!("{pc:#x} ({name})"),
            Some((name, offset)) => format!("{pc:#x} ({name}+{offset:#x})"),
            None => format!("{pc:#x}"),
        }
    }

    /// Name of the program.
    pub fn elf(&self) -> &Arc<Elf> {
        self.process.elf()
    }

    /// The hart executes up to a deadline: see [`Hart::run_with_bus`].
    pub(crate) fn run_hart(
        &mut self,
        bus: &mut Bus,
        before: Time,
        dram_bytes: u64,
        soft: u64,
        hard: u64,
    ) -> Halt {
        match &mut self.watch {
            None => self.hart.run_with_bus(bus, before, dram_bytes, soft, hard),
            Some(watch) => watch.run(&mut self.hart, bus, (before, dram_bytes), soft, hard),
        }
    }

    /// The NI charges the hart until `time`.
    pub(crate) fn start_at(&mut self, time: Time) {
        self.hart.start_at(time);
        self.watch(|watch, hart| watch.pass(hart, Cause::Overhead));
    }

    /// Tells the watch, if there is one, what happened to the hart.
    fn watch(&mut self, tell: impl FnOnce(&mut Watch, &Hart)) {
        if let Some(watch) = &mut self.watch {
            tell(watch, &self.hart);
        }
    }

    /// Where its cycles went, if that was counted: once, when all is over.
    pub fn take_profile(&mut self) -> Option<RankProfile> {
        self.watch.take()?.profile()
    }

    /// Tells the output how far the hart has come, now and then.
    pub(crate) fn report_progress(&mut self) {
        const OFTEN: u64 = 10_000;
        let executed = self.hart.statistics.instructions - self.reported;
        if executed >= OFTEN || self.ended.is_some() && executed > 0 {
            self.output.executed(executed);
            self.reported += executed;
        }
    }

    fn charge(&mut self, cycles: u64) {
        if self.hart.port.is_timed() {
            self.hart.cycle += cycles;
            self.statistics.software_cycles += cycles;
            self.watch(|watch, hart| watch.pass(hart, Cause::Software));
        }
    }

    /// Deals with what halted the hart, as far as it is the processor's own affair.
    pub(crate) fn halted(&mut self, halt: Halt, memory: &mut FlatMemory, recorder: &mut Recorder) {
        match halt {
            Halt::Deadline | Halt::Bus | Halt::Pause => {}
            Halt::Wait(stall) => self.activity = Activity::Waiting(self.hart.cycle, stall),
            Halt::Call => self.call(memory),
            Halt::Mark { code, call, value } => self.mark(code, call, value, recorder),
            Halt::Fault(Fault::Page { address, access }) => self.page_fault(address, access, memory),
            Halt::Fault(fault) => {
                let (signal, text) = describe(&fault);
                self.fault(signal, &text);
            }
            Halt::Illegal(bits) => self.fault(SIGILL, &format!("illegal instruction {bits:#010x}")),
            Halt::Breakpoint => self.fault(SIGTRAP, "breakpoint"),
        }
    }

    fn mark(&mut self, code: u32, call: u32, value: u64, recorder: &mut Recorder) {
        if code == mark::ABORT {
            return self.end(Ended::Abort(value as i32));
        }
        if code == mark::REGION {
            return self.region(value != 0);
        }
        let now = self.hart.now().0;
        let port = &self.hart.port;
        self.life
            .mark(recorder, code, call, value, now, &mut |address, bytes| port.peek_virtual(address, bytes));
        if code == mark::RETURN {
            self.spin.returned(&mut self.hart);
        }
        if self.spec.free_calls && matches!(code, mark::CALL | mark::RETURN) {
            self.set_timed();
        }
    }

    /// The part of interest begins or ends.
    fn region(&mut self, begins: bool) {
        if let Some(region) = &mut self.region {
            *region = match *region {
                Region::Ahead if !begins => Region::Ahead,
                _ if begins => Region::Within,
                _ => Region::Behind,
            };
            // What was seen of a loop so far took another time.
            self.spin.stop(&mut self.hart);
            self.set_timed();
        }
    }

    /// Instructions take time or not, as things stand.
    fn set_timed(&mut self) {
        let detailed = self.region.is_none_or(|region| region == Region::Within);
        let free = self.spec.free_calls && self.life.current_call().is_some();
        self.hart.port.set_timed(detailed && !free);
    }

    fn call(&mut self, memory: &mut FlatMemory) {
        let x = &self.hart.state.x;
        let (number, args) = (x[17], [x[10], x[11], x[12], x[13], x[14], x[15]]);
        let now = self.hart.now();
        self.hart.port.disturb();
        self.statistics.calls += 1;
        let mut host = Host { rank: self.rank, now, output: &*self.output };
        // The kernel sees all that the program has stored.
        self.hart.port.settle();
        let outcome = self.process.syscall(number, args, now, memory, &mut host);
        self.charge(self.spec.syscall_cycles);
        self.flush_translations(memory);
        let result = match outcome {
            Outcome::Return(value) => value,
            Outcome::Exit { status, .. } => return self.end(Ended::Exit(status)),
            Outcome::Signal(signal) => return self.fault(signal, "the process raised a signal"),
            Outcome::Sleep { until, value } => {
                self.activity = Activity::Sleeping(until.max(self.hart.now()));
                value
            }
            Outcome::Block(wait) => {
                self.activity = Activity::Blocked(format!("{wait:?}"));
                return;
            }
            Outcome::OutOfMemory(fault) => return self.fault(fault.signal(), &fault.to_string()),
        };
        self.hart.state.x[10] = result as u64;
        self.hart.state.pc += 4;
    }

    fn page_fault(&mut self, address: u64, access: Access, memory: &mut FlatMemory) {
        let wanted = match access {
            Access::Read => chasqui_linux::Access::Read,
            Access::Write => chasqui_linux::Access::Write,
            Access::Execute => chasqui_linux::Access::Execute,
        };
        self.hart.port.disturb();
        match self.process.space.fault(memory, address, wanted) {
            Ok(()) => {
                self.statistics.page_faults += 1;
                self.charge(self.spec.page_fault_cycles);
                // The page may have been there with fewer rights.
                self.hart.port.forget_page(address & !(PAGE_BYTES - 1));
                self.flush_translations(memory);
            }
            Err(fault) => self.fault(fault.signal(), &fault.to_string()),
        }
    }

    fn flush_translations(&mut self, memory: &FlatMemory) {
        let flush = self.process.space.take_flush();
        if matches!(flush, Flush::None) {
            return;
        }
        self.hart.port.flush_translations();
        self.hart.forget_code();
        if let Some(text) = self.hart.shared_text() {
            let range = text.range();
            let is_whole = match flush {
                Flush::Pages(pages) => {
                    !pages.iter().any(|p| (p + PAGE_BYTES) > range.start && *p < range.end)
                }
                _ => self.process.space.is_text(memory, range),
            };
            if !is_whole {
                self.hart.share_text(None);
            }
        }
    }

    /// The hart wakes from sleep, if it slept.
    pub(crate) fn rise(&mut self) {
        if let Activity::Sleeping(until) = self.activity {
            self.hart.cycle = self.hart.cycle_at(until);
            self.watch(|watch, hart| watch.pass(hart, Cause::Sleep));
            self.activity = Activity::Ready;
        }
    }

    /// The hart has executed a `pause`: if it repeats itself, it does nothing until an event comes.
    pub(crate) fn pause(&mut self, bus: &Bus) {
        self.watch(|watch, hart| watch.paused(hart));
        // Polling that takes no time is always skipped.
        let skip = self.spec.spin_skip || !self.hart.port.is_timed();
        match self.spin.pause(&mut self.hart, bus) {
            Some(Repetition::Exact(parked)) if skip => self.activity = Activity::Parked(parked),
            Some(_) => self.activity = Activity::Suspended,
            None => {}
        }
    }

    /// The hart can execute its next instruction.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.activity, Activity::Ready)
    }

    /// The hart does nothing until an event comes that it can see.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.activity, Activity::Parked(_) | Activity::Suspended)
    }

    /// An event happens at `now` that the hart may see until `until` at the latest. A parked hart catches
    /// up; one that is suspended is ready where it stopped, and has yet to.
    pub(crate) fn event(&mut self, bus: &mut Bus, now: Time, until: Time) {
        if let Activity::Parked(parked) = self.activity {
            let turns = parked.advance(&mut self.hart, bus, now);
            self.watch(|watch, hart| watch.repeated(hart, turns));
        }
        if self.is_idle() {
            self.activity = Activity::Ready;
        }
        self.spin.event(&mut self.hart, until);
    }

    /// What the process waits for, if it can't go on by itself.
    pub fn waiting_for(&self) -> Option<String> {
        let port: &Port = &self.hart.port;
        let text = self.life.waiting_for(&mut |address, bytes| port.peek_virtual(address, bytes));
        match (&self.activity, text) {
            (Activity::Ended, _) => None,
            (Activity::Blocked(why), _) => Some(format!("another thread: {why}")),
            (_, Some(text)) => Some(text),
            (Activity::Suspended, None) => {
                Some(format!("what never comes: it repeats itself at pc {}", self.place()))
            }
            _ => Some(format!("something, at pc {}", self.place())),
        }
    }
}

struct Host<'a> {
    rank: u32,
    now: Time,
    output: &'a dyn Output,
}

impl chasqui_linux::Host for Host<'_> {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        self.output.write(self.rank, self.now, stream, bytes);
    }

    fn report_unknown(&mut self, number: u64) {
        self.output.unknown_call(self.rank, self.now, number);
    }
}

/// Signal and words for a fault that no mapping can mend.
fn describe(fault: &Fault) -> (i32, String) {
    match fault {
        Fault::Page { address, .. } => (SIGSEGV, format!("no access to {address:#x}")),
        Fault::Atomic { address } => {
            (SIGBUS, format!("atomic operation on {address:#x}, which is not aligned or not memory"))
        }
        Fault::DeviceAlignment { address } => {
            (SIGBUS, format!("access to device register {address:#x} across its alignment"))
        }
        Fault::Incoherent(incoherence) => (SIGBUS, describe_incoherence(incoherence)),
    }
}

/// What the coherence checker found, in words.
pub(crate) fn describe_incoherence(incoherence: &Incoherence) -> String {
    match incoherence {
        Incoherence::DeviceReadsDirty { address } => {
            format!(
                "coherence: the NI reads {address:#x}, which is modified in a cache that it does not snoop: a flush is missing"
            )
        }
        Incoherence::StaleHit { address } => {
            format!(
                "coherence: a hit on {address:#x}, which the NI has overwritten since: a flush is missing"
            )
        }
        Incoherence::DevicePassesStore { address, older } => {
            format!(
                "coherence: the store to device register {address:#x} passes the older store or flush of {older:#x}: a fence is missing"
            )
        }
    }
}

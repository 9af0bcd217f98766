//! A node's processor: its harts, the process on them, and what stops them.

use std::sync::Arc;

use chasqui_abi::mark;
use chasqui_config::Cycles;
use chasqui_engine::Time;
use chasqui_hart::{Halt, Hart, State, Text};
use chasqui_linux::{Elf, Flush, Outcome, Process, Stream, Wait};
use chasqui_memory::{Access, Bus, Fault, FlatMemory, PAGE_BYTES};
use chasqui_record::{RankLife, RankProfile, Recorder};

use crate::followed::Followed;
use crate::kernel::Kernel;
use crate::marking::Marking;
use crate::parameters::SoftwareUnit;
use crate::scheduler::Usage;
use crate::symbols::Symbols;
use crate::thread::{Activity, Thread, Threads};
use crate::watch::{Watch, WatchPlan};

/// Where the output of processes goes.
pub trait Output: Send + Sync {
    /// Process `rank` writes `bytes` at `now`.
    fn write(&self, rank: u32, now: Time, stream: Stream, bytes: &[u8]);
    /// Process `rank` makes a system call at `now` that is not served.
    fn unknown_call(&self, rank: u32, now: Time, number: u64);
    /// Process `rank` asks at `now` for more threads than its node's `harts`.
    fn no_hart(&self, rank: u32, now: Time, harts: u32);
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

/// What a processor is started with.
pub struct ProcessorSpec {
    /// The process.
    pub process: Process,
    /// World rank.
    pub rank: u32,
    /// Number of its job.
    pub job: usize,
    /// The program's text, if harts share it decoded.
    pub text: Option<Text>,
    /// The kernel under the process; without one the simulator serves its system calls itself.
    pub kernel: Option<Kernel>,
    /// What takes how long, and what takes none.
    pub costs: Costs,
    /// Before the part of interest instructions take no time.
    pub fast_forward: bool,
    /// Calls of a rank kept for the timeline.
    pub timeline_max: usize,
    /// What is watched of it.
    pub watch: WatchPlan,
    /// Where output goes.
    pub output: Arc<dyn Output>,
}

/// What takes how long beside instructions, and what takes none.
#[derive(Clone, Debug)]
pub struct Costs {
    /// What the simulator does in the place of system software.
    pub software: SoftwareUnit,
    /// An `ecall` of a kernel's.
    pub machine_call: Cycles,
    /// MPI calls take no time of the hart's (the `loggp` machine).
    pub free_calls: bool,
    /// Skip polling loops.
    pub spin_skip: bool,
}

/// The harts of a node with their process.
pub struct Processor {
    /// The harts with their threads.
    pub threads: Threads,
    /// The process.
    pub process: Process,
    /// What the process's marks say.
    pub life: RankLife,
    /// World rank.
    pub rank: u32,
    /// Number of the process's job.
    pub(crate) job: usize,
    /// What other processes have used of the first hart.
    pub(crate) elsewhere: Usage,
    /// How and when the process ended.
    pub ended: Option<(Time, Ended)>,
    /// Harts up to this one have had threads: the caches of the others are empty.
    pub(crate) started: usize,
    pub(crate) text: Option<Text>,
    pub(crate) kernel: Option<Kernel>,
    /// Names of the process's addresses.
    pub(crate) symbols: Symbols,
    /// How far the program's part of interest has come, if the rest is fast-forwarded.
    pub region: Option<Region>,
    /// Messages whose data are followed, if they are.
    pub(crate) followed: Option<Followed>,
    costs: Costs,
    /// Instructions that the output does not know of.
    unreported: u64,
    pub(crate) output: Arc<dyn Output>,
}

/// Signals (Linux include/uapi/asm-generic/signal.h).
const SIGILL: i32 = 4;
const SIGTRAP: i32 = 5;
const SIGBUS: i32 = 7;
const SIGSEGV: i32 = 11;

impl Processor {
    /// A processor of `harts` harts about to execute the first instruction of its process.
    pub fn new(spec: ProcessorSpec, harts: usize, mut make_hart: impl FnMut(State) -> Hart) -> Processor {
        let symbols = Symbols::of(&spec);
        let mut state = State::new(spec.process.entry());
        state.x[2] = spec.process.stack_pointer();
        if let Some(kernel) = &spec.kernel {
            state = kernel.start();
        }
        let make = |index: usize| {
            let number = (harts > 1).then_some(index);
            let watch = Watch::new(&spec.watch, spec.rank, number, &symbols, &spec.output);
            Thread::new(make_hart(state.clone()), watch)
        };
        let mut threads = (0..harts).map(make);
        let first = threads.next().expect("a node has a hart");
        let mut processor = Processor {
            threads: Threads::new(first, threads.collect()),
            life: RankLife::new(spec.rank as u16, harts, spec.timeline_max),
            rank: spec.rank,
            job: spec.job,
            elsewhere: Usage::default(),
            process: spec.process,
            ended: None,
            started: 0,
            text: spec.text,
            kernel: spec.kernel,
            symbols,
            region: spec.fast_forward.then_some(Region::Ahead),
            followed: None,
            costs: spec.costs,
            unreported: 0,
            output: spec.output,
        };
        if spec.watch.accesses {
            processor.follow_messages();
        }
        processor.start(0);
        processor.set_timed(0);
        if processor.kernel.is_some() {
            assert!(harts == 1 && processor.threads[0].hart.port.is_timed(), "a kernel's harts");
            let root = processor.process.space.root();
            processor.threads[0].hart.begin_supervisor(root);
        }
        processor
    }

    /// Cycles of an `ecall` of the kernel's.
    pub(crate) fn machine_call_cycles(&self) -> u64 {
        self.costs.machine_call.cycles()
    }

    /// A thread comes to hart `index`.
    fn start(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        thread.activity = Activity::Ready;
        if index >= self.started {
            thread.hart.port.set_root(self.process.space.root());
            self.started = index + 1;
        }
        thread.hart.share_text(self.text.clone());
        if self.is_several() {
            self.threads.iter_mut().for_each(|thread| thread.hart.port.join_peers());
        }
    }

    /// Threads have been on more than the first hart.
    #[inline]
    pub(crate) fn is_several(&self) -> bool {
        self.started > 1
    }

    /// When some hart is ready, if nothing else happens.
    #[inline]
    pub(crate) fn ready_at(&self) -> Time {
        if self.is_several() { self.first_ready::<true>().0 } else { self.first_ready::<false>().0 }
    }

    /// When the hart is ready that is ready first, and which it is; of two at a time the lower.
    #[inline]
    pub(crate) fn first_ready<const SEVERAL: bool>(&self) -> (Time, usize) {
        if !SEVERAL {
            return (self.threads[0].ready_at(), 0);
        }
        let ready = self.threads.iter().take(self.started).enumerate().map(|(i, t)| (t.ready_at(), i));
        ready.min().expect("a processor has harts")
    }

    /// Hart `index` must not start an instruction at or after this time, when another hart may be next.
    pub(crate) fn others_ready(&self, index: usize) -> Time {
        let others = self.threads.iter().take(self.started).enumerate().filter(|&(i, _)| i != index);
        // Of two at a time the lower comes first.
        let until = others.map(|(i, t)| t.ready_at() + Time(u64::from(index < i)));
        until.min().unwrap_or(Time::NEVER)
    }

    /// Harts other than `index` that have had threads.
    pub(crate) fn others(&mut self, index: usize) -> impl Iterator<Item = &mut Thread> {
        let threads = self.threads.iter_mut().take(self.started).enumerate();
        threads.filter(move |&(i, _)| i != index).map(|(_, thread)| thread)
    }

    /// No hart but `index` uses the bus before an event comes, or one wakes by itself.
    fn is_sole(&self, index: usize) -> bool {
        let threads = self.threads.iter().take(self.started).enumerate();
        threads.filter(|&(i, _)| i != index).all(|(_, thread)| thread.leaves_bus())
    }

    /// Hart `index` does something at `now` that others may see. True: one that repeats itself has to catch up
    /// first. Calls that take no time have none to catch up with: [`Processor::tell_untimed`].
    pub(crate) fn announce(&mut self, index: usize, bus: &mut Bus, now: Time) -> bool {
        let mut idle = false;
        for thread in self.others(index).filter(|thread| thread.hart.port.is_timed()) {
            idle |= thread.is_idle();
            thread.event(bus, now, now);
        }
        idle
    }

    /// Hart `index` has executed instructions of a call that takes no time. If they changed anything, others that
    /// repeat themselves in such calls look again, at the same time. True: there are some.
    pub(crate) fn tell_untimed(&mut self, index: usize) -> bool {
        let hart = &self.threads[index].hart;
        if hart.port.is_silent() {
            return false;
        }
        let now = hart.now();
        let mut idle = false;
        for thread in self.others(index).filter(|t| t.is_idle() && !t.hart.port.is_timed()) {
            idle = true;
            thread.look_again(now);
        }
        idle
    }

    /// Instructions of the process that all harts have executed.
    pub fn instructions(&self) -> u64 {
        let all: u64 = self.threads.iter().map(|t| t.hart.statistics.instructions).sum();
        all - self.elsewhere.instructions
    }

    /// Harts that have had threads, as far as their numbers tell.
    pub fn harts_used(&self) -> usize {
        self.started
    }

    /// Cycles of the hart that has come furthest, without those of other processes.
    pub fn cycles(&self) -> u64 {
        self.threads.iter().map(|t| t.hart.cycle).max().unwrap_or(0) - self.elsewhere.cycles
    }

    /// The present of the hart that has come furthest.
    pub fn now(&self) -> Time {
        self.threads.iter().map(|t| t.hart.now()).max().unwrap_or(Time::ZERO)
    }

    /// Its process has ended now.
    pub(crate) fn note_end(&mut self, index: usize, how: Ended) {
        let now = self.threads[index].hart.now();
        self.life.finish(now.0);
        self.ended = Some((now, how));
    }

    pub(crate) fn end(&mut self, index: usize, how: Ended) {
        self.note_end(index, how);
        self.threads.iter_mut().for_each(|thread| thread.activity = Activity::Ended);
    }

    /// Ends the process by `signal`, because of what is said in `what` and hart `index` does.
    pub(crate) fn fault(&mut self, index: usize, signal: i32, what: &str) {
        let pc = self.trapped_at(index).unwrap_or(self.threads[index].hart.state.pc);
        self.fault_at(index, signal, what, pc);
    }

    /// The same, of an instruction at `pc`.
    pub(crate) fn fault_at(&mut self, index: usize, signal: i32, what: &str, pc: u64) {
        let thread = if self.is_several() { format!(", hart {index},") } else { String::new() };
        let now = self.threads[index].hart.now();
        let text = format!("rank {}{thread} at {now}: {what}, pc {}", self.rank, self.symbols.place(pc));
        self.end(index, Ended::Fault { signal, text });
    }

    /// The pc of hart `index` with its symbol: the process's, if the kernel works for it.
    fn place(&self, index: usize) -> String {
        let pc = self.threads[index].hart.state.pc;
        match self.trapped_at(index) {
            Some(user) => {
                format!("{}, in the kernel at {}", self.symbols.place(user), self.symbols.place(pc))
            }
            None => self.symbols.place(pc),
        }
    }

    /// The pc of each thread with its symbol, in words.
    pub fn places(&self) -> String {
        let alive: Vec<usize> = (0..self.started).filter(|&i| self.threads[i].is_alive()).collect();
        match alive[..] {
            [one] => format!("pc {}", self.place(one)),
            _ => {
                let each = alive.iter().map(|&i| format!("hart {i}: pc {}", self.place(i)));
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Name of the program.
    pub fn elf(&self) -> &Arc<Elf> {
        self.process.elf()
    }

    /// Where the cycles of its harts went, if that was counted: once, when all is over.
    pub fn take_profile(&mut self) -> Option<RankProfile> {
        let profiles = self.threads.iter_mut().filter_map(|thread| thread.watch.take()?.profile());
        profiles.reduce(|mut sum, profile| {
            sum.add(&profile);
            sum
        })
    }

    /// `executed` more instructions were executed: tells the output how far the harts have come, now and then.
    #[inline]
    pub(crate) fn report_progress(&mut self, executed: u64) {
        const OFTEN: u64 = 10_000;
        self.unreported += executed;
        if self.unreported >= OFTEN || self.ended.is_some() && self.unreported > 0 {
            self.output.executed(std::mem::take(&mut self.unreported));
        }
    }

    /// Hart `index` executes until cycle `end`: see [`Hart::run_with_bus`]. `bus`: it, until when it is lent, and bytes
    /// of main memory.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        index: usize,
        recorders: &mut [Recorder],
        (bus, before, dram_bytes): (&mut Bus, Time, u64),
        end: u64,
    ) -> Halt {
        let several = self.is_several();
        let Thread { hart, spin, watch, .. } = &mut self.threads[index];
        if let Some(watch) = watch {
            return watch.run(hart, bus, (before, dram_bytes), end);
        }
        let (recorder, free_calls) = (&mut recorders[self.job], self.costs.free_calls);
        let follows = self.followed.is_some();
        let mut marking =
            Marking { life: &mut self.life, recorder, spin, index, free_calls, follows, several };
        hart.run_with_bus(&mut marking, bus, before, dram_bytes, end)
    }

    /// Deals with what halted hart `index`, as far as it is the processor's own affair.
    #[inline(always)]
    pub(crate) fn halted(
        &mut self,
        index: usize,
        halt: Halt,
        memory: &mut FlatMemory,
        recorders: &mut [Recorder],
    ) {
        match halt {
            Halt::Deadline | Halt::Bus | Halt::Pause => {}
            Halt::Idle => self.threads[index].activity = Activity::Idle,
            Halt::Wait(stall) => {
                let thread = &mut self.threads[index];
                thread.activity = Activity::Waiting(thread.hart.cycle, stall);
            }
            other => self.called(index, other, memory, &mut recorders[self.job]),
        }
    }

    /// The instruction at which hart `index` has halted asks for software.
    fn called(&mut self, index: usize, halt: Halt, memory: &mut FlatMemory, recorder: &mut Recorder) {
        match halt {
            Halt::Deadline | Halt::Bus | Halt::Pause | Halt::Idle | Halt::Wait(_) => {}
            Halt::Call if self.kernel.is_some() => self.kernel_call(index, memory),
            Halt::Call => self.call(index, memory),
            Halt::Mark { code, call, value } => self.mark(index, code, call, value, recorder),
            Halt::Fault(Fault::Page { address, access }) if self.kernel.is_none() => {
                self.page_fault(index, address, access, memory);
            }
            fault => {
                let pc = self.threads[index].hart.state.pc;
                self.strike(index, fault, pc, memory);
            }
        }
    }

    /// Ends the process by the signal for `fault`, an exception that nothing mends, of the instruction at `pc`.
    pub(crate) fn strike(&mut self, index: usize, fault: Halt, pc: u64, memory: &mut FlatMemory) {
        let (signal, what) = match fault {
            Halt::Fault(Fault::Page { address, access }) => {
                match self.process.space.fault(memory, address, wanted(access)) {
                    Err(fault) => (fault.signal(), fault.to_string()),
                    Ok(()) => (SIGSEGV, format!("the kernel did not bring in the page of {address:#x}")),
                }
            }
            Halt::Fault(fault) => (signal_of(&fault), fault.to_string()),
            Halt::Illegal(_) => {
                (SIGILL, format!("illegal instruction {:#010x}", self.instruction_at(index, pc)))
            }
            Halt::Breakpoint => (SIGTRAP, "breakpoint".into()),
            other => unreachable!("{other:?} is no exception"),
        };
        self.fault_at(index, signal, &what, pc);
    }

    /// The bits of the instruction at `pc`, of which hart `index` has read what is there of it.
    fn instruction_at(&self, index: usize, pc: u64) -> u32 {
        let mut halves = [[0; 2]; 2];
        for (at, half) in (pc..).step_by(2).zip(&mut halves) {
            let is_read = self.threads[index].hart.port.peek_virtual(at, half);
            // Only the first two bytes tell whether there are more.
            if !is_read || half[0] & 3 != 3 {
                break;
            }
        }
        u32::from_le_bytes(halves.concat().try_into().expect("two halves"))
    }

    fn mark(&mut self, index: usize, code: u32, call: u32, value: u64, recorder: &mut Recorder) {
        if code == mark::ABORT {
            return self.end(index, Ended::Abort(value as i32));
        }
        if code == mark::REGION {
            return self.region(index, value != 0);
        }
        let (free_calls, follows, several) =
            (self.costs.free_calls, self.followed.is_some(), self.is_several());
        let Thread { hart, spin, .. } = &mut self.threads[index];
        let mut marking =
            Marking { life: &mut self.life, recorder, spin, index, free_calls, follows, several };
        marking.note(hart, code, call, value);
        if follows && code == mark::DELIVER {
            self.follow_delivered(index, value);
        }
        if self.costs.free_calls && matches!(code, mark::CALL | mark::RETURN) {
            self.set_timed(index);
        }
    }

    /// The part of interest begins or ends, says hart `index`.
    fn region(&mut self, index: usize, begins: bool) {
        if let Some(region) = &mut self.region {
            *region = match *region {
                Region::Ahead if !begins => Region::Ahead,
                _ if begins => Region::Within,
                _ => Region::Behind,
            };
            // Where there are threads, instructions take time anyway.
            if !self.is_several() {
                self.change_timing(index);
            }
        }
    }

    /// Instructions of hart `index` may take another time than before.
    fn change_timing(&mut self, index: usize) {
        // What was seen of a loop so far took another time.
        let thread = &mut self.threads[index];
        thread.spin.stop(&mut thread.hart);
        self.set_timed(index);
    }

    /// Instructions of hart `index` take time or not, as things stand. Threads are not fast-forwarded: their
    /// order is that of their times.
    fn set_timed(&mut self, index: usize) {
        let detailed = self.is_several() || self.region.is_none_or(|region| region == Region::Within);
        let free = self.costs.free_calls && self.life.current_call(index).is_some();
        self.threads[index].hart.port.set_timed(detailed && !free);
    }

    fn call(&mut self, index: usize, memory: &mut FlatMemory) {
        let thread = &mut self.threads[index];
        let x = &thread.hart.state.x;
        let (number, args) = (x[17], [x[10], x[11], x[12], x[13], x[14], x[15]]);
        let now = thread.hart.now();
        let outcome = self.serve(index, number, args, memory);
        self.threads[index].charge(self.costs.software.syscall.cycles());
        self.flush_translations(index, memory);
        if self.is_several() {
            self.change_memory(index, now);
        }
        let thread = &mut self.threads[index];
        let result = match outcome {
            Outcome::Return(value) => value,
            Outcome::Yield => {
                thread.activity = Activity::Yielded;
                0
            }
            Outcome::Exit { status, .. } => return self.end(index, Ended::Exit(status)),
            Outcome::Leave => {
                thread.activity = Activity::Vacant;
                return;
            }
            Outcome::Clone { hart, stack, tls, id } => {
                self.begin(index, hart, stack, tls);
                id
            }
            Outcome::Signal(signal) => return self.fault(index, signal, "the process raised a signal"),
            Outcome::Sleep { until, value } => {
                thread.activity = Activity::Sleeping(until.max(thread.hart.now()));
                value
            }
            Outcome::Block { wait, until } => {
                let until = if until == Time::NEVER { until } else { until.max(thread.hart.now()) };
                thread.activity = Activity::Blocked(wait, until);
                return;
            }
            Outcome::OutOfMemory(fault) => return self.fault(index, fault.signal(), &fault.to_string()),
        };
        self.threads[index].hart.return_from_call(result);
    }

    /// Serves a system call, in no time.
    pub(crate) fn serve(
        &mut self,
        index: usize,
        number: u64,
        args: [u64; 6],
        memory: &mut FlatMemory,
    ) -> Outcome {
        let thread = &mut self.threads[index];
        let now = thread.hart.now();
        thread.statistics.calls += 1;
        let mut host = Host { rank: self.rank, now, output: &*self.output };
        // What serves it sees all that the thread has stored.
        thread.hart.port.settle();
        let outcome = self.process.syscall(index, number, args, now, memory, &mut host);
        // Who gives the hart up does so again for nothing.
        if outcome != Outcome::Yield {
            thread.hart.port.disturb();
        }
        outcome
    }

    /// A call of the thread on hart `index` at `now` may have changed memory past the caches, and woken
    /// threads.
    fn change_memory(&mut self, index: usize, now: Time) {
        let barrier = self.process.take_barrier();
        for thread in self.others(index) {
            thread.hart.port.drop_reservation();
            if barrier {
                thread.hart.port.settle();
            }
        }
        for woken in self.process.take_woken() {
            let thread = &mut self.threads[woken];
            thread.resume_at(now);
            thread.charge(self.costs.software.wake.cycles());
            thread.hart.return_from_call(0);
        }
    }

    /// The thread on hart `parent` has made another, which begins on hart `index` where its maker is.
    fn begin(&mut self, parent: usize, index: usize, stack: u64, tls: Option<u64>) {
        let (state, now) = (self.threads[parent].hart.state.clone(), self.threads[parent].hart.now());
        self.start(index);
        if self.region.is_some() {
            self.change_timing(parent);
        }
        let thread = &mut self.threads[index];
        thread.hart.state = state;
        thread.spin.stop(&mut thread.hart);
        if stack != 0 {
            thread.hart.state.x[2] = stack;
        }
        if let Some(tls) = tls {
            thread.hart.state.x[4] = tls;
        }
        let wake_cycles = self.costs.software.wake.cycles();
        thread.begin(now);
        thread.charge(wake_cycles);
        thread.hart.return_from_call(0);
    }

    fn page_fault(&mut self, index: usize, address: u64, access: Access, memory: &mut FlatMemory) {
        match self.bring_in(index, address, access, memory) {
            Ok(()) => self.threads[index].charge(self.costs.software.page_fault.cycles()),
            Err(fault) => self.fault(index, fault.signal(), &fault.to_string()),
        }
    }

    /// Makes the page at `address` usable for `access`, in no time.
    pub(crate) fn bring_in(
        &mut self,
        index: usize,
        address: u64,
        access: Access,
        memory: &mut FlatMemory,
    ) -> Result<(), chasqui_linux::space::Fault> {
        let thread = &mut self.threads[index];
        thread.hart.port.disturb();
        let port = &mut thread.hart.port;
        let was_there = port.physical(address).is_some();
        self.process.space.fault(memory, address, wanted(access))?;
        if let Some(page) = port.physical(address & !(PAGE_BYTES - 1)).filter(|_| !was_there) {
            port.forget_messages(page);
        }
        thread.statistics.page_faults += 1;
        // The page may have been there with fewer rights.
        thread.hart.port.forget_page(address & !(PAGE_BYTES - 1));
        self.flush_translations(index, memory);
        Ok(())
    }

    /// Translations that the thread on hart `index` has changed are forgotten by all harts.
    pub(crate) fn flush_translations(&mut self, index: usize, memory: &FlatMemory) {
        let flush = self.process.space.take_flush();
        if matches!(flush, Flush::None) {
            return;
        }
        if let Some(text) = &self.text {
            let range = text.range();
            let is_whole = match flush {
                Flush::Pages(pages) => {
                    !pages.iter().any(|p| (p + PAGE_BYTES) > range.start && *p < range.end)
                }
                _ => self.process.space.is_text(memory, range),
            };
            if !is_whole {
                self.text = None;
            }
        }
        let is_shared = self.text.is_some();
        let mut told = false;
        for (i, thread) in self.threads.iter_mut().take(self.started).enumerate() {
            thread.hart.port.flush_translations();
            thread.hart.forget_code();
            if !is_shared {
                thread.hart.share_text(None);
            }
            told |= i != index && thread.is_alive();
        }
        if told {
            self.threads[index].charge(self.costs.software.shootdown.cycles());
        }
    }

    /// Hart `index` is about to run: it wakes, if it slept or has waited long enough, or its timer interrupts it.
    pub(crate) fn rise(&mut self, index: usize, bus: &mut Bus) {
        let thread = &mut self.threads[index];
        let at = thread.ready_at();
        match thread.activity {
            Activity::Sleeping(until) => thread.rise(until),
            Activity::Idle => thread.rise(at),
            Activity::Parked(_) | Activity::Suspended(_) => thread.event(bus, at, at),
            Activity::Blocked(_, until) => {
                thread.resume_at(until);
                thread.hart.return_from_call(self.process.time_out(index));
            }
            _ => {}
        }
    }

    /// Hart `index` has executed a `pause`.
    pub(crate) fn pause(&mut self, index: usize, bus: &Bus) {
        let sole = self.is_sole(index);
        self.threads[index].pause(bus, sole, self.costs.spin_skip);
    }

    /// Hart `index` may have given itself up. True: it has, and nobody else is on it.
    pub(crate) fn yielded(&mut self, index: usize, bus: &Bus) -> bool {
        let yielded = matches!(self.threads[index].activity, Activity::Yielded);
        if yielded {
            let sole = self.is_sole(index);
            self.threads[index].yielded(bus, sole);
        }
        yielded
    }

    /// What the process waits for, if it can't go on by itself; nothing, once it has ended, alone or with its job.
    pub fn waiting_for(&self) -> Option<String> {
        if self.ended.is_some() {
            return None;
        }
        let alive: Vec<usize> = (0..self.started).filter(|&i| self.threads[i].is_alive()).collect();
        if let [one] = alive[..] {
            return Some(self.thread_waits_for(one));
        }
        let each = alive.iter().map(|&i| format!("hart {i} for {}", self.thread_waits_for(i)));
        (!alive.is_empty()).then(|| format!("its threads: {}", each.collect::<Vec<_>>().join("; ")))
    }

    /// Some thread would go on by itself, but simulated time ends before.
    pub fn waits_beyond_time(&self) -> bool {
        self.ended.is_none() && (0..self.started).any(|i| self.threads[i].waits_beyond_time())
    }

    fn thread_waits_for(&self, index: usize) -> String {
        let place = self.place(index);
        let thread = &self.threads[index];
        if matches!(thread.activity, Activity::Sleeping(until) if until >= Time::END) {
            return format!("a time after the end of simulated time, asleep, pc {place}");
        }
        let read = &mut |address, bytes: &mut [u8]| thread.hart.port.peek_virtual(address, bytes);
        match (&thread.activity, self.life.waiting_for(index, read)) {
            (Activity::Blocked(Wait::Futex { address }, _), _) => {
                format!("another thread at the futex {address:#x}, pc {place}")
            }
            (Activity::Idle, text) => {
                let for_what = self.sleeps_for(index).unwrap_or("an interrupt".into());
                let text = text.map_or(format!("pc {place}"), |text| format!("{text}, pc {place}"));
                format!("{for_what}, asleep: {text}")
            }
            (_, Some(text)) => text,
            (Activity::Suspended(_) | Activity::Parked(_), None) => {
                format!("what never comes: it repeats itself at pc {place}")
            }
            _ => format!("something, at pc {place}"),
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

    fn report_no_hart(&mut self, harts: u32) {
        self.output.no_hart(self.rank, self.now, harts);
    }
}

/// An access, as the process's memory knows it.
fn wanted(access: Access) -> chasqui_linux::Access {
    match access {
        Access::Read => chasqui_linux::Access::Read,
        Access::Write => chasqui_linux::Access::Write,
        Access::Execute => chasqui_linux::Access::Execute,
    }
}

/// The signal for a fault that no mapping can mend.
fn signal_of(fault: &Fault) -> i32 {
    if matches!(fault, Fault::Page { .. }) { SIGSEGV } else { SIGBUS }
}

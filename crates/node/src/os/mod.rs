//! A node's system software: its processes, what stops their harts, and who is on a hart.
//!
//! Without a kernel image the simulator stands in for the kernel: `call.rs` serves system calls, `page.rs` page faults.
//! With one (`kernel.rs`) they trap into it. `scheduler.rs` has several processes share a hart, `process.rs` is a
//! process with its records, `pager.rs` what devices ask of the system, `marking.rs` and `tracked.rs` what is recorded of messages, `report.rs` what a process waits for, in words.

mod call;
mod kernel;
mod marking;
mod page;
mod pager;
mod position;
mod process;
mod report;
mod scheduler;
mod tracked;
mod usage;

use chasqui_abi::mark;
use chasqui_config::Cycles;
use chasqui_engine::Time;
use chasqui_hart::{Halt, State};
use chasqui_memory::{Bus, Fault, FlatMemory, LentBus};
use chasqui_ni::RankMark;
use chasqui_placement::{JobId, ProcessId};
use chasqui_record::{Profile, Recorder};
use chasqui_watch::Symbols;

use crate::harts::{Activity, Core, Harts};
use crate::parameters::SoftwareUnit;
pub use kernel::{Kernel, KernelNode, KernelProcess, kernel_memory, load_kernel};
use marking::{Rules, note_elsewhere};
pub(crate) use pager::{Pages, physical};
use position::Position;
pub(crate) use process::NodeProcess;
pub use process::{Ended, Output, ProcessSpec, ProcessView, Region};
pub(crate) use scheduler::{Scheduler, Timer};
use usage::SoftwareCycles;
pub use usage::{Away, Spent, Usage};

/// Signals (Linux include/uapi/asm-generic/signal.h).
pub(crate) const SIGILL: i32 = 4;
const SIGTRAP: i32 = 5;
pub(crate) const SIGABRT: i32 = 6;
pub(crate) const SIGBUS: i32 = 7;
pub(crate) const SIGSEGV: i32 = 11;
pub(crate) const SIGXFSZ: i32 = 25;

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

/// What a node's system software is started with.
pub struct OsSpec {
    /// Its processes; the first begins on the first hart, the others share it with that one.
    pub processes: Vec<ProcessSpec>,
    /// The kernel under the processes; without one the simulator serves their system calls itself.
    pub kernel: Option<Kernel>,
    /// What takes how long, and what takes none.
    pub costs: Costs,
}

/// The system software of a node.
pub(crate) struct Os {
    /// The processes, on harts or not.
    pub processes: Vec<NodeProcess>,
    /// Who is on the hart, if there are several processes.
    pub scheduler: Option<Box<Scheduler>>,
    pub kernel: Option<Kernel>,
    pub costs: Costs,
    /// Jobs that ended here by a fault or abort, and nobody was told.
    pub broken: Vec<JobId>,
    /// When the first of them did.
    pub stop: Option<Time>,
    /// The hart on which a process has ended last.
    pub ended_on: usize,
    /// Instructions that the output does not know of.
    unreported: u64,
}

impl Os {
    /// The first hart of `process`.
    ///
    /// # Panics
    /// There is no such process here.
    pub fn hart_of(&self, process: ProcessId) -> usize {
        let found = self.processes.iter().find(|here| here.id == process);
        found.expect("a process of this node").harts.start
    }

    pub fn new(spec: OsSpec, scheduler: Option<Box<Scheduler>>) -> Os {
        let image = spec.kernel.as_ref().map(Kernel::image);
        let process = |spec: ProcessSpec| {
            let symbols = Symbols::new(spec.process.elf().clone(), image.cloned());
            NodeProcess::new(spec, symbols)
        };
        Os {
            processes: spec.processes.into_iter().map(process).collect(),
            scheduler,
            kernel: spec.kernel,
            costs: spec.costs,
            broken: vec![],
            stop: None,
            ended_on: 0,
            unreported: 0,
        }
    }

    /// How the first hart begins.
    pub fn start(&self) -> State {
        self.kernel.as_ref().map_or_else(|| self.processes[0].start(), Kernel::start)
    }

    /// Each process begins on the first of its harts; of those that share one, the first process.
    pub fn begin(&mut self, harts: &mut Harts) {
        // A kernel has the others begin.
        let is_one = self.scheduler.is_some() || self.kernel.is_some();
        let on_harts = if is_one { 1 } else { self.processes.len() };
        for number in 0..on_harts {
            let process = &self.processes[number];
            process.track(harts);
            let first = process.harts.start;
            // With a kernel the hart begins there.
            if self.kernel.is_none() {
                harts[first].hart.state = process.start();
            }
            self.place(harts, first, number);
        }
        // Who has others beside itself is known now.
        for number in 0..on_harts {
            self.set_timed(harts, self.processes[number].harts.start);
        }
        if self.kernel.is_some() {
            let root = self.processes[0].process.space.root();
            harts[0].hart.begin_supervisor(root);
            self.deschedule();
        }
        for process in &self.processes[..on_harts] {
            if process.begins > Time::ZERO {
                harts[process.harts.start].begin(process.begins);
            }
        }
    }

    /// A thread of process `process` comes to hart `index`.
    fn place(&mut self, harts: &mut Harts, index: usize, process: usize) {
        let NodeProcess { process: state, text, .. } = &self.processes[process];
        let is_first = harts.start(index);
        let core = &mut harts[index];
        core.process = process;
        core.activity = Activity::Ready;
        if is_first {
            core.hart.port.set_root(state.space.root());
        }
        core.hart.share_text(text.clone());
        if harts.is_several() {
            harts.iter_mut().for_each(|core| core.hart.port.join_peers());
        }
    }

    /// The process on hart `index`.
    #[inline(always)]
    pub fn on(&self, harts: &Harts, index: usize) -> &NodeProcess {
        &self.processes[harts[index].process]
    }

    /// The process on hart `index`.
    #[inline(always)]
    pub fn on_mut(&mut self, harts: &Harts, index: usize) -> &mut NodeProcess {
        &mut self.processes[harts[index].process]
    }

    /// Hart `index` executes until cycle `end`: see [`chasqui_hart::Hart::run_with_bus`].
    #[inline(always)]
    pub fn run(
        &mut self,
        harts: &mut Harts,
        index: usize,
        recorders: &mut [Recorder],
        lent: Option<LentBus<'_>>,
        end: u64,
    ) -> Halt {
        let rules = self.rules(harts);
        let software = SoftwareCycles::of(&harts[index]);
        let Core { hart, spin, watch, process, .. } = &mut harts[index];
        let halt = if let Some(watch) = watch {
            watch.run(hart, lent, end)
        } else {
            let process = &mut self.processes[*process];
            let recorder = &mut recorders[process.id.index()];
            let mut marking = process.marking(index, recorder, spin, software, rules);
            hart.run_with_bus(&mut marking, lent, end)
        };
        // To the node it is as if the hart had come so far.
        if matches!(halt, Halt::Stop) { Halt::Deadline } else { halt }
    }

    /// Which marks halt their harts.
    #[inline(always)]
    fn rules(&self, harts: &Harts) -> Rules {
        let (several, yields) = (harts.is_several(), self.sees_yields_by_marks());
        Rules { free_calls: self.costs.free_calls, yields, several }
    }

    /// Deals with what halted hart `index`, as far as it is system software's affair.
    #[inline(always)]
    pub fn halted(
        &mut self,
        harts: &mut Harts,
        index: usize,
        halt: Halt,
        memory: &mut FlatMemory,
        recorders: &mut [Recorder],
    ) {
        match halt {
            Halt::Deadline | Halt::Stop | Halt::Bus | Halt::Pause => {}
            Halt::Idle => harts[index].activity = Activity::Idle,
            Halt::Wait(stall) => {
                let core = &mut harts[index];
                core.activity = Activity::Waiting(core.hart.cycle, stall);
            }
            other => self.called(harts, index, other, memory, recorders),
        }
    }

    /// The instruction at which hart `index` has halted asks for software.
    fn called(
        &mut self,
        harts: &mut Harts,
        index: usize,
        halt: Halt,
        memory: &mut FlatMemory,
        recorders: &mut [Recorder],
    ) {
        match halt {
            Halt::Deadline | Halt::Stop | Halt::Bus | Halt::Pause | Halt::Idle => {}
            Halt::Wait(_) | Halt::Turn => {}
            Halt::Call if self.kernel.is_some() => self.kernel_call(harts, index, memory),
            Halt::Call => self.call(harts, index, memory),
            Halt::Mark { code, call, value } => self.mark(harts, index, (code, call, value), recorders),
            Halt::Fault(Fault::Page { address, access }) if self.kernel.is_none() => {
                self.page_fault(harts, index, address, access, memory);
            }
            fault => {
                let position = Position::of(&harts[index].hart);
                self.end_by_fault(harts, index, fault, position, memory);
            }
        }
    }

    /// Instructions of some processes may take no time while those of others do.
    pub fn is_in_part_untimed(&self) -> bool {
        self.processes.len() > 1 && self.processes.iter().any(|process| process.region.is_some())
    }

    /// A kernel image serves sched_yield by itself, and its process is alone on its node: no other comes to the hart then.
    fn sees_yields_by_marks(&self) -> bool {
        self.kernel.as_ref().is_some_and(Kernel::is_of_one)
    }

    fn mark(
        &mut self,
        harts: &mut Harts,
        index: usize,
        (code, call, value): (u32, u32, u64),
        recorders: &mut [Recorder],
    ) {
        if code == mark::ABORT {
            let ended = self.aborted(harts, index, value as i32);
            return self.end(harts, index, ended);
        }
        if code == mark::REGION {
            return self.region(harts, index, value != 0);
        }
        let rules = self.rules(harts);
        if code == mark::YIELDED && rules.yields {
            harts[index].activity = Activity::Yielded;
            return;
        }
        let process = &mut self.processes[harts[index].process];
        let follows = process.tracked.is_some();
        let software = SoftwareCycles::of(&harts[index]);
        let Core { hart, spin, .. } = &mut harts[index];
        let recorder = &mut recorders[process.id.index()];
        let mut marking = process.marking(index, recorder, spin, software, rules);
        marking.note(hart, code, call, value);
        if follows && code == mark::DELIVER {
            process.track_delivered(harts, index, value);
        }
        if rules.free_calls && matches!(code, mark::CALL | mark::RETURN) {
            self.set_timed(harts, index);
        }
    }

    /// Process `id` has executed a mark on a processor that is no hart of the node's.
    pub fn mark_elsewhere(&mut self, id: ProcessId, mark: &RankMark, recorders: &mut [Recorder]) {
        let alive = |process: &&mut NodeProcess| process.id == id && !process.is_over();
        if let Some(process) = self.processes.iter_mut().find(alive) {
            note_elsewhere(&mut process.life, &mut recorders[id.index()], mark);
        }
    }

    /// The part of interest begins or ends, says hart `index`.
    fn region(&mut self, harts: &mut Harts, index: usize, begins: bool) {
        if let Some(region) = &mut self.on_mut(harts, index).region {
            *region = match *region {
                Region::Ahead if !begins => Region::Ahead,
                _ if begins => Region::Within,
                _ => Region::Behind,
            };
            // Where there are threads, instructions take time anyway.
            if !self.on(harts, index).has_threads(harts) {
                self.change_timing(harts, index);
            }
        }
    }

    /// Instructions of hart `index` may take another time than before.
    fn change_timing(&mut self, harts: &mut Harts, index: usize) {
        // What was seen of a loop so far took another time.
        let core = &mut harts[index];
        core.spin.stop(&mut core.hart);
        self.set_timed(harts, index);
    }

    /// Instructions of hart `index` take time or not, as things stand. Threads are not fast-forwarded: their
    /// order is that of their times.
    fn set_timed(&mut self, harts: &mut Harts, index: usize) {
        let process = self.on(harts, index);
        let detailed =
            process.has_threads(harts) || process.region.is_none_or(|region| region == Region::Within);
        let free = self.costs.free_calls && process.life.current_call(process.thread(index)).is_some();
        harts[index].hart.port.set_timed(detailed && !free);
    }

    /// Hart `index` is about to run: it wakes, if it slept or has waited long enough, or its timer interrupts it.
    pub fn rise(&mut self, harts: &mut Harts, index: usize, bus: Option<&mut Bus>) {
        let only_turns = self.only_turns(harts, index);
        let core = &mut harts[index];
        let at = core.ready_at();
        match core.activity {
            Activity::Sleeping(until) => core.rise(until),
            Activity::Idle => core.rise(at),
            // The process sees nothing of the end of a turn.
            Activity::Parked(_) | Activity::Suspended(_) if only_turns => core.pause_skipping(bus, at),
            Activity::Parked(_) | Activity::Suspended(_) => core.event(bus, at, at),
            Activity::Blocked(_, until) => {
                core.resume_at(until);
                let process = &mut self.processes[core.process];
                let value = process.process.time_out(process.thread(index));
                core.hart.return_from_call(value);
            }
            _ => {}
        }
    }

    /// Process `number` has ended at `now`.
    fn note_end_of(&mut self, number: usize, now: Time, how: Ended) {
        let ends_job = self.ends_job(&how);
        let process = &mut self.processes[number];
        process.end(now, how);
        let job = process.job;
        if ends_job {
            self.stop_at(now, job);
        }
    }

    /// A process that ends so takes its job with it.
    fn ends_job(&self, how: &Ended) -> bool {
        match how {
            Ended::Exit(_) => false,
            Ended::Abort { .. } | Ended::TooMuchOutput => true,
            Ended::Fault { .. } => self.costs.software.fault_ends_job,
        }
    }

    /// The process on hart `index` ends there.
    fn end(&mut self, harts: &mut Harts, index: usize, how: Ended) {
        self.end_at(harts, index, harts[index].hart.now(), how);
    }

    /// The process on hart `index` has ended at `now`.
    fn end_at(&mut self, harts: &mut Harts, index: usize, now: Time, how: Ended) {
        self.ended_on = index;
        self.note_end_of(harts[index].process, now, how);
        let own = self.on(harts, index).harts.clone();
        if self.tell_kernel(harts, &own, now) {
            return;
        }
        harts.of_mut(&own).for_each(|core| core.activity = Activity::Ended);
    }

    /// `job` is broken.
    fn stop_at(&mut self, time: Time, job: JobId) {
        self.stop = Some(self.stop.map_or(time, |stop| stop.min(time)));
        self.broken.push(job);
    }

    /// `executed` more instructions were executed: tells the output how far the harts have come, now and then.
    #[inline]
    pub fn report_progress(&mut self, executed: u64) {
        const OFTEN: u64 = 10_000;
        self.unreported += executed;
        let all_ended = || self.processes.iter().all(|process| process.ended.is_some());
        if self.unreported >= OFTEN || self.unreported > 0 && all_ended() {
            self.processes[0].output.executed(std::mem::take(&mut self.unreported));
        }
    }

    /// Where the cycles of the harts of `job`'s processes went, if that was counted: once, when all is over.
    pub fn take_profiles(&self, harts: &mut Harts, job: JobId) -> Vec<Profile> {
        let of_job = self.processes.iter().filter(|process| process.job == job);
        of_job.filter_map(|process| process::take_profile(harts, &process.harts)).collect()
    }
}

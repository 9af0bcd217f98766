//! A process of a node, and what is recorded of it.

use std::ops::{Add, Range};
use std::sync::Arc;

use chasqui_engine::Time;
use chasqui_hart::{State, Text};
use chasqui_linux::{Process, Refused, Stream};
use chasqui_memory::{FlatMemory, Observation};
use chasqui_placement::{JobId, NodeId, ProcessId, Rank};
use chasqui_record::{Profile, RankLife, Recorder};
use chasqui_watch::{Symbols, TraceOutput, WatchPlan};

use super::marking::{Marking, Rules};
use super::tracked::TrackedData;
use super::usage::{Away, InCalls, SoftwareCycles, Spent, Usage};
use crate::harts::{Activity, Core, Harts, Spin};

/// Where the output of processes goes.
pub trait Output: TraceOutput {
    /// `rank` writes `bytes` at `now`.
    fn write(&self, rank: Rank, now: Time, stream: Stream, bytes: &[u8]);
    /// `rank` makes a system call at `now` that is not served.
    fn unknown_call(&self, rank: Rank, now: Time, number: u64);
    /// `rank` asks at `now` for more threads than its node's `harts`.
    fn no_hart(&self, rank: Rank, now: Time, harts: u32);
    /// `rank` was refused a file at `now`, because the host has too many open for all processes.
    fn no_files(&self, rank: Rank, now: Time);
    /// `rank` was refused a file of the host's at `now`.
    fn refused(&self, rank: Rank, now: Time, refused: &Refused<'_>);
    /// A process is about to write so many bytes to its output or to files: whether it may.
    fn may_write(&self, bytes: u64) -> bool;
    /// So many more instructions were executed, by any process.
    fn executed(&self, instructions: u64);
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited, with this status.
    Exit(i32),
    /// It had its job end.
    Abort {
        /// With this status.
        status: i32,
        /// Because of an error in an MPI call.
        is_error: bool,
        /// By what, and where that was called, in words: MPI_Abort, or the call in which an error was.
        by: String,
    },
    /// It would have written more than the run's processes may.
    TooMuchOutput,
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

/// What a process is started with.
pub struct ProcessSpec {
    /// The process.
    pub process: Process,
    /// Its number on the node.
    pub id: ProcessId,
    /// Its rank.
    pub rank: Rank,
    /// Its job.
    pub job: JobId,
    /// The node's harts that its threads may be on. The first of them is its first thread's.
    pub harts: Range<usize>,
    /// The program's text, if harts share it decoded.
    pub text: Option<Text>,
    /// When its first thread begins. With a kernel, or of processes that share harts, the first process's counts.
    pub begins: Time,
    /// Before the part of interest instructions take no time.
    pub fast_forward: bool,
    /// Calls of a rank kept for the timeline.
    pub timeline_max: usize,
    /// What is watched of it.
    pub watch: WatchPlan,
    /// Where output goes.
    pub output: Arc<dyn Output>,
}

/// What a process keeps while it is not on its hart.
pub(crate) struct Descheduled {
    pub state: State,
    pub activity: Activity,
    pub spin: Spin,
    pub observation: Observation,
    /// Events that a process of the node could see, when it left.
    pub events: u64,
    /// What all had used of the hart when it left.
    pub left: Usage,
}

/// A process of a node.
pub(crate) struct NodeProcess {
    pub process: Process,
    /// Its number on the node.
    pub id: ProcessId,
    pub rank: Rank,
    pub job: JobId,
    /// The node's harts that its threads may be on.
    pub harts: Range<usize>,
    /// What its marks say.
    pub life: RankLife,
    /// How and when it ended.
    pub ended: Option<(Time, Ended)>,
    /// It has ended, and the devices have yet to hear it.
    is_unannounced: bool,
    /// When its job had it end, because of what happened elsewhere.
    pub closed: Option<Time>,
    /// How far its part of interest has come, if the rest is fast-forwarded.
    pub region: Option<Region>,
    /// The program's text, if harts share it decoded.
    pub text: Option<Text>,
    /// When its first thread begins.
    pub begins: Time,
    /// Names of its addresses.
    pub symbols: Symbols,
    /// Messages whose data are tracked, if they are.
    pub tracked: Option<TrackedData>,
    /// Where its output goes.
    pub output: Arc<dyn Output>,
    /// What others have used of its hart, before it left it last.
    pub elsewhere: Usage,
    /// How long others had it until it came back.
    pub away: Away,
    /// What it spent in MPI calls, by its thread's place.
    pub in_calls: Vec<InCalls>,
    /// When it left its hart for the last time, if it did: it was shown on it when all was over.
    pub left: Option<Time>,
    /// `None`: it is on its hart.
    pub descheduled: Option<Descheduled>,
}

impl NodeProcess {
    /// A process that is about to execute its first instruction.
    pub fn new(spec: ProcessSpec, symbols: Symbols) -> NodeProcess {
        NodeProcess {
            life: RankLife::new(spec.rank.0 as u16, spec.harts.len(), spec.timeline_max),
            in_calls: vec![InCalls::default(); spec.harts.len()],
            symbols,
            process: spec.process,
            id: spec.id,
            rank: spec.rank,
            job: spec.job,
            harts: spec.harts,
            ended: None,
            is_unannounced: false,
            closed: None,
            region: spec.fast_forward.then_some(Region::Ahead),
            text: spec.text,
            begins: spec.begins,
            tracked: spec.watch.accesses.then(TrackedData::default),
            output: spec.output,
            elsewhere: Usage::default(),
            away: Away::default(),
            left: None,
            descheduled: None,
        }
    }

    /// Number, among its threads' places, of the one on the node's hart `hart`.
    #[inline]
    pub fn thread(&self, hart: usize) -> usize {
        hart - self.harts.start
    }

    /// What the marks of hart `index` of its node are told to.
    #[inline(always)]
    pub fn marking<'a>(
        &'a mut self,
        index: usize,
        recorder: &'a mut Recorder,
        spin: &'a mut Spin,
        software: SoftwareCycles,
        rules: Rules,
    ) -> Marking<'a> {
        let index = self.thread(index);
        Marking {
            life: &mut self.life,
            recorder,
            spin,
            in_calls: &mut self.in_calls[index],
            software,
            elsewhere: &self.elsewhere,
            away: &self.away,
            index,
            follows: self.tracked.is_some(),
            rules,
        }
    }

    /// More than one of its harts has had a thread.
    pub fn has_threads(&self, harts: &Harts) -> bool {
        harts.is_several() && harts.of(&self.harts).filter(|core| core.has_begun).count() > 1
    }

    /// How its first thread begins.
    pub fn start(&self) -> State {
        let mut state = State::new(self.process.entry());
        state.x[2] = self.process.stack_pointer();
        state
    }

    /// It has ended, alone or with its job.
    pub fn is_over(&self) -> bool {
        self.ended.is_some() || self.closed.is_some()
    }

    /// It ends at `now`.
    pub fn end(&mut self, now: Time, how: Ended) {
        self.life.finish(now.0);
        self.process.close_files();
        self.ended = Some((now, how));
        self.is_unannounced = true;
    }

    /// Its job has it end at `now`.
    pub fn close(&mut self, now: Time) {
        self.life.finish(now.0);
        self.process.close_files();
        self.closed = Some(now);
    }

    /// What others have used of its hart, and when, before it came back.
    pub fn beside(&self) -> Spent {
        Spent { used: self.elsewhere, away: self.away }
    }

    /// It has ended, and the devices have yet to hear it: once.
    pub fn take_end(&mut self) -> bool {
        std::mem::take(&mut self.is_unannounced)
    }
}

/// A process of a node, to see what became of it. Of processes that share a hart under a kernel one has its registers there;
/// of the others its kernel tells.
#[derive(Clone, Copy)]
pub struct ProcessView<'a> {
    pub(crate) node: NodeId,
    /// Its place in the node's table.
    pub(crate) number: usize,
    pub(crate) process: &'a NodeProcess,
    /// The node's.
    pub(crate) memory: &'a FlatMemory,
    pub(crate) harts: &'a Harts,
    pub(crate) os: &'a super::Os,
}

impl<'a> ProcessView<'a> {
    /// Its rank.
    pub fn rank(&self) -> Rank {
        self.process.rank
    }

    /// The node that it is on.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Its number on the node.
    pub fn id(&self) -> ProcessId {
        self.process.id
    }

    /// Its job.
    pub fn job(&self) -> JobId {
        self.process.job
    }

    /// How and when it ended.
    pub fn ended(&self) -> Option<&'a (Time, Ended)> {
        self.process.ended.as_ref()
    }

    /// What its marks say.
    pub fn life(&self) -> &'a RankLife {
        &self.process.life
    }

    /// How far its part of interest has come, if the rest is fast-forwarded.
    pub fn region(&self) -> Option<Region> {
        self.process.region
    }

    /// The harts of its threads, in the order of their places.
    pub fn harts(&self) -> impl Iterator<Item = &'a Core> + use<'a> {
        self.harts.of(&self.process.harts)
    }

    /// Harts that its threads have been on.
    pub fn started(&self) -> usize {
        self.harts().filter(|core| core.has_begun).count()
    }

    /// Instructions that it has executed.
    pub fn instructions(&self) -> u64 {
        self.used().instructions
    }

    /// What it has used of its harts, all together, without what other processes have.
    pub fn used(&self) -> Usage {
        let all = self.harts().map(Usage::of).fold(Usage::default(), Usage::add);
        all - self.process.elsewhere
    }

    /// The part of it in MPI calls, and how long others had its hart then.
    pub fn spent_in_calls(&self) -> Spent {
        let Spent { used: elsewhere, away } = self.process.beside();
        let on = |core| Spent { used: Usage::of(core) - elsewhere, away };
        let calls = self.harts().zip(&self.process.in_calls).map(|(core, calls)| calls.so_far(on(core)));
        calls.fold(Spent::default(), Spent::add)
    }

    /// How long others had its hart until it came back; `None`: it shares none.
    pub fn away(&self) -> Option<Away> {
        (self.process.elsewhere.cycles > 0).then_some(self.process.away)
    }

    /// Memory that it has used: its pages and their tables [bytes].
    pub fn memory_bytes(&self) -> u64 {
        self.process.process.space.used_bytes()
    }

    /// Cycles of its hart that has come furthest, without those of other processes, up to `end`: what a process had begun when
    /// others ended its job takes until later.
    pub fn cycles(&self, end: Time) -> u64 {
        let cycles = self.harts().map(|t| t.hart.cycle).max().unwrap_or(0) - self.process.elsewhere.cycles;
        self.harts().map(|t| t.hart.cycle_at(end)).max().map_or(cycles, |most| cycles.min(most))
    }

    /// Its present: of its hart that has come furthest, or as it left the hart that it shares for the last time.
    pub fn now(&self) -> Time {
        let last = || self.harts().map(|t| t.hart.now()).max().unwrap_or(Time::ZERO);
        self.process.left.unwrap_or_else(last)
    }

    /// When it had to end, because of what happened elsewhere to its job.
    pub fn closed(&self) -> Option<Time> {
        self.process.closed
    }

    /// When it ended in a way that ended its job.
    pub fn broke_job(&self) -> Option<Time> {
        let (at, how) = self.ended()?;
        self.os.ends_job(how).then_some(*at)
    }
}

/// Where the cycles of harts `range` went, if that was counted: once, when all is over.
pub(crate) fn take_profile(harts: &mut Harts, range: &Range<usize>) -> Option<Profile> {
    let profiles = harts.of_mut(range).filter_map(|core| core.watch.take()?.profile());
    profiles.reduce(|mut sum, profile| {
        sum.add(&profile);
        sum
    })
}

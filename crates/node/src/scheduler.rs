//! Several processes on a node's hart: who is on it, and when another's turn comes.
//!
//! Round robin. Every `node.scheduler.quantum` of the node's own clock the process that has waited longest comes
//! to the hart; one that sleeps, blocks or ends gives it up at once, and so does one that makes the system call
//! sched_yield while another can go on: that one has what is left of the quantum. Nodes know nothing of each other's turns.
//! A node of one process has no scheduler, and pays nothing for it.
//!
//! Where the running process has the NI to itself (`NetworkInterface::is_exclusive`) the jobs' turns are the same on
//! all nodes. At a quantum's end nobody is on the hart until the NI, which drains the network, says whose turn it is.
//! A job's turn is its own, whether its process here can use it or not.

use std::collections::VecDeque;
use std::sync::Arc;

use chasqui_config::Ratio;
use chasqui_counters::counters;
use chasqui_engine::{Class, Outbox, Payload, Time};
use chasqui_hart::{State, Text};
use chasqui_linux::{Access, Process};
use chasqui_memory::{FlatMemory, Observation};
use chasqui_ni::{Leave, Pager, Turn};
use chasqui_record::RankLife;

use crate::node::{Node, Target};
use crate::parameters::SchedulerUnit;
use crate::processor::{Ended, Output, Processor, ProcessorSpec};
use crate::spin::Spin;
use crate::symbols::Symbols;
use crate::thread::{Activity, Thread};

/// The hart that processes share: the scheduler's nodes have no other.
const HART: usize = 0;

/// What the scheduler waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The quantum's end.
    Quantum,
    /// A process that is not on the hart has slept long enough; or the one that is has ended.
    Look,
    /// This job is over, because of what happened on some node.
    Close(usize),
    /// The NI is told that nobody is on the hart, once it has all that the process has stored.
    Leave,
}

impl From<Timer> for Payload {
    fn from(timer: Timer) -> Payload {
        match timer {
            Timer::Quantum => [0, 0],
            Timer::Look => [1, 0],
            Timer::Close(job) => [2, job as u64],
            Timer::Leave => [3, 0],
        }
    }
}

impl From<Payload> for Timer {
    fn from([kind, job]: Payload) -> Timer {
        match kind {
            0 => Timer::Quantum,
            1 => Timer::Look,
            2 => Timer::Close(job as usize),
            _ => Timer::Leave,
        }
    }
}

/// When the first quantum of node `number` begins [ps].
fn phase(quantum: u64, skew: Ratio, number: u32) -> Time {
    let turn = u128::from(Ratio::ONE);
    let part = u128::from(skew.parts()) * u128::from(number) % turn;
    Time((part * u128::from(quantum) / turn) as u64)
}

/// What a process has used of the hart, or what others have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub instructions: u64,
    pub cycles: u64,
}

/// A process that is not on the hart.
struct Descheduled {
    job: usize,
    process: Process,
    life: RankLife,
    ended: Option<(Time, Ended)>,
    text: Option<Text>,
    symbols: Symbols,
    output: Arc<dyn Output>,
    state: State,
    activity: Activity,
    spin: Spin,
    observation: Observation,
    /// [`Scheduler::events`] when it left.
    events: u64,
    /// What others have used of the hart before it left.
    elsewhere: Usage,
    /// What all had used of the hart when it left.
    left: Usage,
}

impl Descheduled {
    /// About to execute its first instruction.
    fn new(spec: ProcessorSpec) -> Descheduled {
        let mut state = State::new(spec.process.entry());
        state.x[2] = spec.process.stack_pointer();
        Descheduled {
            job: spec.job,
            life: RankLife::new(spec.rank as u16, 1, spec.timeline_max),
            symbols: Symbols::of(&spec),
            process: spec.process,
            ended: None,
            text: spec.text,
            output: spec.output,
            state,
            activity: Activity::Ready,
            spin: Spin::default(),
            observation: Observation::default(),
            events: 0,
            elsewhere: Usage::default(),
            left: Usage::default(),
        }
    }

    /// It can go on at `now`.
    fn is_runnable(&self, now: Time) -> bool {
        match self.activity {
            Activity::Sleeping(until) | Activity::Blocked(_, until) => until <= now,
            Activity::Ended => false,
            _ => true,
        }
    }

    /// Nothing but an event can help it; `events` have happened so far.
    fn is_stuck(&self, events: u64) -> bool {
        match self.activity {
            // Who sleeps wakes by himself, if time does not end before.
            Activity::Sleeping(until) | Activity::Blocked(_, until) => until >= Time::END,
            Activity::Ended => true,
            _ => self.spin.repeats() && self.events == events,
        }
    }
}

counters! {
    /// Counters of a scheduler.
    pub(crate) struct SchedulerStatistics {
        /// Processes that came to the hart.
        switches: "count";
        /// Processes that came to the hart because a quantum was over.
        preemptions: "count";
        /// Processes that came to the hart because another gave it up.
        yields: "count";
    }
}

/// Whose turn it is.
pub(crate) struct Scheduler {
    quantum: Time,
    /// Turns are the same on all nodes.
    together: bool,
    /// What the process on the hart was about to do when it had to leave it, between turns together.
    held: Option<Activity>,
    /// The first quantum begins then.
    phase: Time,
    switch_cycles: u64,
    /// Who is not on the hart; who has waited longest comes first.
    waiting: VecDeque<Descheduled>,
    /// The quantum's end, an event to come.
    end: Option<Time>,
    /// The quantum is over. The process leaves when the hart has executed so many instructions: one that waits is
    /// finished, for it may have taken a message.
    over: Option<u64>,
    /// The process on the hart gives it up.
    yielded: bool,
    /// The process on the hart did nothing but repeat itself until the quantum's end.
    was_idle: bool,
    /// Events so far that a process could see, whoever was on the hart.
    events: u64,
    /// What happened so far.
    pub statistics: SchedulerStatistics,
}

impl Scheduler {
    /// For the processes of `others`, beside the one that is on the hart at the start, on node `number`. `together`:
    /// all nodes have the same turns.
    pub fn new(unit: &SchedulerUnit, number: u32, others: Vec<ProcessorSpec>, together: bool) -> Scheduler {
        let quantum = unit.quantum.ps();
        Scheduler {
            quantum: Time(quantum),
            together,
            held: None,
            phase: phase(quantum, unit.skew, number),
            switch_cycles: unit.switch.cycles(),
            waiting: others.into_iter().map(Descheduled::new).collect(),
            end: None,
            over: None,
            yielded: false,
            was_idle: false,
            events: 0,
            statistics: SchedulerStatistics::default(),
        }
    }

    /// The first end of a quantum after `now`.
    fn next_end(&self, now: Time) -> Time {
        if self.together {
            return now + self.quantum;
        }
        let since = (now + self.quantum - self.phase).0;
        now + self.quantum - Time(since % self.quantum.0)
    }

    /// Place of the process that comes next.
    fn next(&self, now: Time) -> Option<usize> {
        self.waiting.iter().position(|process| process.is_runnable(now))
    }

    /// A timer is due; `idle`: the process on the hart repeats itself until then.
    pub fn interrupts(&mut self, idle: bool) {
        self.was_idle |= idle;
    }

    /// An event is about to happen that any process may see.
    pub fn observed(&mut self) {
        self.events += 1;
    }

    /// Nothing but an event can help any of the processes that are not on the hart.
    fn others_are_stuck(&self) -> bool {
        self.waiting.iter().all(|process| process.is_stuck(self.events))
    }
}

impl Thread {
    /// It has something to execute, or waits for its port to execute it.
    fn is_busy(&self) -> bool {
        matches!(self.activity, Activity::Ready | Activity::Waiting(..)) || self.is_idle()
    }
}

impl Processor {
    fn used(&self) -> Usage {
        let hart = &self.threads[HART].hart;
        Usage { instructions: hart.statistics.instructions, cycles: hart.cycle }
    }

    /// The process on the hart and `other` change places. What is in caches and on the bus stays; the address
    /// space is another, and translations have no names of address spaces.
    fn exchange(&mut self, other: &mut Descheduled) {
        let used = self.used();
        std::mem::swap(&mut self.job, &mut other.job);
        std::mem::swap(&mut self.process, &mut other.process);
        std::mem::swap(&mut self.life, &mut other.life);
        std::mem::swap(&mut self.ended, &mut other.ended);
        std::mem::swap(&mut self.text, &mut other.text);
        std::mem::swap(&mut self.symbols, &mut other.symbols);
        std::mem::swap(&mut self.output, &mut other.output);
        std::mem::swap(&mut self.elsewhere, &mut other.elsewhere);
        self.elsewhere.instructions += used.instructions - other.left.instructions;
        self.elsewhere.cycles += used.cycles - other.left.cycles;
        other.left = used;
        let thread = &mut self.threads[HART];
        std::mem::swap(&mut thread.activity, &mut other.activity);
        thread.spin.interrupted(&mut thread.hart);
        std::mem::swap(&mut thread.spin, &mut other.spin);
        let hart = &mut thread.hart;
        hart.port.exchange_observation(&mut other.observation);
        thread.spin.comes(hart, &other.spin);
        hart.exchange_state(&mut other.state);
        // The kernel's path has a fence: what the process has stored is in memory.
        hart.port.settle();
        hart.port.drop_reservation();
        hart.port.set_root(self.process.space.root());
        hart.share_text(self.text.clone());
    }
}

impl Node {
    /// A timer of the scheduler's is due.
    pub(crate) fn scheduler_event(&mut self, timer: Timer, now: Time, out: &mut Outbox<'_>) {
        if let Timer::Close(job) = timer {
            self.end_job(job, now);
            self.with_ni(HART, now, out, |ni, c| ni.close(c, job));
        }
        if timer == Timer::Leave {
            return self.leave(now, out);
        }
        let Some(s) = &mut self.scheduler else { return };
        if timer == Timer::Quantum {
            if s.end != Some(now) {
                return; // That turn was over before.
            }
            s.end = None;
            let thread = &self.processor.threads[HART];
            let under_way = matches!(thread.activity, Activity::Waiting(..)) || thread.hart.port.has_reply();
            s.over = Some(thread.hart.statistics.instructions + u64::from(under_way));
        }
        self.reschedule(now);
    }

    /// Starts the scheduler, if there is one.
    pub(crate) fn start_scheduler(&mut self) {
        let Some(s) = &mut self.scheduler else { return };
        if !s.together {
            return self.reschedule(Time::ZERO);
        }
        // The first turn is the first job's.
        if self.processor.job != 0 {
            let activity = &mut self.processor.threads[HART].activity;
            s.held = Some(std::mem::replace(activity, Activity::Vacant));
        }
        self.arm_turn(Time::ZERO);
    }

    /// The hart has been executing: its quantum may have been over, or its process may have given it up.
    #[inline]
    pub(crate) fn after_run(&mut self) {
        let Some(s) = &self.scheduler else { return };
        if s.over.is_some() || s.yielded || !self.processor.threads[HART].is_busy() {
            self.reschedule(self.processor.threads[HART].hart.now());
        }
    }

    /// Once a quantum is over the hart executes one instruction at a time.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.scheduler.as_ref().is_some_and(|s| s.over.is_some())
    }

    /// The thread on hart `index` may have given it up: it goes on at once, unless another process can.
    pub(crate) fn after_call(&mut self, index: usize) {
        if self.processor.yielded(index, &self.bus)
            && let Some(s) = &mut self.scheduler
        {
            let thread = &mut self.processor.threads[HART];
            // A turn that is the same on all nodes is of no use to another's.
            s.yielded = !s.together && s.next(thread.hart.now()).is_some();
            if s.yielded {
                thread.activity = Activity::Ready;
            }
        }
    }

    /// Another process comes to the hart, if it is another's turn.
    fn reschedule(&mut self, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        let thread = &self.processor.threads[HART];
        let executed = thread.hart.statistics.instructions;
        let leaves_later = thread.is_busy() && s.over.is_some_and(|leaves| executed < leaves);
        if matches!(thread.activity, Activity::Waiting(..)) || leaves_later {
            return;
        }
        let now = now.max(thread.hart.now());
        let over = s.over.take().is_some();
        let yielded = std::mem::take(&mut s.yielded);
        if s.together {
            // Who has ended needs no more of his turn.
            let ended = matches!(thread.activity, Activity::Ended) && s.end.take().is_some();
            if over || ended {
                self.vacate(now);
            }
            return;
        }
        if (over || yielded || !thread.is_busy())
            && let Some(next) = s.next(now)
        {
            s.statistics.yields += u64::from(yielded);
            s.statistics.preemptions += u64::from(over && !yielded && thread.is_busy());
            let stuck = thread.spin.repeats() && s.others_are_stuck();
            self.switch(next, now);
            // Of those that repeat themselves the one that comes begins no sooner than the next event.
            if yielded && stuck {
                self.processor.threads[HART].activity = Activity::Suspended(true);
            }
        }
        self.arm(now);
    }

    /// The quantum's end is to come, if anybody waits for it.
    fn arm(&mut self, now: Time) {
        if self.scheduler.as_ref().is_some_and(|s| s.end.is_none() && s.next(now).is_some()) {
            self.arm_turn(now);
        }
    }

    /// The end of a turn at `now` is to come.
    fn arm_turn(&mut self, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        let end = s.next_end(now);
        s.end = Some(end);
        self.schedule(end, Class::Internal, Target::Scheduler, Timer::Quantum.into());
    }

    /// The turn is over: nobody is on the hart until the NI says whose the next is.
    fn vacate(&mut self, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        let thread = &mut self.processor.threads[HART];
        thread.spin.stop(&mut thread.hart);
        if s.held.is_none() {
            s.held = Some(match std::mem::replace(&mut thread.activity, Activity::Vacant) {
                Activity::Parked(_) | Activity::Suspended(_) => Activity::Ready,
                other => other,
            });
        }
        // The kernel's path begins with a store to the NI, as it were.
        let at = now + self.store_latency();
        self.schedule(at, Class::Internal, Target::Scheduler, Timer::Leave.into());
    }

    /// Nobody is on the hart: the NI is told so, once all posted stores have reached it.
    fn leave(&mut self, now: Time, out: &mut Outbox<'_>) {
        let Some(s) = &mut self.scheduler else { return };
        if !self.processor.threads[HART].hart.port.is_quiet() {
            let at = now + self.transaction_max;
            return self.schedule(at, Class::Internal, Target::Scheduler, Timer::Leave.into());
        }
        let alive = |activity: &Activity| !matches!(activity, Activity::Ended);
        let waiting = s.waiting.iter().map(|process| (process.job, &process.activity));
        let all = waiting.chain(s.held.iter().map(|held| (self.processor.job, held)));
        let live = all.filter(|(_, activity)| alive(activity)).fold(0, |live, (job, _)| live | 1 << job);
        let was_idle = std::mem::take(&mut s.was_idle);
        let idle = was_idle || !matches!(s.held, Some(Activity::Ready));
        let sleeps = s.waiting.iter().map(|process| &process.activity).chain(&s.held).any(|activity| {
            matches!(activity, Activity::Sleeping(until) | Activity::Blocked(_, until) if *until < Time::END)
        });
        let leave = Leave { live, idle: idle && !sleeps };
        self.with_ni(HART, now, out, |ni, c| ni.leave(c, leave));
    }

    /// The NI says whose turn it is.
    pub(crate) fn take_turn(&mut self, turn: Turn, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        let from = now + turn.after;
        let place = s.waiting.iter().position(|process| process.job == turn.job);
        if place.is_some() || self.processor.job == turn.job {
            let held = s.held.take().expect("the process has left the hart");
            self.processor.threads[HART].activity = held;
        }
        match place {
            Some(place) => self.switch(place, from),
            None if self.processor.job == turn.job => self.go_on(from, 0),
            None => {}
        }
        if !turn.last {
            self.arm_turn(from);
        }
        if matches!(self.processor.threads[HART].activity, Activity::Ended) {
            self.schedule(from, Class::Internal, Target::Scheduler, Timer::Look.into());
        }
    }

    /// The process at place `next` of those that wait comes to the hart.
    fn switch(&mut self, next: usize, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        let mut other = s.waiting.remove(next).expect("somebody is there");
        self.processor.exchange(&mut other);
        let thread = &mut self.processor.threads[HART];
        if std::mem::replace(&mut other.events, s.events) != s.events {
            thread.spin.event(&mut thread.hart, Time::ZERO);
        }
        // One that repeats itself does so again when its turn comes.
        if matches!(other.activity, Activity::Parked(_) | Activity::Suspended(_)) {
            other.activity = Activity::Ready;
        }
        let wakes = match other.activity {
            Activity::Sleeping(until) | Activity::Blocked(_, until) => until,
            _ => Time::NEVER,
        };
        s.waiting.push_back(other);
        s.statistics.switches += 1;
        let cycles = s.switch_cycles;
        if wakes < Time::END {
            self.schedule(wakes.max(now), Class::Internal, Target::Scheduler, Timer::Look.into());
        }
        self.go_on(now, cycles);
    }

    /// The process on the hart goes on at `now`, if it can, after `cycles` of system software.
    fn go_on(&mut self, now: Time, cycles: u64) {
        let thread = &mut self.processor.threads[HART];
        let timed_out = match thread.activity {
            Activity::Sleeping(until) | Activity::Blocked(_, until) if until > now => return,
            Activity::Ended => return,
            Activity::Blocked(..) => true,
            _ => false,
        };
        thread.resume_at(now);
        thread.charge(cycles);
        if timed_out {
            let value = self.processor.process.time_out(HART);
            self.processor.threads[HART].hart.return_from_call(value);
        }
    }

    /// Every process of the node repeats itself, and nothing but the scheduler's timer is to come: whoever is on
    /// the hart, nothing happens before something comes from outside. Then what the timer does is made up for.
    #[inline]
    pub(crate) fn rests(&self) -> bool {
        self.scheduler.as_ref().is_some_and(|s| {
            !s.together
                && s.end.is_some()
                && self.processor.threads[HART].is_idle()
                && self.has_one_event()
                && s.others_are_stuck()
        })
    }

    /// Job `job`'s process violates protection at `now`.
    pub(crate) fn fault_of(&mut self, job: usize, hart: usize, now: Time, signal: i32, what: &str) {
        let rank = self.processor.rank;
        if let Some(process) = self.descheduled(job).filter(|process| process.ended.is_none()) {
            let text = format!("rank {rank} at {now}: {what}");
            process.life.finish(now.0);
            process.ended = Some((now, Ended::Fault { signal, text }));
            process.activity = Activity::Ended;
            if self.fault_ends_job {
                self.stop_at(now, job);
            }
        } else if self.processor.job == job {
            self.fault(hart, signal, what);
            self.gone(now);
        }
    }

    /// Job `job` is over at `now`, because of what happened on another node.
    fn end_job(&mut self, job: usize, now: Time) {
        if let Some(process) = self.descheduled(job).filter(|process| process.ended.is_none()) {
            process.life.finish(now.0);
            process.activity = Activity::Ended;
        } else if self.processor.job == job && self.processor.ended.is_none() {
            self.processor.life.finish(now.0);
            self.processor.threads[HART].activity = Activity::Ended;
            self.gone(now);
        }
    }

    /// Other host threads may run the node from now on, without word from those that did: what they have decoded
    /// is not theirs.
    pub(crate) fn unshare_texts(&mut self) {
        self.processor.text = None;
        self.processor.threads[HART].hart.share_text(None);
        if let Some(s) = &mut self.scheduler {
            s.waiting.iter_mut().for_each(|process| process.text = None);
        }
    }

    /// The process that was on the hart, or is, has ended: the scheduler looks for another.
    fn gone(&mut self, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        if let Some(held) = &mut s.held {
            *held = Activity::Ended;
        }
        self.schedule(now, Class::Internal, Target::Scheduler, Timer::Look.into());
    }

    fn descheduled(&mut self, job: usize) -> Option<&mut Descheduled> {
        self.scheduler.as_mut()?.waiting.iter_mut().find(|process| process.job == job)
    }

    /// Shows job `job`'s process as [`Node::processor`], when all is over: to collect results.
    pub fn show(&mut self, job: usize) {
        let Some(s) = &mut self.scheduler else { return };
        if let Some(other) = s.waiting.iter_mut().find(|process| process.job == job) {
            self.processor.exchange(other);
        }
    }
}

/// The operating system of a node, as its NI meets it.
pub(crate) struct Pages<'a> {
    /// Job of the process on the hart.
    pub job: usize,
    pub process: &'a mut Process,
    pub scheduler: Option<&'a mut Scheduler>,
}

impl Pages<'_> {
    fn process(&self, job: usize) -> Option<&Process> {
        if job == self.job {
            return Some(&*self.process);
        }
        let waiting = &self.scheduler.as_ref()?.waiting;
        waiting.iter().find(|process| process.job == job).map(|found| &found.process)
    }

    fn process_mut(&mut self, job: usize) -> Option<&mut Process> {
        if job == self.job {
            return Some(&mut *self.process);
        }
        let waiting = &mut self.scheduler.as_mut()?.waiting;
        waiting.iter_mut().find(|process| process.job == job).map(|found| &mut found.process)
    }
}

impl Pager for Pages<'_> {
    fn physical(&self, memory: &FlatMemory, job: usize, address: u64) -> Option<u64> {
        self.process(job)?.space.physical(memory, address)
    }

    fn page_in(&mut self, memory: &mut FlatMemory, job: usize, address: u64, write: bool) -> bool {
        let access = if write { Access::Write } else { Access::Read };
        self.process_mut(job).is_some_and(|process| process.space.fault(memory, address, access).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use chasqui_config::{Duration, Quantity, Resolved};

    use super::*;

    fn scheduler(number: u32, together: bool) -> Scheduler {
        let mut unit: SchedulerUnit = Resolved::defaults(&crate::schema()).read("node.scheduler");
        unit.quantum = Duration::parse(&"100 us".into()).expect("a duration");
        unit.skew = Ratio::parse(&0.3.into()).expect("a ratio");
        Scheduler::new(&unit, number, vec![], together)
    }

    #[test]
    fn quanta_end_by_the_nodes_own_clock() {
        const US: u64 = 1_000_000;
        let third = scheduler(3, false);
        assert_eq!(third.next_end(Time(0)), Time(90 * US));
        assert_eq!(third.next_end(Time(90 * US - 1)), Time(90 * US));
        assert_eq!(third.next_end(Time(90 * US)), Time(190 * US));
        // 4 x 0.3 is a quantum and a fifth.
        assert_eq!(scheduler(4, false).next_end(Time(0)), Time(20 * US));
        assert_eq!(scheduler(4, true).next_end(Time(7)), Time(100 * US + 7), "turns together are whole");
    }

    #[test]
    fn timers_survive_the_round_trip() {
        for timer in [Timer::Quantum, Timer::Look, Timer::Close(7), Timer::Leave] {
            assert_eq!(Timer::from(Payload::from(timer)), timer);
        }
    }
}

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

use chasqui_config::Ratio;
use chasqui_counters::counters;
use chasqui_engine::{Class, Payload, Time};
use chasqui_memory::{Bus, Observation};
use chasqui_ni::{Leave, Turn};
use chasqui_placement::{JobId, ProcessId};

use super::process::{Descheduled, NodeProcess};
use super::report::aborted_elsewhere;
use super::usage::Usage;
use super::{Ended, Os};
use crate::events::{Events, Target, Urgency};
use crate::harts::{Activity, Core, Harts, Spin};
use crate::parameters::SchedulerUnit;

/// The hart that processes share: the scheduler's nodes have no other.
pub(super) const HART: usize = 0;

/// What the scheduler waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The quantum's end.
    Quantum,
    /// A process that is not on the hart has slept long enough; or the one that is has ended.
    Look,
    /// This job is over, because of what happened on some node.
    Close(JobId),
    /// This process has ended here.
    Over(ProcessId),
    /// The NI is told that nobody is on the hart, once it has all that the process has stored.
    Leave,
    /// A debugger has written what a loop that repeats itself may look at.
    LookAgain,
}

impl From<Timer> for Payload {
    fn from(timer: Timer) -> Payload {
        match timer {
            Timer::Quantum => [0, 0],
            Timer::Look => [1, 0],
            Timer::Close(job) => [2, u64::from(job.0)],
            Timer::Leave => [3, 0],
            Timer::Over(process) => [4, u64::from(process.0)],
            Timer::LookAgain => [5, 0],
        }
    }
}

impl From<Payload> for Timer {
    fn from([kind, number]: Payload) -> Timer {
        match kind {
            0 => Timer::Quantum,
            1 => Timer::Look,
            2 => Timer::Close(JobId(number as u32)),
            3 => Timer::Leave,
            4 => Timer::Over(ProcessId(number as u32)),
            _ => Timer::LookAgain,
        }
    }
}

/// When the first quantum of node `number` begins [ps].
pub(super) fn phase(quantum: u64, skew: Ratio, number: u32) -> Time {
    let turn = u128::from(Ratio::ONE);
    let part = u128::from(skew.parts()) * u128::from(number) % turn;
    Time((part * u128::from(quantum) / turn) as u64)
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
    /// From a store's start to its arrival at the device.
    store_latency: Time,
    /// No transaction that begins when nothing is under way takes longer.
    transaction_max: Time,
    /// Processes that are not on the hart; who has waited longest comes first.
    waiting: VecDeque<usize>,
    /// The quantum's end, an event to come.
    end: Option<Time>,
    /// The quantum is over, since then. The process leaves when the hart has executed so many instructions: one that waits is
    /// finished, for it may have taken a message.
    over: Option<(u64, Time)>,
    /// By process: so long others have had the hart beyond their turns since it left it; its next turn is as much longer.
    owed: Vec<Time>,
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
    /// For `others` processes beside the one that is on the hart at the start, on node `number`. `together`:
    /// all nodes have the same turns. Then: from a store's start to its arrival at the device, and the longest transaction.
    pub fn new(
        unit: &SchedulerUnit,
        number: u32,
        others: usize,
        together: bool,
        (store_latency, transaction_max): (Time, Time),
    ) -> Scheduler {
        let quantum = unit.quantum.ps();
        Scheduler {
            quantum: Time(quantum),
            together,
            held: None,
            phase: phase(quantum, unit.skew, number),
            switch_cycles: unit.switch.cycles(),
            store_latency,
            transaction_max,
            waiting: (1..=others).collect(),
            end: None,
            over: None,
            owed: vec![Time::ZERO; 1 + others],
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

    /// The process on the hart leaves it, `late` after its quantum's end. Those of the others that could have gone on are
    /// owed as much. Turns together are all whole.
    fn leaves(&mut self, late: Time, could_go_on: impl Fn(usize) -> bool) {
        if !self.together {
            for &process in self.waiting.iter().filter(|&&process| could_go_on(process)) {
                self.owed[process] += late;
            }
        }
    }

    /// `process` has the hart, and its turn has begun, or goes to its end what another has given up, or nobody waits for the
    /// hart: it is owed nothing any more.
    fn has_come(&mut self, process: usize) {
        self.owed[process] = Time::ZERO;
    }

    /// The end of the turn of `process` that begins at `now`. It is longer by what it is owed.
    fn turn_end(&mut self, process: usize, now: Time) -> Time {
        self.next_end(now + self.owed[process])
    }

    /// Place of the process that comes next.
    fn next(&self, processes: &[NodeProcess], now: Time) -> Option<usize> {
        self.waiting.iter().position(|&process| waiting(processes, process).is_runnable(now))
    }

    /// A timer is due; `idle`: the process on the hart repeats itself until then.
    pub fn pauses(&mut self, idle: bool) {
        self.was_idle |= idle;
    }

    /// Nothing but an event can help any of the processes that are not on the hart.
    fn others_are_stuck(&self, processes: &[NodeProcess]) -> bool {
        self.waiting.iter().all(|&process| waiting(processes, process).is_stuck(self.events))
    }
}

/// What `process`, which is not on the hart, keeps.
fn waiting(processes: &[NodeProcess], process: usize) -> &Descheduled {
    processes[process].descheduled.as_ref().expect("it is not on the hart")
}

impl Descheduled {
    /// About to execute the first instruction of `process`.
    fn new(process: &NodeProcess) -> Descheduled {
        Descheduled {
            state: process.start(),
            activity: Activity::Ready,
            spin: Spin::default(),
            observation: Observation::default(),
            events: 0,
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

impl Core {
    /// It has something to execute, or waits for its port to execute it.
    fn is_busy(&self) -> bool {
        matches!(self.activity, Activity::Ready | Activity::Waiting(..)) || self.is_idle()
    }
}

fn schedule(events: &mut Events, at: Time, timer: Timer) {
    events.schedule(at, Class::Internal, Target::Scheduler, Urgency::Slow, timer.into());
}

impl Os {
    /// Process `incoming` comes to hart `index`, and the one there leaves it, but for what is in the hart: that is for
    /// system software. Returns what the process that has left keeps.
    fn take_place(&mut self, core: &mut Core, incoming: usize) -> (usize, Descheduled) {
        let used = Usage::of(core);
        let coming = &mut self.processes[incoming];
        let mut other = coming.descheduled.take().expect("it is not on the hart");
        let others = used - other.left;
        coming.elsewhere = coming.elsewhere + others;
        match other.activity {
            // It is only shown.
            _ if coming.left.is_some() => {}
            Activity::Sleeping(_) | Activity::Blocked(..) => coming.away.asleep += others.cycles,
            _ => coming.away.displaced += others.cycles,
        }
        other.left = used;
        core.spin.taken_away(&mut core.hart);
        std::mem::swap(&mut core.spin, &mut other.spin);
        core.hart.port.exchange_observation(&mut other.observation);
        core.spin.comes(&core.hart, &other.spin);
        core.hart.share_text(coming.text.clone());
        (std::mem::replace(&mut core.process, incoming), other)
    }

    /// Process `incoming` comes to the hart, and the one there leaves it. What is in caches and on the bus stays; the
    /// address space is another, and translations have no names of address spaces.
    fn exchange(&mut self, harts: &mut Harts, incoming: usize) {
        let core = &mut harts[HART];
        let (outgoing, mut other) = self.take_place(core, incoming);
        std::mem::swap(&mut core.activity, &mut other.activity);
        let hart = &mut core.hart;
        hart.exchange_state(&mut other.state);
        // The kernel's path has a fence: what the process has stored is in memory.
        hart.port.drain_write_buffer();
        hart.port.drop_reservation();
        hart.port.set_root(self.processes[incoming].process.space.root());
        self.processes[outgoing].descheduled = Some(other);
    }

    /// Process `incoming` comes to hart `index` by its kernel's doing, which sees to registers and address space.
    pub(super) fn comes(&mut self, harts: &mut Harts, index: usize, incoming: usize) {
        let core = &mut harts[index];
        let (outgoing, mut other) = self.take_place(core, incoming);
        let seen = self.kernel.as_ref().map_or(0, |kernel| kernel.events);
        // What happened meanwhile it has yet to see.
        if std::mem::replace(&mut other.events, seen) != seen {
            core.spin.event(&mut core.hart, Time::ZERO);
        }
        self.processes[outgoing].descheduled = Some(other);
    }

    /// Of processes under a kernel that share a hart the first begins on it.
    pub(super) fn deschedule(&mut self) {
        let first = |number: usize, processes: &[NodeProcess]| {
            processes[..number].iter().all(|other| other.harts.start != processes[number].harts.start)
        };
        for number in 0..self.processes.len() {
            if !first(number, &self.processes) {
                let process = &mut self.processes[number];
                process.descheduled = Some(Descheduled::new(process));
            }
        }
    }

    /// An event is about to happen that any process may see.
    pub fn observed(&mut self) {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.events += 1;
        }
        if let Some(kernel) = &mut self.kernel {
            kernel.events += 1;
        }
    }

    /// Starts the scheduler, if there is one.
    pub fn start_scheduler(&mut self, harts: &mut Harts, events: &mut Events) {
        let Some(s) = &mut self.scheduler else { return };
        for &process in &s.waiting {
            let process = &mut self.processes[process];
            process.descheduled = Some(Descheduled::new(process));
        }
        if !s.together {
            return self.reschedule(harts, events, Time::ZERO);
        }
        // The first turn is the first job's.
        if self.processes[0].id != ProcessId(0) {
            s.held = Some(std::mem::replace(&mut harts[HART].activity, Activity::Vacant));
        }
        self.arm_turn(events, harts[HART].process, Time::ZERO);
    }

    /// A timer of the scheduler's is due. What the device is told, if anything: nobody is on the hart.
    pub fn timer(
        &mut self,
        harts: &mut Harts,
        events: &mut Events,
        timer: Timer,
        now: Time,
    ) -> Option<Leave> {
        if timer == Timer::Leave {
            return self.leave(harts, events, now);
        }
        let s = self.scheduler.as_mut()?;
        if timer == Timer::Quantum {
            if s.end != Some(now) {
                return None; // That turn was over before.
            }
            s.end = None;
            let core = &harts[HART];
            // It may be about to look again, for another reason, when its load is under way.
            let waits = matches!(core.activity, Activity::Waiting(..));
            let under_way = waits || core.hart.port.has_asked_device();
            s.over = Some((core.hart.statistics.instructions + u64::from(under_way), now));
        }
        self.reschedule(harts, events, now);
        None
    }

    /// The hart has been executing: its quantum may have been over, or its process may have given it up.
    #[inline]
    pub fn after_run(&mut self, harts: &mut Harts, events: &mut Events) {
        let Some(s) = &self.scheduler else { return };
        if s.over.is_some() || s.yielded || !harts[HART].is_busy() {
            self.reschedule(harts, events, harts[HART].hart.now());
        }
    }

    /// Once a quantum is over the hart executes one instruction at a time.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.scheduler.as_ref().is_some_and(|s| s.over.is_some())
    }

    /// The thread on hart `index` may have given it up: it goes on at once, unless another process can.
    pub fn after_call(&mut self, harts: &mut Harts, index: usize, bus: Option<&Bus>) {
        if harts.yielded(index, bus)
            && let Some(s) = &mut self.scheduler
        {
            let core = &mut harts[HART];
            // A turn that is the same on all nodes is of no use to another's.
            s.yielded = !s.together && s.next(&self.processes, core.hart.now()).is_some();
            if s.yielded {
                core.activity = Activity::Ready;
            }
        }
    }

    /// Another process comes to the hart, if it is another's turn.
    fn reschedule(&mut self, harts: &mut Harts, events: &mut Events, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        let core = &harts[HART];
        let executed = core.hart.statistics.instructions;
        let leaves_later = core.is_busy() && s.over.is_some_and(|(leaves, _)| executed < leaves);
        if matches!(core.activity, Activity::Waiting(..)) || leaves_later {
            return;
        }
        let now = now.max(core.hart.now());
        let over = s.over.take();
        if let Some((_, since)) = over {
            s.leaves(now - since, |process| waiting(&self.processes, process).is_runnable(now));
        }
        let over = over.is_some();
        let yielded = std::mem::take(&mut s.yielded);
        if s.together {
            // Who has ended needs no more of his turn.
            let ended = matches!(core.activity, Activity::Ended) && s.end.take().is_some();
            if over || ended {
                self.vacate(harts, events, now);
            }
            return;
        }
        let gives_way = over || yielded || !core.is_busy();
        let next = gives_way.then(|| s.next(&self.processes, now)).flatten();
        let comes = over || next.is_some();
        if let Some(next) = next {
            s.statistics.yields += u64::from(yielded);
            s.statistics.preemptions += u64::from(over && !yielded && core.is_busy());
            let stuck = core.spin.repeats() && s.others_are_stuck(&self.processes);
            self.switch(harts, events, next, now);
            // Of those that repeat themselves the one that comes begins no sooner than the next event.
            if yielded && stuck {
                harts[HART].activity = Activity::Suspended(true);
            }
        }
        let process = harts[HART].process;
        self.arm(events, process, now);
        if let Some(s) = self.scheduler.as_mut().filter(|_| comes) {
            s.has_come(process);
        }
    }

    /// The quantum's end of `process`, which is on the hart, is to come, if anybody waits for it.
    fn arm(&mut self, events: &mut Events, process: usize, now: Time) {
        let waits = |s: &Scheduler| s.end.is_none() && s.next(&self.processes, now).is_some();
        if self.scheduler.as_deref().is_some_and(waits) {
            self.arm_turn(events, process, now);
        }
    }

    /// The end of the turn of `process` that begins at `now` is to come.
    fn arm_turn(&mut self, events: &mut Events, process: usize, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        let end = s.turn_end(process, now);
        s.end = Some(end);
        schedule(events, end, Timer::Quantum);
    }

    /// The turn is over: nobody is on the hart until the device says whose the next is.
    fn vacate(&mut self, harts: &mut Harts, events: &mut Events, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        let core = &mut harts[HART];
        core.spin.stop(&mut core.hart);
        if s.held.is_none() {
            s.held = Some(match std::mem::replace(&mut core.activity, Activity::Vacant) {
                Activity::Parked(_) | Activity::Suspended(_) => Activity::Ready,
                other => other,
            });
        }
        // The kernel's path begins with a store to the device, as it were.
        schedule(events, now + s.store_latency, Timer::Leave);
    }

    /// Nobody is on the hart: the device is told so, once all posted stores have reached it.
    fn leave(&mut self, harts: &mut Harts, events: &mut Events, now: Time) -> Option<Leave> {
        let s = self.scheduler.as_mut()?;
        if !harts[HART].hart.port.is_quiet() {
            schedule(events, now + s.transaction_max, Timer::Leave);
            return None;
        }
        let alive = |activity: &Activity| !matches!(activity, Activity::Ended);
        let processes = &self.processes;
        let others = || s.waiting.iter().map(|&process| (process, &waiting(processes, process).activity));
        let on_hart = harts[HART].process;
        let all = || others().chain(s.held.iter().map(|held| (on_hart, held)));
        let live = all().filter(|(_, activity)| alive(activity));
        let live = live.fold(0, |live, (process, _)| live | 1 << processes[process].id.index());
        let idle = s.was_idle || !matches!(s.held, Some(Activity::Ready));
        let sleeps = all().any(|(_, activity)| {
            matches!(activity, Activity::Sleeping(until) | Activity::Blocked(_, until) if *until < Time::END)
        });
        s.was_idle = false;
        Some(Leave { live, idle: idle && !sleeps })
    }

    /// The device says whose turn it is.
    pub fn take_turn(&mut self, harts: &mut Harts, events: &mut Events, turn: Turn, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        let from = now + turn.after;
        let place = s.waiting.iter().position(|&process| self.processes[process].id == turn.process);
        let is_on_hart = self.processes[harts[HART].process].id == turn.process;
        if place.is_some() || is_on_hart {
            harts[HART].activity = s.held.take().expect("the process has left the hart");
        }
        match place {
            Some(place) => self.switch(harts, events, place, from),
            None if is_on_hart => self.go_on(harts, from, 0),
            None => {}
        }
        if !turn.last {
            self.arm_turn(events, harts[HART].process, from);
        }
        if matches!(harts[HART].activity, Activity::Ended) {
            schedule(events, from, Timer::Look);
        }
    }

    /// The process at place `next` of those that wait comes to the hart.
    fn switch(&mut self, harts: &mut Harts, events: &mut Events, next: usize, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        let incoming = s.waiting.remove(next).expect("somebody is there");
        let outgoing = harts[HART].process;
        s.waiting.push_back(outgoing);
        s.statistics.switches += 1;
        let (cycles, seen) = (s.switch_cycles, s.events);
        self.exchange(harts, incoming);
        let left = self.processes[outgoing].descheduled.as_mut().expect("it has left the hart");
        if std::mem::replace(&mut left.events, seen) != seen {
            let core = &mut harts[HART];
            core.spin.event(&mut core.hart, Time::ZERO);
        }
        // One that repeats itself does so again when its turn comes.
        if matches!(left.activity, Activity::Parked(_) | Activity::Suspended(_)) {
            left.activity = Activity::Ready;
        }
        let wakes = match left.activity {
            Activity::Sleeping(until) | Activity::Blocked(_, until) => until,
            _ => Time::NEVER,
        };
        if wakes < Time::END {
            schedule(events, wakes.max(now), Timer::Look);
        }
        self.go_on(harts, now, cycles);
    }

    /// The process on the hart goes on at `now`, if it can, after `cycles` of system software.
    fn go_on(&mut self, harts: &mut Harts, now: Time, cycles: u64) {
        let core = &mut harts[HART];
        let timed_out = match core.activity {
            Activity::Sleeping(until) | Activity::Blocked(_, until) if until > now => return,
            Activity::Ended => return,
            Activity::Blocked(..) => true,
            _ => false,
        };
        core.resume_at(now);
        core.charge(cycles);
        if timed_out {
            let value = self.processes[core.process].process.time_out(HART);
            core.hart.return_from_call(value);
        }
    }

    /// Every process of the node repeats itself, and nothing but the scheduler's timer is to come: whoever is on
    /// the hart, nothing happens before something comes from outside. Then what the timer does is made up for.
    #[inline]
    pub fn rests(&self, harts: &Harts, events: &Events) -> bool {
        if self.kernel.is_some() {
            return self.rests_under_kernel(harts, events);
        }
        self.scheduler.as_ref().is_some_and(|s| {
            !s.together
                && s.end.is_some()
                && harts[HART].is_idle()
                && events.len() == 1
                && s.others_are_stuck(&self.processes)
        })
    }

    /// A device finds a fault of process `id` at `now`; `hart` is the one that is to be named, if the process is on it.
    pub fn fault_of(
        &mut self,
        harts: &mut Harts,
        events: &mut Events,
        (id, hart): (ProcessId, usize),
        now: Time,
        (signal, what): (i32, &str),
    ) {
        harts.settle_all(now);
        let Some(number) = self.alive(id) else { return };
        let process = &self.processes[number];
        if process.descheduled.is_none() {
            let hart = if process.harts.contains(&hart) { hart } else { process.harts.start };
            // The hart may be asleep, or wait for something.
            let (position, now) = (self.position(harts, hart), now.max(harts[hart].hart.now()));
            self.fault_at(harts, hart, (signal, what), position, now);
            self.gone(events, now);
        } else {
            let text = format!("{} at {now}: {what}", process.rank);
            self.end_descheduled(harts, number, now, Ended::Fault { signal, text });
        }
    }

    /// Process `id` has its job end with `status` at `now`, by what it executes on a processor that is no hart of the node's.
    pub fn abort_of(
        &mut self,
        harts: &mut Harts,
        events: &mut Events,
        id: ProcessId,
        now: Time,
        status: i32,
    ) {
        harts.settle_all(now);
        let Some(number) = self.alive(id) else { return };
        let process = &self.processes[number];
        let how = aborted_elsewhere(process, status);
        if process.descheduled.is_none() {
            let hart = process.harts.start;
            let now = now.max(harts[hart].hart.now());
            self.end_at(harts, hart, now, how);
            self.gone(events, now);
        } else {
            self.end_descheduled(harts, number, now, how);
        }
    }

    /// Process `number`, which is not on its hart, ends at `now`.
    fn end_descheduled(&mut self, harts: &mut Harts, number: usize, now: Time, how: Ended) {
        self.note_end_of(number, now, how);
        let process = &mut self.processes[number];
        process.descheduled.as_mut().expect("it is not on the hart").activity = Activity::Ended;
        let own = process.harts.clone();
        self.tell_kernel(harts, &own, now);
    }

    /// The number of process `id`, if it is not over.
    fn alive(&self, id: ProcessId) -> Option<usize> {
        self.processes.iter().position(|process| process.id == id && !process.is_over())
    }

    /// `job` is over at `now`, because of what happened on another node, or to another of its processes here.
    pub fn end_job(&mut self, harts: &mut Harts, events: &mut Events, job: JobId, now: Time) {
        let is_alive = |process: &NodeProcess| process.job == job && process.ended.is_none();
        let mut gone = false;
        for number in (0..self.processes.len()).filter(|&n| is_alive(&self.processes[n])).collect::<Vec<_>>()
        {
            let process = &mut self.processes[number];
            process.close(now);
            let own = process.harts.clone();
            if self.tell_kernel(harts, &own, now) {
                continue;
            }
            let process = &mut self.processes[number];
            match &mut process.descheduled {
                Some(descheduled) => descheduled.activity = Activity::Ended,
                None => {
                    harts.of_mut(&process.harts).for_each(|core| core.activity = Activity::Ended);
                    gone = true;
                }
            }
        }
        if gone {
            self.gone(events, now);
        }
    }

    /// Other host threads may run the node from now on, without word from those that did: what they have decoded
    /// is not theirs.
    pub fn unshare_texts(&mut self, harts: &mut Harts) {
        harts.iter_mut().for_each(|core| core.hart.share_text(None));
        self.processes.iter_mut().for_each(|process| process.text = None);
    }

    /// `process` has ended by itself.
    pub fn has_exited(&self, process: ProcessId) -> bool {
        let found = self.processes.iter().find(|here| here.id == process);
        found.is_some_and(|here| matches!(here.ended, Some((_, Ended::Exit(_)))))
    }

    /// The devices will hear which processes have ended, at `at`.
    pub fn announce_ends(&mut self, events: &mut Events, at: Time) {
        for process in &mut self.processes {
            if process.take_end() {
                schedule(events, at, Timer::Over(process.id));
            }
        }
    }

    /// The process that was on the hart, or is, has ended: the scheduler looks for another.
    fn gone(&mut self, events: &mut Events, now: Time) {
        let Some(s) = &mut self.scheduler else { return };
        if let Some(held) = &mut s.held {
            *held = Activity::Ended;
        }
        schedule(events, now, Timer::Look);
    }

    /// The process of `job` comes to the hart that it shares with others, when all is over: to see what it did there.
    pub fn show(&mut self, harts: &mut Harts, job: JobId) {
        let is_off = |process: &NodeProcess| process.job == job && process.descheduled.is_some();
        for process in self.processes.iter_mut().filter(|process| is_off(process)) {
            let left = process.descheduled.as_ref().map_or(0, |descheduled| descheduled.left.cycles);
            process.left = Some(harts[process.harts.start].hart.time_of(left));
        }
        if self.kernel.is_some() {
            for process in
                (0..self.processes.len()).filter(|&n| is_off(&self.processes[n])).collect::<Vec<_>>()
            {
                self.show_under_kernel(harts, self.processes[process].harts.start, process);
            }
        } else if let Some(process) = self.processes.iter().position(is_off) {
            self.exchange(harts, process);
        }
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
        Scheduler::new(&unit, number, 0, together, (Time::ZERO, Time::ZERO))
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
        let mut together = scheduler(4, true);
        together.waiting = [0].into();
        together.leaves(Time(7), |_| true);
        assert_eq!(together.turn_end(0, Time(7)), Time(100 * US + 7), "turns together are whole");
    }

    #[test]
    fn what_one_has_had_beyond_its_turn_all_others_have_once() {
        const US: u64 = 1_000_000;
        let mut node = scheduler(0, false);
        node.owed = vec![Time::ZERO; 3];
        let mut late = |who: usize, by: u64, can: &[usize], next: &[(usize, u64)]| {
            node.waiting = [0, 1, 2].into_iter().filter(|&process| process != who).collect();
            node.leaves(Time(by * US), |process| can.contains(&process));
            next.iter()
                .map(|&(process, now)| {
                    let end = node.turn_end(process, Time(now * US)).0 / US;
                    node.has_come(process);
                    end
                })
                .collect::<Vec<_>>()
        };
        let all = [0, 1, 2];
        // Its access was over soon; within the next quantum; or not.
        assert_eq!(late(0, 1, &all, &[(1, 101), (2, 200), (0, 300)]), [200, 300, 400]);
        assert_eq!(late(0, 80, &all, &[(1, 180), (2, 300), (0, 400)]), [300, 400, 500]);
        assert_eq!(late(0, 230, &all, &[(1, 330), (2, 600), (0, 900)]), [600, 900, 1000]);
        // Who has ended, or sleeps, is owed nothing, nor is who was late.
        assert_eq!(late(0, 230, &[1], &[(1, 330), (0, 600), (2, 700)]), [600, 700, 800]);
        // Two are late one after the other: the third has what both have had.
        assert_eq!(late(0, 230, &all, &[(1, 330)]), [600]);
        assert_eq!(late(1, 101, &all, &[(2, 701), (0, 1100), (1, 1300)]), [1100, 1300, 1400]);
    }

    #[test]
    fn timers_survive_the_round_trip() {
        for timer in
            [Timer::Quantum, Timer::Look, Timer::Close(JobId(7)), Timer::Leave, Timer::Over(ProcessId(5))]
        {
            assert_eq!(Timer::from(Payload::from(timer)), timer);
        }
    }
}

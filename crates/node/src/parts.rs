//! What a node consists of, beside its memory system: what a transaction may touch.

use chasqui_engine::{Event, Outbox, Time};
use chasqui_memory::Bus;
use chasqui_placement::ProcessId;
use chasqui_record::Recorder;

use crate::debug::Debug;
use crate::domain::Domain;
use crate::events::{Events, Target};
use crate::harts::{Core, Harts, Rest};
use crate::io::Io;
use crate::os::{Os, Timer};

/// The parts of a node that its memory system serves.
pub struct Parts {
    pub(crate) harts: Harts,
    pub(crate) os: Os,
    pub(crate) io: Io,
    pub(crate) domain: Domain,
    pub(crate) events: Events,
    /// Records of messages, by process.
    pub(crate) recorders: Vec<Recorder>,
    /// No hart that was alone has executed an instruction that starts at this time or later.
    pub(crate) ran_to: Time,
    /// No hart that has run ahead is taken back further; `NEVER`: none has.
    pub(crate) settled: Time,
    /// Each of several harts repeats itself, some by transactions that others meet, and devices have nothing to do:
    /// nothing happens before something comes from outside. What the harts do until then is made up for.
    pub(crate) resting: bool,
    /// How far that is known.
    pub(crate) rest: Rest,
    /// The memory system does something by itself that harts may notice.
    pub(crate) at_work: bool,
    /// What a debugger has of the node, if there is one.
    pub(crate) debug: Option<Box<Debug>>,
}

impl Parts {
    /// A device does something at `time` that a hart may notice.
    ///
    /// # Panics
    /// When a hart has run past it: the device's input latency is longer than it is in truth.
    #[inline]
    pub(crate) fn check_noticed(&self, time: Time) {
        assert!(
            time >= self.ran_to,
            "a device does at {} ps what a hart may notice that has run to {} ps: its input latency is too long",
            time.0,
            self.ran_to.0
        );
    }

    /// An event that a polling loop may see is about to happen. True: a hart has to catch up first.
    ///
    /// # Panics
    /// When a hart could have seen it, and has run past it: a device's input latency is longer than it is in truth.
    pub fn before_visible_event(&mut self, mut bus: Option<&mut Bus>, now: Time, until: Time) -> bool {
        self.check_noticed(until);
        self.harts.settle_all(now);
        let mut idle = false;
        self.harts.iter_mut().for_each(|core| {
            idle |= core.is_idle();
            core.event(bus.as_deref_mut(), now, until);
        });
        self.os.observed();
        idle
    }

    /// The scheduler is about to do something at `now`. True: the hart has to catch up first.
    pub(crate) fn before_timer(&mut self, mut bus: Option<&mut Bus>, timer: Timer, now: Time) -> bool {
        // What a job or a process leaves behind, others may see, and what a debugger has written.
        if let Timer::Close(_) | Timer::Over(_) | Timer::LookAgain = timer {
            return self.before_visible_event(bus, now, now);
        }
        self.harts.settle_all(now);
        let Some(scheduler) = &mut self.os.scheduler else { return false };
        let mut idle = false;
        for core in self.harts.iter_mut() {
            idle |= core.is_idle();
            core.pause_skipping(bus.as_deref_mut(), now);
        }
        scheduler.pauses(idle);
        idle
    }

    /// A timer of the scheduler's is due.
    pub(crate) fn timer(&mut self, timer: Timer, now: Time, out: &mut Outbox<'_>) {
        if timer == Timer::LookAgain {
            return;
        }
        let Parts { os, harts, events, .. } = self;
        if let Timer::Over(process) = timer {
            let sends = os.has_exited(process);
            return self.close_process(process, sends, now, out);
        }
        if let Timer::Close(job) = timer {
            os.end_job(harts, events, job, now);
            let closed: Vec<_> = os.processes.iter().filter(|p| p.job == job).map(|p| p.id).collect();
            for process in closed {
                self.close_process(process, false, now, out);
            }
        }
        let Parts { os, harts, events, io, .. } = self;
        if let Some(leave) = os.timer(harts, events, timer, now) {
            let device = io.exclusive().expect("turns are the same on all nodes");
            self.with_device((device, 0), now, out, |ni, c| ni.leave(c, leave));
        }
    }

    /// `process` is over; `sends`: what it has sent goes on its way.
    fn close_process(&mut self, process: ProcessId, sends: bool, now: Time, out: &mut Outbox<'_>) {
        for device in 0..self.io.devices.len() {
            self.with_device((device, 0), now, out, |ni, c| ni.close(c, process, sends));
        }
    }

    /// Before this nothing is taken back, after a turn as far as `limit`. `NEVER`: no hart has run ahead.
    pub(crate) fn settled_until(&self, limit: Time) -> Time {
        if !self.harts.is_several() {
            return Time::NEVER;
        }
        let is_ahead = |core: &&Core| core.ahead.may_be_taken_back();
        let since = self.harts.iter().filter_map(|core| core.ahead.since(&core.hart));
        let since = since.fold(Time::NEVER, Time::min);
        if since == Time::NEVER {
            return since;
        }
        let ready = self.harts.iter().filter(|core| !is_ahead(core)).map(Core::ready_at);
        since.max(ready.fold(limit.min(self.events.next_time()), Time::min))
    }

    /// Processes may have ended by `now`: their devices hear it as they hear of a store.
    pub(crate) fn announce_ends(&mut self, now: Time) {
        self.os.announce_ends(&mut self.events, now + self.io.store_latency);
    }

    /// Every process repeats itself, and nothing but the scheduler's timer is to come, or nothing but harts' transactions.
    #[inline]
    pub(crate) fn rests(&self) -> bool {
        self.resting || self.os.rests(&self.harts, &self.events)
    }

    /// A hart has paused at `now` that repeats itself: if all do, and devices and the scheduler have nothing to do, the node
    /// rests.
    pub(crate) fn paused(&mut self, now: Time) {
        let is_harts = |event: &Event| Target::from(event.target) != Target::Scheduler;
        let are_stuck = self.events.prompt().is_empty()
            && !self.at_work
            && self.harts.iter().all(Core::is_stuck)
            && !self.io.stores_cross()
            && self.events.slow().iter().all(is_harts);
        if are_stuck {
            self.resting = self.rest.is_final(&self.harts, now);
        } else {
            self.rest.end();
        }
    }
}

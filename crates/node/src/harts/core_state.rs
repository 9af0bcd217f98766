//! A hart of a node and the thread that is pinned to it.

use chasqui_counters::counters;
use chasqui_engine::Time;
use chasqui_hart::Hart;
use chasqui_linux::Wait;
use chasqui_memory::{Bus, Stall};
use chasqui_record::Cause;
use chasqui_watch::Watch;

use super::ahead::Ahead;
use super::spin::{Parked, Repetition, Spin};
use crate::io::Level;

/// What a hart does at the moment.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one a hart")]
pub(crate) enum Activity {
    /// No thread is on it.
    Vacant,
    /// It can execute the instruction at `pc`.
    Ready,
    /// It has given the hart up, by a system call that has returned, and can go on.
    Yielded,
    /// It waits for its port since this cycle.
    Waiting(u64, Stall),
    /// It repeats a polling loop.
    Parked(Parked),
    /// It repeats itself in some other way: it goes on when an event comes. True: it uses the bus.
    Suspended(bool),
    /// It is at a `wfi`: an interrupt wakes it.
    Idle,
    /// It sleeps until then.
    Sleeping(Time),
    /// It waits for another thread, no longer than until then.
    Blocked(Wait, Time),
    /// Its process has ended.
    Ended,
}

counters! {
    /// Counters of what system software does on a hart.
    pub struct HartSoftwareStatistics {
        /// System calls served.
        calls: "count";
        /// Page faults served.
        page_faults: "count";
        /// Cycles charged for system calls and page faults.
        software_cycles: "cycles";
    }
}

/// A line that a hart fetches for an instruction that waits: others get it when it was used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling {
    /// Physical address and length [bytes].
    pub address: u64,
    pub bytes: u32,
    /// The instruction starts then.
    pub used: Time,
}

/// A hart and the thread that is pinned to it.
pub struct Core {
    /// The hart.
    pub hart: Hart,
    /// What system software did.
    pub statistics: HartSoftwareStatistics,
    /// Cycles in which the thread waited for others.
    pub(crate) blocked_cycles: u64,
    /// Cycles in which the thread slept, or the hart was idle at a `wfi`.
    pub(crate) slept_cycles: u64,
    /// The process that the thread is of, by its place in the node's table.
    pub(crate) process: usize,
    /// A thread has come to the hart.
    pub(crate) has_begun: bool,
    pub(crate) activity: Activity,
    pub(crate) spin: Spin,
    /// The latest line that was fetched for an instruction that waits.
    pub(crate) filling: Option<Filling>,
    pub(crate) watch: Option<Box<Watch>>,
    pub(crate) ahead: Ahead,
}

impl Core {
    /// A hart without a thread.
    pub(crate) fn new(hart: Hart, watch: Option<Box<Watch>>) -> Core {
        Core {
            hart,
            statistics: HartSoftwareStatistics::default(),
            blocked_cycles: 0,
            slept_cycles: 0,
            process: 0,
            has_begun: false,
            activity: Activity::Vacant,
            spin: Spin::default(),
            filling: None,
            watch,
            ahead: Ahead::default(),
        }
    }

    /// Tells the watch, if there is one, what happened to the hart.
    #[inline]
    fn watch(&mut self, tell: impl FnOnce(&mut Watch, &Hart)) {
        if let Some(watch) = &mut self.watch {
            tell(watch, &self.hart);
        }
    }

    /// A new thread is on the hart, from `time` or the hart's own present on, whichever is later.
    pub(crate) fn begin(&mut self, time: Time) {
        self.blocked_cycles += self.wait_until(time);
        self.watch(Watch::begin);
    }

    /// The NI charges the hart until `time`.
    pub(crate) fn start_at(&mut self, time: Time) {
        self.hart.start_at(time);
        self.watch(|watch, hart| watch.pass(hart, Cause::Overhead));
    }

    /// The hart has slept until `time`.
    pub(crate) fn rise(&mut self, time: Time) {
        let cycle = self.hart.cycle_at(time);
        self.slept_cycles += cycle.saturating_sub(self.hart.cycle);
        self.hart.cycle = cycle;
        self.watch(|watch, hart| watch.pass(hart, Cause::Sleep));
        self.activity = Activity::Ready;
    }

    /// When the hart can execute its next instruction, if nothing else happens.
    #[inline]
    pub(crate) fn ready_at(&self) -> Time {
        let ready = match self.activity {
            Activity::Ready => self.hart.now(),
            Activity::Waiting(..) => Time::NEVER,
            _ => self.wakes_at(),
        };
        match self.hart.port.given_at() {
            u64::MAX => ready,
            cycle => ready.min(self.hart.time_of(cycle)),
        }
    }

    /// It is the hart's turn, and its L2 gives a line before the hart goes on: when.
    pub(crate) fn given_first(&self) -> Option<Time> {
        let cycle = self.hart.port.given_at();
        if cycle == u64::MAX {
            return None;
        }
        let at = self.hart.time_of(cycle);
        let is_first = if self.is_ready() { cycle <= self.hart.cycle } else { at <= self.wakes_at() };
        is_first.then_some(at)
    }

    /// The L2 gives a line at `now`. Should the hart wait for its port, it tries again.
    pub(crate) fn take_given(&mut self, now: Time) {
        self.ahead.count();
        self.hart.port.take_given();
        self.wake(now);
    }

    /// When the hart, which is not ready, becomes so by itself.
    #[inline(never)]
    fn wakes_at(&self) -> Time {
        match self.activity {
            Activity::Sleeping(until) | Activity::Blocked(_, until) => until,
            Activity::Idle => self.interrupt_at(self.hart.interrupt_cycle()),
            Activity::Parked(_) | Activity::Suspended(_) => self.interrupt_at(self.hart.trap_cycle()),
            _ => Time::NEVER,
        }
    }

    /// The thread goes on by itself, but not before the end of simulated time.
    pub(crate) fn waits_beyond_time(&self) -> bool {
        let wakes = self.wakes_at();
        !self.is_ready() && wakes >= Time::END && wakes != Time::NEVER
    }

    /// The time of `cycle`, at which an interrupt comes; all ones: never.
    fn interrupt_at(&self, cycle: u64) -> Time {
        if cycle == u64::MAX { Time::NEVER } else { self.hart.time_of(cycle) }
    }

    /// The external interrupt line of `level` is asserted from `now` on, or not.
    pub(crate) fn set_interrupt(&mut self, level: Level, asserted: bool, now: Time) {
        match level {
            Level::Supervisor => self.hart.set_external(asserted),
            Level::User => self.hart.set_user_external(asserted),
        }
        assert!(
            !self.is_idle() || self.hart.trap_cycle() > self.hart.cycle,
            "an interrupt that nobody may see"
        );
        if matches!(self.activity, Activity::Idle) && self.hart.interrupt_cycle() <= self.hart.cycle {
            self.rise(self.hart.now().max(now));
        }
    }

    /// Another hart interrupts it at `now`.
    pub(crate) fn interrupt_software(&mut self, now: Time) {
        self.hart.interrupt_software();
        if matches!(self.activity, Activity::Idle) && self.hart.interrupt_cycle() <= self.hart.cycle {
            self.rise(self.hart.now().max(now));
        }
    }

    /// Something of the hart's port is finished at `now`: it tries again what it waited for.
    pub(crate) fn wake(&mut self, now: Time) {
        if let Activity::Waiting(since, stall) = self.activity {
            if self.hart.port.is_timed() {
                self.hart.cycle = self.hart.cycle.max(self.hart.cycle_at(now));
                self.hart.port.waited(stall, self.hart.cycle - since);
                self.watch(|watch, hart| watch.stalled(hart, stall));
            } else if now > self.hart.now() {
                // Even where accesses take no time the NI may have had this one retried.
                self.hart.start_at(now);
                self.watch(|watch, hart| watch.stalled(hart, stall));
            }
            self.activity = Activity::Ready;
        }
    }

    /// System software takes `cycles` of the hart's time.
    pub(crate) fn charge(&mut self, cycles: u64) {
        if self.hart.port.is_timed() {
            self.hart.cycle += cycles;
            self.statistics.software_cycles += cycles;
            self.watch(|watch, hart| watch.pass(hart, Cause::Software));
        }
    }

    /// The hart, whose thread waited for another, or slept, goes on at `time` or at its own present, whichever is later.
    pub(crate) fn resume_at(&mut self, time: Time) {
        let sleeps = matches!(self.activity, Activity::Sleeping(_));
        let waited = self.wait_until(time);
        *(if sleeps { &mut self.slept_cycles } else { &mut self.blocked_cycles }) += waited;
        self.watch(|watch, hart| watch.pass(hart, Cause::Sleep));
    }

    /// Returns for how many cycles.
    fn wait_until(&mut self, time: Time) -> u64 {
        let waited = self.hart.cycle_at(time).saturating_sub(self.hart.cycle);
        self.hart.cycle += waited;
        self.activity = Activity::Ready;
        waited
    }

    /// The hart has executed a `pause`: if it repeats itself, it does nothing until an event comes. `bus`: the node's, if
    /// no other hart uses it. `skip`: polling loops are skipped.
    pub(crate) fn pause(&mut self, bus: Option<&Bus>, skip: bool) {
        self.watch(Watch::paused);
        // Polling that takes no time is always skipped.
        let skip = skip || !self.hart.port.is_timed();
        let found = self.spin.pause(&mut self.hart, bus);
        self.repeat(found, skip);
    }

    /// The hart has given itself up, and nobody else is on it: it goes on, unless it repeats itself.
    pub(crate) fn yielded(&mut self, bus: Option<&Bus>) {
        self.activity = Activity::Ready;
        let found = self.spin.yielded(&mut self.hart, bus);
        self.repeat(found, true);
    }

    /// If it was `found` to repeat itself, it does nothing until an event comes.
    fn repeat(&mut self, found: Option<Repetition>, skip: bool) {
        match found {
            Some(Repetition::Exact(parked)) if skip => self.activity = Activity::Parked(parked),
            Some(Repetition::Exact(parked)) => self.activity = Activity::Suspended(parked.uses_bus()),
            Some(Repetition::OfValues { bus }) => self.activity = Activity::Suspended(bus),
            Some(Repetition::AmongOthers) | None => {}
        }
    }

    /// The hart can execute its next instruction.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.activity, Activity::Ready)
    }

    /// The hart does nothing until an event comes that it can see.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.activity, Activity::Parked(_) | Activity::Suspended(_))
    }

    /// It executes nothing, neither now nor in what is made up for.
    pub(crate) fn is_asleep(&self) -> bool {
        use Activity::{Blocked, Ended, Idle, Sleeping, Vacant};
        matches!(self.activity, Vacant | Idle | Sleeping(_) | Blocked(..) | Ended)
    }

    /// Nothing but an event that it can see changes what the hart does.
    pub(crate) fn is_stuck(&self) -> bool {
        match self.activity {
            // An interrupt that is to come may bring another thread.
            Activity::Ready | Activity::Yielded | Activity::Waiting(..) => {
                self.spin.repeats_on(&self.hart) && self.hart.trap_cycle() == u64::MAX
            }
            // Those that wake by themselves do so at a time. What one has stored before it slept may have yet to reach memory,
            // and change what others wait for.
            _ => self.wakes_at() == Time::NEVER && self.hart.port.is_quiet(),
        }
    }

    /// A thread is on the hart.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.activity, Activity::Vacant | Activity::Ended)
    }

    /// The hart does not use the bus until an event comes, or until it wakes by itself.
    pub(crate) fn leaves_bus(&self) -> bool {
        let leaves = match self.activity {
            Activity::Ready | Activity::Yielded | Activity::Waiting(..) => false,
            Activity::Parked(parked) => !parked.uses_bus(),
            Activity::Suspended(uses_bus) => !uses_bus,
            Activity::Vacant | Activity::Idle | Activity::Sleeping(_) => true,
            Activity::Blocked(..) | Activity::Ended => true,
        };
        leaves && self.hart.port.is_quiet()
    }

    /// Another hart, in a call that takes no time like this one's, has stored at `now`. Observation goes on: if
    /// one more turn changes nothing, the hart repeats itself as before, and has nothing to tell the other.
    pub(crate) fn look_again(&mut self, now: Time) {
        if matches!(self.activity, Activity::Parked(_)) {
            self.hart.start_at(now);
        }
        self.spin.look_again();
        self.activity = Activity::Ready;
    }

    /// An event happens at `now` that the hart may see until `until` at the latest. A parked hart catches
    /// up; one that is suspended is ready where it stopped, and has yet to.
    pub(crate) fn event(&mut self, bus: Option<&mut Bus>, now: Time, until: Time) {
        self.catch_up(bus, now);
        self.spin.event(&mut self.hart, until);
    }

    /// Another hart reads at `now` what this one, which repeats itself, has and has not modified.
    pub(crate) fn shared(&mut self, bus: Option<&mut Bus>, now: Time) {
        self.catch_up(bus, now);
        self.spin.shared(now);
    }

    /// The scheduler does something at `now`, of which the thread sees nothing but that the hart is another's.
    pub(crate) fn pause_skipping(&mut self, bus: Option<&mut Bus>, now: Time) {
        self.catch_up(bus, now);
        self.spin.taken_away(&mut self.hart);
    }

    fn catch_up(&mut self, bus: Option<&mut Bus>, now: Time) {
        if let Activity::Parked(parked) = self.activity {
            let turns = parked.advance(&mut self.hart, bus, now);
            self.watch(|watch, hart| watch.repeated(hart, turns));
        }
        if self.is_idle() {
            self.activity = Activity::Ready;
        }
    }
}

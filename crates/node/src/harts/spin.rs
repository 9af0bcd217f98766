//! Loops that repeat themselves: exact skipping, and harts that nothing but an event can help.
//!
//! A polling loop executes `pause` at its head. If between two pauses at the same place the hart came
//! back to the same registers and the same memory, every uncached read may be repeated, and nothing but
//! the hart itself happened in the node, then it does the same for ever, until an event that it can see.
//!
//! - If caches, TLBs, buffers and the predictor of branches are as they were too, and the bus stands as it stood, each
//!   iteration also takes the same time. The hart is *parked*: when an event comes it is moved on by whole iterations, with
//!   their statistics and bus transactions, to the last that ends before the event, and runs on from there.
//! - If not, or if skipping is switched off, or if the loop is the program's, around calls that test, the
//!   hart is *suspended*: it executes all those iterations, but no sooner than an event comes.
//!
//! A loop may also count its polls and give the hart up by the system call sched_yield when it has polled in vain so
//! many times. Then no two pauses are alike, but two yields may be: the loop repeats itself from yield to yield. It is
//! suspended, not parked. What is observed from a yield on goes on when the process leaves the hart and comes again.
//!
//! Both do nothing by themselves, so that a run in which nobody else does anything ends: a deadlock.
//! At which pause a hart is parked or suspended does not depend on how far the engine lets it run.

use chasqui_counters::Counters as _;
use chasqui_engine::Time;
use chasqui_hart::predictor::Predictor;
use chasqui_hart::supervisor::Supervisor;
use chasqui_hart::{Handlers, Hart, HartStatistics, State};
use chasqui_memory::{Bus, BusStatistics, PortStatistics};

/// What a repetition repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counters {
    hart: HartStatistics,
    port: PortStatistics,
    bus: BusStatistics,
}

/// The hart at a `pause`.
struct Snapshot {
    state: State,
    /// Of a hart with a kernel: a loop may go through it.
    supervisor: Option<Supervisor>,
    /// Of a hart with interrupts at user level.
    handlers: Option<Handlers>,
    predictor: Predictor,
    cycle: u64,
    changes: u64,
    reservation: Option<u64>,
    /// Transactions that the port had asked for, and those that wrote what it alone had.
    asked: u64,
    written: u64,
    /// No other hart used the bus.
    sole: bool,
    /// Calls that had returned.
    returns: u64,
    counters: Counters,
}

/// A hart that repeats itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parked {
    /// Cycles of one iteration; 0: the loop takes no time (calls that are not timed).
    pub cycles: u64,
    before: Counters,
    after: Counters,
}

/// How a hart repeats itself.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "moved once a loop")]
pub(crate) enum Repetition {
    /// In the same time: it can be skipped.
    Exact(Parked),
    /// Its values only.
    OfValues {
        /// It uses the bus.
        bus: bool,
    },
    /// Its values only, by transactions on a bus that other harts use too: it goes on, since they meet its transactions.
    AmongOthers,
}

/// A load from a device that may be repeated, of a loop that polls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poll {
    pub device: usize,
    /// Relative to the device's.
    pub address: u64,
    pub bytes: u32,
    /// What it gave.
    pub value: u64,
}

/// Observation of one hart.
#[derive(Default)]
pub(crate) struct Spin {
    /// The latest pause. It counts while the hart is `observed`; its room is used again.
    last: Option<Snapshot>,
    observed: bool,
    /// Pauses up to then are not looked at: an event may still be on its way to what the hart sees.
    from: Time,
    /// Pauses since an event.
    idle: u32,
    /// Turns of a loop that repeats itself, but for what the predictor of branches has learnt of it.
    learning: u32,
    /// Calls that have returned.
    returns: u64,
    /// What is observed began at a yield, not at a pause.
    from_yield: bool,
    /// Pauses since the latest yield.
    pauses: u32,
    /// Pauses between the two yields before: if the loop repeats itself, the next comes after as many.
    between: u32,
    /// Instructions that the hart had executed at the latest pause, or when the observation began.
    heard: u64,
    /// It was found to repeat itself, and no event has happened since that it could see.
    repeats: bool,
    /// When the turn began from which on it repeats itself, and the latest that is like it.
    since: Time,
    turn: Time,
    /// When what is observed began.
    began: Time,
    /// It is the first since nothing was: what was repeated before may have been another loop.
    is_new: bool,
    /// Since what is observed began another hart has read a line that this one has, or this one has changed what another has:
    /// it may change it again, so that each of its turns is the other's event.
    is_among: bool,
    /// Interrupts that the hart had taken when it was found to repeat itself.
    interrupts: u64,
    /// The latest load of what is observed that may be repeated. Only builds with debug assertions keep it.
    pub latest_poll: Option<Poll>,
}

/// An observation that reaches this many instructions without a pause or yield was not of a polling loop.
const OBSERVED_MAX: u64 = 20_000;

/// So many turns of a loop may teach the predictor something, before the loop is taken to repeat itself in its values
/// alone. A 2-bit counter is where it stays after three: each turn moves it by the same steps up and down.
const LEARNING_MAX: u32 = 4;

/// So many pauses without any event: the program itself may be polling, with calls that test. Before,
/// observation ends with the call, since it slows down what the program does afterwards.
const IDLE_MIN: u32 = 16;

impl Spin {
    /// The hart has executed a `pause`. Returns how it repeats itself, if it does. `bus`: the node's, if no other hart uses
    /// it; where there is none, or others may use it, a loop with transactions does not repeat itself in the same time.
    pub fn pause(&mut self, hart: &mut Hart, bus: Option<&Bus>) -> Option<Repetition> {
        self.pauses = self.pauses.saturating_add(1);
        if hart.port.is_timed() && hart.now() <= self.from {
            return None;
        }
        self.idle = self.idle.saturating_add(1);
        self.check(hart);
        if self.observed && self.from_yield && self.pauses <= self.between {
            self.heard = hart.statistics.instructions;
            return None;
        }
        self.compare(hart, bus, false)
    }

    /// The hart has given itself up by a system call, which has returned. Returns how it repeats itself since the
    /// call before, if it does.
    pub fn yielded(&mut self, hart: &mut Hart, bus: Option<&Bus>) -> Option<Repetition> {
        self.between = std::mem::take(&mut self.pauses);
        if hart.port.is_timed() && hart.now() <= self.from {
            return None;
        }
        self.check(hart);
        self.compare(hart, bus, true)
    }

    /// What is observed now and then from one place, a yield or a pause, is compared; if it isn't repeated, another
    /// observation begins.
    fn compare(&mut self, hart: &mut Hart, bus: Option<&Bus>, at_yield: bool) -> Option<Repetition> {
        // What others do on the bus is not repeated.
        let used = bus.map_or(BusStatistics::default(), |bus| bus.statistics);
        let counters = Counters { hart: hart.statistics, port: hart.port.statistics, bus: used };
        let quiet = hart.port.is_quiet();
        if let Some(last) = self.last.as_ref().filter(|_| self.observed && self.from_yield == at_yield) {
            let found = last.repetition(hart, bus, &counters, self.returns, quiet);
            let learns = !at_yield && found.is_some() && last.predictor != *hart.predictor();
            self.learning = if learns { self.learning + 1 } else { 0 };
            let found = found.filter(|_| !learns || self.learning > LEARNING_MAX);
            // The next turn may take another time, or change what another hart sees.
            let found = found.map(|found| if self.is_among { Repetition::AmongOthers } else { found });
            let found = found
                .filter(|found| !matches!(found, Repetition::AmongOthers) || !last.shows_what_changed(hart));
            if !std::mem::replace(&mut self.repeats, found.is_some()) || self.is_new {
                self.since = self.began;
            }
            self.is_new = false;
            self.turn = self.began;
            self.interrupts = hart.interrupts();
            match found {
                None | Some(Repetition::AmongOthers) => {}
                Some(found) => return Some(if at_yield { found.of_values(hart) } else { found }),
            }
        } else {
            self.is_new = true;
        }
        // Accesses that are not timed do not depend on caches and buffers.
        if hart.port.is_timed() && !quiet {
            self.stop(hart);
        } else {
            self.from_yield = at_yield;
            self.observe(hart, bus.is_some(), counters);
        }
        None
    }

    /// From here to the next pause.
    fn observe(&mut self, hart: &mut Hart, sole: bool, counters: Counters) {
        let (cycle, changes, returns) = (hart.cycle, hart.port.changes(), self.returns);
        let (reservation, asked, written) = (hart.port.reservation(), hart.port.asked(), hart.port.written());
        let (supervisor, handlers) = (hart.supervisor().cloned(), hart.handlers().cloned());
        let predictor = hart.predictor().clone();
        match &mut self.last {
            Some(last) => {
                last.state.clone_from(&hart.state);
                (last.supervisor, last.handlers, last.predictor) = (supervisor, handlers, predictor);
                (last.cycle, last.changes, last.returns) = (cycle, changes, returns);
                (last.reservation, last.counters) = (reservation, counters);
                (last.asked, last.written, last.sole) = (asked, written, sole);
            }
            None => {
                let state = hart.state.clone();
                self.last = Some(Snapshot {
                    state,
                    supervisor,
                    handlers,
                    predictor,
                    cycle,
                    changes,
                    reservation,
                    asked,
                    written,
                    sole,
                    returns,
                    counters,
                });
            }
        }
        (self.observed, self.is_among) = (true, false);
        self.began = hart.now();
        self.latest_poll = None;
        self.heard = hart.statistics.instructions;
        hart.port.observe(true);
    }

    /// It was found to repeat itself, and no event has happened since that it could see.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// When it began to repeat itself, if it does.
    pub fn since(&self) -> Time {
        self.since
    }

    /// When its latest whole turn began, if it repeats itself.
    pub fn latest_turn(&self) -> Time {
        self.turn
    }

    /// The same, and no interrupt of `hart` has ended the loop.
    pub fn repeats_on(&self, hart: &Hart) -> bool {
        self.repeats && self.interrupts == hart.interrupts()
    }

    /// Its process has left the hart, and comes to it again; `since`: up to then what happened may still be on its
    /// way to what it sees, had it stayed.
    pub fn comes(&mut self, hart: &Hart, since: &Spin) {
        self.from = self.from.max(since.from);
        self.heard = hart.statistics.instructions;
    }

    /// The scheduler may take the hart from the process, which sees nothing of it. Repetitions that take the same
    /// time are found anew.
    pub fn taken_away(&mut self, hart: &mut Hart) {
        if !self.from_yield {
            self.stop(hart);
        }
    }

    /// What it sees may have changed: whether it repeats itself, the next turn tells.
    pub fn look_again(&mut self) {
        self.repeats = false;
    }

    /// An event that the hart may see until `until` at the latest: what was observed before says nothing.
    pub fn event(&mut self, hart: &mut Hart, until: Time) {
        self.from = self.from.max(until);
        self.idle = 0;
        self.learning = 0;
        self.repeats = false;
        self.stop(hart);
    }

    /// At `now` another hart reads a line that this one has and has not modified: its values are as they were, but not what it
    /// takes to store to the line.
    pub fn shared(&mut self, now: Time) {
        self.from = self.from.max(now);
        self.is_among = true;
    }

    /// It has taken a line from another hart, or what that had modified there.
    pub fn met(&mut self) {
        self.is_among = true;
    }

    /// An MPI call returns.
    pub fn returned(&mut self, hart: &mut Hart) {
        self.returns += 1;
        if self.idle < IDLE_MIN {
            self.stop(hart);
        }
    }

    /// Ends an observation that leads nowhere.
    pub fn check(&mut self, hart: &mut Hart) {
        if self.observed && hart.statistics.instructions > self.heard + OBSERVED_MAX {
            self.stop(hart);
        }
    }

    /// Stops observing.
    pub fn stop(&mut self, hart: &mut Hart) {
        if self.observed {
            self.observed = false;
            hart.port.observe(false);
        }
    }
}

impl Repetition {
    /// The same, of values alone: system software counts calls, and others may have had the hart. Where nothing takes
    /// time it makes no difference.
    fn of_values(self, hart: &Hart) -> Repetition {
        match self {
            Repetition::Exact(parked) if hart.port.is_timed() => {
                Repetition::OfValues { bus: parked.uses_bus() }
            }
            other => other,
        }
    }
}

impl Snapshot {
    /// What the hart has stored since then for a while, others may have read without its notice, or may yet in a like turn.
    fn shows_what_changed(&self, hart: &Hart) -> bool {
        self.written != hart.port.written() && hart.port.has_changed_memory()
    }

    /// Whether and how the hart does again what it did since then.
    fn repetition(
        &self,
        hart: &Hart,
        bus: Option<&Bus>,
        now: &Counters,
        returns: u64,
        quiet: bool,
    ) -> Option<Repetition> {
        let (timed, sole) = (hart.port.is_timed(), bus.is_some());
        let uses_bus = self.asked != hart.port.asked();
        let same = (quiet || !timed)
            && self.state == hart.state
            && self.supervisor.as_ref() == hart.supervisor()
            && self.handlers.as_ref() == hart.handlers()
            && self.reservation == hart.port.reservation()
            && hart.port.is_silent();
        if !same {
            return None;
        }
        if timed && uses_bus && !(sole && self.sole) {
            return Some(Repetition::AmongOthers);
        }
        if self.sole != sole {
            return None;
        }
        // Marks of calls are recorded one by one.
        let in_call = self.returns == returns;
        let times = |bus| {
            self.changes == hart.port.changes()
                && self.predictor == *hart.predictor()
                && repeats(hart, bus, self, now)
        };
        let exact = in_call && (!timed || times(bus));
        if exact {
            let cycles = if timed { hart.cycle - self.cycle } else { 0 };
            Some(Repetition::Exact(Parked { cycles, before: self.counters, after: *now }))
        } else {
            quiet.then_some(Repetition::OfValues { bus: uses_bus })
        }
    }
}

/// The iteration takes the same time again: it used no bus, or the bus and its clock stand as they stood
/// and the iteration was a whole number of picoseconds and of bus clocks.
fn repeats(hart: &Hart, bus: Option<&Bus>, last: &Snapshot, now: &Counters) -> bool {
    let Some(bus) = bus.filter(|_| now.bus != last.counters.bus) else { return true };
    let (start, end) = (hart.time_of(last.cycle), hart.now());
    let cycles = u128::from(hart.cycle - last.cycle);
    let whole = |hz: u64, length: u128| (length * u128::from(hz)).is_multiple_of(1_000_000_000_000);
    let exact = (cycles * 1_000_000_000_000).is_multiple_of(u128::from(hart.clock().hz()));
    exact && whole(bus.clock().hz(), u128::from((end - start).0)) && bus.is_idle(end)
}

impl Parked {
    /// Its iterations have transactions on the bus.
    pub fn uses_bus(&self) -> bool {
        self.before.bus != self.after.bus
    }

    /// Moves the hart on by the whole iterations that end at or before `until`, and says how many.
    pub fn advance(&self, hart: &mut Hart, bus: Option<&mut Bus>, until: Time) -> u64 {
        if self.cycles == 0 {
            hart.start_at(until);
            return 0;
        }
        let edge = hart.cycle_at(until);
        let last = if hart.time_of(edge) > until { edge - 1 } else { edge };
        let iterations = last.saturating_sub(hart.cycle) / self.cycles;
        let start = hart.now();
        hart.cycle += iterations * self.cycles;
        let (b, a) = (&self.before, &self.after);
        hart.statistics = hart.statistics.repeated(&b.hart, &a.hart, iterations);
        hart.port.statistics = hart.port.statistics.repeated(&b.port, &a.port, iterations);
        if a.bus != b.bus {
            let bus = bus.expect("its transactions were on one");
            bus.statistics = bus.statistics.repeated(&b.bus, &a.bus, iterations);
            bus.shift(hart.now() - start);
        }
        iterations
    }
}

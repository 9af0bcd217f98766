//! Loops that repeat themselves: exact skipping, and harts that nothing but an event can help.
//!
//! A polling loop executes `pause` at its head. If between two pauses at the same place the hart came
//! back to the same registers and the same memory, every uncached read may be repeated, and nothing but
//! the hart itself happened in the node, then it does the same for ever, until an event that it can see.
//!
//! - If caches, TLBs and buffers are as they were too, and the bus stands as it stood, each iteration also
//!   takes the same time. The hart is *parked*: when an event comes it is moved on by whole iterations, with
//!   their statistics and bus transactions, to the last that ends before the event, and runs on from there.
//! - If not, or if skipping is switched off, or if the loop is the program's, around calls that test, the
//!   hart is *suspended*: it executes all those iterations, but no sooner than an event comes.
//!
//! Both do nothing by themselves, so that a run in which nobody else does anything ends: a deadlock.
//! At which pause a hart is parked or suspended does not depend on how far the engine lets it run.

use chasqui_engine::Time;
use chasqui_hart::{Hart, HartStatistics, State};
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
    cycle: u64,
    changes: u64,
    reservation: Option<u64>,
    /// Transactions that the port had asked for.
    asked: u64,
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
    /// Calls that have returned.
    returns: u64,
}

/// An observation that reaches this many instructions without a pause was not of a polling loop.
const OBSERVED_MAX: u64 = 20_000;

/// So many pauses without any event: the program itself may be polling, with calls that test. Before,
/// observation ends with the call, since it slows down what the program does afterwards.
const IDLE_MIN: u32 = 16;

impl Spin {
    /// The hart has executed a `pause`. Returns how it repeats itself, if it does. `sole`: no other hart uses
    /// the bus; if others may, a loop that uses it does not repeat itself.
    pub fn pause(&mut self, hart: &mut Hart, bus: &Bus, sole: bool) -> Option<Repetition> {
        let timed = hart.port.is_timed();
        if timed && hart.now() <= self.from {
            return None;
        }
        self.idle = self.idle.saturating_add(1);
        self.check(hart);
        // What others do on the bus is not repeated.
        let used = if sole { bus.statistics } else { BusStatistics::default() };
        let counters = Counters { hart: hart.statistics, port: hart.port.statistics, bus: used };
        let quiet = hart.port.is_quiet();
        if let Some(last) = self.last.as_ref().filter(|_| self.observed) {
            let found = last.repetition(hart, bus, sole, &counters, self.returns, quiet);
            if found.is_some() {
                return found;
            }
        }
        // Accesses that are not timed do not depend on caches and buffers.
        if timed && !quiet {
            self.stop(hart);
        } else {
            self.observe(hart, sole, counters);
        }
        None
    }

    /// From here to the next pause.
    fn observe(&mut self, hart: &mut Hart, sole: bool, counters: Counters) {
        let (cycle, changes, returns) = (hart.cycle, hart.port.changes(), self.returns);
        let (reservation, asked) = (hart.port.reservation(), hart.port.asked());
        match &mut self.last {
            Some(last) => {
                last.state.clone_from(&hart.state);
                (last.cycle, last.changes, last.returns) = (cycle, changes, returns);
                (last.reservation, last.counters) = (reservation, counters);
                (last.asked, last.sole) = (asked, sole);
            }
            None => {
                let state = hart.state.clone();
                self.last =
                    Some(Snapshot { state, cycle, changes, reservation, asked, sole, returns, counters });
            }
        }
        self.observed = true;
        hart.port.observe(true);
    }

    /// An event that the hart may see until `until` at the latest: what was observed before says nothing.
    pub fn event(&mut self, hart: &mut Hart, until: Time) {
        self.from = self.from.max(until);
        self.idle = 0;
        self.stop(hart);
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
        if self.observed
            && let Some(last) = &self.last
            && hart.statistics.instructions > last.counters.hart.instructions + OBSERVED_MAX
        {
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

impl Snapshot {
    /// Whether and how the hart does again what it did since then.
    fn repetition(
        &self,
        hart: &Hart,
        bus: &Bus,
        sole: bool,
        now: &Counters,
        returns: u64,
        quiet: bool,
    ) -> Option<Repetition> {
        let timed = hart.port.is_timed();
        let uses_bus = self.asked != hart.port.asked();
        let same = (quiet || !timed)
            && self.sole == sole
            && (sole || !timed || !uses_bus)
            && self.state == hart.state
            && self.reservation == hart.port.reservation()
            && hart.port.is_silent();
        // Marks of calls are recorded one by one.
        let in_call = self.returns == returns;
        let exact =
            in_call && (!timed || self.changes == hart.port.changes() && repeats(hart, bus, self, now));
        match same {
            true if exact => {
                let cycles = if timed { hart.cycle - self.cycle } else { 0 };
                Some(Repetition::Exact(Parked { cycles, before: self.counters, after: *now }))
            }
            true if quiet => Some(Repetition::OfValues { bus: uses_bus }),
            _ => None,
        }
    }
}

/// The iteration takes the same time again: it used no bus, or the bus and its clock stand as they stood
/// and the iteration was a whole number of picoseconds and of bus clocks.
fn repeats(hart: &Hart, bus: &Bus, last: &Snapshot, now: &Counters) -> bool {
    if now.bus == last.counters.bus {
        return true;
    }
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
    pub fn advance(&self, hart: &mut Hart, bus: &mut Bus, until: Time) -> u64 {
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
            bus.statistics = bus.statistics.repeated(&b.bus, &a.bus, iterations);
            bus.shift(hart.now() - start);
        }
        iterations
    }
}

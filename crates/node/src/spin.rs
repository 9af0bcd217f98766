//! Exact skipping of polling loops.
//!
//! A polling loop executes `pause` at its head. If between two pauses at the same place the hart came
//! back to the same registers, no cache, TLB or buffer changed, every store rewrote the value that was
//! there, every uncached read may be repeated, and nothing but the hart itself happened in the node, then
//! the next iteration does the same in the same time, and so does every one until an event that the loop
//! can see. The hart is parked; when such an event comes it is moved on by whole iterations, with their
//! statistics and bus transactions, to the last that ends before the event, and runs on from there.

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

/// The node at a `pause`.
pub(crate) struct Snapshot {
    state: State,
    cycle: u64,
    changes: u64,
    reservation: Option<u64>,
    events: u64,
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

/// Observation of one hart.
#[derive(Default)]
pub(crate) struct Spin {
    last: Option<Snapshot>,
}

/// An observation that reaches this many instructions without a pause was not of a polling loop.
const OBSERVED_MAX: u64 = 20_000;

impl Spin {
    /// The hart has executed a `pause`. `events`: number of things that happened in the node and were not
    /// the hart's doing. Returns how to park, if it repeats itself.
    pub fn pause(&mut self, hart: &mut Hart, bus: &Bus, events: u64) -> Option<Parked> {
        let counters = Counters { hart: hart.statistics, port: hart.port.statistics, bus: bus.statistics };
        // Accesses that are not timed do not depend on caches and buffers.
        let timed = hart.port.is_timed();
        let quiet = !timed || hart.port.is_quiet();
        if let Some(last) = &self.last
            && quiet
            && hart.port.is_silent()
            && last.events == events
            && (!timed || last.changes == hart.port.changes())
            && last.state == hart.state
            && last.reservation == hart.port.reservation()
            && (!timed || repeats(hart, bus, last, &counters))
        {
            let cycles = if timed { hart.cycle - last.cycle } else { 0 };
            return Some(Parked { cycles, before: last.counters, after: counters });
        }
        // Observe from here to the next pause.
        let (cycle, changes) = (hart.cycle, hart.port.changes());
        match &mut self.last {
            _ if !quiet => self.last = None,
            Some(last) => {
                last.state.clone_from(&hart.state);
                (last.cycle, last.changes, last.events, last.counters) = (cycle, changes, events, counters);
                last.reservation = hart.port.reservation();
            }
            None => {
                self.last = Some(Snapshot {
                    state: hart.state.clone(),
                    cycle,
                    changes,
                    reservation: hart.port.reservation(),
                    events,
                    counters,
                });
            }
        }
        hart.port.observe(self.last.is_some());
        None
    }

    /// Ends an observation that leads nowhere.
    pub fn check(&mut self, hart: &mut Hart) {
        if let Some(last) = &self.last
            && hart.statistics.instructions > last.counters.hart.instructions + OBSERVED_MAX
        {
            self.stop(hart);
        }
    }

    /// Stops observing.
    pub fn stop(&mut self, hart: &mut Hart) {
        if self.last.take().is_some() {
            hart.port.observe(false);
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
    /// Moves the hart on by the whole iterations that end at or before `until`.
    pub fn advance(&self, hart: &mut Hart, bus: &mut Bus, until: Time) {
        if self.cycles == 0 {
            hart.start_at(until);
            return;
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
    }
}

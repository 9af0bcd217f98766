//! Fills that need no event: the bus is lent to the port.
//!
//! While only the hart can need the bus before some time, the node lends the bus to the
//! hart's port. A line that the hart waits for and that comes before that time is then fetched on the spot:
//! the grant and the completion happen as they would have, one after the other, and the access goes on.

use std::ptr::NonNull;

use chasqui_engine::{Cycles, Time};

use super::{Port, Request, Slot, Snooped, Stall};
use crate::cache::{Cache, State};
use crate::{Bus, Responder};

/// A bus that a hart's port has to itself for a while.
pub struct LentBus<'a> {
    /// The bus.
    pub bus: &'a mut Bus,
    /// No other request comes before the end of a transaction that is granted before this time, when the bus is free.
    pub before: Time,
    /// Physical addresses below are main memory's.
    pub dram_bytes: u64,
}

/// A bus on loan.
pub(super) struct Lent {
    bus: NonNull<Bus>,
    cycles: Cycles,
    /// A transaction of a free bus that is granted before this time is over before anything else happens.
    before: Time,
    /// Physical addresses below are main memory's.
    dram_bytes: u64,
}

impl Port {
    /// Lends a bus until [`Port::take_back_bus`]. `cycles`: the hart's.
    ///
    /// # Safety
    /// Until then nothing but the port may touch the bus, which must stay where it is.
    pub unsafe fn lend_bus(&mut self, lent: LentBus<'_>, cycles: Cycles) {
        let LentBus { bus, before, dram_bytes } = lent;
        self.lent = Some(Lent { bus: NonNull::from(bus), cycles, before, dram_bytes });
    }

    /// The bus is the node's again.
    pub fn take_back_bus(&mut self) {
        self.lent = None;
    }

    /// Fetches the line of `fill` at once, if the bus is here for it; `cycles` is then the cycle at which
    /// the line is here. False: it must be asked for.
    pub(super) fn fill_now(&mut self, fill: Request, stall: Stall, cycles: &mut u64) -> bool {
        let (Some(lent), Request::Fill { line, data, .. }) = (&mut self.lent, fill) else { return false };
        // SAFETY: `lend_bus` promises that the bus is there and that nothing else uses it.
        let bus = unsafe { lent.bus.as_mut() };
        let grant = bus.grant_at(lent.cycles.time_of(*cycles));
        // A request that was made before comes first.
        let first = self.requests.is_empty() && bus.is_free(grant);
        if grant >= lent.before
            || line >= lent.dram_bytes
            || !first
            || replaces_code(&self.l2, &self.l1i, line)
        {
            return false;
        }
        let (hart, bytes) = (lent.cycles, self.bus_line_bytes(data));
        let end = bus.place(grant, bytes, false, Responder::Dram).end;
        self.changes += 1;
        self.asked += 1;
        self.under_way[Slot::Blocking as usize] = Some(fill);
        self.granted(Slot::Blocking, Snooped::default(), hart.cycle_at(grant));
        let end = hart.cycle_at(end).max(*cycles);
        self.completed(Slot::Blocking, 0, end);
        self.waited(stall, end - *cycles);
        *cycles = end;
        true
    }

    /// The hart has waited for `cycles` cycles.
    pub fn waited(&mut self, stall: Stall, cycles: u64) {
        self.statistics.stalls[stall] += cycles;
        self.waits.add(stall, cycles);
    }
}

/// The inclusive L2 drops lines of instructions to make room for `line`: the hart, which goes on after the
/// access, may have to fetch its code again.
fn replaces_code(l2: &Option<Cache>, l1i: &Cache, line: u64) -> bool {
    let Some(l2) = l2 else { return false };
    let line = l2.line_of(line);
    if l2.find(line).is_some() {
        return false;
    }
    let old = l2.way(l2.victim(line, |w| w.stamp));
    let mut lines = (old.line..old.line + l2.line_bytes()).step_by(l1i.line_bytes() as usize);
    old.state != State::Invalid && lines.any(|line| l1i.find(line).is_some())
}

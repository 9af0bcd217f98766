//! Fills that need no event: the bus is lent to the port.
//!
//! While only the hart can need the bus before some time, the node lends the bus to the
//! hart's port. A line that the hart waits for and that comes before that time is then fetched on the spot:
//! the grant and the completion happen as they would have, one after the other, and the access goes on.

use std::ptr::NonNull;

use chasqui_engine::{Cycles, Time};

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
    /// The hart's clock.
    cycles: Cycles,
    /// A transaction of a free bus that is granted before this time is over before anything else happens.
    before: Time,
    /// Physical addresses below are main memory's.
    dram_bytes: u64,
}

// SAFETY: the bus is the node's whose hart borrows it, and one host thread at a time runs a node.
unsafe impl Send for Lent {}

impl Lent {
    /// # Safety
    /// As long as this lives nothing else may touch the bus, which must stay where it is.
    pub unsafe fn new(lent: LentBus<'_>, cycles: Cycles) -> Lent {
        let LentBus { bus, before, dram_bytes } = lent;
        Lent { bus: NonNull::from(bus), cycles, before, dram_bytes }
    }

    /// Fetches the `bytes` of `line`, asked for at `cycle`, if that is over before anybody else wants the bus and if
    /// `may` says so: the cycles of the grant and of the end.
    #[inline]
    pub fn fetch(
        &mut self,
        line: u64,
        bytes: u32,
        cycle: u64,
        may: impl FnOnce() -> bool,
    ) -> Option<(u64, u64)> {
        // SAFETY: `new` promises that the bus is there and that nobody else uses it.
        let bus = unsafe { self.bus.as_mut() };
        let grant = bus.grant_at(self.cycles.time_of(cycle));
        if grant >= self.before || line >= self.dram_bytes || !bus.is_free(grant) || !may() {
            return None;
        }
        let end = bus.place(grant, bytes, false, Responder::Dram).end;
        Some((self.cycles.cycle_at(grant), self.cycles.cycle_at(end)))
    }
}

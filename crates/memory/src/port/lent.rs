//! Transactions that need no event of the node: the bus is lent to the port.
//!
//! While only the hart can need the bus before some time, the node lends the bus to the hart's port, with what is to come
//! of transactions that it has asked for ([`Agenda`]). Until that time the port deals with them itself, at the cycles at
//! which the node would: requests take their places in the order of their times, the bus is granted, lines come. A fill
//! that finds no other transaction under way is done on the spot: the grant and the completion happen as they would have,
//! one after the other, and the access goes on.

use std::collections::VecDeque;
use std::ptr::NonNull;

use chasqui_engine::{Class, Cycles, Order, Port, Time};

use super::request::{Request, Slot};
use crate::{Bus, Responder};

/// What is to come of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is asked for.
    Request(Slot),
    /// The first that waits is granted the bus.
    Grant,
    /// It is over.
    Done(Slot),
}

/// A stage and its place among all events of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub time: Time,
    /// Which first, of one instant.
    pub order: Order,
    /// What.
    pub stage: Stage,
    /// The hart's first cycle that starts at or after the time.
    pub(super) cycle: u64,
}

/// What is to come of the transactions of a hart that has the bus to itself. There are three at most, so few things are due.
#[derive(Default)]
pub struct Agenda {
    /// The next last.
    due: Vec<Due>,
    /// Those that wait for the bus, in their order.
    waiting: VecDeque<Slot>,
    /// A grant is due.
    has_grant: bool,
}

impl Agenda {
    /// Nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// `stage` is due at `time`, with this place among all events.
    pub fn add(&mut self, time: Time, order: Order, stage: Stage) {
        self.insert(Due { time, order, stage, cycle: u64::MAX });
    }

    /// The transaction of `slot` waits for the bus, behind those that do.
    pub fn wait(&mut self, slot: Slot) {
        self.waiting.push_back(slot);
    }

    /// Takes what is due next.
    #[inline]
    pub fn take(&mut self) -> Option<Due> {
        let due = self.due.pop()?;
        self.has_grant &= due.stage != Stage::Grant;
        Some(due)
    }

    /// Takes the first that waits for the bus.
    pub fn take_waiting(&mut self) -> Option<Slot> {
        self.waiting.pop_front()
    }

    fn insert(&mut self, due: Due) {
        self.has_grant |= due.stage == Stage::Grant;
        let mut place = self.due.len();
        self.due.push(due);
        while place > 0 && (self.due[place - 1].time, self.due[place - 1].order) < (due.time, due.order) {
            self.due.swap(place - 1, place);
            place -= 1;
        }
    }

    #[inline]
    fn next(&self) -> Option<&Due> {
        self.due.last()
    }

    #[inline]
    fn next_time(&self) -> Time {
        self.next().map_or(Time::NEVER, |due| due.time)
    }
}

/// A bus that a hart's port has to itself for a while.
pub struct LentBus<'a> {
    /// The bus.
    pub bus: &'a mut Bus,
    /// What is to come of the hart's transactions.
    pub agenda: &'a mut Agenda,
    /// Numbers events in their order.
    pub order: &'a mut Port,
    /// Before this time nothing happens that is not in the agenda, and there is no other request.
    pub alone: Time,
    /// A bound on the length of a transaction of a free bus.
    pub transaction_max: Time,
    /// Physical addresses below are main memory's.
    pub dram_bytes: u64,
}

/// A bus on loan.
pub(super) struct Lent {
    bus: NonNull<Bus>,
    agenda: NonNull<Agenda>,
    order: NonNull<Port>,
    /// The hart's clock.
    cycles: Cycles,
    alone: Time,
    /// A bound on the time from a free bus's grant to the cycle at which the hart goes on.
    transaction_max: Time,
    dram_bytes: u64,
    /// Something was asked for that is the node's to do, which goes on now.
    is_over: bool,
}

// SAFETY: what is borrowed is the node's whose hart borrows it, and one host thread at a time runs a node.
unsafe impl Send for Lent {}

impl Lent {
    /// # Safety
    /// As long as this lives nothing else may touch what is lent, which must stay where it is.
    pub unsafe fn new(lent: LentBus<'_>, cycles: Cycles) -> Lent {
        let LentBus { bus, agenda, order, alone, transaction_max, dram_bytes } = lent;
        for due in &mut agenda.due {
            due.cycle = cycles.cycle_at(due.time);
        }
        Lent {
            bus: NonNull::from(bus),
            agenda: NonNull::from(agenda),
            order: NonNull::from(order),
            cycles,
            alone,
            // The edges of a clock are rounded to picoseconds.
            transaction_max: transaction_max + cycles.clock().edge(1) + Time(1),
            dram_bytes,
            is_over: false,
        }
    }

    #[inline]
    fn agenda(&self) -> &Agenda {
        // SAFETY: `new` promises that it is there and that nothing else uses it.
        unsafe { self.agenda.as_ref() }
    }

    #[inline]
    pub fn agenda_mut(&mut self) -> &mut Agenda {
        // SAFETY: as in `agenda`.
        unsafe { self.agenda.as_mut() }
    }

    #[inline]
    fn bus(&mut self) -> &mut Bus {
        // SAFETY: as in `agenda`.
        unsafe { self.bus.as_mut() }
    }

    /// The cycle before which nothing of the hart's transactions happens, and the node need not go on.
    #[inline]
    pub fn next_cycle(&self) -> u64 {
        if self.is_over { 0 } else { self.agenda().next().map_or(u64::MAX, |due| due.cycle) }
    }

    /// Takes what is next, if it is before the time at which the hart is no longer alone.
    #[inline]
    pub fn take_next(&mut self) -> Option<Due> {
        if self.is_over || self.agenda().next_time() >= self.alone {
            return None;
        }
        self.agenda_mut().take()
    }

    /// At `cycle` the hart is still alone.
    #[inline]
    pub fn is_alone_at(&self, cycle: u64) -> bool {
        self.cycles.time_of(cycle) < self.alone
    }

    pub fn schedule(&mut self, time: Time, class: Class, stage: Stage) {
        let cycle = self.cycles.cycle_at(time);
        self.schedule_at(cycle, time, class, stage);
    }

    /// The same; `cycle`: the hart's first that starts at `time` or later.
    #[inline]
    fn schedule_at(&mut self, cycle: u64, time: Time, class: Class, stage: Stage) {
        // SAFETY: as in `agenda`.
        let order = unsafe { self.order.as_mut() }.next(class);
        self.agenda_mut().insert(Due { time, order, stage, cycle });
    }

    pub fn schedule_grant(&mut self, now: Time) {
        if !self.agenda().waiting.is_empty() && !self.agenda().has_grant {
            let grant = self.bus().grant_at(now);
            self.schedule(grant, Class::Bus, Stage::Grant);
        }
    }

    /// What is in `slot` is asked for at `now`.
    pub fn request(&mut self, slot: Slot, now: Time) {
        self.agenda_mut().wait(slot);
        self.schedule_grant(now);
    }

    /// Takes `request`, made at `cycle` for `slot`, if that is not the node's to do. `l2`: cycles until the L2 has given a
    /// line.
    pub fn take(&mut self, cycle: u64, slot: Slot, request: Request, l2: u64) -> bool {
        let at = self.cycles.time_of(cycle);
        if !self.is_alone_at(cycle) || !request.is_of_memory(self.dram_bytes) {
            self.is_over = true;
            return false;
        }
        if request == Request::OwnFromL2 {
            self.schedule_at(cycle + l2, self.cycles.time_of(cycle + l2), Class::Bus, Stage::Done(slot));
        } else if self.agenda().next_time() > at {
            self.request(slot, at);
        } else {
            self.schedule_at(cycle, at, Class::Request, Stage::Request(slot));
        }
        true
    }

    /// The transaction of `request`, which moves so many bytes, for reading or writing, is granted at `now`: when it is over.
    pub fn place(&mut self, request: Request, (bytes, write): (u32, bool), now: Time) -> Time {
        let responder = if request.is_address_only() { Responder::None } else { Responder::Dram };
        self.bus().place(now, bytes, write, responder).end
    }

    /// Fetches the `bytes` of `line`, asked for at `cycle`, if that is over before anything else happens, also for the hart,
    /// which goes on at the next of its cycles, and if `may` says so: the cycles of the grant and of the end.
    #[inline]
    pub fn fetch(
        &mut self,
        line: u64,
        bytes: u32,
        cycle: u64,
        may: impl FnOnce() -> bool,
    ) -> Option<(u64, u64)> {
        let next = self.alone.min(self.agenda().next_time());
        let before = next.0.saturating_sub(self.transaction_max.0);
        let at = self.cycles.time_of(cycle);
        let grant = self.bus().grant_at(at);
        if grant.0 >= before || line >= self.dram_bytes || !self.bus().is_free(grant) || !may() {
            return None;
        }
        let end = self.bus().place(grant, bytes, false, Responder::Dram).end;
        Some((self.cycles.cycle_at(grant), self.cycles.cycle_at(end)))
    }
}

/// What came of a wait for the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outwaited {
    /// Something is finished: the access is tried again.
    Again,
    /// The same, but the node comes first.
    AfterNode,
    /// It is the node's to go on.
    No,
}

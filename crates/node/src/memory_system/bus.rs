//! A bus that all caches snoop: who uses it, and what transactions do.
//!
//! Address tenures are granted in the order of requests. At its grant a transaction has its place in the order, for all
//! caches and devices. Who may be granted when, of several harts that want one line: `coherence.rs`.

use std::collections::VecDeque;

use chasqui_counters::{Counters, Visitor};
use chasqui_engine::{Event, Outbox, Payload, Port, Time};
use chasqui_memory::{
    Agenda, Bus, Due, Incoming, LentBus, Request, Responder, Slot, Snoop, Snooped, Stage, Stashed, Stored,
    Tenure,
};
use chasqui_ni::{BusOperation, BusRequest};
use chasqui_placement::ProcessId;

use super::{Client, Effect, MemorySystem};
use crate::events::{Target, Urgency};
use crate::io::Access;
use crate::parameters::NodeConfiguration;
use crate::parts::Parts;

/// What happens on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BusEvent {
    /// The next address tenure begins.
    Grant,
    /// A transaction is over; for an uncached load, with its value.
    Done(Client, u64),
}

impl From<BusEvent> for Payload {
    fn from(event: BusEvent) -> Payload {
        match event {
            BusEvent::Grant => [0, 0],
            BusEvent::Done(client, value) => [u64::from(client) << 8 | 1, value],
        }
    }
}

impl From<Payload> for BusEvent {
    fn from([word, value]: Payload) -> BusEvent {
        match word & 1 {
            0 => BusEvent::Grant,
            _ => BusEvent::Done((word >> 8).into(), value),
        }
    }
}

/// What comes of a grant.
enum Granted {
    /// The transaction takes so long; for an uncached load, with its value.
    For(Tenure, u64),
    /// The device has it retried: it is asked for again at that time.
    Retry(Time),
    /// It is on its way to the device, which will answer.
    Sent,
}

/// A memory system with a [`Bus`] that all caches of the node snoop.
pub struct SnoopingBus {
    pub(super) bus: Bus,
    pub(super) waiting: VecDeque<Client>,
    /// The time of the next grant, an event to come.
    grant: Option<Time>,
    /// While a hart runs that is alone: what is to come of its transactions. Then nothing waits here.
    agenda: Agenda,
    l2_cycles: u64,
    pub(super) reservation_cycles: u64,
    /// Physical addresses below are main memory's.
    dram_bytes: u64,
    transaction_max: Time,
}

impl SnoopingBus {
    /// The idle bus of a node with these parameters.
    pub fn new(c: &NodeConfiguration) -> SnoopingBus {
        SnoopingBus {
            bus: Bus::new(c.bus.clone(), c.dram.clone()),
            waiting: VecDeque::new(),
            grant: None,
            agenda: Agenda::default(),
            l2_cycles: c.l2.latency.cycles(),
            reservation_cycles: c.order.reservation.cycles(),
            dram_bytes: c.dram.size.bytes(),
            transaction_max: c.transaction_max(),
        }
    }

    fn schedule_grant(&mut self, parts: &mut Parts, now: Time) {
        if self.grant.is_none() && !self.waiting.is_empty() {
            self.grant_at(parts, self.bus.grant_at(now));
        }
    }

    fn grant_at(&mut self, parts: &mut Parts, at: Time) {
        let urgency = match self.waiting.front() {
            Some(Client::Hart(..)) => Urgency::Slow,
            _ => Urgency::Prompt,
        };
        self.grant = Some(at);
        parts.schedule(at, urgency, BusEvent::Grant.into());
    }

    /// The transaction of `client` is over at `at`.
    fn done_at(&mut self, parts: &mut Parts, client: Client, value: u64, at: Time) {
        // A device hears of it after its way.
        let (urgency, way) = match client {
            Client::Hart(..) => (Urgency::Slow, Time::ZERO),
            Client::Device(name) => (Urgency::Prompt, parts.way_to_device(name)),
        };
        parts.schedule(at + way, urgency, BusEvent::Done(client, value).into());
    }

    /// The port of hart `index` may have made requests.
    #[inline(always)]
    fn collect(&mut self, parts: &mut Parts, index: usize, out: &mut Outbox<'_>) {
        if parts.harts[index].hart.port.wants_bus() {
            self.take_requests(parts, index, out);
        }
    }

    /// The next address tenure begins.
    fn grant_next(&mut self, parts: &mut Parts, now: Time, out: &mut Outbox<'_>) {
        if parts.harts.is_several()
            && let Some(later) = self.held_until(parts, now)
        {
            return self.grant_at(parts, later);
        }
        self.grant = None;
        let client = self.waiting.pop_front().expect("a grant is for somebody");
        match self.grant(parts, client, now, out) {
            Granted::For(tenure, value) => self.done_at(parts, client, value, tenure.end),
            Granted::Retry(at) => parts.ask(client, at),
            Granted::Sent => {}
        }
        self.schedule_grant(parts, now);
        if let Client::Hart(hart, _) = client {
            // A line that was replaced asks for its write-back now.
            self.collect(parts, usize::from(hart), out);
        }
    }

    /// Nothing comes before a request that hart `index` makes at `at`. Of several harts others may.
    fn is_next(parts: &Parts, index: usize, at: Time, limit: Time) -> bool {
        let is_first = parts.events.next_time() > at && limit > at;
        is_first && (!parts.harts.is_several() || parts.harts.others_ready(index) > at)
    }

    /// Nothing comes between a request of hart `index` made at `at` and its grant, and what the hart may do until then
    /// does not change it. Of several harts none does anything until the transaction is over, as far as a bound on its
    /// length tells.
    fn is_granted_next(
        &self,
        parts: &Parts,
        (index, slot): (usize, Slot),
        request: Request,
        at: Time,
        limit: Time,
    ) -> bool {
        let is_store = matches!(request, Request::UncachedStore { .. } | Request::DirectStore { .. });
        let is_settled = slot == Slot::Blocking || is_store;
        if !is_settled || self.grant.is_some() || !self.waiting.is_empty() {
            return false;
        }
        let grant = self.bus.grant_at(at);
        let several = parts.harts.is_several();
        let until = if several { grant + self.transaction_max } else { grant };
        parts.events.next_time() > until
            && limit > until
            && (!several || slot == Slot::Blocking && parts.harts.is_left_alone(index, until))
    }

    /// A transaction is granted at once, and finished if nothing happens until then, not even in the hart: what three events
    /// would do.
    fn serve_now(&mut self, parts: &mut Parts, client: Client, at: Time, out: &mut Outbox<'_>) {
        let granted = self.bus.grant_at(at);
        let (tenure, value) = match self.grant(parts, client, granted, out) {
            Granted::For(tenure, value) => (tenure, value),
            Granted::Retry(at) => return parts.ask(client, at),
            Granted::Sent => return,
        };
        let waits = matches!(client, Client::Hart(_, Slot::Blocking));
        let is_alone = parts.events.next_time() > tenure.end && out.limit() > tenure.end;
        if waits && is_alone && self.waiting.is_empty() {
            self.done(parts, client, value, tenure.end, out);
        } else {
            self.done_at(parts, client, value, tenure.end);
        }
    }

    /// The transaction of `client` takes its place in the order: caches change, data move.
    fn grant(&mut self, parts: &mut Parts, client: Client, now: Time, out: &mut Outbox<'_>) -> Granted {
        match client {
            Client::Hart(hart, slot) => self.grant_hart(parts, (usize::from(hart), slot), now, out),
            Client::Device(name) => {
                parts.before_visible_event(Some(&mut self.bus), now, now);
                Granted::For(self.grant_device(parts, name, now, out), 0)
            }
        }
    }

    /// A load from a device that is behind a link: the bus is taken for the address.
    fn grant_remote_load(
        &mut self,
        parts: &mut Parts,
        (index, slot): (usize, Slot),
        (device, load): (usize, Access),
        now: Time,
        out: &mut Outbox<'_>,
    ) {
        let Access::Load { bytes, .. } = load else { unreachable!("a load") };
        let end = self.bus.place(now, bytes, false, Responder::None).end;
        parts.granted(index, slot, Snooped::default(), now);
        parts.leave_for_device((device, index), slot, load, end, out);
    }

    /// The access to `device` is granted at `now`, so far as the device's place decides what comes of it.
    fn grant_access(
        &mut self,
        parts: &mut Parts,
        (index, slot): (usize, Slot),
        (device, access): (usize, Access),
        now: Time,
        out: &mut Outbox<'_>,
    ) -> Option<Granted> {
        if parts.io.way(device) > Time::ZERO {
            if matches!(access, Access::Load { .. }) {
                self.grant_remote_load(parts, (index, slot), (device, access), now, out);
                return Some(Granted::Sent);
            }
            let from = parts.io.held_back((device, index))?;
            return Some(Granted::Retry(self.bus.place(now, 0, false, Responder::None).end.max(from)));
        }
        // A device on the bus may have it retried.
        let after = parts.refused((device, index), &access, now, out)?;
        Some(Granted::Retry(self.bus.place(now, 0, false, Responder::None).end + after))
    }

    fn grant_hart(
        &mut self,
        parts: &mut Parts,
        (index, slot): (usize, Slot),
        now: Time,
        out: &mut Outbox<'_>,
    ) -> Granted {
        let several = parts.harts.is_several();
        let Some(request) = parts.harts[index].hart.port.current(slot) else {
            return Granted::For(Tenure { grant: now, address_end: now, end: now }, 0);
        };
        let access = parts.io.access(&parts.harts, index, slot);
        if let Some(access) = access
            && let Some(granted) = self.grant_access(parts, (index, slot), access, now, out)
        {
            return granted;
        }
        let mut value = 0;
        let found = if several { snoop_others(parts, index, request, now) } else { Snooped::default() };
        let request = request.answered(found);
        let (bytes, write) = parts.harts[index].hart.port.transfer(request);
        let responder = match request {
            request if request.is_address_only() => Responder::None,
            Request::Fill { .. }
            | Request::Own { .. }
            | Request::DirectLoad { .. }
            | Request::DirectStore { .. }
                if found.dirty =>
            {
                Responder::Cache
            }
            Request::Fill { line, .. }
            | Request::Own { line, .. }
            | Request::NetworkFill { line }
            | Request::DirectLoad { address: line, .. } => memory_responder(parts, line, false),
            Request::WriteBack { line, .. } | Request::DirectStore { address: line, .. } => {
                memory_responder(parts, line, true)
            }
            Request::OwnFromL2 | Request::Block { .. } => unreachable!("it has no data"),
            Request::UncachedStore { .. } | Request::Store64 { .. } => Responder::Device(Time::ZERO),
            Request::UncachedLoad { .. } => {
                let (device, load) = access.expect("a load");
                let reply = parts.make_access((device, index), load, now, out).expect("a load has a reply");
                value = reply.value;
                if !reply.repeatable {
                    parts.harts[index].hart.port.disturb();
                }
                Responder::Device(reply.latency)
            }
        };
        let tenure = self.bus.place(now, bytes, write, responder);
        parts.granted(index, slot, found, now);
        if several && slot == Slot::Blocking {
            parts.fills(index, request, tenure.end);
        }
        Granted::For(tenure, value)
    }

    /// A message comes into the network cache of a hart, that of `process`.
    fn grant_deposit(
        &mut self,
        parts: &mut Parts,
        (name, request): (u32, BusRequest),
        (process, incoming): (ProcessId, Incoming),
        now: Time,
        out: &mut Outbox<'_>,
    ) -> Tenure {
        let responder = memory_responder(parts, request.address, true);
        let tenure = self.bus.place(now, request.bytes, true, responder);
        parts.device_granted(name, now, out);
        let index = parts.os.hart_of(process);
        let hart = &mut parts.harts[index].hart;
        let cycle = hart.cycle_at(now);
        hart.port.deposit(incoming, Stored { buffer: request.address, bytes: request.bytes }, cycle);
        self.collect(parts, index, out);
        tenure
    }

    /// A write that the L2 of hart `index` is to take. `None`: it goes to memory.
    fn grant_stash(
        &mut self,
        parts: &mut Parts,
        index: usize,
        (name, request): (u32, BusRequest),
        now: Time,
        out: &mut Outbox<'_>,
    ) -> Option<Tenure> {
        let (address, bytes) = (request.address, request.bytes);
        let mut found = Snooped::default();
        for core in parts.harts.others(index) {
            found = found.or(core.hart.port.snoop(Snoop::Invalidate, address, bytes));
        }
        if found.dirty {
            return None;
        }
        let hart = &mut parts.harts[index].hart;
        let (line_bytes, cycle) = (hart.port.bus_line_bytes(true), hart.cycle_at(now));
        let tenure = match hart.port.stash(address, bytes, cycle) {
            Stashed::Refused => return None,
            Stashed::Taken => self.bus.place(now, bytes, true, Responder::Device(Time::ZERO)),
            // Its data are on the bus while the DRAM fetches the rest.
            Stashed::Merged => {
                let responder = memory_responder(parts, address, false);
                self.bus.place(now, line_bytes, false, responder)
            }
        };
        parts.device_granted(name, now, out);
        self.collect(parts, index, out);
        Some(tenure)
    }

    fn grant_device(&mut self, parts: &mut Parts, name: u32, now: Time, out: &mut Outbox<'_>) -> Tenure {
        let (_, request) = parts.device_request(name);
        if let BusOperation::Stash(process) = request.operation {
            let index = parts.os.hart_of(process);
            if let Some(tenure) = self.grant_stash(parts, index, (name, request), now, out) {
                return tenure;
            }
        }
        if let BusOperation::Deposit(process, incoming) = request.operation {
            return self.grant_deposit(parts, (name, request), (process, incoming), now, out);
        }
        let snoop = match request.operation {
            BusOperation::Read => Snoop::Read,
            _ => Snoop::Invalidate,
        };
        let mut found = Snooped::default();
        for core in parts.harts.iter_mut() {
            found = found.or(core.hart.port.snoop(snoop, request.address, request.bytes));
        }
        let write = matches!(request.operation, BusOperation::Write | BusOperation::Stash(_));
        let responder = match request.operation {
            BusOperation::Invalidate if !found.dirty => Responder::None,
            _ if found.dirty => Responder::Cache,
            _ => memory_responder(parts, request.address, write),
        };
        let tenure = self.bus.place(now, request.bytes, write, responder);
        parts.device_granted(name, now, out);
        tenure
    }

    fn done(&mut self, parts: &mut Parts, client: Client, value: u64, now: Time, out: &mut Outbox<'_>) {
        match client {
            Client::Hart(index, slot) => {
                let index = usize::from(index);
                parts.finish((index, slot), Some(value), now, out);
                self.collect(parts, index, out);
            }
            Client::Device(name) => {
                parts.before_visible_event(Some(&mut self.bus), now, now);
                parts.device_done(name, now, out);
            }
        }
    }
}

/// Who holds the memory at `address`.
fn memory_responder(parts: &Parts, address: u64, write: bool) -> Responder {
    parts.io.memory_latency(address, write).map_or(Responder::Dram, Responder::Device)
}

/// The transaction that hart `index` asked for with `request` snoops the caches of the others.
fn snoop_others(parts: &mut Parts, index: usize, request: Request, now: Time) -> Snooped {
    let mut found = Snooped::default();
    let Some(asked) = parts.harts[index].hart.port.asks(request) else { return found };
    for other in (0..parts.harts.started()).filter(|&other| other != index) {
        found = found.or(parts.snoop(Some(index), other, asked, now));
    }
    found
}

impl MemorySystem for SnoopingBus {
    fn take_requests(&mut self, parts: &mut Parts, index: usize, out: &mut Outbox<'_>) {
        while let Some((cycle, slot, request)) = parts.take_request(index) {
            let client = Client::hart(index, slot);
            let hart = &parts.harts[index].hart;
            let at = hart.time_of(cycle);
            if request == Request::OwnFromL2 {
                let end = hart.time_of(cycle + self.l2_cycles);
                self.done_at(parts, client, 0, end);
            } else if !hart.port.is_timed() {
                parts.serve_untimed(index, (cycle, slot, request), out);
            } else if self.is_granted_next(parts, (index, slot), request, at, out.limit()) {
                self.serve_now(parts, client, at, out);
            } else if Self::is_next(parts, index, at, out.limit()) {
                // Nothing comes before the request: it can be noted at once.
                self.request(parts, client, at, out);
            } else {
                parts.ask(client, at);
            }
        }
    }

    fn request(&mut self, parts: &mut Parts, client: Client, now: Time, _: &mut Outbox<'_>) {
        self.waiting.push_back(client);
        self.schedule_grant(parts, now);
    }

    fn event(&mut self, parts: &mut Parts, payload: Payload, now: Time, out: &mut Outbox<'_>) {
        match payload.into() {
            BusEvent::Grant => self.grant_next(parts, now, out),
            BusEvent::Done(client, value) => self.done(parts, client, value, now, out),
        }
    }

    fn effect(&self, parts: &Parts, payload: Payload) -> Effect {
        let client = match payload.into() {
            BusEvent::Done(client, _) => Some(client),
            BusEvent::Grant => self.waiting.front().copied(),
        };
        let is_over = matches!(payload.into(), BusEvent::Done(..));
        match client {
            Some(Client::Device(name)) => Effect::Device(name),
            // From the end of a posted store, or of one that is answered, there is only the way to the device.
            Some(Client::Hart(_, Slot::Posted)) if is_over => Effect::Access(parts.io.attach),
            Some(Client::Hart(index, Slot::Blocking)) if is_over && parts.is_store(index) => {
                Effect::Access(parts.io.attach)
            }
            _ => Effect::Access(parts.store_latency()),
        }
    }

    fn waiting(&self, _: &Parts, visit: &mut dyn FnMut(u32, Time)) {
        let Some(grant) = self.grant else { return };
        for client in &self.waiting {
            if let &Client::Device(name) = client {
                visit(name, grant);
            }
        }
    }

    fn announce(&mut self, parts: &mut Parts, payload: Payload, now: Time) -> bool {
        matches!(payload.into(), BusEvent::Grant) && self.announce_grant(parts, now)
    }

    fn undisturbed(&self, parts: &Parts, index: usize) -> Time {
        let is_own = |client: Client| matches!(client, Client::Hart(hart, _) if usize::from(hart) == index);
        let concerns = |event: &&Event| match Target::from(event.target) {
            Target::Request => is_own(event.payload.into()),
            Target::MemorySystem => match event.payload.into() {
                BusEvent::Done(client, _) => is_own(client),
                BusEvent::Grant => self.waiting.iter().any(|&client| is_own(client)),
            },
            _ => false,
        };
        let events = parts.events.slow().iter().filter(concerns);
        events.map(|event| event.time).fold(Time::NEVER, Time::min)
    }

    fn bus(&self) -> Option<&Bus> {
        Some(&self.bus)
    }

    fn bus_mut(&mut self) -> Option<&mut Bus> {
        Some(&mut self.bus)
    }

    fn take_events(&mut self, parts: &mut Parts, index: usize) {
        debug_assert!(self.agenda.is_empty());
        let port = &parts.harts[index].hart.port;
        let is_harts = |client: &Client| matches!(client, Client::Hart(..));
        if parts.events.slow().is_empty()
            || !self.waiting.iter().all(is_harts)
            || !port.uses_memory_only(self.dram_bytes)
        {
            return;
        }
        let slot = |client| {
            let Client::Hart(_, slot) = client else { unreachable!("a device's events are prompt") };
            slot
        };
        self.waiting.drain(..).for_each(|client| self.agenda.wait(slot(client)));
        parts.events.take_slow_of_memory(|target, event| {
            let stage = match target {
                Target::Request => Stage::Request(slot(event.payload.into())),
                _ => match event.payload.into() {
                    BusEvent::Grant => Stage::Grant,
                    BusEvent::Done(client, _) => Stage::Done(slot(client)),
                },
            };
            self.agenda.add(event.time, event.order, stage);
        });
        self.grant = None;
    }

    fn return_events(&mut self, parts: &mut Parts, index: usize) {
        let client = |slot| Client::hart(index, slot);
        while let Some(Due { time, order, stage, .. }) = self.agenda.take() {
            let (target, payload) = match stage {
                Stage::Request(slot) => (Target::Request, client(slot).into()),
                Stage::Grant => (Target::MemorySystem, BusEvent::Grant.into()),
                Stage::Done(slot) => (Target::MemorySystem, BusEvent::Done(client(slot), 0).into()),
            };
            if stage == Stage::Grant {
                self.grant = Some(time);
            }
            parts.events.put_back(time, order, target, payload);
        }
        while let Some(slot) = self.agenda.take_waiting() {
            self.waiting.push_back(client(slot));
        }
    }

    /// Then the bus is the hart's; unless others wait for it.
    fn lend<'a>(&'a mut self, order: &'a mut Port, alone: Time) -> Option<LentBus<'a>> {
        let alone = if self.waiting.is_empty() { alone } else { Time::ZERO };
        let SnoopingBus { bus, agenda, transaction_max, dram_bytes, .. } = self;
        let (transaction_max, dram_bytes) = (*transaction_max, *dram_bytes);
        Some(LentBus { bus, agenda, order, alone, transaction_max, dram_bytes })
    }

    fn transaction_max(&self) -> Time {
        self.transaction_max
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        self.bus.statistics.visit(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_the_round_trip() {
        for client in [Client::Hart(63, Slot::Posted), Client::Device(70_000)] {
            for event in [BusEvent::Grant, BusEvent::Done(client, 0), BusEvent::Done(client, u64::MAX)] {
                assert_eq!(BusEvent::from(Payload::from(event)), event);
            }
        }
    }
}

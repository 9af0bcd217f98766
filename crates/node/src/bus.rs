//! The node's bus: who uses it, and what transactions do. What harts do at the NI is in `attach.rs`.

use chasqui_engine::{Class, Outbox, Payload, Time};
use chasqui_hart::Hart;
use chasqui_memory::{
    DEVICE_BASE, Incoming, Request, Responder, Slot, Snoop, Snooped, Stashed, Stored, Tenure,
};
use chasqui_ni::{BusOperation, BusRequest, Reply, Uncached};

use crate::attach::Access;
use crate::node::{Node, Target};

/// Who asks for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// A slot of a hart's port.
    Hart(u8, Slot),
    /// A transaction of the NI, by its place in `Node::ni_requests`.
    Ni(u32),
}

/// What happens on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BusEvent {
    /// A client asks.
    Request(Client),
    /// The next address tenure begins.
    Grant,
    /// A transaction is over; for an uncached load, with its value.
    Done(Client, u64),
    /// What the NI answers to a hart's access, whose transaction was over before, is here.
    Answer(Client, u64),
    /// The oldest access on the way to the NI is there.
    Arrive,
}

const _: () = assert!(size_of::<BusEvent>() <= 24);

/// What comes of a grant.
enum Granted {
    /// The transaction takes so long; for an uncached load, with its value.
    For(Tenure, u64),
    /// The NI has it retried: it is asked for again at that time.
    Retry(Time),
    /// It is on its way to the NI, which will answer.
    Sent,
}

const SLOTS: [Slot; 3] = [Slot::Blocking, Slot::WriteBuffer, Slot::Posted];

impl From<BusEvent> for Payload {
    fn from(event: BusEvent) -> Payload {
        let client = |c: Client| match c {
            Client::Hart(hart, slot) => slot as u64 | u64::from(hart) << 16,
            Client::Ni(index) => 1 << 8 | u64::from(index) << 16,
        };
        match event {
            BusEvent::Request(c) => [client(c) << 8, 0],
            BusEvent::Grant => [1, 0],
            BusEvent::Done(c, value) => [client(c) << 8 | 2, value],
            BusEvent::Answer(c, value) => [client(c) << 8 | 3, value],
            BusEvent::Arrive => [4, 0],
        }
    }
}

impl From<Payload> for BusEvent {
    fn from([a, value]: Payload) -> BusEvent {
        let client = match a >> 16 & 1 {
            0 => Client::Hart((a >> 24) as u8, SLOTS[(a >> 8 & 3) as usize]),
            _ => Client::Ni((a >> 24) as u32),
        };
        match a & 0xff {
            0 => BusEvent::Request(client),
            1 => BusEvent::Grant,
            2 => BusEvent::Done(client, value),
            3 => BusEvent::Answer(client, value),
            _ => BusEvent::Arrive,
        }
    }
}

impl Node {
    pub(crate) fn bus_event(&mut self, event: BusEvent, now: Time, out: &mut Outbox<'_>) {
        match event {
            BusEvent::Request(client) => {
                self.waiting_for_bus.push_back(client);
                self.schedule_grant(now);
            }
            BusEvent::Grant => {
                if self.processor.is_several()
                    && let Some(later) = self.held_until(now)
                {
                    return self.schedule(later, Class::Bus, Target::Bus, BusEvent::Grant.into());
                }
                self.grant_scheduled = false;
                let client = self.waiting_for_bus.pop_front().expect("a grant is for somebody");
                match self.grant(client, now, out) {
                    Granted::For(tenure, value) => {
                        let done = BusEvent::Done(client, value);
                        let at = tenure.end + self.to_client(client);
                        self.schedule(at, Class::Bus, Target::Bus, done.into());
                    }
                    Granted::Retry(at) => self.ask_again(client, at),
                    Granted::Sent => {}
                }
                if let Client::Hart(hart, _) = client {
                    // A line that was replaced asks for its write-back now.
                    self.collect_requests(usize::from(hart), out);
                }
                self.schedule_grant(now);
            }
            BusEvent::Done(client, value) => self.done(client, value, now, out),
            BusEvent::Answer(client, value) => self.complete(client, value, now, out),
            BusEvent::Arrive => self.arrive(now, out),
        }
    }

    /// From the end of a transaction to its client.
    fn to_client(&self, client: Client) -> Time {
        if matches!(client, Client::Ni(_)) { self.attach } else { Time::ZERO }
    }

    fn schedule_grant(&mut self, now: Time) {
        if !self.grant_scheduled && !self.waiting_for_bus.is_empty() {
            self.grant_scheduled = true;
            let at = self.bus.grant_at(now);
            self.schedule(at, Class::Bus, Target::Bus, BusEvent::Grant.into());
        }
    }

    /// Takes the requests that the port of hart `index` has made, if any.
    #[inline(always)]
    pub(crate) fn collect_requests(&mut self, index: usize, out: &mut Outbox<'_>) {
        if self.processor.threads[index].hart.port.wants_bus() {
            self.take_requests(index, out);
        }
    }

    fn take_requests(&mut self, index: usize, out: &mut Outbox<'_>) {
        loop {
            let hart = &mut self.processor.threads[index].hart;
            let Some((cycle, slot, request)) = hart.port.take_request() else { return };
            let (at, is_timed) = (hart.time_of(cycle), hart.port.is_timed());
            let client = Client::Hart(index as u8, slot);
            if !is_timed {
                self.serve_untimed(index, slot, request, out);
            } else if request == Request::OwnFromL2 {
                let end = hart.time_of(cycle + self.l2_cycles);
                self.schedule(end, Class::Bus, Target::Bus, BusEvent::Done(client, 0).into());
            } else if self.is_granted_next(index, slot, request, at, out.limit()) {
                self.serve_now(client, at, out);
            } else if self.is_next(at, out.limit()) {
                // Nothing comes before the request: it can be noted at once.
                self.bus_event(BusEvent::Request(client), at, out);
            } else {
                self.schedule(at, Class::Request, Target::Bus, BusEvent::Request(client).into());
            }
        }
    }

    #[inline]
    fn hart(&mut self, index: usize) -> &mut Hart {
        &mut self.processor.threads[index].hart
    }

    /// Nothing comes before a request that a hart makes at `at`. Of several harts others may.
    fn is_next(&self, at: Time, limit: Time) -> bool {
        self.next_event() > at && limit > at && !self.processor.is_several()
    }

    /// Nothing comes between a request of hart `index` made at `at` and its grant, and what the hart may do until then
    /// does not change it. Of several harts none does anything until the transaction is over, as far as a bound on its
    /// length tells.
    fn is_granted_next(&self, index: usize, slot: Slot, request: Request, at: Time, limit: Time) -> bool {
        let is_settled = slot == Slot::Blocking || matches!(request, Request::UncachedStore { .. });
        if !is_settled || self.grant_scheduled || !self.waiting_for_bus.is_empty() {
            return false;
        }
        let grant = self.bus.grant_at(at);
        let several = self.processor.is_several();
        let until = if several { grant + self.transaction_max } else { grant };
        self.next_event() > until
            && limit > until
            && (!several || slot == Slot::Blocking && self.processor.is_left_alone(index, until))
    }

    /// A transaction is granted at once, and finished if nothing happens until then, not even in the hart: what three events
    /// would do.
    fn serve_now(&mut self, client: Client, at: Time, out: &mut Outbox<'_>) {
        let granted = self.bus.grant_at(at);
        let (tenure, value) = match self.grant(client, granted, out) {
            Granted::For(tenure, value) => (tenure, value),
            Granted::Retry(at) => return self.ask_again(client, at),
            Granted::Sent => return,
        };
        let waits = matches!(client, Client::Hart(_, Slot::Blocking));
        let is_alone = self.next_event() > tenure.end && out.limit() > tenure.end;
        if waits && is_alone && self.waiting_for_bus.is_empty() {
            self.done(client, value, tenure.end, out);
        } else {
            self.schedule(tenure.end, Class::Bus, Target::Bus, BusEvent::Done(client, value).into());
        }
    }

    /// `client`, whose transaction was retried, asks again at `at`.
    fn ask_again(&mut self, client: Client, at: Time) {
        self.schedule(at, Class::Request, Target::Bus, BusEvent::Request(client).into());
    }

    /// An access of hart `index` to a device in a call that takes no time.
    fn serve_untimed(&mut self, index: usize, slot: Slot, request: Request, out: &mut Outbox<'_>) {
        let now = self.hart(index).now();
        match request {
            Request::UncachedLoad { address, bytes } => {
                let at = address - DEVICE_BASE;
                if let Some(after) = self.with_ni(index, now, out, |ni, c| ni.retry(c, at, Uncached::Load)) {
                    return self.ask_again(Client::Hart(index as u8, slot), now + after);
                }
                let reply = self.with_ni(index, now, out, |ni, c| ni.read(c, at, bytes));
                self.answer_untimed(index, slot, reply, now);
            }
            Request::Store64 { address, answered } => {
                let words = self.hart(index).port.burst(Slot::Blocking);
                let at = address - DEVICE_BASE;
                let reply = self.with_ni(index, now, out, |ni, c| ni.store_64(c, at, &words, answered));
                if answered {
                    self.answer_untimed(index, slot, reply, now);
                }
            }
            Request::UncachedStore { address, bytes, value } => {
                self.with_ni(index, now, out, |ni, c| ni.write(c, address - DEVICE_BASE, bytes, value));
            }
            other => {
                // Made before the call began: it takes its time.
                let cycle = self.hart(index).cycle;
                let at = self.hart(index).time_of(cycle);
                debug_assert!(!matches!(other, Request::Fill { .. }));
                let client = Client::Hart(index as u8, slot);
                self.schedule(at, Class::Request, Target::Bus, BusEvent::Request(client).into());
            }
        }
    }

    fn answer_untimed(&mut self, index: usize, slot: Slot, reply: Reply, now: Time) {
        let thread = &mut self.processor.threads[index];
        if !reply.repeatable {
            thread.hart.port.disturb();
        }
        let cycle = thread.hart.cycle;
        thread.hart.port.completed(slot, reply.value, cycle);
        thread.wake(now);
    }

    /// The transaction of `client` takes its place in the order: caches change, data move.
    fn grant(&mut self, client: Client, now: Time, out: &mut Outbox<'_>) -> Granted {
        match client {
            Client::Hart(hart, slot) => self.grant_hart(usize::from(hart), slot, now, out),
            Client::Ni(index) => {
                self.observable(now, now);
                Granted::For(self.grant_ni(self.ni_requests[index as usize], now, out), 0)
            }
        }
    }

    /// When the access of hart `index` is made again, if an NI on the bus has it retried.
    fn retried(&mut self, index: usize, access: &Access, now: Time, out: &mut Outbox<'_>) -> Option<Time> {
        if self.attach > Time::ZERO {
            return None;
        }
        let after = self.refused(index, access, now, out)?;
        Some(self.bus.place(now, 0, false, Responder::None).end + after)
    }

    /// A load from an NI that is behind a link: the bus is taken for the address.
    fn grant_remote_load(&mut self, index: usize, slot: Slot, load: Access, now: Time, out: &mut Outbox<'_>) {
        let Access::Load { bytes, .. } = load else { unreachable!("a load") };
        let end = self.bus.place(now, bytes, false, Responder::None).end;
        let hart = self.hart(index);
        let cycle = hart.cycle_at(now);
        hart.port.granted(slot, Snooped::default(), cycle);
        self.leave_bus(index, slot, load, end, out);
    }

    fn grant_hart(&mut self, index: usize, slot: Slot, now: Time, out: &mut Outbox<'_>) -> Granted {
        let several = self.processor.is_several();
        let port = &self.processor.threads[index].hart.port;
        let Some(request) = port.current(slot) else {
            return Granted::For(Tenure { grant: now, address_end: now, end: now }, 0);
        };
        if let Some(access) = self.access(index, slot) {
            if let Some(at) = self.retried(index, &access, now, out) {
                return Granted::Retry(at);
            }
            if self.attach > Time::ZERO && matches!(access, Access::Load { .. }) {
                self.grant_remote_load(index, slot, access, now, out);
                return Granted::Sent;
            }
        }
        let mut value = 0;
        let found = if several { self.snoop_others(index, request, now) } else { Snooped::default() };
        let request = request.answered(found);
        let (bytes, write) = self.hart(index).port.transfer(request);
        let responder = match request {
            Request::Own { upgrade: true, .. }
            | Request::OwnFromL2
            | Request::Block { .. }
            | Request::WriteBack { bytes: 0, .. } => Responder::None,
            Request::Fill { .. } | Request::Own { .. } if found.dirty => Responder::Cache,
            Request::Fill { line, .. } | Request::Own { line, .. } | Request::NetworkFill { line } => {
                self.memory_responder(line, false)
            }
            Request::WriteBack { line, .. } => self.memory_responder(line, true),
            Request::UncachedStore { .. } | Request::Store64 { .. } => Responder::Device(Time::ZERO),
            Request::UncachedLoad { address, bytes } => {
                let reply = self.with_ni(index, now, out, |ni, c| ni.read(c, address - DEVICE_BASE, bytes));
                value = reply.value;
                if !reply.repeatable {
                    self.hart(index).port.disturb();
                }
                Responder::Device(reply.latency)
            }
        };
        let tenure = self.bus.place(now, bytes, write, responder);
        let thread = &mut self.processor.threads[index];
        let cycle = thread.hart.cycle_at(now);
        thread.hart.port.granted(slot, found, cycle);
        if several && slot == Slot::Blocking {
            thread.fills(request, tenure.end);
        }
        Granted::For(tenure, value)
    }

    /// Who holds the memory at `address`. A write to the NI's is over when it leaves the bus.
    fn memory_responder(&self, address: u64, write: bool) -> Responder {
        let link = if write { Time::ZERO } else { self.attach + self.attach };
        self.ni.memory_latency(address).map_or(Responder::Dram, |latency| Responder::Device(latency + link))
    }

    /// A message comes into the network cache of the node's hart, or is announced to it: an address tenure.
    fn grant_deposit(
        &mut self,
        request: BusRequest,
        incoming: Incoming,
        now: Time,
        out: &mut Outbox<'_>,
    ) -> Tenure {
        let responder = match request.bytes {
            0 => Responder::None,
            _ => self.memory_responder(request.address, true),
        };
        let tenure = self.bus.place(now, request.bytes, true, responder);
        self.with_ni(0, now, out, |ni, c| ni.bus_granted(c, request));
        let hart = self.hart(0);
        let cycle = hart.cycle_at(now);
        hart.port.deposit(incoming, Stored { buffer: request.address, bytes: request.bytes }, cycle);
        self.collect_requests(0, out);
        tenure
    }

    /// A write that the L2 of the first hart is to take. `None`: it goes to memory.
    fn grant_stash(&mut self, request: BusRequest, now: Time, out: &mut Outbox<'_>) -> Option<Tenure> {
        let (address, bytes) = (request.address, request.bytes);
        let mut found = Snooped::default();
        for thread in self.processor.others(0) {
            found = found.or(thread.hart.port.snoop(Snoop::Invalidate, address, bytes));
        }
        if found.dirty {
            return None;
        }
        let hart = self.hart(0);
        let (line_bytes, cycle) = (hart.port.bus_line_bytes(true), hart.cycle_at(now));
        let tenure = match hart.port.stash(address, bytes, cycle) {
            Stashed::Refused => return None,
            Stashed::Taken => self.bus.place(now, bytes, true, Responder::Device(Time::ZERO)),
            // Its data are on the bus while the DRAM fetches the rest.
            Stashed::Merged => self.bus.place(now, line_bytes, false, self.memory_responder(address, false)),
        };
        self.with_ni(0, now, out, |ni, c| ni.bus_granted(c, request));
        self.collect_requests(0, out);
        Some(tenure)
    }

    fn grant_ni(&mut self, request: BusRequest, now: Time, out: &mut Outbox<'_>) -> Tenure {
        if request.operation == BusOperation::Stash
            && let Some(tenure) = self.grant_stash(request, now, out)
        {
            return tenure;
        }
        if let BusOperation::Deposit(incoming) = request.operation {
            return self.grant_deposit(request, incoming, now, out);
        }
        let snoop = match request.operation {
            BusOperation::Read => Snoop::Read,
            _ => Snoop::Invalidate,
        };
        let mut found = Snooped::default();
        for thread in self.processor.threads.iter_mut() {
            found = found.or(thread.hart.port.snoop(snoop, request.address, request.bytes));
        }
        let write = matches!(request.operation, BusOperation::Write | BusOperation::Stash);
        let responder = match request.operation {
            BusOperation::Invalidate if !found.dirty => Responder::None,
            _ if found.dirty => Responder::Cache,
            _ => self.memory_responder(request.address, write),
        };
        let tenure = self.bus.place(now, request.bytes, write, responder);
        self.with_ni(0, now, out, |ni, c| ni.bus_granted(c, request));
        tenure
    }

    fn done(&mut self, client: Client, value: u64, now: Time, out: &mut Outbox<'_>) {
        match client {
            Client::Hart(index, slot) => {
                let store =
                    self.access(usize::from(index), slot).filter(|a| !matches!(a, Access::Load { .. }));
                if let Some(store) = store {
                    self.leave_bus(usize::from(index), slot, store, now, out);
                    if store.is_answered() {
                        return;
                    }
                }
                self.complete(client, value, now, out);
            }
            Client::Ni(index) => {
                self.observable(now, now);
                let request = self.ni_requests[index as usize];
                self.free_requests.push(index);
                self.with_ni(0, now, out, |ni, c| ni.bus_done(c, request));
            }
        }
    }

    /// What the port of a hart asked for is finished.
    fn complete(&mut self, client: Client, value: u64, now: Time, out: &mut Outbox<'_>) {
        let Client::Hart(index, slot) = client else { unreachable!("a hart's") };
        let index = usize::from(index);
        let thread = &mut self.processor.threads[index];
        let cycle = thread.hart.cycle_at(now);
        thread.hart.port.completed(slot, value, cycle);
        thread.wake(now);
        self.collect_requests(index, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_the_round_trip() {
        let clients = [
            Client::Hart(0, Slot::Blocking),
            Client::Hart(1, Slot::WriteBuffer),
            Client::Hart(63, Slot::Posted),
            Client::Ni(0),
            Client::Ni(70_000),
        ];
        for client in clients {
            for event in [
                BusEvent::Request(client),
                BusEvent::Done(client, 0),
                BusEvent::Done(client, u64::MAX),
                BusEvent::Answer(client, 1),
            ] {
                assert_eq!(BusEvent::from(Payload::from(event)), event);
            }
        }
        for event in [BusEvent::Grant, BusEvent::Arrive] {
            assert_eq!(BusEvent::from(Payload::from(event)), event);
        }
    }
}

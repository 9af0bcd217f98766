//! The node's memory system: the element interconnect bus, with the memory controller at its end.
//!
//! Every transaction has a command, which gets its place on the command bus. There caches are snooped, and what is about main
//! memory moves. With the answer, and when memory has read what it has to, data ask for a train. At its end the transaction
//! is over. What is about a local store or registers, which no cache holds, moves with the answer, or for the PPE at the
//! train's end.

use chasqui_counters::{Counters, Visitor, below, counters};
use chasqui_element::{Eib, Granted, Train};
use chasqui_engine::{Outbox, Payload, Time};
use chasqui_memory::{Request, Slot, Snoop, Snooped};
use chasqui_ni::{BusOperation, BusRequest};
use chasqui_node::{Client, Effect, MemorySystem, NodeConfiguration, Parts, Urgency};

use crate::parameters::{Chip, Memory, UNIT_IO, UNIT_MEMORY, UNIT_PPE, unit_of_spe};
use crate::wire::{ChipEvent, Target, Wire, name_of, spe_of};

/// Number of the chip among the node's devices.
const CHIP: usize = 0;
/// So long nobody can say when a line that is fetched will have been used.
const FETCHED_MAX: Time = Time(10_000_000);
/// A command for a line that is held is tried again after so many clocks of the bus.
const RETRY_CLOCKS: u64 = 8;
/// No hart's number.
const NO_HART: usize = usize::MAX;

counters! {
    /// Counters of the memory controller, and of what the caches gave in its place.
    struct FabricStatistics {
        /// Reads of main memory.
        reads: "count";
        /// Writes of main memory.
        writes: "count";
        /// Lines that a cache gave to another, or to DMA.
        interventions: "count";
        /// Reservations of MFCs that a store of the PPE ended.
        reservations_lost: "count";
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FabricEvent {
    /// The command has its place.
    Granted(Client),
    /// The snoops have been answered.
    Answered(Client),
    /// Memory has what it was to read.
    Ready(Client),
    /// It is over.
    Done(Client),
    /// The arbiter of the rings may begin with something.
    Arbiter,
}

impl From<FabricEvent> for Payload {
    fn from(event: FabricEvent) -> Payload {
        let (kind, client) = match event {
            FabricEvent::Granted(client) => (0, client.into()),
            FabricEvent::Answered(client) => (1, client.into()),
            FabricEvent::Ready(client) => (2, client.into()),
            FabricEvent::Done(client) => (3, client.into()),
            FabricEvent::Arbiter => (4, 0u64),
        };
        [kind | client << 8, 0]
    }
}

impl From<Payload> for FabricEvent {
    fn from([word, _]: Payload) -> FabricEvent {
        let client = (word >> 8).into();
        match word & 0xff {
            0 => FabricEvent::Granted(client),
            1 => FabricEvent::Answered(client),
            2 => FabricEvent::Ready(client),
            3 => FabricEvent::Done(client),
            _ => FabricEvent::Arbiter,
        }
    }
}

/// A transaction that a device has asked for.
#[derive(Clone, Copy)]
struct OfDevice {
    request: BusRequest,
    spe: usize,
    target: Target,
}

impl OfDevice {
    fn is_read(&self) -> bool {
        matches!(self.request.operation, BusOperation::Read)
    }

    /// The stop at which the other side of it stands.
    fn unit(&self) -> usize {
        match self.target {
            Target::Spe(spe) => unit_of_spe(spe),
            Target::Memory | Target::Nothing => UNIT_MEMORY,
        }
    }
}

/// The bus and what is at its ends.
pub struct Fabric {
    eib: Eib,
    memory: Memory,
    wire: Wire,
    snoop: Time,
    l2_cycles: u64,
    reservation_cycles: u64,
    /// The arbiter's next event.
    arbiter: Option<Time>,
    /// Devices' transactions that wait for their train.
    waiting: Vec<u32>,
    statistics: FabricStatistics,
}

impl Fabric {
    /// An idle one.
    pub fn new(c: &NodeConfiguration, chip: &Chip, wire: Wire) -> Fabric {
        let chunk_bytes = chip.eib.width.bytes() as u32;
        Fabric {
            eib: Eib::new(chip.eib.clone(), UNIT_MEMORY + 1, Some(UNIT_MEMORY)),
            memory: Memory::new(c.dram.clone(), chunk_bytes),
            wire,
            snoop: chip.snoop(),
            l2_cycles: c.l2.latency.cycles(),
            reservation_cycles: c.order.reservation.cycles(),
            arbiter: None,
            waiting: vec![],
            statistics: FabricStatistics::default(),
        }
    }

    fn schedule(parts: &mut Parts, at: Time, event: FabricEvent) {
        let urgency = match event {
            FabricEvent::Granted(Client::Device(_))
            | FabricEvent::Answered(Client::Device(_))
            | FabricEvent::Done(Client::Device(_)) => Urgency::Prompt,
            _ => Urgency::Slow,
        };
        parts.schedule(at, urgency, event.into());
    }

    // --- trains ---------------------------------------------------------------------------------------

    /// The rings have changed: the arbiter is asked again when it can begin with something.
    fn look(&mut self, parts: &mut Parts) {
        if let Some(at) = self.eib.next_grant()
            && self.arbiter.is_none_or(|arbiter| at < arbiter)
        {
            self.arbiter = Some(at);
            Self::schedule(parts, at, FabricEvent::Arbiter);
        }
    }

    fn ask(&mut self, parts: &mut Parts, (from, to): (usize, usize), bytes: u32, client: Client, now: Time) {
        if let Client::Device(name) = client {
            self.waiting.push(name);
        }
        self.eib.ask(Train { from, to, bytes, name: client.into() }, now);
        self.look(parts);
    }

    fn arbiter(&mut self, parts: &mut Parts, now: Time) {
        self.arbiter.take_if(|at| *at <= now);
        while let Some(moving) = self.eib.grant(now) {
            let client = Client::from(moving.train.name);
            match client {
                Client::Device(name) => {
                    self.waiting.retain(|&waiting| waiting != name);
                    let transfer = self.of_device(parts, name);
                    self.own(transfer, moving.end, true);
                }
                Client::Hart(index, slot) => self.begins(parts, (usize::from(index), slot), moving.end),
            }
            Self::schedule(parts, moving.end, FabricEvent::Done(client));
        }
        self.look(parts);
    }

    // --- the PPE --------------------------------------------------------------------------------------

    /// The SPE that the access of a hart, if it is one to a device, is about.
    fn spe_of_hart(&self, parts: &Parts, index: usize, slot: Slot) -> Option<usize> {
        let (address, bytes) = device_access(parts.port(index).current(slot)?)?;
        match self.wire.target(address, bytes) {
            Target::Spe(spe) => Some(spe),
            _ => None,
        }
    }

    /// The train of a hart's transaction ends at `end`.
    fn begins(&mut self, parts: &mut Parts, (index, slot): (usize, Slot), end: Time) {
        let Some(request) = parts.port(index).current(slot) else { return };
        if let Some(spe) = self.spe_of_hart(parts, index, slot) {
            self.wire.shared().touch(spe, Client::hart(index, slot).into(), end, true);
        } else if slot == Slot::Blocking {
            parts.fills(index, request, end);
        }
    }

    /// When the command for the `bytes` from `address` on is tried again, if a hart, but not `index`, holds some of them: a
    /// line that has been fetched for an instruction stays until that has been executed.
    fn later(&self, parts: &Parts, index: usize, (address, bytes): (u64, u32), now: Time) -> Option<Time> {
        let used = parts.held_until(index, address, bytes, now, self.reservation_cycles)?;
        let again = self.eib.clock().after(now, RETRY_CLOCKS);
        Some(if used < again { self.eib.clock().align(used + Time(1)) } else { again })
    }

    fn hart_granted(&mut self, parts: &mut Parts, (index, slot): (usize, Slot), now: Time) {
        let client = Client::hart(index, slot);
        let Some(request) = parts.port(index).current(slot) else {
            return Self::schedule(parts, now, FabricEvent::Done(client));
        };
        let asks = parts.port(index).asks(request);
        let later = asks.and_then(|(_, address, bytes)| self.later(parts, index, (address, bytes), now));
        if let Some(later) = later {
            return Self::schedule(parts, later, FabricEvent::Granted(client));
        }
        let mut found = Snooped::default();
        if let Some(asked @ (snoop, address, bytes)) = asks {
            for other in (0..parts.harts_started()).filter(|&other| other != index) {
                found = found.or(parts.snoop(Some(index), other, asked, now));
            }
            if snoop == Snoop::Invalidate && self.wire.shared().is_reserved(address, bytes) {
                self.statistics.reservations_lost += 1;
                parts.device_event(CHIP, now, ChipEvent::Written(address).into());
            }
        }
        let request = request.answered(found);
        let answered = now + self.snoop;
        parts.granted(index, slot, found, now);
        if slot == Slot::Blocking {
            let end = if request.is_address_only() { answered } else { now + FETCHED_MAX };
            parts.fills(index, request, end);
        }
        self.statistics.interventions += u64::from(found.dirty);
        let is_memory = !request.is_address_only() && device_access(request).is_none();
        let reads = matches!(request, Request::Fill { .. } | Request::Own { .. });
        if is_memory && reads && !found.dirty {
            self.statistics.reads += 1;
            let (bytes, _) = parts.port(index).transfer(request);
            let ready = self.memory.read(bytes, answered);
            return Self::schedule(parts, ready, FabricEvent::Ready(client));
        }
        let event = if request.is_address_only() { FabricEvent::Done } else { FabricEvent::Answered };
        Self::schedule(parts, answered, event(client));
    }

    /// Its data are there, from memory if `from_memory`.
    fn hart_moves(&mut self, parts: &mut Parts, (index, slot): (usize, Slot), from_memory: bool, now: Time) {
        let client = Client::hart(index, slot);
        let Some(mut request) = parts.port(index).current(slot) else {
            return Self::schedule(parts, now, FabricEvent::Done(client));
        };
        // It was to get the line at its place. Another may have read that since, so that it looks like one for the right alone.
        if let Request::Own { upgrade, .. } = &mut request {
            *upgrade = false;
        }
        let (bytes, writes) = parts.port(index).transfer(request);
        if bytes == 0 {
            // Another has taken since what was to be written.
            return Self::schedule(parts, now, FabricEvent::Done(client));
        }
        let other = match device_access(request) {
            Some((address, bytes)) => match self.wire.target(address, bytes) {
                Target::Spe(spe) => unit_of_spe(spe),
                _ => UNIT_IO,
            },
            None if from_memory || writes => UNIT_MEMORY,
            // The other hart's caches are at the same stop.
            None => UNIT_PPE,
        };
        let way = if writes { (UNIT_PPE, other) } else { (other, UNIT_PPE) };
        self.ask(parts, way, bytes, client, now);
    }

    fn hart_done(
        &mut self,
        parts: &mut Parts,
        (index, slot): (usize, Slot),
        now: Time,
        out: &mut Outbox<'_>,
    ) {
        let client = Client::hart(index, slot);
        if let Some(Request::WriteBack { bytes: 1.., .. }) = parts.port(index).current(slot) {
            self.statistics.writes += 1;
            self.memory.write(now);
        }
        self.wire.shared().leave(client.into());
        parts.finish((index, slot), None, now, out);
        self.take_requests(parts, index, out);
    }

    // --- DMA ------------------------------------------------------------------------------------------

    fn of_device(&self, parts: &Parts, name: u32) -> OfDevice {
        let (_, request) = parts.device_request(name);
        let target = self.wire.target(request.address, request.bytes);
        OfDevice { request, spe: spe_of(request), target }
    }

    fn device_asks(&mut self, parts: &mut Parts, name: u32, now: Time) {
        let client = Client::Device(name);
        let transfer = self.of_device(parts, name);
        let place = self.eib.command(now);
        let is_memory = transfer.target == Target::Memory;
        // A put takes its data from the local store at its place, if it is about main memory.
        let grants = is_memory && !transfer.is_read();
        self.own(transfer, if grants { place.grant } else { place.answered }, grants);
        if let Target::Spe(other) = transfer.target
            && other != transfer.spe
        {
            self.wire.shared().touch(other, name_of(transfer.request), place.answered, true);
        }
        if is_memory {
            Self::schedule(parts, place.grant, FabricEvent::Granted(client));
        } else {
            Self::schedule(parts, place.answered, FabricEvent::Answered(client));
        }
    }

    /// The transfer gets to its own SPE at `at`, or no sooner: it, or what its MFC does next.
    fn own(&self, transfer: OfDevice, at: Time, is_exact: bool) {
        self.wire.shared().touch(transfer.spe, name_of(transfer.request), at, is_exact);
    }

    /// The device moves its data. Returns what came of it.
    fn moves(&mut self, parts: &mut Parts, name: u32, now: Time, out: &mut Outbox<'_>) -> Granted {
        self.wire.shared().granted = None;
        parts.device_granted(name, now, out);
        self.wire.shared().granted.take().expect("the chip has said what came of it")
    }

    /// One that is about main memory has its place.
    fn device_granted(&mut self, parts: &mut Parts, name: u32, now: Time, out: &mut Outbox<'_>) {
        let client = Client::Device(name);
        let transfer = self.of_device(parts, name);
        let BusRequest { address, bytes, .. } = transfer.request;
        if let Some(later) = self.later(parts, NO_HART, (address, bytes), now) {
            self.own(transfer, later, true);
            return Self::schedule(parts, later, FabricEvent::Granted(client));
        }
        parts.before_visible_event(None, now, now);
        let snoop = if transfer.is_read() { Snoop::Read } else { Snoop::Invalidate };
        let mut found = Snooped::default();
        for index in 0..parts.harts_started() {
            found = found.or(parts.snoop(None, index, (snoop, address, bytes), now));
        }
        let answered = now + self.snoop;
        self.own(transfer, answered, false);
        if self.moves(parts, name, now, out) != Granted::Moves(None) {
            self.own(transfer, answered, true);
            return Self::schedule(parts, answered, FabricEvent::Done(client));
        }
        self.statistics.interventions += u64::from(found.dirty);
        if transfer.is_read() && !found.dirty {
            self.statistics.reads += 1;
            let ready = self.memory.read(bytes, answered);
            self.own(transfer, ready, false);
            return Self::schedule(parts, ready, FabricEvent::Ready(client));
        }
        // A cache's data, or those that go to memory, ask with the answer.
        Self::schedule(parts, answered, FabricEvent::Ready(client));
    }

    /// One that is about a local store or registers, or leads nowhere, has been answered.
    fn device_answered(&mut self, parts: &mut Parts, name: u32, now: Time, out: &mut Outbox<'_>) {
        let transfer = self.of_device(parts, name);
        parts.before_visible_event(None, now, now);
        self.own(transfer, now, false);
        match self.moves(parts, name, now, out) {
            Granted::Moves(_) => self.device_moves(parts, name, now),
            Granted::Lost | Granted::Refused => {
                Self::schedule(parts, now, FabricEvent::Done(Client::Device(name)));
            }
        }
    }

    fn device_moves(&mut self, parts: &mut Parts, name: u32, now: Time) {
        let transfer = self.of_device(parts, name);
        let (own, other) = (unit_of_spe(transfer.spe), transfer.unit());
        let way = if transfer.is_read() { (other, own) } else { (own, other) };
        self.ask(parts, way, transfer.request.bytes, Client::Device(name), now);
    }

    fn device_done(&mut self, parts: &mut Parts, name: u32, now: Time, out: &mut Outbox<'_>) {
        let transfer = self.of_device(parts, name);
        if transfer.target == Target::Memory && !transfer.is_read() {
            self.statistics.writes += 1;
            self.memory.write(now);
        }
        parts.before_visible_event(None, now, now);
        parts.device_done(name, now, out);
    }
}

/// The address and length of an access to a device.
fn device_access(request: Request) -> Option<(u64, u32)> {
    match request {
        Request::UncachedLoad { address, bytes } | Request::UncachedStore { address, bytes, .. } => {
            Some((address, bytes))
        }
        Request::Store64 { address, .. } => Some((address, chasqui_memory::BURST_BYTES)),
        _ => None,
    }
}

impl MemorySystem for Fabric {
    fn take_requests(&mut self, parts: &mut Parts, index: usize, out: &mut Outbox<'_>) {
        while let Some((cycle, slot, request)) = parts.take_request(index) {
            let client = Client::hart(index, slot);
            if request == Request::OwnFromL2 {
                let end = parts.time_of(index, cycle + self.l2_cycles);
                Self::schedule(parts, end, FabricEvent::Done(client));
            } else if parts.port(index).is_timed() {
                parts.ask(client, parts.time_of(index, cycle));
            } else {
                parts.serve_untimed(index, (cycle, slot, request), out);
            }
        }
    }

    fn request(&mut self, parts: &mut Parts, client: Client, now: Time, _: &mut Outbox<'_>) {
        match client {
            Client::Hart(index, slot) => {
                let place = self.eib.command(now);
                if let Some(spe) = self.spe_of_hart(parts, usize::from(index), slot) {
                    self.wire.shared().touch(spe, client.into(), place.answered, false);
                }
                Self::schedule(parts, place.grant, FabricEvent::Granted(client));
            }
            Client::Device(name) => self.device_asks(parts, name, now),
        }
    }

    fn event(&mut self, parts: &mut Parts, payload: Payload, now: Time, out: &mut Outbox<'_>) {
        match payload.into() {
            FabricEvent::Granted(Client::Hart(index, slot)) => {
                self.hart_granted(parts, (usize::from(index), slot), now);
                // A line that was replaced asks for its write-back now.
                self.take_requests(parts, usize::from(index), out);
            }
            FabricEvent::Answered(Client::Hart(index, slot)) => {
                self.hart_moves(parts, (usize::from(index), slot), false, now);
            }
            FabricEvent::Ready(Client::Hart(index, slot)) => {
                self.hart_moves(parts, (usize::from(index), slot), true, now);
            }
            FabricEvent::Done(Client::Hart(index, slot)) => {
                self.hart_done(parts, (usize::from(index), slot), now, out);
            }
            FabricEvent::Granted(Client::Device(name)) => self.device_granted(parts, name, now, out),
            FabricEvent::Answered(Client::Device(name)) => self.device_answered(parts, name, now, out),
            FabricEvent::Ready(Client::Device(name)) => self.device_moves(parts, name, now),
            FabricEvent::Done(Client::Device(name)) => self.device_done(parts, name, now, out),
            FabricEvent::Arbiter => self.arbiter(parts, now),
        }
    }

    fn effect(&self, _: &Parts, payload: Payload) -> Effect {
        match payload.into() {
            FabricEvent::Granted(Client::Device(name))
            | FabricEvent::Answered(Client::Device(name))
            | FabricEvent::Ready(Client::Device(name))
            | FabricEvent::Done(Client::Device(name)) => Effect::Device(name),
            _ => Effect::Access(Time::ZERO),
        }
    }

    fn waiting(&self, _: &Parts, visit: &mut dyn FnMut(u32, Time)) {
        let Some(at) = self.arbiter else { return };
        self.waiting.iter().for_each(|&name| visit(name, at));
    }

    fn announce(&mut self, parts: &mut Parts, payload: Payload, now: Time) -> bool {
        let FabricEvent::Granted(Client::Hart(index, slot)) = payload.into() else { return false };
        let port = parts.port(usize::from(index));
        let Some(asked) = port.current(slot).and_then(|request| port.asks(request)) else { return false };
        parts.announce_to(None, usize::from(index), asked, now)
    }

    /// All but what the rings' contention takes.
    fn transaction_max(&self) -> Time {
        self.snoop + FETCHED_MAX
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        self.statistics.visit(visit);
        self.eib.statistics.visit(&mut below("eib", visit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_the_round_trip() {
        let clients = [Client::Hart(1, Slot::Posted), Client::Device(70_000)];
        for client in clients {
            let events = [FabricEvent::Granted, FabricEvent::Answered, FabricEvent::Ready, FabricEvent::Done];
            for event in events.map(|event| event(client)) {
                assert_eq!(FabricEvent::from(Payload::from(event)), event);
            }
        }
        assert_eq!(FabricEvent::from(Payload::from(FabricEvent::Arbiter)), FabricEvent::Arbiter);
    }
}

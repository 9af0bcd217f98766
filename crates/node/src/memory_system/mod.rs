//! What serves the requests of ports and devices: the interface between a node's clients and its memory system.
//!
//! A client asks for a transaction ([`MemorySystem::request`]). The memory system gives it a place in the order: there it
//! has other caches answer ([`Parts::snoop`]), and tells the client ([`Parts::granted`], [`Parts::device_granted`]); then
//! data move, in functional memory. Later the transaction is over ([`Parts::completed`], [`Parts::device_done`]).
//!
//! Invariants: of transactions for a line one has its place before the other, for all clients alike; a line that another
//! cache may hold is asked for there; nothing is granted before it was asked for, nor sooner than events that are due.
//!
//! [`SnoopingBus`] asks all caches, and orders all transactions.

mod bus;
mod coherence;

use chasqui_counters::Visitor;
use chasqui_engine::{Class, Outbox, Payload, Port, Time};
use chasqui_memory::{self as memory, Bus, DEVICE_BASE, FlatMemory, LentBus, Request, Slot, Snoop, Snooped};
use chasqui_ni::BusRequest;

pub use bus::SnoopingBus;

use crate::domain::Domain;
use crate::events::{Target, Urgency};
use crate::harts::Core;
use crate::io::Access;
use crate::os::{SIGSEGV, physical};
use crate::parts::Parts;

/// Who asks for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// A slot of a hart's port.
    Hart(u8, Slot),
    /// A device's transaction, by its name ([`Parts::device_request`]).
    Device(u32),
}

impl Client {
    /// A slot of the port of hart `index`.
    pub fn hart(index: usize, slot: Slot) -> Client {
        debug_assert!(index <= usize::from(u8::MAX), "`node.harts` allows fewer");
        Client::Hart(index as u8, slot)
    }
}

impl From<Client> for Payload {
    fn from(client: Client) -> Payload {
        [client.into(), 0]
    }
}

impl From<Payload> for Client {
    fn from([word, _]: Payload) -> Client {
        word.into()
    }
}

/// In 48 bits.
impl From<Client> for u64 {
    fn from(client: Client) -> u64 {
        match client {
            Client::Hart(hart, slot) => slot as u64 | u64::from(hart) << 16,
            Client::Device(name) => 1 << 8 | u64::from(name) << 16,
        }
    }
}

impl From<u64> for Client {
    fn from(word: u64) -> Client {
        let number = word >> 16;
        match word >> 8 & 1 {
            0 => Client::Hart(number as u8, Slot::ALL[(word & 3) as usize]),
            _ => Client::Device(number as u32),
        }
    }
}

/// What an event of a memory system's leads to at devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// This transaction of a device's is granted, or over.
    Device(u32),
    /// An access of a hart may reach a device, so long after the event.
    Access(Time),
}

/// A hart's access to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceAccess {
    /// Address, relative to [`DEVICE_BASE`].
    pub address: u64,
    /// Length [bytes].
    pub bytes: u32,
    /// What is stored; nothing: it is a load.
    pub value: Option<u64>,
}

/// A memory system.
pub trait MemorySystem: Send {
    /// The port of hart `index` has requests: they are taken ([`Parts::take_request`]) and served.
    fn take_requests(&mut self, parts: &mut Parts, index: usize, out: &mut Outbox<'_>);
    /// `client` asks for a transaction at `now`.
    fn request(&mut self, parts: &mut Parts, client: Client, now: Time, out: &mut Outbox<'_>);
    /// It changes memory that harts see without their asking, as a device does.
    fn acts_by_itself(&self) -> bool {
        false
    }
    /// An event of its own is due.
    fn event(&mut self, parts: &mut Parts, payload: Payload, now: Time, out: &mut Outbox<'_>);
    /// What its own event, to come, leads to at devices.
    fn effect(&self, parts: &Parts, payload: Payload) -> Effect;
    /// Visits the transactions of devices' that have no event to come, with the time before which they are not granted.
    fn waiting(&self, parts: &Parts, visit: &mut dyn FnMut(u32, Time));
    /// Before an event of its own of `now`, where there are several harts: those that repeat themselves and hold what it
    /// is about catch up ([`Parts::announce_to`]). True: there are some, and the event is dealt with later.
    fn announce(&mut self, parts: &mut Parts, payload: Payload, now: Time) -> bool;
    /// Before this nothing happens to the transactions of hart `index`: so far it may run ahead of others.
    fn undisturbed(&self, parts: &Parts, index: usize) -> Time {
        let _ = index;
        parts.next_event()
    }
    /// The bus that all transactions go over, if there is one: a hart that is alone may use it by itself.
    fn bus(&self) -> Option<&Bus> {
        None
    }
    /// The same.
    fn bus_mut(&mut self) -> Option<&mut Bus> {
        None
    }
    /// Hart `index`, which is alone and ready, is about to run: what is to come of its transactions is no event of the
    /// node any more, as far as it can deal with them itself ([`MemorySystem::lend`]).
    fn take_events(&mut self, parts: &mut Parts, index: usize) {
        let _ = (parts, index);
    }
    /// What is left of it becomes events again, at their places in the order.
    fn return_events(&mut self, parts: &mut Parts, index: usize) {
        let _ = (parts, index);
    }
    /// Lends the bus to a hart that is alone until `alone`: until then nothing else happens in the node, and nothing comes
    /// from outside. `order` numbers the events of its transactions.
    fn lend<'a>(&'a mut self, order: &'a mut Port, alone: Time) -> Option<LentBus<'a>> {
        let _ = (order, alone);
        None
    }
    /// A bound on the length of a hart's transaction that finds nothing under way, the time that devices take not
    /// included.
    fn transaction_max(&self) -> Time;
    /// It keeps account of what caches have: clean lines that may be written are written back, too, when they leave.
    fn keeps_account(&self) -> bool {
        false
    }
    /// Visits its counters.
    fn statistics(&self, visit: &mut Visitor<'_>);
    /// Visits its counters of the node at `place` of the domain.
    fn node_statistics(&self, place: usize, visit: &mut Visitor<'_>) {
        let _ = (place, visit);
    }
}

/// What memory systems do to clients.
impl Parts {
    /// The next request of hart `index`, with the cycle at which it was made. `None`: there is no other.
    pub fn take_request(&mut self, index: usize) -> Option<(u64, Slot, Request)> {
        self.harts[index].hart.port.take_request()
    }

    /// The caches of hart `index` answer a transaction at `now`, of hart `asker` if it is a hart's.
    pub fn snoop(
        &mut self,
        asker: Option<usize>,
        index: usize,
        (snoop, address, bytes): (Snoop, u64, u32),
        now: Time,
    ) -> Snooped {
        self.harts.settle_for(index, (snoop, address, bytes), now);
        let core = &mut self.harts[index];
        let here = core.hart.port.snoop(snoop, address, bytes);
        if here.present {
            debug_assert!(!core.is_idle(), "a hart that repeats itself has caught up");
            if snoop == Snoop::Read && !here.dirty {
                core.spin.shared(now);
                return here;
            }
            // What it has seen of the line says nothing any more.
            core.spin.event(&mut core.hart, now);
            if let Some(asker) = asker {
                self.harts[asker].spin.met();
            }
        }
        here
    }

    /// What is in `slot` of hart `index` has its place in the order at `now`, and others' caches have answered `found`.
    pub fn granted(&mut self, index: usize, slot: Slot, found: Snooped, now: Time) {
        self.harts.settle(index, now);
        let hart = &mut self.harts[index].hart;
        let cycle = hart.cycle_at(now);
        hart.port.granted(slot, found, cycle);
    }

    /// The time of a cycle of hart `index`.
    pub fn time_of(&self, index: usize, cycle: u64) -> Time {
        self.harts[index].hart.time_of(cycle)
    }

    /// The nodes that share the memory, and which of them is the home of an address.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// What memory systems know of hart `index`.
    pub fn port(&self, index: usize) -> &memory::Port {
        &self.harts[index].hart.port
    }

    /// When the next event of the node is due.
    pub fn next_event(&self) -> Time {
        self.events.next_time()
    }

    /// Harts that have caches to ask: the others have had no thread.
    pub fn harts_started(&self) -> usize {
        self.harts.started()
    }

    /// An event of the memory system's own is to come.
    pub fn schedule(&mut self, at: Time, urgency: Urgency, payload: Payload) {
        self.events.schedule(at, Class::Bus, Target::MemorySystem, urgency, payload);
    }

    /// `device`, by its number, has an event of its own at `at`: what the memory system has to say to it.
    pub fn device_event(&mut self, device: usize, at: Time, payload: Payload) {
        self.events.schedule(at, Class::Internal, Target::Device(device), Urgency::Prompt, payload);
    }

    /// How far the device of the transaction called `name` is from the memory system, one way.
    pub fn way_to_device(&self, name: u32) -> Time {
        let (device, _) = self.io.request(name);
        self.io.way(device)
    }

    /// From a store's start to its arrival at a device, at least.
    pub fn store_latency(&self) -> Time {
        self.io.store_latency
    }

    /// The transaction of `request`, for the instruction of hart `index` that waits, is over at `end`: the line stays
    /// until the instruction has been executed ([`Parts::held_until`]).
    pub fn fills(&mut self, index: usize, request: Request, end: Time) {
        self.harts[index].fills(request, end);
    }

    /// What is in `slot` of hart `index` is over at `now`: an access to a device leaves for it, unless it is a load whose
    /// value is here. The port may have asked for more.
    pub fn finish(
        &mut self,
        (index, slot): (usize, Slot),
        value: Option<u64>,
        now: Time,
        out: &mut Outbox<'_>,
    ) {
        let access = self.io.access(&self.harts, index, slot);
        let leaves = |access: &Access| !matches!(access, Access::Load { .. }) || value.is_none();
        if let Some((device, access)) = access.filter(|(_, access)| leaves(access)) {
            self.leave_for_device((device, index), slot, access, now, out);
            if access.is_answered() {
                return;
            }
        }
        self.completed(index, slot, value.unwrap_or(0), now);
    }

    /// What is in `slot` of hart `index` is over at `now`, with `value` for an uncached load. The port may have asked for
    /// more.
    pub fn completed(&mut self, index: usize, slot: Slot, value: u64, now: Time) {
        self.harts.settle(index, now);
        let core = &mut self.harts[index];
        let cycle = core.hart.cycle_at(now);
        core.hart.port.completed(slot, value, cycle);
        core.wake(now);
    }

    /// The transaction of a device's that has this name: the device's number, and what it asks for.
    #[inline]
    pub fn device_request(&self, name: u32) -> (usize, BusRequest) {
        self.io.request(name)
    }

    /// A device's transaction has its place in the order at `now`: it moves its data.
    pub fn device_granted(&mut self, name: u32, now: Time, out: &mut Outbox<'_>) {
        let (device, request) = self.io.request(name);
        self.with_device((device, 0), now, out, |ni, c| ni.bus_granted(c, request));
    }

    /// A device's transaction is over at `now`; its name may be another's from now on.
    pub fn device_done(&mut self, name: u32, now: Time, out: &mut Outbox<'_>) {
        let (device, request) = self.io.request(name);
        self.io.release(name);
        self.with_device((device, 0), now, out, |ni, c| ni.bus_done(c, request));
    }

    /// The access of hart `index` to a device, in a call that takes no time, is made at once. `cycle`: when it was asked for.
    pub fn serve_untimed(
        &mut self,
        index: usize,
        (cycle, slot, request): (u64, Slot, Request),
        out: &mut Outbox<'_>,
    ) {
        let client = Client::hart(index, slot);
        let access = self.io.access_of(&self.harts[index], Slot::Blocking, request);
        let Some((device, access)) = access.filter(|_| slot != Slot::Posted) else {
            // Made before the call began: it takes its time.
            debug_assert!(!matches!(request, Request::Fill { .. }));
            // The hart's present may be before the end of what it follows.
            return self.ask(client, self.time_of(index, cycle));
        };
        let now = self.harts[index].hart.now();
        let here = (device, index);
        let is_load = matches!(access, Access::Load { .. });
        if is_load && let Some(after) = self.refused(here, &access, now, out) {
            return self.ask(client, now + after);
        }
        if self.io.is_crossed(device) {
            // Behind what was on its way when the call began.
            return self.leave_for_device(here, slot, access, now, out);
        }
        let reply = self.make_access(here, access, now, out);
        if let Some(reply) = reply.filter(|_| access.is_answered()) {
            let core = &mut self.harts[index];
            if !reply.repeatable {
                core.hart.port.disturb();
            }
            let cycle = core.hart.cycle;
            core.hart.port.completed(slot, reply.value, cycle);
            core.wake(now);
        }
    }

    /// The access to a register that is in `slot` of hart `index`, if it is one. (Of 64 bytes none is.)
    pub fn device_access(&self, index: usize, slot: Slot) -> Option<DeviceAccess> {
        let (device, access) = self.io.access(&self.harts, index, slot)?;
        if device >= self.io.devices.len() {
            return None;
        }
        match access {
            Access::Load { address, bytes } => Some(DeviceAccess { address, bytes, value: None }),
            Access::Store { address, bytes, value } => {
                Some(DeviceAccess { address, bytes, value: Some(value) })
            }
            Access::Store64 { .. } => None,
        }
    }

    /// The process that hart `index` executes, by its place in the node's table.
    pub fn process_of(&self, index: usize) -> usize {
        self.harts[index].process
    }

    /// Physical address of the virtual address `address` of a process, if its page is there, is memory, and may be read, or
    /// written if it `writes`. A process that has ended has none.
    pub fn physical(&self, process: usize, address: u64, writes: bool) -> Option<u64> {
        let process = &self.os.processes[process];
        if process.ended.is_some() {
            return None;
        }
        let place = physical(&process.process, &self.domain.memory, address, writes);
        place.filter(|&physical| physical < DEVICE_BASE)
    }

    /// Two processes are of the same job.
    pub fn are_of_one_job(&self, a: usize, b: usize) -> bool {
        self.os.processes[a].job == self.os.processes[b].job
    }

    /// The memory of all nodes. Whoever may notice what is changed has been told ([`Parts::snoop`]).
    pub fn memory_mut(&mut self) -> &mut FlatMemory {
        &mut self.domain.memory
    }

    /// A controller finds at `now` that a process has violated protection, by what it had hart `index` ask.
    pub fn fault(&mut self, index: usize, process: usize, what: &str, now: Time) {
        let id = self.os.processes[process].id;
        self.os.fault_of(&mut self.harts, &mut self.events, (id, index), now, (SIGSEGV, what));
        self.announce_ends(now);
    }

    /// The memory system does something by itself that harts may notice, or nothing.
    pub fn set_at_work(&mut self, at_work: bool) {
        self.at_work = at_work;
    }

    /// `client`, a hart, asks at `at`.
    pub fn ask(&mut self, client: Client, at: Time) {
        self.events.schedule(at, Class::Request, Target::Request, Urgency::Slow, client.into());
    }

    /// The instruction of hart `index` that waits is a store to a device.
    fn is_store(&self, index: u8) -> bool {
        let port = &self.harts[usize::from(index)].hart.port;
        matches!(port.current(Slot::Blocking), Some(Request::Store64 { .. }))
    }

    /// Hart `index`, if it repeats itself and holds something of the `bytes` from `address` on, about which it is to be asked
    /// (`snoop`), catches up. True: it did.
    pub fn announce_at(
        &mut self,
        index: usize,
        (snoop, address, bytes): (Snoop, u64, u32),
        now: Time,
    ) -> bool {
        let core = &mut self.harts[index];
        if !core.is_idle() || !core.hart.port.holds(address, bytes) {
            return false;
        }
        if snoop == Snoop::Read && !core.hart.port.has_modified(address, u64::from(bytes)) {
            core.shared(None, now);
        } else {
            core.event(None, now, now);
        }
        true
    }

    /// Harts other than `index` that repeat themselves and hold something of the `bytes` from `address` on, which it is about to
    /// `snoop`, catch up. True: there are some.
    pub fn announce_to(
        &mut self,
        mut bus: Option<&mut Bus>,
        index: usize,
        (snoop, address, bytes): (Snoop, u64, u32),
        now: Time,
    ) -> bool {
        let holds = |core: &&mut Core| core.is_idle() && core.hart.port.holds(address, bytes);
        let mut idle = false;
        for core in self.harts.others(index).filter(holds) {
            idle = true;
            if snoop == Snoop::Read && !core.hart.port.has_modified(address, u64::from(bytes)) {
                core.shared(bus.as_deref_mut(), now);
            } else {
                core.event(bus.as_deref_mut(), now, now);
            }
        }
        idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_survive_the_round_trip() {
        let clients = [
            Client::Hart(0, Slot::Blocking),
            Client::Hart(1, Slot::WriteBuffer),
            Client::Hart(63, Slot::Posted),
            Client::Device(0),
            Client::Device(70_000),
        ];
        for client in clients {
            assert_eq!(Client::from(Payload::from(client)), client);
        }
    }
}

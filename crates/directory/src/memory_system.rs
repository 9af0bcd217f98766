//! The protocol as memory system of a coherence domain: each node has a hart, and the hart's data cache is the node's.
//!
//! An access is granted when it is over: the data move, and the caches change, where the table says that the line is there.
//! So a line's state at a hart's port is the table's, and stores take effect when the right to write has come.

use chasqui_counters::{Counters, Visitor, below};
use chasqui_engine::{Outbox, Payload, Time};
use chasqui_memory::{Request, Slot, Snoop, Snooped, State};
use chasqui_node::{Client, DeviceAccess, Effect, MemorySystem, NodeConfiguration, Parts, Urgency};

use crate::parameters::DirectoryParameters;
use crate::protocol::{Access, Command, Host, Protocol, Step, Ticket, Want};
use crate::registers::{TRANSFER_ANSWER, TRANSFER_REGISTERS, TRANSFER_START};
use crate::times::Times;

/// An event that is no step of the protocol's: an access to a device, or one that needs no line, is over.
const DONE: u64 = 64;
/// A line that has come to be used once leaves.
const USED: u64 = 65;

/// The memory system of a domain whose nodes have a hart each.
pub struct DirectorySystem {
    protocol: Protocol,
    times: Times,
    line_bytes: u32,
    reservation_cycles: u64,
    /// A cycle of the harts, after which a line is asked for again that is kept nobody knows how long.
    cycle: Time,
    /// Registers of each node's controller; none: accesses to devices go to these.
    registers: Vec<Command>,
    /// What became of the latest command, of each.
    answers: Vec<u64>,
}

impl DirectorySystem {
    /// With nothing cached.
    pub fn new(c: &NodeConfiguration, parameters: &DirectoryParameters, nodes: usize) -> DirectorySystem {
        let line_bytes = c.l1d.line.bytes();
        let times = Times::new(parameters, nodes, line_bytes);
        DirectorySystem {
            protocol: Protocol::new(times, nodes, parameters.controller.buffer as usize),
            times,
            line_bytes: line_bytes as u32,
            reservation_cycles: c.order.reservation.cycles(),
            cycle: c.clock().edge(1),
            registers: vec![],
            answers: vec![],
        }
    }

    /// The same; accesses to devices are to registers of the controllers, by which processors have transfers begin
    /// ([`crate::registers`]).
    #[must_use]
    pub fn with_registers(self) -> DirectorySystem {
        let nodes = self.protocol.nodes();
        DirectorySystem { registers: vec![Command::default(); nodes], answers: vec![0; nodes], ..self }
    }

    fn nodes<'a, 'b, 'c>(&self, parts: &'a mut Parts, out: &'b mut Outbox<'c>) -> Nodes<'a, 'b, 'c> {
        Nodes {
            parts,
            out,
            line_bytes: self.line_bytes,
            reservation_cycles: self.reservation_cycles,
            cycle: self.cycle,
        }
    }

    /// The access of a hart, if it needs a line: which, and what it wants of it.
    fn wanted(parts: &Parts, index: usize, request: Request) -> Option<(u64, Want)> {
        match request {
            // Whatever is fetched is here at once: the instruction cache always hits.
            Request::Fill { data: false, .. } => None,
            Request::Fill { line, exclusive, .. } => {
                Some((line, if exclusive { Want::Store } else { Want::Load }))
            }
            Request::Own { line, .. } => Some((line, Want::Store)),
            Request::WriteBack { line, .. } => {
                debug_assert!(line.is_multiple_of(parts.port(index).bus_line_bytes(true).into()));
                Some((line, Want::WriteBack))
            }
            Request::Block { .. }
            | Request::UncachedLoad { .. }
            | Request::UncachedStore { .. }
            | Request::Store64 { .. } => None,
            Request::OwnFromL2
            | Request::NetworkFill { .. }
            | Request::DirectLoad { .. }
            | Request::DirectStore { .. } => unreachable!("{request:?}: nodes have one level of cache"),
        }
    }

    /// How long an access takes that needs no line.
    fn way(&self, request: Option<Request>) -> Time {
        match request {
            None | Some(Request::Fill { .. }) => Time::ZERO,
            Some(_) => self.times.queue + self.times.queue,
        }
    }
}

/// The nodes, as the protocol meets them.
struct Nodes<'a, 'b, 'c> {
    parts: &'a mut Parts,
    out: &'b mut Outbox<'c>,
    line_bytes: u32,
    reservation_cycles: u64,
    cycle: Time,
}

impl Nodes<'_, '_, '_> {
    /// What is in `slot` of hart `index` is over, and has its place in the order.
    fn over(&mut self, index: usize, slot: Slot, now: Time) {
        // A copy that is read is never the only one.
        let found = Snooped { present: true, dirty: false };
        let request = self.parts.port(index).current(slot);
        self.parts.granted(index, slot, found, now);
        if let Some(request) = request.filter(|_| slot == Slot::Blocking) {
            self.parts.fills(index, request, now);
        }
        self.parts.finish((index, slot), None, now, self.out);
        self.take_requests(index);
    }

    /// The access of `slot` is over, whose answer is `value`.
    fn answered(&mut self, index: usize, slot: Slot, value: u64, now: Time) {
        self.parts.granted(index, slot, Snooped::default(), now);
        self.parts.completed(index, slot, value, now);
        self.take_requests(index);
    }

    /// The processor of `node` accesses `registers`, those of its controller: what it loads, and the command that begins.
    fn register(
        &mut self,
        node: usize,
        (registers, answer): (&mut Command, u64),
        access: DeviceAccess,
        now: Time,
    ) -> (u64, Option<Command>) {
        let DeviceAccess { address, bytes, value } = access;
        let is_start = address == TRANSFER_START && value.is_some();
        if bytes == 8 && address == TRANSFER_ANSWER && value.is_none() {
            return (answer, None);
        }
        if bytes != 8 || address >= TRANSFER_REGISTERS || !is_start && registers.register(address).is_none() {
            let owner = self.parts.process_of(node);
            let what = format!(
                "an access of {bytes} bytes at {address:#x} of the controller's registers: these have 8 bytes each, up to {:#x}",
                TRANSFER_START
            );
            self.parts.fault(node, owner, &what, now);
            return (0, None);
        }
        let Some(value) = value else { return (*registers.register(address).expect("it was seen"), None) };
        if !is_start {
            *registers.register(address).expect("it was seen") = value;
            return (0, None);
        }
        let command = Command { start: value, ..std::mem::take(registers) };
        (0, Some(command))
    }

    fn take_requests(&mut self, index: usize) {
        while let Some((cycle, slot, request)) = self.parts.take_request(index) {
            if self.parts.port(index).is_timed() {
                self.parts.ask(Client::hart(index, slot), self.parts.time_of(index, cycle));
            } else {
                self.parts.serve_untimed(index, (cycle, slot, request), self.out);
            }
        }
    }
}

impl Host for Nodes<'_, '_, '_> {
    fn home(&self, line: u64) -> usize {
        self.parts.domain().home(line)
    }

    fn schedule(&mut self, at: Time, step: Step) {
        self.parts.schedule(at, Urgency::Slow, step.into());
    }

    fn has(&self, node: usize, line: u64, writable: bool) -> bool {
        let least = if writable { State::Exclusive } else { State::Shared };
        self.parts.port(node).line_state(line) >= least
    }

    fn held_until(&self, node: usize, line: u64, writable: bool, now: Time) -> Option<Time> {
        let reservation_cycles = if writable { self.reservation_cycles } else { 0 };
        let used = self.parts.kept_until(node, line, self.line_bytes, now, reservation_cycles)?;
        // The instruction that starts at a time comes after events of that time.
        Some(if used == Time::NEVER { now + self.cycle } else { used + Time(1) })
    }

    fn take(&mut self, node: usize, line: u64, leaves: bool, now: Time) {
        let snoop = if leaves { Snoop::Invalidate } else { Snoop::Read };
        self.parts.snoop(None, node, (snoop, line, self.line_bytes), now);
    }

    fn physical(&self, owner: u32, address: u64, writes: bool) -> Option<u64> {
        self.parts.physical(owner as usize, address, writes)
    }

    fn is_of_one_job(&self, a: u32, b: u32) -> bool {
        self.parts.are_of_one_job(a as usize, b as usize)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) {
        let memory = self.parts.domain().memory();
        bytes.copy_from_slice(memory.slice(address, bytes.len()).expect("it was translated"));
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        let memory = self.parts.memory_mut();
        memory.slice_mut(address, bytes.len()).expect("it was translated").copy_from_slice(bytes);
    }

    fn fault(&mut self, (node, owner): (usize, u32), what: String, now: Time) {
        self.parts.fault(node, owner as usize, &what, now);
    }

    fn done(&mut self, access: Access, now: Time) {
        let Access { node, line, ticket, once } = access;
        self.over(node, Slot::ALL[usize::from(ticket.slot)], now);
        if once {
            let used = self.parts.kept_until(node, line, self.line_bytes, now, 0).unwrap_or(now);
            self.parts.schedule(used + Time(1), Urgency::Slow, [USED | (node as u64) << 8, line]);
        }
    }
}

/// The client of an event that is over, or the line and hart of one that was used.
fn own_event([kind, value]: Payload) -> (u64, Client, usize) {
    (kind & 0xff, value.into(), (kind >> 8) as usize)
}

impl MemorySystem for DirectorySystem {
    /// Controllers with registers move blocks of data.
    fn acts_by_itself(&self) -> bool {
        !self.registers.is_empty()
    }

    fn take_requests(&mut self, parts: &mut Parts, index: usize, out: &mut Outbox<'_>) {
        self.nodes(parts, out).take_requests(index);
    }

    fn request(&mut self, parts: &mut Parts, client: Client, now: Time, out: &mut Outbox<'_>) {
        let Client::Hart(index, slot) = client else { unreachable!("devices ask for no transactions") };
        let node = usize::from(index);
        let request = parts.port(node).current(slot);
        let wanted = request.and_then(|request| Self::wanted(parts, node, request));
        let Some((line, want)) = wanted else {
            let way = self.way(request);
            if way == Time::ZERO {
                return self.nodes(parts, out).over(node, slot, now);
            }
            return parts.schedule(now + way, Urgency::Slow, [DONE, client.into()]);
        };
        let mut nodes = self.nodes(parts, out);
        self.protocol.access(&mut nodes, node, line, Ticket { want, slot: slot as u8 }, now);
    }

    fn event(&mut self, parts: &mut Parts, payload: Payload, now: Time, out: &mut Outbox<'_>) {
        let mut nodes = self.nodes(parts, out);
        match Step::try_from(payload) {
            Ok(step) => self.protocol.step(&mut nodes, step, now),
            Err(payload) => match own_event(payload) {
                (DONE, Client::Hart(index, slot), _) => {
                    let index = usize::from(index);
                    let access = nodes.parts.device_access(index, slot);
                    match access.filter(|_| !self.registers.is_empty()) {
                        Some(access) => {
                            let registers = (&mut self.registers[index], self.answers[index]);
                            let (value, command) = nodes.register(index, registers, access, now);
                            nodes.answered(index, slot, value, now);
                            if let Some(command) = command {
                                let owner = nodes.parts.process_of(index) as u32;
                                let who = (index, owner);
                                self.answers[index] = self.protocol.transfer(&mut nodes, who, command, now);
                            }
                        }
                        None => nodes.over(index, slot, now),
                    }
                }
                // It may have come again since.
                (USED, _, node) => {
                    let line = payload[1];
                    let state = self.protocol.state(node, line);
                    if state == chasqui_coherence::CacheState::Invalid {
                        nodes.take(node, line, true, now);
                    }
                }
                other => unreachable!("{other:?}"),
            },
        }
        parts.set_at_work(self.protocol.is_moving());
    }

    /// There is one partition: nothing has an effect on another.
    fn effect(&self, _: &Parts, _: Payload) -> Effect {
        Effect::Access(Time::ZERO)
    }

    fn waiting(&self, _: &Parts, _: &mut dyn FnMut(u32, Time)) {}

    fn announce(&mut self, parts: &mut Parts, payload: Payload, now: Time) -> bool {
        let about = match Step::try_from(payload) {
            Ok(step) => self.protocol.takes(step),
            Err([kind, line]) if kind & 0xff == USED => Some(((kind >> 8) as usize, line, true)),
            Err(_) => None,
        };
        let Some((node, line, leaves)) = about else { return false };
        let snoop = if leaves { Snoop::Invalidate } else { Snoop::Read };
        parts.announce_at(node, (snoop, line, self.line_bytes), now)
    }

    fn transaction_max(&self) -> Time {
        let far = (0..self.protocol.nodes()).map(|node| self.times.dirty_miss(0, node, 0));
        far.fold(Time::ZERO, Time::max)
    }

    fn keeps_account(&self) -> bool {
        true
    }

    fn statistics(&self, _: &mut Visitor<'_>) {}

    fn node_statistics(&self, place: usize, visit: &mut Visitor<'_>) {
        self.protocol.statistics(place).visit(visit);
        self.protocol.transfer_statistics(place).visit(&mut below("transfer", visit));
    }
}

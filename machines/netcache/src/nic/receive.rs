//! Receiving: one packet after the other. A piece of a block is written to where it goes; a message is put where the
//! policy wants it, then entered in the ring of arrivals of its process. One for which there is no room there waits, and
//! those behind it in its virtual network; the others' turn comes meanwhile.
//!
//! A message in the network cache that receives ask for by its name is not entered ([`Deferred`]), unless software listens
//! because some receive knows no name. It is entered after all before another message of its communicator is, so that of
//! these the ring has the order in which they came; and where network memory has no room.

use std::collections::VecDeque;

use chasqui_abi::{Envelope, match_key};
use chasqui_engine::Packet;
use chasqui_memory::Incoming;
use chasqui_ni::{BusOperation, Context, DmaWriter, Ring, SlotQueue, line_parts};
use chasqui_placement::ProcessId;
use chasqui_record::Stage;

use super::events::{NicEvent, Owner};
use super::{
    ENVELOPE, PACKET_FLAGS_SHIFT, PACKET_ORDINAL_SHIFT, PACKET_PROCESS_SHIFT, PACKET_PUT, Shared, is_message,
    networks,
};
use crate::mechanism::Mechanism;
use crate::parameters::Policy;
use crate::registers::{FLAG_BUFFER, FLAG_CACHED, FLAG_NAMED, NetcacheArrival, ORDINAL_ENTERED, SLOT_BYTES};

/// Bytes of a packet's first word.
const WORD: usize = size_of::<u64>();
/// Bytes of an arrival.
pub(super) const ARRIVAL: u64 = size_of::<NetcacheArrival>() as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Control, or pages that are brought in.
    Busy,
    Writing,
    /// Pages are brought in, or places among the arrivals written, for messages of this process that were not entered.
    Entering(ProcessId),
}

/// A message that only its name leads to: what would be entered, without its number.
#[derive(Clone, Copy, Debug)]
struct Deferred {
    arrival: NetcacheArrival,
    /// It is to be entered.
    is_requested: bool,
}

/// Where a process finds what has arrived.
pub(super) struct Arrivals {
    /// The ring of arrivals, at a virtual address.
    pub ring: SlotQueue,
    /// Virtual address of their buffers.
    pub buffers: u64,
    /// By place in the ring: which of these its message's payload goes to.
    buffer_of: Vec<u32>,
    /// Those that are not entered, in the order in which they came.
    deferred: VecDeque<Deferred>,
    /// Software wants all messages entered.
    listens: bool,
}

/// Packets of one virtual network that have landed.
#[derive(Default)]
struct Landed {
    packets: VecDeque<Box<Packet>>,
    /// Control of the oldest is over: it waits for room among the arrivals or in network memory.
    is_ready: bool,
}

/// The unit that receives. It deals with one packet at a time; virtual networks take turns.
pub(super) struct Receiver {
    /// By process.
    pub arrivals: Vec<Arrivals>,
    /// By virtual network.
    landed: Vec<Landed>,
    /// The virtual network whose packet it is at, or was last.
    turn: usize,
    state: State,
    pub writer: DmaWriter,
    /// The message that is written, if only its name is to lead to it.
    defers: Option<(u64, NetcacheArrival)>,
}

impl Receiver {
    pub fn new(processes: u32, slots: u32, line_bytes: u64) -> Receiver {
        Receiver {
            arrivals: (0..processes).map(|_| Arrivals::new(slots)).collect(),
            landed: (0..networks(processes).count).map(|_| Landed::default()).collect(),
            turn: 0,
            state: State::Idle,
            writer: DmaWriter::new(|number| Owner::Receive.tag(number), line_bytes),
            defers: None,
        }
    }

    /// The oldest packet's tail is here.
    pub fn landed(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = s.link.landed();
        self.landed[usize::from(packet.priority)].packets.push_back(packet);
        self.next(s, c);
    }

    /// The virtual networks, from the one whose turn is next.
    fn turns(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = (self.turn + 1, self.landed.len());
        (first..first + count).map(move |network| network % count)
    }

    /// Control turns to the next packet that it has not seen.
    fn next(&mut self, s: &Shared, c: &mut Context<'_, '_>) {
        if self.state != State::Idle {
            return;
        }
        let is_new = |&network: &usize| {
            let Landed { packets, is_ready } = &self.landed[network];
            !is_ready && !packets.is_empty()
        };
        if let Some(network) = self.turns().find(is_new) {
            (self.turn, self.state) = (network, State::Busy);
            let bytes = self.packet().bytes.len() as u64;
            s.pipeline.begin_with(NicEvent::Received, s.crossing(bytes), c);
        }
    }

    /// The packet that is dealt with.
    fn packet(&self) -> &Packet {
        self.landed[self.turn].packets.front().expect("a packet is dealt with")
    }

    /// There may be room for what waits.
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.enter_requested(s, c);
        for network in self.turns() {
            if self.state == State::Idle && std::mem::take(&mut self.landed[network].is_ready) {
                self.turn = network;
                self.place(s, c);
            }
        }
        // One of these may have found that others must be entered before it: nothing else may come that would see to that.
        self.enter_requested(s, c);
        self.next(s, c);
    }

    /// The packet waits, and those behind it; the unit turns to others.
    fn wait(&mut self) {
        self.landed[self.turn].is_ready = true;
        self.state = State::Idle;
    }

    /// The packet's destination in the process's memory: what must be there before it is written. A message's is its
    /// place among the arrivals, and perhaps its buffer.
    fn destinations(&self, process: ProcessId, packet: &[u8], s: &Shared) -> [(u64, u64); 2] {
        let arrivals = &self.arrivals[process.index()];
        if is_put(packet) {
            let (to, data) = put_parts(packet);
            return [(to, data.len() as u64), (0, 0)];
        }
        let (_, _, _, data) = message_parts(packet);
        let buffered = if s.unit.policy == Policy::Buffer { data.len() as u64 } else { 0 };
        let buffer = arrivals.buffers + u64::from(arrivals.buffer()) * SLOT_BYTES;
        [(arrivals.ring.next(), ARRIVAL), (buffer, buffered)]
    }

    /// Control of the packet is over, or pages are there.
    pub fn go_on_with(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        match self.state {
            State::Entering(process) => self.enter_deferred(process, s, c),
            _ => self.place(s, c),
        }
    }

    /// Looks for a process some of whose deferred messages are to be entered.
    fn enter_requested(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let has_some = |arrivals: &Arrivals| {
            arrivals.ring.has_room() && arrivals.deferred.iter().any(|deferred| deferred.is_requested)
        };
        if self.state == State::Idle
            && let Some(process) = self.arrivals.iter().position(has_some)
        {
            self.enter_deferred(ProcessId(process as u32), s, c);
        }
    }

    /// Enters what is requested of `process`, as much as there is room for.
    fn enter_deferred(&mut self, process: ProcessId, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.collect_bound(process, s, c);
        self.state = State::Entering(process);
        let arrivals = &self.arrivals[process.index()];
        let count =
            arrivals.deferred.iter().filter(|deferred| deferred.is_requested).count().min(arrivals.room());
        for at in 0..count as u32 {
            match c.bring_in(
                process,
                arrivals.ring.ring.slot(arrivals.ring.producer.wrapping_add(at)),
                ARRIVAL,
                true,
            ) {
                Ok(0) => {}
                Ok(pages) => {
                    s.counters.pages_in += pages;
                    return s.pipeline.begin_with(NicEvent::PagesIn, pages * s.unit.page_in.cycles(), c);
                }
                Err(at) => {
                    c.fault(process, format!("the NIC has to write to {at:#x}, which is not mapped"));
                    self.arrivals[process.index()].deferred.clear();
                    self.state = State::Idle;
                    return;
                }
            }
        }
        for _ in 0..count {
            let deferred = &mut self.arrivals[process.index()].deferred;
            let at = deferred.iter().position(|deferred| deferred.is_requested).expect("it was counted");
            let Deferred { arrival, .. } = deferred.remove(at).expect("it was found");
            self.write_entry(process, arrival, s, c);
        }
        if !self.writer.start(c) {
            self.state = State::Idle;
        }
    }

    /// The next place among the arrivals is `arrival`'s.
    fn write_entry(
        &mut self,
        process: ProcessId,
        arrival: NetcacheArrival,
        s: &mut Shared,
        c: &mut Context<'_, '_>,
    ) {
        let ring = &mut self.arrivals[process.index()].ring;
        let entry = NetcacheArrival { number: ring.producer.wrapping_add(1), ..arrival };
        s.write(&mut self.writer, (process, ring.next()), &entry.to_bytes(), c);
        ring.push();
        s.counters.entered += 1;
    }

    /// Messages of the hart of `process` that have been bound are nobody's any more.
    fn collect_bound(&mut self, process: ProcessId, s: &mut Shared, c: &mut Context<'_, '_>) {
        for (of, offset) in s.collect_bound(process, c) {
            self.arrivals[of.index()]
                .deferred
                .retain(|deferred| u64::from(deferred.arrival.buffer) != offset);
        }
    }

    /// All is written that was to be.
    pub fn written(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if let State::Entering(_) = self.state {
            self.state = State::Idle;
            return;
        }
        let process = process_of(&self.packet().bytes);
        if let Some((id, arrival)) = self.defers.take()
            && !c.port_of(process).has_landed(id)
        {
            let arrivals = &mut self.arrivals[process.index()];
            arrivals.deferred.push_back(Deferred { arrival, is_requested: arrivals.listens });
        }
        self.finish(s, c);
    }

    /// Control of the packet is over, or its pages are there.
    fn place(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.packet().bytes.clone();
        let process = process_of(&packet);
        // Before MPI_Init has set the rings up a message waits, and whatever comes behind it.
        if !is_put(&packet) && !self.arrivals[process.index()].takes_message(s) {
            return self.wait();
        }
        let mut missing = 0;
        for (address, bytes) in self.destinations(process, &packet, s) {
            match c.bring_in(process, address, bytes, true) {
                Ok(pages) => missing += pages,
                Err(at) => {
                    c.fault(process, format!("the NIC has to write to {at:#x}, which is not mapped"));
                    return self.finish(s, c);
                }
            }
        }
        if missing > 0 {
            s.counters.pages_in += missing;
            self.state = State::Busy;
            return s.pipeline.begin_with(NicEvent::PagesIn, missing * s.unit.page_in.cycles(), c);
        }
        if is_put(&packet) {
            let (to, data) = put_parts(&packet);
            s.write(&mut self.writer, (process, to), data, c);
        } else if !self.enter(process, &packet, s, c) {
            return self.wait();
        }
        self.state = State::Writing;
        if !self.writer.start(c) {
            self.finish(s, c);
        }
    }

    /// A message goes where the policy wants it and, unless only its name is to lead to it, among the arrivals. False: there
    /// is no room, or others must be entered before it.
    fn enter(&mut self, process: ProcessId, packet: &[u8], s: &mut Shared, c: &mut Context<'_, '_>) -> bool {
        let (flags, ordinal, envelope, data) = message_parts(packet);
        let number = (u64::from(envelope.source) << 32) | u64::from(envelope.sequence);
        self.collect_bound(process, s, c);
        let may_cache = !data.is_empty() && data.len() as u64 <= s.longest && flags & FLAG_NAMED != 0;
        let is_cached = s.unit.policy == Policy::NetworkCache && may_cache;
        let may_be_deferred = ordinal & ORDINAL_ENTERED == 0 && !self.arrivals[process.index()].listens;
        let is_deferred = is_cached && may_be_deferred && c.port_of(process).keeps(number);
        if !is_deferred && !self.arrivals[process.index()].is_next(&envelope) {
            return false;
        }
        let bytes = data.len() as u32;
        let mut arrival = NetcacheArrival { envelope, bytes, ordinal, ..NetcacheArrival::default() };
        match s.unit.policy {
            _ if data.is_empty() => {}
            Policy::Buffer => {
                let [_, (buffer, _)] = self.destinations(process, packet, s);
                arrival.buffer = self.arrivals[process.index()].buffer();
                s.write(&mut self.writer, (process, buffer), data, c);
            }
            _ => {
                let Some(offset) = s.pools[process.index()].take(data.len() as u64) else {
                    self.arrivals[process.index()].ask_for_all();
                    return false;
                };
                let address = s.memory_of(process) + offset;
                (arrival.buffer, arrival.flags) = (offset as u32, FLAG_BUFFER | flags & FLAG_NAMED);
                if is_cached {
                    arrival.flags |= FLAG_CACHED;
                    let incoming = Incoming {
                        id: number,
                        key: key(&envelope),
                        ordinal,
                        is_kept: is_deferred,
                        offset: 0,
                        length: bytes,
                    };
                    self.deposit((process, incoming), address, data, s);
                    c.travels_by(process, self.packet().message, Mechanism::Deposit);
                } else {
                    c.memory.slice_mut(address, data.len()).expect("network memory").copy_from_slice(data);
                }
            }
        }
        if is_deferred {
            self.defers = Some((number, arrival));
        } else {
            self.write_entry(process, arrival, s, c);
        }
        s.counters.received += 1;
        true
    }

    /// The message goes into the buffer at physical address `address`, and into the network cache.
    fn deposit(&mut self, (process, incoming): (ProcessId, Incoming), address: u64, data: &[u8], s: &Shared) {
        for (offset, bytes) in line_parts(address, data.len() as u64, s.line_bytes) {
            let operation = BusOperation::Deposit(process, Incoming { offset: offset as u32, ..incoming });
            let part = data[offset as usize..][..bytes as usize].to_vec();
            self.writer.add_part(operation, address + offset, part, None);
        }
    }

    /// Part `number` takes its place in memory.
    pub fn granted(&mut self, number: usize, c: &mut Context<'_, '_>) {
        self.writer.granted(number, c);
    }

    /// The packet is in the node: its room in the receive buffer goes back.
    fn finish(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.landed[self.turn].packets.pop_front().expect("a packet is dealt with");
        c.stamp(process_of(&packet.bytes), packet.message, Stage::Land, c.now);
        s.link.release(packet.priority, c);
        self.state = State::Idle;
        // What waits for room comes first, when the unit looks for it.
        if !self.landed.iter().any(|landed| landed.is_ready) {
            self.next(s, c);
        }
    }
}

impl Arrivals {
    fn new(slots: u32) -> Arrivals {
        let ring = SlotQueue::new(Ring { base: 0, slots, slot_bytes: ARRIVAL });
        let buffer_of = (0..slots).collect();
        Arrivals { ring, buffers: 0, buffer_of, deferred: VecDeque::new(), listens: false }
    }

    /// The buffer of the next arrival.
    fn buffer(&self) -> u32 {
        self.buffer_of[(self.ring.producer % self.ring.ring.slots) as usize]
    }

    /// The place in the high half of `value` has the buffer in its low half from now on, one of `count`.
    ///
    /// # Errors
    /// That can't be: what the process did wrong, in words.
    pub fn set_buffer(&mut self, value: u64, count: u64) -> Result<(), String> {
        let (place, buffer) = ((value >> 32) as usize, value as u32);
        let slots = self.buffer_of.len();
        match self.buffer_of.get_mut(place) {
            Some(of) if u64::from(buffer) < count => *of = buffer,
            _ => {
                return Err(format!(
                    "place {place}, buffer {buffer} were stored to BUFFER; there are {slots} places and {count} buffers"
                ));
            }
        }
        Ok(())
    }

    /// Software wants all messages entered from now on, or no more.
    pub fn listen(&mut self, listens: bool) {
        self.listens = listens;
        if listens {
            self.ask_for_all();
        }
    }

    /// Nothing must be entered before a message with this envelope. Else what came before it in its communicator, and was
    /// not entered, is to be.
    fn is_next(&mut self, envelope: &Envelope) -> bool {
        let mut is_next = true;
        for deferred in self.deferred.iter_mut().filter(|_| is_message(envelope)) {
            if deferred.arrival.envelope.context == envelope.context {
                (deferred.is_requested, is_next) = (true, false);
            }
        }
        is_next
    }

    /// All that were not entered are to be.
    fn ask_for_all(&mut self) {
        self.deferred.iter_mut().for_each(|deferred| deferred.is_requested = true);
    }

    /// Messages that can be entered.
    fn room(&self) -> usize {
        (self.ring.ring.slots - self.ring.producer.wrapping_sub(self.ring.consumer)) as usize
    }

    /// There is room for a message, and software has said where.
    fn takes_message(&self, s: &Shared) -> bool {
        let has_buffers = self.buffers != 0 || s.unit.policy != Policy::Buffer;
        self.ring.has_room() && self.ring.ring.base != 0 && has_buffers
    }
}

/// The process that a packet is for.
pub(super) fn process_of(packet: &[u8]) -> ProcessId {
    ProcessId((word(packet) >> PACKET_PROCESS_SHIFT) as u8 as u32)
}

/// What a receive of the library asks for.
fn key(envelope: &Envelope) -> u64 {
    match_key(envelope.source.into(), envelope.context.into(), envelope.tag as u32)
}

fn is_put(packet: &[u8]) -> bool {
    u64::from(packet[0]) == PACKET_PUT
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..WORD].try_into().expect("eight bytes"))
}

/// Where a piece of a block goes, and the piece.
fn put_parts(packet: &[u8]) -> (u64, &[u8]) {
    let (address, data) = packet[WORD..].split_at(WORD);
    (word(address), data)
}

/// Envelope and data of a packet that brings a message; none: it is a piece of a block.
pub(crate) fn read_message(packet: &[u8]) -> Option<(Envelope, &[u8])> {
    if is_put(packet) {
        return None;
    }
    let (_, _, envelope, data) = message_parts(packet);
    Some((envelope, data))
}

/// A message's flags, ordinal, envelope and data.
fn message_parts(packet: &[u8]) -> (u32, u32, Envelope, &[u8]) {
    let (envelope, data) = packet[WORD..].split_at(ENVELOPE);
    let (flags, ordinal) = (word(packet) >> PACKET_FLAGS_SHIFT, word(packet) >> PACKET_ORDINAL_SHIFT);
    (u32::from(flags as u16), ordinal as u32, Envelope::from_bytes(envelope), data)
}

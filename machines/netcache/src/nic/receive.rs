//! Receiving: one packet after the other. A piece of a block is written to where it goes; a message is put where the
//! policy wants it, then entered in the ring of arrivals of its process. One for which there is no room there waits, and
//! those behind it in its virtual network; the others' turn comes meanwhile.

use std::collections::VecDeque;

use chasqui_abi::Envelope;
use chasqui_engine::Packet;
use chasqui_memory::Incoming;
use chasqui_ni::{BusOperation, Context, DmaWriter, Ring, SlotQueue, line_parts};
use chasqui_placement::ProcessId;
use chasqui_record::Stage;

use super::events::{NicEvent, Owner};
use super::{ENVELOPE, PACKET_PROCESS_SHIFT, PACKET_PUT, Shared, networks};
use crate::mechanism::Mechanism;
use crate::parameters::Policy;
use crate::registers::{FLAG_BUFFER, FLAG_CACHED, FLAG_EARLY, FLAG_NAMED, NetcacheArrival, SLOT_BYTES};

/// Bytes of a packet's first word.
const WORD: usize = size_of::<u64>();
/// Bytes of an arrival.
pub(super) const ARRIVAL: u64 = size_of::<NetcacheArrival>() as u64;

/// Its flags begin so many bytes before its end.
const FLAGS_FROM_END: usize = size_of::<NetcacheArrival>() - std::mem::offset_of!(NetcacheArrival, flags);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Control, or pages that are brought in.
    Busy,
    Writing,
}

/// Where a process finds what has arrived.
pub(super) struct Arrivals {
    /// The ring of arrivals, at a virtual address.
    pub ring: SlotQueue,
    /// Virtual address of their buffers.
    pub buffers: u64,
    /// By place in the ring: which of these its message's payload goes to.
    buffer_of: Vec<u32>,
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
    /// Of the message that is written: its name, and the flags of its arrival if it lands where its receive has
    /// reserved a line.
    may_land: Option<(u64, u32)>,
}

impl Receiver {
    pub fn new(processes: u32, slots: u32, line_bytes: u64) -> Receiver {
        Receiver {
            arrivals: (0..processes).map(|_| Arrivals::new(slots)).collect(),
            landed: (0..networks(processes).count).map(|_| Landed::default()).collect(),
            turn: 0,
            state: State::Idle,
            writer: DmaWriter::new(|number| Owner::Receive.tag(number), line_bytes),
            may_land: None,
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
        for network in self.turns() {
            if self.state == State::Idle && std::mem::take(&mut self.landed[network].is_ready) {
                self.turn = network;
                self.place(s, c);
            }
        }
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
        let (_, _, data) = message_parts(packet);
        let buffered = if s.unit.policy == Policy::Buffer { data.len() as u64 } else { 0 };
        let buffer = arrivals.buffers + u64::from(arrivals.buffer()) * SLOT_BYTES;
        [(arrivals.ring.next(), ARRIVAL), (buffer, buffered)]
    }

    /// Control of the packet is over, or its pages are there.
    pub fn place(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
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
                    c.fault(process, format!("the NIC was told to write to {at:#x}, which is not mapped"));
                    return self.finish(s, c);
                }
            }
        }
        if missing > 0 {
            s.counters.pages_in += missing;
            self.state = State::Busy;
            return s.pipeline.begin_with(NicEvent::PagesIn, missing * s.unit.page_in.cycles(), c);
        }
        self.may_land = None;
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

    /// A message goes where the policy wants it and among the arrivals. False: network memory has no room.
    fn enter(&mut self, process: ProcessId, packet: &[u8], s: &mut Shared, c: &mut Context<'_, '_>) -> bool {
        let (flags, envelope, data) = message_parts(packet);
        let [(entry, _), (buffer, _)] = self.destinations(process, packet, s);
        let mut arrival = NetcacheArrival {
            envelope,
            bytes: data.len() as u32,
            number: self.arrivals[process.index()].ring.producer.wrapping_add(1),
            ..NetcacheArrival::default()
        };
        let incoming = Incoming {
            id: u64::from(envelope.source) << 32 | u64::from(envelope.sequence),
            key: key(&envelope),
            number: arrival.number,
            offset: 0,
            length: data.len() as u32,
        };
        match s.unit.policy {
            _ if data.is_empty() => {}
            Policy::Buffer => {
                arrival.buffer = self.arrivals[process.index()].buffer();
                s.write(&mut self.writer, (process, buffer), data, c);
            }
            policy => {
                s.collect_bound(process, c);
                let Some(offset) = s.pools[process.index()].take(data.len() as u64) else { return false };
                let address = s.memory_of(process) + offset;
                (arrival.buffer, arrival.flags) = (offset as u32, FLAG_BUFFER | flags & FLAG_NAMED);
                let is_short = data.len() as u64 <= s.longest && flags & FLAG_NAMED != 0;
                if policy == Policy::NetworkCache && is_short {
                    arrival.id = incoming.id;
                    arrival.flags |= FLAG_CACHED;
                    self.may_land = Some((arrival.id, arrival.flags | FLAG_EARLY));
                    self.deposit((process, incoming), address, data, s);
                    c.travels_by(process, self.packet().message, Mechanism::Deposit);
                } else {
                    c.memory.slice_mut(address, data.len()).expect("network memory").copy_from_slice(data);
                }
            }
        }
        // Of any message the network cache must hear, for which a line may have been reserved.
        if s.announces && flags & FLAG_NAMED != 0 && arrival.flags & FLAG_CACHED == 0 {
            let operation = BusOperation::Deposit(process, incoming);
            self.writer.add_part(operation, s.memory_of(process), vec![], None);
        }
        s.write(&mut self.writer, (process, entry), &arrival.to_bytes(), c);
        self.arrivals[process.index()].ring.push();
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

    /// Part `number` takes its place in memory. What comes last says whether the message has landed where its receive
    /// had reserved a line.
    pub fn granted(&mut self, number: usize, c: &mut Context<'_, '_>) {
        if self.writer.is_last(number)
            && let Some((id, flags)) = self.may_land
            && c.port_of(process_of(&self.packet().bytes)).has_landed(id)
        {
            self.writer.amend(FLAGS_FROM_END, &flags.to_le_bytes());
        }
        self.writer.granted(number, c);
    }

    /// The packet is in the node: its room in the receive buffer goes back.
    pub fn finish(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
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
        Arrivals { ring, buffers: 0, buffer_of: (0..slots).collect() }
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

/// What a receive of the library asks for, as `match_envelope_key` (guest/mpi/runtime/match.h) has it.
fn key(envelope: &Envelope) -> u64 {
    u64::from(envelope.source) << 48 | u64::from(envelope.context) << 32 | u64::from(envelope.tag as u32)
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
    let (_, envelope, data) = message_parts(packet);
    Some((envelope, data))
}

/// A message's flags, envelope and data.
fn message_parts(packet: &[u8]) -> (u32, Envelope, &[u8]) {
    let (envelope, data) = packet[WORD..].split_at(ENVELOPE);
    ((word(packet) >> 32) as u32, Envelope::from_bytes(envelope), data)
}

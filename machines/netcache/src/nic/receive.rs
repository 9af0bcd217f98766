//! Receiving: one packet after the other. A piece of a block is written to where it goes; a message is put where the
//! policy wants it, then entered in the ring of arrivals.

use std::collections::VecDeque;

use chasqui_abi::Envelope;
use chasqui_engine::Packet;
use chasqui_memory::Incoming;
use chasqui_ni::{BusOperation, Context, DmaWriter, Ring, SlotQueue, line_parts};
use chasqui_record::Stage;

use super::events::{NicEvent, Owner};
use super::{ENVELOPE, PACKET_PUT, PROCESS, Shared};
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
    /// It waits for room among the arrivals or in network memory.
    Blocked,
    Writing,
}

/// The unit that receives.
pub(super) struct Receiver {
    /// The ring of arrivals, at a virtual address.
    pub arrivals: SlotQueue,
    /// Virtual address of the ring of their buffers.
    pub buffers: u64,
    /// Packets that have landed.
    landed: VecDeque<Box<Packet>>,
    state: State,
    pub writer: DmaWriter,
    /// Of the message that is written: its name, and the flags of its arrival if it lands where its receive has
    /// reserved a line.
    may_land: Option<(u64, u32)>,
}

impl Receiver {
    pub fn new(slots: u32, line_bytes: u64) -> Receiver {
        Receiver {
            arrivals: SlotQueue::new(Ring { base: 0, slots, slot_bytes: ARRIVAL }),
            buffers: 0,
            landed: VecDeque::new(),
            state: State::Idle,
            writer: DmaWriter::new(|number| Owner::Receive.tag(number), line_bytes),
            may_land: None,
        }
    }

    /// The oldest packet's tail is here.
    pub fn landed(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.landed.push_back(s.link.landed());
        self.next(s, c);
    }

    fn next(&mut self, s: &Shared, c: &mut Context<'_, '_>) {
        if self.state != State::Idle {
            return;
        }
        if let Some(packet) = self.landed.front() {
            self.state = State::Busy;
            s.pipeline.begin_with(NicEvent::Received, s.crossing(packet.bytes.len() as u64), c);
        }
    }

    /// There may be room for what waits.
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.state == State::Blocked {
            self.place(s, c);
        }
    }

    /// The packet's destination in the process's memory: what must be there before it is written. A message's is its
    /// place among the arrivals, and perhaps its buffer.
    fn destinations(&self, packet: &[u8], s: &Shared) -> [(u64, u64); 2] {
        if is_put(packet) {
            let (to, data) = put_parts(packet);
            return [(to, data.len() as u64), (0, 0)];
        }
        let (_, _, data) = message_parts(packet);
        let buffered = if s.unit.policy == Policy::Buffer { data.len() as u64 } else { 0 };
        let buffers = Ring { base: self.buffers, slot_bytes: SLOT_BYTES, ..self.arrivals.ring };
        [(self.arrivals.next(), ARRIVAL), (buffers.slot(self.arrivals.producer), buffered)]
    }

    /// Software has said where its rings are.
    fn is_set_up(&self, s: &Shared) -> bool {
        self.arrivals.ring.base != 0 && (self.buffers != 0 || s.unit.policy != Policy::Buffer)
    }

    /// Control of the oldest packet is over, or its pages are there.
    pub fn place(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.landed.front().expect("a packet is dealt with").bytes.clone();
        // Before MPI_Init has set the rings up a message waits, and whatever comes behind it.
        if !is_put(&packet) && (!self.arrivals.has_room() || !self.is_set_up(s)) {
            self.state = State::Blocked;
            return;
        }
        let mut missing = 0;
        for (address, bytes) in self.destinations(&packet, s) {
            match c.bring_in(PROCESS, address, bytes, true) {
                Ok(pages) => missing += pages,
                Err(at) => {
                    c.fault(PROCESS, format!("the NIC was told to write to {at:#x}, which is not mapped"));
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
            s.write(&mut self.writer, to, data, c);
        } else if !self.enter(&packet, s, c) {
            self.state = State::Blocked;
            return;
        }
        self.state = State::Writing;
        if !self.writer.start(c) {
            self.finish(s, c);
        }
    }

    /// A message goes where the policy wants it and among the arrivals. False: network memory has no room.
    fn enter(&mut self, packet: &[u8], s: &mut Shared, c: &mut Context<'_, '_>) -> bool {
        let (flags, envelope, data) = message_parts(packet);
        let [(entry, _), (buffer, _)] = self.destinations(packet, s);
        let mut arrival = NetcacheArrival {
            envelope,
            bytes: data.len() as u32,
            number: self.arrivals.producer.wrapping_add(1),
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
            Policy::Buffer => s.write(&mut self.writer, buffer, data, c),
            policy => {
                s.collect_bound(c);
                let Some(offset) = s.pools.take(data.len() as u64) else { return false };
                (arrival.buffer, arrival.flags) = (offset as u32, FLAG_BUFFER | flags & FLAG_NAMED);
                let is_short = data.len() as u64 <= s.longest && flags & FLAG_NAMED != 0;
                if policy == Policy::NetworkCache && is_short {
                    arrival.id = incoming.id;
                    arrival.flags |= FLAG_CACHED;
                    self.may_land = Some((arrival.id, arrival.flags | FLAG_EARLY));
                    self.deposit(incoming, s.memory.start + offset, data, s);
                    c.travels_by(PROCESS, self.landed[0].message, Mechanism::Deposit as u32);
                } else {
                    let address = s.memory.start + offset;
                    c.memory.slice_mut(address, data.len()).expect("network memory").copy_from_slice(data);
                }
            }
        }
        // Of any message the network cache must hear, for which a line may have been reserved.
        if s.announces && flags & FLAG_NAMED != 0 && arrival.flags & FLAG_CACHED == 0 {
            self.writer.add_part(BusOperation::Deposit(incoming), s.memory.start, vec![], None);
        }
        s.write(&mut self.writer, entry, &arrival.to_bytes(), c);
        self.arrivals.push();
        s.counters.received += 1;
        true
    }

    /// The message goes into the buffer at physical address `address`, and into the network cache.
    fn deposit(&mut self, incoming: Incoming, address: u64, data: &[u8], s: &Shared) {
        for (offset, bytes) in line_parts(address, data.len() as u64, s.line_bytes) {
            let operation = BusOperation::Deposit(Incoming { offset: offset as u32, ..incoming });
            let part = data[offset as usize..][..bytes as usize].to_vec();
            self.writer.add_part(operation, address + offset, part, None);
        }
    }

    /// Part `number` takes its place in memory. What comes last says whether the message has landed where its receive
    /// had reserved a line.
    pub fn granted(&mut self, number: usize, c: &mut Context<'_, '_>) {
        if self.writer.is_last(number)
            && let Some((id, flags)) = self.may_land
            && c.ports[0].has_landed(id)
        {
            self.writer.amend(FLAGS_FROM_END, &flags.to_le_bytes());
        }
        self.writer.granted(number, c);
    }

    /// The packet is in the node: its room in the receive buffer goes back.
    pub fn finish(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.landed.pop_front().expect("a packet is dealt with");
        c.stamp(PROCESS, packet.message, Stage::Land, c.now);
        s.link.release(packet.priority, c);
        self.state = State::Idle;
        self.next(s, c);
    }
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

//! Sending: the NIC reads slots of the transmit ring, and blocks, from the process's memory over the bus, and makes
//! packets of them.

use chasqui_engine::Packet;
use chasqui_memory::PAGE_BYTES;
use chasqui_ni::{BusRequest, Context, DmaReader, MessageKey, Ring, SlotQueue};
use chasqui_record::Stage;

use super::events::{NicEvent, Owner};
use super::{HEADER, PACKET_MESSAGE, PACKET_PUT, PROCESS, Shared};
use crate::mechanism::Mechanism;
use crate::registers::{FLAG_NAMED, FLAG_PUT, NetcacheSlot, SLOT_BYTES};

/// What is done of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Its header is read.
    Header,
    /// The data of its message.
    Data,
    /// The next piece of its block.
    Piece,
    /// The envelope that follows the block is sent.
    Last,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// It waits for a place among the packets.
    Ready(Step),
    /// Control, or a page that is brought in.
    Preparing(Step),
    Reading(Step),
    /// The packet leaves.
    Crossing(Step),
}

/// The unit that sends.
pub(super) struct Transmitter {
    /// The ring, at a virtual address: slots lie within pages.
    pub queue: SlotQueue,
    state: State,
    reader: DmaReader,
    slot: NetcacheSlot,
    /// Bytes of the block that have been sent.
    sent: u64,
    /// The packet that leaves.
    packet: Vec<u8>,
}

impl Transmitter {
    pub fn new(slots: u32, line_bytes: u64) -> Transmitter {
        Transmitter {
            queue: SlotQueue::new(Ring { base: 0, slots, slot_bytes: SLOT_BYTES }),
            state: State::Idle,
            reader: DmaReader::new(|number| Owner::Transmit.tag(number), line_bytes),
            slot: NetcacheSlot::default(),
            sent: 0,
            packet: vec![],
        }
    }

    pub fn go_on(&mut self, s: &Shared, c: &mut Context<'_, '_>) {
        if self.state == State::Idle && !self.queue.is_empty() {
            self.state = State::Ready(Step::Header);
        }
        if let State::Ready(step) = self.state
            && s.has_room()
        {
            self.state = State::Preparing(step);
            s.pipeline.begin(NicEvent::Prepared, c);
        }
    }

    /// What `step` reads: its virtual address and length.
    fn source(&self, step: Step, s: &Shared) -> (u64, u64) {
        match step {
            Step::Header => (self.queue.oldest(), HEADER),
            Step::Data => (self.queue.oldest().wrapping_add(HEADER), self.slot.bytes),
            Step::Piece => {
                // Pieces end at multiples of their length at the destination, so that they write whole lines there.
                let [from, to] = [self.slot.from, self.slot.to].map(|at| at.wrapping_add(self.sent));
                let piece = s.unit.packet_data.bytes();
                let room = (piece - to % piece).min(PAGE_BYTES - from % PAGE_BYTES);
                (from, room.min(self.slot.bytes - self.sent))
            }
            Step::Last => (0, 0),
        }
    }

    /// Control is over: the step's data are read.
    pub fn prepared(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let State::Preparing(step) = self.state else { unreachable!("control of nothing") };
        let (from, bytes) = self.source(step, s);
        if bytes == 0 {
            return self.read(step, &[], s, c);
        }
        match c.bring_in(PROCESS, from, bytes, false) {
            Ok(0) => self.ask(step, s, c),
            Ok(missing) => {
                s.counters.pages_in += missing;
                s.pipeline.begin_with(NicEvent::SourceIn, missing * s.unit.page_in.cycles(), c);
            }
            Err(at) => self.refuse(at, c),
        }
    }

    fn ask(&mut self, step: Step, s: &Shared, c: &mut Context<'_, '_>) {
        let (from, bytes) = self.source(step, s);
        match self.reader.read((PROCESS, from), bytes, c) {
            Ok(_) => self.state = State::Reading(step),
            // The process has given the page up.
            Err(at) => self.refuse(at, c),
        }
    }

    /// A line takes its place in the order of the bus.
    pub fn granted(&mut self, number: usize, request: BusRequest, c: &Context<'_, '_>) {
        self.reader.granted(number, request, c);
    }

    /// A line has been read.
    pub fn line_read(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let State::Reading(step) = self.state else { unreachable!("a line for nobody") };
        if let Some(data) = self.reader.done() {
            self.read(step, &data, s, c);
        }
    }

    /// All that `step` reads is here.
    fn read(&mut self, step: Step, data: &[u8], s: &mut Shared, c: &mut Context<'_, '_>) {
        match step {
            Step::Header => self.begin(NetcacheSlot::from_bytes(data), s, c),
            Step::Data | Step::Last => self.leave(step, PACKET_MESSAGE, data, s, c),
            Step::Piece => self.leave(step, PACKET_PUT, data, s, c),
        }
    }

    fn begin(&mut self, slot: NetcacheSlot, s: &mut Shared, c: &mut Context<'_, '_>) {
        if u32::from(slot.envelope.destination) >= s.link.port().nodes() {
            c.fault(PROCESS, format!("a message to rank {}, which is not there", slot.envelope.destination));
            return self.retire();
        }
        let is_put = slot.flags & FLAG_PUT != 0;
        if !is_put && slot.bytes > SLOT_BYTES - HEADER {
            c.fault(PROCESS, format!("a slot with {} bytes of data", slot.bytes));
            return self.retire();
        }
        (self.slot, self.sent) = (slot, 0);
        c.stamp(PROCESS, self.message(), Stage::Accept, c.now);
        let mechanism = if is_put { Mechanism::Put } else { Mechanism::Slot };
        s.counters.sent += 1;
        c.travels_by(PROCESS, self.message(), mechanism as u32);
        match (is_put, slot.bytes) {
            (true, 0) => self.state = State::Ready(Step::Last),
            (true, _) => self.state = State::Ready(Step::Piece),
            (false, 0) => self.leave(Step::Data, PACKET_MESSAGE, &[], s, c),
            (false, _) => self.ask(Step::Data, s, c),
        }
    }

    /// The message's record, if the envelope names it.
    fn message(&self) -> MessageKey {
        let is_named = self.slot.flags & (FLAG_NAMED | FLAG_PUT) != 0;
        self.slot.envelope.message().filter(|_| is_named)
    }

    /// A packet leaves the NIC's memory for the link.
    fn leave(&mut self, step: Step, kind: u64, data: &[u8], s: &Shared, c: &mut Context<'_, '_>) {
        let flags = u64::from(self.slot.flags & FLAG_NAMED);
        self.packet = (kind | flags << 32).to_le_bytes().to_vec();
        match step {
            Step::Piece => self.packet.extend(self.slot.to.wrapping_add(self.sent).to_le_bytes()),
            _ => self.packet.extend(self.slot.envelope.to_bytes()),
        }
        self.packet.extend_from_slice(data);
        if step == Step::Piece {
            self.sent += data.len() as u64;
        }
        self.state = State::Crossing(step);
        s.pipeline.begin_with(NicEvent::Crossed, s.crossing(self.packet.len() as u64), c);
    }

    /// It waits for the link.
    pub fn crossed(&mut self, s: &mut Shared) {
        let State::Crossing(step) = self.state else { unreachable!("a packet of nothing") };
        let bytes = std::mem::take(&mut self.packet);
        s.counters.packets += 1;
        s.packets.push_back(Box::new(Packet {
            source: s.link.port().node(),
            destination: u32::from(self.slot.envelope.destination),
            wire_bytes: (bytes.len() as u64 + s.unit.packet_overhead.bytes()) as u32,
            bytes,
            message: self.message(),
            ..Packet::default()
        }));
        match step {
            Step::Piece if self.sent < self.slot.bytes => self.state = State::Ready(Step::Piece),
            Step::Piece => self.state = State::Ready(Step::Last),
            _ => self.retire(),
        }
    }

    /// What the slot names is not the process's.
    fn refuse(&mut self, address: u64, c: &mut Context<'_, '_>) {
        c.fault(PROCESS, format!("the NIC was told to read {address:#x}, which is not mapped"));
        self.retire();
    }

    fn retire(&mut self) {
        self.queue.pop();
        self.state = State::Idle;
    }
}

//! Sending: the NIC reads slots of the transmit ring, and blocks, from the process's memory over the bus, and makes
//! packets of them. Processes take turns, packet by packet, so that a long block, or packets that wait for room in the
//! network, hold up their own process alone.

use chasqui_engine::Packet;
use chasqui_memory::PAGE_BYTES;
use chasqui_ni::{BusRequest, Context, DmaReader, MessageKey, Ring, SlotQueue};
use chasqui_placement::{NodeId, Place, ProcessId};
use chasqui_record::Stage;

use super::events::{NicEvent, Owner};
use super::{
    HEADER, PACKET_FLAGS_SHIFT, PACKET_MESSAGE, PACKET_ORDINAL_SHIFT, PACKET_PROCESS_SHIFT, PACKET_PUT,
    Shared, turns,
};
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

/// What the unit is at, for one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Control, or a page that is brought in.
    Preparing(Step),
    Reading(Step),
    /// The packet leaves.
    Crossing(Step),
}

/// What a process sends.
pub(super) struct Sender {
    /// The ring, at a virtual address: slots lie within pages.
    pub queue: SlotQueue,
    /// The oldest slot is not done with: this comes next.
    next: Option<Step>,
    slot: NetcacheSlot,
    /// Bytes of its block that have been sent.
    sent: u64,
    /// Where its message goes.
    place: Place,
}

/// The unit that sends. It deals with one packet at a time; processes take turns.
pub(super) struct Transmitter {
    /// By process.
    pub senders: Vec<Sender>,
    /// Whose packet it is at, or was last.
    turn: ProcessId,
    state: Option<State>,
    reader: DmaReader,
    /// The packet that leaves.
    packet: Vec<u8>,
}

impl Transmitter {
    pub fn new(processes: u32, slots: u32, line_bytes: u64) -> Transmitter {
        let sender = |_| Sender {
            queue: SlotQueue::new(Ring { base: 0, slots, slot_bytes: SLOT_BYTES }),
            next: None,
            slot: NetcacheSlot::default(),
            sent: 0,
            place: Place { node: NodeId(0), process: ProcessId(0) },
        };
        Transmitter {
            senders: (0..processes).map(sender).collect(),
            turn: ProcessId(0),
            state: None,
            reader: DmaReader::new(|number| Owner::Transmit.tag(number), line_bytes),
            packet: vec![],
        }
    }

    pub fn go_on(&mut self, s: &Shared, c: &mut Context<'_, '_>) {
        if self.state.is_some() {
            return;
        }
        let has_work = |process: &ProcessId| {
            let sender = &self.senders[process.index()];
            (sender.next.is_some() || !sender.queue.is_empty()) && s.has_room(*process)
        };
        if let Some(process) = turns(self.turn, self.senders.len()).find(has_work) {
            self.turn = process;
            let step = self.sender().next.take().unwrap_or(Step::Header);
            self.state = Some(State::Preparing(step));
            s.pipeline.begin(NicEvent::Prepared, c);
        }
    }

    fn sender(&mut self) -> &mut Sender {
        &mut self.senders[self.turn.index()]
    }

    /// What `step` reads: its virtual address and length.
    fn source(&self, step: Step, s: &Shared) -> (u64, u64) {
        let Sender { queue, slot, sent, .. } = &self.senders[self.turn.index()];
        match step {
            Step::Header => (queue.oldest(), HEADER),
            Step::Data => (queue.oldest().wrapping_add(HEADER), slot.bytes),
            Step::Piece => {
                // Pieces end at multiples of their length at the destination, so that they write whole lines there.
                let [from, to] = [slot.from, slot.to].map(|at| at.wrapping_add(*sent));
                let piece = s.unit.packet_data.bytes();
                let room = (piece - to % piece).min(PAGE_BYTES - from % PAGE_BYTES);
                (from, room.min(slot.bytes - sent))
            }
            Step::Last => (0, 0),
        }
    }

    /// Control is over: the step's data are read.
    pub fn prepared(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let Some(State::Preparing(step)) = self.state else { unreachable!("control of nothing") };
        let (from, bytes) = self.source(step, s);
        if bytes == 0 {
            return self.read(step, &[], s, c);
        }
        match c.bring_in(self.turn, from, bytes, false) {
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
        match self.reader.read((self.turn, from), bytes, c) {
            Ok(_) => self.state = Some(State::Reading(step)),
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
        let Some(State::Reading(step)) = self.state else { unreachable!("a line for nobody") };
        if let Some(data) = self.reader.done(c) {
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
        let process = self.turn;
        let Some(place) = s.place(process, slot.envelope.destination) else {
            c.fault(process, format!("a message to rank {}, which is not there", slot.envelope.destination));
            return self.retire();
        };
        let is_put = slot.flags & FLAG_PUT != 0;
        if !is_put && slot.bytes > SLOT_BYTES - HEADER {
            c.fault(process, format!("a slot with {} bytes of data", slot.bytes));
            return self.retire();
        }
        let sender = self.sender();
        (sender.slot, sender.sent, sender.place) = (slot, 0, place);
        let message = sender.message();
        c.stamp(process, message, Stage::Accept, c.now);
        let mechanism = if is_put { Mechanism::Put } else { Mechanism::Slot };
        s.counters.sent += 1;
        c.travels_by(process, message, mechanism);
        match (is_put, slot.bytes) {
            (true, 0) => self.pause(Step::Last),
            (true, _) => self.pause(Step::Piece),
            (false, 0) => self.leave(Step::Data, PACKET_MESSAGE, &[], s, c),
            (false, _) => self.ask(Step::Data, s, c),
        }
    }

    /// A packet of another process may come before the next of this slot.
    fn pause(&mut self, step: Step) {
        self.state = None;
        self.sender().next = Some(step);
    }

    /// A packet leaves the NIC's memory for the link.
    fn leave(&mut self, step: Step, kind: u64, data: &[u8], s: &Shared, c: &mut Context<'_, '_>) {
        let sender = &mut self.senders[self.turn.index()];
        let flags = u64::from(sender.slot.flags & FLAG_NAMED) << PACKET_FLAGS_SHIFT;
        let process = u64::from(sender.place.process.0) << PACKET_PROCESS_SHIFT;
        let ordinal = u64::from(sender.slot.ordinal) << PACKET_ORDINAL_SHIFT;
        self.packet = (kind | process | flags | ordinal).to_le_bytes().to_vec();
        match step {
            Step::Piece => self.packet.extend(sender.slot.to.wrapping_add(sender.sent).to_le_bytes()),
            _ => self.packet.extend(sender.slot.envelope.to_bytes()),
        }
        self.packet.extend_from_slice(data);
        if step == Step::Piece {
            sender.sent += data.len() as u64;
        }
        self.state = Some(State::Crossing(step));
        s.pipeline.begin_with(NicEvent::Crossed, s.crossing(self.packet.len() as u64), c);
    }

    /// It waits for the link.
    pub fn crossed(&mut self, s: &mut Shared) {
        let Some(State::Crossing(step)) = self.state else { unreachable!("a packet of nothing") };
        let bytes = std::mem::take(&mut self.packet);
        let process = self.turn;
        let sender = self.sender();
        let (place, message) = (sender.place, sender.message());
        let is_left = sender.sent < sender.slot.bytes;
        s.counters.packets += 1;
        let packet = Box::new(Packet {
            source: s.link.port().node(),
            destination: place.node.0,
            priority: s.network(process, place.process),
            wire_bytes: (bytes.len() as u64 + s.unit.packet_overhead.bytes()) as u32,
            more: false,
            bytes,
            message,
        });
        s.packets[process.index()].push_back(packet);
        match step {
            Step::Piece if is_left => self.pause(Step::Piece),
            Step::Piece => self.pause(Step::Last),
            _ => self.retire(),
        }
    }

    /// What the slot names is not the process's.
    fn refuse(&mut self, address: u64, c: &mut Context<'_, '_>) {
        c.fault(self.turn, format!("the NIC has to read {address:#x}, which is not mapped"));
        self.retire();
    }

    fn retire(&mut self) {
        self.sender().queue.pop();
        self.state = None;
    }
}

impl Sender {
    /// The message's record, if the envelope names it.
    fn message(&self) -> MessageKey {
        let is_named = self.slot.flags & (FLAG_NAMED | FLAG_PUT) != 0;
        self.slot.envelope.message().filter(|_| is_named)
    }
}

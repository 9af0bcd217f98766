//! The network interface. Each direction deals with one message at a time.
//!
//! Out: the processor stores a message to DATA, word by word; SEND puts it into the FIFO. Control takes the oldest and
//! keeps it until the link takes it. In: when a packet has landed and control is over, the message is written to the next
//! slot of the ring by coherent bus transactions of a line or less. While the ring is full packets wait in the receive
//! buffer, and so in the network.

use std::collections::VecDeque;
use std::mem::offset_of;
use std::ops::Range;

use chasqui_abi::{Envelope, NiIdentification};
use chasqui_counters::{Counters, Visitor, counters};
use chasqui_engine::{Clock, Event, Packet, Payload, Time};
use chasqui_memory::{DEVICE_BASE, PAGE_BYTES};
use chasqui_network::{NetworkParameters, NodeEvent, NodePort};
use chasqui_ni::{
    BusOperation, BusRequest, Context, DmaWriter, LinkEnd, NetworkInterface, Pipeline, Promises, Region,
    Reply, Ring, SlotQueue,
};
use chasqui_placement::ProcessId;
use chasqui_record::Stage;

use crate::NiUnit;
use crate::registers::{self, DATA_BYTES, SLOT_BYTES, TemplateSlot};

/// The process that the network interface serves: there is one on a node.
const PROCESS: ProcessId = ProcessId(0);
/// Bytes of an [`Envelope`].
pub(crate) const ENVELOPE: usize = size_of::<Envelope>();
/// Bytes of the registers' words.
const WORD: usize = size_of::<u64>();

chasqui_ni::pipeline! {
    /// The network interface's own events, and what each may lead to.
    enum NiEvent {
        /// The link is free for a packet.
        Start => [Send, Prepared],
        /// Control of the oldest message of the FIFO is over.
        Prepared => [Send, Prepared, Seen],
        /// The oldest packet's tail is here.
        Landed => [Received],
        /// Control of the oldest packet that has landed is over.
        Received => [Bus, Release, Received],
    }
    access => [Prepared, Bus, Release, Received];
    bus => [Release, Received];
    packet => [Landed];
    credit => [Send, Prepared];
}

chasqui_ni::units! {
    /// Who asks for bus transactions.
    enum Unit {
        /// What has come is written.
        Receive,
    }
}

counters! {
    /// Counters of the network interface, beside its link's.
    struct NiStatistics {
        /// Messages sent, the library's own among them.
        sent: "messages";
        /// Messages written to the ring.
        received: "messages";
        /// Packets that had to wait for room in the ring.
        waited: "packets";
    }
}

/// The way out.
#[derive(Default)]
struct Sender {
    /// What has been stored of the next message.
    composed: Vec<u8>,
    fifo: VecDeque<Box<Packet>>,
    /// Messages that have left the FIFO.
    left: u32,
    /// Control is busy with the oldest of the FIFO.
    is_busy: bool,
    /// It waits for the link.
    leaving: Option<Box<Packet>>,
}

/// What the way in does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Control of the oldest packet.
    Busy,
    /// It waits for room in the ring.
    Blocked,
    /// It is written to the ring.
    Writing,
}

/// The way in.
struct Receiver {
    /// The ring, at a virtual address; 0: software has not said it.
    ring: SlotQueue,
    /// Packets that have landed.
    landed: VecDeque<Box<Packet>>,
    state: State,
    writer: DmaWriter,
}

/// What a network interface is made from.
pub(crate) struct NiPlan {
    pub unit: NiUnit,
    /// The bus clock, which is also its own.
    pub clock: Clock,
    /// Length of the outermost cache's lines [bytes], in which it writes.
    pub line_bytes: u64,
    /// The network.
    pub network: NetworkParameters,
    /// Its end of the link.
    pub port: NodePort,
}

/// The network interface of a node.
pub(crate) struct TemplateNi {
    unit: NiUnit,
    clock: Clock,
    link: LinkEnd,
    pipeline: Pipeline<NiEvent>,
    sender: Sender,
    receiver: Receiver,
    counters: NiStatistics,
}

impl TemplateNi {
    pub fn new(plan: NiPlan) -> TemplateNi {
        let NiPlan { unit, clock, line_bytes, network, port } = plan;
        let link = LinkEnd::new(&network, port, unit.packet_bytes().0, NiEvent::Start.into());
        let takes = [(NiEvent::Prepared, unit.send.cycles()), (NiEvent::Received, unit.receive.cycles())];
        TemplateNi {
            pipeline: Pipeline::new(&link, clock, &takes, Some(NiEvent::Landed)),
            link,
            clock,
            sender: Sender::default(),
            receiver: Receiver {
                ring: SlotQueue::new(Ring { base: 0, slots: unit.slots as u32, slot_bytes: SLOT_BYTES }),
                landed: VecDeque::new(),
                state: State::Idle,
                writer: DmaWriter::new(|number| Unit::Receive.tag(number), line_bytes),
            },
            unit,
            counters: NiStatistics::default(),
        }
    }

    // --- out ----------------------------------------------------------------------------------------

    /// The composed message, whose data have `bytes`, goes into the FIFO.
    ///
    /// # Errors
    /// It is none: what the process did wrong, in words.
    fn post(&mut self, bytes: u64, c: &mut Context<'_, '_>) -> Result<(), String> {
        let mut message = std::mem::take(&mut self.sender.composed);
        let whole = ENVELOPE as u64 + bytes.min(DATA_BYTES);
        if bytes > DATA_BYTES || message.len() as u64 != whole.next_multiple_of(WORD as u64) {
            let stored = message.len();
            return Err(format!("SEND of {bytes} bytes of data, but {stored} bytes were stored to DATA"));
        }
        message.truncate(whole as usize);
        let envelope = Envelope::from_bytes(&message);
        if u32::from(envelope.destination) >= self.link.port().nodes() {
            return Err(format!("a message to rank {}, which is not there", envelope.destination));
        }
        if self.sender.fifo.len() as u64 >= self.unit.fifo {
            return Err(format!("SEND, but the FIFO holds {} messages already", self.unit.fifo));
        }
        c.stamp(PROCESS, envelope.message(), Stage::Accept, c.now);
        self.sender.fifo.push_back(Box::new(Packet {
            source: self.link.port().node(),
            destination: envelope.destination.into(),
            wire_bytes: (whole + self.unit.packet_overhead.bytes()) as u32,
            bytes: message,
            message: envelope.message(),
            ..Packet::default()
        }));
        self.prepare(c);
        Ok(())
    }

    /// What waits for the link leaves if it can.
    fn go_on_sending(&mut self, c: &mut Context<'_, '_>) {
        if let Some(packet) = self.sender.leaving.take_if(|packet| self.link.takes(packet.priority, c)) {
            self.link.send(packet, PROCESS, c);
            self.counters.sent += 1;
        }
        self.prepare(c);
    }

    /// Control takes the next message, if it is free.
    fn prepare(&mut self, c: &mut Context<'_, '_>) {
        let sender = &mut self.sender;
        if sender.leaving.is_none() && !sender.is_busy && !sender.fifo.is_empty() {
            sender.is_busy = true;
            self.pipeline.begin(NiEvent::Prepared, c);
        }
    }

    /// Control of the oldest message is over.
    fn prepared(&mut self, c: &mut Context<'_, '_>) {
        self.sender.is_busy = false;
        self.sender.leaving = self.sender.fifo.pop_front();
        self.sender.left = self.sender.left.wrapping_add(1);
        self.go_on_sending(c);
    }

    // --- in -----------------------------------------------------------------------------------------

    /// Software says where the ring is, or how far it is in it.
    ///
    /// # Errors
    /// That can't be: what the process did wrong, in words.
    fn set_ring(&mut self, address: u64) -> Result<(), String> {
        if !address.is_multiple_of(SLOT_BYTES) {
            return Err(format!("{address:#x} was stored to RING; multiples of {SLOT_BYTES} are allowed"));
        }
        self.receiver.ring.ring.base = address;
        Ok(())
    }

    /// Control takes the oldest packet that has landed.
    fn go_on_receiving(&mut self, c: &mut Context<'_, '_>) {
        if self.receiver.state == State::Idle && !self.receiver.landed.is_empty() {
            self.receiver.state = State::Busy;
            self.pipeline.begin(NiEvent::Received, c);
        }
    }

    /// The oldest packet goes to the next slot, if that is free. Before MPI_Init has said where the ring is packets wait,
    /// too.
    fn place(&mut self, c: &mut Context<'_, '_>) {
        let receiver = &mut self.receiver;
        if !receiver.ring.has_room() || receiver.ring.ring.base == 0 {
            self.counters.waited += u64::from(receiver.state != State::Blocked);
            receiver.state = State::Blocked;
            return;
        }
        let address = receiver.ring.next();
        if let Err(at) = c.bring_in(PROCESS, address, SLOT_BYTES, true) {
            c.fault(PROCESS, format!("the NI was told to write to {at:#x}, which is not mapped"));
            return self.finish(c);
        }
        let (envelope, data) = receiver.landed.front().expect("a packet").bytes.split_at(ENVELOPE);
        receiver.ring.push();
        let slot = TemplateSlot {
            envelope: Envelope::from_bytes(envelope),
            bytes: data.len() as u32,
            number: receiver.ring.producer,
            ..TemplateSlot::default()
        };
        let head = offset_of!(TemplateSlot, envelope);
        for (to, bytes) in [(0, data), (head, &slot.to_bytes()[head..])] {
            let place = (PROCESS, address + to as u64);
            receiver.writer.add(BusOperation::Write, place, bytes, c).expect("its page is there");
        }
        receiver.state = State::Writing;
        receiver.writer.start(c);
        self.counters.received += 1;
    }

    /// The packet is in memory: its room in the receive buffer goes back.
    fn finish(&mut self, c: &mut Context<'_, '_>) {
        let packet = self.receiver.landed.pop_front().expect("a packet is dealt with");
        c.stamp(PROCESS, packet.message, Stage::Land, c.now);
        self.link.release(packet.priority, c);
        self.receiver.state = State::Idle;
        self.go_on_receiving(c);
    }
}

impl NetworkInterface for TemplateNi {
    fn identify(&self, page: &mut NiIdentification) {
        page.device = registers::DEVICE as u32;
        page.interface = registers::HEADER.interface();
        page.settings[registers::SETTING_FIFO as usize] = self.unit.fifo;
        page.settings[registers::SETTING_SLOTS as usize] = self.unit.slots;
    }

    fn regions(&self, _: ProcessId) -> Vec<Region> {
        vec![Region { physical: DEVICE_BASE, bytes: PAGE_BYTES }]
    }

    fn read(&mut self, _: &mut Context<'_, '_>, address: u64, _: u32) -> Reply {
        let value = if address == registers::LEFT { self.sender.left.into() } else { 0 };
        Reply { value, latency: self.clock.edge(self.unit.access.cycles()), repeatable: true }
    }

    fn write(&mut self, c: &mut Context<'_, '_>, address: u64, _: u32, value: u64) {
        let done = match address {
            // What is too long SEND refuses.
            registers::DATA if self.sender.composed.len() > ENVELOPE + DATA_BYTES as usize => Ok(()),
            registers::DATA => {
                self.sender.composed.extend(value.to_le_bytes());
                Ok(())
            }
            registers::SEND => self.post(value, c),
            registers::RING => self.set_ring(value),
            registers::RELEASED => self.receiver.ring.release("RELEASED", value as u32),
            _ => Ok(()),
        };
        if let Err(text) = done {
            c.fault(PROCESS, text);
        }
        if self.receiver.state == State::Blocked {
            self.place(c);
        }
    }

    fn event(&mut self, c: &mut Context<'_, '_>, payload: Payload) {
        match payload.into() {
            NiEvent::Start => {
                self.link.started();
                self.go_on_sending(c);
            }
            NiEvent::Prepared => self.prepared(c),
            NiEvent::Landed => {
                self.receiver.landed.push_back(self.link.landed());
                self.go_on_receiving(c);
            }
            NiEvent::Received => self.place(c),
        }
    }

    fn network(&mut self, c: &mut Context<'_, '_>, event: Event, packet: Option<Box<Packet>>) {
        match event.payload.into() {
            NodeEvent::Packet { tail, .. } => {
                let packet = packet.expect("a packet event brings one");
                self.link.arrive_whole(tail, packet, (PROCESS, NiEvent::Landed.into()), c);
            }
            NodeEvent::Credit { priority } => {
                self.link.credit(priority);
                self.go_on_sending(c);
            }
        }
    }

    fn bus_granted(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        let (Unit::Receive, number) = Unit::of(request.tag);
        self.receiver.writer.granted(number, c);
    }

    fn bus_done(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        let (Unit::Receive, number) = Unit::of(request.tag);
        if self.receiver.writer.done(number).is_all {
            self.finish(c);
        }
    }

    fn memory_latency(&self, _: u64) -> Option<Time> {
        None
    }

    /// The words of a message are all that it is. Of other stores the processor sees to the order (`fence`).
    fn self_contained_stores(&self, _: ProcessId) -> Range<u64> {
        DEVICE_BASE + registers::DATA..DEVICE_BASE + registers::RING
    }

    fn promises(&self) -> Option<&dyn Promises> {
        Some(&self.pipeline)
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        self.counters.visit(visit);
        self.link.statistics(visit);
    }
}

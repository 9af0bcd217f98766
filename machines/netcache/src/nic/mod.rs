//! The NIC: registers, the units that send, receive and deliver, network memory, the link.
//!
//! It reads and writes the process's memory by coherent bus transactions, of a line of the outermost cache or less each, at
//! virtual addresses; it has the operating system bring in pages that are not there. Of each direction one message is dealt
//! with at a time.

mod deliver;
mod events;
mod pools;
mod receive;
mod transmit;

use std::collections::VecDeque;
use std::ops::Range;

use chasqui_abi::{Envelope, NiIdentification};
use chasqui_counters::{Counters, Visitor, counters};
use chasqui_engine::{Clock, Event, Packet, Payload, Time};
use chasqui_memory::{DEVICE_BASE, PAGE_BYTES, Stored};
use chasqui_network::{NetworkParameters, NodeEvent, NodePort};
use chasqui_ni::{
    BusOperation, BusRequest, Context, DmaWriter, LinkEnd, NetworkInterface, Pipeline, Promises, Region,
    Reply,
};
use chasqui_placement::ProcessId;

use crate::PROCESS;
use crate::parameters::{MpiUnit, NicUnit, Policy};
use crate::registers::{self, NetcacheSlot};
use deliver::Deliverer;
use events::{NicEvent, Owner};
use pools::Pools;
use receive::Receiver;
pub(crate) use receive::read_message;
use transmit::Transmitter;

/// Bytes of a slot's header.
const HEADER: u64 = size_of::<NetcacheSlot>() as u64;
/// Bytes of an envelope.
const ENVELOPE: usize = size_of::<Envelope>();
/// First word of a packet, the low half: a message, its envelope first. The high half is the slot's flags.
pub(crate) const PACKET_MESSAGE: u64 = 1;
/// First word of a packet: a piece of a block, its address first.
pub(crate) const PACKET_PUT: u64 = 2;
/// Device address of the window onto network memory.
const WINDOW: u64 = 1 << 32;

/// Longest packet [bytes], on the wire.
pub(crate) fn packet_bytes_max(nic: &NicUnit, mpi: &MpiUnit) -> u64 {
    let word = size_of::<u64>() as u64;
    let longest = (ENVELOPE as u64 + mpi.eager.bytes()).max(word + nic.packet_data.bytes());
    word + longest + nic.packet_overhead.bytes()
}

/// What a NIC is made from.
pub(crate) struct NicPlan {
    pub unit: NicUnit,
    pub mpi: MpiUnit,
    /// The bus clock, which is also the NIC's.
    pub clock: Clock,
    /// Length of the outermost cache's lines [bytes], in which the NIC reads and writes.
    pub line_bytes: u64,
    /// Physical address of network memory.
    pub memory_base: u64,
    /// Longest message that goes through the network cache [bytes].
    pub longest: u64,
    /// Receives may have reserved lines in it.
    pub early: bool,
    /// The network.
    pub network: NetworkParameters,
    /// The NIC's end of its link.
    pub port: NodePort,
}

counters! {
    /// Counters of a NIC, beside its link's.
    struct NicStatistics {
        /// Messages sent, the library's own among them.
        sent: "messages";
        /// Packets sent.
        packets: "packets";
        /// Messages entered among the arrivals.
        received: "messages";
        /// Deliveries from network memory by DMA.
        deliveries: "count";
        /// Pages that the operating system had to bring in for DMA.
        pages_in: "pages";
        /// Pools of network memory allotted.
        pools: "count";
    }
}

/// What every unit uses.
struct Shared {
    unit: NicUnit,
    clock: Clock,
    line_bytes: u64,
    /// Physical addresses of network memory.
    memory: Range<u64>,
    pools: Pools,
    /// Longest message that goes through the network cache [bytes].
    longest: u64,
    /// The network cache hears of every message, for receives that wait.
    announces: bool,
    link: LinkEnd,
    pipeline: Pipeline<NicEvent>,
    /// Packets that wait for the link.
    packets: VecDeque<Box<Packet>>,
    /// But for the pools, which [`Pools`] counts.
    counters: NicStatistics,
}

impl Shared {
    /// There is room for a packet.
    fn has_room(&self) -> bool {
        (self.packets.len() as u64) < self.unit.packets
    }

    /// What `bytes` take to cross the NIC's memory [clocks].
    fn crossing(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.unit.width.bytes())
    }

    /// Hands packets to the link while it takes them.
    fn start(&mut self, c: &mut Context<'_, '_>) {
        while !self.packets.is_empty() && self.link.takes(0, c) {
            self.link.send(self.packets.pop_front().expect("a packet waits"), PROCESS, c);
        }
    }

    /// `data` are to be written to virtual address `address` of the process, whose pages have been brought in.
    fn write(&self, writer: &mut DmaWriter, address: u64, data: &[u8], c: &Context<'_, '_>) {
        let operation = if self.unit.inject { BusOperation::Stash } else { BusOperation::Write };
        writer.add(operation, (PROCESS, address), data, c).expect("its pages are there");
    }

    /// The buffer at `offset` of network memory is free.
    fn release(&mut self, offset: u64, c: &mut Context<'_, '_>) {
        if let Some(bytes) = self.pools.give(offset) {
            c.ports[0].release_buffer(Stored { buffer: self.memory.start + offset, bytes: bytes as u32 });
        }
    }

    /// Buffers of messages that `remap` has bound are free, which the network cache tells the NIC.
    fn collect_bound(&mut self, c: &mut Context<'_, '_>) {
        for address in c.ports[0].take_bound_buffers() {
            self.pools.give(address - self.memory.start);
        }
    }
}

/// The NIC of a node.
pub(crate) struct Nic {
    shared: Shared,
    transmitter: Transmitter,
    receiver: Receiver,
    deliverer: Deliverer,
    mpi: MpiUnit,
}

impl Nic {
    pub fn new(plan: NicPlan) -> Nic {
        let NicPlan { unit, mpi, clock, line_bytes, memory_base, longest, early, network, port } = plan;
        let link = LinkEnd::new(&network, port, unit.packet_overhead.bytes(), NicEvent::Start.into());
        let memory_bytes = unit.memory.bytes().next_multiple_of(PAGE_BYTES);
        Nic {
            transmitter: Transmitter::new(mpi.slots as u32, line_bytes),
            receiver: Receiver::new(mpi.arrivals as u32, line_bytes),
            deliverer: Deliverer::new(line_bytes),
            shared: Shared {
                clock,
                line_bytes,
                memory: memory_base..memory_base + memory_bytes,
                pools: Pools::new(unit.memory.bytes(), unit.pool.bytes()),
                longest,
                announces: early && unit.policy == Policy::NetworkCache,
                pipeline: Pipeline::new(
                    &link,
                    clock,
                    &[
                        (NicEvent::Prepared, unit.transmit.cycles()),
                        (NicEvent::Received, unit.receive.cycles()),
                    ],
                    Some(NicEvent::Landed),
                ),
                link,
                packets: VecDeque::new(),
                counters: NicStatistics::default(),
                unit,
            },
            mpi,
        }
    }

    /// Bytes of network memory.
    pub fn memory_bytes(&self) -> u64 {
        self.shared.memory.end - self.shared.memory.start
    }

    /// A store to a register that says where a ring is, or how far the processor is in it.
    ///
    /// # Errors
    /// That can't be: what the process did wrong, in words.
    fn set_up(&mut self, address: u64, value: u64) -> Result<(), String> {
        let aligned = |name: &str, bytes: u64| {
            let wrong = format!("{value:#x} was stored to {name}; multiples of {bytes} are allowed");
            value.is_multiple_of(bytes).then_some(value).ok_or(wrong)
        };
        match address {
            registers::TRANSMIT_BASE => {
                self.transmitter.queue.ring.base = aligned("TRANSMIT_BASE", registers::SLOT_BYTES)?;
            }
            registers::ARRIVAL_BASE => {
                self.receiver.arrivals.ring.base = aligned("ARRIVAL_BASE", receive::ARRIVAL)?;
            }
            registers::BUFFER_BASE => self.receiver.buffers = value,
            registers::TRANSMIT_PRODUCER => self.transmitter.queue.post("TRANSMIT_PRODUCER", value as u32)?,
            registers::ARRIVAL_CONSUMER => {
                self.receiver.arrivals.release("ARRIVAL_CONSUMER", value as u32)?
            }
            _ => {}
        }
        Ok(())
    }

    /// Units look for work.
    fn go_on(&mut self, c: &mut Context<'_, '_>) {
        self.shared.start(c);
        self.receiver.go_on(&mut self.shared, c);
        self.transmitter.go_on(&self.shared, c);
    }
}

impl NetworkInterface for Nic {
    fn identify(&self, page: &mut NiIdentification) {
        page.device = registers::DEVICE as u32;
        page.interface = registers::HEADER.interface();
        let memory = self.shared.unit.memory.bytes();
        let arrivals = self.mpi.arrivals * self.mpi.eager.bytes().next_multiple_of(registers::ELEMENT_BYTES);
        page.settings[registers::SETTING_POLICY as usize] = self.shared.unit.policy.setting();
        page.settings[registers::SETTING_EAGER as usize] = self.mpi.eager.bytes();
        page.settings[registers::SETTING_SLOTS as usize] = self.mpi.slots;
        page.settings[registers::SETTING_ARRIVALS as usize] = self.mpi.arrivals;
        page.settings[registers::SETTING_HELD as usize] = memory - arrivals;
        page.settings[registers::SETTING_EARLY as usize] = u64::from(self.shared.announces);
    }

    fn regions(&self, _: ProcessId) -> Vec<Region> {
        let bytes = self.memory_bytes();
        vec![
            Region { physical: DEVICE_BASE, bytes: PAGE_BYTES },
            Region { physical: self.shared.memory.start, bytes },
            Region { physical: DEVICE_BASE + WINDOW, bytes },
        ]
    }

    fn read(&mut self, c: &mut Context<'_, '_>, address: u64, bytes: u32) -> Reply {
        let value = match address {
            registers::TRANSMIT_CONSUMER => u64::from(self.transmitter.queue.consumer),
            registers::DELIVERED => self.deliverer.done,
            WINDOW.. => {
                c.memory.read(self.shared.memory.start + address - WINDOW, bytes as usize).unwrap_or(0)
            }
            _ => 0,
        };
        let latency = self.shared.clock.edge(self.shared.unit.access.cycles());
        Reply { value, latency, repeatable: true }
    }

    fn write(&mut self, c: &mut Context<'_, '_>, address: u64, _: u32, value: u64) {
        if let Err(text) = self.set_up(address, value) {
            c.fault(PROCESS, text);
        }
        match address {
            registers::RELEASE => self.shared.release(value, c),
            registers::DELIVER_TO => self.deliverer.to = value,
            registers::DELIVER_BYTES => self.deliverer.bytes = value,
            registers::DELIVER_FROM => self.deliverer.ask(value, &self.shared, c),
            _ => {}
        }
        self.go_on(c);
    }

    fn event(&mut self, c: &mut Context<'_, '_>, payload: Payload) {
        let s = &mut self.shared;
        match payload.into() {
            NicEvent::Start => s.link.started(),
            NicEvent::Prepared | NicEvent::SourceIn => self.transmitter.prepared(s, c),
            NicEvent::Crossed => self.transmitter.crossed(s),
            NicEvent::Landed => return self.receiver.landed(s, c),
            NicEvent::Received | NicEvent::PagesIn => self.receiver.place(s, c),
            NicEvent::Delivering => self.deliverer.place(s, c),
        }
        self.go_on(c);
    }

    fn network(&mut self, c: &mut Context<'_, '_>, event: Event, packet: Option<Box<Packet>>) {
        match event.payload.into() {
            NodeEvent::Packet { tail, .. } => {
                let packet = packet.expect("a packet event brings a packet");
                self.shared.link.arrive_whole(tail, packet, (PROCESS, NicEvent::Landed.into()), c);
            }
            NodeEvent::Credit { priority } => {
                self.shared.link.credit(priority);
                self.shared.start(c);
                self.transmitter.go_on(&self.shared, c);
            }
        }
    }

    fn bus_granted(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        match Owner::of(request.tag) {
            (Owner::Transmit, number) => self.transmitter.granted(number, request, c),
            (Owner::Receive, number) => self.receiver.granted(number, c),
            (Owner::Deliver, number) => self.deliverer.writer.granted(number, c),
        }
    }

    fn bus_done(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        let s = &mut self.shared;
        match Owner::of(request.tag) {
            (Owner::Transmit, _) => self.transmitter.line_read(s, c),
            (Owner::Receive, number) if self.receiver.writer.done(number).is_all => {
                self.receiver.finish(s, c)
            }
            (Owner::Deliver, number) if self.deliverer.writer.done(number).is_all => {
                self.deliverer.finish(s, c)
            }
            (Owner::Receive | Owner::Deliver, _) => {}
        }
        self.go_on(c);
    }

    fn memory_latency(&self, address: u64) -> Option<Time> {
        let latency = self.shared.clock.edge(self.shared.unit.access.cycles());
        self.shared.memory.contains(&address).then_some(latency)
    }

    fn self_contained_stores(&self) -> Range<u64> {
        // Their values are all that they say.
        DEVICE_BASE + registers::RELEASE..DEVICE_BASE + registers::DELIVER_FROM
    }

    fn network_memory(&self) -> Range<u64> {
        self.shared.memory.clone()
    }

    fn promises(&self) -> Option<&dyn Promises> {
        Some(&self.shared.pipeline)
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        NicStatistics { pools: self.shared.pools.allotted, ..self.shared.counters }.visit(visit);
        self.shared.link.statistics(visit);
    }
}

//! The NIC: registers, the units that send, receive and deliver, network memory, the link.
//!
//! It reads and writes the process's memory by coherent bus transactions, of a line of the outermost cache or less each, at
//! virtual addresses; it has the operating system bring in pages that are not there. Of each direction one message is dealt
//! with at a time.
//!
//! Processes of a node each have a page of registers, rings, and a part of network memory, of which they map no other's.
//! Units take them in turn, and packets from a process of one number to one of another have a virtual network of their
//! own: what a process does not take holds up its senders, and nobody else on its node or theirs.

mod deliver;
mod events;
mod pools;
mod receive;
mod transmit;

use std::collections::VecDeque;
use std::ops::Range;

use chasqui_abi::{Envelope, NiIdentification, packet};
use chasqui_counters::{Counters, Visitor, counters};
use chasqui_engine::{Clock, Event, Packet, Payload, Time};
use chasqui_memory::{DEVICE_BASE, PAGE_BYTES, Stored};
use chasqui_network::{NetworkParameters, NodeEvent, NodePort, VirtualNetworks};
use chasqui_ni::{
    BusOperation, BusRequest, Context, DmaWriter, LinkEnd, NetworkInterface, Pipeline, Promises, Region,
    Reply,
};
use chasqui_placement::{Place, Placement, ProcessId, Rank};

use crate::PROCESSES_MAX;
use crate::parameters::{MpiUnit, NicUnit};
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
/// First word of a packet, the lowest byte: a message, its envelope first. The next byte is the number of the process that
/// it is for, the next two are the slot's flags, the high half is its ordinal.
pub(crate) const PACKET_MESSAGE: u64 = 1;
/// First word of a packet: a piece of a block, its address first.
pub(crate) const PACKET_PUT: u64 = 2;
/// Where the process is in a packet's first word.
const PACKET_PROCESS_SHIFT: u32 = 8;
/// Where the slot's flags are, and its ordinal.
pub(crate) const PACKET_FLAGS_SHIFT: u32 = 16;
pub(crate) const PACKET_ORDINAL_SHIFT: u32 = 32;
/// Device address of the window onto network memory; pages of registers, one a process, are below.
const WINDOW: u64 = 1 << 32;
const _: () = assert!(PROCESSES_MAX as u64 * PAGE_BYTES <= WINDOW);

/// Virtual networks for nodes of so many processes: one for each pair of a sender's number and a receiver's.
pub(crate) fn networks(processes: u32) -> VirtualNetworks {
    match processes {
        1 => VirtualNetworks::ONE,
        _ => VirtualNetworks::round_robin((processes * processes) as u8),
    }
}
const _: () = assert!(PROCESSES_MAX * PROCESSES_MAX < u8::MAX as u32);

/// All of `count` processes, from the one after `last` on.
fn turns(last: ProcessId, count: usize) -> impl Iterator<Item = ProcessId> {
    let count = count as u32;
    (last.0 + 1..=last.0 + count).map(move |number| ProcessId(number % count))
}

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
    /// Where ranks are.
    pub placement: Placement,
    /// Longest message that goes through the network cache [bytes].
    pub longest: u64,
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
        /// Messages that have come.
        received: "messages";
        /// Of these, messages entered among the arrivals: software did not find them by their names before.
        entered: "messages";
        /// Buffers that the processor keeps for messages whose receive has not come, so far.
        kept: "count";
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
    /// Bytes of it that each process has, one after the other.
    memory_bytes: u64,
    /// By process.
    pools: Vec<Pools>,
    placement: Placement,
    /// Longest message that goes through the network cache [bytes].
    longest: u64,
    link: LinkEnd,
    pipeline: Pipeline<NicEvent>,
    /// Packets that wait for the link, by the process that sends them.
    packets: Vec<VecDeque<Box<Packet>>>,
    /// Whose packet went last.
    turn: ProcessId,
    /// But for the pools, which [`Pools`] counts.
    counters: NicStatistics,
}

impl Shared {
    /// There is room for a packet of `process`.
    fn has_room(&self, process: ProcessId) -> bool {
        (self.packets[process.index()].len() as u64) < self.unit.packets
    }

    /// Where `rank` of the job of `process` is.
    fn place(&self, process: ProcessId, rank: u16) -> Option<Place> {
        let job = self.placement.job(process);
        let is_there = u32::from(rank) < self.placement.ranks(job);
        is_there.then(|| self.placement.place(job, Rank(rank.into())))
    }

    /// The virtual network from process `from` of one node to process `to` of another.
    fn network(&self, from: ProcessId, to: ProcessId) -> u8 {
        (from.0 * self.placement.processes() + to.0) as u8
    }

    /// Physical address of the network memory of `process`.
    fn memory_of(&self, process: ProcessId) -> u64 {
        self.memory.start + u64::from(process.0) * self.memory_bytes
    }

    /// What `bytes` take to cross the NIC's memory [clocks].
    fn crossing(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.unit.width.bytes())
    }

    /// Hands packets to the link while it takes them. One that waits for room in its virtual network holds up those of its
    /// process alone.
    fn start(&mut self, c: &mut Context<'_, '_>) {
        while let Some(process) = self.next_sender(c) {
            self.turn = process;
            let packet = self.packets[process.index()].pop_front().expect("a packet waits");
            self.link.send(packet, process, c);
        }
    }

    /// The next process with a packet that the link takes.
    fn next_sender(&mut self, c: &mut Context<'_, '_>) -> Option<ProcessId> {
        let Shared { packets, link, turn, .. } = self;
        turns(*turn, packets.len()).find(|process| {
            packets[process.index()].front().is_some_and(|packet| link.takes(packet.priority, c))
        })
    }

    /// `data` are to be written to a virtual address of a process, whose pages have been brought in.
    fn write(
        &self,
        writer: &mut DmaWriter,
        (process, address): (ProcessId, u64),
        data: &[u8],
        c: &Context<'_, '_>,
    ) {
        let operation = if self.unit.inject { BusOperation::Stash(process) } else { BusOperation::Write };
        writer.add(operation, (process, address), data, c).expect("its pages are there");
    }

    /// The buffer at `offset` of the network memory of `process` is free.
    fn release(&mut self, process: ProcessId, offset: u64, c: &mut Context<'_, '_>) {
        if let Some(bytes) = self.pools[process.index()].give(offset) {
            let stored = Stored { buffer: self.memory_of(process) + offset, bytes: bytes as u32 };
            c.port_of(process).release_buffer(stored);
        }
    }

    /// Buffers of messages that have been bound are free, which the network cache of the hart of `process` tells the NIC:
    /// of all processes that the hart has had. Gives them, by process and offset.
    fn collect_bound(&mut self, process: ProcessId, c: &mut Context<'_, '_>) -> Vec<(ProcessId, u64)> {
        let place = |address: u64| {
            let offset = address - self.memory.start;
            (ProcessId((offset / self.memory_bytes) as u32), offset % self.memory_bytes)
        };
        let bound: Vec<_> = c.port_of(process).take_bound_buffers().into_iter().map(place).collect();
        for &(of, offset) in &bound {
            self.pools[of.index()].give(offset);
        }
        bound
    }
}

/// An envelope begins a message.
pub(crate) fn is_message(envelope: &Envelope) -> bool {
    envelope.kind <= packet::LAST_MESSAGE
}

/// The process that the register at `address` is of, and which it is. `None`: it is in the window onto network memory.
fn register(address: u64) -> Option<(ProcessId, u64)> {
    (address < WINDOW).then_some((ProcessId((address / PAGE_BYTES) as u32), address % PAGE_BYTES))
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
        let NicPlan { unit, mpi, clock, line_bytes, memory_base, placement, longest, network, port } = plan;
        let processes = placement.processes();
        let link = LinkEnd::new(&network, port, unit.packet_overhead.bytes(), NicEvent::Start.into());
        let memory_bytes = unit.memory.bytes().next_multiple_of(PAGE_BYTES);
        Nic {
            transmitter: Transmitter::new(processes, mpi.slots as u32, line_bytes),
            receiver: Receiver::new(processes, mpi.arrivals as u32, line_bytes),
            deliverer: Deliverer::new(processes, line_bytes),
            shared: Shared {
                clock,
                line_bytes,
                memory: memory_base..memory_base + u64::from(processes) * memory_bytes,
                memory_bytes,
                pools: (0..processes).map(|_| Pools::new(unit.memory.bytes(), unit.pool.bytes())).collect(),
                longest,
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
                packets: (0..processes).map(|_| VecDeque::new()).collect(),
                turn: ProcessId(0),
                placement,
                counters: NicStatistics::default(),
                unit,
            },
            mpi,
        }
    }

    /// Bytes of network memory, of all processes.
    pub fn memory_bytes(&self) -> u64 {
        self.shared.memory.end - self.shared.memory.start
    }

    /// A store to a register that says where a ring is, or how far the processor is in it.
    ///
    /// # Errors
    /// That can't be: what the process did wrong, in words.
    fn set_up(&mut self, process: ProcessId, address: u64, value: u64) -> Result<(), String> {
        let aligned = |name: &str, bytes: u64| {
            let wrong = format!("{value:#x} was stored to {name}; multiples of {bytes} are allowed");
            value.is_multiple_of(bytes).then_some(value).ok_or(wrong)
        };
        let transmit = &mut self.transmitter.senders[process.index()].queue;
        let arrivals = &mut self.receiver.arrivals[process.index()];
        match address {
            registers::TRANSMIT_BASE => transmit.ring.base = aligned("TRANSMIT_BASE", registers::SLOT_BYTES)?,
            registers::ARRIVAL_BASE => arrivals.ring.ring.base = aligned("ARRIVAL_BASE", receive::ARRIVAL)?,
            registers::BUFFER_BASE => arrivals.buffers = aligned("BUFFER_BASE", registers::SLOT_BYTES)?,
            registers::BUFFER => {
                arrivals.set_buffer(value, self.mpi.arrivals + self.mpi.spare)?;
                self.shared.counters.kept += 1;
            }
            registers::TRANSMIT_PRODUCER => transmit.post("TRANSMIT_PRODUCER", value as u32)?,
            registers::ARRIVAL_CONSUMER => arrivals.ring.release("ARRIVAL_CONSUMER", value as u32)?,
            _ => {}
        }
        Ok(())
    }

    /// A store of `process` to one of its registers.
    fn store(&mut self, process: ProcessId, register: u64, value: u64, c: &mut Context<'_, '_>) {
        if let Err(text) = self.set_up(process, register, value) {
            c.fault(process, text);
        }
        let delivery = &mut self.deliverer.requesters[process.index()];
        match register {
            registers::RELEASE => self.shared.release(process, value, c),
            registers::DELIVER_TO => delivery.to = value,
            registers::DELIVER_BYTES => delivery.bytes = value,
            registers::DELIVER_FROM => self.deliverer.ask(process, value, &self.shared, c),
            registers::LISTEN => self.receiver.arrivals[process.index()].listen(value != 0),
            _ => {}
        }
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
        page.settings[registers::SETTING_NAMED as usize] = self.mpi.named_receives;
        page.settings[registers::SETTING_SPARE as usize] = self.mpi.spare;
        page.settings[registers::SETTING_LONGEST as usize] = self.shared.longest;
    }

    fn regions(&self, process: ProcessId) -> Vec<Region> {
        let (number, bytes) = (u64::from(process.0), self.shared.memory_bytes);
        vec![
            Region { physical: DEVICE_BASE + number * PAGE_BYTES, bytes: PAGE_BYTES },
            Region { physical: self.shared.memory_of(process), bytes },
            Region { physical: DEVICE_BASE + WINDOW + number * bytes, bytes },
        ]
    }

    fn read(&mut self, c: &mut Context<'_, '_>, address: u64, bytes: u32) -> Reply {
        let value = match register(address) {
            None => c.memory.read(self.shared.memory.start + address - WINDOW, bytes as usize).unwrap_or(0),
            Some((process, registers::TRANSMIT_CONSUMER)) => {
                u64::from(self.transmitter.senders[process.index()].queue.consumer)
            }
            Some((process, registers::DELIVERED)) => self.deliverer.requesters[process.index()].done,
            Some(_) => 0,
        };
        let latency = self.shared.clock.edge(self.shared.unit.access.cycles());
        Reply { value, latency, repeatable: true }
    }

    fn write(&mut self, c: &mut Context<'_, '_>, address: u64, _: u32, value: u64) {
        if let Some((process, register)) = register(address) {
            self.store(process, register, value, c);
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
            NicEvent::Received | NicEvent::PagesIn => self.receiver.go_on_with(s, c),
            NicEvent::Delivering => self.deliverer.place(s, c),
        }
        self.go_on(c);
    }

    fn network(&mut self, c: &mut Context<'_, '_>, event: Event, packet: Option<Box<Packet>>) {
        match event.payload.into() {
            NodeEvent::Packet { tail, .. } => {
                let packet = packet.expect("a packet event brings a packet");
                let process = receive::process_of(&packet.bytes);
                self.shared.link.arrive_whole(tail, packet, (process, NicEvent::Landed.into()), c);
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
                self.receiver.written(s, c)
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

    fn self_contained_stores(&self, process: ProcessId) -> Range<u64> {
        // Their values are all that they say.
        let page = DEVICE_BASE + u64::from(process.0) * PAGE_BYTES;
        page + registers::BUFFER..page + registers::DELIVER_FROM
    }

    fn network_memory(&self) -> Range<u64> {
        self.shared.memory.clone()
    }

    fn promises(&self) -> Option<&dyn Promises> {
        Some(&self.shared.pipeline)
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        let pools = self.shared.pools.iter().map(|pools| pools.allotted).sum();
        NicStatistics { pools, ..self.shared.counters }.visit(visit);
        self.shared.link.statistics(visit);
    }
}

//! The NES: control, SRAM rings, destination table, I-bus, and the units that send and receive.
//!
//! Timing: a message crosses the I-bus between SRAM and the TxU or RxU, 64 bits a bus clock, which both
//! directions share; before that the control takes its cycles. The TxU holds a few packets and starts
//! them as link and credits allow. Packets are received one after the other; what finds no room in its queue,
//! or whose queue is not resident, goes to the miss queue, which the service processor (sP) serves.
//!
//! Priorities: what a queue sends has the queue's. TxU, receive buffer and miss queue have room for each apart,
//! and each unit turns to the high one first, so that what waits with low priority holds up none with high.

mod accesses;
mod address;
mod aside;
mod blocks;
mod command;
mod control;
mod delays;
mod dma;
mod drain;
mod events;
mod express;
mod inbox;
mod missed;
mod onepoll;
mod plan;
mod pointers;
#[cfg(test)]
mod probe;
mod queues;
mod receive;
mod refusal;
mod rings;
mod senders;
mod service;
mod table;
mod tags;
mod transmit;
mod turns;

use std::collections::VecDeque;
use std::ops::Range;

use chasqui_abi::NiIdentification;
use chasqui_counters::{Counters, Visitor, below, counters};
use chasqui_engine::{Clock, Event, Packet, Payload, Time};
use chasqui_memory::{DEVICE_BASE, PAGE_BYTES};
use chasqui_network::NodeEvent;
use chasqui_ni::{
    BusRequest, Cause, Context, Leave, LinkEnd, MessageKey, NetworkInterface, Region, Reply, Ring, Uncached,
};
use chasqui_placement::{JobId, NodeId, ProcessId};
use chasqui_record::{MessageId, Profile, Stage};

use crate::parameters::{Basic, Coherence, Limits, Sharing};
use crate::service_registers::VoyagerPacket;
use crate::{PRIORITIES, parameters, registers};
use address::{
    EXPRESS_RECEIVE, EXPRESS_WINDOW, HALVES, ONEPOLLS, ORDERS, Register, SYSTEM, SYSTEM_STRIDE,
    TAG_RELEASE_END, TAG_WINDOW,
};
use command::Fetcher;
use control::{Control, ControlSender};
use delays::Delays;
use dma::DmaEngine;
use drain::Drain;
use events::{NesEvent, Owner};
use express::{Entry, ExpressTransmitter, Window};
use inbox::{EMPTY, Found};
use onepoll::Orders;
pub(crate) use plan::NesPlan;
use queues::{Homes, QueueName, QueueNames};
use receive::Receiver;
use rings::{Layout, OwnRings, Rings};
use senders::FlowControl;
use service::Service;
use table::DestinationTable;
use transmit::Transmitter;

/// Packets of a job in the TxU, of one priority, with which no unit begins another one where there are several jobs (ours): one
/// going out, one coming in. More would have another job's packet wait behind them while their link is full.
const TXU_SHARE: usize = 2;

/// Bytes of a slot, or of a place of tagged data.
const SLOT: u64 = registers::SLOT_BYTES;
const _: () = assert!(registers::TAG_LONG_BYTES <= SLOT);

counters! {
    /// Counters of a NES, beside those of its port, its draining and its service processor.
    struct NesStatistics {
        /// Basic messages sent.
        transmitted: "messages";
        /// Basic messages and notices put into resident queues.
        received: "messages";
        /// Express and Tag-On messages sent, those of 64-byte stores among them.
        express_sent: "messages";
        /// Tag-On messages sent.
        tagged_sent: "messages";
        /// Messages of 64-byte stores sent.
        wide_sent: "messages";
        /// Express and Tag-On messages put into resident queues, those of 64-byte stores among them.
        express_received: "messages";
        /// Messages sent by the service processor's own queue.
        own_sent: "messages";
        /// DMA requests served.
        dma_requests: "requests";
        /// Packets that the DMA sent.
        dma_packets: "packets";
        /// Data that the DMA sent.
        dma_bytes: "bytes";
        /// Pages that the operating system had to bring in for DMA.
        pages_in: "pages";
        /// Packets that went to the miss queue.
        missed: "packets";
        /// Packets for queues that nobody has.
        dropped: "packets";
        /// Packets for processes of this node that were over when they came.
        late: "packets";
        /// Messages and blocks of this node that were not sent, for the process they were for was known to be over.
        withheld: "count";
        /// Times that this NES told a site to have a job's blocks wait for those of others.
        block_waits: "times";
        /// Times that this NES told a site to have a job's blocks wait for a page of their receiver.
        page_waits: "times";
        /// Times that a job was held up here, since it filled a site's miss queue.
        held_up: "times";
        /// Accesses of the processor that the service processor served.
        served: "accesses";
        /// Accesses of the processor that were retried until the service processor had served them.
        retried: "accesses";
        /// Time for which a packet waited for room in a receive queue or the miss queue.
        ring_full_ps: "ps";
    }
}

/// What every unit of the NES uses.
struct Shared {
    clock: Clock,
    basic: Basic,
    nes: parameters::Nes,
    line_bytes: u64,
    /// The I-bus is free from then on.
    ibus_free: Time,
    link: LinkEnd,
    homes: Homes,
    table: DestinationTable,
    /// What other sites are to be told.
    control: VecDeque<Control>,
    /// What sites have told this one about its blocks.
    flow: FlowControl,
    /// Packets that wait for the link, by priority.
    txu: [VecDeque<Box<Packet>>; PRIORITIES],
    counters: NesStatistics,
}

impl Shared {
    /// Packets that processes have sent, and the notices of their blocks.
    fn sent(&self) -> u64 {
        let c = &self.counters;
        c.transmitted + c.express_sent + c.dma_packets + c.dma_requests
    }

    /// Whose queue, here or at its destination, a packet is for.
    fn process_of(&self, packet: &[u8]) -> ProcessId {
        self.homes.names.process(VoyagerPacket::from_bytes(packet).queue)
    }

    fn reclaims(&self) -> bool {
        self.basic.coherence == Coherence::Reclaim
    }

    /// When control of `cycles` and a crossing of the I-bus by `bytes` end, if they begin at `now`.
    fn cross(&mut self, now: Time, cycles: u64, bytes: u64) -> Time {
        let ready = self.clock.after(now, cycles);
        let start = ready.max(self.ibus_free);
        self.ibus_free = self.clock.after(start, bytes.div_ceil(self.nes.ibus_width.bytes()));
        self.ibus_free
    }

    /// The TxU has room for a packet of `queue`. Of several jobs each has [`TXU_SHARE`] of it.
    fn txu_has_room(&self, queue: QueueName) -> bool {
        let packets = &self.txu[usize::from(self.homes.priority(queue))];
        (packets.len() as u64) < self.nes.txu_packets && (!self.has_shares() || self.has_share(queue))
    }

    /// The TxU is shared out among jobs: one's message may pass another's.
    fn has_shares(&self) -> bool {
        has_shares(self.homes.jobs(), self.nes.txu_packets)
    }

    /// The job of `queue` has not had its share of the TxU.
    fn has_share(&self, queue: QueueName) -> bool {
        let job = self.homes.job_of_queue(queue);
        let packets = self.txu[usize::from(self.homes.priority(queue))].iter();
        packets.filter(|packet| self.homes.job_of(self.process_of(&packet.bytes)) == job).count() < TXU_SHARE
    }

    /// Hands packets of the TxU to the link while it takes them, those of high priority first. A priority for which
    /// the router has no room does not hold up the other.
    fn start(&mut self, c: &mut Context<'_, '_>) {
        for priority in (0..PRIORITIES).rev() {
            while !self.txu[priority].is_empty() && self.link.takes(priority as u8, c) {
                let packet = self.txu[priority].pop_front().expect("a packet waits");
                let process = self.process_of(&packet.bytes);
                self.link.send(packet, process, c);
            }
        }
    }
}

/// The TxU, with room for so many packets, is shared out among jobs.
fn has_shares(jobs: usize, txu_packets: u64) -> bool {
    jobs > 1 && txu_packets > TXU_SHARE as u64
}

chasqui_ni::mechanisms! {
    /// By what a message travels.
    pub(crate) enum Mechanism {
        Basic = "basic",
        Dma = "dma",
        Express = "express",
        TagOn = "tag-on",
        Store64 = "store-64",
    }
}

/// The name of the message that a store of process `process` to `register` is, if it is one.
fn carried(c: &mut Context<'_, '_>, process: ProcessId, register: Register) -> MessageKey {
    let is_message = matches!(register, Register::Express(_) | Register::Tag(_));
    let id = if is_message { c.recorders[process.index()].carried() } else { None };
    id.map(|id| (id.source, id.sequence))
}

/// What a load gets, and the name of the message that it took, if it took one.
struct Loaded {
    reply: Reply,
    took: Option<MessageKey>,
}

/// The NES turns to the message: it is accepted, and travels so. Of a long message, which Basic announces, the
/// data's mechanism comes last and counts.
fn accept(c: &mut Context<'_, '_>, process: ProcessId, message: MessageKey, mechanism: Mechanism) {
    c.stamp(process, message, Stage::Accept, c.now);
    c.travels_by(process, message, mechanism);
}

/// The NES of a site.
pub(crate) struct Nes {
    shared: Shared,
    delays: Delays,
    transmitter: Transmitter,
    express: ExpressTransmitter,
    receiver: Receiver,
    orders: Orders,
    fetcher: Fetcher,
    /// What empty queues return, by process.
    empty: Vec<u64>,
    /// Packets on the link to the receive buffer.
    in_flight: usize,
    dma: DmaEngine,
    control: ControlSender,
    service: Option<Service>,
    /// Turns of processes, if the running process has the queues to itself.
    drain: Option<Drain>,
    transmit_rings: Rings,
    receive_rings: Rings,
    memory: Range<u64>,
    limits: Limits,
    express_slots: u64,
    /// Bus clocks from a load's grant to its end, the NES's access apart.
    load_cycles: u64,
}

impl Nes {
    /// # Errors
    /// The firmware did wrong before it waited for anything.
    pub fn new(plan: NesPlan) -> Result<Nes, String> {
        let processes = plan.placement.processes() as usize;
        let names = QueueNames { processes, basic: plan.queues.basic as usize };
        let is_drained = plan.queues.sharing == Sharing::Drained && names.processes > 1;
        let queues = if is_drained { plan.queues.one_set() } else { plan.queues.clone() };
        let Layout { transmit, receive, own, service_places, memory } = Layout::new(names, &plan);
        let delays = Delays::new(&plan);
        let slots = [queues.resident_basic, queues.resident_express].map(|slots| slots as usize);
        let rings = |of: fn(&OwnRings) -> Ring| own.iter().map(of).collect::<Vec<_>>();
        let homes = Homes::new(names, &queues, plan.placement.per_node());
        let receiver = Receiver::new(receive, &rings(|own| own.tags), slots, homes.jobs(), &plan);
        let turns_from = is_drained.then_some(ProcessId(0));
        let reader = DmaEngine::reader(plan.line_bytes, plan.dma_lines());
        let dma = DmaEngine::new(&rings(|own| own.requests), homes.jobs(), &plan.dma, reader, turns_from);
        let (limits, flow) = (plan.job_limits(), FlowControl::new(plan.blocks_take_turns()));
        let service = plan.processor.map(|processor| {
            let sites = (plan.placement.nodes(), plan.port.node());
            let settings =
                service::settings(names, &queues, &plan.service, &plan.express, receive, sites, limits);
            Service::new(processor, plan.service, settings, (homes.jobs(), names.count()), limits.sends)
        });
        let here = NodeId(plan.port.node());
        // What can happen when, `Delays` say more exactly.
        let overhead = plan.nes.packet_overhead.bytes();
        let link = LinkEnd::new(&plan.network, plan.port, overhead, NesEvent::Start.into());
        let mut nes = Nes {
            delays,
            memory,
            limits: plan.mpi.limits(),
            transmitter: Transmitter::new(names, transmit, slots[0], homes.jobs(), plan.line_bytes),
            express: ExpressTransmitter::new(
                names,
                [rings(|own| own.places), vec![service_places]].concat(),
                Window::new(plan.placement.ranks_max()),
                &plan.express,
                (slots[1], homes.jobs()),
                plan.line_bytes,
            ),
            express_slots: plan.express.slots,
            // Through a link the NES is done with a load before its transaction is.
            load_cycles: if plan.nes.attach.ps() == 0 { plan.address_cycles + 1 } else { 0 },
            receiver,
            orders: Orders::new(names),
            fetcher: Fetcher::new(service_places, plan.line_bytes),
            empty: vec![registers::EXPRESS_EMPTY; names.processes],
            in_flight: 0,
            dma,
            control: ControlSender::default(),
            transmit_rings: transmit,
            receive_rings: receive,
            service: service.transpose()?,
            drain: is_drained.then(Drain::new),
            shared: Shared {
                clock: plan.clock,
                table: DestinationTable::of_ranks(here, &plan.placement, names),
                homes,
                basic: plan.basic,
                nes: plan.nes,
                line_bytes: plan.line_bytes,
                ibus_free: Time::ZERO,
                link,
                control: VecDeque::new(),
                flow,
                txu: Default::default(),
                counters: NesStatistics::default(),
            },
        };
        nes.assign_slots();
        Ok(nes)
    }

    /// Resident queues get their hardware.
    fn assign_slots(&mut self) {
        for name in self.shared.homes.all() {
            if let Some(slot) = self.shared.homes.slot(name) {
                self.assign_slot(name, slot);
            }
        }
    }

    /// The hardware of `slot` is the queue's from now on.
    fn assign_slot(&mut self, name: QueueName, slot: usize) {
        if let Some(index) = self.shared.homes.names.basic_index(name) {
            self.transmitter.map(slot, Some(name));
            self.receiver.map(slot, index);
        }
    }

    /// What `address` is.
    fn register(&self, address: u64) -> Register {
        Register::at(self.shared.homes.names, address)
    }

    /// The process that has `register`.
    fn process_of(&self, register: Register) -> ProcessId {
        let names = self.shared.homes.names;
        match register {
            Register::Pointer(name, _) | Register::Sent(name) | Register::Receive(name) => {
                names.process(name)
            }
            Register::Process(process, _) | Register::System(process, _) | Register::Nothing(process) => {
                process
            }
            Register::OnePoll(phantom) => ProcessId((phantom / ONEPOLLS) as u32),
            Register::Upper(half) => ProcessId((half / HALVES) as u32),
            Register::Order(word) => ProcessId((word / ORDERS) as u32),
            Register::Express(offset) => names.process(self.express.window.above(offset) as QueueName),
            Register::Tag(offset) => self.express.process_of_tag(offset),
        }
    }

    /// Bytes of SRAM that the processor can reach.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.end - self.memory.start
    }

    /// A load that the hardware answers.
    fn load(&mut self, c: &mut Context<'_, '_>, register: Register, bytes: u32) -> Loaded {
        let s = &self.shared;
        let value = match register {
            Register::Pointer(name, offset) => match (s.homes.slot(name), offset) {
                (Some(slot), registers::TRANSMIT_CONSUMER) => self.transmitter.slot_mut(slot).ring.consumer,
                (Some(slot), registers::RECEIVE_PRODUCER) => self.receiver.slot_mut(slot).producer,
                _ => 0,
            },
            Register::Process(process, registers::DMA_CONSUMER) => self.dma.queues[process.index()].consumer,
            Register::Sent(name) => s.homes.slot(name).map_or(0, |slot| *self.express.sent_mut(slot)),
            Register::Receive(name) => {
                let found = s.homes.slot(name).map_or(EMPTY, |slot| self.receiver.inbox.take(name, slot));
                return self.take(c, register, bytes, found);
            }
            Register::OnePoll(phantom) => {
                let found = self.one_poll(phantom);
                return self.take(c, register, bytes, found);
            }
            Register::Upper(half) => {
                let found = Found { value: u64::from(self.receiver.inbox.upper(half)), ..EMPTY };
                return self.take(c, register, bytes, found);
            }
            _ => 0,
        };
        let latency = self.shared.clock.edge(self.shared.nes.pointer_access.cycles());
        Loaded { reply: Reply { value: u64::from(value), latency, repeatable: true }, took: None }
    }

    /// A load of an Express or phantom queue: control has found what there is, then SRAM gives it.
    fn take(&mut self, c: &mut Context<'_, '_>, register: Register, bytes: u32, found: Found) -> Loaded {
        let nes = &self.shared.nes;
        let access = nes.pointer_access.cycles() + nes.sram_access.cycles();
        if let Some(name) = found.took {
            self.receiver.taken(self.load_cycles + access, &mut self.shared, c);
            self.room(name);
        }
        let is_whole = !matches!(register, Register::Upper(_));
        let value = if is_whole && found == EMPTY { self.empty_of(register) } else { found.value };
        let (value, same) = match register.half() {
            Some(half) => self.receiver.inbox.part(half, bytes, value),
            None => (value, true),
        };
        let latency = self.shared.clock.edge(access);
        let reply = Reply { value, latency, repeatable: found.repeatable && same };
        Loaded { reply, took: found.took.map(|_| found.name) }
    }

    /// What the process that has `register` reads of an empty queue.
    fn empty_of(&self, register: Register) -> u64 {
        self.empty[self.process_of(register).index()]
    }

    /// A store that the hardware takes; `name` is that of the message that it is, if it is one.
    fn store(&mut self, c: &mut Context<'_, '_>, register: Register, value: u64, name: MessageKey) {
        match register {
            Register::Pointer(..)
            | Register::Process(_, registers::DMA_PRODUCER | registers::TAG_RELEASE..TAG_RELEASE_END) => {
                if let Err(text) = self.store_pointer(c, register, value as u32) {
                    c.fault(self.process_of(register), text);
                }
            }
            Register::Express(offset) => self.send(c, self.express.express(offset, value, name)),
            Register::Tag(offset) => self.send(c, self.express.tag_on(offset, value, name)),
            Register::Order(word) => self.set_order(c, word, value),
            Register::System(process, registers::SYSTEM_EMPTY) => self.empty[process.index()] = value,
            Register::System(process, offset @ registers::SYSTEM_TABLE..) => {
                self.write_table(c, process, offset, value)
            }
            _ => {}
        }
    }

    /// An Express message goes into its queue.
    fn send(&mut self, c: &mut Context<'_, '_>, entry: Entry) {
        if let Some(slot) = self.shared.homes.slot(entry.queue) {
            self.express.push(slot, entry, &mut self.shared, c);
        }
    }

    /// The Express queue has room for one more message, with those for it that wait for the firmware: wherever it is when they
    /// go into it, they find room.
    fn has_room(&self, queue: QueueName) -> bool {
        let held = self.shared.homes.slot(queue).map_or(0, |slot| self.express.messages(slot));
        let waiting = self.service.as_ref().map_or(0, |service| service.waiting(queue));
        ((held + waiting) as u64) < self.express_slots
    }

    /// A 64-byte store is a message; the queue that it goes to, if there is no room for it. One that is `answered` needs a place
    /// among the accesses that wait for the firmware, too: any other has waited for that, or takes no time.
    fn store_wide(
        &mut self,
        c: &mut Context<'_, '_>,
        address: u64,
        words: &[u64; 8],
        answered: bool,
    ) -> Result<(), QueueName> {
        let register = self.register(address);
        let Register::Express(offset) = register else {
            let what = "the NES takes them in the Express window only";
            c.fault(
                self.process_of(register),
                format!("a 64-byte store to device address {address:#x}: {what}"),
            );
            return Ok(());
        };
        let queue = self.express.window.above(offset) as QueueName;
        if !self.has_room(queue) || (answered && self.is_overrun(register)) {
            return Err(queue);
        }
        let name = carried(c, self.process_of(register), register);
        if !self.wide_is_served(address, words, name) {
            self.send(c, self.express.wide(offset, words, name));
        }
        Ok(())
    }

    /// `job` is held up, or goes on.
    fn hold(&mut self, c: &mut Context<'_, '_>, job: JobId, is_held: bool) {
        self.shared.counters.held_up += u64::from(is_held);
        self.shared.homes.hold(job, is_held);
        self.transmitter.look_again();
        self.go_on(c);
    }

    /// System software of process `process` writes an entry of the destination table.
    fn write_table(&mut self, c: &mut Context<'_, '_>, process: ProcessId, offset: u64, value: u64) {
        let index = (offset - registers::SYSTEM_TABLE) / 8;
        let bits = self.express.window.destination_bits;
        let (row, column) = (index >> bits, index & ((1 << bits) - 1));
        if let Err(text) = self.shared.table.write(process, row, column as u16, value) {
            c.fault(process, text);
        }
    }

    /// Room in the TxU may be all that the end of a DMA request waits for, or a message that may pass one that waits itself: then
    /// the NES asks for the bus.
    fn room_is_visible(&self) -> bool {
        self.dma.waits_to_notify() || self.shared.homes.has_high() || self.shared.has_shares()
    }

    /// The units look for work: a packet left the TxU, or a message is there to be sent.
    fn go_on(&mut self, c: &mut Context<'_, '_>) {
        self.shared.start(c);
        self.express.go_on(&mut self.shared, c);
        self.transmitter.go_on(&mut self.shared, c);
        self.dma.go_on(&mut self.shared, c);
        self.control.go_on(&mut self.shared, c);
        // What they put into the TxU may start at once.
        self.shared.start(c);
    }
}

impl NetworkInterface for Nes {
    fn identify(&self, page: &mut NiIdentification) {
        page.device = registers::DEVICE as u32;
        page.interface = registers::HEADER.interface();
        page.settings[registers::SETTING_VARIANT as usize] = u64::from(self.shared.reclaims());
        page.settings[registers::SETTING_SLOTS as usize] = u64::from(self.transmit_rings.first.slots);
        page.settings[registers::SETTING_REQUESTS as usize] = u64::from(self.dma.queues[0].ring.slots);
        let limits = self.limits;
        page.settings[registers::SETTING_EXPRESS_END as usize] = limits.express_end;
        page.settings[registers::SETTING_STORE_64_END as usize] = limits.store_64_end;
        page.settings[registers::SETTING_TAG_ON_END as usize] = limits.tag_on_end;
        page.settings[registers::SETTING_BASIC_END as usize] = limits.basic_end;
        page.settings[registers::SETTING_EXPRESS_SLOTS as usize] = self.express_slots;
        page.settings[registers::SETTING_TAGS as usize] = u64::from(self.express.places[0].slots);
        page.settings[registers::SETTING_DESTINATION_BITS as usize] =
            u64::from(self.express.window.destination_bits);
        let names = self.shared.homes.names;
        page.settings[registers::SETTING_BASIC_QUEUES as usize] = names.basic as u64;
        let (express, basic) = self.shared.homes.high;
        page.settings[registers::SETTING_HIGH_EXPRESS as usize] = express;
        page.settings[registers::SETTING_HIGH_BASIC as usize] = basic;
        page.settings[registers::SETTING_STRIDE as usize] = self.transmit_rings.first.slot_bytes;
    }

    fn regions(&self, process: ProcessId) -> Vec<Region> {
        let (index, names) = (process.index(), self.shared.homes.names);
        let window = self.express.window;
        let (requests, places) = (&self.dma.queues[index].ring, &self.express.places[index]);
        let tag_values = u64::from(places.slots) << registers::TAG_PLACE_SHIFT;
        let device = |offset, bytes| Region { physical: DEVICE_BASE + offset, bytes };
        // The process's part of what all processes have alike, one after the other.
        let part = |offset, bytes| device(offset + index as u64 * bytes, bytes);
        let tags = self.receiver.tags[index].ring.bytes();
        vec![
            part(0, names.basic as u64 * PAGE_BYTES),
            self.transmit_rings.region(index * names.basic, names.basic),
            self.receive_rings.region(index * names.basic, names.basic),
            Region { physical: requests.base, bytes: requests.bytes() },
            part(EXPRESS_WINDOW, window.bytes(registers::EXPRESS_QUEUES)),
            part(EXPRESS_RECEIVE, PAGE_BYTES),
            part(TAG_WINDOW, window.bytes(tag_values)),
            Region { physical: places.base, bytes: places.bytes() + tags },
            device(SYSTEM + index as u64 * SYSTEM_STRIDE, self.system_bytes()),
        ]
    }

    fn is_exclusive(&self) -> bool {
        self.drain.is_some()
    }

    fn leave(&mut self, c: &mut Context<'_, '_>, leave: Leave) {
        let drain = self.drain.as_mut().expect("an exclusive NI drains");
        drain.begin(leave, c.now, &self.shared);
        self.dma.hold(leave.live);
        self.go_on(c);
        self.wake_service(c);
    }

    fn close(&mut self, c: &mut Context<'_, '_>, process: ProcessId, sends: bool) {
        self.shared.homes.close(process, sends);
        if !sends {
            self.dma.close(process, &mut self.shared);
        }
        self.receiver.close(&mut self.shared, c);
        self.close_service(process);
        self.go_on(c);
        self.wake_service(c);
    }

    fn may_retry(&self, address: u64) -> bool {
        self.may_have_to_wait(address)
    }

    fn retry(&mut self, c: &mut Context<'_, '_>, (address, _): (u64, u32), access: Uncached) -> Option<Time> {
        self.ask_service(c, address, access)
    }

    fn read(&mut self, c: &mut Context<'_, '_>, address: u64, bytes: u32) -> Reply {
        let register = self.register(address);
        let loaded = match self.answer(address, bytes) {
            Some(loaded) => loaded,
            None => self.load(c, register, bytes),
        };
        if let Some(name) = loaded.took {
            let id = name.map(|(source, sequence)| MessageId { source, sequence });
            c.recorders[self.process_of(register).index()].take(id);
        }
        self.wake_service(c);
        loaded.reply
    }

    fn write(&mut self, c: &mut Context<'_, '_>, address: u64, _bytes: u32, value: u64) {
        let register = self.register(address);
        let name = carried(c, self.process_of(register), register);
        if let Err(text) = self.check_stored(register, value as u32) {
            return c.fault(self.process_of(register), text);
        }
        if !self.store_is_served(address, value, name) {
            self.store(c, register, value, name);
        }
        self.wake_service(c);
    }

    fn store_64(&mut self, c: &mut Context<'_, '_>, address: u64, words: &[u64; 8], answered: bool) -> Reply {
        let (names, latency) = (self.shared.homes.names, self.shared.nes.pointer_access.cycles());
        let refused = self.store_wide(c, address, words, answered).err();
        let full = refused.map(|queue| move || (names.process(queue), express::full(names.own(queue))));
        let reply = c.answer_64(full, answered, self.shared.clock.edge(latency));
        self.wake_service(c);
        reply
    }

    fn event(&mut self, c: &mut Context<'_, '_>, payload: Payload) {
        match payload.into() {
            NesEvent::Transmitted => {
                let served = self.transmitter.transmitted(&mut self.shared, c);
                self.launched(served);
            }
            NesEvent::Start => self.shared.link.started(),
            // This is nothing to those who send.
            NesEvent::Landed => return self.receiver.landed(&mut self.shared, c),
            NesEvent::Service => self.service_access(c),
            NesEvent::Commanded => self.command_crossed(c),
            NesEvent::Fetched => {
                let result = self.fetcher.go_on(c);
                self.service_mut().result = result;
            }
            NesEvent::Received => self.receiver.received(&mut self.shared, c),
            NesEvent::Aside => self.receiver.go_on(&mut self.shared, c),
            NesEvent::Prepared => self.dma.prepared(),
            NesEvent::PagesIn => self.dma.pages_in(c.now),
            NesEvent::Crossed => self.dma.crossed(&mut self.shared),
            NesEvent::Room => self.dma.sees_room(),
            NesEvent::Told => self.control.crossed(&mut self.shared),
            NesEvent::ExpressTransmitted => {
                let slot = self.express.transmitted(&mut self.shared, c);
                self.left(slot);
            }
        }
        self.go_on(c);
        self.wake_service(c);
    }

    fn network(&mut self, c: &mut Context<'_, '_>, event: Event, packet: Option<Box<Packet>>) {
        match event.payload.into() {
            NodeEvent::Packet { tail, .. } => {
                let packet = packet.expect("a packet event brings a packet");
                self.in_flight -= 1;
                let process = self.shared.process_of(&packet.bytes);
                self.shared.link.arrive_whole(tail, packet, (process, NesEvent::Landed.into()), c);
            }
            NodeEvent::Credit { priority } => {
                self.shared.link.credit(priority);
                self.dma.credited(&self.shared, c);
                self.go_on(c);
            }
        }
    }

    fn bus_granted(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        match Owner::of(request.tag) {
            (Owner::Transmit, number) => self.transmitter.granted(number, request, c),
            (Owner::TagOn, number) => self.express.granted(number, request, c),
            (Owner::DmaRead, number) => self.dma.granted(number, request, c),
            (Owner::DmaWrite, number) => self.receiver.granted(number, c),
            (Owner::Command, _) => self.command_granted(request, c),
            (Owner::Fetch, number) => self.fetcher.granted(number, request, c),
            (Owner::Reclaim, _) => {}
        }
    }

    fn bus_done(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        match Owner::of(request.tag) {
            (Owner::Transmit, _) => self.transmitter.line_read(c),
            (Owner::Reclaim, _) => {}
            (Owner::TagOn, _) => self.express.line_read(c),
            (Owner::DmaRead, _) => self.dma.line_read(&mut self.shared, c),
            (Owner::DmaWrite, number) => self.receiver.line_written(number, &mut self.shared, c),
            (Owner::Command, _) => self.command_line(c),
            (Owner::Fetch, _) => self.fetcher.line_read(&mut self.shared, c),
        }
        self.go_on(c);
        self.wake_service(c);
    }

    fn attach(&self) -> Time {
        Time(self.shared.nes.attach.ps())
    }

    fn memory_latency(&self, address: u64) -> Option<Time> {
        let ring = self.transmit_rings.find(address).or_else(|| self.receive_rings.find(address));
        let in_dram =
            ring.is_some_and(|index| self.shared.homes.is_served(self.shared.homes.names.basic(index)));
        let latency = self.shared.clock.edge(self.shared.nes.sram_access.cycles());
        (self.memory.contains(&address) && !in_dram).then_some(latency)
    }

    fn self_contained_stores(&self, _: ProcessId) -> Range<u64> {
        // Messages, and the orders of OnePoll.
        DEVICE_BASE + EXPRESS_RECEIVE..DEVICE_BASE + TAG_WINDOW
    }

    /// These move pointers that the processor reads, or ask for the bus.
    fn is_visible(&self, payload: Payload) -> bool {
        match payload.into() {
            NesEvent::Start => self.room_is_visible(),
            event => event.is_visible(),
        }
    }

    fn network_is_visible(&self, event: &Event) -> bool {
        matches!(event.payload.into(), NodeEvent::Credit { .. }) && self.room_is_visible()
    }

    fn output_latency(&self, cause: Cause<'_>) -> &[Time] {
        let delays = &self.delays;
        match cause {
            Cause::Access if self.receiver.is_full() => &delays.any_store,
            Cause::Access => &delays.store,
            Cause::Event(event) => self.event_latency(event.into()),
            Cause::Bus(request) if Owner::of(request.tag).0 == Owner::DmaWrite => &delays.finish,
            Cause::Bus(_) => &delays.other,
            Cause::Network(event) => match event.payload.into() {
                NodeEvent::Packet { .. } => &delays.arrive,
                NodeEvent::Credit { .. } if self.waits_for_link() => &delays.other,
                NodeEvent::Credit { .. } => &delays.nothing,
            },
        }
    }

    fn announce(&mut self, event: &Event) -> bool {
        let had_room = !self.may_be_full();
        self.in_flight += usize::from(matches!(event.payload.into(), NodeEvent::Packet { .. }));
        had_room && self.may_be_full()
    }

    fn input_latency(&self) -> Time {
        self.delays.input
    }

    fn take_profiles(&mut self) -> Vec<Profile> {
        self.service.iter_mut().filter_map(|service| service.processor.take_profile()).collect()
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        self.shared.counters.visit(visit);
        self.shared.link.statistics(visit);
        if let Some(drain) = &self.drain {
            drain.counters.visit(visit);
        }
        if let Some(service) = &self.service {
            service.processor.statistics(&mut below("sp", visit));
        }
    }
}

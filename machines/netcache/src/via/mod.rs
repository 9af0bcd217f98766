//! A NIC of the Virtual Interface Architecture (specification 1.0, 1997): the policies `via` and `via-zero-copy`.
//!
//! A process posts descriptors to the work queues of its VIs by doorbells, in a page that it maps; the kernel's driver has
//! the rest: it fills the table by which the NIC finds memory (`table.rs`), and makes and connects VIs. The NIC moves data
//! from and to registered memory by coherent bus transactions, writes status and completion queues, and interrupts for
//! who sleeps. Of each direction one packet is dealt with at a time.
//!
//! Each process of a node has a part of all that there is: VIs, completion queues, entries of the table, memory in which
//! messages wait, pages of doorbells. The NIC and the driver number VIs and queues of all processes, one process after the
//! other; a process knows its own, from 0 on.

mod complete;
mod events;
mod line;
pub(crate) mod packet;
pub mod parameters;
mod peers;
mod receive;
pub mod registers;
mod sequence;
mod table;
mod transmit;
mod vi;

use std::collections::VecDeque;
use std::ops::Range;

use chasqui_abi::NiIdentification;
use chasqui_counters::{Counters, Visitor, counters};
use chasqui_engine::{Clock, Event, Packet, Payload, Time};
use chasqui_memory::DEVICE_BASE;
use chasqui_network::{NetworkParameters, NodeEvent, NodePort};
use chasqui_ni::{
    BusRequest, Context, Doorbells, LinkEnd, MessageKey, NetworkInterface, Pipeline, Promises, Region, Reply,
    Written,
};
use chasqui_placement::ProcessId;

use crate::parameters::{MpiUnit, NicUnit};
use complete::{Completer, Completion, Queue};
use events::{Owner, ViaEvent};
pub(crate) use line::Line;
use packet::{ACCEPTED, HEADER, REPLY, ViaHeader};
use parameters::ViaUnit;
pub(crate) use peers::ViaPeers;
use receive::Receiver;
use registers::{
    DESCRIPTOR_SHIFT, DOORBELL_BYTES, DOORBELL_HANDLE_SHIFT, DOORBELL_RECEIVE, NO_QUEUE, QUEUE_ADDRESS,
    QUEUE_ARM, QUEUE_BYTES, QUEUE_MEMORY, QUEUE_TAG, QUEUES, STATUS_DONE, STATUS_FLUSHED, STATUS_RDMA_WRITE,
    STATUS_RECEIVE, STATUS_SEND, TABLE, TABLE_BYTES, TABLE_WRITE, VI_BYTES, VI_CONNECTED, VI_ERROR, VI_IDLE,
    VI_QUEUES, VI_REMOTE, VI_STATE, VI_TAG, VIS,
};
use table::Table;
use transmit::Transmitter;
use vi::{Plan, Posted, State, Vi, Work};

/// Who waits sleeps.
pub(crate) fn blocks(via: &ViaUnit) -> bool {
    via.blocks
}

/// Longest packet [bytes], on the wire.
pub(crate) fn packet_bytes_max(nic: &NicUnit, via: &ViaUnit) -> u64 {
    transmit::packet_bytes_max(via.transfer.bytes(), nic.packet_data.bytes(), nic.packet_overhead.bytes())
}

/// What a NIC is made from.
pub(crate) struct ViaPlan {
    pub unit: NicUnit,
    pub via: ViaUnit,
    pub mpi: MpiUnit,
    /// The bus clock, which is also the NIC's.
    pub clock: Clock,
    /// Length of the outermost cache's lines [bytes], in which the NIC reads and writes.
    pub line_bytes: u64,
    /// Processes of a node.
    pub processes: u32,
    /// The network.
    pub network: NetworkParameters,
    /// The NIC's end of its link.
    pub port: NodePort,
}

counters! {
    /// Counters of a NIC, beside its link's.
    struct ViaStatistics {
        /// Descriptors that the process has posted.
        doorbells: "count";
        /// Descriptors that the NIC has read.
        descriptors: "count";
        /// Sends and RDMA writes, the library's own among them.
        sent: "count";
        /// Packets sent, without replies.
        packets: "packets";
        /// Packets sent again.
        resent: "packets";
        /// Messages that a receive descriptor took.
        received: "messages";
        /// Messages that waited in the NIC for a receive descriptor.
        held: "messages";
        /// Packets dropped, those among them that came behind a refused one.
        dropped: "packets";
        /// Packets dropped because no receive descriptor was posted.
        refused: "packets";
        /// Replies sent: how far a connection is.
        replies: "packets";
        /// Times that the interrupt line was asserted.
        interrupts: "count";
        /// Connections that an error has ended.
        errors: "count";
    }
}

/// A reply that waits for the link.
struct Answer {
    node: u32,
    header: ViaHeader,
}

/// What every unit uses.
struct Shared {
    unit: NicUnit,
    via: ViaUnit,
    clock: Clock,
    retry: Time,
    window: u32,
    table: Table,
    vis: Vec<Vi>,
    queues: Vec<Queue>,
    link: LinkEnd,
    pipeline: Pipeline<ViaEvent>,
    /// Those of the VIs.
    doorbells: Doorbells,
    /// Packets that wait for the link, and replies, which go first. Of the latter each connection has one at most.
    packets: VecDeque<Box<Packet>>,
    answers: VecDeque<Answer>,
    /// VIs that may have something to send, for the transmitter.
    ready: Vec<u32>,
    /// Descriptors that are at their end, for the completer.
    ended: Vec<Completion>,
    /// VIs with messages that wait and with descriptors for them.
    fed: VecDeque<u32>,
    /// Bytes of messages that wait for descriptors, by process.
    staged: Vec<u64>,
    /// Why the interrupt line is asserted.
    cause: u64,
    counters: ViaStatistics,
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

    fn packet(&self, destination: u32, bytes: Vec<u8>, message: MessageKey) -> Box<Packet> {
        Box::new(Packet {
            source: self.link.port().node(),
            destination,
            wire_bytes: (bytes.len() as u64 + self.unit.packet_overhead.bytes()) as u32,
            bytes,
            message,
            ..Packet::default()
        })
    }

    /// Whose VI `number` is.
    fn process_of(&self, number: u32) -> ProcessId {
        ProcessId(number / self.via.vis as u32)
    }

    /// Hands replies and packets to the link while it takes them.
    fn start(&mut self, c: &mut Context<'_, '_>) {
        while !(self.answers.is_empty() && self.packets.is_empty()) && self.link.takes(0, c) {
            let packet = self.next_packet();
            let process = self.process_of(ViaHeader::from_bytes(&packet.bytes).from);
            self.link.send(packet, process, c);
        }
    }

    fn next_packet(&mut self) -> Box<Packet> {
        match self.answers.pop_front() {
            Some(Answer { node, header }) => {
                self.counters.replies += 1;
                self.packet(node, header.to_bytes(), None)
            }
            None => self.packets.pop_front().expect("a packet waits"),
        }
    }

    /// Replies to the sender of `header`: how far its VI here is, and what of the packet. One that still waits for the link
    /// is out of date.
    fn reply(&mut self, node: u32, header: &ViaHeader, value: u32, c: &mut Context<'_, '_>) {
        let sequence = self.vis.get(header.to as usize).map_or(header.sequence, |vi| vi.expected);
        let reply = ViaHeader {
            kind: REPLY,
            to: header.from,
            from: header.to,
            sequence,
            value,
            ..ViaHeader::default()
        };
        let same = |a: &&mut Answer| a.node == node && (a.header.to, a.header.from) == (reply.to, reply.from);
        match self.answers.iter_mut().find(same) {
            // A refusal is not taken back: its packet must come again.
            Some(Answer { header: old, .. })
                if old.sequence == sequence && value == ACCEPTED && old.value != ACCEPTED => {}
            Some(answer) => answer.header = reply,
            None => self.answers.push_back(Answer { node, header: reply }),
        }
        self.start(c);
    }

    /// VI `number` may have something to send.
    fn wants_to_send(&mut self, number: u32) {
        let vi = &mut self.vis[number as usize];
        if vi.may_send(self.window) && !std::mem::replace(&mut vi.queued, true) {
            self.ready.push(number);
        }
    }

    /// A VI's messages or descriptors have become more or fewer.
    fn note_held(&mut self, number: u32) {
        let vi = &self.vis[number as usize];
        let is_fed = !vi.held.is_empty() && !vi.receives.is_empty();
        if is_fed && !self.fed.contains(&number) {
            self.fed.push_back(number);
        }
    }

    /// A VI with a message that waits and a descriptor for it.
    fn next_held(&mut self) -> Option<u32> {
        while let Some(number) = self.fed.pop_front() {
            let vi = &self.vis[number as usize];
            if !vi.held.is_empty() && !vi.receives.is_empty() {
                return Some(number);
            }
        }
        None
    }

    /// Descriptors of `vi`'s send queue are complete.
    fn concluded(&mut self, vi: u32, plans: &[Plan]) {
        for plan in plans {
            let operation =
                if transmit::is_write(&plan.descriptor) { STATUS_RDMA_WRITE } else { STATUS_SEND };
            self.ended.push(Completion {
                vi,
                is_receive: false,
                physical: plan.physical,
                immediate: plan.descriptor.immediate,
                length: plan.descriptor.length,
                status: STATUS_DONE | operation,
            });
        }
    }

    /// An error ends the connection of VI `number`. The descriptor of the packet `failed.0`, if there is one, has the
    /// status `failed.1`; all others are flushed (VIA 1.0, 2.5).
    fn break_off(&mut self, number: u32, failed: Option<(u32, u32)>, c: &mut Context<'_, '_>) {
        let vi = &mut self.vis[number as usize];
        vi.state = State::Error;
        let tag = vi.tag;
        let (work, receives) = (std::mem::take(&mut vi.work), std::mem::take(&mut vi.receives));
        let held = std::mem::take(&mut vi.held);
        self.unstage(number, held.iter().map(|held| (held.packet.bytes.len() - HEADER) as u64).sum());
        self.counters.errors += 1;
        let mut failed = failed;
        for Work { posted, plan, .. } in work {
            let is_it = |(sequence, _): &(u32, u32)| {
                plan.is_none_or(|plan| sequence.wrapping_sub(plan.first) < plan.packets)
            };
            let status = failed.take_if(|failed| is_it(failed)).map_or(STATUS_FLUSHED, |failed| failed.1);
            let is_write = plan.is_some_and(|plan| transmit::is_write(&plan.descriptor));
            let operation = if is_write { STATUS_RDMA_WRITE } else { STATUS_SEND };
            self.flush(number, posted, tag, false, status | operation);
        }
        for posted in receives {
            self.flush(number, posted, tag, true, STATUS_FLUSHED | STATUS_RECEIVE);
        }
        self.interrupt(registers::CAUSE_ERROR, c);
    }

    /// So many bytes of messages for VI `number` wait no longer.
    fn unstage(&mut self, number: u32, bytes: u64) {
        let process = self.process_of(number);
        self.staged[process.index()] -= bytes;
    }

    /// A descriptor ends with `status`, if there is one.
    fn flush(&mut self, vi: u32, posted: Posted, tag: u32, is_receive: bool, status: u32) {
        let Posted { address, handle } = posted;
        let found = self.table.translate(address, handle, transmit::DESCRIPTOR, tag, TABLE_WRITE);
        let Some([piece, ..]) = found.as_deref() else { return };
        let (physical, status) = (piece.address, STATUS_DONE | status);
        self.ended.push(Completion { vi, is_receive, physical, immediate: 0, length: 0, status });
    }

    /// A doorbell: a descriptor is posted.
    fn post(&mut self, address: u64, value: u64, c: &mut Context<'_, '_>) {
        let process = ProcessId((address / self.doorbells.bytes()) as u32);
        let (own, is_receive) = match self.doorbells.find(address % self.doorbells.bytes()) {
            Ok((own, door)) => (own as u32, door == DOORBELL_RECEIVE),
            Err(text) => return c.fault(process, text),
        };
        let posted = Posted {
            address: (value & u64::from(u32::MAX)) << DESCRIPTOR_SHIFT,
            handle: (value >> DOORBELL_HANDLE_SHIFT) as u32,
        };
        let message = if is_receive { None } else { c.recorders[process.index()].carried() };
        let number = process.0 * self.via.vis as u32 + own;
        let vi = &mut self.vis[number as usize];
        self.counters.doorbells += 1;
        let length = if is_receive { vi.receives.len() } else { vi.work.len() };
        if length as u64 >= self.via.depth {
            let which = if is_receive { "receive" } else { "send" };
            return c.fault(
                process,
                format!("a descriptor more on the {which} queue of VI {own}, which has {length}"),
            );
        }
        match (is_receive, vi.state) {
            (_, State::Error) | (false, State::Idle) => {
                let (tag, operation) = (vi.tag, if is_receive { STATUS_RECEIVE } else { STATUS_SEND });
                self.flush(number, posted, tag, is_receive, STATUS_FLUSHED | operation);
            }
            (true, _) => {
                vi.receives.push_back(posted);
                self.note_held(number);
            }
            (false, State::Connected) => {
                let message = message.map(|id| (id.source, id.sequence));
                vi.work.push_back(Work { posted, message, plan: None });
                self.wants_to_send(number);
            }
        }
    }

    /// The driver stores to a completion queue's register.
    fn set_queue(&mut self, number: usize, register: u64, value: u64, c: &mut Context<'_, '_>) {
        let Some(queue) = self.queues.get_mut(number) else { return };
        match register {
            QUEUE_ADDRESS => *queue = Queue::at(value),
            QUEUE_MEMORY => (queue.handle, queue.entries) = (value as u32, (value >> 32) as u32),
            QUEUE_TAG => queue.tag = value as u32,
            QUEUE_ARM if queue.arm(value as u32) => self.interrupt(registers::CAUSE_COMPLETION, c),
            _ => {}
        }
    }

    /// The driver stores to a VI's register.
    fn set_vi(&mut self, number: u32, register: u64, value: u64) {
        let nodes = self.link.port().nodes();
        let Some(vi) = self.vis.get_mut(number as usize) else { return };
        let (low, high) = (value as u32, (value >> 32) as u32);
        let queue = |number: u32| (u64::from(number) != NO_QUEUE).then_some(number);
        match register {
            VI_STATE if value == VI_IDLE => {
                let held = vi.held.iter().map(|held| (held.packet.bytes.len() - HEADER) as u64).sum();
                *vi = Vi::idle(vi.queued);
                self.unstage(number, held);
            }
            VI_STATE if vi.remote.0 < nodes => vi.state = State::Connected,
            VI_TAG => vi.tag = low,
            VI_REMOTE => vi.remote = (low, high),
            VI_QUEUES => (vi.send_queue, vi.receive_queue) = (queue(low), queue(high)),
            _ => {}
        }
    }
}

/// The NIC of a node.
pub(crate) struct ViaNic {
    shared: Shared,
    transmitter: Transmitter,
    receiver: Receiver,
    completer: Completer,
    mpi: MpiUnit,
}

impl ViaNic {
    pub fn new(plan: ViaPlan) -> ViaNic {
        let ViaPlan { unit, via, mpi, clock, line_bytes, processes, network, port } = plan;
        let doorbells = Doorbells { stride: DOORBELL_BYTES, queues: via.vis };
        let of_all = u64::from(processes);
        // There is room for all registers.
        assert!(of_all * doorbells.bytes() <= registers::CAUSE);
        assert!(
            of_all * via.queues * QUEUE_BYTES <= VIS - QUEUES && of_all * via.vis * VI_BYTES <= TABLE - VIS
        );
        assert!(TABLE + of_all * via.table * TABLE_BYTES <= chasqui_abi::kernel::DEVICE_BYTES);
        let link = LinkEnd::new(&network, port, unit.packet_overhead.bytes(), ViaEvent::Start.into());
        let takes = [
            (ViaEvent::Prepared, unit.transmit.cycles() + via.lookup.cycles()),
            (ViaEvent::Looked, via.lookup.cycles()),
            (ViaEvent::Completed, via.complete.cycles()),
        ];
        ViaNic {
            transmitter: Transmitter::new(line_bytes),
            receiver: Receiver::new(line_bytes),
            completer: Completer::new(line_bytes),
            shared: Shared {
                clock,
                retry: Time(via.retry.ps()),
                window: via.window as u32,
                table: Table::new(of_all * via.table),
                vis: (0..of_all * via.vis).map(|_| Vi::default()).collect(),
                queues: vec![Queue::default(); (of_all * via.queues) as usize],
                doorbells,
                pipeline: Pipeline::new(&link, clock, &takes, Some(ViaEvent::Landed)),
                link,
                packets: VecDeque::new(),
                answers: VecDeque::new(),
                ready: vec![],
                ended: vec![],
                fed: VecDeque::new(),
                staged: vec![0; processes as usize],
                cause: 0,
                counters: ViaStatistics::default(),
                unit,
                via,
            },
            mpi,
        }
    }

    /// Units look for work.
    fn go_on(&mut self, c: &mut Context<'_, '_>) {
        let s = &mut self.shared;
        s.start(c);
        self.receiver.go_on(s, c);
        self.transmitter.go_on(s, c);
        self.completer.go_on(s, c);
    }
}

impl NetworkInterface for ViaNic {
    fn identify(&self, page: &mut NiIdentification) {
        self.shared.via.identify(&self.mpi, page);
    }

    fn regions(&self, process: ProcessId) -> Vec<Region> {
        let bytes = self.shared.doorbells.bytes();
        vec![Region { physical: DEVICE_BASE + u64::from(process.0) * bytes, bytes }]
    }

    fn read(&mut self, _: &mut Context<'_, '_>, address: u64, _: u32) -> Reply {
        let s = &self.shared;
        let state_of = |vi: &Vi| match vi.state {
            State::Idle => VI_IDLE,
            State::Connected => VI_CONNECTED,
            State::Error => VI_ERROR,
        };
        let value = match address {
            registers::CAUSE => s.cause,
            VIS..TABLE if (address - VIS) % VI_BYTES == VI_STATE => {
                s.vis.get(((address - VIS) / VI_BYTES) as usize).map_or(0, state_of)
            }
            _ => 0,
        };
        let latency = s.clock.edge(s.unit.access.cycles());
        Reply { value, latency, repeatable: true }
    }

    fn write(&mut self, c: &mut Context<'_, '_>, address: u64, _: u32, value: u64) {
        let s = &mut self.shared;
        match address {
            ..registers::CAUSE => s.post(address, value, c),
            registers::CAUSE => {
                s.cause &= !value;
                c.interrupt(0, s.cause != 0);
            }
            QUEUES..VIS => {
                let at = address - QUEUES;
                s.set_queue((at / QUEUE_BYTES) as usize, at % QUEUE_BYTES, value, c);
            }
            VIS..TABLE => s.set_vi(((address - VIS) / VI_BYTES) as u32, (address - VIS) % VI_BYTES, value),
            TABLE.. => {
                let at = address - TABLE;
                if !s.table.store(at / TABLE_BYTES, at % TABLE_BYTES, value) {
                    let entries = s.via.table * TABLE_BYTES;
                    let process = ProcessId((at / entries) as u32 % s.staged.len() as u32);
                    c.fault(
                        process,
                        format!("an entry at {at:#x} of the translation table, which has none there"),
                    );
                }
            }
            _ => {}
        }
        self.go_on(c);
    }

    fn event(&mut self, c: &mut Context<'_, '_>, payload: Payload) {
        let s = &mut self.shared;
        match ViaEvent::from(payload) {
            ViaEvent::Start => s.link.started(),
            ViaEvent::Prepared | ViaEvent::Looked => self.transmitter.prepared(s, c),
            ViaEvent::Crossed => self.transmitter.crossed(s),
            ViaEvent::Landed => return self.receiver.landed(s, c),
            ViaEvent::Received => self.receiver.received(s, c),
            ViaEvent::Completed => self.completer.write(s, c),
            ViaEvent::Retry => {
                let vi = payload[1] as u32;
                s.vis[vi as usize].out.waits = false;
                s.wants_to_send(vi);
            }
        }
        self.go_on(c);
    }

    fn network(&mut self, c: &mut Context<'_, '_>, event: Event, packet: Option<Box<Packet>>) {
        match event.payload.into() {
            NodeEvent::Packet { tail, .. } => {
                let packet = packet.expect("a packet event brings a packet");
                let process = self.shared.process_of(ViaHeader::from_bytes(&packet.bytes).to);
                self.shared.link.arrive_whole(tail, packet, (process, ViaEvent::Landed.into()), c);
            }
            NodeEvent::Credit { priority } => {
                self.shared.link.credit(priority);
                self.shared.start(c);
                self.transmitter.go_on(&mut self.shared, c);
            }
        }
    }

    fn bus_granted(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        match Owner::of(request.tag) {
            (Owner::Transmit, number) => self.transmitter.reader.granted(number, request, c),
            (Owner::Fetch, number) => self.receiver.reader.granted(number, request, c),
            (Owner::Receive, number) => self.receiver.writer.granted(number, c),
            (Owner::Complete, number) => self.completer.writer.granted(number, c),
        }
    }

    fn bus_done(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        let s = &mut self.shared;
        let (owner, number) = Owner::of(request.tag);
        match owner {
            Owner::Transmit => self.transmitter.line_read(s, c),
            Owner::Fetch => self.receiver.line_read(s, c),
            Owner::Receive => {
                let Written { label, is_all } = self.receiver.writer.done(number);
                label.into_iter().for_each(|queue| s.entered(queue, c));
                if is_all {
                    self.receiver.written(s, c);
                }
            }
            Owner::Complete => {
                let Written { label, is_all } = self.completer.writer.done(number);
                label.into_iter().for_each(|queue| s.entered(queue, c));
                if is_all {
                    self.completer.finish();
                }
            }
        }
        self.go_on(c);
    }

    fn memory_latency(&self, _: u64) -> Option<Time> {
        None
    }

    fn self_contained_stores(&self, _: ProcessId) -> Range<u64> {
        // The driver's registers: their values are all that they say. Doorbells name descriptors.
        let entries = self.shared.staged.len() as u64 * self.shared.via.table;
        DEVICE_BASE + registers::CAUSE..DEVICE_BASE + TABLE + entries * TABLE_BYTES
    }

    fn promises(&self) -> Option<&dyn Promises> {
        Some(&self.shared.pipeline)
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        self.shared.counters.visit(visit);
        self.shared.link.statistics(visit);
    }
}

//! The network interface.
//!
//! Sending k bytes: the processor is busy for o; then the first byte is injected, not before g after the
//! end of the last message; the last byte follows (k-1)G later; each takes L. Receiving: the port takes
//! one message at a time, its bytes G apart, and g between messages; the processor is busy for o when it
//! releases a message that it dealt with.

use std::collections::VecDeque;
use std::mem::offset_of;

use chasqui_abi::{Envelope, NiIdentification};
use chasqui_counters::{Counters, Visitor, counters};
use chasqui_engine::{Class, Event, Packet, PartitionId, Payload, Port, Time};
use chasqui_memory::{DEVICE_BASE, PAGE_BYTES};
use chasqui_ni::{BusRequest, Cause, Context, NetworkInterface, Region, Reply};
use chasqui_placement::{JobId, NodeId, Placement, ProcessId, Rank};
use chasqui_record::{MessageId, Stage};

use crate::Loggp;
use crate::registers::{self, LoggpArrival, LoggpSend};

/// The NI's own events: the first byte of a message to itself is here; the last byte of a message is.
const OWN: Payload = [1, 0];
const LANDED: Payload = [0, 0];

/// There is one job: see [`chasqui_machine::Machine::jobs_max`].
const JOB: JobId = JobId(0);

/// Bytes of an [`Envelope`].
pub(crate) const ENVELOPE: usize = size_of::<Envelope>();

counters! {
    /// Counters of the NI.
    struct LoggpStatistics {
        /// Messages sent.
        sent: "messages";
        /// Messages received.
        received: "messages";
        /// Data sent.
        sent_bytes: "bytes";
    }
}

/// What a process has of the NI: its registers, and the messages that have arrived for it.
#[derive(Default)]
struct End {
    /// Messages that have arrived.
    arrived: VecDeque<Box<Packet>>,
    /// Bytes of a payload that are taken.
    take_bytes: u64,
    /// Virtual address to which arrivals are described.
    describe_at: u64,
}

/// Processes of a node: as many have registers of their own.
pub(crate) const PROCESSES_MAX: u32 = 1024;

pub(crate) struct LoggpNi {
    latency: Time,
    overhead_send: Time,
    overhead_receive: Time,
    gap: Time,
    gap_per_byte: Time,
    /// To other nodes, which are all there is.
    output_latency: [Time; 1],
    port: Port,
    /// Where it is.
    node: NodeId,
    placement: Placement,
    /// What stands for all other nodes; none: each is the partition of its number.
    peers: Option<PartitionId>,
    /// The next message may be injected.
    send_free: Time,
    /// The next message may be received.
    receive_free: Time,
    /// Messages to itself that are on their way.
    own: VecDeque<Box<Packet>>,
    /// Messages whose last byte is still to come, in order.
    landing: VecDeque<Box<Packet>>,
    /// What each process of the node has of it.
    ends: Vec<End>,
    counters: LoggpStatistics,
}

impl LoggpNi {
    pub fn new(loggp: &Loggp, node: NodeId, placement: &Placement, port: u32) -> LoggpNi {
        LoggpNi {
            latency: Time(loggp.latency.ps()),
            overhead_send: Time(loggp.overhead_send.ps()),
            overhead_receive: Time(loggp.overhead_receive.ps()),
            gap: Time(loggp.gap.ps()),
            gap_per_byte: Time(loggp.gap_per_byte.ps()),
            output_latency: [Time(loggp.overhead_send.ps() + loggp.latency.ps())],
            port: Port::new(port),
            node,
            placement: placement.clone(),
            own: VecDeque::new(),
            peers: None,
            send_free: Time::ZERO,
            receive_free: Time::ZERO,
            landing: VecDeque::new(),
            ends: (0..placement.processes()).map(|_| End::default()).collect(),
            counters: LoggpStatistics::default(),
        }
    }

    /// All that it sends goes to this partition.
    pub fn with_peers(self, peers: PartitionId) -> LoggpNi {
        LoggpNi { peers: Some(peers), ..self }
    }

    /// (k-1)G for the `k` bytes of a message's data; one without data counts as one byte.
    fn train(&self, bytes: u64) -> Time {
        Time(self.gap_per_byte.0 * bytes.max(1).saturating_sub(1))
    }

    fn send(&mut self, c: &mut Context<'_, '_>, from: ProcessId, address: u64) {
        let mut descriptor = [0; size_of::<LoggpSend>()];
        if !c.port().peek_virtual(address, &mut descriptor) {
            return fault(c, from, "send descriptor", address);
        }
        let send = LoggpSend::from_bytes(&descriptor);
        let (job, rank) = (self.placement.job(from), Rank(send.envelope.destination.into()));
        if rank.0 >= self.placement.ranks(job) {
            return c.fault(from, format!("the NI was given a message to {rank}, which is not there"));
        }
        // No payload is longer than memory.
        if send.payload_bytes > c.memory.bytes() {
            return fault(c, from, "payload", send.payload);
        }
        let mut bytes = vec![0; ENVELOPE + send.payload_bytes as usize];
        bytes[..ENVELOPE].copy_from_slice(&descriptor[..ENVELOPE]);
        if !c.port().peek_virtual(send.payload, &mut bytes[ENVELOPE..]) {
            return fault(c, from, "payload", send.payload);
        }
        let e = send.envelope;
        c.outputs.charge = self.overhead_send;
        let accept = c.now + self.overhead_send;
        let inject = accept.max(self.send_free);
        let train = self.train(send.payload_bytes);
        self.send_free = inject + train + self.gap;
        if let Some(id) = MessageId::of(&e) {
            c.recorders[from.index()].stamp(id, Stage::Accept, accept.0);
            c.recorders[from.index()].stamp(id, Stage::Inject, inject.0);
        }
        self.counters.sent += 1;
        self.counters.sent_bytes += send.payload_bytes;
        let to = self.placement.place(job, rank).node;
        let packet = Packet {
            source: self.node.0,
            destination: to.0,
            wire_bytes: send.payload_bytes as u32,
            bytes,
            message: e.message(),
            ..Packet::default()
        };
        let time = inject + self.latency;
        // No partition sends to itself.
        if to == self.node {
            self.own.push_back(Box::new(packet));
            return c.at(time, OWN);
        }
        let order = self.port.next(Class::Packet);
        let event = Event { time, order, target: 0, payload: [0, 0] };
        c.out.send(c.now, self.peers.unwrap_or(to.0), event, Some(Box::new(packet)));
    }

    /// The process of this node that a message is for. Messages cross no border between jobs, of which there is one.
    fn receiver(&self, packet: &Packet) -> ProcessId {
        let rank = Rank(Envelope::from_bytes(&packet.bytes).destination.into());
        self.placement.place(JOB, rank).process
    }

    /// The first byte of a message is here.
    fn arrive(&mut self, c: &mut Context<'_, '_>, packet: Box<Packet>) {
        let start = c.now.max(self.receive_free);
        let land = start + self.train(packet.bytes.len() as u64 - ENVELOPE as u64);
        self.receive_free = land + self.gap;
        self.stamp(c, &packet, Stage::Arrive);
        self.landing.push_back(packet);
        c.at(land, LANDED);
    }

    /// A message comes to `stage` now, at its receiver.
    fn stamp(&self, c: &mut Context<'_, '_>, packet: &Packet, stage: Stage) {
        if let Some((source, sequence)) = packet.message {
            let recorder = &mut c.recorders[self.receiver(packet).index()];
            recorder.stamp(MessageId { source, sequence }, stage, c.now.0);
        }
    }

    /// Describes the oldest message that has arrived for `process`; false: there is none.
    fn describe(&self, c: &mut Context<'_, '_>, process: ProcessId) -> bool {
        let end = &self.ends[process.index()];
        let Some(packet) = end.arrived.front() else { return false };
        let payload = &packet.bytes[ENVELOPE..];
        let (envelope, payload_bytes) = (Envelope::from_bytes(&packet.bytes), payload.len() as u64);
        let mut arrival = LoggpArrival { envelope, payload_bytes, ..Default::default() }.to_bytes();
        if payload_bytes <= registers::SHORT_BYTES {
            arrival[offset_of!(LoggpArrival, payload)..][..payload.len()].copy_from_slice(payload);
        }
        write_virtual(c, process, end.describe_at, &arrival);
        true
    }

    fn take(&self, c: &mut Context<'_, '_>, process: ProcessId, address: u64) {
        let end = &self.ends[process.index()];
        if let Some(packet) = end.arrived.front() {
            let payload = &packet.bytes[ENVELOPE..];
            write_virtual(c, process, address, &payload[..payload.len().min(end.take_bytes as usize)]);
        }
    }
}

fn fault(c: &mut Context<'_, '_>, process: ProcessId, what: &str, address: u64) {
    c.fault(process, format!("the NI was given a {what} at {address:#x}, which is not mapped"));
}

/// Writes to the memory of `process`, which has made the access.
fn write_virtual(c: &mut Context<'_, '_>, process: ProcessId, address: u64, bytes: &[u8]) {
    let mut done = 0;
    while done < bytes.len() {
        let at = address.wrapping_add(done as u64);
        let room = (PAGE_BYTES - at % PAGE_BYTES).min((bytes.len() - done) as u64) as usize;
        let pa = c.port().physical(at);
        let Some(pa) = pa.filter(|&pa| pa + room as u64 <= c.memory.bytes()) else {
            return fault(c, process, "buffer", at);
        };
        c.memory.slice_mut(pa, room).expect("just checked").copy_from_slice(&bytes[done..done + room]);
        done += room;
    }
}

/// The process that an access is of, and the register: each has a page of them.
fn register(address: u64) -> (ProcessId, u64) {
    (ProcessId((address / PAGE_BYTES) as u32), address % PAGE_BYTES)
}

impl NetworkInterface for LoggpNi {
    fn identify(&self, page: &mut NiIdentification) {
        page.device = registers::DEVICE as u32;
        page.interface = registers::HEADER.interface();
    }

    fn regions(&self, process: ProcessId) -> Vec<Region> {
        vec![Region { physical: DEVICE_BASE + u64::from(process.0) * PAGE_BYTES, bytes: PAGE_BYTES }]
    }

    fn read(&mut self, c: &mut Context<'_, '_>, address: u64, _: u32) -> Reply {
        let (process, register) = register(address);
        let arrived = register == registers::ARRIVED && self.describe(c, process);
        Reply { value: u64::from(arrived), latency: Time::ZERO, repeatable: !arrived }
    }

    fn write(&mut self, c: &mut Context<'_, '_>, address: u64, _: u32, value: u64) {
        let (process, register) = register(address);
        let end = &mut self.ends[process.index()];
        match register {
            registers::SEND => self.send(c, process, value),
            registers::DESCRIBE => end.describe_at = value,
            registers::TAKE_BYTES => end.take_bytes = value,
            registers::TAKE => self.take(c, process, value),
            registers::RELEASE if end.arrived.pop_front().is_some() => {
                c.outputs.charge = self.overhead_receive;
            }
            _ => {}
        }
    }

    /// The first byte of the oldest message to itself has come, or the last of the oldest that lands.
    fn event(&mut self, c: &mut Context<'_, '_>, payload: Payload) {
        if payload == OWN {
            let packet = self.own.pop_front().expect("an event is for a message to itself");
            return self.arrive(c, packet);
        }
        let packet = self.landing.pop_front().expect("an event is for a landing message");
        self.stamp(c, &packet, Stage::Land);
        self.counters.received += 1;
        let to = self.receiver(&packet);
        self.ends[to.index()].arrived.push_back(packet);
    }

    /// The first byte of a message is here.
    fn network(&mut self, c: &mut Context<'_, '_>, _: Event, packet: Option<Box<Packet>>) {
        self.arrive(c, packet.expect("a message"));
    }

    fn network_is_visible(&self, _: &Event) -> bool {
        false
    }

    fn bus_granted(&mut self, _: &mut Context<'_, '_>, _: BusRequest) {}

    fn bus_done(&mut self, _: &mut Context<'_, '_>, _: BusRequest) {}

    fn memory_latency(&self, _: u64) -> Option<Time> {
        None
    }

    fn output_latency(&self, _: Cause<'_>) -> &[Time] {
        &self.output_latency
    }

    fn input_latency(&self) -> Time {
        Time::ZERO
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        self.counters.visit(visit);
    }
}

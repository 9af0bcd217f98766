//! A conventional Ethernet controller (policy `tcp`): rings of descriptors in memory, DMA by physical addresses, an
//! interrupt line with causes and a mask. The kernel's driver is the only one that uses it (`kernel/ethernet.c`).
//!
//! Its parts are the 8254x's, as far as they cost time or can lose a frame (`registers.rs` names the manual). It makes
//! no checksums. A frame is in the controller as a whole before it leaves for the link or for memory.

mod events;
mod frame;
mod interrupt;
pub mod parameters;
mod peers;
mod receive;
pub mod registers;
mod stream;
mod transmit;

use std::ops::Range;

use chasqui_abi::NiIdentification;
use chasqui_counters::{Counters, Visitor, counters};
use chasqui_engine::{Clock, Event, Packet, Payload, Time};
use chasqui_memory::DEVICE_BASE;
use chasqui_network::{NetworkParameters, NodeEvent, NodePort};
use chasqui_ni::{
    BusOperation, BusRequest, Cause, Context, DescriptorRing, LinkEnd, NetworkInterface, Region, Reply,
};
use chasqui_placement::ProcessId;

use crate::PROCESS;
use events::{EthernetEvent, Purpose};
use interrupt::Interrupts;
use parameters::{EthernetUnit, TcpUnit, Waits};
pub(crate) use peers::TcpPeers;
use receive::Receiver;
use stream::Streams;
use transmit::Transmitter;

/// Bytes of a descriptor.
const DESCRIPTOR: usize = 16;

type Ring = DescriptorRing<DESCRIPTOR>;

/// Longest frame [bytes], on the wire.
pub(crate) fn packet_bytes_max(unit: &EthernetUnit) -> u64 {
    unit.frame_max() + unit.overhead.bytes()
}

/// The node that a frame goes to. Rank r's address is 02:00:00:00 and r, high byte first: one that is administered
/// locally (IEEE 802, 8.4).
fn node_of(frame: &[u8]) -> Option<u32> {
    match *frame {
        [0x02, 0, 0, 0, high, low, ..] => Some(u32::from(high) << 8 | u32::from(low)),
        _ => None,
    }
}

/// What a controller is made from.
pub(crate) struct EthernetPlan {
    pub unit: EthernetUnit,
    pub tcp: TcpUnit,
    /// The bus clock, which is also the controller's.
    pub clock: Clock,
    /// Length of the outermost cache's lines [bytes], in which the controller reads and writes.
    pub line_bytes: u64,
    /// The network.
    pub network: NetworkParameters,
    /// The controller's end of its link.
    pub port: NodePort,
}

counters! {
    /// Counters of a controller, beside its link's.
    struct EthernetStatistics {
        /// Frames sent.
        sent: "frames";
        /// Frames written to memory.
        received: "frames";
        /// Assertions of the interrupt line.
        interrupts: "count";
        /// Fetches of descriptors.
        fetches: "count";
        /// Frames lost for want of a descriptor.
        missed: "frames";
        /// Frames lost for want of room in the controller.
        overruns: "frames";
        /// Frames to no node, not sent.
        strays: "frames";
    }
}

/// What both units use.
struct Shared {
    unit: EthernetUnit,
    clock: Clock,
    line_bytes: u64,
    link: LinkEnd,
    interrupts: Interrupts,
    streams: Streams,
    /// But for the interrupts, which [`Interrupts`] counts.
    counters: EthernetStatistics,
}

impl Shared {
    /// Asks for descriptors of `ring`, if software has put some there.
    fn fetch(&self, ring: &Ring, purpose: Purpose, c: &mut Context<'_, '_>) -> bool {
        let block = ring.to_fetch(self.line_bytes);
        let Some((address, bytes)) = block.filter(|&(at, bytes)| self.is_memory(at, bytes.into(), c)) else {
            return false;
        };
        c.bus(BusRequest { operation: BusOperation::Read, address, bytes, tag: purpose.tag(0) });
        true
    }

    /// These are physical addresses of memory; if not, whoever gave them is told.
    fn is_memory(&self, address: u64, bytes: u64, c: &mut Context<'_, '_>) -> bool {
        let is_there = c.memory.slice(address, bytes as usize).is_ok();
        if !is_there {
            c.fault(PROCESS, format!("the controller was told of {bytes} bytes at {address:#x}: no memory"));
        }
        is_there
    }
}

/// The controller of a node.
pub(crate) struct Ethernet {
    shared: Shared,
    transmitter: Transmitter,
    receiver: Receiver,
    tcp: TcpUnit,
}

impl Ethernet {
    pub fn new(plan: EthernetPlan) -> Ethernet {
        let EthernetPlan { unit, tcp, clock, line_bytes, network, port } = plan;
        let control = clock.edge(unit.receive.cycles());
        Ethernet {
            transmitter: Transmitter::new(unit.transmit_slots as u32, line_bytes),
            receiver: Receiver::new(unit.receive_slots as u32, line_bytes),
            tcp,
            shared: Shared {
                clock,
                line_bytes,
                link: LinkEnd::new(&network, port, unit.shortest(), control, EthernetEvent::Start.into()),
                interrupts: Interrupts::new(Time(unit.interrupt_gap.ps())),
                streams: Streams::default(),
                counters: EthernetStatistics::default(),
                unit,
            },
        }
    }

    /// Units look for work.
    fn go_on(&mut self, c: &mut Context<'_, '_>) {
        self.transmitter.start(c, &mut self.shared);
        self.receiver.go_on(&mut self.shared, c);
        self.transmitter.go_on(&self.shared, c);
    }
}

impl NetworkInterface for Ethernet {
    fn identify(&self, page: &mut NiIdentification) {
        let unit = &self.shared.unit;
        page.device = registers::DEVICE as u32;
        page.interface = registers::HEADER.interface();
        page.settings[registers::SETTING_MTU as usize] = unit.mtu.bytes();
        page.settings[registers::SETTING_TRANSMIT_SLOTS as usize] = unit.transmit_slots;
        page.settings[registers::SETTING_RECEIVE_SLOTS as usize] = unit.receive_slots;
        page.settings[registers::SETTING_EAGER as usize] = self.tcp.eager.bytes();
        page.settings[registers::SETTING_POLLS as usize] = u64::from(self.tcp.waits == Waits::Polls);
    }

    /// The controller is the kernel's alone.
    fn regions(&self, _: ProcessId) -> Vec<Region> {
        vec![]
    }

    fn read(&mut self, c: &mut Context<'_, '_>, address: u64, _: u32) -> Reply {
        let (value, repeatable) = match address {
            registers::CAUSE => (self.shared.interrupts.take(c), false),
            registers::RECEIVE_HEAD => (u64::from(self.receiver.ring.head), true),
            registers::TRANSMIT_HEAD => (u64::from(self.transmitter.ring.head), true),
            _ => (0, true),
        };
        Reply { value, latency: self.shared.clock.edge(self.shared.unit.access.cycles()), repeatable }
    }

    fn write(&mut self, c: &mut Context<'_, '_>, address: u64, _: u32, value: u64) {
        let interrupts = &mut self.shared.interrupts;
        match address {
            registers::MASK_SET => interrupts.set_mask(interrupts.mask() | value, c),
            registers::MASK_CLEAR => interrupts.set_mask(interrupts.mask() & !value, c),
            registers::RECEIVE_BASE => self.receiver.ring.base = value,
            registers::RECEIVE_TAIL => self.receiver.ring.set_tail(value),
            registers::TRANSMIT_BASE => self.transmitter.ring.base = value,
            registers::TRANSMIT_TAIL => self.transmitter.ring.set_tail(value),
            _ => {}
        }
        self.go_on(c);
    }

    fn event(&mut self, c: &mut Context<'_, '_>, payload: Payload) {
        let s = &mut self.shared;
        match payload.into() {
            EthernetEvent::Start => s.link.started(),
            EthernetEvent::Prepared => self.transmitter.prepared(s, c),
            EthernetEvent::Received => self.receiver.received(s, c),
            EthernetEvent::Moderated => s.interrupts.moderated(c),
        }
        self.go_on(c);
    }

    fn network(&mut self, c: &mut Context<'_, '_>, event: Event, packet: Option<Box<Packet>>) {
        match event.payload.into() {
            NodeEvent::Packet { tail, .. } => {
                let packet = packet.expect("a packet event brings a packet");
                self.receiver.arrives(packet, tail, &mut self.shared, c);
            }
            NodeEvent::Credit { priority } => {
                self.shared.link.credit(priority);
                self.transmitter.start(c, &mut self.shared);
                self.transmitter.go_on(&self.shared, c);
            }
        }
    }

    fn bus_granted(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        let descriptors = |c: &Context<'_, '_>| {
            c.memory.slice(request.address, request.bytes as usize).expect("memory").to_vec()
        };
        match Purpose::of(request.tag) {
            (Purpose::TransmitFetch, _) => self.transmitter.ring.fetched(&descriptors(c)),
            (Purpose::TransmitData, number) => self.transmitter.reader.granted(number, request, c),
            (Purpose::TransmitBack, _) => self.transmitter.reported(request, c),
            (Purpose::ReceiveFetch, _) => self.receiver.ring.fetched(&descriptors(c)),
            (Purpose::ReceiveData, number) => self.receiver.writer.granted(number, c),
            (Purpose::ReceiveBack, _) => self.receiver.reported(request, c),
        }
    }

    fn bus_done(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        let s = &mut self.shared;
        match Purpose::of(request.tag) {
            (Purpose::TransmitFetch, _) => {
                s.counters.fetches += 1;
                self.transmitter.fetched();
            }
            (Purpose::TransmitData, _) => self.transmitter.part_read(s, c),
            (Purpose::TransmitBack, _) => self.transmitter.report_done(s, c),
            (Purpose::ReceiveFetch, _) => {
                s.counters.fetches += 1;
                self.receiver.fetched();
            }
            (Purpose::ReceiveData, number) => self.receiver.part_written(number, c),
            (Purpose::ReceiveBack, _) => self.receiver.report_done(s, c),
        }
        self.go_on(c);
    }

    fn memory_latency(&self, _: u64) -> Option<Time> {
        None
    }

    fn self_contained_stores(&self, _: ProcessId) -> Range<u64> {
        // The masks: their values are all that they say.
        DEVICE_BASE + registers::MASK_SET..DEVICE_BASE + registers::RECEIVE_BASE
    }

    fn is_visible(&self, payload: Payload) -> bool {
        EthernetEvent::from(payload).is_visible()
    }

    fn network_is_visible(&self, _: &Event) -> bool {
        false
    }

    fn output_latency(&self, cause: Cause<'_>) -> &[Time] {
        self.shared.link.output_latency(cause)
    }

    /// Frames and credits start control that takes cycles before anything else happens.
    fn input_latency(&self) -> Time {
        let unit = &self.shared.unit;
        self.shared.clock.edge(unit.transmit.cycles().min(unit.receive.cycles()))
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        EthernetStatistics { interrupts: self.shared.interrupts.count, ..self.shared.counters }.visit(visit);
        self.shared.link.statistics(visit);
    }
}

//! A conventional Ethernet controller (policies `tcp` and `mvia`): rings of descriptors in memory, DMA by physical addresses, an
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
pub(crate) mod via;

use std::ops::Range;

use chasqui_abi::NiIdentification;
use chasqui_counters::{Counters, Visitor, counters};
use chasqui_engine::{Clock, Event, Packet, Payload, Time};
use chasqui_memory::DEVICE_BASE;
use chasqui_network::{NetworkParameters, NodeEvent, NodePort};
use chasqui_ni::{
    BusOperation, BusRequest, Context, DescriptorRing, LinkEnd, MessageKey, NetworkInterface, Pipeline,
    Promises, Region, Reply,
};
use chasqui_placement::{JobId, Placement, ProcessId, Rank};

use crate::mechanism::Mechanism;
use crate::parameters::MpiUnit;
use crate::via::parameters::{MviaUnit, ViaUnit};
use events::{EthernetEvent, Purpose};
use frame::Segment;
use interrupt::Interrupts;
use parameters::{EthernetUnit, TcpUnit, Waits};
pub(crate) use peers::TcpPeers;
use receive::Receiver;
use stream::Streams;
use transmit::Transmitter;

/// The job whose processes have sockets.
const JOB: JobId = JobId(0);
/// The process that ends with what the driver does wrong.
const FIRST: ProcessId = ProcessId(0);

/// Bytes of a descriptor.
const DESCRIPTOR: usize = 16;

type Ring = DescriptorRing<DESCRIPTOR>;

/// Longest frame [bytes], on the wire.
pub(crate) fn packet_bytes_max(unit: &EthernetUnit) -> u64 {
    unit.frame_max() + unit.overhead.bytes()
}

/// The node that a frame goes to. Node n's address is 02:00:00:00 and n, high byte first: one that is administered
/// locally (IEEE 802, 8.4).
fn node_of(frame: &[u8]) -> Option<u32> {
    match *frame {
        [0x02, 0, 0, 0, high, low, ..] => Some(u32::from(high) << 8 | u32::from(low)),
        _ => None,
    }
}

/// Which MPI device the processes have, above the controller's driver.
pub(crate) enum Above {
    /// That over sockets.
    Sockets(TcpUnit),
    /// That over VIA, of which the kernel is the NIC.
    Via(MpiUnit, MviaUnit),
}

/// What a controller is made from.
pub(crate) struct EthernetPlan {
    pub unit: EthernetUnit,
    pub above: Above,
    pub via: ViaUnit,
    /// The bus clock, which is also the controller's.
    pub clock: Clock,
    /// Length of the outermost cache's lines [bytes], in which the controller reads and writes.
    pub line_bytes: u64,
    /// Where ranks are.
    pub placement: Placement,
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
    pipeline: Pipeline<EthernetEvent>,
    interrupts: Interrupts,
    streams: Streams,
    /// VIs of each process.
    vis: u64,
    placement: Placement,
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

    /// The message that a frame on its way out counts for, and by what it travels.
    fn name(&mut self, frame: &[u8]) -> (MessageKey, Mechanism) {
        via::message(frame).unwrap_or_else(|| (self.streams.name(frame), Mechanism::Stream))
    }

    /// The processes of whose sockets' connection, or VIs, a frame is, each a number on its node: who sends, and who gets it.
    /// Records alone depend on this.
    fn processes_of(&self, frame: &[u8]) -> [ProcessId; 2] {
        if let Some((head, _)) = via::parse(frame) {
            let of = |vi: u32| ProcessId((u64::from(vi) / self.vis) as u32);
            return [of(head.header.from), of(head.header.to)];
        }
        let ranks = Segment::parse(frame).map_or([0; 2], |segment| [segment.source, segment.destination]);
        let place =
            |rank: u32| (rank < self.placement.ranks(JOB)).then(|| self.placement.place(JOB, Rank(rank)));
        ranks.map(|rank| place(rank).map_or(FIRST, |place| place.process))
    }

    /// These are physical addresses of memory; if not, the driver was wrong.
    fn is_memory(&self, address: u64, bytes: u64, c: &mut Context<'_, '_>) -> bool {
        let is_there = c.memory.slice(address, bytes as usize).is_ok();
        if !is_there {
            c.fault(FIRST, format!("a descriptor names {bytes} bytes at {address:#x}: no memory"));
        }
        is_there
    }
}

/// The controller of a node.
pub(crate) struct Ethernet {
    shared: Shared,
    transmitter: Transmitter,
    receiver: Receiver,
    above: Above,
    via: ViaUnit,
}

impl Ethernet {
    pub fn new(plan: EthernetPlan) -> Ethernet {
        let EthernetPlan { unit, above, via, clock, line_bytes, placement, network, port } = plan;
        let link = LinkEnd::new(&network, port, unit.shortest(), EthernetEvent::Start.into());
        let takes = [
            (EthernetEvent::Prepared, unit.transmit.cycles()),
            (EthernetEvent::Received, unit.receive.cycles()),
        ];
        Ethernet {
            transmitter: Transmitter::new(unit.transmit_slots as u32, line_bytes),
            receiver: Receiver::new(unit.receive_slots as u32, line_bytes),
            above,
            shared: Shared {
                clock,
                line_bytes,
                pipeline: Pipeline::new(&link, clock, &takes, Some(EthernetEvent::Received)),
                link,
                interrupts: Interrupts::new(Time(unit.interrupt_gap.ps())),
                streams: Streams::default(),
                vis: via.vis,
                placement,
                counters: EthernetStatistics::default(),
                unit,
            },
            via,
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
        page.settings[registers::SETTING_MTU as usize] = unit.mtu.bytes();
        page.settings[registers::SETTING_TRANSMIT_SLOTS as usize] = unit.transmit_slots;
        page.settings[registers::SETTING_RECEIVE_SLOTS as usize] = unit.receive_slots;
        match &self.above {
            Above::Sockets(tcp) => {
                page.device = registers::DEVICE as u32;
                page.interface = registers::HEADER.interface();
                page.settings[registers::SETTING_EAGER as usize] = tcp.eager.bytes();
                page.settings[registers::SETTING_POLLS as usize] = u64::from(tcp.waits == Waits::Polls);
            }
            Above::Via(mpi, mvia) => {
                self.via.identify(mpi, page);
                self.via.identify_software(mvia, page);
            }
        }
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
            (Purpose::ReceiveData, number) => self.receiver.part_written(number, &self.shared, c),
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

    fn promises(&self) -> Option<&dyn Promises> {
        Some(&self.shared.pipeline)
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        EthernetStatistics { interrupts: self.shared.interrupts.count, ..self.shared.counters }.visit(visit);
        self.shared.link.statistics(visit);
    }
}

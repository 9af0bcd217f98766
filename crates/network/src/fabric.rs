//! The fabric: all routers of a network, as one partition of the engine.

use chasqui_engine::{
    Class, Event, EventQueue, Outbox, Packet, Partition, PartitionId, Port, Time, WORK_OF_EVENT,
};

use crate::node_port::{NodePort, Uplink};
use crate::router::{Departure, Held, Router, Work};
use crate::topology::{Header, Neighbour, RouterPort};
use crate::traffic::{Passage, Traffic};
use crate::{
    CrcError, FabricEvent, Link, LinkStatistics, NetworkParameters, NodeEvent, PRIORITIES, Topology,
};

/// Where the events of a node go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The node's partition.
    pub partition: PartitionId,
    /// The component in it that takes [`NodeEvent`]s.
    pub target: u32,
}

/// What the fabric as a whole did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FabricStatistics {
    /// Packets handed to nodes.
    pub delivered: u64,
    /// Passages of packets through routers.
    pub hops: u64,
    /// Packets that came to a router with a wrong CRC, counted at each.
    pub crc_errors: u64,
    /// Events handled, which the host pays for.
    pub events: u64,
}

/// A packet inside the fabric.
struct Transit {
    packet: Option<Box<Packet>>,
    header: Header,
    wire_bytes: u32,
    serialization: Time,
}

/// All routers of a network.
///
/// Events name their router as target, and routers know of each other through events and through
/// [`Router::credit_at`] only. To split the fabric over partitions, that one call becomes a message,
/// as it is already for nodes.
pub struct Fabric {
    topology: Box<dyn Topology>,
    parameters: NetworkParameters,
    link: Link,
    routing_delay: Time,
    attachments: Vec<Attachment>,
    first_port: u32,
    routers: Vec<Router>,
    /// Number of each router's first link among the links that leave routers.
    first_link: Vec<u32>,
    /// By link: what is at its far end, found once.
    far_ends: Vec<Neighbour>,
    queue: EventQueue,
    transits: Vec<Transit>,
    free_slots: Vec<u32>,
    departures: Vec<Departure>,
    statistics: FabricStatistics,
    traffic: Traffic,
    /// The first packet that came to a router with a wrong CRC.
    broken: Option<CrcError>,
}

impl Fabric {
    /// A fabric for the nodes in `attachments`, in the order of their network addresses. It uses the
    /// engine's port numbers from `first_port` on, [`Fabric::ports`] of them, its nodes' included.
    ///
    /// # Errors
    /// All that is wrong with the parameters.
    pub fn new(
        parameters: &NetworkParameters,
        attachments: Vec<Attachment>,
        first_port: u32,
    ) -> Result<Fabric, Vec<String>> {
        let nodes = u32::try_from(attachments.len()).expect("number of nodes");
        let topology = parameters.build_topology(nodes)?;
        parameters.fault.check_links(&*topology)?;
        let (mut first_link, mut far_ends) = (vec![], vec![]);
        for router in 0..topology.routers() {
            first_link.push(far_ends.len() as u32);
            far_ends.extend(
                (0..topology.ports(router)).map(|port| topology.neighbour(RouterPort { router, port })),
            );
        }
        let mut fabric = Fabric {
            topology,
            parameters: parameters.clone(),
            link: parameters.link(),
            routing_delay: Time(parameters.routing_delay_ps),
            attachments,
            first_port,
            routers: vec![],
            first_link,
            far_ends,
            queue: EventQueue::default(),
            transits: vec![],
            free_slots: vec![],
            departures: vec![],
            statistics: FabricStatistics::default(),
            traffic: Traffic::default(),
            broken: None,
        };
        let ports = u64::from(first_port) + (fabric.links() as u64 * PRIORITIES as u64);
        if ports > u64::from(Port::MAX) {
            return Err(vec![format!("the network needs ports up to {ports}; allowed is {}", Port::MAX)]);
        }
        fabric.routers = (0..fabric.topology.routers()).map(|router| fabric.router(router)).collect();
        Ok(fabric)
    }

    fn router(&self, router: u32) -> Router {
        let outputs = (0..self.topology.ports(router)).map(|port| {
            let link = self.first_link[router as usize] + u32::from(port);
            let credits = match self.far_ends[link as usize] {
                Neighbour::Router(_) => self.parameters.input_buffer_packets,
                Neighbour::Node(_) => self.parameters.receive_buffer_packets,
                Neighbour::Unconnected => 0,
            };
            (self.ports_of_link(link), credits)
        });
        Router::new(router, self.parameters.input_buffer_packets, outputs.collect())
    }

    /// Links in one direction: those that leave routers, then those that leave nodes.
    fn links(&self) -> usize {
        self.far_ends.len() + self.attachments.len()
    }

    /// The engine's ports of a link. Those of high priority are numbered below all of low priority, so
    /// that of packets that arrive in one instant the high ones are served first.
    fn ports_of_link(&self, link: u32) -> [Port; PRIORITIES] {
        let links = self.links() as u32;
        std::array::from_fn(|p| Port::new(self.first_port + (PRIORITIES - 1 - p) as u32 * links + link))
    }

    /// How many of the engine's port numbers the fabric and its nodes' ports use.
    pub fn ports(&self) -> u32 {
        (self.links() * PRIORITIES) as u32
    }

    /// The node's end of its link; `fabric` is the partition that this fabric will be. Only one may be
    /// in use for a node.
    pub fn node_port(&self, node: u32, fabric: PartitionId) -> NodePort {
        let at = self.topology.attachment(node);
        let ports = self.ports_of_link(self.far_ends.len() as u32 + node);
        let uplink = Uplink { node, nodes: self.topology.nodes(), fabric, router: at.router, input: at.port };
        NodePort::new(uplink, &self.parameters, ports)
    }

    /// Keeps of each link the first `passages_max` packets that pass it.
    pub fn keep_traffic(&mut self, passages_max: usize) {
        self.traffic = Traffic::new(self.links(), passages_max);
    }

    /// Calls `f` with each connected link, by its ends, and the packets that were kept of it.
    pub fn visit_traffic(&self, f: &mut dyn FnMut(Neighbour, Neighbour, &[Passage])) {
        for router in 0..self.topology.routers() {
            for port in 0..self.topology.ports(router) {
                let at = RouterPort { router, port };
                let link = self.link_at(at);
                if self.far_ends[link] != Neighbour::Unconnected {
                    f(Neighbour::Router(at), self.far_ends[link], self.traffic.of(link));
                }
            }
        }
        for node in 0..self.topology.nodes() {
            let link = self.far_ends.len() + node as usize;
            let router = Neighbour::Router(self.topology.attachment(node));
            f(Neighbour::Node(node), router, self.traffic.of(link));
        }
    }

    /// How routers are joined.
    pub fn topology(&self) -> &dyn Topology {
        &*self.topology
    }

    /// What the fabric as a whole did.
    pub fn statistics(&self) -> FabricStatistics {
        self.statistics
    }

    /// The wrong CRC that a router found first, which ends the job.
    pub fn broken(&self) -> Option<&CrcError> {
        self.broken.as_ref()
    }

    /// What a link that leaves a router did.
    pub fn link_statistics(&self, at: RouterPort) -> &LinkStatistics {
        self.routers[at.router as usize].statistics(at.port)
    }

    /// Calls `f` with name, unit, doc and value of each counter of the whole fabric.
    pub fn visit(&self, f: &mut dyn FnMut(&str, &'static str, &'static str, u64)) {
        let FabricStatistics { delivered, hops, crc_errors, events } = self.statistics;
        f("delivered", "packets", "Packets handed to nodes", delivered);
        f("hops", "packets", "Passages of packets through routers", hops);
        f("crc_errors", "packets", "Packets that came to a router with a wrong CRC", crc_errors);
        f("events", "events", "Events handled by the routers", events);
        let mut all = LinkStatistics::default();
        self.visit_links(&mut |_, link| all.add(link));
        all.visit(&mut |name, unit, doc, value| f(&format!("links.{name}"), unit, doc, value));
    }

    /// Calls `f` with each connected link that leaves a router.
    pub fn visit_links(&self, f: &mut dyn FnMut(RouterPort, &LinkStatistics)) {
        for router in 0..self.topology.routers() {
            for port in 0..self.topology.ports(router) {
                let at = RouterPort { router, port };
                if self.far_end(at) != Neighbour::Unconnected {
                    f(at, self.link_statistics(at));
                }
            }
        }
    }

    /// Checks that nothing is left in a fabric that has come to rest: no event, no packet, and all
    /// credits back. `held` is the number of packets that a node has not released.
    ///
    /// # Panics
    /// When something is left.
    pub fn assert_idle(&self, held: &dyn Fn(u32, u8) -> usize) {
        assert!(self.queue.is_empty(), "{} events are left", self.queue.len());
        assert_eq!(self.transits.len(), self.free_slots.len(), "packets are left");
        for (number, router) in (0..).zip(&self.routers) {
            for port in 0..self.topology.ports(number) {
                for priority in 0..PRIORITIES as u8 {
                    assert_eq!(router.waiting(port, priority), 0, "router {number} input {port}");
                    let expected = match self.far_end(RouterPort { router: number, port }) {
                        Neighbour::Router(_) => self.parameters.input_buffer_packets as usize,
                        Neighbour::Node(n) => {
                            self.parameters.receive_buffer_packets as usize - held(n, priority)
                        }
                        Neighbour::Unconnected => 0,
                    };
                    assert_eq!(router.credits(port, priority), expected, "router {number} output {port}");
                }
            }
        }
    }

    #[inline]
    fn far_end(&self, at: RouterPort) -> Neighbour {
        self.far_ends[self.link_at(at)]
    }

    /// Number of the link that leaves a router at `at`.
    #[inline]
    fn link_at(&self, at: RouterPort) -> usize {
        (self.first_link[at.router as usize] + u32::from(at.port)) as usize
    }

    /// Keeps the passage of a packet from its node, whose head was handed to a router at `handed`.
    fn keep_uplink(&mut self, slot: u32, handed: Time) {
        let Transit { header, wire_bytes, serialization, packet } = &self.transits[slot as usize];
        let start = handed - (self.link.latency() + self.routing_delay);
        let message = packet.as_ref().and_then(|packet| packet.message);
        let link = self.far_ends.len() + header.source as usize;
        self.traffic.keep(link, Passage { start, end: start + *serialization, bytes: *wire_bytes, message });
    }

    fn keep(&mut self, packet: Box<Packet>) -> u32 {
        let transit = Transit {
            header: Header::from(&*packet),
            wire_bytes: packet.wire_bytes,
            serialization: self.link.serialization(packet.wire_bytes),
            packet: Some(packet),
        };
        if let Some(slot) = self.free_slots.pop() {
            self.transits[slot as usize] = transit;
            slot
        } else {
            self.transits.push(transit);
            (self.transits.len() - 1) as u32
        }
    }

    fn handle(&mut self, event: Event, out: &mut Outbox<'_>) {
        self.statistics.events += 1;
        let (now, number) = (event.time, event.target);
        if self.parameters.fault.is_on() {
            self.check(&event);
        }
        let router = &mut self.routers[number as usize];
        let mut work = Work { queue: &mut self.queue, departures: &mut self.departures };
        match FabricEvent::from(event.payload) {
            FabricEvent::Packet { input, priority, slot } => {
                let transit = &self.transits[slot as usize];
                let output = self.topology.route(number, input, &transit.header);
                let &Transit { wire_bytes, serialization, .. } = transit;
                let held = Held { slot, output, wire_bytes, serialization };
                router.packet(now, input, priority, held, &mut work);
            }
            FabricEvent::Credit { output, priority } => router.credit(now, output, priority, &mut work),
            FabricEvent::Tail { input, priority, output } => {
                router.tail(now, input, priority, output, &mut work);
            }
            FabricEvent::Retry { output } => router.retry(now, output, &mut work),
        }
        while let Some(departure) = self.departures.pop() {
            self.depart(now, number, departure, out);
        }
    }

    /// Some packet waits at a router: its event has been.
    fn waits(&self) -> bool {
        let is_packet = |event: &&Event| matches!(event.payload.into(), FabricEvent::Packet { .. });
        self.transits.len() - self.free_slots.len() > self.queue.iter().filter(is_packet).count()
    }

    /// From `event` to its first effect on a node. `waits`: some packet waits at a router.
    fn delay(&self, event: &Event, waits: bool) -> Time {
        let latency = self.link.latency();
        let FabricEvent::Packet { input, slot, .. } = event.payload.into() else {
            // It lets a packet go on.
            return if waits { latency } else { Time::NEVER };
        };
        let (router, transit) = (event.target, &self.transits[slot as usize]);
        let output = self.topology.route(router, input, &transit.header);
        if matches!(self.far_end(RouterPort { router, port: output }), Neighbour::Node(_)) {
            return latency;
        }
        // The packet has another router to pass; room for the next is known to the node that sent it when
        // the tail has left.
        let onward = latency + self.routing_delay + latency;
        match self.far_end(RouterPort { router, port: input }) {
            Neighbour::Node(_) => onward.min(transit.serialization + latency),
            _ => onward,
        }
    }

    /// Checks the packet that `event` brings to a router, if it brings one. Its last byte comes behind its head by
    /// the time that they take on a link; by then the head may have left, for the next stage to check again.
    fn check(&mut self, event: &Event) {
        let FabricEvent::Packet { input, slot, .. } = event.payload.into() else { return };
        let transit = &self.transits[slot as usize];
        let packet = transit.packet.as_ref().expect("the packet is in the fabric");
        let at = RouterPort { router: event.target, port: input };
        let tail = event.time - self.routing_delay + transit.serialization;
        if let Err(error) = CrcError::check(packet, tail, (self.far_end(at), Neighbour::Router(at))) {
            self.statistics.crc_errors += 1;
            if self.broken.as_ref().is_none_or(|first| error.time < first.time) {
                self.broken = Some(error);
            }
        }
    }

    /// A faulty link may flip bits of the packet that a router sends on it.
    fn pass(&mut self, from: RouterPort, slot: u32) {
        let number = self.link_statistics(from).packets;
        let packet = self.transits[slot as usize].packet.as_mut().expect("the packet is in the fabric");
        self.parameters.fault.pass(Neighbour::Router(from), number, &mut packet.bytes);
    }

    /// Puts a packet on the wire and returns the credit for the room it leaves. Every packet that a
    /// router sends passes here.
    fn depart(&mut self, now: Time, router: u32, departure: Departure, out: &mut Outbox<'_>) {
        let Departure { input, priority, held, tail } = departure;
        let latency = self.link.latency();
        self.statistics.hops += 1;
        if self.parameters.fault.is_on() {
            self.pass(RouterPort { router, port: held.output }, held.slot);
        }
        if self.traffic.is_kept() {
            let packet = self.transits[held.slot as usize].packet.as_ref();
            let message = packet.and_then(|packet| packet.message);
            let link = self.link_at(RouterPort { router, port: held.output });
            let bytes = held.wire_bytes;
            self.traffic.keep(link, Passage { start: now, end: tail, bytes, message });
        }
        let order = self.routers[router as usize].order(held.output, priority, Class::Packet);
        match self.far_end(RouterPort { router, port: held.output }) {
            Neighbour::Router(next) => {
                let payload = FabricEvent::Packet { input: next.port, priority, slot: held.slot }.into();
                let time = now + latency + self.routing_delay;
                self.queue.push(Event { time, order, target: next.router, payload });
            }
            Neighbour::Node(node) => {
                self.statistics.delivered += 1;
                let packet = self.transits[held.slot as usize].packet.take();
                self.free_slots.push(held.slot);
                let payload = NodeEvent::Packet { tail: tail + latency, priority, slot: 0 }.into();
                let Attachment { partition, target } = self.attachments[node as usize];
                out.send(now, partition, Event { time: now + latency, order, target, payload }, packet);
            }
            Neighbour::Unconnected => panic!("router {router} sends to its port {}, an end", held.output),
        }
        match self.far_end(RouterPort { router, port: input }) {
            Neighbour::Router(from) => {
                let Fabric { routers, queue, .. } = self;
                routers[from.router as usize].credit_at(from.port, priority, tail + latency, queue);
            }
            Neighbour::Node(node) => {
                let order = self.routers[router as usize].order(input, priority, Class::Credit);
                let payload = NodeEvent::Credit { priority }.into();
                let Attachment { partition, target } = self.attachments[node as usize];
                out.send(now, partition, Event { time: tail + latency, order, target, payload }, None);
            }
            Neighbour::Unconnected => panic!("router {router} got a packet by its port {input}, an end"),
        }
    }
}

impl Partition for Fabric {
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }

    fn next(&self) -> Time {
        self.queue.next_time()
    }

    fn stop(&self) -> Option<Time> {
        self.broken.as_ref().map(|error| error.time)
    }

    fn reach(&self, _: &[Time], reach: &mut [Time]) {
        let latency = self.link.latency();
        let waits = self.waits();
        let mut first = Time::NEVER;
        for event in self.queue.iter() {
            // Only what may come before the first found is looked at closely.
            if event.time + latency < first {
                first = first.min(event.time + self.delay(event, waits));
            }
        }
        reach.fill(first);
    }

    /// Returns how many events were handled, by what they cost.
    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let before = self.statistics.events;
        while let Some(event) = self.queue.pop_before(out.limit()) {
            self.handle(event, out);
        }
        (self.statistics.events - before) * WORK_OF_EVENT
    }

    fn receive(&mut self, event: Event, packet: Option<Box<Packet>>) {
        self.enter(event, packet);
    }

    fn receive_within(&mut self, event: Event, packet: Option<Box<Packet>>, reach: &mut [Time]) -> bool {
        let event = self.enter(event, packet);
        let first = event.time + self.delay(&event, self.waits());
        reach.iter_mut().for_each(|reach| *reach = first.min(*reach));
        true
    }
}

impl Fabric {
    /// An event comes from a node, perhaps with a packet.
    fn enter(&mut self, mut event: Event, packet: Option<Box<Packet>>) -> Event {
        if let Some(packet) = packet {
            let FabricEvent::Packet { input, priority, .. } = event.payload.into() else {
                panic!("a packet came with {:?}", FabricEvent::from(event.payload));
            };
            let slot = self.keep(packet);
            if self.traffic.is_kept() {
                self.keep_uplink(slot, event.time);
            }
            event.payload = FabricEvent::Packet { input, priority, slot }.into();
        }
        self.queue.push(event);
        event
    }
}

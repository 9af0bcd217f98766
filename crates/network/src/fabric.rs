//! The fabric: the routers of a network, as one partition of the engine or several.

use std::sync::Arc;

use chasqui_counters::{Counters, Visitor, below, counters};
use chasqui_engine::{
    Class, Event, EventQueue, Outbox, Packet, Partition, PartitionId, Port, Time, WORK_OF_EVENT,
};

use crate::channels::Channels;
use crate::fault::{FaultKind, Faults};
use crate::faulty::Faulty;
use crate::node_port::{NodePort, Uplink};
use crate::router::{Departure, Held, Router, Work};
use crate::switching::Forwarding;
use crate::topology::{Header, Hop, Neighbour, RouterPort};
use crate::traffic::{Passage, Traffic};
use crate::wiring::Wiring;
use crate::zones::Zones;
use crate::{
    CrcError, FabricEvent, Link, LinkStatistics, NetworkParameters, NodeEvent, Switching, Topology,
    VirtualNetworks,
};

/// Where the events of a node go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The node's partition.
    pub partition: PartitionId,
    /// The component in it that takes [`NodeEvent`]s.
    pub target: u32,
}

counters! {
    /// What the fabric as a whole did.
    pub struct FabricStatistics {
        /// Packets handed to nodes.
        delivered: "packets";
        /// Passages of packets through routers.
        hops: "packets";
        /// Packets that came to a router with a wrong CRC, counted at each.
        crc_errors: "packets";
        /// Packets that faulty links lost.
        dropped: "packets";
        /// Packets that were sent twice.
        duplicated: "packets";
        /// Packets that came late, those included that were delayed by one before them.
        late: "packets";
    }
}

/// A packet inside the fabric.
pub(crate) struct Transit {
    pub(crate) packet: Option<Box<Packet>>,
    pub(crate) header: Header,
    more: bool,
    wire_bytes: u32,
    pub(crate) serialization: Time,
    /// What a node's faulty link did to it that a router has to see to.
    pub(crate) fate: Option<FaultKind>,
    /// It has been sent by the router where it is, and is to be once more.
    pub(crate) is_copy: bool,
}

/// All routers of a network, or those of a part of it.
///
/// Events name their router as target. Routers affect each other through events and through [`Router::credit_at`]
/// only, which is a message where the other one is in another part, as it is for nodes.
pub struct Fabric {
    pub(crate) wiring: Arc<Wiring>,
    pub(crate) parameters: NetworkParameters,
    pub(crate) faults: Faults,
    pub(crate) faulty: Faulty,
    pub(crate) link: Link,
    pub(crate) forwarding: Forwarding,
    pub(crate) channels: Channels,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) first_port: u32,
    pub(crate) routers: Vec<Router>,
    pub(crate) zones: Zones,
    /// By link that leaves a router: the partition that has the router at its far end, if that is another.
    pub(crate) elsewhere: Vec<Option<PartitionId>>,
    pub(crate) queue: EventQueue,
    pub(crate) transits: Vec<Transit>,
    pub(crate) free_slots: Vec<u32>,
    pub(crate) departures: Vec<Departure>,
    pub(crate) statistics: FabricStatistics,
    pub(crate) events: u64,
    pub(crate) traffic: Traffic,
    /// The first packet that came to a router with a wrong CRC.
    pub(crate) broken: Option<CrcError>,
}

impl Fabric {
    /// A fabric with virtual `networks` for the nodes in `attachments`, in the order of their network addresses. It uses the
    /// engine's port numbers from `first_port` on, [`Fabric::ports`] of them, its nodes' included.
    ///
    /// # Errors
    /// All that is wrong with the parameters.
    pub fn new(
        parameters: &NetworkParameters,
        networks: VirtualNetworks,
        attachments: Vec<Attachment>,
        first_port: u32,
    ) -> Result<Fabric, String> {
        let nodes = u32::try_from(attachments.len()).expect("number of nodes");
        let topology = parameters.build_topology(nodes)?;
        let faults = Faults::new(&parameters.fault)?;
        faults.check_links(&*topology)?;
        let wiring = Arc::new(Wiring::new(topology));
        let mut fabric =
            Fabric::without_routers(wiring, parameters, networks, faults, attachments, first_port);
        let ports = u64::from(first_port) + u64::from(fabric.ports());
        if ports > u64::from(Port::MAX) {
            return Err(format!("the network needs ports up to {ports}; allowed is {}", Port::MAX));
        }
        fabric.routers = fabric.wiring.routers().map(|router| fabric.router(router)).collect();
        Ok(fabric)
    }

    /// One to which nothing has happened, and whose routers are still to come.
    pub(crate) fn without_routers(
        wiring: Arc<Wiring>,
        parameters: &NetworkParameters,
        networks: VirtualNetworks,
        faults: Faults,
        attachments: Vec<Attachment>,
        first_port: u32,
    ) -> Fabric {
        let channels = Channels::new(networks, wiring.topology.virtual_channels());
        let links = wiring.links() + attachments.len();
        let faulty = Faulty::new(attachments.len(), links, channels.count());
        Fabric {
            parameters: parameters.clone(),
            faulty: if faults.are_on() { faulty } else { Faulty::default() },
            faults,
            link: parameters.link(),
            forwarding: parameters.forwarding(),
            channels,
            attachments,
            first_port,
            routers: vec![],
            zones: Zones::one(&wiring),
            elsewhere: vec![None; wiring.links()],
            wiring,
            queue: EventQueue::default(),
            transits: vec![],
            free_slots: vec![],
            departures: vec![],
            statistics: FabricStatistics::default(),
            events: 0,
            traffic: Traffic::default(),
            broken: None,
        }
    }

    /// A router that nothing has happened to.
    pub(crate) fn router(&self, number: u32) -> Router {
        let outputs = self.wiring.ports(number).map(|at| {
            let credits = match self.wiring.far_end(at) {
                Neighbour::Router(_) => self.parameters.input_buffer(),
                Neighbour::Node(_) => self.parameters.receive_buffer(),
                Neighbour::Unconnected => 0,
            };
            self.ports_of_link(self.wiring.link_at(at)).map(|port| (port, credits)).collect()
        });
        Router::new(number, self.parameters.input_buffer(), self.channels, outputs.collect())
    }

    /// The engine's ports of a link, by channel. Those of high channels are numbered below all of low channels, so that of
    /// packets that arrive in one instant those of the highest virtual network are served first.
    fn ports_of_link(&self, link: usize) -> impl Iterator<Item = Port> {
        let (links, channels, first) = (self.wiring.links(), self.channels.count(), self.first_port);
        (0..channels).rev().map(move |below| Port::new(first + (below * links + link) as u32))
    }

    /// How many of the engine's port numbers the fabric and its nodes' ports use.
    pub fn ports(&self) -> u32 {
        (self.wiring.links() * self.channels.count()) as u32
    }

    /// The node's end of its link; `fabric` is the partition that this fabric will be, or its part in the node's zone. Only
    /// one may be in use for a node.
    pub fn node_port(&self, node: u32, fabric: PartitionId) -> NodePort {
        let topology = &self.wiring.topology;
        let RouterPort { router, port: input } = topology.attachment(node);
        let (nodes, switches_beyond) = (topology.nodes(), self.zones.switches_between);
        let virtual_channels = self.channels.virtual_channels;
        let uplink = Uplink { node, nodes, fabric, router, input, switches_beyond, virtual_channels };
        let ports = self.ports_of_link(self.wiring.uplink(node)).step_by(virtual_channels.into());
        NodePort::new(uplink, &self.parameters, self.faults.clone(), ports)
    }

    /// Keeps of each link the first `passages_max` packets that pass it.
    pub fn keep_traffic(&mut self, passages_max: usize) {
        self.traffic = Traffic::new(self.wiring.links(), passages_max);
    }

    /// Calls `f` with each connected link, by its ends, and the packets that were kept of it.
    pub fn visit_traffic(&self, f: &mut dyn FnMut(Neighbour, Neighbour, &[Passage])) {
        for at in self.wiring.routers().flat_map(|router| self.wiring.ports(router)) {
            let far_end = self.wiring.far_end(at);
            if far_end != Neighbour::Unconnected {
                f(Neighbour::Router(at), far_end, self.traffic.of(self.wiring.link_at(at)));
            }
        }
        for node in 0..self.topology().nodes() {
            let router = Neighbour::Router(self.topology().attachment(node));
            f(Neighbour::Node(node), router, self.traffic.of(self.wiring.uplink(node)));
        }
    }

    /// How routers are joined.
    pub fn topology(&self) -> &dyn Topology {
        &*self.wiring.topology
    }

    /// What the fabric as a whole did.
    pub fn statistics(&self) -> FabricStatistics {
        self.statistics
    }

    /// Events handled, which the host pays for.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The wrong CRC that a router found first, which ends the job.
    pub fn broken(&self) -> Option<&CrcError> {
        self.broken.as_ref()
    }

    /// What a link that leaves a router did.
    pub fn link_statistics(&self, at: RouterPort) -> &LinkStatistics {
        self.routers[at.router as usize].statistics(at.port)
    }

    /// Visits the counters of the whole fabric, those of all links together below `links`.
    pub fn visit(&self, visit: &mut Visitor<'_>) {
        self.statistics.visit(visit);
        let mut all = LinkStatistics::default();
        self.visit_links(&mut |_, link| all.add(link));
        all.visit(&mut below("links", visit));
    }

    /// Calls `f` with each connected link that leaves a router.
    pub fn visit_links(&self, f: &mut dyn FnMut(RouterPort, &LinkStatistics)) {
        for at in self.wiring.routers().flat_map(|router| self.wiring.ports(router)) {
            if self.wiring.far_end(at) != Neighbour::Unconnected {
                f(at, self.link_statistics(at));
            }
        }
    }

    /// Checks that nothing is left in a fabric that has come to rest: no event, no packet, no worm without its end, and all
    /// credits back. `held` is the number of packets that a node has not released.
    ///
    /// # Panics
    /// When something is left.
    pub fn assert_idle(&self, held: &dyn Fn(u32, u8) -> usize) {
        assert!(self.queue.is_empty(), "{} events are left", self.queue.len());
        assert_eq!(self.transits.len(), self.free_slots.len(), "packets are left");
        for at in self.wiring.routers().flat_map(|router| self.wiring.ports(router)) {
            let RouterPort { router: number, port } = at;
            let router = &self.routers[number as usize];
            for (channel, network, virtual_channel) in self.channels.all() {
                assert_eq!(router.waiting(port, channel), 0, "router {number} input {port}");
                assert!(
                    !router.is_held(port, channel),
                    "router {number} output {port} waits for a worm's end"
                );
                let expected = match self.wiring.far_end(at) {
                    Neighbour::Router(_) => self.parameters.input_buffer() as usize,
                    // Links to nodes use the first virtual channel alone.
                    Neighbour::Node(n) => {
                        let held = if virtual_channel == 0 { held(n, network) } else { 0 };
                        self.parameters.receive_buffer() as usize - held
                    }
                    Neighbour::Unconnected => 0,
                };
                assert_eq!(router.credits(port, channel), expected, "router {number} output {port}");
            }
        }
    }

    /// The partition that has the router at the far end of the link at `at`, if that is another.
    #[inline]
    pub(crate) fn elsewhere(&self, at: RouterPort) -> Option<PartitionId> {
        self.elsewhere[self.wiring.link_at(at)]
    }

    /// Keeps the passage of a packet, if it is from its node, whose head was handed to a router's port at `handed`.
    fn keep_uplink(&mut self, slot: u32, at: RouterPort, handed: Time) {
        let Neighbour::Node(node) = self.wiring.far_end(at) else { return };
        let Transit { wire_bytes, serialization, packet, .. } = &self.transits[slot as usize];
        let start = handed - (self.link.latency() + self.forwarding.after(*serialization));
        let message = packet.as_ref().and_then(|packet| packet.message);
        let link = self.wiring.uplink(node);
        self.traffic.keep(link, Passage { start, end: start + *serialization, bytes: *wire_bytes, message });
    }

    pub(crate) fn keep(&mut self, packet: Box<Packet>) -> u32 {
        let transit = Transit {
            header: Header::from(&*packet),
            more: packet.more,
            wire_bytes: packet.wire_bytes,
            serialization: self.link.serialization(packet.wire_bytes),
            packet: Some(packet),
            fate: None,
            is_copy: false,
        };
        if let Some(slot) = self.free_slots.pop() {
            self.transits[slot as usize] = transit;
            slot
        } else {
            self.transits.push(transit);
            (self.transits.len() - 1) as u32
        }
    }

    /// A packet leaves the fabric.
    pub(crate) fn take(&mut self, slot: u32) -> Option<Box<Packet>> {
        self.free_slots.push(slot);
        self.transits[slot as usize].packet.take()
    }

    fn handle(&mut self, event: Event, out: &mut Outbox<'_>) {
        let (now, number) = (event.time, event.target);
        if self.faults.are_on() {
            if self.drop_if_lost(&event, out) {
                return;
            }
            self.check(&event);
        }
        let router = &mut self.routers[number as usize];
        let mut work = Work { queue: &mut self.queue, departures: &mut self.departures };
        match FabricEvent::from(event.payload) {
            FabricEvent::Packet { input, channel, slot } => {
                let transit = &self.transits[slot as usize];
                let &Transit { header, more, wire_bytes, serialization, .. } = transit;
                let Hop { port: output, virtual_channel } =
                    self.wiring.topology.route(number, input, &header);
                let leaves_by = self.channels.of(header.priority, virtual_channel);
                let held = Held { slot, output, channel: leaves_by, more, wire_bytes, serialization };
                router.packet(now, input, channel, held, &mut work);
            }
            FabricEvent::Credit { output, channel } => router.credit(now, output, channel, &mut work),
            FabricEvent::Tail { input, channel, output } => {
                router.tail(now, input, channel, output, &mut work);
            }
            FabricEvent::Retry { output } => router.retry(now, output, &mut work),
        }
        while let Some(departure) = self.next_departure() {
            self.depart(now, number, departure, out);
        }
    }

    /// The next of what has started in this event. Where bytes take no time two may have started on one output: the pieces of
    /// worms then leave in the order in which they did.
    #[inline]
    fn next_departure(&mut self) -> Option<Departure> {
        if self.departures.len() > 1 && self.forwarding.switching == Switching::Wormhole {
            return Some(self.departures.remove(0));
        }
        self.departures.pop()
    }

    /// Checks the packet that `event` brings to a router, if it brings one. Its last byte comes behind its head by
    /// the time that they take on a link; by then the head may have left, for the next stage to check again.
    fn check(&mut self, event: &Event) {
        let FabricEvent::Packet { input, slot, .. } = event.payload.into() else { return };
        let transit = &self.transits[slot as usize];
        let packet = transit.packet.as_ref().expect("the packet is in the fabric");
        let at = RouterPort { router: event.target, port: input };
        let in_router = self.forwarding.after(transit.serialization);
        let tail = event.time - in_router + transit.serialization;
        let ends = (self.wiring.far_end(at), Neighbour::Router(at));
        if let Err(error) = CrcError::check(packet, tail, ends) {
            self.statistics.crc_errors += 1;
            self.note_broken(error);
        }
    }

    /// A router has found a wrong CRC. Of those of one instant the first router's counts.
    pub(crate) fn note_broken(&mut self, error: CrcError) {
        if self.faulty.is_tolerated {
            return;
        }
        if self.broken.as_ref().is_none_or(|first| error.place_in_order() < first.place_in_order()) {
            self.broken = Some(error);
        }
    }

    /// Puts a packet on the wire and returns the credit for the room it leaves. Every packet that a
    /// router sends passes here.
    fn depart(&mut self, now: Time, router: u32, departure: Departure, out: &mut Outbox<'_>) {
        let Departure { input, channel, held, tail } = departure;
        let (came, sent) = (RouterPort { router, port: input }, RouterPort { router, port: held.output });
        self.statistics.hops += 1;
        let fate = if self.faults.are_on() { self.pass(sent, held.slot) } else { None };
        if self.traffic.is_kept() {
            let packet = self.transits[held.slot as usize].packet.as_ref();
            let message = packet.and_then(|packet| packet.message);
            let bytes = held.wire_bytes;
            self.traffic.keep(self.wiring.link_at(sent), Passage { start: now, end: tail, bytes, message });
        }
        if fate == Some(FaultKind::Duplicate) {
            self.repeat(came, channel, held);
        } else {
            self.return_credit(now, came, channel, tail, out);
        }
        if fate == Some(FaultKind::Drop) {
            self.lose(sent, held.channel, (held.slot, tail));
        } else {
            self.send(now, sent, held.channel, (held.slot, tail), fate, out);
        }
    }

    /// A packet, which lies in `slot`, leaves a router at `at`; its last byte does at `tail`.
    fn send(
        &mut self,
        now: Time,
        at: RouterPort,
        channel: u8,
        (slot, tail): (u32, Time),
        fate: Option<FaultKind>,
        out: &mut Outbox<'_>,
    ) {
        let latency =
            self.link.latency() + self.lateness((self.wiring.link_at(at), channel), (now, tail - now), fate);
        let order = self.routers[at.router as usize].order(at.port, channel, Class::Packet);
        match self.wiring.far_end(at) {
            Neighbour::Router(next) => {
                let time = now + latency + self.forwarding.after(tail - now);
                let to = |slot| {
                    let payload = FabricEvent::Packet { input: next.port, channel, slot }.into();
                    Event { time, order, target: next.router, payload }
                };
                match self.elsewhere(at) {
                    None => self.queue.push(to(slot)),
                    Some(partition) => out.send(now, partition, to(0), self.take(slot)),
                }
            }
            Neighbour::Node(node) => {
                self.statistics.delivered += 1;
                let priority = self.channels.network(channel);
                let payload = NodeEvent::Packet { tail: tail + latency, priority, slot: 0 }.into();
                let Attachment { partition, target } = self.attachments[node as usize];
                let event = Event { time: now + latency, order, target, payload };
                out.send(now, partition, event, self.take(slot));
            }
            Neighbour::Unconnected => panic!("router {} sends to its port {}, an end", at.router, at.port),
        }
    }

    /// The room of a packet that came to a router at `at` is free when its `tail` has left.
    pub(crate) fn return_credit(
        &mut self,
        now: Time,
        at: RouterPort,
        channel: u8,
        tail: Time,
        out: &mut Outbox<'_>,
    ) {
        let time = tail + self.link.latency();
        let elsewhere = self.elsewhere(at);
        let (partition, target, payload) = match self.wiring.far_end(at) {
            Neighbour::Router(from) => match elsewhere {
                None => {
                    let Fabric { routers, queue, .. } = self;
                    return routers[from.router as usize].credit_at(from.port, channel, time, queue);
                }
                Some(partition) => {
                    (partition, from.router, FabricEvent::Credit { output: from.port, channel }.into())
                }
            },
            Neighbour::Node(node) => {
                let Attachment { partition, target } = self.attachments[node as usize];
                let priority = self.channels.network(channel);
                (partition, target, NodeEvent::Credit { priority }.into())
            }
            Neighbour::Unconnected => {
                panic!("router {} got a packet by its port {}, an end", at.router, at.port)
            }
        };
        let order = self.routers[at.router as usize].order(at.port, channel, Class::Credit);
        out.send(now, partition, Event { time, order, target, payload }, None);
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

    fn earliest_outputs(&self, least: &[Time], earliest: &mut [Time]) {
        earliest.fill(Time::NEVER);
        self.lower_earliest_outputs(self.queue.iter(), least, earliest);
    }

    /// Returns how many events were handled, by what they cost.
    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let before = self.events;
        while let Some(event) = self.queue.pop_before(out.limit()) {
            self.handle(event, out);
            self.events += 1;
        }
        (self.events - before) * WORK_OF_EVENT
    }

    fn receive(&mut self, event: Event, packet: Option<Box<Packet>>) {
        self.enter(event, packet);
    }

    fn receive_within(
        &mut self,
        event: Event,
        packet: Option<Box<Packet>>,
        least: &[Time],
        earliest: &mut [Time],
    ) -> bool {
        let event = self.enter(event, packet);
        self.lower_earliest_outputs(std::iter::once(&event), least, earliest);
        true
    }
}

impl Fabric {
    /// An event comes from a node or another part of the network, perhaps with a packet.
    fn enter(&mut self, mut event: Event, packet: Option<Box<Packet>>) -> Event {
        if let Some(packet) = packet {
            let FabricEvent::Packet { input, channel, .. } = event.payload.into() else {
                panic!("a packet came with {:?}", FabricEvent::from(event.payload));
            };
            let slot = self.keep(packet);
            if self.faults.are_on() {
                event.time += self.uplink_fault(
                    slot,
                    RouterPort { router: event.target, port: input },
                    channel,
                    event.time,
                );
            }
            if self.traffic.is_kept() {
                self.keep_uplink(slot, RouterPort { router: event.target, port: input }, event.time);
            }
            event.payload = FabricEvent::Packet { input, channel, slot }.into();
        }
        self.queue.push(event);
        event
    }
}

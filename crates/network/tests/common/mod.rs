//! Nodes that send planned packets over a fabric and log what arrives.

#![allow(dead_code, reason = "tests and the example `hops` each use a part")]

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chasqui_config::Bandwidth;
use chasqui_counters::{Counters, below};
use chasqui_engine::{
    Class, Ended, Engine, Event, EventQueue, Lookahead, Outbox, Packet, Partition, PartitionId, Port,
    Threads, Time,
};
use chasqui_network::{
    Attachment, Blocked, CrcError, FABRIC, Fabric, LinkStatistics, NODES, NetworkParameters, NodeEvent,
    NodePort, VirtualNetworks,
};
use chasqui_random::Random;

/// Virtual networks, of which the highest goes first if nothing else is said.
pub const PRIORITIES: usize = 2;

/// A packet to send, not before `at`, after all earlier ones of the node's plan with its priority.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub at: u64,
    pub destination: u32,
    pub priority: u8,
    pub bytes: u32,
    /// The node's next packet of this priority belongs to the same worm.
    pub more: bool,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub source: u32,
    pub priority: u8,
    /// Number within the source's plan.
    pub sequence: u64,
    pub bytes: u32,
    pub sent: u64,
    pub head: u64,
    pub tail: u64,
}

/// Arctic's links (StarT-Voyager, CSG Memo 394, section 3): 16 bits at 80 MHz. And a graph of 72 nodes, for the topology
/// that needs one.
pub fn arctic() -> NetworkParameters {
    NetworkParameters {
        link_bandwidth: Bandwidth::from_bytes_per_s(160_000_000),
        graph: include_str!("../graph.toml").into(),
        ..Default::default()
    }
}

pub struct Setup {
    pub parameters: NetworkParameters,
    pub networks: VirtualNetworks,
    pub plans: Vec<Vec<Plan>>,
    /// A node's receive buffer is released at a packet's tail, but not before this time.
    pub stalled_until: Vec<u64>,
    /// The engine is told the true look-ahead divided by this, if it is not 1: then less than the fabric knows, too.
    pub lookahead_divisor: u64,
    /// Over so many partitions the nodes are spread.
    pub hosts: u32,
    /// Parts of the fabric; a host's nodes are in one zone.
    pub zones: u32,
    pub threads: usize,
    /// Log arrivals.
    pub log: bool,
}

impl Setup {
    pub fn new(parameters: NetworkParameters, plans: Vec<Vec<Plan>>) -> Setup {
        let nodes = plans.len();
        let stalled_until = vec![0; nodes];
        let hosts = nodes as u32;
        Setup {
            parameters,
            networks: VirtualNetworks::by_priority(PRIORITIES as u8),
            plans,
            stalled_until,
            lookahead_divisor: 1,
            hosts,
            zones: 1,
            threads: 1,
            log: true,
        }
    }
}

pub struct Outcome {
    /// By destination, in the order of arrival.
    pub arrivals: Vec<Vec<Arrival>>,
    /// Packets that arrived with a wrong CRC, by destination.
    pub errors: Vec<Vec<CrcError>>,
    pub node_links: Vec<LinkStatistics>,
    pub fabric: Fabric,
    /// Time that the host spent in the fabric.
    pub fabric_time: Duration,
    pub host_time: Duration,
}

impl Outcome {
    pub fn all(&self) -> impl Iterator<Item = (usize, &Arrival)> {
        self.arrivals.iter().enumerate().flat_map(|(node, list)| list.iter().map(move |a| (node, a)))
    }

    /// When the last tail landed.
    pub fn end(&self) -> u64 {
        self.all().map(|(_, a)| a.tail).max().unwrap()
    }
}

/// The fabric or a part of it, and the time that the host spent there. Wrong CRCs don't end the run.
struct Timed {
    fabric: Fabric,
    host_time: Duration,
    /// It tells no more than the look-ahead.
    is_modest: bool,
}

impl Partition for Timed {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
    fn next(&self) -> Time {
        self.fabric.next()
    }
    fn earliest_outputs(&self, least: &[Time], earliest: &mut [Time]) {
        if self.is_modest {
            earliest.iter_mut().zip(least).for_each(|(earliest, &least)| *earliest = self.next() + least);
        } else {
            self.fabric.earliest_outputs(least, earliest);
        }
    }
    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let start = Instant::now();
        let work = self.fabric.run(out);
        self.host_time += start.elapsed();
        work
    }
    fn receive(&mut self, event: Event, packet: Option<Box<Packet>>) {
        self.fabric.receive(event, packet);
    }
    fn receive_within(
        &mut self,
        event: Event,
        packet: Option<Box<Packet>>,
        least: &[Time],
        earliest: &mut [Time],
    ) -> bool {
        if self.is_modest {
            self.receive(event, packet);
            return false;
        }
        self.fabric.receive_within(event, packet, least, earliest)
    }
}

#[derive(Default)]
struct Log {
    arrivals: Vec<Arrival>,
    errors: Vec<CrcError>,
    link: LinkStatistics,
    held: Vec<usize>,
}

struct Node {
    port: NodePort,
    timers: Port,
    plans: Vec<VecDeque<(u64, Plan)>>,
    stalled_until: u64,
    wake_at: Time,
    log: Arc<Mutex<Vec<Log>>>,
    logging: bool,
}

/// A partition of several nodes.
struct Host {
    nodes: Vec<Node>,
    queue: EventQueue,
    packets: Vec<Option<Box<Packet>>>,
    free: Vec<u32>,
}

const WAKE: u64 = 0;
const RELEASE: u64 = 1;

impl Node {
    /// Sends what may be sent now; otherwise asks to be woken when it may.
    fn send(&mut self, now: Time, target: u32, queue: &mut EventQueue, out: &mut Outbox<'_>) {
        let mut wake = Time::NEVER;
        for priority in (0..self.plans.len()).rev() {
            while let Some(&(sequence, plan)) = self.plans[priority].front() {
                if plan.at > now.0 {
                    wake = wake.min(Time(plan.at));
                    break;
                }
                match self.port.can_send(now, priority as u8) {
                    Ok(()) => {}
                    Err(Blocked::LinkBusy { until }) => {
                        wake = wake.min(until);
                        break;
                    }
                    Err(Blocked::NoCredit) => break,
                }
                let mut bytes = sequence.to_le_bytes().to_vec();
                bytes.extend(now.0.to_le_bytes());
                let packet = Packet {
                    source: self.port.node(),
                    destination: plan.destination,
                    priority: plan.priority,
                    wire_bytes: plan.bytes,
                    more: plan.more,
                    bytes,
                    message: None,
                };
                let sent = self.port.send(now, Box::new(packet), out);
                assert_eq!(sent.head, now);
                self.plans[priority].pop_front();
            }
        }
        if wake < self.wake_at {
            self.wake_at = wake;
            let order = self.timers.next(Class::Internal);
            queue.push(Event { time: wake, order, target: target + 1, payload: [WAKE, 0] });
        }
    }

    fn arrive(&mut self, now: Time, tail: Time, packet: &mut Packet) {
        let checked = self.port.arrive(tail, packet);
        if let Err(error) = checked {
            self.log.lock().unwrap()[self.port.node() as usize].errors.push(error);
            return;
        }
        assert_eq!(packet.destination, self.port.node());
        assert!(tail >= now);
        if self.logging {
            let number = |at: usize| u64::from_le_bytes(packet.bytes[at..at + 8].try_into().unwrap());
            self.log.lock().unwrap()[self.port.node() as usize].arrivals.push(Arrival {
                source: packet.source,
                priority: packet.priority,
                sequence: number(0),
                bytes: packet.wire_bytes,
                sent: number(8),
                head: now.0,
                tail: tail.0,
            });
        }
    }
}

impl Partition for Host {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
    fn next(&self) -> Time {
        self.queue.next_time()
    }

    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let mut events = 0;
        while let Some(event) = self.queue.pop_before(out.limit()) {
            events += 1;
            let (now, target) = (event.time, event.target & !1);
            let node = &mut self.nodes[target as usize / 2];
            if event.target & 1 == 1 {
                let [kind, priority] = event.payload;
                if kind == RELEASE {
                    node.port.release(now, priority as u8, out);
                } else {
                    if node.wake_at == now {
                        node.wake_at = Time::NEVER;
                    }
                    node.send(now, target, &mut self.queue, out);
                }
                continue;
            }
            match NodeEvent::from(event.payload) {
                NodeEvent::Packet { tail, priority, slot } => {
                    let mut packet = self.packets[slot as usize].take().unwrap();
                    self.free.push(slot);
                    node.arrive(now, tail, &mut packet);
                    let time = tail.max(Time(node.stalled_until));
                    let order = node.timers.next(Class::Internal);
                    let payload = [RELEASE, priority.into()];
                    self.queue.push(Event { time, order, target: target + 1, payload });
                }
                NodeEvent::Credit { priority } => {
                    node.port.receive_credit(priority);
                    node.send(now, target, &mut self.queue, out);
                }
            }
        }
        events
    }

    fn receive(&mut self, mut event: Event, packet: Option<Box<Packet>>) {
        if let Some(packet) = packet {
            let NodeEvent::Packet { tail, priority, .. } = event.payload.into() else { panic!() };
            let slot = self.free.pop().unwrap_or(self.packets.len() as u32);
            if slot as usize == self.packets.len() {
                self.packets.push(None);
            }
            self.packets[slot as usize] = Some(packet);
            event.payload = NodeEvent::Packet { tail, priority, slot }.into();
        }
        self.queue.push(event);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for node in &self.nodes {
            let log = &mut node.log.lock().unwrap()[node.port.node() as usize];
            log.link = *node.port.statistics();
            log.held = (0..node.plans.len()).map(|p| node.port.held(p as u8)).collect();
        }
    }
}

/// Runs until nothing is left and checks that the fabric is empty with all credits back.
pub fn run(setup: &Setup) -> Outcome {
    let nodes = setup.plans.len() as u32;
    let host_of = |node: u32| (node % setup.hosts, node / setup.hosts);
    let attachments = (0..nodes)
        .map(|node| Attachment { partition: host_of(node).0, target: host_of(node).1 * 2 })
        .collect();
    let mut fabric = Fabric::new(&setup.parameters, setup.networks, attachments, 0).unwrap();
    fabric.divide(setup.zones);
    assert_eq!(fabric.zones(), setup.zones);
    let zone_of = |node| fabric.zone_of_node(node);
    let log = Arc::new(Mutex::new((0..nodes).map(|_| Log::default()).collect::<Vec<_>>()));
    let mut hosts: Vec<Host> = (0..setup.hosts)
        .map(|_| Host { nodes: vec![], queue: EventQueue::default(), packets: vec![], free: vec![] })
        .collect();
    for node in 0..nodes {
        let mut plans = vec![VecDeque::new(); setup.networks.count.into()];
        for (sequence, plan) in (0..).zip(&setup.plans[node as usize]) {
            plans[plan.priority as usize].push_back((sequence, *plan));
        }
        let (host, index) = host_of(node);
        let mut timers = Port::new(fabric.ports() + node);
        let start = timers.next(Class::Internal);
        let host = &mut hosts[host as usize];
        host.queue.push(Event { time: Time::ZERO, order: start, target: index * 2 + 1, payload: [WAKE, 0] });
        host.nodes.push(Node {
            port: fabric.node_port(node, setup.hosts + zone_of(node)),
            timers,
            plans,
            stalled_until: setup.stalled_until[node as usize],
            wake_at: Time::NEVER,
            log: log.clone(),
            logging: setup.log,
        });
    }
    let shortest = setup.plans.iter().flatten().map(|plan| plan.bytes).min().unwrap_or(1);
    let lookahead = match setup.lookahead_divisor {
        1 => fabric.lookahead(shortest),
        divisor => {
            let (up, down) = setup.parameters.lookahead();
            let part = |t: Time| Time((t.0 / divisor).max(1));
            Lookahead::new(vec![vec![Time::NEVER, part(up)], vec![part(down), Time::NEVER]])
        }
    };
    let mut engine = Engine::new(lookahead);
    for (host, number) in hosts.into_iter().zip(0..) {
        let zone = zone_of(number);
        let of_host = (0..nodes).filter(|&node| host_of(node).0 == number);
        assert!(of_host.into_iter().all(|node| zone_of(node) == zone), "host {number} is in several zones");
        engine.add_in_zone(NODES, zone as usize, Box::new(host));
    }
    let is_modest = setup.lookahead_divisor > 1;
    for (zone, fabric) in fabric.split(setup.hosts).into_iter().enumerate() {
        let timed = Timed { fabric, host_time: Duration::ZERO, is_modest };
        let id: PartitionId = engine.add_in_zone(FABRIC, zone, Box::new(timed));
        assert_eq!(id, setup.hosts + zone as u32);
    }
    let start = Instant::now();
    assert_eq!(engine.run(Threads::Exactly(setup.threads), &mut |_| true), Ended::Idle);
    let host_time = start.elapsed();
    let (mut parts, mut fabric_time) = (vec![], Duration::ZERO);
    for partition in engine.partitions() {
        // A host that is dropped leaves its log.
        if let Ok(timed) = partition.into_any().downcast::<Timed>() {
            fabric_time += timed.host_time;
            parts.push(timed.fabric);
        }
    }
    let fabric = Fabric::join(parts).expect("there is a part");
    let logs = std::mem::take(&mut *log.lock().unwrap());
    fabric.assert_idle(&|node, p| logs[node as usize].held[p as usize]);
    let node_links = logs.iter().map(|l| l.link).collect();
    let (arrivals, errors) = logs.into_iter().map(|l| (l.arrivals, l.errors)).unzip();
    Outcome { arrivals, errors, node_links, fabric, fabric_time, host_time }
}

/// Every node sends `packets` packets to destinations chosen by `to(node, random)`, as fast as it can.
pub fn saturating(
    nodes: u32,
    packets: u32,
    bytes: u32,
    seed: u64,
    mut to: impl FnMut(u32, &mut Random) -> u32,
) -> Vec<Vec<Plan>> {
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut plan = |node| Plan { at: 0, destination: to(node, &mut random), priority: 0, bytes, more: false };
    (0..nodes).map(|node| (0..packets).map(|_| plan(node)).collect()).collect()
}

/// Packets of random time, destination, priority and length.
pub fn random_traffic(nodes: u32, packets: u32, bytes_max: u32, span_ps: u64, seed: u64) -> Vec<Vec<Plan>> {
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut node_plan = || {
        let mut times: Vec<u64> = (0..packets).map(|_| random.below(span_ps)).collect();
        times.sort_unstable();
        let plan = |at| Plan {
            at,
            destination: random.below(nodes.into()) as u32,
            priority: random.below(2) as u8,
            bytes: 1 + random.below(bytes_max.into()) as u32,
            more: false,
        };
        times.into_iter().map(plan).collect()
    };
    (0..nodes).map(|_| node_plan()).collect()
}

/// The same in worms of random numbers of packets. Some of their pieces come late, while links are held for them.
pub fn random_worms(nodes: u32, packets: u32, bytes_max: u32, span_ps: u64, seed: u64) -> Vec<Vec<Plan>> {
    let mut plans = random_traffic(nodes, packets, bytes_max, span_ps, seed);
    let mut random = Random::new(seed + 1);
    for plan in &mut plans {
        let mut rest = &mut plan[..];
        while !rest.is_empty() {
            let pieces = (1 + random.below(8) as usize).min(rest.len());
            let (worm, others) = rest.split_at_mut(pieces);
            let Plan { destination, priority, .. } = worm[0];
            let is_late = random.once_in(2);
            for (piece, left) in worm.iter_mut().zip((0..pieces).rev()) {
                *piece = Plan {
                    destination,
                    priority,
                    more: left > 0,
                    at: if is_late { piece.at } else { 0 },
                    ..*piece
                };
            }
            rest = others;
        }
    }
    plans
}

/// Every planned packet arrived once, as it was sent, and in order of its source and priority; and between the pieces of a
/// worm no other of its priority.
pub fn check_delivery(setup: &Setup, outcome: &Outcome) {
    let mut last: HashMap<(u32, usize, u8), u64> = HashMap::new();
    let mut open: HashMap<(usize, u8), (u32, u64)> = HashMap::new();
    let mut count = 0;
    for (node, a) in outcome.all() {
        let plan = setup.plans[a.source as usize][a.sequence as usize];
        assert_eq!((plan.destination, plan.priority, plan.bytes), (node as u32, a.priority, a.bytes));
        assert!(a.sent >= plan.at);
        if let Some(before) = last.insert((a.source, node, a.priority), a.sequence) {
            assert!(before < a.sequence, "{a:?} overtaken by number {before}");
        }
        if let Some((source, sequence)) = open.remove(&(node, a.priority)) {
            assert_eq!((a.source, a.sequence), (source, sequence + 1), "within a worm");
        }
        if plan.more {
            open.insert((node, a.priority), (a.source, a.sequence));
        }
        count += 1;
    }
    assert_eq!(open, HashMap::new(), "worms without their ends");
    assert_eq!(count, setup.plans.iter().map(Vec::len).sum::<usize>(), "packets are missing");
}

/// What all routers and each link counted.
pub fn counters(fabric: &Fabric) -> Vec<(String, u64)> {
    let mut found = vec![];
    let mut visit =
        |name: &str, _: &'static str, _: &'static str, value| found.push((name.to_string(), value));
    fabric.visit(&mut visit);
    fabric.visit_links(&mut |at, link| link.visit(&mut below(&format!("{at:?}"), &mut visit)));
    found
}

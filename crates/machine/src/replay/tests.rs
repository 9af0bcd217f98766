//! Peers on a line of their own kind, with a node that only notes what comes and says what the test wants.

use std::sync::{Arc, Mutex};

use chasqui_abi::{Envelope, packet};
use chasqui_config::{Bandwidth, Bytes, Duration};
use chasqui_engine::{
    Class, Engine, Event, EventQueue, Lookahead, Outbox, Packet, Partition, Port, Threads, Time,
};
use chasqui_network::{
    Attachment, FabricEvent, FarEnd, FromNode, NetworkParameters, NodeEvent, NodePort, VirtualNetworks,
};
use chasqui_record::{MessageId, RankEnd, Recorded, Recording};

use super::{Datagrams, Line, Pace, Peers, Replay, Transport, Wire};

/// Envelope and data, one after the other; blocks in pieces of 100 bytes.
struct PlainWire {
    eager_bytes_max: u64,
    puts: bool,
}

const PIECE: usize = 100;
const ENVELOPE: usize = size_of::<Envelope>();

impl Wire for PlainWire {
    fn eager_bytes_max(&self) -> u64 {
        self.eager_bytes_max
    }

    fn puts(&self) -> bool {
        self.puts
    }

    fn message(&mut self, envelope: &Envelope, data: &[u8]) -> Packet {
        let bytes = [&envelope.to_bytes()[..], data].concat();
        Packet { wire_bytes: bytes.len() as u32, bytes, ..Packet::default() }
    }

    fn put(&self, _: &Envelope, to: u64, data: &[u8]) -> Vec<Packet> {
        let piece = |(number, part): (usize, &[u8])| {
            let address = to + (number * PIECE) as u64;
            let bytes = [&address.to_le_bytes(), part].concat();
            Packet { wire_bytes: bytes.len() as u32, bytes, priority: 0, ..Packet::default() }
        };
        data.chunks(PIECE).enumerate().map(piece).collect()
    }

    /// What is shorter than an envelope is a piece: the tests' blocks are.
    fn read<'a>(&self, packet: &'a Packet) -> Option<(Envelope, &'a [u8])> {
        let (envelope, data) = packet.bytes.split_at_checked(ENVELOPE)?;
        Some((Envelope::from_bytes(envelope), data))
    }
}

fn datagrams(eager_bytes_max: u64) -> Box<dyn Transport> {
    Box::new(Datagrams::new(PlainWire { eager_bytes_max, puts: true }))
}

/// When packets came, and their bytes.
type Seen = Arc<Mutex<Vec<(Time, Vec<u8>)>>>;

/// A node with a link: takes packets out of its receive buffer `keeps` after their tails, and says `says`.
struct TestNode {
    port: NodePort,
    queue: EventQueue,
    own: Port,
    keeps: Time,
    says: Vec<(Time, Packet)>,
    seen: Seen,
}

const TAIL: u64 = 10;
const SAY: u64 = 11;

impl TestNode {
    fn at(&mut self, time: Time, kind: u64) {
        let order = self.own.next(Class::Internal);
        self.queue.push(Event { time, order, target: 0, payload: [0, kind] });
    }
}

impl Partition for TestNode {
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }

    fn next(&self) -> Time {
        self.queue.next_time()
    }

    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        while let Some(event) = self.queue.pop_before(out.limit()) {
            match event.payload[1] {
                TAIL => self.port.release(event.time, 0, out),
                SAY => {
                    let (_, packet) = self.says.remove(0);
                    self.port.send(event.time, Box::new(packet), out);
                }
                _ => self.port.receive_credit(0),
            }
        }
        0
    }

    fn receive(&mut self, event: Event, packet: Option<Box<Packet>>) {
        match (event.payload.into(), packet) {
            (NodeEvent::Packet { tail, .. }, Some(mut packet)) => {
                self.port.arrive(tail, &mut packet).expect("links are sound");
                self.seen.lock().expect("no writer panics").push((event.time, packet.bytes));
                let time = tail + self.keeps;
                self.at(time, TAIL);
            }
            _ => self.queue.push(event),
        }
    }
}

fn message(sequence: u32, arrive_ps: u64, bytes: usize) -> Recorded {
    Recorded {
        id: MessageId { source: 1, sequence },
        destination: 0,
        context: 4,
        tag: 7,
        synchronous: false,
        arrive_ps,
        receive: Some(sequence),
        data: (0..bytes).map(|i| (i * 7) as u8).collect(),
    }
}

fn replay(messages: Vec<Recorded>, ratio: &str) -> Replay {
    let ends = vec![RankEnd::default(); 2];
    let recording = Arc::new(Recording { ends, messages, ..Recording::default() });
    Replay { rank: 0, recording, sha256: String::new(), pace: Pace::parse(ratio, "0").expect("a pace") }
}

/// 1 byte/ns, 500 ns of link; two packets fit the receive buffer.
fn network() -> NetworkParameters {
    NetworkParameters {
        link_bandwidth: Bandwidth::from_bytes_per_s(1_000_000_000),
        link_latency: Duration::from_ps(500_000),
        receive_buffer: 2,
        packet_max: Bytes::from_bytes(4096),
        ..NetworkParameters::default()
    }
}

/// Runs the peers of rank 0 of two against a node that `keeps` packets so long and `says` this at these times.
fn run(
    replay: &Replay,
    keeps: Time,
    says: Vec<(Time, Packet)>,
    eager: u64,
) -> (Vec<(Time, Vec<u8>)>, Box<Peers>) {
    let parameters = network();
    let latency = Time(parameters.link_latency.ps());
    let lookahead = Lookahead::new(vec![vec![Time::NEVER, latency], vec![latency, Time::NEVER]]);
    let mut engine = Engine::new(lookahead);
    let attachment = Attachment { partition: 0, target: 0 };
    let (far, port) = FarEnd::new(&parameters, VirtualNetworks::ONE, (0, 2), attachment, 1, 1);
    let seen = Seen::default();
    let mut node = TestNode {
        port,
        queue: EventQueue::default(),
        own: Port::new(0),
        keeps,
        says: vec![],
        seen: seen.clone(),
    };
    says.iter().for_each(|(time, _)| node.at(*time, SAY));
    node.says = says;
    engine.add(0, Box::new(node));
    engine.add(
        1,
        Box::new(Peers::new(
            replay,
            datagrams(eager),
            Box::new(far),
            1 + FarEnd::ports(VirtualNetworks::ONE),
        )),
    );
    engine.run(Threads::Exactly(1), &mut |_| true);
    let peers = engine.partitions().pop().expect("the peers").into_any().downcast::<Peers>().expect("peers");
    let seen = seen.lock().expect("no writer panics").clone();
    (seen, peers)
}

fn from_rank(envelope: Envelope, data: &[u8]) -> Packet {
    let envelope = Envelope { source: 0, destination: 1, ..envelope };
    let packet = PlainWire { eager_bytes_max: 0, puts: true }.message(&envelope, data);
    Packet { destination: 1, ..packet }
}

fn kinds(seen: &[(Time, Vec<u8>)]) -> Vec<u8> {
    seen.iter().map(|(_, bytes)| if bytes.len() < ENVELOPE { 0 } else { bytes[0] }).collect()
}

fn counter(peers: &Peers, wanted: &str) -> u64 {
    let mut found = None;
    peers.visit(&mut |name, _, _, value| found = found.or((name == wanted).then_some(value)));
    found.expect("a counter")
}

#[test]
fn a_message_arrives_at_r_times_its_recorded_time() {
    for (ratio, factor) in [("0.5", 500_000), ("1", 1_000_000), ("2.25", 2_250_000)] {
        let times = [2_000_000, 3_000_000, 90_000_000];
        let messages = times.iter().enumerate().map(|(i, &t)| message(i as u32, t, 16)).collect();
        let (seen, peers) = run(&replay(messages, ratio), Time::ZERO, vec![], 1024);
        let expected = times.map(|t| Time(t * factor / 1_000_000));
        assert_eq!(seen.iter().map(|(t, _)| *t).collect::<Vec<_>>(), expected, "r = {ratio}");
        assert_eq!((peers.messages(), counter(&peers, "delayed")), ((3, 3), 0));
    }
}

#[test]
fn a_message_does_not_pass_one_that_the_library_saw_before_it() {
    let messages =
        [5_000_000, 3_000_000, 7_000_000].iter().zip(0..).map(|(&t, i)| message(i, t, 16)).collect();
    let (seen, _) = run(&replay(messages, "1"), Time::ZERO, vec![], 1024);
    let train = (ENVELOPE as u64 + 16) * 1_000;
    assert_eq!(seen.iter().map(|(t, _)| t.0).collect::<Vec<_>>(), [5_000_000, 5_000_000 + train, 7_000_000]);
    let numbers: Vec<u32> = seen.iter().map(|(_, bytes)| Envelope::from_bytes(bytes).sequence).collect();
    assert_eq!(numbers, [0, 1, 2]);
}

#[test]
fn early_messages_wait_for_the_link_and_for_room() {
    let messages = (0..5).map(|i| message(i, 1_000, 16)).collect();
    let (seen, peers) = run(&replay(messages, "0"), Time(10_000_000), vec![], 1024);
    // A packet is on the link for one ns a byte: two go one after the other, then the buffer is full. A packet leaves it
    // `keeps` after its tail, and its credit and the next packet take the link's latency.
    let train = (ENVELOPE as u64 + 16) * 1_000;
    let round = 10_000_000 + 2 * 500_000 + train;
    let first = 500_000;
    let expected = [first, first + train, first + round, first + train + round, first + 2 * round];
    assert_eq!(seen.iter().map(|(t, _)| t.0).collect::<Vec<_>>(), expected);
    assert_eq!(counter(&peers, "delayed"), 4);
    assert_eq!(counter(&peers, "delay_max_ps"), 2 * round);
}

#[test]
fn a_long_message_is_announced_and_its_data_follow_when_the_rank_is_ready() {
    let clear =
        Envelope { kind: packet::CLEAR_TO_SEND, bytes: 45, sender: 1, receiver: 0x77, ..Envelope::default() };
    let says = vec![(Time(3_000_000), from_rank(clear, &0x1000_u64.to_le_bytes()))];
    let (seen, peers) = run(&replay(vec![message(9, 1_000_000, 2000)], "1"), Time::ZERO, says, 1024);
    assert_eq!(kinds(&seen), [3, 0, 6], "announcement, a piece, what ends it");
    let announced = Envelope::from_bytes(&seen[0].1);
    assert_eq!((announced.bytes, announced.sender, announced.sequence), (2000, 1, 9));
    // The rank had room for 45 bytes.
    assert_eq!(seen[1].1[..8], 0x1000_u64.to_le_bytes());
    assert_eq!(seen[1].1[8..], message(9, 0, 2000).data[..45]);
    let finished = Envelope::from_bytes(&seen[2].1);
    assert_eq!((finished.receiver, finished.bytes, finished.sequence), (0x77, 45, 9));
    assert_eq!((counter(&peers, "answers"), counter(&peers, "packets")), (1, 3));
}

/// A program that drives the NI itself may ask for anything.
#[test]
fn what_no_message_asks_for_is_not_sent() {
    let clear = |sender| Envelope { kind: packet::CLEAR_TO_SEND, bytes: 45, sender, ..Envelope::default() };
    let address = 0x1000_u64.to_le_bytes();
    let asks = [(0, &address[..]), (2, &address), (u64::MAX, &address), (1, &address[..3])];
    let says = asks
        .iter()
        .zip(3..)
        .map(|((sender, data), us)| (Time(us * 1_000_000), from_rank(clear(*sender), data)));
    let (seen, _) = run(&replay(vec![message(9, 1_000_000, 2000)], "1"), Time::ZERO, says.collect(), 1024);
    assert_eq!(kinds(&seen), [3], "the announcement");
}

#[test]
fn answers_come_at_once_and_before_what_is_due() {
    let sent = |kind| Envelope { kind, bytes: 4000, sequence: 1, sender: 0x55, ..Envelope::default() };
    let late = (0..3).map(|i| message(i, 2_700_000, 1000)).collect();
    for (kind, answer) in [(2, 5), (3, 4)] {
        let says = vec![(Time(2_000_000), from_rank(sent(kind), &[]))];
        let (seen, _) = run(&replay(vec![], "1"), Time::ZERO, says.clone(), 1024);
        let reply = Envelope::from_bytes(&seen[0].1);
        assert_eq!((reply.kind, reply.sender, reply.source, reply.destination), (answer, 0x55, 1, 0));
        // The packet's head is in the router after latency and routing delay, the reply takes the latency.
        let routed = network().link_latency.ps() + network().routing_delay.ps();
        assert_eq!(seen[0].0, Time(2_000_000 + routed + 500_000));
        let (seen, _) = run(&replay(Vec::clone(&late), "1"), Time::ZERO, says, 1024);
        assert_eq!(kinds(&seen), [1, answer, 1, 1], "the first message was on the link");
    }
}

#[test]
fn what_the_rank_sends_otherwise_is_noticed() {
    let own = |sequence, bytes: usize| Recorded {
        id: MessageId { source: 0, sequence },
        destination: 1,
        ..message(0, 0, bytes)
    };
    let replay = replay(vec![own(1, 4), own(2, 4), own(3, 4)], "1");
    let e = |sequence, tag| Envelope {
        kind: packet::EAGER,
        context: 4,
        tag,
        bytes: 4,
        sequence,
        ..Envelope::default()
    };
    let data = message(0, 0, 4).data;
    let says = [(e(1, 7), &data[..]), (e(2, 7), b"abcd"), (e(3, 8), &data), (e(4, 7), &data)];
    let says = says.iter().zip(1..).map(|((e, data), i)| (Time(i * 1_000_000), from_rank(*e, data)));
    let (_, peers) = run(&replay, Time::ZERO, says.collect(), 1024);
    let sends = peers.sends();
    assert_eq!((sends.sent, sends.other, sends.other_data), (4, 2, 1));
    assert_eq!(
        sends.first.as_deref(),
        Some(
            "message 3 of rank 0 is 4 bytes to rank 1, tag 8, context 4, \
             recorded is 4 bytes to rank 1, tag 7, context 4"
        )
    );
    assert_eq!(peers.recorded_sends(), 3);
}

/// A line without limits, to see the peers' own order.
struct Open;

impl Line for Open {
    fn latency(&self) -> Time {
        Time(1)
    }

    fn can_send(&self, _: Time, _: u8) -> Result<(), Option<Time>> {
        Ok(())
    }

    fn send(&mut self, _: Time, _: Box<Packet>, _: &mut Outbox<'_>) {}

    fn receive(&mut self, event: &Event, _: Option<Box<Packet>>) -> FromNode {
        assert!(matches!(event.payload.into(), FabricEvent::Credit { .. }));
        FromNode::Room
    }

    fn release(&mut self, _: Time, _: u8, _: &mut Outbox<'_>) {}
}

#[test]
fn without_messages_nothing_is_to_do() {
    let replay = Replay { pace: Pace::RECORDED, ..replay(vec![], "1") };
    let peers = Peers::new(&replay, datagrams(0), Box::new(Open), 0);
    assert_eq!(peers.next(), Time::NEVER);
}

//! The peers of a rank that is simulated alone: kernels with TCP at the other end of its link, and MPI devices over their
//! sockets (`tcp/device.c`). Frames are made and checked as the kernel does; nothing takes time.
//!
//! Connections are as the device's: who sends first connects, to the other's port; where both have, each direction has its
//! own. A peer that is refused, because the rank has not come to MPI_Init yet, tries again later.

mod endpoint;

use std::collections::{BTreeMap, VecDeque};

use chasqui_abi::Envelope;
use chasqui_counters::{Counters, Visitor, counters};
use chasqui_engine::{Packet, Time};
use chasqui_machine::replay::Transport;

use super::frame::{ACK, FIN, RST, SEGMENT_HEADERS, SYN, Segment, is_right};
use super::parameters::{EthernetUnit, TcpUnit};
use super::registers::{MPI_PORT, StreamHeader};
use super::stream::Streams;
use endpoint::{Endpoint, Leaves, State};

/// A peer that is refused tries again after this, then after twice the time, and so on (`tcp/device.c`).
const RETRY_FIRST: Time = Time(100_000_000);
const RETRY_MAX: Time = Time(1_000_000_000_000);
/// The ports from which a peer connects (RFC 6335, section 6).
const PORTS: std::ops::RangeInclusive<u16> = 49_152..=65_535;
/// From the first sequence number of a connection to that of the next (`tcp_new` in `guest/kernel/net/tcp.c`).
const NUMBERS: u32 = 64_000;

/// A connection's peer, its port and the rank's.
type Key = (u32, u16, u16);

/// A connection, and what has come over it of the next message.
struct Connection {
    key: Key,
    end: Endpoint,
    stream: Vec<u8>,
}

/// What a peer's device and kernel know beside that.
#[derive(Default)]
struct Peer {
    /// The connection over which it sends.
    out: Option<usize>,
    /// It has been refused so many times, and tries again then.
    refusals: u32,
    retry: Option<Time>,
    /// What it wrote meanwhile.
    unsent: Vec<u8>,
    connects: u16,
    identification: u16,
    streams: Streams,
}

counters! {
    /// Counters of peers.
    struct TcpPeersStatistics {
        /// Connections that peers or the rank have begun.
        connections: "connections";
        /// Connections that the rank's kernel refused.
        refused: "connections";
        /// Segments that peers sent again.
        resent: "segments";
        /// Frames with a wrong checksum, or of something else.
        wrong: "frames";
    }
}

/// The kernels and devices of all ranks but one.
pub(crate) struct TcpPeers {
    unit: EthernetUnit,
    tcp: TcpUnit,
    rank: u32,
    peers: Vec<Peer>,
    connections: Vec<Connection>,
    by_key: BTreeMap<Key, usize>,
    /// Answers to segments of no connection.
    refusals: VecDeque<Packet>,
    /// The connection whose turn it is to send data.
    turn: usize,
    /// But for what was sent again, which each [`Endpoint`] counts.
    counters: TcpPeersStatistics,
}

impl TcpPeers {
    /// The peers of `rank` of `ranks`.
    pub fn new(unit: EthernetUnit, tcp: TcpUnit, (rank, ranks): (u32, u32)) -> TcpPeers {
        TcpPeers {
            unit,
            tcp,
            rank,
            peers: (0..ranks).map(|_| Peer::default()).collect(),
            connections: vec![],
            by_key: BTreeMap::new(),
            refusals: VecDeque::new(),
            turn: 0,
            counters: TcpPeersStatistics::default(),
        }
    }

    /// Longest data of a segment [bytes].
    fn longest(&self) -> u16 {
        (self.unit.mtu.bytes() - SEGMENT_HEADERS) as u16
    }

    fn add(&mut self, key: Key, end: impl FnOnce(u32, u16) -> Endpoint) -> usize {
        let index = self.connections.len();
        let start = u32::MAX.wrapping_add(NUMBERS.wrapping_mul(index as u32));
        let end = end(start, self.longest());
        self.connections.push(Connection { key, end, stream: vec![] });
        self.by_key.insert(key, index);
        self.counters.connections += 1;
        index
    }

    /// `peer` connects to the rank.
    fn connect(&mut self, peer: u32) {
        let state = &mut self.peers[peer as usize];
        let port = PORTS.start() + state.connects % PORTS.len() as u16;
        state.connects = state.connects.wrapping_add(1);
        state.retry = None;
        let unsent = std::mem::take(&mut state.unsent);
        let index = self.add((peer, port, MPI_PORT as u16), Endpoint::connect);
        self.connections[index].end.write(&unsent);
        self.peers[peer as usize].out = Some(index);
    }

    /// The rank's kernel has refused connection `index`.
    fn refused(&mut self, now: Time, index: usize) {
        let Connection { key, end, .. } = &mut self.connections[index];
        let peer = &mut self.peers[key.0 as usize];
        self.by_key.remove(key);
        self.counters.refused += 1;
        end.state = State::Broken;
        peer.unsent = end.take_back();
        peer.out = None;
        peer.retry = Some(now + Time((RETRY_FIRST.0 << peer.refusals.min(20)).min(RETRY_MAX.0)));
        peer.refusals += 1;
    }

    /// The rank has connected to a peer: that uses the connection, too, unless it has begun one of its own.
    fn accept(&mut self, index: usize) {
        let peer = &mut self.peers[self.connections[index].key.0 as usize];
        if peer.out.is_none() {
            (peer.out, peer.retry) = (Some(index), None);
            self.connections[index].end.write(&std::mem::take(&mut peer.unsent));
        }
    }

    /// What is due by the clock.
    fn expire(&mut self, now: Time) {
        for connection in &mut self.connections {
            connection.end.expire(now);
        }
        for peer in 0..self.peers.len() {
            if self.peers[peer].retry.is_some_and(|at| at <= now) {
                self.connect(peer as u32);
            }
        }
    }

    fn write(&mut self, source: u16, header: &StreamHeader, data: &[u8]) {
        let peer = &mut self.peers[usize::from(source)];
        let bytes = [&header.to_bytes()[..], data].concat();
        match peer.out {
            Some(index) => self.connections[index].end.write(&bytes),
            None => {
                peer.unsent.extend(bytes);
                if peer.retry.is_none() {
                    self.connect(source.into());
                }
            }
        }
    }

    fn packet(&mut self, index: usize, leaves: &Leaves) -> Packet {
        let Connection { key: (peer, port, other), end, .. } = &self.connections[index];
        let (expected, window) = end.offer();
        let Leaves { sequence, flags, data } = leaves;
        let segment = Segment {
            source: *peer,
            destination: self.rank,
            source_port: *port,
            destination_port: *other,
            sequence: *sequence,
            acknowledgement: if flags & ACK != 0 { expected } else { 0 },
            flags: *flags,
            window,
            longest: (flags & SYN != 0).then(|| self.longest()),
            data,
        };
        self.frame(&segment)
    }

    /// The packet with a segment of a peer's.
    fn frame(&mut self, segment: &Segment<'_>) -> Packet {
        let state = &mut self.peers[segment.source as usize];
        let mut bytes = segment.frame(state.identification);
        state.identification = state.identification.wrapping_add(1);
        let message = state.streams.name(&bytes);
        bytes.resize(bytes.len().max(self.unit.frame_min.bytes() as usize), 0);
        Packet {
            source: segment.source,
            destination: self.rank,
            wire_bytes: (bytes.len() as u64 + self.unit.overhead.bytes()) as u32,
            bytes,
            message,
            ..Packet::default()
        }
    }

    /// A segment is of no connection, nor may it begin one (RFC 9293, section 3.10.7.1).
    fn refuse(&mut self, segment: &Segment<'_>) {
        let is_peer = segment.destination != self.rank && segment.destination < self.peers.len() as u32;
        if segment.flags & RST != 0 || !is_peer {
            return;
        }
        let has_ack = segment.flags & ACK != 0;
        let length = segment.data.len() as u32 + u32::from(segment.flags & (SYN | FIN) != 0);
        let answer = Segment {
            source: segment.destination,
            destination: segment.source,
            source_port: segment.destination_port,
            destination_port: segment.source_port,
            sequence: if has_ack { segment.acknowledgement } else { 0 },
            acknowledgement: if has_ack { 0 } else { segment.sequence.wrapping_add(length) },
            flags: if has_ack { RST } else { RST | ACK },
            ..Segment::default()
        };
        let packet = self.frame(&answer);
        self.refusals.push_back(packet);
    }

    /// The connection that a segment is of; its SYN begins one.
    fn connection_of(&mut self, segment: &Segment<'_>) -> Option<usize> {
        let key = (segment.destination, segment.destination_port, segment.source_port);
        let is_call = segment.flags & (SYN | ACK) == SYN && u64::from(key.1) == MPI_PORT;
        match self.by_key.get(&key) {
            Some(index) => Some(*index),
            None if is_call => {
                Some(self.add(key, |start, longest| Endpoint::called(start, longest, segment)))
            }
            None => None,
        }
    }
}

/// Takes the messages that are whole out of a stream.
fn take_messages(stream: &mut Vec<u8>, brought: &mut Vec<(Envelope, Vec<u8>)>) {
    let mut taken = 0;
    while let Some((header, rest)) = stream[taken..].split_at_checked(size_of::<StreamHeader>()) {
        let header = StreamHeader::from_bytes(header);
        let Some(data) = rest.get(..header.bytes as usize) else { break };
        brought.push((header.envelope, data.to_vec()));
        taken += size_of::<StreamHeader>() + data.len();
    }
    stream.drain(..taken);
}

impl Transport for TcpPeers {
    fn eager_bytes_max(&self) -> u64 {
        self.tcp.eager.bytes()
    }

    fn puts(&self) -> bool {
        true
    }

    fn takes(&mut self, now: Time, source: u16) -> bool {
        self.expire(now);
        let peer = &self.peers[usize::from(source)];
        match peer.out {
            Some(index) => self.connections[index].end.takes(),
            None => {
                if peer.retry.is_none() {
                    self.connect(source.into());
                }
                false
            }
        }
    }

    fn send(&mut self, _: Time, envelope: &Envelope, data: &[u8]) {
        let header = StreamHeader { envelope: *envelope, bytes: data.len() as u64, to: 0 };
        self.write(envelope.source, &header, data);
    }

    fn put(&mut self, _: Time, finished: &Envelope, to: u64, data: &[u8]) {
        let header = StreamHeader { envelope: *finished, bytes: data.len() as u64, to };
        self.write(finished.source, &header, data);
    }

    fn next(&mut self, now: Time) -> Option<Packet> {
        self.expire(now);
        if let Some(packet) = self.refusals.pop_front() {
            return Some(packet);
        }
        let count = self.connections.len();
        for index in 0..count {
            if let Some(leaves) = self.connections[index].end.control(now) {
                return Some(self.packet(index, &leaves));
            }
        }
        for index in (0..count).map(|i| (self.turn + i) % count) {
            if let Some(leaves) = self.connections[index].end.data(now) {
                self.turn = index + 1;
                return Some(self.packet(index, &leaves));
            }
        }
        None
    }

    fn receive(&mut self, now: Time, packet: Packet, brought: &mut Vec<(Envelope, Vec<u8>)>) {
        let segment = Segment::parse(&packet.bytes).filter(|_| is_right(&packet.bytes));
        let Some(segment) = segment else {
            self.counters.wrong += 1;
            return;
        };
        let Some(index) = self.connection_of(&segment) else { return self.refuse(&segment) };
        let Connection { key, end, stream } = &mut self.connections[index];
        let before = end.state;
        end.receive(now, &segment, stream);
        take_messages(stream, brought);
        match (before, end.state) {
            (State::SynReceived, State::Established) => self.accept(index),
            (State::SynSent, State::Established) => self.peers[key.0 as usize].refusals = 0,
            (State::SynSent, State::Refused) => self.refused(now, index),
            _ => {}
        }
    }

    fn wakes(&self) -> Option<Time> {
        let timers = self.connections.iter().filter_map(|connection| connection.end.timer());
        timers.chain(self.peers.iter().filter_map(|peer| peer.retry)).min()
    }

    fn trouble(&self) -> Option<String> {
        let given_up = self.connections.iter().filter(|connection| connection.end.has_given_up).count();
        (given_up > 0).then(|| {
            format!("the rank's kernel did not answer over {given_up} of the peers' connections to it")
        })
    }

    fn visit(&self, visit: &mut Visitor<'_>) {
        let resent = self.connections.iter().map(|connection| connection.end.resent).sum();
        TcpPeersStatistics { resent, ..self.counters }.visit(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_config::Resolved;
    use chasqui_machine::Machine;

    const MPI: u16 = MPI_PORT as u16;

    /// The peers of rank 0 of 3.
    fn peers() -> TcpPeers {
        let resolved = Resolved::defaults(&crate::NETCACHE.schema());
        TcpPeers::new(resolved.read("netcache.ethernet"), resolved.read("netcache.tcp"), (0, 3))
    }

    fn says(peers: &mut TcpPeers, now: Time, segment: Segment<'_>) -> Vec<(Envelope, Vec<u8>)> {
        let mut brought = vec![];
        let packet = Packet { bytes: segment.frame(1), ..Packet::default() };
        peers.receive(now, packet, &mut brought);
        brought
    }

    /// What leaves: flags, sequence, acknowledgement, and the packet.
    fn leaves(peers: &mut TcpPeers, now: Time) -> Vec<(u8, u32, u32, Packet)> {
        let packets = std::iter::from_fn(|| peers.next(now));
        let described = packets.map(|packet| {
            assert!(is_right(&packet.bytes));
            let segment = Segment::parse(&packet.bytes).expect("a segment");
            (segment.flags, segment.sequence, segment.acknowledgement, packet.clone())
        });
        described.collect()
    }

    fn to(rank: u32, source_port: u16, destination_port: u16, flags: u8, sequence: u32) -> Segment<'static> {
        let window = 60_000;
        Segment {
            destination: rank,
            source_port,
            destination_port,
            flags,
            sequence,
            window,
            ..Segment::default()
        }
    }

    #[test]
    fn the_ranks_connection_is_used_both_ways() {
        let (mut peers, now) = (peers(), Time(5));
        says(&mut peers, now, to(2, 50_000, MPI, SYN, 99));
        let answer = leaves(&mut peers, now);
        assert_eq!((answer.len(), answer[0].0, answer[0].2), (1, SYN | ACK, 100));
        assert_eq!(answer[0].3.bytes.len(), 60, "the shortest frame");
        let acknowledgement = answer[0].1.wrapping_add(1);
        let sent = Envelope { kind: 1, destination: 2, sequence: 7, bytes: 3, ..Envelope::default() };
        let header = StreamHeader { envelope: sent, bytes: 3, to: 0 };
        let bytes = [&header.to_bytes()[..], b"abc"].concat();
        // It comes in two segments.
        let (first, rest) = bytes.split_at(40);
        let segment = Segment { acknowledgement, ..to(2, 50_000, MPI, ACK, 100) };
        assert_eq!(says(&mut peers, now, Segment { data: first, ..segment }), []);
        let second = Segment { data: rest, sequence: 140, ..segment };
        assert_eq!(says(&mut peers, now, second), [(sent, b"abc".to_vec())]);
        let replies: Vec<_> = leaves(&mut peers, now).iter().map(|reply| (reply.0, reply.2)).collect();
        assert_eq!(replies, [(ACK, 100 + bytes.len() as u32); 2], "one for each");
        assert!(peers.takes(now, 2));
        peers.send(now, &Envelope { kind: 1, source: 2, sequence: 4, ..Envelope::default() }, b"data");
        let data = leaves(&mut peers, now);
        assert_eq!((data.len(), data[0].3.source, data[0].3.message), (1, 2, Some((2, 4))));
    }

    #[test]
    fn a_peer_that_is_refused_tries_again_with_what_it_wrote() {
        let (mut peers, now) = (peers(), Time::ZERO);
        assert!(!peers.takes(now, 1));
        let syn = leaves(&mut peers, now);
        assert_eq!((syn.len(), syn[0].0), (1, SYN));
        peers.send(now, &Envelope { kind: 1, source: 1, sequence: 4, ..Envelope::default() }, b"data");
        let acknowledgement = syn[0].1.wrapping_add(1);
        says(&mut peers, now, Segment { acknowledgement, ..to(1, MPI, *PORTS.start(), RST | ACK, 0) });
        assert_eq!((leaves(&mut peers, now).len(), peers.wakes()), (0, Some(RETRY_FIRST)));
        let now = RETRY_FIRST;
        let syn = leaves(&mut peers, now);
        assert_eq!((syn.len(), syn[0].0), (1, SYN));
        let acknowledgement = syn[0].1.wrapping_add(1);
        let port = PORTS.start() + 1;
        says(&mut peers, now, Segment { acknowledgement, ..to(1, MPI, port, SYN | ACK, 500) });
        let packets = leaves(&mut peers, now);
        assert_eq!(packets.iter().map(|packet| packet.2).collect::<Vec<_>>(), [501, 501]);
        assert_eq!(packets[1].3.message, Some((1, 4)));
        assert_eq!(peers.counters.refused, 1);
    }

    #[test]
    fn other_segments_are_refused_and_wrong_frames_are_lost() {
        let (mut peers, now) = (peers(), Time::ZERO);
        says(&mut peers, now, to(1, 50_000, 80, SYN, 99));
        let refusal = leaves(&mut peers, now);
        assert_eq!((refusal.len(), refusal[0].0, refusal[0].2), (1, RST | ACK, 100));
        let mut bytes = to(1, 50_000, MPI, SYN, 99).frame(1);
        bytes[40] ^= 1;
        peers.receive(now, Packet { bytes, ..Packet::default() }, &mut vec![]);
        assert_eq!((leaves(&mut peers, now).len(), peers.counters.wrong), (0, 1));
    }
}

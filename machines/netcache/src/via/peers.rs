//! The peers of a rank that is simulated alone: VIA NICs, or kernels in their place, at the other end of its link, their VIs
//! connected as the kernel agent and the MPI device of each rank connect them (`kernel/agent.c`, `via/device.c`). They number
//! packets, answer at once, and send again what the rank's side has refused, and kernels what is lost. They have memory and
//! descriptors without end, and take no time.
//!
//! Messages must come to the rank's library in the order of their recording, and a NIC refuses what finds no descriptor.
//! So a message begins when those before it over other connections have been accepted. A NIC that holds messages for
//! want of descriptors (`netcache.via.staging`) accepts them nevertheless: then others may pass.

use std::collections::{BTreeSet, VecDeque};

use chasqui_abi::Envelope;
use chasqui_counters::{Counters, Visitor, counters};
use chasqui_engine::{Packet, Time};
use chasqui_machine::replay::Transport;

use super::line::{Line, Part, TIMEOUT_MAX};
use super::packet::{ACCEPTED, ASKS, NOT_READY, REPLY, SEND, ViaHeader, WRITE};
use super::parameters::{ENVELOPE_BYTES, ViaUnit};
use super::sequence::{Effect, Outgoing, before, should_ask};
use crate::nic::is_message;
use crate::parameters::MpiUnit;
use crate::wire::belongs_to;

/// An address of a put has the entry of its page in the high bits (`via_expose` in `via/device.c`).
const ADDRESS_BITS: u32 = 38;
const PAGE_SHIFT: u32 = 12;

/// A VI of a peer that is connected to the rank.
#[derive(Default)]
struct Connection {
    out: Outgoing,
    /// The packets from `out.base` to `out.end`.
    packets: VecDeque<Packet>,
    /// How many packets may be under way after one was refused or lost by kernels; `None`: a window.
    allowed: Option<u32>,
    /// It is among those that have something to send.
    is_queued: bool,
    /// When the oldest packet under way was sent, or its predecessor acknowledged.
    since: Time,
    /// The packet that is awaited.
    expected: u32,
    /// What has come of a message in several packets.
    partial: Vec<u8>,
    /// It is among those that wait for an answer.
    is_watched: bool,
    /// It is among those that owe a reply.
    owes_reply: bool,
    is_broken: bool,
    /// With zero copy, of the VI of envelopes: those whose data have not come; of the other: data without envelopes.
    envelopes: VecDeque<Envelope>,
    data: VecDeque<Vec<u8>>,
}

counters! {
    /// Counters of peers.
    struct ViaPeersStatistics {
        /// Replies of the peers' NICs.
        replies: "packets";
        /// Refusals of the rank's NIC, after which peers sent again.
        refused: "count";
        /// Packets sent again.
        resent: "packets";
        /// Times that packets were under way for too long, and were sent again.
        lost: "count";
        /// Connections that an error has ended.
        broken: "connections";
    }
}

/// The NICs of all ranks but one, and their MPI devices.
pub(crate) struct ViaPeers {
    line: Line,
    via: ViaUnit,
    mpi: MpiUnit,
    rank: u32,
    ranks: u32,
    /// By the number of the rank's VI: that for envelopes of each peer, then that for data.
    connections: Vec<Connection>,
    /// Connections that owe a reply, that have something to send, and that may go back at a time.
    replies: VecDeque<u32>,
    ready: VecDeque<u32>,
    retries: BTreeSet<(Time, u32)>,
    /// Connections that wait for answers, and when each is looked at.
    watched: BTreeSet<(Time, u32)>,
    /// Recorded messages that have not been accepted: connection and number of the packet.
    begun: VecDeque<(u32, u32)>,
    counters: ViaPeersStatistics,
}

impl ViaPeers {
    /// The peers of `rank` of `ranks`.
    pub fn new(line: Line, via: ViaUnit, mpi: MpiUnit, (rank, ranks): (u32, u32)) -> ViaPeers {
        let connections = (0..u64::from(ranks) * via.vis_per_rank()).map(|_| Connection::default()).collect();
        ViaPeers {
            line,
            via,
            mpi,
            rank,
            ranks,
            connections,
            replies: VecDeque::new(),
            ready: VecDeque::new(),
            retries: BTreeSet::new(),
            watched: BTreeSet::new(),
            begun: VecDeque::new(),
            counters: ViaPeersStatistics::default(),
        }
    }

    fn window(&self) -> u32 {
        self.via.window as u32
    }

    /// How many packets of a connection may be under way.
    fn allowed(&self, number: u32) -> u32 {
        self.connections[number as usize].allowed.unwrap_or(self.window())
    }

    /// The number, at its peer, of the VI that the rank's VI `number` is connected to.
    fn other_end(&self, number: u32) -> u32 {
        number / self.ranks * self.ranks + self.rank
    }

    fn packet(
        &self,
        number: u32,
        header: &ViaHeader,
        (data, left): (&[u8], u32),
        envelope: Option<&Envelope>,
    ) -> Packet {
        let source = number % self.ranks;
        let (bytes, wire_bytes) = self.line.packet((source, self.rank), header, data, left);
        Packet {
            source,
            destination: self.rank,
            wire_bytes,
            bytes,
            message: envelope.and_then(belongs_to),
            ..Packet::default()
        }
    }

    /// Adds packets of one descriptor: `data` in parts, each behind the header that it gets.
    fn post(
        &mut self,
        number: u32,
        envelope: &Envelope,
        (parts, data): (&[Part], &[u8]),
        header_of: impl Fn(&Part) -> ViaHeader,
    ) {
        let count = parts.len() as u32;
        let window = self.window();
        let connection = &mut self.connections[number as usize];
        if connection.is_broken {
            return;
        }
        let first = connection.out.add(count);
        for (i, part) in (0..).zip(parts) {
            let sequence = first.wrapping_add(i);
            let asks = should_ask(i, count, sequence, window);
            let header = ViaHeader {
                flags: if asks { ASKS } else { 0 },
                to: number,
                from: self.other_end(number),
                sequence,
                ..header_of(part)
            };
            let data = &data[part.from..][..part.bytes];
            let packet = self.packet(number, &header, (data, part.left), Some(envelope));
            self.connections[number as usize].packets.push_back(packet);
        }
        self.wants_to_send(number);
    }

    /// The VI at the other end of the rank's VI `number` may have something to send.
    fn wants_to_send(&mut self, number: u32) {
        let allowed = self.allowed(number);
        let connection = &mut self.connections[number as usize];
        let may_send = connection.out.has_room(allowed) && connection.out.has_more();
        if may_send && !std::mem::replace(&mut connection.is_queued, true) {
            self.ready.push_back(number);
        }
    }

    /// A message for a receive descriptor.
    fn post_message(&mut self, number: u32, envelope: &Envelope, data: &[u8]) {
        let parts = self.line.parts_of_message(data.len());
        self.post(number, envelope, (&parts, data), |part| ViaHeader {
            kind: SEND,
            address: part.from as u64,
            ..ViaHeader::default()
        });
    }

    /// What was refused or lost is sent again when its time has come.
    fn go_back(&mut self, now: Time) {
        self.look_for_lost(now);
        while let Some(&(_, number)) = self.retries.first().filter(|(at, _)| *at <= now) {
            self.retries.pop_first();
            self.connections[number as usize].out.waits = false;
            self.wants_to_send(number);
        }
    }

    /// A packet leaves over the rank's VI `number`, and something may be lost from then on.
    fn watch(&mut self, now: Time, number: u32) {
        let connection = &mut self.connections[number as usize];
        let Some(timeout) = self.line.timeout(connection.out.timeouts) else { return };
        if !connection.is_watched {
            (connection.is_watched, connection.since) = (true, now);
            self.watched.insert((now + timeout, number));
        }
    }

    fn look_for_lost(&mut self, now: Time) {
        while let Some(&(_, number)) = self.watched.first().filter(|(at, _)| *at <= now) {
            self.watched.pop_first();
            let connection = &mut self.connections[number as usize];
            connection.is_watched = false;
            let Some(timeout) = self.line.timeout(connection.out.timeouts) else { return };
            if connection.out.waits || !connection.out.is_waiting() {
                continue;
            }
            if connection.since + timeout <= now {
                connection.out.lost();
                connection.allowed = Some(1);
                self.counters.lost += 1;
                if self.line.timeout(connection.out.timeouts) > Some(TIMEOUT_MAX) {
                    self.break_off(number);
                }
                self.wants_to_send(number);
            } else {
                connection.is_watched = true;
                self.watched.insert((connection.since + timeout, number));
            }
        }
    }

    /// A reply has come over the rank's VI `number`.
    fn acknowledged(&mut self, now: Time, number: u32, header: &ViaHeader) {
        let refused = header.value == NOT_READY;
        let window = self.window();
        let connection = &mut self.connections[number as usize];
        let base = connection.out.base;
        let effect = connection.out.acknowledged(header.sequence, refused);
        if connection.out.base != base {
            connection.since = now;
            connection.allowed = connection.allowed.map(|some| some + 1).filter(|more| *more < window);
        }
        connection.packets.drain(..connection.out.base.wrapping_sub(base) as usize);
        match effect {
            Effect::Nothing => {}
            Effect::GoOn => self.wants_to_send(number),
            Effect::GoBack => {
                self.counters.refused += 1;
                let pause = self.line.pause(Time(self.via.retry.ps()), connection.out.refusals);
                if matches!(self.line, Line::Kernels { .. }) {
                    connection.allowed = Some(1);
                }
                self.retries.insert((now + pause, number));
            }
        }
        let is_over = connection_is_over(&self.connections[number as usize], header, self.via.retries);
        if is_over {
            self.break_off(number);
        }
        self.forget_begun();
    }

    /// An error ends the connection: nothing more is sent over it.
    fn break_off(&mut self, number: u32) {
        self.counters.broken += 1;
        self.connections[number as usize] = Connection {
            is_broken: true,
            is_queued: self.connections[number as usize].is_queued,
            is_watched: self.connections[number as usize].is_watched,
            ..Connection::default()
        };
        self.retries.retain(|(_, of)| *of != number);
        self.replies.retain(|of| *of != number);
    }

    /// Messages that have been accepted, and those that never will be, hold no others up.
    fn forget_begun(&mut self) {
        while let Some(&(number, sequence)) = self.begun.front() {
            let connection = &self.connections[number as usize];
            if !connection.is_broken && !before(sequence, connection.out.base) {
                return;
            }
            self.begun.pop_front();
        }
    }

    /// A packet of the rank's VI `number` is new: whatever it brings is taken.
    fn takes_packet(&mut self, number: u32, header: &ViaHeader) -> bool {
        let connection = &mut self.connections[number as usize];
        let is_new = header.sequence == connection.expected;
        if is_new {
            connection.expected = connection.expected.wrapping_add(1);
        }
        let replies = before(header.sequence, connection.expected) && (!is_new || header.flags & ASKS != 0);
        if replies && !std::mem::replace(&mut connection.owes_reply, true) {
            self.replies.push_back(number);
        }
        is_new
    }

    /// A packet of a message has come over the rank's VI `number`.
    fn take_part(&mut self, number: u32, data: &[u8], left: u32, brought: &mut Vec<(Envelope, Vec<u8>)>) {
        let partial = &mut self.connections[number as usize].partial;
        partial.extend_from_slice(data);
        if left == 0 {
            let whole = std::mem::take(partial);
            self.take_message(number, &whole, brought);
        }
    }

    /// A message has come over the rank's VI `number`.
    fn take_message(&mut self, number: u32, data: &[u8], brought: &mut Vec<(Envelope, Vec<u8>)>) {
        let first = number % self.ranks;
        if number >= self.ranks {
            self.connections[first as usize].data.push_back(data.to_vec());
        } else {
            // What is shorter is no packet of the MPI device's.
            let Some((envelope, data)) = data.split_at_checked(ENVELOPE_BYTES as usize) else { return };
            let envelope = Envelope::from_bytes(envelope);
            if !self.is_apart(&envelope) {
                return brought.push((envelope, data.to_vec()));
            }
            self.connections[first as usize].envelopes.push_back(envelope);
        }
        let Connection { envelopes, data, .. } = &mut self.connections[first as usize];
        while !envelopes.is_empty() && !data.is_empty() {
            brought.extend(envelopes.pop_front().zip(data.pop_front()));
        }
    }

    /// The data of the message that begins so come over the second VI.
    fn is_apart(&self, envelope: &Envelope) -> bool {
        let is_short = (1..=self.mpi.eager.bytes()).contains(&envelope.bytes);
        self.via.zero_copy && is_message(envelope) && is_short
    }
}

/// The rank's NIC has said that a connection is at its end, or has refused a packet too many times.
fn connection_is_over(connection: &Connection, header: &ViaHeader, retries: u64) -> bool {
    header.value > NOT_READY || connection.out.refusals > retries
}

impl Transport for ViaPeers {
    fn eager_bytes_max(&self) -> u64 {
        self.mpi.eager.bytes()
    }

    fn puts(&self) -> bool {
        true
    }

    fn takes(&mut self, now: Time, source: u16) -> bool {
        self.go_back(now);
        let number = u32::from(source);
        let Connection { out, is_broken, .. } = &self.connections[number as usize];
        let may_leave = out.has_room(self.allowed(number)) && !out.has_more();
        *is_broken || may_leave && self.begun.iter().all(|(other, _)| *other == number)
    }

    fn send(&mut self, _: Time, envelope: &Envelope, data: &[u8]) {
        let number = u32::from(envelope.source);
        let Connection { out, is_broken, .. } = &self.connections[number as usize];
        if is_message(envelope) && !is_broken {
            self.begun.push_back((number, out.end));
        }
        let bytes = envelope.to_bytes();
        if data.is_empty() || !self.is_apart(envelope) {
            return self.post_message(number, envelope, &[&bytes[..], data].concat());
        }
        self.post_message(number, envelope, &bytes);
        self.post_message(self.ranks + number, envelope, data);
    }

    fn put(&mut self, now: Time, finished: &Envelope, to: u64, data: &[u8]) {
        let (entry, address) = ((to >> ADDRESS_BITS) as u32, to & ((1 << ADDRESS_BITS) - 1));
        let handle = entry.wrapping_sub((address >> PAGE_SHIFT) as u32);
        let parts = self.line.parts_of_block(address, data.len());
        self.post(u32::from(finished.source), finished, (&parts, data), |part| ViaHeader {
            kind: WRITE,
            address: address + part.from as u64,
            handle,
            ..ViaHeader::default()
        });
        self.send(now, finished, &[]);
    }

    fn next(&mut self, now: Time) -> Option<Packet> {
        self.go_back(now);
        if let Some(number) = self.replies.pop_front() {
            let connection = &mut self.connections[number as usize];
            connection.owes_reply = false;
            self.counters.replies += 1;
            let (kind, sequence) = (REPLY, connection.expected);
            let from = self.other_end(number);
            let header =
                ViaHeader { kind, to: number, from, sequence, value: ACCEPTED, ..ViaHeader::default() };
            return Some(self.packet(number, &header, (&[], 0), None));
        }
        while let Some(number) = self.ready.pop_front() {
            let allowed = self.allowed(number);
            let connection = &mut self.connections[number as usize];
            connection.is_queued = false;
            if !connection.out.has_room(allowed) || !connection.out.has_more() {
                continue;
            }
            let sequence = connection.out.next;
            let place = sequence.wrapping_sub(connection.out.base);
            let mut packet = connection.packets[place as usize].clone();
            if connection.allowed == Some(place + 1) {
                self.line.ask(&mut packet);
            }
            self.counters.resent += u64::from(connection.out.sends(sequence));
            self.wants_to_send(number);
            self.watch(now, number);
            return Some(packet);
        }
        None
    }

    fn receive(&mut self, now: Time, packet: Packet, brought: &mut Vec<(Envelope, Vec<u8>)>) {
        let Some((header, data, left)) = self.line.parse(&packet.bytes) else { return };
        let number = header.from;
        let is_connected = self.connections.get(number as usize).is_some_and(|c| !c.is_broken);
        if !is_connected {
            return;
        }
        match header.kind {
            REPLY => self.acknowledged(now, number, &header),
            kind => {
                if self.takes_packet(number, &header) && kind == SEND {
                    self.take_part(number, data, left, brought);
                }
            }
        }
    }

    fn wakes(&self) -> Option<Time> {
        let retry = self.retries.first().map(|(at, _)| *at);
        let watched = self.watched.first().map(|(at, _)| *at);
        retry.into_iter().chain(watched).min()
    }

    fn trouble(&self) -> Option<String> {
        let broken = self.counters.broken;
        (broken > 0).then(|| {
            format!(
                "an error of the rank's NIC, more refusals in a row than netcache.via.retries ({}), or no answer has ended \
                 {broken} of the peers' connections to it",
                self.via.retries
            )
        })
    }

    fn visit(&self, visit: &mut Visitor<'_>) {
        self.counters.visit(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::HEADER;
    use super::*;
    use chasqui_config::Resolved;
    use chasqui_machine::Machine;

    const RANK: u32 = 1;
    const RANKS: u32 = 4;

    /// The peers of rank 1 of 4, with a window of 4 packets.
    fn peers(zero_copy: bool) -> ViaPeers {
        let resolved = Resolved::defaults(&crate::NETCACHE.schema());
        let via = ViaUnit { window: 4, zero_copy, ..resolved.read("netcache.via") };
        ViaPeers::new(
            Line::nics(&resolved.read("netcache.nic")),
            via,
            resolved.read("netcache.mpi"),
            (RANK, RANKS),
        )
    }

    fn envelope(kind: u8, source: u16, sequence: u32, bytes: u64) -> Envelope {
        Envelope { kind, source, destination: RANK as u16, sequence, bytes, ..Envelope::default() }
    }

    fn headers(peers: &mut ViaPeers, now: Time) -> Vec<ViaHeader> {
        let packets = std::iter::from_fn(|| peers.next(now));
        packets.map(|packet| ViaHeader::from_bytes(&packet.bytes)).collect()
    }

    fn numbers(peers: &mut ViaPeers, now: Time) -> Vec<(u32, u32)> {
        headers(peers, now).iter().map(|header| (header.to, header.sequence)).collect()
    }

    /// What the rank's NIC says over its VI `from`.
    fn says(peers: &mut ViaPeers, now: Time, header: ViaHeader, data: &[u8]) -> Vec<(Envelope, Vec<u8>)> {
        let mut brought = vec![];
        let bytes = [&header.to_bytes()[..], data].concat();
        peers.receive(now, Packet { bytes, ..Packet::default() }, &mut brought);
        brought
    }

    fn replies(peers: &mut ViaPeers, now: Time, from: u32, sequence: u32, value: u32) {
        let header = ViaHeader { kind: REPLY, from, sequence, value, ..ViaHeader::default() };
        assert_eq!(says(peers, now, header, &[]), []);
    }

    #[test]
    fn a_message_goes_over_the_vis_that_the_driver_connects() {
        let mut peers = peers(true);
        peers.send(Time::ZERO, &envelope(1, 3, 9, 5), b"hello");
        let packets: Vec<Packet> = std::iter::from_fn(|| peers.next(Time::ZERO)).collect();
        // Rank 1's VIs 3 and 4 + 3 are connected to rank 3's VIs 1 and 4 + 1.
        for (packet, (to, from, bytes)) in packets.iter().zip([(3, 1, ENVELOPE_BYTES), (7, 5, 5)]) {
            let header = ViaHeader::from_bytes(&packet.bytes);
            assert_eq!((header.kind, header.to, header.from, header.sequence), (SEND, to, from, 0));
            assert_eq!((header.flags, packet.bytes.len() as u64 - HEADER as u64), (ASKS, bytes));
            assert_eq!((packet.source, packet.destination, packet.message), (3, 1, Some((3, 9))));
        }
        assert_eq!(packets.len(), 2);
        assert_eq!(packets[1].bytes[HEADER..], *b"hello");
    }

    #[test]
    fn a_window_is_under_way_and_what_is_refused_goes_again_when_it_is_time() {
        let mut peers = peers(false);
        let (now, retry) = (Time(1000), Time(peers.via.retry.ps()));
        (1..=6).for_each(|sequence| peers.send(now, &envelope(5, 0, sequence, 0), &[]));
        assert_eq!(numbers(&mut peers, now), [(0, 0), (0, 1), (0, 2), (0, 3)]);
        replies(&mut peers, now, 0, 1, NOT_READY);
        assert_eq!((numbers(&mut peers, now), peers.wakes()), (vec![], Some(now + retry)));
        assert_eq!(numbers(&mut peers, now + retry - Time(1)), []);
        assert_eq!(numbers(&mut peers, now + retry), [(0, 1), (0, 2), (0, 3), (0, 4)]);
        replies(&mut peers, now, 0, 4, ACCEPTED);
        assert_eq!(numbers(&mut peers, now + retry), [(0, 5)]);
        assert_eq!((peers.counters.refused, peers.counters.resent, peers.wakes()), (1, 3, None));
    }

    #[test]
    fn a_message_waits_for_those_before_it_over_other_connections_alone() {
        let mut peers = peers(false);
        let now = Time::ZERO;
        assert!(peers.takes(now, 2));
        peers.send(now, &envelope(1, 2, 1, 0), &[]);
        assert_eq!(numbers(&mut peers, now), [(2, 0)]);
        assert!(peers.takes(now, 2) && !peers.takes(now, 3));
        replies(&mut peers, now, 2, 0, NOT_READY);
        assert!(!peers.takes(now, 2) && !peers.takes(now, 3));
        let now = peers.wakes().expect("it goes again");
        assert_eq!(numbers(&mut peers, now), [(2, 0)]);
        replies(&mut peers, now, 2, 1, ACCEPTED);
        assert!(peers.takes(now, 3));
        // A connection that is over holds nothing up.
        peers.send(now, &envelope(1, 2, 2, 0), &[]);
        replies(&mut peers, now, 2, 1, super::super::registers::STATUS_REMOTE_ERROR);
        assert!(peers.takes(now, 3) && peers.takes(now, 2));
        peers.send(now, &envelope(1, 2, 3, 0), &[]);
        assert_eq!((numbers(&mut peers, now), peers.counters.broken), (vec![], 1));
        assert!(peers.takes(now, 3));
    }

    #[test]
    fn packets_of_the_rank_are_taken_once_and_answered() {
        let mut peers = peers(true);
        let now = Time::ZERO;
        let message =
            |sequence, flags, from| ViaHeader { kind: SEND, flags, from, sequence, ..ViaHeader::default() };
        let with_data = Envelope { bytes: 5, ..envelope(1, RANK as u16, 4, 5) };
        assert_eq!(says(&mut peers, now, message(0, ASKS, 2), &with_data.to_bytes()), []);
        let brought = says(&mut peers, now, message(0, 0, RANKS + 2), b"hello");
        assert_eq!(brought, [(with_data, b"hello".to_vec())], "its data come over the other VI");
        let reply = ViaHeader { kind: REPLY, to: 2, from: RANK, sequence: 1, ..ViaHeader::default() };
        assert_eq!(headers(&mut peers, now), [reply]);
        assert_eq!(says(&mut peers, now, message(0, 0, 2), &with_data.to_bytes()), [], "it was here before");
        assert_eq!(headers(&mut peers, now), [reply]);
        let matched = envelope(5, RANK as u16, 0, 0);
        assert_eq!(says(&mut peers, now, message(2, ASKS, 2), &matched.to_bytes()), [], "one is missing");
        assert_eq!(headers(&mut peers, now), []);
        assert_eq!(says(&mut peers, now, message(1, 0, 2), &matched.to_bytes()), [(matched, vec![])]);
    }

    #[test]
    fn a_block_is_written_to_where_the_rank_has_registered_it() {
        let mut peers = peers(false);
        let (address, handle) = (0x12_3000 + 1000, 0xffff_fff0_u32);
        let entry = u64::from(handle.wrapping_add((address >> PAGE_SHIFT) as u32));
        let data: Vec<u8> = (0..3000).map(|i| i as u8).collect();
        peers.put(Time::ZERO, &envelope(6, 0, 2, 3000), entry << ADDRESS_BITS | address, &data);
        let packets: Vec<Packet> = std::iter::from_fn(|| peers.next(Time::ZERO)).collect();
        let found: Vec<_> = packets
            .iter()
            .map(|packet| (ViaHeader::from_bytes(&packet.bytes), packet.bytes.len() - HEADER))
            .map(|(h, bytes)| (h.kind, h.address, h.handle, h.flags, bytes))
            .collect();
        // 24 bytes to the next multiple of 1 KiB. The window's second packet asks, and the last.
        let piece = |at, flags, bytes| (WRITE, address + at, handle, flags, bytes);
        assert_eq!(
            found,
            [piece(0, 0, 24), piece(24, ASKS, 1024), piece(1048, 0, 1024), piece(2072, ASKS, 928)]
        );
        replies(&mut peers, Time::ZERO, 0, 4, ACCEPTED);
        assert_eq!(headers(&mut peers, Time::ZERO)[0].kind, SEND, "what ends it");
    }
}

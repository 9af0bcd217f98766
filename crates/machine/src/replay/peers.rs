//! The peers as a partition: when what is sent to the rank, over the line.

use std::any::Any;
use std::collections::VecDeque;

use chasqui_counters::{Counters, Visitor, counters};
use chasqui_engine::{Class, Event, EventQueue, Order, Outbox, Packet, Partition, Payload, Port, Time};
use chasqui_network::FromNode;
use chasqui_record::{MessageId, Recorder, Stage};

use super::protocol::{Protocol, Sends};
use super::{Line, Pace, Replay, Transport};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerEvent {
    /// The next recorded message is due.
    Due,
    /// The line is free.
    Free,
    /// The transport must be called again.
    Wake,
    /// What the node has sent is here; it waits in this slot.
    FromNode(usize),
    /// The last byte of the packet in this slot is here.
    Whole(usize),
}

impl From<PeerEvent> for Payload {
    fn from(event: PeerEvent) -> Payload {
        match event {
            PeerEvent::Due => [0, 0],
            PeerEvent::Free => [1, 0],
            PeerEvent::FromNode(slot) => [2, slot as u64],
            PeerEvent::Whole(slot) => [3, slot as u64],
            PeerEvent::Wake => [4, 0],
        }
    }
}

impl From<Payload> for PeerEvent {
    fn from([a, b]: Payload) -> PeerEvent {
        match a {
            0 => PeerEvent::Due,
            1 => PeerEvent::Free,
            2 => PeerEvent::FromNode(b as usize),
            3 => PeerEvent::Whole(b as usize),
            4 => PeerEvent::Wake,
            tag => panic!("peer event {tag}"),
        }
    }
}

/// Of all that they send.
const PRIORITY: u8 = 0;

counters! {
    /// Counters of peers, beside their transport's.
    struct PeersStatistics {
        /// Recorded messages that were sent to the rank.
        messages: "messages";
        /// Data of the recorded messages that were sent to the rank.
        bytes: "bytes";
        /// Recorded messages that left later than due, for want of room in the rank's node or of an answer from it.
        delayed: "messages";
        /// Time by which recorded messages left later than due, all together.
        delay_ps: "ps";
        /// The longest time by which a recorded message left later than due.
        delay_max_ps: "ps";
        /// Answers of the peers' libraries, among them the data of messages by rendezvous.
        answers: "count";
        /// Packets sent to the rank.
        packets: "packets";
        /// Messages that the rank sent.
        received: "messages";
        /// Messages of the rank that differ from the recorded ones.
        sent_otherwise: "messages";
        /// Messages of the rank that differ from the recorded ones in their data alone.
        sent_other_data: "messages";
    }
}

/// What comes from the node, before its time.
enum Kept {
    Event(Event, Option<Box<Packet>>),
    Packet(Box<Packet>),
}

/// All ranks but one, behind the line to its node.
pub struct Peers {
    rank: u32,
    protocol: Protocol,
    transport: Box<dyn Transport>,
    line: Box<dyn Line>,
    pace: Pace,
    queue: EventQueue,
    port: Port,
    /// Index of the recorded message that is due next.
    next: usize,
    /// When it is due.
    latest: Time,
    /// Recorded messages that are due, with the times at which they should have left.
    due: VecDeque<(Time, usize)>,
    /// A `Free` is scheduled.
    free_scheduled: bool,
    /// When the next `Wake` is.
    wake: Time,
    kept: Vec<Option<Kept>>,
    vacant: Vec<usize>,
    recorder: Recorder,
    /// But for what differs, which the protocol counts.
    counters: PeersStatistics,
}

impl Peers {
    /// Ports of the engine that they use themselves.
    pub const PORTS: u32 = 1;

    /// The peers of the rank that `replay` is about. They number their own events by port `port`.
    pub fn new(replay: &Replay, transport: Box<dyn Transport>, line: Box<dyn Line>, port: u32) -> Peers {
        let mut peers = Peers {
            rank: replay.rank,
            protocol: Protocol::new(replay),
            transport,
            line,
            pace: replay.pace,
            queue: EventQueue::default(),
            port: Port::new(port),
            next: 0,
            latest: Time::ZERO,
            due: VecDeque::new(),
            free_scheduled: false,
            wake: Time::NEVER,
            kept: vec![],
            vacant: vec![],
            recorder: Recorder::new(0, 0),
            counters: PeersStatistics::default(),
        };
        peers.schedule();
        peers
    }

    /// When recorded message `index` leaves so as to arrive at its time, if it may come before those that the library
    /// had seen before it.
    fn departure(&self, index: usize) -> Time {
        let arrival = self.pace.time(self.protocol.recorded()[index].arrive_ps);
        Time(arrival.0.saturating_sub(self.line.latency().0))
    }

    /// The next recorded message.
    fn schedule(&mut self) {
        if self.next < self.protocol.recorded().len() {
            // Receives match by the order of arrivals, so that comes first.
            self.latest = self.latest.max(self.departure(self.next));
            self.at(self.latest, PeerEvent::Due);
        }
    }

    fn at(&mut self, time: Time, event: PeerEvent) {
        let order = self.port.next(Class::Internal);
        self.queue.push(Event { time, order, target: 0, payload: event.into() });
    }

    fn keep(&mut self, what: Kept) -> usize {
        match self.vacant.pop() {
            Some(slot) => {
                self.kept[slot] = Some(what);
                slot
            }
            None => {
                self.kept.push(Some(what));
                self.kept.len() - 1
            }
        }
    }

    fn take(&mut self, slot: usize) -> Kept {
        self.vacant.push(slot);
        self.kept[slot].take().expect("something is kept there")
    }

    fn handle(&mut self, event: Event, out: &mut Outbox<'_>) {
        let now = event.time;
        match event.payload.into() {
            PeerEvent::Due => {
                self.due.push_back((now, self.next));
                self.next += 1;
                self.schedule();
            }
            PeerEvent::Free => self.free_scheduled = false,
            PeerEvent::Wake if now == self.wake => self.wake = Time::NEVER,
            // An earlier one was asked for meanwhile.
            PeerEvent::Wake => {}
            PeerEvent::FromNode(slot) => {
                let Kept::Event(event, packet) = self.take(slot) else { unreachable!("an event was kept") };
                if let FromNode::Packet(packet, whole) = self.line.receive(&event, packet) {
                    let slot = self.keep(Kept::Packet(packet));
                    self.at(whole, PeerEvent::Whole(slot));
                }
            }
            PeerEvent::Whole(slot) => {
                let Kept::Packet(packet) = self.take(slot) else { unreachable!("a packet was kept") };
                self.whole(now, *packet, out);
            }
        }
        self.start(now, out);
        let wake = self.transport.wakes().unwrap_or(Time::NEVER);
        // What could be sent now waits for the line, whose events come separately.
        if now < wake && wake < self.wake {
            self.wake = wake;
            self.at(wake, PeerEvent::Wake);
        }
    }

    /// A packet from the node has come whole.
    fn whole(&mut self, now: Time, packet: Packet, out: &mut Outbox<'_>) {
        self.line.release(now, packet.priority, out);
        let mut brought = vec![];
        self.transport.receive(now, packet, &mut brought);
        for (envelope, data) in brought {
            if Protocol::is_message(&envelope) {
                self.counters.received += 1;
                let id = MessageId { source: envelope.source, sequence: envelope.sequence };
                self.recorder.stamp(id, Stage::Land, now.0);
            }
            self.counters.answers += self.protocol.answer(now, &envelope, &data, &mut *self.transport);
        }
    }

    /// Sends what waits while the line takes it. Answers go before messages that are due: a rank that waits for one may
    /// not look at what comes otherwise.
    fn start(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            match self.line.can_send(now, PRIORITY) {
                Ok(()) => {}
                Err(Some(until)) => {
                    if !std::mem::replace(&mut self.free_scheduled, true) {
                        self.at(until, PeerEvent::Free);
                    }
                    return;
                }
                Err(None) => return,
            }
            let packet = self.transport.next(now).or_else(|| {
                self.begin(now);
                self.transport.next(now)
            });
            let Some(packet) = packet else { return };
            self.counters.packets += 1;
            self.line.send(now, Box::new(packet), out);
        }
    }

    /// The oldest message that is due begins, if there is one and it may. Otherwise a connection may, for its sake.
    fn begin(&mut self, now: Time) {
        let Some(&(due, index)) = self.due.front() else { return };
        if self.transport.takes(now, self.protocol.recorded()[index].id.source) {
            self.due.pop_front();
            self.note(now, due, index);
            self.protocol.begin(now, index, &mut *self.transport);
        }
    }

    /// Recorded message `index`, which was due at `due`, leaves.
    fn note(&mut self, now: Time, due: Time, index: usize) {
        let m = &self.protocol.recorded()[index];
        let bytes = m.data.len() as u64;
        self.recorder.describe(m.id, m.destination, m.tag, m.context, bytes);
        self.recorder.stamp(m.id, Stage::Inject, now.0);
        let delay_ps = (now - due).0;
        let c = &mut self.counters;
        c.messages += 1;
        c.bytes += bytes;
        c.delayed += u64::from(delay_ps > 0);
        c.delay_ps += delay_ps;
        c.delay_max_ps = c.delay_max_ps.max(delay_ps);
    }

    /// The rank that they are the peers of.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Recorded messages to the rank, and how many of them have left.
    pub fn messages(&self) -> (u64, u64) {
        (self.protocol.recorded().len() as u64, self.counters.messages)
    }

    /// What the rank sent.
    pub fn sends(&self) -> &Sends {
        &self.protocol.sends
    }

    /// The recorded messages that it sent.
    pub fn recorded_sends(&self) -> u64 {
        self.protocol.recorded_sends() as u64
    }

    /// Why messages can't reach the rank any more, in words.
    pub fn trouble(&self) -> Option<String> {
        self.transport.trouble()
    }

    /// Their records of messages.
    pub fn take_recorder(&mut self) -> Recorder {
        std::mem::replace(&mut self.recorder, Recorder::new(0, 0))
    }

    /// Visits the counters, and the transport's.
    pub fn visit(&self, visit: &mut Visitor<'_>) {
        let Sends { other: sent_otherwise, other_data: sent_other_data, .. } = self.protocol.sends;
        PeersStatistics { sent_otherwise, sent_other_data, ..self.counters }.visit(visit);
        self.transport.visit(visit);
    }
}

impl Partition for Peers {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn next(&self) -> Time {
        self.queue.next_time()
    }

    /// Returns how many events were handled.
    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let mut handled = 0;
        while let Some(event) = self.queue.pop_before(out.limit()) {
            self.handle(event, out);
            handled += 1;
        }
        handled
    }

    fn receive(&mut self, event: Event, packet: Option<Box<Packet>>) {
        let (time, order): (Time, Order) = (event.time, event.order);
        let slot = self.keep(Kept::Event(event, packet));
        self.queue.push(Event { time, order, target: 0, payload: PeerEvent::FromNode(slot).into() });
    }
}

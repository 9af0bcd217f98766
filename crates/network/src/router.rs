//! A router that sends whole packets, singly or as pieces of worms.
//!
//! An input port has a FIFO buffer for each channel of its link, here a *lane*. The head of a lane is a candidate for
//! its output once it may be forwarded, as the switching says, and the packet before it in the lane has left, tail and
//! all. It starts when the output is free and a credit is there, that is room for the whole packet at the far end in
//! the channel by which it leaves; so a packet that has started is never stopped and a link is never held in vain. Of
//! the virtual networks that have a credit, [`Arbitration`] says which goes first; within one, the candidate that has
//! waited longest. The channel of an output by which a worm's first piece has left is the worm's until the last has: other
//! lanes wait for that, even while the link is idle because the next piece has not come. Of one instant, the order of
//! events decides: credits, then arriving packets of the higher channel first and then by number of the link, then lanes
//! whose tail has left.

use std::collections::VecDeque;

use chasqui_engine::{Class, Event, EventQueue, Order, Port, Time};

use crate::channels::{Arbitration, Channels};
use crate::credits::Credits;
use crate::{FabricEvent, LinkStatistics};

/// A packet in a router, and all that is needed to send it on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Where the fabric keeps it.
    pub slot: u32,
    /// By which port it will leave.
    pub output: u16,
    /// By which channel of that port's link.
    pub channel: u8,
    /// Another piece of the same worm follows it in its lane.
    pub more: bool,
    /// Its length [bytes].
    pub wire_bytes: u32,
    /// Time for which it occupies a link.
    pub serialization: Time,
}

/// A packet that starts on its output now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub input: u16,
    /// The channel by which it came.
    pub channel: u8,
    pub held: Held,
    /// When its last byte leaves, which frees its place in the buffer.
    pub tail: Time,
}

/// One channel's buffer at one input.
struct Lane {
    input: u16,
    channel: u8,
    waiting: VecDeque<Held>,
    /// When the tail of the last packet that left is gone.
    busy_until: Time,
    /// What leaves is to leave once more, and still holds the first place.
    is_repeated: bool,
    /// Time of the last [`FabricEvent::Tail`] made for this lane.
    tail_event_at: Time,
    /// Output of the last packet that left.
    last_output: u16,
    /// The head is among its output's candidates.
    is_candidate: bool,
}

struct Output {
    free_at: Time,
    /// Lane of the last packet that left.
    last_lane: usize,
    /// Virtual network of the last packet that left.
    last_network: u8,
    candidate_count: u32,
    /// Since when candidates wait for a credit, or for a worm's end, on the free link; [`Time::NEVER`] when none does.
    blocked_since: Time,
    /// Time of the pending [`FabricEvent::Retry`]; [`Time::NEVER`] when there is none.
    retry_at: Time,
    statistics: LinkStatistics,
}

/// One channel of an output's link.
struct Outgoing {
    /// Lanes whose heads need this channel and could not start at once, oldest first, and since when. That of the worm which
    /// holds the channel is before all others.
    candidates: VecDeque<(Time, usize)>,
    /// The lane of a worm of which some pieces have left by this channel and others are still to.
    holder: Option<usize>,
    credits: Credits,
    port: Port,
}

impl Outgoing {
    /// It is held for a worm of another lane.
    #[inline]
    fn is_held_from(&self, lane: usize) -> bool {
        self.holder.is_some_and(|holder| holder != lane)
    }
}

/// A router: lanes, outputs and what moves packets from one to the other.
pub(crate) struct Router {
    number: u32,
    buffer_packets: usize,
    channels: Channels,
    /// How many channels a link has.
    channel_count: usize,
    /// By input, then channel.
    lanes: Vec<Lane>,
    outputs: Vec<Output>,
    /// By output, then channel.
    outgoing: Vec<Outgoing>,
}

impl Router {
    /// A router with the given ports: for each, by channel, the engine's port and the credits of its output.
    pub(crate) fn new(
        number: u32,
        buffer_packets: u32,
        channels: Channels,
        outputs: Vec<Vec<(Port, u32)>>,
    ) -> Router {
        let lane = |input, channel| Lane {
            input,
            channel,
            waiting: VecDeque::new(),
            busy_until: Time::ZERO,
            is_repeated: false,
            tail_event_at: Time::ZERO,
            last_output: 0,
            is_candidate: false,
        };
        let output = || Output {
            free_at: Time::ZERO,
            last_lane: 0,
            last_network: 0,
            candidate_count: 0,
            blocked_since: Time::NEVER,
            retry_at: Time::NEVER,
            statistics: LinkStatistics::default(),
        };
        let outgoing = |(port, credits)| Outgoing {
            candidates: VecDeque::new(),
            holder: None,
            credits: Credits::new(credits),
            port,
        };
        let inputs = 0..outputs.len() as u16;
        Router {
            number,
            buffer_packets: buffer_packets as usize,
            channels,
            channel_count: channels.count(),
            lanes: inputs.flat_map(|i| channels.all().map(move |(c, ..)| lane(i, c))).collect(),
            outputs: std::iter::repeat_with(output).take(outputs.len()).collect(),
            outgoing: outputs.into_iter().flatten().map(outgoing).collect(),
        }
    }

    /// What stands for a router that is in another part of the network: it has no ports.
    pub(crate) fn elsewhere(number: u32, channels: Channels) -> Router {
        Router::new(number, 0, channels, vec![])
    }

    /// It stands for another.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Where a channel of a port is, among lanes and among what goes out.
    #[inline]
    fn index(&self, port: u16, channel: u8) -> usize {
        usize::from(port) * self.channel_count + usize::from(channel)
    }

    /// A packet at `input` may leave from now on.
    #[inline]
    pub(crate) fn packet(&mut self, now: Time, input: u16, channel: u8, held: Held, work: &mut Work<'_>) {
        let index = self.index(input, channel);
        let lane = &mut self.lanes[index];
        let leaves = now < lane.busy_until;
        assert!(
            lane.waiting.len() + usize::from(leaves && !lane.is_repeated) < self.buffer_packets,
            "router {} input {input} channel {channel}: no room at {now}",
            self.number
        );
        lane.waiting.push_back(held);
        if lane.waiting.len() > 1 {
            return;
        }
        if leaves {
            self.tail_event(index, work);
        } else {
            self.offer(now, index, work);
        }
    }

    /// The far end of `output`, which is in another partition, has made room.
    pub(crate) fn credit(&mut self, now: Time, output: u16, channel: u8, work: &mut Work<'_>) {
        let index = self.index(output, channel);
        self.outgoing[index].credits.give(now);
        self.arbitrate_with_credit(now, output, work);
    }

    /// The router at the far end of `output` makes room, which is known here at `at`.
    #[inline]
    pub(crate) fn credit_at(&mut self, output: u16, channel: u8, at: Time, queue: &mut EventQueue) {
        let index = self.index(output, channel);
        let outgoing = &mut self.outgoing[index];
        outgoing.credits.give(at);
        let waits = !outgoing.candidates.is_empty();
        if waits && self.outputs[output as usize].blocked_since != Time::NEVER {
            self.retry_event(output, at, queue);
        }
    }

    /// A packet that was sent on `output` has not arrived, and holds no room there from `at` on.
    pub(crate) fn credit_back(&mut self, output: u16, channel: u8, at: Time, queue: &mut EventQueue) {
        let index = self.index(output, channel);
        self.outgoing[index].credits.give_back(at);
        self.retry_event(output, at, queue);
    }

    /// The packet that has just left the buffer of `input` is sent once more: it is there still.
    pub(crate) fn repeat(&mut self, input: u16, channel: u8, held: Held, work: &mut Work) {
        let index = self.index(input, channel);
        self.lanes[index].waiting.push_front(held);
        self.lanes[index].is_repeated = true;
        self.tail_event(index, work);
    }

    /// The tail of a packet has left: for its lane and its output.
    pub(crate) fn tail(&mut self, now: Time, input: u16, channel: u8, output: u16, work: &mut Work<'_>) {
        let index = self.index(input, channel);
        let lane = &mut self.lanes[index];
        // Where bytes take no time there may be another at this instant.
        if lane.tail_event_at == now {
            lane.tail_event_at = Time::NEVER;
        }
        // A packet that came in this very instant found the lane free: it is a candidate or has started.
        if !lane.waiting.is_empty() && !lane.is_candidate {
            self.offer(now, index, work);
        }
        self.arbitrate(now, output, work);
    }

    /// A credit for which a packet waited is back.
    pub(crate) fn retry(&mut self, now: Time, output: u16, work: &mut Work<'_>) {
        let out = &mut self.outputs[output as usize];
        if out.retry_at == now {
            out.retry_at = Time::NEVER;
        }
        self.arbitrate_with_credit(now, output, work);
    }

    /// A credit is back. Where it is the link that packets wait for, they wait for its tail, which is behind packets that
    /// arrive in this instant.
    fn arbitrate_with_credit(&mut self, now: Time, output: u16, work: &mut Work<'_>) {
        if self.outputs[output as usize].blocked_since != Time::NEVER {
            self.arbitrate(now, output, work);
        }
    }

    /// The order of the next event on the link of `output`.
    #[inline]
    pub(crate) fn order(&mut self, output: u16, channel: u8, class: Class) -> Order {
        let index = self.index(output, channel);
        self.outgoing[index].port.next(class)
    }

    /// What the link of `output` did.
    pub(crate) fn statistics(&self, output: u16) -> &LinkStatistics {
        &self.outputs[output as usize].statistics
    }

    /// Packets of a lane that have not started to leave: for checks.
    pub(crate) fn waiting(&self, input: u16, channel: u8) -> usize {
        self.lanes[self.index(input, channel)].waiting.len()
    }

    /// A worm holds a channel of `output`: for checks.
    pub(crate) fn is_held(&self, output: u16, channel: u8) -> bool {
        self.outgoing[self.index(output, channel)].holder.is_some()
    }

    /// Credits of `output`, here or on their way: for checks.
    pub(crate) fn credits(&self, output: u16, channel: u8) -> usize {
        self.outgoing[self.index(output, channel)].credits.total()
    }

    /// The head of a lane becomes a candidate, or starts.
    #[inline]
    fn offer(&mut self, now: Time, lane: usize, work: &mut Work<'_>) {
        let Held { output, channel, .. } = self.lanes[lane].waiting[0];
        let index = self.index(output, channel);
        let (out, outgoing) = (&mut self.outputs[output as usize], &mut self.outgoing[index]);
        let is_free = out.free_at <= now && out.candidate_count == 0 && !outgoing.is_held_from(lane);
        if is_free && outgoing.credits.any(now) {
            self.start(now, lane, work);
        } else {
            if outgoing.holder == Some(lane) {
                outgoing.candidates.push_front((now, lane));
            } else {
                outgoing.candidates.push_back((now, lane));
            }
            out.candidate_count += 1;
            self.lanes[lane].is_candidate = true;
            self.arbitrate(now, output, work);
        }
    }

    /// Starts the first candidate of `output` that may.
    fn arbitrate(&mut self, now: Time, output: u16, work: &mut Work<'_>) {
        let out = &self.outputs[output as usize];
        if out.candidate_count == 0 {
            return;
        }
        if out.free_at > now {
            self.tail_event(out.last_lane, work);
            return;
        }
        let (networks, last) = (self.channels.networks, out.last_network);
        let mut credit_at = Time::NEVER;
        for turn in 0..networks.count {
            let network = match networks.arbitration {
                Arbitration::Priority => networks.count - 1 - turn,
                Arbitration::RoundRobin => (last + 1 + turn) % networks.count,
            };
            match self.oldest(now, output, network) {
                Ok(index) => {
                    let (_, lane) = self.outgoing[index].candidates.pop_front().expect("a candidate");
                    self.outputs[output as usize].candidate_count -= 1;
                    self.start(now, lane, work);
                    return;
                }
                Err(at) => credit_at = credit_at.min(at),
            }
        }
        let out = &mut self.outputs[output as usize];
        out.blocked_since = out.blocked_since.min(now);
        if credit_at != Time::NEVER {
            self.retry_event(output, credit_at, work.queue);
        }
    }

    /// Of the channels of `network` that have a candidate, which no other's worm keeps waiting, and a credit, that of the
    /// candidate that has waited longest.
    ///
    /// # Errors
    /// There is none: when the next credit comes that a candidate waits for.
    #[inline]
    fn oldest(&mut self, now: Time, output: u16, network: u8) -> Result<usize, Time> {
        let first = self.index(output, self.channels.of(network, 0));
        let (mut credit_at, mut oldest) = (Time::NEVER, None);
        for index in first..first + usize::from(self.channels.virtual_channels) {
            let outgoing = &mut self.outgoing[index];
            let Some(&(since, lane)) = outgoing.candidates.front() else { continue };
            if outgoing.is_held_from(lane) {
                continue;
            }
            if !outgoing.credits.any(now) {
                credit_at = credit_at.min(outgoing.credits.next().unwrap_or(Time::NEVER));
            } else if oldest.is_none_or(|(first, _)| since < first) {
                oldest = Some((since, index));
            }
        }
        oldest.map(|(_, index)| index).ok_or(credit_at)
    }

    /// The head of a lane starts on its output.
    #[inline]
    fn start(&mut self, now: Time, index: usize, work: &mut Work<'_>) {
        let lane = &mut self.lanes[index];
        assert!(lane.busy_until <= now, "router {}: two packets leave a buffer at once", self.number);
        let held = lane.waiting.pop_front().expect("a packet to start");
        let tail = now + held.serialization;
        lane.busy_until = tail;
        lane.is_repeated = false;
        lane.last_output = held.output;
        lane.is_candidate = false;
        let (input, channel, is_empty) = (lane.input, lane.channel, lane.waiting.is_empty());
        let by = self.index(held.output, held.channel);
        let outgoing = &mut self.outgoing[by];
        assert!(!outgoing.is_held_from(index), "router {}: a packet within another's worm", self.number);
        outgoing.credits.take();
        outgoing.holder = held.more.then_some(index);
        let out = &mut self.outputs[held.output as usize];
        out.free_at = tail;
        out.last_lane = index;
        out.last_network = self.channels.network(held.channel);
        if out.blocked_since != Time::NEVER {
            out.statistics.blocked_ps += (now - out.blocked_since).0;
            out.blocked_since = Time::NEVER;
        }
        out.statistics.count(held.wire_bytes, held.serialization);
        work.departures.push(Departure { input, channel, held, tail });
        if !is_empty || out.candidate_count > 0 {
            self.tail_event(index, work);
        }
    }

    /// Sees to it that something happens when the tail of a lane's last packet has left.
    fn tail_event(&mut self, index: usize, work: &mut Work<'_>) {
        let lane = &mut self.lanes[index];
        if lane.tail_event_at == lane.busy_until {
            return;
        }
        lane.tail_event_at = lane.busy_until;
        let &mut Lane { input, channel, last_output: output, busy_until: time, .. } = lane;
        let payload = FabricEvent::Tail { input, channel, output }.into();
        let order = self.order(output, channel, Class::Internal);
        work.queue.push(Event { time, order, target: self.number, payload });
    }

    /// Sees to it that the candidates of `output` are looked at when a credit is back.
    fn retry_event(&mut self, output: u16, at: Time, queue: &mut EventQueue) {
        let out = &mut self.outputs[output as usize];
        if out.retry_at <= at {
            return;
        }
        out.retry_at = at;
        let payload = FabricEvent::Retry { output }.into();
        let order = self.order(output, 0, Class::Credit);
        queue.push(Event { time: at, order, target: self.number, payload });
    }
}

/// Where a router puts what it causes.
pub(crate) struct Work<'a> {
    /// Events for itself.
    pub queue: &'a mut EventQueue,
    /// Packets that start now.
    pub departures: &'a mut Vec<Departure>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VirtualNetworks;

    const SERIALIZATION: Time = Time(100);

    /// A router of three ports whose outputs have `credits`, with what is to happen to it.
    struct Bench {
        router: Router,
        queue: EventQueue,
        arrivals: Vec<(u64, u16, u8, u16)>,
        /// Slots of pieces of worms that others follow.
        followed: Vec<u32>,
    }

    impl Bench {
        fn new(credits: u32, arrivals: &[(u64, u16, u8, u16)]) -> Bench {
            Bench::with(VirtualNetworks::by_priority(2), 1, credits, arrivals)
        }

        fn with(
            networks: VirtualNetworks,
            virtual_channels: u8,
            credits: u32,
            arrivals: &[(u64, u16, u8, u16)],
        ) -> Bench {
            let channels = Channels::new(networks, virtual_channels);
            let count = channels.count() as u32;
            let ports = |p| (0..count).map(|c| (Port::new(8 * (count - 1 - c) + p), credits)).collect();
            let outputs = (0..3).map(ports).collect();
            Bench {
                router: Router::new(0, 4, channels, outputs),
                queue: EventQueue::default(),
                arrivals: arrivals.to_vec(),
                followed: vec![],
            }
        }

        /// What departs until `limit`, as (time, slot); slots number the arrivals. `room` says how long
        /// after its tail a packet's credit comes back.
        fn departures(&mut self, limit: u64, room: Option<u64>) -> Vec<(u64, u32)> {
            // Ports of the links by which packets come.
            let mut ports: Vec<Port> = (32..64).map(Port::new).collect();
            for (slot, &(time, input, channel, _)) in (0..).zip(&self.arrivals) {
                let port = &mut ports[usize::from(input) + 8 * usize::from(3 - channel)];
                let payload = FabricEvent::Packet { input, channel, slot }.into();
                self.queue.push(Event {
                    time: Time(time),
                    order: port.next(Class::Packet),
                    target: 0,
                    payload,
                });
            }
            let (mut log, mut departures) = (vec![], vec![]);
            while let Some(event) = self.queue.pop_before(Time(limit)) {
                let now = event.time;
                let mut work = Work { queue: &mut self.queue, departures: &mut departures };
                match FabricEvent::from(event.payload) {
                    FabricEvent::Packet { input, channel, slot } => {
                        let output = self.arrivals[slot as usize].3;
                        let serialization = SERIALIZATION;
                        let more = self.followed.contains(&slot);
                        let held = Held { slot, output, channel, more, wire_bytes: 1, serialization };
                        self.router.packet(now, input, channel, held, &mut work);
                    }
                    FabricEvent::Tail { input, channel, output } => {
                        self.router.tail(now, input, channel, output, &mut work);
                    }
                    FabricEvent::Retry { output } => self.router.retry(now, output, &mut work),
                    FabricEvent::Credit { .. } => unreachable!(),
                }
                for departure in departures.drain(..) {
                    log.push((now.0, departure.held.slot));
                    if let Some(room) = room {
                        let at = departure.tail + Time(room);
                        let Held { output, channel, .. } = departure.held;
                        self.router.credit_at(output, channel, at, &mut self.queue);
                    }
                }
            }
            log
        }
    }

    #[test]
    fn a_busy_output_blocks_until_the_tail_has_left() {
        let arrivals = [(10, 0, 0, 2), (50, 1, 0, 2)];
        assert_eq!(Bench::new(4, &arrivals).departures(110, None), [(10, 0)], "blocked at t-1");
        assert_eq!(Bench::new(4, &arrivals).departures(111, None), [(10, 0), (110, 1)], "ready at t");
        // Just after the tail nothing is in the way.
        assert_eq!(
            Bench::new(4, &[(10, 0, 0, 2), (110, 1, 0, 2)]).departures(111, None),
            [(10, 0), (110, 1)]
        );
    }

    #[test]
    fn a_missing_credit_blocks_until_it_is_back() {
        // One credit; it returns 30 after the tail: 10 + 100 + 30.
        let arrivals = [(10, 0, 0, 2), (50, 1, 0, 2)];
        assert_eq!(Bench::new(1, &arrivals).departures(140, Some(30)), [(10, 0)], "blocked at t-1");
        let mut bench = Bench::new(1, &arrivals);
        assert_eq!(bench.departures(141, Some(30)), [(10, 0), (140, 1)], "ready at t");
        // The link was free from 110 on.
        assert_eq!(bench.router.statistics(2).blocked_ps, 30);
        assert_eq!(Bench::new(1, &arrivals).departures(u64::MAX, None), [(10, 0)], "never without a credit");
    }

    #[test]
    fn the_next_of_a_lane_waits_for_the_tail_of_the_one_before() {
        // Another output, and it is free: but a buffer reads one packet at a time.
        let arrivals = [(10, 0, 0, 1), (20, 0, 0, 2), (300, 0, 0, 1)];
        assert_eq!(Bench::new(4, &arrivals).departures(110, None), [(10, 0)]);
        assert_eq!(Bench::new(4, &arrivals).departures(400, None), [(10, 0), (110, 1), (300, 2)]);
        // The other priority has a buffer of its own.
        let arrivals = [(10, 0, 0, 1), (20, 0, 1, 2)];
        assert_eq!(Bench::new(4, &arrivals).departures(400, None), [(10, 0), (20, 1)]);
    }

    #[test]
    fn the_oldest_head_goes_first() {
        let arrivals = [(10, 0, 0, 2), (30, 2, 0, 2), (20, 1, 0, 2)];
        assert_eq!(Bench::new(4, &arrivals).departures(400, None), [(10, 0), (110, 2), (210, 1)]);
        // Of one instant, the lower link.
        let arrivals = [(10, 2, 0, 2), (10, 1, 0, 2), (10, 0, 0, 2)];
        assert_eq!(Bench::new(4, &arrivals).departures(400, None), [(10, 2), (110, 1), (210, 0)]);
    }

    #[test]
    fn the_higher_priority_goes_first() {
        let arrivals = [(10, 0, 0, 2), (20, 1, 0, 2), (30, 2, 1, 2)];
        assert_eq!(Bench::new(4, &arrivals).departures(400, None), [(10, 0), (110, 2), (210, 1)]);
        // Of one instant too, whatever the link.
        let arrivals = [(10, 0, 0, 2), (10, 1, 1, 2)];
        assert_eq!(Bench::new(4, &arrivals).departures(400, None), [(10, 1), (110, 0)]);
    }

    #[test]
    fn a_priority_without_credit_does_not_block_the_other() {
        // One credit each. The second low one waits for its credit until 260; a high one passes.
        let arrivals = [(10, 0, 0, 2), (20, 1, 0, 2), (120, 2, 1, 2)];
        let log = Bench::new(1, &arrivals).departures(1000, Some(150));
        assert_eq!(log, [(10, 0), (120, 2), (260, 1)]);
        // And the other way round.
        let arrivals = [(10, 0, 1, 2), (20, 1, 1, 2), (120, 2, 0, 2)];
        let log = Bench::new(1, &arrivals).departures(1000, Some(150));
        assert_eq!(log, [(10, 0), (120, 2), (260, 1)]);
    }

    #[test]
    fn an_earlier_credit_is_not_missed_for_a_later_one() {
        // One credit each, back 150 after the tail. From 210 on the second low one waits for its credit,
        // which comes at 360; at 220 a high one joins it, whose credit comes at 260.
        let arrivals = [(10, 0, 1, 2), (20, 1, 0, 2), (120, 2, 0, 2), (220, 1, 1, 2)];
        let log = Bench::new(1, &arrivals).departures(1000, Some(150));
        assert_eq!(log, [(10, 0), (110, 1), (260, 3), (360, 2)]);
    }

    /// All want output 2, on which a packet of network 0 has begun that ends at 110.
    #[test]
    fn networks_take_turns_or_the_highest_goes_first() {
        let arrivals =
            [(10, 0, 0, 2), (20, 0, 2, 2), (30, 1, 2, 2), (40, 1, 1, 2), (50, 2, 0, 2), (60, 2, 2, 2)];
        let slots = |networks| {
            let log = Bench::with(networks, 1, 4, &arrivals).departures(1000, None);
            log.into_iter().map(|(_, slot)| slot).collect::<Vec<_>>()
        };
        assert_eq!(slots(VirtualNetworks::by_priority(3)), [0, 1, 2, 5, 3, 4]);
        // After network 0 comes 1, then 2, then 0, and then whatever there is.
        assert_eq!(slots(VirtualNetworks::round_robin(3)), [0, 3, 1, 4, 2, 5]);
    }

    #[test]
    fn a_network_without_credit_loses_its_turn() {
        // One credit each, back 250 after the tail: that of network 0 at 360.
        let arrivals = [(10, 0, 0, 2), (20, 1, 0, 2), (120, 2, 1, 2)];
        let log = Bench::with(VirtualNetworks::round_robin(2), 1, 1, &arrivals).departures(1000, Some(250));
        assert_eq!(log, [(10, 0), (120, 2), (360, 1)]);
    }

    #[test]
    fn of_the_channels_of_a_network_the_oldest_head_goes_first() {
        let arrivals = [(10, 0, 0, 2), (20, 1, 1, 2), (30, 2, 0, 2), (40, 0, 1, 2)];
        let log = Bench::with(VirtualNetworks::ONE, 2, 4, &arrivals).departures(1000, None);
        assert_eq!(log, [(10, 0), (110, 1), (210, 2), (310, 3)]);
    }

    #[test]
    fn a_channel_without_credit_does_not_block_the_other() {
        let arrivals = [(10, 0, 0, 2), (20, 1, 0, 2), (120, 2, 1, 2)];
        let log = Bench::with(VirtualNetworks::ONE, 2, 1, &arrivals).departures(1000, Some(150));
        assert_eq!(log, [(10, 0), (120, 2), (260, 1)]);
    }

    #[test]
    fn a_worm_holds_its_output_until_its_last_piece_has_left() {
        // The second piece comes long after the first has left; until then the link is idle.
        let arrivals = [(10, 0, 0, 2), (50, 1, 0, 2), (60, 2, 1, 2), (400, 0, 0, 2)];
        let bench = || Bench { followed: vec![0], ..Bench::new(4, &arrivals) };
        assert_eq!(bench().departures(500, None), [(10, 0), (110, 2), (400, 3)], "blocked at t-1");
        let mut at_last = bench();
        assert_eq!(at_last.departures(501, None), [(10, 0), (110, 2), (400, 3), (500, 1)], "ready at t");
        assert_eq!(at_last.router.statistics(2).blocked_ps, 400 - 210);
        assert!(!at_last.router.is_held(2, 0));
    }

    #[test]
    fn a_worm_without_credit_keeps_its_output() {
        // One credit, back 150 after the tail: at 260, and again at 510. The other is older than the second piece.
        let arrivals = [(10, 0, 0, 2), (50, 1, 0, 2), (120, 0, 0, 2)];
        let mut bench = Bench { followed: vec![0], ..Bench::new(1, &arrivals) };
        assert_eq!(bench.departures(1000, Some(150)), [(10, 0), (260, 2), (510, 1)]);
    }

    #[test]
    fn a_worm_holds_its_virtual_channel_alone() {
        let arrivals = [(10, 0, 0, 2), (50, 1, 0, 2), (60, 2, 1, 2), (400, 0, 0, 2)];
        let bench = Bench::with(VirtualNetworks::ONE, 2, 4, &arrivals);
        let log = Bench { followed: vec![0], ..bench }.departures(1000, None);
        assert_eq!(log, [(10, 0), (110, 2), (400, 3), (500, 1)]);
    }

    #[test]
    #[should_panic(expected = "router 0 input 1 channel 0: no room")]
    fn a_packet_without_room_is_a_bug() {
        Bench::new(0, &[(1, 1, 0, 2), (2, 1, 0, 2), (3, 1, 0, 2), (4, 1, 0, 2), (5, 1, 0, 2)])
            .departures(10, None);
    }
}

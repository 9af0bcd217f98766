//! A router that sends whole packets.
//!
//! An input port has a FIFO buffer for each priority, here a *lane*. The head of a lane is a candidate for
//! its output once it may be forwarded, as the switching says, and the packet before it in the lane has left, tail and
//! all. It starts when the output is free and a credit is there, that is room for the whole packet at
//! the far end; so a packet that has started is never stopped and a link is never held in vain. The
//! highest priority that has a credit goes first, then the candidate that has waited longest. Of one
//! instant, the order of events decides: credits, then arriving packets of the higher priority first
//! and then by number of the link, then lanes whose tail has left.

use std::collections::VecDeque;

use chasqui_engine::{Class, Event, EventQueue, Order, Port, Time};

use crate::credits::Credits;
use crate::{FabricEvent, LinkStatistics, PRIORITIES};

/// A packet in a router, and all that is needed to send it on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Where the fabric keeps it.
    pub slot: u32,
    /// By which port it will leave.
    pub output: u16,
    /// Its length [bytes].
    pub wire_bytes: u32,
    /// Time for which it occupies a link.
    pub serialization: Time,
}

/// A packet that starts on its output now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub input: u16,
    pub priority: u8,
    pub held: Held,
    /// When its last byte leaves, which frees its place in the buffer.
    pub tail: Time,
}

/// One priority's buffer at one input.
struct Lane {
    waiting: VecDeque<Held>,
    /// When the tail of the last packet that left is gone.
    busy_until: Time,
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
    /// Inputs whose heads want this output and could not start at once, oldest first.
    candidates: [VecDeque<u16>; PRIORITIES],
    candidate_count: u32,
    credits: [Credits; PRIORITIES],
    /// Since when candidates wait for a credit on the free link; [`Time::NEVER`] when none does.
    blocked_since: Time,
    /// Time of the pending [`FabricEvent::Retry`]; [`Time::NEVER`] when there is none.
    retry_at: Time,
    ports: [Port; PRIORITIES],
    statistics: LinkStatistics,
}

/// A router: lanes, outputs and what moves packets from one to the other.
pub(crate) struct Router {
    number: u32,
    buffer_packets: usize,
    /// By input, then priority.
    lanes: Vec<Lane>,
    outputs: Vec<Output>,
}

impl Router {
    /// A router with the given ports: for each, the engine's ports and the credits of its output.
    pub(crate) fn new(number: u32, buffer_packets: u32, outputs: Vec<([Port; PRIORITIES], u32)>) -> Router {
        let lane = || Lane {
            waiting: VecDeque::new(),
            busy_until: Time::ZERO,
            tail_event_at: Time::ZERO,
            last_output: 0,
            is_candidate: false,
        };
        let output = |(ports, credits)| Output {
            free_at: Time::ZERO,
            last_lane: 0,
            candidates: Default::default(),
            candidate_count: 0,
            credits: std::array::from_fn(|_| Credits::new(credits)),
            blocked_since: Time::NEVER,
            retry_at: Time::NEVER,
            ports,
            statistics: LinkStatistics::default(),
        };
        Router {
            number,
            buffer_packets: buffer_packets as usize,
            lanes: std::iter::repeat_with(lane).take(outputs.len() * PRIORITIES).collect(),
            outputs: outputs.into_iter().map(output).collect(),
        }
    }

    /// What stands for a router that is in another part of the network: it has no ports.
    pub(crate) fn elsewhere(number: u32) -> Router {
        Router::new(number, 0, vec![])
    }

    /// It stands for another.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.outputs.is_empty()
    }

    /// A packet at `input` may leave from now on.
    #[inline]
    pub(crate) fn packet(&mut self, now: Time, input: u16, priority: u8, held: Held, work: &mut Work<'_>) {
        let index = lane_index(input, priority);
        let lane = &mut self.lanes[index];
        let leaving = usize::from(now < lane.busy_until);
        assert!(
            lane.waiting.len() + leaving < self.buffer_packets,
            "router {} input {input} priority {priority}: no room at {now}",
            self.number
        );
        lane.waiting.push_back(held);
        if lane.waiting.len() > 1 {
            return;
        }
        if leaving == 0 {
            self.offer(now, index, work);
        } else {
            self.tail_event(index, work);
        }
    }

    /// The far end of `output`, which is in another partition, has made room.
    pub(crate) fn credit(&mut self, now: Time, output: u16, priority: u8, work: &mut Work<'_>) {
        self.outputs[output as usize].credits[priority as usize].give(now);
        self.arbitrate_with_credit(now, output, work);
    }

    /// The router at the far end of `output` makes room, which is known here at `at`.
    #[inline]
    pub(crate) fn credit_at(&mut self, output: u16, priority: u8, at: Time, queue: &mut EventQueue) {
        let out = &mut self.outputs[output as usize];
        out.credits[priority as usize].give(at);
        if out.blocked_since != Time::NEVER && !out.candidates[priority as usize].is_empty() {
            self.retry_event(output, at, queue);
        }
    }

    /// The tail of a packet has left: for its lane and its output.
    pub(crate) fn tail(&mut self, now: Time, input: u16, priority: u8, output: u16, work: &mut Work<'_>) {
        let index = lane_index(input, priority);
        let lane = &self.lanes[index];
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
    pub(crate) fn order(&mut self, output: u16, priority: u8, class: Class) -> Order {
        self.outputs[output as usize].ports[priority as usize].next(class)
    }

    /// What the link of `output` did.
    pub(crate) fn statistics(&self, output: u16) -> &LinkStatistics {
        &self.outputs[output as usize].statistics
    }

    /// Packets of a lane that have not started to leave: for checks.
    pub(crate) fn waiting(&self, input: u16, priority: u8) -> usize {
        self.lanes[lane_index(input, priority)].waiting.len()
    }

    /// Credits of `output`, here or on their way: for checks.
    pub(crate) fn credits(&self, output: u16, priority: u8) -> usize {
        self.outputs[output as usize].credits[priority as usize].total()
    }

    /// The head of a lane becomes a candidate, or starts.
    #[inline]
    fn offer(&mut self, now: Time, lane: usize, work: &mut Work<'_>) {
        let output = self.lanes[lane].waiting[0].output;
        let out = &mut self.outputs[output as usize];
        let priority = lane % PRIORITIES;
        if out.free_at <= now && out.candidate_count == 0 && out.credits[priority].any(now) {
            self.start(now, lane, work);
        } else {
            out.candidates[priority].push_back((lane / PRIORITIES) as u16);
            out.candidate_count += 1;
            self.lanes[lane].is_candidate = true;
            self.arbitrate(now, output, work);
        }
    }

    /// Starts the first candidate of `output` that may.
    fn arbitrate(&mut self, now: Time, output: u16, work: &mut Work<'_>) {
        let out = &mut self.outputs[output as usize];
        if out.candidate_count == 0 {
            return;
        }
        if out.free_at > now {
            let lane = out.last_lane;
            self.tail_event(lane, work);
            return;
        }
        let mut credit_at = Time::NEVER;
        for priority in (0..PRIORITIES).rev() {
            let Some(&input) = out.candidates[priority].front() else { continue };
            if out.credits[priority].any(now) {
                out.candidates[priority].pop_front();
                out.candidate_count -= 1;
                self.start(now, lane_index(input, priority as u8), work);
                return;
            }
            credit_at = credit_at.min(out.credits[priority].next().unwrap_or(Time::NEVER));
        }
        out.blocked_since = out.blocked_since.min(now);
        if credit_at != Time::NEVER {
            self.retry_event(output, credit_at, work.queue);
        }
    }

    /// The head of a lane starts on its output.
    #[inline]
    fn start(&mut self, now: Time, index: usize, work: &mut Work<'_>) {
        let lane = &mut self.lanes[index];
        assert!(lane.busy_until <= now, "router {}: two packets leave a buffer at once", self.number);
        let held = lane.waiting.pop_front().expect("a packet to start");
        let out = &mut self.outputs[held.output as usize];
        out.credits[index % PRIORITIES].take();
        let tail = now + held.serialization;
        out.free_at = tail;
        out.last_lane = index;
        if out.blocked_since != Time::NEVER {
            out.statistics.blocked_ps += (now - out.blocked_since).0;
            out.blocked_since = Time::NEVER;
        }
        out.statistics.count(held.wire_bytes, held.serialization);
        lane.busy_until = tail;
        lane.last_output = held.output;
        lane.is_candidate = false;
        let (input, priority) = ((index / PRIORITIES) as u16, (index % PRIORITIES) as u8);
        work.departures.push(Departure { input, priority, held, tail });
        if !lane.waiting.is_empty() || out.candidate_count > 0 {
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
        let (input, priority) = ((index / PRIORITIES) as u16, (index % PRIORITIES) as u8);
        let payload = FabricEvent::Tail { input, priority, output: lane.last_output }.into();
        let (time, output) = (lane.busy_until, lane.last_output);
        let order = self.order(output, priority, Class::Internal);
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

fn lane_index(input: u16, priority: u8) -> usize {
    usize::from(input) * PRIORITIES + usize::from(priority)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIALIZATION: Time = Time(100);

    /// A router of three ports whose outputs have `credits`, with what is to happen to it.
    struct Bench {
        router: Router,
        queue: EventQueue,
        arrivals: Vec<(u64, u16, u8, u16)>,
    }

    impl Bench {
        fn new(credits: u32, arrivals: &[(u64, u16, u8, u16)]) -> Bench {
            let outputs = (0..3).map(|p| ([Port::new(8 + p), Port::new(p)], credits)).collect();
            Bench {
                router: Router::new(0, 4, outputs),
                queue: EventQueue::default(),
                arrivals: arrivals.to_vec(),
            }
        }

        /// What departs until `limit`, as (time, slot); slots number the arrivals. `room` says how long
        /// after its tail a packet's credit comes back.
        fn departures(&mut self, limit: u64, room: Option<u64>) -> Vec<(u64, u32)> {
            // Ports of the links by which packets come.
            let mut ports: Vec<Port> = (16..32).map(Port::new).collect();
            for (slot, &(time, input, priority, _)) in (0..).zip(&self.arrivals) {
                let port = &mut ports[usize::from(input) + 8 * usize::from(1 - priority)];
                let payload = FabricEvent::Packet { input, priority, slot }.into();
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
                    FabricEvent::Packet { input, priority, slot } => {
                        let output = self.arrivals[slot as usize].3;
                        let held = Held { slot, output, wire_bytes: 1, serialization: SERIALIZATION };
                        self.router.packet(now, input, priority, held, &mut work);
                    }
                    FabricEvent::Tail { input, priority, output } => {
                        self.router.tail(now, input, priority, output, &mut work);
                    }
                    FabricEvent::Retry { output } => self.router.retry(now, output, &mut work),
                    FabricEvent::Credit { .. } => unreachable!(),
                }
                for departure in departures.drain(..) {
                    log.push((now.0, departure.held.slot));
                    if let Some(room) = room {
                        let at = departure.tail + Time(room);
                        self.router.credit_at(departure.held.output, departure.priority, at, &mut self.queue);
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

    #[test]
    #[should_panic(expected = "router 0 input 1 priority 0: no room")]
    fn a_packet_without_room_is_a_bug() {
        Bench::new(0, &[(1, 1, 0, 2), (2, 1, 0, 2), (3, 1, 0, 2), (4, 1, 0, 2), (5, 1, 0, 2)])
            .departures(10, None);
    }
}

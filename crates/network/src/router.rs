//! A virtual cut-through router (P. Kermani and L. Kleinrock, "Virtual cut-through: a new computer
//! communication switching technique", Computer Networks 3, 1979; J. Duato, S. Yalamanchili and L. Ni,
//! "Interconnection Networks", section 2.2, for its place beside wormhole routing).
//!
//! An input port has a FIFO buffer for each priority, here a *lane*. The head of a lane is a candidate for
//! its output once its routing delay has passed and the packet before it in the lane has left, tail and
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

    /// The node at the far end of `output` has made room.
    pub(crate) fn credit(&mut self, now: Time, output: u16, priority: u8, work: &mut Work<'_>) {
        self.outputs[output as usize].credits[priority as usize].give(now);
        self.arbitrate(now, output, work);
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
        // A packet of this very instant may have been offered already and even have started.
        if lane.busy_until == now && !lane.waiting.is_empty() && !lane.is_candidate {
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
        self.arbitrate(now, output, work);
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

//! Partitions and the conservative windows that advance them.
//!
//! A partition is what one host thread runs at a time: a node with its NI, or the network. It runs
//! all that is earlier than a *limit* before which nothing from outside can reach it. Limits come
//! from the *look-ahead*: the least simulated time from anything a partition of one group does to
//! its first effect on a partition of another. How far each round goes has no effect on results,
//! only on speed: the order of events is fixed by the events.

use std::any::Any;

use crate::{Event, Time};

/// Number of a partition, in the order in which they were added.
pub type PartitionId = u32;

/// A kind of partition with the same look-ahead: the nodes of a machine are one group.
pub type Group = usize;

/// The bytes of a packet and what the network must know of it. Wires carry bytes.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// Network address of the source.
    pub source: u32,
    /// Network address of the destination.
    pub destination: u32,
    /// Logical network (priority), 0 the lowest.
    pub priority: u8,
    /// Length on the wire [bytes], header and check included.
    pub wire_bytes: u32,
    /// Header and payload as the NI wrote them.
    pub bytes: Vec<u8>,
    /// The message whose life this packet is part of, for the records: source rank and sequence.
    pub message: Option<(u16, u32)>,
}

/// An event for another partition, with the packet it brings.
pub struct Message {
    /// The receiving partition.
    pub to: PartitionId,
    /// What happens there.
    pub event: Event,
    /// The packet that comes with it.
    pub packet: Option<Box<Packet>>,
}

/// Where a running partition puts what it sends, and how far it may run.
pub struct Outbox<'a> {
    limit: Time,
    now: Time,
    from: Group,
    groups: &'a [Group],
    lookahead: &'a Lookahead,
    messages: &'a mut Vec<Message>,
}

impl Outbox<'_> {
    /// The partition may do all that is earlier than this. Sending lowers it to the first moment at
    /// which an answer could come.
    #[inline]
    pub fn limit(&self) -> Time {
        self.limit
    }

    /// Sends `event`, which happens in partition `to`.
    ///
    /// # Panics
    /// When the event comes sooner than the look-ahead promised: a bug of the model.
    pub fn send(&mut self, now: Time, to: PartitionId, event: Event, packet: Option<Box<Packet>>) {
        let group = self.groups[to as usize];
        let delay = self.lookahead.direct[self.from][group];
        assert!(event.time >= now + delay, "look-ahead of {delay} broken: sent at {now} for {}", event.time);
        self.now = self.now.max(now);
        self.limit = self.limit.min(event.time + self.lookahead.least[group][self.from]);
        self.messages.push(Message { to, event, packet });
    }
}

/// What the engine advances.
pub trait Partition: Send {
    /// A lower bound on the time of the next thing it does, [`Time::NEVER`] when it waits for others.
    fn next(&self) -> Time;
    /// A lower bound on the times of the events that it will send if nothing reaches it from outside.
    /// `least`: the least look-ahead from here to anybody.
    fn bound(&self, least: Time) -> Time {
        self.next() + least
    }
    /// Does everything that is earlier than `out.limit()`, which shrinks as it sends.
    fn run(&mut self, out: &mut Outbox<'_>);
    /// Takes a message. Its time is at or after every limit that the partition has run to.
    fn receive(&mut self, event: Event, packet: Option<Box<Packet>>);
    /// When the job must end because of what happened here (a fault, an abort).
    fn stop(&self) -> Option<Time> {
        None
    }
    /// The partition itself, to read results when the engine is done with it.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// Least time from a cause in one group to its effect in another.
pub struct Lookahead {
    direct: Vec<Vec<Time>>,
    least: Vec<Vec<Time>>,
    /// From the arrival of the first message of group `a` anywhere to its effect in group `b`.
    onward: Vec<Vec<Time>>,
    /// The least direct delay from a group.
    first: Vec<Time>,
}

impl Lookahead {
    /// From `direct[a][b]`, the least delay of a message from group `a` to group `b` ([`Time::NEVER`]:
    /// they do not talk). Effects through third groups are found by shortest paths.
    ///
    /// # Panics
    /// When a delay is zero: two partitions could then not be ordered.
    pub fn new(direct: Vec<Vec<Time>>) -> Lookahead {
        assert!(direct.iter().flatten().all(|&d| d > Time::ZERO), "a look-ahead is zero: {direct:?}");
        let mut least = direct.clone();
        for via in 0..least.len() {
            for a in 0..least.len() {
                for b in 0..least.len() {
                    least[a][b] = least[a][b].min(least[a][via] + least[via][b]);
                }
            }
        }
        let groups = 0..least.len();
        let after = |via: usize, to: usize| if via == to { Time::ZERO } else { least[via][to] };
        let through = |from: usize, to: usize| {
            let reached = groups.clone().filter(|&via| direct[from][via] != Time::NEVER);
            reached.map(|via| after(via, to)).fold(Time::NEVER, Time::min)
        };
        let onward = groups.clone().map(|a| groups.clone().map(|b| through(a, b)).collect()).collect();
        let first = direct.iter().map(|row| row.iter().copied().fold(Time::NEVER, Time::min)).collect();
        Lookahead { onward, first, direct, least }
    }
}

/// Why [`Engine::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing is left to do.
    Idle,
    /// A partition asked to stop; all have run to this time.
    Stopped(Time),
    /// The watcher asked to stop.
    Interrupted,
}

/// Advances partitions.
pub struct Engine {
    partitions: Vec<Box<dyn Partition>>,
    groups: Vec<Group>,
    lookahead: Lookahead,
    /// Lower bound of each partition's next action.
    next: Vec<Time>,
    /// Lower bound of the events that each will send.
    bounds: Vec<Time>,
    /// The earliest bounds of each group.
    earliest: Vec<Earliest>,
    messages: Vec<Message>,
}

/// The two earliest of a group, so that each partition can look at all but itself.
#[derive(Clone, Copy)]
struct Earliest {
    first: Time,
    who: usize,
    second: Time,
}

/// Longest round, so that the watcher is called now and then however far nobody can reach anybody.
const ROUND_MAX: Time = Time(100_000_000);

const NOBODY: Earliest = Earliest { first: Time::NEVER, who: usize::MAX, second: Time::NEVER };

impl Engine {
    /// An engine without partitions.
    pub fn new(lookahead: Lookahead) -> Engine {
        Engine {
            partitions: vec![],
            groups: vec![],
            earliest: vec![NOBODY; lookahead.direct.len()],
            lookahead,
            next: vec![],
            bounds: vec![],
            messages: vec![],
        }
    }

    /// Adds a partition of `group`.
    pub fn add(&mut self, group: Group, partition: Box<dyn Partition>) -> PartitionId {
        assert!(group < self.lookahead.direct.len(), "group {group}");
        self.next.push(partition.next());
        self.bounds.push(partition.bound(self.lookahead.first[group]));
        self.partitions.push(partition);
        self.groups.push(group);
        (self.partitions.len() - 1) as PartitionId
    }

    /// The partitions, to collect results.
    pub fn partitions(self) -> Vec<Box<dyn Partition>> {
        self.partitions
    }

    /// The partitions, to look at while the engine stands.
    pub fn partition_mut(&mut self, id: PartitionId) -> &mut dyn Partition {
        &mut *self.partitions[id as usize]
    }

    /// Runs until nothing is left, a partition stops the job, or `watch` returns false. `watch` is
    /// called once a round with the time up to which all is done.
    pub fn run(&mut self, watch: &mut dyn FnMut(Time) -> bool) -> Ended {
        let mut stop = Time::NEVER;
        let mut stopped = false;
        loop {
            let now = self.next.iter().copied().fold(Time::NEVER, Time::min);
            if now == Time::NEVER || now >= stop {
                return if stopped { Ended::Stopped(stop) } else { Ended::Idle };
            }
            if !watch(now) {
                return Ended::Interrupted;
            }
            // A group goes as far as what the one before it has just done allows.
            for group in 0..self.earliest.len() {
                self.find_earliest();
                for p in 0..self.partitions.len() {
                    if self.groups[p] != group || self.next[p] == Time::NEVER {
                        continue;
                    }
                    let limit = self.limit(p).min(stop).min(now + ROUND_MAX);
                    if self.next[p] >= limit {
                        continue;
                    }
                    self.advance(p, limit);
                    if let Some(at) = self.partitions[p].stop() {
                        // Nobody has run further than this: each was bound by the one that stops.
                        let reach = self.lookahead.least[group].iter().filter(|&&d| d != Time::NEVER).max();
                        stop = stop.min(at + reach.copied().unwrap_or(Time(1)));
                        stopped = true;
                    }
                }
                self.deliver();
            }
        }
    }

    fn find_earliest(&mut self) {
        self.earliest.fill(NOBODY);
        for (p, (&bound, &group)) in self.bounds.iter().zip(&self.groups).enumerate() {
            let e = &mut self.earliest[group];
            if bound < e.first {
                *e = Earliest { first: bound, who: p, second: e.first };
            } else if bound < e.second {
                e.second = bound;
            }
        }
    }

    /// The first moment at which another partition could reach `p`.
    fn limit(&self, p: usize) -> Time {
        let mut limit = Time::NEVER;
        for (group, e) in self.earliest.iter().enumerate() {
            let bound = if e.who == p { e.second } else { e.first };
            limit = limit.min(bound + self.lookahead.onward[group][self.groups[p]]);
        }
        limit
    }

    fn advance(&mut self, p: usize, limit: Time) {
        let mut out = Outbox {
            limit,
            now: Time::ZERO,
            from: self.groups[p],
            groups: &self.groups,
            lookahead: &self.lookahead,
            messages: &mut self.messages,
        };
        self.partitions[p].run(&mut out);
        self.next[p] = self.partitions[p].next();
        self.bounds[p] = self.partitions[p].bound(self.lookahead.first[self.groups[p]]);
    }

    fn deliver(&mut self) {
        for m in self.messages.drain(..) {
            let to = m.to as usize;
            self.next[to] = self.next[to].min(m.event.time);
            self.partitions[to].receive(m.event, m.packet);
            self.bounds[to] = self.partitions[to].bound(self.lookahead.first[self.groups[to]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, EventQueue, Port};
    use std::sync::{Arc, Mutex};

    /// Passes a token to the next partition after a delay, `hops` times.
    struct Relay {
        id: u32,
        count: u32,
        delay: u64,
        queue: EventQueue,
        port: Port,
        log: Arc<Mutex<Vec<(u64, u32, u64)>>>,
    }

    impl Partition for Relay {
        fn next(&self) -> Time {
            self.queue.next_time()
        }
        fn run(&mut self, out: &mut Outbox<'_>) {
            while let Some(e) = self.queue.pop_before(out.limit()) {
                self.log.lock().unwrap().push((e.time.0, self.id, e.payload[0]));
                if e.payload[0] > 0 {
                    let event = Event {
                        time: e.time + Time(self.delay),
                        order: self.port.next(Class::Packet),
                        target: 0,
                        payload: [e.payload[0] - 1, 0],
                    };
                    out.send(e.time, (self.id + 1) % self.count, event, None);
                }
            }
        }
        fn receive(&mut self, event: Event, _: Option<Box<Packet>>) {
            self.queue.push(event);
        }
        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    }

    fn ring(count: u32, lookahead: u64) -> Vec<(u64, u32, u64)> {
        let log = Arc::new(Mutex::new(vec![]));
        let mut engine = Engine::new(Lookahead::new(vec![vec![Time(lookahead)]]));
        for id in 0..count {
            let mut relay = Relay {
                id,
                count,
                delay: 10,
                queue: EventQueue::default(),
                port: Port::new(id),
                log: log.clone(),
            };
            for (k, start) in [3u64, 3, 8].into_iter().enumerate() {
                let order = relay.port.next(Class::Internal);
                relay.queue.push(Event { time: Time(start), order, target: 0, payload: [20 + k as u64, 0] });
            }
            engine.add(0, Box::new(relay));
        }
        assert_eq!(engine.run(&mut |_| true), Ended::Idle);
        let mut events = log.lock().unwrap().clone();
        // Partitions interleave differently; what each one sees must not.
        events.sort_by_key(|&(time, id, _)| (id, time));
        events
    }

    #[test]
    fn results_do_not_depend_on_the_window() {
        let reference = ring(3, 10);
        assert_eq!(reference.len(), 3 * (21 + 22 + 23));
        for lookahead in [1, 3, 7] {
            assert_eq!(ring(3, lookahead), reference);
        }
    }

    #[test]
    fn lookahead_follows_the_shortest_path() {
        let n = Time::NEVER;
        let l = Lookahead::new(vec![vec![n, Time(5)], vec![Time(7), n]]);
        assert_eq!(l.least, [[Time(12), Time(5)], [Time(7), Time(12)]]);
    }
}

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
        self.limit = self.limit.min(event.time + self.lookahead.least[group][self.from]);
        self.messages.push(Message { to, event, packet });
    }
}

/// What the engine advances.
pub trait Partition: Send {
    /// A lower bound on the time of the next thing it does, [`Time::NEVER`] when it waits for others.
    fn next(&self) -> Time;
    /// Lower bounds on the times of its first effects on other partitions, by their group, directly or
    /// through others, if nothing reaches it from outside. `least`: the look-aheads from here.
    fn reach(&self, least: &[Time], reach: &mut [Time]) {
        let next = self.next();
        reach.iter_mut().zip(least).for_each(|(reach, &least)| *reach = next + least);
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
        Lookahead { direct, least }
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
    /// The partitions of each group.
    members: Vec<Vec<usize>>,
    lookahead: Lookahead,
    /// Lower bound of each partition's next action.
    next: Vec<Time>,
    /// [`Partition::reach`] of each partition to each group, the groups of one partition side by side.
    reaches: Vec<Time>,
    /// How far each has run.
    limits: Vec<Time>,
    messages: Vec<Message>,
    /// Who has just received something.
    received: Vec<usize>,
}

/// The two earliest reaches to a group, so that each partition can look at all but its own.
#[derive(Clone, Copy)]
struct Earliest {
    first: Time,
    who: usize,
    second: Time,
}

/// Longest round, so that the watcher is called now and then however far nobody can reach anybody.
const ROUND_MAX: Time = Time(100_000_000);

impl Engine {
    /// An engine without partitions.
    pub fn new(lookahead: Lookahead) -> Engine {
        Engine {
            partitions: vec![],
            groups: vec![],
            members: vec![vec![]; lookahead.direct.len()],
            lookahead,
            next: vec![],
            reaches: vec![],
            limits: vec![],
            messages: vec![],
            received: vec![],
        }
    }

    /// Adds a partition of `group`.
    pub fn add(&mut self, group: Group, partition: Box<dyn Partition>) -> PartitionId {
        assert!(group < self.lookahead.direct.len(), "group {group}");
        let id = self.partitions.len();
        self.next.push(partition.next());
        self.limits.push(Time::ZERO);
        self.reaches.extend(std::iter::repeat_n(Time::NEVER, self.lookahead.direct.len()));
        self.partitions.push(partition);
        self.groups.push(group);
        self.members[group].push(id);
        self.note_reach(id);
        id as PartitionId
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
            for group in 0..self.lookahead.direct.len() {
                let earliest = self.earliest(group);
                for i in 0..self.members[group].len() {
                    let p = self.members[group][i];
                    let reach = if earliest.who == p { earliest.second } else { earliest.first };
                    let limit = reach.min(stop).min(now + ROUND_MAX);
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

    /// The first moments at which partitions could reach others of group `to`.
    fn earliest(&self, to: Group) -> Earliest {
        let mut e = Earliest { first: Time::NEVER, who: usize::MAX, second: Time::NEVER };
        for (p, &reach) in self.reaches.iter().skip(to).step_by(self.lookahead.direct.len()).enumerate() {
            if reach < e.first {
                e = Earliest { first: reach, who: p, second: e.first };
            } else if reach < e.second {
                e.second = reach;
            }
        }
        e
    }

    /// Remembers whom partition `p` can reach, and when.
    fn note_reach(&mut self, p: usize) {
        let least = &self.lookahead.least[self.groups[p]];
        self.partitions[p].reach(least, &mut self.reaches[p * least.len()..][..least.len()]);
    }

    fn advance(&mut self, p: usize, limit: Time) {
        let mut out = Outbox {
            limit,
            from: self.groups[p],
            groups: &self.groups,
            lookahead: &self.lookahead,
            messages: &mut self.messages,
        };
        self.partitions[p].run(&mut out);
        self.limits[p] = out.limit;
        self.next[p] = self.partitions[p].next();
        self.note_reach(p);
    }

    fn deliver(&mut self) {
        let mut messages = std::mem::take(&mut self.messages);
        for m in messages.drain(..) {
            let to = m.to as usize;
            let (time, limit) = (m.event.time, self.limits[to]);
            assert!(time >= limit, "an event for {time} comes late: partition {to} has run to {limit}");
            self.next[to] = self.next[to].min(time);
            self.partitions[to].receive(m.event, m.packet);
            self.received.push(to);
        }
        self.messages = messages;
        while let Some(to) = self.received.pop() {
            self.note_reach(to);
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

//! The partitions that one host thread runs, and how far each may go.

use std::sync::Arc;

use crate::Time;
use crate::exchange::{Exchange, Outgoing};
use crate::interrupt::Interrupt;
use crate::layout::Layout;
use crate::partition::{Group, Message, Outbox, Partition, PartitionId};
use crate::tournament::Tournament;

/// Longest round, so that the watcher is called now and then even if no partition can affect another. No
/// partition has run further past one that stops the job: all stop so long after it, whatever the rounds
/// were.
pub(crate) const ROUND_MAX: Time = Time(100_000_000);

/// Where a partition is.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Number of the host thread that has it.
    pub thread: usize,
    /// Its place among those of the thread.
    pub place: usize,
}

/// A partition between two shares.
pub(crate) struct Member {
    pub id: PartitionId,
    pub partition: Box<dyn Partition>,
    /// How far it has run.
    limit: Time,
    /// Number of the host thread that ran it.
    thread: usize,
}

impl Member {
    /// A partition that has not run.
    pub fn new(id: PartitionId, partition: Box<dyn Partition>) -> Member {
        Member { id, partition, limit: Time::ZERO, thread: 0 }
    }

    /// How far it has run.
    pub fn limit(&self) -> Time {
        self.limit
    }
}

/// When the run ends because of what has happened in `partition`; `NEVER`: nothing has.
fn end_for(partition: &dyn Partition) -> Time {
    partition.stop().map_or(Time::NEVER, |at| at + ROUND_MAX)
}

/// The partitions of one host thread. It shares no line of the host's caches with another.
#[repr(align(128))]
pub(crate) struct Share {
    /// Number of the host thread.
    thread: usize,
    partitions: Vec<Box<dyn Partition>>,
    ids: Vec<PartitionId>,
    /// The group of each.
    groups: Vec<Group>,
    /// Lower bound of each partition's next action.
    next: Vec<Time>,
    /// Groups of partitions.
    group_count: usize,
    /// By group: each partition's [`Partition::earliest_outputs`] to it. Then, if other threads have other zones, to partitions there.
    earliest: Vec<Tournament>,
    /// Room for the earliest outputs of one partition.
    outputs: Vec<Time>,
    /// How far each has run.
    limits: Vec<Time>,
    /// Partitions that have just received something.
    received: Vec<usize>,
    /// What was sent in a turn.
    sent: Vec<Message>,
    /// Messages for partitions of other threads.
    outgoing: Vec<Outgoing>,
    /// Where all partitions are.
    places: Arc<[Place]>,
    /// By group: the earliest output of partitions of other threads, as far as is known.
    outside: Vec<Time>,
    /// Its memory is the thread's own.
    is_local: bool,
    /// No partition goes further in this round.
    pub horizon: Time,
    /// When the job must end because of what happened here.
    pub stop: Time,
    /// What partitions did: see [`Partition::run`].
    pub work: u64,
}

impl Share {
    pub fn new(thread: usize, groups: usize) -> Share {
        Share {
            thread,
            partitions: vec![],
            ids: vec![],
            groups: vec![],
            next: vec![],
            group_count: groups,
            earliest: vec![],
            outputs: vec![],
            limits: vec![],
            received: vec![],
            sent: vec![],
            outgoing: vec![],
            places: Arc::default(),
            outside: vec![Time::NEVER; groups],
            is_local: false,
            horizon: Time::ZERO,
            stop: Time::NEVER,
            work: 0,
        }
    }

    /// Takes a partition; its place.
    pub fn add(&mut self, mut member: Member) -> Place {
        let place = self.partitions.len();
        if member.thread != self.thread {
            member.partition.hosted_by(self.thread);
        }
        self.next.push(member.partition.next());
        self.stop = self.stop.min(end_for(&*member.partition));
        self.limits.push(member.limit);
        self.partitions.push(member.partition);
        self.ids.push(member.id);
        Place { thread: self.thread, place }
    }

    /// It has been given all its partitions; where all are, and whether each thread has zones of its own.
    pub fn begin(&mut self, places: Arc<[Place]>, by_zones: bool, layout: &Layout) {
        self.places = places;
        self.is_local = false;
        self.groups = self.ids.iter().map(|&id| layout.groups[id as usize]).collect();
        let bounds = self.group_count * if by_zones { 2 } else { 1 };
        self.earliest.resize(bounds, Tournament::default());
        self.outputs.resize(bounds, Time::NEVER);
        self.earliest.iter_mut().for_each(|bounds| bounds.reset(self.ids.len()));
        (0..self.ids.len()).for_each(|p| self.note_earliest_outputs(p, layout));
    }

    /// Moves what changes in turns to memory that the calling thread asks for: what another asked for may lie in lines of
    /// the host's caches where others' lies.
    fn make_local(&mut self) {
        if !self.is_local {
            self.next = self.next.clone();
            self.limits = self.limits.clone();
            self.earliest = self.earliest.clone();
            self.outputs = self.outputs.clone();
            self.outside = self.outside.clone();
            self.is_local = true;
        }
    }

    /// Gives its partitions away.
    pub fn take_members(&mut self) -> Vec<Member> {
        self.next.clear();
        let thread = self.thread;
        let partitions = self.ids.drain(..).zip(self.partitions.drain(..)).zip(self.limits.drain(..));
        partitions.map(|((id, partition), limit)| Member { id, partition, limit, thread }).collect()
    }

    /// Lower bound of the next action of any of them.
    pub fn next(&self) -> Time {
        self.next.iter().copied().fold(Time::NEVER, Time::min)
    }

    /// By group: lower bounds of their first effects there, on partitions of other threads.
    fn first_effects(&self, earliest: &mut [Time]) {
        if !self.ids.is_empty() {
            let outside = &self.earliest[self.earliest.len() - self.group_count..];
            earliest.iter_mut().zip(outside).for_each(|(earliest, bounds)| *earliest = bounds.least());
        }
    }

    /// The same.
    pub fn earliest_outputs(&self) -> Vec<Time> {
        let mut earliest = vec![Time::NEVER; self.group_count];
        self.first_effects(&mut earliest);
        earliest
    }

    /// At most so many turns; all partitions are here.
    pub fn take_turns(&mut self, turns_max: usize, layout: &Layout, interrupt: &Interrupt) {
        for _ in 0..turns_max {
            if interrupt.is_asked() {
                return;
            }
            let Some((p, limit)) = self.whose_turn() else { return };
            self.turn(p, limit, layout);
        }
    }

    /// Turns of partition `id`, which is here as all are, as long as it can do anything.
    pub fn take_turns_of(&mut self, id: PartitionId, layout: &Layout, interrupt: &Interrupt) {
        let p = self.places[id as usize].place;
        loop {
            let limit = self.earliest[self.groups[p]].least_but(p).min(self.horizon);
            if interrupt.is_asked() || self.next[p] >= limit {
                return;
            }
            self.turn(p, limit, layout);
        }
    }

    /// Turns beside other host threads, until the round is over. The first thread ends it after so many turns of its
    /// own, or when it has waited for long.
    pub fn take_turns_beside(
        &mut self,
        exchange: &Exchange,
        turns_max: usize,
        layout: &Layout,
        interrupt: &Interrupt,
    ) {
        self.make_local();
        let leads = self.thread == 0;
        let (mut earliest, mut inbox) = (self.earliest_outputs(), vec![]);
        let by_zones = self.earliest.len() > self.group_count;
        let mut visit = exchange.visit(self.thread, &earliest, by_zones, layout);
        let (mut turns, mut waited) = (0, false);
        // Nothing is known of the others yet.
        self.outside.fill(Time::ZERO);
        while !(visit.is_over() || leads && turns >= turns_max || interrupt.is_asked()) {
            let mut who = self.whose_turn();
            if who.is_none_or(|(p, limit)| self.is_bound_outside(p, limit))
                && visit.read_others(&mut self.outside, &mut inbox)
            {
                inbox.drain(..).for_each(|message| self.receive(message, layout));
                self.note_received(layout);
                who = self.whose_turn();
            }
            match who {
                Some((p, limit)) if waited || !self.is_held_up(p, limit, layout) => {
                    self.turn(p, limit, layout);
                    visit.send(&mut self.outgoing, &mut self.outside);
                    (turns, waited) = (turns + 1, false);
                }
                Some(_) => {
                    visit.wait_briefly();
                    waited = true;
                }
                None if visit.rest(!leads) => {}
                None => break,
            }
            self.first_effects(&mut earliest);
            visit.publish(&earliest);
        }
        self.outside.fill(Time::NEVER);
    }

    /// Whether partitions of other threads set the limit of partition `p`.
    fn is_bound_outside(&self, p: usize, limit: Time) -> bool {
        limit == self.outside[self.groups[p]]
    }

    /// Whether partition `p`, whose limit others set, could advance by less than the time in which its kind may affect
    /// each other. The others are likely to be about to raise that limit.
    fn is_held_up(&self, p: usize, limit: Time, layout: &Layout) -> bool {
        let group = self.groups[p];
        self.is_bound_outside(p, limit) && limit < self.next[p] + layout.lookahead.least[group][group]
    }

    /// A turn of partition `p`, as far as `limit`.
    fn turn(&mut self, p: usize, limit: Time, layout: &Layout) {
        self.advance(p, limit, layout);
        self.deliver(layout);
    }

    /// The partition whose turn it is, and how far it may go: the one with the least bound of the first group, since it
    /// holds up all others, and may go the further the longer it has waited. If it can't do anything, it is the turn of
    /// the one that holds it up. None: no partition here can do anything.
    fn whose_turn(&self) -> Option<(usize, Time)> {
        if self.ids.is_empty() {
            return None;
        }
        let (mut p, _, mut here) = self.earliest[0].first();
        let mut group = self.groups[p];
        if group != 0 {
            here = self.earliest[group].least_but(p);
        }
        // It ends: who holds up another acts before it, since bounds lie behind next actions.
        loop {
            let (next, outside) = (self.next[p], self.outside[group]);
            let limit = here.min(outside).min(self.horizon);
            if next < limit {
                return Some((p, limit));
            }
            if here <= next && here < self.horizon {
                p = self.earliest[group].first().0;
            } else if outside <= next && outside < self.horizon {
                return self.anybody();
            } else {
                p = self.earliest();
                if self.next[p] >= self.horizon {
                    return None;
                }
            }
            group = self.groups[p];
            here = self.earliest[group].least_but(p);
        }
    }

    /// A partition that can do something, the earliest first, if other threads hold up the next one; and how far it may go.
    #[cold]
    fn anybody(&self) -> Option<(usize, Time)> {
        let mut found: Option<(usize, Time)> = None;
        for p in 0..self.ids.len() {
            let group = self.groups[p];
            if found.is_some_and(|(first, _)| self.next[first] <= self.next[p]) {
                continue;
            }
            let limit = self.earliest[group].least_but(p).min(self.outside[group]).min(self.horizon);
            if self.next[p] < limit {
                found = Some((p, limit));
            }
        }
        found
    }

    /// The partition that acts first of all.
    #[cold]
    fn earliest(&self) -> usize {
        (0..self.next.len()).min_by_key(|&p| self.next[p]).unwrap_or(0)
    }

    fn advance(&mut self, p: usize, limit: Time, layout: &Layout) {
        let horizon = self.horizon;
        let (groups, lookahead) = (&layout.groups[..], &layout.lookahead);
        let from = self.groups[p];
        let mut out = Outbox { limit, horizon, from, groups, lookahead, messages: &mut self.sent };
        self.work += self.partitions[p].run(&mut out);
        self.limits[p] = out.limit;
        self.next[p] = self.partitions[p].next();
        self.check_promises(p, groups);
        self.note_earliest_outputs(p, layout);
        self.stop = self.stop.min(end_for(&*self.partitions[p]));
    }

    /// Messages that partition `p` has sent in its turn come no sooner than the bounds that it had published: others may
    /// have gone so far. A promise that is too long is found even if none has.
    fn check_promises(&self, p: usize, groups: &[Group]) {
        for message in &self.sent {
            let group = groups[message.to as usize];
            let is_here = self.places[message.to as usize].thread == self.thread;
            // Where threads have zones of their own, bounds on effects there come behind those on all.
            let by_zones = self.earliest.len() > self.group_count;
            let place = if is_here || !by_zones { group } else { group + self.group_count };
            let promised = self.earliest[place].at(p);
            assert!(
                message.event.time >= promised,
                "partition {} sends for {}, and had said that nothing comes before {promised}",
                self.ids[p],
                message.event.time
            );
        }
    }

    /// A message for `time` has lowered the bounds of partition `p`, whose group is steady, to `outputs`.
    fn check_steady(&self, p: usize, time: Time, least: &[Time]) {
        for ((bounds, &earliest), &least) in self.earliest.iter().zip(&self.outputs).zip(least) {
            let before = bounds.at(p).min(time + least);
            assert!(earliest >= before, "partition {}: {earliest} after a message for {time}", self.ids[p]);
        }
    }

    /// Stores the earliest outputs of partition `p`, by group.
    fn note_earliest_outputs(&mut self, p: usize, layout: &Layout) {
        let least = &layout.lookahead.least[self.groups[p]];
        self.partitions[p].earliest_outputs(least, &mut self.outputs);
        self.set_earliest(p);
    }

    /// The earliest outputs of partition `p` are `outputs`. They come after its next action: else it could wait for another
    /// that waits for it.
    fn set_earliest(&mut self, p: usize) {
        let next = self.next[p];
        for (bounds, &earliest) in self.earliest.iter_mut().zip(&self.outputs) {
            let id = self.ids[p];
            assert!(
                earliest > next || earliest == Time::NEVER,
                "partition {id} acts at {next}, and at {earliest} on others"
            );
            bounds.set(p, earliest);
        }
    }

    /// Delivers what was sent in a turn to partitions here, or hands it to other threads.
    fn deliver(&mut self, layout: &Layout) {
        if self.sent.is_empty() {
            return;
        }
        let mut sent = std::mem::take(&mut self.sent);
        // In the order in which the partition sent it.
        for message in sent.drain(..) {
            match self.places[message.to as usize].thread {
                thread if thread == self.thread => self.receive(message, layout),
                thread => self.outgoing.push((thread, message)),
            }
        }
        // The room is used again.
        self.sent = sent;
        self.note_received(layout);
    }

    /// A message for a partition here.
    pub fn receive(&mut self, Message { to: id, event, packet, .. }: Message, layout: &Layout) {
        let to = self.places[id as usize].place;
        let (time, limit) = (event.time, self.limits[to]);
        assert!(time >= limit, "an event for {time} comes late: partition {id} has run to {limit}");
        self.next[to] = self.next[to].min(time);
        for (earliest, bounds) in self.outputs.iter_mut().zip(&self.earliest) {
            *earliest = bounds.at(to);
        }
        let group = self.groups[to];
        let least = &layout.lookahead.least[group];
        if self.partitions[to].receive_within(event, packet, least, &mut self.outputs) {
            if layout.lookahead.is_steady[group] {
                self.check_steady(to, time, least);
            }
            self.set_earliest(to);
            return;
        }
        // What rested has more to do than to take the event in: what it did not do until then.
        self.next[to] = self.next[to].min(self.partitions[to].next());
        if self.received.last() != Some(&to) {
            self.received.push(to);
        }
    }

    /// No more messages come for now.
    pub fn note_received(&mut self, layout: &Layout) {
        while let Some(p) = self.received.pop() {
            self.note_earliest_outputs(p, layout);
        }
    }
}

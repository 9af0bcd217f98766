//! The partitions that one host thread runs, and how far each may go.

use crate::partition::{Group, Message, Outbox, Partition, PartitionId};
use crate::tournament::Tournament;
use crate::{Event, Lookahead, Packet, Time};

/// What all shares know: which group a partition belongs to, and the look-ahead between groups.
pub(crate) struct Layout {
    /// By [`PartitionId`].
    pub groups: Vec<Group>,
    pub lookahead: Lookahead,
}

/// Longest round, so that the watcher is called now and then however far nobody can reach anybody. Nobody
/// has run further past a partition that stops the job: all stop so long after it, whatever the rounds
/// were.
pub(crate) const ROUND_MAX: Time = Time(100_000_000);

/// The two earliest reaches to a group, so that each partition can look at all but its own.
#[derive(Clone, Copy)]
pub(crate) struct Earliest {
    first: Time,
    who: PartitionId,
    second: Time,
}

impl Earliest {
    pub const NONE: Earliest = Earliest { first: Time::NEVER, who: PartitionId::MAX, second: Time::NEVER };

    fn note(&mut self, reach: Time, who: PartitionId) {
        if reach < self.first {
            *self = Earliest { first: reach, who, second: self.first };
        } else if reach < self.second {
            self.second = reach;
        }
    }

    /// The first reach of the others.
    fn but(&self, who: PartitionId) -> Time {
        if self.who == who { self.second } else { self.first }
    }
}

/// A step of a round: the partitions of one group run.
#[derive(Clone, Copy)]
pub(crate) struct Phase {
    pub group: Group,
    /// The first reaches to the group.
    pub earliest: Earliest,
    /// Nobody goes further.
    pub horizon: Time,
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
}

/// The partitions of one host thread.
pub(crate) struct Share {
    /// Number of the host thread.
    thread: usize,
    partitions: Vec<Box<dyn Partition>>,
    ids: Vec<PartitionId>,
    /// The places of each group's partitions here.
    members: Vec<Vec<usize>>,
    /// Lower bound of each partition's next action.
    next: Vec<Time>,
    /// By group: each partition's [`Partition::reach`] to it.
    reaches: Vec<Tournament>,
    /// Room for the reaches of one partition.
    reach: Vec<Time>,
    /// How far each has run.
    limits: Vec<Time>,
    /// Who has just received something.
    received: Vec<usize>,
    /// What they sent in this phase.
    pub sent: Vec<Message>,
    /// What the host thread does next.
    pub phase: Phase,
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
            members: vec![vec![]; groups],
            next: vec![],
            reaches: vec![Tournament::default(); groups],
            reach: vec![Time::NEVER; groups],
            limits: vec![],
            received: vec![],
            sent: vec![],
            phase: Phase { group: 0, earliest: Earliest::NONE, horizon: Time::ZERO },
            stop: Time::NEVER,
            work: 0,
        }
    }

    /// Takes a partition; its place.
    pub fn add(&mut self, mut member: Member, layout: &Layout) -> usize {
        let place = self.partitions.len();
        if member.thread != self.thread {
            member.partition.hosted_by(self.thread);
        }
        self.next.push(member.partition.next());
        self.limits.push(member.limit);
        self.partitions.push(member.partition);
        self.ids.push(member.id);
        self.members[layout.groups[member.id as usize]].push(place);
        place
    }

    /// It has been given all its partitions.
    pub fn begin(&mut self, layout: &Layout) {
        self.reaches.iter_mut().for_each(|reaches| reaches.reset(self.ids.len()));
        (0..self.ids.len()).for_each(|p| self.note_reach(p, layout));
    }

    /// Gives its partitions away.
    pub fn take_members(&mut self) -> Vec<Member> {
        self.next.clear();
        self.members.iter_mut().for_each(Vec::clear);
        let thread = self.thread;
        let partitions = self.ids.drain(..).zip(self.partitions.drain(..)).zip(self.limits.drain(..));
        partitions.map(|((id, partition), limit)| Member { id, partition, limit, thread }).collect()
    }

    /// Lower bound of the next action of any of them.
    pub fn next(&self) -> Time {
        self.next.iter().copied().fold(Time::NEVER, Time::min)
    }

    /// Adds the reaches from here to group `to`.
    pub fn note_earliest(&mut self, to: Group, earliest: &mut Earliest) {
        if self.ids.is_empty() {
            return;
        }
        let (first, least, second) = self.reaches[to].first();
        earliest.note(least, self.ids[first]);
        // Never the first of all, so that it does not matter whose it is.
        earliest.note(second, PartitionId::MAX);
    }

    /// Whether one of them may do anything in `phase`.
    pub fn is_due(&self, phase: &Phase) -> bool {
        self.members[phase.group].iter().any(|&p| self.next[p] < self.limit(p, phase))
    }

    fn limit(&self, p: usize, phase: &Phase) -> Time {
        phase.earliest.but(self.ids[p]).min(phase.horizon)
    }

    /// Runs the partitions of a group as far as `phase` lets them.
    pub fn run(&mut self, phase: &Phase, layout: &Layout) {
        for i in 0..self.members[phase.group].len() {
            let p = self.members[phase.group][i];
            let limit = self.limit(p, phase);
            if self.next[p] < limit {
                self.advance(p, limit, phase.horizon, layout);
            }
        }
    }

    /// A turn of who holds up the first group most: its reach is the least, and the longer it waited the further it
    /// may go. If it can't do anything, it is the turn of who holds it up. All partitions are here. False: nobody can
    /// do anything before `horizon`.
    pub fn turn(&mut self, horizon: Time, layout: &Layout) -> bool {
        let (mut p, _, mut others) = self.reaches[0].first();
        if layout.groups[self.ids[p] as usize] != 0 {
            others = self.others(p, layout);
        }
        while self.next[p] >= others.min(horizon) {
            p = match others < horizon {
                true => self.reaches[layout.groups[self.ids[p] as usize]].first().0,
                false => self.earliest(),
            };
            if self.next[p] >= horizon {
                return false;
            }
            others = self.others(p, layout);
        }
        self.advance(p, others.min(horizon), horizon, layout);
        true
    }

    /// When the others could first reach partition `p`.
    fn others(&mut self, p: usize, layout: &Layout) -> Time {
        self.reaches[layout.groups[self.ids[p] as usize]].least_but(p)
    }

    /// Who acts first of all.
    #[cold]
    fn earliest(&self) -> usize {
        (0..self.next.len()).min_by_key(|&p| self.next[p]).unwrap_or(0)
    }

    fn advance(&mut self, p: usize, limit: Time, horizon: Time, layout: &Layout) {
        let (groups, lookahead) = (&layout.groups[..], &layout.lookahead);
        let from = groups[self.ids[p] as usize];
        let mut out = Outbox { limit, horizon, from, groups, lookahead, messages: &mut self.sent };
        self.work += self.partitions[p].run(&mut out);
        self.limits[p] = out.limit;
        self.next[p] = self.partitions[p].next();
        self.note_reach(p, layout);
        if let Some(at) = self.partitions[p].stop() {
            self.stop = self.stop.min(at + ROUND_MAX);
        }
    }

    /// Remembers whom partition `p` can reach, and when.
    fn note_reach(&mut self, p: usize, layout: &Layout) {
        let least = &layout.lookahead.least[layout.groups[self.ids[p] as usize]];
        self.partitions[p].reach(least, &mut self.reach);
        for (reaches, &reach) in self.reaches.iter_mut().zip(&self.reach) {
            reaches.set(p, reach);
        }
    }

    /// A message for the partition at place `to`.
    pub fn receive(&mut self, to: usize, event: Event, packet: Option<Box<Packet>>) {
        let (time, limit) = (event.time, self.limits[to]);
        assert!(
            time >= limit,
            "an event for {time} comes late: partition {} has run to {limit}",
            self.ids[to]
        );
        self.next[to] = self.next[to].min(time);
        self.partitions[to].receive(event, packet);
        if self.received.last() != Some(&to) {
            self.received.push(to);
        }
    }

    /// No more messages come in this phase.
    pub fn note_received(&mut self, layout: &Layout) {
        while let Some(p) = self.received.pop() {
            self.note_reach(p, layout);
        }
    }
}

//! The partitions that one host thread runs, and how far each may go.

use crate::partition::{Group, Message, Outbox, Partition, PartitionId};
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

/// The partitions of one host thread.
pub(crate) struct Share {
    partitions: Vec<Box<dyn Partition>>,
    ids: Vec<PartitionId>,
    /// The places of each group's partitions here.
    members: Vec<Vec<usize>>,
    /// Lower bound of each partition's next action.
    next: Vec<Time>,
    /// [`Partition::reach`] of each partition to each group, the groups of one partition side by side.
    reaches: Vec<Time>,
    /// How far each has run.
    limits: Vec<Time>,
    /// Who has just received something.
    received: Vec<usize>,
    /// What they sent in this phase.
    pub sent: Vec<Message>,
    /// What the host thread does next; `None`: it leaves its partitions to another.
    pub phase: Option<Phase>,
    /// When the job must end because of what happened here.
    pub stop: Time,
    /// Turns that partitions had: what the host pays for.
    pub turns: u64,
}

impl Share {
    pub fn new(groups: usize) -> Share {
        Share {
            partitions: vec![],
            ids: vec![],
            members: vec![vec![]; groups],
            next: vec![],
            reaches: vec![],
            limits: vec![],
            received: vec![],
            sent: vec![],
            phase: None,
            stop: Time::NEVER,
            turns: 0,
        }
    }

    /// Takes a partition; its place.
    pub fn add(&mut self, id: PartitionId, partition: Box<dyn Partition>, layout: &Layout) -> usize {
        let place = self.partitions.len();
        self.next.push(partition.next());
        self.limits.push(Time::ZERO);
        self.reaches.extend(std::iter::repeat_n(Time::NEVER, self.members.len()));
        self.partitions.push(partition);
        self.ids.push(id);
        self.members[layout.groups[id as usize]].push(place);
        self.note_reach(place, layout);
        place
    }

    /// Gives its partitions back, with their ids.
    pub fn into_partitions(self) -> impl Iterator<Item = (PartitionId, Box<dyn Partition>)> {
        self.ids.into_iter().zip(self.partitions)
    }

    /// Lower bound of the next action of any of them.
    pub fn next(&self) -> Time {
        self.next.iter().copied().fold(Time::NEVER, Time::min)
    }

    /// Adds the reaches from here to group `to`.
    pub fn note_earliest(&self, to: Group, earliest: &mut Earliest) {
        let reaches = self.reaches.iter().skip(to).step_by(self.members.len());
        for (&reach, &id) in reaches.zip(&self.ids) {
            earliest.note(reach, id);
        }
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
                self.advance(p, limit, layout);
            }
        }
    }

    fn advance(&mut self, p: usize, limit: Time, layout: &Layout) {
        let (groups, lookahead) = (&layout.groups[..], &layout.lookahead);
        let from = groups[self.ids[p] as usize];
        let mut out = Outbox { limit, from, groups, lookahead, messages: &mut self.sent };
        self.partitions[p].run(&mut out);
        self.limits[p] = out.limit;
        self.next[p] = self.partitions[p].next();
        self.turns += 1;
        self.note_reach(p, layout);
        if let Some(at) = self.partitions[p].stop() {
            self.stop = self.stop.min(at + ROUND_MAX);
        }
    }

    /// Remembers whom partition `p` can reach, and when.
    fn note_reach(&mut self, p: usize, layout: &Layout) {
        let least = &layout.lookahead.least[layout.groups[self.ids[p] as usize]];
        self.partitions[p].reach(least, &mut self.reaches[p * least.len()..][..least.len()]);
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
        self.received.push(to);
    }

    /// No more messages come in this phase.
    pub fn note_received(&mut self, layout: &Layout) {
        while let Some(p) = self.received.pop() {
            self.note_reach(p, layout);
        }
    }

    /// This host thread leaves its partitions to another.
    pub fn leave(&mut self) {
        self.partitions.iter_mut().for_each(|p| p.leave());
    }
}

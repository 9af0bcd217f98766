//! A partition (a logical process in the literature) is a node with its NI, or a part of the network; one host
//! thread runs it at a time. It runs up to its *limit*, a lower bound on the time stamps of events from outside.

use std::any::Any;

use crate::{Event, Lookahead, Time};

/// Number of a partition, in the order in which they were added.
pub type PartitionId = u32;

/// A kind of partition with the same look-ahead: the nodes of a machine are one group.
pub type Group = usize;

/// The bytes of a packet and what the network needs of it. Wires carry bytes.
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
    /// With wormhole switching: the next packet of this source on this logical network belongs to the same worm and goes to the
    /// same destination, and until it has passed links stay held for it. Else false.
    pub more: bool,
    /// Header and payload as the NI wrote them.
    pub bytes: Vec<u8>,
    /// The message that this packet belongs to, for the records: source rank and sequence.
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
    /// No effect comes sooner of the sender's having sent it: a look-ahead after that.
    pub soonest: Time,
}

/// The output of a running partition, and how far it may run.
pub struct Outbox<'a> {
    pub(crate) limit: Time,
    pub(crate) horizon: Time,
    pub(crate) from: Group,
    pub(crate) groups: &'a [Group],
    pub(crate) lookahead: &'a Lookahead,
    pub(crate) messages: &'a mut Vec<Message>,
}

impl Outbox<'_> {
    /// The partition may do everything before this time. Sending lowers it to the first moment at
    /// which an answer could come.
    #[inline]
    pub fn limit(&self) -> Time {
        self.limit
    }

    /// Nothing may be done at this time or later, even if nothing can interfere: the run may end there.
    #[inline]
    pub fn horizon(&self) -> Time {
        self.horizon
    }

    /// Sends `event`, which happens in partition `to`.
    ///
    /// # Panics
    /// When the event comes sooner than the look-ahead allows: a bug of the model.
    #[inline]
    pub fn send(&mut self, now: Time, to: PartitionId, event: Event, packet: Option<Box<Packet>>) {
        let group = self.groups[to as usize];
        let delay = self.lookahead.direct[self.from][group];
        assert!(event.time >= now + delay, "look-ahead of {delay} broken: sent at {now} for {}", event.time);
        self.limit = self.limit.min(event.time + self.lookahead.least[group][self.from]);
        self.messages.push(Message { to, event, packet, soonest: now + delay });
    }
}

/// An event costs the host about as much as so many instructions. With this weight the host time of a unit of work
/// differed least between neighbouring milliseconds of a run (of `benches/mix.c` on voyager).
pub const WORK_OF_EVENT: u64 = 25;

/// A part of the model that the engine advances.
pub trait Partition: Send {
    /// A lower bound on the time of its next action, [`Time::NEVER`] when it waits for others.
    fn next(&self) -> Time;
    /// Lower bounds on the times of its first effects on other partitions, by their group, directly or
    /// through others, if it receives nothing from outside; then, if `earliest` has room for them, on those in other zones.
    /// `least`: the look-aheads from here, of both. All come after [`Partition::next`].
    fn earliest_outputs(&self, least: &[Time], earliest: &mut [Time]) {
        let next = self.next();
        earliest.iter_mut().zip(least).for_each(|(earliest, &least)| *earliest = next + least);
    }
    /// Does everything that is earlier than `out.limit()`, which shrinks as it sends. Returns how much work that was: an
    /// instruction is one, an event [`WORK_OF_EVENT`]; nothing counts that depends on how far each turn goes. Host times
    /// are compared by the unit of work.
    fn run(&mut self, out: &mut Outbox<'_>) -> u64;
    /// Takes a message. Its time is at or after every limit that the partition has run to.
    fn receive(&mut self, event: Event, packet: Option<Box<Packet>>);
    /// [`Partition::receive`], if that lowers `earliest`, which is this partition's so far, by what the message may cause
    /// and changes nothing else. False: it has to be asked for.
    fn receive_within(
        &mut self,
        event: Event,
        packet: Option<Box<Packet>>,
        least: &[Time],
        earliest: &mut [Time],
    ) -> bool {
        let _ = (least, earliest);
        self.receive(event, packet);
        false
    }
    /// When the run must end because of what happened here (a fault, an abort).
    fn stop(&self) -> Option<Time> {
        None
    }
    /// Why the run had to end, for [`Engine::spread`](crate::Engine::spread): a number that partitions interpret.
    fn take_stop_reasons(&mut self) -> Vec<u64> {
        vec![]
    }
    /// The reasons that stopped the run at `at`, up to which all have run; it goes on.
    fn go_on(&mut self, reasons: &[u64], at: Time) {
        let _ = (reasons, at);
    }
    /// From now on host thread number `thread` runs it, 0 at first.
    fn hosted_by(&mut self, _thread: usize) {}
    /// The partition itself, to look at it between two runs of the engine, if it lets others do so.
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        None
    }
    /// The partition itself, to read results when the engine is done with it.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

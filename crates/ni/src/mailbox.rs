//! Mailboxes: words, or whatever else, from one side of an NI to the other, in their order, so many at most. The side that
//! takes may wait for something to take, the side that puts for room; how it waits is a matter of who it is. A load of a
//! firmware processor is held ([`FirmwareProcessor::held`](crate::FirmwareProcessor::held)), one of a hart of the node is
//! retried on the bus ([`NetworkInterface::retry`](crate::NetworkInterface::retry)), an engine looks again when something
//! has been taken.

use std::collections::VecDeque;

use chasqui_counters::counters;

counters! {
    /// Counters of a mailbox.
    pub struct MailboxStatistics {
        /// What was put into it.
        put: "count";
        /// What there was no room for when it came: it had to wait, or replaced the newest.
        full: "count";
    }
}

/// A mailbox.
///
/// ```
/// use chasqui_ni::Mailbox;
/// // Inbound, four words deep: a load of its data register is held while it is empty.
/// let mut inbound = Mailbox::new(4);
/// assert_eq!(inbound.take(), None);
/// assert_eq!(inbound.put(17), Ok(()));
/// assert_eq!((inbound.count(), inbound.room()), (1, 3));
/// assert_eq!(inbound.take(), Some(17));
/// ```
#[derive(Debug)]
pub struct Mailbox<T> {
    depth: usize,
    entries: VecDeque<T>,
    /// What happened so far.
    pub statistics: MailboxStatistics,
}

impl<T> Mailbox<T> {
    /// An empty one that holds `depth` entries, at least one.
    pub fn new(depth: usize) -> Mailbox<T> {
        assert!(depth > 0, "a mailbox without room");
        Mailbox { depth, entries: VecDeque::new(), statistics: MailboxStatistics::default() }
    }

    /// Puts an entry into it, behind the others.
    ///
    /// # Errors
    /// There is no room: the entry comes back, and whoever puts it waits.
    pub fn put(&mut self, entry: T) -> Result<(), T> {
        if self.is_full() {
            self.statistics.full += 1;
            return Err(entry);
        }
        self.statistics.put += 1;
        self.entries.push_back(entry);
        Ok(())
    }

    /// Puts an entry into it; if there is no room it takes the place of the newest, which is lost: as Cell's inbound mailbox does
    /// with what comes from outside.
    pub fn put_over(&mut self, entry: T) {
        if let Err(entry) = self.put(entry) {
            *self.entries.back_mut().expect("a full mailbox is not empty") = entry;
        }
    }

    /// Puts an entry into it that can't wait: where there is no room the mailbox gets one more.
    pub fn put_beyond(&mut self, entry: T) {
        if let Err(entry) = self.put(entry) {
            self.entries.push_back(entry);
        }
    }

    /// Takes the oldest entry. None: it is empty, and whoever takes waits, or reads what is no entry.
    pub fn take(&mut self) -> Option<T> {
        self.entries.pop_front()
    }

    /// The oldest entry.
    pub fn front(&self) -> Option<&T> {
        self.entries.front()
    }

    /// The newest entry.
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.entries.back_mut()
    }

    /// All entries, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

    /// Entries: what the taking side's count register says.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Entries for which there is room: what the putting side's count register says.
    pub fn room(&self) -> usize {
        self.depth.saturating_sub(self.entries.len())
    }

    /// Nothing is there.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// There is no room.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.depth
    }
}

/// Kinds of events that one load tells of, in turn: after one kind the others go first, so that none waits for ever.
///
/// ```
/// let mut turns = chasqui_ni::Turns::new(1..=3);
/// let ready = |kind| (kind != 2).then_some(kind * 10);
/// assert_eq!(turns.next(ready), Some((1, 10)));
/// assert_eq!(turns.next(ready), Some((3, 30)));
/// assert_eq!(turns.next(ready), Some((1, 10)));
/// assert_eq!(turns.next(|_| None::<()>), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Turns {
    first: u64,
    count: u64,
    /// The kind that goes first, counted from `first`.
    next: u64,
}

impl Turns {
    /// Of these kinds, the least of which goes first.
    pub fn new(kinds: std::ops::RangeInclusive<u64>) -> Turns {
        Turns { first: *kinds.start(), count: kinds.end() - kinds.start() + 1, next: 0 }
    }

    /// The kind whose turn it is among those for which `event` gives something, and what it gives.
    pub fn next<E>(&mut self, event: impl Fn(u64) -> Option<E>) -> Option<(u64, E)> {
        let order = (0..self.count).map(|i| (self.next + i) % self.count);
        let (place, event) = order.into_iter().find_map(|kind| Some((kind, event(self.first + kind)?)))?;
        self.next = (place + 1) % self.count;
        Some((self.first + place, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_mailbox_refuses_and_an_empty_one_has_nothing() {
        let mut outbound = Mailbox::new(1);
        assert_eq!(outbound.put(1), Ok(()));
        assert_eq!(outbound.put(2), Err(2));
        assert_eq!((outbound.take(), outbound.take()), (Some(1), None));
        assert_eq!(outbound.statistics, MailboxStatistics { put: 1, full: 1 });
    }

    #[test]
    fn the_newest_may_be_replaced() {
        let mut inbound = Mailbox::new(4);
        (0..6).for_each(|n| inbound.put_over(n));
        assert_eq!(inbound.iter().copied().collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert_eq!((inbound.count(), inbound.room(), inbound.statistics.full), (4, 0, 2));
        inbound.put_beyond(6);
        assert_eq!((inbound.count(), inbound.room(), inbound.is_full()), (5, 0, true));
    }

    #[test]
    fn no_kind_waits_for_ever() {
        let mut turns = Turns::new(1..=5);
        let kinds: Vec<u64> =
            (0..6).map(|_| turns.next(|kind| (kind % 2 == 1).then_some(())).unwrap().0).collect();
        assert_eq!(kinds, [1, 3, 5, 1, 3, 5]);
    }
}

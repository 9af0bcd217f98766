//! A site's queues (section 4.2): their names, and where each is at home. The hardware's slots are a cache of
//! them that system software manages.

use std::collections::VecDeque;

use super::MessageName;
use crate::parameters::Queues;
use crate::registers::{EXPRESS_QUEUES, QUEUES};

/// What a queue is called at its site, in both directions.
pub(super) type Name = u16;

/// Name of Basic queue `index`.
pub(super) const fn basic(index: usize) -> Name {
    EXPRESS_QUEUES as Name + index as Name
}

/// Index of the Basic queue called `name`; none: it is of Express.
pub(super) fn basic_index(name: Name) -> Option<usize> {
    name.checked_sub(EXPRESS_QUEUES as Name).map(usize::from)
}

/// Names of the MPI messages of a queue that are with the firmware, for the records: it keeps the order of a queue's
/// messages, so that what comes back from it is the oldest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MessageNames {
    names: VecDeque<MessageName>,
    /// So many of them the firmware took from the hardware: they are older than those of diverted packets.
    older: usize,
}

impl MessageNames {
    fn take(&mut self) -> MessageName {
        self.older = self.older.saturating_sub(1);
        self.names.pop_front().flatten()
    }
}

/// The queue is of Basic; else of Express.
pub(super) fn is_basic(name: Name) -> bool {
    basic_index(name).is_some()
}

/// What the hardware knows of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Home {
    /// Its slot, if it is resident.
    slot: Option<u8>,
    /// Logical network of what it sends.
    priority: u8,
    /// Packets for it go to the miss queue, though it is resident.
    diverted: bool,
    /// The firmware could not place a message, and is told when there may be room.
    wants_room: bool,
    messages: MessageNames,
}

/// Where a site's queues are.
pub(super) struct Homes {
    homes: Vec<Home>,
}

impl Homes {
    /// The first queues have slots, as long as there are some; the last ones have high priority.
    pub fn new(queues: &Queues) -> Homes {
        let home = |index: u64, slots: u64, low: u64| Home {
            slot: (index < slots).then_some(index as u8),
            priority: u8::from(index >= low),
            ..Home::default()
        };
        let low = (EXPRESS_QUEUES - queues.high_express, queues.basic - queues.high_basic);
        let express = (0..EXPRESS_QUEUES).map(|index| home(index, queues.resident_express, low.0));
        let basic = (0..queues.basic).map(|index| home(index, queues.resident_basic, low.1));
        let homes: Vec<Home> = express.chain(basic).collect();
        assert!(homes.len() as u64 <= QUEUES, "{} queues", homes.len());
        Homes { homes }
    }

    /// Names of the queues that there are.
    pub fn names(&self) -> std::ops::Range<Name> {
        0..self.homes.len() as Name
    }

    /// The hardware slot of the queue, if it is resident: among those of its kind.
    pub fn slot(&self, name: Name) -> Option<usize> {
        self.homes.get(usize::from(name))?.slot.map(usize::from)
    }

    /// The logical network of what the queue sends; that of one that does not exist sends nothing.
    pub fn priority(&self, name: Name) -> u8 {
        self.homes.get(usize::from(name)).map_or(0, |home| home.priority)
    }

    /// Queues of Express and of Basic that have high priority.
    pub fn high_counts(&self) -> (u64, u64) {
        let count = |basic| {
            let all = self.names().filter(|&name| is_basic(name) == basic);
            all.filter(|&name| self.priority(name) > 0).count() as u64
        };
        (count(false), count(true))
    }

    /// The queue exists and is not resident.
    pub fn is_served(&self, name: Name) -> bool {
        self.homes.get(usize::from(name)).is_some_and(|home| home.slot.is_none())
    }

    /// Where packets for the queue go: a slot, if it is resident and they are not diverted.
    pub fn accepts(&self, name: Name) -> Option<usize> {
        self.homes.get(usize::from(name)).filter(|home| !home.diverted)?.slot.map(usize::from)
    }

    /// The queue's home is `slot` from now on, or it has none. Packets for it are diverted: the firmware may
    /// still have earlier ones.
    pub fn map(&mut self, name: Name, slot: Option<u8>) {
        if let Some(home) = self.homes.get_mut(usize::from(name)) {
            (home.slot, home.diverted) = (slot, true);
        }
    }

    /// A packet for the queue goes to the miss queue, and later ones follow it.
    pub fn divert(&mut self, name: Name, message: MessageName) {
        if let Some(home) = self.homes.get_mut(usize::from(name)) {
            home.diverted = true;
            home.messages.names.push_back(message);
        }
    }

    /// Packets for the queue go to the miss queue no longer.
    pub fn undivert(&mut self, name: Name) {
        if let Some(home) = self.homes.get_mut(usize::from(name)) {
            home.diverted = false;
        }
    }

    /// The firmware takes a message of the queue from the hardware.
    pub fn withdraw(&mut self, name: Name, message: MessageName) {
        if let Some(Home { messages, .. }) = self.homes.get_mut(usize::from(name)) {
            messages.names.insert(messages.older, message);
            messages.older += 1;
        }
    }

    /// Name of the oldest message of the queue that is with the firmware.
    pub fn oldest_message(&self, name: Name) -> MessageName {
        self.homes.get(usize::from(name)).and_then(|home| *home.messages.names.front()?)
    }

    /// The oldest message of the queue that was with the firmware comes back to the hardware, or to the processor: its
    /// name.
    pub fn return_message(&mut self, name: Name) -> MessageName {
        self.homes.get_mut(usize::from(name)).and_then(|home| home.messages.take())
    }

    /// The firmware wants to know when the queue may have room.
    pub fn want_room(&mut self, name: Name) {
        if let Some(home) = self.homes.get_mut(usize::from(name)) {
            home.wants_room = true;
        }
    }

    /// The queue may have room. True: the firmware wants to know that.
    pub fn take_want(&mut self, name: Name) -> bool {
        let home = self.homes.get_mut(usize::from(name));
        home.is_some_and(|home| std::mem::take(&mut home.wants_room))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes() -> Homes {
        let queues = Queues { basic: 3, resident_express: 1, resident_basic: 2, ..Queues::default() };
        Homes::new(&Queues { high_express: 1, high_basic: 2, ..queues })
    }

    #[test]
    fn the_first_queues_are_resident() {
        let homes = homes();
        assert_eq!(homes.names(), 0..5);
        let slots: Vec<_> = homes.names().map(|name| homes.slot(name)).collect();
        assert_eq!(slots, [Some(0), None, Some(0), Some(1), None]);
        assert_eq!((homes.slot(5), homes.is_served(5), homes.is_served(4)), (None, false, true));
        assert_eq!((basic_index(1), basic_index(basic(2))), (None, Some(2)));
    }

    #[test]
    fn the_last_queues_have_high_priority() {
        let homes = homes();
        let priorities: Vec<_> = (0..6).map(|name| homes.priority(name)).collect();
        assert_eq!(priorities, [0, 1, 0, 1, 1, 0]);
        assert_eq!(homes.high_counts(), (1, 2));
    }

    #[test]
    fn a_queue_that_gets_a_slot_is_diverted_until_the_firmware_says_otherwise() {
        let mut homes = homes();
        homes.map(basic(2), Some(1));
        assert_eq!((homes.slot(basic(2)), homes.accepts(basic(2))), (Some(1), None));
        homes.undivert(basic(2));
        assert_eq!(homes.accepts(basic(2)), Some(1));
    }

    #[test]
    fn names_come_back_in_the_order_of_their_messages() {
        let mut homes = homes();
        let name = |sequence| Some((7, sequence));
        homes.divert(0, name(3));
        // What the firmware takes from the hardware came before it diverted anything.
        homes.withdraw(0, name(1));
        homes.withdraw(0, name(2));
        homes.divert(1, name(9));
        homes.divert(0, None);
        let back: Vec<_> = (0..3).map(|_| homes.return_message(0)).collect();
        assert_eq!(back, [name(1), name(2), name(3)]);
        homes.withdraw(0, name(4));
        let back: Vec<_> = (0..3).map(|_| homes.return_message(0)).collect();
        assert_eq!(back, [name(4), None, None]);
    }

    #[test]
    fn room_is_told_once_and_only_if_it_is_wanted() {
        let mut homes = homes();
        assert!(!homes.take_want(0));
        homes.want_room(0);
        assert!(homes.take_want(0) && !homes.take_want(0));
    }
}

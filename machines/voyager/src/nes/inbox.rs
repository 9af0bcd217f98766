//! What the processor receives by single loads: the Express receive queues (section 5.1).

use std::collections::VecDeque;

use super::address::HALVES;
use super::queues::QueueName;
use crate::parameters::Express;
use crate::registers as r;
use chasqui_ni::MessageKey;

/// What the reader of a message learns of the `bytes` that came with it; `wide`: by a 64-byte store, as words.
pub(super) fn came(wide: bool, bytes: u64) -> u64 {
    match bytes {
        0 => r::CAME_ALONE,
        _ if wide => r::CAME_WIDE | (bytes / 8),
        r::TAG_LONG_BYTES => r::CAME_LONG,
        _ => r::CAME_SHORT,
    }
}

/// A message of 37 bits `word` as the processor reads it; `came` is what [`came`] with it, and lies in `slot`.
pub(super) fn composed(word: u64, source: u16, queue: QueueName, came: u64, slot: u32) -> u64 {
    debug_assert!(u64::from(source) < 1 << r::EXPRESS_SOURCE_BITS && u64::from(queue) <= r::EXPRESS_QUEUES);
    u64::from(slot) << r::EXPRESS_SLOT_SHIFT
        | came << r::EXPRESS_CAME_SHIFT
        | u64::from(queue) << r::EXPRESS_QUEUE_SHIFT
        | u64::from(source) << r::EXPRESS_SOURCE_SHIFT
        | word
}

/// The Express receive queues that are resident.
pub(super) struct Inbox {
    /// The messages of each slot.
    slots: Vec<VecDeque<(u64, MessageKey)>>,
    messages_max: usize,
    /// Upper halves, by where they are taken, for processors that read four bytes at a time.
    upper: Vec<u32>,
}

/// What a load found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub value: u64,
    /// The queue from which it took a message.
    pub took: Option<QueueName>,
    /// Name of the MPI message that it took, for the records.
    pub name: MessageKey,
    /// The same load gives the same again.
    pub repeatable: bool,
}

/// Nothing.
pub(super) const EMPTY: Found = Found { value: r::EXPRESS_EMPTY, took: None, name: None, repeatable: true };

impl Inbox {
    /// That of so many `processes`.
    pub fn new(processes: usize, express: &Express, slots: usize) -> Inbox {
        Inbox {
            slots: vec![VecDeque::new(); slots],
            messages_max: express.slots as usize,
            upper: vec![0; processes * HALVES],
        }
    }

    /// Room for a message in `slot`.
    pub fn has_room(&self, slot: usize) -> bool {
        self.slots[slot].len() < self.messages_max
    }

    pub fn push(&mut self, slot: usize, message: u64, name: MessageKey) {
        debug_assert!(self.has_room(slot));
        self.slots[slot].push_back((message, name));
    }

    /// Takes the oldest message of `slot`.
    pub fn pop(&mut self, slot: usize) -> Option<(u64, MessageKey)> {
        self.slots[slot].pop_front()
    }

    /// A message waits in `slot`.
    pub fn has_message(&self, slot: usize) -> bool {
        !self.slots[slot].is_empty()
    }

    /// What a load of `bytes` gets of `value`, a whole message; the upper half is kept at `half` for the next load.
    /// True: that has not changed.
    pub fn part(&mut self, half: usize, bytes: u32, value: u64) -> (u64, bool) {
        if bytes == 8 {
            return (value, true);
        }
        let upper = (value >> 32) as u32;
        let same = std::mem::replace(&mut self.upper[half], upper) == upper;
        (value & u64::from(u32::MAX), same)
    }

    /// The upper half that was kept at `half`.
    pub fn upper(&self, half: usize) -> u32 {
        self.upper[half]
    }

    /// A load takes the oldest message of `queue`, which is in `slot`.
    pub fn take(&mut self, queue: QueueName, slot: usize) -> Found {
        match self.pop(slot) {
            Some((value, name)) => Found { value, took: Some(queue), name, repeatable: false },
            None => EMPTY,
        }
    }
}

/// What has come for the service processor's own queue (section 3).
pub(super) struct OwnQueue {
    messages: VecDeque<u64>,
    /// 0: there is no sP.
    messages_max: usize,
}

impl OwnQueue {
    pub fn new(messages_max: usize) -> OwnQueue {
        OwnQueue { messages: VecDeque::new(), messages_max }
    }

    /// A message of 37 bits `word` from `source`. False: there is no room.
    pub fn push(&mut self, word: u64, source: u16) -> bool {
        let has_room = self.messages.len() < self.messages_max;
        if has_room {
            self.messages.push_back(composed(word, source, 0, r::CAME_ALONE, 0));
        }
        // Without an sP nobody ever takes it.
        has_room || self.messages_max == 0
    }

    /// How many wait.
    pub fn messages(&self) -> usize {
        self.messages.len()
    }

    pub fn pop(&mut self) -> u64 {
        self.messages.pop_front().unwrap_or(r::EXPRESS_EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inbox() -> Inbox {
        Inbox::new(1, &Express { slots: 2, tags: 2 }, 8)
    }

    #[test]
    fn a_load_takes_a_message_and_an_empty_queue_says_so() {
        let mut inbox = inbox();
        assert_eq!(inbox.take(0, 0), EMPTY);
        let message = composed(0x1f_0000_0001, 3, 0, r::CAME_ALONE, 0);
        inbox.push(0, message, Some((3, 9)));
        assert_eq!(inbox.take(1, 1), EMPTY, "the other queue");
        let taken = Found { value: message, took: Some(0), name: Some((3, 9)), repeatable: false };
        assert_eq!(inbox.take(0, 0), taken);
        assert_eq!(inbox.take(0, 0), EMPTY);
    }

    #[test]
    fn of_a_message_that_is_read_by_halves_the_upper_is_kept() {
        let mut inbox = inbox();
        let message = composed(0x1f_8000_0001, 3, 0, r::CAME_LONG, 200);
        assert_eq!(inbox.part(0, 8, message), (message, true));
        assert_eq!(inbox.part(0, 4, message), (0x8000_0001, false));
        // What is read elsewhere in between is not mixed in.
        inbox.part(1, 4, composed(5, 4, 0, r::CAME_ALONE, 0));
        assert_eq!(u64::from(inbox.upper(0)), message >> 32);
        assert_eq!(inbox.part(0, 4, message), (0x8000_0001, true));
    }

    #[test]
    fn a_queue_has_room_for_so_many() {
        let mut inbox = inbox();
        inbox.push(0, 1, None);
        inbox.push(0, 2, None);
        assert!(!inbox.has_room(0) && inbox.has_room(1));
    }

    #[test]
    fn messages_come_in_order_while_there_is_room() {
        let mut own = OwnQueue::new(2);
        assert!(own.push(5, 3) && own.push(6, 3) && !own.push(7, 3));
        assert_eq!(own.pop(), composed(5, 3, 0, r::CAME_ALONE, 0));
        assert!(own.messages() == 1 && own.push(7, 3));
        assert_eq!([own.pop(), own.pop(), own.pop()].map(|m| m & 0xff), [6, 7, 0]);
        assert!(OwnQueue::new(0).push(1, 0), "nobody is there");
    }
}

//! What the processor receives by single loads: the Express receive queues, and OnePoll over several queues
//! (sections 5.1 and 5.3); the ring of data that came tagged on.

use std::collections::VecDeque;

use super::{Name, Ring};
use crate::parameters::Express;
use crate::registers as r;

const QUEUES: usize = r::EXPRESS_QUEUES as usize;

/// A message of 37 bits `word` as the processor reads it.
pub(super) fn composed(word: u64, source: u16, queue: u64, tag: u64) -> u64 {
    r::EXPRESS_VALID
        | tag << r::EXPRESS_TAG_SHIFT
        | queue << r::EXPRESS_QUEUE_SHIFT
        | u64::from(source) << r::EXPRESS_SOURCE_SHIFT
        | word
}

/// The Express receive queues of a process.
pub(super) struct Inbox {
    queues: [VecDeque<(u64, Name)>; QUEUES],
    slots: usize,
    /// Upper halves for processors that read four bytes at a time.
    upper: [u32; QUEUES],
    /// Data that came tagged on, in the order of their headers.
    pub tags: Ring,
    pub tag_producer: u32,
    pub tag_consumer: u32,
}

/// What a load found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub value: u64,
    /// The load took a message, or changed what the next one returns.
    pub took: bool,
    /// Name of the message that it took.
    pub name: Name,
}

impl Found {
    /// Nothing changes.
    fn seen(value: u64) -> Found {
        Found { value, took: false, name: None }
    }
}

impl Inbox {
    pub fn new(tags: Ring, express: &Express) -> Inbox {
        Inbox {
            queues: Default::default(),
            slots: express.slots as usize,
            upper: [0; QUEUES],
            tags,
            tag_producer: 0,
            tag_consumer: 0,
        }
    }

    /// Room for a message in `queue`, with or without tagged data.
    pub fn has_room(&self, queue: usize, tagged: bool) -> bool {
        let tags = self.tag_producer.wrapping_sub(self.tag_consumer);
        self.queues[queue].len() < self.slots && (!tagged || tags < self.tags.slots)
    }

    pub fn push(&mut self, queue: usize, message: u64, name: Name) {
        debug_assert!(self.queues[queue].len() < self.slots);
        self.queues[queue].push_back((message, name));
    }

    fn pop(&mut self, queue: usize) -> Found {
        match self.queues[queue].pop_front() {
            Some((value, name)) => Found { value, took: true, name },
            None => Found::seen(r::EXPRESS_EMPTY),
        }
    }

    /// A load of `bytes` at `offset` of the receive page; `basic`: the pointers of the Basic receive ring,
    /// producer and consumer.
    pub fn read(&mut self, offset: u64, bytes: u32, basic: (u32, u32)) -> Found {
        if offset >= r::ONEPOLL {
            return self.one_poll((offset - r::ONEPOLL) >> 3, basic);
        }
        let queue = (offset >> 3) as usize;
        if queue >= QUEUES {
            return Found::seen(r::EXPRESS_EMPTY);
        }
        if offset & 4 != 0 {
            return Found::seen(u64::from(self.upper[queue]));
        }
        let found = self.pop(queue);
        if bytes == 8 {
            return found;
        }
        let upper = (found.value >> 32) as u32;
        let changed = std::mem::replace(&mut self.upper[queue], upper) != upper;
        Found { value: found.value & u64::from(u32::MAX), took: found.took || changed, name: found.name }
    }

    /// The message of the first queue of `set` that has one: Express queues by number, then Basic.
    fn one_poll(&mut self, set: u64, (producer, consumer): (u32, u32)) -> Found {
        for queue in (0..QUEUES).filter(|queue| set >> queue & 1 != 0) {
            if !self.queues[queue].is_empty() {
                return self.pop(queue);
            }
        }
        if set >> QUEUES & 1 != 0 && producer != consumer {
            let pointers = u64::from(producer as u16) | u64::from(consumer as u16) << 16;
            return Found::seen(composed(pointers, 0, r::EXPRESS_QUEUES, 0));
        }
        Found::seen(r::EXPRESS_EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inbox() -> Inbox {
        let tags = Ring { base: 0, slots: 2, slot_bytes: 96 };
        Inbox::new(tags, &Express { slots: 2, tags: 2 })
    }

    const IDLE: (u32, u32) = (7, 7);

    #[test]
    fn a_load_takes_a_message_and_an_empty_queue_says_so() {
        let mut inbox = inbox();
        let empty = Found::seen(r::EXPRESS_EMPTY);
        assert_eq!(inbox.read(0, 8, IDLE), empty);
        let message = composed(0x1f_0000_0001, 3, 0, 0);
        inbox.push(0, message, Some((3, 9)));
        assert_eq!(inbox.read(8, 8, IDLE), empty, "the other queue");
        assert_eq!(inbox.read(0, 8, IDLE), Found { value: message, took: true, name: Some((3, 9)) });
        assert_eq!(inbox.read(0, 8, IDLE), empty);
    }

    #[test]
    fn two_short_loads_take_one_message() {
        let mut inbox = inbox();
        let message = composed(0x1f_8000_0001, 3, 0, 0);
        inbox.push(0, message, None);
        assert_eq!(inbox.read(0, 4, IDLE), Found { value: 0x8000_0001, took: true, name: None });
        // What comes in between is not mixed in.
        inbox.push(0, composed(5, 4, 0, 0), None);
        assert_eq!(inbox.read(4, 4, IDLE).value, message >> 32);
        assert_eq!(inbox.read(0, 4, IDLE).value, 5);
    }

    #[test]
    fn one_poll_takes_the_first_of_its_set() {
        let mut inbox = inbox();
        let (low, high) = (composed(1, 0, 1, 0), composed(2, 0, 0, 0));
        inbox.push(1, low, None);
        inbox.push(0, high, None);
        let all = r::ONEPOLL + 8 * 7;
        assert_eq!(inbox.read(r::ONEPOLL + 8 * 2, 8, IDLE).value, low, "queue 0 is not in the set");
        inbox.push(1, low, None);
        assert_eq!(inbox.read(all, 8, (9, 7)).value, high);
        assert_eq!(inbox.read(all, 8, (9, 7)).value, low);
        let basic = inbox.read(all, 8, (9, 7));
        assert_eq!(basic, Found::seen(composed(9 | 7 << 16, 0, 2, 0)));
        assert_eq!(inbox.read(all, 8, IDLE).value, r::EXPRESS_EMPTY);
    }

    #[test]
    fn room_counts_headers_and_tagged_data() {
        let mut inbox = inbox();
        inbox.tag_producer = 2;
        assert!(inbox.has_room(0, false) && !inbox.has_room(0, true));
        inbox.tag_consumer = 1;
        assert!(inbox.has_room(0, true));
        inbox.push(0, 1, None);
        inbox.push(0, 2, None);
        assert!(!inbox.has_room(0, false) && inbox.has_room(1, false));
    }
}

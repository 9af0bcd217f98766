//! What the processor receives by single loads: the Express receive queues, and OnePoll over several queues
//! (sections 5.1 and 5.3); the ring of data that came tagged on.

use std::collections::VecDeque;

use super::queues::{Homes, Name};
use super::{MessageName, Ring};
use crate::parameters::Express;
use crate::registers as r;

/// A message of 37 bits `word` as the processor reads it.
pub(super) fn composed(word: u64, source: u16, queue: Name, tag: u64) -> u64 {
    r::EXPRESS_VALID
        | tag << r::EXPRESS_TAG_SHIFT
        | u64::from(queue) << r::EXPRESS_QUEUE_SHIFT
        | u64::from(source) << r::EXPRESS_SOURCE_SHIFT
        | word
}

/// The ring of data that came tagged on for a process, in the order of their headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagRing {
    pub ring: Ring,
    pub producer: u32,
    pub consumer: u32,
}

impl TagRing {
    /// Room for tagged data.
    pub fn has_room(&self) -> bool {
        self.producer.wrapping_sub(self.consumer) < self.ring.slots
    }
}

/// The Express receive queues that are resident, and the rings of tagged data.
pub(super) struct Inbox {
    /// The messages of each slot.
    slots: Vec<VecDeque<(u64, MessageName)>>,
    messages_max: usize,
    /// Upper half, by queue, for processors that read four bytes at a time.
    upper: Vec<u32>,
    /// By job.
    pub tags: Vec<TagRing>,
}

/// What a load found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub value: u64,
    /// The queue from which it took a message.
    pub took: Option<Name>,
    /// Name of the MPI message that it took, for the records.
    pub name: MessageName,
    /// The same load gives the same again.
    pub repeatable: bool,
}

/// Nothing.
const EMPTY: Found = Found { value: r::EXPRESS_EMPTY, took: None, name: None, repeatable: true };

impl Inbox {
    pub fn new(tags: &[Ring], express: &Express, slots: usize) -> Inbox {
        Inbox {
            slots: vec![VecDeque::new(); slots],
            messages_max: express.slots as usize,
            upper: vec![0; tags.len() * r::EXPRESS_QUEUES as usize],
            tags: tags.iter().map(|&ring| TagRing { ring, producer: 0, consumer: 0 }).collect(),
        }
    }

    /// Room for a message in `slot`.
    pub fn has_room(&self, slot: usize) -> bool {
        self.slots[slot].len() < self.messages_max
    }

    /// Messages that wait in `slot`.
    pub fn count(&self, slot: usize) -> u64 {
        self.slots[slot].len() as u64
    }

    pub fn push(&mut self, slot: usize, message: u64, name: MessageName) {
        debug_assert!(self.has_room(slot));
        self.slots[slot].push_back((message, name));
    }

    /// Takes the oldest message of `slot`.
    pub fn pop(&mut self, slot: usize) -> Option<(u64, MessageName)> {
        self.slots[slot].pop_front()
    }

    /// What a load of `bytes` gets of a message taken from `queue`; the upper half is kept for the next load. True: that
    /// has not changed.
    pub fn part(&mut self, queue: Name, bytes: u32, value: u64) -> (u64, bool) {
        if bytes == 8 {
            return (value, true);
        }
        let upper = (value >> 32) as u32;
        let same = std::mem::replace(&mut self.upper[usize::from(queue)], upper) == upper;
        (value & u64::from(u32::MAX), same)
    }

    fn take(&mut self, queue: Name, slot: usize) -> Found {
        match self.pop(slot) {
            Some((value, name)) => Found { value, took: Some(queue), name, repeatable: false },
            None => EMPTY,
        }
    }

    /// A load of `bytes` at `offset` of job `job`'s receive page; `basic`: the pointers of its first Basic receive
    /// ring, producer and consumer.
    pub fn read(
        &mut self,
        (job, offset): (usize, u64),
        bytes: u32,
        basic: (u32, u32),
        homes: &Homes,
    ) -> Found {
        if offset >= r::ONEPOLL {
            return self.one_poll(job, (offset - r::ONEPOLL) >> 3, basic, homes);
        }
        let own = offset >> 3;
        if own >= r::EXPRESS_QUEUES {
            return EMPTY;
        }
        let queue = homes.names.express(job, own);
        if offset & 4 != 0 {
            return Found { value: u64::from(self.upper[usize::from(queue)]), ..EMPTY };
        }
        let found = homes.slot(queue).map_or(EMPTY, |slot| self.take(queue, slot));
        let (value, same) = self.part(queue, bytes, found.value);
        Found { value, repeatable: found.repeatable && same, ..found }
    }

    /// The message of the first queue of `set` that has one: Express queues by number, then Basic.
    fn one_poll(&mut self, job: usize, set: u64, (producer, consumer): (u32, u32), homes: &Homes) -> Found {
        for own in (0..r::EXPRESS_QUEUES).filter(|own| set >> own & 1 != 0) {
            let queue = homes.names.express(job, own);
            let found = homes.slot(queue).map_or(EMPTY, |slot| self.take(queue, slot));
            if found.took.is_some() {
                return found;
            }
        }
        if set >> r::EXPRESS_QUEUES & 1 != 0 && producer != consumer {
            let pointers = u64::from(producer as u16) | u64::from(consumer as u16) << 16;
            return Found { value: composed(pointers, 0, r::EXPRESS_QUEUES as Name, 0), ..EMPTY };
        }
        EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nes::queues::Names;
    use crate::parameters::Queues;

    /// An inbox whose two queues are resident.
    struct Bench {
        inbox: Inbox,
        homes: Homes,
    }

    impl Bench {
        fn read(&mut self, offset: u64, bytes: u32, basic: (u32, u32)) -> Found {
            self.inbox.read((0, offset), bytes, basic, &self.homes)
        }

        fn push(&mut self, queue: Name, message: u64) {
            self.inbox.push(self.homes.slot(queue).unwrap(), message, Some((3, 9)));
        }
    }

    fn inbox() -> Bench {
        let tags = Ring { base: 0, slots: 2, slot_bytes: 96 };
        let homes = Homes::new(Names { jobs: 1, basic: 1 }, &Queues::default());
        Bench { inbox: Inbox::new(&[tags], &Express { slots: 2, tags: 2 }, 8), homes }
    }

    fn taken(value: u64, queue: Name) -> Found {
        Found { value, took: Some(queue), name: Some((3, 9)), repeatable: false }
    }

    const IDLE: (u32, u32) = (7, 7);

    #[test]
    fn a_load_takes_a_message_and_an_empty_queue_says_so() {
        let mut inbox = inbox();
        assert_eq!(inbox.read(0, 8, IDLE), EMPTY);
        let message = composed(0x1f_0000_0001, 3, 0, 0);
        inbox.push(0, message);
        assert_eq!(inbox.read(8, 8, IDLE), EMPTY, "the other queue");
        assert_eq!(inbox.read(0, 8, IDLE), taken(message, 0));
        assert_eq!(inbox.read(0, 8, IDLE), EMPTY);
    }

    #[test]
    fn two_short_loads_take_one_message() {
        let mut inbox = inbox();
        let message = composed(0x1f_8000_0001, 3, 0, 0);
        inbox.push(0, message);
        assert_eq!(inbox.read(0, 4, IDLE), taken(0x8000_0001, 0));
        // What comes in between is not mixed in.
        inbox.push(0, composed(5, 4, 0, 0));
        assert_eq!(inbox.read(4, 4, IDLE).value, message >> 32);
        assert_eq!(inbox.read(0, 4, IDLE).value, 5);
    }

    #[test]
    fn one_poll_takes_the_first_of_its_set() {
        let mut inbox = inbox();
        let (low, high) = (composed(1, 0, 1, 0), composed(2, 0, 0, 0));
        inbox.push(1, low);
        inbox.push(0, high);
        let all = r::ONEPOLL + 8 * 7;
        assert_eq!(inbox.read(r::ONEPOLL + 8 * 2, 8, IDLE).value, low, "queue 0 is not in the set");
        inbox.push(1, low);
        assert_eq!(inbox.read(all, 8, (9, 7)).value, high);
        assert_eq!(inbox.read(all, 8, (9, 7)).value, low);
        let basic = inbox.read(all, 8, (9, 7));
        assert_eq!(basic, Found { value: composed(9 | 7 << 16, 0, 2, 0), ..EMPTY });
        assert_eq!(inbox.read(all, 8, IDLE).value, r::EXPRESS_EMPTY);
    }

    #[test]
    fn room_counts_headers_and_tagged_data() {
        let mut bench = inbox();
        bench.inbox.tags[0].producer = 2;
        assert!(bench.inbox.has_room(0) && !bench.inbox.tags[0].has_room());
        bench.inbox.tags[0].consumer = 1;
        assert!(bench.inbox.tags[0].has_room());
        bench.push(0, 1);
        bench.push(0, 2);
        assert!(!bench.inbox.has_room(0) && bench.inbox.has_room(1));
    }
}

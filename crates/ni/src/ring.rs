//! Rings of slots, and the pointers of both sides, which count slots modulo 2^32. A pointer that software stores is a
//! doorbell: it may go as far as the other side's allows, else the process is at fault.

use chasqui_memory::PAGE_BYTES;

/// Where a ring of slots is.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Address of the first slot: physical, or virtual, whichever the NI has it by.
    pub base: u64,
    /// Slots.
    pub slots: u32,
    /// From one slot to the next [bytes].
    pub slot_bytes: u64,
}

impl Ring {
    /// Address of the slot that `pointer` says.
    pub fn slot(&self, pointer: u32) -> u64 {
        self.base.wrapping_add(u64::from(pointer % self.slots) * self.slot_bytes)
    }

    /// One side's pointer moves from `from` to `to`; it may go as far as `limit`, the other side's.
    ///
    /// # Errors
    /// It would go further, or back: what is wrong, where `what` is the pointer, in words.
    pub fn check_pointer(&self, what: &str, from: u32, to: u32, limit: u32) -> Result<(), String> {
        let (moves, most) = (to.wrapping_sub(from), limit.wrapping_sub(from));
        if moves <= most {
            return Ok(());
        }
        Err(format!(
            "protection: {to:#x} was stored to the {what} of a ring of {} slots; {from:#x} to {limit:#x} are allowed",
            self.slots
        ))
    }

    /// The same where nobody knows the limit here: no pointer goes on by more than the ring.
    ///
    /// # Errors
    /// As [`Ring::check_pointer`]'s.
    pub fn check_step(&self, what: &str, from: u32, to: u32) -> Result<(), String> {
        if to.wrapping_sub(from) <= self.slots {
            return Ok(());
        }
        Err(format!(
            "protection: {to:#x} was stored to the {what} of a ring of {} slots, {:#x} slots further than {from:#x}",
            self.slots,
            to.wrapping_sub(from)
        ))
    }

    /// Whole pages that it takes [bytes].
    pub fn bytes(&self) -> u64 {
        (u64::from(self.slots) * self.slot_bytes).next_multiple_of(PAGE_BYTES)
    }
}

/// A ring with both sides' pointers.
#[derive(Clone, Copy, Debug)]
pub struct SlotQueue {
    /// Where it is.
    pub ring: Ring,
    /// Slots that have been filled.
    pub producer: u32,
    /// Slots that are free again.
    pub consumer: u32,
}

impl SlotQueue {
    /// One in which nothing is.
    pub fn new(ring: Ring) -> SlotQueue {
        SlotQueue { ring, producer: 0, consumer: 0 }
    }

    /// No slot is filled.
    pub fn is_empty(&self) -> bool {
        self.producer == self.consumer
    }

    /// A slot is free.
    pub fn has_room(&self) -> bool {
        self.producer.wrapping_sub(self.consumer) < self.ring.slots
    }

    /// Address of the slot that is filled next.
    pub fn next(&self) -> u64 {
        self.ring.slot(self.producer)
    }

    /// Address of the oldest slot that is filled.
    pub fn oldest(&self) -> u64 {
        self.ring.slot(self.consumer)
    }

    /// The next slot is filled.
    pub fn push(&mut self) {
        self.producer = self.producer.wrapping_add(1);
    }

    /// The oldest slot is free.
    pub fn pop(&mut self) {
        self.consumer = self.consumer.wrapping_add(1);
    }

    /// Software has filled the slots before `producer`; `what` is the pointer, for messages.
    ///
    /// # Errors
    /// The ring has not so many: what is wrong, in words.
    pub fn post(&mut self, what: &str, producer: u32) -> Result<(), String> {
        let most = self.consumer.wrapping_add(self.ring.slots);
        self.ring.check_pointer(what, self.consumer, producer, most)?;
        self.producer = producer;
        Ok(())
    }

    /// Software is done with the slots before `consumer`; `what` is the pointer, for messages.
    ///
    /// # Errors
    /// They have not been filled: what is wrong, in words.
    pub fn release(&mut self, what: &str, consumer: u32) -> Result<(), String> {
        self.ring.check_pointer(what, self.consumer, consumer, self.producer)?;
        self.consumer = consumer;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> SlotQueue {
        SlotQueue::new(Ring { base: 0x1000, slots: 4, slot_bytes: 96 })
    }

    #[test]
    fn slots_are_used_in_turn_and_pointers_wrap() {
        let mut queue = queue();
        (queue.producer, queue.consumer) = (u32::MAX, u32::MAX);
        assert!(queue.is_empty() && queue.has_room());
        assert_eq!(queue.next(), 0x1000 + 3 * 96);
        queue.push();
        assert_eq!((queue.producer, queue.next(), queue.oldest()), (0, 0x1000, 0x1000 + 3 * 96));
        (0..3).for_each(|_| queue.push());
        assert!(!queue.has_room());
        queue.pop();
        assert!(queue.has_room() && queue.oldest() == 0x1000);
    }

    #[test]
    fn a_doorbell_goes_as_far_as_the_other_side_allows() {
        let mut queue = queue();
        assert_eq!(queue.post("producer", 4), Ok(()));
        let refused = queue.post("producer", 5).unwrap_err();
        assert!(
            refused.contains("0x5 was stored to the producer of a ring of 4 slots; 0x0 to 0x4"),
            "{refused}"
        );
        assert_eq!(queue.release("consumer", 2), Ok(()));
        assert!(queue.release("consumer", 1).is_err(), "back");
        assert!(queue.release("consumer", 5).is_err(), "further than the producer");
        assert_eq!(queue.post("producer", 6), Ok(()));
        assert_eq!((queue.producer, queue.consumer), (6, 2));
    }
}

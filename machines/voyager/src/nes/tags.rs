//! Slots for what came tagged on to messages (section 5.2). The header, in its Express queue, names its slot, and
//! software gives each back by itself: threads need no order among them, and no lock.

use chasqui_ni::Ring;

use crate::registers::{EXPRESS_QUEUES, TAGS_MAX};

const _: () = assert!(EXPRESS_QUEUES * TAGS_MAX <= 1 << 8, "a header names a slot by eight bits");

/// A process's slots: each of its Express queues has as many.
pub(super) struct TagSlots {
    pub ring: Ring,
    /// Of each slot: it holds what software is not done with.
    held: Vec<bool>,
    /// Of each queue: where the search for a free slot begins.
    next: [u32; EXPRESS_QUEUES as usize],
}

impl TagSlots {
    /// `ring` has the slots of all queues.
    pub fn new(ring: Ring) -> TagSlots {
        TagSlots { ring, held: vec![false; ring.slots as usize], next: [0; EXPRESS_QUEUES as usize] }
    }

    fn each(&self) -> u32 {
        self.ring.slots / EXPRESS_QUEUES as u32
    }

    /// The process's Express queue whose slot it is.
    pub fn queue(&self, slot: u32) -> u64 {
        u64::from(slot / self.each())
    }

    /// A free slot of Express queue `queue`: the next in turn.
    pub fn free(&self, queue: u64) -> Option<u32> {
        let (first, each) = (queue as u32 * self.each(), self.each());
        let in_turn = (0..each).map(|i| first + (self.next[queue as usize] + i) % each);
        in_turn.into_iter().find(|&slot| !self.held[slot as usize])
    }

    /// Something lies in the slot from now on.
    pub fn hold(&mut self, slot: u32) {
        self.held[slot as usize] = true;
        self.next[self.queue(slot) as usize] = slot % self.each() + 1;
    }

    /// Software is done with `slot`.
    ///
    /// # Errors
    /// Nothing is there: what is wrong, in words.
    pub fn release(&mut self, slot: u32) -> Result<(), String> {
        match self.held.get_mut(slot as usize) {
            Some(held) if *held => {
                *held = false;
                Ok(())
            }
            _ => Err(format!(
                "protection: slot {slot} of tagged data was given back, which holds none; there are {} slots",
                self.ring.slots
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_given_back_in_any_order_and_each_queue_has_its_own() {
        let mut tags = TagSlots::new(Ring { base: 0, slots: 8, slot_bytes: 96 });
        for slot in 4..8 {
            assert_eq!(tags.free(1), Some(slot));
            tags.hold(slot);
        }
        assert_eq!((tags.free(1), tags.free(0), tags.queue(7)), (None, Some(0), 1));
        tags.release(6).unwrap();
        assert_eq!(tags.free(1), Some(6), "the others stay");
        tags.hold(6);
        tags.release(4).unwrap();
        tags.release(6).unwrap();
        assert_eq!(tags.free(1), Some(4), "in turn");
        let text = tags.release(6).unwrap_err();
        assert!(
            text.starts_with("protection: slot 6 of tagged data was given back, which holds none"),
            "{text}"
        );
        assert!(tags.release(8).is_err());
    }
}

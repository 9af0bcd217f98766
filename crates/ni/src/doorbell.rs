//! Doorbells: stores that say that there is work for a queue. Those of an NI's queues stand at equal distances in its
//! registers, so that the store's address says whose it is, and a process gets those of its queues alone. What the value
//! says is the NI's: a pointer ([`SlotQueue::post`](crate::SlotQueue::post)), a descriptor's address, a count. A store of 64
//! bytes carries the descriptor or the message itself; a processor that can wait for the answer is told whether there was
//! room.

use chasqui_engine::Time;
use chasqui_memory::PAGE_BYTES;
use chasqui_placement::ProcessId;

use crate::{ACCEPTED, Context, RETRY, Reply};

/// Where doorbells are.
///
/// ```
/// let doorbells = chasqui_ni::Doorbells { stride: 16, queues: 3 };
/// assert_eq!(doorbells.find(40), Ok((2, 8)));
/// assert!(doorbells.find(48).is_err());
/// assert_eq!(doorbells.bytes(), 4096);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Doorbells {
    /// From one queue's to the next's [bytes].
    pub stride: u64,
    /// Queues.
    pub queues: u64,
}

impl Doorbells {
    /// Queue, and offset among its doorbells, of the doorbell at `offset` behind the first.
    ///
    /// # Errors
    /// There is no such queue: which, in words.
    pub fn find(&self, offset: u64) -> Result<(usize, u64), String> {
        let (queue, door) = (offset / self.stride, offset % self.stride);
        if queue < self.queues {
            return Ok((queue as usize, door));
        }
        Err(format!("protection: the doorbell of queue {queue}; there are {} queues", self.queues))
    }

    /// Whole pages that they take [bytes].
    pub fn bytes(&self) -> u64 {
        (self.queues * self.stride).next_multiple_of(PAGE_BYTES)
    }
}

impl Context<'_, '_> {
    /// Answers a store of 64 bytes `latency` after it is there: it was taken, or there is no room, of which `full` says whose
    /// queue it is, and what that means in words. Then a processor that waits for the answer tries again; one that doesn't
    /// is at fault.
    pub fn answer_64(
        &mut self,
        full: Option<impl FnOnce() -> (ProcessId, String)>,
        answered: bool,
        latency: Time,
    ) -> Reply {
        let Some(full) = full else { return Reply { value: ACCEPTED, latency, repeatable: false } };
        if !answered {
            let (process, what) = full();
            self.fault(process, what);
        }
        Reply { value: RETRY, latency, repeatable: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doorbell_is_its_queues() {
        let doorbells = Doorbells { stride: 16, queues: 300 };
        assert_eq!(doorbells.find(0), Ok((0, 0)));
        assert_eq!(doorbells.find(299 * 16 + 8), Ok((299, 8)));
        assert_eq!(doorbells.bytes(), 2 * PAGE_BYTES);
        let refused = doorbells.find(300 * 16).unwrap_err();
        assert_eq!(refused, "protection: the doorbell of queue 300; there are 300 queues");
    }
}

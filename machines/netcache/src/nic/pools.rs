//! Network memory: pools of elements of 16 bytes, from which each message that arrives is allotted a buffer (3.1, 5.2.1).
//! When no pool has room another is allotted.

use crate::registers::ELEMENT_BYTES;

pub(super) struct Pools {
    /// Elements in use, of all pools that are allotted, one after the other.
    used: Vec<bool>,
    /// Elements of a pool.
    pool: usize,
    /// Elements of network memory.
    limit: usize,
    /// Length [elements] of the buffer that begins at each element; 0: none does.
    lengths: Vec<u16>,
    /// Pools ever allotted.
    pub allotted: u64,
}

impl Pools {
    pub fn new(memory_bytes: u64, pool_bytes: u64) -> Pools {
        let limit = (memory_bytes / ELEMENT_BYTES) as usize;
        let pool = (pool_bytes / ELEMENT_BYTES) as usize;
        Pools { used: vec![], pool, limit, lengths: vec![0; limit], allotted: 0 }
    }

    /// A buffer for `bytes`, the first that fits: its offset [bytes]. `None`: there is no room.
    pub fn take(&mut self, bytes: u64) -> Option<u64> {
        let length = bytes.div_ceil(ELEMENT_BYTES).max(1) as usize;
        debug_assert!(length <= self.pool, "{bytes} bytes in a pool");
        let mut first = 0;
        let at = loop {
            if first == self.used.len() {
                if first + self.pool > self.limit {
                    return None;
                }
                self.used.resize(first + self.pool, false);
                self.allotted += 1;
            }
            if let Some(at) = room(&self.used[first..first + self.pool], length) {
                break first + at;
            }
            first += self.pool;
        };
        self.used[at..at + length].fill(true);
        self.lengths[at] = length as u16;
        Some(at as u64 * ELEMENT_BYTES)
    }

    /// The buffer at `offset` is free again: its length [bytes]. `None`: there is none.
    pub fn give(&mut self, offset: u64) -> Option<u64> {
        if !offset.is_multiple_of(ELEMENT_BYTES) {
            return None;
        }
        let at = (offset / ELEMENT_BYTES) as usize;
        let length = self.lengths.get_mut(at).map_or(0, std::mem::take) as usize;
        if length > 0 {
            self.used[at..at + length].fill(false);
        }
        (length > 0).then_some(length as u64 * ELEMENT_BYTES)
    }
}

/// Where `length` elements in a row are free.
fn room(pool: &[bool], length: usize) -> Option<usize> {
    let mut free = 0;
    for (at, used) in pool.iter().enumerate() {
        free = if *used { 0 } else { free + 1 };
        if free == length {
            return Some(at + 1 - length);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_stay_within_a_pool_and_another_is_allotted() {
        let mut pools = Pools::new(512, 256);
        assert_eq!((pools.take(16), pools.take(1), pools.take(0)), (Some(0), Some(16), Some(32)));
        assert_eq!((pools.take(224), pools.allotted), (Some(256), 2), "13 elements were left");
        assert_eq!(pools.take(224), None);
        assert_eq!([pools.give(16), pools.give(16)], [Some(16), None], "once");
        assert_eq!((pools.take(16), pools.take(32)), (Some(16), Some(48)));
    }
}

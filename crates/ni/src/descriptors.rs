//! A ring of descriptors in memory: the NI has those from `head` up to `tail`, and fetches some of them ahead.

use std::collections::VecDeque;

/// A ring of descriptors of `BYTES` bytes each.
pub struct DescriptorRing<const BYTES: usize> {
    /// Physical address.
    pub base: u64,
    /// The next that the NI is done with.
    pub head: u32,
    /// The first that is not the NI's.
    pub tail: u32,
    slots: u32,
    /// The next to be fetched.
    next: u32,
    fetched: VecDeque<[u8; BYTES]>,
}

impl<const BYTES: usize> DescriptorRing<BYTES> {
    /// One of `slots` descriptors, at address 0.
    pub fn new(slots: u32) -> DescriptorRing<BYTES> {
        DescriptorRing { base: 0, head: 0, tail: 0, slots, next: 0, fetched: VecDeque::new() }
    }

    /// Software gives the descriptors before `tail` to the NI.
    pub fn set_tail(&mut self, tail: u64) {
        self.tail = (tail % u64::from(self.slots)) as u32;
    }

    /// Physical address of a descriptor.
    pub fn address(&self, index: u32) -> u64 {
        self.base + u64::from(index) * BYTES as u64
    }

    /// What is fetched next: address and length of descriptors on one line [bytes].
    pub fn to_fetch(&self, line_bytes: u64) -> Option<(u64, u32)> {
        let end = if self.tail >= self.next { self.tail } else { self.slots };
        let address = self.address(self.next);
        let on_line = ((line_bytes - address % line_bytes) / BYTES as u64).max(1);
        let count = on_line.min(u64::from(end - self.next));
        (count > 0).then_some((address, count as u32 * BYTES as u32))
    }

    /// Descriptors have been fetched.
    pub fn fetched(&mut self, bytes: &[u8]) {
        for descriptor in bytes.chunks_exact(BYTES) {
            self.fetched.push_back(descriptor.try_into().expect("a descriptor"));
            self.next = (self.next + 1) % self.slots;
        }
    }

    /// The next descriptor, if it has been fetched.
    pub fn front(&self) -> Option<&[u8; BYTES]> {
        self.fetched.front()
    }

    /// The NI is done with the next descriptor; its index.
    pub fn finish(&mut self) -> u32 {
        self.fetched.pop_front();
        let index = self.head;
        self.head = (self.head + 1) % self.slots;
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESCRIPTOR: u32 = 16;

    /// Bytes of `count` descriptors whose first byte numbers them, from `first` on.
    fn descriptors(first: u8, count: u32) -> Vec<u8> {
        let bytes = |n: u8| [vec![n], vec![0; DESCRIPTOR as usize - 1]].concat();
        (0..count as u8).flat_map(|n| bytes(first + n)).collect()
    }

    #[test]
    fn descriptors_are_fetched_by_lines_and_never_past_the_tail() {
        let mut ring = DescriptorRing::<16>::new(8);
        ring.base = 0x1020;
        assert_eq!(ring.to_fetch(64), None);
        ring.set_tail(7);
        // Two are left on the first line, then four; the seventh is the last.
        assert_eq!(ring.to_fetch(64), Some((0x1020, 32)));
        ring.fetched(&descriptors(0, 2));
        assert_eq!(ring.to_fetch(64), Some((0x1040, 64)));
        ring.fetched(&descriptors(2, 4));
        assert_eq!(ring.to_fetch(64), Some((0x1080, 16)));
        ring.fetched(&descriptors(6, 1));
        assert_eq!(ring.to_fetch(64), None);
        for index in 0..7 {
            assert_eq!(ring.front().map(|d| d[0]), Some(index));
            assert_eq!(ring.finish(), u32::from(index));
        }
        assert!(ring.front().is_none());
        // Around the end: up to the last slot, then from the first on.
        ring.set_tail(3);
        assert_eq!(ring.to_fetch(64), Some((0x1090, 16)));
        ring.fetched(&descriptors(7, 1));
        assert_eq!(ring.to_fetch(64), Some((0x1020, 32)));
    }

    #[test]
    fn lines_shorter_than_a_descriptor_are_fetched_whole() {
        let mut ring = DescriptorRing::<16>::new(4);
        ring.set_tail(3);
        assert_eq!(ring.to_fetch(8), Some((0, 16)));
    }
}

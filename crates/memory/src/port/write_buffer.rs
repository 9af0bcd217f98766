//! Stores that wait for the right to write their line.
//!
//! Entries leave in their order. One whose line has its place in the order of the bus is in memory, and stays until the
//! transaction is over.

use std::collections::VecDeque;

use super::memory_view::MemoryView;

/// A store to memory, within a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferedStore {
    /// Physical address.
    pub address: u64,
    /// Length [bytes].
    pub bytes: u32,
    /// Value, in its low bytes.
    pub value: u64,
    /// In memory already: owned, or written ahead of its time.
    pub applied: bool,
    /// The transaction for its line has its place in the order; the entry stays until it is over.
    pub owned: bool,
}

/// What the buffer has of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buffered {
    /// The newest store to these bytes gives the whole value.
    Forward(u64),
    /// Some buffered store has part of it.
    Overlap,
    /// A buffered store has other bytes of the line.
    SameLine,
    /// Nothing.
    None,
}

/// The write buffer.
pub(super) struct WriteBuffer {
    /// Oldest first.
    stores: VecDeque<BufferedStore>,
    /// Stores that it has room for.
    room: usize,
    /// Ones where an address names a line of the data cache.
    line_mask: u64,
    /// The line that the oldest store fetches, from the grant until its data are here.
    arriving: Option<u64>,
    changes: u64,
}

impl WriteBuffer {
    /// An empty buffer for `room` stores to lines of `line_bytes`.
    pub fn new(room: usize, line_bytes: u64) -> WriteBuffer {
        WriteBuffer {
            stores: VecDeque::with_capacity(room),
            room,
            line_mask: !(line_bytes - 1),
            arriving: None,
            changes: 0,
        }
    }

    /// Has what `other` has from now on.
    pub fn copy_from(&mut self, other: &WriteBuffer) {
        self.stores.clone_from(&other.stores);
        self.arriving = other.arriving;
    }

    /// Addresses of stores, oldest first.
    pub fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.stores.iter().map(|store| store.address)
    }

    /// Moves with every entry that comes or leaves.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.stores.is_empty()
    }

    /// There is room for `count` stores. A buffer with a single place takes two when it is empty.
    #[inline]
    pub fn has_room(&self, count: usize) -> bool {
        self.stores.len() + count <= self.room.max(count)
    }

    /// The oldest store.
    #[inline(always)]
    pub fn oldest(&self) -> Option<BufferedStore> {
        self.stores.front().copied()
    }

    /// A store to `line` is here.
    #[inline]
    pub fn has_line(&self, line: u64) -> bool {
        self.stores.iter().any(|store| store.address & self.line_mask == line)
    }

    /// The line that the oldest store fetches has its place in a cache; its data are on their way.
    #[inline]
    pub fn arriving(&self) -> Option<u64> {
        self.arriving
    }

    pub fn set_arriving(&mut self, line: Option<u64>) {
        self.arriving = line;
    }

    /// What a load of `bytes` at `pa` finds here.
    #[inline]
    pub fn find(&self, pa: u64, bytes: u32, memory: &MemoryView) -> Buffered {
        // Stores, like loads, are within a line.
        if !self.has_line(pa & self.line_mask) {
            return Buffered::None;
        }
        let end = pa + u64::from(bytes);
        // What was written ahead of its time is in memory, or newer data are.
        for store in self.stores.iter().rev().filter(|s| !s.applied || s.owned) {
            let store_end = store.address + u64::from(store.bytes);
            if store.address <= pa && end <= store_end {
                if store.owned {
                    return Buffered::Forward(memory.read(pa, bytes));
                }
                let value = store.value >> (8 * (pa - store.address));
                let mask = if bytes == 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
                return Buffered::Forward(value & mask);
            }
            if store.address < end && pa < store_end {
                return Buffered::Overlap;
            }
        }
        Buffered::SameLine
    }

    /// Takes a store of `bytes` at `address`.
    #[inline]
    pub fn push(&mut self, address: u64, bytes: u32, value: u64) {
        self.stores.push_back(BufferedStore { address, bytes, value, applied: false, owned: false });
        self.changes += 1;
    }

    /// The oldest store is over.
    #[inline]
    pub fn pop(&mut self) {
        self.stores.pop_front();
        self.changes += 1;
    }

    /// The oldest stores, if they are to `line`, take effect now, in the order of the bus. True: there are some. (Were
    /// they to wait for the data, another fetch could take the line away again, for ever.)
    pub fn own(&mut self, line: u64, memory: &mut MemoryView) -> bool {
        let mut owned = false;
        for store in &mut self.stores {
            if store.address & self.line_mask != line {
                break;
            }
            if !store.applied {
                memory.write(store.address, store.bytes, store.value);
            }
            (store.applied, store.owned, owned) = (true, true, true);
        }
        owned
    }

    /// Writes all stores to memory, ahead of their time. They stay.
    pub fn apply(&mut self, memory: &mut MemoryView) {
        for store in self.stores.iter_mut().filter(|s| !s.applied) {
            memory.write(store.address, store.bytes, store.value);
            store.applied = true;
        }
    }

    /// Stores that are not in memory, oldest first: address, length, value.
    pub fn pending(&self) -> impl Iterator<Item = (u64, u32, u64)> + '_ {
        self.stores.iter().filter(|s| !s.applied).map(|s| (s.address, s.bytes, s.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlatMemory;

    fn buffer() -> (WriteBuffer, FlatMemory) {
        (WriteBuffer::new(4, 32), FlatMemory::new(4096).unwrap())
    }

    #[test]
    fn the_newest_store_with_all_bytes_answers_and_a_part_does_not() {
        let (mut buffer, mut memory) = buffer();
        let view = MemoryView::new(&mut memory);
        assert_eq!(buffer.find(64, 4, &view), Buffered::None);
        buffer.push(64, 8, 0x1111_2222_3333_4444);
        assert!(buffer.has_room(3) && !buffer.has_room(4));
        buffer.push(66, 2, 0xabcd);
        assert_eq!(buffer.find(66, 2, &view), Buffered::Forward(0xabcd));
        assert_eq!(buffer.find(68, 4, &view), Buffered::Forward(0x1111_2222));
        assert_eq!(buffer.find(64, 8, &view), Buffered::Overlap, "the newer has two bytes of it");
        assert_eq!(buffer.find(80, 8, &view), Buffered::SameLine);
        assert_eq!(buffer.find(96, 8, &view), Buffered::None);
    }

    #[test]
    fn stores_to_an_owned_line_take_effect_up_to_the_first_to_another() {
        let (mut buffer, mut memory) = buffer();
        let mut view = MemoryView::new(&mut memory);
        for (address, value) in [(64, 1), (72, 2), (128, 3), (80, 4)] {
            buffer.push(address, 8, value);
        }
        assert!(!buffer.own(128, &mut view), "it is not the oldest's");
        assert!(buffer.own(64, &mut view));
        assert_eq!([64, 72, 128, 80].map(|at| view.read(at, 8)), [1, 2, 0, 0]);
        assert_eq!(buffer.pending().collect::<Vec<_>>(), [(128, 8, 3), (80, 8, 4)]);
        // What is in memory may be newer than the entry.
        view.write(64, 8, 9);
        assert_eq!(buffer.find(64, 8, &view), Buffered::Forward(9));
    }

    #[test]
    fn what_was_written_ahead_of_its_time_is_written_once() {
        let (mut buffer, mut memory) = buffer();
        let mut view = MemoryView::new(&mut memory);
        buffer.push(64, 8, 1);
        buffer.apply(&mut view);
        view.write(64, 8, 2);
        assert!(buffer.own(64, &mut view));
        assert_eq!(view.read(64, 8), 2);
        assert!(!buffer.is_empty(), "its transaction is not over");
        buffer.pop();
        assert!(buffer.is_empty());
    }
}

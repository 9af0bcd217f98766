//! Physical page frames of one process.

use std::ops::Range;

use chasqui_memory::FlatMemory;

use super::page::PAGE_BYTES;

/// Hands out frames of a range of physical memory: those of a program's text from the start up, all
/// others from the end down, then freed ones, the latest first. So where data lie in caches that are
/// indexed by physical address does not depend on how long the text is. All frames it gives are zero.
///
/// Page tables get frames that were never handed out. A device may still have the address of a page
/// that the process has given up, and write there.
///
/// Invariant: nothing else writes to the range, so frames that were never handed out are still zero.
pub struct Frames {
    range: Range<u64>,
    /// What was never handed out.
    fresh: Range<u64>,
    free: Vec<u64>,
}

impl Frames {
    /// The frames that lie wholly in `range`.
    pub fn new(range: Range<u64>) -> Frames {
        let start = range.start.next_multiple_of(PAGE_BYTES);
        let end = (range.end / PAGE_BYTES * PAGE_BYTES).max(start);
        Frames { range: start..end, fresh: start..end, free: Vec::new() }
    }

    /// A zeroed frame's physical address; none when all are in use.
    pub fn take(&mut self, memory: &mut FlatMemory) -> Option<u64> {
        if let Some(frame) = self.free.pop() {
            page_mut(memory, frame).fill(0);
            return Some(frame);
        }
        self.take_for_table()
    }

    /// The same for a page of the text.
    pub fn take_for_text(&mut self) -> Option<u64> {
        if self.fresh.is_empty() {
            return None;
        }
        self.fresh.start += PAGE_BYTES;
        Some(self.fresh.start - PAGE_BYTES)
    }

    /// The same for a page table.
    pub fn take_for_table(&mut self) -> Option<u64> {
        if self.fresh.is_empty() {
            return None;
        }
        self.fresh.end -= PAGE_BYTES;
        Some(self.fresh.end)
    }

    /// Takes a frame back.
    pub fn give(&mut self, frame: u64) {
        debug_assert!(
            self.contains(frame) && !self.fresh.contains(&frame) && frame.is_multiple_of(PAGE_BYTES)
        );
        self.free.push(frame);
    }

    /// Whether `physical` lies in the range.
    pub fn contains(&self, physical: u64) -> bool {
        self.range.contains(&physical)
    }

    /// Frames in use.
    pub fn used(&self) -> u64 {
        self.total() - (self.fresh.end - self.fresh.start) / PAGE_BYTES - self.free.len() as u64
    }

    /// Frames in all.
    pub fn total(&self) -> u64 {
        (self.range.end - self.range.start) / PAGE_BYTES
    }
}

/// The bytes of the frame at `physical`.
pub fn page_mut(memory: &mut FlatMemory, physical: u64) -> &mut [u8] {
    memory.slice_mut(physical, PAGE_BYTES as usize).expect("frames lie inside the node's memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_a_page_becomes_no_table() {
        let mut memory = FlatMemory::new(16 * PAGE_BYTES).unwrap();
        let mut frames = Frames::new(0..4 * PAGE_BYTES);
        let page = frames.take(&mut memory).unwrap();
        frames.give(page);
        let table = frames.take_for_table().unwrap();
        assert_ne!(table, page);
        assert_eq!(frames.take(&mut memory), Some(page));
        let rest = [frames.take(&mut memory), frames.take_for_text()].map(Option::unwrap);
        rest.into_iter().for_each(|frame| frames.give(frame));
        assert_eq!((frames.used(), frames.take_for_table()), (2, None));
    }
}

//! Physical page frames of one process.

use std::ops::Range;

use chasqui_memory::FlatMemory;

use super::page::PAGE_BYTES;

/// Hands out frames of a range of physical memory: those of a program's text from the start up, all
/// others from the end down, then freed ones, the latest first. So where data lie in caches that are
/// indexed by physical address does not depend on how long the text is. All frames it gives are zero.
///
/// A device may still have the address of a page that the process has given up, and write there. So no
/// frame whose address a device was told ever becomes a page table. A process that had all memory in
/// such pages gets no more tables, though memory is free.
///
/// Invariant: nothing else writes to the range, so frames that were never handed out are still zero.
pub struct Frames {
    range: Range<u64>,
    /// What was never handed out.
    fresh: Range<u64>,
    free: Vec<Free>,
}

/// A frame that came back.
struct Free {
    frame: u64,
    /// A device was told where it is.
    is_exposed: bool,
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
        let latest = self.free.pop();
        self.clear(memory, latest)
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
    pub fn take_for_table(&mut self, memory: &mut FlatMemory) -> Option<u64> {
        let latest = self.free.iter().rposition(|free| !free.is_exposed);
        let latest = latest.map(|place| self.free.remove(place));
        self.clear(memory, latest)
    }

    /// A frame that came back, or, if there is none, one that was never handed out.
    fn clear(&mut self, memory: &mut FlatMemory, came_back: Option<Free>) -> Option<u64> {
        if let Some(Free { frame, .. }) = came_back {
            page_mut(memory, frame).fill(0);
            return Some(frame);
        }
        if self.fresh.is_empty() {
            return None;
        }
        self.fresh.end -= PAGE_BYTES;
        Some(self.fresh.end)
    }

    /// Takes a frame back, which a device may have been told of.
    pub fn give(&mut self, frame: u64, is_exposed: bool) {
        debug_assert!(
            self.contains(frame) && !self.fresh.contains(&frame) && frame.is_multiple_of(PAGE_BYTES)
        );
        self.free.push(Free { frame, is_exposed });
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
    fn what_a_device_was_told_of_becomes_no_table() {
        let mut memory = FlatMemory::new(16 * PAGE_BYTES).unwrap();
        let mut frames = Frames::new(0..4 * PAGE_BYTES);
        let [plain, exposed] = [(); 2].map(|()| frames.take(&mut memory).unwrap());
        frames.give(plain, false);
        frames.give(exposed, true);
        assert_eq!(frames.take_for_table(&mut memory), Some(plain));
        assert!(frames.take_for_table(&mut memory).is_some_and(|fresh| fresh != exposed));
        assert!(frames.take_for_text().is_some());
        assert_eq!((frames.used(), frames.take_for_table(&mut memory)), (3, None));
        assert_eq!((frames.take(&mut memory), frames.take(&mut memory)), (Some(exposed), None));
    }

    #[test]
    fn a_table_gets_the_last_frame_that_is_free() {
        let mut memory = FlatMemory::new(16 * PAGE_BYTES).unwrap();
        let mut frames = Frames::new(0..2 * PAGE_BYTES);
        let pages = [(); 2].map(|()| frames.take(&mut memory).unwrap());
        page_mut(&mut memory, pages[0]).fill(1);
        frames.give(pages[0], false);
        assert_eq!(frames.take_for_table(&mut memory), Some(pages[0]));
        assert_eq!(page_mut(&mut memory, pages[0]), [0; PAGE_BYTES as usize]);
        assert_eq!(frames.take_for_table(&mut memory), None);
    }
}

//! Translation look-aside buffer and the Sv39 formats (privileged ISA, section 12.4).

use std::cell::Cell;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// Bits of a page-table entry.
pub mod pte {
    /// Valid.
    pub const V: u64 = 1;
    /// Readable.
    pub const R: u64 = 2;
    /// Writable.
    pub const W: u64 = 4;
    /// Executable.
    pub const X: u64 = 8;
    /// For user mode.
    pub const U: u64 = 16;
    /// Physical address of what an entry points at.
    pub const fn address(entry: u64) -> u64 {
        (entry >> 10 & ((1 << 44) - 1)) << 12
    }
}

/// What an access wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Load.
    Read,
    /// Store, or read-modify-write.
    Write,
    /// Instruction fetch.
    Execute,
}

impl Access {
    /// The permission bit it needs.
    pub fn bit(self) -> u64 {
        match self {
            Access::Read => pte::R,
            Access::Write => pte::W,
            Access::Execute => pte::X,
        }
    }
}

/// A translation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Translation {
    /// Virtual page address; all ones: empty.
    pub virtual_page: u64,
    /// Physical page address.
    pub physical_page: u64,
    /// Permission bits, as in [`pte`].
    pub permissions: u64,
}

/// Translations walked lately without time: the simulator's own memory of the page tables.
pub(crate) struct Walked {
    entries: [Cell<Translation>; HINTS],
}

impl Walked {
    pub fn new() -> Walked {
        Walked { entries: [const { Cell::new(EMPTY) }; HINTS] }
    }

    /// The translation of the page at `page`.
    #[inline]
    pub fn find(&self, page: u64) -> Option<Translation> {
        let t = self.entries[(page / PAGE_BYTES) as usize % HINTS].get();
        (t.virtual_page == page).then_some(t)
    }

    pub fn insert(&self, t: Translation) {
        self.entries[(t.virtual_page / PAGE_BYTES) as usize % HINTS].set(t);
    }

    pub fn flush(&self) {
        self.entries.iter().for_each(|e| e.set(EMPTY));
    }
}

/// A set-associative TLB, first in first out within a set (ours: recency of hits would have to be
/// kept on every access; data sheets seldom say).
pub struct Tlb {
    entries: Vec<Translation>,
    next: Vec<u8>,
    ways: usize,
    set_mask: u64,
    /// Where a page was found last, by its low bits: a short cut past the search of the set.
    hints: [u16; HINTS],
}

const HINTS: usize = 64;

const EMPTY: Translation = Translation { virtual_page: u64::MAX, physical_page: 0, permissions: 0 };

impl Tlb {
    /// A TLB of `entries`, `ways` a set.
    ///
    /// # Panics
    /// When that does not make a power of two of sets.
    pub fn new(entries: u32, ways: u32) -> Tlb {
        let sets = entries / ways;
        assert!(
            sets.is_power_of_two() && entries.is_multiple_of(ways) && ways <= 255,
            "TLB of {entries}/{ways}"
        );
        Tlb {
            entries: vec![EMPTY; entries as usize],
            next: vec![0; sets as usize],
            ways: ways as usize,
            set_mask: u64::from(sets) - 1,
            hints: [0; HINTS],
        }
    }

    fn set(&self, page: u64) -> usize {
        ((page / PAGE_BYTES) & self.set_mask) as usize
    }

    /// The translation of the page at `page`.
    #[inline]
    pub fn find(&mut self, page: u64) -> Option<Translation> {
        let hint = (page / PAGE_BYTES) as usize % HINTS;
        let hinted = &self.entries[usize::from(self.hints[hint])];
        if hinted.virtual_page == page {
            return Some(*hinted);
        }
        let first = self.set(page) * self.ways;
        let way = self.entries[first..first + self.ways].iter().position(|e| e.virtual_page == page)?;
        self.hints[hint] = (first + way) as u16;
        Some(self.entries[first + way])
    }

    /// The same, leaving no trace.
    pub fn peek(&self, page: u64) -> Option<Translation> {
        let first = self.set(page) * self.ways;
        self.entries[first..first + self.ways].iter().find(|e| e.virtual_page == page).copied()
    }

    /// Adds a translation; returns the one that had to go.
    pub fn insert(&mut self, translation: Translation) -> Option<Translation> {
        let set = self.set(translation.virtual_page);
        let slot = set * self.ways + usize::from(self.next[set]);
        self.next[set] = ((usize::from(self.next[set]) + 1) % self.ways) as u8;
        let old = std::mem::replace(&mut self.entries[slot], translation);
        (old.virtual_page != EMPTY.virtual_page).then_some(old)
    }

    /// Forgets the translation of `page`.
    pub fn forget(&mut self, page: u64) {
        let first = self.set(page) * self.ways;
        for entry in &mut self.entries[first..first + self.ways] {
            if entry.virtual_page == page {
                *entry = EMPTY;
            }
        }
    }

    /// Forgets everything.
    pub fn flush(&mut self) {
        self.entries.fill(EMPTY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_set_forgets_its_oldest() {
        let mut tlb = Tlb::new(4, 2);
        let page =
            |n: u64| Translation { virtual_page: n * 2 * PAGE_BYTES, physical_page: n, permissions: 0 };
        assert!(tlb.insert(page(1)).is_none());
        assert!(tlb.insert(page(2)).is_none());
        assert_eq!(tlb.insert(page(3)).unwrap().physical_page, 1);
        assert!(tlb.find(2 * PAGE_BYTES).is_none());
        assert_eq!(tlb.find(6 * PAGE_BYTES).unwrap().physical_page, 3);
    }
}

//! The walk of an Sv39 page table (privileged ISA, section 12.4), an entry at a time. Who walks reads the entries, and knows
//! how long that takes: a hart's MMU (`port/mmu.rs`), or that of a device.

use crate::tlb::{PAGE_BYTES, Translation, pte};

/// A walk in progress.
///
/// ```
/// use chasqui_memory::{Walk, WalkStep, pte};
/// let walk = Walk::begin(0x1000, 0x20_3000).expect("an address of Sv39");
/// assert_eq!(walk.entry(), 0x1000);
/// let Some(WalkStep::Next(walk)) = walk.follow(0x2000 >> 2 | pte::V) else { panic!("no table") };
/// assert_eq!(walk.entry(), 0x2000 + 8);
/// assert!(walk.follow(0).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    page: u64,
    level: u32,
    table: u64,
}

/// What an entry of a page table says.
#[derive(Clone, Copy, Debug)]
pub enum WalkStep {
    /// Another entry is to be loaded.
    Next(Walk),
    /// The walk is over.
    Leaf(Translation),
}

impl Walk {
    /// The walk for the page at virtual address `page`, from the root page table at physical address `root`. `None`: Sv39 has
    /// no such address, of which the bits from 39 on are not all as bit 38 is.
    #[inline]
    pub fn begin(root: u64, page: u64) -> Option<Walk> {
        let canonical = (page as i64) << 25 >> 25 == page as i64;
        canonical.then_some(Walk { page, level: 2, table: root })
    }

    /// The walk for `page` at the last level, at the table there.
    #[inline]
    pub(crate) fn at_last(page: u64, table: u64) -> Walk {
        Walk { page, level: 0, table }
    }

    /// Virtual address of the page that is looked for.
    #[inline]
    pub fn page(&self) -> u64 {
        self.page
    }

    /// Physical address of the table that comes next.
    #[inline]
    pub fn table(&self) -> u64 {
        self.table
    }

    /// It has read nothing.
    #[inline]
    pub(crate) fn is_at_first(&self) -> bool {
        self.level == 2
    }

    /// It has come to the last level.
    #[inline]
    pub fn is_at_last(&self) -> bool {
        self.level == 0
    }

    /// Physical address of the entry that comes next, of 8 bytes.
    #[inline]
    pub fn entry(&self) -> u64 {
        self.table + (self.page >> (12 + 9 * self.level) & 511) * 8
    }

    /// What `entry` says, which was at [`Walk::entry`]. `None`: the page has no translation. There need not be memory where a
    /// translation leads.
    #[inline]
    pub fn follow(self, entry: u64) -> Option<WalkStep> {
        let Walk { page, level, .. } = self;
        if entry & pte::V == 0 {
            return None;
        }
        if entry & (pte::R | pte::X) == 0 {
            let down = |level| WalkStep::Next(Walk { page, level, table: pte::address(entry) });
            return level.checked_sub(1).map(down);
        }
        let span = (PAGE_BYTES << (9 * level)) - 1;
        let physical_page = pte::address(entry) & !span | page & span;
        let permissions = entry & (pte::R | pte::W | pte::X | pte::U);
        Some(WalkStep::Leaf(Translation { virtual_page: page, physical_page, permissions }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pages_keep_the_bits_below() {
        let leaf = (3 << 30) >> 2 | pte::V | pte::R | pte::U;
        let page = (1 << 30) + 5 * PAGE_BYTES;
        let Some(WalkStep::Leaf(t)) = Walk::begin(0, page).unwrap().follow(leaf) else { panic!("no leaf") };
        assert_eq!((t.virtual_page, t.physical_page), (page, (3 << 30) + 5 * PAGE_BYTES));
        assert_eq!(t.permissions, pte::R | pte::U);
    }

    #[test]
    fn no_address_beyond_those_of_sv39_and_no_table_below_the_last() {
        assert!(Walk::begin(0, 1 << 38).is_none() && Walk::begin(0, !0 << 38).is_some());
        assert!(Walk::at_last(0, 0x3000).follow(0x4000 >> 2 | pte::V).is_none());
    }
}

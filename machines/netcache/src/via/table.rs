//! The translation and protection table (VIA 1.0, 2.4): for each registered page its physical address, who may use it
//! and for what. It is the NIC's own memory; the driver fills it.
//!
//! A memory handle is the number of the region's first entry less that of its first virtual page, modulo 2^32. So the
//! sum of a handle and a page's number is its entry, and regions need no other table.

use chasqui_memory::{DEVICE_BASE, PAGE_BYTES};
use chasqui_ni::Piece;

use super::registers::{TABLE_PAGE, TABLE_VALID};

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Physical address of the page, and `TABLE_*`.
    page: u64,
    /// Protection tag; in the high half the number of the virtual page.
    tag: u64,
}

pub(super) struct Table {
    entries: Vec<Entry>,
}

impl Table {
    pub fn new(entries: u64) -> Table {
        Table { entries: vec![Entry::default(); entries as usize] }
    }

    /// The driver stores a word. False: there is no such entry.
    pub fn store(&mut self, entry: u64, word: u64, value: u64) -> bool {
        let Some(entry) = self.entries.get_mut(entry as usize) else { return false };
        if word == TABLE_PAGE {
            entry.page = value;
        } else {
            entry.tag = value;
        }
        true
    }

    /// The physical memory of `bytes` at virtual address `address`, which `handle` and `tag` give a right to, for all
    /// that `access` says. `None`: they do not, or a page of it is a device's: there is no memory to read or write.
    pub fn translate(
        &self,
        address: u64,
        handle: u32,
        bytes: u64,
        tag: u32,
        access: u64,
    ) -> Option<Vec<Piece>> {
        let end = address.checked_add(bytes)?;
        let mut pieces = Vec::new();
        let mut at = address;
        while at < end {
            let virtual_page = (at / PAGE_BYTES) as u32;
            let entry = self.entries.get(handle.wrapping_add(virtual_page) as usize)?;
            let needs = access | TABLE_VALID;
            if entry.page & needs != needs || entry.tag != u64::from(tag) | u64::from(virtual_page) << 32 {
                return None;
            }
            let page = entry.page & !(PAGE_BYTES - 1);
            if page >= DEVICE_BASE {
                return None;
            }
            let bytes = (PAGE_BYTES - at % PAGE_BYTES).min(end - at);
            pieces.push(Piece { address: page + at % PAGE_BYTES, bytes });
            at += bytes;
        }
        Some(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::via::registers::{TABLE_RDMA_WRITE, TABLE_TAG, TABLE_WRITE};

    /// Two pages from 0x5000 on, in entries 7 and 8, the second of which may be read only.
    fn table() -> (Table, u32) {
        let mut table = Table::new(16);
        for (entry, virtual_page, page, access) in
            [(7, 5u64, 0x9000, TABLE_WRITE | TABLE_RDMA_WRITE), (8, 6, 0x3000, 0)]
        {
            assert!(table.store(entry, TABLE_PAGE, page | TABLE_VALID | access));
            assert!(table.store(entry, TABLE_TAG, 1 | virtual_page << 32));
        }
        (table, 7 - 5)
    }

    #[test]
    fn memory_is_found_page_by_page() {
        let (table, handle) = table();
        let found = table.translate(0x5ff0, handle, 0x20, 1, 0);
        assert_eq!(found, Some([0x9ff0, 0x3000].map(|address| Piece { address, bytes: 0x10 }).to_vec()));
        assert_eq!(table.translate(0x5000, handle, 0, 1, 0), Some(vec![]));
    }

    #[test]
    fn what_handle_tag_and_rights_do_not_give_is_refused() {
        let (mut table, handle) = table();
        let refused = |address, handle, bytes, tag, access| {
            assert_eq!(table.translate(address, handle, bytes, tag, access), None, "{address:#x} {handle}");
        };
        refused(0x5000, handle + 1, 8, 1, 0); // another entry
        refused(0x5000, handle + 100, 8, 1, 0); // none
        refused(0x5000, handle.wrapping_sub(9), 8, 1, 0);
        refused(0x5000, handle, 8, 2, 0);
        refused(0x4ff8, handle, 16, 1, 0);
        refused(0x6ff8, handle, 16, 1, 0);
        refused(0x5ff8, handle, 16, 1, TABLE_WRITE); // half of it
        refused(0x6000, handle, 8, 1, TABLE_RDMA_WRITE);
        refused(u64::MAX - 4, handle, 16, 1, 0);
        assert!(table.store(8, TABLE_PAGE, DEVICE_BASE | TABLE_VALID | TABLE_WRITE));
        assert_eq!(table.translate(0x5ff8, handle, 16, 1, 0), None, "the second page is a device's");
        assert!(!table.store(16, TABLE_PAGE, 0));
        assert!(table.store(7, TABLE_PAGE, 0));
        assert_eq!(table.translate(0x5000, handle, 8, 1, 0), None, "it is not registered any more");
    }
}

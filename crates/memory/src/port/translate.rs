//! Virtual to physical: TLBs and the timed Sv39 walk (privileged ISA, section 12.4).

use super::{Access, DEVICE_BASE, Fault, Port, Stall, Stop};
use crate::tlb::{CHUNK_BYTES, PAGE_BYTES, Privilege, Translation, pte};

/// A walk in progress. It is kept over retries, so that lines of page-table entries and of data that
/// fall into one set can't evict each other for ever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    page: u64,
    level: u32,
    table: u64,
}

/// The translations of an access that crosses a page. They are kept over retries too: a small TLB may not
/// hold both at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    va: u64,
    access: Access,
    low: u64,
    high: u64,
}

impl Port {
    /// Accesses are made with `privilege` from now on. It is the user's at first.
    pub fn set_privilege(&mut self, privilege: Privilege) {
        self.privilege = privilege;
        let bank = match privilege {
            Privilege::User => 0,
            Privilege::Supervisor { sum: false } => 1,
            Privilege::Supervisor { sum: true } => 2,
        };
        for table in [&mut self.data, &mut self.instructions, &mut self.untimed] {
            table.select(bank);
        }
    }

    /// Physical addresses of the `first` bytes at `va` and of those after them, which are on another line.
    pub(super) fn translate_both(
        &mut self,
        va: u64,
        first: u32,
        access: Access,
        cycles: &mut u64,
    ) -> Result<(u64, u64), Stop> {
        let second = va.wrapping_add(u64::from(first));
        if !second.is_multiple_of(PAGE_BYTES) {
            let (low, _) = self.translate(va, access, cycles)?;
            return Ok((low, low + u64::from(first)));
        }
        if let Some(s) = self.split.filter(|s| s.va == va && s.access == access) {
            return Ok((s.low, s.high));
        }
        let (low, _) = self.translate(va, access, cycles)?;
        let (high, _) = self.translate(second, access, cycles)?;
        self.split = Some(Split { va, access, low, high });
        Ok((low, high))
    }

    /// Physical address of `va`, and the page's permissions.
    #[inline]
    pub(super) fn translate(
        &mut self,
        va: u64,
        access: Access,
        cycles: &mut u64,
    ) -> Result<(u64, u64), Stop> {
        let page = va & !(PAGE_BYTES - 1);
        let t = if self.is_cached() {
            let tlb = if access == Access::Execute { &mut self.itlb } else { &mut self.dtlb };
            tlb.find(page).map_or_else(|| self.walk(page, access, cycles), Ok)
        } else {
            self.untimed_walk(page, access)
        };
        // A fault names the address, not only its page.
        let t = t.map_err(|stop| match stop {
            Stop::Fault(Fault::Page { .. }) => Stop::Fault(Fault::Page { address: va, access }),
            other => other,
        })?;
        if !self.privilege.allows(t.permissions, access) {
            return Err(Stop::Fault(Fault::Page { address: va, access }));
        }
        Ok((t.physical_page | (va & (PAGE_BYTES - 1)), t.permissions))
    }

    fn walk(&mut self, page: u64, access: Access, cycles: &mut u64) -> Result<Translation, Stop> {
        let fault = Stop::Fault(Fault::Page { address: page, access });
        let canonical = (page as i64) << 25 >> 25 == page as i64;
        let start = Walk { page, level: 2, table: self.root };
        let mut walk = self.walk.filter(|w| w.page == page).unwrap_or(start);
        if !canonical {
            return Err(fault);
        }
        loop {
            let entry_address = walk.table + (page >> (12 + 9 * walk.level) & 511) * 8;
            self.walk = Some(walk);
            self.walker_load(entry_address, cycles)?;
            *cycles += self.parameters.order.walk.cycles();
            self.waits.add(Stall::Walk, self.parameters.order.walk.cycles());
            let entry = self.read_memory(entry_address, 8);
            if entry & pte::V == 0 {
                break;
            }
            if entry & (pte::R | pte::X) != 0 {
                self.walk = None;
                let translation = self.leaf(page, entry, walk.level, access)?;
                return Ok(self.keep(translation, access));
            }
            if walk.level == 0 {
                break;
            }
            walk = Walk { page, level: walk.level - 1, table: pte::address(entry) };
        }
        self.walk = None;
        Err(fault)
    }

    /// The walk without caches and time.
    #[inline]
    pub(super) fn untimed_walk(&self, page: u64, access: Access) -> Result<Translation, Stop> {
        if let Some(t) = self.walked.find(page) {
            return Ok(t);
        }
        let t = self.read_tables(page, access)?;
        self.walked.insert(t);
        Ok(t)
    }

    fn read_tables(&self, page: u64, access: Access) -> Result<Translation, Stop> {
        let fault = Stop::Fault(Fault::Page { address: page, access });
        if (page as i64) << 25 >> 25 != page as i64 {
            return Err(fault);
        }
        let mut table = self.root;
        for level in [2, 1, 0] {
            let entry = self.read_memory(table + (page >> (12 + 9 * level) & 511) * 8, 8);
            if entry & pte::V == 0 {
                break;
            }
            if entry & (pte::R | pte::X) != 0 {
                return self.leaf(page, entry, level, access);
            }
            table = pte::address(entry);
        }
        Err(fault)
    }

    /// The translation that a leaf entry gives; its memory must exist.
    fn leaf(&self, page: u64, entry: u64, level: u32, access: Access) -> Result<Translation, Stop> {
        let span = (PAGE_BYTES << (9 * level)) - 1;
        let physical_page = pte::address(entry) & !span | page & span;
        let exists = physical_page + PAGE_BYTES <= self.memory_bytes || physical_page >= DEVICE_BASE;
        if !exists {
            return Err(Stop::Fault(Fault::Page { address: page, access }));
        }
        let permissions = entry & (pte::R | pte::W | pte::X | pte::U);
        Ok(Translation { virtual_page: page, physical_page, permissions })
    }

    fn keep(&mut self, translation: Translation, access: Access) -> Translation {
        self.changes += 1;
        if access == Access::Execute {
            self.statistics.itlb_misses += 1;
            if let Some((old, _)) = self.itlb.insert(translation) {
                self.drop_fast_fetch(old.virtual_page, PAGE_BYTES);
            }
        } else {
            self.statistics.dtlb_misses += 1;
            if let Some((old, chunks)) = self.dtlb.insert(translation) {
                self.drop_fast_chunks(old.virtual_page, chunks);
            }
        }
        translation
    }

    /// The data TLB lost `page`: its lines leave the fast table. Only those of `chunks` may be there.
    fn drop_fast_chunks(&mut self, page: u64, mut chunks: u64) {
        while chunks != 0 {
            let chunk = page + u64::from(chunks.trailing_zeros()) * CHUNK_BYTES;
            // A chunk may have several lines, or be part of one.
            let mut line = chunk & self.data.granule_mask;
            while line < chunk + CHUNK_BYTES {
                for index in self.data.indices(line) {
                    if self.data.at(index).load == line {
                        self.drop_fast_data(index);
                    }
                }
                line += self.l1d.line_bytes();
            }
            chunks &= chunks - 1;
        }
    }

    /// The data TLB has forgotten `page`.
    pub(super) fn drop_fast_page(&mut self, page: u64) {
        self.drop_fast_chunks(page, u64::MAX);
    }

    /// The walker's loads go through the data cache.
    fn walker_load(&mut self, pa: u64, cycles: &mut u64) -> Result<(), Stop> {
        if pa + 8 > self.memory_bytes {
            return Err(Stop::Fault(Fault::Page { address: pa, access: Access::Read }));
        }
        let way = self.obtain(self.line(pa), false, Stall::Walk, cycles)?;
        self.touch(way);
        Ok(())
    }
}

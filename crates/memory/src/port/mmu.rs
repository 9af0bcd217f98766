//! Virtual to physical: TLBs and the Sv39 walk (privileged ISA, section 12.4).
//!
//! A timed walk ([`Walk`]) loads its entries through the data cache, which is not here: [`Mmu::begin`] and [`Step::Next`] name
//! the entry to be loaded, [`Mmu::follow`] goes on with it.

use super::memory_view::{DEVICE_BASE, MemoryView};
use super::stop::{Fault, Stop};
use crate::tlb::{Access, Evicted, PAGE_BYTES, Privilege, Tlb, TlbParameters, Translation, Walked};
use crate::walk::{Walk, WalkStep as Step};

impl Upper {
    /// The walk for `page` at the last level.
    #[inline]
    pub fn last_level(&self, page: u64) -> Walk {
        Walk::at_last(page, self.table)
    }
}

/// The translations of an access that crosses a page. They are kept over retries too: a small TLB may not
/// hold both at once.
#[derive(Clone, Copy, Debug)]
struct Split {
    va: u64,
    access: Access,
    low: u64,
    high: u64,
}

/// The upper two levels of a walk that was made: where it found what, so that the next one need not decode it again. It is no
/// state of the machine's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upper {
    /// The pages for which it holds: those with the same bits from [`REGION_SHIFT`] on, under the same root.
    region: u64,
    root: u64,
    /// Physical addresses of the two entries.
    pub entries: [u64; 2],
    /// What they say.
    values: [u64; 2],
    /// Where their lines were in the data cache.
    pub ways: [usize; 2],
    /// The table of the last level.
    table: u64,
}

/// A table of the last level has the translations of so many bits of addresses.
const REGION_SHIFT: u32 = 21;
/// A power of two.
const UPPERS: usize = 8;

/// The memory management unit.
pub(super) struct Mmu {
    /// Physical address of the root page table.
    root: u64,
    privilege: Privilege,
    itlb: Tlb,
    dtlb: Tlb,
    /// What was walked lately without time.
    walked: Walked,
    /// It is kept over retries, so that lines of page-table entries and of data that fall into one set can't evict each other
    /// for ever.
    walk: Option<Walk>,
    /// By the low bits of their regions.
    uppers: [Option<Upper>; UPPERS],
    split: Option<Split>,
    changes: u64,
}

impl Mmu {
    /// Empty TLBs. Accesses are the user's at first.
    pub fn new(itlb: &TlbParameters, dtlb: &TlbParameters) -> Mmu {
        Mmu {
            root: 0,
            privilege: Privilege::User,
            itlb: Tlb::new(itlb.entries as u32, itlb.ways as u32),
            dtlb: Tlb::new(dtlb.entries as u32, dtlb.ways as u32),
            walked: Walked::new(),
            walk: None,
            uppers: [None; UPPERS],
            split: None,
            changes: 0,
        }
    }

    /// Moves with every translation that comes or is forgotten.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Sets the root page table. Translations stay until [`Mmu::flush`].
    pub fn set_root(&mut self, root: u64) {
        self.root = root;
    }

    pub fn set_privilege(&mut self, privilege: Privilege) {
        self.privilege = privilege;
    }

    /// Forgets all translations.
    pub fn flush(&mut self) {
        self.itlb.flush();
        self.dtlb.flush();
        self.walked.flush();
        (self.walk, self.split) = (None, None);
        self.changes += 1;
    }

    /// Forgets the translation of the page at `page`.
    pub fn forget(&mut self, page: u64) {
        self.itlb.forget(page);
        self.dtlb.forget(page);
        self.walked.flush();
        (self.walk, self.split) = (None, None);
        self.changes += 1;
    }

    /// Accesses as they are now made may use a page with these permission bits.
    #[inline]
    pub fn allows(&self, permissions: u64, access: Access) -> bool {
        self.privilege.allows(permissions, access)
    }

    // --- without time ---------------------------------------------------------------------------

    /// The translation of the page at `page`, without TLBs and time.
    #[inline]
    pub fn untimed(&self, page: u64, access: Access, memory: &MemoryView) -> Result<Translation, Stop> {
        if let Some(t) = self.walked.find(page) {
            return Ok(t);
        }
        let t = self.read_tables(page, access, memory)?;
        self.walked.insert(t);
        Ok(t)
    }

    /// The physical pages that [`Mmu::untimed`] reads for `page`, and the one that it gives; nothing is kept.
    pub fn pages_of(&self, page: u64, access: Access, memory: &MemoryView) -> [Option<u64>; 4] {
        let mut pages = [None; 4];
        if let Some(t) = self.walked.find(page) {
            pages[0] = Some(t.physical_page);
            return pages;
        }
        let (mut next, mut last) = (self.start(page, access).ok(), 0);
        while let Some(walk) = next.take() {
            pages[last] = Some(walk.table());
            last += 1;
            match follow_untimed(walk, access, memory) {
                Ok(Step::Next(lower)) => next = Some(lower),
                Ok(Step::Leaf(t)) => pages[last] = Some(t.physical_page),
                Err(_) => {}
            }
        }
        pages
    }

    fn read_tables(&self, page: u64, access: Access, memory: &MemoryView) -> Result<Translation, Stop> {
        let mut walk = self.start(page, access)?;
        loop {
            match follow_untimed(walk, access, memory)? {
                Step::Next(next) => walk = next,
                Step::Leaf(translation) => return Ok(translation),
            }
        }
    }

    fn start(&self, page: u64, access: Access) -> Result<Walk, Stop> {
        Walk::begin(self.root, page).ok_or(fault(page, access))
    }

    // --- TLBs and the timed walk ----------------------------------------------------------------

    /// The translation of the page at `page`, if the TLB for `access` has it.
    #[inline]
    pub fn find(&mut self, page: u64, access: Access) -> Option<Translation> {
        let tlb = if access == Access::Execute { &mut self.itlb } else { &mut self.dtlb };
        tlb.find(page)
    }

    /// The same, leaving no trace.
    pub fn peek(&self, page: u64, access: Access) -> Option<Translation> {
        let tlb = if access == Access::Execute { &self.itlb } else { &self.dtlb };
        tlb.peek(page)
    }

    /// Begins the walk for the page at `page`, or goes on with the one that waited. If it waits, [`Mmu::suspend`] keeps it.
    #[inline]
    pub fn begin(&mut self, page: u64, access: Access) -> Result<Walk, Stop> {
        let start = self.start(page, access)?;
        Ok(self.walk.take().filter(|w| w.page() == page).unwrap_or(start))
    }

    /// What is known of the upper levels of `walk`, which has just begun, if memory still says so.
    #[inline(always)]
    pub fn upper(&self, walk: Walk, memory: &MemoryView) -> Option<&Upper> {
        let region = walk.page() >> REGION_SHIFT;
        let upper = self.uppers[region as usize % UPPERS].as_ref()?;
        let holds = walk.is_at_first()
            && (upper.region, upper.root) == (region, self.root)
            && upper.entries.map(|entry| memory.read(entry, 8)) == upper.values;
        holds.then_some(upper)
    }

    /// `walk` has come to the last level, by these entries, whose lines are in these ways of the data cache.
    pub fn remember(&mut self, walk: Walk, entries: [u64; 2], ways: [usize; 2], memory: &MemoryView) {
        let region = walk.page() >> REGION_SHIFT;
        let values = entries.map(|entry| memory.read(entry, 8));
        let upper = Upper { region, root: self.root, entries, values, ways, table: walk.table() };
        self.uppers[region as usize % UPPERS] = Some(upper);
    }

    /// The entry that `walk` needs may have to be waited for.
    pub fn suspend(&mut self, walk: Walk) {
        self.walk = Some(walk);
    }

    /// The entry that `walk` needs has been loaded: what comes next.
    #[inline]
    pub fn follow(&mut self, walk: Walk, access: Access, memory: &MemoryView) -> Result<Step, Stop> {
        self.walk = None;
        step(walk, memory.read(walk.entry(), 8), access, memory)
    }

    /// The TLB for `access` takes `translation`; what had to go.
    #[inline]
    pub fn keep(&mut self, translation: Translation, access: Access) -> Option<Evicted> {
        self.changes += 1;
        let tlb = if access == Access::Execute { &mut self.itlb } else { &mut self.dtlb };
        tlb.insert(translation)
    }

    /// A line at `va` is fast: when its page leaves the data TLB, the owner hears of it.
    #[inline]
    pub fn mark(&mut self, va: u64) {
        self.dtlb.mark(va);
    }

    // --- accesses that cross a page -------------------------------------------------------------

    /// Physical addresses of the two parts of the access at `va`, if they are known.
    pub fn split(&self, va: u64, access: Access) -> Option<(u64, u64)> {
        self.split.filter(|s| s.va == va && s.access == access).map(|s| (s.low, s.high))
    }

    /// The parts of the access at `va` are at `low` and `high`.
    pub fn set_split(&mut self, va: u64, access: Access, (low, high): (u64, u64)) {
        self.split = Some(Split { va, access, low, high });
    }

    /// The access that crosses a page has been made.
    pub fn end_split(&mut self) {
        self.split = None;
    }
}

fn fault(page: u64, access: Access) -> Stop {
    Stop::Fault(Fault::Page { address: page, access })
}

/// What the entry says that `walk` needs. Tables may be where there is no memory.
fn follow_untimed(walk: Walk, access: Access, memory: &MemoryView) -> Result<Step, Stop> {
    let at = walk.entry();
    if !memory.contains(at, 8) {
        return Err(fault(walk.page(), access));
    }
    step(walk, memory.read(at, 8), access, memory)
}

/// What `entry` says, which `walk` needed.
#[inline]
fn step(walk: Walk, entry: u64, access: Access, memory: &MemoryView) -> Result<Step, Stop> {
    let page = walk.page();
    let step = walk.follow(entry).ok_or(fault(page, access))?;
    // Its memory must exist.
    if let Step::Leaf(Translation { physical_page, .. }) = step
        && !memory.contains(physical_page, PAGE_BYTES)
        && physical_page < DEVICE_BASE
    {
        return Err(fault(page, access));
    }
    Ok(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlatMemory, pte};

    const ROOT: u64 = 0x1000;
    const MIDDLE: u64 = 0x2000;
    const LAST: u64 = 0x3000;
    const DATA: u64 = 0x5000;

    /// Page 0 of the address space is [`DATA`].
    fn tables() -> FlatMemory {
        let mut memory = FlatMemory::new(1 << 16).unwrap();
        let leaf = pte::V | pte::R | pte::U;
        for (at, to, bits) in [(ROOT, MIDDLE, pte::V), (MIDDLE, LAST, pte::V), (LAST, DATA, leaf)] {
            memory.write(at, 8, to >> 2 | bits).unwrap();
        }
        memory
    }

    fn mmu() -> Mmu {
        let tlb = TlbParameters::new(4, 4);
        let mut mmu = Mmu::new(&tlb, &tlb);
        mmu.set_root(ROOT);
        mmu
    }

    #[test]
    fn a_walk_that_waits_goes_on_where_it_was() {
        let (mut memory, mut mmu) = (tables(), mmu());
        let view = MemoryView::new(&mut memory);
        let walk = mmu.begin(0, Access::Read).unwrap();
        assert_eq!(walk.entry(), ROOT);
        let Ok(Step::Next(walk)) = mmu.follow(walk, Access::Read, &view) else { panic!("a leaf") };
        mmu.suspend(walk);
        // Another page has a walk of its own, in its place.
        let walk = mmu.begin(0, Access::Read).unwrap();
        assert_eq!(walk.entry(), MIDDLE);
        mmu.suspend(walk);
        assert_eq!(mmu.begin(PAGE_BYTES, Access::Read).unwrap().entry(), ROOT);
        assert_eq!(mmu.begin(0, Access::Read).unwrap().entry(), ROOT);
        let Ok(Step::Next(walk)) = mmu.follow(walk, Access::Read, &view) else { panic!("a leaf") };
        let Ok(Step::Leaf(found)) = mmu.follow(walk, Access::Read, &view) else { panic!("no leaf") };
        assert_eq!((found.physical_page, found.permissions), (DATA, pte::R | pte::U));
        assert_eq!(mmu.begin(0, Access::Read).unwrap().entry(), ROOT, "it was over");
    }

    #[test]
    fn both_walks_find_the_same() {
        let (mut memory, mut mmu) = (tables(), mmu());
        // Beyond memory; and no level below the last.
        memory.write(LAST + 8, 8, (1 << 20) >> 2 | pte::V | pte::R).unwrap();
        memory.write(LAST + 16, 8, LAST >> 2 | pte::V).unwrap();
        let view = MemoryView::new(&mut memory);
        for page in [0, PAGE_BYTES, 2 * PAGE_BYTES, 3 * PAGE_BYTES, 1 << 38, 1 << 39] {
            let untimed = mmu.untimed(page, Access::Read, &view).map(|t| t.physical_page);
            let mut walk = mmu.begin(page, Access::Read);
            let timed = loop {
                match walk.and_then(|walk| mmu.follow(walk, Access::Read, &view)) {
                    Ok(Step::Next(next)) => walk = Ok(next),
                    Ok(Step::Leaf(t)) => break Ok(t.physical_page),
                    Err(stop) => break Err(stop),
                }
            };
            assert_eq!(timed, untimed, "page {page:#x}");
            let expected = if page == 0 { Ok(DATA) } else { Err(fault(page, Access::Read)) };
            assert_eq!(timed, expected, "page {page:#x}");
        }
    }

    #[test]
    fn a_table_where_no_memory_is_has_no_entries() {
        let (mut memory, mut mmu) = (tables(), mmu());
        memory.write(ROOT + 8, 8, (1 << 40) >> 2 | pte::V).unwrap();
        let view = MemoryView::new(&mut memory);
        let untimed = |mmu: &Mmu, page| mmu.untimed(page, Access::Read, &view).map(|t| t.physical_page);
        assert_eq!(untimed(&mmu, 1 << 30), Err(fault(1 << 30, Access::Read)));
        assert_eq!(mmu.pages_of(1 << 30, Access::Read, &view), [Some(ROOT), Some(1 << 40), None, None]);
        mmu.set_root(1 << 40);
        assert_eq!(untimed(&mmu, 0), Err(fault(0, Access::Read)));
    }

    #[test]
    fn what_a_walk_reads_is_known_before() {
        let (mut memory, mmu) = (tables(), mmu());
        let view = MemoryView::new(&mut memory);
        let pages = |page| mmu.pages_of(page, Access::Read, &view);
        assert_eq!(pages(0), [ROOT, MIDDLE, LAST, DATA].map(Some));
        assert_eq!(pages(PAGE_BYTES), [Some(ROOT), Some(MIDDLE), Some(LAST), None]);
        assert_eq!(pages(1 << 39), [None; 4]);
        mmu.untimed(0, Access::Read, &view).unwrap();
        assert_eq!(pages(0), [Some(DATA), None, None, None], "what is known is not read again");
    }

    #[test]
    fn a_tlb_forgets_what_is_mapped_anew() {
        let mut mmu = mmu();
        let t = Translation { virtual_page: 0, physical_page: DATA, permissions: pte::R | pte::U };
        assert!(mmu.keep(t, Access::Read).is_none());
        assert!(mmu.find(0, Access::Write).is_some() && mmu.find(0, Access::Execute).is_none());
        mmu.set_split(PAGE_BYTES - 4, Access::Read, (DATA, DATA + 4));
        assert!(mmu.split(PAGE_BYTES - 4, Access::Write).is_none());
        mmu.forget(0);
        assert!(mmu.find(0, Access::Read).is_none() && mmu.split(PAGE_BYTES - 4, Access::Read).is_none());
    }
}

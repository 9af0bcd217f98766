//! Translation look-aside buffer and the Sv39 formats (privileged ISA, section 12.4).

use std::cell::Cell;

use chasqui_config::Count;

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
    /// For user mode, and for it alone.
    pub const U: u64 = 16;
    /// In every address space.
    pub const G: u64 = 32;
    /// Was accessed.
    pub const A: u64 = 64;
    /// Was written.
    pub const D: u64 = 128;
    /// Physical address of what an entry points at.
    pub const fn address(entry: u64) -> u64 {
        (entry >> 10 & ((1 << 44) - 1)) << 12
    }
}

chasqui_config::parameters! {
    /// A translation look-aside buffer, first in first out within a set.
    pub struct TlbParameters {
        /// Entries.
        entries: Count = 64, range 1 ..= 65536, source "assumption";
        /// Ways of a set.
        ways: Count = 64, range 1 ..= 255, source "assumption: fully associative";
    }
}

impl TlbParameters {
    /// One of so many entries in sets of so many ways.
    pub const fn new(entries: u64, ways: u64) -> TlbParameters {
        TlbParameters { entries, ways }
    }

    /// What does not fit, in words.
    pub fn mistake(&self) -> Option<String> {
        let (entries, ways) = (self.entries, self.ways);
        let fits = entries.is_multiple_of(ways) && (entries / ways).is_power_of_two();
        (!fits).then(|| format!("{entries} entries of {ways} ways do not make a power of two of sets"))
    }
}

/// The kind of an access.
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

/// With what right an access is made (privileged ISA, "Supervisor Status Register" and "Sv39").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// User mode.
    User,
    /// Supervisor mode.
    Supervisor {
        /// Loads and stores may use the user's pages too.
        sum: bool,
    },
}

impl Privilege {
    /// Whether a page with these permission bits may be used so.
    #[inline]
    pub fn allows(self, permissions: u64, access: Access) -> bool {
        let users = permissions & pte::U != 0;
        let may = match self {
            Privilege::User => users,
            Privilege::Supervisor { sum } => !users || sum && access != Access::Execute,
        };
        may && permissions & access.bit() != 0
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
    entries: Vec<Entry>,
    next: Vec<u8>,
    ways: usize,
    set_mask: u64,
    /// Where a page was found last, by its low bits: a short cut past the search of the set.
    hints: [u16; HINTS],
    /// Pages held, by their low bits: where none is, nothing need be searched.
    held: [u8; HELD],
}

#[derive(Clone, Copy)]
struct Entry {
    translation: Translation,
    /// Chunks of the page, by number, that the owner has marked: see [`Tlb::mark`].
    marks: u64,
}

const HINTS: usize = 64;
const HELD: usize = 1024;

/// Bytes that one mark stands for.
pub(crate) const CHUNK_BYTES: u64 = PAGE_BYTES / 64;

const EMPTY: Translation = Translation { virtual_page: u64::MAX, physical_page: 0, permissions: 0 };

/// A translation that had to go, and the chunks of its page that were marked.
pub(crate) type Evicted = (Translation, u64);

fn held_index(page: u64) -> usize {
    (page / PAGE_BYTES) as usize % HELD
}

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
            entries: vec![Entry { translation: EMPTY, marks: 0 }; entries as usize],
            next: vec![0; sets as usize],
            ways: ways as usize,
            set_mask: u64::from(sets) - 1,
            hints: [0; HINTS],
            held: [0; HELD],
        }
    }

    fn set(&self, page: u64) -> usize {
        ((page / PAGE_BYTES) & self.set_mask) as usize
    }

    /// Place of the translation of the page at `page`.
    #[inline(always)]
    fn place(&self, page: u64) -> Option<usize> {
        let hint = usize::from(self.hints[(page / PAGE_BYTES) as usize % HINTS]);
        if self.entries[hint].translation.virtual_page == page { Some(hint) } else { self.search(page) }
    }

    #[inline]
    fn search(&self, page: u64) -> Option<usize> {
        // No more pages than a byte counts have these low bits, or the count stays at its end.
        if self.held[held_index(page)] == 0 {
            return None;
        }
        let first = self.set(page) * self.ways;
        let mut set = self.entries[first..first + self.ways].iter();
        Some(first + set.position(|e| e.translation.virtual_page == page)?)
    }

    /// The translation of the page at `page`.
    #[inline(always)]
    pub fn find(&mut self, page: u64) -> Option<Translation> {
        let place = self.place(page)?;
        self.hints[(page / PAGE_BYTES) as usize % HINTS] = place as u16;
        Some(self.entries[place].translation)
    }

    /// The same, leaving no trace.
    pub fn peek(&self, page: u64) -> Option<Translation> {
        self.place(page).map(|place| self.entries[place].translation)
    }

    /// Marks the chunk of `va`: when its page goes, the owner is notified.
    #[inline]
    pub(crate) fn mark(&mut self, va: u64) {
        if let Some(place) = self.place(va & !(PAGE_BYTES - 1)) {
            self.entries[place].marks |= 1 << (va % PAGE_BYTES / CHUNK_BYTES);
        }
    }

    /// Adds a translation; returns the one that had to go, with the chunks of its page that were marked.
    pub fn insert(&mut self, translation: Translation) -> Option<Evicted> {
        let set = self.set(translation.virtual_page);
        let slot = set * self.ways + usize::from(self.next[set]);
        let next = self.next[set] + 1;
        self.next[set] = if usize::from(next) == self.ways { 0 } else { next };
        let held = &mut self.held[held_index(translation.virtual_page)];
        *held = held.saturating_add(1);
        let old = std::mem::replace(&mut self.entries[slot], Entry { translation, marks: 0 });
        let page = old.translation.virtual_page;
        if page == EMPTY.virtual_page {
            return None;
        }
        self.release(page);
        Some((old.translation, old.marks))
    }

    fn release(&mut self, page: u64) {
        let held = &mut self.held[held_index(page)];
        if *held < u8::MAX {
            *held -= 1;
        }
    }

    /// Forgets the translation of `page`.
    pub fn forget(&mut self, page: u64) {
        let first = self.set(page) * self.ways;
        for place in first..first + self.ways {
            if self.entries[place].translation.virtual_page == page {
                self.entries[place].translation = EMPTY;
                self.release(page);
            }
        }
    }

    /// Forgets everything.
    pub fn flush(&mut self) {
        self.entries.fill(Entry { translation: EMPTY, marks: 0 });
        self.held = [0; HELD];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_users_or_the_supervisors() {
        let (users, supervisors) = (pte::R | pte::W | pte::X | pte::U, pte::R | pte::W | pte::X);
        let (plain, sum) = (Privilege::Supervisor { sum: false }, Privilege::Supervisor { sum: true });
        for access in [Access::Read, Access::Write, Access::Execute] {
            let may = |privilege: Privilege, page| privilege.allows(page, access);
            assert!(may(Privilege::User, users) && !may(Privilege::User, supervisors));
            assert!(may(plain, supervisors) && !may(plain, users) && may(sum, supervisors));
            assert_eq!(may(sum, users), access != Access::Execute);
            assert!(!may(sum, supervisors & !access.bit()));
        }
    }

    #[test]
    fn a_full_set_forgets_its_oldest() {
        let mut tlb = Tlb::new(4, 2);
        let page =
            |n: u64| Translation { virtual_page: n * 2 * PAGE_BYTES, physical_page: n, permissions: 0 };
        assert!(tlb.insert(page(1)).is_none());
        assert!(tlb.insert(page(2)).is_none());
        tlb.mark(2 * PAGE_BYTES + 3 * CHUNK_BYTES);
        let (old, marks) = tlb.insert(page(3)).unwrap();
        assert_eq!((old.physical_page, marks), (1, 1 << 3));
        assert!(tlb.find(2 * PAGE_BYTES).is_none());
        assert_eq!(tlb.find(6 * PAGE_BYTES).unwrap().physical_page, 3);
    }

    #[test]
    fn what_is_held_is_found() {
        for (entries, ways) in [(64, 64), (64, 4), (8, 8)] {
            let mut tlb = Tlb::new(entries, ways);
            let mut state = 1u64;
            println!("seed {state}");
            for round in 0..20_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Few low bits, so that pages meet in the filter.
                let page = ((state >> 33) % 5 + (state >> 40) % 40 * HELD as u64) * PAGE_BYTES;
                let known = tlb.entries.iter().any(|e| e.translation.virtual_page == page);
                assert_eq!(tlb.find(page).is_some(), known, "round {round}");
                match (state >> 60, known) {
                    (0, _) => tlb.forget(page),
                    (1, _) if state >> 50 & 1023 == 0 => tlb.flush(),
                    (_, false) => {
                        let physical_page = 0;
                        _ = tlb.insert(Translation { virtual_page: page, physical_page, permissions: 0 });
                    }
                    _ => {}
                }
            }
        }
    }
}

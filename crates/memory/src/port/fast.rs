//! The table that answers most accesses with one compare.
//!
//! An entry says: this virtual granule translates, the access is permitted, the line is in the L1
//! cache in a state that allows it, nothing is in the write buffer for it, no checker watches it.
//! Everything rare is folded into the tag by not being there.

use crate::cache::{Cache, FastIndex, State};
use crate::tlb::Privilege;

/// A tag that no access forms: data granules are at least [`DATA_GRANULE_MIN`] bytes, so that bit 3 of a tag is never set,
/// and the tag of a fetch is a multiple of four.
pub(crate) const NOTHING: u64 = u64::MAX;
/// Set in the tag of stores to a granule of data, it withholds these: none forms it.
const WITHHELD: u64 = 1 << 3;
/// The least granule of data [bytes].
pub(crate) const DATA_GRANULE_MIN: u64 = 16;
/// The least unit that is fetched [bytes]: an instruction lies in two at most.
const FETCH_MIN: u64 = 4;

/// One entry.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct FastLine {
    /// Virtual granule that may be loaded from.
    pub load: u64,
    /// Virtual granule that may be stored to.
    pub store: u64,
    /// Host address minus virtual address.
    pub delta: u64,
    /// The cache's way that has the line, whose recency a use renews.
    pub way: u64,
}

const EMPTY: FastLine = FastLine { load: NOTHING, store: NOTHING, delta: 0, way: 0 };

/// A direct-mapped table of granules: lines when caches are timed, pages when they are not.
///
/// What an access may do depends on the privilege that it is made with, so each has a *bank* of its own, which is all
/// that its accesses look at. Until the hart has a supervisor level there is one bank.
pub(crate) struct FastTable {
    /// Bank after bank.
    lines: Vec<FastLine>,
    /// The first entry of the current bank.
    current: *mut FastLine,
    /// Its number.
    first: usize,
    /// Entries of a bank.
    entries: usize,
    pub shift: u32,
    pub granule_mask: u64,
}

// SAFETY: `current` points into the table's own `lines`.
unsafe impl Send for FastTable {}

impl FastTable {
    pub fn new(entries: usize, granule_bytes: u64) -> FastTable {
        assert!(entries.is_power_of_two() && granule_bytes.is_power_of_two() && granule_bytes >= FETCH_MIN);
        let mut lines = vec![EMPTY; entries];
        FastTable {
            current: lines.as_mut_ptr(),
            first: 0,
            entries,
            lines,
            shift: granule_bytes.trailing_zeros(),
            granule_mask: !(granule_bytes - 1),
        }
    }

    /// From now on accesses look at the bank of `privilege`. The user's is the first.
    pub fn select(&mut self, privilege: Privilege) {
        let bank = match privilege {
            Privilege::User => 0,
            Privilege::Supervisor { sum: false } => 1,
            Privilege::Supervisor { sum: true } => 2,
        };
        self.first = bank * self.entries;
        let room = self.first + self.entries;
        if self.lines.len() < room {
            self.lines.resize(room, EMPTY);
        }
        self.current = self.lines[self.first..].as_mut_ptr();
    }

    /// The place of `va` in a bank.
    #[inline(always)]
    fn place(&self, va: u64) -> usize {
        (va >> self.shift) as usize & (self.entries - 1)
    }

    /// How it is indexed.
    pub fn geometry(&self) -> Geometry {
        Geometry { shift: self.shift, index_mask: self.entries as u32 - 1 }
    }

    /// The entry for `va` in the current bank.
    #[inline(always)]
    pub fn index(&self, va: u64) -> usize {
        self.first + self.place(va)
    }

    /// The entry for `va` in the first bank.
    #[inline]
    pub fn first_index(&self, va: u64) -> u32 {
        self.place(va) as u32
    }

    /// From an entry to that for the same place in the next bank.
    #[inline]
    pub fn bank_entries(&self) -> u32 {
        self.entries as u32
    }

    /// Entry `index`, if there are so many.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&FastLine> {
        self.lines.get(index as usize)
    }

    /// The entries for `va` in all banks.
    pub fn indices(&self, va: u64) -> impl Iterator<Item = u32> + use<> {
        (self.place(va) as u32..self.lines.len() as u32).step_by(self.entries)
    }

    #[inline(always)]
    pub fn entry(&mut self, va: u64) -> &mut FastLine {
        // SAFETY: the place is masked by the length of a bank, a power of two, and `current` points to the first
        // entry of one, which stays where it is while the table is borrowed.
        unsafe { &mut *self.current.add(self.place(va)) }
    }

    pub fn at(&self, index: u32) -> &FastLine {
        &self.lines[index as usize]
    }

    pub fn at_mut(&mut self, index: u32) -> &mut FastLine {
        &mut self.lines[index as usize]
    }

    /// Numbers of all entries.
    pub fn entries(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.lines.len() as u32
    }

    /// The way that owns entry `index`.
    #[inline]
    pub fn owner(&self, index: u32) -> Option<usize> {
        let line = self.at(index);
        (line.load != NOTHING).then_some(line.way as usize)
    }

    #[inline]
    pub fn set(&mut self, index: u32, line: FastLine) {
        self.lines[index as usize] = line;
    }

    /// Stores to the granule of entry `index` take the slow path, until [`FastTable::release`].
    #[inline]
    pub fn withhold(&mut self, index: u32) {
        if let Some(line) = self.lines.get_mut(index as usize) {
            line.store |= WITHHELD;
        }
    }

    /// If stores to the granule of `va`, of accesses with this `tag`, are withheld only, they are no longer. True: so it is.
    pub fn release(&mut self, va: u64, tag: u64) -> bool {
        let line = self.entry(va);
        let is_withheld = line.store == tag | WITHHELD && line.store != NOTHING;
        if is_withheld {
            line.store = tag;
        }
        is_withheld
    }

    pub fn remove(&mut self, index: u32) {
        self.lines[index as usize] = EMPTY;
    }

    pub fn clear(&mut self) {
        self.lines.fill(EMPTY);
    }

    /// Entries and ways of `cache` name each other. `name`: the table's.
    pub fn check_owners(&self, name: &str, cache: &Cache) -> Result<(), String> {
        for index in self.entries() {
            let Some(way) = self.owner(index).map(|way| cache.way(way)) else { continue };
            if way.state == State::Invalid || way.fast != FastIndex::of(index) {
                return Err(format!("entry {index} of {name} is of way {way:?}"));
            }
        }
        let owned = self.entries().filter(|&index| self.owner(index).is_some()).count();
        let fast = cache.fast_ways();
        if owned == fast {
            Ok(())
        } else {
            Err(format!("{owned} entries of {name}, {fast} ways that have one"))
        }
    }
}

/// What no tag of a store equals while stores are observed.
fn guard(observe: bool) -> u64 {
    if observe { u64::MAX } else { 0 }
}

/// How addresses become places in a table: what translated code has as constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// log2 of a granule's length [bytes].
    pub shift: u32,
    /// The granule's number, and-ed with it, is that of an entry.
    pub index_mask: u32,
}

/// The table of instruction lines as translated code sees it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FetchView {
    pub(super) lines: *mut FastLine,
    pub(super) stamps: *mut u64,
    pub(super) tick: *mut u64,
}

impl FetchView {
    /// The ways that `table` names are those of `stamps`.
    pub(super) fn new(table: &mut FastTable, stamps: &mut [u64], tick: &mut u64) -> FetchView {
        FetchView { lines: table.current, stamps: stamps.as_mut_ptr(), tick }
    }
}

/// A table as the hart's loop holds it: a few registers.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FastView {
    pub(super) lines: *mut FastLine,
    /// Recency of the cache's ways, and the uses so far.
    pub(super) stamps: *mut u64,
    pub(super) tick: *mut u64,
    index_mask: u64,
    granule_mask: u64,
    shift: u32,
    /// Ones while stores are observed: then none takes the fast path.
    pub(super) guard: u64,
}

impl FastView {
    /// The ways that `table` names are those of `stamps`.
    pub(super) fn new(table: &mut FastTable, stamps: &mut [u64], tick: &mut u64, observe: bool) -> FastView {
        FastView {
            lines: table.current,
            stamps: stamps.as_mut_ptr(),
            tick,
            index_mask: table.entries as u64 - 1,
            granule_mask: table.granule_mask,
            shift: table.shift,
            guard: guard(observe),
        }
    }

    /// How the table is indexed.
    #[inline(always)]
    pub fn geometry(&self) -> Geometry {
        Geometry { shift: self.shift, index_mask: self.index_mask as u32 }
    }

    pub(super) fn set_observe(&mut self, observe: bool) {
        self.guard = guard(observe);
    }

    /// The entry for `va`, used now.
    ///
    /// # Safety
    /// The port that made the view must be alive and not borrowed elsewhere.
    #[inline(always)]
    unsafe fn entry(&self, va: u64) -> *mut FastLine {
        // SAFETY: the index is masked by the length.
        unsafe { self.lines.add((va >> self.shift & self.index_mask) as usize) }
    }

    /// The line in way `way` of an entry is used now.
    ///
    /// # Safety
    /// As for [`FastView::entry`].
    #[inline(always)]
    unsafe fn renew(&self, way: u64) {
        // SAFETY: an entry names a way of the cache that `stamps` is of; both live in the port, and do not move.
        unsafe {
            *self.tick += 1;
            *self.stamps.add(way as usize) = *self.tick;
        }
    }

    /// Loads `N` bytes at `va`, zero-extended, if the table answers.
    ///
    /// # Safety
    /// The port that made the view must be alive and not borrowed elsewhere.
    #[inline(always)]
    pub unsafe fn load<const N: usize>(&self, va: u64) -> Option<u64> {
        // SAFETY: an entry maps its whole granule of host memory, and a matching tag means that `va` is
        // aligned within it; `tick` points into the same live port.
        unsafe {
            let entry = self.entry(va);
            if (*entry).load != va & (self.granule_mask | (N as u64 - 1)) {
                return None;
            }
            self.renew((*entry).way);
            let host = va.wrapping_add((*entry).delta) as *const u8;
            Some(match N {
                1 => u64::from(*host),
                2 => u64::from(u16::from_le(*host.cast())),
                4 => u64::from(u32::from_le(*host.cast())),
                _ => u64::from_le(*host.cast()),
            })
        }
    }

    /// Stores the low `N` bytes of `value` at `va` if the table allows it; false if not.
    ///
    /// # Safety
    /// As for [`FastView::load`].
    #[inline(always)]
    pub unsafe fn store<const N: usize>(&self, va: u64, value: u64) -> bool {
        // SAFETY: as in `load`.
        unsafe {
            let entry = self.entry(va);
            if (*entry).store | self.guard != va & (self.granule_mask | (N as u64 - 1)) {
                return false;
            }
            self.renew((*entry).way);
            let host = va.wrapping_add((*entry).delta) as *mut u8;
            match N {
                1 => *host = value as u8,
                2 => *host.cast() = (value as u16).to_le(),
                4 => *host.cast() = (value as u32).to_le(),
                _ => *host.cast() = value.to_le(),
            }
            true
        }
    }
}

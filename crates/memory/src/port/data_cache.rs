//! The level-1 data cache with the fast tables of data.
//!
//! Invariant: an entry of the table exists only for a line that the cache holds in a state that permits the access. What
//! else must hold of it ([`super::fast`]) is its owner's to see to.

use super::fast::{FastLine, FastTable, FastView, NOTHING};
use super::request::Snooped;
use super::stop::{Fault, Incoherence, Stop};
use crate::cache::{Cache, CacheParameters, FastIndex, Kept, Recency, State, Way};
use crate::tlb::{CHUNK_BYTES, PAGE_BYTES, Privilege};

/// Tags, states and recency of the lines of data.
pub(super) struct DataCache {
    /// By virtual line.
    fast: FastTable,
    /// By virtual page, for when accesses take no time.
    pages: FastTable,
    /// Uses so far: what the recency of lines is told by.
    tick: u64,
    cache: Cache,
    changes: u64,
    open: Open,
}

/// Entries of the fast table that stores may use, for a hart that runs ahead of others: of each line it keeps, before the
/// first store, what is there.
#[derive(Default)]
struct Open {
    /// It has run ahead: entries are noted.
    is_noted: bool,
    entries: Vec<u32>,
}

impl Open {
    /// Entry `index` may be used.
    #[inline]
    fn note(&mut self, index: u32) {
        if self.is_noted {
            self.entries.push(index);
            // Else each miss would add one, as long as the hart does not run ahead: then all may be.
            if self.entries.len() == OPEN_MAX {
                *self = Open::default();
            }
        }
    }
}

/// More are not worth a list.
const OPEN_MAX: usize = 512;

impl DataCache {
    pub fn new(parameters: &CacheParameters) -> DataCache {
        DataCache {
            fast: FastTable::new(1024, parameters.line.bytes()),
            pages: FastTable::new(256, PAGE_BYTES),
            tick: 0,
            cache: Cache::new(parameters),
            changes: 0,
            open: Open::default(),
        }
    }

    /// Moves with every line that comes, leaves or changes its state.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    // --- what is here ---------------------------------------------------------------------------

    /// The tags.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    #[inline]
    pub fn line_bytes(&self) -> u64 {
        self.cache.line_bytes()
    }

    #[inline]
    pub fn line_of(&self, address: u64) -> u64 {
        self.cache.line_of(address)
    }

    #[inline]
    pub fn find(&self, line: u64) -> Option<usize> {
        self.cache.find(line)
    }

    /// `line` is in way `way`.
    #[inline]
    pub fn has_in(&self, way: usize, line: u64) -> bool {
        self.cache.line(way) == Some(line)
    }

    #[inline]
    pub fn way(&self, way: usize) -> &Way {
        self.cache.way(way)
    }

    #[inline]
    pub fn state(&self, line: u64) -> State {
        self.cache.state(line)
    }

    /// The way with `line`, if it is here in the state `least` or one with more rights.
    #[inline]
    pub fn find_with(&self, line: u64, least: State) -> Option<usize> {
        self.find(line).filter(|&way| self.way(way).state >= least)
    }

    /// Coherence checker: no device has overwritten the line in way `way`, where the hart accesses `pa`.
    #[inline]
    pub fn check_fresh(&self, way: usize, pa: u64) -> Result<(), Stop> {
        if self.way(way).stale {
            return Err(Stop::Fault(Fault::Incoherent(Incoherence::StaleHit { address: pa })));
        }
        Ok(())
    }

    /// Keeps the recency of lines.
    pub fn save_recency(&self, to: &mut Recency) {
        self.cache.save_recency(self.tick, to);
    }

    /// The recency of lines is as it was.
    pub fn restore_recency(&mut self, from: &Recency) {
        self.cache.restore_recency(from);
        self.tick = from.tick;
    }

    /// A line from `first` on, below `end`, was used since then.
    pub fn has_used(&self, first: u64, end: u64, since: &Recency) -> bool {
        self.cache.has_used(first, end, since)
    }

    /// Way `way` as it is.
    #[inline]
    pub fn keep(&self, way: usize) -> Kept {
        self.cache.keep(way)
    }

    /// A way is as it was; accesses to it take the slow path.
    pub fn restore(&mut self, kept: Kept) {
        if let Some(index) = self.cache.way(kept.index).fast.get() {
            self.fast.remove(index);
        }
        self.cache.restore(kept);
        self.changes += 1;
    }

    // --- what is fast ---------------------------------------------------------------------------

    /// The table for the fast path, by lines or by pages; `observe`: of stores none takes it.
    #[inline]
    pub fn view(&mut self, by_lines: bool, observe: bool) -> FastView {
        let table = if by_lines { &mut self.fast } else { &mut self.pages };
        FastView::new(table, self.cache.stamps_mut(), &mut self.tick, observe)
    }

    /// Accesses are made with `privilege` from now on.
    pub fn select(&mut self, privilege: Privilege) {
        self.fast.select(privilege);
        self.pages.select(privilege);
    }

    /// Stores take the slow path, each line's first, until [`DataCache::release`].
    pub fn withhold(&mut self) {
        if self.open.is_noted {
            self.open.entries.drain(..).for_each(|index| self.fast.withhold(index));
        } else {
            self.fast.entries().for_each(|index| self.fast.withhold(index));
            self.open.is_noted = true;
        }
    }

    /// Stores to the line in way `way` take the slow path until then.
    pub fn withhold_way(&mut self, way: usize) {
        if let Some(index) = self.cache.way(way).fast.get() {
            self.fast.withhold(index);
        }
    }

    /// A store of `bytes` at `va` would be fast if those to its line were not withheld: from now on they are not.
    pub fn release(&mut self, va: u64, bytes: u32) -> bool {
        let tag = va & (self.fast.granule_mask | u64::from(bytes - 1));
        let is_released = self.fast.release(va, tag);
        if is_released {
            self.open.note(self.fast.index(va) as u32);
        }
        is_released
    }

    /// Makes the fast store of `bytes` at `va`, but for its value: host minus virtual address. None: it is not fast.
    pub fn fast_store(&mut self, by_lines: bool, va: u64, bytes: u32) -> Option<u64> {
        let table = if by_lines { &mut self.fast } else { &mut self.pages };
        let tag = va & (table.granule_mask | u64::from(bytes - 1));
        let line = table.entry(va);
        if line.store != tag {
            return None;
        }
        let (way, delta) = (line.way as usize, line.delta);
        self.touch(way);
        Some(delta)
    }

    /// Lets accesses to the page of `va` take the fast path while they take no time. `host`: the host address of `va`.
    pub fn make_page_fast(&mut self, va: u64, host: u64, (may_read, may_write): (bool, bool)) {
        let granule = va & self.pages.granule_mask;
        let index = self.pages.index(va) as u32;
        let line = FastLine {
            load: if may_read { granule } else { NOTHING },
            store: if may_write { granule } else { NOTHING },
            delta: host.wrapping_sub(va),
            way: self.cache.nowhere() as u64,
        };
        self.pages.set(index, line);
    }

    /// Lets accesses to the line of `va`, in way `way`, take the fast path. `host`: the host address of `va`.
    #[inline(always)]
    pub fn make_fast(&mut self, way: usize, va: u64, host: u64, may_write: bool) {
        let index = self.fast.index(va) as u32;
        if let Some(owner) = self.fast.owner(index) {
            self.cache.way_mut(owner).fast = FastIndex::NONE;
        }
        let held = self.cache.way_mut(way);
        if let Some(old) = held.fast.get() {
            self.fast.remove(old);
        }
        held.fast = FastIndex::of(index);
        let granule = va & self.fast.granule_mask;
        let writable = held.state == State::Modified && may_write;
        let line = FastLine {
            load: granule,
            store: if writable { granule } else { NOTHING },
            delta: host.wrapping_sub(va),
            way: way as u64,
        };
        self.fast.set(index, line);
        if writable {
            self.open.note(index);
        }
        self.touch(way);
    }

    fn drop_entry(&mut self, index: u32) {
        let way = self.fast.owner(index).expect("an entry in use");
        self.cache.way_mut(way).fast = FastIndex::NONE;
        self.fast.remove(index);
    }

    /// Accesses to `line` take the slow path.
    #[inline]
    pub fn drop_fast(&mut self, line: u64) {
        if let Some(index) = self.find(line).and_then(|way| self.way(way).fast.get()) {
            self.drop_entry(index);
        }
    }

    /// Accesses to the `bytes` from `address` on take the slow path from now on, for what is to be seen of them.
    pub fn watch(&mut self, address: u64, bytes: u64) {
        for line in (self.line_of(address)..address + bytes).step_by(self.line_bytes() as usize) {
            self.drop_fast(line);
        }
        self.pages.clear();
        self.changes += 1;
    }

    /// All accesses take the slow path. Recency is kept.
    pub fn drop_all_fast(&mut self) {
        for index in self.fast.entries() {
            if self.fast.owner(index).is_some() {
                self.drop_entry(index);
            }
        }
        self.pages.clear();
    }

    /// The virtual page at `page` is mapped anew: accesses to it take the slow path.
    pub fn forget_page(&mut self, page: u64) {
        self.drop_fast_page(page, u64::MAX);
        for index in self.pages.indices(page) {
            self.pages.remove(index);
        }
    }

    /// The TLB has lost the virtual page at `page`: accesses to it take the slow path. Only `chunks` of it may be fast.
    pub fn drop_fast_page(&mut self, page: u64, mut chunks: u64) {
        while chunks != 0 {
            let chunk = page + u64::from(chunks.trailing_zeros()) * CHUNK_BYTES;
            // A chunk may have several lines, or be part of one.
            let mut line = chunk & self.fast.granule_mask;
            while line < chunk + CHUNK_BYTES {
                // The entry of each bank.
                let mut index = self.fast.first_index(line);
                while let Some(entry) = self.fast.get(index) {
                    if entry.load == line {
                        self.drop_entry(index);
                    }
                    index += self.fast.bank_entries();
                }
                line += self.line_bytes();
            }
            chunks &= chunks - 1;
        }
    }

    // --- lines come, change and leave -----------------------------------------------------------

    /// The line in way `way` is used.
    #[inline]
    pub fn touch(&mut self, way: usize) {
        self.tick += 1;
        self.cache.touch(way, self.tick);
    }

    /// The line in way `way` is used and has at least `state`.
    #[inline]
    pub fn raise(&mut self, way: usize, state: State) {
        self.touch(way);
        self.changes += 1;
        let way = self.cache.way_mut(way);
        way.state = way.state.max(state);
    }

    /// The way with `line`; if it is not here, as an error, the way that it is to take.
    #[inline(always)]
    pub fn seek(&self, line: u64) -> Result<usize, usize> {
        self.cache.seek(line)
    }

    /// Puts `line` in way `way`, in place of what is there, if something is: its line and state. It is used, but not
    /// counted as such yet: [`DataCache::make_fast`] or [`DataCache::touch`] follows.
    #[inline(always)]
    pub fn replace(&mut self, way: usize, line: u64, state: State, stale: bool) -> Option<(u64, State)> {
        self.changes += 1;
        let (old, held) = self.cache.replace(way, line, state, stale);
        if let Some(index) = held.fast.get() {
            self.fast.remove(index);
        }
        (held.state != State::Invalid).then_some((old, held.state))
    }

    /// The line in way `way` is written.
    #[inline]
    pub fn modify(&mut self, way: usize) {
        let way = self.cache.way_mut(way);
        self.changes += u64::from(way.state != State::Modified);
        way.state = State::Modified;
    }

    /// An atomic operation writes the line in way `way`; memory, if it is in none. That counts always: a loop with such an
    /// operation is executed.
    pub fn modify_atomically(&mut self, way: Option<usize>) {
        self.changes += 1;
        if let Some(way) = way {
            self.cache.way_mut(way).state = State::Modified;
        }
    }

    /// Coherence checker: whether a device has overwritten the line in way `way` since it was fetched.
    #[inline]
    pub fn set_stale(&mut self, way: usize, stale: bool) {
        self.cache.way_mut(way).stale = stale;
    }

    /// Coherence checker: a device overwrites `line`.
    pub fn mark_stale(&mut self, line: u64) {
        self.drop_fast(line);
        if let Some(way) = self.find(line) {
            self.set_stale(way, true);
        }
    }

    /// Drops `line` and says in which state it was.
    #[inline]
    pub fn remove(&mut self, line: u64) -> Option<State> {
        let way = self.find(line)?;
        Some(self.empty(way))
    }

    /// Drops the line in way `way` and says in which state it was.
    #[inline]
    pub fn empty(&mut self, way: usize) -> State {
        self.changes += 1;
        let held = self.cache.clear(way);
        if let Some(index) = held.fast.get() {
            self.fast.remove(index);
        }
        held.state
    }

    /// Stores to the line in way `way` take the slow path, and it is in `state`, in which it is not modified.
    fn lower(&mut self, way: usize, state: State) {
        let way = self.cache.way_mut(way);
        way.state = state;
        if let Some(index) = way.fast.get() {
            self.fast.at_mut(index).store = NOTHING;
        }
        self.changes += 1;
    }

    /// Another master reads `line`.
    #[inline]
    pub fn share(&mut self, line: u64) -> Snooped {
        let Some(way) = self.find(line) else { return Snooped::default() };
        let dirty = self.way(way).state == State::Modified;
        self.lower(way, State::Shared);
        Snooped { present: true, dirty }
    }

    /// What is modified in `line` is on its way to memory.
    pub fn clean(&mut self, line: u64) {
        if let Some(way) = self.find_with(line, State::Modified) {
            self.lower(way, State::Exclusive);
        }
    }

    // --- invariants -----------------------------------------------------------------------------

    /// The fast table and the ways name each other.
    ///
    /// # Errors
    /// What does not hold, in words.
    pub fn check_owners(&self) -> Result<(), String> {
        self.fast.check_owners("data", &self.cache)
    }

    /// Entries of the fast table, with the addresses of their lines and what is known of those.
    pub fn fast_lines(&self) -> impl Iterator<Item = (&FastLine, u64, &Way)> {
        let line = |index| {
            let way = self.fast.owner(index)?;
            Some((self.fast.at(index), self.cache.line(way)?, self.way(way)))
        };
        self.fast.entries().filter_map(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 32;
    const SETS: u64 = 4;

    fn cache() -> DataCache {
        DataCache::new(&CacheParameters::new(SETS * 2 * LINE, 2, LINE))
    }

    fn place(cache: &mut DataCache, line: u64, state: State) -> usize {
        let way = cache.seek(line).unwrap_err();
        assert_eq!(cache.replace(way, line, state, false), None);
        cache.touch(way);
        way
    }

    /// The line that makes room for `line`.
    fn victim(cache: &DataCache, line: u64) -> Option<u64> {
        cache.cache.line(cache.seek(line).unwrap_err())
    }

    #[test]
    fn a_line_that_the_fast_path_used_last_is_not_the_victim() {
        let mut cache = cache();
        let first = place(&mut cache, 0, State::Exclusive);
        cache.make_fast(first, PAGE_BYTES, 0, true);
        let second = place(&mut cache, SETS * LINE, State::Exclusive);
        cache.touch(second);
        assert_eq!(victim(&cache, 2 * SETS * LINE), Some(0));
        let mut memory = [7u64; 4];
        cache.make_fast(first, PAGE_BYTES, memory.as_mut_ptr() as u64, true);
        cache.touch(second);
        let view = cache.view(true, false);
        // SAFETY: the cache is alive and not borrowed.
        assert_eq!(unsafe { view.load::<8>(PAGE_BYTES + 8) }, Some(7));
        assert_eq!(victim(&cache, 2 * SETS * LINE), Some(SETS * LINE));
    }

    #[test]
    fn stores_are_fast_to_modified_lines_only() {
        let mut cache = cache();
        let way = place(&mut cache, 64, State::Exclusive);
        cache.make_fast(way, PAGE_BYTES + 64, 0, true);
        assert_eq!(cache.fast_store(true, PAGE_BYTES + 64, 8), None);
        cache.modify(way);
        cache.make_fast(way, PAGE_BYTES + 64, 0, true);
        assert!(cache.fast_store(true, PAGE_BYTES + 64, 8).is_some());
        cache.check_owners().unwrap();
        assert_eq!(cache.share(64), Snooped { present: true, dirty: true });
        assert_eq!(cache.fast_store(true, PAGE_BYTES + 64, 8), None);
        assert_eq!(cache.share(64), Snooped { present: true, dirty: false });
        assert_eq!(cache.remove(64), Some(State::Shared));
        assert_eq!(cache.share(64), Snooped::default());
        cache.check_owners().unwrap();
    }
}

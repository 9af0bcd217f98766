//! The level-1 instruction cache with its fast table.

use super::fast::{FastLine, FastTable, FetchView, Geometry, NOTHING};
use crate::cache::{Cache, FastIndex, Recency, State};
use crate::tlb::{PAGE_BYTES, Privilege};

/// Tags and recency of the lines of instructions.
pub(super) struct InstructionCache {
    /// By virtual line.
    fast: FastTable,
    /// Uses so far: what the recency of lines is told by.
    tick: u64,
    cache: Cache,
    changes: u64,
    /// Lines have been dropped since this was last asked.
    lost: bool,
}

impl InstructionCache {
    pub fn new(cache: Cache) -> InstructionCache {
        InstructionCache {
            fast: FastTable::new(1024, cache.line_bytes()),
            tick: 0,
            cache,
            changes: 0,
            lost: false,
        }
    }

    /// Lines have been dropped since [`InstructionCache::take_lost`].
    #[inline(always)]
    pub fn has_lost(&self) -> bool {
        self.lost
    }

    /// Lines have been dropped since this was last asked.
    #[inline]
    pub fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.lost)
    }

    /// Moves with every line that comes or leaves.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The tags.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    #[inline]
    pub fn line_bytes(&self) -> u64 {
        self.cache.line_bytes()
    }

    #[inline]
    pub fn find(&self, line: u64) -> Option<usize> {
        self.cache.find(line)
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

    /// Something of the `bytes` from `line` on is here.
    pub fn has_any(&self, line: u64, bytes: u64) -> bool {
        let mut lines = (line..line + bytes).step_by(self.line_bytes() as usize);
        lines.any(|line| self.find(line).is_some())
    }

    /// Fetches the line at virtual address `line_va`, if that takes no time; false if it may.
    #[inline(always)]
    pub fn fetches(&mut self, line_va: u64) -> bool {
        let entry = self.fast.entry(line_va);
        if entry.load != line_va {
            return false;
        }
        self.tick += 1;
        self.cache.touch(entry.way as usize, self.tick);
        true
    }

    /// The table for translated code, which fetches as [`InstructionCache::fetches`] does.
    #[inline]
    pub fn view(&mut self) -> FetchView {
        FetchView::new(&mut self.fast, self.cache.stamps_mut(), &mut self.tick)
    }

    /// How that table is indexed.
    pub fn geometry(&self) -> Geometry {
        self.fast.geometry()
    }

    /// The line at virtual address `line_va` can be fetched in no time.
    #[inline]
    pub fn is_fast(&mut self, line_va: u64) -> bool {
        self.fast.entry(line_va).load == line_va
    }

    /// Accesses are made with `privilege` from now on.
    pub fn select(&mut self, privilege: Privilege) {
        self.fast.select(privilege);
    }

    /// The line in way `way` is fetched at `line_va`, and takes no time from now on.
    #[inline]
    pub fn make_fast(&mut self, way: usize, line_va: u64) {
        let index = self.fast.index(line_va) as u32;
        self.disown(index);
        let held = self.cache.way_mut(way);
        if let Some(alias) = held.fast.get() {
            self.fast.remove(alias);
        }
        held.fast = FastIndex::of(index);
        let line = FastLine { load: line_va, store: NOTHING, delta: 0, way: way as u64 };
        self.fast.set(index, line);
        self.tick += 1;
        self.cache.touch(way, self.tick);
    }

    /// The line at `line_va`, which is in no way, is fetched in no time from now on.
    pub fn make_free(&mut self, line_va: u64) {
        let way = self.cache.nowhere() as u64;
        let line = FastLine { load: line_va, store: NOTHING, delta: 0, way };
        let index = self.fast.index(line_va) as u32;
        self.fast.set(index, line);
    }

    /// Entry `index` of the table is about to go: its way has none any more.
    fn disown(&mut self, index: u32) {
        if let Some(owner) = self.fast.owner(index) {
            self.cache.way_mut(owner).fast = FastIndex::NONE;
        }
    }

    /// All fetches may take time. Recency is kept.
    pub fn drop_all_fast(&mut self) {
        for index in self.fast.entries() {
            self.disown(index);
        }
        self.fast.clear();
    }

    /// Fetches from the virtual page at `page` may take time.
    pub fn drop_fast_page(&mut self, page: u64) {
        for line in (page..page + PAGE_BYTES).step_by(self.line_bytes() as usize) {
            for index in self.fast.indices(line) {
                if self.fast.at(index).load == line {
                    self.disown(index);
                    self.fast.remove(index);
                }
            }
        }
    }

    /// `line` comes, in place of the least recently used one; its way.
    pub fn place(&mut self, line: u64) -> usize {
        let way = self.cache.victim(line);
        if let Some(index) = self.cache.clear(way).fast.get() {
            self.fast.remove(index);
        }
        self.tick += 1;
        self.changes += 1;
        self.cache.place(way, line, State::Shared, self.tick);
        way
    }

    /// Drops the lines of the `bytes` from `line` on.
    pub fn remove(&mut self, line: u64, bytes: u64) {
        for line in (line..line + bytes).step_by(self.line_bytes() as usize) {
            if let Some(way) = self.find(line) {
                if let Some(index) = self.cache.clear(way).fast.get() {
                    self.fast.remove(index);
                }
                self.changes += 1;
                self.lost = true;
            }
        }
    }

    /// The fast table and the ways name each other.
    ///
    /// # Errors
    /// What does not hold, in words.
    pub fn check_owners(&self) -> Result<(), String> {
        self.fast.check_owners("instructions", &self.cache)
    }

    /// Virtual and physical addresses of the lines that are fetched in no time.
    pub fn fast_lines(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let line = |index| Some((self.fast.at(index).load, self.cache.line(self.fast.owner(index)?)?));
        self.fast.entries().filter_map(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CacheParameters;

    #[test]
    fn a_line_is_fast_under_one_virtual_address_and_not_when_it_is_gone() {
        let mut cache = InstructionCache::new(Cache::new(&CacheParameters::new(256, 2, 32)));
        let way = cache.place(64);
        cache.make_fast(way, PAGE_BYTES + 64);
        cache.make_fast(way, 2 * PAGE_BYTES + 64);
        assert!(!cache.fetches(PAGE_BYTES + 64) && cache.fetches(2 * PAGE_BYTES + 64));
        cache.check_owners().unwrap();
        assert!(cache.fast_lines().eq([(2 * PAGE_BYTES + 64, 64)]));
        assert!(cache.has_any(0, 128) && !cache.has_any(96, 128));
        cache.remove(64, 32);
        assert!(!cache.is_fast(2 * PAGE_BYTES + 64) && !cache.has_any(0, 128));
        cache.check_owners().unwrap();
    }
}

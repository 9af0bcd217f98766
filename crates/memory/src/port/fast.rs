//! The table that answers most accesses with one compare.
//!
//! An entry says: this virtual granule translates, the access is permitted, the line is in the L1
//! cache in a state that allows it, nothing is in the write buffer for it, no checker watches it.
//! Everything rare is folded into the tag by not being there.

/// A tag that no access forms: granules are at least 16 bytes, so bit 3 of a tag is never set.
pub(crate) const NOTHING: u64 = u64::MAX;

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
    /// When it was last used, for the cache's replacement.
    pub stamp: u64,
}

const EMPTY: FastLine = FastLine { load: NOTHING, store: NOTHING, delta: 0, stamp: 0 };

/// A direct-mapped table of granules: lines when caches are timed, pages when they are not.
pub(crate) struct FastTable {
    lines: Vec<FastLine>,
    /// Owner of each entry: index of the cache way.
    ways: Vec<u32>,
    pub shift: u32,
    pub granule_mask: u64,
}

impl FastTable {
    pub fn new(entries: usize, granule_bytes: u64) -> FastTable {
        assert!(entries.is_power_of_two() && granule_bytes.is_power_of_two() && granule_bytes >= 16);
        FastTable {
            lines: vec![EMPTY; entries],
            ways: vec![u32::MAX; entries],
            shift: granule_bytes.trailing_zeros(),
            granule_mask: !(granule_bytes - 1),
        }
    }

    #[inline(always)]
    pub fn index(&self, va: u64) -> usize {
        (va >> self.shift) as usize & (self.lines.len() - 1)
    }

    #[inline(always)]
    pub fn entry(&mut self, va: u64) -> &mut FastLine {
        let index = self.index(va);
        // SAFETY: `index` is masked by the length, a power of two.
        unsafe { self.lines.get_unchecked_mut(index) }
    }

    pub fn at(&self, index: u32) -> &FastLine {
        &self.lines[index as usize]
    }

    pub fn at_mut(&mut self, index: u32) -> &mut FastLine {
        &mut self.lines[index as usize]
    }

    /// The way that owns entry `index`.
    pub fn owner(&self, index: u32) -> Option<u32> {
        (self.lines[index as usize].load != NOTHING).then(|| self.ways[index as usize])
    }

    pub fn set(&mut self, index: u32, line: FastLine, way: u32) {
        self.lines[index as usize] = line;
        self.ways[index as usize] = way;
    }

    pub fn remove(&mut self, index: u32) {
        self.lines[index as usize] = EMPTY;
    }

    pub fn clear(&mut self) {
        self.lines.fill(EMPTY);
    }
}

//! Running ahead of other harts: what a port can take back.
//!
//! A hart that runs ahead makes only accesses that the fast path answers; any other stops it before anything has changed
//! ([`super::Stop::Turn`]). So all that may have to be taken back is the recency of lines, and what stores have overwritten.

use super::data_cache::DataCache;
use super::instruction_cache::InstructionCache;
use super::memory_view::MemoryView;
use crate::cache::Recency;
use crate::tlb::PAGE_BYTES;

/// Bits of the filter of lines that were stored to.
const FILTER_BITS: u64 = 4096;
/// Their length for the filter [bytes]: the least that caches have.
const FILTER_SHIFT: u32 = 4;
/// Bits of the filter of pages that were stored to.
const PAGE_FILTER_BITS: u64 = 1024;

/// A store that may be taken back: where, how many bytes, what was there.
struct Overwritten {
    address: u64,
    bytes: u32,
    old: u64,
}

/// What has happened since a hart began to run ahead.
pub(super) struct Ahead {
    /// It runs ahead now.
    runs: bool,
    data: Recency,
    code: Recency,
    overwritten: Vec<Overwritten>,
    /// Of the lines that were stored to.
    filter: [u64; (FILTER_BITS / 64) as usize],
    /// Of the pages.
    pages: [u64; (PAGE_FILTER_BITS / 64) as usize],
}

impl Default for Ahead {
    fn default() -> Ahead {
        let (data, code) = (Recency::default(), Recency::default());
        let (filter, pages) = ([0; (FILTER_BITS / 64) as usize], [0; (PAGE_FILTER_BITS / 64) as usize]);
        Ahead { runs: false, data, code, overwritten: vec![], filter, pages }
    }
}

impl Ahead {
    /// Accesses that are not fast wait for the hart's turn.
    #[inline]
    pub fn runs(&self) -> bool {
        self.runs
    }

    /// It runs ahead from now on, or no more.
    pub fn set(&mut self, runs: bool) {
        self.runs = runs;
    }

    /// From here on what happens may be taken back.
    pub fn begin(&mut self, data: &DataCache, code: &InstructionCache) {
        data.save_recency(&mut self.data);
        code.save_recency(&mut self.code);
        self.overwritten.clear();
        self.forget();
    }

    /// Everything is as it was when that began, but for what others' transactions have taken.
    pub fn take_back(&mut self, data: &mut DataCache, code: &mut InstructionCache, memory: &mut MemoryView) {
        while let Some(Overwritten { address, bytes, old }) = self.overwritten.pop() {
            memory.write(address, bytes, old);
        }
        self.forget();
        data.restore_recency(&self.data);
        code.restore_recency(&self.code);
    }

    /// A line from `first` on, below `end`, was used.
    pub fn has_used(&self, data: &DataCache, code: &InstructionCache, first: u64, end: u64) -> bool {
        data.has_used(first, end, &self.data) || code.has_used(first, end, &self.code)
    }

    /// `bytes` at `address`, which were `old`, are stored to.
    pub fn note_store(&mut self, address: u64, bytes: u32, old: u64) {
        self.note(Overwritten { address, bytes, old });
    }

    fn forget(&mut self) {
        self.filter.fill(0);
        self.pages.fill(0);
    }

    fn bit(address: u64) -> (usize, u64) {
        let bit = address >> FILTER_SHIFT & (FILTER_BITS - 1);
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    fn page_bit(address: u64) -> (usize, u64) {
        let bit = (address / PAGE_BYTES) & (PAGE_FILTER_BITS - 1);
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    /// The page at `page` may have been stored to.
    pub fn may_have_stored_to_page(&self, page: u64) -> bool {
        let (word, bit) = Ahead::page_bit(page);
        self.pages[word] & bit != 0
    }

    fn note(&mut self, overwritten: Overwritten) {
        let (word, bit) = Ahead::bit(overwritten.address);
        self.filter[word] |= bit;
        let (word, bit) = Ahead::page_bit(overwritten.address);
        self.pages[word] |= bit;
        self.overwritten.push(overwritten);
    }

    /// Something from `first` on, where a line begins, below `end` may have been stored to.
    pub fn may_have_stored(&self, first: u64, end: u64) -> bool {
        let lines = (first..end).step_by(1 << FILTER_SHIFT);
        !self.overwritten.is_empty() && lines.map(Ahead::bit).any(|(word, bit)| self.filter[word] & bit != 0)
    }
}

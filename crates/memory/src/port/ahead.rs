//! Running ahead of other harts: what a port can take back.
//!
//! A hart that runs ahead makes only accesses that the fast path answers; any other stops it before anything has changed
//! ([`super::Stop::Turn`]). So all that may have to be taken back is the recency of lines, and what stores have overwritten:
//! before the first store to a line all of it is kept. Nobody else stores to it, since the hart has it exclusively.

use super::data_cache::DataCache;
use super::instruction_cache::InstructionCache;
use super::memory_view::MemoryView;
use crate::cache::Recency;
use crate::tlb::PAGE_BYTES;

/// Bytes of a word of a line.
const WORD: u32 = 8;
/// Bits of the filter of lines that were stored to.
const FILTER_BITS: u64 = 4096;
/// Their length for the filter [bytes]: the least that caches have.
const FILTER_SHIFT: u32 = 4;
/// Bits of the filter of pages that were stored to.
const PAGE_FILTER_BITS: u64 = 1024;

/// Words of a line of `data`.
fn line_words(data: &DataCache) -> usize {
    (data.line_bytes() / u64::from(WORD)) as usize
}

/// What has happened since a hart began to run ahead.
pub(super) struct Ahead {
    /// It runs ahead now.
    runs: bool,
    data: Recency,
    code: Recency,
    /// Lines that were stored to, in the order of their first stores, and what was there before: a line's words each.
    lines: Vec<u64>,
    words: Vec<u64>,
    /// Of the lines that were stored to.
    filter: [u64; (FILTER_BITS / 64) as usize],
    /// Of the pages.
    pages: [u64; (PAGE_FILTER_BITS / 64) as usize],
}

impl Default for Ahead {
    fn default() -> Ahead {
        let (data, code) = (Recency::default(), Recency::default());
        let (filter, pages) = ([0; (FILTER_BITS / 64) as usize], [0; (PAGE_FILTER_BITS / 64) as usize]);
        Ahead { runs: false, data, code, lines: vec![], words: vec![], filter, pages }
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
    pub fn begin(&mut self, data: &mut DataCache, code: &InstructionCache) {
        data.withhold();
        data.save_recency(&mut self.data);
        code.save_recency(&mut self.code);
        self.forget();
    }

    /// Everything is as it was when that began, but for what others' transactions have taken.
    pub fn take_back(&mut self, data: &mut DataCache, code: &mut InstructionCache, memory: &mut MemoryView) {
        for (&line, words) in self.lines.iter().zip(self.words.chunks(line_words(data))) {
            for (address, &word) in (line..).step_by(WORD as usize).zip(words) {
                memory.write(address, WORD, word);
            }
        }
        self.forget();
        data.restore_recency(&self.data);
        code.restore_recency(&self.code);
    }

    /// A line from `first` on, below `end`, was used.
    pub fn has_used(&self, data: &DataCache, code: &InstructionCache, first: u64, end: u64) -> bool {
        data.has_used(first, end, &self.data) || code.has_used(first, end, &self.code)
    }

    /// The line at `line` of `data` is about to be stored to.
    pub fn keep(&mut self, line: u64, data: &DataCache, memory: &MemoryView) {
        let words = (line..).step_by(WORD as usize).take(line_words(data));
        self.words.extend(words.map(|address| memory.read(address, WORD)));
        self.lines.push(line);
        for part in (line..line + data.line_bytes()).step_by(1 << FILTER_SHIFT) {
            let (word, bit) = Ahead::bit(part);
            self.filter[word] |= bit;
        }
        let (word, bit) = Ahead::page_bit(line);
        self.pages[word] |= bit;
    }

    fn forget(&mut self) {
        self.lines.clear();
        self.words.clear();
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

    /// Something from `first` on, where a line begins, below `end` may have been stored to.
    pub fn may_have_stored(&self, first: u64, end: u64) -> bool {
        let lines = (first..end).step_by(1 << FILTER_SHIFT);
        !self.lines.is_empty() && lines.map(Ahead::bit).any(|(word, bit)| self.filter[word] & bit != 0)
    }
}

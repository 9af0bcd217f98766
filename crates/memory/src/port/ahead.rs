//! Running ahead of other harts: what a port may do then, and what it can take back.
//!
//! A hart that runs ahead makes accesses that concern its own caches alone: hits in the L1, and lines that come from the L2.
//! Any other stops it before anything has changed ([`super::Stop::Turn`]). What may have to be taken back is kept: the recency
//! of lines; ways of both levels before they change; what stores overwrite, of each line before the first; the write buffer.
//! Nobody else stores to such a line, since the hart has it exclusively. Another's transaction on a line that was moved or
//! stored to has the hart taken back first ([`super::Port::is_concerned`]), so that ways are as it left them.

use super::data_cache::DataCache;
use super::instruction_cache::InstructionCache;
use super::memory_view::MemoryView;
use super::request::Request;
use super::second_level::SecondLevel;
use super::statistics::PortStatistics;
use super::stop::Waits;
use super::transactions::Transactions;
use super::write_buffer::WriteBuffer;
use crate::cache::{Kept, Recency};
use crate::tlb::PAGE_BYTES;

/// Bytes of a word of a line.
const WORD: u32 = 8;
/// Bits of a filter of lines.
const FILTER_BITS: u64 = 4096;
/// Their length for the filter [bytes]: the least that caches have.
const FILTER_SHIFT: u32 = 4;
/// Bits of the filter of pages that were stored to.
const PAGE_FILTER_BITS: u64 = 1024;

/// Lines that something was done to. Most questions are about others, which a filter tells.
struct Lines {
    all: Vec<u64>,
    filter: [u64; (FILTER_BITS / 64) as usize],
}

impl Default for Lines {
    fn default() -> Lines {
        Lines { all: vec![], filter: [0; (FILTER_BITS / 64) as usize] }
    }
}

impl Lines {
    fn bit(address: u64) -> (usize, u64) {
        let bit = address >> FILTER_SHIFT & (FILTER_BITS - 1);
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    /// `line` is one of them.
    fn add(&mut self, line: u64) {
        let (word, bit) = Lines::bit(line);
        self.filter[word] |= bit;
        self.all.push(line);
    }

    fn has(&self, line: u64) -> bool {
        let (word, bit) = Lines::bit(line);
        self.filter[word] & bit != 0 && self.all.contains(&line)
    }

    /// One of them begins at `first` or later, below `end`.
    fn has_within(&self, first: u64, end: u64) -> bool {
        let is_set = |(word, bit): (usize, u64)| self.filter[word] & bit != 0;
        !self.all.is_empty()
            && (first..end).step_by(1 << FILTER_SHIFT).map(Lines::bit).any(is_set)
            && self.all.iter().any(|line| (first..end).contains(line))
    }

    fn clear(&mut self) {
        if !self.all.is_empty() {
            self.all.clear();
            self.filter.fill(0);
        }
    }
}

/// What has happened since a hart began to run ahead.
pub(super) struct Ahead {
    /// It runs ahead now.
    runs: bool,
    data: Recency,
    code: Recency,
    /// Lines that were stored to, in the order of their first stores, and what was there before: a line's words each.
    stored: Lines,
    words: Vec<u64>,
    /// Pages that were stored to.
    pages: [u64; (PAGE_FILTER_BITS / 64) as usize],
    /// Lines that came into a cache or left one, or that the L2 gave.
    moved: Lines,
    /// Ways of the L1, and of the L2, before they changed, in that order.
    l1: Vec<Kept>,
    l2: Vec<Kept>,
    l2_tick: u64,
    buffer: WriteBuffer,
    /// What the write buffer had asked for, and when the L2 was to give it.
    asked: (Option<Request>, u64),
    given: u64,
    /// Counters that move, before and after.
    before: [u64; COUNTERS],
    after: [u64; COUNTERS],
    waits: Waits,
}

/// Counters that move where a hart runs ahead.
const COUNTERS: usize = 5;

fn counters(s: &mut PortStatistics) -> [&mut u64; COUNTERS] {
    [
        &mut s.l1d_load_misses,
        &mut s.l1d_store_misses,
        &mut s.l1d_replacements,
        &mut s.l1d_writebacks,
        &mut s.l2_hits,
    ]
}

/// The parts of a port that are kept and restored.
pub(super) struct Parts<'a> {
    pub l1d: &'a mut DataCache,
    pub l1i: &'a mut InstructionCache,
    pub l2: &'a mut SecondLevel,
    pub buffer: &'a mut WriteBuffer,
    pub transactions: &'a mut Transactions,
    pub memory: &'a mut MemoryView,
    pub given: &'a mut u64,
    pub statistics: &'a mut PortStatistics,
    pub waits: &'a mut Waits,
}

impl Ahead {
    /// Nothing has happened, of a port with a write buffer like `buffer`.
    pub fn new(buffer: WriteBuffer) -> Ahead {
        Ahead {
            runs: false,
            data: Recency::default(),
            code: Recency::default(),
            stored: Lines::default(),
            words: vec![],
            pages: [0; (PAGE_FILTER_BITS / 64) as usize],
            moved: Lines::default(),
            l1: vec![],
            l2: vec![],
            l2_tick: 0,
            buffer,
            asked: (None, 0),
            given: u64::MAX,
            before: [0; COUNTERS],
            after: [0; COUNTERS],
            waits: Waits::default(),
        }
    }

    /// Accesses that concern others wait for the hart's turn.
    #[inline]
    pub fn runs(&self) -> bool {
        self.runs
    }

    /// It runs ahead from now on, or no more, with these counters.
    pub fn set(&mut self, runs: bool, statistics: &mut PortStatistics) {
        self.runs = runs;
        self.after = counters(statistics).map(|counter| *counter);
    }

    /// The line at `line` was stored to.
    pub fn has_stored(&self, line: u64) -> bool {
        self.stored.has(line)
    }

    /// A line from `first` on, below `end`, was stored to, or moved between the caches.
    pub fn has_changed(&self, first: u64, end: u64) -> bool {
        self.moved.has_within(first, end) || self.stored.has_within(first, end)
    }

    /// A line from `first` on, below `end`, is in a set of `data` in which a way has changed: were it gone, another line might have
    /// made room.
    pub fn has_neighbour(&self, data: &DataCache, first: u64, end: u64) -> bool {
        let mut lines = (first..end).step_by(data.line_bytes() as usize);
        !self.l1.is_empty()
            && lines.any(|line| {
                let set = data.find(line).map(|way| data.cache().set_of(way));
                set.is_some() && self.l1.iter().any(|kept| Some(data.cache().set_of(kept.index)) == set)
            })
    }

    /// A line from `first` on, below `end`, was used.
    pub fn has_used(&self, data: &DataCache, code: &InstructionCache, first: u64, end: u64) -> bool {
        data.has_used(first, end, &self.data) || code.has_used(first, end, &self.code)
    }

    pub fn begin(&mut self, p: Parts<'_>) {
        p.l1d.withhold();
        p.l1d.save_recency(&mut self.data);
        p.l1i.save_recency(&mut self.code);
        self.l2_tick = p.l2.tick();
        self.buffer.copy_from(p.buffer);
        self.asked = p.transactions.of_write_buffer();
        self.given = *p.given;
        self.before = counters(p.statistics).map(|counter| *counter);
        self.after = self.before;
        self.waits = *p.waits;
        self.forget();
    }

    pub fn take_back(&mut self, p: Parts<'_>) {
        for (&line, words) in self.stored.all.iter().zip(self.words.chunks(line_words(p.l1d))) {
            for (address, &word) in (line..).step_by(WORD as usize).zip(words) {
                p.memory.write(address, WORD, word);
            }
        }
        self.l1.drain(..).rev().for_each(|kept| p.l1d.restore(kept));
        self.l2.drain(..).rev().for_each(|kept| p.l2.restore(kept));
        p.l1d.restore_recency(&self.data);
        p.l1i.restore_recency(&self.code);
        p.l2.set_tick(self.l2_tick);
        p.buffer.copy_from(&self.buffer);
        p.transactions.restore_write_buffer(self.asked);
        *p.given = self.given;
        // Others' transactions may have moved them, too.
        for ((counter, before), after) in counters(p.statistics).into_iter().zip(self.before).zip(self.after)
        {
            *counter -= after - before;
        }
        *p.waits = self.waits;
        self.forget();
    }

    fn forget(&mut self) {
        self.stored.clear();
        self.words.clear();
        self.pages.fill(0);
        self.moved.clear();
        self.l1.clear();
        self.l2.clear();
    }

    /// A way of the data cache is about to change, for `line`.
    pub fn keep_way(&mut self, way: usize, line: u64, data: &DataCache) {
        self.l1.push(data.keep(way));
        let old = data.cache().line(way).filter(|&old| old != line);
        for line in old.into_iter().chain([line]) {
            self.moved.add(line);
        }
    }

    /// The way of the L2 with `line` is about to change.
    pub fn keep_below(&mut self, line: u64, l2: &SecondLevel) {
        self.l2.extend(l2.keep(line));
        self.moved.add(line);
    }

    /// The L2 was asked for the line at `line`, because it may give it: had another taken it, the bus would have been.
    pub fn note_asked(&mut self, line: u64) {
        self.moved.add(line);
    }

    /// The line at `line` of `data` is about to be stored to.
    pub fn keep_line(&mut self, line: u64, data: &DataCache, memory: &MemoryView) {
        if self.stored.has(line) {
            return;
        }
        let words = (line..).step_by(WORD as usize).take(line_words(data));
        self.words.extend(words.map(|address| memory.read(address, WORD)));
        self.stored.add(line);
        let (word, bit) = Ahead::page_bit(line);
        self.pages[word] |= bit;
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
}

/// Words of a line of `data`.
fn line_words(data: &DataCache) -> usize {
    (data.line_bytes() / u64::from(WORD)) as usize
}

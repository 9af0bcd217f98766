//! Running ahead of other harts: what a port may do then, and what it can take back.
//!
//! A hart that runs ahead makes accesses that concern its own caches alone: hits in the L1, and lines that come from the L2.
//! Any other stops it before anything has changed ([`super::Stop::Turn`]). What may have to be taken back is kept: the recency
//! of lines; ways of both levels before they change; what stores overwrite, of each line before the first; the write buffer.
//! Nobody else stores to such a line, since the hart has it exclusively. Another's transaction on a line that was moved or
//! stored to has the hart taken back first ([`Port::is_concerned`]), so that ways are as it left them.

use super::data_cache::DataCache;
use super::instruction_cache::InstructionCache;
use super::memory_view::MemoryView;
use super::request::{Request, Slot, Snoop};
use super::second_level::SecondLevel;
use super::statistics::PortStatistics;
use super::stop::{Stall, Stop, Waits};
use super::transactions::Transactions;
use super::write_buffer::{Buffered, WriteBuffer};
use super::{Access, DEVICE_BASE, Port};
use crate::cache::{Kept, Recency, State};
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
struct Parts<'a> {
    l1d: &'a mut DataCache,
    l1i: &'a mut InstructionCache,
    l2: &'a mut SecondLevel,
    buffer: &'a mut WriteBuffer,
    transactions: &'a mut Transactions,
    memory: &'a mut MemoryView,
    given: &'a mut u64,
    statistics: &'a mut PortStatistics,
    waits: &'a mut Waits,
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

    fn begin(&mut self, p: Parts<'_>) {
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

    fn take_back(&mut self, p: Parts<'_>) {
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
    fn keep_way(&mut self, way: usize, line: u64, data: &DataCache) {
        self.l1.push(data.keep(way));
        let old = data.cache().line(way).filter(|&old| old != line);
        for line in old.into_iter().chain([line]) {
            self.moved.add(line);
        }
    }

    /// The way of the L2 with `line` is about to change.
    fn keep_below(&mut self, line: u64, l2: &SecondLevel) {
        self.l2.extend(l2.keep(line));
        self.moved.add(line);
    }

    /// The line at `line` of `data` is about to be stored to.
    fn keep_line(&mut self, line: u64, data: &DataCache, memory: &MemoryView) {
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

impl Port {
    fn ahead(&mut self) -> (&mut Ahead, Parts<'_>) {
        let Port {
            peers, l1d, l1i, l2, write_buffer: buffer, transactions, memory, statistics, waits, ..
        } = self;
        let given = &mut peers.given;
        let parts = Parts { l1d, l1i, l2, buffer, transactions, memory, given, statistics, waits };
        (&mut peers.ahead, parts)
    }

    /// From here on what happens may be taken back.
    pub fn begin_ahead(&mut self) {
        let (ahead, parts) = self.ahead();
        ahead.begin(parts);
    }

    /// The hart runs ahead of others from now on, or no more.
    pub fn set_ahead(&mut self, runs: bool) {
        let after = counters(&mut self.statistics).map(|counter| *counter);
        (self.peers.ahead.runs, self.peers.ahead.after) = (runs, after);
    }

    /// The hart may run ahead: nobody watches its accesses.
    pub fn may_run_ahead(&self) -> bool {
        let is_watched = self.observation.is_watched() || self.notes.is_on() || self.checker.is_on();
        self.is_cached() && !is_watched && !self.wants_bus()
    }

    /// Everything is as it was when the hart began to run ahead, but for what others' transactions have taken.
    pub fn take_back(&mut self) {
        let (ahead, parts) = self.ahead();
        ahead.take_back(parts);
    }

    /// What the hart has done since it began to run ahead depends on whether another master's transaction on `bytes` from
    /// `address` on comes before or after it.
    pub fn is_concerned(&self, snoop: Snoop, address: u64, bytes: u32) -> bool {
        // All lines are concerned that are touched, with an L2 its lines.
        let cache = self.l2.cache().unwrap_or(self.l1d.cache());
        let last = cache.line_of(address + u64::from(bytes) - 1);
        let (first, end) = (cache.line_of(address), last + cache.line_bytes());
        let ahead = &self.peers.ahead;
        if ahead.moved.has_within(first, end) || ahead.stored.has_within(first, end) {
            return true;
        }
        let has_used =
            || self.l1d.has_used(first, end, &ahead.data) || self.l1i.has_used(first, end, &ahead.code);
        snoop != Snoop::Read && has_used()
    }

    // --- accesses -----------------------------------------------------------------------------------

    /// The physical address of the `bytes` at `va`, and the page's permissions.
    ///
    /// # Errors
    /// Finding it takes time, or it is not memory behind caches.
    fn place_ahead(&mut self, va: u64, bytes: u32, access: Access) -> Result<(u64, u64), Stop> {
        let is_within = (va & (self.l1d.line_bytes() - 1)) + u64::from(bytes) <= self.l1d.line_bytes();
        if !is_within || !self.is_cached() || self.has_network_cache() {
            return Err(Stop::Turn);
        }
        let found = self.mmu.find(va & !(PAGE_BYTES - 1), access);
        let found = found.filter(|t| self.mmu.allows(t.permissions, access)).ok_or(Stop::Turn)?;
        let pa = found.physical_page | (va & (PAGE_BYTES - 1));
        if pa >= DEVICE_BASE { Err(Stop::Turn) } else { Ok((pa, found.permissions)) }
    }

    /// A load that is not fast, of a hart that runs ahead of others.
    ///
    /// # Errors
    /// It concerns others: it is for the hart's turn.
    pub(super) fn load_ahead(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        let (pa, permissions) = self.place_ahead(va, bytes, Access::Read)?;
        let line = self.line(pa);
        match self.write_buffer.find(pa, bytes, &self.memory) {
            Buffered::None => {}
            Buffered::Forward(value) => return Ok(value),
            Buffered::Overlap | Buffered::SameLine => return Err(Stop::Turn),
        }
        if self.transactions.is_under_way(Slot::Blocking) || self.is_arriving(line) {
            return Err(Stop::Turn);
        }
        let way = match self.l1d.seek(line) {
            Ok(way) => way,
            Err(_) if !self.l2.has_plain(line, State::Shared) => return Err(Stop::Turn),
            Err(way) => {
                self.keep_below(line);
                let (state, stale) = self.l2.give(line, State::Shared).expect("it is here");
                self.pass_l2(Stall::Data, cycles);
                self.replace_data_line(way, line, state.min(State::Exclusive), stale);
                way
            }
        };
        self.make_fast(way, va, pa, permissions);
        if !self.peers.ahead.stored.has(line) {
            // Before the first store all of it is kept.
            self.l1d.withhold_way(way);
        }
        Ok(self.memory.read(pa, bytes))
    }

    /// A store that is not fast, of a hart that runs ahead of others: the first to a line that is, or one to a line that is
    /// modified by it, or comes from the L2.
    ///
    /// # Errors
    /// It concerns others: it is for the hart's turn.
    pub(super) fn store_ahead(
        &mut self,
        va: u64,
        bytes: u32,
        value: u64,
        cycles: &mut u64,
    ) -> Result<(), Stop> {
        if self.l1d.release(va, bytes) {
            let delta =
                self.l1d.fast_store(true, va, bytes).expect("a store to a line that was released is fast");
            let pa = self.memory.physical(va.wrapping_add(delta));
            self.keep_line(pa);
            self.memory.write(pa, bytes, value);
            return Ok(());
        }
        let (pa, permissions) = self.place_ahead(va, bytes, Access::Write)?;
        if let Some(way) = self.owned_way(pa) {
            self.keep_line(pa);
            self.keep_way(way, self.line(pa));
            self.l1d.modify(way);
            self.memory.write(pa, bytes, value);
            self.make_fast(way, va, pa, permissions);
            return Ok(());
        }
        let waits = self.transactions.is_under_way(Slot::WriteBuffer);
        let is_given = waits || self.l2.has_plain(pa, State::Exclusive);
        if !self.write_buffer.has_room(1) || !is_given {
            return Err(Stop::Turn);
        }
        self.buffer_store(pa, bytes, value, *cycles);
        Ok(())
    }

    /// The line that the L2 gives to the oldest buffered store lets the write buffer go on without the bus.
    pub(super) fn is_served_by_l2(&self) -> bool {
        let mut lines = self.write_buffer.addresses().map(|address| self.line(address));
        let Some(first) = lines.next() else { return true };
        let owns = |line: &u64| *line == first || self.l1d.find_with(*line, State::Exclusive).is_some();
        let next = lines.find(|line| !owns(line));
        [Some(first), next].into_iter().flatten().all(|line| self.l2.has_plain(line, State::Exclusive))
    }

    // --- what is kept -------------------------------------------------------------------------------

    /// Way `way` of the data cache is about to change, for `line`.
    #[inline]
    pub(super) fn keep_way(&mut self, way: usize, line: u64) {
        if self.peers.ahead.runs {
            self.peers.ahead.keep_way(way, line, &self.l1d);
        }
    }

    /// The way of the L2 with `line` is about to change.
    #[inline]
    pub(super) fn keep_below(&mut self, line: u64) {
        if self.peers.ahead.runs {
            self.peers.ahead.keep_below(line, &self.l2);
        }
    }

    /// The line at `address` is about to be stored to.
    #[inline]
    pub(super) fn keep_line(&mut self, address: u64) {
        if self.peers.ahead.runs {
            self.peers.ahead.keep_line(self.l1d.line_of(address), &self.l1d, &self.memory);
        }
    }
}

//! Tags of a set-associative cache.

use bytemuck::{Zeroable, zeroed_vec};
use chasqui_config::{Bytes, Count};

/// Coherence state of a line (MESI).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Zeroable)]
#[repr(u8)]
pub enum State {
    /// Not here.
    #[default]
    Invalid = 0,
    /// Here, perhaps elsewhere too; clean.
    Shared,
    /// Here alone; clean.
    Exclusive,
    /// Here alone; memory is out of date.
    Modified,
}

chasqui_config::parameters! {
    /// A cache.
    pub struct CacheParameters {
        /// Capacity.
        size: Bytes = "32 KiB", range "256 B" ..= "16 MiB", source "assumption";
        /// Ways of a set.
        ways: Count = 8, range 1 ..= 64, source "assumption";
        /// Line.
        line: Bytes = "64 B", range "16 B" ..= "1 KiB", source "assumption";
    }
}

impl CacheParameters {
    /// A cache of this capacity [bytes] with lines of this length [bytes].
    pub const fn new(size: u64, ways: u64, line: u64) -> CacheParameters {
        CacheParameters { size: Bytes::from_bytes(size), ways, line: Bytes::from_bytes(line) }
    }

    /// Checks that the numbers make a cache.
    ///
    /// # Errors
    /// A sentence that says what does not fit.
    pub fn check(&self) -> Result<(), String> {
        let (bytes, ways, line_bytes) = (self.size.bytes(), self.ways, self.line.bytes());
        if !line_bytes.is_power_of_two() || !(4..=4096).contains(&line_bytes) {
            return Err(format!("a line of {line_bytes} bytes is not a power of two from 4 to 4096"));
        }
        let set = ways * line_bytes;
        if ways == 0 || bytes % set != 0 || !(bytes / set).is_power_of_two() {
            return Err(format!(
                "{bytes} bytes of {ways} ways of {line_bytes}-byte lines do not make a power of two of sets"
            ));
        }
        if bytes == line_bytes {
            return Err(format!(
                "a single line of {line_bytes} bytes can't hold both halves of an access that crosses a line"
            ));
        }
        Ok(())
    }
}

/// An entry of the hart's fast table, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroable)]
#[repr(transparent)]
pub(crate) struct FastIndex(u32);

impl FastIndex {
    pub const NONE: FastIndex = FastIndex(0);

    #[inline]
    pub fn of(index: u32) -> FastIndex {
        FastIndex(index + 1)
    }

    #[inline]
    pub fn get(self) -> Option<u32> {
        self.0.checked_sub(1)
    }
}

/// What is known of a line beside its address and its recency. Of an empty way all is zero.
#[derive(Clone, Copy, Debug, Zeroable)]
pub(crate) struct Way {
    pub state: State,
    /// A device has overwritten the line since it was fetched (coherence checker).
    pub stale: bool,
    /// A device has put it here, and the hart has not used it yet.
    pub stashed: bool,
    /// The hart's fast-table entry for this line.
    pub fast: FastIndex,
}

const EMPTY: Way = Way { state: State::Invalid, stale: false, stashed: false, fast: FastIndex::NONE };

/// The tag of an empty way. That of any other is the address of its line, with its lowest bit set.
const NO_LINE: u64 = 0;

/// A cache: tags, states and recency, no data.
///
/// Each is an array of its own: a search reads the tags of a set and nothing else, which are in one or two lines of the
/// host's cache. Empty, all are zeroes: of a cache that is hardly used the host keeps no more than is. They have a last
/// way that is of no set, for those who must name one and have none: [`Cache::nowhere`].
pub struct Cache {
    tags: Vec<u64>,
    /// When a line was last used, in the owner's ticks, which begin with 1. Of an empty way: 0.
    stamps: Vec<u64>,
    ways: Vec<Way>,
    associativity: usize,
    set_mask: u64,
    line_shift: u32,
}

/// When each line of a cache was last used, at some moment.
#[derive(Debug, Default)]
pub(crate) struct Recency {
    stamps: Vec<u64>,
    /// Uses until then.
    pub tick: u64,
}

/// A way, as it was at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub index: usize,
    tag: u64,
    stamp: u64,
    way: Way,
}

impl Cache {
    /// An empty cache.
    ///
    /// # Panics
    /// When [`CacheParameters::check`] refuses them.
    pub fn new(parameters: &CacheParameters) -> Cache {
        parameters.check().unwrap_or_else(|e| panic!("{e}"));
        let sets = parameters.size.bytes() / parameters.ways / parameters.line.bytes();
        Cache::of(sets, parameters.ways, parameters.line)
    }

    /// An empty cache for instructions alone. It may have one line: of an instruction that crosses the end of a line it
    /// then never holds both parts, which are fetched one after the other.
    ///
    /// # Panics
    /// When [`CacheParameters::check`] refuses them.
    pub(crate) fn of_instructions(parameters: &CacheParameters) -> Cache {
        if parameters.size == parameters.line {
            Cache::of(1, 1, parameters.line)
        } else {
            Cache::new(parameters)
        }
    }

    fn of(sets: u64, ways: u64, line: Bytes) -> Cache {
        let entries = (sets * ways) as usize + 1;
        Cache {
            tags: zeroed_vec(entries),
            stamps: zeroed_vec(entries),
            ways: zeroed_vec(entries),
            associativity: ways as usize,
            set_mask: sets - 1,
            line_shift: line.bytes().trailing_zeros(),
        }
    }

    /// Length of a line [bytes].
    #[inline]
    pub fn line_bytes(&self) -> u64 {
        1 << self.line_shift
    }

    /// Address of the line that holds `address`.
    #[inline]
    pub fn line_of(&self, address: u64) -> u64 {
        address >> self.line_shift << self.line_shift
    }

    /// The first way of the set of `line`.
    #[inline(always)]
    fn first(&self, line: u64) -> usize {
        (line >> self.line_shift & self.set_mask) as usize * self.associativity
    }

    /// Index of the way that holds `line`.
    #[inline(always)]
    pub(crate) fn find(&self, line: u64) -> Option<usize> {
        let first = self.first(line);
        // SAFETY: a set's ways are among those of the cache.
        let tag = |way| unsafe { *self.tags.get_unchecked(way) };
        (first..first + self.associativity).find(|&way| tag(way) == line | 1)
    }

    #[inline]
    pub(crate) fn way(&self, index: usize) -> &Way {
        &self.ways[index]
    }

    #[inline]
    pub(crate) fn way_mut(&mut self, index: usize) -> &mut Way {
        &mut self.ways[index]
    }

    /// The line in way `index`, if there is one.
    #[inline]
    pub(crate) fn line(&self, index: usize) -> Option<u64> {
        let tag = self.tags[index];
        (tag != NO_LINE).then_some(tag & !1)
    }

    /// The number of the set of way `index`.
    #[inline]
    pub(crate) fn set_of(&self, index: usize) -> usize {
        index / self.associativity
    }

    /// The way that is of no set.
    #[inline]
    pub(crate) fn nowhere(&self) -> usize {
        self.tags.len() - 1
    }

    /// Ways that have an entry in the hart's fast table.
    pub(crate) fn fast_ways(&self) -> usize {
        self.ways.iter().filter(|way| way.fast != FastIndex::NONE).count()
    }

    /// When each way was last used: what [`super::port::FastView`] keeps up to date.
    #[inline]
    pub(crate) fn stamps_mut(&mut self) -> &mut [u64] {
        &mut self.stamps
    }

    /// Keeps the recency of lines, after `tick` uses.
    pub(crate) fn save_recency(&self, tick: u64, to: &mut Recency) {
        to.stamps.clone_from(&self.stamps);
        to.tick = tick;
    }

    /// The recency of lines is as it was. Lines may have left since then, and none has come.
    pub(crate) fn restore_recency(&mut self, from: &Recency) {
        for ((stamp, &before), &tag) in self.stamps.iter_mut().zip(&from.stamps).zip(&self.tags) {
            // An empty way is the first to be taken.
            *stamp = if tag == NO_LINE { 0 } else { before };
        }
    }

    /// Way `index` as it is, with its line, if it has one.
    #[inline]
    pub(crate) fn keep(&self, index: usize) -> Kept {
        Kept { index, tag: self.tags[index], stamp: self.stamps[index], way: self.ways[index] }
    }

    /// A way is as it was, but for its entry in the fast table: it has none.
    pub(crate) fn restore(&mut self, Kept { index, tag, stamp, way }: Kept) {
        self.tags[index] = tag;
        self.stamps[index] = stamp;
        self.ways[index] = Way { fast: FastIndex::NONE, ..way };
    }

    /// A line from `first` on, below `end`, was used since then.
    pub(crate) fn has_used(&self, first: u64, end: u64, since: &Recency) -> bool {
        let mut lines = (self.line_of(first)..end).step_by(self.line_bytes() as usize);
        lines.any(|line| self.find(line).is_some_and(|way| self.stamps[way] > since.tick))
    }

    /// The line in way `index` is used at `tick`.
    #[inline]
    pub(crate) fn touch(&mut self, index: usize, tick: u64) {
        self.stamps[index] = tick;
    }

    /// State of the line at `line`.
    #[inline]
    pub fn state(&self, line: u64) -> State {
        self.find(line).map_or(State::Invalid, |w| self.ways[w].state)
    }

    /// The way that a new line at `line` takes: an invalid one, else the least recently used.
    #[inline]
    pub(crate) fn victim(&self, line: u64) -> usize {
        self.victim_among(line, self.associativity)
    }

    /// The same, of the first `ways` of a set.
    #[inline]
    pub(crate) fn victim_among(&self, line: u64, ways: usize) -> usize {
        let first = self.first(line);
        let set = first..first + self.associativity.min(ways);
        // No two uses have one tick.
        set.min_by_key(|&way| self.stamps[way]).expect("a way")
    }

    /// The way that holds `line`; if there is none, as an error, the way that it takes.
    #[inline(always)]
    pub(crate) fn seek(&self, line: u64) -> Result<usize, usize> {
        let first = self.first(line);
        let (mut victim, mut least) = (first, u64::MAX);
        for way in first..first + self.associativity {
            // SAFETY: as in `find`; each way has a stamp.
            let (tag, stamp) = unsafe { (*self.tags.get_unchecked(way), *self.stamps.get_unchecked(way)) };
            if tag == line | 1 {
                return Ok(way);
            }
            // No two uses have one tick.
            if stamp < least {
                (victim, least) = (way, stamp);
            }
        }
        Err(victim)
    }

    /// Puts `line` in way `index`, and says what was there and what was known of it.
    #[inline(always)]
    pub(crate) fn replace(&mut self, index: usize, line: u64, state: State, stale: bool) -> (u64, Way) {
        let old = std::mem::replace(&mut self.tags[index], line | 1);
        (old & !1, std::mem::replace(&mut self.ways[index], Way { state, stale, ..EMPTY }))
    }

    /// Puts `line` in way `index`.
    #[inline]
    pub(crate) fn place(&mut self, index: usize, line: u64, state: State, tick: u64) {
        self.tags[index] = line | 1;
        self.stamps[index] = tick;
        self.ways[index] = Way { state, ..EMPTY };
    }

    /// Way `index` is empty from now on; what was known of its line.
    #[inline]
    pub(crate) fn clear(&mut self, index: usize) -> Way {
        self.tags[index] = NO_LINE;
        self.stamps[index] = 0;
        std::mem::replace(&mut self.ways[index], EMPTY)
    }

    /// Lines held.
    pub fn occupied(&self) -> usize {
        self.lines().count()
    }

    /// Lines held, with their states.
    pub fn lines(&self) -> impl Iterator<Item = (u64, State)> + '_ {
        let held = |(way, &tag): (usize, &u64)| (tag != NO_LINE).then(|| (tag & !1, self.ways[way].state));
        self.tags.iter().enumerate().filter_map(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_replaces_its_least_recently_used_line() {
        let mut cache = Cache::new(&CacheParameters::new(4 * 32 * 2, 2, 32));
        for (stamp, line) in [(1, 0u64), (2, 4 * 32)] {
            let way = cache.victim(line);
            cache.place(way, line, State::Exclusive, stamp);
        }
        let used = cache.find(0).unwrap();
        cache.touch(used, 3);
        let victim = cache.victim(8 * 32);
        assert_eq!(cache.line(victim), Some(4 * 32));
        assert_eq!(cache.occupied(), 2);
    }

    #[test]
    fn geometries_that_make_no_cache_are_refused() {
        let g = |bytes, ways, line| CacheParameters::new(bytes, ways, line).check();
        assert!(g(16384, 4, 32).is_ok());
        assert!(g(16384, 3, 32).unwrap_err().contains("power of two of sets"));
        assert!(g(64, 1, 64).unwrap_err().contains("single line"));
        assert!(g(16384, 4, 24).unwrap_err().contains("line of 24"));
    }
}

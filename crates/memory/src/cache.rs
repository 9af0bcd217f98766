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

/// One way of one set. An empty one is all zeroes: of a cache that is hardly used the host keeps no more than is.
#[derive(Clone, Copy, Debug, Zeroable)]
pub(crate) struct Way {
    /// Physical line address.
    pub line: u64,
    pub state: State,
    /// A device has overwritten the line since it was fetched (coherence checker).
    pub stale: bool,
    /// A device has put it here, and the hart has not used it yet.
    pub stashed: bool,
    /// The hart's fast-table entry for this line.
    pub fast: FastIndex,
    /// When it was last used, in the owner's ticks.
    pub stamp: u64,
}

const EMPTY: Way =
    Way { line: 0, state: State::Invalid, stale: false, stashed: false, fast: FastIndex::NONE, stamp: 0 };

/// A cache: tags, states and recency, no data.
pub struct Cache {
    ways: Vec<Way>,
    associativity: usize,
    set_mask: u64,
    line_shift: u32,
}

impl Cache {
    /// An empty cache.
    ///
    /// # Panics
    /// When [`CacheParameters::check`] refuses them.
    pub fn new(parameters: &CacheParameters) -> Cache {
        parameters.check().unwrap_or_else(|e| panic!("{e}"));
        let sets = parameters.size.bytes() / parameters.ways / parameters.line.bytes();
        Cache {
            ways: zeroed_vec((sets * parameters.ways) as usize),
            associativity: parameters.ways as usize,
            set_mask: sets - 1,
            line_shift: parameters.line.bytes().trailing_zeros(),
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

    #[inline]
    fn set(&self, line: u64) -> std::ops::Range<usize> {
        let first = (line >> self.line_shift & self.set_mask) as usize * self.associativity;
        first..first + self.associativity
    }

    /// Index of the way that holds `line`.
    #[inline]
    pub(crate) fn find(&self, line: u64) -> Option<usize> {
        let set = self.set(line);
        let first = set.start;
        let way = self.ways[set].iter().position(|w| w.line == line && w.state != State::Invalid)?;
        Some(first + way)
    }

    #[inline]
    pub(crate) fn way(&self, index: usize) -> &Way {
        &self.ways[index]
    }

    /// All ways, used or not.
    pub(crate) fn ways(&self) -> impl Iterator<Item = &Way> {
        self.ways.iter()
    }

    #[inline]
    pub(crate) fn way_mut(&mut self, index: usize) -> &mut Way {
        &mut self.ways[index]
    }

    /// State of the line at `line`.
    #[inline]
    pub fn state(&self, line: u64) -> State {
        self.find(line).map_or(State::Invalid, |w| self.ways[w].state)
    }

    /// The way that a new line at `line` takes: an invalid one, else the least recently used.
    /// `stamp_of` gives a way's recency.
    #[inline]
    pub(crate) fn victim(&self, line: u64, stamp_of: impl Fn(&Way) -> u64) -> usize {
        self.victim_among(line, self.associativity, stamp_of)
    }

    /// The same, of the first `ways` of a set.
    #[inline]
    pub(crate) fn victim_among(&self, line: u64, ways: usize, stamp_of: impl Fn(&Way) -> u64) -> usize {
        let set = self.set(line);
        let first = set.start;
        let (mut oldest, mut least) = (first, u64::MAX);
        for (w, way) in self.ways[set].iter().take(ways).enumerate() {
            if way.state == State::Invalid {
                return first + w;
            }
            let stamp = stamp_of(way);
            if stamp < least {
                (oldest, least) = (first + w, stamp);
            }
        }
        oldest
    }

    /// Puts `line` in way `index`.
    pub(crate) fn place(&mut self, index: usize, line: u64, state: State, stamp: u64) {
        self.ways[index] = Way { line, state, stale: false, stashed: false, fast: FastIndex::NONE, stamp };
    }

    pub(crate) fn clear(&mut self, index: usize) -> Way {
        std::mem::replace(&mut self.ways[index], EMPTY)
    }

    /// Lines held.
    pub fn occupied(&self) -> usize {
        self.ways.iter().filter(|w| w.state != State::Invalid).count()
    }

    /// Lines held, with their states.
    pub fn lines(&self) -> impl Iterator<Item = (u64, State)> + '_ {
        self.ways.iter().filter(|w| w.state != State::Invalid).map(|w| (w.line, w.state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_replaces_its_least_recently_used_line() {
        let mut cache = Cache::new(&CacheParameters::new(4 * 32 * 2, 2, 32));
        for (stamp, line) in [(1, 0u64), (2, 4 * 32)] {
            let way = cache.victim(line, |w| w.stamp);
            cache.place(way, line, State::Exclusive, stamp);
        }
        let used = cache.find(0).unwrap();
        cache.way_mut(used).stamp = 3;
        let victim = cache.victim(8 * 32, |w| w.stamp);
        assert_eq!(cache.way(victim).line, 4 * 32);
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

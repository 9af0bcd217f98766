//! The unified cache of the second level, if there is one. It includes the first: who puts a line here takes what leaves
//! from the caches of the first level.
//!
//! It takes injected writes: another master's that the outermost cache takes in place of memory, as with Intel's DDIO
//! (into ways of the last level) or Arm's cache stashing (into a processor's L2). A line that is held is updated where it
//! is; one that is not takes a way of the first `stash_ways` of its set, the least recently used of them.

use chasqui_counters::counters;

use super::parameters::L2Parameters;
use super::request::Snooped;
use crate::cache::{Cache, Kept, State, Way};

/// What came of a write that the L2 was to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stashed {
    /// The L2 has it; memory is not written.
    Taken,
    /// The same, but the rest of the line has to be fetched from memory.
    Merged,
    /// There is no L2, or a message that is bound there: caches must drop their copies, memory is written.
    Refused,
}

counters! {
    /// Counters of injection.
    pub struct StashStatistics {
        /// Lines that the NI's writes brought into the L2.
        lines: "count";
        /// Lines that came so and of which the rest was fetched from memory.
        merged: "count";
        /// Writes of the NI into lines that the L2 held.
        updates: "count";
        /// Lines that came so and that the hart used.
        used: "count";
        /// Lines that came so and were replaced before the hart used them.
        lost: "count";
        /// Lines of the hart's own that lines that came so replaced.
        displaced: "count";
        /// Writes that were to be taken and went to memory.
        refused: "count";
    }
}

/// A line that left to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replaced {
    /// Physical line address.
    pub line: u64,
    /// Length [bytes].
    pub bytes: u64,
    /// It was modified.
    pub dirty: bool,
}

/// Tags, states and recency of the lines of the second level.
pub(super) struct SecondLevel {
    cache: Option<Cache>,
    /// Uses so far: what the recency of lines is told by.
    tick: u64,
    /// Ways of a set that injected lines may take.
    stash_ways: usize,
    stash: StashStatistics,
    changes: u64,
}

impl SecondLevel {
    pub fn new(parameters: &L2Parameters) -> SecondLevel {
        SecondLevel {
            cache: parameters.cache().as_ref().map(Cache::new),
            tick: 0,
            stash_ways: parameters.stash_ways as usize,
            stash: StashStatistics::default(),
            changes: 0,
        }
    }

    /// Moves with every line that leaves by itself, comes by injection or loses a right.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Counters of injection.
    pub fn stash_statistics(&self) -> &StashStatistics {
        &self.stash
    }

    // --- what is here ---------------------------------------------------------------------------

    /// The tags, if there is a second level.
    #[inline]
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// There is a second level.
    #[inline]
    pub fn is_present(&self) -> bool {
        self.cache.is_some()
    }

    /// The line that holds `address`.
    #[inline]
    pub fn find(&self, address: u64) -> Option<&Way> {
        let cache = self.cache.as_ref()?;
        Some(cache.way(cache.find(cache.line_of(address))?))
    }

    /// State of the line that holds `address`.
    #[inline]
    pub fn state(&self, address: u64) -> State {
        self.find(address).map_or(State::Invalid, |way| way.state)
    }

    /// The line that would make room for `address`, if that is not here: its address and length.
    #[inline]
    pub fn victim(&self, address: u64) -> Option<(u64, u64)> {
        let cache = self.cache.as_ref()?;
        let line = cache.line_of(address);
        if cache.find(line).is_some() {
            return None;
        }
        Some((cache.line(cache.victim(line))?, cache.line_bytes()))
    }

    /// A line with these rights at least is here to be given, and no device has put it here: giving it changes its recency alone.
    #[inline]
    pub fn has_plain(&self, address: u64, least: State) -> bool {
        self.find(address).is_some_and(|way| way.state >= least && !way.stashed)
    }

    /// The way of the line that holds `address`, as it is.
    pub fn keep(&self, address: u64) -> Option<Kept> {
        let cache = self.cache.as_ref()?;
        Some(cache.keep(cache.find(cache.line_of(address))?))
    }

    /// A way is as it was.
    pub fn restore(&mut self, kept: Kept) {
        if let Some(cache) = &mut self.cache {
            cache.restore(kept);
        }
    }

    /// Uses so far.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// There were so many uses: later ones are taken back.
    pub fn set_tick(&mut self, tick: u64) {
        self.tick = tick;
    }

    #[inline]
    fn find_mut(&mut self, address: u64) -> Option<&mut Way> {
        let cache = self.cache.as_mut()?;
        let way = cache.find(cache.line_of(address))?;
        Some(cache.way_mut(way))
    }

    /// The line in way `way` is used.
    #[inline]
    fn touch(&mut self, way: usize) {
        self.tick += 1;
        if let Some(cache) = &mut self.cache {
            cache.touch(way, self.tick);
        }
    }

    // --- what the first level takes and gives ---------------------------------------------------

    /// Gives data of the line that holds `address`, if it is here in the state `least` or one with more rights: its
    /// state, and whether it is stale.
    #[inline(always)]
    pub fn give(&mut self, address: u64, least: State) -> Option<(State, bool)> {
        let cache = self.cache.as_mut()?;
        let place = cache.find(cache.line_of(address))?;
        let way = cache.way_mut(place);
        if way.state < least {
            return None;
        }
        let (state, stale) = (way.state, way.stale);
        if way.stashed {
            way.stashed = false;
            self.stash.used += 1;
        }
        self.tick += 1;
        cache.touch(place, self.tick);
        Some((state, stale))
    }

    /// Gives instructions of the line that holds `address`, if it is here.
    #[inline]
    pub fn give_code(&mut self, address: u64) -> bool {
        let place = self.cache.as_ref().and_then(|cache| cache.find(cache.line_of(address)));
        if let Some(place) = place {
            self.touch(place);
        }
        place.is_some()
    }

    /// The line that holds `address` comes in the state `state`; its data too (`fetched`), or only a right. What it
    /// replaces leaves.
    #[inline]
    pub fn place(&mut self, address: u64, state: State, fetched: bool) -> Option<Replaced> {
        let cache = self.cache.as_mut()?;
        self.tick += 1;
        let line = cache.line_of(address);
        if let Some(place) = cache.find(line) {
            cache.touch(place, self.tick);
            let way = cache.way_mut(place);
            way.state = way.state.max(state);
            way.stale &= !fetched;
            way.stashed = false;
            return None;
        }
        let way = cache.victim(line);
        let (replaced, old) = (cache.line(way), *cache.way(way));
        cache.place(way, line, state, self.tick);
        let line = replaced?;
        self.stash.lost += u64::from(old.stashed);
        Some(Replaced { line, bytes: cache.line_bytes(), dirty: old.state == State::Modified })
    }

    /// The line that holds `address` is about to be modified in the first level: nobody else has a copy.
    pub fn own(&mut self, address: u64) {
        if let Some(way) = self.find_mut(address) {
            way.state = way.state.max(State::Exclusive);
        }
    }

    /// The first level gives back a line that it has modified.
    #[inline]
    pub fn modify(&mut self, address: u64) {
        self.find_mut(address).expect("the L2 is inclusive").state = State::Modified;
    }

    // --- what others ask for --------------------------------------------------------------------

    /// Coherence checker: a device overwrites the line that holds `address`.
    pub fn mark_stale(&mut self, address: u64) {
        if let Some(way) = self.find_mut(address) {
            way.stale = true;
        }
    }

    /// What is modified in `line` is on its way to memory.
    pub fn clean(&mut self, line: u64) {
        if let Some(cache) = &mut self.cache
            && let Some(way) = cache.find(line).filter(|&way| cache.way(way).state == State::Modified)
        {
            cache.way_mut(way).state = State::Exclusive;
            self.changes += 1;
        }
    }

    /// Drops `line`. True: it was here.
    pub fn remove(&mut self, line: u64) -> bool {
        let Some(cache) = &mut self.cache else { return false };
        let Some(way) = cache.find(line) else { return false };
        cache.clear(way);
        self.changes += 1;
        true
    }

    /// Another master takes the lines from that of `address` to `end` (`removes`), or copies them.
    #[inline]
    pub fn snoop(&mut self, removes: bool, address: u64, end: u64) -> Snooped {
        let mut found = Snooped::default();
        let Some(cache) = &mut self.cache else { return found };
        let mut line = cache.line_of(address);
        while line < end {
            if let Some(way) = cache.find(line) {
                found.present = true;
                found.dirty |= cache.way(way).state == State::Modified;
                self.changes += 1;
                if removes {
                    cache.clear(way);
                } else {
                    cache.way_mut(way).state = State::Shared;
                }
            }
            line += cache.line_bytes();
        }
        found
    }

    /// An injected write is not taken.
    pub fn refuse_stash(&mut self) -> Stashed {
        self.stash.refused += 1;
        Stashed::Refused
    }

    /// Takes an injected write of `bytes` at `address`, which lie in one line. A line that was `stale` is so no more if
    /// all of it is written. What is replaced leaves.
    pub fn stash(&mut self, address: u64, bytes: u32, stale: bool) -> (Stashed, Option<Replaced>) {
        let cache = self.cache.as_mut().expect("an L2");
        let line = cache.line_of(address);
        let is_whole = u64::from(bytes) == cache.line_bytes();
        self.tick += 1;
        self.changes += 1;
        if let Some(way) = cache.find(line) {
            self.stash.updates += 1;
            cache.touch(way, self.tick);
            let way = cache.way_mut(way);
            (way.state, way.stale) = (State::Modified, stale && !is_whole);
            return (Stashed::Taken, None);
        }
        let way = cache.victim_among(line, self.stash_ways);
        let (replaced, old) = (cache.line(way), *cache.way(way));
        cache.place(way, line, State::Modified, self.tick);
        cache.way_mut(way).stashed = true;
        let replaced = replaced.map(|line| {
            self.stash.lost += u64::from(old.stashed);
            self.stash.displaced += u64::from(!old.stashed);
            Replaced { line, bytes: cache.line_bytes(), dirty: old.state == State::Modified }
        });
        self.stash.lines += 1;
        self.stash.merged += u64::from(!is_whole);
        (if is_whole { Stashed::Taken } else { Stashed::Merged }, replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_given_line_makes_room() {
        let mut l2 = SecondLevel::new(&L2Parameters::new(4 * 64, 2, 64));
        for line in [0, 128] {
            assert_eq!(l2.place(line, State::Exclusive, true), None);
        }
        assert_eq!(l2.give(32, State::Modified), None, "it has not that right");
        assert_eq!(l2.victim(256), Some((0, 64)));
        assert_eq!(l2.give(32, State::Exclusive), Some((State::Exclusive, false)));
        assert_eq!(l2.victim(256), Some((128, 64)));
        l2.modify(160);
        let replaced = Replaced { line: 128, bytes: 64, dirty: true };
        assert_eq!(l2.place(256 + 32, State::Shared, true), Some(replaced));
        assert_eq!(l2.victim(256), None, "it is here");
        assert_eq!(l2.state(300), State::Shared);
    }

    #[test]
    fn without_a_second_level_there_is_nothing() {
        let mut l2 = SecondLevel::new(&L2Parameters::default());
        assert_eq!(l2.place(0, State::Shared, true), None);
        assert_eq!((l2.state(0), l2.is_present()), (State::Invalid, false));
        assert!(!l2.give_code(0) && !l2.remove(0));
        assert_eq!(l2.snoop(true, 0, 64), Snooped::default());
        assert_eq!((l2.refuse_stash(), l2.stash_statistics().refused), (Stashed::Refused, 1));
    }

    #[test]
    fn an_injected_line_is_used_once_and_lost_if_it_was_not() {
        let mut l2 = SecondLevel::new(&L2Parameters { stash_ways: 1, ..L2Parameters::new(4 * 64, 2, 64) });
        assert_eq!(l2.stash(0, 64, false), (Stashed::Taken, None));
        assert!(l2.give(0, State::Shared).is_some() && l2.give(0, State::Shared).is_some());
        let replaced = Replaced { line: 0, bytes: 64, dirty: true };
        assert_eq!(l2.stash(128, 8, false), (Stashed::Merged, Some(replaced)));
        assert!(l2.stash(256, 64, false).1.is_some(), "one way of each set");
        let counters = l2.stash_statistics();
        assert_eq!((counters.lines, counters.used, counters.lost, counters.displaced), (3, 1, 1, 1));
    }
}

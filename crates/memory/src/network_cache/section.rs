//! A set-associative section: keys that name something, least recently used replaced first.

use super::message::SectionGeometry;

#[derive(Clone, Copy, Debug)]
struct Entry<V> {
    key: u64,
    value: V,
    stamp: u64,
}

/// Tags of one kind with what each points at.
#[derive(Debug)]
pub(super) struct Section<V> {
    entries: Vec<Option<Entry<V>>>,
    ways: usize,
    sets: u64,
    /// The set of a key, before it is cut to the number of sets.
    index: fn(u64) -> u64,
    tick: u64,
}

impl<V: Copy> Section<V> {
    pub fn new(geometry: SectionGeometry, index: fn(u64) -> u64) -> Section<V> {
        let (sets, ways) = (u64::from(geometry.sets), geometry.ways as usize);
        assert!(sets.is_power_of_two() && ways > 0, "{geometry:?}");
        Section { entries: vec![None; sets as usize * ways], ways, sets, index, tick: 0 }
    }

    fn set(&self, key: u64) -> std::ops::Range<usize> {
        let first = ((self.index)(key) & (self.sets - 1)) as usize * self.ways;
        first..first + self.ways
    }

    fn place(&self, key: u64) -> Option<usize> {
        self.set(key).find(|&at| self.entries[at].is_some_and(|e| e.key == key))
    }

    /// What `key` points at, if it is here.
    pub fn find(&self, key: u64) -> Option<V> {
        self.place(key).and_then(|at| self.entries[at]).map(|e| e.value)
    }

    /// `key`, which is here, is used now.
    pub fn touch(&mut self, key: u64) {
        self.tick += 1;
        let tick = self.tick;
        if let Some(entry) = self.place(key).and_then(|at| self.entries[at].as_mut()) {
            entry.stamp = tick;
        }
    }

    /// When `key`, which is here, was last used: in the order of uses.
    pub fn age(&self, key: u64) -> u64 {
        self.place(key).and_then(|at| self.entries[at]).map_or(0, |e| e.stamp)
    }

    /// What `key` points at, to be changed.
    pub fn find_mut(&mut self, key: u64) -> Option<&mut V> {
        let at = self.place(key)?;
        self.entries[at].as_mut().map(|e| &mut e.value)
    }

    /// The keys in the set of `key`, if all of its ways are in use.
    pub fn set_of(&self, key: u64) -> impl Iterator<Item = u64> + '_ {
        let set = &self.entries[self.set(key)];
        let is_full = set.iter().all(Option::is_some);
        set.iter().flatten().filter(move |_| is_full).map(|e| e.key)
    }

    /// Ways of a set.
    pub fn ways(&self) -> usize {
        self.ways
    }

    /// Both keys have the same set.
    pub fn shares_set(&self, one: u64, other: u64) -> bool {
        self.set(one) == self.set(other)
    }

    /// Puts in `key`, which is not here; returns what had to go for it.
    pub fn insert(&mut self, key: u64, value: V) -> Option<(u64, V)> {
        self.insert_for(key, value, None)
    }

    /// The same, and `victim` of its set goes.
    pub fn insert_for(&mut self, key: u64, value: V, victim: Option<u64>) -> Option<(u64, V)> {
        debug_assert!(self.place(key).is_none(), "{key:#x} is here");
        self.tick += 1;
        let oldest = self.set(key).min_by_key(|&at| self.entries[at].map_or(0, |e| e.stamp));
        let at = victim.and_then(|victim| self.place(victim)).or(oldest).expect("a set has a way");
        let old = self.entries[at].replace(Entry { key, value, stamp: self.tick });
        old.map(|e| (e.key, e.value))
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: u64) -> Option<V> {
        let at = self.place(key)?;
        self.entries[at].take().map(|e| e.value)
    }

    /// All that is here.
    pub fn iter(&self) -> impl Iterator<Item = (u64, V)> + '_ {
        self.entries.iter().flatten().map(|e| (e.key, e.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_replaces_its_least_recently_used_entry() {
        let mut section = Section::new(SectionGeometry { sets: 2, ways: 2 }, |key| key);
        assert_eq!(
            (section.insert(0, 'a'), section.insert(2, 'b'), section.insert(1, 'c')),
            (None, None, None)
        );
        section.touch(0);
        assert_eq!(section.insert(4, 'd'), Some((2, 'b')), "sets are by the key's low bits");
        assert_eq!((section.find(0), section.find(2), section.find(4)), (Some('a'), None, Some('d')));
        assert_eq!((section.remove(0), section.remove(0)), (Some('a'), None));
        assert_eq!(section.iter().count(), 2);
    }
}

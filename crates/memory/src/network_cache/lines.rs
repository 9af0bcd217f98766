//! The network section: lines of payload, by the address of their buffer in network memory.

use super::message::{LINE_BYTES, SectionGeometry};

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Nothing.
    Free,
    /// A message or a part of one, or what `nload` and `nstore` have brought here: its network tag is valid.
    Unbound {
        /// The message's name, if it is known to be here.
        id: Option<u64>,
        /// The buffer lacks what is here.
        dirty: bool,
    },
    /// A message or a part of one that has been bound: the network tag is reset, the process section points here.
    Bound {
        /// Physical address.
        sector: u64,
    },
    /// It waits for a message whose receive has been posted.
    Reserved,
}

/// A line of the network section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub used: Use,
    /// Physical address of the line in its buffer: of a bound line it says only in which set it is.
    pub buffer: u64,
    /// Bytes of the message, from the line's start.
    pub bytes: u32,
    stamp: u64,
}

/// The section.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    ways: usize,
    sets: u64,
    tick: u64,
}

impl Lines {
    pub fn new(geometry: SectionGeometry) -> Lines {
        let (sets, ways) = (u64::from(geometry.sets), geometry.ways as usize);
        assert!(sets.is_power_of_two() && ways > 0, "{geometry:?}");
        let free = Line { used: Use::Free, buffer: 0, bytes: 0, stamp: 0 };
        Lines { lines: vec![free; sets as usize * ways], ways, sets, tick: 0 }
    }

    fn set(&self, buffer: u64) -> std::ops::Range<usize> {
        let set = (buffer / LINE_BYTES) & (self.sets - 1);
        let first = set as usize * self.ways;
        first..first + self.ways
    }

    /// The line whose network tag is `buffer`.
    pub fn find(&self, buffer: u64) -> Option<usize> {
        self.set(buffer)
            .find(|&at| matches!(self.lines[at].used, Use::Unbound { .. }) && self.lines[at].buffer == buffer)
    }

    pub fn at(&self, index: usize) -> &Line {
        &self.lines[index]
    }

    pub fn at_mut(&mut self, index: usize) -> &mut Line {
        &mut self.lines[index]
    }

    /// The line that what is in `buffer` takes: a free one, else the least recently used. Reserved lines stay, and
    /// leave a way of each set.
    pub fn victim(&self, buffer: u64) -> usize {
        let age = |&at: &usize| if self.lines[at].used == Use::Free { 0 } else { self.lines[at].stamp };
        let ways = self.set(buffer).filter(|&at| self.lines[at].used != Use::Reserved);
        ways.min_by_key(age).expect("a set has a way that is not reserved")
    }

    /// Lines of the set of `buffer` with unbound messages: their places and the messages' names.
    pub fn waiting(&self, buffer: u64) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.set(buffer).filter_map(|at| match self.lines[at].used {
            Use::Unbound { id: Some(id), .. } => Some((at, id)),
            _ => None,
        })
    }

    /// A line of the set of `buffer` may be reserved: another stays.
    pub fn may_reserve(&self, buffer: u64) -> bool {
        self.set(buffer).filter(|&at| self.lines[at].used == Use::Reserved).count() + 1 < self.ways
    }

    /// Puts something in line `index`.
    pub fn put(&mut self, index: usize, buffer: u64, used: Use, bytes: u32) {
        self.tick += 1;
        self.lines[index] = Line { used, buffer, bytes, stamp: self.tick };
    }

    /// Line `index` is used now.
    pub fn touch(&mut self, index: usize) {
        self.tick += 1;
        self.lines[index].stamp = self.tick;
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines.iter().enumerate().filter(|(_, line)| line.used != Use::Free)
    }
}

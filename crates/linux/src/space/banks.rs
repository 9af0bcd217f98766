//! The frames of a process whose memory is at several nodes, and which node a page is taken from.

use std::ops::Range;

use chasqui_memory::FlatMemory;

use super::frames::Frames;
use super::policy::Choice;

/// The process's frames, by the node that they are at. Most processes have one.
///
/// A frame comes from the node that a [`Choice`] names first, or, if that has none left, from the nodes after it in a circle,
/// as far as the choice allows. Page tables are where whoever needs them is, if there is room.
pub struct Banks {
    banks: Vec<Frames>,
    /// The node of whoever needs a page.
    here: usize,
    /// Where the next page is taken from.
    choice: Choice,
}

impl Banks {
    /// The frames that lie wholly in these ranges, by node.
    ///
    /// # Panics
    /// There is no node, or there are more than 64.
    pub fn new(ranges: &[Range<u64>]) -> Banks {
        assert!((1..=64).contains(&ranges.len()), "memory at {} nodes", ranges.len());
        let banks: Vec<_> = ranges.iter().map(|range| Frames::new(range.clone())).collect();
        Banks { banks, here: 0, choice: Choice::anywhere(0) }
    }

    /// Whoever needs pages from now on is at `node`.
    pub fn move_to(&mut self, node: usize) {
        self.here = node.min(self.banks.len() - 1);
        self.choice = Choice::anywhere(self.here);
    }

    /// The node of whoever needs pages.
    pub fn here(&self) -> usize {
        self.here
    }

    /// Nodes.
    pub fn nodes(&self) -> usize {
        self.banks.len()
    }

    /// The next page is taken so.
    pub fn choose(&mut self, choice: Choice) {
        self.choice = choice;
    }

    /// The first answer of a bank that the choice allows, in its order.
    fn first(&mut self, choice: Choice, mut take: impl FnMut(&mut Frames) -> Option<u64>) -> Option<u64> {
        let count = self.banks.len();
        for pass in choice.passes() {
            let nodes = (0..count).map(|i| (choice.first + i) % count);
            for node in nodes.filter(|node| pass >> node & 1 != 0) {
                if let Some(frame) = take(&mut self.banks[node]) {
                    return Some(frame);
                }
            }
        }
        None
    }

    /// A zeroed frame's physical address, as was chosen; none when all that are allowed are in use.
    pub fn take(&mut self, memory: &mut FlatMemory) -> Option<u64> {
        self.first(self.choice, |bank| bank.take(memory))
    }

    /// The same for a page of the text.
    pub fn take_for_text(&mut self) -> Option<u64> {
        self.first(self.choice, Frames::take_for_text)
    }

    /// The same for a page table.
    pub fn take_for_table(&mut self, memory: &mut FlatMemory) -> Option<u64> {
        self.first(Choice::anywhere(self.here), |bank| bank.take_for_table(memory))
    }

    /// The node that a frame is at.
    pub fn node_of(&self, frame: u64) -> Option<usize> {
        self.banks.iter().position(|bank| bank.contains(frame))
    }

    /// Takes a frame back, which a device may have been told of.
    pub fn give(&mut self, frame: u64, is_exposed: bool) {
        let node = self.node_of(frame).expect("a frame of the process");
        self.banks[node].give(frame, is_exposed);
    }

    /// Whether `physical` is the process's own.
    pub fn contains(&self, physical: u64) -> bool {
        self.node_of(physical).is_some()
    }

    /// Frames in use.
    pub fn used(&self) -> u64 {
        self.banks.iter().map(Frames::used).sum()
    }

    /// Frames of some nodes, bits of a mask.
    pub fn total_at(&self, nodes: u64) -> u64 {
        let named = self.banks.iter().enumerate().filter(|(node, _)| nodes >> node & 1 != 0);
        named.map(|(_, bank)| bank.total()).sum()
    }

    /// Frames in all.
    pub fn total(&self) -> u64 {
        self.banks.iter().map(Frames::total).sum()
    }
}

//! What is translated together.

use crate::block::{Block, Code};

/// Blocks of a region, at most.
const BLOCKS_MAX: usize = 32;
/// Entries of its blocks, at most; the first block may have more.
const ENTRIES_MAX: usize = 400;

/// A block of a region, and the numbers of those that follow it, if they belong to the region.
pub(super) struct Part<'a> {
    pub block: &'a Block,
    pub taken: Option<usize>,
    pub next: Option<usize>,
}

/// A block and those that have followed it, the nearest first.
pub(crate) struct Region<'a> {
    pub(super) parts: Vec<Part<'a>>,
}

impl<'a> Region<'a> {
    /// `same_store`: whether the block at an address lives as long as `head`.
    pub fn new(head: &'a Block, same_store: impl Fn(u64) -> bool) -> Region<'a> {
        let mut region = Region { parts: vec![] };
        let mut entries = 0;
        region.take(head, &mut entries);
        let mut at = 0;
        while let Some(part) = region.parts.get(at) {
            let block = part.block;
            let [taken, next] = [&block.taken, &block.next].map(|link| {
                // SAFETY: a link leads to a block that lives as long as the one that has it.
                let to = unsafe { link.get().as_ref() }?;
                region
                    .number(to)
                    .or_else(|| if same_store(to.pc) { region.take(to, &mut entries) } else { None })
            });
            (region.parts[at].taken, region.parts[at].next) = (taken, next);
            at += 1;
        }
        region
    }

    /// Entries of its blocks: what it takes to translate it.
    pub fn entries(&self) -> usize {
        self.parts.iter().map(|part| part.block.places.len()).sum()
    }

    fn number(&self, block: &Block) -> Option<usize> {
        self.parts.iter().position(|part| std::ptr::eq(part.block, block))
    }

    /// Adds `block`, if there is room for it.
    fn take(&mut self, block: &'a Block, entries: &mut usize) -> Option<usize> {
        let more = *entries + block.places.len();
        if !self.parts.is_empty() && (self.parts.len() == BLOCKS_MAX || more > ENTRIES_MAX) {
            return None;
        }
        *entries = more;
        self.parts.push(Part { block, taken: None, next: None });
        Some(self.parts.len() - 1)
    }

    /// Whether the line that block `from` fetches last is that which block `to` fetches first: if one follows the other, the
    /// line is there, and is the one that was used last.
    pub fn has_fetched(&self, from: usize, to: usize) -> bool {
        let [from, to] = [from, to].map(|number| self.parts[number].block);
        let lines = |block: &'a Block| {
            (0..block.places.len()).filter(|&i| block.code(i) == Code::Fetch).map(|i| block.micro(i).imm)
        };
        to.code(0) == Code::Fetch && lines(from).last() == Some(to.micro(0).imm)
    }

    /// Cycles of the longest block; one at least.
    pub fn longest(&self) -> u64 {
        self.parts.iter().map(|part| part.block.cycles).max().unwrap_or(0).max(1)
    }
}

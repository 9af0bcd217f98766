//! Which packets passed each link, recorded on request.

use chasqui_engine::Time;

/// A packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its first byte leaves.
    pub start: Time,
    /// Its last byte has left.
    pub end: Time,
    /// Bytes on the wire.
    pub bytes: u32,
    /// The message that it is of: source and sequence.
    pub message: Option<(u16, u32)>,
}

/// Passages by link.
#[derive(Default)]
pub(crate) struct Traffic {
    links: Vec<Vec<Passage>>,
    passages_max: usize,
}

impl Traffic {
    /// Keeps up to `passages_max` of each of `links`.
    pub fn new(links: usize, passages_max: usize) -> Traffic {
        Traffic { links: vec![vec![]; links], passages_max }
    }

    /// For as many links, and as many of each.
    pub fn like(&self) -> Traffic {
        Traffic::new(self.links.len(), self.passages_max)
    }

    /// What the other has kept is of other links.
    pub fn add(&mut self, other: Traffic) {
        for (kept, passages) in self.links.iter_mut().zip(other.links) {
            kept.extend(passages);
        }
    }

    /// Anything is to be kept.
    #[inline]
    pub fn is_kept(&self) -> bool {
        self.passages_max > 0
    }

    /// A packet passes `link`.
    pub fn keep(&mut self, link: usize, passage: Passage) {
        let kept = &mut self.links[link];
        if kept.len() < self.passages_max {
            kept.push(passage);
        }
    }

    /// What was kept of `link`.
    pub fn of(&self, link: usize) -> &[Passage] {
        self.links.get(link).map_or(&[], Vec::as_slice)
    }
}

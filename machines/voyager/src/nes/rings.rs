//! Rings of slots: where they are.

use chasqui_ni::{Region, Ring};

use super::{NesPlan, dma};
use crate::registers;

/// The like rings of all Basic queues, one after the other. A ring has one address, wherever the queue is at
/// home: the NES answers for those of resident queues from its SRAM, the others are in the DRAM.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rings {
    pub first: Ring,
    pub count: usize,
}

impl Rings {
    /// That of Basic queue `index`.
    pub fn ring(&self, index: usize) -> Ring {
        Ring { base: self.first.base + index as u64 * self.first.bytes(), ..self.first }
    }

    pub fn bytes(&self) -> u64 {
        self.count as u64 * self.first.bytes()
    }

    /// The queue whose ring holds `address`.
    pub fn find(&self, address: u64) -> Option<usize> {
        let offset = address.checked_sub(self.first.base).filter(|&offset| offset < self.bytes())?;
        Some((offset / self.first.bytes()) as usize)
    }

    /// Those of `count` queues from `index` on.
    pub fn region(&self, index: usize, count: usize) -> Region {
        Region { physical: self.ring(index).base, bytes: count as u64 * self.first.bytes() }
    }
}

/// Rings that a process has beside its Basic queues'.
pub(super) struct OwnRings {
    pub requests: Ring,
    pub places: Ring,
    pub tags: Ring,
}

impl OwnRings {
    /// Process `process`'s; those of all processes lie from `base` on.
    pub fn new(base: u64, process: u64, plan: &NesPlan) -> OwnRings {
        let requests = Ring { base, slots: plan.dma.requests as u32, slot_bytes: dma::REQUEST };
        let slots = plan.express.tags as u32;
        let places = Ring { base: base + requests.bytes(), slots, slot_bytes: plan.stride };
        let tags = places.base + places.bytes();
        let tags = Ring { base: tags, slots: slots * registers::EXPRESS_QUEUES as u32, ..places };
        let offset = process * (requests.bytes() + places.bytes() + tags.bytes());
        let at = |ring: Ring| Ring { base: ring.base + offset, ..ring };
        OwnRings { requests: at(requests), places: at(places), tags: at(tags) }
    }

    pub fn end(&self) -> u64 {
        self.tags.base + self.tags.bytes()
    }

    /// The sP's places for data to be tagged on, behind all processes' rings.
    pub fn of_service(&self) -> Ring {
        Ring { base: self.end(), ..self.places }
    }
}

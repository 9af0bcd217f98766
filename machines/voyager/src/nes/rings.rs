//! Rings of slots: where they are.

use std::ops::Range;

use chasqui_ni::{Region, Ring};

use super::queues::QueueNames;
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

/// Where all rings are.
pub(super) struct Layout {
    pub transmit: Rings,
    pub receive: Rings,
    /// By process.
    pub own: Vec<OwnRings>,
    /// The sP's places for data to be tagged on.
    pub service_places: Ring,
    /// All of it.
    pub memory: Range<u64>,
}

impl Layout {
    pub fn new(names: QueueNames, plan: &NesPlan) -> Layout {
        let first = Ring { base: plan.memory_base, slots: plan.basic.slots as u32, slot_bytes: plan.stride };
        let transmit = Rings { first, count: names.processes * names.basic };
        let receive = Rings { first: Ring { base: first.base + transmit.bytes(), ..first }, ..transmit };
        let base = receive.first.base + receive.bytes();
        let own: Vec<OwnRings> =
            (0..names.processes as u64).map(|process| OwnRings::new(base, process, plan)).collect();
        let service_places = own.last().expect("there is a process").of_service();
        let memory = plan.memory_base..service_places.base + service_places.bytes();
        Layout { transmit, receive, own, service_places, memory }
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

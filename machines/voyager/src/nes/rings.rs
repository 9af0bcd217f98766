//! Rings of slots: where they are.

use chasqui_memory::PAGE_BYTES;
use chasqui_ni::Region;

use super::{NesPlan, dma};

/// A ring of slots in SRAM.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub base: u64,
    pub slots: u32,
    pub slot_bytes: u64,
}

impl Ring {
    pub fn slot(&self, pointer: u32) -> u64 {
        self.base + u64::from(pointer % self.slots) * self.slot_bytes
    }

    /// One side's pointer moves from `from` to `to`; it may go as far as `limit`, the other side's.
    ///
    /// # Errors
    /// It would go further, or back: what is wrong, where `what` is the pointer, in words.
    pub fn check_pointer(&self, what: &str, from: u32, to: u32, limit: u32) -> Result<(), String> {
        let (moves, most) = (to.wrapping_sub(from), limit.wrapping_sub(from));
        if moves <= most {
            return Ok(());
        }
        Err(format!(
            "protection: {to:#x} was stored to the {what} of a ring of {} slots; {from:#x} to {limit:#x} are allowed",
            self.slots
        ))
    }

    /// The same where nobody knows the limit here: no pointer goes on by more than the ring.
    ///
    /// # Errors
    /// As [`Ring::check_pointer`]'s.
    pub fn check_step(&self, what: &str, from: u32, to: u32) -> Result<(), String> {
        if to.wrapping_sub(from) <= self.slots {
            return Ok(());
        }
        Err(format!(
            "protection: {to:#x} was stored to the {what} of a ring of {} slots, {:#x} slots further than {from:#x}",
            self.slots,
            to.wrapping_sub(from)
        ))
    }

    /// Whole pages that it takes.
    pub fn bytes(&self) -> u64 {
        (u64::from(self.slots) * self.slot_bytes).next_multiple_of(PAGE_BYTES)
    }
}

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
        let tags = Ring { base: places.base + places.bytes(), ..places };
        let offset = process * (requests.bytes() + places.bytes() + tags.bytes());
        let at = |ring: Ring| Ring { base: ring.base + offset, ..ring };
        OwnRings { requests: at(requests), places: at(places), tags: at(tags) }
    }

    pub fn end(&self) -> u64 {
        self.tags.base + self.tags.bytes()
    }
}

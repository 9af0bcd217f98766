//! Counters of a port.

use super::{STALLS, Stall};

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStatistics {
    /// Instruction lines missed in the L1.
    pub l1i_misses: u64,
    /// Loads that missed in the L1.
    pub l1d_load_misses: u64,
    /// Stores that missed in the L1, or hit a shared line.
    pub l1d_store_misses: u64,
    /// Lines that the data cache replaced.
    pub l1d_replacements: u64,
    /// Dirty lines that left the data cache by replacement or flush.
    pub l1d_writebacks: u64,
    /// Lines that others' transactions took from the data cache.
    pub l1d_invalidations: u64,
    /// L1 misses that hit in the L2.
    pub l2_hits: u64,
    /// L1 misses that missed in the L2 too.
    pub l2_misses: u64,
    /// Walks for instructions.
    pub itlb_misses: u64,
    /// Walks for data.
    pub dtlb_misses: u64,
    /// Loads and stores that hit in the network cache's process section.
    pub bound_hits: u64,
    /// Uncached loads.
    pub uncached_loads: u64,
    /// Uncached stores, of 64 bytes too.
    pub uncached_stores: u64,
    /// Cache-block operations.
    pub flushes: u64,
    /// Fences.
    pub fences: u64,
    /// Cycles in which the hart waited, by reason ([`Stall`]).
    pub stalls: [u64; STALLS],
}

impl PortStatistics {
    /// These, and `times` what was added from `before` to `after`.
    pub fn repeated(&self, before: &PortStatistics, after: &PortStatistics, times: u64) -> PortStatistics {
        PortStatistics {
            l1i_misses: self.l1i_misses + times * (after.l1i_misses - before.l1i_misses),
            l1d_load_misses: self.l1d_load_misses + times * (after.l1d_load_misses - before.l1d_load_misses),
            l1d_store_misses: self.l1d_store_misses
                + times * (after.l1d_store_misses - before.l1d_store_misses),
            l1d_replacements: self.l1d_replacements
                + times * (after.l1d_replacements - before.l1d_replacements),
            l1d_writebacks: self.l1d_writebacks + times * (after.l1d_writebacks - before.l1d_writebacks),
            l1d_invalidations: self.l1d_invalidations
                + times * (after.l1d_invalidations - before.l1d_invalidations),
            l2_hits: self.l2_hits + times * (after.l2_hits - before.l2_hits),
            l2_misses: self.l2_misses + times * (after.l2_misses - before.l2_misses),
            itlb_misses: self.itlb_misses + times * (after.itlb_misses - before.itlb_misses),
            dtlb_misses: self.dtlb_misses + times * (after.dtlb_misses - before.dtlb_misses),
            bound_hits: self.bound_hits + times * (after.bound_hits - before.bound_hits),
            uncached_loads: self.uncached_loads + times * (after.uncached_loads - before.uncached_loads),
            uncached_stores: self.uncached_stores + times * (after.uncached_stores - before.uncached_stores),
            flushes: self.flushes + times * (after.flushes - before.flushes),
            fences: self.fences + times * (after.fences - before.fences),
            stalls: std::array::from_fn(|i| self.stalls[i] + times * (after.stalls[i] - before.stalls[i])),
        }
    }

    /// Visits the counters: name, unit, documentation, value.
    pub fn visit(&self, visit: &mut dyn FnMut(&str, &'static str, &'static str, u64)) {
        visit("l1i_misses", "count", "Instruction lines missed in the L1.", self.l1i_misses);
        visit("l1d_load_misses", "count", "Loads that missed in the L1.", self.l1d_load_misses);
        visit(
            "l1d_store_misses",
            "count",
            "Stores that missed in the L1, or hit a shared line.",
            self.l1d_store_misses,
        );
        visit("l1d_replacements", "count", "Lines that the data cache replaced.", self.l1d_replacements);
        visit(
            "l1d_writebacks",
            "count",
            "Dirty lines that left the data cache by replacement or flush.",
            self.l1d_writebacks,
        );
        visit(
            "l1d_invalidations",
            "count",
            "Lines that others' transactions took from the data cache.",
            self.l1d_invalidations,
        );
        visit("l2_hits", "count", "L1 misses that hit in the L2.", self.l2_hits);
        visit("l2_misses", "count", "L1 misses that missed in the L2 too.", self.l2_misses);
        visit("itlb_misses", "count", "Walks for instructions.", self.itlb_misses);
        visit("dtlb_misses", "count", "Walks for data.", self.dtlb_misses);
        visit(
            "bound_hits",
            "count",
            "Loads and stores that hit in the network cache's process section.",
            self.bound_hits,
        );
        visit("uncached_loads", "count", "Uncached loads.", self.uncached_loads);
        visit("uncached_stores", "count", "Uncached stores, of 64 bytes too.", self.uncached_stores);
        visit("flushes", "count", "Cache-block operations.", self.flushes);
        visit("fences", "count", "Fences.", self.fences);
        const STALL_NAMES: [(Stall, &str, &str); STALLS] = [
            (Stall::Data, "stall_data", "Waiting for a data line."),
            (Stall::Instruction, "stall_instruction", "Waiting for an instruction line."),
            (Stall::Walk, "stall_walk", "Waiting for a line of page-table entries."),
            (
                Stall::Uncached,
                "stall_uncached",
                "Waiting for an uncached load, or the answer to a 64-byte store.",
            ),
            (Stall::WriteBuffer, "stall_write_buffer", "Waiting for the write buffer."),
            (Stall::Posted, "stall_posted", "Waiting for posted transactions."),
        ];
        for (stall, name, doc) in STALL_NAMES {
            visit(name, "cycles", doc, self.stalls[stall as usize]);
        }
    }
}

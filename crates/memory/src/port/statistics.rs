//! Counters of a port.

use chasqui_counters::counters;

use super::stop::Stalls;

counters! {
    /// Counters of a port.
    pub struct PortStatistics {
        /// Instruction lines missed in the L1.
        l1i_misses: "count";
        /// Loads that missed in the L1.
        l1d_load_misses: "count";
        /// Stores that missed in the L1, or hit a shared line.
        l1d_store_misses: "count";
        /// Lines that the data cache replaced.
        l1d_replacements: "count";
        /// Dirty lines that left the data cache by replacement or flush.
        l1d_writebacks: "count";
        /// Lines that others' transactions took from the data cache.
        l1d_invalidations: "count";
        /// L1 misses that hit in the L2.
        l2_hits: "count";
        /// L1 misses that missed in the L2 too.
        l2_misses: "count";
        /// Walks for instructions.
        itlb_misses: "count";
        /// Walks for data.
        dtlb_misses: "count";
        /// Loads and stores that hit in the network cache's process section.
        bound_hits: "count";
        /// Uncached loads.
        uncached_loads: "count";
        /// Uncached stores, of 64 bytes too.
        uncached_stores: "count";
        /// Cache-block operations.
        flushes: "count";
        /// Fences.
        fences: "count";
        ..stalls: Stalls;
    }
}

//! What a port is made of.

use chasqui_config::{Bytes, Count, Cycles, Flag};

use crate::cache::CacheParameters;
use crate::network_cache::{NetworkCacheCosts, NetworkCacheParameters};
use crate::tlb::TlbParameters;

chasqui_config::parameters! {
    /// The unified cache of the second level, which includes the first.
    pub struct L2Parameters {
        /// There is one.
        present: Flag = false, source "assumption: no second level unless a machine says so";
        /// Capacity.
        size: Bytes = "512 KiB", range "1 KiB" ..= "256 MiB", source "assumption";
        /// Ways of a set.
        ways: Count = 8, range 1 ..= 64, source "assumption";
        /// Line, at least as long as those of the first level.
        line: Bytes = "64 B", range "16 B" ..= "1 KiB", source "assumption";
        /// Cycles of a hit, beside the L1's.
        latency: Cycles = 10, range 1 ..= 1000, source "assumption";
        /// Ways of a set that writes of an NI which injects may take; of a cache with fewer all.
        stash_ways: Count = 2, range 1 ..= 64, source "assumption: two, as Intel's DDIO is said to take of the last level's unless its register IIO_LLC_WAYS is set (Farshin et al., USENIX ATC 2020, look at it)";
    }
}

impl L2Parameters {
    /// One of this capacity [bytes], with lines of this length [bytes].
    pub fn new(size: u64, ways: u64, line: u64) -> L2Parameters {
        CacheParameters::new(size, ways, line).into()
    }

    /// The cache, if there is one.
    pub fn cache(&self) -> Option<CacheParameters> {
        self.present.then_some(CacheParameters { size: self.size, ways: self.ways, line: self.line })
    }
}

chasqui_config::parameters! {
    /// Stores on their way.
    pub struct WriteBufferParameters {
        /// Stores that may wait for the right to write their line.
        entries: Count = 8, range 1 ..= 256, source "assumption";
        /// Uncached stores and flushes that may wait for the bus.
        posted: Count = 4, range 1 ..= 256, source "assumption";
    }
}

chasqui_config::parameters! {
    /// Instructions that order, and page-table walks: cycles beside what they wait for.
    pub struct OrderParameters {
        /// Memory fence.
        fence: Cycles = 4, range 0 ..= 1000, source "assumption";
        /// Cache-block operation (flush of a line).
        flush: Cycles = 4, range 0 ..= 1000, source "assumption";
        /// Atomic operation; a load-reserved and store-conditional pair takes two.
        atomic: Cycles = 4, range 0 ..= 1000, source "assumption";
        /// For so long after a load-reserved other harts' transactions wait for its line, so that its
        /// store-conditional can succeed. Shorter than the loops of a program, harts may hinder each other for ever.
        reservation: Cycles = 80, range 16 ..= 1000, source "assumption: as the Rocket core's data cache holds off probes";
        /// Each level of a page-table walk.
        walk: Cycles = 2, range 0 ..= 1000, source "assumption: the walker reads the L1 data cache";
    }
}

impl From<CacheParameters> for L2Parameters {
    fn from(CacheParameters { size, ways, line }: CacheParameters) -> L2Parameters {
        L2Parameters { present: true, size, ways, line, ..L2Parameters::default() }
    }
}

/// What a port has before memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortKind {
    /// Caches, TLBs and a write buffer.
    #[default]
    Caches,
    /// Memory of its own instead: a scratchpad. Every access and fetch takes what its instruction takes, and no more; no
    /// cache, TLB or write buffer is used. Devices are reached as by any port.
    Scratchpad,
    /// No data cache: each load and store is a transaction, as if memory were a device, and each fetch of a line that the
    /// instruction cache does not hold. Of that two lines of a word are the least: an instruction buffer. Whoever serves
    /// the transactions reads and writes memory. There is no TLB and no write buffer, and atomic operations are faults.
    Uncached,
}

/// Sizes and costs of a port. Cycles are the hart's.
#[derive(Clone, Debug)]
pub struct PortParameters {
    /// What it has before memory; what it has not, its sizes count for nothing. Posted transactions each kind has.
    pub kind: PortKind,
    /// Level-1 instruction cache.
    pub l1i: CacheParameters,
    /// Level-1 data cache.
    pub l1d: CacheParameters,
    /// Unified level-2 cache, inclusive.
    pub l2: L2Parameters,
    /// Instruction TLB.
    pub itlb: TlbParameters,
    /// Data TLB.
    pub dtlb: TlbParameters,
    /// Stores on their way.
    pub write_buffer: WriteBufferParameters,
    /// Instructions that order, and page-table walks.
    pub order: OrderParameters,
    /// Beside the L1 data cache; of a node with one hart.
    pub network_cache: Option<(NetworkCacheParameters, NetworkCacheCosts)>,
    /// Report accesses that a coherent machine would get wrong.
    pub check_coherence: bool,
}

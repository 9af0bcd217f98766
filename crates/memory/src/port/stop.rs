//! Why an instruction does not complete, or not at once.

use std::fmt;

use chasqui_counters::counters_by;

use crate::tlb::Access;

/// Why an instruction did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The hart waits for something of its port to finish, then tries again.
    Wait(Stall),
    /// The instruction can't complete.
    Fault(Fault),
}

counters_by! {
    /// What a hart waits for.
    pub enum Stall {
        /// Waiting for a data line.
        Data: "stall_data";
        /// Waiting for an instruction line.
        Instruction: "stall_instruction";
        /// Waiting for a line of page-table entries.
        Walk: "stall_walk";
        /// Waiting for an uncached load, or the answer to a 64-byte store.
        Uncached: "stall_uncached";
        /// Waiting for room in the write buffer, or for its draining.
        WriteBuffer: "stall_write_buffer";
        /// Waiting for room among the posted transactions, or for their draining.
        Posted: "stall_posted";
    }
    /// Cycles in which a hart waited, by what it waited for.
    pub struct Stalls: "cycles";
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The page tables do not allow it (perhaps not yet).
    Page {
        /// Virtual address.
        address: u64,
        /// What was tried.
        access: Access,
    },
    /// An atomic operation that is not naturally aligned, or not in cacheable memory.
    Atomic {
        /// Virtual address.
        address: u64,
    },
    /// An access to a device that crosses its natural alignment.
    DeviceAlignment {
        /// Virtual address.
        address: u64,
    },
    /// A 64-byte store to what is not a device's.
    NotDevice {
        /// Virtual address.
        address: u64,
    },
    /// `nload` or `nstore` of what is not network memory, or not aligned; `remap` or `prebind` to what is not memory.
    NotNetwork {
        /// Virtual address.
        address: u64,
    },
    /// The coherence checker objects.
    Incoherent(Incoherence),
}

/// What the coherence checker reports. Functional memory is always up to date, so without this a
/// forgotten flush or fence would do no harm here, and only here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoherence {
    /// A device reads a line that is dirty in a cache which it does not snoop.
    DeviceReadsDirty {
        /// Physical address.
        address: u64,
    },
    /// The hart hits a line that a device has overwritten since.
    StaleHit {
        /// Physical address.
        address: u64,
    },
    /// A store to a device passes an older buffered store or flush: a fence is missing.
    DevicePassesStore {
        /// Physical address of the device store.
        address: u64,
        /// Physical address of the older store or flush.
        older: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Page { address, .. } => write!(f, "no access to {address:#x}"),
            Fault::Atomic { address } => {
                write!(
                    f,
                    "atomic operation on {address:#x}, which is not aligned, or not memory that can do it"
                )
            }
            Fault::DeviceAlignment { address } => {
                write!(f, "access to device register {address:#x} across its alignment")
            }
            Fault::NotDevice { address } => {
                write!(f, "64-byte store to {address:#x}, which is not a device's")
            }
            Fault::NotNetwork { address } => {
                write!(
                    f,
                    "nload, nstore, remap or prebind at {address:#x}, which is not aligned or not of its memory"
                )
            }
            Fault::Incoherent(incoherence) => incoherence.fmt(f),
        }
    }
}

impl fmt::Display for Incoherence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incoherence::DeviceReadsDirty { address } => write!(
                f,
                "coherence: the NI reads {address:#x}, which is modified in a cache that it does not snoop: \
                 a flush is missing"
            ),
            Incoherence::StaleHit { address } => write!(
                f,
                "coherence: a hit on {address:#x}, which the NI has overwritten since: a flush is missing"
            ),
            Incoherence::DevicePassesStore { address, older } => write!(
                f,
                "coherence: the store to device register {address:#x} passes the older store or flush of \
                 {older:#x}: a fence is missing"
            ),
        }
    }
}

/// Cycles that accesses take beside their instructions' own: stalls, hits in the L2, steps of the walker.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// By what they were for ([`Stall`]).
    pub cycles: [u64; Stall::ALL.len()],
    /// All together.
    pub total: u64,
}

impl Waits {
    #[inline(always)]
    pub(super) fn add(&mut self, stall: Stall, cycles: u64) {
        self.cycles[stall as usize] += cycles;
        self.total += cycles;
    }
}

//! Memory: functional contents ([`FlatMemory`]) and, beside them, the time of accesses.
//!
//! Invariant: data lives in [`FlatMemory`] alone. Caches, TLBs and the write buffer hold tags and
//! times; only the write buffer also holds the values of stores that are not yet visible to others.

mod accesses;
mod bus;
mod cache;
mod flat;
mod network_cache;
mod port;
mod tlb;
mod walk;

pub use accesses::{Accesses, SharedAccesses};
pub use bus::{Bus, BusParameters, BusStatistics, DramParameters, Responder, Tenure};
pub use cache::{Cache, CacheParameters, State};
pub use flat::{FlatMemory, OutOfMemory};
pub use network_cache::{
    Binding, Bound, Early, Evicted, Found, Incoming, LINE_BYTES as NETWORK_LINE_BYTES, Long, Name,
    NetworkCache, NetworkCacheCosts, NetworkCacheParameters, NetworkCacheStatistics, Place, Replacement,
    Reservation, SectionGeometry, Stored,
};
pub use port::{
    Agenda, BURST_BYTES, BlockOperation, DEVICE_BASE, Due, FastView, Fault, FetchView, Geometry, Incoherence,
    L2Parameters, LentBus, Observation, OrderParameters, Outwaited, Port, PortKind, PortParameters,
    PortStatistics, Remapped, Request, Slot, Snoop, Snooped, Stage, Stall, Stalls, StashStatistics, Stashed,
    Stop, Waits, WriteBufferParameters, layout, order,
};
pub use tlb::{Access, PAGE_BYTES, Privilege, Tlb, TlbParameters, Translation, pte};
pub use walk::{Walk, WalkStep};

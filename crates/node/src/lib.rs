//! A node: a hart with its process, caches, bus, memory and network interface, as one partition of
//! the engine.
//!
//! Reading order: `parameters.rs` (what a node is made of), `node.rs` (the order in which things
//! happen), `bus.rs` (transactions), `processor.rs` (what stops a hart), `spin.rs` (skipping of
//! polling loops), `watch/mod.rs` (profile and instruction trace).
//!
//! Invariants: the hart never runs past the node's next event or the engine's limit; whatever the hart
//! and others share changes only in events; the node knows no machine.

mod bus;
mod node;
mod parameters;
mod processor;
mod spin;
mod watch;

pub use node::{Node, NodeSpec};
pub use parameters::{
    BusUnit, CacheUnit, Checks, Core, DramUnit, L2Unit, NodeConfiguration, OrderUnit, SoftwareUnit, TlbUnit,
    WriteBufferUnit, schema,
};
pub use processor::{Ended, Output, Processor, ProcessorSpec, ProcessorStatistics, Region};
pub use watch::{TracePlan, WatchPlan};

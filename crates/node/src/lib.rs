//! The nodes of a coherence domain, most often one: harts with their processes, memory system, devices and memory, as one
//! partition of the engine.
//!
//! Reading order: `parameters.rs` (what a node is made of), `domain.rs` (which nodes
//! share memory, and what is at each), `node.rs` (the parts, put together), `order.rs` (the order in
//! which things happen), then the parts:
//!
//! - `harts/`: what each hart does at the moment; polling loops, which are skipped;
//! - `memory_system/`: what serves the requests of ports and devices, behind an interface; a bus that all caches snoop;
//! - `io/`: devices and the way to them;
//! - `os/`: processes, system calls, page faults, who is on a hart; a kernel image; what is recorded of messages;
//! - `debug.rs`, `debugger.rs`: what a debugger sees and asks.
//!
//! Invariants: a hart never runs past the node's next event, the engine's limit, or a hart that is behind;
//! whatever harts and others share changes only in events and system calls; the node knows no machine.

mod debug;
mod debugger;
mod domain;
mod events;
mod harts;
mod io;
mod memory_system;
mod node;
mod order;
mod os;
mod parameters;
mod parts;

pub use debug::{Thread, Why};
pub use domain::{Domain, Member};
pub use events::Urgency;
pub use harts::{Core, HartSoftwareStatistics, Harts};
pub use io::{DEVICE_SPAN, controller_address};
pub use memory_system::{Client, DeviceAccess, Effect, MemorySystem, SnoopingBus};
pub use node::{NodePartition, PartitionSpec};
pub use os::{
    Away, Costs, Ended, Kernel, KernelNode, KernelProcess, OsSpec, Output, ProcessSpec, ProcessView, Region,
    Spent, Usage, kernel_memory, load_kernel,
};
pub use parameters::{Checks, NodeConfiguration, NodeUnit, SchedulerUnit, SoftwareUnit, schema};
pub use parts::Parts;

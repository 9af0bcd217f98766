//! A node: harts with their process, caches, bus, memory and network interface, as one partition of
//! the engine.
//!
//! Reading order: `parameters.rs` (what a node is made of), `node.rs` (the order in which things
//! happen), `bus.rs` (transactions), `processor.rs` (what stops a hart), `kernel.rs` (a kernel image that serves it), `thread.rs` (what a hart does at
//! the moment), `scheduler.rs` (several processes on it), `spin.rs` (skipping of polling loops), `watch/mod.rs` (profile and instruction trace).
//!
//! Invariants: a hart never runs past the node's next event, the engine's limit, or a hart that is behind;
//! whatever harts and others share changes only in events and system calls; the node knows no machine.

mod attach;
mod bus;
mod coherence;
mod followed;
mod kernel;
mod marking;
mod node;
mod parameters;
mod processor;
mod scheduler;
mod spin;
mod symbols;
mod thread;
mod watch;

pub use kernel::{Kernel, kernel_memory, load_kernel};
pub use node::{Node, NodeSpec};
pub use parameters::{Checks, Core, NodeConfiguration, NodeUnit, SchedulerUnit, SoftwareUnit, schema};
pub use processor::{Costs, Ended, Output, Processor, ProcessorSpec, Region};
pub use thread::{ProcessorStatistics, Thread, Threads};
pub use watch::{TracePlan, WatchPlan};

//! The directory protocol of `chasqui-coherence` carried out with times: a controller, a memory and a cache a node, and
//! messages between them.
//!
//! - `parameters.rs`: what everything takes. `times.rs`: these as times; hops on the mesh.
//! - `protocol/`: the engine ([`Protocol`]). It knows neither harts nor data: what has caches is its [`Host`].
//! - `memory_system.rs`: the engine as memory system of a coherence domain ([`DirectorySystem`]), whose host is the nodes.
//!
//! Invariants: a cache changes only when one of the table's rules says so, or drops a shared copy; a line's state in the
//! host's cache is that of the table, but for copies that were dropped, or modified and are on their way to the controller.

mod map;
mod memory_system;
mod parameters;
mod protocol;
pub mod registers;
mod times;

pub use memory_system::DirectorySystem;
pub use parameters::{ControllerUnit, DirectoryParameters, MeshUnit, TransferUnit, schema};
pub use protocol::{
    Access, Command, Counts, Host, NodeStatistics, Protocol, Run, Step, Ticket, TransferStatistics,
    TransferStep, Want,
};
pub use times::{Mesh, Times, TransferTimes};

//! Linux for a simulated process: the file it starts from ([`Elf`]), its memory
//! ([`AddressSpace`]: real Sv39 page tables that lie in the simulated memory) and the system calls
//! ([`Process`]), served functionally. Their time is charged elsewhere.
//!
//! Invariant: what a process can see depends only on its program, arguments, options and the files
//! it opens, never on the host's clock, process ids, environment, inode numbers or file times.

pub mod elf;
pub mod errno;
pub mod process;
pub mod signal;
pub mod space;
pub mod syscall;
pub mod testing;

mod descriptors;
mod input;
mod limits;
mod mounts;
mod open_flags;
mod paths;
mod places;
mod refused;
mod resolve;
mod threads;

pub use chasqui_dwarf::SourceFunction;
pub use descriptors::Stream;
pub use elf::{Elf, ElfError};
pub use input::Input;
pub use mounts::{Bind, Mounts};
pub use places::WORKING_DIRECTORY;
pub use process::{NiDevice, NiMapping, Options, Process, StartError};
pub use refused::Refused;
pub use space::{Access, AddressSpace, Fault, FaultCause, Flush, Nodes, Policy, Relation, USER_END};
pub use syscall::{Host, Outcome, Wait};

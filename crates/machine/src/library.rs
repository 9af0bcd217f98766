//! Settings of the guest's MPI library, as parameters of every machine (`--mpi`).

use chasqui_config::{Bytes, Count, Resolved, Schema};

use chasqui_memory::PAGE_BYTES;

use crate::collectives;

/// Where those of the library as a whole are.
const LIBRARY: &str = "mpi";
/// Where the waiting loops' parameters are.
const WAIT: &str = "mpi.wait";
/// Where those of messages within a node are.
const LOCAL: &str = "mpi.local";

chasqui_config::choice! {
    /// By what ranks of one node exchange messages.
    pub enum Channel {
        /// The network interface, like all others.
        Ni = "ni",
        /// Memory that they share.
        Memory = "memory",
    }
}

chasqui_config::parameters! {
    /// Messages between ranks of one node.
    pub struct LocalUnit {
        /// By what they go.
        channel: Channel = "ni", source "ours: what the network interface does is what is studied; MPI libraries of today share memory by default";
        /// Memory for messages from one rank to another of its node, by `memory`: eight cells.
        ring: Bytes = "32 KiB", range "2 KiB" ..= "16 MiB", source "assumption: cells of about 4 KiB";
    }
}

chasqui_config::parameters! {
    /// The MPI library.
    pub struct LibraryUnit {
        /// Longest message that a standard send may give to the network before its receive has met it; a longer one waits
        /// for that, like MPI_Ssend. 0 B: none goes before, not even an empty one, so that programs are found which end only
        /// because their messages are buffered. The device may buffer less. Collectives are not concerned.
        eager: Bytes = "1 GiB", range "0 B" ..= "1 GiB", source "ours: what a device can buffer it buffers";
    }
}

chasqui_config::parameters! {
    /// Blocking waits of the MPI library.
    pub struct WaitUnit {
        /// Polls in vain, one after the other, after which a process that waits gives its hart to others of its node,
        /// by the system call sched_yield, or sleeps if its device has something to sleep in (netcache/tcp), and so
        /// again. 0: never; it polls on, or sleeps at once. A process with MPI_THREAD_MULTIPLE, whose threads have
        /// harts of their own, never does.
        polls: Count = 0, range 0 ..= 1000000, source "most MPI libraries poll on by default; Open MPI's mpi_yield_when_idle is off where processes have harts of their own";
    }
}

/// Adds the parameters to a machine's.
#[must_use]
pub fn with_library(schema: Schema) -> Schema {
    collectives::with_collectives(schema)
        .with::<LibraryUnit>(LIBRARY)
        .with::<WaitUnit>(WAIT)
        .with::<LocalUnit>(LOCAL)
}

/// Polls in vain after which a process that waits gives its hart up ([`WaitUnit`]); 0: never.
pub fn wait_polls(resolved: &Resolved) -> u64 {
    resolved.read::<WaitUnit>(WAIT).polls
}

/// Memory [bytes] that the processes of a job share on a node of so many `processes`.
pub fn shared_bytes(resolved: &Resolved, processes: u32) -> u64 {
    let local: LocalUnit = resolved.read(LOCAL);
    let rings = if processes > 1 { u64::from(processes).pow(2) } else { 0 };
    if local.channel == Channel::Memory {
        (rings * local.ring.bytes()).next_multiple_of(PAGE_BYTES)
    } else {
        0
    }
}

/// The settings, as the library reads them behind its identification page: pairs of texts, name and value, each
/// ended by a zero byte, then an empty text; empty when nothing differs from the defaults.
pub fn library_settings(resolved: &Resolved) -> Vec<u8> {
    let mut pairs = collectives::forced(resolved);
    if resolved.read::<LocalUnit>(LOCAL).channel == Channel::Memory {
        pairs.push(("local.channel", Channel::Memory.to_string()));
    }
    let polls = wait_polls(resolved);
    if polls > 0 {
        pairs.push(("wait.polls", polls.to_string()));
    }
    // Behind all that changes how the library sends.
    let eager = resolved.read::<LibraryUnit>(LIBRARY).eager;
    if eager != LibraryUnit::default().eager {
        pairs.push(("eager", eager.bytes().to_string()));
    }
    let mut text: Vec<u8> =
        pairs.iter().flat_map(|(name, value)| format!("{name}\0{value}\0").into_bytes()).collect();
    if !text.is_empty() {
        text.push(0);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_by_default() {
        let schema = with_library(Schema::new());
        assert_eq!(schema.mistakes(), Vec::<String>::new());
        assert!(library_settings(&Resolved::defaults(&schema)).is_empty());
    }
}

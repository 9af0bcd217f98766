//! The interconnect: [`Link`]s, routers with finite buffers and credits and their [`Switching`],
//! [`topology`]s, the [`Fabric`] that is the engine's partition, and [`NodePort`], the half of a link
//! that a node's network interface embeds.
//!
//! Invariants: a packet starts on a link only when the link is free and the buffer at its far end has
//! room for the whole packet, so no packet is lost or overwritten; packets of one source, destination
//! and virtual network arrive in the order in which they were sent; a link is never held by a packet that
//! cannot move, but a channel of it by a worm; between the pieces of a worm no other packet of its virtual network
//! arrives; the bytes of a packet are only checked and, on a faulty link, flipped, but never interpreted.

mod channels;
mod crc;
mod credits;
mod earliest_outputs;
mod event;
mod fabric;
mod far_end;
mod fault;
mod faulty;
mod link;
mod lookahead;
mod node_port;
mod parameters;
mod parts;
mod router;
mod switching;
pub mod topology;
mod traffic;
mod wiring;
mod worm;
mod zones;

pub use channels::{Arbitration, VirtualNetworks};
pub use crc::CrcError;
pub use event::{FabricEvent, NodeEvent};
pub use fabric::{Attachment, Fabric, FabricStatistics};
pub use far_end::{FarEnd, FromNode};
pub use fault::{FAULTS, FaultKind, FaultParameters, FaultyLinks};
pub use link::{Link, LinkStatistics};
pub use lookahead::{Effects, FABRIC, GROUPS, NODES};
pub use node_port::{Blocked, NodePort, Sent};
pub use parameters::NetworkParameters;
pub use switching::Switching;
pub use topology::{Header, Hop, Topology, TopologyKind};
pub use traffic::Passage;

//! One rank simulated alone, driven by a recording: peers stand behind its link for the network and all other nodes.
//! They deliver the recorded messages, and answer what the rank's MPI library asks of the others' at once.
//!
//! A machine provides little: how its NI puts the library's packets on the wire ([`Wire`]), and the line between node
//! and peers ([`Line`]), which for nodes on a network is here. Where packets belong to connections it provides the
//! peers' ends of these instead ([`Transport`]). Everything between the wire and the program is the machine's own,
//! simulated as ever.
//!
//! Reading order: `ratio.rs`, `protocol.rs`, `peers.rs`, `datagrams.rs`, `on_network.rs`.

mod datagrams;
mod on_network;
mod peers;
mod protocol;
mod ratio;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use chasqui_abi::Envelope;
use chasqui_counters::Visitor;
use chasqui_engine::{Event, Outbox, Packet, Time};
use chasqui_network::FromNode;
use chasqui_record::Recording;

pub use datagrams::Datagrams;
pub use on_network::{build_alone_on_network, check_alone_on_network};
pub use peers::Peers;
pub use ratio::{Pace, TimeRatio};

/// What drives the only rank of a job that is simulated.
#[derive(Clone)]
pub struct Replay {
    /// World rank.
    pub rank: u32,
    /// What it receives.
    pub recording: Arc<Recording>,
    /// SHA-256 of the file that has it.
    pub sha256: String,
    /// When it arrives.
    pub pace: Pace,
}

/// What comes between the peers' MPI libraries and the line: their NICs, and their kernels where these have protocols.
/// They take no time. [`Datagrams`] are those of packets that stand for themselves.
pub trait Transport: Send {
    /// Longest data of a message that goes without rendezvous [bytes]: its device's `eager_bytes_max`.
    fn eager_bytes_max(&self) -> u64;
    /// The data of a rendezvous go by the device's `put`; else in segments.
    fn puts(&self) -> bool;
    /// Whether a message of rank `source` may begin at `now` that its library must see after all recorded messages before
    /// it. If so, and [`Transport::next`] has nothing else, its first packet is the next one. If not, what is missing for
    /// it may be what comes next.
    fn takes(&mut self, now: Time, source: u16) -> bool;
    /// A peer's library sends `envelope` with `data`.
    fn send(&mut self, now: Time, envelope: &Envelope, data: &[u8]);
    /// It writes `data` to address `to` at the destination of `finished`, then sends that.
    fn put(&mut self, now: Time, finished: &Envelope, to: u64, data: &[u8]);
    /// The next packet to the node, if one may leave at `now`.
    fn next(&mut self, now: Time) -> Option<Packet>;
    /// Takes a packet that has come from the node whole; what it brings to peers' libraries goes to `brought`.
    fn receive(&mut self, now: Time, packet: Packet, brought: &mut Vec<(Envelope, Vec<u8>)>);
    /// When [`Transport::takes`] and [`Transport::next`] are to be asked again though nothing has come.
    fn wakes(&self) -> Option<Time> {
        None
    }
    /// What has gone wrong so that messages can't come any more, in words for the user.
    fn trouble(&self) -> Option<String> {
        None
    }
    /// Visits its counters.
    fn visit(&self, _visit: &mut Visitor<'_>) {}
}

/// How a machine's NI puts packets of the MPI library on the wire, if each stands for itself.
pub trait Wire: Send {
    /// Longest data of a message that goes without rendezvous [bytes]: its device's `eager_bytes_max`.
    fn eager_bytes_max(&self) -> u64;
    /// The data of a rendezvous go by the device's `put`; else in segments.
    fn puts(&self) -> bool;
    /// The packet that brings `envelope` with `data`, behind those before it: an NI may number them.
    fn message(&mut self, envelope: &Envelope, data: &[u8]) -> Packet;
    /// The packets that write `data` to address `to` at the destination of `finished`, in their order, without
    /// `finished` itself.
    fn put(&self, finished: &Envelope, to: u64, data: &[u8]) -> Vec<Packet>;
    /// What a packet brings; `None`: a piece of a block.
    fn read<'a>(&self, packet: &'a Packet) -> Option<(Envelope, &'a [u8])>;
}

/// The line between the node and its peers, at the peers' end.
pub trait Line: Send {
    /// From the start of a packet to the arrival of its first byte at the node.
    fn latency(&self) -> Time;
    /// Whether a packet of this priority may start at `now`.
    ///
    /// # Errors
    /// When to ask again; `None`: when the node has sent that it has room.
    fn can_send(&self, now: Time, priority: u8) -> Result<(), Option<Time>>;
    /// Starts a packet, which [`Line::can_send`] allows.
    fn send(&mut self, now: Time, packet: Box<Packet>, out: &mut Outbox<'_>);
    /// Takes what the node has sent.
    fn receive(&mut self, event: &Event, packet: Option<Box<Packet>>) -> FromNode;
    /// A packet from the node has been dealt with.
    fn release(&mut self, now: Time, priority: u8, out: &mut Outbox<'_>);
}

//! A NIC's end of its link, for each of the three NICs: it hands packets over while the link takes them, lets others in,
//! and stamps where the messages are that they belong to. What waits, and in which order it leaves, is the NIC's matter.

use chasqui_counters::Visitor;
use chasqui_engine::{Packet, Payload, Time};
use chasqui_network::{Blocked, CrcError, Effects, NetworkParameters, NodeEvent, NodePort};
use chasqui_ni::{Cause, Context};
use chasqui_record::{MessageId, Stage};

use crate::PROCESS;

/// Source and number of the message that a packet belongs to, if it belongs to one.
pub(crate) type MessageKey = Option<(u16, u32)>;

/// The end of the link.
pub(crate) struct Link {
    port: NodePort,
    /// The NIC's start event is scheduled for when the link is free.
    start_scheduled: bool,
    /// From anything that happens in the NIC to its first effects elsewhere, and from a packet's head.
    effects: Effects,
    effects_of_packet: Effects,
}

impl Link {
    /// The link of a NIC that sends packets of at least `shortest` bytes on the wire, and does nothing about one that
    /// comes for `control`.
    pub fn new(network: &NetworkParameters, port: NodePort, shortest: u64, control: Time) -> Link {
        let (packet, credit) = port.first_effects(network, shortest as u32);
        let effects: Effects = std::array::from_fn(|to| packet[to].min(credit[to]));
        Link { port, start_scheduled: false, effects, effects_of_packet: effects.map(|time| control + time) }
    }

    /// Number of this node.
    pub fn node(&self) -> u32 {
        self.port.node()
    }

    /// Nodes of the machine.
    pub fn nodes(&self) -> u32 {
        self.port.nodes()
    }

    // --- out ----------------------------------------------------------------------------------------

    /// The link takes a packet now. If not, `start` happens when it is free, unless it is a credit that is missing.
    pub fn takes(&mut self, start: Payload, c: &mut Context<'_, '_>) -> bool {
        match self.port.can_send(c.now, 0) {
            Ok(()) => return true,
            Err(Blocked::LinkBusy { until }) if !std::mem::replace(&mut self.start_scheduled, true) => {
                c.at(until, start);
            }
            Err(Blocked::LinkBusy { .. } | Blocked::NoCredit) => {}
        }
        false
    }

    /// Hands over a packet, which the link takes.
    pub fn send(&mut self, packet: Box<Packet>, c: &mut Context<'_, '_>) {
        let message = packet.message;
        let sent = self.port.send(c.now, packet, c.out);
        stamp(c, message, Stage::Inject, sent.head);
    }

    /// The start event has happened.
    pub fn started(&mut self) {
        self.start_scheduled = false;
    }

    /// There is room for a packet at the other end.
    pub fn credit(&mut self, priority: u8) {
        self.port.receive_credit(priority);
    }

    // --- in -----------------------------------------------------------------------------------------

    /// A packet's head is here, its tail at `tail`.
    ///
    /// # Errors
    /// Its CRC is wrong.
    pub fn arrive(
        &mut self,
        tail: Time,
        packet: &mut Packet,
        c: &mut Context<'_, '_>,
    ) -> Result<(), CrcError> {
        stamp(c, packet.message, Stage::Arrive, c.now);
        self.port.arrive(tail, packet)
    }

    /// The same where a wrong CRC ends the run: nobody would send the packet again.
    pub fn arrive_whole(
        &mut self,
        tail: Time,
        mut packet: Box<Packet>,
        c: &mut Context<'_, '_>,
    ) -> Option<Box<Packet>> {
        if let Err(error) = self.arrive(tail, &mut packet, c) {
            c.outputs.broken = Some((error.time, error.to_string()));
            return None;
        }
        Some(packet)
    }

    /// Room of the packet at this end goes back to who sent it.
    pub fn release(&mut self, packet: &Packet, c: &mut Context<'_, '_>) {
        self.port.release(c.now, packet.priority, c.out);
    }

    // --- what others ask --------------------------------------------------------------------------------

    /// The first effects elsewhere of what `cause` is.
    pub fn output_latency(&self, cause: Cause<'_>) -> &[Time] {
        match cause {
            Cause::Network(event) if matches!(event.payload.into(), NodeEvent::Packet { .. }) => {
                &self.effects_of_packet
            }
            _ => &self.effects,
        }
    }

    /// Visits the counters of the link's end.
    pub fn statistics(&self, visit: &mut Visitor<'_>) {
        self.port.visit(visit);
    }
}

/// Stamps a stage of a message.
pub(crate) fn stamp(c: &mut Context<'_, '_>, message: MessageKey, stage: Stage, at: Time) {
    if let Some((source, sequence)) = message {
        c.recorders[PROCESS.index()].stamp(MessageId { source, sequence }, stage, at.0);
    }
}

/// By what a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    Deposit = 1,
    Put,
    Slot,
    RdmaWrite,
    Vi,
    Stream,
}

/// Names of the [`Mechanism`]s, in their order.
pub(crate) const MECHANISMS: &[&str] = &["network-cache", "put", "slot", "rdma-write", "vi", "stream"];
const _: () = assert!(MECHANISMS.len() == Mechanism::Stream as usize, "a name for each");

/// Notes by what a message travels. What both nodes say is joined by the least.
pub(crate) fn travels_by(c: &mut Context<'_, '_>, message: MessageKey, mechanism: Mechanism) {
    if let Some((source, sequence)) = message {
        c.recorders[PROCESS.index()].protocol(MessageId { source, sequence }, mechanism as u32);
    }
}

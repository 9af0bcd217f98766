//! An NI's end of its link: it hands packets over while the link takes them, lets others in, and stamps where the messages
//! are that they belong to. What waits, and in which order it leaves, is the NI's matter.

use std::collections::VecDeque;

use chasqui_counters::Visitor;
use chasqui_engine::{Packet, Payload, Time};
use chasqui_network::{Blocked, CrcError, Effects, NetworkParameters, NodePort};
use chasqui_placement::ProcessId;
use chasqui_record::{MessageId, Stage};

use crate::Context;

/// Source and number of the message that a packet belongs to, if it belongs to one.
pub type MessageKey = Option<(u16, u32)>;

/// The end of the link.
pub struct LinkEnd {
    port: NodePort,
    /// The NI's event for when the link is free.
    start: Payload,
    start_scheduled: bool,
    /// Packets whose tail has not landed, oldest first.
    arriving: VecDeque<Box<Packet>>,
    /// From the start of a packet to its first effects elsewhere, and from room in the receive buffer.
    effects: (Effects, Effects),
    /// From a packet's head to its tail.
    landing: Time,
}

impl LinkEnd {
    /// That of an NI that sends packets of at least `shortest` bytes on the wire. Its event `start` says that the link is free; then it calls [`LinkEnd::started`].
    pub fn new(network: &NetworkParameters, port: NodePort, shortest: u64, start: Payload) -> LinkEnd {
        LinkEnd {
            effects: port.first_effects(network, shortest as u32),
            landing: port.link().serialization(shortest as u32),
            port,
            start,
            start_scheduled: false,
            arriving: VecDeque::new(),
        }
    }

    /// The link itself, of which an NI may say more exactly what can happen when ([`crate::NetworkInterface::output_latency`]).
    pub fn port(&self) -> &NodePort {
        &self.port
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

    /// The link takes a packet of `priority` now. If not, the start event comes when it is free, unless it is a credit that
    /// is missing.
    pub fn takes(&mut self, priority: u8, c: &mut Context<'_, '_>) -> bool {
        match self.port.can_send(c.now, priority) {
            Ok(()) => return true,
            Err(Blocked::LinkBusy { until }) if !std::mem::replace(&mut self.start_scheduled, true) => {
                c.at(until, self.start);
            }
            Err(Blocked::LinkBusy { .. } | Blocked::NoCredit) => {}
        }
        false
    }

    /// Hands over a packet of `process`, which the link takes.
    pub fn send(&mut self, packet: Box<Packet>, process: ProcessId, c: &mut Context<'_, '_>) {
        let message = packet.message;
        let sent = self.port.send(c.now, packet, c.out);
        c.stamp(process, message, Stage::Inject, sent.head);
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

    /// The head of a packet for `process` is here, its tail at `tail`.
    ///
    /// # Errors
    /// Its CRC is wrong.
    pub fn arrive(
        &mut self,
        tail: Time,
        packet: &mut Packet,
        process: ProcessId,
        c: &mut Context<'_, '_>,
    ) -> Result<(), CrcError> {
        c.stamp(process, packet.message, Stage::Arrive, c.now);
        self.port.arrive(tail, packet)
    }

    /// The same where a wrong CRC ends the run, because nobody would send the packet again. The NI's event `landed` says
    /// that the tail is here; then it calls [`LinkEnd::landed`].
    pub fn arrive_whole(
        &mut self,
        tail: Time,
        mut packet: Box<Packet>,
        (process, landed): (ProcessId, Payload),
        c: &mut Context<'_, '_>,
    ) {
        if let Err(error) = self.arrive(tail, &mut packet, process, c) {
            c.outputs.broken = Some((error.time, error.to_string()));
            return;
        }
        self.arriving.push_back(packet);
        c.at(tail, landed);
    }

    /// The packet whose tail has landed.
    ///
    /// # Panics
    /// There is none.
    pub fn landed(&mut self) -> Box<Packet> {
        self.arriving.pop_front().expect("a packet has landed")
    }

    /// Room of a packet of `priority` at this end goes back to the router.
    pub fn release(&mut self, priority: u8, c: &mut Context<'_, '_>) {
        self.port.release(c.now, priority, c.out);
    }

    // --- what others ask --------------------------------------------------------------------------------

    /// The least times to the first effects elsewhere: from a packet that is sent, and from room that goes back.
    pub fn effects(&self) -> &(Effects, Effects) {
        &self.effects
    }

    /// The least time from a packet's head to its tail.
    pub fn landing(&self) -> Time {
        self.landing
    }

    /// Visits the counters of the link's end.
    pub fn statistics(&self, visit: &mut Visitor<'_>) {
        self.port.visit(visit);
    }
}

impl Context<'_, '_> {
    /// Stamps a stage of a message of `process`, if it is one's and the process is there.
    pub fn stamp(&mut self, process: ProcessId, message: MessageKey, stage: Stage, at: Time) {
        if let (Some((source, sequence)), Some(recorder)) = (message, self.recorders.get_mut(process.index()))
        {
            recorder.stamp(MessageId { source, sequence }, stage, at.0);
        }
    }

    /// Notes by what a message of `process` travels ([`mechanisms!`](crate::mechanisms)). What both nodes say is joined by
    /// the least.
    pub fn travels_by(&mut self, process: ProcessId, message: MessageKey, mechanism: impl Into<u32>) {
        if let (Some((source, sequence)), Some(recorder)) = (message, self.recorders.get_mut(process.index()))
        {
            recorder.protocol(MessageId { source, sequence }, mechanism.into());
        }
    }
}

//! The node's end of the link to its router: what a network interface embeds.

use std::collections::VecDeque;

use chasqui_counters::{Counters, Visitor, below, counters};
use chasqui_engine::{Class, Event, Outbox, Packet, PartitionId, Port, Time};

use crate::crc::{self, CRC_BYTES};
use crate::fault::Faults;
use crate::switching::Forwarding;
use crate::topology::{Neighbour, RouterPort};
use crate::worm::OpenWorm;
use crate::{CrcError, FabricEvent, Link, LinkStatistics, NetworkParameters};

/// Where a node's link leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uplink {
    pub node: u32,
    /// Nodes of the network.
    pub nodes: u32,
    pub fabric: PartitionId,
    pub router: u32,
    pub input: u16,
    /// Routers on the way to the nearest node of another zone; 1 if there is none.
    pub switches_beyond: u32,
    /// Virtual channels of each virtual network on a link, of which a node's link uses the first.
    pub virtual_channels: u8,
}

/// Why a packet cannot be sent now, and when to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// The link carries another packet until this time.
    LinkBusy {
        /// When the link is free.
        until: Time,
    },
    /// The router's buffer is full: try again at the next [`crate::NodeEvent::Credit`] of this virtual network.
    NoCredit,
}

/// When a packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When its first byte leaves.
    pub head: Time,
    /// When its last byte has left, and the link is free.
    pub tail: Time,
}

counters! {
    /// What came to a node.
    struct ArrivalStatistics {
        /// Packets that came with a wrong CRC.
        crc_errors: "packets";
    }
}

/// What a node's end of its link has of one virtual network.
#[derive(Debug)]
struct OfNetwork {
    port: Port,
    credits: u32,
    /// Since when the network interface has a packet and lacks a credit; [`Time::NEVER`] otherwise.
    blocked_since: Time,
    worm: OpenWorm,
    /// Tails of the packets in the receive buffer, oldest first.
    held: VecDeque<Time>,
}

/// A node's two directions of its link: sending with credits, receiving into a buffer of
/// `receive_buffer_packets` for each virtual network. It queues nothing: packets that must wait stay with the
/// network interface.
#[derive(Debug)]
pub struct NodePort {
    uplink: Uplink,
    link: Link,
    forwarding: Forwarding,
    packet_bytes_max: u32,
    receive_buffer_packets: usize,
    free_at: Time,
    networks: Box<[OfNetwork]>,
    statistics: LinkStatistics,
    faults: Faults,
    arrivals: ArrivalStatistics,
}

impl NodePort {
    pub(crate) fn new(
        uplink: Uplink,
        parameters: &NetworkParameters,
        faults: Faults,
        ports: impl Iterator<Item = Port>,
    ) -> NodePort {
        let credits = parameters.input_buffer();
        let of_network = |port| OfNetwork {
            port,
            credits,
            blocked_since: Time::NEVER,
            worm: OpenWorm::default(),
            held: VecDeque::new(),
        };
        NodePort {
            uplink,
            link: parameters.link(),
            forwarding: parameters.forwarding(),
            packet_bytes_max: parameters.packet_max.bytes() as u32,
            receive_buffer_packets: parameters.receive_buffer() as usize,
            free_at: Time::ZERO,
            networks: ports.map(of_network).collect(),
            statistics: LinkStatistics::default(),
            faults,
            arrivals: ArrivalStatistics::default(),
        }
    }

    /// The node's network address.
    pub fn node(&self) -> u32 {
        self.uplink.node
    }

    /// Nodes of the network.
    pub fn nodes(&self) -> u32 {
        self.uplink.nodes
    }

    /// Routers on the way to the nearest node of another zone; 1 if there is none.
    pub fn switches_beyond(&self) -> u32 {
        self.uplink.switches_beyond
    }

    /// The link.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Whether a packet of `priority` may start at `now`; if not, when to try again. Asking while there
    /// is no credit starts the clock of `blocked_ps`.
    ///
    /// # Errors
    /// The reason.
    #[inline]
    pub fn can_send(&mut self, now: Time, priority: u8) -> Result<(), Blocked> {
        if self.free_at > now {
            return Err(Blocked::LinkBusy { until: self.free_at });
        }
        let network = &mut self.networks[priority as usize];
        if network.credits == 0 {
            network.blocked_since = network.blocked_since.min(now);
            return Err(Blocked::NoCredit);
        }
        Ok(())
    }

    /// Starts a packet at `now`. The port appends its CRC, which `wire_bytes` counts.
    ///
    /// # Panics
    /// When [`NodePort::can_send`] forbids it, or the packet is not one that this network carries:
    /// longer than `packet_bytes_max`, empty, from another node, to a node that is not there; a piece of a worm where switching
    /// has none, or none where one must follow.
    pub fn send(&mut self, now: Time, mut packet: Box<Packet>, out: &mut Outbox<'_>) -> Sent {
        let Uplink { node, nodes, fabric, router, input, virtual_channels, .. } = self.uplink;
        let Packet { source, destination, priority, wire_bytes, .. } = *packet;
        assert_eq!(source, node, "source of a packet");
        assert!(destination < nodes, "node {node} sends to {destination} of {nodes}");
        assert!((1..=self.packet_bytes_max).contains(&wire_bytes), "packet of {wire_bytes} bytes");
        assert_eq!(self.can_send(now, priority), Ok(()), "node {node} sends at {now}");
        let network = &mut self.networks[priority as usize];
        if network.blocked_since != Time::NEVER {
            self.statistics.blocked_ps += (now - network.blocked_since).0;
            network.blocked_since = Time::NEVER;
        }
        network.worm.follow(&packet, self.forwarding.switching);
        let serialization = self.link.serialization(wire_bytes);
        network.credits -= 1;
        self.free_at = now + serialization;
        self.statistics.count(wire_bytes, serialization);
        if self.faults.are_on() {
            crc::append(&mut packet.bytes);
            // The router, which counts likewise, decides its further fate.
            let _ = self.faults.pass(Neighbour::Node(node), self.statistics.packets, &mut packet.bytes);
        }
        let event = Event {
            time: now + self.link.latency() + self.forwarding.after(serialization),
            order: network.port.next(Class::Packet),
            target: router,
            payload: FabricEvent::Packet { input, channel: priority * virtual_channels, slot: 0 }.into(),
        };
        out.send(now, fabric, event, Some(packet));
        Sent { head: now, tail: self.free_at }
    }

    /// Takes a [`crate::NodeEvent::Credit`].
    #[inline]
    pub fn receive_credit(&mut self, priority: u8) {
        self.networks[priority as usize].credits += 1;
    }

    /// Takes the packet of a [`crate::NodeEvent::Packet`], which from now on is in the receive buffer, and removes its
    /// CRC. The packet is whole at `tail`.
    ///
    /// # Errors
    /// At `tail` its CRC is found to be wrong: it must not be used.
    ///
    /// # Panics
    /// When the buffer has no room, which the credits exclude: a bug of the model.
    pub fn arrive(&mut self, tail: Time, packet: &mut Packet) -> Result<(), CrcError> {
        let held = &mut self.networks[packet.priority as usize].held;
        assert!(
            held.len() < self.receive_buffer_packets,
            "node {}: receive buffer is full",
            self.uplink.node
        );
        // A faulty link may have one pass another.
        let place = held.partition_point(|&other| other <= tail);
        held.insert(place, tail);
        if self.faults.are_on() { self.check(tail, packet) } else { Ok(()) }
    }

    fn check(&mut self, tail: Time, packet: &mut Packet) -> Result<(), CrcError> {
        let Uplink { node, router, input, .. } = self.uplink;
        let from = Neighbour::Router(RouterPort { router, port: input });
        let checked = CrcError::check(packet, tail, (from, Neighbour::Node(node)));
        self.arrivals.crc_errors += u64::from(checked.is_err());
        packet.bytes.truncate(packet.bytes.len() - CRC_BYTES);
        checked
    }

    /// The network interface has taken a packet out of the receive buffer: its room goes back to the
    /// router. Not earlier than the packet's tail, for until then the packet needs its room.
    ///
    /// # Panics
    /// When the buffer is empty or the oldest packet has not landed: a bug of the network interface.
    pub fn release(&mut self, now: Time, priority: u8, out: &mut Outbox<'_>) {
        let Uplink { node, fabric, router, input, virtual_channels, .. } = self.uplink;
        let network = &mut self.networks[priority as usize];
        let tail = network.held.pop_front();
        assert!(tail.is_some_and(|t| t <= now), "node {node} releases at {now} a packet of tail {tail:?}");
        let event = Event {
            time: now + self.link.latency(),
            order: network.port.next(Class::Credit),
            target: router,
            payload: FabricEvent::Credit { output: input, channel: priority * virtual_channels }.into(),
        };
        out.send(now, fabric, event, None);
    }

    /// Packets in the receive buffer, those included whose tail is still to come.
    pub fn held(&self, priority: u8) -> usize {
        self.networks[priority as usize].held.len()
    }

    /// The same, of all virtual networks.
    #[inline]
    pub fn held_in_all(&self) -> usize {
        self.networks.iter().map(|network| network.held.len()).sum()
    }

    /// Packets of one virtual network that the receive buffer has room for.
    pub fn receive_buffer_packets(&self) -> usize {
        self.receive_buffer_packets
    }

    /// Packets of this virtual network that the router has room for.
    pub fn credits(&self, priority: u8) -> u32 {
        self.networks[priority as usize].credits
    }

    /// What the link from the node to its router did. `blocked_ps` adds over virtual networks.
    pub fn statistics(&self) -> &LinkStatistics {
        &self.statistics
    }

    /// Visits the port's counters, those of the link from the node to its router below `link`.
    pub fn visit(&self, visit: &mut Visitor<'_>) {
        self.arrivals.visit(visit);
        self.statistics.visit(&mut below("link", visit));
    }
}

//! The far end of one node's link, where nothing else is: what stands for the network and for all other nodes of a
//! node that is simulated alone.

use chasqui_engine::{Class, Event, Outbox, Packet, PartitionId, Port, Time};

use crate::fabric::Attachment;
use crate::fault::Faults;
use crate::node_port::{NodePort, Uplink};
use crate::switching::Forwarding;
use crate::worm::OpenWorm;
use crate::{Blocked, FabricEvent, Link, LinkStatistics, NetworkParameters, NodeEvent, VirtualNetworks};

/// What a node has sent.
#[derive(Debug)]
pub enum FromNode {
    /// A packet, whose last byte comes at this time.
    Packet(Box<Packet>, Time),
    /// It has room for one more packet.
    Room,
}

/// A link's two directions at the end that is not the node's: sending with credits, as a router does, and receiving
/// without limit. It queues nothing.
#[derive(Debug)]
pub struct FarEnd {
    link: Link,
    forwarding: Forwarding,
    attachment: Attachment,
    /// By virtual network: the engine's port, and how many packets the node has room for.
    networks: Box<[(Port, u32)]>,
    /// By virtual network.
    worms: Box<[OpenWorm]>,
    free_at: Time,
    statistics: LinkStatistics,
}

impl FarEnd {
    /// How many of the engine's ports it uses, with its node's, for so many virtual networks.
    pub fn ports(networks: VirtualNetworks) -> u32 {
        2 * u32::from(networks.count)
    }

    /// The link of node `node` of `nodes`, and the node's end of it. `here` is the partition that the far end is in; it
    /// uses the engine's ports from `first_port` on.
    ///
    /// # Panics
    /// When links are faulty: what is sent here has no CRC.
    pub fn new(
        parameters: &NetworkParameters,
        networks: VirtualNetworks,
        (node, nodes): (u32, u32),
        attachment: Attachment,
        here: PartitionId,
        first_port: u32,
    ) -> (FarEnd, NodePort) {
        assert!(!parameters.fault.is_on(), "a faulty link has a network at its far end");
        // Of equal times the higher priority is first, as in a fabric.
        let count = u32::from(networks.count);
        let ports = |first: u32| (0..count).rev().map(move |below| Port::new(first + below));
        let uplink = Uplink {
            node,
            nodes,
            fabric: here,
            router: 0,
            input: 0,
            switches_beyond: 1,
            virtual_channels: 1,
        };
        let faults = Faults::new(&parameters.fault).expect("links that are named in words that were checked");
        let near = NodePort::new(uplink, parameters, faults, ports(first_port + count));
        let far = FarEnd {
            link: parameters.link(),
            forwarding: parameters.forwarding(),
            attachment,
            networks: ports(first_port).map(|port| (port, parameters.receive_buffer())).collect(),
            worms: vec![OpenWorm::default(); networks.count.into()].into(),
            free_at: Time::ZERO,
            statistics: LinkStatistics::default(),
        };
        (far, near)
    }

    /// From the start of a packet to the arrival of its first byte.
    pub fn latency(&self) -> Time {
        self.link.latency()
    }

    /// Whether a packet of `priority` may start at `now`.
    ///
    /// # Errors
    /// When to ask again.
    pub fn can_send(&self, now: Time, priority: u8) -> Result<(), Blocked> {
        if self.free_at > now {
            Err(Blocked::LinkBusy { until: self.free_at })
        } else if self.networks[priority as usize].1 == 0 {
            Err(Blocked::NoCredit)
        } else {
            Ok(())
        }
    }

    /// Starts a packet at `now`.
    ///
    /// # Panics
    /// When [`FarEnd::can_send`] forbids it; when it is a piece of a worm where switching has none, or none where one must
    /// follow.
    pub fn send(&mut self, now: Time, packet: Box<Packet>, out: &mut Outbox<'_>) {
        let Packet { priority, wire_bytes, .. } = *packet;
        assert_eq!(self.can_send(now, priority), Ok(()), "a packet at {now}");
        self.worms[priority as usize].follow(&packet, self.forwarding.switching);
        let serialization = self.link.serialization(wire_bytes);
        self.networks[priority as usize].1 -= 1;
        self.free_at = now + serialization;
        self.statistics.count(wire_bytes, serialization);
        let tail = self.free_at + self.link.latency();
        let payload = NodeEvent::Packet { tail, priority, slot: 0 }.into();
        self.tell(now, priority, Class::Packet, payload, Some(packet), out);
    }

    /// Takes an event that the node's end has sent.
    ///
    /// # Panics
    /// When it is another's.
    pub fn receive(&mut self, event: &Event, packet: Option<Box<Packet>>) -> FromNode {
        match event.payload.into() {
            FabricEvent::Packet { .. } => {
                let packet = packet.expect("a packet comes with its event");
                let serialization = self.link.serialization(packet.wire_bytes);
                let head = event.time - self.forwarding.after(serialization);
                let tail = head + serialization;
                FromNode::Packet(packet, tail.max(event.time))
            }
            // With one virtual channel, channels are virtual networks.
            FabricEvent::Credit { channel, .. } => {
                self.networks[channel as usize].1 += 1;
                FromNode::Room
            }
            other => panic!("a node sent {other:?}"),
        }
    }

    /// A packet of `priority` that came from the node is whole and gone: its room goes back.
    pub fn release(&mut self, now: Time, priority: u8, out: &mut Outbox<'_>) {
        let payload = NodeEvent::Credit { priority }.into();
        self.tell(now, priority, Class::Credit, payload, None, out);
    }

    fn tell(
        &mut self,
        now: Time,
        priority: u8,
        class: Class,
        payload: [u64; 2],
        packet: Option<Box<Packet>>,
        out: &mut Outbox<'_>,
    ) {
        let order = self.networks[priority as usize].0.next(class);
        let Attachment { partition, target } = self.attachment;
        out.send(now, partition, Event { time: now + self.link.latency(), order, target, payload }, packet);
    }

    /// What the direction to the node did.
    pub fn statistics(&self) -> &LinkStatistics {
        &self.statistics
    }
}

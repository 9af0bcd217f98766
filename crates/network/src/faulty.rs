//! What faulty links do to packets in the fabric, beside flipping bits: packets are lost, come twice, or late. Credits stay
//! right: the room of a packet that never came is given back when it would have been there.
//!
//! A link that begins at a router has its faults where the packet leaves; one that begins at a node has them where the
//! packet enters the network, for a node's port queues nothing.

use chasqui_engine::{Event, Outbox, Time};

use crate::fabric::Transit;
use crate::fault::FaultKind;
use crate::router::{Held, Work};
use crate::topology::{Neighbour, RouterPort};
use crate::{Fabric, FabricEvent};

/// What a fabric keeps for its faulty links.
#[derive(Debug, Default)]
pub(crate) struct Faulty {
    /// Wrong bits are the nodes' affair: the protocol above copes with them.
    pub is_tolerated: bool,
    /// Packets that came from each node's link.
    came: Vec<u64>,
    /// By link and channel: packets come no sooner, behind one that was delayed.
    not_before: Vec<Time>,
}

impl Faulty {
    /// For a network of so many nodes, links and channels.
    pub fn new(nodes: usize, links: usize, channels: usize) -> Faulty {
        Faulty { is_tolerated: false, came: vec![0; nodes], not_before: vec![Time::ZERO; links * channels] }
    }

    /// For a part of the network to which nothing has happened.
    pub fn like(&self) -> Faulty {
        let Faulty { is_tolerated, came, not_before } = self;
        Faulty {
            is_tolerated: *is_tolerated,
            came: vec![0; came.len()],
            not_before: vec![Time::ZERO; not_before.len()],
        }
    }
}

impl Fabric {
    /// Packets with wrong bits do not end the run: the protocol above copes with them.
    pub fn tolerate_corruption(&mut self) {
        self.faulty.is_tolerated = true;
    }

    /// A faulty link may flip bits of the packet that a router sends on it. What else happens to the packet there.
    pub(crate) fn pass(&mut self, from: RouterPort, slot: u32) -> Option<FaultKind> {
        let number = self.link_statistics(from).packets;
        let transit = &mut self.transits[slot as usize];
        let packet = transit.packet.as_mut().expect("the packet is in the fabric");
        let fate = self.faults.pass(Neighbour::Router(from), number, &mut packet.bytes);
        // One that its node's link is to have twice leaves the first router twice. A copy is not copied there.
        let fate = transit.fate.take().or(fate);
        let is_copy = std::mem::take(&mut transit.is_copy);
        fate.filter(|&fate| fate != FaultKind::Duplicate || !is_copy)
    }

    /// A packet in `slot`, which will be ready at `ready`, came over a node's link to the router at `at`, if that is where the link
    /// ends. How much later it comes.
    pub(crate) fn uplink_fault(&mut self, slot: u32, at: RouterPort, channel: u8, ready: Time) -> Time {
        let Neighbour::Node(node) = self.wiring.far_end(at) else { return Time::ZERO };
        let came = &mut self.faulty.came[node as usize];
        *came += 1;
        let fate = self.faults.fate(Neighbour::Node(node), *came);
        if matches!(fate, Some(FaultKind::Drop | FaultKind::Duplicate)) {
            self.transits[slot as usize].fate = fate;
        }
        let whole = self.transits[slot as usize].serialization;
        self.lateness((self.wiring.uplink(node), channel), (ready, whole), fate)
    }

    /// How much later a packet of `channel` comes over `link` that is there at `time` otherwise, and takes `whole` on it.
    pub(crate) fn lateness(
        &mut self,
        (link, channel): (usize, u8),
        (time, whole): (Time, Time),
        fate: Option<FaultKind>,
    ) -> Time {
        if !self.faults.are_on() {
            return Time::ZERO;
        }
        let count = self.channels.count();
        let not_before = &mut self.faulty.not_before[link * count + usize::from(channel)];
        let late = match fate {
            Some(FaultKind::Delay | FaultKind::Reorder) => self.faults.late(),
            _ => Time::ZERO,
        };
        let then = (time + late).max(*not_before);
        // Those behind it stay behind it.
        if fate == Some(FaultKind::Delay) || then > time && fate != Some(FaultKind::Reorder) {
            *not_before = then + whole;
        }
        self.statistics.late += u64::from(then > time);
        then - time
    }

    /// Drops the packet that `event` brings to a router if the link from its node has lost it, and returns its
    /// credit. True: it was lost.
    pub(crate) fn drop_if_lost(&mut self, event: &Event, out: &mut Outbox<'_>) -> bool {
        let FabricEvent::Packet { input, channel, slot } = event.payload.into() else { return false };
        let &Transit { fate, serialization, .. } = &self.transits[slot as usize];
        if fate != Some(FaultKind::Drop) {
            return false;
        }
        self.statistics.dropped += 1;
        self.take(slot);
        let at = RouterPort { router: event.target, port: input };
        // As if it had been sent on.
        self.return_credit(event.time, at, channel, event.time + serialization, out);
        true
    }

    /// A packet whose tail leaves a router at `tail` is lost on the link that begins at `at`.
    pub(crate) fn lose(&mut self, at: RouterPort, channel: u8, (slot, tail): (u32, Time)) {
        self.statistics.dropped += 1;
        self.take(slot);
        let back = tail + self.link.latency() + self.link.latency();
        let Fabric { routers, queue, .. } = self;
        routers[at.router as usize].credit_back(at.port, channel, back, queue);
    }

    /// The packet `held`, which has just left a router's buffer, is in it still, to be sent once more.
    pub(crate) fn repeat(&mut self, at: RouterPort, channel: u8, held: Held) {
        self.statistics.duplicated += 1;
        let packet = self.transits[held.slot as usize].packet.clone().expect("the packet is in the fabric");
        let held = Held { slot: self.keep(packet), ..held };
        self.transits[held.slot as usize].is_copy = true;
        let Fabric { routers, queue, departures, .. } = self;
        routers[at.router as usize].repeat(at.port, channel, held, &mut Work { queue, departures });
    }
}

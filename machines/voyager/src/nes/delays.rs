//! Look-ahead: how soon what happens at the NES can have an effect on another node or the network.

use chasqui_engine::Time;

use super::events::NesEvent;
use super::{Nes, NesPlan};
use crate::{FABRIC, NODES};

/// Least times from something that happens at the NES to its first effects elsewhere, by group.
pub(super) type Delay = [Time; 2];

/// These times, by what happens.
pub(super) struct Delays {
    /// A store starts a message on its way.
    pub store: Delay,
    /// A store makes room for a packet that waits, or a packet arrives: it leaves the receive buffer.
    pub release: Delay,
    /// Either.
    pub any_store: Delay,
    /// A packet may leave the receive buffer.
    pub finish: Delay,
    /// A packet leaves a receive buffer that has had room: nobody waits for more.
    pub received: Delay,
    /// Nothing that others notice.
    pub nothing: Delay,
    /// Anything else.
    pub other: Delay,
}

impl Delays {
    pub fn new(plan: &NesPlan) -> Delays {
        let (link, nes) = (plan.port.link(), &plan.nes);
        let hop = link.latency();
        // What another node notices first: a packet's head, or room in the first router's buffer when a
        // credit has let a packet leave it.
        let room = hop + link.serialization(nes.packet_overhead.bytes() as u32) + hop;
        let mut packet = [Time::NEVER; 2];
        (packet[FABRIC], packet[NODES]) = (plan.first_hop, plan.first_hop + hop);
        let mut credit = [Time::NEVER; 2];
        (credit[FABRIC], credit[NODES]) = (hop, room);
        let after = |cycles, delay: Delay| delay.map(|d| plan.clock.edge(cycles) + d);
        let either = |a: Delay, b: Delay| std::array::from_fn(|to| a[to].min(b[to]));
        let store = after(nes.transmit.cycles() + 1, packet);
        // On a slow link a processor that has seen a packet may send one before the credit is noticed.
        let release = after(nes.receive.cycles(), either(credit, store));
        // The next packet, in or out, needs control before it leaves a buffer.
        let mut received = either(after(nes.transmit.cycles(), packet), release);
        received[FABRIC] = hop;
        Delays {
            store,
            release,
            any_store: either(store, release),
            finish: either(packet, credit),
            received,
            nothing: [Time::NEVER; 2],
            other: either(packet, release),
        }
    }
}

impl Nes {
    /// From `event` to its first effects elsewhere.
    pub(super) fn event_latency(&self, event: NesEvent) -> &Delay {
        let delays = &self.delays;
        match event {
            NesEvent::Start if !self.waits_for_link() => &delays.nothing,
            NesEvent::Received if !self.may_be_full() => &delays.received,
            NesEvent::Received | NesEvent::PagesIn => &delays.finish,
            NesEvent::Landed => &delays.release,
            NesEvent::Service => &delays.any_store,
            _ => &delays.other,
        }
    }

    /// Something goes on when the link is free, or the router has room.
    pub(super) fn waits_for_link(&self) -> bool {
        self.shared.txu.iter().any(|packets| !packets.is_empty()) || self.dma.waits_to_notify()
    }

    /// The router may have a packet for which the receive buffer has no room.
    fn may_be_full(&self) -> bool {
        self.shared.port.held_in_all() + self.coming >= self.shared.port.receive_buffer_packets()
    }
}

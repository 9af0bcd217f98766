//! Look-ahead: how soon what happens at the NES can have an effect on another node or the network.

use chasqui_engine::Time;
use chasqui_network::{Effects, FABRIC, GROUPS};

use super::events::NesEvent;
use super::{Nes, NesPlan, has_shares};

/// These times, by what happens.
pub(super) struct Delays {
    /// A store starts a message on its way.
    pub store: Effects,
    /// A store makes room for a packet that waits, or a packet has landed: it leaves the receive buffer.
    pub release: Effects,
    /// A packet's head arrives: the same, once the rest has landed.
    pub arrive: Effects,
    /// Either.
    pub any_store: Effects,
    /// A packet may leave the receive buffer.
    pub finish: Effects,
    /// A packet leaves a receive buffer that has had room: nobody waits for more.
    pub received: Effects,
    /// Nothing that others notice.
    pub nothing: Effects,
    /// Anything else.
    pub other: Effects,
    /// From a packet or a credit to what a processor may notice: control that takes cycles comes first, or a packet on
    /// the link, behind which a DMA request ends. Where there are two priorities, or jobs have
    /// shares of the TxU, a credit may have the lines of a message read at once that passes another one.
    pub input: Time,
}

impl Delays {
    pub fn new(plan: &NesPlan) -> Delays {
        let nes = &plan.nes;
        let hop = plan.port.link().latency();
        let shortest = nes.packet_overhead.bytes() as u32;
        let (packet, credit) = plan.port.first_effects(&plan.network, shortest);
        let after = |cycles, delay: Effects| delay.map(|d| plan.clock.edge(cycles) + d);
        let either = |a: Effects, b: Effects| std::array::from_fn(|to| a[to].min(b[to]));
        // A request for an empty block needs no control but its own.
        let control = (nes.transmit.cycles() + 1).min(plan.dma.setup.cycles());
        let store = after(control, packet);
        // On a slow link a processor that has seen a packet may send one before the credit is noticed.
        let release = after(nes.receive.cycles(), either(credit, store));
        // The next packet, in or out, needs control before it leaves a buffer.
        let mut received = either(after(nes.transmit.cycles(), packet), release);
        received[FABRIC] = hop;
        // No packet lands sooner after its head.
        let landing = plan.port.link().serialization(shortest);
        let has_high = plan.queues.high_express + plan.queues.high_basic > 0;
        let may_pass = has_high || has_shares(plan.placement.jobs().count(), nes.txu_packets);
        let control_first = plan.clock.edge(nes.transmit.cycles().min(nes.receive.cycles()));
        Delays {
            store,
            release,
            arrive: release.map(|d| landing + d),
            any_store: either(store, release),
            finish: either(packet, credit),
            received,
            nothing: [Time::NEVER; 2 * GROUPS],
            other: either(packet, release),
            input: if may_pass { Time::ZERO } else { control_first.min(landing) },
        }
    }
}

impl Nes {
    /// From `event` to its first effects elsewhere.
    pub(super) fn event_latency(&self, event: NesEvent) -> &Effects {
        let delays = &self.delays;
        match event {
            NesEvent::Start if !self.waits_for_link() => &delays.nothing,
            NesEvent::Received if !self.may_be_full() => &delays.received,
            NesEvent::Received | NesEvent::Aside => &delays.finish,
            NesEvent::Landed => &delays.release,
            NesEvent::Service => &delays.any_store,
            _ => &delays.other,
        }
    }

    /// Something goes on when the link is free, or the router has room.
    pub(super) fn waits_for_link(&self) -> bool {
        self.shared.txu.iter().any(|packets| !packets.is_empty())
            || self.dma.waits_to_notify()
            || !self.shared.control.is_empty()
    }

    /// The router may have a packet for which the receive buffer has no room.
    pub(super) fn may_be_full(&self) -> bool {
        let port = self.shared.link.port();
        port.held_in_all() + self.in_flight >= port.receive_buffer_packets()
    }
}

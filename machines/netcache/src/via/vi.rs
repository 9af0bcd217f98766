//! A VI: its two work queues, and its connection, over which packets go in order, once, and reliably.
//!
//! The sender numbers packets and may have a window of them under way. The receiver takes the one that it awaits, says
//! how far it is when it is asked, and refuses one that finds no receive descriptor; what comes behind that it drops.
//! Then the sender waits, and goes on with the packet that was refused (go back n). The network loses nothing, so no
//! timer waits for replies.

use std::collections::VecDeque;

use chasqui_engine::Packet;

use super::registers::ViaDescriptor;
use super::sequence::{Effect, Outgoing, before, should_ask};
use chasqui_ni::MessageKey;

/// A descriptor as its doorbell names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posted {
    /// Virtual address.
    pub address: u64,
    /// Memory handle.
    pub handle: u32,
}

/// A descriptor of the send queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub posted: Posted,
    pub message: MessageKey,
    /// What it asks for, once that has been read.
    pub plan: Option<Plan>,
}

/// What a descriptor of the send queue asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub descriptor: ViaDescriptor,
    /// Physical address of the descriptor.
    pub physical: u64,
    /// Number of its first packet, and how many they are.
    pub first: u32,
    pub packets: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Idle,
    Connected,
    Error,
}

/// A message that waits in the NIC for its receive descriptor.
pub(super) struct Held {
    pub packet: Box<Packet>,
}

#[derive(Default)]
pub(super) struct Vi {
    pub state: State,
    pub tag: u32,
    /// Node and VI at the other side.
    pub remote: (u32, u32),
    /// Completion queues.
    pub send_queue: Option<u32>,
    pub receive_queue: Option<u32>,

    /// The send queue, oldest first. Those in front have been read.
    pub work: VecDeque<Work>,
    /// The numbers of its packets; those of descriptors that have been read.
    pub out: Outgoing,
    /// It is among those that have something to send.
    pub queued: bool,

    /// The receive queue, oldest first.
    pub receives: VecDeque<Posted>,
    /// The packet that is awaited.
    pub expected: u32,
    pub held: VecDeque<Held>,
}

impl Vi {
    /// As after reset, but for its place among those that may send.
    pub fn idle(queued: bool) -> Vi {
        Vi { queued, ..Vi::default() }
    }

    /// There is something to send, and it may be sent.
    pub fn may_send(&self, window: u32) -> bool {
        let unread = self.work.back().is_some_and(|work| work.plan.is_none());
        self.state == State::Connected && self.out.has_room(window) && (self.out.has_more() || unread)
    }

    /// The descriptor of packet `sequence`, if it has been read and the packet is not acknowledged yet.
    pub fn plan_of(&self, sequence: u32) -> Option<(Plan, MessageKey)> {
        self.work
            .iter()
            .filter_map(|work| work.plan.map(|plan| (plan, work.message)))
            .find(|(plan, _)| sequence.wrapping_sub(plan.first) < plan.packets)
    }

    /// The oldest descriptor that has not been read.
    pub fn unread(&mut self) -> Option<&mut Work> {
        self.work.iter_mut().find(|work| work.plan.is_none())
    }

    /// That one has been read, and asks for so many packets.
    pub fn plan(&mut self, descriptor: ViaDescriptor, physical: u64, packets: u32) {
        let first = self.out.add(packets);
        let work = self.unread().expect("a descriptor has been read");
        work.plan = Some(Plan { descriptor, physical, first, packets });
    }

    /// Whether packet `sequence` should ask for a reply.
    pub fn should_ask(plan: &Plan, sequence: u32, window: u32) -> bool {
        should_ask(sequence.wrapping_sub(plan.first), plan.packets, sequence, window)
    }

    /// All packets before `awaited` have come; `awaited` itself was refused, or not. Descriptors that are complete so
    /// go to `complete`.
    pub fn acknowledged(&mut self, awaited: u32, refused: bool, complete: &mut Vec<Plan>) -> Effect {
        let effect = self.out.acknowledged(awaited, refused);
        while let Some(plan) = self.work.front().and_then(|work| work.plan)
            && !before(self.out.base, plan.first.wrapping_add(plan.packets))
        {
            complete.push(plan);
            self.work.pop_front();
        }
        effect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connected VI with descriptors of so many packets each, all read.
    fn vi(packets: &[u32]) -> Vi {
        let mut vi = Vi { state: State::Connected, ..Vi::default() };
        for (i, packets) in (0..).zip(packets) {
            let posted = Posted { address: 64 * i, handle: 0 };
            vi.work.push_back(Work { posted, message: None, plan: None });
            vi.plan(ViaDescriptor::default(), posted.address, *packets);
        }
        vi
    }

    fn send_all(vi: &mut Vi, window: u32) -> Vec<(u32, bool)> {
        let mut sent = vec![];
        while vi.may_send(window) {
            let sequence = vi.out.next;
            sent.push((sequence, vi.out.sends(sequence)));
        }
        sent
    }

    #[test]
    fn a_window_of_packets_is_under_way() {
        let mut vi = vi(&[1, 3, 1]);
        let mut complete = vec![];
        assert_eq!(send_all(&mut vi, 3), [(0, false), (1, false), (2, false)]);
        assert_eq!(vi.acknowledged(2, false, &mut complete), Effect::GoOn);
        assert_eq!(complete.iter().map(|plan| plan.physical).collect::<Vec<_>>(), [0]);
        assert_eq!(send_all(&mut vi, 3), [(3, false), (4, false)]);
        assert_eq!(vi.acknowledged(5, false, &mut complete), Effect::GoOn);
        assert_eq!((complete.len(), vi.work.len()), (3, 0));
        assert!(!vi.may_send(3));
    }

    #[test]
    fn what_is_refused_is_sent_again_with_all_that_follows() {
        let mut vi = vi(&[1, 1, 1, 1]);
        let mut complete = vec![];
        send_all(&mut vi, 8);
        assert_eq!(vi.acknowledged(1, true, &mut complete), Effect::GoBack);
        assert_eq!((complete.len(), vi.may_send(8)), (1, false));
        assert_eq!(vi.acknowledged(1, true, &mut complete), Effect::Nothing, "it waits already");
        vi.out.waits = false;
        assert_eq!(send_all(&mut vi, 8), [(1, true), (2, true), (3, true)]);
        assert_eq!(vi.acknowledged(0, true, &mut complete), Effect::Nothing, "an old reply");
        assert_eq!(vi.acknowledged(5, false, &mut complete), Effect::Nothing, "of what was not sent");
        assert_eq!(vi.acknowledged(4, false, &mut complete), Effect::GoOn);
        assert_eq!((complete.len(), vi.out.refusals), (4, 0));
    }

    #[test]
    fn some_packet_of_every_window_asks_for_a_reply() {
        for window in 1..20 {
            let plan = vi(&[1000]).plan_of(0).expect("it has been read").0;
            let asks: Vec<bool> = (0..1000).map(|n| Vi::should_ask(&plan, n, window)).collect();
            assert!(asks.windows(window as usize).all(|some| some.contains(&true)), "{window}");
            assert!(asks[999]);
        }
    }
}

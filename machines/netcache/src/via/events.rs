//! What the NIC waits for: events of its own, and bus transactions by who asked for them.

use chasqui_engine::Payload;

/// The NIC's own events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViaEvent {
    /// The link is free for a packet.
    Start,
    /// Control of a descriptor, or of a packet on its way out, is over.
    Prepared,
    /// A packet has left the NIC's memory for the link.
    Crossed,
    /// A packet's tail has landed.
    Landed,
    /// Control of a packet that has come, or that has waited, is over.
    Received,
    /// Control of a completion is over.
    Completed,
    /// The VI may send again what was refused.
    Retry(u32),
}

impl From<ViaEvent> for Payload {
    fn from(event: ViaEvent) -> Payload {
        match event {
            ViaEvent::Start => [0, 0],
            ViaEvent::Prepared => [1, 0],
            ViaEvent::Crossed => [2, 0],
            ViaEvent::Landed => [3, 0],
            ViaEvent::Received => [4, 0],
            ViaEvent::Completed => [5, 0],
            ViaEvent::Retry(vi) => [6, vi.into()],
        }
    }
}

impl From<Payload> for ViaEvent {
    fn from([a, b]: Payload) -> ViaEvent {
        match a {
            0 => ViaEvent::Start,
            1 => ViaEvent::Prepared,
            2 => ViaEvent::Crossed,
            3 => ViaEvent::Landed,
            4 => ViaEvent::Received,
            5 => ViaEvent::Completed,
            _ => ViaEvent::Retry(b as u32),
        }
    }
}

/// Who asked for a bus transaction: the low bits of its tag. The others are the asker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A descriptor, or what is to be sent, is read.
    Transmit,
    /// A receive descriptor is read.
    Fetch,
    /// What has come is written.
    Receive,
    /// A completion is written.
    Complete,
}

const OWNERS: [Owner; 4] = [Owner::Transmit, Owner::Fetch, Owner::Receive, Owner::Complete];

impl Owner {
    pub fn tag(self, number: usize) -> u64 {
        (number as u64) << 2 | self as u64
    }

    pub fn of(tag: u64) -> (Owner, usize) {
        (OWNERS[(tag & 3) as usize], (tag >> 2) as usize)
    }
}

//! What the NIC waits for: events of its own, and bus transactions by who asked for them.

use chasqui_engine::Payload;

/// The NIC's own events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NicEvent {
    /// The link is free for a packet.
    Start,
    /// Control of the next step of a message on its way out is over.
    Prepared,
    /// A packet has left the NIC's memory for the link.
    Crossed,
    /// A packet's tail has landed.
    Landed,
    /// Control of a packet that has come is over.
    Received,
    /// The pages that it goes to are there.
    PagesIn,
    /// Control of a delivery is over, or its pages are there.
    Delivering,
}

const EVENTS: [NicEvent; 7] = [
    NicEvent::Start,
    NicEvent::Prepared,
    NicEvent::Crossed,
    NicEvent::Landed,
    NicEvent::Received,
    NicEvent::PagesIn,
    NicEvent::Delivering,
];

impl From<NicEvent> for Payload {
    fn from(event: NicEvent) -> Payload {
        [event as u64, 0]
    }
}

impl From<Payload> for NicEvent {
    fn from([a, _]: Payload) -> NicEvent {
        EVENTS[a as usize]
    }
}

/// Who asked for a bus transaction: the low bits of its tag. The others are the asker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// What is to be sent is read.
    Transmit,
    /// What has come is written.
    Receive,
    /// What is delivered is written.
    Deliver,
}

const OWNERS: [Owner; 3] = [Owner::Transmit, Owner::Receive, Owner::Deliver];

impl Owner {
    pub fn tag(self, number: usize) -> u64 {
        (number as u64) << 2 | self as u64
    }

    pub fn of(tag: u64) -> (Owner, usize) {
        (OWNERS[(tag & 3) as usize], (tag >> 2) as usize)
    }
}

//! What the controller waits for: events of its own, and bus transactions by what they are for.

use chasqui_engine::Payload;

/// The controller's own events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EthernetEvent {
    /// The link is free for a frame.
    Start,
    /// Control of a frame on its way out is over.
    Prepared,
    /// Control of a frame that has come is over.
    Received,
    /// Since the latest interrupt the least time has passed.
    Moderated,
}

const EVENTS: [EthernetEvent; 4] =
    [EthernetEvent::Start, EthernetEvent::Prepared, EthernetEvent::Received, EthernetEvent::Moderated];

impl From<EthernetEvent> for Payload {
    fn from(event: EthernetEvent) -> Payload {
        [event as u64, 0]
    }
}

impl From<Payload> for EthernetEvent {
    fn from([a, _]: Payload) -> EthernetEvent {
        EVENTS[a as usize]
    }
}

/// What a bus transaction is for: the low bits of its tag. The others are a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Transmit descriptors are read.
    TransmitFetch,
    /// Part `number` of a frame is read.
    TransmitData,
    /// The transmit descriptor `number` is written back.
    TransmitBack,
    /// Receive descriptors are read.
    ReceiveFetch,
    /// Part `number` of a frame is written.
    ReceiveData,
    /// A receive descriptor is written back.
    ReceiveBack,
}

const PURPOSES: [Purpose; 6] = [
    Purpose::TransmitFetch,
    Purpose::TransmitData,
    Purpose::TransmitBack,
    Purpose::ReceiveFetch,
    Purpose::ReceiveData,
    Purpose::ReceiveBack,
];

impl Purpose {
    pub fn tag(self, number: usize) -> u64 {
        (number as u64) << 3 | self as u64
    }

    pub fn of(tag: u64) -> (Purpose, usize) {
        (PURPOSES[(tag & 7) as usize], (tag >> 3) as usize)
    }
}

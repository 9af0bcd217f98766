//! What an NES waits for: events of its own, and bus transactions by who asked for them.

use chasqui_engine::Payload;

/// The NES's own events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NesEvent {
    /// A message has crossed the I-bus into the TxU.
    Transmitted,
    /// The TxU may start a packet.
    Start,
    /// A packet's tail has landed.
    Landed,
    /// A packet has crossed the I-bus from the RxU.
    Received,
    /// The DMA engine has prepared a request, or its pages.
    Prepared,
    /// A piece of a block has crossed the I-bus.
    Crossed,
    /// The pages that a received DMA packet goes to are there.
    PagesIn,
    /// An Express message has crossed the I-bus into the TxU.
    ExpressTransmitted,
    /// An access of the sP to the NES.
    Service,
    /// What a command of the sP moves has crossed the I-bus.
    Commanded,
    /// A mark has crossed the I-bus into the TxU.
    Marked,
}

const EVENTS: [NesEvent; 11] = [
    NesEvent::Transmitted,
    NesEvent::Start,
    NesEvent::Landed,
    NesEvent::Received,
    NesEvent::Prepared,
    NesEvent::Crossed,
    NesEvent::PagesIn,
    NesEvent::ExpressTransmitted,
    NesEvent::Service,
    NesEvent::Commanded,
    NesEvent::Marked,
];

impl From<NesEvent> for Payload {
    fn from(event: NesEvent) -> Payload {
        [event as u64, 0]
    }
}

impl From<Payload> for NesEvent {
    fn from([a, _]: Payload) -> NesEvent {
        EVENTS[a as usize]
    }
}

/// Who asked for a bus transaction: the high bits of its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Lines of a slot to send (Reclaim).
    Transmit,
    /// Old lines of receive slots and tagged data (Reclaim).
    Reclaim,
    /// Lines that the DMA reads.
    DmaRead,
    /// Lines that a received DMA packet writes.
    DmaWrite,
    /// Lines to be tagged on (Reclaim).
    TagOn,
    /// Lines that a command of the sP moves.
    Command,
}

const OWNERS: [Owner; 6] =
    [Owner::Transmit, Owner::Reclaim, Owner::DmaRead, Owner::DmaWrite, Owner::TagOn, Owner::Command];

impl Owner {
    pub fn tag(self) -> u64 {
        self as u64
    }

    pub fn of(tag: u64) -> Owner {
        OWNERS[tag as usize]
    }
}

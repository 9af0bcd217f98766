//! The card's events.

use chasqui_ni::IoEvent;

chasqui_ni::pipeline! {
    /// The card's own events, and what each may lead to.
    pub(super) enum BoardEvent {
        /// The link is free.
        Start => [Send, Asked],
        /// The address of a tenure of the I/O bus is over.
        Granted => [Moved, Limit, Asked, Bus],
        /// What was on the I/O bus, or link, has crossed it.
        Moved => [Moved, Limit, Granted, Asked, Processor, Bus, Seen],
        /// Nothing has moved on the I/O bus for as long as it waits.
        Limit => [Granted],
        /// Not an event: what is asked for of the card's memory competes for accesses from then on.
        Asked => [Local],
        /// An access to the card's memory is over.
        Local => [Send, Release, Asked, Granted, Moved, Limit, Processor, Line, Unserviced],
        /// The network processor goes on, and the card's memory with it: it is found which accesses are over, or when.
        Processor => [Local, Send, Release, Asked, Granted, Moved, Limit, Processor, Looked, Translated, Line],
        /// The tail of a flit is here.
        Landed => [Asked, Unserviced],
        /// A message may have waited on the wire for as long as the card stands.
        Unserviced => [Unserviced],
        /// The list of tags has done something.
        Looked => [Looked, Processor],
        /// The pages of a receive's buffer are known.
        Translated => [Asked, Granted, Moved, Processor],
        /// The interrupt line is asserted, or not any more.
        Line => [Seen],
    }
    access => [Granted, Moved];
    bus => [Moved, Limit, Asked, Granted, Processor, Bus, Seen];
    packet => [Landed];
    credit => [Send, Asked];
}

impl From<IoEvent> for BoardEvent {
    fn from(event: IoEvent) -> BoardEvent {
        match event {
            IoEvent::Granted => BoardEvent::Granted,
            IoEvent::Moved => BoardEvent::Moved,
            IoEvent::Limit => BoardEvent::Limit,
        }
    }
}

chasqui_ni::units! {
    /// Who asks for bus transactions.
    pub(super) enum Unit {
        /// The bridge, for the card's DMA.
        Card,
    }
}

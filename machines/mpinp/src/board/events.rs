//! The card's events.

chasqui_ni::pipeline! {
    /// The card's own events, and what each may lead to.
    pub(super) enum BoardEvent {
        /// The link is free.
        Start => [Send, Local],
        /// The address of a tenure of the I/O bus is over.
        Granted => [Moved, Local, Bus],
        /// What was on the I/O bus has crossed it.
        Moved => [Moved, Granted, Local, Processor, Bus, Seen],
        /// An access to the card's memory is over.
        Local => [Send, Release, Local, Granted, Moved, Processor],
        /// The network processor goes on.
        Processor => [Local, Granted, Moved, Processor],
        /// The tail of a flit is here.
        Landed => [Local],
    }
    access => [Granted];
    bus => [Moved, Local, Granted, Processor, Bus];
    packet => [Landed];
    credit => [Send, Local];
}

chasqui_ni::units! {
    /// Who asks for bus transactions.
    pub(super) enum Unit {
        /// The bridge, for the card's DMA.
        Card,
    }
}

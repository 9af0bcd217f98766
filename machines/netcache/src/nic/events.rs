//! What the NIC waits for: events of its own, and bus transactions by who requested them.

chasqui_ni::pipeline! {
    /// The NIC's own events, and what each may lead to. Where units look for work, what waits for the link may leave, the
    /// next message's control begins, and what was received goes on.
    pub(super) enum NicEvent {
        /// The link is free for a packet.
        Start => [Send, Release, Prepared, Received],
        /// Control of the next step of a message on its way out is over.
        Prepared => [Bus, Seen, Send, Release, Prepared, SourceIn, Crossed, Received],
        /// The pages that it is read from are there.
        SourceIn => [Bus, Seen, Send, Release, Prepared, Crossed, Received],
        /// A packet has left the NIC's memory for the link.
        Crossed => [Seen, Bus, Send, Release, Prepared, Received],
        /// A packet's tail has landed.
        Landed => [Received],
        /// Control of a packet that has come is over.
        Received => [Bus, Send, Release, Prepared, Received, PagesIn],
        /// The pages that it goes to are there.
        PagesIn => [Bus, Send, Release, Prepared, Received, PagesIn],
        /// Control of a delivery is over, or its pages are there.
        Delivering => [Bus, Seen, Send, Release, Prepared, Received, Delivering],
    }
    access => [Bus, Send, Release, Prepared, Received, PagesIn, Delivering];
    bus => [Bus, Send, Release, Prepared, Crossed, Received, PagesIn, Delivering];
    packet => [Landed];
    credit => [Send, Prepared];
}

chasqui_ni::units! {
    /// Who requested a bus transaction: the low bits of its tag. The others are the requester's.
    pub(super) enum Owner {
        /// What is to be sent is read.
        Transmit,
        /// What has come is written.
        Receive,
        /// What is delivered is written.
        Deliver,
    }
}

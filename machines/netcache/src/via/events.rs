//! What the NIC waits for: events of its own, and bus transactions by who requested them.

chasqui_ni::pipeline! {
    /// The NIC's own events, and what each may lead to. Where units look for work, what waits for the link may leave, and
    /// each unit's next step begins.
    pub(super) enum ViaEvent {
        /// The link is free for a packet.
        Start => [Send, Release, Prepared, Received, Completed],
        /// Control of a descriptor, or of a packet on its way out, is over.
        Prepared => [Bus, Seen, Send, Release, Prepared, Looked, Crossed, Received, Completed],
        /// The addresses of a packet's data have been looked up.
        Looked => [Bus, Seen, Send, Release, Prepared, Looked, Crossed, Received, Completed],
        /// A packet has left the NIC's memory for the link.
        Crossed => [Send, Release, Prepared, Received, Completed],
        /// A packet's tail has landed.
        Landed => [Received],
        /// Control of a packet that has come, or that has waited, is over.
        Received => [Bus, Seen, Send, Release, Prepared, Received, Completed, Retry],
        /// Control of a completion is over.
        Completed => [Bus, Seen, Send, Release, Prepared, Received, Completed],
        /// The VI may send again what was refused.
        Retry => [Send, Release, Prepared, Received, Completed],
    }
    access => [Bus, Send, Release, Prepared, Received, Completed];
    bus => [Bus, Send, Release, Prepared, Looked, Crossed, Received, Completed, Retry];
    packet => [Landed];
    credit => [Send, Prepared];
}

chasqui_ni::units! {
    /// Who requested a bus transaction: the low bits of its tag. The others are the requester's.
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
}

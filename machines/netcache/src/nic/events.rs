//! What the NIC waits for: events of its own, and bus transactions by who asked for them.

chasqui_ni::events! {
    /// The NIC's own events.
    pub(super) enum NicEvent {
        /// The link is free for a packet.
        Start: unseen,
        /// Control of the next step of a message on its way out is over.
        Prepared,
        /// A packet has left the NIC's memory for the link.
        Crossed,
        /// A packet's tail has landed.
        Landed: unseen,
        /// Control of a packet that has come is over.
        Received,
        /// The pages that it goes to are there.
        PagesIn,
        /// Control of a delivery is over, or its pages are there.
        Delivering,
    }
}

chasqui_ni::units! {
    /// Who asked for a bus transaction: the low bits of its tag. The others are the asker's.
    pub(super) enum Owner {
        /// What is to be sent is read.
        Transmit,
        /// What has come is written.
        Receive,
        /// What is delivered is written.
        Deliver,
    }
}

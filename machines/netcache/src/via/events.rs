//! What the NIC waits for: events of its own, and bus transactions by who asked for them.

chasqui_ni::events! {
    /// The NIC's own events.
    pub(super) enum ViaEvent {
        /// The link is free for a packet.
        Start: unseen,
        /// Control of a descriptor, or of a packet on its way out, is over.
        Prepared,
        /// A packet has left the NIC's memory for the link.
        Crossed: unseen,
        /// A packet's tail has landed.
        Landed: unseen,
        /// Control of a packet that has come, or that has waited, is over.
        Received,
        /// Control of a completion is over.
        Completed,
        /// The VI may send again what was refused.
        Retry: unseen,
    }
}

chasqui_ni::units! {
    /// Who asked for a bus transaction: the low bits of its tag. The others are the asker's.
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

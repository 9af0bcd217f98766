//! What the controller waits for: events of its own, and bus transactions by what they are for.

chasqui_ni::events! {
    /// The controller's own events.
    pub(super) enum EthernetEvent {
        /// The link is free for a frame.
        Start: unseen,
        /// Control of a frame on its way out is over.
        Prepared,
        /// Control of a frame that has come is over.
        Received,
        /// Since the latest interrupt the least time has passed.
        Moderated,
    }
}

chasqui_ni::units! {
    /// What a bus transaction is for: the low bits of its tag. The others are a number.
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
}

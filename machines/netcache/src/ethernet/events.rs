//! What the controller waits for: events of its own, and bus transactions by what they are for.

chasqui_ni::pipeline! {
    /// The controller's own events, and what each may lead to. Where units look for work, what waits for the link may leave,
    /// and memory is read and written.
    pub(super) enum EthernetEvent {
        /// The link is free for a frame.
        Start => [Send, Prepared],
        /// Control of a frame on its way out is over.
        Prepared => [Bus, Seen, Send, Prepared],
        /// Control of a frame that has come is over.
        Received => [Bus, Seen, Send, Release, Prepared, Moderated],
        /// Since the latest interrupt the least time has passed.
        Moderated => [Bus, Seen, Send, Prepared],
    }
    access => [Bus, Send, Prepared, Moderated];
    bus => [Bus, Send, Prepared, Moderated];
    packet => [Received];
    credit => [Send, Prepared];
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

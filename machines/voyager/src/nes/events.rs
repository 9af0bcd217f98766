//! What an NES waits for: events of its own, and bus transactions by who requested them.

chasqui_ni::events! {
    /// The NES's own events.
    pub(super) enum NesEvent {
        /// A message has crossed the I-bus into the TxU.
        Transmitted,
        /// The TxU may start a packet.
        Start,
        /// A packet's tail has landed.
        Landed: unseen,
        /// A packet has crossed the I-bus from the RxU.
        Received,
        /// The DMA engine has prepared a request.
        Prepared,
        /// A page of a block that is to be sent has been brought in.
        PagesIn,
        /// A piece of a block has crossed the I-bus.
        Crossed,
        /// The DMA engine sees that a credit has made room in the TxU.
        Room,
        /// Pieces of blocks that wait aside may go on: their pages are there, or there may be room for a notice.
        Aside,
        /// An Express message has crossed the I-bus into the TxU.
        ExpressTransmitted,
        /// An access of the sP to the NES.
        Service,
        /// What a command of the sP moves has crossed the I-bus.
        Commanded,
        /// What a command of the sP fetches: control is over, or it has crossed the I-bus.
        Fetched,
        /// What another site is told has crossed the I-bus into the TxU.
        Told,
    }
}

chasqui_ni::units! {
    /// Who requested a bus transaction.
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
        /// Lines that a command of the sP fetches from a process's memory.
        Fetch,
    }
}

//! What VIA NICs say to each other.

chasqui_abi::guest_constants! {
    /// Kind of a packet: a message for a receive descriptor.
    pub const SEND: u16 = 1;
    /// Kind: a piece of an RDMA write.
    pub const WRITE: u16 = 2;
    /// Kind: a reply.
    pub const REPLY: u16 = 3;

    /// Flag: the sender wants a reply.
    pub const ASKS: u16 = 1;
    /// Flag: there are immediate data.
    pub const HAS_IMMEDIATE: u16 = 2;

    /// Reply: all packets before the one that is awaited have come.
    pub const ACCEPTED: u32 = 0;
    /// Reply: the same, and the one that is awaited came and found no descriptor.
    pub const NOT_READY: u32 = 1;
}

chasqui_abi::guest_struct! {
    /// What a packet begins with; a message's data, or a piece of a block, follow.
    pub struct ViaHeader {
        /// `SEND`, `WRITE` or `REPLY`.
        pub kind: u16,
        /// `ASKS`, `HAS_IMMEDIATE`.
        pub flags: u16,
        /// The VI that it is for.
        pub to: u32,
        /// The VI that it is from.
        pub from: u32,
        /// Its number among the packets of the connection; of a reply the number of the packet that is awaited.
        pub sequence: u32,
        /// Immediate data; of a reply `ACCEPTED`, `NOT_READY` or the status of an error.
        pub value: u32,
        /// Memory handle of a piece.
        pub handle: u32,
        /// Where a piece goes; of a message in several frames the offset of the frame's data.
        pub address: u64,
    }
}

chasqui_abi::guest_struct! {
    /// What a packet begins with in an Ethernet frame, which may be padded, or have a part of a message.
    pub struct ViaFrame {
        /// The packet's.
        pub header: ViaHeader,
        /// Data of this frame [bytes].
        pub bytes: u32,
        /// Data of the message in frames behind it [bytes].
        pub left: u32,
    }
}

/// Bytes of a header.
pub(super) const HEADER: usize = size_of::<ViaHeader>();

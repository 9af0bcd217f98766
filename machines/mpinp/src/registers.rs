//! What the host's software and the card agree on.

use chasqui_abi::Envelope;
use chasqui_abi::header::{DeviceHeader, GuestStruct, INCLUDE_ABI, defines};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 6;
    /// Number by which MPI_Init picks the device of a card with a list of tags.
    pub const TAGS_DEVICE: u64 = 8;

    /// Region: the process's window of the card's memory, uncached.
    pub const REGION_WINDOW: u64 = 0;
    /// Region: the process's memory on the host that the card writes.
    pub const REGION_HOST: u64 = 1;

    /// Offset in the window of its doorbell: a store to it, of whatever, is an event of the network processor's.
    pub const DOORBELL: u64 = 4088;

    /// Setting: bytes of the window.
    pub const SETTING_WINDOW_BYTES: u64 = 0;
    /// Setting: bytes of the memory on the host.
    pub const SETTING_HOST_BYTES: u64 = 1;
    /// Setting: messages that each process may have under way to each other one, until that says that it has done with them.
    pub const SETTING_CREDIT: u64 = 2;

    /// Setting: longest fragment of a long message [bytes].
    pub const SETTING_FRAGMENT: u64 = 3;
    /// Setting: what the card could move in the time that it takes for a fragment besides [bytes].
    pub const SETTING_OVERHEAD: u64 = 8;
    /// Least length of a fragment that is not the rest of a page or of a message [bytes].
    pub const FRAGMENT_MIN: u64 = 512;
    /// Setting: entries of the list of tags that the process may have.
    pub const SETTING_TAGS: u64 = 13;

    /// Bytes from one slot of a window to the next, and of the rings on the host. The first page of both is for control.
    pub const SLOT_BYTES: u64 = 1024;
    /// Longest data of a message in a slot [bytes].
    pub const SLOT_DATA_BYTES: u64 = 960;
    /// Offset in the memory on the host of the count of slots of the window that have been sent, 32 bits. What comes has a
    /// count, too; the later is right.
    pub const HOST_SENT: u64 = 0;

    /// Of `counts` of a slot's head: the data are MpinpPost, a receive of a long message of the other process's, which the card is to
    /// know. They go to that process as they are.
    pub const SLOT_POSTS: u64 = 16;
    /// ... The data are MpinpLong, a long message's, in pages of the process. They go to the receive of it that the other process has
    /// posted, in fragments, and then the envelope, without data, to its ring.
    pub const SLOT_PUTS: u64 = 32;
    /// ... Of SLOT_PUTS: more of the message follows. Else the data are the next ones of a long message's that goes in slots, or, with an
    /// envelope of CLEAR_TO_SEND, MpinpPost or its number: about a receive of which the other process knows already.
    pub const SLOT_PART: u64 = 64;
    /// Of `counts` of a worm's head: it is a fragment of a long message.
    pub const SLOT_FRAGMENT: u64 = 128;
    /// ... Place of the name of the receive to which it goes.
    pub const SLOT_NAME_SHIFT: u64 = 16;
    /// Long messages of a process that may be sent at a time, and as many that may be received. Names of their pages are from 0 on,
    /// and from here on.
    pub const LONG: u64 = 16;
    /// Offset in the memory on the host of a bit for each long message that is sent, by name: it changes when the data have left.
    pub const HOST_PUTS: u64 = 8;

    /// Offset in the window of the count of requests to the list of tags, 32 bits, a part of the doorbell: they are a ring at the
    /// window's begin.
    pub const TAG_DOORBELL: u64 = DOORBELL + 4;
    /// Requests that it holds.
    pub const TAG_REQUESTS: u64 = 64;
    /// Offset in the memory on the host of the count of requests that have been taken, 32 bits.
    pub const HOST_TAGS_TAKEN: u64 = HOST_SENT + 4;
    /// Kind of a request: append an entry.
    pub const TAG_APPEND: u64 = 1;
    /// Kind of a request: remove an entry; the answer is a slot of the ring on the host.
    pub const TAG_REMOVE: u64 = 2;
    /// With a list of tags, of `counts` of what has come: it is a message.
    pub const ARRIVED_MESSAGE: u64 = 1;
    /// ... Its data are where its receive wants them.
    pub const ARRIVED_DELIVERED: u64 = 2;
    /// ... The answer to a removal; it has no message.
    pub const ARRIVED_REMOVED: u64 = 4;
    /// ... The list was asked for it. If it names no entry (`to`), it is unexpected.
    pub const ARRIVED_LOOKED: u64 = 8;
    /// ... Place of the count of requests that had been taken before, 24 bits.
    pub const ARRIVED_REQUESTS_SHIFT: u64 = 8;
}

chasqui_abi::guest_struct! {
    /// A request to the list of tags.
    pub struct MpinpTag {
        /// What is matched (chasqui_match_key).
        pub key: u64,
        /// Virtual address of the receive's buffer.
        pub address: u64,
        /// Its length [bytes].
        pub bytes: u32,
        /// Unexpected messages that the process has dealt with.
        pub unexpected: u32,
        /// Number of the entry, the process's choice.
        pub entry: u16,
        /// TAG_APPEND or TAG_REMOVE.
        pub kind: u16,
        /// Not used.
        pub reserved: u32,
    }
}

chasqui_abi::guest_struct! {
    /// What a slot of a window begins with; data and envelope follow. The network processor says for the process which node
    /// and process it is, and checks the rest: what comes can be trusted.
    pub struct MpinpHead {
        /// The other node: to which it goes, or from which it comes.
        pub node: u16,
        /// The other process, of its node.
        pub process: u16,
        /// Length of the data [bytes]; what follows them is aligned to 8 bytes.
        pub bytes: u16,
        /// The process of this node to which it comes; on the host, of the entry of the list of tags that it met, the number and 1.
        pub to: u16,
        /// Messages of the other process that the sender has done with, of all.
        pub credit: u32,
        /// 1: a message, with SLOT_ bits; 0: credit alone, half of it at least.
        pub counts: u32,
    }
}

chasqui_abi::guest_struct! {
    /// Data of a long message, or room for them: in pages that the kernel has pinned.
    pub struct MpinpLong {
        /// Number of the first entry of the page table.
        pub entry: u32,
        /// Offset of the data in the first page.
        pub offset: u32,
        /// Their length [bytes].
        pub bytes: u32,
        /// Name of the pages.
        pub name: u16,
        /// Name of those to which they go.
        pub to: u16,
        /// Length of a fragment [bytes].
        pub fragment: u16,
        /// 1: all lies in one page, of which the kernel has told the card by `name`.
        pub is_in_page: u16,
        /// Not used.
        pub reserved: u32,
    }
}

chasqui_abi::guest_struct! {
    /// A receive of a long message.
    pub struct MpinpPost {
        /// Which of all from this process to the other one it is, and in the low byte the name of its pages and 1; 0: none yet; 255: data
        /// come in slots.
        pub number: u64,
        /// Room for the data.
        pub room: MpinpLong,
    }
}

chasqui_abi::guest_struct! {
    /// What a slot of the ring on the host ends with, behind the data.
    pub struct MpinpEnd {
        /// The envelope.
        pub envelope: Envelope,
        /// What the network processor says of it.
        pub head: MpinpHead,
        /// Number of the message among all that have come to the process, from 1 on.
        pub number: u32,
        /// Slots of the process's window that have been sent until then.
        pub sent: u32,
    }
}

const _: () = assert!(size_of::<MpinpEnd>() + SLOT_DATA_BYTES as usize == SLOT_BYTES as usize);
const _: () =
    assert!(size_of::<MpinpHead>() + size_of::<Envelope>() + SLOT_DATA_BYTES as usize <= SLOT_BYTES as usize);

/// `registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("MPINP", "machines/mpinp/src/registers.rs", body);

fn body() -> String {
    [
        INCLUDE_ABI.into(),
        defines("MPINP_", CONSTANTS),
        MpinpHead::definition(),
        MpinpEnd::definition(),
        MpinpLong::definition(),
        MpinpPost::definition(),
        MpinpTag::definition(),
        crate::requests::text(),
    ]
    .join("\n")
}

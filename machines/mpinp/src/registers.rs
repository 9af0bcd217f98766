//! What the host's software and the card agree on.

use chasqui_abi::Envelope;
use chasqui_abi::header::{DeviceHeader, GuestStruct, INCLUDE_ABI, defines};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 6;

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

    /// Bytes from one slot of a window to the next, and of the rings on the host. The first page of both is for control.
    pub const SLOT_BYTES: u64 = 1024;
    /// Longest data of a message in a slot [bytes].
    pub const SLOT_DATA_BYTES: u64 = 952;
    /// Offset in the memory on the host of the count of slots of the window that have been sent.
    pub const HOST_SENT: u64 = 0;
}

chasqui_abi::guest_struct! {
    /// What a slot of a window begins with: for the network processor of this node.
    pub struct MpinpSlot {
        /// Node that the message goes to.
        pub node: u32,
        /// Bytes that follow, those of the message with its end.
        pub bytes: u32,
    }
}

chasqui_abi::guest_struct! {
    /// What a message ends with, behind its data.
    pub struct MpinpEnd {
        /// The envelope.
        pub envelope: Envelope,
        /// Length of the data [bytes].
        pub bytes: u32,
        /// Process, of its node, that the message goes to.
        pub process: u16,
        /// Rank that sends it.
        pub source: u16,
        /// Messages of the receiver that the sender has done with, of all.
        pub credit: u32,
        /// 1: it brings an envelope; 0: credit alone.
        pub counts: u32,
        /// Number of the message among all that have come to the process, from 1 on: the network processor's.
        pub number: u64,
    }
}

const _: () =
    assert!(size_of::<MpinpSlot>() + size_of::<MpinpEnd>() + SLOT_DATA_BYTES as usize == SLOT_BYTES as usize);

/// `registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("MPINP", "machines/mpinp/src/registers.rs", body);

fn body() -> String {
    [INCLUDE_ABI.into(), defines("MPINP_", CONSTANTS), MpinpSlot::definition(), MpinpEnd::definition()]
        .join("\n")
}

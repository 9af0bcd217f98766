//! What the NES and the software that drives it agree on: queues, their pointers, slots and requests.

use chasqui_abi::header::{GuestStruct, defines, file};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 2;

    /// Region: uncached pointers of the process's Basic queue pair.
    pub const REGION_POINTERS: u64 = 0;
    /// Region: the Basic transmit ring, cacheable.
    pub const REGION_TRANSMIT: u64 = 1;
    /// Region: the Basic receive ring, cacheable.
    pub const REGION_RECEIVE: u64 = 2;
    /// Region: the ring of DMA requests, cacheable.
    pub const REGION_DMA: u64 = 3;

    /// Pointer, stored by the processor: slots composed in the transmit ring.
    pub const TRANSMIT_PRODUCER: u64 = 0x00;
    /// Pointer, loaded: slots of the transmit ring that the NES is done with.
    pub const TRANSMIT_CONSUMER: u64 = 0x08;
    /// Pointer, loaded: slots that the NES has filled in the receive ring.
    pub const RECEIVE_PRODUCER: u64 = 0x10;
    /// Pointer, stored: slots of the receive ring that the processor is done with.
    pub const RECEIVE_CONSUMER: u64 = 0x18;
    /// Pointer, stored: requests composed in the DMA ring.
    pub const DMA_PRODUCER: u64 = 0x20;
    /// Pointer, loaded: requests whose data have been read.
    pub const DMA_CONSUMER: u64 = 0x28;

    /// Bytes of a slot: header and data, three lines.
    pub const SLOT_BYTES: u64 = 96;
    /// Bytes of data in a slot, at most.
    pub const SLOT_DATA_BYTES: u64 = 88;
    /// Slot flag: the data begin with an MPI envelope, or its beginning.
    pub const FLAG_ENVELOPE: u64 = 1;
    /// Slot flag: the envelope is whole; else its `sender` and `receiver` are zero and left out.
    pub const FLAG_WHOLE: u64 = 2;
    /// Slot flag: further data of the message that the last slot from this source began.
    pub const FLAG_MORE: u64 = 4;
    /// Slot flag: such slots follow, until the envelope's `bytes` are complete.
    pub const FLAG_BEGINS: u64 = 8;

    /// Setting: 0 flush, 1 reclaim.
    pub const SETTING_VARIANT: u64 = 0;
    /// Setting: slots of each Basic ring, a power of two.
    pub const SETTING_SLOTS: u64 = 1;
    /// Setting: requests of the DMA ring, a power of two.
    pub const SETTING_REQUESTS: u64 = 2;
    /// Setting: longest MPI message [bytes] sent through Basic; longer ones by rendezvous and DMA.
    pub const SETTING_EAGER_BYTES: u64 = 3;
}

chasqui_abi::guest_struct! {
    /// Header of a Basic slot; the data follow.
    pub struct VoyagerSlot {
        /// Logical destination; on receipt the source id.
        pub node: u16,
        /// Bytes of data that follow.
        pub bytes: u16,
        /// Flags.
        pub flags: u32,
    }
}

chasqui_abi::guest_struct! {
    /// A DMA request, in a slot of its own of two lines. The NES moves the block and then delivers
    /// `notice` to the destination's receive ring, behind the data.
    pub struct VoyagerDma {
        /// Logical destination.
        pub node: u16,
        /// Zero.
        pub reserved: u16,
        /// Flags of the notice.
        pub flags: u32,
        /// Virtual address here.
        pub from: u64,
        /// Virtual address there.
        pub to: u64,
        /// Length [bytes], at most 2^48.
        pub bytes: u64,
        /// Data of the notice: an envelope without its two addresses, which are added by `sender` and `receiver`.
        pub notice: [u64; 3],
        /// Of the notice.
        pub receiver: u64,
    }
}

/// Text of `registers.h`.
pub fn text() -> String {
    let body = [defines("VOYAGER_", CONSTANTS), VoyagerSlot::definition(), VoyagerDma::definition()];
    file("CHASQUI_VOYAGER_REGISTERS_H", "machines/voyager/src/registers.rs", &body.join("\n"))
}

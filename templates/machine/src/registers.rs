//! What the network interface and its MPI device agree on: registers, slots.

use chasqui_abi::Envelope;
use chasqui_abi::header::{DeviceHeader, GuestStruct, INCLUDE_ABI, defines};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 0;

    /// Register, stored: the next eight bytes of a message, its envelope first, then its data.
    pub const DATA: u64 = 0x00;
    /// Register, stored: the message is complete; its data have so many bytes.
    pub const SEND: u64 = 0x08;
    /// Register, stored: virtual address of the ring of arrivals, a multiple of a slot.
    pub const RING: u64 = 0x10;
    /// Register, loaded: messages that have left the FIFO.
    pub const LEFT: u64 = 0x18;
    /// Register, stored: arrivals that the processor is done with.
    pub const RELEASED: u64 = 0x20;

    /// Setting: messages that the FIFO holds.
    pub const SETTING_FIFO: u64 = 0;
    /// Setting: slots of the ring of arrivals, a power of two.
    pub const SETTING_SLOTS: u64 = 1;

    /// Bytes of a slot of the ring.
    pub const SLOT_BYTES: u64 = 256;
    /// Longest data of a message [bytes].
    pub const DATA_BYTES: u64 = 208;
}

chasqui_abi::guest_struct! {
    /// A message that has arrived.
    pub struct TemplateSlot {
        /// Its data.
        pub data: [u64; 26],
        /// Its envelope.
        pub envelope: Envelope,
        /// Length of its data [bytes].
        pub bytes: u32,
        /// Number of the arrival, from 1 on: the arrival is here. Written last.
        pub number: u32,
    }
}

/// `registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("TEMPLATE", "templates/machine/src/registers.rs", body);

fn body() -> String {
    [INCLUDE_ABI.into(), defines("TEMPLATE_", CONSTANTS), TemplateSlot::definition()].join("\n")
}

const _: () = assert!(size_of::<TemplateSlot>() as u64 == SLOT_BYTES);
const _: () = assert!(std::mem::offset_of!(TemplateSlot, envelope) as u64 == DATA_BYTES);

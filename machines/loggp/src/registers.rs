//! Registers and descriptors of the NI, for it and for its MPI device.

use chasqui_abi::Envelope;
use chasqui_abi::header::{DeviceHeader, GuestStruct, INCLUDE_ABI, defines};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 1;
    /// Store: send the message that the [`Send`] at this address describes.
    pub const SEND: u64 = 0x00;
    /// Load: 1 if a message has arrived and not been released, else 0. If so the oldest is described where
    /// `DESCRIBE` says.
    pub const ARRIVED: u64 = 0x08;
    /// Store: address of the [`Arrival`] to which descriptions of messages are written.
    pub const DESCRIBE: u64 = 0x10;
    /// Store: write its payload to this address, `TAKE_BYTES` of it.
    pub const TAKE: u64 = 0x18;
    /// Store, any value: it has been dealt with.
    pub const RELEASE: u64 = 0x20;
    /// Store: how much of payloads to take [bytes]; a receive may have room for less than came.
    pub const TAKE_BYTES: u64 = 0x28;
    /// A payload up to this length [bytes] comes with its description and need not be taken.
    pub const SHORT_BYTES: u64 = 64;
}

chasqui_abi::guest_struct! {
    /// A message to send. All that it points at must be mapped.
    pub struct LoggpSend {
        /// Its envelope.
        pub envelope: Envelope,
        /// Virtual address of the payload.
        pub payload: u64,
        /// Length of the payload [bytes].
        pub payload_bytes: u64,
    }
}

chasqui_abi::guest_struct! {
    /// A message that has arrived.
    pub struct LoggpArrival {
        /// Its envelope.
        pub envelope: Envelope,
        /// Length of its payload [bytes].
        pub payload_bytes: u64,
        /// The payload, if it is short.
        pub payload: [u64; 8],
    }
}

/// `registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("LOGGP", "machines/loggp/src/registers.rs", body);

fn body() -> String {
    [INCLUDE_ABI.into(), defines("LOGGP_", CONSTANTS), LoggpSend::definition(), LoggpArrival::definition()]
        .join("\n")
}

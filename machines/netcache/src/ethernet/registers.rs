//! What the Ethernet controller, its driver and the MPI device over sockets agree on: registers, descriptors, the frame
//! of messages in a stream.
//!
//! Descriptors and causes are those of Intel's 8254x (PCI/PCI-X Family of Gigabit Ethernet Controllers Software
//! Developer's Manual, 3.2.3, 3.3.3 and 13.4.17); its registers have our own offsets, and only those that matter here.

use chasqui_abi::Envelope;
use chasqui_abi::header::{DeviceHeader, GuestStruct, INCLUDE_ABI, defines};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks the device over sockets, and the kernel the driver.
    pub const DEVICE: u64 = 5;

    /// Register, loaded: what has happened, `CAUSE_*`; loading clears it, and with it the interrupt line (ICR).
    pub const CAUSE: u64 = 0x00;
    /// Register, stored: these causes assert the interrupt line (IMS).
    pub const MASK_SET: u64 = 0x08;
    /// Register, stored: these don't (IMC).
    pub const MASK_CLEAR: u64 = 0x10;
    /// Register, stored: physical address of the ring of receive descriptors (RDBA).
    pub const RECEIVE_BASE: u64 = 0x18;
    /// Register, stored: the first of its descriptors that is not the controller's (RDT).
    pub const RECEIVE_TAIL: u64 = 0x20;
    /// Register, loaded: the next that the controller fills (RDH).
    pub const RECEIVE_HEAD: u64 = 0x28;
    /// Register, stored: physical address of the ring of transmit descriptors (TDBA).
    pub const TRANSMIT_BASE: u64 = 0x30;
    /// Register, stored: the first of its descriptors that is not the controller's (TDT).
    pub const TRANSMIT_TAIL: u64 = 0x38;
    /// Register, loaded: the next that the controller is done with (TDH).
    pub const TRANSMIT_HEAD: u64 = 0x40;

    /// Cause: a transmit descriptor that asked for it was written back (TXDW).
    pub const CAUSE_TRANSMITTED: u64 = 1 << 0;
    /// Cause: frames were lost for want of a descriptor or of room (RXO).
    pub const CAUSE_OVERRUN: u64 = 1 << 6;
    /// Cause: a frame is in memory (RXT0).
    pub const CAUSE_RECEIVED: u64 = 1 << 7;

    /// Command of a transmit descriptor: the frame ends with it. All do.
    pub const COMMAND_END: u8 = 1 << 0;
    /// Command of a transmit descriptor: its status is to be written back (RS).
    pub const COMMAND_REPORT: u8 = 1 << 3;
    /// Status: the controller is done with the descriptor (DD).
    pub const STATUS_DONE: u8 = 1 << 0;
    /// Status of a receive descriptor: the frame ends with it. All do.
    pub const STATUS_END: u8 = 1 << 1;

    /// Bytes of a frame before its packet: destination, source, type (IEEE 802.3, 3.1.1).
    pub const HEADER_BYTES: u64 = 14;
    /// Room of a receive buffer [bytes].
    pub const BUFFER_BYTES: u64 = 2016;

    /// Type of a frame with an IP packet (RFC 894).
    pub const TYPE_IP: u16 = 0x0800;
    /// Type of a frame of VIA's: Local Experimental EtherType 1 (IEEE 802).
    pub const TYPE_VIA: u16 = 0x88b5;

    /// Setting of MPI over sockets: longest message that goes without rendezvous [bytes].
    pub const SETTING_EAGER: u64 = 0;
    /// Setting of MPI over sockets: 1: a process that waits in MPI polls, and never sleeps.
    pub const SETTING_POLLS: u64 = 1;
    /// Setting: longest packet of a frame [bytes]. This one and those behind it stand beside VIA's.
    pub const SETTING_MTU: u64 = 13;
    /// Setting: descriptors of the transmit ring, a power of two.
    pub const SETTING_TRANSMIT_SLOTS: u64 = 14;
    /// Setting: descriptors of the receive ring, a power of two.
    pub const SETTING_RECEIVE_SLOTS: u64 = 15;

    /// Port on which each rank's MPI library listens.
    pub const MPI_PORT: u64 = 4000;
}

chasqui_abi::guest_struct! {
    /// A receive descriptor.
    pub struct EthernetReceive {
        /// Physical address of its buffer.
        pub address: u64,
        /// Bytes of the frame, without its check.
        pub bytes: u16,
        /// Its checksum: 0, the controller makes none.
        pub checksum: u16,
        /// `STATUS_*`.
        pub status: u8,
        /// Zero.
        pub errors: u8,
        /// Zero.
        pub special: u16,
    }
}

chasqui_abi::guest_struct! {
    /// A transmit descriptor.
    pub struct EthernetTransmit {
        /// Physical address of the frame.
        pub address: u64,
        /// Its bytes, without its check.
        pub bytes: u16,
        /// Zero: the controller makes no checksums.
        pub checksum_offset: u8,
        /// `COMMAND_*`.
        pub command: u8,
        /// `STATUS_*`.
        pub status: u8,
        /// Zero.
        pub checksum_start: u8,
        /// Zero.
        pub special: u16,
    }
}

chasqui_abi::guest_struct! {
    /// What each message, and each packet of the library's, begins with in its stream.
    pub struct StreamHeader {
        /// Its envelope.
        pub envelope: Envelope,
        /// Bytes of payload that follow.
        pub bytes: u64,
        /// Where they go in the receiver's memory; 0: to where its receive says.
        pub to: u64,
    }
}

/// `tcp/ethernet.h`.
pub static HEADER: DeviceHeader =
    DeviceHeader::new("ETHERNET", "machines/netcache/src/ethernet/registers.rs", body);

fn body() -> String {
    [
        INCLUDE_ABI.into(),
        defines("ETHERNET_", CONSTANTS),
        EthernetReceive::definition(),
        EthernetTransmit::definition(),
        StreamHeader::definition(),
    ]
    .join("\n")
}

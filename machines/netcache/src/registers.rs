//! What the NIC and its MPI device agree on: registers, slots, arrivals.

use chasqui_abi::header::{DeviceHeader, GuestStruct, INCLUDE_ABI, defines, functions};
use chasqui_abi::{Envelope, context, packet};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 3;

    /// Region: registers, uncached.
    pub const REGION_REGISTERS: u64 = 0;
    /// Region: network memory, for nload and nstore.
    pub const REGION_NETWORK: u64 = 1;
    /// Region: the same memory by uncached accesses.
    pub const REGION_WINDOW: u64 = 2;

    /// Register, stored: virtual address of the transmit ring.
    pub const TRANSMIT_BASE: u64 = 0x00;
    /// Register, stored: virtual address of the ring of arrivals.
    pub const ARRIVAL_BASE: u64 = 0x08;
    /// Register, stored: virtual address of the buffers of payload (policy `POLICY_BUFFER`); an arrival has the one of its
    /// own number until `BUFFER` says otherwise.
    pub const BUFFER_BASE: u64 = 0x10;
    /// Register, stored: slots composed in the transmit ring.
    pub const TRANSMIT_PRODUCER: u64 = 0x18;
    /// Register, loaded: slots that the NIC is done with.
    pub const TRANSMIT_CONSUMER: u64 = 0x20;
    /// Register, stored: arrivals that the processor is done with.
    pub const ARRIVAL_CONSUMER: u64 = 0x28;
    /// Register, stored: the buffer, by its number in the low half, that the place among the arrivals has from now on whose
    /// number is in the high half.
    pub const BUFFER: u64 = 0x30;
    /// Register, stored: the buffer at this offset in network memory is free.
    pub const RELEASE: u64 = 0x38;
    /// Register, stored: virtual address to which the next delivery goes.
    pub const DELIVER_TO: u64 = 0x40;
    /// Register, stored: its length [bytes].
    pub const DELIVER_BYTES: u64 = 0x48;
    /// Register, stored: 1: messages that only their names lead to are entered among the arrivals from now on, those that
    /// wait first; 0: no more.
    pub const LISTEN: u64 = 0x50;
    /// Register, stored: the offset in network memory from which it comes; it begins, and frees the buffer at its end.
    pub const DELIVER_FROM: u64 = 0x58;
    /// Register, loaded: deliveries that are over.
    pub const DELIVERED: u64 = 0x60;

    /// Bytes of a slot of the transmit ring: a header and the data of a message that isn't long.
    pub const SLOT_BYTES: u64 = 2048;
    /// Longest such data [bytes].
    pub const SLOT_DATA_BYTES: u64 = 1968;
    /// Granularity of network memory, and a line of the network cache [bytes].
    pub const ELEMENT_BYTES: u64 = 16;

    /// Flag of a slot: a block, `bytes` from address `from` to address `to` at the destination; the envelope follows it.
    pub const FLAG_PUT: u32 = 1;
    /// Flag of a slot: the envelope's source and sequence name the message and no other.
    pub const FLAG_NAMED: u32 = 2;
    /// Flag of an arrival: its payload is in a buffer of network memory.
    pub const FLAG_BUFFER: u32 = 4;
    /// Flag of an arrival: and was put into the network cache, by its source and sequence (`remap`) and by its envelope and
    /// ordinal (`prebind`).
    pub const FLAG_CACHED: u32 = 8;

    /// In an ordinal: no receive asks for the message by its name, and it is entered among the arrivals at once.
    pub const ORDINAL_ENTERED: u32 = 0x8000_0000;
    /// Those bits of an ordinal that count.
    pub const ORDINAL_COUNT: u32 = 0x7fff_ffff;

    /// Setting: how messages are received, `POLICY_*`.
    pub const SETTING_POLICY: u64 = 0;
    /// Setting: longest message that goes without rendezvous [bytes].
    pub const SETTING_EAGER: u64 = 1;
    /// Setting: slots of the transmit ring, a power of two.
    pub const SETTING_SLOTS: u64 = 2;
    /// Setting: arrivals that their ring holds, a power of two.
    pub const SETTING_ARRIVALS: u64 = 3;
    /// Setting: bytes of network memory that messages may hold which wait for their receive.
    pub const SETTING_HELD: u64 = 4;

    /// Setting: receives that may wait for their messages by name at a time.
    pub const SETTING_NAMED: u64 = 5;
    /// Setting: buffers beside one for each arrival.
    pub const SETTING_SPARE: u64 = 6;
    /// Setting: longest message that goes to the network cache, and may be found by its name [bytes].
    pub const SETTING_LONGEST: u64 = 7;

    /// The processor copies from the NIC's memory.
    pub const POLICY_PROCESSOR: u64 = 0;
    /// The NIC writes to buffers in main memory, from which the processor copies.
    pub const POLICY_BUFFER: u64 = 1;
    /// The NIC writes to where the program wants it, once that is known.
    pub const POLICY_DIRECT: u64 = 2;
    /// Short messages go through the network cache, the others as by `POLICY_DIRECT`.
    pub const POLICY_CACHE: u64 = 3;
}

chasqui_abi::guest_functions! {
    /// Whether packets of this kind and context are messages that sender and receiver count, by envelope.
    pub fn is_counted(kind: u64, context: u64) -> bool {
        kind <= u64::from(packet::LAST_MESSAGE) && context::is_lasting(context)
    }

    /// The ordinal of the message of this kind that is number `count` of its envelope, from 1 on.
    ///
    /// The receiver must look at the envelope of one whose sender waits for an answer.
    pub fn ordinal(kind: u64, count: u32) -> u32 {
        if (kind == u64::from(packet::EAGER)) { count & ORDINAL_COUNT } else { (count & ORDINAL_COUNT) | ORDINAL_ENTERED }
    }
}

chasqui_abi::guest_struct! {
    /// What a slot of the transmit ring begins with; the data follow it.
    pub struct NetcacheSlot {
        /// The message's envelope.
        pub envelope: Envelope,
        /// Virtual address of a block.
        pub from: u64,
        /// Where it goes, at the destination.
        pub to: u64,
        /// Length of the data, or of the block [bytes].
        pub bytes: u64,
        /// `FLAG_*`.
        pub flags: u32,
        /// Its number among the messages from here to there with its context and tag, from 1 on, and `ORDINAL_ENTERED`.
        pub ordinal: u32,
        /// Zero: the data begin at a multiple of 16.
        pub reserved: [u32; 2],
    }
}

chasqui_abi::guest_struct! {
    /// A message that has arrived.
    pub struct NetcacheArrival {
        /// Its envelope.
        pub envelope: Envelope,
        /// Offset of its payload in network memory, if `FLAG_BUFFER` says so; by `POLICY_BUFFER` its buffer's number.
        pub buffer: u32,
        /// Length of its payload [bytes].
        pub bytes: u32,
        /// Its slot's.
        pub ordinal: u32,
        /// Zero.
        pub reserved: u32,
        /// `FLAG_*`.
        pub flags: u32,
        /// Number of the arrival, from 1 on: the arrival is here. Written last.
        pub number: u32,
    }
}

/// `registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("NETCACHE", "machines/netcache/src/registers.rs", body);

fn body() -> String {
    [
        INCLUDE_ABI.into(),
        defines("NETCACHE_", CONSTANTS),
        functions("NETCACHE_", FUNCTIONS),
        NetcacheSlot::definition(),
        NetcacheArrival::definition(),
    ]
    .join("\n")
}

const _: () = assert!(size_of::<NetcacheSlot>() as u64 + SLOT_DATA_BYTES <= SLOT_BYTES);
const _: () = assert!(size_of::<NetcacheArrival>() == 64);

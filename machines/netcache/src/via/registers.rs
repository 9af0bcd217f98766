//! What the VIA NIC, its driver and its user library agree on: doorbells, registers, descriptors, completion queues
//! (Virtual Interface Architecture Specification 1.0, 1997; descriptors as in its VI Provider Library, 64 bytes).

use chasqui_abi::header::{DeviceHeader, GuestStruct, defines};

use super::packet::{self, ViaFrame, ViaHeader};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 4;

    /// Region: doorbells, uncached, all that a process sees of the NIC.
    pub const REGION_DOORBELLS: u64 = 0;

    /// Bytes from one VI's doorbells to the next one's.
    pub const DOORBELL_BYTES: u64 = 16;
    /// Doorbell, stored: `doorbell` of a descriptor on the send queue.
    pub const DOORBELL_SEND: u64 = 0;
    /// Doorbell, stored: the same on the receive queue.
    pub const DOORBELL_RECEIVE: u64 = 8;
    /// A doorbell's value: the descriptor's memory handle in the high half, its virtual address without the last 6 bits.
    pub const DOORBELL_HANDLE_SHIFT: u64 = 32;
    /// Descriptors are aligned to so many bits.
    pub const DESCRIPTOR_SHIFT: u64 = 6;

    /// Register of the driver's, loaded: why the interrupt line is asserted, `CAUSE_*`; stored: these are no more.
    pub const CAUSE: u64 = 0x100000;
    /// Cause: a completion queue that waited for an entry has one.
    pub const CAUSE_COMPLETION: u64 = 1;
    /// Cause: a VI is in error.
    pub const CAUSE_ERROR: u64 = 2;

    /// Registers of completion queues, of the driver's: those of all processes, as are VIs and entries of the table below.
    pub const QUEUES: u64 = 0x110000;
    /// Bytes from one queue's registers to the next one's.
    pub const QUEUE_BYTES: u64 = 32;
    /// Stored: virtual address of its first entry.
    pub const QUEUE_ADDRESS: u64 = 0;
    /// Stored: its memory handle; in the high half its entries, a power of two; 0: no queue.
    pub const QUEUE_MEMORY: u64 = 8;
    /// Stored: its protection tag.
    pub const QUEUE_TAG: u64 = 16;
    /// Stored: interrupt once there are more entries than so many.
    pub const QUEUE_ARM: u64 = 24;
    /// Number of no queue.
    pub const NO_QUEUE: u64 = 0xffffffff;

    /// Registers of VIs, of the driver's.
    pub const VIS: u64 = 0x200000;
    /// Bytes from one VI's registers to the next one's.
    pub const VI_BYTES: u64 = 64;
    /// Stored: `VI_IDLE` or `VI_CONNECTED`; loaded: these or `VI_ERROR`.
    pub const VI_STATE: u64 = 0;
    /// Stored: its protection tag.
    pub const VI_TAG: u64 = 8;
    /// Stored: the node that it is connected to; in the high half the VI there.
    pub const VI_REMOTE: u64 = 16;
    /// Stored: number of the completion queue of its send queue; in the high half of its receive queue.
    pub const VI_QUEUES: u64 = 24;
    /// State: not connected; all is as after reset.
    pub const VI_IDLE: u64 = 0;
    /// State: connected.
    pub const VI_CONNECTED: u64 = 1;
    /// State: an error has ended the connection.
    pub const VI_ERROR: u64 = 2;

    /// Entries of the translation and protection table, of the driver's.
    pub const TABLE: u64 = 0x400000;
    /// Bytes of an entry.
    pub const TABLE_BYTES: u64 = 16;
    /// First word of an entry: the page's physical address, and `TABLE_*`.
    pub const TABLE_PAGE: u64 = 0;
    /// Second word: protection tag; in the high half the number of the virtual page.
    pub const TABLE_TAG: u64 = 8;
    /// The entry is valid.
    pub const TABLE_VALID: u64 = 1;
    /// The NIC may write the page.
    pub const TABLE_WRITE: u64 = 2;
    /// Others may, by RDMA writes.
    pub const TABLE_RDMA_WRITE: u64 = 4;

    /// Control: what a descriptor asks for.
    pub const CONTROL_OPERATION: u16 = 3;
    /// Operation: send, or receive.
    pub const CONTROL_SEND_RECEIVE: u16 = 0;
    /// Operation: RDMA write.
    pub const CONTROL_RDMA_WRITE: u16 = 1;
    /// Control: immediate data go along.
    pub const CONTROL_IMMEDIATE: u16 = 4;

    /// Status: complete.
    pub const STATUS_DONE: u32 = 0x1;
    /// Status: the descriptor's form is wrong.
    pub const STATUS_FORMAT_ERROR: u32 = 0x2;
    /// Status: a memory handle is not right for an address, its bytes or the protection tag.
    pub const STATUS_PROTECTION_ERROR: u32 = 0x4;
    /// Status: the message is longer than what its descriptor has room for, or than the NIC sends.
    pub const STATUS_LENGTH_ERROR: u32 = 0x8;
    /// Status: not dealt with, because the connection has ended.
    pub const STATUS_FLUSHED: u32 = 0x20;
    /// Status: the other side was not ready too many times.
    pub const STATUS_TRANSPORT_ERROR: u32 = 0x40;
    /// Status: an RDMA write to memory that the other side did not allow.
    pub const STATUS_RDMA_PROTECTION_ERROR: u32 = 0x80;
    /// Status: the other side's descriptor was in error.
    pub const STATUS_REMOTE_ERROR: u32 = 0x100;
    /// Status: all errors.
    pub const STATUS_ERRORS: u32 = 0x1fe;
    /// Status: of what operation it is.
    pub const STATUS_OPERATION: u32 = 0xff0000;
    /// Operation: a send.
    pub const STATUS_SEND: u32 = 0x000000;
    /// Operation: a receive.
    pub const STATUS_RECEIVE: u32 = 0x010000;
    /// Operation: an RDMA write.
    pub const STATUS_RDMA_WRITE: u32 = 0x020000;
    /// Status: immediate data have come.
    pub const STATUS_IMMEDIATE: u32 = 0x1000000;

    /// Flag in an entry of a completion queue: it is of the VI's receive queue.
    pub const ENTRY_RECEIVE: u32 = 0x80000000;

    /// Setting: longest message that goes without rendezvous [bytes].
    pub const SETTING_EAGER: u64 = 0;
    /// Setting: buffers for sending.
    pub const SETTING_SLOTS: u64 = 1;
    /// Setting: receive descriptors that wait at each VI.
    pub const SETTING_RECEIVES: u64 = 2;
    /// Setting: payloads go to the program's buffer by DMA.
    pub const SETTING_ZERO_COPY: u64 = 3;
    /// Setting: a process that waits sleeps in the kernel.
    pub const SETTING_BLOCKS: u64 = 4;
    /// Setting: VIs.
    pub const SETTING_VIS: u64 = 5;
    /// Setting: entries of the translation and protection table.
    pub const SETTING_PAGES: u64 = 6;
    /// Setting: descriptors that a queue takes.
    pub const SETTING_DEPTH: u64 = 7;
    /// Setting: completion queues.
    pub const SETTING_QUEUES: u64 = 9;
    /// Setting: longest message [bytes].
    pub const SETTING_TRANSFER: u64 = 8;
    /// Setting: buffers of the MPI device beside those that its receive descriptors have.
    pub const SETTING_SPARE: u64 = 10;
    /// Setting: the kernel is the NIC, over an Ethernet controller, and doorbells are traps. Packets of a VI that may be under
    /// way; in the high half refusals in a row that end a connection. 0: the NIC is hardware.
    pub const SETTING_WINDOW: u64 = 11;
    /// Setting, with that: after a refusal the time until it is sent again [ns]; in the high half after silence.
    pub const SETTING_TIMES: u64 = 12;

    /// Number of the system call that is a doorbell, if the kernel is the NIC: in a0 twice the VI's number, and 1 more for its
    /// receive queue; in a1 the doorbell's value. As of a function, registers that a caller saves are lost.
    pub const TRAP: u64 = chasqui_abi::kernel::FAST_CALL;

    /// `ioctl`: opens the NIC; `ViaOpen`.
    pub const CONTROL_OPEN: u64 = 0x7100;
    /// `ioctl`: registers memory; `ViaMemory`.
    pub const CONTROL_REGISTER: u64 = 0x7101;
    /// `ioctl`: ends that; `ViaMemory`.
    pub const CONTROL_DEREGISTER: u64 = 0x7102;
    /// `ioctl`: makes a completion queue; `ViaQueue`.
    pub const CONTROL_CREATE_QUEUE: u64 = 0x7103;
    /// `ioctl`: ends the completion queue of that number.
    pub const CONTROL_DESTROY_QUEUE: u64 = 0x7104;
    /// `ioctl`: makes a VI; `ViaEndpoint`.
    pub const CONTROL_CREATE_VI: u64 = 0x7105;
    /// `ioctl`: ends the VI of that number.
    pub const CONTROL_DESTROY_VI: u64 = 0x7106;
    /// `ioctl`: connects a VI; `ViaConnection`.
    pub const CONTROL_CONNECT: u64 = 0x7107;
    /// `ioctl`: sleeps until a completion queue has an entry; `ViaWait`.
    pub const CONTROL_WAIT: u64 = 0x7108;
}

chasqui_abi::guest_struct! {
    /// A data segment of a descriptor, or the address segment of an RDMA write.
    pub struct ViaSegment {
        /// Virtual address: here, or at the other side.
        pub address: u64,
        /// Its memory handle.
        pub handle: u32,
        /// Length [bytes]; of an address segment nothing.
        pub bytes: u32,
    }
}

chasqui_abi::guest_struct! {
    /// A descriptor: the control segment, then up to two segments. Aligned to its size.
    pub struct ViaDescriptor {
        /// The library's: the next descriptor of the queue.
        pub next: u64,
        /// The library's: its memory handle.
        pub next_handle: u32,
        /// Segments, the address segment among them.
        pub segments: u16,
        /// `CONTROL_*`.
        pub control: u16,
        /// Zero.
        pub reserved: u32,
        /// Immediate data, 4 bytes that go along.
        pub immediate: u32,
        /// Length of all data segments; of what has come, once complete [bytes].
        pub length: u32,
        /// `STATUS_*`, written last.
        pub status: u32,
        /// The segments.
        pub segment: [ViaSegment; 2],
    }
}

chasqui_abi::guest_struct! {
    /// An entry of a completion queue.
    pub struct ViaEntry {
        /// The VI, and `ENTRY_RECEIVE`.
        pub vi: u32,
        /// Number of the entry, from 1 on: it is here.
        pub number: u32,
    }
}

chasqui_abi::guest_struct! {
    /// What the driver says of the NIC that it has opened.
    pub struct ViaOpen {
        /// Protection tag of the process.
        pub tag: u32,
        /// Zero.
        pub reserved: u32,
        /// Where the driver counts the registrations that it ends because memory is unmapped: 8 bytes that stay where they are; 0: nowhere.
        pub invalidations: u64,
    }
}

chasqui_abi::guest_struct! {
    /// Memory that is registered, or not any more.
    pub struct ViaMemory {
        /// Virtual address.
        pub address: u64,
        /// Length [bytes].
        pub bytes: u64,
        /// Protection tag.
        pub tag: u32,
        /// What may be done with it: `TABLE_RDMA_WRITE` or 0.
        pub access: u32,
        /// Its handle, the driver's answer.
        pub handle: u32,
        /// Zero.
        pub reserved: u32,
    }
}

chasqui_abi::guest_struct! {
    /// A completion queue.
    pub struct ViaQueue {
        /// Virtual address of its entries.
        pub address: u64,
        /// Their memory handle.
        pub handle: u32,
        /// How many they are, a power of two.
        pub entries: u32,
        /// Protection tag.
        pub tag: u32,
        /// Its number, the driver's answer.
        pub number: u32,
    }
}

chasqui_abi::guest_struct! {
    /// A VI.
    pub struct ViaEndpoint {
        /// Its number, which is free.
        pub number: u32,
        /// Protection tag.
        pub tag: u32,
        /// Completion queue of its send queue, or `NO_QUEUE`.
        pub send_queue: u32,
        /// Completion queue of its receive queue, or `NO_QUEUE`.
        pub receive_queue: u32,
    }
}

chasqui_abi::guest_struct! {
    /// Two VIs.
    pub struct ViaConnection {
        /// The one here.
        pub number: u32,
        /// The other's rank.
        pub rank: u32,
        /// Its number there, among that process's.
        pub remote: u32,
        /// Zero.
        pub reserved: u32,
    }
}

chasqui_abi::guest_struct! {
    /// Who waits for what.
    pub struct ViaWait {
        /// The completion queue.
        pub queue: u32,
        /// Entries that have been dealt with.
        pub consumed: u32,
    }
}

/// `via/registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("VIA", "machines/netcache/src/via/registers.rs", body);

fn body() -> String {
    [
        defines("VIA_", CONSTANTS),
        defines("VIA_PACKET_", packet::CONSTANTS),
        ViaSegment::definition(),
        ViaDescriptor::definition(),
        ViaEntry::definition(),
        ViaOpen::definition(),
        ViaMemory::definition(),
        ViaQueue::definition(),
        ViaEndpoint::definition(),
        ViaConnection::definition(),
        ViaWait::definition(),
        ViaHeader::definition(),
        ViaFrame::definition(),
    ]
    .join("\n")
}

const _: () = assert!(size_of::<ViaDescriptor>() == 1 << DESCRIPTOR_SHIFT);

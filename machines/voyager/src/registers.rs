//! What the NES and the software that drives it agree on: queues, their pointers, slots and requests.

use chasqui_abi::header::{DeviceHeader, GuestStruct, defines};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 2;

    /// Region: uncached pointers, a page for each Basic queue pair of the process.
    pub const REGION_POINTERS: u64 = 0;
    /// Region: the Basic transmit rings, each rounded up to pages, cacheable.
    pub const REGION_TRANSMIT: u64 = 1;
    /// Region: the Basic receive rings, each rounded up to pages, cacheable.
    pub const REGION_RECEIVE: u64 = 2;
    /// Region: the ring of DMA requests, cacheable.
    pub const REGION_DMA: u64 = 3;
    /// Region: the window of stores that are Express messages, uncached.
    pub const REGION_EXPRESS: u64 = 4;
    /// Region: the page of loads that take Express messages, uncached.
    pub const REGION_EXPRESS_RECEIVE: u64 = 5;
    /// Region: the window of stores that are Tag-On messages, uncached.
    pub const REGION_TAG: u64 = 6;
    /// Region: places for data to be tagged on, rounded up to pages, then the slots of those that came,
    /// those of Express queue 0 first; cacheable.
    pub const REGION_TAG_DATA: u64 = 7;
    /// Region: registers of system software, uncached; empty unless `voyager.sp.system` opens them.
    pub const REGION_SYSTEM: u64 = 8;

    /// Queue pairs of a site at most (section 4.2). A queue has one name for both directions: the Express
    /// queues come first, then Basic queue b is `EXPRESS_QUEUES` + b.
    pub const QUEUES: u64 = 512;

    /// Name of the sP's own Express queue, beside those (section 3). Only system software leads a transmit queue to it;
    /// its row of the table leads to the sPs of all sites, by their numbers, and further on where system software says.
    pub const SP_QUEUE: u64 = 512;
    /// Five bits of a message to an sP: send what lies at the virtual address in the 32 bits, in the memory of the
    /// process that the answer's destination, the source id, leads to the like of: 48 bytes, by Tag-On (section 5.2).
    pub const SP_READ_SHORT: u64 = 1;
    /// Five bits of a message to an sP: the same, 80 bytes.
    pub const SP_READ_LONG: u64 = 2;
    /// Five bits of an sP's answer without data: there is nothing to read.
    pub const SP_REFUSED: u64 = 3;

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
    /// Pointer, loaded: messages that have left Express transmit queue 0; the next queue's is 8 further.
    pub const EXPRESS_SENT: u64 = 0x30;
    /// Stored: slots of tagged data that the processor is done with, a bit each; those from 32 w on at 4 w further. A
    /// slot is named by the message whose data it holds, so that each may be given back when it comes (section 5.2).
    pub const TAG_RELEASE: u64 = 0x40;

    /// System, stored: moves the queue named in the low 16 bits, to a slot of the hardware with
    /// `SYSTEM_RESIDENT`, else to the service processor.
    pub const SYSTEM_MIGRATE: u64 = 0x00;
    /// System, loaded: when all earlier requests are done, how many had an effect.
    pub const SYSTEM_DONE: u64 = 0x08;
    /// System, stored by eight bytes: the process's Empty message, which its Express and phantom queues return while they
    /// are empty (section 5.1); `EXPRESS_EMPTY` at the start.
    pub const SYSTEM_EMPTY: u64 = 0x10;
    /// Of a request to move a queue.
    pub const SYSTEM_RESIDENT: u64 = 1 << 16;
    /// System, stored: the destination table, 8 bytes an entry, `1 << SETTING_DESTINATION_BITS` of them a row,
    /// a row for each transmit queue, then one for the sP's.
    pub const SYSTEM_TABLE: u64 = 0x1000;
    /// Table entry: there is one; else zero. Its low 16 bits are the site.
    pub const TABLE_VALID: u64 = 1 << 63;
    /// Table entry: first of the 16 bits of the receive queue there.
    pub const TABLE_QUEUE_SHIFT: u64 = 16;
    /// Table entry: first of the 16 bits of the source id that the receiver sees.
    pub const TABLE_SOURCE_SHIFT: u64 = 32;

    /// Bytes of a slot: header and data.
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
    /// Slot flag: instead of the destination, which the receiver knows, the envelope says how many MPI messages went
    /// to it by Express before, modulo 2^16.
    pub const FLAG_ORDERED: u64 = 16;

    /// Express queue pairs of a process: the smallest allocation (section 4.1).
    pub const EXPRESS_QUEUES: u64 = 2;
    /// Bytes of an Express message in SRAM.
    pub const EXPRESS_BYTES: u64 = 8;
    /// Address of a message: first of the bits of data.
    pub const EXPRESS_EXTRA_SHIFT: u64 = 2;
    /// Address of a message: bits of data (section 5.1).
    pub const EXPRESS_EXTRA_BITS: u64 = 5;
    /// Address of a message: first bit of the logical destination. Above the destination are the queue
    /// (Express) or flags and place of the data (Tag-On).
    pub const EXPRESS_DESTINATION_SHIFT: u64 = 7;
    /// Above the destination, Tag-On: in the lowest bit the queue, then 80 bytes, 2.5 lines; else 48, 1.5 lines.
    pub const TAG_LONG: u64 = 2;
    /// Above the destination, Tag-On: the SRAM is up to date, the cache holds no newer lines.
    pub const TAG_RESIDENT: u64 = 4;
    /// Above the destination, Tag-On: first bit of the place.
    pub const TAG_PLACE_SHIFT: u64 = 3;
    /// Bytes of 1.5 lines.
    pub const TAG_SHORT_BYTES: u64 = 48;
    /// Bytes of 2.5 lines.
    pub const TAG_LONG_BYTES: u64 = 80;

    /// Data of a 64-byte message, at most: words that follow its first.
    pub const WIDE_WORDS: u64 = 7;
    /// First word of a 64-byte message: first of three bits that say how many words of data follow. Below are the
    /// 37 bits that the address and the data of an Express message have.
    pub const WIDE_COUNT_SHIFT: u64 = 37;

    /// A message as it is read: first of 13 bits of the source id. Below are 37 bits of data.
    pub const EXPRESS_SOURCE_SHIFT: u64 = 37;
    /// A message as it is read: bits of the source id.
    pub const EXPRESS_SOURCE_BITS: u64 = 13;
    /// A message as it is read: first of two bits for the queue. `EXPRESS_QUEUES`: a Basic queue, of which OnePoll
    /// tells that it has messages; its name stands for the source id, and the data are 16 bits of its receive ring's
    /// producer, then of its consumer.
    pub const EXPRESS_QUEUE_SHIFT: u64 = 50;
    /// A message as it is read: first of four bits that say what came with it, `CAME_…`. They are never 0.
    pub const EXPRESS_CAME_SHIFT: u64 = 52;
    /// What came with a message: nothing.
    pub const CAME_ALONE: u64 = 1;
    /// What came with a message: 48 bytes by Tag-On.
    pub const CAME_SHORT: u64 = 2;
    /// What came with a message: 80 bytes by Tag-On.
    pub const CAME_LONG: u64 = 3;
    /// What came with a message: so many words more of a 64-byte store.
    pub const CAME_WIDE: u64 = 8;
    /// A message as it is read: first of eight bits that name the slot of what came with it, of the process's.
    pub const EXPRESS_SLOT_SHIFT: u64 = 56;
    /// What an empty queue returns unless system software sets something else. No message is this.
    pub const EXPRESS_EMPTY: u64 = 0;
    /// Receive page, loaded: queue q at 8 q; from here on, OnePoll of phantom queue p at 8 p more.
    pub const ONEPOLL: u64 = 0x400;
    /// Phantom queues of a process.
    pub const ONEPOLLS: u64 = 4;
    /// Receive page, stored by eight bytes: the order of phantom queue 0, names of 16 bits of the process's queues. The
    /// first `ONEPOLL_NONE` ends it.
    pub const ONEPOLL_ORDER: u64 = 0x800;
    /// From one phantom queue's order to the next one's [bytes].
    pub const ONEPOLL_STRIDE: u64 = 0x80;
    /// Queues of an order, at most.
    pub const ONEPOLL_QUEUES: u64 = 64;
    /// In the place of a name: no queue.
    pub const ONEPOLL_NONE: u64 = 0xffff;

    /// Setting: 0 flush, 1 reclaim.
    pub const SETTING_VARIANT: u64 = 0;
    /// Setting: slots of each Basic ring, a power of two.
    pub const SETTING_SLOTS: u64 = 1;
    /// Setting: requests of the DMA ring, a power of two.
    pub const SETTING_REQUESTS: u64 = 2;
    /// Setting: an MPI message shorter than this [bytes] goes by Express alone, where its envelope permits.
    pub const SETTING_EXPRESS_END: u64 = 3;
    /// Setting: messages that an Express queue holds.
    pub const SETTING_EXPRESS_SLOTS: u64 = 4;
    /// Setting: places for data to be tagged on, and slots of each Express queue for those that came, a power of two.
    pub const SETTING_TAGS: u64 = 5;
    /// Setting: bits of a logical destination in the address of a message.
    pub const SETTING_DESTINATION_BITS: u64 = 6;
    /// Setting: otherwise one shorter than this goes by Tag-On.
    pub const SETTING_TAG_ON_END: u64 = 7;
    /// Setting: otherwise one shorter than this goes by Basic, and longer ones by rendezvous and DMA. 0: none do.
    pub const SETTING_BASIC_END: u64 = 8;

    /// Bits of data of an Express message that belongs to an MPI message: that many bytes of data, these four first,
    /// the rest in the next Express message from the same source. Context and tag are those of the last MPI message
    /// by Express of this pair.
    pub const MPI_BYTES_MAX: u64 = 8;
    /// Bits of data: instead, context and tag of the messages that follow, `MPI_TAG_BITS` of tag below.
    pub const MPI_SHAPE: u64 = 15;
    /// Bits of a tag that an Express message can tell; above it are those of the context.
    pub const MPI_TAG_BITS: u64 = 20;
    /// Bits of data: instead, how many Basic messages of this pair come before the messages that follow, modulo 2^16.
    pub const MPI_ORDER: u64 = 14;
    /// Bits of data of a Tag-On message that is an MPI message: what is tagged on begins with a whole envelope, else
    /// with the first `MPI_TAGGED_HEAD` bytes of one. The 32 bits are the length of the payload that follows.
    pub const MPI_WHOLE: u64 = 1;
    /// Bytes.
    pub const MPI_TAGGED_HEAD: u64 = 16;
    /// Express messages that an MPI message takes at most: order, context and tag, and two of data.
    pub const MPI_EXPRESS_MAX: u64 = 4;
    /// Places for data to be tagged on, at most, and slots of an Express queue for those that came: eight bits name the
    /// slots of all.
    pub const TAGS_MAX: u64 = 128;

    /// Setting: Basic queue pairs of the process.
    pub const SETTING_BASIC_QUEUES: u64 = 9;
    /// Setting: an MPI message shorter than this goes by a 64-byte store, if it is too long for Express. 0: none do.
    pub const SETTING_STORE_64_END: u64 = 11;
    /// Setting: bytes from one slot, or place of tagged data, to the next: whole lines.
    pub const SETTING_STRIDE: u64 = 10;
    /// Setting: Express queues, the last ones, whose messages travel with high priority.
    pub const SETTING_HIGH_EXPRESS: u64 = 12;
    /// Setting: Basic queues, the last ones, whose messages travel with high priority.
    pub const SETTING_HIGH_BASIC: u64 = 13;
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

/// `registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("VOYAGER", "machines/voyager/src/registers.rs", body);

fn body() -> String {
    [defines("VOYAGER_", CONSTANTS), VoyagerSlot::definition(), VoyagerDma::definition()].join("\n")
}

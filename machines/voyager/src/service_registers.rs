//! What the NES and the firmware of the service processor (sP) agree on. Addresses are relative to the device
//! of a [firmware processor](chasqui_ni::FIRMWARE_DEVICE).

use chasqui_abi::header::{GuestStruct, defines, file, functions};

chasqui_abi::guest_constants! {
    /// Loaded: the next event; the load is held until there is one. Kind in bits 0 to 7; ACCESS: what in bits 8
    /// to 15; MISS: how many packets of the job wait in bits 8 to 31, of how many of them MISSED_AHEAD has not told in bits 48 to 63; queue, or
    /// phantom queue (OnePoll), in bits 32 to 47.
    pub const EVENT: u64 = 0x00;
    /// Stored: the kinds of events that are wanted, by `1 << kind`.
    pub const MASK: u64 = 0x08;
    /// Loaded: value of the store that the event ACCESS is about.
    pub const ACCESS_VALUE: u64 = 0x10;
    /// Stored: ends the access; to a load this is the answer.
    pub const ACCESS_ANSWER: u64 = 0x18;
    /// Stored: the hardware serves the access, for its queues are resident by now.
    pub const ACCESS_FORWARD: u64 = 0x20;
    /// Stored: ends the access, a store that is an Express or Tag-On message: it is sent, then LAUNCHED comes.
    pub const ACCESS_LAUNCH: u64 = 0x28;
    /// Stored: sends the Basic message in the slot that is counted in the low half, of the queue named above;
    /// then LAUNCHED comes. One message is launched at a time.
    pub const LAUNCH: u64 = 0x30;
    /// Stored: takes the packet that MISS was about from the miss queue.
    pub const MISS_POP: u64 = 0x38;
    /// Stored: the hardware slot in bits 16 to 23 is the home of the queue named in the low bits from now on, with
    /// MAP_RESIDENT; packets for it are diverted. Without: the queue has none.
    pub const MAP: u64 = 0x40;
    /// Of MAP.
    pub const MAP_RESIDENT: u64 = 1 << 24;
    /// Stored: packets for the queue are no longer diverted, unless one waits in the miss queue.
    pub const UNDIVERT: u64 = 0x48;
    /// Stored: QUIESCENT comes when the hardware has nothing more to do with the queue named.
    pub const WATCH: u64 = 0x50;
    /// Stored: physical address for the next command.
    pub const ADDRESS: u64 = 0x58;
    /// Stored: starts a command: operation in bits 0 to 7, the queue's name in bits 32 to 47.
    pub const COMMAND: u64 = 0x60;
    /// Loaded: result of the command; the load is held until it is done.
    pub const RESULT: u64 = 0x68;

    /// Loaded: takes the oldest message that the sP's own queue has received, or EMPTY.
    pub const OWN_TAKE: u64 = 0x100;
    /// Stored: sends a message by the sP's own queue, of which there is room for SETTING_EXPRESS_MESSAGES: 37 bits of data,
    /// then 16 of destination, then OWN_TAG, OWN_LONG and the place of what is tagged on.
    pub const OWN_SEND: u64 = 0x108;
    /// Of OWN_SEND: 48 bytes of a place are tagged on.
    pub const OWN_TAG: u64 = 1 << 53;
    /// Of OWN_SEND: 80 bytes of it.
    pub const OWN_LONG: u64 = 1 << 54;
    /// Of OWN_SEND: first of eight bits that say which of SETTING_PLACES.
    pub const OWN_PLACE_SHIFT: u64 = 55;
    /// Of OWN_SEND: first bit of the destination.
    pub const OWN_DESTINATION_SHIFT: u64 = 37;
    /// Loaded: messages of the sP's own queue that have left.
    pub const OWN_SENT: u64 = 0x110;

    /// Loaded, of one set of queues (`voyager/onequeue`): processes that were alive when the turn was over, a bit each, and
    /// TURN_IDLE.
    pub const TURN_OVER: u64 = 0x118;
    /// Of TURN_OVER: the site had done nothing but wait.
    pub const TURN_IDLE: u64 = 1 << 32;
    /// Stored: the process whose turn begins, and TURN_LAST.
    pub const TURN: u64 = 0x120;
    /// Of TURN: no other turn comes.
    pub const TURN_LAST: u64 = 1 << 16;
    /// Stored: this process's share of the memory is full, which is a fault of it.
    pub const OVERRUN: u64 = 0x128;
    /// Stored: the job in the low half is held up; with HOLD_OVER it goes on.
    /// Its resident queues send nothing, none of its blocks is begun, and what it sends by accesses to other queues is no event.
    pub const HOLD: u64 = 0x130;
    /// Of HOLD.
    pub const HOLD_OVER: u64 = 1 << 32;

    /// Stored: what the firmware does from here on, until the next event, is for this job, and counts with its share of the time.
    pub const CHARGE: u64 = 0x140;

    /// Event: an access of an application processor to a queue that is not resident, or by system software.
    pub const KIND_ACCESS: u64 = 1;
    /// Loaded: the site that it comes from, and AHEAD_OWN, of the next packet of the miss queue of which this has not told yet, of the
    /// job that MISS was about. Of the highest priority the oldest, and so MISS's first. 0 if there is none.
    pub const MISSED_AHEAD: u64 = 0x138;
    /// Of MISSED_AHEAD: the site.
    pub const AHEAD_SITE: u64 = 0xffff;
    /// Of MISSED_AHEAD: that site's sP has sent it.
    pub const AHEAD_OWN: u64 = 1 << 16;

    /// Event: the miss queue has a packet; this is about the oldest, of the highest priority, of the job whose turn it is.
    pub const KIND_MISS: u64 = 2;
    /// Event: there may be room in the resident queue for what DELIVER or TAG could not place.
    pub const KIND_ROOM: u64 = 3;
    /// Event: a message has left.
    pub const KIND_LAUNCHED: u64 = 4;
    /// Event: the hardware has nothing more to do with the queue that was watched.
    pub const KIND_QUIESCENT: u64 = 5;
    /// Event: the sP's own queue has messages; behind the kind's 8 bits, how many.
    pub const KIND_MESSAGE: u64 = 6;
    /// Event: messages of the sP's own queue have left.
    pub const KIND_LEFT: u64 = 7;
    /// Event, of one set of queues: the turn is over, and what its process had sent has left for the network.
    pub const KIND_TURN: u64 = 8;
    /// Event: a process, whose number stands for the queue, is over: it receives nothing any more.
    pub const KIND_OVER: u64 = 9;

    /// Access, a store: messages up to this one may be sent.
    pub const WHAT_TRANSMIT_PRODUCER: u64 = 1;
    /// Access, a load: messages that have been sent.
    pub const WHAT_TRANSMIT_CONSUMER: u64 = 2;
    /// Access, a load: messages that have come.
    pub const WHAT_RECEIVE_PRODUCER: u64 = 3;
    /// Access, a store: messages that the processor is done with.
    pub const WHAT_RECEIVE_CONSUMER: u64 = 4;
    /// Access, a store: an Express or Tag-On message.
    pub const WHAT_EXPRESS: u64 = 5;
    /// Access, a load: Express messages that have been sent.
    pub const WHAT_EXPRESS_SENT: u64 = 6;
    /// Access, a load: takes an Express message. The answer is a whole one: the hardware gives it by halves to a
    /// processor that loads four bytes at a time.
    pub const WHAT_EXPRESS_TAKE: u64 = 7;
    /// Access, a load: OnePoll. The number of the phantom queue, of all processes', stands for the queue.
    pub const WHAT_ONEPOLL: u64 = 8;
    /// Access, a store of system software: move a queue.
    pub const WHAT_MIGRATE: u64 = 9;
    /// Access, a load of system software: how many moves have been made.
    pub const WHAT_MIGRATED: u64 = 10;
    /// Access without an effect; a load gets 0.
    pub const WHAT_NOTHING: u64 = 11;

    /// Command: the message becomes a Basic slot at ADDRESS.
    pub const COMMAND_WRITE: u64 = 1;
    /// Command: the message goes into the resident queue. Result: 1, or 0: there is no room.
    pub const COMMAND_DELIVER: u64 = 2;
    /// Command: the data tagged on to the message, of an Express queue, go into a slot. Result: 1 and the slot's number
    /// added to it, or 0: there is no room.
    pub const COMMAND_TAG: u64 = 3;
    /// Command: the rings of a Basic queue that has been unmapped move from the SRAM to the DRAM.
    pub const COMMAND_COPY_OUT: u64 = 4;
    /// Command: the rings of a Basic queue that is to be mapped move from the DRAM to the SRAM.
    pub const COMMAND_COPY_IN: u64 = 5;
    /// Command: lines of a process's memory at virtual address ADDRESS come to one of the sP's places in the SRAM (section
    /// 5.2). Instead of a queue's name: the destination of the sP's queue that leads to the like process. Result: 1, or 0:
    /// nothing is mapped there.
    pub const COMMAND_FETCH: u64 = 6;
    /// Of COMMAND_FETCH: 80 bytes, else 48.
    pub const FETCH_LONG: u64 = 1 << 8;
    /// Of COMMAND_FETCH: first of eight bits that say which place.
    pub const FETCH_PLACE_SHIFT: u64 = 16;
    /// The command's message is that of the miss queue that MISS was about; else that in STAGING.
    pub const COMMAND_MISSED: u64 = 1 << 8;

    /// Settings, loaded, 8 bytes each: Basic queues.
    pub const SETTING_BASIC_QUEUES: u64 = 0x80;
    /// Setting: slots of a Basic ring.
    pub const SETTING_SLOTS: u64 = 0x88;
    /// Setting: physical address of Basic receive ring 0.
    pub const SETTING_RECEIVE_RING: u64 = 0x90;
    /// Setting: from one ring to the next [bytes].
    pub const SETTING_RING_BYTES: u64 = 0x98;
    /// Setting: Express slots of the hardware.
    pub const SETTING_EXPRESS_SLOTS: u64 = 0xa0;
    /// Setting: Basic slots of the hardware.
    pub const SETTING_BASIC_SLOTS: u64 = 0xa8;
    /// Setting: messages that an Express slot holds.
    pub const SETTING_EXPRESS_MESSAGES: u64 = 0xb0;
    /// Setting: memory of the sP [bytes].
    pub const SETTING_MEMORY: u64 = 0xb8;
    /// Setting: Express queues, of all processes.
    pub const SETTING_EXPRESS_QUEUES: u64 = 0xc0;
    /// Setting: bytes from one slot of a ring to the next.
    pub const SETTING_STRIDE: u64 = 0xc8;

    /// Setting: places in the SRAM for what the sP tags on.
    pub const SETTING_PLACES: u64 = 0xd0;
    /// Setting: sites.
    pub const SETTING_SITES: u64 = 0xd8;
    /// Setting: this site's number.
    pub const SETTING_SITE: u64 = 0xe0;
    /// What the firmware takes of the sP's memory for a message that it keeps [bytes].
    pub const MESSAGE_BYTES: u64 = 112;
    /// Setting: parts of the sP's memory, of which no process may take another's: as many as there are processes, if these
    /// are of several jobs; else 1.
    pub const SETTING_SHARES: u64 = 0xe8;
    /// Setting: packets of a job in the miss queue from which on it is held up at their source; 0: never.
    pub const SETTING_HOLD: u64 = 0xf0;
    /// Setting: processes of a job at a site, at most; numbers of processes are those of jobs one after the other.
    pub const SETTING_JOB_PROCESSES: u64 = 0xf8;

    /// Registers of the hardware's Basic slots, BASIC_STRIDE bytes each, loaded and stored: slots composed.
    pub const BASIC_TRANSMIT_PRODUCER: u64 = 0x400;
    /// Slots sent.
    pub const BASIC_TRANSMIT_CONSUMER: u64 = 0x408;
    /// Slots filled.
    pub const BASIC_RECEIVE_PRODUCER: u64 = 0x410;
    /// Slots that the processor is done with.
    pub const BASIC_RECEIVE_CONSUMER: u64 = 0x418;
    /// From one Basic slot's registers to the next's.
    pub const BASIC_STRIDE: u64 = 0x20;
    /// Registers of the hardware's Express slots, EXPRESS_STRIDE bytes each: loaded and stored: messages sent.
    pub const EXPRESS_SENT: u64 = 0xc00;
    /// Loaded: takes the oldest message that has been received, or EMPTY. Stored: adds one, of which there must
    /// be fewer than SETTING_EXPRESS_MESSAGES.
    pub const EXPRESS_TAKE: u64 = 0xc08;
    /// From one Express slot's registers to the next's.
    pub const EXPRESS_STRIDE: u64 = 0x10;

    /// Memory of the sSRAM, loaded: the packet of the miss queue that MISS was about.
    pub const MISSED: u64 = 0x1000;
    /// Memory of the sSRAM, stored: a message for commands.
    pub const STAGING: u64 = 0x1080;
    /// Bytes of each.
    pub const SSRAM_BYTES: u64 = 0x80;

    /// Loaded: the orders of all phantom queues, as in the processors' registers, with names of the site.
    pub const ONEPOLL_ORDER: u64 = 0x2000;

    /// Five bits of a mark, from one sP to another (`voyager/onequeue`): whoever gets it has got all that its sender's site
    /// had sent. A first one: the 32 bits are those of TURN_OVER.
    pub const MARK_FIRST: u64 = 4;
    /// Five bits of a mark: a first one, of a site that had done nothing but wait.
    pub const MARK_IDLE: u64 = 5;
    /// Five bits of a mark: a second one.
    pub const MARK_SECOND: u64 = 6;
    /// Five bits of a message from one sP to another: the job in the 32 bits is held up, for what it sends fills the miss
    /// queue of the message's sender.
    pub const HOLD_JOB: u64 = 7;
    /// Five bits of a message from one sP to another: the job may go on, as far as this site is concerned.
    pub const RELEASE_JOB: u64 = 8;
    /// Five bits of a message from one sP to another: it has done what RELEASE_JOB told it, with every job.
    pub const RELEASED: u64 = 9;

    /// Kind of a packet: Basic.
    pub const PACKET_BASIC: u64 = 0;
    /// A piece of a block, which the hardware deals with.
    pub const PACKET_DMA: u64 = 1;
    /// The notice behind a block, received like Basic.
    pub const PACKET_NOTICE: u64 = 2;
    /// An Express message: eight bytes; what follows was tagged on.
    pub const PACKET_EXPRESS: u64 = 3;
    /// A block was refused by the process that it was for: the address, for which the sender's process has a fault.
    pub const PACKET_REFUSAL: u64 = 4;
    /// The process whose queue it names, at the site that it comes from, is over: nothing is sent to it any more.
    pub const PACKET_ABSENT: u64 = 5;
    /// Blocks for the job whose queue it names, at the site that it comes from, wait.
    pub const PACKET_WAIT: u64 = 6;
    /// They go on.
    pub const PACKET_GO_ON: u64 = 7;
    /// A block for the job whose queue it names has ended before its end, or none waits that was told to go on.
    pub const PACKET_ENDED: u64 = 8;
    /// Flag of an Express packet: words that a 64-byte store brought are tagged on.
    pub const PACKET_WIDE: u64 = 1;
    /// Flag of an Express packet: a service processor sent it, of its own queue.
    pub const PACKET_OWN: u64 = 2;
}

chasqui_abi::guest_functions! {
    /// Id number `index` of a process's own: a destination of the sP's queue, or the source id of requests to sPs, which leads
    /// there.
    ///
    /// Behind those of the sites they go round the processes.
    pub fn request_id(process: u32, index: u32, sites: u32, processes: u32) -> u32 { sites + index * processes + process }

    /// The process that an id behind the sites' belongs to: whose request it is, and whose memory that is about.
    pub fn requester(id: u32, sites: u32, processes: u32) -> u32 { (id - sites) % processes }
}

chasqui_abi::guest_struct! {
    /// What a packet begins with; the data follow.
    pub struct VoyagerPacket {
        /// Kind.
        pub kind: u8,
        /// Flags of a Basic slot; of a piece of a block: the process, of its sender's site, that sends it.
        pub flags: u8,
        /// Source id.
        pub source: u16,
        /// The receive queue's name.
        pub queue: u16,
        /// Bytes of data that follow.
        pub bytes: u16,
    }
}

/// Text of `firmware/service.h`.
pub fn text() -> String {
    let body = [defines("SP_", CONSTANTS), VoyagerPacket::definition(), functions("SP_", FUNCTIONS)];
    file("CHASQUI_VOYAGER_SERVICE_H", "machines/voyager/src/service_registers.rs", &body.join("\n"))
}

//! What the card's hardware and the network processor's firmware agree on. Addresses are relative to the device of a
//! [firmware processor](chasqui_ni::FIRMWARE_DEVICE).

use chasqui_abi::header::{defines, file};

chasqui_abi::guest_constants! {
    /// Loaded: what has happened since it was loaded last, EVENT_ bits; the load is held until something has.
    pub const EVENT: u64 = 0x00;
    /// Of EVENT: the host's DMA is done.
    pub const EVENT_HOST: u64 = 1;
    /// Of EVENT: the sender is done with its block.
    pub const EVENT_SENT: u64 = 2;
    /// Of EVENT: the receiver's place is filled.
    pub const EVENT_RECEIVED: u64 = 4;
    /// Of EVENT: a doorbell was stored to (DOORBELLS).
    pub const EVENT_DOORBELL: u64 = 8;
    /// Of EVENT: the list of tags has looked a message up, or removed an entry (TAG_RESULT).
    pub const EVENT_TAGS: u64 = 16;
    /// Loaded: what is under way, BUSY_ bits.
    pub const BUSY: u64 = 0x08;
    /// Of BUSY: the host's DMA.
    pub const BUSY_HOST: u64 = 1;
    /// Of BUSY: the sender.
    pub const BUSY_SEND: u64 = 2;
    /// Of BUSY: the receiver has a place.
    pub const BUSY_RECEIVE: u64 = 4;
    /// Loaded: processes of the node that have stored to their doorbells since it was loaded last, a bit each.
    pub const DOORBELLS: u64 = 0x10;
    /// Loaded: the clock [clocks].
    pub const TIME: u64 = 0x18;

    /// Stored: physical address of the host's side of the next block.
    pub const HOST_ADDRESS: u64 = 0x20;
    /// Stored: address in the card's memory of its other side.
    pub const HOST_LOCAL: u64 = 0x28;
    /// Stored: starts the host's DMA of so many bytes, with HOST_TO_HOST to the host.
    pub const HOST_START: u64 = 0x30;
    /// Of HOST_START.
    pub const HOST_TO_HOST: u64 = 1 << 32;

    /// Stored: node to which the next worm goes.
    pub const SEND_TO: u64 = 0x40;
    /// Stored: address in the card's memory of the next block.
    pub const SEND_LOCAL: u64 = 0x48;
    /// Stored: starts the sender with a block of so many bytes, and SEND_ bits.
    pub const SEND_START: u64 = 0x50;
    /// Of SEND_START: the worm ends with this block.
    pub const SEND_LAST: u64 = 1 << 32;
    /// Of SEND_START: none of it is there yet (SEND_VALID).
    pub const SEND_AHEAD: u64 = 1 << 33;
    /// Stored: so many bytes of the block are there.
    pub const SEND_VALID: u64 = 0x58;

    /// Stored: address in the card's memory of the receiver's next place.
    pub const RECEIVE_LOCAL: u64 = 0x60;
    /// Stored: starts the receiver with a place of so many bytes.
    pub const RECEIVE_START: u64 = 0x68;
    /// Loaded: bytes of the place that was filled last, with RECEIVED_LAST.
    pub const RECEIVED: u64 = 0x70;
    /// Of RECEIVED: the worm has ended.
    pub const RECEIVED_LAST: u64 = 1 << 32;

    /// Stored: the process whose number this is has done what it may not, one of FAULT_.
    pub const FAULT: u64 = 0x78;
    /// Of FAULT: its doorbell counts more slots than its window has.
    pub const FAULT_COUNT: u64 = 1 << 32;
    /// Of FAULT: a slot that it has counted has no message.
    pub const FAULT_SLOT: u64 = 2 << 32;
    /// Of FAULT: it sends more messages than it has credit for.
    pub const FAULT_CREDIT: u64 = 3 << 32;
    /// Of FAULT: it gives credit back for messages that have not come, or too little of it alone.
    pub const FAULT_GIVEN: u64 = 4 << 32;
    /// Of FAULT: a request names what is not the process's, or more than it may have.
    pub const FAULT_REQUEST: u64 = 5 << 32;
    /// Of FAULT: an entry of the page table that a request leads to is not the process's, or not to be written.
    pub const FAULT_ENTRY: u64 = 6 << 32;

    /// Stored, of the list of tags: what is matched (chasqui_match_key).
    pub const TAG_KEY: u64 = 0x80;
    /// Stored: virtual address of the next entry's buffer.
    pub const TAG_ADDRESS: u64 = 0x88;
    /// Stored: length of the next entry's buffer [bytes], and in the high half the unexpected messages that the process had
    /// dealt with.
    pub const TAG_ROOM: u64 = 0x90;
    /// Stored: appends an entry, if the process had dealt with all unexpected messages: its process, and in the high half its
    /// number.
    pub const TAG_APPEND: u64 = 0x98;
    /// Stored: removes an entry: its process, and in the high half its number.
    pub const TAG_REMOVE: u64 = 0xa0;
    /// Stored: looks for the oldest entry of this process that matches, and takes it out.
    pub const TAG_LOOK: u64 = 0xa8;
    /// Loaded: what came of the oldest look or removal, TAG_ bits and shifts; 0: none is over that was not loaded.
    pub const TAG_RESULT: u64 = 0xb0;
    /// Of TAG_RESULT: number of the entry, and 1; 0: there was none.
    pub const TAG_ENTRY: u64 = 0xffff;
    /// Of TAG_RESULT: the process's place, 8 bits.
    pub const TAG_PROCESS_SHIFT: u64 = 16;
    /// Of TAG_RESULT: it was a removal.
    pub const TAG_REMOVED: u64 = 1 << 24;
    /// Of TAG_RESULT: always.
    pub const TAG_IS_THERE: u64 = 1 << 25;
    /// Of TAG_RESULT: place of the count of the process's entries that had been appended, or not, and removed before, 32 bits.
    pub const TAG_REQUESTS_SHIFT: u64 = 32;
    /// Stored: starts the host's DMA of so many bytes at HOST_LOCAL to the buffer of the entry that TAG_RESULT named last, or of
    /// as many as that has room for.
    pub const TAG_DELIVER: u64 = 0xb8;
    /// Stored: interrupts the host for the process whose number this is.
    pub const INTERRUPT: u64 = 0xc0;

    /// Loaded: bytes of the card's memory.
    pub const SETTING_SRAM: u64 = 0x100;
    /// Loaded: this node.
    pub const SETTING_NODE: u64 = 0x108;
    /// Loaded: processes of this node.
    pub const SETTING_PROCESSES: u64 = 0x110;
    /// Loaded: address in the card's memory of the first process's window; the others' follow.
    pub const SETTING_WINDOWS: u64 = 0x118;
    /// Loaded: bytes of a window.
    pub const SETTING_WINDOW_BYTES: u64 = 0x120;
    /// Loaded: physical address of the first process's memory on the host; the others' follows.
    pub const SETTING_HOST_MEMORY: u64 = 0x128;
    /// Loaded: bytes of that of each process.
    pub const SETTING_HOST_MEMORY_BYTES: u64 = 0x130;
    /// Loaded: nodes.
    pub const SETTING_NODES: u64 = 0x138;
    /// Loaded: processes of a node, of all jobs, at most.
    pub const SETTING_PER_NODE: u64 = 0x140;
    /// Loaded: messages that a process may have under way to another (SETTING_CREDIT of the host's software).
    pub const SETTING_CREDIT: u64 = 0x148;
    /// Loaded: ranks of the job, of several of the largest.
    pub const SETTING_RANKS: u64 = 0x150;
    /// Loaded: 1, if its ranks are dealt out to nodes in turn.
    pub const SETTING_BY_NODE: u64 = 0x158;
    /// Loaded: longest message that is sent without credit [bytes].
    pub const SETTING_EAGER: u64 = 0x160;
    /// Loaded: slots of a channel's message table.
    pub const SETTING_SLOTS: u64 = 0x168;
    /// Loaded: longest receive buffer of a channel [bytes].
    pub const SETTING_BUFFER: u64 = 0x170;
    /// Loaded: headers that may wait for the wire.
    pub const SETTING_QUEUE: u64 = 0x178;
    /// Loaded: physical address of the node's page table.
    pub const SETTING_PAGE_TABLE: u64 = 0x180;
    /// Loaded: entries of it that each process has.
    pub const SETTING_ENTRIES: u64 = 0x188;
    /// Loaded: pages that an entry names.
    pub const SETTING_ENTRY_PAGES: u64 = 0x190;
    /// Loaded: address in the card's memory of what lies in one page: a word for each name of each process.
    pub const SETTING_PINNED: u64 = 0x198;
    /// Loaded: slots of the TLB, a power of two; 0: there is none.
    pub const SETTING_TLB: u64 = 0x1a0;
    /// Loaded: address in the card's memory of its slots' stamps: a word each.
    pub const SETTING_STAMPS: u64 = 0x1a8;
    /// Loaded: entries of the list of tags that each process may have.
    pub const SETTING_TAGS: u64 = 0x1b0;
    /// Loaded: send rings of the card, and message tables with receive buffers.
    pub const SETTING_CHANNELS: u64 = 0x1b8;
    /// Loaded: address in the card's memory of the interrupt's words (INTERRUPT_ of the host's software).
    pub const SETTING_INTERRUPT: u64 = 0x1c0;
    /// Loaded: processes of a node of one job, at most.
    pub const SETTING_PER_JOB: u64 = 0x1c8;
    /// Loaded: ranks of the first job; those of the others, up to JOBS_MAX, follow.
    pub const SETTING_JOB_RANKS: u64 = 0x1d0;
    /// Jobs, at most.
    pub const JOBS_MAX: u64 = 8;

    /// Of the mark PROTOCOL, behind kinds of collectives: a request's pages were pinned already.
    pub const COUNT_FOUND: u64 = 16;
    /// ...: the TLB has an entry that is wanted.
    pub const COUNT_TLB_HIT: u64 = 17;
    /// ...: it has not.
    pub const COUNT_TLB_MISS: u64 = 18;
    /// ...: of a cache of channels, a message goes on credit.
    pub const COUNT_CHANNEL_HIT: u64 = 19;
    /// ...: a message waits, as no table is leased to its channel.
    pub const COUNT_CHANNEL_MISS: u64 = 20;
    /// ...: a table is leased to a channel.
    pub const COUNT_CHANNEL_LEASE: u64 = 21;
    /// ...: one is taken back.
    pub const COUNT_CHANNEL_RECALL: u64 = 22;
    /// ...: a message waits for a send ring.
    pub const COUNT_RING_AWAITED: u64 = 23;

    /// Processes of a node, at most: a bit each of DOORBELLS.
    pub const PROCESSES_MAX: u64 = 64;
    /// Bytes that the thin firmware needs behind its image for each process of the node and each of the machine.
    pub const PEER_BYTES: u64 = 16;
    /// Bytes that it needs besides for each process of the node: of its long messages.
    pub const LONG_BYTES: u64 = 2560;
    /// Bytes that the firmware that matches needs behind its image for each process of the node, at most.
    pub const PROCESS_BYTES: u64 = 28672;
    /// Bytes that it needs besides for each channel: of its receive buffer, and what goes with it (specs/mpinp.md: 4.5 KB).
    pub const CHANNEL_BYTES: u64 = 4704;
    /// Bytes that the same with a cache of channels needs for each channel, beside CHANNEL_BYTES for each of its tables.
    pub const RECORD_BYTES: u64 = 400;
    /// What it may have to put off while the queue to the wire is full (README.md): for each channel two for each entry of both
    /// send rings, and two for an eager message.
    pub const OFF_CHANNEL: u64 = 34;
    /// The same, with a cache of channels, for each channel, where OFF_CHANNEL is for each ring and table: of an eager message
    /// two, of WANT, RECALL and RETURN each what they lead to, and RECALL itself.
    pub const OFF_RECORD: u64 = 6;
    /// The same, for each process of the node: of each receive, ACK and two grants.
    pub const OFF_PROCESS: u64 = 360;
    /// The same, for each rank: of each of its receives, the answer to SEND_REQ.
    pub const OFF_RANK: u64 = 120;
    /// Bytes of each.
    pub const OFF_BYTES: u64 = 6;
    /// Bytes that it needs for each slot of the TLB.
    pub const TLB_BYTES: u64 = 40;
}

/// Text of `firmware/np.h`.
pub fn text() -> String {
    file("CHASQUI_MPINP_NP_H", "machines/mpinp/src/np_registers.rs", &defines("NP_", CONSTANTS))
}

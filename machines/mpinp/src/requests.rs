//! What the host's software and the firmware that matches (`firmware/mcp`) agree on: requests in the window, events in the
//! memory on the host; what the kernel's agent (`kernel/agent.c`) and it do: pages. What both firmwares have in common is in `registers.rs`.

use chasqui_abi::Envelope;
use chasqui_abi::header::{GuestStruct, defines};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks the device of the firmware that matches.
    pub const MCP_DEVICE: u64 = 7;
    /// ... and whose host waits by interrupt.
    pub const WAKE_DEVICE: u64 = 10;

    /// Setting: longest data that are stored to the window [bytes].
    pub const SETTING_PIO_BYTES: u64 = 3;
    /// Setting, the kernel's: physical address of the node's page table, whose entries are numbered through all processes.
    pub const SETTING_PAGE_TABLE: u64 = 4;
    /// Setting, the kernel's: entries that each process has of it.
    pub const SETTING_ENTRIES: u64 = 5;
    /// Setting, the kernel's: pages that an entry names.
    pub const SETTING_ENTRY_PAGES: u64 = 6;
    /// Setting, the kernel's: address in the card's memory of what lies in one page: of each process a word for each name.
    pub const SETTING_PINNED: u64 = 7;

    /// Setting: 1, if the card does collectives.
    pub const SETTING_COLLECTIVES: u64 = 8;
    /// Setting: of the entries that each process has, so many, the first, name pages that stay pinned after transfers.
    pub const SETTING_KEPT: u64 = 9;
    /// Setting, the kernel's: slots of the card's TLB, a power of two; 0: it has none.
    pub const SETTING_TLB: u64 = 10;
    /// Setting, the kernel's: address in the card's memory of a word for each slot of the TLB, its stamp: what the card holds in
    /// the slot counts while it has this stamp.
    pub const SETTING_STAMPS: u64 = 11;
    /// Setting, the kernel's: address in the card's memory of a word for the records. A store to it counts a call of
    /// CONTROL_KEEP, and entries that named other pages before: its value.
    pub const SETTING_COUNT: u64 = 12;
    /// Setting, the kernel's: address in the card's memory of its interrupt's words, INTERRUPT_.
    pub const SETTING_INTERRUPT: u64 = 14;
    /// Setting: times that a process polls in vain before it sleeps.
    pub const SETTING_POLLS: u64 = 15;

    /// Offset of the interrupt's register: loaded, it has a bit for each process for which the card interrupts, and none from then
    /// on. The line is asserted while there are some.
    pub const INTERRUPT_CAUSE: u64 = 0;
    /// Offset of a word for each process, 32 bits: a process waits, INTERRUPT_ROOM and above it the wait's number, other than the
    /// last one's. The card interrupts once for each. 0: none waits.
    pub const INTERRUPT_ASKED: u64 = 8;
    /// Of such a word: the process waits for room for requests, too.
    pub const INTERRUPT_ROOM: u64 = 1;
    /// Offset, in place of INTERRUPT_ASKED where a thread of the kernel makes progress, of a word for each name of each process, of
    /// two halves. The card stores to the lower one how many entries of the name are done with, of all, and interrupts; the
    /// kernel to the upper one how many have named pages, of all, which rings as a doorbell does.
    pub const PAGED: u64 = 8;
    /// Of the upper half: its entries can name no more; the process is to be told (ENTRY_DONE).
    pub const PAGED_REFUSED: u64 = 0xffff_ffff;

    /// Requests that the ring at the window's begin holds. The doorbell counts them.
    pub const REQUESTS: u64 = 64;
    /// Offset in the window of a word for the records: a store to it counts a collective that the library does and why, REASON_.
    pub const WINDOW_REASON: u64 = 2048;
    /// Offset in the window of data that the process sends from there.
    pub const WINDOW_DATA: u64 = 4096;
    /// Names that a process has for its requests, from 0 on; one is free again with its last event.
    pub const NAMES: u64 = 128;
    /// Names that receives may have at a time.
    pub const RECEIVES: u64 = 120;
    /// Places in expected lists that they may have: one each, of any source one for each rank.
    pub const PLACES: u64 = 256;
    /// A rank: of any source.
    pub const ANY_SOURCE: u64 = 0xffff;
    /// A tag: any.
    pub const ANY_TAG: u64 = 0x8000_0000;
    /// Parts in which a message goes [bytes].
    pub const PART_BYTES: u64 = 8192;
    /// Pages that an entry names, at most.
    pub const ENTRY_PAGES_MAX: u64 = 4;

    /// Kind of a request: a message.
    pub const SEND: u64 = 1;
    /// Kind of a request: a receive.
    pub const RECEIVE: u64 = 2;
    /// Kind of a request: is there a message that such a receive would get? PROBED follows. Without one, UNCLAIMED follows when
    /// one has come that no receive has got.
    pub const PROBE: u64 = 3;
    /// Kind of a request: the same, and the message is `name`'s from now on. CLAIMED follows.
    pub const CLAIM: u64 = 4;
    /// Kind of a request: the message that `name` has claimed is received.
    pub const FETCH: u64 = 5;
    /// Kind of a request: `name` is not wanted any more. Its event says what came of that.
    pub const CANCEL: u64 = 6;
    /// Kind of a request, the answer to ENTRY_DONE: of `name`'s entries now so many have been valid, of all: `bytes`.
    pub const ENTRY: u64 = 7;
    /// Kind of a request: UNCLAIMED is wanted; with flag 1, also if messages are there that no receive has got.
    pub const LISTEN: u64 = 8;
    /// Kind of a request: CLAIM of the first message from `rank` that no receive has got, whatever its context and tag.
    pub const DRAIN: u64 = 9;
    /// Kind of a request: what was sent to `rank` up to now holds room that other sends need. Its receiver is told that it is
    /// crowded with it.
    pub const PRESS: u64 = 10;
    /// Kind of a request: a note for `rank`, `flags` says which, about message `sequence`. A process has one note to each other
    /// one that is not answered; NOTE_ANSWER answers one that has come, once.
    pub const NOTE: u64 = 11;
    /// Kind of a request: the message that PROBED has shown may be cancelled again, as after any other request but CLAIM.
    pub const FORGET: u64 = 12;

    /// Kind of a request: a collective, `flags` says which, along a tree of processes: `sequence`, and `offset` behind it, have
    /// a byte each for the world rank of the one above and of those below, in order, NO_PROCESS behind the last. `rank` has
    /// COLLECTIVE_ bits; `valid` operator and type (in the high byte); `entry` and `bytes` are the data in the window. COLLECTED
    /// follows. A process has one at a time.
    pub const COLLECTIVE: u64 = 13;
    /// Kind of a request: one with a root, REDUCE, GATHER or SCATTER; otherwise as COLLECTIVE. The tree is a binomial one: of a
    /// process with so many blocks (below) those of its subtrees are behind its own, 1, 2, 4, … of them, of the last what is left.
    /// Of a gather or scatter `bytes` are those of a process, in a block of whole doublewords, and `valid` is the number of
    /// blocks of the process and those below it.
    pub const ROOTED: u64 = 14;

    /// A collective: all have come.
    pub const BARRIER: u64 = 0;
    /// A collective: all get the data of the one that has some.
    pub const BCAST: u64 = 1;
    /// A collective: all get what comes of the data of all.
    pub const ALLREDUCE: u64 = 2;
    /// A collective with a root: that gets what comes of the data of all.
    pub const REDUCE: u64 = 3;
    /// A collective with a root: that gets the blocks of all.
    pub const GATHER: u64 = 4;
    /// A collective with a root: each process gets its block of those that the root has.
    pub const SCATTER: u64 = 5;
    /// Longest data of a collective, of a process [bytes].
    pub const COLLECTIVE_BYTES: u64 = 128;
    /// Longest blocks of a gather or scatter, those of all processes [bytes].
    pub const BLOCKS_BYTES: u64 = 8192;
    /// Processes below one, at most.
    pub const COLLECTIVE_BELOW: u64 = 7;
    /// In place of a process's rank: there is none.
    pub const NO_PROCESS: u64 = 0xff;
    /// Of a collective: the process contributes data.
    pub const COLLECTIVE_GIVES: u64 = 1;
    /// Of a collective: the process wants what comes of it.
    pub const COLLECTIVE_TAKES: u64 = 2;
    /// Of a collective: the process can't do it by the card. COLLECTED says so to all: NOTHING.
    pub const COLLECTIVE_REFUSES: u64 = 4;
    /// Of a scatter, at its root: the blocks are at HOST_COLLECTED, not in the window.
    pub const COLLECTIVE_FETCHES: u64 = 8;
    /// An operator: a sum. Integers wrap.
    pub const SUM: u64 = 0;
    /// An operator, of integers: a product.
    pub const PRODUCT: u64 = 1;
    /// An operator: the least.
    pub const MINIMUM: u64 = 2;
    /// An operator: the greatest.
    pub const MAXIMUM: u64 = 3;
    /// An operator, of integers: of each bit.
    pub const AND: u64 = 4;
    /// An operator, likewise.
    pub const OR: u64 = 5;
    /// An operator, likewise.
    pub const XOR: u64 = 6;
    /// An operator, of integers: 1 if neither is 0.
    pub const LOGICAL_AND: u64 = 7;
    /// An operator, of integers: 1 if one is not 0.
    pub const LOGICAL_OR: u64 = 8;
    /// An operator, of integers: 1 if just one is not 0.
    pub const LOGICAL_XOR: u64 = 9;
    /// A type.
    pub const INT32: u64 = 0;
    /// A type.
    pub const UINT32: u64 = 1;
    /// A type.
    pub const INT64: u64 = 2;
    /// A type.
    pub const UINT64: u64 = 3;
    /// A type.
    pub const FLOAT: u64 = 4;
    /// A type.
    pub const DOUBLE: u64 = 5;

    /// Why the library does a collective: its data are too long.
    pub const REASON_LONG: u64 = 0;
    /// ... it is not blocking, or the library's own.
    pub const REASON_NONBLOCKING: u64 = 1;
    /// ... the card has no such operation on such data.
    pub const REASON_OPERATION: u64 = 2;
    /// ... the data of a process may have gaps, or lengths differ.
    pub const REASON_UNLIKE: u64 = 3;

    /// Flag of a send: it completes when it has met its receive.
    pub const SYNCHRONOUS: u64 = 1;
    /// Flag of a send: its receive is posted.
    pub const READY: u64 = 2;
    /// Flag of a send: its data are in the window.
    pub const IN_WINDOW: u64 = 4;
    /// Flag of SEND, RECEIVE and FETCH: the data are in one page, of which the kernel has told the card by `name`.
    pub const IN_PAGE: u64 = 8;
    /// Flag of SEND, RECEIVE and FETCH, for the records: the pages were pinned already.
    pub const FOUND: u64 = 16;
    /// Flag of FETCH: the message's send awaits its receive, which has not come. SENT says so to the sender, and NOTE_MET follows
    /// when it has.
    pub const DRAINED: u64 = 1;

    /// A note: the answer to the last.
    pub const NOTE_ANSWER: u64 = 0;
    /// A note: the message that was drained has met its receive.
    pub const NOTE_MET: u64 = 1;
    /// A note: the message that was drained is to be cancelled. NOTE_GONE follows, or NOTE_MET.
    pub const NOTE_CANCEL: u64 = 2;
    /// A note: it is.
    pub const NOTE_GONE: u64 = 3;

    /// Kind of an event: a send is over.
    pub const SENT: u64 = 1;
    /// Kind of an event: a receive is.
    pub const RECEIVED: u64 = 2;
    /// Kind of an event: of `name`, whose message is longer than its entries reach, the first `entry` entries are done with and
    /// may name other pages. The next follows when that is answered.
    pub const ENTRY_DONE: u64 = 3;
    /// Kind of an event: the answer to PROBE.
    pub const PROBED: u64 = 4;
    /// Kind of an event: the answer to CLAIM.
    pub const CLAIMED: u64 = 5;
    /// Kind of an event: a message has come that no receive has got.
    pub const UNCLAIMED: u64 = 6;

    /// Kind of an event: many messages from `rank` have come that no receive has got. The next follows when one is drained.
    pub const CROWDED: u64 = 7;
    /// Kind of an event: a note from `rank`, which `result` names.
    pub const NOTED: u64 = 8;

    /// Kind of an event: a collective is over; what has come of it, `bytes` long, lies at HOST_COLLECTED.
    pub const COLLECTED: u64 = 9;

    /// Result: of SENT and RECEIVED, all is well; of PROBED and CLAIMED, there is one.
    pub const COMPLETE: u64 = 0;
    /// Result: the message was longer than the receive.
    pub const TRUNCATED: u64 = 1;
    /// Result: it was taken back.
    pub const CANCELLED: u64 = 2;
    /// Result: there is none.
    pub const NOTHING: u64 = 3;

    /// Offset in the memory on the host of the count of requests that were taken.
    pub const HOST_TAKEN: u64 = 0;
    /// Offset in the memory on the host of the ring of events.
    pub const HOST_EVENTS: u64 = 4096;
    /// Events that it holds.
    pub const EVENTS: u64 = 512;
    /// Offset in the memory on the host of what a collective has come to, or of blocks that are scattered.
    pub const HOST_COLLECTED: u64 = 4096 + 512 * 32;
    /// Bytes of it that are needed.
    pub const HOST_BYTES: u64 = 4096 + 512 * 32 + 8192;

    /// `ioctl`: pins what a request names; `MpinpPin`.
    pub const CONTROL_PIN: u64 = 0x7100;
    /// `ioctl`: of a name whose first entries are done with, these name further pages; `MpinpPin`.
    pub const CONTROL_PIN_MORE: u64 = 0x7101;
    /// `ioctl`: what is pinned for the name that is the argument is so no more.
    pub const CONTROL_UNPIN: u64 = 0x7102;
    /// `ioctl`, once, before CONTROL_KEEP: the argument is the address of a byte for each entry of SETTING_KEPT. The kernel stores
    /// there which of the entry's pages are pinned, a bit each. The answer is the number of the first of them among all entries.
    pub const CONTROL_KEEP_OPEN: u64 = 0x7103;
    /// `ioctl`: entries name memory whose pages stay pinned; `MpinpKeep`.
    pub const CONTROL_KEEP: u64 = 0x7104;
    /// `ioctl`: sleeps until the process has more events than the argument says.
    pub const CONTROL_WAIT: u64 = 0x7110;
    /// The same, with a number in the high half of the argument: or more requests than that have been taken, of all.
    pub const CONTROL_WAIT_ROOM: u64 = 0x7111;
    /// Flag of a pin: the card writes.
    pub const PIN_WRITE: u64 = 1;

    /// Of a page in the card's memory: the card may write it. The rest is the data's physical address; 0: none.
    pub const PINNED_WRITE: u64 = 1 << 63;
    /// Flag of an entry: the card may write its pages.
    pub const ENTRY_WRITE: u64 = 1;
    /// Flag of an entry: the card may hold a copy of it; the kernel stores to its stamp when it changes.
    pub const ENTRY_KEPT: u64 = 2;
}

chasqui_abi::guest_struct! {
    /// An entry of the page table: the kernel's alone.
    pub struct MpinpEntry {
        /// Number of the process of the node, from 1 on, that has it; 0: it names nothing.
        pub owner: u16,
        /// Flags.
        pub flags: u16,
        /// Number of the entry that comes behind it; behind the last comes the first again.
        pub next: u32,
        /// Numbers of the pages.
        pub pages: [u32; 4],
        /// A line has one entry.
        pub reserved: u64,
    }
}

chasqui_abi::guest_struct! {
    /// What is to be pinned.
    pub struct MpinpPin {
        /// Where it begins.
        pub address: u64,
        /// Length [bytes].
        pub bytes: u64,
        /// The request's name.
        pub name: u32,
        /// Flags.
        pub flags: u32,
        /// Entries that are left to others. Of CONTROL_PIN_MORE: those that are done with, of all.
        pub left: u32,
        /// Answer: the first entry. All lies in one page: the card knows it by name, and `valid` is 0.
        pub first: u32,
        /// Answer: entries that name something, of all until now: what is longer is pinned up to there.
        pub valid: u32,
        /// Not used.
        pub reserved: u32,
    }
}

chasqui_abi::guest_struct! {
    /// What is to stay pinned. Entries that stay so name memory in blocks, as long as their pages, from address 0 on. The entry
    /// of a block names that of the next block as the next, if there is one with the same right.
    pub struct MpinpKeep {
        /// Where it begins.
        pub address: u64,
        /// Length [bytes].
        pub bytes: u64,
        /// Address of 32 bits for each block in which it lies: the number of the block's entry among the process's that stay
        /// pinned. One that names another block names this one from now on.
        pub entries: u64,
        /// Flags, as of MpinpPin.
        pub flags: u32,
        /// Not used.
        pub reserved: u32,
    }
}

chasqui_abi::guest_struct! {
    /// A request.
    pub struct MpinpRequest {
        /// What is wanted.
        pub kind: u8,
        /// Flags of a send.
        pub flags: u8,
        /// World rank of the other side, or ANY_SOURCE.
        pub rank: u16,
        /// What events call it by.
        pub name: u16,
        /// Entries that its page table has, from `entry` on.
        pub valid: u16,
        /// Context of the communicator.
        pub context: u32,
        /// Tag, or ANY_TAG.
        pub tag: i32,
        /// Length of the message, or room for it [bytes].
        pub bytes: u32,
        /// Number of the message among all that the process has sent.
        pub sequence: u32,
        /// Number of its first entry; of data in the window, their offset there.
        pub entry: u32,
        /// Offset of the data in the first page.
        pub offset: u32,
    }
}

chasqui_abi::guest_struct! {
    /// What has come of a request. Records find the message's name in it, as in an envelope.
    pub struct MpinpEvent {
        /// What has happened.
        pub kind: u8,
        /// What came of it.
        pub result: u8,
        /// Which request it is about.
        pub name: u16,
        /// World rank of the message's source; of NOTED, of the other process.
        pub rank: u16,
        /// Context of the communicator, of CLAIMED.
        pub context: u16,
        /// Tag of the message.
        pub tag: i32,
        /// Number of the message among all that its source has sent; 0: of none.
        pub sequence: u32,
        /// Length of the message [bytes]; of NOTED, the number of the message.
        pub bytes: u32,
        /// Of ENTRY_DONE: how many. Of CLAIMED: 1, if the message's send awaits its receive. Of SENT: 1, if it was drained and does.
        pub entry: u32,
        /// Requests that have been taken, of all.
        pub taken: u32,
        /// Number of the event, from 1 on: it is there.
        pub number: u32,
    }
}

const _: () = assert!(size_of::<MpinpEntry>() == 32, "a line");
const _: () = {
    assert!(std::mem::offset_of!(MpinpEvent, rank) == std::mem::offset_of!(Envelope, source));
    assert!(std::mem::offset_of!(MpinpEvent, sequence) == std::mem::offset_of!(Envelope, sequence));
};

/// Their part of `registers.h`.
pub fn text() -> String {
    [
        defines("MPINP_", CONSTANTS),
        MpinpRequest::definition(),
        MpinpEvent::definition(),
        MpinpEntry::definition(),
        MpinpPin::definition(),
        MpinpKeep::definition(),
    ]
    .join("\n")
}

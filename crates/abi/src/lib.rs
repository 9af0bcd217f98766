//! What the simulator and the code that runs on the simulated machine agree on: the NI's
//! identification page, the envelope of a message, and the marks by which guest software names the
//! stages of a message's life.
//!
//! This is the only definition. `guest/include/chasqui/abi.h` is generated from [`header::text`]
//! and a test keeps the two equal; the header carries `_Static_assert`s on sizes and offsets.
//!
//! Invariant: nothing here depends on another crate of the workspace.

pub mod collectives;
pub mod header;
pub mod interrupts;
pub mod kernel;

crate::guest_constants! {
    /// `magic` of a valid identification page: "CHASQUI1" in little-endian ASCII.
    pub const NI_MAGIC: u64 = 0x3149_5551_5341_4843;
    /// Version of the layouts in this crate; the guest library refuses another.
    pub const ABI_VERSION: u32 = 4;
    /// Regions of the NI that a process may map (the identification page is not counted).
    pub const NI_REGIONS: usize = 9;
    /// Spacing [bytes] of the regions' `mmap` offsets in `/dev/ni0`: region `i` is at `(i + 1) * NI_REGION_STRIDE`;
    /// the identification page is at offset 0.
    pub const NI_REGION_STRIDE: u64 = 0x1_0000_0000;

    /// Where in the page of the identification [bytes] the [`NiPlacement`] is.
    pub const NI_PLACEMENT: u64 = 0xf00;

    /// Region flag: processor accesses are uncached single-beat bus transactions.
    pub const NI_REGION_UNCACHED: u32 = 1;

    /// Envelope flag: `sequence` is a number of the receiving process's own, which it tells by `TAKEN`: the device
    /// does not send the message's.
    pub const ENVELOPE_NUMBERED_HERE: u8 = 1;
}

crate::guest_struct! {
    /// A mappable region of the NI.
    pub struct NiRegion {
        /// Length [bytes], a multiple of the page; 0: no such region.
        pub bytes: u64,
        /// `NI_REGION_*` flags.
        pub flags: u32,
        /// Zero.
        pub reserved: u32,
    }
}

crate::guest_struct! {
    /// The identification page: what a process finds at offset 0 of `/dev/ni0`.
    pub struct NiIdentification {
        /// [`NI_MAGIC`].
        pub magic: u64,
        /// [`ABI_VERSION`].
        pub version: u32,
        /// Which MPI device drives this NI (each machine has its own number).
        pub device: u32,
        /// This process's rank in the job.
        pub rank: u32,
        /// Ranks in the job.
        pub ranks: u32,
        /// Line size [bytes] of the node's data cache.
        pub line_bytes: u32,
        /// Frequency [Hz] of the `time` CSR.
        pub timebase_hz: u32,
        /// The mappable regions.
        pub regions: [NiRegion; NI_REGIONS],
        /// Settings peculiar to the device (each machine documents its own).
        pub settings: [u64; 16],
        /// Where in this page [bytes] settings of the MPI library are (collectives, `crates/machine`); 0: none.
        pub mpi_settings: u32,
        /// Names the device's definitions and these ([`header::DeviceHeader::interface`]); a device with another is not
        /// used.
        pub interface: u32,
    }
}

crate::guest_struct! {
    /// Where a process is, and its job's other processes are. It lies at [`NI_PLACEMENT`] of the page that the
    /// identification begins.
    pub struct NiPlacement {
        /// The process's node.
        pub node: u32,
        /// Its number among its job's processes there.
        pub process: u32,
        /// Processes of the job on a node, at most.
        pub ranks_per_node: u32,
        /// Nodes that the job is on.
        pub nodes: u32,
        /// 0: rank r is on node r / `ranks_per_node`; 1: on node r % `nodes`.
        pub by_node: u32,
        /// 0.
        pub reserved: u32,
        /// Length [bytes] of the memory that the job's processes of the node share, 0 at first: the mapping behind the
        /// NI's regions. 0: there is none.
        pub shared_bytes: u64,
    }
}

crate::guest_struct! {
    /// Envelope of an MPI message as it travels; the device may pack it as it likes.
    ///
    /// (`source`, `sequence`) names the message's record everywhere in the simulator.
    pub struct Envelope {
        /// What this packet is to the MPI library ([`packet`]).
        pub kind: u8,
        /// `ENVELOPE_*` flags.
        pub flags: u8,
        /// Context id of the communicator.
        pub context: u16,
        /// World rank of the message's sender.
        pub source: u16,
        /// World rank of the message's receiver.
        pub destination: u16,
        /// Tag.
        pub tag: i32,
        /// Number of the message among all that `source` has sent.
        pub sequence: u32,
        /// Length of the message's data [bytes].
        pub bytes: u64,
        /// Names the send request at the sender, where a reply is wanted.
        pub sender: u64,
        /// Names the receive request, or an address, at the receiver.
        pub receiver: u64,
    }
}

impl Envelope {
    /// Source and number of the message that it begins or carries data of. Numbers are from 1 on: a packet of the MPI
    /// library that belongs to none has 0.
    pub fn message(&self) -> Option<(u16, u32)> {
        (self.sequence != 0).then_some((self.source, self.sequence))
    }
}

crate::guest_functions! {
    /// What a receive matches messages by, as a number: their source (a world rank), context and tag.
    pub fn match_key(source: u32, context: u32, tag: u32) -> u64 {
        u64::from(source) << 48 | u64::from(context) << 32 | u64::from(tag)
    }
}

/// What a packet is to the MPI library: `kind` of its [`Envelope`].
pub mod packet {
    crate::guest_constants! {
        /// A message with its data.
        pub const EAGER: u8 = 1;
        /// The same; the sender waits for `MATCHED`.
        pub const SYNCHRONOUS: u8 = 2;
        /// A message whose data wait for `CLEAR_TO_SEND`.
        pub const READY_TO_SEND: u8 = 3;
        /// Those up to this one begin a message. What is above has sequence 0, except where it carries a message's data.
        pub const LAST_MESSAGE: u8 = READY_TO_SEND;
        /// `bytes` are wanted for `receiver`; payload: their address.
        pub const CLEAR_TO_SEND: u8 = 4;
        /// `sender`'s message met its receive.
        pub const MATCHED: u8 = 5;
        /// A put has filled `receiver`'s buffer. Carries the message's number.
        pub const FINISHED: u8 = 6;
        /// The next `bytes` bytes for `receiver`. Carries the message's number.
        pub const SEGMENT: u8 = 7;
        /// `sender`'s message is not wanted any more, if it has met no receive.
        pub const CANCEL: u8 = 8;
        /// The answer to `CANCEL`: `sender`'s message is gone.
        pub const CANCELLED: u8 = 9;
        /// Kinds are below it. The library asks no more of one than a function that takes what arrives.
        pub const KINDS: u8 = 32;
    }
}

/// Communicators' contexts: `context` of an [`Envelope`]. Each communicator has `EACH`, from a multiple of that on.
pub mod context {
    crate::guest_constants! {
        /// Contexts of a communicator.
        pub const EACH: u16 = 4;
        /// Of its messages: those of nonblocking and persistent collectives, of which each operation has tags of its own.
        pub const NONBLOCKING: u16 = 2;
        /// Those by which the members of a new communicator agree on it.
        pub const CREATION: u16 = 3;
    }

    crate::guest_functions! {
        /// Whether messages of a context may be counted by key: keys of nonblocking collectives would be too many.
        pub fn is_lasting(context: u64) -> bool { context % u64::from(EACH) != u64::from(NONBLOCKING) }
    }
}

/// A request, as the MPI library has it in memory: what reports of waiting processes read.
pub mod request {
    crate::guest_constants! {
        /// Where [bytes] a posted receive has what it matches: from the lowest bit on tag (32), context (16), sender (16).
        pub const KEY: u64 = 0;
        /// The sender of a receive from any.
        pub const ANY_SOURCE: u16 = 0xffff;
        /// Where a byte is that says whether the request is complete, and behind it what it is.
        pub const COMPLETE: u64 = 40;
        /// That is a send.
        pub const SEND: u8 = 1;
        /// A receive.
        pub const RECEIVE: u8 = 2;
        /// Where the address of its communicator is.
        pub const COMMUNICATOR: u64 = 120;
        /// Where a send has its message's envelope.
        pub const ENVELOPE: u64 = 160;
    }
}

/// A communicator, likewise.
pub mod communicator {
    crate::guest_constants! {
        /// Where [bytes] its size is.
        pub const SIZE: u64 = 4;
        /// Where the address of its processes' world ranks is, 16 bits each; 0: they are the ranks.
        pub const WORLD: u64 = 24;
        /// Where its context is.
        pub const CONTEXT: u64 = 32;
        /// Where the address of its name is, 0: it has none.
        pub const NAME: u64 = 96;
        /// Length of a name, at most.
        pub const NAME_BYTES: u64 = 128;
        /// Handle of MPI_COMM_WORLD.
        pub const HANDLE_WORLD: u64 = 0x101;
        /// Handle of MPI_COMM_SELF.
        pub const HANDLE_SELF: u64 = 0x102;
    }
}

/// Stage marks. A mark is `slti x0, rs1, imm` (custom HINT space, unprivileged ISA section 2.9):
/// `imm[4:0]` is the code, `imm[11:5]` the call number where the code says so; `rs1` is a live
/// register. It costs no cycle and no fetch and is a no-op on a real RISC-V.
pub mod mark {
    crate::guest_constants! {
    /// An MPI call is entered; `imm[11:5]` = call number (`guest/mpi/runtime/calls.h`); `rs1` = x0.
    pub const CALL: u32 = 1;
    /// The MPI call returns; `imm[11:5]` = call number; `rs1` = x0.
    pub const RETURN: u32 = 2;
    /// A message begins; `rs1` = address of its [`super::Envelope`].
    pub const SEND: u32 = 3;
    /// The message was handed to the NI; `rs1` = address of its envelope.
    pub const READY: u32 = 4;
    /// A receive is posted; `rs1` = the request's address, a name until it is matched.
    pub const POST: u32 = 5;
    /// The request named by the latest `MATCH_REQUEST` met the message; `rs1` = address of its envelope.
    pub const MATCH: u32 = 6;
    /// Names the request of the `MATCH` that follows; `rs1` = the request's address.
    pub const MATCH_REQUEST: u32 = 7;
    /// The message's data is where the program asked; `rs1` = the request's address.
    pub const DELIVER: u32 = 8;
    /// The program learns that its receive is complete (as the current call returns); `rs1` = the request's address.
    pub const DONE: u32 = 9;
    /// The process can go on only when this request completes; `rs1` = the request's address, x0: it waits no more.
    pub const BLOCKED: u32 = 10;
    /// How the message travels, for the record; `rs1` = a number that the device documents.
    pub const PROTOCOL: u32 = 11;
    /// Such a number: by memory that its two processes share.
    pub const PROTOCOL_MEMORY: u32 = 0xff;
    /// What a blocked process waits for, in words: `rs1` = address of a NUL-terminated text, x0: nothing.
    pub const WAITING: u32 = 12;
    /// The whole job must end (MPI_Abort); `rs1` = its exit status.
    pub const ABORT: u32 = 13;
    /// The part of interest begins, or ends if `rs1` = 0: what `--fast-forward` waits for (`chasqui/region.h`).
    pub const REGION: u32 = 14;
    /// The next store into the NI carries (a part of) the message, unnamed; `rs1` = address of its envelope.
    pub const CARRY: u32 = 15;
    /// What the latest load from the NI took is the message of the envelope at `rs1`, numbered here.
    pub const TAKEN: u32 = 16;

    /// Where in the request of a `DELIVER` [bytes] its data's address is.
    pub const REQUEST_BUFFER: u64 = 80;
    /// Where a word is that is 0 if the data lie there one after the other.
    pub const REQUEST_TYPE: u64 = 96;
    /// Where their length [bytes] is.
    pub const REQUEST_GOT: u64 = 136;
    /// Where the data of the message are whose `SEND` follows, for recordings; `rs1` = their address.
    pub const DATA: u32 = 17;
    /// A message that no posted receive takes joins those that wait; `rs1` = address of its envelope.
    pub const QUEUED: u32 = 18;
    /// The data of such a message are copied aside until its receive comes; `rs1` = address of its envelope.
    pub const COPIED: u32 = 19;
    /// The process has polled in vain and given its hart up, and begins to count its polls anew.
    pub const YIELDED: u32 = 20;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest/include/chasqui/abi.h");
        super::header::check(path, &super::header::text());
    }
}

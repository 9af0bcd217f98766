//! What a port asks of the bus, and what the bus asks of a port.

/// What another master's transaction asks of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snoop {
    /// It reads: a modified line is given and kept shared.
    Read,
    /// It writes, or wants the only copy: the line goes.
    Invalidate,
    /// A cache-block operation of another hart: what is modified goes to memory, the line stays.
    Clean,
    /// A cache-block operation of another hart: what is modified goes to memory, the line goes.
    Flush,
}

/// What a snoop found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snooped {
    /// A copy was there.
    pub present: bool,
    /// It was modified: the cache gives the data.
    pub dirty: bool,
}

impl Snooped {
    /// What two caches found.
    pub fn or(self, other: Snooped) -> Snooped {
        Snooped { present: self.present || other.present, dirty: self.dirty || other.dirty }
    }
}

/// A transaction that a port asks of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Fetch a line for an instruction that waits.
    Fill {
        /// Physical line address.
        line: u64,
        /// For the data side; else for instructions.
        data: bool,
        /// With the right to write.
        exclusive: bool,
    },
    /// Fetch the line of the oldest buffered store, or the right to write it.
    Own {
        /// Physical line address.
        line: u64,
        /// The line is here, shared: only the right is missing.
        upgrade: bool,
    },
    /// Fetch a line of network memory into the network cache, for an instruction that waits.
    NetworkFill {
        /// Physical line address.
        line: u64,
    },
    /// The L2 has the line of the oldest buffered store: no bus, only its latency.
    OwnFromL2,
    /// Write a dirty line back.
    WriteBack {
        /// Physical line address.
        line: u64,
        /// Length [bytes].
        bytes: u32,
        /// It was flushed by the program, not evicted.
        flush: bool,
    },
    /// A cache-block operation asks the caches of other harts.
    Block {
        /// Physical line address.
        line: u64,
        /// Length [bytes].
        bytes: u32,
        /// What it asks of them.
        snoop: Snoop,
    },
    /// A posted uncached store.
    UncachedStore {
        /// Physical address.
        address: u64,
        /// Length [bytes].
        bytes: u32,
        /// Value.
        value: u64,
    },
    /// A store of 64 bytes to a device, whose data are [`Port::burst`](crate::Port::burst).
    Store64 {
        /// Physical address.
        address: u64,
        /// An instruction waits for the device's answer; else it is posted.
        answered: bool,
    },
    /// An uncached load, for an instruction that waits.
    UncachedLoad {
        /// Physical address.
        address: u64,
        /// Length [bytes].
        bytes: u32,
    },
    /// A load from memory by a port without caches, for an instruction that waits.
    DirectLoad {
        /// Physical address.
        address: u64,
        /// Length [bytes].
        bytes: u32,
    },
    /// A posted store to memory by a port without caches.
    DirectStore {
        /// Physical address.
        address: u64,
        /// Length [bytes].
        bytes: u32,
        /// Value; none: it is in memory already.
        value: Option<u64>,
    },
}

impl Request {
    /// What the transaction is, once other caches have answered: a cache-block operation that found a
    /// modified line writes it back.
    pub fn answered(self, found: Snooped) -> Request {
        match self {
            Request::Block { line, bytes, .. } if found.dirty => {
                Request::WriteBack { line, bytes, flush: true }
            }
            other => other,
        }
    }

    /// Nothing but its address is on the bus, if it is there at all.
    pub fn is_address_only(&self) -> bool {
        matches!(
            self,
            Request::Own { upgrade: true, .. }
                | Request::OwnFromL2
                | Request::Block { .. }
                | Request::WriteBack { bytes: 0, .. }
        )
    }

    /// It moves a line between caches and main memory, whose addresses are below `dram_bytes`, or within the caches.
    pub(super) fn is_of_memory(&self, dram_bytes: u64) -> bool {
        match *self {
            Request::Fill { line, .. } | Request::Own { line, .. } | Request::WriteBack { line, .. } => {
                line < dram_bytes
            }
            other => other == Request::OwnFromL2,
        }
    }

    /// A posted store to a device.
    pub(super) fn is_device_store(&self) -> bool {
        matches!(self, Request::UncachedStore { .. } | Request::Store64 { .. })
    }

    /// It changes nothing in the port but what the instruction that waits gets: a loop may poll with it.
    pub(super) fn leaves_no_trace(&self) -> bool {
        matches!(
            self,
            Request::UncachedLoad { .. }
                | Request::DirectLoad { .. }
                | Request::Store64 { answered: true, .. }
        )
    }
}

/// The three transactions that a port may have under way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Slot {
    /// For the instruction that waits.
    Blocking,
    /// For the oldest buffered store.
    WriteBuffer,
    /// The oldest posted transaction.
    Posted,
}

impl Slot {
    /// All, by their numbers.
    pub const ALL: [Slot; 3] = [Slot::Blocking, Slot::WriteBuffer, Slot::Posted];
}
const _: () =
    assert!(Slot::ALL[Slot::WriteBuffer as usize] as u8 == 1 && Slot::ALL[Slot::Posted as usize] as u8 == 2);

//! Messages as the NI brings them, and the sizes of sections.

/// Length of a line of the network section, and of what is bound at once: a sector [bytes].
pub const LINE_BYTES: u64 = 16;

/// Sets and ways of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionGeometry {
    /// Sets, a power of two.
    pub sets: u32,
    /// Ways of a set.
    pub ways: u32,
}

/// A message that comes, or a part of one, as the NI says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Its name, which no other message that waits has.
    pub id: u64,
    /// Context, source and tag: what its receive asks for.
    pub key: u64,
    /// Number of the message among those that have come. Software deals with them in this order.
    pub number: u32,
    /// Where the part begins in the message [bytes], at a multiple of a line. Parts come in their order.
    pub offset: u32,
    /// Length of the message [bytes].
    pub length: u32,
}

/// A message in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Physical address of the buffer.
    pub buffer: u64,
    /// Length of the message [bytes].
    pub bytes: u32,
}

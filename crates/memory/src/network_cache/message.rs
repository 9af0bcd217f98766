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
    /// Its number, which no other message that waits has.
    pub id: u64,
    /// Its envelope, context, source and tag: what its receive asks for.
    pub key: u64,
    /// Its number among the messages of that envelope, from 1 on. Envelope and ordinal are its name.
    pub ordinal: u32,
    /// Nothing but its name leads to it: the name is kept until the message is bound ([`NetworkCache::keeps`]).
    ///
    /// [`NetworkCache::keeps`]: super::NetworkCache::keeps
    pub is_kept: bool,
    /// Where the part begins in the message [bytes], at a multiple of a line. Parts come in their order.
    pub offset: u32,
    /// Length of the message [bytes].
    pub length: u32,
}

/// What a message is asked for by: its envelope and its number among the messages of that envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Context, source and tag.
    pub key: u64,
    /// From 1 on.
    pub ordinal: u32,
}

/// A message that was found by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub id: u64,
    /// Its length [bytes].
    pub bytes: u32,
}

impl Incoming {
    /// Its name.
    pub fn name(&self) -> Name {
        Name { key: self.key, ordinal: self.ordinal }
    }
}

/// A message in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Physical address of the buffer.
    pub buffer: u64,
    /// Length of the message [bytes].
    pub bytes: u32,
}

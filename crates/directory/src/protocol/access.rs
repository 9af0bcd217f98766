//! A processor's accesses: what it wants of a line, and what it is told in the end.

/// What a processor wants of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// A copy to read.
    Load,
    /// The line, to write.
    Store,
    /// Memory is to have what was modified; the line leaves.
    WriteBack,
}

/// A processor's access: what it wants, and its place among those that the processor may have under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// What it wants.
    pub want: Want,
    /// Its place.
    pub slot: u8,
}

/// An access that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whose.
    pub node: usize,
    /// Of which line.
    pub line: u64,
    /// Which it was.
    pub ticket: Ticket,
    /// What has come was invalidated on its way: it is used once, and then not there any more.
    pub once: bool,
}

//! Pages, and what may be done with them.

/// Length of a page [bytes].
pub const PAGE_BYTES: u64 = 4096;

/// What may be done with a page: the bits of `PROT_*` (Linux
/// include/uapi/asm-generic/mman-common.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection(pub u8);

impl Protection {
    /// Nothing.
    pub const NONE: Protection = Protection(0);
    /// Reading.
    pub const READ: Protection = Protection(1);
    /// Writing (and reading).
    pub const WRITE: Protection = Protection(2);
    /// Executing.
    pub const EXECUTE: Protection = Protection(4);
    /// Reading and writing.
    pub const READ_WRITE: Protection = Protection(3);

    /// Whether all of `other` is allowed.
    pub fn allows(self, other: Protection) -> bool {
        self.0 & other.0 == other.0
    }
}

//! What may be wrong with a command.

use std::fmt;

/// What is wrong with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The queue has no such command.
    Command,
    /// There is no such tag group.
    Tag,
    /// Its length, or an element's, is none that a transfer may have.
    Size,
    /// Its addresses, or an element's, are not aligned as they must be.
    Alignment,
    /// The local store has no such bytes.
    LocalStore,
    /// No page is there, as the page table has it: the kernel may bring it in, and restart.
    NoTranslation,
    /// The page may not be read, or written.
    Protection,
    /// There is nothing at the physical address, or nothing that takes such a transfer.
    NoMemory,
    /// The TLB has no translation, and the kernel is to give it one, and restart (`translation = "kernel"`).
    Miss,
}

impl Reason {
    /// A kernel can do something about it, after which the MFC goes on where it was.
    pub fn is_restartable(self) -> bool {
        matches!(self, Reason::NoTranslation | Reason::Protection | Reason::Miss)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Command => "the queue has no such command",
            Reason::Tag => "there are 32 tag groups",
            Reason::Size => "a transfer has 1, 2, 4, 8 or 16 bytes, or a multiple of 16 up to 16384",
            Reason::Alignment => {
                "addresses are naturally aligned and have the same low four bits, those of lines are aligned to 128 bytes"
            }
            Reason::LocalStore => "the local store ends before",
            Reason::NoTranslation => "the address has no translation",
            Reason::Protection => "the page does not allow it",
            Reason::NoMemory => "nothing at the address takes it",
            Reason::Miss => "the TLB lacks the translation",
        })
    }
}

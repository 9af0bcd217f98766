//! Where standard input comes from.

use std::fmt::Debug;
use std::io;

/// What a process reads from its standard input. It is a pipe to the process: it can't be sought in.
pub trait Input: Debug + Send + Sync {
    /// Puts what comes from byte `offset` on into `buffer`: all of it, or less at the input's end, or up to the end of a line
    /// that somebody types. `None`: the run ends before more has come. Nothing before `offset` is asked for again.
    ///
    /// # Errors
    /// When the host can't read it.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// How many bytes have been read, and their SHA-256; `None`: nobody wants to know it.
    fn taken(&self) -> Option<(u64, String)> {
        None
    }
}

/// These bytes.
impl Input for Vec<u8> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let rest = self.get(offset as usize..).unwrap_or(&[]);
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(Some(length))
    }
}

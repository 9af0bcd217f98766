//! Blocks of a process's memory as NIs move them over the bus: line by line, their pages brought in first.

use chasqui_memory::PAGE_BYTES;
use chasqui_placement::ProcessId;

use crate::Context;

/// Parts of the `bytes` from `address` on, none of which crosses the end of a line: offset and length of each.
pub fn line_parts(address: u64, bytes: u64, line_bytes: u64) -> impl Iterator<Item = (u64, u32)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = address + done;
        let part = (line_bytes - at % line_bytes).min(bytes - done);
        done += part;
        (part > 0).then_some((done - part, part as u32))
    })
}

/// Physical memory that does not cross the end of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Physical address.
    pub address: u64,
    /// Length [bytes].
    pub bytes: u64,
}

impl Context<'_, '_> {
    /// Where `bytes` from virtual address `address` of `process` on are, page by page, to be read, or written if `write`.
    ///
    /// # Errors
    /// The first address of which the page is not there, or may not be read or written.
    pub fn pieces(
        &self,
        process: ProcessId,
        address: u64,
        bytes: u64,
        write: bool,
    ) -> Result<Vec<Piece>, u64> {
        let end = address.checked_add(bytes).ok_or(address)?;
        let (mut pieces, mut at) = (vec![], address);
        while at < end {
            let bytes = (PAGE_BYTES - at % PAGE_BYTES).min(end - at);
            pieces.push(Piece { address: self.physical(process, at, write).ok_or(at)?, bytes });
            at += bytes;
        }
        Ok(pieces)
    }

    /// Has the operating system bring in the pages of `bytes` from virtual address `address` on that `process` lacks, and says how many those were.
    ///
    /// # Errors
    /// The first address at which the process has no such page, or may not read or write it; the rest is not looked at. So
    /// is a block that goes beyond the end of all addresses.
    pub fn bring_in(
        &mut self,
        process: ProcessId,
        address: u64,
        bytes: u64,
        write: bool,
    ) -> Result<u64, u64> {
        let mut missing = 0;
        let mut at = address;
        let end = address.checked_add(bytes).ok_or(address)?;
        while at < end {
            missing += u64::from(self.physical(process, at, false).is_none());
            if self.physical(process, at, write).is_none() && !self.page_in(process, at, write) {
                return Err(at);
            }
            at = (at & !(PAGE_BYTES - 1)) + PAGE_BYTES;
        }
        Ok(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_with_their_lines() {
        let parts = |address, bytes| line_parts(address, bytes, 32).collect::<Vec<_>>();
        assert_eq!(parts(64, 64), [(0, 32), (32, 32)]);
        assert_eq!(parts(30, 40), [(0, 2), (2, 32), (34, 6)]);
        assert_eq!(parts(7, 0), []);
    }
}

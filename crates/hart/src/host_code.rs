//! Memory for translated code.

use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::{Mmap, MmapOptions};

/// Host code of one region, executable and read-only.
pub(crate) struct Code(Mmap);

/// Pieces of code that there are in the whole process.
static PIECES: AtomicUsize = AtomicUsize::new(0);
/// So many there may be: each is a mapping, of which Linux allows 65,530 in a process.
const PIECES_MAX: usize = 1 << 14;

impl Code {
    /// A copy of `bytes`, which are independent of their position. `None`: there is no room for it.
    pub fn new(bytes: &[u8]) -> Option<Code> {
        if PIECES.fetch_add(1, Ordering::Relaxed) >= PIECES_MAX {
            PIECES.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let code = MmapOptions::new().len(bytes.len()).map_anon().and_then(|mut memory| {
            memory[..bytes.len()].copy_from_slice(bytes);
            memory.make_exec()
        });
        match code {
            Ok(memory) => Some(Code(memory)),
            Err(_) => {
                PIECES.fetch_sub(1, Ordering::Relaxed);
                None
            }
        }
    }

    pub fn start(&self) -> *const u8 {
        self.0.as_ptr()
    }

    /// Length [bytes].
    pub fn bytes(&self) -> usize {
        self.0.len()
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        PIECES.fetch_sub(1, Ordering::Relaxed);
    }
}

//! Memory for translated code.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memmap2::{Mmap, MmapOptions};

/// Host code of one region, executable and read-only.
pub(crate) struct Code {
    code: Mmap,
    bytes: usize,
    _room: Room,
}

/// A piece of code that the process may have.
pub(crate) struct Room(());

/// Pieces of code that there are in the whole process, or may come, and how long they are together [bytes].
static PIECES: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
/// The host gives no executable memory.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);
/// So many there may be: each is a mapping, of which Linux allows 65,530 in a process.
const PIECES_MAX: usize = 1 << 14;
const BYTES_MAX: usize = 256 << 20;
/// What a piece takes is a multiple of a page's length [bytes].
const PAGE_BYTES: usize = 4096;

impl Room {
    /// `None`: there is no room, or no executable memory.
    pub fn take() -> Option<Room> {
        if IS_REFUSED.load(Ordering::Relaxed) || BYTES.load(Ordering::Relaxed) >= BYTES_MAX {
            return None;
        }
        let room = Room::one_more();
        // The room that there is not is given back.
        (PIECES.load(Ordering::Relaxed) <= PIECES_MAX).then_some(room)
    }

    fn one_more() -> Room {
        PIECES.fetch_add(1, Ordering::Relaxed);
        Room(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        PIECES.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Code {
    /// A copy of `bytes`, which are independent of their position. `None`: the host refuses.
    pub fn new(room: Room, bytes: &[u8]) -> Option<Code> {
        let code = MmapOptions::new().len(bytes.len()).map_anon().and_then(|mut memory| {
            memory[..bytes.len()].copy_from_slice(bytes);
            memory.make_exec()
        });
        let Ok(code) = code else {
            IS_REFUSED.store(true, Ordering::Relaxed);
            return None;
        };
        let bytes = code.len().next_multiple_of(PAGE_BYTES);
        BYTES.fetch_add(bytes, Ordering::Relaxed);
        Some(Code { code, bytes, _room: room })
    }

    pub fn start(&self) -> *const u8 {
        self.code.as_ptr()
    }

    /// The memory that it takes [bytes].
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

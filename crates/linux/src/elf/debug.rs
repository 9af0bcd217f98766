//! A program's debugging information.

use chasqui_dwarf::{Frames, Layout, Lines};

/// What it says of addresses in the file; nothing, where there is none or it is damaged.
#[derive(Default)]
pub(super) struct Debug {
    pub lines: Lines,
    pub frames: Frames,
}

impl Debug {
    pub fn read(bytes: &[u8]) -> Debug {
        match object::File::parse(bytes) {
            Ok(file) => Debug { lines: Lines::read(&file, &Layout::new(&file)), frames: Frames::read(&file) },
            Err(_) => Debug::default(),
        }
    }
}

//! A program's debugging information.

use chasqui_dwarf::{Frames, Inlined, Layout, Lines, SourceFunction};

/// What it says of addresses in the file; nothing, where there is none or it is damaged.
#[derive(Default)]
pub(super) struct Debug {
    pub lines: Lines,
    pub frames: Frames,
    inlined: Inlined,
}

impl Debug {
    pub fn read(bytes: &[u8]) -> Debug {
        match object::File::parse(bytes) {
            Ok(file) => Debug {
                lines: Lines::read(&file, &Layout::new(&file)),
                frames: Frames::read(&file),
                inlined: Inlined::default(),
            },
            Err(_) => Debug::default(),
        }
    }

    /// See [`Inlined::at`]; `bytes` are those of the file.
    pub fn functions(&self, bytes: &[u8], address: u64) -> Vec<SourceFunction> {
        object::File::parse(bytes).map_or(vec![], |file| self.inlined.at(&file, address))
    }
}

//! Hosts that are not translated for.

use chasqui_memory::Geometry;

use crate::block::Block;
use crate::hart::Hart;
use crate::host_code::{Code, Room};

/// What is translated together.
pub(crate) struct Region<'a>(&'a Block);

impl<'a> Region<'a> {
    pub fn new(head: &'a Block, _: impl Fn(u64) -> bool) -> Region<'a> {
        Region(head)
    }

    pub fn entries(&self) -> usize {
        self.0.places.len()
    }
}

/// No block is translated.
pub(crate) fn translate(_: &Hart, _: bool, _: Geometry, _: &Region<'_>, _: Room) -> Option<Code> {
    None
}

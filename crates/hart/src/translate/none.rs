//! Hosts that are not translated for.

use chasqui_memory::Geometry;

use crate::block::Block;
use crate::hart::Hart;
use crate::host_code::Code;

/// No block is translated.
pub(crate) fn translate(_: &Hart, _: bool, _: Geometry, _: &Block, _: impl Fn(u64) -> bool) -> Option<Code> {
    None
}

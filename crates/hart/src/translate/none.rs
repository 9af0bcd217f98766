//! Hosts that are not translated for.

use chasqui_memory::Geometry;

use crate::block::Block;
use crate::hart::Hart;
use crate::threaded::{Frame, Place};

/// As where there is translation.
pub(crate) type Function = unsafe extern "C" fn(*mut Hart, *mut Frame<'static>, u64, u64) -> Place;

/// As where there is translation.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub function: Function,
    pub number: u32,
    pub geometry: Geometry,
}

/// There is none.
pub(crate) enum Code {}

impl Code {
    pub fn bytes(&self) -> usize {
        match *self {}
    }
}

/// No block is translated.
pub(crate) fn translate(_: &Hart, _: bool, _: Geometry, _: &Block, _: impl Fn(u64) -> bool) -> Option<Code> {
    None
}

//! Blocks that the host's DMA moves, until their lines are in memory.

use std::collections::VecDeque;

use chasqui_ni::MessageKey;
use chasqui_placement::ProcessId;

/// A block that the host's DMA has to move to a process's buffer, or has moved: the record's name of its message; the buffer,
/// if it goes to one, by physical and virtual address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    block: u64,
    pub message: MessageKey,
    pub place: Option<(u64, ProcessId, u64)>,
}

/// Blocks whose lines may still be on their way to memory, oldest first.
#[derive(Default)]
pub(super) struct Blocks(VecDeque<Moved>);

impl Blocks {
    /// The next block.
    pub fn add(&mut self, message: MessageKey, place: Option<(u64, ProcessId, u64)>) {
        let block = self.0.back().map_or(0, |last| last.block + 1);
        self.0.push_back(Moved { block, message, place });
    }

    /// That of this number, whose data come to memory: those before it are there.
    pub fn of(&mut self, block: u64) -> Moved {
        let before = self.0.partition_point(|moved| moved.block < block);
        self.0.drain(..before);
        *self.0.front().filter(|moved| moved.block == block).expect("it was moved")
    }
}

//! What the firmware has stored for the list of tags, and what is being delivered to a receive's buffer.

use std::collections::VecDeque;

use chasqui_engine::Time;
use chasqui_ni::Piece;
use chasqui_placement::ProcessId;

use super::tags::{Buffer, Operation, TagList};
use crate::np_registers as np;
use crate::parameters::Tags;

/// What the firmware has stored for its next operation, and what the host's DMA delivers.
pub(super) struct Tagged {
    pub list: TagList,
    /// Entries that each process may have.
    entries: u64,
    key: u64,
    address: u64,
    room: u64,
    /// Of the result that was loaded last.
    pub found: Buffer,
    /// Bytes that are being delivered, and pages of the buffer that are next.
    pub bytes: u32,
    pub pieces: VecDeque<(Piece, u64)>,
    pub is_delivering: bool,
    /// From the start of a delivery, with so many pages to be brought in, to its data: for all, and for each.
    pub latencies: (Time, Time),
}

impl Tagged {
    /// Empty lists of `processes`.
    pub fn new(tags: Tags, processes: u32) -> Tagged {
        let latencies = (Time(tags.translate.ps()), Time(tags.page_in.ps()));
        Tagged {
            entries: tags.entries / u64::from(processes),
            list: TagList::new(tags, processes),
            key: 0,
            address: 0,
            room: 0,
            found: Buffer::default(),
            bytes: 0,
            pieces: [].into(),
            is_delivering: false,
            latencies,
        }
    }

    /// Entries that each process may have.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The host's DMA is delivering, or about to.
    pub fn is_delivering(&self) -> bool {
        self.is_delivering
    }

    /// What came of the oldest look or removal.
    pub fn take_result(&mut self) -> u64 {
        let (result, found) = self.list.take_result();
        self.found = found;
        result
    }

    /// What a store of the firmware asks of the list; none: it is something else.
    pub fn operation(&mut self, address: u64, value: u64) -> Option<Operation> {
        let (process, number) = (ProcessId(value as u32), (value >> 32) as u16);
        match address {
            np::TAG_KEY => self.key = value,
            np::TAG_ADDRESS => self.address = value,
            np::TAG_ROOM => self.room = value,
            np::TAG_APPEND => {
                let buffer = Buffer { process, address: self.address, bytes: self.room as u32 };
                return Some(Operation::Append(number, self.key, buffer, (self.room >> 32) as u32));
            }
            np::TAG_REMOVE => return Some(Operation::Remove(process, number)),
            _ => return Some(Operation::Look(process, self.key)),
        }
        None
    }
}

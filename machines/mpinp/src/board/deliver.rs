//! The list of tags at work: the firmware's operations, and the data of a message that met an entry, on their way to the
//! buffer of the receive. The card has that by its virtual address (address translation services; no page is pinned): each
//! page is looked for before data go there, and once more when they come to memory.

use std::collections::VecDeque;

use chasqui_engine::Time;
use chasqui_ni::{Context, HostBlock, MessageKey, Piece};
use chasqui_placement::ProcessId;

use super::Board;
use super::events::BoardEvent;
use super::tags::{Buffer, Operation, TagList};
use crate::np_registers as np;
use crate::parameters::Tags;

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

/// What the firmware has stored for its next operation, and what the host's DMA delivers.
pub(super) struct Tagged {
    pub list: TagList,
    /// Entries that each process may have.
    entries: u64,
    key: u64,
    address: u64,
    room: u64,
    /// Of the result that was loaded last.
    found: Buffer,
    /// Bytes that are being delivered, and pages of the buffer that are next.
    bytes: u32,
    pieces: VecDeque<(Piece, u64)>,
    is_delivering: bool,
    /// From the start of a delivery, with so many pages to be brought in, to its data: for all, and for each.
    latencies: (Time, Time),
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
    fn operation(&mut self, address: u64, value: u64) -> Option<Operation> {
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

impl Board {
    /// The firmware stores to a register of the list of tags.
    ///
    /// # Errors
    /// It can't be: in words.
    pub(super) fn tags_store(
        &mut self,
        address: u64,
        value: u64,
        c: &mut Context<'_, '_>,
    ) -> Result<(), String> {
        if address == np::TAG_DELIVER {
            return self.deliver(value as u32, c);
        }
        let tags = self.tags.as_mut().ok_or("a store to the list of tags, which the card has not")?;
        if let Some(operation) = tags.operation(address, value)
            && let Some(over) = tags.list.ask(operation, c.now)?
        {
            c.at(over, BoardEvent::Looked.into());
        }
        Ok(())
    }

    /// An operation of the list is over.
    pub(super) fn looked(&mut self, c: &mut Context<'_, '_>) {
        let tags = self.tags.as_mut().expect("the card has a list");
        let next = tags.list.is_over(c.now);
        if let Some(over) = next {
            c.at(over, BoardEvent::Looked.into());
        }
        self.happened(np::EVENT_TAGS, c);
    }

    /// The firmware has `bytes` delivered to the buffer that was found.
    fn deliver(&mut self, bytes: u32, c: &mut Context<'_, '_>) -> Result<(), String> {
        let is_busy = self.is_moving();
        let tags = self.tags.as_mut().ok_or("TAG_DELIVER without a list of tags")?;
        if is_busy {
            return Err(format!("TAG_DELIVER of {bytes} bytes while the host's DMA is busy"));
        }
        let Buffer { process, address, bytes: room } = tags.found;
        tags.bytes = bytes.min(room);
        tags.is_delivering = true;
        let (all, each) = tags.latencies;
        let missing = match c.bring_in(process, address, tags.bytes.into(), true) {
            Ok(missing) => missing,
            Err(at) => {
                tags.bytes = 0;
                c.fault(process, format!("protection: a receive's buffer is not to be written ({at:#x})"));
                0
            }
        };
        self.records.moves = self.records.take_named(&mut self.local.processor, c);
        c.at(c.now + all + Time(each.0 * missing), BoardEvent::Translated.into());
        Ok(())
    }

    /// The pages of the buffer are known.
    pub(super) fn translated(&mut self, c: &mut Context<'_, '_>) {
        let tags = self.tags.as_mut().expect("the card has a list");
        let Buffer { process, address, .. } = tags.found;
        // The process may have given the pages up meanwhile.
        let pieces = c.pieces(process, address, tags.bytes.into(), true).unwrap_or_default();
        let mut at = address;
        for piece in pieces {
            tags.pieces.push_back((piece, at));
            at += piece.bytes;
        }
        self.deliver_next(c);
    }

    /// The next page of the delivery moves, or it is over.
    pub(super) fn deliver_next(&mut self, c: &mut Context<'_, '_>) {
        let tags = self.tags.as_mut().expect("the card has a list");
        let process = tags.found.process;
        let Some((piece, at)) = tags.pieces.pop_front() else {
            tags.is_delivering = false;
            return self.happened(np::EVENT_HOST, c);
        };
        self.host.piece = (at - tags.found.address) as u32;
        self.host.blocks.add(self.records.moves, Some((piece.address, process, at)));
        let block = HostBlock { host: piece.address, bytes: piece.bytes as u32, to_host: true };
        self.host.path.begin(block, c.now);
        self.io_steps(c);
    }

    /// The host's DMA has a block, or a delivery.
    pub(super) fn is_moving(&self) -> bool {
        self.host.path.is_busy() || self.tags.as_ref().is_some_and(Tagged::is_delivering)
    }
}

//! DMA: blocks of memory are read and written over the bus, coherently, in transactions of a line or less.
//!
//! Each is for one unit of an NI, which deals with one block at a time; its transactions' tags are the unit's, with the
//! number of the part ([`crate::units`]). Data move when a transaction is granted, which is its place in the order of
//! memory; the block is there when the last is over.
//!
//! Of a process's block each part is looked up again at its grant: a page that the process has given up since may be
//! another's, or it may have given up its right to read or write it. A part of such a page is read as zeros, as a new page
//! would be, and is not written.

use std::collections::VecDeque;

use chasqui_placement::ProcessId;

use crate::{BusOperation, BusRequest, Context, Piece, line_parts};

/// The tag of a unit's transaction `number` (`tag` of what [`crate::units`] declares).
pub type TagOf = fn(usize) -> u64;

/// A virtual address of a process.
type Place = (ProcessId, u64);

/// What a block asks of the bus. So many transactions are before it at a time: whoever asks for one waits behind them.
struct Requests {
    at_once: usize,
    waiting: VecDeque<BusRequest>,
    /// Transactions that are not over.
    left: usize,
}

impl Requests {
    /// All at once.
    const fn new() -> Requests {
        Requests { at_once: usize::MAX, waiting: VecDeque::new(), left: 0 }
    }

    fn ask(&mut self, request: BusRequest, c: &mut Context<'_, '_>) {
        if self.left < self.at_once {
            c.bus(request);
        } else {
            self.waiting.push_back(request);
        }
        self.left += 1;
    }

    /// A transaction is over. True: so are all.
    fn done(&mut self, c: &mut Context<'_, '_>) -> bool {
        self.left -= 1;
        if let Some(request) = self.waiting.pop_front() {
            c.bus(request);
        }
        self.left == 0
    }
}

/// Reads blocks.
pub struct DmaReader {
    tag: TagOf,
    line_bytes: u64,
    requests: Requests,
    /// Offset in the block of each part.
    offsets: Vec<usize>,
    /// Where the block is, if it is a process's.
    place: Option<Place>,
    data: Vec<u8>,
}

impl DmaReader {
    /// One whose transactions have the tags of `tag`, on a bus with lines of `line_bytes`.
    pub fn new(tag: TagOf, line_bytes: u64) -> DmaReader {
        DmaReader { tag, line_bytes, requests: Requests::new(), offsets: vec![], place: None, data: vec![] }
    }

    /// Asks for `lines` at a time.
    pub fn at_once(mut self, lines: usize) -> DmaReader {
        self.requests.at_once = lines;
        self
    }

    /// Reads `bytes` at virtual address `address` of `process`. False: there is nothing to read.
    ///
    /// # Errors
    /// The first address of which the page is not there, or may not be read ([`Context::bring_in`] has it brought in).
    pub fn read(
        &mut self,
        (process, address): (ProcessId, u64),
        bytes: u64,
        c: &mut Context<'_, '_>,
    ) -> Result<bool, u64> {
        let pieces = c.pieces(process, address, bytes, false)?;
        let is_something = self.read_physical(&pieces, c);
        self.place = Some((process, address));
        Ok(is_something)
    }

    /// Reads `pieces` of physical memory, one behind the other. False: there is nothing to read.
    pub fn read_physical(&mut self, pieces: &[Piece], c: &mut Context<'_, '_>) -> bool {
        debug_assert_eq!(self.requests.left, 0, "a block at a time");
        self.place = None;
        self.offsets.clear();
        let mut bytes = 0;
        for piece in pieces {
            for (offset, length) in line_parts(piece.address, piece.bytes, self.line_bytes) {
                let (address, tag) = (piece.address + offset, (self.tag)(self.offsets.len()));
                let request = BusRequest { operation: BusOperation::Read, address, bytes: length, tag };
                self.requests.ask(request, c);
                self.offsets.push((bytes + offset) as usize);
            }
            bytes += piece.bytes;
        }
        self.data = vec![0; bytes as usize];
        !self.offsets.is_empty()
    }

    /// The transaction of part `number` is granted.
    pub fn granted(&mut self, number: usize, request: BusRequest, c: &Context<'_, '_>) {
        let (offset, bytes) = (self.offsets[number], request.bytes as usize);
        if c.is_still(self.place, offset, request.address, false) {
            let source = c.memory.slice(request.address, bytes).expect("whoever asked has checked that");
            self.data[offset..][..bytes].copy_from_slice(source);
        }
    }

    /// A transaction is over: the block, if it was the last.
    pub fn done(&mut self, c: &mut Context<'_, '_>) -> Option<Vec<u8>> {
        self.requests.done(c).then(|| std::mem::take(&mut self.data))
    }
}

/// What is written in one transaction.
struct Part<L> {
    operation: BusOperation,
    address: u64,
    place: Option<Place>,
    data: Vec<u8>,
    label: Option<L>,
}

/// Writes blocks: what is added, in that order. A part may have a label of type `L`, to be had back when it is written.
pub struct DmaWriter<L = ()> {
    tag: TagOf,
    line_bytes: u64,
    requests: Requests,
    parts: Vec<Part<L>>,
}

impl<L: Copy> DmaWriter<L> {
    /// One whose transactions have the tags of `tag`, on a bus with lines of `line_bytes`.
    pub fn new(tag: TagOf, line_bytes: u64) -> DmaWriter<L> {
        DmaWriter { tag, line_bytes, requests: Requests::new(), parts: vec![] }
    }

    /// Asks for `lines` at a time.
    pub fn at_once(mut self, lines: usize) -> DmaWriter<L> {
        self.requests.at_once = lines;
        self
    }

    /// `data` go to virtual address `address` of `process`, by `operation`.
    ///
    /// # Errors
    /// The first address of which the page is not there, or may not be written ([`Context::bring_in`] has it brought in):
    /// nothing is added.
    pub fn add(
        &mut self,
        operation: BusOperation,
        (process, address): (ProcessId, u64),
        data: &[u8],
        c: &Context<'_, '_>,
    ) -> Result<(), u64> {
        let pieces = c.pieces(process, address, data.len() as u64, true)?;
        let first = self.parts.len();
        self.add_physical(operation, &pieces, data);
        let mut at = address;
        for part in &mut self.parts[first..] {
            part.place = Some((process, at));
            at += part.data.len() as u64;
        }
        Ok(())
    }

    /// `data` go to `pieces` of physical memory, which have room for them, by `operation`.
    pub fn add_physical(&mut self, operation: BusOperation, pieces: &[Piece], mut data: &[u8]) {
        for piece in pieces {
            let (here, rest) = data.split_at((piece.bytes as usize).min(data.len()));
            for (offset, bytes) in line_parts(piece.address, here.len() as u64, self.line_bytes) {
                let part = here[offset as usize..][..bytes as usize].to_vec();
                self.add_part(operation, piece.address + offset, part, None);
            }
            data = rest;
        }
        debug_assert!(data.is_empty(), "{} bytes without a place", data.len());
    }

    /// One transaction: `data`, which do not cross the end of a line, go to physical address `address`.
    pub fn add_part(&mut self, operation: BusOperation, address: u64, data: Vec<u8>, label: Option<L>) {
        self.parts.push(Part { operation, address, place: None, data, label });
    }

    /// Asks for the bus. False: there is nothing to write.
    pub fn start(&mut self, c: &mut Context<'_, '_>) -> bool {
        debug_assert_eq!(self.requests.left, 0, "a block at a time");
        for (number, part) in self.parts.iter().enumerate() {
            let (operation, address, bytes) = (part.operation, part.address, part.data.len() as u32);
            self.requests.ask(BusRequest { operation, address, bytes, tag: (self.tag)(number) }, c);
        }
        !self.parts.is_empty()
    }

    /// The transaction of part `number` is granted.
    pub fn granted(&self, number: usize, c: &mut Context<'_, '_>) {
        let Part { address, place, data, .. } = &self.parts[number];
        if c.is_still(*place, 0, *address, true) {
            let target = c.memory.slice_mut(*address, data.len()).expect("whoever asked has checked that");
            target.copy_from_slice(data);
        }
    }

    /// The transaction of part `number` is over: its label.
    pub fn done(&mut self, number: usize, c: &mut Context<'_, '_>) -> Written<L> {
        let label = self.parts[number].label;
        let is_all = self.requests.done(c);
        if is_all {
            self.parts.clear();
        }
        Written { label, is_all }
    }
}

/// What a part of a block was that is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written<L> {
    /// The part's.
    pub label: Option<L>,
    /// It was the last.
    pub is_all: bool,
}

impl Context<'_, '_> {
    /// What is `offset` bytes behind `place`, if that is a process's, is at physical address `address` still, and it still
    /// may read it, or write if `write`.
    fn is_still(&self, place: Option<Place>, offset: usize, address: u64, write: bool) -> bool {
        place.is_none_or(|(process, at)| self.physical(process, at + offset as u64, write) == Some(address))
    }
}

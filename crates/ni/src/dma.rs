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

/// Transactions before the bus, so many at a time: whoever else asks waits behind them. The others follow in their order.
pub struct Portions {
    at_once: usize,
    under_way: usize,
    waiting: VecDeque<BusRequest>,
}

impl Portions {
    /// `at_once` at a time.
    pub const fn of(at_once: usize) -> Portions {
        Portions { at_once, under_way: 0, waiting: VecDeque::new() }
    }

    /// Asks for a transaction.
    pub fn ask(&mut self, request: BusRequest, c: &mut Context<'_, '_>) {
        if self.under_way < self.at_once {
            self.under_way += 1;
            c.bus(request);
        } else {
            self.waiting.push_back(request);
        }
    }

    /// A transaction is over: the next is asked for.
    pub fn done(&mut self, c: &mut Context<'_, '_>) {
        match self.waiting.pop_front() {
            Some(request) => c.bus(request),
            None => self.under_way -= 1,
        }
    }
}

/// Reads blocks.
pub struct DmaReader {
    tag: TagOf,
    line_bytes: u64,
    /// Offset in the block of each part.
    offsets: Vec<usize>,
    /// Where the block is, if it is a process's.
    place: Option<Place>,
    data: Vec<u8>,
    portions: Portions,
    /// Parts of which the transaction is not over.
    left: usize,
}

impl DmaReader {
    /// One whose transactions have the tags of `tag`, on a bus with lines of `line_bytes`.
    pub fn new(tag: TagOf, line_bytes: u64) -> DmaReader {
        DmaReader {
            tag,
            line_bytes,
            offsets: vec![],
            place: None,
            data: vec![],
            portions: Portions::of(usize::MAX),
            left: 0,
        }
    }

    /// Asks for `lines` at a time.
    pub fn at_once(mut self, lines: usize) -> DmaReader {
        self.portions = Portions::of(lines);
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
        debug_assert_eq!(self.left, 0, "a block at a time");
        self.place = None;
        self.offsets.clear();
        let mut bytes = 0;
        for piece in pieces {
            for (offset, length) in line_parts(piece.address, piece.bytes, self.line_bytes) {
                let (address, tag) = (piece.address + offset, (self.tag)(self.offsets.len()));
                let request = BusRequest { operation: BusOperation::Read, address, bytes: length, tag };
                self.portions.ask(request, c);
                self.offsets.push((bytes + offset) as usize);
            }
            bytes += piece.bytes;
        }
        self.data = vec![0; bytes as usize];
        self.left = self.offsets.len();
        self.left > 0
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
        self.left -= 1;
        self.portions.done(c);
        (self.left == 0).then(|| std::mem::take(&mut self.data))
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
    parts: Vec<Part<L>>,
    /// Parts of which the transaction is not over.
    left: usize,
}

impl<L: Copy> DmaWriter<L> {
    /// One whose transactions have the tags of `tag`, on a bus with lines of `line_bytes`.
    pub fn new(tag: TagOf, line_bytes: u64) -> DmaWriter<L> {
        DmaWriter { tag, line_bytes, parts: vec![], left: 0 }
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
        self.start_by(|request| c.bus(request))
    }

    /// Has `ask` ask for the bus. False: there is nothing to write.
    pub fn start_by(&mut self, mut ask: impl FnMut(BusRequest)) -> bool {
        debug_assert_eq!(self.left, 0, "a block at a time");
        for (number, part) in self.parts.iter().enumerate() {
            let (operation, address, bytes) = (part.operation, part.address, part.data.len() as u32);
            ask(BusRequest { operation, address, bytes, tag: (self.tag)(number) });
        }
        self.left = self.parts.len();
        self.left > 0
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
    pub fn done(&mut self, number: usize) -> Written<L> {
        let label = self.parts[number].label;
        self.left -= 1;
        if self.left == 0 {
            self.parts.clear();
        }
        Written { label, is_all: self.left == 0 }
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

//! Reading and writing of memory over the bus, by physical addresses, line by line; caches see it.

use chasqui_ni::{BusOperation, BusRequest, Context, line_parts};

use super::events::Owner;
use super::table::Piece;

/// Asks for all of `pieces`. So many transactions.
pub(super) fn read(pieces: &[Piece], owner: Owner, line_bytes: u64, c: &mut Context<'_, '_>) -> usize {
    let mut count = 0;
    for &(address, bytes) in pieces {
        for (offset, bytes) in line_parts(address, bytes, line_bytes) {
            let (address, tag) = (address + offset, owner.tag(count));
            c.bus(BusRequest { operation: BusOperation::Read, address, bytes, tag });
            count += 1;
        }
    }
    count
}

/// What lies there, once the transactions are over.
pub(super) fn contents(pieces: &[Piece], c: &Context<'_, '_>) -> Vec<u8> {
    let mut data = Vec::with_capacity(pieces.iter().map(|piece| piece.1 as usize).sum());
    for &(address, bytes) in pieces {
        data.extend_from_slice(c.memory.slice(address, bytes as usize).expect("registered memory"));
    }
    data
}

struct Part {
    address: u64,
    data: Vec<u8>,
    /// Number of the completion queue of which it is an entry.
    queue: Option<u32>,
}

/// What one unit writes at a time, part by part in their order.
pub(super) struct Writer {
    owner: Owner,
    parts: Vec<Part>,
    /// Parts of which the transaction is not over.
    left: usize,
}

impl Writer {
    pub fn new(owner: Owner) -> Writer {
        Writer { owner, parts: vec![], left: 0 }
    }

    /// `data` go to `pieces`, which have room for them.
    pub fn add(&mut self, pieces: &[Piece], mut data: &[u8], line_bytes: u64) {
        for &(address, bytes) in pieces {
            let (piece, rest) = data.split_at((bytes as usize).min(data.len()));
            for (offset, bytes) in line_parts(address, piece.len() as u64, line_bytes) {
                let data = piece[offset as usize..][..bytes as usize].to_vec();
                self.parts.push(Part { address: address + offset, data, queue: None });
            }
            data = rest;
        }
        debug_assert!(data.is_empty(), "{} bytes without a place", data.len());
    }

    /// The same of an entry of completion queue `queue`, which does not cross the end of a line.
    pub fn add_entry(&mut self, queue: u32, address: u64, data: Vec<u8>) {
        self.parts.push(Part { address, data, queue: Some(queue) });
    }

    /// Asks for the bus.
    pub fn start(&mut self, c: &mut Context<'_, '_>) {
        for (number, part) in self.parts.iter().enumerate() {
            let (address, bytes, tag) = (part.address, part.data.len() as u32, self.owner.tag(number));
            c.bus(BusRequest { operation: BusOperation::Write, address, bytes, tag });
        }
        self.left = self.parts.len();
        assert!(self.left > 0, "there is always a status to write, or data");
    }

    /// Part `number` takes its place in memory.
    pub fn granted(&self, number: usize, c: &mut Context<'_, '_>) {
        let Part { address, data, .. } = &self.parts[number];
        c.memory.slice_mut(*address, data.len()).expect("registered memory").copy_from_slice(data);
    }

    /// Part `number` is over: the completion queue that has an entry more, and whether this was the last part.
    pub fn done(&mut self, number: usize) -> (Option<u32>, bool) {
        let queue = self.parts[number].queue;
        self.left -= 1;
        if self.left == 0 {
            self.parts.clear();
        }
        (queue, self.left == 0)
    }
}

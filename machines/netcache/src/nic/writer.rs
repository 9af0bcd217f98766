//! Writes over the bus, coherently: caches drop their copies, or the L2 takes what is written.

use chasqui_memory::Incoming;
use chasqui_ni::{BusOperation, BusRequest, Context, line_parts};

use super::events::Owner;
use super::{PROCESS, Shared};

struct Part {
    operation: BusOperation,
    address: u64,
    data: Vec<u8>,
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

    /// `data` go to virtual address `address` of the process, whose pages are there.
    pub fn add(&mut self, address: u64, data: &[u8], s: &Shared, c: &Context<'_, '_>) {
        let operation = if s.unit.inject { BusOperation::Stash } else { BusOperation::Write };
        for (offset, bytes) in line_parts(address, data.len() as u64, s.line_bytes) {
            if let Some(address) = c.physical(PROCESS, address + offset) {
                let data = data[offset as usize..][..bytes as usize].to_vec();
                self.parts.push(Part { operation, address, data });
            }
        }
    }

    /// The message goes into the buffer at physical address `address`, and into the network cache.
    pub fn deposit(&mut self, incoming: Incoming, address: u64, data: &[u8], s: &Shared) {
        for (offset, bytes) in line_parts(address, data.len() as u64, s.line_bytes) {
            let operation = BusOperation::Deposit(Incoming { offset: offset as u32, ..incoming });
            let data = data[offset as usize..][..bytes as usize].to_vec();
            self.parts.push(Part { operation, address: address + offset, data });
        }
    }

    /// The network cache hears of a message that does not go into it.
    pub fn announce(&mut self, incoming: Incoming, address: u64) {
        self.parts.push(Part { operation: BusOperation::Deposit(incoming), address, data: vec![] });
    }

    /// What is written of the last part, which has not been granted, from `from_end` bytes before its end on.
    pub fn amend(&mut self, from_end: usize, data: &[u8]) {
        let last = &mut self.parts.last_mut().expect("a part").data;
        let at = last.len() - from_end;
        last[at..at + data.len()].copy_from_slice(data);
    }

    /// Asks for the bus. False: there is nothing to write.
    pub fn start(&mut self, c: &mut Context<'_, '_>) -> bool {
        for (number, part) in self.parts.iter().enumerate() {
            let (operation, address, bytes) = (part.operation, part.address, part.data.len() as u32);
            c.bus(BusRequest { operation, address, bytes, tag: self.owner.tag(number) });
        }
        self.left = self.parts.len();
        self.left > 0
    }

    /// Part `number` is the last.
    pub fn is_last(&self, number: usize) -> bool {
        number + 1 == self.parts.len()
    }

    /// Part `number` takes its place in memory.
    pub fn granted(&self, number: usize, c: &mut Context<'_, '_>) {
        let Part { address, data, .. } = &self.parts[number];
        c.memory.slice_mut(*address, data.len()).expect("memory").copy_from_slice(data);
    }

    /// A part is over. True: it was the last.
    pub fn done(&mut self) -> bool {
        self.left -= 1;
        if self.left == 0 {
            self.parts.clear();
        }
        self.left == 0
    }
}

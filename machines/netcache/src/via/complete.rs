//! Completions: a descriptor's status, an entry in the VI's completion queue, and the interrupt for who waits for it.
//! Those of sends, and of what a broken connection leaves behind, are written here; those of receives behind their data.

use std::collections::VecDeque;

use chasqui_ni::{BusOperation, Context, DmaWriter, Piece};

use super::Shared;
use super::events::{Owner, ViaEvent};
use super::registers::{CAUSE_COMPLETION, ENTRY_RECEIVE, TABLE_WRITE, ViaEntry};

/// Offset of immediate data, length and status in a descriptor.
const RESULT: u64 = 20;

/// Writes what ends with a completion. An entry of a completion queue, which does not cross the end of a line, has the
/// queue's number as its label.
pub(super) type EntryWriter = DmaWriter<u32>;

/// A completion queue, in registered memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    pub address: u64,
    pub handle: u32,
    /// A power of two; 0: there is no such queue.
    pub entries: u32,
    pub tag: u32,
    /// Entries that have a place, and those that are in memory.
    produced: u32,
    written: u32,
    /// An interrupt once more than so many are written.
    armed: Option<u32>,
}

impl Queue {
    /// One whose entries begin at `address`; the other registers are to come.
    pub fn at(address: u64) -> Queue {
        Queue { address, ..Queue::default() }
    }

    /// Stored by the driver: interrupt if there are more than `consumed`. True: there are.
    pub fn arm(&mut self, consumed: u32) -> bool {
        let is_there = self.written != consumed;
        self.armed = (!is_there).then_some(consumed);
        is_there
    }
}

/// How a descriptor ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub vi: u32,
    /// It is of the receive queue.
    pub is_receive: bool,
    /// Physical address of the descriptor.
    pub physical: u64,
    pub immediate: u32,
    pub length: u32,
    pub status: u32,
}

impl Shared {
    /// `completion` is written, behind what `writer` has.
    pub fn conclude(&mut self, completion: Completion, writer: &mut EntryWriter) {
        let Completion { vi, is_receive, physical, immediate, length, status } = completion;
        let result = [immediate, length, status].map(u32::to_le_bytes).concat();
        let place = Piece { address: physical + RESULT, bytes: result.len() as u64 };
        writer.add_physical(BusOperation::Write, &[place], &result);
        let state = &self.vis[vi as usize];
        let Some(number) = (if is_receive { state.receive_queue } else { state.send_queue }) else { return };
        let Some(queue) = self.queues.get_mut(number as usize).filter(|queue| queue.entries > 0) else {
            return;
        };
        let bytes = size_of::<ViaEntry>() as u64;
        let at = queue.address + u64::from(queue.produced & (queue.entries - 1)) * bytes;
        // An entry does not cross a page. A queue whose memory is gone has no entries.
        let Some(pieces) = self.table.translate(at, queue.handle, bytes, queue.tag, TABLE_WRITE) else {
            return;
        };
        queue.produced = queue.produced.wrapping_add(1);
        let flag = if is_receive { ENTRY_RECEIVE } else { 0 };
        let own = vi % self.via.vis as u32;
        let entry = ViaEntry { vi: own | flag, number: queue.produced };
        writer.add_part(BusOperation::Write, pieces[0].address, entry.to_bytes(), Some(number));
    }

    /// Completion queue `number` has an entry more.
    pub fn entered(&mut self, number: u32, c: &mut Context<'_, '_>) {
        let queue = &mut self.queues[number as usize];
        queue.written = queue.written.wrapping_add(1);
        if queue.armed.is_some_and(|consumed| queue.written != consumed) {
            queue.armed = None;
            self.interrupt(CAUSE_COMPLETION, c);
        }
    }

    /// There is a reason for an interrupt.
    pub fn interrupt(&mut self, cause: u64, c: &mut Context<'_, '_>) {
        self.counters.interrupts += u64::from(self.cause == 0);
        self.cause |= cause;
        c.interrupt(0, true);
    }
}

/// The unit that writes completions that come without data.
pub(super) struct Completer {
    queue: VecDeque<Completion>,
    is_busy: bool,
    pub writer: EntryWriter,
}

impl Completer {
    pub fn new(line_bytes: u64) -> Completer {
        let writer = DmaWriter::new(|number| Owner::Complete.tag(number), line_bytes);
        Completer { queue: VecDeque::new(), is_busy: false, writer }
    }

    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.queue.extend(s.ended.drain(..));
        if !self.is_busy && !self.queue.is_empty() {
            self.is_busy = true;
            s.pipeline.begin(ViaEvent::Completed, c);
        }
    }

    /// Control is over.
    pub fn write(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let completion = self.queue.pop_front().expect("a completion is dealt with");
        s.conclude(completion, &mut self.writer);
        let is_something = self.writer.start(c);
        debug_assert!(is_something, "there is always a status to write");
    }

    /// It is written.
    pub fn finish(&mut self) {
        self.is_busy = false;
    }
}

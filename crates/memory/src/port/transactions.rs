//! What a port has asked of the bus and what it has posted.

use std::collections::VecDeque;

use super::memory_view::MemoryView;
use super::request::{Request, Slot};

/// The transactions of a port: at most one is under way in each [`Slot`].
pub(super) struct Transactions {
    /// By slot, from the request until it is over.
    under_way: [Option<Request>; 3],
    /// Requests not yet taken by the bus, with the cycle at which each was made.
    untaken: Vec<(u64, Slot, Request)>,
    /// What need not be waited for, oldest first; the oldest is in [`Slot::Posted`].
    posted: VecDeque<Request>,
    /// How many may be posted by instructions; evictions always may.
    room: usize,
    /// Transactions that were asked for.
    asked: u64,
    /// Those that were posted to write what this port alone has had.
    written: u64,
    changes: u64,
}

impl Transactions {
    /// None yet. Instructions may post `room` of them.
    pub fn new(room: usize) -> Transactions {
        Transactions {
            under_way: [None; 3],
            untaken: Vec::with_capacity(4),
            posted: VecDeque::new(),
            room,
            asked: 0,
            written: 0,
            changes: 0,
        }
    }

    /// Moves with every transaction that begins, ends or is posted, but for those with which a loop may poll.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Transactions that were asked for.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// Writes of what this port alone has had that were posted.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// A transaction is under way that the bus has, or is to have.
    pub fn uses_bus(&self) -> bool {
        self.under_way.iter().flatten().any(|&request| request != Request::OwnFromL2)
    }

    /// What is in [`Slot::WriteBuffer`], and how many were asked for.
    pub fn of_write_buffer(&self) -> (Option<Request>, u64) {
        (self.in_slot(Slot::WriteBuffer), self.asked)
    }

    /// The same as it was: since then nothing has been asked of the bus.
    pub fn restore_write_buffer(&mut self, (request, asked): (Option<Request>, u64)) {
        self.under_way[Slot::WriteBuffer as usize] = request;
        self.asked = asked;
    }

    /// Nothing is under way or posted.
    pub fn is_quiet(&self) -> bool {
        self.posted.is_empty() && self.under_way.iter().all(Option::is_none)
    }

    // --- by slot --------------------------------------------------------------------------------

    /// The transaction in `slot`.
    #[inline]
    pub fn in_slot(&self, slot: Slot) -> Option<Request> {
        self.under_way[slot as usize]
    }

    /// A transaction is in `slot`.
    #[inline]
    pub fn is_under_way(&self, slot: Slot) -> bool {
        self.under_way[slot as usize].is_some()
    }

    /// The transaction that the hart waits for may change what is known of `line`, or brings it. A fill of another line
    /// does not: if an interrupt takes the hart away from the fetch or walk that needs it, lines that are here are used.
    #[inline]
    pub fn awaits(&self, line: u64) -> bool {
        match self.under_way[Slot::Blocking as usize] {
            Some(Request::Fill { line: awaited, .. }) => awaited == line,
            other => other.is_some(),
        }
    }

    /// Asks the bus for `request` at `cycle`.
    #[inline]
    pub fn ask(&mut self, cycle: u64, slot: Slot, request: Request) {
        debug_assert!(!self.is_under_way(slot));
        self.asked += 1;
        self.under_way[slot as usize] = Some(request);
        self.untaken.push((cycle, slot, request));
        self.changes += u64::from(!request.leaves_no_trace());
    }

    /// Asks for `request`, which is served at once, past whatever is on its way to the bus: to a device nothing is. (What is asked
    /// for of the posted, also after accesses have begun to take no time, was posted before and takes its time.)
    pub fn ask_untimed(&mut self, cycle: u64, request: Request) {
        self.untaken.push((cycle, Slot::Blocking, request));
    }

    /// `request` has been asked for and is the bus's already.
    #[inline]
    pub fn begin(&mut self, slot: Slot, request: Request) {
        self.changes += 1;
        self.asked += 1;
        self.under_way[slot as usize] = Some(request);
    }

    /// Some request waits to be taken by the bus.
    #[inline]
    pub fn wants_bus(&self) -> bool {
        !self.untaken.is_empty()
    }

    /// The oldest request for the bus, and the cycle at which it was made.
    #[inline]
    pub fn first_untaken(&self) -> Option<(u64, Slot, Request)> {
        self.untaken.first().copied()
    }

    /// Takes the oldest request for the bus and the cycle at which it was made.
    #[inline]
    pub fn take(&mut self) -> Option<(u64, Slot, Request)> {
        // There is hardly ever more than one.
        if self.untaken.len() < 2 { self.untaken.pop() } else { Some(self.untaken.remove(0)) }
    }

    /// The transaction of `slot` is over.
    #[inline]
    pub fn end(&mut self, slot: Slot) -> Option<Request> {
        let request = self.under_way[slot as usize].take();
        self.changes += u64::from(!request.is_some_and(|r| r.leaves_no_trace()));
        if slot == Slot::Posted { self.posted.pop_front() } else { request }
    }

    // --- posted ---------------------------------------------------------------------------------

    /// Those that are posted and not over, oldest first.
    pub fn posted(&self) -> impl Iterator<Item = &Request> {
        self.posted.iter()
    }

    /// Something is posted.
    #[inline]
    pub fn has_posted(&self) -> bool {
        !self.posted.is_empty()
    }

    /// An instruction may post `count`. A queue with a single place takes two when it is empty.
    pub fn has_room(&self, count: usize) -> bool {
        self.posted.len() + count <= self.room.max(count)
    }

    /// Posts `request`. The bus is asked for it later, by [`Transactions::issue`].
    #[inline]
    pub fn post(&mut self, request: Request) {
        self.posted.push_back(request);
        self.written += u64::from(matches!(request, Request::WriteBack { .. } | Request::DirectStore { .. }));
        self.changes += 1;
    }

    /// Posts `request` and asks the bus for the oldest.
    pub fn post_at(&mut self, request: Request, cycle: u64) {
        self.post(request);
        self.issue(cycle);
    }

    /// Asks the bus for the oldest posted transaction, if none is under way.
    #[inline]
    pub fn issue(&mut self, cycle: u64) {
        if self.under_way[Slot::Posted as usize].is_none()
            && let Some(&request) = self.posted.front()
        {
            self.ask(cycle, Slot::Posted, request);
        }
    }

    /// The oldest posted transaction, whether it has been asked for or not, becomes `request`.
    pub fn replace_oldest(&mut self, request: Request) {
        for old in self.posted.front_mut().into_iter().chain(&mut self.under_way[Slot::Posted as usize]) {
            *old = request;
        }
    }

    /// Write-backs of `flushed` that are posted become the program's: a fence waits for them.
    pub fn make_flush(&mut self, flushed: u64) {
        for request in &mut self.posted {
            if let Request::WriteBack { line, flush, .. } = request
                && *line == flushed
            {
                *flush = true;
            }
        }
    }

    /// Another hart's cache-block operation writes the line at `at`, should it be on its way to memory from
    /// here, so that who has waited for the operation finds it there. Of a transaction that was asked for the
    /// address tenure is left. True: there is one.
    pub fn give_up_write_backs(&mut self, at: u64) -> bool {
        let mut given_up = false;
        for request in self.posted.iter_mut().chain(&mut self.under_way[Slot::Posted as usize]) {
            if let Request::WriteBack { line, bytes, .. } = request
                && *line == at
                && *bytes > 0
            {
                (*bytes, given_up) = (0, true);
            }
        }
        self.changes += u64::from(given_up);
        given_up
    }

    // --- stores to memory by a port without caches ------------------------------------------------

    /// Stores to memory that are posted and have no effect yet, oldest first: address, length, value.
    pub fn stores(&self) -> impl Iterator<Item = (u64, u32, u64)> + '_ {
        self.posted.iter().filter_map(|request| match *request {
            Request::DirectStore { address, bytes, value: Some(value) } => Some((address, bytes, value)),
            _ => None,
        })
    }

    /// Some of the `bytes` from `address` on are a posted store's.
    pub fn stores_to(&self, address: u64, bytes: u64) -> bool {
        let end = address + bytes;
        self.stores().any(|(at, length, _)| at < end && address < at + u64::from(length))
    }

    /// Writes them to `memory` ahead of their time. Their transactions remain.
    pub fn apply_stores(&mut self, memory: &mut MemoryView) {
        for (address, bytes, value) in self.stores() {
            memory.write(address, bytes, value);
        }
        for request in self.posted.iter_mut().chain(&mut self.under_way[Slot::Posted as usize]) {
            if let Request::DirectStore { value, .. } = request {
                *value = None;
            }
        }
    }

    /// The oldest posted transaction, a store to memory, has its effect.
    pub fn apply_oldest_store(&mut self, memory: &mut MemoryView) {
        if let Some((address, bytes, value)) = self.take_oldest_store() {
            memory.write(address, bytes, value);
        }
    }

    /// The oldest posted transaction, if it is a store to memory that has no effect yet: it has, from now on.
    pub fn take_oldest_store(&mut self) -> Option<(u64, u32, u64)> {
        let Some(&Request::DirectStore { address, bytes, value }) = self.posted.front() else { return None };
        self.replace_oldest(Request::DirectStore { address, bytes, value: None });
        Some((address, bytes, value?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlatMemory;

    fn write_back(line: u64) -> Request {
        Request::WriteBack { line, bytes: 32, flush: false }
    }

    #[test]
    fn posted_transactions_are_asked_for_one_after_the_other() {
        let mut transactions = Transactions::new(2);
        transactions.post_at(write_back(0), 5);
        transactions.post_at(write_back(32), 6);
        assert_eq!(transactions.take(), Some((5, Slot::Posted, write_back(0))));
        assert!(!transactions.wants_bus() && !transactions.has_room(1) && !transactions.has_room(2));
        assert_eq!(transactions.end(Slot::Posted), Some(write_back(0)));
        transactions.issue(9);
        assert_eq!(transactions.take(), Some((9, Slot::Posted, write_back(32))));
        assert_eq!(transactions.end(Slot::Posted), Some(write_back(32)));
        assert!(transactions.is_quiet());
        assert!(Transactions::new(1).has_room(2), "a single place takes two when it is empty");
    }

    #[test]
    fn polling_changes_nothing() {
        let mut transactions = Transactions::new(2);
        transactions.ask(1, Slot::Blocking, Request::UncachedLoad { address: 64, bytes: 4 });
        transactions.end(Slot::Blocking);
        assert_eq!((transactions.changes(), transactions.asked()), (0, 1));
        transactions.ask(2, Slot::Blocking, Request::Fill { line: 64, data: true, exclusive: false });
        assert!(transactions.awaits(64) && !transactions.awaits(96));
        transactions.end(Slot::Blocking);
        assert_eq!(transactions.changes(), 2);
    }

    #[test]
    fn what_another_hart_flushes_is_not_written_again() {
        let mut transactions = Transactions::new(4);
        for line in [0, 32] {
            transactions.post_at(write_back(line), 1);
        }
        assert!(transactions.give_up_write_backs(0) && !transactions.give_up_write_backs(0));
        let given_up = Request::WriteBack { line: 0, bytes: 0, flush: false };
        assert_eq!(transactions.in_slot(Slot::Posted), Some(given_up));
        assert!(transactions.posted().eq(&[given_up, write_back(32)]));
    }

    #[test]
    fn a_posted_store_has_its_effect_once() {
        let mut memory = FlatMemory::new(4096).unwrap();
        let mut view = MemoryView::new(&mut memory);
        let mut transactions = Transactions::new(4);
        for (address, value) in [(8, 1), (16, 2)] {
            transactions.post_at(Request::DirectStore { address, bytes: 4, value: Some(value) }, 1);
        }
        assert!(transactions.stores_to(19, 1) && !transactions.stores_to(20, 4));
        transactions.apply_oldest_store(&mut view);
        assert_eq!((view.read(8, 4), view.read(16, 4)), (1, 0));
        view.write(8, 4, 7);
        transactions.apply_stores(&mut view);
        assert_eq!((view.read(8, 4), view.read(16, 4)), (7, 2));
        assert_eq!(transactions.stores().count(), 0);
    }
}

//! What the bus does to a port: grants, completions, snoops, injected writes; and what others see of its memory.

use super::request::{Request, Slot, Snoop, Snooped};
use super::second_level::{StashStatistics, Stashed};
use super::{Access, BURST_BYTES, Incoherence, Port};
use crate::PAGE_BYTES;
use crate::cache::{Cache, State};
use crate::network_cache::LINE_BYTES as NETWORK_LINE_BYTES;

impl Port {
    /// The request in `slot`, as it stands now: an upgrade whose line is gone must fetch it.
    #[inline]
    pub fn current(&self, slot: Slot) -> Option<Request> {
        match self.transactions.in_slot(slot) {
            Some(Request::Own { line, .. }) => {
                Some(Request::Own { line, upgrade: self.l1d.state(line) == State::Shared })
            }
            other => other,
        }
    }

    /// Length [bytes] of the data tenure of `request`, and whether it is a write.
    pub fn transfer(&self, request: Request) -> (u32, bool) {
        match request {
            Request::Fill { data, .. } => (self.bus_line_bytes(data), false),
            Request::Own { upgrade: true, .. } | Request::OwnFromL2 | Request::Block { .. } => (0, false),
            Request::NetworkFill { .. } => (NETWORK_LINE_BYTES as u32, false),
            Request::Own { upgrade: false, .. } => (self.bus_line_bytes(true), false),
            Request::WriteBack { bytes, .. } => (bytes, true),
            Request::UncachedStore { bytes, .. } => (bytes, true),
            Request::Store64 { .. } => (BURST_BYTES, true),
            Request::DirectStore { bytes, .. } => (bytes, true),
            Request::UncachedLoad { bytes, .. } | Request::DirectLoad { bytes, .. } => (bytes, false),
        }
    }

    /// As [`Port::granted`], of a transaction whose data the memory itself has moved: `value` is what a load got.
    pub fn served(&mut self, slot: Slot, value: u64, cycle: u64) {
        if slot == Slot::Posted {
            self.transactions.take_oldest_store();
        }
        self.granted(slot, Snooped::default(), cycle);
        self.direct.grant(value);
    }

    /// The transaction of `slot` has its place in the order: the lines change state. `found`: in other caches,
    /// which keep a copy of what is read. `cycle` is the hart's, for what follows from it.
    pub fn granted(&mut self, slot: Slot, found: Snooped, cycle: u64) {
        match self.current(slot) {
            Some(Request::Fill { line, data: true, exclusive }) => {
                self.statistics.l1d_load_misses += 1;
                let state = if found.present && !exclusive { State::Shared } else { State::Exclusive };
                self.place_in_l2(line, state, true);
                let way = self.place_data_line(line, state);
                self.l1d.set_stale(way, false);
            }
            Some(Request::Fill { line, data: false, .. }) => {
                self.statistics.l1i_misses += 1;
                self.place_in_l2(line, State::Shared, true);
                self.l1i.place(line);
            }
            Some(Request::Own { line, upgrade }) => {
                self.place_in_l2(line, State::Exclusive, !upgrade);
                let way = self.place_data_line(line, State::Exclusive);
                self.write_buffer.set_arriving((!upgrade).then_some(line));
                if self.write_buffer.own(line, &mut self.memory) {
                    self.l1d.modify(way);
                }
            }
            Some(Request::NetworkFill { line }) => self.fill_network(line, cycle),
            Some(Request::DirectLoad { address, bytes }) => {
                self.direct.grant(self.memory.read(address, bytes))
            }
            Some(Request::DirectStore { .. }) => self.transactions.apply_oldest_store(&mut self.memory),
            Some(block @ Request::Block { .. }) => {
                self.transactions.replace_oldest(block.answered(found));
            }
            _ => {}
        }
        self.transactions.issue(cycle);
    }

    /// The transaction of `slot` is over. `value` is what an uncached load got.
    pub fn completed(&mut self, slot: Slot, value: u64, cycle: u64) {
        let request = self.transactions.end(slot);
        match (slot, request) {
            (
                Slot::Blocking,
                Some(Request::UncachedLoad { address, .. } | Request::Store64 { address, .. }),
            ) => self.devices.answer(address, value),
            // Where accesses take no time the instruction has been executed meanwhile.
            (Slot::Blocking, Some(Request::DirectLoad { .. })) if !self.is_timed() => {
                self.direct.forget_reply()
            }
            (Slot::Blocking, Some(Request::DirectLoad { address, .. })) => self.direct.complete(address),
            (Slot::Blocking, _) => {}
            (Slot::WriteBuffer, request) => {
                self.write_buffer.set_arriving(None);
                if request == Some(Request::OwnFromL2) {
                    self.own_from_l2();
                }
                self.drain(cycle);
            }
            (Slot::Posted, Some(Request::Store64 { .. })) => self.devices.pop_burst(),
            (Slot::Posted, _) => {}
        }
        self.transactions.issue(cycle);
    }

    /// The line of the oldest buffered store comes from the L2, if that still may give it, and the store is made.
    #[inline]
    fn own_from_l2(&mut self) {
        let Some(store) = self.write_buffer.oldest() else { return };
        let line = self.line(store.address);
        self.keep_below(line);
        if let Some((_, stale)) = self.l2.give(line, State::Exclusive) {
            self.statistics.l2_hits += 1;
            let way = self.place_from_l2(line, State::Exclusive, stale);
            self.write_oldest(way);
        }
    }

    /// The data cache, the L2 or a reservation holds something of the `bytes` from `address` on: a snoop would find it.
    pub fn holds(&self, address: u64, bytes: u32) -> bool {
        let end = address + u64::from(bytes);
        let is_in = |cache: &Cache| {
            let mut lines = (cache.line_of(address)..end).step_by(cache.line_bytes() as usize);
            lines.any(|line| cache.find(line).is_some())
        };
        self.has_bound(address, u64::from(bytes))
            || is_in(self.l1d.cache())
            || self.l2.cache().is_some_and(is_in)
            || self.reserved.is_within(self.line(address), end)
    }

    /// State of the line at `address` in the outermost data cache.
    pub fn line_state(&self, address: u64) -> State {
        self.outermost().state(address)
    }

    /// The lines that `request` takes from other caches, and how: what they are asked when it is granted.
    pub fn asks(&self, request: Request) -> Option<(Snoop, u64, u32)> {
        let (snoop, line, data) = match request {
            Request::Fill { line, data, exclusive: false } => (Snoop::Read, line, data),
            Request::Fill { line, data, exclusive: true } => (Snoop::Invalidate, line, data),
            Request::Own { line, .. } => (Snoop::Invalidate, line, true),
            Request::Block { line, bytes, snoop } => return Some((snoop, line, bytes)),
            Request::DirectLoad { address, bytes } => return Some((Snoop::Read, address, bytes)),
            Request::DirectStore { address, bytes, .. } => return Some((Snoop::Invalidate, address, bytes)),
            _ => return None,
        };
        let bytes = self.bus_line_bytes(data);
        Some((snoop, line & !(u64::from(bytes) - 1), bytes))
    }

    /// Another master's transaction on `bytes` from `address` on. With an L2 all of its lines that it
    /// touches are concerned, and what they include.
    pub fn snoop(&mut self, snoop: Snoop, address: u64, bytes: u32) -> Snooped {
        let mut found = Snooped::default();
        match snoop {
            Snoop::Clean => return self.snoop_clean(address, bytes),
            Snoop::Flush => found.dirty = self.transactions.give_up_write_backs(address),
            Snoop::Read | Snoop::Invalidate => {}
        }
        let removes = snoop != Snoop::Read;
        let mut end = address + u64::from(bytes);
        let mut line = self.line(address);
        if let Some(l2) = self.l2.cache() {
            line = l2.line_of(address);
            end = l2.line_of(end - 1) + l2.line_bytes();
            if removes {
                self.l1i.remove(line, end - line);
            }
        }
        if self.take_bound(address, u64::from(bytes)) {
            (found.present, found.dirty) = (true, true);
        }
        self.lose_reserved(line, end);
        if self.reserved.is_within(line, end) {
            // So that the other master must ask before it writes, even if the line has been replaced here.
            found.present = true;
            if removes {
                self.reserved.drop_line();
            }
        }
        let mut l1 = line;
        while l1 < end {
            if !removes {
                found = found.or(self.l1d.share(l1));
            } else if let Some(state) = self.l1d.remove(l1) {
                self.statistics.l1d_invalidations += 1;
                found = found.or(Snooped { present: true, dirty: state == State::Modified });
            }
            l1 += self.l1d.line_bytes();
        }
        found.or(self.l2.snoop(removes, line, end))
    }

    /// Another hart's `cbo.clean` of the line at `line`.
    fn snoop_clean(&mut self, line: u64, bytes: u32) -> Snooped {
        let present = self.holds(line, bytes);
        let written = self.transactions.give_up_write_backs(line);
        let dirty = written || self.has_modified(line, u64::from(bytes));
        self.clean_block(line, u64::from(bytes));
        Snooped { present, dirty }
    }

    /// Counters of injection, if there has been any.
    pub fn stash_statistics(&self) -> Option<&StashStatistics> {
        Some(self.l2.stash_statistics()).filter(|&statistics| *statistics != StashStatistics::default())
    }

    /// Another master writes the `bytes` from `address` on, which lie in one line of the L2, for the L2 to take. The L1s
    /// lose their copies: the L2 includes them, so it has what was modified there.
    pub fn stash(&mut self, address: u64, bytes: u32, cycle: u64) -> Stashed {
        if !self.l2.is_present() || self.has_bound(address, u64::from(bytes)) {
            return self.l2.refuse_stash();
        }
        let stale = self.l2.find(address).is_some_and(|way| way.stale);
        // Copies that were left would be found by the coherence checker.
        self.note_device_write(address, u64::from(bytes));
        self.drop_copies(address, address + u64::from(bytes));
        let (outcome, replaced) = self.l2.stash(address, bytes, stale);
        if let Some(replaced) = replaced {
            self.evict_from_l2(replaced);
        }
        self.transactions.issue(cycle);
        outcome
    }

    /// The L1s' copies go, and a reservation.
    fn drop_copies(&mut self, address: u64, end: u64) {
        let first = self.l1i.cache().line_of(address);
        self.l1i.remove(first, end - first);
        let first = self.line(address);
        for line in (first..end).step_by(self.l1d.line_bytes() as usize) {
            self.statistics.l1d_invalidations += u64::from(self.l1d.remove(line).is_some());
        }
        if self.reserved.is_within(first, end) {
            self.reserved.drop_line();
        }
    }

    /// Coherence checker: a device reads `bytes` from `address` on past this hart's caches.
    pub fn check_device_read(&self, address: u64, bytes: u64) -> Option<Incoherence> {
        if !self.checker.is_on() {
            return None;
        }
        let end = address + bytes;
        if self.transactions.stores_to(address, bytes) {
            return Some(Incoherence::DeviceReadsDirty { address });
        }
        let mut line = self.line(address);
        while line < end {
            let buffered = self
                .write_buffer
                .pending()
                .any(|(at, length, _)| at < end && address < at + u64::from(length) && self.line(at) == line);
            let l2_dirty = self.l2.state(line) == State::Modified;
            let leaving = self.transactions.posted().any(|r| match r {
                Request::WriteBack { line: posted, bytes, .. } => {
                    *posted <= line && line < posted + u64::from(*bytes)
                }
                _ => false,
            });
            let bound = self
                .has_bound(line.max(address), (line + self.l1d.line_bytes()).min(end) - line.max(address));
            if leaving || buffered || l2_dirty || bound || self.l1d.state(line) == State::Modified {
                return Some(Incoherence::DeviceReadsDirty { address: line.max(address) });
            }
            line += self.l1d.line_bytes();
        }
        None
    }

    /// Coherence checker: a device has written `bytes` from `address` on past this hart's caches;
    /// copies that are here are out of date from now on.
    pub fn note_device_write(&mut self, address: u64, bytes: u64) {
        if !self.checker.is_on() {
            return;
        }
        let mut line = self.line(address);
        while line < address + bytes {
            self.l1d.mark_stale(line);
            self.l2.mark_stale(line);
            line += self.l1d.line_bytes();
        }
    }

    /// Reads the hart's view of physical memory: functional memory under the write buffer and posted stores. False when
    /// it is not all memory.
    pub fn peek(&self, address: u64, bytes: &mut [u8]) -> bool {
        if !self.memory.copy_to(address, bytes) {
            return false;
        }
        for (to, length, value) in self.write_buffer.pending().chain(self.transactions.stores()) {
            for (i, byte) in value.to_le_bytes()[..length as usize].iter().enumerate() {
                let at = (to + i as u64).wrapping_sub(address) as usize;
                if let Some(slot) = bytes.get_mut(at) {
                    *slot = *byte;
                }
            }
        }
        true
    }

    /// [`Port::peek`] of a value at `pa`, which is memory.
    pub(super) fn peek_word(&self, pa: u64, bytes: u32) -> u64 {
        if self.write_buffer.is_empty() && !self.transactions.has_posted() {
            return self.memory.read(pa, bytes);
        }
        let mut value = [0; 8];
        self.peek(pa, &mut value[..bytes as usize]);
        u64::from_le_bytes(value)
    }

    /// Physical address of `va` in the hart's address space, without time or fault handling.
    pub fn physical(&self, va: u64) -> Option<u64> {
        let page = va & !(PAGE_BYTES - 1);
        let translation = self.mmu.untimed(page, Access::Read, &self.memory).ok()?;
        Some(translation.physical_page | (va & (PAGE_BYTES - 1)))
    }

    /// Reads the hart's view of its virtual memory; false when part of it is not mapped memory.
    #[inline]
    pub fn peek_virtual(&self, va: u64, bytes: &mut [u8]) -> bool {
        let mut done = 0;
        while done < bytes.len() {
            let at = va.wrapping_add(done as u64);
            let room = (PAGE_BYTES - at % PAGE_BYTES).min((bytes.len() - done) as u64) as usize;
            let Some(pa) = self.physical(at) else { return false };
            if !self.peek(pa, &mut bytes[done..done + room]) {
                return false;
            }
            done += room;
        }
        true
    }
}

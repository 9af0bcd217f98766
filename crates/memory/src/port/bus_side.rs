//! What the bus does to a port: grants, completions, snoops.

use super::{BURST_BYTES, Incoherence, Port, Request, Slot};
use crate::cache::{Cache, State};
use crate::network_cache::LINE_BYTES as NETWORK_LINE_BYTES;

/// What another master's transaction asks of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snoop {
    /// It reads: a modified line is given and kept shared.
    Read,
    /// It writes, or wants the only copy: the line goes.
    Invalidate,
    /// A cache-block operation of another hart: what is modified goes to memory, the line stays.
    Clean,
    /// A cache-block operation of another hart: what is modified goes to memory, the line goes.
    Flush,
}

/// What a snoop found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snooped {
    /// A copy was there.
    pub present: bool,
    /// It was modified: the cache gives the data.
    pub dirty: bool,
}

impl Snooped {
    /// What two caches found.
    pub fn or(self, other: Snooped) -> Snooped {
        Snooped { present: self.present || other.present, dirty: self.dirty || other.dirty }
    }
}

impl Port {
    /// Bytes of the lines that this port moves over the bus for data (`data`) or instructions.
    pub fn bus_line_bytes(&self, data: bool) -> u32 {
        match (&self.l2, data) {
            (Some(l2), _) => l2.line_bytes() as u32,
            (None, true) => self.l1d.line_bytes() as u32,
            (None, false) => self.l1i.line_bytes() as u32,
        }
    }

    /// The request in `slot`, as it stands now: an upgrade whose line is gone must fetch it.
    pub fn current(&self, slot: Slot) -> Option<Request> {
        match self.under_way[slot as usize] {
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

    /// The transaction of `slot` has its place in the order: the lines change state. `found`: in other caches,
    /// which keep a copy of what is read. `cycle` is the hart's, for what follows from it.
    pub fn granted(&mut self, slot: Slot, found: Snooped, cycle: u64) {
        match self.current(slot) {
            Some(Request::Fill { line, data: true, exclusive }) => {
                self.statistics.l1d_load_misses += 1;
                let state = if found.present && !exclusive { State::Shared } else { State::Exclusive };
                self.place_in_l2(line, state, true);
                let way = self.place_data_line(line, state);
                self.l1d.way_mut(way).stale = false;
            }
            Some(Request::Fill { line, data: false, .. }) => {
                self.statistics.l1i_misses += 1;
                self.place_in_l2(line, State::Shared, true);
                self.place_instruction_line(line);
            }
            Some(Request::Own { line, upgrade }) => {
                self.place_in_l2(line, State::Exclusive, !upgrade);
                let way = self.place_data_line(line, State::Exclusive);
                self.arriving = (!upgrade).then_some(line);
                self.apply_owned(way);
            }
            Some(Request::NetworkFill { line }) => self.fill_network(line, cycle),
            Some(Request::DirectLoad { address, bytes }) => self.grant_direct_load(address, bytes),
            Some(Request::DirectStore { .. }) => self.grant_direct_store(),
            Some(block @ Request::Block { .. }) => {
                let answered = block.answered(found);
                self.under_way[slot as usize] = Some(answered);
                self.posted[0] = answered;
            }
            _ => {}
        }
        self.issue_posted(cycle);
    }

    /// `line` comes into the L2, if there is one; its data too (`fetched`), or only a right.
    fn place_in_l2(&mut self, line: u64, state: State, fetched: bool) {
        let Some(l2) = &mut self.l2 else { return };
        self.statistics.l2_misses += u64::from(fetched);
        self.tick += 1;
        let line = l2.line_of(line);
        if let Some(way) = l2.find(line) {
            let way = l2.way_mut(way);
            way.state = way.state.max(state);
            way.stamp = self.tick;
            way.stale &= !fetched;
            way.stashed = false;
            return;
        }
        let way = l2.victim(line, |w| w.stamp);
        let old = *l2.way(way);
        let bytes = l2.line_bytes();
        l2.place(way, line, state, self.tick);
        if old.state != State::Invalid {
            self.note_lost(old.stashed);
            self.evict_from_l2(old.line, bytes, old.state == State::Modified);
        }
    }

    /// The L2 is inclusive: what it loses, the L1s lose.
    pub(super) fn evict_from_l2(&mut self, line: u64, bytes: u64, mut dirty: bool) {
        for l1 in (line..line + bytes).step_by(self.l1d.line_bytes() as usize) {
            dirty |= self.remove_data(l1) == Some(State::Modified);
        }
        self.remove_instruction_lines(line, bytes);
        if dirty {
            self.posted.push_back(Request::WriteBack { line, bytes: bytes as u32, flush: false });
            self.changes += 1;
        }
    }

    pub(super) fn remove_instruction_lines(&mut self, line: u64, bytes: u64) {
        for l1 in (line..line + bytes).step_by(self.l1i.line_bytes() as usize) {
            if let Some(way) = self.l1i.find(l1) {
                if let Some(index) = self.l1i.way(way).fast.get() {
                    self.instructions.remove(index);
                }
                self.l1i.clear(way);
                self.changes += 1;
            }
        }
    }

    /// The transaction of `slot` is over. `value` is what an uncached load got.
    pub fn completed(&mut self, slot: Slot, value: u64, cycle: u64) {
        let request = self.under_way[slot as usize].take();
        self.changes += u64::from(!request.is_some_and(|r| r.leaves_no_trace()));
        if slot == Slot::WriteBuffer {
            self.arriving = None;
        }
        match (slot, request) {
            (
                Slot::Blocking,
                Some(Request::UncachedLoad { address, .. } | Request::Store64 { address, .. }),
            ) => self.reply = Some((address, value)),
            (Slot::Blocking, Some(Request::DirectLoad { address, .. })) => self.complete_direct_load(address),
            (Slot::Blocking, _) => {}
            (Slot::WriteBuffer, Some(Request::OwnFromL2)) => {
                self.own_from_l2();
                self.drain(cycle);
            }
            (Slot::WriteBuffer, _) => self.drain(cycle),
            (Slot::Posted, _) => {
                if let Some(Request::Store64 { .. }) = self.posted.pop_front() {
                    self.bursts.pop_front();
                }
            }
        }
        self.issue_posted(cycle);
    }

    /// The line of the oldest buffered store comes from the L2, if that still may give it.
    fn own_from_l2(&mut self) {
        let (Some(store), Some(l2)) = (self.write_buffer.front(), &mut self.l2) else { return };
        let line = self.l1d.line_of(store.address);
        let Some(l2_way) = l2.find(l2.line_of(line)).filter(|&w| l2.way(w).state >= State::Exclusive) else {
            return;
        };
        self.tick += 1;
        l2.way_mut(l2_way).stamp = self.tick;
        let stale = l2.way(l2_way).stale;
        self.use_stashed(l2_way);
        self.statistics.l2_hits += 1;
        let way = self.place_data_line(line, State::Exclusive);
        self.l1d.way_mut(way).stale |= stale;
    }

    /// The data cache, the L2 or a reservation holds something of the `bytes` from `address` on: a snoop would find it.
    pub fn holds(&self, address: u64, bytes: u32) -> bool {
        let end = address + u64::from(bytes);
        let is_in = |cache: &Cache| {
            let mut lines = (cache.line_of(address)..end).step_by(cache.line_bytes() as usize);
            lines.any(|line| cache.find(line).is_some())
        };
        self.has_bound(address, u64::from(bytes))
            || is_in(&self.l1d)
            || self.l2.as_ref().is_some_and(is_in)
            || self.reserves(self.line(address), end)
    }

    /// A load-reserved holds a line between `line` and `end`.
    pub(super) fn reserves(&self, line: u64, end: u64) -> bool {
        self.reservation.is_some_and(|held| (line..end).contains(&held))
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
            Snoop::Flush => found.dirty = self.give_up_write_backs(address),
            Snoop::Read | Snoop::Invalidate => {}
        }
        let removes = snoop != Snoop::Read;
        let mut end = address + u64::from(bytes);
        let mut line = self.line(address);
        if let Some(l2) = &self.l2 {
            line = l2.line_of(address);
            end = l2.line_of(end - 1) + l2.line_bytes();
            if removes {
                self.remove_instruction_lines(line, end - line);
            }
        }
        if self.take_bound(address, u64::from(bytes)) {
            (found.present, found.dirty) = (true, true);
        }
        self.lose_reserved(line, end);
        if self.reserves(line, end) {
            // So that the other master must ask before it writes, even if the line has been replaced here.
            found.present = true;
            if removes {
                self.reservation = None;
            }
        }
        let mut l1 = line;
        while l1 < end {
            if !removes {
                found = self.share(l1, found);
            } else if let Some(state) = self.remove_data(l1) {
                self.statistics.l1d_invalidations += 1;
                found.present = true;
                found.dirty |= state == State::Modified;
            }
            l1 += self.l1d.line_bytes();
        }
        self.snoop_l2(removes, line, end, found)
    }

    /// Another hart's `cbo.clean` of the line at `line`.
    fn snoop_clean(&mut self, line: u64, bytes: u32) -> Snooped {
        let present = self.holds(line, bytes);
        let written = self.give_up_write_backs(line);
        let dirty = written || self.has_modified(line, u64::from(bytes));
        self.clean_block(line, u64::from(bytes));
        Snooped { present, dirty }
    }

    /// Another hart's cache-block operation writes the line at `at`, should it be on its way to memory from
    /// here, so that who has waited for the operation finds it there. Of a transaction that was asked for the
    /// address tenure is left. True: there is one.
    fn give_up_write_backs(&mut self, at: u64) -> bool {
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

    /// `line` of the data cache becomes shared.
    fn share(&mut self, line: u64, mut found: Snooped) -> Snooped {
        if let Some(way) = self.l1d.find(line) {
            found.present = true;
            found.dirty |= self.l1d.way(way).state == State::Modified;
            if let Some(index) = self.l1d.way(way).fast.get() {
                self.data.at_mut(index).store = super::fast::NOTHING;
            }
            self.l1d.way_mut(way).state = State::Shared;
            self.changes += 1;
        }
        found
    }

    fn snoop_l2(&mut self, removes: bool, line: u64, end: u64, mut found: Snooped) -> Snooped {
        let Some(l2) = &mut self.l2 else { return found };
        let mut address = l2.line_of(line);
        while address < end {
            if let Some(way) = l2.find(address) {
                found.present = true;
                found.dirty |= l2.way(way).state == State::Modified;
                self.changes += 1;
                if removes {
                    l2.clear(way);
                } else {
                    l2.way_mut(way).state = State::Shared;
                }
            }
            address += l2.line_bytes();
        }
        found
    }

    /// Coherence checker: a device reads `bytes` from `address` on past this hart's caches.
    pub fn check_device_read(&self, address: u64, bytes: u64) -> Option<Incoherence> {
        if !self.parameters.check_coherence {
            return None;
        }
        let end = address + bytes;
        let reads = |(at, length, _)| at < end && address < at + u64::from(length);
        if self.posted_stores().any(reads) {
            return Some(Incoherence::DeviceReadsDirty { address });
        }
        let mut line = self.line(address);
        while line < end {
            let buffered = self.write_buffer.iter().any(|s| {
                !s.applied
                    && s.address < end
                    && address < s.address + u64::from(s.bytes)
                    && self.line(s.address) == line
            });
            let l2_dirty = self.l2.as_ref().is_some_and(|l2| l2.state(l2.line_of(line)) == State::Modified);
            let leaving = self.posted.iter().any(|r| match r {
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
        if !self.parameters.check_coherence {
            return;
        }
        let mut line = self.line(address);
        while line < address + bytes {
            if let Some(way) = self.l1d.find(line) {
                if let Some(index) = self.l1d.way(way).fast.get() {
                    self.drop_fast_data(index);
                }
                self.l1d.way_mut(way).stale = true;
            }
            if let Some(l2) = &mut self.l2
                && let Some(way) = l2.find(l2.line_of(line))
            {
                l2.way_mut(way).stale = true;
            }
            line += self.l1d.line_bytes();
        }
    }

    /// Reads the hart's view of physical memory: functional memory under the write buffer and posted stores. False when
    /// it is not all memory.
    pub fn peek(&self, address: u64, bytes: &mut [u8]) -> bool {
        if address.checked_add(bytes.len() as u64).is_none_or(|end| end > self.memory_bytes) {
            return false;
        }
        // SAFETY: the range was checked, the mapping outlives the port.
        unsafe {
            std::ptr::copy_nonoverlapping(self.base.add(address as usize), bytes.as_mut_ptr(), bytes.len());
        }
        let buffered = self.write_buffer.iter().filter(|s| !s.applied);
        let buffered = buffered.map(|s| (s.address, s.bytes, s.value));
        for (to, length, value) in buffered.chain(self.posted_stores()) {
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
        if self.write_buffer.is_empty() && self.posted.is_empty() {
            return self.read_memory(pa, bytes);
        }
        let mut value = [0; 8];
        self.peek(pa, &mut value[..bytes as usize]);
        u64::from_le_bytes(value)
    }

    /// Physical address of `va` in the hart's address space, without time or fault handling.
    pub fn physical(&self, va: u64) -> Option<u64> {
        let page = va & !(crate::PAGE_BYTES - 1);
        self.untimed_walk(page, crate::Access::Read)
            .ok()
            .map(|t| t.physical_page | (va & (crate::PAGE_BYTES - 1)))
    }

    /// Reads the hart's view of its virtual memory; false when part of it is not mapped memory.
    #[inline]
    pub fn peek_virtual(&self, va: u64, bytes: &mut [u8]) -> bool {
        let mut done = 0;
        while done < bytes.len() {
            let at = va.wrapping_add(done as u64);
            let room = (crate::PAGE_BYTES - at % crate::PAGE_BYTES).min((bytes.len() - done) as u64) as usize;
            let Some(pa) = self.physical(at) else { return false };
            if !self.peek(pa, &mut bytes[done..done + room]) {
                return false;
            }
            done += room;
        }
        true
    }
}

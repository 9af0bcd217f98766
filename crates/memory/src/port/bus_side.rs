//! What the bus does to a port: grants, completions, snoops.

use super::{Incoherence, Port, Request, Slot};
use crate::cache::State;

/// What another master's transaction asks of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snoop {
    /// It reads: a modified line is given and kept shared.
    Read,
    /// It writes, or wants the only copy: the line goes.
    Invalidate,
}

/// What a snoop found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snooped {
    /// A copy was there.
    pub present: bool,
    /// It was modified: the cache gives the data.
    pub dirty: bool,
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
            Request::Own { upgrade: true, .. } | Request::OwnFromL2 => (0, false),
            Request::Own { upgrade: false, .. } => (self.bus_line_bytes(true), false),
            Request::WriteBack { bytes, .. } => (bytes, true),
            Request::UncachedStore { bytes, .. } => (bytes, true),
            Request::UncachedLoad { bytes, .. } => (bytes, false),
        }
    }

    /// The transaction of `slot` has its place in the order: the lines change state. `shared`: another
    /// cache keeps a copy. `cycle` is the hart's, for what follows from it.
    pub fn granted(&mut self, slot: Slot, shared: bool, cycle: u64) {
        match self.current(slot) {
            Some(Request::Fill { line, data: true, exclusive }) => {
                self.statistics.l1d_load_misses += 1;
                let state = if shared && !exclusive { State::Shared } else { State::Exclusive };
                self.place_in_l2(line, state);
                self.place_data_line(line, state);
            }
            Some(Request::Fill { line, data: false, .. }) => {
                self.statistics.l1i_misses += 1;
                self.place_in_l2(line, State::Shared);
                self.place_instruction_line(line);
            }
            Some(Request::Own { line, .. }) => {
                self.place_in_l2(line, State::Exclusive);
                self.place_data_line(line, State::Exclusive);
            }
            _ => {}
        }
        self.issue_posted(cycle);
    }

    fn place_in_l2(&mut self, line: u64, state: State) {
        let Some(l2) = &mut self.l2 else { return };
        self.statistics.l2_misses += 1;
        self.tick += 1;
        let line = l2.line_of(line);
        if let Some(way) = l2.find(line) {
            l2.way_mut(way).state = l2.way(way).state.max(state);
            return;
        }
        let way = l2.victim(line, |w| w.stamp);
        let old = *l2.way(way);
        let bytes = l2.line_bytes();
        l2.place(way, line, state, self.tick);
        if old.state != State::Invalid {
            self.evict_from_l2(old.line, bytes, old.state == State::Modified);
        }
    }

    /// The L2 is inclusive: what it loses, the L1s lose.
    fn evict_from_l2(&mut self, line: u64, bytes: u64, mut dirty: bool) {
        for l1 in (line..line + bytes).step_by(self.l1d.line_bytes() as usize) {
            dirty |= self.remove_data(l1) == Some(State::Modified);
        }
        for l1 in (line..line + bytes).step_by(self.l1i.line_bytes() as usize) {
            self.remove_instruction_line(l1);
        }
        if dirty {
            self.posted.push_back(Request::WriteBack { line, bytes: bytes as u32, flush: false });
            self.changes += 1;
        }
    }

    fn remove_instruction_line(&mut self, line: u64) {
        if let Some(way) = self.l1i.find(line) {
            let index = self.l1i.way(way).fast;
            if index != crate::cache::NOT_FAST {
                self.instructions.remove(index);
            }
            self.l1i.clear(way);
            self.changes += 1;
        }
    }

    /// The transaction of `slot` is over. `value` is what an uncached load got.
    pub fn completed(&mut self, slot: Slot, value: u64, cycle: u64) {
        let request = self.under_way[slot as usize].take();
        self.changes += u64::from(!matches!(request, Some(Request::UncachedLoad { .. })));
        match (slot, request) {
            (Slot::Blocking, Some(Request::UncachedLoad { address, .. })) => {
                self.reply = Some((address, value))
            }
            (Slot::Blocking, _) => {}
            (Slot::WriteBuffer, Some(Request::OwnFromL2)) => {
                let line = self.write_buffer.front().map(|s| self.line(s.address));
                if let (Some(line), Some(l2)) = (line, &self.l2)
                    && l2.state(l2.line_of(line)) >= State::Exclusive
                {
                    self.statistics.l2_hits += 1;
                    self.place_data_line(line, State::Exclusive);
                }
                self.drain(cycle);
            }
            (Slot::WriteBuffer, _) => self.drain(cycle),
            (Slot::Posted, _) => {
                self.posted.pop_front();
            }
        }
        self.issue_posted(cycle);
    }

    /// Another master's transaction on `bytes` from `line` on.
    pub fn snoop(&mut self, snoop: Snoop, line: u64, bytes: u32) -> Snooped {
        let mut found = Snooped::default();
        let end = line + u64::from(bytes);
        let mut l1 = self.line(line);
        while l1 < end {
            match snoop {
                Snoop::Invalidate => {
                    if let Some(state) = self.remove_data(l1) {
                        self.statistics.l1d_invalidations += 1;
                        found.present = true;
                        found.dirty |= state == State::Modified;
                    }
                }
                Snoop::Read => found = self.share(l1, found),
            }
            l1 += self.l1d.line_bytes();
        }
        self.snoop_l2(snoop, line, end, found)
    }

    /// `line` of the data cache becomes shared.
    fn share(&mut self, line: u64, mut found: Snooped) -> Snooped {
        if let Some(way) = self.l1d.find(line) {
            found.present = true;
            found.dirty |= self.l1d.way(way).state == State::Modified;
            let index = self.l1d.way(way).fast;
            if index != crate::cache::NOT_FAST {
                self.data.at_mut(index).store = super::fast::NOTHING;
            }
            self.l1d.way_mut(way).state = State::Shared;
            self.changes += 1;
        }
        found
    }

    fn snoop_l2(&mut self, snoop: Snoop, line: u64, end: u64, mut found: Snooped) -> Snooped {
        let Some(l2) = &mut self.l2 else { return found };
        let mut address = l2.line_of(line);
        while address < end {
            if let Some(way) = l2.find(address) {
                found.present = true;
                found.dirty |= l2.way(way).state == State::Modified;
                self.changes += 1;
                match snoop {
                    Snoop::Read => l2.way_mut(way).state = State::Shared,
                    Snoop::Invalidate => {
                        l2.clear(way);
                    }
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
        let mut line = self.line(address);
        while line < end {
            let buffered = self.write_buffer.iter().any(|s| {
                !s.applied
                    && s.address < end
                    && address < s.address + u64::from(s.bytes)
                    && self.line(s.address) == line
            });
            let l2_dirty = self.l2.as_ref().is_some_and(|l2| l2.state(l2.line_of(line)) == State::Modified);
            if buffered || l2_dirty || self.l1d.state(line) == State::Modified {
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
                let index = self.l1d.way(way).fast;
                if index != crate::cache::NOT_FAST {
                    self.drop_fast_data(index);
                }
                self.l1d.way_mut(way).stale = true;
            }
            line += self.l1d.line_bytes();
        }
    }

    /// Reads the hart's view of physical memory: functional memory under the write buffer. False when
    /// it is not all memory.
    pub fn peek(&self, address: u64, bytes: &mut [u8]) -> bool {
        if address.checked_add(bytes.len() as u64).is_none_or(|end| end > self.memory_bytes) {
            return false;
        }
        // SAFETY: the range was checked, the mapping outlives the port.
        unsafe {
            std::ptr::copy_nonoverlapping(self.base.add(address as usize), bytes.as_mut_ptr(), bytes.len());
        }
        for s in self.write_buffer.iter().filter(|s| !s.applied) {
            for (i, byte) in s.value.to_le_bytes()[..s.bytes as usize].iter().enumerate() {
                let at = (s.address + i as u64).wrapping_sub(address) as usize;
                if let Some(slot) = bytes.get_mut(at) {
                    *slot = *byte;
                }
            }
        }
        true
    }

    /// Physical address of `va` in the hart's address space, without time or fault handling.
    pub fn physical(&self, va: u64) -> Option<u64> {
        let page = va & !(crate::PAGE_BYTES - 1);
        self.untimed_walk(page, crate::Access::Read)
            .ok()
            .map(|t| t.physical_page | (va & (crate::PAGE_BYTES - 1)))
    }

    /// Reads the hart's view of its virtual memory; false when part of it is not mapped memory.
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

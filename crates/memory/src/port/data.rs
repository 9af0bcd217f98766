//! What instructions do to data: loads, stores, atomics, fences, cache-block operations.

use super::fast::FastView;
use super::request::{Request, Slot, Snoop};
use super::write_buffer::Buffered;
use super::{Access, BURST_BYTES, DEVICE_BASE, Fault, Port, Stall, Stop, device};
use crate::cache::{Cache, State};
use crate::tlb::PAGE_BYTES;

/// Cache-block operations (Zicbom).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOperation {
    /// Write back if dirty; keep, with the right to write.
    Clean,
    /// Write back if dirty; drop.
    Flush,
    /// Drop (here it writes back too: user mode must not destroy others' data; privileged ISA, CMO 2.4).
    Invalidate,
}

/// A fence's predecessor or successor set, as encoded: bits I, O, R, W from high to low.
pub mod order {
    /// Device output.
    pub const O: u32 = 4;
    /// Memory writes.
    pub const W: u32 = 1;
}

impl Port {
    /// Loads `bytes` at `va`, zero-extended.
    pub fn load(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        self.load_slow(va, bytes, cycles)
    }

    /// Stores the low `bytes` of `value` at `va`.
    pub fn store(&mut self, va: u64, bytes: u32, value: u64, cycles: &mut u64) -> Result<(), Stop> {
        self.store_slow(va, bytes, value, cycles)
    }

    /// The table for the fast path, as things stand: call again after [`Port::set_timed`] or
    /// [`Port::observe`].
    #[inline]
    pub fn view(&mut self) -> FastView {
        // Without caches nothing is in the table by lines.
        self.l1d.view(self.is_timed_by_line(), self.sees_stores())
    }

    /// Each store is looked at: none takes the fast path.
    #[inline]
    fn sees_stores(&self) -> bool {
        self.observation.is_watched()
    }

    /// Accesses to data take time: none is fast by its page.
    fn is_timed_by_line(&self) -> bool {
        self.is_cached() || self.is_cacheless()
    }

    /// A store may have ended the observation: `view` is then one for which stores are fast again.
    #[inline]
    pub fn refresh(&self, view: &mut FastView) {
        view.set_observe(self.sees_stores());
    }

    #[inline]
    fn observe_store(&mut self, pa: u64, bytes: u32, value: u64) {
        if self.observation.is_watched() {
            self.observation.store(pa, bytes, self.peek_word(pa, bytes), value);
        }
    }

    #[cold]
    #[inline(never)]
    fn load_slow(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        if self.peers.ahead.runs() {
            return self.load_ahead(va, bytes, cycles);
        }
        let granule = if self.is_cached() { self.l1d.line_bytes() } else { PAGE_BYTES };
        let first = (granule - (va & (granule - 1))).min(u64::from(bytes)) as u32;
        if first < bytes {
            return self.load_across(va, first, bytes, cycles);
        }
        let (pa, permissions) = self.translate(va, Access::Read, cycles)?;
        if pa >= DEVICE_BASE {
            return self.load_device(va, pa, bytes, cycles);
        }
        if !self.is_cached() {
            let value = if self.is_cacheless() {
                self.load_direct(pa, bytes, cycles)?
            } else {
                self.make_untimed(va, pa, permissions);
                self.memory.read(pa, bytes)
            };
            self.notes.load(pa, bytes, *cycles);
            return Ok(value);
        }
        if let Some(way) = self.refill(pa, bytes, cycles)? {
            self.l1d.check_fresh(way, pa)?;
            self.make_fast(way, va, pa, permissions);
            return Ok(self.memory.read(pa, bytes));
        }
        let (value, way) = self.load_cached(pa, bytes, cycles)?;
        self.notes.load(pa, bytes, *cycles);
        if let Some(way) = way {
            self.make_fast(way, va, pa, permissions);
        }
        Ok(value)
    }

    /// The way of the line that holds the `bytes` at `pa`, if they can be loaded and the line made fast: it is in the data
    /// cache, or comes from the L2 or from memory. What else a load may meet is left to [`Port::load_cached`], of which this
    /// is the short form.
    #[inline(always)]
    fn refill(&mut self, pa: u64, bytes: u32, cycles: &mut u64) -> Result<Option<usize>, Stop> {
        let line = self.line(pa);
        if self.has_network_cache()
            || self.notes.is_on()
            || self.transactions.is_under_way(Slot::Blocking)
            || self.write_buffer.find(pa, bytes, &self.memory) != Buffered::None
            || self.is_arriving(line)
        {
            return Ok(None);
        }
        let way = match self.l1d.seek(line) {
            Ok(way) => return Ok(Some(way)),
            Err(way) => way,
        };
        let Some((state, stale)) = self.l2.give(line, State::Shared) else {
            return self.fetch_data(line, false, Stall::Data, cycles).map(Some);
        };
        self.pass_l2(Stall::Data, cycles);
        self.replace_data_line(way, line, state.min(State::Exclusive), stale);
        Ok(Some(way))
    }

    /// Loads `bytes` at physical address `pa`, within a line. Also the line's way, if nothing stands in the
    /// way of the fast path.
    fn load_cached(&mut self, pa: u64, bytes: u32, cycles: &mut u64) -> Result<(u64, Option<usize>), Stop> {
        let line = self.line(pa);
        let buffered = self.write_buffer.find(pa, bytes, &self.memory);
        match buffered {
            Buffered::Forward(value) => return Ok((value, None)),
            Buffered::Overlap => return Err(Stop::Wait(Stall::WriteBuffer)),
            Buffered::SameLine
                if self.l1d.find(line).is_none() || self.write_buffer.arriving() == Some(line) =>
            {
                return Err(Stop::Wait(Stall::WriteBuffer));
            }
            Buffered::SameLine | Buffered::None => {}
        }
        if self.hits_bound(pa, bytes, cycles) {
            return Ok((self.memory.read(pa, bytes), None));
        }
        let way = self.obtain(line, false, Stall::Data, cycles)?;
        self.l1d.check_fresh(way, pa)?;
        self.l1d.touch(way);
        Ok((self.memory.read(pa, bytes), matches!(buffered, Buffered::None).then_some(way)))
    }

    /// A load of which the `first` bytes are on one line and the rest on the next.
    fn load_across(&mut self, va: u64, first: u32, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        let (low, high) = self.translate_both(va, first, Access::Read, cycles)?;
        if low >= DEVICE_BASE || high >= DEVICE_BASE {
            return Err(Stop::Fault(Fault::DeviceAlignment { address: va }));
        }
        let value = if self.is_cached() {
            let low = self.load_cached(low, first, cycles)?.0;
            low | self.load_cached(high, bytes - first, cycles)?.0 << (8 * first)
        } else if self.is_cacheless() {
            self.load_direct_across((low, high), (first, bytes), cycles)?
        } else {
            self.memory.read(low, first) | self.memory.read(high, bytes - first) << (8 * first)
        };
        self.notes.load(low, first, *cycles);
        self.notes.load(high, bytes - first, *cycles);
        self.mmu.end_split();
        Ok(value)
    }

    #[cold]
    #[inline(never)]
    fn store_slow(&mut self, va: u64, bytes: u32, value: u64, cycles: &mut u64) -> Result<(), Stop> {
        if self.peers.ahead.runs() {
            return self.store_ahead(va, bytes, value, cycles);
        }
        if self.observation.is_watched() && self.store_observed(va, bytes, value) {
            return Ok(());
        }
        let granule = if self.is_cached() { self.l1d.line_bytes() } else { PAGE_BYTES };
        let first = (granule - (va & (granule - 1))).min(u64::from(bytes)) as u32;
        if first < bytes {
            return self.store_across(va, first, bytes, value, cycles);
        }
        let (pa, permissions) = self.translate(va, Access::Write, cycles)?;
        if pa >= DEVICE_BASE {
            self.observation.disturb();
            return self.store_device(va, pa, bytes, value, cycles);
        }
        self.observe_store(pa, bytes, value);
        if !self.is_cached() {
            if self.is_cacheless() {
                return self.store_direct([(pa, bytes, value)], cycles);
            }
            self.make_untimed(va, pa, permissions);
            self.memory.write(pa, bytes, value);
            self.notes.store(pa, bytes);
            return Ok(());
        }
        self.bring(self.line(pa), Stall::WriteBuffer, cycles)?;
        match self.owned_way(pa) {
            Some(way) => {
                self.l1d.check_fresh(way, pa)?;
                self.l1d.modify(way);
                self.memory.write(pa, bytes, value);
                self.make_fast(way, va, pa, permissions);
            }
            None if self.stores_bound(pa, bytes, value, cycles) => {}
            None if !self.write_buffer.has_room(1) => {
                return Err(Stop::Wait(Stall::WriteBuffer));
            }
            None => self.buffer_store(pa, bytes, value, *cycles),
        }
        self.notes.store(pa, bytes);
        Ok(())
    }

    /// Does what the fast path would, were the store not observed; false if it could not.
    fn store_observed(&mut self, va: u64, bytes: u32, value: u64) -> bool {
        let by_lines = self.is_timed_by_line();
        let Some(delta) = self.l1d.fast_store(by_lines, va, bytes) else { return false };
        let pa = self.memory.physical(va.wrapping_add(delta));
        self.observe_store(pa, bytes, value);
        self.memory.write(pa, bytes, value);
        true
    }

    /// The way with the line of `pa`, if it may be written at once.
    #[inline]
    fn owned_way(&self, pa: u64) -> Option<usize> {
        let line = self.line(pa);
        let way = self.l1d.find_with(line, State::Exclusive)?;
        (!self.write_buffer.has_line(line)).then_some(way)
    }

    /// A store of which the `first` bytes are on one line and the rest on the next: both are done, or
    /// neither.
    fn store_across(
        &mut self,
        va: u64,
        first: u32,
        bytes: u32,
        value: u64,
        cycles: &mut u64,
    ) -> Result<(), Stop> {
        let (low, high) = self.translate_both(va, first, Access::Write, cycles)?;
        if low >= DEVICE_BASE || high >= DEVICE_BASE {
            return Err(Stop::Fault(Fault::DeviceAlignment { address: va }));
        }
        let parts = [(low, first, value), (high, bytes - first, value >> (8 * first))];
        for (pa, bytes, value) in parts {
            self.observe_store(pa, bytes, value);
        }
        if self.is_cacheless() {
            self.store_direct(parts, cycles)?;
            self.mmu.end_split();
            return Ok(());
        }
        if self.is_cached() && !self.write_buffer.has_room(2) {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        if self.is_cached() {
            for (pa, ..) in parts {
                self.bring(self.line(pa), Stall::WriteBuffer, cycles)?;
                self.owned_way(pa).map_or(Ok(()), |way| self.l1d.check_fresh(way, pa))?;
            }
        }
        for (pa, bytes, value) in parts {
            match self.owned_way(pa) {
                _ if !self.is_cached() => self.memory.write(pa, bytes, value),
                Some(way) => {
                    self.l1d.modify(way);
                    self.memory.write(pa, bytes, value);
                    self.l1d.touch(way);
                }
                None if self.stores_bound(pa, bytes, value, cycles) => {}
                None => self.buffer_store(pa, bytes, value, *cycles),
            }
            self.notes.store(pa, bytes);
        }
        self.mmu.end_split();
        Ok(())
    }

    /// Lets accesses to the line of `va`, in way `way` of the data cache, take the fast path.
    #[inline]
    fn make_fast(&mut self, way: usize, va: u64, pa: u64, permissions: u64) {
        if self.notes.is_on() && self.notes.is_tracked(self.line(pa), self.l1d.line_bytes()) {
            // It is used as it would be by the fast path.
            return self.l1d.touch(way);
        }
        self.l1d.make_fast(way, va, self.memory.host(pa), permissions & Access::Write.bit() != 0);
        self.mmu.mark(va);
    }

    fn make_untimed(&mut self, va: u64, pa: u64, permissions: u64) {
        if !self.notes.is_tracked(pa & !(PAGE_BYTES - 1), PAGE_BYTES) {
            let may = |access: Access| permissions & access.bit() != 0;
            self.l1d.make_page_fast(va, self.memory.host(pa), (may(Access::Read), may(Access::Write)));
        }
    }

    fn buffer_store(&mut self, pa: u64, bytes: u32, value: u64, cycle: u64) {
        self.statistics.l1d_store_misses += 1;
        // Later accesses to the line must look into the buffer.
        self.l1d.drop_fast(self.line(pa));
        self.write_buffer.push(pa, bytes, value);
        if !self.transactions.is_under_way(Slot::WriteBuffer) {
            self.drain(cycle);
        }
    }

    // --- of a hart that runs ahead of others ----------------------------------------------------------

    /// The physical address of the `bytes` at `va`, and the page's permissions.
    ///
    /// # Errors
    /// Finding it takes time, or it is not memory behind caches.
    fn place_ahead(&mut self, va: u64, bytes: u32, access: Access) -> Result<(u64, u64), Stop> {
        let is_within = (va & (self.l1d.line_bytes() - 1)) + u64::from(bytes) <= self.l1d.line_bytes();
        if !is_within || !self.is_cached() || self.has_network_cache() {
            return Err(Stop::Turn);
        }
        let found = self.mmu.find(va & !(PAGE_BYTES - 1), access);
        let found = found.filter(|t| self.mmu.allows(t.permissions, access)).ok_or(Stop::Turn)?;
        let pa = found.physical_page | (va & (PAGE_BYTES - 1));
        if pa >= DEVICE_BASE { Err(Stop::Turn) } else { Ok((pa, found.permissions)) }
    }

    /// A load that is not fast, of a hart that runs ahead of others.
    ///
    /// # Errors
    /// It concerns others: it is for the hart's turn.
    fn load_ahead(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        let (pa, permissions) = self.place_ahead(va, bytes, Access::Read)?;
        let line = self.line(pa);
        match self.write_buffer.find(pa, bytes, &self.memory) {
            Buffered::None => {}
            Buffered::Forward(value) => return Ok(value),
            Buffered::Overlap | Buffered::SameLine => return Err(Stop::Turn),
        }
        if self.transactions.is_under_way(Slot::Blocking) || self.is_arriving(line) {
            return Err(Stop::Turn);
        }
        let way = match self.l1d.seek(line) {
            Ok(way) => way,
            Err(_) if !self.l2.has_plain(line, State::Shared) => return Err(Stop::Turn),
            Err(way) => {
                self.keep_below(line);
                let (state, stale) = self.l2.give(line, State::Shared).expect("it is here");
                self.pass_l2(Stall::Data, cycles);
                self.replace_data_line(way, line, state.min(State::Exclusive), stale);
                way
            }
        };
        self.make_fast(way, va, pa, permissions);
        if !self.peers.ahead.has_stored(line) {
            // Before the first store all of it is kept.
            self.l1d.withhold_way(way);
        }
        Ok(self.memory.read(pa, bytes))
    }

    /// A store that is not fast, of a hart that runs ahead of others: the first to a line that is, or one to a line that is
    /// modified by it, or comes from the L2.
    ///
    /// # Errors
    /// It concerns others: it is for the hart's turn.
    fn store_ahead(&mut self, va: u64, bytes: u32, value: u64, cycles: &mut u64) -> Result<(), Stop> {
        if self.l1d.release(va, bytes) {
            let delta =
                self.l1d.fast_store(true, va, bytes).expect("a store to a line that was released is fast");
            let pa = self.memory.physical(va.wrapping_add(delta));
            self.keep_line(pa);
            self.memory.write(pa, bytes, value);
            return Ok(());
        }
        let (pa, permissions) = self.place_ahead(va, bytes, Access::Write)?;
        if let Some(way) = self.owned_way(pa) {
            self.keep_line(pa);
            self.keep_way(way, self.line(pa));
            self.l1d.modify(way);
            self.memory.write(pa, bytes, value);
            self.make_fast(way, va, pa, permissions);
            return Ok(());
        }
        let waits = self.transactions.is_under_way(Slot::WriteBuffer);
        let is_given = waits || self.l2.has_plain(pa, State::Exclusive);
        if !self.write_buffer.has_room(1) || !is_given {
            return Err(Stop::Turn);
        }
        self.buffer_store(pa, bytes, value, *cycles);
        Ok(())
    }

    /// The line that the L2 gives to the oldest buffered store lets the write buffer go on without the bus.
    pub(super) fn is_served_by_l2(&self) -> bool {
        let mut lines = self.write_buffer.addresses().map(|address| self.line(address));
        let Some(first) = lines.next() else { return true };
        let owns = |line: &u64| *line == first || self.l1d.find_with(*line, State::Exclusive).is_some();
        let next = lines.find(|line| !owns(line));
        [Some(first), next].into_iter().flatten().all(|line| self.l2.has_plain(line, State::Exclusive))
    }

    // --- without caches ---------------------------------------------------------------------------

    /// Loads `bytes` at physical address `pa`, which is memory.
    fn load_direct(&mut self, pa: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        if let Some(value) = self.direct.take(pa) {
            return Ok(value);
        }
        if self.transactions.stores_to(pa, u64::from(bytes)) {
            return Err(Stop::Wait(Stall::Posted));
        }
        if self.peers.exist {
            // Others may store to what a loop polls, and no snoop shows it here.
            self.observation.disturb();
        }
        if !self.transactions.is_under_way(Slot::Blocking) {
            self.statistics.uncached_loads += 1;
            self.transactions.ask(*cycles, Slot::Blocking, Request::DirectLoad { address: pa, bytes });
        }
        Err(Stop::Wait(Stall::Data))
    }

    /// Loads the `first` bytes at `low` and the rest of `bytes` at `high`, on another page.
    fn load_direct_across(
        &mut self,
        (low, high): (u64, u64),
        (first, bytes): (u32, u32),
        cycles: &mut u64,
    ) -> Result<u64, Stop> {
        let value = match self.direct.first_part(low) {
            Some(value) => value,
            None => {
                let value = self.load_direct(low, first, cycles)?;
                self.direct.set_first_part(Some((low, value)));
                value
            }
        };
        let rest = self.load_direct(high, bytes - first, cycles)?;
        self.direct.set_first_part(None);
        Ok(value | rest << (8 * first))
    }

    /// Posts stores to memory, all or none: physical address, length, value of each.
    fn store_direct<const N: usize>(
        &mut self,
        stores: [(u64, u32, u64); N],
        cycles: &mut u64,
    ) -> Result<(), Stop> {
        if !self.transactions.has_room(N) {
            return Err(Stop::Wait(Stall::Posted));
        }
        for (address, bytes, value) in stores {
            self.statistics.uncached_stores += 1;
            let store = Request::DirectStore { address, bytes, value: Some(value) };
            self.transactions.post_at(store, *cycles);
            self.notes.store(address, bytes);
        }
        Ok(())
    }

    // --- devices ----------------------------------------------------------------------------------

    fn load_device(&mut self, va: u64, pa: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        device::check_alignment(va, bytes)?;
        if let Some(value) = self.devices.take_reply(pa) {
            return Ok(value);
        }
        self.follow_device_stores()?;
        if !self.transactions.is_under_way(Slot::Blocking) {
            self.statistics.uncached_loads += 1;
            self.transactions.ask(*cycles, Slot::Blocking, Request::UncachedLoad { address: pa, bytes });
        }
        Err(Stop::Wait(Stall::Uncached))
    }

    /// An access that waits for the device, or takes no time, follows posted stores: accesses to a device stay in order
    /// (strongly ordered I/O, unprivileged ISA 17.1).
    fn follow_device_stores(&self) -> Result<(), Stop> {
        if self.transactions.posted().any(Request::is_device_store) {
            return Err(Stop::Wait(Stall::Posted));
        }
        Ok(())
    }

    fn store_device(
        &mut self,
        va: u64,
        pa: u64,
        bytes: u32,
        value: u64,
        cycles: &mut u64,
    ) -> Result<(), Stop> {
        device::check_alignment(va, bytes)?;
        let value = if bytes == 8 { value } else { value & ((1 << (8 * bytes)) - 1) };
        let store = Request::UncachedStore { address: pa, bytes, value };
        if self.is_timed() {
            self.post_device(store, pa, *cycles)?;
        } else {
            self.follow_device_stores()?;
            self.transactions.ask_untimed(*cycles, store);
        }
        self.statistics.uncached_stores += 1;
        Ok(())
    }

    /// Posts a store to a device at `pa`, if there is room.
    fn post_device(&mut self, store: Request, pa: u64, cycle: u64) -> Result<(), Stop> {
        if !self.transactions.has_room(1) {
            return Err(Stop::Wait(Stall::Posted));
        }
        self.check_passing(pa)?;
        self.transactions.post_at(store, cycle);
        Ok(())
    }

    fn check_passing(&self, pa: u64) -> Result<(), Stop> {
        let buffered = self.write_buffer.oldest().map(|store| store.address);
        self.checker.check_passing(pa, buffered, &self.transactions)
    }

    /// Stores `words` at `va`, posted: in order with other stores to devices.
    pub fn store_64(&mut self, va: u64, words: [u64; 8], cycles: &mut u64) -> Result<(), Stop> {
        let pa = self.burst_address(va, cycles)?;
        self.observation.disturb();
        let store = Request::Store64 { address: pa, answered: false };
        if self.is_timed() {
            self.post_device(store, pa, *cycles)?;
            self.devices.push_burst(words);
        } else {
            self.follow_device_stores()?;
            self.devices.set_awaited(words);
            self.transactions.ask_untimed(*cycles, store);
        }
        self.statistics.uncached_stores += 1;
        Ok(())
    }

    /// Stores `words` at `va` and waits for the device's answer, in order with other accesses to devices.
    pub fn store_64_answered(&mut self, va: u64, words: [u64; 8], cycles: &mut u64) -> Result<u64, Stop> {
        let pa = self.burst_address(va, cycles)?;
        if let Some(answer) = self.devices.take_reply(pa) {
            return Ok(answer);
        }
        self.follow_device_stores()?;
        if !self.transactions.is_under_way(Slot::Blocking) {
            self.check_passing(pa)?;
            self.statistics.uncached_stores += 1;
            self.devices.set_awaited(words);
            let store = Request::Store64 { address: pa, answered: true };
            self.transactions.ask(*cycles, Slot::Blocking, store);
        }
        Err(Stop::Wait(Stall::Uncached))
    }

    /// Data of the 64-byte store in `slot`. Where accesses take no time, those of the latest are in
    /// [`Slot::Blocking`].
    pub fn burst(&self, slot: Slot) -> [u64; 8] {
        self.devices.burst(slot)
    }

    /// Physical address of a 64-byte store.
    fn burst_address(&mut self, va: u64, cycles: &mut u64) -> Result<u64, Stop> {
        device::check_alignment(va, BURST_BYTES)?;
        let (pa, _) = self.translate(va, Access::Write, cycles)?;
        if pa < DEVICE_BASE {
            return Err(Stop::Fault(Fault::NotDevice { address: va }));
        }
        Ok(pa)
    }

    // --- atomics --------------------------------------------------------------------------------

    /// The physical address of an atomic operation.
    fn atomic_address(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        if !va.is_multiple_of(u64::from(bytes)) {
            return Err(Stop::Fault(Fault::Atomic { address: va }));
        }
        let (pa, _) = self.translate(va, Access::Write, cycles)?;
        if pa >= DEVICE_BASE || self.is_cacheless() {
            return Err(Stop::Fault(Fault::Atomic { address: va }));
        }
        Ok(pa)
    }

    /// The physical address of an atomic operation, its line held for writing and every earlier store
    /// done.
    fn own(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        let pa = self.atomic_address(va, bytes, cycles)?;
        if !self.is_cached() {
            *cycles += if self.is_timed() { self.parameters.order.atomic.cycles() } else { 0 };
            return Ok(pa);
        }
        if !self.write_buffer.is_empty() {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        let way = self.obtain(self.line(pa), true, Stall::Data, cycles)?;
        self.l1d.check_fresh(way, pa)?;
        self.l1d.touch(way);
        *cycles += self.parameters.order.atomic.cycles();
        Ok(pa)
    }

    /// Atomically replaces the `bytes` at `va` by `f` of them; returns the old value, zero-extended.
    pub fn atomic(
        &mut self,
        va: u64,
        bytes: u32,
        cycles: &mut u64,
        f: impl FnOnce(u64) -> u64,
    ) -> Result<u64, Stop> {
        let pa = self.own(va, bytes, cycles)?;
        let old = self.memory.read(pa, bytes);
        self.notes.load(pa, bytes, *cycles);
        self.write_owned(pa, bytes, f(old));
        Ok(old)
    }

    fn write_owned(&mut self, pa: u64, bytes: u32, value: u64) {
        let way = if self.is_cached() { self.l1d.find(self.line(pa)) } else { None };
        self.l1d.modify_atomically(way);
        self.observe_store(pa, bytes, value);
        self.memory.write(pa, bytes, value);
        self.notes.store(pa, bytes);
    }

    /// `lr`: loads and reserves the line.
    pub fn load_reserved(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        let pa = self.own(va, bytes, cycles)?;
        self.reserved.set(self.line(pa), *cycles);
        self.notes.load(pa, bytes, *cycles);
        Ok(self.memory.read(pa, bytes))
    }

    /// `sc`: stores if the reservation still holds; true if it did.
    pub fn store_conditional(
        &mut self,
        va: u64,
        bytes: u32,
        value: u64,
        cycles: &mut u64,
    ) -> Result<bool, Stop> {
        let pa = self.atomic_address(va, bytes, cycles)?;
        // Without its reservation it fails at once: to take the line would cost another hart its own.
        if !self.reserved.holds(self.line(pa)) {
            self.reserved.drop_line();
            *cycles += if self.is_timed() { self.parameters.order.atomic.cycles() } else { 0 };
            return Ok(false);
        }
        let pa = self.own(va, bytes, cycles)?;
        let holds = self.reserved.holds(self.line(pa));
        self.reserved.drop_line();
        if holds {
            self.write_owned(pa, bytes, value);
        }
        Ok(holds)
    }

    // --- order and cache control ----------------------------------------------------------------

    /// `fence predecessor, successor`.
    pub fn fence(&mut self, predecessor: u32, cycles: &mut u64) -> Result<(), Stop> {
        if !self.is_timed() {
            return Ok(());
        }
        if predecessor & order::W != 0 && !self.write_buffer.is_empty() {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        let awaited = |r: &Request| match r {
            r if r.is_device_store() => predecessor & order::O != 0,
            Request::WriteBack { flush, .. } => *flush && predecessor & order::W != 0,
            Request::Block { .. } | Request::DirectStore { .. } => predecessor & order::W != 0,
            _ => false,
        };
        if self.transactions.posted().any(awaited) {
            return Err(Stop::Wait(Stall::Posted));
        }
        self.statistics.fences += 1;
        *cycles += self.parameters.order.fence.cycles();
        Ok(())
    }

    /// A cache-block operation on the line that holds `va`.
    pub fn block(&mut self, operation: BlockOperation, va: u64, cycles: &mut u64) -> Result<(), Stop> {
        let (pa, _) = self.translate(va, Access::Read, cycles)?;
        if !self.is_cached() || pa >= DEVICE_BASE {
            return Ok(());
        }
        let line = self.line(pa);
        if self.write_buffer.has_line(line) || self.is_arriving(line) {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        let l2_line = self.l2.cache().map(|l2| (l2.line_of(line), l2.line_bytes()));
        let (flush_line, bytes) = l2_line.unwrap_or((line, self.l1d.line_bytes()));
        let is_owned = self.peers.are_told
            && operation != BlockOperation::Clean
            && self.outermost().state(flush_line) == State::Exclusive;
        let request = if is_owned || self.has_modified(flush_line, bytes) {
            Some(Request::WriteBack { line: flush_line, bytes: bytes as u32, flush: true })
        } else {
            let snoop = self.asks_peers(operation, flush_line);
            snoop.map(|snoop| Request::Block { line: flush_line, bytes: bytes as u32, snoop })
        };
        if request.is_some() && !self.transactions.has_room(1) {
            return Err(Stop::Wait(Stall::Posted));
        }
        // A write-back that was an eviction's is now the program's: a fence waits for it.
        self.transactions.make_flush(flush_line);
        if operation == BlockOperation::Clean {
            self.clean_block(flush_line, bytes);
        } else {
            self.drop_block(flush_line, bytes);
        }
        if let Some(request) = request {
            self.statistics.l1d_writebacks += u64::from(matches!(request, Request::WriteBack { .. }));
            self.transactions.post_at(request, *cycles);
        }
        self.statistics.flushes += 1;
        *cycles += self.parameters.order.flush.cycles();
        Ok(())
    }

    /// Some of the `bytes` from `line` on is modified here.
    pub fn has_modified(&self, line: u64, bytes: u64) -> bool {
        let is_dirty = |cache: &Cache| {
            let mut lines = (line..line + bytes).step_by(cache.line_bytes() as usize);
            lines.any(|l| cache.state(l) == State::Modified)
        };
        self.has_bound(line, bytes) || is_dirty(self.l1d.cache()) || self.l2.cache().is_some_and(is_dirty)
    }

    /// What `operation` on `line` asks of the caches of other harts, if they can hold what concerns it: the
    /// operations act on all caches of the harts that share memory (RISC-V CMO 1.0, 2.2). If this one has
    /// the line exclusively, no other has it; if it shares the line, no other has it modified.
    fn asks_peers(&self, operation: BlockOperation, line: u64) -> Option<Snoop> {
        let state = self.outermost().state(line);
        let (snoop, suffices) = match operation {
            BlockOperation::Clean => (Snoop::Clean, State::Shared),
            BlockOperation::Flush | BlockOperation::Invalidate => (Snoop::Flush, State::Exclusive),
        };
        (self.peers.exist && state < suffices).then_some(snoop)
    }

    /// `bytes` from `line` on are on their way to memory: what was modified is exclusive. The CMO extension
    /// asks for the write only; processors keep the line and their right to it, as the 604
    /// does for dcbst (PowerPC 604 User's Manual: modified becomes exclusive).
    pub(super) fn clean_block(&mut self, line: u64, bytes: u64) {
        self.drop_bound(line, bytes);
        for l1 in (line..line + bytes).step_by(self.l1d.line_bytes() as usize) {
            self.l1d.clean(l1);
        }
        self.l2.clean(line);
    }

    /// Drops `bytes` from `line` on from every cache of this hart.
    pub(super) fn drop_block(&mut self, line: u64, bytes: u64) {
        self.drop_bound(line, bytes);
        for l1 in (line..line + bytes).step_by(self.l1d.line_bytes() as usize) {
            self.l1d.remove(l1);
        }
        if self.l2.remove(line) {
            self.l1i.remove(line, bytes);
        }
    }

    /// `fence.i`: later fetches see earlier stores. Stores are visible once they leave the write
    /// buffer, so it drains.
    pub fn fence_instructions(&mut self, cycles: &mut u64) -> Result<(), Stop> {
        if !self.write_buffer.is_empty() {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        if self.transactions.stores().next().is_some() {
            return Err(Stop::Wait(Stall::Posted));
        }
        *cycles += if self.is_timed() { self.parameters.order.fence.cycles() } else { 0 };
        Ok(())
    }
}

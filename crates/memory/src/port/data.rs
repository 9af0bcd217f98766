//! The data side: loads, stores, atomics, fences, cache-block operations.

use super::fast::FastView;
use super::{
    Access, BufferedStore, DEVICE_BASE, Fault, Incoherence, Observation, Observed, Overwritten, Port,
    Request, Slot, Snoop, Stall, Stop, fast,
};
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

/// Changes of memory that one observation follows; a polling loop makes a few, on its stack.
const OVERWRITTEN_MAX: usize = 64;

enum Buffered {
    /// The newest store to these bytes gives the whole value.
    Forward(u64),
    /// Some buffered store has part of it.
    Overlap,
    /// A buffered store has other bytes of the line.
    SameLine,
    /// Nothing.
    None,
}

impl Port {
    /// The table for the fast path, as things stand: call again after [`Port::set_timed`] or
    /// [`Port::observe`].
    #[inline]
    pub fn view(&mut self) -> FastView {
        let observe = self.is_watched();
        let table = if self.is_cached() { &mut self.data } else { &mut self.untimed };
        FastView::new(table, &mut self.tick, observe)
    }

    /// A store may have ended the observation: `view` is then one for which stores are fast again.
    #[inline]
    pub fn refresh(&self, view: &mut FastView) {
        view.set_observe(self.is_watched());
    }

    /// Stores are observed, and none has told enough yet.
    fn is_watched(&self) -> bool {
        self.observation.observed.is_some_and(|o| o.silent)
    }

    /// Loads `bytes` at `va`, zero-extended.
    pub fn load(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        self.load_slow(va, bytes, cycles)
    }

    /// Stores the low `bytes` of `value` at `va`.
    pub fn store(&mut self, va: u64, bytes: u32, value: u64, cycles: &mut u64) -> Result<(), Stop> {
        self.store_slow(va, bytes, value, cycles)
    }

    /// From now on remembers what stores change and whether loads from devices may be repeated (`true`),
    /// or stops remembering.
    pub fn observe(&mut self, on: bool) {
        self.observation.overwritten.clear();
        self.observation.observed = on.then_some(Observed { silent: true });
    }

    /// Goes on with what was remembered in `other`, which gets what was remembered here: another process comes to
    /// the hart.
    pub fn exchange_observation(&mut self, other: &mut Observation) {
        std::mem::swap(&mut self.observation, other);
    }

    /// Since [`Port::observe`] nothing happened that a repetition would have as its effect again, and the
    /// hart's memory holds what it held then: a place on the stack may have had several values meanwhile.
    pub fn is_silent(&self) -> bool {
        if !self.is_watched() {
            return false;
        }
        let mut checked: Vec<u64> = vec![];
        for o in &self.observation.overwritten {
            for (address, &old) in (o.address..).zip(&o.old[..o.bytes as usize]) {
                // Of a byte that was overwritten twice, what it held first counts.
                if checked.contains(&address) {
                    continue;
                }
                checked.push(address);
                let mut now = [0];
                if !self.peek(address, &mut now) || now[0] != old {
                    return false;
                }
            }
        }
        true
    }

    /// What is observed is not silent: an effect outside that a repetition would have again.
    pub fn disturb(&mut self) {
        if let Some(o) = &mut self.observation.observed {
            o.silent = false;
        }
    }

    fn observe_store(&mut self, pa: u64, bytes: u32, value: u64) {
        if !self.is_watched() {
            return;
        }
        let old = self.peek_word(pa, bytes);
        let unused = 64 - 8 * bytes;
        if (old ^ value) << unused == 0 {
            return;
        }
        let overwritten = &mut self.observation.overwritten;
        // A counter changes often: what it held first counts.
        if overwritten.iter().any(|o| (o.address, o.bytes) == (pa, bytes)) {
            return;
        }
        if overwritten.len() < OVERWRITTEN_MAX {
            overwritten.push(Overwritten { address: pa, bytes, old: old.to_le_bytes() });
        } else {
            self.disturb();
        }
    }

    #[cold]
    #[inline(never)]
    fn load_slow(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        let granule = if self.is_cached() { self.l1d.line_bytes() } else { PAGE_BYTES };
        let first = (granule - (va & (granule - 1))).min(u64::from(bytes)) as u32;
        if first < bytes {
            return self.load_across(va, first, bytes, cycles);
        }
        let (pa, permissions) = self.translate(va, Access::Read, cycles)?;
        if self.is_uncached(pa) {
            return self.load_device(va, pa, bytes, cycles);
        }
        if !self.is_cached() {
            self.make_untimed(va, pa, permissions);
            self.note_load(pa, bytes, *cycles);
            return Ok(self.read_memory(pa, bytes));
        }
        let (value, way) = self.load_cached(pa, bytes, cycles)?;
        self.note_load(pa, bytes, *cycles);
        if let Some(way) = way {
            self.make_fast(way, va, pa, permissions);
        }
        Ok(value)
    }

    /// Loads `bytes` at physical address `pa`, within a line. Also the line's way, if nothing stands in the
    /// way of the fast path.
    fn load_cached(&mut self, pa: u64, bytes: u32, cycles: &mut u64) -> Result<(u64, Option<usize>), Stop> {
        let line = self.line(pa);
        let buffered = self.buffered(pa, bytes);
        match buffered {
            Buffered::Forward(value) => return Ok((value, None)),
            Buffered::Overlap => return Err(Stop::Wait(Stall::WriteBuffer)),
            Buffered::SameLine if self.l1d.find(line).is_none() || self.arriving == Some(line) => {
                return Err(Stop::Wait(Stall::WriteBuffer));
            }
            Buffered::SameLine | Buffered::None => {}
        }
        if self.hits_bound(pa, bytes, cycles) {
            return Ok((self.read_memory(pa, bytes), None));
        }
        let way = self.obtain(line, false, Stall::Data, cycles)?;
        self.check_fresh(way, pa)?;
        self.touch(way);
        Ok((self.read_memory(pa, bytes), matches!(buffered, Buffered::None).then_some(way)))
    }

    /// A load of which the `first` bytes are on one line and the rest on the next.
    fn load_across(&mut self, va: u64, first: u32, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        let (low, high) = self.translate_both(va, first, Access::Read, cycles)?;
        if self.is_uncached(low) || self.is_uncached(high) {
            return Err(Stop::Fault(Fault::DeviceAlignment { address: va }));
        }
        let values = if self.is_cached() {
            (self.load_cached(low, first, cycles)?.0, self.load_cached(high, bytes - first, cycles)?.0)
        } else {
            (self.read_memory(low, first), self.read_memory(high, bytes - first))
        };
        self.note_load(low, first, *cycles);
        self.note_load(high, bytes - first, *cycles);
        self.split = None;
        Ok(values.0 | values.1 << (8 * first))
    }

    #[cold]
    #[inline(never)]
    fn store_slow(&mut self, va: u64, bytes: u32, value: u64, cycles: &mut u64) -> Result<(), Stop> {
        if self.is_watched() && self.store_observed(va, bytes, value) {
            return Ok(());
        }
        let granule = if self.is_cached() { self.l1d.line_bytes() } else { PAGE_BYTES };
        let first = (granule - (va & (granule - 1))).min(u64::from(bytes)) as u32;
        if first < bytes {
            return self.store_across(va, first, bytes, value, cycles);
        }
        let (pa, permissions) = self.translate(va, Access::Write, cycles)?;
        if self.is_uncached(pa) {
            self.disturb();
            return self.store_device(va, pa, bytes, value, cycles);
        }
        self.observe_store(pa, bytes, value);
        if !self.is_cached() {
            self.make_untimed(va, pa, permissions);
            self.write_memory(pa, bytes, value);
            self.note_store(pa, bytes);
            return Ok(());
        }
        self.bring(self.line(pa), Stall::WriteBuffer, cycles)?;
        match self.owned_way(pa) {
            Some(way) => {
                self.check_fresh(way, pa)?;
                self.store_owned(way, pa, bytes, value);
                self.make_fast(way, va, pa, permissions);
            }
            None if self.stores_bound(pa, bytes, value, cycles) => {}
            None if self.write_buffer.len() >= self.parameters.write_buffer.entries as usize => {
                return Err(Stop::Wait(Stall::WriteBuffer));
            }
            None => self.buffer_store(pa, bytes, value, *cycles),
        }
        self.note_store(pa, bytes);
        Ok(())
    }

    /// Does what the fast path would, were the store not observed; false if it could not.
    fn store_observed(&mut self, va: u64, bytes: u32, value: u64) -> bool {
        let table = if self.is_cached() { &mut self.data } else { &mut self.untimed };
        let tag = va & (table.granule_mask | u64::from(bytes - 1));
        let line = table.entry(va);
        if line.store != tag {
            return false;
        }
        self.tick += 1;
        line.stamp = self.tick;
        let pa = va.wrapping_add(line.delta).wrapping_sub(self.base as u64);
        self.observe_store(pa, bytes, value);
        self.write_memory(pa, bytes, value);
        true
    }

    /// The way with the line of `pa`, if it may be written at once.
    fn owned_way(&self, pa: u64) -> Option<usize> {
        let line = self.line(pa);
        let way = self.l1d.find(line).filter(|&w| self.l1d.way(w).state >= State::Exclusive)?;
        (!self.is_buffered(line)).then_some(way)
    }

    fn store_owned(&mut self, way: usize, pa: u64, bytes: u32, value: u64) {
        if self.l1d.way(way).state != State::Modified {
            self.l1d.way_mut(way).state = State::Modified;
            self.changes += 1;
        }
        self.write_memory(pa, bytes, value);
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
        if self.is_uncached(low) || self.is_uncached(high) {
            return Err(Stop::Fault(Fault::DeviceAlignment { address: va }));
        }
        let parts = [(low, first, value), (high, bytes - first, value >> (8 * first))];
        for (pa, bytes, value) in parts {
            self.observe_store(pa, bytes, value);
        }
        // A buffer with a single entry takes both when it is empty.
        if self.is_cached()
            && self.write_buffer.len() + 2 > (self.parameters.write_buffer.entries as usize).max(2)
        {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        if self.is_cached() {
            for (pa, ..) in parts {
                self.bring(self.line(pa), Stall::WriteBuffer, cycles)?;
                self.owned_way(pa).map_or(Ok(()), |way| self.check_fresh(way, pa))?;
            }
        }
        for (pa, bytes, value) in parts {
            match self.owned_way(pa) {
                _ if !self.is_cached() => self.write_memory(pa, bytes, value),
                Some(way) => {
                    self.store_owned(way, pa, bytes, value);
                    self.touch(way);
                }
                None if self.stores_bound(pa, bytes, value, cycles) => {}
                None => self.buffer_store(pa, bytes, value, *cycles),
            }
            self.note_store(pa, bytes);
        }
        self.split = None;
        Ok(())
    }

    fn make_untimed(&mut self, va: u64, pa: u64, permissions: u64) {
        if self.is_tracked(pa & self.untimed.granule_mask, PAGE_BYTES) {
            return;
        }
        let granule = va & self.untimed.granule_mask;
        let index = self.untimed.index(va) as u32;
        let writable = permissions & Access::Write.bit() != 0;
        let line = fast::FastLine {
            load: if permissions & Access::Read.bit() != 0 { granule } else { fast::NOTHING },
            store: if writable { granule } else { fast::NOTHING },
            delta: (self.base as u64).wrapping_add(pa).wrapping_sub(va),
            stamp: 0,
        };
        self.untimed.set(index, line, 0);
    }

    fn check_fresh(&self, way: usize, pa: u64) -> Result<(), Stop> {
        if self.l1d.way(way).stale {
            return Err(Stop::Fault(Fault::Incoherent(Incoherence::StaleHit { address: pa })));
        }
        Ok(())
    }

    // --- the write buffer -----------------------------------------------------------------------

    fn is_buffered(&self, line: u64) -> bool {
        self.write_buffer.iter().any(|s| self.line(s.address) == line)
    }

    fn buffered(&self, pa: u64, bytes: u32) -> Buffered {
        if self.write_buffer.is_empty() {
            return Buffered::None;
        }
        let end = pa + u64::from(bytes);
        // What was written ahead of its time is in memory, or newer data are.
        for store in self.write_buffer.iter().rev().filter(|s| !s.applied || s.owned) {
            let store_end = store.address + u64::from(store.bytes);
            if store.address <= pa && end <= store_end {
                if store.owned {
                    return Buffered::Forward(self.read_memory(pa, bytes));
                }
                let value = store.value >> (8 * (pa - store.address));
                let mask = if bytes == 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
                return Buffered::Forward(value & mask);
            }
            if store.address < end && pa < store_end {
                return Buffered::Overlap;
            }
        }
        if self.is_buffered(self.line(pa)) { Buffered::SameLine } else { Buffered::None }
    }

    fn buffer_store(&mut self, pa: u64, bytes: u32, value: u64, cycle: u64) {
        self.statistics.l1d_store_misses += 1;
        // Later accesses to the line must look into the buffer.
        if let Some(way) = self.l1d.find(self.line(pa))
            && let Some(index) = self.l1d.way(way).fast.get()
        {
            self.drop_fast_data(index);
        }
        let store = BufferedStore { address: pa, bytes, value, applied: false, owned: false };
        self.write_buffer.push_back(store);
        self.changes += 1;
        if self.under_way[Slot::WriteBuffer as usize].is_none() {
            self.drain(cycle);
        }
    }

    /// Writes what may be written and asks for what the oldest store lacks.
    pub(super) fn drain(&mut self, cycle: u64) {
        while let Some(&store) = self.write_buffer.front() {
            if store.owned {
                self.write_buffer.pop_front();
                self.changes += 1;
                continue;
            }
            let line = self.line(store.address);
            let state = self.l1d.state(line);
            if state >= State::Exclusive {
                let way = self.l1d.find(line).expect("a line in some state");
                self.l1d.way_mut(way).state = State::Modified;
                if !store.applied {
                    self.write_memory(store.address, store.bytes, store.value);
                }
                self.touch(way);
                self.write_buffer.pop_front();
                self.changes += 1;
                continue;
            }
            let l2_state = self.l2.as_ref().map_or(State::Invalid, |l2| l2.state(l2.line_of(line)));
            let request = if l2_state >= State::Exclusive {
                Request::OwnFromL2
            } else {
                Request::Own { line, upgrade: state == State::Shared }
            };
            self.request(cycle, Slot::WriteBuffer, request);
            return;
        }
    }

    /// The oldest stores have their line at way `way`: they take effect now, in the order of the bus.
    /// (Were they to wait for the data, another fetch could take the line away again, for ever.)
    pub(super) fn apply_owned(&mut self, way: usize) {
        let line = self.l1d.way(way).line;
        for i in 0..self.write_buffer.len() {
            let store = self.write_buffer[i];
            if self.line(store.address) != line {
                break;
            }
            self.l1d.way_mut(way).state = State::Modified;
            if !store.applied {
                self.write_memory(store.address, store.bytes, store.value);
            }
            (self.write_buffer[i].applied, self.write_buffer[i].owned) = (true, true);
        }
    }

    // --- lines ----------------------------------------------------------------------------------

    /// The way of the data cache with `line`, fetched from the L2 if it is there; else a request.
    pub(super) fn obtain(
        &mut self,
        line: u64,
        exclusive: bool,
        stall: Stall,
        cycles: &mut u64,
    ) -> Result<usize, Stop> {
        let least = if exclusive { State::Exclusive } else { State::Shared };
        // Lines take their places at the grant; their data come later.
        if self.is_awaited(line) || self.arriving == Some(line) {
            return Err(Stop::Wait(stall));
        }
        if let Some(way) = self.l1d.find(line).filter(|&w| self.l1d.way(w).state >= least) {
            return Ok(way);
        }
        if self.under_way[Slot::Blocking as usize].is_some() || self.is_arriving(line) {
            return Err(Stop::Wait(stall));
        }
        if self.bring(line, stall, cycles)?
            && let Some(way) = self.l1d.find(line)
        {
            return Ok(way);
        }
        let l2_way = self.l2.as_ref().and_then(|l2| l2.find(l2.line_of(line)));
        if let Some(l2_way) = l2_way {
            let l2 = self.l2.as_mut().expect("just found");
            let (state, stale) = (l2.way(l2_way).state, l2.way(l2_way).stale);
            if state >= least {
                self.tick += 1;
                l2.way_mut(l2_way).stamp = self.tick;
                self.use_stashed(l2_way);
                self.statistics.l1d_load_misses += 1;
                self.statistics.l2_hits += 1;
                *cycles += self.parameters.l2.latency.cycles();
                self.waits.add(stall, self.parameters.l2.latency.cycles());
                let state = if state == State::Shared { State::Shared } else { State::Exclusive };
                let way = self.place_data_line(line, state);
                self.l1d.way_mut(way).stale |= stale;
                return Ok(way);
            }
        }
        let fill = Request::Fill { line, data: true, exclusive };
        if self.fill_now(fill, stall, cycles) {
            return Ok(self.l1d.find(line).expect("the line is here"));
        }
        self.request(*cycles, Slot::Blocking, fill);
        Err(Stop::Wait(stall))
    }

    pub(super) fn place_data_line(&mut self, line: u64, state: State) -> usize {
        let state = if self.merge_bound(line) { State::Modified } else { state };
        self.tick += 1;
        self.changes += 1;
        let stamp = self.tick;
        if let Some(way) = self.l1d.find(line) {
            let way_state = self.l1d.way_mut(way);
            // What was evicted from the network cache may have come before the fetched line did.
            way_state.state = way_state.state.max(state);
            way_state.stamp = stamp;
            return way;
        }
        let table = &self.data;
        let way = self
            .l1d
            .victim(line, |w| w.fast.get().map_or(w.stamp, |index| w.stamp.max(table.at(index).stamp)));
        if self.l1d.way(way).state != State::Invalid {
            self.statistics.l1d_replacements += 1;
            let victim = self.l1d.way(way).line;
            self.evict_data(victim);
        }
        self.l1d.place(way, line, state, stamp);
        way
    }

    /// Drops `line` from the data cache; dirty, it goes to the L2 or is posted for the bus.
    pub(super) fn evict_data(&mut self, line: u64) {
        let Some(old) = self.remove_data(line) else { return };
        if old != State::Modified {
            return;
        }
        self.statistics.l1d_writebacks += 1;
        if let Some(l2) = &mut self.l2 {
            let way = l2.find(l2.line_of(line)).expect("the L2 is inclusive");
            l2.way_mut(way).state = State::Modified;
        } else {
            let bytes = self.l1d.line_bytes() as u32;
            self.post(Request::WriteBack { line, bytes, flush: false });
        }
    }

    /// Drops `line` from the data cache and says in which state it was.
    pub(super) fn remove_data(&mut self, line: u64) -> Option<State> {
        let way = self.l1d.find(line)?;
        if let Some(index) = self.l1d.way(way).fast.get() {
            self.drop_fast_data(index);
        }
        self.changes += 1;
        Some(self.l1d.clear(way).state)
    }

    // --- atomics --------------------------------------------------------------------------------

    /// The physical address of an atomic operation.
    fn atomic_address(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        if !va.is_multiple_of(u64::from(bytes)) {
            return Err(Stop::Fault(Fault::Atomic { address: va }));
        }
        let (pa, _) = self.translate(va, Access::Write, cycles)?;
        if self.is_uncached(pa) {
            return Err(Stop::Fault(Fault::Atomic { address: va }));
        }
        Ok(pa)
    }

    /// The physical address of an atomic operation, its line held for writing and every earlier store
    /// done.
    fn own(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        let pa = self.atomic_address(va, bytes, cycles)?;
        if !self.is_cached() {
            *cycles += if self.timed { self.parameters.order.atomic.cycles() } else { 0 };
            return Ok(pa);
        }
        if !self.write_buffer.is_empty() {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        let way = self.obtain(self.line(pa), true, Stall::Data, cycles)?;
        self.check_fresh(way, pa)?;
        self.touch(way);
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
        let old = self.read_memory(pa, bytes);
        self.note_load(pa, bytes, *cycles);
        self.write_owned(pa, bytes, f(old));
        Ok(old)
    }

    fn write_owned(&mut self, pa: u64, bytes: u32, value: u64) {
        if let Some(way) = self.l1d.find(self.line(pa)).filter(|_| self.is_cached()) {
            self.l1d.way_mut(way).state = State::Modified;
        }
        self.changes += 1;
        self.observe_store(pa, bytes, value);
        self.write_memory(pa, bytes, value);
        self.note_store(pa, bytes);
    }

    /// `lr`: loads and reserves the line. The reservation outlives the line in the cache: a loop whose code and data
    /// replace each other must succeed, too (unprivileged ISA, "Eventual Success of Store-Conditional Instructions").
    pub fn load_reserved(&mut self, va: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        let pa = self.own(va, bytes, cycles)?;
        self.reservation = Some(self.line(pa));
        self.reserved_at = *cycles;
        self.note_load(pa, bytes, *cycles);
        Ok(self.read_memory(pa, bytes))
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
        if self.reservation != Some(self.line(pa)) {
            self.reservation = None;
            *cycles += if self.timed { self.parameters.order.atomic.cycles() } else { 0 };
            return Ok(false);
        }
        let pa = self.own(va, bytes, cycles)?;
        let holds = self.reservation.take() == Some(self.line(pa));
        if holds {
            self.write_owned(pa, bytes, value);
        }
        Ok(holds)
    }

    // --- order and cache control ----------------------------------------------------------------

    /// `fence predecessor, successor`.
    pub fn fence(&mut self, predecessor: u32, cycles: &mut u64) -> Result<(), Stop> {
        if !self.timed {
            return Ok(());
        }
        if predecessor & order::W != 0 && !self.write_buffer.is_empty() {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        let awaited = |r: &Request| match r {
            r if r.is_device_store() => predecessor & order::O != 0,
            Request::WriteBack { flush, .. } => *flush && predecessor & order::W != 0,
            Request::Block { .. } => predecessor & order::W != 0,
            _ => false,
        };
        if self.posted.iter().any(awaited) {
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
        if self.is_buffered(line) || self.is_arriving(line) {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        let l2_line = self.l2.as_ref().map(|l2| (l2.line_of(line), l2.line_bytes()));
        let (flush_line, bytes) = l2_line.unwrap_or((line, self.l1d.line_bytes()));
        let request = if self.has_modified(flush_line, bytes) {
            Some(Request::WriteBack { line: flush_line, bytes: bytes as u32, flush: true })
        } else {
            let snoop = self.asks_peers(operation, flush_line);
            snoop.map(|snoop| Request::Block { line: flush_line, bytes: bytes as u32, snoop })
        };
        if request.is_some() && self.posted.len() >= self.parameters.write_buffer.posted as usize {
            return Err(Stop::Wait(Stall::Posted));
        }
        // A write-back that was an eviction's is now the program's: a fence waits for it.
        for request in &mut self.posted {
            if let Request::WriteBack { line, flush, .. } = request
                && *line == flush_line
            {
                *flush = true;
            }
        }
        if operation == BlockOperation::Clean {
            self.clean_block(flush_line, bytes);
        } else {
            self.drop_block(flush_line, bytes);
        }
        if let Some(request) = request {
            self.statistics.l1d_writebacks += u64::from(matches!(request, Request::WriteBack { .. }));
            self.post_at(request, *cycles);
        }
        self.statistics.flushes += 1;
        *cycles += self.parameters.order.flush.cycles();
        Ok(())
    }

    /// Some of the `bytes` from `line` on is modified here.
    pub(super) fn has_modified(&self, line: u64, bytes: u64) -> bool {
        let is_dirty = |cache: &Cache| {
            let mut lines = (line..line + bytes).step_by(cache.line_bytes() as usize);
            lines.any(|l| cache.state(l) == State::Modified)
        };
        self.has_bound(line, bytes) || is_dirty(&self.l1d) || self.l2.as_ref().is_some_and(is_dirty)
    }

    /// What `operation` on `line` asks of the caches of other harts, if they can hold what concerns it: the
    /// operations act on all caches of the harts that share memory (RISC-V CMO 1.0, 2.2). Who holds a line
    /// exclusively knows that nobody else does; who shares it, that nobody else has it modified.
    fn asks_peers(&self, operation: BlockOperation, line: u64) -> Option<Snoop> {
        let state = self.l2.as_ref().unwrap_or(&self.l1d).state(line);
        let (snoop, suffices) = match operation {
            BlockOperation::Clean => (Snoop::Clean, State::Shared),
            BlockOperation::Flush | BlockOperation::Invalidate => (Snoop::Flush, State::Exclusive),
        };
        (self.has_peers && state < suffices).then_some(snoop)
    }

    /// `bytes` from `line` on are on their way to memory: what was modified is exclusive. The CMO extension
    /// asks for the write only; processors keep the line and their right to it, as the 604
    /// does for dcbst (PowerPC 604 User's Manual: modified becomes exclusive).
    pub(super) fn clean_block(&mut self, line: u64, bytes: u64) {
        self.drop_bound(line, bytes);
        for l1 in (line..line + bytes).step_by(self.l1d.line_bytes() as usize) {
            if let Some(way) = self.l1d.find(l1).filter(|&w| self.l1d.way(w).state == State::Modified) {
                let way = self.l1d.way_mut(way);
                way.state = State::Exclusive;
                if let Some(index) = way.fast.get() {
                    self.data.at_mut(index).store = fast::NOTHING;
                }
                self.changes += 1;
            }
        }
        if let Some(l2) = &mut self.l2
            && let Some(way) = l2.find(line).filter(|&w| l2.way(w).state == State::Modified)
        {
            l2.way_mut(way).state = State::Exclusive;
            self.changes += 1;
        }
    }

    /// Drops `bytes` from `line` on from every cache of this hart.
    pub(super) fn drop_block(&mut self, line: u64, bytes: u64) {
        self.drop_bound(line, bytes);
        for l1 in (line..line + bytes).step_by(self.l1d.line_bytes() as usize) {
            self.remove_data(l1);
        }
        if let Some(l2) = &mut self.l2
            && let Some(way) = l2.find(line)
        {
            l2.clear(way);
            self.changes += 1;
            self.remove_instruction_lines(line, bytes);
        }
    }

    // --- posted transactions ---------------------------------------------------------------------

    fn post(&mut self, request: Request) {
        // An eviction happens as its line's successor is placed: the request follows at that time.
        self.posted.push_back(request);
        self.changes += 1;
    }

    pub(super) fn post_at(&mut self, request: Request, cycle: u64) {
        self.post(request);
        self.issue_posted(cycle);
    }

    /// Asks the bus for the oldest posted transaction, if none is under way.
    pub(super) fn issue_posted(&mut self, cycle: u64) {
        if self.under_way[Slot::Posted as usize].is_none()
            && let Some(&request) = self.posted.front()
        {
            self.request(cycle, Slot::Posted, request);
        }
    }
}

//! How lines come into the caches and leave them: misses, inclusion, the bus on loan, the walk's loads.

use chasqui_engine::{Class, Cycles};

use super::fast::{FetchView, Geometry};
use super::lent::{Due, Lent, LentBus, Outwaited, Stage};
use super::request::{Request, Slot, Snooped};
use super::second_level::Replaced;
use super::{Access, Fault, Port, PortKind, Stall, Stop};
use crate::cache::State;
use crate::tlb::{PAGE_BYTES, Translation};
use crate::walk::{Walk, WalkStep as Step};

impl Port {
    // --- translations -----------------------------------------------------------------------------

    /// Physical address of `va`, and the page's permissions.
    #[inline(always)]
    pub(super) fn translate(
        &mut self,
        va: u64,
        access: Access,
        cycles: &mut u64,
    ) -> Result<(u64, u64), Stop> {
        let page = va & !(PAGE_BYTES - 1);
        if !self.is_cached() {
            let t = self.mmu.untimed(page, access, &self.memory);
            return self.place_in_page(va, access, t);
        }
        match self.mmu.find(page, access) {
            Some(t) if self.mmu.allows(t.permissions, access) => {
                Ok((t.physical_page | (va & (PAGE_BYTES - 1)), t.permissions))
            }
            Some(_) => Err(Stop::Fault(Fault::Page { address: va, access })),
            None => self.translate_by_walk(va, access, cycles),
        }
    }

    #[inline(never)]
    fn translate_by_walk(&mut self, va: u64, access: Access, cycles: &mut u64) -> Result<(u64, u64), Stop> {
        let t = self.walk(va & !(PAGE_BYTES - 1), access, cycles);
        self.place_in_page(va, access, t)
    }

    /// The physical address of `va`, whose page has the translation `t`, and the page's permissions.
    fn place_in_page(
        &self,
        va: u64,
        access: Access,
        t: Result<Translation, Stop>,
    ) -> Result<(u64, u64), Stop> {
        // A fault names the address, not only its page.
        let fault = Stop::Fault(Fault::Page { address: va, access });
        match t {
            Ok(t) if self.mmu.allows(t.permissions, access) => {
                Ok((t.physical_page | (va & (PAGE_BYTES - 1)), t.permissions))
            }
            Ok(_) | Err(Stop::Fault(Fault::Page { .. })) => Err(fault),
            Err(other) => Err(other),
        }
    }

    /// Physical addresses of the `first` bytes at `va` and of those after them, which are on another line.
    pub(super) fn translate_both(
        &mut self,
        va: u64,
        first: u32,
        access: Access,
        cycles: &mut u64,
    ) -> Result<(u64, u64), Stop> {
        let second = va.wrapping_add(u64::from(first));
        if !second.is_multiple_of(PAGE_BYTES) {
            let (low, _) = self.translate(va, access, cycles)?;
            return Ok((low, low + u64::from(first)));
        }
        if let Some(both) = self.mmu.split(va, access) {
            return Ok(both);
        }
        let (low, _) = self.translate(va, access, cycles)?;
        let (high, _) = self.translate(second, access, cycles)?;
        self.mmu.set_split(va, access, (low, high));
        Ok((low, high))
    }

    #[inline(always)]
    fn walk(&mut self, page: u64, access: Access, cycles: &mut u64) -> Result<Translation, Stop> {
        let mut walk = self.mmu.begin(page, access)?;
        let step_cycles = self.parameters.order.walk.cycles();
        let mut entries = [0; 2];
        if let Some(last) = self.pass_upper_levels(walk) {
            *cycles += 2 * step_cycles;
            self.waits.add(Stall::Walk, 2 * step_cycles);
            walk = last;
        }
        loop {
            let entry = walk.entry();
            if !self.finds_entry(entry) {
                self.mmu.suspend(walk);
                self.walker_load(entry, cycles)?;
            }
            *cycles += step_cycles;
            self.waits.add(Stall::Walk, step_cycles);
            match self.mmu.follow(walk, access, &self.memory)? {
                Step::Next(next) => {
                    entries = [entries[1], entry];
                    walk = next;
                    self.remember_upper_levels(walk, entries);
                }
                Step::Leaf(translation) => {
                    self.keep(translation, access);
                    return Ok(translation);
                }
            }
        }
    }

    /// The upper two levels of `walk`, which begins, are as they were lately, and their entries are in the data cache: the
    /// walk at the last level.
    #[inline(always)]
    fn pass_upper_levels(&mut self, walk: Walk) -> Option<Walk> {
        let upper = self.mmu.upper(walk, &self.memory)?;
        let [first, second] = upper.entries.map(|entry| self.l1d.line_of(entry));
        let [one, other] = upper.ways;
        let hit = self.l1d.has_in(one, first) && self.l1d.has_in(other, second);
        let arrives = self.write_buffer.arriving().is_some_and(|line| line == first || line == second);
        if !hit || arrives || self.transactions.is_under_way(Slot::Blocking) {
            return None;
        }
        let last = upper.last_level(walk.page());
        self.l1d.touch(one);
        self.l1d.touch(other);
        Some(last)
    }

    /// `walk` has taken these two entries, if it comes to the last level.
    fn remember_upper_levels(&mut self, walk: Walk, entries: [u64; 2]) {
        if !walk.is_at_last() || entries[0] == 0 {
            return;
        }
        let ways = entries.map(|entry| self.l1d.find(self.line(entry)));
        if let [Some(first), Some(second)] = ways {
            self.mmu.remember(walk, entries, [first, second], &self.memory);
        }
    }

    /// The walker's load at `pa` hits the data cache, and nothing can stand in its way: the short form of
    /// [`Port::walker_load`].
    #[inline(always)]
    fn finds_entry(&mut self, pa: u64) -> bool {
        if self.transactions.is_under_way(Slot::Blocking) || !self.memory.contains(pa, 8) {
            return false;
        }
        let line = self.line(pa);
        if self.write_buffer.arriving() == Some(line) {
            return false;
        }
        let way = self.l1d.find(line);
        if let Some(way) = way {
            self.l1d.touch(way);
        }
        way.is_some()
    }

    /// The walker's loads go through the data cache.
    #[inline(never)]
    fn walker_load(&mut self, pa: u64, cycles: &mut u64) -> Result<(), Stop> {
        if !self.memory.contains(pa, 8) {
            return Err(Stop::Fault(Fault::Page { address: pa, access: Access::Read }));
        }
        let way = self.obtain(self.line(pa), false, Stall::Walk, cycles)?;
        self.l1d.touch(way);
        Ok(())
    }

    /// A TLB takes a translation: what it loses is fast no more.
    #[inline]
    fn keep(&mut self, translation: Translation, access: Access) {
        let old = self.mmu.keep(translation, access);
        if access == Access::Execute {
            self.statistics.itlb_misses += 1;
            if let Some((old, _)) = old {
                self.l1i.drop_fast_page(old.virtual_page);
            }
        } else {
            self.statistics.dtlb_misses += 1;
            if let Some((old, chunks)) = old {
                self.l1d.drop_fast_page(old.virtual_page, chunks);
            }
        }
    }

    // --- data -------------------------------------------------------------------------------------

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
        if self.transactions.awaits(line) || self.write_buffer.arriving() == Some(line) {
            return Err(Stop::Wait(stall));
        }
        if let Some(way) = self.l1d.find_with(line, least) {
            return Ok(way);
        }
        if self.transactions.is_under_way(Slot::Blocking) || self.is_arriving(line) {
            return Err(Stop::Wait(stall));
        }
        if self.bring(line, stall, cycles)?
            && let Some(way) = self.l1d.find(line)
        {
            return Ok(way);
        }
        if let Some((state, stale)) = self.l2.give(line, least) {
            self.pass_l2(stall, cycles);
            return Ok(self.place_from_l2(line, state.min(State::Exclusive), stale));
        }
        self.fetch_data(line, exclusive, stall, cycles)
    }

    /// The way of the data cache with `line`, which no cache has, fetched from memory at once; else a request.
    #[inline]
    pub(super) fn fetch_data(
        &mut self,
        line: u64,
        exclusive: bool,
        stall: Stall,
        cycles: &mut u64,
    ) -> Result<usize, Stop> {
        let fill = Request::Fill { line, data: true, exclusive };
        if self.fill_now(fill, stall, cycles) {
            return Ok(self.l1d.find(line).expect("the line is here"));
        }
        self.transactions.ask(*cycles, Slot::Blocking, fill);
        Err(Stop::Wait(stall))
    }

    /// A load misses the data cache and takes its line from the L2.
    #[inline(always)]
    pub(super) fn pass_l2(&mut self, stall: Stall, cycles: &mut u64) {
        self.statistics.l1d_load_misses += 1;
        self.statistics.l2_hits += 1;
        *cycles += self.parameters.l2.latency.cycles();
        self.waits.add(stall, self.parameters.l2.latency.cycles());
    }

    /// `line` comes into way `way` of the data cache, in place of what is there; it is about to be used.
    #[inline(always)]
    pub(super) fn replace_data_line(&mut self, way: usize, line: u64, state: State, stale: bool) {
        self.keep_way(way, line);
        if let Some((victim, state)) = self.l1d.replace(way, line, state, stale) {
            self.statistics.l1d_replacements += 1;
            self.evicted(victim, state);
        }
    }

    /// The L2 has given `line`.
    pub(super) fn place_from_l2(&mut self, line: u64, state: State, stale: bool) -> usize {
        let way = self.place_data_line(line, state);
        if stale {
            self.l1d.set_stale(way, true);
        }
        way
    }

    /// `line` is in the data cache from now on; its way.
    #[inline]
    pub(super) fn place_data_line(&mut self, line: u64, state: State) -> usize {
        let state = if self.merge_bound(line) { State::Modified } else { state };
        match self.l1d.seek(line) {
            // What was evicted from the network cache may have come before the fetched line did.
            Ok(way) => {
                self.keep_way(way, line);
                self.l1d.raise(way, state);
                way
            }
            Err(way) => {
                self.replace_data_line(way, line, state, false);
                self.l1d.touch(way);
                way
            }
        }
    }

    /// Drops `line` from the data cache; dirty, it goes to the L2 or is posted for the bus.
    pub(super) fn evict_data(&mut self, line: u64) {
        if let Some(state) = self.l1d.remove(line) {
            self.evicted(line, state);
        }
    }

    /// `line`, which was in `state`, has left the data cache.
    #[inline]
    fn evicted(&mut self, line: u64, state: State) {
        if state != State::Modified && !(self.peers.are_told && state == State::Exclusive) {
            return;
        }
        self.statistics.l1d_writebacks += 1;
        if self.l2.is_present() {
            self.keep_below(line);
            self.l2.modify(line);
        } else {
            // An eviction happens as its line's successor is placed: the request follows at that time.
            let bytes = self.l1d.line_bytes() as u32;
            self.transactions.post(Request::WriteBack { line, bytes, flush: false });
        }
    }

    /// Writes what may be written of the write buffer and asks for what the oldest store lacks.
    pub(super) fn drain(&mut self, cycle: u64) {
        while let Some(store) = self.write_buffer.oldest() {
            if store.owned {
                self.write_buffer.pop();
                continue;
            }
            let line = self.line(store.address);
            let way = self.l1d.find(line);
            if let Some(way) = way
                && self.l1d.way(way).state >= State::Exclusive
            {
                self.write_oldest(way);
                continue;
            }
            let request = if self.l2.state(line) >= State::Exclusive {
                if self.peers.ahead.runs() {
                    self.peers.ahead.note_asked(line);
                }
                Request::OwnFromL2
            } else {
                // A line that is here is shared.
                Request::Own { line, upgrade: way.is_some() }
            };
            self.transactions.ask(cycle, Slot::WriteBuffer, request);
            return;
        }
    }

    /// The oldest buffered store is made in its line, in way `way`, which may be written.
    #[inline(always)]
    pub(super) fn write_oldest(&mut self, way: usize) {
        let Some(store) = self.write_buffer.oldest() else { return };
        self.keep_line(store.address);
        self.keep_way(way, self.line(store.address));
        self.l1d.modify(way);
        if !store.applied {
            self.memory.write(store.address, store.bytes, store.value);
        }
        self.l1d.touch(way);
        self.write_buffer.pop();
    }

    /// The line at `line` has its place in a cache, but its data are still on their way.
    pub(super) fn is_arriving(&self, line: u64) -> bool {
        self.write_buffer.arriving().is_some_and(|arriving| match self.l2.cache() {
            Some(l2) => l2.line_of(arriving) == l2.line_of(line),
            None => arriving == line,
        })
    }

    // --- instructions -----------------------------------------------------------------------------

    /// Fetches the line at virtual address `line_va`, if that takes no time; false if it may.
    #[inline(always)]
    pub fn fetches(&mut self, line_va: u64) -> bool {
        self.l1i.fetches(line_va)
    }

    /// The table of instruction lines for translated code.
    #[inline]
    pub fn fetch_view(&mut self) -> FetchView {
        self.l1i.view()
    }

    /// How that table is indexed.
    pub fn fetch_geometry(&self) -> Geometry {
        self.l1i.geometry()
    }

    /// Times the fetch of the line at virtual address `line_va`.
    #[inline(always)]
    pub fn fetch_line(&mut self, line_va: u64, cycles: &mut u64) -> Result<(), Stop> {
        if self.fetches(line_va) { Ok(()) } else { self.fetch_slow(line_va, cycles) }
    }

    /// The line at virtual address `line_va` can be fetched in no time.
    pub fn holds_code(&mut self, line_va: u64) -> bool {
        self.l1i.is_fast(line_va)
    }

    /// Line length [bytes] of the instruction cache.
    pub fn fetch_line_bytes(&self) -> u64 {
        self.l1i.line_bytes()
    }

    #[cold]
    #[inline(never)]
    fn fetch_slow(&mut self, line_va: u64, cycles: &mut u64) -> Result<(), Stop> {
        if !self.is_timed() {
            return Ok(());
        }
        if self.peers.ahead.runs() {
            return Err(Stop::Turn);
        }
        let (pa, _) = self.translate(line_va, Access::Execute, cycles)?;
        if self.parameters.kind == PortKind::Scratchpad {
            self.l1i.make_free(line_va);
            return Ok(());
        }
        // Lines take their places at the grant; their data come later.
        if self.transactions.awaits(pa) {
            return Err(Stop::Wait(Stall::Instruction));
        }
        let way = match self.l1i.find(pa) {
            Some(way) => way,
            None if self.transactions.is_under_way(Slot::Blocking) => {
                return Err(Stop::Wait(Stall::Instruction));
            }
            None => self.fetch_miss(pa, cycles)?,
        };
        self.l1i.make_fast(way, line_va);
        Ok(())
    }

    fn fetch_miss(&mut self, pa: u64, cycles: &mut u64) -> Result<usize, Stop> {
        if self.l2.is_present() && self.is_arriving(pa) {
            return Err(Stop::Wait(Stall::Instruction));
        }
        if self.l2.give_code(pa) {
            self.statistics.l1i_misses += 1;
            self.statistics.l2_hits += 1;
            *cycles += self.parameters.l2.latency.cycles();
            self.waits.add(Stall::Instruction, self.parameters.l2.latency.cycles());
            return Ok(self.l1i.place(pa));
        }
        let fill = Request::Fill { line: pa, data: false, exclusive: false };
        if self.fill_now(fill, Stall::Instruction, cycles) {
            return Ok(self.l1i.find(pa).expect("the line is here"));
        }
        self.transactions.ask(*cycles, Slot::Blocking, fill);
        Err(Stop::Wait(Stall::Instruction))
    }

    // --- the second level and the bus -------------------------------------------------------------

    /// `line` comes into the L2, if there is one; its data too (`fetched`), or only a right.
    pub(super) fn place_in_l2(&mut self, line: u64, state: State, fetched: bool) {
        if !self.l2.is_present() {
            return;
        }
        self.statistics.l2_misses += u64::from(fetched);
        if let Some(replaced) = self.l2.place(line, state, fetched) {
            self.evict_from_l2(replaced);
        }
    }

    /// The L2 is inclusive: what it loses, the L1s lose.
    pub(super) fn evict_from_l2(&mut self, Replaced { line, bytes, mut dirty }: Replaced) {
        for l1 in (line..line + bytes).step_by(self.l1d.line_bytes() as usize) {
            dirty |= self.l1d.remove(l1) == Some(State::Modified);
        }
        self.l1i.remove(line, bytes);
        if dirty {
            self.transactions.post(Request::WriteBack { line, bytes: bytes as u32, flush: false });
        }
    }

    /// Bytes of the lines that this port moves over the bus for data (`data`) or instructions.
    pub fn bus_line_bytes(&self, data: bool) -> u32 {
        match (self.l2.cache(), data) {
            (Some(l2), _) => l2.line_bytes() as u32,
            (None, true) => self.l1d.line_bytes() as u32,
            (None, false) => self.l1i.line_bytes() as u32,
        }
    }

    /// Fetches the line of `fill` at once, if the bus is here for it; `cycles` is then the cycle at which
    /// the line is here. False: it must be asked for.
    fn fill_now(&mut self, fill: Request, stall: Stall, cycles: &mut u64) -> bool {
        let Request::Fill { line, data, .. } = fill else { return false };
        let bytes = self.bus_line_bytes(data);
        let Some(lent) = &mut self.lent else { return false };
        // A request that was made before comes first. Code that is replaced to make room may have to be fetched again by
        // the hart, which goes on after the access.
        let (transactions, l2, l1i) = (&self.transactions, &self.l2, &self.l1i);
        let may = || {
            !transactions.wants_bus() && l2.victim(line).is_none_or(|(line, bytes)| !l1i.has_any(line, bytes))
        };
        let Some((grant, end)) = lent.fetch(line, bytes, *cycles, may) else { return false };
        self.transactions.begin(Slot::Blocking, fill);
        self.granted(Slot::Blocking, Snooped::default(), grant);
        let end = end.max(*cycles);
        self.completed(Slot::Blocking, 0, end);
        self.waited(stall, end - *cycles);
        *cycles = end;
        true
    }

    /// The hart has waited for `cycles` cycles.
    pub fn waited(&mut self, stall: Stall, cycles: u64) {
        self.statistics.stalls[stall] += cycles;
        self.waits.add(stall, cycles);
    }

    // --- the bus on loan ---------------------------------------------------------------------------

    /// Lends a bus until [`Port::take_back_bus`]. `cycles`: the hart's.
    ///
    /// # Safety
    /// Until then nothing but the port may touch what is lent, which must stay where it is.
    pub unsafe fn lend_bus(&mut self, lent: LentBus<'_>, cycles: Cycles) {
        // SAFETY: the caller promises the same.
        self.lent = Some(unsafe { Lent::new(lent, cycles) });
    }

    /// The bus is the node's again.
    pub fn take_back_bus(&mut self) {
        self.lent = None;
    }

    /// All that is under way are transactions with memory, whose addresses are below `dram_bytes`: a port that has the bus
    /// to itself can go on with them.
    pub fn uses_memory_only(&self, dram_bytes: u64) -> bool {
        Slot::ALL.iter().all(|&slot| {
            self.transactions.in_slot(slot).is_none_or(|request| request.is_of_memory(dram_bytes))
        })
    }

    /// The cycle at which something happens to the hart's own transactions, while the port has the bus, or to those with the
    /// L2: before an instruction that starts then or later, [`Port::pass_events`] is to be called.
    #[inline]
    pub fn due_cycle(&self) -> u64 {
        self.lent.as_ref().map_or(u64::MAX, Lent::next_cycle).min(self.peers.given)
    }

    /// The oldest request is one that the L2 serves, of several harts: that concerns nobody else, and is noted. False: it is not.
    pub(super) fn asks_l2_alone(&mut self) -> bool {
        let oldest = self.transactions.first_untaken().filter(|_| self.peers.exist && self.lent.is_none());
        let Some((cycle, _, Request::OwnFromL2)) = oldest else { return false };
        self.transactions.take();
        self.peers.given = cycle + self.parameters.l2.latency.cycles();
        true
    }

    /// Of several harts: the cycle at which the L2 gives the line that the oldest buffered store waits for; all ones: it gives none.
    #[inline]
    pub fn given_at(&self) -> u64 {
        self.peers.given
    }

    /// Code has left the instruction cache since this was last asked: what the hart has fetched may have to be fetched again.
    #[inline]
    pub fn take_lost_code(&mut self) -> bool {
        self.l1i.take_lost()
    }

    /// The bus is wanted, or code has left the instruction cache.
    #[inline(always)]
    pub fn has_changed(&self) -> bool {
        self.wants_bus() || self.l1i.has_lost()
    }

    /// Takes the requests that accesses have made, as far as the bus is lent. False: some are left to the node.
    #[inline]
    pub fn take_own(&mut self) -> bool {
        while self.asks_l2_alone() {}
        while let Some((cycle, slot, request)) = self.transactions.first_untaken() {
            let l2 = self.parameters.l2.latency.cycles();
            let Some(lent) = &mut self.lent else { return false };
            if !lent.take(cycle, slot, request, l2) {
                return false;
            }
            self.transactions.take();
        }
        true
    }

    /// What is due at `cycle` or before happens. False: it is the node's to go on, also where more would be asked of the bus
    /// when the L2 has given a line.
    #[inline]
    pub fn pass_events(&mut self, cycle: u64) -> bool {
        self.due_cycle() > cycle || self.pass_due(cycle)
    }

    #[inline(never)]
    fn pass_due(&mut self, cycle: u64) -> bool {
        while self.due_cycle() <= cycle {
            if self.peers.given <= cycle {
                if !self.is_served_by_l2() {
                    return false;
                }
                self.take_given();
                continue;
            }
            let Some(due) = self.lent.as_mut().and_then(Lent::take_next) else { return false };
            self.happen(due);
            if self.wants_bus() {
                return false;
            }
        }
        true
    }

    /// The L2 gives what it was to give ([`Port::given_at`]). The write buffer may ask for more.
    pub fn take_given(&mut self) {
        let cycle = std::mem::replace(&mut self.peers.given, u64::MAX);
        self.completed(Slot::WriteBuffer, 0, cycle);
        self.take_own();
    }

    /// An access that was made until cycle `cycles` waits: time passes until something of the port is finished, if it does
    /// before the node has to go on.
    #[inline(never)]
    pub fn outwait(&mut self, stall: Stall, cycles: &mut u64) -> Outwaited {
        if !self.take_own() {
            return Outwaited::No;
        }
        while let Some(due) = self.lent.as_mut().and_then(Lent::take_next) {
            if self.happen(due) {
                let now = due.cycle.max(*cycles);
                self.waited(stall, now - *cycles);
                *cycles = now;
                let goes_on = self.on_loan().is_alone_at(now) && self.pass_events(now);
                return if goes_on { Outwaited::Again } else { Outwaited::AfterNode };
            }
            if self.wants_bus() {
                break;
            }
        }
        Outwaited::No
    }

    /// What is due happens. True: a transaction is over.
    fn happen(&mut self, due: Due) -> bool {
        let Due { time, stage, cycle, .. } = due;
        match stage {
            Stage::Request(slot) => self.on_loan().request(slot, time),
            Stage::Grant => {
                let slot = self.on_loan().agenda_mut().take_waiting().expect("a grant is for a slot");
                let request = self.current(slot).expect("it is under way");
                let transfer = self.transfer(request);
                let end = self.on_loan().place(request, transfer, time);
                self.granted(slot, Snooped::default(), cycle);
                self.on_loan().schedule(end, Class::Bus, Stage::Done(slot));
                self.on_loan().schedule_grant(time);
            }
            Stage::Done(slot) => self.completed(slot, 0, cycle),
        }
        self.take_own();
        matches!(stage, Stage::Done(_))
    }

    fn on_loan(&mut self) -> &mut Lent {
        self.lent.as_mut().expect("what is due is on loan")
    }
}

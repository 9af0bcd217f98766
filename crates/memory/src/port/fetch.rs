//! The instruction side.

use super::{Access, Fault, Port, PortKind, Request, Slot, Stall, Stop, fast};
use crate::cache::{FastIndex, State};
use crate::tlb::PAGE_BYTES;

impl Port {
    /// Fetches the line at virtual address `line_va`, if that takes no time; false if it may.
    #[inline(always)]
    pub fn fetches(&mut self, line_va: u64) -> bool {
        let entry = self.instructions.entry(line_va);
        if entry.load != line_va {
            return false;
        }
        self.tick += 1;
        entry.stamp = self.tick;
        true
    }

    /// Times the fetch of the line at virtual address `line_va`.
    #[inline(always)]
    pub fn fetch_line(&mut self, line_va: u64, cycles: &mut u64) -> Result<(), Stop> {
        if self.fetches(line_va) { Ok(()) } else { self.fetch_slow(line_va, cycles) }
    }

    /// The line at virtual address `line_va` can be fetched in no time.
    pub fn holds_code(&mut self, line_va: u64) -> bool {
        self.instructions.entry(line_va).load == line_va
    }

    /// Line length [bytes] of the instruction cache.
    pub fn fetch_line_bytes(&self) -> u64 {
        self.l1i.line_bytes()
    }

    #[cold]
    #[inline(never)]
    fn fetch_slow(&mut self, line_va: u64, cycles: &mut u64) -> Result<(), Stop> {
        if !self.timed {
            return Ok(());
        }
        if self.parameters.kind == PortKind::Scratchpad {
            return self.fetch_scratchpad(line_va, cycles);
        }
        let (pa, _) = self.translate(line_va, Access::Execute, cycles)?;
        // Lines take their places at the grant; their data come later.
        if self.is_awaited(pa) {
            return Err(Stop::Wait(Stall::Instruction));
        }
        let way = match self.l1i.find(pa) {
            Some(way) => way,
            None if self.under_way[Slot::Blocking as usize].is_some() => {
                return Err(Stop::Wait(Stall::Instruction));
            }
            None => self.fetch_miss(pa, cycles)?,
        };
        self.tick += 1;
        let tick = self.tick;
        let index = self.instructions.index(line_va) as u32;
        self.save_fetch_stamp(index);
        if let Some(alias) = self.l1i.way(way).fast.get().filter(|&alias| alias != index) {
            self.save_fetch_stamp(alias);
            self.instructions.remove(alias);
        }
        self.instructions.set(
            index,
            fast::FastLine { load: line_va, store: fast::NOTHING, delta: 0, stamp: tick },
            way as u32,
        );
        let way = self.l1i.way_mut(way);
        way.stamp = tick;
        way.fast = FastIndex::of(index);
        Ok(())
    }

    /// A fetch from the scratchpad takes no time; the next finds the line in the fast table.
    fn fetch_scratchpad(&mut self, line_va: u64, cycles: &mut u64) -> Result<(), Stop> {
        self.translate(line_va, Access::Execute, cycles)?;
        let line = fast::FastLine { load: line_va, store: fast::NOTHING, delta: 0, stamp: 0 };
        let index = self.instructions.index(line_va) as u32;
        self.instructions.set(index, line, 0);
        Ok(())
    }

    fn fetch_miss(&mut self, pa: u64, cycles: &mut u64) -> Result<usize, Stop> {
        if self.l2.is_some() && self.is_arriving(pa) {
            return Err(Stop::Wait(Stall::Instruction));
        }
        let in_l2 = self.l2.as_ref().and_then(|l2| l2.find(l2.line_of(pa)));
        if let Some(l2_way) = in_l2 {
            self.statistics.l1i_misses += 1;
            self.statistics.l2_hits += 1;
            *cycles += self.parameters.l2.latency.cycles();
            self.waits.add(Stall::Instruction, self.parameters.l2.latency.cycles());
            self.tick += 1;
            let tick = self.tick;
            self.l2.as_mut().expect("just found").way_mut(l2_way).stamp = tick;
            return Ok(self.place_instruction_line(pa));
        }
        let fill = Request::Fill { line: pa, data: false, exclusive: false };
        if self.fill_now(fill, Stall::Instruction, cycles) {
            return Ok(self.l1i.find(pa).expect("the line is here"));
        }
        self.request(*cycles, Slot::Blocking, fill);
        Err(Stop::Wait(Stall::Instruction))
    }

    /// Entry `index` is about to go: its recency goes to the cache.
    pub(super) fn save_fetch_stamp(&mut self, index: u32) {
        if let Some(owner) = self.instructions.owner(index) {
            let stamp = self.instructions.at(index).stamp;
            let way = self.l1i.way_mut(owner as usize);
            if way.fast == FastIndex::of(index) {
                way.stamp = way.stamp.max(stamp);
                way.fast = FastIndex::NONE;
            }
        }
    }

    pub(super) fn place_instruction_line(&mut self, pa: u64) -> usize {
        let table = &self.instructions;
        let index =
            self.l1i.victim(pa, |w| w.fast.get().map_or(w.stamp, |index| w.stamp.max(table.at(index).stamp)));
        let old = self.l1i.clear(index);
        if let Some(index) = old.fast.get() {
            self.instructions.remove(index);
        }
        self.tick += 1;
        self.changes += 1;
        self.l1i.place(index, pa, State::Shared, self.tick);
        index
    }

    /// Virtual lines from `va` on, `bytes` long, may no longer be fetched without a look.
    pub(super) fn drop_fast_fetch(&mut self, va: u64, bytes: u64) {
        for line in (va..va + bytes).step_by(self.l1i.line_bytes() as usize) {
            for index in self.instructions.indices(line) {
                if self.instructions.at(index).load == line {
                    self.save_fetch_stamp(index);
                    self.instructions.remove(index);
                }
            }
        }
    }

    /// `fence.i`: later fetches see earlier stores. Stores are visible once they leave the write
    /// buffer, so it drains.
    pub fn fence_instructions(&mut self, cycles: &mut u64) -> Result<(), Stop> {
        if !self.write_buffer.is_empty() {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        *cycles += if self.timed { self.parameters.order.fence.cycles() } else { 0 };
        Ok(())
    }

    /// The two bytes of code at `pc`, functionally.
    pub fn code(&mut self, pc: u64) -> Result<u16, Fault> {
        let page = pc & !(PAGE_BYTES - 1);
        match self.untimed_walk(page, Access::Execute) {
            Ok(t)
                if self.privilege.allows(t.permissions, Access::Execute)
                    && t.physical_page < self.memory_bytes =>
            {
                Ok(self.read_memory(t.physical_page | (pc & (PAGE_BYTES - 1)), 2) as u16)
            }
            _ => Err(Fault::Page { address: pc, access: Access::Execute }),
        }
    }
}

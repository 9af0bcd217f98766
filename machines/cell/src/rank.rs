//! Ranks on SPEs: their programs are in pages, which the kernel puts into the local store one by one, and stop for what the
//! kernel serves. Here is what of a processor it accesses for that: registers, the map of pages, and why it has stopped.

use chasqui_memory::PAGE_BYTES;
use chasqui_ni::{Context, Trap};
use chasqui_placement::ProcessId;

use crate::chip::{Spes, local};
use crate::registers;

/// What is beside the processor of a program in pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rank {
    process: u32,
    /// Why it has stopped: `scause` and `stval`.
    trap: (u64, u64),
    /// Virtual address of the page that is mapped next.
    page: u64,
    is_mapped: bool,
}

impl Spes {
    /// The register of an SPE's processor at `offset` of the chip's: the SPE, and the offset there.
    fn core(&self, offset: u64) -> Option<(usize, u64)> {
        let offset = offset.checked_sub(registers::CORE)?;
        let (spe, at) = ((offset / registers::CORE_BYTES) as usize, offset % registers::CORE_BYTES);
        (spe < self.spes.len()).then_some((spe, at))
    }

    /// Whether there is one.
    pub(crate) fn is_core(&self, offset: u64) -> bool {
        self.core(offset).is_some()
    }

    /// A load from it.
    pub(crate) fn core_loads(&self, offset: u64) -> u64 {
        let Some((spe, at)) = self.core(offset) else { return 0 };
        let rank = &self.spes[spe].rank;
        match at {
            registers::CORE_CAUSE => rank.trap.0,
            registers::CORE_VALUE => rank.trap.1,
            registers::CORE_LOCAL => rank.is_mapped.into(),
            _ if at < registers::CORE_CAUSE => self.plan.processors[spe].register((at / 8) as usize),
            _ => 0,
        }
    }

    /// A store to it.
    pub(crate) fn core_stores(&mut self, offset: u64, value: u64, c: &mut Context<'_, '_>) {
        let Some((spe, at)) = self.core(offset) else { return };
        let rank = &mut self.spes[spe].rank;
        let processor = &mut self.plan.processors[spe];
        match at {
            registers::CORE_PROCESS => {
                *rank = Rank { process: value as u32, ..Rank::default() };
                processor.memory.unmap_pages();
                processor.serve_traps(c.now);
            }
            registers::CORE_PAGE => rank.page = value,
            registers::CORE_LOCAL => {
                let (page, rights) = (value / PAGE_BYTES * PAGE_BYTES, value % PAGE_BYTES);
                rank.is_mapped = processor.memory.map_page(rank.page, page, rights);
                processor.flush_translations();
            }
            registers::CORE_FULL => {
                let text = does_not_fit(spe, value, self.plan.store_bytes);
                c.fault(ProcessId(rank.process), text);
            }
            _ if at < registers::CORE_CAUSE && processor.is_trapped() => {
                processor.set_register((at / 8) as usize, value);
            }
            _ => {}
        }
    }

    /// The program has stopped for the kernel.
    pub(crate) fn trapped(&mut self, spe: usize, trap: Trap) {
        if let Trap::Exception { cause, value } = trap {
            self.spes[spe].rank.trap = (cause, value);
        }
        self.spes[spe].runs = false;
        let npc = local(self.plan.processors[spe].pc());
        self.plan.cores.elements[spe].stop_and_signal(registers::STOP_TRAP as u16, npc);
    }

    /// What its program has marked goes to the records of its rank.
    pub(crate) fn pass_marks(&mut self, spe: usize, c: &mut Context<'_, '_>) {
        let process = ProcessId(self.spes[spe].rank.process);
        let marks = self.plan.processors[spe].take_rank_marks();
        c.outputs.marks.extend(marks.into_iter().map(|mark| (process, mark)));
    }
}

/// That a program does not fit, with what of it has been touched so far.
fn does_not_fit(spe: usize, pages: u64, store_bytes: u64) -> String {
    let [text, data, heap, stack] = [0, 16, 32, 48].map(|shift| (pages >> shift & 0xffff) * PAGE_BYTES);
    format!(
        "the program does not fit into the local store of spe{spe}, {store_bytes} bytes: what it has used so far is text \
         and constants {text}, data {data}, heap {heap}, stack {stack} bytes, in pages of {PAGE_BYTES}, and it needs more"
    )
}

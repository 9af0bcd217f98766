//! Page faults, translations, and exceptions that nothing mends.

use chasqui_hart::Halt;
use chasqui_linux::Flush;
use chasqui_memory::{Access, Fault, FlatMemory, PAGE_BYTES};

use super::position::Position;
use super::{Os, SIGBUS, SIGILL, SIGSEGV, SIGTRAP};
use crate::harts::Harts;

impl Os {
    /// The thread on hart `index` has accessed a page that is not there, or not so.
    pub(super) fn page_fault(
        &mut self,
        harts: &mut Harts,
        index: usize,
        address: u64,
        access: Access,
        memory: &mut FlatMemory,
    ) {
        match self.bring_in(harts, index, address, access, memory) {
            Ok(()) => harts[index].charge(self.costs.software.page_fault.cycles()),
            Err(_) => {
                let position = Position::of(&harts[index].hart);
                let fault = Halt::Fault(Fault::Page { address, access });
                self.end_by_fault(harts, index, fault, position, memory);
            }
        }
    }

    /// Makes the page at `address` usable for `access`, in no time.
    pub(super) fn bring_in(
        &mut self,
        harts: &mut Harts,
        index: usize,
        address: u64,
        access: Access,
        memory: &mut FlatMemory,
    ) -> Result<(), chasqui_linux::space::Fault> {
        let process = self.on_mut(harts, index);
        let first = process.harts.start;
        let process = &mut process.process;
        process.touched_by(index - first);
        let core = &mut harts[index];
        core.hart.port.disturb();
        let port = &mut core.hart.port;
        let was_there = port.physical(address).is_some();
        process.space.fault(memory, address, wanted(access))?;
        if let Some(page) = port.physical(address & !(PAGE_BYTES - 1)).filter(|_| !was_there) {
            port.forget_messages(page);
        }
        core.statistics.page_faults += 1;
        // The page may have been there with fewer rights.
        core.hart.port.forget_page(address & !(PAGE_BYTES - 1));
        self.flush_translations(harts, index, memory);
        Ok(())
    }

    /// Translations that the thread on hart `index` has changed are forgotten by all harts.
    pub(super) fn flush_translations(&mut self, harts: &mut Harts, index: usize, memory: &FlatMemory) {
        let shootdown_cycles = self.costs.software.shootdown.cycles();
        let process = self.on_mut(harts, index);
        let own = process.harts.clone();
        let flush = process.process.space.take_flush();
        if matches!(flush, Flush::None) {
            return;
        }
        if let Some(text) = &process.text {
            let range = text.range();
            let is_whole = match flush {
                Flush::Pages(pages) => {
                    !pages.iter().any(|p| (p + PAGE_BYTES) > range.start && *p < range.end)
                }
                _ => process.process.space.is_text(memory, range),
            };
            if !is_whole {
                process.text = None;
            }
        }
        let is_shared = process.text.is_some();
        let mut told = false;
        for (i, core) in harts.of_mut(&own).enumerate().filter(|(_, core)| core.has_begun) {
            core.hart.port.flush_translations();
            core.hart.forget_code();
            if !is_shared {
                core.hart.share_text(None);
            }
            told |= own.start + i != index && core.is_alive();
        }
        if told {
            harts[index].charge(shootdown_cycles);
        }
    }

    /// Ends the process on hart `index` by the signal for `fault`, an exception that nothing mends, of the instruction at
    /// `position`.
    pub(super) fn end_by_fault(
        &mut self,
        harts: &mut Harts,
        index: usize,
        fault: Halt,
        position: Position,
        memory: &mut FlatMemory,
    ) {
        let (signal, what) = match fault {
            Halt::Fault(Fault::Page { address, access }) => {
                match self.on_mut(harts, index).process.space.fault(memory, address, wanted(access)) {
                    Err(fault) => (fault.signal(), fault.to_string()),
                    Ok(()) => (SIGSEGV, format!("the kernel did not bring in the page of {address:#x}")),
                }
            }
            Halt::Fault(fault) => (signal_of(&fault), fault.to_string()),
            Halt::Illegal(_) => {
                (SIGILL, format!("illegal instruction {:#010x}", instruction_at(harts, index, position.pc)))
            }
            Halt::Breakpoint => (SIGTRAP, "breakpoint".into()),
            other => unreachable!("{other:?} is no exception"),
        };
        // Where there is code the pc says where the program is.
        let is_lost = matches!(fault, Halt::Fault(Fault::Page { access: Access::Execute, .. }));
        let position = if is_lost { position } else { position.where_code_is() };
        let now = harts[index].hart.now();
        self.fault_at(harts, index, (signal, &what), position, now);
    }
}

/// The bits of the instruction at `pc`, of which hart `index` has read what is there of it.
fn instruction_at(harts: &Harts, index: usize, pc: u64) -> u32 {
    let mut halves = [[0; 2]; 2];
    for (at, half) in (pc..).step_by(2).zip(&mut halves) {
        let is_read = harts[index].hart.port.peek_virtual(at, half);
        // Only the first two bytes tell whether there are more.
        if !is_read || half[0] & 3 != 3 {
            break;
        }
    }
    u32::from_le_bytes(halves.concat().try_into().expect("two halves"))
}

/// An access, as the process's memory knows it.
fn wanted(access: Access) -> chasqui_linux::Access {
    match access {
        Access::Read => chasqui_linux::Access::Read,
        Access::Write => chasqui_linux::Access::Write,
        Access::Execute => chasqui_linux::Access::Execute,
    }
}

/// The signal for a fault that no mapping can mend.
fn signal_of(fault: &Fault) -> i32 {
    if matches!(fault, Fault::Page { .. }) { SIGSEGV } else { SIGBUS }
}

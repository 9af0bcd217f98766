//! The card's interrupt: a register with a bit for each process of the node for which the firmware has raised it. The line is
//! asserted while a bit is set (PCI Local Bus Specification 2.1, 2.2.6: by level). The kernel's load takes the bits; it crosses
//! the I/O bus, and so comes back behind what the card has written to memory.

use chasqui_counters::counters;
use chasqui_ni::Context;

use super::events::BoardEvent;

counters! {
    /// The interrupt, by all processes of the node.
    pub(super) struct InterruptStatistics {
        /// Times that a process has asked for one, to wait for it.
        waits: "count";
        /// Of these, the kernel's second look found that it need not wait.
        withdrawn: "count";
        /// Interrupts that the firmware has raised: one for a wait at most.
        interrupts: "count";
        /// Loads of the register: the kernel looks why.
        looks: "count";
    }
}

/// The register and the line.
#[derive(Default)]
pub(super) struct Interrupt {
    /// Processes for which it was raised and not taken, a bit each.
    causes: u64,
    is_asserted: bool,
    pub statistics: InterruptStatistics,
}

impl Interrupt {
    /// The kernel has stored to the word of a process: it waits, or does not after all.
    pub fn count_asked(&mut self, value: u64) {
        if value > 0 {
            self.statistics.waits += 1;
        } else {
            self.statistics.withdrawn += 1;
        }
    }

    /// The firmware interrupts the host for a process, one of so many.
    ///
    /// # Errors
    /// It can't: in words.
    pub fn raise(&mut self, process: u64, processes: u32, c: &mut Context<'_, '_>) -> Result<(), String> {
        if process >= u64::from(processes) {
            return Err(format!("a store of {process} to INTERRUPT: the node has no such process"));
        }
        self.causes |= 1 << process;
        self.statistics.interrupts += 1;
        c.at(c.now, BoardEvent::Line.into());
        Ok(())
    }

    /// The host's load of the register is at the card: what it finds, and takes.
    pub fn take(&mut self, c: &mut Context<'_, '_>) -> u64 {
        self.statistics.looks += 1;
        c.at(c.now, BoardEvent::Line.into());
        std::mem::take(&mut self.causes)
    }

    /// The line follows the register.
    pub fn line(&mut self, c: &mut Context<'_, '_>) {
        let wanted = self.causes != 0;
        if std::mem::replace(&mut self.is_asserted, wanted) != wanted {
            c.interrupt(0, wanted);
        }
    }
}

//! The card's interrupt: a register with a bit for each process of the node for which the firmware has raised it. The line is
//! asserted while a bit is set (PCI Local Bus Specification 2.1, 2.2.6: by level). The kernel's load takes the bits; it crosses
//! the I/O bus, and so comes back behind what the card has written to memory.

use chasqui_counters::counters;
use chasqui_ni::Context;

use super::Board;
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
}

impl Board {
    /// The firmware interrupts the host for a process.
    ///
    /// # Errors
    /// It can't: in words.
    pub(super) fn raise(&mut self, process: u64, c: &mut Context<'_, '_>) -> Result<(), String> {
        let interrupt =
            self.host.interrupt.as_mut().ok_or("a store to INTERRUPT, for which the host does not wait")?;
        if process >= u64::from(self.layout.processes) {
            return Err(format!("a store of {process} to INTERRUPT: the node has no such process"));
        }
        interrupt.causes |= 1 << process;
        interrupt.statistics.interrupts += 1;
        c.at(c.now, BoardEvent::Line.into());
        Ok(())
    }

    /// The host's load of the register is at the card.
    pub(super) fn cause_loaded(&mut self, c: &mut Context<'_, '_>) {
        let interrupt = self.host.interrupt.as_mut().expect("it has a register");
        let causes = std::mem::take(&mut interrupt.causes);
        interrupt.statistics.looks += 1;
        c.at(c.now, BoardEvent::Line.into());
        self.loaded(&causes.to_le_bytes(), c);
    }

    /// The line follows the register.
    pub(super) fn line(&mut self, c: &mut Context<'_, '_>) {
        let interrupt = self.host.interrupt.as_mut().expect("it has a line");
        let wanted = interrupt.causes != 0;
        if std::mem::replace(&mut interrupt.is_asserted, wanted) != wanted {
            c.interrupt(0, wanted);
        }
    }
}

//! Interrupt handlers at user level that run in register contexts of their own.
//!
//! CSRs and `uret` are those of extension "N" (RISC-V Unprivileged ISA 20190608, chapter "N Standard Extension for
//! User-Level Interrupts", 1.1), as far as external interrupts need them: `ustatus`, `uie`, `utvec` (direct mode alone),
//! `uepc`, `ucause`, `uip`. An `ecall`, a page fault or an exception goes where it goes without a handler.
//!
//! Contexts are as MIPS's shadow register sets and Arm's banked registers for FIQs: an interrupt that is taken selects the
//! next set of x and f registers, pc and fcsr, so that a handler saves nothing; `uret` selects the one before. A context
//! keeps its registers from one handler to the next. An entry clears `ustatus.UIE`: a handler is atomic until it sets that
//! bit, or returns. If it does set it, a further interrupt takes a further context, and waits where there is none.

use crate::csr::NoAccess;
use crate::state::State;

/// User status.
pub const USTATUS: u16 = 0x000;
/// Interrupts that are enabled.
pub const UIE: u16 = 0x004;
/// Where handlers begin.
pub const UTVEC: u16 = 0x005;
/// The pc of the context that was interrupted.
pub const UEPC: u16 = 0x041;
/// Why the handler was entered.
pub const UCAUSE: u16 = 0x042;
/// Interrupts that are pending.
pub const UIP: u16 = 0x044;

/// Bits of `ustatus`.
pub mod ustatus {
    /// Interrupts are enabled.
    pub const UIE: u64 = 1 << 0;
    /// What UIE was before the entry.
    pub const UPIE: u64 = 1 << 4;
}

/// The external interrupt, as a bit of `uip` and `uie`.
pub const EXTERNAL: u64 = 1 << 8;
/// `ucause` of an external interrupt.
pub const EXTERNAL_CAUSE: u64 = 1 << 63 | 8;

/// The state of user-level interrupts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handlers {
    /// Those below `depth` were interrupted, the outermost first; the others are handlers' to come.
    contexts: Vec<State>,
    depth: usize,
    status: u64,
    enabled: u64,
    vector: u64,
    cause: u64,
}

impl Handlers {
    pub(crate) fn new(contexts: usize) -> Handlers {
        let contexts = vec![State::new(0); contexts];
        Handlers { contexts, depth: 0, status: 0, enabled: 0, vector: 0, cause: 0 }
    }

    /// Handlers that have been entered and have not returned.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// An external interrupt would enter a handler.
    pub(crate) fn may_enter(&self) -> bool {
        self.status & ustatus::UIE != 0 && self.enabled & EXTERNAL != 0 && self.depth < self.contexts.len()
    }

    /// An interrupt has `state`, its hart's, be that of the next context, at the beginning of a handler.
    pub(crate) fn enter(&mut self, state: &mut State) {
        std::mem::swap(state, &mut self.contexts[self.depth]);
        self.depth += 1;
        // UIE was set, or it would not be taken.
        self.status = ustatus::UPIE;
        self.cause = EXTERNAL_CAUSE;
        state.pc = self.vector;
    }

    /// `uret` has `state` be that of the context that was interrupted. False: none was.
    pub(crate) fn leave(&mut self, state: &mut State) -> bool {
        let Some(depth) = self.depth.checked_sub(1) else { return false };
        self.depth = depth;
        std::mem::swap(state, &mut self.contexts[depth]);
        let enable = if self.status & ustatus::UPIE != 0 { ustatus::UIE } else { 0 };
        self.status = ustatus::UPIE | enable;
        true
    }

    /// Value of a CSR while the line is `asserted` or not.
    pub(crate) fn read(&self, number: u16, asserted: bool) -> Result<u64, NoAccess> {
        Ok(match number {
            USTATUS => self.status,
            UIE => self.enabled,
            UTVEC => self.vector,
            UEPC => self.depth.checked_sub(1).map_or(0, |interrupted| self.contexts[interrupted].pc),
            UCAUSE => self.cause,
            UIP => u64::from(asserted) * EXTERNAL,
            _ => return Err(NoAccess),
        })
    }

    /// Sets a CSR. What a register can't hold is dropped (WARL); the line alone says what is pending.
    pub(crate) fn write(&mut self, number: u16, value: u64) {
        match number {
            USTATUS => self.status = value & (ustatus::UIE | ustatus::UPIE),
            UIE => self.enabled = value & EXTERNAL,
            UTVEC => self.vector = value & !3,
            UEPC => {
                if let Some(interrupted) = self.depth.checked_sub(1) {
                    self.contexts[interrupted].pc = value & !1;
                }
            }
            UCAUSE => self.cause = value,
            _ => {}
        }
    }
}

/// The number is one of user-level interrupts'.
pub(crate) fn is_handlers(number: u16) -> bool {
    matches!(number, USTATUS | UIE | UTVEC | UEPC | UCAUSE | UIP)
}

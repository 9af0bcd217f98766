//! Where a program is, for messages.

use chasqui_hart::Hart;
use chasqui_watch::{Registers, Symbols, callers};

/// Callers that are listed.
const LISTED: usize = 8;

/// Where in its program a thread is.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub pc: u64,
    /// What register `ra` holds (RISC-V calling convention), where it says who jumped to `pc`.
    pub return_address: Option<u64>,
    /// The thread's registers, if they are known: they lead to its callers.
    pub registers: Option<Registers>,
}

impl Position {
    /// What is in the registers of `hart`.
    pub fn of(hart: &Hart) -> Position {
        let registers = Registers::of(hart);
        Position { pc: registers.pc, return_address: Some(registers.x[1]), registers: Some(registers) }
    }

    /// The pc alone is known.
    pub fn at(pc: u64) -> Position {
        Position { pc, return_address: None, registers: None }
    }

    /// The same, where the pc says where the program is.
    pub fn where_code_is(self) -> Position {
        Position { return_address: None, ..self }
    }

    /// In words, with symbols and lines, and who has called, a line each. `memory` reads the thread's stack.
    pub fn text(&self, symbols: &Symbols, memory: &mut dyn FnMut(u64, &mut [u8]) -> bool) -> String {
        let mut text = format!("pc {}", symbols.place(self.pc));
        let calls = self.registers.map_or(vec![], |registers| callers(symbols, &registers, memory));
        let mut calls = &calls[..];
        // A return to a wrong address has it in both.
        if let Some(back) = self.return_address.filter(|&back| back != 0 && back != self.pc) {
            text += &format!(", return address {}", symbols.caller(back));
            calls = calls.strip_prefix(&[back]).unwrap_or(calls);
        }
        for &call in calls.iter().take(LISTED) {
            text += &format!("\n  called at {}", symbols.caller(call));
        }
        if calls.len() > LISTED {
            text += &format!("\n  and {} more calls", calls.len() - LISTED);
        }
        text
    }
}

//! Where a program is, for messages.

use chasqui_hart::Hart;
use chasqui_watch::Symbols;

/// Where in its program a thread is.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub pc: u64,
    /// What register `ra` holds (RISC-V calling convention), where it says who jumped to `pc`.
    pub return_address: Option<u64>,
}

impl Position {
    /// What is in the registers of `hart`.
    pub fn of(hart: &Hart) -> Position {
        Position { pc: hart.state.pc, return_address: Some(hart.state.x[1]) }
    }

    /// The pc alone is known.
    pub fn at(pc: u64) -> Position {
        Position { pc, return_address: None }
    }

    /// In words, with symbols.
    pub fn text(&self, symbols: &Symbols) -> String {
        let pc = format!("pc {}", symbols.place(self.pc));
        // A return to a wrong address has it in both.
        match self.return_address.filter(|&back| back != 0 && back != self.pc) {
            Some(back) => format!("{pc}, return address {}", symbols.caller(back)),
            None => pc,
        }
    }
}

//! Who has called: the calls that are under way on a stack, by the call frame information of the programs.

use chasqui_abi::kernel;
use chasqui_hart::Hart;

use crate::symbols::Symbols;

/// Calls that are followed.
const CALLERS_MAX: usize = 64;
const RA: usize = 1;
const SP: usize = 2;
/// Functions of a program that were called by its start-up code.
const FIRST: [&str; 2] = ["main", "MAIN__"];
/// The kernel's function that saves the registers of what a trap has interrupted, and calls others.
const TRAP_ENTRY: &str = "trap_entry";

/// Integer registers and the program counter.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    /// Address of an instruction.
    pub pc: u64,
    /// `x0` to `x31`.
    pub x: [u64; 32],
}

impl Registers {
    /// Those of `hart`.
    pub fn of(hart: &Hart) -> Registers {
        let x = hart.state.x.first_chunk().expect("a hart has 32 registers");
        Registers { pc: hart.state.pc, x: *x }
    }
}

/// Reads a word of the memory in which the stack is.
fn word(memory: &mut dyn FnMut(u64, &mut [u8]) -> bool, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
}

/// Where the calls return to that led to where `registers` are, the innermost first, up to that of the program's first
/// function; as far as they are known.
pub fn callers(
    symbols: &Symbols,
    registers: &Registers,
    memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
) -> Vec<u64> {
    let mut found = vec![];
    let Registers { pc: mut address, mut x } = *registers;
    while found.len() < CALLERS_MAX {
        let function = symbols.symbolize(address).map(|(name, _)| name);
        if function.is_some_and(|name| FIRST.contains(&name)) {
            break;
        }
        let before = match symbols.caller_of(address, &x, &mut |at| word(memory, at)) {
            // A function that has called another has moved the stack pointer.
            Some(before) if before[SP] > x[SP] || found.is_empty() => before,
            // A jump to where no function is.
            None if found.is_empty() && function.is_none() => x,
            _ => break,
        };
        let back = before[RA];
        if back.checked_sub(1).is_none_or(|call| symbols.symbolize(call).is_none()) {
            break;
        }
        found.push(back);
        (x, address) = (before, back - 1);
    }
    found
}

/// The registers of the process whose trap the kernel deals with that has `registers`; `None`: they are not found.
pub fn trapped(
    symbols: &Symbols,
    registers: &Registers,
    memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
) -> Option<Registers> {
    let Registers { pc: mut address, mut x } = *registers;
    for _ in 0..CALLERS_MAX {
        x = symbols.caller_of(address, &x, &mut |at| word(memory, at))?;
        address = x[RA].checked_sub(1)?;
        if symbols.symbolize(address)?.0 == TRAP_ENTRY {
            let frame = x[SP];
            let mut saved = Registers { pc: word(memory, frame.wrapping_add(kernel::FRAME_PC))?, x: [0; 32] };
            for (number, register) in saved.x.iter_mut().enumerate().skip(1) {
                let place = kernel::FRAME_X1 + 8 * (number as u64 - 1);
                *register = word(memory, frame.wrapping_add(place))?;
            }
            return Some(saved);
        }
    }
    None
}

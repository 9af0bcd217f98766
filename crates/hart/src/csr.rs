//! Control and status registers of user level (Unprivileged ISA, chapters "Zicsr", "Zicntr" and "F").

use crate::insn::Op;
use crate::state::State;
use std::fmt::{self, Display, Formatter};

/// Accrued floating-point exceptions.
pub const FFLAGS: u16 = 0x001;
/// Dynamic rounding mode.
pub const FRM: u16 = 0x002;
/// Both.
pub const FCSR: u16 = 0x003;
/// Clock cycles of this hart.
pub const CYCLE: u16 = 0xc00;
/// Ticks of the platform's clock.
pub const TIME: u16 = 0xc01;
/// Instructions retired by this hart.
pub const INSTRET: u16 = 0xc02;

/// Writes a CSR's name, or its number where it has none here.
pub struct CsrName(pub u16);

impl Display for CsrName {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        match self.0 {
            FFLAGS => write!(out, "fflags"),
            FRM => write!(out, "frm"),
            FCSR => write!(out, "fcsr"),
            CYCLE => write!(out, "cycle"),
            TIME => write!(out, "time"),
            INSTRET => write!(out, "instret"),
            number => write!(out, "{number:#x}"),
        }
    }
}

/// What the counters show at this instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Clock cycles [cycles].
    pub cycle: u64,
    /// Platform clock [ticks].
    pub time: u64,
    /// Instructions retired before this one.
    pub instret: u64,
}

/// The CSR does not exist at this level, or is read-only: an illegal-instruction exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAccess;

/// Value of a CSR.
pub fn read(state: &State, counters: &Counters, number: u16) -> Result<u64, NoAccess> {
    match number {
        FFLAGS => Ok(u64::from(state.flags.0)),
        FRM => Ok(u64::from(state.frm)),
        FCSR => Ok(u64::from(state.frm) << 5 | u64::from(state.flags.0)),
        CYCLE => Ok(counters.cycle),
        TIME => Ok(counters.time),
        INSTRET => Ok(counters.instret),
        _ => Err(NoAccess),
    }
}

/// Sets a CSR. Bits that the register lacks are dropped; a reserved rounding mode is kept, and makes
/// operations that use it illegal ("Floating-Point Control and Status Register").
pub fn write(state: &mut State, number: u16, value: u64) -> Result<(), NoAccess> {
    match number {
        FFLAGS => state.flags.0 = value as u8 & 31,
        FRM => state.frm = value as u8 & 7,
        FCSR => {
            state.flags.0 = value as u8 & 31;
            state.frm = (value >> 5) as u8 & 7;
        }
        _ => return Err(NoAccess),
    }
    Ok(())
}

/// Executes one of the six CSR instructions but for the write to rd: returns what rd gets. `source` is
/// `x[rs1]` or the immediate; `rs1` its field, since a set or clear with a zero *field* does not write.
pub fn execute(
    state: &mut State,
    counters: &Counters,
    op: Op,
    number: u16,
    rs1: u8,
    source: u64,
) -> Result<u64, NoAccess> {
    let old = read(state, counters, number)?;
    if let Some(value) = written(op, rs1, old, source) {
        write(state, number, value)?;
    }
    Ok(old)
}

/// What a CSR instruction writes to a register that holds `old`, if it writes.
pub(crate) fn written(op: Op, rs1: u8, old: u64, source: u64) -> Option<u64> {
    match op {
        Op::Csrrw | Op::Csrrwi => Some(source),
        Op::Csrrs | Op::Csrrsi => (rs1 != 0).then_some(old | source),
        Op::Csrrc | Op::Csrrci => (rs1 != 0).then_some(old & !source),
        _ => unreachable!("{op:?} is not a CSR instruction"),
    }
}

/// The number is one of supervisor level's (bits 8 and 9; privileged ISA, "CSR Address Mapping Conventions").
pub(crate) fn is_supervisors(number: u16) -> bool {
    number >> 8 & 3 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fcsr_is_the_two_fields() {
        let mut state = State::new(0);
        let counters = Counters::default();
        write(&mut state, FCSR, u64::MAX).unwrap();
        assert_eq!((state.flags.0, state.frm), (31, 7));
        write(&mut state, FRM, 0x1a).unwrap();
        write(&mut state, FFLAGS, 0xe1).unwrap();
        assert_eq!(read(&state, &counters, FCSR), Ok(0x41));
    }

    #[test]
    fn set_and_clear_write_only_with_a_source() {
        let mut state = State::new(0);
        let counters = Counters { cycle: 10, time: 20, instret: 30 };
        assert_eq!(execute(&mut state, &counters, Op::Csrrs, CYCLE, 0, 0), Ok(10));
        assert_eq!(execute(&mut state, &counters, Op::Csrrci, INSTRET, 0, 0), Ok(30));
        // A register that holds zero is still a write; so is csrrw from x0.
        assert_eq!(execute(&mut state, &counters, Op::Csrrs, TIME, 5, 0), Err(NoAccess));
        assert_eq!(execute(&mut state, &counters, Op::Csrrw, TIME, 0, 0), Err(NoAccess));
        assert_eq!(execute(&mut state, &counters, Op::Csrrsi, FFLAGS, 3, 3), Ok(0));
        assert_eq!(execute(&mut state, &counters, Op::Csrrc, FFLAGS, 9, 1), Ok(3));
        assert_eq!(execute(&mut state, &counters, Op::Csrrw, FFLAGS, 0, 0), Ok(2));
        assert_eq!(execute(&mut state, &counters, Op::Csrrs, 0x300, 0, 0), Err(NoAccess));
    }
}

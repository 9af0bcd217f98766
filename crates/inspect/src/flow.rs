//! What registers hold, as far as it follows from the instructions of one function.

use std::collections::BTreeMap;

use chasqui_hart::insn::Format;
use chasqui_hart::{Insn, Op};

/// What a register is known to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// This number.
    Constant(i64),
    /// What the function was given in this register.
    Argument(u8),
    /// One thing or another.
    Unknown,
}

/// The integer registers.
pub(crate) type State = [Value; 32];

/// The first argument of functions and of system calls.
pub(crate) const A0: u8 = 10;
/// The number of a system call.
pub(crate) const A7: u8 = 17;

/// Nothing is known.
pub(crate) const BLANK: State = [Value::Unknown; 32];

/// The state at a function's first instruction.
fn entry() -> State {
    let mut state = BLANK;
    (A0..=A7).for_each(|register| state[usize::from(register)] = Value::Argument(register));
    state
}

/// What holds in both states.
fn join(into: &mut State, other: &State) -> bool {
    let mut changed = false;
    for (value, other) in into.iter_mut().zip(other) {
        if *value != *other && *value != Value::Unknown {
            *value = Value::Unknown;
            changed = true;
        }
    }
    changed
}

/// The contents of a register.
pub(crate) fn get(state: &State, register: u8) -> Value {
    if register == 0 { Value::Constant(0) } else { state[usize::from(register)] }
}

/// Executes the instruction at `address` on what is known.
pub(crate) fn apply(state: &mut State, address: u64, insn: &Insn) {
    if is_call(insn) {
        // The calling convention saves s0 to s11, sp, gp and tp alone (RISC-V psABI).
        for saved_by_caller in [1, 5, 6, 7].into_iter().chain(10..=17).chain(28..=31) {
            state[saved_by_caller] = Value::Unknown;
        }
        return;
    }
    if insn.op == Op::Ecall {
        state[usize::from(A0)] = Value::Unknown;
        return;
    }
    if !writes_integer(insn) {
        return;
    }
    let constant = |register, compute: &dyn Fn(i64) -> i64| match get(state, register) {
        Value::Constant(value) => Value::Constant(compute(value)),
        _ => Value::Unknown,
    };
    let imm = insn.imm;
    let value = match insn.op {
        Op::Lui => Value::Constant(imm),
        Op::Auipc => Value::Constant((address as i64).wrapping_add(imm)),
        Op::Addi if imm == 0 => get(state, insn.rs1),
        Op::Addi => constant(insn.rs1, &|value| value.wrapping_add(imm)),
        Op::Addiw if imm == 0 => match get(state, insn.rs1) {
            Value::Constant(value) => Value::Constant(i64::from(value as i32)),
            other => other, // sext.w of an argument: system calls have small numbers
        },
        Op::Addiw => constant(insn.rs1, &|value| i64::from(value.wrapping_add(imm) as i32)),
        Op::Slli => constant(insn.rs1, &|value| value << imm),
        Op::Add if insn.rs1 == 0 => get(state, insn.rs2),
        Op::Add if insn.rs2 == 0 => get(state, insn.rs1),
        _ => Value::Unknown,
    };
    state[usize::from(insn.rd)] = value;
}

/// Whether the instruction leaves a return address.
pub(crate) fn is_call(insn: &Insn) -> bool {
    matches!(insn.op, Op::Jal | Op::Jalr) && insn.rd != 0
}

/// Whether the next instruction may be executed after this one.
pub(crate) fn goes_on(insn: &Insn) -> bool {
    match insn.op {
        Op::Jal | Op::Jalr => insn.rd != 0,
        Op::Ebreak | Op::Sret | Op::Mret | Op::Illegal => false,
        _ => true,
    }
}

fn writes_integer(insn: &Insn) -> bool {
    let Some(encoding) = insn.op.encoding() else { return false };
    insn.rd != 0
        && !matches!(
            encoding.format,
            Format::Store
                | Format::Branch
                | Format::FpLoad
                | Format::FpStore
                | Format::FpFused
                | Format::FpBinary
                | Format::FpExact
                | Format::FpUnary
                | Format::FpFromInteger
                | Format::FpMoveFromInteger
        )
}

/// The state before every instruction of a function, by address.
pub(crate) fn states(code: &[(u64, Insn)]) -> BTreeMap<u64, State> {
    let index: BTreeMap<u64, usize> =
        code.iter().enumerate().map(|(i, (address, _))| (*address, i)).collect();
    let mut before: Vec<Option<State>> = vec![None; code.len()];
    let mut seed = Some((0, entry()));
    // What no branch leads to, a jump table does: nothing is known there.
    while let Some((first, state)) = seed {
        let mut open = Vec::new();
        if let Some(before) = before.get_mut(first) {
            *before = Some(state);
            open.push(first);
        }
        while let Some(at) = open.pop() {
            let (address, insn) = &code[at];
            let mut state = before[at].expect("only what has a state is open");
            apply(&mut state, *address, insn);
            let jumps = insn.op == Op::Jal && insn.rd == 0 || is_branch(insn);
            let target =
                if jumps { index.get(&address.wrapping_add_signed(insn.imm)).copied() } else { None };
            let next = (goes_on(insn) && at + 1 < code.len()).then_some(at + 1);
            for successor in [target, next].into_iter().flatten() {
                let changed = match &mut before[successor] {
                    Some(known) => join(known, &state),
                    unknown => {
                        *unknown = Some(state);
                        true
                    }
                };
                if changed {
                    open.push(successor);
                }
            }
        }
        seed = before.iter().position(Option::is_none).map(|first| (first, BLANK));
    }
    code.iter().zip(before).filter_map(|((address, _), state)| Some((*address, state?))).collect()
}

/// Whether the instruction is a conditional branch.
pub(crate) fn is_branch(insn: &Insn) -> bool {
    insn.op.encoding().is_some_and(|encoding| encoding.format == Format::Branch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_hart::decode;

    fn code(words: &[u32]) -> Vec<(u64, Insn)> {
        words.iter().enumerate().map(|(i, word)| (i as u64 * 4, decode(*word))).collect()
    }

    const LI_A7_64: u32 = 0x0400_0893;
    const LI_A7_63: u32 = 0x03f0_0893;
    const MV_A7_A1: u32 = 0x0005_8893;
    const BEQZ_A0_8: u32 = 0x0005_0463;
    const ECALL: u32 = 0x0000_0073;
    const CALL: u32 = 0x0000_00ef;
    const RET: u32 = 0x0000_8067;

    fn number(words: &[u32], at: usize) -> Value {
        get(&states(&code(words))[&(at as u64 * 4)], A7)
    }

    #[test]
    fn a_number_is_followed_through_branches_and_lost_in_calls() {
        assert_eq!(number(&[LI_A7_64, BEQZ_A0_8, ECALL, RET], 2), Value::Constant(64));
        assert_eq!(number(&[LI_A7_64, BEQZ_A0_8, LI_A7_63, ECALL, RET], 3), Value::Unknown);
        assert_eq!(number(&[LI_A7_64, CALL, ECALL, RET], 2), Value::Unknown);
        assert_eq!(number(&[LI_A7_64, ECALL, ECALL, RET], 2), Value::Constant(64));
    }

    #[test]
    fn an_argument_is_one() {
        assert_eq!(number(&[MV_A7_A1, ECALL, RET], 1), Value::Argument(11));
    }

    #[test]
    fn what_only_a_jump_table_reaches_is_looked_at() {
        let jump_a5 = 0x0007_8067;
        assert_eq!(number(&[LI_A7_63, jump_a5, LI_A7_64, ECALL, RET], 3), Value::Constant(64));
    }
}

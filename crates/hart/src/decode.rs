//! From bits to [`Insn`].

use crate::compressed;
use crate::insn::{ENCODINGS, Format, Insn, illegal};

/// Decodes the instruction that starts with these bits; a 16-bit one looks at the lower half only.
/// What is no instruction of this machine becomes [`Op::Illegal`].
pub fn decode(bits: u32) -> Insn {
    if bits & 3 != 3 {
        compressed::expand(bits as u16)
    } else {
        decode_word(bits).unwrap_or(illegal(bits, 4))
    }
}

fn decode_word(word: u32) -> Option<Insn> {
    let mut row = FIRST[(word >> 2 & 31) as usize];
    while row != END {
        if ENCODINGS[row as usize].matches(word) {
            return operands(row, word);
        }
        row = NEXT[row as usize];
    }
    None
}

/// End of a chain in [`FIRST`] and [`NEXT`].
const END: u8 = u8::MAX;
const _: () = assert!(ENCODINGS.len() < END as usize);

/// For each major opcode (bits 6 to 2) its first row of [`ENCODINGS`]; [`NEXT`] chains the others in order.
const FIRST: [u8; 32] = chains().0;
static NEXT: [u8; ENCODINGS.len()] = chains().1;

const fn chains() -> ([u8; 32], [u8; ENCODINGS.len()]) {
    let mut first = [END; 32];
    let mut next = [END; ENCODINGS.len()];
    let mut row = ENCODINGS.len();
    while row > 0 {
        row -= 1;
        let opcode = (ENCODINGS[row].bits >> 2 & 31) as usize;
        next[row] = first[opcode];
        first[opcode] = row as u8;
    }
    (first, next)
}

/// Fills in the fields that the row's format has; none if a field holds a reserved value.
fn operands(row: u8, word: u32) -> Option<Insn> {
    let encoding = &ENCODINGS[row as usize];
    let none = Insn { op: encoding.op, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };
    let register = |lowest: u32| (word >> lowest & 31) as u8;
    let (rd, rs1, rs2, rs3) = (register(7), register(15), register(20), register(27));
    let rm = (word >> 12 & 7) as u8;
    let i = i64::from(word as i32 >> 20);
    let i_unsigned = i64::from(word >> 20);
    let insn = match encoding.format {
        Format::R | Format::FpExact | Format::FpCompare => Insn { rd, rs1, rs2, ..none },
        Format::R4 => Insn { rd, rs1, rs2, rs3, ..none },
        Format::I | Format::Load | Format::FpLoad => Insn { rd, rs1, imm: i, ..none },
        Format::Shift5 => Insn { rd, rs1, imm: i & 31, ..none },
        Format::Shift6 => Insn { rd, rs1, imm: i & 63, ..none },
        Format::Store | Format::FpStore => Insn { rs1, rs2, imm: store_offset(word), ..none },
        Format::Branch => Insn { rs1, rs2, imm: branch_offset(word), ..none },
        Format::Upper => Insn { rd, imm: i64::from((word & 0xffff_f000) as i32), ..none },
        Format::Jump => Insn { rd, imm: jump_offset(word), ..none },
        Format::Csr | Format::CsrImmediate => Insn { rd, rs1, imm: i_unsigned, ..none },
        Format::LoadReserved => Insn { rd, rs1, imm: i64::from(word >> 25 & 3), ..none },
        Format::Amo => Insn { rd, rs1, rs2, imm: i64::from(word >> 25 & 3), ..none },
        Format::Fence => Insn { imm: i_unsigned, ..none },
        Format::FenceInstructions | Format::Fixed => none,
        Format::CacheBlock => Insn { rs1, ..none },
        Format::FenceAddresses => Insn { rs1, rs2, ..none },
        Format::Mark => Insn { rs1, imm: i_unsigned, ..none },
        Format::Store64 => Insn { rs1, rs2: first_of_eight(rs2)?, ..none },
        Format::Store64Answered => Insn { rd, rs1, rs2: first_of_eight(rs2)?, ..none },
        Format::FpFused => Insn { rd, rs1, rs2, rs3, rm: rounding(rm)?, ..none },
        Format::FpBinary => Insn { rd, rs1, rs2, rm: rounding(rm)?, ..none },
        Format::FpUnary | Format::FpToInteger | Format::FpFromInteger => {
            Insn { rd, rs1, rm: rounding(rm)?, ..none }
        }
        Format::FpMoveToInteger | Format::FpMoveFromInteger => Insn { rd, rs1, ..none },
    };
    Some(insn)
}

/// Rounding modes 5 and 6 are reserved ("Floating-Point Control and Status Register"): illegal here.
fn rounding(rm: u8) -> Option<u8> {
    (rm != 5 && rm != 6).then_some(rm)
}

/// Eight registers begin at `register` at most at x24.
fn first_of_eight(register: u8) -> Option<u8> {
    (register <= 24).then_some(register)
}

/// S-immediate ("Immediate Encoding Variants").
fn store_offset(word: u32) -> i64 {
    i64::from((word as i32 >> 25) << 5 | (word >> 7 & 31) as i32)
}

/// B-immediate.
fn branch_offset(word: u32) -> i64 {
    let sign = (word as i32 >> 31) << 12;
    let rest = (word >> 7 & 1) << 11 | (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1;
    i64::from(sign | rest as i32)
}

/// J-immediate.
fn jump_offset(word: u32) -> i64 {
    let sign = (word as i32 >> 31) << 20;
    let rest = (word & 0x000f_f000) | (word >> 20 & 1) << 11 | (word >> 21 & 0x3ff) << 1;
    i64::from(sign | rest as i32)
}

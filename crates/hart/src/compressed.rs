//! The 16-bit instructions of RV64C and RV64DC, each expanded to the 32-bit instruction it stands for
//! (Unprivileged ISA, chapter "C Extension for Compressed Instructions", "RVC Instruction Set Listings").

use crate::insn::{Insn, Op, illegal};

/// The stack pointer, implied by many forms.
const SP: u8 = 2;
/// The link register, implied by `c.jalr`.
const RA: u8 = 1;

/// Expands a 16-bit instruction: the same fields as the long form, but length 2.
pub(crate) fn expand(half: u16) -> Insn {
    let c = Compressed(u32::from(half));
    let expanded = match half & 3 {
        0 => quadrant_0(c),
        1 => quadrant_1(c),
        2 => quadrant_2(c),
        _ => unreachable!("a 32-bit instruction: {half:#06x}"),
    };
    expanded.unwrap_or(illegal(u32::from(half), 2))
}

#[derive(Clone, Copy)]
struct Compressed(u32);

impl Compressed {
    /// Moves bits `highest..=lowest` of the instruction to bit `to` and up.
    fn field(self, highest: u32, lowest: u32, to: u32) -> i64 {
        let width = highest - lowest + 1;
        i64::from((self.0 >> lowest & ((1 << width) - 1)) << to)
    }

    fn funct3(self) -> u32 {
        self.0 >> 13
    }

    /// A full register number in bits 11 to 7.
    fn rd(self) -> u8 {
        self.field(11, 7, 0) as u8
    }

    /// A full register number in bits 6 to 2.
    fn rs2(self) -> u8 {
        self.field(6, 2, 0) as u8
    }

    /// One of x8 to x15 in bits 9 to 7.
    fn rs1_short(self) -> u8 {
        self.field(9, 7, 0) as u8 + 8
    }

    /// One of x8 to x15 in bits 4 to 2.
    fn rs2_short(self) -> u8 {
        self.field(4, 2, 0) as u8 + 8
    }

    /// The 6-bit immediate of CI and CB forms, without sign.
    fn shamt(self) -> i64 {
        self.field(12, 12, 5) | self.field(6, 2, 0)
    }

    /// The same with sign.
    fn imm6(self) -> i64 {
        sign_extend(self.shamt(), 6)
    }

    /// Offset of `c.lw`, `c.sw`.
    fn offset_word(self) -> i64 {
        self.field(12, 10, 3) | self.field(6, 6, 2) | self.field(5, 5, 6)
    }

    /// Offset of `c.ld`, `c.sd`, `c.fld`, `c.fsd`.
    fn offset_double(self) -> i64 {
        self.field(12, 10, 3) | self.field(6, 5, 6)
    }
}

fn sign_extend(value: i64, bits: u32) -> i64 {
    value << (64 - bits) >> (64 - bits)
}

fn registers(op: Op, rd: u8, rs1: u8, rs2: u8) -> Option<Insn> {
    Some(Insn { op, rd, rs1, rs2, rs3: 0, rm: 0, length: 2, imm: 0 })
}

fn immediate(op: Op, rd: u8, rs1: u8, imm: i64) -> Option<Insn> {
    Some(Insn { op, rd, rs1, rs2: 0, rs3: 0, rm: 0, length: 2, imm })
}

/// A store or a branch: two sources and an offset.
fn sources(op: Op, rs1: u8, rs2: u8, imm: i64) -> Option<Insn> {
    Some(Insn { op, rd: 0, rs1, rs2, rs3: 0, rm: 0, length: 2, imm })
}

fn quadrant_0(c: Compressed) -> Option<Insn> {
    let (rs1, rs2) = (c.rs1_short(), c.rs2_short());
    match c.funct3() {
        0 => {
            let imm = c.field(12, 11, 4) | c.field(10, 7, 6) | c.field(6, 6, 2) | c.field(5, 5, 3);
            // Zero is reserved, and the all-zero half-word is illegal by definition.
            if imm == 0 { None } else { immediate(Op::Addi, rs2, SP, imm) }
        }
        1 => immediate(Op::Fld, rs2, rs1, c.offset_double()),
        2 => immediate(Op::Lw, rs2, rs1, c.offset_word()),
        3 => immediate(Op::Ld, rs2, rs1, c.offset_double()),
        5 => sources(Op::Fsd, rs1, rs2, c.offset_double()),
        6 => sources(Op::Sw, rs1, rs2, c.offset_word()),
        7 => sources(Op::Sd, rs1, rs2, c.offset_double()),
        _ => None,
    }
}

fn quadrant_1(c: Compressed) -> Option<Insn> {
    let rd = c.rd();
    match c.funct3() {
        0 => immediate(Op::Addi, rd, rd, c.imm6()),
        1 if rd == 0 => None, // reserved
        1 => immediate(Op::Addiw, rd, rd, c.imm6()),
        2 => immediate(Op::Addi, rd, 0, c.imm6()),
        3 => upper_or_stack(c),
        4 => arithmetic(c),
        5 => immediate(Op::Jal, 0, 0, jump_offset(c)),
        6 => sources(Op::Beq, c.rs1_short(), 0, branch_offset(c)),
        _ => sources(Op::Bne, c.rs1_short(), 0, branch_offset(c)),
    }
}

/// `c.lui`, or `c.addi16sp` where rd is the stack pointer; a zero immediate is reserved in both.
fn upper_or_stack(c: Compressed) -> Option<Insn> {
    if c.imm6() == 0 {
        None
    } else if c.rd() == SP {
        let scattered = c.field(12, 12, 9) | c.field(6, 6, 4) | c.field(5, 5, 6) | c.field(4, 3, 7);
        immediate(Op::Addi, SP, SP, sign_extend(scattered | c.field(2, 2, 5), 10))
    } else {
        immediate(Op::Lui, c.rd(), 0, c.imm6() << 12)
    }
}

fn arithmetic(c: Compressed) -> Option<Insn> {
    let rd = c.rs1_short();
    match c.field(11, 10, 0) {
        0 => immediate(Op::Srli, rd, rd, c.shamt()),
        1 => immediate(Op::Srai, rd, rd, c.shamt()),
        2 => immediate(Op::Andi, rd, rd, c.imm6()),
        _ => {
            let op = match (c.field(12, 12, 0), c.field(6, 5, 0)) {
                (0, 0) => Op::Sub,
                (0, 1) => Op::Xor,
                (0, 2) => Op::Or,
                (0, 3) => Op::And,
                (1, 0) => Op::Subw,
                (1, 1) => Op::Addw,
                _ => return None, // reserved
            };
            registers(op, rd, rd, c.rs2_short())
        }
    }
}

fn jump_offset(c: Compressed) -> i64 {
    let high = c.field(12, 12, 11) | c.field(8, 8, 10) | c.field(10, 9, 8) | c.field(6, 6, 7);
    let low = c.field(7, 7, 6) | c.field(2, 2, 5) | c.field(11, 11, 4) | c.field(5, 3, 1);
    sign_extend(high | low, 12)
}

fn branch_offset(c: Compressed) -> i64 {
    let high = c.field(12, 12, 8) | c.field(6, 5, 6) | c.field(2, 2, 5);
    sign_extend(high | c.field(11, 10, 3) | c.field(4, 3, 1), 9)
}

fn quadrant_2(c: Compressed) -> Option<Insn> {
    let (rd, rs2) = (c.rd(), c.rs2());
    let load_word = c.field(12, 12, 5) | c.field(6, 4, 2) | c.field(3, 2, 6);
    let load_double = c.field(12, 12, 5) | c.field(6, 5, 3) | c.field(4, 2, 6);
    let store_word = c.field(12, 9, 2) | c.field(8, 7, 6);
    let store_double = c.field(12, 10, 3) | c.field(9, 7, 6);
    match c.funct3() {
        0 => immediate(Op::Slli, rd, rd, c.shamt()),
        1 => immediate(Op::Fld, rd, SP, load_double),
        2 | 3 if rd == 0 => None, // reserved
        2 => immediate(Op::Lw, rd, SP, load_word),
        3 => immediate(Op::Ld, rd, SP, load_double),
        4 => match (c.field(12, 12, 0), rd, rs2) {
            (0, 0, 0) => None, // reserved
            (0, _, 0) => immediate(Op::Jalr, 0, rd, 0),
            (0, _, _) => registers(Op::Add, rd, 0, rs2),
            (_, 0, 0) => registers(Op::Ebreak, 0, 0, 0),
            (_, _, 0) => immediate(Op::Jalr, RA, rd, 0),
            (_, _, _) => registers(Op::Add, rd, rd, rs2),
        },
        5 => sources(Op::Fsd, SP, rs2, store_double),
        6 => sources(Op::Sw, SP, rs2, store_word),
        _ => sources(Op::Sd, SP, rs2, store_double),
    }
}

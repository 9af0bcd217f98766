//! Assembly text, as `objdump -d -M no-aliases` writes it, except that compressed instructions appear as
//! what they stand for and targets as distances, since an [`Insn`] does not know its address.

use crate::csr;
use crate::insn::{Format, Insn, Op};
use std::fmt::{self, Display, Formatter};

#[rustfmt::skip]
const X: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
    "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

#[rustfmt::skip]
const F: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5",
    "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
];

/// What follows the operands for each value of the rm field.
const ROUNDING: [&str; 8] = [",rne", ",rtz", ",rdn", ",rup", ",rmm", ",?", ",?", ""];

/// Name of an integer register in the calling convention.
pub fn x_name(register: u8) -> &'static str {
    X[usize::from(register & 31)]
}

/// Name of a floating-point register in the calling convention.
pub fn f_name(register: u8) -> &'static str {
    F[usize::from(register & 31)]
}

impl Display for Insn {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        let Some(encoding) = self.op.encoding() else {
            return match self.length {
                2 => write!(out, ".short {:#06x}", self.imm),
                _ => write!(out, ".word {:#010x}", self.imm),
            };
        };
        write!(out, "{}", encoding.mnemonic)?;
        let imm = self.imm;
        let [rd, rs1, rs2] = [self.rd, self.rs1, self.rs2].map(x_name);
        let [fd, f1, f2, f3] = [self.rd, self.rs1, self.rs2, self.rs3].map(f_name);
        match encoding.format {
            Format::Fixed | Format::FenceInstructions => Ok(()),
            Format::R => write!(out, " {rd},{rs1},{rs2}"),
            Format::R4 => write!(out, " {rd},{rs1},{rs2},{}", x_name(self.rs3)),
            Format::I if self.op == Op::Jalr => write!(out, " {rd},{imm}({rs1})"),
            Format::I => write!(out, " {rd},{rs1},{imm}"),
            Format::Shift5 | Format::Shift6 => write!(out, " {rd},{rs1},{imm:#x}"),
            Format::Load => write!(out, " {rd},{imm}({rs1})"),
            Format::Store => write!(out, " {rs2},{imm}({rs1})"),
            Format::Branch => write!(out, " {rs1},{rs2},.{imm:+}"),
            Format::Upper => write!(out, " {rd},{:#x}", imm >> 12 & 0xf_ffff),
            Format::Jump => write!(out, " {rd},.{imm:+}"),
            Format::Csr => write!(out, " {rd},{},{rs1}", csr::CsrName(imm as u16)),
            Format::CsrImmediate => write!(out, " {rd},{},{}", csr::CsrName(imm as u16), self.rs1),
            Format::LoadReserved => write!(out, "{} {rd},({rs1})", ordering(imm)),
            Format::Amo => write!(out, "{} {rd},{rs2},({rs1})", ordering(imm)),
            Format::Fence if imm == FENCE_TSO => write!(out, ".tso"),
            Format::Fence => write!(out, " {},{}", Accesses(imm >> 4), Accesses(imm)),
            Format::CacheBlock => write!(out, " ({rs1})"),
            Format::FenceAddresses => write!(out, " {rs1},{rs2}"),
            Format::Store64 => write!(out, " {rs2},({rs1})"),
            Format::Store64Answered => write!(out, " {rd},{rs2},({rs1})"),
            Format::Mark => write!(out, " {rs1},{imm:#x}"),
            Format::FpLoad => write!(out, " {fd},{imm}({rs1})"),
            Format::FpStore => write!(out, " {f2},{imm}({rs1})"),
            Format::FpFused => write!(out, " {fd},{f1},{f2},{f3}{}", self.rounding()),
            Format::FpBinary => write!(out, " {fd},{f1},{f2}{}", self.rounding()),
            Format::FpExact => write!(out, " {fd},{f1},{f2}"),
            Format::FpCompare => write!(out, " {rd},{f1},{f2}"),
            Format::FpUnary => write!(out, " {fd},{f1}{}", self.rounding()),
            Format::FpToInteger => write!(out, " {rd},{f1}{}", self.rounding()),
            Format::FpFromInteger => write!(out, " {fd},{rs1}{}", self.rounding()),
            Format::FpMoveToInteger => write!(out, " {rd},{f1}"),
            Format::FpMoveFromInteger => write!(out, " {fd},{rs1}"),
        }
    }
}

/// The twelve bits of `fence.tso`: fm 1000, predecessor rw, successor rw.
const FENCE_TSO: i64 = 0x833;

impl Insn {
    /// Static rounding modes are written out, but for the dynamic one and for the mode 0 that assemblers give
    /// to exact conversions.
    fn rounding(&self) -> &'static str {
        match (self.op, self.rm) {
            (Op::FcvtDS | Op::FcvtDW | Op::FcvtDWu, 0) => "",
            (_, rm) => ROUNDING[usize::from(rm & 7)],
        }
    }
}

/// The suffix for acquire and release bits.
fn ordering(bits: i64) -> &'static str {
    ["", ".rl", ".aq", ".aqrl"][(bits & 3) as usize]
}

/// A predecessor or successor set of `fence`.
struct Accesses(i64);

impl Display for Accesses {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        if self.0 & 15 == 0 {
            return write!(out, "unknown"); // objdump's word for the empty set
        }
        for (bit, letter) in [(8, 'i'), (4, 'o'), (2, 'r'), (1, 'w')] {
            if self.0 & bit != 0 {
                write!(out, "{letter}")?;
            }
        }
        Ok(())
    }
}

//! From [`Insn`] back to bits: the inverse of the decoder, for tests that make programs.

use crate::decode;
use crate::insn::{Format, Insn, Op};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The 32-bit encoding. Fields must be in range: an immediate that does not fit is a mistake of the test.
pub fn encode(insn: &Insn) -> u32 {
    let row = insn.op.encoding().expect("an instruction");
    let imm = insn.imm as u32;
    let (rd, rs1, rs2) = (u32::from(insn.rd) << 7, u32::from(insn.rs1) << 15, u32::from(insn.rs2) << 20);
    let rm = u32::from(insn.rm) << 12;
    let fields = match row.format {
        Format::R | Format::FpExact | Format::FpCompare => rd | rs1 | rs2,
        Format::R4 => rd | rs1 | rs2 | u32::from(insn.rs3) << 27,
        Format::I | Format::Load | Format::FpLoad | Format::Mark => rd | rs1 | imm << 20,
        Format::Shift5 | Format::Shift6 | Format::Csr | Format::CsrImmediate => rd | rs1 | imm << 20,
        Format::Store | Format::FpStore => rs1 | rs2 | imm >> 5 << 25 | (imm & 31) << 7,
        Format::Branch => {
            let high = (imm >> 12 & 1) << 31 | (imm >> 5 & 63) << 25;
            rs1 | rs2 | high | (imm >> 1 & 15) << 8 | (imm >> 11 & 1) << 7
        }
        Format::Upper => rd | imm & 0xffff_f000,
        Format::Jump => {
            let high = (imm >> 20 & 1) << 31 | (imm >> 1 & 0x3ff) << 21;
            rd | high | (imm >> 11 & 1) << 20 | imm & 0x000f_f000
        }
        Format::LoadReserved => rd | rs1 | imm << 25,
        Format::Amo => rd | rs1 | rs2 | imm << 25,
        Format::Fence => imm << 20,
        Format::FenceInstructions | Format::Fixed => 0,
        Format::CacheBlock => rs1,
        Format::FenceAddresses | Format::Store64 => rs1 | rs2,
        Format::Store64Answered => rd | rs1 | rs2,
        Format::FpFused => rd | rs1 | rs2 | u32::from(insn.rs3) << 27 | rm,
        Format::FpBinary => rd | rs1 | rs2 | rm,
        Format::FpUnary | Format::FpToInteger | Format::FpFromInteger => rd | rs1 | rm,
        Format::FpMoveToInteger | Format::FpMoveFromInteger => rd | rs1,
    };
    let word = row.bits | fields;
    debug_assert_eq!(decode(word), Insn { length: 4, ..*insn });
    word
}

/// The 16-bit encoding, where there is one.
pub fn compress(insn: &Insn) -> Option<u16> {
    static SHORT: LazyLock<HashMap<Insn, u16>> = LazyLock::new(|| {
        let mut short = HashMap::new();
        for half in compressed_halves() {
            short.entry(decode(u32::from(half))).or_insert(half);
        }
        short
    });
    SHORT.get(&Insn { length: 2, ..*insn }).copied()
}

/// Every legal 16-bit instruction.
pub fn compressed_halves() -> impl Iterator<Item = u16> {
    (0..=u16::MAX).filter(|half| half & 3 != 3 && decode(u32::from(*half)).op != Op::Illegal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::ENCODINGS;
    use chasqui_random::Random;

    #[test]
    fn encoding_inverts_decoding() {
        let mut random = Random::for_test(0xe2c0de);
        for row in &ENCODINGS {
            // Ignored fields come back as zero: compare what the words mean.
            for _ in 0..1000 {
                let insn = decode(row.bits | random.bits() as u32 & !row.format.mask());
                if insn.op != Op::Illegal {
                    assert_eq!(decode(encode(&insn)), insn);
                }
            }
        }
        for half in compressed_halves() {
            let insn = decode(u32::from(half));
            assert_eq!(decode(encode(&insn)), Insn { length: 4, ..insn });
            let short = compress(&insn).expect("it came from a short one");
            assert_eq!(decode(u32::from(short)), insn);
        }
    }
}

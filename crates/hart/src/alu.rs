//! What integer operations compute. Each function is the whole semantics of its operations; register and
//! immediate forms share one (Unprivileged ISA, chapters "RV32I", "RV64I", "M" and "A").

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),*) -> $result:ty { $body:expr })*) => {
        $(
            $(#[$doc])*
            #[doc = ""]
            #[doc = concat!("`", stringify!($body), "`")]
            #[inline(always)]
            pub fn $name($($argument: u64),*) -> $result {
                $body
            }
        )*
    };
}

functions! {
    /// Sum.
    add(a, b) -> u64 { a.wrapping_add(b) }
    /// Difference.
    sub(a, b) -> u64 { a.wrapping_sub(b) }
    /// Left shift by the low six bits.
    sll(a, b) -> u64 { a << (b & 63) }
    /// Logical right shift.
    srl(a, b) -> u64 { a >> (b & 63) }
    /// Arithmetic right shift.
    sra(a, b) -> u64 { (a as i64 >> (b & 63)) as u64 }
    /// 1 if less, signed.
    slt(a, b) -> u64 { ((a as i64) < b as i64) as u64 }
    /// 1 if less, unsigned.
    sltu(a, b) -> u64 { (a < b) as u64 }
    /// Exclusive or.
    xor(a, b) -> u64 { a ^ b }
    /// Or.
    or(a, b) -> u64 { a | b }
    /// And.
    and(a, b) -> u64 { a & b }

    /// Sum of words, sign-extended.
    addw(a, b) -> u64 { word(a.wrapping_add(b)) }
    /// Difference of words.
    subw(a, b) -> u64 { word(a.wrapping_sub(b)) }
    /// Left shift of a word by the low five bits.
    sllw(a, b) -> u64 { word(a << (b & 31)) }
    /// Logical right shift of a word.
    srlw(a, b) -> u64 { word((a as u32 >> (b & 31)) as u64) }
    /// Arithmetic right shift of a word.
    sraw(a, b) -> u64 { (a as i32 >> (b & 31)) as u64 }

    /// Low half of the product.
    mul(a, b) -> u64 { a.wrapping_mul(b) }
    /// High half, both signed.
    mulh(a, b) -> u64 { ((a as i64 as i128 * b as i64 as i128) >> 64) as u64 }
    /// High half, the first signed.
    mulhsu(a, b) -> u64 { ((a as i64 as i128 * b as i128) >> 64) as u64 }
    /// High half, both unsigned.
    mulhu(a, b) -> u64 { ((a as u128 * b as u128) >> 64) as u64 }
    /// Product of words.
    mulw(a, b) -> u64 { word(a.wrapping_mul(b)) }

    /// Quotient towards zero; by zero it is -1, on overflow the dividend ("Division Operations").
    div(a, b) -> u64 { if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 } }
    /// Unsigned quotient; by zero it is the largest value.
    divu(a, b) -> u64 { a.checked_div(b).unwrap_or(u64::MAX) }
    /// Remainder with the dividend's sign; by zero it is the dividend, on overflow 0.
    rem(a, b) -> u64 { if b == 0 { a } else { (a as i64).wrapping_rem(b as i64) as u64 } }
    /// Unsigned remainder; by zero it is the dividend.
    remu(a, b) -> u64 { if b == 0 { a } else { a % b } }
    /// [`div`] of words.
    divw(a, b) -> u64 { if b as u32 == 0 { u64::MAX } else { (a as i32).wrapping_div(b as i32) as u64 } }
    /// [`divu`] of words; the result is sign-extended.
    divuw(a, b) -> u64 { (a as u32).checked_div(b as u32).map_or(u64::MAX, |quotient| word(quotient as u64)) }
    /// [`rem`] of words.
    remw(a, b) -> u64 { if b as u32 == 0 { word(a) } else { (a as i32).wrapping_rem(b as i32) as u64 } }
    /// [`remu`] of words; the result is sign-extended.
    remuw(a, b) -> u64 { if b as u32 == 0 { word(a) } else { word((a as u32 % b as u32) as u64) } }

    /// Condition of `beq`.
    eq(a, b) -> bool { a == b }
    /// Condition of `bne`.
    ne(a, b) -> bool { a != b }
    /// Condition of `blt`.
    lt(a, b) -> bool { (a as i64) < b as i64 }
    /// Condition of `bge`.
    ge(a, b) -> bool { a as i64 >= b as i64 }
    /// Condition of `bltu`.
    ltu(a, b) -> bool { a < b }
    /// Condition of `bgeu`.
    geu(a, b) -> bool { a >= b }

    /// What `amoswap` stores. For word AMOs the memory operand comes sign-extended; the low word is stored.
    swap(_memory, b) -> u64 { b }
    /// What `amomin` stores.
    min_d(memory, b) -> u64 { if (memory as i64) < b as i64 { memory } else { b } }
    /// What `amomax` stores.
    max_d(memory, b) -> u64 { if memory as i64 > b as i64 { memory } else { b } }
    /// What `amominu` stores.
    minu_d(memory, b) -> u64 { if memory < b { memory } else { b } }
    /// What `amomaxu` stores.
    maxu_d(memory, b) -> u64 { if memory > b { memory } else { b } }
    /// [`min_d`] of words.
    min_w(memory, b) -> u64 { if (memory as i32) < b as i32 { memory } else { b } }
    /// [`max_d`] of words.
    max_w(memory, b) -> u64 { if memory as i32 > b as i32 { memory } else { b } }
    /// [`minu_d`] of words.
    minu_w(memory, b) -> u64 { if (memory as u32) < b as u32 { memory } else { b } }
    /// [`maxu_d`] of words.
    maxu_w(memory, b) -> u64 { if memory as u32 > b as u32 { memory } else { b } }
}

/// The low word, sign-extended.
#[inline(always)]
fn word(value: u64) -> u64 {
    value as i32 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: u64 = i64::MIN as u64;
    const LEAST_W: u64 = i32::MIN as u64;
    const MINUS_1: u64 = u64::MAX;

    /// Table "Semantics for division by zero and division overflow".
    #[test]
    fn division() {
        assert_eq!([div(7, 0), divu(7, 0), rem(7, 0), remu(7, 0)], [MINUS_1, MINUS_1, 7, 7]);
        assert_eq!([div(LEAST, MINUS_1), rem(LEAST, MINUS_1)], [LEAST, 0]);
        let dividend = 0x1_8000_0001; // as a word it is negative
        assert_eq!([divw(dividend, 0), divuw(dividend, 0)], [MINUS_1, MINUS_1]);
        assert_eq!([remw(dividend, 1 << 32), remuw(dividend, 1 << 32)], [LEAST_W + 1, LEAST_W + 1]);
        assert_eq!([divw(LEAST_W, MINUS_1), remw(LEAST_W, MINUS_1)], [LEAST_W, 0]);
        assert_eq!([div(-7i64 as u64, 2), rem(-7i64 as u64, 2)], [-3i64 as u64, MINUS_1]);
        assert_eq!([divuw(0xffff_fffe, 1), remuw(0xffff_fffe, 0xffff_ffff)], [-2i64 as u64, -2i64 as u64]);
    }

    #[test]
    fn high_products() {
        assert_eq!(mulh(MINUS_1, MINUS_1), 0);
        assert_eq!(mulhu(MINUS_1, MINUS_1), MINUS_1 - 1);
        assert_eq!(mulhsu(MINUS_1, MINUS_1), MINUS_1);
        assert_eq!(mulhsu(LEAST, MINUS_1), LEAST);
        assert_eq!(mulh(LEAST, LEAST), 1 << 62);
        assert_eq!(mulw(0x1_0001, 0x1_0000_ffff), word(0x1_0001 * 0xffff));
    }

    #[test]
    fn words_and_shifts() {
        assert_eq!(addw(0x7fff_ffff, 1), LEAST_W);
        assert_eq!(subw(LEAST_W, 1), 0x7fff_ffff);
        assert_eq!([sllw(1, 31), sllw(1, 32), sll(1, 63), sll(1, 64)], [LEAST_W, 1, LEAST, 1]);
        assert_eq!([srlw(LEAST_W, 31), srlw(MINUS_1, 32), sraw(LEAST_W, 31)], [1, MINUS_1, MINUS_1]);
        assert_eq!([srl(LEAST, 63), sra(LEAST, 63)], [1, MINUS_1]);
        assert_eq!([slt(LEAST, 0), sltu(LEAST, 0), slt(0, 0)], [1, 0, 0]);
    }

    #[test]
    fn atomics_of_words_ignore_the_high_half_of_the_register() {
        let b = 0xdead_beef_0000_0005;
        assert_eq!(min_w(word(0xffff_ffff), b) as u32, 0xffff_ffff);
        assert_eq!(minu_w(word(0xffff_ffff), b) as u32, 5);
        assert_eq!(max_w(word(0xffff_ffff), b) as u32, 5);
        assert_eq!(maxu_w(word(0xffff_ffff), b) as u32, 0xffff_ffff);
        assert_eq!(
            [min_d(LEAST, 1), max_d(LEAST, 1), minu_d(LEAST, 1), maxu_d(LEAST, 1)],
            [LEAST, 1, 1, LEAST]
        );
    }
}

//! What needs no rounding: comparisons, minimum and maximum, signs, classes, moves.

use super::soft::{Double, Format, Single, is_nan, is_signaling};
use super::{Flags, box_s, unbox_s};

/// Raises invalid if an operand is a NaN (a signalling comparison) or only if one signals (a quiet one).
/// Returns whether the operands can be compared.
#[inline]
fn ordered<F: Format>(a: u64, b: u64, quiet: bool, flags: &mut Flags) -> bool {
    if !is_nan::<F>(a) && !is_nan::<F>(b) {
        return true;
    }
    if !quiet || is_signaling::<F>(a) || is_signaling::<F>(b) {
        flags.raise(Flags::NV);
    }
    false
}

/// A key that orders numbers as integers, -0 just below +0.
#[inline]
fn key<F: Format>(a: u64) -> i64 {
    let magnitude = (a & !F::SIGN) as i64;
    if a & F::SIGN != 0 { -magnitude - 1 } else { magnitude }
}

#[inline]
fn is_zero<F: Format>(a: u64) -> bool {
    a & !F::SIGN == 0
}

#[inline]
fn eq<F: Format>(a: u64, b: u64, flags: &mut Flags) -> u64 {
    u64::from(ordered::<F>(a, b, true, flags) && (a == b || is_zero::<F>(a) && is_zero::<F>(b)))
}

#[inline]
fn lt<F: Format>(a: u64, b: u64, flags: &mut Flags) -> u64 {
    let less = key::<F>(a) < key::<F>(b) && !(is_zero::<F>(a) && is_zero::<F>(b));
    u64::from(ordered::<F>(a, b, false, flags) && less)
}

#[inline]
fn le<F: Format>(a: u64, b: u64, flags: &mut Flags) -> u64 {
    let not_greater = key::<F>(a) <= key::<F>(b) || is_zero::<F>(a) && is_zero::<F>(b);
    u64::from(ordered::<F>(a, b, false, flags) && not_greater)
}

/// minimumNumber and maximumNumber of IEEE 754-2019: a NaN gives way to a number, signalling ones raise
/// invalid, and -0 is less than +0.
#[inline]
fn pick<F: Format>(a: u64, b: u64, first: bool, flags: &mut Flags) -> u64 {
    if ordered::<F>(a, b, true, flags) {
        return if first { a } else { b };
    }
    match (is_nan::<F>(a), is_nan::<F>(b)) {
        (true, true) => F::NAN,
        (true, false) => b,
        _ => a,
    }
}

#[inline]
fn min<F: Format>(a: u64, b: u64, flags: &mut Flags) -> u64 {
    pick::<F>(a, b, key::<F>(a) < key::<F>(b), flags)
}

#[inline]
fn max<F: Format>(a: u64, b: u64, flags: &mut Flags) -> u64 {
    pick::<F>(a, b, key::<F>(a) > key::<F>(b), flags)
}

#[inline]
fn sgnj<F: Format>(a: u64, b: u64) -> u64 {
    a & !F::SIGN | b & F::SIGN
}

#[inline]
fn sgnjn<F: Format>(a: u64, b: u64) -> u64 {
    a & !F::SIGN | !b & F::SIGN
}

#[inline]
fn sgnjx<F: Format>(a: u64, b: u64) -> u64 {
    a ^ b & F::SIGN
}

/// Table "Format of result of FCLASS instruction": one of ten bits.
fn class<F: Format>(a: u64) -> u64 {
    let magnitude = a & !F::SIGN;
    if is_nan::<F>(a) {
        return if is_signaling::<F>(a) { 1 << 8 } else { 1 << 9 };
    }
    let rank = match magnitude {
        0 => 0,
        m if m < 1 << F::FRACTION => 1,
        m if m < F::INFINITY => 2,
        _ => 3,
    };
    if a & F::SIGN != 0 { 1 << (3 - rank) } else { 1 << (4 + rank) }
}

macro_rules! compare {
    ($($s:ident $d:ident $name:ident $doc:literal;)*) => {
        $(
            #[doc = concat!("`", $doc, ".s`: 1 if true")]
            #[inline]
            pub fn $s(a: u64, b: u64, flags: &mut Flags) -> u64 {
                $name::<Single>(unbox_s(a), unbox_s(b), flags)
            }

            #[doc = concat!("`", $doc, ".d`: 1 if true")]
            #[inline]
            pub fn $d(a: u64, b: u64, flags: &mut Flags) -> u64 {
                $name::<Double>(a, b, flags)
            }
        )*
    };
}

compare! {
    eq_s eq_d eq "feq";
    lt_s lt_d lt "flt";
    le_s le_d le "fle";
}

macro_rules! min_max {
    ($($s:ident $d:ident $name:ident $doc:literal;)*) => {
        $(
            #[doc = concat!("`", $doc, ".s`")]
            #[inline]
            pub fn $s(a: u64, b: u64, flags: &mut Flags) -> u64 {
                box_s($name::<Single>(unbox_s(a), unbox_s(b), flags))
            }

            #[doc = concat!("`", $doc, ".d`")]
            #[inline]
            pub fn $d(a: u64, b: u64, flags: &mut Flags) -> u64 {
                $name::<Double>(a, b, flags)
            }
        )*
    };
}

min_max! {
    min_s min_d min "fmin";
    max_s max_d max "fmax";
}

macro_rules! sign {
    ($($s:ident $d:ident $name:ident $doc:literal;)*) => {
        $(
            #[doc = concat!("`", $doc, ".s`")]
            #[inline]
            pub fn $s(a: u64, b: u64) -> u64 {
                box_s($name::<Single>(unbox_s(a), unbox_s(b)))
            }

            #[doc = concat!("`", $doc, ".d`")]
            #[inline]
            pub fn $d(a: u64, b: u64) -> u64 {
                $name::<Double>(a, b)
            }
        )*
    };
}

sign! {
    sgnj_s  sgnj_d  sgnj  "fsgnj";
    sgnjn_s sgnjn_d sgnjn "fsgnjn";
    sgnjx_s sgnjx_d sgnjx "fsgnjx";
}

/// `fclass.s`
pub fn class_s(a: u64) -> u64 {
    class::<Single>(unbox_s(a))
}

/// `fclass.d`
pub fn class_d(a: u64) -> u64 {
    class::<Double>(a)
}

/// `fmv.x.w`: the low word as it is, boxed or not, sign-extended.
#[inline(always)]
pub fn x_from_s(a: u64) -> u64 {
    a as i32 as u64
}

/// `fmv.x.d`
#[inline(always)]
pub fn x_from_d(a: u64) -> u64 {
    a
}

/// `fmv.w.x`
#[inline(always)]
pub fn s_from_x(a: u64) -> u64 {
    box_s(a & 0xffff_ffff)
}

/// `fmv.d.x`
#[inline(always)]
pub fn d_from_x(a: u64) -> u64 {
    a
}

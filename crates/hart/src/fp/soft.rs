//! Exact arithmetic in integers: the reference of every rounded operation.
//!
//! Why our own. Of the libraries tried, `softfloat-sys` is Berkeley SoftFloat itself, with RISC-V's
//! specialisation and thread-local state, but it builds for x86-64 Linux only, where our results must be the
//! same on any host; `rustc_apfloat` has no square root, and a value that rounds up to the smallest normal
//! number never underflows in it; `softfloat` rounds to nearest only and has no flags. With 128-bit integers
//! the exact algorithms are short, and Berkeley SoftFloat is what the tests compare them with, bit for
//! bit and flag for flag (`tests/berkeley.rs`).
//!
//! Every finite operation makes a 64-bit significand with its leading bit at the top, the lowest bit standing
//! for all that were cut off ("jamming"); [`round`] then rounds once.

use super::status::{Flags, Rounding};

/// A binary interchange format, its bits held in the low end of a `u64`.
pub trait Format {
    /// Bits of the fraction field.
    const FRACTION: u32;
    /// Bits of the exponent field.
    const EXPONENT: u32;
    /// Exponent bias, also the largest exponent.
    const BIAS: i32 = (1 << (Self::EXPONENT - 1)) - 1;
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::FRACTION + Self::EXPONENT);
    /// Positive infinity.
    const INFINITY: u64 = ((1 << Self::EXPONENT) - 1) << Self::FRACTION;
    /// The bit that makes a NaN quiet.
    const QUIET: u64 = 1 << (Self::FRACTION - 1);
    /// The canonical NaN ("NaN Generation and Propagation").
    const NAN: u64 = Self::INFINITY | Self::QUIET;
}

/// binary32
pub enum Single {}

impl Format for Single {
    const FRACTION: u32 = 23;
    const EXPONENT: u32 = 8;
}

/// binary64
pub enum Double {}

impl Format for Double {
    const FRACTION: u32 = 52;
    const EXPONENT: u32 = 11;
}

/// Not a number of either sort.
pub fn is_nan<F: Format>(a: u64) -> bool {
    a & !F::SIGN > F::INFINITY
}

/// A NaN that raises invalid wherever it is used.
pub fn is_signaling<F: Format>(a: u64) -> bool {
    is_nan::<F>(a) && a & F::QUIET == 0
}

/// What sort of number a bit pattern is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Either zero.
    Zero,
    /// Subnormal or normal.
    Finite,
    /// Either infinity.
    Infinity,
    /// Any NaN.
    Nan,
}

/// A bit pattern taken apart. If finite its magnitude is `significand * 2^(exponent - 63)`.
#[derive(Clone, Copy)]
pub struct Unpacked {
    /// Sort of number.
    pub kind: Kind,
    /// Negative.
    pub sign: bool,
    /// Exponent of the leading bit.
    pub exponent: i32,
    /// Leading bit at the top.
    pub significand: u64,
}

impl Unpacked {
    /// Takes a bit pattern apart.
    pub fn new<F: Format>(a: u64) -> Self {
        let sign = a & F::SIGN != 0;
        let field = (a & F::INFINITY) >> F::FRACTION;
        let fraction = a & ((1 << F::FRACTION) - 1);
        let unpacked = |kind, exponent, significand| Self { kind, sign, exponent, significand };
        let top = 63 - F::FRACTION;
        match (a & F::INFINITY, fraction) {
            (0, 0) => unpacked(Kind::Zero, 0, 0),
            (0, _) => {
                let shift = fraction.leading_zeros();
                let exponent = 1 - F::BIAS + top as i32 - shift as i32;
                unpacked(Kind::Finite, exponent, fraction << shift)
            }
            (exponent, 0) if exponent == F::INFINITY => unpacked(Kind::Infinity, 0, 0),
            (exponent, _) if exponent == F::INFINITY => unpacked(Kind::Nan, 0, 0),
            _ => unpacked(Kind::Finite, field as i32 - F::BIAS, (1 << 63) | fraction << top),
        }
    }
}

fn signed<F: Format>(sign: bool, magnitude: u64) -> u64 {
    if sign { F::SIGN | magnitude } else { magnitude }
}

fn invalid<F: Format>(flags: &mut Flags) -> u64 {
    flags.raise(Flags::NV);
    F::NAN
}

/// The result when some operand is a NaN: canonical, invalid if one of them signals.
fn nan_from<F: Format>(operands: &[u64], flags: &mut Flags) -> u64 {
    if operands.iter().any(|&operand| is_signaling::<F>(operand)) {
        flags.raise(Flags::NV);
    }
    F::NAN
}

/// Zero as the sum of opposite numbers: negative only when rounding down (IEEE 754, 6.3).
fn zero_sum<F: Format>(rm: Rounding) -> u64 {
    signed::<F>(rm == Rounding::Down, 0)
}

/// Whether dropping the bits `rest` of a number, of which `half` is the highest, rounds its magnitude up.
fn rounds_up(sign: bool, odd: bool, rest: u64, half: u64, rm: Rounding) -> bool {
    match rm {
        Rounding::NearestEven => rest > half || rest == half && odd,
        Rounding::Zero => false,
        Rounding::Down => sign && rest != 0,
        Rounding::Up => !sign && rest != 0,
        Rounding::NearestMagnitude => rest >= half,
    }
}

/// Rounds `significand * 2^(exponent - 63)`, whose leading bit is at the top, to the format.
pub fn round<F: Format>(sign: bool, exponent: i32, significand: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    let extra = 63 - F::FRACTION;
    let cut = |significand: u64| {
        let (kept, rest) = (significand >> extra, significand & ((1 << extra) - 1));
        (kept + u64::from(rounds_up(sign, kept & 1 != 0, rest, 1 << (extra - 1), rm)), rest != 0)
    };
    let least = 1 - F::BIAS;
    if exponent < least {
        // Tininess is judged after rounding, as if the exponent had no limit.
        let tiny = exponent < least - 1 || cut(significand).0 < 2 << F::FRACTION;
        let (magnitude, inexact) = cut(jam_right(significand, exponent.abs_diff(least)));
        if inexact {
            flags.raise(Flags::NX | if tiny { Flags::UF } else { 0 });
        }
        return signed::<F>(sign, magnitude);
    }
    if exponent <= F::BIAS {
        let (kept, inexact) = cut(significand);
        // The leading bit, or the carry out of the fraction, adds one to the exponent field.
        let magnitude = (((exponent + F::BIAS - 1) as u64) << F::FRACTION) + kept;
        if magnitude < F::INFINITY {
            flags.raise(u8::from(inexact) * Flags::NX);
            return signed::<F>(sign, magnitude);
        }
    }
    flags.raise(Flags::OF | Flags::NX);
    let to_infinity = match rm {
        Rounding::NearestEven | Rounding::NearestMagnitude => true,
        Rounding::Zero => false,
        Rounding::Down => sign,
        Rounding::Up => !sign,
    };
    signed::<F>(sign, if to_infinity { F::INFINITY } else { F::INFINITY - 1 })
}

/// Right shift whose lowest bit is 1 if any bit was lost.
fn jam_right(value: u64, shift: u32) -> u64 {
    match shift {
        0 => value,
        1..=63 => value >> shift | u64::from(value << (64 - shift) != 0),
        _ => u64::from(value != 0),
    }
}

fn jam_right_wide(value: u128, shift: u32) -> u128 {
    match shift {
        0 => value,
        1..=127 => value >> shift | u128::from(value << (128 - shift) != 0),
        _ => u128::from(value != 0),
    }
}

/// The high half, its lowest bit 1 if the low half is not zero.
fn jam_high(value: u128) -> u64 {
    (value >> 64) as u64 | u64::from(value as u64 != 0)
}

/// A finite number, `significand * 2^(exponent - 126)`, leading bit 126: one bit is left for a carry.
#[derive(Clone, Copy)]
struct Wide {
    sign: bool,
    exponent: i32,
    significand: u128,
}

impl From<Unpacked> for Wide {
    fn from(a: Unpacked) -> Self {
        Self { sign: a.sign, exponent: a.exponent, significand: u128::from(a.significand) << 63 }
    }
}

/// Exact product: no bits are lost, since factors have at most 53.
fn product(a: Unpacked, b: Unpacked) -> Wide {
    let full = u128::from(a.significand) * u128::from(b.significand);
    let carry = (full >> 127) as u32;
    let sign = a.sign != b.sign;
    Wide { sign, exponent: a.exponent + b.exponent + carry as i32, significand: full >> carry }
}

/// Sum of finite numbers that are not zero. Bits that alignment cuts off are jammed: with more than one
/// of them at most one leading bit cancels, and the bits between keep the rounding right.
fn sum<F: Format>(a: Wide, b: Wide, rm: Rounding, flags: &mut Flags) -> u64 {
    let ordered = (a.exponent, a.significand) >= (b.exponent, b.significand);
    let (large, small) = if ordered { (a, b) } else { (b, a) };
    let aligned = jam_right_wide(small.significand, large.exponent.abs_diff(small.exponent));
    let total = if a.sign == b.sign { large.significand + aligned } else { large.significand - aligned };
    if total == 0 {
        return zero_sum::<F>(rm);
    }
    let shift = total.leading_zeros();
    round::<F>(large.sign, large.exponent + 1 - shift as i32, jam_high(total << shift), rm, flags)
}

/// `a + b`
pub fn add<F: Format>(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    let (x, y) = (Unpacked::new::<F>(a), Unpacked::new::<F>(b));
    match (x.kind, y.kind) {
        (Kind::Nan, _) | (_, Kind::Nan) => nan_from::<F>(&[a, b], flags),
        (Kind::Infinity, Kind::Infinity) if x.sign != y.sign => invalid::<F>(flags),
        (Kind::Zero, Kind::Zero) if x.sign != y.sign => zero_sum::<F>(rm),
        (Kind::Infinity, _) | (_, Kind::Zero) => a,
        (_, Kind::Infinity) | (Kind::Zero, _) => b,
        (Kind::Finite, Kind::Finite) => sum::<F>(x.into(), y.into(), rm, flags),
    }
}

/// `a - b`
pub fn sub<F: Format>(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    add::<F>(a, b ^ F::SIGN, rm, flags)
}

/// `a * b`
pub fn mul<F: Format>(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    let (x, y) = (Unpacked::new::<F>(a), Unpacked::new::<F>(b));
    let sign = x.sign != y.sign;
    match (x.kind, y.kind) {
        (Kind::Nan, _) | (_, Kind::Nan) => nan_from::<F>(&[a, b], flags),
        (Kind::Infinity, Kind::Zero) | (Kind::Zero, Kind::Infinity) => invalid::<F>(flags),
        (Kind::Infinity, _) | (_, Kind::Infinity) => signed::<F>(sign, F::INFINITY),
        (Kind::Zero, _) | (_, Kind::Zero) => signed::<F>(sign, 0),
        (Kind::Finite, Kind::Finite) => {
            let exact = product(x, y);
            round::<F>(sign, exact.exponent, jam_high(exact.significand << 1), rm, flags)
        }
    }
}

/// `a / b`
pub fn div<F: Format>(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    let (x, y) = (Unpacked::new::<F>(a), Unpacked::new::<F>(b));
    let sign = x.sign != y.sign;
    match (x.kind, y.kind) {
        (Kind::Nan, _) | (_, Kind::Nan) => nan_from::<F>(&[a, b], flags),
        (Kind::Infinity, Kind::Infinity) | (Kind::Zero, Kind::Zero) => invalid::<F>(flags),
        (Kind::Infinity, _) => signed::<F>(sign, F::INFINITY),
        (_, Kind::Infinity) | (Kind::Zero, _) => signed::<F>(sign, 0),
        (Kind::Finite, Kind::Zero) => {
            flags.raise(Flags::DZ);
            signed::<F>(sign, F::INFINITY)
        }
        (Kind::Finite, Kind::Finite) => {
            // Scaled so that the quotient has its leading bit at the top of 64.
            let less = x.significand < y.significand;
            let dividend = u128::from(x.significand) << (63 + u32::from(less));
            let divisor = u128::from(y.significand);
            let quotient = (dividend / divisor) as u64 | u64::from(dividend % divisor != 0);
            round::<F>(sign, x.exponent - y.exponent - i32::from(less), quotient, rm, flags)
        }
    }
}

/// Square root of `a`.
pub fn sqrt<F: Format>(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    let x = Unpacked::new::<F>(a);
    match x.kind {
        Kind::Nan => nan_from::<F>(&[a], flags),
        Kind::Zero => a,
        _ if x.sign => invalid::<F>(flags),
        Kind::Infinity => a,
        Kind::Finite => {
            // Scaled by an even power of two so that the root has its leading bit at the top of 64.
            let scaled = u128::from(x.significand) << (63 + (x.exponent & 1));
            let root = scaled.isqrt();
            round::<F>(false, x.exponent >> 1, root as u64 | u64::from(root * root != scaled), rm, flags)
        }
    }
}

/// `a * b + c`, rounded once.
pub fn fused<F: Format>(a: u64, b: u64, c: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    let (x, y, z) = (Unpacked::new::<F>(a), Unpacked::new::<F>(b), Unpacked::new::<F>(c));
    let sign = x.sign != y.sign;
    match (x.kind, y.kind) {
        // Invalid even if the addend is a quiet NaN ("Single-Precision Floating-Point Computational
        // Instructions").
        (Kind::Infinity, Kind::Zero) | (Kind::Zero, Kind::Infinity) => return invalid::<F>(flags),
        (Kind::Nan, _) | (_, Kind::Nan) => return nan_from::<F>(&[a, b, c], flags),
        _ if z.kind == Kind::Nan => return nan_from::<F>(&[a, b, c], flags),
        (Kind::Infinity, _) | (_, Kind::Infinity) => {
            return add::<F>(signed::<F>(sign, F::INFINITY), c, rm, flags);
        }
        (Kind::Zero, _) | (_, Kind::Zero) => return add::<F>(signed::<F>(sign, 0), c, rm, flags),
        (Kind::Finite, Kind::Finite) => {}
    }
    let exact = product(x, y);
    match z.kind {
        Kind::Zero => round::<F>(sign, exact.exponent, jam_high(exact.significand << 1), rm, flags),
        Kind::Finite => sum::<F>(exact, z.into(), rm, flags),
        _ => c,
    }
}

/// From one format to another.
pub fn convert<From: Format, To: Format>(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    let x = Unpacked::new::<From>(a);
    match x.kind {
        Kind::Nan => {
            nan_from::<From>(&[a], flags);
            To::NAN
        }
        Kind::Zero => signed::<To>(x.sign, 0),
        Kind::Infinity => signed::<To>(x.sign, To::INFINITY),
        Kind::Finite => round::<To>(x.sign, x.exponent, x.significand, rm, flags),
    }
}

/// From an integer, given as sign and magnitude.
pub fn from_integer<F: Format>(sign: bool, magnitude: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    if magnitude == 0 {
        return 0;
    }
    let shift = magnitude.leading_zeros();
    round::<F>(sign, 63 - shift as i32, magnitude << shift, rm, flags)
}

/// To an integer between `least` and `most`, saturating with the invalid flag; a NaN becomes `most` (table
/// "Domains of float-to-integer conversions and behavior for invalid inputs").
pub fn to_integer<F: Format>(a: u64, least: i128, most: i128, rm: Rounding, flags: &mut Flags) -> i128 {
    let x = Unpacked::new::<F>(a);
    let rounded = match x.kind {
        Kind::Zero => return 0,
        Kind::Finite if x.exponent < 64 => to_integral(x, rm),
        _ => {
            flags.raise(Flags::NV);
            return if x.sign && x.kind != Kind::Nan { least } else { most };
        }
    };
    let (magnitude, inexact) = rounded;
    let value = if x.sign { -magnitude } else { magnitude };
    if value < least || value > most {
        flags.raise(Flags::NV);
        return value.clamp(least, most);
    }
    flags.raise(u8::from(inexact) * Flags::NX);
    value
}

/// Magnitude of a number below 2^64, rounded to an integer, and whether that changed it.
fn to_integral(x: Unpacked, rm: Rounding) -> (i128, bool) {
    // Fixed point with 64 bits on either side.
    let fixed = match x.exponent + 1 {
        left @ 0.. => u128::from(x.significand) << left,
        right => u128::from(jam_right(x.significand, right.unsigned_abs())),
    };
    let (whole, rest) = ((fixed >> 64) as i128, fixed as u64);
    let up = rounds_up(x.sign, whole & 1 != 0, rest, 1 << 63, rm);
    (whole + i128::from(up), rest != 0)
}

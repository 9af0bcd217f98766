//! The host's floating-point unit as a short cut (an idea of QEMU's `hardfloat`).
//!
//! When rounding is to nearest-even and the inexact flag is already set, an operation that yields a number,
//! not infinite and above the smallest normal in magnitude, can change no flag: a NaN operand would have
//! given a NaN, a zero divisor or an overflow an infinity, and what is above the smallest normal number does
//! not underflow. (The smallest normal itself may have been rounded up from a tiny value.) IEEE 754 then
//! fixes every bit of the result, so that the host's is the right one. Sums may also be zero or subnormal:
//! they are exact there.
//!
//! Where that flag is not set, or the result is not such a number, the error of the result is computed, by operations
//! that have none themselves (T. J. Dekker, "A floating-point technique for extending the available precision",
//! Numerische Mathematik 18, 1971; D. E. Knuth, TAOCP 2, 4.2.2, theorem B). If there is none, no flag changes. Programs
//! that compute with integers in floating point never set the flag.

use std::ops::{Add, Mul, Sub};

use super::soft::{Double, Format, Single};
use super::status::{Flags, Rounding};

/// Whether the short cut may be tried.
#[inline(always)]
pub(super) fn applies(rm: Rounding, flags: &Flags) -> bool {
    rm == Rounding::NearestEven && flags.0 & Flags::NX != 0
}

/// Neither infinite nor NaN.
#[inline(always)]
pub(super) fn is_finite<F: Format>(result: u64) -> bool {
    result & !F::SIGN < F::INFINITY
}

/// Neither infinite nor NaN, and larger than the smallest normal number.
#[inline(always)]
pub(super) fn is_ordinary<F: Format>(result: u64) -> bool {
    let above_least = (result & !F::SIGN).wrapping_sub((1 << F::FRACTION) + 1);
    above_least < F::INFINITY - ((1 << F::FRACTION) + 1)
}

/// Double-precision products and quotients beyond this in magnitude have errors that are numbers of the format:
/// 2^(emin + precision), and some room.
pub(crate) const DOUBLE_ERRORS_ARE_NUMBERS: f64 = 1e-290;
/// The same of single precision.
const SINGLE_ERRORS_ARE_NUMBERS: f32 = 1e-28;

/// `sum`, which is finite, is `a + b` without an error. (Should the error itself overflow, it is not 0.)
#[inline(always)]
pub(super) fn is_sum<F: Host>(a: u64, b: u64, sum: u64) -> bool {
    let [a, b, sum] = [a, b, sum].map(F::number);
    error_of_sum::<F>(a, b, sum) == F::ZERO
}

/// `difference`, which is finite, is `a - b` without an error.
#[inline(always)]
pub(super) fn is_difference<F: Host>(a: u64, b: u64, difference: u64) -> bool {
    is_sum::<F>(a, b ^ F::SIGN, difference)
}

/// Knuth's theorem B.
#[inline(always)]
fn error_of_sum<F: Host>(a: F::Number, b: F::Number, sum: F::Number) -> F::Number {
    let of_b = sum - a;
    (a - (sum - of_b)) + (b - of_b)
}

/// `product`, which is finite, is `a * b` without an error.
#[inline(always)]
pub(super) fn is_product<F: Host>(a: u64, b: u64, product: u64) -> bool {
    if a & !F::SIGN == 0 || b & !F::SIGN == 0 {
        return true;
    }
    let has_error = F::number(product & !F::SIGN) > F::ERRORS_ARE_NUMBERS;
    has_error && F::fused(a, b, product ^ F::SIGN).is_some_and(|error| error & !F::SIGN == 0)
}

/// `result`, which is finite, is `a * b + c` without an error.
#[inline(always)]
pub(super) fn is_fused<F: Host>(a: u64, b: u64, c: u64, result: u64) -> bool {
    let product = F::bits(F::number(a) * F::number(b));
    is_finite::<F>(product) && is_product::<F>(a, b, product) && is_sum::<F>(product, c, result)
}

/// `quotient`, which is finite, is `a / b` without an error, as far as that is easily seen.
#[inline(always)]
pub(super) fn is_quotient<F: Host>(a: u64, b: u64, quotient: u64) -> bool {
    is_ordinary::<F>(b)
        && F::number(a & !F::SIGN) > F::ERRORS_ARE_NUMBERS
        && F::number(quotient & !F::SIGN) > F::ERRORS_ARE_NUMBERS
        && F::fused(quotient, b, a ^ F::SIGN).is_some_and(|error| error & !F::SIGN == 0)
}

/// `root`, which is finite, is the square root of `a` without an error, as far as that is easily seen.
#[inline(always)]
pub(super) fn is_root<F: Host>(a: u64, root: u64) -> bool {
    F::number(a) > F::ERRORS_ARE_NUMBERS
        && F::fused(root, root, a ^ F::SIGN).is_some_and(|error| error & !F::SIGN == 0)
}

/// A format of which the host has a type.
pub(super) trait Host: Format {
    /// The type.
    type Number: Copy
        + PartialEq
        + PartialOrd
        + Add<Output = Self::Number>
        + Sub<Output = Self::Number>
        + Mul<Output = Self::Number>;
    /// Products and quotients beyond this in magnitude have errors that are numbers of the format.
    const ERRORS_ARE_NUMBERS: Self::Number;
    /// Zero.
    const ZERO: Self::Number;
    fn number(bits: u64) -> Self::Number;
    fn bits(number: Self::Number) -> u64;
    /// `a * b + c` by the host's instruction; none if it has none. Never a library's emulation, which is
    /// slower than ours.
    fn fused(a: u64, b: u64, c: u64) -> Option<u64>;
}

macro_rules! host {
    ($format:ident $number:ident $bits:ident $fused:ident $instruction:literal $least:ident) => {
        impl Host for $format {
            type Number = $number;
            const ERRORS_ARE_NUMBERS: $number = $least;
            const ZERO: $number = 0.0;

            #[inline(always)]
            fn number(bits: u64) -> $number {
                $number::from_bits(bits as $bits)
            }

            #[inline(always)]
            fn bits(number: $number) -> u64 {
                u64::from(number.to_bits())
            }

            #[inline(always)]
            fn fused(a: u64, b: u64, c: u64) -> Option<u64> {
                let [a, b, c] = [a, b, c].map(Self::number);
                $fused(a, b, c).map(Self::bits)
            }
        }

        #[cfg(any(target_arch = "aarch64", target_feature = "fma"))]
        #[inline(always)]
        fn $fused(a: $number, b: $number, c: $number) -> Option<$number> {
            Some(a.mul_add(b, c))
        }

        /// In assembly, since a function with the feature enabled could not be inlined here.
        #[cfg(all(target_arch = "x86_64", not(target_feature = "fma")))]
        #[inline(always)]
        fn $fused(a: $number, b: $number, c: $number) -> Option<$number> {
            if !is_x86_feature_detected!("fma") {
                return None;
            }
            let mut result = a;
            // SAFETY: the processor has the instruction; it computes result * b + c.
            unsafe {
                std::arch::asm!(
                    concat!($instruction, " {result}, {b}, {c}"),
                    result = inout(xmm_reg) result, b = in(xmm_reg) b, c = in(xmm_reg) c,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            Some(result)
        }

        #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64", target_feature = "fma")))]
        fn $fused(_: $number, _: $number, _: $number) -> Option<$number> {
            None
        }
    };
}

host!(Single f32 u32 fused_s "vfmadd213ss" SINGLE_ERRORS_ARE_NUMBERS);
host!(Double f64 u64 fused_d "vfmadd213sd" DOUBLE_ERRORS_ARE_NUMBERS);

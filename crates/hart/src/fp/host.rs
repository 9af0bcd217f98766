//! The host's floating-point unit as a short cut (an idea of QEMU's `hardfloat`).
//!
//! When rounding is to nearest-even and the inexact flag is already set, an operation that yields a number,
//! not infinite and above the smallest normal in magnitude, can change no flag: a NaN operand would have
//! given a NaN, a zero divisor or an overflow an infinity, and what is above the smallest normal number does
//! not underflow. (The smallest normal itself may have been rounded up from a tiny value.) IEEE 754 then
//! fixes every bit of the result, so that the host's is the right one. Sums may also be zero or subnormal:
//! they are exact there.

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

/// A format of which the host has a type.
pub(super) trait Host: Format {
    /// The type.
    type Number: Copy;
    fn number(bits: u64) -> Self::Number;
    fn bits(number: Self::Number) -> u64;
    /// `a * b + c` by the host's instruction; none if it has none. Never a library's emulation, which is
    /// slower than ours.
    fn fused(a: u64, b: u64, c: u64) -> Option<u64>;
}

macro_rules! host {
    ($format:ident $number:ident $bits:ident $fused:ident $instruction:literal) => {
        impl Host for $format {
            type Number = $number;

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

host!(Single f32 u32 fused_s "vfmadd213ss");
host!(Double f64 u64 fused_d "vfmadd213sd");

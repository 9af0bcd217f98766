//! The rounded operations: the host's result where that is certain, else the exact algorithm.

use super::host::{
    Host, applies, is_difference, is_finite, is_fused, is_ordinary, is_product, is_quotient, is_root, is_sum,
};
use super::soft::{self, Double, Format, Single};
use super::{Flags, Rounding, box_s, unbox_s};

/// Tries `host`, accepts what `accept` lets pass, or what has no error; else computes `exactly`.
macro_rules! short_cut {
    ($format:ident, $rm:ident, $flags:ident, $accept:ident, $host:expr, $is_exact:ident($($operand:ident),*), $exactly:expr) => {{
        if $rm == Rounding::NearestEven {
            let result = $format::bits($host);
            if applies($rm, $flags) && $accept::<$format>(result) {
                return result;
            }
            if is_finite::<$format>(result) && $is_exact::<$format>($($operand,)* result) {
                return result;
            }
        }
        $exactly
    }};
}

macro_rules! arithmetic {
    ($format:ident) => {
        use super::*;

        #[inline]
        pub fn add(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
            let [x, y] = [a, b].map($format::number);
            short_cut!(
                $format,
                rm,
                flags,
                is_finite,
                x + y,
                is_sum(a, b),
                soft::add::<$format>(a, b, rm, flags)
            )
        }

        #[inline]
        pub fn sub(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
            let [x, y] = [a, b].map($format::number);
            short_cut!(
                $format,
                rm,
                flags,
                is_finite,
                x - y,
                is_difference(a, b),
                soft::sub::<$format>(a, b, rm, flags)
            )
        }

        #[inline]
        pub fn mul(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
            let [x, y] = [a, b].map($format::number);
            short_cut!(
                $format,
                rm,
                flags,
                is_ordinary,
                x * y,
                is_product(a, b),
                soft::mul::<$format>(a, b, rm, flags)
            )
        }

        #[inline]
        pub fn div(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
            let [x, y] = [a, b].map($format::number);
            short_cut!(
                $format,
                rm,
                flags,
                is_ordinary,
                x / y,
                is_quotient(a, b),
                soft::div::<$format>(a, b, rm, flags)
            )
        }

        #[inline]
        pub fn sqrt(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
            let x = $format::number(a);
            short_cut!(
                $format,
                rm,
                flags,
                is_ordinary,
                x.sqrt(),
                is_root(a),
                soft::sqrt::<$format>(a, rm, flags)
            )
        }

        #[inline]
        pub fn fused(a: u64, b: u64, c: u64, rm: Rounding, flags: &mut Flags) -> u64 {
            if rm == Rounding::NearestEven
                && let Some(result) = $format::fused(a, b, c)
            {
                if applies(rm, flags) && is_ordinary::<$format>(result) {
                    return result;
                }
                if is_finite::<$format>(result) && is_fused::<$format>(a, b, c, result) {
                    return result;
                }
            }
            soft::fused::<$format>(a, b, c, rm, flags)
        }
    };
}

mod single {
    arithmetic!(Single);
}

mod double {
    arithmetic!(Double);
}

macro_rules! binary {
    ($($s:ident $d:ident $name:ident $doc:literal;)*) => {
        $(
            #[doc = concat!("`", $doc, ".s`")]
            #[inline]
            pub fn $s(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
                box_s(single::$name(unbox_s(a), unbox_s(b), rm, flags))
            }

            #[doc = concat!("`", $doc, ".d`")]
            #[inline]
            pub fn $d(a: u64, b: u64, rm: Rounding, flags: &mut Flags) -> u64 {
                double::$name(a, b, rm, flags)
            }
        )*
    };
}

binary! {
    add_s add_d add "fadd";
    sub_s sub_d sub "fsub";
    mul_s mul_d mul "fmul";
    div_s div_d div "fdiv";
}

/// `fsqrt.s`
#[inline]
pub fn sqrt_s(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    box_s(single::sqrt(unbox_s(a), rm, flags))
}

/// `fsqrt.d`
#[inline]
pub fn sqrt_d(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    double::sqrt(a, rm, flags)
}

/// Signs of the product and of the addend are changed before the exact operation.
macro_rules! fused {
    ($($s:ident $d:ident $product:literal $addend:literal $doc:literal;)*) => {
        $(
            #[doc = concat!("`", $doc, ".s`")]
            #[inline]
            pub fn $s(a: u64, b: u64, c: u64, rm: Rounding, flags: &mut Flags) -> u64 {
                let a = unbox_s(a) ^ $product * Single::SIGN;
                let c = unbox_s(c) ^ $addend * Single::SIGN;
                box_s(single::fused(a, unbox_s(b), c, rm, flags))
            }

            #[doc = concat!("`", $doc, ".d`")]
            #[inline]
            pub fn $d(a: u64, b: u64, c: u64, rm: Rounding, flags: &mut Flags) -> u64 {
                double::fused(a ^ $product * Double::SIGN, b, c ^ $addend * Double::SIGN, rm, flags)
            }
        )*
    };
}

fused! {
    madd_s  madd_d  0 0 "fmadd";
    msub_s  msub_d  0 1 "fmsub";
    nmsub_s nmsub_d 1 0 "fnmsub";
    nmadd_s nmadd_d 1 1 "fnmadd";
}

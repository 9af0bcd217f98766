//! Conversions among integers, single and double precision.

use super::host::{applies, is_ordinary};
use super::soft::{self, Double, Format, Single, is_nan};
use super::{Flags, Rounding, box_s, unbox_s};

/// `fcvt.s.d`
#[inline]
pub fn s_from_d(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    if applies(rm, flags) {
        let result = u64::from((f64::from_bits(a) as f32).to_bits());
        if is_ordinary::<Single>(result) {
            return box_s(result);
        }
    }
    box_s(soft::convert::<Double, Single>(a, rm, flags))
}

/// `fcvt.d.s`: exact.
#[inline]
pub fn d_from_s(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
    let a = unbox_s(a);
    if is_nan::<Single>(a) {
        return soft::convert::<Single, Double>(a, rm, flags);
    }
    f64::from(f32::from_bits(a as u32)).to_bits()
}

/// To an integer type, whose value is then sign-extended from its width, unsigned words too.
///
/// Short cut: towards zero (what C's casts use) and within the type's range the host's conversion is exact
/// but for the fraction, so that converting back tells whether one was lost.
macro_rules! to_integer {
    ($($name:ident $integer:ident $extend:ty, $doc:literal, $format:ident $number:ident $bits:ident $unboxed:expr;)*) => {
        $(
            #[doc = concat!("`", $doc, "`")]
            #[inline]
            pub fn $name(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
                let a = $unboxed(a);
                let number = $number::from_bits(a as $bits);
                // 2^(bits - 1) for signed and 2^bits for unsigned types, exact in either format.
                let limit = ($integer::MAX / 2 + 1) as $number * 2.0;
                let least = if $integer::MIN == 0 { 0.0 } else { -limit };
                if rm == Rounding::Zero && number >= least && number < limit {
                    let integer = number as $integer;
                    flags.raise(u8::from(integer as $number != number) * Flags::NX);
                    return integer as $extend as u64;
                }
                let (least, most) = ($integer::MIN as i128, $integer::MAX as i128);
                soft::to_integer::<$format>(a, least, most, rm, flags) as $extend as u64
            }
        )*
    };
}

to_integer! {
    w_from_s  i32 i32, "fcvt.w.s",  Single f32 u32 unbox_s;
    wu_from_s u32 i32, "fcvt.wu.s", Single f32 u32 unbox_s;
    l_from_s  i64 i64, "fcvt.l.s",  Single f32 u32 unbox_s;
    lu_from_s u64 i64, "fcvt.lu.s", Single f32 u32 unbox_s;
    w_from_d  i32 i32, "fcvt.w.d",  Double f64 u64 std::convert::identity;
    wu_from_d u32 i32, "fcvt.wu.d", Double f64 u64 std::convert::identity;
    l_from_d  i64 i64, "fcvt.l.d",  Double f64 u64 std::convert::identity;
    lu_from_d u64 i64, "fcvt.lu.d", Double f64 u64 std::convert::identity;
}

/// From an integer type. The result is zero or at least one in magnitude and never overflows.
macro_rules! from_integer {
    ($($name:ident $integer:ident $doc:literal $format:ident $number:ident $boxed:expr;)*) => {
        $(
            #[doc = concat!("`", $doc, "`")]
            #[inline]
            pub fn $name(a: u64, rm: Rounding, flags: &mut Flags) -> u64 {
                let integer = a as $integer;
                let exact = $integer::BITS <= $format::FRACTION;
                if exact || applies(rm, flags) {
                    return $boxed(u64::from((integer as $number).to_bits()));
                }
                let wide = i128::from(integer);
                $boxed(soft::from_integer::<$format>(wide < 0, wide.unsigned_abs() as u64, rm, flags))
            }
        )*
    };
}

from_integer! {
    s_from_w  i32 "fcvt.s.w"  Single f32 box_s;
    s_from_wu u32 "fcvt.s.wu" Single f32 box_s;
    s_from_l  i64 "fcvt.s.l"  Single f32 box_s;
    s_from_lu u64 "fcvt.s.lu" Single f32 box_s;
    d_from_w  i32 "fcvt.d.w"  Double f64 std::convert::identity;
    d_from_wu u32 "fcvt.d.wu" Double f64 std::convert::identity;
    d_from_l  i64 "fcvt.d.l"  Double f64 std::convert::identity;
    d_from_lu u64 "fcvt.d.lu" Double f64 std::convert::identity;
}

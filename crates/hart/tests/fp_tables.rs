//! Floating-point cases worked out by hand from IEEE 754 and the ISA manual: no other implementation is asked.

use chasqui_hart::fp::{self, Flags, Rounding};

const NX: u8 = Flags::NX;
const UF: u8 = Flags::UF;
const OF: u8 = Flags::OF;
const DZ: u8 = Flags::DZ;
const NV: u8 = Flags::NV;
const NAN_D: u64 = 0x7ff8_0000_0000_0000;
const NAN_S: u64 = 0xffff_ffff_7fc0_0000;
const SIGNALING_D: u64 = 0x7ff0_0000_0000_0001;
const RNE: Rounding = Rounding::NearestEven;
const RTZ: Rounding = Rounding::Zero;
const RDN: Rounding = Rounding::Down;
const RUP: Rounding = Rounding::Up;
const RMM: Rounding = Rounding::NearestMagnitude;

fn d(value: f64) -> u64 {
    value.to_bits()
}

fn s(value: f32) -> u64 {
    fp::box_s(u64::from(value.to_bits()))
}

/// Runs with the flags clear; gives the result and what was raised.
fn run(operation: impl FnOnce(&mut Flags) -> u64) -> (u64, u8) {
    let mut flags = Flags::default();
    let result = operation(&mut flags);
    (result, flags.0)
}

#[test]
fn invalid_operations_give_the_canonical_nan() {
    let (inf, zero, payload) = (d(f64::INFINITY), d(0.0), NAN_D | 0x1234);
    assert_eq!(run(|f| fp::sub_d(inf, inf, RNE, f)), (NAN_D, NV));
    assert_eq!(run(|f| fp::add_d(inf, d(f64::NEG_INFINITY), RNE, f)), (NAN_D, NV));
    assert_eq!(run(|f| fp::add_d(inf, inf, RNE, f)), (inf, 0));
    assert_eq!(run(|f| fp::mul_d(inf, zero, RNE, f)), (NAN_D, NV));
    assert_eq!(run(|f| fp::div_d(zero, zero, RNE, f)), (NAN_D, NV));
    assert_eq!(run(|f| fp::div_d(inf, inf, RNE, f)), (NAN_D, NV));
    assert_eq!(run(|f| fp::sqrt_d(d(-1.0), RNE, f)), (NAN_D, NV));
    assert_eq!(run(|f| fp::sqrt_d(d(-0.0), RNE, f)), (d(-0.0), 0));
    assert_eq!(run(|f| fp::add_d(payload, d(1.0), RNE, f)), (NAN_D, 0), "payloads are not kept");
    assert_eq!(run(|f| fp::add_d(SIGNALING_D, d(1.0), RNE, f)), (NAN_D, NV));
    // inf * 0 + quiet NaN is invalid; a quiet NaN times anything is not.
    assert_eq!(run(|f| fp::madd_d(inf, zero, NAN_D, RNE, f)), (NAN_D, NV));
    assert_eq!(run(|f| fp::nmsub_s(s(0.0), s(f32::INFINITY), NAN_S, RNE, f)), (NAN_S, NV));
    assert_eq!(run(|f| fp::madd_d(NAN_D, zero, inf, RNE, f)), (NAN_D, 0));
    assert_eq!(run(|f| fp::msub_d(inf, d(1.0), inf, RNE, f)), (NAN_D, NV));
}

#[test]
fn division_by_zero() {
    let inf = d(f64::INFINITY);
    assert_eq!(run(|f| fp::div_d(d(1.0), d(0.0), RNE, f)), (inf, DZ));
    assert_eq!(run(|f| fp::div_s(s(-1.0), s(0.0), RTZ, f)), (s(f32::NEG_INFINITY), DZ));
    assert_eq!(run(|f| fp::div_d(inf, d(0.0), RNE, f)), (inf, 0), "infinity by zero is exact");
}

#[test]
fn overflow_by_rounding_mode() {
    let (max, inf) = (d(f64::MAX), d(f64::INFINITY));
    let negative = |bits: u64| bits | 1 << 63;
    for (rm, above, below) in
        [(RNE, inf, inf), (RTZ, max, max), (RDN, max, inf), (RUP, inf, max), (RMM, inf, inf)]
    {
        assert_eq!(run(|f| fp::mul_d(max, d(2.0), rm, f)), (above, OF | NX), "{rm:?}");
        assert_eq!(run(|f| fp::mul_d(max, d(-2.0), rm, f)), (negative(below), OF | NX), "{rm:?}");
    }
    // Half a unit in the last place above the largest number: to nearest it overflows; less than half not.
    let half_unit = d(2f64.powi(970));
    assert_eq!(run(|f| fp::add_d(max, half_unit, RNE, f)), (inf, OF | NX));
    assert_eq!(run(|f| fp::add_d(max, half_unit - 1, RNE, f)), (max, NX));
    assert_eq!(run(|f| fp::add_d(max, half_unit, RDN, f)), (max, NX));
}

/// Underflow is judged after rounding to the full precision with an unlimited exponent.
#[test]
fn tininess_is_detected_after_rounding() {
    let least = f64::MIN_POSITIVE;
    let below_one = 1.0 - f64::EPSILON / 2.0; // 1 - 2^-53
    // least * (1 - 2^-53) has 53 bits below the smallest normal number: representable if the exponent were
    // unlimited, so it is tiny, though it rounds to the smallest normal number here.
    assert_eq!(run(|f| fp::mul_d(d(least), d(below_one), RNE, f)), (d(least), UF | NX));
    // (1 + 2^-52)(1 - 2^-53) = 1 + 2^-53 - 2^-105, times least: not tiny.
    let above_one = 1.0 + f64::EPSILON;
    assert_eq!(run(|f| fp::mul_d(d(least * above_one), d(below_one), RNE, f)), (d(least), NX));
    // (1 + 2^-52)(1 - 2^-52) = 1 - 2^-104: at full precision it rounds up to 1, hence not tiny…
    let below = 1.0 - f64::EPSILON;
    assert_eq!(run(|f| fp::mul_d(d(least * above_one), d(below), RNE, f)), (d(least), NX));
    assert_eq!(run(|f| fp::mul_d(d(least * above_one), d(below), RUP, f)), (d(least), NX));
    // …but rounded down it is.
    let largest_subnormal = d(least) - 1;
    assert_eq!(run(|f| fp::mul_d(d(least * above_one), d(below), RDN, f)), (largest_subnormal, UF | NX));
    // Exact subnormals do not underflow.
    assert_eq!(run(|f| fp::mul_d(d(least), d(0.5), RNE, f)), (d(least * 0.5), 0));
    assert_eq!(run(|f| fp::mul_d(1, d(0.5), RNE, f)), (0, UF | NX));
    assert_eq!(run(|f| fp::mul_d(1, d(0.5), RMM, f)), (1, UF | NX));
    assert_eq!(
        run(|f| fp::s_from_d(d(f64::from(f32::MIN_POSITIVE)) - 1, RNE, f)),
        (s(f32::MIN_POSITIVE), NX)
    );
}

#[test]
fn zero_sums_are_negative_only_when_rounding_down() {
    for rm in Rounding::ALL {
        let zero = d(if rm == RDN { -0.0 } else { 0.0 });
        assert_eq!(run(|f| fp::sub_d(d(1.5), d(1.5), rm, f)), (zero, 0));
        assert_eq!(run(|f| fp::add_d(d(0.0), d(-0.0), rm, f)), (zero, 0));
        assert_eq!(run(|f| fp::madd_d(d(2.0), d(3.0), d(-6.0), rm, f)), (zero, 0));
        assert_eq!(run(|f| fp::add_d(d(-0.0), d(-0.0), rm, f)), (d(-0.0), 0));
    }
}

#[test]
fn fused_forms_have_the_signs_of_the_manual() {
    let [a, b, c] = [2.0, 3.0, 10.0].map(d);
    assert_eq!(run(|f| fp::madd_d(a, b, c, RNE, f)), (d(16.0), 0));
    assert_eq!(run(|f| fp::msub_d(a, b, c, RNE, f)), (d(-4.0), 0));
    assert_eq!(run(|f| fp::nmsub_d(a, b, c, RNE, f)), (d(4.0), 0));
    assert_eq!(run(|f| fp::nmadd_d(a, b, c, RNE, f)), (d(-16.0), 0));
}

#[test]
fn minimum_and_maximum_number() {
    assert_eq!(run(|f| fp::min_d(d(0.0), d(-0.0), f)), (d(-0.0), 0));
    assert_eq!(run(|f| fp::max_d(d(-0.0), d(0.0), f)), (d(0.0), 0));
    assert_eq!(run(|f| fp::min_d(NAN_D, d(1.0), f)), (d(1.0), 0));
    assert_eq!(run(|f| fp::max_d(d(1.0), SIGNALING_D, f)), (d(1.0), NV), "the number, but invalid");
    assert_eq!(run(|f| fp::max_d(NAN_D | 5, NAN_D | 6, f)), (NAN_D, 0));
    assert_eq!(run(|f| fp::min_d(d(-2.0), d(-1.0), f)), (d(-2.0), 0));
    assert_eq!(run(|f| fp::max_s(s(f32::NEG_INFINITY), s(-1.0), f)), (s(-1.0), 0));
    assert_eq!(run(|f| fp::min_s(0x3f80_0000, s(7.0), f)), (s(7.0), 0), "what is not boxed is a NaN");
}

#[test]
fn comparisons() {
    assert_eq!(run(|f| fp::eq_d(NAN_D, d(1.0), f)), (0, 0), "feq is quiet");
    assert_eq!(run(|f| fp::eq_d(SIGNALING_D, d(1.0), f)), (0, NV));
    assert_eq!(run(|f| fp::lt_d(NAN_D, d(1.0), f)), (0, NV), "flt and fle signal");
    assert_eq!(run(|f| fp::le_d(d(1.0), NAN_D, f)), (0, NV));
    assert_eq!(run(|f| fp::eq_d(d(0.0), d(-0.0), f)), (1, 0));
    assert_eq!(run(|f| fp::lt_d(d(-0.0), d(0.0), f)), (0, 0));
    assert_eq!(run(|f| fp::le_d(d(0.0), d(-0.0), f)), (1, 0));
    assert_eq!(run(|f| fp::lt_s(s(-2.0), s(-1.0), f)), (1, 0));
}

/// Table "Domains of float-to-integer conversions and behavior for invalid inputs".
#[test]
fn conversions_to_integers_at_the_ends() {
    let minus = |magnitude: u64| magnitude.wrapping_neg();
    let nan_and_infinities = [NAN_D, d(f64::INFINITY), d(f64::NEG_INFINITY)];
    let w = nan_and_infinities.map(|a| run(|f| fp::w_from_d(a, RTZ, f)));
    assert_eq!(w, [(0x7fff_ffff, NV), (0x7fff_ffff, NV), (minus(1 << 31), NV)]);
    let wu = nan_and_infinities.map(|a| run(|f| fp::wu_from_d(a, RTZ, f)));
    assert_eq!(wu, [(u64::MAX, NV), (u64::MAX, NV), (0, NV)], "unsigned words are sign-extended");
    let l = nan_and_infinities.map(|a| run(|f| fp::l_from_d(a, RTZ, f)));
    assert_eq!(l, [(i64::MAX as u64, NV), (i64::MAX as u64, NV), (1 << 63, NV)]);
    let lu = nan_and_infinities.map(|a| run(|f| fp::lu_from_d(a, RTZ, f)));
    assert_eq!(lu, [(u64::MAX, NV), (u64::MAX, NV), (0, NV)]);

    let two = |power: i32| 2f64.powi(power);
    assert_eq!(run(|f| fp::w_from_d(d(two(31)), RTZ, f)), (0x7fff_ffff, NV));
    assert_eq!(run(|f| fp::w_from_d(d(two(31) - 0.5), RTZ, f)), (0x7fff_ffff, NX));
    assert_eq!(run(|f| fp::w_from_d(d(two(31) - 0.5), RNE, f)), (0x7fff_ffff, NV), "rounds out of range");
    assert_eq!(run(|f| fp::w_from_d(d(-two(31) - 0.5), RTZ, f)), (minus(1 << 31), NX));
    assert_eq!(run(|f| fp::w_from_d(d(-two(31) - 0.5), RDN, f)), (minus(1 << 31), NV));
    assert_eq!(run(|f| fp::wu_from_d(d(two(32) - 1.0), RNE, f)), (u64::MAX, 0));
    assert_eq!(run(|f| fp::wu_from_d(d(two(32)), RNE, f)), (u64::MAX, NV));
    assert_eq!(run(|f| fp::wu_from_d(d(two(31)), RNE, f)), (minus(1 << 31), 0));
    assert_eq!(run(|f| fp::l_from_d(d(two(63)), RTZ, f)), (i64::MAX as u64, NV));
    assert_eq!(run(|f| fp::l_from_d(d(-two(63)), RTZ, f)), (1 << 63, 0));
    assert_eq!(run(|f| fp::l_from_s(s(9.223_371_5e18), RNE, f)), (0x7fff_ff80_0000_0000, 0));
    assert_eq!(run(|f| fp::lu_from_d(d(two(64)), RNE, f)), (u64::MAX, NV));
    assert_eq!(run(|f| fp::lu_from_d(d(two(64)) - 1, RNE, f)), (0xffff_ffff_ffff_f800, 0));
    assert_eq!(run(|f| fp::lu_from_s(0, RNE, f)), (u64::MAX, NV), "what is not boxed is a NaN");
}

#[test]
fn conversions_of_negative_fractions_to_unsigned() {
    for (value, rm, expected) in [
        (-0.9, RTZ, (0, NX)),
        (-0.9, RUP, (0, NX)),
        (-0.9, RNE, (0, NV)),
        (-0.9, RDN, (0, NV)),
        (-0.5, RNE, (0, NX)),
        (-0.5, RMM, (0, NV)),
        (-0.0, RDN, (0, 0)),
        (-1.0, RTZ, (0, NV)),
    ] {
        assert_eq!(run(|f| fp::wu_from_d(d(value), rm, f)), expected, "{value} {rm:?}");
        assert_eq!(run(|f| fp::lu_from_d(d(value), rm, f)), expected, "{value} {rm:?}");
        assert_eq!(run(|f| fp::lu_from_s(s(value as f32), rm, f)), expected, "{value} {rm:?}");
    }
}

#[test]
fn rounding_to_integers_by_mode() {
    for (value, expected) in
        [(2.5, [2, 2, 2, 3, 3]), (3.5, [4, 3, 3, 4, 4]), (-2.5, [-2, -2, -3, -2, -3]), (0.3, [0, 0, 0, 1, 0])]
    {
        let rounded = Rounding::ALL.map(|rm| run(|f| fp::l_from_d(d(value), rm, f)));
        assert_eq!(rounded, expected.map(|integer: i64| (integer as u64, NX)), "{value}");
    }
}

#[test]
fn conversions_from_integers() {
    assert_eq!(run(|f| fp::d_from_w(0xffff_ffff, RNE, f)), (d(-1.0), 0), "only the low word counts");
    assert_eq!(run(|f| fp::d_from_wu(u64::MAX, RNE, f)), (d(4_294_967_295.0), 0));
    assert_eq!(run(|f| fp::s_from_w(0x0100_0001, RNE, f)), (s(16_777_216.0), NX));
    assert_eq!(run(|f| fp::s_from_w(0x0100_0001, RUP, f)), (s(16_777_218.0), NX));
    assert_eq!(run(|f| fp::d_from_lu(u64::MAX, RTZ, f)), (d(18_446_744_073_709_549_568.0), NX));
    assert_eq!(run(|f| fp::d_from_l(1 << 63, RTZ, f)), (d(-9_223_372_036_854_775_808.0), 0));
    assert_eq!(run(|f| fp::s_from_l(0, RDN, f)), (s(0.0), 0));
}

/// "NaN Boxing of Narrower Values".
#[test]
fn boxing() {
    let unboxed = 0x3f80_0000; // 1.0 without its box
    assert_eq!(run(|f| fp::add_s(unboxed, s(1.0), RNE, f)), (NAN_S, 0));
    assert_eq!(fp::sgnj_s(unboxed, s(-1.0)), NAN_S | 1 << 31);
    assert_eq!(fp::sgnj_s(s(1.0), unboxed), s(1.0), "the sign of the canonical NaN is positive");
    assert_eq!(fp::class_s(unboxed), 1 << 9);
    assert_eq!(fp::x_from_s(0x1234_5678_8000_0000), 0xffff_ffff_8000_0000, "moves do not look");
    assert_eq!(fp::s_from_x(0x1234_5678_8000_0000), 0xffff_ffff_8000_0000);
    assert_eq!(run(|f| fp::d_from_s(s(1.5), RNE, f)), (d(1.5), 0));
    assert_eq!(run(|f| fp::d_from_s(0xffff_ffff_7f80_0001, RNE, f)), (NAN_D, NV));
    assert_eq!(run(|f| fp::s_from_d(d(1.5), RNE, f)), (s(1.5), 0));
}

#[test]
fn signs_and_classes() {
    assert_eq!(fp::sgnj_d(d(1.0), d(-2.0)), d(-1.0));
    assert_eq!(fp::sgnjn_d(d(1.0), d(-2.0)), d(1.0));
    assert_eq!(fp::sgnjx_d(d(-1.0), d(-2.0)), d(1.0));
    assert_eq!(fp::sgnjn_s(s(1.0), s(2.0)), s(-1.0));
    assert_eq!(fp::sgnjx_s(s(1.0), s(-2.0)), s(-1.0));
    let ascending = [f64::NEG_INFINITY, -1.0, -1e-310, -0.0, 0.0, 1e-310, 1.0, f64::INFINITY];
    for (bit, value) in ascending.into_iter().enumerate() {
        assert_eq!(fp::class_d(d(value)), 1 << bit, "{value}");
    }
    assert_eq!([fp::class_d(SIGNALING_D), fp::class_d(NAN_D | 1 << 63)], [1 << 8, 1 << 9]);
}

#[test]
fn rounding_modes_are_selected() {
    assert_eq!(Rounding::select(1, 4), Some(RTZ));
    assert_eq!(Rounding::select(7, 4), Some(RMM));
    assert_eq!(Rounding::select(7, 5), None);
    assert_eq!(Rounding::select(7, 7), None);
    assert_eq!(Rounding::select(5, 0), None);
}

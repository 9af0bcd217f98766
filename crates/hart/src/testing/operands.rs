//! Operands that find mistakes: numbers near every boundary of a format or of an integer type, after the
//! manner of Berkeley TestFloat.

use crate::fp::soft::{Double, Format};
use chasqui_random::Random;

/// Bit patterns at and next to every boundary of a floating-point format, of both signs: zero, subnormals,
/// the ends of the normal range, one, halves, powers of two where integer types end, infinity and NaNs.
pub fn fp_edges<F: Format>() -> Vec<u64> {
    let one = (F::BIAS as u64) << F::FRACTION;
    let power = |exponent: i32| ((F::BIAS + exponent) as u64) << F::FRACTION;
    let least_normal = 1 << F::FRACTION;
    let mut centres =
        vec![0, least_normal, one, one | F::QUIET, F::INFINITY, F::NAN, F::INFINITY | F::QUIET >> 1];
    centres.extend([-2, -1, 1, 7, 8, 15, 16, 23, 24, 30, 31, 32, 52, 53, 62, 63, 64].map(power));
    centres.extend([F::QUIET, power(-1) | F::QUIET, power(1) | F::QUIET, F::INFINITY - 1]);
    let magnitudes = centres.iter().flat_map(|&centre| [centre.wrapping_sub(1), centre, centre + 1]);
    let mut edges: Vec<u64> = magnitudes.filter(|m| m & !(F::SIGN - 1) == 0).collect();
    edges.extend(edges.clone().iter().map(|magnitude| magnitude | F::SIGN));
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// A floating-point operand: uniform bits, an edge, or an exponent and a fraction of telling patterns.
pub fn fp_operand<F: Format>(random: &mut Random) -> u64 {
    let all = F::SIGN | (F::SIGN - 1);
    if random.once_in(4) {
        return random.bits() & all;
    }
    let top = (1 << F::EXPONENT) - 1;
    let bias = F::BIAS as u64;
    let exponent = match random.below(6) {
        0 => random.below(4),
        1 => top - random.below(4),
        2 => bias + random.below(5) - 2,
        3 => bias + random.below(140) - 70,
        4 => bias / 2 + random.below(9),
        _ => random.below(top + 1),
    };
    let fraction_mask = (1 << F::FRACTION) - 1;
    let shift = random.below(u64::from(F::FRACTION) + 1);
    let fraction = match random.below(6) {
        0 => 0,
        1 => fraction_mask,
        2 => (1 << shift) - 1,
        3 => fraction_mask << shift,
        4 => 1 << shift,
        _ => random.bits(),
    };
    (random.bits() & F::SIGN) | exponent.min(top) << F::FRACTION | fraction & fraction_mask
}

/// An operand whose exponent is near another's, so that sums cancel and fused operations align closely.
pub fn fp_operand_near<F: Format>(other: u64, random: &mut Random) -> u64 {
    let field = (other & F::INFINITY) >> F::FRACTION;
    let top = (1 << F::EXPONENT) - 1;
    let exponent = (field + random.below(7)).saturating_sub(3).min(top);
    let fraction = match random.below(3) {
        0 => other,
        1 => other.wrapping_add(random.below(5)).wrapping_sub(2),
        _ => random.bits(),
    };
    (random.bits() & F::SIGN) | exponent << F::FRACTION | fraction & ((1 << F::FRACTION) - 1)
}

/// An integer operand: small, near a power of two, or uniform.
pub fn integer_operand(random: &mut Random) -> u64 {
    let near = random.within(-3..4) as u64;
    match random.below(4) {
        0 => near,
        1 => (1u64 << random.below(64)).wrapping_add(near),
        2 => (u64::MAX << random.below(64)).wrapping_add(near),
        _ => random.bits() >> random.below(64),
    }
}

/// A register's content as floating-point code meets it: double, boxed single, now and then badly boxed.
pub fn fp_register(random: &mut Random) -> u64 {
    match random.below(8) {
        0..4 => fp_operand::<Double>(random),
        4 => random.bits(),
        _ => crate::fp::box_s(fp_operand::<crate::fp::soft::Single>(random)),
    }
}

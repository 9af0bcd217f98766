//! The host's unit as a short cut gives what the exact algorithm gives: a million operands for each operation,
//! those near the ends of the range among them. Runs on any host.

use chasqui_hart::fp::soft::{self, Double, Format, Single};
use chasqui_hart::fp::{self, Flags, Rounding};
use chasqui_hart::testing::operands::{fp_operand, fp_operand_near, integer_operand};
use chasqui_random::Random;

const OPERANDS: usize = 1_000_000;
const RM: Rounding = Rounding::NearestEven;

type Operation = fn([u64; 3], &mut Flags) -> u64;

fn check(operands: [u64; 3], name: &str, short: Operation, exact: Operation) {
    for before in [Flags(0), Flags(Flags::NX)] {
        let (mut short_flags, mut exact_flags) = (before, before);
        let (result, expected) = (short(operands, &mut short_flags), exact(operands, &mut exact_flags));
        assert_eq!((result, short_flags), (expected, exact_flags), "{name} {operands:#x?} {before:?}");
    }
}

fn operands<F: Format>(random: &mut Random) -> [u64; 3] {
    let a = fp_operand::<F>(random);
    let b = if random.once_in(2) { fp_operand_near::<F>(a, random) } else { fp_operand::<F>(random) };
    let c = if random.once_in(2) { fp_operand_near::<F>(b, random) } else { fp_operand::<F>(random) };
    [a, b, c]
}

#[test]
fn single_precision() {
    use fp::box_s;
    let rows: [(&str, Operation, Operation); 7] = [
        (
            "add",
            |[a, b, _], f| fp::add_s(box_s(a), box_s(b), RM, f),
            |[a, b, _], f| box_s(soft::add::<Single>(a, b, RM, f)),
        ),
        (
            "sub",
            |[a, b, _], f| fp::sub_s(box_s(a), box_s(b), RM, f),
            |[a, b, _], f| box_s(soft::sub::<Single>(a, b, RM, f)),
        ),
        (
            "mul",
            |[a, b, _], f| fp::mul_s(box_s(a), box_s(b), RM, f),
            |[a, b, _], f| box_s(soft::mul::<Single>(a, b, RM, f)),
        ),
        (
            "div",
            |[a, b, _], f| fp::div_s(box_s(a), box_s(b), RM, f),
            |[a, b, _], f| box_s(soft::div::<Single>(a, b, RM, f)),
        ),
        (
            "sqrt",
            |[a, ..], f| fp::sqrt_s(box_s(a), RM, f),
            |[a, ..], f| box_s(soft::sqrt::<Single>(a, RM, f)),
        ),
        (
            "madd",
            |o, f| {
                let [a, b, c] = o.map(box_s);
                fp::madd_s(a, b, c, RM, f)
            },
            |[a, b, c], f| box_s(soft::fused::<Single>(a, b, c, RM, f)),
        ),
        (
            "widen",
            |[a, ..], f| fp::d_from_s(box_s(a), RM, f),
            |[a, ..], f| soft::convert::<Single, Double>(a, RM, f),
        ),
    ];
    let mut random = Random::for_test(0x5407_0001);
    for _ in 0..OPERANDS {
        let operands = operands::<Single>(&mut random);
        rows.iter().for_each(|row| check(operands, row.0, row.1, row.2));
    }
}

#[test]
fn double_precision() {
    let rows: [(&str, Operation, Operation); 7] = [
        ("add", |[a, b, _], f| fp::add_d(a, b, RM, f), |[a, b, _], f| soft::add::<Double>(a, b, RM, f)),
        ("sub", |[a, b, _], f| fp::sub_d(a, b, RM, f), |[a, b, _], f| soft::sub::<Double>(a, b, RM, f)),
        ("mul", |[a, b, _], f| fp::mul_d(a, b, RM, f), |[a, b, _], f| soft::mul::<Double>(a, b, RM, f)),
        ("div", |[a, b, _], f| fp::div_d(a, b, RM, f), |[a, b, _], f| soft::div::<Double>(a, b, RM, f)),
        ("sqrt", |[a, ..], f| fp::sqrt_d(a, RM, f), |[a, ..], f| soft::sqrt::<Double>(a, RM, f)),
        (
            "madd",
            |[a, b, c], f| fp::madd_d(a, b, c, RM, f),
            |[a, b, c], f| soft::fused::<Double>(a, b, c, RM, f),
        ),
        (
            "narrow",
            |[a, ..], f| fp::s_from_d(a, RM, f),
            |[a, ..], f| fp::box_s(soft::convert::<Double, Single>(a, RM, f)),
        ),
    ];
    let mut random = Random::for_test(0x5407_0002);
    for _ in 0..OPERANDS {
        let operands = operands::<Double>(&mut random);
        rows.iter().for_each(|row| check(operands, row.0, row.1, row.2));
    }
}

#[test]
fn conversions() {
    let mut random = Random::for_test(0x5407_0003);
    for _ in 0..OPERANDS {
        let integer = integer_operand(&mut random);
        let magnitude = (integer as i64).unsigned_abs();
        let signed: Operation =
            |[a, magnitude, _], f| soft::from_integer::<Double>((a as i64) < 0, magnitude, RM, f);
        check([integer, magnitude, 0], "fcvt.d.l", |[a, ..], f| fp::d_from_l(a, RM, f), signed);
        let unsigned: Operation = |[a, ..], f| fp::box_s(soft::from_integer::<Single>(false, a, RM, f));
        check([integer, 0, 0], "fcvt.s.lu", |[a, ..], f| fp::s_from_lu(a, RM, f), unsigned);
    }
}

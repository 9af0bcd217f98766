//! Time of each floating-point operation through the host's unit (inexact flag set) and by the exact
//! algorithm (a directed rounding mode, so that no short cut applies).
//!
//! `cargo run --release -p chasqui-hart --example fp_speed`

use chasqui_hart::fp::{self, Flags, Rounding};
use chasqui_random::Random;
use std::hint::black_box;
use std::time::Instant;

const OPERANDS: usize = 1024;
const ROUNDS: usize = 2000;

type Operation = fn([u64; 3], Rounding, &mut Flags) -> u64;

fn ns_per_operation(operation: Operation, operands: &[[u64; 3]], rm: Rounding) -> f64 {
    let mut flags = Flags(Flags::NX);
    let start = Instant::now();
    for _ in 0..ROUNDS {
        for &operands in operands {
            black_box(operation(operands, rm, &mut flags));
        }
    }
    start.elapsed().as_nanos() as f64 / (ROUNDS * operands.len()) as f64
}

/// Numbers between 1 and 2^20, so that the host's unit always serves.
fn operands(random: &mut Random, single: bool) -> Vec<[u64; 3]> {
    let mut number = || 1.0 + random.below(1 << 40) as f64 / f64::from(1 << 20);
    let mut bits = || if single { fp::box_s((number() as f32).to_bits().into()) } else { number().to_bits() };
    (0..OPERANDS).map(|_| [bits(), bits(), bits()]).collect()
}

fn main() {
    let rows: [(&str, bool, Operation); 14] = [
        ("(loop)", false, |[a, ..], _, _| a),
        ("fadd.d", false, |[a, b, _], rm, f| fp::add_d(a, b, rm, f)),
        ("fmul.d", false, |[a, b, _], rm, f| fp::mul_d(a, b, rm, f)),
        ("fdiv.d", false, |[a, b, _], rm, f| fp::div_d(a, b, rm, f)),
        ("fsqrt.d", false, |[a, ..], rm, f| fp::sqrt_d(a, rm, f)),
        ("fmadd.d", false, |[a, b, c], rm, f| fp::madd_d(a, b, c, rm, f)),
        ("fcvt.s.d", false, |[a, ..], rm, f| fp::s_from_d(a, rm, f)),
        ("fcvt.d.l", false, |[a, ..], rm, f| fp::d_from_l(a, rm, f)),
        ("fcvt.l.d", false, |[a, ..], rm, f| {
            // The short cut is for C's casts, which round towards zero.
            fp::l_from_d(a, if rm == Rounding::NearestEven { Rounding::Zero } else { rm }, f)
        }),
        ("fadd.s", true, |[a, b, _], rm, f| fp::add_s(a, b, rm, f)),
        ("fmul.s", true, |[a, b, _], rm, f| fp::mul_s(a, b, rm, f)),
        ("fdiv.s", true, |[a, b, _], rm, f| fp::div_s(a, b, rm, f)),
        ("fsqrt.s", true, |[a, ..], rm, f| fp::sqrt_s(a, rm, f)),
        ("fmadd.s", true, |[a, b, c], rm, f| fp::madd_s(a, b, c, rm, f)),
    ];
    let mut random = Random::for_test(1);
    println!("{:10} {:>8} {:>8}  ns an operation", "", "host", "exact");
    for (name, single, operation) in rows {
        let operands = operands(&mut random, single);
        let host = ns_per_operation(operation, &operands, Rounding::NearestEven);
        let exact = ns_per_operation(operation, &operands, Rounding::Up);
        println!("{name:10} {host:8.2} {exact:8.2}");
    }
}

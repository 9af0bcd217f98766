//! Every rounded operation, conversion and comparison against Berkeley SoftFloat with RISC-V's
//! specialisation: results and flags, all rounding modes, with the inexact flag clear (exact algorithm)
//! and set (the host's unit where it may be used).
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use chasqui_hart::fp::soft::{Double, Format, Single};
use chasqui_hart::fp::{self, Flags, Rounding};
use chasqui_hart::testing::operands::{fp_edges, fp_operand, fp_operand_near, integer_operand};
use chasqui_random::{Random, share};
use softfloat_sys::*;

/// Random operands for each operation, of which a test takes a share.
const OPERANDS: u64 = 100_000;

/// An operation on up to three operands: its name, ours, theirs.
type Ours = fn([u64; 3], Rounding, &mut Flags) -> u64;
type Theirs = fn([u64; 3], u8) -> u64;

fn check(name: &str, ours: Ours, theirs: Theirs, operands: [u64; 3]) {
    for rm in Rounding::ALL {
        // SAFETY: the state is thread-local.
        unsafe {
            softfloat_roundingMode_write_helper(rm as u8);
            softfloat_exceptionFlags_write_helper(0);
        }
        let expected = theirs(operands, rm as u8);
        // SAFETY: the state is thread-local.
        let raised = unsafe { softfloat_exceptionFlags_read_helper() };
        for before in [0, Flags::NX] {
            let mut flags = Flags(before);
            let result = ours(operands, rm, &mut flags);
            assert_eq!(
                (format!("{result:#x}"), flags.0),
                (format!("{expected:#x}"), before | raised),
                "{name} {operands:#x?} {rm:?}, flags before {before:#x}"
            );
        }
    }
}

fn f32s([a, b, c]: [u64; 3]) -> [float32_t; 3] {
    [a, b, c].map(|v| float32_t { v: v as u32 })
}

fn f64s([a, b, c]: [u64; 3]) -> [float64_t; 3] {
    [a, b, c].map(|v| float64_t { v })
}

fn f32_bits(number: float32_t) -> u64 {
    fp::box_s(u64::from(number.v))
}

fn f64_bits(number: float64_t) -> u64 {
    number.v
}

/// Rows `name => ours, theirs;`: ours and theirs are expressions in the operands, the mode and the flags.
macro_rules! table {
    (|$o:ident, $rm:ident, $flags:ident| $($name:literal => $ours:expr, $theirs:expr;)*) => {
        // SAFETY: pure functions but for their thread-local state.
        [$(($name, (|$o, $rm, $flags| $ours) as Ours, (|$o, $rm| unsafe { $theirs }) as Theirs)),*]
    };
}

fn box_all(operands: [u64; 3]) -> [u64; 3] {
    operands.map(fp::box_s)
}

#[rustfmt::skip]
fn single_rows() -> Vec<(&'static str, Ours, Theirs)> {
    #[allow(unused_variables)]
    table! { |o, rm, flags|
        "fadd.s" => { let [a, b, _] = box_all(o); fp::add_s(a, b, rm, flags) }, { let [a, b, _] = f32s(o); f32_bits(f32_add(a, b)) };
        "fsub.s" => { let [a, b, _] = box_all(o); fp::sub_s(a, b, rm, flags) }, { let [a, b, _] = f32s(o); f32_bits(f32_sub(a, b)) };
        "fmul.s" => { let [a, b, _] = box_all(o); fp::mul_s(a, b, rm, flags) }, { let [a, b, _] = f32s(o); f32_bits(f32_mul(a, b)) };
        "fdiv.s" => { let [a, b, _] = box_all(o); fp::div_s(a, b, rm, flags) }, { let [a, b, _] = f32s(o); f32_bits(f32_div(a, b)) };
        "fmadd.s" => { let [a, b, c] = box_all(o); fp::madd_s(a, b, c, rm, flags) }, { let [a, b, c] = f32s(o); f32_bits(f32_mulAdd(a, b, c)) };
        "fmsub.s" => { let [a, b, c] = box_all(o); fp::msub_s(a, b, c, rm, flags) }, { let [a, b, c] = f32s(o); f32_bits(f32_mulAdd(a, b, flip(c))) };
        "fnmsub.s" => { let [a, b, c] = box_all(o); fp::nmsub_s(a, b, c, rm, flags) }, { let [a, b, c] = f32s(o); f32_bits(f32_mulAdd(flip(a), b, c)) };
        "fnmadd.s" => { let [a, b, c] = box_all(o); fp::nmadd_s(a, b, c, rm, flags) }, { let [a, b, c] = f32s(o); f32_bits(f32_mulAdd(flip(a), b, flip(c))) };
        "fsqrt.s" => fp::sqrt_s(box_all(o)[0], rm, flags), f32_bits(f32_sqrt(f32s(o)[0]));
        "fcvt.d.s" => fp::d_from_s(box_all(o)[0], rm, flags), f64_bits(f32_to_f64(f32s(o)[0]));
        "fcvt.w.s" => fp::w_from_s(box_all(o)[0], rm, flags), f32_to_i32(f32s(o)[0], rm, true) as i32 as u64;
        "fcvt.wu.s" => fp::wu_from_s(box_all(o)[0], rm, flags), f32_to_ui32(f32s(o)[0], rm, true) as i32 as u64;
        "fcvt.l.s" => fp::l_from_s(box_all(o)[0], rm, flags), f32_to_i64(f32s(o)[0], rm, true) as u64;
        "fcvt.lu.s" => fp::lu_from_s(box_all(o)[0], rm, flags), f32_to_ui64(f32s(o)[0], rm, true);
        "feq.s" => { let [a, b, _] = box_all(o); fp::eq_s(a, b, flags) }, { let [a, b, _] = f32s(o); f32_eq(a, b).into() };
        "flt.s" => { let [a, b, _] = box_all(o); fp::lt_s(a, b, flags) }, { let [a, b, _] = f32s(o); f32_lt(a, b).into() };
        "fle.s" => { let [a, b, _] = box_all(o); fp::le_s(a, b, flags) }, { let [a, b, _] = f32s(o); f32_le(a, b).into() };
    }.into()
}

#[rustfmt::skip]
fn double_rows() -> Vec<(&'static str, Ours, Theirs)> {
    #[allow(unused_variables)]
    table! { |o, rm, flags|
        "fadd.d" => fp::add_d(o[0], o[1], rm, flags), { let [a, b, _] = f64s(o); f64_bits(f64_add(a, b)) };
        "fsub.d" => fp::sub_d(o[0], o[1], rm, flags), { let [a, b, _] = f64s(o); f64_bits(f64_sub(a, b)) };
        "fmul.d" => fp::mul_d(o[0], o[1], rm, flags), { let [a, b, _] = f64s(o); f64_bits(f64_mul(a, b)) };
        "fdiv.d" => fp::div_d(o[0], o[1], rm, flags), { let [a, b, _] = f64s(o); f64_bits(f64_div(a, b)) };
        "fmadd.d" => fp::madd_d(o[0], o[1], o[2], rm, flags), { let [a, b, c] = f64s(o); f64_bits(f64_mulAdd(a, b, c)) };
        "fmsub.d" => fp::msub_d(o[0], o[1], o[2], rm, flags), { let [a, b, c] = f64s(o); f64_bits(f64_mulAdd(a, b, flip_d(c))) };
        "fnmsub.d" => fp::nmsub_d(o[0], o[1], o[2], rm, flags), { let [a, b, c] = f64s(o); f64_bits(f64_mulAdd(flip_d(a), b, c)) };
        "fnmadd.d" => fp::nmadd_d(o[0], o[1], o[2], rm, flags), { let [a, b, c] = f64s(o); f64_bits(f64_mulAdd(flip_d(a), b, flip_d(c))) };
        "fsqrt.d" => fp::sqrt_d(o[0], rm, flags), f64_bits(f64_sqrt(f64s(o)[0]));
        "fcvt.s.d" => fp::s_from_d(o[0], rm, flags), f32_bits(f64_to_f32(f64s(o)[0]));
        "fcvt.w.d" => fp::w_from_d(o[0], rm, flags), f64_to_i32(f64s(o)[0], rm, true) as i32 as u64;
        "fcvt.wu.d" => fp::wu_from_d(o[0], rm, flags), f64_to_ui32(f64s(o)[0], rm, true) as i32 as u64;
        "fcvt.l.d" => fp::l_from_d(o[0], rm, flags), f64_to_i64(f64s(o)[0], rm, true) as u64;
        "fcvt.lu.d" => fp::lu_from_d(o[0], rm, flags), f64_to_ui64(f64s(o)[0], rm, true);
        "feq.d" => fp::eq_d(o[0], o[1], flags), { let [a, b, _] = f64s(o); f64_eq(a, b).into() };
        "flt.d" => fp::lt_d(o[0], o[1], flags), { let [a, b, _] = f64s(o); f64_lt(a, b).into() };
        "fle.d" => fp::le_d(o[0], o[1], flags), { let [a, b, _] = f64s(o); f64_le(a, b).into() };
    }.into()
}

#[rustfmt::skip]
fn integer_rows() -> Vec<(&'static str, Ours, Theirs)> {
    #[allow(unused_variables)]
    table! { |o, rm, flags|
        "fcvt.s.w" => fp::s_from_w(o[0], rm, flags), f32_bits(i32_to_f32(o[0] as i32));
        "fcvt.s.wu" => fp::s_from_wu(o[0], rm, flags), f32_bits(ui32_to_f32(o[0] as u32));
        "fcvt.s.l" => fp::s_from_l(o[0], rm, flags), f32_bits(i64_to_f32(o[0] as i64));
        "fcvt.s.lu" => fp::s_from_lu(o[0], rm, flags), f32_bits(ui64_to_f32(o[0]));
        "fcvt.d.w" => fp::d_from_w(o[0], rm, flags), f64_bits(i32_to_f64(o[0] as i32));
        "fcvt.d.wu" => fp::d_from_wu(o[0], rm, flags), f64_bits(ui32_to_f64(o[0] as u32));
        "fcvt.d.l" => fp::d_from_l(o[0], rm, flags), f64_bits(i64_to_f64(o[0] as i64));
        "fcvt.d.lu" => fp::d_from_lu(o[0], rm, flags), f64_bits(ui64_to_f64(o[0]));
    }.into()
}

fn flip(number: float32_t) -> float32_t {
    float32_t { v: number.v ^ Single::SIGN as u32 }
}

fn flip_d(number: float64_t) -> float64_t {
    float64_t { v: number.v ^ Double::SIGN }
}

fn random_operands<F: Format>(random: &mut Random) -> [u64; 3] {
    let a = fp_operand::<F>(random);
    let b = if random.once_in(3) { fp_operand_near::<F>(a, random) } else { fp_operand::<F>(random) };
    let near = random.pick(&[a, b]);
    let c = if random.once_in(3) { fp_operand_near::<F>(near, random) } else { fp_operand::<F>(random) };
    [a, b, c]
}

fn check_format<F: Format>(rows: &[(&str, Ours, Theirs)], random: &mut Random) {
    let edges = fp_edges::<F>();
    for &(name, ours, theirs) in rows {
        for _ in 0..share(OPERANDS) {
            check(name, ours, theirs, random_operands::<F>(random));
        }
        for &a in &edges {
            for &b in &edges {
                check(name, ours, theirs, [a, b, random.pick(&edges)]);
            }
        }
    }
}

#[test]
fn single_precision() {
    check_format::<Single>(&single_rows(), &mut Random::for_test(0x5167_1e00));
}

#[test]
fn double_precision() {
    check_format::<Double>(&double_rows(), &mut Random::for_test(0xd0b1_e000));
}

#[test]
fn from_integers() {
    let mut random = Random::for_test(0x1275);
    for (name, ours, theirs) in integer_rows() {
        for _ in 0..share(OPERANDS) {
            check(name, ours, theirs, [integer_operand(&mut random), 0, 0]);
        }
    }
}

/// Fused operations whose product nearly cancels the addend: every bit of the exact product matters.
#[test]
fn fused_cancellation() {
    let mut random = Random::for_test(0xca9c_e100);
    let row = |rows: Vec<(&'static str, Ours, Theirs)>, name| *rows.iter().find(|r| r.0 == name).unwrap();
    let (name, ours, theirs) = row(double_rows(), "fmsub.d");
    for _ in 0..share(OPERANDS) {
        let [a, b] = [(); 2].map(|()| fp_operand::<Double>(&mut random));
        let product = (f64::from_bits(a) * f64::from_bits(b)).to_bits();
        let c = product.wrapping_add(random.below(3)).wrapping_sub(1);
        check(name, ours, theirs, [a, b, c]);
    }
}

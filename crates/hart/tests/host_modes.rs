//! Arithmetic against the host's own floating-point unit, in its four rounding modes, values and flags: SSE
//! detects tininess after rounding, as RISC-V does. The instructions run between a change of the control
//! register and its restoration, in one block of assembly, so that compiled code never sees the change.
#![cfg(target_arch = "x86_64")]

use chasqui_hart::fp::soft::{Double, Format, Single};
use chasqui_hart::fp::{self, Flags, Rounding};
use chasqui_hart::testing::operands::{fp_edges, fp_operand, fp_operand_near};
use chasqui_random::Random;
use std::arch::asm;

const OPERANDS: usize = 200_000;

/// SSE's rounding field for each mode it has.
const MODES: [(Rounding, u32); 4] =
    [(Rounding::NearestEven, 0), (Rounding::Down, 1), (Rounding::Up, 2), (Rounding::Zero, 3)];

/// `fflags` from MXCSR: bit 0 invalid, 2 zero divide, 3 overflow, 4 underflow, 5 inexact.
fn flags_of(mxcsr: u32) -> u8 {
    let pairs = [(0, Flags::NV), (2, Flags::DZ), (3, Flags::OF), (4, Flags::UF), (5, Flags::NX)];
    pairs.iter().filter(|(bit, _)| mxcsr >> bit & 1 != 0).map(|(_, flag)| flag).sum()
}

/// Defines a function that runs one instruction, `a = a op b`, in a mode.
macro_rules! host_instruction {
    ($($name:ident $instruction:literal $number:ident;)*) => {
        $(fn $name(a: $number, b: $number, mode: u32) -> ($number, u8) {
            let (all_masked, mut after, mut saved) = (0x1f80 | mode << 13, 0u32, 0u32);
            let mut result = a;
            // SAFETY: the control register is restored before the block ends.
            unsafe {
                asm!(
                    "stmxcsr [{saved}]", "ldmxcsr [{wanted}]",
                    concat!($instruction, " {result}, {b}"),
                    "stmxcsr [{after}]", "ldmxcsr [{saved}]",
                    saved = in(reg) &mut saved, wanted = in(reg) &all_masked, after = in(reg) &mut after,
                    result = inout(xmm_reg) result, b = in(xmm_reg) b, options(nostack),
                );
            }
            (result, flags_of(after))
        })*
    };
}

host_instruction! {
    host_add_s "addss" f32;
    host_sub_s "subss" f32;
    host_mul_s "mulss" f32;
    host_div_s "divss" f32;
    host_sqrt_s "sqrtss" f32;
    host_add_d "addsd" f64;
    host_sub_d "subsd" f64;
    host_mul_d "mulsd" f64;
    host_div_d "divsd" f64;
    host_sqrt_d "sqrtsd" f64;
}

/// Checks one operation on one pair in all modes. Square roots take the second operand.
macro_rules! check {
    ($random:ident $format:ident $number:ident $bits:ident $boxed:expr; $($ours:expr, $theirs:ident;)*) => {{
        let edges = fp_edges::<$format>();
        let edge_pairs = edges.len() * edges.len();
        for i in 0..OPERANDS + edge_pairs {
            let (a, b) = match i.checked_sub(OPERANDS) {
                Some(i) => (edges[i / edges.len()], edges[i % edges.len()]),
                None => {
                    let a = fp_operand::<$format>(&mut $random);
                    let near = $random.once_in(3);
                    (a, if near { fp_operand_near::<$format>(a, &mut $random) } else { fp_operand::<$format>(&mut $random) })
                }
            };
            for (rm, mode) in MODES {
                $({
                    let (value, raised) = $theirs($number::from_bits(a as $bits), $number::from_bits(b as $bits), mode);
                    let value = if value.is_nan() { $format::NAN } else { value.to_bits().into() };
                    for before in [0, Flags::NX] {
                        let mut flags = Flags(before);
                        let result = $ours($boxed(a), $boxed(b), rm, &mut flags);
                        let expected = ($boxed(value), before | raised);
                        assert_eq!((result, flags.0), expected, "{} {a:#x} {b:#x} {rm:?}", stringify!($theirs));
                    }
                })*
            }
        }
    }};
}

#[test]
fn single_precision() {
    let mut random = Random::for_test(0x405_7000);
    check! { random Single f32 u32 fp::box_s;
        fp::add_s, host_add_s;
        fp::sub_s, host_sub_s;
        fp::mul_s, host_mul_s;
        fp::div_s, host_div_s;
        |_, b, rm, flags: &mut Flags| fp::sqrt_s(b, rm, flags), host_sqrt_s;
    }
}

#[test]
fn double_precision() {
    let mut random = Random::for_test(0x405_7001);
    check! { random Double f64 u64 std::convert::identity;
        fp::add_d, host_add_d;
        fp::sub_d, host_sub_d;
        fp::mul_d, host_mul_d;
        fp::div_d, host_div_d;
        |_, b, rm, flags: &mut Flags| fp::sqrt_d(b, rm, flags), host_sqrt_d;
    }
}

//! Floating point: IEEE 754-2008 with RISC-V's choices (Unprivileged ISA, chapters "F" and "D").
//!
//! Operands and results are register contents: single-precision numbers are boxed in NaNs and are checked
//! for it ("NaN Boxing of Narrower Values"). Which operation is which function: `semantics.rs`.

mod arithmetic;
mod compare;
mod convert;
mod host;
pub mod soft;
mod status;

pub use arithmetic::*;
pub use compare::*;
pub use convert::*;
pub(crate) use host::DOUBLE_ERRORS_ARE_NUMBERS;
pub use status::{Flags, Rounding};

use soft::{Format, Single};

/// The upper half of a register that holds a single-precision number.
const BOX: u64 = 0xffff_ffff_0000_0000;

/// Puts a single-precision number into a register.
#[inline(always)]
pub const fn box_s(bits: u64) -> u64 {
    BOX | bits
}

/// Takes a single-precision number out of a register; what is not boxed counts as the canonical NaN.
#[inline(always)]
pub const fn unbox_s(register: u64) -> u64 {
    if register >= BOX { register & !BOX } else { Single::NAN }
}

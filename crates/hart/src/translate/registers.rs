//! The guest's registers in a block of translated code: which are in registers of the host, and which of those are not yet
//! in the hart's state.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, F64, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value};
use cranelift_frontend::FunctionBuilder;

use crate::hart::Hart;
use crate::state::SINK;

/// A floating-point register, in the forms in which it is at hand.
#[derive(Clone, Copy, Default)]
struct Float {
    bits: Option<Value>,
    double: Option<Value>,
    /// A single-precision number, boxed in the register.
    single: Option<Value>,
}

/// What is at hand of the registers.
#[derive(Default)]
pub(super) struct Registers {
    x: [Option<Value>; 32],
    f: [Float; 32],
    /// A bit for each that the state lacks.
    x_pending: u32,
    f_pending: u32,
}

/// Offset of an integer register in the hart.
pub(super) fn x_offset(r: usize) -> i32 {
    (offset_of!(Hart, state.x) + 8 * r) as i32
}

/// Offset of a floating-point register in the hart.
pub(super) fn f_offset(r: usize) -> i32 {
    (offset_of!(Hart, state.f) + 8 * r) as i32
}

fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (first < 32).then_some(first as usize)
    })
}

/// Accesses to the hart's own state.
pub(super) const OWN: MemFlags = MemFlags::trusted();

impl Registers {
    pub fn x(&mut self, b: &mut FunctionBuilder<'_>, hart: Value, r: u8) -> Value {
        if r == 0 {
            return b.ins().iconst(I64, 0);
        }
        *self.x[usize::from(r)].get_or_insert_with(|| b.ins().load(I64, OWN, hart, x_offset(usize::from(r))))
    }

    pub fn set_x(&mut self, r: u8, value: Value) {
        if r != SINK {
            self.x[usize::from(r)] = Some(value);
            self.x_pending |= 1 << r;
        }
    }

    /// The register as bits.
    pub fn f(&mut self, b: &mut FunctionBuilder<'_>, hart: Value, r: u8) -> Value {
        let f = &mut self.f[usize::from(r)];
        let value = match *f {
            Float { bits: Some(bits), .. } => bits,
            Float { double: Some(double), .. } => b.ins().bitcast(I64, MemFlags::new(), double),
            Float { single: Some(single), .. } => {
                let word = b.ins().bitcast(I32, MemFlags::new(), single);
                let word = b.ins().uextend(I64, word);
                b.ins().bor_imm(word, 0xffff_ffff_0000_0000u64 as i64)
            }
            _ => b.ins().load(I64, OWN, hart, f_offset(usize::from(r))),
        };
        f.bits = Some(value);
        value
    }

    /// The register as a double-precision number.
    pub fn double(&mut self, b: &mut FunctionBuilder<'_>, hart: Value, r: u8) -> Value {
        let f = self.f[usize::from(r)];
        let value = match f {
            Float { double: Some(double), .. } => double,
            Float { bits: None, single: None, .. } => b.ins().load(F64, OWN, hart, f_offset(usize::from(r))),
            _ => {
                let bits = self.f(b, hart, r);
                b.ins().bitcast(F64, MemFlags::new(), bits)
            }
        };
        self.f[usize::from(r)].double = Some(value);
        value
    }

    /// The register as a single-precision number, and whether it is boxed, if that is not certain.
    pub fn single(&mut self, b: &mut FunctionBuilder<'_>, hart: Value, r: u8) -> (Value, Option<Value>) {
        if let Some(single) = self.f[usize::from(r)].single {
            return (single, None);
        }
        let bits = self.f(b, hart, r);
        let high = b.ins().ushr_imm(bits, 32);
        let is_boxed = b.ins().icmp_imm(IntCC::Equal, high, 0xffff_ffff);
        let word = b.ins().ireduce(I32, bits);
        let value = b.ins().bitcast(F32, MemFlags::new(), word);
        self.f[usize::from(r)].single = Some(value);
        (value, Some(is_boxed))
    }

    /// The low word of the register as it is, as a number to be stored.
    pub fn low_word(&mut self, b: &mut FunctionBuilder<'_>, hart: Value, r: u8) -> Value {
        match self.f[usize::from(r)].single {
            Some(single) => single,
            None => {
                let bits = self.f(b, hart, r);
                b.ins().ireduce(I32, bits)
            }
        }
    }

    /// The register in the form that costs least to store.
    pub fn stored(&mut self, b: &mut FunctionBuilder<'_>, hart: Value, r: u8) -> Value {
        match self.f[usize::from(r)].double {
            Some(double) => double,
            None => self.f(b, hart, r),
        }
    }

    fn set(&mut self, r: u8, value: Float) {
        self.f[usize::from(r)] = value;
        self.f_pending |= 1 << r;
    }

    pub fn set_f(&mut self, r: u8, bits: Value) {
        self.set(r, Float { bits: Some(bits), ..Float::default() });
    }

    pub fn set_double(&mut self, r: u8, value: Value) {
        self.set(r, Float { double: Some(value), ..Float::default() });
    }

    pub fn set_single(&mut self, r: u8, value: Value) {
        self.set(r, Float { single: Some(value), ..Float::default() });
    }

    /// Writes to the state what it lacks.
    pub fn flush(&mut self, b: &mut FunctionBuilder<'_>, hart: Value) {
        self.write(b, hart);
        (self.x_pending, self.f_pending) = (0, 0);
    }

    /// The same on a path of its own: on the other the state still lacks it.
    pub fn write(&self, b: &mut FunctionBuilder<'_>, hart: Value) {
        for r in bits(self.x_pending) {
            let value = self.x[r].expect("a value that was set");
            b.ins().store(OWN, value, hart, x_offset(r));
        }
        for r in bits(self.f_pending) {
            let Float { bits, double, single } = self.f[r];
            if let Some(value) = double.or(bits) {
                b.ins().store(OWN, value, hart, f_offset(r));
            } else {
                let value = single.expect("a value that was set");
                let high = b.ins().iconst(I32, -1);
                b.ins().store(OWN, value, hart, f_offset(r));
                b.ins().store(OWN, high, hart, f_offset(r) + 4);
            }
        }
    }

    /// Nothing is at hand any more; all has been written.
    pub fn forget(&mut self) {
        debug_assert!(self.x_pending == 0 && self.f_pending == 0);
        *self = Registers::default();
    }
}

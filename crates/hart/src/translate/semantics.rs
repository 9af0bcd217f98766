//! What operations compute, in Cranelift's terms. Those that are not here are called (`operations.rs`).

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I8, I32, I64};
use cranelift_codegen::ir::{Block as Label, InstBuilder, MemFlags, Type, Value};

use super::emit::Emitter;
use crate::block::{Code, Micro};
use crate::fp::{DOUBLE_ERRORS_ARE_NUMBERS, Flags, Rounding};
use crate::hart::Hart;

/// Rounding mode of an instruction: that in the CSR.
const DYNAMIC: u8 = 7;

impl Emitter<'_, '_> {
    pub fn operation(&mut self, code: Code, m: &Micro) {
        use Code::*;
        match code {
            Lb | Lh | Lw | Ld | Lbu | Lhu | Lwu | Flw | Fld => self.load(code, m),
            Sb | Sh | Sw | Sd | Fsw | Fsd => self.store(code, m),
            Addi | Slti | Sltiu | Xori | Ori | Andi | Slli | Srli | Srai | Addiw | Slliw | Srliw | Sraiw => {
                self.immediate(code, m);
            }
            Add | Sub | Sll | Slt | Sltu | Xor | Srl | Sra | Or | And | Mul | Mulh | Mulhu => {
                self.register(code, m);
            }
            Addw | Subw | Mulw | Sllw | Srlw | Sraw => self.word(code, m),
            _ if !self.float(code, m) => self.call_operation(code, m),
            _ => {}
        }
    }

    fn register(&mut self, code: Code, m: &Micro) {
        let (x, y) = (self.x(m.rs1), self.x(m.rs2));
        let b = &mut self.b;
        let value = match code {
            Code::Add => b.ins().iadd(x, y),
            Code::Sub => b.ins().isub(x, y),
            Code::Sll => b.ins().ishl(x, y),
            Code::Srl => b.ins().ushr(x, y),
            Code::Sra => b.ins().sshr(x, y),
            Code::Xor => b.ins().bxor(x, y),
            Code::Or => b.ins().bor(x, y),
            Code::And => b.ins().band(x, y),
            Code::Mul => b.ins().imul(x, y),
            Code::Mulh => b.ins().smulhi(x, y),
            Code::Mulhu => b.ins().umulhi(x, y),
            _ => {
                let less = if code == Code::Slt { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan };
                let less = b.ins().icmp(less, x, y);
                b.ins().uextend(I64, less)
            }
        };
        self.registers.set_x(m.rd, value);
    }

    fn immediate(&mut self, code: Code, m: &Micro) {
        let x = self.x(m.rs1);
        let b = &mut self.b;
        let value = match code {
            // A move, or a constant.
            Code::Addi if m.imm == 0 => x,
            Code::Addi if m.rs1 == 0 => b.ins().iconst(I64, m.imm),
            Code::Addi => b.ins().iadd_imm(x, m.imm),
            Code::Xori => b.ins().bxor_imm(x, m.imm),
            Code::Ori => b.ins().bor_imm(x, m.imm),
            Code::Andi => b.ins().band_imm(x, m.imm),
            Code::Slli => b.ins().ishl_imm(x, m.imm & 63),
            Code::Srli => b.ins().ushr_imm(x, m.imm & 63),
            Code::Srai => b.ins().sshr_imm(x, m.imm & 63),
            Code::Slti | Code::Sltiu => {
                let less = if code == Code::Slti { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan };
                let less = b.ins().icmp_imm(less, x, m.imm);
                b.ins().uextend(I64, less)
            }
            _ => {
                let x = b.ins().ireduce(I32, x);
                let word = match code {
                    Code::Addiw => b.ins().iadd_imm(x, i64::from(m.imm as i32)),
                    Code::Slliw => b.ins().ishl_imm(x, m.imm & 31),
                    Code::Srliw => b.ins().ushr_imm(x, m.imm & 31),
                    _ => b.ins().sshr_imm(x, m.imm & 31),
                };
                b.ins().sextend(I64, word)
            }
        };
        self.registers.set_x(m.rd, value);
    }

    fn word(&mut self, code: Code, m: &Micro) {
        let (x, y) = (self.x(m.rs1), self.x(m.rs2));
        let b = &mut self.b;
        let (x, y) = (b.ins().ireduce(I32, x), b.ins().ireduce(I32, y));
        let word = match code {
            Code::Addw => b.ins().iadd(x, y),
            Code::Subw => b.ins().isub(x, y),
            Code::Mulw => b.ins().imul(x, y),
            Code::Sllw => b.ins().ishl(x, y),
            Code::Srlw => b.ins().ushr(x, y),
            _ => b.ins().sshr(x, y),
        };
        let value = b.ins().sextend(I64, word);
        self.registers.set_x(m.rd, value);
    }

    /// Emits an operation of floating point; false if it is not here.
    fn float(&mut self, code: Code, m: &Micro) -> bool {
        use Code::*;
        let is_short = matches!(m.rm, 0 | DYNAMIC);
        match code {
            FaddD | FsubD | FmulD | FdivD | FsqrtD if is_short => self.arithmetic(code, m, F64),
            FaddS | FsubS | FmulS | FdivS | FsqrtS if is_short => self.arithmetic(code, m, F32),
            FmaddD | FmsubD | FnmsubD | FnmaddD if is_short && self.has_fma() => self.fused(code, m, F64),
            FmaddS | FmsubS | FnmsubS | FnmaddS if is_short && self.has_fma() => self.fused(code, m, F32),
            FeqD | FltD | FleD => self.compare(code, m, F64),
            FeqS | FltS | FleS => self.compare(code, m, F32),
            FsgnjD | FsgnjnD | FsgnjxD => self.sign(code, m),
            FsgnjS if m.rs1 == m.rs2 => {
                let value = self.single(m.rs1);
                self.registers.set_single(m.rd, value);
            }
            FcvtDW | FcvtDWu | FcvtDL | FcvtSW | FcvtSL if is_short => self.integer_to_float(code, m),
            FcvtSD | FcvtDS if is_short => self.convert(code, m),
            FmvXD => {
                let value = self.f(m.rs1);
                self.registers.set_x(m.rd, value);
            }
            FmvDX => {
                let value = self.x(m.rs1);
                self.registers.set_f(m.rd, value);
            }
            FmvXW => {
                let value = self.f(m.rs1);
                let word = self.b.ins().ireduce(I32, value);
                let value = self.b.ins().sextend(I64, word);
                self.registers.set_x(m.rd, value);
            }
            FmvWX => {
                let value = self.x(m.rs1);
                let word = self.b.ins().ireduce(I32, value);
                let value = self.b.ins().bitcast(F32, MemFlags::new(), word);
                self.registers.set_single(m.rd, value);
            }
            _ => return false,
        }
        true
    }

    /// Leaves unless rounding is to nearest.
    fn nearest(&mut self, m: &Micro) {
        if m.rm == DYNAMIC && !self.is_nearest {
            self.flush();
            let mode = self.own(I8, offset_of!(Hart, state.frm));
            let other = self.b.ins().icmp_imm(IntCC::NotEqual, mode, Rounding::NearestEven as i64);
            self.exit_if(other);
            self.is_nearest = true;
        }
    }

    /// Whether the inexact flag is set, in the lowest bit.
    fn inexact(&mut self) -> Value {
        const _: () = assert!(Flags::NX == 1);
        self.own(I8, offset_of!(Hart, state.flags.0))
    }

    /// Sets the destination to `value` if that is certain to be the result, by the short cut of `fp/host.rs`: the inexact flag
    /// is set, and `is_good` holds.
    fn set_result(&mut self, code: Code, m: &Micro, value: Value, of: Type, is_good: Value) {
        let inexact = self.inexact();
        let condition = self.b.ins().band(is_good, inexact);
        let value = self.value_or_called(condition, value, of, code, m);
        self.set_number(m.rd, value, of);
    }

    /// Goes on if the short cut applies, with `value`; else with what is emitted next. Gives where that is to go on, too.
    fn unless_short(&mut self, value: Value, of: Type, is_good: Value) -> Label {
        let (on, next) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(on, of);
        let inexact = self.inexact();
        let condition = self.b.ins().band(is_good, inexact);
        self.b.ins().brif(condition, on, &[value.into()], next, &[]);
        self.b.switch_to_block(next);
        on
    }

    /// Sets the destination to `value` if it is finite and `has_no_error`; and goes on at `on`.
    fn set_exact(&mut self, code: Code, m: &Micro, value: Value, of: Type, has_no_error: Value, on: Label) {
        let is_finite = self.is_finite(value, of);
        let is_good = self.b.ins().band(is_finite, has_no_error);
        let value = self.value_or_called(is_good, value, of, code, m);
        self.b.ins().jump(on, &[value.into()]);
        self.b.switch_to_block(on);
        let value = self.b.block_params(on)[0];
        self.set_number(m.rd, value, of);
    }

    /// Whether a sum is exact: what `fp/host.rs` computes.
    fn is_sum(&mut self, x: Value, y: Value, sum: Value, of: Type) -> Value {
        let b = &mut self.b;
        let of_y = b.ins().fsub(sum, x);
        let of_x = b.ins().fsub(sum, of_y);
        let (less_x, less_y) = (b.ins().fsub(x, of_x), b.ins().fsub(y, of_y));
        let error = b.ins().fadd(less_x, less_y);
        self.is_zero(error, of)
    }

    fn is_zero(&mut self, value: Value, of: Type) -> Value {
        let (magnitude, ..) = self.magnitude(value, of);
        self.b.ins().icmp_imm(IntCC::Equal, magnitude, 0)
    }

    /// Whether a double-precision product is exact: a factor is zero, or the product has an error that is a number, 0.
    fn is_product(&mut self, x: Value, y: Value, product: Value) -> Value {
        let negative = self.b.ins().fneg(product);
        let error = self.b.ins().fma(x, y, negative);
        let no_error = self.is_zero(error, F64);
        let magnitude = self.b.ins().fabs(product);
        let least = self.b.ins().f64const(DOUBLE_ERRORS_ARE_NUMBERS);
        let is_large = self.b.ins().fcmp(FloatCC::GreaterThan, magnitude, least);
        let (no_x, no_y) = (self.is_zero(x, F64), self.is_zero(y, F64));
        let no_factor = self.b.ins().bor(no_x, no_y);
        let is_told = self.b.ins().bor(is_large, no_factor);
        self.b.ins().band(no_error, is_told)
    }

    fn number(&mut self, r: u8, of: Type) -> Value {
        if of == F64 { self.double(r) } else { self.single(r) }
    }

    fn set_number(&mut self, r: u8, value: Value, of: Type) {
        if of == F64 {
            self.registers.set_double(r, value);
        } else {
            self.registers.set_single(r, value);
        }
    }

    fn arithmetic(&mut self, code: Code, m: &Micro, of: Type) {
        use Code::*;
        self.nearest(m);
        let x = self.number(m.rs1, of);
        if matches!(code, FsqrtD | FsqrtS) {
            let value = self.b.ins().sqrt(x);
            let is_good = self.is_ordinary(value, of);
            return self.set_result(code, m, value, of, is_good);
        }
        let y = self.number(m.rs2, of);
        let b = &mut self.b;
        let value = match code {
            FaddD | FaddS => b.ins().fadd(x, y),
            FsubD | FsubS => b.ins().fsub(x, y),
            FmulD | FmulS => b.ins().fmul(x, y),
            _ => b.ins().fdiv(x, y),
        };
        let is_sum = matches!(code, FaddD | FaddS | FsubD | FsubS);
        let is_good = if is_sum { self.is_finite(value, of) } else { self.is_ordinary(value, of) };
        if self.expects_exact() && is_sum {
            let on = self.unless_short(value, of, is_good);
            let y = if matches!(code, FsubD | FsubS) { self.b.ins().fneg(y) } else { y };
            let no_error = self.is_sum(x, y, value, of);
            return self.set_exact(code, m, value, of, no_error, on);
        }
        if self.expects_exact() && code == FmulD && self.has_fma() {
            let on = self.unless_short(value, of, is_good);
            let no_error = self.is_product(x, y, value);
            return self.set_exact(code, m, value, of, no_error, on);
        }
        self.set_result(code, m, value, of, is_good);
    }

    fn fused(&mut self, code: Code, m: &Micro, of: Type) {
        use Code::*;
        self.nearest(m);
        let [mut x, y, mut z] = [m.rs1, m.rs2, m.rs3].map(|r| self.number(r, of));
        if matches!(code, FnmsubD | FnmaddD | FnmsubS | FnmaddS) {
            x = self.b.ins().fneg(x);
        }
        if matches!(code, FmsubD | FnmaddD | FmsubS | FnmaddS) {
            z = self.b.ins().fneg(z);
        }
        let value = self.b.ins().fma(x, y, z);
        let is_good = self.is_ordinary(value, of);
        if self.expects_exact() && of == F64 {
            let on = self.unless_short(value, of, is_good);
            let product = self.b.ins().fmul(x, y);
            let (exact_product, exact_sum) =
                (self.is_product(x, y, product), self.is_sum(product, z, value, of));
            let no_error = self.b.ins().band(exact_product, exact_sum);
            return self.set_exact(code, m, value, of, no_error, on);
        }
        self.set_result(code, m, value, of, is_good);
    }

    /// The bits of a number without its sign, at the upper end of a word; and those of an infinity, and of the least number
    /// above the smallest normal one.
    fn magnitude(&mut self, value: Value, of: Type) -> (Value, u64, u64) {
        let (bits, infinity, least) = if of == F64 {
            (I64, 0x7ff0u64 << 48, (1u64 << 52) + 1)
        } else {
            (I32, 0x7f80u64 << 16, (1u64 << 23) + 1)
        };
        let bits = self.b.ins().bitcast(bits, MemFlags::new(), value);
        (self.b.ins().iadd(bits, bits), infinity << 1, least << 1)
    }

    /// Whether `value` is finite.
    fn is_finite(&mut self, value: Value, of: Type) -> Value {
        let (magnitude, infinity, _) = self.magnitude(value, of);
        self.b.ins().icmp_imm(IntCC::UnsignedLessThan, magnitude, infinity as i64)
    }

    /// Whether `value` is finite and larger than the smallest normal number.
    fn is_ordinary(&mut self, value: Value, of: Type) -> Value {
        let (magnitude, infinity, least) = self.magnitude(value, of);
        let above = self.b.ins().iadd_imm(magnitude, (least as i64).wrapping_neg());
        self.b.ins().icmp_imm(IntCC::UnsignedLessThan, above, (infinity - least) as i64)
    }

    /// Leaves if a comparison meets a NaN.
    fn compare(&mut self, code: Code, m: &Micro, of: Type) {
        use Code::*;
        let (x, y) = (self.number(m.rs1, of), self.number(m.rs2, of));
        self.flush();
        let unordered = self.b.ins().fcmp(FloatCC::Unordered, x, y);
        self.exit_if(unordered);
        let condition = match code {
            FeqD | FeqS => FloatCC::Equal,
            FltD | FltS => FloatCC::LessThan,
            _ => FloatCC::LessThanOrEqual,
        };
        let holds = self.b.ins().fcmp(condition, x, y);
        let value = self.b.ins().uextend(I64, holds);
        self.registers.set_x(m.rd, value);
    }

    /// Signs of doubles.
    fn sign(&mut self, code: Code, m: &Micro) {
        if m.rs1 == m.rs2 {
            let value = self.double(m.rs1);
            let value = match code {
                Code::FsgnjD => value,
                Code::FsgnjnD => self.b.ins().fneg(value),
                _ => self.b.ins().fabs(value),
            };
            return self.registers.set_double(m.rd, value);
        }
        let (x, y) = (self.f(m.rs1), self.f(m.rs2));
        let b = &mut self.b;
        let y = if code == Code::FsgnjnD { b.ins().bnot(y) } else { y };
        let sign = b.ins().band_imm(y, i64::MIN);
        let value = if code == Code::FsgnjxD {
            b.ins().bxor(x, sign)
        } else {
            let magnitude = b.ins().band_imm(x, i64::MAX);
            b.ins().bor(magnitude, sign)
        };
        self.registers.set_f(m.rd, value);
    }

    fn integer_to_float(&mut self, code: Code, m: &Micro) {
        use Code::*;
        self.nearest(m);
        let x = self.x(m.rs1);
        let b = &mut self.b;
        let x = match code {
            FcvtDL | FcvtSL => x,
            FcvtDWu => {
                let word = b.ins().ireduce(I32, x);
                b.ins().uextend(I64, word)
            }
            _ => b.ins().ireduce(I32, x),
        };
        let of = if matches!(code, FcvtSW | FcvtSL) { F32 } else { F64 };
        let value = b.ins().fcvt_from_sint(of, x);
        if matches!(code, FcvtDW | FcvtDWu) {
            // Exact.
            return self.set_number(m.rd, value, of);
        }
        let inexact = self.inexact();
        let inexact = self.b.ins().band_imm(inexact, i64::from(Flags::NX));
        let value = self.value_or_called(inexact, value, of, code, m);
        self.set_number(m.rd, value, of);
    }

    /// Between single and double precision.
    fn convert(&mut self, code: Code, m: &Micro) {
        self.nearest(m);
        if code == Code::FcvtSD {
            let x = self.double(m.rs1);
            let value = self.b.ins().fdemote(F32, x);
            let is_good = self.is_ordinary(value, F32);
            return self.set_result(code, m, value, F32, is_good);
        }
        let x = self.single(m.rs1);
        let value = self.b.ins().fpromote(F64, x);
        // Exact, if it is no NaN.
        let is_good = self.is_finite(value, F64);
        let value = self.value_or_called(is_good, value, F64, code, m);
        self.registers.set_double(m.rd, value);
    }
}

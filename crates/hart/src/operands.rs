//! Which register an instruction writes and which memory it touches: for observers.

use crate::insn::{Format, Insn};
use crate::{Class, State, class};

/// A register by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Of the integer registers.
    X(u8),
    /// Of the floating-point registers.
    F(u8),
}

impl Insn {
    /// The register that it writes; `None`: none, or x0.
    pub fn destination(&self) -> Option<Register> {
        use Format::*;
        match self.op.encoding()?.format {
            R | R4 | I | Shift5 | Shift6 | Load | Upper | Jump | Csr | CsrImmediate | LoadReserved | Amo
            | FpCompare | FpToInteger | FpMoveToInteger | Store64Answered => {
                (self.rd != 0).then_some(Register::X(self.rd))
            }
            FpLoad | FpFused | FpBinary | FpExact | FpUnary | FpFromInteger | FpMoveFromInteger => {
                Some(Register::F(self.rd))
            }
            Store | FpStore | Branch | Fence | FenceInstructions | Fixed | CacheBlock | FenceAddresses
            | Mark | Store64 => None,
        }
    }

    /// The virtual address of the memory that it reads or writes, in `state` before it is executed.
    pub fn touches(&self, state: &State) -> Option<u64> {
        let base = state.x[usize::from(self.rs1)];
        match class(self.op) {
            Class::Load | Class::Store => Some(base.wrapping_add(self.imm as u64)),
            // An immediate of theirs is the acquire and release bits.
            Class::Amo | Class::Store64 => Some(base),
            _ => None,
        }
    }

    /// The register whose value it stores; of eight the first.
    pub fn stored(&self) -> Option<Register> {
        match self.op.encoding()?.format {
            Format::Store | Format::Store64 | Format::Store64Answered => Some(Register::X(self.rs2)),
            Format::FpStore => Some(Register::F(self.rs2)),
            _ => None,
        }
    }
}

impl Register {
    /// Its value.
    pub fn value(self, state: &State) -> u64 {
        match self {
            Register::X(number) => state.x[usize::from(number)],
            Register::F(number) => state.f[usize::from(number)],
        }
    }

    /// Its name in the calling convention.
    pub fn name(self) -> &'static str {
        match self {
            Register::X(number) => crate::disasm::x_name(number),
            Register::F(number) => crate::disasm::f_name(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    #[test]
    fn operands_of_some_instructions() {
        let mut state = State::new(0);
        state.x[10] = 0x1000;
        let of = |bits| {
            let insn = decode(bits);
            (insn.destination(), insn.stored(), insn.touches(&state))
        };
        let (x, f) = (|n| Some(Register::X(n)), |n| Some(Register::F(n)));
        assert_eq!(of(0x0085_3583), (x(11), None, Some(0x1008)), "ld a1,8(a0)");
        assert_eq!(of(0xfeb5_3c23), (None, x(11), Some(0x0ff8)), "sd a1,-8(a0)");
        assert_eq!(of(0x0005_3587), (f(11), None, Some(0x1000)), "fld fa1,0(a0)");
        assert_eq!(of(0x00b5_3027), (None, f(11), Some(0x1000)), "fsd fa1,0(a0)");
        assert_eq!(of(0x06b5_262f), (x(12), None, Some(0x1000)), "amoadd.w.aqrl a2,a1,(a0)");
        assert_eq!(of(0x00b5_000b), (None, x(11), Some(0x1000)), "st64b a1,(a0)");
        assert_eq!(of(0x02b5_060b), (x(12), x(11), Some(0x1000)), "st64bv a2,a1,(a0)");
        assert_eq!(of(0x0085_158b), (x(11), None, Some(0x1008)), "nload a1,8(a0)");
        assert_eq!(of(0x00b5_358b), (x(11), None, None), "remap a1,a0,a1");
        assert_eq!(of(0x68b5_458b), (x(11), None, None), "prebind a1,a0,a1,a3");
        assert_eq!(of(0x0000_8067), (None, None, None), "ret");
        assert_eq!(of(0x02b5_0553), (f(10), None, None), "fadd.d fa0,fa0,fa1,rne");
        assert_eq!(of(0xa2b5_2553), (x(10), None, None), "feq.d a0,fa0,fa1");
    }
}

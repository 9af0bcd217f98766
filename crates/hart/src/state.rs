//! The architectural state of a hart at user level.

use crate::fp::Flags;

/// Index into [`State::x`] that stands for x0 as a destination: written, never read.
pub const SINK: u8 = 32;

/// What a user-level program can see of its hart.
#[derive(Clone, Debug)]
pub struct State {
    /// Integer registers. `x[0]` is always 0; the pre-decoder turns a destination of 0 into [`SINK`], so
    /// that writing needs no test.
    pub x: [u64; 33],
    /// Floating-point registers; single-precision values are NaN-boxed.
    pub f: [u64; 32],
    /// Address of the next instruction.
    pub pc: u64,
    /// Floating-point control and status register: accrued exceptions.
    pub flags: Flags,
    /// Floating-point control and status register: dynamic rounding mode, three bits, reserved ones too.
    pub frm: u8,
}

impl State {
    /// All registers zero.
    pub fn new(pc: u64) -> Self {
        Self { x: [0; 33], f: [0; 32], pc, flags: Flags::default(), frm: 0 }
    }
}

/// What was written to [`SINK`] is not state: the reference writes nothing there, and nothing reads it.
impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        let State { x, f, pc, flags, frm } = self;
        let registers = usize::from(SINK);
        x[..registers] == other.x[..registers]
            && (f, pc, flags, frm) == (&other.f, &other.pc, &other.flags, &other.frm)
    }
}

impl Eq for State {}

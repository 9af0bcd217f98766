//! What `fcsr` holds: accrued exceptions and the rounding mode.

/// Accrued exceptions, as in `fflags`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Inexact.
    pub const NX: u8 = 1;
    /// Underflow.
    pub const UF: u8 = 2;
    /// Overflow.
    pub const OF: u8 = 4;
    /// Divide by zero.
    pub const DZ: u8 = 8;
    /// Invalid operation.
    pub const NV: u8 = 16;

    /// Adds exceptions.
    #[inline(always)]
    pub fn raise(&mut self, exceptions: u8) {
        self.0 |= exceptions;
    }
}

/// A rounding mode; the numbers are those of `frm` and of the rm field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rounding {
    /// RNE: to nearest, ties to even.
    NearestEven = 0,
    /// RTZ: towards zero.
    Zero = 1,
    /// RDN: down.
    Down = 2,
    /// RUP: up.
    Up = 3,
    /// RMM: to nearest, ties to the larger magnitude.
    NearestMagnitude = 4,
}

impl Rounding {
    /// All modes, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::NearestEven, Self::Zero, Self::Down, Self::Up, Self::NearestMagnitude];

    /// The mode for an instruction's rm field when the CSR holds `frm`; none if it is reserved, which
    /// makes the instruction illegal.
    #[inline(always)]
    pub const fn select(rm: u8, frm: u8) -> Option<Self> {
        match if rm == 7 { frm } else { rm } {
            0 => Some(Self::NearestEven),
            1 => Some(Self::Zero),
            2 => Some(Self::Down),
            3 => Some(Self::Up),
            4 => Some(Self::NearestMagnitude),
            _ => None,
        }
    }
}

//! Simulated time.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, or a length of it [ps].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start of the simulation.
    pub const ZERO: Time = Time(0);
    /// Later than everything that happens: "never".
    pub const NEVER: Time = Time(u64::MAX);

    /// The later of the two.
    pub fn max(self, other: Time) -> Time {
        Ord::max(self, other)
    }

    /// The earlier of the two.
    pub fn min(self, other: Time) -> Time {
        Ord::min(self, other)
    }
}

impl Add for Time {
    type Output = Time;
    /// Saturates, so that "never" plus anything is never.
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.0 as f64;
        match self.0 {
            u64::MAX => write!(f, "never"),
            0..1_000 => write!(f, "{} ps", self.0),
            1_000..1_000_000 => write!(f, "{:.3} ns", ps / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.3} us", ps / 1e6),
            1_000_000_000..1_000_000_000_000 => write!(f, "{:.3} ms", ps / 1e9),
            _ => write!(f, "{:.6} s", ps / 1e12),
        }
    }
}

const PS_PER_S: u64 = 1_000_000_000_000;

/// A clock whose edge *n* is at floor(*n* / frequency): periods that are not whole picoseconds
/// never accumulate an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    hz: u64,
    /// The period [ps] as a reduced fraction.
    numerator: u64,
    denominator: u64,
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Clock {
    /// A clock of `hz` hertz.
    ///
    /// # Panics
    /// When `hz` is zero or above 1 THz, whose edges picoseconds can't tell apart.
    pub fn new(hz: u64) -> Clock {
        assert!(hz > 0 && hz <= PS_PER_S, "clock of {hz} Hz");
        let common = greatest_common_divisor(PS_PER_S, hz);
        Clock { hz, numerator: PS_PER_S / common, denominator: hz / common }
    }

    /// Frequency [Hz].
    pub fn hz(self) -> u64 {
        self.hz
    }

    /// Time of edge `n`.
    #[inline]
    pub fn edge(self, n: u64) -> Time {
        match n.checked_mul(self.numerator) {
            Some(product) => Time(product / self.denominator),
            None => {
                let wide = u128::from(n) * u128::from(self.numerator) / u128::from(self.denominator);
                Time(u64::try_from(wide).unwrap_or(u64::MAX))
            }
        }
    }

    /// Number of the first edge at or after `t`.
    #[inline]
    pub fn edge_at_or_after(self, t: Time) -> u64 {
        if t == Time::NEVER {
            return u64::MAX;
        }
        match t.0.checked_mul(self.denominator) {
            Some(product) => product.div_ceil(self.numerator),
            None => {
                (u128::from(t.0) * u128::from(self.denominator)).div_ceil(u128::from(self.numerator)) as u64
            }
        }
    }

    /// Time of the first edge at or after `t`.
    pub fn align(self, t: Time) -> Time {
        self.edge(self.edge_at_or_after(t))
    }

    /// Time of the edge `cycles` after the first edge at or after `t`.
    pub fn after(self, t: Time, cycles: u64) -> Time {
        self.edge(self.edge_at_or_after(t).saturating_add(cycles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_a_clock_with_a_fractional_period() {
        // 150 MHz: 6666.67 ps. Three edges are 20 ns exactly, the bus clock of voyager.
        let clock = Clock::new(150_000_000);
        assert_eq!([0, 1, 2, 3].map(|n| clock.edge(n).0), [0, 6666, 13333, 20000]);
        for n in [0, 1, 2, 3, 1_000_000, 123_456_789_012] {
            assert_eq!(clock.edge_at_or_after(clock.edge(n)), n);
            assert_eq!(clock.edge_at_or_after(clock.edge(n) + Time(1)), n + 1);
        }
    }

    #[test]
    fn edges_of_a_clock_with_a_whole_period() {
        let clock = Clock::new(50_000_000);
        assert_eq!(clock.edge(7), Time(140_000));
        assert_eq!(clock.align(Time(140_001)), Time(160_000));
        assert_eq!(clock.after(Time(140_000), 2), Time(180_000));
    }

    #[test]
    fn never_stays_never() {
        assert_eq!(Time::NEVER + Time(5), Time::NEVER);
        assert_eq!(Clock::new(1_000_000_000).edge_at_or_after(Time::NEVER), u64::MAX);
    }
}

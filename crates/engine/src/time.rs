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

    /// Simulated time ends here, a day before what its number can hold (some 213 days): nothing happens from then on, and
    /// sums of times up to here are right.
    pub const END: Time = Time(u64::MAX - 24 * 3600 * PS_PER_S);

    /// The later of the two.
    #[inline]
    pub fn max(self, other: Time) -> Time {
        Ord::max(self, other)
    }

    /// The earlier of the two.
    #[inline]
    pub fn min(self, other: Time) -> Time {
        Ord::min(self, other)
    }
}

impl Add for Time {
    type Output = Time;
    /// Saturates, so that "never" plus anything is never.
    #[inline]
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
    #[inline]
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

/// A number to divide by again and again: a multiplication and a correction take a third of the time of a
/// division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Divisor {
    value: u64,
    /// floor((2^64 - 1) / value).
    reciprocal: u64,
}

impl Divisor {
    fn new(value: u64) -> Divisor {
        Divisor { value, reciprocal: u64::MAX / value }
    }

    /// floor(`dividend` / value).
    #[inline]
    fn divide(self, dividend: u64) -> u64 {
        // The reciprocal is less than one too small, so the estimate is the quotient or one less.
        let estimate = ((u128::from(dividend) * u128::from(self.reciprocal)) >> 64) as u64;
        estimate + u64::from(dividend - estimate * self.value >= self.value)
    }

    /// ceil(`dividend` / value).
    #[inline]
    fn divide_up(self, dividend: u64) -> u64 {
        let floor = self.divide(dividend);
        floor + u64::from(floor * self.value != dividend)
    }
}

/// A clock whose edge *n* is at floor(*n* / frequency): periods that are not whole picoseconds
/// never accumulate an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    hz: u64,
    /// The period [ps] as a reduced fraction.
    numerator: Divisor,
    denominator: Divisor,
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
        Clock { hz, numerator: Divisor::new(PS_PER_S / common), denominator: Divisor::new(hz / common) }
    }

    /// Frequency [Hz].
    #[inline]
    pub fn hz(self) -> u64 {
        self.hz
    }

    /// Time of edge `n`.
    #[inline]
    pub fn edge(self, n: u64) -> Time {
        match n.checked_mul(self.numerator.value) {
            Some(product) if self.denominator.value == 1 => Time(product),
            Some(product) => Time(self.denominator.divide(product)),
            None => self.wide_edge(n),
        }
    }

    #[cold]
    fn wide_edge(self, n: u64) -> Time {
        let wide = u128::from(n) * u128::from(self.numerator.value) / u128::from(self.denominator.value);
        Time(u64::try_from(wide).unwrap_or(u64::MAX))
    }

    /// Number of the first edge at or after `t`.
    #[inline]
    pub fn edge_at_or_after(self, t: Time) -> u64 {
        match t.0.checked_mul(self.denominator.value) {
            _ if t == Time::NEVER => u64::MAX,
            Some(product) => self.numerator.divide_up(product),
            None => self.wide_edge_at_or_after(t),
        }
    }

    #[cold]
    fn wide_edge_at_or_after(self, t: Time) -> u64 {
        let product = u128::from(t.0) * u128::from(self.denominator.value);
        product.div_ceil(u128::from(self.numerator.value)) as u64
    }

    /// Time of the first edge at or after `t`.
    #[inline]
    pub fn align(self, t: Time) -> Time {
        self.edge(self.edge_at_or_after(t))
    }

    /// Time of the edge `cycles` after the first edge at or after `t`.
    #[inline]
    pub fn after(self, t: Time, cycles: u64) -> Time {
        self.edge(self.edge_at_or_after(t).saturating_add(cycles))
    }
}

/// The cycles of a hart: edges of its clock, counted from a moment that need not be an edge itself.
#[derive(Clone, Copy, Debug)]
pub struct Cycles {
    clock: Clock,
    first: u64,
    start: Time,
}

impl Cycles {
    /// Cycle `first` starts at `start`.
    pub fn new(clock: Clock, first: u64, start: Time) -> Cycles {
        Cycles { clock, first, start }
    }

    /// The clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The cycle from which they are counted: no other comes before it.
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The time at which `cycle` starts.
    #[inline]
    pub fn time_of(&self, cycle: u64) -> Time {
        self.start + self.clock.edge(cycle - self.first)
    }

    /// The first cycle that starts at or after `time`.
    #[inline]
    pub fn cycle_at(&self, time: Time) -> u64 {
        if time == Time::NEVER {
            return u64::MAX;
        }
        self.first + self.clock.edge_at_or_after(Time(time.0.saturating_sub(self.start.0)))
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
    fn division_by_reciprocals_is_exact() {
        let divisors = [1, 2, 3, 7, 133, 1000, 20_000, 1_000_000, 1 << 40, PS_PER_S, u64::MAX / 2, u64::MAX];
        for d in divisors {
            let divisor = Divisor::new(d);
            let multiples = [0, 1, 2, 1000, u64::MAX / d].map(|k| k.saturating_mul(d));
            for n in multiples.iter().flat_map(|&m| [m.saturating_sub(1), m, m.saturating_add(1)]) {
                assert_eq!(divisor.divide(n), n / d, "{n} / {d}");
                assert_eq!(divisor.divide_up(n), n.div_ceil(d), "{n} / {d}, up");
            }
            assert_eq!(divisor.divide(u64::MAX), u64::MAX / d);
        }
    }

    #[test]
    fn never_stays_never() {
        assert_eq!(Time::NEVER + Time(5), Time::NEVER);
        assert_eq!(Clock::new(1_000_000_000).edge_at_or_after(Time::NEVER), u64::MAX);
    }
}

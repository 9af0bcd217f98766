//! The decrementer: a count of 32 bits that falls with each tick of the time base, and the time base.

use chasqui_engine::{Clock, Time};

/// A decrementer.
///
/// ```
/// use chasqui_element::Decrementer;
/// use chasqui_engine::Time;
/// // 80 MHz: a tick each 12.5 ns.
/// let mut decrementer = Decrementer::new(80_000_000);
/// decrementer.set(100, Time(12_500));
/// assert_eq!(decrementer.value(Time(24_999)), 100);
/// assert_eq!(decrementer.value(Time(25_000)), 99);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Decrementer {
    ticks: Clock,
    /// What it was set to, and at which tick.
    from: u32,
    since: u64,
    /// The program hears of its passing zero at that tick.
    passes: Option<u64>,
}

impl Decrementer {
    /// One of a time base of `hz`, 0 at time 0.
    pub fn new(hz: u64) -> Decrementer {
        Decrementer { ticks: Clock::new(hz), from: 0, since: 0, passes: None }
    }

    /// Ticks of the time base until `now`.
    pub fn timebase(&self, now: Time) -> u64 {
        self.ticks.edge_at_or_after(Time(now.0 + 1)) - 1
    }

    /// It is set to `value`.
    pub fn set(&mut self, value: u32, now: Time) {
        (self.from, self.since) = (value, self.timebase(now));
        self.passes = Some(self.since + u64::from(value) + 1);
    }

    /// It is as at first.
    pub fn forget(&mut self) {
        (self.from, self.since, self.passes) = (0, 0, None);
    }

    /// Its value.
    pub fn value(&self, now: Time) -> u32 {
        self.from.wrapping_sub((self.timebase(now) - self.since) as u32)
    }

    /// When it passes zero next, to all ones (CBEA 1.02, decrementer event: the most significant bit changes from 0 to 1,
    /// which of a value beyond half comes at once; ours is only the former). None: that is over, or it was never set.
    pub fn passes_at(&self) -> Option<Time> {
        Some(self.ticks.edge(self.passes?))
    }

    /// Takes whether it has passed zero.
    pub fn take_passed(&mut self, now: Time) -> bool {
        let ticks = self.timebase(now);
        self.passes.take_if(|passes| *passes <= ticks).is_some()
    }
}

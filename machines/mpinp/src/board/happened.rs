//! What has happened, as the firmware hears of it. What happens at the very time of a load may come before it or after it in
//! the order of events, which says nothing: so a load is told of what was before its time.

use std::collections::VecDeque;

use chasqui_engine::Time;

/// Bits, each with the time at which it was set.
#[derive(Default)]
pub(super) struct Happened {
    bits: VecDeque<(Time, u64)>,
    /// The bits that were set last, and when.
    latest: (Time, u64),
}

impl Happened {
    /// These happen at `now`.
    pub fn add(&mut self, bits: u64, now: Time) {
        self.bits.push_back((now, bits));
        let before = if self.latest.0 == now { self.latest.1 } else { 0 };
        self.latest = (now, before | bits);
    }

    /// Those that happened before `now`, and have not been taken.
    pub fn take_before(&mut self, now: Time) -> u64 {
        let count = self.bits.iter().take_while(|&&(at, _)| at < now).count();
        self.bits.drain(..count).fold(0, |all, (_, bits)| all | bits)
    }

    /// The first, for a load that is held; none: 0.
    pub fn take_first(&mut self) -> u64 {
        self.bits.pop_front().map_or(0, |(_, bits)| bits)
    }

    /// `bit` has been set at this very time.
    pub fn is_now(&self, bit: u64, now: Time) -> bool {
        self.latest.0 == now && self.latest.1 & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_told_of_what_was_before_its_time() {
        let mut happened = Happened::default();
        happened.add(1, Time(10));
        happened.add(2, Time(20));
        happened.add(4, Time(20));
        assert!(happened.is_now(2, Time(20)) && !happened.is_now(1, Time(20)));
        assert_eq!(happened.take_before(Time(20)), 1);
        assert_eq!((happened.take_first(), happened.take_before(Time(21)), happened.take_first()), (2, 4, 0));
    }
}

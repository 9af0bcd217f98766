//! Clocks and sleep, in simulated time.

use chasqui_engine::Time;

use super::{Call, Outcome, Result, Stop};
use crate::errno::Errno;

/// What the wall clock says when the simulation starts [s since 1970]: 2000-01-01 00:00:00 UTC.
pub const EPOCH_S: u64 = 946_684_800;

const NS_PER_S: u64 = 1_000_000_000;
const PS_PER_NS: u64 = 1000;

// Linux include/uapi/linux/time.h.
const CLOCK_REALTIME: i32 = 0;
const CLOCK_REALTIME_COARSE: i32 = 5;
const CLOCK_REALTIME_ALARM: i32 = 8;
const CLOCK_TAI: i32 = 11;
const TIMER_ABSTIME: u64 = 1;

/// What `clock` says at the start of the simulation [s]. Others than the wall clock count from
/// there; the processor clocks too, for a rank has its hart to itself. Negative numbers are
/// processor clocks of a process or thread.
fn base_s(clock: u64) -> std::result::Result<u64, Errno> {
    match clock as i32 {
        CLOCK_REALTIME | CLOCK_REALTIME_COARSE | CLOCK_REALTIME_ALARM | CLOCK_TAI => Ok(EPOCH_S),
        ..0 | 1..=9 => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}

impl Call<'_> {
    /// The `struct timespec` at `address` [ns].
    pub(super) fn timespec(&mut self, address: u64) -> Result<u64> {
        let [seconds, nanoseconds] = self.read_words(address)?;
        if nanoseconds >= NS_PER_S || (seconds as i64) < 0 {
            return Err(Errno::EINVAL.into());
        }
        Ok(seconds.saturating_mul(NS_PER_S).saturating_add(nanoseconds))
    }

    /// The time `nanoseconds` from now; if simulated time ends before, its end.
    pub(super) fn after(&self, nanoseconds: u64) -> Time {
        (self.now + Time(nanoseconds.saturating_mul(PS_PER_NS))).min(Time::END)
    }

    /// The time at which `clock` says `nanoseconds`; if simulated time ends before, its end.
    pub(super) fn at(&self, clock: u64, nanoseconds: u64) -> Result<Time> {
        let since = nanoseconds.saturating_sub(base_s(clock)? * NS_PER_S);
        Ok(Time(since.saturating_mul(PS_PER_NS)).min(Time::END))
    }

    pub(super) fn clock_gettime(&mut self, clock: u64, address: u64) -> Result<i64> {
        let base = base_s(clock)?;
        let nanoseconds = self.now.0 / PS_PER_NS;
        self.write_words(address, &[base + nanoseconds / NS_PER_S, nanoseconds % NS_PER_S])?;
        Ok(0)
    }

    pub(super) fn clock_getres(&mut self, clock: u64, address: u64) -> Result<i64> {
        base_s(clock)?;
        if address != 0 {
            self.write_words(address, &[0, 1])?;
        }
        Ok(0)
    }

    pub(super) fn gettimeofday(&mut self, time: u64, zone: u64) -> Result<i64> {
        if time != 0 {
            let microseconds = self.now.0 / (1000 * PS_PER_NS);
            self.write_words(time, &[EPOCH_S + microseconds / 1_000_000, microseconds % 1_000_000])?;
        }
        if zone != 0 {
            self.write(zone, &[0; 8])?;
        }
        Ok(0)
    }

    pub(super) fn nanosleep(&mut self, request: u64) -> Result<i64> {
        let nanoseconds = self.timespec(request)?;
        self.sleep(self.after(nanoseconds), 0)
    }

    pub(super) fn clock_nanosleep(&mut self, clock: u64, flags: u64, request: u64) -> Result<i64> {
        base_s(clock)?;
        let nanoseconds = self.timespec(request)?;
        let until =
            if flags & TIMER_ABSTIME != 0 { self.at(clock, nanoseconds)? } else { self.after(nanoseconds) };
        self.sleep(until, 0)
    }

    /// Goes on at `until` with `value`; at once when that is past.
    pub(super) fn sleep(&self, until: Time, value: i64) -> Result<i64> {
        if until <= self.now {
            return Ok(value);
        }
        Err(Stop::Outcome(Outcome::Sleep { until, value }))
    }
}

//! When what was recorded happens: how much simulated time a unit of recorded time is, and where both begin.

use std::fmt;
use std::str::FromStr;

use chasqui_config::Duration;
use chasqui_engine::Time;

/// Ratio of simulated to recorded time, r: exact, so that a message comes at the same picosecond everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRatio {
    /// Millionths.
    millionths: u64,
}

/// Digits behind the point.
const DIGITS: usize = 6;
const ONE: u64 = 1_000_000;
/// Largest ratio.
const MOST: u64 = 1_000_000;

impl TimeRatio {
    /// Recorded times as they are.
    pub const ONE: TimeRatio = TimeRatio { millionths: ONE };

    /// The ratio [1/1,000,000].
    pub fn millionths(self) -> u64 {
        self.millionths
    }

    fn scale(self, recorded_ps: u64) -> u128 {
        u128::from(recorded_ps) * u128::from(self.millionths) / u128::from(ONE)
    }
}

impl FromStr for TimeRatio {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeRatio, String> {
        let wrong =
            || format!("--ratio {text}: a number from 0 to {MOST} with up to {DIGITS} decimals is allowed");
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > DIGITS {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let fraction: u64 = format!("{fraction:0<DIGITS$}").parse().expect("digits");
        if whole > MOST || (whole == MOST && fraction > 0) {
            return Err(wrong());
        }
        Ok(TimeRatio { millionths: whole * ONE + fraction })
    }
}

impl fmt::Display for TimeRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:0DIGITS$}", self.millionths / ONE, self.millionths % ONE);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// When recorded messages arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Simulated time of a unit of recorded time.
    pub ratio: TimeRatio,
    /// So much later [ps], or earlier if it is negative.
    pub shift_ps: i64,
}

impl Pace {
    /// As recorded.
    pub const RECORDED: Pace = Pace { ratio: TimeRatio::ONE, shift_ps: 0 };

    /// `ratio` as in `--ratio`; `shift` is a time with its unit, and perhaps a sign.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn parse(ratio: &str, shift: &str) -> Result<Pace, String> {
        let (size, sign) = shift.strip_prefix('-').map_or((shift, 1), |size| (size, -1));
        let size: Duration = match size {
            "0" => Duration::from_ps(0),
            _ => size.parse().map_err(|what| format!("--shift {shift}: {what}"))?,
        };
        let size = i64::try_from(size.ps()).map_err(|_| format!("--shift {shift}: it is too long"))?;
        Ok(Pace { ratio: ratio.parse()?, shift_ps: sign * size })
    }

    /// When something that was recorded at `recorded_ps` happens, rounded down: from the start on, and never later than
    /// [`Time::NEVER`] - 1.
    pub fn time(self, recorded_ps: u64) -> Time {
        let scaled = i128::try_from(self.ratio.scale(recorded_ps)).unwrap_or(i128::MAX / 2);
        let shifted = (scaled + i128::from(self.shift_ps)).max(0);
        Time(u64::try_from(shifted).unwrap_or(u64::MAX).min(Time::NEVER.0 - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_exact() {
        for (text, shown, of_ten_million) in [
            ("1", "1", 10_000_000),
            ("0.25", "0.25", 2_500_000),
            ("2.000001", "2.000001", 20_000_010),
            ("0", "0", 0),
            ("1.", "1", 10_000_000),
        ] {
            let ratio: TimeRatio = text.parse().expect("a ratio");
            assert_eq!((ratio.to_string().as_str(), ratio.scale(10_000_000)), (shown, of_ten_million));
        }
        assert_eq!("0.333333".parse::<TimeRatio>().expect("a ratio").scale(10), 3, "rounded down");
    }

    #[test]
    fn recorded_times_are_scaled_then_shifted() {
        let time = |ratio, shift, recorded| Pace::parse(ratio, shift).expect("a pace").time(recorded);
        assert_eq!(time("0.5", "3ns", 10_000), Time(8_000));
        assert_eq!(time("2", "-3us", 2_000_000), Time(1_000_000));
        assert_eq!(time("1", "-3us", 2_000_000), Time::ZERO, "not before the start");
        assert!(time("1000000", "200000 s", u64::MAX) < Time::NEVER);
        for shift in ["", "-", "3", "--1us", "1 week", "x"] {
            let error = Pace::parse("1", shift).expect_err("no time");
            assert!(error.starts_with("--shift"), "{error}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", ".5", "-1", "1e3", "1/2", "0.1234567", "1000000.1", "99999999999999999999", "x"] {
            let error = text.parse::<TimeRatio>().expect_err("no ratio");
            assert!(error.contains(text) && error.contains("0 to 1000000"), "{error}");
        }
    }
}

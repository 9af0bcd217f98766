//! How much simulated time a unit of recorded time is.

use std::fmt;
use std::str::FromStr;

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

    /// When something that was recorded at `recorded_ps` happens, rounded down. Never later than [`Time::NEVER`] - 1.
    pub fn scale(self, recorded_ps: u64) -> Time {
        let scaled = u128::from(recorded_ps) * u128::from(self.millionths) / u128::from(ONE);
        Time(u64::try_from(scaled).unwrap_or(u64::MAX).min(Time::NEVER.0 - 1))
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
            assert_eq!((ratio.to_string().as_str(), ratio.scale(10_000_000).0), (shown, of_ten_million));
        }
        assert_eq!("0.333333".parse::<TimeRatio>().expect("a ratio").scale(10), Time(3), "rounded down");
        assert!("1000000".parse::<TimeRatio>().expect("a ratio").scale(u64::MAX) < Time::NEVER);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", ".5", "-1", "1e3", "1/2", "0.1234567", "1000000.1", "99999999999999999999", "x"] {
            let error = text.parse::<TimeRatio>().expect_err("no ratio");
            assert!(error.contains(text) && error.contains("0 to 1000000"), "{error}");
        }
    }
}

//! Which instructions a trace is to hold: `FROM..TO[:RANKS]`, as in `1.2ms..1.25ms:0,4-7`.
//!
//! FROM and TO are times with their units; left out, they are the start and the end of the run. RANKS are
//! numbers and ranges of them; left out, all ranks are meant.

use std::ops::RangeInclusive;

use chasqui_config::Duration;
use chasqui_engine::Time;
use chasqui_watch::TracePlan;

/// Reads the window for a run of so many ranks.
///
/// # Errors
/// What is wrong, and what is expected.
pub(crate) fn parse(text: &str, ranks: u32) -> Result<TracePlan, String> {
    let wrong = |what: String| {
        format!("--trace-instructions {text:?}: {what} (FROM..TO[:RANKS], as in 1.2ms..1.25ms:0,4-7)")
    };
    let (window, named) = text.split_once(':').unwrap_or((text, ""));
    let (from, to) = window.split_once("..").ok_or_else(|| wrong("there is no ..".into()))?;
    let time = |text: &str, default: Time| match text.trim() {
        "" => Ok(default),
        // A start at 0 needs no unit.
        "0" => Ok(Time::ZERO),
        given => given.parse().map(|d: Duration| Time(d.ps())).map_err(&wrong),
    };
    let window = time(from, Time::ZERO)?..time(to, Time::NEVER)?;
    if window.is_empty() {
        return Err(wrong("it ends before it begins".into()));
    }
    if text.contains(':') && named.trim().is_empty() {
        return Err(wrong("no rank is named after the colon".into()));
    }
    let named = named.split(',').filter(|_| !named.is_empty());
    let ranks = named.map(|part| some_ranks(part.trim(), ranks)).collect::<Result<_, _>>().map_err(wrong)?;
    Ok(TracePlan { window, ranks })
}

/// `3` or `4-7`, of `ranks`.
fn some_ranks(text: &str, ranks: u32) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("{text:?} is no rank"));
    let some = number(first)?..=number(last)?;
    if some.is_empty() || *some.end() >= ranks {
        return Err(format!("ranks {text}: the run has 0 to {}", ranks - 1));
    }
    Ok(some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read() {
        let plan = parse("1.5us..2ms:0,2-3", 4).expect("a window");
        assert_eq!(plan.window, Time(1_500_000)..Time(2_000_000_000));
        assert_eq!([0, 1, 2, 3].map(|rank| plan.has(rank)), [true, false, true, true]);
        let all = parse("..", 2).expect("a window");
        assert_eq!((all.window, all.ranks), (Time::ZERO..Time::NEVER, vec![]));
    }

    #[test]
    fn what_is_no_window_is_refused() {
        for (text, what) in [
            ("1us", "there is no .."),
            ("5us..2us", "it ends before it begins"),
            ("1..2us", "unit"),
            ("0..1us:", "no rank is named"),
            ("0..1us:4", "ranks 4: the run has 0 to 3"),
            ("0..1us:3-2", "ranks 3-2"),
            ("0..1us:x", "\"x\" is no rank"),
        ] {
            let error = parse(text, 4).expect_err(text);
            assert!(error.contains(what) && error.contains(text), "{text}: {error}");
        }
    }
}

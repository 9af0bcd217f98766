//! Quantities with a unit.

use crate::quantity::{Quantity, Scalar};
use std::fmt;

/// A unit: its word and its size, a fraction of the quantity's base.
struct Unit {
    word: &'static str,
    numerator: u128,
    denominator: u128,
}

const fn unit(word: &'static str, numerator: u128) -> Unit {
    Unit { word, numerator, denominator: 1 }
}

/// What messages need of a quantity.
struct Kind {
    /// `duration`.
    name: &'static str,
    /// `"20 ns"`.
    example: &'static str,
    /// The base unit, for people: `ps`.
    base: &'static str,
    /// Allowed units, smallest first.
    units: &'static [Unit],
}

impl Kind {
    fn allowed(&self) -> String {
        let words: Vec<&str> = self.units.iter().map(|u| u.word).collect();
        format!("{} (as in \"{}\")", words.join(", "), self.example)
    }

    /// Reads a number with a unit as a whole number of the base. Zero is the same in each, and needs none.
    fn parse(&self, scalar: &Scalar) -> Result<u64, String> {
        let text = match scalar {
            Scalar::Text(text) => text.trim(),
            Scalar::Integer(0) => return Ok(0),
            Scalar::Integer(_) | Scalar::Decimal(_) => {
                return Err(format!("{scalar} has no unit; allowed: {}", self.allowed()));
            }
            Scalar::Flag(_) => {
                return Err(format!("{scalar} is not a {}; allowed: {}", self.name, self.allowed()));
            }
        };
        if text.starts_with('-') {
            return Err(format!("{scalar} is negative"));
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, word) = (&text[..end], text[end..].trim());
        if number.is_empty() {
            return Err(format!("{scalar} is not a {}; allowed: a number of {}", self.name, self.allowed()));
        }
        if word.is_empty() && number == "0" {
            return Ok(0);
        }
        if word.is_empty() {
            return Err(format!("{scalar} has no unit; allowed: {}", self.allowed()));
        }
        let Some(unit) = self.units.iter().find(|u| u.word == word) else {
            return Err(format!("{word:?} is not a unit of {}; allowed: {}", self.name, self.allowed()));
        };
        exact(number, unit.numerator, unit.denominator).map_err(|wrong| match wrong {
            Wrong::Number => format!("{number:?} is not a number"),
            Wrong::Fraction => format!("{scalar} is not a whole number of {}", self.base),
            Wrong::Large => format!("{scalar} is too large"),
        })
    }

    /// Writes `value` in the largest unit that is not larger than it. Exact: the units are powers of ten.
    fn show(&self, value: u64, words: &[&str]) -> String {
        let value = u128::from(value);
        let units = || self.units.iter().filter(|u| words.contains(&u.word));
        let unit =
            units().rfind(|u| u.numerator <= value).or_else(|| units().next()).expect("a kind has units");
        let (whole, mut rest) = (value / unit.numerator, value % unit.numerator);
        let mut text = whole.to_string();
        if rest != 0 {
            text.push('.');
        }
        while rest != 0 {
            rest *= 10;
            text += &(rest / unit.numerator).to_string();
            rest %= unit.numerator;
        }
        format!("{text} {}", unit.word)
    }
}

/// Why a number is refused.
#[derive(Debug, PartialEq, Eq)]
enum Wrong {
    Number,
    Fraction,
    Large,
}

/// `number * numerator / denominator`, exactly.
fn exact(number: &str, numerator: u128, denominator: u128) -> Result<u64, Wrong> {
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return Err(Wrong::Number),
        Some((whole, fraction)) => (whole, fraction.trim_end_matches('0')),
        None => (number, ""),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !(fraction.is_empty() || digits(fraction)) {
        return Err(Wrong::Number);
    }
    if fraction.len() > 18 {
        return Err(Wrong::Fraction); // No unit here is that large.
    }
    let whole = whole.trim_start_matches('0');
    if whole.len() > 20 {
        return Err(Wrong::Large);
    }
    // At most 38 digits, which u128 holds.
    let mantissa: u128 = format!("0{whole}{fraction}").parse().map_err(|_| Wrong::Large)?;
    let scale = denominator * 10u128.pow(fraction.len() as u32);
    let scaled = mantissa.checked_mul(numerator).ok_or(Wrong::Large)?;
    if !scaled.is_multiple_of(scale) {
        return Err(Wrong::Fraction);
    }
    u64::try_from(scaled / scale).map_err(|_| Wrong::Large)
}

macro_rules! quantity {
    ($(#[doc = $doc:literal])+ $name:ident, $kind:ident, $from:ident, $get:ident, $zero:literal, $units:literal, |$value:ident| $show:expr) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            #[doc = concat!("From a number of ", stringify!($get), ".")]
            pub const fn $from(value: u64) -> $name {
                $name(value)
            }

            #[doc = concat!("The number of ", stringify!($get), ".")]
            pub const fn $get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $value = self.0;
                f.write_str(&$show)
            }
        }

        impl Quantity for $name {
            const TYPE: &'static str = $kind.name;
            const UNITS: &'static str = $units;

            fn parse(scalar: &Scalar) -> Result<$name, String> {
                match $kind.parse(scalar)? {
                    0 if !$zero => Err(format!("{scalar} is zero, which is not allowed")),
                    value => Ok($name(value)),
                }
            }

            fn scalar(&self) -> Scalar {
                Scalar::Text(self.to_string())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<$name, String> {
                Quantity::parse(&Scalar::from(text))
            }
        }
    };
}

const DURATION: Kind = Kind {
    name: "duration",
    example: "20 ns",
    base: "ps",
    units: &[
        unit("ps", 1),
        unit("ns", 1_000),
        unit("us", 1_000_000),
        unit("µs", 1_000_000),
        unit("ms", 1_000_000_000),
        unit("s", 1_000_000_000_000),
        unit("min", 60_000_000_000_000),
        unit("h", 3_600_000_000_000_000),
    ],
};
const FREQUENCY: Kind = Kind {
    name: "frequency",
    example: "150 MHz",
    base: "Hz",
    units: &[unit("Hz", 1), unit("kHz", 1_000), unit("MHz", 1_000_000), unit("GHz", 1_000_000_000)],
};
const BYTES: Kind = Kind {
    name: "size",
    example: "32 KiB",
    base: "bytes",
    units: &[
        unit("B", 1),
        unit("kB", 1_000),
        unit("KiB", 1 << 10),
        unit("MB", 1_000_000),
        unit("MiB", 1 << 20),
        unit("GB", 1_000_000_000),
        unit("GiB", 1 << 30),
    ],
};
const BANDWIDTH: Kind = Kind {
    name: "bandwidth",
    example: "160 MB/s",
    base: "bytes a second",
    units: &[
        Unit { word: "b/s", numerator: 1, denominator: 8 },
        unit("B/s", 1),
        unit("kb/s", 125),
        unit("kB/s", 1_000),
        unit("KiB/s", 1 << 10),
        unit("Mb/s", 125_000),
        unit("MB/s", 1_000_000),
        unit("MiB/s", 1 << 20),
        unit("Gb/s", 125_000_000),
        unit("GB/s", 1_000_000_000),
        unit("GiB/s", 1 << 30),
    ],
};
const CYCLES: Kind = Kind {
    name: "cycles",
    example: "18 cycles",
    base: "cycles",
    units: &[unit("cycle", 1), unit("cycles", 1)],
};

quantity! {
    /// A length of time, a whole number of picoseconds.
    Duration, DURATION, from_ps, ps, true, "ps, ns, us, µs, ms, s, min, h",
    |value| DURATION.show(value, &["ps", "ns", "us", "ms", "s"])
}
quantity! {
    /// A clock's frequency, a whole number of hertz, never zero.
    Frequency, FREQUENCY, from_hz, hz, false, "Hz, kHz, MHz, GHz",
    |value| FREQUENCY.show(value, &["Hz", "kHz", "MHz", "GHz"])
}
quantity! {
    /// A size in bytes.
    Bytes, BYTES, from_bytes, bytes, true, "B, kB, KiB, MB, MiB, GB, GiB", |value| {
        let binary = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match binary.into_iter().find(|(_, size)| value != 0 && value.is_multiple_of(*size)) {
            Some((word, size)) => format!("{} {word}", value / size),
            None => format!("{value} B"),
        }
    }
}
quantity! {
    /// A rate of data, a whole number of bytes a second, never zero.
    Bandwidth, BANDWIDTH, from_bytes_per_s, bytes_per_s, false,
    "b/s, B/s, kb/s, kB/s, KiB/s, Mb/s, MB/s, MiB/s, Gb/s, GB/s, GiB/s",
    |value| BANDWIDTH.show(value, &["B/s", "kB/s", "MB/s", "GB/s"])
}

/// A number of cycles of the clock of the part that owns the parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cycles(u64);

impl Cycles {
    /// From a number of cycles.
    pub const fn new(cycles: u64) -> Cycles {
        Cycles(cycles)
    }

    /// The number of cycles.
    pub const fn cycles(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "cycle" } else { "cycles" })
    }
}

impl Quantity for Cycles {
    const TYPE: &'static str = "cycles";
    const UNITS: &'static str = "cycle, cycles";

    /// The unit may be left out.
    fn parse(scalar: &Scalar) -> Result<Cycles, String> {
        let is_number =
            |text: &str| text.trim().starts_with(|c: char| c.is_ascii_digit() || "-.".contains(c));
        match scalar {
            Scalar::Integer(value) => {
                u64::try_from(*value).map(Cycles).map_err(|_| format!("{value} is negative"))
            }
            Scalar::Text(text) if is_number(text) => CYCLES.parse(scalar).map(Cycles),
            found => Err(format!("{found} is not a whole number of cycles; allowed: 18 or \"18 cycles\"")),
        }
    }

    fn scalar(&self) -> Scalar {
        Scalar::Text(self.to_string())
    }
}

/// A non-negative number, exact to 10^-12: a probability, a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ratio(u64);

impl Ratio {
    /// Parts in one.
    pub const ONE: u64 = 1_000_000_000_000;

    /// From a number of parts in 10^12.
    pub const fn from_parts(parts: u64) -> Ratio {
        Ratio(parts)
    }

    /// The number in parts of 10^12.
    pub const fn parts(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:012}", self.0 / Ratio::ONE, self.0 % Ratio::ONE);
        let short = text.trim_end_matches('0');
        write!(f, "{short}{}", if short.ends_with('.') { "0" } else { "" })
    }
}

impl Quantity for Ratio {
    const TYPE: &'static str = "ratio";
    const UNITS: &'static str = "";

    /// `0.25`, `1`, `"25 %"` or `1e-3`.
    fn parse(scalar: &Scalar) -> Result<Ratio, String> {
        let (number, one) = match scalar {
            Scalar::Integer(value) if *value < 0 => return Err(format!("{value} is negative")),
            Scalar::Integer(value) => (value.to_string(), Ratio::ONE),
            Scalar::Decimal(text) if text.starts_with('-') => return Err(format!("{text} is negative")),
            Scalar::Decimal(text) => (text.trim_start_matches('+').to_string(), Ratio::ONE),
            Scalar::Text(text) if text.trim().ends_with('%') => {
                (text.trim().trim_end_matches('%').trim().to_string(), Ratio::ONE / 100)
            }
            found => return Err(format!("{found} is not a ratio; allowed: 0.25 or \"25 %\"")),
        };
        let (mantissa, exponent) = match number.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok().filter(|e| e.abs() <= 18)),
            None => (number.as_str(), Some(0)),
        };
        let exponent = exponent.ok_or(format!("{scalar} is not a ratio that 10^-12 divides"))?;
        let power = 10u128.pow(exponent.unsigned_abs());
        let (numerator, denominator) = if exponent < 0 { (1, power) } else { (power, 1) };
        exact(mantissa, u128::from(one) * numerator, denominator).map(Ratio).map_err(|wrong| match wrong {
            Wrong::Number => format!("{scalar} is not a ratio; allowed: 0.25 or \"25 %\""),
            Wrong::Fraction => format!("{scalar} has more than 12 decimals"),
            Wrong::Large => format!("{scalar} is too large"),
        })
    }

    fn scalar(&self) -> Scalar {
        Scalar::Decimal(self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value expected, or words that the message must hold.
    type Expected = Result<u64, &'static str>;

    fn table<T: Quantity>(cases: &[(Scalar, Expected)], get: fn(T) -> u64) {
        for (scalar, expected) in cases {
            match (T::parse(scalar), expected) {
                (Ok(value), Ok(wanted)) => {
                    assert_eq!(get(value.clone()), *wanted, "{scalar}");
                    let again = T::parse(&value.scalar()).expect("the canonical form parses");
                    assert!(again == value, "{scalar} became {}", value.scalar());
                }
                (Err(message), Err(words)) => {
                    assert!(message.contains(words), "{scalar}: {message:?} lacks {words:?}")
                }
                (found, _) => panic!("{scalar}: expected {expected:?}, found {:?}", found.map(get)),
            }
        }
    }

    fn text(text: &str) -> Scalar {
        Scalar::from(text)
    }

    #[test]
    fn durations() {
        let cases = [
            (text("20 ns"), Ok(20_000)),
            (text("1.5 us"), Ok(1_500_000)),
            (text("1.5µs"), Ok(1_500_000)),
            (text("6.667 ns"), Ok(6_667)),
            (text("0.5 ns"), Ok(500)),
            (text("0 ns"), Ok(0)),
            (text("1.000000 ps"), Ok(1)),
            (text("18446744.073709551615 s"), Ok(u64::MAX)),
            (text("18446744.073709551616 s"), Err("too large")),
            (text("99999999999999999999999999999999 s"), Err("too large")),
            (text("0.5 ps"), Err("not a whole number of ps")),
            (text("0.0001 ns"), Err("not a whole number of ps")),
            (text("-1 ns"), Err("negative")),
            (text("20"), Err("has no unit; allowed: ps, ns, us")),
            (text("20 nS"), Err("\"nS\" is not a unit of duration; allowed: ps, ns")),
            (text("1. ns"), Err("not a number")),
            (text(".5 ns"), Err("not a number")),
            (text("1.2.3 ns"), Err("not a number")),
            (text("fast"), Err("is not a duration")),
            (text(""), Err("is not a duration")),
            (20.into(), Err("20 has no unit")),
            (2.5.into(), Err("2.5 has no unit")),
            (true.into(), Err("true is not a duration")),
        ];
        table::<Duration>(&cases, Duration::ps);
    }

    #[test]
    fn frequencies_sizes_and_rates() {
        let frequencies = [
            (text("150 MHz"), Ok(150_000_000)),
            (text("3.2 GHz"), Ok(3_200_000_000)),
            (text("0 Hz"), Err("zero")),
            (0.into(), Err("zero")),
            (text("0.5 Hz"), Err("whole number of Hz")),
            (text("150 MB"), Err("\"MB\" is not a unit of frequency; allowed: Hz, kHz, MHz, GHz")),
        ];
        table::<Frequency>(&frequencies, Frequency::hz);
        let sizes = [
            (text("32 KiB"), Ok(32_768)),
            (text("4 MiB"), Ok(4 << 20)),
            (text("1.5 KiB"), Ok(1_536)),
            (text("88 B"), Ok(88)),
            (text("1 kB"), Ok(1_000)),
            (text("0 B"), Ok(0)),
            (text("0.3 KiB"), Err("whole number of bytes")), // 307.2
            (text("1 KB"), Err("\"KB\" is not a unit of size")),
            (4096.into(), Err("4096 has no unit")),
            (0.into(), Ok(0)),
            (text("0"), Ok(0)),
        ];
        table::<Bytes>(&sizes, Bytes::bytes);
        let rates = [
            (text("160 MB/s"), Ok(160_000_000)),
            (text("1.28 Gb/s"), Ok(160_000_000)), // 1.28e9 / 8
            (text("8 b/s"), Ok(1)),
            (text("9 b/s"), Err("whole number of bytes a second")),
            (text("0 MB/s"), Err("zero")),
        ];
        table::<Bandwidth>(&rates, Bandwidth::bytes_per_s);
    }

    #[test]
    fn plain_numbers() {
        let cycles = [
            (text("18 cycles"), Ok(18)),
            (text("1 cycle"), Ok(1)),
            (18.into(), Ok(18)),
            (text("1.5 cycles"), Err("whole number of cycles")),
            (1.5.into(), Err("whole number of cycles")),
            ((-1).into(), Err("negative")),
            (text("18 ns"), Err("\"ns\" is not a unit of cycles; allowed: cycle, cycles (as in")),
            (text("abc"), Err("\"abc\" is not a whole number of cycles; allowed: 18 or \"18 cycles\"")),
            (true.into(), Err("true is not a whole number of cycles; allowed: 18 or")),
        ];
        table::<Cycles>(&cycles, Cycles::cycles);
        let ratios = [
            (0.25.into(), Ok(Ratio::ONE / 4)),
            (0.1.into(), Ok(Ratio::ONE / 10)),
            (1.into(), Ok(Ratio::ONE)),
            (text("25 %"), Ok(Ratio::ONE / 4)),
            (Scalar::Decimal("1e-3".into()), Ok(Ratio::ONE / 1000)),
            (Scalar::Decimal("2.5e1".into()), Ok(25 * Ratio::ONE)),
            (Scalar::Decimal("1e-13".into()), Err("decimals")),
            (Scalar::Decimal("1e99".into()), Err("10^-12")),
            (Scalar::Decimal("nan".into()), Err("not a ratio")),
            (Scalar::Decimal("-inf".into()), Err("negative")),
            (text("half"), Err("not a ratio")),
        ];
        table::<Ratio>(&ratios, Ratio::parts);
        table::<u64>(
            &[(16.into(), Ok(16)), (text("16"), Err("whole number")), ((-3).into(), Err("negative"))],
            |v| v,
        );
    }

    #[test]
    fn shown_in_the_largest_unit() {
        let cases = [
            (Duration(1_500).to_string(), "1.5 ns"),
            (Duration(999).to_string(), "999 ps"),
            (Duration(0).to_string(), "0 ps"),
            (Duration(6_667).to_string(), "6.667 ns"),
            (Frequency(66_666_667).to_string(), "66.666667 MHz"),
            (Bytes(32_768).to_string(), "32 KiB"),
            (Bytes(88).to_string(), "88 B"),
            (Bytes(0).to_string(), "0 B"),
            (Bandwidth(160_000_000).to_string(), "160 MB/s"),
            (Cycles(1).to_string(), "1 cycle"),
            (Ratio(Ratio::ONE / 8).to_string(), "0.125"),
            (Ratio(0).to_string(), "0.0"),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn unit_texts_are_the_tables() {
        let pairs = [
            (Duration::UNITS, DURATION),
            (Frequency::UNITS, FREQUENCY),
            (Bytes::UNITS, BYTES),
            (Bandwidth::UNITS, BANDWIDTH),
            (Cycles::UNITS, CYCLES),
        ];
        for (text, kind) in pairs {
            let words: Vec<&str> = kind.units.iter().map(|u| u.word).collect();
            assert_eq!(text, words.join(", "));
        }
    }
}

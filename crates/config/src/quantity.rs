//! What a parameter's value may be.

use serde::Serialize;
use std::fmt;

/// A value as a machine file writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Scalar {
    /// A string; quantities with a unit are strings: `"150 MHz"`.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A number with a decimal point, kept as text because values are exact.
    Decimal(String),
    /// `true` or `false`.
    Flag(bool),
}

/// Writes the value as TOML.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Text(text) => f.write_str(&quote(text)),
            Scalar::Integer(value) => write!(f, "{value}"),
            Scalar::Decimal(text) => f.write_str(text),
            Scalar::Flag(value) => write!(f, "{value}"),
        }
    }
}

impl Scalar {
    /// As people write it on the command line: text without TOML's quotes.
    pub fn plain(&self) -> String {
        match self {
            Scalar::Text(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// A TOML basic string.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            c if c.is_control() => out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Scalar {
        Scalar::Text(text.to_string())
    }
}

impl From<i32> for Scalar {
    fn from(value: i32) -> Scalar {
        Scalar::Integer(value.into())
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Scalar {
        Scalar::Integer(value)
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Scalar {
        Scalar::Flag(value)
    }
}

/// The decimal digits that the source text shows, exactly (`0.1` is one tenth).
impl From<f64> for Scalar {
    fn from(value: f64) -> Scalar {
        Scalar::Decimal(format!("{value:?}"))
    }
}

/// An allowed word of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Alternative {
    /// The word.
    pub word: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// A type that a parameter may have.
pub trait Quantity: Sized + Clone + PartialOrd {
    /// Name of the type, for people: `duration`.
    const TYPE: &'static str;
    /// The units a value may be written in; empty when it has none.
    const UNITS: &'static str;

    /// Reads a value.
    ///
    /// # Errors
    /// What was found and what is allowed, without file or key.
    fn parse(scalar: &Scalar) -> Result<Self, String>;

    /// The value in its one canonical form; [`Quantity::parse`] gives it back.
    fn scalar(&self) -> Scalar;

    /// The allowed words, for a choice.
    fn alternatives() -> &'static [Alternative] {
        &[]
    }
}

/// A plain non-negative integer.
pub type Count = u64;
/// On or off.
pub type Flag = bool;
/// Any text.
pub type Text = String;

impl Quantity for Count {
    const TYPE: &'static str = "count";
    const UNITS: &'static str = "";

    fn parse(scalar: &Scalar) -> Result<Count, String> {
        match scalar {
            Scalar::Integer(value) => u64::try_from(*value).map_err(|_| format!("{value} is negative")),
            Scalar::Decimal(text) if text.bytes().all(|b| b.is_ascii_digit()) => {
                Err(format!("{text} is too large"))
            }
            found => Err(format!("{found} is not a whole number; write for example 16")),
        }
    }

    fn scalar(&self) -> Scalar {
        Scalar::Integer(i64::try_from(*self).expect("a count fits TOML's 63 bits"))
    }
}

impl Quantity for Flag {
    const TYPE: &'static str = "flag";
    const UNITS: &'static str = "";

    fn parse(scalar: &Scalar) -> Result<Flag, String> {
        match scalar {
            Scalar::Flag(value) => Ok(*value),
            found => Err(format!("{found} is neither true nor false")),
        }
    }

    fn scalar(&self) -> Scalar {
        Scalar::Flag(*self)
    }
}

impl Quantity for Text {
    const TYPE: &'static str = "text";
    const UNITS: &'static str = "";

    fn parse(scalar: &Scalar) -> Result<Text, String> {
        match scalar {
            Scalar::Text(text) => Ok(text.clone()),
            found => Err(format!("{found} is not a text; write \"{found}\"")),
        }
    }

    fn scalar(&self) -> Scalar {
        Scalar::Text(self.clone())
    }
}

/// Reads a choice; the body of what [`crate::choice!`] generates.
#[doc(hidden)]
pub fn parse_choice<T: Copy>(scalar: &Scalar, words: &[Alternative], values: &[T]) -> Result<T, String> {
    let allowed = || words.iter().map(|a| a.word).collect::<Vec<_>>().join(", ");
    let Scalar::Text(text) = scalar else {
        return Err(format!("{scalar} is not a word; allowed: {}", allowed()));
    };
    match words.iter().position(|a| a.word == text) {
        Some(index) => Ok(values[index]),
        None => {
            let hint = crate::suggest::did_you_mean(text, words.iter().map(|a| a.word));
            Err(format!("{scalar} is not allowed here; allowed: {}{hint}", allowed()))
        }
    }
}

/// Declares an enum whose alternatives are the words that a parameter may take.
///
/// ```
/// chasqui_config::choice! {
///     /// Who cleans the lines of a message slot.
///     pub enum Variant {
///         /// Software flushes them.
///         Flush = "flush",
///         /// The NI reads them from the cache.
///         Reclaim = "reclaim",
///     }
/// }
/// assert_eq!(Variant::Reclaim.word(), "reclaim");
/// ```
#[macro_export]
macro_rules! choice {
    ($(#[doc = $doc:literal])+ pub enum $name:ident {
        $( $(#[doc = $adoc:literal])+ $alternative:ident = $word:literal ),+ $(,)?
    }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $( $(#[doc = $adoc])+ $alternative ),+ }

        impl $name {
            /// Every alternative, in the order of the declaration.
            pub const ALL: &'static [$name] = &[$( $name::$alternative ),+];

            /// The word that chooses it in a machine file.
            pub fn word(self) -> &'static str {
                match self { $( $name::$alternative => $word ),+ }
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl $crate::Quantity for $name {
            const TYPE: &'static str = "choice";
            const UNITS: &'static str = "";

            fn parse(scalar: &$crate::Scalar) -> Result<Self, String> {
                $crate::__private::parse_choice(scalar, Self::alternatives(), Self::ALL)
            }

            fn scalar(&self) -> $crate::Scalar {
                $crate::Scalar::from(self.word())
            }

            fn alternatives() -> &'static [$crate::Alternative] {
                const { &[$( $crate::Alternative {
                    word: $word,
                    doc: concat!($($adoc),+).trim_ascii(),
                } ),+] }
            }
        }
    };
}

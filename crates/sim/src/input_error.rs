//! What is wrong with a request.

use std::fmt;

/// The input can't be run; the text says what is wrong, where, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError(pub String);

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InputError {}

pub(crate) fn input(e: impl fmt::Display) -> InputError {
    InputError(e.to_string())
}

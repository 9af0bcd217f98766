//! Memory: what is stored ([`FlatMemory`]) and, beside it, how long access takes.

mod flat;

pub use flat::{FlatMemory, OutOfMemory};

//! Parameters declared once, machine files, and their resolution.
//!
//! A part of a machine declares its parameters with [`parameters!`]: name, type, default, range,
//! documentation and source, in one place. A machine composes such groups by prefix into a
//! [`Schema`]. [`resolve`] reads a machine file, the files it extends, a variant and the `--set`s of
//! the command line, and gives a [`Resolved`] machine or every problem at once.
//!
//! Reading order: `quantity.rs` (values), `declaration.rs` (parameters),
//! `document.rs` (TOML with lines), `documents.rs` (texts that lie in files of their own), `layer.rs` (one machine file),
//! `chain.rs` (the files of a machine), `resolve.rs` (their order), `resolved.rs` (the result and its file).
//!
//! Invariant: values are exact. No quantity passes through a floating-point number.

mod chain;
mod declaration;
mod document;
mod documents;
mod error;
mod layer;
mod quantity;
mod resolve;
mod resolved;
mod suggest;
mod units;

pub use chain::Catalogue;
pub use declaration::{Declaration, Group, Parameters, Schema, join};
pub use document::{Entry, Node};
pub use documents::Document;
pub use error::{ConfigError, Problem};
pub use layer::SCHEMA_VERSION;
pub use quantity::{Alternative, Count, Flag, Quantity, Scalar, Text};
pub use resolve::{MachineSummary, VariantSummary, machines, resolve};
pub use resolved::{Origin, Parameter, Resolved};
pub use units::{Bandwidth, Bytes, Cycles, Duration, Frequency, Ratio};

/// For the macros only.
#[doc(hidden)]
pub mod __private {
    pub use crate::declaration::check;
    pub use crate::quantity::parse_choice;
}

//! The catalogue of machines, and a run from request to results.
//!
//! This is where the simulation meets the host: host time, files and threads are used here and in the
//! Python package, never in models.

mod calls;
mod catalogue;
mod collect;
mod conformance;
#[cfg(test)]
mod damaged;
mod gdb;
mod images;
mod input_error;
mod inputs;
mod limits;
mod output;
mod programs;
mod progress;
mod replay;
mod request;
mod room;
mod run;
mod running;
mod sandbox;
mod shares;
mod standard_input;
mod trace_window;

pub use catalogue::{CATALOGUE, Catalogue, describe, faults, machines, warm_up};
pub use conformance::{Test, Verdict, conformance};
pub use input_error::InputError;
pub use progress::{OnProgress, Progress};
pub use request::{OnlyRank, Options, Request, Sandbox, StandardInput};
pub use run::{check, run};

//! What is seen of harts beside what they do: marks, messages' data, profiles, instruction traces.

mod followed;
mod marking;
mod symbols;
mod watch;

pub(crate) use followed::Followed;
pub(crate) use marking::Marking;
pub(crate) use symbols::{Named, Symbols};
pub(crate) use watch::Watch;
pub use watch::{TraceOutput, TracePlan, WatchPlan};

//! The records of a run: the stages of every message, statistics, and the files that hold them.
//!
//! Models and guest marks stamp *stages* into one [`Recorder`] per partition; [`Recorder::merge`]
//! joins them to [`Messages`] when the run ends. [`RankLife`] turns a rank's marks
//! ([`chasqui_abi::mark`]) into stamps. [`RunDirectory`] writes the results.
//!
//! Reading order: `stage.rs`, `recorder.rs`, `rank_life.rs` (and `waiting.rs`, `waits.rs`), `messages.rs`, `messages_file.rs`, `differences.rs`,
//! `statistics.rs`, `profile/mod.rs`, `run_directory.rs`; for recordings `kept.rs`, `recording.rs`, `recording_file.rs`.
//!
//! Invariant: what is written depends on the stamps alone, not on the order in which partitions
//! made or merged them. Whatever belongs to the host goes to `host.json`.

mod differences;
mod guest;
mod inputs;
mod kept;
mod messages;
mod messages_file;
mod profile;
mod rank_life;
mod recorder;
mod recording;
mod recording_file;
mod run_directory;
#[cfg(test)]
mod scratch;
mod stage;
mod statistics;
mod summary;
mod timeline;
mod unmatched;
mod waiting;
mod waits;
mod whole_file;

pub use differences::{Distribution, MechanismUse};
pub use inputs::{ImageInput, InputRead, Inputs, JobInput, ProgramInput, TraceInput};
pub use kept::{Keep, Kept, SentMessage};
pub use messages::{Message, Messages};
pub use profile::{CAUSES, Cause, Profile, Profiled, Spent, write_folded, write_profile, write_speedscope};
pub use rank_life::{CALLS, CallTotals, Interval, RankLife, Site, lies_at};
pub use recorder::{Description, Recorder};
pub use recording::{RankEnd, Recorded, Recording, RecordingError, Unrecordable};
pub use run_directory::{Lost, RunDirectory, RunError, Stream};
pub use stage::{MessageId, STAGES, Stage};
pub use statistics::StatisticsTree;
pub use summary::{
    CallSummary, Host, Limit, Outcome, RankSummary, ReplaySummary, SUMMARY_VERSION, Shares, Summary,
};
pub use timeline::{Busy, LinkLife, Timeline};
pub use waiting::REQUEST_BYTES;
pub use waits::{PeerWaits, Wait, WaitParts, Waits};
pub use whole_file::{Destination, target};

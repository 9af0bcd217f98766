//! A run as it is asked for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chasqui_placement::MapBy;
use chasqui_record::TraceInput;
use serde::Deserialize;

/// Signals for which a run stops, by their numbers: as all architectures of Linux have them.
pub(crate) const SIGHUP: i32 = 1;
pub(crate) const SIGINT: i32 = 2;
/// What reads the output has gone.
pub(crate) const SIGPIPE: i32 = 13;
pub(crate) const SIGTERM: i32 = 15;

/// The request for a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Machine: `name`, `name/variant` or the path of a machine file.
    pub machine: String,
    /// Parameters set on the command line, `a.b=c`.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Ranks of the program; with `only_rank` 0: as many as were recorded.
    pub ranks: i64,
    /// Ranks of a node; none: what the machine has them be ([`Machine::ranks_per_node`](chasqui_machine::Machine)).
    #[serde(default)]
    pub ranks_per_node: Option<i64>,
    /// How ranks come to nodes: `slot` or `node` ([`MapBy`]).
    #[serde(default = "slot")]
    pub map_by: String,
    /// Path of the program.
    pub program: PathBuf,
    /// Its arguments, without its name.
    #[serde(default)]
    pub args: Vec<String>,
    /// Further programs of the same job, each on the ranks behind those of the one before.
    #[serde(default)]
    pub beside: Vec<Called>,
    /// Further jobs, which share the nodes.
    #[serde(default)]
    pub others: Vec<Called>,
    /// The environment of all.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What rank 0 of the first job reads as its standard input. Others read nothing.
    #[serde(default)]
    pub stdin: StandardInput,
    /// Where the results go; it is made.
    pub directory: PathBuf,
    /// Folder with the firmware of machines, `<machine>.elf`, or `<machine>/<image>.elf` each, and kernel images.
    #[serde(default)]
    pub firmware: Option<PathBuf>,
    /// Copy the processes' output to the terminal.
    #[serde(default)]
    pub echo: bool,
    /// The trace that the programs carry out: noted in the summary.
    #[serde(default)]
    pub trace: Option<TraceInput>,
    /// Where a recording of the run goes.
    #[serde(default)]
    pub record: Option<PathBuf>,
    /// The only rank to simulate, and what drives it.
    #[serde(default)]
    pub only_rank: Option<OnlyRank>,
    /// What the programs may do to the host.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// The command as the user gave it, for `host.json`.
    #[serde(default)]
    pub command: Vec<String>,
    /// Further options, by name.
    #[serde(default)]
    pub options: Options,
}

fn slot() -> String {
    MapBy::Slot.name().into()
}

/// What rank 0 reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StandardInput {
    /// Nothing.
    #[default]
    None,
    /// The command's; nothing of a pipe is kept for other runs.
    Own,
    /// The command's, from its beginning, as every run of the command does.
    Shared,
}

/// What the programs of a run may do to the host.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sandbox {
    /// Files and folders of the host that they see besides the working directory, `HOST[:GUEST][:ro]` each.
    pub binds: Vec<String>,
    /// By what the user has said so, if not by `--bind`: for messages.
    pub binds_by: Option<String>,
    /// They see all of the host's files.
    pub host_files: bool,
    /// Simulated time after which the run ends, with its unit; none: it may go on.
    pub limit_time: Option<String>,
    /// Host time after which the run ends; none: it may go on.
    pub limit_host_time: Option<String>,
    /// What the programs may write to their output and to files, together; none: as the host has room.
    pub limit_output: Option<String>,
    /// Memory of the host that the command may take; none: as the host has.
    pub limit_memory: Option<String>,
}

/// A program, and how it is called.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Called {
    /// Ranks.
    pub ranks: i64,
    /// Path of the program.
    pub program: PathBuf,
    /// Its arguments, without its name.
    #[serde(default)]
    pub args: Vec<String>,
}

/// Further options of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Seed of the processes' random numbers.
    pub seed: u64,
    /// Ranks begin at times drawn evenly from 0 to this, with its unit, by the seed; none: all at 0.
    pub jitter: Option<String>,
    /// MPI calls of each rank kept for `timeline.json`; 0: no timeline.
    pub timeline: usize,
    /// Until its part of interest the program takes no time.
    pub fast_forward: bool,
    /// Simulated time at which the run ends well, with its unit; none: it goes on.
    pub stop_at: Option<String>,
    /// Count where the ranks' cycles go.
    pub profile: bool,
    /// Note when the ranks first and last access the data of messages.
    pub access_times: bool,
    /// Instructions to write: `FROM..TO[:RANKS]`, as in `1.2ms..1.25ms:0,4-7`.
    pub trace_instructions: Option<String>,
    /// Host threads; 0: as many as the host has, or one where that is faster.
    pub threads: usize,
    /// A progress line stands on the terminal: clear it before output is shown.
    pub clear_line: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            jitter: None,
            timeline: 0,
            fast_forward: false,
            stop_at: None,
            profile: false,
            access_times: false,
            trace_instructions: None,
            threads: 0,
            clear_line: false,
        }
    }
}

/// A rank to simulate alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnlyRank {
    /// World rank.
    pub rank: i64,
    /// The recording.
    pub arrivals: PathBuf,
    /// Simulated time of a unit of recorded time.
    pub ratio: String,
    /// Time by which recorded messages arrive later, or with a sign earlier.
    pub shift: String,
    /// Lines of the output that contain one of these texts may differ.
    #[serde(default)]
    pub ignored_lines: Vec<String>,
}

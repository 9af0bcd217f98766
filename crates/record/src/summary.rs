//! What `summary.json` and `host.json` hold.

use std::collections::BTreeMap;

use crate::differences::{Distribution, MechanismUse};
use crate::inputs::Inputs;
use crate::rank_life::RankLife;
use crate::waits::{PeerWaits, WaitParts};
use serde::Serialize;

/// Version of the layout of `summary.json`.
pub const SUMMARY_VERSION: u32 = 1;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every rank exited.
    Finished,
    /// It came to the simulated time at which it was to end (`--stop-at`).
    Stopped,
    /// A rank called `MPI_Abort`, or exited without `MPI_Finalize`: with a status other than 0, or while others waited.
    Aborted,
    /// A rank did what the machine doesn't allow, or the machine is broken.
    Fault,
    /// Ranks wait for what can't come.
    Deadlock,
    /// The user stopped it.
    Interrupted,
    /// Ranks wait for times after the end of simulated time.
    #[serde(rename = "out of time")]
    OutOfTime,
}

/// A limit that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Of simulated time.
    Time,
    /// Of host time.
    HostTime,
    /// Of the host's memory.
    Memory,
    /// Of what the programs write.
    Output,
}

/// `summary.json`: what the run was and how long it took. Nothing in it belongs to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// [`SUMMARY_VERSION`].
    pub schema_version: u32,
    /// Machine, as `voyager/reclaim`.
    pub machine: String,
    /// Base name of the program; of several programs of one job, all, as `master : worker`.
    pub program: String,
    /// What went into it beside the machine, which is in `resolved.toml`.
    pub inputs: Inputs,
    /// How it ended.
    pub outcome: Outcome,
    /// What there is to say about the end; empty when it finished.
    pub message: String,
    /// The limit that ended the run, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Exit status of the command.
    pub exit_status: i32,
    /// Simulated time [ps]: when the last rank exited, or what ended the others happened.
    pub time_ps: u64,
    /// When [ps] a fault or an abort took effect on the other ranks; until then they ran on, and what they did is in
    /// the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others_until_ps: Option<u64>,
    /// Instructions of all ranks.
    pub instructions: u64,
    /// Messages of all ranks.
    pub messages: u64,
    /// What limited the program, in words.
    pub limited_by: String,
    /// The ranks in order.
    pub ranks: Vec<RankSummary>,
    /// Where the messages' lives went.
    pub stages: Vec<Distribution>,
    /// By what the messages travelled; empty where a machine has one mechanism only.
    pub mechanisms: Vec<MechanismUse>,
    /// What came of the recording that drove the only rank that was simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplaySummary>,
}

/// How a replay went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplaySummary {
    /// World rank of the only rank that was simulated.
    pub rank: u32,
    /// Simulated time of a unit of recorded time.
    pub ratio: String,
    /// Time [ps] by which the recorded messages arrived later, in simulated time.
    pub shift_ps: i64,
    /// Cycles of the rank's processor in a second of recorded time, which is the paper's r.
    pub cycles_per_recorded_s: u64,
    /// When [ps] the last recorded message was to arrive.
    pub last_arrival_ps: u64,
    /// Recorded messages to the rank.
    pub messages: u64,
    /// Those that its receives have taken.
    pub taken: u64,
    /// Those that another receive has taken than when they were recorded.
    pub taken_otherwise: u64,
    /// Messages that the rank sent.
    pub sent: u64,
    /// Messages that it sent when it was recorded.
    pub sent_recorded: u64,
    /// Those that it sent otherwise: to another rank, with another context, tag or length.
    pub sent_otherwise: u64,
    /// Exit status that was recorded.
    pub recorded_status: i32,
    /// Its exit status and what it wrote to its standard output are the recorded ones, but for measured times.
    pub is_same: bool,
    /// How it differs, in words; empty if it is the same.
    pub difference: String,
}

/// A rank's part of the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankSummary {
    /// World rank.
    pub rank: u32,
    /// Number of its node.
    pub node: u32,
    /// Exit status; `None` when it had not exited.
    pub status: Option<i32>,
    /// Instructions.
    pub instructions: u64,
    /// Cycles of its hart.
    pub cycles: u64,
    /// When [ps] it exited, or was ended, or the run ended.
    pub time_ps: u64,
    /// Time [ps] in MPI calls.
    pub mpi_ps: u64,
    /// Messages that came before their receive was posted.
    pub unexpected: u64,
    /// Those of them whose data the library copied aside, and so copied twice.
    pub copied_aside: u64,
    /// Where its threads' time went.
    pub shares: Shares,
    /// The ranks for which it waited longest in MPI calls, `MPI_Init` not counted, and what those waits were for.
    pub waits: Vec<PeerWaits>,
    /// The MPI calls it made, by number.
    pub calls: Vec<CallSummary>,
}

macro_rules! shares {
    ($( $(#[$doc:meta])+ $share:ident; )+) => {
        /// Where the time of a rank's threads went, up to its end, in parts [ps] that add up to that time on each hart that a
        /// thread of it has been on.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct Shares {
            $( $(#[$doc])+ pub $share: u64, )+
            /// In them, waiting for a message.
            #[serde(flatten)]
            pub waiting: WaitParts,
            /// In them, waiting, and no message ended it: not before the run ended, or none that was seen.
            pub waiting_otherwise_ps: u64,
        }

        impl Shares {
            /// In MPI calls other than `MPI_Init`, waiting [ps].
            pub fn waiting_ps(&self) -> u64 {
                self.waiting.all().saturating_add(self.waiting_otherwise_ps)
            }

            /// All of it [ps].
            pub fn all(&self) -> u64 {
                [$( self.$share ),+].iter().fold(self.waiting_ps(), |sum, share| sum.saturating_add(*share))
            }

            /// Another rank's, too.
            pub fn add(&mut self, other: Shares) {
                $( self.$share = self.$share.saturating_add(other.$share); )+
                self.waiting.add(other.waiting);
                self.waiting_otherwise_ps = self.waiting_otherwise_ps.saturating_add(other.waiting_otherwise_ps);
            }
        }
    };
}

shares! {
    /// Executing outside of MPI calls; hits of the caches are part of it, of the L2 too.
    computing_ps;
    /// There, waiting for lines of data.
    data_cache_ps;
    /// For lines of instructions.
    instruction_cache_ps;
    /// For entries of page tables.
    page_tables_ps;
    /// For room for stores.
    stores_ps;
    /// For uncached loads.
    uncached_ps;
    /// In system calls and page faults, where the machine charges for them; a kernel's instructions are computing.
    system_software_ps;
    /// Waiting for another thread.
    other_threads_ps;
    /// Sleeping; under a kernel a hart without a thread does, too.
    asleep_ps;
    /// Harts whose thread has ended, where no kernel runs.
    no_thread_ps;
    /// While other processes, of this job or another, had its hart, outside of MPI calls.
    others_on_hart_ps;
    /// In `MPI_Init`.
    mpi_init_ps;
    /// In other MPI calls, working; `calls` says in which.
    mpi_software_ps;
}

/// Use of one MPI call by a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallSummary {
    /// Its name.
    pub name: String,
    /// Calls.
    pub count: u64,
    /// Time [ps] within.
    pub time_ps: u64,
    /// The part of it in which its thread could go on only when something came.
    pub waiting_ps: u64,
    /// When [ps] it last returned; 0: it has not.
    pub left_ps: u64,
}

impl CallSummary {
    /// The calls that a rank has made until `now_ps`; `name` names a call by its number.
    pub fn of(life: &RankLife, now_ps: u64, name: &dyn Fn(u32) -> &'static str) -> Vec<CallSummary> {
        let totals = life.totals(now_ps);
        let used = totals.iter().enumerate().filter(|(_, totals)| totals.count > 0);
        used.map(|(number, t)| CallSummary {
            name: name(number as u32).into(),
            count: t.count,
            time_ps: t.time_ps,
            waiting_ps: t.waiting_ps,
            left_ps: t.left_ps,
        })
        .collect()
    }
}

/// `host.json`: everything that may differ between identical runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Host {
    /// Version of the simulator.
    pub version: String,
    /// The command as it was given.
    pub command: Vec<String>,
    /// Path of the program; of the first, if there are several.
    pub program: String,
    /// The command's working directory; `None` where it has none.
    pub working_directory: Option<String>,
    /// Variables of the command's environment that it heeds, those that begin with `CHASQUI_`.
    pub environment: BTreeMap<String, String>,
    /// The host: operating system, its release, kind of processor.
    pub system: String,
    /// Processors that the command may use; `None` where the host doesn't tell.
    pub processors: Option<usize>,
    /// Start, seconds since 1970.
    pub started_unix_s: u64,
    /// Host time [s] of the simulation.
    pub simulation_s: f64,
    /// Host time [s] with set-up and results.
    pub total_s: f64,
    /// Simulated instructions [millions] a second of host time.
    pub instructions_millions_per_s: f64,
    /// Messages a second of host time.
    pub messages_per_s: f64,
    /// Host threads.
    pub threads: u32,
    /// Rounds of the simulation that they went together.
    pub steps_together: u64,
    /// Most memory [bytes] the process held; `None` where the host doesn't tell.
    pub memory_bytes_max: Option<u64>,
}

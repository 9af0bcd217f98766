//! What `summary.json` says of what went into a run: with the machine (`resolved.toml`) and the files that the programs read
//! it decides every other result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What went into a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inputs {
    /// Its programs, in the order of their ranks.
    pub programs: Vec<ProgramInput>,
    /// The environment of its ranks.
    pub environment: BTreeMap<String, String>,
    /// What rank 0 has read of its standard input, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<InputRead>,
    /// The trace that the programs carry out, if they were asked for one (`chasqui play`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceInput>,
    /// SHA-256 of the recording, of which only one rank was simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording_sha256: Option<String>,
    /// The other jobs on the machine, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<JobInput>,
    /// What of the machine's own software was there to run: kernel and firmware.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageInput>,
    /// Seed of the processes' random numbers.
    pub seed: u64,
    /// Ranks began at times [ps] drawn from 0 to this.
    #[serde(skip_serializing_if = "is_zero")]
    pub jitter_ps: u64,
    /// What comes before its part of interest took no time.
    pub fast_forward: bool,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// A program, and how it was called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProgramInput {
    /// Base name of its file.
    pub name: String,
    /// The first of the ranks that run it.
    pub first_rank: u32,
    /// How many do.
    pub ranks: u32,
    /// Its arguments, without its name.
    pub arguments: Vec<String>,
    /// SHA-256 of its file.
    pub sha256: String,
    /// SHA-256 of the `libmpi.a` that it was linked with; `None`: the file does not say.
    pub library_sha256: Option<String>,
}

/// Another job on the same machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobInput {
    /// Its number: that of its run directory.
    pub job: u32,
    /// Its programs, in the order of their ranks.
    pub programs: Vec<ProgramInput>,
    /// The environment of its ranks.
    pub environment: BTreeMap<String, String>,
}

/// What was read of standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InputRead {
    /// How much [bytes].
    pub bytes: u64,
    /// SHA-256 of it.
    pub sha256: String,
}

/// A trace that was carried out as a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceInput {
    /// `goal`, `smpi-ti` or `dumpi`.
    pub format: String,
    /// Base name of its file.
    pub name: String,
    /// SHA-256 of its files, one behind the other.
    pub sha256: String,
    /// By how many times its computation takes as long as it says.
    pub scale: String,
    /// Operations a second, where its computation counts these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops_per_s: Option<String>,
    /// SHA-256 of the actions that were made of it, which the programs read.
    pub actions_sha256: String,
}

/// Software of the machine's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImageInput {
    /// `kernel`, `firmware`, or with the name of one image among several `firmware mcp`.
    pub name: String,
    /// SHA-256 of its file.
    pub sha256: String,
}

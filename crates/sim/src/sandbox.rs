//! What the programs of a run may do to the host: which of its files they see, and how much of it they may take.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chasqui_config::{Bytes, Quantity, Scalar};
use chasqui_engine::Time;
use chasqui_linux::{Bind, Mounts};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::input_error::{InputError, input};
use crate::request::{Request, Sandbox};

/// Most that programs write if nothing else is said [bytes].
const OUTPUT_BYTES_MAX: u64 = 10 << 30;

/// Of the files that this process may have open, those that the run keeps for what it writes itself; and no more than this
/// part of all, 1 / 4. A host thread has one or two open at a time.
const OWN_FILES: u64 = 256;
const OWN_PART: u64 = 4;

/// The files that the programs see.
pub(crate) fn mounts(sandbox: &Sandbox) -> Result<Arc<Mounts>, InputError> {
    let files_max = raise_files_max();
    let directory = std::env::current_dir().map_err(input)?;
    let mut mounts =
        Mounts::new(&directory).map_err(|e| InputError(format!("the working directory: {e}")))?;
    if let Some(name) = std::env::var_os("PWD") {
        mounts.name_working(Path::new(&name));
    }
    for text in &sandbox.binds {
        let bound = Bind::parse(text, &directory).and_then(|bind| mounts.bind(&bind));
        let by = sandbox.binds_by.as_deref().unwrap_or("--bind");
        bound.map_err(|why| InputError(format!("{by} {text}: {why}")))?;
    }
    if sandbox.host_files {
        mounts.show_host().map_err(|error| InputError(format!("--host-files: {error}")))?;
    }
    if let Some(most) = files_max.and_then(|most| i32::try_from(most - OWN_FILES.min(most / OWN_PART)).ok()) {
        mounts.keep_descriptors(most);
    }
    Ok(Arc::new(mounts))
}

/// Files that this process may have open; `None`: any number.
pub(crate) fn files_max() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Has this process open as many files as the host lets it, and gives how many these are: the usual 1024 are for programs that
/// wait for files by `select`, and each rank may have some.
fn raise_files_max() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    // A host that has no such limit may have another, below: then it stays as it was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    files_max()
}

/// How far a run may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Simulated time.
    pub time: Option<Time>,
    /// Simulated time at which it has gone as far as was wanted.
    pub stop_at: Option<Time>,
    /// Host time.
    pub host_time: Option<Duration>,
    /// What the programs write to their output and to files, together [bytes].
    pub output_bytes: u64,
    /// Memory of the host that the command takes [bytes].
    pub memory_bytes: u64,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// Host time.
    HostTime,
    /// The command takes so much of the host's memory [bytes].
    Memory(u64),
}

impl Limits {
    /// As far as it goes.
    #[cfg(test)]
    pub const NONE: Limits =
        Limits { time: None, stop_at: None, host_time: None, output_bytes: u64::MAX, memory_bytes: u64::MAX };

    /// What the request says, and for what it doesn't say what the host allows.
    pub fn of(request: &Request) -> Result<Limits, InputError> {
        let sandbox = &request.sandbox;
        let time = quantity("--limit-time", &sandbox.limit_time, chasqui_config::Duration::ps)?;
        let stop_at = quantity("--stop-at", &request.options.stop_at, chasqui_config::Duration::ps)?;
        let host_time =
            quantity("--limit-host-time", &sandbox.limit_host_time, chasqui_config::Duration::ps)?;
        let output = quantity("--limit-output", &sandbox.limit_output, Bytes::bytes)?;
        let memory = quantity("--limit-memory", &sandbox.limit_memory, Bytes::bytes)?;
        Ok(Limits {
            time: time.map(Time),
            stop_at: stop_at.map(Time),
            host_time: host_time.map(|ps| Duration::from_nanos(ps.div_ceil(1000))),
            output_bytes: output.unwrap_or_else(|| output_bytes_allowed(&request.directory)),
            memory_bytes: memory.unwrap_or_else(memory_bytes_allowed),
        })
    }

    /// When simulated time ends.
    pub fn end(&self) -> Option<Time> {
        self.time.into_iter().chain(self.stop_at).min()
    }

    /// Whether that is an end that was wanted.
    pub fn stops(&self) -> bool {
        self.stop_at.is_some() && self.stop_at == self.end()
    }

    /// What was reached after so much host time.
    pub fn reached(&self, host_time: Duration) -> Option<Reached> {
        if self.host_time.is_some_and(|limit| host_time >= limit) {
            return Some(Reached::HostTime);
        }
        memory_bytes("VmRSS").filter(|&bytes| bytes > self.memory_bytes).map(Reached::Memory)
    }
}

pub(crate) fn quantity<T: Quantity>(
    option: &str,
    text: &Option<String>,
    value: fn(T) -> u64,
) -> Result<Option<u64>, InputError> {
    let parsed = text.as_ref().map(|text| T::parse(&Scalar::from(text.as_str())));
    parsed.transpose().map(|found| found.map(value)).map_err(|why| InputError(format!("{option}: {why}")))
}

/// Half of what the disks have free on which results and the programs' files are, and no more than
/// [`OUTPUT_BYTES_MAX`]. A disk that is full, or can't be written to, is not filled by a run.
fn output_bytes_allowed(results: &Path) -> u64 {
    let there = results.ancestors().find(|above| above.exists());
    let free = [there, Some(Path::new("."))].into_iter().flatten().filter_map(free_bytes);
    free.filter(|&free| free > 0).min().map_or(OUTPUT_BYTES_MAX, |free| OUTPUT_BYTES_MAX.min(free / 2))
}

fn free_bytes(path: &Path) -> Option<u64> {
    let status = rustix::fs::statvfs(path).ok()?;
    let is_written = !status.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY);
    is_written.then(|| status.f_bavail.saturating_mul(status.f_frsize))
}

/// Nine tenths of the memory that the host, or what bounds the command there, has for it.
fn memory_bytes_allowed() -> u64 {
    let own = memory_bytes("VmRSS").unwrap_or(0);
    let available = field(Path::new("/proc/meminfo"), "MemAvailable").map(|bytes| bytes.saturating_add(own));
    let group =
        std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    available.into_iter().chain(group).min().map_or(u64::MAX, |bytes: u64| bytes / 10 * 9)
}

/// This process's memory: `VmRSS` what it has, `VmHWM` the most that it had (Linux Documentation/filesystems/proc.rst).
pub(crate) fn memory_bytes(name: &str) -> Option<u64> {
    field(Path::new("/proc/self/status"), name)
}

/// A number of KiB in a file of `/proc`, in bytes.
fn field(path: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(change: impl FnOnce(&mut Sandbox)) -> Request {
        let text = r#"{"machine": "loggp", "ranks": 1, "program": "p", "directory": "runs/none"}"#;
        let mut request: Request = serde_json::from_str(text).expect("a request");
        change(&mut request.sandbox);
        request
    }

    #[test]
    fn without_a_word_the_host_sets_the_limits() {
        let limits = Limits::of(&request(|_| ())).expect("limits");
        assert_eq!((limits.time, limits.host_time), (None, None));
        assert!((1..=OUTPUT_BYTES_MAX).contains(&limits.output_bytes));
        let most = field(Path::new("/proc/meminfo"), "MemTotal").expect("Linux says it");
        assert!((1..most).contains(&limits.memory_bytes));
        assert_eq!(limits.reached(Duration::from_secs(1 << 40)), None);
    }

    #[test]
    fn of_two_ends_of_simulated_time_the_earlier_holds() {
        let ends = |time: Option<u64>, stop_at: Option<u64>| {
            let limits = Limits { time: time.map(Time), stop_at: stop_at.map(Time), ..Limits::NONE };
            (limits.end().map(|end| end.0), limits.stops())
        };
        assert_eq!(ends(None, None), (None, false));
        assert_eq!(ends(Some(5), None), (Some(5), false));
        assert_eq!(ends(None, Some(5)), (Some(5), true));
        assert_eq!(ends(Some(5), Some(6)), (Some(5), false));
        assert_eq!(ends(Some(6), Some(5)), (Some(5), true));
        assert_eq!(ends(Some(5), Some(5)), (Some(5), true));
    }

    #[test]
    fn limits_have_units() {
        let limits = Limits::of(&request(|sandbox| {
            sandbox.limit_time = Some("2 us".into());
            sandbox.limit_host_time = Some("1.5 s".into());
            sandbox.limit_output = Some("3 KiB".into());
            sandbox.limit_memory = Some("4 KiB".into());
        }));
        let limits = limits.expect("limits");
        assert_eq!((limits.time, limits.output_bytes), (Some(Time(2_000_000)), 3 << 10));
        assert!(matches!(limits.reached(Duration::ZERO), Some(Reached::Memory(4097..))));
        assert_eq!(limits.reached(Duration::from_millis(1500)), Some(Reached::HostTime));
        for (text, seconds) in [("10 min", 600), ("1.5h", 5_400), ("0.1 min", 6)] {
            let limits = Limits::of(&request(|sandbox| {
                sandbox.limit_time = Some(text.into());
                sandbox.limit_host_time = Some(text.into());
            }));
            let limits = limits.expect(text);
            assert_eq!(limits.host_time, Some(Duration::from_secs(seconds)), "{text}");
            assert_eq!(limits.time, Some(Time(seconds * 1_000_000_000_000)), "{text}");
        }
        let wrong = Limits::of(&request(|sandbox| sandbox.limit_time = Some("5".into())));
        assert!(wrong.expect_err("no unit").to_string().starts_with("--limit-time: "));
    }
}

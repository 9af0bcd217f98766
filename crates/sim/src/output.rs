//! Output of the simulated processes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chasqui_engine::Time;
use chasqui_linux::{Refused, Stream};
use chasqui_node::Output;
use chasqui_placement::{JobId, Rank};
use chasqui_record::{Lost, RunDirectory, RunError};
use chasqui_watch::{TraceOutput, TracePlan};

use crate::sandbox;

/// Writes each process's streams to the run directory, and whole lines to the terminal if asked. Lines of
/// different ranks come there in the order of simulated time, whatever host threads wrote them.
pub(crate) struct Streams {
    /// Those of each job after those of the one before.
    ranks: Vec<Mutex<RankStreams>>,
    /// In the same order: its instruction trace.
    traces: Vec<Option<Mutex<chasqui_record::Stream>>>,
    echo: bool,
    screen: Mutex<Screen>,
    /// What the terminal has not been shown yet.
    pending: Mutex<Vec<Pending>>,
    is_pending: AtomicBool,
    instructions: AtomicU64,
    /// What the processes may still write [bytes].
    left_bytes: AtomicU64,
    /// The run is to end: nothing is waited for.
    is_to_end: AtomicBool,
}

/// Lines for the terminal.
struct Pending {
    now: Time,
    rank: u32,
    stream: Stream,
    bytes: Vec<u8>,
    /// What it is about, if that is shown only once.
    once: Option<String>,
}

/// A line that grows longer than this [bytes] is shown before it ends.
const LINE_BYTES_MAX: usize = 1 << 16;

struct RankStreams {
    files: [chasqui_record::Stream; 2],
    /// Beginnings of lines that are not complete, for the terminal.
    partial: [Vec<u8>; 2],
}

impl Streams {
    /// For jobs with their directories and the ranks that are simulated.
    pub fn new(
        jobs: &[(&RunDirectory, Range<u32>)],
        echo: bool,
        clear_line: bool,
        trace: Option<&TracePlan>,
        output_bytes_max: u64,
    ) -> Result<Streams, RunError> {
        let open = |(directory, rank): (&RunDirectory, u32)| -> Result<_, RunError> {
            let files = [directory.stdout(rank)?, directory.stderr(rank)?];
            Ok(Mutex::new(RankStreams { files, partial: [vec![], vec![]] }))
        };
        let trace = |(directory, rank): (&RunDirectory, u32)| -> Result<_, RunError> {
            let traced = trace.is_some_and(|plan| plan.has(rank));
            traced.then(|| directory.instructions(rank).map(Mutex::new)).transpose()
        };
        let all =
            || jobs.iter().flat_map(|(directory, ranks)| ranks.clone().map(move |rank| (*directory, rank)));
        Ok(Streams {
            traces: all().map(trace).collect::<Result<_, _>>()?,
            ranks: all().map(open).collect::<Result<_, _>>()?,
            echo,
            screen: Mutex::new(Screen::new(clear_line)),
            pending: Mutex::default(),
            is_pending: AtomicBool::new(false),
            instructions: AtomicU64::new(0),
            left_bytes: AtomicU64::new(output_bytes_max),
            is_to_end: AtomicBool::new(false),
        })
    }

    /// For what is built and does not run.
    pub fn nowhere() -> Arc<Streams> {
        Arc::new(Streams::new(&[], false, false, None, 0).expect("there are no files"))
    }

    fn lock(&self, rank: u32) -> std::sync::MutexGuard<'_, RankStreams> {
        self.ranks[rank as usize].lock().expect("no writer panics")
    }

    /// Instructions executed so far.
    pub fn instructions(&self) -> u64 {
        self.instructions.load(Ordering::Relaxed)
    }

    /// The terminal's cursor stands within a line of output: a progress line would overwrite it.
    pub fn within_line(&self) -> bool {
        self.screen().within_line
    }

    /// The command says something.
    pub fn say(&self, what: &str) {
        self.screen().show(Stream::Error, format!("chasqui: {what}\n").as_bytes());
    }

    /// The run is to end.
    pub fn end(&self) {
        self.is_to_end.store(true, Ordering::Release);
    }

    /// Whether it is: then its interrupt was asked for before.
    pub fn is_to_end(&self) -> bool {
        self.is_to_end.load(Ordering::Acquire)
    }

    /// Shows what `rank` has written, also a line that is not complete: a question, as it waits for an answer. Other ranks'
    /// earlier lines may come after it.
    fn show_rank(&self, rank: u32) {
        let mut pending = self.pending.lock().expect("no writer panics");
        let (own, others) =
            std::mem::take(&mut *pending).into_iter().partition::<Vec<_>, _>(|p| p.rank == rank);
        *pending = others;
        drop(pending);
        let mut r = self.lock(rank);
        let mut screen = self.screen();
        for p in own {
            if p.once.is_none_or(|about| screen.shown.insert(about)) {
                screen.show(p.stream, &p.bytes);
            }
        }
        for (i, stream) in [Stream::Output, Stream::Error].into_iter().enumerate() {
            let question = std::mem::take(&mut r.partial[i]);
            if !question.is_empty() {
                screen.show(stream, &question);
            }
        }
    }

    /// Nothing reads any more what is shown.
    pub fn is_unread(&self) -> bool {
        self.screen().unread
    }

    fn screen(&self) -> std::sync::MutexGuard<'_, Screen> {
        self.screen.lock().expect("no writer panics")
    }

    fn show_later(&self, line: Pending) {
        let mut pending = self.pending.lock().expect("no writer panics");
        pending.push(line);
        self.is_pending.store(true, Ordering::Relaxed);
    }

    /// Shows what was written before `time`: nothing earlier will be written.
    #[inline]
    pub fn show_until(&self, time: Time) {
        if self.is_pending.load(Ordering::Relaxed) {
            self.show_pending(time);
        }
    }

    #[cold]
    fn show_pending(&self, time: Time) {
        let mut pending = self.pending.lock().expect("no writer panics");
        // What one rank has written stays in its order.
        pending.sort_by_key(|p| (p.now, p.rank));
        let due = pending.partition_point(|p| p.now < time);
        let mut screen = self.screen();
        for p in pending.drain(..due) {
            if p.once.is_none_or(|about| screen.shown.insert(about)) {
                screen.show(p.stream, &p.bytes);
            }
        }
        self.is_pending.store(!pending.is_empty(), Ordering::Relaxed);
    }

    /// Writes what is left. Gives what could not be written, and why not all could be shown.
    pub fn finish(&self) -> (Lost, Option<String>) {
        self.show_pending(Time::NEVER);
        let mut lost = Lost::default();
        for rank in 0..self.ranks.len() as u32 {
            let mut r = self.lock(rank);
            for (i, which) in [Stream::Output, Stream::Error].into_iter().enumerate() {
                let rest = std::mem::take(&mut r.partial[i]);
                if self.echo && !rest.is_empty() {
                    self.screen().show(which, &rest);
                }
                lost.note(r.files[i].finish());
            }
        }
        for trace in self.traces.iter().flatten() {
            lost.note(trace.lock().expect("no writer panics").finish());
        }
        let mut screen = self.screen();
        screen.end_line();
        (lost, screen.lost.take())
    }
}

/// Where the ranks' output and the command's progress line take turns.
struct Screen {
    /// A progress line may stand on it.
    progress: bool,
    /// Standard output, or why it is none: `std`'s takes what a closed one (EBADF) does not take for written.
    output: std::io::Result<File>,
    /// Whether output and errors go to a terminal.
    terminal: [bool; 2],
    /// What was shown last on a terminal did not end its line.
    within_line: bool,
    /// What lines that are shown only once were about.
    shown: BTreeSet<String>,
    /// Why the first of what could not be shown was not.
    lost: Option<String>,
    /// Something was to be shown where nothing reads it any more: a closed pipe.
    unread: bool,
}

/// Returns the cursor and erases the line (ECMA-48 EL).
const CLEAR_LINE: &[u8] = b"\r\x1b[K";

impl Screen {
    fn new(progress: bool) -> Screen {
        let terminal = [std::io::stdout().is_terminal(), std::io::stderr().is_terminal()];
        let output = std::io::stdout().as_fd().try_clone_to_owned().map(File::from);
        Screen {
            progress,
            output,
            terminal,
            within_line: false,
            shown: BTreeSet::new(),
            lost: None,
            unread: false,
        }
    }

    /// What can't be shown on a full disk is no reason to stop the simulation; that a pipe is read no longer is, and nothing
    /// to say.
    fn show(&mut self, stream: Stream, bytes: &[u8]) {
        if self.progress && !self.within_line {
            let _ = std::io::stderr().write_all(CLEAR_LINE);
        }
        let (name, shown) = match stream {
            Stream::Output => ("output", self.write_output(bytes)),
            Stream::Error => ("error", std::io::stderr().write_all(bytes)),
        };
        match shown {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.unread = true,
            Err(error) => {
                self.lost.get_or_insert_with(|| format!("standard {name} can't be written: {error}"));
            }
            Ok(()) => {}
        }
        if self.terminal[usize::from(stream == Stream::Error)] {
            self.within_line = !bytes.ends_with(b"\n");
        }
    }

    fn write_output(&self, bytes: &[u8]) -> std::io::Result<()> {
        match &self.output {
            Ok(output) => (&*output).write_all(bytes),
            Err(error) => Err(error.kind().into()),
        }
    }

    /// What the command says next begins a line.
    fn end_line(&mut self) {
        if self.progress && self.within_line {
            let _ = std::io::stderr().write_all(b"\n");
            self.within_line = false;
        }
    }
}

impl Streams {
    fn write(&self, rank: u32, now: Time, stream: Stream, bytes: &[u8]) {
        let mut r = self.lock(rank);
        let i = usize::from(stream == Stream::Error);
        r.files[i].write(bytes);
        if self.echo {
            r.partial[i].extend_from_slice(bytes);
            let whole = r.partial[i].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
            let shown = if r.partial[i].len() - whole > LINE_BYTES_MAX { r.partial[i].len() } else { whole };
            if shown > 0 {
                let lines: Vec<u8> = r.partial[i].drain(..shown).collect();
                self.show_later(Pending { now, rank, stream, bytes: lines, once: None });
            }
        }
    }
}

/// The output of one job.
pub(crate) struct JobOutput {
    pub streams: Arc<Streams>,
    /// Its number, if there are others: messages about its ranks say it.
    pub job: Option<JobId>,
    /// Where its ranks are among those of all jobs.
    pub first: u32,
    /// The first of its ranks that is simulated.
    pub first_rank: u32,
    /// The parameter that says how many harts a node's ranks have among them.
    pub harts: &'static str,
}

impl JobOutput {
    /// Where a rank is among those of all jobs.
    fn place(&self, rank: u32) -> u32 {
        self.first + rank - self.first_rank
    }

    /// The command says something about `rank`.
    fn say(&self, rank: Rank, now: Time, what: &str, once: Option<String>) {
        let job = self.job.map_or(String::new(), |job| format!("{job}: "));
        let bytes = format!("chasqui: {job}{rank}: {what}\n").into_bytes();
        let rank = self.place(rank.0);
        self.streams.show_later(Pending { now, rank, stream: Stream::Error, bytes, once });
    }
}

/// Of rank 0, which reads the command's standard input.
impl JobOutput {
    /// It waits for input: somebody may have to be told what for.
    pub fn show_what_was_written(&self) {
        if self.streams.echo {
            self.streams.show_rank(self.place(0));
        }
    }

    /// Its input can't be read.
    pub fn input_failed(&self, why: &std::io::Error) {
        let what = format!("standard input can't be read: {why}; read returns an error");
        self.say(Rank(0), Time::ZERO, &what, Some("standard input".into()));
    }
}

impl TraceOutput for JobOutput {
    fn traced(&self, rank: u32, lines: &str) {
        if let Some(trace) = &self.streams.traces[self.place(rank) as usize] {
            trace.lock().expect("no writer panics").write(lines.as_bytes());
        }
    }
}

impl Output for JobOutput {
    fn write(&self, rank: Rank, now: Time, stream: Stream, bytes: &[u8]) {
        self.streams.write(self.place(rank.0), now, stream, bytes);
    }

    fn unknown_call(&self, rank: Rank, now: Time, number: u64) {
        let name = chasqui_linux::syscall::name(number).unwrap_or("unknown to Linux");
        self.say(rank, now, &format!("system call {number} ({name}) is not served: it returns ENOSYS"), None);
    }

    fn no_hart(&self, rank: Rank, now: Time, harts: u32) {
        let what = format!(
            "no hart is left for a thread: it has {harts} ({}, shared out among a node's ranks); clone returns EAGAIN",
            self.harts
        );
        self.say(rank, now, &what, None);
    }

    fn no_files(&self, rank: Rank, now: Time) {
        let what = format!(
            "all ranks together have as many files open as the host allows{}: no more can be opened (ENFILE)",
            sandbox::files_max().map_or(String::new(), |most| format!(" (ulimit -n {most})"))
        );
        self.say(rank, now, &what, Some("files".into()));
    }

    fn refused(&self, rank: Rank, now: Time, refused: &Refused<'_>) {
        let Refused { place, bind, changes, is_seen } = *refused;
        let option = |rest: &str| format!("--bind {}", quoted(&format!("{bind}{rest}")));
        let what = match (is_seen, changes) {
            (true, _) => {
                format!("{place} may only be read; {} without :ro would let it be changed", option(""))
            }
            (false, true) => {
                format!("{place} is not among the files that the program sees; {} would show it", option(""))
            }
            (false, false) => {
                format!(
                    "{place} is not among the files that the program sees; {} would show it",
                    option(":ro")
                )
            }
        };
        self.say(rank, now, &what, Some(format!("{bind} {is_seen} {changes}")));
    }

    fn may_write(&self, bytes: u64) -> bool {
        let left = &self.streams.left_bytes;
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    fn executed(&self, instructions: u64) {
        self.streams.instructions.fetch_add(instructions, Ordering::Relaxed);
    }
}

/// `text` as one word to a shell (POSIX.1-2024, XCU 2.2).
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:+,@%=".contains(c);
    if text.chars().all(is_plain) { text.to_string() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_rank_names_its_job_if_there_are_several() {
        let streams = Streams::nowhere();
        for (job, expected) in
            [(None, "chasqui: rank 2: no\n"), (Some(JobId(1)), "chasqui: job 1: rank 2: no\n")]
        {
            let output =
                JobOutput { streams: streams.clone(), job, first: 0, first_rank: 0, harts: "node.harts" };
            output.say(Rank(2), Time(5), "no", None);
            let said = streams.pending.lock().expect("no writer panics").pop().expect("it was said");
            assert_eq!(String::from_utf8_lossy(&said.bytes), expected);
        }
    }
}

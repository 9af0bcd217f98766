//! The directory that a run leaves behind.

use crate::messages::Messages;
use crate::statistics::StatisticsTree;
use crate::summary::{Host, Summary};
use serde::Serialize;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::whole_file::Folder;

/// A file or directory of a run that could not be written.
#[derive(Debug)]
pub struct RunError {
    /// The file or directory.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} can't be written: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// What a run could not write, or not whole, or is no longer where it was written.
#[derive(Debug, Default)]
pub struct Lost {
    unwritten: Vec<RunError>,
    moved: Vec<PathBuf>,
}

/// Names of files in a line of [`Lost`].
const NAMED: usize = 4;

impl Lost {
    /// A file may be lost.
    pub fn note(&mut self, written: Result<(), RunError>) {
        self.unwritten.extend(written.err());
    }

    /// What was written as `path` is there, or is not.
    pub fn note_place(&mut self, path: &Path, is_there: bool) {
        self.moved.extend((!is_there).then(|| path.to_path_buf()));
    }

    /// Nothing is.
    pub fn is_empty(&self) -> bool {
        self.unwritten.is_empty() && self.moved.is_empty()
    }

    /// In words, a line for each folder and reason: one full disk is one thing to say.
    pub fn lines(&self) -> Vec<String> {
        let mut found: Vec<((&Path, String), Vec<String>)> = vec![];
        for RunError { path, error } in &self.unwritten {
            let where_and_why = (path.parent().unwrap_or(Path::new("")), error.to_string());
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            match found.iter_mut().find(|(known, _)| *known == where_and_why) {
                Some((_, names)) => names.push(name),
                None => found.push((where_and_why, vec![name])),
            }
        }
        let moved = self.moved.iter().map(|path| {
            let path = path.display();
            format!("{path}: no longer there: a program has renamed it, or a folder above it, and what was written with it")
        });
        let unwritten = found.into_iter().map(|((folder, why), names)| Lost::line(folder, &why, &names));
        unwritten.chain(moved).collect()
    }

    fn line(folder: &Path, why: &str, names: &[String]) -> String {
        let named = names[..names.len().min(NAMED)].join(", ");
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let place = if folder == Path::new("") { Path::new(".") } else { folder };
        format!("{}: {why}: lost or cut short: {named}{more}", place.display())
    }
}

/// Characters of a stream that are kept before they are written.
const STREAM_BUFFER_BYTES: usize = 1 << 16;

fn check_empty(path: &Path) -> io::Result<()> {
    match fs::read_dir(path)?.next() {
        Some(_) => Err(io::Error::other("it is there and not empty; remove it or choose another")),
        None => Ok(()),
    }
}

/// The directory of a run.
///
/// Invariant: a file other than a stream is there whole or not at all; nothing is written elsewhere, whatever the run's
/// programs put in its place.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    folder: Arc<Folder>,
}

impl RunDirectory {
    /// Makes the directory, with those above it.
    ///
    /// # Errors
    /// When it can't be made, or is there and not empty: results are never overwritten.
    pub fn create(path: impl Into<PathBuf>) -> Result<RunDirectory, RunError> {
        let path = path.into();
        let made = fs::create_dir_all(&path).and_then(|()| check_empty(&path));
        match made.and_then(|()| Folder::open(&path)) {
            Ok(folder) => Ok(RunDirectory { path, folder: Arc::new(folder) }),
            Err(error) => Err(RunError { path, error }),
        }
    }

    /// Whether [`RunDirectory::create`] could make the directory, as far as can be said without making it.
    ///
    /// # Errors
    /// When it is there and not empty, or no directory can be there.
    pub fn check(path: &Path) -> Result<(), RunError> {
        let there =
            path.ancestors().find(|above| above.exists()).filter(|above| !above.as_os_str().is_empty());
        let possible = match there {
            None => Ok(()),
            Some(there) if there == path => check_empty(there),
            Some(there) if there.is_dir() => Ok(()),
            Some(there) => Err(io::Error::other(format!("{} is no directory", there.display()))),
        };
        possible.map_err(|error| RunError { path: path.to_path_buf(), error })
    }

    /// Whether its path still leads to it.
    pub fn is_there(&self) -> bool {
        self.folder.is_at(&self.path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes file `name` by `body`, whole or not at all.
    ///
    /// # Errors
    /// When it can't be written, or `body` fails.
    pub fn write_with(
        &self,
        name: &str,
        body: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), RunError> {
        self.folder.write_whole(name, body).map_err(|error| RunError { path: self.path.join(name), error })
    }

    /// What a rank wrote to its standard output.
    ///
    /// # Errors
    /// When its file can't be read.
    pub fn output(&self, rank: u32) -> Result<Vec<u8>, RunError> {
        let (name, mut text) = (format!("stdout.{rank}"), Vec::new());
        let read = self.folder.open_file(&name, OFlags::RDONLY);
        match read.and_then(|mut file| file.read_to_end(&mut text)) {
            Ok(_) => Ok(text),
            Err(error) => Err(RunError { path: self.path.join(name), error }),
        }
    }

    fn stream(&self, name: String) -> Result<Stream, RunError> {
        let path = self.path.join(&name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        match self.folder.open_file(&name, flags) {
            Ok(_) => Ok(Stream { path, name, folder: self.folder.clone(), buffer: vec![], failed: None }),
            Err(error) => Err(RunError { path, error }),
        }
    }

    fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), RunError> {
        self.write_with(name, |out| {
            serde_json::to_writer_pretty(&mut *out, value)?;
            out.write_all(b"\n")
        })
    }

    /// Writes `summary.json`; the errors are those of [`RunDirectory::write_with`], here and below.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), RunError> {
        self.write_json("summary.json", summary)
    }

    /// Writes `host.json`.
    pub fn write_host(&self, host: &Host) -> Result<(), RunError> {
        self.write_json("host.json", host)
    }

    /// Writes `stats.json`.
    pub fn write_stats(&self, stats: &StatisticsTree) -> Result<(), RunError> {
        self.write_with("stats.json", |out| stats.write_json(out))
    }

    /// Writes `messages.parquet`, by so many host threads.
    pub fn write_messages(&self, messages: &Messages, threads: usize) -> Result<(), RunError> {
        self.write_with("messages.parquet", |out| messages.write_parquet_to(out, threads))
    }

    /// Writes `resolved.toml`.
    pub fn write_resolved(&self, text: &str) -> Result<(), RunError> {
        self.write_with("resolved.toml", |out| out.write_all(text.as_bytes()))
    }

    /// Opens `stdout.<rank>`.
    pub fn stdout(&self, rank: u32) -> Result<Stream, RunError> {
        self.stream(format!("stdout.{rank}"))
    }

    /// Opens `instructions.<rank>`.
    pub fn instructions(&self, rank: u32) -> Result<Stream, RunError> {
        self.stream(format!("instructions.{rank}"))
    }

    /// Opens `stderr.<rank>`.
    pub fn stderr(&self, rank: u32) -> Result<Stream, RunError> {
        self.stream(format!("stderr.{rank}"))
    }
}

/// What a rank prints. The file is open only while the buffer is written, because a host process may
/// hold fewer open files than a large machine has streams.
#[derive(Debug)]
pub struct Stream {
    path: PathBuf,
    name: String,
    folder: Arc<Folder>,
    buffer: Vec<u8>,
    /// The first failure; reported by [`Stream::finish`], since the guest's `write` can do nothing about it.
    failed: Option<io::Error>,
}

impl Stream {
    /// Appends `bytes`.
    pub fn write(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= STREAM_BUFFER_BYTES {
            self.flush();
        }
    }

    /// Writes what is buffered.
    pub fn flush(&mut self) {
        if !self.buffer.is_empty() && self.failed.is_none() {
            let open = self.folder.open_file(&self.name, OFlags::WRONLY | OFlags::APPEND);
            self.failed = open.and_then(|mut file| file.write_all(&self.buffer)).err();
        }
        self.buffer.clear();
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// The first failure of any write.
    pub fn finish(&mut self) -> Result<(), RunError> {
        self.flush();
        match self.failed.take() {
            None => Ok(()),
            Some(error) => Err(RunError { path: self.path.clone(), error }),
        }
    }
}

/// Text of a run that ends early is kept.
impl Drop for Stream {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, RankSummary};

    /// A directory that is removed at the end of the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("chasqui-record-{test}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Scratch(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("is there");
            let mut names: Vec<String> =
                entries.map(|e| e.expect("entry").file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn summary() -> Summary {
        let rank = RankSummary {
            rank: 0,
            node: 0,
            status: None,
            instructions: 5,
            cycles: 7,
            time_ps: 70,
            mpi_ps: 20,
            unexpected: 0,
            copied_aside: 0,
            shares: crate::Shares::default(),
            waits: vec![],
            calls: vec![],
        };
        Summary {
            schema_version: crate::SUMMARY_VERSION,
            machine: "voyager/reclaim".into(),
            program: "cg".into(),
            inputs: crate::Inputs::default(),
            outcome: Outcome::Deadlock,
            message: "rank 0 waits".into(),
            limit: None,
            exit_status: 125,
            time_ps: u64::MAX,
            others_until_ps: None,
            instructions: 5,
            messages: 0,
            limited_by: "waiting".into(),
            ranks: vec![rank],
            stages: Messages::of(vec![]).summary(1),
            mechanisms: vec![],
            replay: None,
        }
    }

    #[test]
    fn a_run_leaves_its_files_and_nothing_else() {
        let scratch = Scratch::new("files");
        let run = RunDirectory::create(scratch.0.join("a/b")).expect("made with its parents");
        run.write_summary(&summary()).expect("written");
        run.write_host(&Host::default()).expect("written");
        run.write_stats(&StatisticsTree::new()).expect("written");
        run.write_messages(&Messages::of(vec![]), 1).expect("written");
        run.write_resolved("schema_version = 1\n").expect("written");
        run.stdout(0).expect("opened").finish().expect("written");
        run.stderr(12).expect("opened").finish().expect("written");
        let names = Scratch(run.path().to_path_buf()).names();
        let expected = [
            "host.json",
            "messages.parquet",
            "resolved.toml",
            "stats.json",
            "stderr.12",
            "stdout.0",
            "summary.json",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_summary_says_what_happened() {
        let scratch = Scratch::new("summary");
        let run = RunDirectory::create(&scratch.0).expect("made");
        run.write_summary(&summary()).expect("written");
        let text = fs::read_to_string(scratch.0.join("summary.json")).expect("is there");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(json["outcome"], "deadlock");
        assert_eq!(json["time_ps"], u64::MAX);
        assert_eq!(
            (&json["ranks"][0]["status"], &json["ranks"][0]["mpi_ps"]),
            (&serde_json::Value::Null, &20.into())
        );
        assert_eq!(json["stages"][0]["formula"], "send_return - call");
    }

    #[test]
    fn results_are_never_overwritten() {
        let scratch = Scratch::new("full");
        RunDirectory::create(&scratch.0).expect("made");
        let run = RunDirectory::create(&scratch.0).expect("empty, so it may be used");
        run.write_resolved("x").expect("written");
        let message = RunDirectory::create(&scratch.0).expect_err("not empty").to_string();
        assert!(message.contains("is there and not empty"), "{message}");
        let file = scratch.0.join("resolved.toml");
        let message = RunDirectory::create(&file).expect_err("a file").to_string();
        assert!(message.contains("resolved.toml can't be written"), "{message}");
    }

    #[test]
    fn what_can_be_made_is_known_before_it_is_made() {
        let scratch = Scratch::new("check");
        let below = scratch.0.join("a/b");
        RunDirectory::check(&below).expect("nothing is there");
        assert!(!scratch.0.exists(), "and nothing was made");
        let run = RunDirectory::create(&below).expect("made");
        RunDirectory::check(&below).expect("empty, so it may be used");
        RunDirectory::check(Path::new("nosuch/run")).expect("below the current directory");
        run.write_resolved("x").expect("written");
        for (path, part) in [
            (below.clone(), "is there and not empty"),
            (below.join("resolved.toml"), "resolved.toml can't be written"),
            (below.join("resolved.toml/c/d"), "resolved.toml is no directory"),
        ] {
            let message = RunDirectory::check(&path).expect_err("it can't be made").to_string();
            assert!(message.contains(part), "{message}");
            assert!(RunDirectory::create(&path).is_err());
        }
    }

    #[test]
    fn nothing_is_half_written() {
        let scratch = Scratch::new("half");
        let run = RunDirectory::create(&scratch.0).expect("made");
        run.write_resolved("old").expect("written");
        let failed = run.write_with("resolved.toml", |out| {
            out.write_all(&[b'x'; 100_000])?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(
            failed
                .expect_err("fails")
                .to_string()
                .contains("resolved.toml can't be written: the disk is full")
        );
        assert_eq!(scratch.names(), ["resolved.toml"], "no partial file is left");
        assert_eq!(fs::read_to_string(scratch.0.join("resolved.toml")).expect("is there"), "old");
    }

    #[test]
    fn what_is_lost_is_a_line_for_each_reason() {
        let mut lost = Lost::default();
        lost.note(Ok(()));
        assert!(lost.is_empty() && lost.lines().is_empty());
        let full = |path: &str| RunError { path: path.into(), error: io::Error::other("the disk is full") };
        ["run/a", "run/b", "own.recording"].into_iter().for_each(|path| lost.note(Err(full(path))));
        lost.note(Err(RunError { path: "run/c".into(), error: io::Error::other("no") }));
        let lines = [
            "run: the disk is full: lost or cut short: a, b",
            ".: the disk is full: lost or cut short: own.recording",
            "run: no: lost or cut short: c",
        ];
        assert_eq!(lost.lines(), lines);
        (0..9).for_each(|number| lost.note(Err(full(&format!("run/{number}")))));
        assert_eq!(lost.lines()[0], "run: the disk is full: lost or cut short: a, b, 0, 1 and 7 more");
    }

    #[test]
    fn streams_keep_their_text() {
        let scratch = Scratch::new("streams");
        let run = RunDirectory::create(&scratch.0).expect("made");
        let mut stream = run.stdout(3).expect("opened");
        let read = || fs::read(scratch.0.join("stdout.3")).expect("is there");
        stream.write(b"hello ");
        assert_eq!(read(), b"", "buffered");
        stream.write(&vec![b'.'; STREAM_BUFFER_BYTES]);
        assert_eq!(read().len(), STREAM_BUFFER_BYTES + 6, "a full buffer is written");
        stream.write(b"end");
        drop(stream);
        assert!(read().ends_with(b"end"), "a stream that is dropped keeps its text");
        let mut lost = run.stderr(0).expect("opened");
        fs::remove_dir_all(&scratch.0).expect("removed");
        lost.write(b"x");
        assert!(lost.finish().is_err(), "a failure is told at the end");
    }
}

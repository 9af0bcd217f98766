//! The command's standard input, which rank 0 of the first job reads.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use chasqui_files::Sha256;
use chasqui_linux::Input;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::output::JobOutput;
use crate::request::StandardInput;

/// Most that is kept of what comes by a pipe, for runs that read the same [bytes].
const KEPT_BYTES_MAX: usize = 64 << 20;
/// So long it is waited for input before it is looked whether the run is to end.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The host's standard input, of which there is one for all runs of this process. Nothing is read of it before a rank reads.
static HOST: OnceLock<Mutex<Source>> = OnceLock::new();

/// What has come from a descriptor.
struct Source {
    file: io::Result<File>,
    /// Where in a regular file it begins; `None`: it can be read once.
    base: Option<u64>,
    is_terminal: bool,
    /// What is kept of what came.
    kept: Vec<u8>,
    /// Where in the input that begins.
    start: u64,
    at_end: bool,
}

/// Who waits for input.
trait Waiting {
    /// Input is to be waited for.
    fn begins(&self);
    /// No longer: the run ends.
    fn is_over(&self) -> bool;
}

impl Source {
    fn new(file: io::Result<File>) -> Source {
        let is_file = |file: &File| file.metadata().is_ok_and(|found| found.is_file());
        let position = |file: &File| rustix::fs::tell(file).ok();
        let base = file.as_ref().ok().filter(|file| is_file(file)).and_then(position);
        let is_terminal = file.as_ref().is_ok_and(IsTerminal::is_terminal);
        Source { file, base, is_terminal, kept: vec![], start: 0, at_end: false }
    }

    fn of_the_host() -> Source {
        Source::new(io::stdin().as_fd().try_clone_to_owned().map(File::from))
    }

    /// Puts what comes from `offset` on into `buffer`. `keeps`: others will ask for all of it.
    fn read_at(
        &mut self,
        offset: u64,
        buffer: &mut [u8],
        keeps: bool,
        waiting: &dyn Waiting,
    ) -> io::Result<Option<usize>> {
        if let (Some(base), Ok(file)) = (self.base, &self.file) {
            return read_file(file, base + offset, buffer).map(Some);
        }
        if offset < self.start {
            return Err(io::Error::other("an earlier run of this process has read it, and it comes once"));
        }
        if !keeps {
            let past = (offset - self.start).min(self.kept.len() as u64);
            self.kept.drain(..past as usize);
            self.start += past;
        }
        let from = (offset - self.start) as usize;
        while !self.at_end && self.kept.len() < from + buffer.len() {
            if self.line(from).is_some() {
                break;
            }
            if keeps && self.kept.len() > KEPT_BYTES_MAX {
                return Err(io::Error::other(format!(
                    "it has more than the {} MiB that are kept for further runs; a file (< FILE) may be longer",
                    KEPT_BYTES_MAX >> 20
                )));
            }
            match self.more(from + buffer.len() - self.kept.len(), waiting)? {
                None => return Ok(None),
                Some(more) => self.at_end = more == 0,
            }
        }
        let there = &self.kept[from.min(self.kept.len())..];
        let length = self.line(from).unwrap_or(there.len()).min(buffer.len());
        buffer[..length].copy_from_slice(&there[..length]);
        Ok(Some(length))
    }

    /// Length of the line [bytes] that begins at `from` and is there: somebody has typed it, and waits for what comes of it.
    /// What a program writes comes as it does, and how much of it is there must not matter.
    fn line(&self, from: usize) -> Option<usize> {
        let line = self.kept.get(from..).filter(|_| self.is_terminal)?;
        line.iter().position(|&byte| byte == b'\n').map(|at| at + 1)
    }

    /// Reads at most `wanted` bytes more, once there are any: how many. 0: the end. `None`: the run ends.
    fn more(&mut self, wanted: usize, waiting: &dyn Waiting) -> io::Result<Option<usize>> {
        let mut file = self.file.as_ref().map_err(|error| io::Error::from(error.kind()))?;
        let had = self.kept.len();
        let mut begun = false;
        loop {
            if waiting.is_over() {
                return Ok(None);
            }
            match poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&WAIT)) {
                Err(rustix::io::Errno::INTR) => continue,
                Ok(0) => {
                    if !std::mem::replace(&mut begun, true) {
                        waiting.begins();
                    }
                    continue;
                }
                _ => (),
            }
            self.kept.resize(had + wanted, 0);
            let got = file.read(&mut self.kept[had..]);
            self.kept.truncate(had + got.as_ref().map_or(0, |&got| got));
            match got {
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => (),
                got => return got.map(Some),
            }
        }
    }
}

/// Fills `buffer` from `offset` on, up to the file's end.
fn read_file(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(got) => done += got,
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// The standard input of rank 0 of a run.
pub(crate) struct RankInput {
    which: StandardInput,
    output: Arc<JobOutput>,
    /// What the rank has read.
    read: Mutex<(u64, Sha256)>,
}

impl RankInput {
    pub fn new(which: StandardInput, output: Arc<JobOutput>) -> RankInput {
        RankInput { which, output, read: Mutex::default() }
    }

    fn read(&self) -> MutexGuard<'_, (u64, Sha256)> {
        self.read.lock().expect("no reader panics")
    }
}

impl Waiting for RankInput {
    fn begins(&self) {
        self.output.show_what_was_written();
    }

    fn is_over(&self) -> bool {
        self.output.streams.is_to_end()
    }
}

impl Input for RankInput {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let keeps = match self.which {
            StandardInput::None => return Ok(Some(0)),
            StandardInput::Own => false,
            StandardInput::Shared => true,
        };
        let source = HOST.get_or_init(|| Mutex::new(Source::of_the_host()));
        let found = source.lock().expect("no reader panics").read_at(offset, buffer, keeps, self);
        match &found {
            Ok(Some(length)) => {
                let mut read = self.read();
                // What could not be put where the program wanted it comes again.
                let again = (read.0 - offset).min(*length as u64);
                read.1.update(&buffer[again as usize..*length]);
                read.0 += *length as u64 - again;
            }
            Ok(None) => (),
            Err(error) => self.output.input_failed(error),
        }
        found
    }

    fn taken(&self) -> Option<(u64, String)> {
        let (bytes, hash) = &*self.read();
        (*bytes > 0).then(|| (*bytes, hash.digits()))
    }
}

impl std::fmt::Debug for RankInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RankInput({:?})", self.which)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Waits so many times.
    struct Patience(AtomicUsize);

    impl Waiting for Patience {
        fn begins(&self) {}

        fn is_over(&self) -> bool {
            self.0.fetch_sub(1, Ordering::Relaxed) == 0
        }
    }

    fn pipe(bytes: &[u8]) -> (Source, File) {
        let (from, to) = std::io::pipe().expect("a pipe");
        let mut to = File::from(std::os::fd::OwnedFd::from(to));
        to.write_all(bytes).expect("there is room");
        (Source::new(Ok(File::from(std::os::fd::OwnedFd::from(from)))), to)
    }

    fn read(source: &mut Source, offset: u64, bytes: usize, keeps: bool) -> Option<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        let patience = Patience(AtomicUsize::new(20));
        let got = source.read_at(offset, &mut buffer, keeps, &patience).expect("it can be read")?;
        buffer.truncate(got);
        Some(buffer)
    }

    #[test]
    fn a_pipe_is_read_as_if_all_had_come() {
        let (mut source, mut to) = pipe(b"0123");
        assert_eq!(read(&mut source, 0, 2, false).expect("it is there"), b"01");
        // Two bytes are there, and more may come: it is waited for, and nothing of it lost.
        assert_eq!(read(&mut source, 2, 4, false), None);
        to.write_all(b"45").expect("there is room");
        assert_eq!(read(&mut source, 2, 4, false).expect("it is there"), b"2345");
        drop(to);
        assert_eq!(read(&mut source, 6, 4, false).expect("the end"), b"");
        assert_eq!(source.kept.len(), 0, "nothing is kept that was read");
        let patience = Patience(AtomicUsize::new(1));
        let again = source.read_at(0, &mut [0], false, &patience).expect_err("it is gone").to_string();
        assert!(again.starts_with("an earlier run of this process has read it"), "{again}");
    }

    #[test]
    fn what_somebody_types_comes_by_lines_however_often_it_is_read() {
        let (mut source, to) = pipe(b"one\ntwo\nthree");
        source.is_terminal = true;
        drop(to);
        for _ in 0..2 {
            assert_eq!(read(&mut source, 0, 100, true).expect("a line"), b"one\n");
            assert_eq!(read(&mut source, 4, 2, true).expect("part of one"), b"tw");
            assert_eq!(read(&mut source, 6, 2, true).expect("the rest of it"), b"o\n");
            assert_eq!(read(&mut source, 8, 100, true).expect("the end"), b"three");
        }
    }

    #[test]
    fn what_is_kept_is_read_again_and_has_a_limit() {
        let (mut source, to) = pipe(b"0123");
        drop(to);
        for _ in 0..2 {
            assert_eq!(read(&mut source, 0, 3, true).expect("it is there"), b"012");
            assert_eq!(read(&mut source, 3, 3, true).expect("it is there"), b"3");
        }
        source.kept = vec![0; KEPT_BYTES_MAX];
        source.at_end = false;
        let patience = Patience(AtomicUsize::new(1));
        let mut at = |offset: usize| source.read_at(offset as u64, &mut [0], true, &patience);
        assert_eq!(at(KEPT_BYTES_MAX).expect("it ends there"), Some(0));
        source.kept.push(0);
        source.at_end = false;
        let far = source.read_at(KEPT_BYTES_MAX as u64 + 1, &mut [0], true, &patience);
        assert!(far.expect_err("too much").to_string().starts_with("it has more than the 64 MiB"));
    }

    #[test]
    fn a_file_is_read_from_where_it_is_as_often_as_is_wanted() {
        let path = std::env::temp_dir().join(format!("chasqui-input-{}", std::process::id()));
        std::fs::write(&path, b"0123456789").expect("written");
        let mut file = File::open(&path).expect("it is there");
        file.read_exact(&mut [0; 3]).expect("it is long enough");
        let mut source = Source::new(Ok(file));
        for keeps in [false, true, true] {
            assert_eq!(read(&mut source, 1, 4, keeps).expect("it is there"), b"4567");
            assert_eq!(read(&mut source, 6, 4, keeps).expect("it is there"), b"9");
        }
        std::fs::remove_file(&path).expect("it is there");
    }
}

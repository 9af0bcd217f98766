//! Output of the simulated processes.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use chasqui_linux::Stream;
use chasqui_node::Output;
use chasqui_record::{RunDirectory, RunError};

/// Writes each process's streams to the run directory, and whole lines to the terminal if asked.
pub(crate) struct Streams {
    ranks: Vec<Mutex<Rank>>,
    echo: bool,
    clear_line: bool,
    instructions: AtomicU64,
}

struct Rank {
    files: [chasqui_record::Stream; 2],
    /// Beginnings of lines that are not complete, for the terminal.
    partial: [Vec<u8>; 2],
}

impl Streams {
    pub fn new(
        directory: &RunDirectory,
        ranks: u32,
        echo: bool,
        clear_line: bool,
    ) -> Result<Streams, RunError> {
        let open = |rank| -> Result<_, RunError> {
            let files = [directory.stdout(rank)?, directory.stderr(rank)?];
            Ok(Mutex::new(Rank { files, partial: [vec![], vec![]] }))
        };
        Ok(Streams {
            ranks: (0..ranks).map(open).collect::<Result<_, _>>()?,
            echo,
            clear_line,
            instructions: AtomicU64::new(0),
        })
    }

    fn lock(&self, rank: u32) -> std::sync::MutexGuard<'_, Rank> {
        self.ranks[rank as usize].lock().expect("no writer panics")
    }

    /// Instructions executed so far.
    pub fn instructions(&self) -> u64 {
        self.instructions.load(Ordering::Relaxed)
    }

    /// Writes what is left.
    pub fn finish(&self) {
        for rank in 0..self.ranks.len() as u32 {
            let mut r = self.lock(rank);
            for (i, which) in [Stream::Output, Stream::Error].into_iter().enumerate() {
                let rest = std::mem::take(&mut r.partial[i]);
                if self.echo && !rest.is_empty() {
                    self.show(which, &rest);
                }
                r.files[i].flush();
            }
        }
    }
}

/// Returns the cursor and erases the line (ECMA-48 EL).
const CLEAR_LINE: &[u8] = b"\r\x1b[K";

impl Streams {
    fn show(&self, stream: Stream, bytes: &[u8]) {
        // A closed terminal is no reason to stop the simulation.
        if self.clear_line {
            let _ = std::io::stderr().write_all(CLEAR_LINE);
        }
        let _ = match stream {
            Stream::Output => std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush()),
            Stream::Error => std::io::stderr().write_all(bytes),
        };
    }
}

impl Output for Streams {
    fn write(&self, rank: u32, stream: Stream, bytes: &[u8]) {
        let mut r = self.lock(rank);
        let i = usize::from(stream == Stream::Error);
        r.files[i].write(bytes);
        if self.echo {
            r.partial[i].extend_from_slice(bytes);
            if let Some(end) = r.partial[i].iter().rposition(|&b| b == b'\n') {
                let lines: Vec<u8> = r.partial[i].drain(..=end).collect();
                self.show(stream, &lines);
            }
        }
    }

    fn unknown_call(&self, rank: u32, number: u64) {
        let text = format!("chasqui: rank {rank}: system call {number} is not served: it returns ENOSYS\n");
        self.show(Stream::Error, text.as_bytes());
    }

    fn executed(&self, instructions: u64) {
        self.instructions.fetch_add(instructions, Ordering::Relaxed);
    }
}

//! System calls, served functionally. One file a family; this one has what they share.
//!
//! Numbers: Linux include/uapi/asm-generic/unistd.h, which RISC-V uses as it is.

use chasqui_engine::Time;
use chasqui_memory::FlatMemory;

use crate::descriptors::Stream;
use crate::errno::{Answer, Errno};
use crate::process::Process;
use crate::refused::Refused;
use crate::space::Fault;

mod calls;
mod files;
mod identity;
pub(crate) mod limits;
mod mapping;
mod names;
mod numbers;
mod poll;
mod signals;
mod status;
mod threads;
mod time;

pub use numbers::{Service, calls, name};
pub use time::EPOCH_S;

/// What the simulator does for a process.
pub trait Host {
    /// Takes what the process writes to its standard output or error.
    fn write(&mut self, stream: Stream, bytes: &[u8]);

    /// Called for a system call that is not served, once for each number and process.
    fn report_unknown(&mut self, number: u64);

    /// Called, once for each process, when a thread finds none of the node's `harts` free.
    fn report_no_hart(&mut self, harts: u32);

    /// Called, once for each process, when it is refused a file because the host has too many open for all processes.
    fn report_no_files(&mut self);

    /// Called, once for each file and process, when the process is refused a file that the host has.
    fn report_refused(&mut self, refused: &Refused<'_>);

    /// The process is about to write so many bytes to its output or to files: whether it may.
    fn may_write(&mut self, bytes: u64) -> bool;
}

/// How a system call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The process goes on with this in `a0`.
    Return(i64),
    /// The thread gives its hart up while others need it; the call returns 0.
    Yield,
    /// The process ends.
    Exit {
        /// Exit status, 0 to 255.
        status: i32,
        /// All threads end; else the last has.
        group: bool,
    },
    /// The thread ends; others go on.
    Leave,
    /// The thread goes on with `id` in `a0`, and another begins on hart `hart` as it is, with 0 in `a0`.
    Clone {
        /// The other's hart, which had no thread.
        hart: usize,
        /// Its stack pointer.
        stack: u64,
        /// Its thread pointer, if it gets one.
        tls: Option<u64>,
        /// Its id.
        id: i64,
    },
    /// A signal is delivered to the process. Handlers are not run: it ends the process.
    Signal(i32),
    /// The thread goes on at `until` with `value` in `a0`.
    Sleep {
        /// When.
        until: Time,
        /// What the call returns.
        value: i64,
    },
    /// The thread waits for another to wake it (see [`Process::take_woken`]), or until `until`, when
    /// [`Process::time_out`] says what the call returns.
    Block {
        /// What for.
        wait: Wait,
        /// How long.
        until: Time,
    },
    /// The process would have written more than it may.
    TooMuchOutput,
    /// Memory ran out while the call touched the process's memory.
    OutOfMemory(Fault),
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// `FUTEX_WAKE` on this address.
    Futex {
        /// Virtual address.
        address: u64,
    },
}

/// Why a call stops before it returns a value.
enum Stop {
    /// It returns this error.
    Error(Errno),
    /// It does not return, or not now.
    Outcome(Outcome),
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Stop {
        Stop::Error(errno)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Stop {
        Stop::Error(error.into())
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        if fault.is_out_of_memory() {
            Stop::Outcome(Outcome::OutOfMemory(fault))
        } else {
            Stop::Error(Errno::EFAULT)
        }
    }
}

type Result<T> = std::result::Result<T, Stop>;

/// A system call while it is served.
struct Call<'a> {
    process: &'a mut Process,
    memory: &'a mut FlatMemory,
    host: &'a mut dyn Host,
    now: Time,
    /// The hart that makes the call.
    hart: usize,
    args: [u64; 6],
}

/// Longest path, its end included (Linux `PATH_MAX`).
const PATH_BYTES_MAX: usize = 4096;

impl Process {
    /// Serves system call `number` (`a7`) with `args` (`a0` to `a5`) of the thread on hart `hart` at time
    /// `now`.
    pub fn syscall(
        &mut self,
        hart: usize,
        number: u64,
        args: [u64; 6],
        now: Time,
        memory: &mut FlatMemory,
        host: &mut dyn Host,
    ) -> Outcome {
        self.touched_by(hart);
        let mut call = Call { process: self, memory, host, now, hart, args };
        match calls::serve(&mut call, number) {
            Ok(value) => Outcome::Return(value),
            Err(Stop::Error(errno)) => {
                if errno == Errno::ENFILE && !std::mem::replace(&mut call.process.told_files, true) {
                    call.host.report_no_files();
                }
                Outcome::Return(-errno.0)
            }
            Err(Stop::Outcome(outcome)) => outcome,
        }
    }

    /// The harts whose threads were woken since the last call: each goes on with 0 in `a0`.
    pub fn take_woken(&mut self) -> Vec<usize> {
        self.threads.take_woken()
    }

    /// The thread on hart `hart` has waited long enough: what its call returns.
    pub fn time_out(&mut self, hart: usize) -> i64 {
        self.threads.give_up(hart);
        -Errno::ETIMEDOUT.0
    }

    /// Since the last call a thread has asked that all threads' stores be seen by all (`membarrier`).
    pub fn take_barrier(&mut self) -> bool {
        std::mem::take(&mut self.barrier)
    }
}

impl Process {
    /// A system call is not served: whether that is to be said, once for each number.
    pub fn refuses(&mut self, number: u64) -> bool {
        let is_first = !calls::REFUSED.contains(&number) && !self.unknown.contains(&number);
        if is_first {
            self.unknown.push(number);
        }
        is_first
    }
}

impl Call<'_> {
    /// Unknown calls are reported once.
    fn unknown(&mut self, number: u64) -> Answer {
        if self.process.refuses(number) {
            self.host.report_unknown(number);
        }
        Err(Errno::ENOSYS)
    }

    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<()> {
        Ok(self.process.space.read_user(self.memory, address, buffer)?)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.process.space.write_user(self.memory, address, bytes)?)
    }

    fn read_words<const N: usize>(&mut self, address: u64) -> Result<[u64; N]> {
        let mut words = [0; N];
        for (i, word) in words.iter_mut().enumerate() {
            let mut bytes = [0; 8];
            self.read(address.wrapping_add(i as u64 * 8), &mut bytes)?;
            *word = u64::from_le_bytes(bytes);
        }
        Ok(words)
    }

    fn write_words(&mut self, address: u64, words: &[u64]) -> Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write(address, &bytes)
    }

    /// The process is about to write so many bytes. One that may not is ended.
    fn spend(&mut self, bytes: u64) -> Result<()> {
        match self.host.may_write(bytes) {
            true => Ok(()),
            false => Err(Stop::Outcome(Outcome::TooMuchOutput)),
        }
    }

    /// The path at `address`.
    fn path(&mut self, address: u64) -> Result<String> {
        let mut path = Vec::new();
        while path.len() < PATH_BYTES_MAX {
            // Up to the page's end: the next page may not be there.
            let at = address.wrapping_add(path.len() as u64);
            let mut part = vec![0; (64 - at % 64) as usize];
            self.read(at, &mut part)?;
            if let Some(end) = part.iter().position(|&byte| byte == 0) {
                path.extend_from_slice(&part[..end]);
                // Names are bytes to Linux; here they are text, as on every host we know.
                return String::from_utf8(path).map_err(|_| Errno::ENOENT.into());
            }
            path.extend(part);
        }
        Err(Errno::ENAMETOOLONG.into())
    }
}

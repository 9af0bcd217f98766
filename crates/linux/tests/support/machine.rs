//! A process whose system calls a test makes itself.

use std::path::PathBuf;
use std::sync::Arc;

use chasqui_engine::Time;
use chasqui_linux::{Elf, Host, Mounts, Options, Outcome, Process, Refused, Stream};
use chasqui_memory::FlatMemory;

/// What the process wrote, and what was reported to the host.
#[derive(Default)]
pub struct Recorder {
    pub output: Vec<u8>,
    pub error: Vec<u8>,
    pub unknown: Vec<u64>,
    pub no_hart: Vec<u32>,
    pub no_files: u32,
    /// Files that the process was refused, and what would have to be bound.
    pub refused: Vec<(String, String)>,
    /// What the process has written [bytes].
    pub written: u64,
    pub output_bytes_max: Option<u64>,
}

impl Host for Recorder {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Output => self.output.extend(bytes),
            Stream::Error => self.error.extend(bytes),
        }
    }

    fn report_unknown(&mut self, number: u64) {
        self.unknown.push(number);
    }

    fn report_no_hart(&mut self, harts: u32) {
        self.no_hart.push(harts);
    }

    fn report_no_files(&mut self) {
        self.no_files += 1;
    }

    fn report_refused(&mut self, refused: &Refused<'_>) {
        self.refused.push((refused.place.into(), refused.bind.into()));
    }

    fn may_write(&mut self, bytes: u64) -> bool {
        self.written += bytes;
        self.output_bytes_max.is_none_or(|most| self.written <= most)
    }
}

pub struct Machine {
    pub memory: FlatMemory,
    pub process: Process,
    pub host: Recorder,
    pub now: Time,
    /// The hart that makes the calls.
    pub hart: usize,
    /// A page for arguments, and behind it nothing.
    pub scratch: u64,
}

pub const LOW: u64 = 0x10000;
pub const BYTES: u64 = 16 << 20;
/// Where the arguments of calls are.
const SCRATCH: u64 = 0x40_0000;
pub const PAGE: u64 = 4096;

impl Machine {
    pub fn new(change: impl FnOnce(&mut Options)) -> Machine {
        let mut memory = FlatMemory::new(BYTES).unwrap();
        let mut options = Options::new(LOW..BYTES);
        change(&mut options);
        let elf = Arc::new(Elf::parse("dir/prog", super::elf("rv64gc")).unwrap());
        let arguments = ["./dir/prog".to_string(), "one".to_string()];
        let process = Process::new(&mut memory, elf, &arguments, &["A=1".to_string()], options).unwrap();
        let mut machine = Machine {
            memory,
            process,
            host: Recorder::default(),
            now: Time::ZERO,
            hart: 0,
            scratch: SCRATCH,
        };
        machine.map_scratch();
        machine
    }

    pub fn map_scratch(&mut self) {
        // MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED
        assert_eq!(self.call(222, &[SCRATCH, PAGE, 3, 0x32, u64::MAX, 0]), SCRATCH as i64);
    }

    /// A process in a new directory of the host, removed by [`Folder`].
    pub fn with_folder(name: &str) -> (Machine, Folder) {
        let path = std::env::temp_dir().join(format!("chasqui-linux-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let mounts = Arc::new(Mounts::new(&path).unwrap());
        (Machine::new(|options| options.mounts = mounts), Folder(path))
    }

    pub fn outcome(&mut self, number: u64, arguments: &[u64]) -> Outcome {
        let mut args = [0; 6];
        args[..arguments.len()].copy_from_slice(arguments);
        self.process.syscall(self.hart, number, args, self.now, &mut self.memory, &mut self.host)
    }

    pub fn call(&mut self, number: u64, arguments: &[u64]) -> i64 {
        match self.outcome(number, arguments) {
            Outcome::Return(value) => value,
            other => panic!("call {number}: {other:?}"),
        }
    }

    pub fn put(&mut self, address: u64, bytes: &[u8]) {
        self.process.space.write_user(&mut self.memory, address, bytes).unwrap();
    }

    pub fn put_words(&mut self, address: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(address, &bytes);
    }

    pub fn get(&mut self, address: u64, bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0; bytes];
        self.process.space.read_user(&mut self.memory, address, &mut buffer).unwrap();
        buffer
    }

    pub fn words(&mut self, address: u64, count: usize) -> Vec<u64> {
        let bytes = self.get(address, count * 8);
        bytes.chunks(8).map(|part| u64::from_le_bytes(part.try_into().unwrap())).collect()
    }

    /// A path, put at the start of the scratch page.
    pub fn text(&mut self, text: &str) -> u64 {
        self.put(self.scratch, &[text.as_bytes(), &[0]].concat());
        self.scratch
    }

    pub fn open(&mut self, path: &str, flags: u64) -> i64 {
        let path = self.text(path);
        self.call(56, &[-100i64 as u64, path, flags, 0o644])
    }
}

/// A directory that goes with the test.
pub struct Folder(pub PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

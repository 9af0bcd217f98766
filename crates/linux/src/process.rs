//! A process: its program, memory, files, and how it begins.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use chasqui_memory::FlatMemory;
use chasqui_random::Random;

use crate::descriptors::Descriptors;
use crate::elf::{Elf, Segment};
use crate::errno::Errno;
use crate::input::Input;
use crate::limits::Limits;
use crate::mounts::Mounts;
use crate::paths::Paths;
use crate::refused::Reported;
use crate::signal::Signals;
use crate::space::{
    AddressSpace, Backing, Fault, PAGE_BYTES, Placement, Policy, Protection, STACK_TOP, page_down, page_up,
};
use crate::threads::Threads;

/// A region of a network interface that a process may map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NiMapping {
    /// First physical address, at a page.
    pub physical: u64,
    /// Length [bytes], whole pages; 0: no such region.
    pub bytes: u64,
    /// Every access is a transaction with the device, so system calls refuse to touch it. What the
    /// hart does is decided by the physical address; page-table entries say nothing about it.
    pub uncached: bool,
}

/// A network interface as a process sees it: `/dev/ni<its number>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NiDevice {
    /// Contents of the identification page, at offset 0; at most a page.
    pub identification: Vec<u8>,
    /// The regions; the `i`-th is at offset `(i + 1) << 32`.
    pub regions: Vec<NiMapping>,
}

/// What a process is started with besides its program, arguments and environment.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rank in the job; sets the process id and the random numbers.
    pub rank: u32,
    /// Seed of the run's random numbers (`getrandom`, `AT_RANDOM`).
    pub seed: u64,
    /// Physical memory that is the process's own, zero at first: frames and page tables.
    pub physical: Range<u64>,
    /// Where the nodes begin that this memory is at, one after the other; empty: it is at one.
    pub nodes: Vec<u64>,
    /// The node of each of the process's harts; those that are missing are at the first.
    pub hart_nodes: Vec<usize>,
    /// Which node pages come from, where neither an area nor a thread has a policy.
    pub policy: Policy,
    /// Length that the stack may reach [bytes].
    pub stack_bytes: u64,
    /// The files that it sees. Relative paths begin at `/cwd`.
    pub mounts: Arc<Mounts>,
    /// Standard input.
    pub input: Arc<dyn Input>,
    /// The node's name (`uname`).
    pub node_name: String,
    /// Harts of the node (`sched_getaffinity`).
    pub harts: u32,
    /// The node's network interfaces.
    pub devices: Vec<NiDevice>,
}

impl Options {
    /// The process's memory by nodes: the memory before the first node's beginning, if there is any, is that node's, too.
    fn banks(&self) -> Vec<Range<u64>> {
        let Range { start, end } = self.physical;
        let ends = self.nodes.iter().skip(1).copied().chain([u64::MAX]);
        let starts = [0].into_iter().chain(self.nodes.iter().skip(1).copied());
        let within = |at: u64| at.clamp(start, end);
        starts.zip(ends).map(|(first, last)| within(first)..within(last)).collect()
    }

    /// The usual: rank 0, seed 0, 8 MiB of stack, no files, no input, one hart, no devices.
    pub fn new(physical: Range<u64>) -> Options {
        Options {
            rank: 0,
            seed: 0,
            physical,
            nodes: Vec::new(),
            hart_nodes: Vec::new(),
            policy: Policy::Default,
            stack_bytes: 8 << 20,
            mounts: Arc::default(),
            input: Arc::new(Vec::new()),
            node_name: "node0".into(),
            harts: 1,
            devices: Vec::new(),
        }
    }
}

/// Why a process cannot start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The node's memory is too small.
    Memory {
        /// The program's name.
        program: String,
        /// What the process may use [bytes].
        limit_bytes: u64,
    },
    /// Arguments and environment are longer than a quarter of the stack (Linux: `E2BIG`).
    Arguments {
        /// Their length [bytes].
        bytes: u64,
        /// What is allowed [bytes].
        limit_bytes: u64,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Memory { program, limit_bytes } => {
                write!(f, "{program}: does not fit into the {} KiB of memory of its rank", limit_bytes >> 10)
            }
            StartError::Arguments { bytes, limit_bytes } => {
                write!(f, "arguments and environment have {bytes} bytes ({limit_bytes} are allowed)")
            }
        }
    }
}

impl std::error::Error for StartError {}

/// A simulated process.
pub struct Process {
    pub(crate) elf: Arc<Elf>,
    /// Its memory.
    pub space: AddressSpace,
    pub(crate) options: Options,
    pub(crate) descriptors: Descriptors,
    pub(crate) paths: Paths,
    pub(crate) signals: Signals,
    pub(crate) threads: Threads,
    pub(crate) limits: Limits,
    pub(crate) random: Random,
    /// System calls that were not known, each reported once.
    pub(crate) unknown: Vec<u64>,
    /// Files of the host's that it was refused, each reported once.
    pub(crate) reported: Reported,
    /// It was said that a thread found no hart.
    pub(crate) told_harts: bool,
    /// It was said that the host has no more files for it.
    pub(crate) told_files: bool,
    /// See [`Process::take_barrier`].
    pub(crate) barrier: bool,
    stack_pointer: u64,
}

/// Auxiliary vector keys (Linux include/uapi/linux/auxvec.h).
mod auxiliary {
    pub const NULL: u64 = 0;
    pub const PHDR: u64 = 3;
    pub const PHENT: u64 = 4;
    pub const PHNUM: u64 = 5;
    pub const PAGESZ: u64 = 6;
    pub const BASE: u64 = 7;
    pub const FLAGS: u64 = 8;
    pub const ENTRY: u64 = 9;
    pub const UID: u64 = 11;
    pub const EUID: u64 = 12;
    pub const GID: u64 = 13;
    pub const EGID: u64 = 14;
    pub const HWCAP: u64 = 16;
    pub const CLKTCK: u64 = 17;
    pub const SECURE: u64 = 23;
    pub const RANDOM: u64 = 25;
    pub const HWCAP2: u64 = 26;
    pub const EXECFN: u64 = 31;
}

/// User and group of every process.
pub(crate) const USER_ID: u64 = 1000;
/// Clock ticks a second (`AT_CLKTCK`, `times`; Linux `USER_HZ`).
pub(crate) const TICKS_PER_S: u64 = 100;
/// The single-letter extensions as bits: I, M, A, F, D, C (Linux
/// arch/riscv/include/uapi/asm/hwcap.h).
const HWCAP: u64 = bit('i') | bit('m') | bit('a') | bit('f') | bit('d') | bit('c');

const fn bit(letter: char) -> u64 {
    1 << (letter as u64 - 'a' as u64)
}

impl Process {
    /// A process that is about to execute `elf`'s first instruction. `arguments[0]` is replaced by
    /// its last path component, so that a program runs alike from everywhere.
    ///
    /// # Errors
    /// When memory or stack are too small.
    ///
    /// # Panics
    /// When `options.physical` lies outside `memory`.
    pub fn new(
        memory: &mut FlatMemory,
        elf: Arc<Elf>,
        arguments: &[String],
        environment: &[String],
        options: Options,
    ) -> Result<Process, StartError> {
        let limit_bytes = options.physical.end.saturating_sub(options.physical.start);
        let full = || StartError::Memory { program: elf.name().to_string(), limit_bytes };
        let fault = |_: Fault| full();
        let banks = options.banks();
        let mut space =
            AddressSpace::new(memory, &banks, options.stack_bytes, elf.executable_stack()).map_err(fault)?;
        space.touched_by(options.hart_nodes.first().copied().unwrap_or(0), options.policy);
        for segment in elf.segments() {
            map_segment(&mut space, memory, &elf, segment).map_err(|_| full())?;
        }
        // The text is there from the start: other ranks' copies are in the kernel's page cache, and a fault
        // maps the pages around it (Linux mm/memory.c, `do_fault_around`).
        space.populate_text(memory, elf.text().unwrap_or_default()).map_err(fault)?;
        space.start_heap(elf.end());
        let mut random = random_of_rank(options.seed, options.rank);
        let stack = Stack::new(&elf, arguments, environment, &mut random);
        let limit_bytes = options.stack_bytes / 4;
        if stack.bytes.len() as u64 > limit_bytes {
            return Err(StartError::Arguments { bytes: stack.bytes.len() as u64, limit_bytes });
        }
        space.write_user(memory, stack.pointer, &stack.bytes).map_err(fault)?;
        Ok(Process {
            space,
            descriptors: Descriptors::new(options.input.clone()),
            paths: Paths::new(options.mounts.clone(), arguments),
            reported: Reported::default(),
            signals: Signals::default(),
            limits: Limits::new(options.stack_bytes),
            random,
            unknown: Vec::new(),
            threads: Threads::new(process_id(options.rank), options.harts),
            told_harts: false,
            told_files: false,
            barrier: false,
            stack_pointer: stack.pointer,
            elf,
            options,
        })
    }

    /// The thread on hart `hart`, of the process's, is about to need pages.
    pub fn touched_by(&mut self, hart: usize) {
        if self.options.nodes.is_empty() {
            return;
        }
        let own = self.threads.policy(hart);
        let policy = if own == Policy::Default { self.options.policy } else { own };
        self.space.touched_by(self.node_of(hart), policy);
    }

    /// The node of hart `hart`, of the process's.
    pub(crate) fn node_of(&self, hart: usize) -> usize {
        self.options.hart_nodes.get(hart).copied().unwrap_or(0)
    }

    /// Address of the first instruction.
    pub fn entry(&self) -> u64 {
        self.elf.entry()
    }

    /// What `sp` is at the first instruction; all other registers are zero.
    pub fn stack_pointer(&self) -> u64 {
        self.stack_pointer
    }

    /// The program.
    pub fn elf(&self) -> &Arc<Elf> {
        &self.elf
    }

    /// Rank in the job.
    pub fn rank(&self) -> u32 {
        self.options.rank
    }

    /// Closes its files, those that it has mapped too: the host has only so many for all. It has ended.
    pub fn close_files(&mut self) {
        self.descriptors.close_all();
        self.space.close_files();
    }

    pub(crate) fn id(&self) -> i64 {
        process_id(self.options.rank)
    }
}

fn process_id(rank: u32) -> i64 {
    1000 + i64::from(rank)
}

/// Maps a segment as Linux does (fs/binfmt_elf.c): whole file pages, then zeros.
fn map_segment(
    space: &mut AddressSpace,
    memory: &mut FlatMemory,
    elf: &Elf,
    segment: &Segment,
) -> Result<(), Errno> {
    let flags = [
        (segment.read, Protection::READ),
        (segment.write, Protection::WRITE),
        (segment.execute, Protection::EXECUTE),
    ];
    let protection = Protection(flags.iter().filter(|(on, _)| *on).map(|(_, bit)| bit.0).sum());
    let up = |address| page_up(address).expect("segments end below IMAGE_END");
    let start = page_down(segment.address);
    let file_end = segment.address + segment.file_bytes;
    let end = segment.address + segment.memory_bytes;
    let mut zeros = start;
    if segment.file_bytes > 0 {
        let offset = segment.file_offset - (segment.address - start);
        let has_zeros = segment.memory_bytes > segment.file_bytes;
        let limit = if has_zeros { segment.file_offset + segment.file_bytes } else { u64::MAX };
        let backing = Backing::Image { bytes: elf.bytes().clone(), offset, limit };
        zeros = up(file_end);
        space.map(memory, Placement::Fixed(start), zeros - start, protection, backing)?;
    }
    if up(end) > zeros {
        space.map(memory, Placement::Fixed(zeros), end - zeros, protection, Backing::Anonymous)?;
    }
    Ok(())
}

/// The stack as the program finds it: from the stack pointer up argc, argv, envp and the auxiliary
/// vector, then the strings (Linux fs/binfmt_elf.c, `create_elf_tables`).
struct Stack {
    pointer: u64,
    /// From the stack pointer to the top.
    bytes: Vec<u8>,
}

impl Stack {
    fn new(elf: &Elf, arguments: &[String], environment: &[String], random: &mut Random) -> Stack {
        let first = arguments.first().map_or(elf.name(), |path| path.rsplit('/').next().unwrap_or(path));
        let arguments: Vec<&str> =
            std::iter::once(first).chain(arguments.iter().skip(1).map(String::as_str)).collect();
        let mut strings = Vec::new();
        let mut add = |text: &[u8]| {
            strings.extend_from_slice(text);
            (strings.len() - text.len()) as u64
        };
        let mut random_bytes = [0; 16];
        random.fill(&mut random_bytes);
        let random_at = add(&random_bytes);
        let mut add_text = |text: &str| add(&[text.as_bytes(), &[0]].concat());
        let argument_at: Vec<u64> = arguments.iter().map(|text| add_text(text)).collect();
        let environment_at: Vec<u64> = environment.iter().map(|text| add_text(text)).collect();
        let name_at = add_text(elf.name());
        strings.extend_from_slice(&[0; 8]);

        let base = (STACK_TOP - strings.len() as u64) & !15;
        let vector = auxiliary_vector(elf, base + random_at, base + name_at);
        let mut words = vec![arguments.len() as u64];
        words.extend(argument_at.iter().map(|at| base + at));
        words.push(0);
        words.extend(environment_at.iter().map(|at| base + at));
        words.push(0);
        words.extend(vector.iter().flat_map(|&(key, value)| [key, value]));
        // psABI: the stack pointer is a multiple of 16.
        let pointer = (base - words.len() as u64 * 8) & !15;
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize((base - pointer) as usize, 0);
        bytes.extend(strings);
        Stack { pointer, bytes }
    }
}

/// The random numbers of one rank in a run.
fn random_of_rank(seed: u64, rank: u32) -> Random {
    let of_run = Random::new(seed).bits();
    Random::new(Random::new(of_run.wrapping_add(u64::from(rank))).bits())
}

fn auxiliary_vector(elf: &Elf, random_at: u64, name_at: u64) -> [(u64, u64); 18] {
    [
        (auxiliary::HWCAP, HWCAP),
        (auxiliary::PAGESZ, PAGE_BYTES),
        (auxiliary::CLKTCK, TICKS_PER_S),
        (auxiliary::PHDR, elf.header_address()),
        (auxiliary::PHENT, 56),
        (auxiliary::PHNUM, elf.header_count()),
        (auxiliary::BASE, 0),
        (auxiliary::FLAGS, 0),
        (auxiliary::ENTRY, elf.entry()),
        (auxiliary::UID, USER_ID),
        (auxiliary::EUID, USER_ID),
        (auxiliary::GID, USER_ID),
        (auxiliary::EGID, USER_ID),
        (auxiliary::SECURE, 0),
        (auxiliary::RANDOM, random_at),
        (auxiliary::HWCAP2, 0),
        (auxiliary::EXECFN, name_at),
        (auxiliary::NULL, 0),
    ]
}

//! Where a processor's cycles went: by call path and by cause.
//!
//! `mod.rs` is what is counted; `write.rs` the files: `profile.json`, `profile.folded`,
//! `profile.speedscope.json`.
//!
//! Invariant: every cycle is counted once. The sum over a processor's paths and causes is its cycles.

mod write;

use rustc_hash::FxHashMap;
use std::fmt;
use std::ops::AddAssign;

pub use write::{write_folded, write_profile, write_speedscope};

/// What a cycle of a hart went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// Executing: the costs of instructions by class, of branches, fences and cache-block operations.
    Issue,
    /// Waiting for a data line.
    Data,
    /// Waiting for an instruction line.
    Instruction,
    /// Translating: steps of the walker, and its waiting for lines of page-table entries.
    Translation,
    /// Waiting for an uncached load.
    Uncached,
    /// Waiting for room in the write buffer, or for its draining.
    WriteBuffer,
    /// Waiting for posted transactions.
    Posted,
    /// Charged by the NI: the overheads of an idealised machine.
    Overhead,
    /// System calls and page faults.
    Software,
    /// Asleep in a system call.
    Sleep,
    /// Turns of polling loops that found nothing.
    Wait,
}

/// Number of [`Cause`]s.
pub const CAUSES: usize = Cause::Wait as usize + 1;

impl Cause {
    /// All of them, in their order.
    pub const ALL: [Cause; CAUSES] = [
        Cause::Issue,
        Cause::Data,
        Cause::Instruction,
        Cause::Translation,
        Cause::Uncached,
        Cause::WriteBuffer,
        Cause::Posted,
        Cause::Overhead,
        Cause::Software,
        Cause::Sleep,
        Cause::Wait,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Issue => "issue",
            Cause::Data => "data",
            Cause::Instruction => "instruction",
            Cause::Translation => "tlb",
            Cause::Uncached => "uncached",
            Cause::WriteBuffer => "write_buffer",
            Cause::Posted => "posted",
            Cause::Overhead => "overhead",
            Cause::Software => "software",
            Cause::Sleep => "sleep",
            Cause::Wait => "wait",
        }
    }

    /// What it is, in words.
    pub fn doc(self) -> &'static str {
        match self {
            Cause::Issue => {
                "executing: costs of instructions by class, of branches, fences, cache-block operations"
            }
            Cause::Data => "waiting for a data line, from the L2 or memory",
            Cause::Instruction => "waiting for an instruction line, from the L2 or memory",
            Cause::Translation => "walking page tables, with the misses of the walker",
            Cause::Uncached => "waiting for an uncached load",
            Cause::WriteBuffer => "waiting for room in the write buffer, or for its draining",
            Cause::Posted => {
                "waiting for posted transactions: uncached stores to the NI, flushes, write-backs"
            }
            Cause::Overhead => "charged by the NI: the overheads of an idealised machine (o of LogGP)",
            Cause::Software => "system calls and page faults",
            Cause::Sleep => "asleep in a system call",
            Cause::Wait => "turns of polling loops that found nothing: waiting for messages",
        }
    }
}

/// What was counted at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles, by [`Cause`].
    pub cycles: [u64; CAUSES],
}

impl Spent {
    /// All cycles.
    pub fn total(&self) -> u64 {
        self.cycles.iter().sum()
    }

    /// The same, `times` over, all of it waiting.
    pub fn waited(&self, times: u64) -> Spent {
        let mut cycles = [0; CAUSES];
        cycles[Cause::Wait as usize] = self.total() * times;
        Spent { instructions: self.instructions * times, cycles }
    }
}

impl AddAssign<&Spent> for Spent {
    fn add_assign(&mut self, other: &Spent) {
        self.instructions += other.instructions;
        self.cycles.iter_mut().zip(&other.cycles).for_each(|(sum, more)| *sum += more);
    }
}

/// A chain of calls, by its last link.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// The path without its last function; the root is its own parent.
    parent: u32,
    function: u32,
    spent: Spent,
}

/// Whose cycles are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profiled {
    /// The harts of this world rank.
    Rank(u32),
    /// A firmware processor of a node.
    Firmware {
        /// Number of the node.
        node: u32,
        /// What the processor is called.
        name: &'static str,
    },
}

impl fmt::Display for Profiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Profiled::Rank(rank) => write!(f, "rank {rank}"),
            Profiled::Firmware { node, name } => write!(f, "{name} of node {node}"),
        }
    }
}

/// The call paths of a processor, a tree, with what was spent at the end of each.
#[derive(Clone, Debug)]
pub struct Profile {
    whose: Profiled,
    /// What is executed, where ranks execute several programs.
    program: Option<String>,
    functions: Vec<String>,
    numbers: FxHashMap<String, u32>,
    paths: Vec<Path>,
    children: FxHashMap<(u32, u32), u32>,
}

impl Profile {
    /// The path with no function.
    pub const ROOT: u32 = 0;

    /// Nothing counted yet.
    pub fn new(whose: Profiled) -> Profile {
        let root = Path { parent: Self::ROOT, function: u32::MAX, spent: Spent::default() };
        Profile {
            whose,
            program: None,
            functions: vec![],
            numbers: FxHashMap::default(),
            paths: vec![root],
            children: FxHashMap::default(),
        }
    }

    /// Whose cycles are counted.
    pub fn whose(&self) -> Profiled {
        self.whose
    }

    /// The functions are those of `program`, which other ranks do not execute.
    pub fn name_program(&mut self, program: String) {
        self.program = Some(program);
    }

    /// The number of the function called `name`. Functions of one name are one.
    pub fn function(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.functions.len() as u32;
        self.functions.push(name.to_string());
        self.numbers.insert(name.to_string(), number);
        number
    }

    /// The path that leads from `parent` to `function`.
    pub fn path(&mut self, parent: u32, function: u32) -> u32 {
        let paths = &mut self.paths;
        *self.children.entry((parent, function)).or_insert_with(|| {
            paths.push(Path { parent, function, spent: Spent::default() });
            paths.len() as u32 - 1
        })
    }

    /// The path that `path` is one call of.
    pub fn parent(&self, path: u32) -> u32 {
        self.paths[path as usize].parent
    }

    /// Counts at the end of `path`.
    #[inline]
    pub fn spend(&mut self, path: u32, spent: &Spent) {
        self.paths[path as usize].spent += spent;
    }

    /// What was spent at the end of `path`, to count there.
    #[inline]
    pub fn at(&mut self, path: u32) -> &mut Spent {
        &mut self.paths[path as usize].spent
    }

    /// Counts what `other` has counted, too.
    pub fn add(&mut self, other: &Profile) {
        // A path comes after its parent.
        let mut numbers = vec![Self::ROOT];
        self.spend(Self::ROOT, &other.paths[0].spent);
        for path in &other.paths[1..] {
            let function = self.function(&other.functions[path.function as usize]);
            let number = self.path(numbers[path.parent as usize], function);
            self.spend(number, &path.spent);
            numbers.push(number);
        }
    }

    /// All that was spent.
    pub fn total(&self) -> Spent {
        let mut total = Spent::default();
        self.paths.iter().for_each(|path| total += &path.spent);
        total
    }

    /// Calls `visit` with each path at whose end something was spent, its functions from the outermost.
    fn visit(&self, visit: &mut dyn FnMut(&[u32], &Spent)) {
        let mut names = vec![];
        for path in self.paths.iter().filter(|p| p.spent != Spent::default()) {
            names.clear();
            let mut at = path;
            while at.function != u32::MAX {
                names.push(at.function);
                at = &self.paths[at.parent as usize];
            }
            names.reverse();
            visit(&names, &path.spent);
        }
    }
}

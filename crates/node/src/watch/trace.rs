//! Writes the instructions that a hart executes in a window of time, a line each.

use std::fmt::Write;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use chasqui_engine::Time;
use chasqui_hart::{Hart, Insn};
use chasqui_linux::Elf;
use chasqui_record::{CAUSES, Cause};

use crate::processor::Output;

/// A trace that is asked for.
#[derive(Clone, Debug)]
pub struct TracePlan {
    /// Instructions that start then are written.
    pub window: Range<Time>,
    /// Of these ranks; none named: of all.
    pub ranks: Vec<RangeInclusive<u32>>,
}

impl TracePlan {
    /// Instructions of `rank` are wanted.
    pub fn has(&self, rank: u32) -> bool {
        self.ranks.is_empty() || self.ranks.iter().any(|some| some.contains(&rank))
    }
}

/// The instruction that is tried.
#[derive(Clone, Copy)]
struct Tried {
    time: Time,
    cycle: u64,
    pc: u64,
    touched: Option<u64>,
    stored: u64,
}

pub(super) struct Trace {
    window: Range<Time>,
    rank: u32,
    /// The hart's number, where there are several.
    number: Option<usize>,
    elf: Arc<Elf>,
    output: Arc<dyn Output>,
    tried: Option<Tried>,
    opened: bool,
    /// Cycles since the last line.
    spent: [u64; CAUSES],
    line: String,
}

/// What the columns are.
const HEADER: &str = "\
# time [ps]: the instruction starts for the last time; cycle: of the hart; then pc, symbol, instruction,
# register written, memory touched, cycles since the line before that were not its own execution
";

impl Trace {
    /// `number`: the hart's, where there are several.
    pub fn new(
        window: Range<Time>,
        (rank, number): (u32, Option<usize>),
        elf: Arc<Elf>,
        output: Arc<dyn Output>,
    ) -> Trace {
        // The harts of a rank write to one file.
        match number {
            None => output.traced(rank, HEADER),
            Some(0) => output.traced(rank, &format!("# hart; then\n{HEADER}")),
            Some(_) => {}
        }
        let (spent, line) = ([0; CAUSES], String::new());
        Trace { window, rank, number, elf, output, tried: None, opened: false, spent, line }
    }

    /// When it begins.
    pub fn from(&self) -> Time {
        self.window.start
    }

    /// When it is over.
    pub fn to(&self) -> Time {
        self.window.end
    }

    /// Whether what happens `now` is written. What was spent before the window is forgotten.
    pub fn is_open(&mut self, now: Time) -> bool {
        let open = self.window.contains(&now);
        if open && !std::mem::replace(&mut self.opened, open) {
            self.spent = [0; CAUSES];
        }
        open
    }

    /// Cycles were spent on `cause`.
    pub fn spend(&mut self, cause: Cause, cycles: u64) {
        self.spent[cause as usize] += cycles;
    }

    /// `insn`, at the hart's pc, is about to be tried.
    pub fn before(&mut self, hart: &Hart, insn: &Insn) {
        let time = hart.now();
        self.tried = self.is_open(time).then(|| Tried {
            time,
            cycle: hart.cycle,
            pc: hart.state.pc,
            touched: insn.touches(&hart.state),
            stored: insn.stored().map_or(0, |register| register.value(&hart.state)),
        });
    }

    /// It was executed.
    pub fn after(&mut self, hart: &Hart, insn: &Insn) {
        let spent = std::mem::take(&mut self.spent);
        if let Some(tried) = self.tried.take() {
            self.line.clear();
            self.compose(tried, hart, insn, &spent).expect("a string takes all text");
            self.output.traced(self.rank, &self.line);
        }
    }

    fn compose(&mut self, tried: Tried, hart: &Hart, insn: &Insn, spent: &[u64; CAUSES]) -> std::fmt::Result {
        let Tried { time, cycle, pc, touched, stored } = tried;
        let symbol = match self.elf.symbolize(pc) {
            Some((name, 0)) => name.to_string(),
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => "-".to_string(),
        };
        let out = &mut self.line;
        if let Some(number) = self.number {
            write!(out, "{number:>2} ")?;
        }
        write!(out, "{:>14} {cycle:>12} {pc:#012x} {symbol:<32} {:<26}", time.0, insn.to_string())?;
        if let Some(register) = insn.destination() {
            write!(out, " {}={:#x}", register.name(), register.value(&hart.state))?;
        }
        if let Some(address) = touched {
            write!(out, " [{address:#x}]")?;
        }
        if insn.stored().is_some() {
            write!(out, "={stored:#x}")?;
        }
        for cause in Cause::ALL.into_iter().filter(|&cause| cause != Cause::Issue) {
            if spent[cause as usize] > 0 {
                write!(out, " {}:{}", cause.name(), spent[cause as usize])?;
            }
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        Ok(())
    }
}

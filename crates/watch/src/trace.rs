//! Writes the instructions that a hart executes in a window of time, a line each.

use std::fmt::Write;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use chasqui_engine::Time;
use chasqui_hart::{Hart, Insn};
use chasqui_record::{CAUSES, Cause};

use crate::TraceOutput;
use crate::symbols::{Named, Symbols};

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
    pc: u64,
    touched: Option<u64>,
    stored: u64,
}

pub(crate) struct Trace {
    window: Range<Time>,
    rank: u32,
    /// The hart's number, where there are several.
    number: Option<usize>,
    symbols: Symbols,
    output: Arc<dyn TraceOutput>,
    /// When the instruction at the hart's pc begins, or has begun: it may have been fetched or tried
    /// since, and have to wait.
    start: (Time, u64),
    tried: Option<Tried>,
    /// Cycles since the last instruction.
    spent: [u64; CAUSES],
    line: String,
}

/// What the columns are.
const HEADER: &str = "\
# time [ps]: the instruction starts, with its fetch; cycle: of the hart; then pc, symbol, instruction,
# register written, memory touched, cycles since the line before that were not its own execution
";

impl Trace {
    /// `number`: the hart's, where there are several.
    pub fn new(
        window: Range<Time>,
        (rank, number): (u32, Option<usize>),
        symbols: Symbols,
        output: Arc<dyn TraceOutput>,
    ) -> Trace {
        // The harts of a rank write to one file.
        match number {
            None => output.traced(rank, HEADER),
            Some(0) => output.traced(rank, &format!("# hart; then\n{HEADER}")),
            Some(_) => {}
        }
        let (spent, line) = ([0; CAUSES], String::new());
        let start = (Time::ZERO, 0);
        Trace { window, rank, number, symbols, output, start, tried: None, spent, line }
    }

    /// When it begins.
    pub fn from(&self) -> Time {
        self.window.start
    }

    /// When it is over.
    pub fn to(&self) -> Time {
        self.window.end
    }

    /// Whether what happens `now` is written.
    pub fn is_open(&self, now: Time) -> bool {
        self.window.contains(&now)
    }

    /// Whether an instruction has begun that is written.
    pub fn has_begun(&self) -> bool {
        self.is_open(self.start.0)
    }

    /// The next instruction begins now.
    pub fn start(&mut self, hart: &Hart) {
        self.start = (hart.now(), hart.cycle);
    }

    /// The hart ran unseen. If it stopped within an instruction, that one began then.
    pub fn skip(&mut self, hart: &Hart) {
        self.spent = [0; CAUSES];
        self.start(hart);
    }

    /// Cycles were spent on `cause`.
    pub fn spend(&mut self, cause: Cause, cycles: u64) {
        self.spent[cause as usize] += cycles;
    }

    /// `insn`, at the hart's pc, is about to be tried.
    pub fn before(&mut self, hart: &Hart, insn: &Insn) {
        self.tried = self.has_begun().then(|| Tried {
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
        self.start(hart);
    }

    fn compose(&mut self, tried: Tried, hart: &Hart, insn: &Insn, spent: &[u64; CAUSES]) -> std::fmt::Result {
        let Tried { pc, touched, stored } = tried;
        let (time, cycle) = self.start;
        let symbol = self.symbols.symbolize(pc).map_or("-".to_string(), |symbol| Named(symbol).to_string());
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

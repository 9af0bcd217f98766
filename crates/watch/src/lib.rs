//! Observing a hart while it runs: a profile of its cycles, a trace of its instructions.
//!
//! A watched hart executes one instruction at a time, with the same effects as unwatched. Every change of its
//! clock is accounted for: by [`Watch::after`] for the time of instructions, by [`Watch::pass`] for everything
//! else that moves it.
//!
//! `stack.rs` follows calls; `profiler.rs` counts; `trace.rs` writes; `symbols.rs` has the names of addresses,
//! `callers.rs` the calls that are under way.

mod callers;
mod profiler;
mod stack;
mod symbols;
mod trace;

use std::sync::Arc;

use chasqui_hart::{Decoder, Halt, HaltAtMarks, Hart, Insn, Observer, Op};
use chasqui_memory::{LentBus, Stall, Waits};
use chasqui_record::{Cause, Profile, Profiled};

pub use callers::{Registers, callers, trapped};
use profiler::Profiler;
pub use symbols::{Named, Symbols};
use trace::Trace;
pub use trace::TracePlan;

/// Where instruction traces go.
pub trait TraceOutput: Send + Sync {
    /// Lines of the instruction trace of `rank`.
    fn traced(&self, _rank: u32, _lines: &str) {}
}

/// What is to be watched of ranks.
#[derive(Clone, Debug, Default)]
pub struct WatchPlan {
    /// Count where their cycles go.
    pub profile: bool,
    /// Write their instructions.
    pub trace: Option<TracePlan>,
    /// Note when they first and last access the data of messages.
    pub accesses: bool,
}

/// The watch on one hart.
pub struct Watch {
    /// The hart's cycle up to which everything is accounted for.
    seen: u64,
    /// [`chasqui_memory::Port::waits`] at that cycle.
    waits: Waits,
    decoder: Decoder,
    profiler: Option<Profiler>,
    trace: Option<Trace>,
}

/// What a stall is counted as.
fn cause(stall: Stall) -> Cause {
    match stall {
        Stall::Data => Cause::Data,
        Stall::Instruction => Cause::Instruction,
        Stall::Walk => Cause::Translation,
        Stall::Uncached => Cause::Uncached,
        Stall::WriteBuffer => Cause::WriteBuffer,
        Stall::Posted => Cause::Posted,
    }
}

impl Watch {
    /// As `plan` asks, of a hart of `rank`, whose code `symbols` name, at its start; `None`: nothing is asked. `number`: the
    /// hart's, where there are several.
    pub fn new(
        plan: &WatchPlan,
        (rank, number): (u32, Option<usize>),
        symbols: &Symbols,
        output: &Arc<dyn TraceOutput>,
    ) -> Option<Box<Watch>> {
        let profiler = plan.profile.then(|| Profiler::new(Profiled::Rank(rank), symbols.clone()));
        let trace = plan.trace.as_ref().filter(|plan| plan.has(rank));
        let trace = trace
            .map(|plan| Trace::new(plan.window.clone(), (rank, number), symbols.clone(), output.clone()));
        let watched = profiler.is_some() || trace.is_some();
        watched.then(|| Box::new(Watch::of(profiler, trace)))
    }

    /// A profile of `whose` hart, whose code `symbols` name, at its start.
    pub fn profiling(whose: Profiled, symbols: Symbols) -> Box<Watch> {
        Box::new(Watch::of(Some(Profiler::new(whose, symbols)), None))
    }

    fn of(profiler: Option<Profiler>, trace: Option<Trace>) -> Watch {
        Watch { seen: 0, waits: Waits::default(), decoder: Decoder::default(), profiler, trace }
    }

    /// Does what [`Hart::run_with_bus`] does.
    pub fn run(&mut self, hart: &mut Hart, lent: Option<LentBus<'_>>, mut end: u64) -> Halt {
        if self.profiler.is_none()
            && let Some(trace) = &mut self.trace
        {
            let now = hart.now();
            let edge = if now < trace.from() { trace.from() } else { trace.to() };
            if now < edge {
                end = end.min(hart.cycle_at(edge));
            }
            if !trace.is_open(now) && !trace.has_begun() {
                let halt = hart.run_with_bus(&mut HaltAtMarks, lent, end);
                trace.skip(hart);
                self.catch_up(hart);
                return halt;
            }
        }
        let mut decoder = std::mem::take(&mut self.decoder);
        let halt = hart.run_observed(self, &mut decoder, lent, end);
        self.decoder = decoder;
        halt
    }

    /// A new thread begins at the hart's pc. Until now the hart had none: nothing was spent.
    pub fn begin(&mut self, hart: &Hart) {
        self.catch_up(hart);
        if let Some(profiler) = &mut self.profiler {
            profiler.begin(hart);
        }
        if let Some(trace) = &mut self.trace {
            trace.start(hart);
        }
    }

    /// The hart's clock was moved between two instructions, because of `cause`.
    pub fn pass(&mut self, hart: &Hart, cause: Cause) {
        self.account(hart, cause);
        if let Some(trace) = &mut self.trace {
            trace.start(hart);
        }
    }

    fn account(&mut self, hart: &Hart, cause: Cause) {
        let cycles = hart.cycle - self.seen;
        self.catch_up(hart);
        if cycles > 0 {
            self.spend(cause, cycles);
        }
    }

    /// The hart has waited for its port: the instruction that asked goes on.
    pub fn stalled(&mut self, hart: &Hart, stall: Stall) {
        self.account(hart, cause(stall));
    }

    /// The hart has executed a `pause`: the time since the last one may have been waiting.
    pub fn paused(&mut self, hart: &Hart) {
        if let Some(profiler) = &mut self.profiler {
            profiler.paused(hart);
        }
    }

    /// A parked hart was moved on by so many turns of its loop, from one pause to the next.
    pub fn repeated(&mut self, hart: &Hart, turns: u64) {
        if turns > 0
            && let Some(profiler) = &mut self.profiler
        {
            let counted = profiler.repeated(turns);
            assert_eq!(hart.cycle - self.seen, counted, "cycles of {turns} turns of a polling loop");
            self.catch_up(hart);
        }
        self.pass(hart, Cause::Wait);
    }

    /// What was counted, of a hart that runs no more.
    pub fn profile(self) -> Option<Profile> {
        self.profiler.map(Profiler::finish)
    }

    fn catch_up(&mut self, hart: &Hart) {
        self.seen = hart.cycle;
        self.waits = *hart.port.waits();
    }

    /// Counts what the port's accesses took since [`Watch::waits`].
    #[cold]
    fn split_waits(&mut self, hart: &Hart) {
        let now = *hart.port.waits();
        let before = std::mem::replace(&mut self.waits, now);
        for stall in Stall::ALL {
            let cycles = now.cycles[stall as usize] - before.cycles[stall as usize];
            if cycles > 0 {
                self.spend(cause(stall), cycles);
            }
        }
    }

    fn spend(&mut self, cause: Cause, cycles: u64) {
        if let Some(profiler) = &mut self.profiler {
            profiler.spend(cause, cycles);
        }
        if let Some(trace) = &mut self.trace {
            trace.spend(cause, cycles);
        }
    }
}

impl Observer for Watch {
    fn before(&mut self, hart: &Hart, insn: &Insn) {
        if let Some(trace) = &mut self.trace {
            trace.before(hart, insn);
        }
    }

    fn after(&mut self, hart: &Hart, insn: &Insn, executed: bool) {
        let waited = hart.port.waits().total - self.waits.total;
        let cycles = hart.cycle - self.seen - waited;
        self.seen = hart.cycle;
        if cycles > 0 {
            self.spend(Cause::Issue, cycles);
        }
        if waited > 0 {
            self.split_waits(hart);
        }
        if !executed {
            return;
        }
        if let Some(profiler) = &mut self.profiler {
            profiler.executed(hart, insn, insn.op != Op::Mark);
        }
        if let Some(trace) = &mut self.trace {
            trace.after(hart, insn);
        }
    }

    /// What it took is the handler's.
    fn trapped(&mut self, hart: &Hart) {
        if let Some(profiler) = &mut self.profiler {
            profiler.trapped(hart);
        }
        self.pass(hart, Cause::Issue);
    }
}

//! The fast loop: runs pre-decoded blocks.
//!
//! Invariant: whatever it does, [`Hart::step`] repeated would have done, to the cycle. Entries of a block
//! whose accesses hit need no look at the clock: their times are sums known at decoding. An access that
//! takes longer moves the block's base; an access that must wait leaves the block at its instruction.

use std::cell::Cell;

use chasqui_memory::LentBus;

use crate::State;
use crate::block::{Block, Counts, MAX_LENGTH};
use crate::blocks::Resume;
use crate::executor::Executor;
use crate::hart::{Halt, Hart, HartStatistics};
use crate::predictor::Predictor;
use crate::threaded::{self, CHAIN_MAX, Frame};
use crate::translate::{Region, translate};

/// Instructions that one run executes in a call that takes no time: a matter of a millisecond.
pub(crate) const UNTIMED_RUN: u64 = 1 << 16;

/// Chains of blocks in one go: their counts have room for so many.
pub(crate) const CHAINS_MAX: u32 = Counts::BLOCKS_MAX / (CHAIN_MAX + 1);

/// The block that follows; null: none does, and [`Hart::exit`] says what does.
pub(crate) type Next = *const Block;

/// A receiver of marks.
pub trait Marks {
    /// `hart` has executed a mark with this code, call and value of its register, and is at the instruction behind it. True:
    /// that is all, and the hart goes on.
    /// False: it halts ([`Halt::Mark`]), for the caller to deal with it.
    fn take(&mut self, hart: &mut Hart, code: u32, call: u32, value: u64) -> bool;
}

/// The hart halts at each mark.
pub struct HaltAtMarks;

impl Marks for HaltAtMarks {
    fn take(&mut self, _: &mut Hart, _: u32, _: u32, _: u64) -> bool {
        false
    }
}

/// What follows a block, if not another.
#[derive(Clone, Copy)]
pub(crate) enum Exit {
    /// Look up the block at `pc`.
    Lookup,
    /// Execute one instruction by reference, then look up.
    Rare,
    /// Stop.
    Halt(Halt),
}

/// What the loop knows beside the hart.
pub(crate) struct Course {
    /// What follows the block that was executed last, if no block does.
    pub exit: Exit,
    /// A run through instructions that take no time ends after so many instructions in all.
    pub untimed_last: u64,
    /// The cycle at which the instruction started that was executed last, if it took the slow way.
    pub started: u64,
    /// The hart runs ahead of other harts now.
    pub is_ahead: bool,
    /// What code may be read now.
    pub reads: CodeReads,
}

/// What code a hart may read, to decode it. What other harts that run ahead have stored is in memory already, though it comes
/// later: with such harts nothing is read before they have been taken back ([`Halt::Turn`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeReads {
    /// Whatever it comes to.
    All,
    /// What it comes to first.
    Next,
    /// Nothing but text that nobody writes.
    Nothing,
}

impl Default for Course {
    fn default() -> Course {
        Course { exit: Exit::Lookup, untimed_last: 0, started: 0, is_ahead: false, reads: CodeReads::All }
    }
}

impl Hart {
    /// Executes every instruction that starts before cycle `soft`, and perhaps some that start before
    /// `deadline`, unless something halts it. Instructions that take no time never come to a deadline: of
    /// those it executes 65,536 or a few more, so that its caller keeps hold of it.
    pub fn run(&mut self, soft: u64, deadline: u64) -> Halt {
        self.run_marking(&mut HaltAtMarks, soft, deadline)
    }

    #[inline]
    fn run_marking(&mut self, marks: &mut dyn Marks, soft: u64, deadline: u64) -> Halt {
        debug_assert!(soft <= deadline);
        self.course.untimed_last = self.statistics.instructions + UNTIMED_RUN;
        if self.execution.executor == Executor::Reference {
            self.repeat_step(soft)
        } else if !self.has_levels() {
            self.run_level(marks, soft, deadline)
        } else {
            self.run_levels(marks, soft, deadline)
        }
    }

    /// [`Hart::run`] of a hart with levels that interrupts go to: it runs to the next that is taken, or to an instruction
    /// that may change which does.
    fn run_levels(&mut self, marks: &mut dyn Marks, soft: u64, deadline: u64) -> Halt {
        while self.cycle < soft && !self.is_untimed_too_long() && self.port.pass_events(self.cycle) {
            if self.take_interrupt() {
                continue;
            }
            let trap = self.trap_cycle();
            let halt = if trap > self.cycle {
                self.recheck = false;
                self.run_level(marks, soft.min(trap), deadline.min(trap))
            } else {
                // An instruction that has begun is finished first.
                self.step().unwrap_or(Halt::Deadline)
            };
            match self.delivered(halt) {
                None | Some(Halt::Deadline) => {}
                Some(halt) => return halt,
            }
        }
        Halt::Deadline
    }

    /// [`Hart::run`] while the level stays and no interrupt is taken.
    fn run_level(&mut self, marks: &mut dyn Marks, soft: u64, deadline: u64) -> Halt {
        self.blocks.begin();
        while self.fetched > 0 && self.cycle < soft {
            if !self.port.pass_events(self.cycle) {
                return Halt::Deadline;
            }
            if self.holds_code() {
                self.fetched = 0;
            } else if let Some(halt) = self.step() {
                return halt;
            }
        }
        loop {
            let timed = self.port.is_timed();
            if self.cycle >= soft || self.is_untimed_too_long() || self.recheck {
                return Halt::Deadline;
            }
            if !self.port.pass_events(self.cycle) {
                return Halt::Deadline;
            }
            let Some((block, index)) = self.resume().or_else(|| Some((self.block()?, 0))) else {
                return self.step().unwrap_or(Halt::Deadline);
            };
            // It goes on, or waits again.
            self.begun = false;
            let exit = if timed {
                self.run_blocks::<true>(block, index, marks, soft, deadline)
            } else {
                self.run_blocks::<false>(block, index, marks, soft, deadline)
            };
            match exit {
                Exit::Halt(halt) => return halt,
                Exit::Rare if self.cycle < soft => {
                    if !self.port.pass_events(self.cycle) {
                        return Halt::Deadline;
                    }
                    if let Some(halt) = self.step() {
                        return halt;
                    }
                }
                _ => {}
            }
        }
    }

    /// Instructions take no time, and so many have been executed that the caller is to have its say.
    fn is_untimed_too_long(&self) -> bool {
        !self.port.is_timed() && self.statistics.instructions >= self.course.untimed_last
    }

    /// [`Hart::run`] by the reference alone.
    fn repeat_step(&mut self, soft: u64) -> Halt {
        loop {
            if self.cycle >= soft || self.is_untimed_too_long() || !self.port.pass_events(self.cycle) {
                return Halt::Deadline;
            }
            if let Some(halt) = self.step() {
                return halt;
            }
        }
    }

    /// Runs `block` from entry `index` on and the blocks that follow it, as far as the deadlines let it.
    pub(crate) fn run_blocks<const TIMED: bool>(
        &mut self,
        block: Next,
        mut index: usize,
        marks: &mut dyn Marks,
        soft: u64,
        deadline: u64,
    ) -> Exit {
        // SAFETY: blocks live until the next run.
        let block = unsafe { &*block };
        let view = self.port.view();
        let mut f = Frame::new(self, block, view, marks, (soft, deadline));
        let exit = loop {
            let b = f.block;
            f.executed.add(if index == 0 { b.counts } else { b.places[index].rest });
            f.left = CHAIN_MAX;
            if TIMED {
                f.cut(index, self.cycle);
            }
            let next = self.execute::<TIMED>(&mut f, index);
            f.mend();
            if index == 0 && b.has_begun(TIMED, CHAIN_MAX + 1 - f.left, self.execution.translate_after) {
                self.translate::<TIMED>(&f, b);
            }
            if next.is_null() {
                break self.course.exit;
            }
            f.chains += 1;
            let is_due = self.cycle >= f.soft && !(TIMED && self.goes_on(&mut f));
            if is_due || f.chains == CHAINS_MAX {
                self.stand_before(next);
                break Exit::Lookup;
            }
            // SAFETY: as above.
            (f.block, index) = (unsafe { &*next }, 0);
        };
        let s = &mut self.statistics;
        s.instructions = s.instructions.wrapping_add(f.executed.instructions());
        s.loads = s.loads.wrapping_add(f.executed.loads());
        s.stores = s.stores.wrapping_add(f.executed.stores());
        exit
    }

    /// Between two blocks, what is due of the hart's own transactions happens. False: the caller has its say.
    #[inline]
    fn goes_on(&mut self, f: &mut Frame<'_>) -> bool {
        let goes_on = self.cycle < f.last.0 && self.port.pass_events(self.cycle);
        if goes_on {
            // A block fetches its code.
            self.port.take_lost_code();
            f.renew(self);
        }
        goes_on
    }

    /// [`Hart::run`] until cycle `end`, while the hart has the bus that is `lent`, if one is, to itself. It goes on after
    /// what `marks` takes.
    #[inline]
    pub fn run_with_bus(&mut self, marks: &mut dyn Marks, lent: Option<LentBus<'_>>, end: u64) -> Halt {
        if let Some(lent) = lent {
            // SAFETY: it is borrowed until it is taken back.
            unsafe { self.port.lend_bus(lent, self.cycles) };
        }
        let halt = self.run_marking(marks, end, end);
        self.port.take_back_bus();
        halt
    }

    /// The lines of the instruction at `pc` can be fetched in no time.
    fn holds_code(&mut self) -> bool {
        let mask = !(self.port.fetch_line_bytes() - 1);
        let pc = self.state.pc;
        self.port.holds_code(pc & mask) && self.port.holds_code((pc + 3) & mask)
    }

    /// Where the hart was when it left a block, if it can go on there: it has not been moved, and its code
    /// need not be fetched again.
    pub(crate) fn resume(&mut self) -> Option<(Next, usize)> {
        let place = self.blocks.resume.take()?;
        let holds = place.pc == self.state.pc && (!self.port.is_timed() || self.holds_code());
        holds.then_some((place.block, place.index))
    }

    /// The next instruction is the first of `block`.
    fn stand_before(&mut self, block: Next) {
        // SAFETY: blocks live until the next run.
        self.state.pc = unsafe { &*block }.pc;
        self.blocks.resume = Some(Resume { block, index: 0, pc: self.state.pc });
    }

    /// Lines that the instruction at `pc` lies in before `line`.
    #[cold]
    pub(crate) fn lines_before(&self, line: u64) -> u8 {
        u8::from(self.state.pc & !(self.port.fetch_line_bytes() - 1) != line)
    }

    /// The block at `pc`; `None` if the code there can't be read.
    pub(crate) fn block(&mut self) -> Option<Next> {
        let pc = self.state.pc;
        match self.blocks.find(pc) {
            Some(block) => Some(block),
            None if !self.may_read(pc) => None,
            None => {
                let block = self.blocks.build(pc, &mut self.port, &self.timing)?;
                self.has_read(pc);
                Some(block)
            }
        }
    }

    /// The physical pages that decoding at `pc` reads, those of page tables included, as far as they are there.
    pub fn code_pages(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.state.pc;
        let last = first.wrapping_add(4 * MAX_LENGTH as u64 - 1);
        self.port.pages_of_code(first).chain(self.port.pages_of_code(last))
    }

    /// From now on the hart reads this code.
    pub fn set_code_reads(&mut self, reads: CodeReads) {
        self.course.reads = reads;
    }

    /// The code at `pc` may be read now.
    #[inline]
    pub(crate) fn may_read(&self, pc: u64) -> bool {
        self.course.reads != CodeReads::Nothing || !self.course.is_ahead && self.blocks.is_shared(pc)
    }

    /// The code at `pc` has been read.
    #[inline]
    pub(crate) fn has_read(&mut self, pc: u64) {
        if self.course.reads == CodeReads::Next && !self.blocks.is_shared(pc) {
            self.course.reads = CodeReads::Nothing;
        }
    }

    /// Translates the block `head`, and what follows it.
    #[cold]
    #[inline(never)]
    fn translate<const TIMED: bool>(&mut self, f: &Frame<'_>, head: &Block) {
        let region = Region::new(head, |pc| self.blocks.are_together(head.pc, pc));
        if !self.blocks.pays(head.pc, region.entries()) {
            return head.begins_anew(TIMED);
        }
        let Some(room) = self.blocks.make_room(head.pc, self.execution.translated_bytes_max) else { return };
        if let Some(code) = translate(self, TIMED, f.view.geometry(), &region, room) {
            self.blocks.keep(head.pc, code);
        }
    }

    /// Runs the block from entry `index` on.
    #[inline(always)]
    fn execute<const TIMED: bool>(&mut self, frame: &mut Frame<'_>, index: usize) -> Next {
        let b = frame.block;
        // When the block would have begun.
        let now = if TIMED { self.cycle.wrapping_sub(b.start(index)) } else { self.cycle };
        threaded::enter::<TIMED>(self, frame, index, now)
    }

    /// No block follows.
    #[inline]
    pub(crate) fn leave_for(&mut self, exit: Exit) -> Next {
        self.course.exit = exit;
        std::ptr::null()
    }

    /// Leaves `b` at entry `index`, whose instruction is not executed, at cycle `at`.
    #[cold]
    pub(crate) fn leave(&mut self, b: &Block, index: usize, at: u64, halt: Halt) -> Next {
        // `run_blocks` counts the whole block.
        let (rest, s) = (b.places[index].rest, &mut self.statistics);
        s.instructions = s.instructions.wrapping_sub(rest.instructions());
        s.loads = s.loads.wrapping_sub(rest.loads());
        s.stores = s.stores.wrapping_sub(rest.stores());
        self.state.pc = b.address(index);
        self.blocks.resume = Some(Resume { block: b, index, pc: self.state.pc });
        self.cycle = at;
        self.leave_for(Exit::Halt(halt))
    }

    /// Leaves `b` after entry `index`, at cycle `at`: the bus is wanted, or the deadline may be near.
    #[cold]
    pub(crate) fn leave_after(&mut self, b: &Block, index: usize, at: u64) -> Next {
        let next = self.leave(b, index + 1, at, Halt::Bus);
        if self.port.wants_bus() { next } else { self.leave_for(Exit::Lookup) }
    }

    #[inline(always)]
    pub(crate) fn x(&self, r: u8) -> u64 {
        debug_assert!(r < 33);
        // SAFETY: decoding gives register numbers below 32, or `SINK`.
        unsafe { *self.state.x.get_unchecked(usize::from(r)) }
    }

    #[inline(always)]
    pub(crate) fn set_x(&mut self, r: u8, value: u64) {
        debug_assert!((1..33).contains(&r));
        // SAFETY: as in `x`.
        unsafe { *self.state.x.get_unchecked_mut(usize::from(r)) = value }
    }

    #[inline(always)]
    pub(crate) fn f(&self, r: u8) -> u64 {
        debug_assert!(r < 32);
        // SAFETY: decoding gives register numbers below 32.
        unsafe { *self.state.f.get_unchecked(usize::from(r)) }
    }

    #[inline(always)]
    pub(crate) fn set_f(&mut self, r: u8, value: u64) {
        debug_assert!(r < 32);
        // SAFETY: as in `f`.
        unsafe { *self.state.f.get_unchecked_mut(usize::from(r)) = value }
    }

    /// The next instruction is the first after `b`.
    pub(crate) fn stand_after(&mut self, b: &Block) {
        self.state.pc = b.end;
        let known = b.next.get();
        let next = if known.is_null() { self.link(b, &b.next, b.end) } else { known };
        if !next.is_null() {
            self.stand_before(next);
        }
    }

    /// The block at `target`, to be remembered in `link` of the block `from`.
    #[cold]
    #[inline(never)]
    pub(crate) fn link(&mut self, from: &Block, link: &Cell<Next>, target: u64) -> Next {
        self.state.pc = target;
        match self.block() {
            Some(next) => {
                if self.blocks.may_link(from.pc, target) {
                    link.set(next);
                }
                next
            }
            None => self.leave_for(Exit::Lookup),
        }
    }
}

/// What a hart was when it began to run ahead, beside its port.
///
/// A hart runs ahead of the other harts of its node by instructions that depend on nothing but itself: whose fetches and
/// accesses hit, and that do not concern system software or observers. Before any other it stops ([`Halt::Turn`]), for its
/// turn. If another hart's transaction turns out to come before, and to concern a line that was used meanwhile, everything
/// is taken back, and executed again as far as that. (As an optimistic simulation, with a hart as the process:
/// D. R. Jefferson, "Virtual time", ACM TOPLAS 7, 1985.)
pub struct Before {
    pub(crate) state: State,
    pub(crate) cycle: u64,
    pub(crate) statistics: HartStatistics,
    pub(crate) predictor: Predictor,
    pub(crate) fetched: u8,
    pub(crate) started: u64,
}

impl Before {
    /// The cycle at which it began.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }
}

impl Hart {
    /// The hart may run ahead: by blocks, with caches, no instruction under way, and no interrupt before cycle `end`.
    pub fn may_run_ahead(&self, end: u64) -> bool {
        let is_between = self.fetched == 0 && !self.begun && !self.recheck;
        let traps = self.has_levels() && self.trap_cycle() < end;
        self.execution.executor != Executor::Reference && is_between && !traps && self.port.may_run_ahead()
    }

    /// What is executed from here on may be taken back. `old`: to be used for what is kept.
    pub fn begin_ahead(&mut self, old: Option<Box<Before>>) -> Box<Before> {
        self.blocks.begin();
        // A block that begins here fetches the line that it begins in: what the hart uses is known. If it can't be decoded
        // now, the hart comes no further.
        self.blocks.resume = None;
        self.block();
        self.port.begin_ahead();
        let (cycle, statistics, fetched, started) =
            (self.cycle, self.statistics, self.fetched, self.course.started);
        if let Some(mut before) = old {
            before.state.clone_from(&self.state);
            before.predictor.clone_from(&self.predictor);
            (before.cycle, before.statistics) = (cycle, statistics);
            (before.fetched, before.started) = (fetched, started);
            return before;
        }
        let (state, predictor) = (self.state.clone(), self.predictor.clone());
        Box::new(Before { state, cycle, statistics, predictor, fetched, started })
    }

    /// Executes instructions that start before cycle `end` and depend on nothing but the hart. True: it came so far. Else
    /// the next one is for its turn.
    pub fn run_ahead(&mut self, end: u64) -> bool {
        // Others may have yet to store what would be decoded.
        let reads = std::mem::replace(&mut self.course.reads, CodeReads::Nothing);
        let came = self.execute_ahead(end);
        self.course.reads = reads;
        came
    }

    /// The hart is as it was when it began, and executes again what starts before cycle `end`, which it had.
    pub fn run_again(&mut self, before: &Before, end: u64) {
        self.take_back(before);
        // What it had executed was read then.
        let reads = std::mem::replace(&mut self.course.reads, CodeReads::All);
        let came = self.execute_ahead(end);
        self.course.reads = reads;
        assert!(came, "what was executed ahead is not executed again");
    }

    fn execute_ahead(&mut self, end: u64) -> bool {
        self.course.is_ahead = true;
        self.port.set_ahead(true);
        self.blocks.begin();
        let came = self.repeat_ahead(end);
        self.port.set_ahead(false);
        self.course.is_ahead = false;
        came
    }

    fn repeat_ahead(&mut self, end: u64) -> bool {
        while self.cycle < end && self.port.pass_events(self.cycle) {
            let next = self.resume().or_else(|| Some((self.block()?, 0)));
            let Some((block, index)) = next else { break };
            match self.run_blocks::<true>(block, index, &mut HaltAtMarks, end, end) {
                Exit::Lookup | Exit::Halt(Halt::Deadline) => {}
                // The rare instruction, or the one that halts, has not been executed.
                Exit::Rare | Exit::Halt(_) => break,
            }
        }
        if self.cycle < end {
            return false;
        }
        // What is due while the last instruction takes its time is before `end`, too.
        self.port.pass_events(end - 1);
        true
    }

    /// The hart is as it was.
    fn take_back(&mut self, before: &Before) {
        self.port.take_back();
        self.state.clone_from(&before.state);
        (self.cycle, self.statistics) = (before.cycle, before.statistics);
        self.predictor.clone_from(&before.predictor);
        (self.fetched, self.begun, self.course.started) = (before.fetched, false, before.started);
        self.blocks.resume = None;
    }
}

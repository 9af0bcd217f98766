//! Follows calls and returns, as the calling convention's hints mark them (unprivileged ISA, table 3: a jump
//! that links to x1 or x5 is a call, one through them a return).
//!
//! What does not fit is mended by the stack pointer: `longjmp` leaves frames below it behind, and a jump to
//! another function without a link is a tail call, which takes the caller's place.

use std::ops::Range;

use chasqui_hart::{Hart, Insn, Op};
use chasqui_record::Profile;

use crate::symbols::Symbols;

/// Calls that are followed; deeper ones are counted as calls at this depth.
const DEPTH_MAX: usize = 128;

/// Code of no symbol is told apart by such pieces [bytes].
const PIECE_BYTES: u64 = 4096;

const RA: u8 = 1;
const SP: usize = 2;
const T0: u8 = 5;

/// A call that has not returned.
struct Frame {
    returns_to: u64,
    /// Stack pointer at the call.
    sp: u64,
    /// The caller.
    path: u32,
    function: Range<u64>,
}

/// What a trap has interrupted.
struct Interrupted {
    frames: Vec<Frame>,
    path: u32,
    function: Range<u64>,
}

pub(crate) struct Stack {
    symbols: Symbols,
    frames: Vec<Frame>,
    /// Outermost first.
    interrupted: Vec<Interrupted>,
    path: u32,
    /// The addresses of the function that `path` ends with.
    function: Range<u64>,
}

impl Stack {
    /// Of a hart at the entry of a program.
    pub fn new(symbols: Symbols, profile: &mut Profile) -> Stack {
        let entry = symbols.entry();
        let mut stack =
            Stack { symbols, frames: vec![], interrupted: vec![], path: Profile::ROOT, function: 0..0 };
        stack.begin(entry, profile);
        stack
    }

    /// A thread begins at `pc`, without a caller.
    pub fn begin(&mut self, pc: u64, profile: &mut Profile) {
        self.frames.clear();
        self.enter(Profile::ROOT, pc, profile);
    }

    /// Where the hart is.
    pub fn path(&self) -> u32 {
        self.path
    }

    /// `insn` was executed.
    #[inline]
    pub fn follow(&mut self, hart: &Hart, insn: &Insn, profile: &mut Profile) {
        let pc = hart.state.pc;
        let jump = matches!(insn.op, Op::Jal | Op::Jalr);
        if matches!(insn.op, Op::Sret | Op::Uret) {
            self.resumed(hart, profile);
        }
        if jump || !self.function.contains(&pc) {
            self.moved(hart, insn, jump, profile);
        }
    }

    fn moved(&mut self, hart: &Hart, insn: &Insn, jump: bool, profile: &mut Profile) {
        let (pc, sp) = (hart.state.pc, hart.state.x[SP]);
        if jump && matches!(insn.rd, RA | T0) {
            self.leave_behind(|frame| frame.sp < sp);
            // The link is where the call returns to: what it was called through need not be a link.
            let returns_to = hart.state.x[usize::from(insn.rd)];
            let function = self.function.clone();
            self.frames.push(Frame { returns_to, sp, path: self.path, function });
            let parent = self.frames[self.frames.len().min(DEPTH_MAX) - 1].path;
            return self.enter(parent, pc, profile);
        }
        if jump && insn.op == Op::Jalr && insn.rd == 0 && matches!(insn.rs1, RA | T0) {
            self.returned(pc, sp, insn.rs1);
        }
        if !self.function.contains(&pc) {
            self.enter(profile.parent(self.path), pc, profile);
        }
    }

    /// A trap was taken: the handler is called by what it has interrupted.
    pub fn trapped(&mut self, hart: &Hart, profile: &mut Profile) {
        let frames = std::mem::take(&mut self.frames);
        let (path, function) = (self.path, self.function.clone());
        self.interrupted.push(Interrupted { frames, path, function });
        self.enter(path, hart.state.pc, profile);
    }

    /// Back from a trap or a handler, at supervisor level from the latest; at user level from all but the handlers that
    /// have not returned. What no trap has interrupted begins.
    fn resumed(&mut self, hart: &Hart, profile: &mut Profile) {
        let at_level = hart.supervisor().is_some_and(|s| s.is_current);
        let handlers = hart.handlers().map_or(0, |handlers| handlers.depth());
        let at = if at_level { self.interrupted.len().saturating_sub(1) } else { handlers };
        let before = self.interrupted.drain(at.min(self.interrupted.len())..).next();
        match before {
            Some(before) => {
                (self.frames, self.path, self.function) = (before.frames, before.path, before.function)
            }
            None => self.begin(hart.state.pc, profile),
        }
    }

    /// Back at `pc`, through register `link`.
    fn returned(&mut self, pc: u64, sp: u64, link: u8) {
        // Routines that save registers return through t0 with a frame made.
        let fits = |frame: &Frame| frame.returns_to == pc && (frame.sp == sp || link == T0);
        match self.frames.iter().rposition(fits) {
            Some(at) => self.leave_to(at),
            None => self.leave_behind(|frame| frame.sp <= sp),
        }
    }

    /// Leaves the calls that are `over`, from the innermost out.
    fn leave_behind(&mut self, over: impl Fn(&Frame) -> bool) {
        let under_way = self.frames.iter().rposition(|frame| !over(frame)).map_or(0, |at| at + 1);
        if under_way < self.frames.len() {
            self.leave_to(under_way);
        }
    }

    /// Back in the caller of frame `at`.
    fn leave_to(&mut self, at: usize) {
        let Frame { path, function, .. } = self.frames.drain(at..).next().expect("a frame");
        (self.path, self.function) = (path, function);
    }

    /// The function at `pc` runs, called on `parent`.
    fn enter(&mut self, parent: u32, pc: u64, profile: &mut Profile) {
        let symbol = self.symbols.symbolize(pc).zip(self.symbols.extent(pc));
        let piece = pc & !(PIECE_BYTES - 1);
        self.function = symbol.as_ref().map_or(piece..piece + PIECE_BYTES, |(_, extent)| extent.clone());
        let number = match symbol {
            Some(((name, _), _)) => profile.function(name),
            None => profile.function(&format!("[{piece:#x}]")),
        };
        self.path = profile.path(parent, number);
    }
}

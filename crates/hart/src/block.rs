//! Pre-decoded straight-line code.
//!
//! A block runs from an address to the first jump, branch or rare instruction, or to [`MAX_LENGTH`].
//! Times of hits are known when it is decoded, so the loop adds them once a block.

use std::cell::{Cell, UnsafeCell};

use chasqui_memory::{Geometry, Port};

use crate::insn::{Insn, Op};
use crate::predictor::Prediction;
use crate::state::SINK;
use crate::{Class, Timing, class, decode, for_each_op};

/// Instructions in a block, at most.
pub(crate) const MAX_LENGTH: usize = 64;

macro_rules! declare_codes {
    ({ $($(#[$doc:meta])* $own:ident)* }
     register { $($r:ident => $rf:path;)* } immediate { $($m:ident => $mf:path;)* }
     branch { $($b:ident => $bf:path;)* } load { $($l:ident => $lt:ty;)* } store { $($s:ident => $st:ty;)* }
     amo_w { $($aw:ident => $awf:path;)* } amo_d { $($ad:ident => $adf:path;)* }
     fp_binary { $($fb:ident => $fbf:path;)* } fp_fused { $($ff:ident => $fff:path;)* }
     fp_unary { $($fu:ident => $fuf:path;)* } fp_min_max { $($fm:ident => $fmf:path;)* }
     fp_sign { $($fs:ident => $fsf:path;)* } fp_compare { $($fc:ident => $fcf:path;)* }
     fp_to_integer { $($fi:ident => $fif:path;)* } fp_from_integer { $($if:ident => $iff:path;)* }
     fp_move_to_integer { $($fx:ident => $fxf:path;)* } fp_move_from_integer { $($xf:ident => $xff:path;)* }
    ) => {
        /// What the fast loop does for one entry of a block.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Code {
            $($(#[$doc])* $own,)*
            $($r,)* $($m,)* $($b,)* $($l,)* $($s,)* $($fb,)* $($ff,)* $($fu,)* $($fm,)* $($fs,)* $($fc,)*
            $($fi,)* $($if,)* $($fx,)* $($xf,)*
        }

        /// The code of an operation; rare ones are left to the reference.
        fn code_of(op: Op) -> Code {
            match op {
                $(Op::$r => Code::$r,)* $(Op::$m => Code::$m,)* $(Op::$b => Code::$b,)* $(Op::$l => Code::$l,)*
                $(Op::$s => Code::$s,)* $(Op::$fb => Code::$fb,)* $(Op::$ff => Code::$ff,)*
                $(Op::$fu => Code::$fu,)* $(Op::$fm => Code::$fm,)* $(Op::$fs => Code::$fs,)*
                $(Op::$fc => Code::$fc,)* $(Op::$fi => Code::$fi,)* $(Op::$if => Code::$if,)*
                $(Op::$fx => Code::$fx,)* $(Op::$xf => Code::$xf,)*
                Op::Lui | Op::Auipc => Code::Constant,
                Op::Jal => Code::Jal,
                Op::Jalr => Code::Jalr,
                Op::Flw => Code::Flw,
                Op::Fld => Code::Fld,
                Op::Fsw => Code::Fsw,
                Op::Fsd => Code::Fsd,
                Op::Mark => Code::Mark,
                Op::Pause => Code::Pause,
                _ => Code::Rare,
            }
        }

        /// Whether the conditional branch of an operation is taken, by its operands.
        fn condition_of(op: Op) -> Condition {
            match op {
                $(Op::$b => $bf,)*
                _ => |_, _| false,
            }
        }
    };
}

for_each_op!(
    declare_codes,
    /// Fetch the line at `imm`.
    Fetch
    /// The block ends; the next instruction follows.
    End
    /// The deadline is here.
    Leave
    /// Leave the next instruction to the reference.
    Rare
    /// `x[rd] = imm`.
    Constant
    /// Jump to `imm`, link.
    Jal
    /// Jump to register plus `imm`, link.
    Jalr
    /// Conditional branch of a hart whose predictor learns: whether it is taken says [`Block::condition`].
    PredictedBranch
    /// The same of `Jal`.
    PredictedJal
    /// The same of `Jalr`.
    PredictedJalr
    /// Load a single.
    Flw
    /// Load a double.
    Fld
    /// Store a single.
    Fsw
    /// Store a double.
    Fsd
    /// Pass a mark: `imm` are its bits.
    Mark
    /// `pause`.
    Pause
    /// Go on in translated code: of a block's first entry, whose own code is [`Block::code`].
    Translated
    /// Translated code has left: of no block's entry.
    Left
);

/// One entry of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Micro {
    pub code: Code,
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    /// Third source; of a branch, further cycles when taken. Where the predictor learns, the length of a branch or jump.
    pub rs3: u8,
    /// Rounding mode; of a branch, further cycles when not taken.
    pub rm: u8,
    /// Cycles from the block's start to this instruction's, if every access hits.
    pub start: u16,
    /// Immediate; of jumps and branches, the target.
    pub imm: i64,
}

const _: () = assert!(size_of::<Micro>() == 16);

/// What of blocks' instructions is counted: three numbers in one word, so that a block is counted by one
/// addition. They have room for [`Counts::BLOCKS_MAX`] blocks.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub(crate) struct Counts(u64);

/// Whether a branch is taken, by its two operands.
type Condition = fn(u64, u64) -> bool;

/// What of an entry is needed only where a block is left in its midst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Address of the entry's instruction, less the block's.
    pub offset: u16,
    /// What is counted of this entry and of those after it.
    pub rest: Counts,
}

/// Where translated code of a block begins.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// A [`Translated`](crate::threaded::Translated): of the block's region.
    pub function: *const u8,
    /// Of the block in the region.
    pub number: u32,
    /// The tables of data must be indexed so.
    pub geometry: Geometry,
}

/// A block.
pub(crate) struct Block {
    /// A run that must end within the block replaces an entry for its time: see [`Block::cut`].
    micros: Box<[UnsafeCell<Micro>]>,
    /// Of each entry.
    pub places: Box<[Place]>,
    pub pc: u64,
    /// Address after the last instruction.
    pub end: u64,
    /// Cycles if every access hits, without branch costs.
    pub cycles: u64,
    pub counts: Counts,
    /// Of a block that ends with a [`Code::PredictedBranch`].
    pub condition: Condition,
    /// The code of that branch.
    pub branch: Code,
    /// The code of the first entry, in whose place [`Code::Translated`] may stand.
    first_code: Code,
    /// Its translations: without time, and with.
    translations: [Cell<Option<Entry>>; 2],
    /// Blocks of the chains that it has begun: likewise.
    begun: [Cell<u64>; 2],
    /// The blocks that follow, once known: when a branch is taken, and when not.
    pub taken: Cell<*const Block>,
    pub next: Cell<*const Block>,
}

impl Block {
    /// The first entry.
    #[inline(always)]
    pub fn first(&self) -> *const Micro {
        self.micros.as_ptr().cast()
    }

    /// Entry `index`.
    #[inline(always)]
    pub fn micro(&self, index: usize) -> &Micro {
        // SAFETY: as in `cut`.
        unsafe { &*self.micros[index].get() }
    }

    /// The code of entry `index` of the block as it was decoded.
    #[inline(always)]
    pub fn code(&self, index: usize) -> Code {
        if index == 0 { self.first_code } else { self.micro(index).code }
    }

    fn set_first(&self, code: Code) {
        // SAFETY: as in `cut`.
        unsafe { (*self.micros[0].get()).code = code }
    }

    /// From now on the block is executed by its translation, where that fits.
    pub fn enter_translated(&self, timed: bool, entry: Entry) {
        self.translations[usize::from(timed)].set(Some(entry));
        self.set_first(Code::Translated);
    }

    /// Its translation.
    #[inline(always)]
    pub fn translation(&self, timed: bool) -> Option<Entry> {
        self.translations[usize::from(timed)].get()
    }

    /// Forgets translations. They may be made again when it has been executed often enough.
    pub fn untranslate(&self) {
        for timed in 0..2 {
            self.translations[timed].set(None);
            self.begun[timed].set(0);
        }
        self.set_first(self.first_code);
    }

    /// It has to begin as many chains again until it is to be translated.
    pub fn begins_anew(&self, timed: bool) {
        self.begun[usize::from(timed)].set(0);
    }

    /// It has begun a chain of `blocks`. True: it is to be translated, since these have now been `many` in all.
    #[inline(always)]
    pub fn has_begun(&self, timed: bool, blocks: u32, many: u64) -> bool {
        let begun = &self.begun[usize::from(timed)];
        let before = begun.get();
        begun.set(before + u64::from(blocks));
        before < many && begun.get() >= many && self.translation(timed).is_none()
    }

    /// Cycles from the block's start to that of entry `index`, if every access hits.
    #[inline(always)]
    pub fn start(&self, index: usize) -> u64 {
        // SAFETY: as in `cut`.
        u64::from(unsafe { (*self.micros[index].get()).start })
    }

    /// Address of the branch or jump that ends the block, of a hart whose predictor learns.
    #[inline(always)]
    pub fn last(&self, entry: &Micro) -> u64 {
        self.end.wrapping_sub(u64::from(entry.rs3))
    }

    /// Address of the instruction of entry `index`.
    pub fn address(&self, index: usize) -> u64 {
        self.pc + u64::from(self.places[index].offset)
    }

    /// Puts [`Code::Leave`] in place of the first entry from `index` on that does not start before `cycles` have passed.
    /// `None`: all of them do. To be undone by [`Block::mend`].
    pub fn cut(&self, index: usize, cycles: u64) -> Option<Cut> {
        // SAFETY: a block is one hart's, and no reference to an entry is held outside the fast loop.
        let start = |m: &UnsafeCell<Micro>| u64::from(unsafe { (*m.get()).start });
        let index = index + self.micros[index..].partition_point(|m| start(m) < cycles);
        let entry = self.micros.get(index)?.get();
        // SAFETY: as above.
        let code = unsafe { std::mem::replace(&mut (*entry).code, Code::Leave) };
        Some(Cut { index, code })
    }

    /// Undoes [`Block::cut`].
    pub fn mend(&self, cut: Cut) {
        // SAFETY: as in `cut`.
        unsafe { (*self.micros[cut.index].get()).code = cut.code }
    }
}

/// An entry that was replaced.
pub(crate) struct Cut {
    index: usize,
    code: Code,
}

impl Counts {
    const BITS: u32 = 21;
    const INSTRUCTION: u64 = 1;
    const LOAD: u64 = 1 << Counts::BITS;
    const STORE: u64 = 1 << (2 * Counts::BITS);
    /// So many blocks can be added up.
    pub const BLOCKS_MAX: u32 = (1 << Counts::BITS) / (MAX_LENGTH as u32 + 8);

    fn add_code(&mut self, code: Code) {
        use Code::*;
        self.0 += match code {
            Fetch | End | Leave | Rare | Mark | Translated | Left => 0,
            Lb | Lh | Lw | Ld | Lbu | Lhu | Lwu | Flw | Fld => Counts::INSTRUCTION + Counts::LOAD,
            Sb | Sh | Sw | Sd | Fsw | Fsd => Counts::INSTRUCTION + Counts::STORE,
            _ => Counts::INSTRUCTION,
        };
    }

    /// Adds those of a block.
    #[inline(always)]
    pub fn add(&mut self, other: Counts) {
        self.0 += other.0;
    }

    fn field(self, number: u32) -> u64 {
        self.0 >> (number * Counts::BITS) & ((1 << Counts::BITS) - 1)
    }

    pub fn instructions(self) -> u64 {
        self.field(0)
    }

    pub fn loads(self) -> u64 {
        self.field(1)
    }

    pub fn stores(self) -> u64 {
        self.field(2)
    }

    /// All of it: what [`Counts::add`] adds.
    pub fn word(self) -> u64 {
        self.0
    }
}

/// Builds one block.
struct Builder<'a> {
    micros: Vec<Micro>,
    places: Vec<Place>,
    pc: u64,
    at: u64,
    cycles: u64,
    /// The line that was fetched last.
    line: Option<u64>,
    condition: Condition,
    branch: Code,
    timing: &'a Timing,
}

impl Builder<'_> {
    fn push(&mut self, micro: Micro) {
        self.micros.push(Micro { start: self.cycles as u16, ..micro });
        self.places.push(Place { offset: (self.at - self.pc) as u16, rest: Counts::default() });
    }

    /// Fetches of the lines that an instruction of `length` lies in, unless it was just fetched.
    fn fetch(&mut self, length: u8, line_bytes: u64) {
        let mask = !(line_bytes - 1);
        for address in [self.at, self.at + u64::from(length) - 1] {
            let line = address & mask;
            if self.line != Some(line) {
                self.line = Some(line);
                self.push(micro(Code::Fetch, line as i64));
            }
        }
    }

    /// Static prediction of the branch `insn`.
    fn predict(&self, insn: &Insn, entry: &mut Micro) {
        let backward = insn.imm < 0;
        let cycles = |taken| self.timing.branch(backward, taken).0 as u8;
        (entry.rs3, entry.rm) = (cycles(true), cycles(false));
        entry.rd = u8::from(backward);
    }

    /// If `insn` is a branch or a jump, the hart's predictor is asked when it is executed.
    fn leave_to_predictor(&mut self, insn: &Insn, entry: &mut Micro) {
        entry.code = match class(insn.op) {
            Class::Branch => Code::PredictedBranch,
            Class::Jump => Code::PredictedJal,
            Class::JumpRegister => Code::PredictedJalr,
            _ => return,
        };
        entry.rs3 = insn.length;
        self.condition = condition_of(insn.op);
        self.branch = code_of(insn.op);
    }

    /// Adds `insn`; true if the block goes on.
    fn add(&mut self, insn: &Insn) -> bool {
        let code = code_of(insn.op);
        let target = self.at.wrapping_add(insn.imm as u64) as i64;
        let mut entry = Micro {
            code,
            rd: insn.rd,
            rs1: insn.rs1,
            rs2: insn.rs2,
            rs3: insn.rs3,
            rm: insn.rm,
            start: 0,
            imm: insn.imm,
        };
        let class = class(insn.op);
        if writes_x(insn.op) && insn.rd == 0 {
            entry.rd = SINK;
        }
        if matches!(class, Class::Branch | Class::Jump) || insn.op == Op::Auipc {
            entry.imm = target;
        }
        match self.timing.prediction {
            Prediction::Static if class == Class::Branch => self.predict(insn, &mut entry),
            Prediction::Static => {}
            Prediction::Counters(_) => self.leave_to_predictor(insn, &mut entry),
        }
        self.push(entry);
        let ends = matches!(class, Class::Branch | Class::Jump | Class::JumpRegister)
            || matches!(code, Code::Rare | Code::Mark | Code::Pause);
        if code != Code::Rare {
            self.cycles += self.timing.of(insn.op);
            self.at += u64::from(insn.length);
        }
        !ends
    }
}

impl Builder<'_> {
    fn finish(mut self) -> Block {
        let first_code = self.micros[0].code;
        let mut counts = Counts::default();
        for (micro, place) in self.micros.iter().zip(&mut self.places).rev() {
            counts.add_code(micro.code);
            place.rest = counts;
        }
        Block {
            micros: self.micros.into_iter().map(UnsafeCell::new).collect(),
            places: self.places.into(),
            pc: self.pc,
            end: self.at,
            cycles: self.cycles,
            counts,
            condition: self.condition,
            branch: self.branch,
            first_code,
            translations: Default::default(),
            begun: Default::default(),
            taken: Cell::new(std::ptr::null()),
            next: Cell::new(std::ptr::null()),
        }
    }
}

fn micro(code: Code, imm: i64) -> Micro {
    Micro { code, rd: SINK, rs1: 0, rs2: 0, rs3: 0, rm: 0, start: 0, imm }
}

/// The destination of `op` is an integer register.
fn writes_x(op: Op) -> bool {
    use crate::insn::Format::*;
    op.encoding().is_some_and(|e| {
        !matches!(
            e.format,
            Store
                | Branch
                | FpLoad
                | FpStore
                | FpFused
                | FpBinary
                | FpExact
                | FpUnary
                | FpFromInteger
                | FpMoveFromInteger
        )
    })
}

/// Decodes the block at `pc`, which ends before `end`. `None`: the first instruction can't be read.
pub(crate) fn build(pc: u64, end: u64, port: &mut Port, timing: &Timing) -> Option<Block> {
    let line_bytes = port.fetch_line_bytes();
    let condition: Condition = |_, _| false;
    let mut b = Builder {
        micros: vec![],
        places: vec![],
        pc,
        at: pc,
        cycles: 0,
        line: None,
        condition,
        branch: Code::Rare,
        timing,
    };
    loop {
        let insn = if b.at < end { read(port, b.at) } else { None };
        let Some(insn) = insn else {
            if b.at == pc {
                return None;
            }
            b.push(micro(Code::End, 0));
            break;
        };
        if !matches!(code_of(insn.op), Code::Mark | Code::Rare) {
            b.fetch(insn.length, line_bytes);
        }
        if !b.add(&insn) {
            break;
        }
        if b.micros.len() >= MAX_LENGTH {
            b.push(micro(Code::End, 0));
            break;
        }
    }
    Some(b.finish())
}

fn read(port: &mut Port, at: u64) -> Option<Insn> {
    let low = u32::from(port.code(at).ok()?);
    if low & 3 != 3 {
        return Some(decode(low));
    }
    let high = u32::from(port.code(at + 2).ok()?);
    Some(decode(low | high << 16))
}

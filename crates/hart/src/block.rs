//! Pre-decoded straight-line code.
//!
//! A block runs from an address to the first jump, branch or rare instruction, or to [`MAX_LENGTH`].
//! Times of hits are known when it is decoded, so the loop adds them once a block.

use std::cell::Cell;

use chasqui_memory::Port;
use rustc_hash::FxHashMap;

use crate::insn::{Insn, Op};
use crate::state::SINK;
use crate::{Class, Timing, class, decode, for_each_op};

/// Instructions in a block, at most.
const MAX_LENGTH: usize = 64;

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
);

/// One entry of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Micro {
    pub code: Code,
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    /// Third source; of a branch, further cycles when taken.
    pub rs3: u8,
    /// Rounding mode; of a branch, further cycles when not taken.
    pub rm: u8,
    /// Cycles from the block's start to this instruction's, if every access hits.
    pub start: u16,
    /// Immediate; of jumps and branches, the target.
    pub imm: i64,
}

const _: () = assert!(size_of::<Micro>() == 16);

/// What of a block's instructions is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub instructions: u32,
    pub loads: u32,
    pub stores: u32,
}

/// A block.
pub(crate) struct Block {
    pub micros: Box<[Micro]>,
    /// Address of the instruction of each entry, less `pc`.
    pub offsets: Box<[u16]>,
    pub pc: u64,
    /// Address after the last instruction.
    pub end: u64,
    /// Cycles if every access hits, without branch costs.
    pub cycles: u64,
    pub counts: Counts,
    /// The blocks that follow, once known: when a branch is taken, and when not.
    pub taken: Cell<*const Block>,
    pub next: Cell<*const Block>,
}

impl Block {
    /// Address of the instruction of entry `index`.
    pub fn address(&self, index: usize) -> u64 {
        self.pc + u64::from(self.offsets[index])
    }

    /// What of the entries from `index` on is counted.
    pub fn counts_from(&self, index: usize) -> Counts {
        let mut counts = Counts::default();
        self.micros[index..].iter().for_each(|m| counts.add(m.code));
        counts
    }

    /// The entries that start before `cycles` have passed, and a [`Code::Leave`]. `None`: all of them do.
    pub fn until(&self, cycles: u64) -> Option<Block> {
        let stays = |m: &Micro| u64::from(m.start) < cycles;
        let length = self.micros.iter().position(|m| !stays(m))?;
        let mut micros = self.micros[..length].to_vec();
        let leave = self.micros[length];
        micros.push(Micro { code: Code::Leave, ..leave });
        let mut block = Block {
            micros: micros.into(),
            offsets: self.offsets[..=length].into(),
            pc: self.pc,
            end: self.address(length),
            cycles: u64::from(leave.start),
            counts: Counts::default(),
            taken: Cell::new(std::ptr::null()),
            next: Cell::new(std::ptr::null()),
        };
        block.counts = block.counts_from(0);
        Some(block)
    }
}

impl Counts {
    fn add(&mut self, code: Code) {
        use Code::*;
        match code {
            Fetch | End | Leave | Rare | Mark => {}
            Lb | Lh | Lw | Ld | Lbu | Lhu | Lwu | Flw | Fld => {
                self.instructions += 1;
                self.loads += 1;
            }
            Sb | Sh | Sw | Sd | Fsw | Fsd => {
                self.instructions += 1;
                self.stores += 1;
            }
            _ => self.instructions += 1,
        }
    }
}

/// Builds one block.
struct Builder<'a> {
    micros: Vec<Micro>,
    offsets: Vec<u16>,
    pc: u64,
    at: u64,
    cycles: u64,
    /// The line that was fetched last.
    line: Option<u64>,
    timing: &'a Timing,
}

impl Builder<'_> {
    fn push(&mut self, micro: Micro) {
        self.micros.push(Micro { start: self.cycles as u16, ..micro });
        self.offsets.push((self.at - self.pc) as u16);
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
        match class {
            Class::Branch => {
                entry.imm = target;
                entry.rs3 = self.timing.branch(insn, true) as u8;
                entry.rm = self.timing.branch(insn, false) as u8;
                entry.rd = u8::from(insn.imm < 0);
            }
            Class::Jump => entry.imm = target,
            _ if insn.op == Op::Auipc => entry.imm = target,
            _ => {}
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

/// All blocks of a hart, by address.
#[derive(Default)]
pub(crate) struct Blocks {
    /// Boxed, so that addresses stay.
    blocks: FxHashMap<u64, Box<Block>>,
    /// Direct-mapped, in front of the map.
    recent: Vec<(u64, *const Block)>,
    /// Blocks dropped while the loop may hold one.
    #[allow(clippy::vec_box, reason = "blocks must not move")]
    dropped: Vec<Box<Block>>,
}

// SAFETY: the pointers lead to boxes that the same struct owns.
unsafe impl Send for Blocks {}

const RECENT: usize = 2048;

impl Blocks {
    /// The block at `pc`, if it was built.
    #[inline]
    pub fn find(&mut self, pc: u64) -> Option<*const Block> {
        if self.recent.is_empty() {
            self.recent = vec![(u64::MAX, std::ptr::null()); RECENT];
        }
        let slot = &mut self.recent[(pc >> 1) as usize & (RECENT - 1)];
        if slot.0 == pc {
            return Some(slot.1);
        }
        let block: *const Block = &**self.blocks.get(&pc)?;
        *slot = (pc, block);
        Some(block)
    }

    /// Forgets all blocks. They live on until [`Blocks::reclaim`], since the loop may stand in one.
    pub fn clear(&mut self) {
        self.dropped.extend(self.blocks.drain().map(|(_, b)| b));
        self.recent.fill((u64::MAX, std::ptr::null()));
    }

    /// No block is in use.
    pub fn reclaim(&mut self) {
        self.dropped.clear();
    }

    /// Decodes the block at `pc`. `None`: the first instruction can't be read.
    pub fn build(&mut self, pc: u64, port: &mut Port, timing: &Timing) -> Option<*const Block> {
        let line_bytes = port.fetch_line_bytes();
        let mut b = Builder { micros: vec![], offsets: vec![], pc, at: pc, cycles: 0, line: None, timing };
        loop {
            let Some(insn) = read(port, b.at) else {
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
        let mut block = Block {
            micros: b.micros.into(),
            offsets: b.offsets.into(),
            pc,
            end: b.at,
            cycles: b.cycles,
            counts: Counts::default(),
            taken: Cell::new(std::ptr::null()),
            next: Cell::new(std::ptr::null()),
        };
        block.counts = block.counts_from(0);
        self.blocks.insert(pc, Box::new(block));
        self.find(pc)
    }
}

fn read(port: &mut Port, at: u64) -> Option<Insn> {
    let low = u32::from(port.code(at).ok()?);
    if low & 3 != 3 {
        return Some(decode(low));
    }
    let high = u32::from(port.code(at + 2).ok()?);
    Some(decode(low | high << 16))
}

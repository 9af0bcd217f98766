//! Every operation of RV64IMAFDC_Zicsr_Zifencei_Zihintpause_Zicbom, declared once: name, mnemonic, the
//! bits that are fixed, and the format, which says which bits are free and what they mean.
//!
//! Encodings: RISC-V Unprivileged ISA 20240411, chapter "RV32/64G Instruction Set Listings"; the
//! supervisor and machine returns are from the Privileged ISA. Seven are our own, in the space left to custom
//! use: stores of 64 bytes, after Arm's FEAT_LS64 (`ST64B`, `ST64BV`; Arm Architecture Reference Manual), and the
//! network cache's `nload`, `nstore` and `remap` (Khunjush, dissertation, 2008, 3.1.5), `prebind` and `withdraw` (its
//! 3.1.3). Compressed forms have no operation of their own: they expand to the ones here (`compressed.rs`).

/// One decoded instruction.
///
/// Fields that an operation does not use are zero. Whether a register number means `x` or `f` follows from
/// the operation ([`Format`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Insn {
    /// The operation.
    pub op: Op,
    /// Destination register.
    pub rd: u8,
    /// First source register; for `csrrwi` and its like the 5-bit immediate.
    pub rs1: u8,
    /// Second source register.
    pub rs2: u8,
    /// Third source register (fused multiply-add).
    pub rs3: u8,
    /// Rounding mode field: 0 to 4, or 7 for the mode in `frm`. Never 5 or 6: those decode as illegal.
    pub rm: u8,
    /// Length [bytes]: 2 or 4.
    pub length: u8,
    /// Sign-extended immediate; shift amount; CSR number; for AMOs aq (bit 1) and rl (bit 0); for `fence`
    /// its twelve bits; for [`Op::Mark`] the twelve bits without sign; for [`Op::Illegal`] the bits found.
    pub imm: i64,
}

const _: () = assert!(size_of::<Insn>() == 16);

/// Which bits of a 32-bit encoding are free, and what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `x[rd], x[rs1], x[rs2]`
    R,
    /// `x[rd], x[rs1], x[rs2], x[rs3]`
    R4,
    /// `x[rd], x[rs1], imm`
    I,
    /// `x[rd], x[rs1], shamt` of five bits
    Shift5,
    /// `x[rd], x[rs1], shamt` of six bits
    Shift6,
    /// `x[rd], imm(x[rs1])`
    Load,
    /// `x[rs2], imm(x[rs1])`
    Store,
    /// `x[rs1], x[rs2], pc + imm`
    Branch,
    /// `x[rd], imm` with twelve low zero bits
    Upper,
    /// `x[rd], pc + imm`
    Jump,
    /// `x[rd], csr, x[rs1]`
    Csr,
    /// `x[rd], csr, zimm`
    CsrImmediate,
    /// `x[rd], (x[rs1])` with aq and rl
    LoadReserved,
    /// `x[rd], x[rs2], (x[rs1])` with aq and rl
    Amo,
    /// predecessor and successor sets; rd, rs1 and fm are to be ignored ("Memory Ordering Instructions")
    Fence,
    /// `fence.i`; rd, rs1 and imm are to be ignored (Zifencei)
    FenceInstructions,
    /// nothing is free
    Fixed,
    /// `(x[rs1])`
    CacheBlock,
    /// `x[rs1], x[rs2]`
    FenceAddresses,
    /// `slti x0, x[rs1], imm`: the HINT space left to custom use
    Mark,
    /// `x[rs2..=rs2+7], (x[rs1])`; rs2 is at most 24
    Store64,
    /// `x[rd], x[rs2..=rs2+7], (x[rs1])`; rs2 is at most 24
    Store64Answered,
    /// `f[rd], imm(x[rs1])`
    FpLoad,
    /// `f[rs2], imm(x[rs1])`
    FpStore,
    /// `f[rd], f[rs1], f[rs2], f[rs3], rm`
    FpFused,
    /// `f[rd], f[rs1], f[rs2], rm`
    FpBinary,
    /// `f[rd], f[rs1], f[rs2]`
    FpExact,
    /// `x[rd], f[rs1], f[rs2]`
    FpCompare,
    /// `f[rd], f[rs1], rm`
    FpUnary,
    /// `x[rd], f[rs1], rm`
    FpToInteger,
    /// `f[rd], x[rs1], rm`
    FpFromInteger,
    /// `x[rd], f[rs1]`
    FpMoveToInteger,
    /// `f[rd], x[rs1]`
    FpMoveFromInteger,
}

impl Format {
    /// The bits an encoding of this format fixes.
    pub const fn mask(self) -> u32 {
        match self {
            Self::Upper | Self::Jump => 0x0000_007f,
            Self::I | Self::Load | Self::Store | Self::Branch | Self::Csr | Self::CsrImmediate => 0x0000_707f,
            Self::Fence | Self::FenceInstructions | Self::FpLoad | Self::FpStore => 0x0000_707f,
            Self::R | Self::Shift5 | Self::FpExact | Self::FpCompare | Self::Store64Answered => 0xfe00_707f,
            Self::Shift6 => 0xfc00_707f,
            Self::Amo => 0xf800_707f,
            Self::LoadReserved => 0xf9f0_707f,
            Self::Fixed => 0xffff_ffff,
            Self::CacheBlock => 0xfff0_7fff,
            Self::FenceAddresses | Self::Store64 => 0xfe00_7fff,
            Self::Mark => 0x0000_7fff,
            Self::FpFused => 0x0600_007f,
            Self::R4 => 0x0600_707f,
            Self::FpBinary => 0xfe00_007f,
            Self::FpUnary | Self::FpToInteger | Self::FpFromInteger => 0xfff0_007f,
            Self::FpMoveToInteger | Self::FpMoveFromInteger => 0xfff0_707f,
        }
    }
}

/// An operation's row in [`ENCODINGS`].
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    /// The operation.
    pub op: Op,
    /// Its name in assembly.
    pub mnemonic: &'static str,
    /// The value of the fixed bits.
    pub bits: u32,
    /// Which bits are fixed and what the others mean.
    pub format: Format,
}

impl Encoding {
    /// Whether a 32-bit word is this instruction.
    pub const fn matches(&self, word: u32) -> bool {
        word & self.format.mask() == self.bits
    }
}

macro_rules! operations {
    ($($op:ident $mnemonic:literal $bits:literal $format:ident;)*) => {
        /// What an instruction does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = concat!("`", $mnemonic, "`")] $op,)*
            /// Not an instruction of this machine.
            Illegal,
        }

        /// All encodings. Of two that match the same word the earlier one holds.
        pub const ENCODINGS: [Encoding; Op::Illegal as usize] = [
            $(Encoding { op: Op::$op, mnemonic: $mnemonic, bits: $bits, format: Format::$format },)*
        ];
    };
}

impl Op {
    /// How many operations there are, [`Op::Illegal`] included.
    pub const COUNT: usize = Op::Illegal as usize + 1;

    /// Its row in [`ENCODINGS`]; none for [`Op::Illegal`].
    pub const fn encoding(self) -> Option<&'static Encoding> {
        const ROWS: &[Encoding] = &ENCODINGS;
        match self {
            Op::Illegal => None,
            op => Some(&ROWS[op as usize]),
        }
    }

    /// Its name in assembly.
    pub const fn mnemonic(self) -> &'static str {
        match self.encoding() {
            Some(row) => row.mnemonic,
            None => "illegal",
        }
    }
}

operations! {
    // RV64I
    Lui     "lui"       0x0000_0037 Upper;
    Auipc   "auipc"     0x0000_0017 Upper;
    Jal     "jal"       0x0000_006f Jump;
    Jalr    "jalr"      0x0000_0067 I;
    Beq     "beq"       0x0000_0063 Branch;
    Bne     "bne"       0x0000_1063 Branch;
    Blt     "blt"       0x0000_4063 Branch;
    Bge     "bge"       0x0000_5063 Branch;
    Bltu    "bltu"      0x0000_6063 Branch;
    Bgeu    "bgeu"      0x0000_7063 Branch;
    Lb      "lb"        0x0000_0003 Load;
    Lh      "lh"        0x0000_1003 Load;
    Lw      "lw"        0x0000_2003 Load;
    Ld      "ld"        0x0000_3003 Load;
    Lbu     "lbu"       0x0000_4003 Load;
    Lhu     "lhu"       0x0000_5003 Load;
    Lwu     "lwu"       0x0000_6003 Load;
    Sb      "sb"        0x0000_0023 Store;
    Sh      "sh"        0x0000_1023 Store;
    Sw      "sw"        0x0000_2023 Store;
    Sd      "sd"        0x0000_3023 Store;
    Addi    "addi"      0x0000_0013 I;
    Mark    "mark"      0x0000_2013 Mark; // before slti, of which it is a special case
    Slti    "slti"      0x0000_2013 I;
    Sltiu   "sltiu"     0x0000_3013 I;
    Xori    "xori"      0x0000_4013 I;
    Ori     "ori"       0x0000_6013 I;
    Andi    "andi"      0x0000_7013 I;
    Slli    "slli"      0x0000_1013 Shift6;
    Srli    "srli"      0x0000_5013 Shift6;
    Srai    "srai"      0x4000_5013 Shift6;
    Add     "add"       0x0000_0033 R;
    Sub     "sub"       0x4000_0033 R;
    Sll     "sll"       0x0000_1033 R;
    Slt     "slt"       0x0000_2033 R;
    Sltu    "sltu"      0x0000_3033 R;
    Xor     "xor"       0x0000_4033 R;
    Srl     "srl"       0x0000_5033 R;
    Sra     "sra"       0x4000_5033 R;
    Or      "or"        0x0000_6033 R;
    And     "and"       0x0000_7033 R;
    Addiw   "addiw"     0x0000_001b I;
    Slliw   "slliw"     0x0000_101b Shift5;
    Srliw   "srliw"     0x0000_501b Shift5;
    Sraiw   "sraiw"     0x4000_501b Shift5;
    Addw    "addw"      0x0000_003b R;
    Subw    "subw"      0x4000_003b R;
    Sllw    "sllw"      0x0000_103b R;
    Srlw    "srlw"      0x0000_503b R;
    Sraw    "sraw"      0x4000_503b R;
    Pause   "pause"     0x0100_000f Fixed; // Zihintpause; before fence, of which it is a special case
    Fence   "fence"     0x0000_000f Fence;
    FenceI  "fence.i"   0x0000_100f FenceInstructions; // Zifencei
    Ecall   "ecall"     0x0000_0073 Fixed;
    Ebreak  "ebreak"    0x0010_0073 Fixed;
    Uret    "uret"      0x0020_0073 Fixed; // N
    // Privileged
    Sret    "sret"      0x1020_0073 Fixed;
    Mret    "mret"      0x3020_0073 Fixed;
    Wfi     "wfi"       0x1050_0073 Fixed;
    SfenceVma "sfence.vma" 0x1200_0073 FenceAddresses;
    // Zicbom, Zicboz
    CboInval "cbo.inval" 0x0000_200f CacheBlock;
    CboClean "cbo.clean" 0x0010_200f CacheBlock;
    CboFlush "cbo.flush" 0x0020_200f CacheBlock;
    CboZero  "cbo.zero"  0x0040_200f CacheBlock;
    // Zicsr
    Csrrw   "csrrw"     0x0000_1073 Csr;
    Csrrs   "csrrs"     0x0000_2073 Csr;
    Csrrc   "csrrc"     0x0000_3073 Csr;
    Csrrwi  "csrrwi"    0x0000_5073 CsrImmediate;
    Csrrsi  "csrrsi"    0x0000_6073 CsrImmediate;
    Csrrci  "csrrci"    0x0000_7073 CsrImmediate;
    // M
    Mul     "mul"       0x0200_0033 R;
    Mulh    "mulh"      0x0200_1033 R;
    Mulhsu  "mulhsu"    0x0200_2033 R;
    Mulhu   "mulhu"     0x0200_3033 R;
    Div     "div"       0x0200_4033 R;
    Divu    "divu"      0x0200_5033 R;
    Rem     "rem"       0x0200_6033 R;
    Remu    "remu"      0x0200_7033 R;
    Mulw    "mulw"      0x0200_003b R;
    Divw    "divw"      0x0200_403b R;
    Divuw   "divuw"     0x0200_503b R;
    Remw    "remw"      0x0200_603b R;
    Remuw   "remuw"     0x0200_703b R;
    // A
    LrW       "lr.w"      0x1000_202f LoadReserved;
    ScW       "sc.w"      0x1800_202f Amo;
    AmoswapW  "amoswap.w" 0x0800_202f Amo;
    AmoaddW   "amoadd.w"  0x0000_202f Amo;
    AmoxorW   "amoxor.w"  0x2000_202f Amo;
    AmoandW   "amoand.w"  0x6000_202f Amo;
    AmoorW    "amoor.w"   0x4000_202f Amo;
    AmominW   "amomin.w"  0x8000_202f Amo;
    AmomaxW   "amomax.w"  0xa000_202f Amo;
    AmominuW  "amominu.w" 0xc000_202f Amo;
    AmomaxuW  "amomaxu.w" 0xe000_202f Amo;
    LrD       "lr.d"      0x1000_302f LoadReserved;
    ScD       "sc.d"      0x1800_302f Amo;
    AmoswapD  "amoswap.d" 0x0800_302f Amo;
    AmoaddD   "amoadd.d"  0x0000_302f Amo;
    AmoxorD   "amoxor.d"  0x2000_302f Amo;
    AmoandD   "amoand.d"  0x6000_302f Amo;
    AmoorD    "amoor.d"   0x4000_302f Amo;
    AmominD   "amomin.d"  0x8000_302f Amo;
    AmomaxD   "amomax.d"  0xa000_302f Amo;
    AmominuD  "amominu.d" 0xc000_302f Amo;
    AmomaxuD  "amomaxu.d" 0xe000_302f Amo;
    // F
    Flw     "flw"       0x0000_2007 FpLoad;
    Fsw     "fsw"       0x0000_2027 FpStore;
    FmaddS  "fmadd.s"   0x0000_0043 FpFused;
    FmsubS  "fmsub.s"   0x0000_0047 FpFused;
    FnmsubS "fnmsub.s"  0x0000_004b FpFused;
    FnmaddS "fnmadd.s"  0x0000_004f FpFused;
    FaddS   "fadd.s"    0x0000_0053 FpBinary;
    FsubS   "fsub.s"    0x0800_0053 FpBinary;
    FmulS   "fmul.s"    0x1000_0053 FpBinary;
    FdivS   "fdiv.s"    0x1800_0053 FpBinary;
    FsqrtS  "fsqrt.s"   0x5800_0053 FpUnary;
    FsgnjS  "fsgnj.s"   0x2000_0053 FpExact;
    FsgnjnS "fsgnjn.s"  0x2000_1053 FpExact;
    FsgnjxS "fsgnjx.s"  0x2000_2053 FpExact;
    FminS   "fmin.s"    0x2800_0053 FpExact;
    FmaxS   "fmax.s"    0x2800_1053 FpExact;
    FleS    "fle.s"     0xa000_0053 FpCompare;
    FltS    "flt.s"     0xa000_1053 FpCompare;
    FeqS    "feq.s"     0xa000_2053 FpCompare;
    FcvtWS  "fcvt.w.s"  0xc000_0053 FpToInteger;
    FcvtWuS "fcvt.wu.s" 0xc010_0053 FpToInteger;
    FcvtLS  "fcvt.l.s"  0xc020_0053 FpToInteger;
    FcvtLuS "fcvt.lu.s" 0xc030_0053 FpToInteger;
    FcvtSW  "fcvt.s.w"  0xd000_0053 FpFromInteger;
    FcvtSWu "fcvt.s.wu" 0xd010_0053 FpFromInteger;
    FcvtSL  "fcvt.s.l"  0xd020_0053 FpFromInteger;
    FcvtSLu "fcvt.s.lu" 0xd030_0053 FpFromInteger;
    FmvXW   "fmv.x.w"   0xe000_0053 FpMoveToInteger;
    FclassS "fclass.s"  0xe000_1053 FpMoveToInteger;
    FmvWX   "fmv.w.x"   0xf000_0053 FpMoveFromInteger;
    // D
    Fld     "fld"       0x0000_3007 FpLoad;
    Fsd     "fsd"       0x0000_3027 FpStore;
    FmaddD  "fmadd.d"   0x0200_0043 FpFused;
    FmsubD  "fmsub.d"   0x0200_0047 FpFused;
    FnmsubD "fnmsub.d"  0x0200_004b FpFused;
    FnmaddD "fnmadd.d"  0x0200_004f FpFused;
    FaddD   "fadd.d"    0x0200_0053 FpBinary;
    FsubD   "fsub.d"    0x0a00_0053 FpBinary;
    FmulD   "fmul.d"    0x1200_0053 FpBinary;
    FdivD   "fdiv.d"    0x1a00_0053 FpBinary;
    FsqrtD  "fsqrt.d"   0x5a00_0053 FpUnary;
    FsgnjD  "fsgnj.d"   0x2200_0053 FpExact;
    FsgnjnD "fsgnjn.d"  0x2200_1053 FpExact;
    FsgnjxD "fsgnjx.d"  0x2200_2053 FpExact;
    FminD   "fmin.d"    0x2a00_0053 FpExact;
    FmaxD   "fmax.d"    0x2a00_1053 FpExact;
    FleD    "fle.d"     0xa200_0053 FpCompare;
    FltD    "flt.d"     0xa200_1053 FpCompare;
    FeqD    "feq.d"     0xa200_2053 FpCompare;
    FcvtSD  "fcvt.s.d"  0x4010_0053 FpUnary;
    FcvtDS  "fcvt.d.s"  0x4200_0053 FpUnary;
    FcvtWD  "fcvt.w.d"  0xc200_0053 FpToInteger;
    FcvtWuD "fcvt.wu.d" 0xc210_0053 FpToInteger;
    FcvtLD  "fcvt.l.d"  0xc220_0053 FpToInteger;
    FcvtLuD "fcvt.lu.d" 0xc230_0053 FpToInteger;
    FcvtDW  "fcvt.d.w"  0xd200_0053 FpFromInteger;
    FcvtDWu "fcvt.d.wu" 0xd210_0053 FpFromInteger;
    FcvtDL  "fcvt.d.l"  0xd220_0053 FpFromInteger;
    FcvtDLu "fcvt.d.lu" 0xd230_0053 FpFromInteger;
    FmvXD   "fmv.x.d"   0xe200_0053 FpMoveToInteger;
    FclassD "fclass.d"  0xe200_1053 FpMoveToInteger;
    FmvDX   "fmv.d.x"   0xf200_0053 FpMoveFromInteger;
    // Custom-0: funct3 0 is for 64-byte stores to devices, 1 to 5 are the network cache's, the others are free.
    St64b   "st64b"     0x0000_000b Store64;
    St64bv  "st64bv"    0x0200_000b Store64Answered;
    Nload   "nload"     0x0000_100b Load;
    Nstore  "nstore"    0x0000_200b Store;
    Remap   "remap"     0x0000_300b R;
    Prebind "prebind"   0x0000_400b R4;
    Withdraw "withdraw" 0x0000_500b R;
}

/// The illegal instruction: keeps its bits for the fault message.
pub(crate) fn illegal(bits: u32, length: u8) -> Insn {
    Insn { op: Op::Illegal, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length, imm: i64::from(bits) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spike's idea: no word may be claimed by two encodings, but for the two special cases that come
    /// before the general form and fix more bits than it does.
    #[test]
    fn encodings_do_not_overlap() {
        let mut special = vec![];
        for (i, first) in ENCODINGS.iter().enumerate() {
            assert_eq!(first.bits & !first.format.mask(), 0, "{}: bits outside the mask", first.mnemonic);
            assert_eq!(first.op as usize, i);
            for second in &ENCODINGS[i + 1..] {
                let common = first.format.mask() & second.format.mask();
                if first.bits & common == second.bits & common {
                    assert_eq!(common, second.format.mask(), "{} hides {}", first.mnemonic, second.mnemonic);
                    special.push((first.mnemonic, second.mnemonic));
                }
            }
        }
        assert_eq!(special, [("mark", "slti"), ("pause", "fence")]);
    }
}

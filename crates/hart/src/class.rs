//! Timing class of each operation: what a machine file gives a number of cycles to.

use crate::insn::Op;

/// Operations that take the same time on an in-order core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// Integer addition, logic, shift, comparison, constants.
    IntAlu,
    /// Integer multiplication.
    IntMul,
    /// Integer division and remainder.
    IntDiv,
    /// Load into an integer or floating-point register.
    Load,
    /// Store.
    Store,
    /// Store of 64 bytes to a device.
    Store64,
    /// Conditional branch.
    Branch,
    /// `jal`
    Jump,
    /// `jalr`
    JumpRegister,
    /// Floating-point addition and subtraction.
    FpAdd,
    /// Floating-point multiplication.
    FpMul,
    /// Fused multiply-add and its signs.
    FpFma,
    /// Division, single precision.
    FpDivS,
    /// Division, double precision.
    FpDivD,
    /// Square root, single precision.
    FpSqrtS,
    /// Square root, double precision.
    FpSqrtD,
    /// Sign injection, classification, moves between register files.
    FpMove,
    /// Conversions.
    FpConvert,
    /// Comparisons, minimum, maximum.
    FpCompare,
    /// Atomic memory operations, load-reserved and store-conditional.
    Amo,
    /// Access to control and status registers.
    Csr,
    /// Memory and instruction fences; cache-block management; binding in a network cache.
    Fence,
    /// Calls to the system, breakpoints, `wfi`; what is illegal.
    System,
    /// Trap returns.
    TrapReturn,
    /// Returns of handlers at user level.
    HandlerReturn,
    /// `pause` and marks.
    Hint,
}

/// Number of timing classes.
pub const CLASSES: usize = Class::Hint as usize + 1;

/// The timing class of an operation.
pub const fn class(op: Op) -> Class {
    use Op::*;
    match op {
        Lui | Auipc | Addi | Slti | Sltiu | Xori | Ori | Andi | Slli | Srli | Srai => Class::IntAlu,
        Add | Sub | Sll | Slt | Sltu | Xor | Srl | Sra | Or | And => Class::IntAlu,
        Addiw | Slliw | Srliw | Sraiw | Addw | Subw | Sllw | Srlw | Sraw => Class::IntAlu,
        Mul | Mulh | Mulhsu | Mulhu | Mulw => Class::IntMul,
        Div | Divu | Rem | Remu | Divw | Divuw | Remw | Remuw => Class::IntDiv,
        Lb | Lh | Lw | Ld | Lbu | Lhu | Lwu | Flw | Fld | Nload => Class::Load,
        Sb | Sh | Sw | Sd | Fsw | Fsd | Nstore => Class::Store,
        St64b | St64bv => Class::Store64,
        Beq | Bne | Blt | Bge | Bltu | Bgeu => Class::Branch,
        Jal => Class::Jump,
        Jalr => Class::JumpRegister,
        FaddS | FsubS | FaddD | FsubD => Class::FpAdd,
        FmulS | FmulD => Class::FpMul,
        FmaddS | FmsubS | FnmsubS | FnmaddS | FmaddD | FmsubD | FnmsubD | FnmaddD => Class::FpFma,
        FdivS => Class::FpDivS,
        FdivD => Class::FpDivD,
        FsqrtS => Class::FpSqrtS,
        FsqrtD => Class::FpSqrtD,
        FsgnjS | FsgnjnS | FsgnjxS | FmvXW | FmvWX | FclassS => Class::FpMove,
        FsgnjD | FsgnjnD | FsgnjxD | FmvXD | FmvDX | FclassD => Class::FpMove,
        FcvtWS | FcvtWuS | FcvtLS | FcvtLuS | FcvtSW | FcvtSWu | FcvtSL | FcvtSLu => Class::FpConvert,
        FcvtWD | FcvtWuD | FcvtLD | FcvtLuD | FcvtDW | FcvtDWu | FcvtDL | FcvtDLu => Class::FpConvert,
        FcvtSD | FcvtDS => Class::FpConvert,
        FminS | FmaxS | FleS | FltS | FeqS | FminD | FmaxD | FleD | FltD | FeqD => Class::FpCompare,
        LrW | ScW | AmoswapW | AmoaddW | AmoxorW | AmoandW | AmoorW => Class::Amo,
        AmominW | AmomaxW | AmominuW | AmomaxuW => Class::Amo,
        LrD | ScD | AmoswapD | AmoaddD | AmoxorD | AmoandD | AmoorD => Class::Amo,
        AmominD | AmomaxD | AmominuD | AmomaxuD => Class::Amo,
        Csrrw | Csrrs | Csrrc | Csrrwi | Csrrsi | Csrrci => Class::Csr,
        Fence | FenceI | SfenceVma | CboInval | CboClean | CboFlush | CboZero | Remap | Prebind
        | Withdraw => Class::Fence,
        Ecall | Ebreak | Wfi | Illegal => Class::System,
        Sret | Mret => Class::TrapReturn,
        Uret => Class::HandlerReturn,
        Mark | Pause => Class::Hint,
    }
}

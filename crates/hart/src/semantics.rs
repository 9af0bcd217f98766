//! Which function is the semantics of which operation: the one list from which dispatchers are generated.

/// Calls a macro with every operation whose effect is a function of its operands, in groups of one shape.
///
/// `for_each_op!(callback, extra tokens)` expands to `callback! { { extra tokens } register { … } … }`. The
/// groups, always in this order, each a list of `Op => function;` (loads and stores: `Op => type;`):
///
/// | group | effect |
/// | --- | --- |
/// | `register` | `x[rd] = f(x[rs1], x[rs2])` |
/// | `immediate` | `x[rd] = f(x[rs1], imm as u64)` |
/// | `branch` | taken if `f(x[rs1], x[rs2])` |
/// | `load` | `x[rd] = value of that type at x[rs1] + imm, as u64` (sign- or zero-extended) |
/// | `store` | `x[rs2] as type` to `x[rs1] + imm` |
/// | `amo_w`, `amo_d` | old value (sign-extended) to `x[rd]`, `f(old, x[rs2])` to memory |
/// | `fp_binary` | `f[rd] = f(f[rs1], f[rs2], rm, flags)` |
/// | `fp_fused` | `f[rd] = f(f[rs1], f[rs2], f[rs3], rm, flags)` |
/// | `fp_unary` | `f[rd] = f(f[rs1], rm, flags)` |
/// | `fp_min_max` | `f[rd] = f(f[rs1], f[rs2], flags)` |
/// | `fp_sign` | `f[rd] = f(f[rs1], f[rs2])` |
/// | `fp_compare` | `x[rd] = f(f[rs1], f[rs2], flags)` |
/// | `fp_to_integer` | `x[rd] = f(f[rs1], rm, flags)` |
/// | `fp_from_integer` | `f[rd] = f(x[rs1], rm, flags)` |
/// | `fp_move_to_integer` | `x[rd] = f(f[rs1])` |
/// | `fp_move_from_integer` | `f[rd] = f(x[rs1])` |
///
/// Left to the dispatcher: lui, auipc, jumps, fp loads and stores (`fp::box_s`), lr/sc, CSRs, fences, system.
#[macro_export]
macro_rules! for_each_op {
    ($callback:ident $(, $($extra:tt)*)?) => {
        $callback! {
            { $($($extra)*)? }
            register {
                Add => $crate::alu::add; Sub => $crate::alu::sub; Sll => $crate::alu::sll;
                Slt => $crate::alu::slt; Sltu => $crate::alu::sltu; Xor => $crate::alu::xor;
                Srl => $crate::alu::srl; Sra => $crate::alu::sra; Or => $crate::alu::or; And => $crate::alu::and;
                Addw => $crate::alu::addw; Subw => $crate::alu::subw; Sllw => $crate::alu::sllw;
                Srlw => $crate::alu::srlw; Sraw => $crate::alu::sraw;
                Mul => $crate::alu::mul; Mulh => $crate::alu::mulh; Mulhsu => $crate::alu::mulhsu;
                Mulhu => $crate::alu::mulhu; Mulw => $crate::alu::mulw;
                Div => $crate::alu::div; Divu => $crate::alu::divu; Rem => $crate::alu::rem;
                Remu => $crate::alu::remu; Divw => $crate::alu::divw; Divuw => $crate::alu::divuw;
                Remw => $crate::alu::remw; Remuw => $crate::alu::remuw;
            }
            immediate {
                Addi => $crate::alu::add; Slti => $crate::alu::slt; Sltiu => $crate::alu::sltu;
                Xori => $crate::alu::xor; Ori => $crate::alu::or; Andi => $crate::alu::and;
                Slli => $crate::alu::sll; Srli => $crate::alu::srl; Srai => $crate::alu::sra;
                Addiw => $crate::alu::addw; Slliw => $crate::alu::sllw; Srliw => $crate::alu::srlw;
                Sraiw => $crate::alu::sraw;
            }
            branch {
                Beq => $crate::alu::eq; Bne => $crate::alu::ne; Blt => $crate::alu::lt; Bge => $crate::alu::ge;
                Bltu => $crate::alu::ltu; Bgeu => $crate::alu::geu;
            }
            load { Lb => i8; Lh => i16; Lw => i32; Ld => i64; Lbu => u8; Lhu => u16; Lwu => u32; }
            store { Sb => u8; Sh => u16; Sw => u32; Sd => u64; }
            amo_w {
                AmoswapW => $crate::alu::swap; AmoaddW => $crate::alu::add; AmoxorW => $crate::alu::xor;
                AmoandW => $crate::alu::and; AmoorW => $crate::alu::or; AmominW => $crate::alu::min_w;
                AmomaxW => $crate::alu::max_w; AmominuW => $crate::alu::minu_w; AmomaxuW => $crate::alu::maxu_w;
            }
            amo_d {
                AmoswapD => $crate::alu::swap; AmoaddD => $crate::alu::add; AmoxorD => $crate::alu::xor;
                AmoandD => $crate::alu::and; AmoorD => $crate::alu::or; AmominD => $crate::alu::min_d;
                AmomaxD => $crate::alu::max_d; AmominuD => $crate::alu::minu_d; AmomaxuD => $crate::alu::maxu_d;
            }
            fp_binary {
                FaddS => $crate::fp::add_s; FsubS => $crate::fp::sub_s; FmulS => $crate::fp::mul_s;
                FdivS => $crate::fp::div_s; FaddD => $crate::fp::add_d; FsubD => $crate::fp::sub_d;
                FmulD => $crate::fp::mul_d; FdivD => $crate::fp::div_d;
            }
            fp_fused {
                FmaddS => $crate::fp::madd_s; FmsubS => $crate::fp::msub_s; FnmsubS => $crate::fp::nmsub_s;
                FnmaddS => $crate::fp::nmadd_s; FmaddD => $crate::fp::madd_d; FmsubD => $crate::fp::msub_d;
                FnmsubD => $crate::fp::nmsub_d; FnmaddD => $crate::fp::nmadd_d;
            }
            fp_unary {
                FsqrtS => $crate::fp::sqrt_s; FsqrtD => $crate::fp::sqrt_d; FcvtSD => $crate::fp::s_from_d;
                FcvtDS => $crate::fp::d_from_s;
            }
            fp_min_max {
                FminS => $crate::fp::min_s; FmaxS => $crate::fp::max_s; FminD => $crate::fp::min_d;
                FmaxD => $crate::fp::max_d;
            }
            fp_sign {
                FsgnjS => $crate::fp::sgnj_s; FsgnjnS => $crate::fp::sgnjn_s; FsgnjxS => $crate::fp::sgnjx_s;
                FsgnjD => $crate::fp::sgnj_d; FsgnjnD => $crate::fp::sgnjn_d; FsgnjxD => $crate::fp::sgnjx_d;
            }
            fp_compare {
                FeqS => $crate::fp::eq_s; FltS => $crate::fp::lt_s; FleS => $crate::fp::le_s;
                FeqD => $crate::fp::eq_d; FltD => $crate::fp::lt_d; FleD => $crate::fp::le_d;
            }
            fp_to_integer {
                FcvtWS => $crate::fp::w_from_s; FcvtWuS => $crate::fp::wu_from_s;
                FcvtLS => $crate::fp::l_from_s; FcvtLuS => $crate::fp::lu_from_s;
                FcvtWD => $crate::fp::w_from_d; FcvtWuD => $crate::fp::wu_from_d;
                FcvtLD => $crate::fp::l_from_d; FcvtLuD => $crate::fp::lu_from_d;
            }
            fp_from_integer {
                FcvtSW => $crate::fp::s_from_w; FcvtSWu => $crate::fp::s_from_wu;
                FcvtSL => $crate::fp::s_from_l; FcvtSLu => $crate::fp::s_from_lu;
                FcvtDW => $crate::fp::d_from_w; FcvtDWu => $crate::fp::d_from_wu;
                FcvtDL => $crate::fp::d_from_l; FcvtDLu => $crate::fp::d_from_lu;
            }
            fp_move_to_integer {
                FmvXW => $crate::fp::x_from_s; FmvXD => $crate::fp::x_from_d; FclassS => $crate::fp::class_s;
                FclassD => $crate::fp::class_d;
            }
            fp_move_from_integer { FmvWX => $crate::fp::s_from_x; FmvDX => $crate::fp::d_from_x; }
        }
    };
}

//! What translated code calls: operations on registers that it does not have inline, and the predictor.

use crate::block::{Code, Micro};
use crate::for_each_op;
use crate::fp::Rounding;
use crate::hart::Hart;

/// Executes the operation of an entry on the registers. False: its rounding mode is reserved, and nothing was done.
pub(super) type Operation = extern "C" fn(&mut Hart, &Micro) -> bool;

/// Further cycles of the branch or jump at `pc` to `target`.
pub(super) extern "C" fn branched(hart: &mut Hart, pc: u64, target: u64, taken: u64) -> u64 {
    hart.branched(pc, target, taken != 0)
}

/// The same of a direct jump.
pub(super) extern "C" fn jumped(hart: &mut Hart, pc: u64, target: u64) -> u64 {
    hart.jumped(pc, target)
}

macro_rules! declare_operations {
    ({}
     register { $($r:ident => $rf:path;)* } immediate { $($i:ident => $mf:path;)* }
     branch { $($br:ident => $bf:path;)* } load { $($l:ident => $lt:ty;)* } store { $($st:ident => $stt:ty;)* }
     amo_w { $($aw:ident => $awf:path;)* } amo_d { $($ad:ident => $adf:path;)* }
     fp_binary { $($fb:ident => $fbf:path;)* } fp_fused { $($ff:ident => $fff:path;)* }
     fp_unary { $($fu:ident => $fuf:path;)* } fp_min_max { $($fm:ident => $fmf:path;)* }
     fp_sign { $($fs:ident => $fsf:path;)* } fp_compare { $($fc:ident => $fcf:path;)* }
     fp_to_integer { $($fi:ident => $fif:path;)* } fp_from_integer { $($if:ident => $iff:path;)* }
     fp_move_to_integer { $($fx:ident => $fxf:path;)* } fp_move_from_integer { $($xf:ident => $xff:path;)* }
    ) => {
        /// The operation of a code, if it is one on registers alone; and whether it rounds.
        pub(super) fn operation(code: Code) -> Option<(Operation, bool)> {
            macro_rules! plain {
                ($h:ident, $m:ident, $do:expr) => {{
                    extern "C" fn of($h: &mut Hart, $m: &Micro) -> bool {
                        $do;
                        true
                    }
                    Some((of, false))
                }};
            }
            macro_rules! rounded {
                ($h:ident, $m:ident, $rm:ident, $do:block) => {{
                    extern "C" fn of($h: &mut Hart, $m: &Micro) -> bool {
                        let Some($rm) = Rounding::select($m.rm, $h.state.frm) else { return false };
                        $do
                        true
                    }
                    Some((of, true))
                }};
            }
            match code {
                $(Code::$r => plain!(h, m, h.set_x(m.rd, $rf(h.x(m.rs1), h.x(m.rs2)))),)*
                $(Code::$i => plain!(h, m, h.set_x(m.rd, $mf(h.x(m.rs1), m.imm as u64))),)*
                $(Code::$fb => rounded!(h, m, rm, {
                    let value = $fbf(h.f(m.rs1), h.f(m.rs2), rm, &mut h.state.flags);
                    h.set_f(m.rd, value);
                }),)*
                $(Code::$ff => rounded!(h, m, rm, {
                    let value = $fff(h.f(m.rs1), h.f(m.rs2), h.f(m.rs3), rm, &mut h.state.flags);
                    h.set_f(m.rd, value);
                }),)*
                $(Code::$fu => rounded!(h, m, rm, {
                    let value = $fuf(h.f(m.rs1), rm, &mut h.state.flags);
                    h.set_f(m.rd, value);
                }),)*
                $(Code::$fm => plain!(h, m, {
                    let value = $fmf(h.f(m.rs1), h.f(m.rs2), &mut h.state.flags);
                    h.set_f(m.rd, value)
                }),)*
                $(Code::$fs => plain!(h, m, h.set_f(m.rd, $fsf(h.f(m.rs1), h.f(m.rs2)))),)*
                $(Code::$fc => plain!(h, m, {
                    let value = $fcf(h.f(m.rs1), h.f(m.rs2), &mut h.state.flags);
                    h.set_x(m.rd, value)
                }),)*
                $(Code::$fi => rounded!(h, m, rm, {
                    let value = $fif(h.f(m.rs1), rm, &mut h.state.flags);
                    h.set_x(m.rd, value);
                }),)*
                $(Code::$if => rounded!(h, m, rm, {
                    let value = $iff(h.x(m.rs1), rm, &mut h.state.flags);
                    h.set_f(m.rd, value);
                }),)*
                $(Code::$fx => plain!(h, m, h.set_x(m.rd, $fxf(h.f(m.rs1)))),)*
                $(Code::$xf => plain!(h, m, h.set_f(m.rd, $xff(h.x(m.rs1)))),)*
                _ => None,
            }
        }
    };
}

for_each_op!(declare_operations,);

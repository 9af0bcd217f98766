//! What a core is made of.

use chasqui_config::{Count, Cycles, Frequency};
use chasqui_engine::Clock;

use crate::predictor::PredictorParameters;
use crate::{CLASSES, Class, Timing};

chasqui_config::parameters! {
    /// The processor core: in order, one instruction at a time.
    pub struct CoreParameters {
        /// Clock frequency.
        clock: Frequency = "1 GHz", range "1 MHz" ..= "100 GHz", source "assumption: a round number";
        /// Frequency of the `time` CSR, which MPI_Wtime reads.
        timebase: Frequency = "100 MHz", range "1 kHz" ..= "4 GHz", source "assumption: as on many RISC-V systems";
        /// Integer addition, logic, shifts, comparison.
        int_alu: Cycles = 1, range 1 ..= 100, source "assumption: single-cycle";
        /// Integer multiplication.
        int_mul: Cycles = 4, range 1 ..= 100, source "assumption: pipelined multiplier, result awaited";
        /// Integer division and remainder.
        int_div: Cycles = 20, range 1 ..= 500, source "assumption: radix-4 divider";
        /// Load that hits in the L1.
        load: Cycles = 2, range 1 ..= 100, source "assumption: two-cycle L1, result awaited";
        /// Store that hits in the L1.
        store: Cycles = 1, range 1 ..= 100, source "assumption";
        /// Store of 64 bytes to a device.
        store_64: Cycles = 8, range 1 ..= 100, source "assumption: a register a cycle";
        /// Conditional branch, as predicted and not taken.
        branch: Cycles = 1, range 1 ..= 100, source "assumption";
        /// Further cycles of a conditional branch that is taken as predicted.
        branch_taken: Cycles = 0, range 0 ..= 100, source "assumption: branch target cache";
        /// Further cycles of a conditional branch that was predicted wrongly.
        branch_mispredicted: Cycles = 3, range 0 ..= 100, source "assumption: short pipeline";
        /// Direct jump.
        jump: Cycles = 1, range 1 ..= 100, source "assumption";
        /// Indirect jump.
        jump_register: Cycles = 2, range 1 ..= 100, source "assumption: return stack";
        /// Floating-point addition and subtraction.
        fp_add: Cycles = 3, range 1 ..= 100, source "assumption: result awaited";
        /// Floating-point multiplication.
        fp_mul: Cycles = 3, range 1 ..= 100, source "assumption: result awaited";
        /// Fused multiply-add.
        fp_fma: Cycles = 3, range 1 ..= 100, source "assumption: result awaited";
        /// Division, single precision.
        fp_div_s: Cycles = 18, range 1 ..= 500, source "assumption";
        /// Division, double precision.
        fp_div_d: Cycles = 32, range 1 ..= 500, source "assumption";
        /// Square root, single precision.
        fp_sqrt_s: Cycles = 18, range 1 ..= 500, source "assumption";
        /// Square root, double precision.
        fp_sqrt_d: Cycles = 32, range 1 ..= 500, source "assumption";
        /// Sign injection, moves between register files, classification.
        fp_move: Cycles = 1, range 1 ..= 100, source "assumption";
        /// Conversions.
        fp_convert: Cycles = 3, range 1 ..= 100, source "assumption";
        /// Comparisons, minimum, maximum.
        fp_compare: Cycles = 3, range 1 ..= 100, source "assumption";
        /// Access to control and status registers.
        csr: Cycles = 1, range 1 ..= 100, source "assumption";
        /// From an instruction that traps into a kernel, or an interrupt, to the first instruction of the handler.
        trap: Cycles = 5, range 0 ..= 1000, source "assumption: what is in a pipeline of five stages is thrown away, as in Rocket, which takes traps at its last";
        /// Return from a trap.
        trap_return: Cycles = 5, range 1 ..= 1000, source "assumption: as a trap: Rocket executes it alone and refills its pipeline";
        /// Register contexts for handlers of interrupts at user level; 0: there are no such interrupts. With more than
        /// one a handler may let others interrupt it.
        handler_contexts: Count = 0, range 0 ..= 7, source "ours: a mechanism of machines that need it; MIPS32 has up to 15 shadow register sets";
        /// From an interrupt to the first instruction of its handler at user level.
        handler_entry: Cycles = 5, range 0 ..= 1000, source "assumption: as a trap; another register context is selected meanwhile, as by Arm's FIQ";
        /// Return of a handler at user level.
        handler_return: Cycles = 5, range 1 ..= 1000, source "assumption: as from a trap";
        /// `pause`.
        pause: Cycles = 1, range 1 ..= 1000, source "assumption: no deliberate delay";
    } and groups {
        /// Prediction of branches.
        predictor: PredictorParameters;
    }
}

impl CoreParameters {
    /// Its clock.
    pub fn clock(&self) -> Clock {
        Clock::new(self.clock.hz())
    }

    /// Costs of instructions.
    pub fn timing(&self) -> Timing {
        let c = self;
        let mut class = [1u16; CLASSES];
        let table = [
            (Class::IntAlu, &c.int_alu),
            (Class::IntMul, &c.int_mul),
            (Class::IntDiv, &c.int_div),
            (Class::Load, &c.load),
            (Class::Store, &c.store),
            (Class::Store64, &c.store_64),
            (Class::Branch, &c.branch),
            (Class::Jump, &c.jump),
            (Class::JumpRegister, &c.jump_register),
            (Class::FpAdd, &c.fp_add),
            (Class::FpMul, &c.fp_mul),
            (Class::FpFma, &c.fp_fma),
            (Class::FpDivS, &c.fp_div_s),
            (Class::FpDivD, &c.fp_div_d),
            (Class::FpSqrtS, &c.fp_sqrt_s),
            (Class::FpSqrtD, &c.fp_sqrt_d),
            (Class::FpMove, &c.fp_move),
            (Class::FpConvert, &c.fp_convert),
            (Class::FpCompare, &c.fp_compare),
            (Class::Csr, &c.csr),
            (Class::TrapReturn, &c.trap_return),
            (Class::HandlerReturn, &c.handler_return),
            (Class::Hint, &c.pause),
        ];
        for (of, cycles) in table {
            class[of as usize] = cycles.cycles() as u16;
        }
        Timing {
            class,
            branch_taken: c.branch_taken.cycles() as u8,
            branch_mispredicted: c.branch_mispredicted.cycles() as u8,
            prediction: c.predictor.prediction(),
            trap: c.trap.cycles() as u16,
            handler_entry: c.handler_entry.cycles() as u16,
        }
    }
}

//! A small interpreter generated from `for_each_op!`, without timing or faults: what the list lacks is written
//! out in [`Machine::other`].

use chasqui_hart::csr::{self, Counters};
use chasqui_hart::fp::{self, Rounding};
use chasqui_hart::testing::program::{Options, generate, initial_state, initial_window};
use chasqui_hart::{Class, Insn, Op, State, class, decode, for_each_op};
use chasqui_random::Random;

/// Where the window lies: across the end of a page.
pub const WINDOW: u64 = 0x2_0ff8 - 512;

/// A hart with a program and a window, nothing else.
pub struct Machine {
    pub state: State,
    pub code_address: u64,
    pub code: Vec<u8>,
    pub window: Vec<u8>,
    pub executed: u64,
    reserved: Option<u64>,
}

impl Machine {
    /// A random program at an address, with random registers and contents of the window.
    pub fn new(options: &Options, code_address: u64, random: &mut Random) -> Self {
        let code = generate(options, random);
        let state = initial_state(options, code_address, WINDOW, random);
        let window = initial_window(options, random);
        Self { state, code_address, code, window, executed: 0, reserved: None }
    }

    /// The next instruction.
    pub fn fetch(&self) -> Insn {
        let at = (self.state.pc - self.code_address) as usize;
        let half = |at: usize| u32::from(u16::from_le_bytes([self.code[at], self.code[at + 1]]));
        decode(half(at) | if at + 4 <= self.code.len() { half(at + 2) << 16 } else { 0 })
    }

    /// The bytes at an address; panics outside the window.
    fn bytes(&mut self, address: u64, count: usize) -> &mut [u8] {
        let at = address.checked_sub(WINDOW).expect("an address in the window") as usize;
        &mut self.window[at..at + count]
    }

    fn load(&mut self, address: u64, count: usize) -> u64 {
        let mut word = [0; 8];
        word[..count].copy_from_slice(self.bytes(address, count));
        u64::from_le_bytes(word)
    }

    fn store(&mut self, address: u64, count: usize, value: u64) {
        self.bytes(address, count).copy_from_slice(&value.to_le_bytes()[..count]);
    }

    /// Executes one instruction; false at `ecall`.
    pub fn step(&mut self, insn: Insn) -> bool {
        let address = self.state.x[usize::from(insn.rs1)].wrapping_add(insn.imm as u64);
        self.executed += 1;
        self.state.pc += u64::from(insn.length);
        for_each_op!(execute, self, insn, address);
        self.state.x[0] = 0;
        insn.op != Op::Ecall
    }

    /// What is no function of the operands alone.
    fn other(&mut self, insn: Insn, address: u64) {
        let pc = self.state.pc - u64::from(insn.length);
        let (rd, next) = (usize::from(insn.rd), self.state.pc);
        let [x1, x2] = [insn.rs1, insn.rs2].map(|register| self.state.x[usize::from(register & 31)]);
        match insn.op {
            Op::Lui => self.state.x[rd] = insn.imm as u64,
            Op::Auipc => self.state.x[rd] = pc.wrapping_add(insn.imm as u64),
            Op::Jal => (self.state.x[rd], self.state.pc) = (next, pc.wrapping_add(insn.imm as u64)),
            Op::Jalr => (self.state.x[rd], self.state.pc) = (next, address & !1),
            Op::Flw => self.state.f[rd] = fp::box_s(self.load(address, 4)),
            Op::Fld => self.state.f[rd] = self.load(address, 8),
            Op::Fsw => self.store(address, 4, self.state.f[usize::from(insn.rs2)]),
            Op::Fsd => self.store(address, 8, self.state.f[usize::from(insn.rs2)]),
            Op::LrW | Op::LrD => {
                self.reserved = Some(x1);
                let double = insn.op == Op::LrD;
                let value = self.load(x1, if double { 8 } else { 4 });
                self.state.x[rd] = if double { value } else { value as i32 as u64 };
            }
            Op::ScW | Op::ScD => {
                let success = self.reserved.take() == Some(x1);
                if success {
                    self.store(x1, if insn.op == Op::ScD { 8 } else { 4 }, x2);
                }
                self.state.x[rd] = u64::from(!success);
            }
            op if class(op) == Class::Csr => {
                let immediate = matches!(op, Op::Csrrwi | Op::Csrrsi | Op::Csrrci);
                let source = if immediate { u64::from(insn.rs1) } else { x1 };
                let counters = Counters { cycle: self.executed, time: self.executed, instret: self.executed };
                let value = csr::execute(&mut self.state, &counters, op, insn.imm as u16, insn.rs1, source);
                self.state.x[rd] = value.expect("a user-level CSR");
            }
            Op::Mark | Op::Ecall => {}
            op if matches!(class(op), Class::Hint | Class::Fence) => {}
            op => panic!("{op:?} at {pc:#x}: {insn}"),
        }
    }
}

macro_rules! execute {
    (
        { $self:ident, $insn:ident, $address:ident }
        register { $($reg:ident => $reg_f:path;)* }
        immediate { $($imm:ident => $imm_f:path;)* }
        branch { $($branch:ident => $branch_f:path;)* }
        load { $($load:ident => $load_t:ty;)* }
        store { $($store:ident => $store_t:ty;)* }
        amo_w { $($amo_w:ident => $amo_w_f:path;)* }
        amo_d { $($amo_d:ident => $amo_d_f:path;)* }
        fp_binary { $($fp_binary:ident => $fp_binary_f:path;)* }
        fp_fused { $($fp_fused:ident => $fp_fused_f:path;)* }
        fp_unary { $($fp_unary:ident => $fp_unary_f:path;)* }
        fp_min_max { $($fp_min_max:ident => $fp_min_max_f:path;)* }
        fp_sign { $($fp_sign:ident => $fp_sign_f:path;)* }
        fp_compare { $($fp_compare:ident => $fp_compare_f:path;)* }
        fp_to_integer { $($fp_to_integer:ident => $fp_to_integer_f:path;)* }
        fp_from_integer { $($fp_from_integer:ident => $fp_from_integer_f:path;)* }
        fp_move_to_integer { $($fp_move_to_integer:ident => $fp_move_to_integer_f:path;)* }
        fp_move_from_integer { $($fp_move_from_integer:ident => $fp_move_from_integer_f:path;)* }
    ) => {{
        let insn = $insn;
        let register = |number: u8| usize::from(number);
        let (rd, rs1, rs2, rs3) = (register(insn.rd), register(insn.rs1), register(insn.rs2), register(insn.rs3));
        let mode = |frm: u8| Rounding::select(insn.rm, frm).expect("a legal rounding mode");
        let State { x, f, pc, flags, frm } = &mut $self.state;
        match insn.op {
            $(Op::$reg => x[rd] = $reg_f(x[rs1], x[rs2]),)*
            $(Op::$imm => x[rd] = $imm_f(x[rs1], insn.imm as u64),)*
            $(Op::$branch => if $branch_f(x[rs1], x[rs2]) {
                *pc = pc.wrapping_sub(insn.length.into()).wrapping_add(insn.imm as u64);
            })*
            $(Op::$load => {
                let value = $self.load($address, size_of::<$load_t>());
                $self.state.x[rd] = value as $load_t as u64;
            })*
            $(Op::$store => {
                let value = x[rs2];
                $self.store($address, size_of::<$store_t>(), value);
            })*
            $(Op::$amo_w => {
                let (address, source) = (x[rs1], x[rs2]);
                let old = $self.load(address, 4) as i32 as u64;
                $self.store(address, 4, $amo_w_f(old, source));
                $self.state.x[rd] = old;
            })*
            $(Op::$amo_d => {
                let (address, source) = (x[rs1], x[rs2]);
                let old = $self.load(address, 8);
                $self.store(address, 8, $amo_d_f(old, source));
                $self.state.x[rd] = old;
            })*
            $(Op::$fp_binary => f[rd] = $fp_binary_f(f[rs1], f[rs2], mode(*frm), flags),)*
            $(Op::$fp_fused => f[rd] = $fp_fused_f(f[rs1], f[rs2], f[rs3], mode(*frm), flags),)*
            $(Op::$fp_unary => f[rd] = $fp_unary_f(f[rs1], mode(*frm), flags),)*
            $(Op::$fp_min_max => f[rd] = $fp_min_max_f(f[rs1], f[rs2], flags),)*
            $(Op::$fp_sign => f[rd] = $fp_sign_f(f[rs1], f[rs2]),)*
            $(Op::$fp_compare => x[rd] = $fp_compare_f(f[rs1], f[rs2], flags),)*
            $(Op::$fp_to_integer => x[rd] = $fp_to_integer_f(f[rs1], mode(*frm), flags),)*
            $(Op::$fp_from_integer => f[rd] = $fp_from_integer_f(x[rs1], mode(*frm), flags),)*
            $(Op::$fp_move_to_integer => x[rd] = $fp_move_to_integer_f(f[rs1]),)*
            $(Op::$fp_move_from_integer => f[rd] = $fp_move_from_integer_f(x[rs1]),)*
            _ => $self.other(insn, $address),
        }
    }};
}
use execute;

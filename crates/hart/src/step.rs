//! The reference: one instruction at a time, fetched and decoded anew. The fast loop must agree with it in
//! state and cycles, and leaves to it whatever is rare.

use chasqui_memory::{BlockOperation, Name, Stop, order};

use crate::csr::{self, Counters};
use crate::debug::has_failed;
use crate::fp::{self, Rounding};
use crate::hart::{FETCHED, Halt, Hart};
use crate::insn::{Insn, Op};
use crate::supervisor::SIP;
use crate::{decode, for_each_op, handlers};

/// Sign- or zero-extends a loaded value from the width of its type.
macro_rules! extend {
    ($value:expr, $type:ty) => {
        $value as $type as i64 as u64
    };
}
pub(crate) use extend;

impl Hart {
    /// The instruction at `pc`, functionally.
    pub(crate) fn instruction(&mut self, pc: u64) -> Result<Insn, Halt> {
        self.instruction_bits(pc).map(decode)
    }

    /// The bits of the instruction at `pc`, 16 or 32.
    pub(crate) fn instruction_bits(&mut self, pc: u64) -> Result<u32, Halt> {
        let low = u32::from(self.port.code(pc).map_err(Halt::Fault)?);
        if low & 3 != 3 {
            return Ok(low);
        }
        let high = u32::from(self.port.code(pc + 2).map_err(Halt::Fault)?);
        Ok(low | high << 16)
    }

    /// Executes the instruction at `pc`. `None`: it is done and nothing stops the next. If fetching it
    /// takes time, that is all that happens: it starts later, at `cycle`.
    ///
    /// An interrupt that traps, or an exception that the kernel gets, is all that happens, too.
    pub fn step(&mut self) -> Option<Halt> {
        if self.take_interrupt() {
            return None;
        }
        let pc = self.state.pc;
        if !self.may_read(pc) {
            return Some(Halt::Turn);
        }
        if self.stops_here() {
            return Some(Halt::Stop);
        }
        self.has_read(pc);
        self.course.started = self.cycle;
        let done = self.instruction(pc).and_then(|insn| self.try_step(&insn));
        done.unwrap_or_else(Some).and_then(|halt| self.delivered(halt))
    }

    /// [`Hart::step`] of `insn`, which is the instruction at `pc`.
    pub(crate) fn try_step(&mut self, insn: &Insn) -> Result<Option<Halt>, Halt> {
        if self.debugged.is_some() { self.try_step_debugged(insn) } else { self.try_step_alone(insn) }
    }

    /// The same of a hart with a debugger.
    #[cold]
    fn try_step_debugged(&mut self, insn: &Insn) -> Result<Option<Halt>, Halt> {
        let (pc, instructions) = (self.state.pc, self.statistics.instructions);
        let is_users = !self.is_supervisor();
        let due = self.debugged.as_ref().and_then(|debugged| debugged.accessed(&self.state, insn));
        let done = self.try_step_alone(insn);
        let is_executed =
            self.statistics.instructions > instructions || matches!(done, Ok(Some(Halt::Mark { .. })));
        if is_users && is_executed {
            let due = due.filter(|_| !has_failed(&self.state, insn));
            let debugged = self.debugged.as_mut().expect("it has a debugger");
            debugged.executed(pc, self.state.pc, due);
        }
        done
    }

    /// The same, which no debugger looks at.
    #[inline]
    pub(crate) fn try_step_alone(&mut self, insn: &Insn) -> Result<Option<Halt>, Halt> {
        let timed = self.port.is_timed();
        if timed && insn.op != Op::Mark {
            let fetch = self.fetch(insn.length);
            self.begun = matches!(fetch, Ok(false) | Err(Stop::Wait(_)));
            if !fetch? {
                return Ok(None);
            }
        }
        let mut at = self.cycle;
        let next = self.state.pc.wrapping_add(u64::from(insn.length));
        let done = self.dispatch(insn, next, &mut at);
        if timed {
            // What a hit in the L2 took has passed even if the next access must wait.
            self.cycle = at + if done.is_ok() { self.timing.of(insn.op) } else { 0 };
        }
        self.begun = timed && matches!(done, Err(Halt::Wait(_) | Halt::Idle));
        self.fetched = if self.begun { FETCHED } else { 0 };
        let halt = done?;
        self.statistics.instructions += u64::from(insn.op != Op::Mark);
        Ok(halt.or(self.port.wants_bus().then_some(Halt::Bus)))
    }

    /// Fetches the lines that the instruction at `pc` lies in. False: it took time.
    fn fetch(&mut self, length: u8) -> Result<bool, Stop> {
        let mask = !(self.port.fetch_line_bytes() - 1);
        let first = self.state.pc & mask;
        let last = (self.state.pc + u64::from(length) - 1) & mask;
        while self.fetched < FETCHED {
            let mut at = self.cycle;
            let done = self.port.fetch_line(if self.fetched == 0 { first } else { last }, &mut at);
            let took = at - std::mem::replace(&mut self.cycle, at);
            done?;
            self.fetched += if first == last { FETCHED } else { 1 };
            if took > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn write_x(&mut self, rd: u8, value: u64) {
        if rd != 0 {
            self.state.x[usize::from(rd)] = value;
        }
    }

    /// What `insn` does; `at` is its cycle and takes what its accesses wait for.
    fn dispatch(&mut self, i: &Insn, next: u64, at: &mut u64) -> Result<Option<Halt>, Halt> {
        for_each_op!(reference, self, i, next, at)
    }

    fn rounding(&self, i: &Insn) -> Result<Rounding, Halt> {
        Rounding::select(i.rm, self.state.frm).ok_or(Halt::Illegal(0))
    }

    fn load(&mut self, i: &Insn, bytes: u32, at: &mut u64) -> Result<u64, Halt> {
        let value = self.port.load(self.x(i.rs1).wrapping_add(i.imm as u64), bytes, at)?;
        self.statistics.loads += 1;
        Ok(value)
    }

    fn store(&mut self, i: &Insn, bytes: u32, value: u64, at: &mut u64) -> Result<(), Halt> {
        self.port.store(self.x(i.rs1).wrapping_add(i.imm as u64), bytes, value, at)?;
        self.statistics.stores += 1;
        Ok(())
    }

    fn atomic(&mut self, i: &Insn, bytes: u32, at: &mut u64, f: fn(u64, u64) -> u64) -> Result<(), Halt> {
        let (address, operand) = (self.x(i.rs1), self.x(i.rs2));
        let sign = |v: u64| if bytes == 4 { v as i32 as u64 } else { v };
        let old = self.port.atomic(address, bytes, at, |memory| f(sign(memory), operand))?;
        self.statistics.loads += 1;
        self.statistics.stores += 1;
        self.write_x(i.rd, sign(old));
        Ok(())
    }

    /// The operations that [`for_each_op!`] leaves to dispatchers.
    fn other(&mut self, i: &Insn, next: u64, at: &mut u64) -> Result<Option<Halt>, Halt> {
        let pc = self.state.pc;
        let mut halt = None;
        let mut target = next;
        match i.op {
            Op::Lui => self.write_x(i.rd, i.imm as u64),
            Op::Auipc => self.write_x(i.rd, pc.wrapping_add(i.imm as u64)),
            Op::Jal | Op::Jalr => target = self.jump(i, next, at),
            Op::Flw => self.state.f[usize::from(i.rd)] = fp::box_s(self.load(i, 4, at)?),
            Op::Fld => self.state.f[usize::from(i.rd)] = self.load(i, 8, at)?,
            Op::Fsw => self.store(i, 4, self.state.f[usize::from(i.rs2)], at)?,
            Op::Fsd => self.store(i, 8, self.state.f[usize::from(i.rs2)], at)?,
            Op::LrW | Op::LrD | Op::ScW | Op::ScD => self.reserved(i, at)?,
            Op::Csrrw | Op::Csrrs | Op::Csrrc | Op::Csrrwi | Op::Csrrsi | Op::Csrrci => self.csr(i)?,
            Op::Fence => self.port.fence(i.imm as u32 >> 4 & 15, at)?,
            Op::FenceI => {
                self.port.fence_instructions(at)?;
                self.blocks.clear();
            }
            Op::CboInval | Op::CboClean | Op::CboFlush => self.cache_block(i, at)?,
            Op::St64b => self.store_64(i, at)?,
            Op::St64bv => self.store_64_answered(i, at)?,
            Op::Nload | Op::Nstore | Op::Remap | Op::Prebind | Op::Withdraw
                if !self.port.has_network_cache() =>
            {
                return Err(Halt::Illegal(0));
            }
            Op::Nload => {
                let value = self.port.network_load(self.x(i.rs1).wrapping_add(i.imm as u64), at)?;
                self.statistics.loads += 1;
                self.write_x(i.rd, value);
            }
            Op::Nstore => {
                self.port.network_store(self.x(i.rs1).wrapping_add(i.imm as u64), self.x(i.rs2), at)?;
                self.statistics.stores += 1;
            }
            Op::Remap => {
                let status = self.port.remap(self.x(i.rs1), self.x(i.rs2), at)?;
                self.write_x(i.rd, status as u64);
            }
            Op::Prebind => {
                // The third operand's halves: room, ordinal. Of the outcome's: the message's number, its length.
                let (bytes, ordinal) = ((self.x(i.rs3) >> 32) as u32, self.x(i.rs3) as u32);
                let name = Name { key: self.x(i.rs1), ordinal };
                let found = self.port.prebind(name, self.x(i.rs2), bytes, at)?;
                self.write_x(i.rd, found.map_or(0, |found| found.id << 32 | u64::from(found.bytes)));
            }
            Op::Withdraw => {
                let is_withdrawn = self.port.withdraw(self.x(i.rs1), self.x(i.rs2), at)?;
                self.write_x(i.rd, u64::from(!is_withdrawn));
            }
            Op::Mark => halt = Some(self.mark(i)),
            Op::Pause => halt = Some(Halt::Pause),
            Op::Ecall => return Err(Halt::Call),
            Op::Ebreak => return Err(Halt::Breakpoint),
            Op::Sret | Op::Uret => target = self.return_by(i.op)?,
            Op::Wfi if self.is_supervisor() && !self.has_interrupt() => return Err(Halt::Idle),
            Op::Wfi if self.is_supervisor() => {}
            Op::SfenceVma if self.is_supervisor() => {
                // The walker reads memory, which buffered stores have yet to reach.
                self.port.fence(order::W, at)?;
                self.fence_translations((i.rs1 != 0).then(|| self.x(i.rs1)));
            }
            _ => return Err(Halt::Illegal(i.imm as u32)),
        }
        self.state.pc = target;
        Ok(halt)
    }

    /// Links to `next`; gives where the jump goes to.
    fn jump(&mut self, i: &Insn, next: u64, at: &mut u64) -> u64 {
        let pc = self.state.pc;
        let (target, cycles) = if i.op == Op::Jal {
            let target = pc.wrapping_add(i.imm as u64);
            (target, self.jumped(pc, target))
        } else {
            let target = self.x(i.rs1).wrapping_add(i.imm as u64) & !1;
            (target, self.jumped_by_register(pc, target))
        };
        self.write_x(i.rd, next);
        *at += cycles;
        target
    }

    /// The eight registers from `first` on.
    fn eight(&self, first: u8) -> [u64; 8] {
        std::array::from_fn(|i| self.x(first + i as u8))
    }

    fn store_64(&mut self, i: &Insn, at: &mut u64) -> Result<(), Halt> {
        self.port.store_64(self.x(i.rs1), self.eight(i.rs2), at)?;
        self.statistics.stores += 1;
        Ok(())
    }

    fn store_64_answered(&mut self, i: &Insn, at: &mut u64) -> Result<(), Halt> {
        let answer = self.port.store_64_answered(self.x(i.rs1), self.eight(i.rs2), at)?;
        self.statistics.stores += 1;
        self.write_x(i.rd, answer);
        Ok(())
    }

    fn mark(&self, i: &Insn) -> Halt {
        let bits = i.imm as u32;
        Halt::Mark { code: bits & 31, call: bits >> 5 & 127, value: self.x(i.rs1) }
    }

    fn reserved(&mut self, i: &Insn, at: &mut u64) -> Result<(), Halt> {
        let (address, value) = (self.x(i.rs1), self.x(i.rs2));
        let result = match i.op {
            Op::LrW => self.port.load_reserved(address, 4, at)? as i32 as u64,
            Op::LrD => self.port.load_reserved(address, 8, at)?,
            Op::ScW => u64::from(!self.port.store_conditional(address, 4, value, at)?),
            _ => u64::from(!self.port.store_conditional(address, 8, value, at)?),
        };
        if matches!(i.op, Op::LrW | Op::LrD) {
            self.statistics.loads += 1;
        } else {
            self.statistics.stores += 1;
        }
        self.write_x(i.rd, result);
        Ok(())
    }

    fn csr(&mut self, i: &Insn) -> Result<(), Halt> {
        let counters =
            Counters { cycle: self.cycle, time: self.time_csr(), instret: self.statistics.instructions };
        let immediate = matches!(i.op, Op::Csrrwi | Op::Csrrsi | Op::Csrrci);
        let source = if immediate { u64::from(i.rs1) } else { self.x(i.rs1) };
        let number = i.imm as u16;
        let old = if csr::is_supervisors(number) {
            self.supervisor_csr(i, number, source)
        } else if handlers::is_handlers(number) {
            self.handler_csr(number, |old| csr::written(i.op, i.rs1, old, source))
        } else {
            csr::execute(&mut self.state, &counters, i.op, number, i.rs1, source)
        };
        let old = old.map_err(|csr::NoAccess| Halt::Illegal(0))?;
        self.write_x(i.rd, old);
        // What a counter shows differs from one iteration of a loop to the next.
        if number >= csr::CYCLE {
            self.port.disturb();
        }
        Ok(())
    }

    fn supervisor_csr(&mut self, i: &Insn, number: u16, source: u64) -> Result<u64, csr::NoAccess> {
        let old = self.read_supervisor(number)?;
        if let Some(value) = csr::written(i.op, i.rs1, old, source) {
            self.write_supervisor(number, value);
        }
        // What is pending may depend on the time.
        if number == SIP {
            self.port.disturb();
        }
        Ok(old)
    }

    fn cache_block(&mut self, i: &Insn, at: &mut u64) -> Result<(), Halt> {
        let operation = match i.op {
            Op::CboInval => BlockOperation::Invalidate,
            Op::CboClean => BlockOperation::Clean,
            _ => BlockOperation::Flush,
        };
        Ok(self.port.block(operation, self.x(i.rs1), at)?)
    }
}

/// The reference dispatcher: one arm for each operation of [`for_each_op!`].
macro_rules! reference {
    ({ $self:ident, $i:ident, $next:ident, $at:ident }
     register { $($r:ident => $rf:path;)* } immediate { $($m:ident => $mf:path;)* }
     branch { $($b:ident => $bf:path;)* } load { $($l:ident => $lt:ty;)* } store { $($s:ident => $st:ty;)* }
     amo_w { $($aw:ident => $awf:path;)* } amo_d { $($ad:ident => $adf:path;)* }
     fp_binary { $($fb:ident => $fbf:path;)* } fp_fused { $($ff:ident => $fff:path;)* }
     fp_unary { $($fu:ident => $fuf:path;)* } fp_min_max { $($fm:ident => $fmf:path;)* }
     fp_sign { $($fs:ident => $fsf:path;)* } fp_compare { $($fc:ident => $fcf:path;)* }
     fp_to_integer { $($fi:ident => $fif:path;)* } fp_from_integer { $($if:ident => $iff:path;)* }
     fp_move_to_integer { $($fx:ident => $fxf:path;)* } fp_move_from_integer { $($xf:ident => $xff:path;)* }
    ) => {{
        let f = |s: &Hart, r: u8| s.state.f[usize::from(r)];
        match $i.op {
            $(Op::$r => $self.write_x($i.rd, $rf($self.x($i.rs1), $self.x($i.rs2))),)*
            $(Op::$m => $self.write_x($i.rd, $mf($self.x($i.rs1), $i.imm as u64)),)*
            $(Op::$b => {
                let taken = $bf($self.x($i.rs1), $self.x($i.rs2));
                let (pc, target) = ($self.state.pc, $self.state.pc.wrapping_add($i.imm as u64));
                *$at += $self.branched(pc, target, taken);
                $self.state.pc = if taken { target } else { $next };
                return Ok(None);
            })*
            $(Op::$l => {
                let value = $self.load($i, size_of::<$lt>() as u32, $at)?;
                $self.write_x($i.rd, extend!(value, $lt));
            })*
            $(Op::$s => $self.store($i, size_of::<$st>() as u32, $self.x($i.rs2), $at)?,)*
            $(Op::$aw => $self.atomic($i, 4, $at, $awf)?,)*
            $(Op::$ad => $self.atomic($i, 8, $at, $adf)?,)*
            $(Op::$fb => {
                let rm = $self.rounding($i)?;
                let (a, b) = (f($self, $i.rs1), f($self, $i.rs2));
                $self.state.f[usize::from($i.rd)] = $fbf(a, b, rm, &mut $self.state.flags);
            })*
            $(Op::$ff => {
                let rm = $self.rounding($i)?;
                let (a, b, c) = (f($self, $i.rs1), f($self, $i.rs2), f($self, $i.rs3));
                $self.state.f[usize::from($i.rd)] = $fff(a, b, c, rm, &mut $self.state.flags);
            })*
            $(Op::$fu => {
                let rm = $self.rounding($i)?;
                let a = f($self, $i.rs1);
                $self.state.f[usize::from($i.rd)] = $fuf(a, rm, &mut $self.state.flags);
            })*
            $(Op::$fm => {
                let (a, b) = (f($self, $i.rs1), f($self, $i.rs2));
                $self.state.f[usize::from($i.rd)] = $fmf(a, b, &mut $self.state.flags);
            })*
            $(Op::$fs => {
                let (a, b) = (f($self, $i.rs1), f($self, $i.rs2));
                $self.state.f[usize::from($i.rd)] = $fsf(a, b);
            })*
            $(Op::$fc => {
                let (a, b) = (f($self, $i.rs1), f($self, $i.rs2));
                let value = $fcf(a, b, &mut $self.state.flags);
                $self.write_x($i.rd, value);
            })*
            $(Op::$fi => {
                let rm = $self.rounding($i)?;
                let a = f($self, $i.rs1);
                let value = $fif(a, rm, &mut $self.state.flags);
                $self.write_x($i.rd, value);
            })*
            $(Op::$if => {
                let rm = $self.rounding($i)?;
                let a = $self.x($i.rs1);
                $self.state.f[usize::from($i.rd)] = $iff(a, rm, &mut $self.state.flags);
            })*
            $(Op::$fx => $self.write_x($i.rd, $fxf(f($self, $i.rs1))),)*
            $(Op::$xf => $self.state.f[usize::from($i.rd)] = $xff($self.x($i.rs1)),)*
            _ => return $self.other($i, $next, $at),
        }
        $self.state.pc = $next;
        Ok(None)
    }};
}
use reference;

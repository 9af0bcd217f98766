//! The fast loop: runs pre-decoded blocks.
//!
//! Invariant: whatever it does, [`Hart::step`] repeated would have done, to the cycle. Entries of a block
//! whose accesses hit need no look at the clock: their times are sums known at decoding. An access that
//! takes longer moves the block's base; an access that must wait leaves the block at its instruction.

use std::cell::Cell;

use chasqui_engine::Time;
use chasqui_memory::{Bus, Stop};

use crate::block::{Block, Code, Micro};
use crate::blocks::Resume;
use crate::for_each_op;
use crate::fp::{self, Rounding};
use crate::hart::{FETCHED, Halt, Hart};
use crate::step::extend;

/// Instructions that one run executes in a call that takes no time: a matter of a millisecond.
const UNTIMED_RUN: u64 = 1 << 16;

/// How a run through one block ended.
enum Exit {
    /// Go on with this block.
    Chain(*const Block),
    /// Look up the block at `pc`.
    Lookup,
    /// Execute one instruction by reference, then look up.
    Rare,
    /// Stop.
    Halt(Halt),
}

impl Hart {
    /// Executes every instruction that starts before cycle `soft`, and perhaps some that start before
    /// `deadline`, unless something halts it. Instructions that take no time never come to a deadline: of
    /// those it executes 65,536 or a few more, so that its caller keeps hold of it.
    pub fn run(&mut self, soft: u64, deadline: u64) -> Halt {
        debug_assert!(soft <= deadline);
        self.blocks.begin();
        self.untimed_last = self.statistics.instructions + UNTIMED_RUN;
        while self.fetched > 0 && self.cycle < soft {
            if self.holds_code() {
                self.fetched = 0;
            } else if let Some(halt) = self.step() {
                return halt;
            }
        }
        loop {
            if self.cycle >= soft {
                return Halt::Deadline;
            }
            let Some((mut block, mut index)) = self.resume().or_else(|| Some((self.block()?, 0))) else {
                return self.step().unwrap_or(Halt::Deadline);
            };
            let exit = loop {
                match self.enter(block, index, deadline) {
                    Exit::Chain(next) if self.cycle < soft => (block, index) = (next, 0),
                    Exit::Chain(next) => {
                        self.stand_before(next);
                        return Halt::Deadline;
                    }
                    exit => break exit,
                }
            };
            match exit {
                Exit::Halt(halt) => return halt,
                Exit::Rare if self.cycle < soft => {
                    if let Some(halt) = self.step() {
                        return halt;
                    }
                }
                _ => {}
            }
        }
    }

    /// [`Hart::run`] while the hart has `bus` for itself: see [`Port::lend_bus`].
    pub fn run_with_bus(
        &mut self,
        bus: &mut Bus,
        before: Time,
        dram_bytes: u64,
        soft: u64,
        deadline: u64,
    ) -> Halt {
        // SAFETY: `bus` is borrowed until it is taken back.
        unsafe { self.port.lend_bus(bus, self.cycles, before, dram_bytes) };
        let halt = self.run(soft, deadline);
        self.port.take_back_bus();
        halt
    }

    /// The lines of the instruction at `pc` can be fetched in no time.
    fn holds_code(&mut self) -> bool {
        let mask = !(self.port.fetch_line_bytes() - 1);
        let pc = self.state.pc;
        self.port.holds_code(pc & mask) && self.port.holds_code((pc + 3) & mask)
    }

    /// Where the hart was when it left a block, if it can go on there: it has not been moved, and its code
    /// need not be fetched again.
    fn resume(&mut self) -> Option<(*const Block, usize)> {
        let place = self.blocks.resume.take()?;
        let holds = place.pc == self.state.pc && (!self.port.is_timed() || self.holds_code());
        holds.then_some((place.block, place.index))
    }

    /// The next instruction is the first of `block`.
    fn stand_before(&mut self, block: *const Block) {
        // SAFETY: blocks live until the next run.
        self.state.pc = unsafe { &*block }.pc;
        self.blocks.resume = Some(Resume { block, index: 0, pc: self.state.pc });
    }

    /// Lines that the instruction at `pc` lies in before `line`.
    #[cold]
    fn lines_before(&self, line: u64) -> u8 {
        u8::from(self.state.pc & !(self.port.fetch_line_bytes() - 1) != line)
    }

    /// The block at `pc`; `None` if the code there can't be read.
    fn block(&mut self) -> Option<*const Block> {
        let pc = self.state.pc;
        match self.blocks.find(pc) {
            Some(block) => Some(block),
            None => self.blocks.build(pc, &mut self.port, &self.timing),
        }
    }

    /// Runs `block` from entry `index` on as far as the deadline lets it.
    #[inline(always)]
    fn enter(&mut self, block: *const Block, index: usize, deadline: u64) -> Exit {
        // SAFETY: blocks live until the next run.
        let b = unsafe { &*block };
        if self.port.is_timed() {
            if self.cycle + b.cycles > deadline {
                return self.enter_short(b, index, deadline);
            }
            self.execute::<true>(b, index, deadline)
        } else if self.statistics.instructions < self.untimed_last {
            self.execute::<false>(b, index, deadline)
        } else {
            self.state.pc = b.address(index);
            Exit::Halt(Halt::Deadline)
        }
    }

    /// Runs the part of `b` from entry `index` on that starts before the deadline.
    #[cold]
    fn enter_short(&mut self, b: &Block, index: usize, deadline: u64) -> Exit {
        debug_assert!(self.cycle < deadline);
        match b.cut(deadline - self.cycle + b.start(index)) {
            Some(cut) => {
                let exit = self.execute::<true>(b, index, deadline);
                b.mend(cut);
                exit
            }
            None => self.execute::<true>(b, index, deadline),
        }
    }

    /// Leaves `b` at entry `index`, whose instruction is not executed, at cycle `at`.
    #[cold]
    fn leave(&mut self, b: &Block, index: usize, at: u64, halt: Halt) -> Exit {
        let rest = b.places[index].rest;
        self.statistics.instructions -= u64::from(rest.instructions);
        self.statistics.loads -= u64::from(rest.loads);
        self.statistics.stores -= u64::from(rest.stores);
        self.state.pc = b.address(index);
        self.blocks.resume = Some(Resume { block: b, index, pc: self.state.pc });
        self.cycle = at;
        Exit::Halt(halt)
    }

    /// Leaves `b` after entry `index`, at cycle `at`: the bus is wanted, or the deadline may be near.
    #[cold]
    fn leave_after(&mut self, b: &Block, index: usize, at: u64) -> Exit {
        let exit = self.leave(b, index + 1, at, Halt::Bus);
        if self.port.wants_bus() { exit } else { Exit::Lookup }
    }

    /// After an access that was not a plain hit: leave before entry `index` if the bus is wanted or the
    /// deadline may now be within the block.
    #[inline(always)]
    fn must_leave(&self, b: &Block, now: u64, deadline: u64) -> bool {
        self.port.wants_bus() || now.wrapping_add(b.cycles) > deadline
    }

    #[cold]
    #[inline(never)]
    fn slow_load(&mut self, va: u64, bytes: u32, at: &mut u64) -> Result<u64, Stop> {
        self.port.load(va, bytes, at)
    }

    #[cold]
    #[inline(never)]
    fn slow_store(&mut self, va: u64, bytes: u32, value: u64, at: &mut u64) -> Result<(), Stop> {
        self.port.store(va, bytes, value, at)
    }

    #[inline(always)]
    fn execute<const TIMED: bool>(&mut self, b: &Block, index: usize, deadline: u64) -> Exit {
        let counts = if index == 0 { b.counts } else { b.places[index].rest };
        self.statistics.instructions += u64::from(counts.instructions);
        self.statistics.loads += u64::from(counts.loads);
        self.statistics.stores += u64::from(counts.stores);
        let view = self.port.view();
        // When the block would have begun.
        let mut now = if TIMED { self.cycle.wrapping_sub(b.start(index)) } else { self.cycle };
        let first = b.first();
        // SAFETY: `index` is an entry's.
        let mut ip = unsafe { first.add(index) };
        loop {
            // SAFETY: a block ends with an entry that leaves the loop.
            let m = unsafe { &*ip };
            // SAFETY: as above; the next entry is read only if this one does not leave.
            ip = unsafe { ip.add(1) };
            for_each_op!(fast, self, b, m, ip, now, view, first, deadline, TIMED);
        }
    }

    #[inline(always)]
    pub(crate) fn x(&self, r: u8) -> u64 {
        debug_assert!(r < 33);
        // SAFETY: decoding gives register numbers below 32, or `SINK`.
        unsafe { *self.state.x.get_unchecked(usize::from(r)) }
    }

    #[inline(always)]
    fn set_x(&mut self, r: u8, value: u64) {
        debug_assert!((1..33).contains(&r));
        // SAFETY: as in `x`.
        unsafe { *self.state.x.get_unchecked_mut(usize::from(r)) = value }
    }

    #[inline(always)]
    fn f(&self, r: u8) -> u64 {
        debug_assert!(r < 32);
        // SAFETY: decoding gives register numbers below 32.
        unsafe { *self.state.f.get_unchecked(usize::from(r)) }
    }

    #[inline(always)]
    fn set_f(&mut self, r: u8, value: u64) {
        debug_assert!(r < 32);
        // SAFETY: as in `f`.
        unsafe { *self.state.f.get_unchecked_mut(usize::from(r)) = value }
    }

    /// The block at `target`, remembered in `link`.
    #[inline(always)]
    fn follow(&mut self, from: &Block, link: &Cell<*const Block>, target: u64) -> Exit {
        let next = link.get();
        if next.is_null() { self.link(from, link, target) } else { Exit::Chain(next) }
    }

    /// The next instruction is the first after `b`.
    fn stand_after(&mut self, b: &Block) {
        self.state.pc = b.end;
        if let Exit::Chain(next) = self.follow(b, &b.next, b.end) {
            self.stand_before(next);
        }
    }

    #[cold]
    #[inline(never)]
    fn link(&mut self, from: &Block, link: &Cell<*const Block>, target: u64) -> Exit {
        self.state.pc = target;
        match self.block() {
            Some(next) => {
                if self.blocks.may_link(from.pc, target) {
                    link.set(next);
                }
                Exit::Chain(next)
            }
            None => Exit::Lookup,
        }
    }
}

/// Index of the entry before `ip`.
#[inline(always)]
fn index(first: *const Micro, ip: *const Micro) -> usize {
    // SAFETY: both point into one block.
    unsafe { ip.offset_from(first) as usize - 1 }
}

/// The fast dispatcher: one arm for each code of a block.
macro_rules! fast {
    ({ $s:ident, $b:ident, $m:ident, $ip:ident, $now:ident, $view:ident, $first:ident, $deadline:ident, $timed:ident }
     register { $($r:ident => $rf:path;)* } immediate { $($i:ident => $mf:path;)* }
     branch { $($br:ident => $bf:path;)* } load { $($l:ident => $lt:ty;)* } store { $($st:ident => $stt:ty;)* }
     amo_w { $($aw:ident => $awf:path;)* } amo_d { $($ad:ident => $adf:path;)* }
     fp_binary { $($fb:ident => $fbf:path;)* } fp_fused { $($ff:ident => $fff:path;)* }
     fp_unary { $($fu:ident => $fuf:path;)* } fp_min_max { $($fm:ident => $fmf:path;)* }
     fp_sign { $($fs:ident => $fsf:path;)* } fp_compare { $($fc:ident => $fcf:path;)* }
     fp_to_integer { $($fi:ident => $fif:path;)* } fp_from_integer { $($if:ident => $iff:path;)* }
     fp_move_to_integer { $($fx:ident => $fxf:path;)* } fp_move_from_integer { $($xf:ident => $xff:path;)* }
    ) => {{
        // Set by a load that was not a plain hit: when it ended.
        let mut slow_loaded: Option<u64> = None;
        /// Cycle at which this entry starts.
        macro_rules! at { () => { if $timed { $now.wrapping_add(u64::from($m.start)) } else { $now } } }
        /// Leaves at this entry.
        macro_rules! stop {
            ($at:expr, $halt:expr) => { return $s.leave($b, index($first, $ip), $at, $halt) };
        }
        /// Leaves at this entry, whose access did not succeed.
        macro_rules! wait {
            ($at:expr, $stop:expr) => {{
                $s.fetched = if $timed && matches!($stop, Stop::Wait(_)) { FETCHED } else { 0 };
                stop!($at, $stop.into())
            }};
        }
        /// Ends an access that took until `$at` instead of no time.
        macro_rules! took {
            ($at:expr) => {
                if $timed {
                    $now = $now.wrapping_add($at - at!());
                    if $s.must_leave($b, $now, $deadline) {
                        // SAFETY: an access is never the last entry.
                        let next = unsafe { &*$ip };
                        let at = $now.wrapping_add(u64::from(next.start));
                        return $s.leave_after($b, index($first, $ip), at);
                    }
                } else if $s.port.wants_bus() {
                    return $s.leave($b, index($first, $ip) + 1, $now, Halt::Bus);
                }
            };
        }
        macro_rules! load {
            ($bytes:expr) => {{
                let va = $s.x($m.rs1).wrapping_add($m.imm as u64);
                // SAFETY: the view is of this hart's port, which nothing else holds.
                match unsafe { $view.load::<{ $bytes }>(va) } {
                    Some(value) => value,
                    None => {
                        let mut at = at!();
                        match $s.slow_load(va, $bytes as u32, &mut at) {
                            Ok(value) => {
                                // The register is written before leaving: the load is done.
                                slow_loaded = Some(at);
                                value
                            }
                            Err(stop) => wait!(at, stop),
                        }
                    }
                }
            }};
        }
        macro_rules! store {
            ($bytes:expr, $value:expr) => {{
                let va = $s.x($m.rs1).wrapping_add($m.imm as u64);
                let value = $value;
                // SAFETY: as in `load`.
                if !unsafe { $view.store::<{ $bytes }>(va, value) } {
                    let mut at = at!();
                    match $s.slow_store(va, $bytes as u32, value, &mut at) {
                        Ok(()) => took!(at),
                        Err(stop) => wait!(at, stop),
                    }
                }
            }};
        }
        macro_rules! finish_load { () => { if let Some(at) = slow_loaded { took!(at) } } }
        macro_rules! rounding {
            () => {
                match Rounding::select($m.rm, $s.state.frm) {
                    Some(rm) => rm,
                    None => stop!(at!(), Halt::Illegal(0)),
                }
            };
        }
        /// Ends the block.
        macro_rules! end {
            ($extra:expr) => { if $timed { $s.cycle = $now.wrapping_add($b.cycles) + $extra } else { $s.cycle = $now } };
        }
        match $m.code {
            $(Code::$r => $s.set_x($m.rd, $rf($s.x($m.rs1), $s.x($m.rs2))),)*
            $(Code::$i => $s.set_x($m.rd, $mf($s.x($m.rs1), $m.imm as u64)),)*
            $(Code::$br => {
                if $bf($s.x($m.rs1), $s.x($m.rs2)) {
                    end!(u64::from($m.rs3));
                    $s.statistics.mispredicted += u64::from($m.rd == 0);
                    return $s.follow($b, &$b.taken, $m.imm as u64);
                }
                end!(u64::from($m.rm));
                $s.statistics.mispredicted += u64::from($m.rd != 0);
                return $s.follow($b, &$b.next, $b.end);
            })*
            $(Code::$l => {
                let value = load!(size_of::<$lt>());
                $s.set_x($m.rd, extend!(value, $lt));
                finish_load!();
            })*
            $(Code::$st => store!(size_of::<$stt>(), $s.x($m.rs2)),)*
            $(Code::$fb => {
                let rm = rounding!();
                let value = $fbf($s.f($m.rs1), $s.f($m.rs2), rm, &mut $s.state.flags);
                $s.set_f($m.rd, value);
            })*
            $(Code::$ff => {
                let rm = rounding!();
                let value = $fff($s.f($m.rs1), $s.f($m.rs2), $s.f($m.rs3), rm, &mut $s.state.flags);
                $s.set_f($m.rd, value);
            })*
            $(Code::$fu => {
                let rm = rounding!();
                let value = $fuf($s.f($m.rs1), rm, &mut $s.state.flags);
                $s.set_f($m.rd, value);
            })*
            $(Code::$fm => {
                let value = $fmf($s.f($m.rs1), $s.f($m.rs2), &mut $s.state.flags);
                $s.set_f($m.rd, value);
            })*
            $(Code::$fs => $s.set_f($m.rd, $fsf($s.f($m.rs1), $s.f($m.rs2))),)*
            $(Code::$fc => {
                let value = $fcf($s.f($m.rs1), $s.f($m.rs2), &mut $s.state.flags);
                $s.set_x($m.rd, value);
            })*
            $(Code::$fi => {
                let rm = rounding!();
                let value = $fif($s.f($m.rs1), rm, &mut $s.state.flags);
                $s.set_x($m.rd, value);
            })*
            $(Code::$if => {
                let rm = rounding!();
                let value = $iff($s.x($m.rs1), rm, &mut $s.state.flags);
                $s.set_f($m.rd, value);
            })*
            $(Code::$fx => $s.set_x($m.rd, $fxf($s.f($m.rs1))),)*
            $(Code::$xf => $s.set_f($m.rd, $xff($s.x($m.rs1))),)*
            Code::Flw => {
                let value = load!(4usize);
                $s.set_f($m.rd, fp::box_s(value));
                finish_load!();
            }
            Code::Fld => {
                let value = load!(8usize);
                $s.set_f($m.rd, value);
                finish_load!();
            }
            Code::Fsw => store!(4usize, $s.f($m.rs2)),
            Code::Fsd => store!(8usize, $s.f($m.rs2)),
            Code::Fetch => {
                if $timed {
                    let mut at = at!();
                    let line = $m.imm as u64;
                    match $s.port.fetch_line(line, &mut at) {
                        Ok(()) if at == at!() => {}
                        Ok(()) => {
                            $now = $now.wrapping_add(at - at!());
                            if $s.must_leave($b, $now, $deadline) {
                                let exit = $s.leave($b, index($first, $ip), at, Halt::Bus);
                                // SAFETY: a fetch is never the last entry.
                                let more = unsafe { (*$ip).code } == Code::Fetch;
                                $s.fetched = if more { 1 } else { FETCHED };
                                return exit;
                            }
                        }
                        Err(stop) => {
                            let exit = $s.leave($b, index($first, $ip), at, stop.into());
                            $s.fetched = $s.lines_before(line);
                            return exit;
                        }
                    }
                }
            }
            Code::Constant => $s.set_x($m.rd, $m.imm as u64),
            Code::Jal => {
                $s.set_x($m.rd, $b.end);
                end!(0);
                return $s.follow($b, &$b.taken, $m.imm as u64);
            }
            Code::Jalr => {
                let target = $s.x($m.rs1).wrapping_add($m.imm as u64) & !1;
                $s.set_x($m.rd, $b.end);
                end!(0);
                $s.state.pc = target;
                return match $s.blocks.find(target) {
                    Some(next) => Exit::Chain(next),
                    None => Exit::Lookup,
                };
            }
            Code::End => {
                end!(0);
                return $s.follow($b, &$b.next, $b.end);
            }
            Code::Leave => stop!(at!(), Halt::Deadline),
            Code::Rare => {
                end!(0);
                $s.state.pc = $b.end;
                return Exit::Rare;
            }
            Code::Mark => {
                // A mark takes no time, so that the block may have ended before it began.
                if $timed && at!() >= $deadline {
                    stop!(at!(), Halt::Deadline);
                }
                end!(0);
                $s.stand_after($b);
                let bits = $m.imm as u32;
                return Exit::Halt(Halt::Mark { code: bits & 31, call: bits >> 5 & 127, value: $s.x($m.rs1) });
            }
            Code::Pause => {
                end!(0);
                $s.stand_after($b);
                return Exit::Halt(Halt::Pause);
            }
        }
    }};
}
use fast;

//! Threaded code: a function for each code of a block, which ends by calling that of the next entry
//! (J. R. Bell, "Threaded code", Communications of the ACM 16, 1973).
//!
//! These calls are the last thing that a function does and all have the same parameters, so that the
//! compiler makes them jumps: each function has an indirect jump of its own, which the host predicts by what
//! came before, and what they pass on stays in registers. Should they remain calls, each entry takes a stack
//! frame until the chain returns, after [`CHAIN_MAX`] blocks at the latest, or, with translated code among them, after as
//! many chains as are executed in one go. What takes long is apart and marked cold, so that the rest needs no stack.

use std::cell::Cell;

use chasqui_memory::{FastView, FetchView};

use crate::block::{Block, Code, Counts, Cut, Micro};
use crate::for_each_op;
use crate::fp::{self, Rounding};
use crate::hart::{FETCHED, Halt, Hart};
use crate::run::{Exit, Marks, Next};
use crate::step::extend;

/// What the functions share.
pub(crate) struct Frame<'a> {
    pub block: &'a Block,
    pub view: FastView,
    /// The table of instruction lines, which translated code reads.
    pub fetch: FetchView,
    /// The receiver of marks.
    pub marks: &'a mut dyn Marks,
    /// No block need be begun at this cycle or later.
    pub soft: u64,
    /// No instruction may start at this cycle or later, before what is due then has happened.
    pub deadline: u64,
    /// The same two, had the hart no transactions that it deals with itself.
    pub last: (u64, u64),
    /// Translated code begins no block at this cycle or later.
    pub limit: u64,
    /// Cycles of the longest block of the region that it executes.
    pub longest: u64,
    /// Further blocks that it may begin.
    pub budget: u64,
    /// The entry of the block that was replaced, for the hart to stop there.
    pub cut: Option<Cut>,
    /// What the blocks had that were begun.
    pub executed: Counts,
    /// So many more may be begun without a return.
    pub left: u32,
    /// Returns so far: at [`CHAINS_MAX`](crate::run::CHAINS_MAX) there are none further.
    pub chains: u32,
}

impl<'a> Frame<'a> {
    /// Of a hart that begins `block` when nothing is due; `last`: its deadlines.
    pub fn new(
        h: &mut Hart,
        block: &'a Block,
        view: FastView,
        marks: &'a mut dyn Marks,
        last: (u64, u64),
    ) -> Self {
        let (executed, fetch) = (Counts::default(), h.port.fetch_view());
        let (soft, deadline, limit, longest, budget) = (0, 0, 0, 0, 0);
        let mut frame = Frame {
            block,
            view,
            fetch,
            marks,
            soft,
            deadline,
            limit,
            longest,
            budget,
            last,
            cut: None,
            executed,
            left: 0,
            chains: 0,
        };
        frame.renew(h);
        frame
    }

    /// What is due next may be something else.
    pub fn renew(&mut self, h: &Hart) {
        let due = h.port.due_cycle();
        (self.soft, self.deadline) = (self.last.0.min(due), self.last.1.min(due));
    }

    /// Before `limit` any block of a region may begin: it is not late, as [`follow`] has it. That may be less than what is
    /// allowed, since threaded code then looks again.
    fn renew_limit(&mut self) {
        self.limit = self.soft.min(self.deadline.saturating_add(1).saturating_sub(self.longest));
    }

    /// The block is whole again.
    #[inline]
    pub fn mend(&mut self) {
        if let Some(cut) = self.cut.take() {
            self.block.mend(cut);
        }
    }

    /// If the deadline is within the block from entry `index` on, which starts at `at`, the hart stops there.
    pub fn cut(&mut self, index: usize, at: u64) {
        let (b, start) = (self.block, self.block.start(index));
        if at.wrapping_sub(start).wrapping_add(b.cycles) > self.deadline {
            self.cut = b.cut(index, start + self.deadline.saturating_sub(at));
        }
    }
}

/// Blocks that may follow the first without a return: few enough for the stack, were there no jumps.
pub(crate) const CHAIN_MAX: u32 = 127;

/// A place in a block, never past its last entry, which leaves it; and the cycle at which the block would
/// have begun, were all accesses hits. (Two words, which functions pass in registers.)
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Place {
    entry: *const Micro,
    begun: u64,
}

impl Place {
    #[inline(always)]
    fn micro<'a>(self) -> &'a Micro {
        // SAFETY: an entry of a block that is being executed.
        unsafe { &*self.entry }
    }

    /// The next entry; only of an entry that does not leave the block.
    #[inline(always)]
    fn after(self) -> Place {
        // SAFETY: a block ends with an entry that leaves it.
        Place { entry: unsafe { self.entry.add(1) }, ..self }
    }

    fn index(self, b: &Block) -> usize {
        // SAFETY: both point into one block.
        unsafe { self.entry.offset_from(b.first()) as usize }
    }

    /// Cycle at which the entry starts.
    #[inline(always)]
    fn at<const TIMED: bool>(self) -> u64 {
        if TIMED { self.begun.wrapping_add(u64::from(self.micro().start)) } else { self.begun }
    }

    /// The same place, after an access of the entry that took until cycle `done` instead of no time.
    fn moved<const TIMED: bool>(self, done: u64) -> Place {
        Place { begun: self.begun.wrapping_add(done - self.at::<TIMED>()), ..self }
    }

    /// The virtual address that the entry accesses.
    #[inline(always)]
    fn address(self, h: &Hart) -> u64 {
        let m = self.micro();
        h.x(m.rs1).wrapping_add(m.imm as u64)
    }
}

/// Executes the entry at a place and those after it.
type Handler = fn(&mut Hart, &mut Frame<'_>, Place) -> Next;

/// Executes the block of `f` from entry `index` on.
#[inline(always)]
pub(crate) fn enter<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, index: usize, now: u64) -> Next {
    debug_assert!(index < f.block.places.len());
    // SAFETY: `index` is an entry's.
    let entry = unsafe { f.block.first().add(index) };
    go(h, f, Place { entry, begun: now }, Table::<TIMED>::HANDLERS)
}

#[inline(always)]
fn next<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
    go(h, f, p.after(), Table::<TIMED>::HANDLERS)
}

#[inline(always)]
fn go(h: &mut Hart, f: &mut Frame<'_>, p: Place, handlers: &[Handler; 256]) -> Next {
    handlers[p.micro().code as usize](h, f, p)
}

/// The block ends, `extra` cycles later than its entries say.
#[inline(always)]
fn end<const TIMED: bool>(h: &mut Hart, f: &Frame<'_>, p: Place, extra: u64) {
    h.cycle = if TIMED { p.begun.wrapping_add(f.block.cycles) + extra } else { p.begun };
}

/// Leaves at this entry.
#[cold]
fn stop<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place, halt: Halt) -> Next {
    h.leave(f.block, p.index(f.block), p.at::<TIMED>(), halt)
}

/// Leaves at this entry, whose access did not succeed until cycle `at`.
#[cold]
#[inline(never)]
fn wait<const TIMED: bool>(h: &mut Hart, f: &Frame<'_>, p: Place, at: u64, halt: Halt) -> Next {
    h.begun = TIMED && matches!(halt, Halt::Wait(_) | Halt::Bus);
    h.fetched = if h.begun { FETCHED } else { 0 };
    h.leave(f.block, p.index(f.block), at, halt)
}

/// Where to go on after the access of the entry at `p`, which took until cycle `done` instead of no time; `waited`: by
/// waiting for the port. `None`: it leaves.
#[inline(always)]
fn took<const TIMED: bool>(
    h: &mut Hart,
    f: &mut Frame<'_>,
    p: Place,
    done: u64,
    waited: bool,
) -> Option<Place> {
    let p = p.moved::<TIMED>(done);
    if TIMED {
        let is_late = p.begun.wrapping_add(f.block.cycles) > f.deadline || f.cut.is_some();
        if waited || is_late || h.port.has_changed() {
            return look::<TIMED>(h, f, p);
        }
    } else if h.port.wants_bus() {
        h.leave(f.block, p.index(f.block) + 1, p.begun, Halt::Bus);
        return None;
    }
    Some(p.after())
}

/// Where to go on after the access of the entry at `p`: the deadline may be within the block, or the bus is wanted, or code has left
/// its cache.
#[cold]
#[inline(never)]
fn look<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Option<Place> {
    let lost_code = h.port.take_lost_code();
    if h.port.wants_bus() && !h.port.take_own() || lost_code {
        h.leave_after(f.block, p.index(f.block), p.after().at::<TIMED>());
        return None;
    }
    f.mend();
    f.renew(h);
    f.cut(p.index(f.block) + 1, p.after().at::<TIMED>());
    Some(p.after())
}

/// The entry at `p` starts at or after the deadline. What is due before it happens; then the hart goes on, or leaves.
#[cold]
#[inline(never)]
fn come_due(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Option<Next> {
    let (index, at) = (p.index(f.block), p.at::<true>());
    if at >= f.last.1 || !h.port.pass_events(at) {
        return Some(stop::<true>(h, f, p, Halt::Deadline));
    }
    if h.port.take_lost_code() {
        // It may be the block's.
        h.leave(f.block, index, at, Halt::Bus);
        return Some(h.leave_for(Exit::Lookup));
    }
    f.renew(h);
    f.cut(index, at);
    None
}

/// Writes a loaded value to a register.
type Put = fn(&mut Hart, u8, u64);

/// A load that is not a plain hit. Where to go on; `None`: it leaves.
#[inline(always)]
fn missed_load<const TIMED: bool, const BYTES: usize>(
    h: &mut Hart,
    f: &mut Frame<'_>,
    p: Place,
    put: Put,
) -> Option<Place> {
    let (mut done, mut waited) = (p.at::<TIMED>(), false);
    h.course.started = done;
    loop {
        match h.port.load(p.address(h), BYTES as u32, &mut done) {
            Ok(value) => {
                put(h, p.micro().rd, value);
                return took::<TIMED>(h, f, p, done, waited);
            }
            Err(stop) => {
                if let Some(halt) = h.outwait(stop, &mut done) {
                    wait::<TIMED>(h, f, p, done, halt);
                    return None;
                }
                waited = true;
            }
        }
    }
}

/// Goes on at `place`, or leaves.
#[inline(always)]
fn resume<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, place: Option<Place>) -> Next {
    match place {
        Some(p) => go(h, f, p, Table::<TIMED>::HANDLERS),
        None => std::ptr::null(),
    }
}

#[cold]
#[inline(never)]
fn slow_load<const TIMED: bool, const BYTES: usize>(
    h: &mut Hart,
    f: &mut Frame<'_>,
    p: Place,
    put: Put,
) -> Next {
    let place = missed_load::<TIMED, BYTES>(h, f, p, put);
    resume::<TIMED>(h, f, place)
}

#[inline(always)]
fn load<const TIMED: bool, const BYTES: usize>(h: &mut Hart, f: &mut Frame<'_>, p: Place, put: Put) -> Next {
    // SAFETY: the view is of this hart's port, which nothing else holds.
    match unsafe { f.view.load::<BYTES>(p.address(h)) } {
        Some(value) => {
            put(h, p.micro().rd, value);
            next::<TIMED>(h, f, p)
        }
        None => slow_load::<TIMED, BYTES>(h, f, p, put),
    }
}

/// A store that is not a plain hit. Where to go on; `None`: it leaves.
#[inline(always)]
fn missed_store<const TIMED: bool, const BYTES: usize>(
    h: &mut Hart,
    f: &mut Frame<'_>,
    p: Place,
    value: u64,
) -> Option<Place> {
    let (mut done, mut waited) = (p.at::<TIMED>(), false);
    h.course.started = done;
    loop {
        match h.port.store(p.address(h), BYTES as u32, value, &mut done) {
            Ok(()) => {
                h.port.refresh(&mut f.view);
                return took::<TIMED>(h, f, p, done, waited);
            }
            Err(stop) => {
                if let Some(halt) = h.outwait(stop, &mut done) {
                    wait::<TIMED>(h, f, p, done, halt);
                    return None;
                }
                waited = true;
            }
        }
    }
}

#[cold]
#[inline(never)]
fn slow_store<const TIMED: bool, const BYTES: usize>(
    h: &mut Hart,
    f: &mut Frame<'_>,
    p: Place,
    value: u64,
) -> Next {
    let place = missed_store::<TIMED, BYTES>(h, f, p, value);
    resume::<TIMED>(h, f, place)
}

/// Has an access made that is not a plain hit, for translated code, which has left the registers in their places. Gives
/// where threaded code is to go on; without an entry: translated code goes on, with the block's begin that it gives.
pub(crate) type Missed = unsafe extern "C" fn(&mut Hart, &mut Frame<'static>, Place) -> Place;

/// A region's function: executes from its block number `number` on, which begins at cycle `begun`, until it leaves. Gives the
/// place where threaded code goes on, of the block that is then the frame's.
pub(crate) type Translated =
    unsafe extern "C" fn(hart: *mut Hart, frame: *mut Frame<'static>, begun: u64, number: u64) -> Place;

/// What a missed access comes to.
#[inline(always)]
fn after_miss(f: &mut Frame<'_>, place: Option<Place>) -> Place {
    f.renew_limit();
    static LEFT: Micro = Micro { code: Code::Left, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, start: 0, imm: 0 };
    match place {
        // A block that is cut is for threaded code.
        Some(place) if f.cut.is_some() => place,
        Some(place) => Place { entry: std::ptr::null(), ..place },
        None => Place { entry: &LEFT, begun: 0 },
    }
}

#[inline(always)]
fn store<const TIMED: bool, const BYTES: usize>(
    h: &mut Hart,
    f: &mut Frame<'_>,
    p: Place,
    value: u64,
) -> Next {
    // SAFETY: as in `load`.
    if unsafe { f.view.store::<BYTES>(p.address(h), value) } {
        next::<TIMED>(h, f, p)
    } else {
        slow_store::<TIMED, BYTES>(h, f, p, value)
    }
}

/// Goes on with the block at `target`, which `link` remembers, or returns it.
#[inline(always)]
fn follow<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, link: &Cell<Next>, target: u64) -> Next {
    let to = link.get();
    if to.is_null() {
        return h.link(f.block, link, target);
    }
    begin::<TIMED>(h, f, to)
}

/// Goes on with the block `to`, or returns it.
#[inline(always)]
fn begin<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, to: Next) -> Next {
    // SAFETY: blocks live until the next run.
    let block = unsafe { &*to };
    let late = TIMED && (h.cycle >= f.soft || h.cycle + block.cycles > f.deadline);
    if late || f.left == 0 {
        return to;
    }
    f.left -= 1;
    f.block = block;
    f.executed.add(block.counts);
    enter::<TIMED>(h, f, 0, h.cycle)
}

#[inline(always)]
fn branch<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place, taken: bool) -> Next {
    let (m, b) = (p.micro(), f.block);
    if taken {
        end::<TIMED>(h, f, p, u64::from(m.rs3));
        h.statistics.mispredicted += u64::from(m.rd == 0);
        follow::<TIMED>(h, f, &b.taken, m.imm as u64)
    } else {
        end::<TIMED>(h, f, p, u64::from(m.rm));
        h.statistics.mispredicted += u64::from(m.rd != 0);
        follow::<TIMED>(h, f, &b.next, b.end)
    }
}

#[inline(always)]
fn jump_register<const TIMED: bool>(
    h: &mut Hart,
    f: &mut Frame<'_>,
    p: Place,
    target: u64,
    extra: u64,
) -> Next {
    h.set_x(p.micro().rd, f.block.end);
    end::<TIMED>(h, f, p, extra);
    h.state.pc = target;
    match h.blocks.find(target) {
        Some(next) => begin::<TIMED>(h, f, next),
        None => h.leave_for(Exit::Lookup),
    }
}

/// The functions of the codes that an operation does not name.
#[allow(non_snake_case, reason = "they are called like their codes")]
mod own {
    use super::*;

    pub fn Fetch<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        if !TIMED || h.port.fetches(p.micro().imm as u64) {
            return next::<TIMED>(h, f, p);
        }
        fetch(h, f, p)
    }

    #[cold]
    #[inline(never)]
    fn fetch(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let b = f.block;
        let line = p.micro().imm as u64;
        let mut done = p.at::<true>();
        h.course.started = done;
        while let Err(stop) = h.port.fetch_line(line, &mut done) {
            if let Some(halt) = h.outwait(stop, &mut done) {
                let next = h.leave(b, p.index(b), done, halt);
                let begun = matches!(halt, Halt::Wait(_) | Halt::Bus);
                let fetched = if h.course.is_ahead { 0 } else { h.lines_before(line) };
                (h.fetched, h.begun) = (fetched, begun);
                return next;
            }
        }
        let p = p.moved::<true>(done);
        // What is due until now happens before the instruction starts, which has been fetched.
        let leaves = h.port.wants_bus() && !h.port.take_own() || h.port.take_lost_code();
        if leaves || done >= f.last.1 || !h.port.pass_events(done) || h.port.take_lost_code() {
            let more = p.after().micro().code == Code::Fetch;
            let next = h.leave(b, p.index(b), done, Halt::Bus);
            (h.fetched, h.begun) = (if more { 1 } else { FETCHED }, true);
            return next;
        }
        f.mend();
        f.renew(h);
        f.cut(p.index(b) + 1, done);
        next::<true>(h, f, p)
    }

    pub fn End<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        end::<TIMED>(h, f, p, 0);
        follow::<TIMED>(h, f, &f.block.next, f.block.end)
    }

    pub fn Leave<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        debug_assert!(TIMED, "without time there is no deadline");
        f.mend();
        come_due(h, f, p).unwrap_or_else(|| go(h, f, p, Table::<TIMED>::HANDLERS))
    }

    pub fn Rare<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        end::<TIMED>(h, f, p, 0);
        h.state.pc = f.block.end;
        h.leave_for(Exit::Rare)
    }

    pub fn Constant<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let m = p.micro();
        h.set_x(m.rd, m.imm as u64);
        next::<TIMED>(h, f, p)
    }

    pub fn Jal<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let (m, b) = (p.micro(), f.block);
        h.set_x(m.rd, b.end);
        end::<TIMED>(h, f, p, 0);
        follow::<TIMED>(h, f, &b.taken, m.imm as u64)
    }

    pub fn Jalr<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let target = h.x(p.micro().rs1).wrapping_add(p.micro().imm as u64) & !1;
        jump_register::<TIMED>(h, f, p, target, 0)
    }

    pub fn PredictedBranch<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let (m, b) = (p.micro(), f.block);
        let taken = (b.condition)(h.x(m.rs1), h.x(m.rs2));
        let extra = h.branched(b.last(m), m.imm as u64, taken);
        end::<TIMED>(h, f, p, extra);
        if taken {
            follow::<TIMED>(h, f, &b.taken, m.imm as u64)
        } else {
            follow::<TIMED>(h, f, &b.next, b.end)
        }
    }

    pub fn PredictedJal<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let (m, b) = (p.micro(), f.block);
        h.set_x(m.rd, b.end);
        let extra = h.jumped(b.last(m), m.imm as u64);
        end::<TIMED>(h, f, p, extra);
        follow::<TIMED>(h, f, &b.taken, m.imm as u64)
    }

    pub fn PredictedJalr<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let (m, b) = (p.micro(), f.block);
        let target = h.x(m.rs1).wrapping_add(m.imm as u64) & !1;
        let extra = h.jumped_by_register(b.last(m), target);
        jump_register::<TIMED>(h, f, p, target, extra)
    }

    pub fn Flw<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        load::<TIMED, 4>(h, f, p, |h, rd, value| h.set_f(rd, fp::box_s(value)))
    }

    pub fn Fld<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        load::<TIMED, 8>(h, f, p, Hart::set_f)
    }

    pub fn Fsw<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let value = h.f(p.micro().rs2);
        store::<TIMED, 4>(h, f, p, value)
    }

    pub fn Fsd<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let value = h.f(p.micro().rs2);
        store::<TIMED, 8>(h, f, p, value)
    }

    pub fn Mark<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let m = p.micro();
        if h.course.is_ahead {
            return stop::<TIMED>(h, f, p, Halt::Turn);
        }
        // A mark takes no time, so that the block may have ended before it began.
        if TIMED
            && p.at::<TIMED>() >= f.deadline
            && let Some(next) = come_due(h, f, p)
        {
            return next;
        }
        end::<TIMED>(h, f, p, 0);
        let bits = m.imm as u32;
        let (code, call, value) = (bits & 31, bits >> 5 & 127, h.x(m.rs1));
        // Who takes it may ask where the hart is.
        h.state.pc = f.block.end;
        if f.marks.take(h, code, call, value) {
            // An observation may have ended.
            h.port.refresh(&mut f.view);
            return follow::<TIMED>(h, f, &f.block.next, f.block.end);
        }
        h.stand_after(f.block);
        h.leave_for(Exit::Halt(Halt::Mark { code, call, value }))
    }

    pub fn Pause<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        if h.course.is_ahead {
            return stop::<TIMED>(h, f, p, Halt::Turn);
        }
        h.course.started = p.at::<TIMED>();
        end::<TIMED>(h, f, p, 0);
        h.stand_after(f.block);
        h.leave_for(Exit::Halt(Halt::Pause))
    }

    pub fn Translated<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
        let mut p = p;
        // A block that is cut ends early.
        if f.cut.is_none()
            && let Some(entry) = f.block.translation(TIMED)
            && entry.geometry == f.view.geometry()
        {
            let (h, f) = (std::ptr::from_mut(h), std::ptr::from_mut(f));
            // SAFETY: it is the function of the region that the block is in, compiled with this signature and kept as long as
            // the block; what it accesses is the hart's and the frame's, of which there is no other reference meanwhile.
            p = unsafe {
                let function = std::mem::transmute::<*const u8, super::Translated>(entry.function);
                function(h, f.cast(), p.begun, entry.number.into())
            };
        }
        let first = std::ptr::eq(p.entry, f.block.first());
        let code = if first { f.block.code(0) } else { p.micro().code };
        Table::<TIMED>::HANDLERS[code as usize](h, f, p)
    }

    /// Translated code has left, and said why.
    pub fn Left<const TIMED: bool>(_: &mut Hart, _: &mut Frame<'_>, _: Place) -> Next {
        std::ptr::null()
    }

    /// There is no such code.
    pub fn nothing(_: &mut Hart, _: &mut Frame<'_>, _: Place) -> Next {
        unreachable!("a code without a function")
    }
}

/// The function of each code, by its number; as long as a number goes, so that none need be checked.
struct Table<const TIMED: bool>;

macro_rules! declare_handlers {
    ({ $($own:ident)* }
     register { $($r:ident => $rf:path;)* } immediate { $($i:ident => $mf:path;)* }
     branch { $($br:ident => $bf:path;)* } load { $($l:ident => $lt:ty;)* } store { $($st:ident => $stt:ty;)* }
     amo_w { $($aw:ident => $awf:path;)* } amo_d { $($ad:ident => $adf:path;)* }
     fp_binary { $($fb:ident => $fbf:path;)* } fp_fused { $($ff:ident => $fff:path;)* }
     fp_unary { $($fu:ident => $fuf:path;)* } fp_min_max { $($fm:ident => $fmf:path;)* }
     fp_sign { $($fs:ident => $fsf:path;)* } fp_compare { $($fc:ident => $fcf:path;)* }
     fp_to_integer { $($fi:ident => $fif:path;)* } fp_from_integer { $($if:ident => $iff:path;)* }
     fp_move_to_integer { $($fx:ident => $fxf:path;)* } fp_move_from_integer { $($xf:ident => $xff:path;)* }
    ) => {
        /// The functions of operations.
        #[allow(non_snake_case, reason = "they are called like their codes")]
        mod of {
            use super::*;
            /// A function that does something and goes on.
            macro_rules! plain {
                ($name:ident, $h:ident, $m:ident, $do:block) => {
                    pub fn $name<const TIMED: bool>($h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
                        let $m = p.micro();
                        $do
                        next::<TIMED>($h, f, p)
                    }
                };
            }
            /// The same with a rounding mode, which may be none.
            macro_rules! rounded {
                ($name:ident, $h:ident, $m:ident, $rm:ident, $do:block) => {
                    pub fn $name<const TIMED: bool>($h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
                        let $m = p.micro();
                        let Some($rm) = Rounding::select($m.rm, $h.state.frm) else {
                            return stop::<TIMED>($h, f, p, Halt::Illegal(0));
                        };
                        $do
                        next::<TIMED>($h, f, p)
                    }
                };
            }
            $(plain!($r, h, m, { h.set_x(m.rd, $rf(h.x(m.rs1), h.x(m.rs2))) });)*
            $(plain!($i, h, m, { h.set_x(m.rd, $mf(h.x(m.rs1), m.imm as u64)) });)*
            $(pub fn $br<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
                let m = p.micro();
                let taken = $bf(h.x(m.rs1), h.x(m.rs2));
                branch::<TIMED>(h, f, p, taken)
            })*
            $(pub fn $l<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
                let put: Put = |h, rd, value| h.set_x(rd, extend!(value, $lt));
                load::<TIMED, { size_of::<$lt>() }>(h, f, p, put)
            })*
            $(pub fn $st<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'_>, p: Place) -> Next {
                let value = h.x(p.micro().rs2);
                store::<TIMED, { size_of::<$stt>() }>(h, f, p, value)
            })*
            $(rounded!($fb, h, m, rm, {
                let value = $fbf(h.f(m.rs1), h.f(m.rs2), rm, &mut h.state.flags);
                h.set_f(m.rd, value);
            });)*
            $(rounded!($ff, h, m, rm, {
                let value = $fff(h.f(m.rs1), h.f(m.rs2), h.f(m.rs3), rm, &mut h.state.flags);
                h.set_f(m.rd, value);
            });)*
            $(rounded!($fu, h, m, rm, {
                let value = $fuf(h.f(m.rs1), rm, &mut h.state.flags);
                h.set_f(m.rd, value);
            });)*
            $(plain!($fm, h, m, {
                let value = $fmf(h.f(m.rs1), h.f(m.rs2), &mut h.state.flags);
                h.set_f(m.rd, value);
            });)*
            $(plain!($fs, h, m, { h.set_f(m.rd, $fsf(h.f(m.rs1), h.f(m.rs2))) });)*
            $(plain!($fc, h, m, {
                let value = $fcf(h.f(m.rs1), h.f(m.rs2), &mut h.state.flags);
                h.set_x(m.rd, value);
            });)*
            $(rounded!($fi, h, m, rm, {
                let value = $fif(h.f(m.rs1), rm, &mut h.state.flags);
                h.set_x(m.rd, value);
            });)*
            $(rounded!($if, h, m, rm, {
                let value = $iff(h.x(m.rs1), rm, &mut h.state.flags);
                h.set_f(m.rd, value);
            });)*
            $(plain!($fx, h, m, { h.set_x(m.rd, $fxf(h.f(m.rs1))) });)*
            $(plain!($xf, h, m, { h.set_f(m.rd, $xff(h.x(m.rs1))) });)*
        }

        /// What makes the access of a code, of a block with time or without.
        pub(crate) fn missed(code: Code, timed: bool) -> Option<Missed> {
            macro_rules! load {
                ($type:ty, $put:expr) => {{
                    extern "C" fn of<const TIMED: bool>(h: &mut Hart, f: &mut Frame<'static>, p: Place) -> Place {
                        let place = missed_load::<TIMED, { size_of::<$type>() }>(h, f, p, $put);
                        after_miss(f, place)
                    }
                    Some(if timed { of::<true> } else { of::<false> })
                }};
            }
            macro_rules! store {
                ($type:ty, $hart:ident, $source:ident, $value:expr) => {{
                    extern "C" fn of<const TIMED: bool>($hart: &mut Hart, f: &mut Frame<'static>, p: Place) -> Place {
                        let $source = p.micro().rs2;
                        let value = $value;
                        let place = missed_store::<TIMED, { size_of::<$type>() }>($hart, f, p, value);
                        after_miss(f, place)
                    }
                    Some(if timed { of::<true> } else { of::<false> })
                }};
            }
            match code {
                $(Code::$l => load!($lt, |h, rd, value| h.set_x(rd, extend!(value, $lt))),)*
                $(Code::$st => store!($stt, h, r, h.x(r)),)*
                Code::Flw => load!(u32, |h, rd, value| h.set_f(rd, fp::box_s(value))),
                Code::Fld => load!(u64, Hart::set_f),
                Code::Fsw => store!(u32, h, r, h.f(r)),
                Code::Fsd => store!(u64, h, r, h.f(r)),
                _ => None,
            }
        }

        impl<const TIMED: bool> Table<TIMED> {
            const HANDLERS: &'static [Handler; 256] = &{
                let mut table: [Handler; 256] = [own::nothing; 256];
                $(table[Code::$own as usize] = own::$own::<TIMED>;)*
                $(table[Code::$r as usize] = of::$r::<TIMED>;)*
                $(table[Code::$i as usize] = of::$i::<TIMED>;)*
                $(table[Code::$br as usize] = of::$br::<TIMED>;)*
                $(table[Code::$l as usize] = of::$l::<TIMED>;)*
                $(table[Code::$st as usize] = of::$st::<TIMED>;)*
                $(table[Code::$fb as usize] = of::$fb::<TIMED>;)*
                $(table[Code::$ff as usize] = of::$ff::<TIMED>;)*
                $(table[Code::$fu as usize] = of::$fu::<TIMED>;)*
                $(table[Code::$fm as usize] = of::$fm::<TIMED>;)*
                $(table[Code::$fs as usize] = of::$fs::<TIMED>;)*
                $(table[Code::$fc as usize] = of::$fc::<TIMED>;)*
                $(table[Code::$fi as usize] = of::$fi::<TIMED>;)*
                $(table[Code::$if as usize] = of::$if::<TIMED>;)*
                $(table[Code::$fx as usize] = of::$fx::<TIMED>;)*
                $(table[Code::$xf as usize] = of::$xf::<TIMED>;)*
                table
            };
        }
    };
}

for_each_op!(
    declare_handlers,
    Fetch End Leave Rare Constant Jal Jalr PredictedBranch PredictedJal PredictedJalr Flw Fld Fsw Fsd Mark Pause
    Translated Left
);

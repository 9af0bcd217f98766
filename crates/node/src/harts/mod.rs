//! The harts of a node: what each does at the moment, and which is next.
//!
//! `core_state.rs`: a hart and the thread on it. `ahead.rs`: harts that run ahead of each other. `spin.rs`: polling loops, which are skipped.
//! `rest.rs`: when nothing happens any more.

mod ahead;
mod core_state;
mod rest;
mod spin;

use std::ops::{Index, IndexMut, Range};

use chasqui_engine::Time;
use chasqui_hart::{CodeReads, Halt};
use chasqui_memory::{Bus, Snoop};

use ahead::Latest;
pub(crate) use core_state::{Activity, Filling};
pub use core_state::{Core, HartSoftwareStatistics};
pub(crate) use rest::Rest;
pub(crate) use spin::{Poll, Spin};

/// Which hart is next.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    /// When it is ready, if nothing else happens.
    pub ready: Time,
    pub index: usize,
    /// It must not start an instruction at or after this time, when another may be next.
    pub others: Time,
}

/// The harts of a node, by number. The first is at hand: most nodes have no other.
pub struct Harts {
    first: Core,
    others: Vec<Core>,
    /// Harts up to this one have had threads: the caches of the others are empty.
    started: usize,
    /// One alone is run like several, for the memory system changes memory by itself ([`MemorySystem::acts_by_itself`]).
    ///
    /// [`MemorySystem::acts_by_itself`]: crate::memory_system::MemorySystem::acts_by_itself
    pub(crate) is_one_of_several: bool,
    /// Of several harts.
    latest: Latest,
}

impl Harts {
    pub(crate) fn new(first: Core, others: Vec<Core>) -> Harts {
        Harts { first, others, started: 0, is_one_of_several: false, latest: Latest::default() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &Core> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// All.
    #[inline]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Core> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// Those numbered `range`.
    pub(crate) fn of(&self, range: &Range<usize>) -> impl Iterator<Item = &Core> + use<'_> {
        self.iter().skip(range.start).take(range.len())
    }

    /// Those numbered `range`.
    pub(crate) fn of_mut(&mut self, range: &Range<usize>) -> impl Iterator<Item = &mut Core> + use<'_> {
        self.iter_mut().skip(range.start).take(range.len())
    }

    /// Harts that have had threads, as far as their numbers tell.
    pub fn started(&self) -> usize {
        self.started
    }

    /// A thread comes to hart `index`. True: the first ever.
    pub(crate) fn start(&mut self, index: usize) -> bool {
        self.started = self.started.max(index + 1);
        !std::mem::replace(&mut self[index].has_begun, true)
    }

    /// Threads have been on more than the first hart, or it must be run as if they had.
    #[inline]
    pub(crate) fn is_several(&self) -> bool {
        self.started > 1 || self.is_one_of_several
    }

    /// When some hart is ready, if nothing else happens.
    #[inline]
    pub(crate) fn ready_at(&self) -> Time {
        if self.is_several() { self.next::<true>().ready } else { self.next::<false>().ready }
    }

    /// The hart that is ready first; of two at a time the lower.
    #[inline]
    pub(crate) fn next<const SEVERAL: bool>(&self) -> Next {
        if !SEVERAL {
            return Next { ready: self.first.ready_at(), index: 0, others: Time::NEVER };
        }
        // In the order of their numbers: of two at a time the lower is found first.
        let (mut ready, mut index) = (self.first.ready_at(), 0);
        let (mut other, mut lower) = (Time::NEVER, usize::MAX);
        for (number, core) in (1..self.started).zip(&self.others) {
            let at = core.ready_at();
            if at < ready {
                (other, lower, ready, index) = (ready, index, at, number);
            } else if at < other {
                (other, lower) = (at, number);
            }
        }
        Next { ready, index, others: other + Time(u64::from(index < lower)) }
    }

    /// Hart `index` must not start an instruction at or after this time, when another hart may be next.
    pub(crate) fn others_ready(&self, index: usize) -> Time {
        let mut until = if index == 0 { Time::NEVER } else { self.first.ready_at() };
        for (number, core) in (1..self.started).zip(&self.others) {
            if number != index {
                // Of two at a time the lower comes first.
                until = until.min(core.ready_at() + Time(u64::from(index < number)));
            }
        }
        until
    }

    /// The cycle at which hart `index` stops, `until` at the latest, since another hart may be next.
    pub(crate) fn end_among_others(&self, index: usize, until: Time) -> u64 {
        self[index].hart.cycle_at(until.min(self.others_ready(index)))
    }

    /// It is the turn of hart `index`: if its L2 gives a line before it goes on, it has it. It may ask for more then, as by an
    /// instruction that starts at that time.
    #[inline]
    pub(crate) fn take_given(&mut self, index: usize) -> bool {
        let Some(now) = self[index].given_first() else { return false };
        self.latest.note(now, index);
        self[index].take_given(now);
        true
    }

    /// Up to `until` no other hart is next.
    pub(crate) fn is_alone(&self, next: Next, until: Time) -> bool {
        next.others >= until || !self.are_timed()
    }

    /// It is the turn of hart `index`: it runs ahead of the others as far as `until`. False: it has to be run among them.
    pub(crate) fn run_ahead(&mut self, Next { index, .. }: Next, until: Time) -> bool {
        self.begin_among_others(index);
        let Core { hart, ahead, activity, watch, .. } = &mut self[index];
        let may = matches!(activity, Activity::Ready) && watch.is_none();
        ahead.run(hart, if may { until } else { Time::ZERO })
    }

    /// What code hart `index` may read at its turn.
    fn code_reads(&self, index: usize) -> CodeReads {
        let others = self.iter().take(self.started).enumerate().filter(|&(i, _)| i != index);
        let mut ahead = others.filter(|(_, core)| core.ahead.may_be_taken_back());
        if ahead.next().is_some() { CodeReads::Nothing } else { CodeReads::All }
    }

    /// Hart `index` is about to run.
    pub(crate) fn begin_among_others(&mut self, index: usize) {
        let reads = self.code_reads(index);
        self[index].hart.set_code_reads(reads);
    }

    /// A hart that runs ahead and may have stored to what hart `index` would read to decode its code.
    fn stores_to_code(&self, index: usize) -> Option<usize> {
        let reader = &self[index].hart;
        let others = self.iter().take(self.started).enumerate().filter(|&(i, _)| i != index);
        let mut ahead = others.filter(|(_, core)| core.ahead.may_be_taken_back());
        let stores =
            |core: &Core| reader.code_pages().any(|page| core.hart.port.may_have_stored_to_page(page));
        ahead.find(|(_, core)| stores(core)).map(|(other, _)| other)
    }

    /// Hart `index` has halted to read code that others may have stored: it reads what has been stored by now. When one has been
    /// taken back, tables may lead elsewhere.
    pub(crate) fn read_code(&mut self, index: usize) {
        let now = self[index].hart.now();
        self.latest.note(now, index);
        while let Some(other) = self.stores_to_code(index) {
            self.settle(other, now);
        }
        self[index].hart.set_code_reads(CodeReads::Next);
    }

    /// Hart `index` has halted, and system software has dealt with it; `was_timed`: before, what it did took time. The cycle at
    /// which it stops, `until` at the latest: others may have been taken back, or have to catch up before what it stores in no
    /// time, past the caches.
    pub(crate) fn halted(
        &mut self,
        index: usize,
        was_timed: bool,
        until: Time,
        bus: Option<&mut Bus>,
    ) -> u64 {
        if was_timed && !self[index].hart.port.is_timed() {
            self.announce(index, bus, self[index].hart.now());
        }
        self.end_among_others(index, until)
    }

    /// Hart `index` has halted, and others go no further than that where it concerns them. False: one that repeats itself
    /// has to catch up first.
    pub(crate) fn meet(&mut self, index: usize, halt: Halt, bus: Option<&mut Bus>) -> bool {
        let now = self[index].hart.now();
        let start = self[index].hart.latest_start(halt);
        self.latest.note(start, index);
        if matches!(halt, Halt::Call) && self.announce(index, bus, now) {
            return false;
        }
        if halt.asks_for_software() {
            self.settle_others(index, start);
        }
        true
    }

    /// Instructions of hart `index` that start at this time or later come after what happens at `now`. Where that follows
    /// from an instruction which starts at `now`, too, those of lower harts came before.
    pub(crate) fn end_before(&self, index: usize, now: Time) -> Time {
        let is_before = self.latest.start == now && index < self.latest.hart;
        if is_before { now + Time(1) } else { now }
    }

    /// Something happens at `now` that may concern hart `index` whatever it did: it has not gone past that.
    pub(crate) fn settle(&mut self, index: usize, now: Time) {
        let end = self.end_before(index, now);
        let Core { hart, ahead, .. } = &mut self[index];
        ahead.settle(hart, end);
    }

    /// The same, of all.
    pub(crate) fn settle_all(&mut self, now: Time) {
        (0..self.started()).for_each(|index| self.settle(index, now));
    }

    /// The same, of all but hart `index`.
    pub(crate) fn settle_others(&mut self, index: usize, now: Time) {
        (0..self.started()).filter(|&other| other != index).for_each(|other| self.settle(other, now));
    }

    /// Another master's transaction on `bytes` from `address` on has its place in the order at `now`: hart `index` has not
    /// gone past that, if it concerns what the hart has done since.
    pub(crate) fn settle_for(&mut self, index: usize, (snoop, address, bytes): (Snoop, u64, u32), now: Time) {
        let end = self.end_before(index, now);
        let Core { hart, ahead, .. } = &mut self[index];
        if ahead.is_past(hart, end) && hart.port.is_concerned(snoop, address, bytes) {
            ahead.settle(hart, end);
        }
    }

    /// Harts other than `index` that have had threads.
    pub(crate) fn others(&mut self, index: usize) -> impl Iterator<Item = &mut Core> {
        let started = self.started;
        let threads = self.iter_mut().take(started).enumerate();
        threads.filter(move |&(i, _)| i != index).map(|(_, core)| core)
    }

    /// No hart but `index` uses the bus before an event comes, or one wakes by itself.
    fn is_sole(&self, index: usize) -> bool {
        let threads = self.iter().take(self.started).enumerate();
        threads.filter(|&(i, _)| i != index).all(|(_, core)| core.leaves_bus())
    }

    /// Hart `index` does something at `now` that others may see. True: one that repeats itself has to catch up
    /// first. Calls that take no time have none to catch up with: [`Harts::tell_untimed`].
    pub(crate) fn announce(&mut self, index: usize, mut bus: Option<&mut Bus>, now: Time) -> bool {
        self.settle_others(index, now);
        let mut idle = false;
        for core in self.others(index).filter(|core| core.hart.port.is_timed()) {
            idle |= core.is_idle();
            core.event(bus.as_deref_mut(), now, now);
        }
        idle
    }

    /// What accesses do takes time on all harts.
    pub(crate) fn are_timed(&self) -> bool {
        self.iter().take(self.started).all(|core| core.hart.port.is_timed())
    }

    /// Hart `index` has executed instructions. If they may have changed anything, others that repeat themselves where
    /// nothing takes time look again, at the same time: they have no lines that it would take. True: there are some.
    pub(crate) fn tell_untimed(&mut self, index: usize) -> bool {
        let hart = &self[index].hart;
        if !hart.port.is_timed() && hart.port.is_silent() {
            return false;
        }
        let now = hart.now();
        let mut idle = false;
        for core in self.others(index).filter(|t| t.is_idle() && !t.hart.port.is_timed()) {
            idle = true;
            core.look_again(now);
        }
        idle
    }

    /// Hart `index` stops. In a call that takes no time it has stored past the caches, and others may now execute
    /// instructions between two of its own: reservations hold no longer.
    pub(crate) fn leave_untimed(&mut self, index: usize) {
        if !self[index].hart.port.is_timed() {
            self.iter_mut().for_each(|core| core.hart.port.drop_reservation());
        }
    }

    /// Hart `index` has executed a `pause`. `skip`: polling loops are skipped.
    pub(crate) fn pause(&mut self, index: usize, bus: Option<&Bus>, skip: bool) {
        let bus = bus.filter(|_| self.is_sole(index));
        self[index].pause(bus, skip);
    }

    /// Hart `index` may have given itself up. True: it has, and nobody else is on it.
    pub(crate) fn yielded(&mut self, index: usize, bus: Option<&Bus>) -> bool {
        let yielded = matches!(self[index].activity, Activity::Yielded);
        if yielded {
            let bus = bus.filter(|_| self.is_sole(index));
            self[index].yielded(bus);
        }
        yielded
    }

    /// No hart but `index` does anything until `end`, or repeats itself and may see what `index` does, or
    /// holds a line.
    pub(crate) fn is_left_alone(&self, index: usize, end: Time) -> bool {
        let mut others = self.iter().take(self.started).enumerate().filter(|&(i, _)| i != index);
        let is_quiet = self[index].hart.port.given_at() == u64::MAX;
        is_quiet
            && others.all(|(_, t)| {
                t.ready_at() > end && t.leaves_bus() && !t.is_idle() && t.hart.port.reservation().is_none()
            })
    }
}

impl Index<usize> for Harts {
    type Output = Core;

    #[inline(always)]
    fn index(&self, index: usize) -> &Core {
        if index == 0 { &self.first } else { &self.others[index - 1] }
    }
}

impl IndexMut<usize> for Harts {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut Core {
        if index == 0 { &mut self.first } else { &mut self.others[index - 1] }
    }
}

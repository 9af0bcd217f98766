//! Harts that run ahead of each other.
//!
//! Of several harts the one that is ready first is next. Where they would alternate by instruction, it runs ahead of the
//! others instead ([`chasqui_hart::Hart::run_ahead`]) and stops before what concerns them. What it has executed counts
//! when its turn comes: then nothing can come before it any more. Until then it is taken back if something does that
//! concerns it, and executed again as far as that.

use chasqui_engine::Time;
use chasqui_hart::Before;
use chasqui_memory::Snoop;

use super::Harts;
use super::core_state::Core;

/// Cycles that a hart runs ahead at most: so much may have to be executed again, and stores are kept so long.
const CYCLES_MAX: u64 = 1 << 14;
/// Fewer are not worth what it takes to keep the state before them.
const CYCLES_MIN: u64 = 64;
/// If it came no further than so many instructions, it was not worth it either.
const INSTRUCTIONS_MIN: u64 = 256;
/// Turns without, after one that was not worth it: twice as many each time, up to these.
const TURNS_MAX: u32 = 63;

/// Whether a hart runs ahead, and how far that has paid.
#[derive(Default)]
pub(crate) struct Ahead {
    /// What it was before, while what it has executed may be taken back.
    before: Option<Box<Before>>,
    /// What it is about to do is for its turn.
    waits: bool,
    /// It does not try for so many turns.
    turns: u32,
    /// What `turns` was last.
    pause: u32,
    /// How often it has run ahead, and how often that was taken back: about the host, not the simulation.
    pub runs: u64,
    pub taken_back: u64,
}

impl Ahead {
    fn note_worth(&mut self, is_worth: bool) {
        self.pause = if is_worth { 0 } else { (2 * self.pause + 1).min(TURNS_MAX) };
        self.turns = self.pause;
    }
}

impl Core {
    /// It is the hart's turn: what it has executed counts. It runs ahead from here as far as `until`, if that can be and is
    /// worth it. False: it does not.
    pub(crate) fn run_ahead(&mut self, until: Time) -> bool {
        self.ahead.before = None;
        let waits = std::mem::take(&mut self.ahead.waits);
        if waits || !self.is_ready() || self.watch.is_some() {
            return false;
        }
        if self.ahead.turns > 0 {
            self.ahead.turns -= 1;
            return false;
        }
        let cycle = self.hart.cycle;
        let end = self.hart.cycle_at(until).min(cycle + CYCLES_MAX);
        if end < cycle + CYCLES_MIN || !self.hart.may_run_ahead(end) {
            return false;
        }
        let instructions = self.hart.statistics.instructions;
        let before = self.hart.begin_ahead();
        let came = self.hart.run_ahead(end);
        let executed = self.hart.statistics.instructions - instructions;
        self.ahead.note_worth(came || executed >= INSTRUCTIONS_MIN);
        self.ahead.waits = !came && executed > 0;
        self.ahead.runs += u64::from(executed > 0);
        self.ahead.before = (executed > 0).then(|| Box::new(before));
        executed > 0
    }

    /// What the hart has executed may be taken back: from when on.
    pub(crate) fn ahead_since(&self) -> Option<Time> {
        self.ahead.before.as_ref().map(|before| self.hart.time_of(before.cycle()))
    }

    /// It has executed instructions that start at `time` or later.
    fn is_past(&self, time: Time) -> bool {
        self.ahead.before.is_some() && self.hart.now() > time
    }

    /// The hart must not have executed instructions that start at `time` or later: they are taken back.
    fn settle(&mut self, time: Time) {
        let Some(before) = self.ahead.before.take() else { return };
        if self.hart.now() <= time {
            return;
        }
        self.hart.run_again(&before, self.hart.cycle_at(time));
        self.ahead.waits = false;
        self.ahead.taken_back += 1;
        self.ahead.note_worth(false);
    }
}

/// The instruction that was executed last in the order of time: its start, and its hart. Of two that start at a time the
/// lower hart's comes first.
#[derive(Clone, Copy, Default)]
pub(crate) struct Latest {
    pub start: Time,
    pub hart: usize,
}

impl Harts {
    /// Instructions of hart `index` that start at this time or later come after what happens at `now`. Where that follows
    /// from an instruction which starts at `now`, too, those of lower harts came before.
    fn end_before(&self, index: usize, now: Time) -> Time {
        let is_before = self.latest.start == now && index < self.latest.hart;
        if is_before { now + Time(1) } else { now }
    }

    /// Something happens at `now` that may concern hart `index` whatever it did: it has not gone past that.
    pub(crate) fn settle(&mut self, index: usize, now: Time) {
        let end = self.end_before(index, now);
        self[index].settle(end);
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
        let core = &mut self[index];
        if core.is_past(end) && core.hart.port.is_concerned(snoop, address, bytes) {
            core.settle(end);
        }
    }
}

//! Harts that run ahead of each other.
//!
//! Of several harts the one that is ready first is next. Where they would alternate by instruction, it runs ahead of the
//! others instead ([`chasqui_hart::Hart::run_ahead`]) and stops before what concerns them. What it has executed counts
//! when its turn comes: then nothing can come before it any more. Until then it is taken back if something does that
//! concerns it, and executed again as far as that.

use chasqui_engine::Time;
use chasqui_hart::{Before, Hart};

/// Cycles that a hart runs ahead at most: so much may have to be executed again, and stores are kept so long.
const CYCLES_MAX: u64 = 1 << 14;
/// Fewer are not worth what it takes to keep the state before them.
const CYCLES_MIN: u64 = 8;
/// If it came no further than so many instructions, it was not worth it.
const INSTRUCTIONS_MIN: u64 = 4;
/// Turns without, after one that was not worth it: twice as many each time, up to these.
const TURNS_MAX: u32 = 3;

/// Whether a hart runs ahead, and how far that has paid.
#[derive(Default)]
pub(crate) struct Ahead {
    /// What it was before, while what it has executed may be taken back.
    before: Option<Box<Before>>,
    /// Room for that.
    room: Option<Box<Before>>,
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

    /// It is the turn of `hart`: what it has executed counts. It runs ahead from here as far as `until`, if that can be and
    /// is worth it. False: it does not.
    pub fn run(&mut self, hart: &mut Hart, until: Time) -> bool {
        self.count();
        if std::mem::take(&mut self.waits) {
            return false;
        }
        if self.turns > 0 {
            self.turns -= 1;
            return false;
        }
        let cycle = hart.cycle;
        let end = hart.cycle_at(until).min(cycle + CYCLES_MAX);
        if end < cycle + CYCLES_MIN || !hart.may_run_ahead(end) {
            return false;
        }
        let instructions = hart.statistics.instructions;
        let before = hart.begin_ahead(self.room.take());
        let came = hart.run_ahead(end);
        let executed = hart.statistics.instructions - instructions;
        self.note_worth(came || executed >= INSTRUCTIONS_MIN);
        self.waits = !came && executed > 0;
        self.runs += u64::from(executed > 0);
        *(if executed > 0 { &mut self.before } else { &mut self.room }) = Some(before);
        executed > 0
    }

    /// What the hart has executed counts.
    pub fn count(&mut self) {
        self.room = self.before.take().or(self.room.take());
    }

    /// What the hart has executed may be taken back.
    #[inline]
    pub fn may_be_taken_back(&self) -> bool {
        self.before.is_some()
    }

    /// What `hart` has executed may be taken back: from when on.
    pub fn since(&self, hart: &Hart) -> Option<Time> {
        self.before.as_ref().map(|before| hart.time_of(before.cycle()))
    }

    /// `hart` has executed instructions that start at `time` or later, which may be taken back.
    pub fn is_past(&self, hart: &Hart, time: Time) -> bool {
        self.before.is_some() && hart.now() > time
    }

    /// `hart` must not have executed instructions that start at `time` or later: they are taken back.
    pub fn settle(&mut self, hart: &mut Hart, time: Time) {
        if !self.may_be_taken_back() {
            return;
        }
        self.count();
        if hart.now() <= time {
            return;
        }
        let before = self.room.as_ref().expect("what it was before");
        hart.run_again(before, hart.cycle_at(time));
        self.waits = false;
        self.taken_back += 1;
        self.note_worth(false);
    }
}

/// The last instruction in the order of time that was executed: its start, and its hart. Of two that start at a time the
/// lower hart's comes first.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Latest {
    pub start: Time,
    pub hart: usize,
}

impl Latest {
    /// Hart `hart` has executed an instruction that starts at `start`. It may come before the latest: a hart that repeats itself
    /// catches up with an event that follows from that.
    pub fn note(&mut self, start: Time, hart: usize) {
        *self = (*self).max(Latest { start, hart });
    }
}

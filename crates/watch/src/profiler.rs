//! Counts a hart's cycles by call path and cause.
//!
//! Polling: what a hart does from one `pause` to the next is a *turn*. A turn that came back to the same
//! registers found nothing if it took as few instructions as any turn at that pause, or as many as the turn
//! before it; its cycles were waiting, whatever they were spent on. A loop that is skipped and one that is
//! executed count alike: what is skipped are turns like the one before.

use std::collections::BTreeMap;

use chasqui_hart::{Hart, Insn, State};
use chasqui_record::{Cause, Profile, Profiled, Spent};

use crate::stack::Stack;
use crate::symbols::Symbols;

/// A turn that takes this many instructions is none: the program went on to other things.
const TURN_MAX: u64 = 20_000;

/// What happened since a pause.
struct Turn {
    state: State,
    instructions: u64,
    /// By path.
    spent: Vec<(u32, Spent)>,
    /// Which of `spent` was used last.
    last: usize,
}

pub(crate) struct Profiler {
    profile: Profile,
    stack: Stack,
    turn: Option<Turn>,
    /// What the latest turn took that came back to the same registers.
    latest: Vec<(u32, Spent)>,
    /// By the pause's pc: the fewest instructions of a turn that came back to the same registers.
    shortest: BTreeMap<u64, u64>,
}

impl Turn {
    fn at(&mut self, path: u32) -> &mut Spent {
        if self.spent.get(self.last).is_none_or(|(p, _)| *p != path) {
            let found = self.spent.iter().position(|(p, _)| *p == path);
            self.last = found.unwrap_or_else(|| {
                self.spent.push((path, Spent::default()));
                self.spent.len() - 1
            });
        }
        &mut self.spent[self.last].1
    }
}

impl Profiler {
    pub fn new(whose: Profiled, symbols: Symbols) -> Profiler {
        let mut profile = Profile::new(whose);
        let stack = Stack::new(symbols, &mut profile);
        Profiler { profile, stack, turn: None, latest: vec![], shortest: BTreeMap::new() }
    }

    /// A new thread begins on the hart.
    pub fn begin(&mut self, hart: &Hart) {
        self.end_turn();
        self.stack.begin(hart.state.pc, &mut self.profile);
    }

    fn at(&mut self) -> &mut Spent {
        let path = self.stack.path();
        match &mut self.turn {
            Some(turn) => turn.at(path),
            None => self.profile.at(path),
        }
    }

    /// Where the hart is, `cycles` were spent.
    pub fn spend(&mut self, cause: Cause, cycles: u64) {
        self.at().cycles[cause as usize] += cycles;
    }

    /// `insn` was executed; marks are not `counted`.
    pub fn executed(&mut self, hart: &Hart, insn: &Insn, counted: bool) {
        if counted {
            self.at().instructions += 1;
            if let Some(turn) = &mut self.turn {
                turn.instructions += 1;
                if turn.instructions > TURN_MAX {
                    self.end_turn();
                }
            }
        }
        self.stack.follow(hart, insn, &mut self.profile);
    }

    /// A trap was taken.
    pub fn trapped(&mut self, hart: &Hart) {
        self.end_turn();
        self.stack.trapped(hart, &mut self.profile);
    }

    /// The current turn, if there is one, was more than waiting.
    fn end_turn(&mut self) {
        for (path, spent) in self.turn.take().map_or(vec![], |turn| turn.spent) {
            self.profile.spend(path, &spent);
        }
    }

    /// The hart has executed a `pause`, with which a turn begins.
    pub fn paused(&mut self, hart: &Hart) {
        if let Some(turn) = self.turn.take_if(|turn| turn.state == hart.state) {
            let shortest = self.shortest.entry(hart.state.pc).or_insert(turn.instructions);
            *shortest = turn.instructions.min(*shortest);
            let before = self.latest.iter().map(|(_, spent)| spent.instructions).sum();
            let waited = [*shortest, before].contains(&turn.instructions);
            self.latest = turn.spent;
            for (path, spent) in &self.latest {
                self.profile.spend(*path, &if waited { spent.waited(1) } else { *spent });
            }
        }
        self.end_turn();
        self.turn = Some(Turn { state: hart.state.clone(), instructions: 0, spent: vec![], last: 0 });
    }

    /// The latest turn was repeated so many times. Returns the cycles of that.
    pub fn repeated(&mut self, turns: u64) -> u64 {
        for (path, spent) in &self.latest {
            self.profile.spend(*path, &spent.waited(turns));
        }
        turns * self.latest.iter().map(|(_, spent)| spent.total()).sum::<u64>()
    }

    pub fn finish(mut self) -> Profile {
        self.end_turn();
        self.profile
    }
}

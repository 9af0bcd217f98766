//! Whether nothing happens any more on a node of several harts, some of which poll by transactions that others meet.
//!
//! Those are not skipped: they go on, each turn of their loops like the one before. A turn says only what a hart has read in it.
//! Another hart may have stored since, and if the line was not there nothing has told the first. So a node rests when every
//! such hart has made a whole turn after the last moment at which anything can have changed.

use chasqui_engine::Time;

use super::Harts;

/// What is known of that.
#[derive(Default)]
pub(crate) struct Rest {
    /// All have been stuck since then, and no event has come.
    since: Option<Time>,
    /// For each hart that does nothing, as it sleeps or has no thread, the cycle at which it is.
    sleepers: Vec<Option<u64>>,
}

impl Rest {
    /// An event has come: what it changes others may have to see.
    pub fn end(&mut self) {
        self.since = None;
    }

    /// All `harts` are stuck at `now`, and nothing else is to come but transactions of theirs. True: nothing will change that.
    pub fn is_final(&mut self, harts: &Harts, now: Time) -> bool {
        let sleeper = |core: &super::Core| core.is_asleep().then_some(core.hart.cycle);
        let are_same = harts.iter().map(sleeper).eq(self.sleepers.iter().copied());
        if self.since.is_none() || !are_same {
            self.since = Some(now);
            self.sleepers.clear();
            self.sleepers.extend(harts.iter().map(sleeper));
            return false;
        }
        let repeating = || harts.iter().filter(|core| !core.is_asleep());
        let changed = repeating().map(|core| core.spin.since()).fold(self.since, |a, b| a.max(Some(b)));
        repeating().filter(|core| !core.is_idle()).all(|core| Some(core.spin.latest_turn()) >= changed)
    }
}

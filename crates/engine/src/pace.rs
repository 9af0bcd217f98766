//! Whether several host threads are worth their meetings.

use std::time::{Duration, Instant};

/// Rounds in which a way of going is measured, after some to warm up.
const MEASURED: u32 = 256;
const WARM_UP: u32 = 64;
/// Rounds between looks at the host's clock.
const LOOK: u32 = 64;
/// How long to go on between trials, in times that the last one took: at first, and at most while they
/// tell nothing new. So trials never cost more than a thirtieth.
const BETWEEN_MIN: u32 = 32;
const BETWEEN_MAX: u32 = 512;

#[derive(Clone, Copy)]
enum Stage {
    /// There is only one way.
    Fixed,
    /// Not measured yet: the host's caches and sleeping threads follow a change of ways.
    WarmUp { trial: Option<Instant> },
    /// Since `begin`, when partitions had had `turns` turns.
    Measure { trial: Option<Instant>, begin: Instant, turns: u64 },
    /// The chosen way.
    Cruise { until: Instant },
}

/// Tries both ways now and then, all host threads together and one alone, and takes the faster: the host
/// may have other work. Results do not depend on it.
pub(crate) struct Pace {
    together: bool,
    stage: Stage,
    /// Rounds until there is something to decide.
    left: u32,
    between: u32,
    /// Host time of a partition's turn [s], alone and together, when last measured.
    cost: [f64; 2],
}

impl Pace {
    pub fn new(threads: usize) -> Pace {
        let stage = if threads > 1 { Stage::WarmUp { trial: None } } else { Stage::Fixed };
        Pace { together: threads > 1, stage, left: WARM_UP, between: BETWEEN_MIN, cost: [f64::MAX; 2] }
    }

    /// All host threads run partitions.
    pub fn together(&self) -> bool {
        self.together
    }

    /// A round begins; partitions have had `turns` turns so far. `clock` is the host's.
    pub fn round(&mut self, turns: u64, clock: impl FnOnce() -> Instant) {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 || matches!(self.stage, Stage::Fixed) {
            return;
        }
        let now = clock();
        match self.stage {
            Stage::Fixed => {}
            Stage::WarmUp { trial } => self.enter(Stage::Measure { trial, begin: now, turns }, MEASURED),
            Stage::Measure { trial, begin, turns: first } => {
                let time = now.duration_since(begin).as_secs_f64();
                self.cost[usize::from(self.together)] = time / (turns - first).max(1) as f64;
                match trial {
                    Some(since) => self.choose(now, now.duration_since(since)),
                    None => {
                        self.together = !self.together;
                        self.enter(Stage::WarmUp { trial: Some(now) }, WARM_UP);
                    }
                }
            }
            Stage::Cruise { until } if now < until => self.left = LOOK,
            // What the present way costs now, then the other.
            Stage::Cruise { .. } => self.enter(Stage::Measure { trial: None, begin: now, turns }, MEASURED),
        }
    }

    fn enter(&mut self, stage: Stage, rounds: u32) {
        self.stage = stage;
        self.left = rounds;
    }

    /// After a trial of the other way, which took so long.
    fn choose(&mut self, now: Instant, trial: Duration) {
        let tried = self.together;
        self.together = self.cost[1] < self.cost[0];
        self.between = if self.together == tried { BETWEEN_MIN } else { (self.between * 2).min(BETWEEN_MAX) };
        self.enter(Stage::Cruise { until: now + trial * self.between }, LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets rounds of one turn pass that take `cost` alone and together; rounds that went together, of the
    /// last half.
    fn together_of(rounds: u64, cost: [Duration; 2]) -> u64 {
        let (mut pace, mut now) = (Pace::new(2), Instant::now());
        let mut together = 0;
        for turns in 0..rounds {
            pace.round(turns, || now);
            together += u64::from(pace.together() && turns >= rounds / 2);
            now += cost[usize::from(pace.together())];
        }
        together
    }

    #[test]
    fn the_faster_way_is_taken() {
        let (fast, slow) = (Duration::from_micros(2), Duration::from_micros(40));
        let rounds = 200_000;
        // Trials of the dearer way take a thirtieth of the time at most.
        let together = together_of(rounds, [slow, fast]);
        assert!(together > rounds / 2 * 9 / 10, "{together} of {rounds} went together, the faster way");
        let together = together_of(rounds, [fast, slow]);
        assert!(together < rounds / 2 / 10, "{together} of {rounds} went together, the slower way");
    }

    #[test]
    fn one_thread_goes_alone() {
        let mut pace = Pace::new(1);
        (0..1000).for_each(|turns| pace.round(turns, || panic!("it looked at the clock")));
        assert!(!pace.together());
    }
}

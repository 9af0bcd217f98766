//! Whether several host threads are worth their meetings.

use std::time::{Duration, Instant};

/// Rounds in which a way of going is measured, after some to warm up.
const MEASURED: u32 = 16;
const WARM_UP: u32 = 4;
/// Rounds between looks at the host's clock.
const LOOK: u32 = 8;
/// Before the first trial: short runs have none.
const FIRST: Duration = Duration::from_millis(50);
/// How long to go on between trials, in times that the last one took: at first, and at most while they
/// tell nothing new. So trials never cost more than a thirtieth.
const BETWEEN_MIN: u32 = 32;
const BETWEEN_MAX: u32 = 512;
/// A trial that has taken so much longer than the other way would have, and this, is over.
const PATIENCE: f64 = 2.0;
const PATIENCE_MIN: Duration = Duration::from_micros(500);

/// How many host threads run partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// So many, always.
    Exactly(usize),
    /// So many, or one where that is faster.
    UpTo(usize),
}

impl Threads {
    /// At most so many.
    pub fn count(self) -> usize {
        let (Threads::Exactly(count) | Threads::UpTo(count)) = self;
        count.max(1)
    }
}

#[derive(Clone, Copy)]
enum Stage {
    /// There is only one way.
    Fixed,
    /// Nothing has happened yet.
    Start,
    /// The chosen way.
    Cruise { until: Instant },
    /// What the chosen way costs, since `begin`, when partitions had done `work`.
    Measure { begin: Instant, work: u64 },
    /// The other way: first it warms up, since the host's caches and sleeping threads follow slowly.
    Trial { since: Instant, first_work: u64, begin: Instant, work: u64, left: u32 },
}

/// Tries both ways now and then, one host thread alone and all together, and takes the faster: the host may
/// have other work. Results do not depend on it.
pub(crate) struct Pace {
    together: bool,
    stage: Stage,
    /// Rounds until there is something to decide.
    left: u32,
    between: u32,
    /// Host time of a unit of work [s] the chosen way, when last measured.
    cost: f64,
}

impl Pace {
    pub fn new(threads: Threads) -> Pace {
        let (together, stage) = match threads {
            Threads::Exactly(count) => (count > 1, Stage::Fixed),
            Threads::UpTo(count) => (false, if count > 1 { Stage::Start } else { Stage::Fixed }),
        };
        Pace { together, stage, left: 1, between: BETWEEN_MIN, cost: f64::MAX }
    }

    /// All host threads run partitions.
    pub fn together(&self) -> bool {
        self.together
    }

    /// A round begins; partitions have done so much `work`. `clock` is the host's.
    pub fn round(&mut self, work: u64, clock: impl FnOnce() -> Instant) {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 || matches!(self.stage, Stage::Fixed) {
            return;
        }
        let now = clock();
        match self.stage {
            Stage::Fixed => {}
            Stage::Start => self.enter(Stage::Cruise { until: now + FIRST }, LOOK),
            Stage::Cruise { until } if now < until => self.left = LOOK,
            Stage::Cruise { .. } => self.enter(Stage::Measure { begin: now, work }, MEASURED),
            Stage::Measure { begin, work: first } => {
                self.cost = cost(now - begin, work - first);
                self.together = !self.together;
                let left = WARM_UP + MEASURED;
                self.enter(Stage::Trial { since: now, first_work: work, begin: now, work, left }, 1);
            }
            Stage::Trial { since, first_work, begin, work: first, left } => {
                let expected = Duration::from_secs_f64(self.cost * (work - first_work) as f64 * PATIENCE);
                if left == 0 || now - since > expected + PATIENCE_MIN {
                    let faster = left == 0 && cost(now - begin, work - first) < self.cost;
                    return self.choose(faster, now, now - since);
                }
                let (begin, first) = if left == MEASURED { (now, work) } else { (begin, first) };
                self.enter(Stage::Trial { since, first_work, begin, work: first, left: left - 1 }, 1);
            }
        }
    }

    fn enter(&mut self, stage: Stage, rounds: u32) {
        self.stage = stage;
        self.left = rounds;
    }

    /// After a trial of the other way, which took so long.
    fn choose(&mut self, faster: bool, now: Instant, trial: Duration) {
        if faster {
            self.between = BETWEEN_MIN;
        } else {
            self.together = !self.together;
            self.between = (self.between * 2).min(BETWEEN_MAX);
        }
        self.enter(Stage::Cruise { until: now + trial * self.between }, LOOK);
    }
}

/// Host time of a unit of work [s].
fn cost(time: Duration, work: u64) -> f64 {
    time.as_secs_f64() / work.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets rounds of one unit of work pass that take `cost` alone and together; rounds that went together, of the
    /// last half.
    fn together_of(rounds: u64, cost: [Duration; 2]) -> u64 {
        let (mut pace, mut now) = (Pace::new(Threads::UpTo(2)), Instant::now());
        let mut together = 0;
        for work in 0..rounds {
            pace.round(work, || now);
            together += u64::from(pace.together() && work >= rounds / 2);
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
    fn what_is_settled_is_not_tried() {
        for (threads, together) in
            [(Threads::UpTo(1), false), (Threads::Exactly(1), false), (Threads::Exactly(2), true)]
        {
            let mut pace = Pace::new(threads);
            (0..1000).for_each(|work| pace.round(work, || panic!("it looked at the clock")));
            assert_eq!(pace.together(), together, "{threads:?}");
        }
    }
}

//! Whether several host threads are worth their meetings.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Turns of the leading thread in a round, at most: about a tenth of a millisecond.
const TURNS: usize = 128;
/// Turns may be long. There are fewer then, so that a round takes no longer than this.
const ROUND: Duration = Duration::from_micros(200);
const TURNS_MIN: usize = 8;
/// Times as many when all threads go together and nothing is being measured: it costs little then that they meet before it.
const TOGETHER: usize = 8;
/// Rounds in which a way of going is measured, after some to warm up.
const MEASURED: u32 = 8;
const WARM_UP: u32 = 4;
/// Rounds between looks at the host's clock.
const LOOK: u32 = 8;
/// Before the first trial: short runs have none. It costs more than later ones and says nothing about them, since the
/// other threads have everything to decode.
const FIRST: Duration = Duration::from_millis(100);
/// How long to go on between trials, in multiples of the last one's time: at first, at most while their result is not
/// clear, and when it is.
const BETWEEN_MIN: u32 = 16;
const BETWEEN_UNCLEAR: u32 = 64;
const BETWEEN_MAX: u32 = 256;
/// All threads together are worth it when a unit of work takes less than so much of the time that it takes one alone.
const WORTH: f64 = 0.95;
/// So many standard errors from that are enough for a change, and so many are clear. A lower threshold would be wrong
/// more often, but only where the difference is small.
const ERRORS: f64 = 0.7;
const ERRORS_CLEAR: f64 = 1.5;
/// Largest ratio that one trial may contribute.
const RATIO_MAX: f64 = 4.0;
/// A trial that has taken so much longer than the other way would have, and this, is over.
const PATIENCE: f64 = 1.5;
const PATIENCE_MIN: Duration = Duration::from_micros(500);

/// Estimates of the logarithm of a ratio of costs by the last trials. Some only show that the host had other work, or
/// that the program came to a more expensive phase; so they are combined by medians.
#[derive(Clone, Debug, Default)]
struct Evidence {
    estimates: VecDeque<f64>,
}

impl Evidence {
    /// Earlier trials are forgotten: programs change.
    const MEMORY: usize = 9;
    /// Fewer are not enough.
    const LEAST: usize = 3;
    /// Trials differ by no less than this, even if the first few happen to.
    const SPREAD_MIN: f64 = 0.06;

    /// The result of a trial.
    fn add(&mut self, estimate: f64) {
        self.estimates.truncate(Evidence::MEMORY - 1);
        self.estimates.push_front(estimate);
    }

    /// The median, and its standard error. None: too little is known.
    fn median(&self) -> Option<(f64, f64)> {
        let count = self.estimates.len();
        let middle = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            (values[(count - 1) / 2] + values[count / 2]) / 2.0
        };
        if count < Evidence::LEAST {
            return None;
        }
        let median = middle(self.estimates.iter().copied().collect());
        // Of a normal distribution: the standard deviation is 1.48 times the median difference, and the standard error of
        // the median 1.25 times that of the mean.
        let spread = 1.48 * middle(self.estimates.iter().map(|estimate| (estimate - median).abs()).collect());
        Some((median, 1.25 * spread.max(Evidence::SPREAD_MIN) / (count as f64).sqrt()))
    }
}

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
    /// Before the first trial, since `begin`; so many rounds.
    First {
        begin: Instant,
        rounds: u32,
    },
    /// The chosen way.
    Cruise {
        until: Instant,
    },
    /// What the chosen way costs, since `begin`, when partitions had done `work`.
    Before {
        begin: Instant,
        work: u64,
    },
    /// The other way: first it warms up, since the host's caches and sleeping threads follow slowly.
    Trial {
        since: Instant,
        first_work: u64,
        begin: Instant,
        work: u64,
        left: u32,
    },
    /// The chosen way again, after a trial that took so long: first it warms up, too.
    Return {
        trial: Duration,
    },
    After {
        trial: Duration,
        begin: Instant,
        work: u64,
    },
}

/// Tries both ways now and then, one host thread alone and all together, and takes the faster: the host may
/// have other work. Results do not depend on it.
pub(crate) struct Pace {
    together: bool,
    stage: Stage,
    /// Turns of a round.
    turns: usize,
    /// Rounds until there is something to decide.
    left: u32,
    between: u32,
    /// Of the ratio of the costs together and alone.
    evidence: Evidence,
    /// The threads have gone together before.
    is_warm: bool,
    /// Host time of a unit of work [s] the chosen way, before the trial.
    cost: f64,
    /// The same the other way.
    other_cost: f64,
}

impl Pace {
    pub fn new(threads: Threads) -> Pace {
        let (together, stage) = match threads {
            Threads::Exactly(count) => (count > 1, Stage::Fixed),
            Threads::UpTo(count) => (false, if count > 1 { Stage::Start } else { Stage::Fixed }),
        };
        let (evidence, unknown) = (Evidence::default(), f64::MAX);
        Pace {
            together,
            stage,
            turns: TURNS,
            left: 1,
            between: BETWEEN_MIN,
            evidence,
            is_warm: false,
            cost: unknown,
            other_cost: unknown,
        }
    }

    /// All host threads run partitions.
    pub fn together(&self) -> bool {
        self.together
    }

    /// Turns of the leading thread in the next round.
    pub fn turns(&self) -> usize {
        let decided = matches!(self.stage, Stage::Fixed | Stage::Cruise { .. });
        if self.together && decided { TOGETHER * self.turns } else { self.turns }
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
            Stage::Start => self.enter(Stage::First { begin: now, rounds: 0 }, LOOK),
            Stage::First { begin, rounds } if now < begin + FIRST => {
                self.enter(Stage::First { begin, rounds: rounds + LOOK }, LOOK);
            }
            Stage::First { begin, rounds } => {
                let round = (now - begin) / (rounds + LOOK);
                let turns = TURNS as u128 * ROUND.as_nanos() / round.as_nanos().max(1);
                self.turns = (turns as usize).clamp(TURNS_MIN, TURNS);
                self.enter(Stage::Cruise { until: now }, 1);
            }
            Stage::Cruise { until } if now < until => self.left = LOOK,
            Stage::Cruise { .. } => self.enter(Stage::Before { begin: now, work }, MEASURED),
            Stage::Before { begin, work: first } => {
                self.cost = cost(now - begin, work - first);
                self.together = !self.together;
                let left = WARM_UP + MEASURED;
                self.enter(Stage::Trial { since: now, first_work: work, begin: now, work, left }, 1);
            }
            Stage::Trial { since, first_work, begin, work: first, left } => {
                let expected = Duration::from_secs_f64(self.cost * (work - first_work) as f64 * PATIENCE);
                if left == 0 || now - since > expected + PATIENCE_MIN {
                    self.other_cost = if left == 0 { cost(now - begin, work - first) } else { f64::INFINITY };
                    self.together = !self.together;
                    return self.enter(Stage::Return { trial: now - since }, WARM_UP);
                }
                let (begin, first) = if left == MEASURED { (now, work) } else { (begin, first) };
                self.enter(Stage::Trial { since, first_work, begin, work: first, left: left - 1 }, 1);
            }
            Stage::Return { trial } => self.enter(Stage::After { trial, begin: now, work }, MEASURED),
            Stage::After { trial, .. } if !self.is_warm => {
                self.is_warm = true;
                self.choose(now, trial);
            }
            Stage::After { trial, begin, work: first } => {
                self.note(self.cost, cost(now - begin, work - first));
                self.choose(now, trial);
            }
        }
    }

    fn enter(&mut self, stage: Stage, rounds: u32) {
        self.stage = stage;
        self.left = rounds;
    }

    /// The result of a trial, if a unit of work took `before` [s] the chosen way, and then `after`.
    fn note(&mut self, before: f64, after: f64) {
        let ratio = (self.other_cost / (before * after).sqrt()).min(RATIO_MAX);
        self.evidence.add(if self.together { -ratio.ln() } else { ratio.ln() });
    }

    /// After a trial of the other way, which took so long.
    fn choose(&mut self, now: Instant, trial: Duration) {
        if let Some((median, error)) = self.evidence.median() {
            let (together, errors) = (median < WORTH.ln(), (WORTH.ln() - median).abs() / error);
            let most = if errors > ERRORS_CLEAR { BETWEEN_MAX } else { BETWEEN_UNCLEAR };
            self.between = (self.between * 2).min(most);
            if together != self.together && errors > ERRORS {
                self.together = together;
                self.between = BETWEEN_MIN;
            }
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
    use chasqui_random::Random;

    use super::*;

    /// Lets rounds of one unit of work pass that take `cost` alone and together; rounds that went together, of the
    /// last half.
    fn together_of(rounds: u64, cost: [Duration; 2]) -> u64 {
        together_in_phases(rounds, cost, |_| 1)
    }

    /// The same, and a round takes so many times as long, either way, as `phase` says of its number.
    fn together_in_phases(rounds: u64, cost: [Duration; 2], phase: impl Fn(u64) -> u32) -> u64 {
        let (mut pace, mut now) = (Pace::new(Threads::UpTo(2)), Instant::now());
        let mut together = 0;
        for work in 0..rounds {
            pace.round(work, || now);
            together += u64::from(pace.together() && work >= rounds / 2);
            now += cost[usize::from(pace.together())] * phase(work);
        }
        together
    }

    #[test]
    fn the_faster_way_is_taken() {
        let (fast, slow) = (Duration::from_micros(2), Duration::from_micros(40));
        let rounds = 200_000;
        // Trials of the dearer way take a sixtieth of the time at most.
        let together = together_of(rounds, [slow, fast]);
        assert!(together > rounds / 2 * 9 / 10, "{together} of {rounds} went together, the faster way");
        let together = together_of(rounds, [fast, slow]);
        assert!(together < rounds / 2 / 10, "{together} of {rounds} went together, the slower way");
    }

    /// A trial in a phase that is cheaper than the one before it says nothing about the ways.
    #[test]
    fn phases_of_a_program_are_not_taken_for_a_gain() {
        let (rounds, programs) = (400_000, 10);
        for (cost_together, expected) in [(21, 0), (13, rounds / 2)] {
            let cost = [20, cost_together].map(Duration::from_micros);
            for length in [20, 31, 50, 77, 400, 3_000] {
                let mut random = Random::for_test(length);
                let mut together = 0;
                for _ in 0..programs {
                    let phases: Vec<u32> =
                        (0..=rounds / length).map(|_| 1 + random.below(4) as u32).collect();
                    together += together_in_phases(rounds, cost, |n| phases[(n / length) as usize]);
                }
                // Trials as short as the phases are mistaken now and then.
                let allowed = if length < 50 { 4 } else { 16 };
                let mean = together / programs;
                assert!(
                    mean.abs_diff(expected) < rounds / 2 / allowed,
                    "{mean} of {rounds} went together, phases of {length}, {cost:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_decided_is_not_tried() {
        for (threads, together) in
            [(Threads::UpTo(1), false), (Threads::Exactly(1), false), (Threads::Exactly(2), true)]
        {
            let mut pace = Pace::new(threads);
            (0..1000).for_each(|work| pace.round(work, || panic!("it looked at the clock")));
            assert_eq!(pace.together(), together, "{threads:?}");
        }
    }
}

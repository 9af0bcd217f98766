//! Blocks of a job that come to a site from several ones (ours: the memo serves what comes). Of one priority the network is first
//! come first served, and those that send blocks fill it, back to nodes of other jobs. So where there are several jobs a NES has
//! the sites of each take turns, `voyager.dma.sites` at a time: it tells the others to wait, by a packet each, and the next one
//! to go on when a block of one that sends has ended, or that has sent its turn. A site that is told to go on and has nothing
//! that waits says so. So a block that waits does so for one that goes on, or for a packet that is under way.

use std::collections::{BTreeSet, VecDeque};

use chasqui_placement::JobId;

use super::control::Control;
use super::table::Destination;
use super::{NesPlan, Shared};

/// Of a job: who sends blocks to this site.
#[derive(Clone, Debug, Default)]
struct Senders {
    /// The sites whose turn it is, and what each has sent in it [bytes].
    current: Vec<(u32, u64)>,
    /// Sites that have been told to wait, in their order.
    waiting: VecDeque<u32>,
}

/// What a site is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Wait,
    GoOn,
}

impl Senders {
    /// `bytes` of a block have come from `site`. `tell`: a site is to be told.
    fn came(&mut self, site: u32, bytes: u64, turns: Turns, mut tell: impl FnMut(u32, Word)) {
        if let Some((_, sent)) = self.current.iter_mut().find(|(current, _)| *current == site) {
            *sent += bytes;
            if *sent >= turns.bytes && !self.waiting.is_empty() {
                tell(site, Word::Wait);
                self.waiting.push_back(site);
                self.ended(site, tell);
            }
        } else if self.current.len() < turns.sites {
            self.current.push((site, bytes));
        } else if !self.waiting.contains(&site) {
            tell(site, Word::Wait);
            self.waiting.push_back(site);
        }
    }

    /// A block from `site` has ended, or none of it waits: the next one's turn begins.
    fn ended(&mut self, site: u32, mut tell: impl FnMut(u32, Word)) {
        let Some(place) = self.current.iter().position(|&(current, _)| current == site) else { return };
        self.current.remove(place);
        if let Some(next) = self.waiting.pop_front() {
            self.current.push((next, 0));
            tell(next, Word::GoOn);
        }
    }
}

/// How many sites of a job send blocks at a time, and how much in a turn.
#[derive(Clone, Copy, Debug)]
struct Turns {
    sites: usize,
    bytes: u64,
}

/// The senders of blocks to a site, by job.
pub(super) struct BlockSenders {
    /// None: they are not told.
    of_job: Vec<Senders>,
    turns: Turns,
}

impl BlockSenders {
    /// Of so many `jobs`.
    pub fn new(jobs: usize, plan: &NesPlan) -> BlockSenders {
        let jobs = if plan.blocks_take_turns() { jobs } else { 0 };
        let turns = Turns { sites: plan.dma.sites as usize, bytes: plan.dma.site_turn.bytes() };
        BlockSenders { of_job: vec![Senders::default(); jobs], turns }
    }

    /// A piece of `job`'s, of `bytes`, has come from `site`, or (`None`) the end of a block.
    pub fn came(&mut self, job: JobId, site: u32, bytes: Option<u64>, s: &mut Shared) {
        let Some(senders) = self.of_job.get_mut(job.index()) else { return };
        let process = s.homes.first_process(job);
        let tell = |site, word| {
            s.counters.block_waits += u64::from(word == Word::Wait);
            s.control.push_back(Control::Turn { site, process, word });
        };
        match bytes {
            Some(bytes) => senders.came(site, bytes, self.turns, tell),
            None => senders.ended(site, tell),
        }
    }
}

/// Of a site that sends blocks: those of which job wait, for whose sake.
pub(super) struct WaitingBlocks {
    /// There are several jobs: a site is told when a block breaks off, for others may wait for its end.
    pub ends_are_told: bool,
    jobs: BTreeSet<(u32, JobId)>,
    /// They have just been told to go on.
    released: Vec<(u32, JobId)>,
}

impl WaitingBlocks {
    pub fn new(ends_are_told: bool) -> WaitingBlocks {
        WaitingBlocks { ends_are_told, jobs: BTreeSet::new(), released: Vec::new() }
    }

    /// Site `site` tells `job` here to wait, or to go on.
    pub fn told(&mut self, site: u32, job: JobId, word: Word) {
        if word == Word::Wait {
            self.jobs.insert((site, job));
        } else {
            self.jobs.remove(&(site, job));
            self.released.push((site, job));
        }
    }

    /// A site that has told a job here to go on since this was asked last.
    #[inline]
    pub fn released(&mut self) -> Option<(u32, JobId)> {
        self.released.pop()
    }
}

impl Shared {
    /// A block for `to` waits until that site tells it to go on. One for a process that is over need not.
    pub fn waits(&self, to: Destination) -> bool {
        !self.waiting.jobs.is_empty()
            && self.waiting.jobs.contains(&(to.site, self.homes.job_of_queue(to.queue)))
            && self.table.reaches(to)
    }
}

#[cfg(test)]
mod tests {
    use chasqui_random::Random;

    use super::*;

    const TURNS: Turns = Turns { sites: 1, bytes: 100 };

    /// What sites are told when pieces of so many bytes come, or ends (0).
    fn told(senders: &mut Senders, what: &[(u32, u64)]) -> Vec<(u32, Word)> {
        let mut words = vec![];
        for &(site, bytes) in what {
            let tell = |site, word| words.push((site, word));
            match bytes {
                0 => senders.ended(site, tell),
                bytes => senders.came(site, bytes, TURNS, tell),
            }
        }
        words
    }

    #[test]
    fn one_that_sends_alone_is_told_nothing() {
        let mut senders = Senders::default();
        assert!(told(&mut senders, &[(1, 80), (1, 80), (1, 0), (2, 80), (2, 0), (1, 500)]).is_empty());
    }

    #[test]
    fn others_wait_until_its_block_has_ended() {
        let mut senders = Senders::default();
        let words =
            told(&mut senders, &[(1, 10), (2, 10), (3, 10), (2, 10), (1, 10), (1, 0), (2, 10), (2, 0)]);
        let expected = [(2, Word::Wait), (3, Word::Wait), (2, Word::GoOn), (3, Word::GoOn)];
        assert_eq!(words, expected);
        assert!(told(&mut senders, &[(1, 0), (2, 0)]).is_empty(), "it is not their turn");
        assert!(told(&mut senders, &[(3, 0), (2, 10)]).is_empty());
    }

    #[test]
    fn or_it_has_sent_its_turn() {
        let mut senders = Senders::default();
        let words = told(&mut senders, &[(1, 60), (2, 10), (1, 60), (2, 90), (2, 10)]);
        let expected = [(2, Word::Wait), (1, Word::Wait), (2, Word::GoOn), (2, Word::Wait), (1, Word::GoOn)];
        assert_eq!(words, expected);
    }

    #[test]
    fn as_many_at_a_time_as_is_said() {
        let (mut senders, mut words) = (Senders::default(), vec![]);
        for site in 1..=4 {
            senders.came(site, 10, Turns { sites: 2, ..TURNS }, |site, word| words.push((site, word)));
        }
        senders.ended(2, |site, word| words.push((site, word)));
        assert_eq!(words, [(3, Word::Wait), (4, Word::Wait), (3, Word::GoOn)]);
    }

    /// Random sites, blocks, ends before their time and delays: nobody waits for ever.
    #[test]
    fn whoever_waits_is_told_to_go_on() {
        for seed in 0..200 {
            Sites::new(seed).run();
        }
    }

    /// Sites, each with blocks for one other, by first-in first-out links to it and back.
    struct Sites {
        senders: Senders,
        /// Of each: what is left of its blocks [bytes], the first of which may have begun, and whether it waits.
        blocks: Vec<VecDeque<(u64, bool)>>,
        waits: Vec<bool>,
        there: Vec<VecDeque<u64>>,
        back: Vec<VecDeque<Word>>,
        turns: Turns,
        random: Random,
    }

    impl Sites {
        fn new(seed: u64) -> Sites {
            let mut random = Random::new(seed);
            let sites = 2 + random.below(4) as usize;
            let mut blocks = || (0..random.below(6)).map(|_| (1 + random.below(300), false)).collect();
            let blocks = (0..sites).map(|_| blocks()).collect();
            Sites {
                senders: Senders::default(),
                blocks,
                waits: vec![false; sites],
                there: vec![VecDeque::new(); sites],
                back: vec![VecDeque::new(); sites],
                turns: Turns { sites: 1 + random.below(3) as usize, ..TURNS },
                random,
            }
        }

        fn is_over(&self) -> bool {
            self.blocks.iter().all(VecDeque::is_empty) && self.there.iter().all(VecDeque::is_empty)
        }

        fn run(&mut self) {
            for _ in 0..100_000 {
                if self.is_over() {
                    return;
                }
                let site = self.random.below(self.blocks.len() as u64) as usize;
                match self.random.below(4) {
                    0 => self.hear(site),
                    1 => self.come(site),
                    _ => self.send(site),
                }
            }
            panic!("{:?}: {:?} wait for ever", self.senders, self.waits);
        }

        fn send(&mut self, site: usize) {
            let dies = self.random.below(20) == 0;
            let Some((left, has_begun)) = self.blocks[site].front_mut() else { return };
            if self.waits[site] && *left > 0 && !dies {
                *has_begun = true; // It waits for its turn.
                return;
            }
            let bytes = (*left).min(40);
            if !dies && bytes > 0 {
                (*left, *has_begun) = (*left - bytes, true);
                return self.there[site].push_back(bytes);
            }
            if *has_begun || !dies {
                self.there[site].push_back(0);
            }
            self.blocks[site].pop_front();
        }

        fn come(&mut self, site: usize) {
            let Some(bytes) = self.there[site].pop_front() else { return };
            let back = &mut self.back;
            let tell = |site: u32, word| back[site as usize].push_back(word);
            match bytes {
                0 => self.senders.ended(site as u32, tell),
                bytes => self.senders.came(site as u32, bytes, self.turns, tell),
            }
        }

        fn hear(&mut self, site: usize) {
            let Some(word) = self.back[site].pop_front() else { return };
            self.waits[site] = word == Word::Wait;
            let has_begun = self.blocks[site].front().is_some_and(|&(_, has_begun)| has_begun);
            if word == Word::GoOn && !has_begun {
                self.there[site].push_back(0);
            }
        }
    }
}

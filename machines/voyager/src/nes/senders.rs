//! Blocks of a job that come to a site from several ones (ours: the memo serves what comes). Of one priority the network is first
//! come first served, and those that send blocks fill it, back to nodes of other jobs. So where there are several jobs a NES has
//! the sites of each take turns, `voyager.dma.sites` at a time: it tells the others to wait, by a packet each, and the next one
//! to go on when one that sends has ended, or has sent its turn. A site that was told to go on keeps its turn over the ends of its
//! blocks, however short they are, and says when it has no more; of one that was told nothing, a block's end is the end. So a
//! block that waits does so for one that goes on, for a packet that is under way, or for what holds up the site whose turn it is.

use std::collections::{BTreeSet, VecDeque};

use chasqui_placement::JobId;

use super::control::Control;
use super::table::Destination;
use super::{NesPlan, Shared};

/// A site whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Turn {
    site: u32,
    /// What it has sent in it [bytes].
    sent: u64,
    /// It was told to go on: it says when it has no more.
    was_told: bool,
}

/// Of a job: who sends blocks to this site.
#[derive(Clone, Debug, Default)]
struct Senders {
    current: Vec<Turn>,
    /// Sites that have been told to wait, in their order.
    waiting: VecDeque<u32>,
    /// All are to wait.
    is_paused: bool,
}

/// What comes from a site that sends blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FromSender {
    /// A piece of a block, of so many bytes.
    Piece(u64),
    /// The notice behind a block, of so many bytes.
    Notice(u64),
    /// It has no more.
    Ended,
}

/// What blocks from a site are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Stop,
    Go,
}

impl Senders {
    /// What has come from `site`. `tell`: a site is to be told.
    fn came(&mut self, site: u32, what: FromSender, turns: Turns, mut tell: impl FnMut(u32, Flow)) {
        let has_room = self.current.len() < turns.sites && !self.is_paused;
        let current = self.current.iter_mut().find(|turn| turn.site == site);
        match (current, what) {
            (Some(Turn { was_told: false, .. }), FromSender::Notice(_)) => self.ended(site, tell),
            // It was said before the site heard that all wait. It will say so again.
            (Some(_), FromSender::Ended) if self.is_paused => {}
            (Some(_), FromSender::Ended) => self.ended(site, tell),
            (Some(turn), FromSender::Piece(bytes) | FromSender::Notice(bytes)) => {
                turn.sent += bytes;
                if turn.sent >= turns.bytes && !self.waiting.is_empty() {
                    self.waiting.push_back(site);
                    if !self.is_paused {
                        tell(site, Flow::Stop);
                    }
                    self.ended(site, tell);
                }
            }
            (None, FromSender::Piece(sent)) if has_room => {
                self.current.push(Turn { site, sent, was_told: false });
            }
            // A block without data is over: only if there is no room its site waits, for there may be more.
            (None, FromSender::Notice(_)) if has_room => {}
            (None, FromSender::Piece(_) | FromSender::Notice(_)) if !self.waiting.contains(&site) => {
                self.waiting.push_back(site);
                tell(site, Flow::Stop);
            }
            (None, _) => {}
        }
    }

    /// The turn of `site` ends: the next one's begins.
    fn ended(&mut self, site: u32, tell: impl FnMut(u32, Flow)) {
        self.current.retain(|turn| turn.site != site);
        self.next(tell);
    }

    /// The turn of the first that waits begins: it is told, unless all wait.
    fn next(&mut self, mut tell: impl FnMut(u32, Flow)) {
        if let Some(site) = self.waiting.pop_front() {
            self.current.push(Turn { site, sent: 0, was_told: true });
            if !self.is_paused {
                tell(site, Flow::Go);
            }
        }
    }

    /// All are to wait, if they do not; turns are whose they were.
    fn pause(&mut self, mut tell: impl FnMut(u32, Flow)) {
        if std::mem::replace(&mut self.is_paused, true) {
            return;
        }
        for turn in &mut self.current {
            turn.was_told = true;
            tell(turn.site, Flow::Stop);
        }
    }

    /// They go on, if they wait.
    fn resume(&mut self, turns: Turns, mut tell: impl FnMut(u32, Flow)) {
        if !std::mem::replace(&mut self.is_paused, false) {
            return;
        }
        self.current.iter().for_each(|turn| tell(turn.site, Flow::Go));
        (self.current.len()..turns.sites).for_each(|_| self.next(&mut tell));
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
    /// Empty: there are no turns.
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

    /// What of `job`'s has come from `site`.
    pub fn came(&mut self, job: JobId, site: u32, what: FromSender, s: &mut Shared) {
        let Some(senders) = self.of_job.get_mut(job.index()) else { return };
        senders.came(site, what, self.turns, |site, flow| {
            s.counters.block_waits += u64::from(flow == Flow::Stop);
            s.tell(site, job, flow);
        });
    }

    /// All of `job`'s sites are to wait, if they do not.
    pub fn pause(&mut self, job: JobId, s: &mut Shared) {
        let Some(senders) = self.of_job.get_mut(job.index()) else { return };
        senders.pause(|site, flow| {
            s.counters.page_waits += 1;
            s.tell(site, job, flow);
        });
    }

    /// They go on, if they wait.
    pub fn resume(&mut self, job: JobId, s: &mut Shared) {
        let Some(senders) = self.of_job.get_mut(job.index()) else { return };
        senders.resume(self.turns, |site, flow| s.tell(site, job, flow));
    }
}

/// Of a site that sends blocks: what it has been told, by whom, of which job.
pub(super) struct FlowControl {
    /// There are several jobs: a site is told when blocks end, for others may wait for it.
    ends_are_told: bool,
    waiting: BTreeSet<(u32, JobId)>,
    going_on: BTreeSet<(u32, JobId)>,
}

impl FlowControl {
    pub fn new(ends_are_told: bool) -> FlowControl {
        FlowControl { ends_are_told, waiting: BTreeSet::new(), going_on: BTreeSet::new() }
    }

    /// Site `site` has blocks of `job` here wait, or go on.
    pub fn set(&mut self, site: u32, job: JobId, flow: Flow) {
        let [to, from] = match flow {
            Flow::Stop => [&mut self.waiting, &mut self.going_on],
            Flow::Go => [&mut self.going_on, &mut self.waiting],
        };
        to.insert((site, job));
        from.remove(&(site, job));
    }

    /// Blocks of `job` for `site` wait.
    #[inline]
    pub fn wait(&self, site: u32, job: JobId) -> bool {
        !self.waiting.is_empty() && self.waiting.contains(&(site, job))
    }

    /// A block of `job` for `site`, of which that has had pieces, has broken off: whether it is told that at once. If it told this
    /// one to go on, it is told when there are no more.
    pub fn tells_break(&self, site: u32, job: JobId) -> bool {
        self.ends_are_told && !self.going_on.contains(&(site, job))
    }

    /// The sites that have told this one to go on, and the jobs of which they did.
    #[inline]
    pub fn going_on(&self) -> impl Iterator<Item = (u32, JobId)> {
        self.going_on.iter().copied()
    }

    /// There are no more blocks of `job` for `site`, which is to be told.
    pub fn ended(&mut self, site: u32, job: JobId) {
        self.going_on.remove(&(site, job));
    }
}

impl Shared {
    /// `site` is told what `job`'s blocks there are to do.
    fn tell(&mut self, site: u32, job: JobId, flow: Flow) {
        let process = self.homes.first_process(job);
        self.control.push_back(Control::Turn { site, process, flow });
    }

    /// A block for `to` waits until that site tells it to go on. One for a process that is over need not.
    pub fn waits(&self, to: Destination) -> bool {
        self.flow.wait(to.site, self.homes.job_of_queue(to.queue)) && self.table.reaches(to)
    }
}

#[cfg(test)]
mod tests {
    use chasqui_random::Random;

    use super::*;

    const TURNS: Turns = Turns { sites: 1, bytes: 100 };

    /// What sites are told when pieces of so many bytes come, notices (1 byte), or ends (0).
    fn told(senders: &mut Senders, what: &[(u32, u64)]) -> Vec<(u32, Flow)> {
        let mut said = vec![];
        for &(site, bytes) in what {
            let what = match bytes {
                0 => FromSender::Ended,
                1 => FromSender::Notice(1),
                bytes => FromSender::Piece(bytes),
            };
            senders.came(site, what, TURNS, |site, flow| said.push((site, flow)));
        }
        said
    }

    #[test]
    fn one_that_sends_alone_is_told_nothing() {
        let mut senders = Senders::default();
        assert!(told(&mut senders, &[(1, 80), (1, 80), (1, 1), (2, 80), (2, 1), (1, 500)]).is_empty());
    }

    #[test]
    fn others_wait_until_its_block_has_ended() {
        for end in [0, 1] {
            let mut senders = Senders::default();
            let said = told(&mut senders, &[(1, 10), (2, 10), (3, 10), (2, 10), (1, 10), (1, end), (2, 10)]);
            assert_eq!(said, [(2, Flow::Stop), (3, Flow::Stop), (2, Flow::Go)]);
            assert!(told(&mut senders, &[(1, 0), (3, end)]).is_empty(), "it is not their turn");
        }
    }

    #[test]
    fn one_that_was_told_to_go_on_says_when_it_has_no_more() {
        let mut senders = Senders::default();
        told(&mut senders, &[(1, 10), (2, 10), (3, 10), (1, 1)]);
        assert!(told(&mut senders, &[(2, 10), (2, 1), (2, 10), (2, 1)]).is_empty());
        assert_eq!(told(&mut senders, &[(2, 0)]), [(3, Flow::Go)]);
        assert!(told(&mut senders, &[(3, 0), (1, 10), (1, 1)]).is_empty());
    }

    #[test]
    fn or_it_has_sent_its_turn() {
        let mut senders = Senders::default();
        let said = told(&mut senders, &[(1, 60), (2, 10), (1, 60), (2, 90), (2, 10)]);
        let expected = [(2, Flow::Stop), (1, Flow::Stop), (2, Flow::Go), (2, Flow::Stop), (1, Flow::Go)];
        assert_eq!(said, expected);
    }

    #[test]
    fn blocks_without_data_are_a_turn_too() {
        let mut senders = Senders::default();
        told(&mut senders, &[(1, 10), (2, 10), (1, 1), (3, 10)]);
        let said = told(&mut senders, &[(2, 1); 100]);
        assert_eq!(said, [(2, Flow::Stop), (3, Flow::Go)]);
    }

    #[test]
    fn one_without_data_waits_for_a_turn_too() {
        let mut senders = Senders::default();
        assert!(told(&mut senders, &[(1, 1), (2, 1)]).is_empty(), "they are over");
        assert_eq!(told(&mut senders, &[(1, 10), (2, 1), (2, 1)]), [(2, Flow::Stop)]);
        assert_eq!(told(&mut senders, &[(1, 1)]), [(2, Flow::Go)]);
    }

    #[test]
    fn as_many_at_a_time_as_is_said() {
        let (mut senders, mut said) = (Senders::default(), vec![]);
        let turns = Turns { sites: 2, ..TURNS };
        for site in 1..=4 {
            senders.came(site, FromSender::Piece(10), turns, |site, flow| said.push((site, flow)));
        }
        senders.came(2, FromSender::Notice(1), turns, |site, flow| said.push((site, flow)));
        assert_eq!(said, [(3, Flow::Stop), (4, Flow::Stop), (3, Flow::Go)]);
    }

    #[test]
    fn all_wait_for_a_page_and_turns_go_on() {
        let (mut senders, mut said) = (Senders::default(), vec![]);
        told(&mut senders, &[(1, 10), (2, 10)]);
        senders.pause(|site, flow| said.push((site, flow)));
        assert_eq!(said, [(1, Flow::Stop)]);
        assert_eq!(told(&mut senders, &[(1, 10), (3, 10), (1, 1), (1, 0)]), [(3, Flow::Stop)]);
        said.clear();
        senders.resume(TURNS, |site, flow| said.push((site, flow)));
        assert_eq!(said, [(1, Flow::Go)]);
        assert_eq!(told(&mut senders, &[(1, 80)]), [(1, Flow::Stop), (2, Flow::Go)], "it had sent 21");
        assert_eq!(told(&mut senders, &[(2, 0)]), [(3, Flow::Go)]);
    }

    #[test]
    fn a_turn_may_end_while_all_wait() {
        let (mut senders, mut said) = (Senders::default(), vec![]);
        told(&mut senders, &[(1, 10), (2, 10)]);
        senders.pause(|_, _| ());
        assert!(told(&mut senders, &[(1, 100), (1, 10), (2, 10)]).is_empty(), "they have been told");
        senders.resume(TURNS, |site, flow| said.push((site, flow)));
        assert_eq!(said, [(2, Flow::Go)]);
        assert_eq!(told(&mut senders, &[(2, 0)]), [(1, Flow::Go)]);
    }

    #[test]
    fn who_comes_while_all_wait_waits_and_neither_is_said_twice() {
        let mut senders = Senders::default();
        let mut said = vec![];
        senders.pause(|_, _| ());
        assert_eq!(told(&mut senders, &[(1, 10), (1, 10)]), [(1, Flow::Stop)]);
        senders.resume(TURNS, |site, flow| said.push((site, flow)));
        senders.resume(TURNS, |site, flow| said.push((site, flow)));
        senders.pause(|site, flow| said.push((site, flow)));
        senders.pause(|site, flow| said.push((site, flow)));
        assert_eq!(said, [(1, Flow::Go), (1, Flow::Stop)]);
    }

    #[test]
    fn a_break_is_told_at_once_unless_the_turn_goes_on() {
        let mut told = FlowControl::new(true);
        assert!(told.tells_break(HERE, JOB) && !FlowControl::new(false).tells_break(HERE, JOB));
        told.set(HERE, JOB, Flow::Go);
        assert!(!told.tells_break(HERE, JOB));
        told.set(HERE, JOB, Flow::Stop);
        assert!(told.tells_break(HERE, JOB));
    }

    /// Random sites, blocks, ends before their time and delays: nobody waits for ever.
    #[test]
    fn whoever_waits_is_told_to_go_on() {
        for seed in 0..1000 {
            Sites::new(seed).run();
        }
    }

    const JOB: JobId = JobId(0);
    /// The site that the blocks are for.
    const HERE: u32 = 99;

    /// Sites, each with blocks for one other, by first-in first-out links to it and back.
    struct Sites {
        seed: u64,
        senders: Senders,
        is_paused: bool,
        /// Of each: what is left of its blocks [bytes]; whether a piece of the first has been sent.
        blocks: Vec<VecDeque<u64>>,
        has_begun: Vec<bool>,
        told: Vec<FlowControl>,
        there: Vec<VecDeque<FromSender>>,
        back: Vec<VecDeque<Flow>>,
        turns: Turns,
        random: Random,
    }

    impl Sites {
        fn new(seed: u64) -> Sites {
            let mut random = Random::new(seed);
            let sites = 2 + random.below(4) as usize;
            let mut blocks = || (0..random.below(6)).map(|_| random.below(300) * random.below(2)).collect();
            Sites {
                seed,
                senders: Senders::default(),
                is_paused: false,
                blocks: (0..sites).map(|_| blocks()).collect(),
                has_begun: vec![false; sites],
                told: (0..sites).map(|_| FlowControl::new(true)).collect(),
                there: vec![VecDeque::new(); sites],
                back: vec![VecDeque::new(); sites],
                turns: Turns { sites: 1 + random.below(3) as usize, ..TURNS },
                random,
            }
        }

        fn is_over(&self) -> bool {
            self.blocks.iter().all(VecDeque::is_empty)
                && self.there.iter().all(VecDeque::is_empty)
                && self.back.iter().all(VecDeque::is_empty)
        }

        fn run(&mut self) {
            for _ in 0..100_000 {
                if self.is_over() {
                    return;
                }
                let site = self.random.below(self.blocks.len() as u64) as usize;
                match self.random.below(40) {
                    0 => self.pause_or_resume(),
                    1..10 => self.hear(site),
                    10..20 => self.come(site),
                    _ => self.send(site),
                }
                self.end_turn(site);
            }
            panic!("seed {}: {:?} wait for ever", self.seed, self.senders);
        }

        fn pause_or_resume(&mut self) {
            let back = &mut self.back;
            let tell = |site: u32, flow| back[site as usize].push_back(flow);
            match self.is_paused {
                true => self.senders.resume(self.turns, tell),
                false => self.senders.pause(tell),
            }
            self.is_paused = !self.is_paused;
        }

        /// A piece or the notice of the first block, unless it waits; or that breaks off.
        fn send(&mut self, site: usize) {
            let waits = self.told[site].wait(HERE, JOB);
            // One that waits does not: it would hide that it waits for ever.
            let breaks_off = self.random.below(20) == 0 && !waits;
            let Some(left) = self.blocks[site].front_mut() else { return };
            let is_sent = *left == 0 && self.has_begun[site];
            if waits && !is_sent {
                return;
            }
            if breaks_off {
                if self.has_begun[site] && self.told[site].tells_break(HERE, JOB) {
                    self.there[site].push_back(FromSender::Ended);
                }
            } else if *left > 0 {
                let bytes = (*left).min(40);
                (*left, self.has_begun[site]) = (*left - bytes, true);
                return self.there[site].push_back(FromSender::Piece(bytes));
            } else {
                self.there[site].push_back(FromSender::Notice(1));
            }
            self.has_begun[site] = false;
            self.blocks[site].pop_front();
        }

        /// It says that it has no more, if it was told to go on.
        fn end_turn(&mut self, site: usize) {
            let is_over = self.blocks[site].is_empty() && self.told[site].going_on().count() > 0;
            if is_over {
                self.told[site].ended(HERE, JOB);
                self.there[site].push_back(FromSender::Ended);
            }
        }

        fn come(&mut self, site: usize) {
            let Some(what) = self.there[site].pop_front() else { return };
            let back = &mut self.back;
            let tell = |site: u32, flow| back[site as usize].push_back(flow);
            self.senders.came(site as u32, what, self.turns, tell);
        }

        fn hear(&mut self, site: usize) {
            if let Some(flow) = self.back[site].pop_front() {
                self.told[site].set(HERE, JOB, flow);
            }
        }
    }
}

//! Memory inside an NI that several masters share: DMA engines, the node's processor, a firmware processor. An arbiter gives
//! each access of a clock, one word of the bus's width, to the first master in the order of that access that wants it.
//!
//! What is asked for at one time competes some clocks later ([`SramSpec::lead_clocks`]); so for that long ahead it is known
//! who wants what, and the accesses until then can be given at once, in their order. Data move as words are given.

use std::collections::VecDeque;

use chasqui_counters::{Counters, Visitor, below, counters};
use chasqui_engine::{Clock, Time};
use chasqui_memory::{FlatMemory, PAGE_BYTES};

/// What an SRAM is made from.
pub struct SramSpec {
    /// Capacity [bytes], whole pages.
    pub bytes: u64,
    /// Bus clock.
    pub clock: Clock,
    /// Width of the bus [bytes].
    pub width: u32,
    /// Names of its masters, for counters; a master is its index here.
    pub masters: &'static [&'static str],
    /// The accesses of a clock: for each the masters that may have it, the first of which goes first.
    pub accesses: &'static [&'static [usize]],
    /// From an engine's request to the first access that it competes for [clocks], at least one.
    pub lead_clocks: u64,
}

/// What moves in a block of accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SramData {
    /// So many bytes are read.
    Read(u32),
    /// These are written.
    Write(Vec<u8>),
}

/// The pace of a block whose bytes come from another bus: a word of that bus each clock, all of which is there at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SramPace {
    /// The other bus's clock.
    pub clock: Clock,
    /// The edge of it at which the first word has come.
    pub first: u64,
    /// Its width [bytes].
    pub width: u32,
}

impl SramPace {
    /// When byte number `byte` of a block at `address` has come.
    fn comes(&self, address: u64, byte: u32) -> Time {
        let width = u64::from(self.width);
        self.clock.edge(self.first + (address % width + u64::from(byte)) / width)
    }
}

/// Consecutive accesses of a master: words of the bus's width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SramBlock {
    /// Address of the first byte.
    pub address: u64,
    /// What moves.
    pub data: SramData,
    /// No word is wanted before all of its bytes have come. None: they are there.
    pub pace: Option<SramPace>,
    /// The engine is not told of its end, which costs the host less.
    pub is_silent: bool,
}

/// A block of which the last word has been given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SramDone {
    /// Whose.
    pub master: usize,
    /// When the last access is over.
    pub end: Time,
    /// What was read, or written.
    pub data: Vec<u8>,
}

counters! {
    /// Counters of a master.
    pub struct SramStatistics {
        /// Words that it was given.
        accesses: "count";
        /// Accesses that it wanted and might have had, and that another master was given.
        conflicts: "count";
    }
}

/// A block under way.
struct UnderWay {
    block_address: u64,
    data: Vec<u8>,
    is_write: bool,
    is_silent: bool,
    pace: Option<SramPace>,
    /// Bytes that have moved.
    moved: u32,
    /// The next word is not wanted before.
    from: Time,
}

impl UnderWay {
    /// Length of the next word of a bus of `width` [bytes].
    fn next_bytes(&self, width: u32) -> u32 {
        let in_word = width - (self.block_address + u64::from(self.moved)) as u32 % width;
        in_word.min(self.data.len() as u32 - self.moved)
    }

    /// The next word is not wanted before its bytes have come.
    fn wait(&mut self, width: u32) {
        if let Some(pace) = &self.pace {
            let last = self.moved + self.next_bytes(width) - 1;
            self.from = self.from.max(pace.comes(self.block_address, last));
        }
    }
}

#[derive(Default)]
struct Master {
    blocks: VecDeque<UnderWay>,
    statistics: SramStatistics,
}

/// The memory and its arbiter.
pub struct Sram {
    spec: SramSpec,
    /// Beyond what the masters can reach there is a page for a processor's page table.
    memory: FlatMemory,
    /// Ticks with each access.
    ticks: Clock,
    /// The next access to be given.
    next: u64,
    masters: Vec<Master>,
}

impl Sram {
    /// One of which nobody wants anything; all bytes are zero.
    ///
    /// # Errors
    /// The host has no address space for it.
    pub fn new(spec: SramSpec) -> Result<Sram, String> {
        assert!(spec.lead_clocks > 0, "what is asked for now must not change what was given before");
        assert!(spec.width.is_power_of_two() && spec.bytes.is_multiple_of(PAGE_BYTES));
        let memory = FlatMemory::new(spec.bytes + PAGE_BYTES).map_err(|e| format!("an SRAM: {e}"))?;
        Ok(Sram {
            memory,
            ticks: Clock::new(spec.clock.hz() * spec.accesses.len() as u64),
            next: 0,
            masters: spec.masters.iter().map(|_| Master::default()).collect(),
            spec,
        })
    }

    /// Capacity [bytes].
    pub fn bytes(&self) -> u64 {
        self.spec.bytes
    }

    /// What it holds now: everything that was given before.
    pub fn memory(&mut self) -> &mut FlatMemory {
        &mut self.memory
    }

    /// Until then, seen from `now`, it is known who wants what.
    pub fn horizon(&self, now: Time) -> Time {
        self.spec.clock.after(now, self.spec.lead_clocks)
    }

    /// An engine, `master`, asks at `now` for a block, behind those that it has asked for before.
    ///
    /// # Errors
    /// The SRAM has not so many bytes: what was asked for, in words.
    pub fn ask(&mut self, master: usize, now: Time, block: SramBlock) -> Result<(), String> {
        let from = self.horizon(now);
        let given = self.next.checked_sub(1).map(|last| self.ticks.edge(last));
        assert!(given.is_none_or(|last| last < from), "{last:?} was given before {from:?}", last = given);
        self.enter(master, from, block)
    }

    /// A block that competes from `from` on.
    pub(crate) fn enter(&mut self, master: usize, from: Time, block: SramBlock) -> Result<(), String> {
        let SramBlock { address, data, pace, is_silent } = block;
        let (data, is_write) = match data {
            SramData::Read(bytes) => (vec![0; bytes as usize], false),
            SramData::Write(data) => (data, true),
        };
        if address.checked_add(data.len() as u64).is_none_or(|end| end > self.spec.bytes) || data.is_empty() {
            let (name, has) = (self.spec.masters[master], self.spec.bytes);
            return Err(format!(
                "{name} asks for {} bytes at {address:#x} of an SRAM of {has:#x}",
                data.len()
            ));
        }
        let mut block = UnderWay { block_address: address, data, is_write, is_silent, pace, moved: 0, from };
        block.wait(self.spec.width);
        self.masters[master].blocks.push_back(block);
        Ok(())
    }

    /// A master wants something of which it is to be told.
    pub fn is_busy(&self) -> bool {
        self.masters.iter().any(|master| master.blocks.iter().any(|block| !block.is_silent))
    }

    /// `master` wants something.
    pub fn has_block(&self, master: usize) -> bool {
        !self.masters[master].blocks.is_empty()
    }

    /// Some block of which a master is to be told ends then at the soonest, whatever is asked for.
    pub(crate) fn end_min(&self) -> Option<Time> {
        let end = |(number, master): (usize, &Master)| {
            // Those before it end before it.
            let front =
                master.blocks.front().filter(|_| master.blocks.iter().any(|block| !block.is_silent))?;
            Some(self.end(number, front))
        };
        self.masters.iter().enumerate().filter_map(end).min()
    }

    /// When the last access of `block` of `master` is over, if no other is given what it wants.
    fn end(&self, master: usize, block: &UnderWay) -> Time {
        let (accesses, width) = (self.spec.accesses, u64::from(self.spec.width));
        let own = accesses.iter().filter(|order| order.contains(&master)).count().max(1) as u64;
        let from = self.next.max(self.ticks.edge_at_or_after(block.from));
        let next = block.block_address + u64::from(block.moved);
        let left = block.data.len() as u64 - u64::from(block.moved);
        let words = (next % width + left).div_ceil(width);
        let last = from + (words - 1) * (accesses.len() as u64 / own);
        let comes = block.pace.map(|pace| pace.comes(block.block_address, block.data.len() as u32 - 1));
        self.ticks.edge(comes.map_or(last, |comes| last.max(self.ticks.edge_at_or_after(comes))) + 1)
    }

    /// Gives the accesses that begin before `until`, in their order, up to the end of a block.
    pub fn give(&mut self, until: Time) -> Option<SramDone> {
        loop {
            let wanted = self.masters.iter().filter_map(|m| Some(m.blocks.front()?.from)).min()?;
            let access = self.next.max(self.ticks.edge_at_or_after(wanted));
            let start = self.ticks.edge(access);
            if start >= until {
                return None;
            }
            self.next = access + 1;
            let order = self.spec.accesses[(access % self.spec.accesses.len() as u64) as usize];
            let mut given = None;
            for &master in order {
                let Master { blocks, statistics } = &mut self.masters[master];
                if blocks.front().is_some_and(|block| block.from <= start) {
                    statistics.conflicts += u64::from(given.is_some());
                    given = given.or(Some(master));
                }
            }
            if let Some(master) = given
                && let Some(data) = self.move_word(master, start)
            {
                return Some(SramDone { master, end: self.ticks.edge(access + 1), data });
            }
        }
    }

    /// A word of `master`'s oldest block moves at `start`: the block's data, if it was the last.
    fn move_word(&mut self, master: usize, start: Time) -> Option<Vec<u8>> {
        let Master { blocks, statistics } = &mut self.masters[master];
        let block = blocks.front_mut().expect("it wants an access");
        statistics.accesses += 1;
        let address = block.block_address + u64::from(block.moved);
        let bytes = block.next_bytes(self.spec.width) as usize;
        let here = self.memory.slice_mut(address, bytes).expect("it was checked");
        let there = &mut block.data[block.moved as usize..][..bytes];
        if block.is_write {
            here.copy_from_slice(there)
        } else {
            there.copy_from_slice(here)
        }
        block.moved += bytes as u32;
        if block.moved as usize == block.data.len() {
            return blocks.pop_front().filter(|block| !block.is_silent).map(|block| block.data);
        }
        block.from = start;
        block.wait(self.spec.width);
        None
    }

    /// What has happened to `master`.
    pub fn master(&self, master: usize) -> SramStatistics {
        self.masters[master].statistics
    }

    /// Visits the masters' counters, each below its name.
    pub fn statistics(&self, visit: &mut Visitor<'_>) {
        for (name, master) in self.spec.masters.iter().zip(&self.masters) {
            master.statistics.visit(&mut below(name, visit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: usize = 0;
    const RECEIVE: usize = 1;
    const SEND: usize = 2;
    const PROCESSOR: usize = 3;

    /// Two accesses a clock of 100 ns, of 4 bytes: as on the board of MPI-NP (section 2.3.2).
    fn sram() -> Sram {
        Sram::new(SramSpec {
            bytes: 1 << 16,
            clock: Clock::new(10_000_000),
            width: 4,
            masters: &["host", "receive", "send", "processor"],
            accesses: &[&[HOST, PROCESSOR], &[RECEIVE, SEND, PROCESSOR]],
            lead_clocks: 1,
        })
        .unwrap()
    }

    fn read(bytes: u32) -> SramBlock {
        SramBlock { address: 0, data: SramData::Read(bytes), pace: None, is_silent: false }
    }

    #[test]
    fn a_word_is_there_after_its_access() {
        let mut sram = sram();
        sram.ask(HOST, Time::ZERO, read(4)).unwrap();
        // It competes from the next clock on, whose first access takes half of it.
        assert_eq!(sram.give(Time(100_000)), None);
        let done = sram.give(Time(100_001)).unwrap();
        assert_eq!((done.master, done.end, done.data.len()), (HOST, Time(150_000), 4));
        assert!(!sram.is_busy());
    }

    #[test]
    fn eight_bytes_take_two_accesses_and_what_is_not_aligned_three() {
        let mut sram = sram();
        for (address, accesses) in [(0, 2), (2, 3)] {
            let before = sram.master(PROCESSOR).accesses;
            sram.enter(PROCESSOR, Time::ZERO, SramBlock { address, ..read(8) }).unwrap();
            sram.give(Time::END).unwrap();
            assert_eq!(sram.master(PROCESSOR).accesses - before, accesses);
        }
    }

    /// n words of an engine that may have one access of each clock end n clocks after the first begins, less the half clock
    /// that it doesn't use.
    #[test]
    fn an_engine_has_one_access_a_clock_and_a_processor_what_is_left() {
        let mut sram = sram();
        sram.ask(HOST, Time::ZERO, read(40)).unwrap();
        sram.enter(PROCESSOR, Time(100_000), read(40)).unwrap();
        let first = sram.give(Time::END).unwrap();
        let second = sram.give(Time::END).unwrap();
        assert_eq!((first.master, first.end), (HOST, Time(100_000 + 10 * 100_000 - 50_000)));
        assert_eq!((second.master, second.end), (PROCESSOR, Time(100_000 + 10 * 100_000)));
        assert_eq!(sram.master(PROCESSOR), SramStatistics { accesses: 10, conflicts: 10 });
        assert_eq!(sram.master(HOST), SramStatistics { accesses: 10, conflicts: 0 });
    }

    #[test]
    fn two_busy_engines_stop_the_processor() {
        let mut sram = sram();
        sram.ask(HOST, Time::ZERO, read(40)).unwrap();
        sram.ask(RECEIVE, Time::ZERO, read(40)).unwrap();
        sram.ask(SEND, Time::ZERO, read(4)).unwrap();
        sram.enter(PROCESSOR, Time(100_000), read(4)).unwrap();
        let order: Vec<_> = std::iter::from_fn(|| sram.give(Time::END)).collect();
        // The engines end with the tenth clock; the processor has the first access after that, the sender the second.
        let masters: Vec<_> = order.iter().map(|done| done.master).collect();
        assert_eq!(masters, [HOST, RECEIVE, PROCESSOR, SEND]);
        assert_eq!(order[2].end, Time(100_000 + 10 * 100_000 + 50_000));
        assert_eq!(sram.master(PROCESSOR).conflicts, 20);
        assert_eq!(sram.master(SEND).conflicts, 10);
    }

    /// When the access that moves the last of `bytes` to `address` ends [ns], of words of `width` that come each 250 ns, the
    /// first at 500 ns.
    fn paced(address: u64, bytes: usize, width: u32) -> u64 {
        let mut sram = sram();
        let pace = SramPace { clock: Clock::new(4_000_000), first: 2, width };
        let data = SramData::Write(vec![1; bytes]);
        sram.ask(RECEIVE, Time::ZERO, SramBlock { address, pace: Some(pace), data, ..read(0) }).unwrap();
        // Its accesses are the second of a clock: at 50 ns of it.
        assert!(sram.give(Time(550_000)).is_none(), "the first word comes at 500 ns");
        sram.give(Time::END).unwrap().end.0 / 1000
    }

    #[test]
    fn a_word_is_wanted_when_all_of_its_bytes_have_come() {
        // Words at 500, 750, 1000 ns: the access at 1050.
        assert_eq!(paced(0, 12, 4), 1050 + 50);
        // Of a bus twice as wide at 500 and 750 ns, the last is the second half of a word, or the first.
        assert_eq!((paced(0, 16, 8), paced(0, 12, 8)), (850 + 50, 750 + 50));
        // Of half the width two make a word: 500, 750, then 1000 and 1250 ns.
        assert_eq!((paced(0, 8, 2), paced(0, 4, 2)), (1250 + 50, 750 + 50));
        // What is not aligned begins in the middle of both buses' words.
        assert_eq!(paced(2, 8, 4), 1050 + 50);
    }

    #[test]
    fn what_waits_for_others_catches_up() {
        let mut sram = sram();
        let pace = SramPace { clock: Clock::new(10_000_000), first: 1, width: 4 };
        let block = SramBlock { data: SramData::Write(vec![1; 16]), pace: Some(pace), ..read(0) };
        sram.ask(RECEIVE, Time::ZERO, read(40)).unwrap();
        sram.ask(RECEIVE, Time::ZERO, block).unwrap();
        let ends: Vec<_> = std::iter::from_fn(|| sram.give(Time::END)).map(|done| done.end).collect();
        assert_eq!(ends[1] - ends[0], Time(400_000), "four words that had come");
    }

    #[test]
    fn data_move_in_the_order_of_accesses() {
        let mut sram = sram();
        let write = SramBlock { data: SramData::Write(vec![1; 8]), ..read(8) };
        sram.ask(RECEIVE, Time::ZERO, write).unwrap();
        sram.enter(PROCESSOR, Time(200_000), read(8)).unwrap();
        let mut ends = std::iter::from_fn(|| sram.give(Time::END));
        // The second word is written at 250 ns, between the processor's at 200 and 300.
        assert_eq!(ends.next().unwrap().master, RECEIVE);
        assert_eq!(ends.next().unwrap().data, [1; 8]);
    }

    #[test]
    fn steps_of_any_length_give_the_same() {
        let seed = 7;
        let run = |step: u64| {
            let mut sram = sram();
            let mut done = vec![];
            for n in 0..40 {
                let now = Time(n * 173_000);
                let pick = (n * n + seed) % 5;
                sram.ask(n as usize % 3, now, read(4 * (1 + pick as u32))).unwrap();
                let mut until = now;
                while until < sram.horizon(now) {
                    until = (until + Time(step)).min(sram.horizon(now));
                    done.extend(std::iter::from_fn(|| sram.give(until)));
                }
            }
            done.extend(std::iter::from_fn(|| sram.give(Time::END)));
            done
        };
        assert_eq!(run(1_000), run(1_000_000));
    }

    #[test]
    fn what_is_silent_moves_and_says_nothing() {
        let mut sram = sram();
        let write = SramData::Write(vec![7; 8]);
        sram.ask(HOST, Time::ZERO, SramBlock { data: write, is_silent: true, ..read(0) }).unwrap();
        assert!(!sram.is_busy() && sram.end_min().is_none());
        sram.ask(HOST, Time::ZERO, read(8)).unwrap();
        // Two words of it, then two more.
        assert_eq!(sram.end_min(), Some(Time(100_000 + 100_000 + 50_000)), "of the first of the two");
        let done = sram.give(Time::END).unwrap();
        assert_eq!((done.end, done.data), (Time(100_000 + 3 * 100_000 + 50_000), vec![7; 8]));
    }

    #[test]
    fn no_block_ends_sooner_than_it_says() {
        let mut sram = sram();
        sram.ask(HOST, Time::ZERO, read(12)).unwrap();
        sram.ask(SEND, Time::ZERO, read(8)).unwrap();
        assert_eq!(sram.end_min(), Some(Time(250_000)), "as if its accesses were the first");
        sram.ask(RECEIVE, Time::ZERO, read(40)).unwrap();
        let ends: Vec<_> =
            std::iter::from_fn(|| sram.give(Time::END)).map(|done| (done.master, done.end)).collect();
        assert_eq!(ends[0], (HOST, Time(100_000 + 2 * 100_000 + 50_000)));
        assert_eq!(ends[2].0, SEND, "it waited");
    }

    #[test]
    fn what_lies_outside_is_refused() {
        let text = sram().ask(SEND, Time::ZERO, SramBlock { address: 0xfffc, ..read(8) }).unwrap_err();
        assert_eq!(text, "send asks for 8 bytes at 0xfffc of an SRAM of 0x10000");
    }

    #[test]
    #[should_panic(expected = "was given before")]
    fn too_late_a_request_is_found() {
        let mut sram = sram();
        sram.ask(HOST, Time(1_000_000), read(40)).unwrap();
        sram.give(Time::END);
        let _ = sram.ask(SEND, Time(1_000_000), read(4));
    }
}

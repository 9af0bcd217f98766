//! Random commands of several cores against memory that is copied at once, and the rules of order.
//!
//! Use this when anything of the MFC changes.

use std::collections::HashMap;

use chasqui_element::{Command, MfcParameters, Source, opcode};
use chasqui_memory::PAGE_BYTES;
use chasqui_random::{Random, share};

use crate::dma::USER;
use crate::support::{Chip, STORE, STORES};

const CORES: usize = 3;
/// Effective address of the pages; the first are memory's, then come those of each core's local store.
const BASE: u64 = 0x40_0000;
const MEMORY_PAGES: u64 = 48;
const STORE_PAGES: u64 = STORE as u64 / PAGE_BYTES;

/// Bytes that a command reads or writes: which memory (core, or [`CORES`]), where, and how many.
type Span = (usize, u64, u64);

fn overlaps(a: Span, b: Span) -> bool {
    a.0 == b.0 && a.1 < b.1 + b.2 && b.1 < a.1 + a.2
}

/// A command that may be under way.
#[derive(Clone, Copy)]
struct Flying {
    core: usize,
    source: Source,
    tag: u32,
    reads: Span,
    writes: Span,
}

/// What the bytes are if all commands are made one after the other.
struct Reference {
    /// Physical page of each page of memory.
    physical: Vec<u64>,
    stores: Vec<Vec<u8>>,
    memory: Vec<u8>,
}

impl Reference {
    fn place(&mut self, (which, at, bytes): Span) -> &mut [u8] {
        let memory = self.stores.get_mut(which).unwrap_or(&mut self.memory);
        &mut memory[at as usize..][..bytes as usize]
    }
}

fn span_of(effective: u64, bytes: u32) -> Span {
    let page = (effective - BASE) / PAGE_BYTES;
    let (which, first) = match page.checked_sub(MEMORY_PAGES) {
        None => (CORES, BASE),
        Some(page) => {
            let core = page / STORE_PAGES;
            (core as usize, BASE + (MEMORY_PAGES + core * STORE_PAGES) * PAGE_BYTES)
        }
    };
    (which, effective - first, bytes.into())
}

fn set_up(random: &mut Random, parameters: &MfcParameters) -> (Chip, Reference) {
    let mut chip = Chip::new(CORES, parameters);
    let mut physical: Vec<u64> = (0..MEMORY_PAGES).map(|page| 0x20_0000 + page * PAGE_BYTES).collect();
    for page in (1..physical.len()).rev() {
        physical.swap(page, random.below(page as u64 + 1) as usize);
    }
    let stores = (0..CORES as u64 * STORE_PAGES).map(|page| STORES + page * PAGE_BYTES);
    for (page, at) in physical.clone().into_iter().chain(stores).enumerate() {
        chip.map(BASE + page as u64 * PAGE_BYTES, at, USER);
    }
    chip.stores.iter_mut().for_each(|store| random.fill(store));
    let mut memory = vec![0; (MEMORY_PAGES * PAGE_BYTES) as usize];
    random.fill(&mut memory);
    for (page, data) in physical.iter().zip(memory.chunks(PAGE_BYTES as usize)) {
        chip.memory.slice_mut(*page, data.len()).unwrap().copy_from_slice(data);
    }
    let stores = chip.stores.clone();
    (chip, Reference { physical, stores, memory })
}

/// A command that is right, within few pages so that they meet.
fn draw(random: &mut Random) -> Command {
    let bytes = match random.below(3) {
        0 => random.pick(&[1, 2, 4, 8, 16]),
        1 => 16 * (1 + random.below(64) as u32),
        _ => 16 * (1 + random.below(1024) as u32),
    };
    let align = u64::from(bytes.min(16));
    let (first, length) = match random.below(3) {
        0 => (random.below(CORES as u64) * STORE_PAGES + MEMORY_PAGES, STORE_PAGES),
        _ => (0, MEMORY_PAGES),
    };
    let room = (length * PAGE_BYTES - u64::from(bytes)).min(0x8000);
    let effective = BASE + first * PAGE_BYTES + random.below(room / align + 1) * align;
    let local = random.below(0x800) as u32 * 16 + (effective % 16) as u32;
    let opcode = random.pick(&[opcode::GET, opcode::PUT]);
    Command { opcode, local, effective, bytes, tag: random.below(4) as u32 }
}

impl Flying {
    fn of(core: usize, source: Source, command: Command) -> Flying {
        let local = (core, u64::from(command.local), u64::from(command.bytes));
        let other = span_of(command.effective, command.bytes);
        let (reads, writes) = if command.opcode & opcode::GET != 0 { (other, local) } else { (local, other) };
        Flying { core, source, tag: command.tag, reads, writes }
    }

    fn meets(&self, other: &Flying) -> bool {
        overlaps(self.writes, other.writes)
            || overlaps(self.writes, other.reads)
            || overlaps(self.reads, other.writes)
    }

    fn is_left(&self, chip: &Chip) -> bool {
        chip.mfcs[self.core].tag_status(self.source) >> self.tag & 1 == 0
    }
}

/// A command that meets itself has no defined result.
fn meets_itself(flying: &Flying) -> bool {
    overlaps(flying.reads, flying.writes)
}

/// What keeps `command` behind those that it meets: a fence or barrier of their tag group, a barrier command, or that
/// they are over. The command, and what is entered before it.
fn ordered(
    random: &mut Random,
    chip: &Chip,
    flying: &[Flying],
    command: Command,
    new: Flying,
) -> Option<(Command, Option<Command>)> {
    let met: Vec<_> = flying.iter().filter(|old| old.is_left(chip) && old.meets(&new)).collect();
    if met.is_empty() {
        return Some((command, None));
    }
    if met.iter().any(|old| (old.core, old.source) != (new.core, new.source)) {
        return None;
    }
    if met.iter().all(|old| old.tag == met[0].tag) {
        let flag = random.pick(&[opcode::FENCE_FLAG, opcode::BARRIER_FLAG]);
        let tag = met[0].tag;
        return match random.below(3) {
            0 => Some((Command { tag, ..command }, Some(Command { opcode: opcode::SYNC, tag, ..command }))),
            _ => Some((Command { tag, opcode: command.opcode | flag, ..command }, None)),
        };
    }
    Some((command, Some(Command { opcode: opcode::BARRIER, ..command })))
}

/// Runs a case; how often commands met, and how many transfers of one command were made among those of another.
fn case(random: &mut Random) -> (u64, u64) {
    let parameters = MfcParameters {
        tlb_entries: random.pick(&[4, 16, 256]),
        tlb_ways: random.pick(&[1, 4]),
        transfers: random.pick(&[1, 3, 16]),
        ..MfcParameters::default()
    };
    let (mut chip, mut reference) = set_up(random, &parameters);
    let mut flying: Vec<Flying> = vec![];
    let mut met = 0;
    for _ in 0..120 {
        let (core, source) =
            (random.below(CORES as u64) as usize, random.pick(&[Source::Core, Source::Proxy]));
        let command = draw(random);
        let new = Flying::of(core, source, command);
        if meets_itself(&new) {
            continue;
        }
        let (command, before) = loop {
            match ordered(random, &chip, &flying, command, new) {
                Some(found) if chip.mfcs[core].room(source) >= 2 => break found,
                _ => assert!(chip.tick(), "nothing is left to do"),
            }
        };
        met += u64::from(before.is_some() || command.opcode & 3 != 0);
        if let Some(before) = before {
            assert!(chip.enter(core, before, source));
        }
        assert!(chip.enter(core, command, source));
        flying.retain(|old| old.is_left(&chip));
        flying.push(Flying::of(core, source, command));
        let data = reference.place(new.reads).to_vec();
        reference.place(new.writes).copy_from_slice(&data);
        (0..random.below(40)).for_each(|_| _ = chip.tick());
    }
    chip.run();
    assert!(chip.faults.is_empty() && chip.mfcs.iter().all(|mfc| mfc.is_idle()), "{:?}", chip.faults);
    assert!(chip.stores == reference.stores, "a local store");
    for (nth, page) in reference.physical.iter().enumerate() {
        let expected = &reference.memory[nth * PAGE_BYTES as usize..][..PAGE_BYTES as usize];
        assert!(chip.memory.slice(*page, expected.len()).unwrap() == expected, "page {nth} of memory");
    }
    let moved: u64 = chip.mfcs.iter().map(|mfc| mfc.statistics.bytes_in + mfc.statistics.bytes_out).sum();
    assert_eq!(chip.data().map(|note| u64::from(note.transfer.bytes)).sum::<u64>(), moved);
    (met, mixed(&chip))
}

/// Transfers that were asked for while one of the same core that was asked for earlier was under way.
fn mixed(chip: &Chip) -> u64 {
    let mut under_way = HashMap::<usize, u64>::new();
    let mut count = 0;
    for note in &chip.notes {
        let here = under_way.entry(note.core).or_default();
        if note.is_over {
            *here -= 1;
        } else {
            count += u64::from(*here > 0);
            *here += 1;
        }
    }
    count
}

#[test]
fn bytes_are_as_if_each_command_were_made_at_once() {
    let mut random = Random::for_test(31);
    let (mut met, mut mixed) = (0, 0);
    for _ in 0..share(150) {
        let (meets, mixes) = case(&mut random);
        (met, mixed) = (met + meets, mixed + mixes);
    }
    // The test is one of order: commands met, and transfers overlapped.
    assert!(met > 200 && mixed > 1000, "{met} met, {mixed} mixed");
}

/// Of random commands, whatever their flags: if a rule orders two of a queue, the first transfer of the later is asked for
/// when all of the earlier are over; and where none does, some go past each other.
#[test]
fn commands_keep_the_order_that_their_flags_ask_for() {
    let mut random = Random::for_test(37);
    let mut past = 0;
    for _ in 0..share(60) {
        let mut chip = Chip::new(1, &MfcParameters::default());
        for page in 0..16 {
            chip.map(BASE + page * PAGE_BYTES, 0x20_0000 + page * PAGE_BYTES, USER);
        }
        // Each has a line of its own, by which its transfers are known; lengths differ.
        let commands: Vec<Command> = (0..16)
            .map(|nth| {
                let flag = random.pick(&[0, 0, opcode::FENCE_FLAG, opcode::BARRIER_FLAG]);
                let opcode = match random.below(12) {
                    0 => random.pick(&[opcode::BARRIER, opcode::SYNC, opcode::EIEIO]),
                    _ => random.pick(&[opcode::GET, opcode::PUT]) | flag,
                };
                let bytes = random.pick(&[16, 128, 1024, 4096]);
                let effective = BASE + nth * PAGE_BYTES;
                Command { opcode, local: nth as u32 * 4096, effective, bytes, tag: random.below(3) as u32 }
            })
            .collect();
        for &command in &commands {
            assert!(chip.enter(0, command, Source::Core));
            (0..random.below(30)).for_each(|_| _ = chip.tick());
        }
        chip.run();
        past += check_order(&chip, &commands);
    }
    assert!(past > 40, "{past} went past another");
}

/// Asserts the order of `commands`; how many began before one that was entered earlier.
fn check_order(chip: &Chip, commands: &[Command]) -> u64 {
    let moves = |command: &Command| command.opcode < opcode::SNDSIG;
    let notes = |nth: usize| {
        chip.notes.iter().filter(move |n| n.transfer.bytes > 8 && n.transfer.local as usize / 4096 == nth)
    };
    let begin = |nth: usize| notes(nth).map(|note| note.time).min().unwrap();
    let end = |nth: usize| notes(nth).map(|note| note.time).max().unwrap();
    let mut past = 0;
    for (later, b) in commands.iter().enumerate().filter(|(_, b)| moves(b)) {
        for (earlier, a) in commands[..later].iter().enumerate().filter(|(_, a)| moves(a)) {
            let same = a.tag == b.tag;
            let flagged = same && (b.opcode & 3 != 0 || a.opcode & opcode::BARRIER_FLAG != 0);
            let between = commands[earlier..later].iter().any(|c| match c.opcode {
                opcode::BARRIER => true,
                opcode::SYNC | opcode::EIEIO => c.tag == a.tag && same,
                _ => false,
            });
            if flagged || between {
                assert!(begin(later) >= end(earlier), "{a} before {b}");
            }
            past += u64::from(begin(later) < begin(earlier));
        }
    }
    past
}

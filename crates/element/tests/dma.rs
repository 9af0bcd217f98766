//! Times of DMA that follow from the parameters, lists, and who waits for whom.
//!
//! Use this when the making of transfers changes.

use chasqui_element::{Command, EibParameters, MfcParameters, Source, opcode};
use chasqui_engine::{Clock, Time};
use chasqui_memory::{PAGE_BYTES, pte};

use crate::support::{Chip, LATENCY, REGISTERS, STORES};

pub const USER: u64 = pte::V | pte::R | pte::W | pte::U;
/// Effective address of memory, pages one behind the other from physical address [`DATA`] on.
pub const PAGES: u64 = 0x40_0000;
pub const DATA: u64 = 0x20_0000;
/// Effective address of the second core's local store.
pub const OTHER: u64 = 0x80_0000;
/// Effective address of the registers.
pub const REGISTER: u64 = 0xc0_0000;

/// Two cores, or more, with memory, local store and registers mapped for them.
pub fn chip(cores: usize, parameters: &MfcParameters) -> Chip {
    let mut chip = Chip::new(cores, parameters);
    for page in 0..64 {
        chip.map(PAGES + page * PAGE_BYTES, DATA + page * PAGE_BYTES, USER);
        chip.map(OTHER + page * PAGE_BYTES, STORES + (64 + page) * PAGE_BYTES, USER);
    }
    chip.map(REGISTER, REGISTERS, USER);
    chip
}

pub fn command(opcode: u32, local: u32, effective: u64, bytes: u32, tag: u32) -> Command {
    Command { opcode, local, effective, bytes, tag }
}

/// All pages are known.
fn warm(chip: &mut Chip) {
    for page in 0..64 {
        for base in [PAGES, OTHER] {
            while !chip.enter(0, command(opcode::GET, 0, base + page * PAGE_BYTES, 16, 0), Source::Core) {
                chip.tick();
            }
        }
    }
    chip.run();
    chip.notes.clear();
}

/// A moment that is an edge of both clocks, some time from now.
fn next_moment(chip: &mut Chip) {
    let clock = EibParameters::default().clock();
    chip.now = clock.after(chip.now, 100);
}

fn cycles(n: u64) -> Time {
    Clock::new(3_200_000_000).edge(n)
}

fn clocks(n: u64) -> Time {
    EibParameters::default().clock().edge(n)
}

/// From entering a command until its tag group's status says that it is over.
fn time(chip: &mut Chip, one: Command) -> Time {
    next_moment(chip);
    let begin = chip.now;
    assert!(chip.enter(0, one, Source::Core));
    chip.run_until(|chip| chip.mfcs[0].tag_status(Source::Core) >> one.tag & 1 == 1);
    let time = chip.now - begin;
    chip.run();
    time
}

/// One transfer: start, then the command's place and answer (the snoop), memory's latency if it is read, arbitration, hops,
/// beats, finish. Core 0 and core 1 are neighbours, memory (unit 11) is one stop the other way.
#[test]
fn one_transfer_takes_what_its_parts_take() {
    let mut chip = chip(2, &MfcParameters::default());
    warm(&mut chip);
    for bytes in [1, 2, 4, 8, 16, 32, 48, 112, 128] {
        let beats = u64::from(bytes).div_ceil(16);
        let rings = clocks(50 + 2 + 1 + beats);
        let plain = cycles(30) + rings + cycles(4);
        let put = command(opcode::PUT, 256, OTHER, bytes, 3);
        assert_eq!(time(&mut chip, put), plain, "put of {bytes} to a local store");
        assert_eq!(time(&mut chip, Command { opcode: opcode::GET, ..put }), plain, "get of {bytes} from it");
        let put = command(opcode::PUT, 256, PAGES, bytes, 3);
        assert_eq!(time(&mut chip, put), plain, "put of {bytes} to memory");
        // Memory's 50 ns are 80 bus clocks.
        let get = Command { opcode: opcode::GET, ..put };
        assert_eq!(time(&mut chip, get), plain + LATENCY, "get of {bytes} from memory");
    }
    let get = command(opcode::GET, 256, PAGES, 0, 3);
    assert_eq!(time(&mut chip, get), cycles(30 + 4), "of nothing");
}

/// Long ones: trains of 128 bytes follow each other without a gap, 8 bus clocks each, so that each further one takes 5 ns:
/// 25.6 GB/s. 16 transfers under way cover the time of one; fewer do not.
#[test]
fn a_stream_takes_eight_clocks_a_line() {
    let mut chip = chip(2, &MfcParameters::default());
    warm(&mut chip);
    for bytes in [256, 1024, 16 << 10] {
        let lines = u64::from(bytes) / 128;
        let rings = clocks(50 + 2 + 1 + 8 * lines);
        let put = command(opcode::PUT, 0, OTHER, bytes, 3);
        assert_eq!(time(&mut chip, put), cycles(30) + rings + cycles(4), "{bytes} bytes");
    }
    // Two at a time: two lines each so long, the second of a pair 8 clocks behind the first.
    let parameters = MfcParameters { transfers: 2, ..MfcParameters::default() };
    let mut chip = self::chip(2, &parameters);
    warm(&mut chip);
    let put = command(opcode::PUT, 0, OTHER, 1024, 3);
    let round = 50 + 2 + 1 + 8;
    let expected = cycles(30) + clocks(4 * round + 8) + cycles(4);
    let found = time(&mut chip, put);
    // A command is asked for in the bus clock behind the end.
    assert!(found >= expected && found <= expected + clocks(8), "{found:?} {expected:?}");
}

#[test]
fn a_command_inside_one_local_store_goes_out_and_comes_back() {
    let mut chip = chip(2, &MfcParameters::default());
    chip.map(0x100_0000, STORES, USER);
    chip.stores[0][..128].fill(7);
    let put = command(opcode::PUT, 0, 0x100_0000 + 1024, 128, 0);
    time(&mut chip, put);
    assert_eq!(chip.stores[0][1024..1152], [7; 128]);
    let plain = cycles(30) + clocks(50 + 2 + 8) + cycles(4);
    assert_eq!(time(&mut chip, put), plain, "no hop");
}

#[test]
fn a_signal_writes_four_bytes_to_a_register() {
    let mut chip = chip(2, &MfcParameters::default());
    chip.stores[0][4..8].copy_from_slice(&0x0100_0001_u32.to_le_bytes());
    assert!(chip.enter(0, command(opcode::SNDSIG, 4, REGISTER + 4, 4, 0), Source::Core));
    chip.run();
    assert_eq!(chip.registers, [0, 0x0100_0001]);
}

fn element(chip: &mut Chip, at: usize, bytes: u32, low: u32, notifies: bool) {
    let words = [bytes | u32::from(notifies) << 31, low];
    for (nth, word) in words.iter().enumerate() {
        chip.stores[0][at + 4 * nth..][..4].copy_from_slice(&word.to_le_bytes());
    }
}

/// Elements' data follow each other in the local store, each at the next 16 bytes, at the place that its address has in them.
#[test]
fn a_list_scatters_and_gathers() {
    let mut chip = chip(2, &MfcParameters::default());
    let source: Vec<u8> = (0..=255).cycle().take(1 << 14).collect();
    chip.memory.slice_mut(DATA, 1 << 14).unwrap().copy_from_slice(&source);
    let pieces = [(32, 0x1000), (4, 0x24), (0, 0), (1, 0x3007), (256, 0x3e80)];
    for (nth, &(bytes, offset)) in pieces.iter().enumerate() {
        element(&mut chip, 0x800 + 8 * nth, bytes, PAGES as u32 + offset, false);
    }
    let get = opcode::GET | opcode::LIST_FLAG;
    assert!(chip.enter(0, command(get, 0x1000, 0x800, 40, 5), Source::Core));
    chip.run();
    let mut expected = vec![0; 0x160];
    for (to, (bytes, offset)) in [0, 0x24, 0, 0x37, 0x40].into_iter().zip(pieces) {
        let bytes = bytes as usize;
        expected[to..to + bytes].copy_from_slice(&source[offset as usize..][..bytes]);
    }
    assert_eq!(chip.stores[0][0x1000..0x1160], expected);
    assert_eq!((chip.mfcs[0].statistics.elements, chip.mfcs[0].statistics.transfers), (5, 5));
}

#[test]
fn a_list_that_notifies_waits_for_the_core() {
    let mut chip = chip(2, &MfcParameters::default());
    for (nth, notifies) in [true, false, true].into_iter().enumerate() {
        element(&mut chip, 8 * nth, 16, PAGES as u32, notifies);
    }
    chip.stores[0][0x100..0x110].fill(1);
    let put = opcode::PUT | opcode::LIST_FLAG;
    assert!(chip.enter(0, command(put, 0x100, 0, 24, 5), Source::Core));
    // Another goes past it.
    assert!(chip.enter(0, command(opcode::PUT, 0x100, PAGES + 64, 16, 6), Source::Core));
    chip.run();
    assert_eq!(chip.mfcs[0].take_stalled(), 1 << 5);
    assert_eq!(chip.mfcs[0].tag_status(Source::Core), !(1 << 5));
    assert_eq!(chip.data().count(), 2);
    for left in [true, false] {
        let now = chip.now;
        chip.mfcs[0].resume(5, now);
        chip.follow(0);
        chip.run();
        assert_eq!(chip.mfcs[0].take_stalled() != 0, left);
    }
    assert!(chip.mfcs[0].is_idle());
    assert_eq!(chip.data().count(), 4);
}

/// The two queues take turns, so that neither has to wait for all of the other's.
#[test]
fn queues_take_turns() {
    let mut chip = chip(2, &MfcParameters::default());
    warm(&mut chip);
    for source in [Source::Core, Source::Proxy] {
        let from = if source == Source::Core { 0 } else { 0x8000 };
        assert!(chip.enter(0, command(opcode::PUT, from, OTHER + u64::from(from), 4096, 1), source));
    }
    chip.run();
    let turns: Vec<bool> = chip.data().map(|note| note.transfer.local >= 0x8000).collect();
    assert_eq!(turns.len(), 64);
    assert!(turns.chunks(2).all(|two| two[0] != two[1]), "{turns:?}");
}

#[test]
fn a_queue_has_so_many_places_and_says_so() {
    let mut chip = chip(2, &MfcParameters::default());
    for (source, room) in [(Source::Core, 16), (Source::Proxy, 8)] {
        for left in (0..room).rev() {
            assert!(chip.enter(0, command(opcode::GET, 0, PAGES, 16, 1), source));
            assert_eq!(chip.mfcs[0].room(source), left);
        }
        assert!(!chip.enter(0, command(opcode::GET, 0, PAGES, 16, 1), source));
    }
    assert_eq!(chip.mfcs[0].statistics.full, 2);
    // An immediate one has a place of its own.
    assert!(chip.enter(0, command(opcode::GETLLAR, 0, PAGES, 128, 0), Source::Core));
    assert!(!chip.enter(0, command(opcode::GETLLAR, 0, PAGES, 128, 0), Source::Core));
    chip.run();
    let statistics = chip.mfcs[0].statistics;
    assert_eq!((statistics.commands, statistics.proxy_commands, statistics.atomic_commands), (16, 8, 1));
}

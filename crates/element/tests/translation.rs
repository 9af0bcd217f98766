//! The TLB, and what a miss takes.
//!
//! Use this when translation changes.

use chasqui_element::{Command, EibParameters, MfcParameters, Reason, Source, TableSearch, opcode};
use chasqui_engine::{Clock, Time};
use chasqui_memory::{PAGE_BYTES, Translation, pte};
use chasqui_random::{Random, share};

use crate::dma::{DATA, PAGES, chip, command};
use crate::support::{Chip, LATENCY};

fn get(page: u64) -> Command {
    command(opcode::GET, 0, PAGES + page * PAGE_BYTES, 16, 0)
}

/// A get of the page, from an edge of both clocks on.
fn time(chip: &mut Chip, page: u64) -> Time {
    chip.now = EibParameters::default().clock().after(chip.now, 100);
    let begin = chip.now;
    assert!(chip.enter(0, get(page), Source::Core));
    chip.run();
    chip.now - begin
}

/// Three entries of the table, each a transfer of 8 bytes from memory, and the walker's cycles behind each.
#[test]
fn a_miss_takes_three_reads_of_memory() {
    let mut chip = chip(1, &MfcParameters::default());
    let (cold, warm) = (time(&mut chip, 5), time(&mut chip, 5));
    // Snoop, latency, arbitration, a hop, a beat; four cycles of the MFC are two clocks of the bus.
    let clocks = 50 + 2 + 1 + 1 + 2;
    let read = EibParameters::default().clock().edge(clocks) + LATENCY;
    assert_eq!(cold - warm, Time(3 * read.0));
    assert_eq!((chip.mfcs[0].statistics.tlb_misses, chip.mfcs[0].statistics.walk_reads), (1, 3));
}

/// Pages whose numbers differ by the number of sets meet in one: as many as there are ways stay, one more replaces the oldest.
#[test]
fn pages_of_one_set_replace_each_other() {
    for (entries, ways) in [(8, 1), (8, 2), (16, 4)] {
        let parameters = MfcParameters { tlb_entries: entries, tlb_ways: ways, ..MfcParameters::default() };
        let mut chip = chip(1, &parameters);
        let sets = entries / ways;
        let misses = |chip: &mut Chip, pages: &[u64]| {
            let before = chip.mfcs[0].statistics.tlb_misses;
            pages.iter().for_each(|&page| _ = time(chip, page));
            chip.mfcs[0].statistics.tlb_misses - before
        };
        let meeting: Vec<u64> = (0..=ways).map(|nth| nth * sets).collect();
        let (fit, all) = (&meeting[..ways as usize], &meeting[..]);
        assert_eq!((misses(&mut chip, fit), misses(&mut chip, fit)), (ways, 0));
        // First in first out: in turn, each has gone when it is wanted again.
        assert_eq!((misses(&mut chip, all), misses(&mut chip, all)), (1, ways + 1));
        let next: Vec<u64> = (0..entries).collect();
        misses(&mut chip, &next);
        assert_eq!(misses(&mut chip, &next), 0, "neighbours fill the sets");
    }
}

#[test]
fn what_the_kernel_forgets_is_walked_to_again() {
    let mut chip = chip(1, &MfcParameters::default());
    (0..4).for_each(|page| _ = time(&mut chip, page));
    let misses = |chip: &mut Chip| {
        let before = chip.mfcs[0].statistics.tlb_misses;
        (0..4).for_each(|page| _ = time(chip, page));
        chip.mfcs[0].statistics.tlb_misses - before
    };
    assert_eq!(misses(&mut chip), 0);
    chip.mfcs[0].forget(PAGES + PAGE_BYTES);
    assert_eq!(misses(&mut chip), 1);
    chip.mfcs[0].flush();
    assert_eq!(misses(&mut chip), 4);
    let root = chip.mfcs[0].root();
    chip.mfcs[0].set_root(root);
    assert_eq!(misses(&mut chip), 4);
}

/// A walk that is under way when the tables change begins anew.
#[test]
fn a_walk_does_not_outlive_what_it_has_read() {
    let mut chip = chip(1, &MfcParameters::default());
    assert!(chip.enter(0, get(0), Source::Core));
    chip.run_until(|chip| chip.mfcs[0].statistics.walk_reads == 3);
    chip.map(PAGES, DATA + 9 * PAGE_BYTES, crate::dma::USER);
    chip.memory.write(DATA, 1, 1).unwrap();
    chip.memory.write(DATA + 9 * PAGE_BYTES, 1, 9).unwrap();
    chip.mfcs[0].forget(PAGES);
    chip.follow(0);
    chip.run();
    assert_eq!((chip.stores[0][0], chip.mfcs[0].statistics.walk_reads), (9, 6));
    assert!(chip.mfcs[0].is_idle());
}

/// Without a walker each miss is the kernel's: it stops, is given the translation, and goes on.
#[test]
fn the_kernel_may_serve_every_miss() {
    let parameters = MfcParameters {
        translation: TableSearch::Kernel,
        tlb_entries: 4,
        tlb_ways: 2,
        ..MfcParameters::default()
    };
    let mut random = Random::for_test(43);
    for _ in 0..share(30) {
        let mut chip = chip(1, &parameters);
        let data: Vec<u8> = (0..64 * PAGE_BYTES).map(|n| (n >> 12 ^ n) as u8).collect();
        chip.memory.slice_mut(DATA, data.len()).unwrap().copy_from_slice(&data);
        let mut served = 0;
        for _ in 0..20 {
            let page = random.below(8);
            assert!(chip.enter(0, get(page), Source::Core));
            chip.run();
            while let Some(fault) = chip.mfcs[0].stopped().copied() {
                assert_eq!((fault.reason, fault.address), (Reason::Miss, PAGES + page * PAGE_BYTES));
                let (virtual_page, physical_page) = (fault.address, DATA + page * PAGE_BYTES);
                let permissions = pte::R | pte::W | pte::U;
                chip.mfcs[0].load_translation(Translation { virtual_page, physical_page, permissions });
                assert!(chip.mfcs[0].restart());
                served += 1;
                chip.follow(0);
                chip.run();
            }
            let expected = &data[(page * PAGE_BYTES) as usize..][..16];
            assert_eq!(chip.stores[0][..16], *expected);
        }
        let statistics = chip.mfcs[0].statistics;
        assert_eq!((statistics.walk_reads, statistics.tlb_misses), (0, served));
        assert!(served >= 8, "eight pages in four entries");
    }
}

#[test]
fn ways_that_make_no_sets_are_refused_in_words() {
    let parameters = MfcParameters { tlb_ways: 3, ..MfcParameters::default() };
    assert_eq!(parameters.mistake().unwrap(), "256 entries of 3 ways do not make a power of two of sets");
    assert_eq!(MfcParameters::default().mistake(), None);
    assert_eq!(Clock::new(MfcParameters::default().clock.hz()).edge(16), Time(5_000));
}

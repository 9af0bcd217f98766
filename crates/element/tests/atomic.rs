//! Lines that are reserved and written if they still are.
//!
//! Use this when the atomic commands or the reservation change.

use chasqui_element::{AtomicStatus, MfcParameters, Source, opcode};
use chasqui_random::{Random, share};

use crate::dma::{DATA, OTHER, PAGES, chip, command};
use crate::support::Chip;

/// An atomic command of `core`, to its end.
fn atomic(chip: &mut Chip, core: usize, opcode: u32) -> AtomicStatus {
    assert!(chip.enter(core, command(opcode, 0, PAGES, 128, 0), Source::Core));
    chip.run_until(|chip| chip.mfcs[core].atomic_status().is_some());
    chip.mfcs[core].take_atomic_status().unwrap()
}

#[test]
fn a_line_is_written_if_nobody_else_has() {
    let mut chip = chip(2, &MfcParameters::default());
    assert_eq!(atomic(&mut chip, 0, opcode::GETLLAR), AtomicStatus::Reserved);
    assert_eq!(chip.mfcs[0].reserved(), Some(DATA));
    assert_eq!(atomic(&mut chip, 1, opcode::GETLLAR), AtomicStatus::Reserved, "both may");
    chip.stores[1][0] = 1;
    assert_eq!(atomic(&mut chip, 1, opcode::PUTLLC), AtomicStatus::Conditional(true));
    assert!(chip.mfcs[0].take_lost() && !chip.mfcs[1].take_lost());
    chip.stores[0][0] = 2;
    assert_eq!(atomic(&mut chip, 0, opcode::PUTLLC), AtomicStatus::Conditional(false));
    assert_eq!(chip.memory.read(DATA, 1), Ok(1));
    assert_eq!(atomic(&mut chip, 1, opcode::PUTLLC), AtomicStatus::Conditional(false), "it is used up");
    assert_eq!(atomic(&mut chip, 0, opcode::PUTLLUC), AtomicStatus::Written);
    assert_eq!(chip.memory.read(DATA, 1), Ok(2));
    let values = [AtomicStatus::Reserved, AtomicStatus::Written].map(AtomicStatus::value);
    assert_eq!(values, [4, 2]);
    assert_eq!([true, false].map(|done| AtomicStatus::Conditional(done).value()), [0, 1]);
    assert_eq!(chip.mfcs[0].statistics.atomic_lost, 1);
}

#[test]
fn another_line_or_a_read_leaves_it() {
    let mut chip = chip(2, &MfcParameters::default());
    atomic(&mut chip, 0, opcode::GETLLAR);
    for (opcode, offset) in [(opcode::GET, 0), (opcode::PUT, 128)] {
        assert!(chip.enter(1, command(opcode, 0, PAGES + offset, 128, 0), Source::Core));
    }
    chip.run();
    assert!(chip.mfcs[0].reserved().is_some());
    assert!(chip.enter(1, command(opcode::PUT, 15, PAGES + 127, 1, 0), Source::Proxy));
    chip.run();
    assert!(chip.mfcs[0].reserved().is_none() && chip.mfcs[0].take_lost());
    // A get reserves anew; the core's own put takes it, too.
    atomic(&mut chip, 0, opcode::GETLLAR);
    assert!(chip.enter(0, command(opcode::PUT, 0, PAGES, 16, 0), Source::Core));
    chip.run();
    assert!(chip.mfcs[0].reserved().is_none() && !chip.mfcs[0].take_lost());
}

/// What is queued of a line waits for its tag group, what is immediate for nothing.
#[test]
fn the_queued_write_is_in_its_turn() {
    let mut chip = chip(2, &MfcParameters::default());
    chip.stores[0][0..128].fill(5);
    assert!(chip.enter(0, command(opcode::GET, 0x8000, OTHER, 16 << 10, 2), Source::Core));
    assert!(chip.enter(0, command(opcode::PUTQLLUC, 0, PAGES, 128, 2), Source::Core));
    assert!(chip.enter(0, command(opcode::GETLLAR, 0x400, PAGES + 1024, 128, 0), Source::Core));
    chip.run();
    let order: Vec<_> = chip.data().map(|note| note.transfer.physical).collect();
    assert_eq!((order.first(), order.last()), (Some(&(DATA + 1024)), Some(&DATA)));
    assert_eq!(chip.memory.read(DATA + 127, 1), Ok(5));
}

/// Each core adds one so many times, with pauses of any length: none is lost.
#[test]
fn no_increment_is_lost() {
    let mut random = Random::for_test(41);
    for _ in 0..share(12) {
        let cores = 2 + random.below(5) as usize;
        let mut chip = chip(cores, &MfcParameters::default());
        let mut left = vec![20; cores];
        let mut tries = 0;
        while left.iter().any(|&left| left > 0) {
            for (core, left) in left.iter_mut().enumerate() {
                let mfc = &mut chip.mfcs[core];
                if *left == 0 || random.once_in(2) {
                    continue;
                }
                let next = match mfc.take_atomic_status() {
                    Some(AtomicStatus::Reserved) => {
                        chip.stores[core][64] = chip.stores[core][64].wrapping_add(1);
                        opcode::PUTLLC
                    }
                    Some(AtomicStatus::Conditional(done)) => {
                        *left -= u32::from(done);
                        opcode::GETLLAR
                    }
                    _ if mfc.room(Source::Atomic) > 0 => opcode::GETLLAR,
                    _ => continue,
                };
                if *left > 0 {
                    assert!(chip.enter(core, command(next, 0, PAGES, 128, 0), Source::Core));
                    tries += u32::from(next == opcode::PUTLLC);
                }
            }
            chip.tick();
        }
        chip.run();
        assert_eq!(chip.memory.read(DATA + 64, 1), Ok(20 * cores as u64));
        assert!(tries > 20 * cores as u32, "none came too late");
    }
}

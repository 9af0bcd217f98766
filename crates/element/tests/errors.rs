//! What is wrong stops the MFC with its reason, and the kernel has it go on.
//!
//! Use this when the checks of commands, or what comes of them, change.

use chasqui_element::{Command, MfcFault, MfcParameters, Reason, Source, opcode};
use chasqui_memory::{Access, PAGE_BYTES, pte};

use crate::dma::{DATA, OTHER, PAGES, REGISTER, USER, chip, command};
use crate::support::{Chip, STORE};

/// The fault of a command, behind which another one waits until it is dropped.
fn fault(chip: &mut Chip, one: Command, source: Source) -> MfcFault {
    assert!(chip.enter(0, one, source));
    assert!(chip.enter(0, command(opcode::PUT, 0x400, OTHER, 16, 31), Source::Core));
    chip.run();
    let [(0, fault)] = chip.faults[..] else { panic!("{:?} of {one}", chip.faults) };
    assert_eq!(chip.mfcs[0].stopped(), Some(&fault));
    // What is wrong with a page is found after a walk, which the other queue need not wait for.
    let waits = fault.source == Source::Core || fault.reason != Reason::NoTranslation;
    assert_eq!(chip.mfcs[0].statistics.bytes_out, if waits { 0 } else { 16 }, "the other waits");
    assert_eq!(chip.mfcs[0].restart(), fault.reason.is_restartable(), "{fault}");
    chip.mfcs[0].purge(source);
    if source == Source::Core {
        assert!(chip.enter(0, command(opcode::PUT, 0x400, OTHER, 16, 31), Source::Core));
    }
    chip.follow(0);
    chip.run();
    assert!(chip.mfcs[0].is_idle() && chip.mfcs[0].statistics.bytes_out == 16, "{fault}");
    fault
}

#[test]
fn each_mistake_has_its_reason() {
    let (get, put, list) = (opcode::GET, opcode::PUT, opcode::GET | opcode::LIST_FLAG);
    let end = STORE - 16;
    let cases = [
        (command(0x7f, 0, PAGES, 16, 0), Source::Core, Reason::Command),
        (command(list, 0, 0, 8, 0), Source::Proxy, Reason::Command),
        (command(opcode::GETLLAR, 0, PAGES, 128, 0), Source::Proxy, Reason::Command),
        (command(get, 0, PAGES, 16, 32), Source::Core, Reason::Tag),
        (command(get, 0, PAGES, 3, 0), Source::Core, Reason::Size),
        (command(get, 0, PAGES, 24, 0), Source::Proxy, Reason::Size),
        (command(put, 0, PAGES, 16400, 0), Source::Core, Reason::Size),
        (command(opcode::SNDSIG, 0, REGISTER, 8, 0), Source::Core, Reason::Size),
        (command(list, 0, 0, 12, 0), Source::Core, Reason::Size),
        (command(list, 0, 0x4000, 16 << 11, 0), Source::Core, Reason::Size),
        (command(get, 2, PAGES + 2, 4, 0), Source::Core, Reason::Alignment),
        (command(get, 4, PAGES, 4, 0), Source::Proxy, Reason::Alignment),
        (command(put, 8, PAGES + 8, 32, 0), Source::Core, Reason::Alignment),
        (command(opcode::GETLLAR, 0, PAGES + 64, 128, 0), Source::Core, Reason::Alignment),
        (command(opcode::PUTQLLUC, 64, PAGES, 128, 0), Source::Core, Reason::Alignment),
        (command(list, 0, 4, 8, 0), Source::Core, Reason::Alignment),
        (command(get, end, PAGES, 32, 0), Source::Core, Reason::LocalStore),
        (command(list, 0, end.into(), 24, 0), Source::Core, Reason::LocalStore),
    ];
    for (one, source, reason) in cases {
        let mut chip = chip(2, &MfcParameters::default());
        let found = fault(&mut chip, one, source);
        let source = if one.opcode == opcode::GETLLAR && reason == Reason::Alignment {
            Source::Atomic
        } else {
            source
        };
        assert_eq!((found.reason, found.source, found.command), (reason, source, one), "{found}");
    }
}

/// An element that is wrong is found when the list comes to it; what was before it has been made.
#[test]
fn each_element_of_a_list_is_looked_at() {
    let list = opcode::GET | opcode::LIST_FLAG;
    for (bytes, low, local, reason) in [
        (24_u32, PAGES as u32, 0x1000, Reason::Size),
        (16, PAGES as u32 + 8, 0x1000, Reason::Alignment),
        (0x4010, PAGES as u32, 0x1000, Reason::Size),
        (32, PAGES as u32, STORE - 32, Reason::LocalStore),
    ] {
        let mut chip = chip(2, &MfcParameters::default());
        for (nth, word) in [16, PAGES as u32, bytes, low].into_iter().enumerate() {
            chip.stores[0][4 * nth..][..4].copy_from_slice(&word.to_le_bytes());
        }
        let found = fault(&mut chip, command(list, local, 0, 16, 3), Source::Core);
        assert_eq!((found.reason, found.element, found.address), (reason, Some(1), low.into()), "{found}");
        assert_eq!(chip.mfcs[0].statistics.bytes_in, 16);
    }
}

#[test]
fn a_fault_says_what_and_where() {
    let mut chip = chip(2, &MfcParameters::default());
    let found = fault(&mut chip, command(opcode::PUT, 0x80, 0x123_4000, 48, 7), Source::Proxy);
    assert_eq!(
        found.to_string(),
        "DMA proxy command put of 48 bytes, local store 0x80, address 0x1234000, tag 7: the address has no \
         translation (at 0x1234000)"
    );
    assert_eq!((found.reason, found.access), (Reason::NoTranslation, Access::Write));
}

/// The kernel brings the page in, and the command goes on at the page where it was.
#[test]
fn a_page_that_is_brought_in_is_walked_to_again() {
    for at in [0, 1, 3] {
        let mut chip = chip(2, &MfcParameters::default());
        let (from, hole) = (PAGES - 2 * PAGE_BYTES, PAGES - 2 * PAGE_BYTES + at * PAGE_BYTES);
        for page in 0..2 {
            chip.map(from + page * PAGE_BYTES, DATA - (2 - page) * PAGE_BYTES, USER);
        }
        let data: Vec<u8> = (0..16384_u32).map(|n| ((n * 7) >> 3) as u8).collect();
        chip.memory.slice_mut(DATA - 2 * PAGE_BYTES, data.len()).unwrap().copy_from_slice(&data);
        let physical = DATA - 2 * PAGE_BYTES + at * PAGE_BYTES;
        chip.map(hole, 0, 0);
        assert!(chip.enter(0, command(opcode::GET, 0, from, 16384, 0), Source::Core));
        chip.run();
        let [(0, found)] = chip.faults[..] else { panic!("{:?}", chip.faults) };
        assert_eq!((found.reason, found.address), (Reason::NoTranslation, hole));
        assert_eq!(chip.mfcs[0].statistics.bytes_in, at * PAGE_BYTES, "what was before it");
        chip.map(hole, physical, USER);
        assert!(chip.mfcs[0].restart());
        chip.follow(0);
        chip.run();
        assert!(chip.mfcs[0].is_idle() && chip.stores[0][..16384] == data, "{at}");
        assert_eq!(chip.mfcs[0].statistics.faults, 1);
    }
}

#[test]
fn pages_have_rights() {
    let read_only = pte::V | pte::R | pte::U;
    for (rights, opcode, may) in [
        (read_only, opcode::GET, true),
        (read_only, opcode::PUT, false),
        (USER & !pte::U, opcode::GET, false),
        (pte::V | pte::X | pte::U, opcode::GET, false),
    ] {
        let mut chip = chip(2, &MfcParameters::default());
        chip.map(PAGES, DATA, rights);
        assert!(chip.enter(0, command(opcode, 0, PAGES, 16, 0), Source::Core));
        chip.run();
        let reason = chip.faults.first().map(|(_, fault)| fault.reason);
        assert_eq!(reason, (!may).then_some(Reason::Protection), "{rights:#x}");
    }
}

#[test]
fn nothing_may_be_where_a_page_leads() {
    let mut chip = chip(2, &MfcParameters::default());
    chip.map(PAGES, 1 << 30, USER);
    let found = fault(&mut chip, command(opcode::GET, 0, PAGES + 32, 16, 0), Source::Core);
    assert_eq!((found.reason, found.address), (Reason::NoMemory, PAGES + 32));
    // A table that is nowhere has no entries; an address beyond those of Sv39 has no table.
    let mut chip = self::chip(2, &MfcParameters::default());
    chip.memory.write(crate::support::ROOT, 8, (1 << 40) >> 2 | pte::V).unwrap();
    assert!(chip.enter(0, command(opcode::GET, 0, PAGES, 16, 0), Source::Core));
    chip.run();
    assert_eq!(chip.faults[0].1.reason, Reason::NoTranslation);
    let mut chip = self::chip(2, &MfcParameters::default());
    let found = fault(&mut chip, command(opcode::GET, 0, 1 << 40, 16, 0), Source::Core);
    assert_eq!(found.reason, Reason::NoTranslation);
}

/// A command that was dropped while something of it was under way makes no mistake any more: the MFC does not stop at it.
#[test]
fn what_was_purged_is_refused_in_silence() {
    let mut chip = chip(2, &MfcParameters::default());
    chip.map(PAGES, 1 << 30, USER);
    assert!(chip.enter(0, command(opcode::GET, 0, PAGES, 16, 1), Source::Core));
    chip.run_until(|chip| chip.data().count() == 1);
    chip.mfcs[0].purge(Source::Core);
    chip.run();
    assert_eq!((chip.faults.len(), chip.mfcs[0].is_idle()), (0, true));
    assert_eq!(chip.mfcs[0].tag_status(Source::Core), !0);
}

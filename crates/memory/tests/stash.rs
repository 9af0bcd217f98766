//! Injection: writes of another master that the L2 takes. What a load then costs, which ways may be taken, what is
//! displaced, and that no copy is left which the coherence checker would find.

use crate::rig::{LOW, Rig, parameters};
use chasqui_config::Cycles;
use chasqui_memory::{Fault, Incoherence, L2Parameters, PortParameters, Request, Snoop, Stashed, Stop};

/// Lines of the L2, as of the L1s [bytes].
const LINE: u64 = 64;
/// Cycles of a hit in the L2.
const L2_CYCLES: u64 = 10;
/// Sets of the L2: addresses so many lines apart meet.
const SETS: u64 = 64;

/// An L2 of four ways, of which two may be taken.
fn rig(check_coherence: bool) -> Rig {
    let l2 = L2Parameters {
        latency: Cycles::new(L2_CYCLES),
        stash_ways: 2,
        ..L2Parameters::new(4 * SETS * LINE, 4, LINE)
    };
    let own = PortParameters { l2, check_coherence, ..parameters() };
    let mut rig = Rig::new(own, crate::rig::bus());
    rig.warm(LOW);
    rig
}

fn stash(rig: &mut Rig, address: u64, bytes: u64) -> Stashed {
    let cycle = rig.cycle;
    let stashed = rig.port.stash(address, bytes as u32, cycle);
    rig.run_to_idle();
    stashed
}

/// The n-th line of the set that `LOW + 0x400` is in.
fn line(n: u64) -> u64 {
    LOW + 0x400 + n * SETS * LINE
}

fn in_l2(rig: &Rig, address: u64) -> bool {
    rig.port.coherent_lines().any(|(held, _)| held == address)
}

/// So that translations take no part.
fn warm(rig: &mut Rig, lines: u64) {
    for n in 0..lines {
        rig.load(line(n) + 0x800);
    }
    rig.run_to_idle();
    rig.service.log.clear();
}

#[test]
fn what_was_injected_costs_a_hit_in_the_l2() {
    let mut rig = rig(false);
    warm(&mut rig, 2);
    assert_eq!(stash(&mut rig, line(0), LINE), Stashed::Taken);
    assert_eq!(rig.took(|rig| _ = rig.load(line(0))), L2_CYCLES);
    // As a write to memory it costs the bus and the DRAM: 4 ns of address, 60 ns, four beats of 2 ns.
    rig.port.snoop(Snoop::Invalidate, line(1), LINE as u32);
    rig.run_to_idle();
    assert!(rig.took(|rig| _ = rig.load(line(1))) >= 4 + 60 + 3 * 2);
    let counters = rig.port.stash_statistics().unwrap();
    assert_eq!((counters.lines, counters.used, counters.lost, counters.displaced), (1, 1, 0, 0));
}

#[test]
fn it_takes_no_more_ways_than_it_may() {
    let mut rig = rig(false);
    warm(&mut rig, 8);
    // The hart's own take the ways from the first on; two stay out of reach.
    for n in 0..4 {
        rig.load(line(n));
    }
    rig.run_to_idle();
    for n in 4..7 {
        assert_eq!(stash(&mut rig, line(n), LINE), Stashed::Taken);
    }
    let held: Vec<u64> = (0..7).filter(|&n| in_l2(&rig, line(n))).collect();
    // The third took the place of the first.
    assert_eq!(held, [2, 3, 5, 6]);
    let counters = *rig.port.stash_statistics().unwrap();
    assert_eq!((counters.lines, counters.displaced, counters.lost, counters.used), (3, 2, 1, 0));
    // The hart's own miss takes the least recently used of all ways, here its own.
    rig.load(line(7));
    assert!(in_l2(&rig, line(5)) && in_l2(&rig, line(6)) && !in_l2(&rig, line(2)));
    rig.load(line(5));
    assert_eq!(rig.port.stash_statistics().unwrap().used, 1);
}

#[test]
fn a_modified_line_that_is_displaced_is_written_back() {
    let mut rig = rig(false);
    warm(&mut rig, 6);
    for n in 0..4 {
        rig.store(line(n), n);
    }
    rig.run_to_idle();
    rig.service.log.clear();
    stash(&mut rig, line(4), LINE);
    let bytes = LINE as u32;
    assert_eq!(rig.granted(), [Request::WriteBack { line: line(0), bytes, flush: false }]);
}

#[test]
fn a_part_of_a_line_is_merged_and_a_line_that_is_there_updated() {
    let mut rig = rig(false);
    warm(&mut rig, 2);
    assert_eq!(stash(&mut rig, line(0) + 8, 8), Stashed::Merged);
    assert_eq!(stash(&mut rig, line(0) + 16, 8), Stashed::Taken);
    rig.store(line(1), 7);
    rig.run_to_idle();
    // What the L1 had modified is the L2's now.
    assert_eq!(stash(&mut rig, line(1) + 32, 8), Stashed::Taken);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(line(1)), 7)), L2_CYCLES);
    let counters = rig.port.stash_statistics().unwrap();
    assert_eq!((counters.lines, counters.merged, counters.updates), (1, 1, 2));
}

#[test]
fn without_an_l2_memory_is_written() {
    let mut rig = Rig::usual();
    assert_eq!(stash(&mut rig, LOW + 0x400, LINE), Stashed::Refused);
}

/// [`chasqui_memory::Port::stash`] tells the checker of the write before it drops the copies, so that one which was
/// left, here all, is found.
#[test]
fn a_copy_that_is_left_is_found() {
    let mut rig = rig(true);
    warm(&mut rig, 1);
    let tried = |rig: &mut Rig| {
        rig.perform(|port, at| match port.load(line(0), 8, at) {
            Err(Stop::Fault(Fault::Incoherent(what))) => Ok(Err(what)),
            other => other.map(Ok),
        })
    };
    for bytes in [8, LINE] {
        rig.load(line(0));
        stash(&mut rig, line(0), bytes);
        assert!(tried(&mut rig).is_ok(), "{bytes} bytes");
    }
    rig.port.note_device_write(line(0), 8);
    assert!(matches!(tried(&mut rig), Err(Incoherence::StaleHit { .. })));
    // A whole line is new, part of one heals nothing.
    stash(&mut rig, line(0), 8);
    assert!(matches!(tried(&mut rig), Err(Incoherence::StaleHit { .. })));
    stash(&mut rig, line(0), LINE);
    assert!(tried(&mut rig).is_ok());
}

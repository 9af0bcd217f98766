//! Random threads that hand a token on, each polling for it in some way: whatever they do, none waits for ever, and it makes no
//! difference whether polling loops are skipped, or how instructions are executed.

use crate::guest::register::{FLAG, NOTE, START};
use crate::guest::{
    A0, Action, DATA_REGISTER, EngineEnded, NI_REGISTER, Outcome, Program, TestNi, ZERO, run_until,
};
use crate::harts::{NUMBER, harts, meet};
use chasqui_config::Bytes;
use chasqui_engine::Time;
use chasqui_hart::{Executor, Insn, Op, decode};
use chasqui_node::{Ended, NodeConfiguration};
use chasqui_random::Random;

const PLACE: u8 = 21;
const NEXT: u8 = 22;
const ONE: u8 = 24;
const SCRATCH: u8 = 25;
const LEFT: u8 = 5;
const VALUE: u8 = 6;
/// System calls.
const FUTEX: i64 = 98;
const YIELD: i64 = 124;
const EXIT_GROUP: i64 = 94;
const PROGRAMS: u64 = 40;
/// Each place of a token is a line of its own.
const PLACES: i64 = 12;

fn place(step: i64) -> i64 {
    0x100 + 0x40 * step
}

/// Two instructions, so many times.
fn work(p: &mut Program, times: i64) {
    if times > 0 {
        p.add(LEFT, ZERO, times);
        let again = p.here();
        p.add(LEFT, LEFT, -1).branch(Op::Bne, LEFT, ZERO, again);
    }
}

fn some(random: &mut Random) -> i64 {
    let most = random.pick(&[1, 4, 40, 400, 2000]);
    random.below(most) as i64
}

/// What a thread does between two looks at its token: nothing of it lasts.
fn between(p: &mut Program, random: &mut Random) {
    match random.below(10) {
        0 | 1 => {
            // The line gives way to another.
            p.load(VALUE, PLACE, 0x200).load(VALUE, PLACE, 0x400).add(VALUE, ZERO, 0);
        }
        2 => {
            p.store(ONE, SCRATCH, 0);
            work(p, some(random));
            p.store(ZERO, SCRATCH, 0);
        }
        3 => {
            p.store(ONE, SCRATCH, 0).fence().store(ZERO, SCRATCH, 0).fence();
            p.load(VALUE, SCRATCH, 0x200).load(VALUE, SCRATCH, 0x400).add(VALUE, ZERO, 0);
        }
        4 => {
            p.atomic(Op::AmoaddD, VALUE, ZERO, PLACE).add(VALUE, ZERO, 0);
        }
        5 => {
            p.flush(PLACE);
        }
        6 => {
            p.add(A0, ZERO, 0).call(YIELD);
        }
        7 => {
            p.load(VALUE, NI_REGISTER, FLAG).add(VALUE, ZERO, 0);
        }
        8 => {
            p.atomic(Op::LrD, VALUE, ZERO, PLACE).add(VALUE, ZERO, 0);
        }
        _ => {}
    }
}

/// Polls what is at the place, until it is not 0.
fn poll(p: &mut Program, random: &mut Random) {
    let again = p.here();
    if !random.once_in(8) {
        p.pause();
    }
    p.load(VALUE, PLACE, 0);
    let seen = p.branch_ahead(Op::Bne, VALUE, ZERO);
    for _ in 0..random.below(3) {
        between(p, random);
    }
    let turn = some(random);
    work(p, turn);
    p.add(LEFT, ZERO, 0).jump(again).land(seen);
}

/// Polls what never comes, or sleeps for ever.
fn wait_for_ever(p: &mut Program, random: &mut Random) {
    if random.once_in(3) {
        p.add(A0, PLACE, 0).add(A0 + 1, ZERO, 0).add(A0 + 2, ZERO, 0).add(A0 + 3, ZERO, 0).call(FUTEX);
    }
    p.add(PLACE, DATA_REGISTER, place(PLACES));
    poll(p, random);
}

/// The token goes from thread to thread: each step has a thread, and perhaps the device passes it on.
fn tokens(count: usize, random: &mut Random) -> (Program, Vec<(Time, Action)>) {
    let steps: Vec<usize> =
        (0..3 + random.below(PLACES as u64 - 3)).map(|_| random.below(count as u64) as usize).collect();
    let of_device = random.once_in(2).then(|| random.below(steps.len() as u64 - 1) as usize);
    let mut schedule = vec![];
    let mut p = Program::new();
    p.add(ONE, ZERO, 1).threads(count, NUMBER);
    meet(&mut p, count);
    for thread in 0..count {
        p.add(VALUE, NUMBER, -(thread as i64));
        let skip = p.here();
        // Branches reach no further than 4 KB: a jump does.
        p.branch_ahead(Op::Beq, VALUE, ZERO);
        let others = p.here();
        p.push(Insn { op: Op::Jal, ..decode(0x13) });
        p.land(skip);
        p.add(SCRATCH, DATA_REGISTER, 0x500 + 0x40 * thread as i64);
        for (step, _) in steps.iter().enumerate().filter(|&(_, &of)| of == thread) {
            p.add(PLACE, DATA_REGISTER, place(step as i64));
            p.add(NEXT, DATA_REGISTER, place(step as i64 + 1));
            if step > 0 {
                poll(&mut p, random);
            }
            let before = some(random);
            work(&mut p, before);
            if random.once_in(4) {
                p.fence().store(NUMBER, NI_REGISTER, NOTE);
            }
            if step + 1 == steps.len() {
                p.add(A0, ZERO, 7).call(EXIT_GROUP);
            } else if Some(step) == of_device {
                p.fence().store(ZERO, NI_REGISTER, START);
                schedule.push((Time(1 + random.below(20_000_000)), Action::Write(place(step as i64 + 1), 1)));
            } else {
                p.store(ONE, NEXT, 0);
                if random.once_in(2) {
                    p.fence();
                }
            }
        }
        wait_for_ever(&mut p, random);
        p.land(others);
    }
    (p, schedule)
}

fn machine(count: usize, random: &mut Random) -> NodeConfiguration {
    let mut c = harts(count);
    c.checks.coherence = random.once_in(4);
    if !random.once_in(3) {
        (c.l1d.size, c.l1d.ways, c.l2.present) = (Bytes::from_bytes(512), 1, random.once_in(3));
    }
    c
}

fn hand_on(seed: u64) -> Outcome {
    let mut random = Random::new(seed);
    let count = 2 + random.below(3) as usize;
    let mut c = machine(count, &mut random);
    let (program, schedule) = tokens(count, &mut random);
    let attach = Time(random.pick(&[0, 10_000, 3_000_000]));
    let mut outcomes = vec![];
    for (skip, executor) in [
        (true, Executor::Translated),
        (false, Executor::Translated),
        (true, Executor::Threaded),
        (false, Executor::Reference),
    ] {
        (c.checks.spin_skip, c.checks.executor, c.checks.translate_after) = (skip, executor, 1);
        let ni = TestNi::new(schedule.clone()).behind(attach);
        let (outcome, ended) = run_until(&c, &program, ni, Time(20_000_000_000));
        assert!(
            matches!(outcome.ended, Some((_, Ended::Exit(7)))),
            "{skip}, {executor:?}: {:?}, {ended:?}",
            outcome.ended
        );
        assert_ne!(ended, EngineEnded::OutOfTime);
        outcomes.push(outcome);
    }
    for outcome in &outcomes[1..] {
        assert!(*outcome == outcomes[0], "{:?}\n{:?}", outcomes[0], outcome);
    }
    outcomes.swap_remove(0)
}

#[test]
fn a_token_comes_to_its_end() {
    let mut seeds = Random::for_test(0x70ce_a1d5);
    let programs = std::env::var("CHASQUI_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS);
    let mut failed = 0;
    for program in 0..programs {
        let seed = seeds.bits();
        if std::panic::catch_unwind(|| hand_on(seed)).is_err() {
            println!("that was program {program}, seed {seed:#x}");
            failed += 1;
        }
    }
    assert_eq!(failed, 0, "programs failed");
}

/// A parked hart polls by `lr`, and has been moved on; another, which yields in its loop, has yet to.
#[test]
fn a_yield_does_not_end_the_reservation_of_a_hart_that_has_been_moved_on() {
    hand_on(0x1a9e_6314_2457_e1a2);
}

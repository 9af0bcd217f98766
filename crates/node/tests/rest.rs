//! When nothing happens any more on a node of several harts, each of which polls by transactions that the others meet.

use crate::guest::register::START;
use crate::guest::{
    A0, Action, DATA_REGISTER, EngineEnded, NI_REGISTER, Outcome, Program, TestNi, ZERO, run, run_among,
    run_until,
};
use crate::harts::{NUMBER, harts, meet};
use crate::limits::Neighbour;
use chasqui_config::Bytes;
use chasqui_engine::Time;
use chasqui_hart::{Insn, Op, decode};
use chasqui_node::{Ended, NodeConfiguration};

const X: u8 = 21;
const Y: u8 = 22;
const NEVER: u8 = 23;
const ONE: u8 = 24;
const LEFT: u8 = 5;
const VALUE: u8 = 6;
/// System calls.
const FUTEX: i64 = 98;
const YIELD: i64 = 124;
const EXIT_GROUP: i64 = 94;

/// A node of so many harts, whose data caches have eight lines, each in a place of its own.
fn machine(count: usize) -> NodeConfiguration {
    let mut c = harts(count);
    (c.l1d.size, c.l1d.ways, c.l2.present) = (Bytes::from_bytes(512), 1, false);
    c
}

/// `count` threads that have met, with their numbers and the places of what they poll.
fn begun(count: usize) -> Program {
    let mut p = Program::new();
    p.add(X, DATA_REGISTER, 0x100).add(Y, DATA_REGISTER, 0x140).add(NEVER, DATA_REGISTER, 0x180);
    p.add(ONE, ZERO, 1).threads(count, NUMBER);
    meet(&mut p, count);
    p
}

/// Two instructions, so many times.
fn work(p: &mut Program, times: i64) {
    let high = (times + 0x800) >> 12 << 12;
    p.push(Insn { op: Op::Lui, rd: LEFT, imm: high, ..decode(0x13) }).add(LEFT, LEFT, times - high);
    let again = p.here();
    p.add(LEFT, LEFT, -1).branch(Op::Bne, LEFT, ZERO, again);
}

/// The thread numbered `number` does what follows, up to where [`Program::land`] ends it.
fn only(p: &mut Program, number: i64) -> usize {
    p.add(VALUE, NUMBER, -number);
    p.branch_ahead(Op::Bne, VALUE, ZERO)
}

/// The first loads of another line at the same place of the cache take the line at `place`.
fn loses(p: &mut Program, place: u8) {
    p.load(VALUE, place, 0x200).load(VALUE, place, 0x400).add(VALUE, ZERO, 0);
}

/// Polls `place` until something is there. The line gives way to another in each turn, which takes some 2 `turn` instructions.
fn polls(p: &mut Program, place: u8, turn: i64) {
    let again = p.here();
    p.pause().load(VALUE, place, 0);
    let seen = p.branch_ahead(Op::Bne, VALUE, ZERO);
    loses(p, place);
    work(p, turn);
    p.jump(again).land(seen);
}

/// When `outcome`, of a run in which not all threads have ended, was over: as far as the harts had come.
fn rested(outcome: &Outcome, what: &str) -> Vec<(String, u64)> {
    assert_eq!(outcome.ended, None, "{what}");
    let is_instructions = |(name, _): &&(String, u64)| name.ends_with(".instructions");
    outcome.statistics.iter().filter(is_instructions).cloned().collect()
}

/// What comes from outside, and nobody can notice, is known of before it comes: how long before depends on the engine.
#[test]
fn a_node_rests_when_it_would_whenever_it_hears_of_events() {
    let c = machine(2);
    let mut p = begun(2);
    let others = only(&mut p, 0);
    polls(&mut p, NEVER, 300);
    p.land(others);
    polls(&mut p, Y, 330);
    for first in (20..60).map(|place| Time(place * 331_000)) {
        for apart in [300_000, 2_500_000] {
            let [late, early] = [1_000, 6_000_000].map(|least| {
                let neighbour = Neighbour::new(first, Time(apart), 12, Time(least));
                run_among(
                    &c,
                    &p,
                    TestNi::new(vec![(Time(0), Action::Nothing)]).hiding_all(),
                    Box::new(neighbour),
                    Time(least),
                )
            });
            let what = format!("from {first} on, each {apart} ps");
            assert_eq!(rested(&late, &what), rested(&early, &what), "{what}");
            assert!(late == early, "{what}");
        }
    }
}

/// A store is on its way to a device while all harts do what they did before: the device may answer it.
#[test]
fn a_store_on_its_way_to_a_device_is_awaited() {
    let c = machine(2);
    let mut p = begun(2);
    let others = only(&mut p, 0);
    p.store(ZERO, NI_REGISTER, START);
    polls(&mut p, X, 100);
    p.add(A0, ZERO, 7).call(EXIT_GROUP);
    p.land(others);
    polls(&mut p, NEVER, 100);
    let schedule = vec![(Time(1_000), Action::Write(0x100, 7))];
    for attach in [0, 10_000, 1_000_000, 40_000_000] {
        let ni = TestNi::new(schedule.clone()).behind(Time(attach));
        let ended = run(&c, &p, ni).0.ended;
        assert!(matches!(ended, Some((_, Ended::Exit(7)))), "{attach} ps: {ended:?}");
    }
}

/// A thread polls, sees what another has stored, and sleeps for ever: it repeats nothing, while the others go on.
#[test]
fn a_thread_that_goes_to_sleep_is_not_waited_for() {
    let c = machine(3);
    let mut p = begun(3);
    let others = only(&mut p, 0);
    work(&mut p, 5000);
    p.store(ONE, X, 0);
    polls(&mut p, NEVER, 50);
    p.land(others);
    let third = only(&mut p, 1);
    polls(&mut p, X, 100);
    p.add(A0, NEVER, 0).add(A0 + 1, ZERO, 0).add(A0 + 2, ZERO, 0).add(A0 + 3, ZERO, 0).call(FUTEX);
    p.land(third);
    polls(&mut p, Y, 70);
    let (outcome, ended) = run_until(&c, &p, TestNi::new(vec![]), Time(5_000_000_000));
    assert_eq!((outcome.ended, ended), (None, EngineEnded::Idle), "the deadlock is not found");
}

/// Thread 0 yields in a loop until thread 1 has stored, works for long, stores for thread 1, and polls what never comes.
fn yields_and_stores_and_polls(turn: i64, before: i64) -> Program {
    let mut p = begun(2);
    let others = only(&mut p, 0);
    let again = p.here();
    p.add(A0, ZERO, 0).call(YIELD).load(VALUE, X, 0);
    let seen = p.branch_ahead(Op::Bne, VALUE, ZERO);
    loses(&mut p, X);
    work(&mut p, 200);
    p.jump(again).land(seen);
    work(&mut p, before);
    p.store(ONE, Y, 0).fence().add(VALUE, ZERO, 0);
    let again = p.here();
    p.pause().load(VALUE, NEVER, 0).load(VALUE, NEVER, 0x200).jump(again);
    p.land(others);
    work(&mut p, 4000);
    p.store(ONE, X, 0);
    polls(&mut p, Y, turn);
    p.add(A0, ZERO, 7).call(EXIT_GROUP);
    p
}

/// What a hart repeats from pause to pause is another loop than what it repeated from yield to yield.
#[test]
fn a_store_between_yields_and_pauses_is_awaited() {
    let c = machine(2);
    for turn in (500..1500).step_by(100) {
        for before in (8000..9000).step_by(150) {
            let program = yields_and_stores_and_polls(turn, before);
            let ended = run(&c, &program, TestNi::new(vec![])).0.ended;
            assert!(matches!(ended, Some((_, Ended::Exit(7)))), "{turn}, {before}: {ended:?}");
        }
    }
}

/// Threads poll one line, some by transactions: that others read it tells them nothing.
#[test]
fn threads_that_wait_for_one_line_for_ever_are_found() {
    for turns in [[0, 70, 70], [0, 0, 50], [40, 40, 40], [40, 55, 70]] {
        for skip in [true, false] {
            let mut c = machine(3);
            c.checks.spin_skip = skip;
            let mut p = begun(3);
            for (number, turn) in turns.into_iter().enumerate() {
                let others = only(&mut p, number as i64);
                if turn > 0 {
                    polls(&mut p, NEVER, turn);
                } else {
                    let again = p.here();
                    p.pause().load(VALUE, NEVER, 0).branch(Op::Beq, VALUE, ZERO, again);
                }
                p.land(others);
            }
            let (outcome, ended) = run_until(&c, &p, TestNi::new(vec![]), Time(2_000_000_000));
            assert_eq!((outcome.ended, ended), (None, EngineEnded::Idle), "{turns:?}, skipping {skip}");
        }
    }
}

/// Each turn of a thread's loop has a place hold something for a while. Another looks there seldom.
#[test]
fn what_a_loop_stores_for_a_while_may_be_seen() {
    let (c, mut seen) = (machine(2), 0);
    for (pulse, is_written) in [20, 90, 150].into_iter().flat_map(|pulse| [(pulse, false), (pulse, true)]) {
        let mut p = begun(2);
        let others = only(&mut p, 0);
        polls(&mut p, X, 937);
        p.add(A0, ZERO, 7).call(EXIT_GROUP).land(others);
        let again = p.here();
        p.pause().store(ONE, X, 0);
        work(&mut p, pulse);
        p.store(ZERO, X, 0).fence();
        if is_written {
            loses(&mut p, X);
        }
        work(&mut p, 200);
        p.jump(again);
        // They may go on for long before it is seen.
        let (outcome, ended) = run_until(&c, &p, TestNi::new(vec![]), Time(500_000_000));
        let is_seen = matches!(outcome.ended, Some((_, Ended::Exit(7))));
        println!("{pulse}, {is_written}: {ended:?}, {:?}", outcome.ended);
        assert!(is_seen || ended == EngineEnded::OutOfTime, "{pulse}, {is_written}");
        seen += u32::from(is_seen);
    }
    assert!(seen >= 4, "{seen}");
}

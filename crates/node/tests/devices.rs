//! Two devices on one node: each has its own registers, transactions and counters.

use crate::guest::register::{FLAG, NOTE, START};
use crate::guest::{
    A0, Action, DATA_REGISTER, ENTER, LEAVE, NI_REGISTER, Program, SECOND_REGISTERS, SHARED_REGISTER, Seen,
    TestNi, ZERO, configuration, run_with_two,
};
use chasqui_config::Bytes;
use chasqui_engine::Time;
use chasqui_hart::{Insn, Op, decode};
use chasqui_node::Ended;

/// Holds [`SECOND_REGISTERS`].
const SECOND: u8 = 21;
const ATTACH: Time = Time(50_000);

fn with_second() -> Program {
    let mut p = Program::new();
    p.push(Insn { op: Op::Lui, rd: SECOND, imm: SECOND_REGISTERS as i64, ..decode(0x13) });
    p
}

fn stores(seen: &[Seen]) -> Vec<(u64, u64)> {
    let store = |seen: &Seen| match *seen {
        Seen::Store(_, address, value) => Some((address, value)),
        _ => None,
    };
    seen.iter().filter_map(store).collect()
}

/// One on the bus, one behind a link.
#[test]
fn accesses_come_to_the_device_whose_registers_they_name() {
    let mut p = with_second();
    p.fence().add(A0, ZERO, 1).store(A0, NI_REGISTER, NOTE).add(A0, ZERO, 2).store(A0, SECOND, NOTE);
    p.add(A0, ZERO, 3).store(A0, NI_REGISTER, NOTE).fence().add(A0, ZERO, 0).exit();
    let second = TestNi::new(vec![]).behind(ATTACH);
    let (outcome, seen) = run_with_two(&configuration(), &p, TestNi::new(vec![]), second);
    assert!(matches!(outcome.ended, Some((_, Ended::Exit(0)))), "{:?}", outcome.ended);
    let note = NOTE as u64;
    assert_eq!(stores(&outcome.seen), [(note, 1), (note, 3)]);
    assert_eq!(stores(&seen), [(note, 2)]);
}

/// The second sets its flag, and moves data by transactions of its own, while the program polls it.
#[test]
fn each_device_has_its_own_events_and_transactions() {
    let mut p = with_second();
    p.fence().store(ZERO, SECOND, START);
    let poll = p.here();
    p.pause().load(A0, SECOND, FLAG).branch(Op::Beq, A0, ZERO, poll);
    p.load(A0, NI_REGISTER, FLAG).exit();
    let schedule = vec![(Time(2_000_000), Action::Write(0x200, 7)), (Time(9_000_000), Action::Flag(5))];
    let (outcome, seen) =
        run_with_two(&configuration(), &p, TestNi::new(vec![]), TestNi::new(schedule).behind(ATTACH));
    let Some((end, Ended::Exit(0))) = outcome.ended else { panic!("{:?}", outcome.ended) };
    assert!(end > Time(9_000_000), "the program has waited for the second's flag; the first's is 0");
    assert!(outcome.seen.is_empty());
    let granted = seen.iter().filter(|seen| matches!(seen, Seen::Granted(..))).count();
    let done = seen.iter().filter(|seen| matches!(seen, Seen::Done(..))).count();
    assert_eq!((granted, done), (1, 1));
}

/// Stores that are posted when a call begins that takes no time take theirs, and an access within the call waits for them.
#[test]
fn stores_that_were_posted_before_an_untimed_call_come_to_their_ends() {
    let mut p = Program::new();
    p.free_calls = true;
    for number in 1..4 {
        p.add(A0, ZERO, number).store(A0, NI_REGISTER, NOTE);
    }
    p.mark(ENTER).load(A0, NI_REGISTER, FLAG).mark(LEAVE);
    p.add(A0, ZERO, 4).store(A0, NI_REGISTER, NOTE).fence().add(A0, ZERO, 0).exit();
    let (outcome, _) = run_with_two(&configuration(), &p, TestNi::new(vec![]), TestNi::new(vec![]));
    assert!(matches!(outcome.ended, Some((_, Ended::Exit(0)))), "{:?}", outcome.ended);
    assert_eq!(stores(&outcome.seen), [1, 2, 3, 4].map(|number| (NOTE as u64, number)));
}

/// The first has network memory, and stores to it need no fence; the second says nothing of either, or as much.
#[test]
fn what_one_device_says_of_addresses_holds_beside_another() {
    let mut c = configuration();
    c.network_cache.present = true;
    let mut p = Program::new();
    p.push(Insn { op: Op::Nload, rd: A0, rs1: SHARED_REGISTER, ..decode(0x13) });
    p.add(A0, ZERO, 3);
    // In later turns code and translations are there, so that nothing lets the flush come first.
    let again = p.here();
    p.store(A0, DATA_REGISTER, 0).flush(DATA_REGISTER).store(A0, NI_REGISTER, NOTE);
    p.add(A0, A0, -1).branch(Op::Bne, A0, ZERO, again).exit();
    for second in [TestNi::new(vec![]).without_memory(), TestNi::new(vec![])] {
        let (outcome, _) = run_with_two(&c, &p, TestNi::new(vec![]).self_contained(), second);
        assert!(matches!(outcome.ended, Some((_, Ended::Exit(0)))), "{:?}", outcome.ended);
    }
    let (outcome, _) = run_with_two(&c, &p, TestNi::new(vec![]), TestNi::new(vec![]));
    assert!(matches!(outcome.ended, Some((_, Ended::Fault { signal: 7, .. }))), "{:?}", outcome.ended);
}

/// A device's stores come in their order, those within a call that takes no time, too.
#[test]
fn a_store_within_an_untimed_call_does_not_pass_those_that_were_posted_before() {
    let mut p = Program::new();
    p.free_calls = true;
    for number in 1..4 {
        p.add(A0, ZERO, number).store(A0, NI_REGISTER, NOTE);
    }
    p.mark(ENTER).add(A0, ZERO, 4).store(A0, NI_REGISTER, NOTE);
    p.store_64(0, NI_REGISTER).add(A0, ZERO, 5).store(A0, NI_REGISTER, NOTE).mark(LEAVE);
    p.add(A0, ZERO, 6).store(A0, NI_REGISTER, NOTE).fence().add(A0, ZERO, 0).exit();
    let (outcome, _) = run_with_two(&configuration(), &p, TestNi::new(vec![]), TestNi::new(vec![]));
    assert!(matches!(outcome.ended, Some((_, Ended::Exit(0)))), "{:?}", outcome.ended);
    assert_eq!(stores(&outcome.seen), [1, 2, 3, 4, 5, 6].map(|number| (NOTE as u64, number)));
    assert!(matches!(outcome.seen[4], Seen::Store64(..)), "{:?}", outcome.seen);
}

/// They come in their order to a device behind a link, too, on which those before are still on their way.
#[test]
fn an_access_within_an_untimed_call_does_not_pass_those_that_cross_a_link() {
    let mut p = with_second();
    p.free_calls = true;
    for number in 1..4 {
        p.add(A0, ZERO, number).store(A0, SECOND, NOTE);
    }
    p.mark(ENTER).add(A0, ZERO, 4).store(A0, SECOND, NOTE).load(A0, SECOND, FLAG).mark(LEAVE);
    p.fence().add(A0, ZERO, 0).exit();
    let second = TestNi::new(vec![]).behind(ATTACH);
    let (outcome, seen) = run_with_two(&configuration(), &p, TestNi::new(vec![]), second);
    let Some((end, Ended::Exit(0))) = outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(stores(&seen), [1, 2, 3, 4].map(|number| (NOTE as u64, number)));
    let last =
        seen.iter().map(|seen| if let Seen::Store(time, ..) = *seen { time } else { Time::ZERO }).max();
    assert!(Some(end) > last, "the load has followed them: {end}, {last:?}");
}

/// Posts stores and buffers others, `buffered` of them, to lines that the L2 alone has, and polls until the device has written,
/// in a call; twice, so that the code is there. Also how many transactions the bus had.
fn posts_and_polls(free_calls: bool, buffered: i64) -> (Vec<Time>, u64) {
    let mut c = configuration();
    (c.checks.coherence, c.l2.present) = (false, true);
    (c.l1d.size, c.l1d.ways) = (Bytes::from_bytes(512), 1);
    let (round, place) = (21, 0x100);
    let mut p = Program::new();
    p.free_calls = free_calls;
    p.store(ZERO, NI_REGISTER, START).add(round, ZERO, 0);
    let again = p.here();
    for at in [0x40, 0x80, 0xc0, 0x240, 0x280, 0x2c0, place] {
        p.load(A0, DATA_REGISTER, at);
    }
    p.add(round, round, 1);
    for number in 0..3 {
        p.store(round, NI_REGISTER, NOTE);
        p.store(round, DATA_REGISTER, if number < buffered { 0x40 + 0x40 * number } else { place + 8 });
    }
    p.mark(ENTER);
    let poll = p.here();
    p.pause().load(A0, DATA_REGISTER, place).branch(Op::Bne, A0, round, poll);
    p.mark(LEAVE).fence().add(A0, round, -2).branch(Op::Bne, A0, ZERO, again).exit();
    let writes = [(9_000_000, 1), (19_000_000, 2)].map(|(at, value)| (Time(at), Action::Write(place, value)));
    let (outcome, _) = run_with_two(&c, &p, TestNi::new(writes.into()), TestNi::new(vec![]));
    assert!(matches!(outcome.ended, Some((_, Ended::Exit(0)))), "{:?}", outcome.ended);
    let noted = outcome.seen.iter().filter_map(|seen| match *seen {
        Seen::Store(time, _, 2) => Some(time),
        _ => None,
    });
    let transactions = outcome.statistics.iter().find(|(name, _)| name == "bus.transactions");
    (noted.collect(), transactions.expect("it is counted").1)
}

/// What was posted or buffered before a call that takes no time takes as much as where the call takes time, also while the
/// program polls.
#[test]
fn what_was_posted_before_an_untimed_call_takes_its_time() {
    let [timed, untimed] = [false, true].map(|free_calls| {
        let [none, some] = [0, 3].map(|buffered| posts_and_polls(free_calls, buffered));
        let apart = |times: &[Time]| [times[1] - times[0], times[2] - times[1]];
        println!("{none:?} {some:?}");
        (apart(&none.0), apart(&some.0), some.1 - none.1)
    });
    assert_eq!(untimed, timed);
}

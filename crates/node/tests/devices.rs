//! Two devices on one node: each has its own registers, transactions and counters.

use crate::guest::register::{FLAG, NOTE, START};
use crate::guest::{
    A0, Action, DATA_REGISTER, ENTER, LEAVE, NI_REGISTER, Program, SECOND_REGISTERS, SHARED_REGISTER, Seen,
    TestNi, ZERO, configuration, run_with_two,
};
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

//! An NI behind a link, and 64-byte stores to it: when accesses are there, in which order, and what is refused.

use crate::guest::register::{FLAG, NOTE, START};
use crate::guest::{
    A0, Action, DATA_REGISTER, LATENCY, NI_REGISTER, Program, Seen, TestNi, ZERO, configuration, run,
};
use chasqui_engine::Time;
use chasqui_hart::{Insn, Op, decode};
use chasqui_node::{Ended, NodeConfiguration};

/// First of eight registers.
const EIGHT: u8 = 21;
const ATTACH: Time = Time(50_000);

/// Registers [`EIGHT`] and on hold 1 to 8.
fn with_eight_words() -> Program {
    let mut p = Program::new();
    for i in 0..8 {
        p.add(EIGHT + i, ZERO, i64::from(i) + 1);
    }
    p
}

const WORDS: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// What the NI saw, and when the program ended with which status.
fn outcome(c: &NodeConfiguration, program: &Program, ni: TestNi) -> (Vec<Seen>, Time, i32) {
    let (outcome, _) = run(c, program, ni);
    match outcome.ended {
        Some((end, Ended::Exit(status))) => (outcome.seen, end, status),
        other => panic!("{other:?}"),
    }
}

/// A store comes later by the way to the NI, and its hart does not wait; a load takes two ways more. Beside that the
/// answer of an NI on the bus is a beat of the load's transaction; through a link it takes a clock of its own.
#[test]
fn a_link_is_paid_once_by_stores_and_twice_by_loads() {
    let c = configuration();
    let mut store = Program::new();
    store.add(A0, ZERO, 7).store(A0, NI_REGISTER, NOTE).exit();
    let mut load = Program::new();
    load.load(A0, NI_REGISTER, FLAG).exit();
    let (near, near_end, _) = outcome(&c, &store, TestNi::new(vec![]));
    let (far, far_end, _) = outcome(&c, &store, TestNi::new(vec![]).behind(ATTACH));
    let (&[Seen::Store(there, ..)], &[Seen::Store(later, ..)]) = (&near[..], &far[..]) else {
        panic!("{near:?}, {far:?}")
    };
    assert_eq!(later, there + ATTACH);
    assert_eq!(near_end, far_end, "a posted store is over when it leaves the bus");
    let (_, near_end, _) = outcome(&c, &load, TestNi::new(vec![]));
    let (_, far_end, _) = outcome(&c, &load, TestNi::new(vec![]).behind(ATTACH));
    assert_eq!(far_end, near_end + ATTACH + ATTACH);
}

/// Stores of all lengths and loads stay in order on the link, also when the NI keeps the first waiting.
#[test]
fn a_link_keeps_the_order() {
    let c = configuration();
    let mut p = with_eight_words();
    p.store(EIGHT, NI_REGISTER, NOTE).store_64(EIGHT, NI_REGISTER).store(EIGHT + 1, NI_REGISTER, NOTE);
    p.load(A0, NI_REGISTER, FLAG).exit();
    for closed_until in [Time::ZERO, Time(3_000_000)] {
        let ni = TestNi::new(vec![]).behind(ATTACH).closed_until(closed_until);
        let (seen, ..) = outcome(&c, &p, ni);
        let &[Seen::Store(first, _, 1), Seen::Store64(second, 0, WORDS), Seen::Store(third, _, 2)] =
            &seen[..]
        else {
            panic!("{seen:?}")
        };
        assert!(closed_until <= first && first <= second && second <= third);
    }
}

/// Address tenure and beats of the data, as of any store; the answer takes the NI's time and a clock.
#[test]
fn a_64_byte_store_is_one_transaction() {
    let c = configuration();
    let clock = c.bus.clock();
    let beats = 64 / c.bus.width.bytes();
    let at = |program: &Program| {
        let (seen, end, status) = outcome(&c, program, TestNi::new(vec![]));
        match seen[..] {
            [Seen::Store(time, ..)] => (time, end, status),
            [Seen::Store64(time, 0, WORDS)] => (time, end, status),
            _ => panic!("{seen:?}"),
        }
    };
    // The fence waits for a posted store.
    let with = |add: &dyn Fn(&mut Program)| {
        let mut p = with_eight_words();
        add(&mut p);
        p.fence().exit();
        at(&p)
    };
    let (one, without, _) = with(&|p| _ = p.add(A0, ZERO, 0).store(A0, NI_REGISTER, NOTE));
    let (posted, ..) = with(&|p| _ = p.add(A0, ZERO, 0).store_64(EIGHT, NI_REGISTER));
    let (answered, end, status) = with(&|p| _ = p.add(A0, ZERO, 5).store_64_answered(A0, EIGHT, NI_REGISTER));
    assert_eq!(posted, one + clock.edge(beats - 1));
    assert_eq!((answered, status), (posted, 0));
    // The hart goes on when the answer is there, and the instruction takes its cycles; the fence that follows waits
    // for nothing. Behind a posted store the fence goes on when that is over.
    let answer = clock.align(posted + LATENCY) + clock.edge(1);
    assert_eq!(end - answer, without - one + c.clock().edge(c.timing().of(Op::St64bv)));
}

/// A program that tries again until there is room gets in at the first try that finds some, and is skipped
/// over meanwhile as any loop that polls.
#[test]
fn a_refused_store_changes_nothing_and_may_be_tried_again() {
    let mut p = with_eight_words();
    p.store(ZERO, NI_REGISTER, START);
    let again = p.here();
    p.pause().store_64_answered(A0, EIGHT, NI_REGISTER);
    p.branch(Op::Bne, A0, ZERO, again);
    p.exit();
    for attach in [Time::ZERO, ATTACH] {
        let after = Time(2_000_000);
        let mut c = configuration();
        let [skipped, executed] = [true, false].map(|skip| {
            c.checks.spin_skip = skip;
            let ni = TestNi::new(vec![(after, Action::Flag(1))]).behind(attach).full();
            run(&c, &p, ni).0
        });
        assert_eq!(skipped, executed);
        let [Seen::Store(begin, ..), Seen::Store64(time, 0, WORDS)] = skipped.seen[..] else {
            panic!("{skipped:?}")
        };
        // A try takes less than this, and the next begins when the answer is there.
        assert!(time >= begin + after && time < begin + after + Time(200_000) + attach + attach);
    }
}

/// Misaligned, or to memory: the process gets SIGBUS.
#[test]
fn what_a_64_byte_store_may_not_do() {
    let add = |imm| Insn { rd: A0, rs1: NI_REGISTER, imm, ..decode(0x13) };
    let refused = |p: &Program, what: &str| match run(&configuration(), p, TestNi::new(vec![])).0.ended {
        Some((_, Ended::Fault { signal: 7, text })) if text.contains(what) => {}
        other => panic!("{other:?}"),
    };
    for answered in [false, true] {
        let store = |p: &mut Program, rs1| {
            if answered {
                p.store_64_answered(A0, EIGHT, rs1).exit()
            } else {
                p.store_64(EIGHT, rs1).exit()
            };
        };
        let mut misaligned = with_eight_words();
        misaligned.push(add(32));
        store(&mut misaligned, A0);
        refused(&misaligned, "across its alignment");
        let mut memory = with_eight_words();
        store(&mut memory, DATA_REGISTER);
        refused(&memory, "64-byte store to 0x20000000, which is not a device's");
    }
}

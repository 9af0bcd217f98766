//! Harts without caches on a bus, beside harts that have them: right values, and skipping changes nothing.

use crate::guest::register::START;
use crate::guest::{
    A0, Action, DATA_REGISTER, NI_REGISTER, Outcome, Program, TestNi, ZERO, frequency, run_with_ports,
};
use crate::harts::{NUMBER, end, harts, statistic};
use chasqui_engine::Time;
use chasqui_hart::{Executor, Op};
use chasqui_memory::PortKind;
use chasqui_node::NodeConfiguration;
use chasqui_random::Random;

const ROUNDS: i64 = 40;
const TURN: i64 = 0x200;

/// The outcome with skipping and without, and by the reference; which are one.
fn run_every_way(
    mut c: NodeConfiguration,
    p: &Program,
    schedule: &[(Time, Action)],
    ports: &[PortKind],
    what: &str,
) -> Outcome {
    let mut outcome = |skip, executor, checker| {
        (c.checks.spin_skip, c.checks.coherence) = (skip, checker);
        (c.checks.executor, c.checks.translate_after) = (executor, 1);
        run_with_ports(&c, p, TestNi::new(schedule.to_vec()), ports)
    };
    let expected = outcome(true, Executor::Threaded, false);
    let [threaded, translated, reference] = [Executor::Threaded, Executor::Translated, Executor::Reference];
    for (skip, executor, checker) in [
        (false, threaded, false),
        (true, reference, false),
        (true, threaded, true),
        (true, translated, false),
    ] {
        let other = outcome(skip, executor, checker);
        for (a, b) in expected.statistics.iter().zip(&other.statistics) {
            assert_eq!(a, b, "{what}: skipping {skip}, {executor:?}, checker {checker}");
        }
        assert!(expected == other, "{what}: skipping {skip}, {executor:?}, checker {checker}");
    }
    expected
}

/// Two threads count a word up in turn, by plain loads and stores; the last value is the status.
fn take_turns(pauses: bool) -> Program {
    let (turn, mine, last) = (5, 6, 7);
    let mut p = Program::new();
    p.add(turn, DATA_REGISTER, TURN).add(last, ZERO, 2 * ROUNDS).threads(2, NUMBER);
    p.add(mine, NUMBER, 0);
    let round = p.here();
    let wait = p.here();
    if pauses {
        p.pause();
    }
    p.load(A0, turn, 0).branch(Op::Bne, A0, mine, wait);
    p.add(A0, A0, 1).store(A0, turn, 0).add(mine, mine, 2).branch(Op::Blt, mine, last, round);
    let other = p.here();
    p.load(A0, turn, 0).branch(Op::Bne, A0, last, other);
    p.exit();
    p
}

#[test]
fn harts_with_caches_and_without_share_memory() {
    use PortKind::{Cacheless, Caches};
    let mut random = Random::for_test(0xcac4e);
    for round in 0..12 {
        let mut c = harts(2);
        c.core.clock = frequency(random.pick(&["1 GHz", "133 MHz", "3 GHz"]));
        let ports = random.pick(&[[Caches, Cacheless], [Cacheless, Caches], [Cacheless, Cacheless]]);
        let p = take_turns(random.once_in(2));
        let outcome = run_every_way(c, &p, &[], &ports, &format!("round {round}: {ports:?}"));
        assert_eq!(end(&outcome).1, 2 * ROUNDS as i32, "{ports:?}");
    }
}

/// A loop polls a word that a device writes: it is skipped, and its loads are counted.
#[test]
fn a_loop_that_polls_past_no_cache_is_skipped() {
    let mut p = Program::new();
    p.store(ZERO, NI_REGISTER, START);
    let wait = p.here();
    p.pause();
    p.load(A0, DATA_REGISTER, TURN).branch(Op::Beq, A0, ZERO, wait).exit();
    let at = Time(80_000_000);
    let outcome =
        run_every_way(harts(1), &p, &[(at, Action::Write(TURN, 7))], &[PortKind::Cacheless], "a polled word");
    let (ended, status) = end(&outcome);
    assert_eq!(status, 7);
    assert!(ended > at && ended < at + Time(2_000_000), "{ended}");
    assert!(statistic(&outcome, "memory.uncached_loads") > 100);
}

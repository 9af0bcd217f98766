//! Harts that run ahead of each other while a transaction of their own is under way.

use crate::guest::{A0, DATA_REGISTER, Program, TestNi, ZERO, frequency, run, runs_ahead};
use crate::harts::{LINE, NUMBER, harts, meet};
use chasqui_config::Bytes;
use chasqui_hart::{Executor, Op};

/// From a line to the next of its set.
const AWAY: i64 = 0x200;

/// Two threads. Of a set of two lines each uses the older one `later` turns after a store to a third line has been buffered,
/// which takes the place of what is the oldest when it comes.
fn stores_past_a_full_set(later: i64, times: i64) -> Program {
    let (mine, left, value, turns, second) = (21, 5, 6, 7, 25);
    let mut p = Program::new();
    p.add(mine, DATA_REGISTER, 0).threads(2, NUMBER);
    let first = p.branch_ahead(Op::Beq, NUMBER, ZERO);
    p.add(mine, mine, 2 * LINE).land(first);
    meet(&mut p, 2);
    p.add(second, mine, AWAY).add(turns, ZERO, times);
    let again = p.here();
    p.load(value, mine, 0).load(value, mine, 0).load(value, second, 0).load(value, second, 0);
    p.add(value, value, 0).fence().store(left, second, AWAY).add(left, ZERO, later);
    let work = p.here();
    p.add(left, left, -1).branch(Op::Bne, left, ZERO, work);
    p.load(value, mine, 0).add(value, value, 0);
    p.add(turns, turns, -1).branch(Op::Bne, turns, ZERO, again).add(A0, ZERO, 0).exit();
    p
}

#[test]
fn what_is_under_way_comes_before_what_the_hart_does_later() {
    let mut ahead = 0;
    for later in (1..200).step_by(3) {
        let mut c = harts(2);
        (c.core.clock, c.bus.clock) = (frequency("1 GHz"), frequency("500 MHz"));
        (c.l2.present, c.checks.coherence) = (false, false);
        (c.l1d.size, c.l1d.ways) = (Bytes::from_bytes(2 * AWAY as u64), 2);
        let program = stores_past_a_full_set(later, 8);
        let mut outcome = |executor| {
            (c.checks.executor, c.checks.translate_after) = (executor, 1);
            run(&c, &program, TestNi::new(vec![])).0
        };
        let by_steps = outcome(Executor::Reference);
        for executor in [Executor::Threaded, Executor::Translated] {
            assert!(outcome(executor) == by_steps, "{later} turns later, {executor:?}");
        }
        ahead += runs_ahead(&c, &program, TestNi::new(vec![]))[0];
    }
    assert!(ahead > 100, "{ahead} runs ahead");
}

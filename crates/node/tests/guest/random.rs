//! What random tests of nodes share: a node, what its NI does meanwhile, and that outcomes are the same.

use chasqui_config::Bytes;
use chasqui_engine::Time;
use chasqui_node::NodeConfiguration;
use chasqui_random::Random;

use super::{Action, Outcome, frequency};
use crate::harts::{ADDITIONS, PHASES, end, harts};

/// A node of `count` harts, and in words what was drawn: clocks, whether the bus is pipelined and there is an L2, lengths of lines.
/// The checker, under which no hart runs ahead of others, is off.
pub fn node(count: usize, random: &mut Random) -> (NodeConfiguration, String) {
    let mut c = harts(count);
    let clocks = random.pick(&[("1 GHz", "500 MHz"), ("133 MHz", "40 MHz"), ("3 GHz", "400 MHz")]);
    (c.core.clock, c.bus.clock) = (frequency(clocks.0), frequency(clocks.1));
    (c.l2.present, c.checks.coherence, c.bus.pipelined) = (random.once_in(2), false, random.once_in(2));
    let lines = random.pick(&[(64, 64), (32, 32), (128, 32), (32, 64), (128, 64)]);
    (c.l1d.line, c.l1i.line) = (Bytes::from_bytes(lines.0), Bytes::from_bytes(lines.1));
    c.l2.line = Bytes::from_bytes(128);
    let l2 = if c.l2.present { "an L2" } else { "no L2" };
    (c, format!("{count} harts, {clocks:?}, {l2}, lines of {lines:?}"))
}

/// Fewer than `count` actions of the NI before `end`.
pub fn schedule(
    count: u64,
    end: Time,
    random: &mut Random,
    action: impl Fn(&mut Random) -> Action,
) -> Vec<(Time, Action)> {
    (0..random.below(count))
        .map(|_| {
            let action = action(random);
            (Time(random.below(end.0)), action)
        })
        .collect()
}

/// One outcome is the other, to the last counter.
pub fn assert_same(a: &Outcome, b: &Outcome, what: &str) {
    assert_eq!(a.ended, b.ended, "{what}");
    for (a, b) in a.statistics.iter().zip(&b.statistics) {
        assert_eq!(a, b, "{what}");
    }
    assert!(a == b, "{what}");
}

/// `count` threads of [`crate::harts::phases`] have the right sum, and neither skipping of polling loops nor the checker, of which
/// `outcome` is told whether they are on, changes anything.
pub fn assert_skipping_changes_nothing(
    count: usize,
    what: &str,
    mut outcome: impl FnMut(bool, bool) -> Outcome,
) {
    let reference = outcome(true, false);
    assert_eq!(end(&reference).1, count as i32 * (PHASES * ADDITIONS) as i32, "{what}");
    for (skip, checker) in [(false, false), (true, true)] {
        assert_same(
            &outcome(skip, checker),
            &reference,
            &format!("{what}, skipping {skip}, checker {checker}"),
        );
    }
}

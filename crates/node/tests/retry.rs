//! An NI that has accesses retried: when they take place, and that they keep their order.

use crate::guest::register::{FLAG, NOTE};
use crate::guest::{A0, NI_REGISTER, Program, RETRY, Seen, TestNi, ZERO, configuration, run};
use chasqui_engine::Time;
use chasqui_node::{Ended, NodeConfiguration};

/// Notes 1 and 2, reads the flag, and exits with it.
fn program() -> Program {
    let mut p = Program::new();
    for number in [1, 2] {
        p.add(A0, ZERO, number).store(A0, NI_REGISTER, NOTE);
    }
    p.load(A0, NI_REGISTER, FLAG).exit();
    p
}

/// When the two notes reached an NI that is closed until then, and the exit.
fn times(c: &NodeConfiguration, closed_until: Time) -> ([Time; 2], Time) {
    let (outcome, reads) = run(c, &program(), TestNi::new(vec![]).closed_until(closed_until));
    assert_eq!(reads, 1, "the flag is read once");
    let (end, how) = outcome.ended.expect("an end");
    assert_eq!(how, Ended::Exit(0));
    let &[Seen::Store(first, _, 1), Seen::Store(second, _, 2)] = &outcome.seen[..] else {
        panic!("order: {:?}", outcome.seen)
    };
    ([first, second], end)
}

/// A store reaches the NI an address tenure and a beat after its grant. Tries are an address tenure and the NI's
/// time apart: both are whole bus clocks here.
#[test]
fn a_retried_store_takes_place_at_the_first_try_that_finds_the_ni_open() {
    let c = configuration();
    let clock = c.bus.clock();
    let address = clock.edge(c.bus.address.cycles());
    let period = address + RETRY;
    assert_eq!(clock.align(RETRY), RETRY);
    let (open, end) = times(&c, Time::ZERO);
    let grant = open[0] - address - clock.edge(1);
    for (closed_until, tries) in [
        (grant, 0),
        (grant + Time(1), 1),
        (grant + period, 1),
        (grant + period + Time(1), 2),
        (grant + Time(100 * period.0), 100),
    ] {
        let (retried, later) = times(&c, closed_until);
        assert_eq!(retried[0], open[0] + Time(tries * period.0), "closed until {closed_until}");
        assert!(retried[1] > retried[0] && later >= end);
    }
}

//! The directory protocol (`chasqui-directory`) behind the interface: programs on nodes with a hart each.
//!
//! Lines have their home nodes in turn.

use chasqui_directory::{
    ControllerUnit, DirectoryParameters, DirectorySystem, MeshUnit, Times, TransferUnit,
};
use chasqui_engine::Time;
use chasqui_hart::Op;
use chasqui_node::NodeConfiguration;
use chasqui_random::{Random, share};

use crate::guest::random::{assert_skipping_changes_nothing, schedule};
use crate::guest::register::{FLAG, NOTE};
use crate::guest::{
    A0, Action, DATA_REGISTER, NI_REGISTER, Outcome, Program, TestNi, ZERO, frequency, run_on_nodes,
};
use crate::harts::{LINE, NUMBER, additions, end, harts, meet, phases, statistic};

fn parameters(buffer: u64) -> DirectoryParameters {
    let controller = ControllerUnit { buffer, ..ControllerUnit::default() };
    DirectoryParameters { controller, mesh: MeshUnit::default(), transfer: TransferUnit::default() }
}

/// Nodes of a hart each: of one cycle an instruction, and without a second level.
fn nodes(count: usize) -> NodeConfiguration {
    let mut c = harts(count);
    c.core.clock = frequency("100 MHz");
    c.l2.present = false;
    c
}

fn go_with(c: &NodeConfiguration, p: &Program, ni: TestNi, buffer: u64) -> Outcome {
    let system = DirectorySystem::new(c, &parameters(buffer), c.harts());
    run_on_nodes(c, p, ni, (system, LINE as u64))
}

fn go(c: &NodeConfiguration, p: &Program) -> Outcome {
    go_with(c, p, TestNi::new(vec![]), 16)
}

/// Loads of lines whose home is node `first` of `count`, one after the other.
fn loads(lines: i64, first: i64, count: i64) -> Program {
    let mut p = Program::new();
    for line in 0..lines {
        p.load(5, DATA_REGISTER, (count * line + first) * LINE);
    }
    p.add(A0, ZERO, 0).exit();
    p
}

/// A load that misses starts in its cycle, waits as the formula says, and is executed in the cycle in which the line is there.
#[test]
fn misses_of_a_hart_take_what_the_formula_says() {
    let c = nodes(4);
    let times = Times::new(&parameters(16), 4, LINE as u64);
    let each = |first| {
        let [short, long] = [2, 6].map(|lines| end(&go(&c, &loads(lines, first, 4))).0);
        Time((long - short).0 / 4)
    };
    let load = c.core.load.cycles() * 10_000;
    for home in 0..4 {
        println!("home {home}: {} and the load's own {load} ps", times.clean_miss(0, home));
        assert_eq!(each(home as i64), times.clean_miss(0, home) + Time(load), "home {home}");
    }
    assert_eq!([times.clean_miss(0, 0).0, times.clean_miss(0, 1).0], [410_000, 1_250_000]);
}

/// A line that two harts add to in turn is given from one cache to the other.
#[test]
fn a_line_that_two_harts_add_to_goes_from_cache_to_cache() {
    let c = nodes(2);
    let outcome = go(&c, &additions(2, 40));
    assert_eq!(end(&outcome).1, 0);
    let given: u64 = (0..2).map(|node| statistic(&outcome, &format!("node{node}.directory.given"))).sum();
    println!("given {given} times");
    // A hart may come again before the other has asked.
    assert!((20..=100).contains(&given), "{given}");
}

/// Registers of the NI, 64 bits and with an answer.
#[test]
fn accesses_to_devices_come_to_their_end() {
    let mut p = Program::new();
    p.add(A0, ZERO, 7).fence().store(A0, NI_REGISTER, NOTE).load(A0, NI_REGISTER, FLAG).exit();
    assert_eq!(end(&go(&nodes(1), &p)).1, 0);
}

/// Each of `count` harts adds 1 to `words` words `times` times by load-reserved and store-conditional, with as many lines
/// stored to between that the cache has to replace what was reserved.
fn conditional(count: usize, times: i64, random: &mut Random) -> Program {
    let (left, value, other, word, line) = (5, 6, 7, 21, 22);
    let mut p = Program::new();
    p.add(word, DATA_REGISTER, 0x100).threads(count, NUMBER);
    meet(&mut p, count);
    p.add(left, ZERO, times);
    let again = p.here();
    for _ in 0..random.below(6) {
        p.add(line, DATA_REGISTER, LINE * random.below(8) as i64 + 0x200).load(other, line, 0);
        p.add(other, other, 1).store(other, line, 8 * random.below(4) as i64);
    }
    let retry = p.here();
    p.atomic(Op::LrD, value, 0, word).add(value, value, 1);
    p.atomic(Op::ScD, other, value, word).branch(Op::Bne, other, ZERO, retry);
    p.add(left, left, -1).branch(Op::Bne, left, ZERO, again);
    // All have come to an end.
    p.add(line, DATA_REGISTER, 0x7c0).add(value, ZERO, 1).atomic(Op::AmoaddD, ZERO, value, line);
    p.add(value, ZERO, count as i64);
    let poll = p.here();
    p.load(other, line, 0).branch(Op::Bne, other, value, poll);
    p.load(A0, word, 0).exit();
    p
}

/// Whatever the cache replaces, and whatever others take meanwhile: no update is lost, and every loop ends.
#[test]
fn conditional_stores_lose_nothing_and_succeed() {
    let mut random = Random::for_test(0xf1a5_0003);
    for round in 0..share(60) {
        let count = 2 + random.below(4) as usize;
        let mut c = nodes(count);
        c.l1d.size = chasqui_config::Bytes::from_bytes(random.pick(&[128, 256, 4096]));
        c.l1d.ways = random.pick(&[1, 2]);
        c.write_buffer.entries = random.pick(&[1, 2, 16]);
        let buffer = random.pick(&[1, 16]);
        let p = conditional(count, 10, &mut random);
        let outcome = go_with(&c, &p, TestNi::new(vec![]), buffer);
        let what = format!("round {round}: {count} harts, {:?}, room for {buffer}", c.l1d);
        assert_eq!(end(&outcome).1, 10 * count as i32, "{what}");
    }
}

/// Atomic operations, polling loops, locks: right values; and skipping and the checker change no bit.
#[test]
fn skipping_changes_nothing_with_remote_invalidations() {
    let mut random = Random::for_test(0xf1a5_0004);
    for round in 0..share(100) {
        let count = 2 + random.below(3) as usize;
        let mut c = nodes(count);
        c.core.clock = frequency(random.pick(&["100 MHz", "133 MHz", "400 MHz"]));
        c.write_buffer.entries = random.pick(&[1, 4, 16]);
        let buffer = random.pick(&[1, 16]);
        let program = phases(count, random.once_in(2), &mut random);
        let schedule = schedule(8, Time(60_000_000), &mut random, |random| {
            if random.once_in(2) { Action::Nothing } else { Action::Flag(random.bits()) }
        });
        let what = format!("round {round}: {count} threads, room for {buffer}, {schedule:?}");
        assert_skipping_changes_nothing(count, &what, |skip, checker| {
            (c.checks.spin_skip, c.checks.coherence) = (skip, checker);
            go_with(&c, &program, TestNi::new(schedule.clone()), buffer)
        });
    }
}

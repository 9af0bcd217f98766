//! Nodes of several harts: what they cost each other on the bus, against formulas, and that what only saves
//! host time changes nothing.

use crate::guest::random::{assert_same, assert_skipping_changes_nothing, schedule};
use crate::guest::register::{DOORBELL, FLAG, NOTE, START};
use crate::guest::{
    A0, Action, DATA_REGISTER, ENTER, LEAVE, NI_REGISTER, Outcome, Program, Seen, TestNi, ZERO,
    configuration, frequency, run, runs_ahead,
};
use chasqui_config::{Bytes, Quantity};
use chasqui_engine::Time;
use chasqui_hart::{Executor, Insn, Op, decode};
use chasqui_node::{Ended, NodeConfiguration};
use chasqui_random::Random;

/// The thread's number.
pub const NUMBER: u8 = 9;
pub const LINE: i64 = 64;

pub fn harts(count: usize) -> NodeConfiguration {
    let mut c = configuration();
    c.node.harts = count as u64;
    c
}

/// What the harts use does not fit: lines come from the L2 and go there, some go to memory. (The L2 has both code and data of a
/// loop: with one way they could take each other's place for ever.)
pub fn crowd(c: &mut NodeConfiguration, random: &mut Random) {
    (c.l1d.size, c.l1d.ways) = (Bytes::from_bytes(random.pick(&[512, 1024])), random.pick(&[1, 2, 4]));
    (c.l2.size, c.l2.ways) = (Bytes::from_bytes(random.pick(&[1024, 4096])), 4);
    c.write_buffer.entries = random.pick(&[1, 2, 6]);
}

pub fn go(c: &NodeConfiguration, p: &Program) -> Outcome {
    run(c, p, TestNi::new(vec![])).0
}

/// When the last thread has ended, with what status.
pub fn end(outcome: &Outcome) -> (Time, i32) {
    match &outcome.ended {
        Some((time, Ended::Exit(status))) => (*time, *status),
        other => panic!("{other:?}"),
    }
}

pub fn statistic(outcome: &Outcome, name: &str) -> u64 {
    let found = outcome.statistics.iter().find(|(path, _)| path == name);
    found.unwrap_or_else(|| panic!("no statistic {name}")).1
}

/// All `count` threads go on from here when all have come.
pub fn meet(p: &mut Program, count: usize) {
    let (arrived, here, all) = (26, 27, 28);
    p.add(arrived, DATA_REGISTER, 0x780).add(here, ZERO, 1).atomic(Op::AmoaddD, ZERO, here, arrived);
    p.add(all, ZERO, count as i64);
    let poll = p.here();
    p.load(here, arrived, 0).branch(Op::Bne, here, all, poll);
}

/// Each of two threads loads `lines` lines of its own, one after the other.
fn streams(lines: i64) -> Program {
    let mut p = Program::new();
    p.threads(2, NUMBER);
    meet(&mut p, 2);
    let second = p.branch_ahead(Op::Bne, NUMBER, ZERO);
    for line in 0..lines {
        p.load(5, DATA_REGISTER, line * LINE);
    }
    p.add(A0, ZERO, 0).exit();
    p.land(second);
    for line in 0..lines {
        p.load(5, DATA_REGISTER, 0x740 - line * LINE);
    }
    p.add(A0, ZERO, 0).exit();
    p
}

/// The DRAM serves one line at a time: 60 ns to the first chunk, and three more of 2 ns. Whoever waits has its
/// address tenure over by then, so with two harts that always wait a line comes every 66 ns. The loads' code
/// comes the same way.
#[test]
fn two_streams_of_misses_are_bound_by_the_dram() {
    let c = harts(2);
    let (few, many) = (4, 12);
    let [short, long] = [few, many].map(|lines| end(&go(&c, &streams(lines))).0);
    let dram = &c.dram;
    let line = dram.first_chunk.ps() + 3 * dram.next_chunk.ps();
    let (loads, code) = (2 * (many - few), 2 * (many - few) * 4 / LINE);
    println!("a line takes {line} ps: 60 ns + 3 x 2 ns; {loads} more lines, and {code} of code");
    assert_eq!((long - short).0, (loads + code) as u64 * line);
}

/// Each of `count` threads adds 1 to a word `times` times.
pub fn additions(count: usize, times: i64) -> Program {
    let (one, left, address) = (5, 6, 7);
    let mut p = Program::new();
    p.add(address, DATA_REGISTER, 0x100).threads(count, NUMBER);
    meet(&mut p, count);
    p.add(one, ZERO, 1).add(left, ZERO, times);
    let again = p.here();
    p.atomic(Op::AmoaddD, A0, one, address).add(left, left, -1).branch(Op::Bne, left, ZERO, again);
    p.add(A0, ZERO, 0).exit();
    p
}

/// A line that two harts take from each other for an atomic operation: address tenure (2 clocks), the
/// other cache's latency (4), four beats; then the operation starts, and the next address tenure at the bus's next
/// edge: 11 clocks, 22 ns.
#[test]
fn a_line_bounces_between_two_harts_at_the_rate_of_the_bus() {
    let c = harts(2);
    let (few, many) = (20, 60);
    let [short, long] = [few, many].map(|times| go(&c, &additions(2, times)));
    let bus = &c.bus;
    let clocks = bus.address.cycles() + bus.intervention.cycles() + 4 + 1;
    println!("a bounce: 2 + 4 + 4 + 1 = {clocks} clocks; {} more", 2 * (many - few));
    assert_eq!((end(&long).0 - end(&short).0).0, 2 * (many - few) as u64 * bus.clock().edge(clocks).0);
    let taken = |outcome: &Outcome, hart| statistic(outcome, &format!("memory{hart:02}.l1d_invalidations"));
    for hart in 0..2 {
        assert_eq!(taken(&long, hart) - taken(&short, hart), (many - few) as u64, "every operation misses");
    }
}

/// Hart 0 flushes `lines` lines one by one, the first `modified` of which hart 1 has modified. Also how long that
/// takes.
fn flushes(lines: i64, modified: i64) -> (Outcome, Time) {
    let (flag, at, end) = (21, 22, 23);
    let mut p = Program::new();
    p.add(flag, DATA_REGISTER, 0x780).add(at, DATA_REGISTER, 0).add(end, DATA_REGISTER, lines * LINE);
    p.threads(2, NUMBER);
    let second = p.branch_ahead(Op::Bne, NUMBER, ZERO);
    let wait = p.here();
    p.load(A0, flag, 0).branch(Op::Beq, A0, ZERO, wait);
    p.store(ZERO, NI_REGISTER, NOTE).fence();
    let again = p.here();
    p.flush(at).fence().add(at, at, LINE).branch(Op::Blt, at, end, again);
    p.store(ZERO, NI_REGISTER, NOTE).fence().exit();
    p.land(second);
    for line in 0..modified {
        p.store(NUMBER, DATA_REGISTER, line * LINE);
    }
    p.fence().store(NUMBER, flag, 0).exit();
    let outcome = go(&harts(2), &p);
    match outcome.seen[..] {
        [Seen::Store(begin, ..), Seen::Store(end, ..)] => (outcome, end - begin),
        ref other => panic!("{other:?}"),
    }
}

/// A flush of a line that this hart doesn't have asks the other caches in an address tenure, and the fence behind
/// it waits for the end of that. A line that one of them has modified is written: four beats of 2 ns, after which
/// the DRAM is busy for 20 ns, so that the next is written that much later.
#[test]
fn a_flush_takes_the_line_from_another_harts_cache() {
    let (c, lines) = (harts(2), 8);
    let [short, none, few, many] =
        [(16 - lines, 0), (16, 0), (16, 4), (16, 4 + lines)].map(|(all, modified)| flushes(all, modified));
    let (bus, dram) = (&c.bus, &c.dram);
    let written = bus.clock().edge(4) + Time(dram.write.ps());
    let asked = Time((none.1 - short.1).0 / lines as u64);
    let core = c.clock().edge(c.timing().of(Op::CboFlush) + c.timing().of(Op::Fence));
    println!("a flush takes {asked}, of a modified line 4 x 2 ns + 20 ns = {written}");
    assert!(asked >= bus.clock().edge(bus.address.cycles()) + core, "{asked}");
    assert_eq!((many.1 - few.1).0, lines as u64 * (written - asked).0);
    for (name, more) in [
        ("bus.transactions", 0),
        ("bus.bytes", lines * LINE),
        ("memory00.flushes", 0),
        ("memory01.l1d_invalidations", lines),
    ] {
        let [few, many] = [&few, &many].map(|(outcome, _)| statistic(outcome, name));
        println!("{name}: {few} and {many}");
        // Hart 1 has to fetch the lines, and the code that stores to them, before.
        let before = match name {
            "bus.transactions" => lines + lines * 4 / LINE,
            "bus.bytes" => lines * LINE + lines * 4 / LINE * LINE,
            _ => 0,
        };
        assert_eq!((many - few) as i64, more + before, "{name}");
    }
}

/// A thread waits for a futex; the other wakes it; both write a register of the NI when their call is over.
fn waker_and_woken() -> Program {
    let (count, zero) = (5, 6);
    let mut p = Program::new();
    p.threads(2, NUMBER);
    p.add(A0, DATA_REGISTER, 0x100).add(A0 + 1, ZERO, 0).add(A0 + 2, ZERO, 0).add(A0 + 3, ZERO, 0);
    let second = p.branch_ahead(Op::Bne, NUMBER, ZERO);
    // Long enough for the other to wait.
    p.add(count, ZERO, 2000);
    let again = p.here();
    p.add(count, count, -1).branch(Op::Bne, count, ZERO, again);
    p.add(A0 + 1, ZERO, 1).add(A0 + 2, ZERO, 1);
    p.land(second).call(98);
    p.add(zero, A0, 0).store(NUMBER, NI_REGISTER, NOTE).add(A0, zero, 0).exit();
    p
}

/// The woken thread begins `node.software.wake` after the call that wakes it began, and the waker goes on
/// `node.software.syscall` after. With both the same their stores come an address tenure and a beat apart, and
/// with a later wake so much later.
#[test]
fn a_woken_thread_begins_when_it_should() {
    let stores = |wake: &str| {
        let mut c = harts(2);
        c.software.wake = Quantity::parse(&chasqui_config::Scalar::from(wake)).expect("cycles");
        let noted = go(&c, &waker_and_woken()).seen.into_iter().map(|seen| match seen {
            Seen::Store(at, _, number) => (number, at),
            other => panic!("{other:?}"),
        });
        let mut noted: Vec<_> = noted.collect();
        noted.sort_unstable();
        noted.into_iter().map(|(_, at)| at).collect::<Vec<_>>()
    };
    let [early, late] = ["100 cycles", "1100 cycles"].map(stores);
    let tenure = 2 * 2_000 + 2_000;
    println!("waker and woken at {early:?}, and 1,000 cycles later {late:?}");
    assert_eq!((early[1] - early[0]).0 % 2_000, 0);
    assert!((early[1] - early[0]).0 <= tenure, "they store at the same time");
    let apart = (late[1] - late[0]).0;
    assert!((1_000_000..=1_000_000 + 2_000).contains(&apart), "{apart}");
}

#[test]
fn atomic_operations_are_atomic() {
    for count in 2..=4 {
        let (one, left, address, sum, failed) = (5, 6, 7, 28, 29);
        for op in [Op::AmoaddD, Op::ScD] {
            let mut p = Program::new();
            p.add(address, DATA_REGISTER, 0x100).threads(count, NUMBER);
            p.add(one, ZERO, 1).add(left, ZERO, 20);
            let again = p.here();
            if op == Op::ScD {
                p.atomic(Op::LrD, sum, 0, address).add(sum, sum, 1).atomic(Op::ScD, failed, sum, address);
                p.branch(Op::Bne, failed, ZERO, again);
            } else {
                p.atomic(op, sum, one, address);
            }
            p.add(left, left, -1).branch(Op::Bne, left, ZERO, again);
            // The first thread waits for the sum.
            let others = p.branch_ahead(Op::Bne, NUMBER, ZERO);
            p.add(left, ZERO, 20 * count as i64);
            let poll = p.here();
            p.pause().load(A0, address, 0).branch(Op::Bne, A0, left, poll);
            p.land(others).exit();
            assert_eq!(end(&go(&harts(count), &p)).1, 20 * count as i32, "{op:?}, {count} harts");
        }
    }
}

pub const PHASES: i64 = 4;
pub const ADDITIONS: i64 = 3;

/// In each phase every thread works for a while of its own, adds to a counter by load-reserved and
/// store-conditional, and waits in a polling loop for the others. `polls`: the loop reads the NI too.
pub fn phases(count: usize, polls: bool, random: &mut Random) -> Program {
    let (counter, arrived, turn, one, phase) = (21, 22, 23, 24, 25);
    let (left, value, other) = (5, 6, 7);
    let mut p = Program::new();
    p.fence().store(ZERO, NI_REGISTER, START);
    for (register, place) in [(counter, 0x100), (arrived, 0x140), (turn, 0x180)] {
        p.add(register, DATA_REGISTER, place);
    }
    p.add(one, ZERO, 1).threads(count, NUMBER);
    for number in 1..=PHASES {
        p.add(phase, ZERO, number).add(left, ZERO, random.below(400) as i64);
        p.push(Insn { op: Op::Mul, rd: left, rs1: NUMBER, rs2: left, ..decode(0x13) });
        p.add(left, left, 1 + random.below(400) as i64);
        let work = p.here();
        p.load(other, DATA_REGISTER, 0x200 + 8 * random.below(60) as i64);
        p.add(left, left, -1).branch(Op::Bne, left, ZERO, work);
        p.add(left, ZERO, ADDITIONS);
        let again = p.here();
        p.atomic(Op::LrD, value, 0, counter).add(value, value, 1).atomic(Op::ScD, other, value, counter);
        p.branch(Op::Bne, other, ZERO, again);
        p.add(left, left, -1).branch(Op::Bne, left, ZERO, again);
        p.add(other, ZERO, count as i64 - 1).atomic(Op::AmoaddD, value, one, arrived);
        let last = p.branch_ahead(Op::Beq, value, other);
        let poll = p.here();
        p.pause();
        if polls {
            p.load(value, NI_REGISTER, FLAG);
        }
        p.load(other, turn, 0).branch(Op::Bne, other, phase, poll);
        let done = p.branch_ahead(Op::Beq, ZERO, ZERO);
        p.land(last).store(ZERO, arrived, 0).fence().store(phase, turn, 0);
        p.land(done);
    }
    p.load(A0, counter, 0).exit();
    p
}

/// Skipping of polling loops, the checker, and how far the engine lets the node run.
#[test]
fn what_saves_or_costs_host_time_changes_nothing() {
    let mut random = Random::for_test(0x4a27);
    for round in 0..150 {
        let count = 2 + random.below(3) as usize;
        let mut c = harts(count + random.below(2) as usize);
        let clocks = random.pick(&[("1 GHz", "500 MHz"), ("133 MHz", "40 MHz"), ("3 GHz", "400 MHz")]);
        (c.core.clock, c.bus.clock) = (frequency(clocks.0), frequency(clocks.1));
        (c.bus.pipelined, c.l2.present) = (random.once_in(2), random.once_in(2));
        if random.once_in(3) {
            crowd(&mut c, &mut random);
        }
        let program = phases(count, random.once_in(2), &mut random);
        let schedule = schedule(12, Time(30_000_000), &mut random, |random| {
            let place = 0x200 + 64 * random.below(8) as i64;
            match random.below(4) {
                0 => Action::Nothing,
                1 => Action::Read(place),
                2 => Action::Write(place, random.bits()),
                _ => Action::Flag(random.bits()),
            }
        });
        let what = format!("round {round}: {count} threads, {clocks:?}, {schedule:?}");
        assert_skipping_changes_nothing(count, &what, |skip, checker| {
            (c.checks.spin_skip, c.checks.coherence) = (skip, checker);
            run(&c, &program, TestNi::new(schedule.clone())).0
        });
    }
}

/// Threads that wait for each other in MPI calls which take no time: a lock, under which each works and counts,
/// and between two calls work that takes time.
pub fn untimed_calls(count: usize, random: &mut Random) -> Program {
    let (lock, one, round, left, value, other) = (21, 22, 23, 5, 6, 7);
    let mut p = Program::new();
    p.free_calls = true;
    p.add(lock, DATA_REGISTER, 0x100).add(one, ZERO, 1).add(round, ZERO, 6).threads(count, NUMBER);
    let again = p.here();
    p.add(left, ZERO, 1 + random.below(300) as i64);
    p.push(Insn { op: Op::Mul, rd: value, rs1: NUMBER, rs2: left, ..decode(0x13) });
    let work = p.here();
    p.load(other, DATA_REGISTER, 0x200 + 8 * random.below(60) as i64);
    p.add(value, value, -1).branch(Op::Blt, ZERO, value, work);
    p.mark(ENTER);
    // At the first pause all is as at the second, but for what was last written to x0.
    p.add(value, ZERO, 1);
    let poll = p.here();
    p.pause().load(value, lock, 0);
    let free = p.branch_ahead(Op::Beq, value, ZERO);
    p.jump(poll);
    p.land(free).atomic(Op::AmoswapD, value, one, lock).branch(Op::Bne, value, ZERO, poll);
    // Who holds the lock waits for the NI's answer, and the others for the lock.
    p.load(other, NI_REGISTER, FLAG).store(ZERO, NI_REGISTER, DOORBELL);
    let answer = p.here();
    p.pause().load(value, NI_REGISTER, FLAG).branch(Op::Beq, value, other, answer);
    p.load(value, lock, 64).add(value, value, 1).store(value, lock, 64);
    p.atomic(Op::AmoswapD, ZERO, ZERO, lock).mark(LEAVE);
    p.add(round, round, -1).branch(Op::Bne, round, ZERO, again);
    meet(&mut p, count);
    p.load(A0, lock, 64).exit();
    p
}

/// Of two threads the first counts by load-reserved and store-conditional, in a call that takes no time and more
/// instructions than are executed in one go; `others` more instructions a turn.
fn a_long_untimed_call(others: usize) -> Program {
    let (counter, left, value, failed) = (21, 5, 6, 7);
    let mut p = Program::new();
    p.free_calls = true;
    p.add(counter, DATA_REGISTER, 0x100).threads(2, NUMBER);
    let second = p.branch_ahead(Op::Bne, NUMBER, ZERO);
    p.push(Insn { op: Op::Lui, rd: left, imm: 0x8000, ..decode(0x13) }).mark(ENTER);
    let again = p.here();
    p.atomic(Op::LrD, value, 0, counter).add(value, value, 1);
    for _ in 0..others {
        p.add(ZERO, ZERO, 0);
    }
    p.atomic(Op::ScD, failed, value, counter).branch(Op::Bne, failed, ZERO, again);
    p.add(left, left, -1).branch(Op::Bne, left, ZERO, again);
    p.mark(LEAVE);
    p.land(second).exit();
    p
}

/// Hart 1 polls a lock by load-reserved alone, which it never stores to while the lock is taken; hart 0 unlocks it later.
fn lock_polled_by_reservations(by_atomic: bool) -> Program {
    let (lock, left, value) = (21, 5, 6);
    let mut p = Program::new();
    p.add(lock, DATA_REGISTER, 0x140).add(value, ZERO, 1).store(value, lock, 0).fence().threads(2, NUMBER);
    let second = p.branch_ahead(Op::Bne, NUMBER, ZERO);
    p.add(left, ZERO, 1500);
    let again = p.here();
    p.add(left, left, -1).branch(Op::Bne, left, ZERO, again);
    if by_atomic {
        p.atomic(Op::AmoswapD, value, ZERO, lock);
    } else {
        p.store(ZERO, lock, 0);
    }
    p.add(A0, ZERO, 0).exit();
    p.land(second);
    let poll = p.here();
    p.atomic(Op::LrD, value, 0, lock).branch(Op::Bne, value, ZERO, poll);
    p.add(value, ZERO, 1).atomic(Op::ScD, left, value, lock).branch(Op::Bne, left, ZERO, poll);
    p.add(A0, ZERO, 0).exit();
    p
}

/// A line that a loop of load-reserveds holds goes to others all the same: with many of them no hold is renewed.
#[test]
fn a_lock_that_is_polled_by_reservations_can_be_unlocked() {
    for by_atomic in [false, true] {
        for &executor in Executor::ALL {
            let mut c = harts(2);
            (c.checks.executor, c.checks.translate_after) = (executor, 1);
            let outcome = go(&c, &lock_polled_by_reservations(by_atomic));
            assert_eq!(end(&outcome).1, 0);
            assert!(end(&outcome).0 < Time(60_000_000), "{:?}", end(&outcome));
        }
    }
}

/// How many instructions the simulator executes in one go is nothing to a reservation: none fails.
#[test]
fn an_untimed_call_is_one_turn_however_long() {
    for others in 0..8 {
        let p = a_long_untimed_call(others);
        let counts = [Executor::Threaded, Executor::Reference, Executor::Translated].map(|executor| {
            let mut c = harts(2);
            (c.checks.executor, c.checks.translate_after) = (executor, 1);
            statistic(&go(&c, &p), "hart00.stores")
        });
        println!("{others} more instructions a turn: {counts:?} stores");
        assert_eq!(counts, [counts[0]; 3]);
        assert!((0x8000..0x8000 + 10).contains(&counts[0]), "a store-conditional a turn");
    }
}

/// Which hart executes how many instructions of a call that takes no time is the model's affair, not that of how
/// they are executed: one by one or in blocks.
#[test]
fn the_order_of_untimed_instructions_is_the_models() {
    let mut random = Random::for_test(0x0de5);
    for round in 0..100 {
        let count = 2 + random.below(3) as usize;
        let mut c = harts(count);
        let program = untimed_calls(count, &mut random);
        let mut outcome = |executor, skip| {
            (c.checks.executor, c.checks.translate_after, c.checks.spin_skip) = (executor, 1, skip);
            go(&c, &program)
        };
        let fast = outcome(Executor::Threaded, true);
        assert_eq!(end(&fast).1, 6 * count as i32, "round {round}");
        let [threaded, translated, reference] =
            [Executor::Threaded, Executor::Translated, Executor::Reference];
        for (executor, skip) in [
            (reference, true),
            (threaded, false),
            (reference, false),
            (translated, true),
            (translated, false),
        ] {
            let what = format!("round {round}: {count} threads, {executor:?}, skipping {skip}");
            assert_same(&outcome(executor, skip), &fast, &what);
        }
    }
}

/// Hart 1 has hart 0 see a store, and waits for its answer. The line that hart 0 polls gives way to another in each of its turns,
/// which are long.
fn polls_what_it_has_lost(before: i64, turn: i64) -> Program {
    let (x, y, left, value, one) = (21, 22, 5, 6, 7);
    let mut p = Program::new();
    p.add(x, DATA_REGISTER, 0x100).add(y, DATA_REGISTER, 0x600).add(one, ZERO, 1).threads(2, NUMBER);
    meet(&mut p, 2);
    let second = p.branch_ahead(Op::Bne, NUMBER, ZERO);
    let poll = p.here();
    p.pause().load(value, x, 0);
    let seen = p.branch_ahead(Op::Bne, value, ZERO);
    p.load(value, x, 0x200).load(value, x, 0x400).add(value, ZERO, 0).add(left, ZERO, turn);
    let work = p.here();
    p.add(left, left, -1).branch(Op::Bne, left, ZERO, work).jump(poll);
    p.land(seen).store(one, y, 0).add(A0, ZERO, 7).exit();
    p.land(second).load(value, y, 0).add(left, ZERO, before);
    let work = p.here();
    p.add(left, left, -1).branch(Op::Bne, left, ZERO, work).store(one, x, 0);
    let poll = p.here();
    p.pause().load(value, y, 0).branch(Op::Beq, value, ZERO, poll).add(A0, ZERO, 7).exit();
    p
}

/// A hart that polls by misses has no line that a store would take: a node does not rest before it has looked again.
#[test]
fn a_store_to_a_line_that_a_polling_hart_has_lost_is_awaited() {
    for before in (800..2000).step_by(60) {
        let mut c = harts(2);
        (c.l1d.size, c.l1d.ways, c.l2.present) = (Bytes::from_bytes(512), 1, false);
        let [threaded, reference] = [Executor::Threaded, Executor::Reference];
        for (executor, skip) in [(threaded, true), (threaded, false), (reference, true)] {
            (c.checks.executor, c.checks.spin_skip) = (executor, skip);
            let ended = go(&c, &polls_what_it_has_lost(before, 400)).ended;
            assert!(matches!(ended, Some((_, Ended::Exit(7)))), "{before}, {executor:?}, {skip}: {ended:?}");
        }
    }
}

/// Hart 1 polls as hart 0 does above, and works for long when it has seen hart 0's store. Then it stores for hart 2, which polls
/// likewise, and polls itself for what never comes.
fn polls_and_stores_and_polls(turn: i64) -> Program {
    let (x, y, never, left, value, one) = (21, 22, 23, 5, 6, 7);
    let lui = |rd, imm| Insn { op: Op::Lui, rd, imm, ..decode(0x13) };
    let work = |p: &mut Program| {
        let again = p.here();
        p.add(left, left, -1).branch(Op::Bne, left, ZERO, again);
    };
    let poll = |p: &mut Program, place, turn: i64| {
        let again = p.here();
        p.pause().load(value, place, 0);
        let seen = p.branch_ahead(Op::Bne, value, ZERO);
        p.load(value, place, 0x200).load(value, place, 0x400).add(value, ZERO, 0).add(left, ZERO, turn);
        work(p);
        p.jump(again).land(seen);
    };
    // The first turn, which misses, ends as it began.
    let wait_for_ever = |p: &mut Program, line: i64| {
        p.add(value, ZERO, 0);
        let again = p.here();
        p.pause().load(value, never, line).branch(Op::Beq, value, ZERO, again);
    };
    let mut p = Program::new();
    p.add(x, DATA_REGISTER, 0x100).add(y, DATA_REGISTER, 0x140).add(never, DATA_REGISTER, 0x640);
    p.add(one, ZERO, 1).threads(3, NUMBER);
    meet(&mut p, 3);
    let others = p.branch_ahead(Op::Bne, NUMBER, ZERO);
    p.push(lui(left, 0x5000));
    work(&mut p);
    p.store(one, x, 0);
    wait_for_ever(&mut p, 0);
    p.land(others).add(value, NUMBER, -1);
    let third = p.branch_ahead(Op::Bne, value, ZERO);
    poll(&mut p, x, turn);
    p.push(lui(left, 0x4000));
    work(&mut p);
    p.store(one, y, 0);
    wait_for_ever(&mut p, LINE);
    p.land(third);
    poll(&mut p, y, 2 * turn);
    p.add(A0, ZERO, 7).call(94);
    p
}

/// What a hart repeats may be another loop than before, and it may have stored between the two.
#[test]
fn a_store_between_two_loops_is_awaited() {
    for turn in (700..1000).step_by(20) {
        let mut c = harts(3);
        (c.l1d.size, c.l1d.ways, c.l2.present) = (Bytes::from_bytes(512), 1, false);
        let ended = go(&c, &polls_and_stores_and_polls(turn)).ended;
        assert!(matches!(ended, Some((_, Ended::Exit(7)))), "{turn}: {ended:?}");
    }
}

/// Hart 0 writes one function after the other to one place, each of which returns a greater number; hart 1 calls it. So many
/// instructions of it are the same in all.
fn writes_code(same: i64) -> Program {
    let (code, number, word, latest, left) = (21, 5, 6, 22, 23);
    let mut p = Program::new();
    // A page to write and to execute; `jalr zero, ra` is its last instruction.
    for (register, value) in [(A0, 0), (11, 1024), (12, 7), (13, 0x22), (14, -1), (15, 0)] {
        p.add(register, ZERO, value);
    }
    p.call(222).add(code, A0, 0);
    let insn = |op, rd, rs1, rs2, imm| Insn { op, rd, rs1, rs2, imm, ..decode(0x13) };
    p.push(insn(Op::Lui, word, 0, 0, 0x8000)).add(word, word, 0x67).push(insn(
        Op::Sw,
        0,
        code,
        word,
        4 * same + 4,
    ));
    p.add(word, ZERO, 0x13);
    for place in 0..same {
        p.push(insn(Op::Sw, 0, code, word, 4 * place));
    }
    p.add(word, ZERO, 0x513).push(insn(Op::Sw, 0, code, word, 4 * same)).fence();
    p.threads(2, NUMBER);
    let second = p.branch_ahead(Op::Bne, NUMBER, ZERO);
    p.add(number, ZERO, 1);
    let next = p.here();
    p.push(insn(Op::Slli, word, number, 0, 20)).add(word, word, 0x513).push(insn(
        Op::Sw,
        0,
        code,
        word,
        4 * same,
    ));
    p.add(number, number, 1).add(left, number, -2000).branch(Op::Bne, left, ZERO, next);
    p.add(A0, ZERO, 7).exit();
    p.land(second).add(latest, ZERO, 0).add(left, ZERO, 60);
    let call = p.here();
    p.push(insn(Op::FenceI, 0, 0, 0, 0)).push(insn(Op::Jalr, 1, code, 0, 0));
    let backwards = p.branch_ahead(Op::Blt, A0, latest);
    p.add(latest, A0, 0).add(left, left, -1).branch(Op::Bne, left, ZERO, call).add(A0, ZERO, 7).exit();
    p.land(backwards).add(A0, ZERO, 1).call(94);
    p
}

/// Code that a hart ahead has stored, but not yet in the order of time, is not executed.
#[test]
fn no_hart_executes_code_from_the_future() {
    for (l2, same) in [false, true].into_iter().flat_map(|l2| [0, 34, 36, 38, 40, 42].map(|same| (l2, same)))
    {
        let mut c = harts(2);
        (c.l2.present, c.checks.coherence) = (l2, false);
        let outcome = go(&c, &writes_code(same));
        assert_eq!(end(&outcome).1, 7, "it went backwards: {same}, {l2}");
        let found = runs_ahead(&c, &writes_code(same), TestNi::new(vec![]));
        assert!(found[0] > 0, "no hart ran ahead");
    }
}

/// The last to come never comes: all that wait are found, with skipping and without.
#[test]
fn threads_that_wait_for_ever_end_the_run() {
    let mut random = Random::for_test(0xdea0);
    for count in 2..=4 {
        // One thread fewer than the barrier waits for.
        let mut program = phases(count, false, &mut random);
        let late = program.code.iter().position(|i| i.op == Op::ScD).expect("a counter");
        let arrivals = program.code.iter().skip(late).position(|i| i.op == Op::AmoaddD).expect("an arrival");
        program.code[late + arrivals].rs2 = ZERO;
        let outcomes = [true, false].map(|skip| {
            let mut c = harts(count);
            c.checks.spin_skip = skip;
            go(&c, &program)
        });
        assert_eq!(outcomes[0].ended, None);
        assert_eq!(outcomes[0], outcomes[1]);
    }
}

//! Messages that an NI brings into the network cache of a node: when they are there, and that a program which waits
//! for one, by whatever it polls, sees it at the same time with skipping and without.

use crate::guest::register::{FLAG, START};
use crate::guest::{
    A0, Action, DATA_REGISTER, MEMORY_LATENCY, NI_REGISTER, Outcome, Program, Seen, TestNi, ZERO,
    configuration, run,
};
use chasqui_engine::Time;
use chasqui_hart::{Insn, Op};
use chasqui_memory::Early;
use chasqui_memory::Incoming;
use chasqui_node::{Ended, NodeConfiguration};

const ID: i64 = 21;
const KEY: i64 = 5;
/// Where the program wants messages, on its data page.
const PLACE: i64 = 0x140;
const TO: u8 = 21;
const NAME: u8 = 22;
const HOW: u8 = 23;
const STATUS: u8 = 24;

fn with_network_cache(early: Early) -> NodeConfiguration {
    let mut c = configuration();
    c.network_cache.present = true;
    c.network_cache.early = early;
    c
}

fn insn(op: Op, rd: u8, [rs1, rs2, rs3]: [u8; 3]) -> Insn {
    Insn { op, rd, rs1, rs2, rs3, rm: 0, length: 4, imm: 0 }
}

fn message(number: u32, bytes: u32) -> Incoming {
    Incoming { id: ID as u64, key: KEY as u64, ordinal: number, is_kept: false, offset: 0, length: bytes }
}

fn begun() -> Program {
    let mut p = Program::new();
    p.add(TO, DATA_REGISTER, PLACE);
    p
}

/// Waits until the NI's flag is set, or until something but zero is where a message is expected.
fn wait_for(p: &mut Program, register: u8, offset: i64) {
    p.store(ZERO, NI_REGISTER, START);
    let poll = p.here();
    p.pause().load(A0, register, offset).branch(Op::Beq, A0, ZERO, poll);
}

fn prebind(p: &mut Program, bytes: i64) {
    p.add(NAME, ZERO, KEY).add(HOW, ZERO, bytes);
    p.push(Insn { op: Op::Slli, rd: HOW, rs1: HOW, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 32 });
    p.add(HOW, HOW, 1);
    p.push(insn(Op::Prebind, STATUS, [NAME, TO, HOW]));
}

/// The outcome, which skipping does not change.
fn outcome(c: &NodeConfiguration, program: &Program, schedule: &[(Time, Action)]) -> Outcome {
    let run_with = |spin_skip| {
        let mut c = c.clone();
        c.checks.spin_skip = spin_skip;
        run(&c, program, TestNi::new(schedule.to_vec())).0
    };
    let skipped = run_with(true);
    assert_eq!(skipped, run_with(false));
    skipped
}

fn counter(outcome: &Outcome, name: &str) -> u64 {
    let found = outcome.statistics.iter().find(|(of, _)| of.ends_with(&format!("network_cache.{name}")));
    found.unwrap_or_else(|| panic!("no {name} in {:?}", outcome.statistics)).1
}

fn exit(outcome: &Outcome) -> (Time, i32) {
    match outcome.ended {
        Some((at, Ended::Exit(status))) => (at, status),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_that_waits_is_bound_by_remap() {
    let c = with_network_cache(Early::Off);
    let mut p = begun();
    wait_for(&mut p, NI_REGISTER, FLAG);
    p.add(NAME, ZERO, ID).push(insn(Op::Remap, STATUS, [NAME, TO, 0]));
    p.load(A0, TO, 8).atomic(Op::Add, A0, STATUS, A0).exit();
    let us = Time(1_000_000);
    let schedule = [(us, Action::Deposit(message(1, 16), 16, [40, 41])), (us + us, Action::Flag(1))];
    let done = outcome(&c, &p, &schedule);
    assert_eq!(exit(&done).1, 41);
    assert_eq!((counter(&done, "deposits"), counter(&done, "bound"), counter(&done, "early")), (1, 1, 0));
    // An address tenure, the NI's memory, the beats of the line.
    let &[Seen::Store(..), Seen::Granted(granted, _), Seen::Done(over, _)] = &done.seen[..] else {
        panic!("{:?}", done.seen)
    };
    let bus = &c.bus;
    let beats = 16u64.div_ceil(bus.width.bytes());
    assert_eq!(over - granted, bus.clock().edge(bus.address.cycles() + beats) + MEMORY_LATENCY);
}

/// It polls the place itself: nothing but the message ends its loop.
#[test]
fn a_message_that_is_waited_for_is_seen_where_it_lands() {
    for early in [Early::DataCache, Early::NetworkCache] {
        let c = with_network_cache(early);
        let mut p = begun();
        prebind(&mut p, 16);
        wait_for(&mut p, TO, 0);
        p.load(A0, TO, 8).atomic(Op::Add, A0, STATUS, A0).exit();
        let at = |after: Time| {
            let done = outcome(&c, &p, &[(after, Action::Deposit(message(1, 16), 16, [40, 41]))]);
            assert_eq!((counter(&done, "early"), counter(&done, "deposits")), (1, 0));
            let (end, status) = exit(&done);
            assert_eq!(status, 41, "{early:?}");
            end
        };
        ends_with_its_message(at);
    }
}

/// A message that comes a microsecond later ends the loop later by that, within an iteration of the loop or so; `at`: when a
/// program ends that waits for one.
fn ends_with_its_message(at: impl Fn(Time) -> Time) {
    let us = Time(1_000_000);
    let difference = at(us + us) - at(us);
    assert!(difference > us - Time(200_000) && difference < us + Time(200_000), "{difference}");
}

/// It asks for the message by its name until that is there.
#[test]
fn a_program_that_asks_for_a_message_by_its_name_sees_it_when_it_comes() {
    for (early, place) in
        [(Early::DataCache, 0), (Early::NetworkCache, 0), (Early::Off, 0), (Early::DataCache, 8)]
    {
        let c = with_network_cache(early);
        let mut p = begun();
        p.add(TO, TO, place).store(ZERO, NI_REGISTER, START);
        let poll = p.here();
        p.pause();
        prebind(&mut p, 16);
        p.branch(Op::Beq, STATUS, ZERO, poll).load(A0, TO, 8).exit();
        let at = |after: Time| {
            let done = outcome(&c, &p, &[(after, Action::Deposit(message(1, 16), 16, [40, 41]))]);
            let lands = early != Early::Off && place == 0;
            assert_eq!((counter(&done, "early"), counter(&done, "bound")), (lands.into(), (!lands).into()));
            assert_eq!(counter(&done, "named"), 1);
            let (end, status) = exit(&done);
            assert_eq!(status, 41, "{early:?}");
            end
        };
        ends_with_its_message(at);
    }
}

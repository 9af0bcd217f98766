//! Random threads that do all sorts of things to lines of their own and of others, under caches that soon are full: how
//! instructions are executed, and so whether harts run ahead of each other, makes no difference.

use crate::guest::random::{node, schedule};
use crate::guest::register::{FLAG, LOOK, NOTE, START};
use crate::guest::{A0, Action, DATA_REGISTER, NI_REGISTER, Outcome, Program, TestNi, ZERO, run, runs_ahead};
use crate::harts::{NUMBER, meet};
use chasqui_config::Bytes;
use chasqui_engine::Time;
use chasqui_hart::{Executor, Insn, Op, decode};
use chasqui_random::Random;

pub fn mixed(count: usize, random: &mut Random) -> Program {
    let (mine, one, left, value, sum, at) = (21, 24, 5, 6, 7, 22);
    let mut p = Program::new();
    p.store(ZERO, NI_REGISTER, START).add(one, ZERO, 1).threads(count, NUMBER);
    meet(&mut p, count);
    let stride = random.pick(&[8, 64, 128]);
    p.add(mine, ZERO, stride);
    p.push(Insn { op: Op::Mul, rd: mine, rs1: NUMBER, rs2: mine, ..decode(0x13) });
    p.push(Insn { op: Op::Add, rd: mine, rs1: DATA_REGISTER, rs2: mine, ..decode(0x13) });
    for _ in 0..8 {
        p.add(left, ZERO, 1 + random.below(60) as i64);
        let again = p.here();
        for _ in 0..1 + random.below(6) {
            let place = 8 * random.below(0x60) as i64;
            match random.below(14) {
                0 | 1 => p.load(value, mine, place),
                2 | 3 => p.store(left, mine, place),
                4 => p.store(value, mine, place),
                5 => p.push(Insn {
                    op: Op::Sb,
                    rs1: mine,
                    rs2: left,
                    imm: place + random.below(8) as i64,
                    ..decode(0x23)
                }),
                6 => p.push(Insn { op: Op::Sd, rs1: mine, rs2: left, imm: place + 4, ..decode(0x3023) }),
                7 if random.once_in(4) => p.fence(),
                8 if random.once_in(6) => p.add(at, mine, place).flush(at),
                9 if random.once_in(4) => p.add(at, mine, place).atomic(Op::AmoaddD, value, one, at),
                10 if random.once_in(6) => p.load(value, NI_REGISTER, FLAG),
                11 if random.once_in(6) => p.store(left, NI_REGISTER, NOTE),
                12 if random.once_in(6) => {
                    p.add(at, mine, place).atomic(Op::LrD, value, ZERO, at);
                    p.add(value, value, 1).atomic(Op::ScD, value, value, at)
                }
                _ => p.add(value, value, 3),
            };
        }
        p.add(left, left, -1).branch(Op::Bne, left, ZERO, again);
        if random.once_in(3) {
            p.add(value, ZERO, 8 * random.below(0x60) as i64).store(value, NI_REGISTER, LOOK);
        }
    }
    p.add(sum, ZERO, 0).add(left, ZERO, 0x70).add(at, DATA_REGISTER, 0);
    let again = p.here();
    p.load(value, at, 0);
    p.push(Insn { op: Op::Mul, rd: sum, rs1: sum, rs2: one, ..decode(0x13) });
    p.push(Insn { op: Op::Add, rd: sum, rs1: sum, rs2: value, ..decode(0x13) });
    p.add(at, at, 8).add(left, left, -1).branch(Op::Bne, left, ZERO, again);
    p.store(sum, NI_REGISTER, NOTE).fence().add(A0, ZERO, 0).exit();
    p
}

#[test]
fn how_they_are_executed_makes_no_difference() {
    let mut random = Random::for_test(0x5eed);
    let mut counts = [0, 0];
    let rounds: u64 = std::env::var("CHASQUI_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let mut failed = 0;
    for round in 0..rounds {
        let mut random = Random::new(random.bits());
        let count = 2 + random.below(3) as usize;
        let (mut c, what) = node(count, &mut random);
        if random.once_in(2) {
            (c.l1d.size, c.l1d.ways) = (Bytes::from_bytes(1024), random.pick(&[1, 2]));
        }
        let program = mixed(count, &mut random);
        let schedule = schedule(30, Time(200_000_000), &mut random, |random| {
            let place = 64 * random.below(12) as i64;
            match random.below(4) {
                0 => Action::Read(place),
                1 => Action::Flag(random.bits()),
                _ => Action::Write(place + 8 * random.below(8) as i64, 7),
            }
        });
        let attach = Time(random.pick(&[0, 10_000, 1_000_000]));
        let mut outcome = |executor, skip| -> Outcome {
            (c.checks.executor, c.checks.translate_after, c.checks.spin_skip) = (executor, 1, skip);
            run(&c, &program, TestNi::new(schedule.clone()).behind(attach)).0
        };
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let by_steps = outcome(Executor::Reference, false);
            [(Executor::Threaded, false), (Executor::Translated, true)]
                .iter()
                .all(|&(e, s)| outcome(e, s) == by_steps)
        }));
        if found.ok() != Some(true) {
            println!("round {round} fails: {what}, attach {attach:?}");
            failed += 1;
        }
        let found = runs_ahead(&c, &program, TestNi::new(schedule.clone()).behind(attach));
        counts = [counts[0] + found[0], counts[1] + found[1]];
    }
    println!("{} runs ahead, of which {} were taken back", counts[0], counts[1]);
    assert_eq!(failed, 0, "programs failed");
    assert!(counts[1] > 100, "{counts:?}");
}

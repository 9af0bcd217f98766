//! Skipping of polling loops: with it and without it, all is the same to the picosecond and the last count.

use std::collections::BTreeSet;

use crate::guest::register::{FLAG, NOTE, START};
use crate::guest::{
    A0, Action, DATA_REGISTER, NI_REGISTER, Program, TestNi, ZERO, configuration, frequency, run, run_watched,
};
use chasqui_engine::Time;
use chasqui_hart::csr::CYCLE;
use chasqui_hart::predictor::PredictorKind;
use chasqui_hart::{Insn, Op, decode};
use chasqui_node::NodeConfiguration;
use chasqui_random::{Random, share};
use chasqui_record::{Cause, write_folded};
use chasqui_watch::WatchPlan;

/// Where in the data page the NI writes the flag; other lines serve as noise.
const MEMORY_FLAG: i64 = 0x100;
/// A word of the data page that [`Extra::Toggles`] changes.
const TOGGLED: i64 = 0x240;
/// Changes of the flag.
const CHANGES: u64 = 6;

/// What a program polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    Memory,
    Register,
    Both,
}

/// What an iteration does that makes it differ from the one before, though its registers may be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    Nothing,
    /// Counts in a register.
    Counts,
    /// Stores another value each time, and leaves no trace in registers.
    Toggles,
    /// Changes a word and puts back what was there, as spilled registers do on a stack.
    Restores,
    /// Writes a register of the NI.
    Notes,
    /// Gives up at a certain cycle.
    GivesUp,
}

/// Polls until the flag has changed, notes it at the NI and in memory, and again until the last value.
/// `padding`: instructions in the loop that change nothing; `stores`: some of them rewrite memory.
pub fn program(polled: Polled, extra: Extra, padding: u64, stores: bool) -> Program {
    let (old, last, flag, count, other, end) = (5, 6, 7, 28, 29, 30);
    let mut p = Program::new();
    p.add(last, ZERO, CHANGES as i64).add(old, ZERO, 0).add(count, ZERO, 0);
    p.push(Insn { op: Op::Lui, rd: end, imm: 40 << 12, ..decode(0x13) });
    p.store(ZERO, NI_REGISTER, START);
    let poll = p.here();
    p.pause();
    match extra {
        Extra::Nothing => {}
        Extra::Counts => _ = p.add(count, count, 1),
        Extra::Toggles => {
            p.load(other, DATA_REGISTER, TOGGLED);
            p.push(Insn { op: Op::Xori, rd: other, rs1: other, imm: 1, ..decode(0x13) });
            p.store(other, DATA_REGISTER, TOGGLED).add(other, ZERO, 7);
        }
        Extra::Restores => {
            for _ in 0..2 {
                p.load(other, DATA_REGISTER, TOGGLED);
                p.push(Insn { op: Op::Xori, rd: other, rs1: other, imm: 1, ..decode(0x13) });
                p.store(other, DATA_REGISTER, TOGGLED);
            }
            p.add(other, ZERO, 7);
        }
        Extra::Notes => _ = p.fence().store(old, NI_REGISTER, NOTE),
        Extra::GivesUp => {
            p.push(Insn { op: Op::Csrrs, rd: other, imm: CYCLE.into(), ..decode(0x13) });
            p.push(Insn { op: Op::Sltu, rd: other, rs1: other, rs2: end, ..decode(0x13) });
            // Past the exit.
            p.push(Insn { op: Op::Bne, rs1: other, imm: 16, ..decode(0x13) });
            p.add(A0, ZERO, 99).exit();
        }
    }
    for i in 0..padding {
        match i % 4 {
            0 if stores => p.store(count, DATA_REGISTER, 0x200),
            1 => p.load(other, DATA_REGISTER, 0x280 + 8 * (i as i64 & 7)),
            _ => p.add(other, ZERO, 7),
        };
    }
    match polled {
        Polled::Memory => p.load(flag, DATA_REGISTER, MEMORY_FLAG),
        Polled::Register => p.load(flag, NI_REGISTER, FLAG),
        Polled::Both => p.load(flag, NI_REGISTER, FLAG).load(flag, DATA_REGISTER, MEMORY_FLAG),
    };
    p.branch(Op::Beq, flag, old, poll);
    p.add(old, flag, 0).add(count, count, 1);
    p.fence().store(flag, NI_REGISTER, NOTE).store(flag, DATA_REGISTER, 0x200);
    p.branch(Op::Bne, flag, last, poll);
    p.load(other, DATA_REGISTER, TOGGLED);
    p.push(Insn { op: Op::Add, rd: count, rs1: count, rs2: other, ..decode(0x13) });
    p.push(Insn { op: Op::Andi, rd: count, rs1: count, imm: 63, ..decode(0x13) });
    p.add(A0, count, 1).exit();
    p
}

/// Changes of the flag at random times, among other things that the NI does.
pub fn schedule(polled: Polled, random: &mut Random) -> Vec<(Time, Action)> {
    let span = random.pick(&[3_000_000, 30_000_000, 300_000_000]);
    // At edges of clocks as often as between them.
    let step = random.pick(&[1, 1_000, 20_000]);
    let time = |random: &mut Random| Time(random.below(span / step) * step);
    let mut times = BTreeSet::new();
    while times.len() < CHANGES as usize {
        times.insert(time(random));
    }
    let mut schedule = vec![];
    for (i, at) in times.into_iter().enumerate() {
        let value = i as u64 + 1;
        match polled {
            Polled::Register => schedule.push((at, Action::Flag(value))),
            _ => schedule.push((at, Action::Write(MEMORY_FLAG, value))),
        }
    }
    for _ in 0..random.below(12) {
        let at = time(random);
        let place = random.below(16) as i64 * 64;
        schedule.push(match random.below(5) {
            0 => (at, Action::Nothing),
            // Another word of the flag's line.
            4 => (at, Action::Write(MEMORY_FLAG + 8, random.bits())),
            1 => (at, Action::Read(place)),
            2 => (at, Action::Write(0x400 + place, random.bits())),
            // The flag register, which a program that polls memory may read too.
            _ if polled == Polled::Both => (at, Action::Flag(random.bits())),
            _ => (at, Action::Nothing),
        });
    }
    schedule
}

fn machine(clocks: (&str, &str), random: &mut Random) -> NodeConfiguration {
    let mut c = configuration();
    (c.core.clock, c.bus.clock) = (frequency(clocks.0), frequency(clocks.1));
    c.bus.pipelined = random.once_in(2);
    c.l2.present = random.once_in(2);
    c.checks.coherence = random.once_in(2);
    let predictor = &mut c.core.predictor;
    if random.once_in(2) {
        predictor.kind = PredictorKind::Counters;
    }
    // Small tables, too, in which branches of a loop meet.
    (predictor.history, predictor.targets) = random.pick(&[(512, 64), (2, 2), (1, 1)]);
    c
}

/// Half of the time the NI is on the bus.
pub fn attach(random: &mut Random) -> Time {
    Time(random.pick(&[0, 0, 50_000, 333_333]))
}

const CLOCKS: [(&str, &str); 5] = [
    ("1 GHz", "500 MHz"),
    ("150 MHz", "50 MHz"),
    ("133 MHz", "40 MHz"),
    ("1 GHz", "300 MHz"),
    ("3 GHz", "400 MHz"),
];

#[test]
fn skipping_changes_nothing() {
    let mut random = Random::for_test(0x5b19);
    let mut reads = [[0; 2]; CLOCKS.len()];
    for round in 0..1000 {
        let clocks = round % CLOCKS.len();
        let polled = random.pick(&[Polled::Memory, Polled::Register, Polled::Both]);
        let extras = [Extra::Restores, Extra::Counts, Extra::Toggles, Extra::Notes, Extra::GivesUp];
        let extra = if random.once_in(2) { Extra::Nothing } else { random.pick(&extras) };
        let (padding, stores) = (random.below(12), random.once_in(2));
        let program = program(polled, extra, padding, stores);
        let schedule = schedule(polled, &mut random);
        let attach = attach(&mut random);
        let mut c = machine(CLOCKS[clocks], &mut random);
        let mut outcome = |skip| {
            c.checks.spin_skip = skip;
            let (outcome, count) = run(&c, &program, TestNi::new(schedule.clone()).behind(attach));
            reads[clocks][usize::from(skip)] += if extra == Extra::Nothing { count } else { 0 };
            outcome
        };
        let (skipped, executed) = (outcome(true), outcome(false));
        let what = || {
            format!(
                "round {round}: {:?}, {polled:?}, {extra:?}, {padding}, {stores}, {schedule:?}, {attach}",
                CLOCKS[clocks]
            )
        };
        assert_eq!(skipped.ended, executed.ended, "{}", what());
        for (a, b) in skipped.statistics.iter().zip(&executed.statistics) {
            assert_eq!(a, b, "{}", what());
        }
        assert!(skipped == executed, "{}", what());
        assert!(matches!(skipped.ended, Some((_, chasqui_node::Ended::Exit(1..)))), "{:?}", skipped.ended);
    }
    for (clocks, [executed, skipped]) in CLOCKS.iter().zip(reads) {
        println!("{clocks:?}: {executed} register reads without skipping, {skipped} with");
    }
    // Where a loop can take a whole number of bus clocks, skipping does away with most reads.
    assert!(reads[1][1] * 4 < reads[1][0]);
}

/// The last change never comes: the run ends, since nobody can end the loop, at the same pause with skipping
/// and without, and also where an iteration is not a whole number of bus clocks and can't be skipped.
#[test]
fn a_loop_that_nothing_can_end_ends_the_run() {
    let mut random = Random::for_test(0xdead);
    for round in 0..200 {
        let clocks = CLOCKS[round % CLOCKS.len()];
        let polled = random.pick(&[Polled::Memory, Polled::Register, Polled::Both]);
        let extra = random.pick(&[Extra::Nothing, Extra::Restores]);
        let program = program(polled, extra, random.below(12), random.once_in(2));
        let mut schedule = schedule(polled, &mut random);
        let is_last = |action: &Action| match action {
            Action::Flag(value) | Action::Write(MEMORY_FLAG, value) => *value == CHANGES,
            _ => false,
        };
        schedule.retain(|(_, action)| !is_last(action));
        let attach = attach(&mut random);
        let mut c = machine(clocks, &mut random);
        let mut outcome = |skip| {
            c.checks.spin_skip = skip;
            run(&c, &program, TestNi::new(schedule.clone()).behind(attach)).0
        };
        let (skipped, executed) = (outcome(true), outcome(false));
        let what = format!("round {round}: {clocks:?}, {polled:?}, {extra:?}, {schedule:?}, {attach}");
        assert_eq!(skipped.ended, None, "{what}");
        assert_eq!(skipped, executed, "{what}");
    }
}

/// Watched, all is the same, and the profile has every cycle and instruction, with skipping and without.
#[test]
fn watching_changes_nothing() {
    let mut random = Random::for_test(0xca11);
    let (mut waited, mut all) = (0, 0);
    for round in 0..share(400) as usize {
        let clocks = CLOCKS[round % CLOCKS.len()];
        let polled = random.pick(&[Polled::Memory, Polled::Register, Polled::Both]);
        let extra = random.pick(&[Extra::Nothing, Extra::Restores, Extra::Toggles, Extra::Notes]);
        let program = program(polled, extra, random.below(12), random.once_in(2));
        let schedule = schedule(polled, &mut random);
        let attach = attach(&mut random);
        let mut c = machine(clocks, &mut random);
        let mut profiled = |skip| {
            c.checks.spin_skip = skip;
            let ni = || TestNi::new(schedule.clone()).behind(attach);
            let watch = WatchPlan { profile: true, ..WatchPlan::default() };
            let (unwatched, reads) = run(&c, &program, ni());
            let (watched, again, profile) = run_watched(&c, &program, ni(), watch);
            let (profile, cycles) = profile.expect("a profile was asked for");
            assert_eq!((unwatched, reads), (watched.clone(), again), "round {round}");
            let total = profile.total();
            let counted = |name: &str| watched.statistics.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
            assert_eq!(total.total(), cycles, "round {round}");
            assert_eq!(Some(total.instructions), counted("hart.instructions"), "round {round}");
            let mut text = vec![];
            write_folded(&mut text, &[&profile]).expect("memory can be written");
            (String::from_utf8(text).expect("text"), total.cycles[Cause::Wait as usize], cycles)
        };
        let (skipped, executed) = (profiled(true), profiled(false));
        assert_eq!(skipped, executed, "round {round}: {clocks:?}, {polled:?}, {extra:?}");
        (waited, all) = (waited + skipped.1, all + skipped.2);
    }
    // Most of the time nothing has changed.
    assert!(waited * 2 > all, "{waited} of {all} cycles are waiting");
}

//! A kernel in machine code under programs that poll, or wait: the NI's interrupts, the timer's, page faults and forwarded
//! calls come at the same times with skipping of polling loops and without, by blocks and by the reference.

use std::collections::BTreeSet;

use crate::guest::register::{FLAG, NOTE, QUIET, START};
use crate::guest::{
    A0, A7, Action, DATA, DATA_REGISTER, NI_REGISTER, Program, TestNi, ZERO, configuration, frequency, run,
    run_watched,
};
use chasqui_abi::kernel::{HSM_START, SBI_HSM, SBI_LINUX, SBI_PROCESS};
use chasqui_engine::Time;
use chasqui_hart::csr::TIME;
use chasqui_hart::supervisor::{
    SCAUSE, SEPC, SIE, SIP, SSCRATCH, SSTATUS, STIMECMP, STVAL, STVEC, interrupt, sstatus,
};
use chasqui_hart::{Executor, Insn, Op, decode};
use chasqui_node::{Ended, NodeConfiguration};
use chasqui_random::{Random, share};
use chasqui_watch::WatchPlan;

/// Where in the program's page the kernel counts interrupts.
const COUNTED: i64 = 0x300;
/// Interrupts of a run.
const INTERRUPTS: u64 = 5;
/// The kernel's own system call: waits for an interrupt.
const WAIT: i64 = 1000;

const SP: u8 = 2;
/// What the handler uses, and saves.
const SAVED: [u8; 8] = [5, 6, 7, A0, 11, 12, 16, A7];
/// In the kernel's memory, behind these.
const COUNT: i64 = 64;

fn op(p: &mut Program, op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64) {
    p.push(Insn { op, rd, rs1, rs2, imm, ..decode(0x13) });
}

fn write(p: &mut Program, csr: u16, rs1: u8) {
    op(p, Op::Csrrw, 0, rs1, 0, csr.into());
}

fn read(p: &mut Program, rd: u8, csr: u16) {
    op(p, Op::Csrrs, rd, 0, 0, csr.into());
}

/// The timer interrupts again `period` ticks later.
fn set_timer(p: &mut Program, period: i64) {
    read(p, 5, TIME);
    p.add(5, 5, period);
    write(p, STIMECMP, 5);
}

/// The NI is told to be quiet, and the interrupt is counted, also for the program.
fn serve(p: &mut Program) {
    p.add(5, ZERO, -1);
    op(p, Op::Slli, 5, 5, 0, 37);
    p.fence().store(ZERO, 5, QUIET).load(6, 5, FLAG);
    p.load(6, SP, COUNT).add(6, 6, 1).store(6, SP, COUNT);
    op(p, Op::Lui, 7, 0, 0, sstatus::SUM as i64);
    op(p, Op::Csrrs, 0, 7, 0, SSTATUS.into());
    op(p, Op::Lui, 5, 0, 0, DATA as i64);
    p.store(6, 5, COUNTED);
    op(p, Op::Csrrc, 0, 7, 0, SSTATUS.into());
}

/// Back to the program, with its registers but `kept`.
fn leave(p: &mut Program, kept: Option<u8>) {
    for (i, register) in SAVED.into_iter().enumerate().filter(|&(_, register)| Some(register) != kept) {
        p.load(register, SP, i as i64 * 8);
    }
    op(p, Op::Csrrw, SP, SP, 0, SSCRATCH.into());
    op(p, Op::Sret, 0, 0, 0, 0);
}

fn machine_call(p: &mut Program, extension: u64) {
    op(p, Op::Lui, A7, 0, 0, extension as i64 & !0xfff);
    p.add(A7, A7, extension as i64 & 0xfff);
    op(p, Op::Ecall, 0, 0, 0, 0);
}

/// A kernel whose timer interrupts every `period` ticks; 0: never.
fn kernel(period: i64) -> Program {
    let mut p = Program::default();
    let k = &mut p;
    // What it is told is at a1: entry, stack pointer, its memory.
    k.load(5, 11, 16).add(6, ZERO, -1);
    op(k, Op::Slli, 6, 6, 0, 38);
    op(k, Op::Add, 5, 5, 6, 0);
    write(k, SSCRATCH, 5);
    op(k, Op::Auipc, 7, 0, 0, 0);
    let (base, fixup) = (k.here() - 1, k.here());
    k.add(7, 7, 0);
    write(k, STVEC, 7);
    k.load(6, 11, 0).load(SP, 11, 8);
    write(k, SEPC, 6);
    k.add(6, ZERO, sstatus::SPIE as i64);
    write(k, SSTATUS, 6);
    k.add(6, ZERO, (interrupt::EXTERNAL | interrupt::TIMER) as i64);
    write(k, SIE, 6);
    if period > 0 {
        set_timer(k, period);
    }
    op(k, Op::Sret, 0, 0, 0, 0);

    k.code[fixup].imm = (k.here() - base) as i64 * 4;
    op(k, Op::Csrrw, SP, SP, 0, SSCRATCH.into());
    for (i, register) in SAVED.into_iter().enumerate() {
        k.store(register, SP, i as i64 * 8);
    }
    read(k, 5, SCAUSE);
    let is_interrupt = k.branch_ahead(Op::Blt, 5, ZERO);
    k.add(6, ZERO, 8);
    let is_call = k.branch_ahead(Op::Beq, 5, 6);
    read(k, A0, STVAL);
    k.add(11, 5, 0).add(16, ZERO, 0);
    machine_call(k, SBI_PROCESS);
    leave(k, None);

    k.land(is_call);
    read(k, 5, SEPC);
    k.add(5, 5, 4);
    write(k, SEPC, 5);
    k.add(6, ZERO, WAIT);
    let waits = k.branch_ahead(Op::Beq, A7, 6);
    k.add(16, A7, 0);
    machine_call(k, SBI_LINUX);
    k.add(A0, 11, 0);
    leave(k, Some(A0));

    k.land(waits);
    let wait = k.here();
    op(k, Op::Wfi, 0, 0, 0, 0);
    read(k, 5, SIP);
    op(k, Op::Andi, 5, 5, 0, interrupt::EXTERNAL as i64);
    let external = k.branch_ahead(Op::Bne, 5, ZERO);
    set_timer(k, period);
    k.jump(wait);
    k.land(external);
    serve(k);
    k.load(A0, SP, COUNT);
    leave(k, Some(A0));

    k.land(is_interrupt);
    op(k, Op::Slli, 5, 5, 0, 1);
    k.add(6, ZERO, 10);
    let is_timer = k.branch_ahead(Op::Beq, 5, 6);
    serve(k);
    leave(k, None);
    k.land(is_timer);
    set_timer(k, period);
    leave(k, None);
    p
}

/// What a program does until it has seen all interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// Polls what the kernel counts.
    Polls,
    /// The same, and a register of the NI.
    PollsRegister,
    /// Waits in the kernel.
    Waits,
}

fn program(until: Until, padding: u64, period: i64) -> Program {
    let (old, last, count) = (5, 6, 7);
    let mut p = Program::new();
    p.kernel = Some(Box::new(kernel(period)));
    p.add(last, ZERO, INTERRUPTS as i64).add(old, ZERO, 0).store(ZERO, NI_REGISTER, START);
    let poll = p.here();
    if until == Until::Waits {
        p.call(WAIT).add(count, A0, 0);
    } else {
        p.pause();
        for i in 0..padding {
            p.load(28, DATA_REGISTER, 0x400 + 8 * i as i64);
        }
        if until == Until::PollsRegister {
            p.load(28, NI_REGISTER, FLAG);
        }
        p.load(count, DATA_REGISTER, COUNTED).branch(Op::Beq, count, old, poll);
    }
    p.add(old, count, 0).fence().store(count, NI_REGISTER, NOTE);
    p.branch(Op::Bne, count, last, poll);
    p.add(A0, count, 0).exit();
    p
}

/// Interrupts far enough apart to be counted one by one, among other things.
fn schedule(random: &mut Random) -> Vec<(Time, Action)> {
    const APART_PS: u64 = 60_000_000;
    let step = random.pick(&[1, 1_000, 20_000]);
    let mut times = BTreeSet::new();
    for i in 0..INTERRUPTS {
        times.insert(Time(i * APART_PS + random.below(APART_PS / 2 / step) * step));
    }
    let mut schedule: Vec<_> = times.into_iter().map(|at| (at, Action::Interrupt(0))).collect();
    for _ in 0..random.below(12) {
        let at = Time(random.below(INTERRUPTS * APART_PS));
        let action =
            random.pick(&[Action::Nothing, Action::Flag(3), Action::Write(0x480, 1), Action::Read(0x500)]);
        schedule.push((at, action));
    }
    schedule
}

fn machine(random: &mut Random) -> NodeConfiguration {
    let mut c = configuration();
    let clocks = [("1 GHz", "500 MHz"), ("150 MHz", "50 MHz"), ("133 MHz", "40 MHz"), ("3 GHz", "400 MHz")];
    let (core, bus) = random.pick(&clocks);
    (c.core.clock, c.bus.clock) = (frequency(core), frequency(bus));
    c.l2.present = random.once_in(2);
    c
}

#[test]
fn interrupts_end_waiting_at_the_same_time_however_it_is_executed() {
    let mut random = Random::for_test(0x1a7e);
    let mut timers = 0;
    for round in 0..share(400) {
        let until = random.pick(&[Until::Polls, Until::PollsRegister, Until::Waits]);
        // Half have a timer, whose interrupts come between.
        let period = random.pick(&[0, 0, 500, 1999]);
        let program = program(until, random.below(4), period);
        let schedule = schedule(&mut random);
        let mut c = machine(&mut random);
        let mut outcome = |skip, executor| {
            (c.checks.spin_skip, c.checks.executor, c.checks.translate_after) = (skip, executor, 1);
            run(&c, &program, TestNi::new(schedule.clone())).0
        };
        let skipped = outcome(true, Executor::Threaded);
        let what = format!("round {round}: {until:?}, every {period}, {schedule:?}");
        assert!(
            matches!(skipped.ended, Some((_, Ended::Exit(status))) if status == INTERRUPTS as i32),
            "{what}"
        );
        for (skip, executor) in [
            (false, Executor::Threaded),
            (true, Executor::Translated),
            (false, Executor::Translated),
            (true, Executor::Reference),
        ] {
            assert_eq!(skipped, outcome(skip, executor), "{what}, {skip}, {executor:?}");
        }
        timers += u64::from(period > 0);
    }
    println!("{timers} with a timer");
}

/// Watched, all is the same, and the profile has every cycle.
#[test]
fn watching_changes_nothing() {
    let mut random = Random::for_test(0x0b5e);
    for round in 0..100 {
        let until = random.pick(&[Until::Polls, Until::PollsRegister, Until::Waits]);
        let program = program(until, random.below(4), random.pick(&[0, 700]));
        let schedule = schedule(&mut random);
        let c = machine(&mut random);
        let (unwatched, _) = run(&c, &program, TestNi::new(schedule.clone()));
        let watch = WatchPlan { profile: true, ..WatchPlan::default() };
        let (watched, _, profile) = run_watched(&c, &program, TestNi::new(schedule), watch);
        assert_eq!(unwatched, watched, "round {round}");
        let (profile, cycles) = profile.expect("a profile was asked for");
        assert_eq!(profile.total().total(), cycles, "round {round}");
    }
}

/// An interrupt that never comes: nothing is left to do, and the run ends.
#[test]
fn waiting_for_an_interrupt_that_never_comes_ends_the_run() {
    let mut random = Random::for_test(0xdead);
    for until in [Until::Polls, Until::PollsRegister, Until::Waits] {
        let program = program(until, 1, 0);
        let mut schedule = schedule(&mut random);
        schedule.remove(0);
        let mut c = machine(&mut random);
        for skip in [true, false] {
            c.checks.spin_skip = skip;
            assert_eq!(run(&c, &program, TestNi::new(schedule.clone())).0.ended, None, "{until:?}");
        }
    }
}

/// A kernel whose hart 1 works `work` turns of a loop, stores to a word and sleeps at once and for ever; two others poll the
/// word, and a register of the NI's. `padding`: instructions before the loop, for it and the sleep to be in one line.
fn sleeps_after_a_store(work: i64, padding: usize) -> Program {
    let (word, ni, left, value) = (21, 22, 5, 6);
    let mut p = Program::default();
    let k = &mut p;
    k.load(word, 11, 16).add(6, ZERO, -1);
    op(k, Op::Slli, 6, 6, 0, 38);
    op(k, Op::Add, word, word, 6, 0);
    op(k, Op::Auipc, 7, 0, 0, 0);
    let (base, fixup) = (k.here() - 1, k.here());
    k.add(7, 7, 0);
    for number in 1..=2 {
        k.add(A0, ZERO, number).add(11, 7, 0).add(12, word, 0).add(16, ZERO, HSM_START as i64);
        machine_call(k, SBI_HSM);
    }
    k.add(A0, ZERO, 0).add(11, word, 0);

    k.code[fixup].imm = (k.here() - base) as i64 * 4;
    k.add(word, 11, 0).add(ni, ZERO, -1).add(value, ZERO, 1);
    op(k, Op::Slli, ni, ni, 0, 37);
    let sleeps = k.branch_ahead(Op::Beq, A0, value);
    let poll = k.here();
    k.pause().load(value, ni, FLAG).load(value, word, 0).branch(Op::Beq, value, ZERO, poll);
    k.add(A0, ZERO, 7).add(16, ZERO, 94);
    machine_call(k, SBI_LINUX);
    let over = k.here();
    op(k, Op::Wfi, 0, 0, 0, 0);
    k.jump(over);

    // With the line shared and its translation there, the store only waits for the right to write.
    k.land(sleeps).load(left, word, 0).add(left, ZERO, work);
    for _ in 0..padding {
        k.add(ZERO, ZERO, 0);
    }
    let again = k.here();
    k.add(left, left, -1).branch(Op::Bne, left, ZERO, again).store(value, word, 0);
    let sleep = k.here();
    op(k, Op::Wfi, 0, 0, 0, 0);
    k.jump(sleep);
    let mut p = Program::new();
    p.kernel = Some(Box::new(k.clone()));
    p
}

/// What a hart has stored before it sleeps has yet to reach memory: until it has, others that wait for it are not stuck.
#[test]
fn a_store_before_sleep_is_awaited() {
    for (work, padding) in (600..700).flat_map(|work| [0, 4, 8, 12].map(|padding| (work, padding))) {
        let mut c = configuration();
        c.node.harts = 3;
        (c.core.clock, c.bus.clock) = (frequency("1 GHz"), frequency("40 MHz"));
        for skip in [true, false] {
            c.checks.spin_skip = skip;
            let ended = run(&c, &sleeps_after_a_store(work, padding), TestNi::new(vec![])).0.ended;
            assert!(matches!(ended, Some((_, Ended::Exit(7)))), "{work} turns, skipping {skip}: {ended:?}");
        }
    }
}

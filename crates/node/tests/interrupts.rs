//! Interrupts of several lines that enter handlers at user level, by way of the interrupt controller: who interrupts whom,
//! against the specification's rules, at random times; with skipping of polling loops and without, by blocks and by the
//! reference.

use chasqui_abi::interrupts::{CLAIM, CONTEXT_STRIDE, ENABLE, ENABLE_STRIDE, THRESHOLD};
use chasqui_engine::Time;
use chasqui_hart::handlers::{EXTERNAL, UIE, USTATUS, UTVEC, ustatus};
use chasqui_hart::{Executor, Insn, Op, decode};
use chasqui_node::{Ended, NodeConfiguration};
use chasqui_random::{Random, share};

use crate::guest::register::{NOTE, QUIET, START};
use crate::guest::{
    A0, Action, CONTROLLER, DATA, DATA_REGISTER, LINES, NI_REGISTER, Outcome, Program, REGISTERS, Seen,
    TestNi, ZERO, configuration, frequency, run,
};

/// Where in the program's page the end is told.
const OVER: i64 = 0x480;
/// The first hart's user level among contexts.
const USER: u64 = 1;
/// What is added to a source's id in the note of its handler's end.
const END: u64 = 256;
/// Registers of handlers: addresses of the controller, and of the context's threshold.
const REGISTERS_OF_CONTROLLER: u8 = 21;
const CONTEXT: u8 = 22;

fn op(p: &mut Program, op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64) {
    p.push(Insn { op, rd, rs1, rs2, imm, ..decode(0x13) });
}

fn csr(p: &mut Program, kind: Op, rd: u8, rs1: u8, number: u16) {
    op(p, kind, rd, rs1, 0, number.into());
}

/// Registers with the addresses that a handler needs; the handler's context keeps nothing of the program's.
fn addresses(p: &mut Program) {
    op(p, Op::Lui, REGISTERS_OF_CONTROLLER, 0, 0, CONTROLLER as i64);
    op(p, Op::Lui, CONTEXT, 0, 0, (CONTROLLER + THRESHOLD + USER * CONTEXT_STRIDE) as i64);
    op(p, Op::Lui, NI_REGISTER, 0, 0, REGISTERS as i64);
}

/// Claims, lets sources of higher priority interrupt it while it works for `turns`, has its line fall, and completes.
fn handler(p: &mut Program, turns: i64) {
    let claim = (CLAIM - THRESHOLD) as i64;
    let (id, priority, before) = (5, 7, 28);
    addresses(p);
    op(p, Op::Lw, id, CONTEXT, 0, claim);
    let nothing = p.branch_ahead(Op::Beq, id, ZERO);
    op(p, Op::Slli, 6, id, 0, 2);
    op(p, Op::Add, 6, REGISTERS_OF_CONTROLLER, 6, 0);
    op(p, Op::Lw, priority, 6, 0, 0);
    op(p, Op::Lw, before, CONTEXT, 0, 0);
    op(p, Op::Sw, 0, CONTEXT, priority, 0);
    p.store(id, NI_REGISTER, NOTE);
    // A load waits for the stores before it.
    op(p, Op::Lw, 29, CONTEXT, 0, 0);
    csr(p, Op::Csrrsi, 0, ustatus::UIE as u8, USTATUS);
    p.add(8, ZERO, turns);
    let work = p.here();
    p.add(8, 8, -1).branch(Op::Bne, 8, ZERO, work);
    csr(p, Op::Csrrci, 0, ustatus::UIE as u8, USTATUS);
    p.add(8, id, -1).store(8, NI_REGISTER, QUIET);
    p.add(8, id, END as i64).store(8, NI_REGISTER, NOTE);
    op(p, Op::Sw, 0, CONTEXT, before, 0);
    op(p, Op::Sw, 0, CONTEXT, id, claim);
    op(p, Op::Lw, 29, CONTEXT, 0, 0);
    p.land(nothing);
    op(p, Op::Uret, 0, 0, 0, 0);
}

/// Gives the lines their priorities, has them interrupt user level, and polls until it is over.
fn program(priorities: [u32; LINES as usize], turns: i64) -> Program {
    let mut p = Program::new();
    addresses(&mut p);
    for (line, priority) in priorities.into_iter().enumerate() {
        p.add(5, ZERO, priority.into());
        op(&mut p, Op::Sw, 0, REGISTERS_OF_CONTROLLER, 5, 4 * (line as i64 + 1));
    }
    op(&mut p, Op::Lui, 6, 0, 0, (CONTROLLER + ENABLE) as i64);
    op(&mut p, Op::Sw, 0, 6, ZERO, 0);
    p.add(5, ZERO, (2 << LINES) - 2);
    op(&mut p, Op::Sw, 0, 6, 5, ENABLE_STRIDE as i64);
    op(&mut p, Op::Auipc, 7, 0, 0, 0);
    let (base, fixup) = (p.here() - 1, p.here());
    p.add(7, 7, 0);
    csr(&mut p, Op::Csrrw, 0, 7, UTVEC);
    p.add(5, ZERO, EXTERNAL as i64);
    csr(&mut p, Op::Csrrw, 0, 5, UIE);
    csr(&mut p, Op::Csrrwi, 0, ustatus::UIE as u8, USTATUS);
    op(&mut p, Op::Lui, DATA_REGISTER, 0, 0, DATA as i64);
    p.store(ZERO, NI_REGISTER, START);
    let poll = p.here();
    p.pause().load(28, DATA_REGISTER, OVER).branch(Op::Beq, 28, ZERO, poll);
    p.add(A0, 28, 0).exit();
    p.code[fixup].imm = (p.here() - base) as i64 * 4;
    handler(&mut p, turns);
    p
}

fn machine(random: &mut Random, contexts: u64) -> NodeConfiguration {
    let mut c = configuration();
    c.core.handler_contexts = contexts;
    let (core, bus) = random.pick(&[("1 GHz", "500 MHz"), ("150 MHz", "50 MHz"), ("3 GHz", "400 MHz")]);
    (c.core.clock, c.bus.clock) = (frequency(core), frequency(bus));
    c.l2.present = random.once_in(2);
    c
}

/// What handlers did, against the rules; returns how many there were, and how many of them interrupted others.
fn check(
    outcome: &Outcome,
    schedule: &[(Time, Action)],
    priorities: [u32; LINES as usize],
    contexts: usize,
) -> (u64, u64) {
    /// No part of a handler that others can't interrupt takes longer.
    const SLACK: Time = Time(8_000_000);
    let register = |of: i64| move |seen: &Seen| matches!(seen, Seen::Store(_, at, _) if *at == of as u64);
    let start = outcome.seen.iter().find(|seen| register(START)(seen)).expect("the program starts it");
    let &Seen::Store(start, ..) = start else { unreachable!() };
    let mut raises: Vec<_> = schedule
        .iter()
        .filter_map(|&(after, action)| match action {
            Action::Interrupt(line) => Some((start + after, line as usize)),
            _ => None,
        })
        .collect();
    raises.sort_by_key(|&(at, _)| at);
    let mut raises = raises.into_iter().peekable();
    // Since when a line is asserted and not claimed.
    let mut pending = [None; LINES as usize];
    let mut asserted = [false; LINES as usize];
    let mut stack: Vec<usize> = vec![];
    let mut latest = start;
    let (mut handlers, mut nested) = (0, 0);
    for seen in &outcome.seen {
        let &Seen::Store(now, at, value) = seen else { continue };
        while let Some((at, line)) = raises.next_if(|&(at, _)| at <= now) {
            if !std::mem::replace(&mut asserted[line], true) {
                pending[line] = Some(at);
            }
        }
        let top = stack.last().map_or(0, |&line| priorities[line]);
        let waits = pending.map(|since: Option<Time>| since.is_some_and(|since| since + SLACK < now));
        if stack.len() < contexts {
            for line in (0..LINES as usize).filter(|&line| priorities[line] > top) {
                // Others may have come first until the latest store.
                assert!(!waits[line] || latest + SLACK >= now, "line {line} waits at {now} in vain");
            }
        }
        latest = now;
        if at == QUIET as u64 {
            asserted[value as usize] = false;
        } else if at == NOTE as u64 && value < END {
            let line = value as usize - 1;
            assert!(pending[line].take().is_some(), "line {line} at {now}");
            assert!(priorities[line] > top, "line {line} interrupts {stack:?} at {now}");
            let is_better = |other: usize| (priorities[other], line) > (priorities[line], other);
            assert!(!(0..LINES as usize).any(|other| is_better(other) && waits[other]), "{line} at {now}");
            nested += u64::from(!stack.is_empty());
            stack.push(line);
            handlers += 1;
        } else if at == NOTE as u64 {
            assert_eq!(stack.pop(), Some((value - END) as usize - 1), "at {now}");
        }
    }
    assert!(stack.is_empty());
    // Those of priority 0 never interrupt.
    assert!(raises.all(|(_, line)| priorities[line] == 0));
    assert!((0..LINES as usize).all(|line| pending[line].is_none() || priorities[line] == 0), "{pending:?}");
    (handlers, nested)
}

#[test]
fn handlers_interrupt_by_priority_however_it_is_executed() {
    let mut random = Random::for_test(0x9a11e7);
    let (mut handlers, mut nested) = (0, 0);
    let rounds = share(150);
    for round in 0..rounds {
        let priorities = std::array::from_fn(|_| random.below(8) as u32);
        let contexts = 1 + random.below(4);
        let mut c = machine(&mut random, contexts);
        let span = random.pick(&[20_000_000, 200_000_000]);
        let mut schedule: Vec<_> = (0..1 + random.below(12))
            .map(|_| (Time(random.below(span)), Action::Interrupt(random.below(LINES.into()) as u32)))
            .collect();
        // Long after all handlers.
        schedule.push((Time(2_000_000_000), Action::Write(OVER, 7)));
        let program = program(priorities, 1 + random.below(2000) as i64);
        let mut outcome = |skip, executor| {
            (c.checks.spin_skip, c.checks.executor, c.checks.translate_after) = (skip, executor, 1);
            run(&c, &program, TestNi::new(schedule.clone())).0
        };
        let what = format!("round {round}: priorities {priorities:?}, {contexts} contexts, {schedule:?}");
        let skipped = outcome(true, Executor::Threaded);
        assert!(matches!(skipped.ended, Some((_, Ended::Exit(7)))), "{what}: {:?}", skipped.ended);
        for (skip, executor) in [
            (false, Executor::Threaded),
            (true, Executor::Translated),
            (false, Executor::Translated),
            (true, Executor::Reference),
        ] {
            assert_eq!(skipped, outcome(skip, executor), "{what}, {skip}, {executor:?}");
        }
        let counts = std::panic::catch_unwind(|| check(&skipped, &schedule, priorities, contexts as usize))
            .unwrap_or_else(|_| panic!("{what}"));
        (handlers, nested) = (handlers + counts.0, nested + counts.1);
    }
    println!("{handlers} handlers, {nested} interrupted others");
    assert!(handlers > 2 * rounds && nested > rounds / 5);
}

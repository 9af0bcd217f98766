//! The coherence checker on a whole node: a program that sends through memory which the NI accesses past the
//! caches, and the same program with each of its flushes and fences removed. Functional memory would let
//! every one of them pass; the checker must catch all.

use crate::guest::register::{DOORBELL, FLAG};
use crate::guest::{
    A0, DATA_REGISTER, NI_REGISTER, Program, RECEIVE, SEND, SHARED_REGISTER, TestNi, ZERO, configuration,
    run, run_two_processes,
};
use chasqui_hart::Op;
use chasqui_node::{Ended, NodeConfiguration};
use chasqui_placement::ProcessId;

/// Rounds that the program makes: from the second on an old answer is in the cache.
const ROUNDS: i64 = 4;

/// Puts a number into the NI's memory, rings the doorbell, polls for the answer, compares.
fn program() -> Program {
    let (round, value, old, flag, answer, receive) = (5, 6, 7, 28, 29, 30);
    let mut p = Program::new();
    p.add(round, ZERO, ROUNDS).add(old, ZERO, 0).add(receive, SHARED_REGISTER, RECEIVE);
    let again = p.here();
    p.add(value, round, 1000);
    p.store(value, SHARED_REGISTER, SEND);
    p.flush(SHARED_REGISTER);
    p.fence();
    p.store(round, NI_REGISTER, DOORBELL);
    let poll = p.here();
    p.pause().load(flag, NI_REGISTER, FLAG).branch(Op::Beq, flag, old, poll);
    p.add(old, flag, 0);
    p.flush(receive);
    p.load(answer, receive, 0);
    p.add(answer, answer, -1);
    // A wrong answer is an endless loop, which the test's time limit would end.
    let wrong = p.here();
    p.branch(Op::Bne, answer, value, wrong);
    p.add(round, round, -1);
    p.branch(Op::Bne, round, ZERO, again);
    p.add(A0, ZERO, 0).exit();
    p
}

/// Hart 1 writes a number into the NI's memory and later looks at the answer; hart 0 alone flushes and rings. Also
/// the places of hart 0's two flushes and its fence.
fn two_harts() -> (Program, [usize; 3]) {
    let (number, turn, round, value, old, flag, answer, receive) = (9, 21, 5, 6, 7, 28, 29, 30);
    let mut p = Program::new();
    p.add(turn, DATA_REGISTER, 0x100).add(receive, SHARED_REGISTER, RECEIVE).add(round, ZERO, 0);
    p.add(old, ZERO, 0).threads(2, number);
    let second = p.branch_ahead(Op::Bne, number, ZERO);
    // Hart 0's turns are the odd ones.
    let again = p.here();
    p.add(round, round, 1).store(round, turn, 0).add(round, round, 1);
    let wait = p.here();
    p.pause().load(value, turn, 0).branch(Op::Bne, value, round, wait);
    let flush_sent = p.here();
    p.flush(SHARED_REGISTER);
    let fence = p.here();
    p.fence().store(round, NI_REGISTER, DOORBELL);
    let poll = p.here();
    p.pause().load(flag, NI_REGISTER, FLAG).branch(Op::Beq, flag, old, poll);
    p.add(old, flag, 0);
    let flush_received = p.here();
    p.flush(receive).fence().add(value, ZERO, 2 * ROUNDS).branch(Op::Bne, round, value, again);
    p.add(round, round, 1).store(round, turn, 0).add(A0, ZERO, 0).exit();
    p.land(second);
    let next = p.here();
    p.add(round, round, 1);
    let wait = p.here();
    p.pause().load(value, turn, 0).branch(Op::Bne, value, round, wait);
    p.load(answer, receive, 0);
    let first = p.branch_ahead(Op::Beq, old, ZERO);
    let wrong = p.here();
    p.branch(Op::Bne, answer, old, wrong);
    p.land(first).add(old, round, 1001).add(value, round, 1000);
    p.store(value, SHARED_REGISTER, SEND).fence();
    p.add(round, round, 1).store(round, turn, 0);
    p.add(value, ZERO, 2 * ROUNDS + 2).branch(Op::Bne, round, value, next);
    p.add(A0, ZERO, 0).exit();
    (p, [flush_sent, fence, flush_received])
}

/// A flush reaches the caches of the other hart, and the checker knows it.
#[test]
fn a_flush_of_another_harts_lines_is_enough_and_needed() {
    let (program, places) = two_harts();
    let words = [
        "the NI reads 0x800000, which is modified",
        "passes the older store or flush of 0x800000",
        "a hit on 0x800200, which the NI has overwritten",
    ];
    for mut c in machines(true) {
        c.node.harts = 2;
        assert_eq!(ended(&c, &program), Ended::Exit(0));
        for (place, words) in places.into_iter().zip(words) {
            match ended(&c, &program.without(place)) {
                Ended::Fault { signal: 7, text } => assert!(text.contains(words), "{text}"),
                other => panic!("without {}: {other:?}", program.code[place]),
            }
        }
    }
}

/// The node without and with an L2, and with its checker on or off.
fn machines(checker: bool) -> Vec<NodeConfiguration> {
    let mut machines = vec![configuration(), configuration()];
    machines[1].l2.present = true;
    machines.iter_mut().for_each(|c| c.checks.coherence = checker);
    machines
}

fn ended(c: &NodeConfiguration, program: &Program) -> Ended {
    run(c, program, TestNi::new(vec![])).0.ended.expect("an end").1
}

#[test]
fn a_correct_program_passes() {
    for c in machines(true) {
        assert_eq!(ended(&c, &program()), Ended::Exit(0));
    }
}

#[test]
fn every_missing_flush_and_fence_is_caught() {
    let program = program();
    let wanted = |op| matches!(op, Op::CboFlush | Op::Fence);
    let places: Vec<usize> = (0..program.here()).filter(|&i| wanted(program.code[i].op)).collect();
    assert_eq!(places.len(), 3);
    let words = [
        "the NI reads 0x800000, which is modified",
        "passes the older store or flush of 0x800000",
        "a hit on 0x800200, which the NI has overwritten",
    ];
    for (place, words) in places.into_iter().zip(words) {
        for c in machines(true) {
            match ended(&c, &program.without(place)) {
                Ended::Fault { signal: 7, text } => assert!(text.contains(words), "{text}"),
                other => panic!("without {}: {other:?}", program.code[place]),
            }
        }
        for c in machines(false) {
            assert_eq!(ended(&c, &program.without(place)), Ended::Exit(0), "without the checker");
        }
    }
}

/// What the NI reads in an event of its own is of the process whose work it does, whoever is on the first hart, or was.
#[test]
fn a_process_answers_for_its_own_flushes_alone() {
    let program = program();
    let flush = program.code.iter().position(|i| i.op == Op::CboFlush).unwrap();
    let mut c = configuration();
    c.node.harts = 2;
    c.software.fault_ends_job = false;
    let mut works_on = Program::new();
    works_on.add(A0 + 1, ZERO, 2_000);
    for _ in 0..4 {
        works_on.add(A0 + 1, A0 + 1, 2_000);
    }
    let again = works_on.here();
    works_on.add(A0 + 1, A0 + 1, -1).branch(Op::Bne, A0 + 1, ZERO, again).exit();
    for other in [Program::new().exit(), &works_on] {
        let ni = TestNi::new(vec![]).serving(ProcessId(1));
        let ended = run_two_processes(&c, [other, &program.without(flush)], ni);
        let [Some(Ended::Exit(0)), Some(Ended::Fault { signal: 7, text })] = &ended[..] else {
            panic!("{ended:?}")
        };
        assert!(text.contains("rank 1") && text.contains("the NI reads 0x800000"), "{text}");
    }
}

#[test]
fn a_fence_alone_does_not_replace_a_flush_nor_a_clean_line_hide_a_dirty_one() {
    // Both stores of a line are before the flush; a third one after it makes the line dirty again.
    let program = program();
    let flush = program.code.iter().position(|i| i.op == Op::CboFlush).unwrap();
    let mut late = program.clone();
    late.code.swap(flush - 1, flush);
    for c in machines(true) {
        match ended(&c, &late) {
            Ended::Fault { signal: 7, text } => assert!(text.contains("the NI reads 0x800000"), "{text}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_checker_changes_no_time() {
    for (on, off) in machines(true).iter().zip(&machines(false)) {
        let [on, off] = [on, off].map(|c| run(c, &program(), TestNi::new(vec![])).0);
        assert_eq!(on, off);
    }
}

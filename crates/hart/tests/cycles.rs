//! Cycles of loops against formulas from the table of classes. The machine's caches and TLBs are warm before
//! what is measured, so that nothing but the table costs time; every class has a cost of its own, so that one
//! taken for another is noticed.

use crate::bench::{Bench, Setup};
use chasqui_hart::predictor::{CounterCosts, Prediction};
use chasqui_hart::testing::encode::{compress, encode};
use chasqui_hart::{CLASSES, Class, Executor, Insn, Op, State, Timing};
use chasqui_memory::PAGE_BYTES;

const CODE: u64 = 0x1_0000;
const DATA: u64 = 0x2_0000;
/// Rounds of a measured loop.
const ROUNDS: u64 = 50;
/// Cycles of a class beyond its number, of a taken branch, of a mispredicted one.
const LEAST: u64 = 3;
const TAKEN: u64 = 5;
const MISPREDICTED: u64 = 11;

const T0: u8 = 5;
const COUNTER: u8 = 9;
const POINTER: u8 = 8;

fn cost(class: Class) -> u64 {
    class as u64 + LEAST
}

fn insn(op: Op, rd: u8, rs1: u8, imm: i64) -> Insn {
    Insn { op, rd, rs1, rs2: 0, rs3: 0, rm: 0, length: 4, imm }
}

fn branch(op: Op, rs1: u8, imm: i64) -> Insn {
    insn(op, 0, rs1, imm)
}

/// Instructions as bytes; those with length 2 in their short forms.
fn bytes(list: &[Insn]) -> Vec<u8> {
    let one = |insn: &Insn| match insn.length {
        2 => compress(insn).expect("a short form").to_le_bytes().to_vec(),
        _ => encode(insn).to_le_bytes().to_vec(),
    };
    list.iter().flat_map(one).collect()
}

fn setup(at: u64, code: Vec<u8>) -> Setup {
    let mut class = [0; CLASSES];
    (0..).zip(&mut class).for_each(|(number, cycles): (u16, _)| *cycles = number + LEAST as u16);
    let mut state = State::new(at);
    (state.x[usize::from(COUNTER)], state.x[usize::from(POINTER)]) = (ROUNDS, DATA);
    let pages = [0, PAGE_BYTES].map(|offset| (CODE + offset, 0x4_0000 + offset));
    let pages = pages.into_iter().chain([(DATA, 0x8_0000)]).collect();
    let timing = Timing {
        class,
        branch_taken: TAKEN as u8,
        branch_mispredicted: MISPREDICTED as u8,
        prediction: Prediction::Static,
        trap: 1,
        handler_entry: 1,
    };
    Setup { timing, ..Setup::ordinary(state, pages, vec![(at, code)]) }
}

/// Cycles of code at an address, up to its `ecall`, when all that it touches is there: of its second run.
fn warm_cycles(at: u64, list: &[Insn], executor: Executor) -> u64 {
    let code = bytes(&[list, &[insn(Op::Ecall, 0, 0, 0)]].concat());
    let setup = setup(at, code);
    let mut bench = Bench::new(&setup);
    bench.run_to_call(executor);
    bench.hart.state = setup.state;
    let before = bench.hart.cycle;
    bench.run_to_call(executor);
    bench.hart.cycle - before
}

/// Checks a number of cycles by each executor.
fn check(at: u64, list: &[Insn], expected: u64) {
    for &executor in Executor::ALL {
        assert_eq!(warm_cycles(at, list, executor), expected, "{executor:?}");
    }
}

/// `body`, repeated [`ROUNDS`] times.
fn repeated(body: &[Insn]) -> Vec<Insn> {
    let bytes: i64 = body.iter().map(|insn| i64::from(insn.length)).sum();
    let tail = [insn(Op::Addi, COUNTER, COUNTER, -1), branch(Op::Bne, COUNTER, -bytes - 4)];
    [body, &tail].concat()
}

/// Cycles of `addi` and `bne` over all rounds: a backward branch is predicted taken, and only the last is not.
fn overhead() -> u64 {
    ROUNDS * (cost(Class::IntAlu) + cost(Class::Branch)) + (ROUNDS - 1) * TAKEN + MISPREDICTED
}

#[test]
fn a_loop_takes_the_sum_of_its_classes() {
    let bodies: [(&[Insn], &[Class]); 6] = [
        (&[insn(Op::Xori, T0, T0, 1), insn(Op::Lui, T0, 0, 0x1000)], &[Class::IntAlu, Class::IntAlu]),
        (&[insn(Op::Mul, T0, T0, 0), insn(Op::Divu, T0, T0, 0)], &[Class::IntMul, Class::IntDiv]),
        (&[insn(Op::Ld, T0, POINTER, 8), insn(Op::Flw, 1, POINTER, 4)], &[Class::Load, Class::Load]),
        (&[insn(Op::Sd, 0, POINTER, 8), insn(Op::Ld, T0, POINTER, 8)], &[Class::Store, Class::Load]),
        (&[insn(Op::FaddD, 1, 1, 0), insn(Op::FmaddS, 1, 1, 0)], &[Class::FpAdd, Class::FpFma]),
        (&[insn(Op::FdivS, 1, 1, 0), insn(Op::FsqrtD, 1, 1, 0)], &[Class::FpDivS, Class::FpSqrtD]),
    ];
    for (body, classes) in bodies {
        let sum: u64 = classes.iter().map(|&class| cost(class)).sum();
        check(CODE, &repeated(body), ROUNDS * sum + overhead());
    }
}

#[test]
fn branches_cost_by_direction_and_prediction() {
    // Forward, not taken, as predicted: the class alone. x0 is x0.
    let next = |op| branch(op, 0, 4);
    check(CODE, &repeated(&[next(Op::Bne)]), ROUNDS * cost(Class::Branch) + overhead());
    // Forward and taken: not as predicted.
    let wrong = cost(Class::Branch) + MISPREDICTED;
    check(CODE, &repeated(&[next(Op::Beq)]), ROUNDS * wrong + overhead());
    let over = insn(Op::Jal, 0, 0, 4);
    check(CODE, &repeated(&[over]), ROUNDS * cost(Class::Jump) + overhead());
}

/// Costs do not depend on the length of instructions, nor on where they lie: here the loop's second instruction,
/// of 4 bytes, begins two bytes before the end of a page.
#[test]
fn short_instructions_and_page_ends_cost_nothing() {
    let short = |insn: Insn| Insn { length: 2, ..insn };
    let body =
        [short(insn(Op::Addi, T0, T0, 1)), insn(Op::Xori, T0, T0, 1), short(insn(Op::Addi, T0, T0, 2))];
    let expected = ROUNDS * 3 * cost(Class::IntAlu) + overhead();
    check(CODE + PAGE_BYTES - 4, &repeated(&body), expected);
    check(CODE, &repeated(&body), expected);
}

/// What a hart stores into its code, though executed and decoded before, is executed behind `fence.i`.
#[test]
fn code_that_is_stored_is_executed_behind_a_fence_i() {
    let new = insn(Op::Addi, T0, T0, 77);
    let word = i64::from(encode(&new) as i32);
    let low = word << 52 >> 52;
    let begin = [insn(Op::Lui, 6, 0, word - low), insn(Op::Addiw, 6, 6, low), insn(Op::Auipc, 7, 0, 0)];
    // The first instruction of the loop lies behind the `auipc`; the first round replaces it.
    let body =
        [insn(Op::Addi, T0, T0, 1), Insn { rs2: 6, ..insn(Op::Sw, 0, 7, 4) }, insn(Op::FenceI, 0, 0, 0)];
    let code = bytes(&[&begin[..], &repeated(&body), &[insn(Op::Ecall, 0, 0, 0)]].concat());
    for &executor in Executor::ALL {
        let mut bench = Bench::new(&setup(CODE, code.clone()));
        bench.run_to_call(executor);
        assert_eq!(bench.hart.state.x[usize::from(T0)], 1 + (ROUNDS - 1) * 77, "{executor:?}");
    }
}

/// A predictor that learns: sizes at which branches meet, and costs of its own.
const LEARNS: CounterCosts =
    CounterCosts { history: 64, targets: 4, target_missed: TARGET as u8, jump_mispredicted: WHERE as u8 };
const TARGET: u64 = 17;
const WHERE: u64 = 23;

/// What code at [`CODE`] meets: branches mispredicted and targets missed in its first run and in its second, and the
/// cycles of the second. The second is another process's: what the hart has learnt stays with it.
fn learning(costs: CounterCosts, list: &[Insn]) -> ([u64; 2], [u64; 2], u64) {
    let code = bytes(&[list, &[insn(Op::Ecall, 0, 0, 0)]].concat());
    let mut setup = setup(CODE, code);
    setup.timing.prediction = Prediction::Counters(costs);
    let [step, run, translated] =
        [Executor::Reference, Executor::Threaded, Executor::Translated].map(|executor| {
            let mut bench = Bench::new(&setup);
            let mut once = || {
                bench.hart.exchange_state(&mut setup.state.clone());
                let (before, s) = (bench.hart.cycle, bench.hart.statistics);
                bench.run_to_call(executor);
                let after = bench.hart.statistics;
                let met = [after.mispredicted - s.mispredicted, after.targets_missed - s.targets_missed];
                (met, bench.hart.cycle - before)
            };
            let (first, second) = (once(), once());
            (first.0, second.0, second.1)
        });
    assert_eq!(step, run, "by step, by run");
    assert_eq!(step, translated, "by step, translated");
    step
}

#[test]
fn counters_learn_a_loop() {
    // From 0 on a counter predicts "not taken" twice; then "taken", which is wrong at the end alone. In the second run it
    // begins at 2. A branch that is mispredicted needs no target; by its third turn the cache has it.
    assert_eq!(learning(LEARNS, &repeated(&[])), ([3, 0], [1, 0], overhead()));
}

#[test]
fn counters_do_not_learn_alternation() {
    // Taken first: 0 to 1 and back to 0, so that "not taken" is always predicted.
    let body = [insn(Op::Xori, T0, T0, 1), branch(Op::Bne, T0, 4)];
    let wrong = ROUNDS / 2;
    let cycles = ROUNDS * (cost(Class::IntAlu) + cost(Class::Branch)) + wrong * MISPREDICTED + overhead();
    assert_eq!(learning(LEARNS, &repeated(&body)), ([wrong + 3, 0], [wrong + 1, 0], cycles));
    // One counter for a branch that is never taken and for the loop's, which is: 0 to 1 and back, too.
    let one = CounterCosts { history: 1, ..LEARNS };
    let body = [branch(Op::Bne, 0, 4)];
    let (first, ..) = learning(one, &repeated(&body));
    assert_eq!(first, [ROUNDS - 1, 0]);
}

#[test]
fn targets_are_kept_of_the_latest_branches() {
    let over = insn(Op::Jal, 0, 0, 4);
    // A jump and the loop's branch: missed once.
    let cycles = ROUNDS * cost(Class::Jump) + overhead();
    assert_eq!(learning(LEARNS, &repeated(&[over])), ([3, 1], [1, 0], cycles));
    // Five jumps and the branch in four entries: each has replaced the next. In the first run the branch is mispredicted
    // twice, and its target not asked for.
    let all = 5 * ROUNDS + ROUNDS - 1;
    let cycles = ROUNDS * 5 * cost(Class::Jump) + all * TARGET + overhead();
    assert_eq!(learning(LEARNS, &repeated(&[over; 5])), ([3, all - 2], [1, all], cycles));
}

#[test]
fn an_indirect_jump_goes_where_it_went() {
    let jump = |imm| insn(Op::Jalr, 0, 6, imm);
    let here = insn(Op::Auipc, 6, 0, 0);
    let same = [here, jump(8)];
    let cycles = ROUNDS * (cost(Class::IntAlu) + cost(Class::JumpRegister)) + overhead();
    assert_eq!(learning(LEARNS, &repeated(&same)), ([3, 1], [1, 0], cycles));
    // Over the last instruction and not, in turn: never as before.
    let add = Insn { rs2: T0, ..insn(Op::Add, 6, 6, 0) };
    let other = [insn(Op::Xori, T0, T0, 4), here, add, jump(12), insn(Op::Addi, 7, 0, 0)];
    let body = 3 * cost(Class::IntAlu) + cost(Class::JumpRegister) + WHERE;
    let cycles = ROUNDS * body + ROUNDS / 2 * cost(Class::IntAlu) + overhead();
    assert_eq!(learning(LEARNS, &repeated(&other)), ([3, ROUNDS], [1, ROUNDS], cycles));
}

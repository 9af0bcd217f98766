//! What is particular to translated code: when it is made and dropped, code that changes, and results of floating point while
//! flags are clear, which it computes by short cuts of its own.

use crate::bench::{Bench, Setup, execution};
use chasqui_config::Frequency;
use chasqui_hart::csr::{FFLAGS, FRM};
use chasqui_hart::fp::soft::{Double, Single};
use chasqui_hart::insn::{ENCODINGS, Format};
use chasqui_hart::testing::encode::encode;
use chasqui_hart::testing::operands::{fp_operand, fp_operand_near};
use chasqui_hart::{Execution, Executor, HaltAtMarks, Insn, Op, State, Text, Translations};
use chasqui_memory::{CacheParameters, PAGE_BYTES};
use chasqui_random::Random;

const CODE: u64 = 0x1_0000;
const OWN: u64 = CODE + PAGE_BYTES;
const DATA: u64 = 0x2_0000;
/// Where that page is.
const DATA_PHYSICAL: u64 = 0x8_0000;

const T0: u8 = 5;
const WORD: u8 = 6;
const PLACE: u8 = 7;
const POINTER: u8 = 8;
const COUNTER: u8 = 9;
const ONE: u8 = 10;
const TURNS: u8 = 11;

const NOTHING: Insn = Insn { op: Op::Ecall, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };

fn insn(op: Op, rd: u8, rs1: u8, imm: i64) -> Insn {
    Insn { op, rd, rs1, imm, ..NOTHING }
}

fn bytes(list: &[Insn]) -> Vec<u8> {
    list.iter().flat_map(|insn| encode(insn).to_le_bytes()).collect()
}

fn bench(state: State, contents: Vec<(u64, Vec<u8>)>) -> Bench {
    let pages = vec![(CODE, 0x4_0000), (OWN, 0x5_0000), (DATA, DATA_PHYSICAL)];
    Bench::new(&Setup::ordinary(state, pages, contents))
}

/// Rounds of a loop of `blocks` blocks, of which all but the last add 1: the cycles, and what was translated.
fn count(blocks: u64, rounds: u64, execution: Execution) -> (u64, Translations) {
    let one = [insn(Op::Addi, T0, T0, 1), insn(Op::Jal, 0, 0, 4)];
    let mut code: Vec<Insn> = (1..blocks).flat_map(|_| one).collect();
    let back = -4 * code.len() as i64 - 4;
    code.extend([insn(Op::Addi, COUNTER, COUNTER, -1), insn(Op::Bne, 0, COUNTER, back), NOTHING]);
    let mut state = State::new(CODE);
    state.x[usize::from(COUNTER)] = rounds;
    let mut bench = bench(state, vec![(CODE, bytes(&code))]);
    bench.run_to_call_by(execution, u64::MAX);
    assert_eq!(bench.hart.state.x[usize::from(T0)], rounds * (blocks - 1));
    (bench.hart.cycle, bench.hart.translations())
}

#[test]
fn code_is_translated_when_it_has_been_executed_often_enough() {
    let by = |executor| Execution { executor, translate_after: 500, ..Execution::DEFAULT };
    let (cycles, none) = count(10, 2000, by(Executor::Threaded));
    assert_eq!(none, Translations::default());
    // Each block begins some of the chains.
    assert_eq!(count(10, 49, by(Executor::Translated)).1, none);
    let hot = count(10, 2000, by(Executor::Translated));
    assert_eq!(hot.0, cycles);
    assert_eq!((hot.1.made, hot.1.drops), (1, 0), "all blocks together");
}

/// A region is translated for as much as has been executed, however little of it was hot.
#[test]
fn a_large_region_is_translated_later() {
    let by = Execution { translate_after: 200, ..execution(Executor::Translated) };
    assert_eq!(count(4, 100, by).1.made, 1, "few entries: two chains of 128 blocks are enough");
    assert_eq!(count(32, 12, by).1.made, 0, "three chains");
    assert_eq!(count(32, 100, by).1.made, 1);
}

/// All translations are dropped when they have reached their limit, and what is hot is translated again.
#[test]
fn translations_are_dropped_at_their_limit() {
    const BLOCKS: u64 = 200;
    let by = |translated_bytes_max| {
        let execution = Execution { translated_bytes_max, ..execution(Executor::Translated) };
        count(BLOCKS, 400, execution)
    };
    let (cycles, roomy) = by(usize::MAX);
    assert!(roomy.drops == 0 && roomy.made >= 7, "regions of 32 blocks at most: {roomy:?}");
    assert!(roomy.bytes as u64 >= roomy.made * PAGE_BYTES, "each takes pages of the host: {roomy:?}");
    let (same, narrow) = by(1);
    assert_eq!(same, cycles);
    assert_eq!(narrow.drops, narrow.made - 1, "one at a time");
    assert!(narrow.made > BLOCKS, "again and again: {narrow:?}");
    let limit = roomy.bytes / 2;
    let (same, half) = by(limit);
    assert_eq!(same, cycles);
    assert!(half.drops > 0 && half.bytes < limit + roomy.bytes / 4, "{half:?} {roomy:?}");
}

/// A shared text calls code of the hart's own, which jumps back into it. The hart's own is stored anew each round, and dropped
/// by `fence.i` with its translations: none of the text may be among them, which is executed next.
#[test]
fn code_that_changes_is_translated_apart_from_shared_text() {
    const ROUNDS: u64 = 60;
    /// Of the own code in a round.
    const CALLS: u64 = 6;
    let add = insn(Op::Addi, T0, T0, 1);
    let text = [
        insn(Op::Jalr, 1, PLACE, 0),
        // The own code jumps here, and so does the text behind `fence.i`.
        insn(Op::Addi, TURNS, TURNS, -1),
        insn(Op::Bne, 0, TURNS, -8),
        Insn { rs2: ONE, ..insn(Op::Add, WORD, WORD, 0) },
        Insn { rs2: WORD, ..insn(Op::Sw, 0, PLACE, 0) },
        insn(Op::FenceI, 0, 0, 0),
        insn(Op::Addi, TURNS, 0, CALLS as i64 + 1),
        insn(Op::Addi, COUNTER, COUNTER, -1),
        insn(Op::Bne, 0, COUNTER, -28),
        NOTHING,
    ];
    // What stands behind a CSR's access begins a chain.
    let back = (CODE + 4) as i64 - (OWN + 12) as i64;
    let own =
        [add, insn(Op::Csrrs, 0, 0, i64::from(FRM)), insn(Op::Xori, 0, 0, 0), insn(Op::Jal, 0, 0, back)];
    let mut state = State::new(CODE);
    for (register, value) in
        [(WORD, encode(&add).into()), (PLACE, OWN), (COUNTER, ROUNDS), (ONE, 1 << 20), (TURNS, CALLS)]
    {
        state.x[usize::from(register)] = value;
    }
    let ends = Executor::ALL.iter().map(|&executor| {
        let contents = vec![(CODE, bytes(&text)), (OWN, bytes(&own))];
        let mut bench = bench(state.clone(), contents);
        bench.hart.share_text(Some(Text::new(CODE..CODE + 4 * text.len() as u64, 1)));
        let execution = Execution { executor, translate_after: 3, ..Execution::DEFAULT };
        bench.run_to_call_by(execution, 5);
        assert_eq!(bench.hart.state.x[usize::from(T0)], CALLS * (1..=ROUNDS).sum::<u64>(), "{executor:?}");
        let made = bench.hart.translations().made;
        assert_eq!(made >= ROUNDS - 1, executor == Executor::Translated, "{executor:?}: {made}");
        bench.hart.cycle
    });
    let ends: Vec<u64> = ends.collect();
    assert_eq!(ends, [ends[0]; 3]);
}

/// A hart that has the bus deals with its own transactions when they are due: a store that misses takes the line of later
/// loads, blocks after it.
#[test]
fn a_store_that_misses_takes_its_line_when_it_would() {
    const ROUNDS: u64 = 28;
    let load = [insn(Op::Ld, WORD, PLACE, 0), insn(Op::Jal, 0, 0, 4)];
    // To the set in which the line of the loads is.
    let store = [Insn { rs2: T0, ..insn(Op::Sd, 0, POINTER, 128) }, insn(Op::Jal, 0, 0, 4)];
    let mut code = [&load[..], &store].concat();
    code.extend([load; 16].concat());
    code.extend([insn(Op::Addi, POINTER, POINTER, 128), insn(Op::Addi, COUNTER, COUNTER, -1)]);
    code.extend([insn(Op::Bne, 0, COUNTER, -4 * code.len() as i64), NOTHING]);
    let mut state = State::new(CODE);
    for (register, value) in [(COUNTER, ROUNDS), (POINTER, DATA), (PLACE, DATA)] {
        state.x[usize::from(register)] = value;
    }
    let ends = Executor::ALL.iter().map(|&executor| {
        let pages = vec![(CODE, 0x4_0000), (DATA, DATA_PHYSICAL)];
        let mut setup = Setup::ordinary(state.clone(), pages, vec![(CODE, bytes(&code))]);
        setup.port.l1d = CacheParameters::new(128, 1, 64);
        // 25 cycles of the hart from one address tenure to the next.
        setup.bus.0.clock = Frequency::from_hz(40_000_000);
        setup.execution = execution(executor);
        let mut bench = Bench::new(&setup);
        bench.lends = true;
        while bench.hart.state.x[usize::from(COUNTER)] > 0 {
            bench.advance(&mut |hart, lent, limit| hart.run_with_bus(&mut HaltAtMarks, Some(lent), limit));
        }
        let made = bench.hart.translations().made;
        assert_eq!(made > 0, executor == Executor::Translated, "{executor:?}: {made}");
        (bench.hart.cycle, bench.hart.port.statistics)
    });
    let ends: Vec<_> = ends.collect();
    assert!(ends[0].1.l1d_load_misses >= ROUNDS, "{:?}", ends[0]);
    assert_eq!(ends, [ends[0]; 3]);
}

/// Rounds of a program of floating point, each on operands of its own.
const ROUNDS: usize = 64;
/// Of a round: three operands, the result and the flags [bytes].
const ROUND_BYTES: usize = 40;

/// Operations of floating point that each program of a test takes one of, and its rounding mode.
fn float_operation(random: &mut Random) -> Insn {
    let rows: Vec<_> = ENCODINGS
        .iter()
        .filter(|row| {
            use Format::*;
            matches!(
                row.format,
                FpFused | FpBinary | FpExact | FpCompare | FpUnary | FpToInteger | FpFromInteger
            )
        })
        .collect();
    let row = random.pick(&rows);
    let rounds = matches!(
        row.format,
        Format::FpFused | Format::FpBinary | Format::FpUnary | Format::FpToInteger | Format::FpFromInteger
    );
    let rm = if rounds { random.pick(&[7, 7, 7, 0, 0, 1, 2, 3, 4]) } else { 0 };
    // Converted from the integer register T0, or to it.
    let rd = if matches!(row.format, Format::FpToInteger | Format::FpCompare) { T0 } else { 4 };
    let rs1 = if row.format == Format::FpFromInteger { T0 } else { 1 };
    let (two, three) = (
        !matches!(row.format, Format::FpUnary | Format::FpToInteger | Format::FpFromInteger),
        row.format == Format::FpFused,
    );
    Insn { op: row.op, rd, rs1, rs2: if two { 2 } else { 0 }, rs3: if three { 3 } else { 0 }, rm, ..NOTHING }
}

/// Operands: of half of the rounds integers, whose results often have no error.
fn float_operands(random: &mut Random, is_single: bool, exact: bool) -> [u64; 3] {
    let mut last = 0;
    [(); 3].map(|()| {
        let most = 1 << random.pick(&[2, 10, 20]);
        let value = random.below(most) as i64 - 3;
        let bits = match (is_single, exact) {
            (true, true) => (value as f32).to_bits().into(),
            (false, true) => (value as f64).to_bits(),
            (true, false) if random.once_in(3) => fp_operand_near::<Single>(last, random),
            (true, false) => fp_operand::<Single>(random),
            (false, false) if random.once_in(3) => fp_operand_near::<Double>(last, random),
            (false, false) => fp_operand::<Double>(random),
        };
        // Sums and differences that cancel.
        let bits = if random.once_in(8) {
            last ^ (random.below(2) << if is_single { 31 } else { 63 })
        } else {
            bits
        };
        last = bits;
        if is_single && !random.once_in(30) { bits & 0xffff_ffff | 0xffff_ffff << 32 } else { bits }
    })
}

/// A program that executes `operation` each round when it has set `flags` alone, and stores the result and the flags then.
fn float_program(operation: Insn, [flags, frm]: [u8; 2], pair: Option<Insn>) -> Vec<Insn> {
    let csr = |op, rd, rs1, csr: u16| insn(op, rd, rs1, csr.into());
    let fld = |rd, at| insn(Op::Fld, rd, POINTER, at);
    let body = [
        vec![fld(1, 0), fld(2, 8), fld(3, 16), fld(4, 0), insn(Op::Ld, T0, POINTER, 0)],
        vec![csr(Op::Csrrwi, 0, flags, FFLAGS), operation],
        pair.into_iter().collect(),
        vec![csr(Op::Csrrs, WORD, 0, FFLAGS)],
        vec![insn(Op::FmvXD, ONE, 4, 0), Insn { rs2: T0, ..insn(Op::Xor, ONE, ONE, 0) }],
        vec![
            Insn { rs2: ONE, ..insn(Op::Sd, 0, POINTER, 24) },
            Insn { rs2: WORD, ..insn(Op::Sd, 0, POINTER, 32) },
        ],
        vec![insn(Op::Addi, POINTER, POINTER, ROUND_BYTES as i64), insn(Op::Addi, COUNTER, COUNTER, -1)],
    ]
    .concat();
    let again = insn(Op::Bne, 0, COUNTER, -4 * body.len() as i64);
    [vec![csr(Op::Csrrwi, 0, frm, FRM)], body, vec![again, NOTHING]].concat()
}

/// Results and flags are the same by each executor, whether the flags are clear or set, when code is translated and later.
#[test]
fn floating_point_sets_the_flags_that_it_must() {
    let mut random = Random::for_test(0xf1a6_c1ea);
    for program in 0..400 {
        let operation = float_operation(&mut random);
        let is_single = !format!("{:?}", operation.op).ends_with('D') || operation.op == Op::FcvtDS;
        let second = random.once_in(3).then(|| Insn { rd: 4, rs1: 4, rs2: 2, ..insn(Op::FaddD, 4, 4, 0) });
        let second = second.filter(|_| operation.rd == 4 && !is_single);
        let csrs = [random.pick(&[0, 0, 1]), random.pick(&[0, 0, 0, 0, 1, 2, 3, 4])];
        let code = bytes(&float_program(operation, csrs, second));
        let first_is_exact = random.once_in(2);
        let rounds = (0..ROUNDS).map(|round| {
            let exact = if round < 2 { first_is_exact } else { random.once_in(2) };
            float_operands(&mut random, is_single, exact)
        });
        let data =
            rounds.flat_map(|[a, b, c]| [a, b, c, 0, 0]).flat_map(u64::to_le_bytes).collect::<Vec<u8>>();
        let mut state = State::new(CODE);
        (state.x[usize::from(COUNTER)], state.x[usize::from(POINTER)]) = (ROUNDS as u64, DATA);
        let ends = Executor::ALL.iter().map(|&executor| {
            let mut bench = bench(state.clone(), vec![(CODE, code.clone()), (DATA, data.clone())]);
            bench.run_to_call(executor);
            bench.run_to_idle();
            let found = bench.memory.slice(DATA_PHYSICAL, ROUNDS * ROUND_BYTES).expect("memory").to_vec();
            (found, bench.hart.state.clone(), bench.hart.cycle)
        });
        let ends: Vec<_> = ends.collect();
        for ((found, state, cycle), executor) in ends.iter().zip(Executor::ALL) {
            let what = || {
                format!(
                    "program {program}: {operation:?}, flags and rounding mode {csrs:?}, {second:?}, {executor:?}"
                )
            };
            for (round, (a, b)) in found.chunks(ROUND_BYTES).zip(ends[0].0.chunks(ROUND_BYTES)).enumerate() {
                assert_eq!(a, b, "{} round {round}", what());
            }
            assert!((state, cycle) == (&ends[0].1, &ends[0].2), "{}", what());
        }
    }
}

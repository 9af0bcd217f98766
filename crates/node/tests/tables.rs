//! Page tables that harts store to by themselves, as a kernel's do.

use crate::guest::{A0, DATA_REGISTER, Outcome, Program, ZERO, run_changed};
use crate::harts::{NUMBER, harts, meet};
use chasqui_hart::testing::encode::encode;
use chasqui_hart::{Executor, Insn, Op, decode};
use chasqui_linux::space::{Backing, Placement, Protection};
use chasqui_memory::{FlatMemory, PAGE_BYTES, pte};
use chasqui_node::{Ended, PartitionSpec};

/// Where a function is that returns its page's number.
const CODE: u64 = 0x7000_0000;
/// Where the table with its translation is.
const TABLE: u64 = 0x7400_0000;
/// The pages, in the part of memory that no process uses: number 1, and number 2 behind it.
const PAGES: u64 = 6 << 20;

/// The entry that maps page `number`.
fn entry(number: u64) -> u64 {
    let page = PAGES + (number - 1) * PAGE_BYTES;
    page >> 2 | pte::V | pte::R | pte::X | pte::U | 1 << 6 | 1 << 7
}

/// Where in memory the entry for [`CODE`] is.
fn place_of_entry(memory: &FlatMemory, root: u64) -> u64 {
    let mut table = root;
    for level in [2, 1] {
        let index = CODE >> (12 + 9 * level) & 511;
        table = pte::address(memory.read(table + 8 * index, 8).expect("a table"));
    }
    table + 8 * (CODE >> 12 & 511)
}

/// Puts code into the pages, maps the first, and maps the table.
fn map(spec: &mut PartitionSpec<'_>) {
    let memory = spec.domain.memory_mut();
    let insn = |op, rd, rs1, imm| encode(&Insn { op, rd, rs1, imm, ..decode(0x13) });
    for number in [1, 2] {
        let at = PAGES + (number - 1) * PAGE_BYTES;
        let code = [insn(Op::Addi, A0, ZERO, number as i64), insn(Op::Jalr, ZERO, 1, 0)];
        for (place, word) in code.into_iter().enumerate() {
            memory.write(at + 4 * place as u64, 4, u64::from(word)).expect("memory");
        }
    }
    let space = &mut spec.os.processes[0].process.space;
    let mut map = |memory: &mut FlatMemory, address, physical| {
        let backing = Backing::Device { physical, uncached: false };
        let rights = Protection::READ_WRITE;
        space.map(memory, Placement::Fixed(address), PAGE_BYTES, rights, backing).expect("room");
    };
    map(memory, CODE, PAGES);
    let root = spec.os.processes[0].process.space.root();
    let place = place_of_entry(spec.domain.memory_mut(), root);
    spec.domain.memory_mut().write(place, 8, entry(1)).expect("memory");
    let memory = spec.domain.memory_mut();
    let backing = Backing::Device { physical: place & !(PAGE_BYTES - 1), uncached: false };
    let space = &mut spec.os.processes[0].process.space;
    let (placement, rights) = (Placement::Fixed(TABLE), Protection::READ_WRITE);
    space.map(memory, placement, PAGE_BYTES, rights, backing).expect("room");
}

/// Hart 0 computes, maps page 1, as it is, computes for as long again, and maps page `then`. Hart 1 calls the function after
/// `before` turns of a loop, of which hart 0 makes 2,000 each time.
fn maps_and_calls(then: u64, before: i64) -> Program {
    let (code, table, now, again_now, next, left, times) = (21, 22, 23, 24, 25, 5, 6);
    let mut p = Program::new();
    let insn = |op, rd, rs1, imm| Insn { op, rd, rs1, imm, ..decode(0x13) };
    let constant = |p: &mut Program, register, value: u64| {
        let high = (value + 0x800) >> 12 << 12;
        p.push(insn(Op::Lui, register, 0, high as i64)).add(register, register, value as i64 - high as i64);
    };
    let work = |p: &mut Program| {
        let again = p.here();
        p.add(left, left, -1).branch(Op::Bne, left, ZERO, again);
    };
    constant(&mut p, code, CODE);
    constant(&mut p, table, TABLE);
    constant(&mut p, now, entry(1));
    constant(&mut p, again_now, entry(1));
    constant(&mut p, next, if then == 0 { 0 } else { entry(then) });
    p.threads(2, NUMBER);
    meet(&mut p, 2);
    let second = p.branch_ahead(Op::Bne, NUMBER, ZERO);
    p.add(times, ZERO, 4);
    let again = p.here();
    p.add(left, ZERO, 2000);
    work(&mut p);
    p.store(now, table, 8 * (CODE >> 12 & 511) as i64).add(now, again_now, 0).add(again_now, next, 0);
    p.add(times, times, -1).branch(Op::Bne, times, ZERO, again).exit();
    p.land(second);
    // Atomic operations wait for their turn: hart 0 is ahead.
    p.add(left, ZERO, before);
    let again = p.here();
    p.atomic(Op::AmoaddD, A0, left, DATA_REGISTER).add(left, left, -1).branch(Op::Bne, left, ZERO, again);
    p.push(insn(Op::Jalr, 1, code, 0)).call(94);
    p
}

/// What is left, and what hart 1 has found: none, where nothing is mapped.
fn found(then: u64, before: i64, executor: Executor) -> (Outcome, Option<i32>) {
    let mut c = harts(2);
    (c.checks.coherence, c.checks.executor, c.checks.translate_after) = (false, executor, 1);
    let outcome = run_changed(&c, &maps_and_calls(then, before), map);
    let found = match outcome.ended {
        Some((_, Ended::Exit(status))) => Some(status),
        Some((_, Ended::Fault { .. })) => None,
        ref other => panic!("{other:?}"),
    };
    (outcome, found)
}

/// An entry of a page table that a hart ahead has stored, but not yet in the order of time, maps no code.
#[test]
fn no_hart_finds_code_by_a_table_from_the_future() {
    for then in [2, 0] {
        let mut changes = 0;
        for before in (1000..2000).step_by(40) {
            let (by_steps, number) = found(then, before, Executor::Reference);
            for executor in [Executor::Threaded, Executor::Translated] {
                let (ahead, found_ahead) = found(then, before, executor);
                assert_eq!(found_ahead, number, "{then}, {before}, {executor:?}");
                assert!(ahead == by_steps, "{then}, {before}, {executor:?}");
            }
            changes += u32::from(number != Some(1));
        }
        assert!((1..20).contains(&changes), "{then}: hart 1 is to call before and after: {changes}");
    }
}

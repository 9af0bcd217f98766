//! Random programs run to their end inside their window. They run on an interpreter that is generated from
//! `for_each_op!`, so that this is also the test of that list.

use crate::machine::Machine;
use chasqui_hart::Op;
use chasqui_hart::insn::ENCODINGS;
use chasqui_hart::testing::program::{Kind, Options, generate};
use chasqui_random::Random;
use std::collections::HashSet;

const CODE: u64 = 0x1_0000;

#[test]
fn programs_end_and_use_everything() {
    let mut random = Random::for_test(0x9206_3a11);
    let mut options = Options::default();
    options.weights.extend([(Kind::Counter, 1), (Kind::CacheBlock, 1)]);
    let mut seen = HashSet::new();
    let (mut executed, mut short) = (0, 0);
    for round in 0..300 {
        options.misaligned = round % 2 == 1;
        options.window_bytes = 1024 << (round % 3);
        let mut machine = Machine::new(&options, CODE, &mut random);
        loop {
            let insn = machine.fetch();
            seen.insert(insn.op);
            short += u64::from(insn.length == 2);
            if !machine.step(insn) {
                break;
            }
            assert!(machine.executed < 100 * options.units as u64, "a program that does not end");
        }
        assert_eq!(machine.state.pc, CODE + machine.code.len() as u64, "the ecall is the last instruction");
        executed += machine.executed;
    }
    println!("{executed} instructions executed, {short} of them compressed");
    let privileged = [Op::Ebreak, Op::Uret, Op::Sret, Op::Mret, Op::Wfi, Op::SfenceVma, Op::CboZero];
    let custom = [Op::St64b, Op::St64bv, Op::Nload, Op::Nstore, Op::Remap, Op::Prebind, Op::Withdraw];
    let absent = [&privileged[..], &custom].concat();
    for row in &ENCODINGS {
        assert_eq!(seen.contains(&row.op), !absent.contains(&row.op), "{}", row.mnemonic);
    }
    assert!(short * 5 > executed, "at least a fifth are compressed");
}

#[test]
fn the_seed_decides_everything() {
    let program = |seed| generate(&Options::default(), &mut Random::new(seed));
    assert_eq!(program(1), program(1));
    assert_ne!(program(1), program(2));
}

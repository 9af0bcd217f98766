//! A firmware processor and a device that the test is: when accesses take place, and what firmware may not do.

mod support;

use chasqui_engine::Time;
use chasqui_hart::{Insn, Op};
use chasqui_memory::{CacheParameters, PortKind, PortParameters};
use chasqui_ni::{DeviceAccess, FIRMWARE_DEVICE, FIRMWARE_MEMORY, FirmwareProcessor};

use support::{DEVICE, NOTHING, VALUE, port, processor, processor_with};

/// Runs it to its next access, which nothing hinders.
fn run(p: &mut FirmwareProcessor) -> Time {
    p.run(Time::ZERO).unwrap().expect("an access")
}

fn load(address: i64) -> Insn {
    Insn { op: Op::Ld, rd: VALUE, rs1: DEVICE, imm: address, ..NOTHING }
}

fn store(address: i64) -> Insn {
    Insn { op: Op::Sd, rs1: DEVICE, rs2: VALUE, imm: address, ..NOTHING }
}

#[test]
fn an_answer_comes_back_as_the_formula_says() {
    // The second time lines and translations are there.
    let again = Insn { op: Op::Jal, imm: -8, ..NOTHING };
    let mut p = processor(FIRMWARE_MEMORY, &[load(16), store(24), again]).unwrap();
    for held in [0, 1_000_000] {
        let asked = run(&mut p);
        assert_eq!(p.due(), DeviceAccess::Load { address: 16, bytes: 8 });
        let (answered, latency) = (asked + Time(held), Time(6_000));
        p.loaded(answered, 77, latency);
        let stored = run(&mut p);
        assert_eq!(p.due(), DeviceAccess::Store { address: 24, bytes: 8, value: 77 });
        if held > 0 {
            // Address tenure, latency, a beat; the load's cycle; from the next edge of the bus clock address
            // tenure and beat of the store.
            let loaded = answered + Time(4_000) + latency + Time(2_000);
            let edge = Time((loaded.0 + 1_000).next_multiple_of(2_000));
            assert_eq!(stored, edge + Time(4_000 + 2_000));
        }
        p.stored(Time::ZERO);
    }
    let mut counters = vec![];
    p.statistics(&mut |name, _, _, value| counters.push((name.to_string(), value)));
    assert!(counters.contains(&("device_accesses".into(), 4)));
    assert!(counters.contains(&("held_ps".into(), 1_000_000)));
}

#[test]
fn marks_are_kept_with_their_times() {
    const CODE: i64 = 5;
    let mark = Insn { op: Op::Mark, rs1: DEVICE, imm: CODE, ..NOTHING };
    let code = [mark, load(0), mark, store(0), load(0)];
    let mut p = processor_with(port(), FIRMWARE_MEMORY, &code, true).unwrap();
    let asked = run(&mut p);
    let [first] = p.take_marks()[..] else { panic!("one mark before the load") };
    assert!(first.time < asked && first.value == FIRMWARE_DEVICE);
    p.loaded(asked, 0, Time::ZERO);
    let stored = run(&mut p);
    let [second] = p.take_marks()[..] else { panic!("one mark after the load") };
    assert!(asked < second.time && second.time < stored);
    assert_eq!((second.code, second.value), (first.code, first.value));
    assert!(p.take_marks().is_empty());
    let mut unmarked = processor(FIRMWARE_MEMORY, &code).unwrap();
    assert_eq!(run(&mut unmarked), asked, "a mark takes as long");
    assert!(unmarked.take_marks().is_empty(), "none is kept, since none will be taken");
}

#[test]
fn a_profile_has_every_cycle() {
    let mut p = processor(FIRMWARE_MEMORY, &[load(16), store(24), load(0)]).unwrap();
    let asked = run(&mut p);
    p.loaded(asked + Time(1_000_000), 1, Time::ZERO);
    run(&mut p);
    let mut cycles = 0;
    p.statistics(&mut |name, _, _, value| cycles += if name == "cycles" { value } else { 0 });
    let profile = p.take_profile().expect("it was asked for");
    assert_eq!(profile.total().total(), cycles);
    assert_eq!(profile.whose().to_string(), "test processor of node 3");
}

/// Without caches every two instructions are fetched, each of 4 bytes, and each load goes to memory: address tenure (2
/// clocks) and first chunk, 64 ns. The first instruction's cycle (1 ns) has the bus wait for its next edge.
#[test]
fn without_caches_every_access_is_a_transaction() {
    let memory = VALUE + 1;
    let start = [
        Insn { op: Op::Addi, rd: memory, imm: 1, ..NOTHING },
        Insn { op: Op::Slli, rd: memory, rs1: memory, imm: 31, ..NOTHING },
        Insn { op: Op::Addi, ..NOTHING },
    ];
    let one = Insn { op: Op::Ld, rd: VALUE, rs1: memory, imm: 512, ..NOTHING };
    let l1i = CacheParameters::new(8, 1, 8);
    let cacheless = || PortParameters { kind: PortKind::Cacheless, l1i: l1i.clone(), ..port() };
    let asked = |loads: usize| {
        let code = [&start[..], &vec![one; loads], &[load(0)]].concat();
        run(&mut processor_with(cacheless(), FIRMWARE_MEMORY, &code, false).unwrap())
    };
    let pairs = (asked(14) - asked(4)).0;
    println!("5 pairs of loads: 5 x (3 x 64 ns + 2 x 2 ns)");
    assert_eq!(pairs, 5 * (3 * 64_000 + 2 * 2_000));
    let atomic = Insn { op: Op::AmoaddD, rd: VALUE, rs1: memory, rs2: VALUE, ..NOTHING };
    let refused = processor_with(cacheless(), FIRMWARE_MEMORY, &[&start[..], &[atomic]].concat(), false);
    assert!(refused.unwrap().run(Time::ZERO).unwrap_err().contains("atomic operation"));
}

/// Fetches, loads and stores take what their instructions take, from the first on: five instructions before the store
/// to the device, which takes the bus from its next edge on for two clocks of address and a beat.
#[test]
fn a_scratchpad_has_no_misses() {
    let memory = VALUE + 1;
    let code = [
        Insn { op: Op::Addi, rd: memory, imm: 1, ..NOTHING },
        Insn { op: Op::Slli, rd: memory, rs1: memory, imm: 31, ..NOTHING },
        Insn { op: Op::Ld, rd: VALUE, rs1: memory, imm: 512, ..NOTHING },
        Insn { op: Op::Sd, rs1: memory, rs2: memory, imm: 520, ..NOTHING },
        store(0),
        load(0),
    ];
    let scratchpad = PortParameters { kind: PortKind::Scratchpad, ..port() };
    let stored = |port| run(&mut processor_with(port, FIRMWARE_MEMORY, &code, false).unwrap());
    assert_eq!(stored(scratchpad), Time(6_000 + 3 * 2_000));
    assert!(stored(port()) > Time(100_000), "through caches the first accesses miss");
}

#[test]
fn accesses_keep_their_order() {
    let mut p = processor(FIRMWARE_MEMORY, &[store(0), store(8), store(16), load(0)]).unwrap();
    let mut last = Time::ZERO;
    for address in [0, 8, 16] {
        let at = run(&mut p);
        assert_eq!(p.due(), DeviceAccess::Store { address, bytes: 8, value: 0 });
        assert!(at > last);
        last = at;
        p.stored(Time::ZERO);
    }
    assert!(run(&mut p) >= last);
    assert_eq!(p.due(), DeviceAccess::Load { address: 0, bytes: 8 });
}

#[test]
fn what_firmware_may_not_do_is_said_with_its_place() {
    let cases = [
        (Insn { op: Op::Ld, rd: VALUE, ..NOTHING }, "no access to 0x0"),
        (Insn { op: Op::Ecall, ..NOTHING }, "a system call"),
        (Insn { op: Op::Ebreak, ..NOTHING }, "a failed check (ebreak)"),
        (Insn { op: Op::Jal, ..NOTHING }, "100000000 instructions without an access to the device"),
    ];
    for (insn, expected) in cases {
        let text = processor(FIRMWARE_MEMORY, &[insn]).unwrap().run(Time::ZERO).unwrap_err();
        assert!(text.starts_with("test processor: ") && text.contains(expected), "{text}");
        // Behind the file's headers, 120 bytes, and the first instruction.
        assert!(text.contains("at pc 0x8000007c"), "{text}");
    }
}

#[test]
fn a_program_must_lie_in_the_memory() {
    let text = processor(0x1_0000, &[NOTHING]).err().unwrap();
    assert!(text.contains("firmware has a segment of") && text.contains("at 0x10000"), "{text}");
}

//! A firmware processor and a device that the test is: when accesses take place, and what firmware may not do.

use std::sync::Arc;

use chasqui_config::{Bytes, Cycles, Duration, Frequency};
use chasqui_engine::{Clock, Time};
use chasqui_hart::testing::encode::encode;
use chasqui_hart::{CLASSES, Insn, Op, Timing};
use chasqui_linux::Elf;
use chasqui_linux::testing::executable;
use chasqui_memory::{
    BusParameters, CacheParameters, DramParameters, L2Parameters, OrderParameters, PortKind, PortParameters,
    TlbParameters, WriteBufferParameters,
};
use chasqui_ni::{DeviceAccess, FIRMWARE_DEVICE, FIRMWARE_MEMORY, FirmwareProcessor, FirmwareSpec};

const NOTHING: Insn = Insn { op: Op::Addi, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };
const DEVICE: u8 = 5;
const VALUE: u8 = 6;

/// 4 KiB of two-way caches with 64-byte lines.
fn port() -> PortParameters {
    let l1 = CacheParameters::new(4096, 2, 64);
    PortParameters {
        kind: PortKind::Caches,
        l1i: l1.clone(),
        l1d: l1,
        l2: L2Parameters { latency: Cycles::new(0), ..Default::default() },
        itlb: TlbParameters::new(16, 16),
        dtlb: TlbParameters::new(16, 16),
        write_buffer: WriteBufferParameters { entries: 4, posted: 4 },
        order: OrderParameters {
            walk: Cycles::new(2),
            fence: Cycles::new(0),
            flush: Cycles::new(0),
            atomic: Cycles::new(0),
            ..Default::default()
        },
        network_cache: None,
        check_coherence: false,
    }
}

/// 500 MHz; an address tenure takes two clocks, a beat one.
fn bus() -> (BusParameters, DramParameters) {
    (
        BusParameters {
            clock: Frequency::from_hz(500_000_000),
            width: Bytes::from_bytes(8),
            address: Cycles::new(2),
            pipelined: true,
            intervention: Cycles::new(4),
        },
        DramParameters {
            first_chunk: Duration::from_ps(60_000),
            next_chunk: Duration::from_ps(2_000),
            write: Duration::from_ps(20_000),
            banks: 1,
            ..Default::default()
        },
    )
}

/// A processor at 1 GHz whose instructions take a cycle; the first loads the device's address.
fn processor(address: u64, code: &[Insn]) -> Result<FirmwareProcessor, String> {
    processor_with(port(), address, code)
}

fn processor_with(port: PortParameters, address: u64, code: &[Insn]) -> Result<FirmwareProcessor, String> {
    let start = Insn { op: Op::Lui, rd: DEVICE, imm: FIRMWARE_DEVICE as i64, ..NOTHING };
    let code = [&[start], code].concat();
    let code: Vec<u8> = code.iter().flat_map(|insn| encode(insn).to_le_bytes()).collect();
    FirmwareProcessor::new(FirmwareSpec {
        name: "test processor",
        image: Arc::new(Elf::parse("firmware", executable(address, &code)).unwrap()),
        memory_bytes: 1 << 20,
        port,
        bus: bus(),
        timing: Timing {
            class: [1; CLASSES],
            branch_taken: 0,
            branch_mispredicted: 0,
            trap: 1,
            handler_entry: 1,
        },
        clock: Clock::new(1_000_000_000),
        timebase_hz: 1_000_000,
        by_steps: false,
        profiled: Some(3),
    })
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
        let asked = p.run().unwrap();
        assert_eq!(p.due(), DeviceAccess::Load { address: 16, bytes: 8 });
        let (answered, latency) = (asked + Time(held), Time(6_000));
        p.loaded(answered, 77, latency);
        let stored = p.run().unwrap();
        assert_eq!(p.due(), DeviceAccess::Store { address: 24, bytes: 8, value: 77 });
        if held > 0 {
            // Address tenure, latency, a beat; the load's cycle; from the next edge of the bus clock address
            // tenure and beat of the store.
            let loaded = answered + Time(4_000) + latency + Time(2_000);
            let edge = Time((loaded.0 + 1_000).next_multiple_of(2_000));
            assert_eq!(stored, edge + Time(4_000 + 2_000));
        }
        p.stored();
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
    let mut p = processor(FIRMWARE_MEMORY, &[mark, load(0), mark, store(0), load(0)]).unwrap();
    let asked = p.run().unwrap();
    let [first] = p.take_marks()[..] else { panic!("one mark before the load") };
    assert!(first.time < asked && first.value == FIRMWARE_DEVICE);
    p.loaded(asked, 0, Time::ZERO);
    let stored = p.run().unwrap();
    let [second] = p.take_marks()[..] else { panic!("one mark after the load") };
    assert!(asked < second.time && second.time < stored);
    assert_eq!((second.code, second.value), (first.code, first.value));
    assert!(p.take_marks().is_empty());
}

#[test]
fn a_profile_has_every_cycle() {
    let mut p = processor(FIRMWARE_MEMORY, &[load(16), store(24), load(0)]).unwrap();
    let asked = p.run().unwrap();
    p.loaded(asked + Time(1_000_000), 1, Time::ZERO);
    p.run().unwrap();
    let mut cycles = 0;
    p.statistics(&mut |name, _, _, value| cycles += if name == "cycles" { value } else { 0 });
    let profile = p.take_profile().expect("it was asked for");
    assert_eq!(profile.total().total(), cycles);
    assert_eq!(profile.whose().to_string(), "test processor of node 3");
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
    let stored = |port| processor_with(port, FIRMWARE_MEMORY, &code).unwrap().run().unwrap();
    assert_eq!(stored(scratchpad), Time(6_000 + 3 * 2_000));
    assert!(stored(port()) > Time(100_000), "through caches the first accesses miss");
}

#[test]
fn accesses_keep_their_order() {
    let mut p = processor(FIRMWARE_MEMORY, &[store(0), store(8), store(16), load(0)]).unwrap();
    let mut last = Time::ZERO;
    for address in [0, 8, 16] {
        let at = p.run().unwrap();
        assert_eq!(p.due(), DeviceAccess::Store { address, bytes: 8, value: 0 });
        assert!(at > last);
        last = at;
        p.stored();
    }
    assert!(p.run().unwrap() >= last);
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
        let text = processor(FIRMWARE_MEMORY, &[insn]).unwrap().run().unwrap_err();
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

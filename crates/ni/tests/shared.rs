//! A firmware processor without caches on an SRAM that it shares with engines, as on the board of MPI-NP: the rig is the NI,
//! with a clock of 100 ns and two accesses a clock. What its code takes follows from who else wants the memory.

use std::sync::Arc;

use chasqui_config::Cycles;
use chasqui_engine::{Clock, Time};
use chasqui_hart::predictor::Prediction;
use chasqui_hart::testing::encode::encode;
use chasqui_hart::{CLASSES, Execution, Executor, Insn, Op, Timing};
use chasqui_linux::Elf;
use chasqui_linux::testing::executable;
use chasqui_memory::{
    CacheParameters, L2Parameters, OrderParameters, PortKind, PortParameters, TlbParameters,
    WriteBufferParameters,
};
use chasqui_ni::{
    DeviceAccess, FIRMWARE_DEVICE, FIRMWARE_MEMORY, FirmwareProcessor, FirmwareSpec, SharedSram, Sram,
    SramBlock, SramData, SramPace, SramSpec,
};
use chasqui_random::Random;

const NOTHING: Insn = Insn { op: Op::Addi, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };
const DEVICE: u8 = 5;
const VALUE: u8 = 6;
const MEMORY: u8 = 7;
const CLOCK: Time = Time(100_000);

const HOST: usize = 0;
const RECEIVE: usize = 1;
const SEND: usize = 2;
const PROCESSOR: usize = 3;

/// From the instruction that sets their address, the second behind the file's headers, to the words that the code uses.
const DISTANCE: u64 = 0x8000;
/// The words' address in the SRAM; four bytes behind it doublewords are aligned.
const WORDS: u64 = DISTANCE + 0x7c;

/// What varies.
#[derive(Clone, Copy)]
struct Rig {
    lead_clocks: u64,
    execution: Execution,
    /// Capacity of the instruction cache [bytes], 4 each line; 8 is none.
    instructions: u64,
}

const RIG: Rig = Rig { lead_clocks: 1, execution: Execution::DEFAULT, instructions: 8 };

fn sram(lead_clocks: u64) -> Sram {
    Sram::new(SramSpec {
        bytes: 1 << 16,
        clock: Clock::new(10_000_000),
        width: 4,
        masters: &["host", "receive", "send", "processor"],
        accesses: &[&[HOST, PROCESSOR], &[RECEIVE, SEND, PROCESSOR]],
        lead_clocks,
    })
    .unwrap()
}

/// A processor whose first two instructions set the addresses of the device and of the words.
fn processor(rig: Rig, code: &[Insn]) -> FirmwareProcessor<SharedSram> {
    let start = [
        Insn { op: Op::Lui, rd: DEVICE, imm: FIRMWARE_DEVICE as i64, ..NOTHING },
        Insn { op: Op::Auipc, rd: MEMORY, imm: DISTANCE as i64, ..NOTHING },
    ];
    let code: Vec<u8> = start.iter().chain(code).flat_map(|insn| encode(insn).to_le_bytes()).collect();
    let spec = FirmwareSpec {
        name: "network processor",
        image: Arc::new(Elf::parse("firmware", executable(FIRMWARE_MEMORY, &code)).unwrap()),
        port: PortParameters {
            kind: PortKind::Cacheless,
            l1i: CacheParameters::new(rig.instructions, 2, 4),
            l1d: CacheParameters::new(4096, 2, 64),
            l2: L2Parameters { latency: Cycles::new(0), ..Default::default() },
            itlb: TlbParameters::new(16, 16),
            dtlb: TlbParameters::new(16, 16),
            write_buffer: WriteBufferParameters { entries: 1, posted: 1 },
            order: OrderParameters::default(),
            network_cache: None,
            check_coherence: false,
        },
        timing: Timing {
            class: [1; CLASSES],
            branch_taken: 0,
            branch_mispredicted: 0,
            prediction: Prediction::Static,
            trap: 1,
            handler_entry: 1,
        },
        clock: Clock::new(10_000_000),
        timebase_hz: 1_000_000,
        execution: rig.execution,
        profiled: None,
        keeps_marks: false,
    };
    FirmwareProcessor::new(spec, SharedSram::new(sram(rig.lead_clocks), PROCESSOR)).unwrap()
}

fn load(op: Op, base: u8, imm: i64) -> Insn {
    Insn { op, rd: VALUE, rs1: base, imm, ..NOTHING }
}

fn store(op: Op, base: u8, imm: i64) -> Insn {
    Insn { op, rs1: base, rs2: VALUE, imm, ..NOTHING }
}

/// Runs on as an NI would, to the next access to the device, which takes place.
fn next(p: &mut FirmwareProcessor<SharedSram>, mut now: Time) -> (Time, DeviceAccess) {
    loop {
        now = p.run(now).unwrap().expect("it goes on").max(now);
        if let Some(access) = p.takes_place(now) {
            return (now, access);
        }
    }
}

fn words(bytes: u32) -> SramBlock {
    SramBlock { address: 0xf000, data: SramData::Read(bytes), pace: None, is_silent: false }
}

/// Clocks from one store to the device to the next, between which `code` is executed once, beside `engines` that are busy
/// all the time.
fn clocks(rig: Rig, engines: &[usize], code: &[Insn]) -> u64 {
    let all =
        [&[store(Op::Sd, DEVICE, 0)], code, &[store(Op::Sd, DEVICE, 8), load(Op::Ld, DEVICE, 0)]].concat();
    let mut p = processor(rig, &all);
    for &engine in engines {
        p.memory.sram.ask(engine, Time::ZERO, words(4000)).unwrap();
    }
    let (first, _) = next(&mut p, Time::ZERO);
    p.stored(first);
    let (second, access) = next(&mut p, first);
    assert!(matches!(access, DeviceAccess::Store { address: 8, .. }), "{access:?}");
    (second - first).0 / CLOCK.0
}

/// Half of the instructions load a word.
fn half_memory() -> Vec<Insn> {
    [load(Op::Lw, MEMORY, 0), NOTHING].repeat(10)
}

/// The processor fetches on one edge and loads on the other: an instruction a clock, and one for the store before. A busy
/// host engine leaves it the other edge: loads take a clock more. Two stop it until they are done: 1000 words, of which each
/// has one access a clock.
#[test]
fn busy_engines_slow_the_processor_and_two_stop_it() {
    let code = half_memory();
    assert_eq!(clocks(RIG, &[], &code), 21);
    assert_eq!(clocks(RIG, &[HOST], &code), 21 + 10);
    assert_eq!(clocks(RIG, &[RECEIVE], &code), 21 + 10);
    let stopped = clocks(RIG, &[HOST, RECEIVE], &code);
    assert!(stopped <= 21, "both stores come after the engines are done: {stopped}");
}

/// Code without memory references does not mind one engine.
#[test]
fn fetches_find_the_free_edge() {
    let code = [NOTHING; 20];
    assert_eq!(clocks(RIG, &[], &code), 21);
    assert_eq!(clocks(RIG, &[SEND], &code), 21);
}

/// A doubleword takes two accesses, so with its fetch three: it ends a clock later. The next fetch has the other edge.
#[test]
fn a_doubleword_takes_two_accesses() {
    let loads = |op| [load(op, MEMORY, 4); 10];
    assert_eq!(clocks(RIG, &[], &loads(Op::Lw)), 11);
    assert_eq!(clocks(RIG, &[], &loads(Op::Ld)), 11 + 10);
}

/// With an instruction cache a loop leaves the memory to its loads.
#[test]
fn an_instruction_cache_frees_the_bus() {
    let code = half_memory();
    let count = Insn { op: Op::Addi, rd: 8, rs1: 8, imm: -1, ..NOTHING };
    let again = Insn { op: Op::Bne, rs1: 8, imm: -4 * (code.len() as i64 + 1), ..NOTHING };
    let begin = Insn { op: Op::Addi, rd: 8, imm: 4, ..NOTHING };
    let looped = [&[begin], &code[..], &[count, again]].concat();
    let cached = Rig { instructions: 1024, ..RIG };
    // Rounds after the first load on the edge that the host leaves, and fetch nothing.
    let (without, with) = (clocks(RIG, &[HOST], &looped), clocks(cached, &[HOST], &looped));
    assert_eq!(without - with, 3 * 10, "three rounds of ten loads");
}

/// An engine writes a word that the code polls. It is there from the access on: the load of the round that has a later one
/// sees it.
#[test]
fn what_an_engine_writes_is_seen_from_its_access_on() {
    // lw, beq to it, then the store to the device: a load every other clock, at its second edge.
    let poll = [
        load(Op::Lw, MEMORY, 0),
        Insn { op: Op::Beq, rs1: VALUE, imm: -4, ..NOTHING },
        store(Op::Sw, DEVICE, 0),
    ];
    let seen = |asked: u64| {
        let mut p = processor(RIG, &poll);
        let mut now = Time::ZERO;
        while now < Time(asked) {
            now = p.run(now).unwrap().expect("it polls");
        }
        let block = SramBlock { address: WORDS, data: SramData::Write(vec![1, 0, 0, 0]), ..words(0) };
        p.memory.sram.ask(RECEIVE, now, block).unwrap();
        next(&mut p, now).0
    };
    let base = 1_000_000;
    let times: Vec<u64> = (0..4).map(|n| seen(base + n * CLOCK.0).0 / CLOCK.0).collect();
    // Each round takes two clocks: of two requests a clock apart one is seen a round later, or both in the same.
    assert_eq!((times[2] - times[0], times[3] - times[1]), (2, 2));
    assert!(times[1] - times[0] <= 2 && times[0] > base / CLOCK.0);
}

#[test]
fn a_held_processor_needs_no_event_and_engines_go_on() {
    let mut p = processor(RIG, &[load(Op::Lw, DEVICE, 0), store(Op::Sw, DEVICE, 4), NOTHING]);
    let (at, _) = next(&mut p, Time::ZERO);
    assert_eq!(p.run(at), Ok(None), "there is nothing to do");
    assert_eq!(p.held(), Some(DeviceAccess::Load { address: 0, bytes: 4 }));
    p.memory.sram.ask(HOST, at, words(8)).unwrap();
    let mut now = at;
    while let Some(next) = p.run(now).unwrap() {
        now = next;
    }
    let [done] = &p.memory.take_done()[..] else { panic!("one block") };
    assert_eq!(done.end, Time((at + CLOCK).0.next_multiple_of(CLOCK.0)) + Time(150_000));
    p.loaded(now, 9, CLOCK);
    assert_eq!(next(&mut p, now).1, DeviceAccess::Store { address: 4, bytes: 4, value: 9 });
}

/// Everything that the rig can see of random code beside random engines.
fn trace(rig: Rig, step: Time, code: &[Insn], requests: &[(Time, usize, SramBlock)]) -> Vec<String> {
    let mut p = processor(rig, code);
    let (mut seen, mut now, mut left) = (vec![], Time::ZERO, requests.iter().peekable());
    while let Some(at) = p.run(now).unwrap() {
        // What is asked for before the NI looks again is asked for at its time.
        let at = left.peek().map_or(at, |(asked, ..)| at.min(*asked)).min(now + step).max(now);
        now = at;
        while let Some((_, master, block)) = left.next_if(|(asked, ..)| *asked <= now) {
            p.memory.sram.ask(*master, now, block.clone()).unwrap();
        }
        if let Some(access) = p.takes_place(now) {
            seen.push(format!("{now} {access:?}"));
            p.stored(now);
        }
        seen.extend(p.memory.take_done().iter().map(|done| format!("{done:?}")));
        if seen.len() > 60 {
            break;
        }
    }
    // Blocks and accesses to the device are noticed in different turns.
    seen.sort();
    p.memory.sram.statistics(&mut |name, _, _, value| seen.push(format!("{name} {value}")));
    seen.truncate(50);
    seen
}

#[test]
fn blocks_and_steps_give_the_same_bits() {
    let mut random = Random::for_test(1);
    for _ in 0..20 {
        let code: Vec<Insn> = (0..40)
            .map(|_| {
                let imm = 8 * random.below(64) as i64 + 4;
                match random.below(6) {
                    0 => load(Op::Ld, MEMORY, imm),
                    1 => load(Op::Lw, MEMORY, imm + 4),
                    2 => store(Op::Sd, MEMORY, imm),
                    3 => store(Op::Sh, MEMORY, imm + 2),
                    4 => store(Op::Sw, DEVICE, imm),
                    _ => Insn { rd: VALUE, rs1: VALUE, imm, ..NOTHING },
                }
            })
            .chain([Insn { op: Op::Jal, imm: -160, ..NOTHING }])
            .collect();
        let mut at = 0;
        let requests: Vec<_> = (0..30)
            .map(|_| {
                at += random.below(2_000_000);
                let address = WORDS + random.below(512);
                let data = match random.below(2) {
                    0 => SramData::Read(1 + random.below(40) as u32),
                    _ => SramData::Write(vec![random.below(256) as u8; 1 + random.below(40) as usize]),
                };
                // Words of two bytes to eight, each 80 ns, the first about now.
                let clock = Clock::new(12_500_000);
                let first = clock.edge_at_or_after(Time(at)) + random.below(4);
                let pace = SramPace { clock, first, width: 2 << random.below(3) };
                let pace = (random.below(2) == 0).then_some(pace);
                (Time(at), random.below(3) as usize, SramBlock { address, data, pace, is_silent: false })
            })
            .collect();
        let blocks = trace(RIG, CLOCK, &code, &requests);
        for executor in [Executor::Reference, Executor::Translated] {
            let execution = Execution { executor, translate_after: 1, ..Execution::DEFAULT };
            assert_eq!(blocks, trace(Rig { execution, ..RIG }, CLOCK, &code, &requests), "{executor:?}");
        }
        assert_eq!(blocks, trace(RIG, Time(17_000), &code, &requests), "in steps of any length");
    }
}

#[test]
fn what_is_not_there_stops_it() {
    let amo = Insn { op: Op::AmoaddW, rd: VALUE, rs1: MEMORY, ..NOTHING };
    let beyond = [
        Insn { op: Op::Lui, rd: MEMORY, imm: (FIRMWARE_MEMORY + (1 << 16)) as i32 as i64, ..NOTHING },
        Insn { op: Op::Slli, rd: MEMORY, rs1: MEMORY, imm: 32, ..NOTHING },
        Insn { op: Op::Srli, rd: MEMORY, rs1: MEMORY, imm: 32, ..NOTHING },
        load(Op::Lw, MEMORY, 0),
    ];
    for (code, expected) in [
        (&[amo][..], "atomic operation on"),
        (&beyond[..], "processor asks for 4 bytes at 0x10000 of an SRAM of 0x10000"),
    ] {
        let mut p = processor(RIG, code);
        let mut now = Time::ZERO;
        let text = loop {
            match p.run(now) {
                Ok(at) => now = at.expect("it goes on"),
                Err(text) => break text,
            }
        };
        assert!(text.contains(expected), "{text}");
        assert_eq!(p.run(now), Ok(None), "it has stopped for good");
    }
}

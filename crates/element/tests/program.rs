//! A program on a local store: its accesses take what their instructions take, it meets its hardware in channels, and sees
//! what DMA brings when it is there.
//!
//! Use this when the local store changes.

use std::sync::Arc;

use chasqui_element::{
    Area, ChannelRead, ChannelWrite, Element, ElementParameters, LocalStore, MfcParameters, MfcStep, Source,
    TableSearch, channel, opcode, problem,
};
use chasqui_engine::{Clock, Time};
use chasqui_hart::predictor::Prediction;
use chasqui_hart::testing::encode::encode;
use chasqui_hart::{CLASSES, Execution, Insn, Op, Timing};
use chasqui_linux::Elf;
use chasqui_linux::testing::executable;
use chasqui_memory::{
    CacheParameters, L2Parameters, OrderParameters, PAGE_BYTES, PortKind, PortParameters, TlbParameters,
    Translation, WriteBufferParameters, pte,
};
use chasqui_ni::{DeviceAccess, FIRMWARE_DEVICE, FIRMWARE_MEMORY, FirmwareProcessor, FirmwareSpec};

const NOTHING: Insn = Insn { op: Op::Addi, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };
const CHANNELS: u8 = 5;
const STORE: u8 = 6;
const VALUE: u8 = 7;

fn port() -> PortParameters {
    let unused = CacheParameters::new(4096, 2, 64);
    PortParameters {
        kind: PortKind::Scratchpad,
        l1i: unused.clone(),
        l1d: unused,
        l2: L2Parameters::default(),
        itlb: TlbParameters::new(16, 16),
        dtlb: TlbParameters::new(16, 16),
        write_buffer: WriteBufferParameters { entries: 4, posted: 4 },
        order: OrderParameters::default(),
        network_cache: None,
        check_coherence: false,
    }
}

/// A core at 1 GHz whose instructions take a cycle; five come before the program: channels and local store in registers.
struct Core {
    processor: FirmwareProcessor<LocalStore>,
    element: Element,
    now: Time,
    /// Transfers take so long, from being asked for to their end.
    latency: Time,
    due: Vec<(Time, usize)>,
    steps: Vec<Time>,
}

impl Core {
    fn new(notice: Time, latency: Time, program: &[Insn]) -> Core {
        let start = [
            Insn { op: Op::Lui, rd: CHANNELS, imm: FIRMWARE_DEVICE as i64, ..NOTHING },
            Insn { op: Op::Addi, rd: STORE, imm: 1, ..NOTHING },
            Insn { op: Op::Slli, rd: STORE, rs1: STORE, imm: 31, ..NOTHING },
            Insn { op: Op::Addi, rd: VALUE, imm: 1, ..NOTHING },
            Insn { op: Op::Slli, rd: VALUE, rs1: VALUE, imm: 11, ..NOTHING },
        ];
        let code: Vec<u8> = start.iter().chain(program).flat_map(|insn| encode(insn).to_le_bytes()).collect();
        let parameters = ElementParameters {
            mfc: MfcParameters { translation: TableSearch::Kernel, ..MfcParameters::default() },
            ..ElementParameters::default()
        };
        let spec = FirmwareSpec {
            name: "core",
            image: Arc::new(Elf::parse("core", executable(FIRMWARE_MEMORY, &code)).unwrap()),
            port: port(),
            timing: Timing {
                class: [1; CLASSES],
                branch_taken: 0,
                branch_mispredicted: 0,
                prediction: Prediction::Static,
                trap: 1,
                handler_entry: 1,
            },
            clock: Clock::new(1_000_000_000),
            timebase_hz: 80_000_000,
            execution: Execution::DEFAULT,
            profiled: None,
            keeps_marks: false,
        };
        let store = LocalStore::new(parameters.store.bytes(), notice).unwrap();
        let processor = FirmwareProcessor::new(spec, store).unwrap();
        let mut element = Element::new(&parameters);
        let permissions = pte::R | pte::W | pte::U;
        element.mfc.load_translation(Translation { virtual_page: 0, physical_page: 0, permissions });
        Core { processor, element, now: Time::ZERO, latency, due: vec![], steps: vec![] }
    }

    /// Does the access that is held, if that can be done.
    fn access(&mut self) -> bool {
        let (now, element) = (self.now, &mut self.element);
        match self.processor.held().expect("an access") {
            DeviceAccess::Load { address, .. } => {
                let number = address % channel::COUNTS / channel::ADDRESS_BYTES;
                let value = if address >= channel::COUNTS {
                    element.channel_count(number, now).map_or(ChannelRead::Invalid, ChannelRead::Value)
                } else {
                    element.read_channel(number, now)
                };
                match value {
                    ChannelRead::Value(value) => self.processor.loaded(now, value.into(), Time::ZERO),
                    ChannelRead::Empty => return false,
                    ChannelRead::Invalid => panic!("channel {number}"),
                }
            }
            DeviceAccess::Store { address, value, .. } => {
                match element.write_channel(address / channel::ADDRESS_BYTES, value as u32, now) {
                    ChannelWrite::Done => self.processor.stored(now),
                    ChannelWrite::Full => return false,
                    ChannelWrite::Invalid => panic!("channel at {address:#x}"),
                }
            }
        }
        true
    }

    fn follow(&mut self) {
        loop {
            let step = self.element.step(self.now, self.processor.memory.bytes());
            match step {
                None => break,
                Some(MfcStep::At(at)) => self.steps.push(at),
                Some(MfcStep::Fault(fault)) => panic!("{fault}"),
                Some(MfcStep::Transfer(transfer)) => {
                    let at = self.now + self.latency;
                    if transfer.kind.is_read() {
                        self.element.mfc.got(transfer.slot, &vec![1; transfer.bytes as usize]);
                    }
                    self.due.push((at, transfer.slot));
                }
            }
        }
        let next = self.next();
        self.processor.memory.touched_at(next);
    }

    /// What is to come next at the MFC.
    fn next(&self) -> Time {
        let done = self.due.iter().map(|&(at, _)| at);
        done.chain(self.steps.iter().copied()).min().unwrap_or(Time::NEVER)
    }

    /// Runs until the core waits for nothing but the host.
    fn run(&mut self) {
        loop {
            let next = self.next();
            let goes_on = self.processor.run(self.now).unwrap();
            let Some(at) = goes_on.into_iter().chain([next]).filter(|&at| at < Time::NEVER).min() else {
                return;
            };
            self.now = self.now.max(at);
            if next <= self.now {
                self.steps.retain(|&at| at > self.now);
                let (over, left): (Vec<_>, _) = self.due.iter().partition(|(at, _)| *at <= self.now);
                self.due = left;
                for (_, slot) in over {
                    self.element.mfc.done(slot, self.processor.memory.bytes_mut(), self.now);
                }
            }
            self.follow();
            let due = self.processor.takes_place(self.now).is_some();
            if due || self.processor.held().is_some() {
                self.access();
            }
            self.follow();
        }
    }
}

fn write(number: u64, register: u8) -> Insn {
    Insn {
        op: Op::Sw,
        rs1: CHANNELS,
        rs2: register,
        imm: (number * channel::ADDRESS_BYTES) as i64,
        ..NOTHING
    }
}

fn read(number: u64) -> Insn {
    Insn { op: Op::Lw, rd: VALUE, rs1: CHANNELS, imm: (number * channel::ADDRESS_BYTES) as i64, ..NOTHING }
}

fn set(value: i64) -> Insn {
    Insn { op: Op::Addi, rd: VALUE, imm: value, ..NOTHING }
}

/// A get of 128 bytes to 0x600 of the local store, in tag group 0.
fn get() -> Vec<Insn> {
    let mut code = vec![];
    for (number, value) in [
        (channel::MFC_LSA, 0x600),
        (channel::MFC_EAL, 0x80),
        (channel::MFC_SIZE, 128),
        (channel::WR_TAG_MASK, 1),
        (channel::MFC_CMD, i64::from(opcode::GET)),
    ] {
        code.extend([set(value), write(number, VALUE)]);
    }
    code
}

/// The core writes six channels, waits for its tag group, and has what came: 20 instructions from the start, of which the last
/// but two waits for start, transfer and finish.
#[test]
fn a_program_gets_and_waits() {
    let mut code = get();
    code.extend([set(2), write(channel::WR_TAG_UPDATE, VALUE), read(channel::RD_TAG_STAT)]);
    let load = Insn { op: Op::Lw, rd: VALUE, rs1: STORE, imm: 0x600, ..NOTHING };
    code.extend([load, write(channel::WR_OUT_MBOX, VALUE), read(channel::RD_IN_MBOX)]);
    let mut core = Core::new(Time(31_250), Time(100_000), &code);
    core.run();
    let out = core.element.read((Area::Problem, problem::OUT_MBOX, 4), false, core.now);
    assert_eq!(out, Ok(0x0101_0101));
    assert!(core.element.mfc.is_idle());
    // The command is written by the 15th instruction, which starts at 14 ns. Start takes 30 cycles from the next edge of
    // 312.5 ps, finish 4: 14.0625, 23.4375, 123.4375, 124.6875.
    assert_eq!(
        core.processor.held(),
        Some(DeviceAccess::Load { address: channel::RD_IN_MBOX * 8, bytes: 4 })
    );
    let end = Time(14_062 + 9_375 + 100_000 + 1_250);
    let last = core.now;
    assert!(last >= end && last <= end + Time(6_000), "{last} {end}");
}

/// A loop that polls the local store sees what comes in the iteration in which it has come, however far it may be run ahead.
#[test]
fn what_is_polled_changes_when_it_has_come() {
    let ends: Vec<Time> = [1_000, 31_250, 70_000]
        .map(|notice| {
            let mut code = get();
            code.extend([
                Insn { op: Op::Lw, rd: VALUE, rs1: STORE, imm: 0x600, ..NOTHING },
                Insn { op: Op::Beq, rs1: VALUE, imm: -4, ..NOTHING },
                write(channel::WR_OUT_MBOX, VALUE),
                read(channel::RD_IN_MBOX),
            ]);
            let mut core = Core::new(Time(notice), Time(100_000), &code);
            core.run();
            assert_eq!(
                core.element.read((Area::Problem, problem::OUT_MBOX, 4), false, core.now),
                Ok(0x0101_0101)
            );
            core.now
        })
        .to_vec();
    // It comes at 123.4375 ns; a loop of two instructions loads at odd nanoseconds from 15 on.
    assert!(ends.iter().all(|&end| end == ends[0]), "{ends:?}");
    assert!(ends[0] >= Time(123_437) && ends[0] <= Time(130_000), "{ends:?}");
}

/// The seventeenth command waits for room.
#[test]
fn a_full_queue_holds_the_program() {
    let mut code = get();
    code.extend((0..16).map(|_| write(channel::MFC_CMD, VALUE)));
    code.extend([write(channel::WR_OUT_MBOX, VALUE), read(channel::RD_IN_MBOX)]);
    let mut core = Core::new(Time(31_250), Time(1_000_000), &code);
    core.run();
    assert!(core.now > Time(1_000_000), "{}", core.now);
    assert_eq!((core.element.mfc.statistics.commands, core.element.mfc.room(Source::Core)), (17, 16));
    // However often it is tried again.
    assert_eq!(core.element.mfc.statistics.full, 1);
}

/// The local store ends, with the page table behind it: a program reaches neither by a load, nor by a store, nor by a jump, and
/// what lies across the end is not there.
#[test]
fn a_program_reaches_nothing_beyond_its_local_store() {
    const BYTES: i64 = 256 << 10;
    let beyond = [
        Insn { op: Op::Lui, rd: VALUE, imm: BYTES, ..NOTHING },
        Insn { op: Op::Add, rd: VALUE, rs1: STORE, rs2: VALUE, ..NOTHING },
    ];
    for last in [
        Insn { op: Op::Lw, rd: VALUE, rs1: VALUE, ..NOTHING },
        Insn { op: Op::Sw, rs1: VALUE, ..NOTHING },
        Insn { op: Op::Ld, rd: VALUE, rs1: VALUE, imm: -4, ..NOTHING },
        Insn { op: Op::Jalr, rs1: VALUE, ..NOTHING },
    ] {
        let mut core = Core::new(Time(31_250), Time(1_000), &[beyond[0], beyond[1], last]);
        let failed = loop {
            match core.processor.run(core.now) {
                Ok(at) => core.now = core.now.max(at.expect("it goes on")),
                Err(text) => break text,
            }
        };
        assert!(failed.contains("no access to 0x80040000"), "{failed}");
    }
    // The last bytes are there.
    let last = Insn { op: Op::Ld, rd: VALUE, rs1: VALUE, imm: -8, ..NOTHING };
    let end = [write(channel::WR_OUT_MBOX, VALUE), read(channel::RD_IN_MBOX)];
    let mut core = Core::new(Time(31_250), Time(1_000), &[beyond[0], beyond[1], last, end[0], end[1]]);
    core.run();
    assert_eq!(core.element.read((Area::Problem, problem::OUT_MBOX, 4), false, core.now), Ok(0));
}

#[test]
#[should_panic(expected = "4097 bytes")]
fn a_local_store_is_whole_pages() {
    let _ = LocalStore::new(PAGE_BYTES + 1, Time(1));
}

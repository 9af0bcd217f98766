//! A firmware processor with private memory, whose device the test is.

use std::sync::Arc;

use chasqui_config::{Bytes, Cycles, Duration, Frequency};
use chasqui_engine::Clock;
use chasqui_hart::predictor::Prediction;
use chasqui_hart::testing::encode::encode;
use chasqui_hart::{CLASSES, Execution, Insn, Op, Timing};
use chasqui_linux::Elf;
use chasqui_linux::testing::executable;
use chasqui_memory::{
    BusParameters, CacheParameters, DramParameters, L2Parameters, OrderParameters, PortKind, PortParameters,
    TlbParameters, WriteBufferParameters,
};
use chasqui_ni::{FIRMWARE_DEVICE, FirmwareProcessor, FirmwareSpec, PrivateMemory};

pub const NOTHING: Insn = Insn { op: Op::Addi, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };
pub const DEVICE: u8 = 5;
pub const VALUE: u8 = 6;

/// 4 KiB of two-way caches with 64-byte lines.
pub fn port() -> PortParameters {
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
pub fn bus() -> (BusParameters, DramParameters) {
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
pub fn processor(address: u64, code: &[Insn]) -> Result<FirmwareProcessor, String> {
    processor_with(port(), address, code, false)
}

pub fn processor_with(
    port: PortParameters,
    address: u64,
    code: &[Insn],
    keeps_marks: bool,
) -> Result<FirmwareProcessor, String> {
    let start = Insn { op: Op::Lui, rd: DEVICE, imm: FIRMWARE_DEVICE as i64, ..NOTHING };
    let code = [&[start], code].concat();
    let code: Vec<u8> = code.iter().flat_map(|insn| encode(insn).to_le_bytes()).collect();
    let (bus, dram) = bus();
    let spec = FirmwareSpec {
        name: "test processor",
        image: Arc::new(Elf::parse("firmware", executable(address, &code)).unwrap()),
        port,
        timing: Timing {
            class: [1; CLASSES],
            branch_taken: 0,
            branch_mispredicted: 0,
            prediction: Prediction::Static,
            trap: 1,
            handler_entry: 1,
        },
        clock: Clock::new(1_000_000_000),
        timebase_hz: 1_000_000,
        execution: Execution::DEFAULT,
        profiled: Some(3),
        keeps_marks,
    };
    FirmwareProcessor::new(spec, PrivateMemory::new(1 << 20, bus, dram).unwrap())
}

//! One node with a guest program in machine code and a network interface that does what a test tells it.

mod debugger;
pub mod random;

use std::ops::Range;
use std::sync::{Arc, Mutex};

use chasqui_abi::kernel::{self, KernelBoot};
use chasqui_abi::{NiIdentification, NiPlacement, interrupts, mark};
use chasqui_config::{Bytes, Cycles, Frequency, Quantity, Resolved, Scalar};
use chasqui_counters::Visitor;
pub use chasqui_engine::Ended as EngineEnded;
use chasqui_engine::{Engine, Event, Lookahead, Packet, Partition, Payload, Threads, Time};
use chasqui_hart::testing::encode::encode;
use chasqui_hart::{Insn, Op};
use chasqui_linux::space::{Backing, Placement, Protection};
use chasqui_linux::testing::executable;
use chasqui_linux::{Elf, Options, Process, Refused, Stream};
use chasqui_memory::{DEVICE_BASE, FlatMemory, Incoming, PAGE_BYTES, PortKind};
use chasqui_ni::{
    ACCEPTED, BusOperation, BusRequest, Cause, Context, NetworkInterface, RETRY as FULL, Region, Reply,
    Uncached,
};
use chasqui_node::{
    Costs, DEVICE_SPAN, Domain, Ended, Kernel, KernelNode, KernelProcess, Member, MemorySystem,
    NodeConfiguration, NodePartition, OsSpec, Output, PartitionSpec, ProcessSpec, SoftwareUnit,
    controller_address, kernel_memory, schema,
};
use chasqui_placement::{JobId, NodeId, ProcessId, Rank};
use chasqui_record::Profile;
use chasqui_watch::{TraceOutput, WatchPlan};
pub use debugger::{Debugger, run_debugged};

/// Where the program is.
pub const TEXT: u64 = 0x1_0000;
/// A page of the program's, in DRAM.
pub const DATA: u64 = 0x2000_0000;
/// The NI's registers.
pub const REGISTERS: u64 = 0x3000_0000;
/// The NI's memory: cacheable, and accessed by the NI past the caches.
pub const SHARED: u64 = 0x4000_0000;
/// The registers of a second device, where there is one.
pub const SECOND_REGISTERS: u64 = 0x5000_0000;
/// The interrupt controller.
pub const CONTROLLER: u64 = 0x6000_0000;
/// Cycles of a system call, and of a page fault.
pub const SOFTWARE: Cycles = Cycles::new(100);
/// Bytes of DRAM; the NI's memory is behind it.
const DRAM: u64 = 8 << 20;

/// Registers of the NI, relative to [`REGISTERS`].
pub mod register {
    /// Reads the flag.
    pub const FLAG: i64 = 0;
    /// A write starts the schedule.
    pub const START: i64 = 8;
    /// A write is noted.
    pub const NOTE: i64 = 16;
    /// A write makes the NI read the first line of its memory and answer.
    pub const DOORBELL: i64 = 24;
    /// A write of a line's number ends its interrupt.
    pub const QUIET: i64 = 32;
    /// A write of a place in the program's data page: what is there is noted.
    pub const LOOK: i64 = 40;
}

/// The line that the NI reads when its doorbell rings, and the one that it writes, in its memory.
pub const SEND: i64 = 0;
pub const RECEIVE: i64 = 512;
/// Where in its memory it has messages, 64 bytes for each action of its schedule.
const BUFFERS: u64 = 1024;

/// What the NI does by itself.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Changes the flag register.
    Flag(u64),
    /// Writes eight bytes of the program's data page in a bus transaction.
    Write(i64, u64),
    /// Reads a line of the program's data page in a bus transaction.
    Read(i64),
    /// Brings a message of these words, or a part, into its memory and the network cache; of no bytes: announces it.
    Deposit(Incoming, u32, [u64; 2]),
    /// Asserts this interrupt line.
    Interrupt(u32),
    /// Finds a fault of this process.
    Fault(ProcessId),
    /// Nothing that the processor could notice.
    Nothing,
}

/// What is seen from the NI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Store(Time, u64, u64),
    Store64(Time, u64, [u64; 8]),
    Granted(Time, BusRequest),
    Done(Time, BusRequest),
}

/// What an NI leaves behind.
#[derive(Default)]
struct Record {
    seen: Vec<Seen>,
    reads: u64,
}

/// The network interface.
pub struct TestNi {
    /// What it does, counted from the start.
    schedule: Vec<(Time, Action)>,
    record: Arc<Mutex<Record>>,
    flag: u64,
    data: u64,
    closed_until: Time,
    full: bool,
    attach: Time,
    input_latency: Time,
    hides_all: bool,
    serves: ProcessId,
    memory: Range<u64>,
    self_contained: Range<u64>,
}

/// From the end of a retried access's address tenure to its next try.
pub const RETRY: Time = Time(10_000);

/// Interrupt lines of the NI.
pub const LINES: u32 = 4;

/// The NI's own part of an answer.
pub const LATENCY: Time = Time(30_000);

/// Of the NI's memory: from the end of the address tenure to the first beat.
pub const MEMORY_LATENCY: Time = Time(20_000);

impl TestNi {
    pub fn new(schedule: Vec<(Time, Action)>) -> TestNi {
        let zero = Time::ZERO;
        TestNi {
            schedule,
            record: Arc::default(),
            flag: 0,
            data: 0,
            closed_until: zero,
            full: false,
            attach: zero,
            input_latency: Time(1_000),
            hides_all: false,
            serves: ProcessId(0),
            memory: DRAM..DRAM + PAGE_BYTES,
            self_contained: 0..0,
        }
    }

    /// The same, but accesses before `time` are retried.
    pub fn closed_until(self, time: Time) -> TestNi {
        TestNi { closed_until: time, ..self }
    }

    /// The same, but 64-byte stores find no room until the flag is set.
    pub fn full(self) -> TestNi {
        TestNi { full: true, ..self }
    }

    /// The same, so far from the bus.
    pub fn behind(self, attach: Time) -> TestNi {
        TestNi { attach, ..self }
    }

    /// The same, which promises that the processor notices what comes from outside only so long after.
    pub fn noticed_after(self, input_latency: Time) -> TestNi {
        TestNi { input_latency, ..self }
    }

    /// The same, which says that the processor can't notice anything that happens in it.
    pub fn hiding_all(self) -> TestNi {
        TestNi { hides_all: true, ..self }
    }

    /// The same, whose doorbell is this process's.
    pub fn serving(self, serves: ProcessId) -> TestNi {
        TestNi { serves, ..self }
    }

    /// The same, without network memory.
    pub fn without_memory(self) -> TestNi {
        TestNi { memory: 0..0, ..self }
    }

    /// The same; stores to its registers refer to nothing in memory.
    pub fn self_contained(self) -> TestNi {
        TestNi { self_contained: DEVICE_BASE..DEVICE_BASE + PAGE_BYTES, ..self }
    }

    fn saw(&self, seen: Seen) {
        self.record.lock().expect("a lock").seen.push(seen);
    }

    fn answer(&mut self, c: &mut Context<'_, '_>) {
        let mut line = [0; 8];
        c.read_unsnooped(self.serves, DRAM + SEND as u64, &mut line);
        let answer = u64::from_le_bytes(line) + 1;
        c.write_unsnooped(DRAM + RECEIVE as u64, &answer.to_le_bytes());
        self.flag += 1;
    }
}

/// The event that answers a doorbell.
const ANSWER: u64 = u64::MAX;

impl NetworkInterface for TestNi {
    fn identify(&self, _: &mut NiIdentification) {}

    fn regions(&self, _: ProcessId) -> Vec<Region> {
        vec![]
    }

    fn may_retry(&self, _: u64) -> bool {
        self.closed_until > Time::ZERO
    }
    fn retry(&mut self, c: &mut Context<'_, '_>, _: (u64, u32), _: Uncached) -> Option<Time> {
        (c.now < self.closed_until).then_some(RETRY)
    }

    fn read(&mut self, _: &mut Context<'_, '_>, address: u64, _: u32) -> Reply {
        assert_eq!(address, register::FLAG as u64);
        self.record.lock().expect("a lock").reads += 1;
        Reply { value: self.flag, latency: LATENCY, repeatable: true }
    }

    fn write(&mut self, c: &mut Context<'_, '_>, address: u64, _: u32, value: u64) {
        self.saw(Seen::Store(c.now, address, value));
        match address as i64 {
            register::START => {
                self.data = c.physical(ProcessId(0), DATA, false).expect("the data page is there");
                for (i, &(after, _)) in self.schedule.iter().enumerate() {
                    c.at(c.now + after, [i as u64, 0]);
                }
            }
            register::DOORBELL => c.at(c.now + Time(200_000), [ANSWER, 0]),
            register::NOTE => {}
            register::QUIET => c.interrupt(value as u32, false),
            register::LOOK => {
                let found = c.memory.read(self.data + value, 8).expect("the program's memory");
                self.saw(Seen::Store(c.now, address, found));
            }
            other => panic!("register {other:#x}"),
        }
    }

    fn store_64(&mut self, c: &mut Context<'_, '_>, address: u64, words: &[u64; 8], _: bool) -> Reply {
        let is_full = self.full && self.flag == 0;
        if !is_full {
            self.saw(Seen::Store64(c.now, address, *words));
        }
        let value = if is_full { FULL } else { ACCEPTED };
        Reply { value, latency: LATENCY, repeatable: is_full }
    }

    fn attach(&self) -> Time {
        self.attach
    }

    fn event(&mut self, c: &mut Context<'_, '_>, [what, _]: Payload) {
        if what == ANSWER {
            return self.answer(c);
        }
        let request = |operation, address, bytes| BusRequest { operation, address, bytes, tag: what };
        match self.schedule[what as usize].1 {
            Action::Flag(value) => self.flag = value,
            Action::Interrupt(line) => c.interrupt(line, true),
            Action::Fault(process) => c.fault(process, "found".into()),
            Action::Write(at, _) => c.bus(request(BusOperation::Write, self.data + at as u64, 8)),
            Action::Read(at) => c.bus(request(BusOperation::Read, self.data + at as u64, 64)),
            Action::Deposit(incoming, bytes, _) => {
                let address = DRAM + BUFFERS + what * 64 + u64::from(incoming.offset);
                c.bus(request(BusOperation::Deposit(ProcessId(0), incoming), address, bytes));
            }
            Action::Nothing => {}
        }
    }

    /// What comes from outside is at once done as if it stood in the schedule.
    fn network(&mut self, c: &mut Context<'_, '_>, event: Event, _: Option<Box<Packet>>) {
        self.event(c, event.payload);
    }

    fn bus_granted(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        self.saw(Seen::Granted(c.now, request));
        if let Action::Write(_, value) = self.schedule[request.tag as usize].1 {
            c.memory.write(request.address, 8, value).expect("the program's memory");
        }
        if let Action::Deposit(_, 1.., words) = self.schedule[request.tag as usize].1 {
            for (at, word) in (request.address..).step_by(8).zip(words) {
                c.memory.write(at, 8, word).expect("the NI's memory");
            }
        }
    }

    fn bus_done(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        self.saw(Seen::Done(c.now, request));
    }

    fn memory_latency(&self, address: u64) -> Option<Time> {
        (address >= DRAM).then_some(MEMORY_LATENCY)
    }

    fn self_contained_stores(&self, _: ProcessId) -> Range<u64> {
        self.self_contained.clone()
    }

    fn network_memory(&self) -> Range<u64> {
        self.memory.clone()
    }

    fn is_visible(&self, [what, _]: Payload) -> bool {
        let is_seen = what == ANSWER || !matches!(self.schedule[what as usize].1, Action::Nothing);
        is_seen && !self.hides_all
    }

    fn network_is_visible(&self, _: &Event) -> bool {
        !self.hides_all
    }

    fn output_latency(&self, _: Cause<'_>) -> &[Time] {
        &[Time(1_000)]
    }

    fn input_latency(&self) -> Time {
        self.input_latency
    }

    fn interrupt_lines(&self) -> u32 {
        LINES
    }

    fn statistics(&self, _: &mut Visitor<'_>) {}
}

// --- the program --------------------------------------------------------------------------------

/// Codes of marks: an MPI call is entered, or left.
pub const ENTER: u32 = mark::CALL;
pub const LEAVE: u32 = mark::RETURN;

/// A program under construction.
#[derive(Clone, Default)]
pub struct Program {
    pub code: Vec<Insn>,
    /// Its MPI calls take no time.
    pub free_calls: bool,
    /// The kernel under it.
    pub kernel: Option<Box<Program>>,
}

pub const ZERO: u8 = 0;
pub const A0: u8 = 10;
pub const A7: u8 = 17;
/// Registers that hold [`DATA`], [`REGISTERS`], [`SHARED`].
pub const DATA_REGISTER: u8 = 18;
pub const NI_REGISTER: u8 = 19;
pub const SHARED_REGISTER: u8 = 20;

const NOTHING: Insn = Insn { op: Op::Addi, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };

impl Program {
    /// A program that has its pointers in registers and its pages present.
    pub fn new() -> Program {
        let mut p = Program::default();
        for (rd, address) in [(DATA_REGISTER, DATA), (NI_REGISTER, REGISTERS), (SHARED_REGISTER, SHARED)] {
            p.push(Insn { op: Op::Lui, rd, imm: address as i64, ..NOTHING });
        }
        p.store(ZERO, DATA_REGISTER, 0x7f8);
        p
    }

    pub fn push(&mut self, insn: Insn) -> &mut Program {
        self.code.push(insn);
        self
    }

    /// Index of the next instruction, to jump to.
    pub fn here(&self) -> usize {
        self.code.len()
    }

    pub fn add(&mut self, rd: u8, rs1: u8, imm: i64) -> &mut Program {
        self.push(Insn { rd, rs1, imm, ..NOTHING })
    }

    pub fn load(&mut self, rd: u8, rs1: u8, imm: i64) -> &mut Program {
        self.push(Insn { op: Op::Ld, rd, rs1, imm, ..NOTHING })
    }

    pub fn store(&mut self, rs2: u8, rs1: u8, imm: i64) -> &mut Program {
        self.push(Insn { op: Op::Sd, rs1, rs2, imm, ..NOTHING })
    }

    /// Eight registers from `first` on, in one store.
    pub fn store_64(&mut self, first: u8, rs1: u8) -> &mut Program {
        self.push(Insn { op: Op::St64b, rs1, rs2: first, ..NOTHING })
    }

    /// The same, with the answer in `rd`.
    pub fn store_64_answered(&mut self, rd: u8, first: u8, rs1: u8) -> &mut Program {
        self.push(Insn { op: Op::St64bv, rd, rs1, rs2: first, ..NOTHING })
    }

    /// A mark of MPI call 1.
    pub fn mark(&mut self, code: u32) -> &mut Program {
        self.push(Insn { op: Op::Mark, imm: i64::from(code | 1 << 5), ..NOTHING })
    }

    pub fn pause(&mut self) -> &mut Program {
        self.push(Insn { op: Op::Pause, ..NOTHING })
    }

    /// `fence ow, ow`
    pub fn fence(&mut self) -> &mut Program {
        self.push(Insn { op: Op::Fence, imm: 0x55, ..NOTHING })
    }

    pub fn flush(&mut self, rs1: u8) -> &mut Program {
        self.push(Insn { op: Op::CboFlush, rs1, ..NOTHING })
    }

    /// A branch back to instruction `to`.
    pub fn branch(&mut self, op: Op, rs1: u8, rs2: u8, to: usize) -> &mut Program {
        let imm = (to as i64 - self.here() as i64) * 4;
        self.push(Insn { op, rs1, rs2, imm, ..NOTHING })
    }

    /// A jump back to instruction `to`.
    pub fn jump(&mut self, to: usize) -> &mut Program {
        let imm = (to as i64 - self.here() as i64) * 4;
        self.push(Insn { op: Op::Jal, imm, ..NOTHING })
    }

    /// A branch to an instruction that [`Program::land`] gives later.
    pub fn branch_ahead(&mut self, op: Op, rs1: u8, rs2: u8) -> usize {
        self.push(Insn { op, rs1, rs2, ..NOTHING });
        self.here() - 1
    }

    /// The branch at `from` goes to the next instruction.
    pub fn land(&mut self, from: usize) -> &mut Program {
        self.code[from].imm = (self.here() - from) as i64 * 4;
        self
    }

    /// `op rd, rs2, (rs1)`: an atomic operation.
    pub fn atomic(&mut self, op: Op, rd: u8, rs2: u8, rs1: u8) -> &mut Program {
        self.push(Insn { op, rd, rs1, rs2, ..NOTHING })
    }

    /// System call `number`; its arguments are in their registers.
    pub fn call(&mut self, number: i64) -> &mut Program {
        self.add(A7, ZERO, number);
        self.push(Insn { op: Op::Ecall, ..NOTHING })
    }

    /// From here on `count` threads execute, each on a hart of its own, with their numbers in `number`.
    pub fn threads(&mut self, count: usize, number: u8) -> &mut Program {
        let mut children = vec![];
        for i in 1..count {
            self.add(number, ZERO, i as i64);
            // CLONE_VM | CLONE_SIGHAND | CLONE_THREAD is 0x10900.
            self.push(Insn { op: Op::Lui, rd: A0, imm: 0x11000, ..NOTHING });
            self.add(A0, A0, -0x700).add(A0 + 1, ZERO, 0).call(220);
            children.push(self.branch_ahead(Op::Beq, A0, ZERO));
        }
        self.add(number, ZERO, 0);
        for child in children {
            self.land(child);
        }
        self
    }

    /// Exits with the status in a0.
    pub fn exit(&mut self) -> &mut Program {
        self.call(93)
    }

    /// The same with a no-operation in place of instruction `index`.
    pub fn without(&self, index: usize) -> Program {
        let mut changed = self.clone();
        changed.code[index] = NOTHING;
        changed
    }

    fn bytes(&self) -> Vec<u8> {
        self.code.iter().flat_map(|insn| encode(insn).to_le_bytes()).collect()
    }

    /// A static executable: one segment with headers and code.
    fn elf(&self) -> Elf {
        Elf::parse("guest", executable(TEXT, &self.bytes())).expect("an executable")
    }

    /// The same, at the place of kernels.
    fn image(&self) -> Elf {
        let within = kernel::IMAGE..kernel::IMAGE + (1 << 30);
        Elf::parse_within("kernel", executable(kernel::IMAGE, &self.bytes()), within).expect("an image")
    }
}

// --- the node -----------------------------------------------------------------------------------

struct Silent;

impl TraceOutput for Silent {}

impl Output for Silent {
    fn write(&self, _: Rank, _: Time, _: Stream, bytes: &[u8]) {
        panic!("output: {}", String::from_utf8_lossy(bytes));
    }
    fn unknown_call(&self, _: Rank, _: Time, number: u64) {
        panic!("system call {number}");
    }
    fn no_hart(&self, _: Rank, _: Time, harts: u32) {
        panic!("more threads than {harts} harts");
    }
    fn no_files(&self, _: Rank, _: Time) {}
    fn refused(&self, _: Rank, _: Time, refused: &Refused<'_>) {
        panic!("{refused:?}");
    }
    fn may_write(&self, _: u64) -> bool {
        true
    }
    fn executed(&self, _: u64) {}
}

/// The default node, with the checker.
pub fn configuration() -> NodeConfiguration {
    let mut configuration = NodeConfiguration::read(&Resolved::defaults(&schema()));
    configuration.checks.coherence = true;
    configuration.dram.size = Bytes::from_bytes(DRAM);
    configuration
}

pub fn frequency(text: &str) -> Frequency {
    Frequency::parse(&Scalar::from(text)).expect("a frequency")
}

/// How a run ended and what was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub ended: Option<(Time, Ended)>,
    pub statistics: Vec<(String, u64)>,
    pub seen: Vec<Seen>,
}

/// Runs `program` on nodes of one hart each that share their memory by `system`. Lines of `line_bytes` have their homes in
/// turn; the first node has the NI.
pub fn run_on_nodes(
    c: &NodeConfiguration,
    program: &Program,
    ni: TestNi,
    (system, line_bytes): (impl MemorySystem + 'static, u64),
) -> Outcome {
    let record = ni.record.clone();
    let mut spec = spec(c, program, ni, WatchPlan::default());
    let member =
        |i| Member { number: NodeId(i as u32), harts: vec![PortKind::Caches], devices: usize::from(i == 0) };
    spec.domain = spec.domain.with_members((0..c.harts()).map(member).collect(), line_bytes);
    outcome(NodePartition::with_memory_system(spec, Box::new(system)), &record).0
}

/// Runs `program` on a node whose harts have this before memory.
pub fn run_with_ports(c: &NodeConfiguration, program: &Program, ni: TestNi, harts: &[PortKind]) -> Outcome {
    let record = ni.record.clone();
    let mut spec = spec(c, program, ni, WatchPlan::default());
    let node = Member { harts: harts.to_vec(), ..spec.domain.members()[0].clone() };
    spec.domain = spec.domain.with_members(vec![node], DRAM);
    outcome(NodePartition::new(spec), &record).0
}

/// Runs `program` on a node; also gives the number of register reads that really happened.
pub fn run(c: &NodeConfiguration, program: &Program, ni: TestNi) -> (Outcome, u64) {
    let (outcome, reads, profile) = run_watched(c, program, ni, WatchPlan::default());
    assert!(profile.is_none());
    (outcome, reads)
}

/// As [`run`], watched: also gives the profile and the hart's cycles.
pub fn run_watched(
    c: &NodeConfiguration,
    program: &Program,
    ni: TestNi,
    watch: WatchPlan,
) -> (Outcome, u64, Option<(Profile, u64)>) {
    let record = ni.record.clone();
    let (outcome, profile) = outcome(NodePartition::new(spec(c, program, ni, watch)), &record);
    let reads = record.lock().expect("a lock").reads;
    (outcome, reads, profile)
}

/// Runs `program` on a node that `other` is a neighbour of: what that sends is under way for `least` at least.
pub fn run_among(
    c: &NodeConfiguration,
    program: &Program,
    ni: TestNi,
    other: Box<dyn Partition>,
    least: Time,
) -> Outcome {
    let record = ni.record.clone();
    let mut engine = Engine::new(Lookahead::new(vec![vec![least]]));
    engine.add(0, Box::new(NodePartition::new(spec(c, program, ni, WatchPlan::default()))));
    engine.add(0, other);
    engine.run(Threads::Exactly(1), &mut |_| true);
    let node = engine.partitions().swap_remove(0).into_any().downcast::<NodePartition>().expect("a node");
    left(node, &record).0
}

/// Runs `program` on a node until nothing happens any more, or until `end`.
pub fn run_until(c: &NodeConfiguration, program: &Program, ni: TestNi, end: Time) -> (Outcome, EngineEnded) {
    let record = ni.record.clone();
    let mut engine = Engine::new(Lookahead::new(vec![vec![Time::NEVER]]));
    engine.set_end(end);
    engine.add(0, Box::new(NodePartition::new(spec(c, program, ni, WatchPlan::default()))));
    let ended = engine.run(Threads::Exactly(1), &mut |_| true);
    let node = engine.partitions().swap_remove(0).into_any().downcast::<NodePartition>().expect("a node");
    (left(node, &record).0, ended)
}

/// As [`run`], in rounds of this length.
pub fn run_in_rounds(c: &NodeConfiguration, program: &Program, ni: TestNi, window: Time) -> Outcome {
    let record = ni.record.clone();
    let mut engine = Engine::new(Lookahead::new(vec![vec![Time::NEVER]]));
    engine.set_window(window);
    engine.add(0, Box::new(NodePartition::new(spec(c, program, ni, WatchPlan::default()))));
    engine.run(Threads::Exactly(1), &mut |_| true);
    let node = engine.partitions().swap_remove(0).into_any().downcast::<NodePartition>().expect("a node");
    left(node, &record).0
}

/// Runs `program` on a node that `change` has changed before.
pub fn run_changed(
    c: &NodeConfiguration,
    program: &Program,
    change: impl FnOnce(&mut PartitionSpec<'_>),
) -> Outcome {
    let ni = TestNi::new(vec![]);
    let record = ni.record.clone();
    let mut spec = spec(c, program, ni, WatchPlan::default());
    change(&mut spec);
    outcome(NodePartition::new(spec), &record).0
}

/// How often harts run ahead under `program`, and how often that is taken back.
pub fn runs_ahead(c: &NodeConfiguration, program: &Program, ni: TestNi) -> [u64; 2] {
    over(NodePartition::new(spec(c, program, ni, WatchPlan::default()))).runs_ahead()
}

/// Runs `node` to its end.
fn over(node: NodePartition) -> Box<NodePartition> {
    let mut engine = Engine::new(Lookahead::new(vec![vec![Time::NEVER]]));
    engine.add(0, Box::new(node));
    engine.run(Threads::Exactly(1), &mut |_| true);
    engine.partitions().pop().expect("the node").into_any().downcast::<NodePartition>().expect("a node")
}

/// What has happened on `node` at its end.
fn outcome(node: NodePartition, record: &Mutex<Record>) -> (Outcome, Option<(Profile, u64)>) {
    left(over(node), record)
}

/// What is left of `node`, which is over.
fn left(mut node: Box<NodePartition>, record: &Mutex<Record>) -> (Outcome, Option<(Profile, u64)>) {
    let mut statistics = vec![];
    let nodes = node.domain().members().len();
    for place in 0..nodes {
        let prefix = if nodes > 1 { format!("node{place}.") } else { String::new() };
        let mut visit = |name: &str, _: _, _: _, value| statistics.push((format!("{prefix}{name}"), value));
        node.visit_statistics(place, &mut visit);
    }
    let process = node.processes(JobId(0)).next().expect("one process");
    let (ended, cycles) = (process.ended().cloned(), process.cycles(Time::NEVER));
    let profile = node.take_profiles(JobId(0)).pop().map(|profile| (profile, cycles));
    let seen = record.lock().expect("a lock").seen.clone();
    (Outcome { ended, statistics, seen }, profile)
}

/// Runs `program` on a node with a second device, whose registers are at [`SECOND_REGISTERS`]. Also what that has seen.
pub fn run_with_two(
    c: &NodeConfiguration,
    program: &Program,
    first: TestNi,
    second: TestNi,
) -> (Outcome, Vec<Seen>) {
    let (record, other) = (first.record.clone(), second.record.clone());
    let mut spec = spec(c, program, first, WatchPlan::default());
    let physical = DEVICE_BASE + DEVICE_SPAN;
    let (placement, rights) = (Placement::Fixed(SECOND_REGISTERS), Protection::READ_WRITE);
    let backing = Backing::Device { physical, uncached: true };
    let space = &mut spec.os.processes[0].process.space;
    space.map(spec.domain.memory_mut(), placement, PAGE_BYTES, rights, backing).expect("room");
    spec.devices.push(Box::new(second));
    let node = Member { devices: 2, ..spec.domain.members()[0].clone() };
    spec.domain = spec.domain.with_members(vec![node], DRAM);
    let (outcome, _) = outcome(NodePartition::new(spec), &record);
    let seen = other.lock().expect("a lock").seen.clone();
    (outcome, seen)
}

/// Runs two processes on a node, each with a hart of its own; how each ended.
pub fn run_two_processes(c: &NodeConfiguration, programs: [&Program; 2], ni: TestNi) -> Vec<Option<Ended>> {
    let node = over(two_processes(c, programs, ni));
    node.processes(JobId(0)).map(|process| process.ended().map(|(_, ended)| ended.clone())).collect()
}

/// The node that they are on.
pub fn two_processes(c: &NodeConfiguration, programs: [&Program; 2], ni: TestNi) -> NodePartition {
    let mut spec = spec(c, programs[0], ni, WatchPlan::default());
    assert_eq!(c.harts(), 2);
    spec.os.processes[0].harts = 0..1;
    let options = Options::new(DRAM / 2..DRAM);
    let mut second = process(c, programs[1], spec.domain.memory_mut(), options);
    (second.id, second.rank, second.harts) = (ProcessId(1), Rank(1), 1..2);
    spec.os.processes.push(second);
    spec.places = 2;
    NodePartition::new(spec)
}

/// A process that executes `program` on all harts of the node.
fn process(
    c: &NodeConfiguration,
    program: &Program,
    memory: &mut FlatMemory,
    mut options: Options,
) -> ProcessSpec {
    options.harts = c.harts() as u32;
    let mut process =
        Process::new(memory, Arc::new(program.elf()), &["guest".into()], &[], options).expect("a process");
    let mut map = |address, bytes, backing| {
        let (placement, rights) = (Placement::Fixed(address), Protection::READ_WRITE);
        process.space.map(memory, placement, bytes, rights, backing).expect("room");
    };
    map(DATA, PAGE_BYTES, Backing::Anonymous);
    map(REGISTERS, PAGE_BYTES, Backing::Device { physical: DEVICE_BASE, uncached: true });
    map(SHARED, PAGE_BYTES, Backing::Device { physical: DRAM, uncached: false });
    let controller = controller_address(1);
    map(CONTROLLER, interrupts::BYTES, Backing::Device { physical: controller, uncached: true });
    ProcessSpec {
        process,
        id: ProcessId(0),
        rank: Rank(0),
        job: JobId(0),
        harts: 0..c.harts(),
        text: None,
        begins: Time::ZERO,
        fast_forward: false,
        timeline_max: 0,
        watch: WatchPlan::default(),
        output: Arc::new(Silent),
    }
}

/// A node with `program` on it.
pub fn spec<'a>(
    c: &'a NodeConfiguration,
    program: &Program,
    ni: TestNi,
    watch: WatchPlan,
) -> PartitionSpec<'a> {
    let mut memory = FlatMemory::new(DRAM + PAGE_BYTES).expect("address space");
    let kernel_memory = kernel_memory(DRAM, 2 << 20);
    // Without a kernel the upper half is for a second process.
    let end = if program.kernel.is_some() { kernel_memory.start } else { DRAM / 2 };
    let process = process(c, program, &mut memory, Options::new(0..end));
    let kernel = program.kernel.as_ref().map(|kernel| {
        let (entry, stack_pointer) = (process.process.entry(), process.process.stack_pointer());
        let boot = KernelBoot { entry, stack_pointer, ..Default::default() };
        let image = Arc::new(kernel.image());
        let told = vec![KernelProcess { root: process.process.space.root(), boot }];
        let for_kernel = (told, NiPlacement::default());
        Kernel::new(image, &mut memory, kernel_memory, for_kernel, KernelNode::of(c, 0, (1, 1), 1))
            .expect("it fits")
    });
    let processes = vec![ProcessSpec { watch, ..process }];
    let software = SoftwareUnit {
        syscall: SOFTWARE,
        page_fault: SOFTWARE,
        shootdown: Cycles::new(100),
        ..c.software.clone()
    };
    let (free_calls, spin_skip) = (program.free_calls, c.checks.spin_skip);
    let costs = Costs { software, machine_call: SOFTWARE, free_calls, spin_skip };
    let member = Member { number: NodeId(0), harts: vec![PortKind::Caches; c.harts()], devices: 1 };
    PartitionSpec {
        configuration: c,
        domain: Domain::of_one_node(memory, member),
        os: OsSpec { processes, kernel, costs },
        places: 1,
        devices: vec![Box::new(ni)],
        first_port: 0,
    }
}

//! Supervisor level: traps, interrupts and `wfi` of a small kernel under random programs, by the fast loop and by the
//! reference; and what each instruction of it does at the other level.

use std::collections::VecDeque;

use crate::bench::{Activity, Bench, MEMORY, Point, Setup, TABLES, any_execution, prediction};
use chasqui_config::Cycles;
use chasqui_engine::{Clock, Time};
use chasqui_hart::csr::TIME;
use chasqui_hart::supervisor::{
    SCAUSE, SEPC, SIE, SIP, SSCRATCH, SSTATUS, STIMECMP, STVAL, STVEC, interrupt, sstatus,
};
use chasqui_hart::testing::encode::encode;
use chasqui_hart::testing::program::{Kind, Options, generate, initial_state, initial_window};
use chasqui_hart::{CLASSES, Executor, Halt, HaltAtMarks, Insn, Op, State, Timing};
use chasqui_memory::{CacheParameters, L2Parameters, PAGE_BYTES, TlbParameters, pte};
use chasqui_random::{Random, share};

/// Programs of the random test.
const PROGRAMS: u64 = 600;
/// Points that a program may take.
const POINTS_MAX: u64 = 200_000;

const CODE: u64 = 0x1_0000;
const WINDOW: u64 = 0x2_0000;
/// The kernel's view of physical memory.
const DIRECT: u64 = 0xffff_ffc0_0000_0000;
/// The kernel's code and data, physical.
const KERNEL: u64 = 0xf_0000;
const SAVE: u64 = 0xf_1000;

/// Places in the kernel's data.
mod save {
    /// x5, x6, x7 of the user.
    pub const X5: i64 = 0;
    pub const X6: i64 = 8;
    pub const X7: i64 = 16;
    /// Traps of each sort: calls and faults, timer, external.
    pub const FAULTS: i64 = 24;
    pub const TIMERS: i64 = 32;
    pub const EXTERNALS: i64 = 40;
    /// Random numbers of the kernel.
    pub const RANDOM: i64 = 48;
    /// What they are multiplied by.
    pub const FACTOR: i64 = 56;
    /// Address of the window's last page-table entry, which is not valid at first.
    pub const ENTRY: i64 = 64;
    /// Of the user: sp, and where it begins.
    pub const SP: i64 = 72;
    pub const START: i64 = 80;
    /// Address of the trap's handler.
    pub const VECTOR: i64 = 88;
    /// The next timer's interrupt comes LEAST ticks later, so that the user gets on, and a random number that is at
    /// most SPAN, a power of two less 1.
    pub const SPAN: i64 = 96;
    pub const LEAST: i64 = 104;
}

const SP: u8 = 2;
const NOTHING: Insn = Insn { op: Op::Addi, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };

/// A kernel under construction.
#[derive(Default)]
struct Code(Vec<Insn>);

impl Code {
    fn op(&mut self, op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64) -> &mut Code {
        self.0.push(Insn { op, rd, rs1, rs2, imm, ..NOTHING });
        self
    }

    fn load(&mut self, rd: u8, at: i64) -> &mut Code {
        self.op(Op::Ld, rd, SP, 0, at)
    }

    fn store(&mut self, rs2: u8, at: i64) -> &mut Code {
        self.op(Op::Sd, 0, SP, rs2, at)
    }

    fn read(&mut self, rd: u8, csr: u16) -> &mut Code {
        self.op(Op::Csrrs, rd, 0, 0, csr.into())
    }

    fn write(&mut self, csr: u16, rs1: u8) -> &mut Code {
        self.op(Op::Csrrw, 0, rs1, 0, csr.into())
    }

    /// A branch to a place that [`Code::land`] gives later.
    fn branch(&mut self, op: Op, rs1: u8, rs2: u8) -> usize {
        self.op(op, 0, rs1, rs2, 0);
        self.0.len() - 1
    }

    fn land(&mut self, from: usize) -> &mut Code {
        self.0[from].imm = (self.0.len() - from) as i64 * 4;
        self
    }

    /// Adds one to a counter; x6 is free.
    fn count(&mut self, at: i64) -> &mut Code {
        self.load(6, at).op(Op::Addi, 6, 6, 0, 1).store(6, at)
    }

    /// x6 is the next random number.
    fn random(&mut self) -> &mut Code {
        self.load(6, save::RANDOM).load(7, save::FACTOR).op(Op::Mul, 6, 6, 7, 0);
        self.op(Op::Addi, 6, 6, 0, 0x3b1).store(6, save::RANDOM).op(Op::Srli, 6, 6, 0, 33)
    }

    /// The user's registers, and back to where the trap came from.
    fn leave(&mut self) -> &mut Code {
        self.load(5, save::X5).load(6, save::X6).load(7, save::X7);
        self.op(Op::Csrrw, SP, SP, 0, SSCRATCH.into()).op(Op::Sret, 0, 0, 0, 0)
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|insn| encode(insn).to_le_bytes()).collect()
    }
}

/// Starts the user; on traps counts, maps the page that is missing, sets the timer anew and now and then waits for it.
/// An external interrupt is switched off until the timer's next.
fn kernel() -> (Vec<u8>, i64) {
    let mut k = Code::default();
    k.load(5, save::VECTOR).write(STVEC, 5).load(5, save::SP).write(SSCRATCH, 5);
    k.load(5, save::START).write(SEPC, 5);
    k.op(Op::Addi, 5, 0, 0, (interrupt::TIMER | interrupt::EXTERNAL) as i64).write(SIE, 5);
    k.op(Op::Addi, 5, 0, 0, sstatus::SPIE as i64).write(SSTATUS, 5).write(STIMECMP, 0).leave();
    let handler = k.0.len() as i64 * 4;
    k.op(Op::Csrrw, SP, SP, 0, SSCRATCH.into()).store(5, save::X5).store(6, save::X6).store(7, save::X7);
    k.read(5, SCAUSE);
    let is_interrupt = k.branch(Op::Blt, 5, 0);
    k.count(save::FAULTS).op(Op::Addi, 6, 0, 0, 8);
    let is_call = k.branch(Op::Beq, 5, 6);
    k.load(6, save::ENTRY).op(Op::Ld, 7, 6, 0, 0).op(Op::Ori, 7, 7, 0, pte::V as i64);
    k.op(Op::Sd, 0, 6, 7, 0).read(5, STVAL).op(Op::SfenceVma, 0, 5, 0, 0).leave();
    k.land(is_call).op(Op::Ecall, 0, 0, 0, 0);
    k.land(is_interrupt).op(Op::Slli, 5, 5, 0, 1).op(Op::Addi, 6, 0, 0, 10);
    let is_timer = k.branch(Op::Beq, 5, 6);
    k.count(save::EXTERNALS).op(Op::Addi, 6, 0, 0, interrupt::EXTERNAL as i64);
    k.op(Op::Csrrc, 0, 6, 0, SIE.into()).leave();
    k.land(is_timer).count(save::TIMERS).random().load(7, save::SPAN).op(Op::And, 6, 6, 7, 0);
    k.read(5, TIME).op(Op::Add, 5, 5, 6, 0).load(7, save::LEAST).op(Op::Add, 5, 5, 7, 0).write(STIMECMP, 5);
    k.op(Op::Addi, 5, 0, 0, interrupt::EXTERNAL as i64).op(Op::Csrrs, 0, 5, 0, SIE.into());
    k.random().op(Op::Andi, 6, 6, 0, 1);
    let goes_on = k.branch(Op::Bne, 6, 0);
    k.op(Op::Wfi, 0, 0, 0, 0).read(5, SIP);
    k.land(goes_on).leave();
    (k.bytes(), handler)
}

fn cache(random: &mut Random) -> CacheParameters {
    let (ways, sets) = (random.pick(&[1, 2, 4]), random.pick(&[2, 4, 16]));
    let line_bytes = random.pick(&[16, 32, 64]);
    CacheParameters::new(sets * ways * line_bytes, ways, line_bytes)
}

/// A random program, and what is random about the machine and its kernel.
fn setup(random: &mut Random) -> (Setup, [u64; 3], VecDeque<(Time, bool)>) {
    let mut options =
        Options { units: 20 + random.below(150) as usize, window_bytes: 4096, ..Options::default() };
    options.misaligned = random.once_in(2);
    options.weights.extend([(Kind::Counter, 2), (Kind::CacheBlock, 3), (Kind::Device, 3)]);
    let pc = CODE + random.below(PAGE_BYTES / 2) * 2;
    // Half of the window is on the page that is missing.
    let window = WINDOW + PAGE_BYTES / 2;
    let pages = (0..3).map(|i| (CODE + i * PAGE_BYTES, 0x4_0000 + i * PAGE_BYTES));
    let pages = pages.chain((0..2).map(|i| (WINDOW + i * PAGE_BYTES, 0x5_0000 + i * PAGE_BYTES))).collect();
    let contents = vec![(pc, generate(&options, random)), (window, initial_window(&options, random))];
    let state = initial_state(&options, pc, window, random);
    let mut setup = Setup::ordinary(state, pages, contents);
    (setup.port.l1i, setup.port.l1d) = (cache(random), cache(random));
    let tlb = |random: &mut Random| {
        let (entries, ways) = random.pick(&[(1, 1), (2, 2), (64, 64)]);
        TlbParameters::new(entries, ways)
    };
    (setup.port.itlb, setup.port.dtlb) = (tlb(random), tlb(random));
    let longest = setup.port.l1i.line.max(setup.port.l1d.line).bytes();
    setup.port.l2 = L2Parameters {
        present: random.once_in(2),
        latency: Cycles::new(1 + random.below(20)),
        ..L2Parameters::new(64 * longest, 4, longest)
    };
    setup.port.check_coherence = false;
    let mut class = [1; CLASSES];
    class.fill_with(|| random.pick(&[1, 1, 2, 10]));
    setup.execution = any_execution(random);
    setup.timing = Timing {
        class,
        branch_taken: 1,
        branch_mispredicted: 3,
        prediction: prediction(random, 3),
        trap: random.pick(&[0, 1, 7]),
        handler_entry: random.pick(&[0, 2]),
    };
    setup.clock = Clock::new(random.pick(&[133_000_000, 1_000_000_000, 3_000_000_000]));
    setup.timebase_hz = random.pick(&[10_000_000, 100_000_000]);
    setup.device_latency = Time(random.below(100_000));
    setup.observe = random.once_in(4);
    let span = random.pick(&[7, 63, 1023]);
    let toggles = random.pick(&[0, 20, 200]);
    let mut times: Vec<u64> = (0..toggles).map(|_| random.below(200_000_000)).collect();
    times.sort_unstable();
    let line = times.into_iter().enumerate().map(|(i, time)| (Time(time), i % 2 == 0)).collect();
    (setup, [random.bits(), random.bits() | 1, span], line)
}

/// Where the page-table entry of `page` is.
fn entry_of(bench: &Bench, page: u64) -> u64 {
    let mut table = TABLES;
    for level in [2, 1] {
        table = pte::address(bench.memory.read(table + (page >> (12 + 9 * level) & 511) * 8, 8).unwrap());
    }
    table + (page >> 12 & 511) * 8
}

/// Puts the kernel into the bench's memory and its hart at the first instruction of it.
fn install(bench: &mut Bench, setup: &Setup, random: [u64; 3]) {
    let (code, handler) = kernel();
    let entry = entry_of(bench, WINDOW + PAGE_BYTES);
    let invalid = bench.memory.read(entry, 8).unwrap() & !pte::V;
    let memory = &mut bench.memory;
    memory.write(entry, 8, invalid).unwrap();
    let rights = pte::V | pte::R | pte::W | pte::X | pte::G | pte::A | pte::D;
    memory.write(TABLES + (DIRECT >> 30 & 511) * 8, 8, rights).unwrap();
    memory.slice_mut(KERNEL, code.len()).unwrap().copy_from_slice(&code);
    let user = &setup.state;
    let values = [
        (save::X5, user.x[5]),
        (save::X6, user.x[6]),
        (save::X7, user.x[7]),
        (save::RANDOM, random[0]),
        (save::FACTOR, random[1]),
        (save::SPAN, random[2]),
        (save::LEAST, setup.timebase_hz / 400_000),
        (save::ENTRY, DIRECT + entry),
        (save::SP, user.x[2]),
        (save::START, user.pc),
        (save::VECTOR, DIRECT + KERNEL + handler as u64),
    ];
    for (at, value) in values {
        memory.write(SAVE + at as u64, 8, value).unwrap();
    }
    bench.hart.state.pc = DIRECT + KERNEL;
    bench.hart.state.x[usize::from(SP)] = DIRECT + SAVE;
    bench.hart.begin_supervisor(TABLES);
}

fn compare(fast: &mut Bench, slow: &mut Bench, all: bool) {
    let (a, b) = (&fast.hart, &slow.hart);
    assert_eq!(a.state, b.state, "registers");
    assert!(a.predictor() == b.predictor(), "what the predictor has learnt, at pc {:#x}", a.state.pc);
    assert_eq!(a.cycle, b.cycle, "cycle at pc {:#x}", a.state.pc);
    assert_eq!(a.supervisor(), b.supervisor(), "supervisor level");
    assert_eq!(a.statistics, b.statistics, "the hart's statistics");
    assert_eq!(a.port.statistics, b.port.statistics, "the port's statistics");
    assert_eq!(a.port.changes(), b.port.changes(), "changes");
    assert_eq!(a.port.is_silent(), b.port.is_silent(), "what was observed");
    if all {
        a.port.check_invariants().unwrap();
        assert!(a.port.lines().eq(b.port.lines()), "lines in caches");
        assert_eq!(fast.service.log, slow.service.log);
        let bytes = |bench: &Bench| bench.memory.slice(0, MEMORY as usize).unwrap().to_vec();
        assert!(bytes(fast) == bytes(slow), "memory");
    }
}

/// Runs a program on both benches; returns how often the kernel was entered, by sort, and the hart was idle.
fn lockstep(random: &mut Random) -> [u64; 4] {
    let (setup, numbers, line) = setup(random);
    let bench = || {
        let mut bench = Bench::new(&setup);
        bench.line = line.clone();
        install(&mut bench, &setup, numbers);
        bench
    };
    let (mut fast, mut slow) = (bench(), bench());
    let longest = random.pick(&[u64::MAX / 2, 1, 20, 300]);
    let mut idle = 0;
    for point in 1..POINTS_MAX {
        let a = fast.advance(&mut |hart, _, limit| {
            let mut cut = || limit.min(hart.cycle + 1 + random.below(longest));
            let (a, b) = (cut(), cut());
            hart.run(a.min(b), a.max(b))
        });
        let b = slow.advance(&mut |hart, _, _| hart.step().unwrap_or(Halt::Deadline));
        assert_eq!(a, b, "at {point}: pc {:#x} and {:#x}", fast.hart.state.pc, slow.hart.state.pc);
        let over =
            a == Point::Idle || fast.activity == Activity::Ended && fast.service.next_time() == Time::NEVER;
        compare(&mut fast, &mut slow, over || point % 64 == 0);
        idle += u64::from(a == Point::Halt(Halt::Idle));
        if over {
            let count = |at: i64| fast.memory.read(SAVE + at as u64, 8).unwrap();
            return [count(save::FAULTS), count(save::TIMERS), count(save::EXTERNALS), idle];
        }
    }
    panic!("no end after {POINTS_MAX} points at pc {:#x}", fast.hart.state.pc);
}

/// Runs a program under the kernel to its end, with the bus lent to the hart or asked for each line; how many lines were
/// fetched at once.
fn lend(random: &mut Random) -> u64 {
    let (setup, numbers, line) = setup(random);
    let run = |lends: bool| {
        let mut bench = Bench::new(&setup);
        (bench.line, bench.lends) = (line.clone(), lends);
        install(&mut bench, &setup, numbers);
        for _ in 1..POINTS_MAX {
            let point = bench.advance(&mut |hart, lent, limit| match lends {
                true => hart.run_with_bus(&mut HaltAtMarks, Some(lent), limit),
                false => hart.run(limit, limit),
            });
            let is_over = bench.activity == Activity::Ended && bench.service.next_time() == Time::NEVER;
            if point == Point::Idle || is_over {
                return bench;
            }
        }
        panic!("no end after {POINTS_MAX} points at pc {:#x}", bench.hart.state.pc);
    };
    let (mut lending, mut asking) = (run(true), run(false));
    let fewer = (asking.service.log.len() - lending.service.log.len()) as u64;
    // What was lent is not in the log of what happened.
    lending.service.log.clear();
    asking.service.log.clear();
    compare(&mut lending, &mut asking, true);
    fewer
}

/// An interrupt that comes while an instruction is fetched finds it begun, whoever fetches.
#[test]
fn a_bus_that_is_lent_moves_no_interrupt() {
    let mut seeds = Random::for_test(0x1e4d_5e9c);
    let mut fewer = 0;
    let programs = share(PROGRAMS / 2);
    for program in 0..programs {
        let seed = seeds.bits();
        fewer += std::panic::catch_unwind(|| lend(&mut Random::new(seed)))
            .unwrap_or_else(|_| panic!("that was program {program}, seed {seed:#x}"));
    }
    assert!(fewer > 2 * programs, "hardly a line was fetched at once: {fewer}");
}

#[test]
fn traps_and_interrupts_are_taken_at_the_same_instructions() {
    let mut seeds = Random::for_test(0x5e9c_0de5);
    let mut all = [0; 4];
    let programs = share(PROGRAMS);
    for program in 0..programs {
        let seed = seeds.bits();
        let counts = std::panic::catch_unwind(|| lockstep(&mut Random::new(seed)))
            .unwrap_or_else(|_| panic!("that was program {program}, seed {seed:#x}"));
        all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    let [faults, timers, externals, idle] = all;
    println!(
        "{programs} programs: {faults} calls and faults, {timers} timers, {externals} externals, {idle} idle"
    );
    assert!(faults > programs && timers > programs && externals > programs && idle > programs / 2);
}

/// A bench with `kernel` at supervisor level, and `user` at [`CODE`].
fn at_levels(kernel: &Code, user: &[Insn]) -> Bench {
    let code = user.iter().flat_map(|insn| encode(insn).to_le_bytes()).collect();
    let pages = vec![(CODE, 0x4_0000), (WINDOW, 0x5_0000)];
    let setup = Setup::ordinary(State::new(CODE), pages, vec![(CODE, code)]);
    let mut bench = Bench::new(&setup);
    let rights = pte::V | pte::R | pte::W | pte::X | pte::G;
    bench.memory.write(TABLES + (DIRECT >> 30 & 511) * 8, 8, rights).unwrap();
    let bytes = kernel.bytes();
    bench.memory.slice_mut(KERNEL, bytes.len()).unwrap().copy_from_slice(&bytes);
    bench.hart.state.pc = DIRECT + KERNEL;
    bench.hart.begin_supervisor(TABLES);
    bench
}

/// The `scause` and `stval` with which the first trap of `user` comes, by both ways of execution.
fn first_trap(user: &[Insn]) -> (u64, u64) {
    // x5: the handler, x6: the user. The handler reads the CSRs and calls the simulator.
    let mut k = Code::default();
    k.write(STVEC, 5).write(SEPC, 6).op(Op::Sret, 0, 0, 0, 0);
    let handler = DIRECT + KERNEL + k.0.len() as u64 * 4;
    k.read(10, SCAUSE).read(11, STVAL).read(12, SEPC).read(13, SSTATUS).op(Op::Ecall, 0, 0, 0, 0);
    let [fast, slow] = [Executor::Translated, Executor::Reference].map(|executor| {
        let mut bench = at_levels(&k, user);
        bench.hart.state.x[5..=7].copy_from_slice(&[handler, CODE, DIRECT + SAVE]);
        bench.run_to_call(executor);
        let x = &bench.hart.state.x;
        assert_eq!(x[12], CODE + (user.len() as u64 - 1) * 4, "sepc is the last instruction's address");
        assert_eq!(x[13] & sstatus::SPP, 0, "the trap came from user level");
        ((x[10], x[11]), bench.hart.cycle)
    });
    assert_eq!(fast, slow);
    fast.0
}

fn insn(op: Op, rd: u8, rs1: u8, imm: i64) -> Insn {
    Insn { op, rd, rs1, imm, ..NOTHING }
}

#[test]
fn what_is_the_supervisors_traps_at_user_level() {
    use chasqui_hart::supervisor::cause::*;
    let illegal = [
        insn(Op::Sret, 0, 0, 0),
        insn(Op::Wfi, 0, 0, 0),
        insn(Op::SfenceVma, 0, 0, 0),
        insn(Op::Csrrs, 5, 0, SSTATUS.into()),
        insn(Op::Csrrw, 0, 5, STVEC.into()),
        insn(Op::Mret, 0, 0, 0),
    ];
    for insn in illegal {
        assert_eq!(first_trap(&[NOTHING, insn]).0, ILLEGAL, "{insn}");
    }
    assert_eq!(first_trap(&[insn(Op::Ecall, 0, 0, 0)]), (USER_CALL, 0));
    assert_eq!(first_trap(&[NOTHING, insn(Op::Ebreak, 0, 0, 0)]), (BREAKPOINT, 0));
    // x7 points to the kernel's data, whose pages are not the user's.
    assert_eq!(first_trap(&[insn(Op::Ld, 5, 7, 8)]), (LOAD_PAGE, DIRECT + SAVE + 8));
    assert_eq!(first_trap(&[insn(Op::Sd, 0, 7, 16)]), (STORE_PAGE, DIRECT + SAVE + 16));
}

#[test]
fn the_users_pages_are_the_supervisors_with_sum_alone() {
    // x5: a user's page. Loads before SUM is set, then after, then stores, then clears it again and loads.
    let sum = |op, code: &mut Code| {
        _ = code.op(Op::Lui, 6, 0, 0, sstatus::SUM as i64).op(op, 0, 6, 0, SSTATUS.into())
    };
    for (sets, clears, may) in [(false, false, false), (true, false, true), (true, true, false)] {
        let mut k = Code::default();
        k.write(STVEC, 9);
        if sets {
            sum(Op::Csrrs, &mut k);
            k.op(Op::Ld, 7, 5, 0, 0).op(Op::Sd, 0, 5, 5, 0);
        }
        if clears {
            sum(Op::Csrrc, &mut k);
        }
        k.op(Op::Ld, 7, 5, 0, 8).op(Op::Addi, 10, 0, 0, 1).op(Op::Ecall, 0, 0, 0, 0);
        let handler = DIRECT + KERNEL + k.0.len() as u64 * 4;
        k.read(11, SCAUSE).op(Op::Ecall, 0, 0, 0, 0);
        for &executor in Executor::ALL {
            let mut bench = at_levels(&k, &[]);
            (bench.hart.state.x[5], bench.hart.state.x[9]) = (WINDOW, handler);
            bench.run_to_call(executor);
            let x = &bench.hart.state.x;
            let fault = chasqui_hart::supervisor::cause::LOAD_PAGE;
            assert_eq!((x[10] == 1, x[11] == fault), (may, !may), "SUM set: {sets}, cleared: {clears}");
        }
    }
}

#[test]
fn a_trap_takes_its_cycles() {
    // Two traps of a warm handler that goes on behind the ecall, by the difference of two `cycle` CSRs.
    let mut k = Code::default();
    k.write(STVEC, 5).write(SEPC, 6).op(Op::Sret, 0, 0, 0, 0);
    let handler = DIRECT + KERNEL + k.0.len() as u64 * 4;
    let at_end = k.branch(Op::Bne, 20, 0);
    k.read(10, SEPC).op(Op::Addi, 10, 10, 0, 4).write(SEPC, 10).op(Op::Sret, 0, 0, 0, 0);
    k.land(at_end).op(Op::Ecall, 0, 0, 0, 0);
    let cycle = |rd| insn(Op::Csrrs, rd, 0, chasqui_hart::csr::CYCLE.into());
    let call = insn(Op::Ecall, 0, 0, 0);
    let user = [call, cycle(11), call, cycle(12), cycle(11), call, cycle(12), insn(Op::Addi, 20, 0, 1), call];
    for &executor in Executor::ALL {
        let mut bench = at_levels(&k, &user);
        bench.hart.state.x[5..=6].copy_from_slice(&[handler, CODE]);
        bench.run_to_call(executor);
        let x = &bench.hart.state.x;
        // An ecall has no time but its trap's: `cycle`, the trap, five of the handler, all of one cycle.
        assert_eq!(x[12] - x[11], 1 + 1 + 5, "an ecall that comes back, all in the caches");
    }
}

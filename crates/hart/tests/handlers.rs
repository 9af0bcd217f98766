//! Handlers at user level, in register contexts of their own: random programs with interrupts at random cycles, by the fast
//! loop and by the reference; what an entry and a return take; and which of them nest.

use chasqui_config::Cycles;
use chasqui_engine::{Clock, Time};
use chasqui_hart::csr::{CYCLE, FCSR};
use chasqui_hart::handlers::{EXTERNAL, EXTERNAL_CAUSE, UCAUSE, UEPC, UIE, UIP, USTATUS, UTVEC, ustatus};
use chasqui_hart::testing::encode::encode;
use chasqui_hart::testing::program::{Kind, Options, generate, initial_state, initial_window};
use chasqui_hart::{CLASSES, Executor, Halt, Insn, Op, State, Timing};
use chasqui_memory::{CacheParameters, L2Parameters, PAGE_BYTES};
use chasqui_random::Random;

use crate::bench::{Activity, Bench, MEMORY, Point, Setup, any_execution, prediction};

/// Programs of the random test.
const PROGRAMS: u64 = 400;
/// Points that a program may take.
const POINTS_MAX: u64 = 400_000;

const CODE: u64 = 0x1_0000;
const WINDOW: u64 = 0x2_0000;
/// Of the handler.
const HANDLER: u64 = 0x2_8000;
/// What it counts and keeps.
const SAVE: u64 = 0x2_9000;
const SAVE_PHYSICAL: u64 = 0x6_1000;

const NOTHING: Insn = Insn { op: Op::Addi, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };

fn op(op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64) -> Insn {
    Insn { op, rd, rs1, rs2, imm, ..NOTHING }
}

fn csr(kind: Op, rd: u8, rs1: u8, number: u16) -> Insn {
    op(kind, rd, rs1, 0, number.into())
}

fn bytes(code: &[Insn]) -> Vec<u8> {
    code.iter().flat_map(|insn| encode(insn).to_le_bytes()).collect()
}

/// Where interrupts go, and enabled.
fn enable() -> Vec<Insn> {
    vec![
        op(Op::Lui, 5, 0, 0, HANDLER as i64),
        csr(Op::Csrrw, 0, 5, UTVEC),
        op(Op::Addi, 5, 0, 0, EXTERNAL as i64),
        csr(Op::Csrrw, 0, 5, UIE),
        op(Op::Csrrwi, 0, ustatus::UIE as u8, 0, USTATUS.into()),
        op(Op::Ecall, 0, 0, 0, 0),
    ]
}

/// Counts in a register of its context and in memory, where another may have interrupted it; sums what it sees; uses
/// floating point; and every so often lets others interrupt it.
fn handler() -> Vec<Insn> {
    let nests = op(Op::Csrrsi, 0, ustatus::UIE as u8, 0, USTATUS.into());
    vec![
        op(Op::Lui, 7, 0, 0, SAVE as i64),
        op(Op::Addi, 5, 5, 0, 1),
        op(Op::AmoaddD, 28, 7, 5, 0),
        csr(Op::Csrrs, 6, 0, UEPC),
        op(Op::Add, 8, 8, 6, 0),
        csr(Op::Csrrs, 6, 0, UCAUSE),
        csr(Op::Csrrs, 9, 0, UIP),
        op(Op::Add, 8, 8, 6, 0),
        op(Op::FcvtDW, 1, 5, 0, 0),
        op(Op::FdivD, 2, 1, 2, 0),
        op(Op::Addi, 10, 0, 0, 3),
        op(Op::Remu, 10, 5, 10, 0),
        op(Op::Bne, 0, 10, 0, 8),
        nests,
        op(Op::Sd, 0, 7, 8, 64),
        op(Op::Ld, 11, 7, 0, 128),
        op(Op::Addi, 11, 11, 0, 1),
        op(Op::Sd, 0, 7, 11, 128),
        op(Op::Uret, 0, 0, 0, 0),
    ]
}

fn cache(random: &mut Random) -> CacheParameters {
    let (ways, sets) = (random.pick(&[1, 2, 4]), random.pick(&[2, 4, 16]));
    let line_bytes = random.pick(&[16, 32, 64]);
    CacheParameters::new(sets * ways * line_bytes, ways, line_bytes)
}

/// A random program, what is random about the machine, and when its line is asserted and when not.
fn setup(random: &mut Random) -> (Setup, Vec<(Time, bool)>) {
    let mut options =
        Options { units: 20 + random.below(150) as usize, window_bytes: 4096, ..Options::default() };
    options.weights.extend([(Kind::Counter, 2), (Kind::Device, 3)]);
    let pc = CODE + random.below(PAGE_BYTES / 2) * 2;
    let pages = (0..3).map(|i| (CODE + i * PAGE_BYTES, 0x4_0000 + i * PAGE_BYTES));
    let own = [(WINDOW, 0x5_0000), (HANDLER, 0x6_0000), (SAVE, SAVE_PHYSICAL)];
    let pages = pages.chain(own).chain([(0x3_0000, 0x7_0000)]).collect();
    let contents = vec![
        (pc, generate(&options, random)),
        (WINDOW, initial_window(&options, random)),
        (HANDLER, bytes(&handler())),
        (0x3_0000, bytes(&enable())),
    ];
    let mut setup = Setup::ordinary(initial_state(&options, pc, WINDOW, random), pages, contents);
    (setup.port.l1i, setup.port.l1d) = (cache(random), cache(random));
    let longest = setup.port.l1i.line.max(setup.port.l1d.line).bytes();
    setup.port.l2 = L2Parameters {
        present: random.once_in(2),
        latency: Cycles::new(1 + random.below(20)),
        ..L2Parameters::new(64 * longest, 4, longest)
    };
    setup.port.check_coherence = false;
    let mut class = [1; CLASSES];
    class.fill_with(|| random.pick(&[1, 1, 2, 10]));
    let handler_entry = random.pick(&[0, 1, 7]);
    let prediction = prediction(random, 3);
    setup.execution = any_execution(random);
    setup.timing =
        Timing { class, branch_taken: 1, branch_mispredicted: 3, prediction, trap: 0, handler_entry };
    setup.clock = Clock::new(random.pick(&[133_000_000, 1_000_000_000, 3_000_000_000]));
    setup.device_latency = Time(random.below(100_000));
    setup.observe = random.once_in(4);
    let mut at = 0;
    let (apart, longest) =
        (random.pick(&[50_000, 500_000, 4_000_000]), random.pick(&[1_000, 20_000, 400_000]));
    let mut line = vec![];
    for _ in 0..random.pick(&[1, 20, 100]) {
        at += 1 + random.below(apart);
        line.push((Time(at), true));
        at += 1 + random.below(longest);
        line.push((Time(at), false));
    }
    (setup, line)
}

fn compare(fast: &Bench, slow: &Bench, all: bool) {
    let (a, b) = (&fast.hart, &slow.hart);
    assert_eq!(a.state, b.state, "registers");
    assert!(a.predictor() == b.predictor(), "what the predictor has learnt, at pc {:#x}", a.state.pc);
    assert_eq!(a.cycle, b.cycle, "cycle at pc {:#x}", a.state.pc);
    assert_eq!(a.handlers(), b.handlers(), "handlers");
    assert_eq!(a.statistics, b.statistics, "the hart's statistics");
    assert_eq!(a.port.statistics, b.port.statistics, "the port's statistics");
    if all {
        a.port.check_invariants().unwrap();
        let bytes = |bench: &Bench| bench.memory.slice(0, MEMORY as usize).unwrap().to_vec();
        assert!(bytes(fast) == bytes(slow), "memory");
    }
}

/// Runs a program on both benches; returns how many handlers there were, and how deep they went.
fn lockstep(random: &mut Random) -> (u64, usize) {
    let (setup, line) = setup(random);
    let contexts = 1 + random.below(3) as usize;
    let bench = || {
        let mut bench = Bench::new(&setup);
        bench.hart.begin_handlers(contexts);
        bench.hart.state = State::new(0x3_0000);
        bench.run_to_call(Executor::Reference);
        bench.hart.state = setup.state.clone();
        bench.activity = Activity::Ready;
        bench.line = line.iter().map(|&(at, asserted)| (bench.hart.now() + at, asserted)).collect();
        bench
    };
    let (mut fast, mut slow) = (bench(), bench());
    let longest = random.pick(&[u64::MAX / 2, 1, 20, 300]);
    let mut depth = 0;
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
        compare(&fast, &slow, over || point % 64 == 0);
        depth = depth.max(fast.hart.handlers().expect("it has handlers").depth());
        if over {
            fast.run_to_idle();
            return (fast.memory.read(SAVE_PHYSICAL + 128, 8).unwrap(), depth);
        }
    }
    panic!("no end after {POINTS_MAX} points at pc {:#x}", fast.hart.state.pc);
}

#[test]
fn handlers_are_entered_at_the_same_instructions() {
    let mut seeds = Random::for_test(0x0a1d_1e55);
    let (mut handlers, mut nested) = (0, 0);
    for program in 0..PROGRAMS {
        let seed = seeds.bits();
        let (count, depth) = std::panic::catch_unwind(|| lockstep(&mut Random::new(seed)))
            .unwrap_or_else(|_| panic!("that was program {program}, seed {seed:#x}"));
        handlers += count;
        nested += u64::from(depth > 1);
    }
    println!("{PROGRAMS} programs: {handlers} handlers, nested in {nested}");
    assert!(handlers > PROGRAMS && nested > PROGRAMS / 20);
}

/// A bench with `user` at [`CODE`] and `handler`, whose interrupts are enabled.
fn bench(user: &[Insn], handler: &[Insn], contexts: usize, timing: Timing) -> Bench {
    let pages = vec![(CODE, 0x4_0000), (HANDLER, 0x6_0000), (SAVE, SAVE_PHYSICAL), (0x3_0000, 0x7_0000)];
    let contents = vec![(CODE, bytes(user)), (HANDLER, bytes(handler)), (0x3_0000, bytes(&enable()))];
    let mut setup = Setup::ordinary(State::new(0x3_0000), pages, contents);
    setup.timing = timing;
    let mut bench = Bench::new(&setup);
    bench.hart.begin_handlers(contexts);
    bench.run_to_call(Executor::Reference);
    bench.hart.state = State::new(CODE);
    bench
}

/// The handler's first instruction starts `handler_entry` cycles after the interrupt, and the program's next
/// `handler_return` after the start of `uret`.
#[test]
fn an_entry_and_a_return_take_their_cycles() {
    const ENTRY: u16 = 9;
    let mut timing = Timing { handler_entry: ENTRY, ..Timing::UNIT };
    timing.class[chasqui_hart::Class::HandlerReturn as usize] = 6;
    let cycle = |rd| csr(Op::Csrrs, rd, 0, CYCLE);
    // Twice, the second time with everything in the caches: an ecall stands where the test asserts the line.
    let user = [cycle(11), cycle(12), op(Op::Ecall, 0, 0, 0, 0)];
    let handler = [cycle(5), op(Op::Uret, 0, 0, 0, 0)];
    for &executor in Executor::ALL {
        let mut bench = bench(&user, &handler, 1, timing);
        for warm in [false, true] {
            bench.hart.state.pc = CODE;
            bench.line.extend([(bench.hart.now(), true), (bench.hart.now() + Time(1_000), false)]);
            let begin = bench.hart.cycle;
            bench.run_to_call(executor);
            let x = bench.hart.state.x;
            assert_eq!(x[5], 0, "the handler's registers are its own");
            if warm {
                // Entry, `cycle`, `uret`; then `cycle` of the program.
                assert_eq!(x[11] - begin, u64::from(ENTRY) + 1 + 6);
                assert_eq!(x[12] - x[11], 1);
            }
        }
    }
}

/// Registers, fcsr and pc of the program are as they were; a reservation is gone; ucause and uepc say what happened.
#[test]
fn a_handler_has_a_context_of_its_own() {
    let user = [
        op(Op::Lui, 7, 0, 0, SAVE as i64),
        op(Op::Addi, 5, 0, 0, 77),
        csr(Op::Csrrwi, 0, 5, FCSR),
        op(Op::LrD, 6, 7, 0, 0),
        op(Op::Addi, 8, 0, 0, 200),
        op(Op::Addi, 8, 8, 0, -1),
        op(Op::Bne, 0, 8, 0, -4),
        op(Op::ScD, 9, 7, 5, 0),
        csr(Op::Csrrs, 10, 0, FCSR),
        op(Op::Ecall, 0, 0, 0, 0),
    ];
    let handler = [
        op(Op::Lui, 7, 0, 0, SAVE as i64),
        csr(Op::Csrrs, 5, 0, UCAUSE),
        op(Op::Sd, 0, 7, 5, 8),
        csr(Op::Csrrs, 5, 0, UEPC),
        op(Op::Sd, 0, 7, 5, 16),
        csr(Op::Csrrs, 5, 0, FCSR),
        op(Op::Sd, 0, 7, 5, 24),
        csr(Op::Csrrwi, 0, 31, FCSR),
        op(Op::Uret, 0, 0, 0, 0),
    ];
    for &executor in Executor::ALL {
        let mut bench = bench(&user, &handler, 1, Timing::UNIT);
        // Within the loop, whose code takes a bus transaction or two to come.
        let now = bench.hart.now();
        bench.line.extend([(now + Time(500_000), true), (now + Time(500_001), false)]);
        bench.run_to_call(executor);
        bench.run_to_idle();
        let x = bench.hart.state.x;
        assert_eq!((x[5], x[9], x[10]), (77, 1, 5), "x5, failure of the store-conditional, fcsr");
        let kept = |at| bench.memory.read(SAVE_PHYSICAL + at, 8).unwrap();
        assert_eq!(kept(8), EXTERNAL_CAUSE);
        assert!((CODE + 20..=CODE + 24).contains(&kept(16)), "uepc is in the loop");
        assert_eq!(kept(24), 0, "fcsr of the handler");
    }
}

/// `uret` outside of a handler is illegal, and all of it where a hart has no handlers.
#[test]
fn what_is_not_there_is_illegal() {
    let uret = op(Op::Uret, 0, 0, 0, 0);
    for &executor in Executor::ALL {
        let mut inside = bench(&[uret], &[], 1, Timing::UNIT);
        let illegal = |bench: &mut Bench| loop {
            let point = bench.advance(&mut |hart, _, limit| match executor {
                Executor::Reference => hart.step().unwrap_or(Halt::Deadline),
                _ => hart.run(limit, limit),
            });
            match point {
                Point::Halt(Halt::Illegal(_)) => return,
                Point::Halt(Halt::Wait(_)) | Point::Event(_) => {}
                other => panic!("{other:?}"),
            }
        };
        inside.activity = Activity::Ready;
        illegal(&mut inside);
        for insn in [uret, csr(Op::Csrrs, 5, 0, USTATUS), csr(Op::Csrrw, 0, 5, UTVEC)] {
            let pages = vec![(CODE, 0x4_0000)];
            let setup = Setup::ordinary(State::new(CODE), pages, vec![(CODE, bytes(&[insn]))]);
            illegal(&mut Bench::new(&setup));
        }
    }
}

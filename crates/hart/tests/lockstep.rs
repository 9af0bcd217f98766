//! The fast loop against the reference: random programs on random caches, TLBs, buses and costs, cut at
//! random deadlines. [`Hart::run`] and [`Hart::step`] must agree after every halt and every bus event in
//! registers, time, statistics and what the bus saw, and in memory and the contents of caches.

use std::iter;

use crate::bench::service::{Brought, Foreign};
use crate::bench::{Bench, Execute, MEMORY, Point, Setup, any_execution, execution, prediction};
use chasqui_config::{Bytes, Cycles, Duration, Frequency};
use chasqui_engine::{Clock, Time};
use chasqui_hart::testing::program::{
    ENVELOPES, Kind, MESSAGES, NETWORK, Options, envelope, generate, initial_state, initial_window,
};
use chasqui_hart::{CLASSES, Class, Executor, Halt, HaltAtMarks, Hart, State, Timing};
use chasqui_memory::{
    Binding, BusParameters, CacheParameters, DramParameters, Early, Incoming, L2Parameters, LentBus, Long,
    NetworkCacheCosts, NetworkCacheParameters, OrderParameters, PAGE_BYTES, PortKind, PortParameters,
    Replacement, SectionGeometry, Snoop, Stored, TlbParameters, WriteBufferParameters,
};
use chasqui_random::{Random, share};

/// Programs of one test, of which it takes a share.
const PROGRAMS: u64 = 1500;
/// Points that a program may take; more is a hart that makes no progress.
const POINTS_MAX: u64 = 40_000;

const CODE: u64 = 0x1_0000;
const WINDOW: u64 = 0x2_0000;

fn cache(random: &mut Random, sets_log_max: u64, line_log_min: u64) -> CacheParameters {
    let line_bytes = 1 << (line_log_min + random.below(3)).min(7);
    let ways = random.pick(&[1, 1, 2, 3, 4]);
    let sets = 1 << random.below(sets_log_max + 1);
    let sets: u64 = if ways == 1 && sets == 1 { 2 } else { sets };
    CacheParameters::new(sets * ways * line_bytes, ways, line_bytes)
}

fn network_cache(random: &mut Random) -> (NetworkCacheParameters, NetworkCacheCosts) {
    let mut section = || SectionGeometry { sets: 1 << random.below(5), ways: 1 + random.below(4) as u32 };
    let sections = [(); 5].map(|()| section());
    let p = NetworkCacheParameters {
        long: random.pick(Long::ALL),
        early: random.pick(Early::ALL),
        early_entries: 1 + random.below(4),
        replacement: random.pick(Replacement::ALL),
        predictor_entries: 2 + random.below(8),
        binding: random.pick(Binding::ALL),
        ..Default::default()
    };
    let [network, process, remap, line] = [(); 4].map(|()| random.below(6));
    (p.with_sections(sections), NetworkCacheCosts { network, process, remap, line })
}

fn port(random: &mut Random) -> PortParameters {
    let (l1i, l1d) = (cache(random, 4, 4), cache(random, 4, 4));
    let longest = u64::from(l1i.line.max(l1d.line).bytes().trailing_zeros());
    let l2 = random.once_in(2).then(|| cache(random, 6, longest)).map(L2Parameters::from).unwrap_or_default();
    let tlb = |random: &mut Random| {
        let (entries, ways) = random.pick(&[(1, 1), (2, 1), (2, 2), (4, 2), (64, 64)]);
        TlbParameters::new(entries, ways)
    };
    let kind = match random.below(8) {
        0 => PortKind::Scratchpad,
        1 => PortKind::Cacheless,
        _ => PortKind::Caches,
    };
    let (l1i, l2) = match kind {
        PortKind::Cacheless => {
            let line = random.pick(&[4, 8, 64]);
            (CacheParameters::new(line * random.pick(&[1, 2, 16]), 1, line), L2Parameters::default())
        }
        _ => (l1i, l2),
    };
    PortParameters {
        kind,
        l1i,
        l1d,
        l2: L2Parameters { latency: Cycles::new(1 + random.below(20)), stash_ways: 1, ..l2 },
        itlb: tlb(random),
        dtlb: tlb(random),
        write_buffer: WriteBufferParameters { entries: 1 + random.below(8), posted: 1 + random.below(4) },
        order: OrderParameters {
            walk: Cycles::new(random.below(5)),
            fence: Cycles::new(random.below(6)),
            flush: Cycles::new(random.below(6)),
            atomic: Cycles::new(random.below(6)),
            ..Default::default()
        },
        network_cache: (kind == PortKind::Caches && random.once_in(2)).then(|| network_cache(random)),
        check_coherence: random.once_in(8),
    }
}

fn timing(random: &mut Random) -> Timing {
    let mut class = [1; CLASSES];
    if !random.once_in(4) {
        class.fill_with(|| random.pick(&[1, 1, 2, 3, 10, 40]));
        class[Class::Hint as usize] = 1 + random.below(30) as u16;
    }
    let mut branch = || random.pick(&[0, 1, 3, 200]);
    Timing {
        class,
        branch_taken: branch(),
        branch_mispredicted: branch(),
        trap: branch().into(),
        prediction: prediction(random, 200),
        handler_entry: 0,
    }
}

fn bus(random: &mut Random) -> (BusParameters, DramParameters) {
    (
        BusParameters {
            clock: Frequency::from_hz(random.pick(&[40_000_000, 50_000_000, 300_000_000, 1_000_000_000])),
            width: Bytes::from_bytes(random.pick(&[4, 8, 16])),
            address: Cycles::new(1 + random.below(3)),
            pipelined: random.once_in(2),
            intervention: Cycles::new(random.below(5)),
        },
        DramParameters {
            first_chunk: Duration::from_ps(random.below(150_000)),
            next_chunk: Duration::from_ps(random.below(30_000)),
            write: Duration::from_ps(random.below(60_000)),
            banks: random.pick(&[1, 1, 2, 5]),
            ..Default::default()
        },
    )
}

/// What another master does while the program runs.
fn foreign(random: &mut Random, pages: &[(u64, u64)]) -> Vec<(Time, Foreign)> {
    let count = random.pick(&[0, 0, 10, 40]);
    let window = &pages[pages.len() - 2..];
    let one = |random: &mut Random| {
        let snoop = random.pick(&[Snoop::Read, Snoop::Invalidate]);
        let bytes = random.pick(&[8, 16, 32, 64]);
        let address = random.pick(window).1 + random.below(PAGE_BYTES / 64) * 64;
        let value = (snoop == Snoop::Invalidate && random.once_in(2)).then(|| random.bits());
        (Time(random.below(100_000_000)), Foreign { snoop, address, bytes, value })
    };
    (0..count).map(|_| one(random)).collect()
}

/// Messages that come while the program runs, into the second half of network memory.
fn brought(random: &mut Random, buffers: u64) -> Vec<(Time, Brought)> {
    let mut times: Vec<u64> = (0..random.below(24)).map(|_| random.below(30_000_000)).collect();
    times.sort_unstable();
    let mut buffer = buffers + PAGE_BYTES / 2;
    let mut one = |(number, time): (u32, u64)| {
        let length = random.pick(&[1, 4, 8, 16, 40, 64]);
        let part = Stored { buffer, bytes: length };
        buffer += 64;
        let (id, of) = (u64::from(number) + MESSAGES, random.below(ENVELOPES));
        let (key, ordinal) = (envelope(of), of as u32);
        let incoming = Incoming { id, key, ordinal, is_kept: false, offset: 0, length };
        (Time(time), Brought { incoming, part, words: [(); 8].map(|()| random.bits()) })
    };
    (1..).zip(times).map(&mut one).collect()
}

fn setup(random: &mut Random) -> (Options, Setup) {
    setup_of(random, false)
}

/// A program on a hart. `pure`: it depends on no time and on nobody else, and has no atomic operation.
fn setup_of(random: &mut Random, pure: bool) -> (Options, Setup) {
    let mut options = Options {
        units: 20 + random.below(150) as usize,
        window_bytes: random.pick(&[1024, 2048, 4096]),
        misaligned: random.once_in(2),
        ..Options::default()
    };
    options.weights.push((Kind::CacheBlock, 3));
    if !pure {
        options.weights.push((Kind::Counter, 2));
    }
    if random.once_in(2) {
        options.weights.push((Kind::Device, 3));
    }
    if random.once_in(4) {
        // Mostly memory.
        options.weights.extend([(Kind::Load, 100), (Kind::Store, 80), (Kind::Loop, 10)]);
    }
    let mut port = port(random);
    if pure {
        (port.network_cache, port.check_coherence) = (None, false);
        port.l1i = CacheParameters::new(256, 1, 64);
    }
    if pure || port.kind == PortKind::Cacheless && !random.once_in(8) {
        // They end the program there.
        options.weights.retain(|(kind, _)| !matches!(kind, Kind::Amo | Kind::LoadReserved));
    }
    let has_network_cache = port.network_cache.is_some();
    if has_network_cache {
        options.weights.push((Kind::Network, 8));
    }
    // Pages in any order, so that neighbours and tables meet in the same sets.
    let mut free: Vec<u64> = (16..MEMORY / PAGE_BYTES).collect();
    let mut page = || free.swap_remove(random.below(free.len() as u64) as usize) * PAGE_BYTES;
    let virtual_pages = (0..3).map(|i| CODE + i * PAGE_BYTES).chain((0..2).map(|i| WINDOW + i * PAGE_BYTES));
    let pages: Vec<_> = iter::once(NETWORK).chain(virtual_pages).map(|v| (v, page())).collect();
    let pc = CODE + random.below(PAGE_BYTES / 2) * 2;
    let window = WINDOW + random.below((2 * PAGE_BYTES - options.window_bytes) / 8) * 8;
    let contents = vec![(pc, generate(&options, random)), (window, initial_window(&options, random))];
    let state = initial_state(&options, pc, window, random);
    let setup = Setup {
        port,
        execution: any_execution(random),
        timing: timing(random),
        clock: Clock::new(random.pick(&[133_000_000, 150_000_000, 1_000_000_000, 3_000_000_000])),
        timebase_hz: random.pick(&[10_000_000, 100_000_000]),
        bus: bus(random),
        sharing: random.below(4),
        device_latency: Time(random.below(100_000)),
        marks_switch: random.once_in(4),
        observe: random.once_in(4),
        foreign: if pure { vec![] } else { foreign(random, &pages) },
        brought: if has_network_cache { brought(random, pages[0].1) } else { vec![] },
        pages,
        contents,
        state,
    };
    (options, setup)
}

/// Fails unless the two benches are in the same state; `all`: memory and caches too.
fn compare(fast: &mut Bench, slow: &mut Bench, all: bool) {
    let (a, b) = (&fast.hart, &slow.hart);
    assert_eq!(a.state, b.state, "registers");
    assert!(a.predictor() == b.predictor(), "what the predictor has learnt, at pc {:#x}", a.state.pc);
    assert_eq!(a.cycle, b.cycle, "cycle at pc {:#x}", a.state.pc);
    assert_eq!(a.statistics, b.statistics, "the hart's statistics");
    assert_eq!(a.port.statistics, b.port.statistics, "the port's statistics");
    assert_eq!(fast.activity, slow.activity, "activity");
    assert_eq!(a.port.reservation(), b.port.reservation(), "reservation");
    assert_eq!(a.port.changes(), b.port.changes(), "changes");
    assert_eq!(a.port.is_silent(), b.port.is_silent(), "what was observed");
    assert_eq!(fast.service.log.len(), slow.service.log.len(), "things that happened on the bus");
    assert_eq!(fast.service.log.last(), slow.service.log.last(), "what happened on the bus");
    if all {
        assert!(a.port.lines().eq(b.port.lines()), "lines in caches");
        assert_eq!(fast.service.log, slow.service.log);
        assert_eq!(fast.service.bus.statistics, slow.service.bus.statistics);
        assert_eq!(fast.service.device_stores, slow.service.device_stores);
        let bytes = |bench: &Bench| bench.memory.slice(0, MEMORY as usize).unwrap().to_vec();
        assert!(bytes(fast) == bytes(slow), "memory");
    }
}

/// Runs both benches to their ends; returns instructions executed.
fn lockstep(setup: &Setup, cuts: &mut Random) -> u64 {
    let (mut fast, mut slow) = (Bench::new(setup), Bench::new(setup));
    let style = cuts.below(4);
    let mut run = |hart: &mut Hart, _: LentBus<'_>, limit: u64| {
        let longest = [u64::MAX, 1, 20, 300][style as usize];
        let mut cut = || if style == 0 { limit } else { limit.min(hart.cycle + 1 + cuts.below(longest)) };
        let (a, b) = (cut(), cut());
        hart.run(a.min(b), a.max(b))
    };
    let mut step = |hart: &mut Hart, _: LentBus<'_>, _: u64| hart.step().unwrap_or(Halt::Deadline);
    for point in 1..POINTS_MAX {
        let (a, b) = (fast.advance(&mut run), slow.advance(&mut step));
        assert_eq!(a, b, "at {point}: pc {:#x} and {:#x}", fast.hart.state.pc, slow.hart.state.pc);
        compare(&mut fast, &mut slow, point.is_multiple_of(64) || a == Point::Idle);
        if a == Point::Idle {
            return fast.hart.statistics.instructions;
        }
    }
    panic!("no end after {POINTS_MAX} points at pc {:#x}", fast.hart.state.pc);
}

/// Advances a bench to its end.
fn finish(bench: &mut Bench, execute: &mut Execute<'_>) {
    for _ in 1..POINTS_MAX {
        if bench.advance(execute) == Point::Idle {
            return;
        }
    }
    panic!("no end after {POINTS_MAX} points at pc {:#x}", bench.hart.state.pc);
}

/// Runs two benches to their ends, one of which lends its hart the bus; returns fills that were done at
/// once.
fn lend(setup: &Setup) -> u64 {
    let (mut lending, mut keeping) = (Bench::new(setup), Bench::new(setup));
    keeping.hart.execute_by(execution(Executor::Threaded));
    lending.lends = true;
    finish(&mut lending, &mut |hart, lent, limit| hart.run_with_bus(&mut HaltAtMarks, Some(lent), limit));
    finish(&mut keeping, &mut |hart, _, limit| hart.run(limit, limit));
    // What was lent is not in the log of what happened.
    let happened = |bench: &Bench| bench.service.log.len() as u64;
    let fewer = happened(&keeping) - happened(&lending);
    lending.service.log.clear();
    keeping.service.log.clear();
    compare(&mut lending, &mut keeping, true);
    fewer / 3
}

#[test]
fn a_hart_with_the_bus_agrees_with_one_that_asks() {
    let mut seeds = Random::for_test(0x1e4d_0b05);
    let mut at_once = 0;
    for program in 0..share(PROGRAMS) {
        let mut random = Random::new(seeds.bits());
        let (_, mut setup) = setup(&mut random);
        // Others' caches would have to be asked.
        setup.sharing = 0;
        at_once += std::panic::catch_unwind(|| lend(&setup))
            .unwrap_or_else(|_| panic!("that was program {program}: {:?} {:?}", setup.port, setup.bus));
    }
    println!("{at_once} fills done at once");
    assert!(at_once > share(PROGRAMS), "hardly a fill was done at once: {at_once}");
}

/// What a program computes where nobody else is: registers, counted instructions and memory.
fn results(setup: &Setup, kind: PortKind) -> (State, [u64; 3], Vec<u8>) {
    let port = PortParameters { kind, l2: L2Parameters::default(), ..setup.port.clone() };
    let mut bench = Bench::new(&Setup { port, ..setup.clone() });
    finish(&mut bench, &mut |hart, _, limit| hart.run(limit, limit));
    bench.hart.port.drain_write_buffer();
    let s = &bench.hart.statistics;
    let counts = [s.instructions, s.loads, s.stores];
    (bench.hart.state.clone(), counts, bench.memory.slice(0, MEMORY as usize).unwrap().to_vec())
}

#[test]
fn ports_of_every_kind_compute_the_same() {
    let mut seeds = Random::for_test(0x9047_51de);
    for program in 0..share(PROGRAMS / 4) {
        let mut random = Random::new(seeds.bits());
        let (_, setup) = setup_of(&mut random, true);
        let [caches, scratchpad, cacheless] =
            [PortKind::Caches, PortKind::Scratchpad, PortKind::Cacheless].map(|kind| results(&setup, kind));
        assert!(caches == scratchpad, "program {program}: a scratchpad");
        assert!(caches == cacheless, "program {program}: no caches");
    }
}

#[test]
fn run_agrees_with_step() {
    let mut seeds = Random::for_test(0x10c5_7e9a);
    let (mut executed, mut failed) = (0, 0);
    let programs = share(PROGRAMS);
    for program in 0..programs {
        let mut random = Random::new(seeds.bits());
        let (_, setup) = setup(&mut random);
        match std::panic::catch_unwind(|| lockstep(&setup, &mut random.clone())) {
            Ok(instructions) => executed += instructions,
            Err(_) => {
                let Setup { port, timing, bus, .. } = setup;
                println!("that was program {program}: {port:?} {timing:?} {bus:?}");
                failed += 1;
            }
        }
    }
    println!("{programs} programs, {executed} instructions");
    assert_eq!(failed, 0, "programs failed");
}

//! A debugger looks at nodes while they run: that changes nothing, and it sees what it asked for.

use std::sync::Arc;

use crate::ahead::sharing;
use crate::guest::random::{assert_same, node, schedule};
use crate::guest::register::START;
use crate::guest::{
    A0, Action, DATA, DATA_REGISTER, Debugger, NI_REGISTER, Program, TEXT, TestNi, ZERO, configuration, run,
    run_debugged,
};
use crate::harts::{phases, untimed_calls};
use crate::mixed::mixed;
use crate::spin;
use chasqui_engine::Time;
use chasqui_hart::{Accesses, Executor, Op, Stopped, Stops, Watchpoint};
use chasqui_node::{NodeConfiguration, NodePartition, Thread, Why};
use chasqui_random::Random;

/// Where the code begins, behind an ELF file's headers.
const CODE: u64 = TEXT + 64 + 56;
/// Halts after which a debugger leaves.
const HALTS_MAX: usize = 200;

/// One that looks at everything, and has the harts stop here and there.
struct Curious {
    random: Random,
    /// Instructions of the program.
    length: usize,
    halts: Vec<(Thread, Why, u64)>,
    breakpoints: Vec<u64>,
    leaves: bool,
}

impl Curious {
    fn new(seed: u64, length: usize, leaves: bool) -> Curious {
        Curious { random: Random::new(seed), length, halts: vec![], breakpoints: vec![], leaves }
    }

    fn choose(&mut self, node: &mut NodePartition) {
        let random = &mut self.random;
        let mut breakpoints = vec![];
        for _ in 0..random.below(4) {
            breakpoints.push(CODE + 4 * random.below(self.length as u64));
        }
        let mut watchpoints = vec![];
        if random.once_in(3) {
            let first = DATA + 8 * random.below(0xe0);
            let of = random.pick(&[Accesses::Loads, Accesses::Stores, Accesses::All]);
            watchpoints.push(Watchpoint { first, last: first + random.below(256), of });
        }
        let stops = Arc::new(Stops::new(breakpoints.clone(), watchpoints));
        let threads = node.threads();
        let step = (random.once_in(3) && !threads.is_empty()).then(|| {
            let first = CODE + 4 * random.below(self.length as u64);
            (random.pick(&threads), first..first + 4 * random.below(8))
        });
        node.set_stops(&stops, None);
        node.set_step(step);
        self.breakpoints = breakpoints;
    }
}

impl Debugger for Curious {
    fn begins(&mut self, node: &mut NodePartition) {
        self.choose(node);
    }

    fn halts(&mut self, node: &mut NodePartition, thread: Thread, why: Why) -> bool {
        for seen in node.threads() {
            let state = node.registers(seen).expect("a thread has registers");
            let mut bytes = [0; 64];
            let anywhere = self.random.bits();
            let from = self.random.pick(&[TEXT, DATA, state.x[2] - 8, state.pc, anywhere]);
            node.read_memory(seen, from, &mut bytes);
        }
        let state = node.registers(thread).expect("it has halted");
        if why == Why::Stopped(Stopped::Breakpoint) {
            assert!(self.breakpoints.contains(&state.pc), "{:#x} is no breakpoint", state.pc);
        }
        self.halts.push((thread, why, state.pc));
        if self.random.once_in(4) {
            self.choose(node);
        }
        !(self.leaves && self.halts.len() > HALTS_MAX)
    }
}

/// A program, its schedule of events, how far the NI is away, and the node.
fn case(random: &mut Random) -> (String, Program, Vec<(Time, Action)>, Time, NodeConfiguration) {
    let kind = random.below(5);
    let count = if kind == 4 { 1 } else { 2 + random.below(3) as usize };
    let (c, what) = node(count, random);
    let mut schedule = schedule(12, Time(20_000_000), random, |random| {
        let place = 0x200 + 64 * random.below(8) as i64;
        if random.once_in(2) { Action::Read(place) } else { Action::Write(place, 7) }
    });
    let mut attach = Time(random.pick(&[0, 10_000, 1_000_000]));
    let program = match kind {
        0 => phases(count, random.once_in(2), random),
        1 => mixed(count, random),
        2 => sharing(count, random),
        3 => untimed_calls(count, random),
        _ => {
            let polled = random.pick(&[spin::Polled::Memory, spin::Polled::Register, spin::Polled::Both]);
            schedule = spin::schedule(polled, random);
            attach = spin::attach(random);
            spin::program(polled, spin::Extra::Nothing, random.below(12), random.once_in(2))
        }
    };
    (format!("kind {kind}, {what}"), program, schedule, attach, c)
}

/// On nodes of 1 to 4 harts, with loops that poll, calls that take no time and harts that would run ahead. What is seen does
/// not depend on how harts execute, either.
#[test]
fn looking_changes_nothing() {
    let mut random = Random::for_test(0xdeb6);
    let (mut halts, mut whys) = (0, [0; 3]);
    let rounds: u64 = std::env::var("CHASQUI_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    for round in 0..rounds {
        let seed = random.bits();
        let mut random = Random::new(seed);
        let (what, program, schedule, attach, mut c) = case(&mut random);
        let what = format!("round {round}, seed {seed:#x}: {what}");
        let ni = || TestNi::new(schedule.clone()).behind(attach);
        let alone = run(&c, &program, ni()).0;
        let (look, leaves) = (random.bits(), random.once_in(2));
        let mut seen = vec![];
        for executor in [Executor::Threaded, Executor::Translated, Executor::Reference] {
            (c.checks.executor, c.checks.translate_after) = (executor, 1);
            let mut debugger = Curious::new(look, program.here(), leaves);
            let looked_at = run_debugged(&c, &program, ni(), &mut debugger);
            assert_same(&alone, &looked_at, &format!("{what}, {executor:?}"));
            seen.push(debugger.halts);
        }
        for halts in &seen[..2] {
            let other = halts.iter().zip(&seen[2]).position(|(a, b)| a != b);
            let other = other.map(|place| (place, &halts[place], &seen[2][place]));
            assert!(*halts == seen[2], "{what}: it halts elsewhere: {other:?}");
        }
        halts += seen[0].len();
        for (_, why, _) in &seen[0] {
            let place = match why {
                Why::Stopped(Stopped::Breakpoint) => 0,
                Why::Stopped(Stopped::Step) => 1,
                _ => 2,
            };
            whys[place] += 1;
        }
    }
    println!("{halts} halts: {whys:?} at breakpoints, after steps and accesses");
    assert!(whys.iter().all(|&count| count > rounds as usize / 4), "{whys:?}");
}

/// Has the first hart stop at one place, and counts.
struct Counting {
    at: u64,
    halts: Vec<(u64, u64)>,
    register: usize,
}

impl Debugger for Counting {
    fn begins(&mut self, node: &mut NodePartition) {
        node.set_stops(&Arc::new(Stops::new(vec![self.at], vec![])), None);
    }

    fn halts(&mut self, node: &mut NodePartition, thread: Thread, why: Why) -> bool {
        assert_eq!(why, Why::Stopped(Stopped::Breakpoint));
        let state = node.registers(thread).expect("it has halted");
        self.halts.push((state.pc, state.x[self.register]));
        true
    }
}

/// A breakpoint is hit each time that its instruction is executed, within a block and at the head of a loop.
#[test]
fn a_breakpoint_is_hit_each_time() {
    let (left, sum) = (5, 6);
    let mut p = Program::new();
    p.add(left, ZERO, 300).add(sum, ZERO, 0);
    let head = p.here();
    p.add(sum, sum, 2).add(sum, sum, 1);
    let within = p.here();
    p.add(left, left, -1).branch(Op::Bne, left, ZERO, head).add(A0, sum, 0).exit();
    for executor in [Executor::Threaded, Executor::Translated, Executor::Reference] {
        let mut c = configuration();
        (c.checks.executor, c.checks.translate_after) = (executor, 1);
        let alone = run(&c, &p, TestNi::new(vec![])).0;
        for (place, first) in [(head, 0), (within, 3)] {
            let at = CODE + 4 * place as u64;
            let mut debugger = Counting { at, halts: vec![], register: usize::from(sum) };
            let looked_at = run_debugged(&c, &p, TestNi::new(vec![]), &mut debugger);
            let expected: Vec<_> = (0..300).map(|turn| (at, first + 3 * turn)).collect();
            assert_eq!(debugger.halts, expected, "{executor:?}");
            assert_same(&alone, &looked_at, &format!("{executor:?}"));
        }
    }
}

/// Asks for what can't be, at the first halt.
struct Wrong(Counting);

impl Debugger for Wrong {
    fn begins(&mut self, node: &mut NodePartition) {
        self.0.begins(node);
    }

    fn halts(&mut self, node: &mut NodePartition, thread: Thread, why: Why) -> bool {
        let state = node.registers(thread).expect("it has halted");
        let mut other = state.clone();
        for pc in [u64::MAX, u64::MAX - 1, 1 << 38] {
            other.pc = pc;
            assert!(!node.set_registers(thread, &other, Time::ZERO), "{pc:#x}");
        }
        other.pc = state.pc + 1;
        assert!(node.set_registers(thread, &other, Time::ZERO));
        assert_eq!(node.registers(thread).map(|state| state.pc), Some(state.pc));
        for number in [1, 8, usize::MAX] {
            let none = (thread.0, number);
            assert!(node.registers(none).is_none());
            assert!(!node.set_registers(none, &state, Time::ZERO));
            node.set_step(Some((none, 0..0)));
            node.set_stops(&Arc::new(Stops::new(vec![self.0.at], vec![])), Some((none, &Arc::default())));
            node.stand(none);
        }
        self.0.halts(node, thread, why)
    }
}

/// No program can be beyond the addresses that it can have, and no thread on a hart that its process does not have.
#[test]
fn what_can_not_be_is_refused() {
    let mut p = Program::new();
    p.add(5, ZERO, 2);
    let place = p.here();
    p.add(5, 5, 1).add(A0, 5, 0).exit();
    let at = CODE + 4 * place as u64;
    let mut debugger = Wrong(Counting { at, halts: vec![], register: 5 });
    run_debugged(&configuration(), &p, TestNi::new(vec![]), &mut debugger);
    assert_eq!(debugger.0.halts, [(at, 2)]);
}

/// Of a loop that is skipped each turn is executed where a hart may stop in it: as many as are counted.
#[test]
fn a_breakpoint_in_a_loop_that_polls_is_hit_in_each_turn() {
    let (value, flag) = (5, 6);
    let mut p = Program::new();
    p.add(flag, DATA_REGISTER, 0x200).store(ZERO, NI_REGISTER, START);
    let poll = p.here();
    p.pause().load(value, flag, 0).branch(Op::Beq, value, ZERO, poll).add(A0, ZERO, 3).exit();
    let c = configuration();
    let schedule = vec![(Time(3_000_000), Action::Write(0x200, 7))];
    let ni = || TestNi::new(schedule.clone());
    let alone = run(&c, &p, ni()).0;
    let mut debugger = Counting { at: CODE + 4 * (poll as u64 + 1), halts: vec![], register: 10 };
    let looked_at = run_debugged(&c, &p, ni(), &mut debugger);
    assert_same(&alone, &looked_at, "a loop");
    assert!(debugger.halts.len() > 100, "{}", debugger.halts.len());
}

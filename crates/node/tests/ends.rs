//! Faults that a device finds: of whom, and when.

use chasqui_engine::{Ended as EngineEnded, Engine, Lookahead, Threads, Time};
use chasqui_hart::Op;
use chasqui_node::{NodeConfiguration, NodePartition};
use chasqui_placement::{JobId, ProcessId};

use crate::guest::register::START;
use crate::guest::{
    A0, Action, DATA_REGISTER, NI_REGISTER, Program, TestNi, ZERO, configuration, two_processes,
};

/// `nanosleep` (Linux, arch/riscv).
const NANOSLEEP: i64 = 101;
const A1: u8 = 11;
/// The other processes of a job run on so long after one breaks.
const LATER: Time = Time(100_000_000);

/// What became of a process: when it ended by itself or by its fault, and when its job had it end.
type End = (Option<Time>, Option<Time>);

/// Runs two processes of a job beside other jobs, so that the run goes on when this one breaks. Also when the run was stopped
/// for that.
fn run_two_of_a_job(c: &NodeConfiguration, programs: [&Program; 2], ni: TestNi) -> (Vec<End>, Vec<Time>) {
    let mut engine = Engine::new(Lookahead::new(vec![vec![Time::NEVER]]));
    engine.set_end(Time(1_000_000_000_000));
    engine.add(0, Box::new(two_processes(c, programs, ni)));
    let mut stops = vec![];
    while let EngineEnded::Stopped(at) = engine.run(Threads::Exactly(1), &mut |_| true) {
        stops.push(at);
        assert!(engine.spread(at), "it goes on");
    }
    let node = engine.partitions().pop().expect("the node").into_any().downcast::<NodePartition>();
    let node = node.expect("a node");
    let ends = node.processes(JobId(0)).map(|p| (p.ended().map(|&(at, _)| at), p.closed())).collect();
    (ends, stops)
}

fn two_harts() -> NodeConfiguration {
    let mut c = configuration();
    c.node.harts = 2;
    c
}

/// Has the NI begin its schedule.
fn endless() -> Program {
    let mut p = Program::new();
    p.fence().store(ZERO, NI_REGISTER, START);
    let again = p.here();
    p.add(A0, A0, 1).branch(Op::Beq, ZERO, ZERO, again);
    p
}

/// Sleeps for a second.
fn sleeps() -> Program {
    let mut p = Program::new();
    p.add(A0, ZERO, 1).store(A0, DATA_REGISTER, 0).store(ZERO, DATA_REGISTER, 8);
    p.add(A0, DATA_REGISTER, 0).add(A1, ZERO, 0).call(NANOSLEEP).add(A0, ZERO, 0).exit();
    p
}

/// Before, it stopped the run at the time of its last instruction, which others had left behind: results depended on how far.
#[test]
fn a_process_that_its_job_has_ended_has_no_fault() {
    let (first, second) = (Time(1_000_000), LATER + Time(70_000_000));
    let found = vec![(first, Action::Fault(ProcessId(0))), (second, Action::Fault(ProcessId(1)))];
    let (ends, stops) = run_two_of_a_job(&two_harts(), [&endless(), &sleeps()], TestNi::new(found));
    assert_eq!(stops.len(), 1, "{stops:?}");
    let [(Some(broke), None), (None, Some(closed))] = ends[..] else { panic!("{ends:?}") };
    assert!((first..first + Time(3_000_000)).contains(&broke), "{broke}");
    assert_eq!((stops[0], closed), (broke + LATER, broke + LATER));
}

/// Before, it had ended when its hart fell asleep.
#[test]
fn a_fault_of_who_sleeps_is_when_it_is_found() {
    let first = Time(150_000_000);
    let found = vec![(first, Action::Fault(ProcessId(1)))];
    let (ends, stops) = run_two_of_a_job(&two_harts(), [&endless(), &sleeps()], TestNi::new(found));
    let [(None, Some(closed)), (Some(broke), None)] = ends[..] else { panic!("{ends:?}") };
    assert!((first..first + Time(3_000_000)).contains(&broke), "{broke}");
    assert_eq!((stops[0], closed), (broke + LATER, broke + LATER));
}

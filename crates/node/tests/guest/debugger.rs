//! A node under a debugger.

use chasqui_engine::{Engine, Lookahead, Threads, Time};
use chasqui_node::{NodeConfiguration, NodePartition, Thread, Why};
use chasqui_placement::JobId;
use chasqui_watch::WatchPlan;

use super::{EngineEnded, Outcome, Program, TestNi, left, spec};

/// Looks at a node while it runs.
pub trait Debugger {
    /// Before the first instruction.
    fn begins(&mut self, node: &mut NodePartition);
    /// The node has halted. False: the debugger leaves.
    fn halts(&mut self, node: &mut NodePartition, thread: Thread, why: Why) -> bool;
}

/// As [`run`], under a debugger.
pub fn run_debugged(
    c: &NodeConfiguration,
    program: &Program,
    ni: TestNi,
    debugger: &mut dyn Debugger,
) -> Outcome {
    let record = ni.record.clone();
    let mut engine = Engine::new(Lookahead::new(vec![vec![Time::NEVER]]));
    let mut node = NodePartition::new(spec(c, program, ni, WatchPlan::default()));
    assert!(node.begin_debug(JobId(0), &(0..1), engine.interrupt()));
    debugger.begins(&mut node);
    let id = engine.add(0, Box::new(node));
    loop {
        engine.interrupt().withdraw();
        let ended = engine.run(Threads::Exactly(1), &mut |_| true);
        let partition = engine.partition_mut(id).as_any().expect("a node");
        let node: &mut NodePartition = partition.downcast_mut().expect("a node");
        let Some((thread, why)) = node.halted() else {
            assert_ne!(ended, EngineEnded::Interrupted);
            break;
        };
        if !debugger.halts(node, thread, why) {
            node.end_debug();
        }
        node.go_on_from_halt();
    }
    let node = engine.partitions().swap_remove(0).into_any().downcast::<NodePartition>().expect("a node");
    left(node, &record).0
}

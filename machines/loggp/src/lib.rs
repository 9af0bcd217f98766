//! The reference machine: its network interface *is* L, o, g, G (Alexandrov, Ionescu, Schauser and
//! Scheiman, *LogGP: Incorporating Long Messages into the LogP Model*, SPAA 1995).
//!
//! It is what other tools assume. MPI calls take no processor time but o for each message sent or
//! received; there is no rendezvous and no limit on messages under way. Measuring it must give its
//! parameters back exactly.

mod ni;
mod peers;
pub mod registers;

use chasqui_config::{Count, Duration, Resolved, Schema};
use chasqui_engine::{Engine, Lookahead, Time};
use chasqui_machine::{Built, Job, Machine, NodePlan, Workload, build_node};
use chasqui_node::{NodeConfiguration, NodePartition};
use chasqui_placement::NodeId;

use ni::LoggpNi;

chasqui_config::parameters! {
    /// The model's parameters, under the names of the paper.
    pub struct Loggp {
        /// L: from the injection of a message's first byte to its arrival.
        latency: Duration = "5 us", range "1 ps" ..= "1 s", source "ours";
        /// o of a send: time for which the processor is busy with it.
        overhead_send: Duration = "1 us", range "0 ns" ..= "1 s", source "ours";
        /// o of a receive.
        overhead_receive: Duration = "1 us", range "0 ns" ..= "1 s", source "ours";
        /// g: least interval between the end of one message and the start of the next, apart for sends and for
        /// receives.
        gap: Duration = "2 us", range "0 ns" ..= "1 s", source "ours";
        /// G: time of each byte after the first.
        gap_per_byte: Duration = "1 ns", range "0 ns" ..= "1 ms", source "ours";
        /// Nodes.
        nodes: Count = 65536, range 1 ..= 65536, source "the width of a rank in an envelope";
    }
}

/// The machine.
pub struct LoggpMachine;

impl Machine for LoggpMachine {
    fn name(&self) -> &'static str {
        "loggp"
    }

    fn file(&self) -> &'static str {
        include_str!("../machine.toml")
    }

    fn schema(&self) -> Schema {
        Schema::new().with::<Loggp>("loggp").with_part("", chasqui_node::schema())
    }

    fn mistakes(&self, resolved: &Resolved) -> Vec<String> {
        let node = NodeConfiguration::read(resolved);
        let mut found = node.mistakes();
        if node.software.kernel {
            found.push(
                "node.software.kernel: on loggp MPI calls take no time, a kernel's interrupts would".into(),
            );
        }
        found
    }

    fn nodes_max(&self, resolved: &Resolved) -> u32 {
        resolved.read::<Loggp>("loggp").nodes as u32
    }

    fn ranks_per_node_max(&self, _: &Resolved) -> u32 {
        ni::PROCESSES_MAX
    }

    /// It has neither rings nor buffers.
    fn warm_up(&self, _: &Resolved, _: u64) -> u64 {
        1
    }

    fn replays(&self, _: &Resolved) -> Result<(), String> {
        Ok(())
    }

    fn build(&self, resolved: &Resolved, work: &Workload, _: usize) -> Result<Built, String> {
        if let Some(Job { replay: Some(replay), .. }) = work.alone() {
            return peers::build_alone(resolved, work, replay);
        }
        let configuration = NodeConfiguration::read(resolved);
        let loggp: Loggp = resolved.read("loggp");
        let mut engine = Engine::new(Lookahead::new(vec![vec![Time(loggp.latency.ps())]]));
        let mut nodes = Vec::new();
        for number in (0..work.placement.nodes()).map(NodeId) {
            // Each node has its own ports and one more, for what it sends.
            let first_port = number.0 * (NodePartition::PORTS + 1);
            let node = build_node(
                NodePlan {
                    configuration: &configuration,
                    number,
                    ni: Box::new(LoggpNi::new(
                        &loggp,
                        number,
                        &work.placement,
                        first_port + NodePartition::PORTS,
                    )),
                    ni_memory_bytes: 0,
                    free_calls: true,
                    first_port,
                },
                work,
            )?;
            nodes.push(engine.add(0, Box::new(node)));
        }
        Ok(Built { engine, nodes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_right() {
        assert_eq!(LoggpMachine.schema().mistakes(), Vec::<String>::new());
    }

    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/registers.h");
        chasqui_abi::header::check(path, &registers::HEADER.text());
    }
}

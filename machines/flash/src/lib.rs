//! FLASH: nodes of a processor, a cache, a memory and a directory controller each, which share one cache-coherent address
//! space (Woo, Singh and Hennessy, *The Performance Advantages of Integrating Message Passing in Cache-Coherent
//! Multiprocessors*, Stanford).
//!
//! The protocol, its controllers and the mesh are `crates/directory`. Here: how many nodes there are, where pages are placed,
//! what is refused; `ni.rs` is the page by which MPI finds the machine.

mod ni;
pub mod registers;

use chasqui_config::{Bytes, Count, Resolved, Schema};
use chasqui_directory::{DirectoryParameters, DirectorySystem};
use chasqui_engine::{Engine, Lookahead, Time};
use chasqui_linux::Policy;
use chasqui_machine::{Built, DomainPlan, Machine, NodePlan, Workload, build_domain_on, shared_bytes};
use chasqui_node::NodeConfiguration;
use chasqui_placement::NodeId;

use ni::FlashNi;

/// Nodes that a directory entry has bits for.
const NODES_MAX: u64 = 64;

chasqui_config::choice! {
    /// Which node a page is taken from where the program does not say.
    pub enum Placing {
        /// That of the processor which touches it first.
        FirstTouch = "first-touch",
        /// All in turn, by the page's address.
        RoundRobin = "round-robin",
    }
}

chasqui_config::choice! {
    /// What carries the protocol out.
    pub enum Carrier {
        /// The controllers' tables, with fixed times.
        Table = "table",
    }
}

chasqui_config::choice! {
    /// What moves long messages between ranks, those that wait for their receive.
    pub enum Messages {
        /// Processors, by loads and stores in memory that ranks share.
        LoadStore = "load-store",
        /// Controllers, from buffer to buffer.
        BlockTransfer = "block-transfer",
    }
}

chasqui_config::parameters! {
    /// The machine as a whole.
    pub struct FlashUnit {
        /// Nodes, each with one processor. A process has a thread a processor at most; of several ranks each has as many
        /// processors as the others.
        nodes: Count = 16, range 1 ..= 64, source "assumption: the document has 1 to 64";
        /// What carries the protocol out.
        engine: Carrier = "table", source "the simulator of the document has fixed times";
        /// What moves long messages of MPI. Shorter ones go by loads and stores.
        mpi: Messages = "load-store", source "ours";
        /// Which node pages come from where the program does not say (`mbind`, `set_mempolicy`).
        placing: Placing = "first-touch", source "assumption: as Linux does it";
    }
}

/// The machine: one coherence domain.
pub struct FlashMachine;

/// Everything that it is made of.
struct Parts {
    node: NodeConfiguration,
    unit: FlashUnit,
    directory: DirectoryParameters,
}

impl Parts {
    fn read(resolved: &Resolved) -> Parts {
        Parts {
            node: NodeConfiguration::read(resolved),
            unit: resolved.read("flash"),
            directory: DirectoryParameters::read(resolved, "flash"),
        }
    }

    /// Main memory of each node [bytes], whole pages.
    fn memory_bytes(&self) -> u64 {
        self.node.dram.size.bytes()
    }

    /// Parameters of a node that this machine has no use for.
    fn refusals(&self) -> Vec<String> {
        let node = &self.node;
        let mut found = vec![];
        if node.node.harts != 1 {
            let nodes = self.unit.nodes;
            found.push(format!(
                "node.harts is {}: a node of flash has one processor, 1 is allowed; flash.nodes, which is {nodes}, says how \
                 many processors there are",
                node.node.harts
            ));
        }
        if node.l2.present {
            found.push("node.l2.present: a node of flash has one level of cache; false is allowed".into());
        }
        if node.network_cache.present {
            found.push("node.network_cache.present: flash has no network cache; false is allowed".into());
        }
        if node.software.kernel {
            found.push("node.software.kernel: flash has no kernel image; false is allowed".into());
        }
        if node.core.handler_contexts > 0 {
            found
                .push("node.core.handler_contexts: flash has no device that interrupts; 0 is allowed".into());
        }
        if !self.memory_bytes().is_multiple_of(Self::PAGE) {
            found.push(format!("node.dram.size: {} is not a multiple of 4 KiB", node.dram.size));
        }
        let (each, nodes) = (self.memory_bytes(), self.unit.nodes);
        if each > Self::MEMORY_MAX / nodes {
            let most = Bytes::from_bytes(Self::MEMORY_MAX / nodes);
            found.push(format!(
                "node.dram.size: {nodes} nodes (flash.nodes) have 64 GiB together at most: up to {most} each is allowed"
            ));
        }
        found
    }

    const PAGE: u64 = 4096;
    /// Main memory of all nodes [bytes]: as much as a node of another machine may have.
    const MEMORY_MAX: u64 = 64 << 30;
}

impl Machine for FlashMachine {
    fn name(&self) -> &'static str {
        "flash"
    }

    fn file(&self) -> &'static str {
        include_str!("../machine.toml")
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .with::<FlashUnit>("flash")
            .with_part("", chasqui_directory::schema("flash"))
            .with_part("", chasqui_node::schema())
    }

    fn mistakes(&self, resolved: &Resolved) -> Vec<String> {
        let parts = Parts::read(resolved);
        let mut found = parts.node.mistakes();
        found.extend(parts.refusals());
        found.extend(parts.directory.mistakes("flash", parts.unit.nodes));
        if parts.unit.mpi == Messages::BlockTransfer && !parts.directory.transfer.coherent {
            found.push(
                "flash.transfer.coherent is false: threads of a rank may have copies of what flash.mpi=block-transfer moves; \
                 true is allowed"
                    .into(),
            );
        }
        if shared_bytes(resolved, 2) == 0 {
            found.push(
                "mpi.local.channel: ranks exchange messages by memory that they share; memory is allowed"
                    .into(),
            );
        }
        found
    }

    fn mechanisms(&self) -> &'static [&'static str] {
        &["block-transfer"]
    }

    /// To MPI the coherence domain is one node, whose processes share memory.
    fn nodes_max(&self, _: &Resolved) -> u32 {
        1
    }

    /// Each rank has a processor at least.
    fn ranks_per_node_max(&self, resolved: &Resolved) -> u32 {
        Parts::read(resolved).unit.nodes as u32
    }

    fn ranks_per_node(&self, resolved: &Resolved, ranks: i64) -> u32 {
        ranks.clamp(1, self.ranks_per_node_max(resolved).into()) as u32
    }

    /// Processors that wait for each other's stores would wait for ever.
    fn fast_forwards(&self) -> Result<(), String> {
        Err("--fast-forward: processors of flash wait for each other's stores, which they would not see without time".into())
    }

    fn harts_parameter(&self) -> &'static str {
        "flash.nodes"
    }

    /// Each process has as many as the others; what does not divide stays idle.
    fn harts(&self, resolved: &Resolved, processes: usize) -> usize {
        let nodes = Parts::read(resolved).unit.nodes as usize;
        if processes > nodes { nodes } else { nodes / processes * processes }
    }

    /// A ring of eight cells (guest/local).
    fn warm_up(&self, _: &Resolved, _: u64) -> u64 {
        8
    }

    fn build(&self, resolved: &Resolved, work: &Workload, _: usize) -> Result<Built, String> {
        let Parts { node: mut configuration, unit, directory } = Parts::read(resolved);
        let memory_bytes = configuration.dram.size.bytes();
        let nodes = unit.nodes as usize;
        debug_assert!(unit.nodes <= NODES_MAX);
        let system = Box::new(DirectorySystem::new(&configuration, &directory, nodes).with_registers());
        // Of all nodes together.
        configuration.node.harts = unit.nodes;
        configuration.dram.size = Bytes::from_bytes(memory_bytes * unit.nodes);
        let domain = DomainPlan {
            nodes,
            memory_bytes,
            policy: match unit.placing {
                Placing::FirstTouch => Policy::Default,
                Placing::RoundRobin => Policy::Interleave((u64::MAX >> (NODES_MAX - unit.nodes)).into()),
            },
        };
        let plan = NodePlan {
            configuration: &configuration,
            number: NodeId(0),
            ni: Box::new(FlashNi {
                device: match unit.mpi {
                    Messages::LoadStore => registers::DEVICE,
                    Messages::BlockTransfer => registers::TRANSFER_DEVICE,
                },
            }),
            ni_memory_bytes: 0,
            free_calls: false,
            first_port: 0,
        };
        let mut engine = Engine::new(Lookahead::new(vec![vec![Time::NEVER]]));
        let partition = build_domain_on(plan, work, system, domain)?;
        let nodes = vec![engine.add(0, Box::new(partition))];
        Ok(Built { engine, nodes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_right() {
        assert_eq!(FlashMachine.schema().mistakes(), Vec::<String>::new());
    }

    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/registers.h");
        chasqui_abi::header::check(path, &registers::HEADER.text());
    }
}

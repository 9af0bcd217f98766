//! Cell: a host core with caches, and cores with local stores, each with an engine for DMA, on one interconnect
//! (Khunjush, dissertation, chapter 8).
//!
//! Reading order: `registers.rs`, `parameters.rs`, `chip.rs` (the SPEs, as a device of the node), `fabric.rs` (the
//! interconnect, as its memory system), `wire.rs` (what both know), then the software: `kernel`, `library`, `spe`.

mod chip;
mod fabric;
mod parameters;
mod rank;
pub mod registers;
mod wire;

use std::sync::Arc;

use chasqui_config::{Resolved, Schema};
use chasqui_element::{CoreMap, Cores, EibParameters, Element, ElementParameters, LocalStore, TableSearch};
use chasqui_engine::{Engine, Lookahead, Time};
use chasqui_hart::CoreParameters;
use chasqui_linux::Elf;
use chasqui_machine::{Built, Job, Machine, NodePlan, Workload, build_node_on};
use chasqui_memory::{DEVICE_BASE, L2Parameters, PortKind, PortParameters};
use chasqui_ni::{FirmwareProcessor, ProcessorSpec};
use chasqui_node::NodeConfiguration;
use chasqui_placement::{JobId, NodeId, Rank};

use chip::{ChipPlan, Spes};
use fabric::Fabric;
use parameters::{Chip, ChipUnit, MpiUnit, SPES_MAX};
use wire::Wire;

/// What the SPEs are called.
const NAMES: [&str; SPES_MAX] = ["spe0", "spe1", "spe2", "spe3", "spe4", "spe5", "spe6", "spe7"];

/// A machine of this kind: one chip, one node.
pub struct CellMachine {
    name: &'static str,
    file: &'static str,
}

/// Cell.
pub const CELL: CellMachine = CellMachine { name: "cell", file: include_str!("../machine.toml") };

/// The same organisation with values of today.
pub const CELL_MODERN: CellMachine =
    CellMachine { name: "cell-modern", file: include_str!("../modern.toml") };

impl Machine for CellMachine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn folder(&self) -> &'static str {
        CELL.name
    }

    fn file(&self) -> &'static str {
        self.file
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .with::<ChipUnit>("cell.chip")
            .with::<CoreParameters>("cell.spe")
            .with::<ElementParameters>("cell.element")
            .with::<EibParameters>("cell.eib")
            .with::<MpiUnit>("cell.mpi")
            .with_part("", chasqui_node::schema())
    }

    fn mistakes(&self, resolved: &Resolved) -> Vec<String> {
        let node = NodeConfiguration::read(resolved);
        let mut found = node.mistakes();
        found.extend(Chip::read(resolved).mistakes(&node));
        if chasqui_machine::shared_bytes(resolved, 2) > 0 {
            found.push("mpi.local.channel: ranks on SPEs share no memory; ni is allowed".into());
        }
        found
    }

    fn nodes_max(&self, _: &Resolved) -> u32 {
        1
    }

    /// Each rank has an SPE.
    fn ranks_per_node_max(&self, resolved: &Resolved) -> u32 {
        Chip::read(resolved).spes() as u32
    }

    /// There is one node.
    fn ranks_per_node(&self, resolved: &Resolved, ranks: i64) -> u32 {
        ranks.clamp(1, self.ranks_per_node_max(resolved).into()) as u32
    }

    /// The PPE alone would be without time, and what it waits for of an SPE would not come.
    fn fast_forwards(&self) -> Result<(), String> {
        Err("--fast-forward: programs of SPEs can execute nothing without time".into())
    }

    fn hidden_from_debuggers(&self) -> Option<&'static str> {
        Some(
            "programs of SPEs, the ranks of MPI programs among them, are not seen; the debugger sees the PPE's",
        )
    }

    /// Ranks are on SPEs.
    fn profiles_beside_harts(&self) -> bool {
        true
    }

    /// They wait for a signal.
    fn waits_by_polling(&self, _: &Resolved, _: usize) -> bool {
        false
    }

    fn mechanisms(&self) -> &'static [&'static str] {
        &["slot", "put", "mailbox", "get", "main-memory"]
    }

    fn kernel_image(&self, resolved: &Resolved) -> Option<&'static str> {
        (!Chip::read(resolved).mpi.is_plain()).then_some("ways")
    }

    /// A ring of slots, and of copies.
    fn warm_up(&self, _: &Resolved, _: u64) -> u64 {
        4
    }

    fn build(&self, resolved: &Resolved, work: &Workload, _: usize) -> Result<Built, String> {
        let configuration = NodeConfiguration::read(resolved);
        let chip = Chip::read(resolved);
        let profiled = work.jobs[0].watch.profile;
        let programs = work.alone().filter(|_| profiled).map(|job| programs(work, job)).unwrap_or_default();
        let map = CoreMap::new(DEVICE_BASE, chip.element.store.bytes(), chip.spes());
        let messages_bytes = chip.mpi.memory_bytes(chip.spes());
        let wire = Wire::new(map, chip.spes(), configuration.dram.size.bytes() + messages_bytes);
        let spes = spes(&configuration, &chip, wire.clone(), profiled.then_some(programs))?;
        let system = Box::new(Fabric::new(&configuration, &chip, wire));
        let plan = NodePlan {
            configuration: &configuration,
            number: NodeId(0),
            ni: Box::new(spes),
            ni_memory_bytes: messages_bytes,
            free_calls: false,
            first_port: 0,
        };
        let mut engine = Engine::new(Lookahead::new(vec![vec![Time::NEVER]]));
        let quiet = unwatched(work, configuration.harts());
        let node = build_node_on(plan, quiet.as_ref().unwrap_or(work), system)?;
        let nodes = vec![engine.add(0, Box::new(node))];
        Ok(Built { engine, nodes })
    }
}

/// The same, where processes share harts and cycles are counted: not those of the harts, of which it is not known whose they are.
fn unwatched(work: &Workload, harts: usize) -> Option<Workload> {
    let watched = work.jobs.iter().any(|job| job.watch.profile);
    let is_shared = work.placement.processes() as usize > harts;
    (watched && is_shared).then(|| {
        let mut jobs = work.jobs.clone();
        jobs.iter_mut().for_each(|job| job.watch.profile = false);
        Workload { jobs, placement: work.placement.clone(), shared_bytes: work.shared_bytes }
    })
}

/// The programs of a job on one node, by their processes' numbers.
fn programs(work: &Workload, job: &Job) -> Vec<Arc<Elf>> {
    let ranks = work.placement.ranks(JobId(0));
    (0..ranks).map(|rank| job.program(Rank(rank)).elf.clone()).collect()
}

/// The SPEs of a chip; their cycles are counted if there are programs, of the node's processes, which name what ranks execute.
///
/// # Errors
/// The host has no memory for the local stores.
fn spes(
    node: &NodeConfiguration,
    chip: &Chip,
    wire: Wire,
    profiled: Option<Vec<Arc<Elf>>>,
) -> Result<Spes, String> {
    let store_bytes = chip.element.store.bytes();
    let port = PortParameters { l2: L2Parameters::default(), ..node.port(PortKind::Scratchpad) };
    let processor = |name: &&'static str| {
        let spec = ProcessorSpec {
            name,
            image: (),
            port: port.clone(),
            timing: chip.spe.timing(),
            clock: chip.spe.clock(),
            timebase_hz: chip.element.timebase.hz(),
            execution: node.checks.execution(),
            profiled: profiled.as_ref().map(|_| 0),
            keeps_marks: false,
        };
        Ok(FirmwareProcessor::stopped(spec, LocalStore::new(store_bytes, chip.snoop())?))
    };
    let processors = NAMES[..chip.spes()].iter().map(processor).collect::<Result<Vec<_>, String>>()?;
    let elements = processors.iter().map(|_| Element::new(&chip.element)).collect();
    Ok(Spes::new(ChipPlan {
        cores: Cores { map: wire.map, elements },
        processors,
        wire,
        register: Time(chip.unit.register.ps()),
        channel: Time(chip.unit.channel.ps()),
        store_bytes,
        clock: chip.eib.clock().edge(1),
        soft_tlb: chip.element.mfc.translation == TableSearch::Kernel,
        mpi: chip.mpi.clone(),
        programs: profiled.unwrap_or_default(),
        messages: node.dram.size.bytes(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_right() {
        assert_eq!(CELL.schema().mistakes(), Vec::<String>::new());
    }

    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/registers.h");
        chasqui_abi::header::check(path, &registers::HEADER.text());
    }
}

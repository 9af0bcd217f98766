//! StarT-Voyager (Ang, Chiou, Rosenband, Ehrlich, Rudolph, Arvind, *StarT-Voyager: A Flexible Platform
//! for Exploring Scalable SMP Issues* and CSG Memo 394, MIT, 1996): a network interface, the NES, on the
//! memory bus of a PowerPC 604 node, and the Arctic fat tree.
//!
//! Here are its mechanisms: Basic, in both variants, Express, Tag-On, OnePoll, and DMA for long messages; and the
//! service processor, which serves the queues that the hardware has no room for.
//!
//! Reading order: `registers.rs`, `nes/mod.rs`, `nes/queues.rs`, `nes/transmit.rs`, `nes/receive.rs`,
//! `nes/express.rs`, `nes/inbox.rs`, `nes/tags.rs`, `nes/dma.rs`, `nes/pointers.rs`, `nes/service.rs`,
//! `nes/accesses.rs`, `nes/missed.rs`, `nes/turns.rs`, `nes/command.rs`, `nes/drain.rs`,
//! `firmware/firmware.h`, then `device.c`.

mod nes;
pub mod parameters;
pub mod registers;
pub mod service_registers;

use chasqui_config::{Resolved, Schema};
use chasqui_machine::{
    Built, Job, Machine, OnNetwork, Workload, build_on_network, ni_memory_base, wait_polls,
};
use chasqui_memory::{L2Parameters, PortKind, PortParameters};
use chasqui_network::{NetworkParameters, VirtualNetworks};
use chasqui_ni::{FirmwareProcessor, FirmwareSpec, NetworkInterface, PrivateMemory};
use chasqui_node::NodeConfiguration;

use nes::{Nes, NesPlan};
use parameters::{Basic, Dma, Express, Mpi, Queues, Service, Sharing};

/// A machine with an NES at each node.
pub struct VoyagerMachine {
    name: &'static str,
    file: &'static str,
}

/// StarT-Voyager.
pub const VOYAGER: VoyagerMachine = VoyagerMachine { name: "voyager", file: include_str!("../machine.toml") };

/// The same mechanisms on a node of today.
pub const VOYAGER_MODERN: VoyagerMachine =
    VoyagerMachine { name: "voyager-modern", file: include_str!("../modern.toml") };

/// Arctic's priorities (memo, section 3): the higher goes first.
pub(crate) const PRIORITIES: usize = 2;
const NETWORKS: VirtualNetworks = VirtualNetworks::by_priority(PRIORITIES as u8);

/// Processes of a node: each has two queues of Express and one of Basic at least.
const PROCESSES_MAX: u64 = registers::QUEUES / (registers::EXPRESS_QUEUES + 1);

impl Machine for VoyagerMachine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn folder(&self) -> &'static str {
        VOYAGER.name
    }

    fn file(&self) -> &'static str {
        self.file
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .with::<parameters::Nes>("voyager.nes")
            .with::<Basic>("voyager.basic")
            .with::<Express>("voyager.express")
            .with::<Dma>("voyager.dma")
            .with::<Mpi>("voyager.mpi")
            .with::<Queues>("voyager.queues")
            .with::<Service>("voyager.sp")
            .with::<NetworkParameters>("network")
            .with_part("", chasqui_node::schema())
    }

    fn mistakes(&self, resolved: &Resolved) -> Vec<String> {
        let node = NodeConfiguration::read(resolved);
        let network: NetworkParameters = resolved.read("network");
        let nes: parameters::Nes = resolved.read("voyager.nes");
        let mut found = node.mistakes();
        found.extend(resolved.read::<Basic>("voyager.basic").mistakes(&resolved.read("voyager.mpi")));
        found.extend(resolved.read::<Express>("voyager.express").mistakes(&resolved.read("voyager.mpi")));
        found.extend(resolved.read::<Queues>("voyager.queues").mistakes(&resolved.read("voyager.sp"), 1));
        found.extend(network.mistakes(resolved, self.copes_with(resolved)));
        let dma: Dma = resolved.read("voyager.dma");
        let data = registers::SLOT_DATA_BYTES.max(dma.packet_data.bytes() + size_of::<u64>() as u64);
        let longest = data + nes.packet_overhead.bytes();
        if network.packet_max.bytes() < longest {
            found.push(format!("network.packet_max: at least {longest} B are needed"));
        }
        if node.longest_line().bytes() > size_of::<registers::VoyagerDma>() as u64 {
            found.push(
                "node.l1d.line, node.l2.line: a DMA request of 64 bytes must be whole lines: 16, 32 or 64 bytes"
                    .into(),
            );
        }
        found
    }

    fn mechanisms(&self) -> &'static [&'static str] {
        nes::Mechanism::NAMES
    }

    fn nodes_max(&self, resolved: &Resolved) -> u32 {
        resolved.read::<parameters::Nes>("voyager.nes").sites as u32
    }

    /// Each message takes a slot at least of the rings of its mechanism; a long one also of those that the packets of its
    /// rendezvous go by.
    fn warm_up(&self, resolved: &Resolved, _: u64) -> u64 {
        let express: Express = resolved.read("voyager.express");
        let basic: Basic = resolved.read("voyager.basic");
        let dma: Dma = resolved.read("voyager.dma");
        basic.slots.max(express.slots).max(express.tags).max(dma.requests)
    }

    fn ranks_per_node_max(&self, _: &Resolved) -> u32 {
        PROCESSES_MAX as u32
    }

    fn jobs_max(&self) -> usize {
        PROCESSES_MAX as usize
    }

    /// A turn is one job's on all nodes where queues are drained: nobody can use a hart that is given up.
    fn waits_by_polling(&self, resolved: &Resolved, jobs: usize) -> bool {
        jobs == 1 || resolved.read::<Queues>("voyager.queues").sharing != Sharing::Drained
    }

    fn build(&self, resolved: &Resolved, work: &Workload, threads: usize) -> Result<Built, String> {
        let queues: Queues = resolved.read("voyager.queues");
        let (jobs, placement) = (&work.jobs, &work.placement);
        if let Some(mistake) = queues.mistakes(&resolved.read("voyager.sp"), placement.processes().into()) {
            return Err(mistake);
        }
        let service: Service = resolved.read("voyager.sp");
        if jobs.len() > 1
            && let Some(mistake) =
                service.mistakes_of_shares(&resolved.read("voyager.express"), placement.processes().into())
        {
            return Err(mistake);
        }
        let sources = 1 << registers::EXPRESS_SOURCE_BITS;
        if placement.ranks_max() > sources {
            return Err(format!(
                "{} ranks: a message names its source by {} bits; {sources} ranks are allowed",
                placement.ranks_max(),
                registers::EXPRESS_SOURCE_BITS
            ));
        }
        if queues.sharing == Sharing::Drained
            && let Some(mistake) = mistake_of_turns(resolved, jobs.len(), placement.per_node())
        {
            return Err(mistake);
        }
        let nes: parameters::Nes = resolved.read("voyager.nes");
        build_on_network(
            resolved,
            work,
            OnNetwork {
                networks: NETWORKS,
                packet_bytes_min: nes.packet_overhead.bytes() as u32,
                copes_with: self.copes_with(resolved),
            },
            threads,
            |configuration, port| {
                let processor =
                    service_processor(&resolved.read("voyager.sp"), configuration, &jobs[0], port.node())?;
                let base = ni_memory_base(configuration);
                let nes = Nes::new(NesPlan::read(resolved, placement, base, port, processor))?;
                Ok((nes.memory_bytes(), Box::new(nes) as Box<dyn NetworkInterface>))
            },
        )
    }
}

/// The service processor of site `number`: of the node's kind, without a second-level cache (section 3).
///
/// # Errors
/// There is no firmware for it, or that does not fit.
fn service_processor(
    service: &Service,
    node: &NodeConfiguration,
    job: &Job,
    number: u32,
) -> Result<Option<FirmwareProcessor>, String> {
    if !service.present {
        return Ok(None);
    }
    let image = job.firmware.only().ok_or("voyager: the firmware of its service processor is missing")?;
    let port =
        PortParameters { l2: L2Parameters::default(), check_coherence: false, ..node.port(PortKind::Caches) };
    let spec = FirmwareSpec {
        name: "service processor",
        image,
        port,
        timing: node.timing(),
        clock: node.clock(),
        timebase_hz: node.core.timebase.hz(),
        execution: node.checks.execution(),
        profiled: job.watch.profile.then_some(number),
        keeps_marks: false,
    };
    let memory = PrivateMemory::new(service.dram.bytes(), node.bus.clone(), node.dram.clone())?;
    FirmwareProcessor::new(spec, memory).map(Some)
}

/// Why so many jobs, or ranks of a node, can't have the queues in turns.
fn mistake_of_turns(resolved: &Resolved, jobs: usize, ranks_per_node: u32) -> Option<String> {
    let what = "voyager.queues.sharing = drained";
    if ranks_per_node > 1 {
        return Some(format!(
            "--ranks-per-node {ranks_per_node} with {what}: the queues are one process's at a time; each process having \
             its own (own) is allowed"
        ));
    }
    if jobs == 1 {
        return None;
    }
    let node = NodeConfiguration::read(resolved);
    if node.software.kernel {
        return Some(format!(
            "node.software.kernel with {jobs} jobs and {what}: turns are the same on all nodes, and a kernel knows its own \
             alone; each process having queues of its own (own) is allowed"
        ));
    }
    if node.harts() > 1 {
        return Some(format!(
            "node.harts = {} with {jobs} jobs and {what}: jobs take turns on one hart; 1 is allowed, or each process having \
             queues of its own (own)",
            node.harts()
        ));
    }
    (wait_polls(resolved) > 0).then(|| {
        format!(
            "mpi.wait.polls = {} with {jobs} jobs and {what}: a turn is one job's on all nodes, so that nobody can use a \
             hart that is given up; 0 (never) is allowed",
            wait_polls(resolved)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/registers.h");
        chasqui_abi::header::check(path, &registers::HEADER.text());
    }

    #[test]
    fn firmware_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/firmware/service.h");
        chasqui_abi::header::check(path, &service_registers::text());
    }

    #[test]
    fn declarations_are_right() {
        assert_eq!(VOYAGER.schema().mistakes(), Vec::<String>::new());
    }
}

//! The interface of machines to the simulator, and the construction of their nodes.
//!
//! A machine is a folder under `machines/`: a machine file with values and sources, hardware (a network
//! interface), software (its MPI device) and a [`Machine`] that builds it. A machine never imports
//! another; what two need is here or further down.

use std::ops::Range;
use std::sync::Arc;

use chasqui_abi::kernel::KernelBoot;
use chasqui_abi::{
    ABI_VERSION, NI_MAGIC, NI_PLACEMENT, NI_REGION_UNCACHED, NI_REGIONS, NiIdentification, NiPlacement,
    NiRegion, interrupts,
};
use chasqui_config::{Count, Cycles, Resolved, Schema};
use chasqui_engine::{Engine, PartitionId, Time};
use chasqui_hart::Text;
use chasqui_linux::{Elf, Input, Mounts, NiDevice, NiMapping, Options, Policy, Process};
use chasqui_memory::{FlatMemory, PAGE_BYTES, PortKind};
use chasqui_network::FaultKind;
use chasqui_ni::{NetworkInterface, Region};
use chasqui_node::{
    Costs, Domain, Kernel, KernelNode, KernelProcess, Member, MemorySystem, NodeConfiguration, NodePartition,
    OsSpec, Output, PartitionSpec, ProcessSpec, SnoopingBus, controller_address, kernel_memory,
};
use chasqui_placement::{MapBy, NodeId, Occupant, Placement, ProcessId, Rank};
use chasqui_random::Random;
use chasqui_record::{Keep, TraceInput};
use chasqui_watch::WatchPlan;

use replay::Replay;

mod collectives;
mod firmware;
mod library;
mod on_network;
pub mod replay;

pub use collectives::forced as forced_collectives;
pub use firmware::Firmware;
pub use library::{LocalUnit, WaitUnit, library_settings, shared_bytes, wait_polls, with_library};
pub use on_network::{OnNetwork, build_on_network};

/// A program of a job, and how it is called.
#[derive(Clone)]
pub struct Program {
    /// Ranks that run it.
    pub ranks: u32,
    /// Its file.
    pub elf: Arc<Elf>,
    /// Its text, if harts share it decoded.
    pub text: Option<Text>,
    /// Its arguments, the program's name first.
    pub arguments: Vec<String>,
}

/// What is to run as one MPI program, and what belongs to it.
#[derive(Clone)]
pub struct Job {
    /// What runs on the machine's firmware processors, if it has such.
    pub firmware: Firmware,
    /// The kernel under its processes, where `node.software.kernel` asks for one.
    pub kernel: Option<Arc<Elf>>,
    /// Its programs, by the ranks that run them: the first has ranks from 0 on. Most jobs have one.
    pub programs: Vec<Program>,
    /// Its environment, `NAME=value` each.
    pub environment: Vec<String>,
    /// The files that it sees.
    pub mounts: Arc<Mounts>,
    /// What its rank 0 reads as its standard input; the others' is empty.
    pub input: Arc<dyn Input>,
    /// Seed of the processes' random numbers.
    pub seed: u64,
    /// Its ranks begin at times drawn evenly from 0 to this, by the seed.
    pub jitter: Time,
    /// MPI calls of each rank kept for the timeline.
    pub timeline_max: usize,
    /// Settings of the MPI library, as its processes find them ([`library_settings`]).
    pub mpi_settings: Vec<u8>,
    /// What comes before its part of interest takes no time.
    pub fast_forward: bool,
    /// What is watched of its ranks.
    pub watch: WatchPlan,
    /// What is kept of its messages.
    pub keep: Keep,
    /// What its programs carry out, for its summary.
    pub trace: Option<TraceInput>,
    /// What drives its only rank that is simulated; none: all are.
    pub replay: Option<Replay>,
    /// Where its output goes.
    pub output: Arc<dyn Output>,
}

impl Job {
    /// What `rank` runs.
    ///
    /// # Panics
    /// When the job has no such rank.
    pub fn program(&self, rank: Rank) -> &Program {
        let mut end = 0;
        let runs = |program: &&Program| {
            end += program.ranks;
            rank.0 < end
        };
        self.programs.iter().find(runs).expect("a rank of the job")
    }
}

/// What runs on a machine.
pub struct Workload {
    /// The jobs, by their numbers.
    pub jobs: Vec<Job>,
    /// Where their ranks are.
    pub placement: Placement,
    /// Memory [bytes] that the job's processes of a node share, whole pages ([`shared_bytes`]).
    pub shared_bytes: u64,
}

impl Workload {
    /// The only job, if it is alone.
    pub fn alone(&self) -> Option<&Job> {
        if let [job] = &self.jobs[..] { Some(job) } else { None }
    }
}

/// A machine with jobs on it, at time 0.
pub struct Built {
    /// The engine with its partitions.
    pub engine: Engine,
    /// The nodes' partitions, in their order.
    pub nodes: Vec<PartitionId>,
}

/// A machine of the catalogue.
pub trait Machine: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Its folder, after which its firmware is called: other than its name for a preset.
    fn folder(&self) -> &'static str {
        self.name()
    }
    /// Which of several kernel images, if it has them, runs on it: `kernel/<image>` of its folder. None: that of `kernel`.
    fn kernel_image(&self, resolved: &Resolved) -> Option<&'static str> {
        let _ = resolved;
        None
    }
    /// Text of its machine file.
    fn file(&self) -> &'static str;
    /// All its parameters.
    fn schema(&self) -> Schema;
    /// Contradictions in a configuration, beyond what each parameter's declaration checks.
    fn mistakes(&self, resolved: &Resolved) -> Vec<String>;
    /// Nodes that it may have.
    fn nodes_max(&self, resolved: &Resolved) -> u32;
    /// Ranks of a job that may share a node.
    fn ranks_per_node_max(&self, resolved: &Resolved) -> u32 {
        let _ = resolved;
        1
    }
    /// Ranks of a job of so many that share a node where that is not said.
    fn ranks_per_node(&self, resolved: &Resolved, ranks: i64) -> u32 {
        let _ = (resolved, ranks);
        1
    }
    /// The parameter that says how many harts the processes of a node have among them.
    fn harts_parameter(&self) -> &'static str {
        "node.harts"
    }
    /// How many so many processes of a node have among them.
    fn harts(&self, resolved: &Resolved, processes: usize) -> usize {
        let _ = processes;
        resolved.get::<Count>(self.harts_parameter()) as usize
    }
    /// Messages of `bytes` in each direction between two ranks after which every ring and buffer that such messages use has
    /// been used at least once: a measurement of what they take begins behind them.
    fn warm_up(&self, resolved: &Resolved, bytes: u64) -> u64;
    /// Mechanisms that carry its messages: names of the numbers that its NIs record, from 1 on.
    fn mechanisms(&self) -> &'static [&'static str] {
        &[]
    }
    /// The faults of its links (`network.fault.kind`) that its protocol copes with, so that programs notice only their
    /// time.
    fn copes_with(&self, _resolved: &Resolved) -> &'static [FaultKind] {
        &[]
    }
    /// Jobs that may share its nodes.
    fn jobs_max(&self) -> usize {
        1
    }
    /// Of so many jobs, processes that wait poll unless `mpi.wait.polls` has them give their hart up to those that share it.
    fn waits_by_polling(&self, resolved: &Resolved, jobs: usize) -> bool {
        let _ = (resolved, jobs);
        true
    }
    /// Programs of processes that share harts execute on processors of their own, whose cycles are counted (`--profile`); those
    /// of the harts then are not.
    fn profiles_beside_harts(&self) -> bool {
        false
    }
    /// Whether one rank can be simulated alone on it, driven by a recording.
    ///
    /// # Errors
    /// Why not, in words for the user.
    fn replays(&self, resolved: &Resolved) -> Result<(), String> {
        Err(format!(
            "--only-rank: {} has no peers that a recording could drive (loggp and netcache have)",
            resolved.name()
        ))
    }
    /// Whether what comes before a program's part of interest can be without time on it.
    ///
    /// # Errors
    /// Why not, in words for the user.
    fn fast_forwards(&self) -> Result<(), String> {
        Ok(())
    }
    /// What programs execute on it that a debugger of the nodes' harts does not see, if anything, in words for the user.
    fn hidden_from_debuggers(&self) -> Option<&'static str> {
        None
    }
    /// Builds it with `work` on it, or, where the first job has a [`Replay`], the node of its rank alone. The number of
    /// host threads that may run it changes no result.
    ///
    /// # Errors
    /// What does not fit, in words for the user.
    fn build(&self, resolved: &Resolved, work: &Workload, threads: usize) -> Result<Built, String>;
}

/// What differs from node to node of one machine.
pub struct NodePlan<'a> {
    /// The node's parameters.
    pub configuration: &'a NodeConfiguration,
    /// Its number.
    pub number: NodeId,
    /// Its network interface.
    pub ni: Box<dyn NetworkInterface>,
    /// Memory of the NI that the processor reaches by cacheable accesses [bytes]; it lies behind the DRAM.
    pub ni_memory_bytes: u64,
    /// MPI calls take no time of the processor's.
    pub free_calls: bool,
    /// Number of the first of its event ports.
    pub first_port: u32,
}

/// The nodes of a coherence domain of several, each with a hart; the first has the NI. Each has an equal part of main memory,
/// the first the lowest addresses. What processes share is at all of them, page by page in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainPlan {
    /// Nodes.
    pub nodes: usize,
    /// Main memory of each [bytes], whole pages.
    pub memory_bytes: u64,
    /// Which node pages come from, where the program does not say.
    pub policy: Policy,
}

impl DomainPlan {
    fn members(&self, first: NodeId) -> Vec<Member> {
        let number = |place: usize| NodeId(first.0 + place as u32);
        let devices = |place| if place == 0 { DEVICES } else { 0 };
        let member =
            |place| Member { number: number(place), harts: vec![PortKind::Caches], devices: devices(place) };
        (0..self.nodes).map(member).collect()
    }

    /// What a process with these harts knows of the nodes.
    fn tell(&self, options: &mut Options, harts: Range<usize>) {
        options.nodes = (0..self.nodes as u64).map(|node| node * self.memory_bytes).collect();
        options.hart_nodes = harts.collect();
        options.policy = self.policy;
    }
}

/// Where the NI's cacheable memory begins: behind the DRAM.
pub fn ni_memory_base(configuration: &NodeConfiguration) -> u64 {
    configuration.dram.size.bytes().next_multiple_of(PAGE_BYTES)
}

/// The identification page of an NI for a process; the MPI library's settings come behind it.
fn identification(
    plan: &NodePlan<'_>,
    work: &Workload,
    (id, who): (ProcessId, Occupant),
) -> NiIdentification {
    let mut page = NiIdentification {
        magic: NI_MAGIC,
        version: ABI_VERSION,
        rank: who.rank.0,
        ranks: work.placement.ranks(who.job),
        line_bytes: plan.configuration.l1d.line.bytes() as u32,
        timebase_hz: plan.configuration.core.timebase.hz() as u32,
        ..Default::default()
    };
    for (slot, region) in page.regions.iter_mut().zip(plan.ni.regions(id)) {
        let flags = if region.uncached() { NI_REGION_UNCACHED } else { 0 };
        *slot = NiRegion { bytes: region.bytes, flags, reserved: 0 };
    }
    plan.ni.identify(&mut page);
    if !work.jobs[who.job.index()].mpi_settings.is_empty() {
        page.mpi_settings = size_of::<NiIdentification>() as u32;
    }
    page
}

/// What the kernel under `process` gets at its start.
fn kernel_process(
    plan: &NodePlan<'_>,
    work: &Workload,
    who: (ProcessId, Occupant),
    process: &Process,
) -> KernelProcess {
    let mut regions = [0; NI_REGIONS];
    regions.iter_mut().zip(plan.ni.regions(who.0)).for_each(|(physical, region)| *physical = region.physical);
    let boot = KernelBoot {
        entry: process.entry(),
        stack_pointer: process.stack_pointer(),
        regions,
        ni: identification(plan, work, who),
        ..Default::default()
    };
    KernelProcess { root: process.space.root(), boot }
}

/// Puts the kernel under `processes`, into the end of main memory.
///
/// # Errors
/// There is none, or it does not fit.
fn kernel(
    plan: &NodePlan<'_>,
    work: &Workload,
    memory: &mut FlatMemory,
    processes: Vec<KernelProcess>,
) -> Result<Kernel, String> {
    let image = work.jobs[0].kernel.clone().ok_or("node.software.kernel: the kernel image is missing")?;
    let first = work.placement.on(plan.number).next().expect("a process of this node");
    let for_kernel = (processes, whereabouts(work, first, plan.number));
    let each = harts_each(plan.configuration, &work.placement);
    let places = work.placement.processes() as usize;
    let node = KernelNode::of(plan.configuration, plan.number.0, (places, each), DEVICES);
    Kernel::new(image, memory, kernel_range(plan.configuration), for_kernel, node)
}

/// What of main memory the kernel has.
fn kernel_range(configuration: &NodeConfiguration) -> Range<u64> {
    kernel_memory(configuration.dram.size.bytes(), configuration.software.kernel_memory.bytes())
}

/// Harts of each process: as many each, or one that others share.
fn harts_each(configuration: &NodeConfiguration, placement: &Placement) -> usize {
    (configuration.harts() / placement.processes() as usize).max(1)
}

/// The node's harts that its process number `index` has, of those that are there.
fn harts_of(configuration: &NodeConfiguration, placement: &Placement, index: usize) -> Range<usize> {
    let each = harts_each(configuration, placement);
    let first = index * each % configuration.harts();
    first..first + each
}

/// Where process `id` of `node` is among those of its job, for its software.
fn whereabouts(work: &Workload, (id, who): (ProcessId, Occupant), node: NodeId) -> NiPlacement {
    let placement = &work.placement;
    NiPlacement {
        node: node.0,
        process: id.0 % placement.per_node(),
        ranks_per_node: placement.per_node(),
        nodes: placement.nodes_of(who.job),
        by_node: u32::from(placement.map_by() == MapBy::Node),
        shared_bytes: work.shared_bytes,
        ..Default::default()
    }
}

/// The page that a process finds at the beginning of the NI's device.
fn first_page(plan: &NodePlan<'_>, work: &Workload, (id, who): (ProcessId, Occupant)) -> Vec<u8> {
    let mut page = identification(plan, work, (id, who)).to_bytes();
    page.extend(&work.jobs[who.job.index()].mpi_settings);
    assert!(page.len() <= NI_PLACEMENT as usize, "settings of the MPI library");
    page.resize(NI_PLACEMENT as usize, 0);
    page.extend(whereabouts(work, (id, who), plan.number).to_bytes());
    page
}

/// What of main memory processes of a node share, each job's its own part: at the end of what processes have.
fn shared_memory(configuration: &NodeConfiguration, work: &Workload) -> Range<u64> {
    let end = match configuration.software.kernel {
        true => kernel_range(configuration).start,
        false => ni_memory_base(configuration),
    };
    end.saturating_sub(work.shared_bytes * work.jobs.len() as u64)..end
}

/// Devices of a node: its NI.
const DEVICES: usize = 1;

/// The interrupt controller, as a process with handlers sees it: its registers are the region of the device behind the
/// NIs.
fn controller() -> NiDevice {
    let registers =
        NiMapping { physical: controller_address(DEVICES), bytes: interrupts::BYTES, uncached: true };
    NiDevice { identification: vec![], regions: vec![registers] }
}

/// The process number `index` of its node, loaded into the memory `physical`, and what else belongs to it; and what a
/// kernel under it gets.
///
/// # Errors
/// The process does not fit.
fn process(
    plan: &NodePlan<'_>,
    work: &Workload,
    (id, who): (ProcessId, Occupant),
    memory: &mut FlatMemory,
    (index, physical, domain): (usize, Range<u64>, Option<DomainPlan>),
) -> Result<(ProcessSpec, KernelProcess), String> {
    let (c, job) = (plan.configuration, &work.jobs[who.job.index()]);
    let regions = plan.ni.regions(id);
    let mapping = |r: &Region| NiMapping { physical: r.physical, bytes: r.bytes, uncached: r.uncached() };
    let mut mappings: Vec<_> = regions.iter().map(mapping).collect();
    if work.shared_bytes > 0 {
        mappings.resize(NI_REGIONS, NiMapping { physical: 0, bytes: 0, uncached: false });
        let physical =
            shared_memory(plan.configuration, work).start + who.job.index() as u64 * work.shared_bytes;
        mappings.push(NiMapping { physical, bytes: work.shared_bytes, uncached: false });
    }
    let harts = harts_of(c, &work.placement, index);
    let device = NiDevice { identification: first_page(plan, work, (id, who)), regions: mappings };
    let mut options = Options::new(physical);
    options.mounts = job.mounts.clone();
    if who.rank == Rank(0) {
        options.input = job.input.clone();
    }
    options.rank = who.rank.0;
    options.seed = job.seed;
    options.harts = harts.len() as u32;
    if let Some(domain) = domain {
        domain.tell(&mut options, harts.clone());
    }
    options.stack_bytes = c.software.stack.bytes();
    options.node_name = format!("node{}", plan.number.0);
    options.devices = vec![device];
    if c.core.handler_contexts > 0 {
        options.devices.push(controller());
    }
    let program = job.program(who.rank);
    let process = Process::new(memory, program.elf.clone(), &program.arguments, &job.environment, options)
        .map_err(|e| e.to_string())?;
    let for_kernel = kernel_process(plan, work, (id, who), &process);
    let spec = ProcessSpec {
        process,
        id,
        rank: who.rank,
        job: who.job,
        harts,
        text: program.text.clone(),
        begins: begins((job.seed, job.jitter), who),
        fast_forward: job.fast_forward,
        timeline_max: job.timeline_max,
        watch: job.watch.clone(),
        output: job.output.clone(),
    };
    Ok((spec, for_kernel))
}

/// When a rank begins, by the run's seed: between 0 and `jitter`.
fn begins((seed, jitter): (u64, Time), who: Occupant) -> Time {
    let mut of_run = Random::new(seed);
    of_run.bits(); // of what its processes draw
    let number = u64::from(who.job.0) << 32 | u64::from(who.rank.0);
    let of_rank = Random::new(of_run.bits().wrapping_add(number)).bits();
    Time(Random::new(of_rank).below(jitter.0 + 1))
}

/// What takes how long on a node beside instructions.
fn costs(plan: &NodePlan<'_>) -> Costs {
    let c = plan.configuration;
    Costs {
        software: c.software.clone(),
        machine_call: Cycles::new(c.core.trap.cycles() + c.core.trap_return.cycles()),
        free_calls: plan.free_calls,
        spin_skip: c.checks.spin_skip,
    }
}

/// Parts of the memory for `count` processes. They follow each other at such a distance that their beginnings, and their ends,
/// are as far apart as can be in a cache with ways of `way_bytes`: else the lines of equal programs would all meet there, as
/// they would not where an operating system deals out pages. (A process has its text at the beginning and its data at the
/// end.)
fn parts(dram_bytes: u64, way_bytes: u64, count: u64) -> impl Iterator<Item = Range<u64>> {
    let (share, way) = (dram_bytes / count / PAGE_BYTES, way_bytes / PAGE_BYTES);
    // In pages: the longest part, of at least half a share, by which the next one is a place further, or a place back.
    let place = (way / count).max(1);
    let fits = |part: &u64| part % way == place || part % way == way - place;
    let apart = if count > 1 && way > 1 { (share.div_ceil(2)..=share).rev().find(fits) } else { None };
    let part = apart.unwrap_or(share) * PAGE_BYTES;
    (0..count).map(move |i| i * part..(i + 1) * part)
}

/// Puts a node together, with the processes that are there loaded, each in its part of the memory. All is on a bus.
///
/// # Errors
/// When the host has no memory for it, or a process does not fit.
pub fn build_node(plan: NodePlan<'_>, work: &Workload) -> Result<NodePartition, String> {
    let system = Box::new(SnoopingBus::new(plan.configuration));
    build_node_on(plan, work, system)
}

/// The same, with a memory system of the machine's own.
///
/// # Errors
/// As [`build_node`].
pub fn build_node_on(
    plan: NodePlan<'_>,
    work: &Workload,
    system: Box<dyn MemorySystem>,
) -> Result<NodePartition, String> {
    build(plan, work, system, None)
}

/// The same, of the nodes of a coherence domain: `node.harts` and `node.dram.size` of the configuration are those of all of them
/// together.
///
/// # Errors
/// As [`build_node`].
pub fn build_domain_on(
    plan: NodePlan<'_>,
    work: &Workload,
    system: Box<dyn MemorySystem>,
    domain: DomainPlan,
) -> Result<NodePartition, String> {
    build(plan, work, system, Some(domain))
}

fn build(
    plan: NodePlan<'_>,
    work: &Workload,
    system: Box<dyn MemorySystem>,
    domain: Option<DomainPlan>,
) -> Result<NodePartition, String> {
    let c = plan.configuration;
    let harts_each = harts_each(c, &work.placement);
    if c.network_cache.present && harts_each > 1 {
        return Err(format!(
            "node.network_cache.present: each process has {harts_each} harts (node.harts), and messages come into the \
             network cache of one"
        ));
    }
    let dram_bytes = ni_memory_base(c);
    let mut memory = FlatMemory::new(dram_bytes + plan.ni_memory_bytes)
        .map_err(|e| format!("no address space for a node of {}: {e}", c.dram.size))?;
    let here: Vec<_> = work.placement.on(plan.number).collect();
    let shared = shared_memory(c, work);
    if shared.start < shared.end / 2 {
        return Err(format!(
            "mpi.local.ring: {} bytes for {} ranks of a node are more than half of node.dram.size = {}",
            work.shared_bytes * work.jobs.len() as u64,
            work.placement.processes(),
            c.dram.size
        ));
    }
    let way_bytes = c.l2.cache().map_or(0, |l2| l2.size.bytes() / l2.ways);
    let parts = parts(shared.start, way_bytes, here.len() as u64);
    let places = here.into_iter().zip(parts.enumerate());
    let loaded = places
        .map(|(who, (index, physical))| process(&plan, work, who, &mut memory, (index, physical, domain)));
    let (processes, for_kernel): (Vec<_>, Vec<_>) =
        loaded.collect::<Result<Vec<_>, String>>()?.into_iter().unzip();
    let kernel = c.software.kernel.then(|| kernel(&plan, work, &mut memory, for_kernel)).transpose()?;
    let nodes = match domain {
        Some(domain) => {
            Domain::new(memory, domain.members(plan.number), domain.memory_bytes).with_in_turn(shared)
        }
        None => {
            let harts = vec![PortKind::Caches; c.harts()];
            Domain::of_one_node(memory, Member { number: plan.number, harts, devices: DEVICES })
        }
    };
    let spec = PartitionSpec {
        configuration: c,
        domain: nodes,
        os: OsSpec { processes, kernel, costs: costs(&plan) },
        places: work.placement.processes(),
        devices: vec![plan.ni],
        first_port: plan.first_port,
    };
    let mut node = NodePartition::with_memory_system(spec, system);
    // Recordings are of one job.
    if let Some(job) = work.alone() {
        node.keep(job.keep);
    }
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_placement::JobId;

    #[test]
    fn processes_have_parts_of_the_memory_that_meet_nowhere_in_the_cache() {
        let kib =
            |parts: Vec<Range<u64>>| parts.iter().map(|p| (p.start >> 10, p.end >> 10)).collect::<Vec<_>>();
        assert_eq!(kib(parts(1 << 20, 512 << 10, 1).collect()), [(0, 1024)]);
        assert_eq!(kib(parts(4 << 20, 512 << 10, 2).collect()), [(0, 1792), (1792, 3584)]);
        // A memory that is not longer than a way meets nowhere by itself.
        assert_eq!(kib(parts(128 << 10, 512 << 10, 2).collect()), [(0, 64), (64, 128)]);
    }

    #[test]
    fn ranks_begin_between_0_and_the_jitter_each_at_a_time_of_its_own() {
        let jitter = Time(1_000_000);
        let of = |seed, job, rank| begins((seed, jitter), Occupant { job: JobId(job), rank: Rank(rank) });
        let mut found = vec![];
        for (seed, job) in [(1, 0), (2, 0), (1, 1)] {
            found.extend((0..1000).map(|rank| of(seed, job, rank)));
        }
        assert!(found.iter().all(|&time| time <= jitter));
        let mean = found.iter().map(|time| time.0).sum::<u64>() / found.len() as u64;
        assert!(mean.abs_diff(jitter.0 / 2) < jitter.0 / 20, "{mean}");
        assert_eq!(of(2, 0, 7), found[1007]);
        found.sort();
        found.dedup();
        assert!(found.len() > 2990, "{} of 3000 differ", found.len());
        assert_eq!(begins((1, Time::ZERO), Occupant { job: JobId(0), rank: Rank(3) }), Time::ZERO);
    }

    /// Equal programs have texts and data as far apart in a direct-mapped cache as can be, whatever the memory's size.
    #[test]
    fn parts_begin_and_end_far_apart_in_a_cache() {
        let drams = (1 << 10..64 << 10).step_by(172).chain([248 << 10, 255 << 10, 256 << 10, 1 << 20]);
        for (kib, way, count) in drams.flat_map(|kib| {
            let ways = [16_u64 << 20, 512 << 10, 128 << 10, 32 << 10];
            ways.into_iter().flat_map(move |way| [1, 2, 3, 6, 8, 9, 33, 56, 170].map(move |n| (kib, way, n)))
        }) {
            let dram = kib << 10;
            let found: Vec<_> = parts(dram, way, count).collect();
            let share = dram / count;
            assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
            assert!(found.last().expect("one at least").end <= dram);
            assert!(found.iter().all(|part| part.end - part.start + way + PAGE_BYTES > share), "{found:x?}");
            assert!(found.iter().all(|part| part.end - part.start >= share / 2 / PAGE_BYTES * PAGE_BYTES));
            // Shorter parts than two ways are not always to be had at such a distance.
            if share < 2 * way + PAGE_BYTES {
                continue;
            }
            let place = (way / count / PAGE_BYTES).max(1) * PAGE_BYTES;
            for end in [|part: &Range<u64>| part.start, |part: &Range<u64>| part.end] {
                let places: Vec<_> = found.iter().map(|part| end(part) % way).collect();
                let near = |a: u64| {
                    let far = |b: u64| a.abs_diff(b).min(way - a.abs_diff(b));
                    places.iter().filter(|&&b| far(b) < place).count() as u64
                };
                let most = places.iter().map(|&a| near(a)).max().expect("one at least");
                assert_eq!(most, count.div_ceil(way / PAGE_BYTES), "{kib} KiB, {way}: {found:x?}");
            }
        }
    }
}

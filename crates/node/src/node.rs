//! The nodes of a domain as one partition: their parts, how they are put together, and what is left of them when all is
//! over.

use std::sync::Arc;

use chasqui_counters::{Counters, Visitor, below};
use chasqui_engine::Time;
use chasqui_hart::Hart;
use chasqui_memory::{FlatMemory, Port, PortParameters};
use chasqui_ni::NetworkInterface;
use chasqui_placement::{JobId, ProcessId};
use chasqui_record::{Profile, Recorder};
use chasqui_watch::{TraceOutput, Watch, WatchPlan};

use crate::domain::Domain;
use crate::events::Events;
use crate::harts::{Core, Harts, Rest};
use crate::io::Io;
use crate::memory_system::{MemorySystem, SnoopingBus};
use crate::os::{Os, OsSpec, ProcessView, Scheduler};
use crate::parameters::NodeConfiguration;
use crate::parts::Parts;

/// Event ports that a partition uses: its own, and its devices'.
const PORTS: u32 = 2;

/// What the partition of a domain is built from.
pub struct PartitionSpec<'a> {
    /// Its nodes' parameters.
    pub configuration: &'a NodeConfiguration,
    /// Its nodes, with the memory that they share.
    pub domain: Domain,
    /// System software, with the processes.
    pub os: OsSpec,
    /// Processes that a node of the machine may have, whether all are here or not.
    pub places: u32,
    /// Its devices; addresses of each begin at a multiple of [`crate::DEVICE_SPAN`].
    pub devices: Vec<Box<dyn NetworkInterface>>,
    /// Number of the first of its [`NodePartition::PORTS`] event ports.
    pub first_port: u32,
}

/// The nodes of a domain.
pub struct NodePartition {
    pub(crate) system: Box<dyn MemorySystem>,
    pub(crate) parts: Parts,
    /// Events dealt with, but those of the harts' transactions.
    pub(crate) events: u64,
}

impl NodePartition {
    /// Event ports that it uses.
    pub const PORTS: u32 = PORTS;

    /// A node at time 0, with a bus that all caches snoop.
    pub fn new(spec: PartitionSpec<'_>) -> NodePartition {
        assert_eq!(spec.domain.members().len(), 1, "nodes on a bus");
        let system = Box::new(SnoopingBus::new(spec.configuration));
        NodePartition::with_memory_system(spec, system)
    }

    /// Nodes at time 0, with this memory system.
    pub fn with_memory_system(mut spec: PartitionSpec<'_>, system: Box<dyn MemorySystem>) -> NodePartition {
        let c = spec.configuration;
        let first = &spec.os.processes[0];
        let untimed = spec.os.costs.free_calls || first.fast_forward;
        let watches: Vec<_> =
            (0..spec.domain.harts().count()).map(|hart| Watched::of(&spec.os, hart)).collect();
        let tenure = c.bus.clock().edge(c.bus.address.cycles() + 1);
        let ids: Vec<_> = watches.iter().map(|watched| spec.os.processes[watched.process].id).collect();
        let kinds: Vec<_> = spec.domain.harts().collect();
        let port = |(kind, process)| port(c.port(kind), &mut spec.domain.memory, &spec.devices, process);
        let mut ports: Vec<Port> = kinds.into_iter().zip(ids).map(port).collect();
        if system.keeps_account() {
            ports.iter_mut().for_each(Port::give_back_clean);
        }
        let controller = (spec.domain.harts().count(), Time(c.interrupts.access.ps()));
        let io = Io::new(spec.devices, (c.bus.clock(), tenure, untimed), controller);
        let others = spec.os.processes.len() - 1;
        // Processes have harts of their own, or share one.
        let is_shared = || others > 0 && spec.os.processes.iter().all(|process| process.harts == first.harts);
        let together = io.exclusive().is_some();
        // A kernel has a scheduler of its own.
        let scheduler = (together || spec.os.kernel.is_none() && is_shared()).then(|| {
            let bounds = (io.store_latency, system.transaction_max());
            Box::new(Scheduler::new(
                &c.scheduler,
                spec.domain.members()[0].number.0,
                others,
                together,
                bounds,
            ))
        });
        let os = Os::new(spec.os, scheduler);
        let start = os.start();
        let make = |(port, watched): (Port, Watched)| {
            let mut hart = Hart::new(start.clone(), port, c.timing(), c.clock(), c.core.timebase.hz());
            hart.execute_by(c.checks.execution());
            if c.core.handler_contexts > 0 {
                hart.begin_handlers(c.core.handler_contexts as usize);
            }
            Core::new(hart, watched.watch(&os))
        };
        let mut threads = ports.into_iter().zip(watches).map(make);
        let first = threads.next().expect("a node has a hart");
        let mut harts = Harts::new(first, threads.collect());
        harts.is_one_of_several = system.acts_by_itself();
        let mut recorders: Vec<_> = (0..spec.places).map(|_| Recorder::new(0, 0)).collect();
        for process in &os.processes {
            recorders[process.id.index()] = Recorder::new(process.rank.0 as u16, 1);
        }
        let mut parts = Parts {
            harts,
            os,
            io,
            domain: spec.domain,
            events: Events::new(spec.first_port),
            recorders,
            ran_to: Time::ZERO,
            settled: Time::NEVER,
            resting: false,
            rest: Rest::default(),
            at_work: false,
            debug: None,
        };
        parts.os.begin(&mut parts.harts);
        parts.os.start_scheduler(&mut parts.harts, &mut parts.events);
        parts.begin_devices();
        NodePartition { system, parts, events: 0 }
    }

    /// Its domain.
    pub fn domain(&self) -> &Domain {
        &self.parts.domain
    }

    /// The processes of `job` that are here.
    pub fn processes(&self, job: JobId) -> impl Iterator<Item = ProcessView<'_>> {
        let Parts { harts, os, domain, .. } = &self.parts;
        let of_job = os.processes.iter().enumerate().filter(move |(_, process)| process.job == job);
        of_job.map(move |(number, process)| {
            let node = domain.members()[domain.node_of_hart(process.harts.start)].number;
            ProcessView { node, number, process, memory: &domain.memory, harts, os }
        })
    }

    /// What is kept of the messages of its processes.
    pub fn keep(&mut self, keep: chasqui_record::Keep) {
        self.parts.os.processes.iter_mut().for_each(|process| process.life.keep(keep));
    }

    /// The process of `job` comes to the hart that it shares with others, when all is over: to see what it did there.
    pub fn show(&mut self, job: JobId) {
        self.parts.os.show(&mut self.parts.harts, job);
    }

    /// Takes the records of the messages of each process of `job`, when all is over. Accesses to messages' data that were
    /// noted have become stages of the messages' lives.
    pub fn take_recorders(&mut self, job: JobId) -> Vec<Recorder> {
        let Parts { os, recorders, .. } = &mut self.parts;
        let of_job = os.processes.iter_mut().filter(|process| process.job == job);
        of_job
            .map(|process| {
                let recorder = &mut recorders[process.id.index()];
                process.stamp_accesses(recorder);
                std::mem::replace(recorder, Recorder::new(0, 0))
            })
            .collect()
    }

    /// Takes where the cycles of the harts of `job`'s processes went, if that was counted, when all is over; and for the first
    /// job those of its devices' firmware processors, which work for all.
    pub fn take_profiles(&mut self, job: JobId) -> Vec<Profile> {
        let harts = self.parts.os.take_profiles(&mut self.parts.harts, job);
        if job != JobId(0) {
            return harts;
        }
        let firmware = self.parts.io.devices.iter_mut().flat_map(|device| device.ni.take_profiles());
        harts.into_iter().chain(firmware).collect()
    }

    /// Memory of the first process from `address` on; nothing where it has none.
    pub fn read_process(&mut self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut contents = vec![0; bytes];
        let Parts { os, domain, .. } = &mut self.parts;
        os.processes[0].process.space.read_user(&mut domain.memory, address, &mut contents).ok()?;
        Some(contents)
    }

    /// What a device found broken in the machine first, which ends all jobs: when, and what.
    pub fn broken_machine(&self) -> Option<&(Time, String)> {
        self.parts.io.broken_machine.as_ref()
    }

    /// How often harts have run ahead of each other, and how often what they did was taken back: about the host, not the
    /// simulation.
    pub fn runs_ahead(&self) -> [u64; 2] {
        let counts = self.parts.harts.iter().map(|core| [core.ahead.runs, core.ahead.taken_back]);
        counts.fold([0, 0], |sum, count| [sum[0] + count[0], sum[1] + count[1]])
    }

    /// Visits every counter of the node at `place` of the domain, by its path. Harts and devices are numbered where it has
    /// several. What the domain's nodes share counts as the first's.
    pub fn visit_statistics(&self, place: usize, visit: &mut Visitor<'_>) {
        let Parts { harts, io, os, domain, .. } = &self.parts;
        let number = |i: usize, count: usize| if count > 1 { format!("{i:02}") } else { String::new() };
        let own = domain.harts_of(place);
        for (i, core) in harts.of(&own).enumerate() {
            let number = number(i, own.len());
            let (hart, port) = (&core.hart, &core.hart.port);
            hart.statistics.visit(&mut below(&format!("hart{number}"), visit));
            core.statistics.visit(&mut below(&format!("processor{number}"), visit));
            port.statistics.visit(&mut below(&format!("memory{number}"), visit));
            if let Some(stash) = port.stash_statistics() {
                stash.visit(&mut below(&format!("stash{number}"), visit));
            }
            if let Some(network) = port.network_statistics() {
                network.visit(&mut below(&format!("network_cache{number}"), visit));
            }
        }
        if place == 0 {
            self.system.statistics(&mut below("bus", visit));
        }
        self.system.node_statistics(place, &mut below("directory", visit));
        let own = domain.devices_of(place);
        for (i, device) in io.devices[own.clone()].iter().enumerate() {
            let number = number(i, own.len());
            device.ni.statistics(&mut below(&format!("ni{number}"), visit));
        }
        if let Some(scheduler) = os.scheduler.as_ref().filter(|_| place == 0) {
            scheduler.statistics.visit(&mut below("scheduler", visit));
        }
        if let Some(statistics) = self.parts.os.kernel.as_ref().and_then(|kernel| kernel.statistics()) {
            statistics.visit(&mut below("kernel", visit));
        }
    }
}

/// Whose threads a hart executes, to watch them.
struct Watched {
    /// The process, by its place in the table.
    process: usize,
    /// Number of the hart, where the process has several.
    number: Option<usize>,
    plan: WatchPlan,
    output: Arc<dyn TraceOutput>,
}

impl Watched {
    /// Of hart `index`. One that belongs to no process is watched like the first process's.
    fn of(os: &OsSpec, index: usize) -> Watched {
        let process = os.processes.iter().position(|p| p.harts.contains(&index)).unwrap_or(0);
        let spec = &os.processes[process];
        let number = (spec.harts.len() > 1).then_some(index);
        Watched { process, number, plan: spec.watch.clone(), output: spec.output.clone() }
    }

    fn watch(self, os: &Os) -> Option<Box<Watch>> {
        let process = &os.processes[self.process];
        Watch::new(&self.plan, (process.rank.0, self.number), &process.symbols, &self.output)
    }
}

/// The port onto `memory` of a hart of `process`.
fn port(
    parameters: PortParameters,
    memory: &mut FlatMemory,
    devices: &[Box<dyn NetworkInterface>],
    process: ProcessId,
) -> Port {
    let mut port = Port::new(parameters, memory);
    for device in devices {
        port.add_self_contained(device.self_contained_stores(process));
        port.add_network_memory(device.network_memory());
    }
    port
}

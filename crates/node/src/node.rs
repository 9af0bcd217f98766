//! A node: its parts, how they are put together, and what is left of them when all is over.

use std::sync::Arc;

use chasqui_counters::{Counters, Visitor, below};
use chasqui_engine::Time;
use chasqui_hart::Hart;
use chasqui_memory::{FlatMemory, Port};
use chasqui_ni::NetworkInterface;
use chasqui_record::{Profile, Recorder};
use chasqui_watch::{TraceOutput, Watch};

use crate::events::Events;
use crate::harts::{Harts, Thread};
use crate::io::Io;
use crate::memory_system::{MemorySystem, SnoopingBus};
use crate::os::{Os, OsSpec, ProcessView, Scheduler};
use crate::parameters::NodeConfiguration;
use crate::parts::Parts;

/// Event ports that a node uses: its own, and its devices'.
const PORTS: u32 = 2;

/// What a node is built from.
pub struct NodeSpec<'a> {
    /// Its parameters.
    pub configuration: &'a NodeConfiguration,
    /// Its number.
    pub number: u32,
    /// Functional memory: DRAM, then what devices add.
    pub memory: FlatMemory,
    /// System software, with the processes.
    pub os: OsSpec,
    /// Jobs of the machine, whether they have a process here or not.
    pub jobs: usize,
    /// Its devices; addresses of each begin at a multiple of [`crate::DEVICE_SPAN`].
    pub devices: Vec<Box<dyn NetworkInterface>>,
    /// Number of the first of the node's [`Node::PORTS`] event ports.
    pub first_port: u32,
}

/// A node.
pub struct Node {
    pub(crate) number: u32,
    pub(crate) system: Box<dyn MemorySystem>,
    pub(crate) parts: Parts,
    /// Events dealt with, but those of the harts' transactions.
    pub(crate) events: u64,
}

impl Node {
    /// Event ports that a node uses.
    pub const PORTS: u32 = PORTS;

    /// A node at time 0, with a bus that all caches snoop.
    pub fn new(spec: NodeSpec<'_>) -> Node {
        let system = Box::new(SnoopingBus::new(spec.configuration));
        Node::with_memory_system(spec, system)
    }

    /// A node at time 0, with this memory system.
    pub fn with_memory_system(mut spec: NodeSpec<'_>, system: Box<dyn MemorySystem>) -> Node {
        let c = spec.configuration;
        let first = &spec.os.processes[0];
        let (rank, watch) = (first.rank, first.watch.clone());
        let output: Arc<dyn TraceOutput> = first.output.clone();
        let untimed = spec.os.costs.free_calls || first.fast_forward;
        let tenure = c.bus.clock().edge(c.bus.address.cycles() + 1);
        let ports: Vec<Port> = (0..c.harts()).map(|_| port(c, &mut spec.memory, &spec.devices)).collect();
        let io = Io::new(spec.devices, c.bus.clock(), tenure, untimed);
        let others = spec.os.processes.len() - 1;
        let together = io.exclusive().is_some();
        let scheduler = (together || others > 0).then(|| {
            let bounds = (io.store_latency, system.transaction_max());
            Box::new(Scheduler::new(&c.scheduler, spec.number, others, together, bounds))
        });
        let os = Os::new(spec.os, scheduler, c.harts());
        let start = os.start();
        let make = |(index, port)| {
            let mut hart = Hart::new(start.clone(), port, c.timing(), c.clock(), c.core.timebase.hz());
            hart.run_by_steps(c.checks.reference);
            let number = (c.harts() > 1).then_some(index);
            Thread::new(hart, Watch::new(&watch, (rank, number), &os.processes[0].symbols, &output))
        };
        let mut threads = ports.into_iter().enumerate().map(make);
        let first = threads.next().expect("a node has a hart");
        let harts = Harts::new(first, threads.collect());
        let mut parts = Parts {
            harts,
            os,
            io,
            memory: spec.memory,
            events: Events::new(spec.first_port),
            recorders: (0..spec.jobs).map(|_| Recorder::new(rank as u16, 1)).collect(),
            ran_to: Time::ZERO,
        };
        parts.os.begin_first(&mut parts.harts);
        parts.os.start_scheduler(&mut parts.harts, &mut parts.events);
        Node { number: spec.number, system, parts, events: 0 }
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The process of job `job`, if it has one here.
    pub fn process(&self, job: usize) -> Option<ProcessView<'_>> {
        let Parts { harts, os, .. } = &self.parts;
        let process = os.processes.iter().find(|process| process.job == job)?;
        Some(ProcessView { process, harts, os })
    }

    /// What is kept of the messages of its first process.
    pub fn keep(&mut self, keep: chasqui_record::Keep) {
        self.parts.os.processes[0].life.keep(keep);
    }

    /// Job `job`'s process comes to the hart, when all is over: to see what it did there.
    pub fn show(&mut self, job: usize) {
        self.parts.os.show(&mut self.parts.harts, job);
    }

    /// Takes the records of job `job`'s messages, when all is over. Accesses to messages' data that were noted have
    /// become stages of the messages' lives.
    pub fn take_recorder(&mut self, job: usize) -> Recorder {
        // They are noted in runs of one job.
        self.parts.os.processes[0].stamp_accesses(&mut self.parts.recorders[0]);
        std::mem::replace(&mut self.parts.recorders[job], Recorder::new(0, 0))
    }

    /// Takes where the cycles of its harts and of its devices' firmware processors went, if that was counted, when all is
    /// over.
    pub fn take_profiles(&mut self) -> Vec<Profile> {
        let harts = Os::take_profile(&mut self.parts.harts);
        let firmware = self.parts.io.devices.iter_mut().flat_map(|device| device.ni.take_profiles());
        harts.into_iter().chain(firmware).collect()
    }

    /// Memory of the first process from `address` on; nothing where it has none.
    pub fn read_process(&mut self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut contents = vec![0; bytes];
        let Parts { os, memory, .. } = &mut self.parts;
        os.processes[0].process.space.read_user(memory, address, &mut contents).ok()?;
        Some(contents)
    }

    /// What a device found broken in the machine first, which ends all jobs: when, and what.
    pub fn broken_machine(&self) -> Option<&(Time, String)> {
        self.parts.io.broken_machine.as_ref()
    }

    /// Visits every counter of the node, by its path. Harts and devices are numbered where there are several.
    pub fn visit_statistics(&self, visit: &mut Visitor<'_>) {
        let harts = &self.parts.harts;
        for (i, thread) in harts.iter().enumerate() {
            let number = if harts.count() > 1 { format!("{i:02}") } else { String::new() };
            let (hart, port) = (&thread.hart, &thread.hart.port);
            hart.statistics.visit(&mut below(&format!("hart{number}"), visit));
            thread.statistics.visit(&mut below(&format!("processor{number}"), visit));
            port.statistics.visit(&mut below(&format!("memory{number}"), visit));
            if let Some(stash) = port.stash_statistics() {
                stash.visit(&mut below(&format!("stash{number}"), visit));
            }
            if let Some(network) = port.network_statistics() {
                network.visit(&mut below(&format!("network_cache{number}"), visit));
            }
        }
        self.system.statistics(&mut below("bus", visit));
        let devices = &self.parts.io.devices;
        for (i, device) in devices.iter().enumerate() {
            let number = if devices.len() > 1 { format!("{i:02}") } else { String::new() };
            device.ni.statistics(&mut below(&format!("ni{number}"), visit));
        }
        if let Some(scheduler) = &self.parts.os.scheduler {
            scheduler.statistics.visit(&mut below("scheduler", visit));
        }
    }
}

/// The port of a hart onto `memory`.
fn port(c: &NodeConfiguration, memory: &mut FlatMemory, devices: &[Box<dyn NetworkInterface>]) -> Port {
    let mut port = Port::new(c.port(), memory);
    for device in devices {
        port.set_self_contained(device.self_contained_stores());
        port.set_network_memory(device.network_memory());
    }
    port
}

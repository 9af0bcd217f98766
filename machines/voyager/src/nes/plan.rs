//! What an NES is made from: the resolved machine, and its place in it.

use chasqui_config::Resolved;
use chasqui_engine::Clock;
use chasqui_network::{NetworkParameters, NodePort};
use chasqui_ni::FirmwareProcessor;
use chasqui_node::NodeConfiguration;
use chasqui_placement::{NodeId, Placement};

use super::SLOT;
use super::service::JobLimits;
use crate::parameters::{self, Basic, Dma, Express, Mpi, Queues, Sharing};
use crate::registers::EXPRESS_QUEUES;

/// What an NES is made from.
pub(crate) struct NesPlan {
    pub nes: parameters::Nes,
    pub basic: Basic,
    pub express: Express,
    pub dma: Dma,
    pub mpi: Mpi,
    pub queues: Queues,
    pub service: parameters::Service,
    /// The service processor, about to begin, if it is there.
    pub processor: Option<FirmwareProcessor>,
    /// The bus clock, which is also the NES's.
    pub clock: Clock,
    /// Bus clocks of a transaction's address.
    pub address_cycles: u64,
    /// The caches' shorter lines, in which the NES reads and writes over the bus.
    pub line_bytes: u64,
    /// From one slot to the next: whole lines of all caches.
    pub stride: u64,
    /// Physical address of its SRAM.
    pub memory_base: u64,
    /// Where the ranks are.
    pub placement: Placement,
    /// Its end of the network link.
    pub port: NodePort,
    /// The network.
    pub network: NetworkParameters,
}

impl NesPlan {
    /// Parts of the sP's memory: jobs are protected from each other, and not a job from itself.
    pub fn shares(&self) -> usize {
        if self.has_several_jobs() { self.placement.processes() as usize } else { 1 }
    }

    /// Sites that send blocks of a job to one take turns. What they are told must not wait for messages that nobody has
    /// received: without a service processor it might.
    pub(super) fn blocks_take_turns(&self) -> bool {
        self.has_several_jobs() && self.queues.sharing == Sharing::Own && self.service.present
    }

    fn has_several_jobs(&self) -> bool {
        self.placement.jobs().count() > 1
    }

    /// Lines of a block that are read at a time: fewer than all where several jobs share the node.
    pub(super) fn dma_lines(&self) -> usize {
        if self.jobs_share_the_node() { self.dma.lines as usize } else { usize::MAX }
    }

    /// Several jobs, each with queues of its own, have processes on the node.
    fn jobs_share_the_node(&self) -> bool {
        let here = || self.placement.on(NodeId(self.port.node())).map(|(_, occupant)| occupant.job);
        let are_several = here().next().is_some_and(|first| here().any(|job| job != first));
        are_several && self.queues.sharing == Sharing::Own
    }

    /// What keeps jobs from each other's share of the sP. One that has the network to itself is not held up.
    pub(super) fn job_limits(&self) -> JobLimits {
        let is_shared = self.has_several_jobs() && self.queues.sharing == Sharing::Own;
        let processes = self.placement.per_node();
        let messages = u64::from(processes) * EXPRESS_QUEUES * self.express.slots;
        let slots = self.service.access_slots;
        JobLimits {
            shares: self.shares(),
            // One packet has none behind it for which its job would be held up.
            hold: match self.service.hold {
                hold if is_shared && hold > 0 => hold.min(self.service.miss_slots).max(2),
                _ => 0,
            },
            // No store waits on the bus for as long as its job is held up: it would keep the processor from other jobs.
            sends: if is_shared { slots.max(messages) } else { slots } as usize,
            processes,
        }
    }

    /// Ranks are at sites by `placement`; `memory_base` is the physical address of the SRAM, `port` the end of the network link,
    /// `processor` the sP with its firmware.
    pub fn read(
        resolved: &Resolved,
        placement: &Placement,
        memory_base: u64,
        port: NodePort,
        processor: Option<FirmwareProcessor>,
    ) -> NesPlan {
        let node = NodeConfiguration::read(resolved);
        NesPlan {
            nes: resolved.read("voyager.nes"),
            basic: resolved.read("voyager.basic"),
            express: resolved.read("voyager.express"),
            dma: resolved.read("voyager.dma"),
            mpi: resolved.read("voyager.mpi"),
            queues: resolved.read("voyager.queues"),
            service: resolved.read("voyager.sp"),
            processor,
            clock: node.bus.clock(),
            address_cycles: node.bus.address.cycles(),
            line_bytes: node.l1d.line.bytes(),
            stride: SLOT.next_multiple_of(node.longest_line().bytes()),
            memory_base,
            placement: placement.clone(),
            port,
            network: resolved.read("network"),
        }
    }
}

//! A machine whose nodes hang on a network.

use chasqui_config::Resolved;
use chasqui_engine::Engine;
use chasqui_network::{
    Attachment, FABRIC, Fabric, FaultKind, NODES, NetworkParameters, NodePort, VirtualNetworks,
};
use chasqui_ni::NetworkInterface;
use chasqui_node::{NodeConfiguration, NodePartition};
use chasqui_placement::NodeId;

use crate::{Built, NodePlan, Workload, build_node};

/// From so many nodes on, what a host thread looks at in their turns does not stay in the host's caches.
const MANY_NODES: u32 = 512;
/// Nodes of a zone, where there are many: of fewer the zones would be nearer to each other.
const ZONE_NODES: u32 = 256;

/// Divides `fabric`, with so many nodes, into zones: for each of `threads`, and if there are many nodes into more, which
/// a thread then goes through one after the other.
fn divide(fabric: &mut Fabric, nodes: u32, threads: u32) {
    if nodes >= MANY_NODES {
        fabric.divide((nodes / ZONE_NODES).next_multiple_of(threads));
    }
    if fabric.zones() < threads {
        fabric.divide(threads);
    }
}

/// What NIs are to the network between them.
pub struct OnNetwork {
    /// The virtual networks that they use.
    pub networks: VirtualNetworks,
    /// The shortest packet that they send [bytes].
    pub packet_bytes_min: u32,
    /// Faults that their protocol copes with.
    pub copes_with: &'static [FaultKind],
}

/// Builds the nodes and the network that `network` describes between them. `ni` makes a node's NI from its end of the link,
/// and says how much memory it has that the processor reaches by cacheable accesses [bytes]. The network is in zones for
/// `threads` host threads, or for the host's caches, if it can be.
///
/// # Errors
/// What does not fit, in words for the user.
pub fn build_on_network(
    resolved: &Resolved,
    work: &Workload,
    on: OnNetwork,
    threads: usize,
    mut ni: impl FnMut(&NodeConfiguration, NodePort) -> Result<(u64, Box<dyn NetworkInterface>), String>,
) -> Result<Built, String> {
    let configuration = NodeConfiguration::read(resolved);
    let network: NetworkParameters = resolved.read("network");
    let count = work.placement.nodes();
    let attachments = (0..count).map(|partition| Attachment { partition, target: 0 }).collect();
    let first_fabric_port = count * NodePartition::PORTS;
    let mut fabric = Fabric::new(&network, on.networks, attachments, first_fabric_port)?;
    if on.copes_with.contains(&FaultKind::Corrupt) {
        fabric.tolerate_corruption();
    }
    // Names of messages are a job's own: a link's would not say whose they are.
    if let Some(job) = work.alone() {
        fabric.keep_traffic(job.timeline_max);
    }
    divide(&mut fabric, count, threads as u32);
    let mut engine = Engine::new(fabric.lookahead(on.packet_bytes_min));
    let mut nodes = Vec::new();
    for number in 0..count {
        let zone = fabric.zone_of_node(number);
        let (ni_memory_bytes, ni) = ni(&configuration, fabric.node_port(number, count + zone))?;
        let first_port = number * NodePartition::PORTS;
        let plan = NodePlan {
            configuration: &configuration,
            number: NodeId(number),
            ni,
            ni_memory_bytes,
            free_calls: false,
            first_port,
        };
        nodes.push(engine.add_in_zone(NODES, zone as usize, Box::new(build_node(plan, work)?)));
    }
    for (zone, part) in fabric.split(count).into_iter().enumerate() {
        engine.add_in_zone(FABRIC, zone, Box::new(part));
    }
    Ok(Built { engine, nodes })
}

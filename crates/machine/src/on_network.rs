//! A machine whose nodes hang on a network.

use chasqui_config::Resolved;
use chasqui_engine::{Engine, Lookahead, Time};
use chasqui_network::{Attachment, Fabric, NetworkParameters, NodePort};
use chasqui_ni::NetworkInterface;
use chasqui_node::{Node, NodeConfiguration};

use crate::{Built, Job, NodePlan, build_node, network_parameters, nodes_of};

/// The group of partitions that nodes are.
pub const NODES: usize = 0;
/// The group of the network.
pub const FABRIC: usize = 1;

/// Least times to the first effects on other partitions, by their group.
pub type Effects = [Time; 2];

/// From the start of a packet at a node, and from room in its receive buffer, to the first effects elsewhere. No packet
/// is shorter than `packet_bytes_min`.
pub fn first_effects(
    network: &NetworkParameters,
    port: &NodePort,
    packet_bytes_min: u32,
) -> (Effects, Effects) {
    let (link, hop) = (port.link(), port.link().latency());
    let first_hop = Time(network.link_latency_ps + network.routing_delay_ps);
    // What another node notices first: a packet's head, or room in the first router's buffer when a
    // credit has let a packet leave it.
    let room = hop + link.serialization(packet_bytes_min) + hop;
    let mut packet = [Time::NEVER; 2];
    (packet[FABRIC], packet[NODES]) = (first_hop, first_hop + hop);
    let mut credit = [Time::NEVER; 2];
    (credit[FABRIC], credit[NODES]) = (hop, room);
    (packet, credit)
}

/// Builds the nodes and the network that `network` describes between them. `ni` makes a node's NI from its end of the
/// link, and says how much memory it has that the processor reaches by cacheable accesses [bytes].
///
/// # Errors
/// What does not fit, in words for the user.
pub fn build_on_network(
    resolved: &Resolved,
    jobs: &[Job],
    mut ni: impl FnMut(&NodeConfiguration, NodePort) -> Result<(u64, Box<dyn NetworkInterface>), String>,
) -> Result<Built, String> {
    let configuration = NodeConfiguration::read(resolved);
    let network = network_parameters(resolved);
    let (to_fabric, to_node) = network.lookahead();
    let never = Time::NEVER;
    let lookahead = Lookahead::new(vec![vec![never, to_fabric], vec![to_node, never]]);
    let mut engine = Engine::new(lookahead);
    let count = nodes_of(jobs);
    let attachments = (0..count).map(|partition| Attachment { partition, target: 0 }).collect();
    let first_fabric_port = count * Node::PORTS;
    let mut fabric = Fabric::new(&network, attachments, first_fabric_port).map_err(|e| e.join("\n"))?;
    // Names of messages are a job's own: a link's would not say whose they are.
    if let [job] = jobs {
        fabric.keep_traffic(job.timeline_max);
    }
    let mut nodes = Vec::new();
    for number in 0..count {
        let (ni_memory_bytes, ni) = ni(&configuration, fabric.node_port(number, count))?;
        let first_port = number * Node::PORTS;
        let plan = NodePlan {
            configuration: &configuration,
            number,
            ni,
            ni_memory_bytes,
            free_calls: false,
            first_port,
        };
        nodes.push(engine.add(NODES, Box::new(build_node(plan, jobs)?)));
    }
    let fabric = engine.add(FABRIC, Box::new(fabric));
    Ok(Built { engine, nodes, fabric: Some(fabric) })
}

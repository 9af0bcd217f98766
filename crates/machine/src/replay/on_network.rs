//! A node that hangs on a network, alone: its link leads to its peers.

use chasqui_config::Resolved;
use chasqui_engine::{Engine, Event, Lookahead, Outbox, Packet, Time};
use chasqui_network::{
    Attachment, Blocked, FABRIC, FarEnd, FromNode, NODES, NetworkParameters, NodePort, VirtualNetworks,
};
use chasqui_ni::NetworkInterface;
use chasqui_node::{NodeConfiguration, NodePartition};
use chasqui_placement::{JobId, NodeId};

use super::{Line, Peers, Replay, Transport};
use crate::{Built, NodePlan, Workload, build_node};

impl Line for FarEnd {
    fn latency(&self) -> Time {
        FarEnd::latency(self)
    }

    fn can_send(&self, now: Time, priority: u8) -> Result<(), Option<Time>> {
        FarEnd::can_send(self, now, priority).map_err(|blocked| match blocked {
            Blocked::LinkBusy { until } => Some(until),
            Blocked::NoCredit => None,
        })
    }

    fn send(&mut self, now: Time, packet: Box<Packet>, out: &mut Outbox<'_>) {
        FarEnd::send(self, now, packet, out);
    }

    fn receive(&mut self, event: &Event, packet: Option<Box<Packet>>) -> FromNode {
        FarEnd::receive(self, event, packet)
    }

    fn release(&mut self, now: Time, priority: u8, out: &mut Outbox<'_>) {
        FarEnd::release(self, now, priority, out);
    }
}

/// Whether a node can be alone on the network that `resolved` describes.
///
/// # Errors
/// Why not, in words for the user.
pub fn check_alone_on_network(resolved: &Resolved) -> Result<(), String> {
    if resolved.read::<NetworkParameters>("network").fault.is_on() {
        return Err("network.fault with --only-rank: recorded messages come by no faulty link".into());
    }
    Ok(())
}

/// Builds the node of the rank that `replay` is about, with its peers, and what is `between` them and its link.
/// `networks` and `ni` are as for [`crate::build_on_network`].
///
/// # Errors
/// What does not fit, in words for the user.
pub fn build_alone_on_network(
    resolved: &Resolved,
    work: &Workload,
    replay: &Replay,
    networks: VirtualNetworks,
    between: Box<dyn Transport>,
    ni: impl FnOnce(&NodeConfiguration, NodePort) -> Result<(u64, Box<dyn NetworkInterface>), String>,
) -> Result<Built, String> {
    let configuration = NodeConfiguration::read(resolved);
    let network: NetworkParameters = resolved.read("network");
    let (to_peers, to_node) = network.lookahead();
    let mut lookahead = vec![vec![Time::NEVER; 2]; 2];
    (lookahead[NODES][FABRIC], lookahead[FABRIC][NODES]) = (to_peers, to_node);
    let mut engine = Engine::new(Lookahead::new(lookahead));
    let attachment = Attachment { partition: 0, target: 0 };
    let here = (replay.rank, work.placement.ranks(JobId(0)));
    let (far, near) = FarEnd::new(&network, networks, here, attachment, 1, NodePartition::PORTS);
    let (ni_memory_bytes, ni) = ni(&configuration, near)?;
    let plan = NodePlan {
        configuration: &configuration,
        number: NodeId(replay.rank),
        ni,
        ni_memory_bytes,
        free_calls: false,
        first_port: 0,
    };
    let node = engine.add(NODES, Box::new(build_node(plan, work)?));
    let peers = Peers::new(replay, between, Box::new(far), NodePartition::PORTS + FarEnd::ports(networks));
    engine.add(FABRIC, Box::new(peers));
    Ok(Built { engine, nodes: vec![node] })
}

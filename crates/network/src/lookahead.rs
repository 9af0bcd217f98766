//! How soon what happens at one place of a machine with a network can have an effect elsewhere.

use chasqui_engine::{Lookahead, Time};

use crate::{Fabric, NetworkParameters, NodePort};

/// The engine's group of partitions that nodes are.
pub const NODES: usize = 0;
/// The group that the parts of the network are.
pub const FABRIC: usize = 1;
/// Groups.
pub const GROUPS: usize = 2;

/// Least times to the first effects on other partitions, by their group; then on those in other zones.
pub type Effects = [Time; 2 * GROUPS];

/// From anything at a router to its first effect at another: a packet's head may leave there, or there is room for
/// a packet since another has left.
fn onward(parameters: &NetworkParameters, packet_bytes_min: u32) -> Time {
    let room = parameters.link().serialization(packet_bytes_min);
    parameters.link_latency() + room.min(parameters.routing_delay())
}

/// From something at a node, which the network notices after `to_fabric` and near nodes after `to_nodes`, to its
/// first effects.
fn effects(
    parameters: &NetworkParameters,
    port: &NodePort,
    bytes: u32,
    to_fabric: Time,
    to_nodes: Time,
) -> Effects {
    let onward = onward(parameters, bytes);
    let between = Time(u64::from(port.switches_beyond() - 1) * onward.0);
    let beyond = to_fabric + between + port.link().latency();
    [to_nodes, to_fabric, to_nodes.max(beyond), to_fabric + onward]
}

impl NodePort {
    /// From the start of a packet here, and from room in the receive buffer, to the first effects elsewhere. No packet
    /// is shorter than `packet_bytes_min`.
    pub fn first_effects(&self, parameters: &NetworkParameters, packet_bytes_min: u32) -> (Effects, Effects) {
        let hop = self.link().latency();
        let first_hop = hop + parameters.routing_delay();
        // What another node notices first: a packet's head, or room in the first router's buffer when a
        // credit has let a packet leave it.
        let room = hop + self.link().serialization(packet_bytes_min) + hop;
        let effects = |to_fabric, to_nodes| effects(parameters, self, packet_bytes_min, to_fabric, to_nodes);
        (effects(first_hop, first_hop + hop), effects(hop, room))
    }
}

impl Fabric {
    /// Between nodes and the network in its zones. No packet is shorter than `packet_bytes_min`.
    pub fn lookahead(&self, packet_bytes_min: u32) -> Lookahead {
        let never = Time::NEVER;
        let (to_fabric, to_node) = self.parameters.lookahead();
        if self.zones() == 1 {
            return Lookahead::new(vec![vec![never, to_fabric], vec![to_node, never]]).with_steady(FABRIC);
        }
        let onward = onward(&self.parameters, packet_bytes_min);
        let between = Time(u64::from(self.zones.switches_between - 1) * onward.0);
        let beyond =
            [vec![to_fabric + between + to_node, to_fabric + onward], vec![onward + to_node, onward]];
        let direct = vec![vec![never, to_fabric], vec![to_node, onward]];
        Lookahead::new(direct).with_zones(&beyond).with_steady(FABRIC)
    }
}

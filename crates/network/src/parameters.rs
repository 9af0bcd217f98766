//! The parameters of a network.

use chasqui_engine::Time;

use crate::topology::{TopologyKind, UpRoute};
use crate::{FaultParameters, Link, Topology};

/// What a network is made of. All links are alike: cut-through must never run out of bytes because
/// the link before is slower than the one after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkParameters {
    /// How the routers are joined.
    pub topology: TopologyKind,
    /// Fat tree: nodes or routers below a router, and routers above it [ports], at least 2.
    pub fat_tree_arity: u32,
    /// Fat tree: what chooses the way up.
    pub fat_tree_up_route: UpRoute,
    /// Mesh: routers in a row; 0 takes the least square that holds all nodes.
    pub mesh_columns: u32,
    /// Bandwidth of a link, each way [bytes/s], 1 to 10^12.
    pub link_bandwidth_bytes_per_s: u64,
    /// Time from a byte's departure at one end of a link to its arrival at the other [ps], at least 1.
    pub link_latency_ps: u64,
    /// Time from the arrival of a packet's head at a router to its departure, if nothing is in its
    /// way [ps].
    pub routing_delay_ps: u64,
    /// Room of a router's input buffer, for each priority [packets of `packet_bytes_max`], at least 1.
    pub input_buffer_packets: u32,
    /// Room of a network interface's receive buffer, for each priority [packets], at least 1.
    pub receive_buffer_packets: u32,
    /// Longest packet on the wire [bytes], at least 1.
    pub packet_bytes_max: u32,
    /// Faulty links.
    pub fault: FaultParameters,
}

impl Default for NetworkParameters {
    /// Arctic's topology and links (StarT-Voyager, CSG Memo 394, section 3: 4x4 routers in a fat
    /// tree, 16-bit links at 80 MHz). Assumptions, for the memo is silent: the latency is two link
    /// clocks; the routing delay is six; buffers hold four packets; a packet is 96 bytes. No link is faulty.
    fn default() -> NetworkParameters {
        NetworkParameters {
            topology: TopologyKind::FatTree,
            fat_tree_arity: 4,
            fat_tree_up_route: UpRoute::Destination,
            mesh_columns: 0,
            link_bandwidth_bytes_per_s: 160_000_000,
            link_latency_ps: 25_000,
            routing_delay_ps: 75_000,
            input_buffer_packets: 4,
            receive_buffer_packets: 4,
            packet_bytes_max: 96,
            fault: FaultParameters::default(),
        }
    }
}

impl NetworkParameters {
    /// All that is wrong with the values, a sentence each, with the name of the parameter.
    pub fn errors(&self) -> Vec<String> {
        let mut errors = vec![];
        let mut check = |name: &str, value: u64, least: u64, most: u64| {
            if value < least || value > most {
                errors.push(format!("{name} is {value}; allowed is {least} to {most}"));
            }
        };
        check("fat_tree_arity", self.fat_tree_arity.into(), 2, 1024);
        check("mesh_columns", self.mesh_columns.into(), 0, 65_535);
        check("link_bandwidth_bytes_per_s", self.link_bandwidth_bytes_per_s, 1, 1_000_000_000_000);
        check("link_latency_ps", self.link_latency_ps, 1, 1_000_000_000_000);
        check("routing_delay_ps", self.routing_delay_ps, 0, 1_000_000_000_000);
        check("input_buffer_packets", self.input_buffer_packets.into(), 1, 1 << 20);
        check("receive_buffer_packets", self.receive_buffer_packets.into(), 1, 1 << 20);
        check("packet_bytes_max", self.packet_bytes_max.into(), 1, 1 << 24);
        errors
    }

    /// The topology for `nodes` nodes.
    ///
    /// # Errors
    /// All that is wrong with the values, or that this topology cannot hold so many nodes.
    pub fn build_topology(&self, nodes: u32) -> Result<Box<dyn Topology>, Vec<String>> {
        let errors = self.errors();
        if errors.is_empty() { self.topology.build(nodes, self).map_err(|e| vec![e]) } else { Err(errors) }
    }

    /// A link of this network.
    pub fn link(&self) -> Link {
        Link::new(self.link_bandwidth_bytes_per_s, Time(self.link_latency_ps))
    }

    /// Look-ahead from a node to the fabric and from the fabric to a node: the latency of a link, in
    /// both cases, for a credit or the head of a packet takes no less.
    pub fn lookahead(&self) -> (Time, Time) {
        (Time(self.link_latency_ps), Time(self.link_latency_ps))
    }

    /// Time from the departure of a packet's head at its source to the arrival of its head at the
    /// destination through `switches` routers, nothing being in its way.
    pub fn unloaded_head_latency(&self, switches: u32) -> Time {
        let switches = u64::from(switches);
        Time((switches + 1) * self.link_latency_ps + switches * self.routing_delay_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_errors_are_reported_together() {
        let bad = NetworkParameters { link_latency_ps: 0, input_buffer_packets: 0, ..Default::default() };
        let errors = bad.build_topology(4).err().unwrap();
        assert_eq!(errors.len(), 2);
        assert_eq!(errors[0], "link_latency_ps is 0; allowed is 1 to 1000000000000");
        assert!(errors[1].starts_with("input_buffer_packets is 0"));
        assert!(NetworkParameters::default().errors().is_empty());
    }

    #[test]
    fn too_many_nodes_and_none_are_refused() {
        for kind in TopologyKind::ALL {
            let parameters = NetworkParameters { topology: kind, ..Default::default() };
            for nodes in [0, u32::MAX] {
                let errors = parameters.build_topology(nodes).err().unwrap();
                assert!(errors[0].contains(&nodes.to_string()), "{}: {errors:?}", kind.name());
            }
        }
    }
}

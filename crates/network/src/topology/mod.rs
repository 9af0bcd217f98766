//! How routers and nodes are joined, and which way packets go. One file per alternative.

mod crossbar;
mod fat_tree;
mod mesh;

use chasqui_engine::Packet;

use crate::NetworkParameters;

pub use crossbar::Crossbar;
pub use fat_tree::{FatTree, UpRoute};
pub use mesh::Mesh;

/// What a router reads of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Node that sent it.
    pub source: u32,
    /// Node that it goes to.
    pub destination: u32,
    /// Logical network.
    pub priority: u8,
}

impl From<&Packet> for Header {
    fn from(packet: &Packet) -> Header {
        Header { source: packet.source, destination: packet.destination, priority: packet.priority }
    }
}

/// A port of a router. Links go both ways: a port is an input and an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterPort {
    /// Number of the router.
    pub router: u32,
    /// Number of the port on it.
    pub port: u16,
}

/// What a port of a router is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// Another router's port, which in turn is connected to this one.
    Router(RouterPort),
    /// A node.
    Node(u32),
    /// Nothing: no packet is ever routed there.
    Unconnected,
}

impl std::fmt::Display for Neighbour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Neighbour::Router(RouterPort { router, port }) => write!(f, "router {router} port {port}"),
            Neighbour::Node(node) => write!(f, "node {node}"),
            Neighbour::Unconnected => write!(f, "nothing"),
        }
    }
}

/// A topology with its routing. The routing must be free of deadlock: there is an order of all links
/// such that every route takes links in rising order (Dally and Seitz, IEEE Trans. Computers C-36(5),
/// 1987, theorem 1). Each implementation gives that order in its comment.
pub trait Topology: Send + Sync {
    /// Number of nodes, which are 0 to this less one.
    fn nodes(&self) -> u32;
    /// Number of routers.
    fn routers(&self) -> u32;
    /// Number of ports of a router.
    fn ports(&self, router: u32) -> u16;
    /// The router's port to which a node is connected.
    fn attachment(&self, node: u32) -> RouterPort;
    /// What a router's port is connected to.
    fn neighbour(&self, at: RouterPort) -> Neighbour;
    /// The output by which a packet that came by port `input` leaves `router`. All packets of one
    /// source, destination and priority take one way, so that they stay in order.
    fn route(&self, router: u32, input: u16, header: &Header) -> u16;
    /// Routers on the way between two nodes: the way's links are one more. No other way has fewer.
    fn switches(&self, source: u32, destination: u32) -> u32;
    /// A node that is near `router`, one of its own if it has any. Nodes near each other have neighbouring numbers.
    fn node_near(&self, router: u32) -> u32;
}

chasqui_config::choice! {
    /// How routers are joined.
    pub enum TopologyKind {
        /// One router that all nodes share.
        Crossbar = "crossbar",
        /// A k-ary n-tree.
        FatTree = "fat-tree",
        /// A two-dimensional mesh, dimension-ordered.
        Mesh = "mesh",
    }
}

impl TopologyKind {
    /// The topology for `nodes` nodes.
    ///
    /// # Errors
    /// When it cannot hold so many.
    pub fn build(self, nodes: u32, parameters: &NetworkParameters) -> Result<Box<dyn Topology>, String> {
        Ok(match self {
            TopologyKind::Crossbar => Box::new(Crossbar::new(nodes)?),
            TopologyKind::FatTree => {
                Box::new(FatTree::new(nodes, parameters.arity as u32, parameters.up_route)?)
            }
            TopologyKind::Mesh => Box::new(Mesh::new(nodes, parameters.columns as u32)?),
        })
    }
}

/// Nodes of a network, at most: whatever the topology, the ports of its routers stay well below the
/// engine's [`chasqui_engine::Port::MAX`].
const NODES_MAX: u32 = 1 << 16;

fn check_nodes(nodes: u32, most: u32, what: &str) -> Result<(), String> {
    if (1..=most).contains(&nodes) {
        Ok(())
    } else {
        Err(format!("{what} of {nodes} nodes; allowed is 1 to {most}"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Every connection is mutual, every node is attached where the router says it is.
    pub(crate) fn check_wiring(topology: &dyn Topology) {
        let mut attached = vec![0; topology.nodes() as usize];
        for router in 0..topology.routers() {
            for port in 0..topology.ports(router) {
                let here = RouterPort { router, port };
                match topology.neighbour(here) {
                    Neighbour::Router(there) => {
                        assert_eq!(topology.neighbour(there), Neighbour::Router(here), "{here:?} {there:?}");
                        assert_ne!(here, there);
                    }
                    Neighbour::Node(node) => {
                        assert_eq!(topology.attachment(node), here);
                        attached[node as usize] += 1;
                    }
                    Neighbour::Unconnected => {}
                }
            }
        }
        assert!(attached.iter().all(|&n| n == 1), "{attached:?}");
    }

    /// The output ports of the routers on the way, which must end at the destination.
    pub(crate) fn way(topology: &dyn Topology, source: u32, destination: u32) -> Vec<RouterPort> {
        let header = Header { source, destination, priority: 0 };
        let mut at = topology.attachment(source);
        let mut way = vec![];
        loop {
            let out = RouterPort { router: at.router, port: topology.route(at.router, at.port, &header) };
            way.push(out);
            assert!(way.len() <= topology.routers() as usize, "{source} to {destination} goes in circles");
            match topology.neighbour(out) {
                Neighbour::Router(next) => at = next,
                Neighbour::Node(node) => {
                    assert_eq!(node, destination, "from {source}");
                    return way;
                }
                Neighbour::Unconnected => panic!("{source} to {destination} leaves the network at {out:?}"),
            }
        }
    }

    /// All pairs arrive by as many routers as `switches` says, and the links of all ways can be
    /// ordered: the graph "link a is followed by link b on some way" has no cycle.
    pub(crate) fn check_routes(topology: &dyn Topology) {
        use std::collections::{HashMap, HashSet};
        let mut after: HashMap<(u32, u16), HashSet<(u32, u16)>> = HashMap::new();
        for source in 0..topology.nodes() {
            for destination in 0..topology.nodes() {
                let way = way(topology, source, destination);
                assert_eq!(
                    way.len() as u32,
                    topology.switches(source, destination),
                    "{source} {destination}"
                );
                let links: Vec<_> = way.iter().map(|p| (p.router, p.port)).collect();
                for &link in &links {
                    after.entry(link).or_default();
                }
                for pair in links.windows(2) {
                    after.get_mut(&pair[0]).unwrap().insert(pair[1]);
                }
            }
        }
        // Kahn: remove links that nothing follows until none is left.
        while !after.is_empty() {
            let ends: HashSet<_> = after.iter().filter(|(_, b)| b.is_empty()).map(|(&a, _)| a).collect();
            assert!(!ends.is_empty(), "{} links depend on each other in a cycle", after.len());
            after.retain(|a, _| !ends.contains(a));
            after.values_mut().for_each(|b| b.retain(|l| !ends.contains(l)));
        }
    }
}

//! How routers and nodes are joined, and which way packets go. One file per alternative.

mod crossbar;
mod dragonfly;
mod fat_tree;
mod graph;
mod mesh;
mod torus;

use chasqui_engine::Packet;

use crate::NetworkParameters;

pub use crossbar::Crossbar;
pub use dragonfly::Dragonfly;
pub use fat_tree::{FatTree, UpRoute};
pub use graph::Graph;
pub use mesh::Mesh;
pub use torus::Torus;

/// What a router reads of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Node that sent it.
    pub source: u32,
    /// Node that it goes to.
    pub destination: u32,
    /// Virtual network.
    pub priority: u8,
}

impl From<&Packet> for Header {
    fn from(packet: &Packet) -> Header {
        Header { source: packet.source, destination: packet.destination, priority: packet.priority }
    }
}

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The output by which it leaves the router.
    pub port: u16,
    /// The virtual channel of that port's link, below [`Topology::virtual_channels`]; 0 on a link to a node.
    pub virtual_channel: u8,
}

impl Hop {
    /// By the only virtual channel of a port's link.
    pub fn by(port: u16) -> Hop {
        Hop { port, virtual_channel: 0 }
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

/// A topology with its routing. The routing must be free of deadlock: there is an order of all virtual channels of links
/// such that every route takes channels in rising order (Dally and Seitz, IEEE Trans. Computers C-36(5),
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
    /// Virtual channels of each virtual network on a link.
    fn virtual_channels(&self) -> u8 {
        1
    }
    /// How a packet that came by port `input` leaves `router`. All packets of one source, destination and virtual network
    /// take one way, so that they stay in order.
    fn route(&self, router: u32, input: u16, header: &Header) -> Hop;
    /// Routers on the way between two nodes: the way's links are one more.
    fn switches(&self, source: u32, destination: u32) -> u32;
    /// A node that is near `router`, one of its own if it has any. Nodes near each other have neighbouring numbers.
    fn node_near(&self, router: u32) -> u32;
}

chasqui_config::choice! {
    /// How routers are joined.
    pub enum TopologyKind {
        /// Latency alone: packets take two links' latency, in and out, and meet nothing on their way. Bytes take no time,
        /// buffers are never full.
        Ideal = "ideal",
        /// One router that all nodes share.
        Crossbar = "crossbar",
        /// A k-ary n-tree.
        FatTree = "fat-tree",
        /// A two-dimensional mesh, dimension-ordered.
        Mesh = "mesh",
        /// A torus of one to three dimensions, dimension-ordered.
        Torus = "torus",
        /// Groups of routers, each with a link to each other group; minimal routing.
        Dragonfly = "dragonfly",
        /// Any graph of switches, as `network.graph` says; up*/down* routes.
        Graph = "graph",
    }
}

impl TopologyKind {
    /// The topology for `nodes` nodes.
    ///
    /// # Errors
    /// When it cannot hold so many.
    pub fn build(self, nodes: u32, parameters: &NetworkParameters) -> Result<Box<dyn Topology>, String> {
        Ok(match self {
            TopologyKind::Ideal | TopologyKind::Crossbar => Box::new(Crossbar::new(nodes)?),
            TopologyKind::FatTree => {
                Box::new(FatTree::new(nodes, parameters.arity as u32, parameters.up_route)?)
            }
            TopologyKind::Mesh => Box::new(Mesh::new(nodes, parameters.columns as u32)?),
            TopologyKind::Torus => {
                let sides = [parameters.columns as u32, parameters.rows as u32];
                Box::new(Torus::new(nodes, parameters.dimensions as u32, sides)?)
            }
            TopologyKind::Dragonfly => {
                let [hosts, routers, globals] =
                    [parameters.router_nodes, parameters.group_routers, parameters.group_links];
                Box::new(Dragonfly::new(nodes, hosts as u32, routers as u32, globals as u32)?)
            }
            TopologyKind::Graph => {
                Box::new(Graph::new(nodes, &parameters.graph, parameters.graph_root as u32)?)
            }
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
    use std::collections::{HashMap, HashSet};

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

    /// A link that leaves a router, and a virtual channel of it.
    type Channel = (RouterPort, u8);

    /// The channels on the way behind the source's link, which must end at the destination.
    pub(crate) fn way(topology: &dyn Topology, source: u32, destination: u32) -> Vec<Channel> {
        let header = Header { source, destination, priority: 0 };
        let mut at = topology.attachment(source);
        let mut way = vec![];
        loop {
            let Hop { port, virtual_channel } = topology.route(at.router, at.port, &header);
            assert!(virtual_channel < topology.virtual_channels(), "{source} to {destination} at {at:?}");
            let out = RouterPort { router: at.router, port };
            way.push((out, virtual_channel));
            assert!(way.len() <= topology.routers() as usize, "{source} to {destination} goes in circles");
            match topology.neighbour(out) {
                Neighbour::Router(next) => at = next,
                Neighbour::Node(node) => {
                    assert_eq!((node, virtual_channel), (destination, 0), "from {source}");
                    return way;
                }
                Neighbour::Unconnected => panic!("{source} to {destination} leaves the network at {out:?}"),
            }
        }
    }

    /// Channels that wait for each other in a cycle, if each of `ways` holds one while it waits for the next: those that
    /// are left when again and again all are removed that nothing follows (Kahn).
    fn cycle(ways: impl Iterator<Item = Vec<Channel>>) -> usize {
        let name = |&(at, channel): &Channel| (at.router, at.port, channel);
        let mut after: HashMap<_, HashSet<_>> = HashMap::new();
        for way in ways {
            for (channel, next) in way.iter().zip(way.iter().skip(1).map(Some).chain([None])) {
                after.entry(name(channel)).or_default().extend(next.map(name));
            }
        }
        loop {
            let ends: HashSet<_> = after.iter().filter(|(_, b)| b.is_empty()).map(|(&a, _)| a).collect();
            if ends.is_empty() {
                return after.len();
            }
            after.retain(|a, _| !ends.contains(a));
            after.values_mut().for_each(|b| b.retain(|l| !ends.contains(l)));
        }
    }

    /// The ways of all pairs.
    fn all_ways(topology: &dyn Topology) -> impl Iterator<Item = Vec<Channel>> {
        let pairs = (0..topology.nodes()).flat_map(|a| (0..topology.nodes()).map(move |b| (a, b)));
        pairs.map(|(source, destination)| way(topology, source, destination))
    }

    /// With one virtual channel alone there would be a cycle: the check finds such.
    pub(crate) fn check_routes_need_channels(topology: &dyn Topology) {
        let one = |way: Vec<Channel>| way.into_iter().map(|(at, _)| (at, 0)).collect();
        assert_ne!(cycle(all_ways(topology).map(one)), 0, "no cycle");
    }

    /// All pairs arrive by as many routers as `switches` says, and the channels of all ways can be ordered: the graph
    /// "channel a is followed by channel b on some way" has no cycle.
    pub(crate) fn check_routes(topology: &dyn Topology) {
        let nodes = topology.nodes();
        for (source, destination) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
            let switches = way(topology, source, destination).len() as u32;
            assert_eq!(switches, topology.switches(source, destination), "{source} {destination}");
        }
        let left = cycle(all_ways(topology));
        assert_eq!(left, 0, "{left} channels depend on each other in a cycle");
    }
}

//! What is where in a network, looked up once.

use std::ops::Range;

use crate::Topology;
use crate::topology::{Neighbour, RouterPort};

/// A topology with its links in one direction numbered: those that leave routers, then those that leave nodes.
pub(crate) struct Wiring {
    pub topology: Box<dyn Topology>,
    /// Number of each router's first link.
    first_link: Vec<u32>,
    /// By link that leaves a router: what is at its far end.
    far_ends: Vec<Neighbour>,
    /// By router.
    has_nodes: Vec<bool>,
}

impl Wiring {
    pub fn new(topology: Box<dyn Topology>) -> Wiring {
        let (mut first_link, mut far_ends, mut has_nodes) = (vec![], vec![], vec![]);
        for router in 0..topology.routers() {
            let ports = 0..topology.ports(router);
            let of_router = ports.map(|port| topology.neighbour(RouterPort { router, port }));
            first_link.push(far_ends.len() as u32);
            far_ends.extend(of_router);
            let of_router = &far_ends[first_link[router as usize] as usize..];
            has_nodes.push(of_router.iter().any(|far_end| matches!(far_end, Neighbour::Node(_))));
        }
        Wiring { topology, first_link, far_ends, has_nodes }
    }

    /// How many links.
    pub fn links(&self) -> usize {
        self.far_ends.len() + self.topology.nodes() as usize
    }

    /// Number of the link that leaves a router at `at`.
    #[inline]
    pub fn link_at(&self, at: RouterPort) -> usize {
        (self.first_link[at.router as usize] + u32::from(at.port)) as usize
    }

    /// Number of the link that leaves a node.
    pub fn uplink(&self, node: u32) -> usize {
        self.far_ends.len() + node as usize
    }

    /// What is at the far end of the link that leaves a router at `at`.
    #[inline]
    pub fn far_end(&self, at: RouterPort) -> Neighbour {
        self.far_ends[self.link_at(at)]
    }

    /// A node hangs on the router.
    pub fn has_nodes(&self, router: u32) -> bool {
        self.has_nodes[router as usize]
    }

    /// Numbers of all routers.
    pub fn routers(&self) -> Range<u32> {
        0..self.topology.routers()
    }

    /// All ports of a router.
    pub fn ports(&self, router: u32) -> impl Iterator<Item = RouterPort> + use<> {
        (0..self.topology.ports(router)).map(move |port| RouterPort { router, port })
    }

    /// The routers that are joined to `router`.
    pub fn routers_beside(&self, router: u32) -> impl Iterator<Item = u32> + '_ {
        self.ports(router).filter_map(|at| match self.far_end(at) {
            Neighbour::Router(far) => Some(far.router),
            Neighbour::Node(_) | Neighbour::Unconnected => None,
        })
    }
}

//! One router with a port for each node.

use super::{Header, Hop, Neighbour, RouterPort, Topology, check_nodes};

/// A single router. Deadlock: a route takes one link that leaves a router, so no packet holds a buffer
/// that another needs in order to leave.
#[derive(Clone, Debug)]
pub struct Crossbar {
    nodes: u16,
}

impl Crossbar {
    /// A crossbar with `nodes` ports.
    ///
    /// # Errors
    /// When there is no node, or more than ports can be numbered.
    pub fn new(nodes: u32) -> Result<Crossbar, String> {
        check_nodes(nodes, u16::MAX.into(), "a crossbar")?;
        Ok(Crossbar { nodes: nodes as u16 })
    }
}

impl Topology for Crossbar {
    fn nodes(&self) -> u32 {
        self.nodes.into()
    }
    fn routers(&self) -> u32 {
        1
    }
    fn ports(&self, _: u32) -> u16 {
        self.nodes
    }
    fn attachment(&self, node: u32) -> RouterPort {
        RouterPort { router: 0, port: node as u16 }
    }
    fn neighbour(&self, at: RouterPort) -> Neighbour {
        Neighbour::Node(at.port.into())
    }
    fn route(&self, _: u32, _: u16, header: &Header) -> Hop {
        Hop::by(header.destination as u16)
    }
    fn switches(&self, _: u32, _: u32) -> u32 {
        1
    }
    fn node_near(&self, _: u32) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_routes, check_wiring};
    use super::*;

    #[test]
    fn every_pair_on_every_size() {
        for nodes in 1..=64 {
            let crossbar = Crossbar::new(nodes).unwrap();
            check_wiring(&crossbar);
            check_routes(&crossbar);
        }
    }
}

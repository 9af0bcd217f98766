//! A two-dimensional mesh with dimension-order routing.

use super::{Header, Hop, NODES_MAX, Neighbour, RouterPort, Topology, check_nodes};

const NODE: u16 = 0;
const EAST: u16 = 1;
const WEST: u16 = 2;
const SOUTH: u16 = 3;
const NORTH: u16 = 4;

/// A mesh of `columns` times `rows` routers, a node on each; the last row may have routers without a
/// node. A packet first goes along its row, then along its column.
///
/// Deadlock: order the links east by column rising, those west by column falling, then those south by
/// row rising and those north by row falling; a route takes one direction of each dimension, in that
/// order (Dally and Seitz 1987).
#[derive(Clone, Debug)]
pub struct Mesh {
    nodes: u32,
    columns: u32,
    rows: u32,
}

impl Mesh {
    /// A mesh for `nodes` nodes with `columns` routers in a row; 0 columns: the least square.
    ///
    /// # Errors
    /// When there is no node, more than a network may have, or more columns than nodes.
    pub fn new(nodes: u32, columns: u32) -> Result<Mesh, String> {
        check_nodes(nodes, NODES_MAX, "a mesh")?;
        if columns > nodes {
            return Err(format!("a mesh of {nodes} nodes with {columns} columns; allowed is 1 to {nodes}"));
        }
        let square = nodes.isqrt() + u32::from(nodes.isqrt().pow(2) < nodes);
        let columns = if columns == 0 { square } else { columns };
        Ok(Mesh { nodes, columns, rows: nodes.div_ceil(columns) })
    }

    fn place(&self, router: u32) -> (u32, u32) {
        (router % self.columns, router / self.columns)
    }
}

impl Topology for Mesh {
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn routers(&self) -> u32 {
        self.columns * self.rows
    }
    fn ports(&self, _: u32) -> u16 {
        5
    }
    fn attachment(&self, node: u32) -> RouterPort {
        RouterPort { router: node, port: NODE }
    }

    fn neighbour(&self, at: RouterPort) -> Neighbour {
        let (x, y) = self.place(at.router);
        let to = |router, port| Neighbour::Router(RouterPort { router, port });
        match at.port {
            NODE if at.router < self.nodes => Neighbour::Node(at.router),
            EAST if x + 1 < self.columns => to(at.router + 1, WEST),
            WEST if x > 0 => to(at.router - 1, EAST),
            SOUTH if y + 1 < self.rows => to(at.router + self.columns, NORTH),
            NORTH if y > 0 => to(at.router - self.columns, SOUTH),
            _ => Neighbour::Unconnected,
        }
    }

    fn route(&self, router: u32, _: u16, header: &Header) -> Hop {
        let ((x, y), (to_x, to_y)) = (self.place(router), self.place(header.destination));
        Hop::by(if to_x != x {
            if to_x > x { EAST } else { WEST }
        } else if to_y != y {
            if to_y > y { SOUTH } else { NORTH }
        } else {
            NODE
        })
    }

    fn switches(&self, source: u32, destination: u32) -> u32 {
        let ((x, y), (to_x, to_y)) = (self.place(source), self.place(destination));
        x.abs_diff(to_x) + y.abs_diff(to_y) + 1
    }
    fn node_near(&self, router: u32) -> u32 {
        router.min(self.nodes - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_routes, check_wiring};
    use super::*;

    #[test]
    fn every_pair_on_every_size() {
        for nodes in 1..=64 {
            for columns in [0, 1, nodes.min(3), nodes] {
                let mesh = Mesh::new(nodes, columns).unwrap();
                check_wiring(&mesh);
                check_routes(&mesh);
            }
        }
        assert!(Mesh::new(3, 4).is_err());
    }

    #[test]
    fn corner_to_corner() {
        let mesh = Mesh::new(12, 4).unwrap();
        assert_eq!(mesh.switches(0, 11), 3 + 2 + 1);
    }
}

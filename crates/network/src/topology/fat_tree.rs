//! A fat tree as a *k*-ary *n*-tree, the network of Arctic routers (*k* = 2).
//!
//! C. E. Leiserson, "Fat-trees: universal networks for hardware-efficient supercomputing", IEEE Trans.
//! Computers C-34(10), 1985. F. Petrini and M. Vanneschi, "K-ary n-trees: high performance networks for
//! massively parallel architectures", TR-95-18, Pisa, 1995, for the numbering below (levels counted from
//! the leaves here). G. A. Boughton, "Arctic routing chip", LNCS 853, 1994: a 4x4 router, so two ports down
//! and two up.

use super::{Header, Hop, NODES_MAX, Neighbour, RouterPort, Topology, check_nodes};

chasqui_config::choice! {
    /// What chooses the way up. Either way all packets of a pair of nodes take one path, so links and FIFO
    /// buffers keep them in order.
    pub enum UpRoute {
        /// Digit of the destination: all packets to one node meet on one path down, which no other
        /// destination's packets use; every shift permutation of a full tree is free of contention.
        Destination = "destination",
        /// Digit of the source: each node has a path of its own up, so contention is on the way down only.
        Source = "source",
    }
}

/// A tree of `levels` levels of routers with `arity` ports down (0 to arity-1) and as many up (the rest).
///
/// Write the address of a node with digits p(n-1)…p(0) to base *k*. The router <w, l> of level *l* (0 at
/// the leaves) has *n*-1 digits w(n-2)…w(0). Node *p* hangs on port p(0) of router <p(n-1)…p(1), 0>. Up
/// port *u* of <w, l> leads to the router <w', l+1>, *w'* being *w* with *u* as digit *l*, and enters there
/// by down port w(l). So <w, l> is above the nodes with p(j+1) = w(j) for j >= l, and the port down to
/// node *p* is p(l). A packet climbs by port u = digit *l* of the destination or source, until the
/// router is above the destination, and then descends.
///
/// Two nodes whose addresses differ in digit *m* and none above meet at level *m*: 2m+1 routers, 2m+2
/// links.
///
/// Deadlock: links up are ordered by level, rising; after them the links down, by level, falling. A route
/// climbs, then descends, and so takes links in that order.
///
/// A tree whose nodes are fewer than k^n has all its routers, and ports without a node.
#[derive(Clone, Debug)]
pub struct FatTree {
    nodes: u32,
    arity: u32,
    levels: u32,
    up_route: UpRoute,
    /// Routers of a level: k^(n-1).
    width: u32,
    /// Each router's place.
    places: Vec<Place>,
}

/// What the routing needs of a router.
#[derive(Clone, Copy, Debug)]
struct Place {
    level: u32,
    /// k^level.
    unit: u32,
    /// Nodes below: k^(level+1).
    below: u32,
    /// Address of the nodes below, divided by `below`.
    group: u32,
}

impl FatTree {
    /// The smallest tree that holds `nodes`.
    ///
    /// # Errors
    /// When there is no node, or more than a network may have.
    ///
    /// # Panics
    /// When `arity` is not 2 to 1024.
    pub fn new(nodes: u32, arity: u32, up_route: UpRoute) -> Result<FatTree, String> {
        assert!((2..=1024).contains(&arity), "arity {arity}");
        check_nodes(nodes, NODES_MAX, "a fat tree")?;
        let (mut levels, mut width) = (1, 1);
        while width * arity < nodes {
            levels += 1;
            width *= arity;
        }
        let mut places = vec![];
        for level in 0..levels {
            let unit = arity.pow(level);
            places.extend((0..width).map(|w| Place { level, unit, below: unit * arity, group: w / unit }));
        }
        Ok(FatTree { nodes, arity, levels, up_route, width, places })
    }

    /// Levels of routers.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    fn digit(&self, number: u32, unit: u32) -> u32 {
        number / unit % self.arity
    }
}

impl Topology for FatTree {
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn routers(&self) -> u32 {
        self.levels * self.width
    }
    fn ports(&self, _: u32) -> u16 {
        2 * self.arity as u16
    }
    fn attachment(&self, node: u32) -> RouterPort {
        RouterPort { router: node / self.arity, port: (node % self.arity) as u16 }
    }

    fn neighbour(&self, at: RouterPort) -> Neighbour {
        let Place { level, unit, .. } = self.places[at.router as usize];
        let (w, port) = (at.router % self.width, u32::from(at.port));
        if port >= self.arity {
            if level + 1 == self.levels {
                return Neighbour::Unconnected;
            }
            let down = self.digit(w, unit);
            let above = w - down * unit + (port - self.arity) * unit;
            Neighbour::Router(RouterPort { router: (level + 1) * self.width + above, port: down as u16 })
        } else if level > 0 {
            let unit = unit / self.arity;
            let up = self.digit(w, unit);
            let below = w - up * unit + port * unit;
            let port = (self.arity + up) as u16;
            Neighbour::Router(RouterPort { router: (level - 1) * self.width + below, port })
        } else {
            let node = w * self.arity + port;
            if node < self.nodes { Neighbour::Node(node) } else { Neighbour::Unconnected }
        }
    }

    fn route(&self, router: u32, _: u16, header: &Header) -> Hop {
        let place = &self.places[router as usize];
        if header.destination / place.below == place.group {
            return Hop::by(self.digit(header.destination, place.unit) as u16);
        }
        let guide = match self.up_route {
            UpRoute::Destination => header.destination,
            UpRoute::Source => header.source,
        };
        Hop::by((self.arity + self.digit(guide, place.unit)) as u16)
    }

    fn switches(&self, source: u32, destination: u32) -> u32 {
        let (mut a, mut b, mut switches) = (source / self.arity, destination / self.arity, 1);
        while a != b {
            (a, b, switches) = (a / self.arity, b / self.arity, switches + 2);
        }
        switches
    }

    /// Of the routers that are above the same leaves there are as many as these: each is near one of them.
    fn node_near(&self, router: u32) -> u32 {
        (router % self.width * self.arity).min(self.nodes - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_routes, check_wiring, way};
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_pair_on_every_size() {
        for nodes in 1..=64 {
            for up_route in [UpRoute::Destination, UpRoute::Source] {
                let tree = FatTree::new(nodes, 4, up_route).unwrap();
                check_wiring(&tree);
                check_routes(&tree);
            }
        }
        for (nodes, arity) in [(17, 2), (32, 2), (30, 3), (65, 4), (100, 8)] {
            let tree = FatTree::new(nodes, arity, UpRoute::Destination).unwrap();
            check_wiring(&tree);
            check_routes(&tree);
        }
    }

    #[test]
    fn levels_are_the_logarithm_of_the_nodes() {
        for (nodes, levels) in
            [(1, 1), (4, 1), (5, 2), (16, 2), (17, 3), (64, 3), (65, 4), (256, 4), (257, 5)]
        {
            assert_eq!(FatTree::new(nodes, 4, UpRoute::Source).unwrap().levels(), levels, "{nodes} nodes");
        }
    }

    #[test]
    fn distance_grows_by_two_routers_a_level() {
        let tree = FatTree::new(64, 4, UpRoute::Destination).unwrap();
        // One leaf router between its nodes: two hops.
        assert_eq!([1, 3, 4, 15, 16, 63].map(|node| tree.switches(0, node)), [1, 1, 3, 3, 5, 5]);
    }

    /// Zahavi 2012: with D-Mod-K no two packets of a shift permutation share a link.
    #[test]
    fn shifts_share_no_link() {
        let tree = FatTree::new(64, 4, UpRoute::Destination).unwrap();
        for shift in 0..64 {
            let mut used = HashSet::new();
            for source in 0..64 {
                for (link, _) in way(&tree, source, (source + shift) % 64) {
                    assert!(used.insert((link.router, link.port)), "shift {shift} shares {link:?}");
                }
            }
        }
    }
}

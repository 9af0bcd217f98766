//! A torus of one to three dimensions with dimension-order routing.

use super::{Header, Hop, NODES_MAX, Neighbour, RouterPort, Topology, check_nodes};

const NODE: u16 = 0;
/// Dimensions, at most.
const DIMENSIONS: usize = 3;

/// Rings in each dimension through every router, a node on each router; the last routers may be without. A packet
/// goes the shorter way round, one dimension after the other.
///
/// Deadlock: a ring closes on itself, so each of its links has two virtual channels. A packet takes the first while the
/// link behind the ring's last router is still ahead of it, the second else. Order the channels by dimension, then
/// direction, then first before second, then along the direction from the ring's first router on (Dally and Seitz
/// 1987, section V).
#[derive(Clone, Debug)]
pub struct Torus {
    nodes: u32,
    /// Routers of a ring, by dimension.
    sides: [u32; DIMENSIONS],
}

impl Torus {
    /// A torus of so many `dimensions` for `nodes` nodes. `sides`: routers of a ring of the first and of the second
    /// dimension; 0: those of the least square or cube. The last dimension's follow from the nodes.
    ///
    /// # Errors
    /// When there is no node, more than a network may have, or more routers in a ring than nodes.
    pub fn new(nodes: u32, dimensions: u32, sides: [u32; 2]) -> Result<Torus, String> {
        check_nodes(nodes, NODES_MAX, "a torus")?;
        let mut torus = Torus { nodes, sides: [1; DIMENSIONS] };
        let mut left = nodes;
        for (dimension, side) in torus.sides.iter_mut().take(dimensions as usize).enumerate() {
            let asked = sides.get(dimension).copied().unwrap_or(0);
            if asked > nodes {
                return Err(format!(
                    "a torus of {nodes} nodes with rings of {asked}; allowed is 1 to {nodes}"
                ));
            }
            let more = dimensions - dimension as u32;
            *side = if asked > 0 && more > 1 { asked } else { root(left, more) };
            left = left.div_ceil(*side);
        }
        Ok(torus)
    }

    /// From one router to the next along `dimension`.
    fn stride(&self, dimension: usize) -> u32 {
        self.sides[..dimension].iter().product()
    }

    /// Where `router` is in its ring.
    fn place(&self, router: u32, dimension: usize) -> u32 {
        router / self.stride(dimension) % self.sides[dimension]
    }

    /// From `at` to `to` in a ring of `dimension`: links on the shorter way, and whether that is up.
    fn way(&self, dimension: usize, at: u32, to: u32) -> (u32, bool) {
        let side = self.sides[dimension];
        let up = (to + side - at) % side;
        if up <= side - up { (up, true) } else { (side - up, false) }
    }

    /// The port up or down along `dimension`.
    fn port(dimension: usize, up: bool) -> u16 {
        1 + 2 * dimension as u16 + u16::from(!up)
    }
}

/// The least number whose `power`-th power is `nodes` or more.
fn root(nodes: u32, power: u32) -> u32 {
    (1..=nodes).find(|side| u64::from(*side).pow(power) >= u64::from(nodes)).unwrap_or(1)
}

impl Topology for Torus {
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn routers(&self) -> u32 {
        self.sides.iter().product()
    }
    fn ports(&self, _: u32) -> u16 {
        1 + 2 * DIMENSIONS as u16
    }
    fn attachment(&self, node: u32) -> RouterPort {
        RouterPort { router: node, port: NODE }
    }

    fn neighbour(&self, at: RouterPort) -> Neighbour {
        let Some(link) = at.port.checked_sub(1) else {
            return if at.router < self.nodes { Neighbour::Node(at.router) } else { Neighbour::Unconnected };
        };
        let (dimension, up) = (usize::from(link / 2), link % 2 == 0);
        let (side, stride) = (self.sides[dimension], self.stride(dimension));
        if side == 1 {
            return Neighbour::Unconnected;
        }
        let place = self.place(at.router, dimension);
        let next = (place + if up { 1 } else { side - 1 }) % side;
        let router = at.router - place * stride + next * stride;
        Neighbour::Router(RouterPort { router, port: Torus::port(dimension, !up) })
    }

    fn virtual_channels(&self) -> u8 {
        2
    }

    fn route(&self, router: u32, _: u16, header: &Header) -> Hop {
        for dimension in 0..DIMENSIONS {
            let (at, to) = (self.place(router, dimension), self.place(header.destination, dimension));
            if at != to {
                let (_, up) = self.way(dimension, at, to);
                let goes_round = if up { to < at } else { to > at };
                return Hop { port: Torus::port(dimension, up), virtual_channel: u8::from(!goes_round) };
            }
        }
        Hop::by(NODE)
    }

    fn switches(&self, source: u32, destination: u32) -> u32 {
        let links = |dimension| {
            self.way(dimension, self.place(source, dimension), self.place(destination, dimension)).0
        };
        (0..DIMENSIONS).map(links).sum::<u32>() + 1
    }

    fn node_near(&self, router: u32) -> u32 {
        router.min(self.nodes - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_routes, check_routes_need_channels, check_wiring};
    use super::*;

    #[test]
    fn every_pair_on_many_sizes() {
        for nodes in (1..=20).chain([27, 32, 36, 60, 64]) {
            for (dimensions, sides) in [(1, [0, 0]), (2, [0, 0]), (2, [2, 0]), (3, [0, 0]), (3, [2, 3])] {
                if sides.iter().any(|&side| side > nodes) {
                    continue;
                }
                let torus = Torus::new(nodes, dimensions, sides).unwrap();
                check_wiring(&torus);
                check_routes(&torus);
            }
        }
        assert!(Torus::new(3, 2, [4, 0]).is_err());
    }

    #[test]
    fn one_channel_would_not_do() {
        check_routes_need_channels(&Torus::new(5, 1, [0, 0]).unwrap());
    }

    #[test]
    fn packets_go_the_shorter_way_round() {
        let ring = Torus::new(6, 1, [0, 0]).unwrap();
        assert_eq!([1, 2, 3, 4, 5].map(|to| ring.switches(0, to)), [2, 3, 4, 3, 2]);
        let cube = Torus::new(64, 3, [0, 0]).unwrap();
        assert_eq!((cube.sides, cube.switches(0, 63)), ([4, 4, 4], 1 + 1 + 1 + 1));
        // A mean of a quarter of each ring's length (Dally and Towles, section 5.2).
        let links: u32 = (0..64).map(|to| cube.switches(0, to) - 1).sum();
        assert_eq!(links, 64 * 3);
    }
}

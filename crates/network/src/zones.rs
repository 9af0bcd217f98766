//! Zones of a network: nodes near each other, and the routers near them. Host threads have one each, since what happens
//! in one is noticed later in the others.

use std::collections::VecDeque;

use crate::wiring::Wiring;

/// How a network is divided.
#[derive(Clone, Debug)]
pub(crate) struct Zones {
    /// How many.
    pub count: u32,
    /// By router.
    of_router: Vec<u32>,
    /// Routers on the shortest way between nodes of different zones; 1 if there is one zone.
    pub switches_between: u32,
}

impl Zones {
    /// All is one.
    pub fn one(wiring: &Wiring) -> Zones {
        Zones { count: 1, of_router: vec![0; wiring.routers().len()], switches_between: 1 }
    }

    /// As many as `wanted`, if each then has nodes, and none a fourth more than its part; else one.
    pub fn new(wiring: &Wiring, wanted: u32) -> Zones {
        let nodes = wiring.topology.nodes();
        let near = |node: u32| (u64::from(node) * u64::from(wanted) / u64::from(nodes)) as u32;
        let of_router = wiring.routers().map(|router| near(wiring.topology.node_near(router))).collect();
        let mut zones = Zones { count: wanted, of_router, switches_between: 1 };
        let mut sizes = vec![0; wanted as usize];
        (0..nodes).for_each(|node| sizes[zones.of(wiring.topology.attachment(node).router) as usize] += 1);
        let is_even = |&size: &u32| size > 0 && size * wanted * 4 <= nodes * 5;
        if wanted == 1 || !sizes.iter().all(is_even) {
            return Zones::one(wiring);
        }
        zones.switches_between =
            (0..wanted).map(|zone| zones.switches_from(zone, wiring)).min().expect("there are zones");
        zones
    }

    /// The zone of `router`.
    #[inline]
    pub fn of(&self, router: u32) -> u32 {
        self.of_router[router as usize]
    }

    /// Routers on the shortest way from a node of `zone` to one of another.
    fn switches_from(&self, zone: u32, wiring: &Wiring) -> u32 {
        let begin = |&router: &u32| self.of(router) == zone && wiring.has_nodes(router);
        let mut reached: VecDeque<(u32, u32)> =
            wiring.routers().filter(begin).map(|router| (router, 1)).collect();
        let mut is_reached = vec![false; wiring.routers().len()];
        while let Some((router, switches)) = reached.pop_front() {
            if self.of(router) != zone && wiring.has_nodes(router) {
                return switches;
            }
            if !std::mem::replace(&mut is_reached[router as usize], true) {
                reached.extend(wiring.routers_beside(router).map(|next| (next, switches + 1)));
            }
        }
        unreachable!("networks are in one piece")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NetworkParameters, TopologyKind};

    fn wiring(topology: TopologyKind, nodes: u32) -> Wiring {
        let graph = include_str!("../tests/graph.toml").into();
        let parameters = NetworkParameters { topology, graph, ..NetworkParameters::default() };
        Wiring::new(parameters.build_topology(nodes).expect("a topology"))
    }

    #[test]
    fn zones_are_even_or_there_is_one() {
        let mut divided = 0;
        for &topology in TopologyKind::ALL {
            for (nodes, wanted) in (1..=70).flat_map(|nodes| (1..=8).map(move |wanted| (nodes, wanted))) {
                let wiring = wiring(topology, nodes);
                let zones = Zones::new(&wiring, wanted);
                assert!(zones.count == 1 || zones.count == wanted);
                assert!(wiring.routers().all(|router| zones.of(router) < zones.count));
                let zone_of = |node| zones.of(wiring.topology.attachment(node).router);
                for zone in 0..zones.count {
                    let size = (0..nodes).filter(|&node| zone_of(node) == zone).count() as u32;
                    assert!(size > 0 && size * zones.count * 4 <= nodes * 5, "{topology:?}, {nodes} nodes");
                }
                divided += u32::from(zones.count > 1);
                let pairs = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
                let between = pairs.filter(|&(a, b)| zone_of(a) != zone_of(b));
                let least = between.map(|(a, b)| wiring.topology.switches(a, b)).min();
                assert_eq!(zones.switches_between, least.unwrap_or(1), "{topology:?}, {nodes} nodes");
            }
        }
        assert!(divided > 200, "{divided} of 1680");
    }

    #[test]
    fn a_fat_tree_is_divided_by_its_leaves() {
        let wiring = wiring(TopologyKind::FatTree, 16);
        let zones = Zones::new(&wiring, 2);
        // Four leaves, and above them as many.
        assert_eq!(zones.of_router, [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(zones.switches_between, 3);
        assert_eq!(Zones::new(&wiring, 3).count, 1, "8, 4 and 4 nodes are not even");
        assert_eq!(Zones::new(&self::wiring(TopologyKind::Crossbar, 16), 2).count, 1);
    }
}

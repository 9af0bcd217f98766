//! A dragonfly with minimal routing.

use super::{Header, Hop, NODES_MAX, Neighbour, RouterPort, Topology, check_nodes};

/// Groups of routers that are all joined to each other; between any two groups there is one link (J. Kim, W. Dally,
/// S. Scott and D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008). A packet goes to the
/// router of its group that has the link to the destination's group, over that, and to the destination's router.
///
/// Deadlock: links within groups have two virtual channels. Order the first ones of all groups, by which packets leave,
/// then the links between groups, then the second ones, by which they come.
#[derive(Clone, Debug)]
pub struct Dragonfly {
    nodes: u32,
    groups: u32,
    /// Routers of a group.
    routers: u32,
    /// Nodes of a router.
    hosts: u32,
    /// Links of a router to other groups.
    globals: u32,
}

impl Dragonfly {
    /// A dragonfly for `nodes` nodes with so many nodes a router (0: the least with which it is balanced), routers a group
    /// (0: twice as many) and links to other groups a router (0: as many as nodes).
    ///
    /// # Errors
    /// When there is no node, more than a network may have, or a group has not links enough to all others.
    pub fn new(nodes: u32, hosts: u32, routers: u32, globals: u32) -> Result<Dragonfly, String> {
        check_nodes(nodes, NODES_MAX, "a dragonfly")?;
        let least = (1..).find(|p: &u64| 2 * p * p * (2 * p * p + 1) >= u64::from(nodes)).unwrap_or(1) as u32;
        let hosts = if hosts == 0 { least } else { hosts };
        let routers = if routers == 0 { 2 * hosts } else { routers };
        let globals = if globals == 0 { hosts } else { globals };
        let groups = nodes.div_ceil(routers * hosts);
        let reached = routers * globals + 1;
        if groups > reached {
            return Err(format!(
                "a dragonfly of {nodes} nodes has {groups} groups of {routers} routers with {hosts} nodes each; {globals} \
                 links of a router to other groups allow 1 to {reached} groups"
            ));
        }
        Ok(Dragonfly { nodes, groups, routers, hosts, globals })
    }

    fn router_of(&self, node: u32) -> u32 {
        node / self.hosts
    }

    fn group_of(&self, router: u32) -> u32 {
        router / self.routers
    }

    /// The port of `router` to the other router `to` of its group.
    fn local_port(&self, router: u32, to: u32) -> u16 {
        let (at, to) = (router % self.routers, to % self.routers);
        (self.hosts + to - u32::from(to > at)) as u16
    }

    /// Where the link of group `from` to group `to` is. Links are dealt out in the order of the groups behind their own.
    fn gateway(&self, from: u32, to: u32) -> RouterPort {
        let link = (to + self.groups - from) % self.groups - 1;
        let port = self.hosts + self.routers - 1 + link % self.globals;
        RouterPort { router: from * self.routers + link / self.globals, port: port as u16 }
    }
}

impl Topology for Dragonfly {
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn routers(&self) -> u32 {
        self.groups * self.routers
    }
    fn ports(&self, _: u32) -> u16 {
        (self.hosts + self.routers - 1 + self.globals) as u16
    }
    fn attachment(&self, node: u32) -> RouterPort {
        RouterPort { router: self.router_of(node), port: (node % self.hosts) as u16 }
    }

    fn neighbour(&self, RouterPort { router, port }: RouterPort) -> Neighbour {
        let (group, own, port) = (self.group_of(router), router % self.routers, u32::from(port));
        if port < self.hosts {
            let node = router * self.hosts + port;
            return if node < self.nodes { Neighbour::Node(node) } else { Neighbour::Unconnected };
        }
        let local = port - self.hosts;
        if local < self.routers - 1 {
            let to = group * self.routers + local + u32::from(local >= own);
            return Neighbour::Router(RouterPort { router: to, port: self.local_port(to, router) });
        }
        let link = own * self.globals + local - (self.routers - 1);
        if link + 1 >= self.groups {
            return Neighbour::Unconnected;
        }
        let to = (group + link + 1) % self.groups;
        Neighbour::Router(self.gateway(to, group))
    }

    fn virtual_channels(&self) -> u8 {
        2
    }

    fn route(&self, router: u32, _: u16, header: &Header) -> Hop {
        let (to, group) = (self.router_of(header.destination), self.group_of(router));
        let within = |next| {
            let comes = self.group_of(self.router_of(header.source)) != group;
            Hop { port: self.local_port(router, next), virtual_channel: u8::from(comes) }
        };
        if to == router {
            return Hop::by((header.destination % self.hosts) as u16);
        }
        if self.group_of(to) == group {
            return within(to);
        }
        let gateway = self.gateway(group, self.group_of(to));
        if gateway.router == router { Hop::by(gateway.port) } else { within(gateway.router) }
    }

    fn switches(&self, source: u32, destination: u32) -> u32 {
        let (from, to) = (self.router_of(source), self.router_of(destination));
        let (here, there) = (self.group_of(from), self.group_of(to));
        if here == there {
            return 1 + u32::from(from != to);
        }
        let (leaves, comes) = (self.gateway(here, there).router, self.gateway(there, here).router);
        2 + u32::from(from != leaves) + u32::from(to != comes)
    }

    fn node_near(&self, router: u32) -> u32 {
        (router * self.hosts).min(self.nodes - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_routes, check_routes_need_channels, check_wiring};
    use super::*;

    #[test]
    fn every_pair_on_many_sizes() {
        for nodes in (1..=24).chain([36, 72, 100]) {
            for (hosts, routers, globals) in [(0, 0, 0), (1, 4, 8), (2, 4, 4), (3, 2, 20), (4, 1, 30)] {
                let dragonfly = Dragonfly::new(nodes, hosts, routers, globals).unwrap();
                check_wiring(&dragonfly);
                check_routes(&dragonfly);
            }
        }
        let text = Dragonfly::new(73, 2, 4, 2).unwrap_err();
        assert!(text.contains("10 groups") && text.contains("1 to 9 groups"), "{text}");
    }

    #[test]
    fn one_channel_would_not_do() {
        check_routes_need_channels(&Dragonfly::new(72, 2, 4, 2).unwrap());
    }

    #[test]
    fn the_balanced_one_of_its_paper() {
        // p = h = 2, a = 4: 9 groups, 72 nodes (figure 5), and no way has more than four routers.
        let dragonfly = Dragonfly::new(72, 0, 0, 0).unwrap();
        assert_eq!((dragonfly.hosts, dragonfly.routers, dragonfly.groups), (2, 4, 9));
        assert_eq!((0..72).map(|to| dragonfly.switches(0, to)).max(), Some(4));
    }
}

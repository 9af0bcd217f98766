//! The parameters of a network.

use chasqui_config::{Bandwidth, Bytes, Count, Document, Duration, Origin, Parameter, Resolved};
use chasqui_engine::Time;

use crate::switching::Forwarding;
use crate::topology::{Graph, TopologyKind, UpRoute};
use crate::{FaultKind, FaultParameters, FaultyLinks, Link, Switching, Topology};

/// Packets that a buffer of an ideal network holds: more than ever are in flight.
const UNLIMITED: u32 = 1 << 30;

chasqui_config::parameters! {
    /// The interconnect: routers with finite buffers and credits. All links are alike: cut-through must never run out of
    /// bytes because the link before is slower than the one after.
    pub struct NetworkParameters {
        /// How routers are joined.
        topology: TopologyKind = "fat-tree", source "assumption";
        /// Down-links of a fat tree's router.
        arity: Count = 4, range 2 ..= 64, source "assumption";
        /// What chooses the way up a fat tree.
        up_route: UpRoute = "destination", source "Zahavi, J. Parallel Distrib. Comput. 72(11), 2012: D-Mod-K is free of contention for shift permutations";
        /// Columns of a mesh; routers of a ring in a torus's first dimension of several. 0: those of the least square or cube.
        columns: Count = 0, range 0 ..= 65536, source "assumption";
        /// Dimensions of a torus.
        dimensions: Count = 2, range 1 ..= 3, source "assumption";
        /// Routers of a ring in the second dimension of a torus that has three. 0: those of the least square or cube.
        rows: Count = 0, range 0 ..= 65536, source "assumption";
        /// Nodes of a dragonfly's router. 0: the least with which a balanced one has room for all nodes.
        router_nodes: Count = 0, range 0 ..= 64, source "assumption";
        /// Routers of a dragonfly's group. 0: twice as many as nodes of a router.
        group_routers: Count = 0, range 0 ..= 1024, source "Kim et al., ISCA 2008, section 3.1: a = 2p = 2h is balanced";
        /// Links to other groups of a dragonfly's router. 0: as many as nodes of a router.
        group_links: Count = 0, range 0 ..= 1024, source "Kim et al., ISCA 2008, section 3.1: a = 2p = 2h is balanced";
        /// The switches of a graph, their links and which nodes hang on them: the name of a file that ends in .toml, or its text
        /// (crates/network/README.md, Graphs).
        graph: Document = "", source "ours: there is no graph unless one is named";
        /// The switch that is the root of a graph's tree: links towards it go up.
        graph_root: Count = 0, range 0 ..= 1023, source "ours: the switch of the lowest number";
        /// Bandwidth of a link, each way.
        link_bandwidth: Bandwidth = "1 GB/s", range "1 B/s" ..= "1000 GB/s", source "assumption";
        /// Latency of a link.
        link_latency: Duration = "25 ns", range "1 ps" ..= "1 s", source "assumption: a few metres of cable and its drivers";
        /// What a router needs to find a packet's way: from the arrival of its head, or of its tail with store-and-forward,
        /// to its departure, unloaded.
        routing_delay: Duration = "75 ns", range "0 ns" ..= "1 s", source "assumption";
        /// What a router does with a packet that arrives.
        switching: Switching = "cut-through", source "Kermani and Kleinrock, Computer Networks 3, 1979";
        /// Packets that an input buffer of a router holds, for each virtual channel of each virtual network.
        input_buffer: Count = 4, range 1 ..= 65536, source "assumption";
        /// Packets that the receive buffer of a node's interface holds, for each virtual network.
        receive_buffer: Count = 4, range 1 ..= 65536, source "assumption";
        /// Longest packet, header and check included.
        packet_max: Bytes = "96 B", range "8 B" ..= "64 KiB", source "assumption";
    } and groups {
        /// Faulty links.
        fault: FaultParameters;
    }
}

impl NetworkParameters {
    /// What does not fit of the network of `resolved`, which these parameters are, in words, where the protocol above copes
    /// with the faults `copes_with`.
    pub fn mistakes(&self, resolved: &Resolved, copes_with: &[FaultKind]) -> Vec<String> {
        let link = FaultyLinks::parse(&self.fault.link).err();
        let link = link.map(|text| format!("network.fault.link: {text}"));
        let kind = self.fault.kind;
        // Wrong bits are found everywhere.
        let is_borne = kind == FaultKind::Corrupt || copes_with.contains(&kind);
        let refused = || {
            let mut allowed: Vec<_> = copes_with.iter().map(FaultKind::to_string).collect();
            if !copes_with.contains(&FaultKind::Corrupt) {
                allowed.insert(0, "corrupt (which ends the run)".into());
            }
            format!(
                "network.fault.kind: the machine's protocol does not cope with {kind}; allowed: {}",
                allowed.join(", ")
            )
        };
        let breaks = || {
            format!(
                "network.fault.kind: {kind} would break a worm; with network.switching = wormhole allowed are corrupt, delay"
            )
        };
        let leaves_worms = matches!(kind, FaultKind::Corrupt | FaultKind::Delay);
        let is_broken = self.switching == Switching::Wormhole && !leaves_worms;
        let kind = (self.fault.is_on() && !is_borne).then(refused);
        let worms = (self.fault.is_on() && is_broken).then(breaks);
        let in_vain = (!self.fault.is_on()).then(|| set_in_vain(resolved)).flatten();
        let graph = match self.topology {
            TopologyKind::Graph => Graph::mistakes(&self.graph, self.graph_root as u32),
            _ => vec![],
        };
        link.into_iter().chain(kind).chain(worms).chain(in_vain).chain(graph).collect()
    }

    /// The topology for `nodes` nodes.
    ///
    /// # Errors
    /// That it cannot hold so many nodes.
    pub fn build_topology(&self, nodes: u32) -> Result<Box<dyn Topology>, String> {
        self.topology.build(nodes, self)
    }

    /// A link of this network.
    pub fn link(&self) -> Link {
        match self.topology {
            TopologyKind::Ideal => Link::without_bandwidth(self.link_latency()),
            _ => Link::new(self.link_bandwidth.bytes_per_s(), self.link_latency()),
        }
    }

    /// Packets that an input buffer of a router holds, for each virtual channel.
    pub fn input_buffer(&self) -> u32 {
        self.buffer(self.input_buffer)
    }

    /// Packets that the receive buffer of a node's interface holds, for each virtual network.
    pub fn receive_buffer(&self) -> u32 {
        self.buffer(self.receive_buffer)
    }

    fn buffer(&self, packets: Count) -> u32 {
        if self.topology == TopologyKind::Ideal { UNLIMITED } else { packets as u32 }
    }

    /// Time from a byte's departure at one end of a link to its arrival at the other.
    pub fn link_latency(&self) -> Time {
        Time(self.link_latency.ps())
    }

    /// What a packet spends in a router, if nothing is in its way.
    pub(crate) fn forwarding(&self) -> Forwarding {
        Forwarding { switching: self.switching, routing_delay: self.routing_delay() }
    }

    /// What a router needs to find a packet's way: the least that any packet spends in it.
    pub fn routing_delay(&self) -> Time {
        match self.topology {
            TopologyKind::Ideal => Time::ZERO,
            _ => Time(self.routing_delay.ps()),
        }
    }

    /// Look-ahead from a node to the fabric and from the fabric to a node: the latency of a link, in
    /// both cases, for a credit or the head of a packet takes no less.
    pub fn lookahead(&self) -> (Time, Time) {
        (self.link_latency(), self.link_latency())
    }

    /// Time from the departure of the head of a packet of `bytes` at its source to the arrival of its head at the
    /// destination through `switches` routers, nothing being in its way.
    pub fn unloaded_head_latency(&self, switches: u32, bytes: u32) -> Time {
        let switches = u64::from(switches);
        let in_router = self.forwarding().after(self.link().serialization(bytes));
        Time((switches + 1) * self.link_latency.ps() + switches * in_router.0)
    }
}

/// A fault is described of which nothing says which packets it hits.
fn set_in_vain(resolved: &Resolved) -> Option<String> {
    let is_set = |p: &&Parameter| p.origin != Origin::Default;
    let of_faults = |p: &&Parameter| p.path.starts_with("network.fault.");
    let set: Vec<_> = resolved.parameters().iter().filter(of_faults).filter(is_set).collect();
    // Who sets one of them to 0 wants no faults.
    let chooses = |p: &&Parameter| ["network.fault.rate", "network.fault.packet"].contains(&p.path.as_str());
    if set.iter().any(chooses) {
        return None;
    }
    let first = &set.first()?.path;
    Some(format!("{first}: network.fault.rate and network.fault.packet are both 0: nothing is hit"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_config::Schema;

    fn defaults() -> Resolved {
        Resolved::defaults(&Schema::new().with::<NetworkParameters>("network"))
    }

    #[test]
    fn the_declarations_are_sound() {
        assert_eq!(Schema::new().with::<NetworkParameters>("network").mistakes(), Vec::<String>::new());
        assert_eq!(NetworkParameters::default().mistakes(&defaults(), &[]), Vec::<String>::new());
    }

    #[test]
    fn what_a_protocol_does_not_cope_with_is_refused() {
        let hit = |kind| NetworkParameters {
            fault: FaultParameters { kind, packet: 1, ..Default::default() },
            ..Default::default()
        };
        assert_eq!(hit(FaultKind::Corrupt).mistakes(&defaults(), &[]), Vec::<String>::new());
        assert_eq!(hit(FaultKind::Drop).mistakes(&defaults(), &[FaultKind::Drop]), Vec::<String>::new());
        let [refused] = &hit(FaultKind::Delay).mistakes(&defaults(), &[FaultKind::Drop])[..] else {
            panic!("one mistake")
        };
        assert!(
            refused.ends_with("cope with delay; allowed: corrupt (which ends the run), drop"),
            "{refused}"
        );
        let off = NetworkParameters {
            fault: FaultParameters { kind: FaultKind::Delay, ..Default::default() },
            ..Default::default()
        };
        assert_eq!(off.mistakes(&defaults(), &[]), Vec::<String>::new(), "nothing is hit");
    }

    #[test]
    fn what_would_break_a_worm_is_refused() {
        for &kind in crate::FAULTS {
            let fault = FaultParameters { kind, packet: 1, ..Default::default() };
            let parameters =
                NetworkParameters { switching: Switching::Wormhole, fault, ..Default::default() };
            let mistakes = parameters.mistakes(&defaults(), crate::FAULTS);
            if [FaultKind::Corrupt, FaultKind::Delay].contains(&kind) {
                assert_eq!(mistakes, Vec::<String>::new(), "{kind}");
            } else {
                let expected = format!("network.fault.kind: {kind} would break a worm; with");
                assert!(mistakes.len() == 1 && mistakes[0].starts_with(&expected), "{mistakes:?}");
            }
        }
    }

    #[test]
    fn a_graph_that_is_not_there_is_refused_where_it_is_needed() {
        let parameters = NetworkParameters { topology: TopologyKind::Graph, ..Default::default() };
        let [refused] = &parameters.mistakes(&defaults(), &[])[..] else { panic!("one mistake") };
        assert!(refused.starts_with("network.graph: nothing says what the graph is; set it to"), "{refused}");
    }

    #[test]
    fn too_many_nodes_and_none_are_refused() {
        for &topology in TopologyKind::ALL {
            let graph = include_str!("../tests/graph.toml").into();
            let parameters = NetworkParameters { topology, graph, ..Default::default() };
            for nodes in [0, u32::MAX] {
                let error = parameters.build_topology(nodes).err().unwrap();
                assert!(error.contains(&nodes.to_string()), "{topology}: {error:?}");
            }
        }
    }
}

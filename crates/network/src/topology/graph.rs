//! Any graph of switches, from a document, with up*/down* routes.

mod plan;
mod up_down;

use std::collections::VecDeque;

use chasqui_config::Document;

use plan::Plan;
use up_down::UpDown;

use super::{Header, Hop, Neighbour, RouterPort, Topology};

/// The switches that a document names, with the nodes that hang on them. A run may have fewer nodes than that: the ports of
/// the others are ends.
///
/// A packet takes the shortest of the legal ways, which go up zero links or more and then down zero or more (up*/down*,
/// [`UpDown`]); of several of equal length, at each switch, the one by the lowest port. So all packets of a source and a
/// destination take one way. Whether a packet may still go up follows from the port by which it came.
///
/// Deadlock: order the links up by the place of the switch at which they begin, from the farthest from the root to the
/// root, and after them the links down by that of theirs, from the root on. A legal way takes them in that order.
pub struct Graph {
    nodes: u32,
    plan: Plan,
    routes: UpDown,
    /// By switch: a node of its own, or else of a nearest switch that has some.
    nodes_near: Vec<u32>,
}

impl Graph {
    /// The graph of `document` with `nodes` of its nodes, and `root` as the root of the tree that says which links go up.
    ///
    /// # Errors
    /// All that is wrong with the document; that it has fewer nodes; that there is no such root.
    pub fn new(nodes: u32, document: &Document, root: u32) -> Result<Graph, String> {
        let mut plan = Plan::read(document).map_err(|problems| problems.join("; "))?;
        let most = plan.attachments.len() as u32;
        if !(1..=most).contains(&nodes) {
            return Err(format!(
                "network.graph: it has {most} nodes; {nodes} are asked for, allowed is 1 to {most}"
            ));
        }
        plan.keep_nodes(nodes);
        let routes = UpDown::new(&plan.ports, root)?;
        let nodes_near = nodes_near(&plan);
        Ok(Graph { nodes, plan, routes, nodes_near })
    }

    /// What is wrong with `document` or with `root`, a sentence each.
    pub fn mistakes(document: &Document, root: u32) -> Vec<String> {
        match Plan::read(document) {
            Ok(plan) => UpDown::new(&plan.ports, root).err().into_iter().collect(),
            Err(problems) => problems,
        }
    }
}

/// By switch: the first of its nodes, or of those of a switch that is the nearest to have some.
fn nodes_near(plan: &Plan) -> Vec<u32> {
    let mut near = vec![None; plan.ports.len()];
    let of_nodes = plan.attachments.iter().zip(0..).map(|(at, node)| (at.router, node));
    let mut reached: VecDeque<(u32, u32)> = of_nodes.collect();
    while let Some((switch, node)) = reached.pop_front() {
        if near[switch as usize].is_none() {
            near[switch as usize] = Some(node);
            reached.extend(up_down::beside(&plan.ports, switch).map(|(_, next)| (next, node)));
        }
    }
    near.into_iter().map(|node| node.expect("a graph in one piece, with nodes")).collect()
}

impl Topology for Graph {
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn routers(&self) -> u32 {
        self.plan.ports.len() as u32
    }
    fn ports(&self, router: u32) -> u16 {
        self.plan.ports[router as usize].len() as u16
    }
    fn attachment(&self, node: u32) -> RouterPort {
        self.plan.attachments[node as usize]
    }
    fn neighbour(&self, at: RouterPort) -> Neighbour {
        self.plan.ports[at.router as usize][usize::from(at.port)]
    }

    fn route(&self, router: u32, input: u16, header: &Header) -> Hop {
        let to = self.attachment(header.destination);
        if to.router == router {
            return Hop::by(to.port);
        }
        let came_down = match self.neighbour(RouterPort { router, port: input }) {
            Neighbour::Router(from) => !self.routes.is_up(from.router, router),
            Neighbour::Node(_) | Neighbour::Unconnected => false,
        };
        Hop::by(self.routes.port(router, to.router, came_down))
    }

    fn switches(&self, source: u32, destination: u32) -> u32 {
        self.routes.links(self.attachment(source).router, self.attachment(destination).router) + 1
    }

    fn node_near(&self, router: u32) -> u32 {
        self.nodes_near[router as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_routes, check_wiring, way};
    use super::*;
    use crate::NetworkParameters;
    use chasqui_config::{Parameters as _, Scalar};
    use chasqui_random::Random;

    /// A graph in one piece of a few switches: its document, and pairs of switches that are joined.
    fn random_graph(random: &mut Random) -> (String, u32, Vec<(u64, u64)>) {
        let switches = 1 + random.below(14);
        let mut links: Vec<_> = (1..switches).map(|switch| (switch, random.below(switch))).collect();
        for _ in 0..random.below(2 * switches) {
            let (a, b) = (random.below(switches), random.below(switches));
            links.extend((a != b).then_some((a, b)));
        }
        // Numbers say nothing about places.
        let mut names: Vec<u64> = (0..switches).collect();
        (1..switches).rev().for_each(|i| names.swap(i as usize, random.below(i + 1) as usize));
        links.iter_mut().for_each(|(a, b)| (*a, *b) = (names[*a as usize], names[*b as usize]));
        let nodes: Vec<u64> = (0..=random.below(20)).map(|_| random.below(switches)).collect();
        let texts: Vec<_> = links.iter().map(|(a, b)| format!("\"{a}-{b}\"")).collect();
        let text = format!("switches = {switches}\nlinks = [{}]\nnodes = {nodes:?}", texts.join(", "));
        (text, nodes.len() as u32, links)
    }

    fn graph(text: &str, nodes: u32, root: u32) -> Graph {
        Graph::new(nodes, &text.into(), root).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Links between switches on the shortest legal way between any two, by trying again and again what one link more
    /// reaches: by source, then whether it has gone down, then destination.
    fn shortest(switches: usize, links: &[(u64, u64)], root: usize) -> Vec<Vec<u64>> {
        const FAR: u64 = 1 << 32;
        let both: Vec<_> =
            links.iter().flat_map(|&(a, b)| [(a as usize, b as usize), (b as usize, a as usize)]).collect();
        let mut levels = vec![FAR; switches];
        levels[root] = 0;
        (0..switches).for_each(|_| both.iter().for_each(|&(a, b)| levels[b] = levels[b].min(levels[a] + 1)));
        let from = |source: usize| {
            let mut reached = vec![[FAR; 2]; switches];
            reached[source][0] = 0;
            for _ in 0..2 * switches {
                for &(a, b) in &both {
                    let [climbs, falls] = reached[a];
                    if (levels[b], b) < (levels[a], a) {
                        reached[b][0] = reached[b][0].min(climbs + 1);
                    } else {
                        reached[b][1] = reached[b][1].min(climbs.min(falls) + 1);
                    }
                }
            }
            reached.into_iter().map(|[climbs, falls]| climbs.min(falls)).collect()
        };
        (0..switches).map(from).collect()
    }

    #[test]
    fn random_graphs_have_shortest_legal_ways_without_cycles() {
        let mut random = Random::for_test(1);
        for _ in 0..400 {
            let (text, nodes, links) = random_graph(&mut random);
            let switches = graph(&text, 1, 0).routers();
            let root = random.below(switches.into()) as u32;
            let used = 1 + random.below(nodes.into()) as u32;
            let graph = graph(&text, used, root);
            check_wiring(&graph);
            check_routes(&graph);
            let expected = shortest(switches as usize, &links, root as usize);
            for (a, b) in (0..used).flat_map(|a| (0..used).map(move |b| (a, b))) {
                let (from, to) = (graph.attachment(a).router as usize, graph.attachment(b).router as usize);
                assert_eq!(u64::from(graph.switches(a, b)), expected[from][to] + 1, "{a} to {b} of {text}");
            }
        }
    }

    /// A ring of five with root 0: levels 0, 1, 2, 2, 1. Between 2 and 3, which are of one level, up is to 2.
    #[test]
    fn a_ring_is_cut_where_ways_would_go_down_and_up() {
        let text =
            "switches = 5\nlinks = [\"0-1\", \"1-2\", \"2-3\", \"3-4\", \"4-0\"]\nnodes = [0, 1, 2, 3, 4]";
        let ring = graph(text, 5, 0);
        let switches = |from, to| way(&ring, from, to).iter().map(|(at, _)| at.router).collect::<Vec<_>>();
        assert_eq!(switches(3, 1), [3, 2, 1], "up and up");
        assert_eq!(switches(1, 3), [1, 2, 3], "down and down");
        // Two links by 3, but those would go down, to 3, and up.
        assert_eq!(switches(2, 4), [2, 1, 0, 4]);
        assert_eq!(switches(4, 2), [4, 0, 1, 2]);
        // With root 2 it is cut elsewhere.
        assert_eq!(way(&graph(text, 5, 2), 2, 4).len(), 3);
    }

    /// Below root 0 are 1, 2, 10; below these 3, 4, 9; below these 5 to 8. From 3 a packet to 8 goes down to 5, from where the
    /// shortest way is by 4; but that goes up first. A packet that begins at 5 takes it.
    #[test]
    fn what_has_gone_down_goes_down_on() {
        let tree = r#""0-1", "0-2", "0-10", "1-3", "2-4", "10-9", "3-5", "4-5", "4-8", "9-6", "9-7""#;
        let across = r#""5-6", "6-7", "7-8""#;
        let graph = graph(&format!("switches = 11\nlinks = [{tree}, {across}]\nnodes = [3, 5, 8]"), 3, 0);
        let switches = |from| way(&graph, from, 2).iter().map(|(at, _)| at.router).collect::<Vec<_>>();
        assert_eq!((switches(0), switches(1)), (vec![3, 5, 6, 7, 8], vec![5, 4, 8]));
    }

    #[test]
    fn ports_are_those_asked_for_and_the_lowest_free_ones() {
        let text =
            "switches = 2\nports = 6\nlinks = [\"0 - 1:2\", \"0:1-1\", \"0-1\"]\nnodes = [0, 1, \"0:4\"]";
        let graph = graph(text, 3, 0);
        let ends = |router| {
            let ports = 0..graph.ports(router);
            ports.map(|port| graph.neighbour(RouterPort { router, port }).to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            ends(0),
            ["node 0", "router 1 port 1", "router 1 port 2", "router 1 port 3", "node 2", "nothing"]
        );
        assert_eq!(
            ends(1),
            ["node 1", "router 0 port 1", "router 0 port 2", "router 0 port 3", "nothing", "nothing"]
        );
        // Of cables side by side the one at the lowest port.
        assert_eq!(way(&graph, 0, 1)[0].0.port, 1);
    }

    #[test]
    fn what_is_wrong_with_a_graph_is_said() {
        let two = "switches = 2\n";
        let cases = [
            (String::new(), "network.graph: nothing says what the graph is; set it to the name of a file"),
            ("switches = ".into(), "network.graph: line:1: not TOML"),
            ("switches = 0\nlinks = []\nnodes = [0]".into(), "switches is no number from 1 to 1024"),
            ("links = []\nnodes = [0]".into(), "network.graph: switches is missing"),
            (format!("{two}links = [\"0-1\"]"), "network.graph: nodes is missing"),
            (format!("{two}nodes = [0]"), "network.graph: links is missing"),
            (format!("{two}links = 3\nnodes = [0]"), "links is no list in square brackets"),
            (format!("{two}links = [\"0-1\"]\nnodes = []"), "0 nodes; allowed is 1 to 65536"),
            (format!("{two}wires = []"), "wires is not known; allowed: switches, ports, links, nodes"),
            (
                format!("{two}links = []\nnodes = [0]"),
                "network.graph: no links lead from switch 0 to switch 1",
            ),
            (
                format!("{two}links = [\"0-2\"]\nnodes = [0]"),
                "link 0 (0-2): there is no switch 2; allowed is 0 to 1",
            ),
            (
                format!("{two}links = [\"0-1\", \"1-1\"]\nnodes = [0]"),
                "link 1 (1-1) joins switch 1 to itself",
            ),
            (format!("{two}links = [\"0\"]\nnodes = [0]"), "link 0 (0) joins no two switches; write \"0-1\""),
            (
                format!("{two}links = [\"0-1\"]\nnodes = [0, 2]"),
                "node 1: there is no switch 2; allowed is 0 to 1",
            ),
            (
                format!("{two}links = [\"0-1\"]\nnodes = [\"\"]"),
                "node 0 is on no switch: ; write 2, or \"2:5\"",
            ),
            (
                format!("{two}links = [\"0:3-1\", \"1:1-0:3\"]\nnodes = [0]"),
                "link 1 (1:1-0:3): port 3 of switch 0 has link 0 (0:3-1) already",
            ),
            (
                format!("{two}links = [\"0:3-1\"]\nnodes = [\"0:3\"]"),
                "link 0 (0:3-1): port 3 of switch 0 has node 0 already",
            ),
            (
                format!("{two}ports = 2\nlinks = [\"0-1\"]\nnodes = [0, 0]"),
                "link 0 (0-1): switch 0 has no port 2; it has 2, from 0 on",
            ),
        ];
        for (text, expected) in cases {
            let found = Graph::mistakes(&text.as_str().into(), 0).join("\n");
            assert!(found.contains(expected), "{text}: {found}");
            assert!(Graph::new(1, &text.as_str().into(), 0).is_err_and(|error| error.contains(expected)));
        }
        let several = "switches = 2\nlinks = [\"0-3\", \"0-4\"]\nnodes = [5]";
        assert_eq!(Graph::mistakes(&several.into(), 0).len(), 3, "all at once");
        let fine = "switches = 2\nlinks = [\"0-1\"]\nnodes = [0, 0, 1]";
        assert_eq!(
            Graph::mistakes(&fine.into(), 2),
            ["network.graph_root: there is no switch 2; allowed is 0 to 1"]
        );
        assert_eq!(
            Graph::new(4, &fine.into(), 0).err().unwrap(),
            "network.graph: it has 3 nodes; 4 are asked for, allowed is 1 to 3"
        );
    }

    #[test]
    fn the_example_of_the_readme_is_a_graph() {
        let readme = include_str!("../../README.md");
        let example =
            readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
        let graph = graph(example, 4, 0);
        assert_eq!((graph.routers(), graph.ports(2), graph.switches(0, 3)), (3, 8, 3));
        check_wiring(&graph);
        check_routes(&graph);
    }

    #[test]
    fn every_switch_may_be_the_root() {
        let declared = NetworkParameters::declarations();
        let root = declared.iter().find(|declaration| declaration.name == "graph_root").expect("declared");
        let last = Scalar::Integer(i64::from(plan::SWITCHES_MAX) - 1);
        assert_eq!(root.range, Some((Scalar::Integer(0), last)));
    }
}

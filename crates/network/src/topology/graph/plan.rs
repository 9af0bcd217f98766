//! What a document says of a graph of switches: how many there are (`switches`), how many ports each has (`ports`), which
//! are joined (`links`), and on which each node hangs (`nodes`). The crate's README has an example.

use chasqui_config::{Document, Entry, Node, Scalar};

use super::super::{NODES_MAX, Neighbour, RouterPort};

/// Switches of a graph, at most: the tables of its routes have two entries for each pair.
pub(super) const SWITCHES_MAX: u32 = 1024;
/// Ports of a switch, at most.
const PORTS_MAX: u32 = 1024;

/// What is connected to what.
#[derive(Debug)]
pub(super) struct Plan {
    /// By switch, then port.
    pub ports: Vec<Vec<Neighbour>>,
    /// By node.
    pub attachments: Vec<RouterPort>,
}

/// An end of a link: a switch, and its port unless any will do.
#[derive(Clone, Copy)]
struct End {
    switch: u32,
    port: Option<u32>,
}

/// A connection, as messages name it, and what it connects.
struct Connection {
    name: String,
    /// The end at a switch, and the other one unless that is a node.
    ends: (End, Option<End>),
}

/// The entries of a document, as far as they could be read.
#[derive(Default)]
struct Entries {
    switches: u32,
    ports: Option<u32>,
    nodes: Vec<Connection>,
    links: Vec<Connection>,
    problems: Vec<String>,
}

impl Plan {
    /// Reads a document.
    ///
    /// # Errors
    /// All that is wrong with it, a sentence each.
    pub fn read(document: &Document) -> Result<Plan, Vec<String>> {
        if document.is_empty() {
            let message = "network.graph: nothing says what the graph is; set it to the name of a file that ends in .toml, with \
                           switches, links and nodes";
            return Err(vec![message.to_string()]);
        }
        let entries = document
            .entries("line")
            .map_err(|problems| problems.iter().map(|p| format!("network.graph: {p}")).collect::<Vec<_>>())?;
        let mut found = Entries::default();
        for (entry, key) in entries.iter().map(|entry| (entry, entry.key.as_str())) {
            match key {
                "switches" => found.switches = found.number(entry, SWITCHES_MAX).unwrap_or(0),
                "ports" => found.ports = found.number(entry, PORTS_MAX),
                "links" => found.links = found.connections(entry, link),
                "nodes" => found.nodes = found.connections(entry, node),
                _ => found.problem(format!("{key} is not known; allowed: switches, ports, links, nodes")),
            }
        }
        for key in ["switches", "links", "nodes"] {
            if !entries.iter().any(|entry| entry.key == key) {
                found.problem(format!("{key} is missing"));
            }
        }
        if !found.problems.is_empty() {
            return Err(found.problems);
        }
        found.connect()
    }

    /// Takes away all but the first `nodes`.
    pub fn keep_nodes(&mut self, nodes: u32) {
        for at in self.attachments.drain(nodes as usize..) {
            self.ports[at.router as usize][usize::from(at.port)] = Neighbour::Unconnected;
        }
    }
}

impl Entries {
    fn problem(&mut self, message: String) {
        self.problems.push(format!("network.graph: {message}"));
    }

    /// The number from 1 to `most` that an entry gives.
    fn number(&mut self, entry: &Entry, most: u32) -> Option<u32> {
        let number = match entry.node {
            Node::Scalar(Scalar::Integer(number)) => u32::try_from(number).ok(),
            _ => None,
        };
        let number = number.filter(|number| (1..=most).contains(number));
        if number.is_none() {
            self.problem(format!("{} is no number from 1 to {most}", entry.key));
        }
        number
    }

    /// The connections of an entry, each read by `read` from its number and value.
    fn connections(
        &mut self,
        entry: &Entry,
        read: fn(usize, &Node) -> Result<Connection, String>,
    ) -> Vec<Connection> {
        let Node::Array(values) = &entry.node else {
            self.problem(format!("{} is no list in square brackets", entry.key));
            return vec![];
        };
        let mut found = vec![];
        for (number, value) in values.iter().enumerate() {
            match read(number, value) {
                Ok(connection) => found.push(connection),
                Err(message) => self.problem(message),
            }
        }
        if entry.key == "nodes" && !(1..=NODES_MAX as usize).contains(&values.len()) {
            self.problem(format!("{} nodes; allowed is 1 to {NODES_MAX}", values.len()));
        }
        found
    }

    /// Gives each connection its ports: those that it asks for; of the others, first the nodes, in their order, and then the
    /// links have the lowest that are free.
    fn connect(mut self) -> Result<Plan, Vec<String>> {
        let all: Vec<Connection> = self.nodes.drain(..).chain(self.links.drain(..)).collect();
        let mut taken: Vec<Vec<Option<usize>>> = vec![vec![]; self.switches as usize];
        for (index, connection) in all.iter().enumerate() {
            for end in connection.both().filter(|end| end.port.is_some()) {
                if let Err(message) = self.take(&mut taken, &all, index, end) {
                    self.problem(message);
                }
            }
        }
        let mut ends: Vec<Vec<RouterPort>> = vec![];
        for (index, connection) in all.iter().enumerate() {
            let mut of_connection = vec![];
            for mut end in connection.both() {
                if end.port.is_none() {
                    let of_switch = taken.get(end.switch as usize).map_or(&[][..], Vec::as_slice);
                    end.port = Some(of_switch.iter().take_while(|taken| taken.is_some()).count() as u32);
                    if let Err(message) = self.take(&mut taken, &all, index, end) {
                        self.problem(message);
                    }
                }
                of_connection.push(RouterPort { router: end.switch, port: end.port.unwrap_or(0) as u16 });
            }
            ends.push(of_connection);
        }
        if self.problems.is_empty() { Ok(self.plan(&taken, &ends)) } else { Err(self.problems) }
    }

    /// Connection `index` of `all` takes the port of an end.
    fn take(
        &self,
        taken: &mut [Vec<Option<usize>>],
        all: &[Connection],
        index: usize,
        End { switch, port }: End,
    ) -> Result<(), String> {
        let (name, port) = (&all[index].name, port.unwrap_or(0));
        let Some(of_switch) = taken.get_mut(switch as usize) else {
            let last = self.switches - 1;
            return Err(format!("{name}: there is no switch {switch}; allowed is 0 to {last}"));
        };
        let most = self.ports.unwrap_or(PORTS_MAX);
        if port >= most {
            return Err(format!("{name}: switch {switch} has no port {port}; it has {most}, from 0 on"));
        }
        if of_switch.len() <= port as usize {
            of_switch.resize(port as usize + 1, None);
        }
        let place = &mut of_switch[port as usize];
        if let Some(other) = place.replace(index) {
            let other = &all[other].name;
            return Err(format!("{name}: port {port} of switch {switch} has {other} already"));
        }
        Ok(())
    }

    /// All connections with their ports: `taken` by switch and port, `ends` by connection.
    fn plan(&self, taken: &[Vec<Option<usize>>], ends: &[Vec<RouterPort>]) -> Plan {
        let far_end = |here: RouterPort, connection: usize| match ends[connection][..] {
            [a, b] => Neighbour::Router(if a == here { b } else { a }),
            _ => Neighbour::Node(connection as u32),
        };
        let mut ports = vec![];
        for (router, of_switch) in (0..).zip(taken) {
            let of_port = |(port, taken): (u16, &Option<usize>)| match taken {
                Some(connection) => far_end(RouterPort { router, port }, *connection),
                None => Neighbour::Unconnected,
            };
            let mut of_ports: Vec<_> = (0..).zip(of_switch).map(of_port).collect();
            of_ports
                .resize(self.ports.map_or(of_ports.len(), |ports| ports as usize), Neighbour::Unconnected);
            ports.push(of_ports);
        }
        let of_nodes = ends.iter().filter(|ends| ends.len() == 1);
        Plan { ports, attachments: of_nodes.map(|ends| ends[0]).collect() }
    }
}

impl Connection {
    /// Its ends at switches.
    fn both(&self) -> impl Iterator<Item = End> + use<> {
        std::iter::once(self.ends.0).chain(self.ends.1)
    }
}

/// The end of a link that `text` names: `3`, or `3:7` with the port.
fn end(text: &str) -> Option<End> {
    let (switch, port) = match text.split_once(':') {
        Some((switch, port)) => (switch, Some(port.trim().parse().ok()?)),
        None => (text, None),
    };
    Some(End { switch: switch.trim().parse().ok()?, port })
}

fn node(number: usize, value: &Node) -> Result<Connection, String> {
    let name = format!("node {number}");
    let found = match value {
        Node::Scalar(Scalar::Integer(_) | Scalar::Text(_)) => end(&plain(value)),
        _ => None,
    };
    match found {
        Some(end) => Ok(Connection { name, ends: (end, None) }),
        None => Err(format!("{name} is on no switch: {}; write 2, or \"2:5\" with the port", plain(value))),
    }
}

fn link(number: usize, value: &Node) -> Result<Connection, String> {
    let text = plain(value);
    let name = format!("link {number} ({text})");
    let ends = text.split_once('-').and_then(|(a, b)| Some((end(a)?, end(b)?)));
    match ends {
        Some((a, b)) if a.switch == b.switch => Err(format!("{name} joins switch {} to itself", a.switch)),
        Some((a, b)) => Ok(Connection { name, ends: (a, Some(b)) }),
        None => Err(format!("{name} joins no two switches; write \"0-1\", or \"0:7-1:3\" with the ports")),
    }
}

/// A value as messages show it.
fn plain(value: &Node) -> String {
    match value {
        Node::Scalar(value) => value.plain(),
        _ => "it is no number or text".to_string(),
    }
}

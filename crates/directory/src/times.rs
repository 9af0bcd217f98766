//! Parameters as times, and distances on the mesh.

use std::cmp::Ordering;

use chasqui_engine::{Clock, Time};

use crate::parameters::DirectoryParameters;

/// A two-dimensional mesh; nodes are numbered row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mesh {
    columns: usize,
    rows: usize,
}

impl Mesh {
    /// Of `nodes`, in so many columns. 0: the rows are the greatest divisor of the nodes that is no greater than their root.
    pub fn new(nodes: usize, columns: usize) -> Mesh {
        let rows = (1..=nodes).filter(|rows| rows * rows <= nodes && nodes.is_multiple_of(*rows)).max();
        let columns = if columns > 0 { columns } else { nodes / rows.unwrap_or(1) };
        Mesh { columns, rows: nodes / columns }
    }

    /// The node behind another in its row, or column, and whether it is the first there.
    pub fn next(&self, node: usize, is_by_column: bool) -> (usize, bool) {
        let (row, column) = (node / self.columns, node % self.columns);
        let (row, column) = match is_by_column {
            true => ((row + 1) % self.rows, column),
            false => (row, (column + 1) % self.columns),
        };
        (row * self.columns + column, if is_by_column { row == 0 } else { column == 0 })
    }

    /// From `node` one link on towards another, along its row first: which of its links, and where that leads. `None`: it is there.
    pub fn step(&self, node: usize, to: usize) -> Option<(usize, usize)> {
        let (row, column) = (|n: usize| n / self.columns, |n: usize| n % self.columns);
        Some(match (column(node).cmp(&column(to)), row(node).cmp(&row(to))) {
            (Ordering::Less, _) => (0, node + 1),
            (Ordering::Greater, _) => (1, node - 1),
            (Ordering::Equal, Ordering::Less) => (2, node + self.columns),
            (Ordering::Equal, Ordering::Greater) => (3, node - self.columns),
            (Ordering::Equal, Ordering::Equal) => return None,
        })
    }

    /// Links between two nodes.
    pub fn hops(&self, a: usize, b: usize) -> u64 {
        let (row, column) = (|n: usize| n / self.columns, |n: usize| n % self.columns);
        (row(a).abs_diff(row(b)) + column(a).abs_diff(column(b))) as u64
    }
}

/// What block transfers take, beside what messages do.
#[derive(Clone, Copy, Debug)]
pub struct TransferTimes {
    /// To prepare one.
    pub startup: Time,
    /// Packets that the source has room for.
    pub lines: usize,
    /// Lines that other nodes have are asked for.
    pub coherent: bool,
}

/// What everything takes.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Into a controller, or out of it.
    pub queue: Time,
    /// A look-up.
    pub lookup: Time,
    /// Making a message that asks another node.
    pub construct: Time,
    /// A cache's answer to an intervention.
    pub cached: Time,
    /// Before what was refused is asked for again.
    pub retry: Time,
    /// An access to memory.
    pub memory: Time,
    /// Memory is read during the look-up.
    pub speculative: bool,
    /// Length of a line [bytes].
    pub line_bytes: u64,
    /// Of block transfers.
    pub transfer: TransferTimes,
    /// Messages wait for each other on the mesh.
    pub contention: bool,
    /// A message without data, and one with a line, on a link.
    wires: [Time; 2],
    link: Clock,
    /// A message's header, and what a link carries in a clock [bytes].
    header_bytes: u64,
    width_bytes: u64,
    hop: Time,
    mesh: Mesh,
}

impl Times {
    /// Those of `nodes` nodes with lines of `line_bytes`.
    pub fn new(parameters: &DirectoryParameters, nodes: usize, line_bytes: u64) -> Times {
        let (controller, mesh) = (&parameters.controller, &parameters.mesh);
        let clock = Clock::new(controller.clock.hz());
        let link = Clock::new(mesh.clock.hz());
        let wire = |bytes: u64| link.edge((mesh.header.bytes() + bytes).div_ceil(mesh.width.bytes()));
        let cycles = |cycles: chasqui_config::Cycles| clock.edge(cycles.cycles());
        Times {
            queue: cycles(controller.queue),
            lookup: cycles(controller.lookup),
            construct: cycles(controller.construct),
            cached: cycles(controller.cached),
            retry: cycles(controller.retry),
            memory: cycles(controller.memory),
            speculative: controller.speculative,
            line_bytes,
            transfer: TransferTimes {
                startup: cycles(parameters.transfer.startup),
                lines: parameters.transfer.lines as usize,
                coherent: parameters.transfer.coherent,
            },
            contention: mesh.contention,
            wires: [wire(0), wire(line_bytes)],
            link,
            header_bytes: mesh.header.bytes(),
            width_bytes: mesh.width.bytes(),
            hop: cycles(mesh.hop),
            mesh: Mesh::new(nodes, mesh.columns as usize),
        }
    }

    /// On the network from one node to another, from the first byte's start to the last one's arrival.
    pub fn network(&self, from: usize, to: usize, has_data: bool) -> Time {
        Time(self.hop.0 * self.mesh.hops(from, to)) + self.wires[usize::from(has_data)]
    }

    /// As [`Mesh::step`].
    pub fn step(&self, node: usize, to: usize) -> Option<(usize, usize)> {
        self.mesh.step(node, to)
    }

    /// As [`Mesh::hops`].
    pub fn hops(&self, a: usize, b: usize) -> u64 {
        self.mesh.hops(a, b)
    }

    /// From a router to the next.
    pub fn hop(&self) -> Time {
        self.hop
    }

    /// As [`Mesh::next`].
    pub fn next(&self, node: usize, is_by_column: bool) -> (usize, bool) {
        self.mesh.next(node, is_by_column)
    }

    /// A message with so many bytes of data into a link.
    pub fn wire(&self, bytes: u64) -> Time {
        self.link.edge((self.header_bytes + bytes).div_ceil(self.width_bytes))
    }

    /// From one controller to another, with so many bytes of data.
    pub fn between_with(&self, from: usize, to: usize, bytes: u64) -> Time {
        self.queue + Time(self.hop.0 * self.mesh.hops(from, to)) + self.wire(bytes) + self.queue
    }

    /// From one controller to another, or to itself.
    pub fn between(&self, from: usize, to: usize, has_data: bool) -> Time {
        if from == to {
            return Time::ZERO;
        }
        self.queue + self.network(from, to, has_data) + self.queue
    }

    /// From a home, or from the cache of node `from`, to the processor of node `to`.
    pub fn reply(&self, from: usize, to: usize, has_data: bool) -> Time {
        self.between(from, to, has_data) + self.queue
    }

    /// A load of a line that no cache has, with no contention, by formula: from the processor's request to the data's arrival
    /// there.
    pub fn clean_miss(&self, node: usize, home: usize) -> Time {
        let memory = if self.speculative { self.lookup.max(self.memory) } else { self.lookup + self.memory };
        let construct = if node == home { Time::ZERO } else { self.construct };
        self.queue + construct + self.between(node, home, false) + memory + self.reply(home, node, true)
    }

    /// Of a block transfer of `lines` whole lines with no contention, which no cache has, by formula: from the command's arrival at
    /// the source's controller to when the destination's memory has the last.
    pub fn transfer(&self, source: usize, destination: usize, lines: u64) -> Time {
        let (read, push) = (self.lookup.max(self.memory), self.wire(self.line_bytes));
        let stages = Time(read.max(push).0 * (lines - 1));
        let last = self.between_with(source, destination, self.line_bytes) + self.lookup + self.memory;
        self.transfer.startup + read + stages + last
    }

    /// As [`Times::clean_miss`], of a line that the cache of `owner` has modified.
    pub fn dirty_miss(&self, node: usize, home: usize, owner: usize) -> Time {
        let construct = |from: usize, to: usize| if from == to { Time::ZERO } else { self.construct };
        self.queue
            + construct(node, home)
            + self.between(node, home, false)
            + self.lookup
            + construct(home, owner)
            + self.between(home, owner, false)
            + self.cached
            + self.reply(owner, node, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_is_as_square_as_its_nodes_allow() {
        let columns = |nodes| Mesh::new(nodes, 0).columns;
        assert_eq!([1, 2, 7, 8, 12, 16, 64].map(columns), [1, 2, 7, 4, 4, 4, 8]);
        let mesh = Mesh::new(16, 0);
        assert_eq!([(0, 0), (0, 3), (0, 5), (0, 15)].map(|(a, b)| mesh.hops(a, b)), [0, 3, 2, 6]);
        assert_eq!(Mesh::new(16, 16).hops(0, 15), 15);
    }
}

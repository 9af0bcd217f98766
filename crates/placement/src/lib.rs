//! Identities of nodes, jobs, ranks and processes, and which rank is where.
//!
//! A rank is a process's number in its job, a node is a place of the machine, and a process has a number among those of
//! its node. None follows from another but by a [`Placement`]. Invariant: each rank of each job has a place of its own.

use std::fmt;

/// Declares a number that names one kind of thing.
macro_rules! identity {
    ($( $(#[doc = $doc:literal])+ $name:ident, $word:literal; )+) => { $(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index of what there is one of each.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, " {}"), self.0)
            }
        }
    )+ };
}

identity! {
    /// A node of the machine, which is also its address on the network.
    NodeId, "node";
    /// A process of a job, among all of that job: its rank in `MPI_COMM_WORLD`.
    Rank, "rank";
    /// A job, among those that share the machine.
    JobId, "job";
    /// A process of a node, among those that the node has places for: jobs one after the other, and of each job the ranks
    /// of the node. A place has the same number on all nodes, whether a process is there or not.
    ProcessId, "process";
}

/// Which of a job's ranks come to one node (`--map-by`, as Open MPI's mpirun has it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapBy {
    /// Ranks that follow each other: a node is filled before the next.
    #[default]
    Slot,
    /// One to each node in turn, then the next round.
    Node,
}

impl MapBy {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            MapBy::Slot => "slot",
            MapBy::Node => "node",
        }
    }

    /// The one called `name`.
    pub fn parse(name: &str) -> Option<MapBy> {
        [MapBy::Slot, MapBy::Node].into_iter().find(|way| way.name() == name)
    }
}

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The node.
    pub node: NodeId,
    /// The place there.
    pub process: ProcessId,
}

/// Who is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// The job.
    pub job: JobId,
    /// The rank in it.
    pub rank: Rank,
}

/// Where the ranks of all jobs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Ranks of each job.
    ranks: Vec<u32>,
    per_node: u32,
    map_by: MapBy,
}

impl Placement {
    /// Jobs of so many `ranks` each, `per_node` of them on a node; the last nodes of a job may have fewer.
    ///
    /// # Panics
    /// When no rank may be on a node.
    pub fn new(ranks: Vec<u32>, per_node: u32, map_by: MapBy) -> Placement {
        assert!(per_node > 0, "ranks on a node");
        Placement { ranks, per_node, map_by }
    }

    /// One rank a node: rank r of each job on node r.
    pub fn one_a_node(ranks: Vec<u32>) -> Placement {
        Placement::new(ranks, 1, MapBy::Slot)
    }

    /// Jobs.
    pub fn jobs(&self) -> impl Iterator<Item = JobId> + use<> {
        (0..self.ranks.len() as u32).map(JobId)
    }

    /// Ranks of `job`.
    pub fn ranks(&self, job: JobId) -> u32 {
        self.ranks[job.index()]
    }

    /// Ranks of the largest job.
    pub fn ranks_max(&self) -> u32 {
        self.ranks.iter().copied().max().unwrap_or(0)
    }

    /// Ranks of a job on a node, at most.
    pub fn per_node(&self) -> u32 {
        self.per_node
    }

    /// How ranks are dealt out.
    pub fn map_by(&self) -> MapBy {
        self.map_by
    }

    /// Nodes that `job` is on, from the first one on.
    pub fn nodes_of(&self, job: JobId) -> u32 {
        self.ranks(job).div_ceil(self.per_node)
    }

    /// Nodes that have a process.
    pub fn nodes(&self) -> u32 {
        self.jobs().map(|job| self.nodes_of(job)).max().unwrap_or(0)
    }

    /// Places of a node.
    pub fn processes(&self) -> u32 {
        self.ranks.len() as u32 * self.per_node
    }

    /// The job that has the place `process` of each node.
    pub fn job(&self, process: ProcessId) -> JobId {
        JobId(process.0 / self.per_node)
    }

    /// Where `rank` of `job` is.
    pub fn place(&self, job: JobId, rank: Rank) -> Place {
        let (node, local) = match self.map_by {
            MapBy::Slot => (rank.0 / self.per_node, rank.0 % self.per_node),
            MapBy::Node => (rank.0 % self.nodes_of(job), rank.0 / self.nodes_of(job)),
        };
        Place { node: NodeId(node), process: ProcessId(job.0 * self.per_node + local) }
    }

    /// Who is at the place `process` of `node`, if anybody is.
    pub fn occupant(&self, Place { node, process }: Place) -> Option<Occupant> {
        let (job, local) = (self.job(process), process.0 % self.per_node);
        let &ranks = self.ranks.get(job.index())?;
        let rank = match self.map_by {
            MapBy::Slot => u64::from(node.0) * u64::from(self.per_node) + u64::from(local),
            MapBy::Node => u64::from(local) * u64::from(self.nodes_of(job)) + u64::from(node.0),
        };
        let is_there = node.0 < self.nodes_of(job) && rank < u64::from(ranks);
        is_there.then_some(Occupant { job, rank: Rank(rank as u32) })
    }

    /// The places of `node` that have a process, in their order, and the rank that is there.
    pub fn on(&self, node: NodeId) -> impl Iterator<Item = (ProcessId, Occupant)> {
        let places = (0..self.processes()).map(ProcessId);
        places.filter_map(move |process| Some((process, self.occupant(Place { node, process })?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_a_place_of_its_own() {
        for map_by in [MapBy::Slot, MapBy::Node] {
            for per_node in 1..=4 {
                let placement = Placement::new(vec![7, 1, 4], per_node, map_by);
                let mut seen = vec![];
                for job in placement.jobs() {
                    for rank in (0..placement.ranks(job)).map(Rank) {
                        let place = placement.place(job, rank);
                        assert!(place.node.0 < placement.nodes() && place.process.0 < placement.processes());
                        assert_eq!(placement.occupant(place), Some(Occupant { job, rank }));
                        assert!(!seen.contains(&place), "{place:?} twice");
                        seen.push(place);
                    }
                }
                let on_nodes = (0..placement.nodes()).map(|node| placement.on(NodeId(node)).count());
                assert_eq!(on_nodes.sum::<usize>(), seen.len());
            }
        }
    }

    #[test]
    fn ranks_fill_a_node_or_go_round() {
        let nodes = |map_by| {
            let placement = Placement::new(vec![5], 2, map_by);
            (0..5).map(|rank| placement.place(JobId(0), Rank(rank)).node.0).collect::<Vec<_>>()
        };
        assert_eq!(nodes(MapBy::Slot), [0, 0, 1, 1, 2]);
        assert_eq!(nodes(MapBy::Node), [0, 1, 2, 0, 1]);
    }

    #[test]
    fn one_rank_a_node_is_what_it_says() {
        let placement = Placement::one_a_node(vec![3, 2]);
        assert_eq!(placement.place(JobId(1), Rank(1)), Place { node: NodeId(1), process: ProcessId(1) });
        assert_eq!(placement.occupant(Place { node: NodeId(2), process: ProcessId(1) }), None);
        assert_eq!((placement.nodes(), placement.processes()), (3, 2));
    }

    #[test]
    fn nobody_is_where_nothing_is() {
        let placement = Placement::new(vec![5], 2, MapBy::Slot);
        let at =
            |node, process| placement.occupant(Place { node: NodeId(node), process: ProcessId(process) });
        assert_eq!(at(2, 1), None);
        assert_eq!(at(u32::MAX, 0), None);
        assert_eq!(at(0, 2), None);
    }
}

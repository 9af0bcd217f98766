//! A coherence domain: nodes that share one functional memory, and what of the domain is at which node.
//!
//! Node, domain and partition are different things. A [`crate::NodePartition`] simulates all nodes of one domain; most
//! machines have a node a domain.

use std::ops::Range;

use chasqui_memory::{FlatMemory, PAGE_BYTES, PortKind};
use chasqui_placement::NodeId;

/// What a node adds to its domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The node's number in the machine.
    pub number: NodeId,
    /// Harts, numbered through the domain: those of its first node come first. What each has before memory.
    pub harts: Vec<PortKind>,
    /// Devices, numbered likewise.
    pub devices: usize,
}

/// A coherence domain.
pub struct Domain {
    /// Functional memory: DRAM of all nodes, then what devices add.
    pub(crate) memory: FlatMemory,
    members: Vec<Member>,
    stripe_bytes: u64,
    /// Addresses whose pages the nodes have in turn.
    in_turn: Range<u64>,
}

impl Domain {
    /// The domain of `members`, whose main memory takes addresses in turn, `stripe_bytes` each.
    ///
    /// # Panics
    /// It has no node, or a stripe no byte.
    pub fn new(memory: FlatMemory, members: Vec<Member>, stripe_bytes: u64) -> Domain {
        assert!(!members.is_empty() && stripe_bytes > 0, "{members:?}, stripes of {stripe_bytes} bytes");
        Domain { memory, members, stripe_bytes, in_turn: 0..0 }
    }

    /// A domain of one node, which has all the memory.
    pub fn of_one_node(memory: FlatMemory, node: Member) -> Domain {
        let stripe_bytes = memory.bytes();
        Domain::new(memory, vec![node], stripe_bytes)
    }

    /// The same memory, shared by other nodes.
    #[must_use]
    pub fn with_members(self, members: Vec<Member>, stripe_bytes: u64) -> Domain {
        Domain::new(self.memory, members, stripe_bytes)
    }

    /// The same; but of these addresses, whole pages, the nodes have the pages in turn.
    #[must_use]
    pub fn with_in_turn(self, in_turn: Range<u64>) -> Domain {
        Domain { in_turn, ..self }
    }

    /// Its functional memory.
    pub fn memory(&self) -> &FlatMemory {
        &self.memory
    }

    /// Its functional memory, before it runs.
    pub fn memory_mut(&mut self) -> &mut FlatMemory {
        &mut self.memory
    }

    /// Its nodes, by their places.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Place of the node whose main memory has the physical address `address`: its home node.
    pub fn home(&self, address: u64) -> usize {
        let stripe_bytes = if self.in_turn.contains(&address) { PAGE_BYTES } else { self.stripe_bytes };
        (address / stripe_bytes % self.members.len() as u64) as usize
    }

    /// The harts of the node at `place`.
    pub fn harts_of(&self, place: usize) -> Range<usize> {
        self.range(place, |member| member.harts.len())
    }

    /// The devices of the node at `place`.
    pub fn devices_of(&self, place: usize) -> Range<usize> {
        self.range(place, |member| member.devices)
    }

    /// Place of the node of hart `hart`.
    ///
    /// # Panics
    /// There is no such hart.
    pub fn node_of_hart(&self, hart: usize) -> usize {
        let mut places = 0..self.members.len();
        places.find(|&place| self.harts_of(place).contains(&hart)).expect("a hart of the domain")
    }

    /// The harts of all nodes.
    pub fn harts(&self) -> impl Iterator<Item = PortKind> + '_ {
        self.members.iter().flat_map(|member| member.harts.iter().copied())
    }

    fn range(&self, place: usize, count: impl Fn(&Member) -> usize) -> Range<usize> {
        let start = self.members[..place].iter().map(&count).sum();
        start..start + count(&self.members[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harts_devices_and_addresses_have_their_nodes() {
        let harts = |count| vec![PortKind::Caches; count];
        let member = |number, count, devices| Member { number: NodeId(number), harts: harts(count), devices };
        let members = vec![member(4, 2, 1), member(5, 0, 2), member(6, 1, 0)];
        let domain = Domain::new(FlatMemory::new(1 << 20).unwrap(), members, 4096);
        assert_eq!([0, 1, 2].map(|hart| domain.node_of_hart(hart)), [0, 0, 2]);
        assert_eq!([0, 1, 2].map(|place| domain.devices_of(place)), [0..1, 1..3, 3..3]);
        assert_eq!([0, 4095, 4096, 3 * 4096 - 1, 3 * 4096].map(|at| domain.home(at)), [0, 0, 1, 2, 0]);
        assert_eq!(domain.harts().count(), 3);
        let domain = domain.with_in_turn(16 * PAGE_BYTES..19 * PAGE_BYTES);
        let homes = [15, 16, 17, 18, 19].map(|page| domain.home(page * PAGE_BYTES));
        assert_eq!(homes, [0, 1, 2, 0, 1], "pages and stripes are as long here");
        let alone = Domain::of_one_node(FlatMemory::new(1 << 20).unwrap(), member(7, 1, 1));
        assert_eq!(alone.home((1 << 20) - 1), 0);
    }
}

//! Which node's memory a page comes from (Linux mm/mempolicy.c).

/// A memory policy, of an area or of a thread. Nodes are bits of a mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// There is none: that of the thread counts, or that of the machine.
    #[default]
    Default,
    /// The node of whoever touches the page first.
    Local,
    /// One of these, if it has room.
    Preferred(u64),
    /// One of these, whichever has room; `Linux`'s `MPOL_PREFERRED_MANY`.
    PreferredMany(u64),
    /// These alone.
    Bind(u64),
    /// These in turn, by the page's number in the address space.
    Interleave(u64),
}

/// How a page is taken: from node `first`, or those after it in a circle, of `allowed`; if none has room and it `may_leave`
/// these, from any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The first node that is asked.
    pub first: usize,
    allowed: u64,
    may_leave: bool,
}

impl Choice {
    /// From `first`, or from any other.
    pub fn anywhere(first: usize) -> Choice {
        Choice { first, allowed: u64::MAX, may_leave: false }
    }

    /// The nodes that are asked, as masks, one after the other.
    pub(super) fn passes(self) -> impl Iterator<Item = u64> {
        std::iter::once(self.allowed).chain(self.may_leave.then_some(!self.allowed))
    }
}

impl Policy {
    /// The nodes that it names.
    pub fn nodes(self) -> u64 {
        match self {
            Policy::Default | Policy::Local => 0,
            Policy::Preferred(nodes)
            | Policy::PreferredMany(nodes)
            | Policy::Bind(nodes)
            | Policy::Interleave(nodes) => nodes,
        }
    }

    /// How page `page`, a number, is taken by who is at node `here`.
    pub fn choose(self, page: u64, here: usize) -> Choice {
        let nearest =
            |nodes: u64| if nodes >> here & 1 != 0 { here } else { nodes.trailing_zeros() as usize };
        match self {
            Policy::Default | Policy::Local => Choice::anywhere(here),
            Policy::Preferred(nodes) => Choice::anywhere(nodes.trailing_zeros() as usize),
            Policy::PreferredMany(nodes) => Choice { first: nearest(nodes), allowed: nodes, may_leave: true },
            Policy::Bind(nodes) => Choice { first: nearest(nodes), allowed: nodes, may_leave: false },
            Policy::Interleave(nodes) => {
                let turn = page % u64::from(nodes.count_ones().max(1));
                let mut left = nodes;
                (0..turn).for_each(|_| left &= left - 1);
                Choice::anywhere(left.trailing_zeros() as usize)
            }
        }
    }

    /// Whether a page at `node` is where the policy would have it, as `MPOL_MF_STRICT` asks: on one of the nodes that it names.
    pub fn is_met_at(self, node: usize) -> bool {
        match self {
            Policy::Default | Policy::Local => true,
            other => other.nodes() >> node & 1 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_from_where_the_policy_says() {
        let first = |policy: Policy, page, here| policy.choose(page, here).first;
        assert_eq!(first(Policy::Default, 7, 3), 3);
        assert_eq!(first(Policy::Preferred(0b1100), 7, 3), 2);
        assert_eq!([0, 1].map(|here| first(Policy::Bind(0b1010), 7, here)), [1, 1]);
        assert_eq!(first(Policy::Bind(0b1010), 7, 3), 3);
        assert_eq!([0, 1, 2, 3].map(|page| first(Policy::Interleave(0b1101), page, 1)), [0, 2, 3, 0]);
        assert_eq!(Policy::Bind(0b10).choose(0, 1).passes().collect::<Vec<_>>(), [0b10]);
        assert_eq!(Policy::PreferredMany(0b10).choose(0, 1).passes().collect::<Vec<_>>(), [0b10, !0b10]);
    }
}

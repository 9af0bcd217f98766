//! Which node's memory a page comes from (Linux mm/mempolicy.c).

/// How a program meant the nodes of a policy. All nodes are allowed to every process, always, so that it matters only for
/// those that are not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relation {
    /// Those of them that it is allowed, for as long as it is.
    #[default]
    Allowed,
    /// These and no others (`MPOL_F_STATIC_NODES`).
    Static,
    /// Counted among the allowed ones, in a circle (`MPOL_F_RELATIVE_NODES`).
    Relative,
}

/// The nodes that a policy names, bits of a mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    mask: u64,
    asked: u64,
    relation: Relation,
}

impl Nodes {
    /// What a program asked for, on a machine that has the nodes `all`, the first ones.
    pub fn new(asked: u64, relation: Relation, all: u64) -> Nodes {
        let count = u64::from(all.count_ones());
        let mask = match relation {
            Relation::Relative => {
                let bits = (0..u64::from(u64::BITS)).filter(|bit| asked >> bit & 1 != 0);
                bits.fold(0, |mask, bit| mask | 1 << (bit % count))
            }
            Relation::Allowed | Relation::Static => asked & all,
        };
        Nodes { mask, asked, relation }
    }

    /// The first of them alone.
    pub fn first(self) -> Nodes {
        Nodes { mask: self.mask & self.mask.wrapping_neg(), ..self }
    }

    /// Where pages may be.
    pub fn mask(self) -> u64 {
        self.mask
    }

    /// What a program that asks is shown: what it asked for where it said how that is meant (Linux `mpol_store_user_nodemask`).
    pub fn shown(self) -> u64 {
        if self.relation == Relation::Allowed { self.mask } else { self.asked }
    }

    /// How they were meant.
    pub fn relation(self) -> Relation {
        self.relation
    }
}

impl From<u64> for Nodes {
    fn from(mask: u64) -> Nodes {
        Nodes { mask, asked: mask, relation: Relation::Allowed }
    }
}

/// A memory policy, of an area or of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// There is none: that of the thread counts, or that of the machine.
    #[default]
    Default,
    /// The node of whoever touches the page first.
    Local,
    /// This one, if it has room.
    Preferred(Nodes),
    /// One of these, whichever has room; `Linux`'s `MPOL_PREFERRED_MANY`.
    PreferredMany(Nodes),
    /// These alone.
    Bind(Nodes),
    /// These in turn, by the page's number in the address space.
    Interleave(Nodes),
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
    pub fn nodes(self) -> Option<Nodes> {
        match self {
            Policy::Default | Policy::Local => None,
            Policy::Preferred(nodes)
            | Policy::PreferredMany(nodes)
            | Policy::Bind(nodes)
            | Policy::Interleave(nodes) => Some(nodes),
        }
    }

    /// How page `page`, a number, is taken by who is at node `here`.
    pub fn choose(self, page: u64, here: usize) -> Choice {
        let mask = self.nodes().map_or(u64::MAX, Nodes::mask);
        let first = mask.trailing_zeros() as usize;
        let nearest = if mask >> here & 1 != 0 { here } else { first };
        match self {
            Policy::Default | Policy::Local => Choice::anywhere(here),
            Policy::Preferred(_) => Choice::anywhere(first),
            Policy::PreferredMany(_) => Choice { first: nearest, allowed: mask, may_leave: true },
            Policy::Bind(_) => Choice { first: nearest, allowed: mask, may_leave: false },
            Policy::Interleave(_) => {
                let turn = page % u64::from(mask.count_ones().max(1));
                let mut left = mask;
                (0..turn).for_each(|_| left &= left - 1);
                Choice::anywhere(left.trailing_zeros() as usize)
            }
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
        assert_eq!(first(Policy::Preferred(0b1100.into()), 7, 3), 2);
        assert_eq!([0, 1].map(|here| first(Policy::Bind(0b1010.into()), 7, here)), [1, 1]);
        assert_eq!(first(Policy::Bind(0b1010.into()), 7, 3), 3);
        assert_eq!([0, 1, 2, 3].map(|page| first(Policy::Interleave(0b1101.into()), page, 1)), [0, 2, 3, 0]);
        assert_eq!(Policy::Bind(0b10.into()).choose(0, 1).passes().collect::<Vec<_>>(), [0b10]);
        assert_eq!(
            Policy::PreferredMany(0b10.into()).choose(0, 1).passes().collect::<Vec<_>>(),
            [0b10, !0b10]
        );
    }
}

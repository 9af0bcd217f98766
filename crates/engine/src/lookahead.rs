//! Limits come from the *look-ahead*: the least simulated time from anything a partition of one
//! group does to its first effect on a partition of another.

use crate::{Group, Time};

/// Groups of partitions, at most: host threads publish a bound for each, in one line of a cache.
pub(crate) const GROUPS_MAX: usize = 7;

/// Least time from a cause in one group to its effect in another.
pub struct Lookahead {
    pub(crate) direct: Vec<Vec<Time>>,
    /// From each group to each; then, behind those, to each in another zone.
    pub(crate) least: Vec<Vec<Time>>,
    /// By group: see [`Lookahead::with_steady`].
    pub(crate) is_steady: Vec<bool>,
}

impl Lookahead {
    /// From `direct[a][b]`, the least delay of a message from group `a` to group `b` ([`Time::NEVER`]:
    /// there are none). Effects through third groups are found by shortest paths.
    ///
    /// # Panics
    /// When a delay is zero: two partitions could then not be ordered. When there are more than seven groups.
    pub fn new(direct: Vec<Vec<Time>>) -> Lookahead {
        assert!(
            direct.len() <= GROUPS_MAX,
            "{} groups of partitions; allowed are {GROUPS_MAX}",
            direct.len()
        );
        assert!(direct.iter().flatten().all(|&d| d > Time::ZERO), "a look-ahead is zero: {direct:?}");
        let mut least = direct.clone();
        for via in 0..least.len() {
            for a in 0..least.len() {
                for b in 0..least.len() {
                    least[a][b] = least[a][b].min(least[a][via] + least[via][b]);
                }
            }
        }
        let anywhere = least.iter().map(|least| least.iter().chain(least).copied().collect());
        Lookahead { least: anywhere.collect(), is_steady: vec![false; direct.len()], direct }
    }

    /// Partitions of `group` promise nothing that a message may belie: it lowers bounds on their effects to no sooner
    /// than a look-ahead after it. Others may rest promises on what has come so far; then what is on its way may matter
    /// from its having been sent.
    pub fn with_steady(mut self, group: Group) -> Lookahead {
        self.is_steady[group] = true;
        self
    }

    /// Partitions are in zones, and affect those of other zones later: not sooner than `beyond[a][b]` after anything that
    /// happens in group `a`, if those are of group `b`.
    ///
    /// # Panics
    /// When one of these times is below that without zones.
    pub fn with_zones(mut self, beyond: &[Vec<Time>]) -> Lookahead {
        let groups = self.groups();
        for (least, beyond) in self.least.iter_mut().zip(beyond) {
            let (near, far) = least.split_at_mut(groups);
            assert!(
                near.iter().zip(beyond).all(|(near, beyond)| near <= beyond),
                "zones: {beyond:?}, {near:?}"
            );
            far.copy_from_slice(beyond);
        }
        self
    }

    /// Groups of partitions.
    pub(crate) fn groups(&self) -> usize {
        self.direct.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookahead_follows_the_shortest_path() {
        let n = Time::NEVER;
        let l = Lookahead::new(vec![vec![n, Time(5)], vec![Time(7), n]]);
        assert_eq!(l.least, [[Time(12), Time(5)].repeat(2), [Time(7), Time(12)].repeat(2)]);
        let l = l.with_zones(&[vec![Time(20), Time(13)], vec![Time(15), Time(12)]]);
        assert_eq!(l.least[0], [12, 5, 20, 13].map(Time));
    }
}

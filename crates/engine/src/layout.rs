//! Where partitions are.

use crate::Lookahead;
use crate::partition::Group;

/// What all shares use: the group of each partition, and the look-ahead between groups.
pub(crate) struct Layout {
    /// By [`PartitionId`].
    pub groups: Vec<Group>,
    /// The zone of each.
    pub zones: Vec<usize>,
    pub lookahead: Lookahead,
}

impl Layout {
    /// How many zones there are.
    pub fn zone_count(&self) -> usize {
        self.zones.iter().max().map_or(0, |last| last + 1)
    }
}

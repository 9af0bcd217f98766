//! Where partitions are: what all host threads know.

use crate::Lookahead;
use crate::partition::Group;

/// What all shares know: which group a partition belongs to, and the look-ahead between groups.
pub(crate) struct Layout {
    /// By [`PartitionId`].
    pub groups: Vec<Group>,
    /// The zone of each.
    pub zones: Vec<usize>,
    pub lookahead: Lookahead,
}

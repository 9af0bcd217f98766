//! The destination table (section 4.1): a row for each transmit queue, a column for each logical
//! destination. Only system software writes it.

use crate::registers::EXPRESS_QUEUES;

/// What a logical destination of a queue stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    /// Site number, for the network.
    pub site: u32,
    /// The receive queue there, among those of the mechanism.
    pub queue: u16,
    /// What the receiver sees as source, and can reply to.
    pub source: u16,
}

/// The table of one NES.
#[derive(Debug)]
pub(super) struct DestinationTable {
    rows: Vec<Vec<Option<Destination>>>,
}

/// Row of the Basic transmit queue, and of DMA requests.
pub(super) const PROCESS_QUEUE: usize = 0;

/// Row of Express transmit queue `queue`.
pub(super) fn express_row(queue: usize) -> usize {
    1 + queue
}

impl DestinationTable {
    /// What system software writes for a job of `sites` processes, one a site: logical destinations are
    /// ranks, and what a queue sends goes to the like queue there.
    pub fn identity(here: u32, sites: u32) -> DestinationTable {
        let source = here as u16;
        let row = |queue| (0..sites).map(|site| Some(Destination { site, queue, source })).collect();
        let express = (0..EXPRESS_QUEUES as u16).map(row);
        DestinationTable { rows: std::iter::once(row(0)).chain(express).collect() }
    }

    /// Looks up `logical` for transmit queue `queue`.
    pub fn find(&self, queue: usize, logical: u16) -> Option<Destination> {
        *self.rows.get(queue)?.get(usize::from(logical))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_without_entry_is_nobody() {
        let table = DestinationTable::identity(2, 4);
        assert_eq!(table.find(0, 3), Some(Destination { site: 3, queue: 0, source: 2 }));
        assert_eq!(table.find(0, 4), None);
        assert_eq!(table.find(express_row(1), 3), Some(Destination { site: 3, queue: 1, source: 2 }));
        assert_eq!(table.find(express_row(EXPRESS_QUEUES as usize), 0), None);
    }
}

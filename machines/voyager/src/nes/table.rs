//! The destination table (section 4.1): a row for each transmit queue, a column for each logical
//! destination. Only system software writes it.

/// What a logical destination of a queue stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    /// Site number, for the network.
    pub site: u32,
    /// The receive queue there.
    pub queue: u16,
    /// What the receiver sees as source, and can reply to.
    pub source: u16,
}

/// The table of one NES.
#[derive(Debug)]
pub(super) struct DestinationTable {
    rows: Vec<Vec<Option<Destination>>>,
}

/// Transmit queue of the process, and of its DMA requests.
pub(super) const PROCESS_QUEUE: usize = 0;

impl DestinationTable {
    /// What system software writes for a job of `sites` processes, one a site: logical destinations are
    /// ranks.
    pub fn identity(here: u32, sites: u32) -> DestinationTable {
        let source = here as u16;
        let row = (0..sites).map(|site| Some(Destination { site, queue: 0, source })).collect();
        DestinationTable { rows: vec![row] }
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
        assert_eq!(table.find(1, 0), None);
    }
}

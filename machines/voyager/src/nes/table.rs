//! The destination table (section 4.1): a row for each transmit queue, a column for each logical
//! destination. Only system software writes it.

use super::queues::{self, Homes, Name};
use crate::registers::{QUEUES, TABLE_QUEUE_SHIFT, TABLE_SOURCE_SHIFT, TABLE_VALID};

/// What a logical destination of a queue stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    /// Site number, for the network.
    pub site: u32,
    /// Name of the receive queue there.
    pub queue: Name,
    /// What the receiver sees as source, and can reply to.
    pub source: u16,
}

/// The table of one NES.
#[derive(Debug)]
pub(super) struct DestinationTable {
    rows: Vec<Vec<Option<Destination>>>,
    sites: u32,
}

impl DestinationTable {
    /// What system software writes for a job of `sites` processes, one a site: logical destinations are
    /// ranks, and what a queue sends goes to the like queue there.
    pub fn identity(here: u32, sites: u32, homes: &Homes) -> DestinationTable {
        let source = here as u16;
        let row = |queue| (0..sites).map(|site| Some(Destination { site, queue, source })).collect();
        DestinationTable { rows: homes.names().map(row).collect(), sites }
    }

    /// Looks up `logical` for transmit queue `queue`.
    ///
    /// # Errors
    /// There is no entry: what the process did wrong, in words.
    pub fn find(&self, queue: Name, logical: u16) -> Result<Destination, String> {
        let entry = self.rows.get(usize::from(queue)).and_then(|row| row.get(usize::from(logical)));
        entry.copied().flatten().ok_or_else(|| {
            format!("protection: transmit queue {queue} has no destination {logical} in the NES's table")
        })
    }

    /// System software writes an entry of `queue`'s row.
    ///
    /// # Errors
    /// The entry names what does not exist.
    pub fn write(&mut self, queue: usize, logical: u16, entry: u64) -> Result<(), String> {
        let destination = Destination {
            site: u32::from(entry as u16),
            queue: (entry >> TABLE_QUEUE_SHIFT) as Name,
            source: (entry >> TABLE_SOURCE_SHIFT) as u16,
        };
        let valid = entry & TABLE_VALID != 0;
        if queue as u64 >= QUEUES
            || valid && (destination.site >= self.sites || u64::from(destination.queue) >= QUEUES)
        {
            return Err(format!(
                "destination table: the entry {entry:#x} of transmit queue {queue} is none of {} sites with \
                 {QUEUES} queues",
                self.sites
            ));
        }
        if valid && queues::is_basic(queue as Name) != queues::is_basic(destination.queue) {
            return Err(format!(
                "destination table: transmit queue {queue} and receive queue {} are of different kinds, \
                 Express and Basic",
                destination.queue
            ));
        }
        if self.rows.len() <= queue {
            self.rows.resize(queue + 1, vec![]);
        }
        let row = &mut self.rows[queue];
        if row.len() <= usize::from(logical) {
            row.resize(usize::from(logical) + 1, None);
        }
        row[usize::from(logical)] = valid.then_some(destination);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Queues;

    fn table() -> DestinationTable {
        let homes = Homes::new(&Queues::default());
        DestinationTable::identity(2, 4, &homes)
    }

    #[test]
    fn a_destination_without_entry_is_nobody() {
        let table = table();
        assert_eq!(table.find(0, 3), Ok(Destination { site: 3, queue: 0, source: 2 }));
        assert_eq!(table.find(2, 3), Ok(Destination { site: 3, queue: 2, source: 2 }));
        assert!(table.find(0, 4).unwrap_err().contains("transmit queue 0 has no destination 4"));
        assert!(table.find(3, 0).is_err());
    }

    #[test]
    fn an_entry_is_what_system_software_wrote() {
        let mut table = table();
        let entry = TABLE_VALID | 7 << TABLE_SOURCE_SHIFT | 500 << TABLE_QUEUE_SHIFT | 3;
        assert_eq!(table.write(9, 6, entry), Ok(()));
        assert_eq!(table.find(9, 6), Ok(Destination { site: 3, queue: 500, source: 7 }));
        assert!(table.find(9, 5).is_err() && table.find(8, 6).is_err());
        table.write(9, 6, 0).unwrap();
        assert!(table.find(9, 6).is_err());
        assert!(table.write(0, 0, TABLE_VALID | 4).unwrap_err().contains("none of 4 sites"));
        assert!(table.write(0, 0, TABLE_VALID | 512 << TABLE_QUEUE_SHIFT).is_err());
        assert!(table.write(0, 0, TABLE_VALID | 2 << TABLE_QUEUE_SHIFT).unwrap_err().contains("kinds"));
        assert!(table.write(2, 0, TABLE_VALID | 1 << TABLE_QUEUE_SHIFT).unwrap_err().contains("kinds"));
        assert!(table.write(512, 0, 0).is_err());
    }
}

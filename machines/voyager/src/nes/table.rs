//! The destination table (section 4.1): a row for each transmit queue, a column for each logical
//! destination. Only system software writes it, that of a process its own rows.

use std::collections::BTreeSet;

use chasqui_placement::{NodeId, Place, Placement, ProcessId, Rank};

use super::queues::{QueueName, QueueNames, SP};
use crate::registers::{
    EXPRESS_SOURCE_BITS, QUEUES, SP_QUEUE, TABLE_QUEUE_SHIFT, TABLE_SOURCE_SHIFT, TABLE_VALID,
};
use crate::service_registers::request_id;

/// What a logical destination of a queue stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    /// Site number, for the network.
    pub site: u32,
    /// Name of the receive queue there.
    pub queue: QueueName,
    /// What the receiver sees as source, and can reply to.
    pub source: u16,
}

/// The table of one NES.
#[derive(Debug)]
pub(super) struct DestinationTable {
    rows: Vec<Vec<Option<Destination>>>,
    names: QueueNames,
    nodes: u32,
    /// By process: sites that its job is on.
    sites: Vec<u32>,
    /// Processes that their sites have said to be over: nothing is sent to them any more. No row leads to them, as it were.
    lost: BTreeSet<(u32, ProcessId)>,
}

impl DestinationTable {
    /// What system software writes at site `here`: logical destinations are ranks, and what a queue sends goes to the like
    /// queue of the rank's process.
    pub fn of_ranks(here: NodeId, placement: &Placement, names: QueueNames) -> DestinationTable {
        let row = |queue| {
            let (process, own) = (names.process(queue), names.own(queue));
            let Some(sender) = placement.occupant(Place { node: here, process }) else { return vec![] };
            let entry = |rank| {
                let to = placement.place(sender.job, Rank(rank));
                let queue = names.of(to.process, own);
                Some(Destination { site: to.node.0, queue, source: sender.rank.0 as u16 })
            };
            (0..placement.ranks(sender.job)).map(entry).collect()
        };
        let sites = |process| placement.nodes_of(placement.job(ProcessId(process)));
        let mut rows: Vec<_> = (0..names.count() as QueueName).map(row).collect();
        // The sPs reach each other by the numbers of their sites.
        rows.resize(usize::from(SP) + 1, vec![]);
        let entry = |site| Some(Destination { site, queue: SP, source: here.0 as u16 });
        rows[usize::from(SP)] = (0..placement.nodes()).map(entry).collect();
        DestinationTable {
            rows,
            nodes: placement.nodes(),
            names,
            sites: (0..placement.processes()).map(sites).collect(),
            lost: BTreeSet::new(),
        }
    }

    /// `process` of `site` is over.
    pub fn lose(&mut self, site: u32, process: ProcessId) {
        self.lost.insert((site, process));
    }

    /// The process of that destination is not known to be over.
    pub fn reaches(&self, to: Destination) -> bool {
        self.lost.is_empty() || !self.lost.contains(&(to.site, self.names.process(to.queue)))
    }

    /// Looks up `logical` for transmit queue `queue`.
    ///
    /// # Errors
    /// There is no entry: what the process did wrong, in words.
    pub fn find(&self, queue: QueueName, logical: u16) -> Result<Destination, String> {
        let entry = self.rows.get(usize::from(queue)).and_then(|row| row.get(usize::from(logical)));
        entry.copied().flatten().ok_or_else(|| {
            let own = self.names.own(queue);
            format!("protection: transmit queue {own} has no destination {logical} in the NES's table")
        })
    }

    /// What `process` calls `id` among the destinations of the sP's queue, or among the source ids of requests to it, which
    /// lead there: from the sites' on each process has its own. So no request leads to what another process has connected.
    ///
    /// # Errors
    /// It is a site's, or no message has the bits for it.
    fn request_id(&self, process: ProcessId, id: u16) -> Result<u16, String> {
        let (first, processes) = (self.nodes, self.names.processes as u32);
        let own = (1u32 << EXPRESS_SOURCE_BITS).saturating_sub(first + process.0).div_ceil(processes);
        match u32::from(id).checked_sub(first).filter(|&index| index < own) {
            Some(index) => Ok(request_id(process.0, index, first, processes) as u16),
            None => Err(format!(
                "destination table: {id} as a destination of the service processor's queue, or as a source id of messages \
                 to it; {own} from {first} on are allowed"
            )),
        }
    }

    /// The queue that `process` calls `own`.
    ///
    /// # Errors
    /// It does not have it, and what follows the queues of all would be the sP's.
    fn named(&self, process: ProcessId, own: QueueName) -> Result<QueueName, String> {
        match self.names.of(process, own) {
            _ if own == SP => Ok(SP),
            SP => Err(format!("destination table: there is no queue {own}")),
            queue => Ok(queue),
        }
    }

    /// System software writes an entry of process `process`, in the row of the queue that its process calls `own`. Both queues
    /// are the process's.
    ///
    /// # Errors
    /// The entry names what does not exist.
    pub fn write(&mut self, process: ProcessId, own: u64, logical: u16, entry: u64) -> Result<(), String> {
        let (site, to) = (u32::from(entry as u16), (entry >> TABLE_QUEUE_SHIFT) as QueueName);
        let source = (entry >> TABLE_SOURCE_SHIFT) as u16;
        if u64::from(source) >> EXPRESS_SOURCE_BITS != 0 {
            return Err(format!(
                "destination table: source id {source} in the entry {entry:#x} of transmit queue {own}; a message has \
                 {EXPRESS_SOURCE_BITS} bits for it"
            ));
        }
        let valid = entry & TABLE_VALID != 0;
        let sites = self.sites[process.index()];
        if own > SP_QUEUE || valid && (site >= sites || u64::from(to) > SP_QUEUE) {
            return Err(format!(
                "destination table: the entry {entry:#x} of transmit queue {own} is none of {sites} sites with \
                 {QUEUES} queues"
            ));
        }
        // By their sources the sPs know each other's messages.
        let logical = if own == SP_QUEUE { self.request_id(process, logical)? } else { logical };
        let source =
            if valid && u64::from(to) == SP_QUEUE { self.request_id(process, source)? } else { source };
        let is_basic = |name: QueueName| name != SP && self.names.is_basic(name);
        let (queue, to) = (self.named(process, own as QueueName)?, self.named(process, to)?);
        if valid && is_basic(queue) != is_basic(to) {
            return Err(format!(
                "destination table: transmit queue {own} and receive queue {} are of different kinds, \
                 Express and Basic",
                self.names.own(to)
            ));
        }
        let destination = Destination { site, queue: to, source };
        let queue = usize::from(queue);
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
    use chasqui_placement::MapBy;

    use super::*;
    use crate::service_registers::requester;

    fn table() -> DestinationTable {
        DestinationTable::of_ranks(
            NodeId(2),
            &Placement::one_a_node(vec![4]),
            QueueNames { processes: 1, basic: 1 },
        )
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
    fn a_job_reaches_its_own_processes_alone() {
        let names = QueueNames { processes: 2, basic: 1 };
        let table = DestinationTable::of_ranks(NodeId(1), &Placement::one_a_node(vec![4, 2]), names);
        let second = names.first_basic(ProcessId(1));
        assert_eq!(table.find(second, 0), Ok(Destination { site: 0, queue: second, source: 1 }));
        assert!(table.find(second, 2).is_err(), "it has two ranks");
        assert_eq!(
            table.find(names.first_basic(ProcessId(0)), 3).map(|to| names.process(to.queue)),
            Ok(ProcessId(0))
        );
    }

    #[test]
    fn ranks_of_one_site_have_queues_of_their_own() {
        let names = QueueNames { processes: 2, basic: 1 };
        let placement = Placement::new(vec![5], 2, MapBy::Slot);
        let table = DestinationTable::of_ranks(NodeId(1), &placement, names);
        // Rank 3 is the second process of site 1, rank 4 the first of site 2.
        let (first, second) = (names.first_basic(ProcessId(0)), names.first_basic(ProcessId(1)));
        assert_eq!(table.find(second, 4), Ok(Destination { site: 2, queue: first, source: 3 }));
        assert_eq!(table.find(second, 2), Ok(Destination { site: 1, queue: first, source: 3 }));
        assert_eq!(table.find(names.express(ProcessId(0), 1), 1).map(|to| to.queue), Ok(3));
        assert!(table.find(first, 5).is_err(), "there are five ranks");
        let last = DestinationTable::of_ranks(NodeId(2), &placement, names);
        assert!(last.find(second, 0).is_err(), "nobody is there");
    }

    #[test]
    fn a_process_that_is_over_is_not_reached_and_others_are() {
        let names = QueueNames { processes: 2, basic: 1 };
        let mut table = DestinationTable::of_ranks(NodeId(1), &Placement::one_a_node(vec![4, 4]), names);
        let (first, second) = (names.first_basic(ProcessId(0)), names.first_basic(ProcessId(1)));
        table.lose(2, ProcessId(1));
        let reached = |queue| [0, 2].map(|rank| table.reaches(table.find(queue, rank).unwrap()));
        assert_eq!((reached(first), reached(second), reached(SP)), ([true; 2], [true, false], [true; 2]));
    }

    #[test]
    fn an_entry_is_what_system_software_wrote() {
        let mut table = table();
        let entry = TABLE_VALID | 7 << TABLE_SOURCE_SHIFT | 500 << TABLE_QUEUE_SHIFT | 3;
        assert_eq!(table.write(ProcessId(0), 9, 6, entry), Ok(()));
        assert_eq!(table.find(9, 6), Ok(Destination { site: 3, queue: 500, source: 7 }));
        assert!(table.find(9, 5).is_err() && table.find(8, 6).is_err());
        table.write(ProcessId(0), 9, 6, 0).unwrap();
        assert!(table.find(9, 6).is_err());
        assert!(table.write(ProcessId(0), 0, 0, TABLE_VALID | 4).unwrap_err().contains("none of 4 sites"));
        assert!(table.write(ProcessId(0), 0, 0, TABLE_VALID | 513 << TABLE_QUEUE_SHIFT).is_err());
        // Of Express alone one leads to the sP; what that sends to processes has destinations behind those of sites.
        let own = TABLE_VALID | SP_QUEUE << TABLE_QUEUE_SHIFT | 7 << TABLE_SOURCE_SHIFT | 1;
        assert_eq!(table.write(ProcessId(0), 1, 9, own), Ok(()));
        assert_eq!(table.find(1, 9), Ok(Destination { site: 1, queue: SP, source: 7 }));
        assert!(table.write(ProcessId(0), 2, 9, own).unwrap_err().contains("kinds"));
        assert_eq!(table.find(SP, 3), Ok(Destination { site: 3, queue: SP, source: 2 }));
        assert!(table.write(ProcessId(0), SP_QUEUE, 3, TABLE_VALID).unwrap_err().contains("8188 from 4 on"));
        assert_eq!(table.write(ProcessId(0), SP_QUEUE, 4, TABLE_VALID | 2), Ok(()));
        assert_eq!(table.find(SP, 4), Ok(Destination { site: 2, queue: 0, source: 0 }));
        let source = TABLE_VALID | 8192 << TABLE_SOURCE_SHIFT;
        assert!(table.write(ProcessId(0), 0, 0, source).unwrap_err().contains("source id 8192"));
        assert!(
            table
                .write(ProcessId(0), 0, 0, TABLE_VALID | 2 << TABLE_QUEUE_SHIFT)
                .unwrap_err()
                .contains("kinds")
        );
        assert!(
            table
                .write(ProcessId(0), 2, 0, TABLE_VALID | 1 << TABLE_QUEUE_SHIFT)
                .unwrap_err()
                .contains("kinds")
        );
        assert!(table.write(ProcessId(0), 513, 0, 0).is_err());
        let forged = TABLE_VALID | SP_QUEUE << TABLE_QUEUE_SHIFT | 3 << TABLE_SOURCE_SHIFT | 1;
        assert!(table.write(ProcessId(0), 1, 9, forged).unwrap_err().contains("destination table: 3 as"));
    }

    #[test]
    fn what_the_service_processors_have_is_nobody_elses() {
        let names = QueueNames { processes: 2, basic: 1 };
        let mut table = DestinationTable::of_ranks(NodeId(0), &Placement::one_a_node(vec![4, 4]), names);
        let before: Vec<_> = (0..4).map(|site| table.find(SP, site)).collect();
        for own in 0..SP_QUEUE {
            for entry in [0, TABLE_VALID | 9 << TABLE_SOURCE_SHIFT | own << TABLE_QUEUE_SHIFT | 1] {
                let _ = table.write(ProcessId(1), own, 1, entry);
            }
        }
        assert_eq!((0..4).map(|site| table.find(SP, site)).collect::<Vec<_>>(), before);
    }

    #[test]
    fn requests_lead_to_what_the_same_process_has_connected() {
        let names = QueueNames { processes: 3, basic: 1 };
        let mut table = DestinationTable::of_ranks(NodeId(0), &Placement::one_a_node(vec![4; 3]), names);
        let mut sources = vec![];
        for process in (0..3).map(ProcessId) {
            // A request bears a source id; at the site that it goes to this is a destination of the sP's.
            let request = TABLE_VALID | SP_QUEUE << TABLE_QUEUE_SHIFT | 7 << TABLE_SOURCE_SHIFT | 1;
            assert_eq!(table.write(process, 0, 9, request), Ok(()));
            let source = table.find(names.express(process, 0), 9).unwrap().source;
            assert_eq!(table.write(process, SP_QUEUE, 7, TABLE_VALID | 5 << TABLE_SOURCE_SHIFT | 1), Ok(()));
            let answer = Destination { site: 1, queue: names.express(process, 0), source: 5 };
            assert_eq!(table.find(SP, source), Ok(answer));
            sources.push(source);
        }
        assert_eq!(sources, [13, 14, 15]);
        let last = |process| (0..=u16::MAX).rev().find(|&id| table.request_id(process, id).is_ok()).unwrap();
        assert_eq!(table.request_id(ProcessId(0), last(ProcessId(0))), Ok(8191));
        assert_eq!(table.request_id(ProcessId(1), last(ProcessId(1))), Ok(8189));
    }

    #[test]
    fn an_id_is_of_one_process_and_none_is_a_sites() {
        for (nodes, processes) in [(1, 1), (4, 3), (7, 16)] {
            let names = QueueNames { processes: processes as usize, basic: 1 };
            let jobs = vec![nodes; processes as usize];
            let table = DestinationTable::of_ranks(NodeId(0), &Placement::one_a_node(jobs), names);
            let mut all = vec![];
            for process in (0..processes).map(ProcessId) {
                for own in nodes as u16..nodes as u16 + 40 {
                    let id = table.request_id(process, own).unwrap();
                    assert_eq!(requester(id.into(), nodes, processes), process.0);
                    all.push(id);
                }
            }
            all.sort_unstable();
            let first = nodes as u16;
            assert_eq!(all, (first..first + 40 * processes as u16).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_job_writes_its_own_rows_alone() {
        let names = QueueNames { processes: 2, basic: 1 };
        let mut table = DestinationTable::of_ranks(NodeId(0), &Placement::one_a_node(vec![4, 2]), names);
        let entry = |site: u64| TABLE_VALID | 9 << TABLE_SOURCE_SHIFT | 2 << TABLE_QUEUE_SHIFT | site;
        let (first, second) = (names.first_basic(ProcessId(0)), names.first_basic(ProcessId(1)));
        table.write(ProcessId(1), 2, 0, entry(1)).unwrap();
        assert_eq!(table.find(second, 0), Ok(Destination { site: 1, queue: second, source: 9 }));
        assert_eq!(table.find(first, 0), Ok(Destination { site: 0, queue: first, source: 0 }), "as it was");
        assert!(table.write(ProcessId(1), 2, 0, entry(2)).unwrap_err().contains("none of 2 sites"));
        assert_eq!(table.write(ProcessId(0), 2, 0, entry(2)), Ok(()));
        assert!(table.find(second, 5).unwrap_err().contains("transmit queue 2 has no destination 5"));
    }
}

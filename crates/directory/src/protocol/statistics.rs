//! What is counted at a node.

use chasqui_counters::counters;

use super::access::Want;

counters! {
    /// Counters of a node's directory controller and memory.
    pub struct NodeStatistics {
        /// Copies that the processor asked a home of its own node for.
        reads_local: "count";
        /// Copies that the processor asked another node for.
        reads_remote: "count";
        /// Lines, or rights to write them, that the processor asked a home of its own node for.
        writes_local: "count";
        /// Lines, or rights to write them, that the processor asked another node for.
        writes_remote: "count";
        /// Lines that the processor wrote back.
        write_backs: "count";
        /// Requests of the processor that a home refused.
        refused: "count";
        /// Requests that came to the home here.
        requests: "count";
        /// Interventions that came to the cache.
        interventions: "count";
        /// Interventions that waited because the processor was about to use the line, or had reserved it.
        held: "count";
        /// Lines that the cache gave to another node.
        given: "count";
        /// Reads of the memory.
        memory_reads: "count";
        /// Reads of the memory that were of no use, since a cache had the line.
        memory_reads_in_vain: "count";
        /// Writes of the memory.
        memory_writes: "count";
        /// Time in which the controller was taken.
        controller_busy_ps: "ps";
        /// Time for which messages waited in the controller for it.
        controller_waits_ps: "ps";
        /// Time for which reads and writes waited for the memory.
        memory_waits_ps: "ps";
        /// Time for which messages from here waited on the mesh.
        network_waits_ps: "ps";
    }
}

impl NodeStatistics {
    /// A request of the processor's leaves.
    pub(super) fn count_request(&mut self, want: Want, is_local: bool) {
        let counter = match (want, is_local) {
            (Want::Load, true) => &mut self.reads_local,
            (Want::Load, false) => &mut self.reads_remote,
            (Want::Store, true) => &mut self.writes_local,
            (Want::Store, false) => &mut self.writes_remote,
            (Want::WriteBack, _) => &mut self.write_backs,
        };
        *counter += 1;
    }
}

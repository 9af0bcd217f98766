//! What is counted of block transfers at a node.

use chasqui_counters::counters;

counters! {
    /// Counters of a node's part in block transfers.
    pub struct TransferStatistics {
        /// Transfers that the processor had begin.
        transfers: "count";
        /// Transfers to this node that have ended.
        arrived: "count";
        /// Packets that left, each for one line.
        packets: "count";
        /// Of these: packets of broadcasts of other nodes, which were passed on.
        forwarded: "count";
        /// Data in these.
        sent_bytes: "bytes";
        /// Data that were written to memory here.
        received_bytes: "bytes";
        /// Lines that were read from memory.
        lines_read: "count";
        /// Lines that were written to memory.
        lines_written: "count";
        /// Of these: lines of which a part was written, so that the rest was read.
        lines_merged: "count";
        /// Lines that were read from the cache.
        retrieved: "count";
        /// Lines that the cache gave up, since they were written.
        invalidated: "count";
        /// Lines that were asked for as a processor's are, since another node had them.
        fetched: "count";
        /// Flags that were set in memory here.
        flags: "count";
        /// Lines that were tried again, since they were on their way or about to be used.
        retries: "count";
        /// Time from commands to the ends of their transfers, by the initiators.
        transfer_ps: "ps";
        /// Time in which transfers were prepared.
        startup_ps: "ps";
        /// Time of stages: lines into the controller.
        read_ps: "ps";
        /// Time of stages: packets into the network.
        push_ps: "ps";
        /// Time for which lines waited while misses had the controller or the memory.
        suspended_ps: "ps";
        /// Time for which packets waited for the network, or for room at the destination.
        push_waits_ps: "ps";
        /// Time for which packets waited at the destination.
        write_waits_ps: "ps";
    }
}

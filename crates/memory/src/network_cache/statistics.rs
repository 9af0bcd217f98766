//! Counters of a network cache.

use chasqui_counters::counters;

counters! {
    /// Counters of a network cache.
    pub struct NetworkCacheStatistics {
        /// Messages that came into the network section.
        deposits: "messages";
        /// Lines that the network section replaced.
        network_replacements: "lines";
        /// Names that the message section replaced.
        message_replacements: "messages";
        /// Bound messages that the process section replaced.
        process_replacements: "messages";
        /// Unbound messages that went to network memory.
        migrations: "messages";
        /// Names that the link translation buffer (LTB) lost: software serves those messages.
        ltb_replacements: "messages";
        /// Lines that came back from network memory.
        fills: "lines";
        /// Messages that remap bound.
        bound: "messages";
        /// Of these, messages bound to an address that is not a multiple of 16: they go to the data cache.
        unaligned: "messages";
        /// Messages that software found by their name, envelope and ordinal: bound then, or as they came.
        named: "messages";
        /// Remaps of a name that neither the message section nor the LTB knew.
        unknown: "count";
        /// Bound messages merged into a line that the data cache fetched.
        merged: "messages";
        /// Bound messages evicted to the data cache.
        moved: "messages";
        /// Bound messages evicted to memory.
        written: "messages";
        /// Bound messages that other masters' transactions took.
        taken: "messages";
        /// Lines that left because another of their message's did (chained).
        chained_evictions: "lines";
        /// Names that the network TLB replaced (independent).
        tlb_replacements: "messages";
        /// Messages that found no entry of the network TLB: all are of bound messages (independent).
        tlb_refused: "messages";
        /// Lines that were bound and stayed in network memory (independent).
        stayed: "lines";
        /// Bound lines in network memory that a load or store asked for (independent).
        asked: "lines";
        /// Receives that reserved a line for a message to come.
        reserved: "count";
        /// Messages that landed where their receive had reserved a line.
        early: "messages";
        /// Messages whose receive had reserved a line that they did not fit.
        early_missed: "messages";
        /// Reservations that software withdrew.
        withdrawn: "count";
        /// Messages whose consumption was predicted, right or wrong.
        predictions: "messages";
        /// Messages whose consumption was predicted right.
        predicted: "messages";
        /// Victims that the predictor chose.
        predicted_victims: "count";
    }
}

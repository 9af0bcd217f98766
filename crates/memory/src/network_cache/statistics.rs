//! Counters of a network cache.

/// Counters of a network cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkCacheStatistics {
    /// Messages that came into the network section.
    pub deposits: u64,
    /// Lines that the network section replaced.
    pub network_replacements: u64,
    /// Names that the message section replaced.
    pub message_replacements: u64,
    /// Bound messages that the process section replaced.
    pub process_replacements: u64,
    /// Unbound messages that went to network memory.
    pub migrations: u64,
    /// Names that the LTB lost: software serves those messages.
    pub ltb_replacements: u64,
    /// Lines that came back from network memory.
    pub fills: u64,
    /// Messages that `remap` bound.
    pub bound: u64,
    /// `remap`s of a name that neither the message section nor the LTB knows.
    pub unknown: u64,
    /// `remap`s to an address that is not a sector's.
    pub unaligned: u64,
    /// Bound messages that were merged into a line which the data cache fetched.
    pub merged: u64,
    /// Bound messages that went to the data cache because they were evicted.
    pub moved: u64,
    /// Bound messages that went to memory because they were evicted.
    pub written: u64,
    /// Bound messages that other masters' transactions took.
    pub taken: u64,
    /// Lines that left because another of their message's did (chained).
    pub chained_evictions: u64,
    /// Names that the network TLB replaced (independent).
    pub tlb_replacements: u64,
    /// Messages that found no entry of the network TLB: all are of bound messages (independent).
    pub tlb_refused: u64,
    /// Lines that were bound and stayed in network memory (independent).
    pub stayed: u64,
    /// Those that a load or store asked for.
    pub asked: u64,
    /// Receives that reserved a line for a message to come.
    pub reserved: u64,
    /// Those that could not: no room among the reservations.
    pub early_full: u64,
    /// Those that could not: a message had come that software had not dealt with.
    pub early_late: u64,
    /// Messages that landed where their receive had reserved a line.
    pub early: u64,
    /// Messages whose receive had reserved a line that they did not fit.
    pub early_missed: u64,
    /// Reservations that software withdrew.
    pub withdrawn: u64,
    /// Receives whose message the predictor predicted, right or wrong.
    pub predictions: u64,
    /// Those that it predicted right.
    pub predicted: u64,
    /// Victims that the predictor chose.
    pub predicted_victims: u64,
}

impl NetworkCacheStatistics {
    /// The counters in their order: name, unit, documentation, value.
    fn list(&self) -> [(&'static str, &'static str, &'static str, u64); 28] {
        [
            ("deposits", "messages", "Messages that came into the network section.", self.deposits),
            (
                "network_replacements",
                "lines",
                "Lines that the network section replaced.",
                self.network_replacements,
            ),
            (
                "message_replacements",
                "messages",
                "Names that the message section replaced.",
                self.message_replacements,
            ),
            (
                "process_replacements",
                "messages",
                "Bound messages that the process section replaced.",
                self.process_replacements,
            ),
            ("migrations", "messages", "Unbound messages that went to network memory.", self.migrations),
            (
                "ltb_replacements",
                "messages",
                "Names that the link translation buffer lost.",
                self.ltb_replacements,
            ),
            ("fills", "lines", "Lines that came back from network memory.", self.fills),
            ("bound", "messages", "Messages that remap bound.", self.bound),
            ("unknown", "count", "Remaps of a name that was not known any more.", self.unknown),
            ("unaligned", "count", "Remaps to an address that is not a multiple of 16.", self.unaligned),
            (
                "merged",
                "messages",
                "Bound messages merged into a line that the data cache fetched.",
                self.merged,
            ),
            ("moved", "messages", "Bound messages evicted to the data cache.", self.moved),
            ("written", "messages", "Bound messages evicted to memory.", self.written),
            ("taken", "messages", "Bound messages that other masters' transactions took.", self.taken),
            (
                "chained_evictions",
                "lines",
                "Lines that left because another of their message's did.",
                self.chained_evictions,
            ),
            ("tlb_replacements", "messages", "Names that the network TLB replaced.", self.tlb_replacements),
            ("tlb_refused", "messages", "Messages that found no entry of the network TLB.", self.tlb_refused),
            ("stayed", "lines", "Lines that were bound and stayed in network memory.", self.stayed),
            ("asked", "lines", "Those that a load or store asked for.", self.asked),
            ("reserved", "count", "Receives that reserved a line for a message to come.", self.reserved),
            ("early_full", "count", "Receives for which there was no line to reserve.", self.early_full),
            (
                "early_late",
                "count",
                "Receives that reserved none, as a message had come meanwhile.",
                self.early_late,
            ),
            ("early", "messages", "Messages that landed in a reserved line.", self.early),
            ("early_missed", "messages", "Messages that did not fit their reserved line.", self.early_missed),
            ("withdrawn", "count", "Reservations that software withdrew.", self.withdrawn),
            (
                "predictions",
                "messages",
                "Messages whose consumption was predicted, right or wrong.",
                self.predictions,
            ),
            ("predicted", "messages", "Messages whose consumption was predicted right.", self.predicted),
            ("predicted_victims", "count", "Victims that the predictor chose.", self.predicted_victims),
        ]
    }

    /// Visits the counters: name, unit, documentation, value.
    pub fn visit(&self, visit: &mut dyn FnMut(&str, &'static str, &'static str, u64)) {
        for (name, unit, doc, value) in self.list() {
            visit(name, unit, doc, value);
        }
    }
}

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
}

impl NetworkCacheStatistics {
    /// The counters in their order: name, unit, documentation, value.
    fn list(&self) -> [(&'static str, &'static str, &'static str, u64); 14] {
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
        ]
    }

    /// Visits the counters: name, unit, documentation, value.
    pub fn visit(&self, visit: &mut dyn FnMut(&str, &'static str, &'static str, u64)) {
        for (name, unit, doc, value) in self.list() {
            visit(name, unit, doc, value);
        }
    }
}

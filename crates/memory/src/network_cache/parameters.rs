//! Parameters of the network cache, and what its accesses take.

use chasqui_config::{Bytes, Count, Cycles, Flag};

use super::message::{LINE_BYTES, SectionGeometry};

chasqui_config::choice! {
    /// Where a message is once it has been bound.
    pub enum Binding {
        /// It moves into the data cache.
        DataCache = "data-cache",
        /// It stays in the network cache until it is evicted.
        NetworkCache = "network-cache",
    }
}

chasqui_config::choice! {
    /// How messages of several lines are kept together.
    pub enum Long {
        /// Each line points at its neighbours: a message leaves as a whole.
        Chained = "chained",
        /// Lines leave one by one; a network TLB leads to their buffer.
        Independent = "independent",
    }
}

chasqui_config::choice! {
    /// Where a message lands whose receive is posted before it comes.
    pub enum Early {
        /// It waits, and is bound when software has matched it.
        Off = "off",
        /// In its line of the data cache.
        DataCache = "data-cache",
        /// In a line of the network cache.
        NetworkCache = "network-cache",
    }
}

chasqui_config::choice! {
    /// Which unbound message makes room for another.
    pub enum Replacement {
        /// The least recently used.
        Lru = "lru",
        /// The one that the single-cycle predictor expects to be consumed last.
        SingleCycle = "single-cycle",
        /// The one that the tagging predictor expects to be consumed last.
        Tagging = "tagging",
    }
}

chasqui_config::parameters! {
    /// The network cache beside the L1 data cache.
    pub struct NetworkCacheParameters {
        /// There is one.
        present: Flag = false, source "assumption: none unless a machine says so";
        /// What `remap` does with a message that is here.
        binding: Binding = "network-cache", source "Khunjush, 3.3.2: the lazy policy";
        /// Lines of the network section, 16 bytes each.
        network_lines: Count = 128, range 1 ..= 65536, source "Khunjush, table 7.1: 2 KB";
        /// Ways of a set of the network section.
        network_ways: Count = 2, range 1 ..= 64, source "Khunjush, table 7.1";
        /// Cycles of an access to the network section.
        network_latency: Cycles = 2, range 1 ..= 1000, source "Khunjush, table 7.1";
        /// Entries of the message section.
        message_entries: Count = 256, range 1 ..= 65536, source "Khunjush, table 7.1: 32 sets";
        /// Ways of a set of the message section.
        message_ways: Count = 8, range 1 ..= 64, source "Khunjush, table 7.1";
        /// Cycles of an access to the message section.
        message_latency: Cycles = 2, range 1 ..= 1000, source "Khunjush, table 7.1";
        /// Entries of the process section.
        process_entries: Count = 256, range 1 ..= 65536, source "Khunjush, table 7.1: 64 sets";
        /// Ways of a set of the process section.
        process_ways: Count = 4, range 1 ..= 64, source "Khunjush, table 7.1";
        /// Cycles of an access to the process section.
        process_latency: Cycles = 2, range 1 ..= 1000, source "Khunjush, table 7.1";
        /// Entries of the link translation buffer.
        ltb_entries: Count = 256, range 1 ..= 65536, source "assumption: as many as the message section; the paper gives no size";
        /// Ways of a set of the link translation buffer.
        ltb_ways: Count = 8, range 1 ..= 64, source "assumption: as the message section";
        /// Longest message that goes through the network cache, whole lines of 16 bytes.
        longest: Bytes = "16 B", range "16 B" ..= "1968 B", source "Khunjush, 3.1.1: messages of a line";
        /// How longer ones than a line are kept together.
        long: Long = "chained", source "ours: of the two designs of Khunjush, 3.1.4, the one that needs no table of its own";
        /// Entries of the network TLB, of independent lines.
        tlb_entries: Count = 32, range 1 ..= 65536, source "assumption: the paper gives no size";
        /// Ways of a set of the network TLB.
        tlb_ways: Count = 8, range 1 ..= 64, source "assumption: as the message section";
        /// Where a message lands whose receive is posted before it comes.
        early: Early = "data-cache", source "Khunjush, 3.1.3: this approach was selected";
        /// Receives that may wait so.
        early_entries: Count = 16, range 1 ..= 256, source "assumption: the paper gives no number";
        /// Which unbound message makes room for another.
        replacement: Replacement = "lru", source "assumption: the paper leaves prediction to later work";
        /// Receive calls, or keys of a cycle, that the predictor keeps.
        predictor_entries: Count = 64, range 2 ..= 4096, source "assumption: more than a program's inner loop has";
    }
}

/// What accesses to the network cache take beside the instruction's own cycles [cycles of the hart].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkCacheCosts {
    /// An `nload` or `nstore` that hits.
    pub network: u64,
    /// A load or store that hits in the process section.
    pub process: u64,
    /// A `remap` or `prebind`, and what it waits for comes on top.
    pub remap: u64,
    /// Each further line of a `remap`.
    pub line: u64,
}

impl NetworkCacheParameters {
    /// Sections: their names in the machine file, entries, ways.
    fn declared_sections(&self) -> [(&'static str, u64, u64); 5] {
        [
            ("network", self.network_lines, self.network_ways),
            ("message", self.message_entries, self.message_ways),
            ("process", self.process_entries, self.process_ways),
            ("ltb", self.ltb_entries, self.ltb_ways),
            ("tlb", self.tlb_entries, self.tlb_ways),
        ]
    }

    /// The same: network, message, process section, LTB, network TLB.
    pub(super) fn sections(&self) -> [SectionGeometry; 5] {
        self.declared_sections()
            .map(|(_, entries, ways)| SectionGeometry { sets: (entries / ways) as u32, ways: ways as u32 })
    }

    /// These, with such sections: network, message, process section, LTB, network TLB.
    #[must_use]
    pub fn with_sections(self, sections: [SectionGeometry; 5]) -> NetworkCacheParameters {
        let [network, message, process, ltb, tlb] =
            sections.map(|of| (u64::from(of.sets) * u64::from(of.ways), u64::from(of.ways)));
        NetworkCacheParameters {
            network_lines: network.0,
            network_ways: network.1,
            message_entries: message.0,
            message_ways: message.1,
            process_entries: process.0,
            process_ways: process.1,
            ltb_entries: ltb.0,
            ltb_ways: ltb.1,
            tlb_entries: tlb.0,
            tlb_ways: tlb.1,
            ..self
        }
    }

    /// Messages of one line or more after which every entry of every section has been used.
    pub fn warm_up(&self) -> u64 {
        self.declared_sections().into_iter().map(|(_, entries, _)| entries).max().unwrap_or(0)
    }

    /// What does not fit, in words.
    pub fn mistakes(&self) -> Vec<String> {
        let sets =
            |entries: u64, ways: u64| entries.is_multiple_of(ways) && (entries / ways).is_power_of_two();
        let uneven = self.declared_sections().into_iter().filter(|&(_, entries, ways)| !sets(entries, ways));
        let mut found: Vec<String> = uneven
            .map(|(name, entries, ways)| {
                format!("node.network_cache: {entries} entries of {ways} ways in the {name} section do not make a power of two of sets")
            })
            .collect();
        if !self.longest.bytes().is_multiple_of(LINE_BYTES) {
            found
                .push(format!("node.network_cache.longest: {} are no whole lines of 16 bytes", self.longest));
        }
        found
    }

    /// Of so many pools of network memory one at least has nothing of bound messages, whose lines stay there until the
    /// program asks for them: a message of the longest length finds room as soon as others have been received.
    pub fn leaves_a_pool(&self, pools: u64) -> bool {
        let stays = self.long == Long::Independent && self.longest.bytes() > LINE_BYTES;
        !stays || self.tlb_entries < pools
    }

    /// What accesses take: `load` cycles are in a load's or store's own, in which the data cache is searched.
    pub fn costs(&self, load: Cycles) -> NetworkCacheCosts {
        let (network, process) = (self.network_latency.cycles(), self.process_latency.cycles());
        let place = match self.binding {
            Binding::DataCache => network + load.cycles(),
            Binding::NetworkCache => process,
        };
        NetworkCacheCosts {
            network: network.saturating_sub(load.cycles()),
            process: (process + network).saturating_sub(load.cycles()),
            remap: self.message_latency.cycles() + place,
            // The network section leads from line to line.
            line: network + place,
        }
    }
}

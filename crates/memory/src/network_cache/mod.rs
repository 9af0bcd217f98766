//! The network cache (Khunjush, dissertation, University of Victoria, 2008, chapter 3): tags of
//! messages that have arrived, beside the L1 data cache.
//!
//! Three set-associative sections of independent size (its 3.2). The *network* section holds payload, a line of 16
//! bytes each, by the address of the message's buffer in network memory. The *message* section leads from a
//! message's name to its line while it is unbound; the *process* section from the address that it was bound to.
//! What has to leave before it is bound migrates to its buffer, and the *link translation buffer* (LTB) keeps where
//! that is.
//!
//! As every cache here it has tags and no data: those are in functional memory, in the buffer until a message is
//! bound and at its destination from then on. What becomes of lines that leave, the port decides (`port/network.rs`).
//!
//! Invariants ([`NetworkCache::check`]): a name is in the message section or in the LTB, never in both; every entry
//! of the message and of the process section points at a line that says so, and the other way round; a buffer has one
//! line at most. Of the port: what is bound here is in no line of the data cache.

mod lines;
mod section;
mod statistics;

use lines::{Lines, Use};
use section::Section;
pub use statistics::NetworkCacheStatistics;

/// Length of a line of the network section, and of what is bound at once: a sector [bytes].
pub const LINE_BYTES: u64 = 16;

/// Sets and ways of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionGeometry {
    /// Sets, a power of two.
    pub sets: u32,
    /// Ways of a set.
    pub ways: u32,
}

/// Where a message is once it has been bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// It moves into the data cache: direct-to-cache transfer (3.3.1).
    DataCache,
    /// It stays until it is evicted: lazy direct-to-cache transfer (3.3.2).
    NetworkCache,
}

/// Sizes and costs. Cycles are the hart's.
#[derive(Clone, Debug)]
pub struct NetworkCacheParameters {
    /// Lines of payload.
    pub network: SectionGeometry,
    /// Names of unbound messages.
    pub message: SectionGeometry,
    /// Addresses of bound messages.
    pub process: SectionGeometry,
    /// Names of messages that have migrated to network memory.
    pub ltb: SectionGeometry,
    /// What `remap` does.
    pub binding: Binding,
    /// Cycles of an `nload` or `nstore` that hits, beside the instruction's own.
    pub network_cycles: u64,
    /// Cycles of a load or store that hits in the process section, beside the instruction's own.
    pub process_cycles: u64,
    /// Cycles of a `remap`, beside the instruction's own and what it waits for.
    pub remap_cycles: u64,
}

/// What had to leave the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evicted {
    /// A line that its buffer lacks.
    Unbound {
        /// Physical address of the buffer.
        buffer: u64,
    },
    /// A bound message, of which memory and the other caches know nothing.
    Bound(Bound),
}

/// A bound message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Physical address of its sector.
    pub sector: u64,
    /// Length [bytes]: it begins with the sector.
    pub bytes: u32,
}

/// A message in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Physical address of the buffer.
    pub buffer: u64,
    /// Length of the message [bytes].
    pub bytes: u32,
}

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the network section.
    Here(Stored),
    /// In network memory, as the LTB knows.
    Memory(Stored),
    /// Nobody knows.
    Unknown,
}

/// The network cache of a hart.
#[derive(Debug)]
pub struct NetworkCache {
    parameters: NetworkCacheParameters,
    lines: Lines,
    message: Section<usize>,
    process: Section<usize>,
    ltb: Section<Stored>,
    /// What happened so far.
    pub statistics: NetworkCacheStatistics,
}

/// The set of a message's name: as names differ in a few low bits and in the source, the high bits of a product,
/// which depend on all of them (Fibonacci hashing; Knuth, TAOCP 3, 6.4). The source leaves it open.
fn by_name(id: u64) -> u64 {
    id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// The set of a sector.
fn by_address(sector: u64) -> u64 {
    sector / LINE_BYTES
}

impl NetworkCache {
    /// An empty one.
    pub fn new(parameters: NetworkCacheParameters) -> NetworkCache {
        NetworkCache {
            lines: Lines::new(parameters.network),
            message: Section::new(parameters.message, by_name),
            process: Section::new(parameters.process, by_address),
            ltb: Section::new(parameters.ltb, by_name),
            statistics: NetworkCacheStatistics::default(),
            parameters,
        }
    }

    /// Its parameters.
    pub fn parameters(&self) -> &NetworkCacheParameters {
        &self.parameters
    }

    /// The message `id` of `bytes` bytes has come, into `buffer`.
    ///
    /// # Panics
    /// When it does not fit a line, or is here already.
    pub fn deposit(&mut self, id: u64, message: Stored) -> Vec<Evicted> {
        assert!(u64::from(message.bytes) <= LINE_BYTES, "a message of {} bytes", message.bytes);
        let mut evicted = vec![];
        self.statistics.deposits += 1;
        let index = self.take_line(message.buffer, &mut evicted);
        if let Some((other, line)) = self.message.insert(id, index) {
            self.statistics.message_replacements += 1;
            self.migrate(other, line, &mut evicted);
        }
        self.lines.put(index, message.buffer, Use::Unbound { id: Some(id), dirty: true }, message.bytes);
        evicted
    }

    /// A line for `buffer`, which has none; what was there is evicted.
    fn take_line(&mut self, buffer: u64, evicted: &mut Vec<Evicted>) -> usize {
        debug_assert!(self.lines.find(buffer).is_none(), "{buffer:#x} has a line");
        let index = self.lines.victim(buffer);
        match self.lines.at(index).used {
            Use::Free => return index,
            Use::Unbound { id: Some(id), .. } => {
                self.message.remove(id);
                self.migrate(id, index, evicted);
            }
            Use::Unbound { id: None, .. } => self.write_back(index, evicted),
            Use::Bound { sector } => {
                self.process.remove(sector);
                evicted.push(Evicted::Bound(Bound { sector, bytes: self.lines.at(index).bytes }));
            }
        }
        self.lines.at_mut(index).used = Use::Free;
        self.statistics.network_replacements += 1;
        index
    }

    /// The unbound message `id` leaves line `index` for its buffer; the LTB keeps where that is.
    fn migrate(&mut self, id: u64, index: usize, evicted: &mut Vec<Evicted>) {
        let line = *self.lines.at(index);
        let lost = self.ltb.insert(id, Stored { buffer: line.buffer, bytes: line.bytes });
        self.statistics.migrations += 1;
        self.statistics.ltb_replacements += u64::from(lost.is_some());
        self.write_back(index, evicted);
        self.lines.at_mut(index).used = Use::Free;
    }

    fn write_back(&mut self, index: usize, evicted: &mut Vec<Evicted>) {
        let line = self.lines.at(index);
        if let Use::Unbound { dirty: true, .. } = line.used {
            evicted.push(Evicted::Unbound { buffer: line.buffer });
        }
    }

    /// A line of network memory comes back, clean.
    pub fn fill(&mut self, buffer: u64) -> Vec<Evicted> {
        let mut evicted = vec![];
        if self.lines.find(buffer).is_none() {
            self.statistics.fills += 1;
            let index = self.take_line(buffer, &mut evicted);
            self.lines.put(index, buffer, Use::Unbound { id: None, dirty: false }, LINE_BYTES as u32);
        }
        evicted
    }

    /// `nload` or `nstore` (`writes`) of the line at `buffer`; true if it is here.
    pub fn access(&mut self, buffer: u64, writes: bool) -> bool {
        let Some(index) = self.lines.find(buffer) else { return false };
        self.lines.touch(index);
        if let Use::Unbound { dirty, .. } = &mut self.lines.at_mut(index).used {
            *dirty |= writes;
        }
        true
    }

    /// The line at `buffer` is here.
    pub fn has_line(&self, buffer: u64) -> bool {
        self.lines.find(buffer).is_some()
    }

    /// Where the message `id` is.
    pub fn place(&self, id: u64) -> Place {
        if let Some(index) = self.message.find(id) {
            let line = self.lines.at(index);
            return Place::Here(Stored { buffer: line.buffer, bytes: line.bytes });
        }
        self.ltb.find(id).map_or(Place::Unknown, Place::Memory)
    }

    /// Binds the message `id`, whose line is here, to `sector`, where nothing is bound: the message's name and its
    /// network tag are reset, and the process section leads to the line. Returns what that section had to evict.
    pub fn bind(&mut self, id: u64, sector: u64) -> Option<Bound> {
        let index = self.message.find(id).expect("a message that is here");
        self.message.remove(id);
        self.lines.at_mut(index).used = Use::Bound { sector };
        self.lines.touch(index);
        let (sector, other) = self.process.insert(sector, index)?;
        self.statistics.process_replacements += 1;
        self.lines.at_mut(other).used = Use::Free;
        Some(Bound { sector, bytes: self.lines.at(other).bytes })
    }

    /// The message `id` is here no more: bound elsewhere.
    pub fn forget(&mut self, id: u64) {
        let stored = self.ltb.remove(id);
        let line = match self.message.remove(id) {
            Some(index) => Some(index),
            None => stored.and_then(|s| self.lines.find(s.buffer)),
        };
        if let Some(index) = line {
            self.lines.at_mut(index).used = Use::Free;
        }
    }

    /// The buffer is free: what is known of the message in it is forgotten.
    pub fn release(&mut self, buffer: u64) {
        if let Some(index) = self.lines.find(buffer) {
            if let Use::Unbound { id: Some(id), .. } = self.lines.at(index).used {
                self.message.remove(id);
            }
            self.lines.at_mut(index).used = Use::Free;
        }
        let name = self.ltb.iter().find(|(_, stored)| stored.buffer == buffer).map(|(id, _)| id);
        if let Some(id) = name {
            self.ltb.remove(id);
        }
    }

    /// What is bound in the sector that holds `address`.
    pub fn bound(&self, address: u64) -> Option<Bound> {
        let sector = address & !(LINE_BYTES - 1);
        let index = self.process.find(sector)?;
        Some(Bound { sector, bytes: self.lines.at(index).bytes })
    }

    /// A load or store of `bytes` at `address` finds them all in a bound message, and uses it.
    pub fn hit(&mut self, address: u64, bytes: u32) -> bool {
        let Some(bound) = self.bound(address) else { return false };
        if address + u64::from(bytes) > bound.sector + u64::from(bound.bytes) {
            return false;
        }
        let index = self.process.find(bound.sector).expect("it is bound");
        self.process.touch(bound.sector);
        self.lines.touch(index);
        true
    }

    /// What is bound in `sector` leaves.
    pub fn unbind(&mut self, sector: u64) -> Option<Bound> {
        let index = self.process.remove(sector)?;
        self.lines.at_mut(index).used = Use::Free;
        Some(Bound { sector, bytes: self.lines.at(index).bytes })
    }

    /// Sectors of the `bytes` from `address` on in which something is bound.
    pub fn bound_in(&self, address: u64, bytes: u64) -> impl Iterator<Item = u64> + '_ {
        let first = address & !(LINE_BYTES - 1);
        (first..address + bytes).step_by(LINE_BYTES as usize).filter(|&s| self.process.find(s).is_some())
    }

    /// Looks whether the invariants hold.
    ///
    /// # Errors
    /// What does not hold, in words.
    pub fn check(&self) -> Result<(), String> {
        for (index, line) in self.lines.iter() {
            let pointed_at = match line.used {
                Use::Unbound { id: Some(id), .. } => self.message.find(id) == Some(index),
                Use::Unbound { id: None, .. } | Use::Free => true,
                Use::Bound { sector } => self.process.find(sector) == Some(index),
            };
            if !pointed_at {
                return Err(format!("nothing leads to line {index}, {line:?}"));
            }
            if matches!(line.used, Use::Unbound { .. }) && self.lines.find(line.buffer) != Some(index) {
                return Err(format!("buffer {:#x} has two lines", line.buffer));
            }
        }
        for (id, index) in self.message.iter() {
            if !matches!(self.lines.at(index).used, Use::Unbound { id: Some(of), .. } if of == id) {
                return Err(format!("message {id:#x} leads to {:?}", self.lines.at(index)));
            }
            if self.ltb.find(id).is_some() {
                return Err(format!("message {id:#x} is in the LTB, too"));
            }
        }
        for (sector, index) in self.process.iter() {
            if self.lines.at(index).used != (Use::Bound { sector }) {
                return Err(format!("sector {sector:#x} leads to {:?}", self.lines.at(index)));
            }
        }
        Ok(())
    }

    /// Sectors in which something is bound.
    pub fn sectors(&self) -> impl Iterator<Item = u64> + '_ {
        self.process.iter().map(|(sector, _)| sector)
    }
}

#[cfg(test)]
mod tests;

//! What must hold of a port between accesses, for tests.

use super::{FastTable, Port, PortKind};
use crate::PAGE_BYTES;
use crate::cache::{Cache, FastIndex, State};

impl Port {
    /// Looks whether the port's invariants hold: a line is in at most one way; the L2 includes the L1s and
    /// has every right that they have; the fast tables answer only for lines that are present, translated,
    /// in the right state, fresh, and without a buffered store.
    ///
    /// # Errors
    /// What does not hold, in words.
    pub fn check_invariants(&self) -> Result<(), String> {
        for (name, cache) in [("L1I", Some(&self.l1i)), ("L1D", Some(&self.l1d)), ("L2", self.l2.as_ref())] {
            let mut lines: Vec<u64> = cache.iter().flat_map(|c| c.lines()).map(|(line, _)| line).collect();
            let all = lines.len();
            lines.sort_unstable();
            lines.dedup();
            if lines.len() != all {
                return Err(format!("a line is in {name} twice"));
            }
        }
        if let Some(l2) = &self.l2 {
            includes(l2, &self.l1i, "L1I")?;
            includes(l2, &self.l1d, "L1D")?;
        }
        self.check_network()?;
        if self.parameters.kind == PortKind::Scratchpad {
            return Ok(());
        }
        self.check_owners("data", &self.data, &self.l1d)?;
        self.check_owners("instructions", &self.instructions, &self.l1i)?;
        if self.is_cached() {
            self.check_fast_data()?;
            self.check_fast_instructions()?;
        }
        Ok(())
    }

    /// No line of the data cache holds what is bound in the network cache.
    fn check_network(&self) -> Result<(), String> {
        let Some(network) = &self.network else { return Ok(()) };
        network.check()?;
        match network.sectors().find(|&sector| self.l1d.find(self.line(sector)).is_some()) {
            Some(sector) => Err(format!("sector {sector:#x} is bound, its line is in L1D")),
            None => Ok(()),
        }
    }

    /// Entries of a fast table and ways of its cache name each other.
    fn check_owners(&self, name: &str, table: &FastTable, cache: &Cache) -> Result<(), String> {
        for index in table.entries() {
            let Some(way) = table.owner(index).map(|way| cache.way(way as usize)) else { continue };
            if way.state == State::Invalid || way.fast != FastIndex::of(index) {
                return Err(format!("entry {index} of {name} is of way {way:?}"));
            }
        }
        let owned = table.entries().filter(|&index| table.owner(index).is_some()).count();
        let fast = cache.ways().filter(|way| way.fast != FastIndex::NONE).count();
        if owned == fast {
            Ok(())
        } else {
            Err(format!("{owned} entries of {name}, {fast} ways that have one"))
        }
    }

    fn check_fast_data(&self) -> Result<(), String> {
        for index in self.data.entries() {
            let Some(way) = self.data.owner(index).map(|way| self.l1d.way(way as usize)) else { continue };
            let entry = self.data.at(index);
            let page = entry.load & !(PAGE_BYTES - 1);
            let Some(translation) = self.dtlb.peek(page) else {
                return Err(format!("{:#x} is fast, its page is not in the TLB", entry.load));
            };
            let physical = translation.physical_page | entry.load & (PAGE_BYTES - 1);
            let host = (self.base as u64).wrapping_add(physical);
            if physical != way.line || entry.load.wrapping_add(entry.delta) != host {
                return Err(format!("{:#x} leads to another line than {:#x}", entry.load, way.line));
            }
            if self.write_buffer.iter().any(|s| self.line(s.address) == way.line) {
                return Err(format!("line {physical:#x} is fast and has a buffered store"));
            }
            let may_store = way.state == State::Modified;
            if entry.store == entry.load && !may_store || way.stale {
                return Err(format!("line {physical:#x} is fast as {entry:?}, its way is {way:?}"));
            }
        }
        Ok(())
    }

    fn check_fast_instructions(&self) -> Result<(), String> {
        for index in self.instructions.entries() {
            let Some(way) = self.instructions.owner(index) else { continue };
            let va = self.instructions.at(index).load;
            let translation = self.itlb.peek(va & !(PAGE_BYTES - 1));
            let physical = translation.map(|t| t.physical_page | va & (PAGE_BYTES - 1));
            if physical != Some(self.l1i.way(way as usize).line) {
                return Err(format!("code at {va:#x} is fast, its translation is {physical:?}"));
            }
        }
        Ok(())
    }
}

/// Every line of `l1` is in `l2`, with no less right.
fn includes(l2: &Cache, l1: &Cache, name: &str) -> Result<(), String> {
    for (line, state) in l1.lines() {
        let outer = l2.state(l2.line_of(line));
        if outer == State::Invalid || state >= State::Exclusive && outer < State::Exclusive {
            return Err(format!("line {line:#x} is {state:?} in {name} and {outer:?} in the L2"));
        }
    }
    Ok(())
}

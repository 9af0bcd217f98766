//! Nodes of an address space: who needs pages, and policies of areas.

use std::ops::Range;

use chasqui_memory::FlatMemory;

use super::table::{self, bits};
use super::{AddressSpace, Policy, user_pages};
use crate::errno::Errno;

impl AddressSpace {
    /// Whoever needs pages from now on is at `node`; where an area has no policy, `policy` counts.
    pub fn touched_by(&mut self, node: usize, policy: Policy) {
        self.frames.move_to(node);
        self.policy = policy;
    }

    /// Nodes that the process has memory at, whether there is any left or not.
    pub fn nodes(&self) -> usize {
        self.frames.nodes()
    }

    /// The node that the page at `address` is at, if it is there and the process's own.
    pub fn node_of_page(&self, memory: &FlatMemory, address: u64) -> Option<usize> {
        let entry = table::load(memory, self.table.find(memory, address)?);
        (entry & (bits::V | bits::KEPT) != 0).then(|| self.frames.node_of(table::physical(entry))).flatten()
    }

    /// The policy of the area that holds `address`; none: nothing is mapped there.
    pub fn policy_at(&self, address: u64) -> Option<Policy> {
        self.areas.find(address).map(|(_, area)| area.policy)
    }

    /// Pages of `start..start + bytes` come from where `policy` says from now on. `is_strict`: those that are there must be so
    /// already.
    ///
    /// # Errors
    /// EINVAL: not a page's address, or beyond the user's half; EFAULT: not all mapped; EIO: a page is elsewhere.
    pub fn set_policy(
        &mut self,
        memory: &FlatMemory,
        (start, bytes): (u64, u64),
        policy: Policy,
        is_strict: bool,
    ) -> Result<(), Errno> {
        let range = user_pages(start, bytes).ok_or(Errno::EINVAL)?;
        if range.is_empty() {
            return Ok(());
        }
        if !self.areas.covers(&range) {
            return Err(Errno::EFAULT);
        }
        if self.areas.len() + 2 > super::AREAS_MAX {
            return Err(Errno::ENOMEM);
        }
        let is_met = !is_strict || self.is_met(memory, range.clone(), policy);
        for (start, area) in self.areas.remove(&range) {
            self.areas.insert(start, super::Area { policy, ..area });
        }
        if is_met { Ok(()) } else { Err(Errno::EIO) }
    }

    fn is_met(&self, memory: &FlatMemory, range: Range<u64>, policy: Policy) -> bool {
        let mut from = range.start;
        while let Some((page, _, entry)) = self.table.next(memory, from, range.end) {
            let node = self.frames.node_of(table::physical(entry));
            if node.is_some_and(|node| !policy.is_met_at(node)) {
                return false;
            }
            from = page + super::PAGE_BYTES;
        }
        true
    }
}

//! Nodes of an address space: who needs pages, and policies of areas.

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

    /// Refuses `start..start + bytes`, rounded up to pages, unless all of it is mapped.
    ///
    /// # Errors
    /// EINVAL: not a page's address, or beyond the user's half; EFAULT: something is not mapped.
    pub fn require_mapped(&self, start: u64, bytes: u64) -> Result<(), Errno> {
        let range = user_pages(start, bytes).ok_or(Errno::EINVAL)?;
        if self.areas.covers(&range) { Ok(()) } else { Err(Errno::EFAULT) }
    }

    /// The same, unless any of it is mapped.
    ///
    /// # Errors
    /// As there; EFAULT: nothing is mapped.
    pub fn require_any_mapped(&self, start: u64, bytes: u64) -> Result<(), Errno> {
        let range = user_pages(start, bytes).ok_or(Errno::EINVAL)?;
        if self.areas.is_free(&range) { Err(Errno::EFAULT) } else { Ok(()) }
    }

    /// Pages of `start..start + bytes` come from where `policy` says from now on; those that are there stay.
    ///
    /// # Errors
    /// EINVAL: not a page's address, or beyond the user's half; ENOMEM: too many areas.
    pub fn set_policy(&mut self, start: u64, bytes: u64, policy: Policy) -> Result<(), Errno> {
        let range = user_pages(start, bytes).ok_or(Errno::EINVAL)?;
        if self.areas.len() + 2 > super::AREAS_MAX {
            return Err(Errno::ENOMEM);
        }
        for (start, area) in self.areas.remove(&range) {
            self.areas.insert(start, super::Area { policy, ..area });
        }
        Ok(())
    }

    /// Whether a page of `start..start + bytes` is there, and at none of `nodes`.
    pub fn is_page_elsewhere(&self, memory: &FlatMemory, (start, bytes): (u64, u64), nodes: u64) -> bool {
        let range = user_pages(start, bytes).unwrap_or_default();
        let mut from = range.start;
        while let Some((page, _, entry)) = self.table.next(memory, from, range.end) {
            let node = self.frames.node_of(table::physical(entry));
            if node.is_some_and(|node| nodes >> node & 1 == 0) {
                return true;
            }
            from = page + super::PAGE_BYTES;
        }
        false
    }
}

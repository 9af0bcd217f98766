//! Where pages come from: `mbind` and its relatives (Linux mm/mempolicy.c). On a machine of one node all is at that node.

use super::{Call, Result};
use crate::errno::Errno;
use crate::space::{Access, PAGE_BYTES, Policy, page_up};

// Linux include/uapi/linux/mempolicy.h.
const MPOL_DEFAULT: u64 = 0;
const MPOL_PREFERRED: u64 = 1;
const MPOL_BIND: u64 = 2;
const MPOL_INTERLEAVE: u64 = 3;
const MPOL_LOCAL: u64 = 4;
const MPOL_PREFERRED_MANY: u64 = 5;
const MPOL_F_STATIC_NODES: u64 = 1 << 15;
const MPOL_F_RELATIVE_NODES: u64 = 1 << 14;
const MPOL_F_NODE: u64 = 1;
const MPOL_F_ADDR: u64 = 2;
const MPOL_F_MEMS_ALLOWED: u64 = 4;
const MPOL_MF_STRICT: u64 = 1;
const MPOL_MF_MOVE: u64 = 2;
const MPOL_MF_MOVE_ALL: u64 = 4;

/// Bits of a word of a node mask; nodes that there may be.
const WORD_BITS: u64 = 64;

impl Call<'_> {
    fn all_nodes(&self) -> u64 {
        u64::MAX >> (WORD_BITS - self.process.space.nodes() as u64)
    }

    /// The mask at `address`, of which the kernel takes one bit less than it is told (`get_nodes`).
    fn node_mask(&mut self, address: u64, bits: u64) -> Result<u64> {
        let bits = bits.wrapping_sub(1);
        if bits == 0 || bits == u64::MAX || address == 0 {
            return Ok(0);
        }
        if bits > PAGE_BYTES * 8 {
            return Err(Errno::EINVAL.into());
        }
        let mut mask = 0;
        for word in 0..bits.div_ceil(WORD_BITS) {
            let [value] = self.read_words::<1>(address.wrapping_add(word * 8))?;
            let left = bits - word * WORD_BITS;
            let value = if left < WORD_BITS { value & ((1 << left) - 1) } else { value };
            if word == 0 {
                mask = value;
            } else if value != 0 {
                return Err(Errno::EINVAL.into());
            }
        }
        Ok(mask)
    }

    /// The policy that a program asks for.
    fn policy(&mut self, mode: u64, mask: (u64, u64)) -> Result<Policy> {
        let nodes = self.node_mask(mask.0, mask.1)?;
        let flags = mode & (MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES);
        let invalid = || Errno::EINVAL.into();
        if flags == MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES {
            return Err(invalid());
        }
        let mode = mode & !flags;
        let is_local = mode == MPOL_LOCAL || mode == MPOL_PREFERRED && nodes == 0;
        if mode == MPOL_DEFAULT || is_local {
            let is_right = nodes == 0 && (flags == 0 || mode == MPOL_DEFAULT);
            let policy = if is_local { Policy::Local } else { Policy::Default };
            return if is_right { Ok(policy) } else { Err(invalid()) };
        }
        let all = self.all_nodes();
        // All nodes are allowed, so those of a relative mask are counted in a circle.
        let folded = |nodes: u64| {
            let count = u64::from(all.count_ones());
            (0..WORD_BITS).filter(|bit| nodes >> bit & 1 != 0).fold(0, |mask, bit| mask | 1 << (bit % count))
        };
        let nodes = if flags == MPOL_F_RELATIVE_NODES { folded(nodes) } else { nodes & all };
        let policy = match mode {
            MPOL_PREFERRED => Policy::Preferred(nodes),
            MPOL_BIND => Policy::Bind(nodes),
            MPOL_INTERLEAVE => Policy::Interleave(nodes),
            MPOL_PREFERRED_MANY => Policy::PreferredMany(nodes),
            _ => return Err(invalid()),
        };
        if nodes == 0 { Err(invalid()) } else { Ok(policy) }
    }

    pub(super) fn mbind(
        &mut self,
        start: u64,
        bytes: u64,
        mode: u64,
        mask: [u64; 2],
        flags: u64,
    ) -> Result<i64> {
        if flags & !(MPOL_MF_STRICT | MPOL_MF_MOVE | MPOL_MF_MOVE_ALL) != 0 {
            return Err(Errno::EINVAL.into());
        }
        let policy = self.policy(mode, (mask[0], mask[1]))?;
        if flags & MPOL_MF_MOVE_ALL != 0 {
            return Err(Errno::EPERM.into());
        }
        let end = page_up(bytes).and_then(|bytes| start.checked_add(bytes));
        if !start.is_multiple_of(PAGE_BYTES) || end.is_none() {
            return Err(Errno::EINVAL.into());
        }
        let is_strict = flags & MPOL_MF_STRICT != 0 && policy != Policy::Default;
        self.process.space.set_policy(self.memory, (start, bytes), policy, is_strict)?;
        Ok(0)
    }

    pub(super) fn set_mempolicy(&mut self, mode: u64, mask: u64, bits: u64) -> Result<i64> {
        let policy = self.policy(mode, (mask, bits))?;
        let hart = self.hart;
        self.process.threads.get(hart).policy = policy;
        Ok(0)
    }

    pub(super) fn get_mempolicy(
        &mut self,
        [mode_at, mask_at]: [u64; 2],
        bits: u64,
        address: u64,
        flags: u64,
    ) -> Result<i64> {
        let nodes = self.process.space.nodes() as u64;
        let is_short = mask_at != 0 && bits < nodes;
        if is_short || flags & !(MPOL_F_NODE | MPOL_F_ADDR | MPOL_F_MEMS_ALLOWED) != 0 {
            return Err(Errno::EINVAL.into());
        }
        let hart = self.hart;
        let (mode, mask) = if flags & MPOL_F_MEMS_ALLOWED != 0 {
            if flags != MPOL_F_MEMS_ALLOWED {
                return Err(Errno::EINVAL.into());
            }
            (MPOL_DEFAULT, self.all_nodes())
        } else {
            let own = self.process.threads.get(hart).policy;
            let policy = if flags & MPOL_F_ADDR != 0 {
                let of_area = self.process.space.policy_at(address).ok_or(Errno::EFAULT)?;
                if of_area == Policy::Default { own } else { of_area }
            } else if address != 0 {
                return Err(Errno::EINVAL.into());
            } else {
                own
            };
            let mode = match flags & (MPOL_F_NODE | MPOL_F_ADDR) {
                MPOL_F_NODE => return Err(Errno::EINVAL.into()),
                flags if flags & MPOL_F_NODE != 0 => self.node_of_page(address)?,
                _ => number_of(policy),
            };
            (mode, policy.nodes())
        };
        if mode_at != 0 {
            self.write(mode_at, &(mode as u32).to_le_bytes())?;
        }
        if mask_at != 0 {
            let words = bits.wrapping_sub(1).div_ceil(WORD_BITS).min(PAGE_BYTES / 8);
            for word in 0..words {
                let value = if word == 0 { mask } else { 0 };
                self.write_words(mask_at.wrapping_add(word * 8), &[value])?;
            }
        }
        Ok(0)
    }

    /// The node of the page at `address`, which appears if it was not there.
    fn node_of_page(&mut self, address: u64) -> Result<u64> {
        let page = address & !(PAGE_BYTES - 1);
        let space = &mut self.process.space;
        if space.node_of_page(self.memory, page).is_none() {
            space.fault(self.memory, page, Access::Read)?;
        }
        // Pages of devices are at the first node.
        Ok(space.node_of_page(self.memory, page).unwrap_or(0) as u64)
    }
}

/// What Linux calls a policy.
fn number_of(policy: Policy) -> u64 {
    match policy {
        Policy::Default => MPOL_DEFAULT,
        Policy::Local => MPOL_LOCAL,
        Policy::Preferred(_) => MPOL_PREFERRED,
        Policy::PreferredMany(_) => MPOL_PREFERRED_MANY,
        Policy::Bind(_) => MPOL_BIND,
        Policy::Interleave(_) => MPOL_INTERLEAVE,
    }
}

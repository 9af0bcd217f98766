//! Where pages come from: `mbind` and its relatives (Linux mm/mempolicy.c). On a machine of one node all is at that node.

use super::{Call, Result};
use crate::errno::Errno;
use crate::space::{Access, Nodes, PAGE_BYTES, Policy, Relation, page_up};

// Linux include/uapi/linux/mempolicy.h.
const MPOL_DEFAULT: u32 = 0;
const MPOL_PREFERRED: u32 = 1;
const MPOL_BIND: u32 = 2;
const MPOL_INTERLEAVE: u32 = 3;
const MPOL_LOCAL: u32 = 4;
const MPOL_PREFERRED_MANY: u32 = 5;
const MPOL_F_STATIC_NODES: u32 = 1 << 15;
const MPOL_F_RELATIVE_NODES: u32 = 1 << 14;
const MPOL_F_NODE: u64 = 1;
const MPOL_F_ADDR: u64 = 2;
const MPOL_F_MEMS_ALLOWED: u64 = 4;
const MPOL_MF_STRICT: u32 = 1;
const MPOL_MF_MOVE: u32 = 2;
const MPOL_MF_MOVE_ALL: u32 = 4;

/// Bits of a word of a node mask; nodes that there may be.
const WORD_BITS: u64 = 64;

/// A mode and how its nodes are meant, as Linux takes them apart (`sanitize_mpol_flags`).
fn mode_of(mode: u64) -> Result<(u32, Relation)> {
    let mode = mode as u32;
    let relation = match mode & (MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES) {
        0 => Relation::Allowed,
        MPOL_F_STATIC_NODES => Relation::Static,
        MPOL_F_RELATIVE_NODES => Relation::Relative,
        _ => return Err(Errno::EINVAL.into()),
    };
    let mode = mode & !(MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES);
    if mode > MPOL_PREFERRED_MANY { Err(Errno::EINVAL.into()) } else { Ok((mode, relation)) }
}

impl Call<'_> {
    fn all_nodes(&self) -> u64 {
        u64::MAX >> (WORD_BITS - self.process.space.nodes() as u64)
    }

    /// The mask at `address`, of which the kernel takes one bit less than it is told (`get_nodes`).
    fn node_mask(&mut self, address: u64, bits: u64) -> Result<u64> {
        let bits = bits.wrapping_sub(1);
        if bits == 0 || address == 0 {
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

    /// The policy that a program asks for (`mpol_new`, `mpol_set_nodemask`).
    fn policy(&self, mode: u32, relation: Relation, asked: u64) -> Result<Policy> {
        let invalid = || Errno::EINVAL.into();
        if mode == MPOL_DEFAULT {
            return if asked == 0 { Ok(Policy::Default) } else { Err(invalid()) };
        }
        if mode == MPOL_LOCAL || mode == MPOL_PREFERRED && asked == 0 {
            let is_right = asked == 0 && relation == Relation::Allowed;
            return if is_right { Ok(Policy::Local) } else { Err(invalid()) };
        }
        let nodes = Nodes::new(asked, relation, self.all_nodes());
        if nodes.mask() == 0 {
            return Err(invalid());
        }
        Ok(match mode {
            MPOL_PREFERRED => Policy::Preferred(nodes.first()),
            MPOL_BIND => Policy::Bind(nodes),
            MPOL_INTERLEAVE => Policy::Interleave(nodes),
            _ => Policy::PreferredMany(nodes),
        })
    }

    pub(super) fn mbind(
        &mut self,
        start: u64,
        bytes: u64,
        mode: u64,
        mask: [u64; 2],
        flags: u64,
    ) -> Result<i64> {
        let (mode, relation) = mode_of(mode)?;
        let asked = self.node_mask(mask[0], mask[1])?;
        let flags = flags as u32;
        if flags & !(MPOL_MF_STRICT | MPOL_MF_MOVE | MPOL_MF_MOVE_ALL) != 0 {
            return Err(Errno::EINVAL.into());
        }
        if flags & MPOL_MF_MOVE_ALL != 0 {
            return Err(Errno::EPERM.into());
        }
        let end = page_up(bytes).and_then(|bytes| start.checked_add(bytes));
        if !start.is_multiple_of(PAGE_BYTES) || end.is_none() {
            return Err(Errno::EINVAL.into());
        }
        if bytes == 0 {
            return Ok(0);
        }
        let policy = self.policy(mode, relation, asked)?;
        let is_strict = flags & MPOL_MF_STRICT != 0 && mode != MPOL_DEFAULT;
        let space = &mut self.process.space;
        if mode == MPOL_DEFAULT {
            space.require_any_mapped(start, bytes)
        } else {
            space.require_mapped(start, bytes)
        }?;
        let is_elsewhere = is_strict && space.is_page_elsewhere(self.memory, (start, bytes), asked);
        // Without a wish to move pages, one that is elsewhere ends the call before anything has changed.
        if !is_elsewhere || flags & MPOL_MF_MOVE != 0 {
            space.set_policy(start, bytes, policy)?;
        }
        if is_elsewhere { Err(Errno::EIO.into()) } else { Ok(0) }
    }

    pub(super) fn set_mempolicy(&mut self, mode: u64, mask: u64, bits: u64) -> Result<i64> {
        let (mode, relation) = mode_of(mode)?;
        let asked = self.node_mask(mask, bits)?;
        let policy = self.policy(mode, relation, asked)?;
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
        if mask_at != 0 && bits < self.process.space.nodes() as u64 {
            return Err(Errno::EINVAL.into());
        }
        let (mode, mask) = self.current_policy(address, flags)?;
        if mode_at != 0 {
            self.write(mode_at, &mode.to_le_bytes())?;
        }
        if mask_at != 0 {
            self.write_mask(mask_at, bits, mask)?;
        }
        Ok(0)
    }

    /// What a program asks for: a mode or a node, and nodes (`do_get_mempolicy`).
    fn current_policy(&mut self, address: u64, flags: u64) -> Result<(u32, u64)> {
        let invalid = Err(Errno::EINVAL.into());
        if flags & !(MPOL_F_NODE | MPOL_F_ADDR | MPOL_F_MEMS_ALLOWED) != 0 {
            return invalid;
        }
        if flags & MPOL_F_MEMS_ALLOWED != 0 {
            return if flags == MPOL_F_MEMS_ALLOWED { Ok((0, self.all_nodes())) } else { invalid };
        }
        let hart = self.hart;
        let policy = if flags & MPOL_F_ADDR != 0 {
            // Not the thread's where the area has none.
            self.process.space.policy_at(address).ok_or(Errno::EFAULT)?
        } else if address != 0 {
            return invalid;
        } else {
            self.process.threads.get(hart).policy
        };
        let mode = match (flags & MPOL_F_NODE != 0, flags & MPOL_F_ADDR != 0, policy) {
            (true, true, _) => self.node_of_page(address)?,
            // Linux counts pages of its own that the thread needed; those of the program go by their number. So the next is
            // always the first.
            (true, false, Policy::Interleave(nodes)) => nodes.mask().trailing_zeros(),
            (true, false, _) => return invalid,
            (false, ..) => number_of(policy),
        };
        Ok((mode, policy.nodes().map_or(0, |nodes| nodes.shown())))
    }

    /// `copy_nodes_to_user`: words beyond the nodes that there are are cleared first.
    fn write_mask(&mut self, at: u64, bits: u64, mask: u64) -> Result<()> {
        // Linux's sum wraps, too.
        let words = bits.wrapping_sub(1).wrapping_add(WORD_BITS - 1) / WORD_BITS;
        if words > PAGE_BYTES / 8 {
            return Err(Errno::EINVAL.into());
        }
        for word in (0..words).rev() {
            self.write_words(at.wrapping_add(word * 8), &[if word == 0 { mask } else { 0 }])?;
        }
        Ok(())
    }

    /// The node of the page at `address`, which appears if it was not there.
    fn node_of_page(&mut self, address: u64) -> Result<u32> {
        let page = address & !(PAGE_BYTES - 1);
        let space = &mut self.process.space;
        if space.node_of_page(self.memory, page).is_none() {
            space.fault(self.memory, page, Access::Read)?;
        }
        // Pages of devices are at the first node.
        Ok(space.node_of_page(self.memory, page).unwrap_or(0) as u32)
    }
}

/// What Linux calls a policy, with how its nodes were meant.
fn number_of(policy: Policy) -> u32 {
    let mode = match policy {
        Policy::Default => MPOL_DEFAULT,
        Policy::Local => MPOL_LOCAL,
        Policy::Preferred(_) => MPOL_PREFERRED,
        Policy::PreferredMany(_) => MPOL_PREFERRED_MANY,
        Policy::Bind(_) => MPOL_BIND,
        Policy::Interleave(_) => MPOL_INTERLEAVE,
    };
    mode | match policy.nodes().map(Nodes::relation) {
        None | Some(Relation::Allowed) => 0,
        Some(Relation::Static) => MPOL_F_STATIC_NODES,
        Some(Relation::Relative) => MPOL_F_RELATIVE_NODES,
    }
}

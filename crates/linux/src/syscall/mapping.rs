//! Memory: `mmap` and its relatives; where pages come from, `mbind` and its relatives (Linux mm/mempolicy.c). On a machine of one
//! node all is at that node.

use super::{Call, Result};
use crate::descriptors::Object;
use crate::errno::Errno;
use crate::open_flags::{O_ACCMODE, O_WRONLY};
use crate::space::{Access, Backing, Nodes, PAGE_BYTES, Placement, Policy, Protection, Relation, page_up};

/// Distance of a network interface's regions in its file (`NI_REGION_STRIDE` of the guest's
/// header).
pub(super) const NI_REGION_STRIDE: u64 = 1 << 32;

// Linux include/uapi/linux/mman.h, include/uapi/asm-generic/mman-common.h.
const MAP_SHARED: u64 = 1;
const MAP_PRIVATE: u64 = 2;
const MAP_SHARED_VALIDATE: u64 = 3;
const MAP_TYPE: u64 = 15;
const MAP_FIXED: u64 = 0x10;
const MAP_ANONYMOUS: u64 = 0x20;
const MAP_NORESERVE: u64 = 0x4000;
const MAP_HUGETLB: u64 = 0x40000;
const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
const MREMAP_MAYMOVE: u64 = 1;
const MREMAP_FIXED: u64 = 2;
const MADV_DONTNEED: u64 = 4;
/// The highest advice that is known; none but `MADV_DONTNEED` changes what a program sees.
const MADV_LAST: u64 = 25;

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

fn protection(bits: u64) -> Protection {
    Protection((bits & 7) as u8)
}

/// Whether `bytes`, rounded up to pages, from `offset` on are where a file may have any (Linux mm/mmap.c,
/// `file_mmap_ok`). A length that no number of pages has is refused later.
fn is_in_file(offset: u64, bytes: u64) -> bool {
    let Some(bytes) = page_up(bytes) else { return true };
    offset.checked_add(bytes).is_some_and(|end| end <= i64::MAX as u64 + 1)
}

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
    pub(super) fn mmap(&mut self) -> Result<i64> {
        let [address, bytes, prot, flags, descriptor, offset] = self.args;
        if !offset.is_multiple_of(PAGE_BYTES) || bytes == 0 {
            return Err(Errno::EINVAL.into());
        }
        let shared = match flags & MAP_TYPE {
            MAP_SHARED | MAP_SHARED_VALIDATE => true,
            MAP_PRIVATE => false,
            _ => return Err(Errno::EINVAL.into()),
        };
        let protection = protection(prot);
        let backing = if flags & MAP_ANONYMOUS != 0 {
            Backing::Anonymous
        } else {
            self.file_backing(descriptor, bytes, protection, shared, offset)?
        };
        // As Linux guesses (mm/util.c, __vm_enough_memory): one writable mapping larger than all
        // memory can only be a mistake. `MAP_HUGETLB`: there are no huge pages.
        let counts = protection.allows(Protection::WRITE) && flags & MAP_NORESERVE == 0;
        let large = counts && !backing.is_device() && bytes > self.process.space.limit_bytes();
        if large || flags & MAP_HUGETLB != 0 {
            return Err(Errno::ENOMEM.into());
        }
        let placement = if flags & MAP_FIXED_NOREPLACE != 0 {
            Placement::FixedIfFree(address)
        } else if flags & MAP_FIXED != 0 {
            Placement::Fixed(address)
        } else {
            Placement::Anywhere(address)
        };
        let identification = matches!(&backing, Backing::Image { .. })
            && matches!(self.process.descriptors.get(descriptor), Ok(open) if matches!(open.object, Object::Ni(_)));
        let space = &mut self.process.space;
        let at = space.map(self.memory, placement, bytes, protection, backing)?;
        if identification && protection.allows(Protection::READ) {
            space.fault(self.memory, at, Access::Read)?;
        }
        Ok(at as i64)
    }

    fn file_backing(
        &mut self,
        descriptor: u64,
        bytes: u64,
        protection: Protection,
        shared: bool,
        offset: u64,
    ) -> Result<Backing> {
        let open = self.process.descriptors.get(descriptor)?;
        if open.flags & O_ACCMODE == O_WRONLY {
            return Err(Errno::EACCES.into());
        }
        if matches!(open.object, Object::File { .. } | Object::Bytes(_)) && !is_in_file(offset, bytes) {
            return Err(Errno::EOVERFLOW.into());
        }
        // Changes would have to reach the file.
        let writes = shared && protection.allows(Protection::WRITE);
        Ok(match &open.object {
            Object::File { .. } | Object::Bytes(_) if writes => return Err(Errno::ENODEV.into()),
            Object::File { file, .. } => Backing::File { file: file.clone(), offset },
            Object::Bytes(bytes) => Backing::Image { bytes: bytes.clone(), offset, limit: u64::MAX },
            Object::Zero => Backing::Anonymous,
            &Object::Ni(number) => return self.ni_backing(number, bytes, protection, offset),
            _ => return Err(Errno::ENODEV.into()),
        })
    }

    /// Offset 0 of `/dev/ni…` is the identification page; region `i` is at `(i + 1) << 32`.
    fn ni_backing(&self, number: usize, bytes: u64, protection: Protection, offset: u64) -> Result<Backing> {
        let device = &self.process.options.devices[number];
        let beyond = |limit: u64, within: u64| within > limit || bytes > limit - within;
        if offset < NI_REGION_STRIDE {
            if beyond(PAGE_BYTES, offset) {
                return Err(Errno::EINVAL.into());
            }
            if protection.allows(Protection::WRITE) {
                return Err(Errno::EACCES.into());
            }
            let bytes = device.identification.clone().into();
            return Ok(Backing::Image { bytes, offset: 0, limit: PAGE_BYTES });
        }
        let within = offset % NI_REGION_STRIDE;
        let region = device.regions.get((offset / NI_REGION_STRIDE - 1) as usize).ok_or(Errno::EINVAL)?;
        if beyond(region.bytes, within) {
            return Err(Errno::EINVAL.into());
        }
        Ok(Backing::Device { physical: region.physical + within, uncached: region.uncached })
    }

    pub(super) fn munmap(&mut self, address: u64, bytes: u64) -> Result<i64> {
        self.process.space.unmap(self.memory, address, bytes)?;
        Ok(0)
    }

    pub(super) fn mprotect(&mut self, address: u64, bytes: u64, prot: u64) -> Result<i64> {
        self.process.space.protect(self.memory, address, bytes, protection(prot))?;
        Ok(0)
    }

    pub(super) fn mremap(&mut self) -> Result<i64> {
        let [address, old_bytes, new_bytes, flags, new_address, _] = self.args;
        let may_move = flags & MREMAP_MAYMOVE != 0;
        if flags & !(MREMAP_MAYMOVE | MREMAP_FIXED) != 0 || (flags & MREMAP_FIXED != 0 && !may_move) {
            return Err(Errno::EINVAL.into());
        }
        let fixed = (flags & MREMAP_FIXED != 0).then_some(new_address);
        let space = &mut self.process.space;
        if new_bytes > old_bytes && new_bytes - old_bytes > space.limit_bytes() {
            return Err(Errno::ENOMEM.into());
        }
        Ok(space.remap(self.memory, address, old_bytes, new_bytes, may_move, fixed)? as i64)
    }

    pub(super) fn madvise(&mut self, address: u64, bytes: u64, advice: u64) -> Result<i64> {
        // The end must be an address, too.
        page_up(bytes).and_then(|bytes| address.checked_add(bytes)).ok_or(Errno::EINVAL)?;
        match advice {
            MADV_DONTNEED => self.process.space.discard(self.memory, address, bytes)?,
            0..=MADV_LAST if address.is_multiple_of(PAGE_BYTES) => (),
            _ => return Err(Errno::EINVAL.into()),
        }
        Ok(0)
    }

    // --- nodes --------------------------------------------------------------------------------------

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

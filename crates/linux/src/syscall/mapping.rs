//! Memory: `mmap` and its relatives; where pages come from, `mbind` and its relatives (Linux mm/mempolicy.c). On a machine of one
//! node all is at that node.

use super::{Call, Result};
use crate::descriptors::Object;
use crate::errno::Errno;
use crate::open_flags::{O_ACCMODE, O_WRONLY};
use crate::space::{Access, Backing, PAGE_BYTES, Placement, Policy, Protection, page_up};

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

fn protection(bits: u64) -> Protection {
    Protection((bits & 7) as u8)
}

/// Whether `bytes`, rounded up to pages, from `offset` on are where a file may have any (Linux mm/mmap.c,
/// `file_mmap_ok`). A length that no number of pages has is refused later.
fn is_in_file(offset: u64, bytes: u64) -> bool {
    let Some(bytes) = page_up(bytes) else { return true };
    offset.checked_add(bytes).is_some_and(|end| end <= i64::MAX as u64 + 1)
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

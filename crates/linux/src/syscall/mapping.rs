//! Memory: `mmap` and its relatives.

use super::{Call, Result};
use crate::descriptors::Object;
use crate::errno::Errno;
use crate::open_flags::{O_ACCMODE, O_WRONLY};
use crate::space::{Access, Backing, PAGE_BYTES, Placement, Protection, page_up};

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
}

//! Access to a process's memory by its virtual addresses, as the kernel does it: functional, in no
//! simulated time.

use chasqui_memory::FlatMemory;

use super::banks::Banks;
use super::table::{self, bits};
use super::{Access, AddressSpace, Area, Backing, Fault, FaultCause, PAGE_BYTES, USER_END, fill, page_down};

impl AddressSpace {
    /// Physical address of `address`, when a page is there now (whatever it allows).
    pub fn translate(&self, memory: &FlatMemory, address: u64) -> Option<u64> {
        if address >= USER_END {
            return None;
        }
        let entry = table::load(memory, self.table.find(memory, address)?);
        (entry & bits::V != 0).then(|| table::physical(entry) + address % PAGE_BYTES)
    }

    /// Physical address of `address` for `access`; makes the page appear if need be.
    fn make_present(&mut self, memory: &mut FlatMemory, address: u64, access: Access) -> Result<u64, Fault> {
        let refuse = |cause| Err(Fault { address, access, cause });
        if address >= USER_END {
            return refuse(FaultCause::Unmapped);
        }
        for _ in 0..2 {
            let entry = self.table.find(memory, address).map_or(0, |at| table::load(memory, at));
            if entry & bits::V != 0 && entry & access.bit() != 0 {
                let physical = table::physical(entry) + address % PAGE_BYTES;
                if !self.frames.contains(physical) && self.is_device_register(memory, address, physical) {
                    return refuse(FaultCause::Device);
                }
                return Ok(physical);
            }
            self.fault(memory, address, access)?;
        }
        unreachable!("a served fault leaves a page that allows the access");
    }

    fn is_device_register(&self, memory: &FlatMemory, address: u64, physical: u64) -> bool {
        let area = self.areas.find(address).map(|(_, area)| area);
        let uncached = matches!(area, Some(Area { backing: Backing::Device { uncached: true, .. }, .. }));
        uncached || physical >= memory.bytes()
    }

    /// Copies the process's memory at `address` to `buffer`, whatever its pages allow, and changes nothing: of a page that has
    /// not appeared, what it would appear with. `read` reads physical memory. How much could be read, from the beginning.
    pub fn peek(
        &self,
        memory: &FlatMemory,
        address: u64,
        buffer: &mut [u8],
        read: &mut dyn FnMut(u64, &mut [u8]) -> bool,
    ) -> usize {
        let mut done = 0;
        while done < buffer.len() {
            let at = address.wrapping_add(done as u64);
            let length = in_page(at, buffer.len() - done);
            let part = &mut buffer[done..done + length];
            let is_read = match self.translate(memory, at) {
                Some(physical) => !self.is_device_register(memory, at, physical) && read(physical, part),
                None => self.peek_absent(at, part),
            };
            if !is_read {
                break;
            }
            done += part.len();
        }
        done
    }

    /// What of the page at `address` would appear, from `address` on. False: nothing would.
    fn peek_absent(&self, address: u64, part: &mut [u8]) -> bool {
        let Some((start, area)) = self.areas.find(address) else { return false };
        if area.backing.is_device() {
            return false;
        }
        let (mut page, within) = (vec![0; PAGE_BYTES as usize], (address % PAGE_BYTES) as usize);
        let is_there = fill(&mut page, &area.backing.advanced(page_down(address) - start));
        part.copy_from_slice(&page[within..within + part.len()]);
        is_there
    }

    /// Copies `bytes` to the process's memory at `address`, whatever its pages allow; those that have not appeared do. False:
    /// some of it is no memory, and nothing was copied.
    pub fn poke(&mut self, memory: &mut FlatMemory, address: u64, bytes: &[u8]) -> bool {
        let mut places = vec![];
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let is_memory = |(_, area): (u64, &Area)| !area.backing.is_device();
            if self.translate(memory, at).is_none() {
                let is_there = self.areas.find(at).is_some_and(is_memory);
                if !is_there || self.appear(memory, at, Access::Write, Banks::take).is_err() {
                    return false;
                }
            }
            let physical = self.translate(memory, at).expect("it has appeared");
            if self.is_device_register(memory, at, physical) {
                return false;
            }
            let length = in_page(at, bytes.len() - done);
            places.push((physical, done..done + length));
            done += length;
        }
        for (physical, part) in places {
            let to = memory.slice_mut(physical, part.len()).expect("reached pages lie inside memory");
            to.copy_from_slice(&bytes[part]);
        }
        true
    }

    /// Copies the process's memory at `address` to `buffer`.
    ///
    /// # Errors
    /// The first address that cannot be read; what lies before it was copied.
    pub fn read_user(
        &mut self,
        memory: &mut FlatMemory,
        address: u64,
        buffer: &mut [u8],
    ) -> Result<(), Fault> {
        let mut done = 0;
        while done < buffer.len() {
            let at = address.wrapping_add(done as u64);
            let length = in_page(at, buffer.len() - done);
            let physical = self.make_present(memory, at, Access::Read)?;
            let from = memory.slice(physical, length).expect("reached pages lie inside memory");
            buffer[done..done + length].copy_from_slice(from);
            done += length;
        }
        Ok(())
    }

    /// Copies `bytes` to the process's memory at `address`.
    ///
    /// # Errors
    /// The first address that cannot be written; what lies before it was copied.
    pub fn write_user(&mut self, memory: &mut FlatMemory, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let length = in_page(at, bytes.len() - done);
            let physical = self.make_present(memory, at, Access::Write)?;
            let to = memory.slice_mut(physical, length).expect("reached pages lie inside memory");
            to.copy_from_slice(&bytes[done..done + length]);
            done += length;
        }
        Ok(())
    }
}

/// How much of `bytes` at `address` lies in one page.
fn in_page(address: u64, bytes: usize) -> usize {
    bytes.min((PAGE_BYTES - address % PAGE_BYTES) as usize)
}

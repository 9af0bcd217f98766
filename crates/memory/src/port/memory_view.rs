//! Functional memory as a port sees it.

use crate::FlatMemory;

/// Physical addresses from here on are devices: uncached.
pub const DEVICE_BASE: u64 = 1 << 40;

/// The [`FlatMemory`] of a port's coherence domain. It outlives the port and never moves its mapping.
pub(super) struct MemoryView {
    /// Host address of physical address 0.
    base: *mut u8,
    /// Length [bytes].
    bytes: u64,
}

// SAFETY: one host thread at a time runs a coherence domain, whose memory alone `base` points into.
unsafe impl Send for MemoryView {}

impl MemoryView {
    pub fn new(memory: &mut FlatMemory) -> MemoryView {
        MemoryView { base: memory.base(), bytes: memory.bytes() }
    }

    /// The `bytes` from physical address `address` on are memory.
    #[inline]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        address.checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }

    /// Host address of physical address `pa`, as a number; it need not be memory.
    #[inline]
    pub fn host(&self, pa: u64) -> u64 {
        (self.base as u64).wrapping_add(pa)
    }

    /// Physical address of host address `host`.
    #[inline]
    pub fn physical(&self, host: u64) -> u64 {
        host.wrapping_sub(self.base as u64)
    }

    /// Value of the `bytes` (1 to 8) at `address`, zero-extended.
    #[inline]
    pub fn read(&self, address: u64, bytes: u32) -> u64 {
        debug_assert!(self.contains(address, u64::from(bytes)));
        // SAFETY: translations lead to memory only, the mapping outlives the port.
        unsafe {
            let at = self.base.add(address as usize);
            match bytes {
                8 => u64::from_le(at.cast::<u64>().read_unaligned()),
                4 => u64::from(u32::from_le(at.cast::<u32>().read_unaligned())),
                _ => {
                    let mut value = [0u8; 8];
                    std::ptr::copy_nonoverlapping(at, value.as_mut_ptr(), bytes as usize);
                    u64::from_le_bytes(value)
                }
            }
        }
    }

    /// Stores the low `bytes` (1 to 8) of `value` at `address`.
    #[inline]
    pub fn write(&mut self, address: u64, bytes: u32, value: u64) {
        debug_assert!(self.contains(address, u64::from(bytes)));
        // SAFETY: as in `read`.
        unsafe {
            let at = self.base.add(address as usize);
            match bytes {
                8 => at.cast::<u64>().write_unaligned(value.to_le()),
                4 => at.cast::<u32>().write_unaligned((value as u32).to_le()),
                _ => std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), at, bytes as usize),
            }
        }
    }

    /// Copies what is at `address` to `bytes`. False: it is not all memory.
    pub fn copy_to(&self, address: u64, bytes: &mut [u8]) -> bool {
        if !self.contains(address, bytes.len() as u64) {
            return false;
        }
        // SAFETY: the range was checked, the mapping outlives the port.
        unsafe {
            std::ptr::copy_nonoverlapping(self.base.add(address as usize), bytes.as_mut_ptr(), bytes.len());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_length_are_stored_little_endian_and_nothing_beside_them() {
        let mut memory = FlatMemory::new(4096).unwrap();
        let mut view = MemoryView::new(&mut memory);
        for bytes in 1..=8 {
            view.write(16, 8, u64::MAX);
            view.write(17, bytes, 0x0807_0605_0403_0201);
            let mask = u64::MAX >> (64 - 8 * bytes);
            assert_eq!(view.read(17, bytes), 0x0807_0605_0403_0201 & mask, "{bytes} bytes");
            assert_eq!(view.read(16, 2), 0x01ff, "{bytes} bytes");
            if bytes < 7 {
                assert_eq!(view.read(17 + u64::from(bytes), 1), 0xff, "{bytes} bytes");
            }
        }
        let mut two = [0; 2];
        assert!(view.copy_to(4094, &mut two) && !view.copy_to(4095, &mut two));
        assert!(!view.contains(u64::MAX, 2));
        assert_eq!(view.physical(view.host(40)), 40);
    }
}

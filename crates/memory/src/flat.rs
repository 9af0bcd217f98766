//! The functional memory of a coherence domain.

use memmap2::{MmapMut, MmapOptions};

/// An access outside physical memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// First physical address of the access.
    pub address: u64,
    /// Length [bytes].
    pub bytes: u64,
}

/// Physical memory from address 0: one flat array, committed by the host page by page as it is
/// touched, zero at first. Data lives here alone; caches are tags beside it.
pub struct FlatMemory {
    map: MmapMut,
}

impl FlatMemory {
    /// A memory of `bytes`.
    ///
    /// # Errors
    /// When the host refuses the address space.
    pub fn new(bytes: u64) -> std::io::Result<FlatMemory> {
        let length = usize::try_from(bytes).map_err(std::io::Error::other)?;
        Ok(FlatMemory { map: MmapOptions::new().len(length).no_reserve_swap().map_anon()? })
    }

    /// Size [bytes].
    pub fn bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// Host address of physical address 0, for the harts' fast path.
    pub fn base(&mut self) -> *mut u8 {
        self.map.as_mut_ptr()
    }

    fn range(&self, address: u64, bytes: usize) -> Result<std::ops::Range<usize>, OutOfMemory> {
        let end = address.checked_add(bytes as u64).filter(|&end| end <= self.bytes());
        end.map(|end| address as usize..end as usize).ok_or(OutOfMemory { address, bytes: bytes as u64 })
    }

    /// The `bytes` at `address`.
    ///
    /// # Errors
    /// When they are not all inside.
    pub fn slice(&self, address: u64, bytes: usize) -> Result<&[u8], OutOfMemory> {
        Ok(&self.map[self.range(address, bytes)?])
    }

    /// The `bytes` at `address`, to change.
    ///
    /// # Errors
    /// When they are not all inside.
    pub fn slice_mut(&mut self, address: u64, bytes: usize) -> Result<&mut [u8], OutOfMemory> {
        let range = self.range(address, bytes)?;
        Ok(&mut self.map[range])
    }

    /// Little-endian value of `bytes` (1 to 8) at `address`.
    ///
    /// # Errors
    /// When it is not all inside.
    #[inline]
    pub fn read(&self, address: u64, bytes: usize) -> Result<u64, OutOfMemory> {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(self.slice(address, bytes)?);
        Ok(u64::from_le_bytes(value))
    }

    /// Stores the low `bytes` (1 to 8) of `value` at `address`, little-endian.
    ///
    /// # Errors
    /// When it is not all inside.
    #[inline]
    pub fn write(&mut self, address: u64, bytes: usize, value: u64) -> Result<(), OutOfMemory> {
        self.slice_mut(address, bytes)?.copy_from_slice(&value.to_le_bytes()[..bytes]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_values_and_refuses_what_is_outside() {
        let mut memory = FlatMemory::new(1 << 40).unwrap();
        memory.write((1 << 40) - 8, 8, 0x0123_4567_89ab_cdef).unwrap();
        assert_eq!(memory.read((1 << 40) - 6, 2), Ok(0x89ab));
        assert_eq!(memory.read(0, 8), Ok(0));
        assert_eq!(memory.read((1 << 40) - 4, 8), Err(OutOfMemory { address: (1 << 40) - 4, bytes: 8 }));
        assert!(memory.write(u64::MAX - 2, 8, 0).is_err());
    }
}

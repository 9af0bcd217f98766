//! The local store as the memory of the core's processor ([`FirmwareProcessor`](chasqui_ni::FirmwareProcessor)): what it loads,
//! stores and fetches takes what its instruction takes ([`PortKind::Scratchpad`]), and what it accesses outside are its
//! channels.
//!
//! Others change the local store, too: its DMA, and others' by its physical address. The processor is run ahead, but never past
//! what they may do: that is known so long before ([`LocalStore::new`]), or it was announced ([`LocalStore::touched_at`]). DMA
//! takes no time from the processor's accesses (the original gives it the local store for a cycle each 128 bytes; ours has a
//! port for each).

use chasqui_engine::Time;
use chasqui_hart::Hart;
use chasqui_memory::{DEVICE_BASE, FlatMemory, PAGE_BYTES, PortKind, Request, Slot, Snooped, pte};
use chasqui_ni::{DeviceAccess, Ended, FIRMWARE_DEVICE, FIRMWARE_MEMORY, LocalMemory, Taken, table_bytes};

/// Entries of a page table (Sv39).
const ENTRIES: u64 = 512;
/// Addresses of a program end there (Sv39, the lower half).
const PROGRAM_END: u64 = 1 << 38;

/// A local store.
pub struct LocalStore {
    /// Beyond the local store there are pages for the processor's page table, which its program can't reach.
    memory: FlatMemory,
    bytes: u64,
    notice: Time,
    touched: Time,
    /// Tables for pages that are mapped elsewhere, too.
    tables: u64,
}

impl LocalStore {
    /// One of so many bytes, whole pages, zero at first. `notice`: from when it is known that somebody reads or writes it,
    /// without having been announced, until that happens, at least; an EIB's snoop, if data are taken and put then or later.
    ///
    /// # Errors
    /// The host has no address space for it.
    pub fn new(bytes: u64, notice: Time) -> Result<LocalStore, String> {
        assert!(bytes.is_multiple_of(PAGE_BYTES), "{bytes} bytes");
        assert!(notice > Time::ZERO, "the processor would never be run");
        // Each page may need two tables where it is mapped to.
        let tables = table_bytes(bytes) + 2 * bytes;
        let memory = FlatMemory::new(bytes + tables).map_err(|e| format!("a local store: {e}"))?;
        Ok(LocalStore { memory, bytes, notice, touched: Time::NEVER, tables: 0 })
    }

    /// A page of the processor's addresses, that at `address`, is the page of the local store at `local`, with `rights` (the
    /// bits of an entry of Sv39); without rights there is none. False: that can't be, since the program has its local store or its channels
    /// there, or the tables are used up.
    pub fn map_page(&mut self, address: u64, local: u64, rights: u64) -> bool {
        let place = address / PAGE_BYTES;
        let number = |level: u32| place / ENTRIES.pow(level) % ENTRIES;
        let gigapage = ENTRIES * ENTRIES * PAGE_BYTES;
        let is_own = [FIRMWARE_DEVICE, FIRMWARE_MEMORY].contains(&(address / gigapage * gigapage));
        if is_own || address >= PROGRAM_END || local >= self.bytes {
            return false;
        }
        let mut table = self.bytes;
        for level in [2, 1] {
            let at = table + number(level) * 8;
            let entry = self.memory.read(at, 8).expect("the tables lie in memory");
            table = if entry & pte::V != 0 {
                entry >> 10 << 12
            } else {
                let first = self.bytes + table_bytes(self.bytes);
                if self.tables == 2 * self.bytes / PAGE_BYTES {
                    return false;
                }
                let new = first + self.tables * PAGE_BYTES;
                self.tables += 1;
                self.write(at, new >> 12 << 10 | pte::V);
                new
            };
        }
        let rights = rights & (pte::R | pte::W | pte::X);
        let entry = if rights == 0 { 0 } else { (local / PAGE_BYTES) << 10 | rights | pte::U | pte::V };
        self.write(table + number(0) * 8, entry);
        true
    }

    /// No page is mapped but where the local store is.
    pub fn unmap_pages(&mut self) {
        let own = [FIRMWARE_DEVICE, FIRMWARE_MEMORY].map(|own| own / PAGE_BYTES / (ENTRIES * ENTRIES));
        for entry in (0..ENTRIES).filter(|entry| !own.contains(entry)) {
            self.write(self.bytes + entry * 8, 0);
        }
        let first = self.bytes + table_bytes(self.bytes);
        let tables = self.memory.slice_mut(first, (self.tables * PAGE_BYTES) as usize);
        tables.expect("they lie in memory").fill(0);
        self.tables = 0;
    }

    fn write(&mut self, address: u64, entry: u64) {
        self.memory.write(address, 8, entry).expect("the tables lie in memory");
    }

    /// Somebody reads or writes it then, and not before: the processor is not run further. `Time::NEVER`: nobody has said so.
    pub fn touched_at(&mut self, time: Time) {
        self.touched = time;
    }

    /// What it holds.
    pub fn bytes(&self) -> &[u8] {
        self.memory.slice(0, self.bytes as usize).expect("it has so many")
    }

    /// The same, to change.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.slice_mut(0, self.bytes as usize).expect("it has so many")
    }
}

impl LocalMemory for LocalStore {
    const KINDS: &[PortKind] = &[PortKind::Scratchpad];

    fn memory(&mut self) -> &mut FlatMemory {
        &mut self.memory
    }

    fn table(&self) -> u64 {
        self.bytes
    }

    fn reach(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn horizon(&self, now: Time) -> Time {
        (now + self.notice).min(self.touched).max(now)
    }

    fn take(&mut self, cycle: u64, slot: Slot, request: Request, hart: &mut Hart) -> Result<Taken, String> {
        let at = hart.time_of(cycle);
        match request {
            Request::UncachedLoad { address, bytes } => {
                Ok(Some((at, DeviceAccess::Load { address: address - DEVICE_BASE, bytes })))
            }
            Request::UncachedStore { address, bytes, value } => {
                hart.port.granted(slot, Snooped::default(), cycle);
                let address = address - DEVICE_BASE;
                Ok(Some((at, DeviceAccess::Store { address, bytes, value })))
            }
            other => unreachable!("{other:?} of a scratchpad"),
        }
    }

    fn next_end(&mut self, _: Time, _: &mut Hart) -> Option<Ended> {
        None
    }

    fn run_until(&self, _: &Hart) -> u64 {
        u64::MAX
    }

    fn answer(&mut self, at: Time, _: u32, latency: Time, hart: &mut Hart) -> Time {
        hart.port.granted(Slot::Blocking, Snooped::default(), hart.cycle_at(at));
        at + latency
    }

    fn is_busy(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: u64 = 64 << 10;

    /// The physical address that the tables have for a virtual one, and its rights.
    fn walk(store: &LocalStore, address: u64) -> Option<(u64, u64)> {
        let mut table = store.table();
        for shift in [30, 21, 12] {
            let entry =
                store.memory.read(table + (address >> shift & (ENTRIES - 1)) * 8, 8).expect("a table");
            if entry & pte::V == 0 {
                return None;
            }
            table = entry >> 10 << 12;
            if shift == 12 {
                return Some((table, entry & (pte::R | pte::W | pte::X)));
            }
        }
        None
    }

    #[test]
    fn pages_are_where_they_were_mapped_until_they_are_not() {
        let mut store = LocalStore::new(STORE, Time(1)).expect("memory");
        let (first, other) = (0x100_0000, 0x3f_f000_0000);
        assert_eq!(walk(&store, first), None);
        assert!(store.map_page(first, 0x2000, pte::R | pte::X));
        assert!(store.map_page(other, 0, pte::R | pte::W));
        assert_eq!(walk(&store, first), Some((0x2000, pte::R | pte::X)));
        assert_eq!(walk(&store, other), Some((0, pte::R | pte::W)));
        assert!(store.map_page(first, 0x2000, 0));
        assert_eq!(walk(&store, first), None);
        store.unmap_pages();
        assert_eq!(walk(&store, other), None);
    }

    #[test]
    fn no_page_is_mapped_over_the_local_store_or_channels_or_beyond_its_end() {
        let mut store = LocalStore::new(STORE, Time(1)).expect("memory");
        for (address, local) in
            [(FIRMWARE_MEMORY, 0), (FIRMWARE_DEVICE + 0x1000, 0), (PROGRAM_END, 0), (0x1000, STORE)]
        {
            assert!(!store.map_page(address, local, pte::R), "{address:#x} {local:#x}");
        }
        // Every page far from all others: tables are enough.
        let mut far = (0..STORE / PAGE_BYTES).map(|page| ((page + 3) << 30, page * PAGE_BYTES));
        assert!(far.all(|(address, local)| store.map_page(address, local, pte::R)));
    }
}

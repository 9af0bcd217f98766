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
use chasqui_memory::{DEVICE_BASE, FlatMemory, PAGE_BYTES, PortKind, Request, Slot, Snooped};
use chasqui_ni::{DeviceAccess, Ended, LocalMemory, Taken, table_bytes};

/// A local store.
pub struct LocalStore {
    /// Beyond the local store there are pages for the processor's page table, which its program can't reach.
    memory: FlatMemory,
    bytes: u64,
    notice: Time,
    touched: Time,
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
        let memory =
            FlatMemory::new(bytes + table_bytes(bytes)).map_err(|e| format!("a local store: {e}"))?;
        Ok(LocalStore { memory, bytes, notice, touched: Time::NEVER })
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

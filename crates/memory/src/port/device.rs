//! Uncached accesses to devices, which stay in order. A store of 64 bytes is one transaction, posted, or with an
//! answer for which the instruction waits.

use super::{Access, DEVICE_BASE, Fault, Incoherence, Port, Request, Slot, Stall, Stop};

/// Bytes of the longest store, to which its address is aligned.
pub const BURST_BYTES: u32 = 64;

impl Port {
    pub(super) fn load_device(
        &mut self,
        va: u64,
        pa: u64,
        bytes: u32,
        cycles: &mut u64,
    ) -> Result<u64, Stop> {
        if !va.is_multiple_of(u64::from(bytes)) {
            return Err(Stop::Fault(Fault::DeviceAlignment { address: va }));
        }
        if let Some(value) = self.take_reply(pa) {
            return Ok(value);
        }
        self.follow_device_stores()?;
        if self.under_way[Slot::Blocking as usize].is_none() {
            self.statistics.uncached_loads += 1;
            self.request(*cycles, Slot::Blocking, Request::UncachedLoad { address: pa, bytes });
        }
        Err(Stop::Wait(Stall::Uncached))
    }

    /// What the device answered to the access at `pa`, if it has been made.
    fn take_reply(&mut self, pa: u64) -> Option<u64> {
        self.reply.take().filter(|&(address, _)| address == pa).map(|(_, value)| value)
    }

    /// An access that waits for the device follows posted stores: accesses to a device stay in order (strongly
    /// ordered I/O, unprivileged ISA 17.1).
    fn follow_device_stores(&self) -> Result<(), Stop> {
        if self.posted.iter().any(Request::is_device_store) {
            return Err(Stop::Wait(Stall::Posted));
        }
        Ok(())
    }

    pub(super) fn store_device(
        &mut self,
        va: u64,
        pa: u64,
        bytes: u32,
        value: u64,
        cycles: &mut u64,
    ) -> Result<(), Stop> {
        if !va.is_multiple_of(u64::from(bytes)) {
            return Err(Stop::Fault(Fault::DeviceAlignment { address: va }));
        }
        let value = if bytes == 8 { value } else { value & ((1 << (8 * bytes)) - 1) };
        if !self.timed {
            // Served at once, past whatever is on its way to the bus.
            self.statistics.uncached_stores += 1;
            self.requests.push((*cycles, Slot::Posted, Request::UncachedStore { address: pa, bytes, value }));
            return Ok(());
        }
        self.post_device(Request::UncachedStore { address: pa, bytes, value }, pa, *cycles)
    }

    /// Posts a store to a device at `pa`, if there is room.
    fn post_device(&mut self, store: Request, pa: u64, cycle: u64) -> Result<(), Stop> {
        if self.posted.len() >= self.parameters.write_buffer.posted as usize {
            return Err(Stop::Wait(Stall::Posted));
        }
        self.check_passing(pa)?;
        self.statistics.uncached_stores += 1;
        self.post_at(store, cycle);
        Ok(())
    }

    /// Coherence checker: a device store at `pa` must not pass older stores or flushes, unless it refers to nothing
    /// in memory.
    fn check_passing(&self, pa: u64) -> Result<(), Stop> {
        if !self.parameters.check_coherence || self.self_contained.contains(&pa) {
            return Ok(());
        }
        let flush = self.posted.iter().find_map(|r| match r {
            Request::WriteBack { line, flush: true, .. } | Request::Block { line, .. } => Some(*line),
            _ => None,
        });
        match self.write_buffer.front().map(|s| s.address).or(flush) {
            None => Ok(()),
            Some(older) => {
                Err(Stop::Fault(Fault::Incoherent(Incoherence::DevicePassesStore { address: pa, older })))
            }
        }
    }

    /// Stores `words` at `va`, posted: in order with other stores to devices.
    pub fn store_64(&mut self, va: u64, words: [u64; 8], cycles: &mut u64) -> Result<(), Stop> {
        let pa = self.burst_address(va, cycles)?;
        self.disturb();
        let store = Request::Store64 { address: pa, answered: false };
        if !self.timed {
            // Served at once, past whatever is on its way to the bus.
            self.statistics.uncached_stores += 1;
            self.awaited = words;
            self.requests.push((*cycles, Slot::Posted, store));
            return Ok(());
        }
        self.bursts.push_back(words);
        let posted = self.post_device(store, pa, *cycles);
        if posted.is_err() {
            self.bursts.pop_back();
        }
        posted
    }

    /// Stores `words` at `va` and waits for the device's answer, in order with other accesses to devices.
    pub fn store_64_answered(&mut self, va: u64, words: [u64; 8], cycles: &mut u64) -> Result<u64, Stop> {
        let pa = self.burst_address(va, cycles)?;
        if let Some(answer) = self.take_reply(pa) {
            return Ok(answer);
        }
        self.follow_device_stores()?;
        if self.under_way[Slot::Blocking as usize].is_none() {
            self.check_passing(pa)?;
            self.statistics.uncached_stores += 1;
            self.awaited = words;
            self.request(*cycles, Slot::Blocking, Request::Store64 { address: pa, answered: true });
        }
        Err(Stop::Wait(Stall::Uncached))
    }

    /// Data of the 64-byte store in `slot`. Where accesses take no time, those of the latest are in
    /// [`Slot::Blocking`].
    pub fn burst(&self, slot: Slot) -> [u64; 8] {
        match slot {
            Slot::Posted => *self.bursts.front().expect("a 64-byte store is posted"),
            _ => self.awaited,
        }
    }

    /// Physical address of a 64-byte store.
    fn burst_address(&mut self, va: u64, cycles: &mut u64) -> Result<u64, Stop> {
        if !va.is_multiple_of(u64::from(BURST_BYTES)) {
            return Err(Stop::Fault(Fault::DeviceAlignment { address: va }));
        }
        let (pa, _) = self.translate(va, Access::Write, cycles)?;
        if pa < DEVICE_BASE {
            return Err(Stop::Fault(Fault::NotDevice { address: va }));
        }
        Ok(pa)
    }
}

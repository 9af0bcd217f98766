//! Stores of 64 bytes to a device: one transaction, posted, or with an answer for which the instruction waits.

use super::{Access, DEVICE_BASE, Fault, Port, Request, Slot, Stall, Stop};

/// Bytes of such a store, to which its address is aligned.
pub const BURST_BYTES: u32 = 64;

impl Port {
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

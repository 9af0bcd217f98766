//! The data side of a port without caches, TLBs and write buffer: each load and store is a transaction as long as the
//! access.
//!
//! A store is posted and takes effect at its grant. A load that overlaps a posted store waits for it; another may pass it
//! (RVWMO lets it). Atomic operations are faults: the memory has no support for them (privileged ISA, physical memory
//! attributes).

use super::{Port, PortKind, Request, Slot, Snooped, Stall, Stop};

/// What a load without caches keeps over retries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DirectLoad {
    /// What memory held at the grant of the load that is under way.
    granted: u64,
    /// Physical address and value of the load that is over, until the instruction is executed again.
    reply: Option<(u64, u64)>,
    /// Physical address and value of the first part of a load that crosses a page.
    first_part: Option<(u64, u64)>,
}

impl Port {
    /// Accesses to memory are transactions of their own.
    #[inline]
    pub(super) fn is_cacheless(&self) -> bool {
        self.timed && self.parameters.kind == PortKind::Cacheless
    }

    /// Loads `bytes` at physical address `pa`, which is memory.
    pub(super) fn load_direct(&mut self, pa: u64, bytes: u32, cycles: &mut u64) -> Result<u64, Stop> {
        if let Some((_, value)) = self.direct.reply.take().filter(|&(address, _)| address == pa) {
            return Ok(value);
        }
        if self.overlaps_posted(pa, bytes) {
            return Err(Stop::Wait(Stall::Posted));
        }
        if self.has_peers {
            // Others may store to what a loop polls, and no snoop shows it here.
            self.disturb();
        }
        if self.under_way[Slot::Blocking as usize].is_none() {
            self.statistics.uncached_loads += 1;
            self.request(*cycles, Slot::Blocking, Request::DirectLoad { address: pa, bytes });
        }
        Err(Stop::Wait(Stall::Data))
    }

    /// Loads the `first` bytes at `low` and the rest of `bytes` at `high`, on another page.
    pub(super) fn load_direct_across(
        &mut self,
        (low, high): (u64, u64),
        (first, bytes): (u32, u32),
        cycles: &mut u64,
    ) -> Result<u64, Stop> {
        let value = match self.direct.first_part.filter(|&(address, _)| address == low) {
            Some((_, value)) => value,
            None => {
                let value = self.load_direct(low, first, cycles)?;
                self.direct.first_part = Some((low, value));
                value
            }
        };
        let rest = self.load_direct(high, bytes - first, cycles)?;
        self.direct.first_part = None;
        Ok(value | rest << (8 * first))
    }

    /// Posts stores to memory, all or none: physical address, length, value of each.
    pub(super) fn store_direct<const N: usize>(
        &mut self,
        stores: [(u64, u32, u64); N],
        cycles: &mut u64,
    ) -> Result<(), Stop> {
        // A queue with a single place takes two when it is empty.
        if self.posted.len() + N > (self.parameters.write_buffer.posted as usize).max(N) {
            return Err(Stop::Wait(Stall::Posted));
        }
        for (address, bytes, value) in stores {
            self.statistics.uncached_stores += 1;
            self.post_at(Request::DirectStore { address, bytes, value: Some(value) }, *cycles);
            self.note_store(address, bytes);
        }
        Ok(())
    }

    /// The load of `bytes` at `address` has its place in the order.
    pub(super) fn grant_direct_load(&mut self, address: u64, bytes: u32) {
        self.direct.granted = self.read_memory(address, bytes);
    }

    /// The load at `address` is over. Where accesses take no time the instruction has been executed meanwhile.
    pub(super) fn complete_direct_load(&mut self, address: u64) {
        self.direct.reply = self.timed.then_some((address, self.direct.granted));
    }

    /// As [`Port::granted`], of a transaction whose data the memory itself has moved: `value` is what a load got.
    pub fn served(&mut self, slot: Slot, value: u64, cycle: u64) {
        if slot == Slot::Posted {
            self.take_value();
        }
        self.granted(slot, Snooped::default(), cycle);
        self.direct.granted = value;
    }

    /// Stores to memory that are posted and have no effect yet, oldest first: address, length, value.
    pub(super) fn posted_stores(&self) -> impl Iterator<Item = (u64, u32, u64)> + '_ {
        self.posted.iter().filter_map(|request| match *request {
            Request::DirectStore { address, bytes, value: Some(value) } => Some((address, bytes, value)),
            _ => None,
        })
    }

    /// Writes them to functional memory ahead of their time. Their transactions remain.
    pub(super) fn apply_posted_stores(&mut self) {
        let stores: Vec<_> = self.posted_stores().collect();
        for (address, bytes, value) in stores {
            self.write_memory(address, bytes, value);
        }
        let under_way = &mut self.under_way[Slot::Posted as usize];
        for request in self.posted.iter_mut().chain(under_way) {
            if let Request::DirectStore { value, .. } = request {
                *value = None;
            }
        }
    }

    /// The posted store that was granted has its effect.
    pub(super) fn grant_direct_store(&mut self) {
        if let Some((address, bytes, value)) = self.take_value() {
            self.write_memory(address, bytes, value);
        }
    }

    /// The oldest posted transaction, if it is a store to memory that has no effect yet: it has, from now on.
    fn take_value(&mut self) -> Option<(u64, u32, u64)> {
        let Some(&Request::DirectStore { address, bytes, value }) = self.posted.front() else { return None };
        let done = Request::DirectStore { address, bytes, value: None };
        self.posted[0] = done;
        self.under_way[Slot::Posted as usize] = Some(done);
        Some((address, bytes, value?))
    }

    fn overlaps_posted(&self, pa: u64, bytes: u32) -> bool {
        let end = pa + u64::from(bytes);
        self.posted_stores().any(|(address, length, _)| address < end && pa < address + u64::from(length))
    }
}

//! The data side of a port without caches, TLBs and write buffer: each load and store is a transaction as long as the
//! access.
//!
//! A store is posted and takes effect at its grant. A load that overlaps a posted store waits for it; another may pass it
//! (RVWMO lets it). Atomic operations are faults: the memory has no support for them (privileged ISA, physical memory
//! attributes).

use super::request::{Request, Slot};
use super::stop::{Stall, Stop};
use super::transactions::Transactions;

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

impl DirectLoad {
    /// The value of the load at `pa`, if it is over.
    pub fn take(&mut self, pa: u64) -> Option<u64> {
        self.reply.take().filter(|&(address, _)| address == pa).map(|(_, value)| value)
    }

    /// Loads `bytes` at `pa` by a transaction, unless one is under way. True: it has been asked for now.
    pub fn ask(&self, transactions: &mut Transactions, (address, bytes): (u64, u32), cycle: u64) -> bool {
        let asks = !transactions.is_under_way(Slot::Blocking);
        if asks {
            transactions.ask(cycle, Slot::Blocking, Request::DirectLoad { address, bytes });
        }
        asks
    }

    /// The load has its place in the order: memory holds `value`.
    pub fn grant(&mut self, value: u64) {
        self.granted = value;
    }

    /// The load at `pa` is over.
    pub fn complete(&mut self, pa: u64) {
        self.reply = Some((pa, self.granted));
    }

    /// Where accesses take no time the instruction has been executed meanwhile.
    pub fn forget_reply(&mut self) {
        self.reply = None;
    }

    /// Value of the first part, at `pa`, of a load that crosses a page, if it is known.
    pub fn first_part(&self, pa: u64) -> Option<u64> {
        self.first_part.filter(|&(address, _)| address == pa).map(|(_, value)| value)
    }

    pub fn set_first_part(&mut self, part: Option<(u64, u64)>) {
        self.first_part = part;
    }
}

/// Posts stores to memory, all or none: physical address, length, value of each.
pub(super) fn post_stores<const N: usize>(
    transactions: &mut Transactions,
    stores: [(u64, u32, u64); N],
    cycle: u64,
) -> Result<(), Stop> {
    if !transactions.has_room(N) {
        return Err(Stop::Wait(Stall::Posted));
    }
    for (address, bytes, value) in stores {
        transactions.post_at(Request::DirectStore { address, bytes, value: Some(value) }, cycle);
    }
    Ok(())
}

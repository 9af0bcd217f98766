//! Accesses to messages' data, noted on the slow path: what is tracked is in no fast table, as lines with buffered
//! stores are.
//!
//! A load is noted when it has its value, a store when it is in memory or in the write buffer. What is noted counts as
//! a change ([`Port::changes`](crate::Port::changes)): a polling loop that loads a message's data is executed, never
//! skipped.

use std::sync::{Arc, MutexGuard};

use chasqui_engine::{Cycles, Time};

use crate::accesses::TrackedPages;
use crate::{Accesses, PAGE_BYTES, SharedAccesses};

/// Where a port notes accesses, if it does.
#[derive(Default)]
pub(super) struct Notes {
    noting: Option<Noting>,
    changes: u64,
}

struct Noting {
    accesses: SharedAccesses,
    /// Their pages.
    pages: Arc<TrackedPages>,
    /// The hart's clock.
    cycles: Cycles,
}

impl Noting {
    /// The accesses, if some of the `bytes` from `address` on, which are in one page, may be a message's.
    #[inline]
    fn accesses(&self, address: u64, bytes: u64) -> Option<MutexGuard<'_, Accesses>> {
        self.pages.may_have(address, bytes).then(|| lock(&self.accesses))
    }
}

fn lock(accesses: &SharedAccesses) -> MutexGuard<'_, Accesses> {
    accesses.lock().expect("one host thread at a time runs a node")
}

impl Notes {
    /// From now on accesses to messages' data are noted in `accesses`. `cycles`: the hart's clock.
    pub fn start(&mut self, accesses: SharedAccesses, cycles: Cycles) {
        let pages = lock(&accesses).tracked_pages();
        self.noting = Some(Noting { accesses, pages, cycles });
    }

    #[inline]
    fn accesses(&self, address: u64, bytes: u64) -> Option<MutexGuard<'_, Accesses>> {
        self.noting.as_ref()?.accesses(address, bytes)
    }

    /// The hart's clock has been set.
    pub fn set_cycles(&mut self, cycles: Cycles) {
        if let Some(noting) = &mut self.noting {
            noting.cycles = cycles;
        }
    }

    /// Moves with every access that was noted.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// A page is another's from now on: what was in it is no message's.
    pub fn forget_page(&mut self, page: u64) {
        if let Some(mut accesses) = self.accesses(page, PAGE_BYTES) {
            accesses.replace(page, PAGE_BYTES);
        }
    }

    /// Accesses are noted.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.noting.is_some()
    }

    /// Some of the `bytes` from `address` on are tracked.
    #[inline]
    pub fn is_tracked(&self, address: u64, bytes: u64) -> bool {
        self.accesses(address, bytes).is_some_and(|accesses| accesses.is_tracked(address, bytes))
    }

    /// The `bytes` at `address` have been loaded; `cycle`: when they were there.
    #[inline]
    pub fn load(&mut self, address: u64, bytes: u32, cycle: u64) {
        if let Some(noting) = &self.noting
            && let Some(mut accesses) = noting.accesses(address, u64::from(bytes))
        {
            let at: Time = noting.cycles.time_of(cycle);
            self.changes += u64::from(accesses.load(address, bytes, at));
        }
    }

    /// The `bytes` at `address` have been stored.
    #[inline]
    pub fn store(&mut self, address: u64, bytes: u32) {
        if !self.is_on() {
            return;
        }
        let accesses = self.accesses(address, u64::from(bytes));
        let found = accesses.is_some_and(|mut accesses| accesses.replace(address, u64::from(bytes)));
        self.changes += u64::from(found);
    }
}

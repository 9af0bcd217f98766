//! Uncached accesses to devices, which stay in order. A store of 64 bytes is one transaction, posted, or with an
//! answer for which the instruction waits.

use std::collections::VecDeque;

use super::request::Slot;
use super::stop::{Fault, Stop};

/// Bytes of the longest store, to which its address is aligned.
pub const BURST_BYTES: u32 = 64;

/// What a port keeps of accesses to devices.
#[derive(Default)]
pub(super) struct Devices {
    /// Physical address and answer of the access that is over, until its instruction is executed again.
    reply: Option<(u64, u64)>,
    /// Data of the 64-byte stores that are posted, in their order.
    bursts: VecDeque<[u64; 8]>,
    /// Data of the 64-byte store that is not posted.
    awaited: [u64; 8],
}

/// Accesses to devices do not cross their natural alignment.
pub(super) fn check_alignment(va: u64, bytes: u32) -> Result<(), Stop> {
    if va.is_multiple_of(u64::from(bytes)) {
        Ok(())
    } else {
        Err(Stop::Fault(Fault::DeviceAlignment { address: va }))
    }
}

impl Devices {
    /// An answer is here.
    pub fn has_reply(&self) -> bool {
        self.reply.is_some()
    }

    /// What the device answered to the access at `pa`, if it has been made.
    pub fn take_reply(&mut self, pa: u64) -> Option<u64> {
        self.reply.take().filter(|&(address, _)| address == pa).map(|(_, value)| value)
    }

    /// The access at `pa` is over.
    pub fn answer(&mut self, pa: u64, value: u64) {
        self.reply = Some((pa, value));
    }

    /// `words` are the data of the 64-byte store that is posted next.
    pub fn push_burst(&mut self, words: [u64; 8]) {
        self.bursts.push_back(words);
    }

    /// The oldest posted 64-byte store is over.
    pub fn pop_burst(&mut self) {
        self.bursts.pop_front();
    }

    /// `words` are the data of the 64-byte store that is not posted.
    pub fn set_awaited(&mut self, words: [u64; 8]) {
        self.awaited = words;
    }

    /// Data of the 64-byte store in `slot`.
    pub fn burst(&self, slot: Slot) -> [u64; 8] {
        match slot {
            Slot::Posted => *self.bursts.front().expect("a 64-byte store is posted"),
            _ => self.awaited,
        }
    }
}

//! The data side of a port without caches, TLBs and write buffer: each load and store is a transaction as long as the
//! access.
//!
//! A store is posted and takes effect at its grant. A load that overlaps a posted store waits for it; another may pass it
//! (RVWMO lets it). Atomic operations are faults: the memory has no support for them (privileged ISA, physical memory
//! attributes).

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

//! Running ahead of other harts: what a port can take back.
//!
//! A hart that runs ahead makes only accesses that the fast path answers; any other stops it before anything has changed
//! ([`Stop::Turn`]). So all that may have to be taken back is the recency of lines, and what stores have overwritten.

use super::{Port, Snoop, Stop};
use crate::cache::Recency;

/// Bits of the filter of lines that were stored to.
const FILTER_BITS: u64 = 4096;
/// Their length for the filter [bytes]: the least that caches have.
const FILTER_SHIFT: u32 = 4;

/// A store that may be taken back: where, how many bytes, what was there.
struct Overwritten {
    address: u64,
    bytes: u32,
    old: u64,
}

/// What has happened since a hart began to run ahead.
pub(super) struct Ahead {
    /// It runs ahead now.
    runs: bool,
    data: Recency,
    code: Recency,
    overwritten: Vec<Overwritten>,
    /// Of the lines that were stored to.
    filter: [u64; (FILTER_BITS / 64) as usize],
}

impl Default for Ahead {
    fn default() -> Ahead {
        let (data, code) = (Recency::default(), Recency::default());
        Ahead { runs: false, data, code, overwritten: vec![], filter: [0; (FILTER_BITS / 64) as usize] }
    }
}

impl Ahead {
    /// Accesses that are not fast wait for the hart's turn.
    #[inline]
    pub fn runs(&self) -> bool {
        self.runs
    }

    fn bit(address: u64) -> (usize, u64) {
        let bit = address >> FILTER_SHIFT & (FILTER_BITS - 1);
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    fn note(&mut self, overwritten: Overwritten) {
        let (word, bit) = Ahead::bit(overwritten.address);
        self.filter[word] |= bit;
        self.overwritten.push(overwritten);
    }

    /// Something of the `bytes` from `address` on may have been stored to.
    fn may_have_stored(&self, address: u64, bytes: u32) -> bool {
        let lines = (address..address + u64::from(bytes)).step_by(1 << FILTER_SHIFT);
        !self.overwritten.is_empty() && lines.map(Ahead::bit).any(|(word, bit)| self.filter[word] & bit != 0)
    }
}

impl Port {
    /// From here on what happens may be taken back.
    pub fn begin_ahead(&mut self) {
        self.l1d.save_recency(&mut self.ahead.data);
        self.l1i.save_recency(&mut self.ahead.code);
        self.ahead.overwritten.clear();
        self.ahead.filter.fill(0);
    }

    /// The hart runs ahead from now on, or no more.
    pub fn set_ahead(&mut self, runs: bool) {
        self.ahead.runs = runs;
    }

    /// The hart may run ahead: nothing is under way, and nobody watches its accesses.
    pub fn may_run_ahead(&self) -> bool {
        self.is_cached() && self.is_quiet() && !self.observation.is_watched()
    }

    /// What the hart has done since it began to run ahead depends on whether another master's transaction on `bytes` from
    /// `address` on comes before or after it.
    pub fn is_concerned(&self, snoop: Snoop, address: u64, bytes: u32) -> bool {
        if snoop == Snoop::Read {
            return self.ahead.may_have_stored(address, bytes);
        }
        // With an L2 all of its lines are concerned that are touched.
        let (first, end) = match self.l2.cache() {
            Some(l2) => {
                let last = l2.line_of(address + u64::from(bytes) - 1);
                (l2.line_of(address), last + l2.line_bytes())
            }
            None => (self.line(address), address + u64::from(bytes)),
        };
        self.l1d.has_used(first, end, &self.ahead.data) || self.l1i.has_used(first, end, &self.ahead.code)
    }

    /// Everything is as it was when the hart began to run ahead, but for what others' transactions have taken.
    pub fn take_back(&mut self) {
        while let Some(Overwritten { address, bytes, old }) = self.ahead.overwritten.pop() {
            self.memory.write(address, bytes, old);
        }
        self.ahead.filter.fill(0);
        self.l1d.restore_recency(&self.ahead.data);
        self.l1i.restore_recency(&self.ahead.code);
    }

    /// A store of a hart that runs ahead.
    ///
    /// # Errors
    /// It would not be fast: it is for the hart's turn.
    pub(super) fn store_ahead(&mut self, va: u64, bytes: u32, value: u64) -> Result<(), Stop> {
        let delta = self.l1d.fast_store(true, va, bytes).ok_or(Stop::Turn)?;
        let address = self.memory.physical(va.wrapping_add(delta));
        let old = self.memory.read(address, bytes);
        self.ahead.note(Overwritten { address, bytes, old });
        self.memory.write(address, bytes, value);
        Ok(())
    }
}

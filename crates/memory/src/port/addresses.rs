//! Physical addresses of which devices say something.

use std::ops::Range;

/// A range of each device that has one.
#[derive(Default)]
pub(super) struct Addresses(Vec<Range<u64>>);

impl Addresses {
    /// These, too; a device that has none gives an empty range.
    pub fn add(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.0.push(range);
        }
    }

    /// `address` is one of them.
    #[inline]
    pub fn contains(&self, address: u64) -> bool {
        self.0.iter().any(|range| range.contains(&address))
    }
}

//! Areas of an address space: what Linux calls VMAs.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use super::page::Protection;
use super::policy::Policy;

/// What an area's pages are filled from.
#[derive(Clone, Debug)]
pub enum Backing {
    /// Zeros.
    Anonymous,
    /// Bytes in host memory, copied page by page; what lies beyond `limit` is zero.
    Image {
        /// The bytes.
        bytes: Arc<[u8]>,
        /// Where in them the area begins.
        offset: u64,
        /// End of what is copied.
        limit: u64,
    },
    /// A host file, read page by page; pages wholly beyond its end cannot be used.
    File {
        /// The file.
        file: Arc<File>,
        /// Where in it the area begins.
        offset: u64,
    },
    /// Physical addresses given by a device.
    Device {
        /// Where the area begins.
        physical: u64,
        /// Whether every access is a transaction with the device.
        uncached: bool,
    },
}

impl Backing {
    /// The backing `bytes` further on.
    #[must_use]
    pub fn advanced(&self, bytes: u64) -> Backing {
        let mut backing = self.clone();
        match &mut backing {
            Backing::Anonymous => (),
            Backing::Image { offset, .. } | Backing::File { offset, .. } => *offset += bytes,
            Backing::Device { physical, .. } => *physical += bytes,
        }
        backing
    }

    /// Whether the pages belong to a device, not to the process.
    pub fn is_device(&self) -> bool {
        matches!(self, Backing::Device { .. })
    }
}

/// A range of pages with one protection and one backing.
#[derive(Clone, Debug)]
pub struct Area {
    /// First address after it.
    pub end: u64,
    /// What the process may do.
    pub protection: Protection,
    /// What its pages are filled from.
    pub backing: Backing,
    /// Where its pages come from.
    pub policy: Policy,
}

impl Area {
    /// An area that ends at `end`, without a policy.
    pub fn new(end: u64, protection: Protection, backing: Backing) -> Area {
        Area { end, protection, backing, policy: Policy::Default }
    }
}

/// The areas of an address space by first address; they do not overlap.
#[derive(Default)]
pub struct Areas(BTreeMap<u64, Area>);

impl Areas {
    /// The area that holds `address`, with its first address.
    pub fn find(&self, address: u64) -> Option<(u64, &Area)> {
        let (&start, area) = self.0.range(..=address).next_back()?;
        (address < area.end).then_some((start, area))
    }

    /// Number of areas.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All areas with their first addresses, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Area)> {
        self.0.iter().map(|(&start, area)| (start, area))
    }

    /// No file backs any of them any more.
    pub fn close_files(&mut self) {
        for area in self.0.values_mut().filter(|area| matches!(area.backing, Backing::File { .. })) {
            area.backing = Backing::Anonymous;
        }
    }

    /// The areas that touch `range`, with their first addresses.
    pub fn within(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, &Area)> {
        let first = self.find(range.start).map_or(range.start, |(start, _)| start);
        self.0.range(first..range.end.max(first)).map(|(&start, area)| (start, area))
    }

    /// Whether no area touches `range`.
    pub fn is_free(&self, range: &Range<u64>) -> bool {
        self.within(range).next().is_none()
    }

    /// Whether every address of `range` is in an area.
    pub fn covers(&self, range: &Range<u64>) -> bool {
        let mut at = range.start;
        for (start, area) in self.within(range) {
            if start > at {
                return false;
            }
            at = area.end;
        }
        at >= range.end
    }

    /// Cuts the area that holds `at` in two, so that one begins there.
    fn cut(&mut self, at: u64) {
        let Some((start, area)) = self.find(at) else { return };
        if start < at {
            let second = Area { backing: area.backing.advanced(at - start), ..area.clone() };
            self.0.get_mut(&start).expect("found above").end = at;
            self.0.insert(at, second);
        }
    }

    /// Removes what lies in `range` and gives it.
    pub fn remove(&mut self, range: &Range<u64>) -> Vec<(u64, Area)> {
        self.cut(range.start);
        self.cut(range.end);
        let starts: Vec<u64> = self.0.range(range.clone()).map(|(&start, _)| start).collect();
        starts.into_iter().map(|start| (start, self.0.remove(&start).expect("listed above"))).collect()
    }

    /// Adds an area at `start`, where nothing is; joins it to equal neighbours.
    pub fn insert(&mut self, start: u64, area: Area) {
        let mut start = start;
        let mut area = area;
        if matches!(area.backing, Backing::Anonymous) {
            let like = (area.protection, area.policy);
            let joins = |other: &Area| {
                matches!(other.backing, Backing::Anonymous) && (other.protection, other.policy) == like
            };
            if let Some(next) = self.0.get(&area.end).filter(|next| joins(next)) {
                let end = next.end;
                self.0.remove(&area.end);
                area.end = end;
            }
            if let Some((&before, previous)) = self.0.range(..start).next_back()
                && previous.end == start
                && joins(previous)
            {
                start = before;
            }
        }
        self.0.insert(start, area);
    }

    /// The highest free range of `bytes` in `window`; gives its first address.
    pub fn gap_below(&self, window: Range<u64>, bytes: u64) -> Option<u64> {
        let mut top = window.end;
        for (&start, area) in self.0.range(..window.end).rev() {
            let floor = area.end.max(window.start);
            if top >= floor && top - floor >= bytes {
                return Some(top - bytes);
            }
            top = top.min(start);
            if top <= window.start {
                return None;
            }
        }
        (top.saturating_sub(window.start) >= bytes).then(|| top - bytes)
    }
}

//! Accesses to the data of messages: when each message's were loaded first and last.
//!
//! Data are tracked byte by byte, from when they are where the program asked for them. A byte is a message's until
//! another message comes there, a store replaces it, or its page is another's. So a buffer that is used for something
//! else afterwards (a stack, a freed block) says nothing of the message any more, and the last access is exact however
//! late it comes.
//!
//! Each page that has such bytes has the message of each byte: an access costs a search among pages and a look at its
//! bytes, however many messages there are. Most accesses are to other pages, and a look at [`TrackedPages`] says so.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use chasqui_engine::Time;

use crate::PAGE_BYTES;

/// No message's.
const NO_MESSAGE: u32 = 0;

/// What harts that share memory note together; one host thread at a time runs them.
pub type SharedAccesses = Arc<Mutex<Accesses>>;

/// Whose the bytes of a page are.
struct Page {
    /// By byte: number of the message, from 1 on, or [`NO_MESSAGE`].
    owners: [u32; PAGE_BYTES as usize],
    /// Bytes that are a message's.
    live: u32,
}

/// How many pages with a message's bytes have the same low bits of their number: where there are none, nothing need be
/// searched.
pub(crate) struct TrackedPages([AtomicU32; TrackedPages::COUNTS]);

impl TrackedPages {
    const COUNTS: usize = 1024;

    fn none() -> TrackedPages {
        TrackedPages([const { AtomicU32::new(0) }; TrackedPages::COUNTS])
    }

    #[inline]
    fn count(&self, address: u64) -> &AtomicU32 {
        &self.0[(address / PAGE_BYTES) as usize % TrackedPages::COUNTS]
    }

    /// Some of the `bytes` from `address` on, which are in one page, may be a message's.
    #[inline]
    pub fn may_have(&self, address: u64, bytes: u64) -> bool {
        debug_assert_eq!(address / PAGE_BYTES, (address + bytes - 1) / PAGE_BYTES);
        // The harts that ask are run by one host thread at a time.
        self.count(address).load(Ordering::Relaxed) != 0
    }
}

/// First and last loads of messages' data.
pub struct Accesses {
    tracked: Arc<TrackedPages>,
    /// By physical address; those that have no message's bytes are not there.
    pages: BTreeMap<u64, Box<Page>>,
    /// By message, in the order in which they came.
    times: Vec<Option<(Time, Time)>>,
}

impl Default for Accesses {
    fn default() -> Accesses {
        Accesses { tracked: Arc::new(TrackedPages::none()), pages: BTreeMap::new(), times: vec![] }
    }
}

impl Accesses {
    /// Which pages have a message's bytes.
    pub(crate) fn tracked_pages(&self) -> Arc<TrackedPages> {
        Arc::clone(&self.tracked)
    }

    /// The data of a message are at these physical addresses, in place of whatever was there. Its number, from 0 on.
    pub fn track(&mut self, pieces: impl IntoIterator<Item = Range<u64>>) -> usize {
        self.times.push(None);
        let owner = u32::try_from(self.times.len()).expect("a node receives less than 2^32 messages");
        for piece in pieces {
            self.set(piece, owner);
        }
        self.times.len() - 1
    }

    /// The bytes from `address` on are loaded at `at`. True: some are a message's.
    pub fn load(&mut self, address: u64, bytes: u32, at: Time) -> bool {
        let mut found = false;
        for (page, within) in pages(address..address + u64::from(bytes)) {
            let Some(page) = self.pages.get(&page) else { continue };
            let owners = &page.owners[within];
            for (i, &owner) in owners.iter().enumerate() {
                if owner != NO_MESSAGE && (i == 0 || owners[i - 1] != owner) {
                    let time = &mut self.times[owner as usize - 1];
                    let (first, last) = time.unwrap_or((at, at));
                    *time = Some((first.min(at), last.max(at)));
                    found = true;
                }
            }
        }
        found
    }

    /// The bytes from `address` on are replaced by something that is no message's. True: some were.
    pub fn replace(&mut self, address: u64, bytes: u64) -> bool {
        let is_tracked = self.is_tracked(address, bytes);
        if is_tracked {
            self.set(address..address + bytes, NO_MESSAGE);
        }
        is_tracked
    }

    /// Some of the bytes from `address` on are a message's.
    pub fn is_tracked(&self, address: u64, bytes: u64) -> bool {
        pages(address..address + bytes).any(|(page, within)| {
            let page = self.pages.get(&page);
            page.is_some_and(|page| {
                within.len() == page.owners.len() || page.owners[within].iter().any(|&o| o != NO_MESSAGE)
            })
        })
    }

    /// First and last load of each message's data, by number; `None`: there was none.
    pub fn times(&self) -> &[Option<(Time, Time)>] {
        &self.times
    }

    fn set(&mut self, addresses: Range<u64>, owner: u32) {
        for (number, within) in pages(addresses) {
            let empty = || {
                self.tracked.count(number).fetch_add(1, Ordering::Relaxed);
                Box::new(Page { owners: [NO_MESSAGE; PAGE_BYTES as usize], live: 0 })
            };
            let page = self.pages.entry(number).or_insert_with(empty);
            for byte in &mut page.owners[within] {
                page.live -= u32::from(*byte != NO_MESSAGE);
                page.live += u32::from(owner != NO_MESSAGE);
                *byte = owner;
            }
            if page.live == 0 {
                self.pages.remove(&number);
                self.tracked.count(number).fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

/// The pages that hold these addresses, and which bytes of each.
fn pages(addresses: Range<u64>) -> impl Iterator<Item = (u64, Range<usize>)> {
    let Range { start, end } = addresses;
    let first = start / PAGE_BYTES * PAGE_BYTES;
    (first..end).step_by(PAGE_BYTES as usize).filter(move |_| start < end).map(move |page| {
        let within = start.max(page) - page..end.min(page + PAGE_BYTES) - page;
        (page, within.start as usize..within.end as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_random::Random;
    use std::iter::once;

    #[test]
    fn a_message_is_accessed_until_its_bytes_are_replaced() {
        let mut accesses = Accesses::default();
        let message = accesses.track(once(4090..4104));
        assert!(accesses.is_tracked(0, 4096) && accesses.is_tracked(4103, 1));
        assert!(!accesses.is_tracked(4104, 4096) && !accesses.is_tracked(4082, 8));
        assert!(accesses.load(4088, 8, Time(10)) && accesses.load(4096, 8, Time(30)));
        assert!(!accesses.load(4104, 8, Time(40)));
        assert_eq!(accesses.times()[message], Some((Time(10), Time(30))));
        assert!(accesses.replace(4088, 8) && accesses.load(4096, 8, Time(50)));
        assert!(accesses.replace(4096, 8) && !accesses.replace(4096, 8));
        assert!(!accesses.load(4096, 8, Time(60)));
        assert_eq!(accesses.times()[message], Some((Time(10), Time(50))));
    }

    #[test]
    fn the_next_message_takes_over() {
        let mut accesses = Accesses::default();
        let one = accesses.track(once(64..128));
        let other = accesses.track([96..104, 200..208]);
        accesses.load(96, 8, Time(1));
        accesses.load(104, 8, Time(2));
        accesses.load(200, 1, Time(3));
        assert_eq!(accesses.times()[one], Some((Time(2), Time(2))));
        assert_eq!(accesses.times()[other], Some((Time(1), Time(3))));
    }

    /// Against a table of every byte.
    #[test]
    fn random_accesses_are_noted_as_by_a_plain_table() {
        let mut random = Random::for_test(23);
        let mut accesses = Accesses::default();
        let mut owners = vec![None; 3 * PAGE_BYTES as usize];
        let mut times: Vec<Option<(Time, Time)>> = vec![];
        for step in 0..20_000u64 {
            let longest = if random.once_in(20) { 6000 } else { 24 };
            let length = 1 + random.below(longest);
            let start = random.below(owners.len() as u64 - length);
            let range = start as usize..(start + length) as usize;
            match random.below(4) {
                0 => {
                    let pages = start / PAGE_BYTES..=(start + length - 1) / PAGE_BYTES;
                    assert_eq!(accesses.track(once(start..start + length)), times.len());
                    owners[range].fill(Some(times.len()));
                    times.push(None);
                    assert!(pages.into_iter().all(|page| accesses.tracked.may_have(page * PAGE_BYTES, 1)));
                }
                1 => {
                    let any = owners[range.clone()].iter().any(Option::is_some);
                    assert_eq!(accesses.is_tracked(start, length), any, "step {step}");
                    assert_eq!(accesses.replace(start, length), any, "step {step}");
                    owners[range].fill(None);
                    for (page, bytes) in owners.chunks(PAGE_BYTES as usize).enumerate() {
                        let any = bytes.iter().any(Option::is_some);
                        assert_eq!(
                            accesses.tracked.may_have(page as u64 * PAGE_BYTES, 1),
                            any,
                            "step {step}"
                        );
                    }
                }
                _ => {
                    for message in owners[range].iter().flatten() {
                        let (first, _) = times[*message].unwrap_or((Time(step), Time(step)));
                        times[*message] = Some((first, Time(step)));
                    }
                    accesses.load(start, length as u32, Time(step));
                }
            }
        }
        assert_eq!(accesses.times(), times);
    }
}

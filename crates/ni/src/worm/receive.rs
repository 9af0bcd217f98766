//! The way in: flits are written to where the card's processor says.
//!
//! It gives one place after the other: for a worm's header, say, and for what follows where that belongs. A place is filled
//! when it is full or the worm ends. Flits that find no place wait, in their room on the card.

use std::collections::VecDeque;

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiveStep {
    /// The card writes its memory: [`ReceiveDma::written`] follows.
    Write {
        /// Address.
        address: u64,
        /// What.
        data: Vec<u8>,
    },
    /// A flit has left the FIFO: its room goes back.
    Release,
}

/// A place is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Bytes that have been written to it.
    pub bytes: u32,
    /// The worm has ended.
    pub is_last: bool,
}

struct Waiting {
    data: Vec<u8>,
    /// Bytes of it that have been written, or are.
    taken: usize,
    is_last: bool,
}

struct Place {
    address: u64,
    bytes: u32,
    filled: u32,
    is_last: bool,
}

impl Place {
    fn is_full(&self) -> bool {
        self.filled == self.bytes || self.is_last
    }
}

/// The receiver. It has a place at a time.
#[derive(Default)]
pub struct ReceiveDma {
    waiting: VecDeque<Waiting>,
    place: Option<Place>,
    /// What is written has not come to memory; with it its flit leaves the FIFO, if so said.
    writing: Option<bool>,
}

impl ReceiveDma {
    /// A flit has come.
    pub fn arrive(&mut self, data: Vec<u8>, is_last: bool) {
        self.waiting.push_back(Waiting { data, taken: 0, is_last });
    }

    /// Something has come and has no place.
    pub fn waits(&self) -> bool {
        self.place.is_none() && !self.waiting.is_empty()
    }

    /// A place is to be filled.
    pub fn is_busy(&self) -> bool {
        self.place.is_some()
    }

    /// So many bytes, at least one, from `address` on are the next place.
    ///
    /// # Panics
    /// There is one already.
    pub fn begin(&mut self, address: u64, bytes: u32) {
        assert!(self.place.is_none() && bytes > 0, "a place at a time");
        self.place = Some(Place { address, bytes, filled: 0, is_last: false });
    }

    /// What is to be written next, if anything.
    pub fn step(&mut self) -> Option<ReceiveStep> {
        let (place, flit) = (self.place.as_mut()?, self.waiting.front_mut()?);
        if self.writing.is_some() || place.is_full() {
            return None;
        }
        let here = &flit.data[flit.taken..];
        let here = &here[..here.len().min((place.bytes - place.filled) as usize)];
        let step =
            ReceiveStep::Write { address: place.address + u64::from(place.filled), data: here.to_vec() };
        place.filled += here.len() as u32;
        flit.taken += here.len();
        let is_gone = flit.taken == flit.data.len();
        place.is_last = is_gone && flit.is_last;
        self.writing = Some(is_gone);
        Some(step)
    }

    /// It is in memory: whether a flit's room goes back, and what is filled by it.
    ///
    /// # Panics
    /// Nothing was written.
    pub fn written(&mut self) -> (Option<ReceiveStep>, Option<Filled>) {
        let is_gone = self.writing.take().expect("something was written");
        if is_gone {
            self.waiting.pop_front();
        }
        let filled = self.place.take_if(|place| place.is_full());
        let filled = filled.map(|place| Filled { bytes: place.filled, is_last: place.is_last });
        (is_gone.then_some(ReceiveStep::Release), filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(address: u64, data: &[u8]) -> Option<ReceiveStep> {
        Some(ReceiveStep::Write { address, data: data.to_vec() })
    }

    const RELEASE: Option<ReceiveStep> = Some(ReceiveStep::Release);

    #[test]
    fn a_header_goes_to_one_place_and_what_follows_to_another() {
        let mut dma = ReceiveDma::default();
        dma.arrive(vec![1, 2, 3, 4, 5, 6], false);
        assert!(dma.waits() && dma.step().is_none());
        dma.begin(0x10, 4);
        assert!(!dma.waits());
        assert_eq!(dma.step(), write(0x10, &[1, 2, 3, 4]));
        assert_eq!(dma.step(), None, "one at a time");
        assert_eq!(dma.written(), (None, Some(Filled { bytes: 4, is_last: false })), "the flit is not gone");
        assert!(dma.waits());
        dma.begin(0x80, 100);
        assert_eq!(dma.step(), write(0x80, &[5, 6]));
        assert_eq!(dma.written(), (RELEASE, None));
        dma.arrive(vec![7], true);
        assert_eq!(dma.step(), write(0x82, &[7]));
        assert_eq!(dma.written(), (RELEASE, Some(Filled { bytes: 3, is_last: true })));
        assert!(!dma.is_busy() && !dma.waits());
    }

    #[test]
    fn the_next_worm_needs_a_place_of_its_own() {
        let mut dma = ReceiveDma::default();
        dma.begin(0, 64);
        dma.arrive(vec![1; 8], true);
        dma.arrive(vec![2; 8], true);
        assert_eq!(dma.step(), write(0, &[1; 8]));
        assert_eq!(dma.written(), (RELEASE, Some(Filled { bytes: 8, is_last: true })));
        assert!(dma.waits() && dma.step().is_none());
    }
}

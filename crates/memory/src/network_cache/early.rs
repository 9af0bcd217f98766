//! Early binding (3.1.3): what a receive that was posted before its message has reserved.
//!
//! A reservation is made for a key: the context, source and tag that a message must have. Messages of one key meet
//! their receives in the order in which they come, as MPI asks, so the first of that key takes the oldest reservation
//! for it, whether it can use it or not. What would break that order:
//!
//! - A message of the key has come, but software has not looked at it: it may meet the receive. The NI numbers what
//!   arrives, and the hart says with each reservation how many it has dealt with: one of the key that has come since
//!   makes it [`Refused::Late`], and so does one whose key is not remembered any more. Messages and reservations meet here and nowhere else, at the grant of the message's bus
//!   transaction or when the instruction is executed, so one is before the other.
//! - An older receive without a reservation takes messages of the key, too. That is software's to know: it reserves
//!   nothing then.
//! - A reservation is lost. So none is ever replaced; there is a limit to them, and one that does not fit is refused.

use std::collections::VecDeque;

/// Why nothing was reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There are as many as there may be, or there is one for the sector.
    Full,
    /// A message has come that it may be for and that software has not dealt with.
    Late,
}

/// What a posted receive waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Context, source and tag of the message.
    pub key: u64,
    /// Physical address of the sector where it lands.
    pub sector: u64,
    /// Room for it [bytes].
    pub bytes: u32,
    /// Its line of the network section, if it lands there.
    pub(super) line: Option<usize>,
}

/// The reservations, the oldest first.
#[derive(Debug)]
pub(super) struct Reservations {
    all: Vec<Reservation>,
    entries: usize,
    /// Numbers and keys of the messages that came last, as many as there may be reservations.
    recent: VecDeque<(u32, u64)>,
    /// Number of the last message that is not among them.
    forgotten: u32,
}

impl Reservations {
    pub fn new(entries: usize) -> Reservations {
        Reservations { all: vec![], entries, recent: VecDeque::with_capacity(entries), forgotten: 0 }
    }

    /// Whether one of `key` for `sector` may be made by who has dealt with `seen` arrivals.
    pub fn may_add(&self, key: u64, sector: u64, seen: u32) -> Result<(), Refused> {
        let is_unseen = |number: u32| (seen.wrapping_sub(number) as i32) < 0;
        if is_unseen(self.forgotten) || self.recent.iter().any(|&(number, k)| k == key && is_unseen(number)) {
            Err(Refused::Late)
        } else if self.all.len() >= self.entries || self.all.iter().any(|r| r.sector == sector) {
            Err(Refused::Full)
        } else {
            Ok(())
        }
    }

    pub fn add(&mut self, reservation: Reservation) {
        self.all.push(reservation);
    }

    /// Message `number` has come, of `key`: the reservation that it takes.
    pub fn arrive(&mut self, key: u64, number: u32) -> Option<Reservation> {
        if self.recent.len() == self.entries {
            self.forgotten = self.recent.pop_front().map_or(0, |(number, _)| number);
        }
        self.recent.push_back((number, key));
        let at = self.all.iter().position(|r| r.key == key)?;
        Some(self.all.remove(at))
    }

    /// The reservation for `key` at `sector` is not wanted any more.
    pub fn remove(&mut self, key: u64, sector: u64) -> Option<Reservation> {
        let at = self.all.iter().position(|r| (r.key, r.sector) == (key, sector))?;
        Some(self.all.remove(at))
    }

    /// Nothing fits any more what is reserved from `address` to `end`.
    pub fn lose(&mut self, address: u64, end: u64) {
        let lost = self.all.iter_mut().filter(|reservation| (address..end).contains(&reservation.sector));
        lost.for_each(|reservation| reservation.bytes = 0);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Reservation> {
        self.all.iter()
    }
}

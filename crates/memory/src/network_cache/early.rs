//! Early binding (3.1.3): what a receive that was posted before its message has reserved.
//!
//! A reservation is made for a key: the context, source and tag that a message must have. Messages of one key meet
//! their receives in the order in which they come, as MPI asks, so the first of that key takes the oldest reservation
//! for it, whether it can use it or not. What would break that order:
//!
//! - A message of the key has come, but software has not looked at it: it may meet the receive. The NI numbers what
//!   arrives, and the hart says with each reservation how many it has dealt with: any that has come since makes it
//!   [`Refused::Late`]. Messages and reservations meet here and nowhere else, at the grant of the message's bus
//!   transaction or when the instruction is executed, so one is before the other.
//! - An older receive without a reservation takes messages of the key, too. That is software's to know: it reserves
//!   nothing then.
//! - A reservation is lost. So none is ever replaced; there is a limit to them, and one that does not fit is refused.

/// Where a reservation's message lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Early {
    /// In the line of the data cache (the choice of 3.1.3).
    DataCache,
    /// In a line of the network section.
    NetworkCache,
}

/// Why nothing was reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There are as many as there may be, or there is one for the sector.
    Full,
    /// A message has come that software has not dealt with.
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
    /// Number of the last message that has come.
    arrived: u32,
}

impl Reservations {
    pub fn new(entries: usize) -> Reservations {
        Reservations { all: vec![], entries, arrived: 0 }
    }

    /// Whether one for `sector` may be made by who has dealt with `seen` arrivals.
    pub fn may_add(&self, sector: u64, seen: u32) -> Result<(), Refused> {
        if (seen.wrapping_sub(self.arrived) as i32) < 0 {
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
        self.arrived = number;
        let at = self.all.iter().position(|r| r.key == key)?;
        Some(self.all.remove(at))
    }

    /// The reservation for `key` at `sector` is not wanted any more.
    pub fn remove(&mut self, key: u64, sector: u64) -> Option<Reservation> {
        let at = self.all.iter().position(|r| (r.key, r.sector) == (key, sector))?;
        Some(self.all.remove(at))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Reservation> {
        self.all.iter()
    }
}

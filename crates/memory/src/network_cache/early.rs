//! Early binding (3.1.3): what a receive that was posted before its message has reserved.
//!
//! A reservation is made for a name, an envelope and an ordinal, so that it is for one message and no other: "set the
//! corresponding process tag and message ID tag in anticipation". The message may not fit there; then it waits as any
//! other, and the reservation is used up. One that has been met stays until software asks, which is how it learns that
//! the message is there.
//!
//! None is ever replaced. There is a limit to them; a receive that finds no room has its message bound late.

use super::message::{Found, Name};

/// What a posted receive waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The message.
    pub name: Name,
    /// Physical address of the sector where it lands.
    pub sector: u64,
    /// Room for it [bytes].
    pub bytes: u32,
    /// It has come, and is there.
    pub landed: Option<Found>,
    /// Its line of the network section, if it lands there.
    pub(super) line: Option<usize>,
}

/// The reservations.
#[derive(Debug)]
pub(super) struct Reservations {
    all: Vec<Reservation>,
    entries: usize,
}

impl Reservations {
    pub fn new(entries: usize) -> Reservations {
        Reservations { all: vec![], entries }
    }

    /// There is room for one for `sector`.
    pub fn may_add(&self, sector: u64) -> bool {
        self.all.len() < self.entries && self.all.iter().all(|r| r.sector != sector)
    }

    pub fn add(&mut self, reservation: Reservation) {
        self.all.push(reservation);
    }

    pub fn find(&self, name: Name) -> Option<&Reservation> {
        self.all.iter().find(|r| r.name == name)
    }

    /// Takes the one for `name` out, unless it has been met.
    pub fn take_open(&mut self, name: Name) -> Option<Reservation> {
        let at = self.all.iter().position(|r| r.name == name && r.landed.is_none())?;
        Some(self.all.remove(at))
    }

    /// The one at `sector`, if its envelope is `key`.
    pub fn at(&self, key: u64, sector: u64) -> Option<Reservation> {
        self.all.iter().find(|r| (r.name.key, r.sector) == (key, sector)).copied()
    }

    /// The one for `name` is done with.
    pub fn remove(&mut self, name: Name) {
        self.all.retain(|r| r.name != name);
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

//! What the interconnect and the chip's units tell each other of transactions that are under way: the memory system and the
//! device of a node are two things to it, and here they are one.

use std::sync::{Arc, Mutex, MutexGuard};

use chasqui_element::{CoreMap, Granted, Place, Transfer};
use chasqui_engine::{Payload, Time};
use chasqui_ni::BusRequest;

/// A transaction will touch a local store, or registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Touch {
    spe: usize,
    /// The transaction's name.
    name: u64,
    /// It happens then, or no sooner.
    at: Time,
    is_exact: bool,
}

/// What both know.
#[derive(Default)]
pub struct Shared {
    touches: Vec<Touch>,
    /// Of the transaction that was granted last: what came of it.
    pub granted: Option<Granted>,
    /// By SPE: the line that its MFC has reserved.
    pub reserved: Vec<Option<u64>>,
}

impl Shared {
    /// The transaction called `name` touches `spe` at `at`; not exactly: no sooner.
    pub fn touch(&mut self, spe: usize, name: u64, at: Time, is_exact: bool) {
        let is_it = |touch: &&mut Touch| (touch.spe, touch.name) == (spe, name);
        let touch = Touch { spe, name, at, is_exact };
        match self.touches.iter_mut().find(is_it) {
            Some(known) => *known = touch,
            None => self.touches.push(touch),
        }
    }

    /// It is over.
    pub fn leave(&mut self, name: u64) {
        self.touches.retain(|touch| touch.name != name);
    }

    /// It touches nobody any more but `spe`, if that.
    pub fn leave_others(&mut self, spe: usize, name: u64) {
        self.touches.retain(|touch| touch.name != name || touch.spe == spe);
    }

    /// Before that nothing touches `spe`, seen from `now`. What may happen at any time happens no sooner than `clock` later.
    pub fn touched(&self, spe: usize, now: Time, clock: Time) -> Time {
        let of_it = self.touches.iter().filter(|touch| touch.spe == spe);
        let at = |touch: &Touch| if touch.is_exact { touch.at } else { touch.at.max(now + clock) };
        of_it.map(at).min().unwrap_or(Time::NEVER)
    }

    /// Some MFC has reserved something of the `bytes` from `address` on.
    pub fn is_reserved(&self, address: u64, bytes: u32) -> bool {
        let end = address + u64::from(bytes);
        let line = u64::from(chasqui_element::LINE_BYTES);
        self.reserved.iter().flatten().any(|&at| at < end && address < at + line)
    }
}

/// Both ends of it.
#[derive(Clone)]
pub struct Wire {
    shared: Arc<Mutex<Shared>>,
    /// Where the SPEs are.
    pub map: CoreMap,
    /// Bytes of main memory.
    pub memory_bytes: u64,
}

impl Wire {
    /// One between the parts of a chip with so many SPEs.
    pub fn new(map: CoreMap, spes: usize, memory_bytes: u64) -> Wire {
        let shared = Shared { reserved: vec![None; spes], ..Shared::default() };
        Wire { shared: Arc::new(Mutex::new(shared)), map, memory_bytes }
    }

    /// What both know. One partition has both ends: nobody else waits for it.
    pub fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("no end panics with it")
    }

    /// What is at a physical address.
    pub fn target(&self, physical: u64, bytes: u32) -> Target {
        match self.map.place(physical, bytes.into()) {
            Place::Store(spe, _) | Place::Register(spe, ..) => Target::Spe(spe),
            Place::Elsewhere if physical + u64::from(bytes) <= self.memory_bytes => Target::Memory,
            Place::Elsewhere | Place::Nothing => Target::Nothing,
        }
    }
}

/// Where a transaction leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Main memory.
    Memory,
    /// An SPE's local store or registers.
    Spe(usize),
    /// Nothing takes it.
    Nothing,
}

/// The tag of a transfer of `spe`.
pub fn tag(spe: usize, transfer: &Transfer) -> u64 {
    (spe as u64) << 32 | transfer.slot as u64
}

/// The name of a transfer's touches: no hart's.
pub fn name_of(request: BusRequest) -> u64 {
    1 << 63 | request.tag
}

/// The SPE whose MFC asks.
pub fn spe_of(request: BusRequest) -> usize {
    (request.tag >> 32) as usize
}

/// The slot of its MFC.
pub fn slot_of(request: BusRequest) -> usize {
    request.tag as u32 as usize
}

/// The device's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChipEvent {
    /// The MFC of an SPE, or its decrementer, goes on.
    Step(usize),
    /// The program of an SPE goes on, and meets nobody.
    Run(usize),
    /// The program of an SPE goes on, and gets to a channel.
    Access(usize),
    /// The PPE writes the line at this address, which some MFC has reserved.
    Written(u64),
}

impl ChipEvent {
    /// The PPE may notice it.
    pub fn is_visible(self) -> bool {
        !matches!(self, ChipEvent::Run(_))
    }
}

impl From<ChipEvent> for Payload {
    fn from(event: ChipEvent) -> Payload {
        match event {
            ChipEvent::Step(spe) => [0, spe as u64],
            ChipEvent::Run(spe) => [1, spe as u64],
            ChipEvent::Access(spe) => [2, spe as u64],
            ChipEvent::Written(address) => [3, address],
        }
    }
}

impl From<Payload> for ChipEvent {
    fn from([kind, value]: Payload) -> ChipEvent {
        match kind {
            0 => ChipEvent::Step(value as usize),
            1 => ChipEvent::Run(value as usize),
            2 => ChipEvent::Access(value as usize),
            _ => ChipEvent::Written(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_the_round_trip() {
        let events =
            [ChipEvent::Step(7), ChipEvent::Run(0), ChipEvent::Access(3), ChipEvent::Written(1 << 30)];
        for event in events {
            assert_eq!(ChipEvent::from(Payload::from(event)), event);
        }
    }

    #[test]
    fn a_touch_is_known_until_it_has_happened() {
        let mut shared = Shared::default();
        let clock = Time(625);
        assert_eq!(shared.touched(0, Time::ZERO, clock), Time::NEVER);
        shared.touch(0, 1, Time(1_000), false);
        shared.touch(0, 2, Time(5_000), true);
        shared.touch(1, 1, Time(500), true);
        assert_eq!(shared.touched(0, Time::ZERO, clock), Time(1_000));
        // It may happen at any time from then on.
        assert_eq!(shared.touched(0, Time(2_000), clock), Time(2_625));
        shared.touch(0, 1, Time(3_000), true);
        assert_eq!(shared.touched(0, Time(2_000), clock), Time(3_000));
        shared.leave_others(0, 1);
        assert_eq!(shared.touched(0, Time(2_000), clock), Time(3_000));
        assert_eq!(shared.touched(1, Time(2_000), clock), Time::NEVER);
        shared.leave(1);
        assert_eq!(shared.touched(0, Time(2_000), clock), Time(5_000));
    }

    #[test]
    fn reservations_are_lines() {
        let shared = Shared { reserved: vec![None, Some(0x1000)], ..Shared::default() };
        assert!(shared.is_reserved(0x1070, 32) && shared.is_reserved(0xff8, 16));
        assert!(!shared.is_reserved(0x1080, 128) && !shared.is_reserved(0xf80, 128));
    }
}

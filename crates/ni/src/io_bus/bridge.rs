//! The bridge's side towards a card: the processors' loads and stores.
//!
//! Stores are posted (3.2.5): the processor goes on, and words that lie one behind the other go in one burst (3.2.6,
//! combining), in their order. A load stalls its processor: it goes behind the stores before it, and its answer comes back
//! over the bus. There is one at a time; the memory system tries it again until it is answered.

use std::collections::VecDeque;

use chasqui_engine::Time;

use super::IoBus;

/// What a bridge is made from.
#[derive(Clone, Debug)]
pub struct BridgeSpec {
    /// Which master of the bus it is.
    pub master: usize,
    /// Bytes of stores that it keeps.
    pub posted_bytes: u32,
    /// Longest burst [bytes].
    pub burst_bytes: u32,
    /// From the address to the first word of a store: the card recognises it [clocks].
    pub target_wait: u64,
}

#[derive(Clone, Copy, Debug)]
struct Store {
    address: u64,
    bytes: u32,
    value: u64,
}

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loading {
    /// It waits for the bus.
    Waits,
    /// The card knows of it.
    Asked,
    /// Its answer crosses the bus.
    Crosses(u64),
    /// The processor has yet to take the answer.
    Answered(u64),
}

/// What the bridge wants of the card, at the end of the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromHost {
    /// These come, a word each clock.
    Write {
        /// Where to.
        address: u64,
        /// What.
        data: Vec<u8>,
        /// When the last has come: [`Bridge::moved`] follows.
        end: Time,
    },
    /// It gets them by [`Bridge::answer`].
    Read {
        /// From where.
        address: u64,
        /// How many.
        bytes: u32,
    },
}

/// What becomes of a load that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLoad {
    /// This is its value.
    Is(u64),
    /// It has to be tried again.
    Later,
}

/// The bridge.
pub struct Bridge {
    spec: BridgeSpec,
    stores: VecDeque<Store>,
    stored_bytes: u32,
    /// A load, with its address and length.
    load: Option<(u64, u32, Loading)>,
}

impl Bridge {
    /// One that has nothing to do.
    pub fn new(spec: BridgeSpec) -> Bridge {
        assert!(spec.posted_bytes >= 8, "a store has up to eight bytes");
        Bridge { spec, stores: [].into(), stored_bytes: 0, load: None }
    }

    /// It can take a store of `bytes`.
    pub fn has_room(&self, bytes: u32) -> bool {
        self.stored_bytes + bytes <= self.spec.posted_bytes
    }

    /// Nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.stores.is_empty() && self.load.is_none()
    }

    /// A processor stores `value`, for which there is room.
    pub fn store(&mut self, (address, bytes): (u64, u32), value: u64, bus: &mut IoBus, now: Time) {
        self.stored_bytes += bytes;
        self.stores.push_back(Store { address, bytes, value });
        bus.ask(self.spec.master, now);
    }

    /// A processor loads, or tries it again.
    pub fn load(&mut self, (address, bytes): (u64, u32), bus: &mut IoBus, now: Time) -> HostLoad {
        match self.load {
            Some((at, length, Loading::Answered(value))) if (at, length) == (address, bytes) => {
                self.load = None;
                return HostLoad::Is(value);
            }
            // Another one's, or this is under way.
            Some(_) => {}
            None => {
                self.load = Some((address, bytes, Loading::Waits));
                bus.ask(self.spec.master, now);
            }
        }
        HostLoad::Later
    }

    /// The answer to a load from `address` is there.
    pub fn is_answered(&self, address: u64) -> bool {
        matches!(self.load, Some((at, bytes, Loading::Answered(_))) if (at..at + u64::from(bytes)).contains(&address))
    }

    /// It has the bus, and its address is over at `now`.
    pub fn has_bus(&mut self, bus: &mut IoBus, now: Time) -> FromHost {
        if let Some(first) = self.stores.front() {
            let address = first.address;
            let data = self.burst();
            self.stored_bytes -= data.len() as u32;
            let from = bus.clock().after(now, self.spec.target_wait);
            let end = bus.moved(from, address, data.len() as u32);
            return FromHost::Write { address, data, end };
        }
        let (address, bytes, state) = self.load.as_mut().expect("it has asked for the bus");
        *state = Loading::Asked;
        FromHost::Read { address: *address, bytes: *bytes }
    }

    /// The oldest stores that lie one behind the other, as far as a burst goes.
    fn burst(&mut self) -> Vec<u8> {
        let mut data = vec![];
        let Some(first) = self.stores.front().map(|store| store.address) else { return data };
        while let Some(&store) = self.stores.front() {
            let (next, bytes) = (first + data.len() as u64, data.len() as u32 + store.bytes);
            if !data.is_empty() && (store.address != next || bytes > self.spec.burst_bytes) {
                break;
            }
            data.extend_from_slice(&store.value.to_le_bytes()[..store.bytes as usize]);
            self.stores.pop_front();
        }
        data
    }

    /// The card has the answer to the load at `now`; when it has crossed the bus: [`Bridge::moved`] follows then.
    ///
    /// # Panics
    /// The card was not asked.
    pub fn answer(&mut self, value: u64, bus: &mut IoBus, now: Time) -> Time {
        let (address, bytes, state) = self.load.as_mut().expect("there is a load");
        assert_eq!(*state, Loading::Asked);
        *state = Loading::Crosses(value);
        bus.moved(now, *address, *bytes)
    }

    /// What crossed the bus has crossed it: the bridge leaves the bus, and asks for it again if there is more.
    pub fn moved(&mut self, bus: &mut IoBus, now: Time) {
        if let Some((_, _, state)) = &mut self.load
            && let Loading::Crosses(value) = *state
        {
            *state = Loading::Answered(value);
        }
        bus.leave(now);
        let waits = self.load.is_some_and(|(_, _, state)| state == Loading::Waits);
        if waits || !self.stores.is_empty() {
            bus.ask(self.spec.master, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{BRIDGE, CARD, bus, edge};
    use super::*;

    fn bridge() -> Bridge {
        Bridge::new(BridgeSpec { master: BRIDGE, posted_bytes: 32, burst_bytes: 16, target_wait: 1 })
    }

    fn write(address: u64, bytes: usize, end: u64) -> FromHost {
        FromHost::Write { address, data: vec![7; bytes], end: edge(end) }
    }

    const SEVENS: u64 = 0x0707_0707_0707_0707;

    #[test]
    fn stores_are_posted_and_those_in_a_row_go_together() {
        let (mut bus, mut bridge) = (bus(), bridge());
        for (address, bytes) in [(0x100, 4), (0x104, 8), (0x10c, 4), (0x110, 4), (0x200, 4)] {
            assert!(bridge.has_room(bytes));
            bridge.store((address, bytes), SEVENS, &mut bus, edge(0));
        }
        assert!(bridge.has_room(8) && !bridge.has_room(9), "24 of 32 bytes are there");
        assert_eq!(bus.grant(edge(0)), Some((BRIDGE, edge(3))));
        assert_eq!(bridge.has_bus(&mut bus, edge(3)), write(0x100, 16, 8), "a wait and four words");
        bridge.moved(&mut bus, edge(8));
        assert_eq!(
            bus.grant(edge(8)),
            Some((BRIDGE, edge(11))),
            "asked for only now: arbitration is not hidden"
        );
        assert_eq!(bridge.has_bus(&mut bus, edge(11)), write(0x110, 4, 13));
        bridge.moved(&mut bus, edge(13));
        let at = bus.grant(edge(13)).unwrap().1;
        assert!(matches!(bridge.has_bus(&mut bus, at), FromHost::Write { address: 0x200, .. }));
        bridge.moved(&mut bus, edge(20));
        assert!(bridge.is_empty() && bus.grant(edge(20)).is_none());
        assert_eq!((bus.master(BRIDGE).tenures, bus.master(BRIDGE).words), (3, 6));
    }

    #[test]
    fn a_load_goes_behind_the_stores_before_it() {
        let (mut bus, mut bridge) = (bus(), bridge());
        bridge.store((0x100, 4), SEVENS, &mut bus, edge(0));
        assert_eq!(bridge.load((0x40, 8), &mut bus, edge(0)), HostLoad::Later);
        let (_, at) = bus.grant(edge(0)).unwrap();
        assert!(matches!(bridge.has_bus(&mut bus, at), FromHost::Write { .. }));
        bridge.moved(&mut bus, edge(5));
        assert_eq!(bridge.load((0x40, 8), &mut bus, edge(6)), HostLoad::Later);
        let (_, at) = bus.grant(edge(6)).unwrap();
        assert_eq!(bridge.has_bus(&mut bus, at), FromHost::Read { address: 0x40, bytes: 8 });
        assert_eq!(bridge.load((0x40, 8), &mut bus, edge(9)), HostLoad::Later, "the card has yet to answer");
        assert_eq!(bridge.answer(0x1234, &mut bus, edge(20)), edge(22), "eight bytes are two words");
        assert_eq!(bridge.load((0x40, 8), &mut bus, edge(21)), HostLoad::Later);
        bridge.moved(&mut bus, edge(22));
        assert_eq!(bridge.load((0x48, 8), &mut bus, edge(22)), HostLoad::Later, "one at a time");
        assert_eq!(bridge.load((0x40, 8), &mut bus, edge(22)), HostLoad::Is(0x1234));
        assert!(bridge.is_empty());
    }

    #[test]
    fn a_card_that_moves_much_lets_the_bridge_in() {
        let (mut bus, mut bridge) = (bus(), bridge());
        bus.ask(CARD, edge(0));
        bus.grant(edge(0));
        bridge.store((0x100, 4), SEVENS, &mut bus, edge(3));
        assert!(bus.must_leave(edge(30)));
        bus.leave(edge(30));
        bus.ask(CARD, edge(30));
        assert_eq!(bus.grant(edge(30)), Some((BRIDGE, edge(32))));
    }
}

//! The bridge's side towards a card: the processors' loads and stores.
//!
//! Stores are posted (3.2.5): the processor goes on, and words that lie one behind the other go in one burst (3.2.6,
//! combining), in their order. A load stalls its processor: it goes behind the stores before it, and its answer comes back
//! over the bus, behind what cards have written to the bridge before (3.2.5: a read pushes posted writes). There is one at a
//! time; the memory system tries it again until it is answered.
//!
//! A card that has not answered in time has the bridge try again (3.5.1.1). It keeps the load meanwhile (3.3.3.3, delayed
//! transactions), and stores may pass it.

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
    /// From the address to the first word: the card recognises it [clocks].
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
    /// The card knows of it, and data may move from then on: the bus waits for its answer.
    Asked(Time),
    /// The card has had it tried again; a burst of stores that wait may pass it, if so said.
    Again(bool),
    /// The same; the card has the answer.
    Ready(u64),
    /// Its answer crosses the bus.
    Crosses(u64),
    /// The processor has yet to take the answer, which is behind so many of the cards' writes.
    Answered(u64, usize),
}

#[derive(Clone, Copy, Debug)]
struct Load {
    address: u64,
    bytes: u32,
    /// Stores that came before it and wait.
    behind: usize,
    state: Loading,
}

impl Load {
    /// It wants the bus, and is before all stores that wait.
    fn is_next(&self, stores: usize) -> bool {
        match self.state {
            Loading::Waits => self.behind == 0,
            Loading::Again(lets_pass) => !lets_pass || stores == 0,
            Loading::Ready(_) => true,
            Loading::Asked(_) | Loading::Crosses(_) | Loading::Answered(..) => false,
        }
    }
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
        /// The first begins to move.
        from: Time,
        /// When the last has come: [`Bridge::moved`] follows.
        end: Time,
    },
    /// It gets them by [`Bridge::answer`].
    Read {
        /// From where.
        address: u64,
        /// How many.
        bytes: u32,
        /// If it has not by then, [`Bridge::limit`] follows.
        limit: Time,
    },
    /// It tries the load again that the card has yet to answer.
    Again {
        /// The same.
        limit: Time,
    },
    /// It gets the answer that the card has had ready: until then, when [`Bridge::moved`] follows.
    Answered(Time),
}

/// What becomes of a load that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLoad {
    /// This is its value.
    Is(u64),
    /// It has to be tried again.
    Later,
}

/// The burst on the bus.
#[derive(Clone, Copy, Debug)]
struct Burst {
    address: u64,
    bytes: u32,
    from: Time,
}

/// The bridge.
pub struct Bridge {
    spec: BridgeSpec,
    stores: VecDeque<Store>,
    stored_bytes: u32,
    burst: Option<Burst>,
    load: Option<Load>,
    /// The card may have the load tried again then.
    limit: Option<Time>,
}

impl Bridge {
    /// One that has nothing to do.
    pub fn new(spec: BridgeSpec) -> Bridge {
        assert!(spec.posted_bytes >= 8, "a store has up to eight bytes");
        Bridge { spec, stores: [].into(), stored_bytes: 0, burst: None, load: None, limit: None }
    }

    /// It can take a store of `bytes` at `now`: what has crossed the bus leaves room.
    pub fn has_room(&self, bytes: u32, bus: &IoBus, now: Time) -> bool {
        let under_way = self
            .burst
            .map_or(0, |burst| burst.bytes - bus.crossed(burst.from, burst.address, burst.bytes, now));
        self.stored_bytes + under_way + bytes <= self.spec.posted_bytes
    }

    /// Nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.stores.is_empty() && self.burst.is_none() && self.load.is_none()
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
            Some(Load { address: at, bytes: length, state: Loading::Answered(value, 0), .. })
                if (at, length) == (address, bytes) =>
            {
                self.load = None;
                return HostLoad::Is(value);
            }
            // Another one's, or this is under way.
            Some(_) => {}
            None => {
                let behind = self.stores.len();
                self.load = Some(Load { address, bytes, behind, state: Loading::Waits });
                bus.ask(self.spec.master, now);
            }
        }
        HostLoad::Later
    }

    /// The answer to a load of `bytes` from `address` can be taken.
    pub fn is_answered(&self, (address, bytes): (u64, u32)) -> bool {
        self.load.is_some_and(|load| {
            (load.address, load.bytes) == (address, bytes) && matches!(load.state, Loading::Answered(_, 0))
        })
    }

    /// It has the bus, and its address is over at `now`.
    pub fn has_bus(&mut self, bus: &mut IoBus, now: Time) -> FromHost {
        let from = bus.clock().after(now, self.spec.target_wait);
        let stores = self.stores.len();
        let Some(load) = self.load.as_mut().filter(|load| load.is_next(stores)) else {
            return self.write(from, bus);
        };
        let (address, bytes) = (load.address, load.bytes);
        if let Loading::Ready(value) = load.state {
            load.state = Loading::Crosses(value);
            return FromHost::Answered(bus.moved(from, address, bytes));
        }
        let is_known = load.state != Loading::Waits;
        load.state = Loading::Asked(from);
        let limit = bus.initial_limit().max(from);
        self.limit = Some(limit);
        if is_known { FromHost::Again { limit } } else { FromHost::Read { address, bytes, limit } }
    }

    /// The oldest stores go out from `from` on.
    fn write(&mut self, from: Time, bus: &mut IoBus) -> FromHost {
        let address = self.stores.front().expect("it has asked for the bus").address;
        let data = self.take_burst();
        let bytes = data.len() as u32;
        self.stored_bytes -= bytes;
        self.burst = Some(Burst { address, bytes, from });
        FromHost::Write { address, data, from, end: bus.moved(from, address, bytes) }
    }

    /// The oldest stores that lie one behind the other, as far as a burst goes, and none from behind a load that waits.
    fn take_burst(&mut self) -> Vec<u8> {
        let mut data = vec![];
        let Some(first) = self.stores.front().map(|store| store.address) else { return data };
        let mut most = self.stores.len();
        match self.load.as_mut() {
            Some(Load { state: Loading::Waits, behind, .. }) => most = *behind,
            Some(Load { state: Loading::Again(lets_pass), .. }) => *lets_pass = false,
            _ => {}
        }
        while let Some(&store) = self.stores.front().filter(|_| most > 0) {
            let (next, bytes) = (first + data.len() as u64, data.len() as u32 + store.bytes);
            if !data.is_empty() && (store.address != next || bytes > self.spec.burst_bytes) {
                break;
            }
            data.extend_from_slice(&store.value.to_le_bytes()[..store.bytes as usize]);
            self.stores.pop_front();
            most -= 1;
        }
        if let Some(Load { state: Loading::Waits, behind, .. }) = &mut self.load {
            *behind = most;
        }
        data
    }

    /// The card has the answer to the load at `now`; when it has crossed the bus: [`Bridge::moved`] follows then. None: it is
    /// to cross when the load is tried again.
    ///
    /// # Panics
    /// The card was not asked.
    pub fn answer(&mut self, value: u64, bus: &mut IoBus, now: Time) -> Option<Time> {
        let load = self.load.as_mut().expect("there is a load");
        match load.state {
            Loading::Asked(from) => {
                load.state = Loading::Crosses(value);
                self.limit = None;
                Some(bus.moved(now.max(from), load.address, load.bytes))
            }
            Loading::Again(_) => {
                load.state = Loading::Ready(value);
                None
            }
            other => panic!("an answer to a load that is {other:?}"),
        }
    }

    /// The time for an answer is over at `now`, if it has not come: the bridge leaves the bus, and asks for it again.
    pub fn limit(&mut self, bus: &mut IoBus, now: Time) {
        if self.limit.take_if(|limit| *limit == now).is_some()
            && let Some(load) = &mut self.load
        {
            load.state = Loading::Again(true);
            bus.leave(now);
            bus.ask(self.spec.master, now);
        }
    }

    /// What crossed the bus has crossed it: the bridge leaves the bus, and asks for it again if there is more. It holds
    /// `written` of the cards' writes, which come to memory before an answer comes to its processor.
    pub fn moved(&mut self, written: usize, bus: &mut IoBus, now: Time) {
        self.burst = None;
        if let Some(load) = &mut self.load
            && let Loading::Crosses(value) = load.state
        {
            load.state = Loading::Answered(value, written);
        }
        bus.leave(now);
        let waits = |load: Load| !matches!(load.state, Loading::Answered(..));
        if self.load.is_some_and(waits) || !self.stores.is_empty() {
            bus.ask(self.spec.master, now);
        }
    }

    /// One of the cards' writes is in memory.
    pub fn written(&mut self) {
        if let Some(Load { state: Loading::Answered(_, behind), .. }) = &mut self.load {
            *behind = behind.saturating_sub(1);
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

    fn write(address: u64, bytes: usize, (from, end): (u64, u64)) -> FromHost {
        FromHost::Write { address, data: vec![7; bytes], from: edge(from), end: edge(end) }
    }

    const SEVENS: u64 = 0x0707_0707_0707_0707;

    #[test]
    fn stores_are_posted_and_those_in_a_row_go_together() {
        let (mut bus, mut bridge) = (bus(), bridge());
        for (address, bytes) in [(0x100, 4), (0x104, 8), (0x10c, 4), (0x110, 4), (0x200, 4)] {
            assert!(bridge.has_room(bytes, &bus, edge(0)));
            bridge.store((address, bytes), SEVENS, &mut bus, edge(0));
        }
        let has_room = |bridge: &Bridge, bytes, bus: &IoBus, clock| bridge.has_room(bytes, bus, edge(clock));
        assert!(has_room(&bridge, 8, &bus, 0) && !has_room(&bridge, 9, &bus, 0), "24 of 32 bytes are there");
        assert_eq!(bus.grant(edge(0)), Some((BRIDGE, edge(3))));
        assert_eq!(bridge.has_bus(&mut bus, edge(3)), write(0x100, 16, (4, 8)), "a wait and four words");
        // Word by word there is room again.
        assert!(!has_room(&bridge, 9, &bus, 4) && has_room(&bridge, 12, &bus, 5));
        assert!(!has_room(&bridge, 24, &bus, 7) && has_room(&bridge, 24, &bus, 8));
        bridge.moved(0, &mut bus, edge(8));
        assert_eq!(
            bus.grant(edge(8)),
            Some((BRIDGE, edge(11))),
            "asked for only now: arbitration is not hidden"
        );
        assert_eq!(bridge.has_bus(&mut bus, edge(11)), write(0x110, 4, (12, 13)));
        bridge.moved(0, &mut bus, edge(13));
        let at = bus.grant(edge(13)).unwrap().1;
        assert!(matches!(bridge.has_bus(&mut bus, at), FromHost::Write { address: 0x200, .. }));
        bridge.moved(0, &mut bus, edge(20));
        assert!(bridge.is_empty() && bus.grant(edge(20)).is_none());
        assert_eq!((bus.master(BRIDGE).tenures, bus.master(BRIDGE).words), (3, 6));
    }

    /// The bridge is given the bus at `now`: what it wants, and when.
    fn given(bridge: &mut Bridge, bus: &mut IoBus, now: u64) -> (FromHost, Time) {
        let (_, at) = bus.grant(edge(now)).expect("it wants the bus");
        (bridge.has_bus(bus, at), at)
    }

    const LOAD: (u64, u32) = (0x40, 8);

    #[test]
    fn a_load_goes_behind_the_stores_before_it_and_before_those_after_it() {
        let (mut bus, mut bridge) = (bus(), bridge());
        bridge.store((0x100, 4), SEVENS, &mut bus, edge(0));
        assert_eq!(bridge.load(LOAD, &mut bus, edge(0)), HostLoad::Later);
        bridge.store((0x104, 4), SEVENS, &mut bus, edge(0));
        assert_eq!(given(&mut bridge, &mut bus, 0).0, write(0x100, 4, (4, 5)));
        bridge.moved(0, &mut bus, edge(5));
        assert_eq!(bridge.load(LOAD, &mut bus, edge(6)), HostLoad::Later);
        let (read, at) = given(&mut bridge, &mut bus, 6);
        // The address began at 7, in which 16 clocks begin; it is over at 8.
        assert_eq!((read, at), (FromHost::Read { address: 0x40, bytes: 8, limit: edge(23) }, edge(8)));
        assert_eq!(bridge.load(LOAD, &mut bus, edge(9)), HostLoad::Later, "the card has yet to answer");
        assert_eq!(bridge.answer(0x1234, &mut bus, edge(20)), Some(edge(22)), "eight bytes are two words");
        assert!(!bridge.is_answered(LOAD));
        bridge.moved(0, &mut bus, edge(22));
        assert_eq!(bridge.load((0x48, 8), &mut bus, edge(22)), HostLoad::Later, "one at a time");
        assert_eq!(bridge.load((0x40, 4), &mut bus, edge(22)), HostLoad::Later, "a shorter one is another");
        assert!(bridge.is_answered(LOAD));
        assert_eq!(bridge.load(LOAD, &mut bus, edge(22)), HostLoad::Is(0x1234));
        assert!(matches!(given(&mut bridge, &mut bus, 22).0, FromHost::Write { address: 0x104, .. }));
        bridge.moved(0, &mut bus, edge(30));
        assert!(bridge.is_empty());
    }

    #[test]
    fn data_come_no_sooner_than_the_card_recognises_its_address() {
        let (mut bus, mut bridge) = (bus(), bridge());
        bridge.load((0x40, 4), &mut bus, edge(0));
        assert_eq!(given(&mut bridge, &mut bus, 0).1, edge(3));
        assert_eq!(bridge.answer(1, &mut bus, edge(3)), Some(edge(3 + 1 + 1)));
    }

    /// Its answer pushes what the card has written to the bridge before it, and nothing that came later.
    #[test]
    fn an_answer_waits_for_what_the_card_has_written_before() {
        let (mut bus, mut bridge) = (bus(), bridge());
        bridge.load(LOAD, &mut bus, edge(0));
        given(&mut bridge, &mut bus, 0);
        let end = bridge.answer(5, &mut bus, edge(6)).unwrap();
        bridge.moved(2, &mut bus, end);
        for _ in 0..2 {
            assert!(!bridge.is_answered(LOAD));
            assert_eq!(bridge.load(LOAD, &mut bus, edge(20)), HostLoad::Later);
            bridge.written();
        }
        assert_eq!(bridge.load(LOAD, &mut bus, edge(20)), HostLoad::Is(5));
    }

    /// A card that takes longer than 16 clocks leaves the bus to others: a store, too, may pass the load.
    #[test]
    fn a_card_that_is_slow_has_the_load_tried_again() {
        let (mut bus, mut bridge) = (bus(), bridge());
        bridge.load(LOAD, &mut bus, edge(0));
        let (read, _) = given(&mut bridge, &mut bus, 0);
        assert_eq!(read, FromHost::Read { address: 0x40, bytes: 8, limit: edge(18) });
        bridge.limit(&mut bus, edge(17));
        assert_eq!(bus.owner(), Some(BRIDGE), "not yet");
        bridge.store((0x100, 4), SEVENS, &mut bus, edge(17));
        bridge.limit(&mut bus, edge(18));
        let (passes, _) = given(&mut bridge, &mut bus, 18);
        assert!(matches!(passes, FromHost::Write { address: 0x100, .. }));
        bridge.store((0x104, 4), SEVENS, &mut bus, edge(22));
        bridge.moved(0, &mut bus, edge(23));
        let (again, at) = given(&mut bridge, &mut bus, 23);
        assert!(matches!(again, FromHost::Again { .. }), "one burst has passed it: {again:?} at {at}");
        let FromHost::Again { limit } = again else { unreachable!() };
        bridge.limit(&mut bus, limit);
        assert_eq!(bridge.answer(9, &mut bus, limit), None, "it is there when the load comes again");
        let (answered, at) = given(&mut bridge, &mut bus, 50);
        assert_eq!(answered, FromHost::Answered(bus.clock().after(at, 1 + 2)));
        bridge.moved(0, &mut bus, edge(60));
        assert_eq!(bridge.load(LOAD, &mut bus, edge(60)), HostLoad::Is(9));
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

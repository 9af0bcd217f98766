//! The sections alone: each rule, and random operations against sets and maps that forget nothing.

use std::collections::HashMap;

use chasqui_random::Random;

use super::*;

const SMALL: SectionGeometry = SectionGeometry { sets: 2, ways: 2 };
const LARGE: SectionGeometry = SectionGeometry { sets: 64, ways: 8 };

fn parameters(
    network: SectionGeometry,
    message: SectionGeometry,
    process: SectionGeometry,
) -> NetworkCacheParameters {
    let p = NetworkCacheParameters {
        binding: Binding::NetworkCache,
        early: Early::NetworkCache,
        early_entries: 4,
        predictor_entries: 8,
        ..Default::default()
    };
    p.with_sections([network, message, process, LARGE, LARGE])
}

const COSTS: NetworkCacheCosts = NetworkCacheCosts { network: 0, process: 2, remap: 4, line: 2 };

fn cache(network: SectionGeometry, message: SectionGeometry, process: SectionGeometry) -> NetworkCache {
    NetworkCache::new(parameters(network, message, process), COSTS)
}

fn stored(buffer: u64) -> Stored {
    Stored { buffer, bytes: 16 }
}

fn incoming(id: u64, message: Stored) -> Incoming {
    Incoming { id, key: id, ordinal: 1, is_kept: false, offset: 0, length: message.bytes }
}

fn deposit(c: &mut NetworkCache, id: u64, message: Stored) -> Vec<Evicted> {
    c.deposit(incoming(id, message), message)
}

#[test]
fn a_victim_migrates_and_the_ltb_keeps_where_it_is() {
    let mut c = cache(SMALL, LARGE, LARGE);
    // Three buffers of one set of two ways.
    assert_eq!(deposit(&mut c, 1, stored(0)), []);
    assert_eq!(deposit(&mut c, 2, stored(32)), []);
    assert_eq!(deposit(&mut c, 3, stored(64)), [Evicted::Unbound { buffer: 0 }]);
    assert_eq!((c.place(1), c.place(2)), (Place::Memory(stored(0)), Place::Here(stored(32))));
    // What comes back is clean: it leaves without being written.
    assert_eq!(c.fill(0), [Evicted::Unbound { buffer: 32 }]);
    assert_eq!((c.fill(96), c.fill(128)), (vec![Evicted::Unbound { buffer: 64 }], vec![]));
    assert_eq!(c.place(1), Place::Memory(stored(0)));
    c.check().unwrap();
}

#[test]
fn a_name_that_finds_no_room_sends_another_message_to_memory() {
    let mut c = cache(LARGE, SectionGeometry { sets: 1, ways: 2 }, LARGE);
    let evicted: Vec<Evicted> = (0..3).flat_map(|id| deposit(&mut c, id, stored(id * 16))).collect();
    assert_eq!(evicted, [Evicted::Unbound { buffer: 0 }]);
    assert_eq!((c.place(0), c.statistics.message_replacements), (Place::Memory(stored(0)), 1));
    assert!(!c.has_line(0));
}

#[test]
fn binding_happens_once_and_resets_the_other_tags() {
    let mut c = cache(LARGE, LARGE, SectionGeometry { sets: 1, ways: 1 });
    deposit(&mut c, 1, Stored { buffer: 0, bytes: 12 });
    deposit(&mut c, 2, stored(16));
    assert_eq!(c.bind(1, 0, 0x1000), None);
    c.consume(1, 0, 0x1000);
    assert_eq!((c.place(1), c.has_line(0)), (Place::Unknown, false));
    assert_eq!(c.bound(0x100f), Some(Bound { sector: 0x1000, bytes: 12 }));
    assert!(c.hit(0x1004, 8) && !c.hit(0x1008, 8) && !c.hit(0x100c, 1) && !c.hit(0x1010, 1));
    let evicted = c.bind(2, 16, 0x2000);
    assert_eq!(evicted, Some(Bound { sector: 0x1000, bytes: 12 }), "the section has one entry");
    assert_eq!((c.bound(0x1000), c.statistics.process_replacements), (None, 1));
    c.check().unwrap();
}

#[test]
fn a_released_buffer_leaves_nothing() {
    let mut c = cache(SMALL, LARGE, LARGE);
    for id in 0..3 {
        deposit(&mut c, id, stored(id * 32));
    }
    c.fill(0);
    (0..3).for_each(|id| c.release(stored(id * 32)));
    assert!((0..3).all(|id| c.place(id) == Place::Unknown && !c.has_line(id * 32)));
    assert_eq!(c.lines.iter().count(), 0);
}

#[test]
fn a_full_ltb_forgets_its_oldest() {
    let p = parameters(SMALL, LARGE, LARGE);
    let mut c = NetworkCache::new(NetworkCacheParameters { ltb_entries: 1, ltb_ways: 1, ..p }, COSTS);
    for id in 0..4 {
        deposit(&mut c, id, stored(id * 32));
    }
    assert_eq!((c.place(0), c.place(1)), (Place::Unknown, Place::Memory(stored(32))));
    assert_eq!((c.statistics.ltb_replacements, c.statistics.migrations), (1, 2));
}

/// A message of three lines, then one of a line in the set of two of them.
fn crowded(long: Long) -> (NetworkCache, Vec<Evicted>) {
    let mut c = NetworkCache::new(NetworkCacheParameters { long, ..parameters(SMALL, LARGE, LARGE) }, COSTS);
    assert_eq!(deposit(&mut c, 1, Stored { buffer: 0, bytes: 40 }), []);
    let evicted = deposit(&mut c, 2, stored(64));
    c.check().unwrap();
    (c, evicted)
}

#[test]
fn chained_lines_leave_together() {
    let (mut c, evicted) = crowded(Long::Chained);
    let all = [0, 16, 32].map(|buffer| Evicted::Unbound { buffer });
    assert_eq!(evicted, all);
    assert_eq!(c.place(1), Place::Memory(Stored { buffer: 0, bytes: 40 }));
    assert_eq!((c.statistics.chained_evictions, c.statistics.network_replacements), (2, 1));
    // One that doesn't fit drives itself out, and is in its buffer as a whole.
    assert_eq!(deposit(&mut c, 3, Stored { buffer: 128, bytes: 96 }).len(), 1 + 4);
    assert_eq!(c.place(3), Place::Memory(Stored { buffer: 128, bytes: 96 }));
    c.check().unwrap();
}

#[test]
fn independent_lines_leave_one_by_one() {
    let (mut c, evicted) = crowded(Long::Independent);
    assert_eq!(evicted, [Evicted::Unbound { buffer: 0 }]);
    assert_eq!(c.place(1), Place::Here(Stored { buffer: 0, bytes: 40 }));
    assert_eq!([0, 16, 32].map(|line| c.is_waiting(1, line)), [false, true, true]);
    // Without its entry nothing is known of them: they all leave.
    c.tlb = Section::new(SectionGeometry { sets: 1, ways: 1 }, by_name);
    c.tlb.insert(
        1,
        Waiting {
            message: Stored { buffer: 0, bytes: 40 },
            name: Name { key: 1, ordinal: 1 },
            is_kept: false,
            arrival: 0,
            came: 40,
            lines: 2,
            away: 0,
            is_bound: false,
        },
    );
    let evicted = deposit(&mut c, 3, Stored { buffer: 144, bytes: 32 });
    assert_eq!(c.place(1), Place::Memory(Stored { buffer: 0, bytes: 40 }));
    assert!(evicted.contains(&Evicted::Unbound { buffer: 32 }), "{evicted:?}");
    c.check().unwrap();
}

#[test]
fn what_is_bound_in_network_memory_keeps_its_buffer_and_its_entry() {
    let (long, p) = (Long::Independent, parameters(SMALL, LARGE, LARGE));
    let mut c = NetworkCache::new(NetworkCacheParameters { long, tlb_entries: 1, tlb_ways: 1, ..p }, COSTS);
    let message = Stored { buffer: 0, bytes: 40 };
    deposit(&mut c, 1, message);
    // Two messages of a line drive the first and the third out.
    deposit(&mut c, 3, stored(64));
    deposit(&mut c, 4, stored(96));
    let lines = [0, 16, 32].map(|buffer| Stored { buffer, bytes: if buffer == 32 { 8 } else { 16 } });
    assert!(c.may_stay(1));
    c.stay(1, lines[0], 0x1000);
    c.bind(1, 16, 0x1010);
    c.stay(1, lines[2], 0x1020);
    c.consume(1, 0, 0x1000);
    assert_eq!((c.place(1), c.take_free_buffers()), (Place::Unknown, vec![]));
    assert_eq!(c.away_in(0x1000, 64), Some((0x1000, lines[0])));
    assert_eq!(c.bound_in(0x1000, 64).collect::<Vec<u64>>(), [0x1010, 0x1000, 0x1020]);
    // Another long message finds no entry: all of it goes to its buffer.
    let other = Stored { buffer: 128, bytes: 32 };
    deposit(&mut c, 2, other);
    assert_eq!((c.place(2), c.statistics.tlb_refused), (Place::Memory(other), 1));
    c.check().unwrap();
    assert_eq!(c.leave(0x1000), Some(Bound { sector: 0x1000, bytes: 16 }));
    assert_eq!(c.take_free_buffers(), []);
    assert_eq!(c.unbind(0x1020), Some(Bound { sector: 0x1020, bytes: 8 }));
    assert_eq!((c.take_free_buffers(), c.tlb.iter().count()), (vec![0], 0));
    c.check().unwrap();
}

fn name(key: u64, ordinal: u32) -> Name {
    Name { key, ordinal }
}

#[test]
fn a_message_takes_the_reservation_for_its_name() {
    let mut c = cache(LARGE, LARGE, LARGE);
    for (of, sector) in
        [(name(7, 1), 0x1000), (name(8, 1), 0x1010), (name(7, 2), 0x1020), (name(7, 3), 0x1030)]
    {
        assert!(c.may_reserve(sector));
        c.reserve(of, sector, 8);
    }
    assert!(!c.may_reserve(0x1040), "four are all");
    let arrive = |c: &mut NetworkCache, ordinal: u32, bytes: u32| {
        let incoming = Incoming { ordinal, ..incoming(7, Stored { buffer: 0, bytes }) };
        c.arrive(incoming, true)
    };
    // The second comes first: it is no other receive's.
    let second = arrive(&mut c, 2, 8).unwrap();
    assert_eq!(second.sector, 0x1020);
    let found = Found { id: 1, bytes: 8 };
    c.land(second, 8);
    c.landed(second, found, 0);
    assert_eq!(arrive(&mut c, 1, 9), None, "too long for it, which is used up");
    assert!(!c.withdraw(7, 0x1020), "it is there");
    assert!(c.withdraw(8, 0x1010) && c.withdraw(8, 0x1010), "nothing waits there any more");
    assert_eq!(c.reservation(name(7, 2)).and_then(|r| r.landed), Some(found));
    c.collect(name(7, 2));
    assert_eq!(c.reservation(name(7, 2)), None);
    assert_eq!(arrive(&mut c, 3, 1).map(|r| r.sector), Some(0x1030));
    assert_eq!((c.statistics.early_missed, c.statistics.withdrawn), (1, 1));
}

#[test]
fn a_message_is_found_by_its_name_when_all_of_it_has_come() {
    let mut c = cache(LARGE, LARGE, LARGE);
    let message = Incoming { key: 7, ordinal: 3, ..incoming(1, Stored { buffer: 0, bytes: 40 }) };
    c.deposit(message, Stored { buffer: 0, bytes: 32 });
    assert_eq!(c.find(name(7, 3)), None);
    c.deposit(Incoming { offset: 32, ..message }, Stored { buffer: 32, bytes: 8 });
    assert_eq!(c.find(name(7, 3)), Some(Found { id: 1, bytes: 40 }));
    assert_eq!((c.find(name(7, 2)), c.find(name(3, 7))), (None, None));
    c.consume(1, 0, 0);
    assert_eq!(c.find(name(7, 3)), None, "binding happens once");
}

/// What nothing but its name leads to is never lost: the LTB loses others, or refuses them.
#[test]
fn a_name_that_is_kept_is_found_until_it_is_bound() {
    let p = parameters(SectionGeometry { sets: 1, ways: 1 }, LARGE, LARGE);
    let mut c = NetworkCache::new(NetworkCacheParameters { ltb_entries: 2, ltb_ways: 2, ..p }, COSTS);
    for id in 1..3 {
        assert!(c.keeps(id));
        c.deposit(Incoming { is_kept: true, ..incoming(id, stored(id * 16)) }, stored(id * 16));
    }
    for id in 3..9 {
        assert!(!c.keeps(id), "both ways are taken");
        deposit(&mut c, id, stored(id * 16));
        assert!((1..3).all(|kept| c.find(name(kept, 1)).is_some()));
    }
    assert_eq!((c.find(name(3, 1)), c.statistics.ltb_replacements), (None, 5));
    c.consume(1, 16, 0);
    assert!(c.keeps(9), "one way is free");
    deposit(&mut c, 9, stored(144));
    assert!(c.find(name(8, 1)).is_some() && c.find(name(2, 1)).is_some());
    c.check().unwrap();
}

#[test]
fn the_predictor_chooses_who_is_consumed_last() {
    for replacement in [Replacement::SingleCycle, Replacement::Tagging] {
        let p = parameters(SectionGeometry { sets: 1, ways: 3 }, LARGE, LARGE);
        let mut c = NetworkCache::new(NetworkCacheParameters { replacement, early: Early::Off, ..p }, COSTS);
        let bring = |c: &mut NetworkCache, id: u64, key: u64| {
            c.deposit(Incoming { key, ..incoming(id, stored(id * 16)) }, stored(id * 16))
        };
        // Twice round the cycle 1, 2, 3, and its first key.
        for (id, key) in (0..).zip([1, 2, 3, 1, 2, 3, 1]) {
            bring(&mut c, id, key);
            c.consume(id, id * 16, key);
        }
        assert_eq!(
            (c.statistics.predictions, c.statistics.predicted),
            if replacement == Replacement::Tagging { (4, 4) } else { (3, 3) }
        );
        for (id, key) in [(10, 1), (11, 2), (12, 3)] {
            assert_eq!(bring(&mut c, id, key), []);
        }
        // Key 2 is next, then 3, then 1, which came first; then the second message of key 2.
        assert_eq!(bring(&mut c, 13, 2), [Evicted::Unbound { buffer: 160 }]);
        assert_eq!(bring(&mut c, 14, 9), [Evicted::Unbound { buffer: 208 }], "{replacement:?}");
        assert_eq!(bring(&mut c, 15, 3), [Evicted::Unbound { buffer: 224 }], "nobody asks for key 9");
        assert_eq!(c.statistics.predicted_victims, 3);
    }
}

#[test]
fn the_order_of_arrival_does_not_begin_again() {
    let p = parameters(SectionGeometry { sets: 1, ways: 3 }, LARGE, LARGE);
    let replacement = Replacement::SingleCycle;
    let mut c = NetworkCache::new(NetworkCacheParameters { replacement, early: Early::Off, ..p }, COSTS);
    let bring = |c: &mut NetworkCache, id: u64, key: u64| {
        c.deposit(Incoming { key, ..incoming(id, stored(id * 16)) }, stored(id * 16))
    };
    for (id, key) in [(0, 1), (1, 2), (2, 1)] {
        bring(&mut c, id, key);
        c.consume(id, id * 16, key);
    }
    // Key 2 is next. Of what is not expected at all the last that came is consumed last, and of one key the first is next,
    // though 2^32 messages have come meanwhile.
    c.arrivals = u64::from(u32::MAX) - 1;
    for (id, key) in [(10, 2), (11, 8), (12, 9)] {
        assert_eq!(bring(&mut c, id, key), []);
    }
    assert_eq!(bring(&mut c, 13, 2), [Evicted::Unbound { buffer: 12 * 16 }]);
    let [first, second] = [10, 13].map(|id| c.message.find(id).expect("it waits"));
    assert_eq!((c.earlier(&first), c.earlier(&second)), (0, 1));
}

/// What must be known of every message: it is somewhere until it is bound or released, whatever was evicted.
#[derive(Default)]
struct Model {
    /// By name.
    unbound: HashMap<u64, Message>,
    /// Bound and not free: some of it is in network memory.
    held: Vec<Stored>,
    /// By sector: its length. What is evicted goes to `memory`.
    bound: HashMap<u64, u32>,
    /// What waits, the oldest first: name, sector, room.
    reserved: Vec<(Name, u64, u32)>,
    /// What has been met and not collected: name, sector.
    met: Vec<(Name, u64)>,
    /// Messages that have come, and how many of each key.
    number: u32,
    ordinals: HashMap<u64, u32>,
}

struct Message {
    name: Name,
    stored: Stored,
    /// Lines that their buffer has.
    written: Vec<bool>,
}

impl Model {
    fn evict(&mut self, evicted: Vec<Evicted>) {
        for one in evicted {
            match one {
                Evicted::Unbound { buffer } => {
                    let message = self.unbound.values_mut().find(|m| lines_of(m.stored).any(|l| l == buffer));
                    if let Some(message) = message {
                        message.written[((buffer - message.stored.buffer) / 16) as usize] = true;
                    }
                }
                Evicted::Bound(b) => {
                    assert_eq!(self.bound.remove(&b.sector), Some(b.bytes), "bound and evicted")
                }
            }
        }
    }

    /// Every message is where the cache says, and its data are in its lines or in its buffer.
    fn agrees(&self, c: &NetworkCache) {
        c.check().unwrap();
        assert!(self.held.len() <= c.tlb.iter().filter(|(_, entry)| entry.is_bound).count());
        for (&id, message) in &self.unbound {
            match c.place(id) {
                Place::Here(place) | Place::Memory(place) => {
                    assert_eq!(place, message.stored, "message {id}")
                }
                Place::Unknown => panic!("message {id} is lost"),
            }
            assert_eq!(c.find(message.name), Some(Found { id, bytes: message.stored.bytes }));
            for (line, written) in lines_of(message.stored).zip(&message.written) {
                assert!(*written || c.has_line(line), "the data of message {id} are lost at {line:#x}");
            }
            let here = lines_of(message.stored).filter(|&line| c.is_waiting(id, line)).count();
            if matches!(c.place(id), Place::Here(_)) && c.parameters.long == Long::Chained {
                assert_eq!(here, message.written.len(), "a part of message {id} has left");
            }
        }
        let mut sectors: Vec<u64> = c.sectors().collect();
        let mut expected: Vec<u64> = self.bound.keys().copied().collect();
        sectors.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sectors, expected, "bound sectors");
        let open = c.reservations.iter().filter(|r| r.landed.is_none());
        assert_eq!(open.map(|r| (r.name, r.sector, r.bytes)).collect::<Vec<_>>(), self.reserved);
    }

    fn is_free(&self, buffer: Stored) -> bool {
        let end = |s: Stored| s.buffer + u64::from(s.bytes.next_multiple_of(16));
        let mut used = self.unbound.values().map(|m| &m.stored).chain(&self.held);
        used.all(|&other| end(other) <= buffer.buffer || end(buffer) <= other.buffer)
    }

    /// A message comes, in parts of up to `part` bytes, or lands where a receive waits.
    fn arrive(&mut self, c: &mut NetworkCache, stored: Stored, part: u32, key: u64) {
        self.number += 1;
        let ordinal = self.ordinals.entry(key).or_default();
        *ordinal += 1;
        let (id, name) = (u64::from(self.number), Name { key, ordinal: *ordinal });
        let incoming = Incoming { key, ordinal: *ordinal, ..incoming(id, stored) };
        let expected = self.reserved.iter().position(|r| r.0 == name).map(|at| self.reserved.remove(at));
        let landed = c.arrive(incoming, true);
        let fits = expected.filter(|&(_, _, room)| stored.bytes <= room);
        assert_eq!(landed.map(|r| r.sector), fits.map(|(_, sector, _)| sector));
        if let Some(reservation) = landed {
            if c.parameters.early == Early::NetworkCache {
                let old = c.unbind(reservation.sector);
                assert_eq!(old.map(|b| b.bytes), self.bound.remove(&reservation.sector));
                self.bound.insert(reservation.sector, stored.bytes);
                let replaced = c.land(reservation, stored.bytes);
                self.evict(replaced.map(Evicted::Bound).into_iter().collect());
            }
            c.landed(reservation, Found { id, bytes: stored.bytes }, stored.buffer);
            self.held.push(stored);
            self.collect(c);
            self.met.push((name, reservation.sector));
            return;
        }
        c.release(stored);
        let lines = stored.bytes.div_ceil(16) as usize;
        self.unbound.insert(id, Message { name, stored, written: vec![false; lines] });
        let mut offset = 0;
        while offset < stored.bytes {
            let bytes = part.min(stored.bytes - offset);
            let here = Stored { buffer: stored.buffer + u64::from(offset), bytes };
            let evicted = c.deposit(Incoming { offset, ..incoming }, here);
            self.evict(evicted);
            // What did not come into the cache is in the buffer.
            for line in lines_of(here) {
                if !c.is_waiting(id, line) {
                    let message = self.unbound.get_mut(&id).expect("it came");
                    message.written[((line - stored.buffer) / 16) as usize] = true;
                }
            }
            offset += bytes;
        }
    }

    /// Binds every line that is here; the others stay where they are, or go elsewhere.
    fn bind(&mut self, c: &mut NetworkCache, id: u64, first: u64) {
        let message = self.unbound.remove(&id).expect("it is there");
        for (line, sector) in lines_of(message.stored).zip((first..).step_by(16)) {
            let bytes = (message.stored.buffer + u64::from(message.stored.bytes) - line).min(16) as u32;
            let is_here = c.is_waiting(id, line);
            if !is_here && (c.has_line(line) || !c.may_stay(id)) {
                continue;
            }
            let old = c.unbind(sector);
            assert_eq!(old.map(|b| b.bytes), self.bound.remove(&sector));
            self.bound.insert(sector, bytes);
            if !is_here {
                c.stay(id, Stored { buffer: line, bytes }, sector);
                continue;
            }
            let replaced = c.bind(id, line, sector);
            self.evict(replaced.map(Evicted::Bound).into_iter().collect());
        }
        c.consume(id, message.stored.buffer, first);
        self.held.push(message.stored);
        self.collect(c);
    }

    /// The NI gets the buffers that are free.
    fn collect(&mut self, c: &mut NetworkCache) {
        for buffer in c.take_free_buffers() {
            let at = self.held.iter().position(|held| held.buffer == buffer);
            self.held.swap_remove(at.expect("a buffer that is free once"));
        }
    }
}

fn geometry(random: &mut Random) -> SectionGeometry {
    SectionGeometry { sets: 1 << random.below(4), ways: 1 + random.below(4) as u32 }
}

fn act(c: &mut NetworkCache, model: &mut Model, random: &mut Random) {
    let buffer = random.below(64) * 16;
    let mut names: Vec<u64> = model.unbound.keys().copied().collect();
    names.sort_unstable();
    let some = (!names.is_empty()).then(|| random.pick(&names));
    let sector = random.below(32) * 16;
    let key = random.below(6);
    match (random.below(10), some) {
        (0..3, _) => {
            let longest = random.pick(&[16, 16, 40, 200]);
            let stored = Stored { buffer, bytes: 1 + random.below(longest) as u32 };
            if model.is_free(stored) {
                model.arrive(c, stored, random.pick(&[16, 32, 64]), key);
            }
        }
        (3, Some(id)) => model.bind(c, id, sector),
        (4, Some(id)) => {
            let message = model.unbound.remove(&id).expect("it is there");
            if random.below(2) == 0 {
                c.consume(id, message.stored.buffer, sector);
                assert_eq!(c.take_free_buffers(), [message.stored.buffer]);
            } else {
                c.release(message.stored);
            }
        }
        (5, Some(id)) => {
            let lines: Vec<u64> = lines_of(model.unbound[&id].stored).collect();
            let evicted = c.fill(random.pick(&lines));
            model.evict(evicted);
        }
        (6, Some(id)) => {
            let message = model.unbound.get_mut(&id).expect("it is there");
            let line = random.below(message.written.len() as u64);
            if c.access(message.stored.buffer + line * 16, true) {
                message.written[line as usize] = false;
            }
        }
        (7, _) if c.away_in(sector, 1).is_some() => {
            let bytes = model.bound.remove(&sector).expect("it is bound");
            assert!(!c.hit(sector, 1), "its data are in network memory");
            assert_eq!(c.leave(sector), Some(Bound { sector, bytes }));
            model.collect(c);
        }
        (7, _) => {
            let end = u64::from(model.bound.get(&sector).copied().unwrap_or(0));
            let (at, bytes) = (random.below(16), 1 << random.below(4));
            let fits = end >= at + bytes;
            assert_eq!(c.hit(sector + at, bytes as u32), fits, "{bytes} at {at} of {end}");
        }
        (8, _) => {
            let came = model.ordinals.get(&key).copied().unwrap_or(0);
            let of = name(key, came + 1 + random.below(3) as u32);
            let bytes = 1 + random.below(16) as u32;
            if model.reserved.iter().all(|r| r.0 != of) && c.may_reserve(sector) {
                let evicted = c.reserve(of, sector, bytes);
                model.evict(evicted);
                model.reserved.push((of, sector, bytes));
            }
        }
        (9, _) => {
            let is_met = model.met.iter().any(|&(of, at)| (of.key, at) == (key, sector));
            assert_eq!(c.withdraw(key, sector), !is_met);
            model.reserved.retain(|r| (r.0.key, r.1) != (key, sector));
            for (of, _) in model.met.drain(..) {
                assert!(c.reservation(of).is_some_and(|r| r.landed.is_some()));
                c.collect(of);
            }
        }
        _ => {}
    }
}

#[test]
fn no_message_is_lost_whatever_is_evicted() {
    let mut seeds = Random::for_test(0x7a65);
    let (mut early, mut chained, mut predicted, mut stayed, mut refused) = (0, 0, 0, 0, 0);
    for _ in 0..400 {
        let mut random = Random::new(seeds.bits());
        let r = &mut random;
        let sections = [geometry(r), geometry(r), geometry(r), LARGE, geometry(r)];
        let p = NetworkCacheParameters {
            long: r.pick(Long::ALL),
            early: r.pick(Early::ALL),
            replacement: r.pick(Replacement::ALL),
            ..parameters(LARGE, LARGE, LARGE)
        };
        let mut c = NetworkCache::new(p.with_sections(sections), COSTS);
        let mut model = Model::default();
        for _ in 0..400 {
            act(&mut c, &mut model, &mut random);
            model.collect(&mut c);
            model.agrees(&c);
        }
        let s = c.statistics;
        early += u64::from(model.number) - s.deposits;
        chained += s.chained_evictions;
        predicted += s.predicted_victims;
        stayed += s.stayed;
        refused += s.tlb_refused;
    }
    let all = [early, chained, predicted, stayed, refused];
    assert!(all.iter().all(|&count| count > 100), "{all:?}: hardly tested");
}

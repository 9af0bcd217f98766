//! The sections alone: each rule, and random operations against sets and maps that forget nothing.

use std::collections::HashMap;

use chasqui_random::Random;

use super::*;

const SMALL: SectionGeometry = SectionGeometry { sets: 2, ways: 2 };
const LARGE: SectionGeometry = SectionGeometry { sets: 64, ways: 8 };

fn cache(network: SectionGeometry, message: SectionGeometry, process: SectionGeometry) -> NetworkCache {
    NetworkCache::new(NetworkCacheParameters {
        network,
        message,
        process,
        ltb: LARGE,
        binding: Binding::NetworkCache,
        network_cycles: 0,
        process_cycles: 2,
        remap_cycles: 4,
    })
}

fn stored(buffer: u64) -> Stored {
    Stored { buffer, bytes: 16 }
}

#[test]
fn a_victim_migrates_and_the_ltb_keeps_where_it_is() {
    let mut c = cache(SMALL, LARGE, LARGE);
    // Three buffers of one set of two ways.
    assert_eq!(c.deposit(1, stored(0)), []);
    assert_eq!(c.deposit(2, stored(32)), []);
    assert_eq!(c.deposit(3, stored(64)), [Evicted::Unbound { buffer: 0 }]);
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
    let evicted: Vec<Evicted> = (0..3).flat_map(|id| c.deposit(id, stored(id * 16))).collect();
    assert_eq!(evicted, [Evicted::Unbound { buffer: 0 }]);
    assert_eq!((c.place(0), c.statistics.message_replacements), (Place::Memory(stored(0)), 1));
    assert!(!c.has_line(0));
}

#[test]
fn binding_happens_once_and_resets_the_other_tags() {
    let mut c = cache(LARGE, LARGE, SectionGeometry { sets: 1, ways: 1 });
    c.deposit(1, Stored { buffer: 0, bytes: 12 });
    c.deposit(2, stored(16));
    assert_eq!(c.bind(1, 0x1000), None);
    assert_eq!((c.place(1), c.has_line(0)), (Place::Unknown, false));
    assert_eq!(c.bound(0x100f), Some(Bound { sector: 0x1000, bytes: 12 }));
    assert!(c.hit(0x1004, 8) && !c.hit(0x1008, 8) && !c.hit(0x100c, 1) && !c.hit(0x1010, 1));
    assert_eq!(c.bind(2, 0x2000), Some(Bound { sector: 0x1000, bytes: 12 }), "the section has one entry");
    assert_eq!((c.bound(0x1000), c.statistics.process_replacements), (None, 1));
    c.check().unwrap();
}

#[test]
fn a_released_buffer_leaves_nothing() {
    let mut c = cache(SMALL, LARGE, LARGE);
    for id in 0..3 {
        c.deposit(id, stored(id * 32));
    }
    c.fill(0);
    (0..3).for_each(|id| c.release(id * 32));
    assert!((0..3).all(|id| c.place(id) == Place::Unknown && !c.has_line(id * 32)));
    assert_eq!(c.lines.iter().count(), 0);
}

/// What must be known of every message: it is somewhere until it is bound or released, whatever was evicted.
#[derive(Default)]
struct Model {
    /// By name: its buffer, and whether the buffer has its data.
    unbound: HashMap<u64, (Stored, bool)>,
    /// By sector: its length. What is evicted goes to `memory`.
    bound: HashMap<u64, u32>,
}

impl Model {
    fn evict(&mut self, evicted: Vec<Evicted>) {
        for one in evicted {
            match one {
                Evicted::Unbound { buffer } => {
                    let message = self.unbound.values_mut().find(|(s, _)| s.buffer == buffer);
                    if let Some((_, written)) = message {
                        *written = true;
                    }
                }
                Evicted::Bound(b) => {
                    assert_eq!(self.bound.remove(&b.sector), Some(b.bytes), "bound and evicted")
                }
            }
        }
    }

    /// Every message is where the cache says, and its data are in the line or in its buffer.
    fn agrees(&self, c: &NetworkCache) {
        c.check().unwrap();
        for (&id, &(stored, written)) in &self.unbound {
            match c.place(id) {
                Place::Here(place) => assert_eq!(place, stored, "message {id}"),
                Place::Memory(place) => {
                    assert_eq!(place, stored, "message {id}");
                    assert!(written || c.has_line(stored.buffer), "the data of message {id} are lost");
                }
                Place::Unknown => panic!("message {id} is lost"),
            }
        }
        let mut sectors: Vec<u64> = c.sectors().collect();
        let mut expected: Vec<u64> = self.bound.keys().copied().collect();
        sectors.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sectors, expected, "bound sectors");
    }
}

fn geometry(random: &mut Random) -> SectionGeometry {
    SectionGeometry { sets: 1 << random.below(4), ways: 1 + random.below(4) as u32 }
}

fn act(c: &mut NetworkCache, model: &mut Model, random: &mut Random, next: &mut u64) {
    let buffer = random.below(64) * 16;
    let mut names: Vec<u64> = model.unbound.keys().copied().collect();
    names.sort_unstable();
    let some = (!names.is_empty()).then(|| random.pick(&names));
    let sector = random.below(32) * 16;
    match (random.below(8), some) {
        (0..3, _) if model.unbound.values().all(|(s, _)| s.buffer != buffer) => {
            let message = Stored { buffer, bytes: 1 + random.below(16) as u32 };
            *next += 1;
            c.release(buffer);
            model.unbound.insert(*next, (message, false));
            let evicted = c.deposit(*next, message);
            model.evict(evicted);
        }
        (3, Some(id)) if matches!(c.place(id), Place::Here(_)) => {
            let old = c.unbind(sector);
            assert_eq!(old.map(|b| b.bytes), model.bound.remove(&sector));
            let (message, _) = model.unbound.remove(&id).expect("it is there");
            model.bound.insert(sector, message.bytes);
            let replaced = c.bind(id, sector);
            model.evict(replaced.map(Evicted::Bound).into_iter().collect());
        }
        (4, Some(id)) => {
            let (message, _) = model.unbound.remove(&id).expect("it is there");
            if random.below(2) == 0 {
                c.forget(id);
            } else {
                c.release(message.buffer);
            }
        }
        (5, Some(id)) => {
            let evicted = c.fill(model.unbound[&id].0.buffer);
            model.evict(evicted);
        }
        (6, Some(id)) => {
            let (message, written) = model.unbound.get_mut(&id).expect("it is there");
            if c.access(message.buffer, true) {
                *written = false;
            }
        }
        (7, _) => {
            let end = u64::from(model.bound.get(&sector).copied().unwrap_or(0));
            let (at, bytes) = (random.below(16), 1 << random.below(4));
            let fits = end >= at + bytes;
            assert_eq!(c.hit(sector + at, bytes as u32), fits, "{bytes} at {at} of {end}");
        }
        _ => {}
    }
}

#[test]
fn no_message_is_lost_whatever_is_evicted() {
    let mut seeds = Random::for_test(0x7a65);
    for _ in 0..200 {
        let mut random = Random::new(seeds.bits());
        let r = &mut random;
        let mut c = cache(geometry(r), geometry(r), geometry(r));
        let (mut model, mut next) = (Model::default(), 0);
        for _ in 0..400 {
            act(&mut c, &mut model, &mut random, &mut next);
            model.agrees(&c);
        }
    }
}

#[test]
fn a_full_ltb_forgets_its_oldest() {
    let mut c = cache(SMALL, LARGE, LARGE);
    c.ltb = Section::new(SectionGeometry { sets: 1, ways: 1 }, by_name);
    for id in 0..4 {
        c.deposit(id, stored(id * 32));
    }
    assert_eq!((c.place(0), c.place(1)), (Place::Unknown, Place::Memory(stored(32))));
    assert_eq!((c.statistics.ltb_replacements, c.statistics.migrations), (1, 2));
}

//! The rings: what they must never do, whoever asks for what, and what they can move at most.
//!
//! Use this when the arbiter or the routes change.

use std::collections::{HashMap, HashSet};

use chasqui_element::{Eib, EibParameters, Moving, Train};
use chasqui_engine::Time;
use chasqui_random::{Random, share};

const UNITS: usize = 12;

fn edge(n: u64) -> Time {
    EibParameters::default().clock().edge(n)
}

fn number(time: Time) -> u64 {
    EibParameters::default().clock().edge_at_or_after(time)
}

/// Places that a train holds: (kind, ring or 0, segment or unit, clock). Written from the rule, not from the model: a beat a
/// clock enters the first segment, and is on the next one a clock later.
fn places(moving: &Moving, parameters: &EibParameters) -> Vec<(u8, usize, usize, u64)> {
    let Train { from, to, .. } = moving.train;
    let (begin, mut held) = (number(moving.begin), vec![]);
    let up = moving.ring.is_some_and(|ring| ring < parameters.rings as usize);
    let mut at = from;
    let mut nth = 0;
    while at != to {
        let next = if up { (at + 1) % UNITS } else { (at + UNITS - 1) % UNITS };
        let segment = if up { at } else { next };
        held.extend((0..parameters.beats).map(|beat| (0, moving.ring.unwrap(), segment, begin + nth + beat)));
        (at, nth) = (next, nth + 1);
    }
    assert!(nth <= UNITS as u64 / 2, "{moving:?} goes more than half way round");
    held.extend((0..parameters.beats).map(|beat| (1, 0, from, begin + beat)));
    held.extend((0..parameters.beats).map(|beat| (2, 0, to, begin + nth + beat)));
    held
}

/// Random traffic with pauses: every train begins once, those of a unit in their order, and no two are at one place at once;
/// a ring begins with one each three clocks.
#[test]
fn no_two_trains_meet() {
    let mut random = Random::for_test(23);
    for case in 0..share(60) {
        let parameters = EibParameters { rings: 1 + random.below(2), ..EibParameters::default() };
        let memory = (case % 2 == 0).then_some(UNITS - 1);
        let mut bus = Eib::new(parameters.clone(), UNITS, memory);
        let (mut held, mut begun) = (HashSet::new(), HashMap::<usize, Vec<u64>>::new());
        let mut begins = HashMap::<usize, Vec<u64>>::new();
        let (mut now, mut name) = (0, 0);
        let busy = random.pick(&[1, 4, 30]);
        let mut left = 400;
        while left > 0 || bus.next_grant().is_some() {
            if left > 0 && random.once_in(busy) {
                let (from, to) = (random.below(UNITS as u64) as usize, random.below(UNITS as u64) as usize);
                bus.ask(Train { from, to, bytes: 1 + random.below(128) as u32, name }, edge(now));
                (name, left) = (name + 1, left - 1);
                if random.once_in(2) {
                    continue;
                }
            }
            while let Some(moving) = bus.grant(edge(now)) {
                assert_eq!(moving.begin, edge(now));
                for place in places(&moving, &parameters) {
                    assert!(held.insert(place), "case {case}: two trains at {place:?}");
                }
                if let Some(ring) = moving.ring {
                    begins.entry(ring).or_default().push(now);
                }
                begun.entry(moving.train.from).or_default().push(moving.train.name);
            }
            now += 1;
        }
        assert_eq!(begun.values().map(Vec::len).sum::<usize>(), 400, "case {case}");
        assert!(begun.values().all(|names| names.is_sorted()), "case {case}");
        for starts in begins.values() {
            assert!(starts.windows(2).all(|two| two[1] - two[0] >= 3), "case {case}");
        }
    }
}

/// What is begun with when the bus is asked at its own times is begun with when it is asked in every clock.
#[test]
fn the_next_grant_is_when_it_says() {
    let mut random = Random::for_test(29);
    let trains: Vec<(u64, Train)> = (0..300)
        .map(|name| {
            let (from, to) = (random.below(UNITS as u64) as usize, random.below(UNITS as u64) as usize);
            (name * 3, Train { from, to, bytes: 128, name })
        })
        .collect();
    let run = |every: bool| {
        let mut bus = Eib::new(EibParameters::default(), UNITS, None);
        let (mut asked, mut all, mut now) = (trains.iter().peekable(), vec![], Time::ZERO);
        loop {
            while let Some((_, train)) = asked.next_if(|(at, _)| edge(*at) <= now) {
                bus.ask(*train, now);
            }
            all.extend(std::iter::from_fn(|| bus.grant(now)));
            let arrives = asked.peek().map(|(at, _)| edge(*at));
            let Some(next) = arrives.into_iter().chain(bus.next_grant()).min() else { return all };
            now = if every { edge(number(now) + 1) } else { next };
        }
    };
    assert_eq!(run(true), run(false));
}

/// Clocks in which each of `pairs` moves 200 trains of 128 bytes.
fn clocks(pairs: &[(usize, usize)]) -> u64 {
    let mut bus = Eib::new(EibParameters::default(), UNITS, None);
    for &(from, to) in pairs {
        (0..200).for_each(|name| bus.ask(Train { from, to, bytes: 128, name }, edge(0)));
    }
    let mut end = Time::ZERO;
    while let Some(now) = bus.next_grant() {
        end = end.max(bus.grant(now).expect("ready then").end);
    }
    number(end)
}

/// A pair moves 16 bytes a clock, 25.6 GB/s; disjoint pairs do so at once; rings of one direction that all trains need begin
/// with one each three clocks.
#[test]
fn bandwidth_follows_from_ports_paths_and_begins() {
    let ideal = 200 * 8;
    let near = |found: u64, expected: u64| {
        assert!((expected..expected + expected / 50 + 20).contains(&found), "{found} clocks, not {expected}");
    };
    near(clocks(&[(0, 1)]), ideal);
    // Four pairs of neighbours, a ring each at most: all at once.
    near(clocks(&[(0, 1), (3, 2), (6, 7), (9, 8)]), ideal);
    // Two pairs each way on one path of six segments fill the four rings.
    near(clocks(&[(0, 5), (1, 6), (6, 0), (5, 11)]), ideal);
    // Three up the same segment: two rings do two thirds of it at a time.
    near(clocks(&[(0, 3), (1, 4), (2, 5)]), ideal * 3 / 2);
    // All twelve to the next: two rings begin with one each three clocks.
    let round: Vec<_> = (0..UNITS).map(|unit| (unit, (unit + 1) % UNITS)).collect();
    near(clocks(&round), 12 * 200 * 3 / 2);
    // To the next but one, and the other way: twice as much on all four.
    let both: Vec<_> =
        (0..UNITS).map(|unit| (unit, (unit + if unit % 2 == 0 { 1 } else { 11 }) % UNITS)).collect();
    near(clocks(&both), 12 * 200 * 3 / 4);
}

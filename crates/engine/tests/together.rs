//! Partitions of two kinds, in zones, that send each other messages at random: what each sees must not depend on how many
//! host threads run them, which exchange messages and bounds while they run.

use std::any::Any;

use chasqui_engine::{
    Class, Ended, Engine, Event, EventQueue, Group, Lookahead, Outbox, Packet, Partition, PartitionId, Port,
    Threads, Time,
};
use chasqui_random::{Random, share};

/// Look-ahead between the two kinds [ps].
const LEAST: [[u64; 2]; 2] = [[13, 5], [3, 7]];
/// What messages to another zone take longer [ps].
const FAR: u64 = 20;
/// Least times to the first effects in another zone: the shortest paths with one message that goes there.
const BEYOND: [[u64; 2]; 2] = [[8 + FAR, 5 + FAR], [3 + FAR, 7 + FAR]];

/// What a partition is: its kind, and its zone.
type Place = (Group, usize);

/// Answers each message, once or twice, to any other, and notes it.
struct Chatter {
    id: u64,
    /// Of all partitions.
    places: Vec<Place>,
    queue: EventQueue,
    port: Port,
    heard: Vec<(u64, u64)>,
}

/// Numbers that depend on `seed` alone, not on the order of calls.
fn mixed(seed: u64) -> u64 {
    let mixed = (seed ^ seed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

impl Chatter {
    fn answer(&mut self, now: Time, seed: u64, hops: u64, out: &mut Outbox<'_>) {
        let count = self.places.len() as u64;
        let to = (self.id + 1 + (seed >> 7) % (count - 1)) % count;
        let ((group, zone), (to_group, to_zone)) = (self.places[self.id as usize], self.places[to as usize]);
        let least = LEAST[group][to_group] + if zone == to_zone { 0 } else { FAR };
        // Mostly soon; now and then there is a while without anything.
        let delay = least + if seed.is_multiple_of(16) { 900 } else { (seed >> 40) % 20 };
        let event = Event {
            time: now + Time(delay),
            order: self.port.next(Class::Packet),
            target: 0,
            payload: [seed, hops - 1],
        };
        out.send(now, to as PartitionId, event, None);
    }
}

impl Partition for Chatter {
    fn next(&self) -> Time {
        self.queue.next_time()
    }

    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let before = self.heard.len();
        while let Some(event) = self.queue.pop_before(out.limit()) {
            let [seed, hops] = event.payload;
            self.heard.push((event.time.0, seed));
            if hops > 0 {
                self.answer(event.time, mixed(seed), hops, out);
                if seed % 8 == 1 {
                    self.answer(event.time, mixed(seed + 1), hops, out);
                }
            }
        }
        (self.heard.len() - before) as u64
    }

    fn receive(&mut self, event: Event, _: Option<Box<Packet>>) {
        self.queue.push(event);
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// What each partition heard, and when. `places`: what each is.
fn heard(places: &[Place], seed: u64, window: Time, threads: Threads) -> Vec<Vec<(u64, u64)>> {
    let times = |times: [[u64; 2]; 2]| times.map(|row| row.map(Time).to_vec()).to_vec();
    let mut engine = Engine::new(Lookahead::new(times(LEAST)).with_zones(&times(BEYOND)));
    engine.set_window(window);
    for (id, &(group, zone)) in (0u32..).zip(places) {
        let mut queue = EventQueue::default();
        let mut port = Port::new(id);
        let order = port.next(Class::Internal);
        let payload = [mixed(seed + u64::from(id)), 30];
        queue.push(Event { time: Time(u64::from(id) % 3), order, target: 0, payload });
        let (id, places) = (u64::from(id), places.to_vec());
        engine.add_in_zone(group, zone, Box::new(Chatter { id, places, queue, port, heard: vec![] }));
    }
    assert_eq!(engine.run(threads, &mut |_| true), Ended::Idle);
    let partitions = engine.partitions().into_iter();
    partitions.map(|p| p.into_any().downcast::<Chatter>().expect("a chatter").heard).collect()
}

#[test]
fn what_partitions_hear_does_not_depend_on_threads() {
    let mut random = Random::for_test(1);
    for _ in 0..share(12) {
        let zones = 1 + random.below(4);
        let count = 3 + random.below(9);
        let mut place = |_| (random.below(2) as Group, random.below(zones) as usize);
        let places: Vec<Place> = (0..count).map(&mut place).collect();
        let (seed, window) = (random.below(1 << 40), Time(1 + random.below(400)));
        let alone = heard(&places, seed, Time(1_000_000), Threads::Exactly(1));
        assert!(alone.iter().map(Vec::len).sum::<usize>() > 30 * places.len(), "they talk");
        for threads in [2, 3] {
            assert_eq!(heard(&places, seed, Time(1_000_000), Threads::Exactly(threads)), alone, "{threads}");
        }
        assert_eq!(heard(&places, seed, window, Threads::Exactly(2)), alone, "a window of {window}");
    }
}

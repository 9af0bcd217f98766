use super::*;

/// A byte a nanosecond, and 100 ns from one side to the other.
const LATENCY: u64 = 100;
const LINE: u32 = 64;
const HOST: u64 = 0x10000;

fn ns(n: u64) -> Time {
    Time(n * 1000)
}

fn spec() -> PcieSpec {
    PcieSpec {
        link: Link::new(1_000_000_000, ns(LATENCY)),
        overhead: PcieOverhead { request: 24, completion: 20, link: 0 },
        payload: 256,
        request: 512,
        completion: 128,
        reads: 4,
        credit: (1024, 1024),
        posted: 128,
        combined: 64,
        ahead: 2,
        line_bytes: LINE,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Stored(u64, usize),
    Loads(u64),
    Written(u64, usize),
    Done,
}

/// The host's memory takes so long for a line, the card's none.
struct Rig {
    link: Pcie,
    memory_ns: u64,
    memory: Vec<u8>,
    local: Vec<u8>,
    queue: BTreeMap<(Time, u64), IoStep>,
    count: u64,
    seen: Vec<(Time, Seen)>,
}

impl Rig {
    fn new(spec: PcieSpec, memory_ns: u64) -> Rig {
        let pattern = |add: u8| (0..8192u32).map(|i| (i as u8).wrapping_mul(7).wrapping_add(add)).collect();
        Rig {
            link: Pcie::new(spec),
            memory_ns,
            memory: pattern(1),
            local: pattern(100),
            queue: BTreeMap::new(),
            count: 0,
            seen: vec![],
        }
    }

    /// Takes what follows at `now`.
    fn take(&mut self, now: Time) {
        while let Some(step) = self.link.step(now) {
            let at = match &step {
                IoStep::At(at, _) => *at,
                IoStep::ReadMemory { .. } | IoStep::WriteMemory { .. } => now + ns(self.memory_ns),
                IoStep::Done => {
                    self.seen.push((now, Seen::Done));
                    continue;
                }
                _ => now,
            };
            self.count += 1;
            self.queue.insert((at, self.count), step);
        }
    }

    fn happens(&mut self, step: IoStep, now: Time) {
        match step {
            IoStep::At(_, event) => self.link.event(event, now),
            IoStep::Store { address, data, .. } => self.seen.push((now, Seen::Stored(address, data.len()))),
            IoStep::Load { address, .. } => {
                self.seen.push((now, Seen::Loads(address)));
                self.link.answer(77, now);
            }
            IoStep::ReadMemory { line, address, bytes } => {
                let data = self.memory[(address - HOST) as usize..][..bytes as usize].to_vec();
                self.link.memory_read(line, data, now);
            }
            IoStep::WriteMemory { address, data, .. } => {
                self.memory[(address - HOST) as usize..][..data.len()].copy_from_slice(&data);
                self.seen.push((now, Seen::Written(address - HOST, data.len())));
                self.link.memory_written(now);
            }
            IoStep::ReadLocal { offset, bytes } => {
                let data = self.local[offset as usize..][..bytes as usize].to_vec();
                self.link.local_read(data, now);
            }
            IoStep::WriteLocal { offset, data, .. } => {
                self.local[offset as usize..][..data.len()].copy_from_slice(&data);
                self.link.local_written(now);
            }
            IoStep::Done => unreachable!("it is no event"),
        }
        self.take(now);
    }

    /// What is there by `until`.
    fn run_until(&mut self, until: Time) {
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) {
            let ((now, _), step) = entry.remove_entry();
            self.happens(step, now);
        }
    }

    fn begin(&mut self, host: u64, bytes: u32, to_host: bool) {
        self.link.begin(HostBlock { host: HOST + host, bytes, to_host }, Time::ZERO);
        self.take(Time::ZERO);
    }

    /// Moves a block: when it was done.
    fn run(&mut self, host: u64, bytes: u32, to_host: bool) -> Time {
        self.begin(host, bytes, to_host);
        self.run_until(Time::END);
        self.seen.iter().find(|(_, seen)| *seen == Seen::Done).expect("it ends").0
    }

    fn store(&mut self, address: u64, bytes: u32, now: Time) {
        assert!(self.link.has_room(bytes, now));
        self.link.store((address, bytes), 7, now);
        self.take(now);
    }
}

#[test]
fn a_store_takes_its_length_and_the_latency() {
    let mut rig = Rig::new(spec(), 50);
    rig.store(0x40, 8, Time::ZERO);
    rig.run_until(Time::END);
    assert_eq!(rig.seen, [(ns(24 + 8 + LATENCY), Seen::Stored(0x40, 8))]);
}

#[test]
fn stores_that_wait_go_together_and_are_as_many_as_there_is_room_for() {
    let mut rig = Rig::new(spec(), 50);
    for word in 0..13 {
        rig.store(8 * word, 8, Time::ZERO);
    }
    assert!(!rig.link.has_room(33, Time::ZERO) && rig.link.has_room(32, Time::ZERO), "96 of 128 wait");
    rig.run_until(Time::END);
    // The first leaves at once; those behind it wait until it has left, then those behind these.
    let first = 24 + 8;
    let second = first + 24 + 64;
    assert_eq!(
        rig.seen,
        [
            (ns(first + LATENCY), Seen::Stored(0, 8)),
            (ns(second + LATENCY), Seen::Stored(8, 64)),
            (ns(second + 24 + 32 + LATENCY), Seen::Stored(72, 32)),
        ]
    );
}

/// Writes to the card are under way up to their credit, which comes back after a round trip.
#[test]
fn without_room_at_the_card_stores_wait() {
    let mut rig = Rig::new(PcieSpec { credit: (64, 1024), ..spec() }, 50);
    for store in 0..9 {
        rig.store(0x100 * store, 8, Time::ZERO);
    }
    rig.run_until(Time::END);
    let eighth = 8 * 32 + LATENCY;
    assert_eq!(rig.seen[7].0, ns(eighth));
    // The first's room is back when the eighth has left.
    assert_eq!(rig.seen[8].0, ns(8 * 32 + 32 + LATENCY));
    let mut rig = Rig::new(PcieSpec { credit: (64, 1024), ..spec() }, 50);
    for store in 0..2 {
        (0..8).for_each(|word| rig.store(0x100 * store + 8 * word, 8, Time::ZERO));
    }
    rig.run_until(Time::END);
    assert_eq!(rig.seen[1], (ns(32 + 24 + 56 + LATENCY), Seen::Stored(8, 56)));
    // All room is taken: the next, of 64, leaves when that of the second is back.
    assert_eq!(rig.seen[2], (ns(32 + 80 + 2 * LATENCY + 24 + 64 + LATENCY), Seen::Stored(0x100, 64)));
}

#[test]
fn a_load_is_answered_after_a_round_trip_behind_the_stores_before_it() {
    let mut rig = Rig::new(spec(), 50);
    rig.store(0x40, 8, Time::ZERO);
    assert_eq!(rig.link.load((0x80, 8), Time::ZERO), HostLoad::Later);
    rig.take(Time::ZERO);
    let there = 32 + 24 + LATENCY;
    let back = there + 20 + 8 + LATENCY;
    rig.run_until(Time(ns(back).0 - 1));
    assert_eq!(rig.link.load((0x80, 8), Time(ns(back).0 - 1)), HostLoad::Later);
    rig.run_until(ns(back));
    assert_eq!(rig.link.load((0x88, 8), ns(back)), HostLoad::Later, "one at a time");
    assert!(rig.link.is_answered((0x80, 8)));
    assert_eq!(rig.link.load((0x80, 8), ns(back)), HostLoad::Is(77));
    assert_eq!(rig.seen[1], (ns(there), Seen::Loads(0x80)));
}

/// 2.4.1: a completion does not pass writes.
#[test]
fn an_answer_comes_behind_what_the_card_wrote_before() {
    let mut rig = Rig::new(spec(), 500);
    rig.begin(0, 64, true);
    assert_eq!(rig.link.load((0x80, 8), Time::ZERO), HostLoad::Later);
    rig.take(Time::ZERO);
    let written = ns(24 + 64 + LATENCY + 500);
    rig.run_until(Time(written.0 - 1));
    assert!(!rig.link.is_answered((0x80, 8)));
    rig.run_until(written);
    assert!(rig.link.is_answered((0x80, 8)));
}

#[test]
fn what_is_moved_is_there_whatever_it_lies_across() {
    for (host, bytes) in [(0, 1), (0, 64), (5, 200), (63, 2), (60, 4000), (500, 1030)] {
        for to_host in [false, true] {
            let mut rig = Rig::new(spec(), 50);
            let (from, to) = (rig.memory.clone(), rig.local.clone());
            rig.run(host, bytes, to_host);
            let here = &rig.memory[host as usize..][..bytes as usize];
            assert_eq!(here, &rig.local[..bytes as usize], "{host} {bytes} {to_host}");
            let same = if to_host { (&rig.local, &to) } else { (&rig.memory, &from) };
            assert_eq!(same.0, same.1, "the other side is as it was");
            assert!(!rig.link.is_busy());
        }
    }
}

/// A block to the host has left when its packets have; each is written a latency and a memory later.
#[test]
fn writes_follow_each_other() {
    let mut rig = Rig::new(spec(), 50);
    assert_eq!(rig.run(0, 1024, true), ns(4 * (24 + 256)));
    let written: Vec<_> = rig.seen.iter().filter(|(_, seen)| matches!(seen, Seen::Written(..))).collect();
    assert_eq!(written.len(), 16, "lines");
    assert_eq!(written[0].0, ns(24 + 256 + LATENCY + 50));
    assert_eq!(written[15].0, ns(4 * (24 + 256) + LATENCY + 50));
}

/// A read of 512 bytes: the request, memory, four completions of 128 bytes behind each other.
#[test]
fn a_read_takes_a_round_trip() {
    let first = 24 + LATENCY + 50;
    assert_eq!(Rig::new(spec(), 50).run(0, 512, false), ns(first + 4 * (20 + 128) + LATENCY));
    // Further ones follow meanwhile: the link is never idle in between.
    assert_eq!(Rig::new(spec(), 50).run(0, 2048, false), ns(first + 16 * (20 + 128) + LATENCY));
    // One at a time has each of them take as long.
    let one = PcieSpec { reads: 1, ..spec() };
    let each = first + 4 * (20 + 128) + LATENCY;
    assert_eq!(Rig::new(one, 50).run(0, 2048, false), ns(4 * each));
}

/// The host's memory holds writes up: room for four payloads.
#[test]
fn without_room_at_the_host_writes_wait() {
    let done = Rig::new(spec(), 5000).run(0, 2048, true);
    // Four leave. The first's room is back after its way, memory, and the way back; then another leaves, and so on.
    let fifth = 24 + 256 + LATENCY + 5000 + LATENCY;
    assert_eq!(done, ns(fifth + 4 * (24 + 256)));
}

/// Acknowledgements take their length on the other direction.
#[test]
fn packets_are_answered_by_the_links_own() {
    let answered = PcieSpec { overhead: PcieOverhead { link: 8, ..spec().overhead }, ..spec() };
    let mut rig = Rig::new(answered, 50);
    rig.store(0x40, 8, Time::ZERO);
    rig.run_until(Time::END);
    assert_eq!(rig.link.to_host.statistics.busy_ps, ns(8).0);
    assert_eq!((rig.link.to_card.statistics.packets, rig.link.to_card.statistics.bytes), (1, 32));
}

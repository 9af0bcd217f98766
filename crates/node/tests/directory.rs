//! A second memory system behind the interface, as small as one can be: a directory, with a home for each line.
//!
//! A domain of several nodes with a hart each. Lines have their home nodes in turn. A transaction travels to the home of its line, which
//! knows who has the line and asks nobody else; then data come from memory, or from the cache that has modified them.
//! Nothing orders transactions for lines of different homes. What the interface promises must hold without a bus: right
//! values, single writers, exact skipping, progress.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::guest::random::{assert_skipping_changes_nothing, schedule};
use crate::guest::register::{FLAG, NOTE};
use crate::guest::{
    A0, Action, DATA_REGISTER, NI_REGISTER, Outcome, Program, TestNi, ZERO, frequency, run_on_nodes,
};
use crate::harts::{LINE, additions, end, harts, phases, statistic};
use chasqui_counters::Visitor;
use chasqui_engine::{Outbox, Payload, Time};
use chasqui_memory::{Request, Slot, Snoop, Snooped};
use chasqui_node::{Client, Effect, MemorySystem, NodeConfiguration, Parts, Urgency};
use chasqui_random::Random;

/// Between two nodes.
const HOP: Time = Time(50_000);
/// From a home's decision to a line from its memory, or from a cache.
const MEMORY: Time = Time(60_000);
const CACHE: Time = Time(20_000);
/// A line that somebody holds is asked for again after this.
const AGAIN: Time = Time(2_000);
const RESERVATION_CYCLES: u64 = 100;

/// What a home knows of a line.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Bit i: hart i may have it.
    sharers: u64,
    /// Until then an earlier transaction is under way.
    busy: Time,
}

/// What was counted.
#[derive(Default)]
struct Counts {
    /// Caches that were asked, and those that a bus would have asked.
    asked: u64,
    broadcast: u64,
}

/// The memory system.
#[derive(Default)]
struct Directory {
    lines: HashMap<u64, Entry>,
    counts: Arc<Mutex<Counts>>,
}

/// Kinds of events, in the lowest bits.
const AT_HOME: u64 = 0;
const DONE: u64 = 1;

fn event(kind: u64, client: Client) -> Payload {
    [u64::from(client) << 8 | kind, 0]
}

/// From hart `index` to the home of the line at `address`.
fn way(parts: &Parts, index: usize, address: u64) -> Time {
    let domain = parts.domain();
    if domain.home(address) == domain.node_of_hart(index) { Time::ZERO } else { HOP }
}

impl Directory {
    /// Takes what hart `index`'s request asks of other caches, and says who gives the line.
    fn ask(
        &mut self,
        parts: &mut Parts,
        index: usize,
        request: Request,
        now: Time,
    ) -> (Snooped, Option<usize>) {
        let (mut found, mut giver) = (Snooped::default(), None);
        let Some((snoop, address, bytes)) = parts.port(index).asks(request) else { return (found, giver) };
        // The first level's lines may be shorter than the second's.
        let lines = (address..address + u64::from(bytes)).step_by(LINE as usize);
        let sharers = lines.clone().fold(0, |all, line| all | self.lines.entry(line).or_default().sharers);
        let others = (0..parts.harts_started()).filter(|&other| other != index);
        let mut counts = self.counts.lock().expect("a lock");
        for other in others {
            counts.broadcast += 1;
            if sharers >> other & 1 == 0 {
                assert!(!parts.port(other).holds(address, bytes), "the home knows all who have a line");
                continue;
            }
            counts.asked += 1;
            let here = parts.snoop(Some(index), other, (snoop, address, bytes), now);
            giver = giver.or(here.dirty.then_some(other));
            found = found.or(here);
        }
        for line in lines {
            let entry = self.lines.entry(line).or_default();
            entry.sharers = match snoop {
                Snoop::Read => entry.sharers | 1 << index,
                _ => 1 << index,
            };
        }
        (found, giver)
    }

    /// The transaction in `slot` of hart `index` is at the home of its line, or on its way to a device.
    fn at_home(&mut self, parts: &mut Parts, index: usize, slot: Slot, now: Time) {
        let client = Client::Hart(index as u8, slot);
        let Some(request) = parts.port(index).current(slot) else {
            return parts.schedule(now, Urgency::Slow, event(DONE, client));
        };
        let asks = parts.port(index).asks(request);
        if let Some((_, address, bytes)) = asks {
            let held = parts.held_until(index, address, bytes, now, RESERVATION_CYCLES);
            let busy = self.lines.get(&address).map(|entry| entry.busy).filter(|&busy| busy > now);
            let later = held.map(|used| if used == Time::NEVER { now + AGAIN } else { used + Time(1) });
            if let Some(later) = later.max(busy) {
                return parts.schedule(later, Urgency::Slow, event(AT_HOME, client));
            }
        }
        let (found, giver) = self.ask(parts, index, request, now);
        let request = request.answered(found);
        let address = asks.map_or(0, |(_, address, _)| address);
        let home = parts.domain().home(address);
        let back = way(parts, index, address);
        let length = match (request, giver) {
            (Request::UncachedLoad { .. } | Request::UncachedStore { .. } | Request::Store64 { .. }, _) => {
                HOP
            }
            (Request::OwnFromL2 | Request::Own { upgrade: true, .. } | Request::Block { .. }, _) => back,
            (_, Some(other)) => {
                let there = if parts.domain().node_of_hart(other) == home { Time::ZERO } else { HOP };
                there + CACHE + if other == index { Time::ZERO } else { HOP }
            }
            _ => MEMORY + back,
        };
        let over = now + length;
        if let Some(entry) = self.lines.get_mut(&address) {
            entry.busy = over;
        }
        parts.granted(index, slot, found, now);
        if slot == Slot::Blocking {
            parts.fills(index, request, over);
        }
        parts.schedule(over, Urgency::Slow, event(DONE, client));
    }

    /// The device's transaction has its place in the order, and is over a memory access later.
    fn device(&mut self, parts: &mut Parts, name: u32, now: Time, out: &mut Outbox<'_>) {
        parts.before_visible_event(None, now, now);
        let (_, request) = parts.device_request(name);
        let write = matches!(request.operation, chasqui_ni::BusOperation::Write);
        let snoop = if write { Snoop::Invalidate } else { Snoop::Read };
        for index in 0..parts.harts_started() {
            parts.snoop(None, index, (snoop, request.address, request.bytes), now);
        }
        parts.device_granted(name, now, out);
        let over = now + MEMORY + parts.way_to_device(name);
        parts.schedule(over, Urgency::Prompt, event(DONE, Client::Device(name)));
    }
}

impl MemorySystem for Directory {
    fn take_requests(&mut self, parts: &mut Parts, index: usize, out: &mut Outbox<'_>) {
        while let Some((cycle, slot, request)) = parts.take_request(index) {
            if parts.port(index).is_timed() {
                parts.ask(Client::Hart(index as u8, slot), parts.time_of(index, cycle));
            } else {
                parts.serve_untimed(index, (cycle, slot, request), out);
            }
        }
    }

    fn request(&mut self, parts: &mut Parts, client: Client, now: Time, out: &mut Outbox<'_>) {
        match client {
            Client::Hart(index, slot) => {
                let index = usize::from(index);
                let asks = parts.port(index).current(slot).and_then(|r| parts.port(index).asks(r));
                let way = asks.map_or(Time::ZERO, |(_, address, _)| way(parts, index, address));
                parts.schedule(now + way, Urgency::Slow, event(AT_HOME, client));
            }
            Client::Device(name) => self.device(parts, name, now, out),
        }
    }

    fn event(&mut self, parts: &mut Parts, payload: Payload, now: Time, out: &mut Outbox<'_>) {
        match ((payload[0] >> 8).into(), payload[0] & 0xff) {
            (Client::Hart(index, slot), AT_HOME) => self.at_home(parts, usize::from(index), slot, now),
            (Client::Hart(index, slot), _) => {
                parts.finish((usize::from(index), slot), None, now, out);
                self.take_requests(parts, usize::from(index), out);
            }
            (Client::Device(name), _) => {
                parts.before_visible_event(None, now, now);
                parts.device_done(name, now, out);
            }
        }
    }

    fn effect(&self, _: &Parts, payload: Payload) -> Effect {
        match (payload[0] >> 8).into() {
            Client::Device(name) => Effect::Device(name),
            Client::Hart(..) => Effect::Access(Time::ZERO),
        }
    }

    fn waiting(&self, _: &Parts, _: &mut dyn FnMut(u32, Time)) {}

    fn announce(&mut self, parts: &mut Parts, payload: Payload, now: Time) -> bool {
        let (Client::Hart(index, slot), AT_HOME) = ((payload[0] >> 8).into(), payload[0] & 0xff) else {
            return false;
        };
        let port = parts.port(usize::from(index));
        let Some(asked) = port.current(slot).and_then(|request| port.asks(request)) else { return false };
        parts.announce_to(None, usize::from(index), asked, now)
    }

    fn transaction_max(&self) -> Time {
        HOP + HOP + HOP + MEMORY + CACHE
    }

    fn statistics(&self, _: &mut Visitor<'_>) {}
}

fn run_on_directory(c: &NodeConfiguration, p: &Program, ni: TestNi, directory: Directory) -> Outcome {
    run_on_nodes(c, p, ni, (directory, LINE as u64))
}

fn go(c: &NodeConfiguration, p: &Program) -> Outcome {
    run_on_directory(c, p, TestNi::new(vec![]), Directory::default())
}

/// Loads of lines whose home is the hart's own node, or the other, one after the other.
fn loads(lines: i64, first: i64) -> Program {
    let mut p = Program::new();
    for line in 0..lines {
        p.load(5, DATA_REGISTER, (2 * line + first) * LINE);
    }
    p.add(A0, ZERO, 0).exit();
    p
}

#[test]
fn a_remote_miss_takes_two_hops_more() {
    let c = harts(2);
    let time = |lines, first| end(&go(&c, &loads(lines, first))).0;
    let [local, remote] = [0, 1].map(|first| time(14, first) - time(4, first));
    assert_eq!((remote - local).0, 10 * 2 * HOP.0);
}

#[test]
fn only_those_are_asked_who_may_have_the_line() {
    let c = harts(4);
    let directory = Directory::default();
    let counts = directory.counts.clone();
    let outcome = run_on_directory(&c, &additions(2, 40), TestNi::new(vec![]), directory);
    assert_eq!(end(&outcome).1, 0);
    let counts = counts.lock().expect("a lock");
    assert!(counts.asked >= 60, "most operations take the line from the other hart");
    assert!(counts.asked < counts.broadcast, "{} of {}", counts.asked, counts.broadcast);
    for hart in ["node0.memory", "node1.memory"] {
        // A hart may come again before the other has asked.
        assert!(statistic(&outcome, &format!("{hart}.l1d_invalidations")) >= 30);
    }
}

/// Registers of the NI, 64 bits and with an answer.
#[test]
fn accesses_to_devices_come_to_their_end() {
    let mut p = Program::new();
    p.add(A0, ZERO, 7).fence().store(A0, NI_REGISTER, NOTE).load(A0, NI_REGISTER, FLAG).exit();
    assert_eq!(end(&go(&harts(1), &p)).1, 0);
}

/// Atomic operations, polling loops, locks and what devices write: as on the bus, with skipping and without.
#[test]
fn programs_compute_what_they_do_on_a_bus_and_skipping_changes_nothing() {
    let mut random = Random::for_test(0xd12ec);
    for round in 0..100 {
        let count = 2 + random.below(3) as usize;
        let mut c = harts(count);
        c.core.clock = frequency(random.pick(&["1 GHz", "133 MHz", "3 GHz"]));
        c.l2.present = random.once_in(2);
        let program = phases(count, random.once_in(2), &mut random);
        let schedule = schedule(8, Time(60_000_000), &mut random, |random| {
            let place = 0x200 + LINE * random.below(8) as i64;
            match random.below(3) {
                0 => Action::Read(place),
                1 => Action::Write(place, random.bits()),
                _ => Action::Flag(random.bits()),
            }
        });
        let what = format!("round {round}: {count} threads, {schedule:?}");
        assert_skipping_changes_nothing(count, &what, |skip, checker| {
            (c.checks.spin_skip, c.checks.coherence) = (skip, checker);
            run_on_directory(&c, &program, TestNi::new(schedule.clone()), Directory::default())
        });
    }
}

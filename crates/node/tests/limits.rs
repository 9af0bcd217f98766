//! How far the engine lets a node run changes nothing.

use std::any::Any;

use crate::guest::register::{NOTE, START};
use crate::guest::{
    A0, Action, DATA_REGISTER, NI_REGISTER, Program, SHARED_REGISTER, TestNi, ZERO, configuration, frequency,
    run_among,
};
use chasqui_config::Bytes;
use chasqui_engine::{Class, Event, Outbox, Packet, Partition, Port, Time, WORK_OF_EVENT};
use chasqui_hart::{Executor, Op};
use chasqui_node::NodeConfiguration;
use chasqui_random::{Random, share};

/// From its neighbour to the node.
const LEAST: Time = Time(1_000);

/// Sends events to the node that change nothing there, each so long after the one before.
pub struct Neighbour {
    next: Time,
    apart: Time,
    left: u32,
    /// They are under way for so long.
    least: Time,
    port: Port,
}

impl Neighbour {
    /// `left` events come to the node, the first at `first`, each `apart` after the one before. They are sent `least` before.
    pub fn new(first: Time, apart: Time, left: u32, least: Time) -> Neighbour {
        Neighbour { next: first - least, apart, left, least, port: Port::new(9) }
    }
}

impl Partition for Neighbour {
    fn next(&self) -> Time {
        if self.left > 0 { self.next } else { Time::NEVER }
    }

    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let mut events = 0;
        while self.next() < out.limit() {
            let (now, order) = (self.next, self.port.next(Class::Packet));
            out.send(now, 0, Event { time: now + self.least, order, target: 0, payload: [0, 0] }, None);
            (self.next, self.left, events) = (now + self.apart, self.left - 1, events + WORK_OF_EVENT);
        }
        events
    }

    fn receive(&mut self, _: Event, _: Option<Box<Packet>>) {
        unreachable!("the node sends nothing")
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Loads and stores that miss in small caches, flushes, fences, and now and then a store to the NI.
fn program(random: &mut Random) -> Program {
    let (turns, value) = (A0 + 1, A0 + 2);
    let mut p = Program::new();
    p.store(ZERO, NI_REGISTER, START).add(turns, ZERO, 20 + random.below(60) as i64);
    let again = p.here();
    for _ in 0..10 + random.below(60) {
        if random.once_in(4) {
            // Another block begins.
            let next = p.branch_ahead(Op::Beq, ZERO, ZERO);
            p.land(next);
        }
        let base = random.pick(&[DATA_REGISTER, DATA_REGISTER, SHARED_REGISTER]);
        let place = 8 * random.below(200) as i64;
        match random.below(15) {
            0..4 => p.load(value, base, place),
            4..8 => p.store(turns, base, place),
            8 => p.add(value, base, place).flush(value),
            9 => p.fence(),
            10 => p.store(turns, NI_REGISTER, NOTE),
            // The store to the NI waits for the write-back.
            11..13 => {
                p.add(value, base, place).store(turns, value, 0).flush(value).store(turns, NI_REGISTER, NOTE)
            }
            13 => p.atomic(Op::AmoaddD, value, turns, DATA_REGISTER),
            _ => p.add(value, value, 1),
        };
    }
    p.add(turns, turns, -1).branch(Op::Bne, turns, ZERO, again).add(A0, ZERO, 0).exit();
    p
}

fn machine(random: &mut Random) -> NodeConfiguration {
    let mut c = configuration();
    // In a long cycle of the hart much may come between two of its instructions.
    let clocks = random.pick(&[("1 GHz", "500 MHz"), ("133 MHz", "40 MHz"), ("20 MHz", "400 MHz")]);
    (c.core.clock, c.bus.clock) = (frequency(clocks.0), frequency(clocks.1));
    (c.bus.pipelined, c.l2.present) = (random.once_in(2), random.once_in(2));
    (c.l1i.line, c.l1d.line) = (Bytes::from_bytes(16), Bytes::from_bytes(random.pick(&[32, 64])));
    (c.l1d.size, c.l1d.ways) = (Bytes::from_bytes(random.pick(&[512, 1024])), random.pick(&[1, 2, 4]));
    (c.l2.size, c.l2.ways) = (Bytes::from_bytes(2048), 2);
    c
}

/// What comes from the neighbour is the first; the others use the bus.
fn schedule(random: &mut Random) -> Vec<(Time, Action)> {
    let mut schedule = vec![(Time(1 << 50), Action::Nothing)];
    for _ in 0..random.below(300) {
        let place = 64 * random.below(25) as i64;
        let action = if random.once_in(2) { Action::Read(place) } else { Action::Write(place, 7) };
        schedule.push((Time(random.below(100_000_000)), action));
    }
    schedule
}

/// A node whose neighbour sends much may run no further than that could matter; its hart no further than the hart could notice.
/// By the reference it is the same.
#[test]
fn limits_of_the_engine_change_nothing() {
    let mut random = Random::for_test(0x1117);
    for round in 0..share(150) {
        let mut c = machine(&mut random);
        let program = program(&mut random);
        let schedule = schedule(&mut random);
        let mut outcome = |executor, apart, left, latency| {
            (c.checks.executor, c.checks.translate_after) = (executor, 1);
            let ni = TestNi::new(schedule.clone()).noticed_after(Time(latency));
            let neighbour = Neighbour::new(Time(50_000) + LEAST, Time(apart), left, LEAST);
            run_among(&c, &program, ni, Box::new(neighbour), LEAST)
        };
        let [threaded, translated, reference] =
            [Executor::Threaded, Executor::Translated, Executor::Reference];
        let alone = outcome(threaded, 1, 0, 0);
        let apart = random.pick(&[700, 9_000, 31_300]);
        for (executor, latency) in [
            (reference, 0),
            (threaded, 0),
            (translated, 0),
            (threaded, 5_000),
            (reference, 100_000),
            (translated, 100_000),
            (threaded, 2_000_000),
        ] {
            let other = outcome(executor, apart, 20_000, latency);
            let what =
                format!("round {round}: {executor:?}, an event each {apart} ps, noticed after {latency} ps");
            for (a, b) in alone.statistics.iter().zip(&other.statistics) {
                assert_eq!(a, b, "{what}");
            }
            assert!(alone == other, "{what}");
        }
    }
}

//! What a partition promises of its effects on others is held against what it sends, in every run.

use std::any::Any;

use chasqui_engine::{Class, Engine, Event, Lookahead, Outbox, Packet, Partition, Port, Threads, Time};

/// Between partitions.
const LEAST: Time = Time(10);

/// Sends an event to the other partition at a time, `delay` later, and promises nothing before `promised`.
struct Sender {
    at: Option<Time>,
    delay: Time,
    promised: Time,
    port: Port,
}

impl Partition for Sender {
    fn next(&self) -> Time {
        self.at.unwrap_or(Time::NEVER)
    }

    fn earliest_outputs(&self, _: &[Time], earliest: &mut [Time]) {
        earliest.fill(self.at.map_or(Time::NEVER, |at| at + self.promised));
    }

    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let Some(now) = self.at.take_if(|at| *at < out.limit()) else { return 0 };
        let order = self.port.next(Class::Packet);
        out.send(now, 1, Event { time: now + self.delay, order, target: 0, payload: [0, 0] }, None);
        1
    }

    fn receive(&mut self, _: Event, _: Option<Box<Packet>>) {}

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The other partition does nothing: a promise that is too long does no harm.
fn run(delay: Time, promised: Time) {
    let sender = |at, id| Sender { at, delay, promised, port: Port::new(id) };
    let mut engine = Engine::new(Lookahead::new(vec![vec![LEAST]]));
    engine.add(0, Box::new(sender(Some(Time(1_000)), 0)));
    engine.add(0, Box::new(sender(None, 1)));
    engine.run(Threads::Exactly(1), &mut |_| true);
}

#[test]
fn a_promise_that_holds_is_kept() {
    run(Time(25), LEAST);
    run(Time(25), Time(25));
}

#[test]
#[should_panic(expected = "had said that nothing comes before")]
fn an_effect_that_comes_sooner_than_promised_is_found() {
    run(Time(25), Time(26));
}

/// Two such partitions would wait for each other for ever.
#[test]
#[should_panic(expected = "partition 0 acts at 1.000 ns, and at 1.000 ns on others")]
fn an_effect_at_the_time_of_an_action_is_found() {
    run(Time(25), Time::ZERO);
}

//! What a device promises of its input latency is held against what it does, in every run; what it says of events that can't be
//! noticed, in builds with debug assertions.

use std::any::Any;

use crate::guest::register::{FLAG, START};
use crate::guest::{A0, Action, DATA_REGISTER, NI_REGISTER, Program, TestNi, ZERO, configuration, spec};
use chasqui_engine::{
    Class, Engine, Event, Lookahead, Outbox, Packet, Partition, Port, Threads, Time, WORK_OF_EVENT,
};
use chasqui_hart::Op;
use chasqui_node::NodePartition;
use chasqui_watch::WatchPlan;

/// Between the partitions.
const LEAST: Time = Time(1_000);

/// Sends one event to the node.
struct Outside {
    at: Option<Time>,
    port: Port,
}

impl Partition for Outside {
    fn next(&self) -> Time {
        self.at.unwrap_or(Time::NEVER)
    }

    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let Some(now) = self.at.take_if(|at| *at < out.limit()) else { return 0 };
        let order = self.port.next(Class::Packet);
        out.send(now, 0, Event { time: now + LEAST, order, target: 0, payload: [0, 0] }, None);
        WORK_OF_EVENT
    }

    fn receive(&mut self, _: Event, _: Option<Box<Packet>>) {
        unreachable!("the node sends nothing")
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// A program that loads for some 100 us from the page into which `action` writes, when something comes from outside.
fn run(action: Action, input_latency: Time) {
    let (turns, loaded) = (A0 + 1, A0 + 2);
    let mut p = Program::new();
    p.store(ZERO, NI_REGISTER, START).add(turns, ZERO, 2_000);
    for _ in 0..5 {
        p.add(turns, turns, 2_000);
    }
    let again = p.here();
    p.load(loaded, DATA_REGISTER, 0).add(turns, turns, -1).branch(Op::Bne, turns, ZERO, again).exit();
    // The schedule's only entry is for what comes from outside.
    run_with(&p, TestNi::new(vec![(Time(1 << 50), action)]).noticed_after(input_latency));
}

/// Runs `program`; something comes to `ni` from outside.
fn run_with(program: &Program, ni: TestNi) {
    let c = configuration();
    let node = NodePartition::new(spec(&c, program, ni, WatchPlan::default()));
    let mut engine = Engine::new(Lookahead::new(vec![vec![LEAST]]));
    engine.add(0, Box::new(node));
    engine.add(0, Box::new(Outside { at: Some(Time(20_000_000)), port: Port::new(9) }));
    engine.run(Threads::Exactly(1), &mut |_| true);
}

#[test]
fn a_promise_that_holds_is_kept() {
    run(Action::Write(0, 1), Time::ZERO);
    run(Action::Nothing, Time(5_000_000));
}

#[test]
#[should_panic(expected = "its input latency is too long")]
fn a_transaction_that_comes_sooner_than_promised_is_found() {
    run(Action::Write(0, 1), Time(5_000_000));
}

#[test]
#[should_panic(expected = "its input latency is too long")]
fn an_interrupt_that_comes_sooner_than_promised_is_found() {
    run(Action::Interrupt(0), Time(5_000_000));
}

/// A program that polls the flag, which an event of the NI's own and what comes from outside leave as it is, or change. The NI says
/// that neither can be noticed.
fn poll(own: Action, outside: Action) {
    let mut p = Program::new();
    p.store(ZERO, NI_REGISTER, START);
    let again = p.here();
    p.pause().load(A0, NI_REGISTER, FLAG).branch(Op::Beq, A0, ZERO, again).exit();
    run_with(&p, TestNi::new(vec![(Time(1 << 50), outside), (Time(10_000_000), own)]).hiding_all());
}

#[test]
fn events_that_change_nothing_may_go_unnoticed() {
    poll(Action::Nothing, Action::Nothing);
}

#[test]
#[should_panic(expected = "changes what hart 0 polls at device address 0x0, and is not visible")]
fn an_event_that_is_wrongly_said_to_go_unnoticed_is_found() {
    poll(Action::Flag(1), Action::Nothing);
}

#[test]
#[should_panic(expected = "changes what hart 0 polls at device address 0x0, and is not visible")]
fn something_from_outside_that_is_wrongly_said_to_go_unnoticed_is_found() {
    poll(Action::Nothing, Action::Flag(1));
}

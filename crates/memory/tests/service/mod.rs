//! What serves a port in tests: a bus and its DRAM, by the rules of a node with one hart, and at times
//! another master whose transactions the caches snoop. Tests of other crates take this file by path.
#![allow(dead_code, reason = "each test uses a part")]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use chasqui_engine::{Class, Order, Port as EventPort, Time};
use chasqui_memory::{
    Agenda, Bus, BusParameters, DramParameters, Due, FlatMemory, Incoming, LentBus, Port, Request, Responder,
    Slot, Snoop, Snooped, Stage, Stored, Tenure,
};

/// A transaction of another master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// What it asks of caches.
    pub snoop: Snoop,
    /// Physical address.
    pub address: u64,
    /// Length [bytes].
    pub bytes: u32,
    /// The eight bytes at `address` that it writes when it is granted.
    pub value: Option<u64>,
}

/// A message, or a part of one, that the NI brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brought {
    pub incoming: Incoming,
    /// Where in network memory.
    pub part: Stored,
    /// What is written there, by eight bytes.
    pub words: [u64; 8],
}

/// Who asks for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Port(Slot),
    Foreign(usize),
    Ni(usize),
}

/// What happened on the bus, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    Requested(Client, Option<Request>),
    Granted(Client, Option<Request>, Tenure),
    Snooped(Foreign, Snooped),
    /// A message came; it landed where a receive had reserved a line.
    Came(Brought, bool),
    Done(Client, u64),
}

#[derive(Clone, Copy)]
enum Event {
    Request(Client),
    Grant,
    Done(Client, u64),
}

/// The bus and what is under way.
pub struct Service {
    pub bus: Bus,
    events: BinaryHeap<Reverse<(Time, Order, usize)>>,
    /// Events by number, as the queue names them.
    all: Vec<Event>,
    order: EventPort,
    waiting: VecDeque<Client>,
    grant_scheduled: bool,
    /// What is to come of the port's transactions while it has the bus.
    agenda: Agenda,
    foreign: Vec<Foreign>,
    brought: Vec<Brought>,
    /// Another cache keeps a copy of every so-manieth line that is fetched; 0: of none.
    pub sharing: u64,
    fetched: u64,
    /// Value of the next uncached load.
    pub device_value: u64,
    /// From the end of the address tenure to the device's first beat.
    pub device_latency: Time,
    /// Uncached stores that reached the device: address and value, by eight bytes.
    pub device_stores: Vec<(u64, u64)>,
    pub log: Vec<(Time, Happened)>,
}

impl Service {
    pub fn new((bus, dram): (BusParameters, DramParameters)) -> Service {
        Service {
            bus: Bus::new(bus, dram),
            events: BinaryHeap::new(),
            all: vec![],
            order: EventPort::new(1),
            waiting: VecDeque::new(),
            grant_scheduled: false,
            agenda: Agenda::default(),
            foreign: vec![],
            brought: vec![],
            sharing: 0,
            fetched: 0,
            device_value: 0,
            device_latency: Time::ZERO,
            device_stores: vec![],
            log: vec![],
        }
    }

    fn schedule(&mut self, time: Time, class: Class, event: Event) {
        let order = self.order.next(class);
        self.put(time, order, event);
    }

    fn put(&mut self, time: Time, order: Order, event: Event) {
        self.all.push(event);
        self.events.push(Reverse((time, order, self.all.len() - 1)));
    }

    /// What is to come of the port's transactions is no event any more, if the port can deal with it.
    pub fn take_events(&mut self, port: &Port, dram_bytes: u64) {
        let is_ports = |client: &Client| matches!(client, Client::Port(_));
        if !self.waiting.iter().all(is_ports) || !port.uses_memory_only(dram_bytes) {
            return;
        }
        for client in self.waiting.drain(..) {
            let Client::Port(slot) = client else { unreachable!() };
            self.agenda.wait(slot);
        }
        self.grant_scheduled = false;
        let Service { events, all, agenda, .. } = self;
        events.retain(|&Reverse((time, order, event))| {
            let stage = match all[event] {
                Event::Request(Client::Port(slot)) => Stage::Request(slot),
                Event::Grant => Stage::Grant,
                Event::Done(Client::Port(slot), _) => Stage::Done(slot),
                _ => return true,
            };
            agenda.add(time, order, stage);
            false
        });
    }

    /// What is left of it becomes events again.
    pub fn return_events(&mut self) {
        while let Some(Due { time, order, stage, .. }) = self.agenda.take() {
            let event = match stage {
                Stage::Request(slot) => Event::Request(Client::Port(slot)),
                Stage::Grant => Event::Grant,
                Stage::Done(slot) => Event::Done(Client::Port(slot), 0),
            };
            self.grant_scheduled |= stage == Stage::Grant;
            self.put(time, order, event);
        }
        while let Some(slot) = self.agenda.take_waiting() {
            self.waiting.push_back(Client::Port(slot));
        }
    }

    /// Lends the bus until `alone`, if nobody waits for it.
    pub fn lend(&mut self, alone: Time, transaction_max: Time, dram_bytes: u64) -> LentBus<'_> {
        let alone = if self.waiting.is_empty() { alone } else { Time::ZERO };
        let Service { bus, agenda, order, .. } = self;
        LentBus { bus, agenda, order, alone, transaction_max, dram_bytes }
    }

    /// When the next thing happens.
    pub fn next_time(&self) -> Time {
        self.events.peek().map_or(Time::NEVER, |Reverse((time, _, _))| *time)
    }

    /// Another master asks at `time`.
    pub fn ask_foreign(&mut self, time: Time, foreign: Foreign) {
        self.foreign.push(foreign);
        self.schedule(time, Class::Request, Event::Request(Client::Foreign(self.foreign.len() - 1)));
    }

    /// The NI brings a message at `time`.
    pub fn bring(&mut self, time: Time, brought: Brought) {
        self.brought.push(brought);
        self.schedule(time, Class::Request, Event::Request(Client::Ni(self.brought.len() - 1)));
    }

    /// Takes what the port asks for. `time_of` gives the time at which one of its cycles begins.
    pub fn collect(&mut self, port: &mut Port, now: u64, time_of: impl Fn(u64) -> Time) {
        while let Some((cycle, slot, request)) = port.take_request() {
            let at = time_of(cycle);
            // What was posted before the call began takes its time.
            let is_untimed = !port.is_timed() && slot != Slot::Posted;
            match request {
                Request::UncachedLoad { .. } if is_untimed => {
                    let value = self.load_device();
                    port.completed(slot, value, now);
                }
                Request::UncachedStore { address, value, .. } if is_untimed => {
                    self.device_stores.push((address, value));
                }
                Request::Store64 { address, answered } if is_untimed => {
                    self.store_burst(address, port.burst(Slot::Blocking));
                    if answered {
                        let value = self.load_device();
                        port.completed(slot, value, now);
                    }
                }
                Request::OwnFromL2 => {
                    self.log.push((at, Happened::Requested(Client::Port(slot), Some(request))));
                    let end = time_of(cycle + port.parameters().l2.latency.cycles());
                    self.schedule(end, Class::Bus, Event::Done(Client::Port(slot), 0));
                }
                _ => self.schedule(at, Class::Request, Event::Request(Client::Port(slot))),
            }
        }
    }

    fn store_burst(&mut self, address: u64, words: [u64; 8]) {
        self.device_stores.extend((address..).step_by(8).zip(words));
    }

    fn load_device(&mut self) -> u64 {
        self.device_value = self.device_value.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        self.device_value
    }

    /// Does the next thing. `cycle_at` gives the hart's first cycle at or after a time. Returns the time
    /// if a transaction of the port is over: its hart tries again.
    pub fn act(
        &mut self,
        port: &mut Port,
        memory: &mut FlatMemory,
        cycle_at: impl Fn(Time) -> u64,
    ) -> Option<Time> {
        let Reverse((now, _, event)) = self.events.pop().expect("an event is due");
        let mut over = None;
        match self.all[event] {
            Event::Request(client) => {
                let request = if let Client::Port(slot) = client { port.current(slot) } else { None };
                self.log.push((now, Happened::Requested(client, request)));
                self.waiting.push_back(client);
            }
            Event::Grant => {
                self.grant_scheduled = false;
                let client = self.waiting.pop_front().expect("a grant is for somebody");
                let (tenure, value) = match client {
                    Client::Port(slot) => self.grant(port, slot, now, cycle_at(now)),
                    Client::Foreign(index) => (self.grant_foreign(port, memory, index, now), 0),
                    Client::Ni(index) => (self.grant_ni(port, memory, index, (now, cycle_at(now))), 0),
                };
                self.schedule(tenure.end, Class::Bus, Event::Done(client, value));
            }
            Event::Done(client, value) => {
                self.log.push((now, Happened::Done(client, value)));
                if let Client::Port(slot) = client {
                    if let (Slot::Posted, Some(Request::UncachedStore { address, value, .. })) =
                        (slot, port.current(slot))
                    {
                        self.device_stores.push((address, value));
                    }
                    if let Some(Request::Store64 { address, .. }) = port.current(slot) {
                        self.store_burst(address, port.burst(slot));
                    }
                    port.completed(slot, value, cycle_at(now));
                    over = Some(now);
                }
            }
        }
        if !self.grant_scheduled && !self.waiting.is_empty() {
            self.grant_scheduled = true;
            let at = self.bus.grant_at(now);
            self.schedule(at, Class::Bus, Event::Grant);
        }
        over
    }

    fn grant(&mut self, port: &mut Port, slot: Slot, now: Time, cycle: u64) -> (Tenure, u64) {
        let request = port.current(slot).expect("a request is for something");
        let (bytes, write) = port.transfer(request);
        let mut value = 0;
        let responder = match request {
            Request::Own { upgrade: true, .. } | Request::OwnFromL2 | Request::Block { .. } => {
                Responder::None
            }
            Request::Fill { .. }
            | Request::NetworkFill { .. }
            | Request::Own { .. }
            | Request::DirectLoad { .. }
            | Request::DirectStore { .. }
            | Request::WriteBack { .. } => Responder::Dram,
            Request::UncachedStore { .. } | Request::Store64 { answered: false, .. } => {
                Responder::Device(Time::ZERO)
            }
            Request::Store64 { answered: true, .. } => {
                value = self.load_device();
                Responder::Device(Time::ZERO)
            }
            Request::UncachedLoad { .. } => {
                value = self.load_device();
                Responder::Device(self.device_latency)
            }
        };
        self.fetched += u64::from(matches!(request, Request::Fill { .. }));
        let shared = self.sharing != 0 && self.fetched.is_multiple_of(self.sharing);
        let tenure = self.bus.place(now, bytes, write, responder);
        self.log.push((now, Happened::Granted(Client::Port(slot), Some(request), tenure)));
        port.granted(slot, Snooped { present: shared, dirty: false }, cycle);
        (tenure, value)
    }

    fn grant_foreign(&mut self, port: &mut Port, memory: &mut FlatMemory, index: usize, now: Time) -> Tenure {
        let foreign = self.foreign[index];
        let found = port.snoop(foreign.snoop, foreign.address, foreign.bytes);
        self.log.push((now, Happened::Snooped(foreign, found)));
        let responder = if found.dirty { Responder::Cache } else { Responder::Dram };
        if let Some(value) = foreign.value {
            memory.write(foreign.address, 8, value).expect("an address in memory");
        }
        let write = foreign.value.is_some();
        let tenure = self.bus.place(now, foreign.bytes, write, responder);
        self.log.push((now, Happened::Granted(Client::Foreign(index), None, tenure)));
        tenure
    }

    fn grant_ni(
        &mut self,
        port: &mut Port,
        memory: &mut FlatMemory,
        index: usize,
        (now, cycle): (Time, u64),
    ) -> Tenure {
        let brought = self.brought[index];
        let Brought { incoming, part, words } = brought;
        for (at, word) in (part.buffer..).step_by(8).zip(words).take(part.bytes.div_ceil(8) as usize) {
            memory.write(at, 8, word).expect("an address in memory");
        }
        let tenure = self.bus.place(now, part.bytes, true, Responder::Dram);
        port.deposit(incoming, part, cycle);
        self.log.push((now, Happened::Came(brought, port.has_landed(incoming.id))));
        self.log.push((now, Happened::Granted(Client::Ni(index), None, tenure)));
        tenure
    }
}

//! A test bench: one hart with its port, memory behind real page tables, and a bus that serves it as a node
//! does. A bench is advanced by [`Hart::run`] or by [`Hart::step`]; both must do the same.

#[path = "../../../memory/tests/service/mod.rs"]
pub mod service;

use std::collections::VecDeque;

use chasqui_config::{Bytes, Cycles, Duration, Frequency};
use chasqui_engine::{Clock, Time};
use chasqui_hart::predictor::{CounterCosts, Prediction};
use chasqui_hart::testing::program::{DEVICE, ENVELOPES, MESSAGES, NETWORK, envelope};
use chasqui_hart::{Execution, Executor, Halt, Hart, State, Timing};
use chasqui_memory::{
    BusParameters, CacheParameters, DEVICE_BASE, DramParameters, FlatMemory, Incoming, L2Parameters, LentBus,
    OrderParameters, PAGE_BYTES, Port, PortKind, PortParameters, Stall, Stored, TlbParameters,
    WriteBufferParameters, pte,
};
use chasqui_random::Random;
use service::Service;

/// Bytes of physical memory.
pub const MEMORY: u64 = 1 << 20;
/// Where page tables begin; the first is the root.
pub const TABLES: u64 = 0x1000;

/// By `executor`, which translates whatever it comes to.
pub fn execution(executor: Executor) -> Execution {
    Execution { executor, translate_after: 1, ..Execution::DEFAULT }
}

/// Threaded code, or translations of blocks that have hardly been executed, of which perhaps few are kept.
pub fn any_execution(random: &mut Random) -> Execution {
    let executor = random.pick(&[Executor::Threaded, Executor::Translated, Executor::Translated]);
    let roomy = Execution::DEFAULT.translated_bytes_max;
    let (translate_after, translated_bytes_max) =
        random.pick(&[(1, 4 << 10), (2, roomy), (3, 1), (8, roomy)]);
    Execution { executor, translate_after, translated_bytes_max }
}

/// Puts Sv39 tables into memory.
pub struct Mapper {
    next: u64,
}

impl Mapper {
    pub fn new() -> Mapper {
        Mapper { next: TABLES + PAGE_BYTES }
    }

    /// Maps the page at `virtual_page` onto `physical_page` with full rights.
    pub fn map(&mut self, memory: &mut FlatMemory, virtual_page: u64, physical_page: u64) {
        let mut table = TABLES;
        for level in [2, 1] {
            let at = table + (virtual_page >> (12 + 9 * level) & 511) * 8;
            if memory.read(at, 8).unwrap() & pte::V == 0 {
                memory.write(at, 8, self.next >> 12 << 10 | pte::V).unwrap();
                self.next += PAGE_BYTES;
            }
            table = pte::address(memory.read(at, 8).unwrap());
        }
        let rights = pte::V | pte::R | pte::W | pte::X | pte::U;
        memory.write(table + (virtual_page >> 12 & 511) * 8, 8, physical_page >> 12 << 10 | rights).unwrap();
    }
}

/// What a bench is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    pub port: PortParameters,
    /// What [`Hart::run`] executes by.
    pub execution: Execution,
    pub timing: Timing,
    pub clock: Clock,
    pub timebase_hz: u64,
    pub bus: (BusParameters, DramParameters),
    /// See [`Service::sharing`].
    pub sharing: u64,
    pub device_latency: Time,
    /// Marks with an odd code switch the timing on and off.
    pub marks_switch: bool,
    /// The port observes stores, as it does in a polling loop.
    pub observe: bool,
    /// Virtual and physical pages.
    pub pages: Vec<(u64, u64)>,
    /// What is in virtual memory.
    pub contents: Vec<(u64, Vec<u8>)>,
    pub state: State,
    /// What another master does, and when.
    pub foreign: Vec<(Time, service::Foreign)>,
    /// Messages that come while the program runs.
    pub brought: Vec<(Time, service::Brought)>,
}

impl Setup {
    /// Cycles of 1 ns, a bus of 500 MHz, every instruction one cycle; no other master. The caches hold all
    /// that a test touches: no line that is replaced takes a reservation with it.
    pub fn ordinary(state: State, pages: Vec<(u64, u64)>, contents: Vec<(u64, Vec<u8>)>) -> Setup {
        let cache = CacheParameters::new(65536, 8, 64);
        Setup {
            port: PortParameters {
                kind: PortKind::Caches,
                l1i: cache.clone(),
                l1d: cache,
                l2: L2Parameters { latency: Cycles::new(1), ..Default::default() },
                itlb: TlbParameters::new(8, 8),
                dtlb: TlbParameters::new(8, 8),
                write_buffer: WriteBufferParameters { entries: 4, posted: 2 },
                order: OrderParameters {
                    walk: Cycles::new(2),
                    fence: Cycles::new(0),
                    flush: Cycles::new(0),
                    atomic: Cycles::new(0),
                    ..Default::default()
                },
                network_cache: None,
                check_coherence: true,
            },
            execution: execution(Executor::Translated),
            timing: Timing::UNIT,
            clock: Clock::new(1_000_000_000),
            timebase_hz: 10_000_000,
            bus: (
                BusParameters {
                    clock: Frequency::from_hz(500_000_000),
                    width: Bytes::from_bytes(16),
                    address: Cycles::new(2),
                    pipelined: true,
                    intervention: Cycles::new(1),
                },
                DramParameters {
                    first_chunk: Duration::from_ps(60_000),
                    next_chunk: Duration::from_ps(2_000),
                    write: Duration::from_ps(0),
                    banks: 1,
                    ..Default::default()
                },
            ),
            sharing: 0,
            device_latency: Time::ZERO,
            marks_switch: false,
            observe: false,
            pages,
            contents,
            state,
            foreign: vec![],
            brought: vec![],
        }
    }
}

/// Any prediction, of any size: small tables, so that branches meet in them. `longest`: cycles that a target costs.
pub fn prediction(random: &mut Random, longest: u8) -> Prediction {
    if random.once_in(3) {
        return Prediction::Static;
    }
    Prediction::Counters(CounterCosts {
        history: 1 << random.below(8),
        targets: random.pick(&[1, 2, 5, 64]),
        target_missed: random.pick(&[0, 1, longest]),
        jump_mispredicted: random.pick(&[0, 2, longest]),
    })
}

/// What a bench's hart does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Ready,
    Waiting(u64, Stall),
    /// At a `wfi`.
    Idle,
    Ended,
}

/// Where a bench stops so that two can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The hart halted, for a reason other than bus or deadline.
    Halt(Halt),
    /// Something happened on the bus.
    Event(Time),
    /// Nothing is left to do.
    Idle,
}

pub struct Bench {
    pub memory: FlatMemory,
    pub hart: Hart,
    pub service: Service,
    pub activity: Activity,
    /// While there is no other request, the bus is lent to the hart.
    pub lends: bool,
    /// When the external interrupt lines are asserted, and when not: the next first.
    pub line: VecDeque<(Time, bool)>,
    marks_switch: bool,
    /// No transaction of a free bus takes longer.
    transaction_max: u64,
}

/// How a bench executes instructions: at least one that starts before the given cycle, and none that starts
/// later. The bus is the hart's as far as it is lent.
pub type Execute<'a> = dyn FnMut(&mut Hart, LentBus<'_>, u64) -> Halt + 'a;

impl Bench {
    pub fn new(setup: &Setup) -> Bench {
        let mut memory = FlatMemory::new(MEMORY).unwrap();
        let mut mapper = Mapper::new();
        for &(virtual_page, physical_page) in &setup.pages {
            mapper.map(&mut memory, virtual_page, physical_page);
        }
        mapper.map(&mut memory, DEVICE, DEVICE_BASE + PAGE_BYTES);
        for (address, bytes) in &setup.contents {
            for (i, byte) in bytes.iter().enumerate() {
                let va = address + i as u64;
                let page = setup.pages.iter().find(|(v, _)| *v == va & !(PAGE_BYTES - 1)).expect("mapped");
                memory.write(page.1 | va & (PAGE_BYTES - 1), 1, u64::from(*byte)).unwrap();
            }
        }
        let mut port = Port::new(setup.port.clone(), &mut memory);
        port.set_root(TABLES);
        port.observe(setup.observe);
        // Messages that have arrived before the program begins.
        let buffers = setup.pages.iter().find(|(v, _)| port.has_network_cache() && *v == NETWORK);
        if let Some(&(_, buffers)) = buffers {
            port.add_network_memory(buffers..buffers + PAGE_BYTES);
            for id in 0..MESSAGES {
                let message = Stored { buffer: buffers + id * 16, bytes: 1 + (id % 16) as u32 };
                memory.write(message.buffer, 8, id.wrapping_mul(0x0101_0101_0101_0101)).unwrap();
                let number = id % ENVELOPES;
                let incoming = Incoming {
                    id,
                    key: envelope(number),
                    ordinal: number as u32,
                    is_kept: false,
                    offset: 0,
                    length: message.bytes,
                };
                port.deposit(incoming, message, 0);
            }
        }
        let mut service = Service::new(setup.bus.clone());
        (service.sharing, service.device_latency) = (setup.sharing, setup.device_latency);
        for &(time, foreign) in &setup.foreign {
            service.ask_foreign(time, foreign);
        }
        for &(time, brought) in &setup.brought {
            service.bring(time, brought);
        }
        let mut hart = Hart::new(setup.state.clone(), port, setup.timing, setup.clock, setup.timebase_hz);
        hart.execute_by(setup.execution);
        let ((bus, dram), marks_switch) = (&setup.bus, setup.marks_switch);
        let beats = u64::from(hart.port.bus_line_bytes(true)).div_ceil(bus.width.bytes()).max(8);
        let clocks = bus.clock().edge(bus.address.cycles() + beats + 4);
        let dram = dram.first_chunk.ps() + dram.write.ps() + dram.next_chunk.ps() * beats;
        let transaction_max = clocks.0 + dram;
        Bench {
            memory,
            hart,
            service,
            activity: Activity::Ready,
            lends: false,
            line: VecDeque::new(),
            marks_switch,
            transaction_max,
        }
    }

    fn collect(&mut self) {
        let Bench { hart, service, .. } = self;
        let (clock, cycle) = (hart.clock(), hart.cycle);
        service.collect(&mut hart.port, cycle, |cycle| clock.edge(cycle));
    }

    /// Goes on to the next point.
    pub fn advance(&mut self, execute: &mut Execute<'_>) -> Point {
        loop {
            let line = self.line.front().map_or(Time::NEVER, |&(time, _)| time);
            let lends = self.lends && self.activity == Activity::Ready;
            if lends {
                self.service.take_events(&self.hart.port, MEMORY);
            }
            let event = self.service.next_time().min(line);
            self.rise(event);
            if self.activity == Activity::Ready && self.hart.now() < event {
                let limit = self.hart.cycle_at(event);
                let alone = if self.lends { event } else { Time::ZERO };
                let lent = self.service.lend(alone, Time(self.transaction_max), MEMORY);
                let halt = execute(&mut self.hart, lent, limit);
                self.service.return_events();
                let timed = self.hart.port.is_timed();
                self.collect();
                match halt {
                    Halt::Deadline | Halt::Bus => continue,
                    // What is served at once wakes the hart at once.
                    Halt::Wait(Stall::Uncached) if !timed => {}
                    Halt::Wait(stall) => self.activity = Activity::Waiting(self.hart.cycle, stall),
                    Halt::Mark { code, .. } if self.marks_switch && code & 1 == 1 => {
                        self.hart.port.set_timed(!timed);
                    }
                    Halt::Mark { .. } | Halt::Pause => {}
                    Halt::Idle => self.activity = Activity::Idle,
                    _ => self.activity = Activity::Ended,
                }
                return Point::Halt(halt);
            }
            self.service.return_events();
            let event = self.service.next_time().min(line);
            // A hart that has ended gets no more interrupts.
            if event == Time::NEVER || self.activity == Activity::Ended && event == line {
                assert_eq!(self.activity, Activity::Ended, "a hart that nobody wakes");
                return Point::Idle;
            }
            if event == line {
                let (_, asserted) = self.line.pop_front().expect("it is due");
                self.hart.set_external(asserted);
                self.hart.set_user_external(asserted);
            } else {
                self.happen();
            }
            return Point::Event(event);
        }
    }

    /// A hart at a `wfi` goes on when an interrupt is pending, if that is before `event`.
    fn rise(&mut self, event: Time) {
        let cycle = self.hart.interrupt_cycle();
        if self.activity == Activity::Idle && cycle != u64::MAX && self.hart.time_of(cycle) < event {
            self.hart.cycle = cycle;
            self.activity = Activity::Ready;
        }
    }

    /// Advances to the next `ecall`.
    pub fn run_to_call(&mut self, executor: Executor) {
        self.run_to_call_by(execution(executor), u64::MAX);
    }

    /// The same, by an execution that goes on for so many cycles at most without a return.
    pub fn run_to_call_by(&mut self, execution: Execution, cycles_max: u64) {
        self.activity = Activity::Ready;
        self.hart.execute_by(execution);
        let mut execute = |hart: &mut Hart, _: LentBus<'_>, limit: u64| match execution.executor {
            Executor::Reference => hart.step().unwrap_or(Halt::Deadline),
            _ => {
                let limit = limit.min(hart.cycle.saturating_add(cycles_max));
                hart.run(limit, limit)
            }
        };
        loop {
            match self.advance(&mut execute) {
                Point::Halt(Halt::Call) => return,
                Point::Halt(Halt::Wait(_) | Halt::Deadline | Halt::Bus | Halt::Mark { .. } | Halt::Pause)
                | Point::Event(_) => {}
                other => panic!("{other:?} instead of an ecall at pc {:#x}", self.hart.state.pc),
            }
        }
    }

    /// Lets what is under way end.
    pub fn run_to_idle(&mut self) {
        while self.service.next_time() != Time::NEVER {
            self.happen();
        }
    }

    /// The next thing happens on the bus.
    fn happen(&mut self) {
        let Bench { hart, service, memory, .. } = self;
        let clock = hart.clock();
        let over = service.act(&mut hart.port, memory, |time| clock.edge_at_or_after(time));
        if let (Some(now), Activity::Waiting(since, stall)) = (over, self.activity) {
            if hart.port.is_timed() {
                hart.cycle = hart.cycle.max(hart.cycle_at(now));
                hart.port.waited(stall, hart.cycle - since);
            }
            self.activity = Activity::Ready;
        }
        self.collect();
    }
}

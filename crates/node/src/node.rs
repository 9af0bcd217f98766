//! The node as a partition: the order in which things happen.

use std::any::Any;
use std::collections::VecDeque;

use chasqui_counters::{Counters, Visitor, below};
use chasqui_engine::{
    Class, Event, EventQueue, Outbox, Packet, Partition, Payload, Port, Time, WORK_OF_EVENT,
};
use chasqui_hart::{Halt, Hart};
use chasqui_memory::{Bus, FlatMemory, Slot};
use chasqui_ni::{BusRequest, Cause, Context, NetworkInterface, Wishes};
use chasqui_record::Recorder;

use crate::attach::Crossing;
use crate::bus::{BusEvent, Client};
use crate::parameters::NodeConfiguration;
use crate::processor::{Ended, Processor, ProcessorSpec};
use crate::scheduler::{Pages, Scheduler, Timer};

/// Components of a node, as targets of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Target {
    /// The memory bus.
    Bus = 0,
    /// The NI: its own events.
    Ni = 1,
    /// The NI: what comes from other partitions.
    Network = 2,
    /// The scheduler.
    Scheduler = 3,
}

/// Target number of the NI for events from other partitions.
const NETWORK: u32 = Target::Network as u32;

/// Target number of the scheduler.
const SCHEDULER: u32 = Target::Scheduler as u32;

/// Instructions of the hart in one go, or a few more: then the engine is asked again, so that progress is
/// shown and Ctrl-C is seen. A matter of a millisecond.
const RUN_MAX: u64 = 1 << 17;

/// Of more events than these only the earliest is looked at: messages may come by the thousand.
const CAUSES_MAX: usize = 16;

/// Event ports that a node uses: bus and NI.
pub const PORTS: u32 = 2;

/// What a node is built from.
pub struct NodeSpec<'a> {
    /// Its parameters.
    pub configuration: &'a NodeConfiguration,
    /// Functional memory: DRAM, then what the NI adds.
    pub memory: FlatMemory,
    /// The processor with its process.
    pub processor: ProcessorSpec,
    /// Further processes, of other jobs, that share the hart with it.
    pub others: Vec<ProcessorSpec>,
    /// Jobs of the machine, whether they have a process here or not.
    pub jobs: usize,
    /// The network interface.
    pub ni: Box<dyn NetworkInterface>,
    /// Number of the first of the node's [`Node::PORTS`] event ports.
    pub first_port: u32,
}

/// A node.
pub struct Node {
    /// The processor.
    pub processor: Processor,
    /// Records of messages, by job.
    pub recorders: Vec<Recorder>,
    /// Who is on the hart, if there are several processes.
    pub(crate) scheduler: Option<Box<Scheduler>>,
    pub(crate) memory: FlatMemory,
    pub(crate) bus: Bus,
    pub(crate) waiting_for_bus: VecDeque<Client>,
    pub(crate) grant_scheduled: bool,
    pub(crate) ni: Box<dyn NetworkInterface>,
    pub(crate) ni_requests: Vec<BusRequest>,
    pub(crate) free_requests: Vec<u32>,
    /// Events that may send to other partitions at once: the NI's, and bus transactions that it asked for.
    prompt: EventQueue,
    /// Bus events of the hart's: what they cause takes the NI's output latency.
    slow: EventQueue,
    /// The NI's input latency.
    input_latency: Time,
    /// From a store's start to its arrival at the NI.
    store_latency: Time,
    /// The way from the bus to the NI.
    pub(crate) attach: Time,
    /// Accesses of harts that are on it, oldest first.
    pub(crate) crossing: VecDeque<Crossing>,
    pub(crate) l2_cycles: u64,
    pub(crate) reservation_cycles: u64,
    /// Physical addresses below are main memory's.
    dram_bytes: u64,
    /// No transaction that begins when the bus is idle takes longer.
    pub(crate) transaction_max: Time,
    packets: Vec<Option<Box<Packet>>>,
    free_packets: Vec<u32>,
    /// Events dealt with, but those of the bus.
    events: u64,
    bus_port: Port,
    ni_port: Port,
    wishes: Wishes,
    stop: Option<Time>,
    /// A fault of a process ends its job, not the process alone.
    pub(crate) fault_ends_job: bool,
    /// Jobs that ended here by a fault or abort, and nobody was told.
    broken: Vec<usize>,
    /// What the NI found broken in the machine first, which ends all jobs: when, and what.
    broken_machine: Option<(Time, String)>,
}

impl Node {
    /// Event ports that a node uses.
    pub const PORTS: u32 = PORTS;

    /// A node at time 0.
    pub fn new(mut spec: NodeSpec<'_>) -> Node {
        let c = spec.configuration;
        let rank = spec.processor.rank;
        // An access that takes no time is at the NI at once.
        let untimed = spec.processor.costs.free_calls || spec.processor.fast_forward;
        let (timing, clock, timebase) = (c.timing(), c.clock(), c.core.timebase.hz());
        let together = spec.ni.is_exclusive();
        let scheduler = (together || !spec.others.is_empty())
            .then(|| Box::new(Scheduler::new(&c.scheduler, rank, spec.others, together)));
        let processor = Processor::new(spec.processor, c.harts(), |state| {
            let mut port = chasqui_memory::Port::new(c.port(), &mut spec.memory);
            port.set_self_contained(spec.ni.self_contained_stores());
            port.set_network_memory(spec.ni.network_memory());
            let mut hart = Hart::new(state, port, timing, clock, timebase);
            hart.run_by_steps(c.checks.reference);
            hart
        });
        let input_latency = spec.ni.input_latency();
        let tenure = c.bus.clock().edge(c.bus.address.cycles() + 1);
        let attach = spec.ni.attach();
        let store_latency = if untimed { Time::ZERO } else { tenure + attach };
        let mut node = Node {
            processor,
            recorders: (0..spec.jobs).map(|_| Recorder::new(rank as u16, 1)).collect(),
            scheduler,
            memory: spec.memory,
            bus: Bus::new(c.bus.clone(), c.dram.clone()),
            waiting_for_bus: VecDeque::new(),
            grant_scheduled: false,
            ni: spec.ni,
            ni_requests: Vec::new(),
            free_requests: Vec::new(),
            prompt: EventQueue::default(),
            slow: EventQueue::default(),
            input_latency,
            store_latency,
            attach,
            crossing: VecDeque::new(),
            l2_cycles: c.l2.latency.cycles(),
            reservation_cycles: c.order.reservation.cycles(),
            dram_bytes: c.dram.size.bytes(),
            transaction_max: c.transaction_max(),
            packets: Vec::new(),
            free_packets: Vec::new(),
            events: 0,
            bus_port: Port::new(spec.first_port),
            ni_port: Port::new(spec.first_port + 1),
            wishes: Wishes::default(),
            stop: None,
            fault_ends_job: c.software.fault_ends_job,
            broken: vec![],
            broken_machine: None,
        };
        node.start_scheduler();
        node
    }

    /// All is over: accesses to messages' data that were noted become stages of the messages' lives.
    pub fn stamp_accesses(&mut self) {
        // They are noted in runs of one job.
        self.processor.stamp_accesses(&mut self.recorders[0]);
    }

    /// The memory bus.
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// The network interface.
    pub fn ni(&self) -> &dyn NetworkInterface {
        &*self.ni
    }

    /// Memory of the process from `address` on; nothing where it has none.
    pub fn read_process(&mut self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut contents = vec![0; bytes];
        self.processor.process.space.read_user(&mut self.memory, address, &mut contents).ok()?;
        Some(contents)
    }

    /// What the NI found broken in the machine first, which ends all jobs: when, and what.
    pub fn broken_machine(&self) -> Option<&(Time, String)> {
        self.broken_machine.as_ref()
    }

    /// Visits every counter of the node, by its path. Harts are numbered where there are several.
    pub fn visit_statistics(&self, visit: &mut Visitor<'_>) {
        let threads = &self.processor.threads;
        for (i, thread) in threads.iter().enumerate() {
            let number = if threads.count() > 1 { format!("{i:02}") } else { String::new() };
            let (hart, port) = (&thread.hart, &thread.hart.port);
            hart.statistics.visit(&mut below(&format!("hart{number}"), visit));
            thread.statistics.visit(&mut below(&format!("processor{number}"), visit));
            port.statistics.visit(&mut below(&format!("memory{number}"), visit));
            if let Some(stash) = port.stash_statistics() {
                stash.visit(&mut below(&format!("stash{number}"), visit));
            }
            if let Some(network) = port.network_statistics() {
                network.visit(&mut below(&format!("network_cache{number}"), visit));
            }
        }
        self.bus.statistics.visit(&mut below("bus", visit));
        self.ni.statistics(&mut below("ni", visit));
        if let Some(scheduler) = &self.scheduler {
            scheduler.statistics.visit(&mut below("scheduler", visit));
        }
    }

    pub(crate) fn schedule(&mut self, time: Time, class: Class, target: Target, payload: Payload) {
        let port = if target == Target::Ni { &mut self.ni_port } else { &mut self.bus_port };
        let order = port.next(class);
        let event = Event { time, order, target: target as u32, payload };
        if target == Target::Scheduler || target == Target::Bus && self.is_slow(payload.into()) {
            self.slow.push(event);
        } else {
            self.prompt.push(event);
        }
    }

    /// The bus event is about the hart's transactions alone.
    fn is_slow(&self, event: BusEvent) -> bool {
        match event {
            BusEvent::Request(client) | BusEvent::Done(client, _) => matches!(client, Client::Hart(..)),
            BusEvent::Answer(..) | BusEvent::Arrive => true,
            BusEvent::Grant => matches!(self.waiting_for_bus.front(), Some(Client::Hart(..))),
        }
    }

    /// From a store's start to its arrival at the NI.
    pub(crate) fn store_latency(&self) -> Time {
        self.store_latency
    }

    /// Time of the node's earliest event.
    #[inline]
    pub(crate) fn next_event(&self) -> Time {
        self.prompt.next_time().min(self.slow.next_time())
    }

    /// There is one event to come.
    #[inline]
    pub(crate) fn has_one_event(&self) -> bool {
        self.prompt.len() + self.slow.len() == 1
    }

    /// The queue with the earliest event.
    fn earliest(&mut self) -> &mut EventQueue {
        match (self.prompt.peek(), self.slow.peek()) {
            (Some(a), Some(b)) if (a.time, a.order) < (b.time, b.order) => &mut self.prompt,
            (Some(_), None) => &mut self.prompt,
            _ => &mut self.slow,
        }
    }

    /// Calls the NI and does what it wishes. What it charges is charged to hart `hart`.
    pub(crate) fn with_ni<T>(
        &mut self,
        hart: usize,
        now: Time,
        out: &mut Outbox<'_>,
        call: impl FnOnce(&mut dyn NetworkInterface, &mut Context<'_, '_>) -> T,
    ) -> T {
        let (mut one, mut several);
        let ports: &mut [&mut chasqui_memory::Port] = if self.processor.threads.count() == 1 {
            one = [&mut self.processor.threads[0].hart.port];
            &mut one
        } else {
            several = self.processor.threads.iter_mut().map(|t| &mut t.hart.port).collect::<Vec<_>>();
            &mut several
        };
        let mut context = Context {
            now,
            memory: &mut self.memory,
            ports,
            pager: &mut Pages {
                job: self.processor.job,
                process: &mut self.processor.process,
                scheduler: self.scheduler.as_deref_mut(),
            },
            recorders: &mut self.recorders,
            out,
            wishes: &mut self.wishes,
        };
        let result = call(&mut *self.ni, &mut context);
        self.grant_wishes(hart, now);
        result
    }

    fn grant_wishes(&mut self, hart: usize, now: Time) {
        if self.wishes.is_empty() {
            return;
        }
        let mut events = std::mem::take(&mut self.wishes.events);
        for (time, payload) in events.drain(..) {
            self.schedule(time, Class::Internal, Target::Ni, payload);
        }
        // The room is used again by the next call.
        self.wishes.events = events;
        if !self.wishes.is_empty() {
            self.grant_rare_wishes(hart, now);
        }
    }

    /// Beside events few calls wish anything.
    #[inline(never)]
    fn grant_rare_wishes(&mut self, hart: usize, now: Time) {
        for request in std::mem::take(&mut self.wishes.bus) {
            let index = match self.free_requests.pop() {
                Some(index) => {
                    self.ni_requests[index as usize] = request;
                    index
                }
                None => {
                    self.ni_requests.push(request);
                    self.ni_requests.len() as u32 - 1
                }
            };
            let asked = BusEvent::Request(Client::Ni(index));
            self.schedule(now + self.attach, Class::Request, Target::Bus, asked.into());
        }
        if self.wishes.charge > Time::ZERO {
            let thread = &mut self.processor.threads[hart];
            let start = thread.hart.now().max(now);
            thread.start_at(start + self.wishes.charge);
            self.wishes.charge = Time::ZERO;
        }
        if let Some(turn) = self.wishes.turn.take() {
            self.take_turn(turn, now);
        }
        if let Some(asserted) = self.wishes.interrupt.take()
            && self.processor.kernel.is_some()
        {
            self.processor.threads[0].set_interrupt(asserted, now);
        }
        if let Some(incoherence) = self.wishes.incoherence.take() {
            self.fault(hart, 7, &incoherence.to_string());
        }
        for (job, text) in std::mem::take(&mut self.wishes.faults) {
            self.fault_of(job, hart, now, 11, &text);
        }
        if let Some(broken) = self.wishes.broken.take() {
            self.broken_machine.get_or_insert(broken);
        }
    }

    pub(crate) fn fault(&mut self, hart: usize, signal: i32, text: &str) {
        if self.processor.ended.is_none() {
            self.processor.fault(hart, signal, text);
            self.note_end();
        }
    }

    /// An event that a polling loop may see is about to happen. True: a hart has to catch up first.
    pub(crate) fn observable(&mut self, now: Time, until: Time) -> bool {
        let mut idle = false;
        for thread in self.processor.threads.iter_mut() {
            idle |= thread.is_idle();
            thread.event(&mut self.bus, now, until);
        }
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.observed();
        }
        idle
    }

    /// The scheduler is about to do something at `now`. True: the hart has to catch up first.
    fn interrupt(&mut self, timer: Timer, now: Time) -> bool {
        let Some(scheduler) = &mut self.scheduler else { return false };
        // What a job leaves behind, others may see.
        if let Timer::Close(_) = timer {
            return self.observable(now, now);
        }
        let mut idle = false;
        for thread in self.processor.threads.iter_mut() {
            idle |= thread.is_idle();
            thread.interrupt(&mut self.bus, now);
        }
        scheduler.interrupts(idle);
        idle
    }

    /// Whether the event may be seen by a polling loop. Bus events decide when they are dealt with.
    fn is_observable(&self, event: &Event) -> bool {
        match event.target {
            NETWORK => self.ni.observable_network(event),
            t if t == Target::Ni as u32 => self.ni.observable(event.payload),
            // The hart's own transactions are part of what it repeats.
            _ => match event.payload.into() {
                BusEvent::Arrive => self.stores_arrive(),
                event => !self.is_slow(event),
            },
        }
    }

    /// Has harts catch up that repeat themselves and may see `event`, which is next. True: there are some.
    #[inline(always)]
    fn announce<const SEVERAL: bool>(&mut self, event: &Event) -> bool {
        if event.target == SCHEDULER {
            return self.interrupt(event.payload.into(), event.time);
        }
        if self.is_observable(event) {
            // A hart may have run past what comes from outside, as far as it can't have noticed.
            let latency = if event.target == NETWORK { self.input_latency } else { Time::ZERO };
            return self.observable(event.time, event.time + latency);
        }
        SEVERAL && event.target == Target::Bus as u32 && {
            let is_grant = matches!(event.payload.into(), BusEvent::Grant);
            is_grant && self.announce_grant(event.time)
        }
    }

    #[inline(always)]
    fn dispatch(&mut self, event: Event, out: &mut Outbox<'_>) {
        // On a bus that is a hart's for a while, transactions have no events: how many have depends on the turns.
        self.events += u64::from(event.target != Target::Bus as u32);
        match event.target {
            NETWORK => {
                let packet = self.take_packet(event.payload);
                self.with_ni(0, event.time, out, |ni, c| ni.network(c, event, packet));
            }
            t if t == Target::Ni as u32 => {
                self.with_ni(0, event.time, out, |ni, c| ni.event(c, event.payload));
            }
            SCHEDULER => self.scheduler_event(event.payload.into(), event.time, out),
            _ => self.bus_event(event.payload.into(), event.time, out),
        }
    }

    /// From `event`, about a hart's transactions or its processes, to an access to the NI: from the end of a posted
    /// store, or of one that is answered, there is only the way to the NI; who arrives is there; and the scheduler
    /// may tell the NI of a turn's end.
    fn delay(&self, event: &Event) -> Time {
        if event.target == SCHEDULER {
            return Time::ZERO;
        }
        match event.payload.into() {
            BusEvent::Done(Client::Hart(_, Slot::Posted), _) => self.attach,
            BusEvent::Done(Client::Hart(index, Slot::Blocking), _) if self.is_store(index) => self.attach,
            BusEvent::Arrive => Time::ZERO,
            _ => self.store_latency,
        }
    }

    /// What `event`, a prompt one, is to the NI.
    fn cause<'a>(&self, event: &'a Event) -> Cause<'a> {
        match event.target {
            NETWORK => Cause::Network(event),
            t if t == Target::Ni as u32 => Cause::Event(event.payload),
            _ => {
                let client = match event.payload.into() {
                    BusEvent::Request(client) | BusEvent::Done(client, _) => Some(client),
                    BusEvent::Answer(..) | BusEvent::Arrive => None,
                    BusEvent::Grant => self.waiting_for_bus.front().copied(),
                };
                match client {
                    Some(Client::Ni(index)) => Cause::Bus(self.ni_requests[index as usize]),
                    _ => Cause::Access,
                }
            }
        }
    }

    /// Runs hart `index` until `until`. Until `alone` nothing happens in the node and nothing comes from outside.
    /// `SEVERAL`: see [`Node::run_to_limit`].
    #[inline(always)]
    fn run_hart<const SEVERAL: bool>(
        &mut self,
        index: usize,
        until: Time,
        alone: Time,
        out: &mut Outbox<'_>,
    ) {
        // Then the bus is the hart's; unless others wait for it, or other harts have lines.
        let alone = if self.waiting_for_bus.is_empty() && !SEVERAL { alone } else { Time::ZERO };
        let before = Time(alone.0.saturating_sub(self.transaction_max.0));
        if !self.processor.threads[index].is_ready() {
            self.processor.rise(index, &mut self.bus);
        }
        let end = self.processor.threads[index].hart.cycle_at(until);
        let halt = loop {
            let p = &mut self.processor;
            let timed = !SEVERAL || p.threads[index].hart.port.is_timed();
            let lent = (&mut self.bus, before, self.dram_bytes);
            let halt = p.run(index, &mut self.recorders, lent, end);
            let t = &mut p.threads[index];
            t.spin.check(&mut t.hart);
            if SEVERAL && halt == Halt::Call && self.catch_up(index) {
                break halt;
            }
            let p = &mut self.processor;
            p.halted(index, halt, &mut self.memory, &mut self.recorders);
            // Before the next observation begins. At a mark within a call, or when it has run for long, it goes on.
            let goes_on = match halt {
                Halt::Deadline => true,
                Halt::Mark { .. } => !p.threads[index].hart.port.is_timed(),
                _ => false,
            };
            let told = !timed && !goes_on && p.tell_untimed(index);
            if halt == Halt::Pause {
                p.pause(index, &self.bus);
            }
            // After a pause, or a mark that it halted at, the hart mostly goes on.
            let passed = matches!(halt, Halt::Mark { .. } | Halt::Pause);
            let t = &p.threads[index];
            if told || !passed || !t.is_ready() || t.hart.cycle >= end {
                break halt;
            }
        };
        // At a deadline in a call that takes no time it is this hart's turn still.
        if SEVERAL && halt != Halt::Deadline {
            self.leave_untimed(index);
        }
        if halt == Halt::Call {
            self.after_call(index);
        }
        self.collect_requests(index, out);
        if self.processor.ended.is_some() {
            self.note_end();
        }
    }

    fn note_end(&mut self) {
        match self.processor.ended {
            Some((_, Ended::Fault { .. })) if !self.fault_ends_job => {}
            Some((time, Ended::Abort(_) | Ended::Fault { .. })) => self.stop_at(time, self.processor.job),
            _ => {}
        }
    }

    /// Job `job` is broken.
    pub(crate) fn stop_at(&mut self, time: Time, job: usize) {
        self.stop = Some(self.stop.map_or(time, |stop| stop.min(time)));
        self.broken.push(job);
    }

    /// An event comes from another partition. The high half of the payload's second word is the node's, to keep the
    /// packet's place. True: the NI's output latencies may be different.
    fn take_in(&mut self, mut event: Event, packet: Option<Box<Packet>>) -> bool {
        event.target = NETWORK;
        let changes = self.ni.coming(&event);
        let slot = self.keep_packet(packet);
        event.payload[1] = event.payload[1] & 0xffff_ffff | u64::from(slot) << 32;
        self.prompt.push(event);
        changes
    }

    fn keep_packet(&mut self, packet: Option<Box<Packet>>) -> u32 {
        let Some(packet) = packet else { return u32::MAX };
        match self.free_packets.pop() {
            Some(slot) => {
                self.packets[slot as usize] = Some(packet);
                slot
            }
            None => {
                self.packets.push(Some(packet));
                self.packets.len() as u32 - 1
            }
        }
    }

    fn take_packet(&mut self, payload: Payload) -> Option<Box<Packet>> {
        let slot = (payload[1] >> 32) as u32;
        let packet = self.packets.get_mut(slot as usize)?.take();
        self.free_packets.push(slot);
        packet
    }
}

/// `reach` may be as early as `latencies` after `time`.
fn lower(reach: &mut [Time], time: Time, latencies: &[Time]) {
    for (reach, &latency) in reach.iter_mut().zip(latencies) {
        *reach = (*reach).min(time + latency);
    }
}

impl Partition for Node {
    fn next(&self) -> Time {
        if self.rests() { Time::NEVER } else { self.next_event().min(self.processor.ready_at()) }
    }

    fn reach(&self, least: &[Time], reach: &mut [Time]) {
        if self.rests() {
            return reach.fill(Time::NEVER);
        }
        let hart = self.processor.ready_at() + self.store_latency;
        let bus = self.slow.iter().map(|e| e.time + self.delay(e));
        let access = bus.fold(hart, Time::min);
        let latencies = self.ni.output_latency(Cause::Access);
        reach.iter_mut().zip(latencies).for_each(|(reach, &latency)| *reach = access + latency);
        // Transactions of the NI's that wait behind a hart's have no event of their own yet.
        for client in &self.waiting_for_bus {
            let is_grant = |e: &&Event| matches!(e.payload.into(), BusEvent::Grant);
            if let (&Client::Ni(index), Some(grant)) = (client, self.slow.iter().find(is_grant)) {
                let cause = Cause::Bus(self.ni_requests[index as usize]);
                lower(reach, grant.time, self.ni.output_latency(cause));
            }
        }
        if self.prompt.len() > CAUSES_MAX {
            return lower(reach, self.prompt.next_time(), least);
        }
        for event in self.prompt.iter() {
            lower(reach, event.time, self.ni.output_latency(self.cause(event)));
        }
    }

    /// Returns how many instructions were executed and events dealt with, these by what they cost.
    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let events = self.events;
        let executed = match self.processor.is_several() {
            false => self.run_to_limit::<false>(out),
            true => self.run_to_limit::<true>(out),
        };
        self.processor.report_progress(executed);
        executed + (self.events - events) * WORK_OF_EVENT
    }

    fn receive(&mut self, event: Event, packet: Option<Box<Packet>>) {
        self.take_in(event, packet);
    }

    fn receive_within(
        &mut self,
        event: Event,
        packet: Option<Box<Packet>>,
        _: &[Time],
        reach: &mut [Time],
    ) -> bool {
        let changes = self.take_in(event, packet);
        if changes || self.prompt.len() > CAUSES_MAX || self.rests() {
            return false;
        }
        lower(reach, event.time, self.ni.output_latency(Cause::Network(&event)));
        true
    }

    fn stop(&self) -> Option<Time> {
        self.broken_machine.as_ref().map(|&(time, _)| time).into_iter().chain(self.stop).min()
    }

    /// The jobs that broke here.
    fn news(&mut self) -> Vec<u64> {
        self.stop = None;
        std::mem::take(&mut self.broken).into_iter().map(|job| job as u64).collect()
    }

    /// The jobs numbered so are over.
    fn told(&mut self, news: &[u64], at: Time) {
        self.unshare_texts();
        for &job in news {
            self.schedule(at, Class::Internal, Target::Scheduler, Timer::Close(job as usize).into());
        }
    }

    fn hosted_by(&mut self, thread: usize) {
        self.processor.threads.iter_mut().for_each(|t| t.hart.hosted_by(thread));
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Node {
    /// Does everything that is earlier than the engine's limit, or a good part of it; returns how many
    /// instructions that were. `SEVERAL`: more than one hart has had a thread. A single one pays nothing for
    /// what others would need.
    fn run_to_limit<const SEVERAL: bool>(&mut self, out: &mut Outbox<'_>) -> u64 {
        let mut executed = 0;
        loop {
            let limit = out.limit();
            let event = self.next_event();
            let (ready, index) = self.processor.first_ready::<SEVERAL>();
            let soft = event.min(limit);
            if ready < soft {
                let before = self.processor.threads[index].hart.statistics.instructions;
                if SEVERAL {
                    self.run_among_others(index, soft, out);
                } else {
                    // What comes from outside is noticed only later: the hart runs on so long.
                    let noticed = event.min(out.horizon()).min(limit + self.input_latency);
                    let until = if self.is_over() { ready + Time(1) } else { noticed };
                    self.run_hart::<false>(index, until, soft, out);
                    self.after_run();
                }
                executed += self.processor.threads[index].hart.statistics.instructions - before;
                // A call that takes no time, or a suspended hart that catches up, may take long.
                if executed >= RUN_MAX || SEVERAL != self.processor.is_several() {
                    return executed;
                }
                continue;
            }
            if event >= limit {
                return executed;
            }
            if self.rests() {
                return executed;
            }
            let next = *self.earliest().peek().expect("an event is due");
            if self.announce::<SEVERAL>(&next) {
                // Harts catch up before the event happens.
                continue;
            }
            let event = self.earliest().pop_before(limit).expect("an event is due");
            self.dispatch(event, out);
        }
    }

    /// Runs hart `index`, which is ready first, until `soft` or until another hart may be next.
    fn run_among_others(&mut self, index: usize, soft: Time, out: &mut Outbox<'_>) {
        if !self.is_seen(index) || !self.catch_up(index) {
            let until = soft.min(self.processor.others_ready(index));
            self.run_hart::<true>(index, until, until, out);
        }
    }

    /// What hart `index` is about to do may be seen by others, though they have the lines that they need: it
    /// wakes by itself, or stores in no time, past the caches.
    fn is_seen(&self, index: usize) -> bool {
        let thread = &self.processor.threads[index];
        !thread.is_ready() || !thread.hart.port.is_timed()
    }

    /// Hart `index` does something now that others may see. True: those that repeat themselves have to catch up
    /// first; then it is asked again.
    fn catch_up(&mut self, index: usize) -> bool {
        let now = self.processor.threads[index].ready_at();
        self.processor.announce(index, &mut self.bus, now)
    }

    /// Hart `index` stops. In a call that takes no time it has stored past the caches, and others may now
    /// execute instructions between two of its own: reservations hold no longer.
    fn leave_untimed(&mut self, index: usize) {
        if !self.processor.threads[index].hart.port.is_timed() {
            self.processor.threads.iter_mut().for_each(|thread| thread.hart.port.drop_reservation());
        }
    }
}

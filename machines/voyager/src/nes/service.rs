//! The NES's side of the service processor (sP; sections 3 and 4.2): what it keeps for the firmware, and what the
//! firmware's registers do.
//!
//! The processor's accesses to queues that are not resident, and to system software's registers, wait here for
//! the firmware: a store is kept, a load is retried on the bus until it has been answered. Packets wait in the
//! miss queue (`missed.rs`). The firmware hears of both by loads of EVENT, which are held while there is nothing.

use std::collections::VecDeque;

use chasqui_engine::{Packet, Time};
use chasqui_memory::PAGE_BYTES;
use chasqui_ni::{Context, DeviceAccess, FirmwareProcessor, MessageKey, Reply, Uncached};
use chasqui_placement::{JobId, ProcessId};

use super::accesses::{Access, Accesses, description};
use super::command::Command;
use super::drain::Drain;
use super::queues::{QueueName, QueueNames};
use super::turns::EventTurns;
use super::{Loaded, Nes, NesEvent, Register, Rings};
use crate::parameters::{self, RESIDENT_BASIC_MAX};
use crate::registers as r;
use crate::service_registers::{self as sp, VoyagerPacket};

const SSRAM: usize = sp::SSRAM_BYTES as usize;
const SETTING_BYTES: u64 = size_of::<u64>() as u64;
/// Behind the last setting.
const SETTINGS_END: u64 = sp::SETTING_JOB_PROCESSES + SETTING_BYTES;
const SETTINGS: usize = ((SETTINGS_END - sp::SETTING_BASIC_QUEUES) / SETTING_BYTES) as usize;
// Registers of the most slots that there may be don't meet those that follow.
const _: () =
    assert!(sp::BASIC_TRANSMIT_PRODUCER + RESIDENT_BASIC_MAX * sp::BASIC_STRIDE <= sp::EXPRESS_SENT);
const _: () = assert!(sp::STAGING + sp::SSRAM_BYTES <= sp::ONEPOLL_ORDER);

/// What the firmware has answered to a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Answer {
    address: u64,
    value: u64,
    /// Name of the message that the load takes, if it takes one.
    took: Option<MessageKey>,
}

/// What the firmware asks first: values by their registers, `SETTING_*`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings([u64; SETTINGS]);

impl Settings {
    /// `values`: of all registers, each with its own.
    fn new(values: [(u64, u64); SETTINGS]) -> Settings {
        let mut all = [None; SETTINGS];
        for (register, value) in values {
            let before = all[Settings::index(register)].replace(value);
            assert_eq!(before, None, "the setting at {register:#x} has two values");
        }
        Settings(all.map(|value| value.expect("each has one of as many values")))
    }

    fn index(register: u64) -> usize {
        ((register - sp::SETTING_BASIC_QUEUES) / SETTING_BYTES) as usize
    }

    /// The value of `register`.
    fn get(&self, register: u64) -> u64 {
        self.0[Settings::index(register)]
    }
}

/// The sP, and what waits for it.
pub(super) struct Service {
    pub processor: FirmwareProcessor,
    pub parameters: parameters::Service,
    settings: Settings,
    accesses: Accesses,
    /// Answers to loads that will be tried again.
    answers: Vec<Answer>,
    room: VecDeque<QueueName>,
    /// Processes that are over, of which the firmware has yet to hear.
    over: VecDeque<ProcessId>,
    launched: bool,
    /// Messages of its own have left.
    has_left: bool,
    /// Queue and hardware slot of which the firmware wants to hear when nothing is under way there.
    watched: Option<(QueueName, usize)>,
    mask: u64,
    turns: EventTurns,
    /// Where the next command's data go.
    pub address: u64,
    pub command: Option<Command>,
    /// Result of the last command, until it is loaded.
    pub result: Option<u64>,
    /// A message for commands.
    pub staging: [u8; SSRAM],
}

/// What keeps jobs from each other's share of the sP.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobLimits {
    /// Parts of its memory.
    pub shares: usize,
    /// Packets of a job in the miss queue from which on it is held up; 0: never.
    pub hold: u64,
    /// Accesses of a job that send, of which the NES keeps so many for the firmware.
    pub sends: usize,
    /// Processes of a job at a site, at most.
    pub processes: u32,
}

/// The settings of one site's firmware.
pub(super) fn settings(
    names: QueueNames,
    queues: &parameters::Queues,
    service: &parameters::Service,
    express: &parameters::Express,
    receive: Rings,
    (sites, here): (u32, u32),
    jobs: JobLimits,
) -> Settings {
    Settings::new([
        (sp::SETTING_BASIC_QUEUES, (names.count() - names.express_count()) as u64),
        (sp::SETTING_SLOTS, u64::from(receive.first.slots)),
        (sp::SETTING_RECEIVE_RING, receive.first.base),
        (sp::SETTING_RING_BYTES, receive.first.bytes()),
        (sp::SETTING_EXPRESS_SLOTS, queues.resident_express),
        (sp::SETTING_BASIC_SLOTS, queues.resident_basic),
        (sp::SETTING_EXPRESS_MESSAGES, express.slots),
        (sp::SETTING_MEMORY, service.dram.bytes()),
        (sp::SETTING_EXPRESS_QUEUES, names.express_count() as u64),
        (sp::SETTING_STRIDE, receive.first.slot_bytes),
        (sp::SETTING_PLACES, express.tags),
        (sp::SETTING_SITES, sites.into()),
        (sp::SETTING_SITE, here.into()),
        (sp::SETTING_SHARES, jobs.shares as u64),
        (sp::SETTING_HOLD, jobs.hold),
        (sp::SETTING_JOB_PROCESSES, jobs.processes.into()),
    ])
}

impl Service {
    /// Has the firmware begin, until it waits for an event. That is over before anybody could notice. So many `jobs` have
    /// processes here, which have so many `queues`; each job has room for so many accesses that send (`sends`).
    ///
    /// # Errors
    /// The firmware did something else.
    pub fn new(
        mut processor: FirmwareProcessor,
        parameters: parameters::Service,
        settings: Settings,
        (jobs, queues): (usize, usize),
        sends: usize,
    ) -> Result<Service, String> {
        while let Some(at) = processor.run(Time::ZERO)? {
            match processor.takes_place(at) {
                Some(DeviceAccess::Load { address: sp::EVENT, .. }) => break,
                Some(DeviceAccess::Load {
                    address: address @ sp::SETTING_BASIC_QUEUES..SETTINGS_END,
                    ..
                }) => {
                    processor.loaded(at, settings.get(address), Time::ZERO);
                }
                other => return Err(processor.describe(&format!("{other:x?} before the first event"))),
            }
        }
        Ok(Service {
            processor,
            settings,
            accesses: Accesses::new((jobs, queues), parameters.access_slots as usize, sends),
            answers: Vec::new(),
            room: VecDeque::new(),
            over: VecDeque::new(),
            launched: false,
            has_left: false,
            watched: None,
            mask: u64::MAX,
            turns: EventTurns::new(jobs),
            address: 0,
            command: None,
            result: None,
            staging: [0; SSRAM],
            parameters,
        })
    }

    /// Messages for the Express queue that wait for the firmware.
    pub fn waiting(&self, queue: QueueName) -> usize {
        self.accesses.sends(queue)
    }

    /// Takes the answer to a load from `address`, if the firmware has given one.
    fn answer(&mut self, address: u64) -> Option<Answer> {
        let index = self.answers.iter().position(|answer| answer.address == address)?;
        Some(self.answers.remove(index))
    }
}

// --- the processor's accesses ----------------------------------------------------------------------

impl Nes {
    /// Length of the registers of system software [bytes].
    pub(super) fn system_bytes(&self) -> u64 {
        let open = self.service.as_ref().is_some_and(|service| service.parameters.system);
        let table = (r::SP_QUEUE + 1) << (self.express.window.destination_bits + 3);
        if open { (r::SYSTEM_TABLE + table).next_multiple_of(PAGE_BYTES) } else { 0 }
    }

    /// The queue that `register` belongs to, if it is one's.
    pub(super) fn queue_of(&self, register: Register) -> Option<QueueName> {
        match register {
            // The upper half of a message that was taken is with the hardware, wherever the queue is.
            Register::Pointer(name, _) | Register::Sent(name) | Register::Receive(name) => Some(name),
            Register::Express(offset) => Some(self.express.window.above(offset) as QueueName),
            Register::Tag(offset) => Some(self.express.queue_of_tag(offset)),
            _ => None,
        }
    }

    /// The firmware serves accesses to `register`.
    fn is_served(&self, register: Register) -> bool {
        match register {
            Register::System(_, offset) => {
                self.service.is_some() && offset < r::SYSTEM_TABLE && offset != r::SYSTEM_EMPTY
            }
            Register::OnePoll(phantom) => self.one_poll_is_served(phantom),
            register => self.queue_of(register).is_some_and(|name| self.serves(name)),
        }
    }

    /// The firmware serves accesses to the queue, or has yet to take a store to it.
    pub(super) fn serves(&self, name: QueueName) -> bool {
        let Some(service) = &self.service else { return false };
        self.shared.homes.is_served(name) || service.accesses.has_store(name)
    }

    /// The firmware may have to serve an access to `address`, or have one served before.
    pub(super) fn may_have_to_wait(&self, address: u64) -> bool {
        let Some(service) = &self.service else { return false };
        !service.accesses.is_empty() || !service.answers.is_empty() || self.is_served(self.register(address))
    }

    /// When an access at its grant is to be tried again, if the firmware has yet to answer it, or to take one
    /// that came before.
    pub(super) fn ask_service(
        &mut self,
        c: &mut Context<'_, '_>,
        address: u64,
        access: Uncached,
    ) -> Option<Time> {
        let service = self.service.as_ref()?;
        let register = self.register(address);
        let job = self.shared.homes.job_of(self.process_of(register));
        let has_room = !service.accesses.is_full(job, access == Uncached::Store && register.sends());
        let after = self.shared.clock.edge(service.parameters.retry.cycles());
        match access {
            Uncached::Store if has_room || !self.is_served(register) => return None,
            Uncached::Store => {}
            Uncached::Load if service.answers.iter().any(|answer| answer.address == address) => return None,
            Uncached::Load => {
                let waits = service.accesses.has_load(job, address);
                if !waits && !self.is_served(register) {
                    return None;
                }
                if !waits && has_room {
                    self.keep(address, None, None, None);
                    self.wake_service(c);
                }
            }
        }
        self.shared.counters.retried += 1;
        Some(after)
    }

    /// Keeps a store for the firmware, if it serves that; `name` is that of the message that it is, if it is one.
    pub(super) fn store_is_served(&mut self, address: u64, value: u64, name: MessageKey) -> bool {
        let is_served = self.is_served(self.register(address));
        if is_served {
            self.keep(address, Some(value), None, name);
        }
        is_served
    }

    /// The same of a store of 64 bytes.
    pub(super) fn wide_is_served(&mut self, address: u64, words: &[u64; 8], name: MessageKey) -> bool {
        let is_served = self.is_served(self.register(address));
        if is_served {
            self.keep(address, Some(words[0]), Some(*words), name);
        }
        is_served
    }

    /// The firmware serves stores to `register` and has no room for one.
    pub(super) fn is_overrun(&self, register: Register) -> bool {
        let job = self.shared.homes.job_of(self.process_of(register));
        self.service.as_ref().is_some_and(|s| s.accesses.is_full(job, register.sends()))
            && self.is_served(register)
    }

    fn keep(&mut self, address: u64, value: Option<u64>, wide: Option<[u64; 8]>, name: MessageKey) {
        let register = self.register(address);
        let value = value.map(|value| match register {
            // System software names a queue as its process does.
            Register::System(process, r::SYSTEM_MIGRATE) => {
                let queue = self.shared.homes.names.of(process, value as QueueName);
                value & !u64::from(QueueName::MAX) | u64::from(queue)
            }
            _ => value,
        });
        let sends = value.is_some() && register.sends();
        let access = Access { address, value, wide, queue: self.queue_of(register), name, sends };
        let job = self.shared.homes.job_of(self.process_of(register));
        self.shared.counters.served += 1;
        let service = self.service.as_mut().expect("somebody serves the access");
        service.accesses.put(job, access);
    }

    /// There may be room in resident queue `name`.
    pub(super) fn room(&mut self, name: QueueName) {
        if self.shared.homes.take_want(name)
            && let Some(service) = &mut self.service
        {
            service.room.push_back(name);
        }
    }

    /// A process is over, which the firmware will hear.
    pub(super) fn close_service(&mut self, process: ProcessId) {
        if let Some(service) = &mut self.service {
            service.over.push_back(process);
        }
    }

    /// A message has left; the sP's, if `served`.
    pub(super) fn launched(&mut self, served: bool) {
        if let Some(service) = self.service.as_mut().filter(|_| served) {
            service.launched = true;
        }
    }

    /// An Express message has left `slot`.
    pub(super) fn left(&mut self, slot: usize) {
        self.launched(slot == self.express.served());
        if let Some(service) = self.service.as_mut().filter(|_| slot == self.express.own()) {
            service.has_left = true;
        }
    }
}

// --- the firmware's registers ----------------------------------------------------------------------

impl Nes {
    pub(super) fn service_mut(&mut self) -> &mut Service {
        self.service.as_mut().expect("the firmware runs")
    }

    /// The access that the sP has been run to takes place.
    pub(super) fn service_access(&mut self, c: &mut Context<'_, '_>) {
        match self.service_mut().processor.takes_place(c.now) {
            Some(DeviceAccess::Store { address, bytes, value }) => {
                self.service_store(c, address, bytes, value);
                self.service_mut().processor.stored(c.now);
                self.run_service(c);
            }
            _ => self.wake_service(c),
        }
    }

    /// Answers the load that the sP waits for, if that can be answered now.
    pub(super) fn wake_service(&mut self, c: &mut Context<'_, '_>) {
        let held = self.service.as_ref().and_then(|service| service.processor.held());
        let Some(DeviceAccess::Load { address, .. }) = held else { return };
        let Some(value) = self.service_load(c, address) else { return };
        let latency = self.shared.clock.edge(self.shared.nes.pointer_access.cycles());
        self.service_mut().processor.loaded(c.now, value, latency);
        self.run_service(c);
    }

    fn run_service(&mut self, c: &mut Context<'_, '_>) {
        if let Err(text) = self.service_mut().processor.go_on(NesEvent::Service.into(), c) {
            self.fault_all(c, &text);
        }
    }

    /// The firmware loads from `address`; none: the load is held.
    fn service_load(&mut self, c: &mut Context<'_, '_>, address: u64) -> Option<u64> {
        let service = self.service_mut();
        Some(match address {
            sp::EVENT => return self.next_event(c.now),
            sp::RESULT => return service.result.take(),
            sp::ACCESS_VALUE => service.accesses.current().and_then(|a| a.value).unwrap_or(0),
            sp::SETTING_BASIC_QUEUES..SETTINGS_END => service.settings.get(address),
            sp::OWN_TAKE => {
                let message = self.receiver.own.pop();
                self.receiver.taken(0, &mut self.shared, c);
                message
            }
            sp::TURN_OVER if self.drain.is_some() => self.drain.as_ref().map_or(0, Drain::over),
            sp::MISSED_AHEAD => self.receiver.missed.look_ahead().map_or(0, ahead),
            sp::OWN_SENT => u64::from(*self.express.sent_mut(self.express.own())),
            sp::BASIC_TRANSMIT_PRODUCER..sp::EXPRESS_SENT => u64::from(*self.basic_register(address)?),
            sp::EXPRESS_SENT..sp::MISSED if self.is_valid(address, 0) => self.express_load(address),
            sp::ONEPOLL_ORDER.. if self.is_valid(address, 0) => self.orders.word(order_word(address)),
            sp::MISSED..sp::STAGING => {
                let packet = self.receiver.missed.shown();
                packet.map_or(0, |packet| word(&packet.bytes, (address - sp::MISSED) as usize))
            }
            _ => {
                self.wrong(c, &format!("a load from {address:#x}, where the NES has no register"));
                return None;
            }
        })
    }

    /// The firmware has done what it may not: it stops.
    pub(super) fn wrong(&mut self, c: &mut Context<'_, '_>, what: &str) {
        let text = self.service_mut().processor.halt(what);
        self.fault_all(c, &text);
    }

    /// Nobody's queues are served any more.
    fn fault_all(&self, c: &mut Context<'_, '_>, what: &str) {
        for process in 0..self.shared.homes.names.processes as u32 {
            c.fault(ProcessId(process), what.to_string());
        }
    }

    /// There is what the firmware's access to `address` names, with `value` if it is a store.
    fn is_valid(&self, address: u64, value: u64) -> bool {
        let (low, high) = (value as QueueName, (value >> 32) as QueueName);
        match address {
            sp::MAP | sp::WATCH => self.has_slot(low, (value >> 16) as u8),
            sp::UNDIVERT => self.shared.homes.all().contains(&low),
            sp::ACCESS_LAUNCH => self.express.may_launch(),
            sp::LAUNCH => self.shared.homes.all().contains(&high) && self.shared.homes.names.is_basic(high),
            sp::COMMAND if value & 0xff == sp::COMMAND_FETCH => self.fetcher.has_place(value),
            sp::COMMAND => self.shared.homes.all().contains(&high) && self.has_message(value),
            sp::OWN_SEND => self.express.may_own_send(value),
            sp::OVERRUN => usize::from(low) < self.shared.homes.names.processes,
            sp::HOLD | sp::CHARGE => (value as u32 as usize) < self.shared.homes.jobs(),
            sp::TURN => self.drain.is_some() && usize::from(low) < self.shared.homes.names.processes,
            sp::EXPRESS_SENT..sp::MISSED => self.has_slot(0, express_register(address).0 as u8),
            sp::ONEPOLL_ORDER.. => order_word(address) < self.orders.words(),
            _ => true,
        }
    }

    /// The queue exists, and the hardware has `slot` for its kind.
    fn has_slot(&self, name: QueueName, slot: u8) -> bool {
        let Some(service) = &self.service else { return false };
        let is_basic = self.shared.homes.names.is_basic(name);
        let slots = if is_basic { sp::SETTING_BASIC_SLOTS } else { sp::SETTING_EXPRESS_SLOTS };
        self.shared.homes.all().contains(&name) && u64::from(slot) < service.settings.get(slots)
    }

    /// The firmware stores to `address`.
    fn service_store(&mut self, c: &mut Context<'_, '_>, address: u64, bytes: u32, value: u64) {
        if !self.is_valid(address, value) {
            return self.wrong(
                c,
                &format!("a posted store of {value:#x} to {address:#x}, which names what there is not"),
            );
        }
        let name = value as QueueName;
        let service = self.service.as_mut().expect("the firmware runs");
        match address {
            sp::MASK => service.mask = value,
            sp::ADDRESS => service.address = value,
            sp::ACCESS_ANSWER => self.answer_access(value),
            sp::ACCESS_FORWARD => self.forward_access(c),
            sp::ACCESS_LAUNCH => self.launch_access(c),
            sp::LAUNCH => {
                self.transmitter.launch((value >> 32) as QueueName, value as u32);
                self.transmitter.go_on(&mut self.shared, c);
            }
            sp::MISS_POP => self.receiver.pop_missed(&mut self.shared, c),
            sp::MAP => self.map(name, (value >> 16) as u8, value & sp::MAP_RESIDENT != 0),
            sp::UNDIVERT if self.receiver.missed.has(name, self.shared.homes.job_of_queue(name)) => {}
            sp::UNDIVERT => self.shared.homes.undivert(name),
            sp::WATCH => service.watched = Some((name, usize::from((value >> 16) as u8))),
            sp::COMMAND => self.command(c, value),
            sp::OWN_SEND => {
                let entry = self.express.own_entry(value);
                self.express.push(self.express.own(), entry, &mut self.shared, c);
            }
            sp::OVERRUN => {
                let (jobs, dram) = (service.settings.get(sp::SETTING_SHARES), service.parameters.dram);
                c.fault(
                    ProcessId(name.into()),
                    format!(
                        "protection: messages that it has not received fill its share of the service processor's memory, \
                         1 of {jobs} of voyager.sp.dram = {dram}"
                    ),
                );
            }
            sp::CHARGE => service.turns.charge(JobId(value as u32), c.now),
            sp::HOLD => self.hold(c, JobId(value as u32), value & sp::HOLD_OVER == 0),
            sp::TURN => {
                let drain = self.drain.as_mut();
                c.outputs.turn = drain.map(|drain| drain.turn(value, c.now, &self.shared));
                self.dma.resume(ProcessId(name.into()));
                self.dma.go_on(&mut self.shared, c);
            }
            sp::STAGING.. if address + u64::from(bytes) <= sp::STAGING + sp::SSRAM_BYTES => {
                let at = (address - sp::STAGING) as usize;
                let bytes = bytes as usize;
                service.staging[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
            sp::EXPRESS_SENT..sp::MISSED => self.express_store(address, value),
            _ => match self.basic_register(address) {
                Some(register) => *register = value as u32,
                None => {
                    self.wrong(c, &format!("a posted store to {address:#x}, where the NES has no register"))
                }
            },
        }
    }

    /// The next event: that of the access that the firmware has begun to deal with, or the one whose turn it is.
    fn next_event(&mut self, now: Time) -> Option<u64> {
        self.service_mut().turns.is_over(now);
        if !self.may_have_event() {
            return None;
        }
        let mut turns = std::mem::take(&mut self.service_mut().turns);
        let begun = self.begun();
        let is_again = begun.is_some();
        let next = begun.or_else(|| turns.next(|kind, job| self.event_of(kind, job)));
        let service = self.service.as_mut().expect("the firmware runs");
        service.turns = turns;
        let (kind, event, job) = next?;
        match job {
            Some(job) if is_again => service.turns.again(job, now),
            Some(job) => service.turns.begin(job, now),
            None => service.turns.begin_of_site(now),
        }
        let job = job.unwrap_or(JobId(0));
        match kind {
            sp::KIND_ACCESS => service.accesses.begin(job, self.shared.homes.is_held(job)),
            sp::KIND_MISS => self.receiver.missed.show(job),
            sp::KIND_ROOM => drop(service.room.pop_front()),
            sp::KIND_LAUNCHED => service.launched = false,
            sp::KIND_QUIESCENT => service.watched = None,
            sp::KIND_LEFT => service.has_left = false,
            sp::KIND_TURN => self.drain.iter_mut().for_each(Drain::notified),
            sp::KIND_OVER => drop(service.over.pop_front()),
            _ => {}
        }
        Some(event | kind)
    }

    /// The event of the access that the firmware has begun to deal with, its kind, and its job: it may be heard of again.
    fn begun(&self) -> Option<(u64, u64, Option<JobId>)> {
        let accesses = &self.service.as_ref()?.accesses;
        let job = accesses.current_job()?;
        accesses.begun(job, self.shared.homes.is_held(job))?;
        Some((sp::KIND_ACCESS, self.event_of(sp::KIND_ACCESS, job)?, Some(job)))
    }

    /// There may be an event: looked for whenever anything happens in the NES, and mostly there is none.
    fn may_have_event(&self) -> bool {
        let service = self.service.as_ref().expect("the firmware runs");
        let is_leaving = self.drain.as_ref().is_some_and(Drain::is_leaving);
        let has_event =
            is_leaving || !service.accesses.is_empty() || !service.room.is_empty() || service.launched;
        has_event
            || service.has_left
            || !service.over.is_empty()
            || self.receiver.own.messages() > 0
            || service.watched.is_some()
            || !self.receiver.missed.is_empty()
    }

    /// The event of a `kind`, without the kind, if there is one. Accesses and missed packets: of `job`.
    fn event_of(&self, kind: u64, job: JobId) -> Option<u64> {
        let service = self.service.as_ref().filter(|service| service.mask >> kind & 1 != 0)?;
        let queue = |name: QueueName| u64::from(name) << 32;
        match kind {
            sp::KIND_ACCESS => {
                let access = service.accesses.next(job, self.shared.homes.is_held(job))?;
                let (what, queue) = description(self.shared.homes.names, access);
                Some(what << 8 | queue << 32)
            }
            sp::KIND_MISS => {
                let (name, waiting, unseen) = self.receiver.missed.next(job)?;
                Some((waiting as u64) << 8 | queue(name) | (unseen as u64).min(0xffff) << 48)
            }
            sp::KIND_ROOM => service.room.front().copied().map(queue),
            sp::KIND_LAUNCHED => service.launched.then_some(0),
            sp::KIND_MESSAGE => {
                let count = self.receiver.own.messages() as u64;
                (count > 0).then_some(count << 8)
            }
            sp::KIND_LEFT => service.has_left.then_some(0),
            sp::KIND_OVER => service.over.front().map(|process| u64::from(process.0) << 32),
            sp::KIND_TURN => {
                let is_leaving = self.drain.as_ref().is_some_and(Drain::is_leaving);
                (is_leaving && self.has_sent_all()).then_some(0)
            }
            _ => service
                .watched
                .filter(|&(name, slot)| self.is_quiescent(name, slot))
                .map(|(name, _)| queue(name)),
        }
    }

    /// What processes have sent has left for the network.
    fn has_sent_all(&self) -> bool {
        self.transmitter.is_empty() && self.express.is_empty() && self.dma.is_quiescent()
    }

    /// The hardware has nothing to send for the queue that was in `slot`.
    fn is_quiescent(&self, name: QueueName, slot: usize) -> bool {
        let is_basic = self.shared.homes.names.is_basic(name);
        if is_basic { self.transmitter.is_quiescent(slot) } else { self.express.is_quiescent(slot) }
    }

    fn answer_access(&mut self, value: u64) {
        let message_queue = self.express_queue(None, value);
        let Some(access) = self.service_mut().accesses.take() else { return };
        if access.value.is_some() {
            return;
        }
        let names = self.shared.homes.names;
        let may_take = matches!(description(names, &access).0, sp::WHAT_EXPRESS_TAKE | sp::WHAT_ONEPOLL);
        let takes = may_take && value >> r::EXPRESS_CAME_SHIFT & 0xf != 0;
        let took = message_queue.filter(|_| takes).map(|queue| self.shared.homes.return_message(queue));
        let value = match value {
            r::EXPRESS_EMPTY if may_take => self.empty_of(self.register(access.address)),
            value => value,
        };
        self.service_mut().answers.push(Answer { address: access.address, value, took });
    }

    /// The firmware's answer to a load of `bytes`, if there is one.
    pub(super) fn answer(&mut self, address: u64, bytes: u32) -> Option<Loaded> {
        let Answer { value, took, .. } = self.service.as_mut()?.answer(address)?;
        let half = self.register(address).half();
        let value = half.map_or(value, |half| self.receiver.inbox.part(half, bytes, value).0);
        let latency = self.shared.clock.edge(self.shared.nes.pointer_access.cycles());
        Some(Loaded { reply: Reply { value, latency, repeatable: false }, took })
    }

    fn forward_access(&mut self, c: &mut Context<'_, '_>) {
        let Some(access) = self.service_mut().accesses.take() else { return };
        let register = self.register(access.address);
        match (access.value, access.wide, register) {
            (_, Some(words), Register::Express(offset)) => {
                self.send(c, self.express.wide(offset, &words, access.name));
            }
            (Some(value), ..) => self.store(c, register, value, access.name),
            (None, ..) => {
                // A whole message: the processor gets its part of it later.
                let Loaded { reply, took } = self.load(c, register, 8);
                let answer = Answer { address: access.address, value: reply.value, took };
                self.service_mut().answers.push(answer);
            }
        }
    }

    fn launch_access(&mut self, c: &mut Context<'_, '_>) {
        let Some(access) = self.service_mut().accesses.take() else { return };
        let value = access.value.unwrap_or(0);
        let entry = match (self.register(access.address), access.wide) {
            (Register::Tag(offset), _) => self.express.tag_on(offset, value, access.name),
            (Register::Express(offset), None) => self.express.express(offset, value, access.name),
            (Register::Express(offset), Some(words)) => self.express.wide(offset, &words, access.name),
            _ => return,
        };
        let served = self.express.served();
        self.express.push(served, entry, &mut self.shared, c);
    }

    /// The queue gets the hardware slot, or leaves it.
    fn map(&mut self, name: QueueName, slot: u8, resident: bool) {
        self.shared.homes.map(name, resident.then_some(slot));
        let slot = usize::from(slot);
        if resident {
            self.assign_slot(name, slot);
        } else if self.shared.homes.names.is_basic(name) {
            self.transmitter.map(slot, None);
        }
    }

    /// Pointer of a hardware slot at `address`.
    fn basic_register(&mut self, address: u64) -> Option<&mut u32> {
        let offset = address.checked_sub(sp::BASIC_TRANSMIT_PRODUCER)?;
        let slot = (offset / sp::BASIC_STRIDE) as usize;
        if slot as u64 >= self.service.as_ref()?.settings.get(sp::SETTING_BASIC_SLOTS) {
            return None;
        }
        Some(match offset % sp::BASIC_STRIDE + sp::BASIC_TRANSMIT_PRODUCER {
            sp::BASIC_TRANSMIT_PRODUCER => &mut self.transmitter.slot_mut(slot).ring.producer,
            sp::BASIC_TRANSMIT_CONSUMER => &mut self.transmitter.slot_mut(slot).ring.consumer,
            sp::BASIC_RECEIVE_PRODUCER => &mut self.receiver.slot_mut(slot).producer,
            _ => &mut self.receiver.slot_mut(slot).consumer,
        })
    }

    fn express_load(&mut self, address: u64) -> u64 {
        let (slot, register) = express_register(address);
        match register {
            sp::EXPRESS_TAKE => {
                let Some((message, name)) = self.receiver.inbox.pop(slot) else { return r::EXPRESS_EMPTY };
                if let Some(queue) = self.express_queue(Some(slot), message) {
                    self.shared.homes.withdraw(queue, name);
                }
                message
            }
            _ => u64::from(*self.express.sent_mut(slot)),
        }
    }

    fn express_store(&mut self, address: u64, value: u64) {
        let (slot, register) = express_register(address);
        match register {
            sp::EXPRESS_TAKE => {
                let queue = self.express_queue(Some(slot), value);
                let name = queue.and_then(|queue| self.shared.homes.return_message(queue));
                self.receiver.inbox.push(slot, value, name);
            }
            _ => *self.express.sent_mut(slot) = value as u32,
        }
    }

    /// The queue of an Express message: the one in `slot`, or as the process reads it whose access, or system software's for it,
    /// the firmware deals with.
    fn express_queue(&self, slot: Option<usize>, message: u64) -> Option<QueueName> {
        let homes = &self.shared.homes;
        let in_slot = slot.and_then(|slot| homes.in_express_slot(slot));
        let of_access = || {
            let access = self.service.as_ref()?.accesses.current()?;
            let own = message >> r::EXPRESS_QUEUE_SHIFT & 3;
            let process = self.process_of(self.register(access.address));
            (own < r::EXPRESS_QUEUES).then(|| homes.names.express(process, own))
        };
        in_slot.or_else(of_access)
    }
}

/// Slot, and register of slot 0, at `address`.
fn express_register(address: u64) -> (usize, u64) {
    let offset = address - sp::EXPRESS_SENT;
    ((offset / sp::EXPRESS_STRIDE) as usize, sp::EXPRESS_SENT + offset % sp::EXPRESS_STRIDE)
}

/// Which word of the phantom queues' orders is at `address`.
fn order_word(address: u64) -> usize {
    ((address - sp::ONEPOLL_ORDER) / 8) as usize
}

/// What MISSED_AHEAD says of a packet.
fn ahead(packet: &Packet) -> u64 {
    let header = VoyagerPacket::from_bytes(&packet.bytes);
    let is_own =
        u64::from(header.kind) == sp::PACKET_EXPRESS && u64::from(header.flags) & sp::PACKET_OWN != 0;
    u64::from(packet.source) & sp::AHEAD_SITE | if is_own { sp::AHEAD_OWN } else { 0 }
}

/// The eight bytes at `at`; zero where there are none.
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    let there = bytes.get(at..).unwrap_or(&[]);
    let length = there.len().min(8);
    word[..length].copy_from_slice(&there[..length]);
    u64::from_le_bytes(word)
}

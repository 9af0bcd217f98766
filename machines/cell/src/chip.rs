//! The SPEs of a chip, as a device of the node: their processors, run as far as nobody touches their local stores, their
//! hardware (crates/element), interrupts, and what of a program's trouble is said.
//!
//! A processor is never run past what may touch its local store or registers (`wire.rs`): transactions on the interconnect
//! are known when they are asked for, and whatever is not known yet takes a command's answer at least until it gets there.

use std::sync::Arc;

use chasqui_abi::NiIdentification;
use chasqui_counters::{Counters, Visitor, below};
use chasqui_element::{
    Area, ChannelRead, ChannelWrite, Cores, Granted, LocalStore, MfcFault, MfcStep, Place, Refusal, Transfer,
    channel, problem,
};
use chasqui_engine::{Event, Packet, Payload, Time};
use chasqui_linux::Elf;
use chasqui_memory::{DEVICE_BASE, PAGE_BYTES};
use chasqui_ni::{
    BusOperation, BusRequest, Cause, Context, DeviceAccess, FIRMWARE_MEMORY, FirmwareProcessor,
    NetworkInterface, Region, Reply, Trap,
};
use chasqui_placement::ProcessId;
use chasqui_record::{Profile, Stage};

use crate::parameters::MpiUnit;
use crate::rank::{self, Rank};
use crate::registers::{self, HEADER};
use crate::wire::{ChipEvent, Wire, name_of, slot_of, spe_of, tag};

/// The process whose SPEs they are: a node has one.
const PROCESS: ProcessId = ProcessId(0);
/// Interrupt lines of an SPE, one a class.
const CLASSES: usize = 3;
/// The longest image whose names are looked at [bytes].
const IMAGE_MAX: u64 = 64 << 20;

/// What is beside an SPE's hardware and processor.
#[derive(Default)]
struct Spe {
    /// Its program runs.
    runs: bool,
    /// It has stopped by itself, and would go on there.
    stopped: Option<u32>,
    /// Events to come in which it goes on, and in which its MFC does.
    run_at: Option<Time>,
    steps: Vec<Time>,
    /// By slot of the MFC: the transfer, and what came of it.
    transfers: Vec<Option<(Transfer, Granted)>>,
    /// What was wrong last, in words.
    trouble: Option<String>,
    /// Its program has been run to an error of its own, which is made known then.
    failed: Option<(Time, String)>,
    /// Names of the program's addresses.
    image: Option<Arc<Elf>>,
    /// Interrupt lines as the node has them.
    lines: [bool; CLASSES],
    /// Of a program in pages.
    rank: Rank,
}

/// What a chip is made from.
pub struct ChipPlan {
    /// The hardware of the SPEs, at their addresses.
    pub cores: Cores,
    /// Their processors, on their local stores.
    pub processors: Vec<FirmwareProcessor<LocalStore>>,
    /// The other end is the interconnect's.
    pub wire: Wire,
    /// From a load's arrival at a register to its value.
    pub register: Time,
    /// The same of a channel, by its own core.
    pub channel: Time,
    /// Bytes of a local store.
    pub store_bytes: u64,
    /// A clock of the interconnect.
    pub clock: Time,
    /// The kernel gives the MFCs all translations.
    pub soft_tlb: bool,
    /// How messages go.
    pub mpi: MpiUnit,
    /// Programs of the node's processes, by their numbers, which name the addresses of ranks in profiles.
    pub programs: Vec<Arc<Elf>>,
    /// Physical address of the main memory that is for messages.
    pub messages: u64,
}

/// The SPEs.
pub struct Spes {
    plan: ChipPlan,
    spes: Vec<Spe>,
    /// Virtual address of the image that is named next.
    image_address: u64,
}

impl Spes {
    /// Idle ones.
    pub fn new(plan: ChipPlan) -> Spes {
        let spes = plan.processors.iter().map(|_| Spe::default()).collect();
        Spes { plan, spes, image_address: 0 }
    }

    // --- the MFC ------------------------------------------------------------------------------------------

    /// Does what follows at the MFC of `spe`.
    fn follow(&mut self, spe: usize, c: &mut Context<'_, '_>) {
        let ChipPlan { cores, processors, .. } = &mut self.plan;
        let element = &mut cores.elements[spe];
        let mut moved = vec![];
        while let Some(step) = element.step(c.now, processors[spe].memory.bytes()) {
            match step {
                MfcStep::At(at) => Self::step_at(&mut self.spes[spe], spe, at, c),
                MfcStep::Fault(fault) => {
                    self.spes[spe].trouble = Some(fault_text(fault, &processors[spe], spe))
                }
                MfcStep::Transfer(transfer) => {
                    moved.push(transfer);
                    let operation =
                        if transfer.kind.is_read() { BusOperation::Read } else { BusOperation::Write };
                    let (address, bytes) = (transfer.physical, transfer.bytes);
                    c.bus(BusRequest { operation, address, bytes, tag: tag(spe, &transfer) });
                    let transfers = &mut self.spes[spe].transfers;
                    if transfers.len() <= transfer.slot {
                        transfers.resize(transfer.slot + 1, None);
                    }
                    transfers[transfer.slot] = Some((transfer, Granted::Lost));
                }
            }
        }
        if let Some(at) = element.next_event() {
            Self::step_at(&mut self.spes[spe], spe, at, c);
        }
        moved.iter().for_each(|transfer| self.stamp(spe, transfer, Stage::Inject, c));
    }

    /// The MFC says each time once.
    fn step_at(of: &mut Spe, spe: usize, at: Time, c: &mut Context<'_, '_>) {
        let at = at.max(c.now);
        if !of.steps.contains(&at) {
            of.steps.push(at);
            c.at(at, ChipEvent::Step(spe).into());
        }
    }

    // --- the program --------------------------------------------------------------------------------------

    /// Something has happened at `spe`: its MFC and its program go on.
    fn advance(&mut self, spe: usize, c: &mut Context<'_, '_>) {
        loop {
            self.follow(spe, c);
            self.look_at_run(spe, c.now);
            self.look_at_failure(spe, c.now);
            if !self.spes[spe].runs || !(self.access(spe, c) || self.run(spe, c)) {
                break;
            }
        }
        self.plan.wire.shared().reserved[spe] = self.plan.cores.elements[spe].mfc.reserved();
        self.show_lines(spe, c);
    }

    /// The host may have told it to run, or to stop.
    fn look_at_run(&mut self, spe: usize, now: Time) {
        let (element, of) = (&mut self.plan.cores.elements[spe], &mut self.spes[spe]);
        let processor = &mut self.plan.processors[spe];
        if let Some(npc) = element.take_start() {
            of.runs = true;
            of.trouble = None;
            if processor.serves_traps() {
                return processor.resume(now);
            }
            if of.stopped.take() != Some(npc) {
                of.failed = None;
                return processor.begin(now, FIRMWARE_MEMORY + u64::from(npc), of.image.clone());
            }
            if is_stop(processor.held()) {
                processor.loaded(now, 0, self.plan.channel);
            }
        } else if of.runs && !element.is_running() {
            of.runs = false;
            let npc = local(processor.pc());
            element.suspended(npc);
            of.stopped = Some(npc);
        }
    }

    /// The program may have got to its error.
    fn look_at_failure(&mut self, spe: usize, now: Time) {
        let of = &mut self.spes[spe];
        if of.runs
            && let Some((_, text)) = of.failed.take_if(|(at, _)| *at <= now)
        {
            self.error(spe, &text, false);
        }
    }

    /// The access to a channel that is due, or waits, is made if that can be. False: there is none, or it waits.
    fn access(&mut self, spe: usize, c: &mut Context<'_, '_>) -> bool {
        let now = c.now;
        let processor = &mut self.plan.processors[spe];
        if let Some(trap) = processor.takes_trap(now) {
            self.trapped(spe, trap);
            return false;
        }
        let processor = &mut self.plan.processors[spe];
        let Some(access) = processor.takes_place(now).or(processor.held()) else { return false };
        let element = &mut self.plan.cores.elements[spe];
        let done = match access {
            DeviceAccess::Load { address, bytes } if !is_channel(address, bytes) => {
                return self.no_channel(spe, "a load from", address);
            }
            DeviceAccess::Load { address, .. } if address >= registers::STOP => {
                return self.stop(spe, address);
            }
            DeviceAccess::Load { address, .. } => {
                let number = address % channel::COUNTS / channel::ADDRESS_BYTES;
                let value = if address >= 2 * channel::COUNTS {
                    ChannelRead::Invalid
                } else if address >= channel::COUNTS {
                    element.channel_count(number, now).map_or(ChannelRead::Invalid, ChannelRead::Value)
                } else {
                    element.read_channel(number, now)
                };
                match value {
                    ChannelRead::Value(value) => processor.loaded(now, value.into(), self.plan.channel),
                    ChannelRead::Empty => {}
                    ChannelRead::Invalid => return self.no_channel(spe, "a load from", address),
                }
                matches!(value, ChannelRead::Value(_))
            }
            DeviceAccess::Store { address, bytes, value } => {
                let number = address / channel::ADDRESS_BYTES;
                let written = if is_channel(address, bytes) && address < channel::COUNTS {
                    element.write_channel(number, value as u32, now)
                } else {
                    ChannelWrite::Invalid
                };
                let rank = &mut self.spes[spe].rank;
                match written {
                    ChannelWrite::Done => {
                        processor.stored(now);
                        if let Some(id) = rank.stored((number, value as u32), processor.accesses()) {
                            c.recorders[rank.process()].stamp(id, Stage::Accept, now.0);
                        }
                    }
                    ChannelWrite::Full => {}
                    ChannelWrite::Invalid => return self.no_channel(spe, "a store to", address),
                }
                written == ChannelWrite::Done
            }
        };
        self.plan.cores.elements[spe].waits(!done);
        done
    }

    /// The program stops with a code; it goes on behind the load that says so.
    fn stop(&mut self, spe: usize, address: u64) -> bool {
        let code = (address - registers::STOP) / channel::ADDRESS_BYTES;
        if code >= registers::STOP_CODES {
            return self.no_channel(spe, "a load from", address);
        }
        let processor = &mut self.plan.processors[spe];
        let at = local(processor.pc()) as usize;
        // Instructions of 16 bits end otherwise than in 11.
        let Some(first) = processor.memory.bytes().get(at) else {
            return self.no_channel(spe, "a load from", address);
        };
        let length = if first & 3 == 3 { 4 } else { 2 };
        let npc = at as u32 + length;
        (self.spes[spe].runs, self.spes[spe].stopped) = (false, Some(npc));
        self.plan.cores.elements[spe].stop_and_signal(code as u16, npc);
        false
    }

    fn no_channel(&mut self, spe: usize, what: &str, address: u64) -> bool {
        let text =
            format!("{what} {address:#x} among its channels, where there is none of 32 bits that takes it");
        let text = self.plan.processors[spe].halt(&text);
        self.error(spe, &text, true)
    }

    /// The program has made an error: it does not go on.
    fn error(&mut self, spe: usize, text: &str, channel: bool) -> bool {
        let processor = &self.plan.processors[spe];
        let npc = local(processor.pc());
        let line = self.spes[spe].image.as_ref().and_then(|image| image.line(processor.pc()));
        let line = line.map(|line| format!(", {line}")).unwrap_or_default();
        self.spes[spe].trouble = Some(format!("{text}{line}"));
        (self.spes[spe].runs, self.spes[spe].stopped) = (false, None);
        self.plan.cores.elements[spe].err(npc, channel);
        false
    }

    /// Runs the program as far as it can be. True: an access to a channel is due at once.
    fn run(&mut self, spe: usize, c: &mut Context<'_, '_>) -> bool {
        let now = c.now;
        let of = &self.spes[spe];
        let touched = self.plan.wire.shared().touched(spe, now, self.plan.clock);
        let touched = of.steps.iter().copied().fold(touched, Time::min);
        let processor = &mut self.plan.processors[spe];
        if touched <= now {
            // What touches it now is about to happen.
            return false;
        }
        processor.memory.touched_at(touched);
        let ran = processor.run(now);
        self.pass_marks(spe, c);
        let processor = &mut self.plan.processors[spe];
        let goes_on = match ran {
            Ok(goes_on) => goes_on,
            Err(text) => {
                // Whoever looks at its state sees it no sooner, and in an event that is visible.
                let at = processor.time().max(now);
                self.spes[spe].failed = Some((at, text));
                c.at(at, ChipEvent::Access(spe).into());
                return false;
            }
        };
        let Some(at) = goes_on.map(|at| at.max(now)) else { return false };
        let access = processor.next_access().filter(|&access| access <= at);
        if access.is_some() && at <= now {
            return true;
        }
        let of = &mut self.spes[spe];
        if of.run_at.is_none_or(|run_at| at < run_at || access.is_some()) {
            of.run_at = Some(at);
            let event = if access.is_some() { ChipEvent::Access(spe) } else { ChipEvent::Run(spe) };
            c.at(at, event.into());
        }
        false
    }

    // --- ranks ---------------------------------------------------------------------------------------------

    /// The register of an SPE's processor there, if there is one.
    fn core(&self, offset: u64) -> Option<(usize, u64)> {
        rank::core(offset).filter(|&(spe, _)| spe < self.spes.len())
    }

    fn core_stores(&mut self, (spe, at): (usize, u64), value: u64, c: &mut Context<'_, '_>) {
        let rank = &mut self.spes[spe].rank;
        if at == registers::CORE_FULL {
            let text = rank::does_not_fit(spe, value, self.plan.store_bytes);
            return c.fault(ProcessId(rank.process() as u32), text);
        }
        let ChipPlan { processors, programs, .. } = &mut self.plan;
        rank.stores((at, value), &mut processors[spe], programs, c.now);
    }

    /// The program has stopped for the kernel.
    fn trapped(&mut self, spe: usize, trap: Trap) {
        let of = &mut self.spes[spe];
        of.rank.trapped(trap);
        of.runs = false;
        let npc = local(self.plan.processors[spe].pc());
        self.plan.cores.elements[spe].stop_and_signal(registers::STOP_TRAP as u16, npc);
    }

    /// What its program has marked goes to the records of its rank.
    fn pass_marks(&mut self, spe: usize, c: &mut Context<'_, '_>) {
        let rank = &mut self.spes[spe].rank;
        let marks = self.plan.processors[spe].take_rank_marks();
        c.outputs.marks.extend(marks.into_iter().filter_map(|mark| rank.marked(mark)));
    }

    /// The message that its transfer carries has got to `stage`.
    fn stamp(&mut self, spe: usize, transfer: &Transfer, stage: Stage, c: &mut Context<'_, '_>) {
        let rank = &mut self.spes[spe].rank;
        let Some(id) = rank.carried(transfer) else { return };
        if stage == Stage::Land {
            rank.landed(transfer);
        }
        c.recorders[rank.process()].stamp(id, stage, c.now.0);
    }

    // --- the kernel ---------------------------------------------------------------------------------------

    fn show_lines(&mut self, spe: usize, c: &mut Context<'_, '_>) {
        let lines = self.plan.cores.elements[spe].interrupt_lines();
        for (class, asserted) in lines.into_iter().enumerate() {
            if std::mem::replace(&mut self.spes[spe].lines[class], asserted) != asserted {
                c.interrupt((spe * CLASSES + class) as u32, asserted);
            }
        }
    }

    /// A store to a register of the chip's own.
    fn chip_stores(&mut self, offset: u64, value: u64, c: &mut Context<'_, '_>) {
        match offset {
            registers::CHIP_REPORT if (value as u32 as usize) < self.spes.len() => {
                let spe = value as u32 as usize;
                let said = self.spes[spe].trouble.clone();
                let text = said.unwrap_or_else(|| format!("spe{spe}: it has stopped"));
                c.fault(ProcessId((value >> 32) as u32), text);
            }
            _ if let Some(place) = self.core(offset) => self.core_stores(place, value, c),
            registers::CHIP_IMAGE => self.image_address = value,
            registers::CHIP_IMAGE_BYTES if ((value >> 48) as usize) < self.spes.len() => {
                let image = self.read_image(value & 0xffff_ffff_ffff, c);
                let of = &mut self.spes[(value >> 48) as usize];
                // What is begun next is another program, wherever the one before has stopped.
                (of.image, of.stopped) = (image, None);
            }
            _ => c.fault(
                PROCESS,
                format!("a store to {offset:#x} of the chip's registers, where there is none"),
            ),
        }
    }

    /// The image in the process's memory; none: it is not there, or no image.
    fn read_image(&self, bytes: u64, c: &mut Context<'_, '_>) -> Option<Arc<Elf>> {
        if bytes > IMAGE_MAX {
            return None;
        }
        let mut image = vec![0; bytes as usize];
        let mut done = 0;
        while done < bytes {
            let at = self.image_address.checked_add(done)?;
            let length = (PAGE_BYTES - at % PAGE_BYTES).min(bytes - done);
            let physical = c.physical(PROCESS, at, false).or_else(|| {
                c.page_in(PROCESS, at, false).then(|| c.physical(PROCESS, at, false)).flatten()
            })?;
            let data = c.memory.slice(physical, length as usize).ok()?;
            image[done as usize..][..length as usize].copy_from_slice(data);
            done += length;
        }
        let within = FIRMWARE_MEMORY..FIRMWARE_MEMORY + self.plan.store_bytes;
        Elf::parse_within("the program of an SPE", image, within).ok().map(Arc::new)
    }

    /// An access that is not made: the process's end.
    fn refused(place: Place, why: Refusal, c: &mut Context<'_, '_>) {
        c.fault(PROCESS, format!("an access of the PPE to {}: {why}", in_words(place)));
    }

    /// SPEs that the access at `address` concerns.
    fn concerned(&self, address: u64, bytes: u32) -> Option<usize> {
        match self.plan.wire.map.place(address, bytes.into()) {
            Place::Store(spe, _) | Place::Register(spe, ..) => Some(spe),
            Place::Nothing | Place::Elsewhere => None,
        }
    }
}

/// The address in the local store.
fn local(pc: u64) -> u32 {
    pc.wrapping_sub(FIRMWARE_MEMORY) as u32
}

/// Channels have 32 bits, and are accessed as a whole.
fn is_channel(address: u64, bytes: u32) -> bool {
    bytes == 4 && address.is_multiple_of(channel::ADDRESS_BYTES)
}

fn is_stop(access: Option<DeviceAccess>) -> bool {
    matches!(access, Some(DeviceAccess::Load { address, .. }) if address >= registers::STOP)
}

/// Loads of it have no effect, and what it says changes in events alone.
fn is_repeatable(place: Place) -> bool {
    let Place::Register(_, Area::Problem, offset) = place else { return false };
    let constant = [problem::MBOX_STAT, problem::STATUS, problem::NPC, problem::RUN_CONTROL];
    let queue = [problem::MFC_QSTATUS, problem::PRXY_TAG_STATUS, problem::MFC_CLASS_CMD];
    constant.contains(&offset) || queue.contains(&offset)
}

fn in_words(place: Place) -> String {
    match place {
        Place::Store(spe, at) => format!("{at:#x} of the local store of spe{spe}"),
        Place::Register(spe, area, offset) => {
            let area = match area {
                Area::Problem => "problem state",
                Area::Privileged => "the second privileged area",
                Area::Hypervisor => "the first privileged area",
            };
            format!("{offset:#x} in {area} of spe{spe}")
        }
        Place::Nothing | Place::Elsewhere => "nothing".into(),
    }
}

fn fault_text(fault: MfcFault, processor: &FirmwareProcessor<LocalStore>, spe: usize) -> String {
    let place = processor.place().map(|place| format!(" ({place})")).unwrap_or_default();
    format!("spe{spe}: {fault}; its program is at pc {:#x}{place}", processor.pc())
}

impl NetworkInterface for Spes {
    fn identify(&self, page: &mut NiIdentification) {
        let map = self.plan.wire.map;
        let mpi = &self.plan.mpi;
        page.device = if mpi.is_plain() { registers::DEVICE } else { registers::WAYS_DEVICE } as u32;
        page.interface = HEADER.interface();
        let offset = |area| map.area(0, area) - map.store(0);
        for (number, value) in [
            (registers::SETTING_SPES, self.spes.len() as u64),
            (registers::SETTING_STORE_BYTES, self.plan.store_bytes),
            (registers::SETTING_STRIDE, map.stride()),
            (registers::SETTING_PROBLEM, offset(Area::Problem)),
            (registers::SETTING_PRIVILEGED, offset(Area::Privileged)),
            (registers::SETTING_HYPERVISOR, offset(Area::Hypervisor)),
            (registers::SETTING_SOFT_TLB, u64::from(self.plan.soft_tlb)),
            (registers::SETTING_MAILBOX, u64::from(mpi.mailbox)),
            (registers::SETTING_LONG, mpi.long.setting()),
        ] {
            page.settings[number as usize] = value;
        }
    }

    /// A window for each SPE: its local store, and problem state behind it; then the buffers in main memory, if there are any.
    fn regions(&self, _: ProcessId) -> Vec<Region> {
        let map = self.plan.wire.map;
        let window = |spe| {
            let physical = map.store(spe);
            Region { physical, bytes: map.area(spe, Area::Problem) + Area::Problem.bytes() - physical }
        };
        let bytes = self.plan.mpi.memory_bytes(self.spes.len());
        let buffers = (bytes > 0).then_some(Region { physical: self.plan.messages, bytes });
        (0..self.spes.len()).map(window).chain(buffers).collect()
    }

    fn read(&mut self, c: &mut Context<'_, '_>, address: u64, bytes: u32) -> Reply {
        let physical = DEVICE_BASE + address;
        let core = address.checked_sub(registers::CHIP).and_then(|offset| self.core(offset));
        if let Some((spe, at)) = core {
            let value = self.spes[spe].rank.loads(at, &self.plan.processors[spe]);
            return Reply { value, latency: self.plan.register, repeatable: false };
        }
        let place = self.plan.wire.map.place(physical, bytes.into());
        let ChipPlan { cores, processors, .. } = &mut self.plan;
        let value = match cores.host_read((physical, bytes), true, processors, c.now) {
            Ok(value) => value,
            Err(why) => {
                Self::refused(place, why, c);
                0
            }
        };
        if let Some(spe) = self.concerned(physical, bytes) {
            self.advance(spe, c);
        }
        Reply { value, latency: self.plan.register, repeatable: is_repeatable(place) }
    }

    fn write(&mut self, c: &mut Context<'_, '_>, address: u64, bytes: u32, value: u64) {
        let physical = DEVICE_BASE + address;
        if let Some(offset) = address.checked_sub(registers::CHIP) {
            return self.chip_stores(offset, value, c);
        }
        let place = self.plan.wire.map.place(physical, bytes.into());
        let ChipPlan { cores, processors, .. } = &mut self.plan;
        match cores.host_write((physical, bytes), value, true, processors, c.now) {
            Ok(spe) => self.advance(spe, c),
            Err(why) => Self::refused(place, why, c),
        }
    }

    fn event(&mut self, c: &mut Context<'_, '_>, payload: Payload) {
        match payload.into() {
            ChipEvent::Step(spe) => {
                self.spes[spe].steps.retain(|&at| at > c.now);
                self.advance(spe, c);
            }
            ChipEvent::Access(spe) => {
                self.spes[spe].run_at.take_if(|at| *at <= c.now);
                self.advance(spe, c);
            }
            // Nothing is made of an access that is due: that has an event of its own.
            ChipEvent::Run(spe) => {
                self.spes[spe].run_at.take_if(|at| *at <= c.now);
                if self.spes[spe].runs && self.run(spe, c) {
                    c.at(c.now, ChipEvent::Access(spe).into());
                }
            }
            ChipEvent::Written(address) => {
                let bytes = u64::from(chasqui_element::LINE_BYTES);
                self.plan.cores.written(None, address, bytes);
                (0..self.spes.len()).for_each(|spe| self.advance(spe, c));
            }
        }
    }

    fn network(&mut self, _: &mut Context<'_, '_>, _: Event, _: Option<Box<Packet>>) {
        unreachable!("there is no network");
    }

    fn bus_granted(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        let (spe, slot) = (spe_of(request), slot_of(request));
        let ChipPlan { cores, processors, wire, .. } = &mut self.plan;
        let under_way = self.spes[spe].transfers[slot].as_mut().expect("it was asked for");
        under_way.1 = cores.granted(spe, under_way.0, processors, c.memory, c.now);
        let transfer = under_way.0;
        let mut shared = wire.shared();
        shared.granted = Some(under_way.1);
        for (reserved, element) in shared.reserved.iter_mut().zip(&cores.elements) {
            *reserved = element.mfc.reserved();
        }
        // It is no more to come for anybody but its own MFC.
        shared.leave_others(spe, name_of(request));
        drop(shared);
        self.stamp(spe, &transfer, Stage::Arrive, c);
        if let Some(other) = self.concerned(request.address, request.bytes) {
            self.advance(other, c);
        }
        self.advance(spe, c);
    }

    fn bus_done(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        let (spe, slot) = (spe_of(request), slot_of(request));
        let ChipPlan { cores, processors, wire, .. } = &mut self.plan;
        wire.shared().leave(name_of(request));
        let mfc = &mut cores.elements[spe].mfc;
        let (transfer, granted) = self.spes[spe].transfers[slot].take().expect("it was asked for");
        match granted {
            Granted::Refused => mfc.refuse(slot, c.now),
            Granted::Moves(_) | Granted::Lost => mfc.done(slot, processors[spe].memory.bytes_mut(), c.now),
        }
        self.stamp(spe, &transfer, Stage::Land, c);
        self.advance(spe, c);
    }

    fn memory_latency(&self, _: u64) -> Option<Time> {
        None
    }

    fn is_visible(&self, payload: Payload) -> bool {
        ChipEvent::from(payload).is_visible()
    }

    /// There are no other partitions.
    fn output_latency(&self, _: Cause<'_>) -> &[Time] {
        &[Time::NEVER]
    }

    fn input_latency(&self) -> Time {
        Time::NEVER
    }

    fn interrupt_lines(&self) -> u32 {
        (self.spes.len() * CLASSES) as u32
    }

    fn take_profiles(&mut self) -> Vec<Profile> {
        self.plan.processors.iter_mut().flat_map(FirmwareProcessor::take_profiles).collect()
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        let ChipPlan { cores, processors, .. } = &self.plan;
        for (spe, (element, processor)) in cores.elements.iter().zip(processors).enumerate() {
            let name = format!("spe{spe}");
            let mut visit = below(&name, visit);
            element.statistics(&mut visit);
            self.spes[spe].rank.statistics.visit(&mut below("rank", &mut visit));
            processor.statistics(&mut below("core", &mut visit));
        }
    }
}

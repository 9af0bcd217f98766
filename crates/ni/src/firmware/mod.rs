//! A firmware processor: a hart inside an NI that runs a program in C.
//!
//! It meets the rest of the machine where it accesses its device, the NI's hardware, and in its memory, if others use that
//! too. `private.rs` is memory that nobody else uses, `shared.rs` an SRAM behind an arbiter. The NI has the processor go on
//! ([`FirmwareProcessor::go_on`]), and an event when its next access to the device takes place, or when it is to be run
//! again. Then it asks what takes place ([`FirmwareProcessor::takes_place`]) and says what came of it
//! ([`FirmwareProcessor::stored`], [`FirmwareProcessor::loaded`]). An access may be held for as long as the device likes: a
//! processor that waits for something to do, or for room, costs nothing ([`Mailbox`](crate::Mailbox)).

mod private;
mod shared;

use std::sync::Arc;

use chasqui_abi::{Envelope, mark};
use chasqui_counters::{Counters, Visitor, below, counters};
use chasqui_engine::{Clock, Payload, Time};
use chasqui_hart::supervisor::exception_of;
use chasqui_hart::{Execution, Halt, HaltAtMarks, Hart, State, Timing};
use chasqui_linux::Elf;
use chasqui_memory::{
    DEVICE_BASE, FlatMemory, PAGE_BYTES, Port, PortKind, PortParameters, Request, Slot, Stall, pte,
};
use chasqui_record::{Cause, Profile, Profiled, REQUEST_BYTES, Site};
use chasqui_watch::{Symbols, Watch};

use crate::Context;
pub use private::PrivateMemory;
pub use shared::SharedSram;

/// Virtual address of the processor's memory: firmware is linked here. Below, a null pointer faults.
pub const FIRMWARE_MEMORY: u64 = 0x8000_0000;
/// Virtual address of its device; uncached.
pub const FIRMWARE_DEVICE: u64 = 0x4000_0000;
/// What an entry of a root page table maps (Sv39) [bytes].
const GIGAPAGE: u64 = 1 << 30;
/// What a page of the lowest tables maps [bytes].
const MEGAPAGE: u64 = 512 * PAGE_BYTES;
/// Firmware that executes so many instructions without an access to its device is taken to hang.
const INSTRUCTIONS_MAX: u64 = 100_000_000;
/// Instructions that are run at once, about: so often it is looked whether firmware hangs.
const SLICE_CYCLES: u64 = 1 << 20;
/// So often it goes on at once where nothing else happens, before the engine is asked again.
const STEPS_MAX: usize = 1 << 12;

/// What a firmware processor is made from, with a program of the kind `Image`.
#[derive(Clone)]
pub struct SpecWith<Image> {
    /// What it is called in messages.
    pub name: &'static str,
    /// Its program.
    pub image: Image,
    /// Caches and buffers; without a second level.
    pub port: PortParameters,
    /// Costs of instructions.
    pub timing: Timing,
    /// Its clock.
    pub clock: Clock,
    /// Frequency of its `time` CSR.
    pub timebase_hz: u64,
    /// What executes its instructions.
    pub execution: Execution,
    /// Number of its node, if its cycles are to be counted ([`FirmwareProcessor::take_profiles`]).
    pub profiled: Option<u32>,
    /// Marks that it executes are kept until they are taken ([`FirmwareProcessor::take_marks`]); else they say nothing.
    pub keeps_marks: bool,
}

/// What one is made from that begins with its program at once.
pub type FirmwareSpec = SpecWith<Arc<Elf>>;
/// What one is made from into whose memory others put programs ([`FirmwareProcessor::stopped`]).
pub type ProcessorSpec = SpecWith<()>;

impl FirmwareSpec {
    fn apart(self) -> (Arc<Elf>, ProcessorSpec) {
        let SpecWith { name, image, port, timing, clock, timebase_hz, execution, profiled, keeps_marks } =
            self;
        let spec =
            SpecWith { name, image: (), port, timing, clock, timebase_hz, execution, profiled, keeps_marks };
        (image, spec)
    }
}

/// A mark that firmware has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirmwareMark {
    /// When.
    pub time: Time,
    /// Code, [`chasqui_abi::mark`] numbers.
    pub code: u32,
    /// Value of the live register.
    pub value: u64,
}

/// An access to the device; addresses are relative to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceAccess {
    /// A load takes place at its grant: [`FirmwareProcessor::loaded`] says what it gets.
    Load {
        /// Address.
        address: u64,
        /// Length [bytes].
        bytes: u32,
    },
    /// A store takes place at its end: [`FirmwareProcessor::stored`].
    Store {
        /// Address.
        address: u64,
        /// Length [bytes].
        bytes: u32,
        /// Value.
        value: u64,
    },
}

/// Why a program has stopped that system software serves ([`FirmwareProcessor::serve_traps`]), at the instruction at which it
/// goes on ([`FirmwareProcessor::resume`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// It is about to begin.
    Begin,
    /// The instruction is a system call, or can't be executed, perhaps not yet: `scause` and `stval` of a hart with a
    /// supervisor.
    Exception {
        /// Cause ([`chasqui_hart::supervisor::cause`]).
        cause: u64,
        /// Address, or the instruction.
        value: u64,
    },
}

/// A mark that a program of a rank's has executed ([`FirmwareProcessor::serve_traps`]).
#[derive(Clone, Debug)]
pub struct RankMark {
    /// When.
    pub time: Time,
    /// Code, [`chasqui_abi::mark`] numbers.
    pub code: u32,
    /// Number of the call.
    pub call: u32,
    /// Value of the live register.
    pub value: u64,
    /// Accesses to the device that it had asked for before.
    pub accesses: u64,
    /// What lies there, if that is the address of an envelope, or of the request on which it is blocked.
    pub there: Vec<u8>,
    /// Where the program is.
    pub site: Site,
}

/// The access to the device that a request of the hart is, and when it takes place; none: one to memory.
pub type Taken = Option<(Time, DeviceAccess)>;

/// An access to memory that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    slot: Slot,
    /// What an uncached load got.
    value: u64,
    end: Time,
}

/// A firmware processor's memory, and its way there.
pub trait LocalMemory {
    /// What the processor may have before it.
    const KINDS: &[PortKind] = &[PortKind::Caches, PortKind::Scratchpad, PortKind::Cacheless];
    /// What it holds.
    fn memory(&mut self) -> &mut FlatMemory;
    /// Address of the page for the page table, which the stack begins below.
    fn table(&self) -> u64;
    /// Bytes that the processor may use, whole pages, if that is not everything: then [`table_bytes`] from
    /// [`LocalMemory::table`] on are for the page table, which is out of its program's reach.
    fn reach(&self) -> Option<u64> {
        None
    }
    /// Until then, seen from `now`, nobody can ask for what is not known yet.
    fn horizon(&self, now: Time) -> Time;
    /// Takes what the hart's port has asked for at `cycle`.
    ///
    /// # Errors
    /// There is no such memory: what is wrong, in words.
    fn take(&mut self, cycle: u64, slot: Slot, request: Request, hart: &mut Hart) -> Result<Taken, String>;
    /// The next access to end, as far as that depends on what happens before `until`.
    fn next_end(&mut self, until: Time, hart: &mut Hart) -> Option<Ended>;
    /// The cycle before which the hart can go on before it must be asked what has ended.
    fn run_until(&self, hart: &Hart) -> u64;
    /// The answer to a load of `bytes` from the device, given at `at`, is with the hart `latency` and perhaps more later.
    fn answer(&mut self, at: Time, bytes: u32, latency: Time, hart: &mut Hart) -> Time;
    /// Something is under way.
    fn is_busy(&self) -> bool;
    /// The NI has to hear of something that is over.
    fn has_news(&self) -> bool {
        false
    }
    /// The hart asks for nothing until it is told something: what is under way needs to be looked at then at the soonest, and
    /// not before `bound`.
    fn next_look(&self, bound: Time) -> Time {
        bound
    }
}

counters! {
    /// Counters of a firmware processor, beside its hart's and its port's.
    struct FirmwareStatistics {
        /// Cycles up to the last instruction.
        cycles: "cycles";
        /// Accesses to the device.
        device_accesses: "count";
        /// Time in which accesses to the device were held: nothing to do, or no room.
        held_ps: "ps";
    }
}

/// A firmware processor.
pub struct FirmwareProcessor<M = PrivateMemory> {
    spec: ProcessorSpec,
    /// Names its addresses.
    image: Option<Arc<Elf>>,
    hart: Hart,
    /// Its memory, into which the hart's port looks.
    pub memory: M,
    /// The hart waits for its port: since which cycle, and what for.
    waiting: Option<(u64, Stall)>,
    /// The access to the device that comes next, and when.
    device: Option<(Time, DeviceAccess)>,
    /// Its time has come.
    holds: bool,
    /// It has done what it may not.
    halted: bool,
    /// The earliest of the NI's events to come in which it goes on.
    scheduled: Option<Time>,
    /// But for the cycles, which the hart counts.
    statistics: FirmwareStatistics,
    watch: Option<Box<Watch>>,
    /// Where the cycles of programs went that it had before.
    profiles: Vec<Profile>,
    /// Marks that it has executed, until they are taken, if any are kept.
    marks: Option<Vec<FirmwareMark>>,
    /// What its program can't do by itself is system software's.
    serves_traps: bool,
    /// It has stopped for that: since when, and whether the NI knows.
    trap: Option<(Time, Trap, bool)>,
    /// The marks of such a program.
    rank_marks: Vec<RankMark>,
    /// What names its addresses, until it begins.
    names: Option<Arc<Elf>>,
}

impl<M: LocalMemory> FirmwareProcessor<M> {
    /// A processor with `memory` about to execute the first instruction of its program at time 0.
    ///
    /// # Errors
    /// The program does not lie in its memory.
    pub fn new(spec: FirmwareSpec, memory: M) -> Result<FirmwareProcessor<M>, String> {
        let (image, spec) = spec.apart();
        let mut processor = FirmwareProcessor::stopped(spec, memory);
        let root = processor.memory.table();
        let placed = image.place(processor.memory.memory(), FIRMWARE_MEMORY, 0..root);
        placed.map_err(|e| format!("{}: {e}", processor.spec.name))?;
        let entry = image.entry();
        processor.begin(Time::ZERO, entry, Some(image));
        processor.hart.state.x[2] = FIRMWARE_MEMORY + root;
        Ok(processor)
    }

    /// A processor with `memory` that does nothing until it is told to ([`FirmwareProcessor::begin`]).
    pub fn stopped(spec: ProcessorSpec, mut memory: M) -> FirmwareProcessor<M> {
        assert!(!spec.port.l2.present, "transactions with a second level are not dealt with");
        assert!(M::KINDS.contains(&spec.port.kind), "{:?} before such memory", spec.port.kind);
        let root = memory.table();
        let reach = memory.reach();
        map(memory.memory(), root, reach);
        FirmwareProcessor {
            hart: hart(&spec, FIRMWARE_MEMORY, &mut memory),
            image: None,
            memory,
            waiting: None,
            device: None,
            holds: false,
            halted: true,
            scheduled: None,
            statistics: FirmwareStatistics::default(),
            watch: None,
            profiles: vec![],
            marks: spec.keeps_marks.then(Vec::new),
            serves_traps: false,
            trap: None,
            rank_marks: vec![],
            names: None,
            spec,
        }
    }

    /// Begins with the instruction at `pc` of what its memory holds now, all registers 0; whatever it did before is given
    /// up. `image` names its addresses.
    pub fn begin(&mut self, now: Time, pc: u64, image: Option<Arc<Elf>>) {
        let before = std::mem::replace(&mut self.hart, hart(&self.spec, pc, &mut self.memory));
        self.hart.statistics = before.statistics;
        self.hart.port.statistics = before.port.statistics;
        self.hart.cycle = before.cycle.max(self.hart.cycle_at(now));
        self.image = image;
        (self.waiting, self.device, self.holds, self.halted) = (None, None, false, false);
        (self.serves_traps, self.trap) = (false, None);
        self.end_profile();
        if let (Some(node), Some(image)) = (self.spec.profiled, &self.image) {
            let whose = Profiled::Firmware { node, name: self.spec.name };
            let mut watch = Watch::profiling(whose, Symbols::new(image.clone(), None));
            if self.hart.cycle > 0 {
                watch.begin(&self.hart);
            }
            self.watch = Some(watch);
        }
    }

    /// What it executes from now on is a program of which system software serves system calls, pages that are not there, and
    /// other exceptions: it stops for each. It is about to begin, with all registers 0. `program` names its addresses, if its
    /// cycles are counted.
    pub fn serve_traps(&mut self, now: Time, program: Option<Arc<Elf>>) {
        self.begin(now, 0, None);
        self.serves_traps = true;
        self.names = program;
        self.trap = Some((now, Trap::Begin, true));
    }

    /// Whether its program is one of these.
    pub fn serves_traps(&self) -> bool {
        self.serves_traps
    }

    /// Its program has stopped for this, at `now`, if it was not known.
    pub fn takes_trap(&mut self, now: Time) -> Option<Trap> {
        let (_, trap, is_known) = self
            .trap
            .as_mut()
            .filter(|(at, _, is_known)| !is_known && *at <= now && self.device.is_none())?;
        *is_known = true;
        Some(*trap)
    }

    /// It has stopped, as the NI knows, and waits.
    pub fn is_trapped(&self) -> bool {
        self.trap.is_some_and(|(_, _, is_known)| is_known)
    }

    /// Accesses to its device that it has asked for: the number of the one that is due.
    pub fn accesses(&self) -> u64 {
        self.statistics.device_accesses
    }

    /// It goes on where it has stopped.
    pub fn resume(&mut self, now: Time) {
        if let Some((since, ..)) = self.trap.take() {
            self.statistics.held_ps += now.0.saturating_sub(since.0);
            self.hart.cycle = self.hart.cycle.max(self.hart.cycle_at(now));
            if let (Some(node), Some(program)) = (self.spec.profiled, self.names.take()) {
                let whose = Profiled::Firmware { node, name: self.spec.name };
                let mut watch = Watch::profiling(whose, Symbols::new(program, None));
                watch.begin(&self.hart);
                self.watch = Some(watch);
            } else if let Some(watch) = &mut self.watch {
                watch.pass(&self.hart, Cause::Software);
            }
        }
    }

    /// Its registers, while it has stopped: x0 is the program counter.
    pub fn register(&self, number: usize) -> u64 {
        if number == 0 { self.hart.state.pc } else { self.hart.state.x[number] }
    }

    /// The same, set.
    pub fn set_register(&mut self, number: usize, value: u64) {
        let State { pc, x, .. } = &mut self.hart.state;
        *(if number == 0 { pc } else { &mut x[number] }) = value;
    }

    /// What it translates has changed.
    pub fn flush_translations(&mut self) {
        self.hart.port.flush_translations();
    }

    /// Takes the marks of a rank's program that it has executed since it was asked last, in their order.
    pub fn take_rank_marks(&mut self) -> Vec<RankMark> {
        std::mem::take(&mut self.rank_marks)
    }

    fn rank_mark(&mut self, code: u32, call: u32, value: u64) {
        let State { pc, x, .. } = &self.hart.state;
        let site = Site {
            pc: *pc,
            return_address: x[1],
            stack_pointer: x[2],
            frame_pointer: x[8],
            arguments: [x[10], x[11], x[12]],
            is_elsewhere: true,
        };
        let mut there = vec![0; if code == mark::BLOCKED { REQUEST_BYTES } else { size_of::<Envelope>() }];
        if !self.hart.port.peek_virtual(value, &mut there) {
            there.clear();
        }
        let time = self.hart.now();
        self.rank_marks.push(RankMark {
            time,
            code,
            call,
            value,
            accesses: self.statistics.device_accesses,
            there,
            site,
        });
    }

    fn end_profile(&mut self) {
        self.profiles.extend(self.watch.take().and_then(|watch| watch.profile()));
    }

    /// Takes where the cycles of each of its programs went, if that was counted, when all is over.
    pub fn take_profiles(&mut self) -> Vec<Profile> {
        self.end_profile();
        std::mem::take(&mut self.profiles)
    }

    /// The instruction that it executes next, or that waits.
    pub fn pc(&self) -> u64 {
        self.hart.state.pc
    }

    /// When that is, as far as it has been run.
    pub fn time(&self) -> Time {
        self.hart.now()
    }

    /// The function of the instruction that it executes next, or that waits, and its place there, with file and line, if they
    /// are known.
    pub fn place(&self) -> Option<String> {
        let (image, pc) = (self.image.as_ref()?, self.pc());
        let (name, offset) = image.symbolize(pc)?;
        let line = image.line(pc).map(|line| format!(", {line}"));
        Some(format!("{name}+{offset:#x}{}", line.unwrap_or_default()))
    }

    /// Goes on from now, and has the NI's `event` when its next access to the device takes place or it is to go on again.
    ///
    /// # Errors
    /// What the firmware did wrong, with pc and symbol: it stops for good.
    pub fn go_on(&mut self, event: Payload, c: &mut Context<'_, '_>) -> Result<(), String> {
        let mut now = c.now;
        for step in 0.. {
            let Some(at) = self.run(now)?.map(|at| at.max(now)) else { break };
            let takes_place = self.device.is_some_and(|(due, _)| !self.holds && due <= at);
            if !takes_place && !self.memory.has_news() && at < c.alone_until() && step < STEPS_MAX {
                // The event would be the next to happen.
                now = at;
                continue;
            }
            if self.scheduled.is_none_or(|scheduled| at < scheduled) {
                self.scheduled = Some(at);
                c.at(at, event);
            }
            break;
        }
        Ok(())
    }

    /// Executes until the next access to the device that is not before `now`, or as far as it can be run from there, and says
    /// when that is. None: there is nothing to do until the load that is held is answered, or another master asks for memory.
    ///
    /// # Errors
    /// What the firmware did wrong, with pc and symbol: it stops for good.
    pub fn run(&mut self, now: Time) -> Result<Option<Time>, String> {
        if self.halted {
            return Ok(None);
        }
        let limit = self.memory.horizon(now);
        let last = self.hart.statistics.instructions + INSTRUCTIONS_MAX;
        loop {
            self.take_requests()?;
            let device = self.device.filter(|_| !self.holds).map_or(Time::NEVER, |(at, _)| at);
            let bound = device.min(limit);
            let decided = if self.waiting.is_some() { bound } else { bound.min(self.hart.now()) };
            if let Some(Ended { slot, value, end }) = self.memory.next_end(decided, &mut self.hart) {
                self.complete(slot, value, end);
                continue;
            }
            let until = if bound == Time::NEVER { u64::MAX } else { self.hart.cycle_at(bound) };
            if self.waiting.is_none() && self.trap.is_none() && self.hart.cycle < until {
                let until = until.min(self.memory.run_until(&self.hart));
                self.execute(until.min(self.hart.cycle + SLICE_CYCLES))?;
                if self.hart.statistics.instructions > last && !self.serves_traps {
                    let what = format!("{INSTRUCTIONS_MAX} instructions without an access to the device");
                    return Err(self.halt(&what));
                }
                continue;
            }
            if let Some((at, _, is_known)) = self.trap.filter(|_| self.device.is_none()) {
                return Ok((!is_known).then_some(at));
            }
            let stands = self.waiting.is_some() || self.trap.is_some();
            let goes_on = device < Time::NEVER || !stands || self.memory.is_busy();
            let is_held = self.holds && self.waiting.is_some();
            let next = if is_held { self.memory.next_look(bound) } else { bound };
            return Ok(goes_on.then_some(next));
        }
    }

    fn execute(&mut self, until: u64) -> Result<(), String> {
        let halt = match &mut self.watch {
            Some(watch) => watch.run(&mut self.hart, None, until),
            None => self.hart.run_with_bus(&mut HaltAtMarks, None, until),
        };
        match halt {
            Halt::Deadline | Halt::Bus | Halt::Pause => {}
            Halt::Mark { code, call, value } if self.serves_traps => self.rank_mark(code, call, value),
            Halt::Mark { code, value, .. } => {
                let mark = FirmwareMark { time: self.hart.now(), code, value };
                self.marks.iter_mut().for_each(|marks| marks.push(mark));
            }
            Halt::Wait(stall) => self.waiting = Some((self.hart.cycle, stall)),
            halt if self.serves_traps && halt.asks_for_software() => {
                let found = exception_of(halt).map(|(cause, value)| Trap::Exception { cause, value });
                let Some(trap) = found else { return Err(self.halt(&format!("{halt:?}"))) };
                self.trap = Some((self.hart.now(), trap, false));
            }
            Halt::Call => return Err(self.halt("a system call")),
            Halt::Fault(fault) => return Err(self.halt(&fault.to_string())),
            Halt::Illegal(bits) => return Err(self.halt(&format!("illegal instruction {bits:#010x}"))),
            Halt::Breakpoint => return Err(self.halt("a failed check (ebreak)")),
            Halt::Idle => unreachable!("there is no supervisor level"),
            Halt::Turn => unreachable!("it runs ahead of nobody"),
            Halt::Stop => unreachable!("no debugger looks at it"),
        }
        Ok(())
    }

    /// Takes what the port asks for.
    fn take_requests(&mut self) -> Result<(), String> {
        while let Some((cycle, slot, request)) = self.hart.port.take_request() {
            if let Request::Store64 { .. } = request {
                return Err(self.halt("a 64-byte store, which its device does not take"));
            }
            match self.memory.take(cycle, slot, request, &mut self.hart) {
                Ok(Some((at, access))) => self.access(at, access),
                Ok(None) => {}
                Err(what) => return Err(self.halt(&what)),
            }
        }
        Ok(())
    }

    fn access(&mut self, at: Time, access: DeviceAccess) {
        debug_assert!(self.device.is_none(), "uncached accesses come one after the other");
        self.device = Some((at, access));
        self.statistics.device_accesses += 1;
    }

    /// The access to the device that is due, or is held.
    #[inline]
    pub fn due(&self) -> DeviceAccess {
        self.device.expect("the processor has been run to an access").1
    }

    /// The event has come: the access to the device that takes place now, if there is one. It is held until the NI says that
    /// it has been done.
    pub fn takes_place(&mut self, now: Time) -> Option<DeviceAccess> {
        self.scheduled.take_if(|scheduled| *scheduled <= now);
        let (_, access) = self.device.filter(|&(at, _)| at <= now && !self.holds)?;
        self.holds = true;
        Some(access)
    }

    /// The access that is held: a load that waits for its answer, a store for room.
    #[inline]
    pub fn held(&self) -> Option<DeviceAccess> {
        self.device.filter(|_| self.holds).map(|(_, access)| access)
    }

    /// When the next access to the device takes place, as far as it has been run; none: that is not known, or it is held.
    pub fn next_access(&self) -> Option<Time> {
        let trap = self.trap.filter(|(.., is_known)| !is_known && self.device.is_none()).map(|(at, ..)| at);
        self.device.filter(|_| !self.holds).map(|(at, _)| at).or(trap)
    }

    /// The store that was due, or has been held until now, has taken place.
    pub fn stored(&mut self, now: Time) {
        let asked = self.end_access(now);
        self.complete(Slot::Posted, 0, now.max(asked));
    }

    /// The load that was due, or has been held until now, gets `value`, `latency` after its address.
    pub fn loaded(&mut self, now: Time, value: u64, latency: Time) {
        let DeviceAccess::Load { bytes, .. } = self.due() else { panic!("{:?} is no load", self.due()) };
        let asked = self.end_access(now);
        let end = self.memory.answer(now.max(asked), bytes, latency, &mut self.hart);
        self.complete(Slot::Blocking, value, end);
    }

    /// The access that was due, or has been held until `now`, is done; when it was asked for.
    fn end_access(&mut self, now: Time) -> Time {
        let (asked, _) = self.device.take().expect("an access is due");
        self.holds = false;
        self.statistics.held_ps += now.0.saturating_sub(asked.0);
        asked
    }

    fn complete(&mut self, slot: Slot, value: u64, end: Time) {
        let hart = &mut self.hart;
        hart.port.completed(slot, value, hart.cycle_at(end));
        if let Some((since, stall)) = self.waiting.take() {
            hart.cycle = hart.cycle.max(hart.cycle_at(end));
            hart.port.waited(stall, hart.cycle - since);
            if let Some(watch) = &mut self.watch {
                watch.stalled(hart, stall);
            }
        }
    }

    /// Takes the marks that it has executed since it was asked last, in their order: stages of messages' lives.
    pub fn take_marks(&mut self) -> Vec<FirmwareMark> {
        self.marks.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes where its cycles went, if that was counted, when all is over.
    pub fn take_profile(&mut self) -> Option<Profile> {
        self.watch.take()?.profile()
    }

    /// The firmware has done what it may not: it stops for good. What, and where.
    pub fn halt(&mut self, what: &str) -> String {
        self.halted = true;
        self.describe(what)
    }

    /// What went wrong in the firmware, and where.
    pub fn describe(&self, what: &str) -> String {
        let pc = self.hart.state.pc;
        let symbol = self.image.as_ref().and_then(|image| image.symbolize(pc));
        let symbol = symbol.map(|(name, offset)| format!(" ({name}+{offset:#x})"));
        format!("{}: {what} at pc {pc:#x}{}", self.spec.name, symbol.unwrap_or_default())
    }

    /// Visits the counters, those of its port below `memory`.
    pub fn statistics(&self, visit: &mut Visitor<'_>) {
        let hart = &self.hart;
        hart.statistics.visit(visit);
        FirmwareStatistics { cycles: hart.cycle, ..self.statistics }.visit(visit);
        hart.port.statistics.visit(&mut below("memory", visit));
    }
}

/// A hart before `memory`, about to execute the instruction at `pc`.
fn hart<M: LocalMemory>(spec: &ProcessorSpec, pc: u64, memory: &mut M) -> Hart {
    let mut port = Port::new(spec.port.clone(), memory.memory());
    port.set_root(memory.table());
    let mut hart = Hart::new(State::new(pc), port, spec.timing, spec.clock, spec.timebase_hz);
    hart.execute_by(spec.execution);
    hart
}

/// Bytes of the page table of a processor that may use `reach` bytes of its memory: a page of each level above, and one for
/// each 512 pages.
pub fn table_bytes(reach: u64) -> u64 {
    (2 + reach.div_ceil(MEGAPAGE)) * PAGE_BYTES
}

/// Writes the page table: memory and device, a gigabyte each; or of memory `reach` bytes.
fn map(memory: &mut FlatMemory, root: u64, reach: Option<u64>) {
    let mut write = |address: u64, entry| memory.write(address, 8, entry).expect("the table lies in memory");
    let entry = |physical: u64, rights: u64| physical >> 12 << 10 | rights | pte::V;
    let all = pte::R | pte::W | pte::X | pte::U;
    write(root + FIRMWARE_DEVICE / GIGAPAGE * 8, entry(DEVICE_BASE, pte::R | pte::W | pte::U));
    let place = root + FIRMWARE_MEMORY / GIGAPAGE * 8;
    let Some(reach) = reach else { return write(place, entry(0, all)) };
    let (middle, lowest) = (root + PAGE_BYTES, root + 2 * PAGE_BYTES);
    write(place, entry(middle, 0));
    for part in 0..reach.div_ceil(MEGAPAGE) {
        write(middle + part * 8, entry(lowest + part * PAGE_BYTES, 0));
    }
    for page in 0..reach / PAGE_BYTES {
        write(lowest + page * 8, entry(page * PAGE_BYTES, all));
    }
}

//! A firmware processor: a hart inside an NI, with memory and a bus of its own, that runs a program in C.
//!
//! Nobody else uses its memory and its bus. So it meets the rest of the machine only where it accesses its
//! device, the NI's hardware: between two such accesses it can be run at once, however long they take. The NI
//! runs it to its next access ([`FirmwareProcessor::run`]), has an event when that takes place, and then says
//! what came of it ([`FirmwareProcessor::stored`], [`FirmwareProcessor::loaded`]). A load may be held for as long
//! as the device likes: a processor that waits for something to do costs nothing.

use std::sync::Arc;

use chasqui_counters::{Counters, Visitor, below, counters};
use chasqui_engine::{Clock, Time};
use chasqui_hart::{Halt, HaltAtMarks, Hart, State, Timing};
use chasqui_linux::Elf;
use chasqui_memory::{
    Bus, BusParameters, DEVICE_BASE, DramParameters, FlatMemory, PAGE_BYTES, Port, PortParameters, Request,
    Responder, Slot, Snooped, Stall, pte,
};
use chasqui_record::{Profile, Profiled};
use chasqui_watch::{Symbols, Watch};

/// Virtual address of the processor's memory: firmware is linked here. Below, a null pointer faults.
pub const FIRMWARE_MEMORY: u64 = 0x8000_0000;
/// Virtual address of its device; uncached.
pub const FIRMWARE_DEVICE: u64 = 0x4000_0000;
/// What an entry of a root page table maps (Sv39) [bytes].
const GIGAPAGE: u64 = 1 << 30;
/// Firmware that executes so many instructions without an access to its device is taken to hang.
const INSTRUCTIONS_MAX: u64 = 100_000_000;
/// Instructions that are run at once, about: so often it is looked whether firmware hangs.
const SLICE_CYCLES: u64 = 1 << 20;

/// What a firmware processor is made from.
pub struct FirmwareSpec {
    /// What it is called in messages.
    pub name: &'static str,
    /// Its program.
    pub image: Arc<Elf>,
    /// Size of its memory [bytes], at most 1 GiB.
    pub memory_bytes: u64,
    /// Caches and buffers; without a second level.
    pub port: PortParameters,
    /// Its bus and memory's timing.
    pub bus: (BusParameters, DramParameters),
    /// Costs of instructions.
    pub timing: Timing,
    /// Its clock.
    pub clock: Clock,
    /// Frequency of its `time` CSR.
    pub timebase_hz: u64,
    /// Every instruction is executed by the reference interpreter.
    pub by_steps: bool,
    /// Number of its node, if its cycles are to be counted ([`FirmwareProcessor::take_profile`]).
    pub profiled: Option<u32>,
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

counters! {
    /// Counters of a firmware processor, beside its hart's and its port's.
    struct FirmwareStatistics {
        /// Cycles up to the last instruction.
        cycles: "cycles";
        /// Accesses to the device.
        device_accesses: "count";
        /// Time in which loads from the device were held: nothing to do.
        held_ps: "ps";
    }
}

/// A firmware processor.
pub struct FirmwareProcessor {
    name: &'static str,
    image: Arc<Elf>,
    hart: Hart,
    /// The hart's port looks into it.
    _memory: FlatMemory,
    bus: Bus,
    /// The hart waits for its port: since which cycle, and what for.
    waiting: Option<(u64, Stall)>,
    /// When the transactions with memory that are under way end, by slot.
    ends: [Option<Time>; SLOTS.len()],
    /// The access to the device that comes next, and when.
    device: Option<(Time, DeviceAccess)>,
    /// But for the cycles, which the hart counts.
    statistics: FirmwareStatistics,
    watch: Option<Box<Watch>>,
    /// Marks that it has executed, until they are taken.
    marks: Vec<FirmwareMark>,
}

const SLOTS: [Slot; 3] = [Slot::Blocking, Slot::WriteBuffer, Slot::Posted];

impl FirmwareProcessor {
    /// A processor about to execute the first instruction of its program at time 0.
    ///
    /// # Errors
    /// The program does not lie in its memory, or the host has no address space for that.
    pub fn new(spec: FirmwareSpec) -> Result<FirmwareProcessor, String> {
        assert!(!spec.port.l2.present, "transactions with a second level are not dealt with");
        let mut memory = FlatMemory::new(spec.memory_bytes).map_err(|e| format!("{}: {e}", spec.name))?;
        let root = spec.memory_bytes - PAGE_BYTES;
        let placed = spec.image.place(&mut memory, FIRMWARE_MEMORY, 0..root);
        placed.map_err(|e| format!("{}: {e}", spec.name))?;
        map(&mut memory, root);
        let mut state = State::new(spec.image.entry());
        state.x[2] = FIRMWARE_MEMORY + root;
        let mut port = Port::new(spec.port, &mut memory);
        port.set_root(root);
        let mut hart = Hart::new(state, port, spec.timing, spec.clock, spec.timebase_hz);
        hart.run_by_steps(spec.by_steps);
        let watch = spec.profiled.map(|node| {
            let symbols = Symbols::new(spec.image.clone(), None);
            Watch::profiling(Profiled::Firmware { node, name: spec.name }, symbols)
        });
        Ok(FirmwareProcessor {
            name: spec.name,
            image: spec.image,
            hart,
            _memory: memory,
            bus: Bus::new(spec.bus.0, spec.bus.1),
            waiting: None,
            ends: [None; SLOTS.len()],
            device: None,
            statistics: FirmwareStatistics::default(),
            watch,
            marks: vec![],
        })
    }

    /// Executes until the next access to the device and says when that takes place.
    ///
    /// # Errors
    /// What the firmware did wrong, with pc and symbol.
    pub fn run(&mut self) -> Result<Time, String> {
        let last = self.hart.statistics.instructions + INSTRUCTIONS_MAX;
        loop {
            self.take_requests()?;
            let ends = self.ends.iter().flatten().copied();
            let next = ends.chain(self.device.map(|(at, _)| at)).min();
            let until = next.map_or(u64::MAX, |at| self.hart.cycle_at(at));
            if self.waiting.is_none() && self.hart.cycle < until {
                self.execute(until.min(self.hart.cycle + SLICE_CYCLES))?;
                if self.hart.statistics.instructions > last {
                    let what = format!("{INSTRUCTIONS_MAX} instructions without an access to the device");
                    return Err(self.describe(&what));
                }
                continue;
            }
            let next = next.expect("a hart that waits, waits for a transaction");
            match SLOTS.into_iter().find(|&slot| self.ends[slot as usize] == Some(next)) {
                Some(slot) => {
                    self.ends[slot as usize] = None;
                    self.complete(slot, 0, next);
                }
                None => return Ok(next),
            }
        }
    }

    fn execute(&mut self, until: u64) -> Result<(), String> {
        let halt = match &mut self.watch {
            Some(watch) => watch.run(&mut self.hart, None, until),
            None => self.hart.run_with_bus(&mut HaltAtMarks, None, until),
        };
        match halt {
            Halt::Deadline | Halt::Bus | Halt::Pause => {}
            Halt::Mark { code, value, .. } => {
                self.marks.push(FirmwareMark { time: self.hart.now(), code, value });
            }
            Halt::Wait(stall) => self.waiting = Some((self.hart.cycle, stall)),
            Halt::Call => return Err(self.describe("a system call")),
            Halt::Fault(fault) => return Err(self.describe(&fault.to_string())),
            Halt::Illegal(bits) => return Err(self.describe(&format!("illegal instruction {bits:#010x}"))),
            Halt::Breakpoint => return Err(self.describe("a failed check (ebreak)")),
            Halt::Idle => unreachable!("there is no supervisor level"),
        }
        Ok(())
    }

    /// Takes what the port asks of the bus. A transaction takes effect when it is asked for: nobody else is
    /// there who could see that.
    fn take_requests(&mut self) -> Result<(), String> {
        while let Some((cycle, slot, request)) = self.hart.port.take_request() {
            let grant = self.bus.grant_at(self.hart.time_of(cycle));
            if let Request::UncachedLoad { address, bytes } = request {
                self.access(grant, DeviceAccess::Load { address: address - DEVICE_BASE, bytes });
                continue;
            }
            if let Request::Store64 { .. } = request {
                return Err(self.describe("a 64-byte store, which its device does not take"));
            }
            let device = matches!(request, Request::UncachedStore { .. });
            let (length, write) = self.hart.port.transfer(request);
            let responder = match request {
                Request::Own { upgrade: true, .. } => Responder::None,
                _ if device => Responder::Device(Time::ZERO),
                _ => Responder::Dram,
            };
            let end = self.bus.place(grant, length, write, responder).end;
            self.hart.port.granted(slot, Snooped::default(), self.hart.cycle_at(grant));
            match request {
                Request::UncachedStore { address, bytes, value } => {
                    self.access(end, DeviceAccess::Store { address: address - DEVICE_BASE, bytes, value });
                }
                _ => self.ends[slot as usize] = Some(end),
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

    /// The store that was due has taken place.
    pub fn stored(&mut self) {
        let (end, _) = self.device.take().expect("a store is due");
        self.complete(Slot::Posted, 0, end);
    }

    /// The load that was due, or has been held until now, gets `value`, `latency` after its address.
    pub fn loaded(&mut self, now: Time, value: u64, latency: Time) {
        let (asked, access) = self.device.take().expect("a load is due");
        let DeviceAccess::Load { bytes, .. } = access else { panic!("{access:?} is no load") };
        self.statistics.held_ps += now.0.saturating_sub(asked.0);
        let grant = self.bus.grant_at(now.max(asked));
        let end = self.bus.place(grant, bytes, false, Responder::Device(latency)).end;
        self.hart.port.granted(Slot::Blocking, Snooped::default(), self.hart.cycle_at(grant));
        self.complete(Slot::Blocking, value, end);
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
        std::mem::take(&mut self.marks)
    }

    /// Takes where its cycles went, if that was counted, when all is over.
    pub fn take_profile(&mut self) -> Option<Profile> {
        self.watch.take()?.profile()
    }

    /// What went wrong in the firmware, and where.
    pub fn describe(&self, what: &str) -> String {
        let pc = self.hart.state.pc;
        let symbol = self.image.symbolize(pc).map(|(name, offset)| format!(" ({name}+{offset:#x})"));
        format!("{}: {what} at pc {pc:#x}{}", self.name, symbol.unwrap_or_default())
    }

    /// Visits the counters, those of its port below `memory`.
    pub fn statistics(&self, visit: &mut Visitor<'_>) {
        let hart = &self.hart;
        hart.statistics.visit(visit);
        FirmwareStatistics { cycles: hart.cycle, ..self.statistics }.visit(visit);
        hart.port.statistics.visit(&mut below("memory", visit));
    }
}

/// Writes the page table: memory and device, a gigabyte each.
fn map(memory: &mut FlatMemory, root: u64) {
    let entry = |physical: u64, rights: u64| physical >> 12 << 10 | rights | pte::V | pte::U;
    let pages = [
        (FIRMWARE_MEMORY, entry(0, pte::R | pte::W | pte::X)),
        (FIRMWARE_DEVICE, entry(DEVICE_BASE, pte::R | pte::W)),
    ];
    for (address, entry) in pages {
        memory.write(root + address / GIGAPAGE * 8, 8, entry).expect("the table lies in memory");
    }
}

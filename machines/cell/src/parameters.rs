//! The machine's parameters.

use chasqui_config::{Count, Duration, Resolved};
use chasqui_element::{CELL_UNITS, EibParameters, ElementParameters};
use chasqui_engine::Time;
use chasqui_hart::CoreParameters;
use chasqui_memory::{DramParameters, PAGE_BYTES};
use chasqui_ni::FIRMWARE_MEMORY;
use chasqui_node::NodeConfiguration;

use crate::registers;

/// Words that are on their way to a mailbox at most (ways/device.c).
const WORDS_MAX: u64 = 4;

/// SPEs that a chip has at most.
pub const SPES_MAX: usize = 8;

chasqui_config::parameters! {
    /// The chip as a whole.
    pub struct ChipUnit {
        /// SPEs.
        spes: Count = 6, range 1 ..= 8, source "Khunjush, 8.3.4: a PS3, where programs have six of the eight";
        /// From a load's arrival at a register, or a local store, to its value.
        register: Duration = "10 ns", range "0 ns" ..= "10 us", source "assumption: a few clocks of the bus in the unit";
        /// From a load of a channel by its own core to the value, beside what the load takes.
        channel: Duration = "2 ns", range "0 ns" ..= "1 us", source "assumption: as a load of the local store";
    }
}

chasqui_config::choice! {
    /// How messages go between ranks on SPEs that are too long for a slot.
    pub enum LongWay {
        /// The sender's MFC puts them to where the receive wants them, after a rendezvous.
        Put = "put",
        /// The receiver's MFC gets them from where the sender has them, after the sender's announcement.
        Get = "get",
        /// The sender puts them into a buffer in main memory, the receiver gets them from there; without a rendezvous. What is too long for a buffer is put.
        Memory = "memory",
    }
}

chasqui_config::parameters! {
    /// How the MPI library's messages go.
    pub struct MpiUnit {
        /// Messages of up to two bytes go as a word into the receiver's mailbox, if the receiver knows their tag and communicator from the message before.
        mailbox: bool = false, source "ours: Khunjush, 8.5, leaves the choice of a mechanism by size to future work";
        /// Messages that are too long for a slot.
        long: LongWay = "put", source "ours: the same";
    }
}

impl LongWay {
    /// What the device's setting says.
    pub fn setting(self) -> u64 {
        match self {
            LongWay::Put => registers::LONG_PUT,
            LongWay::Get => registers::LONG_GET,
            LongWay::Memory => registers::LONG_MEMORY,
        }
    }
}

impl MpiUnit {
    /// By slot and put alone.
    pub fn is_plain(&self) -> bool {
        !self.mailbox && self.long == LongWay::Put
    }

    /// Main memory that is for messages, of so many SPEs [bytes].
    pub fn memory_bytes(&self, spes: usize) -> u64 {
        let each = registers::BUFFERS * registers::BUFFER_STRIDE;
        if self.long == LongWay::Memory { (spes as u64 * each).next_multiple_of(PAGE_BYTES) } else { 0 }
    }
}

/// What the chip is made of.
#[derive(Clone, Debug)]
pub struct Chip {
    /// The chip as a whole.
    pub unit: ChipUnit,
    /// What the SPEs' instructions cost.
    pub spe: CoreParameters,
    /// What is beside an SPE's processor.
    pub element: ElementParameters,
    /// The interconnect.
    pub eib: EibParameters,
    /// How messages go.
    pub mpi: MpiUnit,
}

impl Chip {
    /// That of a machine.
    pub fn read(resolved: &Resolved) -> Chip {
        Chip {
            unit: resolved.read("cell.chip"),
            spe: resolved.read("cell.spe"),
            element: resolved.read("cell.element"),
            eib: resolved.read("cell.eib"),
            mpi: resolved.read("cell.mpi"),
        }
    }

    /// SPEs.
    pub fn spes(&self) -> usize {
        self.unit.spes as usize
    }

    /// From a command's place in the order to its answer.
    pub fn snoop(&self) -> Time {
        self.eib.clock().edge(self.eib.snoop.cycles())
    }

    /// What does not fit, in words.
    pub fn mistakes(&self, node: &NodeConfiguration) -> Vec<String> {
        let mut found = vec![];
        found.extend(self.spe.predictor.mistake());
        let tlb = self.element.mfc.mistake();
        found.extend(tlb.map(|e| format!("cell.element.mfc.tlb_entries, cell.element.mfc.tlb_ways: {e}")));
        let store = self.element.store.bytes();
        if !store.is_multiple_of(PAGE_BYTES) || store > FIRMWARE_MEMORY {
            found.push(format!("cell.element.store: {} is not in whole pages", self.element.store));
        }
        let (own, beside) = (self.spe.timebase, self.element.timebase);
        if own != beside {
            found.push(format!(
                "cell.spe.timebase, cell.element.timebase: {own} and {beside}, of the program's clock and its \
                 decrementer, which count the same ticks"
            ));
        }
        let train = u64::from(self.eib.train_bytes());
        let lines = [("node.l1i", node.l1i.line), ("node.l1d", node.l1d.line), ("node.l2", node.l2.line)];
        for (name, line) in lines {
            if line.bytes() > train {
                found.push(format!("{name}.line: {line}; a train of the bus carries {train} B (cell.eib.width, cell.eib.beats)"));
            }
        }
        if train < u64::from(chasqui_element::LINE_BYTES) {
            found.push(format!(
                "cell.eib.width, cell.eib.beats: a train carries {train} B, and DMA moves lines of 128 B"
            ));
        }
        if node.network_cache.present {
            found.push("node.network_cache.present: there is no network whose messages it could hold".into());
        }
        if !node.software.kernel {
            found.push("node.software.kernel: SPEs are a kernel's to give; true is needed".into());
        }
        // The peers next to a rank, two on either side, may each have a word in its mailbox.
        if self.mpi.mailbox && self.element.inbound < WORDS_MAX {
            found.push(format!(
                "cell.mpi.mailbox: {WORDS_MAX} peers have a word each on its way to a mailbox of {} entries \
                 (cell.element.inbound)",
                self.element.inbound
            ));
        }
        if node.node.harts > 2 {
            found.push("node.harts: the PPE has two threads at most".into());
        }
        found
    }
}

/// The stop at the rings of SPE `number`.
pub fn unit_of_spe(number: usize) -> usize {
    let name = format!("spe{number}");
    CELL_UNITS.iter().position(|unit| *unit == name).expect("eight at most")
}

/// The stop of the PPE.
pub const UNIT_PPE: usize = 0;
/// The stop of main memory.
pub const UNIT_MEMORY: usize = CELL_UNITS.len() - 1;
/// The stop of what is neither: the interrupt controller.
pub const UNIT_IO: usize = 6;

/// The memory controller: accesses go to the DRAM's banks in turn, each of which serves one at a time.
pub struct Memory {
    parameters: DramParameters,
    free: Vec<Time>,
    bank: usize,
    chunk_bytes: u32,
}

impl Memory {
    /// An idle one, which gives chunks of so many bytes.
    pub fn new(parameters: DramParameters, chunk_bytes: u32) -> Memory {
        let free = vec![Time::ZERO; parameters.banks as usize];
        Memory { parameters, free, bank: 0, chunk_bytes }
    }

    fn turn(&mut self) -> &mut Time {
        let bank = self.bank;
        self.bank = (bank + 1) % self.free.len();
        &mut self.free[bank]
    }

    /// `bytes` are read, asked for at `now`: when the last of them are there.
    pub fn read(&mut self, bytes: u32, now: Time) -> Time {
        let chunks = u64::from(bytes.div_ceil(self.chunk_bytes)) - 1;
        let length = Time(self.parameters.first_chunk.ps() + chunks * self.parameters.next_chunk.ps());
        let free = self.turn();
        *free = now.max(*free) + length;
        *free
    }

    /// What has come at `now` is written.
    pub fn write(&mut self, now: Time) {
        let length = Time(self.parameters.write.ps());
        let free = self.turn();
        *free = now.max(*free) + length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_config::Duration;

    #[test]
    fn every_spe_has_a_stop_of_its_own() {
        let mut units: Vec<_> = (0..SPES_MAX).map(unit_of_spe).collect();
        units.extend([UNIT_PPE, UNIT_MEMORY, UNIT_IO]);
        units.sort_unstable();
        units.dedup();
        assert_eq!(units.len(), SPES_MAX + 3);
    }

    /// Two banks: the third read waits for the first, and a write keeps its bank from the next.
    #[test]
    fn banks_serve_one_access_at_a_time() {
        let dram = DramParameters {
            first_chunk: Duration::from_ps(50_000),
            next_chunk: Duration::from_ps(1_000),
            write: Duration::from_ps(30_000),
            banks: 2,
            ..DramParameters::default()
        };
        let mut memory = Memory::new(dram, 16);
        let read = 50_000 + 7 * 1_000;
        assert_eq!(memory.read(128, Time::ZERO), Time(read));
        assert_eq!(memory.read(16, Time(10)), Time(10 + 50_000));
        assert_eq!(memory.read(128, Time(10)), Time(2 * read));
        memory.write(Time(60_000));
        assert_eq!(memory.read(16, Time(60_000)), Time(2 * read + 50_000));
        assert_eq!(memory.read(16, Time(60_000)), Time(90_000 + 50_000));
    }
}

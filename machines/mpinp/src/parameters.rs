//! The machine's parameters.

use chasqui_config::{Bytes, Count, Cycles, Duration, Frequency, Resolved};
use chasqui_engine::Time;
use chasqui_memory::{CacheParameters, PAGE_BYTES};
use chasqui_network::Link;
use chasqui_ni::{PcieOverhead, PcieSpec};

use crate::layout::Line;

chasqui_config::choice! {
    /// The way between card and host.
    pub enum Way {
        /// A bus that bridge and card share (`mpinp.pci`).
        Pci = "pci",
        /// A link of packets each way (`mpinp.pcie`).
        Pcie = "pcie",
    }
}

chasqui_config::parameters! {
    /// Where the card is.
    pub struct Io {
        /// What is between it and the host.
        way: Way = "pci", source "ours (specs/mpinp.md): PCI";
    }
}

chasqui_config::parameters! {
    /// PCI Express and the root complex at its end.
    pub struct PcieLink {
        /// Lanes.
        lanes: Count = 16, range 1 ..= 32, source "PCI Express Card Electromechanical Specification: x16";
        /// Bits of a lane a second, each way.
        rate: Frequency = "32 GHz", range "2.5 GHz" ..= "32 GHz", source "PCI Express Base Specification 5.0: 32 GT/s";
        /// From a packet's last byte at one side until the other side deals with it.
        latency: Duration = "200 ns", range "1 ns" ..= "10 us", source "assumption: half of what a read takes beside memory";
        /// Bytes of a write or read beside its data.
        request: Bytes = "24 B", range "12 B" ..= "64 B", source "PCI Express Base Specification 5.0, 2.2.1, 4.2.2: a header of 16 for addresses of 64 bits, framing with sequence number 4, LCRC 4";
        /// Bytes of a completion beside its data.
        completion_header: Bytes = "20 B", range "12 B" ..= "64 B", source "PCI Express Base Specification 5.0, 2.2.9, 4.2.2: a header of 12, framing 4, LCRC 4";
        /// Bytes that go the other way for each packet: its acknowledgement, or room.
        answer: Bytes = "8 B", range "0 B" ..= "64 B", source "assumption: a data link packet of 8 (4.2.2) for each; they may be for several";
        /// Most data of a write.
        payload: Bytes = "256 B", range "128 B" ..= "4 KiB", source "assumption: a usual setting";
        /// Most data that a read asks for.
        read: Bytes = "512 B", range "128 B" ..= "4 KiB", source "assumption: the setting after a reset (7.5.3.4)";
        /// Most data of a completion.
        completion: Bytes = "256 B", range "64 B" ..= "4 KiB", source "assumption: the largest payload";
        /// Reads of the card that may be under way.
        reads: Count = 64, range 1 ..= 1024, source "assumption";
        /// Data of writes to the card that may be under way.
        credit: Bytes = "16 KiB", range "4 KiB" ..= "1 MiB", source "assumption";
        /// Data of writes to the host that may be under way, up to memory.
        host_credit: Bytes = "32 KiB", range "4 KiB" ..= "1 MiB", source "assumption";
        /// Bytes of stores that the root complex posts.
        posted: Bytes = "1 KiB", range "8 B" ..= "64 KiB", source "assumption";
        /// Longest packet of stores that lie one behind the other and have to wait.
        combined: Bytes = "64 B", range "8 B" ..= "4 KiB", source "assumption: a line";
        /// Writes for which the card reads its memory ahead.
        ahead: Count = 8, range 1 ..= 256, source "assumption: 2 KiB";
        /// From a load that is tried in vain to the next try.
        retry: Duration = "20 ns", range "1 ns" ..= "10 us", source "ours: how exactly the end of a load is found";
    }
}

/// The way between card and host, and its parameters.
pub struct Ways {
    /// Which it is.
    pub kind: Way,
    /// A bus.
    pub pci: Pci,
    /// A link.
    pub pcie: PcieLink,
}

impl Ways {
    /// Those of a machine.
    pub fn read(resolved: &Resolved) -> Ways {
        Ways {
            kind: resolved.read::<Io>("mpinp.io").way,
            pci: resolved.read("mpinp.pci"),
            pcie: resolved.read("mpinp.pcie"),
        }
    }

    /// What does not fit, in words.
    pub fn mistakes(&self) -> Vec<String> {
        match self.kind {
            Way::Pci => self.pci.mistakes(),
            Way::Pcie => self.pcie.mistakes(),
        }
    }
}

impl PcieLink {
    /// Bytes that move in a second each way: of 130 bits 128 are a packet's (4.2.2).
    pub fn bytes_per_s(&self) -> u64 {
        (u128::from(self.lanes * self.rate.hz()) * 128 / 130 / 8) as u64
    }

    /// What the link is made from, with lines of the host of so many bytes.
    pub fn spec(&self, line_bytes: u64) -> PcieSpec {
        let bytes = |bytes: Bytes| bytes.bytes() as u32;
        PcieSpec {
            link: Link::new(self.bytes_per_s(), Time(self.latency.ps())),
            overhead: PcieOverhead {
                request: bytes(self.request),
                completion: bytes(self.completion_header),
                link: bytes(self.answer),
            },
            payload: bytes(self.payload),
            request: bytes(self.read),
            completion: bytes(self.completion).max(line_bytes as u32),
            reads: self.reads as usize,
            credit: (bytes(self.credit), bytes(self.host_credit)),
            posted: bytes(self.posted),
            combined: bytes(self.combined),
            ahead: self.ahead as usize,
            line_bytes: line_bytes as u32,
        }
    }

    /// What does not fit, in words.
    pub fn mistakes(&self) -> Vec<String> {
        let powers = [("payload", self.payload), ("read", self.read), ("completion", self.completion)];
        powers.into_iter().filter_map(|(name, value)| power(&format!("mpinp.pcie.{name}"), value)).collect()
    }
}

chasqui_config::parameters! {
    /// The I/O bus and the bridge behind which it lies. Cycles are its clocks.
    pub struct Pci {
        /// Its clock.
        clock: Frequency = "33.333333 MHz", range "1 MHz" ..= "4 GHz", source "ours (specs/mpinp.md): PCI, 33 MHz";
        /// Bytes that move in a clock.
        width: Bytes = "4 B", range "4 B" ..= "8 B", source "ours (specs/mpinp.md): 32 bits";
        /// From a request on an idle bus to the address.
        arbitration: Cycles = 2, range 0 ..= 100, source "PCI Local Bus Specification 2.1, 3.4.1: GNT# and an idle clock before FRAME#";
        /// The address.
        address: Cycles = 1, range 1 ..= 16, source "PCI Local Bus Specification 2.1, 3.2.1";
        /// From the end of a tenure to the next address, if that was asked for before.
        turnaround: Cycles = 1, range 0 ..= 16, source "PCI Local Bus Specification 2.1, 3.2.4: an idle clock between masters";
        /// What a master may use of the bus before it leaves it to others.
        latency_timer: Cycles = 64, range 1 ..= 4096, source "assumption: a usual setting of firmware of the time";
        /// From the address to the first word of what is written: whom it is for recognises it.
        target_wait: Cycles = 2, range 0 ..= 100, source "PCI Local Bus Specification 2.1, 3.6.1: DEVSEL# of medium speed";
        /// From the beginning of an address: if its target lets nothing move by then, it has the master try again.
        initial_latency: Cycles = 16, range 4 ..= 4096, source "PCI Local Bus Specification 2.1, 3.5.1.1: 16 clocks";
        /// From one line to the next: if nothing moves by then, the tenure ends.
        subsequent_latency: Cycles = 8, range 1 ..= 4096, source "PCI Local Bus Specification 2.1, 3.5.1.2: 8 clocks";
        /// Bytes of stores that the bridge posts.
        posted: Bytes = "32 B", range "8 B" ..= "4 KiB", source "assumption: eight words";
        /// Longest burst of stores.
        burst: Bytes = "32 B", range "8 B" ..= "4 KiB", source "assumption: a line";
        /// Lines that the bridge reads ahead for a card.
        read_ahead: Count = 2, range 1 ..= 64, source "assumption";
        /// Lines that the bridge holds until they are in memory.
        write_buffer: Count = 4, range 1 ..= 64, source "assumption";
    }
}

chasqui_config::parameters! {
    /// The card: memory and the bus on which it lies, and what else lies there. Cycles are this bus's clocks.
    pub struct Card {
        /// Nodes.
        nodes: Count = 1024, range 1 ..= 16384, source "ours";
        /// Clock of the bus.
        clock: Frequency = "33.333333 MHz", range "1 MHz" ..= "4 GHz", source "MPI-NP, section 2.3.2: 33 MHz";
        /// Memory.
        sram: Bytes = "1 MiB", range "128 KiB" ..= "1 GiB", source "MPI-NP, section 2.3.2: 1 MB";
        /// Width of the bus.
        width: Bytes = "4 B", range "4 B" ..= "64 B", source "ours (specs/mpinp.md): 32 bits";
        /// From an engine's request to the first access that it competes for.
        lead: Cycles = 2, range 1 ..= 100, source "assumption";
        /// Load of a register by the network processor.
        register: Cycles = 1, range 0 ..= 100, source "assumption: on the bus";
        /// Data of a flit.
        flit: Bytes = "16 B", range "4 B" ..= "256 B", source "assumption: links stop after a few bytes, which are moved together here";
        /// Flits that the sender reads ahead.
        send_fifo: Count = 4, range 1 ..= 256, source "assumption: 64 bytes";
        /// Lines of the host that the FIFO towards it holds.
        host_fifo: Count = 2, range 1 ..= 256, source "assumption: 64 bytes";
        /// Bytes of a packet on the wire before its data: route and type.
        packet_header: Bytes = "4 B", range "1 B" ..= "64 B", source "assumption: a byte for each switch, and two of type (Myrinet)";
        /// Bytes of a packet on the wire behind its data: the CRC.
        packet_tail: Bytes = "1 B", range "1 B" ..= "64 B", source "Boden et al., IEEE Micro 15(1), 1995: a trailing CRC byte";
        /// Longest time that a message may be left on the wire, without a place to go to: then the card resets itself, and
        /// the machine is broken. 0 ns: for ever.
        unserviced: Duration = "50 ms", range "0 ns" ..= "10 s", source "MPI-NP, section 2.3.3: a specified time; how long is an assumption";
    }
}

chasqui_config::parameters! {
    /// The network processor. Cycles are its own.
    pub struct Processor {
        /// Its clock: the bus's times so much.
        clock_factor: Count = 1, range 1 ..= 64, source "MPI-NP, section 2.3.2: both have 33 MHz";
        /// Instruction cache; 8 bytes are none.
        instruction_cache: Bytes = "8 B", range "8 B" ..= "1 MiB", source "specs/mpinp.md: none";
        /// Multiplication.
        int_mul: Cycles = 4, range 1 ..= 100, source "assumption";
        /// Division.
        int_div: Cycles = 34, range 1 ..= 1000, source "assumption: a bit a clock";
        /// Further cycles of a branch that is taken.
        branch_taken: Cycles = 1, range 0 ..= 100, source "assumption: a pipeline of few stages";
    }
}

chasqui_config::parameters! {
    /// The list of tags, of a card that matches receives by itself (`tags`).
    pub struct Tags {
        /// Entries; the processes of a node have equal shares.
        entries: Count = 256, range 1 ..= 65534, source "UCX's transport for BXI, TM_LIST_SIZE: 256";
        /// A look, beside its steps.
        lookup: Duration = "20 ns", range "1 ns" ..= "10 us", source "assumption";
        /// An entry that a look goes over.
        step: Duration = "2 ns", range "0 ns" ..= "1 us", source "assumption";
        /// Appending or removing an entry.
        update: Duration = "10 ns", range "1 ns" ..= "10 us", source "assumption";
        /// Finding the page of a buffer (address translation).
        translate: Duration = "20 ns", range "1 ns" ..= "10 us", source "assumption: the card has it";
        /// A page of a buffer that is not there: a page request to the operating system.
        page_in: Duration = "1 us", range "1 ns" ..= "1 ms", source "assumption";
    }
}

chasqui_config::choice! {
    /// How a process waits for the card.
    pub enum Wait {
        /// It polls the number of its next event, in its cache.
        Polling = "polling",
        /// It polls for a while, and then sleeps until the card interrupts.
        Interrupt = "interrupt",
    }
}

chasqui_config::choice! {
    /// Who has further pages named for a transfer that is longer than its entries reach.
    pub enum Progress {
        /// Its process, in calls of MPI.
        User = "user",
        /// A thread of the kernel, which the card interrupts the process for.
        Thread = "thread",
    }
}

chasqui_config::parameters! {
    /// What the host's processes and the card share.
    pub struct Shared {
        /// A process's window of the card's memory, whole pages.
        window: Bytes = "32 KiB", range "8 KiB" ..= "1 MiB", source "assumption: requests, and 28 KiB of send buffers";
        /// A process's memory on the host that the card writes, whole pages.
        host: Bytes = "128 KiB", range "4 KiB" ..= "16 MiB", source "assumption";
        /// Memory of the card that is the firmware's: its image, and buffers and tables.
        firmware: Bytes = "512 KiB", range "64 KiB" ..= "64 MiB", source "assumption";
        /// Pages that the page table of a node names at a time; its processes share them equally.
        pages: Count = 15400, range 1 ..= 16777216, source "MPI-NP, section 3.5: more than 15,400, for 60 MB";
        /// Pages that an entry of it names.
        entry_pages: Count = 4, range 1 ..= 4, source "specs/mpinp.md: four pages an entry (MPI-NP, section 3.5: several)";
        /// Of each hundred entries of a process so many name pages that stay pinned after transfers (`mcp`).
        kept: Count = 0, range 0 ..= 90, source "MPI-NP, section 3.5: pessimistic pinning";
        /// How a process waits (`mcp`).
        wait: Wait = "polling", source "specs/mpinp.md: the host polls";
        /// A process that sleeps has polled so many times in vain before; 0: it sleeps at once (`mpinp.shared.wait`).
        polls: Count = 50, range 0 ..= 1000000, source "ours: about as long as a sleep and an interrupt take";
        /// Who has further pages named for a transfer that is longer than its process's share of the page table reaches (`mcp`).
        progress: Progress = "user", source "MPI-NP, section 3.5: user-driven";
        /// Processes of a node, at most.
        processes: Count = 16, range 1 ..= 64, source "ours: a bit of a register for each doorbell";
    }
}

/// What is not a power of two, in words.
fn power(name: &str, value: Bytes) -> Option<String> {
    (!value.bytes().is_power_of_two()).then(|| format!("{name} = {value}: powers of two are allowed"))
}

/// What is no whole number of pages, in words.
fn pages(name: &str, value: Bytes) -> Option<String> {
    let whole = value.bytes().is_multiple_of(PAGE_BYTES);
    (!whole)
        .then(|| format!("{name} = {value}: whole pages of {} are allowed", Bytes::from_bytes(PAGE_BYTES)))
}

impl Pci {
    /// What does not fit, in words.
    pub fn mistakes(&self) -> Vec<String> {
        let (limit, least) =
            (self.initial_latency.cycles(), self.address.cycles() + self.target_wait.cycles() + 1);
        let late = (limit < least).then(|| {
            format!(
                "mpinp.pci.initial_latency = {limit}: mpinp.pci.address and target_wait are over after {}; at least {least} \
                 are needed",
                least - 1
            )
        });
        power("mpinp.pci.width", self.width).into_iter().chain(late).collect()
    }
}

impl Card {
    /// What does not fit, in words.
    pub fn mistakes(&self) -> Vec<String> {
        power("mpinp.card.width", self.width).into_iter().chain(pages("mpinp.card.sram", self.sram)).collect()
    }
}

impl Processor {
    /// Its instruction cache, of lines of an instruction.
    pub fn instruction_cache(&self) -> CacheParameters {
        CacheParameters::new(self.instruction_cache.bytes(), 2, 4)
    }

    /// What does not fit, in words.
    pub fn mistakes(&self) -> Vec<String> {
        let wrong = self.instruction_cache().check().err();
        wrong.map(|text| format!("mpinp.np.instruction_cache: {text}")).into_iter().collect()
    }
}

impl Shared {
    /// Processes wait by interrupt.
    pub fn interrupts(&self) -> bool {
        self.wait == Wait::Interrupt
    }

    /// Entries of the page table that each of `processes` has.
    pub(crate) fn entries_each(&self, processes: u32) -> u64 {
        self.pages / self.entry_pages / u64::from(processes)
    }

    /// ... of which so many name pages that stay pinned.
    pub(crate) fn kept_each(&self, processes: u32) -> u64 {
        self.entries_each(processes) * self.kept / 100
    }

    /// For what the card interrupts the host.
    pub(crate) fn line(&self) -> Line {
        match (self.wait, self.progress) {
            (Wait::Interrupt, _) => Line::Waits,
            (Wait::Polling, Progress::Thread) => Line::Pages,
            (Wait::Polling, Progress::User) => Line::None,
        }
    }

    /// What does not fit, in words.
    pub fn mistakes(&self) -> Vec<String> {
        let (window, host) =
            (pages("mpinp.shared.window", self.window), pages("mpinp.shared.host", self.host));
        let entry = (!self.entry_pages.is_power_of_two())
            .then(|| format!("mpinp.shared.entry_pages = {}: 1, 2 and 4 are allowed", self.entry_pages));
        let both = (self.interrupts() && self.progress == Progress::Thread).then(|| {
            format!(
                "mpinp.shared.progress = {}: where processes wait by interrupt (mpinp.shared.wait) {} is allowed",
                self.progress,
                Progress::User
            )
        });
        window.into_iter().chain(host).chain(entry).chain(both).collect()
    }
}

#[cfg(test)]
mod tests {
    use chasqui_config::{Parameters, Scalar};

    use super::*;
    use crate::np_registers::PROCESSES_MAX;

    #[test]
    fn each_process_has_a_bit() {
        let declarations = Shared::declarations();
        let processes = declarations.iter().find(|d| d.name == "processes").expect("it is declared");
        let most = &processes.range.as_ref().expect("a range").1;
        assert_eq!(*most, Scalar::Integer(PROCESSES_MAX as i64));
    }

    #[test]
    fn what_is_no_power_of_two_and_no_whole_pages_is_said() {
        let odd = |bytes| Bytes::from_bytes(bytes);
        let card = Card { width: odd(12), sram: odd((1 << 20) + 1), ..Card::default() };
        let shared = Shared { window: odd(9000), host: odd(4097), entry_pages: 3, ..Shared::default() };
        let np = Processor { instruction_cache: odd(24), ..Processor::default() };
        assert_eq!(
            Pci { width: odd(5), ..Pci::default() }.mistakes(),
            ["mpinp.pci.width = 5 B: powers of two are allowed"]
        );
        assert_eq!((card.mistakes().len(), shared.mistakes().len(), np.mistakes().len()), (2, 3, 1));
        assert_eq!(shared.mistakes()[0], "mpinp.shared.window = 9000 B: whole pages of 4 KiB are allowed");
        for none in [
            Card::default().mistakes(),
            Pci::default().mistakes(),
            Shared::default().mistakes(),
            Processor::default().mistakes(),
        ] {
            assert_eq!(none, Vec::<String>::new());
        }
    }
}

//! The machine's parameters.

use chasqui_config::{Bytes, Count, Cycles, Frequency};

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

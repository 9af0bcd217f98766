//! The machine's parameters.

use chasqui_config::{Bytes, Count, Cycles, Flag};

use crate::registers;

chasqui_config::choice! {
    /// How a message comes from the NIC to where the program wants it.
    pub enum Policy {
        /// The processor copies it from the NIC's memory.
        Processor = "processor",
        /// The NIC writes it to a buffer in main memory as it comes, from which the processor copies it.
        Buffer = "buffer",
        /// The NIC writes it to its destination when the receive is known.
        Direct = "direct",
        /// A short one goes through the network cache, a longer one as by "direct".
        NetworkCache = "network-cache",
        /// A NIC of the Virtual Interface Architecture, with buffers from which the processor copies.
        Via = "via",
        /// The same by the kernel, over an Ethernet controller instead of the NIC (`netcache.ethernet`).
        Mvia = "mvia",
        /// The kernel's TCP brings it, over an Ethernet controller instead of the NIC (`netcache.ethernet`).
        Tcp = "tcp",
    }
}

impl Policy {
    /// A kernel's driver is a part of it.
    pub(crate) fn needs_kernel(self) -> bool {
        matches!(self, Policy::Via | Policy::Mvia | Policy::Tcp)
    }

    /// As the identification page says it.
    pub(crate) fn setting(self) -> u64 {
        match self {
            Policy::Processor => registers::POLICY_PROCESSOR,
            Policy::Buffer => registers::POLICY_BUFFER,
            Policy::Direct => registers::POLICY_DIRECT,
            Policy::NetworkCache => registers::POLICY_CACHE,
            Policy::Via | Policy::Mvia | Policy::Tcp => unreachable!("they have controllers of their own"),
        }
    }
}

chasqui_config::parameters! {
    /// The network interface, a NIC with DMA on the memory bus. Cycles are bus clocks.
    pub struct NicUnit {
        /// How messages are received.
        policy: Policy = "network-cache", source "Khunjush, 6.4: the policies compared";
        /// What it writes to the process's memory goes into the processor's L2 (`node.l2.stash_ways`), not to main memory.
        inject: Flag = false, source "ours: as Intel's DDIO and Arm's cache stashing";
        /// Nodes.
        nodes: Count = 4096, range 1 ..= 65536, source "ours";
        /// Uncached access of the processor to a register or to network memory: from the end of the address tenure to the data.
        access: Cycles = 4, range 0 ..= 1000, source "assumption: the paper does not say";
        /// Control of a message on its way out, and of each packet of a block.
        transmit: Cycles = 5, range 1 ..= 1000, source "assumption";
        /// Control of a packet on its way in.
        receive: Cycles = 5, range 1 ..= 1000, source "assumption";
        /// Control of a delivery.
        deliver: Cycles = 5, range 1 ..= 1000, source "assumption";
        /// Width of the NIC's memory, which each packet crosses.
        width: Bytes = "16 B", range "1 B" ..= "256 B", source "assumption: as the bus";
        /// Packets that wait for the link.
        packets: Count = 2, range 1 ..= 64, source "assumption: one going out, one coming in";
        /// Bytes of a packet on the wire beside the NIC's own header and the data.
        packet_overhead: Bytes = "16 B", range "4 B" ..= "256 B", source "assumption: route and check";
        /// Data of a packet of a block.
        packet_data: Bytes = "1 KiB", range "16 B" ..= "16 KiB", source "assumption";
        /// A page that the operating system must bring in first.
        page_in: Cycles = 500, range 0 ..= 1000000, source "assumption: an interrupt and a page fault";
        /// Network memory.
        memory: Bytes = "256 KiB", range "16 KiB" ..= "64 MiB", source "assumption: the paper allots pools without a limit";
        /// Length of a buffer pool.
        pool: Bytes = "4 KiB", range "256 B" ..= "4 KiB", source "Khunjush, 5.2.1: pools of varying sizes; of those the largest";
    }
}

chasqui_config::parameters! {
    /// What the MPI device uses.
    pub struct MpiUnit {
        /// Longest message that goes without rendezvous.
        eager: Bytes = "1 KiB", range "16 B" ..= "1968 B", source "ours";
        /// Slots of the transmit ring, a power of two.
        slots: Count = 32, range 2 ..= 64, source "ours";
        /// Arrivals that their ring holds, a power of two.
        arrivals: Count = 64, range 2 ..= 64, source "ours";
        /// Buffers beside those that arrivals, or receive descriptors, have (policies `buffer`, `via`, `mvia`): as many messages
        /// stay where the NIC has written them until their receive comes.
        spare: Count = 64, range 0 ..= 4096, source "ours: as many as arrivals";
        /// Receives that may wait for their messages by name at a time (policy `network-cache`); the next has all messages
        /// entered among the arrivals.
        named_receives: Count = 16, range 0 ..= 256, source "ours: as many as reservations (`node.network_cache.early_entries`); the paper (3.1) sets no limit";
    }
}

impl NicUnit {
    /// Pools of network memory.
    pub fn pools(&self) -> u64 {
        self.memory.bytes() / self.pool.bytes()
    }

    /// What does not fit, in words.
    pub fn mistakes(&self, mpi: &MpiUnit) -> Vec<String> {
        let mut found = Vec::new();
        for (name, length) in [("pool", self.pool), ("memory", self.memory)] {
            if !length.bytes().is_power_of_two() {
                found.push(format!("netcache.nic.{name}: {length} is not a power of two"));
            }
        }
        if mpi.eager > self.pool {
            found.push(format!("netcache.mpi.eager: {} do not fit a pool (netcache.nic.pool)", mpi.eager));
        }
        for (name, count) in [("slots", mpi.slots), ("arrivals", mpi.arrivals)] {
            if !count.is_power_of_two() {
                found.push(format!("netcache.mpi.{name}: {count} is not a power of two"));
            }
        }
        // Arrivals that nobody has looked at take half of it at most, those that wait for their receive the rest.
        let arrivals = mpi.arrivals * mpi.eager.bytes().next_multiple_of(registers::ELEMENT_BYTES);
        if 2 * arrivals > self.memory.bytes() {
            found.push(format!(
                "netcache.nic.memory: {} do not hold {} arrivals of {} twice (netcache.mpi)",
                self.memory, mpi.arrivals, mpi.eager
            ));
        }
        found
    }
}

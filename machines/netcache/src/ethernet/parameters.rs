//! Parameters of the Ethernet controller and of MPI over sockets (policies `tcp`, `mvia`).

use chasqui_abi::kernel::SOCKET_BUFFER_BYTES;
use chasqui_config::{Bytes, Count, Cycles, Duration};

use super::registers;

chasqui_config::choice! {
    /// What a process does that waits in MPI.
    pub enum Waits {
        /// It sleeps in the kernel until something comes.
        Blocks = "blocks",
        /// It asks the kernel again and again.
        Polls = "polls",
    }
}

chasqui_config::parameters! {
    /// An Ethernet controller with rings of descriptors and an interrupt line, on the memory bus. Cycles are bus clocks.
    pub struct EthernetUnit {
        /// Uncached access of the processor to a register: from the end of the address tenure to the data.
        access: Cycles = 4, range 0 ..= 1000, source "assumption: as netcache.nic.access";
        /// Control of a frame on its way out.
        transmit: Cycles = 5, range 1 ..= 1000, source "assumption: as netcache.nic.transmit";
        /// Control of a frame on its way in.
        receive: Cycles = 5, range 1 ..= 1000, source "assumption: as netcache.nic.receive";
        /// Longest packet of a frame.
        mtu: Bytes = "1500 B", range "576 B" ..= "1800 B", source "IEEE 802.3; the kernel's packets have 2 KiB with their headers";
        /// Bytes of a frame on the wire beside its header and data: preamble, check, gap.
        overhead: Bytes = "24 B", range "4 B" ..= "256 B", source "IEEE 802.3: 8, 4 and 12";
        /// Shortest frame, without those.
        frame_min: Bytes = "60 B", range "14 B" ..= "576 B", source "IEEE 802.3: 64 with the check";
        /// Frames on their way out, in the controller.
        transmit_fifo: Bytes = "16 KiB", range "2 KiB" ..= "1 MiB", source "8254x manual, 13.4.33: what its packet buffer has";
        /// Frames on their way in, in the controller; what does not fit is lost.
        receive_fifo: Bytes = "48 KiB", range "2 KiB" ..= "1 MiB", source "8254x manual, 13.4.33";
        /// Descriptors of the transmit ring, a power of two.
        transmit_slots: Count = 32, range 2 ..= 256, source "Linux 2.4, driver tulip (for the paper's DEC 21140A): TX_RING_SIZE";
        /// Descriptors of the receive ring, a power of two.
        receive_slots: Count = 128, range 2 ..= 256, source "Linux 2.4, driver tulip: RX_RING_SIZE";
        /// Least time from an interrupt to the next (moderation).
        interrupt_gap: Duration = "0 ns", range "0 ns" ..= "10 ms", source "the 21140 has none; of the 8254x it is ITR, 0 after reset";
    }
}

chasqui_config::parameters! {
    /// MPI over sockets.
    pub struct TcpUnit {
        /// Longest message that goes without rendezvous.
        eager: Bytes = "128000 B", range "8 B" ..= "1 MiB", source "MPICH over sockets (Khunjush, 7.2: MPICH): 128000";
        /// What a process does that waits in MPI.
        waits: Waits = "blocks", source "Khunjush, 7.1.1 and 7.2.1: the receive includes a context switch";
    }
}

impl EthernetUnit {
    /// Longest frame, without what `overhead` counts [bytes].
    pub(super) fn frame_max(&self) -> u64 {
        registers::HEADER_BYTES + self.mtu.bytes()
    }

    /// Shortest frame, with what `overhead` counts [bytes].
    pub fn shortest(&self) -> u64 {
        self.frame_min.bytes() + self.overhead.bytes()
    }

    /// Messages of `bytes` after which frames have gone by every descriptor, and bytes through all of a socket's buffer.
    pub fn warm_up(&self, bytes: u64) -> u64 {
        let stream = size_of::<registers::StreamHeader>() as u64 + bytes;
        let frames = stream.div_ceil(self.mtu.bytes());
        SOCKET_BUFFER_BYTES.div_ceil(stream).max(self.descriptors().div_ceil(frames))
    }

    /// Descriptors of the longer ring.
    pub fn descriptors(&self) -> u64 {
        self.transmit_slots.max(self.receive_slots)
    }

    /// What does not fit, in words.
    pub fn mistakes(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, count) in [("transmit_slots", self.transmit_slots), ("receive_slots", self.receive_slots)]
        {
            if !count.is_power_of_two() {
                found.push(format!("netcache.ethernet.{name}: {count} is not a power of two"));
            }
        }
        found
    }
}

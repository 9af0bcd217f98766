//! The VIA NIC's own parameters; what it has in common with the other NIC is in `NicUnit`.

use chasqui_config::{Bytes, Count, Cycles, Duration, Flag};

use crate::parameters::{MpiUnit, NicUnit};

chasqui_config::parameters! {
    /// The NIC of policy "via". Cycles are bus clocks.
    pub struct ViaUnit {
        /// VIs of each process.
        vis: Count = 256, range 1 ..= 4096, source "assumption: Giganet's cLAN has 1024";
        /// Completion queues of each process.
        queues: Count = 16, range 1 ..= 16, source "assumption";
        /// Entries of the translation and protection table that each process has, one a page, in the NIC's memory.
        table: Count = 16384, range 16 ..= 65536, source "assumption: 64 MiB of registered memory";
        /// Descriptors that a work queue takes: doorbells that the NIC remembers.
        depth: Count = 64, range 2 ..= 1024, source "assumption";
        /// Looking up a page in that table.
        lookup: Cycles = 1, range 0 ..= 1000, source "assumption: it is the NIC's own memory";
        /// Control of a completion.
        complete: Cycles = 5, range 1 ..= 1000, source "assumption: as of a message";
        /// Longest message of send and receive, which is one packet.
        transfer: Bytes = "2 KiB", range "64 B" ..= "16 KiB", source "assumption: the specification asks for 32 KiB, in several packets";
        /// Packets of a VI that may be under way without having been acknowledged.
        window: Count = 16, range 1 ..= 256, source "assumption";
        /// From the notice that a packet was refused until it is sent again.
        retry: Duration = "10 us", range "100 ns" ..= "1 s", source "assumption";
        /// Times in a row that a packet is refused before the connection ends.
        retries: Count = 100000, range 1 ..= 1000000000, source "assumption: a second";
        /// Messages without a receive descriptor wait in the NIC, those of each process in so much memory; what finds no room
        /// is dropped.
        staging: Bytes = "0 B", range "0 B" ..= "16 MiB", source "Khunjush, 7.1.2: dropped and sent again";
        /// The MPI device has payloads written to the program's buffer, from that memory.
        zero_copy: Flag = false, source "Khunjush, 7.3: one copy by the processor";
        /// A process that waits in MPI sleeps in the kernel until an interrupt wakes it.
        blocks: Flag = false, source "Khunjush, 7.1.2: completion is seen at user level";
        /// Receive descriptors that the MPI device keeps posted for each process.
        receives: Count = 16, range 2 ..= 1024, source "ours";
    }
}

/// Bytes of an envelope, which goes in front of the payload.
pub(crate) const ENVELOPE_BYTES: u64 = size_of::<chasqui_abi::Envelope>() as u64;

impl ViaUnit {
    /// What does not fit, in words.
    pub fn mistakes(&self, nic: &NicUnit, mpi: &MpiUnit) -> Vec<String> {
        let mut found = Vec::new();
        if ENVELOPE_BYTES + mpi.eager.bytes() > self.transfer.bytes() {
            found.push(format!(
                "netcache.mpi.eager: {} with an envelope of {ENVELOPE_BYTES} bytes are longer than netcache.via.transfer ({})",
                mpi.eager, self.transfer
            ));
        }
        for (name, count) in [("slots", mpi.slots), ("receives", self.receives)] {
            if count > self.depth {
                let unit = if name == "slots" { "netcache.mpi" } else { "netcache.via" };
                found.push(format!(
                    "{unit}.{name}: a work queue takes {} descriptors, not {count} (netcache.via.depth)",
                    self.depth
                ));
            }
        }
        if self.zero_copy && self.staging.bytes() < self.transfer.bytes() {
            found.push(format!(
                "netcache.via.zero_copy: a message of {} must fit netcache.via.staging ({})",
                self.transfer, self.staging
            ));
        }
        if !nic.packet_data.bytes().is_power_of_two() {
            found.push(format!("netcache.nic.packet_data: {} is not a power of two", nic.packet_data));
        }
        found
    }

    /// VIs that the MPI device uses for each other process.
    pub fn vis_per_rank(&self) -> u64 {
        1 + u64::from(self.zero_copy)
    }
}

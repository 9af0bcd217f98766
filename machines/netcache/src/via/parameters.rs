//! The VIA NIC's own parameters; what it has in common with the other NIC is in `NicUnit`.

use chasqui_config::{Bytes, Count, Cycles, Duration, Flag};

use chasqui_abi::NiIdentification;

use super::registers;
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

chasqui_config::parameters! {
    /// VIA in the kernel, policy "mvia"; what it has in common with the NIC is in `netcache.via`.
    pub struct MviaUnit {
        /// From the latest packet that was acknowledged, or the first that is under way, until they are sent again: frames may
        /// be lost. A quarter longer each time in a row.
        timeout: Duration = "1 ms", range "10 us" ..= "1 s", source "ours: the least of the kernel's TCP";
    }
}

/// Bytes of an envelope, which goes in front of the payload.
pub(crate) const ENVELOPE_BYTES: u64 = size_of::<chasqui_abi::Envelope>() as u64;

impl ViaUnit {
    /// What the kernel, which stands for the NIC, has not, in words.
    pub fn mistakes_in_software(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.zero_copy {
            found
                .push("netcache.via.zero_copy: the kernel copies; it needs netcache.nic.policy = via".into());
        }
        if self.staging.bytes() > 0 {
            found.push(format!(
                "netcache.via.staging: the kernel keeps no messages; allowed without netcache.nic.policy = via: 0 B, not {}",
                self.staging
            ));
        }
        found
    }

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

    /// What the identification page says to the MPI device, and the driver.
    pub fn identify(&self, mpi: &MpiUnit, page: &mut NiIdentification) {
        page.device = registers::DEVICE as u32;
        page.interface = registers::HEADER.interface();
        for (setting, value) in [
            (registers::SETTING_EAGER, mpi.eager.bytes()),
            (registers::SETTING_SLOTS, mpi.slots),
            (registers::SETTING_RECEIVES, self.receives),
            (registers::SETTING_ZERO_COPY, self.zero_copy.into()),
            (registers::SETTING_BLOCKS, self.blocks.into()),
            (registers::SETTING_VIS, self.vis),
            (registers::SETTING_PAGES, self.table),
            (registers::SETTING_DEPTH, self.depth),
            (registers::SETTING_QUEUES, self.queues),
            (registers::SETTING_TRANSFER, self.transfer.bytes()),
            (registers::SETTING_SPARE, mpi.spare),
        ] {
            page.settings[setting as usize] = value;
        }
    }

    /// The same of the kernel that stands for the NIC.
    pub fn identify_software(&self, mvia: &MviaUnit, page: &mut NiIdentification) {
        let ns = |time: Duration| time.ps().div_ceil(1000);
        page.settings[registers::SETTING_WINDOW as usize] = self.window | self.retries << 32;
        page.settings[registers::SETTING_TIMES as usize] = ns(self.retry) | ns(mvia.timeout) << 32;
    }

    /// VIs that the MPI device uses for each other process.
    pub fn vis_per_rank(&self) -> u64 {
        1 + u64::from(self.zero_copy)
    }

    /// Ranks that a process has VIs for.
    pub fn ranks_max(&self) -> u64 {
        self.vis / self.vis_per_rank()
    }

    /// A job of `ranks` has VIs enough.
    ///
    /// # Errors
    /// It does not: why, in words.
    pub fn check_ranks(&self, ranks: u32) -> Result<(), String> {
        if u64::from(ranks) <= self.ranks_max() {
            return Ok(());
        }
        Err(format!(
            "{ranks} ranks with netcache.via.vis = {}: {} are allowed, for a process has a VI for each other or, with \
             netcache.via.zero_copy, two",
            self.vis,
            self.ranks_max()
        ))
    }
}

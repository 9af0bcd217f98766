//! What memory systems need whose controllers are told by processors to move data: registers, processes' pages, memory.

use chasqui_engine::Time;
use chasqui_memory::{DEVICE_BASE, FlatMemory, Slot};

use crate::io::Access;
use crate::os::{SIGSEGV, physical};
use crate::parts::Parts;

/// A hart's access to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceAccess {
    /// Address, relative to [`DEVICE_BASE`].
    pub address: u64,
    /// Length [bytes].
    pub bytes: u32,
    /// What is stored; nothing: it is a load.
    pub value: Option<u64>,
}

impl Parts {
    /// The access to a register that is in `slot` of hart `index`, if it is one. (Of 64 bytes none is.)
    pub fn device_access(&self, index: usize, slot: Slot) -> Option<DeviceAccess> {
        let (device, access) = self.io.access(&self.harts, index, slot)?;
        if device >= self.io.devices.len() {
            return None;
        }
        match access {
            Access::Load { address, bytes } => Some(DeviceAccess { address, bytes, value: None }),
            Access::Store { address, bytes, value } => {
                Some(DeviceAccess { address, bytes, value: Some(value) })
            }
            Access::Store64 { .. } => None,
        }
    }

    /// The process that hart `index` executes, by its place in the node's table.
    pub fn process_of(&self, index: usize) -> usize {
        self.harts[index].process
    }

    /// Physical address of the virtual address `address` of a process, if its page is there, is memory, and may be read, or
    /// written if it `writes`. A process that has ended has none.
    pub fn physical(&self, process: usize, address: u64, writes: bool) -> Option<u64> {
        let process = &self.os.processes[process];
        if process.ended.is_some() {
            return None;
        }
        let place = physical(&process.process, &self.domain.memory, address, writes);
        place.filter(|&physical| physical < DEVICE_BASE)
    }

    /// The memory of all nodes. Whoever may notice what is changed has been told ([`Parts::snoop`]).
    pub fn memory_mut(&mut self) -> &mut FlatMemory {
        &mut self.domain.memory
    }

    /// A controller finds at `now` that a process has violated protection, by what it had hart `index` ask.
    pub fn fault(&mut self, index: usize, process: usize, what: &str, now: Time) {
        let id = self.os.processes[process].id;
        self.os.fault_of(&mut self.harts, &mut self.events, (id, index), now, (SIGSEGV, what));
        self.announce_ends(now);
    }

    /// The memory system does something by itself that harts may notice, or nothing.
    pub fn set_at_work(&mut self, at_work: bool) {
        self.at_work = at_work;
    }
}

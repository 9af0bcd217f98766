//! What devices ask of the system: processes' pages.

use chasqui_linux::{Access, Process};
use chasqui_memory::FlatMemory;
use chasqui_ni::Pager;
use chasqui_placement::ProcessId;

use super::NodeProcess;

/// The system's processes, as devices meet them.
pub(crate) struct Pages<'a>(pub &'a mut [NodeProcess]);

impl Pages<'_> {
    fn process(&self, id: ProcessId) -> Option<&Process> {
        self.0.iter().find(|process| process.id == id).map(|found| &found.process)
    }

    fn process_mut(&mut self, id: ProcessId) -> Option<&mut Process> {
        self.0.iter_mut().find(|process| process.id == id).map(|found| &mut found.process)
    }
}

impl Pager for Pages<'_> {
    fn hart(&self, id: ProcessId) -> Option<usize> {
        self.0.iter().find(|process| process.id == id).map(|found| found.harts.start)
    }

    fn physical(&self, memory: &FlatMemory, id: ProcessId, address: u64, write: bool) -> Option<u64> {
        physical(self.process(id)?, memory, address, write)
    }

    fn page_in(&mut self, memory: &mut FlatMemory, id: ProcessId, address: u64, write: bool) -> bool {
        let access = access(write);
        self.process_mut(id).is_some_and(|process| process.space.fault(memory, address, access).is_ok())
    }
}

/// Physical address of `address` of a process, if its page is there and may be read, or written if `write`.
pub(crate) fn physical(process: &Process, memory: &FlatMemory, address: u64, write: bool) -> Option<u64> {
    process.space.physical(memory, address, access(write))
}

fn access(write: bool) -> Access {
    if write { Access::Write } else { Access::Read }
}

//! Memory and bus that nobody else uses. A transaction takes effect when it is asked for: nobody is there who could see
//! that. So the processor can be run at once to its next access to the device, however far that is.

use chasqui_engine::Time;
use chasqui_hart::Hart;
use chasqui_memory::{
    Bus, BusParameters, DEVICE_BASE, DramParameters, FlatMemory, PAGE_BYTES, Request, Responder, Slot,
    Snooped,
};

use super::{DeviceAccess, Ended, LocalMemory, Taken};

/// Private memory and its bus.
pub struct PrivateMemory {
    memory: FlatMemory,
    bus: Bus,
    /// When the transactions with memory that are under way end, by slot.
    ends: [Option<Time>; Slot::ALL.len()],
}

impl PrivateMemory {
    /// `bytes` of memory, at most 1 GiB, on a bus of its own.
    ///
    /// # Errors
    /// The host has no address space for it.
    pub fn new(bytes: u64, bus: BusParameters, dram: DramParameters) -> Result<PrivateMemory, String> {
        let memory = FlatMemory::new(bytes).map_err(|e| e.to_string())?;
        Ok(PrivateMemory { memory, bus: Bus::new(bus, dram), ends: [None; Slot::ALL.len()] })
    }
}

impl LocalMemory for PrivateMemory {
    fn memory(&mut self) -> &mut FlatMemory {
        &mut self.memory
    }

    fn table(&self) -> u64 {
        self.memory.bytes() - PAGE_BYTES
    }

    fn horizon(&self, _: Time) -> Time {
        Time::NEVER
    }

    fn take(&mut self, cycle: u64, slot: Slot, request: Request, hart: &mut Hart) -> Result<Taken, String> {
        let grant = self.bus.grant_at(hart.time_of(cycle));
        if let Request::UncachedLoad { address, bytes } = request {
            return Ok(Some((grant, DeviceAccess::Load { address: address - DEVICE_BASE, bytes })));
        }
        let device = matches!(request, Request::UncachedStore { .. });
        let (length, write) = hart.port.transfer(request);
        let responder = match request {
            Request::Own { upgrade: true, .. } => Responder::None,
            _ if device => Responder::Device(Time::ZERO),
            _ => Responder::Dram,
        };
        let end = self.bus.place(grant, length, write, responder).end;
        hart.port.granted(slot, Snooped::default(), hart.cycle_at(grant));
        if let Request::UncachedStore { address, bytes, value } = request {
            return Ok(Some((end, DeviceAccess::Store { address: address - DEVICE_BASE, bytes, value })));
        }
        self.ends[slot as usize] = Some(end);
        Ok(None)
    }

    fn next_end(&mut self, until: Time, _: &mut Hart) -> Option<Ended> {
        let next = self.ends.iter().flatten().copied().min().filter(|&end| end <= until)?;
        let slot = Slot::ALL.into_iter().find(|&slot| self.ends[slot as usize] == Some(next))?;
        self.ends[slot as usize] = None;
        Some(Ended { slot, value: 0, end: next })
    }

    fn run_until(&self, hart: &Hart) -> u64 {
        self.ends.iter().flatten().min().map_or(u64::MAX, |&end| hart.cycle_at(end))
    }

    fn answer(&mut self, at: Time, bytes: u32, latency: Time, hart: &mut Hart) -> Time {
        let grant = self.bus.grant_at(at);
        let end = self.bus.place(grant, bytes, false, Responder::Device(latency)).end;
        hart.port.granted(Slot::Blocking, Snooped::default(), hart.cycle_at(grant));
        end
    }

    fn is_busy(&self) -> bool {
        self.ends.iter().any(Option::is_some)
    }
}

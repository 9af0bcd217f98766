//! An SRAM that other masters use too ([`Sram`]). The processor has no data cache: its loads, stores and fetches are accesses
//! for which it competes. It runs only so far ahead as it is known who wants what, so its NI runs it again and again while
//! it is not held at its device ([`FirmwareProcessor::go_on`](super::FirmwareProcessor::go_on)).
//!
//! A fetch, load or store overlaps its instruction: of what it takes the last cycle is the instruction's own. So one that is
//! given an access in the cycle in which it is asked for costs nothing beside.

use chasqui_engine::{Clock, Time};
use chasqui_hart::Hart;
use chasqui_memory::{DEVICE_BASE, FlatMemory, PortKind, Request, Slot, Snooped};

use super::{DeviceAccess, Ended, LocalMemory, Taken};
use crate::{Sram, SramBlock, SramData, SramDone};

/// Its place on the SRAM.
pub struct SharedSram {
    /// The memory, with the masters' blocks.
    pub sram: Sram,
    /// Which master the processor is.
    master: usize,
    /// What the processor has asked for, oldest first.
    asked: std::collections::VecDeque<Slot>,
    /// Blocks of other masters of which the last word has been given.
    done: Vec<SramDone>,
}

impl SharedSram {
    /// That of a processor which is `master` of `sram`.
    pub fn new(sram: Sram, master: usize) -> SharedSram {
        SharedSram { sram, master, asked: [].into(), done: vec![] }
    }

    /// Takes the blocks of other masters that have been given to their ends since it was asked last, in that order. Their
    /// ends may be yet to come: the NI has events then.
    pub fn take_done(&mut self) -> Vec<SramDone> {
        std::mem::take(&mut self.done)
    }
}

impl LocalMemory for SharedSram {
    const KINDS: &[PortKind] = &[PortKind::Cacheless];

    fn memory(&mut self) -> &mut FlatMemory {
        self.sram.memory()
    }

    /// In no master's reach.
    fn table(&self) -> u64 {
        self.sram.bytes()
    }

    fn horizon(&self, now: Time) -> Time {
        self.sram.horizon(now)
    }

    fn take(&mut self, cycle: u64, slot: Slot, request: Request, hart: &mut Hart) -> Result<Taken, String> {
        let at = hart.time_of(cycle);
        let (address, data) = match request {
            Request::UncachedLoad { address, bytes } => {
                return Ok(Some((at, DeviceAccess::Load { address: address - DEVICE_BASE, bytes })));
            }
            Request::UncachedStore { address, bytes, value } => {
                hart.port.granted(slot, Snooped::default(), cycle);
                let address = address - DEVICE_BASE;
                return Ok(Some((at, DeviceAccess::Store { address, bytes, value })));
            }
            Request::DirectLoad { address, bytes } => (address, SramData::Read(bytes)),
            Request::DirectStore { address, bytes, value: Some(value) } => {
                (address, SramData::Write(value.to_le_bytes()[..bytes as usize].to_vec()))
            }
            Request::Fill { line, .. } => (line, SramData::Read(hart.port.transfer(request).0)),
            other => unreachable!("{other:?} without a data cache"),
        };
        self.sram.enter(self.master, at, SramBlock { address, data, pace: None, is_silent: false })?;
        self.asked.push_back(slot);
        Ok(None)
    }

    fn next_end(&mut self, until: Time, hart: &mut Hart) -> Option<Ended> {
        while let Some(done) = self.sram.give(until) {
            if done.master != self.master {
                self.done.push(done);
                continue;
            }
            let slot = self.asked.pop_front().expect("it has asked for what it was given");
            let mut value = [0; 8];
            let bytes = done.data.len().min(value.len());
            value[..bytes].copy_from_slice(&done.data[..bytes]);
            let end = before(hart.clock(), done.end);
            hart.port.served(slot, u64::from_le_bytes(value), hart.cycle_at(end));
            return Some(Ended { slot, value: u64::from_le_bytes(value), end });
        }
        None
    }

    fn run_until(&self, hart: &Hart) -> u64 {
        if self.sram.has_block(self.master) { hart.cycle + 1 } else { u64::MAX }
    }

    fn answer(&mut self, at: Time, _: u32, latency: Time, hart: &mut Hart) -> Time {
        hart.port.granted(Slot::Blocking, Snooped::default(), hart.cycle_at(at));
        at + latency
    }

    fn is_busy(&self) -> bool {
        self.sram.is_busy()
    }

    fn has_news(&self) -> bool {
        !self.done.is_empty()
    }

    fn next_look(&self, bound: Time) -> Time {
        self.sram.end_min().map_or(bound, |end| bound.max(end))
    }
}

/// The edge before the first at or after `end`.
fn before(clock: Clock, end: Time) -> Time {
    clock.edge(clock.edge_at_or_after(end).saturating_sub(1))
}

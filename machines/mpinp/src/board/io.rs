//! The host's side: the way there, with the processors' loads and stores and the card's DMA on it.

use chasqui_memory::DEVICE_BASE;
use chasqui_ni::{
    BusOperation, BusRequest, Context, HostBlock, HostLoad, IoEvent, IoStep, SramData, SramPace,
};
use chasqui_record::Stage;

use super::blocks::Moved;
use super::events::{BoardEvent, Unit};
use super::host::Memory;
use super::local::{HOST, Purpose};
use super::tagged::Tagged;
use super::{Board, PROCESS};
use crate::np_registers as np;

impl Board {
    // --- the processors' accesses -----------------------------------------------------------------------

    /// A processor of the host stores, for which there is room.
    pub(super) fn host_stores(&mut self, place: (u64, u32), value: u64, c: &mut Context<'_, '_>) {
        self.host.path.store(place, value, c.now);
        self.io_steps(c);
    }

    /// A processor of the host loads, or tries it again.
    pub(super) fn host_loads(&mut self, place: (u64, u32), c: &mut Context<'_, '_>) -> HostLoad {
        let found = self.host.path.load(place, c.now);
        self.io_steps(c);
        found
    }

    /// Stores come.
    fn stored(&mut self, address: u64, data: Vec<u8>, pace: Option<SramPace>, c: &mut Context<'_, '_>) {
        let doorbells = self.layout.doorbells_within(address, data.len() as u64);
        self.ask_local((HOST, Purpose::Store(doorbells)), (address, SramData::Write(data), pace), c);
    }

    /// The card's memory has what a processor's load asked for.
    pub(super) fn loaded(&mut self, data: &[u8], c: &mut Context<'_, '_>) {
        let mut value = [0; 8];
        value[..data.len()].copy_from_slice(data);
        if let Some(end) = self.host.path.answer(u64::from_le_bytes(value), c.now) {
            c.at(end, BoardEvent::Moved.into());
        }
    }

    // --- the way ----------------------------------------------------------------------------------------

    /// One of the way's events is due.
    pub(super) fn io_event(&mut self, event: IoEvent, c: &mut Context<'_, '_>) {
        self.host.path.event(event, c.now);
        self.io_steps(c);
    }

    // --- the card's DMA ---------------------------------------------------------------------------------

    /// The firmware starts a block.
    ///
    /// # Errors
    /// It can't be: in words.
    pub(super) fn start_host(&mut self, value: u64, c: &mut Context<'_, '_>) -> Result<(), String> {
        let (bytes, to_host) = (value as u32, value & np::HOST_TO_HOST != 0);
        let is_busy = self.is_moving();
        let host = &mut self.host;
        if is_busy || bytes == 0 {
            return Err(format!("HOST_START of {bytes} bytes while the host's DMA is busy, or of none"));
        }
        let end = host.address.checked_add(bytes.into());
        let is_device = host.address >= DEVICE_BASE; // pinned by a process that named registers as its buffer
        if end.is_none() || !is_device && c.memory.slice(host.address, bytes as usize).is_err() {
            return Err(format!(
                "HOST_START of {bytes} bytes at {:#x}: the host has no memory there",
                host.address
            ));
        }
        self.records.moves = self.records.take_named(&mut self.local.processor, c);
        self.host.blocks.add(self.records.moves, None);
        let host = &mut self.host;
        host.piece = 0;
        host.path.begin(HostBlock { host: host.address, bytes, to_host }, c.now);
        self.io_steps(c);
        Ok(())
    }

    /// What follows of what happened on the way.
    pub(super) fn io_steps(&mut self, c: &mut Context<'_, '_>) {
        while let Some(step) = self.host.path.step(c.now) {
            let local = self.host.local + u64::from(self.host.piece);
            match step {
                IoStep::At(time, event) => c.at(time, BoardEvent::from(event).into()),
                IoStep::Store { address, data, pace } => self.stored(address, data, pace, c),
                IoStep::Load { address, bytes } => {
                    let purpose = if self.layout.is_cause(address) { Purpose::Cause } else { Purpose::Load };
                    self.ask_local((HOST, purpose), (address, SramData::Read(bytes), None), c);
                }
                IoStep::ReadMemory { line, address, bytes } => {
                    let memory = Memory::Reads(line, vec![0; bytes as usize]);
                    self.ask_memory(BusOperation::Read, address, memory, c);
                }
                IoStep::WriteMemory { block, address, data } => {
                    let Moved { message, place, .. } = self.host.blocks.of(block);
                    let place = place.map(|(begin, process, at)| (process, at + (address - begin)));
                    let memory = Memory::Writes(data, message, place);
                    self.ask_memory(BusOperation::Write, address, memory, c);
                }
                IoStep::ReadLocal { offset, bytes } => {
                    let what = (local + u64::from(offset), SramData::Read(bytes), None);
                    self.ask_local((HOST, Purpose::DmaRead), what, c);
                }
                IoStep::WriteLocal { offset, data, pace } => {
                    let what = (local + u64::from(offset), SramData::Write(data), pace);
                    self.ask_local((HOST, Purpose::DmaWrite), what, c);
                }
                IoStep::Done if self.tags.as_ref().is_some_and(Tagged::is_delivering) => self.deliver_next(c),
                IoStep::Done => self.happened(np::EVENT_HOST, c),
            }
        }
    }

    fn ask_memory(&mut self, operation: BusOperation, address: u64, memory: Memory, c: &mut Context<'_, '_>) {
        let (Memory::Reads(_, data) | Memory::Writes(data, ..)) = &memory;
        let (host, bytes) = (&mut self.host, data.len() as u32);
        c.bus(BusRequest { operation, address, bytes, tag: Unit::Card.tag(host.number) });
        host.memory.insert(host.number, memory);
        host.number += 1;
    }

    /// A transaction of the bridge has its place in the order of memory.
    pub(super) fn memory_granted(&mut self, number: usize, address: u64, c: &mut Context<'_, '_>) {
        match self.host.memory.get_mut(&number).expect("the bridge has asked for it") {
            Memory::Reads(_, data) => {
                // Of a device's page nobody answers the bridge (PCI 2.1, 3.3.3.1: a master abort): ones, and no write.
                match c.memory.slice(address, data.len()) {
                    Ok(source) => data.copy_from_slice(source),
                    Err(_) => data.fill(0xff),
                }
            }
            // The process has given the page up, or may not write it any more.
            Memory::Writes(_, _, Some((process, at))) if c.physical(*process, *at, true) != Some(address) => {
            }
            Memory::Writes(data, ..) => {
                if let Ok(target) = c.memory.slice_mut(address, data.len()) {
                    target.copy_from_slice(data);
                }
            }
        }
    }

    /// It is over.
    pub(super) fn memory_done(&mut self, number: usize, c: &mut Context<'_, '_>) {
        let host = &mut self.host;
        match host.memory.remove(&number).expect("the bridge has asked for it") {
            Memory::Reads(line, data) => host.path.memory_read(line, data, c.now),
            Memory::Writes(_, message, _) => {
                host.path.memory_written(c.now);
                c.stamp(PROCESS, message, Stage::Land, c.now);
            }
        }
        self.io_steps(c);
    }
}

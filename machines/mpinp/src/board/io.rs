//! The host's side: the I/O bus, with the bridge's loads and stores and the card's DMA on it.

use chasqui_engine::Time;
use chasqui_memory::DEVICE_BASE;
use chasqui_ni::{
    BusOperation, BusRequest, CardStep, Context, FromHost, HostBlock, HostLoad, SramData, SramPace,
};
use chasqui_record::Stage;

use super::events::{BoardEvent, Unit};
use super::host::{CARD, Memory};
use super::local::{HOST, Purpose};
use super::{Board, PROCESS};
use crate::np_registers as np;

impl Board {
    // --- the processors' accesses -----------------------------------------------------------------------

    /// A processor of the host stores, for which the bridge has room.
    pub(super) fn host_stores(&mut self, place: (u64, u32), value: u64, c: &mut Context<'_, '_>) {
        self.host.bridge.store(place, value, &mut self.host.bus, c.now);
        self.grant(c);
    }

    /// A processor of the host loads, or tries it again.
    pub(super) fn host_loads(&mut self, place: (u64, u32), c: &mut Context<'_, '_>) -> HostLoad {
        let found = self.host.bridge.load(place, &mut self.host.bus, c.now);
        self.grant(c);
        found
    }

    // --- the I/O bus ------------------------------------------------------------------------------------

    /// The bus is given to who wants it.
    pub(super) fn grant(&mut self, c: &mut Context<'_, '_>) {
        if let Some((master, at)) = self.host.bus.grant(c.now) {
            self.host.granted = Some(master);
            c.at(at, BoardEvent::Granted.into());
        }
    }

    /// The address is over.
    pub(super) fn granted(&mut self, c: &mut Context<'_, '_>) {
        let host = &mut self.host;
        match host.granted.take().expect("somebody has the bus") {
            CARD => host.dma.has_bus(&mut host.bus, c.now),
            _ => match host.bridge.has_bus(&mut host.bus, c.now) {
                FromHost::Write { address, data, from, end } => {
                    self.stored(address, data, from, c);
                    c.at(end, BoardEvent::Moved.into());
                }
                FromHost::Read { address, bytes, limit } => {
                    self.ask_local((HOST, Purpose::Load), (address, SramData::Read(bytes), None), c);
                    c.at(limit, BoardEvent::Limit.into());
                }
                FromHost::Again { limit } => c.at(limit, BoardEvent::Limit.into()),
                FromHost::Answered(end) => c.at(end, BoardEvent::Moved.into()),
            },
        }
        self.dma_steps(c);
    }

    /// What was on the bus has crossed it.
    pub(super) fn moved(&mut self, c: &mut Context<'_, '_>) {
        let host = &mut self.host;
        match host.bus.owner() {
            Some(CARD) => host.dma.moved(&mut host.bus, c.now),
            _ => host.bridge.moved(host.dma.written(), &mut host.bus, c.now),
        }
        self.dma_steps(c);
    }

    /// Nothing has moved on the bus for as long as may be, if so.
    pub(super) fn limit(&mut self, c: &mut Context<'_, '_>) {
        let host = &mut self.host;
        match host.bus.owner() {
            Some(CARD) => host.dma.limit(&mut host.bus, c.now),
            _ => host.bridge.limit(&mut host.bus, c.now),
        }
        self.grant(c);
    }

    /// A burst of stores comes, from `from` on a word each clock.
    fn stored(&mut self, address: u64, data: Vec<u8>, from: Time, c: &mut Context<'_, '_>) {
        let doorbells = self.layout.doorbells_within(address, data.len() as u64);
        let what = (address, SramData::Write(data), Some(self.pace(from)));
        self.ask_local((HOST, Purpose::Store(doorbells)), what, c);
    }

    /// What begins to cross the I/O bus at `from` comes to the card's memory word by word.
    fn pace(&self, from: Time) -> SramPace {
        let bus = &self.host.bus;
        SramPace { clock: bus.clock(), first: bus.clock().edge_at_or_after(from) + 1, width: bus.width() }
    }

    /// The card's memory has what a processor's load asked for.
    pub(super) fn loaded(&mut self, data: &[u8], c: &mut Context<'_, '_>) {
        let mut value = [0; 8];
        value[..data.len()].copy_from_slice(data);
        let host = &mut self.host;
        if let Some(end) = host.bridge.answer(u64::from_le_bytes(value), &mut host.bus, c.now) {
            c.at(end, BoardEvent::Moved.into());
        }
    }

    // --- the card's DMA ---------------------------------------------------------------------------------

    /// The firmware starts a block.
    ///
    /// # Errors
    /// It can't be: in words.
    pub(super) fn start_host(&mut self, value: u64, c: &mut Context<'_, '_>) -> Result<(), String> {
        let (bytes, to_host) = (value as u32, value & np::HOST_TO_HOST != 0);
        let host = &mut self.host;
        if host.dma.is_busy() || bytes == 0 {
            return Err(format!("HOST_START of {bytes} bytes while the host's DMA is busy, or of none"));
        }
        let end = host.address.checked_add(bytes.into());
        if end.is_none_or(|end| end > DEVICE_BASE) || c.memory.slice(host.address, bytes as usize).is_err() {
            return Err(format!(
                "HOST_START of {bytes} bytes at {:#x}: the host has no memory there",
                host.address
            ));
        }
        self.records.moves = self.records.take_named(&mut self.local.processor, c);
        let host = &mut self.host;
        host.dma.begin(HostBlock { host: host.address, bytes, to_host }, &mut host.bus, c.now);
        self.dma_steps(c);
        Ok(())
    }

    /// What follows of the card's DMA.
    pub(super) fn dma_steps(&mut self, c: &mut Context<'_, '_>) {
        while let Some(step) = self.host.dma.step() {
            let local = self.host.local;
            match step {
                CardStep::ReadMemory { line, address, bytes } => {
                    let memory = Memory::Reads(line, vec![0; bytes as usize]);
                    self.ask_memory(BusOperation::Read, address, memory, c);
                }
                CardStep::WriteMemory { address, data, .. } => {
                    let memory = Memory::Writes(data, self.records.moves);
                    self.ask_memory(BusOperation::Write, address, memory, c);
                }
                CardStep::ReadLocal { offset, bytes } => {
                    let what = (local + u64::from(offset), SramData::Read(bytes), None);
                    self.ask_local((HOST, Purpose::DmaRead), what, c);
                }
                CardStep::WriteLocal { offset, data, from } => {
                    let what = (local + u64::from(offset), SramData::Write(data), Some(self.pace(from)));
                    self.ask_local((HOST, Purpose::DmaWrite), what, c);
                }
                CardStep::Moves(end) => c.at(end, BoardEvent::Moved.into()),
                CardStep::Waits(limit) => c.at(limit, BoardEvent::Limit.into()),
                CardStep::Done => self.happened(np::EVENT_HOST, c),
            }
        }
        self.grant(c);
    }

    fn ask_memory(&mut self, operation: BusOperation, address: u64, memory: Memory, c: &mut Context<'_, '_>) {
        let (Memory::Reads(_, data) | Memory::Writes(data, _)) = &memory;
        let (host, bytes) = (&mut self.host, data.len() as u32);
        c.bus(BusRequest { operation, address, bytes, tag: Unit::Card.tag(host.number) });
        host.memory.insert(host.number, memory);
        host.number += 1;
    }

    /// A transaction of the bridge has its place in the order of memory.
    pub(super) fn memory_granted(&mut self, number: usize, address: u64, c: &mut Context<'_, '_>) {
        match self.host.memory.get_mut(&number).expect("the bridge has asked for it") {
            Memory::Reads(_, data) => {
                let bytes = data.len();
                data.copy_from_slice(c.memory.slice(address, bytes).expect("it was checked"));
            }
            Memory::Writes(data, _) => {
                c.memory.slice_mut(address, data.len()).expect("it was checked").copy_from_slice(data);
            }
        }
    }

    /// It is over.
    pub(super) fn memory_done(&mut self, number: usize, c: &mut Context<'_, '_>) {
        let host = &mut self.host;
        match host.memory.remove(&number).expect("the bridge has asked for it") {
            Memory::Reads(line, data) => host.dma.memory_read(line, data, &mut host.bus, c.now),
            Memory::Writes(_, message) => {
                host.dma.memory_written(&mut host.bus, c.now);
                host.bridge.written();
                c.stamp(PROCESS, message, Stage::Land, c.now);
            }
        }
        self.dma_steps(c);
    }
}

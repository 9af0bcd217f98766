//! A bus as a card's way to the host: the arbiter, the bridge and the card's DMA together.

use std::collections::VecDeque;

use chasqui_counters::Visitor;
use chasqui_engine::Time;

use super::path::{IoEvent, IoPath, IoStep};
use super::{Bridge, CardDma, CardStep, FromHost, HostBlock, HostLoad, IoBus};
use crate::SramPace;

/// An I/O bus with a bridge and one card.
pub struct Pci {
    bus: IoBus,
    bridge: Bridge,
    dma: CardDma,
    /// The card's number among the bus's masters.
    card: usize,
    /// Who the address is of that is under way.
    granted: Option<usize>,
    /// Blocks that were begun.
    blocks: u64,
    steps: VecDeque<IoStep>,
}

impl Pci {
    /// One on which nothing is under way. `card` is the DMA's number among the bus's masters.
    pub fn new(bus: IoBus, bridge: Bridge, dma: CardDma, card: usize) -> Pci {
        Pci { bus, bridge, dma, card, granted: None, blocks: 0, steps: [].into() }
    }

    /// What begins to cross the bus at `from` comes to the card's memory word by word.
    fn pace(&self, from: Time) -> Option<SramPace> {
        let clock = self.bus.clock();
        Some(SramPace { clock, first: clock.edge_at_or_after(from) + 1, width: self.bus.width() })
    }

    /// The address is over.
    fn granted(&mut self, now: Time) {
        let master = self.granted.take().expect("somebody has the bus");
        if master == self.card {
            return self.dma.has_bus(&mut self.bus, now);
        }
        let (first, then) = match self.bridge.has_bus(&mut self.bus, now) {
            FromHost::Write { address, data, from, end } => {
                (Some(IoStep::Store { address, data, pace: self.pace(from) }), (end, IoEvent::Moved))
            }
            FromHost::Read { address, bytes, limit } => {
                (Some(IoStep::Load { address, bytes }), (limit, IoEvent::Limit))
            }
            FromHost::Again { limit } => (None, (limit, IoEvent::Limit)),
            FromHost::Answered(end) => (None, (end, IoEvent::Moved)),
        };
        self.steps.extend(first);
        self.steps.push_back(IoStep::At(then.0, then.1));
    }

    /// What was on the bus has crossed it.
    fn moved(&mut self, now: Time) {
        if self.bus.owner() == Some(self.card) {
            self.dma.moved(&mut self.bus, now);
        } else {
            self.bridge.moved(self.dma.written(), &mut self.bus, now);
        }
    }

    /// Nothing has moved on the bus for as long as may be, if so.
    fn limit(&mut self, now: Time) {
        if self.bus.owner() == Some(self.card) {
            self.dma.limit(&mut self.bus, now);
        } else {
            self.bridge.limit(&mut self.bus, now);
        }
    }
}

impl IoPath for Pci {
    fn has_room(&self, bytes: u32, now: Time) -> bool {
        self.bridge.has_room(bytes, &self.bus, now)
    }

    fn store(&mut self, place: (u64, u32), value: u64, now: Time) {
        self.bridge.store(place, value, &mut self.bus, now);
    }

    fn load(&mut self, place: (u64, u32), now: Time) -> HostLoad {
        self.bridge.load(place, &mut self.bus, now)
    }

    fn is_answered(&self, place: (u64, u32)) -> bool {
        self.bridge.is_answered(place)
    }

    fn answer(&mut self, value: u64, now: Time) -> Option<Time> {
        self.bridge.answer(value, &mut self.bus, now)
    }

    fn begin(&mut self, block: HostBlock, now: Time) {
        self.blocks += 1;
        self.dma.begin(block, &mut self.bus, now);
    }

    fn is_busy(&self) -> bool {
        self.dma.is_busy()
    }

    fn memory_read(&mut self, line: usize, data: Vec<u8>, now: Time) {
        self.dma.memory_read(line, data, &mut self.bus, now);
    }

    fn memory_written(&mut self, now: Time) {
        self.dma.memory_written(&mut self.bus, now);
        self.bridge.written();
    }

    fn local_read(&mut self, data: Vec<u8>, now: Time) {
        self.dma.local_read(data, &mut self.bus, now);
    }

    fn local_written(&mut self, now: Time) {
        self.dma.local_written(&mut self.bus, now);
    }

    fn event(&mut self, event: IoEvent, now: Time) {
        match event {
            IoEvent::Granted => self.granted(now),
            IoEvent::Moved => self.moved(now),
            IoEvent::Limit => self.limit(now),
        }
    }

    /// Last, the bus is given to who wants it.
    fn step(&mut self, now: Time) -> Option<IoStep> {
        if let Some(step) = self.steps.pop_front() {
            return Some(step);
        }
        let Some(step) = self.dma.step() else {
            let (master, at) = self.bus.grant(now)?;
            self.granted = Some(master);
            return Some(IoStep::At(at, IoEvent::Granted));
        };
        Some(match step {
            CardStep::ReadMemory { line, address, bytes } => IoStep::ReadMemory { line, address, bytes },
            // A line goes to memory when it has crossed, before its block is done.
            CardStep::WriteMemory { address, data, .. } => {
                IoStep::WriteMemory { block: self.blocks - 1, address, data }
            }
            CardStep::ReadLocal { offset, bytes } => IoStep::ReadLocal { offset, bytes },
            CardStep::WriteLocal { offset, data, from } => {
                IoStep::WriteLocal { offset, data, pace: self.pace(from) }
            }
            CardStep::Moves(end) => IoStep::At(end, IoEvent::Moved),
            CardStep::Waits(limit) => IoStep::At(limit, IoEvent::Limit),
            CardStep::Done => IoStep::Done,
        })
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        self.bus.statistics(visit);
    }
}

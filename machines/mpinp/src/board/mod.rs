//! The card: memory on a bus of two accesses a clock, three DMA engines, and the network processor (MPI-NP, section 2.3.2).
//!
//! `local.rs` has the memory with the processor on it, `io.rs` the way to the host, whose parts are in `host.rs`, `wire.rs`
//! the way to the link, `records.rs` the messages' names. `tags.rs` is a list of receives that the card matches, if it has one,
//! `tagged.rs` what the firmware has stored for it, `deliver.rs` its way to their buffers, `blocks.rs` what is on it.
//! `interrupt.rs` is the line to the host. What the firmware stores and loads is here.

mod blocks;
mod deliver;
mod events;
mod happened;
mod host;
mod interrupt;
mod io;
mod local;
#[cfg(test)]
mod probe;
mod receiver;
mod records;
mod tagged;
mod tags;
mod wire;

use std::ops::Range;

use chasqui_abi::NiIdentification;
use chasqui_counters::{Counters, Visitor, below, counters};
use chasqui_engine::{Clock, Event, Packet, Payload, Time};
use chasqui_network::{NetworkParameters, NodeEvent, NodePort};
use chasqui_ni::{
    ACCEPTED, BusRequest, Context, DeviceAccess, FirmwareProcessor, HostLoad, IoEvent, LinkEnd,
    NetworkInterface, Pipeline, Promises, Region, Reply, SendDma, SendDmaSpec, SharedSram, Sram, SramData,
    SramPace, SramSpec, Uncached,
};
use chasqui_placement::ProcessId;
use chasqui_record::Profile;

use crate::control::Program;
use crate::layout::{Layout, Line};
use crate::parameters::{Card, Tags, Ways};
use crate::{np_registers as np, registers, requests};
use events::{BoardEvent, Unit};
use happened::Happened;
use host::HostSide;
use interrupt::Interrupt;
use local::{Local, PROCESSOR, Purpose};
use receiver::Receiver;
use records::{PROCESS, Records};
use tagged::Tagged;

counters! {
    /// Counters of the card, beside those of its buses, its processor and its link.
    struct BoardStatistics {
        /// Flits sent.
        flits_sent: "flits";
        /// Worms sent: packets of the wire.
        worms_sent: "packets";
        /// Flits that have come.
        flits_received: "flits";
        /// Worms that have come.
        worms_received: "packets";
        /// Doorbells that were stored to.
        doorbells: "count";
        /// Tries of loads from the card, for which the processor stalls.
        load_tries: "count";
        /// Stores that found the bridge full, and were tried again.
        store_tries: "count";
    }
}

/// What a card is made from.
pub(crate) struct BoardPlan {
    pub ways: Ways,
    pub tags: Tags,
    pub card: Card,
    pub network: NetworkParameters,
    pub port: NodePort,
    pub layout: Layout,
    /// Length of the host's lines [bytes].
    pub line_bytes: u64,
    pub processor: FirmwareProcessor<SharedSram>,
    /// Processes of a node, at most.
    pub per_node: u32,
    /// Its program.
    pub program: Program,
}

/// The memory of a card, which its processor is master of as well.
///
/// # Errors
/// The host has no room for it.
pub(crate) fn memory(card: &Card) -> Result<SharedSram, String> {
    let sram = Sram::new(SramSpec {
        bytes: card.sram.bytes(),
        clock: Clock::new(card.clock.hz()),
        width: card.width.bytes() as u32,
        masters: local::MASTERS,
        accesses: local::ACCESSES,
        lead_clocks: card.lead.cycles(),
    })?;
    Ok(SharedSram::new(sram, PROCESSOR))
}

/// The card.
pub(crate) struct Board {
    layout: Layout,
    local: Local,
    host: HostSide,
    link: LinkEnd,
    send: SendDma,
    receive: Receiver,
    pipeline: Pipeline<BoardEvent>,
    /// Bytes of a packet before its data and behind them.
    packet_bytes: (u32, u32),
    register_latency: Time,
    /// What has happened that the firmware has yet to hear of.
    events: Happened,
    /// Processes whose doorbells have been stored to.
    doorbells: Happened,
    /// What the firmware has stored.
    send_to: u64,
    send_local: u64,
    /// Where the worm goes that is sent.
    destination: u32,
    records: Records,
    /// The list of tags, if it has one.
    tags: Option<Tagged>,
    program: Program,
    counters: BoardStatistics,
}

impl Board {
    pub fn new(plan: BoardPlan) -> Board {
        let BoardPlan {
            ways,
            tags,
            card,
            network,
            port,
            layout,
            line_bytes,
            processor,
            per_node,
            mut program,
        } = plan;
        let clock = Clock::new(card.clock.hz());
        let header = card.packet_header.bytes();
        let link = LinkEnd::new(&network, port, 1, BoardEvent::Start.into());
        let pipeline =
            Pipeline::new(&link, clock, &[(BoardEvent::Asked, card.lead.cycles())], Some(BoardEvent::Landed));
        program.settings.extend([
            (np::SETTING_SRAM, card.sram.bytes()),
            (np::SETTING_NODE, link.node().into()),
            (np::SETTING_PROCESSES, layout.processes.into()),
            (np::SETTING_WINDOWS, layout.windows),
            (np::SETTING_WINDOW_BYTES, layout.window_bytes),
            (np::SETTING_HOST_MEMORY, layout.host),
            (np::SETTING_HOST_MEMORY_BYTES, layout.host_bytes),
            (np::SETTING_PAGE_TABLE, layout.page_table()),
            (np::SETTING_ENTRIES, layout.table.entries),
            (np::SETTING_PINNED, layout.pinned()),
            (np::SETTING_STAMPS, layout.stamps()),
            (np::SETTING_INTERRUPT, layout.interrupt()),
            (np::SETTING_NODES, link.nodes().into()),
            (np::SETTING_PER_NODE, per_node.into()),
        ]);
        let tags = program.has_tags().then(|| Tagged::new(tags, layout.processes));
        program.settings.push((np::SETTING_TAGS, tags.as_ref().map_or(0, Tagged::entries)));
        Board {
            host: HostSide {
                interrupt: (layout.table.line != Line::None).then(Interrupt::default),
                ..HostSide::new(&ways, &card, line_bytes)
            },
            local: Local::new(processor, clock),
            send: SendDma::new(SendDmaSpec {
                flit_bytes: card.flit.bytes() as u32,
                fifo: card.send_fifo as usize,
            }),
            receive: Receiver::new(Time(card.unserviced.ps())),
            pipeline,
            packet_bytes: (header as u32, card.packet_tail.bytes() as u32),
            register_latency: clock.edge(card.register.cycles()),
            events: Happened::default(),
            doorbells: Happened::default(),
            send_to: 0,
            send_local: 0,
            destination: 0,
            records: Records::default(),
            tags,
            program,
            counters: BoardStatistics::default(),
            layout,
            link,
        }
    }

    /// Memory of the host that the card has for itself [bytes].
    pub fn host_memory(&self) -> u64 {
        self.layout.host_memory()
    }

    // --- the card's memory ------------------------------------------------------------------------------

    /// A master asks for a block of the card's memory.
    fn ask_local(
        &mut self,
        who: (usize, Purpose),
        what: (u64, SramData, Option<SramPace>),
        c: &mut Context<'_, '_>,
    ) {
        if let Err(text) = self.local.ask(who, c.now, what) {
            self.broken(&text, c);
        }
    }

    /// Accesses to the card's memory are over.
    fn local_over(&mut self, c: &mut Context<'_, '_>) {
        while let Some((purpose, data)) = self.local.take_ended(c.now) {
            match purpose {
                Purpose::DmaRead => self.host.path.local_read(data, c.now),
                Purpose::DmaWrite => self.host.path.local_written(c.now),
                Purpose::Load => self.loaded(&data, c),
                Purpose::Cause => {
                    let causes = self.host.line().expect("it has a register").take(c);
                    self.loaded(&causes.to_le_bytes(), c);
                }
                Purpose::Store(0) => {}
                Purpose::Store(doorbells) => {
                    self.doorbells.add(doorbells, c.now);
                    self.counters.doorbells += u64::from(doorbells.count_ones());
                    self.happened(np::EVENT_DOORBELL, c);
                }
                Purpose::Send => {
                    self.send.read(data);
                    self.go_on_sending(c);
                }
                Purpose::Receive => self.received(c),
            }
        }
        self.io_steps(c);
    }

    // --- the firmware -----------------------------------------------------------------------------------

    /// Something has happened that the firmware wants to hear of.
    fn happened(&mut self, event: u64, c: &Context<'_, '_>) {
        self.events.add(event, c.now);
    }

    /// The end of every call of the card: the firmware hears what has happened, and goes on.
    fn go_on(&mut self, c: &mut Context<'_, '_>) {
        if let Some(DeviceAccess::Load { address: np::EVENT, .. }) = self.local.processor.held() {
            let events = self.events.take_first();
            if events != 0 {
                self.local.processor.loaded(c.now, events, self.register_latency);
                self.local.told();
            }
        }
        if let Err(text) = self.local.go_on(false, c) {
            c.outputs.broken = Some((c.now, text));
        }
    }

    /// The processor's event: what ends now is found, and taken at once.
    fn look(&mut self, c: &mut Context<'_, '_>) {
        self.processor_access(c);
        if let Err(text) = self.local.go_on(true, c) {
            c.outputs.broken = Some((c.now, text));
        }
        if self.local.has_ended(c.now) {
            self.local_over(c);
        }
    }

    /// The card has done what it can't: the firmware is wrong.
    fn broken(&mut self, what: &str, c: &mut Context<'_, '_>) {
        let text = self.local.processor.halt(what);
        c.outputs.broken = Some((c.now, text));
    }

    /// An access of the firmware to a register takes place, if there is one now.
    fn processor_access(&mut self, c: &mut Context<'_, '_>) {
        match self.local.processor.takes_place(c.now) {
            Some(DeviceAccess::Store { address, value, .. }) => {
                if let Err(text) = self.np_stores(address, value, c) {
                    return self.broken(&text, c);
                }
                self.local.processor.stored(c.now);
            }
            Some(DeviceAccess::Load { address: np::EVENT, .. }) => {
                let events = self.events.take_before(c.now);
                if events != 0 {
                    self.local.processor.loaded(c.now, events, self.register_latency);
                }
            }
            Some(DeviceAccess::Load { address, .. }) => match self.np_loads(address, c.now) {
                Some(value) => self.local.processor.loaded(c.now, value, self.register_latency),
                None => {
                    return self.broken(&format!("a load from {address:#x}, where no register is"), c);
                }
            },
            None => {}
        }
        self.local.told();
    }

    /// What the firmware loads from a register.
    fn np_loads(&mut self, address: u64, now: Time) -> Option<u64> {
        let events = &self.events;
        let bit = |is_busy: bool, bit: u64, ended: u64| {
            if is_busy || events.is_now(ended, now) { bit } else { 0 }
        };
        Some(match address {
            np::BUSY => {
                bit(self.is_moving(), np::BUSY_HOST, np::EVENT_HOST)
                    | bit(self.send.is_busy(), np::BUSY_SEND, np::EVENT_SENT)
                    | bit(self.receive.dma.is_busy(), np::BUSY_RECEIVE, np::EVENT_RECEIVED)
            }
            np::DOORBELLS => self.doorbells.take_before(now),
            np::TIME => self.local.clock().edge_at_or_after(now),
            np::RECEIVED => self.receive.filled,
            np::TAG_RESULT => self.tags.as_mut()?.take_result(),
            _ => self.program.settings.iter().find(|&&(at, _)| at == address)?.1,
        })
    }

    /// What a store of the firmware does.
    ///
    /// # Errors
    /// It can't be: in words.
    fn np_stores(&mut self, address: u64, value: u64, c: &mut Context<'_, '_>) -> Result<(), String> {
        match address {
            np::HOST_ADDRESS => self.host.address = value,
            np::HOST_LOCAL => self.host.local = value,
            np::HOST_START => return self.start_host(value, c),
            np::SEND_TO => self.send_to = value,
            np::SEND_LOCAL => self.send_local = value,
            np::SEND_START => return self.start_send(value, c),
            np::SEND_VALID => {
                self.send.raise(value as u32);
                self.go_on_sending(c);
            }
            np::RECEIVE_LOCAL => self.receive.local = value,
            np::RECEIVE_START => return self.start_receive(value, c),
            np::INTERRUPT => return self.host.line()?.raise(value, self.layout.processes, c),
            np::TAG_KEY..=np::TAG_LOOK | np::TAG_DELIVER => return self.tags_store(address, value, c),
            np::FAULT if (value as u32) < self.layout.processes => {
                let what = match value & !u64::from(u32::MAX) {
                    np::FAULT_COUNT => "its doorbell counts more slots than its window has",
                    np::FAULT_SLOT => "a slot that its doorbell counts has no message that can be sent",
                    np::FAULT_CREDIT => "it sends more messages than it has credit for",
                    np::FAULT_GIVEN => "it gives back credit that it has not got, or too little of it alone",
                    np::FAULT_REQUEST => {
                        "a request names what is not its process's, or more than that may have"
                    }
                    np::FAULT_ENTRY => {
                        "a request leads to an entry of the page table that is not its process's, or not to be written"
                    }
                    _ => return Err(format!("a store of {value:#x} to FAULT")),
                };
                c.fault(ProcessId(value as u32), format!("protection: {what}"));
            }
            _ => return Err(format!("a store of {value:#x} to {address:#x}, where no such register is")),
        }
        Ok(())
    }
}

impl NetworkInterface for Board {
    fn identify(&self, page: &mut NiIdentification) {
        self.program.identify(page);
        page.interface = registers::HEADER.interface();
        page.settings[registers::SETTING_WINDOW_BYTES as usize] = self.layout.window_bytes;
        page.settings[registers::SETTING_HOST_BYTES as usize] = self.layout.host_bytes;
        page.settings[registers::SETTING_TAGS as usize] = self.tags.as_ref().map_or(0, Tagged::entries);
        page.settings[requests::SETTING_PAGE_TABLE as usize] = self.layout.page_table();
        page.settings[requests::SETTING_ENTRIES as usize] = self.layout.table.entries;
        page.settings[requests::SETTING_PINNED as usize] = self.layout.pinned();
        page.settings[requests::SETTING_COUNT as usize] = self.layout.count();
        page.settings[requests::SETTING_STAMPS as usize] = self.layout.stamps();
        page.settings[requests::SETTING_INTERRUPT as usize] = self.layout.interrupt();
    }

    fn regions(&self, process: ProcessId) -> Vec<Region> {
        self.layout.regions(process)
    }

    /// Its receives are not there any more.
    fn close(&mut self, _: &mut Context<'_, '_>, process: ProcessId, _: bool) {
        if let Some(tags) = &mut self.tags {
            tags.list.close(process);
        }
    }

    fn may_retry(&self, _: u64) -> bool {
        true
    }

    /// A store waits for room in the bridge, a load for its answer.
    fn retry(&mut self, c: &mut Context<'_, '_>, place: (u64, u32), access: Uncached) -> Option<Time> {
        let waits = match access {
            // It is a fault: see `store_64`.
            Uncached::Store if place.1 > size_of::<u64>() as u32 => false,
            Uncached::Store => {
                let is_full = !self.host.path.has_room(place.1, c.now);
                self.counters.store_tries += u64::from(is_full);
                is_full
            }
            Uncached::Load => {
                let is_there = self.host.path.is_answered(place);
                if !is_there {
                    self.counters.load_tries += 1;
                    let _ = self.host_loads(place, c);
                    self.go_on(c);
                }
                !is_there
            }
        };
        waits.then_some(self.host.retry)
    }

    fn read(&mut self, c: &mut Context<'_, '_>, address: u64, bytes: u32) -> Reply {
        let HostLoad::Is(value) = self.host_loads((address, bytes), c) else {
            unreachable!("it is retried until it is answered")
        };
        self.go_on(c);
        Reply { value, latency: Time::ZERO, repeatable: false }
    }

    /// The I/O bus has none: a fault of the process whose window it goes to.
    fn store_64(&mut self, c: &mut Context<'_, '_>, address: u64, _: &[u64; 8], _: bool) -> Reply {
        let process = self.layout.window_of(address).expect("processes map windows alone");
        c.fault(process, format!("the card takes no 64-byte stores (address {address:#x} of its memory)"));
        Reply { value: ACCEPTED, latency: Time::ZERO, repeatable: false }
    }

    /// The network processor begins.
    fn first_event(&self) -> Option<Payload> {
        Some(BoardEvent::Processor.into())
    }

    fn write(&mut self, c: &mut Context<'_, '_>, address: u64, bytes: u32, value: u64) {
        if self.layout.is_reason(address) {
            self.records.collectives.count_library(value);
        }
        if self.layout.is_count(address) {
            self.records.pin_cache.count_call(value);
        }
        if let Some(interrupt) = self.host.interrupt.as_mut().filter(|_| self.layout.is_asked(address)) {
            interrupt.count_asked(value);
        }
        self.host_stores((address, bytes), value, c);
        self.go_on(c);
    }

    fn event(&mut self, c: &mut Context<'_, '_>, payload: Payload) {
        match payload.into() {
            BoardEvent::Start => {
                self.link.started();
                self.go_on_sending(c);
            }
            BoardEvent::Granted => self.io_event(IoEvent::Granted, c),
            BoardEvent::Moved => self.io_event(IoEvent::Moved, c),
            BoardEvent::Limit => self.io_event(IoEvent::Limit, c),
            BoardEvent::Local => self.local_over(c),
            BoardEvent::Asked => unreachable!("it is no event"),
            BoardEvent::Processor => self.look(c),
            BoardEvent::Landed => self.landed(c),
            BoardEvent::Unserviced => self.look_at_wire(c),
            BoardEvent::Looked => self.looked(c),
            BoardEvent::Translated => self.translated(c),
            BoardEvent::Line => self.host.line().expect("it was raised").line(c),
        }
        self.go_on(c);
    }

    fn network(&mut self, c: &mut Context<'_, '_>, event: Event, packet: Option<Box<Packet>>) {
        match event.payload.into() {
            NodeEvent::Packet { tail, .. } => {
                let packet = packet.expect("a packet event brings one");
                self.link.arrive_whole(tail, packet, (PROCESS, BoardEvent::Landed.into()), c);
            }
            NodeEvent::Credit { priority } => {
                self.link.credit(priority);
                self.go_on_sending(c);
            }
        }
        self.go_on(c);
    }

    fn bus_granted(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        let (Unit::Card, number) = Unit::of(request.tag);
        self.memory_granted(number, request.address, c);
    }

    fn bus_done(&mut self, c: &mut Context<'_, '_>, request: BusRequest) {
        let (Unit::Card, number) = Unit::of(request.tag);
        self.memory_done(number, c);
        self.go_on(c);
    }

    fn memory_latency(&self, _: u64) -> Option<Time> {
        None
    }

    /// What is stored to a window, or by the kernel behind them, is all that the card needs. Processes may share a hart.
    fn self_contained_stores(&self, _: ProcessId) -> Range<u64> {
        self.layout.stored()
    }

    fn promises(&self) -> Option<&dyn Promises> {
        Some(&self.pipeline)
    }

    fn take_profiles(&mut self) -> Vec<Profile> {
        self.local.processor.take_profile().into_iter().collect()
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        self.counters.visit(visit);
        self.records.collectives.visit(&mut below("collectives", visit));
        self.records.pin_cache.visit(&mut below("pin_cache", visit));
        self.records.tlb.visit(&mut below("tlb", visit));
        self.records.channels.visit(&mut below("channels", visit));
        self.host.path.statistics(&mut below("io_bus", visit));
        self.local.processor.memory.sram.statistics(&mut below("sram", visit));
        self.local.processor.statistics(&mut below("np", visit));
        if let Some(tags) = &self.tags {
            tags.list.statistics.visit(&mut below("tags", visit));
        }
        if let Some(interrupt) = &self.host.interrupt {
            interrupt.statistics.visit(&mut below("interrupt", visit));
        }
        self.link.statistics(visit);
    }
}

//! Block transfer: a request in the style of Basic; the NES reads the block from memory, coherently,
//! packet by packet, and sends it to the other site's memory.

use chasqui_engine::Time;
use chasqui_memory::PAGE_BYTES;
use chasqui_ni::{BusOperation, BusRequest, Context};
use chasqui_record::Stage;

use super::table::{Destination, PROCESS_QUEUE};
use super::transmit::{KIND_DMA, KIND_NOTICE, message_of, packet_bytes, push_packet};
use super::{NesEvent, Owner, Ring, Shared, stamp};
use crate::parameters::Dma;
use crate::registers::VoyagerDma;

/// Bytes of a request: two lines.
pub(super) const REQUEST: u64 = size_of::<VoyagerDma>() as u64;

const _: () = assert!(REQUEST == 64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Lines of the request still to be read from the cache (Reclaim).
    Fetching(u32),
    /// Control of a new request, or pages being brought in.
    Preparing,
    /// The next packet's lines can be read when the TxU has room.
    Ready,
    /// So many lines of the packet are still to come.
    Reading(u32),
    /// The packet crosses the I-bus.
    Crossing,
    /// The block is sent; the notice follows when the TxU has room.
    Notice,
}

#[derive(Clone, Copy, Debug)]
struct Transfer {
    request: VoyagerDma,
    to: Destination,
    done: u64,
    /// Bytes of the packet under way.
    part: u64,
    message: Option<(u16, u32)>,
}

/// The unit that serves DMA requests, one after the other.
pub(super) struct DmaEngine {
    pub ring: Ring,
    pub producer: u32,
    pub consumer: u32,
    state: State,
    transfer: Option<Transfer>,
    setup_cycles: u64,
    page_in_cycles: u64,
    packet_bytes: u64,
}

impl DmaEngine {
    pub fn new(ring: Ring, dma: &Dma) -> DmaEngine {
        DmaEngine {
            ring,
            producer: 0,
            consumer: 0,
            state: State::Idle,
            transfer: None,
            setup_cycles: dma.setup.cycles(),
            page_in_cycles: dma.page_in.cycles(),
            packet_bytes: dma.packet_data.bytes(),
        }
    }

    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        match self.state {
            State::Idle if self.consumer != self.producer => self.fetch(s, c),
            State::Ready if s.txu_has_room() => self.read(s, c),
            State::Notice if s.txu_has_room() => self.notify(s, c),
            _ => {}
        }
    }

    /// Turns to the next request.
    fn fetch(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if !s.reclaims() {
            return self.begin(s, c);
        }
        let address = self.ring.slot(self.consumer);
        let lines = (REQUEST / s.line_bytes) as u32;
        for i in 0..lines {
            let address = address + u64::from(i) * s.line_bytes;
            let tag = Owner::DmaRead.tag();
            c.bus(BusRequest { operation: BusOperation::Read, address, bytes: s.line_bytes as u32, tag });
        }
        self.state = State::Fetching(lines);
    }

    fn begin(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let mut bytes = [0; REQUEST as usize];
        let address = self.ring.slot(self.consumer);
        if s.reclaims() {
            bytes.copy_from_slice(c.memory.slice(address, REQUEST as usize).expect("the ring is in SRAM"));
        } else {
            c.read_unsnooped(address, &mut bytes);
        }
        let request = VoyagerDma::from_bytes(&bytes);
        let Some(to) = s.table.find(PROCESS_QUEUE, request.node) else {
            c.wishes.fault = Some(format!("protection: no destination {} in the NES's table", request.node));
            return;
        };
        let message = message_of(request.flags, &notice(&request));
        stamp(c, message, Stage::Accept, c.now);
        s.counters.dma_requests += 1;
        self.transfer = Some(Transfer { request, to, done: 0, part: 0, message });
        self.state = State::Preparing;
        c.at(s.cross(c.now, self.setup_cycles, REQUEST), NesEvent::Dma.into());
    }

    /// What was prepared is ready, or a packet has crossed.
    pub fn continued(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        match self.state {
            State::Preparing => self.state = State::Ready,
            State::Crossing => self.send(s, c),
            _ => unreachable!("nothing was under way"),
        }
    }

    /// Reads the lines of the next packet.
    fn read(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let transfer = self.transfer.as_mut().expect("a transfer is under way");
        let (from, to) = (transfer.request.from + transfer.done, transfer.request.to + transfer.done);
        let left = transfer.request.bytes - transfer.done;
        // Packets end at multiples of their length in the destination, so that they write whole lines there.
        let part = left.min(self.packet_bytes - to % self.packet_bytes).min(PAGE_BYTES - from % PAGE_BYTES);
        if c.physical(from).is_none() {
            return self.bring_in(from, s, c);
        }
        self.transfer.as_mut().expect("as above").part = part;
        let physical = c.physical(from).expect("just looked");
        let mut lines = 0;
        let mut at = physical;
        while at < physical + part {
            let end = (at - at % s.line_bytes + s.line_bytes).min(physical + part);
            let tag = Owner::DmaRead.tag();
            c.bus(BusRequest { operation: BusOperation::Read, address: at, bytes: (end - at) as u32, tag });
            lines += 1;
            at = end;
        }
        self.state = State::Reading(lines);
    }

    fn bring_in(&mut self, from: u64, s: &mut Shared, c: &mut Context<'_, '_>) {
        if !c.page_in(from, false) {
            c.wishes.fault = Some(format!("the NES was told to read {from:#x}, which is not mapped"));
            self.state = State::Idle;
            return;
        }
        s.counters.pages_in += 1;
        self.state = State::Preparing;
        let end: Time = s.clock.after(c.now, self.page_in_cycles);
        c.at(end, NesEvent::Dma.into());
    }

    pub fn line_read(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        match self.state {
            State::Fetching(1) => self.begin(s, c),
            State::Fetching(left) => self.state = State::Fetching(left - 1),
            State::Reading(1) => {
                let part = self.transfer.expect("a transfer is under way").part;
                self.state = State::Crossing;
                c.at(s.cross(c.now, 0, 8 + part), NesEvent::Dma.into());
            }
            State::Reading(left) => self.state = State::Reading(left - 1),
            _ => unreachable!("a line for nobody"),
        }
    }

    /// A packet of the block is in the TxU.
    fn send(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let transfer = self.transfer.as_mut().expect("a transfer is under way");
        let part = transfer.part;
        let physical =
            c.physical(transfer.request.from + transfer.done).expect("it was there when it was read");
        let mut data = (transfer.request.to + transfer.done).to_le_bytes().to_vec();
        data.extend_from_slice(c.memory.slice(physical, part as usize).expect("a mapped page"));
        transfer.done += part;
        s.counters.dma_packets += 1;
        s.counters.dma_bytes += part;
        let bytes = packet_bytes(KIND_DMA, transfer.to.source, 0, &data);
        push_packet(s, transfer.to.site, bytes, data.len() as u64, transfer.message);
        self.state = if transfer.done == transfer.request.bytes { State::Notice } else { State::Ready };
    }

    /// The notice follows the block; the source may be reused.
    fn notify(&mut self, s: &mut Shared, _: &mut Context<'_, '_>) {
        let transfer = self.transfer.take().expect("a transfer ends");
        let data = notice(&transfer.request);
        let bytes = packet_bytes(KIND_NOTICE, transfer.to.source, transfer.request.flags, &data);
        push_packet(s, transfer.to.site, bytes, data.len() as u64, transfer.message);
        self.consumer = self.consumer.wrapping_add(1);
        self.state = State::Idle;
    }
}

/// Data of the notice: a whole envelope whose `sender` is zero.
fn notice(request: &VoyagerDma) -> Vec<u8> {
    let mut data = Vec::with_capacity(40);
    request.notice.iter().for_each(|w| data.extend_from_slice(&w.to_le_bytes()));
    data.extend_from_slice(&0u64.to_le_bytes());
    data.extend_from_slice(&request.receiver.to_le_bytes());
    data
}

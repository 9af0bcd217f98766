//! Sending from the Basic transmit ring.

use chasqui_abi::Envelope;
use chasqui_engine::Packet;
use chasqui_ni::{BusOperation, BusRequest, Context};

use super::table::PROCESS_QUEUE;
use super::{Mechanism, NesEvent, Owner, Ring, SLOT, Shared, accept};
use crate::registers::{self, VoyagerSlot};

/// Bytes of a slot's header.
pub(super) const HEADER: usize = size_of::<VoyagerSlot>();

/// First word of a packet: what it is to the receiving NES.
pub(super) const KIND_BASIC: u8 = 0;
/// A piece of a block.
pub(super) const KIND_DMA: u8 = 1;
/// The notice behind a block.
pub(super) const KIND_NOTICE: u8 = 2;
/// An Express message, whose flags are the queue; what is longer than its word was tagged on.
pub(super) const KIND_EXPRESS: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Lines of the slot still to be read from the cache (Reclaim).
    Reading(u32),
    /// The slot is ready; the TxU must have room.
    Ready,
    /// The message crosses the I-bus.
    Crossing,
}

/// The unit that empties the transmit ring.
pub(super) struct Transmitter {
    pub ring: Ring,
    pub producer: u32,
    pub consumer: u32,
    state: State,
    /// The message that crosses the I-bus.
    crossing: Option<(VoyagerSlot, Vec<u8>)>,
    /// The MPI message that the latest slots belong to, for the records.
    message: Option<(u16, u32)>,
}

impl Transmitter {
    pub fn new(ring: Ring) -> Transmitter {
        Transmitter { ring, producer: 0, consumer: 0, state: State::Idle, crossing: None, message: None }
    }

    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.state == State::Idle && self.consumer != self.producer {
            self.begin(s, c);
        }
        if self.state == State::Ready && s.txu_has_room() {
            self.cross(s, c);
        }
    }

    /// The NES turns to the next slot.
    fn begin(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.state = State::Ready;
        if s.reclaims() {
            // The length is in the first line, but lines may be fetched before it is read (section 2.2).
            let slot = self.ring.slot(self.consumer);
            let lines = (SLOT / s.line_bytes) as u32;
            for i in 0..lines {
                c.bus(BusRequest {
                    operation: BusOperation::Read,
                    address: slot + u64::from(i) * s.line_bytes,
                    bytes: s.line_bytes as u32,
                    tag: Owner::Transmit.tag(),
                });
            }
            self.state = State::Reading(lines);
        }
    }

    pub fn line_read(&mut self, _: &mut Shared, _: &mut Context<'_, '_>) {
        let State::Reading(left) = self.state else { unreachable!("a line for nobody") };
        self.state = if left == 1 { State::Ready } else { State::Reading(left - 1) };
    }

    fn slot(&self, s: &Shared, c: &mut Context<'_, '_>) -> (VoyagerSlot, Vec<u8>) {
        let mut bytes = [0; SLOT as usize];
        let address = self.ring.slot(self.consumer);
        if s.reclaims() {
            // The lines came over the bus.
            bytes.copy_from_slice(c.memory.slice(address, SLOT as usize).expect("the ring is in SRAM"));
        } else {
            // Only what the message needs is read from SRAM.
            c.read_unsnooped(address, &mut bytes[..HEADER]);
            let length = usize::from(VoyagerSlot::from_bytes(&bytes).bytes).min(SLOT as usize - HEADER);
            c.read_unsnooped(address + HEADER as u64, &mut bytes[HEADER..HEADER + length]);
        }
        let header = VoyagerSlot::from_bytes(&bytes);
        let length = usize::from(header.bytes).min(SLOT as usize - HEADER);
        (header, bytes[HEADER..HEADER + length].to_vec())
    }

    fn cross(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let (header, data) = self.slot(s, c);
        let bytes = HEADER as u64 + data.len() as u64;
        if u64::from(header.flags) & registers::FLAG_MORE == 0 {
            self.message = message_of(header.flags, &data);
        }
        accept(c, self.message, Mechanism::Basic);
        let end = s.cross(c.now, s.nes.transmit.cycles(), bytes);
        self.state = State::Crossing;
        self.crossing = Some((header, data));
        c.at(end, NesEvent::Transmitted.into());
    }

    /// The message is in the TxU: it becomes a packet, and its slot is free.
    pub fn transmitted(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let (header, data) = self.crossing.take().expect("a message crosses");
        self.consumer = self.consumer.wrapping_add(1);
        self.state = State::Idle;
        let Some(to) = s.table.find(PROCESS_QUEUE, header.node) else {
            c.wishes.fault = Some(format!(
                "protection: transmit queue {PROCESS_QUEUE} has no destination {} in the NES's table",
                header.node
            ));
            return;
        };
        s.counters.transmitted += 1;
        let message = self.message;
        let bytes = packet_bytes(KIND_BASIC, to.source, header.flags, &data);
        push_packet(s, to.site, bytes, data.len() as u64, message);
    }
}

/// The message whose envelope `data` begin with.
pub(super) fn message_of(flags: u32, data: &[u8]) -> Option<(u16, u32)> {
    let has = u64::from(flags) & registers::FLAG_ENVELOPE != 0 && data.len() >= 24;
    has.then(|| {
        let mut whole = [0; size_of::<Envelope>()];
        whole[..24].copy_from_slice(&data[..24]);
        let e = Envelope::from_bytes(&whole);
        (e.source, e.sequence)
    })
}

/// A packet's bytes: kind, source id, flags, data.
pub(super) fn packet_bytes(kind: u8, source: u16, flags: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + data.len());
    bytes.extend_from_slice(&[kind, flags as u8]);
    bytes.extend_from_slice(&source.to_le_bytes());
    bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
    bytes.extend_from_slice(data);
    bytes
}

/// Puts a packet with `data_bytes` of data into the TxU.
pub(super) fn push_packet(
    s: &mut Shared,
    site: u32,
    bytes: Vec<u8>,
    data_bytes: u64,
    message: Option<(u16, u32)>,
) {
    s.txu.push_back(Box::new(Packet {
        source: s.port.node(),
        destination: site,
        priority: 0,
        wire_bytes: (data_bytes + s.nes.packet_overhead.bytes()) as u32,
        bytes,
        message,
    }));
}

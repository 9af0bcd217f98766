//! A block that its receiver's memory does not take is a fault of the process that sends it (ours: the memo leaves protection
//! of memory to pages, and does not say what becomes of such a block). The receiving NES drops it, with its notice, and tells
//! the sender's by a packet.

use std::collections::VecDeque;
use std::mem::offset_of;
use std::ops::Range;

use chasqui_abi::Envelope;
use chasqui_engine::Packet;
use chasqui_ni::Context;
use chasqui_placement::ProcessId;

use super::table::Destination;
use super::transmit::{HEADER, packet_bytes, push_packet};
use super::{NesEvent, Shared};
use crate::registers::VoyagerDma;
use crate::service_registers::{PACKET_DMA, PACKET_NOTICE, PACKET_REFUSAL, VoyagerPacket};

/// Who sends a block: its site, and the process there.
type Sender = (u32, ProcessId);

/// Of a notice's data, which are an envelope: its `sender`. A packet has the process there that sends the block; in a slot
/// it is zero.
const NOTICE_SENDER: Range<usize> =
    offset_of!(Envelope, sender)..offset_of!(Envelope, sender) + size_of::<u64>();
/// What comes before it is the request's.
const _: () =
    assert!(offset_of!(VoyagerDma, receiver) - offset_of!(VoyagerDma, notice) == NOTICE_SENDER.start);

/// A notice's data, with the process that sends it.
pub(super) fn name_sender(notice: &mut [u8], process: ProcessId) {
    notice[NOTICE_SENDER].copy_from_slice(&u64::from(process.0).to_le_bytes());
}

/// A notice's data as software reads them.
pub(super) fn hide_sender(notice: &mut [u8]) {
    if let Some(process) = notice.get_mut(NOTICE_SENDER) {
        process.fill(0);
    }
}

/// Who sends `packet`, if that is a piece of a block, or the notice behind one.
fn sender(packet: &Packet) -> Option<Sender> {
    let header = VoyagerPacket::from_bytes(&packet.bytes);
    let process = match u64::from(header.kind) {
        PACKET_DMA => header.flags,
        PACKET_NOTICE => packet.bytes[HEADER..][NOTICE_SENDER][0],
        _ => return None,
    };
    Some((packet.source, ProcessId(process.into())))
}

/// The unit that refuses blocks.
#[derive(Default)]
pub(super) struct Refuser {
    /// Of whom blocks have been refused: each is over, or will hear that it is.
    refused: Vec<Sender>,
    /// Whose refusals are to be sent, and of which address.
    waiting: VecDeque<(Sender, u64)>,
    /// The first of these crosses the I-bus.
    is_crossing: bool,
}

impl Refuser {
    /// `packet`, a piece of a block, can't be written to `address`.
    pub fn refuse(&mut self, packet: &Packet, address: u64) {
        if let Some(sender) = sender(packet) {
            self.refused.push(sender);
            self.waiting.push_back((sender, address));
        }
    }

    /// `packet` belongs to a block of which something was refused, or to a later one of that sender.
    pub fn has_refused(&self, packet: &Packet) -> bool {
        !self.refused.is_empty() && sender(packet).is_some_and(|sender| self.refused.contains(&sender))
    }

    #[inline]
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let Some(&((_, process), _)) = self.waiting.front() else { return };
        if !self.is_crossing && s.txu_has_room(s.homes.names.first_basic(process)) {
            self.is_crossing = true;
            c.at(s.cross(c.now, s.nes.transmit.cycles(), BYTES), NesEvent::Refused.into());
        }
    }

    /// A refusal is in the TxU: it becomes a packet.
    pub fn crossed(&mut self, s: &mut Shared) {
        let ((site, process), address) = self.waiting.pop_front().expect("a refusal crosses");
        self.is_crossing = false;
        // Names of queues are the same at all sites.
        let queue = s.homes.names.first_basic(process);
        let to = Destination { site, queue, source: 0 };
        let bytes = packet_bytes(PACKET_REFUSAL, to, 0, [&address.to_le_bytes(), &[]]);
        push_packet(s, (queue, site), bytes, BYTES, None);
    }
}

/// Data of a refusal: an address.
const BYTES: u64 = size_of::<u64>() as u64;

/// The fault of the process whose block `packet` refuses, in words.
pub(super) fn text(packet: &Packet, data: &[u8]) -> String {
    let address = u64::from_le_bytes(data[..BYTES as usize].try_into().expect("an address"));
    format!(
        "protection: a DMA request writes to {address:#x} of its destination on node {}, where that has no memory that may be \
         written",
        packet.source
    )
}

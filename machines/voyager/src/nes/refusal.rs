//! What a receiving NES does not take (ours: the memo leaves protection of memory to pages, and does not say what becomes of such
//! a block, or of messages for a process that is over). A block that its receiver's memory does not take is a fault of the process
//! that sends it; it is dropped, with its notice. What is for a process that is over is dropped, and the sender's NES sends no more
//! to it: else whoever goes on would take the network from others.

use std::collections::BTreeSet;
use std::mem::offset_of;
use std::ops::Range;

use chasqui_abi::Envelope;
use chasqui_engine::Packet;
use chasqui_placement::ProcessId;

use super::Shared;
use super::control::{Control, Sender};
use super::transmit::HEADER;
use crate::registers::VoyagerDma;
use crate::service_registers::{PACKET_DMA, PACKET_NOTICE, VoyagerPacket};

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

/// The unit that tells senders what is not taken.
#[derive(Default)]
pub(super) struct Refuser {
    /// Of whom blocks have been refused: each is over, or will hear that it is.
    refused: Vec<Sender>,
    /// Sites that have been told of a process that is over. None comes to life again.
    told: BTreeSet<(u32, ProcessId)>,
}

impl Refuser {
    /// `packet`, a piece of a block, can't be written to `address`.
    pub fn refuse(&mut self, packet: &Packet, address: u64, s: &mut Shared) {
        if let Some(sender) = sender(packet) {
            self.refused.push(sender);
            s.control.push_back(Control::Refused(sender, address));
        }
    }

    /// Nobody takes `packet`: the process that it is for is over, which the sender's site is told, or it has been refused.
    pub fn drops(&mut self, packet: &Packet, s: &mut Shared) -> bool {
        let queue = VoyagerPacket::from_bytes(&packet.bytes).queue;
        let (lives, process) = (s.homes.receives(queue), s.homes.names.process(queue));
        s.counters.late += u64::from(!lives);
        if !lives && self.told.insert((packet.source, process)) {
            s.control.push_back(Control::Absent { site: packet.source, process });
        }
        !lives || self.has_refused(packet)
    }

    /// `packet` belongs to a block of which something was refused, or to a later one of that sender.
    fn has_refused(&self, packet: &Packet) -> bool {
        !self.refused.is_empty() && sender(packet).is_some_and(|sender| self.refused.contains(&sender))
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

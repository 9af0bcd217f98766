//! What NESs tell each other, by packets without data or nearly so: first what a receiving one does not take (ours: the memo leaves protection of memory to
//! pages, and does not say what becomes of such a block, or of messages for a process that is over). A block that its
//! receiver's memory does not take is a fault of the process that sends it; it is dropped, with its notice. What is for a
//! process that is over is dropped, and the sender's NES sends no more to it: else whoever goes on would take the network from
//! others.

use std::collections::BTreeSet;
use std::mem::offset_of;
use std::ops::Range;

use chasqui_abi::Envelope;
use chasqui_engine::Packet;
use chasqui_ni::Context;
use chasqui_placement::ProcessId;

use super::senders::Word;
use super::table::Destination;
use super::transmit::{HEADER, packet_bytes, push_packet};
use super::{NesEvent, Shared};
use crate::registers::VoyagerDma;
use crate::service_registers::{
    PACKET_ABSENT, PACKET_DMA, PACKET_ENDED, PACKET_GO_ON, PACKET_NOTICE, PACKET_REFUSAL, PACKET_WAIT,
    VoyagerPacket,
};

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

/// What a site is told.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// A block of its process can't be written to the address.
    Refused(Sender, u64),
    /// The process, of this site, is over.
    Absent { site: u32, process: ProcessId },
    /// Blocks from there for the process's job wait, or go on.
    Turn { site: u32, process: ProcessId, word: Word },
    /// A block for the process there has ended before its end, or none waits.
    Ended { site: u32, process: ProcessId },
}

impl Answer {
    /// The site that is told, and the process in whose queue's name.
    fn to(self) -> Sender {
        match self {
            Answer::Refused(sender, _) => sender,
            Answer::Absent { site, process }
            | Answer::Turn { site, process, .. }
            | Answer::Ended { site, process } => (site, process),
        }
    }

    /// Kind and data of the packet.
    fn content(self) -> (u64, Vec<u8>) {
        match self {
            Answer::Refused(_, address) => (PACKET_REFUSAL, address.to_le_bytes().to_vec()),
            Answer::Absent { .. } => (PACKET_ABSENT, vec![]),
            Answer::Turn { word: Word::Wait, .. } => (PACKET_WAIT, vec![]),
            Answer::Turn { word: Word::GoOn, .. } => (PACKET_GO_ON, vec![]),
            Answer::Ended { .. } => (PACKET_ENDED, vec![]),
        }
    }
}

/// The unit that tells senders what is not taken.
#[derive(Default)]
pub(super) struct Refuser {
    /// Of whom blocks have been refused: each is over, or will hear that it is.
    refused: Vec<Sender>,
    /// Sites that have been told of a process that is over. None comes to life again.
    told: BTreeSet<(u32, ProcessId)>,
    /// The first of what is to be told crosses the I-bus.
    is_crossing: bool,
}

impl Refuser {
    /// `packet`, a piece of a block, can't be written to `address`.
    pub fn refuse(&mut self, packet: &Packet, address: u64, s: &mut Shared) {
        if let Some(sender) = sender(packet) {
            self.refused.push(sender);
            s.answers.push_back(Answer::Refused(sender, address));
        }
    }

    /// A packet from `site` is for `process`, which is over.
    pub fn is_over(&mut self, site: u32, process: ProcessId, s: &mut Shared) {
        if self.told.insert((site, process)) {
            s.answers.push_back(Answer::Absent { site, process });
        }
    }

    /// `packet` belongs to a block of which something was refused, or to a later one of that sender.
    pub fn has_refused(&self, packet: &Packet) -> bool {
        !self.refused.is_empty() && sender(packet).is_some_and(|sender| self.refused.contains(&sender))
    }

    #[inline]
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let Some(answer) = s.answers.front() else { return };
        let (_, process) = answer.to();
        if !self.is_crossing && s.txu_has_room(s.homes.names.first_basic(process)) {
            self.is_crossing = true;
            let bytes = HEADER + answer.content().1.len();
            c.at(s.cross(c.now, s.nes.transmit.cycles(), bytes as u64), NesEvent::Told.into());
        }
    }

    /// An answer is in the TxU: it becomes a packet.
    pub fn crossed(&mut self, s: &mut Shared) {
        let answer = s.answers.pop_front().expect("an answer crosses");
        let ((site, process), (kind, data)) = (answer.to(), answer.content());
        self.is_crossing = false;
        // Names of queues are the same at all sites.
        let queue = s.homes.names.first_basic(process);
        let to = Destination { site, queue, source: 0 };
        push_packet(s, (queue, site), packet_bytes(kind, to, 0, [&data, &[]]), data.len() as u64, None);
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

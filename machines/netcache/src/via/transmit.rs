//! Sending: VIs that have something to send take turns, packet by packet. The NIC reads the descriptor that the doorbell
//! named, then what its segments name, by their handles, and makes a packet of it.

use std::collections::VecDeque;

use chasqui_engine::Packet;
use chasqui_ni::{Context, DmaReader, Piece};
use chasqui_record::Stage;

use super::Shared;
use super::events::{Owner, ViaEvent};
use super::packet::{ASKS, HAS_IMMEDIATE, HEADER, SEND, ViaHeader, WRITE};
use super::registers::{
    CONTROL_IMMEDIATE, CONTROL_OPERATION, CONTROL_RDMA_WRITE, CONTROL_SEND_RECEIVE, STATUS_FORMAT_ERROR,
    STATUS_LENGTH_ERROR, STATUS_PROTECTION_ERROR, ViaDescriptor, ViaSegment,
};
use super::vi::{Plan, Vi};
use crate::mechanism::Mechanism;

/// Bytes of a descriptor.
pub(super) const DESCRIPTOR: u64 = size_of::<ViaDescriptor>() as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Descriptor,
    Data,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Control.
    Preparing(Step),
    Reading(Step),
    /// The packet leaves.
    Crossing,
}

/// The unit that sends.
pub(super) struct Transmitter {
    state: State,
    /// VIs that may have something to send; each is there once (`Vi::queued`).
    ready: VecDeque<u32>,
    /// Whose turn it is, and with which packet.
    vi: u32,
    sequence: u32,
    /// Physical address of the descriptor that is read.
    descriptor: u64,
    pub reader: DmaReader,
    /// The packet that leaves.
    packet: Option<Box<Packet>>,
}

/// The data segments of a send.
fn data_segments(descriptor: &ViaDescriptor) -> &[ViaSegment] {
    let address_segments = usize::from(is_write(descriptor));
    &descriptor.segment[address_segments..usize::from(descriptor.segments)]
}

pub(super) fn is_write(descriptor: &ViaDescriptor) -> bool {
    descriptor.control & CONTROL_OPERATION == CONTROL_RDMA_WRITE
}

/// Offset and length of piece `number` of a block of `bytes` that goes to address `to`. Pieces end at multiples of `piece`
/// at the destination, so that they write whole lines there.
pub(super) fn piece_of_block(to: u64, bytes: u64, number: u32, piece: u64) -> (u64, u64) {
    let before = to % piece;
    let first = (u64::from(number) * piece).saturating_sub(before);
    let end = ((u64::from(number) + 1) * piece - before).min(bytes);
    (first, end - first)
}

/// How many pieces such a block has.
pub(super) fn pieces_of_block(to: u64, bytes: u64, piece: u64) -> u64 {
    (to % piece + bytes).div_ceil(piece).max(1)
}

/// Offset and length of packet `number` of a descriptor.
fn part(descriptor: &ViaDescriptor, number: u32, piece: u64) -> (u64, u64) {
    let bytes = u64::from(descriptor.length);
    if !is_write(descriptor) {
        return (0, bytes);
    }
    piece_of_block(descriptor.segment[0].address, bytes, number, piece)
}

/// How many packets a descriptor takes, or the status of what is wrong with it.
fn packets(descriptor: &ViaDescriptor, s: &Shared) -> Result<u32, u32> {
    let operation = descriptor.control & CONTROL_OPERATION;
    let known = operation == CONTROL_SEND_RECEIVE || operation == CONTROL_RDMA_WRITE;
    let segments = usize::from(descriptor.segments);
    if !known || segments > descriptor.segment.len() || (is_write(descriptor) && segments == 0) {
        return Err(STATUS_FORMAT_ERROR);
    }
    let bytes: u64 = data_segments(descriptor).iter().map(|segment| u64::from(segment.bytes)).sum();
    if bytes != u64::from(descriptor.length) {
        return Err(STATUS_FORMAT_ERROR);
    }
    if !is_write(descriptor) {
        return if bytes <= s.via.transfer.bytes() { Ok(1) } else { Err(STATUS_LENGTH_ERROR) };
    }
    let count = pieces_of_block(descriptor.segment[0].address, bytes, s.unit.packet_data.bytes());
    u32::try_from(count).map_err(|_| STATUS_LENGTH_ERROR)
}

/// The physical memory of bytes `from` to `from + bytes` of data segments.
fn pieces(descriptor: &ViaDescriptor, (from, bytes): (u64, u64), tag: u32, s: &Shared) -> Option<Vec<Piece>> {
    let (mut found, mut start) = (vec![], 0);
    for segment in data_segments(descriptor) {
        let end = start + u64::from(segment.bytes);
        let (first, last) = (from.max(start), (from + bytes).min(end));
        if first < last {
            let address = segment.address.checked_add(first - start)?;
            found.extend(s.table.translate(address, segment.handle, last - first, tag, 0)?);
        }
        start = end;
    }
    Some(found)
}

impl Transmitter {
    pub fn new(line_bytes: u64) -> Transmitter {
        Transmitter {
            state: State::Idle,
            ready: VecDeque::new(),
            vi: 0,
            sequence: 0,
            descriptor: 0,
            reader: DmaReader::new(|number| Owner::Transmit.tag(number), line_bytes),
            packet: None,
        }
    }

    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.ready.extend(s.ready.drain(..));
        while self.state == State::Idle && s.has_room() {
            let Some(number) = self.ready.pop_front() else { return };
            let vi = &mut s.vis[number as usize];
            vi.queued = false;
            if !vi.may_send(s.window) {
                continue;
            }
            (self.vi, self.sequence) = (number, vi.out.next);
            let step = if vi.plan_of(vi.out.next).is_some() { Step::Data } else { Step::Descriptor };
            self.state = State::Preparing(step);
            s.pipeline.begin(ViaEvent::Prepared, c);
        }
    }

    /// Control is over: the step's data are read.
    pub fn prepared(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let State::Preparing(step) = self.state else { unreachable!("control of nothing") };
        let found = match step {
            Step::Descriptor => self.find_descriptor(s),
            Step::Data => self.find_data(s),
        };
        match found {
            // The connection has ended, or this has been acknowledged meanwhile.
            None => self.rest(s),
            Some(Err(status)) => {
                s.break_off(self.vi, Some((self.sequence, status)), c);
                self.rest(s);
            }
            Some(Ok(pieces)) => {
                self.descriptor = pieces.first().map_or(0, |piece| piece.address);
                self.state = State::Reading(step);
                if !self.reader.read_physical(&pieces, c) {
                    self.read(step, &[], s, c);
                }
            }
        }
    }

    fn find_descriptor(&self, s: &mut Shared) -> Option<Result<Vec<Piece>, u32>> {
        let vi = &mut s.vis[self.vi as usize];
        let tag = vi.tag;
        let posted = vi.unread()?.posted;
        let found = s.table.translate(posted.address, posted.handle, DESCRIPTOR, tag, 0);
        Some(found.ok_or(STATUS_PROTECTION_ERROR))
    }

    fn find_data(&self, s: &mut Shared) -> Option<Result<Vec<Piece>, u32>> {
        let vi = &s.vis[self.vi as usize];
        let (plan, _) = vi.plan_of(self.sequence)?;
        let part = part(&plan.descriptor, self.sequence.wrapping_sub(plan.first), s.unit.packet_data.bytes());
        Some(pieces(&plan.descriptor, part, vi.tag, s).ok_or(STATUS_PROTECTION_ERROR))
    }

    /// A line has been read.
    pub fn line_read(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let State::Reading(step) = self.state else { unreachable!("a line for nobody") };
        if let Some(data) = self.reader.done(c) {
            self.read(step, &data, s, c);
        }
    }

    /// All that `step` reads is here.
    fn read(&mut self, step: Step, data: &[u8], s: &mut Shared, c: &mut Context<'_, '_>) {
        match step {
            Step::Descriptor => self.begin(ViaDescriptor::from_bytes(data), s, c),
            Step::Data => self.leave(data, s, c),
        }
    }

    fn begin(&mut self, descriptor: ViaDescriptor, s: &mut Shared, c: &mut Context<'_, '_>) {
        s.counters.descriptors += 1;
        let count = packets(&descriptor, s);
        let vi = &mut s.vis[self.vi as usize];
        let Some(work) = vi.unread() else { return self.rest(s) };
        let message = work.message;
        vi.plan(descriptor, self.descriptor, count.unwrap_or(1));
        if let Err(status) = count {
            s.break_off(self.vi, Some((self.sequence, status)), c);
            return self.rest(s);
        }
        let process = s.process_of(self.vi);
        c.stamp(process, message, Stage::Accept, c.now);
        let mechanism = if is_write(&descriptor) { Mechanism::RdmaWrite } else { Mechanism::Vi };
        c.travels_by(process, message, mechanism);
        s.counters.sent += 1;
        // A refusal may have come meanwhile.
        let vi = &s.vis[self.vi as usize];
        if vi.may_send(s.window) && vi.plan_of(vi.out.next).is_some() {
            self.sequence = vi.out.next;
            self.state = State::Preparing(Step::Data);
            s.pipeline.begin(ViaEvent::Looked, c);
        } else {
            self.rest(s);
        }
    }

    /// A packet leaves the NIC's memory for the link.
    fn leave(&mut self, data: &[u8], s: &mut Shared, c: &mut Context<'_, '_>) {
        let vi = &mut s.vis[self.vi as usize];
        let Some((plan, message)) = vi.plan_of(self.sequence) else { return self.rest(s) };
        let again = vi.out.sends(self.sequence);
        s.counters.resent += u64::from(again);
        let header = self.header(&plan, s);
        let mut bytes = header.to_bytes();
        bytes.extend_from_slice(data);
        s.pipeline.begin_with(ViaEvent::Crossed, s.crossing(bytes.len() as u64), c);
        let remote = s.vis[self.vi as usize].remote;
        self.packet = Some(s.packet(remote.0, bytes, message));
        self.state = State::Crossing;
    }

    fn header(&self, plan: &Plan, s: &Shared) -> ViaHeader {
        let (vi, descriptor) = (&s.vis[self.vi as usize], &plan.descriptor);
        let number = self.sequence.wrapping_sub(plan.first);
        let mut header = ViaHeader {
            kind: if is_write(descriptor) { WRITE } else { SEND },
            to: vi.remote.1,
            from: self.vi,
            sequence: self.sequence,
            value: descriptor.immediate,
            ..ViaHeader::default()
        };
        if Vi::should_ask(plan, self.sequence, s.window) {
            header.flags |= ASKS;
        }
        if descriptor.control & CONTROL_IMMEDIATE != 0 {
            header.flags |= HAS_IMMEDIATE;
        }
        if is_write(descriptor) {
            let (from, _) = part(descriptor, number, s.unit.packet_data.bytes());
            header.address = descriptor.segment[0].address.wrapping_add(from);
            header.handle = descriptor.segment[0].handle;
        }
        header
    }

    /// It waits for the link.
    pub fn crossed(&mut self, s: &mut Shared) {
        s.counters.packets += 1;
        s.packets.extend(self.packet.take());
        self.rest(s);
    }

    /// The VI's turn is over.
    fn rest(&mut self, s: &mut Shared) {
        self.state = State::Idle;
        s.wants_to_send(self.vi);
    }
}

/// Longest packet [bytes], on the wire.
pub(super) fn packet_bytes_max(transfer: u64, piece: u64, overhead: u64) -> u64 {
    HEADER as u64 + transfer.max(piece) + overhead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_block_end_at_multiples_at_the_destination() {
        let mut descriptor =
            ViaDescriptor { control: CONTROL_RDMA_WRITE, length: 2500, ..Default::default() };
        descriptor.segment[0].address = 0x10000 + 1000;
        let parts: Vec<_> = (0..4).map(|number| part(&descriptor, number, 1024)).collect();
        assert_eq!(parts, [(0, 24), (24, 1024), (1048, 1024), (2072, 428)]);
        descriptor.length = 10;
        assert_eq!(part(&descriptor, 0, 1024), (0, 10));
        descriptor.control = CONTROL_SEND_RECEIVE;
        assert_eq!(part(&descriptor, 0, 1024), (0, 10));
    }
}

//! Receiving: one packet after the other. A message goes to the memory that the VI's oldest receive descriptor names; one
//! that finds none waits in the NIC, where there is room for that, or is dropped and refused. A piece of an RDMA write
//! goes to where it says, if that is allowed.
//!
//! What is in the node is written in the order of its arrival, then its descriptor's status, then the completion queue's
//! entry: the bus serves the NIC's transactions in their order.

use std::collections::VecDeque;

use chasqui_engine::Packet;
use chasqui_ni::{BusOperation, Context, DmaReader, DmaWriter, Piece};
use chasqui_record::Stage;

use super::Shared;
use super::complete::{Completion, EntryWriter};
use super::events::{Owner, ViaEvent};
use super::packet::{ACCEPTED, ASKS, HAS_IMMEDIATE, HEADER, NOT_READY, REPLY, SEND, ViaHeader};
use super::registers::{
    STATUS_DONE, STATUS_FORMAT_ERROR, STATUS_IMMEDIATE, STATUS_LENGTH_ERROR, STATUS_PROTECTION_ERROR,
    STATUS_RDMA_PROTECTION_ERROR, STATUS_RECEIVE, STATUS_REMOTE_ERROR, TABLE_RDMA_WRITE, TABLE_WRITE,
    ViaDescriptor,
};
use super::sequence::{Effect, before};
use super::transmit::{DESCRIPTOR, is_write};
use super::vi::{Held, State as ViState};

/// What is dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    /// The oldest packet that has landed.
    Packet,
    /// The oldest message that waits for a descriptor of this VI.
    Held(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Control.
    Busy(Job),
    /// A receive descriptor is read.
    Fetching(Job),
    Writing(Job),
}

/// The unit that receives.
pub(super) struct Receiver {
    /// Packets that have landed.
    landed: VecDeque<Box<Packet>>,
    state: State,
    /// Physical address of the receive descriptor that is read.
    descriptor: u64,
    pub reader: DmaReader,
    pub writer: EntryWriter,
}

impl Receiver {
    pub fn new(line_bytes: u64) -> Receiver {
        Receiver {
            landed: VecDeque::new(),
            state: State::Idle,
            descriptor: 0,
            reader: DmaReader::new(|number| Owner::Fetch.tag(number), line_bytes),
            writer: DmaWriter::new(|number| Owner::Receive.tag(number), line_bytes),
        }
    }

    /// The oldest packet's tail is here.
    pub fn landed(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.landed.push_back(s.link.landed());
        self.go_on(s, c);
    }

    /// Looks for work.
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.state != State::Idle {
            return;
        }
        let (job, cycles, bytes) = if let Some(vi) = s.next_held() {
            let bytes = s.vis[vi as usize].held[0].packet.bytes.len();
            (Job::Held(vi), s.unit.deliver.cycles(), bytes)
        } else if let Some(packet) = self.landed.front() {
            (Job::Packet, s.unit.receive.cycles(), packet.bytes.len())
        } else {
            return;
        };
        self.state = State::Busy(job);
        s.pipeline.begin_with(ViaEvent::Received, cycles + s.crossing(bytes as u64), c);
    }

    fn packet<'a>(&'a self, job: Job, s: &'a Shared) -> &'a Packet {
        match job {
            Job::Packet => self.landed.front().expect("a packet is dealt with"),
            Job::Held(vi) => &s.vis[vi as usize].held.front().expect("a message waits").packet,
        }
    }

    /// Control is over.
    pub fn received(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let State::Busy(job) = self.state else { unreachable!("control of nothing") };
        if let Job::Held(vi) = job {
            // The connection may have ended.
            return if s.vis[vi as usize].held.is_empty() {
                self.rest(s, c)
            } else {
                self.fetch(vi, job, s, c)
            };
        }
        let packet = self.packet(job, s);
        let header = ViaHeader::from_bytes(&packet.bytes);
        let source = packet.source;
        if header.kind == REPLY {
            s.take_reply(&header, source, c);
            return self.finish(s, c);
        }
        match s.awaits(&header, source) {
            Awaits::This if header.kind == SEND => self.take_message(&header, s, c),
            Awaits::This => self.take_piece(&header, s, c),
            Awaits::Refuse(value) => {
                s.counters.dropped += 1;
                s.reply(source, &header, value, c);
                self.finish(s, c);
            }
            Awaits::Another => {
                s.counters.dropped += 1;
                self.finish(s, c);
            }
        }
    }

    fn take_message(&mut self, header: &ViaHeader, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.landed.front().expect("a packet is dealt with");
        let (source, bytes) = (packet.source, packet.bytes.len() as u64);
        let vi = &mut s.vis[header.to as usize];
        // Messages that wait go first.
        if vi.held.is_empty() && !vi.receives.is_empty() {
            return self.fetch(header.to, Job::Packet, s, c);
        }
        let process = s.process_of(header.to);
        if s.staged[process.index()] + bytes - HEADER as u64 > s.via.staging.bytes() {
            s.counters.dropped += 1;
            s.counters.refused += 1;
            s.reply(source, header, NOT_READY, c);
            return self.finish(s, c);
        }
        let vi = &mut s.vis[header.to as usize];
        vi.held.push_back(Held { packet: packet.clone() });
        s.staged[process.index()] += bytes - HEADER as u64;
        s.counters.held += 1;
        s.accepted(source, header, c);
        s.note_held(header.to);
        self.finish(s, c);
    }

    fn take_piece(&mut self, header: &ViaHeader, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.landed.front().expect("a packet is dealt with");
        let (source, data) = (packet.source, &packet.bytes[HEADER..]);
        let tag = s.vis[header.to as usize].tag;
        let access = TABLE_WRITE | TABLE_RDMA_WRITE;
        let found = s.table.translate(header.address, header.handle, data.len() as u64, tag, access);
        let Some(pieces) = found else {
            s.reply(source, header, STATUS_RDMA_PROTECTION_ERROR, c);
            s.break_off(header.to, None, c);
            return self.finish(s, c);
        };
        self.writer.add_physical(BusOperation::Write, &pieces, data);
        s.accepted(source, header, c);
        if pieces.is_empty() {
            return self.finish(s, c);
        }
        self.state = State::Writing(Job::Packet);
        self.writer.start(c);
    }

    /// The oldest receive descriptor of `vi` is read.
    fn fetch(&mut self, vi: u32, job: Job, s: &mut Shared, c: &mut Context<'_, '_>) {
        let state = &s.vis[vi as usize];
        let posted = state.receives[0];
        match s.table.translate(posted.address, posted.handle, DESCRIPTOR, state.tag, TABLE_WRITE) {
            Some(pieces) => {
                self.descriptor = pieces[0].address;
                self.reader.read_physical(&pieces, c);
                self.state = State::Fetching(job);
            }
            None => {
                s.vis[vi as usize].receives.pop_front();
                self.give_up(vi, job, s, c);
            }
        }
    }

    /// A line of it is here.
    pub fn line_read(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let State::Fetching(job) = self.state else { unreachable!("a descriptor for nobody") };
        if let Some(descriptor) = self.reader.done(c) {
            self.fetched(job, &ViaDescriptor::from_bytes(&descriptor), s, c);
        }
    }

    /// All of it is here.
    fn fetched(&mut self, job: Job, descriptor: &ViaDescriptor, s: &mut Shared, c: &mut Context<'_, '_>) {
        s.counters.descriptors += 1;
        if let Job::Held(vi) = job
            && s.vis[vi as usize].held.is_empty()
        {
            return self.rest(s, c); // The connection has ended meanwhile, and the message with it.
        }
        let packet = self.packet(job, s);
        let header = ViaHeader::from_bytes(&packet.bytes);
        let (vi, source, data) = (header.to, packet.source, packet.bytes[HEADER..].to_vec());
        let state = &mut s.vis[vi as usize];
        if state.state != ViState::Connected || state.receives.pop_front().is_none() {
            return self.end(job, s, c); // The connection has ended meanwhile.
        }
        let place = place(descriptor, data.len() as u64, state.tag, s);
        let mut completion = Completion {
            vi,
            is_receive: true,
            physical: self.descriptor,
            immediate: 0,
            length: data.len() as u32,
            status: STATUS_DONE | STATUS_RECEIVE,
        };
        if header.flags & HAS_IMMEDIATE != 0 {
            completion.immediate = header.value;
            completion.status |= STATUS_IMMEDIATE;
        }
        let is_right = place.is_ok();
        match place {
            Ok(pieces) => self.writer.add_physical(BusOperation::Write, &pieces, &data),
            Err(status) => (completion.length, completion.status) = (0, completion.status | status),
        }
        s.conclude(completion, &mut self.writer);
        s.counters.received += 1;
        if !is_right {
            s.reply(source, &header, STATUS_REMOTE_ERROR, c);
            s.break_off(vi, None, c);
        } else if job == Job::Packet {
            s.accepted(source, &header, c);
        }
        self.state = State::Writing(job);
        self.writer.start(c);
    }

    /// There is no descriptor to tell of the error.
    fn give_up(&mut self, vi: u32, job: Job, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.packet(job, s);
        let (header, source) = (ViaHeader::from_bytes(&packet.bytes), packet.source);
        s.reply(source, &header, STATUS_REMOTE_ERROR, c);
        s.break_off(vi, None, c);
        self.end(job, s, c);
    }

    /// All of it is written.
    pub fn written(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let State::Writing(job) = self.state else { unreachable!("nothing was written") };
        self.end(job, s, c);
    }

    fn end(&mut self, job: Job, s: &mut Shared, c: &mut Context<'_, '_>) {
        let Job::Held(vi) = job else { return self.finish(s, c) };
        let held = s.vis[vi as usize].held.pop_front();
        if let Some(Held { packet }) = held {
            s.unstage(vi, (packet.bytes.len() - HEADER) as u64);
        }
        s.note_held(vi);
        self.rest(s, c);
    }

    /// The packet is dealt with: its room in the receive buffer goes back.
    fn finish(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.landed.pop_front().expect("a packet is dealt with");
        let process = s.process_of(ViaHeader::from_bytes(&packet.bytes).to);
        c.stamp(process, packet.message, Stage::Land, c.now);
        s.link.release(packet.priority, c);
        self.rest(s, c);
    }

    fn rest(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.state = State::Idle;
        self.go_on(s, c);
    }
}

/// What a VI makes of a packet.
pub(super) enum Awaits {
    /// It is the one that it awaits.
    This,
    /// It is not, and nothing need be said.
    Another,
    /// It is refused, or was here before: the reply.
    Refuse(u32),
}

/// The memory that a message of `bytes` goes to by a receive descriptor, or the status of what is wrong with that.
fn place(descriptor: &ViaDescriptor, bytes: u64, tag: u32, s: &Shared) -> Result<Vec<Piece>, u32> {
    let count = usize::from(descriptor.segments);
    if count > descriptor.segment.len() || is_write(descriptor) {
        return Err(STATUS_FORMAT_ERROR);
    }
    let (mut pieces, mut left) = (vec![], bytes);
    for segment in &descriptor.segment[..count] {
        let part = left.min(u64::from(segment.bytes));
        let found = s.table.translate(segment.address, segment.handle, part, tag, TABLE_WRITE);
        pieces.extend(found.ok_or(STATUS_PROTECTION_ERROR)?);
        left -= part;
    }
    if left > 0 { Err(STATUS_LENGTH_ERROR) } else { Ok(pieces) }
}

impl Shared {
    /// What the VI that a message or a piece is for makes of it.
    fn awaits(&self, header: &ViaHeader, source: u32) -> Awaits {
        let Some(vi) = self.vis.get(header.to as usize) else { return Awaits::Refuse(STATUS_REMOTE_ERROR) };
        match vi.state {
            // It may be connected yet.
            ViState::Idle => Awaits::Refuse(NOT_READY),
            ViState::Error => Awaits::Refuse(STATUS_REMOTE_ERROR),
            ViState::Connected if vi.remote != (source, header.from) => Awaits::Refuse(STATUS_REMOTE_ERROR),
            ViState::Connected if vi.expected == header.sequence => Awaits::This,
            ViState::Connected if before(header.sequence, vi.expected) => Awaits::Refuse(ACCEPTED),
            ViState::Connected => Awaits::Another,
        }
    }

    /// The packet that a VI awaits has come.
    fn accepted(&mut self, source: u32, header: &ViaHeader, c: &mut Context<'_, '_>) {
        let vi = &mut self.vis[header.to as usize];
        vi.expected = vi.expected.wrapping_add(1);
        if header.flags & ASKS != 0 {
            self.reply(source, header, ACCEPTED, c);
        }
    }

    /// A reply has come.
    fn take_reply(&mut self, header: &ViaHeader, source: u32, c: &mut Context<'_, '_>) {
        let Some(vi) = self.vis.get_mut(header.to as usize) else { return };
        if vi.state != ViState::Connected || vi.remote != (source, header.from) {
            return;
        }
        let refused = header.value == NOT_READY;
        if header.value > NOT_READY {
            return self.break_off(header.to, Some((header.sequence, header.value)), c);
        }
        let mut complete = vec![];
        let effect = vi.acknowledged(header.sequence, refused, &mut complete);
        let refusals = vi.out.refusals;
        self.concluded(header.to, &complete);
        match effect {
            Effect::Nothing => {}
            Effect::GoOn => self.wants_to_send(header.to),
            Effect::GoBack if refusals > self.via.retries => {
                self.break_off(
                    header.to,
                    Some((header.sequence, super::registers::STATUS_TRANSPORT_ERROR)),
                    c,
                );
            }
            Effect::GoBack => {
                c.at(c.now + self.retry, [ViaEvent::Retry as u64, header.to.into()]);
            }
        }
    }
}

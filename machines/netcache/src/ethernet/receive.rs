//! Receiving: a frame that has come waits in the controller until a descriptor is there that says where it goes; it is
//! written over the bus, then its descriptor. Where there is none the frame is lost: the sender's TCP sends it again.

use std::collections::VecDeque;

use chasqui_engine::{Packet, Time};
use chasqui_ni::{BusOperation, BusRequest, Context, DmaWriter, Piece};
use chasqui_record::Stage;

use super::events::{EthernetEvent, Purpose};
use super::registers::{
    BUFFER_BYTES, CAUSE_OVERRUN, CAUSE_RECEIVED, EthernetReceive, STATUS_DONE, STATUS_END,
};
use super::{DESCRIPTOR, Ring, Shared};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Descriptors are read.
    Fetching,
    Writing,
    /// The descriptor is written back.
    Reporting,
}

/// The unit that receives.
pub(super) struct Receiver {
    pub ring: Ring,
    state: State,
    /// Frames that are looked at; whether each came whole.
    arriving: VecDeque<(Box<Packet>, bool)>,
    /// Frames that wait for their place in memory, and their bytes.
    fifo: VecDeque<Box<Packet>>,
    fifo_bytes: u64,
    descriptor: EthernetReceive,
    /// Writes the frame.
    pub writer: DmaWriter,
}

impl Receiver {
    pub fn new(slots: u32, line_bytes: u64) -> Receiver {
        Receiver {
            ring: Ring::new(slots),
            state: State::Idle,
            arriving: VecDeque::new(),
            fifo: VecDeque::new(),
            fifo_bytes: 0,
            descriptor: EthernetReceive::default(),
            writer: DmaWriter::new(|number| Purpose::ReceiveData.tag(number), line_bytes),
        }
    }

    /// A frame's head is here; all of it at `tail`.
    pub fn arrives(&mut self, mut packet: Box<Packet>, tail: Time, s: &mut Shared, c: &mut Context<'_, '_>) {
        // A frame with a wrong check is lost like any other that is.
        let [_, process] = s.processes_of(&packet.bytes);
        let is_whole = s.link.arrive(tail, &mut packet, process, c).is_ok();
        self.arriving.push_back((packet, is_whole));
        c.at(s.clock.after(tail, s.unit.receive.cycles()), EthernetEvent::Received.into());
    }

    /// Control of the oldest frame that has come is over.
    pub fn received(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let (packet, is_whole) = self.arriving.pop_front().expect("a frame has come");
        s.link.release(packet.priority, c);
        let bytes = packet.bytes.len() as u64;
        if self.fifo_bytes + bytes > s.unit.receive_fifo.bytes() {
            s.counters.overruns += 1;
            s.interrupts.raise(CAUSE_OVERRUN, c);
        } else if is_whole {
            self.fifo_bytes += bytes;
            self.fifo.push_back(packet);
        }
    }

    /// Looks for work.
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        while self.state == State::Idle && !self.fifo.is_empty() {
            if let Some(next) = self.ring.front() {
                self.descriptor = EthernetReceive::from_bytes(next);
                self.write(s, c);
            } else if s.fetch(&self.ring, Purpose::ReceiveFetch, c) {
                self.state = State::Fetching;
            } else {
                self.take();
                s.counters.missed += 1;
                s.interrupts.raise(CAUSE_OVERRUN, c);
            }
        }
    }

    /// The oldest frame leaves the controller.
    fn take(&mut self) -> Box<Packet> {
        let packet = self.fifo.pop_front().expect("a frame waits");
        self.fifo_bytes -= packet.bytes.len() as u64;
        packet
    }

    /// Descriptors have been read.
    pub fn fetched(&mut self) {
        self.state = State::Idle;
    }

    /// The oldest frame goes to its buffer.
    fn write(&mut self, s: &Shared, c: &mut Context<'_, '_>) {
        let (address, bytes) = (self.descriptor.address, self.fifo[0].bytes.len() as u64);
        if !s.is_memory(address, BUFFER_BYTES, c) {
            self.take();
            self.ring.finish();
            return;
        }
        self.writer.add_physical(BusOperation::Write, &[Piece { address, bytes }], &self.fifo[0].bytes);
        self.writer.start(c);
        self.state = State::Writing;
    }

    /// A part is in memory; after the last one the descriptor follows.
    pub fn part_written(&mut self, number: usize, s: &Shared, c: &mut Context<'_, '_>) {
        if !self.writer.done(number).is_all {
            return;
        }
        let packet = self.take();
        let [_, process] = s.processes_of(&packet.bytes);
        c.stamp(process, packet.message, Stage::Land, c.now);
        self.descriptor.bytes = packet.bytes.len() as u16;
        self.descriptor.status = STATUS_DONE | STATUS_END;
        self.state = State::Reporting;
        let (address, tag) = (self.ring.address(self.ring.head), Purpose::ReceiveBack.tag(0));
        c.bus(BusRequest { operation: BusOperation::Write, address, bytes: DESCRIPTOR as u32, tag });
    }

    /// The descriptor takes its place in memory.
    pub fn reported(&self, request: BusRequest, c: &mut Context<'_, '_>) {
        let bytes = self.descriptor.to_bytes();
        let place = c.memory.slice_mut(request.address, bytes.len()).expect("it was read from there");
        place.copy_from_slice(&bytes);
    }

    /// The descriptor is written back.
    pub fn report_done(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.ring.finish();
        self.state = State::Idle;
        s.counters.received += 1;
        s.interrupts.raise(CAUSE_RECEIVED, c);
    }
}

//! Sending: descriptors, then the frame that one of them tells of, are read over the bus; the whole frame waits for the
//! link in the controller, and its descriptor is written back.

use std::collections::VecDeque;

use chasqui_engine::{Packet, Time};
use chasqui_ni::{BusOperation, BusRequest, Context, DmaReader, Piece};
use chasqui_record::Stage;

use super::events::{EthernetEvent, Purpose};
use super::registers::{CAUSE_TRANSMITTED, COMMAND_REPORT, EthernetTransmit, STATUS_DONE};
use super::{DESCRIPTOR, FIRST, Ring, Shared};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Descriptors are read.
    Fetching,
    /// Control.
    Preparing,
    Reading,
}

/// The unit that sends.
pub(super) struct Transmitter {
    pub ring: Ring,
    state: State,
    descriptor: EthernetTransmit,
    /// When control of the frame began.
    begun: Time,
    /// Reads the frame.
    pub reader: DmaReader,
    /// Frames that wait for the link, and their bytes.
    fifo: VecDeque<Box<Packet>>,
    fifo_bytes: u64,
}

impl Transmitter {
    pub fn new(slots: u32, line_bytes: u64) -> Transmitter {
        Transmitter {
            ring: Ring::new(slots),
            state: State::Idle,
            descriptor: EthernetTransmit::default(),
            begun: Time::ZERO,
            reader: DmaReader::new(|number| Purpose::TransmitData.tag(number), line_bytes),
            fifo: VecDeque::new(),
            fifo_bytes: 0,
        }
    }

    /// Looks for work.
    pub fn go_on(&mut self, s: &Shared, c: &mut Context<'_, '_>) {
        if self.state != State::Idle {
            return;
        }
        match self.ring.front().map(|bytes| EthernetTransmit::from_bytes(bytes)) {
            None => {
                if s.fetch(&self.ring, Purpose::TransmitFetch, c) {
                    self.state = State::Fetching;
                }
            }
            Some(next) if self.fifo_bytes + u64::from(next.bytes) <= s.unit.transmit_fifo.bytes() => {
                (self.descriptor, self.state, self.begun) = (next, State::Preparing, c.now);
                s.pipeline.begin(EthernetEvent::Prepared, c);
            }
            Some(_) => {}
        }
    }

    /// Descriptors have been read.
    pub fn fetched(&mut self) {
        self.state = State::Idle;
    }

    /// Control is over: the frame is read.
    pub fn prepared(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let (address, bytes) = (self.descriptor.address, u64::from(self.descriptor.bytes));
        let allowed = super::registers::HEADER_BYTES..=s.unit.frame_max();
        if !allowed.contains(&bytes) {
            c.fault(FIRST, format!("a transmit descriptor of {bytes} bytes; allowed: {allowed:?}"));
        }
        if !allowed.contains(&bytes) || !s.is_memory(address, bytes, c) {
            self.ring.finish();
            self.state = State::Idle;
            return;
        }
        self.reader.read_physical(&[Piece { address, bytes }], c);
        self.state = State::Reading;
    }

    /// A part is here.
    pub fn part_read(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if let Some(frame) = self.reader.done(c) {
            self.queue(frame, s, c);
            self.state = State::Idle;
            self.report(c);
        }
    }

    /// The frame waits for the link.
    fn queue(&mut self, mut bytes: Vec<u8>, s: &mut Shared, c: &mut Context<'_, '_>) {
        let Some(destination) = super::node_of(&bytes).filter(|&node| node < s.link.port().nodes()) else {
            s.counters.strays += 1;
            return;
        };
        let (message, mechanism) = s.name(&bytes);
        let [process, _] = s.processes_of(&bytes);
        c.stamp(process, message, Stage::Accept, self.begun);
        c.travels_by(process, message, mechanism);
        bytes.resize(bytes.len().max(s.unit.frame_min.bytes() as usize), 0);
        s.counters.sent += 1;
        self.fifo_bytes += bytes.len() as u64;
        self.fifo.push_back(Box::new(Packet {
            source: s.link.port().node(),
            destination,
            wire_bytes: (bytes.len() as u64 + s.unit.overhead.bytes()) as u32,
            bytes,
            message,
            ..Packet::default()
        }));
        self.start(c, s);
    }

    /// The descriptor is written back, if it asks for that.
    fn report(&mut self, c: &mut Context<'_, '_>) {
        let index = self.ring.finish();
        if self.descriptor.command & COMMAND_REPORT != 0 {
            let (address, tag) = (self.ring.address(index), Purpose::TransmitBack.tag(index as usize));
            c.bus(BusRequest { operation: BusOperation::Write, address, bytes: DESCRIPTOR as u32, tag });
        }
    }

    /// The write takes its place: of the descriptor its status alone changes.
    pub fn reported(&self, request: BusRequest, c: &mut Context<'_, '_>) {
        let status = request.address + std::mem::offset_of!(EthernetTransmit, status) as u64;
        c.memory.write(status, 1, u64::from(STATUS_DONE)).expect("it was read from there");
    }

    /// The descriptor is written back.
    pub fn report_done(&self, s: &mut Shared, c: &mut Context<'_, '_>) {
        s.interrupts.raise(CAUSE_TRANSMITTED, c);
    }

    /// Hands frames to the link while it takes them.
    pub fn start(&mut self, c: &mut Context<'_, '_>, s: &mut Shared) {
        while !self.fifo.is_empty() && s.link.takes(0, c) {
            let packet = self.fifo.pop_front().expect("a frame waits");
            self.fifo_bytes -= packet.bytes.len() as u64;
            let [process, _] = s.processes_of(&packet.bytes);
            s.link.send(packet, process, c);
        }
    }
}

//! Commands of the service processor's firmware to the hardware: messages into queues and memory, rings between SRAM
//! and DRAM. One at a time; what moves crosses the I-bus first.

use std::collections::VecDeque;

use chasqui_ni::{BusOperation, BusRequest, Context, DmaReader, Ring, line_parts};
use chasqui_placement::ProcessId;
use chasqui_record::Stage;

use super::queues::{QueueName, SP};
use super::receive::basic_slot;
use super::transmit::HEADER;
use super::{Nes, NesEvent, Owner, Shared};
use crate::registers::{EXPRESS_BYTES, SLOT_DATA_BYTES, TAG_LONG_BYTES, TAG_SHORT_BYTES};
use crate::service_registers::{self as sp, VoyagerPacket};

/// What the firmware has the hardware do.
pub(super) struct Command {
    operation: u64,
    queue: QueueName,
    /// The message, as a packet.
    message: Vec<u8>,
    /// Where the command's data go.
    address: u64,
    /// What is still to be moved over the bus: address, bytes.
    pieces: VecDeque<(u64, u32)>,
}

/// What is fetched from a process's memory.
struct Fetch {
    place: u64,
    from: (ProcessId, u64),
    bytes: u64,
    /// It has been read.
    data: Option<Vec<u8>>,
}

/// The unit that fetches lines of a process's memory into places of the SRAM, for what the sP tags on (section 5.2).
pub(super) struct Fetcher {
    /// The sP's places.
    pub places: Ring,
    reader: DmaReader,
    fetch: Option<Fetch>,
}

impl Fetcher {
    pub fn new(places: Ring, line_bytes: u64) -> Fetcher {
        Fetcher { places, reader: DmaReader::new(|number| Owner::Fetch.tag(number), line_bytes), fetch: None }
    }

    /// COMMAND_FETCH `value` names a place that there is.
    pub fn has_place(&self, value: u64) -> bool {
        (value >> sp::FETCH_PLACE_SHIFT & 0xff) < u64::from(self.places.slots)
    }

    /// COMMAND_FETCH `value`, from `address`: control of `cycles`. The result, if there is one already.
    fn begin(
        &mut self,
        (value, address, cycles): (u64, u64, u64),
        s: &Shared,
        c: &mut Context<'_, '_>,
    ) -> Option<u64> {
        let names = s.homes.names;
        let to = s.table.find(SP, (value >> 32) as u16).ok();
        let Some(process) = to.map(|to| names.process(to.queue)).filter(|p| p.index() < names.processes)
        else {
            return Some(0);
        };
        let place = self.places.slot((value >> sp::FETCH_PLACE_SHIFT & 0xff) as u32);
        let bytes = if value & sp::FETCH_LONG != 0 { TAG_LONG_BYTES } else { TAG_SHORT_BYTES };
        self.fetch = Some(Fetch { place, from: (process, address), bytes, data: None });
        c.at(s.clock.after(c.now, cycles), NesEvent::Fetched.into());
        None
    }

    /// Control is over: lines are read over the bus. Or they have crossed the I-bus into the SRAM. The result, if that was
    /// all.
    pub fn go_on(&mut self, c: &mut Context<'_, '_>) -> Option<u64> {
        let fetch = self.fetch.as_ref().expect("something is fetched");
        let result = match &fetch.data {
            Some(data) => {
                c.write_unsnooped(fetch.place, data);
                1
            }
            None if self.reader.read(fetch.from, fetch.bytes, c) == Ok(true) => return None,
            None => 0,
        };
        self.fetch = None;
        Some(result)
    }

    /// A line takes its place in the order of the bus.
    pub fn granted(&mut self, number: usize, request: BusRequest, c: &Context<'_, '_>) {
        self.reader.granted(number, request, c);
    }

    /// A line has been read; all of them cross the I-bus.
    pub fn line_read(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let Some(data) = self.reader.done(c) else { return };
        let end = s.cross(c.now, 0, data.len() as u64);
        self.fetch.as_mut().expect("something is fetched").data = Some(data);
        c.at(end, NesEvent::Fetched.into());
    }
}

/// `packet` has a length that every queue of its kind has room for.
fn is_message(packet: &[u8]) -> bool {
    let header = VoyagerPacket::from_bytes(packet);
    let least = if u64::from(header.kind) == sp::PACKET_EXPRESS { EXPRESS_BYTES } else { 0 };
    (least..=SLOT_DATA_BYTES).contains(&u64::from(header.bytes))
}

impl Nes {
    /// The message of the command `value`, as a packet, and perhaps more.
    fn message(&self, value: u64) -> &[u8] {
        let missed = self.receiver.missed.shown().filter(|_| value & sp::COMMAND_MISSED != 0);
        let staging = self.service.as_ref().map_or(&[][..], |service| &service.staging);
        missed.map_or(staging, |packet| &packet.bytes)
    }

    /// The command `value` has a message, if it needs one.
    pub(super) fn has_message(&self, value: u64) -> bool {
        matches!(value & 0xff, sp::COMMAND_COPY_IN | sp::COMMAND_COPY_OUT) || is_message(self.message(value))
    }

    /// The firmware starts a command: control, and the message crosses the I-bus.
    pub(super) fn command(&mut self, c: &mut Context<'_, '_>, value: u64) {
        let (address, line) = (self.service_mut().address, self.shared.line_bytes);
        let (operation, queue) = (value & 0xff, (value >> 32) as QueueName);
        if operation == sp::COMMAND_FETCH {
            let cycles = self.service_mut().parameters.command.cycles();
            let result = self.fetcher.begin((value, address, cycles), &self.shared, c);
            self.service_mut().result = result;
            return;
        }
        let message = self.message(value);
        let length = (HEADER + usize::from(VoyagerPacket::from_bytes(message).bytes)).min(message.len());
        let message = message[..length].to_vec();
        let (pieces, crossing) = match operation {
            sp::COMMAND_COPY_IN | sp::COMMAND_COPY_OUT => (self.ring_lines(queue), line),
            sp::COMMAND_WRITE => (pieces(address, length as u64, line), length as u64),
            _ => (VecDeque::new(), length as u64),
        };
        let service = self.service_mut();
        let cycles = service.parameters.command.cycles();
        service.command = Some(Command { operation, queue, message, address, pieces });
        let end = self.shared.cross(c.now, cycles, crossing);
        c.at(end, NesEvent::Commanded.into());
    }

    /// The lines of both rings of a queue.
    fn ring_lines(&self, queue: QueueName) -> VecDeque<(u64, u32)> {
        let index = self.shared.homes.names.basic_index(queue).unwrap_or(0);
        let rings = [self.transmit_rings, self.receive_rings].map(|rings| rings.ring(index));
        let lines = rings
            .map(|ring| pieces(ring.base, u64::from(ring.slots) * ring.slot_bytes, self.shared.line_bytes));
        lines.into_iter().flatten().collect()
    }

    /// What the command moves next has crossed the I-bus.
    pub(super) fn command_crossed(&mut self, c: &mut Context<'_, '_>) {
        let command = self.service_mut().command.take().expect("a command is under way");
        let queue = command.queue;
        let placed = match command.operation {
            sp::COMMAND_DELIVER => u64::from(self.deliver_again(c, queue, &command.message)),
            sp::COMMAND_TAG => {
                let slot = self.receiver.deliver_tag(queue, &command.message, &self.shared, c);
                slot.map_or(0, |slot| 1 + u64::from(slot))
            }
            _ => {
                self.service_mut().command = Some(command);
                return self.move_piece(c);
            }
        };
        if placed == 0 {
            self.shared.homes.want_room(queue);
        }
        self.service_mut().result = Some(placed);
    }

    /// Puts a message that missed its queue into it. False: it is not resident, or there is no room.
    fn deliver_again(&mut self, c: &mut Context<'_, '_>, queue: QueueName, message: &[u8]) -> bool {
        let s = &mut self.shared;
        let name = s.homes.oldest_message(queue);
        let placed =
            s.homes.slot(queue).is_some_and(|slot| self.receiver.deliver((queue, slot), message, name, s, c));
        if placed {
            self.land(c, queue);
        }
        placed
    }

    /// The oldest message of `queue` that was with the firmware is in its queue.
    fn land(&mut self, c: &mut Context<'_, '_>, queue: QueueName) {
        let name = self.shared.homes.return_message(queue);
        c.stamp(self.shared.homes.names.process(queue), name, Stage::Land, c.now);
    }

    /// The command's next piece goes over the bus.
    fn move_piece(&mut self, c: &mut Context<'_, '_>) {
        let service = self.service_mut();
        let command = service.command.as_mut().expect("a command is under way");
        let Some((address, bytes)) = command.pieces.pop_front() else {
            let written = (command.operation == sp::COMMAND_WRITE).then_some(command.queue);
            service.command = None;
            service.result = Some(1);
            if let Some(queue) = written {
                self.land(c, queue);
            }
            return;
        };
        let operation = match command.operation {
            // The hardware will write the lines past the caches.
            sp::COMMAND_COPY_IN => BusOperation::ReadInvalidate,
            _ => BusOperation::Write,
        };
        c.bus(BusRequest { operation, address, bytes, tag: Owner::Command.tag(0) });
    }

    /// A piece takes its place in memory. Rings are copied in time alone: they keep their addresses.
    pub(super) fn command_granted(&mut self, request: BusRequest, c: &mut Context<'_, '_>) {
        let command = self.service_mut().command.as_ref().expect("a command is under way");
        if command.operation == sp::COMMAND_WRITE {
            let at = (request.address - command.address) as usize;
            let length = request.bytes as usize;
            let source = &basic_slot(&command.message)[at..at + length];
            match c.memory.slice_mut(request.address, length) {
                Ok(place) => place.copy_from_slice(source),
                Err(_) => {
                    self.wrong(c, &format!("a message for {:#x}, where there is no memory", request.address));
                }
            }
        }
    }

    /// A piece has been moved.
    pub(super) fn command_line(&mut self, c: &mut Context<'_, '_>) {
        let command = self.service_mut().command.as_ref().expect("a command is under way");
        if command.operation == sp::COMMAND_WRITE || command.pieces.is_empty() {
            return self.move_piece(c);
        }
        let end = self.shared.cross(c.now, 0, self.shared.line_bytes);
        c.at(end, NesEvent::Commanded.into());
    }
}

/// `bytes` from `address` on, line by line.
fn pieces(address: u64, bytes: u64, line: u64) -> VecDeque<(u64, u32)> {
    line_parts(address, bytes, line).map(|(offset, bytes)| (address + offset, bytes)).collect()
}

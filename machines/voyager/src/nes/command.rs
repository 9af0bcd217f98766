//! Commands of the service processor's firmware to the hardware: messages into queues and memory, rings between SRAM
//! and DRAM. One at a time; what moves crosses the I-bus first.

use std::collections::VecDeque;

use chasqui_ni::{BusOperation, BusRequest, Context};
use chasqui_record::Stage;

use super::queues::{self, Name};
use super::receive::basic_slot;
use super::transmit::{HEADER, message_of};
use super::{Nes, NesEvent, Owner, stamp};
use crate::service_registers::{self as sp, VoyagerPacket};

/// What the firmware has the hardware do.
pub(super) struct Command {
    operation: u64,
    queue: Name,
    /// The message, as a packet.
    message: Vec<u8>,
    /// Where the command's data go.
    address: u64,
    /// What is still to be moved over the bus: address, bytes.
    pieces: VecDeque<(u64, u32)>,
}

impl Nes {
    /// The firmware starts a command: control, and the message crosses the I-bus.
    pub(super) fn command(&mut self, c: &mut Context<'_, '_>, value: u64) {
        let service = self.service.as_mut().expect("the firmware runs");
        let missed = self.receiver.missed.front().filter(|_| value & sp::COMMAND_MISSED != 0);
        let message = missed.map_or(&service.staging[..], |packet| &packet.bytes);
        let length = HEADER + usize::from(VoyagerPacket::from_bytes(message).bytes);
        let mut command = Command {
            operation: value & 0xff,
            queue: (value >> 32) as Name,
            message: message[..length.min(message.len())].to_vec(),
            address: service.address,
            pieces: VecDeque::new(),
        };
        let line = self.shared.line_bytes;
        let mut bytes = command.message.len() as u64;
        match command.operation {
            sp::COMMAND_WRITE => command.pieces = pieces(command.address, bytes, line),
            sp::COMMAND_COPY_IN | sp::COMMAND_COPY_OUT => {
                bytes = line;
                let index = queues::basic_index(command.queue).unwrap_or(0);
                for rings in [self.transmit_rings, self.receive_rings] {
                    let ring = rings.ring(index);
                    command.pieces.extend(pieces(ring.base, u64::from(ring.slots) * ring.slot_bytes, line));
                }
            }
            _ => {}
        }
        let cycles = service.parameters.command.cycles();
        service.command = Some(command);
        let end = self.shared.cross(c.now, cycles, bytes);
        c.at(end, NesEvent::Commanded.into());
    }

    /// What the command moves next has crossed the I-bus.
    pub(super) fn command_crossed(&mut self, c: &mut Context<'_, '_>) {
        let command = self.service_mut().command.take().expect("a command is under way");
        let (queue, message) = (command.queue, &command.message);
        let placed = match command.operation {
            sp::COMMAND_DELIVER => {
                let slot = self.shared.homes.slot(queue);
                slot.is_some_and(|slot| self.receiver.deliver(slot, message, &mut self.shared, c))
            }
            sp::COMMAND_TAG => self.receiver.deliver_tag(message, c),
            _ => {
                self.service_mut().command = Some(command);
                return self.move_piece(c);
            }
        };
        if placed {
            land(c, message);
        } else {
            self.shared.homes.want_room(queue);
        }
        self.service_mut().result = Some(u64::from(placed));
    }

    /// The command's next piece goes over the bus.
    fn move_piece(&mut self, c: &mut Context<'_, '_>) {
        let service = self.service_mut();
        let command = service.command.as_mut().expect("a command is under way");
        let Some((address, bytes)) = command.pieces.pop_front() else {
            if command.operation == sp::COMMAND_WRITE {
                land(c, &command.message);
            }
            service.command = None;
            service.result = Some(1);
            return;
        };
        let operation = match command.operation {
            // The hardware will write the lines past the caches.
            sp::COMMAND_COPY_IN => BusOperation::ReadInvalidate,
            _ => BusOperation::Write,
        };
        c.bus(BusRequest { operation, address, bytes, tag: Owner::Command.tag() });
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
                    let text = format!("a message for {:#x}, where there is no memory", request.address);
                    c.wishes.fault = Some(self.service_mut().processor.describe(&text));
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
    let mut pieces = VecDeque::new();
    let mut at = address;
    while at < address + bytes {
        let end = (at - at % line + line).min(address + bytes);
        pieces.push_back((at, (end - at) as u32));
        at = end;
    }
    pieces
}

/// The MPI message that begins with `packet`, if one does, is in its queue.
fn land(c: &mut Context<'_, '_>, packet: &[u8]) {
    let flags = u32::from(VoyagerPacket::from_bytes(packet).flags);
    stamp(c, message_of(flags, &packet[HEADER..]), Stage::Land, c.now);
}

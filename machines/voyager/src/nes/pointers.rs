//! Pointers that a process stores: how far it has come in its rings. One that goes where it can't is a fault, and so is a
//! message for which its queue has no room.

use chasqui_ni::Context;

use super::Nes;
use super::address::{Register, TAG_RELEASE_END};
use super::express::full;
use super::queues::{QueueName, Stored};
use crate::registers;

impl Nes {
    /// A Basic queue's pointer moves by no more than a ring, and an Express queue takes no more messages than it holds, wherever
    /// the queue is: the firmware takes what comes.
    ///
    /// # Errors
    /// It would: what the process did wrong, in words.
    pub(super) fn check_stored(&mut self, register: Register, pointer: u32) -> Result<(), String> {
        let (name, which) = match register {
            Register::Pointer(name, registers::TRANSMIT_PRODUCER) => (name, Stored::TransmitProducer),
            Register::Pointer(name, registers::RECEIVE_CONSUMER) => (name, Stored::ReceiveConsumer),
            Register::Express(_) | Register::Tag(_) => return self.check_room(self.queue_of(register)),
            _ => return Ok(()),
        };
        self.shared.homes.store(name, which, pointer, &self.transmit_rings.first)
    }

    fn check_room(&self, queue: Option<QueueName>) -> Result<(), String> {
        match queue {
            Some(queue) if !self.has_room(queue) => Err(full(self.shared.homes.names.own(queue))),
            _ => Ok(()),
        }
    }

    /// A store to a pointer, which counts slots modulo 2^32.
    ///
    /// # Errors
    /// The pointer can't go there: what the process did wrong, in words.
    pub(super) fn store_pointer(
        &mut self,
        c: &mut Context<'_, '_>,
        register: Register,
        pointer: u32,
    ) -> Result<(), String> {
        let s = &mut self.shared;
        match register {
            Register::Pointer(name, offset) => match (s.homes.slot(name), offset) {
                (Some(slot), registers::TRANSMIT_PRODUCER) => {
                    self.transmitter.post(slot, pointer)?;
                    self.transmitter.go_on(s, c);
                }
                (Some(slot), registers::RECEIVE_CONSUMER) => {
                    self.receiver.release(slot, pointer, s, c)?;
                    self.room(name);
                }
                _ => {}
            },
            Register::Process(process, registers::DMA_PRODUCER) => {
                self.dma.post(process, pointer)?;
                self.dma.go_on(s, c);
            }
            Register::Process(process, offset @ registers::TAG_RELEASE..TAG_RELEASE_END) => {
                let first = (offset - registers::TAG_RELEASE) as u32 / 4 * 32;
                for slot in (0..32).filter(|bit| pointer >> bit & 1 != 0) {
                    let queue = self.receiver.release_tag(process, first + slot, &mut self.shared, c)?;
                    self.room(queue);
                }
            }
            _ => unreachable!("{register:?} is no pointer"),
        }
        Ok(())
    }
}

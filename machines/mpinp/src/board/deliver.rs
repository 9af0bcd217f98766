//! The list of tags at work: the firmware's operations, and the data of a message that met an entry, on their way to the
//! buffer of the receive. The card has that by its virtual address (address translation services; no page is pinned): each
//! page is looked for before data go there, and once more when they come to memory.

use chasqui_engine::Time;
use chasqui_ni::{Context, HostBlock};

use super::Board;
use super::events::BoardEvent;
use super::tagged::Tagged;
use super::tags::Buffer;
use crate::np_registers as np;

impl Board {
    /// The firmware stores to a register of the list of tags.
    ///
    /// # Errors
    /// It can't be: in words.
    pub(super) fn tags_store(
        &mut self,
        address: u64,
        value: u64,
        c: &mut Context<'_, '_>,
    ) -> Result<(), String> {
        if address == np::TAG_DELIVER {
            return self.deliver(value as u32, c);
        }
        let tags = self.tags.as_mut().ok_or("a store to the list of tags, which the card has not")?;
        if let Some(operation) = tags.operation(address, value)
            && let Some(over) = tags.list.ask(operation, c.now)?
        {
            c.at(over, BoardEvent::Looked.into());
        }
        Ok(())
    }

    /// An operation of the list is over.
    pub(super) fn looked(&mut self, c: &mut Context<'_, '_>) {
        let tags = self.tags.as_mut().expect("the card has a list");
        let next = tags.list.is_over(c.now);
        if let Some(over) = next {
            c.at(over, BoardEvent::Looked.into());
        }
        self.happened(np::EVENT_TAGS, c);
    }

    /// The firmware has `bytes` delivered to the buffer that was found.
    fn deliver(&mut self, bytes: u32, c: &mut Context<'_, '_>) -> Result<(), String> {
        let is_busy = self.is_moving();
        let tags = self.tags.as_mut().ok_or("TAG_DELIVER without a list of tags")?;
        if is_busy {
            return Err(format!("TAG_DELIVER of {bytes} bytes while the host's DMA is busy"));
        }
        let Buffer { process, address, bytes: room } = tags.found;
        tags.bytes = bytes.min(room);
        tags.is_delivering = true;
        let (all, each) = tags.latencies;
        let missing = match c.bring_in(process, address, tags.bytes.into(), true) {
            Ok(missing) => missing,
            Err(at) => {
                tags.bytes = 0;
                c.fault(process, format!("protection: a receive's buffer is not to be written ({at:#x})"));
                0
            }
        };
        self.records.moves = self.records.take_named(&mut self.local.processor, c);
        c.at(c.now + all + Time(each.0 * missing), BoardEvent::Translated.into());
        Ok(())
    }

    /// The pages of the buffer are known.
    pub(super) fn translated(&mut self, c: &mut Context<'_, '_>) {
        let tags = self.tags.as_mut().expect("the card has a list");
        let Buffer { process, address, .. } = tags.found;
        // The process may have given the pages up meanwhile.
        let pieces = c.pieces(process, address, tags.bytes.into(), true).unwrap_or_default();
        let mut at = address;
        for piece in pieces {
            tags.pieces.push_back((piece, at));
            at += piece.bytes;
        }
        self.deliver_next(c);
    }

    /// The next page of the delivery moves, or it is over.
    pub(super) fn deliver_next(&mut self, c: &mut Context<'_, '_>) {
        let tags = self.tags.as_mut().expect("the card has a list");
        let process = tags.found.process;
        let Some((piece, at)) = tags.pieces.pop_front() else {
            tags.is_delivering = false;
            return self.happened(np::EVENT_HOST, c);
        };
        self.host.piece = (at - tags.found.address) as u32;
        self.host.blocks.add(self.records.moves, Some((piece.address, process, at)));
        let block = HostBlock { host: piece.address, bytes: piece.bytes as u32, to_host: true };
        self.host.path.begin(block, c.now);
        self.io_steps(c);
    }

    /// The host's DMA has a block, or a delivery.
    pub(super) fn is_moving(&self) -> bool {
        self.host.path.is_busy() || self.tags.as_ref().is_some_and(Tagged::is_delivering)
    }
}

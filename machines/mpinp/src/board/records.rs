//! Which message the engines move, for the records: the firmware says so by marks, which cost no time.

use std::collections::VecDeque;

use chasqui_abi::{Envelope, mark};
use chasqui_engine::Time;
use chasqui_ni::{FIRMWARE_MEMORY, FirmwareProcessor, MessageKey, SharedSram};

/// Messages that the firmware has named, and those that engines move.
#[derive(Default)]
pub(super) struct Records {
    /// When it named them; it may have run ahead of its stores.
    named: VecDeque<(Time, MessageKey)>,
    /// What the sender sends, and what the host's DMA moves.
    pub sends: MessageKey,
    pub moves: MessageKey,
}

impl Records {
    /// Takes the firmware's marks.
    fn take_marks(&mut self, processor: &mut FirmwareProcessor<SharedSram>) {
        for mark in processor.take_marks() {
            if mark.code != mark::CARRY {
                continue;
            }
            let place = mark.value.wrapping_sub(FIRMWARE_MEMORY);
            let envelope = processor.memory.sram.memory().slice(place, size_of::<Envelope>());
            let message = envelope.ok().and_then(|bytes| Envelope::from_bytes(bytes).message());
            self.named.push_back((mark.time, message));
        }
    }

    /// The message of what `processor` starts at `now`: the one that it named last before.
    pub fn take_named(&mut self, processor: &mut FirmwareProcessor<SharedSram>, now: Time) -> MessageKey {
        self.take_marks(processor);
        let count = self.named.iter().take_while(|&&(at, _)| at <= now).count();
        self.named.drain(..count).next_back().and_then(|(_, named)| named)
    }
}

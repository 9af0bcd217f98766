//! Which message the engines move, for the records: the firmware says so by marks, which cost no time.

use std::collections::VecDeque;

use chasqui_abi::{Envelope, mark};
use chasqui_engine::Time;
use chasqui_ni::{FIRMWARE_MEMORY, MessageKey};

use super::Board;

/// Messages that the firmware has named, and those that engines move.
#[derive(Default)]
pub(super) struct Records {
    /// When it named them; it may have run ahead of its stores.
    named: VecDeque<(Time, MessageKey)>,
    /// What the sender sends, and what the host's DMA moves.
    pub sends: MessageKey,
    pub moves: MessageKey,
}

impl Board {
    /// Takes the firmware's marks.
    pub(super) fn take_marks(&mut self) {
        for mark in self.local.processor.take_marks() {
            if mark.code != mark::CARRY {
                continue;
            }
            let memory = self.local.processor.memory.sram.memory();
            let place = mark.value.wrapping_sub(FIRMWARE_MEMORY);
            let envelope = memory.slice(place, size_of::<Envelope>()).map(Envelope::from_bytes);
            self.records.named.push_back((mark.time, envelope.ok().and_then(|e| e.message())));
        }
    }

    /// The message of what is started at `now`: the one that was named last before.
    pub(super) fn take_named(&mut self, now: Time) -> MessageKey {
        self.take_marks();
        let count = self.records.named.iter().take_while(|&&(at, _)| at <= now).count();
        self.records.named.drain(..count).next_back().and_then(|(_, named)| named)
    }
}

//! Which message the engines move, and what the firmware has done with others, for the records: it says so by marks, which
//! cost no time.

use std::collections::VecDeque;

use chasqui_abi::{Envelope, mark};
use chasqui_engine::Time;
use chasqui_ni::{Context, FIRMWARE_MEMORY, FirmwareProcessor, MessageKey, SharedSram};
use chasqui_placement::ProcessId;
use chasqui_record::Stage;

/// Messages are recorded as the node's first process's.
pub(super) const PROCESS: ProcessId = ProcessId(0);

/// Messages that the firmware has named, and those that engines move.
#[derive(Default)]
pub(super) struct Records {
    /// When it named them, and the stage if not the engine's next; it may have run ahead of its stores.
    named: VecDeque<(Time, Option<Stage>, MessageKey)>,
    /// What the sender sends, and what the host's DMA moves.
    pub sends: MessageKey,
    pub moves: MessageKey,
}

impl Records {
    /// Takes the firmware's marks.
    fn take_marks(&mut self, processor: &mut FirmwareProcessor<SharedSram>) {
        for mark in processor.take_marks() {
            let stage = match mark.code {
                mark::CARRY => None,
                mark::TAKEN => Some(Stage::Accept),
                mark::MATCH => Some(Stage::Match),
                _ => continue,
            };
            let place = mark.value.wrapping_sub(FIRMWARE_MEMORY);
            let envelope = processor.memory.sram.memory().slice(place, size_of::<Envelope>());
            let message = envelope.ok().and_then(|bytes| Envelope::from_bytes(bytes).message());
            self.named.push_back((mark.time, stage, message));
        }
    }

    /// The message of what `processor` starts now: the one that it named last before. The stages that it said are stamped.
    pub fn take_named(
        &mut self,
        processor: &mut FirmwareProcessor<SharedSram>,
        c: &mut Context<'_, '_>,
    ) -> MessageKey {
        self.take_marks(processor);
        let count = self.named.iter().take_while(|&&(at, ..)| at <= c.now).count();
        let mut carried = None;
        for (at, stage, message) in self.named.drain(..count) {
            match stage {
                Some(stage) => c.stamp(PROCESS, message, stage, at),
                None => carried = message,
            }
        }
        carried
    }
}

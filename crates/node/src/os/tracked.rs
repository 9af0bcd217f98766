//! Messages whose data are tracked from their delivery on, to know when the program accesses them.

use chasqui_engine::Time;
use chasqui_memory::{PAGE_BYTES, SharedAccesses};
use chasqui_record::{MessageId, Recorder, Stage};

use super::NodeProcess;
use crate::harts::Harts;

/// What is tracked of a process.
#[derive(Default)]
pub(crate) struct TrackedData {
    accesses: SharedAccesses,
    /// By their numbers in `accesses`.
    messages: Vec<MessageId>,
}

impl NodeProcess {
    /// From now on the data of its messages are tracked on `harts`, if they are to be.
    pub(crate) fn track(&self, harts: &mut Harts) {
        if let Some(tracked) = &self.tracked {
            for core in harts.of_mut(&self.harts) {
                core.hart.note_accesses(tracked.accesses.clone());
            }
        }
    }

    /// Hart `index` has executed a `DELIVER` mark with this value: from now on the message's data are tracked.
    pub(crate) fn track_delivered(&mut self, harts: &mut Harts, index: usize, value: u64) {
        let port = &harts[index].hart.port;
        let read = &mut |address, bytes: &mut [u8]| port.peek_virtual(address, bytes);
        let Some((id, address, bytes)) = self.life.data_of(value, read) else { return };
        let mut pieces = vec![];
        let (mut at, end) = (address, address.saturating_add(bytes));
        while at < end {
            let page_end = (at / PAGE_BYTES + 1) * PAGE_BYTES;
            let length = end.min(page_end) - at;
            // What isn't mapped can't be accessed.
            pieces.extend(port.physical(at).map(|physical| physical..physical + length));
            at += length;
        }
        let Some(tracked) = &mut self.tracked else { return };
        let number = tracked.accesses.lock().expect("no other host thread").track(pieces.iter().cloned());
        assert_eq!(number, tracked.messages.len(), "messages are numbered as they come");
        tracked.messages.push(id);
        for piece in &pieces {
            for core in harts.of_mut(&self.harts) {
                core.hart.port.track(piece.start, piece.end - piece.start);
            }
        }
    }

    /// All is over: the accesses become stages of the messages' lives.
    pub(crate) fn stamp_accesses(&mut self, recorder: &mut Recorder) {
        let Some(tracked) = self.tracked.take() else { return };
        let accesses = tracked.accesses.lock().expect("no other host thread");
        for (id, times) in tracked.messages.iter().zip(accesses.times()) {
            let Some((Time(first), Time(last))) = *times else { continue };
            recorder.stamp(*id, Stage::FirstAccess, first);
            recorder.stamp(*id, Stage::LastAccess, last);
        }
    }
}

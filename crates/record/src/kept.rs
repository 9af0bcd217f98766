//! What a rank's marks leave for a recording, and for checking a replay: its messages with their data, the order in
//! which others' came to its library, and which receive took which.

use chasqui_abi::{Envelope, packet};
use rustc_hash::FxHashMap;

use crate::stage::MessageId;

/// What is kept of a rank's messages beside their stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Nothing.
    #[default]
    Nothing,
    /// Which of its receives took each message.
    Receives,
    /// That, and what it sends, with the data.
    Messages,
}

/// A message as its sender handed it to the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// Number among the sender's messages.
    pub sequence: u32,
    /// World rank of the receiver.
    pub destination: u16,
    /// Context id of the communicator.
    pub context: u16,
    /// Tag.
    pub tag: i32,
    /// The sender waits until the message is matched.
    pub synchronous: bool,
    /// The data. `None`: the program's library does not say where they are.
    pub data: Option<Vec<u8>>,
}

/// What is kept of one rank.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    keep: Keep,
    sent: Vec<SentMessage>,
    /// Receives posted so far.
    posted: u32,
    /// Messages that have come to the library, in their order.
    arrived: FxHashMap<MessageId, u32>,
    /// Number of the receive that took a message, from 1 on in the order of their posts.
    taken_by: FxHashMap<MessageId, u32>,
}

/// Bytes that are read at a time: what lies in one page is mapped as a whole or not at all.
const PAGE_BYTES: u64 = 4096;

impl Kept {
    /// As `keep` says.
    pub fn new(keep: Keep) -> Kept {
        Kept { keep, ..Kept::default() }
    }

    /// A send begins, of the message that `envelope` describes; its data are at `address`, if the library says so.
    pub(crate) fn send(
        &mut self,
        envelope: &Envelope,
        address: Option<u64>,
        memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
    ) {
        if self.keep != Keep::Messages {
            return;
        }
        let data = match (envelope.bytes, address) {
            (0, _) => Some(vec![]),
            (bytes, address) => address.map(|address| read(address, bytes, memory)),
        };
        // The library has taken up a send once more, in another mode (guest/mpi/transport/eager.c).
        self.sent.pop_if(|latest| latest.sequence == envelope.sequence);
        self.sent.push(SentMessage {
            sequence: envelope.sequence,
            destination: envelope.destination,
            context: envelope.context,
            tag: envelope.tag,
            synchronous: envelope.kind == packet::SYNCHRONOUS,
            data,
        });
    }

    /// A receive is posted: its number.
    pub(crate) fn post(&mut self) -> u32 {
        self.posted += 1;
        self.posted
    }

    /// A message has come to the library.
    pub(crate) fn arrive(&mut self, message: MessageId) {
        if self.keep != Keep::Nothing {
            let next = self.arrived.len() as u32;
            self.arrived.entry(message).or_insert(next);
        }
    }

    /// The receive has met a message, which may have waited for it.
    pub(crate) fn take(&mut self, message: MessageId, receive: u32) {
        if self.keep != Keep::Nothing {
            self.arrive(message);
            self.taken_by.insert(message, receive);
        }
    }

    /// What the rank sent, in the order of its sends.
    pub fn sent(&self) -> &[SentMessage] {
        &self.sent
    }

    /// Place of a message among those that have come to the library.
    pub fn arrived(&self, message: MessageId) -> Option<u32> {
        self.arrived.get(&message).copied()
    }

    /// Number of the receive that took a message, from 1 on.
    pub fn taken_by(&self, message: MessageId) -> Option<u32> {
        self.taken_by.get(&message).copied()
    }
}

/// The process's memory; pages that it has never touched are zeros.
fn read(address: u64, bytes: u64, memory: &mut dyn FnMut(u64, &mut [u8]) -> bool) -> Vec<u8> {
    let mut data = vec![0; bytes as usize];
    let mut done = 0;
    while done < bytes {
        let at = address.wrapping_add(done);
        let room = (PAGE_BYTES - at % PAGE_BYTES).min(bytes - done);
        let part = &mut data[done as usize..][..room as usize];
        if !memory(at, part) {
            part.fill(0);
        }
        done += room;
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_read_page_by_page_and_untouched_pages_are_zeros() {
        // The second page is not there.
        let mut memory = |at: u64, bytes: &mut [u8]| {
            bytes.fill(7);
            at / PAGE_BYTES != 2
        };
        let mut kept = Kept::new(Keep::Messages);
        let envelope = Envelope { bytes: 2 * PAGE_BYTES, sequence: 5, ..Envelope::default() };
        kept.send(&envelope, Some(PAGE_BYTES + 4000), &mut memory);
        let data = kept.sent()[0].data.clone().expect("its address is known");
        assert_eq!(data.len() as u64, 2 * PAGE_BYTES);
        assert!(data[..96].iter().all(|&b| b == 7));
        assert!(data[96..96 + 4096].iter().all(|&b| b == 0));
        assert!(data[96 + 4096..].iter().all(|&b| b == 7));
    }

    #[test]
    fn a_library_that_does_not_say_where_data_are_is_known_by_it() {
        let mut kept = Kept::new(Keep::Messages);
        let mut memory = |_: u64, _: &mut [u8]| true;
        kept.send(&Envelope { bytes: 8, sequence: 1, ..Envelope::default() }, None, &mut memory);
        kept.send(&Envelope { sequence: 2, ..Envelope::default() }, None, &mut memory);
        assert_eq!([kept.sent()[0].data.is_none(), kept.sent()[1].data.is_none()], [true, false]);
    }

    #[test]
    fn a_send_that_is_taken_up_again_is_one_message() {
        let mut kept = Kept::new(Keep::Messages);
        let mut memory = |_: u64, _: &mut [u8]| true;
        let short = Envelope { kind: packet::EAGER, sequence: 1, ..Envelope::default() };
        kept.send(&short, None, &mut memory);
        kept.send(&Envelope { kind: packet::SYNCHRONOUS, ..short }, None, &mut memory);
        assert_eq!(kept.sent().iter().map(|sent| sent.synchronous).collect::<Vec<_>>(), [true]);
    }

    #[test]
    fn nothing_is_kept_that_was_not_asked_for() {
        let mut memory = |_: u64, _: &mut [u8]| true;
        let id = MessageId { source: 1, sequence: 2 };
        for (keep, sent, taken) in [(Keep::Nothing, 0, 0), (Keep::Receives, 0, 1), (Keep::Messages, 1, 1)] {
            let mut kept = Kept::new(keep);
            kept.send(&Envelope { bytes: 8, ..Envelope::default() }, Some(64), &mut memory);
            let receive = kept.post();
            kept.take(id, receive);
            let found = usize::from(kept.taken_by(id).is_some() && kept.arrived(id) == Some(0));
            assert_eq!((kept.sent().len(), found), (sent, taken), "{keep:?}");
        }
    }
}

//! What the MPI libraries of the other ranks would send: the recorded messages, by the library's protocol
//! (`guest/mpi/runtime/process.h`, `guest/mpi/host/rendezvous.c`), and their answers. They go to the peers' [`Transport`].

use std::sync::Arc;

use chasqui_abi::Envelope;
use chasqui_abi::packet::{CLEAR_TO_SEND, EAGER, FINISHED, MATCHED, READY_TO_SEND, SEGMENT, SYNCHRONOUS};
use chasqui_engine::Time;
use chasqui_record::{Recorded, Recording};
use rustc_hash::FxHashMap;

use super::{Replay, Transport};

/// What the rank sent otherwise than it was recorded.
#[derive(Clone, Debug, Default)]
pub struct Sends {
    /// Messages that it has sent.
    pub sent: u64,
    /// Those among them whose receiver, context, tag or length was another, or that were not recorded at all.
    pub other: u64,
    /// Those whose data were others, as far as they came with their envelopes.
    pub other_data: u64,
    /// The first that was another, in words.
    pub first: Option<String>,
}

/// The libraries of all ranks but one.
pub(super) struct Protocol {
    rank: u16,
    recording: Arc<Recording>,
    /// What the rank sent, by its numbers.
    own: FxHashMap<u32, usize>,
    pub sends: Sends,
}

impl Protocol {
    pub fn new(replay: &Replay) -> Protocol {
        let rank = replay.rank as u16;
        let recording = replay.recording.clone();
        let own = recording.messages.iter().enumerate().filter(|(_, m)| m.id.source == rank);
        let own = own.map(|(index, m)| (m.id.sequence, index)).collect();
        Protocol { rank, recording, own, sends: Sends::default() }
    }

    /// The messages to the rank, in the order of their arrival at its library.
    pub fn recorded(&self) -> &[Recorded] {
        self.recording.to(self.rank)
    }

    /// The recorded messages that the rank sent.
    pub fn recorded_sends(&self) -> usize {
        self.own.len()
    }

    /// Recorded message `index` begins.
    pub fn begin(&self, now: Time, index: usize, transport: &mut dyn Transport) {
        let m = &self.recorded()[index];
        let bytes = m.data.len() as u64;
        let is_long = bytes > transport.eager_bytes_max();
        let (kind, sender) = match (is_long, m.synchronous) {
            (true, _) => (READY_TO_SEND, handle(index)),
            (false, true) => (SYNCHRONOUS, handle(index)),
            (false, false) => (EAGER, 0),
        };
        let envelope = Envelope { kind, sender, bytes, ..self.envelope(m) };
        transport.send(now, &envelope, if is_long { &[] } else { &m.data });
    }

    fn envelope(&self, m: &Recorded) -> Envelope {
        Envelope {
            context: m.context,
            source: m.id.source,
            destination: self.rank,
            tag: m.tag,
            sequence: m.id.sequence,
            ..Envelope::default()
        }
    }

    /// Whether an envelope begins a message of the rank's.
    pub fn is_message(envelope: &Envelope) -> bool {
        envelope.kind <= READY_TO_SEND
    }

    /// The other ranks answer it; returns how many answers there are.
    pub fn answer(
        &mut self,
        now: Time,
        envelope: &Envelope,
        data: &[u8],
        transport: &mut dyn Transport,
    ) -> u64 {
        if Protocol::is_message(envelope) {
            self.compare(envelope, data);
        }
        let reply = Envelope {
            context: envelope.context,
            source: envelope.destination,
            destination: self.rank,
            tag: envelope.tag,
            sender: envelope.sender,
            ..Envelope::default()
        };
        match envelope.kind {
            SYNCHRONOUS => transport.send(now, &Envelope { kind: MATCHED, ..reply }, &[]),
            READY_TO_SEND => {
                // The peer has no memory: the address does not matter.
                let (bytes, receiver) = (envelope.bytes, envelope.sender);
                let clear = Envelope { kind: CLEAR_TO_SEND, bytes, receiver, ..reply };
                let address = 0_u64.to_le_bytes();
                transport.send(now, &clear, if transport.puts() { &address } else { &[] });
            }
            CLEAR_TO_SEND => return self.block(now, envelope, data, transport),
            // Messages that need no answer, their data, and what the library says of recorded messages.
            _ => return 0,
        }
        1
    }

    /// The data of the recorded message for which the rank is ready, in so many parts.
    fn block(&self, now: Time, clear: &Envelope, address: &[u8], transport: &mut dyn Transport) -> u64 {
        // A program that drives the NI itself may ask for anything.
        let Some(m) = clear.sender.checked_sub(handle(0)).and_then(|i| self.recorded().get(i as usize))
        else {
            return 0;
        };
        // It may have room for less than was sent.
        let data = &m.data[..m.data.len().min(clear.bytes as usize)];
        let common = Envelope { bytes: data.len() as u64, receiver: clear.receiver, ..self.envelope(m) };
        if data.is_empty() {
            return 0;
        }
        if transport.puts() {
            let Some(address) = address.first_chunk() else { return 0 };
            let to = u64::from_le_bytes(*address);
            transport.put(now, &Envelope { kind: FINISHED, ..common }, to, data);
            return 1;
        }
        let segments = data.chunks(transport.eager_bytes_max() as usize);
        let count = segments.len() as u64;
        for part in segments {
            let envelope = Envelope { kind: SEGMENT, bytes: part.len() as u64, ..common };
            transport.send(now, &envelope, part);
        }
        count
    }

    /// Compares a message of the rank's with the recorded one of its number.
    fn compare(&mut self, e: &Envelope, data: &[u8]) {
        self.sends.sent += 1;
        let recorded = self.own.get(&e.sequence).map(|&index| &self.recording.messages[index]);
        let what = |m: &Recorded| (m.destination, m.context, m.tag, m.data.len() as u64);
        let now = (e.destination, e.context, e.tag, e.bytes);
        match recorded {
            Some(m) if what(m) == now => {
                let comes_with_data = e.kind != READY_TO_SEND;
                self.sends.other_data += u64::from(comes_with_data && m.data != data);
            }
            other => {
                self.sends.other += 1;
                let found = describe(now);
                let recorded = other.map_or("nothing".into(), |m| describe(what(m)));
                let sequence = e.sequence;
                self.sends.first.get_or_insert_with(|| {
                    format!("message {sequence} of rank {} is {found}, recorded is {recorded}", e.source)
                });
            }
        }
    }
}

/// Names a recorded message to the rank's library, which gives the name back; not 0.
fn handle(index: usize) -> u64 {
    index as u64 + 1
}

fn describe((destination, context, tag, bytes): (u16, u16, i32, u64)) -> String {
    format!("{bytes} bytes to rank {destination}, tag {tag}, context {context}")
}

//! Where a partition's models and ranks stamp stages: fast, without allocation per message.

use crate::stage::{MessageId, NEVER, SEND_STAGES, STAGES, Stage, keep};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What a message is, from its envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Description {
    /// World rank of the receiver.
    pub destination: u16,
    /// Context id of the communicator.
    pub context: u16,
    /// Tag.
    pub tag: i32,
    /// Length of the data [bytes].
    pub bytes: u64,
}

pub(crate) const NO_PROTOCOL: u32 = u32::MAX;

/// The sender's half of a message: one host cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendRow {
    pub times: [u64; SEND_STAGES],
    pub description: Description,
    pub protocol: u32,
    pub described: bool,
}

const _: () = assert!(size_of::<SendRow>() == 64);

impl SendRow {
    pub(crate) const EMPTY: SendRow = SendRow {
        times: [NEVER; SEND_STAGES],
        description: Description { destination: 0, context: 0, tag: 0, bytes: 0 },
        protocol: NO_PROTOCOL,
        described: false,
    };

    pub(crate) fn is_empty(&self) -> bool {
        !self.described && self.protocol == NO_PROTOCOL && self.times == SendRow::EMPTY.times
    }
}

/// The destination's half of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveRow {
    pub id: MessageId,
    pub times: [u64; STAGES - SEND_STAGES],
}

/// Rows by which a sender's sequence numbers may run ahead of those seen so far. Beyond that (a
/// faulty guest numbers its messages) they go to the table of strangers, so that host memory stays
/// proportional to the number of stamps.
const GAP_MAX: usize = 4096;

/// Entries of the cache in front of the table of received messages, a power of two.
const RECENT: usize = 1024;

/// Stamps of one partition.
///
/// A sender's half lies in a dense vector per local rank, indexed by the sequence number; the
/// destination's half in rows found through a hash table with a direct-mapped cache in front, because
/// the stamps of a message come close together.
#[derive(Clone, Debug)]
pub struct Recorder {
    first_rank: u16,
    pub(crate) sends: Vec<Vec<SendRow>>,
    /// Send stages of messages whose sender isn't local, or whose numbers leap.
    pub(crate) strangers: FxHashMap<MessageId, SendRow>,
    pub(crate) receives: Vec<ReceiveRow>,
    index: FxHashMap<u64, u32>,
    recent: Box<[(u64, u32); RECENT]>,
    /// What the stores into the NI that are under way carry, oldest first, where software says so.
    carried: VecDeque<Option<MessageId>>,
    /// The message that the latest load from the NI took.
    taken: Option<MessageId>,
}

impl Recorder {
    /// For the partition that holds world ranks `first_rank .. first_rank + ranks`.
    pub fn new(first_rank: u16, ranks: u16) -> Recorder {
        Recorder {
            first_rank,
            sends: vec![Vec::new(); usize::from(ranks)],
            strangers: FxHashMap::default(),
            receives: Vec::new(),
            index: FxHashMap::default(),
            recent: Box::new([(u64::MAX, 0); RECENT]),
            carried: VecDeque::new(),
            taken: None,
        }
    }

    /// The first of the local ranks.
    pub(crate) fn first_rank(&self) -> u16 {
        self.first_rank
    }

    /// The message reaches `stage` at `ps`. [`Stage`] says what a repeated stamp does.
    #[inline]
    pub fn stamp(&mut self, id: MessageId, stage: Stage, ps: u64) {
        let index = stage as usize;
        let slot = if index < SEND_STAGES {
            &mut self.send(id).times[index]
        } else {
            &mut self.receive(id).times[index - SEND_STAGES]
        };
        keep(slot, stage, ps);
    }

    /// Enters the message's envelope.
    #[inline]
    pub fn describe(&mut self, id: MessageId, destination: u16, tag: i32, context: u16, bytes: u64) {
        let row = self.send(id);
        row.description = Description { destination, context, tag, bytes };
        row.described = true;
    }

    /// Enters the mechanism that carries the message, a number that the machine names (`Machine::mechanisms`); the last counts.
    #[inline]
    pub fn protocol(&mut self, id: MessageId, code: u32) {
        self.send(id).protocol = code;
    }

    /// The process's next store into the NI carries the message, or a packet of the library that belongs to none.
    pub(crate) fn carry(&mut self, id: Option<MessageId>) {
        self.carried.push_back(id);
    }

    /// What a store that has come to the NI carries, for NIs whose messages are single stores: they come in the
    /// order in which the process executed them. `None` when software doesn't say.
    #[inline]
    pub fn carried(&mut self) -> Option<MessageId> {
        self.carried.pop_front().flatten()
    }

    /// A load from the NI takes a message: which, if it has a name.
    pub fn take(&mut self, id: Option<MessageId>) {
        self.taken = id;
    }

    /// The message that the latest such load took.
    pub(crate) fn taken(&self) -> Option<MessageId> {
        self.taken
    }

    #[inline]
    fn send(&mut self, id: MessageId) -> &mut SendRow {
        let rank = usize::from(id.source.wrapping_sub(self.first_rank));
        let sequence = id.sequence as usize;
        match self.sends.get_mut(rank) {
            Some(rows) if sequence < rows.len() + GAP_MAX => {
                if sequence >= rows.len() {
                    rows.resize(sequence + 1, SendRow::EMPTY);
                }
                &mut rows[sequence]
            }
            _ => self.strangers.entry(id).or_insert(SendRow::EMPTY),
        }
    }

    #[inline]
    fn receive(&mut self, id: MessageId) -> &mut ReceiveRow {
        let key = id.key();
        // Fibonacci hashing: neighbouring numbers of several senders spread.
        let slot =
            &mut self.recent[(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - RECENT.ilog2())) as usize];
        if slot.0 != key {
            let receives = &mut self.receives;
            let index = *self.index.entry(key).or_insert_with(|| {
                receives.push(ReceiveRow { id, times: [NEVER; STAGES - SEND_STAGES] });
                u32::try_from(receives.len() - 1).expect("a partition receives less than 2^32 messages")
            });
            *slot = (key, index);
        }
        &mut self.receives[slot.1 as usize]
    }
}

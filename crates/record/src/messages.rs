//! Every message of a run, whole.

use chasqui_abi::mark::PROTOCOL_MEMORY;

use crate::recorder::{Description, NO_PROTOCOL, ReceiveRow, Recorder, SendRow};
use crate::stage::{MessageId, NEVER, SEND_STAGES, STAGES, Stage, keep};

/// The record of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its name.
    pub id: MessageId,
    /// What it is; `None` when no envelope was seen (hardware traffic without MPI).
    pub description: Option<Description>,
    /// How it travelled, a number that the machine names.
    pub protocol: Option<u32>,
    times: [u64; STAGES],
}

impl Message {
    /// When [ps] it reached a stage; `None` when it never did.
    #[inline]
    pub fn time(&self, stage: Stage) -> Option<u64> {
        Some(self.times[stage as usize]).filter(|ps| *ps != NEVER)
    }

    fn new(id: MessageId) -> Message {
        Message { id, description: None, protocol: None, times: [NEVER; STAGES] }
    }

    fn from_row(id: MessageId, row: &SendRow) -> Message {
        let mut message = Message::new(id);
        message.description = row.described.then_some(row.description);
        message.protocol = Some(row.protocol).filter(|code| *code != NO_PROTOCOL);
        message.times[..SEND_STAGES].copy_from_slice(&row.times);
        message
    }

    /// Enters the destination's half.
    fn land(&mut self, half: &ReceiveRow) {
        for (stage, ps) in Stage::ALL[SEND_STAGES..].iter().zip(half.times) {
            if ps != NEVER {
                keep(&mut self.times[*stage as usize], *stage, ps);
            }
        }
    }

    /// Enters another partition's record of the same message. The result doesn't depend on the order.
    fn absorb(&mut self, other: &Message) {
        self.description = least(self.description, other.description);
        self.protocol = least(self.protocol, other.protocol);
        for stage in Stage::ALL {
            if let Some(ps) = other.time(stage) {
                keep(&mut self.times[stage as usize], stage, ps);
            }
        }
    }
}

/// The smaller of what is known.
fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.into_iter().chain(b).min()
}

/// What a message travelled by that did not leave its node, if its processes shared memory.
const SHARED_MEMORY: &str = "shared memory";

/// All messages of a run, sorted by (source, sequence).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    rows: Vec<Message>,
    mechanisms: &'static [&'static str],
}

impl Messages {
    /// Names the numbers that [`Recorder::protocol`] was given, from 1 on.
    pub fn with_mechanisms(self, mechanisms: &'static [&'static str]) -> Messages {
        Messages { mechanisms, ..self }
    }

    /// By what a message travelled; `None` when its number has no name.
    pub fn mechanism(&self, message: &Message) -> Option<&'static str> {
        self.mechanism_names().nth(self.mechanism_index(message)?)
    }

    /// The place of a message's mechanism among [`Messages::mechanism_names`].
    pub(crate) fn mechanism_index(&self, message: &Message) -> Option<usize> {
        let named = self.mechanisms.len();
        match message.protocol? {
            PROTOCOL_MEMORY => Some(named),
            number => Some(number.checked_sub(1)? as usize).filter(|index| *index < named),
        }
    }

    /// Names of mechanisms by which messages may have travelled, in the order of their numbers.
    pub(crate) fn mechanism_names(&self) -> impl Iterator<Item = &'static str> {
        self.mechanisms.iter().copied().chain([SHARED_MEMORY])
    }

    /// The messages.
    pub fn rows(&self) -> &[Message] {
        &self.rows
    }

    /// The record of a message.
    pub fn get(&self, id: MessageId) -> Option<&Message> {
        self.rows.binary_search_by_key(&id, |m| m.id).ok().map(|i| &self.rows[i])
    }

    /// Joins the halves of messages from all partitions.
    pub fn of(recorders: Vec<Recorder>) -> Messages {
        let mut rows = Vec::with_capacity(recorders.iter().map(sends).sum());
        // The destinations' halves; a recorder's other half is freed before the next is copied.
        let mut halves = Vec::with_capacity(recorders.len());
        for recorder in recorders {
            for (rank, sends) in recorder.sends.iter().enumerate() {
                let source = recorder.first_rank() + rank as u16;
                let id = |sequence: usize| MessageId { source, sequence: sequence as u32 };
                let seen = sends.iter().enumerate().filter(|(_, row)| !row.is_empty());
                rows.extend(seen.map(|(sequence, row)| Message::from_row(id(sequence), row)));
            }
            rows.extend(recorder.strangers.iter().map(|(id, row)| Message::from_row(*id, row)));
            halves.push(recorder.receives);
        }
        rows = combine(rows);
        let places = Places::of(&rows);
        let mut unsent = Vec::new();
        for half in halves.into_iter().flatten() {
            match places.find(&rows, half.id) {
                Some(at) => rows[at].land(&half),
                None => {
                    let mut message = Message::new(half.id);
                    message.land(&half);
                    unsent.push(message);
                }
            }
        }
        if !unsent.is_empty() {
            rows.append(&mut unsent);
            rows = combine(rows);
        }
        Messages { rows, mechanisms: &[] }
    }
}

fn sends(recorder: &Recorder) -> usize {
    recorder.sends.iter().map(Vec::len).sum::<usize>() + recorder.strangers.len()
}

/// Where the messages of each source begin among sorted rows.
pub(crate) struct Places(Vec<usize>);

impl Places {
    pub(crate) fn of(rows: &[Message]) -> Places {
        let mut starts = vec![0; rows.last().map_or(0, |m| usize::from(m.id.source) + 1)];
        for (at, message) in rows.iter().enumerate().rev() {
            starts[usize::from(message.id.source)] = at;
        }
        Places(starts)
    }

    /// Index of a message. A source's numbers seldom have holes, so that the first guess mostly hits.
    pub(crate) fn find(&self, rows: &[Message], id: MessageId) -> Option<usize> {
        let start = *self.0.get(usize::from(id.source))?;
        let first = rows.get(start)?.id.sequence;
        let guess = start + id.sequence.checked_sub(first)? as usize;
        match rows.get(guess) {
            Some(message) if message.id == id => Some(guess),
            _ => rows.binary_search_by_key(&id, |m| m.id).ok(),
        }
    }
}

/// Sorts, and makes one of the rows that name the same message.
fn combine(mut rows: Vec<Message>) -> Vec<Message> {
    rows.sort_by_key(|m| m.id);
    rows.dedup_by(|next, kept| {
        let same = next.id == kept.id;
        if same {
            kept.absorb(next);
        }
        same
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(source: u16, sequence: u32) -> MessageId {
        MessageId { source, sequence }
    }

    /// Two nodes of two ranks; rank 0 sends to rank 2, rank 3 to rank 2 (same node), and a message
    /// without an envelope comes from rank 1.
    fn recorders() -> Vec<Recorder> {
        let (mut near, mut far) = (Recorder::new(0, 2), Recorder::new(2, 2));
        for sequence in 1..=3 {
            near.describe(id(0, sequence), 2, -7, 4, 88);
            near.stamp(id(0, sequence), Stage::Call, 100 * u64::from(sequence));
            far.stamp(id(0, sequence), Stage::Land, 100 * u64::from(sequence) + 50);
        }
        near.protocol(id(0, 2), 5);
        far.stamp(id(3, 0), Stage::Done, 9);
        far.stamp(id(3, 0), Stage::Call, 3);
        far.stamp(id(1, 8), Stage::Arrive, 77);
        vec![near, far]
    }

    #[test]
    fn halves_are_joined_and_sorted() {
        let messages = Messages::of(recorders());
        let ids: Vec<MessageId> = messages.rows().iter().map(|m| m.id).collect();
        assert_eq!(
            ids,
            [id(0, 1), id(0, 2), id(0, 3), id(1, 8), id(3, 0)],
            "sequence 0 of rank 0 was never seen"
        );
        let second = messages.get(id(0, 2)).expect("is there");
        assert_eq!((second.time(Stage::Call), second.time(Stage::Land)), (Some(200), Some(250)));
        assert_eq!((second.time(Stage::Done), second.protocol), (None, Some(5)));
        assert_eq!(second.description, Some(Description { destination: 2, context: 4, tag: -7, bytes: 88 }));
        assert_eq!(messages.get(id(1, 8)).expect("is there").description, None);
        assert_eq!(messages.get(id(3, 0)).expect("is there").time(Stage::Done), Some(9));
        assert!(messages.get(id(9, 9)).is_none());
    }

    #[test]
    fn messages_are_counted_by_mechanism() {
        let mut recorder = Recorder::new(0, 1);
        for (sequence, code) in [(1, 1), (2, 3), (3, 3), (4, 7)] {
            recorder.describe(id(0, sequence), 1, 0, 0, 10);
            recorder.protocol(id(0, sequence), code);
            recorder.stamp(id(0, sequence), Stage::Call, 5);
        }
        recorder.stamp(id(0, 2), Stage::Done, 25);
        recorder.protocol(id(0, 0), 3); // a packet of the library
        let messages = Messages::of(vec![recorder]).with_mechanisms(&["rings", "blocks", "stores"]);
        let of = |sequence| messages.mechanism(messages.get(id(0, sequence)).expect("is there"));
        assert_eq!([of(1), of(2), of(4)], [Some("rings"), Some("stores"), None]);
        let found: Vec<_> = messages
            .by_mechanism()
            .into_iter()
            .map(|m| (m.name, m.messages, m.bytes, m.end_to_end_ps))
            .collect();
        assert_eq!(found, [("rings", 1, 10, 0), ("stores", 2, 20, 20)]);
    }

    #[test]
    fn the_order_of_the_partitions_does_not_matter() {
        let mut turned = recorders();
        turned.reverse();
        // Both partitions have a record of the message: a far retransmission stamped later, another protocol.
        let both = |mut list: Vec<Recorder>| {
            for (at, recorder) in list.iter_mut().enumerate() {
                let near = u64::from(recorder.first_rank() == 0);
                recorder.stamp(id(0, 1), Stage::Inject, 500 + near);
                recorder.stamp(id(0, 1), Stage::Deliver, 600 + near);
                recorder.protocol(id(0, 1), 9 - near as u32);
                assert!(at < 2);
            }
            Messages::of(list)
        };
        let (forth, back) = (both(recorders()), both(turned));
        assert_eq!(forth, back);
        let first = forth.get(id(0, 1)).expect("is there");
        assert_eq!(
            (first.time(Stage::Inject), first.time(Stage::Deliver), first.protocol),
            (Some(500), Some(601), Some(8))
        );
    }

    #[test]
    fn a_leap_of_the_numbers_takes_no_memory() {
        let mut recorder = Recorder::new(0, 1);
        recorder.stamp(id(0, u32::MAX), Stage::Call, 1);
        recorder.stamp(id(0, 5_000), Stage::Call, 2);
        // The dense rows come to the number that first was a leap: one message still.
        for sequence in 0..=5_000 {
            recorder.stamp(id(0, sequence), Stage::Call, 7);
        }
        assert!(sends(&recorder) < 10_000);
        let messages = Messages::of(vec![recorder]);
        assert_eq!(messages.rows().len(), 5_002);
        assert_eq!(
            messages.get(id(0, 5_000)).expect("is there").time(Stage::Call),
            Some(2),
            "the first wins"
        );
        assert_eq!(messages.get(id(0, u32::MAX)).expect("is there").time(Stage::Call), Some(1));
    }

    #[test]
    fn holes_in_the_numbers_mislead_nobody() {
        let (mut near, mut far) = (Recorder::new(0, 2), Recorder::new(2, 1));
        for sequence in [2, 3, 7, 8] {
            near.stamp(id(0, sequence), Stage::Call, u64::from(sequence));
        }
        near.stamp(id(1, 0), Stage::Call, 100);
        for (source, sequence) in [(0, 1), (0, 4), (0, 7), (0, 8), (1, 0), (1, 1), (5, 0)] {
            far.stamp(id(source, sequence), Stage::Land, 1_000 + u64::from(sequence));
        }
        let times: Vec<_> = Messages::of(vec![near, far])
            .rows()
            .iter()
            .map(|m| (m.id.source, m.id.sequence, m.time(Stage::Call), m.time(Stage::Land)))
            .collect();
        let expected = [
            (0, 1, None, Some(1_001)), // before the first that was sent
            (0, 2, Some(2), None),
            (0, 3, Some(3), None),
            (0, 4, None, Some(1_004)), // in the hole
            (0, 7, Some(7), Some(1_007)),
            (0, 8, Some(8), Some(1_008)), // the guess is past the end of the source's rows
            (1, 0, Some(100), Some(1_000)),
            (1, 1, None, Some(1_001)),
            (5, 0, None, Some(1_000)),
        ];
        assert_eq!(times, expected);
    }

    #[test]
    fn many_receives_survive_the_cache() {
        let mut recorder = Recorder::new(0, 1);
        for round in 0..3u64 {
            for sequence in 0..10_000u32 {
                recorder.stamp(id((sequence % 7) as u16, sequence), Stage::Land, u64::from(sequence) + round);
            }
        }
        let messages = Messages::of(vec![recorder]);
        assert_eq!(messages.rows().len(), 10_000);
        assert!(messages.rows().iter().all(|m| m.time(Stage::Land) == Some(u64::from(m.id.sequence) + 2)));
    }
}

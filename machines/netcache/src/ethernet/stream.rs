//! Which message a segment belongs to, for its record: the controller knows nothing of messages, and does nothing with
//! what it learns here. It follows the streams that its node sends to another rank's MPI library, or from its own, as a
//! protocol analyser on the link would.
//!
//! A segment counts for the message that its first byte belongs to. So one that begins behind another's end, in the same
//! segment, has no stages of the controller's, or those of its later segments only.

use std::collections::{BTreeMap, VecDeque};

use super::frame::{SYN, Segment, distance};
use super::registers::{MPI_PORT, StreamHeader};

/// Bytes of a message's header in the stream.
const STREAM_HEADER: usize = size_of::<StreamHeader>();
/// Messages whose end is further back than this are forgotten: nothing so old is sent again [bytes].
const WINDOW: u32 = 1 << 17;

/// Source rank and sequence.
type MessageKey = (u16, u32);

/// One direction of a connection.
#[derive(Default)]
struct Stream {
    /// Sequence number of the next byte that has not been looked at.
    next: u32,
    /// What of the next message's header has been seen.
    header: Vec<u8>,
    /// Bytes of the payload of the latest message that are to come.
    left: u64,
    /// Ends of messages (sequence numbers), in order, and whose they are.
    ends: VecDeque<(u32, Option<MessageKey>)>,
    /// The message that has begun.
    name: Option<MessageKey>,
}

impl Stream {
    fn begin(sequence: u32) -> Stream {
        Stream { next: sequence.wrapping_add(1), ..Stream::default() }
    }

    /// `data` are what comes next.
    fn follow(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            if self.left == 0 {
                let missing = (STREAM_HEADER - self.header.len()).min(data.len());
                self.take(missing as u64, &mut data, true);
                if self.header.len() < STREAM_HEADER {
                    return;
                }
                let header = StreamHeader::from_bytes(&self.header);
                let envelope = header.envelope;
                self.header.clear();
                self.left = header.bytes;
                self.name = envelope.message();
            } else {
                let part = self.left.min(data.len() as u64);
                self.take(part, &mut data, false);
                self.left -= part;
            }
            if self.left == 0 {
                self.ends.push_back((self.next, self.name));
            }
        }
    }

    fn take(&mut self, bytes: u64, data: &mut &[u8], is_header: bool) {
        let (part, rest) = data.split_at(bytes as usize);
        if is_header {
            self.header.extend_from_slice(part);
        }
        self.next = self.next.wrapping_add(bytes as u32);
        *data = rest;
    }

    /// The message that the byte of this sequence number belongs to; one of which the header is not whole has no name
    /// yet.
    fn owner(&self, sequence: u32) -> Option<MessageKey> {
        match self.ends.iter().find(|(end, _)| distance(sequence, *end) > 0) {
            Some((_, name)) => *name,
            None if self.left > 0 => self.name,
            None => None,
        }
    }

    /// A segment is sent, perhaps again.
    fn segment(&mut self, sequence: u32, data: &[u8]) -> Option<MessageKey> {
        let old = distance(sequence, self.next);
        // What was never sent does not leave anything out.
        if old >= 0 && (old as usize) < data.len() {
            self.follow(&data[old as usize..]);
        }
        while self.ends.front().is_some_and(|(end, _)| distance(*end, self.next) > WINDOW as i32) {
            self.ends.pop_front();
        }
        self.owner(sequence)
    }
}

/// The streams of a node, by source, destination and ports.
#[derive(Default)]
pub(super) struct Streams(BTreeMap<(u32, u32, u16, u16), Stream>);

impl Streams {
    /// The message that a frame on its way out counts for.
    pub fn name(&mut self, frame: &[u8]) -> Option<MessageKey> {
        let segment = Segment::parse(frame)?;
        let Segment { source, destination, source_port, destination_port, flags, sequence, data, .. } =
            segment;
        if ![source_port, destination_port].map(u64::from).contains(&MPI_PORT) {
            return None;
        }
        let key = (source, destination, source_port, destination_port);
        if flags & SYN != 0 {
            self.0.insert(key, Stream::begin(sequence));
        }
        match data.is_empty() {
            true => None,
            false => self.0.get_mut(&key)?.segment(sequence, data),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_abi::Envelope;

    /// Numbers that stand for chance (Knuth's MMIX generator).
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }

        fn once_in(&mut self, times: u64) -> bool {
            self.below(times) == 0
        }
    }

    /// A frame of one segment.
    fn frame(sequence: u32, flags: u8, data: &[u8]) -> Vec<u8> {
        let (source_port, destination_port) = (51_200, MPI_PORT as u16);
        let segment = Segment {
            source_port,
            destination_port,
            destination: 1,
            sequence,
            flags,
            data,
            ..Segment::default()
        };
        segment.frame(0)
    }

    fn message(sequence: u32, bytes: u64) -> Vec<u8> {
        let envelope = Envelope { source: 3, sequence, ..Envelope::default() };
        let header = StreamHeader { envelope, bytes, to: 0 };
        [header.to_bytes(), vec![7; bytes as usize]].concat()
    }

    /// Random messages in random segments, some of them sent again: each counts for the owner of its first byte, unless
    /// that is a header which goes on in a segment that has not been sent.
    #[test]
    fn segments_count_for_the_owner_of_their_first_byte() {
        for seed in 1..=20 {
            let mut random = Random(seed);
            let start = random.below(1 << 31) as u32 * 2;
            let (mut bytes, mut owners, mut heads) = (vec![], vec![], vec![]);
            for number in 1..=200 {
                let length = if random.once_in(3) { random.below(4000) } else { random.below(20) };
                let name = if random.once_in(4) { 0 } else { number };
                let text = message(name, length);
                owners.extend(std::iter::repeat_n((name != 0).then_some((3, name)), text.len()));
                heads.extend((0..text.len()).map(|at| bytes.len() + STREAM_HEADER.max(at)));
                bytes.extend(text);
            }
            let mut streams = Streams::default();
            assert_eq!(streams.name(&frame(start.wrapping_sub(1), SYN, &[])), None);
            let mut sent = 0;
            while sent < bytes.len() {
                let again = sent > 0 && random.once_in(5);
                let from = if again { sent - (random.below(3000) as usize).min(sent) } else { sent };
                let to = (from + 1 + random.below(1460) as usize).min(bytes.len());
                sent = sent.max(to);
                let found = streams.name(&frame(start.wrapping_add(from as u32), 16, &bytes[from..to]));
                let expected = if heads[from] <= sent { owners[from] } else { None };
                assert_eq!(found, expected, "seed {seed}: {from}..{to}");
            }
        }
    }

    #[test]
    fn other_frames_have_no_name() {
        let mut streams = Streams::default();
        assert_eq!(streams.name(&[0; 60]), None);
        assert_eq!(streams.name(&frame(1, 16, &message(1, 8))), None, "a stream without a beginning");
        streams.name(&Segment { flags: SYN, ..Segment::default() }.frame(0));
        let data = frame(2, 16, &message(1, 8));
        assert_eq!(streams.name(&data), None);
        assert!(streams.0.is_empty());
    }
}

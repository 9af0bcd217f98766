//! Messages that no receive has met: what a rank that waits for ever was sent instead.

use std::collections::BTreeMap;

use chasqui_abi::context;

use crate::messages::{Message, Messages};
use crate::stage::Stage;
use crate::waiting::name_without;

impl Messages {
    /// By receiver, a world rank: the program's own messages that were sent and have met no receive, in the order of senders,
    /// then of sending. Those that were cancelled, or that a matched probe has taken, are among them: no stage tells.
    pub fn unmatched(&self) -> BTreeMap<u16, Vec<&Message>> {
        let mut found = BTreeMap::<u16, Vec<_>>::new();
        for message in self.rows() {
            let is_sent = message.time(Stage::Call).is_some() && message.time(Stage::Match).is_none();
            let own = message.description.filter(|found| found.context.is_multiple_of(context::EACH));
            if let (true, Some(description)) = (is_sent, own) {
                found.entry(description.destination).or_default().push(message);
            }
        }
        found
    }
}

impl Message {
    /// `a message of 4 bytes from rank 0 with tag 7 in MPI_COMM_WORLD`, if that is known. Ranks are the world's, and
    /// communicators have numbers: names of them are in memory.
    pub fn in_words(&self) -> Option<String> {
        let found = self.description?;
        let (source, name) = (self.id.source, name_without(found.context / context::EACH));
        Some(format!(
            "a message of {} bytes from rank {source} with tag {} in {name}",
            found.bytes, found.tag
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder;
    use crate::stage::MessageId;

    #[test]
    fn what_has_met_no_receive_is_told_by_receiver() {
        let mut recorder = Recorder::new(0, 1);
        let third = 2 * context::EACH;
        // Destination, context, tag; whether it has met a receive.
        let sent = [(1, 0, 7, false), (2, third, -3, false), (1, 0, 8, true), (1, third + 1, 5, false)];
        for (sequence, (destination, context, tag, is_matched)) in (1..).zip(sent) {
            let id = MessageId { source: 0, sequence };
            recorder.describe(id, destination, tag, context, 4);
            recorder.stamp(id, Stage::Call, u64::from(sequence));
            if is_matched {
                recorder.stamp(id, Stage::Match, 9);
            }
        }
        let messages = Messages::of(vec![recorder]);
        let words =
            |(rank, found): (u16, Vec<&Message>)| (rank, found.iter().map(|m| m.in_words()).collect());
        let found: Vec<(u16, Vec<_>)> = messages.unmatched().into_iter().map(words).collect();
        let of = |name, tag| Some(format!("a message of 4 bytes from rank 0 with tag {tag} in {name}"));
        let expected = [(1, vec![of("MPI_COMM_WORLD", 7)]), (2, vec![of("communicator 2", -3)])];
        assert_eq!(found, expected, "but that of the library's own");
    }
}

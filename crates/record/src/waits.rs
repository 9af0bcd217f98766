//! Waits: times in which a thread could go on only when something came, and whose fault that was. A wait is for the message
//! that ended it; what of it which party took is known when the messages' records are joined.

use serde::Serialize;

use crate::messages::{Message, Messages};
use crate::stage::{MessageId, Stage};

/// A wait of a thread in an MPI call, which a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Number of the call.
    pub call: u8,
    /// The message.
    pub message: MessageId,
    /// It was the thread's own send, not a receive.
    pub is_send: bool,
    /// Begin and end [ps].
    pub since_ps: u64,
    /// See `since_ps`.
    pub until_ps: u64,
}

/// What waits were for [ps].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WaitParts {
    /// The sender had not entered the call that sends the message.
    pub late_sender_ps: u64,
    /// The receiver had not entered the call that receives it, and the sender's call could not end before.
    pub late_receiver_ps: u64,
    /// The NI had not taken the sender's own message yet: it had no room, or no credit.
    pub ni_full_ps: u64,
    /// The message was under way: the other side's software, the NIs, the network, the receiver's own software.
    pub under_way_ps: u64,
}

impl WaitParts {
    /// All of it [ps].
    pub fn all(&self) -> u64 {
        self.late_sender_ps + self.late_receiver_ps + self.ni_full_ps + self.under_way_ps
    }

    pub(crate) fn add(&mut self, other: WaitParts) {
        self.late_sender_ps += other.late_sender_ps;
        self.late_receiver_ps += other.late_receiver_ps;
        self.ni_full_ps += other.ni_full_ps;
        self.under_way_ps += other.under_way_ps;
    }
}

/// What a rank's waits for messages from or to another were for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PeerWaits {
    /// World rank of the other.
    pub peer: u32,
    /// What they were for.
    #[serde(flatten)]
    pub parts: WaitParts,
}

/// What `waits` of a rank were for: in all, and by the other rank, those longest waited for first.
pub fn waits_by_peer<'a>(
    waits: impl IntoIterator<Item = &'a Wait>,
    messages: &Messages,
) -> (WaitParts, Vec<PeerWaits>) {
    let mut all = WaitParts::default();
    let mut peers = std::collections::BTreeMap::<u32, WaitParts>::new();
    for wait in waits {
        let message = messages.get(wait.message);
        let parts = wait.parts(message);
        all.add(parts);
        if let Some(peer) = wait.peer(message) {
            peers.entry(peer).or_default().add(parts);
        }
    }
    let mut peers: Vec<_> = peers.into_iter().map(|(peer, parts)| PeerWaits { peer, parts }).collect();
    peers.sort_by_key(|each| (std::cmp::Reverse(each.parts.all()), each.peer));
    (all, peers)
}

impl Wait {
    fn peer(&self, message: Option<&Message>) -> Option<u32> {
        match self.is_send {
            true => Some(message?.description?.destination.into()),
            false => Some(self.message.source.into()),
        }
    }

    fn parts(&self, message: Option<&Message>) -> WaitParts {
        let at = |stage| message.and_then(|message| message.time(stage));
        let until = |ps: u64, since: u64| ps.clamp(since, self.until_ps) - since;
        let mut parts = WaitParts::default();
        if self.is_send {
            // A call that ended before the receiver's began did not wait for that.
            parts.ni_full_ps = at(Stage::Ready).map_or(0, |ready| until(ready, self.since_ps));
            let since = self.since_ps + parts.ni_full_ps;
            let taken = at(Stage::ReceiveCall).filter(|call| *call <= self.until_ps);
            parts.late_receiver_ps = taken.map_or(0, |call| until(call, since));
        } else {
            parts.late_sender_ps = at(Stage::Call).map_or(0, |call| until(call, self.since_ps));
        }
        parts.under_way_ps = self.until_ps - self.since_ps - parts.all();
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder;

    const MESSAGE: MessageId = MessageId { source: 0, sequence: 1 };

    /// A message from rank 0 to rank 1 with these stamps.
    fn messages(stamps: &[(Stage, u64)]) -> Messages {
        let mut recorder = Recorder::new(0, 2);
        recorder.describe(MESSAGE, 1, 0, 0, 8);
        for (stage, ps) in stamps {
            recorder.stamp(MESSAGE, *stage, *ps);
        }
        Messages::of(vec![recorder])
    }

    fn parts(is_send: bool, stamps: &[(Stage, u64)]) -> (u32, [u64; 4]) {
        let wait = Wait { call: 0, message: MESSAGE, is_send, since_ps: 100, until_ps: 200 };
        let (all, peers) = waits_by_peer(&[wait], &messages(stamps));
        assert_eq!(all.all(), 100, "the parts are the whole");
        let [PeerWaits { peer, parts }] = peers[..] else { panic!("one peer: {peers:?}") };
        assert_eq!(parts, all);
        (peer, [all.late_sender_ps, all.late_receiver_ps, all.ni_full_ps, all.under_way_ps])
    }

    #[test]
    fn a_receive_waits_for_a_late_sender_and_for_the_message() {
        assert_eq!(parts(false, &[(Stage::Call, 130)]), (0, [30, 0, 0, 70]));
        assert_eq!(parts(false, &[(Stage::Call, 50)]), (0, [0, 0, 0, 100]), "the sender was early");
        assert_eq!(parts(false, &[(Stage::Call, 900)]), (0, [100, 0, 0, 0]), "another message ended it");
        assert_eq!(parts(false, &[]), (0, [0, 0, 0, 100]));
    }

    #[test]
    fn a_send_waits_for_the_ni_for_a_late_receiver_and_for_the_transfer() {
        let ready = (Stage::Ready, 110);
        assert_eq!(parts(true, &[ready, (Stage::ReceiveCall, 150)]), (1, [0, 40, 10, 50]));
        assert_eq!(parts(true, &[ready, (Stage::ReceiveCall, 90)]), (1, [0, 0, 10, 90]));
        assert_eq!(
            parts(true, &[ready, (Stage::ReceiveCall, 300)]),
            (1, [0, 0, 10, 90]),
            "it did not wait for it"
        );
    }

    #[test]
    fn peers_are_in_the_order_of_what_they_cost() {
        let wait = |source, until_ps| Wait {
            call: 0,
            message: MessageId { source, sequence: 1 },
            is_send: false,
            since_ps: 10,
            until_ps,
        };
        let (all, peers) =
            waits_by_peer(&[wait(3, 20), wait(1, 20), wait(2, 50), wait(2, 11)], &Messages::default());
        assert_eq!(all.under_way_ps, 10 + 10 + 40 + 1);
        assert_eq!(peers.iter().map(|each| each.peer).collect::<Vec<_>>(), [2, 1, 3]);
    }
}

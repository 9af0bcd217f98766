//! Waits: times in which a thread could go on only when something came, and whose fault that was. A wait is for the message
//! that ended it. What of it which party took is known when all records are joined: a sender that is late because it waits
//! itself is not to blame, but whom it waits for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::messages::{Message, Messages, Places};
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
    /// World rank of the other, which need not be the one that the message came from, or went to.
    pub peer: u32,
    /// What they were for.
    #[serde(flatten)]
    pub parts: WaitParts,
}

/// All waits of a run, to see what each was for: whoever kept a message waiting may have waited itself.
pub struct Waits<'a> {
    messages: &'a [Message],
    places: Places,
    /// By rank, each in the order of their ends.
    of: BTreeMap<u16, Vec<Wait>>,
}

/// What a wait was for, and whose: added up.
#[derive(Default)]
struct Blame {
    all: WaitParts,
    peers: BTreeMap<u16, WaitParts>,
    /// Waits of others that are still looked at for one.
    looks: u32,
}

/// For one wait so many of others are looked at, and so many that wait for each other: beyond, the nearest one is blamed.
const LOOKS_MAX: u32 = 1 << 12;
const DEPTH_MAX: u32 = 64;
/// So many waits that begin too late are passed over: behind them one of another thread may have begun before.
const BEYOND_MAX: usize = 8;

impl<'a> Waits<'a> {
    /// Of these ranks.
    pub fn of(ranks: impl IntoIterator<Item = (u16, Vec<Wait>)>, messages: &'a Messages) -> Waits<'a> {
        let of = ranks.into_iter().map(|(rank, mut waits)| {
            waits.sort_by_key(|wait| wait.until_ps);
            (rank, waits)
        });
        let messages = messages.rows();
        Waits { messages, places: Places::of(messages), of: of.collect() }
    }

    /// What the waits of `rank` were for: in all, and by the rank that it was about, those longest waited for first.
    pub fn by_peer(&self, rank: u16) -> (WaitParts, Vec<PeerWaits>) {
        let mut blame = Blame::default();
        for wait in self.of.get(&rank).into_iter().flatten() {
            blame.looks = LOOKS_MAX;
            self.blame(wait, (wait.since_ps, wait.until_ps), DEPTH_MAX, &mut blame);
        }
        let peers = blame.peers.into_iter().map(|(peer, parts)| PeerWaits { peer: peer.into(), parts });
        let mut peers: Vec<_> = peers.collect();
        peers.sort_by_key(|each| (Reverse(each.parts.all()), each.peer));
        (blame.all, peers)
    }

    /// Adds what the part of `wait` that is `within` these times [ps] was for.
    fn blame(&self, wait: &Wait, within: (u64, u64), depth: u32, blame: &mut Blame) {
        let message = self.places.find(self.messages, wait.message).map(|at| &self.messages[at]);
        let at = |stage| message.and_then(|message| message.time(stage));
        let (since, until) = within;
        let cut = |ps: Option<u64>, least: u64| ps.unwrap_or(least).clamp(least, until);
        if wait.is_send {
            let peer = message.and_then(|message| message.description).map(|it| it.destination);
            // For whom waits for this sender, its NI and its message are the sender's.
            let own = if depth == DEPTH_MAX { peer } else { Some(wait.message.source) };
            let ready = cut(at(Stage::Ready), since);
            // A call that ended before the receiver's began did not wait for that.
            let taken = cut(at(Stage::ReceiveCall).filter(|call| *call <= wait.until_ps), ready);
            blame.add(own, WaitParts { ni_full_ps: ready - since, ..WaitParts::default() });
            let late = |ps| WaitParts { late_receiver_ps: ps, ..WaitParts::default() };
            self.follow(peer, (ready, taken), depth, &late, blame);
            blame.add(own, under_way(until - taken));
        } else {
            let peer = Some(wait.message.source);
            let call = cut(at(Stage::Call), since);
            let ready = cut(at(Stage::Ready), call);
            let late = |ps| WaitParts { late_sender_ps: ps, ..WaitParts::default() };
            self.follow(peer, (since, call), depth, &late, blame);
            self.follow(peer, (call, ready), depth, &under_way, blame);
            blame.add(peer, under_way(until - ready));
        }
    }

    /// While `within` these times `peer` kept another rank waiting, which is `its` for as long as it did not wait itself.
    fn follow(
        &self,
        peer: Option<u16>,
        (since, until): (u64, u64),
        depth: u32,
        its: &dyn Fn(u64) -> WaitParts,
        blame: &mut Blame,
    ) {
        let waits = peer.and_then(|peer| self.of.get(&peer)).map_or(&[][..], |waits| waits);
        let first = waits.partition_point(|wait| wait.until_ps <= since);
        let (mut at, mut beyond) = (since, 0);
        for wait in waits[first..].iter().take_while(|_| depth > 0) {
            beyond += usize::from(wait.since_ps >= until);
            if beyond > BEYOND_MAX || blame.looks == 0 {
                break;
            }
            let (from, to) = (wait.since_ps.max(at), wait.until_ps.min(until));
            if from < to {
                blame.looks -= 1;
                blame.add(peer, its(from - at));
                self.blame(wait, (from, to), depth - 1, blame);
                at = to;
            }
        }
        blame.add(peer, its(until - at));
    }
}

fn under_way(ps: u64) -> WaitParts {
    WaitParts { under_way_ps: ps, ..WaitParts::default() }
}

impl Blame {
    fn add(&mut self, peer: Option<u16>, parts: WaitParts) {
        self.all.add(parts);
        if let Some(peer) = peer.filter(|_| parts.all() > 0) {
            self.peers.entry(peer).or_default().add(parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder;

    /// A message's sender, receiver and stamps.
    type Stamped<'a> = (u16, u16, &'a [(Stage, u64)]);

    /// These messages, each the first of its sender.
    fn messages(each: &[Stamped<'_>]) -> Messages {
        let mut recorder = Recorder::new(0, 8);
        for &(source, destination, stamps) in each {
            let id = MessageId { source, sequence: 1 };
            recorder.describe(id, destination, 0, 0, 8);
            stamps.iter().for_each(|(stage, ps)| recorder.stamp(id, *stage, *ps));
        }
        Messages::of(vec![recorder])
    }

    fn wait(source: u16, is_send: bool, since_ps: u64, until_ps: u64) -> Wait {
        Wait { call: 0, message: MessageId { source, sequence: 1 }, is_send, since_ps, until_ps }
    }

    /// What the waits of the first rank were for: late sender, late receiver, NI full, under way, by peer.
    fn parts(of: &[(u16, &[Wait])], messages: &Messages) -> Vec<(u32, [u64; 4])> {
        let waits = Waits::of(of.iter().map(|(rank, waits)| (*rank, waits.to_vec())), messages);
        let (all, peers) = waits.by_peer(of[0].0);
        let whole: u64 = of[0].1.iter().map(|wait| wait.until_ps - wait.since_ps).sum();
        assert_eq!((all.all(), peers.iter().map(|peer| peer.parts.all()).sum()), (whole, whole));
        let listed =
            |it: &WaitParts| [it.late_sender_ps, it.late_receiver_ps, it.ni_full_ps, it.under_way_ps];
        peers.iter().map(|each| (each.peer, listed(&each.parts))).collect()
    }

    #[test]
    fn a_receive_waits_for_a_late_sender_and_for_the_message() {
        let found = |stamps: &[(Stage, u64)]| {
            parts(&[(1, &[wait(0, false, 100, 200)])], &messages(&[(0, 1, stamps)]))
        };
        assert_eq!(found(&[(Stage::Call, 130)]), [(0, [30, 0, 0, 70])]);
        assert_eq!(found(&[(Stage::Call, 50)]), [(0, [0, 0, 0, 100])], "the sender was early");
        assert_eq!(found(&[(Stage::Call, 900)]), [(0, [100, 0, 0, 0])], "another message ended it");
        assert_eq!(found(&[]), [(0, [0, 0, 0, 100])]);
    }

    #[test]
    fn a_send_waits_for_the_ni_for_a_late_receiver_and_for_the_transfer() {
        let found = |call| {
            let stamps = [(Stage::Ready, 110), (Stage::ReceiveCall, call)];
            parts(&[(0, &[wait(0, true, 100, 200)])], &messages(&[(0, 1, &stamps)]))
        };
        assert_eq!(found(150), [(1, [0, 40, 10, 50])]);
        assert_eq!(found(90), [(1, [0, 0, 10, 90])]);
        assert_eq!(found(300), [(1, [0, 0, 10, 90])], "it did not wait for it");
    }

    /// Rank 2 waits for rank 1, which is in its call and waits for rank 0, which computes until 150.
    #[test]
    fn who_waits_itself_is_not_to_blame() {
        let chain = messages(&[
            (0, 1, &[(Stage::Call, 150), (Stage::Ready, 152)]),
            (1, 2, &[(Stage::Call, 100), (Stage::Ready, 162)]),
        ]);
        let of: [(u16, &[Wait]); 2] = [(2, &[wait(1, false, 110, 170)]), (1, &[wait(0, false, 105, 158)])];
        assert_eq!(parts(&of, &chain), [(0, [40, 0, 0, 8]), (1, [0, 0, 0, 12])]);
    }

    /// Rank 1 waits for rank 0, whose NI is full before it can send; threads of rank 0 wait, too, and one that ends first began
    /// last.
    #[test]
    fn a_full_ni_is_its_senders() {
        let full = messages(&[(0, 1, &[(Stage::Call, 20), (Stage::Ready, 60)])]);
        let of: [(u16, &[Wait]); 2] =
            [(1, &[wait(0, false, 10, 80)]), (0, &[wait(0, true, 90, 100), wait(0, true, 30, 120)])];
        assert_eq!(parts(&of, &full), [(0, [10, 0, 30, 30])]);
    }

    #[test]
    fn two_that_wait_for_each_other_end() {
        let both = messages(&[(0, 1, &[]), (1, 0, &[(Stage::Call, 190)])]);
        let of: [(u16, &[Wait]); 2] = [(0, &[wait(1, false, 100, 200)]), (1, &[wait(0, false, 100, 200)])];
        assert_eq!(parts(&of, &both).len(), 2);
    }
}

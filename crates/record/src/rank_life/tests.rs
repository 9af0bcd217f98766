use super::*;
use crate::Messages;
use mark::*;
use std::mem::offset_of;

const INIT: u32 = 1;
const SEND_CALL: u32 = 2;
const RECV_CALL: u32 = 3;
const IRECV_CALL: u32 = 4;
const WAIT_CALL: u32 = 5;

/// Of calls that are over.
fn mpi_ps(life: &RankLife) -> u64 {
    life.totals(0).iter().map(|call| call.time_ps).sum()
}

fn name(_: u32) -> &'static str {
    "MPI_Call"
}

/// Envelopes lie at `sequence * 256 + source * 64 + 4096`, a text at 64; those of source 3 have sequences
/// that are numbered here.
fn memory(address: u64, out: &mut [u8]) -> bool {
    let text = b"message from 1, tag 7\0";
    if address >= 64 && address < 64 + text.len() as u64 {
        out.copy_from_slice(&text[(address - 64) as usize..][..out.len()]);
        return true;
    }
    if !(4096..=1 << 20).contains(&address) || out.len() != size_of::<Envelope>() {
        return false;
    }
    let at = address - 4096;
    out.fill(0xff); // What isn't asked for must not matter.
    let mut put = |offset: usize, bytes: &[u8]| out[offset..offset + bytes.len()].copy_from_slice(bytes);
    let source = (at % 256 / 64) as u16;
    put(offset_of!(Envelope, flags), &[if source == 3 { ENVELOPE_NUMBERED_HERE } else { 0 }]);
    put(offset_of!(Envelope, source), &source.to_le_bytes());
    put(offset_of!(Envelope, sequence), &((at / 256) as u32).to_le_bytes());
    put(offset_of!(Envelope, destination), &3u16.to_le_bytes());
    put(offset_of!(Envelope, tag), &(-5i32).to_le_bytes());
    put(offset_of!(Envelope, context), &9u16.to_le_bytes());
    put(offset_of!(Envelope, bytes), &1_000u64.to_le_bytes());
    true
}

fn envelope(id: MessageId) -> u64 {
    4096 + u64::from(id.sequence) * 256 + u64::from(id.source) * 64
}

const OWN: MessageId = MessageId { source: 0, sequence: 1 };
const OTHER: MessageId = MessageId { source: 2, sequence: 8 };

/// Code, call, value and time of a mark.
type Mark = (u32, u32, u64, u64);

/// Feeds marks to rank 0, a process of one thread.
fn live(marks: &[Mark]) -> (RankLife, Messages) {
    let marks: Vec<(usize, Mark)> = marks.iter().map(|mark| (0, *mark)).collect();
    live_on(1, &marks)
}

/// Feeds marks to rank 0 on a node of `harts` harts, each with the hart that executes it.
fn live_on(harts: usize, marks: &[(usize, Mark)]) -> (RankLife, Messages) {
    let (mut life, mut recorder) = (RankLife::new(0, harts, 100), Recorder::new(0, 1));
    for &(hart, (code, call, value, ps)) in marks {
        life.mark(&mut recorder, hart, code, call, value, ps, &mut memory);
    }
    (life, Messages::of(vec![recorder]))
}

/// The stages a message has, by time of the stamp.
fn stages(messages: &Messages, id: MessageId) -> Vec<(Stage, u64)> {
    let message = messages.get(id).expect("the message has a record");
    Stage::ALL.into_iter().filter_map(|s| Some((s, message.time(s)?))).collect()
}

#[test]
fn a_blocking_send() {
    let (life, messages) = live(&[
        (CALL, SEND_CALL, 0, 100),
        (SEND, 0, envelope(OWN), 110),
        (PROTOCOL, 0, 2, 115),
        (READY, 0, envelope(OWN), 120),
        (READY, 0, envelope(OWN), 130), // a second segment
        (RETURN, SEND_CALL, 0, 150),
    ]);
    assert_eq!(stages(&messages, OWN), [(Stage::Call, 100), (Stage::Ready, 120), (Stage::SendReturn, 150)]);
    let message = messages.get(OWN).expect("is there");
    let description = message.description.expect("SEND describes it");
    assert_eq!((description.destination, description.tag, description.context), (3, -5, 9));
    assert_eq!((description.bytes, message.protocol), (1_000, Some(2)));
    assert_eq!(
        life.totals(0)[SEND_CALL as usize],
        CallTotals { count: 1, time_ps: 50, left_ps: 150, waiting_ps: 0 }
    );
    assert_eq!((mpi_ps(&life), life.unknown_marks(), life.stray_marks()), (50, 0, 0));
}

#[test]
fn a_blocking_receive() {
    let (life, messages) = live(&[
        (CALL, RECV_CALL, 0, 200),
        (POST, 0, 0x70, 210),
        (BLOCKED, 0, 0x70, 211),
        (MATCH_REQUEST, 0, 0x70, 220),
        (MATCH, 0, envelope(OTHER), 220),
        (DELIVER, 0, 0x70, 230),
        (DELIVER, 0, 0x70, 235), // a second segment
        (BLOCKED, 0, 0, 236),
        (DONE, 0, 0x70, 240),
        (RETURN, RECV_CALL, 0, 250),
    ]);
    // No WaitCall: the call that posted it completed it.
    let expected = [
        (Stage::ReceiveCall, 200),
        (Stage::Post, 210),
        (Stage::Match, 220),
        (Stage::Deliver, 235),
        (Stage::Done, 250),
    ];
    assert_eq!(stages(&messages, OTHER), expected);
    assert_eq!(life.stray_marks(), 0);
    let totals = CallTotals { count: 1, time_ps: 50, left_ps: 250, waiting_ps: 236 - 211 };
    assert_eq!(life.totals(0)[RECV_CALL as usize], totals);
    assert_eq!((life.waiting_for(0, &name, &mut memory), life.site(0)), (None, None));
}

#[test]
fn waiting_is_what_its_marks_say() {
    let begin = [(CALL, WAIT_CALL, 0, 100), (WAITING, 0, 64, 110)];
    let (mut life, _) = live(&begin);
    let so_far = CallTotals { count: 1, time_ps: 60, left_ps: 0, waiting_ps: 50 };
    assert_eq!(life.totals(160)[WAIT_CALL as usize], so_far, "it is in the call still");
    life.finish(160);
    assert_eq!(life.totals(0)[WAIT_CALL as usize], so_far, "up to its end, and it has not left it");
    // Both marks end it; a wait within a wait is one.
    let more =
        [(BLOCKED, 0, 5, 120), (BLOCKED, 0, 0, 130), (WAITING, 0, 0, 140), (RETURN, WAIT_CALL, 0, 150)];
    let (life, _) = live(&[&begin[..], &more].concat());
    assert_eq!(life.totals(0)[WAIT_CALL as usize].waiting_ps, 20);
}

#[test]
fn a_call_s_site_is_that_of_the_outermost() {
    let mut life = RankLife::new(0, 1, 0);
    let mut recorder = Recorder::new(0, 1);
    let site = |pc| Site { pc, ..Site::default() };
    for (code, call, pc, expected) in [
        (CALL, WAIT_CALL, 1, Some(1)),
        (CALL, RECV_CALL, 2, Some(1)),
        (RETURN, RECV_CALL, 3, Some(1)),
        (RETURN, WAIT_CALL, 4, None),
        (CALL, SEND_CALL, 5, Some(5)),
    ] {
        life.mark(&mut recorder, 0, code, call, 0, 10, &mut memory);
        if code == CALL {
            life.entered_at(0, site(pc));
        }
        assert_eq!(life.site(0).map(|site| site.pc), expected);
    }
}

#[test]
fn a_nonblocking_receive_completed_by_a_later_wait() {
    let (life, messages) = live(&[
        (CALL, IRECV_CALL, 0, 300),
        (POST, 0, 0x80, 305),
        (RETURN, IRECV_CALL, 0, 310),
        (CALL, WAIT_CALL, 0, 320), // a test that finds nothing
        (RETURN, WAIT_CALL, 0, 325),
        (CALL, WAIT_CALL, 0, 400),
        (MATCH_REQUEST, 0, 0x80, 410),
        (MATCH, 0, envelope(OTHER), 411),
        (DELIVER, 0, 0x80, 412),
        (DONE, 0, 0x80, 413),
        (RETURN, WAIT_CALL, 0, 420),
    ]);
    let expected = [
        (Stage::ReceiveCall, 300),
        (Stage::Post, 305),
        (Stage::WaitCall, 400),
        (Stage::Match, 411),
        (Stage::Deliver, 412),
        (Stage::Done, 420),
    ];
    assert_eq!(stages(&messages, OTHER), expected);
    assert_eq!(
        life.totals(0)[WAIT_CALL as usize],
        CallTotals { count: 2, time_ps: 25, left_ps: 420, waiting_ps: 0 }
    );
    let intervals: Vec<(u8, u64, u64)> =
        life.timeline().0.iter().map(|i| (i.call, i.enter_ps, i.leave_ps)).collect();
    assert_eq!(intervals, [(4, 300, 310), (5, 320, 325), (5, 400, 420)]);
}

#[test]
fn a_message_that_comes_without_its_name_is_found_by_the_load_that_took_it() {
    let (mut life, mut recorder) = (RankLife::new(0, 1, 0), Recorder::new(0, 1));
    let mut mark = |recorder: &mut Recorder, code, value, ps| {
        life.mark(recorder, 0, code, 0, value, ps, &mut memory);
    };
    // Sending: stores carry messages in their order.
    mark(&mut recorder, CARRY, envelope(OWN), 10);
    mark(&mut recorder, CARRY, envelope(OTHER), 11);
    assert_eq!((recorder.carried(), recorder.carried(), recorder.carried()), (Some(OWN), Some(OTHER), None));
    // Receiving: two messages are taken, which the process numbers 5 and 6, and matched in turn.
    let (five, six) = (MessageId { source: 3, sequence: 5 }, MessageId { source: 3, sequence: 6 });
    let names = [100, 200].map(|sequence| MessageId { source: 3, sequence });
    for (number, name) in [five, six].into_iter().zip(names) {
        recorder.take(Some(name));
        mark(&mut recorder, TAKEN, envelope(number), 20);
    }
    for (request, number) in [(0x70, six), (0x80, five)] {
        mark(&mut recorder, MATCH_REQUEST, request, 30);
        mark(&mut recorder, MATCH, envelope(number), request);
    }
    // A load that took a message without a name, and a number that is not known any more.
    recorder.take(None);
    mark(&mut recorder, TAKEN, envelope(five), 40);
    mark(&mut recorder, MATCH_REQUEST, 0x90, 41);
    mark(&mut recorder, MATCH, envelope(five), 42);
    assert_eq!(life.stray_marks(), 2);
    let messages = Messages::of(vec![recorder]);
    let matched = names.map(|name| messages.get(name).and_then(|m| m.time(Stage::Match)));
    assert_eq!(matched, [Some(0x80), Some(0x70)]);
}

#[test]
fn a_request_address_used_again_is_another_receive() {
    let second = MessageId { source: 2, sequence: 9 };
    let receive = |id: MessageId, ps: u64| {
        [
            (CALL, RECV_CALL, 0, ps),
            (POST, 0, 0x70, ps + 1),
            (MATCH_REQUEST, 0, 0x70, ps + 2),
            (MATCH, 0, envelope(id), ps + 2),
            (DONE, 0, 0x70, ps + 3),
            (RETURN, RECV_CALL, 0, ps + 4),
        ]
    };
    let (_, messages) = live(&[receive(OTHER, 100), receive(second, 200)].concat());
    for (id, ps) in [(OTHER, 100), (second, 200)] {
        let message = messages.get(id).expect("is there");
        assert_eq!((message.time(Stage::Post), message.time(Stage::Done)), (Some(ps + 1), Some(ps + 4)));
        assert_eq!(message.time(Stage::WaitCall), None);
    }
}

#[test]
fn one_call_that_sends_and_receives_much() {
    // As a collective does: two sends and a receive within one call, with a call to itself.
    let second = MessageId { source: 0, sequence: 2 };
    let (life, messages) = live(&[
        (CALL, INIT, 0, 10),
        (CALL, SEND_CALL, 0, 11),
        (SEND, 0, envelope(OWN), 12),
        (RETURN, SEND_CALL, 0, 13),
        (SEND, 0, envelope(second), 14),
        (POST, 0, 0x90, 15),
        (MATCH_REQUEST, 0, 0x90, 16),
        (MATCH, 0, envelope(OTHER), 16),
        (DONE, 0, 0x90, 17),
        (RETURN, INIT, 0, 30),
    ]);
    for id in [OWN, second] {
        assert_eq!(
            stages(&messages, id),
            [(Stage::Call, 10), (Stage::SendReturn, 30)],
            "the outermost call counts"
        );
    }
    assert_eq!(messages.get(OTHER).expect("is there").time(Stage::Done), Some(30));
    assert_eq!((mpi_ps(&life), life.totals(0)[SEND_CALL as usize].count, life.stray_marks()), (20, 0, 0));
}

#[test]
fn a_receive_posted_by_one_thread_and_completed_by_another() {
    let (life, messages) = live_on(
        2,
        &[
            (0, (CALL, IRECV_CALL, 0, 300)),
            (0, (POST, 0, 0x80, 305)),
            (0, (RETURN, IRECV_CALL, 0, 310)),
            (1, (CALL, WAIT_CALL, 0, 320)),
            (0, (CALL, SEND_CALL, 0, 330)),
            (1, (MATCH_REQUEST, 0, 0x80, 340)),
            (0, (SEND, 0, envelope(OWN), 341)),
            (1, (MATCH, 0, envelope(OTHER), 342)),
            (1, (DONE, 0, 0x80, 343)),
            (0, (READY, 0, envelope(OWN), 344)),
            (1, (RETURN, WAIT_CALL, 0, 360)),
            (0, (RETURN, SEND_CALL, 0, 370)),
        ],
    );
    let received = [
        (Stage::ReceiveCall, 300),
        (Stage::Post, 305),
        (Stage::WaitCall, 320),
        (Stage::Match, 342),
        (Stage::Done, 360),
    ];
    assert_eq!(stages(&messages, OTHER), received);
    assert_eq!(stages(&messages, OWN), [(Stage::Call, 330), (Stage::Ready, 344), (Stage::SendReturn, 370)]);
    let times = [IRECV_CALL, WAIT_CALL, SEND_CALL].map(|call| life.totals(0)[call as usize].time_ps);
    assert_eq!((times, mpi_ps(&life), life.stray_marks()), ([10, 40, 40], 90, 0));
    let intervals: Vec<(u16, u64, u64)> =
        life.timeline().0.iter().map(|i| (i.hart, i.enter_ps, i.leave_ps)).collect();
    assert_eq!(intervals, [(0, 300, 310), (1, 320, 360), (0, 330, 370)]);
}

/// What one thread's marks leave open for its next is not another's: requests to match, the message that a
/// mechanism is of, calls within calls.
#[test]
fn marks_of_threads_do_not_mix() {
    let (own, other) = (MessageId { source: 0, sequence: 2 }, MessageId { source: 2, sequence: 9 });
    let (life, messages) = live_on(
        2,
        &[
            (0, (CALL, RECV_CALL, 0, 10)),
            (1, (CALL, RECV_CALL, 0, 11)),
            (1, (CALL, INIT, 0, 12)),
            (0, (POST, 0, 0x70, 13)),
            (1, (POST, 0, 0x80, 14)),
            (0, (MATCH_REQUEST, 0, 0x70, 15)),
            (1, (MATCH_REQUEST, 0, 0x80, 16)),
            (0, (MATCH, 0, envelope(OTHER), 17)),
            (1, (MATCH, 0, envelope(other), 18)),
            (0, (SEND, 0, envelope(OWN), 19)),
            (1, (SEND, 0, envelope(own), 20)),
            (0, (PROTOCOL, 0, 1, 21)),
            (1, (PROTOCOL, 0, 2, 22)),
            (1, (RETURN, INIT, 0, 23)),
            (0, (RETURN, RECV_CALL, 0, 30)),
            (1, (RETURN, RECV_CALL, 0, 41)),
        ],
    );
    let posted = [OTHER, other].map(|id| messages.get(id).and_then(|m| m.time(Stage::Post)));
    assert_eq!(posted, [Some(13), Some(14)]);
    let sent = [OWN, own].map(|id| {
        let message = messages.get(id).expect("the message has a record");
        (message.protocol, message.time(Stage::Call), message.time(Stage::SendReturn))
    });
    assert_eq!(sent, [(Some(1), Some(10), Some(30)), (Some(2), Some(11), Some(41))]);
    assert_eq!(
        life.totals(0)[RECV_CALL as usize],
        CallTotals { count: 2, time_ps: 20 + 30, left_ps: 41, waiting_ps: 0 }
    );
    assert_eq!((life.totals(0)[INIT as usize].count, life.stray_marks()), (0, 0));
}

#[test]
fn each_thread_waits_for_its_own() {
    let (mut life, _) = live_on(
        3,
        &[
            (0, (CALL, RECV_CALL, 0, 1_000)),
            (1, (CALL, WAIT_CALL, 0, 2_000)),
            (0, (POST, 0, 0x70, 2_500)),
            (0, (BLOCKED, 0, 0x70, 2_500)),
            (1, (WAITING, 0, 64, 3_000)),
        ],
    );
    let calls = [0, 1, 2].map(|hart| life.current_call(hart));
    assert_eq!(calls, [Some((RECV_CALL, 1_000)), Some((WAIT_CALL, 2_000)), None]);
    let receive = "a receive posted at 2.5 ns, which no message has matched";
    let waits = [Some(receive), Some("message from 1, tag 7"), None];
    for finished in [false, true] {
        let found = [0, 1, 2].map(|hart| life.waiting_for(hart, &name, &mut memory));
        assert_eq!(found.each_ref().map(Option::as_deref), waits, "finished: {finished}");
        life.finish(5_000);
    }
    assert_eq!(mpi_ps(&life), 4_000 + 3_000);
    let intervals: Vec<(u16, u64)> = life.timeline().0.iter().map(|i| (i.hart, i.leave_ps)).collect();
    assert_eq!(intervals, [(0, 5_000), (1, 5_000)]);
}

#[test]
fn a_reply_is_not_the_message_it_names() {
    let (life, messages) = live(&[
        (CALL, WAIT_CALL, 0, 10),
        (READY, 0, envelope(OTHER), 11), // a clear-to-send for another's message
        (PROTOCOL, 0, 1, 12),            // of none of ours
        (RETURN, WAIT_CALL, 0, 13),
    ]);
    assert!(messages.get(OTHER).is_none());
    assert_eq!(life.stray_marks(), 1);
}

#[test]
fn marks_out_of_place_are_counted() {
    let cases: &[(&str, &[Mark], u64, u64)] = &[
        ("unknown code", &[(13, 0, 0, 1), (31, 0, 0, 1), (0, 0, 0, 1)], 3, 0),
        ("return without call", &[(RETURN, INIT, 0, 1)], 0, 1),
        ("return of another call", &[(CALL, INIT, 0, 1), (RETURN, SEND_CALL, 0, 2)], 0, 1),
        ("inner return lost", &[(CALL, INIT, 0, 1), (CALL, SEND_CALL, 0, 2), (RETURN, INIT, 0, 3)], 0, 1),
        ("wild envelope", &[(SEND, 0, 8, 1), (READY, 0, u64::MAX, 1)], 0, 2),
        ("another's name", &[(CALL, INIT, 0, 1), (SEND, 0, envelope(OTHER), 1)], 0, 1),
        ("match without request", &[(MATCH, 0, envelope(OTHER), 1)], 0, 1),
        ("nothing matched", &[(POST, 0, 7, 1), (DELIVER, 0, 7, 2), (DONE, 0, 7, 3)], 0, 2),
        (
            "done twice",
            &[
                (CALL, INIT, 0, 1),
                (POST, 0, 7, 1),
                (MATCH_REQUEST, 0, 7, 2),
                (MATCH, 0, envelope(OTHER), 2),
                (DONE, 0, 7, 3),
                (DONE, 0, 7, 4),
            ],
            0,
            1,
        ),
        ("send outside a call", &[(SEND, 0, envelope(OWN), 1)], 0, 1),
    ];
    for (what, marks, unknown, stray) in cases {
        let (life, _) = live(marks);
        assert_eq!((life.unknown_marks(), life.stray_marks()), (*unknown, *stray), "{what}");
    }
}

#[test]
fn what_a_blocked_rank_waits_for() {
    let posted = [(CALL, RECV_CALL, 0, 1_000), (POST, 0, 0x70, 1_500), (BLOCKED, 0, 0x70, 1_600)];
    let (mut life, _) = live(&posted);
    let receive = "a receive posted at 1.5 ns, which no message has matched";
    assert_eq!(life.waiting_for(0, &name, &mut memory).as_deref(), Some(receive));
    assert_eq!(life.current_call(0), Some((RECV_CALL, 1_000)));
    life.finish(5_000);
    assert_eq!(
        life.waiting_for(0, &name, &mut memory).as_deref(),
        Some(receive),
        "the end of the run doesn't hide it"
    );
    assert_eq!(mpi_ps(&life), 4_000);
    let with = |more: &[Mark]| {
        let (life, _) = live(&[&posted[..], more].concat());
        life.waiting_for(0, &name, &mut memory)
    };
    assert_eq!(with(&[(WAITING, 0, 64, 1_700)]).as_deref(), Some("message from 1, tag 7"));
    assert_eq!(with(&[(WAITING, 0, 2_000, 1_700)]).as_deref(), Some(receive), "a wild text address");
    assert_eq!(with(&[(BLOCKED, 0, 0, 1_700)]), None);
    assert_eq!(with(&[(RETURN, RECV_CALL, 0, 1_700)]), None);
    let matched = with(&[(MATCH_REQUEST, 0, 0x70, 1_700), (MATCH, 0, envelope(OTHER), 1_700)]);
    assert_eq!(matched.as_deref(), Some("a receive, the rest of message 8 from rank 2"));
    let sending = "a request that is not a posted receive (0x5)";
    assert_eq!(with(&[(BLOCKED, 0, 5, 1_700)]).as_deref(), Some(sending));
}

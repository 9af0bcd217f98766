//! Two ends with a line between them that loses what the test says, and one end alone against RFC 9293, 5681 and 6298.

use super::*;

const LONGEST: u16 = 1000;
const US: u64 = 1_000_000;
/// From one end to the other.
const TRIP: Time = Time(5 * US);

fn segment<'a>(from: &Endpoint, leaves: &'a Leaves) -> Segment<'a> {
    let (acknowledgement, window) = from.offer();
    let longest = (leaves.flags & SYN != 0).then_some(LONGEST);
    let Leaves { sequence, flags, data } = leaves;
    Segment {
        acknowledgement,
        window,
        longest,
        sequence: *sequence,
        flags: *flags,
        data,
        ..Segment::default()
    }
}

/// All that leaves an end at `now`.
fn all(end: &mut Endpoint, now: Time) -> Vec<Leaves> {
    std::iter::from_fn(|| end.control(now).or_else(|| end.data(now))).collect()
}

/// An end that has been called by, and knows, the other: data may leave.
fn established(now: Time) -> Endpoint {
    let mut end = Endpoint::connect(100, LONGEST);
    assert_eq!(all(&mut end, now), [Leaves { sequence: 100, flags: SYN, data: vec![] }]);
    let answer = Segment {
        flags: SYN | ACK,
        sequence: 700,
        acknowledgement: 101,
        window: 60_000,
        longest: Some(LONGEST),
        ..Segment::default()
    };
    end.receive(now, &answer, &mut vec![]);
    assert_eq!(all(&mut end, now), [Leaves { sequence: 101, flags: ACK, data: vec![] }]);
    end
}

fn tells(acknowledgement: u32, window: u16) -> Segment<'static> {
    Segment { flags: ACK, sequence: 701, acknowledgement, window, ..Segment::default() }
}

fn numbers(leaves: &[Leaves]) -> Vec<(u32, usize)> {
    leaves.iter().map(|l| (l.sequence, l.data.len())).collect()
}

#[test]
fn four_segments_leave_at_first_and_two_more_for_each_that_is_acknowledged() {
    let mut end = established(Time::ZERO);
    end.write(&[1; 20_000]);
    // The congestion window is 4 segments, one more since the SYN was acknowledged counts for a byte.
    let first = all(&mut end, Time::ZERO);
    assert_eq!(numbers(&first), [(101, 1000), (1101, 1000), (2101, 1000), (3101, 1000)]);
    end.receive(Time(US), &tells(1101, 60_000), &mut vec![]);
    assert_eq!(numbers(&all(&mut end, Time(US))), [(4101, 1000), (5101, 1000)]);
    // The other's window ends before.
    end.receive(Time(US), &tells(2101, 4500), &mut vec![]);
    assert_eq!(numbers(&all(&mut end, Time(US))), [], "400 bytes are no segment");
    end.receive(Time(US), &tells(6101, 400), &mut vec![]);
    assert_eq!(numbers(&all(&mut end, Time(US))), [(6101, 400)], "but where nothing is under way they are");
}

#[test]
fn the_oldest_segment_goes_again_after_three_duplicates_or_the_time_out() {
    let sent = || {
        let mut end = established(Time::ZERO);
        end.write(&[1; 4000]);
        all(&mut end, Time::ZERO);
        end
    };
    let mut end = sent();
    for _ in 0..2 {
        end.receive(Time(US), &tells(101, 60_000), &mut vec![]);
        assert_eq!(all(&mut end, Time(US)), []);
    }
    end.receive(Time(US), &tells(101, 60_000), &mut vec![]);
    assert_eq!(numbers(&all(&mut end, Time(US))), [(101, 1000)]);
    assert_eq!(end.resent, 1);
    let mut end = sent();
    // The SYN was answered at once: the least time-out.
    let at = end.timer().expect("something is under way");
    assert_eq!(at, TIMEOUT_MIN);
    end.expire(at - Time(1));
    assert_eq!(all(&mut end, at - Time(1)), []);
    end.expire(at);
    assert_eq!(numbers(&all(&mut end, at)), [(101, 1000)], "the congestion window is one segment");
    assert_eq!(end.timer(), Some(at + TIMEOUT_MIN + TIMEOUT_MIN), "twice as long");
}

#[test]
fn a_syn_is_repeated_and_a_refusal_ends_it() {
    let mut end = Endpoint::connect(100, LONGEST);
    let mut now = Time::ZERO;
    for wait in [100, 200, 400] {
        assert_eq!(numbers(&all(&mut end, now)), [(100, 0)]);
        now += Time(wait * US);
        assert_eq!(end.timer(), Some(now));
        end.expire(now);
    }
    let refusal = |acknowledgement| Segment { flags: RST | ACK, acknowledgement, ..Segment::default() };
    all(&mut end, now);
    end.receive(now, &refusal(100), &mut vec![]);
    assert_eq!(end.state, State::SynSent, "it is about something else");
    end.write(b"unsent");
    end.receive(now, &refusal(101), &mut vec![]);
    assert_eq!((end.state, end.timer(), end.take_back()), (State::Refused, None, b"unsent".to_vec()));
}

#[test]
fn a_closed_window_is_asked_for() {
    let mut end = established(Time::ZERO);
    end.receive(Time::ZERO, &tells(101, 0), &mut vec![]);
    assert!(!end.takes());
    end.write(&[1; 10]);
    assert_eq!(all(&mut end, Time::ZERO), []);
    let at = end.timer().expect("it will ask");
    end.expire(at);
    assert_eq!(numbers(&all(&mut end, at)), [(101, 1)]);
    end.receive(at, &tells(102, 5000), &mut vec![]);
    assert_eq!(numbers(&all(&mut end, at)), [(102, 9)]);
    assert!(end.takes());
}

/// Two ends, each of which writes 9,500 bytes, the second one's after half of the other's; of all segments those are lost
/// that `loses` says. Returns how many there were.
fn talk(loses: impl Fn(usize) -> bool) -> usize {
    let data: [Vec<u8>; 2] = [3, 7].map(|by| (0..9500_usize).map(|i| (i * by % 251) as u8).collect());
    let mut ends = vec![Endpoint::connect(u32::MAX - 3000, LONGEST)];
    let (mut streams, mut lines) = ([vec![], vec![]], [const { VecDeque::new() }; 2]);
    ends[0].write(&data[0]);
    let (mut now, mut count) = (Time::ZERO, 0);
    while streams[1] != data[0] || streams[0] != data[1] {
        for (i, end) in ends.iter_mut().enumerate() {
            end.expire(now);
            for leaves in all(end, now) {
                let (acknowledgement, _) = end.offer();
                if !loses(count) {
                    lines[1 - i].push_back((now + TRIP, leaves, acknowledgement));
                }
                count += 1;
            }
        }
        let timers = ends.iter().filter_map(Endpoint::timer);
        now = timers
            .chain(lines.iter().filter_map(|line| line.front().map(|(at, ..)| *at)))
            .min()
            .expect("it goes on");
        assert!(now < Time(TIMEOUT_MAX.0 * 10), "it does not end");
        for (i, line) in lines.iter_mut().enumerate() {
            while line.front().is_some_and(|(at, ..)| *at == now) {
                let (_, leaves, acknowledgement) = line.pop_front().expect("a segment");
                let from = ends.get(1 - i).expect("who has sent is there");
                let segment = Segment { acknowledgement, ..segment(from, &leaves) };
                if i == ends.len() {
                    ends.push(Endpoint::called(5, LONGEST, &segment));
                } else {
                    ends[i].receive(now, &segment, &mut streams[i]);
                }
            }
        }
        if ends.len() == 2 && data[1].len() == 9500 && streams[1].len() >= 4750 && ends[1].written == 6 {
            ends[1].write(&data[1]);
        }
    }
    count
}

#[test]
fn whatever_is_lost_the_streams_are_whole() {
    let count = talk(|_| false);
    for lost in 0..count {
        talk(|number| number == lost);
        talk(|number| number == lost || number == lost + 1);
    }
    for every in 3..9 {
        talk(|number| number % every == every - 1);
    }
}

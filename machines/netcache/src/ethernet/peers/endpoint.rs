//! A peer's end of a connection, as the kernel's TCP would keep it (`guest/kernel/net`; RFC 9293, 5681, 6298), in no time:
//! it says what may leave, and takes what has come. Its process reads at once, so that its window is always open.

use std::collections::VecDeque;

use chasqui_engine::Time;

use crate::ethernet::frame::{ACK, FIN, PSH, RST, SYN, Segment, distance};

/// The window that is offered, and the most data under way [bytes].
const WINDOW: u32 = 65_535;
/// The maximum segment size without an option (RFC 9293, section 3.7.1) [bytes].
const MSS_DEFAULT: u16 = 536;
/// A SYN without an answer is sent again after this: the rank's node may not have begun to listen, which a peer that had
/// begun with it would not find so. Then after twice the time, and so on.
const SYN_TIMEOUT: Time = Time(100_000_000);
/// As the kernel's (`tcp_send.c`): RFC 6298, section 2, but for the least.
const TIMEOUT_FIRST: Time = Time(1_000_000_000_000);
const TIMEOUT_MIN: Time = Time(1_000_000_000);
const TIMEOUT_MAX: Time = Time(60_000_000_000_000);
const TRIES_MAX: u32 = 15;
/// RFC 5681, section 3.2.
const DUPLICATES: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    SynSent,
    SynReceived,
    Established,
    /// The rank's kernel has refused it.
    Refused,
    /// Over, by an error.
    Broken,
}

/// What is to leave, for the headers and the data.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leaves {
    pub sequence: u32,
    pub flags: u8,
    pub data: Vec<u8>,
}

pub(super) struct Endpoint {
    pub state: State,
    /// What is sent: acknowledged; next; first that never was; end of what was written.
    una: u32,
    nxt: u32,
    top: u32,
    written: u32,
    /// From `una` on, or from what follows the SYN.
    data: VecDeque<u8>,
    /// That the rank offers [bytes].
    window: u32,
    /// Data of a segment at most, here and at the rank [bytes].
    longest: u32,
    segment: u32,
    /// A FIN follows what was written: the rank's process has ended, and so would this one's.
    ends: bool,
    /// What is received: next to come; out of order, by sequence.
    expected: u32,
    early: Vec<(u32, Vec<u8>)>,
    /// Of this are owed: SYNs, acknowledgements, the oldest segment again, a byte against a closed window.
    owes_syn: bool,
    owed: u32,
    again: bool,
    probes: bool,
    /// Congestion [bytes].
    congestion: u32,
    threshold: u32,
    duplicates: u32,
    /// Retransmission.
    timer: Option<Time>,
    smoothed: Time,
    variation: Time,
    timeout: Time,
    timed: Option<(u32, Time)>,
    tries: u32,
    /// Segments sent again.
    pub resent: u64,
    /// It was ended because nobody answered.
    pub has_given_up: bool,
}

impl Endpoint {
    /// One that begins with sequence number `start`, and takes and sends segments of up to `longest` bytes.
    fn new(state: State, start: u32, longest: u16) -> Endpoint {
        Endpoint {
            state,
            una: start,
            nxt: start.wrapping_add(1),
            top: start,
            written: start.wrapping_add(1),
            data: VecDeque::new(),
            window: 0,
            longest: longest.into(),
            segment: MSS_DEFAULT.into(),
            ends: false,
            expected: 0,
            early: vec![],
            owes_syn: true,
            owed: 0,
            again: false,
            probes: false,
            congestion: 0,
            threshold: WINDOW,
            duplicates: 0,
            timer: None,
            smoothed: Time::ZERO,
            variation: Time::ZERO,
            timeout: TIMEOUT_FIRST,
            timed: None,
            tries: 0,
            resent: 0,
            has_given_up: false,
        }
    }

    /// It calls the rank.
    pub fn connect(start: u32, longest: u16) -> Endpoint {
        Endpoint::new(State::SynSent, start, longest)
    }

    /// The rank calls, by this SYN.
    pub fn called(start: u32, longest: u16, syn: &Segment<'_>) -> Endpoint {
        let mut endpoint = Endpoint::new(State::SynReceived, start, longest);
        endpoint.learn(syn);
        endpoint
    }

    /// The other's SYN.
    fn learn(&mut self, syn: &Segment<'_>) {
        self.segment = u32::from(syn.longest.unwrap_or(MSS_DEFAULT)).min(self.longest);
        self.congestion = 4 * self.segment;
        self.expected = syn.sequence.wrapping_add(1);
        self.window = syn.window.into();
    }

    /// The process writes.
    pub fn write(&mut self, data: &[u8]) {
        if self.ends || self.state == State::Broken {
            return;
        }
        self.data.extend(data);
        self.written = self.written.wrapping_add(data.len() as u32);
    }

    /// What was written and did not leave, before there was a connection.
    pub fn take_back(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.data).into()
    }

    /// Nothing waits, and what is written next leaves at once, if it is no longer than the windows leave; or it goes nowhere.
    pub fn takes(&self) -> bool {
        let is_over = self.ends || self.state == State::Broken;
        is_over || self.state == State::Established && self.nxt == self.written && self.room() > 0
    }

    /// That the windows leave [bytes].
    fn room(&self) -> u32 {
        self.window.min(self.congestion).saturating_sub(self.nxt.wrapping_sub(self.una))
    }

    fn end(&self) -> u32 {
        self.written.wrapping_add(self.ends.into())
    }

    // --- out ----------------------------------------------------------------------------------------

    /// What is to leave before any data: SYNs and acknowledgements.
    pub fn control(&mut self, now: Time) -> Option<Leaves> {
        if std::mem::replace(&mut self.owes_syn, false) {
            let flags = if self.state == State::SynReceived { SYN | ACK } else { SYN };
            self.nxt = self.una.wrapping_add(1);
            self.sent(now, self.una, self.nxt);
            return Some(Leaves { sequence: self.una, flags, data: vec![] });
        }
        self.owed = self.owed.checked_sub(1)?;
        Some(Leaves { sequence: self.nxt, flags: ACK, data: vec![] })
    }

    /// The next data, if some may leave.
    pub fn data(&mut self, now: Time) -> Option<Leaves> {
        if self.state != State::Established {
            return None;
        }
        if std::mem::replace(&mut self.again, false) {
            // What came after the one that is missing has probably arrived.
            let next = std::mem::replace(&mut self.nxt, self.una);
            let leaves = self.cut(now, self.segment);
            self.nxt = next;
            return leaves;
        }
        if std::mem::replace(&mut self.probes, false) {
            return self.cut(now, 1);
        }
        let (room, flight) = (self.room(), self.nxt.wrapping_sub(self.una));
        let left = distance(self.nxt, self.written).max(0) as u32;
        // A segment that the window cuts short waits for an acknowledgement (RFC 9293, section 3.8.6.2.1).
        let leaves =
            if left > room && room < self.segment && flight > 0 { None } else { self.cut(now, room) };
        // A closed window is asked for (section 3.8.6.1).
        if self.window == 0 && distance(self.una, self.end()) > 0 && self.timer.is_none() {
            self.arm(now);
        }
        leaves
    }

    /// One segment from `nxt` on, of at most `room` bytes.
    fn cut(&mut self, now: Time, room: u32) -> Option<Leaves> {
        let from = self.nxt;
        let left = distance(from, self.written).max(0) as u32;
        let bytes = left.min(self.segment).min(room);
        let is_last = self.ends && bytes == left && distance(from, self.end()) > 0;
        if bytes == 0 && !is_last {
            return None;
        }
        let at = from.wrapping_sub(self.una) as usize;
        let data: Vec<u8> = self.data.iter().skip(at).take(bytes as usize).copied().collect();
        self.nxt = from.wrapping_add(bytes + u32::from(is_last));
        let push = if bytes == left { PSH } else { 0 };
        self.sent(now, from, self.nxt);
        Some(Leaves { sequence: from, flags: ACK | push | if is_last { FIN } else { 0 }, data })
    }

    fn sent(&mut self, now: Time, from: u32, to: u32) {
        if distance(self.top, to) > 0 {
            self.top = to;
            self.timed.get_or_insert((from, now));
        } else {
            self.resent += 1;
        }
        if self.timer.is_none() {
            self.arm(now);
        }
    }

    fn arm(&mut self, now: Time) {
        let is_begun = matches!(self.state, State::SynSent | State::SynReceived);
        let first = if is_begun { SYN_TIMEOUT } else { self.timeout };
        self.timer = Some(now + Time((first.0 << self.tries).min(TIMEOUT_MAX.0)));
    }

    /// When the timer expires.
    pub fn timer(&self) -> Option<Time> {
        self.timer
    }

    /// It does, if it is time.
    pub fn expire(&mut self, now: Time) {
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        self.timer = None;
        self.tries += 1;
        if self.tries > TRIES_MAX {
            self.has_given_up = true;
            return self.end_by(State::Broken);
        }
        self.go_back();
        if self.state != State::Established {
            self.owes_syn = true;
            return;
        }
        self.congestion = self.segment;
        self.probes = self.window == 0;
    }

    /// What is not acknowledged is sent again, from the oldest on.
    fn go_back(&mut self) {
        // Which of the two would be acknowledged? (RFC 6298, section 3)
        self.timed = None;
        let flight = self.top.wrapping_sub(self.una);
        self.threshold = (flight / 2).max(2 * self.segment);
        self.nxt = self.una;
    }

    fn end_by(&mut self, state: State) {
        self.state = state;
        (self.timer, self.owed, self.owes_syn) = (None, 0, false);
    }

    // --- in -----------------------------------------------------------------------------------------

    /// Takes a segment of the rank's; what of its data comes next goes to `stream`.
    pub fn receive(&mut self, now: Time, segment: &Segment<'_>, stream: &mut Vec<u8>) {
        let Segment { flags, sequence, data, .. } = *segment;
        match self.state {
            State::SynSent => return self.answered(now, segment),
            State::Refused | State::Broken => return,
            State::SynReceived | State::Established => {}
        }
        if flags & RST != 0 {
            if sequence == self.expected {
                self.end_by(State::Broken);
            }
            return;
        }
        if flags & SYN != 0 {
            // It comes again: its answer was lost.
            self.owes_syn |= self.state == State::SynReceived;
        } else if flags & ACK != 0 {
            self.acknowledged(now, segment);
        }
        if !data.is_empty() {
            self.early.push((sequence, data.to_vec()));
            self.absorb(stream);
        }
        let end = sequence.wrapping_add(data.len() as u32);
        if flags & FIN != 0 && !self.ends && end == self.expected {
            self.expected = self.expected.wrapping_add(1);
            self.ends = true;
        }
        self.owed += u32::from(!data.is_empty() || flags & FIN != 0);
    }

    /// Of what came early, what comes next now.
    fn absorb(&mut self, stream: &mut Vec<u8>) {
        self.early.sort_by_key(|(sequence, _)| distance(self.expected, *sequence));
        while let Some((sequence, data)) = self.early.first() {
            let old = distance(*sequence, self.expected);
            if old < 0 {
                return;
            }
            let new = data.get(old as usize..).unwrap_or(&[]);
            stream.extend_from_slice(new);
            self.expected = self.expected.wrapping_add(new.len() as u32);
            self.early.remove(0);
        }
    }

    /// Something has come in answer to the SYN.
    fn answered(&mut self, now: Time, segment: &Segment<'_>) {
        if segment.flags & ACK == 0 || segment.acknowledgement != self.nxt {
            return;
        }
        if segment.flags & RST != 0 {
            return self.end_by(State::Refused);
        }
        if segment.flags & SYN == 0 {
            return;
        }
        self.learn(segment);
        self.state = State::Established;
        self.advance(now, segment.acknowledgement);
        self.owed += 1;
    }

    /// RFC 9293, section 3.10.7.4, "check the ACK field".
    fn acknowledged(&mut self, now: Time, segment: &Segment<'_>) {
        let (number, window) = (segment.acknowledgement, u32::from(segment.window));
        if distance(self.top, number) > 0 || distance(self.una, number) < 0 {
            return;
        }
        let is_same = window == self.window;
        self.window = window;
        if number != self.una {
            self.state = State::Established;
            self.advance(now, number);
        } else if is_same && segment.data.is_empty() && segment.flags & FIN == 0 {
            self.duplicate();
        }
    }

    /// All before `number` have come.
    fn advance(&mut self, now: Time, number: u32) {
        if let Some((_, at)) = self.timed.filter(|(from, _)| distance(*from, number) > 0) {
            self.timed = None;
            self.measure(now - at);
        }
        let bytes = number.wrapping_sub(self.una);
        // Slow start, then about a segment for each round trip (RFC 5681, section 3.1).
        let mut more = bytes.min(self.segment);
        if self.congestion >= self.threshold {
            more = more * self.segment / self.congestion + 1;
        }
        self.congestion = (self.congestion + more).min(WINDOW + 1);
        // SYN and FIN have numbers, and are no data.
        let is_syn = self.data.len() as u32 != self.written.wrapping_sub(self.una);
        let data = (bytes - u32::from(is_syn)).min(self.data.len() as u32);
        self.data.drain(..data as usize);
        self.una = number;
        if distance(self.nxt, number) > 0 {
            self.nxt = number;
        }
        (self.duplicates, self.tries, self.timer, self.again) = (0, 0, None, false);
        if distance(number, self.nxt) > 0 {
            self.arm(now);
        }
    }

    /// An acknowledgement of nothing new.
    fn duplicate(&mut self) {
        if self.una == self.top {
            return;
        }
        self.duplicates += 1;
        if self.duplicates == DUPLICATES {
            let next = self.top;
            self.go_back();
            self.congestion = self.threshold;
            self.again = true;
            self.nxt = next;
        }
    }

    /// RFC 6298, section 2.
    fn measure(&mut self, trip: Time) {
        if self.smoothed == Time::ZERO {
            (self.smoothed, self.variation) = (trip, Time(trip.0 / 2));
        } else {
            let off = trip.0.abs_diff(self.smoothed.0);
            self.variation = Time((3 * self.variation.0 + off) / 4);
            self.smoothed = Time((7 * self.smoothed.0 + trip.0) / 8);
        }
        let timeout = self.smoothed.0 + 4 * self.variation.0;
        self.timeout = Time(timeout.clamp(TIMEOUT_MIN.0, TIMEOUT_MAX.0));
    }

    /// What every segment acknowledges to the rank: how far it has come, and the window.
    pub fn offer(&self) -> (u32, u16) {
        (self.expected, WINDOW as u16)
    }
}

#[cfg(test)]
mod tests;

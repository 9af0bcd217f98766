//! A rank's marks, turned into stamps: which call each of its threads is in, what it sends, posts and
//! waits for.

use crate::guest;
use crate::kept::{Keep, Kept};
use crate::recorder::Recorder;
use crate::stage::{MessageId, Stage};
use crate::waiting;
use crate::waits::Wait;
use chasqui_abi::{ENVELOPE_NUMBERED_HERE, Envelope, mark};
use chasqui_config::Duration;
use rustc_hash::FxHashMap;

/// Numbers that a call may have: 7 bits of the mark.
pub const CALLS: usize = 128;

/// Longest text [bytes] that a rank's `WAITING` mark may name.
const WAITING_BYTES_MAX: u64 = 240;

/// Use of one MPI call by a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTotals {
    /// Calls that were entered.
    pub count: u64,
    /// Time [ps] between entries and returns.
    pub time_ps: u64,
    /// When [ps] it last returned.
    pub left_ps: u64,
    /// The part [ps] of it in which its thread waited: could go on only when something came.
    pub waiting_ps: u64,
}

/// A call's interval, for the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Number of the call.
    pub call: u8,
    /// Entry [ps].
    pub enter_ps: u64,
    /// Return [ps].
    pub leave_ps: u64,
    /// Hart of the node whose thread made it.
    pub hart: u16,
}

/// Where a thread was as it entered its outermost MPI call. While the call lasts, what lies on its stack above
/// `stack_pointer` stays: that tells who called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Address in the call's function.
    pub pc: u64,
    /// Register `ra`.
    pub return_address: u64,
    /// Register `sp`.
    pub stack_pointer: u64,
    /// Register `s0`, which may hold the address of the stack frame.
    pub frame_pointer: u64,
    /// The call's first arguments, `a0` to `a2`: the mark is the first that a function does with them.
    pub arguments: [u64; 3],
    /// It executes on a processor that is no hart of the node's: its stack is in that one's memory.
    pub is_elsewhere: bool,
}

/// The outermost call that a thread is in.
#[derive(Clone, Copy, Debug)]
struct Current {
    number: u8,
    enter_ps: u64,
    /// Tells calls apart: a request posted by another call than the one that completes it was waited for.
    serial: u64,
}

/// A receive request from its post to its completion.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// Time of the mark; `None` when the request was matched without having been posted.
    post_ps: Option<u64>,
    call_ps: u64,
    call_serial: u64,
    message: Option<MessageId>,
    /// Number among the rank's receives.
    number: u32,
}

/// What the marks of one hart's thread have said.
#[derive(Clone, Debug, Default)]
struct ThreadLife {
    current: Option<Current>,
    /// The latest call that was entered from outside of MPI, which may have returned: its number, and where that was.
    entered: (u8, Site),
    /// Calls within the current one.
    nested: Vec<u8>,
    /// Messages whose send began in the current call.
    sent: Vec<MessageId>,
    /// Messages whose receive is complete as the current call returns.
    done: Vec<MessageId>,
    /// The latest message of this rank that was begun or handed on: the one that `PROTOCOL` is about.
    sending: Option<MessageId>,
    /// What `MATCH_REQUEST` named.
    matching: Option<u64>,
    /// What `DATA` named.
    data: Option<u64>,
    /// Address of the request that the thread is blocked on; 0: none.
    blocked: u64,
    /// What was there as it began to wait, of a thread that executes elsewhere: its memory can't be looked at later.
    request: Box<[u8]>,
    /// Address of the text that says what it waits for; 0: none.
    waiting: u64,
    /// When [ps] it began to wait; `None`: it does not.
    waits_since: Option<u64>,
    /// The message, of its own or not, for which it waits, as far as is known: that of the request on which it is blocked, or
    /// the last one that it matched meanwhile.
    awaited: Option<(MessageId, bool)>,
    /// The wait that has ended, while the call has not said of which request.
    waited: Option<(u64, u64)>,
}

impl ThreadLife {
    /// Entry and serial of the current call.
    fn here(&self, now_ps: u64) -> (u64, u64) {
        self.current.map_or((now_ps, 0), |c| (c.enter_ps, c.serial))
    }
}

/// Interprets a rank's marks ([`chasqui_abi::mark`]).
///
/// The MPI call that counts is the outermost one of its thread: calls that the library makes to itself are
/// part of it. A request may be posted, matched and completed by different threads.
#[derive(Clone, Debug)]
pub struct RankLife {
    rank: u16,
    totals: Box<[CallTotals; CALLS]>,
    /// By hart.
    threads: Vec<ThreadLife>,
    serial: u64,
    requests: FxHashMap<u64, Request>,
    /// Messages that have come and that the process calls by numbers of its own, until they are matched.
    numbered: FxHashMap<u32, MessageId>,
    unknown: u64,
    stray: u64,
    timeline: Vec<Interval>,
    timeline_max: usize,
    timeline_left_out: u64,
    kept: Kept,
    unexpected: u64,
    copied_aside: u64,
    waits: Vec<Wait>,
}

impl RankLife {
    /// For world rank `rank` on a node of `harts` harts; keeps up to `timeline_max` intervals of calls for
    /// the timeline.
    pub fn new(rank: u16, harts: usize, timeline_max: usize) -> RankLife {
        RankLife {
            rank,
            totals: Box::new([CallTotals::default(); CALLS]),
            threads: vec![ThreadLife::default(); harts],
            serial: 0,
            requests: FxHashMap::default(),
            numbered: FxHashMap::default(),
            unknown: 0,
            stray: 0,
            timeline: Vec::new(),
            timeline_max,
            timeline_left_out: 0,
            kept: Kept::default(),
            unexpected: 0,
            copied_aside: 0,
            waits: Vec::new(),
        }
    }

    /// From the start on, keeps of the rank's messages what `keep` says.
    pub fn keep(&mut self, keep: Keep) {
        self.kept = Kept::new(keep);
    }

    /// What is kept of its messages.
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Hart `hart` executes mark `code` with call number `call` and register value `value` at `now_ps`.
    /// `memory` reads the rank's memory; false when the address isn't mapped.
    #[allow(clippy::too_many_arguments, reason = "a mark has so many parts")]
    #[inline]
    pub fn mark(
        &mut self,
        recorder: &mut Recorder,
        hart: usize,
        code: u32,
        call: u32,
        value: u64,
        now_ps: u64,
        memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
    ) {
        match code {
            mark::CALL => self.enter(hart, (call as usize % CALLS) as u8, now_ps),
            mark::RETURN => self.leave(recorder, hart, (call as usize % CALLS) as u8, now_ps),
            mark::SEND => self.send(recorder, hart, value, now_ps, memory),
            mark::READY => self.ready(recorder, hart, value, now_ps, memory),
            mark::POST => self.post(hart, value, now_ps),
            mark::MATCH_REQUEST => self.threads[hart].matching = Some(value),
            mark::MATCH => self.matched(recorder, hart, value, now_ps, memory),
            mark::DELIVER => match self.delivered(value) {
                Some(id) => recorder.stamp(id, Stage::Deliver, now_ps),
                None => self.stray += 1,
            },
            mark::DONE => self.complete(recorder, hart, value, now_ps),
            mark::BLOCKED => {
                if value != 0 && !self.requests.contains_key(&value) {
                    let own = waiting::sent_by(value, memory).filter(|id| id.source == self.rank);
                    self.threads[hart].awaited = own.map(|id| (id, true));
                }
                self.set_waiting(hart, value != 0, now_ps);
                self.threads[hart].blocked = value;
            }
            mark::PROTOCOL => match self.threads[hart].sending {
                Some(id) => recorder.protocol(id, value as u32),
                None => self.stray += 1,
            },
            mark::WAITING => {
                self.threads[hart].waiting = value;
                self.set_waiting(hart, value != 0, now_ps);
            }
            mark::QUEUED => match guest::envelope(value, memory).and_then(|e| self.message_of(&e)) {
                Some(id) => {
                    self.unexpected += 1;
                    self.kept.arrive(id);
                    // Perhaps a probe's.
                    let thread = &mut self.threads[hart];
                    if thread.waits_since.is_some() && thread.blocked == 0 {
                        thread.awaited.get_or_insert((id, false));
                    }
                }
                None => self.stray += 1,
            },
            mark::COPIED => self.copied_aside += 1,
            mark::YIELDED => {}
            mark::DATA => self.threads[hart].data = Some(value),
            mark::CARRY => match guest::envelope(value, memory) {
                Some(envelope) => recorder.carry(MessageId::of(&envelope)),
                None => self.stray += 1,
            },
            mark::TAKEN => match (guest::envelope(value, memory), recorder.taken()) {
                (Some(envelope), Some(id)) => drop(self.numbered.insert(envelope.sequence, id)),
                _ => self.stray += 1,
            },
            _ => self.unknown += 1,
        }
    }

    fn enter(&mut self, hart: usize, call: u8, now_ps: u64) {
        let thread = &mut self.threads[hart];
        if thread.current.is_some() {
            return thread.nested.push(call);
        }
        self.serial += 1;
        thread.current = Some(Current { number: call, enter_ps: now_ps, serial: self.serial });
        self.totals[usize::from(call)].count += 1;
    }

    fn leave(&mut self, recorder: &mut Recorder, hart: usize, call: u8, now_ps: u64) {
        let thread = &mut self.threads[hart];
        if let Some(at) = thread.nested.iter().rposition(|c| *c == call) {
            // Inner calls that left without a mark leave with it.
            self.stray += (thread.nested.len() - at - 1) as u64;
            return thread.nested.truncate(at);
        }
        let Some(current) = thread.current.filter(|c| c.number == call) else {
            self.stray += 1;
            return;
        };
        self.stray += thread.nested.len() as u64;
        for id in thread.sent.drain(..) {
            recorder.stamp(id, Stage::SendReturn, now_ps);
        }
        for id in thread.done.drain(..) {
            recorder.stamp(id, Stage::Done, now_ps);
        }
        self.close(hart, current, now_ps);
    }

    /// The hart has just executed the mark `CALL`, at `site`. Calls that the library makes to itself don't count.
    #[inline]
    pub fn entered_at(&mut self, hart: usize, site: Site) {
        let thread = &mut self.threads[hart];
        if let Some(current) = thread.current.filter(|_| thread.nested.is_empty()) {
            thread.entered = (current.number, site);
        }
    }

    /// The thread on hart `hart`, which executes elsewhere, is blocked on a request: what is in it.
    pub fn blocked_elsewhere(&mut self, hart: usize, request: &[u8]) {
        self.threads[hart].request = request.into();
    }

    /// Where the thread on hart `hart` entered the MPI call that it is in, or was in when the run ended, if it was in one.
    pub fn site(&self, hart: usize) -> Option<&Site> {
        let thread = &self.threads[hart];
        let is_within = thread.current.is_some() || thread.blocked != 0 || thread.waiting != 0;
        is_within.then_some(&thread.entered.1)
    }

    /// The thread begins to wait, or goes on waiting; or it does so no longer, as `waits` says.
    fn set_waiting(&mut self, hart: usize, waits: bool, now_ps: u64) {
        let thread = &mut self.threads[hart];
        if waits {
            thread.waits_since.get_or_insert(now_ps);
            return;
        }
        let awaited = thread.awaited.take();
        let (Some(since_ps), Some(current)) = (thread.waits_since.take(), thread.current) else { return };
        let call = &mut self.totals[usize::from(current.number)];
        call.waiting_ps += now_ps.saturating_sub(since_ps);
        let received = self.requests.get(&thread.blocked).and_then(|request| request.message);
        if thread.blocked == 0 {
            thread.waited = Some((since_ps, now_ps));
        }
        if let Some((message, is_send)) = received.map(|id| (id, false)).or(awaited)
            && now_ps > since_ps
        {
            let wait = Wait { call: current.number, message, is_send, since_ps, until_ps: now_ps };
            self.waits.push(wait);
        }
    }

    /// The wait that a call has ended was for `message`, as the request says that it reports first: others may have been matched
    /// meanwhile.
    fn waited_for(&mut self, hart: usize, message: MessageId) {
        let thread = &mut self.threads[hart];
        let (Some((since_ps, until_ps)), Some(current)) = (thread.waited.take(), thread.current) else {
            return;
        };
        let wait = Wait { call: current.number, message, is_send: false, since_ps, until_ps };
        let is_same = |other: &&mut Wait| Wait { message, is_send: false, ..**other } == wait;
        match self.waits.iter_mut().rev().take(self.threads.len()).find(is_same) {
            Some(known) => *known = wait,
            None if until_ps > since_ps => self.waits.push(wait),
            None => {}
        }
    }

    /// Accounts for the hart's current call and leaves it.
    fn close(&mut self, hart: usize, current: Current, now_ps: u64) {
        let totals = &mut self.totals[usize::from(current.number)];
        totals.time_ps += now_ps.saturating_sub(current.enter_ps);
        totals.left_ps = totals.left_ps.max(now_ps);
        if self.timeline.len() < self.timeline_max {
            self.timeline.push(Interval {
                call: current.number,
                enter_ps: current.enter_ps,
                leave_ps: now_ps,
                hart: hart as u16,
            });
        } else if self.timeline_max > 0 {
            self.timeline_left_out += 1;
        }
        self.set_waiting(hart, false, now_ps);
        let thread = &mut self.threads[hart];
        thread.waited = None;
        thread.current = None;
        thread.nested.clear();
        (thread.blocked, thread.waiting) = (0, 0);
    }

    fn send(
        &mut self,
        recorder: &mut Recorder,
        hart: usize,
        at: u64,
        now_ps: u64,
        memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
    ) {
        let data = self.threads[hart].data.take();
        let envelope = guest::envelope(at, memory).filter(|e| e.source == self.rank);
        let Some((envelope, id)) = envelope.and_then(|e| Some((e, MessageId::of(&e)?))) else {
            self.stray += 1;
            return;
        };
        self.kept.send(&envelope, data, memory);
        let thread = &mut self.threads[hart];
        recorder.describe(id, envelope.destination, envelope.tag, envelope.context, envelope.bytes);
        recorder.stamp(id, Stage::Call, thread.here(now_ps).0);
        thread.sending = Some(id);
        if thread.current.is_some() {
            if thread.sent.last() != Some(&id) {
                thread.sent.push(id);
            }
        } else {
            self.stray += 1;
        }
    }

    fn ready(
        &mut self,
        recorder: &mut Recorder,
        hart: usize,
        at: u64,
        now_ps: u64,
        memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
    ) {
        let Some(envelope) = guest::envelope(at, memory) else {
            self.stray += 1;
            return;
        };
        // A reply (clear to send, acknowledgement) has no number, or bears the name of another rank's message, which it
        // is not.
        let own = MessageId::of(&envelope).filter(|id| id.source == self.rank);
        self.threads[hart].sending = own;
        if let Some(id) = own {
            recorder.stamp(id, Stage::Ready, now_ps);
        }
    }

    fn post(&mut self, hart: usize, request: u64, now_ps: u64) {
        let (call_ps, call_serial) = self.threads[hart].here(now_ps);
        let number = self.kept.post();
        let post_ps = Some(now_ps);
        self.requests.insert(request, Request { post_ps, call_ps, call_serial, message: None, number });
    }

    /// The message that an envelope in the process's memory is about.
    fn message_of(&self, envelope: &Envelope) -> Option<MessageId> {
        match envelope.flags & ENVELOPE_NUMBERED_HERE {
            0 => MessageId::of(envelope),
            _ => self.numbered.get(&envelope.sequence).copied(),
        }
    }

    fn matched(
        &mut self,
        recorder: &mut Recorder,
        hart: usize,
        at: u64,
        now_ps: u64,
        memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
    ) {
        let matching = self.threads[hart].matching.take();
        let (Some(address), Some(envelope)) = (matching, guest::envelope(at, memory)) else {
            self.stray += 1;
            return;
        };
        let Some(id) = self.message_of(&envelope) else {
            self.stray += 1;
            return;
        };
        if envelope.flags & ENVELOPE_NUMBERED_HERE != 0 {
            self.numbered.remove(&envelope.sequence);
        }
        let (call_ps, call_serial) = self.threads[hart].here(now_ps);
        let unposted = Request { post_ps: None, call_ps, call_serial, message: None, number: 0 };
        let thread = &mut self.threads[hart];
        if thread.waits_since.is_some() && thread.awaited.is_none_or(|(_, is_send)| !is_send) {
            thread.awaited = Some((id, false));
        }
        let request = self.requests.entry(address).or_insert(unposted);
        request.message = Some(id);
        self.kept.take(id, request.number);
        recorder.stamp(id, Stage::ReceiveCall, request.call_ps);
        if let Some(post_ps) = request.post_ps {
            recorder.stamp(id, Stage::Post, post_ps);
        }
        recorder.stamp(id, Stage::Match, now_ps);
    }

    /// The message of the request that `DELIVER` names.
    fn delivered(&self, request: u64) -> Option<MessageId> {
        self.requests.get(&request).and_then(|r| r.message)
    }

    /// The message of the request that a `DELIVER` mark names by `value`, and where its data are: address and length
    /// [bytes]. `None` if it has no data, or not one after the other.
    pub fn data_of(
        &self,
        value: u64,
        memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
    ) -> Option<(MessageId, u64, u64)> {
        let mut word = |offset| {
            let mut raw = [0; 8];
            memory(value.wrapping_add(offset), &mut raw).then(|| u64::from_le_bytes(raw))
        };
        let id = self.delivered(value)?;
        let (address, bytes) = (word(mark::REQUEST_BUFFER)?, word(mark::REQUEST_GOT)?);
        (word(mark::REQUEST_TYPE)? == 0 && bytes > 0).then_some((id, address, bytes))
    }

    fn complete(&mut self, recorder: &mut Recorder, hart: usize, address: u64, now_ps: u64) {
        // The name is free for the next receive: a request on the stack has the same address again.
        let Some(Request { message: Some(id), call_serial, .. }) = self.requests.remove(&address) else {
            self.stray += 1;
            return;
        };
        self.waited_for(hart, id);
        let thread = &mut self.threads[hart];
        let Some(current) = thread.current else {
            self.stray += 1;
            return recorder.stamp(id, Stage::Done, now_ps);
        };
        if current.serial != call_serial {
            recorder.stamp(id, Stage::WaitCall, current.enter_ps);
        }
        thread.done.push(id);
    }

    /// The process ends while threads may be in calls: their time counts up to now. They have not been left.
    pub fn finish(&mut self, now_ps: u64) {
        for hart in 0..self.threads.len() {
            let thread = &self.threads[hart];
            let waiting = (thread.blocked, thread.waiting);
            if let Some(current) = thread.current {
                let left_ps = self.totals[usize::from(current.number)].left_ps;
                self.close(hart, current, now_ps);
                self.totals[usize::from(current.number)].left_ps = left_ps;
                let thread = &mut self.threads[hart];
                (thread.blocked, thread.waiting) = waiting;
            }
        }
    }

    /// World rank.
    pub fn rank(&self) -> u16 {
        self.rank
    }

    /// Use of each MPI call until `now_ps`, by number: calls that threads are in count so far. They have not been left.
    pub fn totals(&self, now_ps: u64) -> [CallTotals; CALLS] {
        let mut totals = *self.totals;
        for thread in &self.threads {
            let Some(current) = thread.current else { continue };
            let call = &mut totals[usize::from(current.number)];
            call.time_ps += now_ps.saturating_sub(current.enter_ps);
            call.waiting_ps += thread.waits_since.map_or(0, |since_ps| now_ps.saturating_sub(since_ps));
        }
        totals
    }

    /// Number and entry [ps] of the MPI call that the thread on hart `hart` is in.
    pub fn current_call(&self, hart: usize) -> Option<(u32, u64)> {
        self.threads[hart].current.map(|c| (u32::from(c.number), c.enter_ps))
    }

    /// Its waits that a message ended, in the order of their ends.
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// Messages that came before their receive was posted.
    pub fn unexpected(&self) -> u64 {
        self.unexpected
    }

    /// Those of them whose data the library has copied aside, and so copies twice.
    pub fn copied_aside(&self) -> u64 {
        self.copied_aside
    }

    /// Marks with an unknown code.
    pub fn unknown_marks(&self) -> u64 {
        self.unknown
    }

    /// Marks out of place: a return without its call, a match without a request, an envelope that
    /// can't be read or bears another sender's name.
    pub fn stray_marks(&self) -> u64 {
        self.stray
    }

    /// The calls' intervals, and how many were left out for want of room.
    pub fn timeline(&self) -> (&[Interval], u64) {
        (&self.timeline, self.timeline_left_out)
    }

    /// Intervals, until `now_ps`, of the calls that threads are in when all is over: not among those of the timeline.
    pub fn open_calls(&self, now_ps: u64) -> impl Iterator<Item = Interval> {
        self.threads.iter().enumerate().filter_map(move |(hart, thread)| {
            let Current { number, enter_ps, .. } = thread.current?;
            Some(Interval { call: number, enter_ps, leave_ps: now_ps.max(enter_ps), hart: hart as u16 })
        })
    }

    /// What the thread on hart `hart` waits for, in words, for a deadlock's report; `None` when it waits for
    /// nothing. `name` names a call by its number.
    pub fn waiting_for(
        &self,
        hart: usize,
        name: &dyn Fn(u32) -> &'static str,
        memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
    ) -> Option<String> {
        let thread = &self.threads[hart];
        let noted = &mut |at, bytes: &mut [u8]| lies_at(thread.blocked, &thread.request, at, bytes);
        let words = match thread.entered.1.is_elsewhere {
            true => waiting::of_request(thread.blocked, noted),
            false => waiting::of_request(thread.blocked, memory),
        };
        // A call of several rounds says in the first alone what it waits for; its request says so in each.
        if words.is_none()
            && let Some(text) = guest::text(thread.waiting, WAITING_BYTES_MAX, memory)
        {
            return Some(self.waiting_in_call(thread, &text, name, memory));
        }
        if thread.blocked == 0 {
            return None;
        }
        let (number, site) = &thread.entered;
        let call = name(u32::from(*number));
        let others = waiting::of_all_others(call, &site.arguments, thread.blocked, memory);
        let first = match (self.requests.get(&thread.blocked), words) {
            (Some(Request { message: Some(id), .. }), _) => {
                format!("a receive, the rest of message {} from rank {}", id.sequence, id.source)
            }
            (Some(Request { post_ps: Some(ps), .. }), Some(words)) => {
                format!("{words} (receive posted at {})", Duration::from_ps(*ps))
            }
            (Some(Request { post_ps: Some(ps), .. }), None) => {
                format!("a receive posted at {}, which no message has matched", Duration::from_ps(*ps))
            }
            (_, Some(words)) => words,
            _ => format!("a request that is not a posted receive ({:#x})", thread.blocked),
        };
        Some(match others {
            Some(others) => format!("{first}, and for {others}"),
            None => first,
        })
    }

    /// The same of a thread that waits for what `text` says, with what is known besides.
    fn waiting_in_call(
        &self,
        thread: &ThreadLife,
        text: &str,
        name: &dyn Fn(u32) -> &'static str,
        memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
    ) -> String {
        let (number, site) = &thread.entered;
        let call = name(u32::from(*number));
        let text = text.strip_prefix(call).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(text);
        if let Some(words) = waiting::of_probe(call, &site.arguments, memory) {
            return words;
        }
        let more = waiting::of_several(call, &site.arguments, memory).or_else(|| self.of_collectives(memory));
        match more {
            Some(more) => format!("{text}: {more}"),
            None => text.to_string(),
        }
    }

    /// What the receives of nonblocking collectives wait for.
    fn of_collectives(&self, memory: &mut dyn FnMut(u64, &mut [u8]) -> bool) -> Option<String> {
        let open = self.requests.iter().filter(|(_, request)| request.message.is_none());
        let mut open: Vec<_> = open.map(|(address, request)| (request.post_ps, *address)).collect();
        open.sort_unstable();
        let open = open.into_iter().filter(|&(_, address)| waiting::is_of_nonblocking(address, memory));
        let open: Vec<u64> = open.map(|(_, address)| address).collect();
        let words = open.into_iter().filter_map(|address| waiting::of_request(address, memory));
        waiting::listed(&words.collect::<Vec<_>>())
    }
}

/// Reads `bytes` from `at` on out of what lies at `begin`; false: it is not all there.
pub fn lies_at(begin: u64, there: &[u8], at: u64, bytes: &mut [u8]) -> bool {
    let found = at.checked_sub(begin).and_then(|at| there.get(at as usize..)?.get(..bytes.len()));
    found.map(|found| bytes.copy_from_slice(found)).is_some()
}

#[cfg(test)]
mod tests;

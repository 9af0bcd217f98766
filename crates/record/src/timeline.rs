//! `timeline.json`: what happened when, for Perfetto or Chrome's tracing (Trace Event Format).
//!
//! - Each rank is a process. Its tracks: its MPI calls, those that never returned, too; what its NI does with messages, from accepting them
//!   to injecting them, and from their arrival to their landing, on as many tracks as overlap.
//! - The network is a process, each link that was used a track with the packets that occupied it.
//! - Each message is a flow: from the call that sends, through both NIs, to the call that receives.
//!
//! Readers round times down to nanoseconds. A flow binds to the slice that is open at its time, so it ends
//! a little before the receiving call does, and leaves out what is too short to be open.

use crate::messages::{Message, Messages};
use crate::rank_life::{Interval, RankLife};
use crate::stage::{MessageId, Stage};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// A packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// First byte leaves [ps].
    pub from_ps: u64,
    /// Last byte has left [ps].
    pub to_ps: u64,
    /// Bytes on the wire.
    pub bytes: u32,
    /// The message that it is of.
    pub message: Option<MessageId>,
}

/// A link with the packets that occupied it, by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkLife {
    /// From where to where.
    pub name: String,
    /// Its packets.
    pub busy: Vec<Busy>,
}

/// What a timeline is drawn from.
pub struct Timeline<'a> {
    /// The ranks, with the calls that are kept of each.
    pub ranks: &'a [&'a RankLife],
    /// When [ps] each ended, or the run: calls in which its threads are then last until then.
    pub ends_ps: &'a [u64],
    /// Name of a call.
    pub name: &'a dyn Fn(u32) -> &'static str,
    /// All messages; those are drawn whose two calls were kept.
    pub messages: &'a Messages,
    /// The network's links.
    pub links: &'a [LinkLife],
}

/// A slice that a reader can see, and a flow bind to, is at least so long [ps].
const SEEN_PS: u64 = 1_000;

/// What a reader shows of a call that has not returned.
const NOT_RETURNED: &[(&str, i64)] = &[("returned", 0)];

/// Before the end of a slice this time [ps] is still within it, however it is rounded.
const BEFORE_END_PS: u64 = 2_000;

impl Timeline<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// When `out` can't be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut pen = Pen { out, line: Vec::new(), separator: "\n", tracks: 0, named: FxHashMap::default() };
        // No displayTimeUnit: some versions of Perfetto take it for the unit of all times.
        pen.out.write_all(b"{\"traceEvents\": [")?;
        let calls = self.calls(&mut pen)?;
        let begun: Vec<Vec<Interval>> =
            self.ranks.iter().zip(self.ends_ps).map(|(life, end_ps)| by_beginning(life, *end_ps)).collect();
        let with_ends = |message| Some((message, self.ends(message, &begun)?));
        let (drawn, ends): (Vec<&Message>, Vec<_>) =
            self.messages.rows().iter().filter_map(with_ends).unzip();
        let sending = self.stages(&mut pen, &drawn, "NI sends", Stage::Accept, Stage::Inject)?;
        let receiving = self.stages(&mut pen, &drawn, "NI receives", Stage::Arrive, Stage::Land)?;
        self.network(&mut pen)?;
        for (index, (message, (from, to))) in drawn.iter().zip(ends).enumerate() {
            pen.flow(message.id.key(), "s", (calls[&from.0], from.1))?;
            for binding in [sending[index], receiving[index]].into_iter().flatten() {
                pen.flow(message.id.key(), "t", binding)?;
            }
            pen.flow(message.id.key(), "f", (calls[&to.0], to.1))?;
        }
        pen.out.write_all(b"\n]}\n")
    }

    /// The ranks' calls, a track for each of a rank's threads that made some. Returns the tracks.
    fn calls(&self, pen: &mut Pen<'_>) -> io::Result<FxHashMap<Caller, Track>> {
        let mut tracks = FxHashMap::default();
        for (life, end_ps) in self.ranks.iter().zip(self.ends_ps) {
            let open: Vec<_> = life.open_calls(*end_ps).collect();
            let (rank, calls) = (life.rank(), life.timeline().0);
            let process = u32::from(rank) + 1;
            pen.process(process, &format!("rank {rank}"))?;
            // The first hart's track is there in any case.
            let harts: BTreeSet<u16> = calls.iter().chain(&open).map(|call| call.hart).chain([0]).collect();
            for hart in harts {
                let name = if hart == 0 { "MPI calls".into() } else { format!("MPI calls, hart {hart}") };
                tracks.insert((rank, hart), pen.track(process, &name)?);
            }
            let returned = calls.iter().map(|call| (call, &[][..]));
            for (call, arguments) in returned.chain(open.iter().map(|call| (call, NOT_RETURNED))) {
                let name = (self.name)(u32::from(call.call));
                pen.slice(
                    tracks[&(rank, call.hart)],
                    (call.enter_ps, call.leave_ps),
                    SliceName::Call(name),
                    arguments,
                )?;
            }
        }
        Ok(tracks)
    }

    /// What NIs did with the messages between stages `begin` and `end`: on whose track and when a flow
    /// can bind, by message.
    fn stages(
        &self,
        pen: &mut Pen<'_>,
        messages: &[&Message],
        name: &str,
        begin: Stage,
        end: Stage,
    ) -> io::Result<Vec<Option<(Track, u64)>>> {
        let at_sender = end < Stage::Arrive;
        let mut bindings = vec![None; messages.len()];
        // By rank: from when, until when, which message.
        let mut spans: FxHashMap<u16, Vec<(u64, u64, usize)>> = FxHashMap::default();
        for (index, message) in messages.iter().enumerate() {
            let destination = message.description.map(|description| description.destination);
            let here = if at_sender { Some(message.id.source) } else { destination };
            if let (Some(rank), Some(from), Some(to)) = (here, message.time(begin), message.time(end)) {
                spans.entry(rank).or_default().push((from, to, index));
            }
        }
        for life in self.ranks {
            let mut spans = spans.remove(&life.rank()).unwrap_or_default();
            spans.sort_unstable();
            // The tracks, with the end of the latest slice on each.
            let mut lanes: Vec<(Track, u64)> = vec![];
            for (from, to, index) in spans {
                let lane = match lanes.iter().position(|(_, end)| *end <= from) {
                    Some(lane) => lane,
                    None => {
                        lanes.push((pen.track(u32::from(life.rank()) + 1, name)?, 0));
                        lanes.len() - 1
                    }
                };
                let track = lanes[lane].0;
                lanes[lane].1 = to;
                let message = messages[index];
                pen.slice(track, (from, to), SliceName::Message(message.id), &arguments(message))?;
                bindings[index] = is_seen(from, to).then_some((track, from));
            }
        }
        Ok(bindings)
    }

    fn network(&self, pen: &mut Pen<'_>) -> io::Result<()> {
        let process = pen.tracks + 1;
        let used = self.links.iter().filter(|link| !link.busy.is_empty());
        for (number, link) in used.enumerate() {
            if number == 0 {
                pen.process(process, "network")?;
            }
            let track = pen.track(process, &link.name)?;
            for busy in &link.busy {
                let name = busy.message.map_or(SliceName::Packet, SliceName::Message);
                let bytes = [("bytes", i64::from(busy.bytes))];
                pen.slice(track, (busy.from_ps, busy.to_ps), name, &bytes)?;
            }
        }
        Ok(())
    }

    /// Sender and receiver of the message, each with a time within the call that sends or receives;
    /// `None` if one was not kept. `begun`: each rank's calls by their beginning.
    fn ends(&self, message: &Message, begun: &[Vec<Interval>]) -> Option<((Caller, u64), (Caller, u64))> {
        let call = message.time(Stage::Call)?;
        let done = message.time(Stage::Done)?;
        let (source, destination) = (message.id.source, message.description?.destination);
        let ended = self.ranks.get(usize::from(destination))?.timeline().0;
        let sends = kept(begun.get(usize::from(source))?, call, |interval| interval.enter_ps)?;
        let receives = kept(ended, done, |interval| interval.leave_ps)?;
        let before_end = done.saturating_sub(BEFORE_END_PS).max(receives.enter_ps);
        Some((((source, sends.hart), call), ((destination, receives.hart), before_end)))
    }
}

/// The calls of a rank, which ended at `end_ps`, by their beginning: they are kept by their end, which is another order where threads
/// are in calls at a time.
fn by_beginning(life: &RankLife, end_ps: u64) -> Vec<Interval> {
    let mut calls = life.timeline().0.to_vec();
    calls.extend(life.open_calls(end_ps));
    calls.sort_by_key(|call| call.enter_ps);
    calls
}

/// Of `calls`, in the order of `time`, the one whose `time` is `ps`, if it was kept and can be seen.
fn kept(calls: &[Interval], ps: u64, time: impl Fn(&Interval) -> u64) -> Option<Interval> {
    let from = calls.partition_point(|call| time(call) < ps);
    let mut these = calls[from..].iter().take_while(|call| time(call) == ps);
    these.find(|call| is_seen(call.enter_ps, call.leave_ps)).copied()
}

fn is_seen(from_ps: u64, to_ps: u64) -> bool {
    to_ps.saturating_sub(from_ps) >= SEEN_PS
}

/// What a slice is called.
#[derive(Clone, Copy)]
enum SliceName<'a> {
    /// An MPI call.
    Call(&'a str),
    /// `message 2:7`: the eighth of rank 2.
    Message(MessageId),
    /// A packet of no message.
    Packet,
}

/// What a reader shows of a message.
fn arguments(message: &Message) -> Vec<(&'static str, i64)> {
    let Some(d) = message.description else { return vec![] };
    vec![("destination", i64::from(d.destination)), ("tag", i64::from(d.tag)), ("bytes", d.bytes as i64)]
}

/// A thread that calls MPI: rank and hart.
type Caller = (u16, u16);

/// A track: process and thread.
type Track = (u32, u32);

/// Writes events, of which there may be a million: without the formatting machinery where there are many.
struct Pen<'a> {
    out: &'a mut dyn Write,
    /// The event that is being written.
    line: Vec<u8>,
    /// What comes before the next event.
    separator: &'static str,
    /// So many tracks there are. Their numbers are unique, whatever process they are of, and a process
    /// has that of its first track: to readers that is its main thread.
    tracks: u32,
    /// So many tracks have this name in this process, but for the number behind it.
    named: FxHashMap<(u32, String), u32>,
}

impl Pen<'_> {
    /// Begins an event of phase `phase`.
    fn begin(&mut self, phase: &str) {
        self.text(self.separator).text("{\"ph\":\"").text(phase).text("\"");
        self.separator = ",\n";
    }

    fn end(&mut self) -> io::Result<()> {
        self.line.push(b'}');
        self.out.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.line.extend_from_slice(text.as_bytes());
        self
    }

    fn number(&mut self, number: impl itoa::Integer) -> &mut Self {
        self.line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        self
    }

    /// Microseconds, which the format wants, with a tenth of a picosecond more: readers compute with
    /// floating-point numbers, in which 1.021 is less than 1,021 ns, before they round down.
    fn microseconds(&mut self, ps: u64) -> &mut Self {
        // A digit in front, that is written over, keeps the zeros.
        let fraction = self.number(ps / 1_000_000).line.len();
        self.number(1_000_000 + ps % 1_000_000).line[fraction] = b'.';
        self.text("1")
    }

    /// A text as JSON has it.
    fn quoted(&mut self, text: &str) -> io::Result<&mut Self> {
        serde_json::to_writer(&mut self.line, text)?;
        Ok(self)
    }

    fn name(&mut self, name: SliceName<'_>) -> io::Result<&mut Self> {
        match name {
            SliceName::Call(call) => self.quoted(call),
            SliceName::Message(id) => {
                Ok(self.text("\"message ").number(id.source).text(":").number(id.sequence).text("\""))
            }
            SliceName::Packet => Ok(self.text("\"packet\"")),
        }
    }

    fn place(&mut self, (process, thread): Track) -> &mut Self {
        self.text(",\"pid\":").number(process).text(",\"tid\":").number(thread)
    }

    fn process(&mut self, process: u32, name: &str) -> io::Result<()> {
        self.begin("M");
        self.text(",\"pid\":").number(process).text(",\"name\":\"process_name\",\"args\":{\"name\":");
        self.quoted(name)?.text("}");
        self.end()?;
        self.begin("M");
        self.text(",\"pid\":").number(process);
        self.text(",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":").number(process).text("}");
        self.end()
    }

    /// A new track; from the second on of this name in the process it has a number: `NI sends (2)`.
    fn track(&mut self, process: u32, name: &str) -> io::Result<Track> {
        self.tracks += 1;
        let track = (process, self.tracks);
        let alike = self.named.entry((process, name.to_string())).or_default();
        *alike += 1;
        let numbered = if *alike == 1 { name.to_string() } else { format!("{name} ({alike})") };
        self.begin("M");
        self.place(track).text(",\"name\":\"thread_name\",\"args\":{\"name\":").quoted(&numbered)?.text("}");
        self.end()?;
        self.begin("M");
        self.place(track)
            .text(",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":")
            .number(track.1)
            .text("}");
        self.end()?;
        Ok(track)
    }

    fn slice(
        &mut self,
        track: Track,
        (from, to): (u64, u64),
        name: SliceName<'_>,
        arguments: &[(&str, i64)],
    ) -> io::Result<()> {
        self.begin("X");
        self.place(track).text(",\"ts\":").microseconds(from);
        self.text(",\"dur\":").microseconds(to.saturating_sub(from));
        self.text(",\"name\":").name(name)?.text(",\"args\":{");
        for (number, (key, value)) in arguments.iter().enumerate() {
            self.text(if number == 0 { "\"" } else { ",\"" }).text(key).text("\":").number(*value);
        }
        self.text("}");
        self.end()
    }

    /// A point of an arrow: `s` its start, `f` its end, `t` between.
    fn flow(&mut self, id: u64, phase: &str, (track, at): (Track, u64)) -> io::Result<()> {
        self.begin(phase);
        if phase == "f" {
            self.text(",\"bp\":\"e\"");
        }
        self.place(track).text(",\"ts\":").microseconds(at).text(",\"id\":").number(id);
        self.text(",\"name\":\"message\",\"cat\":\"message\"");
        self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorder;
    use chasqui_abi::mark;

    /// A rank that was in one call.
    fn rank(number: u16, call: u32, enter: u64, leave: u64, calls: usize) -> RankLife {
        let (mut life, mut recorder) = (RankLife::new(number, 1, calls), Recorder::new(number, 1));
        for (code, ps) in [(mark::CALL, enter), (mark::RETURN, leave)] {
            life.mark(&mut recorder, 0, code, call, 0, ps, &mut |_, _| false);
        }
        life
    }

    fn draw(ranks: &[&RankLife]) -> Vec<String> {
        let id = MessageId { source: 0, sequence: 3 };
        let mut recorder = Recorder::new(0, 2);
        recorder.describe(id, 1, 5, 0, 8);
        for (stage, ps) in [
            (Stage::Call, 1_500_000),
            (Stage::Accept, 2_000_000),
            (Stage::Inject, 2_000_500),
            (Stage::Arrive, 3_000_000),
            (Stage::Land, 3_500_000),
            (Stage::Done, 9_000_000),
        ] {
            recorder.stamp(id, stage, ps);
        }
        let busy = Busy { from_ps: 2_000_500, to_ps: 2_100_500, bytes: 96, message: Some(id) };
        let links = [
            LinkLife { name: "node 0 to router 0".into(), busy: vec![busy] },
            LinkLife { name: "node 1 to router 0".into(), busy: vec![] },
        ];
        let messages = Messages::of(vec![recorder]);
        let (messages, ends_ps) = (&messages, &vec![10_000_000; ranks.len()][..]);
        let timeline = Timeline { ranks, ends_ps, name: &|_| "call \"7\"", messages, links: &links };
        let mut out = Vec::new();
        timeline.write(&mut out).expect("memory can be written");
        let trace: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("an array").iter();
        // Metadata in short.
        events
            .filter(|e| !e["name"].as_str().is_some_and(|n| n.ends_with("sort_index")))
            .map(|e| match e["ph"].as_str() {
                Some("M") => format!("{} {} {}", e["pid"], e["tid"], e["args"]["name"]),
                _ => e.to_string(),
            })
            .collect()
    }

    #[test]
    fn calls_messages_and_links_are_drawn() {
        let (sender, receiver) = (rank(0, 7, 1_500_000, 4_000_001, 1), rank(1, 8, 8_000_000, 9_000_000, 1));
        assert_eq!(
            draw(&[&sender, &receiver]),
            [
                r#"1 null "rank 0""#,
                r#"1 1 "MPI calls""#,
                r#"{"args":{},"dur":2.5000011,"name":"call \"7\"","ph":"X","pid":1,"tid":1,"ts":1.5000001}"#,
                r#"2 null "rank 1""#,
                r#"2 2 "MPI calls""#,
                r#"{"args":{},"dur":1.0000001,"name":"call \"7\"","ph":"X","pid":2,"tid":2,"ts":8.0000001}"#,
                r#"1 3 "NI sends""#,
                r#"{"args":{"bytes":8,"destination":1,"tag":5},"dur":0.0005001,"name":"message 0:3","ph":"X","pid":1,"tid":3,"ts":2.0000001}"#,
                r#"2 4 "NI receives""#,
                r#"{"args":{"bytes":8,"destination":1,"tag":5},"dur":0.5000001,"name":"message 0:3","ph":"X","pid":2,"tid":4,"ts":3.0000001}"#,
                r#"5 null "network""#,
                r#"5 5 "node 0 to router 0""#,
                r#"{"args":{"bytes":96},"dur":0.1000001,"name":"message 0:3","ph":"X","pid":5,"tid":5,"ts":2.0005001}"#,
                r#"{"cat":"message","id":3,"name":"message","ph":"s","pid":1,"tid":1,"ts":1.5000001}"#,
                r#"{"cat":"message","id":3,"name":"message","ph":"t","pid":2,"tid":4,"ts":3.0000001}"#,
                r#"{"bp":"e","cat":"message","id":3,"name":"message","ph":"f","pid":2,"tid":2,"ts":8.9980001}"#,
            ]
        );
    }

    #[test]
    fn no_two_tracks_of_a_process_have_one_name() {
        let mut out = Vec::new();
        let mut pen =
            Pen { out: &mut out, line: vec![], separator: "", tracks: 0, named: FxHashMap::default() };
        for (process, name) in [(1, "NI sends"), (1, "NI sends"), (2, "NI sends"), (1, "NI sends")] {
            pen.track(process, name).expect("memory can be written");
        }
        let text = String::from_utf8(out).expect("text");
        let names: Vec<&str> = text.split('"').filter(|part| part.starts_with("NI")).collect();
        assert_eq!(names, ["NI sends", "NI sends (2)", "NI sends", "NI sends (3)"]);
    }

    /// A call that never returns lasts until the end, also where no more are kept.
    #[test]
    fn calls_that_never_return_are_drawn() {
        let mut life = rank(0, 7, 1_000_000, 2_000_000, 1);
        life.mark(&mut Recorder::new(0, 1), 0, mark::CALL, 7, 0, 4_000_000, &mut |_, _| false);
        let drawn = draw(&[&life]);
        assert!(drawn.contains(
            &r#"{"args":{"returned":0},"dur":6.0000001,"name":"call \"7\"","ph":"X","pid":1,"tid":1,"ts":4.0000001}"#
                .to_string()
        ), "{drawn:?}");
    }

    /// The messages of hart 1's call are drawn from its track, though hart 0 is in a call that began before and
    /// ends after, and received on the track of the hart whose call completes them.
    #[test]
    fn harts_have_tracks_of_their_own() {
        let calls = |number, calls: &[(usize, u32, u64)]| {
            let (mut life, mut recorder) = (RankLife::new(number, 3, 9), Recorder::new(number, 1));
            for &(hart, code, ps) in calls {
                life.mark(&mut recorder, hart, code, 7, 0, ps, &mut |_, _| false);
            }
            life
        };
        let (enter, leave) = (mark::CALL, mark::RETURN);
        let sender = calls(
            0,
            &[(0, enter, 1_000_000), (1, enter, 1_500_000), (1, leave, 4_000_000), (0, leave, 5_000_000)],
        );
        let receiver = calls(
            1,
            &[(2, enter, 8_000_000), (0, enter, 8_500_000), (2, leave, 9_000_000), (0, leave, 9_500_000)],
        );
        let drawn = draw(&[&sender, &receiver]);
        let tracks: Vec<&str> =
            drawn.iter().filter(|e| e.contains("MPI calls")).map(String::as_str).collect();
        assert_eq!(
            tracks,
            [
                r#"1 1 "MPI calls""#,
                r#"1 2 "MPI calls, hart 1""#,
                r#"2 3 "MPI calls""#,
                r#"2 4 "MPI calls, hart 2""#,
            ]
        );
        let of = |phase: &str, number: usize| {
            let part = format!("\"ph\":\"{phase}\"");
            let found = drawn.iter().filter(|e| e.contains(&part)).nth(number).expect("there is one");
            let event: serde_json::Value = serde_json::from_str(found).expect("JSON");
            (event["pid"].as_u64(), event["tid"].as_u64(), event["ts"].as_f64())
        };
        // The calls by their end, then the flow's ends.
        assert_eq!(of("X", 0), (Some(1), Some(2), Some(1.500_000_1)));
        assert_eq!(of("X", 1), (Some(1), Some(1), Some(1.000_000_1)));
        assert_eq!(of("s", 0), (Some(1), Some(2), Some(1.500_000_1)));
        assert_eq!(of("f", 0), (Some(2), Some(4), Some(8.998_000_1)));
    }

    #[test]
    fn a_message_without_both_its_calls_is_not_drawn() {
        let (sender, receiver) = (rank(0, 7, 1_500_000, 4_000_001, 1), rank(1, 8, 8_000_000, 9_000_000, 0));
        let drawn = draw(&[&sender, &receiver]);
        assert!(!drawn.iter().any(|e| e.contains("\"message\"") || e.contains("NI")), "{drawn:?}");
    }
}

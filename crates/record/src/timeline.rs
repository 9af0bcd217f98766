//! `timeline.json`: the ranks' MPI calls and the messages between them, for Perfetto or Chrome's tracing.

use crate::messages::Messages;
use crate::rank_life::RankLife;
use crate::stage::Stage;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes a trace in the Trace Event Format: a track a rank, or one for each of its threads that called
/// MPI, with its MPI calls (those it was told to keep), and an arrow a message from the call that sends to
/// the one that receives.
///
/// # Errors
/// When `out` can't be written.
pub fn write_timeline(
    out: &mut dyn Write,
    ranks: &[&RankLife],
    name: &dyn Fn(u32) -> String,
    messages: &Messages,
) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\": \"ns\", \"traceEvents\": [")?;
    let mut comma = "\n";
    for life in ranks {
        let rank = life.rank();
        // The first hart's track is there in any case.
        let harts: BTreeSet<u16> = life.timeline().0.iter().map(|i| i.hart).chain([0]).collect();
        for hart in harts {
            let (track, of) =
                (track(rank, hart), if hart > 0 { format!(", hart {hart}") } else { String::new() });
            write!(
                out,
                "{comma}{{\"ph\":\"M\",\"pid\":0,\"tid\":{track},\"name\":\"thread_name\",\"args\":{{\"name\":\"rank {rank}{of}\"}}}}"
            )?;
            comma = ",\n";
        }
        for interval in life.timeline().0 {
            let track = track(rank, interval.hart);
            let name = serde_json::to_string(&name(u32::from(interval.call)))?;
            let length = interval.leave_ps.saturating_sub(interval.enter_ps);
            let (start, length) = (microseconds(interval.enter_ps), microseconds(length));
            write!(
                out,
                "{comma}{{\"ph\":\"X\",\"pid\":0,\"tid\":{track},\"ts\":{start},\"dur\":{length},\"name\":{name}}}"
            )?;
        }
    }
    // Without intervals an arrow would have nothing to hang on.
    let kept = ranks.iter().any(|life| !life.timeline().0.is_empty());
    let harts = harts_of_ends(ranks);
    for message in messages.rows().iter().filter(|_| kept) {
        let ends = (message.time(Stage::Call), message.time(Stage::Done), message.description);
        let (Some(call), Some(done), Some(description)) = ends else { continue };
        // A flow binds to the slice that encloses its end; `done` is the very end of one.
        let ends = [
            ("s", "", message.id.source, call),
            ("f", ",\"bp\":\"e\"", description.destination, done.saturating_sub(1)),
        ];
        for (phase, binding, rank, ps) in ends {
            let (id, ts) = (message.id.key(), microseconds(ps));
            let track = track(rank, harts.get(&(rank, ps)).copied().unwrap_or(0));
            write!(
                out,
                "{comma}{{\"ph\":\"{phase}\"{binding},\"pid\":0,\"tid\":{track},\"ts\":{ts},\"id\":{id},\"name\":\"message\",\"cat\":\"message\"}}"
            )?;
            comma = ",\n";
        }
    }
    out.write_all(b"\n]}\n")
}

/// Number of the track of a rank's hart: the rank itself for the first.
fn track(rank: u16, hart: u16) -> u32 {
    u32::from(hart) << 16 | u32::from(rank)
}

/// On which hart a rank's call begins, or is about to end, at a time: those of others than the first.
fn harts_of_ends(ranks: &[&RankLife]) -> FxHashMap<(u16, u64), u16> {
    let mut harts = FxHashMap::default();
    for life in ranks {
        for interval in life.timeline().0.iter().filter(|i| i.hart > 0) {
            for ps in [interval.enter_ps, interval.leave_ps.saturating_sub(1)] {
                harts.insert((life.rank(), ps), interval.hart);
            }
        }
    }
    harts
}

/// Microseconds, which the format wants, exactly.
fn microseconds(ps: u64) -> String {
    format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageId, Recorder};
    use chasqui_abi::mark;

    #[test]
    fn calls_and_messages_are_drawn() {
        let (mut life, mut recorder) = (RankLife::new(1, 1, 1), Recorder::new(0, 2));
        for (code, ps) in [
            (mark::CALL, 1_500_000),
            (mark::RETURN, 4_000_001),
            (mark::CALL, 5_000_000),
            (mark::RETURN, 6_000_000),
        ] {
            life.mark(&mut recorder, 0, code, 7, 0, ps, &mut |_, _| false);
        }
        assert_eq!(life.timeline().1, 1, "the second call found no room");
        let id = MessageId { source: 1, sequence: 3 };
        recorder.describe(id, 0, 0, 0, 8);
        recorder.stamp(id, Stage::Call, 1_500_000);
        recorder.stamp(id, Stage::Done, 9_000_000);
        let messages = Recorder::merge(vec![recorder]);
        let draw = |life: &RankLife| {
            let mut out = Vec::new();
            write_timeline(&mut out, &[life], &|call| format!("call \"{call}\""), &messages)
                .expect("memory can be written");
            let trace: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
            trace["traceEvents"]
                .as_array()
                .expect("an array")
                .iter()
                .map(|e| e.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            draw(&life),
            [
                r#"{"args":{"name":"rank 1"},"name":"thread_name","ph":"M","pid":0,"tid":1}"#,
                r#"{"dur":2.500001,"name":"call \"7\"","ph":"X","pid":0,"tid":1,"ts":1.5}"#,
                r#"{"cat":"message","id":4294967299,"name":"message","ph":"s","pid":0,"tid":1,"ts":1.5}"#,
                r#"{"bp":"e","cat":"message","id":4294967299,"name":"message","ph":"f","pid":0,"tid":0,"ts":8.999999}"#,
            ]
        );
        assert_eq!(draw(&RankLife::new(1, 1, 0)).len(), 1, "no arrows without calls");
    }
}

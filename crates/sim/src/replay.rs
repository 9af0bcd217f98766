//! Recording a run, and driving one rank by a recording.

use std::path::Path;
use std::sync::Arc;

use chasqui_config::Resolved;
use chasqui_linux::Elf;
use chasqui_machine::replay::{Pace, Peers, Replay};
use chasqui_machine::{Job, Machine};
use chasqui_node::NodeConfiguration;
use chasqui_record::{
    Destination, Keep, Lost, Outcome, RankEnd, Recorded, Recording, ReplaySummary, RunDirectory, RunError,
    Summary,
};

use crate::collect::Results;
use crate::input_error::{InputError, input};
use crate::request::{OnlyRank, Request};

/// Exit status of a replay whose result is not the recorded one.
const DIFFERENT: i32 = 1;

/// What a run that is recorded can't have.
pub(crate) fn check_record(request: &Request) -> Result<(), InputError> {
    let Some(file) = &request.record else { return Ok(()) };
    if !request.others.is_empty() {
        return Err(InputError("a recording is of one job: no --job".into()));
    }
    if !request.beside.is_empty() {
        return Err(InputError("a recording is of one program: no further ones behind ':'".into()));
    }
    if request.options.fast_forward {
        return Err(InputError("--fast-forward: a recording is of the whole program".into()));
    }
    // Where it is a link, what counts is what that leads to.
    let target = chasqui_record::target(file).map_err(|e| InputError(format!("{}: {e}", file.display())))?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(missing) = folder.filter(|folder| !folder.is_dir()) {
        let by = if target == *file { String::new() } else { format!("{} leads to ", file.display()) };
        return Err(InputError(format!("{by}{}: there is no such directory", missing.display())));
    }
    Ok(())
}

/// What drives the only rank that `request` asks for, and how many ranks there are.
pub(crate) fn replay(
    request: &Request,
    machine: &dyn Machine,
    resolved: &Resolved,
) -> Result<Option<Replay>, InputError> {
    let Some(only) = &request.only_rank else { return Ok(None) };
    let refused = |text: &str| Err(InputError(format!("--only-rank: {text}")));
    if !request.others.is_empty() {
        return refused("a recording is of one job: no --job");
    }
    if !request.beside.is_empty() {
        return refused("a recording is of one program: no further ones behind ':'");
    }
    if request.record.is_some() {
        return refused("one rank's messages are no recording");
    }
    machine.replays(resolved).map_err(InputError)?;
    let pace = Pace::parse(&only.ratio, &only.shift).map_err(InputError)?;
    let (recording, sha256) = Recording::read(&only.arrivals).map_err(input)?;
    let (file, ranks) = (only.arrivals.display(), recording.ranks());
    if !(0..i64::from(ranks)).contains(&only.rank) {
        return Err(InputError(format!(
            "--only-rank {}: {file} is of {ranks} ranks; 0 to {} are allowed",
            only.rank,
            ranks - 1
        )));
    }
    if request.ranks != 0 && request.ranks != i64::from(ranks) {
        return Err(InputError(format!("-np {}: {file} is of {ranks} ranks", request.ranks)));
    }
    if request.args != recording.arguments {
        let words = |program: &str, arguments: &[String]| format!("{program} {}", arguments.join(" "));
        let program = request.program.file_name().unwrap_or_default().to_string_lossy();
        return Err(InputError(format!(
            "{file} is of {}, not of {}",
            words(&recording.program, &recording.arguments).trim_end(),
            words(&program, &request.args).trim_end()
        )));
    }
    Ok(Some(Replay { rank: only.rank as u32, recording: Arc::new(recording), sha256, pace }))
}

/// The recorded messages are of the program that runs, and of no other: it would wait for others, or take them for its own.
pub(crate) fn check_program(
    request: &Request,
    replay: Option<&Replay>,
    program: &Elf,
) -> Result<(), InputError> {
    let (Some(only), Some(Replay { recording, .. })) = (&request.only_rank, replay) else { return Ok(()) };
    if recording.fingerprint == program.fingerprint() {
        return Ok(());
    }
    Err(InputError(format!(
        "{} is of another program than {}: of {}, as it was compiled then; record this one (chasqui record), or run that one",
        only.arrivals.display(),
        request.program.display(),
        recording.program
    )))
}

/// Ranks of the job that `request` describes.
pub(crate) fn ranks(request: &Request, replay: Option<&Replay>) -> i64 {
    replay.map_or(request.ranks, |replay| i64::from(replay.recording.ranks()))
}

/// Where the recording that `request` asks for goes, decided before a program runs.
pub(crate) fn destination(request: &Request) -> Result<Option<Destination>, InputError> {
    let open = |file: &std::path::PathBuf| {
        Destination::open(file).map_err(|error| InputError(format!("{}: {error}", file.display())))
    };
    request.record.as_ref().map(open).transpose()
}

/// What is kept of the ranks' messages.
pub(crate) fn keep(request: &Request) -> Keep {
    match (&request.record, &request.only_rank) {
        (Some(_), _) => Keep::Messages,
        (None, Some(_)) => Keep::Receives,
        (None, None) => Keep::Nothing,
    }
}

/// Writes the recording that `request` asks for, or judges the replay that it asked for.
pub(crate) fn finish(
    request: &Request,
    job: &Job,
    results: &mut Results<'_>,
    directory: &RunDirectory,
    resolved: &Resolved,
    recording: Option<&Destination>,
    lost: &mut Lost,
) -> Result<(), InputError> {
    if let (Some(file), Some(to)) = (&request.record, recording) {
        record((file, to), request, job, results, directory, lost)?;
    }
    match (&request.only_rank, &job.replay, results.peers) {
        (Some(only), Some(replay), Some(peers)) => judge(only, replay, peers, results, directory, resolved),
        _ => Ok(()),
    }
}

fn record(
    (file, to): (&Path, &Destination),
    request: &Request,
    job: &Job,
    results: &mut Results<'_>,
    directory: &RunDirectory,
    lost: &mut Lost,
) -> Result<(), InputError> {
    if results.summary.outcome != Outcome::Finished || !results.summary.message.is_empty() {
        let text = "\nThe run is not recorded: it did not finish.";
        results.summary.message += text;
        return Ok(());
    }
    if !lost.is_empty() {
        results.summary.message += "\nThe run is not recorded: not all of its output could be written.";
        return Ok(());
    }
    let program = &job.programs[0].elf;
    let mut recording = Recording {
        machine: results.summary.machine.clone(),
        program: program.name().to_string(),
        fingerprint: program.fingerprint(),
        arguments: request.args.clone(),
        ends: ends(&results.summary, directory)?,
        messages: vec![],
    };
    let kept: Vec<_> = results.processes.iter().map(|p| p.life().kept()).collect();
    recording.collect(&kept, &results.messages).map_err(input)?;
    let written = recording.write(to).map_err(|error| RunError { path: file.to_path_buf(), error });
    lost.note_place(file, written.is_err() || to.is_at(file));
    lost.note(written);
    Ok(())
}

fn ends(summary: &Summary, directory: &RunDirectory) -> Result<Vec<RankEnd>, InputError> {
    let end = |rank: &chasqui_record::RankSummary| {
        let output = directory.output(rank.rank).map_err(input)?;
        Ok(RankEnd { status: rank.status.unwrap_or(0), time_ps: rank.time_ps, output })
    };
    summary.ranks.iter().map(end).collect()
}

/// Says in the summary how the replay went, and ends the run with an error if its result is another.
fn judge(
    only: &OnlyRank,
    replay: &Replay,
    peers: &Peers,
    results: &mut Results<'_>,
    directory: &RunDirectory,
    resolved: &Resolved,
) -> Result<(), InputError> {
    let summary = &mut results.summary;
    let recorded = replay.recording.to(replay.rank as u16);
    let end = &replay.recording.ends[replay.rank as usize];
    let kept = results.processes[0].life().kept();
    let otherwise = |m: &&Recorded| m.receive.is_some() && kept.taken_by(m.id) != m.receive;
    let taken = recorded.iter().filter(|m| kept.taken_by(m.id).is_some());
    let now = directory.output(replay.rank).map_err(input)?;
    let status = summary.ranks[0].status;
    let difference = if status == Some(end.status) {
        difference(&end.output, &now, &only.ignored_lines)
    } else {
        let now = status.map_or("none".into(), |status| status.to_string());
        Some(format!("its exit status is {now}, recorded is {}", end.status))
    };
    let hz = u128::from(NodeConfiguration::read(resolved).core.clock.hz());
    let cycles = u128::from(replay.pace.ratio.millionths()) * hz / 1_000_000;
    let report = ReplaySummary {
        rank: replay.rank,
        ratio: replay.pace.ratio.to_string(),
        shift_ps: replay.pace.shift_ps,
        cycles_per_recorded_s: cycles as u64,
        last_arrival_ps: recorded.iter().map(|m| replay.pace.time(m.arrive_ps).0).max().unwrap_or(0),
        messages: recorded.len() as u64,
        taken: taken.clone().count() as u64,
        taken_otherwise: taken.filter(otherwise).count() as u64,
        sent: peers.sends().sent,
        sent_recorded: peers.recorded_sends(),
        sent_otherwise: peers.sends().other,
        recorded_status: end.status,
        is_same: difference.is_none(),
        difference: difference.clone().unwrap_or_default(),
    };
    if let Some(difference) = difference {
        if summary.outcome == Outcome::Finished {
            summary.exit_status = DIFFERENT;
        }
        let text = format!(
            "the replay of rank {} is not what was recorded: {difference}\n{}",
            replay.rank,
            course(&report, peers)
        );
        summary.message = [summary.message.as_str(), text.as_str()].join("\n").trim_start().to_string();
    }
    summary.replay = Some(report);
    Ok(())
}

/// How far the rank went the recorded way, in words.
fn course(report: &ReplaySummary, peers: &Peers) -> String {
    let (messages, left) = peers.messages();
    let ReplaySummary { taken, taken_otherwise, sent, sent_recorded, .. } = report;
    let mut text = format!(
        "of {messages} recorded messages to it {left} have left for it, its receives have taken {taken}, \
         {taken_otherwise} of them by another receive; it has sent {sent} messages, recorded are {sent_recorded}"
    );
    if let Some(first) = &peers.sends().first {
        text += &format!("; {} otherwise: {first}", peers.sends().other);
    }
    if let Some(trouble) = peers.trouble() {
        text += &format!("; {trouble}");
    }
    text
}

/// The first difference between what was written then and now, in words. Times that the program has measured may
/// differ, and lines with one of the `ignored` texts.
fn difference(then: &[u8], now: &[u8], ignored: &[String]) -> Option<String> {
    let [then, now] = [then, now].map(String::from_utf8_lossy);
    let (mut then, mut now) = (then.lines(), now.lines());
    let is_ignored = |line: &str| ignored.iter().any(|text| line.contains(text.as_str()));
    for number in 1.. {
        match (then.next(), now.next()) {
            (None, None) => break,
            (Some(a), Some(b)) if without_times(a) == without_times(b) || is_ignored(a) && is_ignored(b) => {}
            (a, b) => {
                let shown = |line: Option<&str>| line.map_or("no such line".into(), |l| format!("{l:?}"));
                let (a, b) = (shown(a), shown(b));
                return Some(format!("line {number} of its output is {b}, recorded is {a}"));
            }
        }
    }
    None
}

/// A line with a placeholder for each number that a unit of time follows, and no more than one blank at a place.
fn without_times(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut out: Vec<&str> = vec![];
    for word in words {
        let unit = word.trim_end_matches(|c: char| c.is_ascii_punctuation());
        let is_unit = ["ps", "ns", "us", "ms", "s"].contains(&unit);
        match out.last_mut() {
            Some(number) if is_unit && number.parse::<f64>().is_ok() => *number = "<time>",
            _ => {}
        }
        out.push(word);
    }
    out.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_times_may_differ_and_nothing_else() {
        let same = |a: &str, b: &str| difference(a.as_bytes(), b.as_bytes(), &[]).is_none();
        assert!(same("cg: 12 steps, 0.25 ms, residual 1e-9\n", "cg: 12 steps,  13.5 ms, residual 1e-9\n"));
        assert!(same("took 3 us.", "took 4 us."));
        assert!(!same("error 3e-9", "error 4e-9"));
        assert!(!same("3 steps", "4 steps"), "no unit of time");
        assert!(!same("0.25 ms", "0.25 us"), "the unit is not a time");
        assert!(!same("a\nb\n", "a\n"));
        assert!(!same("a\n", "a\nb\n"));
        let text = difference(b"a\nb\n", b"a\nc\n", &[]).expect("they differ");
        assert_eq!(text, "line 2 of its output is \"c\", recorded is \"b\"");
    }

    #[test]
    fn lines_can_be_ignored() {
        let (then, now) = (b" Time in seconds = 0.1\nok", b" Time in seconds = 0.2\nok");
        assert!(difference(then, now, &[]).is_some());
        assert!(difference(then, now, &["Time in".into()]).is_none());
        assert!(difference(then, b"ok\nok", &["Time in".into()]).is_some(), "it must be there");
    }
}

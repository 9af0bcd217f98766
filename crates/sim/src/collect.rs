//! Results of a finished run.

use chasqui_config::Resolved;
use chasqui_engine::{Ended, Time};
use chasqui_machine::replay::Peers;
use chasqui_machine::{Built, Job, Machine};
use chasqui_network::Fabric;
use chasqui_node::{NodePartition, ProcessView, Region};
use chasqui_placement::{JobId, Rank};
use chasqui_record::{
    Busy, CallSummary, Limit, LinkLife, Lost, Message, MessageId, Messages, Outcome, Profile, RankSummary,
    RunDirectory, SUMMARY_VERSION, Stage, StatisticsTree, Summary, Timeline, Waits,
};

use crate::calls;
use crate::inputs;
use crate::limits::limited_by;
use crate::progress::Writing;
use crate::request::{SIGHUP, SIGINT, SIGPIPE, SIGTERM};
use crate::sandbox::{Limits, Reached};
use crate::shares::{self, FINALIZE, INIT};

/// What it exits with after a deadlock.
const DEADLOCK: i32 = 125;
/// What it exits with when simulated time would pass its end, or simulated or host time their limits, as timeout(1) does.
const OUT_OF_TIME: i32 = 124;
/// What it exits with when the programs write more than they may: as after SIGXFSZ.
const TOO_MUCH_OUTPUT: i32 = 128 + 25;
/// What it exits with when it takes more memory than it may: as after SIGKILL, by which Linux ends what takes too much.
const TOO_MUCH_MEMORY: i32 = 128 + 9;
/// What it exits with when a debugger has ended it.
const KILLED: i32 = 123;
/// What it exits with when the machine is broken: as after SIGBUS, by which Linux tells a process of a machine check.
const MACHINE_CHECK: i32 = 128 + 7;

/// How the engine came to its end.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub ended: Ended,
    /// The signal for which it was interrupted.
    pub signal: Option<i32>,
    /// The debugger has ended it.
    pub killed: bool,
    /// The limit for which it was interrupted.
    pub reached: Option<Reached>,
    /// The limits that it had.
    pub limits: Limits,
}

/// What is left of a machine that has run.
pub(crate) struct Remains {
    nodes: Vec<Box<NodePartition>>,
    fabric: Option<Fabric>,
    /// What stood for the other ranks of one that was simulated alone.
    peers: Option<Box<Peers>>,
}

impl Remains {
    pub fn of(built: Built) -> Remains {
        let mut remains = Remains { nodes: vec![], fabric: None, peers: None };
        let mut parts = vec![];
        for partition in built.engine.partitions() {
            let other = match partition.into_any().downcast::<NodePartition>() {
                Ok(node) => {
                    remains.nodes.push(node);
                    continue;
                }
                Err(other) => other,
            };
            match other.downcast::<Fabric>() {
                Ok(part) => parts.push(*part),
                Err(other) => remains.peers = other.downcast::<Peers>().ok(),
            }
        }
        remains.fabric = Fabric::join(parts);
        remains
    }
}

/// What a job leaves.
pub(crate) struct Results<'a> {
    pub summary: Summary,
    pub messages: Messages,
    statistics: StatisticsTree,
    /// Of its ranks, in their order.
    pub processes: Vec<ProcessView<'a>>,
    pub peers: Option<&'a Peers>,
    profiles: Vec<Profile>,
    links: Vec<LinkLife>,
    timeline: bool,
    /// Once they had begun its ranks were limited by waiting in MPI calls.
    pub is_waiting: bool,
}

impl<'a> Results<'a> {
    /// Of `job`, which has this number. What nodes and network counted, they counted for all jobs.
    pub fn collect(
        remains: &'a mut Remains,
        end: End,
        (machine, resolved): (&dyn Machine, &Resolved),
        (id, jobs): (JobId, &[Job]),
        writing: &Writing<'_>,
    ) -> Results<'a> {
        let Remains { nodes, fabric, peers } = remains;
        let job = &jobs[id.0 as usize];
        let broken_machine = broken_machine(nodes, fabric.as_ref());
        let statistics = statistics(nodes, fabric.as_ref(), peers.as_deref());
        let links = fabric.as_ref().map_or(vec![], links);
        nodes.iter_mut().for_each(|node| node.show(id));
        let recorders = nodes.iter_mut().flat_map(|node| node.take_recorders(id));
        let recorders = recorders.chain(peers.iter_mut().map(|peers| peers.take_recorder()));
        let messages = Messages::of(recorders.collect()).with_mechanisms(machine.mechanisms());
        writing.show(messages.rows().len());
        let mut profiles: Vec<_> = nodes.iter_mut().flat_map(|node| node.take_profiles(id)).collect();
        // Ranks, then firmware.
        profiles.sort_by_key(Profile::whose);
        inputs::name_programs(&mut profiles, job);
        let peers = peers.as_deref();
        let mut processes: Vec<_> = nodes.iter().flat_map(|node| node.processes(id)).collect();
        processes.sort_by_key(ProcessView::rank);
        let job_end = JobEnd::of(&processes, end);
        let found = broken_machine.as_ref().map_or(u64::MAX, |(at, _)| at.0);
        let (outcome, exit_status, mut message) =
            verdict((&processes, &messages), &job_end, broken_machine, end);
        // Ranks that wait are where they began to, and the run went on.
        let stopped_at = end.limits.stop_at.filter(|_| outcome == Outcome::Stopped);
        let time_ps = job_end.time.max(stopped_at.unwrap_or(Time::ZERO)).0.min(found);
        let others_until = job_end.others_until(&processes);
        if let Some(forced) = forced(&processes, resolved) {
            message += &format!("\n  {forced}");
        }
        if let Some(until) = others_until {
            message += &format!("\n{}", went_on(until));
        }
        let end_of = |p: &ProcessView<'_>| job_end.of_rank(p).map_or(time_ps, |at| at.0);
        let waits = shares::waits(&processes, &messages);
        let ranks: Vec<_> = processes.iter().map(|p| rank(p, end_of(p), &waits)).collect();
        let limited_by = limited_by(&processes, &ranks);
        let summary = Summary {
            schema_version: SUMMARY_VERSION,
            machine: resolved.name().to_string(),
            program: inputs::title(job),
            inputs: inputs::inputs(id, jobs),
            outcome,
            message,
            limit: limit(&processes, end),
            exit_status,
            time_ps,
            others_until_ps: others_until.map(|at| at.0),
            instructions: processes.iter().map(ProcessView::instructions).sum(),
            messages: messages.rows().len() as u64,
            limited_by: limited_by.text,
            ranks,
            stages: messages.summary(writing.threads),
            mechanisms: messages.by_mechanism(),
            replay: None,
        };
        let timeline = job.timeline_max > 0;
        let is_waiting = limited_by.is_waiting;
        Results { summary, messages, statistics, processes, peers, profiles, links, timeline, is_waiting }
    }

    /// Writes the files of the run directory. The small ones first: where the disk is full they are what is kept.
    pub fn write(
        &self,
        directory: &RunDirectory,
        resolved: &Resolved,
        writing: &Writing<'_>,
        lost: &mut Lost,
    ) {
        lost.note(directory.write_summary(&self.summary));
        lost.note(directory.write_resolved(&resolved.to_toml()));
        lost.note(directory.write_stats(&self.statistics));
        lost.note(directory.write_messages(&self.messages, writing.threads));
        if self.timeline {
            let ranks: Vec<_> = self.processes.iter().map(ProcessView::life).collect();
            let ends_ps: Vec<_> = self.summary.ranks.iter().map(|rank| rank.time_ps).collect();
            let (messages, links) = (&self.messages, &self.links[..]);
            let timeline = Timeline { ranks: &ranks, ends_ps: &ends_ps, name: &calls::name, messages, links };
            lost.note(directory.write_with("timeline.json", |out| timeline.write(out)));
        }
        if !self.profiles.is_empty() {
            let ranks: Vec<_> = self.profiles.iter().collect();
            lost.note(directory.write_with("profile.json", |out| chasqui_record::write_profile(out, &ranks)));
            lost.note(
                directory.write_with("profile.folded", |out| chasqui_record::write_folded(out, &ranks)),
            );
            lost.note(
                directory.write_with("profile.speedscope.json", |out| {
                    chasqui_record::write_speedscope(out, &ranks)
                }),
            );
        }
    }
}

/// How a job ended, according to its processes.
struct JobEnd {
    /// The last thing that a process did, or what ended the job before that affected others.
    time: Time,
    /// What happened to one of its processes, or to the machine, ended it.
    stopped: bool,
    /// When the engine stopped for all jobs.
    engine: Option<Time>,
}

impl JobEnd {
    fn of(processes: &[ProcessView<'_>], end: End) -> JobEnd {
        let engine = match end.ended {
            Ended::Stopped(at) => Some(at),
            _ => None,
        };
        let stop = processes.iter().filter_map(ProcessView::broke_job).min();
        let time = |p: &ProcessView<'_>| p.ended().map_or(p.now(), |(at, _)| *at);
        let last = processes.iter().map(time).max().unwrap_or(Time::ZERO);
        JobEnd { time: stop.unwrap_or(last), stopped: stop.or(engine).is_some(), engine }
    }

    /// When a rank's process ended, or was ended, if it was.
    fn of_rank(&self, p: &ProcessView<'_>) -> Option<Time> {
        p.ended().map(|(at, _)| *at).or(p.closed()).or(self.engine)
    }

    /// Until when ranks went on that what happened to another ended: it takes its time to affect them.
    fn others_until(&self, processes: &[ProcessView<'_>]) -> Option<Time> {
        let others = processes.iter().filter(|p| p.ended().is_none());
        others.filter_map(|p| self.of_rank(p)).max().filter(|at| *at > self.time)
    }
}

/// Of a process that ended then, or was ended.
fn rank(p: &ProcessView<'_>, time_ps: u64, waits: &Waits<'_>) -> RankSummary {
    let calls = CallSummary::of(p.life(), time_ps, &calls::name);
    let (shares, waits) = shares::shares(p, time_ps, waits);
    RankSummary {
        rank: p.rank().0,
        node: p.node().0,
        status: p.ended().map(|(_, how)| status_of(how)),
        instructions: p.instructions(),
        cycles: p.cycles(if p.ended().is_some() { Time::NEVER } else { Time(time_ps) }),
        time_ps,
        mpi_ps: calls.iter().map(|call| call.time_ps).sum(),
        unexpected: p.life().unexpected(),
        copied_aside: p.life().copied_aside(),
        shares,
        waits,
        calls,
    }
}

fn status_of(how: &chasqui_node::Ended) -> i32 {
    match how {
        chasqui_node::Ended::Exit(status) => *status,
        // Of an abort it is never that of success.
        chasqui_node::Ended::Abort { status, .. } => match *status & 0xff {
            0 => 1,
            low => low,
        },
        chasqui_node::Ended::Fault { signal, .. } => 128 + signal,
        chasqui_node::Ended::TooMuchOutput => TOO_MUCH_OUTPUT,
    }
}

/// What is to be said of ranks that went on until then.
fn went_on(until: Time) -> String {
    format!(
        "  other ranks ran on until {until}, when it took effect on them; what they did is in the results"
    )
}

/// The fault or abort that ended the job, or its process, the earliest: when, of which rank, what.
fn broken<'a>(processes: &[ProcessView<'a>]) -> Option<(Time, Rank, &'a chasqui_node::Ended)> {
    let broken = processes.iter().filter_map(|p| match p.ended() {
        Some((_, chasqui_node::Ended::Exit(_))) | None => None,
        Some((at, how)) => Some((*at, p.rank(), how)),
    });
    broken.min_by_key(|(at, rank, _)| (*at, *rank))
}

/// Which algorithms of collectives are forced, if an error in an MPI call ended the job: one of them may not do the case,
/// and the library does not say which it is.
fn forced(processes: &[ProcessView<'_>], resolved: &Resolved) -> Option<String> {
    let (_, _, chasqui_node::Ended::Abort { is_error: true, .. }) = broken(processes)? else { return None };
    let forced = chasqui_machine::forced_collectives(resolved);
    let option = |(name, word): &(&str, String)| format!("--mpi coll.{name}={word}");
    let options: Vec<String> = forced.iter().map(option).collect();
    (!options.is_empty()).then(|| format!("forced algorithms: {}", options.join(", ")))
}

/// What was found broken in the machine first: when, and what.
fn broken_machine(nodes: &[Box<NodePartition>], fabric: Option<&Fabric>) -> Option<(Time, String)> {
    let in_network = fabric.and_then(Fabric::broken).map(|error| (error.time, error.to_string()));
    let at_nodes = nodes.iter().filter_map(|n| n.broken_machine().cloned());
    in_network.into_iter().chain(at_nodes).min_by_key(|(at, _)| *at)
}

/// How the run ended, the command's exit status, and what there is to say.
fn verdict(
    (processes, messages): (&[ProcessView<'_>], &Messages),
    job_end: &JobEnd,
    broken_machine: Option<(Time, String)>,
    end: End,
) -> (Outcome, i32, String) {
    if let Some((at, text)) = broken_machine
        && broken(processes).is_none_or(|(first, ..)| at <= first)
    {
        return (Outcome::Fault, MACHINE_CHECK, text);
    }
    if let Some((at, rank, how)) = broken(processes) {
        return match how {
            chasqui_node::Ended::Fault { text, .. } => {
                // The others went on, perhaps until they waited for it.
                let others = match (job_end.stopped, ended_from_outside(processes, job_end, end)) {
                    (true, _) => String::new(),
                    (false, Some((.., text))) => text,
                    (false, None) => waiting(processes, messages, job_end.time),
                };
                let text = [text.as_str(), &others].join("\n");
                (Outcome::Fault, status_of(how), text.trim_end().to_string())
            }
            chasqui_node::Ended::TooMuchOutput => {
                let text = format!(
                    "{rank} at {at}: would write more than --limit-output {} allows all ranks together",
                    bytes(end.limits.output_bytes)
                );
                (Outcome::Aborted, status_of(how), text)
            }
            chasqui_node::Ended::Abort { status, by, .. } => {
                let text = format!("{rank} at {at}: status {status} by {by}");
                (Outcome::Aborted, status_of(how), text)
            }
            chasqui_node::Ended::Exit(_) => unreachable!("it breaks no job"),
        };
    }
    if let Some(found) = ended_from_outside(processes, job_end, end) {
        return found;
    }
    let status = largest_status(processes);
    let waiting = waiting(processes, messages, job_end.time);
    if end.ended == Ended::OutOfTime && !all_ended(processes) || is_out_of_time(processes) {
        return (Outcome::OutOfTime, OUT_OF_TIME, waiting);
    }
    match (unfinalized(processes), waiting.is_empty()) {
        (None, true) if never_detailed(processes) => (Outcome::Finished, status, NEVER_DETAILED.to_string()),
        (None, true) => (Outcome::Finished, status, String::new()),
        (Some(Left { failed: false, text }), true) => (Outcome::Finished, status, text),
        (Some(Left { failed: true, text }), true) => (Outcome::Aborted, status, text),
        (None, false) => (Outcome::Deadlock, DEADLOCK, waiting),
        // A process that leaves without goodbye takes the job with it, as MPI launchers have it.
        (Some(Left { text, .. }), false) => (Outcome::Aborted, status.max(1), format!("{text}\n{waiting}")),
    }
}

/// How the job ended, if a limit, a time that was set, or a signal ended it.
fn ended_from_outside(
    processes: &[ProcessView<'_>],
    job_end: &JobEnd,
    end: End,
) -> Option<(Outcome, i32, String)> {
    if let Some((status, text)) = limit_reached(processes, job_end, end) {
        return Some((Outcome::Aborted, status, text));
    }
    if let Some(text) = stopped(processes, job_end, end) {
        return Some((Outcome::Stopped, largest_status(processes), text));
    }
    // A job that had ended before that, or before a limit was reached, knows nothing of it.
    if end.ended != Ended::Interrupted || end.reached.is_some() || all_ended(processes) {
        return None;
    }
    if end.killed {
        let text = format!("ended by the debugger at {}{}", job_end.time, places(processes));
        return Some((Outcome::Interrupted, KILLED, text));
    }
    let signal = end.signal.unwrap_or(SIGINT);
    let by = match signal {
        SIGINT => "the user".to_string(),
        SIGTERM => "SIGTERM".to_string(),
        SIGHUP => "SIGHUP".to_string(),
        SIGPIPE => "the end of what reads its output".to_string(),
        other => format!("signal {other}"),
    };
    let text = format!("stopped by {by} at {}{}", job_end.time, places(processes));
    // As shells have it for a command that a signal ended.
    Some((Outcome::Interrupted, 128 + signal, text))
}

/// The largest exit status of the ranks that have ended.
fn largest_status(processes: &[ProcessView<'_>]) -> i32 {
    let statuses = processes.iter().filter_map(ProcessView::ended).map(|(_, how)| status_of(how));
    statuses.max().unwrap_or(0)
}

/// What there is to say of a job that came to the end that was set for it and is no limit, if it did.
fn stopped(processes: &[ProcessView<'_>], job_end: &JobEnd, end: End) -> Option<String> {
    let at = end.limits.stop_at.filter(|_| end.limits.stops() && end.reached.is_none())?;
    let running = processes.iter().filter(|p| p.ended().is_none()).count();
    let is_stopped = end.ended == Ended::OutOfTime && running > 0;
    let (ranks, later) = (processes.len(), lasts(at, job_end.time));
    is_stopped
        .then(|| format!("stopped at {at} by --stop-at{later}; {running} of {ranks} ranks had not ended"))
}

/// What there is to say where the job's time ended after `end`. Nothing begins then, but a system call, as a write, may last
/// longer; an instruction does by too little to see.
fn lasts(end: Time, until: Time) -> String {
    match until > end && until.to_string() != end.to_string() {
        true => format!("; what ranks had begun before lasts until {until}, and is in the results"),
        false => String::new(),
    }
}

fn all_ended(processes: &[ProcessView<'_>]) -> bool {
    processes.iter().all(|p| p.ended().is_some())
}

/// The limit that ended the job, if one did.
fn limit(processes: &[ProcessView<'_>], end: End) -> Option<Limit> {
    if let Some((_, _, chasqui_node::Ended::TooMuchOutput)) = broken(processes) {
        return Some(Limit::Output);
    }
    // A job that broke knows nothing of a limit that others reached.
    if all_ended(processes) || processes.iter().any(|p| p.broke_job().is_some()) {
        return None;
    }
    match end.reached {
        Some(Reached::Memory(_)) => Some(Limit::Memory),
        Some(Reached::HostTime) => Some(Limit::HostTime),
        None => {
            let is_limit = end.limits.time.is_some() && !end.limits.stops();
            (is_limit && end.ended == Ended::OutOfTime).then_some(Limit::Time)
        }
    }
}

/// The exit status and what there is to say, if a limit ended the job.
fn limit_reached(processes: &[ProcessView<'_>], job_end: &JobEnd, end: End) -> Option<(i32, String)> {
    if all_ended(processes) {
        return None;
    }
    let (at, places) = (job_end.time, places(processes));
    match (end.reached, end.limits.time) {
        (Some(Reached::Memory(taken)), _) => {
            let most = processes.iter().max_by_key(|p| p.memory_bytes()).expect("a job has ranks");
            let text = format!(
                "stopped at {at}: the simulation takes {} of the host's memory, --limit-memory {} allows no more; {} has the \
                 most, {}{places}",
                bytes(taken),
                bytes(end.limits.memory_bytes),
                most.rank(),
                bytes(most.memory_bytes()),
            );
            Some((TOO_MUCH_MEMORY, text))
        }
        (Some(Reached::HostTime), _) => {
            let limit = end.limits.host_time.expect("it was reached").as_secs_f64();
            Some((OUT_OF_TIME, format!("stopped at {at} by --limit-host-time {limit} s{places}")))
        }
        (None, Some(limit)) if end.ended == Ended::OutOfTime && !end.limits.stops() => {
            let later = lasts(limit, at);
            Some((OUT_OF_TIME, format!("stopped at {limit} by --limit-time{later}{places}")))
        }
        _ => None,
    }
}

/// A number of bytes, short.
fn bytes(count: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, size)| count >= *size) {
        Some((unit, size)) if count.is_multiple_of(size) => format!("{} {unit}", count / size),
        Some((unit, size)) => format!("{:.1} {unit}", count as f64 / size as f64),
        None => format!("{count} B"),
    }
}

/// What there is to say of a run that was fast-forwarded to its end.
const NEVER_DETAILED: &str = "--fast-forward: no rank came to a part of interest (MPI_Pcontrol(1), \
    chasqui_region_begin): nothing was simulated in detail";

fn never_detailed(processes: &[ProcessView<'_>]) -> bool {
    // Threads are not fast-forwarded.
    processes.iter().all(|p| p.region() == Some(Region::Ahead) && p.started() == 1)
}

/// Ranks that exited after MPI_Init without MPI_Finalize, or with a status other than 0 before others' MPI_Init.
struct Left {
    /// Some of them with a status other than 0.
    failed: bool,
    /// The first of these, or else the first of all, in words.
    text: String,
}

/// Those that did so; `None`: there are none.
fn unfinalized(processes: &[ProcessView<'_>]) -> Option<Left> {
    let called = |p: &ProcessView<'_>, name: &str| {
        let end = p.ended().map_or(u64::MAX, |(at, _)| at.0);
        CallSummary::of(p.life(), end, &calls::name).iter().any(|call| call.name == name)
    };
    let is_mpi = processes.iter().any(|p| called(p, INIT));
    let left = processes.iter().filter_map(|p| {
        let Some((at, chasqui_node::Ended::Exit(status))) = p.ended() else { return None };
        let has_begun = called(p, INIT);
        let is_left = if has_begun { !called(p, FINALIZE) } else { is_mpi && *status != 0 };
        is_left.then(|| (*at, p.rank(), *status, if has_begun { FINALIZE } else { INIT }))
    });
    let left: Vec<(Time, Rank, i32, &str)> = left.collect();
    let failed = left.iter().any(|(_, _, status, _)| *status != 0);
    let alike = || left.iter().filter(|(_, _, status, _)| failed == (*status != 0));
    let (at, rank, status, without) = alike().min()?;
    let text = format!("{rank} at {at}: exited with status {status} without {without}");
    let text = match alike().count() - 1 {
        0 => text,
        1 => format!("{text} (and 1 more rank)"),
        more => format!("{text} (and {more} more ranks)"),
    };
    Some(Left { failed, text })
}

/// Some rank would go on by itself, but simulated time ends before: that is no deadlock.
fn is_out_of_time(processes: &[ProcessView<'_>]) -> bool {
    processes.iter().any(ProcessView::waits_beyond_time)
}

/// Whole days of simulated time.
const END_DAYS: u64 = Time::END.0 / (24 * 3600 * 1_000_000_000_000);

/// Ranks listed in a deadlock's report.
const LISTED: usize = 16;

/// Messages that a rank has not received, of which the report tells.
const UNMATCHED_LISTED: usize = 3;

/// Who waits for what, and which messages to it have met no receive: a line each.
fn waiting(processes: &[ProcessView<'_>], messages: &Messages, end: Time) -> String {
    let waits: Vec<_> = processes.iter().filter(|p| p.waits()).collect();
    if waits.is_empty() {
        return String::new();
    }
    let ended = processes.len() - waits.len();
    let what = match is_out_of_time(processes) {
        true => format!("out of time at {}: simulated time ends after {END_DAYS} days;", end),
        false => format!("deadlock at {}:", end),
    };
    let mut text = format!("{what} {} of {} ranks wait", waits.len(), processes.len());
    if ended > 0 {
        text += &format!(", {ended} {} exited", if ended == 1 { "has" } else { "have" });
    }
    let (unmatched, unless) = (messages.unmatched(), unless(processes, end));
    for p in waits.iter().take(LISTED) {
        let waits = p.waiting_for(&calls::name);
        text += &format!("\n  {}{} waits for {waits}", p.rank(), in_call(p));
        let found = u16::try_from(p.rank().0).ok().and_then(|rank| unmatched.get(&rank));
        text += &found.map_or(String::new(), |found| unmet(found, &waits, &unless));
    }
    if waits.len() > LISTED {
        text += &format!("\n  and {} more", waits.len() - LISTED);
    }
    text
}

/// Messages that have met no receive, a line each: first those that are most like what the rank `waits` for.
fn unmet(found: &[&Message], waits: &str, unless: &str) -> String {
    let unlike = |message: &&&Message| {
        let tag = message.description.map_or(0, |description| description.tag);
        let is_from = waits.contains(&format!("from rank {} ", message.id.source));
        (!is_from, !waits.contains(&format!("with tag {tag} in ")))
    };
    let mut first: Vec<&&Message> = found.iter().collect();
    first.sort_by_key(unlike);
    let line = |message: &&Message| {
        let sent = Time(message.time(Stage::Call)?);
        Some(format!("\n    no receive has met {}, sent at {sent}{unless}", message.in_words()?))
    };
    let mut text: String = first.into_iter().take(UNMATCHED_LISTED).filter_map(line).collect();
    if found.len() > UNMATCHED_LISTED {
        text += &format!("\n    and {} more", found.len() - UNMATCHED_LISTED);
    }
    text
}

/// What else may have become of a message that has met no receive, in this program.
fn unless(processes: &[ProcessView<'_>], end: Time) -> String {
    let called = |wanted: &[&str]| {
        let of = |p: &ProcessView<'_>| CallSummary::of(p.life(), end.0, &calls::name);
        processes.iter().any(|p| of(p).iter().any(|call| wanted.contains(&call.name.as_str())))
    };
    let mut reasons = vec![];
    if called(&["MPI_Cancel"]) {
        reasons.push("it was cancelled");
    }
    if called(&["MPI_Mprobe", "MPI_Improbe"]) {
        reasons.push("a matched probe has taken it");
    }
    if reasons.is_empty() { String::new() } else { format!(" (unless {})", reasons.join(", or ")) }
}

/// Where the ranks are that have not ended, a line each.
fn places(processes: &[ProcessView<'_>]) -> String {
    let running: Vec<_> = processes.iter().filter(|p| p.ended().is_none()).collect();
    let mut text = String::new();
    for p in running.iter().take(LISTED) {
        text += &format!("\n  {}{}, {}", p.rank(), in_call(p), p.places());
    }
    if running.len() > LISTED {
        text += &format!("\n  and {} more", running.len() - LISTED);
    }
    text
}

/// The MPI calls that a process's threads are in, in words.
fn in_call(p: &ProcessView<'_>) -> String {
    let mut calls: Vec<&str> = (0..p.harts().count())
        .filter_map(|i| p.life().current_call(i))
        .map(|(n, _)| calls::name(n))
        .collect();
    calls.dedup();
    if calls.is_empty() { String::new() } else { format!(" in {}", calls.join(", ")) }
}

/// The links of the network, with the packets that were kept.
fn links(fabric: &Fabric) -> Vec<LinkLife> {
    let mut links = vec![];
    fabric.visit_traffic(&mut |from, to, passages| {
        let busy = passages.iter().map(|p| Busy {
            from_ps: p.start.0,
            to_ps: p.end.0,
            bytes: p.bytes,
            message: p.message.map(|(source, sequence)| MessageId { source, sequence }),
        });
        links.push(LinkLife { name: format!("{from} to {to}"), busy: busy.collect() });
    });
    links
}

fn statistics(
    nodes: &[Box<NodePartition>],
    fabric: Option<&Fabric>,
    peers: Option<&Peers>,
) -> StatisticsTree {
    let mut tree = StatisticsTree::new();
    for nodes in nodes {
        for (place, node) in nodes.domain().members().iter().enumerate() {
            tree.group(&format!("node{:05}", node.number.0), |visit| nodes.visit_statistics(place, visit));
        }
    }
    if let Some(fabric) = fabric {
        tree.group("network", |visit| fabric.visit(visit));
    }
    if let Some(peers) = peers {
        tree.group("peers", |visit| peers.visit(visit));
    }
    tree
}

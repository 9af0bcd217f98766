//! A run, from request to results.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZero;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use chasqui_config::{Resolved, Scalar};
use chasqui_engine::{Threads, Time};
use chasqui_linux::{Elf, Mounts};
use chasqui_machine::replay::Replay;
use chasqui_machine::{Built, Firmware, Job, Machine, Workload, library_settings, shared_bytes, wait_polls};
use chasqui_node::{Checks, NodeConfiguration, Output};
use chasqui_placement::{JobId, MapBy, NodeId, Placement};
use chasqui_record::{Host, RunDirectory, Summary};
use chasqui_watch::WatchPlan;
use serde::Serialize;

use crate::CATALOGUE;
use crate::catalogue::machines_with_several_jobs;
use crate::collect::{End, Remains, Results};
use crate::gdb::{Gdb, GdbEnd};
use crate::images::{firmware, kernel};
use crate::input_error::{InputError, input};
use crate::output::{JobOutput, Streams};
use crate::programs::{self, Asked, JobPrograms};
use crate::progress::{OnProgress, Over, Reporter, Writing};
use crate::replay;
use crate::request::{Options, Request, SIGPIPE, StandardInput};
use crate::room;
use crate::running::Running;
use crate::sandbox::{self, Limits, quantity};
use crate::standard_input::RankInput;
use crate::trace_window;

/// A summary with what belongs to the host.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// As in `summary.json`.
    #[serde(flatten)]
    pub summary: Summary,
    /// As in `host.json`.
    pub host: Host,
    /// Where the results are.
    pub directory: PathBuf,
    /// Those of the other jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Report>,
    /// What of the results could not be written, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Nothing reads the ranks' output any more: a closed pipe. The run has stopped for that, unless it had ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unread: bool,
    /// Why not all of the ranks' output came to the terminal, or where it is led to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unshown: Option<String>,
    /// What might make the run faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// Runs a program on a machine and writes the run directory. `progress` is called a few times a second and
/// returns the signal for which to stop.
///
/// # Errors
/// What is wrong with the input; nothing is written then, but for a program that turns out not to be recordable.
pub fn run(request: &Request, progress: OnProgress<'_>) -> Result<Report, InputError> {
    let begin = Instant::now();
    let started = SystemTime::now();
    let plan = Plan::of(request)?;
    plan.check_room(request)?;
    let gdb = plan.gdb(request)?;
    let recording = replay::destination(request)?;
    let directories = directories(request)?;
    let ranks: Vec<_> = directories.iter().zip(plan.simulated()).collect();
    let trace = plan.watch.trace.as_ref();
    let streams =
        Streams::new(&ranks, request.echo, request.options.clear_line, trace, plan.limits.output_bytes);
    let streams = Arc::new(streams.map_err(input)?);
    let work = plan.work(request, &streams)?;
    let (machine, resolved, threads) = (plan.machine, &plan.resolved, plan.threads);
    let built = build(machine, resolved, &work, threads.count()).inspect_err(|_| remove(request))?;
    let jobs = work.jobs;
    let simulation = Instant::now();
    let reporter = Reporter::new(&streams, progress, &plan.limits, built.engine.interrupt());
    let running = Running {
        built,
        jobs: jobs.len(),
        threads,
        limits: &plan.limits,
        streams: &streams,
        reporter: &reporter,
    };
    let (end, built) = simulate(running, gdb);
    let simulation_s = simulation.elapsed().as_secs_f64();
    let together = (threads.count(), built.engine.steps_together());
    let (mut lost, unshown) = streams.finish();
    let unread = streams.is_unread() || end.signal == Some(SIGPIPE);
    let mut remains = Remains::of(built);
    let writing = Writing { reporter: &reporter, threads: threads.count() };
    let mut summaries = vec![];
    let mut waits_for_messages = false;
    for ((id, job), directory) in (0..).map(JobId).zip(&jobs).zip(&directories) {
        let mut results = Results::collect(&mut remains, end, (machine, resolved), (id, &jobs), &writing);
        let to = recording.as_ref();
        let driven = replay::finish(request, job, &mut results, directory, resolved, to, &mut lost);
        results.write(directory, resolved, &writing, &mut lost);
        driven?;
        waits_for_messages |= results.is_waiting && results.summary.messages > 0;
        summaries.push(results.summary);
    }
    let host = host(request, &summaries, together, started, (simulation_s, begin.elapsed().as_secs_f64()));
    let advice = advice(request, &plan).filter(|_| waits_for_messages);
    let mut reports = summaries.into_iter().zip(&directories).map(|(summary, directory)| {
        lost.note(directory.write_host(&host));
        lost.note_place(directory.path(), directory.is_there());
        let directory = directory.path().to_path_buf();
        let host = host.clone();
        let (others, lost) = (vec![], vec![]);
        Report { summary, host, directory, others, lost, unread: false, unshown: None, advice: None }
    });
    let first = reports.next().expect("there is a job");
    let others = reports.collect();
    Ok(Report { others, lost: lost.lines(), unread, unshown, advice, ..first })
}

/// Whether [`run`] could begin. Nothing is written.
///
/// # Errors
/// Those of [`run`].
pub fn check(request: &Request) -> Result<(), InputError> {
    let plan = Plan::of(request)?;
    plan.check_room(request)?;
    RunDirectory::check(&request.directory).map_err(input)?;
    let work = plan.work(request, &Streams::nowhere())?;
    build(plan.machine, &plan.resolved, &work, plan.threads.count()).map(drop)
}

/// What a request asks for, read and checked.
struct Plan {
    machine: &'static dyn Machine,
    resolved: Resolved,
    replay: Option<Replay>,
    programs: Vec<JobPrograms>,
    placement: Placement,
    watch: WatchPlan,
    firmware: Firmware,
    kernel: Option<Arc<Elf>>,
    threads: Threads,
    mounts: Arc<Mounts>,
    limits: Limits,
}

impl Plan {
    fn of(request: &Request) -> Result<Plan, InputError> {
        let (machine, resolved) = resolve(&request.machine, &request.sets)?;
        replay::check_record(request)?;
        let replay = replay::replay(request, machine, &resolved)?;
        let request = &placed(request, machine, &resolved);
        let programs = programs(request, replay.as_ref(), machine, &resolved)?;
        replay::check_program(request, replay.as_ref(), programs[0].only())?;
        let placement = placement(request, &programs)?;
        let ranks = programs.iter().map(JobPrograms::ranks).max().expect("there is a job");
        let watch = watch(&request.options, ranks)?;
        let firmware = firmware(request.firmware.as_deref(), machine)?;
        let kernel = kernel(request.firmware.as_deref(), machine, &resolved, placement.processes())?;
        // A debugger looks at all between two turns of the engine.
        let asked = if request.options.gdb.is_some() { 1 } else { request.options.threads };
        let threads = threads(asked, placement.nodes());
        let (mounts, limits) = (sandbox::mounts(&request.sandbox)?, Limits::of(request)?);
        Ok(Plan {
            machine,
            resolved,
            replay,
            programs,
            placement,
            watch,
            firmware,
            kernel,
            threads,
            mounts,
            limits,
        })
    }

    /// The debugger that is to be waited for.
    fn gdb(&self, request: &Request) -> Result<Option<Gdb>, InputError> {
        let simulated = self.simulated().next().expect("there is a job");
        Gdb::of(request, simulated, (self.machine, &NodeConfiguration::read(&self.resolved)))
    }

    /// Whether the host has room for all the nodes.
    fn check_room(&self, request: &Request) -> Result<(), InputError> {
        if self.replay.is_some() {
            return Ok(());
        }
        room::check(self.placement.nodes(), self.resolved.name(), |nodes| {
            let Workload { jobs, shared_bytes, .. } = self.work(request, &Streams::nowhere())?;
            let per_node = self.placement.per_node();
            let ranks = vec![nodes * per_node; jobs.len()];
            let placement = Placement::new(ranks, per_node, self.placement.map_by());
            build(self.machine, &self.resolved, &Workload { jobs, placement, shared_bytes }, 1)
        })
    }

    /// The ranks of each job that are simulated.
    fn simulated(&self) -> impl Iterator<Item = Range<u32>> {
        let only = self.replay.as_ref().map(|replay| replay.rank..replay.rank + 1);
        self.programs.iter().map(move |programs| only.clone().unwrap_or(0..programs.ranks()))
    }

    /// What runs; its output goes to `streams`.
    fn work(&self, request: &Request, streams: &Arc<Streams>) -> Result<Workload, InputError> {
        let mut first = 0;
        let mut jobs = vec![];
        for (number, (programs, simulated)) in (0..).zip(self.programs.iter().zip(self.simulated())) {
            let number = (self.programs.len() > 1).then_some(JobId(number));
            let (streams, first_rank) = (streams.clone(), simulated.start);
            let output = Arc::new(JobOutput {
                streams,
                job: number,
                first,
                first_rank,
                harts: self.machine.harts_parameter(),
            });
            first += programs.ranks();
            let reads = if jobs.is_empty() { request.stdin } else { StandardInput::None };
            let input = Arc::new(RankInput::new(reads, output.clone()));
            let common = job(request, &self.resolved, programs, self.threads.count(), output)?;
            let (watch, firmware, kernel) = (self.watch.clone(), self.firmware.clone(), self.kernel.clone());
            let (mounts, replay) = (self.mounts.clone(), self.replay.clone());
            jobs.push(Job { watch, firmware, kernel, mounts, input, replay, ..common });
        }
        let placement = self.placement.clone();
        let shared_bytes = shared_bytes(&self.resolved, placement.per_node());
        Ok(Workload { jobs, placement, shared_bytes })
    }
}

/// The programs of all jobs.
fn programs(
    request: &Request,
    replay: Option<&Replay>,
    machine: &dyn Machine,
    resolved: &Resolved,
) -> Result<Vec<JobPrograms>, InputError> {
    check_jobs(request, machine, resolved)?;
    if request.options.fast_forward {
        machine.fast_forwards().map_err(InputError)?;
    }
    check_ranks_per_node(request, machine, resolved)?;
    let check = |ranks: i64| check_ranks(ranks, per_node(request), machine, resolved);
    let load = |asked: Vec<Asked<'_>>| {
        asked.iter().try_for_each(|program| check(program.ranks))?;
        check(asked.iter().map(|program| program.ranks).sum())?;
        JobPrograms::load(&asked)
    };
    programs::asked(request, replay).into_iter().map(load).collect()
}

/// Requirements of several jobs on the machine.
fn check_jobs(request: &Request, machine: &dyn Machine, resolved: &Resolved) -> Result<(), InputError> {
    let (jobs, max) = (1 + request.others.len(), machine.jobs_max());
    if jobs <= max {
        return Ok(());
    }
    let name = resolved.name();
    if max > 1 {
        return Err(InputError(format!("{name} runs {max} jobs at a time, {jobs} were given")));
    }
    let several = machines_with_several_jobs().join(", ");
    Err(InputError(format!("{name} runs one job at a time, {jobs} were given; several run on {several}")))
}

/// How many processes of the node's are on how many harts.
#[derive(Clone, Copy)]
struct OnHarts {
    processes: usize,
    harts: usize,
}

impl OnHarts {
    fn of(request: &Request, machine: &dyn Machine, resolved: &Resolved) -> OnHarts {
        let processes = (1 + request.others.len()) * per_node(request) as usize;
        OnHarts { processes, harts: machine.harts(resolved, processes) }
    }

    /// Some hart has more than one process.
    fn are_shared(self) -> bool {
        !self.harts.is_multiple_of(self.processes)
    }
}

/// Processes of a node have harts of their own, as many each; or they share harts, which a kernel image deals out to any
/// number of them, and the simulator one to the jobs of a node.
fn check_harts(request: &Request, machine: &dyn Machine, resolved: &Resolved) -> Result<(), InputError> {
    let node = NodeConfiguration::read(resolved);
    let on = OnHarts::of(request, machine, resolved);
    let OnHarts { processes, harts } = on;
    if node.core.handler_contexts > 0 && processes > 1 {
        return Err(InputError(format!(
            "node.core.handler_contexts with {processes} processes a node: handlers and the interrupt controller are \
             those of 1 process"
        )));
    }
    if !on.are_shared() {
        return Ok(());
    }
    let is_one_each = harts == 1 && per_node(request) == 1;
    let may_share = if node.software.kernel { processes > harts } else { is_one_each };
    if !may_share {
        return Err(no_harts(request, machine, resolved, on));
    }
    let options = &request.options;
    let watched = [
        ("--profile", options.profile && !machine.profiles_beside_harts()),
        ("--trace-instructions", options.trace_instructions.is_some()),
        ("--fast-forward", options.fast_forward),
        ("--access-times", options.access_times),
    ];
    let Some((option, _)) = watched.iter().find(|(_, asked)| *asked) else { return Ok(()) };
    let several = if harts == 1 { "hart" } else { "harts" };
    let own = own_harts(machine, resolved, processes)
        .map_or(String::new(), |set| format!("; {set} gives each its own"));
    Err(InputError(format!(
        "{option} needs a hart for each process: {processes} processes share {harts} {several}{own}"
    )))
}

/// Harts that a node can have.
fn harts_max(machine: &dyn Machine, resolved: &Resolved) -> i64 {
    let harts = resolved.parameter(machine.harts_parameter()).expect("every machine has nodes");
    let range = harts.declaration.range.as_ref();
    let Some((_, Scalar::Integer(most))) = range else { panic!("it has a range") };
    *most
}

/// What gives so many `processes` harts of their own, if a node can have so many.
fn own_harts(machine: &dyn Machine, resolved: &Resolved, processes: usize) -> Option<String> {
    let fits = processes as i64 <= harts_max(machine, resolved);
    fits.then(|| format!("--set {}={processes}", machine.harts_parameter()))
}

/// The processes have no harts, in words: with what they would have.
fn no_harts(request: &Request, machine: &dyn Machine, resolved: &Resolved, on: OnHarts) -> InputError {
    const KERNEL: &str = "node.software.kernel=true";
    let OnHarts { processes, harts } = on;
    let each = per_node(request);
    let jobs = 1 + request.others.len();
    let of = if jobs > 1 { format!(" with {jobs} jobs") } else { String::new() };
    let parameter = machine.harts_parameter();
    let own = match own_harts(machine, resolved, processes) {
        Some(set) => format!("multiples of {processes} are allowed ({set})"),
        None => format!("a node has {} at most", harts_max(machine, resolved)),
    };
    let with_kernel = [&request.sets[..], &[KERNEL.to_string()]].concat();
    let may_share = processes > harts && resolve(&request.machine, &with_kernel).is_ok();
    let shared =
        if may_share { format!(", and ranks may share harts with --set {KERNEL}") } else { String::new() };
    InputError(format!(
        "--ranks-per-node {each}{of}: each rank has harts of its own, and {parameter} = {harts}; {own}{shared}"
    ))
}

/// The run directory; with several jobs each has its own below it, job0, job1 and so on.
fn directories(request: &Request) -> Result<Vec<RunDirectory>, InputError> {
    if request.others.is_empty() {
        return Ok(vec![RunDirectory::create(&request.directory).map_err(input)?]);
    }
    let whole = RunDirectory::create(&request.directory).map_err(input)?;
    let names = (0..=request.others.len()).map(|job| whole.path().join(format!("job{job}")));
    names.map(|path| RunDirectory::create(path).map_err(input)).collect()
}

/// The machine called `name` with its parameters.
pub(crate) fn resolve(name: &str, sets: &[String]) -> Result<(&'static dyn Machine, Resolved), InputError> {
    let resolved = chasqui_config::resolve(&CATALOGUE, name, sets).map_err(input)?;
    let machine = CATALOGUE.find(resolved.base()).expect("a resolved machine is of the catalogue");
    let mistakes = machine.mistakes(&resolved);
    if mistakes.is_empty() {
        Ok((machine, resolved))
    } else {
        Err(input(resolved.contradictions(name, &mistakes)))
    }
}

/// Ranks of the largest job: the width of a rank in an envelope.
const RANKS_MAX: u64 = 1 << 16;

fn check_ranks(
    ranks: i64,
    per_node: i64,
    machine: &dyn Machine,
    resolved: &Resolved,
) -> Result<(), InputError> {
    let max = RANKS_MAX.min(u64::from(machine.nodes_max(resolved)) * per_node as u64);
    match u32::try_from(ranks) {
        Ok(n) if (1..=max).contains(&u64::from(n)) => Ok(()),
        _ => {
            let each = if per_node == 1 { "one".to_string() } else { per_node.to_string() };
            let name = resolved.name();
            Err(InputError(format!("{ranks} ranks on {name}: 1 to {max} are allowed ({each} a node)")))
        }
    }
}

/// Ranks that share a node.
fn check_ranks_per_node(
    request: &Request,
    machine: &dyn Machine,
    resolved: &Resolved,
) -> Result<(), InputError> {
    let asked = per_node(request);
    let max = machine.ranks_per_node_max(resolved);
    if !(1..=i64::from(max)).contains(&asked) {
        let allowed = if max == 1 { "1 is".to_string() } else { format!("1 to {max} are") };
        let name = resolved.name();
        return Err(InputError(format!("--ranks-per-node {asked} on {name}: {allowed} allowed")));
    }
    if asked > 1 && request.only_rank.is_some() {
        return Err(InputError(format!(
            "--ranks-per-node {asked} with --only-rank: the node of the rank has no other"
        )));
    }
    check_harts(request, machine, resolved)
}

/// How many ranks a node has, once that is known.
fn per_node(request: &Request) -> i64 {
    request.ranks_per_node.expect("the request says it, or has been placed")
}

/// The request, with how many ranks a node has.
fn placed(request: &Request, machine: &dyn Machine, resolved: &Resolved) -> Request {
    let mut placed = request.clone();
    placed
        .ranks_per_node
        .get_or_insert_with(|| machine.ranks_per_node(resolved, programs::ranks(request)).into());
    placed
}

/// Where the ranks are.
fn placement(request: &Request, programs: &[JobPrograms]) -> Result<Placement, InputError> {
    let map_by = MapBy::parse(&request.map_by)
        .ok_or_else(|| InputError(format!("--map-by {}: slot and node are allowed", request.map_by)))?;
    let ranks = programs.iter().map(JobPrograms::ranks).collect();
    Ok(Placement::new(ranks, per_node(request) as u32, map_by))
}

/// What is watched of the ranks.
fn watch(options: &Options, ranks: u32) -> Result<WatchPlan, InputError> {
    let trace = options.trace_instructions.as_deref().map(|text| trace_window::parse(text, ranks));
    let (profile, accesses) = (options.profile, options.access_times);
    Ok(WatchPlan { profile, accesses, trace: trace.transpose().map_err(InputError)? })
}

/// Host threads, of which more than ranks are of no use; by themselves as many as the host has.
fn threads(asked: usize, ranks: u32) -> Threads {
    let ranks = ranks as usize;
    match asked {
        0 => Threads::UpTo(std::thread::available_parallelism().map_or(1, |n| n.get()).min(ranks)),
        count => Threads::Exactly(count.min(ranks)),
    }
}

/// The longest time over which ranks may begin.
const JITTER_MAX: Time = Time(10 * 10_u64.pow(12));

fn job(
    request: &Request,
    resolved: &Resolved,
    programs: &JobPrograms,
    threads: usize,
    output: Arc<dyn Output>,
) -> Result<Job, InputError> {
    Ok(Job {
        programs: programs.for_threads(threads),
        firmware: Firmware::default(),
        kernel: None,
        environment: request.env.iter().map(|(k, v)| format!("{k}={v}")).collect(),
        mounts: Arc::default(),
        input: Arc::new(vec![]),
        seed: request.options.seed,
        jitter: jitter(request)?,
        timeline_max: request.options.timeline,
        mpi_settings: library_settings(resolved),
        fast_forward: request.options.fast_forward,
        watch: WatchPlan::default(),
        keep: replay::keep(request),
        trace: request.trace.clone(),
        replay: None,
        output,
    })
}

/// The latest at which a rank begins.
fn jitter(request: &Request) -> Result<Time, InputError> {
    let jitter = quantity("--jitter", &request.options.jitter, chasqui_config::Duration::ps)?;
    match jitter.map(Time).unwrap_or_default() {
        jitter if jitter <= JITTER_MAX => Ok(jitter),
        jitter => Err(InputError(format!("--jitter {jitter}: at most {JITTER_MAX} is allowed"))),
    }
}

/// The machine with the work on it, for so many host threads.
pub(crate) fn build(
    machine: &dyn Machine,
    resolved: &Resolved,
    work: &Workload,
    threads: usize,
) -> Result<Built, InputError> {
    let mut built = machine.build(resolved, work, threads).map_err(InputError)?;
    let checks: Checks = resolved.read("check");
    built.engine.set_window(Time(checks.window.ps()));
    Ok(built)
}

/// What might make such a run faster that waits for messages, if anything, in words.
fn advice(request: &Request, plan: &Plan) -> Option<String> {
    let here = plan.placement.on(NodeId(0)).count();
    let is_shared = here > plan.machine.harts(&plan.resolved, here);
    // Who waits for messages by memory polls on every machine.
    let by_memory = shared_bytes(&plan.resolved, plan.placement.per_node()) > 0;
    let polls = (by_memory || plan.machine.waits_by_polling(&plan.resolved, 1 + request.others.len()))
        && wait_polls(&plan.resolved) == 0;
    (is_shared && polls)
        .then(|| "ranks share harts and poll for messages: --mpi wait.polls=50 has them yield".into())
}

/// Nothing half-written stays.
fn remove(request: &Request) {
    // The directory was made by this run and holds only empty streams.
    let _ = std::fs::remove_dir_all(&request.directory);
}

/// Runs the jobs to their ends, under the debugger if there is one.
fn simulate(mut running: Running<'_>, gdb: Option<Gdb>) -> (End, Built) {
    let Running { built, limits, reporter, .. } = &mut running;
    let (limits, reporter) = (*limits, *reporter);
    if let Some(end) = limits.end() {
        built.engine.set_end(end);
    }
    reporter.look_at_limits();
    let GdbEnd { ended, killed } = std::thread::scope(|scope| {
        let _over = Over(reporter);
        scope.spawn(|| reporter.look_now_and_then());
        match gdb {
            Some(gdb) => gdb.run(&mut running),
            None => GdbEnd { ended: running.run_on(), killed: false },
        }
    });
    let (signal, reached) = (reporter.signal(), reporter.reached());
    (End { ended, signal, killed, reached, limits: *limits }, running.built)
}

/// The variables of the command's environment by which it is steered.
fn heeded() -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
    };
    std::env::vars_os().map(text).filter(|(name, _)| name.starts_with("CHASQUI_")).collect()
}

/// The host, as `Linux 6.12.1 x86_64`.
fn system() -> String {
    let name = rustix::system::uname();
    [name.sysname(), name.release(), name.machine()].map(|part| part.to_string_lossy()).join(" ")
}

fn host(
    request: &Request,
    summaries: &[Summary],
    (threads, steps_together): (usize, u64),
    started: SystemTime,
    (simulation_s, total_s): (f64, f64),
) -> Host {
    let sum = |of: fn(&Summary) -> u64| summaries.iter().map(of).sum::<u64>() as f64;
    Host {
        version: env!("CARGO_PKG_VERSION").to_string(),
        command: request.command.clone(),
        program: request.program.to_string_lossy().into_owned(),
        working_directory: std::env::current_dir().ok().map(|path| path.to_string_lossy().into_owned()),
        environment: heeded(),
        system: system(),
        processors: std::thread::available_parallelism().ok().map(NonZero::get),
        started_unix_s: started.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        simulation_s,
        total_s,
        instructions_millions_per_s: sum(|s| s.instructions) / simulation_s / 1e6,
        messages_per_s: sum(|s| s.messages) / simulation_s,
        threads: threads as u32,
        steps_together,
        memory_bytes_max: sandbox::memory_bytes("VmHWM"),
    }
}

//! A run under a debugger (`--gdb`): what connects gdb's session with the engine and its nodes.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use chasqui_debug::{Access, Debuggee, End, Left, Registers, Resume, Stop, ThreadId, Watch};
use chasqui_engine::{Ended, PartitionId};
use chasqui_hart::{Accesses, State, Stopped, Stops, Watchpoint};
use chasqui_machine::Machine;
use chasqui_node::{NodeConfiguration, NodePartition, Thread, Why};
use chasqui_placement::{JobId, Rank};

use crate::input_error::InputError;
use crate::request::{Request, SIGINT};
use crate::running::Running;

/// The job whose ranks can be debugged.
const JOB: JobId = JobId(0);
/// Exit statuses of a run, as it tells the debugger: see `collect.rs`, which tells all others.
const DEADLOCK: u8 = 125;
const OUT_OF_TIME: u8 = 124;
const SIGXFSZ: u8 = 25;

/// A debugger that is waited for.
pub(crate) struct Gdb {
    listener: TcpListener,
    /// The ranks that it sees.
    ranks: Range<u32>,
    /// Their program.
    program: PathBuf,
    /// Threads that a rank may have.
    harts: usize,
    /// What it does not see, in words.
    hidden: Option<&'static str>,
}

impl Gdb {
    /// As `request` asks, of a job with so many `ranks`, of which those in `simulated` are simulated, on nodes `node` of
    /// `machine`.
    ///
    /// # Errors
    /// The rank is none of those, or the port can't be used.
    pub fn of(
        request: &Request,
        simulated: Range<u32>,
        (machine, node): (&dyn Machine, &NodeConfiguration),
    ) -> Result<Option<Gdb>, InputError> {
        let Some(port) = request.options.gdb else { return Ok(None) };
        let (ranks, program) = seen(request, simulated)?;
        let listener = chasqui_debug::listen(port).map_err(|error| {
            InputError(format!("--gdb {port}: the port can't be used: {error}; --gdb 0 takes a free one"))
        })?;
        let (harts, hidden) = (node.harts(), machine.hidden_from_debuggers());
        Ok(Some(Gdb { listener, ranks, program, harts, hidden }))
    }

    /// Runs to the end under the debugger, or without it, when it has left.
    pub fn run(self, running: &mut Running<'_>) -> GdbEnd {
        let port = self.listener.local_addr().map_or(0, |address| address.port());
        let program = self.program.display();
        if let Some(hidden) = self.hidden {
            running.say(&format!("--gdb: {hidden}"));
        }
        running.say(&format!("waiting for a debugger: gdb-multiarch {program} -ex 'target remote :{port}'"));
        let reporter = running.reporter;
        let stream = match chasqui_debug::wait(self.listener, &|| reporter.stops()) {
            Ok(Some(stream)) => stream,
            Ok(None) => return GdbEnd { ended: Ended::Interrupted, killed: false },
            Err(error) => {
                running.say(&format!("no debugger can connect: {error}; the run goes on without"));
                return GdbEnd { ended: running.run_debugged(), killed: false };
            }
        };
        let mut debugged = Debugged::new(running, &self.ranks, self.harts);
        let left = chasqui_debug::serve(stream, &mut debugged, &|| reporter.stops());
        let ended = debugged.leave();
        let killed = left == Left::Killed && ended.is_none();
        if let (Left::Lost(why), None) = (&left, ended) {
            running.say(&format!("the debugger has left: {why}; the run goes on without it"));
        }
        let ended = ended.unwrap_or_else(|| match left {
            Left::Killed | Left::Stopped => Ended::Interrupted,
            Left::Detached | Left::Lost(_) | Left::Ended => running.run_debugged(),
        });
        GdbEnd { ended, killed }
    }
}

/// How a run ended that had a debugger.
pub(crate) struct GdbEnd {
    pub ended: Ended,
    /// The debugger has ended it.
    pub killed: bool,
}

/// The ranks that the debugger sees, and their program: those of the first program, or the one that was asked for.
fn seen(request: &Request, simulated: Range<u32>) -> Result<(Range<u32>, PathBuf), InputError> {
    let all = &request.beside;
    let first = if all.is_empty() { simulated.clone() } else { 0..request.ranks as u32 };
    let Some(rank) = request.options.gdb_rank else { return Ok((first, request.program.clone())) };
    let found = u32::try_from(rank).ok().filter(|rank| simulated.contains(rank));
    let Some(rank) = found else {
        let (first, last) = (simulated.start, simulated.end - 1);
        let allowed = if first == last { format!("{first} is") } else { format!("{first} to {last} are") };
        return Err(InputError(format!("--rank {rank}: {allowed} allowed")));
    };
    let mut end = request.ranks;
    let mut programs = all.iter().map(|called| {
        end += called.ranks;
        (end, &called.program)
    });
    let is_first = request.only_rank.is_some() || i64::from(rank) < request.ranks;
    let other = programs.find(|&(end, _)| i64::from(rank) < end).filter(|_| !is_first);
    let program = other.map_or(&request.program, |(_, program)| program);
    Ok((rank..rank + 1, program.clone()))
}

/// A run, as a debugger sees it.
struct Debugged<'a, 'r> {
    running: &'a mut Running<'r>,
    /// Where its ranks are.
    nodes: BTreeMap<u32, PartitionId>,
    /// Threads that a rank may have.
    harts: usize,
    /// How the engine has ended, if it has.
    ended: Option<Ended>,
}

impl<'a, 'r> Debugged<'a, 'r> {
    fn new(running: &'a mut Running<'r>, ranks: &Range<u32>, harts: usize) -> Debugged<'a, 'r> {
        let interrupt = running.built.engine.interrupt();
        let mut nodes = BTreeMap::new();
        for id in running.built.nodes.clone() {
            let node = node(running, id);
            if node.begin_debug(JOB, ranks, interrupt.clone()) {
                nodes.extend(node.debugged_ranks().into_iter().map(|rank| (rank.0, id)));
            }
        }
        Debugged { running, nodes, harts, ended: None }
    }

    /// The debugger leaves; how the engine has ended, if it has.
    fn leave(mut self) -> Option<Ended> {
        self.each_node(|node| node.end_debug());
        self.ended
    }

    fn each_node(&mut self, mut act: impl FnMut(&mut NodePartition)) {
        let mut ids: Vec<_> = self.nodes.values().copied().collect();
        // Ranks need not be on nodes in turn.
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().for_each(|id| act(node(self.running, id)));
    }

    fn id(&self, (rank, thread): Thread) -> ThreadId {
        NonZeroUsize::MIN.saturating_add(rank.0 as usize * self.harts + thread)
    }

    fn thread(&self, id: ThreadId) -> Thread {
        let number = id.get() - 1;
        (Rank((number / self.harts) as u32), number % self.harts)
    }

    /// The node of a thread, if there may be one of that number.
    fn node_of(&mut self, id: ThreadId) -> Option<(&mut NodePartition, Thread)> {
        let number = u32::try_from((id.get() - 1) / self.harts).ok()?;
        let thread = self.thread(id);
        let partition = *self.nodes.get(&number)?;
        Some((node(self.running, partition), thread))
    }

    /// Why the engine has stopped, if a node has halted.
    fn halted(&mut self) -> Option<Stop> {
        let mut found = None;
        self.each_node(|node| found = found.or(node.halted()));
        let (thread, why) = found?;
        let id = self.id(thread);
        Some(match why {
            Why::Stopped(Stopped::Breakpoint) => Stop::Breakpoint(id),
            Why::Stopped(Stopped::Step) => Stop::Step(id),
            Why::Stopped(Stopped::Access { address, of }) => Stop::Watch(id, access(of), address),
            Why::Signal(number) => Stop::Signal(id, number as u8),
        })
    }

    /// How the run has ended, to the debugger.
    fn end(&mut self, ended: Ended) -> Stop {
        use chasqui_node::Ended::{Abort, Exit, Fault, TooMuchOutput};
        if self.running.reporter.stops() {
            let number = self.running.reporter.signal().unwrap_or(SIGINT);
            return Stop::Ended(End::Signal(number as u8), "chasqui: the run was stopped\n".into());
        }
        let ranks: Vec<u32> = self.nodes.keys().copied().collect();
        let (mut status, mut is_left) = (0, false);
        for rank in ranks {
            match node(self.running, self.nodes[&rank]).end_of(Rank(rank)) {
                Some(Exit(code)) => status = status.max((code & 0xff) as u8),
                Some(Abort { status, .. }) => {
                    return Stop::Ended(End::Exited((status & 0xff).max(1) as u8), String::new());
                }
                Some(Fault { signal, .. }) => {
                    return Stop::Ended(End::Signal(*signal as u8), String::new());
                }
                Some(TooMuchOutput) => return Stop::Ended(End::Signal(SIGXFSZ), String::new()),
                None => is_left = true,
            }
        }
        let (status, text) = match ended {
            _ if !is_left => (status, ""),
            Ended::Idle => (DEADLOCK, "chasqui: a deadlock: ranks wait for what can't come\n"),
            Ended::OutOfTime if self.running.limits.stops() => {
                (status, "chasqui: the run has come to its --stop-at\n")
            }
            Ended::OutOfTime => (OUT_OF_TIME, "chasqui: the run has come to the end of its time\n"),
            Ended::Stopped(_) | Ended::Interrupted => {
                (1, "chasqui: the run has ended because of another rank\n")
            }
        };
        Stop::Ended(End::Exited(status), text.into())
    }
}

/// Partition `id`, which is a node.
fn node<'r>(running: &'r mut Running<'_>, id: PartitionId) -> &'r mut NodePartition {
    let partition = running.built.engine.partition_mut(id).as_any();
    partition.and_then(|any| any.downcast_mut()).expect("nodes' partitions are nodes")
}

fn access(of: Accesses) -> Access {
    match of {
        Accesses::Loads => Access::Read,
        Accesses::Stores => Access::Write,
        Accesses::All => Access::Any,
    }
}

fn stops(asked: &chasqui_debug::Stops) -> Arc<Stops> {
    let watchpoint = |&Watch { first, last, of }: &Watch| {
        let of = match of {
            Access::Read => Accesses::Loads,
            Access::Write => Accesses::Stores,
            Access::Any => Accesses::All,
        };
        Watchpoint { first, last, of }
    };
    Arc::new(Stops::new(asked.breakpoints.clone(), asked.watches.iter().map(watchpoint).collect()))
}

impl Debuggee for Debugged<'_, '_> {
    fn threads(&mut self) -> Vec<ThreadId> {
        let mut threads = vec![];
        self.each_node(|node| threads.extend(node.threads()));
        threads.sort_unstable();
        threads.into_iter().map(|thread| self.id(thread)).collect()
    }

    fn name(&self, id: ThreadId) -> String {
        match self.thread(id) {
            (rank, 0) => rank.to_string(),
            (rank, thread) => format!("{rank}, thread {thread}"),
        }
    }

    fn registers(&mut self, id: ThreadId) -> Option<Registers> {
        let (node, thread) = self.node_of(id)?;
        let state = node.registers(thread)?;
        let mut x = [0; 32];
        x.copy_from_slice(&state.x[..32]);
        let fcsr = u32::from(state.frm) << 5 | u32::from(state.flags.0);
        Some(Registers { x, pc: state.pc, f: state.f, fcsr })
    }

    fn set_registers(&mut self, id: ThreadId, registers: &Registers) -> bool {
        let reached = self.running.built.engine.reached();
        let Some((node, thread)) = self.node_of(id) else { return false };
        let mut state = State::new(registers.pc);
        state.x[..32].copy_from_slice(&registers.x);
        state.f = registers.f;
        state.frm = (registers.fcsr >> 5 & 7) as u8;
        state.flags.0 = (registers.fcsr & 31) as u8;
        node.set_registers(thread, &state, reached)
    }

    fn read(&mut self, id: ThreadId, address: u64, bytes: &mut [u8]) -> usize {
        self.node_of(id).map_or(0, |(node, thread)| node.read_memory(thread, address, bytes))
    }

    fn write(&mut self, id: ThreadId, address: u64, bytes: &[u8]) -> bool {
        let reached = self.running.built.engine.reached();
        self.node_of(id).is_some_and(|(node, thread)| node.write_memory(thread, address, bytes, reached))
    }

    fn run(&mut self, resume: &Resume) -> Stop {
        if let Some(ended) = self.ended {
            return self.end(ended);
        }
        let own = stops(&resume.stops);
        let others = resume.others.as_ref().map_or_else(|| own.clone(), |(_, others)| stops(others));
        let step = resume.step.as_ref().map(|(id, range)| (self.thread(*id), range.clone()));
        let but = resume.others.as_ref().map(|&(id, _)| (self.thread(id), &own));
        self.each_node(|node| {
            node.set_stops(&others, but);
            node.set_step(step.clone());
            node.go_on_from_halt();
        });
        if let Some((id, _)) = resume.others {
            // The fewer others come to where they stop, the better: gdb takes one stop at a time.
            let (rank, _) = self.thread(id);
            if let Some(&partition) = self.nodes.get(&rank.0) {
                self.running.built.engine.favour(partition);
            }
        }
        if let Some((node, thread)) = resume.stands.and_then(|id| self.node_of(id)) {
            node.stand(thread);
        }
        let ended = self.running.run_debugged();
        if let Some(stop) = self.halted() {
            return stop;
        }
        if ended == Ended::Interrupted && !self.running.reporter.stops() {
            return Stop::Interrupted;
        }
        self.ended = Some(ended);
        self.end(ended)
    }

    fn interrupter(&self) -> Arc<dyn Fn() + Send + Sync> {
        let interrupt = self.running.built.engine.interrupt();
        Arc::new(move || interrupt.ask())
    }
}

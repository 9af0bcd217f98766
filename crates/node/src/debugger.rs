//! The debugger's side of a node, between two runs of the engine: see `debug.rs`.

use std::ops::Range;
use std::sync::Arc;

use chasqui_engine::{Class, Interrupt, Time};
use chasqui_hart::{State, Stops};
use chasqui_linux::USER_END;
use chasqui_placement::{JobId, Rank};

use crate::NodePartition;
use crate::debug::{Debug, Thread, Why, hart_of, place_of, signal_of};
use crate::events::{Target, Urgency};
use crate::harts::Activity;
use crate::os::{Ended, NodeProcess, Timer};
use crate::parts::Parts;

/// Threads are those of processes that it was given.
impl NodePartition {
    /// A debugger has the processes of `job` whose ranks are in `ranks` from now on. False: there are none here.
    pub fn begin_debug(&mut self, job: JobId, ranks: &Range<u32>, interrupt: Interrupt) -> bool {
        let Parts { os, harts, debug, .. } = &mut self.parts;
        let is_given = |process: &NodeProcess| process.job == job && ranks.contains(&process.rank.0);
        let given = os.processes.iter().enumerate().filter(|(_, process)| is_given(process));
        let processes: Vec<_> = given.map(|(number, _)| (number, false)).collect();
        if processes.is_empty() {
            return false;
        }
        // Harts of other ranks execute the same text without a stop.
        os.unshare_texts(harts);
        harts.iter_mut().for_each(|core| core.hart.set_stops(Some(Arc::default())));
        *debug = Some(Box::new(Debug { job, processes, step: None, interrupt, halted: None }));
        true
    }

    /// The debugger leaves.
    pub fn end_debug(&mut self) {
        self.parts.debug = None;
        self.parts.harts.iter_mut().for_each(|core| core.hart.set_stops(None));
    }

    /// Why the node has halted, if it has, and which thread.
    pub fn halted(&self) -> Option<(Thread, Why)> {
        self.parts.debug.as_ref()?.halted
    }

    /// Goes on with the next run of the engine.
    pub fn go_on_from_halt(&mut self) {
        let Parts { debug: Some(debug), harts, .. } = &mut self.parts else { return };
        if debug.halted.take().is_some() {
            let stopped = harts.iter_mut().filter(|core| core.hart.stopped().is_some());
            stopped.for_each(|core| core.hart.pass_stop());
        }
    }

    /// The thread stops at a breakpoint where it is, if there is one, though it has stopped there before.
    pub fn stand(&mut self, (rank, thread): Thread) {
        let Some(number) = self.number_of(rank) else { return };
        let Parts { harts, os, .. } = &mut self.parts;
        if let Some(index) = hart_of(harts, os, number, thread) {
            harts[index].hart.stop_again();
        }
    }

    /// Has the harts stop at `stops`, but that of `but` at others, if it is here.
    pub fn set_stops(&mut self, stops: &Arc<Stops>, but: Option<(Thread, &Arc<Stops>)>) {
        let other = but.and_then(|((rank, thread), stops)| {
            let number = self.number_of(rank)?;
            Some((place_of(&self.parts.os, number, thread)?, stops))
        });
        for (index, core) in self.parts.harts.iter_mut().enumerate() {
            let own = other.filter(|&(hart, _)| hart == index).map_or(stops, |(_, own)| own);
            core.hart.set_stops(Some(own.clone()));
            core.execute_repetitions();
        }
    }

    /// The thread stops when it has executed an instruction and is not within `addresses`. `None`, or a thread that the
    /// process can't have: none does.
    pub fn set_step(&mut self, step: Option<(Thread, Range<u64>)>) {
        let found = step.and_then(|((rank, thread), range)| {
            let number = self.number_of(rank)?;
            Some((number, thread, place_of(&self.parts.os, number, thread)?, range))
        });
        let Parts { debug: Some(debug), harts, .. } = &mut self.parts else { return };
        debug.step = None;
        harts.iter_mut().for_each(|core| core.hart.set_step(None));
        if let Some((number, thread, index, range)) = found {
            debug.step = Some((number, thread));
            let core = &mut harts[index];
            core.hart.set_step(Some(range));
            core.execute_repetitions();
        }
    }

    /// The threads that can be looked at, in the order of ranks: of processes that have not exited.
    pub fn threads(&self) -> Vec<Thread> {
        let Parts { debug: Some(debug), harts, os, .. } = &self.parts else { return vec![] };
        let threads = |&(number, _): &(usize, bool)| {
            let process = &os.processes[number];
            let is_dead = process.ended.as_ref().is_some_and(|(_, ended)| signal_of(ended).is_some());
            let has = move |&thread: &usize| match &process.descheduled {
                Some(left) => thread == 0 && !matches!(left.activity, Activity::Ended),
                None => {
                    let core = &harts[process.harts.start + thread];
                    core.has_begun && (is_dead || core.is_alive())
                }
            };
            (0..process.harts.len()).filter(has).map(|thread| (process.rank, thread))
        };
        let mut threads: Vec<_> = debug.processes.iter().flat_map(threads).collect();
        threads.sort_unstable();
        threads
    }

    /// The ranks that the debugger has here.
    pub fn debugged_ranks(&self) -> Vec<Rank> {
        let Parts { debug: Some(debug), os, .. } = &self.parts else { return vec![] };
        debug.processes.iter().map(|&(number, _)| os.processes[number].rank).collect()
    }

    /// The place of `rank`'s process in the node's table, if the debugger has it.
    fn number_of(&self, rank: Rank) -> Option<usize> {
        let Parts { debug: Some(debug), os, .. } = &self.parts else { return None };
        let here = |&(number, _): &(usize, bool)| {
            (os.processes[number].rank == rank && os.processes[number].job == debug.job).then_some(number)
        };
        debug.processes.iter().find_map(here)
    }

    /// The registers of a thread. While a kernel has the hart, those with which it has trapped; of one that is not on its
    /// hart then, its pc alone is known. Those of a process that has yet to begin are those with which it will.
    pub fn registers(&self, (rank, thread): Thread) -> Option<State> {
        let number = self.number_of(rank)?;
        let Parts { harts, os, .. } = &self.parts;
        let process = &os.processes[number];
        if let Some(index) = hart_of(harts, os, number, thread) {
            if !os.is_kernels(harts, index, number) {
                return Some(harts[index].hart.state.clone());
            }
            let Some(place) = os.trapped_at(harts, index, number).filter(|&pc| pc != 0) else {
                return Some(process.start());
            };
            let mut state = State::new(place);
            if let Some(registers) = os.trapped_registers(harts, index) {
                state.clone_from(&harts[index].hart.state);
                state.x[..32].copy_from_slice(&registers.x);
                state.pc = registers.pc;
            }
            return Some(state);
        }
        place_of(os, number, thread)?;
        let left = process.descheduled.as_ref()?;
        let place = os.told_place(harts, process.harts.start, number);
        Some(match place {
            // The kernel has yet to begin it.
            Some(0) => process.start(),
            Some(pc) => State::new(pc),
            None => left.state.clone(),
        })
    }

    /// Changes the registers of a thread at a time that is `reached` or later. False: it is in a call or in the kernel, or in
    /// the midst of an instruction, or no program can be at that pc.
    pub fn set_registers(&mut self, (rank, thread): Thread, state: &State, reached: Time) -> bool {
        let Some(number) = self.number_of(rank) else { return false };
        let Parts { harts, os, .. } = &mut self.parts;
        let Some(index) = hart_of(harts, os, number, thread) else { return false };
        // What is in the hart is the kernel's then.
        if state.pc >= USER_END || os.is_kernels(harts, index, number) {
            return false;
        }
        let core = &mut harts[index];
        let is_between = match core.activity {
            Activity::Ready | Activity::Parked(_) | Activity::Suspended(_) | Activity::Sleeping(_) => true,
            Activity::Vacant | Activity::Yielded | Activity::Waiting(..) => false,
            Activity::Idle | Activity::Blocked(..) | Activity::Ended => false,
        };
        if !is_between || !core.hart.replace_state(state) {
            return false;
        }
        self.look_again(reached);
        true
    }

    /// Reads a thread's memory from `address` on, as it would itself: how much of it could be read.
    pub fn read_memory(&self, (rank, thread): Thread, address: u64, bytes: &mut [u8]) -> usize {
        let Some(number) = self.number_of(rank) else { return 0 };
        let Parts { harts, os, domain, .. } = &self.parts;
        let space = &os.processes[number].process.space;
        match hart_of(harts, os, number, thread) {
            Some(index) => {
                let port = &harts[index].hart.port;
                space.peek(&domain.memory, address, bytes, &mut |at, part| port.peek(at, part))
            }
            // What it has stored is in memory.
            None => space.peek(&domain.memory, address, bytes, &mut |at, part| {
                domain.memory.slice(at, part.len()).is_ok_and(|from| {
                    part.copy_from_slice(from);
                    true
                })
            }),
        }
    }

    /// Writes memory of a process, whatever its pages allow. Loops that repeat themselves see it at a time that is `reached` or
    /// later. False: some of it is no memory.
    pub fn write_memory(&mut self, (rank, _): Thread, address: u64, bytes: &[u8], reached: Time) -> bool {
        let Some(number) = self.number_of(rank) else { return false };
        let Parts { harts, os, domain, .. } = &mut self.parts;
        for core in harts.iter_mut() {
            // What is buffered came before.
            core.hart.port.drain_write_buffer();
            core.hart.port.drop_reservation();
        }
        if !os.processes[number].process.space.poke(&mut domain.memory, address, bytes) {
            return false;
        }
        harts.iter_mut().for_each(|core| core.hart.forget_code());
        self.look_again(reached);
        true
    }

    /// Loops that repeat themselves may see something else than before, from a time on that is `reached` or later.
    fn look_again(&mut self, reached: Time) {
        let Parts { harts, events, ran_to, resting, rest, .. } = &mut self.parts;
        *resting = false;
        rest.end();
        for core in harts.iter_mut().filter(|core| !core.is_idle()) {
            core.spin.event(&mut core.hart, Time::ZERO);
        }
        let nows = harts.iter().filter(|core| core.is_alive()).map(|core| core.hart.now());
        let at = nows.fold(reached.max(*ran_to), Time::max);
        events.schedule(at, Class::Internal, Target::Scheduler, Urgency::Slow, Timer::LookAgain.into());
    }

    /// How the process of `rank` has ended, if the debugger has it and it has.
    pub fn end_of(&self, rank: Rank) -> Option<&Ended> {
        let process = &self.parts.os.processes[self.number_of(rank)?];
        process.ended.as_ref().map(|(_, ended)| ended)
    }
}

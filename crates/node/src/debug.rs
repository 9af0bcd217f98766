//! What a debugger sees of a node's processes and asks of their harts, between two runs of the engine.
//!
//! A node that halts for the debugger does nothing more, and interrupts the engine; what it would have done next it does when
//! it goes on. So looking changes nothing: registers are shown as they are, a hart's that repeats itself at the pause at which
//! it does, and memory is read under what the thread's hart has yet to store. Where a hart may stop in a loop that repeats
//! itself, the loop is executed when an event comes, as with `check.spin_skip=false`, instead of skipped.
//!
//! What the debugger writes is seen by a loop that repeats itself only when that looks again: at a time that no partition has
//! come to yet.

use chasqui_engine::Interrupt;
use chasqui_hart::Stopped;
use chasqui_placement::{JobId, Rank};

use crate::harts::Harts;
use crate::os::{Ended, Os, SIGABRT, SIGXFSZ};

/// Why a node has halted for the debugger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The thread has stopped where it was to.
    Stopped(Stopped),
    /// The process has ended by a fault or abort, by this signal. It can still be looked at.
    Signal(i32),
}

/// A thread of a process, by its rank and its place there.
pub type Thread = (Rank, usize);

/// What the debugger has of a node.
pub(crate) struct Debug {
    /// Its processes' job.
    pub job: JobId,
    /// Its processes, by place in the node's table; of each whether its end has been shown.
    pub processes: Vec<(usize, bool)>,
    /// The step that was asked for: of a process's thread.
    pub step: Option<(usize, usize)>,
    pub interrupt: Interrupt,
    /// What the node halts for, until it goes on.
    pub halted: Option<(Thread, Why)>,
}

/// The hart that a process's thread has, or shares. `None`: the process can't have so many threads.
pub(crate) fn place_of(os: &Os, number: usize, thread: usize) -> Option<usize> {
    let harts = &os.processes[number].harts;
    (thread < harts.len()).then(|| harts.start + thread)
}

/// The hart of a process's thread, if it is the one on it.
pub(crate) fn hart_of(harts: &Harts, os: &Os, number: usize, thread: usize) -> Option<usize> {
    let process = &os.processes[number];
    let index = place_of(os, number, thread)?;
    (process.descheduled.is_none() && harts[index].process == number).then_some(index)
}

/// The signal by which a process ended that did not exit.
pub(crate) fn signal_of(ended: &Ended) -> Option<i32> {
    match ended {
        Ended::Exit(_) => None,
        Ended::Abort { .. } => Some(SIGABRT),
        Ended::TooMuchOutput => Some(SIGXFSZ),
        Ended::Fault { signal, .. } => Some(*signal),
    }
}

impl Debug {
    /// A hart has run, or an event has happened. True: the node halts for the debugger.
    #[cold]
    pub fn look(&mut self, harts: &mut Harts, os: &Os) -> bool {
        if self.halted.is_none() {
            self.halted = self.ended(os).or_else(|| self.stopped(harts, os));
            if self.halted.is_some() {
                self.interrupt.ask();
            }
        }
        self.halted.is_some()
    }

    /// A process of the debugger's that has ended by a signal.
    fn ended(&mut self, os: &Os) -> Option<(Thread, Why)> {
        for (number, is_shown) in self.processes.iter_mut().filter(|(_, is_shown)| !is_shown) {
            let process = &os.processes[*number];
            let Some((_, ended)) = &process.ended else { continue };
            *is_shown = true;
            if let Some(signal) = signal_of(ended) {
                let thread = os.ended_on.saturating_sub(process.harts.start);
                return Some(((process.rank, thread), Why::Signal(signal)));
            }
        }
        None
    }

    /// A hart that has stopped. One that another process is on, or another thread than is to make a step, goes on.
    fn stopped(&self, harts: &mut Harts, os: &Os) -> Option<(Thread, Why)> {
        for (index, core) in harts.iter_mut().enumerate() {
            let Some(why) = core.hart.stopped() else { continue };
            let process = &os.processes[core.process];
            let thread = (core.process, process.thread(index));
            let is_seen = self.processes.iter().any(|&(number, _)| number == core.process);
            if is_seen && (why != Stopped::Step || self.step == Some(thread)) {
                return Some(((process.rank, thread.1), Why::Stopped(why)));
            }
            core.hart.pass_stop();
        }
        None
    }
}

//! System calls that the simulator serves in the place of a kernel.

use chasqui_engine::Time;
use chasqui_linux::{Outcome, Refused, Stream};
use chasqui_memory::FlatMemory;
use chasqui_placement::Rank;

use super::{Ended, NodeProcess, Os, Output};
use crate::harts::{Activity, Harts};

/// That the process has raised `signal`, in words (Linux, include/uapi/asm-generic/signal.h).
pub(super) fn raised(signal: i32) -> String {
    let name = match signal {
        2 => "SIGINT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT, as abort() does",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        other => return format!("the process raised signal {other}"),
    };
    format!("the process raised {name}")
}

impl Os {
    /// The thread on hart `index` makes a system call.
    pub(super) fn call(&mut self, harts: &mut Harts, index: usize, memory: &mut FlatMemory) {
        let core = &mut harts[index];
        let x = &core.hart.state.x;
        let (number, args) = (x[17], [x[10], x[11], x[12], x[13], x[14], x[15]]);
        let (now, was_quiet) = (core.hart.now(), core.hart.port.is_quiet());
        let outcome = self.serve(harts, index, number, args, memory);
        harts[index].charge(self.costs.software.syscall.cycles());
        self.flush_translations(harts, index, memory);
        // A yield of a thread that has nothing left to store changes nothing: others that repeat themselves, and have been moved
        // on, need not have executed as far as that.
        if harts.is_several() && !(was_quiet && outcome == Outcome::Yield) {
            self.change_memory(harts, index, now);
        }
        let core = &mut harts[index];
        let result = match outcome {
            Outcome::Return(value) => value,
            Outcome::Yield => {
                core.activity = Activity::Yielded;
                0
            }
            Outcome::Exit { status, .. } => return self.end(harts, index, Ended::Exit(status)),
            Outcome::TooMuchOutput => return self.end(harts, index, Ended::TooMuchOutput),
            Outcome::Leave => {
                core.activity = Activity::Vacant;
                return;
            }
            Outcome::Clone { hart, stack, tls, id } => {
                let first = self.on(harts, index).harts.start;
                self.begin_thread(harts, index, first + hart, stack, tls);
                id
            }
            Outcome::Signal(signal) => {
                return self.fault(harts, index, signal, &raised(signal));
            }
            Outcome::Sleep { until, value } => {
                core.activity = Activity::Sleeping(until.max(core.hart.now()));
                value
            }
            Outcome::Block { wait, until } => {
                let until = if until == Time::NEVER { until } else { until.max(core.hart.now()) };
                core.activity = Activity::Blocked(wait, until);
                return;
            }
            Outcome::OutOfMemory(fault) => {
                return self.fault(harts, index, fault.signal(), &fault.to_string());
            }
        };
        harts[index].hart.return_from_call(result);
    }

    /// Serves a system call, in no time.
    pub(super) fn serve(
        &mut self,
        harts: &mut Harts,
        index: usize,
        number: u64,
        args: [u64; 6],
        memory: &mut FlatMemory,
    ) -> Outcome {
        let process = self.on_mut(harts, index);
        let core = &mut harts[index];
        let now = core.hart.now();
        core.statistics.calls += 1;
        let thread_number = process.thread(index);
        let mut host = Host { rank: process.rank, now, output: &*process.output };
        // What serves it sees all that the thread has stored.
        core.hart.port.drain_write_buffer();
        let outcome = process.process.syscall(thread_number, number, args, now, memory, &mut host);
        // Who gives the hart up does so again for nothing.
        if outcome != Outcome::Yield {
            core.hart.port.disturb();
        }
        outcome
    }

    /// A call of the thread on hart `index` at `now` may have changed memory past the caches, and woken
    /// threads.
    fn change_memory(&mut self, harts: &mut Harts, index: usize, now: Time) {
        let wake_cycles = self.costs.software.wake.cycles();
        for woken in self.share_memory(harts, index) {
            let core = &mut harts[woken];
            core.resume_at(now);
            core.charge(wake_cycles);
            core.hart.return_from_call(0);
        }
    }

    /// A call of the thread on hart `index` may have changed memory past the caches. The harts whose threads it has woken.
    pub(super) fn share_memory(&mut self, harts: &mut Harts, index: usize) -> Vec<usize> {
        let NodeProcess { process, harts: own, .. } = self.on_mut(harts, index);
        let barrier = process.take_barrier();
        for (_, core) in harts.of_mut(own).enumerate().filter(|&(i, _)| own.start + i != index) {
            core.hart.port.drop_reservation();
            if barrier {
                core.hart.port.drain_write_buffer();
            }
        }
        process.take_woken().into_iter().map(|woken| own.start + woken).collect()
    }

    /// The thread on hart `parent` has made another, which begins on hart `index` where its maker is.
    fn begin_thread(&mut self, harts: &mut Harts, parent: usize, index: usize, stack: u64, tls: Option<u64>) {
        let (state, now) = (harts[parent].hart.state.clone(), harts[parent].hart.now());
        let process = harts[parent].process;
        self.place(harts, index, process);
        if self.processes[process].region.is_some() {
            self.change_timing(harts, parent);
        }
        let core = &mut harts[index];
        core.hart.state = state;
        core.spin.stop(&mut core.hart);
        if stack != 0 {
            core.hart.state.x[2] = stack;
        }
        if let Some(tls) = tls {
            core.hart.state.x[4] = tls;
        }
        core.begin(now);
        core.charge(self.costs.software.wake.cycles());
        core.hart.return_from_call(0);
    }
}

struct Host<'a> {
    rank: Rank,
    now: Time,
    output: &'a dyn Output,
}

impl chasqui_linux::Host for Host<'_> {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        self.output.write(self.rank, self.now, stream, bytes);
    }

    fn report_unknown(&mut self, number: u64) {
        self.output.unknown_call(self.rank, self.now, number);
    }

    fn report_no_hart(&mut self, harts: u32) {
        self.output.no_hart(self.rank, self.now, harts);
    }

    fn report_no_files(&mut self) {
        self.output.no_files(self.rank, self.now);
    }

    fn report_refused(&mut self, refused: &Refused<'_>) {
        self.output.refused(self.rank, self.now, refused);
    }

    fn may_write(&mut self, bytes: u64) -> bool {
        self.output.may_write(bytes)
    }
}

//! How far a run is, and requests to stop it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use chasqui_engine::{Interrupt, Time};
use serde::Serialize;

use crate::output::Streams;
use crate::request::SIGPIPE;
use crate::sandbox::{Limits, Reached};

/// How far a run is.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Progress {
    /// Simulated time up to which all is done [ps].
    pub time_ps: u64,
    /// Host time since the start [s].
    pub host_seconds: f64,
    /// Instructions so far.
    pub instructions: u64,
    /// Millions of them a second of host time.
    pub rate_mips: f64,
    /// Output that does not end its line stands on the terminal: a progress line would overwrite it.
    pub within_line: bool,
    /// Messages whose records are being written, once the simulation is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writing: Option<u64>,
}

/// Called a few times a second, by any thread; returns the signal for which to stop.
pub type OnProgress<'a> = &'a mut (dyn FnMut(Progress) -> Option<i32> + Send);

/// Host time between calls.
const INTERVAL: Duration = Duration::from_millis(200);
/// Host time between calls where rounds take long: many busy nodes, or many host threads on few processors.
const INTERVAL_MAX: Duration = Duration::from_millis(500);
/// Host time between looks at the limits: so long a program may go beyond one.
const LIMITS_INTERVAL: Duration = Duration::from_millis(50);
/// The host's clock is looked at after so many rounds, or so many instructions.
const ROUNDS_BETWEEN_LOOKS: u64 = 256;
const INSTRUCTIONS_BETWEEN_LOOKS: u64 = 1_000_000;

/// Says how far a run is, between its rounds or, where these take long, while they last; and interrupts it on request.
pub(crate) struct Reporter<'a> {
    streams: &'a Streams,
    limits: &'a Limits,
    interrupt: Interrupt,
    begin: Instant,
    /// Up to this time [ps] all is done.
    time_ps: AtomicU64,
    /// Since the clock was looked at.
    rounds: AtomicU64,
    /// When it was.
    looked_at: AtomicU64,
    calls: Mutex<Calls<'a>>,
    over: Mutex<bool>,
    is_over: Condvar,
    stops: AtomicBool,
}

struct Calls<'a> {
    progress: OnProgress<'a>,
    last: Instant,
    /// When limits were looked at.
    checked: Instant,
    signal: Option<i32>,
    reached: Option<Reached>,
}

impl<'a> Reporter<'a> {
    pub fn new(
        streams: &'a Streams,
        progress: OnProgress<'a>,
        limits: &'a Limits,
        interrupt: Interrupt,
    ) -> Reporter<'a> {
        let begin = Instant::now();
        Reporter {
            streams,
            limits,
            interrupt,
            begin,
            time_ps: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
            calls: Mutex::new(Calls { progress, last: begin, checked: begin, signal: None, reached: None }),
            over: Mutex::new(false),
            is_over: Condvar::new(),
            stops: AtomicBool::new(false),
        }
    }

    /// All is done up to `time`; whether the run goes on.
    pub fn round(&self, time: Time) -> bool {
        self.time_ps.store(time.0, Ordering::Relaxed);
        let instructions = self.streams.instructions();
        let rounds = self.rounds.fetch_add(1, Ordering::Relaxed) + 1;
        let since = instructions - self.looked_at.load(Ordering::Relaxed);
        if rounds >= ROUNDS_BETWEEN_LOOKS || since >= INSTRUCTIONS_BETWEEN_LOOKS {
            self.rounds.store(0, Ordering::Relaxed);
            self.looked_at.store(instructions, Ordering::Relaxed);
            self.look(INTERVAL);
        }
        !self.stops.load(Ordering::Relaxed)
    }

    /// Before the run: a limit that is reached already ends it at once.
    pub fn look_at_limits(&self) {
        let mut calls = self.calls();
        calls.reached = self.limits.reached(self.begin.elapsed());
        self.stops.store(calls.is_end(), Ordering::Relaxed);
    }

    /// While the run lasts.
    pub fn look_now_and_then(&self) {
        let mut over = self.over.lock().expect("it is only set");
        while !*over {
            over = self.is_over.wait_timeout(over, LIMITS_INTERVAL).expect("it is only set").0;
            if !*over {
                self.look(INTERVAL_MAX);
            }
        }
    }

    /// Looks at the limits, and calls, if that was not done for so long.
    fn look(&self, interval: Duration) {
        let mut calls = self.calls();
        if calls.checked.elapsed() >= LIMITS_INTERVAL && !calls.is_end() {
            calls.checked = Instant::now();
            calls.reached = self.limits.reached(self.begin.elapsed());
        }
        if calls.last.elapsed() >= interval && !calls.is_end() {
            self.call(&mut calls);
        }
        if calls.is_end() {
            self.stops.store(true, Ordering::Relaxed);
            self.interrupt.ask();
            self.streams.end();
        }
    }

    fn call(&self, calls: &mut Calls<'_>) {
        calls.last = Instant::now();
        // As a write to the pipe has it for other commands (POSIX write(), EPIPE).
        calls.signal = (calls.progress)(self.now(None)).or(self.streams.is_unread().then_some(SIGPIPE));
    }

    fn now(&self, writing: Option<u64>) -> Progress {
        let host_seconds = self.begin.elapsed().as_secs_f64();
        let instructions = self.streams.instructions();
        Progress {
            time_ps: self.time_ps.load(Ordering::Relaxed),
            host_seconds,
            instructions,
            rate_mips: instructions as f64 / host_seconds / 1e6,
            within_line: self.streams.within_line(),
            writing,
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls<'a>> {
        self.calls.lock().expect("no call panics")
    }

    /// The run is to end.
    pub fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// The signal for which the run was to stop.
    pub fn signal(&self) -> Option<i32> {
        self.calls().signal
    }

    /// The limit that was reached.
    pub fn reached(&self) -> Option<Reached> {
        self.calls().reached
    }
}

/// Writing the results, when the simulation is over.
pub(crate) struct Writing<'a> {
    pub reporter: &'a Reporter<'a>,
    /// Host threads that may do so.
    pub threads: usize,
}

impl Writing<'_> {
    /// So many messages are written next. Nothing can stop that in order.
    pub fn show(&self, messages: usize) {
        let now = self.reporter.now(Some(messages as u64));
        let _ = (self.reporter.calls().progress)(now);
    }
}

impl Calls<'_> {
    /// The run is to end.
    fn is_end(&self) -> bool {
        self.signal.is_some() || self.reached.is_some()
    }
}

/// The run is over when this goes, for whatever reason.
pub(crate) struct Over<'a>(pub &'a Reporter<'a>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        *self.0.over.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
        self.0.is_over.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No round ends: one of many busy nodes may take long.
    #[test]
    fn a_request_to_stop_waits_for_no_round() {
        let streams = Streams::nowhere();
        let mut calls = 0;
        let mut progress = |_| {
            calls += 1;
            (calls == 2).then_some(15)
        };
        let reporter = Reporter::new(&streams, &mut progress, &Limits::NONE, Interrupt::default());
        let begin = Instant::now();
        std::thread::scope(|scope| {
            let over = Over(&reporter);
            scope.spawn(|| reporter.look_now_and_then());
            while reporter.signal().is_none() && begin.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(over);
        });
        assert_eq!(reporter.signal(), Some(15));
        assert!(!reporter.round(Time::ZERO), "the run ends with the round");
    }
}

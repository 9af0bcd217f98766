//! What runs, and how far.

use chasqui_engine::{Ended, Threads};
use chasqui_machine::Built;

use crate::output::Streams;
use crate::progress::Reporter;
use crate::sandbox::Limits;

/// What runs.
pub(crate) struct Running<'a> {
    pub built: Built,
    pub jobs: usize,
    pub threads: Threads,
    pub limits: &'a Limits,
    pub streams: &'a Streams,
    pub reporter: &'a Reporter<'a>,
}

impl Running<'_> {
    /// Runs the jobs to their ends, or until the engine is interrupted. One that breaks takes none of the others with it.
    pub fn run_on(&mut self) -> Ended {
        let Running { built: Built { engine, .. }, streams, reporter, .. } = self;
        let mut watch = |time| {
            streams.show_until(time);
            reporter.round(time)
        };
        let mut ended = engine.run(self.threads, &mut watch);
        while let Ended::Stopped(at) = ended
            && self.jobs > 1
            && engine.spread(at)
        {
            ended = engine.run(self.threads, &mut watch);
        }
        ended
    }

    /// The same under a debugger, which looks at what was done when it is interrupted.
    pub fn run_debugged(&mut self) -> Ended {
        self.built.engine.interrupt().withdraw();
        let ended = self.run_on();
        self.streams.show_until(self.built.engine.next());
        ended
    }

    /// The command says something.
    pub fn say(&self, what: &str) {
        self.streams.say(what);
    }
}

//! A debugger's session: gdb's remote protocol over whatever runs the simulation.
//!
//! `wire.rs`: the connection. `target.rs`: what gdb asks, in the words of the crate `gdbstub`. `session.rs`: the session, from
//! the first packet until the debugger leaves. The protocol is that of GDB's manual, appendix E. What the debugger sends is
//! trusted in nothing: what is no packet of the protocol ends the session, as a closed connection does.

mod session;
mod target;
mod wire;

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

pub use session::{Left, serve};
pub use wire::{listen, wait};

/// A thread's number.
pub type ThreadId = NonZeroUsize;

/// The registers of a thread (RV64GC, user level).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Integer registers.
    pub x: [u64; 32],
    /// Address of the next instruction.
    pub pc: u64,
    /// Floating-point registers; single-precision values are NaN-boxed.
    pub f: [u64; 32],
    /// Rounding mode and accrued exceptions.
    pub fcsr: u32,
}

/// Accesses that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Loads.
    Read,
    /// Stores.
    Write,
    /// Both.
    Any,
}

/// Memory whose accesses are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Watch {
    /// First virtual address.
    pub first: u64,
    /// Last virtual address.
    pub last: u64,
    /// Accesses.
    pub of: Access,
}

/// Where threads stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    /// Before the instructions at these addresses.
    pub breakpoints: Vec<u64>,
    /// After these accesses.
    pub watches: Vec<Watch>,
}

/// How the run goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// Where threads stop.
    pub stops: Stops,
    /// The thread that stops when it has executed an instruction and is not within these addresses.
    pub step: Option<(ThreadId, Range<u64>)>,
    /// Where all but this thread stop, if elsewhere: it steps over a breakpoint that is there for the others.
    pub others: Option<(ThreadId, Stops)>,
    /// The thread that stops at the breakpoint where it is, though it has stopped there before.
    pub stands: Option<ThreadId>,
}

/// How the run ended, to the debugger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this status.
    Exited(u8),
    /// By this signal.
    Signal(u8),
}

/// Why the run has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A thread is at a breakpoint.
    Breakpoint(ThreadId),
    /// A thread has accessed watched memory, at this address.
    Watch(ThreadId, Access, u64),
    /// A thread has made its step.
    Step(ThreadId),
    /// A signal ends the thread's process.
    Signal(ThreadId, u8),
    /// It was interrupted.
    Interrupted,
    /// It has ended; and what there is to say.
    Ended(End, String),
}

/// What is debugged.
pub trait Debuggee {
    /// The threads, in the order of their numbers.
    fn threads(&mut self) -> Vec<ThreadId>;
    /// What is said of a thread.
    fn name(&self, thread: ThreadId) -> String;
    /// The registers of a thread; `None`: there is none.
    fn registers(&mut self, thread: ThreadId) -> Option<Registers>;
    /// Changes them. False: it can't be done now.
    fn set_registers(&mut self, thread: ThreadId, registers: &Registers) -> bool;
    /// Reads a thread's memory from `address` on: how much of it could be read.
    fn read(&mut self, thread: ThreadId, address: u64, bytes: &mut [u8]) -> usize;
    /// Writes a thread's memory. False: some of it is no memory.
    fn write(&mut self, thread: ThreadId, address: u64, bytes: &[u8]) -> bool;
    /// Goes on until something stops it.
    fn run(&mut self, resume: &Resume) -> Stop;
    /// What interrupts [`Debuggee::run`], from another thread.
    fn interrupter(&self) -> Arc<dyn Fn() + Send + Sync>;
}

//! Signal numbers (Linux `include/uapi/asm-generic/signal.h`).

/// Abnormal termination.
pub const SIGABRT: i32 = 6;
/// An access that memory cannot serve.
pub const SIGBUS: i32 = 7;
/// Ends the process at once.
pub const SIGKILL: i32 = 9;
/// A bad address.
pub const SIGSEGV: i32 = 11;
/// Output to a pipe without a reader.
pub const SIGPIPE: i32 = 13;
/// A child changed.
pub const SIGCHLD: i32 = 17;
/// Goes on after a stop.
pub const SIGCONT: i32 = 18;
/// Stops the process.
pub const SIGSTOP: i32 = 19;
/// Urgent data.
pub const SIGURG: i32 = 23;
/// The window's size changed.
pub const SIGWINCH: i32 = 28;
/// Signals are 1 to this.
pub const SIGNALS: i32 = 64;

/// What a process has said about signals.
pub struct Signals {
    /// `struct sigaction` of each signal as the program gave it: handler, flags, mask.
    pub actions: [[u64; 3]; SIGNALS as usize],
    /// Signals that wait until a thread does not block them any more. It does not matter which: a signal that
    /// is delivered ends the process.
    pub pending: u64,
}

/// `SIG_IGN`
const IGNORE: u64 = 1;

impl Default for Signals {
    fn default() -> Signals {
        Signals { actions: [[0; 3]; SIGNALS as usize], pending: 0 }
    }
}

/// The bit of `signal` in a mask.
pub fn mask(signal: i32) -> u64 {
    1 << (signal - 1)
}

impl Signals {
    /// Whether sending `signal` now does nothing.
    fn is_ignored(&self, signal: i32) -> bool {
        match self.actions[signal as usize - 1][0] {
            IGNORE => signal != SIGKILL && signal != SIGSTOP,
            0 => matches!(signal, SIGCHLD | SIGCONT | SIGURG | SIGWINCH),
            _ => false,
        }
    }

    /// Sends `signal` to threads of which all block `blocked`; gives it back when it is delivered now.
    pub fn send(&mut self, signal: i32, blocked: u64) -> Option<i32> {
        if self.is_ignored(signal) {
            return None;
        }
        self.pending |= mask(signal);
        self.take(blocked)
    }

    /// The signal that is delivered now to a thread that blocks `blocked`, if one is pending.
    pub fn take(&mut self, blocked: u64) -> Option<i32> {
        let ready = self.pending & (!blocked | mask(SIGKILL) | mask(SIGSTOP));
        if ready == 0 {
            return None;
        }
        let signal = ready.trailing_zeros() as i32 + 1;
        self.pending &= !mask(signal);
        Some(signal)
    }
}

//! Signal numbers (Linux `include/uapi/asm-generic/signal.h`).

/// Abnormal termination.
pub const SIGABRT: i32 = 6;
/// An access that memory cannot serve.
pub const SIGBUS: i32 = 7;
/// Ends the process at once.
pub const SIGKILL: i32 = 9;
/// A bad address.
pub const SIGSEGV: i32 = 11;
/// Output that nobody reads.
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
    /// Blocked signals; signal `n` is bit `n - 1`.
    pub blocked: u64,
    /// Signals that wait until they are not blocked any more.
    pub pending: u64,
    /// The alternate stack: address, flags, length.
    pub stack: [u64; 3],
}

/// `SIG_IGN`
const IGNORE: u64 = 1;
/// `SS_DISABLE`: there is no alternate stack.
const STACK_DISABLED: u64 = 2;

impl Default for Signals {
    fn default() -> Signals {
        Signals { actions: [[0; 3]; SIGNALS as usize], blocked: 0, pending: 0, stack: [0, STACK_DISABLED, 0] }
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

    /// Sends `signal`; gives it back when it strikes now.
    pub fn send(&mut self, signal: i32) -> Option<i32> {
        if self.is_ignored(signal) {
            return None;
        }
        self.pending |= mask(signal);
        self.take()
    }

    /// The signal that strikes now, if one is pending and not blocked.
    pub fn take(&mut self) -> Option<i32> {
        let ready = self.pending & (!self.blocked | mask(SIGKILL) | mask(SIGSTOP));
        if ready == 0 {
            return None;
        }
        let signal = ready.trailing_zeros() as i32 + 1;
        self.pending &= !mask(signal);
        Some(signal)
    }
}

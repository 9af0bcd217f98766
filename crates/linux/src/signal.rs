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

//! Signals: what a process says about them, and the ones that it sends itself.

use super::{Call, Outcome, Result, Stop};
use crate::errno::Errno;
use crate::signal::{SIGKILL, SIGNALS, SIGSTOP, mask};

/// Length of a signal mask [bytes].
const MASK_BYTES: u64 = 8;
const SIG_BLOCK: u64 = 0;
const SIG_UNBLOCK: u64 = 1;
const SIG_SETMASK: u64 = 2;
/// Linux `MINSIGSTKSZ`.
const STACK_BYTES_MIN: u64 = 2048;
const SS_DISABLE: u64 = 2;

impl Call<'_> {
    fn deliver(&self, signal: Option<i32>) -> Result<i64> {
        match signal {
            None => Ok(0),
            Some(signal) => Err(Stop::Outcome(Outcome::Signal(signal))),
        }
    }

    /// `kill`: a process can send to itself alone; 0 and -1 mean it too.
    pub(super) fn kill(&mut self, id: u64, signal: u64) -> Result<i64> {
        let ours = [0, -1, self.process.id(), -self.process.id()].contains(&i64::from(id as i32));
        let blocked = self.process.threads.all().fold(u64::MAX, |all, thread| all & thread.blocked);
        self.send(ours.then_some(blocked), signal)
    }

    /// `tkill`: to a thread of the process.
    pub(super) fn tkill(&mut self, id: u64, signal: u64) -> Result<i64> {
        let thread = self.process.threads.find(i64::from(id as i32));
        self.send(thread.map(|thread| thread.blocked), signal)
    }

    pub(super) fn tgkill(&mut self, process: u64, id: u64, signal: u64) -> Result<i64> {
        if i64::from(process as i32) != self.process.id() {
            return Err(Errno::ESRCH.into());
        }
        self.tkill(id, signal)
    }

    /// Sends `signal` to a thread that blocks `blocked`; `None`: there is no such thread.
    fn send(&mut self, blocked: Option<u64>, signal: u64) -> Result<i64> {
        let signal = signal as i32;
        if !(0..=SIGNALS).contains(&signal) {
            return Err(Errno::EINVAL.into());
        }
        let blocked = blocked.ok_or(Errno::ESRCH)?;
        let delivered = if signal == 0 { None } else { self.process.signals.send(signal, blocked) };
        self.deliver(delivered)
    }

    /// `struct sigaction` has no restorer on RISC-V: handler, flags, mask.
    pub(super) fn rt_sigaction(&mut self, signal: u64, new: u64, old: u64, bytes: u64) -> Result<i64> {
        let signal = signal as i32;
        if bytes != MASK_BYTES || !(1..=SIGNALS).contains(&signal) {
            return Err(Errno::EINVAL.into());
        }
        let at = signal as usize - 1;
        let before = self.process.signals.actions[at];
        if new != 0 {
            let action = self.read_words(new)?;
            if signal == SIGKILL || signal == SIGSTOP {
                return Err(Errno::EINVAL.into());
            }
            self.process.signals.actions[at] = action;
        }
        if old != 0 {
            self.write_words(old, &before)?;
        }
        Ok(0)
    }

    pub(super) fn rt_sigprocmask(&mut self, how: u64, set: u64, old: u64, bytes: u64) -> Result<i64> {
        if bytes != MASK_BYTES {
            return Err(Errno::EINVAL.into());
        }
        let before = self.process.threads.get(self.hart).blocked;
        if set != 0 {
            let [set] = self.read_words(set)?;
            let blocked = match how {
                SIG_BLOCK => before | set,
                SIG_UNBLOCK => before & !set,
                SIG_SETMASK => set,
                _ => return Err(Errno::EINVAL.into()),
            };
            let blocked = blocked & !(mask(SIGKILL) | mask(SIGSTOP));
            self.process.threads.get(self.hart).blocked = blocked;
        }
        if old != 0 {
            self.write_words(old, &[before])?;
        }
        let blocked = self.process.threads.get(self.hart).blocked;
        let delivered = self.process.signals.take(blocked);
        self.deliver(delivered)
    }

    pub(super) fn rt_sigpending(&mut self, set: u64, bytes: u64) -> Result<i64> {
        if bytes > MASK_BYTES {
            return Err(Errno::EINVAL.into());
        }
        let pending = self.process.signals.pending.to_le_bytes();
        self.write(set, &pending[..bytes as usize])?;
        Ok(0)
    }

    pub(super) fn sigaltstack(&mut self, new: u64, old: u64) -> Result<i64> {
        let before = self.process.threads.get(self.hart).signal_stack;
        if new != 0 {
            let [address, flags, bytes] = self.read_words(new)?;
            let flags = flags & 0xffff_ffff;
            if flags & !SS_DISABLE != 0 {
                return Err(Errno::EINVAL.into());
            }
            if flags & SS_DISABLE == 0 && bytes < STACK_BYTES_MIN {
                return Err(Errno::ENOMEM.into());
            }
            let none = flags & SS_DISABLE != 0;
            let stack = if none { [0, SS_DISABLE, 0] } else { [address, flags, bytes] };
            self.process.threads.get(self.hart).signal_stack = stack;
        }
        if old != 0 {
            self.write_words(old, &before)?;
        }
        Ok(0)
    }
}

//! Resource limits and use.

use super::{Call, Result};
use crate::errno::Errno;
use crate::process::TICKS_PER_S;

// Linux include/uapi/asm-generic/resource.h.
const RUSAGE_SELF: i32 = 0;
const RUSAGE_CHILDREN: i32 = -1;
const RUSAGE_THREAD: i32 = 1;

impl Call<'_> {
    pub(super) fn prlimit64(&mut self, id: u64, resource: u64, new: u64, old: u64) -> Result<i64> {
        if id as u32 != 0 && i64::from(id as u32) != self.process.id() {
            return Err(Errno::ESRCH.into());
        }
        let resource = resource as u32 as usize;
        let before = *self.process.limits.0.get(resource).ok_or(Errno::EINVAL)?;
        if new != 0 {
            let [soft, hard] = self.read_words(new)?;
            if soft > hard {
                return Err(Errno::EINVAL.into());
            }
            if hard > before[1] {
                return Err(Errno::EPERM.into());
            }
            self.process.limits.0[resource] = [soft, hard];
        }
        if old != 0 {
            self.write_words(old, &before)?;
        }
        Ok(0)
    }

    pub(super) fn getrlimit(&mut self, resource: u64, old: u64) -> Result<i64> {
        let limits = *self.process.limits.0.get(resource as u32 as usize).ok_or(Errno::EINVAL)?;
        self.write_words(old, &limits)?;
        Ok(0)
    }

    pub(super) fn setrlimit(&mut self, resource: u64, new: u64) -> Result<i64> {
        if new == 0 {
            return Err(Errno::EFAULT.into());
        }
        self.prlimit64(0, resource, new, 0)
    }

    /// All of a process's time is user time: the simulator's kernel takes none of its own.
    pub(super) fn getrusage(&mut self, who: u64, usage: u64) -> Result<i64> {
        // utime and stime as timeval; maxrss [KiB], ixrss, idrss, isrss, minflt, …
        let mut words = [0; 18];
        match who as i32 {
            RUSAGE_SELF | RUSAGE_THREAD => {
                let microseconds = self.now.0 / 1_000_000;
                words[0] = microseconds / 1_000_000;
                words[1] = microseconds % 1_000_000;
                words[4] = self.process.space.used_bytes() / 1024;
                words[8] = self.process.space.faults();
            }
            RUSAGE_CHILDREN => (),
            _ => return Err(Errno::EINVAL.into()),
        }
        self.write_words(usage, &words)?;
        Ok(0)
    }

    pub(super) fn times(&mut self, buffer: u64) -> Result<i64> {
        let ticks = self.now.0 / (1_000_000_000_000 / TICKS_PER_S);
        if buffer != 0 {
            self.write_words(buffer, &[ticks, 0, 0, 0])?;
        }
        Ok(ticks as i64)
    }
}

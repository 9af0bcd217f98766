//! What threads need, as far as one thread needs it.

use super::{Call, Outcome, Result, Stop, Wait};
use crate::errno::Errno;

// Linux include/uapi/linux/futex.h.
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAKE: u64 = 1;
const FUTEX_WAIT_BITSET: u64 = 9;
const FUTEX_WAKE_BITSET: u64 = 10;
const FUTEX_PRIVATE_FLAG: u64 = 128;
const FUTEX_CLOCK_REALTIME: u64 = 256;
const CLOCK_REALTIME: u64 = 0;
const CLOCK_MONOTONIC: u64 = 1;

// Linux include/uapi/linux/membarrier.h.
const MEMBARRIER_CMD_QUERY: u64 = 0;
const MEMBARRIER_CMD_GLOBAL: u64 = 1;
const MEMBARRIER_CMD_PRIVATE_EXPEDITED: u64 = 8;
const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: u64 = 16;

impl Call<'_> {
    pub(super) fn set_tid_address(&mut self) -> Result<i64> {
        Ok(self.process.id())
    }

    pub(super) fn futex(&mut self) -> Result<i64> {
        let [address, operation, value, timeout, ..] = self.args;
        let operation = operation as u32 as u64;
        let command = operation & !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
        if !address.is_multiple_of(4) {
            return Err(Errno::EINVAL.into());
        }
        match command {
            FUTEX_WAKE | FUTEX_WAKE_BITSET => return Ok(0),
            FUTEX_WAIT | FUTEX_WAIT_BITSET => (),
            _ => return Err(Errno::ENOSYS.into()),
        }
        let mut found = [0; 4];
        self.read(address, &mut found)?;
        if u32::from_le_bytes(found) != value as u32 {
            return Err(Errno::EAGAIN.into());
        }
        if timeout == 0 {
            return Err(Stop::Outcome(Outcome::Block(Wait::Futex { address })));
        }
        let nanoseconds = self.timespec(timeout)?;
        let until = if command == FUTEX_WAIT {
            self.after(nanoseconds)
        } else {
            let real = operation & FUTEX_CLOCK_REALTIME != 0;
            self.at(if real { CLOCK_REALTIME } else { CLOCK_MONOTONIC }, nanoseconds)?
        };
        self.sleep(until, -Errno::ETIMEDOUT.0)
    }

    pub(super) fn membarrier(&mut self, command: u64) -> Result<i64> {
        let known = MEMBARRIER_CMD_GLOBAL
            | MEMBARRIER_CMD_PRIVATE_EXPEDITED
            | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
        match command {
            MEMBARRIER_CMD_QUERY => Ok(known as i64),
            command if command.is_power_of_two() && command & known != 0 => Ok(0),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    pub(super) fn sched_getaffinity(&mut self, id: u64, bytes: u64, mask: u64) -> Result<i64> {
        if id as u32 != 0 && i64::from(id as u32) != self.process.id() {
            return Err(Errno::ESRCH.into());
        }
        let harts = self.process.options.harts as usize;
        let words = harts.div_ceil(64).max(1);
        if !bytes.is_multiple_of(8) || bytes < words as u64 * 8 {
            return Err(Errno::EINVAL.into());
        }
        let mut all = vec![0u64; words];
        (0..harts).for_each(|hart| all[hart / 64] |= 1 << (hart % 64));
        self.write_words(mask, &all)?;
        Ok(words as i64 * 8)
    }

    pub(super) fn getcpu(&mut self, cpu: u64, node: u64) -> Result<i64> {
        for address in [cpu, node].into_iter().filter(|&address| address != 0) {
            self.write(address, &[0; 4])?;
        }
        Ok(0)
    }
}

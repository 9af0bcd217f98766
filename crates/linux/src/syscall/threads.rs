//! Threads: how they begin, end, and wait for each other.

use chasqui_engine::Time;

use super::{Call, Outcome, Result, Stop, Wait};
use crate::errno::Errno;

const CLONE: u64 = 220;

// Linux include/uapi/linux/sched.h.
const CLONE_VM: u64 = 0x100;
const CLONE_SIGHAND: u64 = 0x800;
const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_SETTLS: u64 = 0x8_0000;
const CLONE_PARENT_SETTID: u64 = 0x10_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
const CLONE_CHILD_SETTID: u64 = 0x100_0000;

// Linux include/uapi/linux/futex.h.
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAKE: u64 = 1;
const FUTEX_REQUEUE: u64 = 3;
const FUTEX_CMP_REQUEUE: u64 = 4;
const FUTEX_WAIT_BITSET: u64 = 9;
const FUTEX_WAKE_BITSET: u64 = 10;
const FUTEX_PRIVATE_FLAG: u64 = 128;
const FUTEX_CLOCK_REALTIME: u64 = 256;
const FUTEX_BITSET_MATCH_ANY: u32 = u32::MAX;
const FUTEX_WAITERS: u32 = 0x8000_0000;
const FUTEX_OWNER_DIED: u32 = 0x4000_0000;
const FUTEX_TID_MASK: u32 = 0x3fff_ffff;
const CLOCK_REALTIME: u64 = 0;
const CLOCK_MONOTONIC: u64 = 1;

/// Bytes of `struct robust_list_head`: list, offset of the futex, the entry being taken.
const ROBUST_HEAD_BYTES: u64 = 24;
/// Entries of a robust list that are looked at (Linux `ROBUST_LIST_LIMIT`).
const ROBUST_ENTRIES_MAX: usize = 2048;

// Linux include/uapi/linux/membarrier.h.
const MEMBARRIER_CMD_QUERY: u64 = 0;
const MEMBARRIER_CMD_GLOBAL: u64 = 1;
const MEMBARRIER_CMD_PRIVATE_EXPEDITED: u64 = 8;
const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: u64 = 16;

impl Call<'_> {
    /// A thread of the process. Processes of their own are not served.
    pub(super) fn clone_thread(&mut self) -> Result<i64> {
        // The order of arguments is that of CONFIG_CLONE_BACKWARDS, which RISC-V selects.
        let [flags, stack, parent_id_at, tls, child_id_at, _] = self.args;
        let needed = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
        if flags & needed != needed {
            return self.unknown(CLONE).map_err(Stop::from);
        }
        let Some((hart, id)) = self.process.threads.create(self.hart) else {
            if !std::mem::replace(&mut self.process.told_harts, true) {
                self.host.report_no_hart(self.process.options.harts);
            }
            return Err(Errno::EAGAIN.into());
        };
        let id_bytes = (id as u32).to_le_bytes();
        if flags & CLONE_PARENT_SETTID != 0 {
            self.write(parent_id_at, &id_bytes)?;
        }
        if flags & CLONE_CHILD_SETTID != 0 {
            self.write(child_id_at, &id_bytes)?;
        }
        if flags & CLONE_CHILD_CLEARTID != 0 {
            self.process.threads.get(hart).clear_id = child_id_at;
        }
        let tls = (flags & CLONE_SETTLS != 0).then_some(tls);
        Err(Stop::Outcome(Outcome::Clone { hart, stack, tls, id }))
    }

    /// `exit`: the thread ends, and with the last the process.
    pub(super) fn exit(&mut self) -> Result<i64> {
        let status = (self.args[0] & 0xff) as i32;
        self.release_robust();
        let thread = self.process.threads.get(self.hart);
        let clear = std::mem::take(&mut thread.clear_id);
        // An address that is not the process's is not the kernel's worry.
        if clear != 0 && self.write(clear, &[0; 4]).is_ok() {
            self.process.threads.wake(clear, 1, FUTEX_BITSET_MATCH_ANY);
        }
        Err(Stop::Outcome(match self.process.threads.end(self.hart, status) {
            Some(status) => Outcome::Exit { status, group: false },
            None => Outcome::Leave,
        }))
    }

    pub(super) fn exit_group(&mut self) -> Result<i64> {
        Err(Stop::Outcome(Outcome::Exit { status: (self.args[0] & 0xff) as i32, group: true }))
    }

    pub(super) fn set_tid_address(&mut self) -> Result<i64> {
        let clear_id = self.args[0];
        let thread = self.process.threads.get(self.hart);
        thread.clear_id = clear_id;
        Ok(thread.id)
    }

    pub(super) fn set_robust_list(&mut self, head: u64, bytes: u64) -> Result<i64> {
        if bytes != ROBUST_HEAD_BYTES {
            return Err(Errno::EINVAL.into());
        }
        self.process.threads.get(self.hart).robust_list = head;
        Ok(0)
    }

    /// Mutexes that the thread holds have lost their owner (Linux kernel/futex/core.c, `exit_robust_list`).
    /// A list that can't be read ends there.
    fn release_robust(&mut self) {
        let thread = self.process.threads.get(self.hart);
        let (head, owner) = (std::mem::take(&mut thread.robust_list), thread.id as u32);
        if head == 0 {
            return;
        }
        let Ok([mut entry, offset, pending]) = self.read_words::<3>(head) else { return };
        for _ in 0..ROBUST_ENTRIES_MAX {
            if entry & !1 == head {
                break;
            }
            // Bit 0 marks mutexes that inherit priorities, which are not served.
            let at = entry & !1;
            if at != pending & !1 {
                self.release_mutex(at.wrapping_add(offset), owner);
            }
            let Ok([next]) = self.read_words::<1>(at) else { break };
            entry = next;
        }
        if pending != 0 {
            self.release_mutex((pending & !1).wrapping_add(offset), owner);
        }
    }

    fn release_mutex(&mut self, address: u64, owner: u32) {
        let Ok(word) = self.futex_word(address) else { return };
        if word & FUTEX_TID_MASK != owner {
            return;
        }
        let died = word & FUTEX_WAITERS | FUTEX_OWNER_DIED;
        if self.write(address, &died.to_le_bytes()).is_ok() && word & FUTEX_WAITERS != 0 {
            self.process.threads.wake(address, 1, FUTEX_BITSET_MATCH_ANY);
        }
    }

    fn futex_word(&mut self, address: u64) -> Result<u32> {
        let mut word = [0; 4];
        self.read(address, &mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    pub(super) fn futex(&mut self) -> Result<i64> {
        let [address, operation, value, second, other, third] = self.args;
        let operation = operation as u32 as u64;
        let command = operation & !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
        if !address.is_multiple_of(4) {
            return Err(Errno::EINVAL.into());
        }
        let third = third as u32;
        if matches!(command, FUTEX_WAIT_BITSET | FUTEX_WAKE_BITSET) && third == 0 {
            return Err(Errno::EINVAL.into());
        }
        // Linux counts a thread before it compares, so at least one is woken.
        let count = (value as i32).max(1) as u64;
        let threads = &mut self.process.threads;
        match command {
            FUTEX_WAKE => Ok(threads.wake(address, count, FUTEX_BITSET_MATCH_ANY) as i64),
            FUTEX_WAKE_BITSET => Ok(threads.wake(address, count, third) as i64),
            FUTEX_REQUEUE | FUTEX_CMP_REQUEUE => {
                if command == FUTEX_CMP_REQUEUE && self.futex_word(address)? != third {
                    return Err(Errno::EAGAIN.into());
                }
                let (wakes, moves) = (value as i32, second as i32);
                if wakes < 0 || moves < 0 || !other.is_multiple_of(4) {
                    return Err(Errno::EINVAL.into());
                }
                let threads = &mut self.process.threads;
                let woken = threads.wake(address, wakes as u64, FUTEX_BITSET_MATCH_ANY);
                Ok((woken + threads.requeue(address, other, moves as u64)) as i64)
            }
            FUTEX_WAIT => self.futex_wait(operation, FUTEX_BITSET_MATCH_ANY),
            FUTEX_WAIT_BITSET => self.futex_wait(operation, third),
            _ => Err(Errno::ENOSYS.into()),
        }
    }

    fn futex_wait(&mut self, operation: u64, bits: u32) -> Result<i64> {
        let [address, _, value, timeout, ..] = self.args;
        if self.futex_word(address)? != value as u32 {
            return Err(Errno::EAGAIN.into());
        }
        let until = self.wait_until(operation, timeout)?;
        if until <= self.now {
            return Err(Errno::ETIMEDOUT.into());
        }
        self.process.threads.wait(self.hart, address, bits);
        Err(Stop::Outcome(Outcome::Block { wait: Wait::Futex { address }, until }))
    }

    /// When a wait with the timeout at `timeout` ends. `FUTEX_WAIT` counts from now, the others name a time.
    fn wait_until(&mut self, operation: u64, timeout: u64) -> Result<Time> {
        if timeout == 0 {
            return Ok(Time::NEVER);
        }
        let nanoseconds = self.timespec(timeout)?;
        if operation & !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME) == FUTEX_WAIT {
            return Ok(self.after(nanoseconds));
        }
        let real = operation & FUTEX_CLOCK_REALTIME != 0;
        self.at(if real { CLOCK_REALTIME } else { CLOCK_MONOTONIC }, nanoseconds)
    }

    pub(super) fn membarrier(&mut self, command: u64) -> Result<i64> {
        let known = MEMBARRIER_CMD_GLOBAL
            | MEMBARRIER_CMD_PRIVATE_EXPEDITED
            | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
        match command {
            MEMBARRIER_CMD_QUERY => Ok(known as i64),
            command if command.is_power_of_two() && command & known != 0 => {
                self.process.barrier = true;
                Ok(0)
            }
            _ => Err(Errno::EINVAL.into()),
        }
    }

    /// Whether `id` names a thread of the process; 0 is the caller.
    fn check_thread(&self, id: u64) -> Result<()> {
        let id = i64::from(id as u32);
        if id == 0 || self.process.threads.find(id).is_some() { Ok(()) } else { Err(Errno::ESRCH.into()) }
    }

    pub(super) fn sched_getaffinity(&mut self, id: u64, bytes: u64, mask: u64) -> Result<i64> {
        self.check_thread(id)?;
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

    /// Threads stay on their harts: a mask is taken that names some hart of the node.
    pub(super) fn sched_setaffinity(&mut self, id: u64, bytes: u64, mask: u64) -> Result<i64> {
        self.check_thread(id)?;
        let mut named = vec![0; bytes.min(8) as usize];
        self.read(mask, &mut named)?;
        let harts = self.process.options.harts as usize;
        let names = |hart: usize| named.get(hart / 8).is_some_and(|byte| byte >> (hart % 8) & 1 != 0);
        if (0..harts).any(names) { Ok(0) } else { Err(Errno::EINVAL.into()) }
    }

    pub(super) fn getcpu(&mut self, cpu: u64, node: u64) -> Result<i64> {
        let own_node = self.process.node_of(self.hart) as u32;
        for (address, value) in [(cpu, self.hart as u32), (node, own_node)] {
            if address != 0 {
                self.write(address, &value.to_le_bytes())?;
            }
        }
        Ok(0)
    }
}

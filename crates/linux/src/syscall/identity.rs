//! Information about the process and its node.

use super::{Call, Result};
use crate::errno::Errno;

const PR_SET_NAME: u64 = 15;
/// Longest random request that is not cut (Linux drivers/char/random.c).
const RANDOM_BYTES_MAX: u64 = 1 << 25;
/// Length of a field of `struct new_utsname` (Linux include/uapi/linux/utsname.h).
const NAME_BYTES: usize = 65;

impl Call<'_> {
    pub(super) fn uname(&mut self, address: u64) -> Result<i64> {
        let mut all = [0; 6 * NAME_BYTES];
        let node = self.process.options.node_name.clone();
        // glibc refuses kernels older than it was built for: 4.15 at least.
        let fields = ["Linux", &node, "6.6.0", "#1 SMP", "riscv64", "(none)"];
        for (field, text) in all.chunks_mut(NAME_BYTES).zip(fields) {
            let length = text.len().min(NAME_BYTES - 1);
            field[..length].copy_from_slice(&text.as_bytes()[..length]);
        }
        self.write(address, &all)?;
        Ok(0)
    }

    pub(super) fn sysinfo(&mut self, address: u64) -> Result<i64> {
        let space = &self.process.space;
        let (total, used) = (space.limit_bytes(), space.used_bytes());
        // uptime; loads; totalram, freeram, sharedram, bufferram, totalswap, freeswap; procs (16
        // bits); totalhigh, freehigh; mem_unit (32 bits) (Linux include/uapi/linux/sysinfo.h).
        let uptime = self.now.0 / 1_000_000_000_000;
        let words = [uptime, 0, 0, 0, total, total - used, 0, 0, 0, 0, 1, 0, 0, 1];
        self.write_words(address, &words)?;
        Ok(0)
    }

    pub(super) fn getrandom(&mut self, address: u64, bytes: u64) -> Result<i64> {
        let bytes = bytes.min(RANDOM_BYTES_MAX);
        let mut random = [0; 256];
        for done in (0..bytes).step_by(random.len()) {
            let part = &mut random[..(bytes - done).min(256) as usize];
            self.process.random.fill(part);
            self.process.space.write_user(self.memory, address.wrapping_add(done), part)?;
        }
        Ok(bytes as i64)
    }

    pub(super) fn prctl(&mut self, option: u64) -> Result<i64> {
        if option == PR_SET_NAME { Ok(0) } else { Err(Errno::EINVAL.into()) }
    }
}

//! Which number is which call.

use super::{Call, Outcome, Result, Stop};
use crate::errno::Errno;

impl Call<'_> {
    /// Serves call `number`.
    pub(super) fn serve(&mut self, number: u64) -> Result<i64> {
        let [a, b, c, d, ..] = self.args;
        match number {
            17 => self.getcwd(a, b),
            23 => self.dup(a),
            24 => self.dup3(a, b, c),
            25 => self.fcntl(a, b, c),
            29 => self.ioctl(a),
            34 => self.mkdirat(a, b, c),
            35 => self.unlinkat(a, b, c),
            45 => self.truncate(a, b),
            46 => self.ftruncate(a, b),
            48 | 439 => self.faccessat(a, b, c),
            49 => self.chdir(a),
            56 => self.openat(a, b, c, d),
            57 => self.close(a),
            61 => self.getdents64(a, b, c),
            62 => self.lseek(a, b as i64, c),
            63 => self.read_file(a, &[(b, c)], None),
            64 => self.write_file(a, &[(b, c)], None),
            65 => self.vectors(b, c).and_then(|parts| self.read_file(a, &parts, None)),
            66 => self.vectors(b, c).and_then(|parts| self.write_file(a, &parts, None)),
            67 => self.read_file(a, &[(b, c)], Some(d)),
            68 => self.write_file(a, &[(b, c)], Some(d)),
            69 => self.vectors(b, c).and_then(|parts| self.read_file(a, &parts, Some(d))),
            70 => self.vectors(b, c).and_then(|parts| self.write_file(a, &parts, Some(d))),
            78 => self.readlinkat(a, b, c, d),
            79 => self.newfstatat(a, b, c, d),
            80 => self.fstat(a, b),
            // fsync, fdatasync
            82 | 83 => self.process.descriptors.get(a).map(|_| 0).map_err(Stop::from),
            93 => self.exit(false),
            94 => self.exit(true),
            96 => self.set_tid_address(),
            98 => self.futex(),
            99 => Ok(0), // set_robust_list: of use only when threads die
            101 => self.nanosleep(a),
            113 => self.clock_gettime(a, b),
            114 => self.clock_getres(a, b),
            115 => self.clock_nanosleep(a, b, c),
            122 => Ok(0), // sched_setaffinity: a rank stays on its hart
            123 => self.sched_getaffinity(a, b, c),
            124 => Ok(0), // sched_yield
            129 => self.kill(a, b),
            130 => self.kill(a, b), // tkill
            131 => self.kill(b, c), // tgkill
            132 => self.sigaltstack(a, b),
            134 => self.rt_sigaction(a, b, c, d),
            135 => self.rt_sigprocmask(a, b, c, d),
            136 => self.rt_sigpending(a, b),
            153 => self.times(a),
            155 | 156 => Ok(self.process.id()), // getpgid, getsid
            160 => self.uname(a),
            163 => self.getrlimit(a, b),
            164 => self.setrlimit(a, b),
            165 => self.getrusage(a, b),
            166 => Ok(0o22), // umask
            167 => self.prctl(a),
            168 => self.getcpu(a, b),
            169 => self.gettimeofday(a, b),
            172 | 178 => Ok(self.process.id()), // getpid, gettid
            173 => Ok(1),                       // getppid
            174..=177 => Ok(crate::process::USER_ID as i64),
            179 => self.sysinfo(a),
            214 => Ok(self.process.space.brk(self.memory, a) as i64),
            215 => self.munmap(a, b),
            216 => self.mremap(),
            222 => self.mmap(),
            226 => self.mprotect(a, b, c),
            227..=231 => Ok(0), // msync, mlock, munlock, mlockall, munlockall: nothing is swapped
            233 => self.madvise(a, b, c),
            // riscv_flush_icache (arch/riscv/include/uapi/asm/unistd.h)
            259 => {
                self.process.space.flush_all();
                Ok(0)
            }
            261 => self.prlimit64(a, b, c, d),
            276 => self.renameat2(),
            278 => self.getrandom(a, b),
            283 => self.membarrier(a),
            // riscv_hwprobe, statx, rseq, clone3: C libraries do without them.
            258 | 291 | 293 | 435 => Err(Errno::ENOSYS.into()),
            _ => self.unknown(number).map_err(Stop::from),
        }
    }

    fn exit(&mut self, group: bool) -> Result<i64> {
        Err(Stop::Outcome(Outcome::Exit { status: (self.args[0] & 0xff) as i32, group }))
    }
}

//! Which number is which call.

use super::{Call, Outcome, Result, Stop};
use crate::errno::Errno;

/// Makes of one list `serve` and [`SERVED`]: a row has numbers, what serves them, and, after `but`,
/// what is left out of what Linux does.
macro_rules! served {
    ($call:ident [$($argument:ident),*]
     $($($number:literal)|+ => $answer:expr $(, but $left_out:literal)?;)*) => {
        /// Serves call `number`.
        // A row lists its numbers one by one.
        #[allow(clippy::manual_range_patterns)]
        pub(super) fn serve($call: &mut Call, number: u64) -> Result<i64> {
            let [$($argument,)* ..] = $call.args;
            match number {
                $($($number)|+ => $answer,)*
                refused if REFUSED.contains(&refused) => Err(Errno::ENOSYS.into()),
                _ => $call.unknown(number).map_err(Stop::from),
            }
        }

        /// The numbers of each row, and what is left out.
        pub(super) const SERVED: &[(&[u64], Option<&str>)] = &[
            $((&[$($number),+], served!(@ $($left_out)?)),)*
        ];
    };
    (@) => { None };
    (@ $left_out:literal) => { Some($left_out) };
}

/// riscv_hwprobe, statx, rseq, clone3: C libraries do without them.
pub(super) const REFUSED: [u64; 4] = [258, 291, 293, 435];

served! {
    call [a, b, c, d, e, f]
    17 => call.getcwd(a, b);
    23 => call.dup(a);
    24 => call.dup3(a, b, c);
    25 => call.fcntl(a, b, c), but "locks always succeed and exclude nothing";
    29 => call.ioctl(a);
    34 => call.mkdirat(a, b, c);
    35 => call.unlinkat(a, b, c);
    45 => call.truncate(a, b);
    46 => call.ftruncate(a, b);
    48 | 439 => call.faccessat(a, b, c);
    49 => call.chdir(a);
    56 => call.openat(a, b, c, d);
    57 => call.close(a);
    61 => call.getdents64(a, b, c);
    62 => call.lseek(a, b as i64, c);
    63 => call.read_file(a, &[(b, c)], None);
    64 => call.write_file(a, &[(b, c)], None);
    65 => call.vectors(b, c).and_then(|parts| call.read_file(a, &parts, None));
    66 => call.vectors(b, c).and_then(|parts| call.write_file(a, &parts, None));
    67 => call.read_file(a, &[(b, c)], Some(d));
    68 => call.write_file(a, &[(b, c)], Some(d));
    69 => call.vectors(b, c).and_then(|parts| call.read_file(a, &parts, Some(d)));
    70 => call.vectors(b, c).and_then(|parts| call.write_file(a, &parts, Some(d)));
    72 => call.pselect(a, [b, c, d]), but "does not wait without a descriptor and a timeout";
    73 => call.ppoll(a, b, c), but "does not wait without a descriptor and a timeout";
    78 => call.readlinkat(a, b, c, d);
    79 => call.newfstatat(a, b, c, d);
    80 => call.fstat(a, b);
    // fsync, fdatasync
    82 | 83 => call.process.descriptors.get(a).map(|_| 0).map_err(Stop::from);
    93 => call.exit();
    94 => call.exit_group();
    96 => call.set_tid_address();
    98 => call.futex(), but "no priority inheritance, no FUTEX_WAKE_OP";
    99 => call.set_robust_list(a, b);
    101 => call.nanosleep(a);
    113 => call.clock_gettime(a, b);
    114 => call.clock_getres(a, b);
    115 => call.clock_nanosleep(a, b, c);
    122 => call.sched_setaffinity(a, b, c), but "a thread stays on its hart";
    123 => call.sched_getaffinity(a, b, c);
    124 => Err(Stop::Outcome(Outcome::Yield)); // sched_yield
    129 => call.kill(a, b);
    130 => call.tkill(a, b);
    131 => call.tgkill(a, b, c);
    132 => call.sigaltstack(a, b);
    134 => call.rt_sigaction(a, b, c, d),
        but "handlers never run: a signal that is not ignored ends the rank";
    135 => call.rt_sigprocmask(a, b, c, d);
    136 => call.rt_sigpending(a, b);
    153 => call.times(a);
    155 | 156 => Ok(call.process.id()); // getpgid, getsid
    160 => call.uname(a);
    163 => call.getrlimit(a, b);
    164 => call.setrlimit(a, b);
    165 => call.getrusage(a, b);
    // umask
    166 => Ok(0o22), but "does nothing: always says 022";
    167 => call.prctl(a), but "PR_SET_NAME alone";
    168 => call.getcpu(a, b);
    169 => call.gettimeofday(a, b);
    172 => Ok(call.process.id()); // getpid
    173 => Ok(1); // getppid
    174 | 175 | 176 | 177 => Ok(crate::process::USER_ID as i64);
    178 => Ok(call.process.threads.get(call.hart).id); // gettid
    179 => call.sysinfo(a);
    214 => Ok(call.process.space.brk(call.memory, a) as i64);
    215 => call.munmap(a, b);
    216 => call.mremap();
    220 => call.clone_thread(), but "threads alone, each on a hart of its own (node.harts)";
    222 => call.mmap(), but "a file cannot be mapped shared and writable";
    226 => call.mprotect(a, b, c);
    227 | 228 | 229 | 230 | 231 => Ok(0); // msync, mlock, munlock, mlockall, munlockall: nothing is swapped
    233 => call.madvise(a, b, c);
    235 => call.mbind(a, b, c, [d, e], f), but "pages that are there stay where they are";
    236 => call.get_mempolicy([a, b], c, d, e);
    237 => call.set_mempolicy(a, b, c);
    // riscv_flush_icache (arch/riscv/include/uapi/asm/unistd.h)
    259 => {
        call.process.space.flush_all();
        Ok(0)
    };
    261 => call.prlimit64(a, b, c, d);
    276 => call.renameat2();
    278 => call.getrandom(a, b);
    283 => call.membarrier(a);
}

//! System calls, called.

use std::sync::Arc;

use crate::support::machine::{Machine, PAGE};
use crate::support::walk;
use chasqui_engine::Time;
use chasqui_linux::syscall::EPOCH_S;
use chasqui_linux::{FaultCause, Flush, Input, NiDevice, NiMapping, Outcome, Wait};
use chasqui_random::{Random, seed_of_test};

const MINUS_1: u64 = u64::MAX;
const CWD: u64 = -100i64 as u64;
const EBADF: i64 = -9;
const ENOENT: i64 = -2;
const EACCES: i64 = -13;
const EFAULT: i64 = -14;
const EEXIST: i64 = -17;
const EISDIR: i64 = -21;
const EINVAL: i64 = -22;
const ESPIPE: i64 = -29;
const ENOSYS: i64 = -38;

fn machine() -> Machine {
    Machine::new(|_| ())
}

#[test]
fn unknown_calls_are_reported_once_and_refused() {
    let mut m = machine();
    // riscv_hwprobe, statx, rseq, clone3: expected, so not reported.
    for number in [9999, 258, 291, 293, 435, 9999, 220, 9999] {
        assert_eq!(m.call(number, &[]), ENOSYS, "{number}");
    }
    assert_eq!(m.host.unknown, [9999, 220]);
}

#[test]
fn a_process_ends() {
    let mut m = machine();
    assert_eq!(m.outcome(93, &[0x1ff]), Outcome::Exit { status: 255, group: false });
    assert_eq!(m.outcome(94, &[3]), Outcome::Exit { status: 3, group: true });
}

#[test]
fn output_goes_to_the_streams_of_the_rank() {
    let mut m = machine();
    let s = m.scratch;
    m.put(s, b"hello, world\n");
    assert_eq!(m.call(64, &[1, s, 13]), 13);
    assert_eq!(m.call(64, &[2, s, 5]), 5);
    m.put_words(s + 64, &[s, 5, 0, 0, s + 12, 1]);
    assert_eq!(m.call(66, &[1, s + 64, 3]), 6, "writev");
    assert_eq!(m.host.output, b"hello, world\nhello\n");
    assert_eq!(m.host.error, b"hello");
    // The scratch page ends: what lies before the end is written.
    m.put(s + PAGE - 3, b"end");
    assert_eq!(m.call(64, &[1, s + PAGE - 3, 100]), 3);
    assert_eq!(m.call(64, &[1, s + PAGE, 100]), EFAULT);
    assert_eq!(m.call(64, &[1, MINUS_1, 1]), EFAULT);
    assert_eq!(m.call(64, &[1, 0, 0]), 0);
    assert_eq!(m.call(64, &[0, s, 1]), EBADF, "standard input is not for writing");
    assert_eq!(m.call(64, &[77, s, 1]), EBADF);
    assert_eq!(m.call(66, &[1, s, 2000]), EINVAL);
    assert_eq!(m.call(68, &[1, s, 1, 0]), ESPIPE, "pwrite64");
    assert_eq!(m.host.output, b"hello, world\nhello\nend");
}

#[test]
fn input_is_given_and_ends() {
    let mut m = Machine::new(|options| options.input = Arc::new(b"0123456789".to_vec()));
    let s = m.scratch;
    assert_eq!(m.call(63, &[0, s, 4]), 4);
    // Two bytes fit before the page's end; the rest of the input is not lost.
    assert_eq!(m.call(63, &[0, s + PAGE - 2, 4]), 2);
    assert_eq!(m.get(s + PAGE - 2, 2), b"45");
    m.put_words(s + 64, &[s + 8, 1, s + 16, 100]);
    assert_eq!(m.call(65, &[0, s + 64, 2]), 4, "readv");
    assert_eq!(
        (m.get(s, 4), m.get(s + 8, 1), m.get(s + 16, 3)),
        (b"0123".into(), b"6".into(), b"789".into())
    );
    assert_eq!(m.call(63, &[0, s, 4]), 0);
    assert_eq!(m.call(62, &[0, 0, 0]), ESPIPE);
    assert_eq!(m.call(63, &[1, s, 1]), EBADF);
}

/// As those of /proc/self/fd on Linux.
#[test]
fn a_descriptor_that_is_not_open_has_no_name() {
    let mut m = machine();
    let (path, status) = (m.scratch, m.scratch + 64);
    m.put(path, b"/dev/stdin\0");
    assert!(m.call(56, &[CWD, path, 0, 0]) > 2, "openat");
    assert_eq!(m.call(57, &[0]), 0, "close");
    assert_eq!(m.call(56, &[CWD, path, 0, 0]), ENOENT);
    assert_eq!(m.call(48, &[CWD, path, 4]), ENOENT, "faccessat");
    assert_eq!(m.call(79, &[CWD, path, status, 0]), ENOENT, "newfstatat");
}

/// It never waits for input, and says nothing of how much there is; a read does.
#[test]
fn what_may_be_read_or_written_is_ready() {
    let mut m = machine();
    let s = m.scratch;
    // Descriptors 0 and 2 to be read, 1 to be written, 0 in other conditions; bits behind the count do not matter.
    m.put_words(s, &[0b1101, 0b10, 0b1]);
    assert_eq!(m.call(72, &[3, s, s + 8, s + 16, 0, 0]), 3, "pselect6");
    assert_eq!(m.words(s, 3), [0b101, 0b10, 0]);
    m.put_words(s, &[1 << 3]);
    assert_eq!(m.call(72, &[4, s, 0, 0, 0, 0]), EBADF);
    assert_eq!(m.words(s, 1), [1 << 3], "nothing is said where one is wrong");
    assert_eq!(m.call(72, &[MINUS_1, s, 0, 0, 0, 0]), EINVAL);
    // Sets end where no descriptor can be.
    m.put_words(s, &[&[0b1][..], &[0; 99]].concat());
    assert_eq!(m.call(72, &[100_000, s, 0, 0, 0, 0]), 1);
    // Without any it is a timer: here of 5 s and 7 ns.
    m.put_words(s, &[5, 7]);
    let slept = m.outcome(72, &[0, 0, 0, 0, s, 0]);
    assert!(matches!(slept, Outcome::Sleep { until, value: 0 } if until.0 >= 5_000_000_007_000), "{slept:?}");
}

/// A run that ends while a rank waits for input.
#[test]
fn a_read_that_the_end_of_the_run_interrupts_does_not_return() {
    #[derive(Debug)]
    struct Never;
    impl Input for Never {
        fn read_at(&self, _: u64, _: &mut [u8]) -> std::io::Result<Option<usize>> {
            Ok(None)
        }
    }
    let mut m = Machine::new(|options| options.input = Arc::new(Never));
    let s = m.scratch;
    assert_eq!(m.call(63, &[0, s, 0]), 0, "nothing is asked for");
    assert!(matches!(m.outcome(63, &[0, s, 1]), Outcome::Sleep { .. }));
}

#[test]
fn streams_are_pipes_and_nothing_is_a_terminal() {
    let mut m = machine();
    let s = m.scratch;
    for descriptor in 0..3 {
        assert_eq!(m.call(80, &[descriptor, s]), 0);
        assert_eq!(m.words(s, 3)[2] & 0o170_000, 0o010_000, "S_IFIFO");
        assert_eq!(m.call(29, &[descriptor, 0x5413, s]), -25, "TIOCGWINSZ: ENOTTY");
    }
    assert_eq!(m.call(29, &[3, 0x5413, s]), EBADF);
    assert_eq!(m.call(80, &[1, 8]), EFAULT);
}

#[test]
fn files_are_made_written_and_read() {
    let (mut m, folder) = Machine::with_folder("files");
    let s = m.scratch;
    assert_eq!(m.open("out", 0), ENOENT);
    let out = m.open("out", 0o1101) as u64; // O_WRONLY | O_CREAT | O_TRUNC
    assert_eq!(out, 3);
    m.put(s, b"0123456789");
    assert_eq!(m.call(64, &[out, s, 10]), 10);
    assert_eq!(m.call(68, &[out, s, 2, 4]), 2, "pwrite64");
    assert_eq!(m.call(62, &[out, 0, 1]), 10, "pwrite64 does not move the position");
    assert_eq!(m.call(62, &[out, 2, 0]), 2);
    assert_eq!(m.call(62, &[out, (-3i64) as u64, 0]), EINVAL);
    assert_eq!(m.call(62, &[out, 5, 9]), EINVAL);
    assert_eq!(m.call(64, &[out, s, 1]), 1);
    assert_eq!(std::fs::read(folder.0.join("out")).unwrap(), b"0103016789");
    assert_eq!(m.call(63, &[out, s, 1]), EBADF);
    assert_eq!(m.call(46, &[out, 4]), 0, "ftruncate");
    assert_eq!(m.call(57, &[out]), 0);
    assert_eq!(m.call(57, &[out]), EBADF);

    assert_eq!(m.open("out", 0o2001), 3, "O_APPEND, and the lowest descriptor again");
    m.put(s, b"xyz");
    assert_eq!(m.call(64, &[3, s, 3]), 3);
    assert_eq!(m.call(62, &[3, 0, 1]), 7);
    assert_eq!(m.open("/cwd/out", 0), 4);
    assert_eq!(m.call(63, &[4, s, 100]), 7);
    assert_eq!(m.get(s, 7), b"0103xyz");
    assert_eq!(m.call(63, &[4, s, 100]), 0);
    assert_eq!(m.call(67, &[4, s, 100, 5]), 2, "pread64");
    assert_eq!(m.call(67, &[4, s, 100, MINUS_1]), EINVAL);
    assert_eq!(m.call(62, &[4, MINUS_1, 2]), 6, "SEEK_END");
    assert_eq!(m.call(62, &[4, 3, 4]), 7, "SEEK_HOLE");
    assert_eq!(m.call(46, &[4, 0]), EINVAL, "ftruncate of a file opened to be read");
    assert_eq!(m.open("out", 0o301), EEXIST, "O_CREAT | O_EXCL");
    assert_eq!(m.open(".", 1), EISDIR);
    assert_eq!(m.open("out", 0o200_000), -20, "O_DIRECTORY: ENOTDIR");
    assert_eq!(m.open("", 0), ENOENT);
    let long = m.call(222, &[0, 2 * PAGE, 3, 0x22, MINUS_1, 0]) as u64;
    m.put(long, &[b'x'; 5000]);
    assert_eq!(m.call(56, &[CWD, long, 0, 0]), -36, "ENAMETOOLONG");
    assert_eq!(m.call(56, &[CWD, MINUS_1, 0, 0]), EFAULT);
    let empty = m.open("new", 0o100) as u64; // O_RDONLY | O_CREAT
    assert_eq!(m.call(63, &[empty, s, 1]), 0);
    assert!(folder.0.join("new").exists());
}

#[test]
fn a_transfer_larger_than_memory_at_hand_is_done_in_parts() {
    let (mut m, folder) = Machine::with_folder("large");
    let content: Vec<u8> = (0..3_000_000u32).map(|i| (i / 251) as u8).collect();
    std::fs::write(folder.0.join("large"), &content).unwrap();
    let file = m.open("large", 2) as u64;
    let at = m.call(222, &[0, 3_000_000, 3, 0x22, MINUS_1, 0]) as u64;
    assert_eq!(m.call(63, &[file, at, 3_000_000]), 3_000_000);
    assert_eq!(m.get(at, 3_000_000), content);
    assert_eq!(m.call(64, &[file, at + 1_000_000, 2_000_000]), 2_000_000);
    assert_eq!(std::fs::read(folder.0.join("large")).unwrap()[3_000_000..], content[1_000_000..]);
}

#[test]
fn status_is_the_same_on_every_host() {
    let (mut m, folder) = Machine::with_folder("status");
    std::fs::write(folder.0.join("a"), vec![0; 1000]).unwrap();
    std::fs::create_dir(folder.0.join("d")).unwrap();
    std::os::unix::fs::symlink("a", folder.0.join("l")).unwrap();
    let s = m.scratch;
    let status = |m: &mut Machine, path: &str, flags| {
        let path = m.text(path);
        assert_eq!(m.call(79, &[CWD, path, s + 512, flags]), 0);
        m.words(s + 512, 16)
    };
    // struct stat of asm-generic/stat.h: dev, ino, mode and nlink, uid and gid, rdev, pad, size,
    // blksize, blocks, three times of two words.
    let nlink = 1 << 32;
    let owner = 1000 | 1000 << 32;
    let t = EPOCH_S;
    let file = status(&mut m, "a", 0);
    assert_eq!(file, [1, 100, 0o100_644 | nlink, owner, 0, 0, 1000, 4096, 2, t, 0, t, 0, t, 0, 0]);
    assert_eq!(status(&mut m, "./a", 0)[1], 100, "the same file");
    assert_eq!(status(&mut m, "d", 0)[1..3], [101, 0o040_755 | nlink]);
    assert_eq!(status(&mut m, "l", 0x100)[2] & 0o170_000, 0o120_000);
    assert_eq!(status(&mut m, "l", 0)[2] & 0o170_000, 0o100_000);
    let open = m.open("a", 0) as u64;
    let path = m.text("");
    assert_eq!(m.call(79, &[open, path, s + 512, 0x1000]), 0, "AT_EMPTY_PATH");
    assert_eq!(m.words(s + 512, 16), file);
    assert_eq!(m.call(79, &[open, path, s + 512, 0]), ENOENT);
    let path = m.text("/etc/passwd");
    assert_eq!(m.call(79, &[CWD, path, s + 512, 0]), ENOENT, "the host's own files are hidden");
    let path = m.text("a");
    assert_eq!(m.call(48, &[CWD, path, 4]), 0, "faccessat");
    assert_eq!(m.call(48, &[CWD, path, 1]), EACCES);
}

#[test]
fn directories_are_made_listed_and_removed() {
    let (mut m, folder) = Machine::with_folder("directories");
    let s = m.scratch;
    let path = m.text("d");
    assert_eq!(m.call(34, &[CWD, path, 0o755]), 0);
    assert_eq!(m.call(34, &[CWD, path, 0o755]), EEXIST);
    for name in ["zeta", "alpha", "m"] {
        std::fs::write(folder.0.join("d").join(name), "").unwrap();
    }
    let d = m.open("d", 0o200_000) as u64;
    let mut names = Vec::new();
    loop {
        let bytes = m.call(61, &[d, s + 512, 64]) as usize;
        let mut list = &m.get(s + 512, bytes)[..];
        while !list.is_empty() {
            let length = usize::from(u16::from_le_bytes([list[16], list[17]]));
            let name: Vec<u8> = list[19..length].iter().copied().take_while(|&byte| byte != 0).collect();
            names.push((String::from_utf8(name).unwrap(), list[18]));
            list = &list[length..];
        }
        if bytes == 0 {
            break;
        }
    }
    let wanted = [(".", 4), ("..", 4), ("alpha", 8), ("m", 8), ("zeta", 8)];
    assert_eq!(names, wanted.map(|(name, kind)| (name.to_string(), kind)));
    assert_eq!(m.call(62, &[d, 0, 0]), 0, "rewind");
    assert_eq!(m.call(61, &[d, s + 512, 8]), EINVAL);
    assert_eq!(m.call(63, &[d, s, 8]), EISDIR);

    let path = m.text("alpha");
    assert_eq!(m.call(35, &[d, path, 0]), 0, "unlinkat relative to a directory");
    assert_eq!(m.call(35, &[d, path, 0]), ENOENT);
    let path = m.text("d");
    assert_eq!(m.call(35, &[CWD, path, 0]), EISDIR);
    assert_eq!(m.call(35, &[CWD, path, 0x200]), -39, "ENOTEMPTY");
    assert_eq!(m.call(49, &[path]), 0, "chdir");
    assert_eq!(m.call(17, &[s, 100]), 7);
    assert_eq!(m.get(s, 7), b"/cwd/d\0");
    assert_eq!(m.call(17, &[s, 6]), -34, "ERANGE");
    assert_eq!(m.open("zeta", 0), 4);
    m.put(s, b"zeta\0m2\0");
    assert_eq!(m.call(276, &[CWD, s, CWD, s + 5, 0]), 0, "renameat2");
    assert!(folder.0.join("d/m2").exists() && !folder.0.join("d/zeta").exists());
}

#[test]
fn descriptors_are_shared_and_limited() {
    let (mut m, _folder) = Machine::with_folder("dup");
    let s = m.scratch;
    let file = m.open("f", 0o102) as u64;
    let second = m.call(23, &[file]) as u64;
    assert_eq!((file, second), (3, 4));
    m.put(s, b"ab");
    assert_eq!(m.call(64, &[file, s, 1]), 1);
    assert_eq!(m.call(62, &[second, 0, 1]), 1, "one position for both");
    assert_eq!(m.call(24, &[1, 20, 0o2_000_000]), 20, "dup3");
    assert_eq!(m.call(25, &[20, 1, 0]), 1, "F_GETFD");
    assert_eq!(m.call(25, &[20, 2, 0]), 0, "F_SETFD");
    assert_eq!(m.call(25, &[20, 1, 0]), 0);
    assert_eq!(m.call(64, &[20, s, 2]), 2);
    assert_eq!(m.host.output, b"ab");
    assert_eq!(m.call(24, &[1, 1, 0]), EINVAL);
    assert_eq!(m.call(25, &[file, 0, 10]), 10, "F_DUPFD");
    assert_eq!(m.call(25, &[file, 3, 0]), 2, "F_GETFL: O_RDWR");
    assert_eq!(m.call(25, &[file, 4, 0o2001]), 0, "F_SETFL");
    assert_eq!(m.call(25, &[second, 3, 0]), 0o2002);
    assert_eq!(m.call(57, &[file]), 0);
    assert_eq!(m.call(64, &[second, s, 1]), 1, "still open");
    assert_eq!(m.call(25, &[second, 999, 0]), EINVAL);
    // RLIMIT_NOFILE
    m.put_words(s, &[6, 100]);
    assert_eq!(m.call(261, &[0, 7, s, s + 16]), 0);
    assert_eq!(m.words(s + 16, 2), [1024, 4096]);
    let opened: Vec<i64> = (0..4).map(|_| m.open("f", 0)).collect();
    assert_eq!(opened, [3, 5, -24, -24], "EMFILE");
}

#[test]
fn special_files() {
    let mut m = machine();
    let s = m.scratch;
    let null = m.open("/dev/null", 2) as u64;
    assert_eq!((m.call(64, &[null, s, 9]), m.call(63, &[null, s, 9])), (9, 0));
    let zero = m.open("/dev/zero", 0) as u64;
    m.put(s, b"123");
    assert_eq!((m.call(63, &[zero, s, 2]), m.get(s, 3)), (2, vec![0, 0, b'3']));
    let random = m.open("/dev/urandom", 0) as u64;
    assert_eq!(m.call(63, &[random, s, 100]), 100);
    let output = m.open("/dev/stdout", 1) as u64;
    m.put(s, b"out");
    m.call(64, &[output, s, 3]);
    assert_eq!(m.host.output, b"out");
    let program = m.open("/proc/self/exe", 0) as u64;
    assert_eq!((m.call(63, &[program, s, 4]), m.get(s, 4)), (4, b"\x7fELF".to_vec()));
    let path = m.text("/proc/self/exe");
    assert_eq!((m.call(78, &[CWD, path, s + 64, 100]), m.get(s + 64, 9)), (9, b"/cwd/prog".to_vec()));
    assert_eq!(m.call(78, &[CWD, path, s + 64, 4]), 4, "cut");
    for hidden in
        ["/proc/cpuinfo", "/sys/devices/system/cpu/online", "/etc/localtime", "/dev/ni0", "/dev/tty"]
    {
        assert_eq!(m.open(hidden, 0), ENOENT, "{hidden}");
    }
}

fn device() -> NiDevice {
    let regions = vec![
        NiMapping { physical: 0x40_0000_0000, bytes: 2 * PAGE, uncached: true },
        NiMapping { physical: 0, bytes: 0, uncached: false },
        NiMapping { physical: 0x4000, bytes: 4 * PAGE, uncached: false },
    ];
    NiDevice { identification: b"CHASQUI1".to_vec(), regions }
}

#[test]
fn network_interfaces_are_mapped_by_their_file() {
    let mut m = Machine::new(|options| options.devices = vec![device()]);
    let ni = m.open("/dev/ni0", 2) as u64;
    assert_eq!(m.open("/dev/ni1", 2), ENOENT);
    let stride = 1 << 32;
    let map = |m: &mut Machine, bytes, prot, offset| m.call(222, &[0, bytes, prot, 1, ni, offset]);

    let page = map(&mut m, PAGE, 1, 0) as u64;
    let root = m.process.space.root();
    assert_eq!(walk(&m.memory, root, page).map(|leaf| leaf.1), Some(0x53), "at once, and read-only");
    assert_eq!(m.get(page, 16), b"CHASQUI1\0\0\0\0\0\0\0\0");
    assert_eq!(map(&mut m, PAGE, 3, 0), EACCES);
    assert_eq!(map(&mut m, PAGE + 1, 1, 0), EINVAL);
    assert_eq!(map(&mut m, PAGE, 1, PAGE), EINVAL);

    let registers = map(&mut m, 2 * PAGE, 3, stride) as u64;
    let root = m.process.space.root();
    assert_eq!(walk(&m.memory, root, registers + PAGE), Some((0x40_0000_0000 + PAGE, 0xd7)));
    let ring = map(&mut m, 2 * PAGE, 3, 3 * stride + PAGE) as u64;
    assert_eq!(walk(&m.memory, root, ring), Some((0x4000 + PAGE, 0xd7)));
    m.put(ring, b"in the ring");
    assert_eq!(m.memory.slice(0x4000 + PAGE, 11), Ok(&b"in the ring"[..]));
    assert_eq!(m.call(64, &[1, ring, 11]), 11, "a ring in memory can be written from");
    assert_eq!(m.call(64, &[1, registers, 1]), EFAULT, "registers cannot");
    for (bytes, offset) in [
        (3 * PAGE, stride),
        (PAGE, stride + 2 * PAGE),
        (PAGE, 2 * stride),
        (4 * PAGE, 3 * stride + PAGE),
        (PAGE, 4 * stride),
        (PAGE, 1 << 63),
        (u64::MAX - 100, stride),
        (PAGE, stride + 8),
    ] {
        assert_eq!(map(&mut m, bytes, 3, offset), EINVAL, "{bytes:#x} at {offset:#x}");
    }
    let used = m.process.space.used_bytes();
    assert_eq!(m.call(215, &[registers, 2 * PAGE]), 0);
    assert_eq!(m.process.space.take_flush(), Flush::Pages(vec![registers, registers + PAGE]));
    assert_eq!(m.process.space.used_bytes(), used);
}

#[test]
fn memory_is_mapped_changed_and_returned() {
    let (mut m, folder) = Machine::with_folder("mmap");
    std::fs::write(folder.0.join("f"), b"file contents").unwrap();
    let file = m.open("f", 0) as u64;
    let at = m.call(222, &[0, 100, 3, 2, file, 0]) as u64;
    assert_eq!(m.get(at, 14), b"file contents\0");
    m.put(at, b"F");
    assert_eq!(std::fs::read(folder.0.join("f")).unwrap(), b"file contents", "private");
    assert_eq!(m.call(222, &[0, 100, 3, 1, file, 0]), -19, "shared and writable: ENODEV");
    assert_eq!(m.call(222, &[0, 0, 3, 0x22, MINUS_1, 0]), EINVAL);
    assert_eq!(m.call(222, &[0, 100, 3, 0x20, MINUS_1, 0]), EINVAL, "neither shared nor private");
    assert_eq!(m.call(222, &[0, 100, 3, 2, file, 1]), EINVAL);
    assert_eq!(m.call(222, &[0, 100, 3, 2, 99, 0]), EBADF);
    assert_eq!(m.call(222, &[1, 100, 3, 0x32, MINUS_1, 0]), EINVAL, "MAP_FIXED at no page");
    assert_eq!(m.call(222, &[at, 100, 3, 0x10_0022, MINUS_1, 0]), EEXIST, "MAP_FIXED_NOREPLACE");
    assert_eq!(m.call(222, &[0, 1 << 30, 3, 0x22, MINUS_1, 0]), -12, "more than there is: ENOMEM");
    let reserved = m.call(222, &[0, 1 << 30, 0, 0x22, MINUS_1, 0]) as u64;
    assert!(reserved > 0, "a reservation may be larger");
    let hint = reserved + (1 << 20);
    assert_eq!(m.call(215, &[hint, PAGE]), 0);
    assert_eq!(m.call(222, &[hint, PAGE, 3, 0x22, MINUS_1, 0]) as u64, hint, "a hint is taken");
    m.put(hint, b"x");
    assert_eq!(m.call(226, &[hint, PAGE, 1]), 0, "mprotect");
    assert_eq!(m.call(63, &[file, hint, 1]), EFAULT);
    assert_eq!(m.call(226, &[hint + 1, PAGE, 1]), EINVAL);
    assert_eq!(m.call(233, &[hint, PAGE, 4]), 0, "madvise(MADV_DONTNEED)");
    assert_eq!(m.get(hint, 1), [0]);
    assert_eq!(m.call(233, &[hint, PAGE, 3]), 0);
    assert_eq!(m.call(233, &[hint, PAGE, 77]), EINVAL);
    m.put(at, b"moved");
    let moved = m.call(216, &[at, PAGE, 1 << 20, 1, 0]) as u64;
    assert_eq!(m.get(moved, 5), b"moved");
    assert_eq!(m.call(216, &[at, PAGE, PAGE, 2, 0]), EINVAL, "MREMAP_FIXED alone");
    assert_eq!(m.call(215, &[8, PAGE]), EINVAL);
}

#[test]
fn memory_that_runs_out_in_a_call_is_not_a_bad_pointer() {
    let mut m = Machine::new(|options| options.physical = 0x10000..0x10000 + 24 * PAGE);
    let zero = m.open("/dev/zero", 0) as u64;
    let at = m.call(222, &[0, 20 * PAGE, 3, 0x22, MINUS_1, 0]) as u64;
    match m.outcome(63, &[zero, at, 20 * PAGE]) {
        Outcome::OutOfMemory(fault) => {
            assert_eq!(fault.cause, FaultCause::OutOfMemory { limit_bytes: 24 * PAGE });
            assert!(fault.address >= at && fault.signal() == 9);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn clocks_tell_simulated_time() {
    let mut m = machine();
    let s = m.scratch;
    m.now = Time(3_000_000_000_000 + 123_456_789_999);
    assert_eq!((m.call(113, &[0, s]), m.words(s, 2)), (0, vec![EPOCH_S + 3, 123_456_789]));
    for clock in [1, 2, 3, 4, 7, -6i64 as u64] {
        assert_eq!((m.call(113, &[clock, s]), m.words(s, 2)), (0, vec![3, 123_456_789]), "clock {clock}");
    }
    assert_eq!(m.call(113, &[10, s]), EINVAL);
    assert_eq!(m.call(113, &[1, 4]), EFAULT);
    assert_eq!((m.call(114, &[1, s]), m.words(s, 2)), (0, vec![0, 1]));
    assert_eq!((m.call(169, &[s, 0]), m.words(s, 2)), (0, vec![EPOCH_S + 3, 123_456]));
    assert_eq!((m.call(153, &[s]), m.words(s, 2)), (312, vec![312, 0]), "times");
    assert_eq!((m.call(165, &[0, s]), m.words(s, 4)), (0, vec![3, 123_456, 0, 0]), "getrusage");
    assert!(m.words(s, 9)[4] * 1024 == m.process.space.used_bytes() && m.words(s, 9)[8] > 0);
}

#[test]
fn descriptors_are_always_ready() {
    let mut m = machine();
    const POLLIN: u64 = 1;
    const POLLNVAL: u64 = 0x20;
    let s = m.scratch;
    let entry = |descriptor: i32, found: u64| u64::from(descriptor as u32) | POLLIN << 32 | found << 48;
    m.put_words(s, &[entry(0, 0), entry(-1, 7), entry(99, 0)]);
    assert_eq!(m.call(73, &[s, 3, 0, 0]), 2);
    assert_eq!(m.words(s, 3), [entry(0, POLLIN), entry(-1, 0), entry(99, POLLNVAL)]);
    // Of no descriptors only the timeout is left.
    m.put_words(s, &[0, 1_000_000]);
    assert!(matches!(m.outcome(73, &[0, 0, s, 0]), Outcome::Sleep { value: 0, .. }));
    assert_eq!(m.call(73, &[0, 0, 0, 0]), ENOSYS);
    assert_eq!(m.call(73, &[s, 1 << 20, 0, 0]), EINVAL);
}

#[test]
fn sleep_ends_at_its_time() {
    let mut m = machine();
    let s = m.scratch;
    m.now = Time(5_000);
    m.put_words(s, &[2, 7]);
    let wake = Time(2_000_000_000_000 + 7_000);
    assert_eq!(m.outcome(101, &[s, 0]), Outcome::Sleep { until: wake + m.now, value: 0 });
    assert_eq!(m.outcome(115, &[1, 0, s, 0]), Outcome::Sleep { until: wake + m.now, value: 0 });
    assert_eq!(m.outcome(115, &[1, 1, s, 0]), Outcome::Sleep { until: wake, value: 0 }, "TIMER_ABSTIME");
    assert_eq!(m.call(115, &[0, 1, s, 0]), 0, "the wall clock is past that");
    m.put_words(s, &[EPOCH_S + 2, 7]);
    assert_eq!(m.outcome(115, &[0, 1, s, 0]), Outcome::Sleep { until: wake, value: 0 });
    m.put_words(s, &[u64::MAX / 2, 7]);
    assert_eq!(m.outcome(101, &[s, 0]), Outcome::Sleep { until: Time::END, value: 0 });
    for bad in [[0, 1_000_000_000], [u64::MAX, 0]] {
        m.put_words(s, &bad);
        assert_eq!(m.call(101, &[s, 0]), EINVAL);
    }
    assert_eq!(m.call(101, &[0, 0]), EFAULT);
    assert_eq!(m.outcome(124, &[]), Outcome::Yield, "sched_yield");
}

#[test]
fn a_futex_that_nobody_wakes_blocks() {
    let mut m = machine();
    let s = m.scratch;
    m.put(s, &7u32.to_le_bytes());
    assert_eq!(m.call(98, &[s, 129, 1]), 0, "FUTEX_WAKE | FUTEX_PRIVATE_FLAG");
    assert_eq!(m.call(98, &[s, 128, 6, 0]), -11, "EAGAIN");
    let blocked = |until| Outcome::Block { wait: Wait::Futex { address: s }, until };
    assert_eq!(m.outcome(98, &[s, 128, 7, 0]), blocked(Time::NEVER));
    assert_eq!(m.process.time_out(0), -110, "ETIMEDOUT");
    m.put_words(s + 8, &[1, 0]);
    m.now = Time(500_000_000_000);
    assert_eq!(m.outcome(98, &[s, 0, 7, s + 8]), blocked(Time(1_500_000_000_000)));
    let absolute = m.outcome(98, &[s, 9, 7, s + 8, 0, 1]);
    assert_eq!(absolute, blocked(Time(1_000_000_000_000)), "FUTEX_WAIT_BITSET: absolute");
    assert_eq!(m.call(98, &[s, 9, 7, s + 8, 0, 0]), EINVAL, "no bits");
    assert_eq!(m.call(98, &[s + 2, 0, 7, 0]), EINVAL);
    assert_eq!(m.call(98, &[8, 0, 7, 0]), EFAULT);
    assert_eq!(m.call(98, &[s, 6, 7, 0]), ENOSYS, "FUTEX_LOCK_PI");
}

/// The flags with which C libraries make a thread, and its stack, thread pointer, id's address.
const THREAD_FLAGS: u64 = 0x7d_0f00;

#[test]
fn threads_begin_wait_wake_and_end() {
    let mut m = Machine::new(|options| options.harts = 2);
    let s = m.scratch;
    let id = 1000 + (2 << 17);
    let clone = Outcome::Clone { hart: 1, stack: 0x7000, tls: Some(0x8000), id };
    assert_eq!(m.outcome(220, &[THREAD_FLAGS, 0x7000, s, 0x8000, s + 4]), clone);
    assert_eq!(m.get(s, 4), (id as u32).to_le_bytes(), "CLONE_PARENT_SETTID");
    for _ in 0..2 {
        assert_eq!(m.call(220, &[THREAD_FLAGS, 0x7000, s, 0x8000, s + 4]), -11, "EAGAIN");
    }
    assert_eq!(m.host.no_hart, [2], "said once");
    assert_eq!(m.call(220, &[17, 0, 0, 0, 0]), ENOSYS, "fork");

    m.hart = 1;
    assert_eq!((m.call(178, &[]), m.call(172, &[])), (id, 1000), "gettid, getpid");
    assert_eq!((m.call(168, &[s + 8, 0, 0]), m.get(s + 8, 4)), (0, vec![1, 0, 0, 0]), "getcpu");
    m.put(s + 4, &7u32.to_le_bytes());
    m.put(s + 16, &7u32.to_le_bytes());
    m.hart = 0;
    let blocked = Outcome::Block { wait: Wait::Futex { address: s + 16 }, until: Time::NEVER };
    assert_eq!(m.outcome(98, &[s + 16, 0, 7, 0]), blocked);
    m.hart = 1;
    assert_eq!(m.call(98, &[s + 16, 4, 0, 1, s + 4, 6]), -11, "FUTEX_CMP_REQUEUE compares");
    assert_eq!(m.call(98, &[s + 16, 4, 0, 1, s + 4, 7]), 1, "moved");
    assert_eq!(m.call(98, &[s + 16, 1, 9]), 0, "nobody is left");
    assert_eq!(m.call(131, &[1000, id as u64 + 1, 0]), -3, "ESRCH");
    assert_eq!(m.outcome(93, &[5]), Outcome::Leave);
    assert_eq!(m.get(s + 4, 4), [0; 4], "CLONE_CHILD_CLEARTID");
    assert_eq!(m.process.take_woken(), [0]);
    m.hart = 0;
    assert_eq!(m.outcome(93, &[3]), Outcome::Exit { status: 3, group: false });
}

#[test]
fn a_robust_mutex_outlives_its_owner() {
    let mut m = Machine::new(|options| options.harts = 2);
    let s = m.scratch;
    let Outcome::Clone { id, .. } = m.outcome(220, &[THREAD_FLAGS, 0x7000, s, 0, s + 4]) else {
        panic!("no thread");
    };
    // The head, and one entry with its futex 16 bytes behind.
    m.put_words(s + 64, &[s + 128, 16, 0]);
    m.put_words(s + 128, &[s + 64]);
    m.put(s + 144, &(id as u32 | 0x8000_0000).to_le_bytes());
    m.outcome(98, &[s + 144, 0, id as u64 | 0x8000_0000, 0]);
    m.hart = 1;
    assert_eq!(m.call(99, &[s + 64, 12]), EINVAL);
    assert_eq!(m.call(99, &[s + 64, 24]), 0, "set_robust_list");
    assert_eq!(m.outcome(93, &[0]), Outcome::Leave);
    assert_eq!(m.get(s + 144, 4), 0xc000_0000u32.to_le_bytes(), "FUTEX_WAITERS | FUTEX_OWNER_DIED");
    assert_eq!(m.process.take_woken(), [0]);
}

#[test]
fn signals_are_delivered_when_they_are_not_blocked() {
    let mut m = machine();
    let s = m.scratch;
    let id = m.call(172, &[]) as u64;
    assert_eq!(m.outcome(131, &[id, id, 6]), Outcome::Signal(6), "tgkill");
    assert_eq!(m.outcome(129, &[id, 11]), Outcome::Signal(11), "kill");
    assert_eq!(m.outcome(130, &[id, 9]), Outcome::Signal(9), "tkill");
    assert_eq!(m.call(129, &[id, 0]), 0);
    assert_eq!(m.call(129, &[id + 1, 6]), -3, "ESRCH");
    assert_eq!(m.call(129, &[id, 65]), EINVAL);
    assert_eq!(m.call(129, &[id, 17]), 0, "SIGCHLD is ignored");
    // As abort() does: block all, send, restore.
    m.put_words(s, &[u64::MAX, 0]);
    assert_eq!(m.call(135, &[0, s, s + 16, 8]), 0);
    assert_eq!(m.words(s + 16, 1), [0]);
    assert_eq!(m.call(131, &[id, id, 6]), 0);
    assert_eq!((m.call(136, &[s + 24, 8]), m.words(s + 24, 1)), (0, vec![1 << 5]), "rt_sigpending");
    assert_eq!(m.outcome(131, &[id, id, 9]), Outcome::Signal(9), "SIGKILL cannot be blocked");
    assert_eq!(m.outcome(135, &[2, s + 16, 0, 8]), Outcome::Signal(6));
    assert_eq!(m.call(135, &[3, s, 0, 8]), EINVAL);
    assert_eq!(m.call(135, &[0, s, 0, 16]), EINVAL);

    m.put_words(s, &[1, 0x1000_0000, 0]); // SIG_IGN
    assert_eq!(m.call(134, &[15, s, s + 24, 8]), 0);
    assert_eq!(m.words(s + 24, 3), [0, 0, 0]);
    assert_eq!(m.call(134, &[15, 0, s + 24, 8]), 0);
    assert_eq!(m.words(s + 24, 3), [1, 0x1000_0000, 0]);
    assert_eq!(m.call(129, &[id, 15]), 0, "ignored");
    assert_eq!(m.call(134, &[9, s, 0, 8]), EINVAL);
    assert_eq!(m.call(134, &[65, s, 0, 8]), EINVAL);
    m.put_words(s, &[0x5000, 0, 8192]);
    assert_eq!(m.call(132, &[s, s + 24]), 0, "sigaltstack");
    assert_eq!(m.words(s + 24, 3), [0, 2, 0]);
    assert_eq!(m.call(132, &[0, s + 24]), 0);
    assert_eq!(m.words(s + 24, 3), [0x5000, 0, 8192]);
}

#[test]
fn a_process_knows_itself() {
    let mut m = Machine::new(|options| {
        options.rank = 7;
        options.node_name = "node3".into();
        options.harts = 2;
    });
    let s = m.scratch;
    assert_eq!([172, 178, 173, 174, 177].map(|number| m.call(number, &[])), [1007, 1007, 1, 1000, 1000]);
    assert_eq!(m.call(96, &[s]), 1007, "set_tid_address");
    assert_eq!(m.call(99, &[s, 24]), 0);
    assert_eq!(m.call(160, &[s]), 0);
    let names = m.get(s, 6 * 65);
    assert!(names.starts_with(b"Linux\0") && names[65..].starts_with(b"node3\0"));
    assert!(names[4 * 65..].starts_with(b"riscv64\0"));
    assert_eq!((m.call(123, &[0, 128, s]), m.words(s, 1)), (8, vec![3]), "sched_getaffinity");
    assert_eq!(m.call(123, &[0, 4, s]), EINVAL);
    assert_eq!((m.call(261, &[0, 3, 0, s]), m.words(s, 2)), (0, vec![8 << 20, u64::MAX]), "RLIMIT_STACK");
    assert_eq!(m.call(261, &[0, 16, 0, s]), EINVAL);
    assert_eq!(m.call(179, &[s]), 0, "sysinfo");
    assert_eq!(m.words(s, 5)[4], m.process.space.limit_bytes());
    assert_eq!(m.call(278, &[s, 32, 0]), 32, "getrandom");
    let first = m.get(s, 32);
    m.call(278, &[s, 32, 0]);
    assert_ne!(m.get(s, 32), first);
    assert_eq!(m.call(278, &[8, 32, 0]), EFAULT);
    assert_eq!(m.call(283, &[0, 0]), 25, "membarrier");
    assert_eq!(m.call(259, &[0, 0, 0]), 0, "riscv_flush_icache");
    assert_eq!(m.process.space.take_flush(), Flush::All);
}

/// The calls that do something with their arguments.
const NUMBERS: &[u64] = &[
    17, 23, 24, 25, 29, 34, 35, 45, 46, 48, 49, 56, 57, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 78, 79, 80,
    83, 94, 96, 98, 99, 101, 113, 114, 115, 123, 129, 131, 132, 134, 135, 136, 153, 160, 163, 164, 165, 168,
    169, 179, 214, 215, 216, 222, 226, 233, 259, 261, 276, 278, 283,
];

/// First address that is not the user's.
const USER_END: i128 = 1 << 38;

#[test]
fn what_would_wrap_is_refused() {
    const EOVERFLOW: i64 = -75;
    const ENOMEM: i64 = -12;
    let (mut m, _folder) = Machine::with_folder("wrap");
    let s = m.scratch;
    m.put(s, b"f\0");
    let file = m.call(56, &[CWD, s, 0o102, 0o600]) as u64;
    m.put(s, b"/proc/self/exe\0");
    let program = m.call(56, &[CWD, s, 0, 0]) as u64;
    let (last_page, end) = (0u64.wrapping_sub(PAGE), 1u64 << 63);
    for descriptor in [file, program] {
        let mut map = |bytes, offset| m.call(222, &[0, bytes, 1, 2, descriptor, offset]);
        assert_eq!(map(2 * PAGE, last_page), EOVERFLOW, "mmap from the last page of all offsets");
        assert_eq!(map(PAGE, last_page), EOVERFLOW);
        assert_eq!(map(2 * PAGE, end - PAGE), EOVERFLOW, "past what a file can be");
        assert_eq!(map(PAGE + 1, end - PAGE), EOVERFLOW);
        assert!(map(PAGE, end - PAGE) > 0, "its last page");
        assert_eq!(map(u64::MAX, 0), ENOMEM);
    }
    assert!(m.call(222, &[0, PAGE, 1, 0x22, MINUS_1, last_page]) > 0, "anonymous: the offset says nothing");
    for advice in [0, 4] {
        assert_eq!(m.call(233, &[last_page, 2 * PAGE, advice]), EINVAL, "madvise");
        assert_eq!(m.call(233, &[s, MINUS_1, advice]), EINVAL);
    }
    assert_eq!(m.call(215, &[last_page, 2 * PAGE]), EINVAL, "munmap");
    assert_eq!(m.call(226, &[last_page, 2 * PAGE, 1]), ENOMEM, "mprotect");
    assert_eq!(m.call(216, &[last_page, 2 * PAGE, PAGE, 0]), EINVAL, "mremap");
    assert_eq!(m.call(216, &[s, PAGE, MINUS_1, 1]), ENOMEM);
    for (number, at) in [(63, 0), (64, 0), (67, 5), (68, 5)] {
        assert_eq!(m.call(number, &[file, s, MINUS_1, at]), EFAULT, "{number}");
        assert_eq!(m.call(number, &[file, 0u64.wrapping_sub(8), 16, at]), EFAULT, "{number}");
    }
    assert_eq!([67, 68].map(|number| m.call(number, &[file, s, 8, end])), [EINVAL; 2], "pread64, pwrite64");
    m.put_words(s, &[s, i64::MAX as u64, s, i64::MAX as u64]);
    assert_eq!([65, 66].map(|number| m.call(number, &[file, s, 2])), [EFAULT; 2], "readv, writev");
    assert_eq!(m.call(62, &[file, end - 1, 0]), i64::MAX, "lseek");
    assert_eq!([1, end - 1].map(|by| m.call(62, &[file, by, 1])), [EINVAL; 2]);
    assert_eq!(m.call(46, &[file, end]), EINVAL, "ftruncate");
}

#[test]
fn no_arguments_make_a_call_panic() {
    let seed = seed_of_test(1);
    let mut succeeded = std::collections::BTreeSet::new();
    for case in seed..seed + 300 {
        let (mut m, _folder) = Machine::with_folder("fuzz");
        // A file to be mapped, read and written.
        m.put(m.scratch, b"f\0");
        assert_eq!(m.call(56, &[CWD, m.scratch, 0o102, 0o600]), 3, "openat");
        let mut random = Random::new(case);
        for _ in 0..300 {
            let number = NUMBERS[random.below(NUMBERS.len() as u64) as usize];
            // Half of the calls make some sense.
            let wild = [4, 11][random.below(2) as usize];
            let args: Vec<u64> = (0..6)
                .map(|_| match random.below(wild) {
                    0 | 1 => random.below(10),
                    2 => m.scratch + 8 * random.below(PAGE / 8),
                    3 => [8, 16, PAGE, 2, 3, 0x22, CWD, u64::MAX][random.below(8) as usize],
                    4 => m.scratch + random.below(PAGE + 16),
                    5 => random.bits(),
                    6 => u64::MAX - random.below(64),
                    7 => PAGE * random.below(1 << 20),
                    8 => 1 << random.below(64),
                    // Near the ends of what addresses, files and the user's half may be.
                    9 => {
                        let end = [0, 1 << 63, USER_END][random.below(3) as usize];
                        (end - PAGE as i128 * i128::from(random.below(4)) + i128::from(random.below(2)))
                            as u64
                    }
                    _ => m.process.stack_pointer(),
                })
                .collect();
            // Junk to be read as structures or names.
            let junk = [random.below(4), random.bits() >> random.below(64), 0];
            if m.process.space.write_user(&mut m.memory, m.scratch, &junk.map(|w| w as u8)).is_err() {
                m.map_scratch();
            }
            let call = std::panic::AssertUnwindSafe(|| m.outcome(number, &args));
            let result = std::panic::catch_unwind(call);
            assert!(result.is_ok(), "seed {case}: call {number} with {args:x?}");
            if matches!(result, Ok(Outcome::Return(0..) | Outcome::Exit { .. } | Outcome::Sleep { .. })) {
                succeeded.insert(number);
            }
        }
    }
    let never: Vec<_> = NUMBERS.iter().filter(|number| !succeeded.contains(number)).collect();
    assert!(never.len() < NUMBERS.len() / 4, "too wild to reach anything: {never:?} never succeeded");
}

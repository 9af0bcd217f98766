//! Flags of open(2).

/// Flags of `openat` and `fcntl` (Linux include/uapi/asm-generic/fcntl.h, which RISC-V uses).
pub const O_RDONLY: u64 = 0;
/// Write only.
pub const O_WRONLY: u64 = 1;
/// Read and write.
pub const O_RDWR: u64 = 2;
/// The two bits that say which of the three.
pub const O_ACCMODE: u64 = 3;
/// Make the file if it is not there.
pub const O_CREAT: u64 = 0o100;
/// It must not be there.
pub const O_EXCL: u64 = 0o200;
/// Empty it.
pub const O_TRUNC: u64 = 0o1000;
/// Write at the end.
pub const O_APPEND: u64 = 0o2000;
/// Do not wait.
pub const O_NONBLOCK: u64 = 0o4000;
/// It must be a directory.
pub const O_DIRECTORY: u64 = 0o200_000;
/// It must be no symbolic link.
pub const O_NOFOLLOW: u64 = 0o400_000;
/// Close it on `exec`.
pub const O_CLOEXEC: u64 = 0o2_000_000;

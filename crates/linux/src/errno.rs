//! Error numbers (Linux `include/uapi/asm-generic/errno-base.h` and `errno.h`).

use std::io;

/// An error that a system call gives the program; the call returns its negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i64);

/// What a system call or a part of it gives.
pub type Answer = Result<i64, Errno>;

macro_rules! errnos {
    ($($name:ident = $value:literal, $doc:literal;)*) => {
        impl Errno { $(#[doc = $doc] pub const $name: Errno = Errno($value);)* }
    };
}

errnos! {
    EPERM = 1, "Operation not permitted.";
    ENOENT = 2, "No such file or directory.";
    ESRCH = 3, "No such process.";
    EIO = 5, "Input/output error.";
    ENXIO = 6, "No such device.";
    EBADF = 9, "Bad file descriptor.";
    EAGAIN = 11, "Try again.";
    ENOMEM = 12, "Out of memory.";
    EACCES = 13, "Permission denied.";
    EFAULT = 14, "Bad address.";
    EBUSY = 16, "Something is mounted there.";
    EEXIST = 17, "File exists.";
    EXDEV = 18, "Not in the same mount.";
    ENODEV = 19, "No such device, or it cannot do this.";
    ENOTDIR = 20, "Not a directory.";
    EISDIR = 21, "Is a directory.";
    EINVAL = 22, "Invalid argument.";
    ENFILE = 23, "Too many open files in all processes together.";
    EMFILE = 24, "Too many open files.";
    ENOTTY = 25, "Not a terminal.";
    EFBIG = 27, "File too large.";
    ENOSPC = 28, "No space left on device.";
    ESPIPE = 29, "Illegal seek.";
    EROFS = 30, "Read-only file system.";
    ERANGE = 34, "Result too large for the buffer.";
    ENAMETOOLONG = 36, "File name too long.";
    ENOSYS = 38, "Not implemented.";
    ENOTEMPTY = 39, "Directory not empty.";
    ELOOP = 40, "Too many symbolic links.";
    EOVERFLOW = 75, "Value too large for its type.";
    ETIMEDOUT = 110, "Timed out.";
}

impl From<io::Error> for Errno {
    /// By kind, so that a host with other numbers gives the program the same answer.
    fn from(error: io::Error) -> Errno {
        // They have no kind. Whichever the host ran out of, it did so by what all processes have open: of its own
        // descriptors each has as many as its limit says.
        if let Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) =
            rustix::io::Errno::from_io_error(&error)
        {
            return Errno::ENFILE;
        }
        match error.kind() {
            io::ErrorKind::NotFound => Errno::ENOENT,
            io::ErrorKind::PermissionDenied => Errno::EACCES,
            io::ErrorKind::AlreadyExists => Errno::EEXIST,
            io::ErrorKind::NotADirectory => Errno::ENOTDIR,
            io::ErrorKind::IsADirectory => Errno::EISDIR,
            io::ErrorKind::OutOfMemory => Errno::ENOMEM,
            io::ErrorKind::DirectoryNotEmpty => Errno::ENOTEMPTY,
            io::ErrorKind::InvalidInput => Errno::EINVAL,
            io::ErrorKind::InvalidFilename => Errno::ENAMETOOLONG,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Errno::ENOSPC,
            io::ErrorKind::FileTooLarge => Errno::EFBIG,
            io::ErrorKind::CrossesDevices => Errno::EXDEV,
            io::ErrorKind::ResourceBusy => Errno::EBUSY,
            io::ErrorKind::ReadOnlyFilesystem => Errno::EROFS,
            _ => Errno::EIO,
        }
    }
}

//! Open files: reading, writing, and what descriptors can do.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use chasqui_engine::Time;
use rustix::fs::{SeekFrom, seek};

use super::{Call, Outcome, Result, Stop};
use crate::descriptors::Object;
use crate::errno::Errno;
use crate::open_flags::{O_ACCMODE, O_APPEND, O_CLOEXEC, O_NONBLOCK, O_RDONLY, O_WRONLY};
use crate::space::{Fault, USER_END};

/// Files take blocks of this size on the disk.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// Most that one call moves (Linux `MAX_RW_COUNT`).
const BYTES_MAX: u64 = 0x7fff_f000;
/// Most that is moved at once.
const CHUNK_BYTES: u64 = 1 << 20;
/// Parts of a `readv` or `writev` (Linux `UIO_MAXIOV`).
const PARTS_MAX: u64 = 1024;

// Linux include/uapi/linux/fs.h, include/uapi/asm-generic/fcntl.h, include/uapi/linux/fcntl.h.
const SEEK_SET: u64 = 0;
const SEEK_CUR: u64 = 1;
const SEEK_END: u64 = 2;
const SEEK_DATA: u64 = 3;
const SEEK_HOLE: u64 = 4;
const F_DUPFD: u64 = 0;
const F_GETFD: u64 = 1;
const F_SETFD: u64 = 2;
const F_GETFL: u64 = 3;
const F_SETFL: u64 = 4;
const F_SETLK: u64 = 6;
const F_SETLKW: u64 = 7;
const F_DUPFD_CLOEXEC: u64 = 1030;
const FD_CLOEXEC: u64 = 1;

/// An address and a length in the process's memory.
type Part = (u64, u64);

/// How far a transfer came before the process's memory failed it.
struct Progress {
    moved: u64,
    fault: Option<Fault>,
}

impl Progress {
    fn new(address: u64, bytes: u64, result: std::result::Result<(), Fault>) -> Progress {
        match result {
            Ok(()) => Progress { moved: bytes, fault: None },
            Err(fault) => Progress { moved: fault.address.wrapping_sub(address), fault: Some(fault) },
        }
    }
}

/// What a call that moved `total` bytes until `stop` gives. Want of memory is never hidden.
fn partial(total: u64, stop: Stop) -> Result<i64> {
    match stop {
        Stop::Error(_) if total > 0 => Ok(total as i64),
        stop => Err(stop),
    }
}

fn again<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            result => return result,
        }
    }
}

/// How many blocks of `file` that `range` touches have nothing on the disk yet. Where a file system does not say (Linux
/// fs/read_write.c, `generic_file_llseek_size`) all up to the file's end have.
fn new_blocks(file: &File, range: Range<u64>) -> u64 {
    let end = range.end.div_ceil(BLOCK_BYTES);
    let mut block = range.start / BLOCK_BYTES;
    let mut new = 0;
    while block < end {
        // ENXIO: nothing from there on.
        let found = again(|| Ok(seek(file, SeekFrom::Data(block * BLOCK_BYTES))?));
        let data = found.map_or(end, |at| at / BLOCK_BYTES).min(end);
        new += data - block;
        let found = again(|| Ok(seek(file, SeekFrom::Hole(data * BLOCK_BYTES))?));
        block = found.map_or(end, |at| at.div_ceil(BLOCK_BYTES)).max(data + 1);
    }
    new
}

/// What a write of `range` to `file`, which must not be empty, counts for: the blocks that it is the first to touch, and what
/// it overwrites. What is appended to a block that is there takes nothing.
fn cost(file: &File, range: Range<u64>) -> io::Result<u64> {
    let size = file.metadata()?.len();
    let whole = size.next_multiple_of(BLOCK_BYTES);
    let within = new_blocks(file, range.start..range.end.min(whole));
    let beyond = range.end.div_ceil(BLOCK_BYTES).saturating_sub((range.start.max(whole)) / BLOCK_BYTES);
    let over = range.end.min(size).saturating_sub(range.start);
    Ok(over.saturating_sub(within * BLOCK_BYTES) + (within + beyond) * BLOCK_BYTES)
}

fn from_bytes(bytes: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let rest = bytes.get(offset as usize..).unwrap_or(&[]);
    let length = rest.len().min(buffer.len());
    buffer[..length].copy_from_slice(&rest[..length]);
    length
}

impl Call<'_> {
    /// The parts of a `readv` or `writev`.
    pub(super) fn vectors(&mut self, address: u64, count: u64) -> Result<Vec<Part>> {
        if count > PARTS_MAX {
            return Err(Errno::EINVAL.into());
        }
        let mut parts = Vec::new();
        for i in 0..count {
            let [base, bytes] = self.read_words(address.wrapping_add(i * 16))?;
            if (bytes as i64) < 0 {
                return Err(Errno::EINVAL.into());
            }
            parts.push((base, bytes));
        }
        Ok(parts)
    }

    /// What a descriptor stands for, checked for moving `parts` at `offset`: the object, the place, and its flags.
    fn moving(
        &mut self,
        descriptor: u64,
        parts: &[Part],
        offset: Option<u64>,
        refused: u64,
    ) -> Result<(Object, u64, u64)> {
        let open = self.process.descriptors.get(descriptor)?;
        if open.flags & O_ACCMODE == refused {
            return Err(Errno::EBADF.into());
        }
        // Linux `access_ok`: addresses that can't be the user's, however many bytes there are to move.
        if parts.iter().any(|&(address, bytes)| bytes > USER_END || address > USER_END - bytes) {
            return Err(Errno::EFAULT.into());
        }
        if matches!(open.object, Object::Directory { .. }) {
            return Err(Errno::EISDIR.into());
        }
        if offset.is_some_and(|offset| (offset as i64) < 0) {
            return Err(Errno::EINVAL.into());
        }
        if offset.is_some() && matches!(open.object, Object::Input(_) | Object::Output(_)) {
            return Err(Errno::ESPIPE.into());
        }
        Ok((open.object.clone(), offset.unwrap_or(open.position), open.flags))
    }

    /// Reads into `parts` from `offset`, or from the file's position, which moves.
    pub(super) fn read_file(&mut self, descriptor: u64, parts: &[Part], offset: Option<u64>) -> Result<i64> {
        let (object, start, _) = self.moving(descriptor, parts, offset, O_WRONLY)?;
        let mut at = start;
        let mut end = None;
        'parts: for &(address, bytes) in parts {
            let mut done = 0;
            while done < bytes && at - start < BYTES_MAX {
                let wanted = (bytes - done).min(CHUNK_BYTES).min(BYTES_MAX - (at - start));
                let mut buffer = vec![0; wanted as usize];
                let got = match self.take(&object, at, &mut buffer) {
                    Ok(got) => got,
                    Err(stop) => {
                        end = Some(stop);
                        break 'parts;
                    }
                };
                let to = address.wrapping_add(done);
                let result = self.process.space.write_user(self.memory, to, &buffer[..got]);
                let progress = Progress::new(to, got as u64, result);
                at += progress.moved;
                done += progress.moved;
                if let Some(fault) = progress.fault {
                    end = Some(fault.into());
                }
                if end.is_some() || (got as u64) < wanted {
                    break 'parts;
                }
            }
        }
        if offset.is_none() {
            self.process.descriptors.get(descriptor)?.position = at;
        }
        end.map_or(Ok((at - start) as i64), |stop| partial(at - start, stop))
    }

    /// Takes what `object` has at `offset`, at most `buffer`.
    fn take(&mut self, object: &Object, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        Ok(match object {
            Object::Input(input) => match input.read_at(offset, buffer)? {
                Some(got) => got,
                // Wherever the process is when the run ends, it is not beyond this call.
                None => return Err(Stop::Outcome(Outcome::Sleep { until: Time::END, value: 0 })),
            },
            Object::Bytes(bytes) => from_bytes(bytes, offset, buffer),
            Object::File { file, .. } => {
                let mut done = 0;
                while done < buffer.len() {
                    match again(|| file.read_at(&mut buffer[done..], offset + done as u64))? {
                        0 => break,
                        got => done += got,
                    }
                }
                done
            }
            Object::Null => 0,
            Object::Zero => buffer.len(),
            Object::Random => {
                self.process.random.fill(buffer);
                buffer.len()
            }
            Object::Output(_) | Object::Directory { .. } | Object::Ni(_) => return Err(Errno::EINVAL.into()),
        })
    }

    /// Writes `parts` at `offset`, or at the file's position, which moves.
    pub(super) fn write_file(&mut self, descriptor: u64, parts: &[Part], offset: Option<u64>) -> Result<i64> {
        let (object, mut at, flags) = self.moving(descriptor, parts, offset, O_RDONLY)?;
        if let (Object::File { file, .. }, true) = (&object, flags & O_APPEND != 0) {
            at = file.metadata()?.len();
        }
        let start = at;
        let mut end = None;
        'parts: for &(address, bytes) in parts {
            let mut done = 0;
            while done < bytes && at - start < BYTES_MAX {
                let wanted = (bytes - done).min(CHUNK_BYTES).min(BYTES_MAX - (at - start));
                let mut buffer = vec![0; wanted as usize];
                let from = address.wrapping_add(done);
                let result = self.process.space.read_user(self.memory, from, &mut buffer);
                let readable = Progress::new(from, wanted, result);
                self.spend_on(&object, at, readable.moved)?;
                match self.put(&object, at, &buffer[..readable.moved as usize]) {
                    Ok(0) if readable.moved > 0 => end = Some(Errno::ENOSPC.into()),
                    Ok(put) => {
                        at += put as u64;
                        done += put as u64;
                    }
                    Err(errno) => end = Some(errno.into()),
                }
                end = end.or(readable.fault.map(Stop::from));
                if end.is_some() {
                    break 'parts;
                }
            }
        }
        if offset.is_none() {
            self.process.descriptors.get(descriptor)?.position = at;
        }
        end.map_or(Ok((at - start) as i64), |stop| partial(at - start, stop))
    }

    /// So many bytes are about to be written to `object` at `offset`. A process that may not is ended.
    fn spend_on(&mut self, object: &Object, offset: u64, bytes: u64) -> Result<()> {
        match object {
            Object::Output(_) => self.spend(bytes),
            // What the host would not take costs nothing: it says so.
            Object::File { file, .. } if bytes > 0 => match offset.checked_add(bytes) {
                Some(end) if end <= i64::MAX as u64 => self.spend(cost(file, offset..end)?),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Puts `bytes` into `object` at `offset`; some of them at least, if there are any.
    fn put(&mut self, object: &Object, offset: u64, bytes: &[u8]) -> std::result::Result<usize, Errno> {
        match object {
            Object::Output(stream) if !bytes.is_empty() => self.host.write(*stream, bytes),
            Object::Output(_) | Object::Null | Object::Zero | Object::Random => (),
            Object::File { file, .. } if !bytes.is_empty() => {
                return Ok(again(|| file.write_at(bytes, offset))?);
            }
            Object::File { .. } => (),
            Object::Input(_) | Object::Bytes(_) | Object::Directory { .. } | Object::Ni(_) => {
                return Err(Errno::EINVAL);
            }
        }
        Ok(bytes.len())
    }

    pub(super) fn lseek(&mut self, descriptor: u64, offset: i64, whence: u64) -> Result<i64> {
        let open = self.process.descriptors.get(descriptor)?;
        let size = match &open.object {
            Object::Input(_) | Object::Output(_) | Object::Ni(_) => return Err(Errno::ESPIPE.into()),
            Object::Null | Object::Zero | Object::Random => return Ok(0),
            Object::Bytes(bytes) => bytes.len() as u64,
            Object::File { file, .. } => file.metadata()?.len(),
            Object::Directory { entries, .. } => entries.len() as u64,
        } as i64;
        let to = match whence {
            SEEK_SET => Some(offset),
            SEEK_CUR => (open.position as i64).checked_add(offset),
            SEEK_END => size.checked_add(offset),
            // A file without holes, as far as we say.
            SEEK_DATA | SEEK_HOLE if !(0..size).contains(&offset) => return Err(Errno::ENXIO.into()),
            SEEK_DATA => Some(offset),
            SEEK_HOLE => Some(size),
            _ => None,
        };
        let to = to.filter(|&to| to >= 0).ok_or(Errno::EINVAL)?;
        open.position = to as u64;
        Ok(to)
    }

    pub(super) fn ftruncate(&mut self, descriptor: u64, bytes: u64) -> Result<i64> {
        let open = self.process.descriptors.get(descriptor)?;
        match &open.object {
            Object::File { file, .. } if open.flags & O_ACCMODE != O_RDONLY && bytes as i64 >= 0 => {
                file.set_len(bytes)?;
                Ok(0)
            }
            _ => Err(Errno::EINVAL.into()),
        }
    }

    pub(super) fn close(&mut self, descriptor: u64) -> Result<i64> {
        self.process.descriptors.close(descriptor)?;
        Ok(0)
    }

    pub(super) fn dup(&mut self, descriptor: u64) -> Result<i64> {
        let limit = self.process.limits.files();
        Ok(self.process.descriptors.duplicate(descriptor, 0, false, limit)?)
    }

    pub(super) fn dup3(&mut self, from: u64, to: u64, flags: u64) -> Result<i64> {
        let (from, to) = (u64::from(from as u32), u64::from(to as u32));
        if from == to || flags & !O_CLOEXEC != 0 {
            return Err(Errno::EINVAL.into());
        }
        let limit = self.process.limits.files();
        Ok(self.process.descriptors.replace(from, to, flags & O_CLOEXEC != 0, limit)?)
    }

    pub(super) fn fcntl(&mut self, descriptor: u64, command: u64, argument: u64) -> Result<i64> {
        let limit = self.process.limits.files();
        let descriptors = &mut self.process.descriptors;
        match command {
            F_DUPFD | F_DUPFD_CLOEXEC => {
                if argument >= limit {
                    return Err(Errno::EINVAL.into());
                }
                let close_on_exec = command == F_DUPFD_CLOEXEC;
                Ok(descriptors.duplicate(descriptor, argument, close_on_exec, limit)?)
            }
            F_GETFD => Ok(i64::from(descriptors.close_on_exec(descriptor)?)),
            F_SETFD => {
                descriptors.set_close_on_exec(descriptor, argument & FD_CLOEXEC != 0)?;
                Ok(0)
            }
            F_GETFL => Ok(descriptors.get(descriptor)?.flags as i64),
            F_SETFL => {
                let open = descriptors.get(descriptor)?;
                let changeable = O_APPEND | O_NONBLOCK;
                open.flags = open.flags & !changeable | argument & changeable;
                Ok(0)
            }
            // Locks between ranks would depend on the order in which the host serves them.
            F_SETLK | F_SETLKW => descriptors.get(descriptor).map(|_| 0).map_err(Stop::from),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    /// No descriptor is a terminal, whatever the simulator's own are.
    pub(super) fn ioctl(&mut self, descriptor: u64) -> Result<i64> {
        self.process.descriptors.get(descriptor)?;
        Err(Errno::ENOTTY.into())
    }

    /// `struct linux_dirent64`: number, offset of the next, length, type, name, end.
    pub(super) fn getdents64(&mut self, descriptor: u64, buffer: u64, bytes: u64) -> Result<i64> {
        let open = self.process.descriptors.get(descriptor)?;
        let Object::Directory { entries, .. } = &open.object else { return Err(Errno::ENOTDIR.into()) };
        let mut out: Vec<u8> = Vec::new();
        let mut position = open.position;
        for entry in entries.iter().skip(position as usize) {
            let length = (19 + entry.name.len() + 1).next_multiple_of(8);
            if out.len() + length > bytes as usize {
                break;
            }
            position += 1;
            let end = out.len() + length;
            out.extend(entry.inode.to_le_bytes());
            out.extend(position.to_le_bytes());
            out.extend((length as u16).to_le_bytes());
            out.push(entry.kind);
            out.extend(&entry.name);
            out.resize(end, 0);
        }
        if out.is_empty() && (position as usize) < entries.len() {
            return Err(Errno::EINVAL.into());
        }
        self.write(buffer, &out)?;
        self.process.descriptors.get(descriptor)?.position = position;
        Ok(out.len() as i64)
    }
}

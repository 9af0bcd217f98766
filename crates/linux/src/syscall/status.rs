//! The status of a file, as a program sees it.

use cap_std::fs::{Metadata, PermissionsExt};

use super::files::BLOCK_BYTES;
use super::time::EPOCH_S;
use super::{Call, Result};
use crate::descriptors::Object;
use crate::errno::Errno;
use crate::process::USER_ID;
use crate::resolve::Place;

// Linux include/uapi/linux/fcntl.h, include/uapi/linux/stat.h.
const AT_SYMLINK_NOFOLLOW: u64 = 0x100;
const AT_EMPTY_PATH: u64 = 0x1000;
const PIPE: u32 = 0o010_600;
const CHARACTERS: u32 = 0o020_666;
const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_777;

/// Every file is on this device.
const DEVICE: u64 = 1;

/// What `stat` says and the host may: the rest is the same everywhere.
pub(super) struct Status {
    inode: u64,
    mode: u32,
    bytes: u64,
}

impl Status {
    fn small(inode: u64, mode: u32) -> Status {
        Status { inode, mode, bytes: 0 }
    }

    fn directory(inode: u64) -> Status {
        Status { inode, mode: DIRECTORY, bytes: BLOCK_BYTES }
    }

    /// Permissions, as far as they mean something: owner and umask differ between hosts.
    fn of(metadata: &Metadata, inode: u64) -> Status {
        let kind = metadata.file_type();
        if kind.is_dir() {
            return Status::directory(inode);
        }
        if kind.is_symlink() {
            return Status { inode, mode: LINK, bytes: metadata.len() };
        }
        let write = if metadata.permissions().readonly() { 0 } else { 0o200 };
        let execute = if metadata.permissions().mode() & 0o111 != 0 { 0o111 } else { 0 };
        Status { inode, mode: REGULAR | 0o444 | write | execute, bytes: metadata.len() }
    }

    /// `struct stat` (Linux include/uapi/asm-generic/stat.h).
    fn bytes(&self) -> [u8; 128] {
        let low_high = |low: u64, high: u64| low | high << 32;
        let words = [
            DEVICE,
            self.inode,
            low_high(u64::from(self.mode), 1), // st_mode, st_nlink
            low_high(USER_ID, USER_ID),
            0, // st_rdev
            0,
            self.bytes,
            BLOCK_BYTES,
            self.bytes.div_ceil(512),
            EPOCH_S, // access, modification, change
            0,
            EPOCH_S,
            0,
            EPOCH_S,
            0,
            0,
        ];
        let mut bytes = [0; 128];
        for (part, word) in bytes.chunks_mut(8).zip(words) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

impl Call<'_> {
    pub(super) fn fstat(&mut self, descriptor: u64, buffer: u64) -> Result<i64> {
        let status = self.status_of(descriptor)?;
        self.write(buffer, &status.bytes())?;
        Ok(0)
    }

    fn status_of(&mut self, descriptor: u64) -> Result<Status> {
        let object = self.process.descriptors.get(descriptor)?.object.clone();
        Ok(match object {
            Object::Input(_) => Status::small(2, PIPE),
            Object::Output(stream) => Status::small(3 + stream as u64, PIPE),
            Object::Bytes(bytes) => self.program_status(bytes.len()),
            Object::File { file, place } => {
                let metadata = Metadata::from_just_metadata(file.metadata()?);
                Status::of(&metadata, self.process.paths.inode(&place))
            }
            Object::Directory { place, .. } => Status::directory(self.process.paths.inode(&place)),
            Object::Null => Status::small(5, CHARACTERS),
            Object::Zero => Status::small(6, CHARACTERS),
            Object::Random => Status::small(7, CHARACTERS),
            Object::Ni(number) => Status::small(10 + number as u64, CHARACTERS),
        })
    }

    fn program_status(&self, bytes: usize) -> Status {
        Status { inode: 8, mode: REGULAR | 0o755, bytes: bytes as u64 }
    }

    pub(super) fn newfstatat(&mut self, at: u64, path: u64, buffer: u64, flags: u64) -> Result<i64> {
        let text = self.path(path)?;
        if text.is_empty() && flags & AT_EMPTY_PATH == 0 {
            return Err(Errno::ENOENT.into());
        }
        if text.is_empty() && !super::names::is_current(at) {
            return self.fstat(at, buffer);
        }
        let status = match self.place(at, &text, flags & AT_SYMLINK_NOFOLLOW == 0)? {
            Place::Host(spot) => Status::of(&spot.metadata()?, self.process.paths.inode(&spot.place)),
            Place::Above(place) => Status::directory(self.process.paths.inode(&place)),
            Place::Program => self.program_status(self.process.elf.bytes().len()),
            Place::Null => Status::small(5, CHARACTERS),
            Place::Zero => Status::small(6, CHARACTERS),
            Place::Random => Status::small(7, CHARACTERS),
            Place::Ni(number) if number < self.process.options.devices.len() => {
                Status::small(10 + number as u64, CHARACTERS)
            }
            Place::Descriptor(descriptor) => {
                self.check_open(descriptor)?;
                self.status_of(descriptor)?
            }
            Place::Outside(place) => return Err(self.refuse(&place, false)),
            Place::Ni(_) => return Err(Errno::ENOENT.into()),
        };
        self.write(buffer, &status.bytes())?;
        Ok(0)
    }
}

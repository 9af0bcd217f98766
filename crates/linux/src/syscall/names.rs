//! Files by name.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Call, Result};
use crate::descriptors::{Entry, Object};
use crate::errno::Errno;
use crate::open_flags::{
    O_ACCMODE, O_APPEND, O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC,
    O_WRONLY,
};
use crate::paths::{Place, WORKING_DIRECTORY};

// Linux include/uapi/linux/fcntl.h, include/linux/fs_types.h, include/uapi/linux/fs.h.
const AT_FDCWD: i32 = -100;
const AT_REMOVEDIR: u64 = 0x200;
const DT_UNKNOWN: u8 = 0;
const DT_DIR: u8 = 4;
const DT_REG: u8 = 8;
const DT_LNK: u8 = 10;
const X_OK: u64 = 1;
const W_OK: u64 = 2;
const RENAME_NOREPLACE: u64 = 1;

/// Whether a descriptor argument means the current directory.
pub(super) fn is_current(descriptor: u64) -> bool {
    descriptor as i32 == AT_FDCWD
}

impl Call<'_> {
    /// The path from `/` that `path` means, where relative ones begin at `at`.
    pub(super) fn absolute(&mut self, at: u64, path: &str) -> Result<String> {
        if path.starts_with('/') || is_current(at) {
            return Ok(self.process.paths.absolute(path));
        }
        match &self.process.descriptors.get(at)?.object {
            Object::Directory { name, .. } => Ok(format!("{name}/{path}")),
            _ => Err(Errno::ENOTDIR.into()),
        }
    }

    /// What the path at `address` stands for, and its name from `/`.
    fn named(&mut self, at: u64, address: u64) -> Result<(Place, String)> {
        let path = self.path(address)?;
        if path.is_empty() {
            return Err(Errno::ENOENT.into());
        }
        let absolute = self.absolute(at, &path)?;
        Ok((self.process.paths.place(&absolute), absolute))
    }

    /// The host's path that is named, to be changed.
    fn changeable(&mut self, at: u64, address: u64) -> Result<PathBuf> {
        match self.named(at, address)? {
            (Place::Host(path), _) if self.host.may_open(&path, true) => Ok(path),
            (Place::Nothing, _) => Err(Errno::ENOENT.into()),
            _ => Err(Errno::EACCES.into()),
        }
    }

    pub(super) fn openat(&mut self, at: u64, path: u64, flags: u64, mode: u64) -> Result<i64> {
        let (place, absolute) = self.named(at, path)?;
        let limit = self.process.limits.files();
        let writes = flags & O_ACCMODE != O_RDONLY;
        let object = match place {
            Place::Host(path) => self.open_host(&path, &absolute, flags, mode)?,
            Place::Program if writes => return Err(Errno::EACCES.into()),
            Place::Program => Object::Bytes(self.process.elf.bytes().clone()),
            Place::Null => Object::Null,
            Place::Zero => Object::Zero,
            Place::Random => Object::Random,
            Place::Ni(number) if number < self.process.options.devices.len() => Object::Ni(number),
            Place::Descriptor(descriptor) => {
                let close_on_exec = flags & O_CLOEXEC != 0;
                return Ok(self.process.descriptors.duplicate(descriptor, 0, close_on_exec, limit)?);
            }
            Place::Nothing if flags & O_CREAT != 0 => return Err(Errno::EACCES.into()),
            Place::Ni(_) | Place::Nothing => return Err(Errno::ENOENT.into()),
        };
        if flags & O_DIRECTORY != 0 && !matches!(object, Object::Directory { .. }) {
            return Err(Errno::ENOTDIR.into());
        }
        let kept = flags & (O_ACCMODE | O_APPEND | O_NONBLOCK);
        Ok(self.process.descriptors.add(object, kept, flags & O_CLOEXEC != 0, limit)?)
    }

    fn open_host(&mut self, path: &Path, absolute: &str, flags: u64, mode: u64) -> Result<Object> {
        let (read, write) = match flags & O_ACCMODE {
            O_RDONLY => (true, false),
            O_WRONLY => (false, true),
            O_RDWR => (true, true),
            _ => return Err(Errno::EINVAL.into()),
        };
        let create = flags & O_CREAT != 0;
        let before = path.metadata();
        // Linux creates the file first, so it is a change even when it is opened to be read.
        let changes = write || (create && before.is_err());
        if !self.host.may_open(path, changes) {
            return Err(Errno::EACCES.into());
        }
        match &before {
            Ok(_) if create && flags & O_EXCL != 0 => return Err(Errno::EEXIST.into()),
            Ok(metadata) if metadata.is_dir() => {
                if write || create {
                    return Err(Errno::EISDIR.into());
                }
                return self.open_directory(path, absolute);
            }
            // What another process of the host writes or reads at its own time.
            Ok(metadata) if !metadata.is_file() => return Err(Errno::EACCES.into()),
            Ok(_) if flags & O_DIRECTORY != 0 => return Err(Errno::ENOTDIR.into()),
            Ok(_) => (),
            Err(_) if create && !write => {
                OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .mode(mode as u32 & 0o777)
                    .open(path)?;
            }
            Err(_) => (),
        }
        let append = flags & O_APPEND != 0 && write;
        let mut options = OpenOptions::new();
        options.read(read).write(write && !append).append(append);
        options.create(create && write).mode(mode as u32 & 0o777);
        let file = options.open(path)?;
        if write && flags & O_TRUNC != 0 {
            file.set_len(0)?;
        }
        Ok(Object::File { file: Arc::new(file), path: path.into() })
    }

    /// Entries in order of names: the host's order differs from run to run.
    fn open_directory(&mut self, path: &Path, absolute: &str) -> Result<Object> {
        let mut names = vec![(b".".to_vec(), DT_DIR), (b"..".to_vec(), DT_DIR)];
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_dir() => DT_DIR,
                kind if kind.is_file() => DT_REG,
                kind if kind.is_symlink() => DT_LNK,
                _ => DT_UNKNOWN,
            };
            names.push((entry.file_name().into_encoded_bytes(), kind));
        }
        names.sort();
        let mut entries = Vec::new();
        for (name, kind) in names {
            let inode = self.process.paths.inode(&path.join(String::from_utf8_lossy(&name).as_ref()));
            entries.push(Entry { name, inode, kind });
        }
        Ok(Object::Directory { path: path.into(), name: absolute.into(), entries: entries.into() })
    }

    pub(super) fn mkdirat(&mut self, at: u64, path: u64, mode: u64) -> Result<i64> {
        let path = self.changeable(at, path)?;
        fs::DirBuilder::new().mode(mode as u32 & 0o777).create(path)?;
        Ok(0)
    }

    pub(super) fn unlinkat(&mut self, at: u64, path: u64, flags: u64) -> Result<i64> {
        let path = self.changeable(at, path)?;
        if flags & AT_REMOVEDIR != 0 {
            fs::remove_dir(path)?;
        } else if path.symlink_metadata()?.is_dir() {
            return Err(Errno::EISDIR.into());
        } else {
            fs::remove_file(path)?;
        }
        Ok(0)
    }

    pub(super) fn renameat2(&mut self) -> Result<i64> {
        let [from_at, from, to_at, to, flags, _] = self.args;
        let from = self.changeable(from_at, from)?;
        let to = self.changeable(to_at, to)?;
        match flags {
            0 => (),
            RENAME_NOREPLACE if to.symlink_metadata().is_ok() => return Err(Errno::EEXIST.into()),
            RENAME_NOREPLACE => (),
            _ => return Err(Errno::EINVAL.into()),
        }
        fs::rename(from, to)?;
        Ok(0)
    }

    pub(super) fn truncate(&mut self, path: u64, bytes: u64) -> Result<i64> {
        if (bytes as i64) < 0 {
            return Err(Errno::EINVAL.into());
        }
        let path = self.changeable(AT_FDCWD as u64, path)?;
        OpenOptions::new().write(true).open(path)?.set_len(bytes)?;
        Ok(0)
    }

    pub(super) fn faccessat(&mut self, at: u64, path: u64, wanted: u64) -> Result<i64> {
        match self.named(at, path)?.0 {
            Place::Host(path) => {
                let metadata = path.metadata()?;
                let permissions = metadata.permissions();
                let unwritable = wanted & W_OK != 0 && permissions.readonly();
                let not_executable = wanted & X_OK != 0 && permissions.mode() & 0o111 == 0;
                if unwritable || not_executable || !self.host.may_open(&path, wanted & W_OK != 0) {
                    return Err(Errno::EACCES.into());
                }
            }
            Place::Ni(number) if number >= self.process.options.devices.len() => {
                return Err(Errno::ENOENT.into());
            }
            Place::Descriptor(descriptor) => drop(self.process.descriptors.get(descriptor)?),
            Place::Nothing => return Err(Errno::ENOENT.into()),
            _ => (),
        }
        Ok(0)
    }

    pub(super) fn readlinkat(&mut self, at: u64, path: u64, buffer: u64, bytes: u64) -> Result<i64> {
        if bytes as i32 <= 0 {
            return Err(Errno::EINVAL.into());
        }
        let target = match self.named(at, path)?.0 {
            Place::Program => format!("{WORKING_DIRECTORY}/{}", self.process.elf.name()).into_bytes(),
            Place::Host(path) => fs::read_link(path)?.into_os_string().into_encoded_bytes(),
            Place::Nothing => return Err(Errno::ENOENT.into()),
            _ => return Err(Errno::EINVAL.into()),
        };
        let length = target.len().min(bytes as i32 as usize);
        self.write(buffer, &target[..length])?;
        Ok(length as i64)
    }

    pub(super) fn getcwd(&mut self, buffer: u64, bytes: u64) -> Result<i64> {
        let text = [self.process.paths.current.as_bytes(), &[0]].concat();
        if bytes < text.len() as u64 {
            return Err(Errno::ERANGE.into());
        }
        self.write(buffer, &text)?;
        Ok(text.len() as i64)
    }

    pub(super) fn chdir(&mut self, path: u64) -> Result<i64> {
        let (Place::Host(host), absolute) = self.named(AT_FDCWD as u64, path)? else {
            return Err(Errno::ENOENT.into());
        };
        if !host.metadata()?.is_dir() {
            return Err(Errno::ENOTDIR.into());
        }
        self.process.paths.current = self.process.paths.directory_name(&absolute, &host);
        Ok(0)
    }
}

//! Files by name.

use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, FileType, OpenOptions, OpenOptionsExt, PermissionsExt};

use super::files::BLOCK_BYTES;
use super::{Call, Refused, Result};
use crate::descriptors::{Entry, Object};
use crate::errno::Errno;
use crate::mounts::Mounts;
use crate::open_flags::{
    O_ACCMODE, O_APPEND, O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR,
    O_TRUNC, O_WRONLY,
};
use crate::places::WORKING_DIRECTORY;
use crate::resolve::{Place, Spot};

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

/// How the host's file `name` is opened: itself, and without waiting for what another process of the host may do.
fn options(mode: u64) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.follow(FollowSymlinks::No).nonblock(true).mode(mode as u32 & 0o777);
    options
}

/// Opens the host's file at `spot`, which must be a regular one: what stands behind another is written or read by another
/// process of the host, at its own time.
fn open_file(mounts: &Mounts, spot: &Spot, options: &OpenOptions) -> Result<std::fs::File> {
    let name = spot.name.as_ref().ok_or(Errno::EISDIR)?;
    let file = mounts.spared(spot.folder.open_with(name, options)?.into_std())?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(Errno::EACCES.into()) }
}

fn kind_of(kind: FileType) -> u8 {
    match kind {
        kind if kind.is_dir() => DT_DIR,
        kind if kind.is_file() => DT_REG,
        kind if kind.is_symlink() => DT_LNK,
        _ => DT_UNKNOWN,
    }
}

impl Call<'_> {
    /// The name from `/` that `path` means, where relative ones begin at `at`.
    fn absolute(&mut self, at: u64, path: &str) -> Result<String> {
        if path.starts_with('/') || is_current(at) {
            return Ok(self.process.paths.absolute(path));
        }
        match &self.process.descriptors.get(at)?.object {
            Object::Directory { place, .. } => Ok(format!("{place}/{path}")),
            _ => Err(Errno::ENOTDIR.into()),
        }
    }

    /// What the name `path` stands for, where relative ones begin at `at`.
    pub(super) fn place(&mut self, at: u64, path: &str, follow: bool) -> Result<Place> {
        let absolute = self.absolute(at, path)?;
        Ok(self.process.paths.mounts.resolve(&absolute, follow)?)
    }

    /// What the name at `address` stands for.
    fn named(&mut self, at: u64, address: u64, follow: bool) -> Result<Place> {
        let path = self.some_path(address)?;
        self.place(at, &path, follow)
    }

    /// The name at `address`, which is not empty.
    fn some_path(&mut self, address: u64) -> Result<String> {
        let path = self.path(address)?;
        if path.is_empty() { Err(Errno::ENOENT.into()) } else { Ok(path) }
    }

    /// What of the host's is named, to be changed.
    fn changeable(&mut self, at: u64, address: u64, follow: bool) -> Result<Spot> {
        match self.named(at, address, follow)? {
            Place::Host(spot) => self.writable(spot),
            Place::Above(_) => Err(Errno::EBUSY.into()),
            Place::Outside(place) => Err(self.refuse(&place, true)),
            _ => Err(Errno::EACCES.into()),
        }
    }

    /// `spot`, if it may be changed.
    fn writable(&mut self, spot: Spot) -> Result<Spot> {
        if !spot.read_only {
            return Ok(spot);
        }
        let mounts = self.process.paths.mounts.clone();
        let (_, mount) = mounts.around(&spot.place).expect("it is mounted");
        let refused = Refused { place: &spot.place, bind: &mount.given, changes: true, is_seen: true };
        self.report(&refused);
        Err(Errno::EROFS.into())
    }

    fn report(&mut self, refused: &Refused<'_>) {
        if self.process.reported.is_new(refused) {
            self.host.report_refused(refused);
        }
    }

    /// The process does not see the host's `place`, which it meant to change or, if not `changes`, to read: the error.
    pub(super) fn refuse(&mut self, place: &str, changes: bool) -> super::Stop {
        if let Some(folder) = self.process.paths.bind_for(place, changes) {
            let refused = Refused { place, bind: &folder, changes, is_seen: false };
            self.report(&refused);
        }
        Errno::ENOENT.into()
    }

    /// /proc/self/fd has no entry for a `descriptor` that is not open.
    pub(super) fn check_open(&mut self, descriptor: u64) -> Result<()> {
        self.process.descriptors.get(descriptor).map(drop).map_err(|_| Errno::ENOENT.into())
    }

    pub(super) fn openat(&mut self, at: u64, path: u64, flags: u64, mode: u64) -> Result<i64> {
        let creates = flags & O_CREAT != 0;
        let follow = flags & O_NOFOLLOW == 0 && !(creates && flags & O_EXCL != 0);
        let path = self.some_path(path)?;
        // Before anything is looked for or changed, as Linux does (fs/open.c, `do_sys_openat2`).
        let limit = self.process.limits.files();
        self.process.descriptors.check_room(limit)?;
        let place = self.place(at, &path, follow)?;
        let writes = flags & O_ACCMODE != O_RDONLY;
        let object = match place {
            Place::Host(spot) => self.open_host(spot, flags, mode)?,
            Place::Above(_) if writes || creates => return Err(Errno::EISDIR.into()),
            Place::Above(place) => self.directory(&place, None)?,
            Place::Program if writes => return Err(Errno::EACCES.into()),
            Place::Program => Object::Bytes(self.process.elf.bytes().clone()),
            Place::Null => Object::Null,
            Place::Zero => Object::Zero,
            Place::Random => Object::Random,
            Place::Ni(number) if number < self.process.options.devices.len() => Object::Ni(number),
            Place::Descriptor(descriptor) => {
                self.check_open(descriptor)?;
                let close_on_exec = flags & O_CLOEXEC != 0;
                return Ok(self.process.descriptors.duplicate(descriptor, 0, close_on_exec, limit)?);
            }
            Place::Outside(place) => {
                let error = self.refuse(&place, writes || creates);
                return Err(if creates { Errno::EACCES.into() } else { error });
            }
            Place::Ni(_) => return Err(Errno::ENOENT.into()),
        };
        if flags & O_DIRECTORY != 0 && !matches!(object, Object::Directory { .. }) {
            return Err(Errno::ENOTDIR.into());
        }
        let kept = flags & (O_ACCMODE | O_APPEND | O_NONBLOCK);
        Ok(self.process.descriptors.add(object, kept, flags & O_CLOEXEC != 0, limit)?)
    }

    fn open_host(&mut self, spot: Spot, flags: u64, mode: u64) -> Result<Object> {
        let (read, write) = match flags & O_ACCMODE {
            O_RDONLY => (true, false),
            O_WRONLY => (false, true),
            O_RDWR => (true, true),
            _ => return Err(Errno::EINVAL.into()),
        };
        let create = flags & O_CREAT != 0;
        let mounts = self.process.paths.mounts.clone();
        let is_new = match spot.metadata() {
            Ok(_) if create && flags & O_EXCL != 0 => return Err(Errno::EEXIST.into()),
            Ok(metadata) if metadata.is_symlink() => return Err(Errno::ELOOP.into()),
            Ok(metadata) if metadata.is_dir() => {
                if write || create {
                    return Err(Errno::EISDIR.into());
                }
                let folder = mounts.spared(spot.open_folder()?)?;
                return self.directory(&spot.place, Some(&folder));
            }
            Ok(metadata) if !metadata.is_file() => return Err(Errno::EACCES.into()),
            Ok(_) if flags & O_DIRECTORY != 0 => return Err(Errno::ENOTDIR.into()),
            Ok(_) => false,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && create => true,
            Err(error) => return Err(error.into()),
        };
        let spot = if write || is_new { self.writable(spot)? } else { spot };
        if is_new {
            self.spend(BLOCK_BYTES)?;
            open_file(&mounts, &spot, options(mode).write(true).create(true))?;
        }
        let append = flags & O_APPEND != 0 && write;
        let how = options(mode).read(read).write(write && !append).append(append).clone();
        let file = open_file(&mounts, &spot, &how)?;
        if write && flags & O_TRUNC != 0 {
            file.set_len(0)?;
        }
        Ok(Object::File { file: Arc::new(file), place: spot.place.into() })
    }

    /// The folder `place`: what is in the host's, if it is one of the host's, and what is mounted in it.
    fn directory(&mut self, place: &str, folder: Option<&Dir>) -> Result<Object> {
        let mounts = self.process.paths.mounts.clone();
        let mut kinds = mounts.entries(place, DT_DIR, DT_REG);
        kinds.extend([(b".".to_vec(), DT_DIR), (b"..".to_vec(), DT_DIR)]);
        for entry in folder.map(Dir::entries).transpose()?.into_iter().flatten() {
            let entry = entry?;
            let name = entry.file_name().into_encoded_bytes();
            if !mounts.is_hidden(&format!("{place}/{}", String::from_utf8_lossy(&name))) {
                let kind = kind_of(entry.file_type()?);
                kinds.entry(name).or_insert(kind);
            }
        }
        let mut entries = Vec::new();
        // In order of names: the host's order differs from run to run.
        for (name, kind) in kinds {
            let inode = self.process.paths.inode(&format!("{place}/{}", String::from_utf8_lossy(&name)));
            entries.push(Entry { name, inode, kind });
        }
        Ok(Object::Directory { place: place.into(), entries: entries.into() })
    }

    pub(super) fn mkdirat(&mut self, at: u64, path: u64, mode: u64) -> Result<i64> {
        let spot = match self.named(at, path, false)? {
            Place::Host(spot) if spot.metadata().is_err() => self.writable(spot)?,
            Place::Outside(place) => {
                self.refuse(&place, true);
                return Err(Errno::EACCES.into());
            }
            _ => return Err(Errno::EEXIST.into()),
        };
        let (folder, name) = spot.changeable()?;
        self.spend(BLOCK_BYTES)?;
        folder.create_dir_with(name, DirBuilder::new().mode(mode as u32 & 0o777))?;
        Ok(0)
    }

    pub(super) fn unlinkat(&mut self, at: u64, path: u64, flags: u64) -> Result<i64> {
        let spot = self.changeable(at, path, false)?;
        let is_folder = spot.metadata()?.is_dir();
        let (folder, name) = spot.changeable()?;
        if flags & AT_REMOVEDIR != 0 {
            folder.remove_dir(name)?;
        } else if is_folder {
            return Err(Errno::EISDIR.into());
        } else {
            folder.remove_file(name)?;
        }
        Ok(0)
    }

    pub(super) fn renameat2(&mut self) -> Result<i64> {
        let [from_at, from, to_at, to, flags, _] = self.args;
        let from = self.changeable(from_at, from, false)?;
        let to = self.changeable(to_at, to, false)?;
        let mounts = &self.process.paths.mounts;
        let mounted = |spot: &Spot| mounts.around(&spot.place).map(|(at, _)| at);
        from.metadata()?;
        let (from_folder, from_name) = from.changeable()?;
        let (to_folder, to_name) = to.changeable()?;
        if mounted(&from) != mounted(&to) {
            return Err(Errno::EXDEV.into());
        }
        match flags {
            0 => (),
            RENAME_NOREPLACE if to.metadata().is_ok() => return Err(Errno::EEXIST.into()),
            RENAME_NOREPLACE => (),
            _ => return Err(Errno::EINVAL.into()),
        }
        from_folder.rename(from_name, to_folder, to_name)?;
        Ok(0)
    }

    pub(super) fn truncate(&mut self, path: u64, bytes: u64) -> Result<i64> {
        if (bytes as i64) < 0 {
            return Err(Errno::EINVAL.into());
        }
        let spot = self.changeable(AT_FDCWD as u64, path, true)?;
        // What is opened may hear of it, even if it is no file.
        match spot.metadata()? {
            metadata if metadata.is_dir() => return Err(Errno::EISDIR.into()),
            metadata if !metadata.is_file() => return Err(Errno::EACCES.into()),
            _ => (),
        }
        open_file(&self.process.paths.mounts, &spot, options(0).write(true))?.set_len(bytes)?;
        Ok(0)
    }

    pub(super) fn faccessat(&mut self, at: u64, path: u64, wanted: u64) -> Result<i64> {
        let writes = wanted & W_OK != 0;
        match self.named(at, path, true)? {
            Place::Host(spot) => {
                let permissions = spot.metadata()?.permissions();
                if writes {
                    self.writable(spot)?;
                }
                let unwritable = writes && permissions.readonly();
                let not_executable = wanted & X_OK != 0 && permissions.mode() & 0o111 == 0;
                if unwritable || not_executable {
                    return Err(Errno::EACCES.into());
                }
            }
            Place::Above(_) if writes => return Err(Errno::EACCES.into()),
            Place::Ni(number) if number >= self.process.options.devices.len() => {
                return Err(Errno::ENOENT.into());
            }
            Place::Descriptor(descriptor) => self.check_open(descriptor)?,
            Place::Outside(place) => return Err(self.refuse(&place, writes)),
            _ => (),
        }
        Ok(0)
    }

    pub(super) fn readlinkat(&mut self, at: u64, path: u64, buffer: u64, bytes: u64) -> Result<i64> {
        if bytes as i32 <= 0 {
            return Err(Errno::EINVAL.into());
        }
        let target = match self.named(at, path, false)? {
            Place::Program => format!("{WORKING_DIRECTORY}/{}", self.process.elf.name()).into_bytes(),
            Place::Host(Spot { folder, name: Some(name), .. }) => {
                folder.read_link_contents(name)?.into_os_string().into_encoded_bytes()
            }
            Place::Outside(place) => return Err(self.refuse(&place, false)),
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
        let place = match self.named(AT_FDCWD as u64, path, true)? {
            Place::Host(spot) if !spot.metadata()?.is_dir() => return Err(Errno::ENOTDIR.into()),
            Place::Host(Spot { place, .. }) | Place::Above(place) => place,
            Place::Outside(place) => return Err(self.refuse(&place, false)),
            _ => return Err(Errno::ENOTDIR.into()),
        };
        self.process.paths.current = self.process.paths.mounts.shown(&place);
        Ok(0)
    }
}

//! Files that are there whole or not at all.
//!
//! A run's programs may rename what lies in their working directory, run directories and recordings among it. So files are
//! made in folders that were opened before the programs ran, and no link that lies there by then is followed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};

/// Links that are followed (Linux include/linux/namei.h, `MAXSYMLINKS`).
const LINKS_MAX: usize = 40;

/// Where a file is to be written: decided once, whatever its name leads to later.
#[derive(Debug)]
pub enum Destination {
    /// A file of this name in a folder, which need not be there yet.
    File(Folder, OsString),
    /// What is a device or a pipe, which stays one.
    Special(File),
}

impl Destination {
    /// What `path` leads to now: a link stays a link.
    ///
    /// # Errors
    /// When links lead round and round, or the folder can't be opened.
    pub fn open(path: &Path) -> io::Result<Destination> {
        // First of all: what /proc/self/fd has are no paths.
        if path.exists() && !path.is_file() {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            return Ok(Destination::Special(rustix::fs::open(path, flags, Mode::empty())?.into()));
        }
        let path = target(path)?;
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_os_string();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Ok(Destination::File(Folder::open(folder.unwrap_or(Path::new(".")))?, name))
    }

    /// Whether `path` still leads to it.
    pub fn is_at(&self, path: &Path) -> bool {
        match self {
            Destination::File(folder, name) => target(path).is_ok_and(|path| {
                let above = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                path.file_name() == Some(name) && folder.is_at(above.unwrap_or(Path::new(".")))
            }),
            Destination::Special(_) => true,
        }
    }

    /// Writes it by `body`, a file whole or not at all.
    ///
    /// # Errors
    /// When it can't be written, or `body` fails.
    pub fn write(&self, body: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
        match self {
            Destination::File(folder, name) => folder.write_whole(name, body),
            Destination::Special(file) => {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                fill(OpenOptions::new().write(true).open(path)?, body)
            }
        }
    }
}

/// A folder that is open. Names in it are of one part, and no links.
#[derive(Debug)]
pub struct Folder(File);

impl Folder {
    /// # Errors
    /// When there is no folder of that path.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Folder(rustix::fs::open(path, flags, Mode::empty())?.into()))
    }

    /// Whether it is the folder that `path` leads to.
    pub fn is_at(&self, path: &Path) -> bool {
        let own = self.0.metadata();
        let found = fs::metadata(path);
        own.and_then(|own| Ok((own, found?)))
            .is_ok_and(|(own, found)| (own.dev(), own.ino()) == (found.dev(), found.ino()))
    }

    /// Opens the file `name`; nothing waits for a pipe that has its name.
    ///
    /// # Errors
    /// When there is none, or what is there is a link or no file.
    pub fn open_file(&self, name: impl AsRef<OsStr>, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let file: File = rustix::fs::openat(self.0.as_fd(), name.as_ref(), flags, mode)?.into();
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file any more")) }
    }

    /// Writes the file `name` by `body`, whole or not at all: under a name that no file has yet, then renamed.
    ///
    /// # Errors
    /// When it can't be written, or `body` fails.
    pub fn write_whole(
        &self,
        name: impl AsRef<OsStr>,
        body: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> io::Result<()> {
        let (file, partial) = self.new_file()?;
        let folder = self.0.as_fd();
        let renamed = || Ok(rustix::fs::renameat(folder, &partial, folder, name.as_ref())?);
        fill(file, body).and_then(|()| renamed()).inspect_err(|_| {
            // The failure that matters is the first.
            let _ = rustix::fs::unlinkat(folder, &partial, AtFlags::empty());
        })
    }

    /// One that no other is, and its name.
    fn new_file(&self) -> io::Result<(File, String)> {
        let mut number = 0;
        loop {
            let name = format!(".chasqui-{}-{number}.partial", std::process::id());
            match self.open_file(&name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                other => return other.map(|file| (file, name)),
            }
        }
    }
}

/// Where the links that the file `path` may be lead, though there need not be a file yet.
///
/// # Errors
/// When they lead nowhere, round and round.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(link) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

fn fill(file: File, body: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    body(&mut out)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    /// Writes 100,000 bytes to `path` and fails then, if asked.
    fn write(path: &Path, fails: bool) -> io::Result<()> {
        Destination::open(path)?.write(|out| {
            out.write_all(&[b'x'; 100_000])?;
            if fails { Err(io::Error::other("no")) } else { Ok(()) }
        })
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("is there");
        let mut names: Vec<String> =
            entries.map(|e| e.expect("entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn no_other_file_is_touched() {
        let folder = Scratch::new("whole");
        fs::create_dir(&folder.0).expect("made");
        // The names that it was written under once, and the first that it is written under now.
        let ours = format!(".chasqui-{}-0.partial", std::process::id());
        let others = [ours.as_str(), ".a.partial", "a.partial"];
        others.iter().for_each(|name| fs::write(folder.0.join(name), "mine").expect("written"));
        let file = folder.0.join("a.recording");
        write(&file, true).expect_err("fails");
        write(&file, false).expect("written");
        assert_eq!(names(&folder.0), [".a.partial", ours.as_str(), "a.partial", "a.recording"]);
        for name in others {
            assert_eq!(fs::read_to_string(folder.0.join(name)).expect("is there"), "mine");
        }
        assert_eq!(fs::metadata(&file).expect("is there").len(), 100_000);
    }

    #[test]
    fn what_comes_to_lie_there_later_is_not_followed() {
        let folder = Scratch::new("later");
        fs::create_dir(&folder.0).expect("made");
        let (outside, file) = (folder.0.join("outside"), folder.0.join("a.recording"));
        fs::write(&outside, "mine").expect("written");
        let destination = Destination::open(&file).expect("a folder");
        std::os::unix::fs::symlink(&outside, &file).expect("made");
        destination.write(|out| out.write_all(b"ours")).expect("written");
        assert_eq!(fs::read(&outside).expect("is there"), b"mine");
        assert_eq!(fs::read(&file).expect("is there"), b"ours");
        assert!(!file.is_symlink());
    }

    #[test]
    fn links_and_pipes_stay_what_they_are() {
        let folder = Scratch::new("links");
        fs::create_dir(&folder.0).expect("made");
        let (file, link, pipe) = (folder.0.join("file"), folder.0.join("link"), folder.0.join("pipe"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("made");
        write(&link, false).expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::metadata(&file).expect("is there").len(), 100_000);
        // One that leads nowhere yet.
        let (new, dangling) = (folder.0.join("new"), folder.0.join("dangling"));
        std::os::unix::fs::symlink("new", &dangling).expect("made");
        write(&dangling, false).expect("written");
        assert!(dangling.is_symlink());
        assert_eq!(fs::metadata(&new).expect("is there").len(), 100_000);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
        assert!(made.success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).expect("it can be read").len()
        });
        write(&pipe, false).expect("written");
        assert_eq!(reader.join().expect("no panic"), 100_000);
        assert!(!pipe.is_file(), "no file has taken its place");
        // One without a name, as the shell's >(…) has it.
        let (mut reader, writer) = io::pipe().expect("there are pipes");
        let name = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer)));
        let reading = std::thread::spawn(move || {
            let mut data = Vec::new();
            io::Read::read_to_end(&mut reader, &mut data).expect("it can be read")
        });
        write(&name, false).expect("written");
        drop(writer);
        assert_eq!(reading.join().expect("no panic"), 100_000);
        // Links that lead to each other.
        let (one, other) = (folder.0.join("one"), folder.0.join("other"));
        std::os::unix::fs::symlink("other", &one).expect("made");
        std::os::unix::fs::symlink("one", &other).expect("made");
        assert!(write(&one, false).is_err());
        assert!(one.is_symlink());
        assert_eq!(names(&folder.0), ["dangling", "file", "link", "new", "one", "other", "pipe"]);
    }
}

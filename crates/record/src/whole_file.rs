//! Files that are there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Links that are followed (Linux include/linux/namei.h, `MAXSYMLINKS`).
const LINKS_MAX: usize = 40;

/// Writes the file `path` by `body`, whole or not at all: under a name that no file has yet, in the same folder, then
/// renamed. What is a device or a pipe is written as it is, and stays one; a link stays a link.
///
/// # Errors
/// When it can't be written, or `body` fails.
pub(crate) fn write_whole(
    path: &Path,
    body: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    // First of all: what /proc/self/fd has are no paths.
    if path.exists() && !path.is_file() {
        return fill(OpenOptions::new().write(true).open(path)?, body);
    }
    let path = target(path)?;
    let (file, partial) = beside(&path)?;
    fill(file, body).and_then(|()| fs::rename(&partial, &path)).inspect_err(|_| {
        // The failure that matters is the first.
        let _ = fs::remove_file(&partial);
    })
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

/// A new file in the folder of `path`.
fn beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut number = 0;
    loop {
        let name = path.with_file_name(format!(".chasqui-{}-{number}.partial", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            other => return other.map(|file| (file, name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    /// Writes 100,000 bytes to `path` and fails then, if asked.
    fn write(path: &Path, fails: bool) -> io::Result<()> {
        write_whole(path, |out| {
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

//! From the names that a program uses to what they stand for.
//!
//! A program sees the run's working directory as `/cwd`, and the host's other directories by their
//! names, but nothing that describes the host itself: a program must run alike on every host.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::descriptors::Stream;

/// What the program calls the run's working directory.
pub const WORKING_DIRECTORY: &str = "/cwd";

/// Directories of the host that describe the host; for a program there is nothing in them.
/// (C libraries look there for time zones, locales, users and processors.)
const HIDDEN: &[&str] = &["/proc", "/sys", "/dev", "/etc", "/run", "/usr/lib", "/usr/share"];
/// A place for data below a hidden directory.
const SHOWN: &str = "/dev/shm";

/// What a path stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A path of the host.
    Host(PathBuf),
    /// The program's file.
    Program,
    /// `/dev/null`
    Null,
    /// `/dev/zero`
    Zero,
    /// `/dev/random`, `/dev/urandom`
    Random,
    /// A network interface.
    Ni(usize),
    /// An open descriptor, by `/dev/fd/` or `/proc/self/fd/`.
    Descriptor(u64),
    /// Nothing, whatever the host has there.
    Nothing,
}

/// Where a process is, and which numbers its files have.
pub struct Paths {
    /// The host's directory that is `/cwd`.
    directory: PathBuf,
    /// The process's directory, as it calls it.
    pub current: String,
    inodes: BTreeMap<PathBuf, u64>,
}

impl Paths {
    /// In `directory`.
    pub fn new(directory: PathBuf) -> Paths {
        Paths { directory, current: WORKING_DIRECTORY.into(), inodes: BTreeMap::new() }
    }

    /// The path that the program means by `path`, from `/`.
    pub fn absolute(&self, path: &str) -> String {
        if path.starts_with('/') { path.into() } else { format!("{}/{path}", self.current) }
    }

    /// What an absolute path stands for.
    pub fn place(&self, absolute: &str) -> Place {
        let plain = normal(absolute);
        if let Some(place) = special(&plain) {
            return place;
        }
        // Not `plain`: the host resolves `..`, which may leave the working directory or follow a
        // symbolic link.
        let path = Path::new(absolute);
        match path.strip_prefix(WORKING_DIRECTORY) {
            Ok(rest) => Place::Host(self.directory.join(rest)),
            Err(_) if is_within(&plain, SHOWN) => Place::Host(path.into()),
            Err(_) if HIDDEN.iter().any(|hidden| is_within(&plain, hidden)) => Place::Nothing,
            Err(_) => Place::Host(path.into()),
        }
    }

    /// What the program calls the host's directory `host`, where it goes by `absolute`.
    pub fn directory_name(&self, absolute: &str, host: &Path) -> String {
        let plain = normal(absolute);
        let stays =
            !Path::new(absolute).starts_with(WORKING_DIRECTORY) || is_within(&plain, WORKING_DIRECTORY);
        if stays {
            return plain;
        }
        host.canonicalize().map_or(plain, |path| path.to_string_lossy().into_owned())
    }

    /// The number of the file at `path`: files are numbered as the process meets them, because the
    /// host's numbers differ from run to run.
    pub fn inode(&mut self, path: &Path) -> u64 {
        let next = self.inodes.len() as u64 + 100;
        *self.inodes.entry(path.components().collect()).or_insert(next)
    }
}

/// A path without `.`, `..` and double slashes, as text alone tells.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part.to_str().unwrap_or("")),
            _ => (),
        }
    }
    format!("/{}", parts.join("/"))
}

fn is_within(path: &str, directory: &str) -> bool {
    Path::new(path).starts_with(directory)
}

fn special(path: &str) -> Option<Place> {
    let number = |text: &str| text.parse().ok();
    Some(match path {
        "/dev/null" => Place::Null,
        "/dev/zero" => Place::Zero,
        "/dev/random" | "/dev/urandom" => Place::Random,
        "/proc/self/exe" => Place::Program,
        "/dev/stdin" => Place::Descriptor(0),
        "/dev/stdout" => Place::Descriptor(Stream::Output as u64 + 1),
        "/dev/stderr" => Place::Descriptor(Stream::Error as u64 + 1),
        _ => {
            if let Some(ni) = path.strip_prefix("/dev/ni") {
                return number(ni).map(|ni| Place::Ni(ni as usize));
            }
            let descriptor = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
            return number(descriptor).map(Place::Descriptor);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_the_working_directory_the_host_or_nothing() {
        let mut paths = Paths::new("/home/me/run".into());
        let place = |paths: &Paths, path| paths.place(&paths.absolute(path));
        let host = |path: &str| Place::Host(path.into());
        assert_eq!(place(&paths, "data.mtx"), host("/home/me/run/data.mtx"));
        assert_eq!(place(&paths, "../data.mtx"), host("/home/me/run/../data.mtx"));
        assert_eq!(place(&paths, "/cwd/a"), host("/home/me/run/a"));
        assert_eq!(place(&paths, "/cwdx/a"), host("/cwdx/a"));
        assert_eq!(place(&paths, "/tmp/../etc//passwd"), Place::Nothing);
        assert_eq!(place(&paths, "/proc/cpuinfo"), Place::Nothing);
        assert_eq!(place(&paths, "/dev/shm/x"), host("/dev/shm/x"));
        assert_eq!(place(&paths, "/dev/ni0"), Place::Ni(0));
        assert_eq!(place(&paths, "/dev/nix"), Place::Nothing);
        assert_eq!(place(&paths, "/dev/./null"), Place::Null);
        assert_eq!(place(&paths, "/proc/self/fd/7"), Place::Descriptor(7));
        paths.current = "/cwd/sub".into();
        assert_eq!(place(&paths, "a"), host("/home/me/run/sub/a"));
        assert_eq!(place(&paths, "../../a"), host("/home/me/run/sub/../../a"));
        assert_eq!(paths.directory_name("/cwd/sub/..", Path::new("/")), "/cwd");
    }

    #[test]
    fn files_keep_their_numbers() {
        let mut paths = Paths::new("/".into());
        let numbers = ["/a", "/b", "//a/", "/c"].map(|path| paths.inode(Path::new(path)));
        assert_eq!(numbers, [100, 101, 100, 102]);
    }
}

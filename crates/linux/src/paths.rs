//! The names of a process's files.
//!
//! A program sees the run's working directory as `/cwd`, and besides what was mounted; but nothing that describes the host
//! itself: a program must run alike on every host.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::mounts::Mounts;
use crate::places::{SHARED_MEMORY, WORKING_DIRECTORY, is_hidden, normal, within_own};

/// Where a process is, which files it sees, and which numbers they have.
pub struct Paths {
    /// What it sees.
    pub mounts: Arc<Mounts>,
    /// The process's directory, as it calls it.
    pub current: String,
    /// Its arguments.
    arguments: Vec<String>,
    inodes: BTreeMap<String, u64>,
}

impl Paths {
    /// In the working directory.
    pub fn new(mounts: Arc<Mounts>, arguments: &[String]) -> Paths {
        let (current, arguments) = (WORKING_DIRECTORY.into(), arguments.to_vec());
        Paths { mounts, current, arguments, inodes: BTreeMap::new() }
    }

    /// The path that the program means by `path`, from `/`.
    pub fn absolute(&self, path: &str) -> String {
        if path.starts_with('/') { path.into() } else { format!("{}/{path}", self.current) }
    }

    /// What to mount for the process to see `place`, or (`creates`) to make it; `None`: nothing would help, or the program
    /// does not need it.
    pub fn bind_for(&self, place: &str, creates: bool) -> Option<String> {
        if within_own(place) || !self.is_wanted(place) {
            return None;
        }
        let path = Path::new(place);
        let parent = path.parent()?.to_str()?;
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Some(place.into()),
            // All of the root, or all of what describes the host, is too much for one file.
            Ok(_) if parent == "/" || is_hidden(place) => Some(place.into()),
            Ok(_) => Some(parent.into()),
            Err(_) if creates && Path::new(parent).is_dir() => Some(parent.into()),
            Err(_) => None,
        }
    }

    /// C libraries look for much that describes the host; but what an argument names the program wants.
    fn is_wanted(&self, place: &str) -> bool {
        !is_hidden(place)
            || Path::new(place).starts_with(SHARED_MEMORY)
            || self.arguments.iter().any(|argument| argument.contains(place))
    }

    /// The number of the file at `place`: files are numbered as the process meets them, because the host's numbers differ
    /// from run to run.
    pub fn inode(&mut self, place: &str) -> u64 {
        let next = self.inodes.len() as u64 + 100;
        *self.inodes.entry(normal(place)).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_numbers() {
        let mut paths = Paths::new(Arc::default(), &[]);
        let numbers = ["/a", "/b", "//a/", "/b/./../a", "/c"].map(|path| paths.inode(path));
        assert_eq!(numbers, [100, 101, 100, 100, 102]);
    }

    #[test]
    fn what_is_wanted_and_can_be_bound_is_offered() {
        let host = std::env::temp_dir().join(format!("chasqui-paths-{}", std::process::id()));
        std::fs::create_dir_all(&host).unwrap();
        std::fs::write(host.join("file"), "").unwrap();
        let text = host.to_str().unwrap().to_string();
        let paths =
            Paths::new(Arc::default(), &["prog".into(), "--data=/etc/passwd".into(), "/proc/version".into()]);
        let file = format!("{text}/file");
        assert_eq!(paths.bind_for(&file, false), Some(text.clone()));
        assert_eq!(paths.bind_for(&text, false), Some(text.clone()));
        assert_eq!(paths.bind_for(&format!("{text}/new"), true), Some(text.clone()));
        assert_eq!(paths.bind_for(&format!("{text}/new"), false), None);
        assert_eq!(paths.bind_for(&format!("{text}/new/new"), true), None);
        assert_eq!(paths.bind_for("/etc/passwd", false), Some("/etc/passwd".into()));
        assert_eq!(paths.bind_for("/etc/group", false), None);
        assert_eq!(paths.bind_for("/proc/version", false), None);
        std::fs::remove_dir_all(host).unwrap();
    }
}

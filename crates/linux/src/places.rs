//! Places of a process's files that have a meaning, and their names.

use std::path::{Component, Path};

/// What the program calls the run's working directory.
pub const WORKING_DIRECTORY: &str = "/cwd";

/// Directories that the simulated system has itself: nothing of the host's can be there.
const OWN: &[&str] = &["/proc", "/sys", "/dev"];
/// Directories of the host that describe the host; for a program there is nothing in them, unless it was mounted by name.
/// (C libraries look there for time zones, locales, users and processors.)
const HIDDEN: &[&str] = &["/proc", "/sys", "/dev", "/etc", "/run", "/usr/lib", "/usr/share"];

/// A place for data in a folder that otherwise describes the host.
pub(crate) const SHARED_MEMORY: &str = "/dev/shm";

/// Whether `place` would describe the host.
pub(crate) fn is_hidden(place: &str) -> bool {
    HIDDEN.iter().any(|hidden| is_within(place, hidden))
}

/// Whether only the simulated system can have something at `place`.
pub(crate) fn within_own(place: &str) -> bool {
    OWN.iter().any(|own| is_within(place, own)) && !is_within(place, SHARED_MEMORY)
}

/// A path without `.`, `..` and double slashes, as text alone tells.
pub(crate) fn normal(path: &str) -> String {
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

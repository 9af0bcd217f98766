//! What a process was refused of the host's files.

use std::collections::BTreeSet;

/// A file of the host that a process was refused, and what would allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused<'a> {
    /// The file, as the process calls it.
    pub place: &'a str,
    /// What of the host's would have to be bound; or how it is, `HOST[:GUEST]`.
    pub bind: &'a str,
    /// The process meant to change or make it.
    pub changes: bool,
    /// It is bound, but not to be changed.
    pub is_seen: bool,
}

/// What a process was refused: once for each bind that would have allowed it, however many files there are.
#[derive(Default)]
pub(crate) struct Reported(BTreeSet<(String, bool, bool)>);

impl Reported {
    /// Whether that was not reported before.
    pub fn is_new(&mut self, refused: &Refused<'_>) -> bool {
        self.0.insert((refused.bind.into(), refused.changes, refused.is_seen))
    }
}

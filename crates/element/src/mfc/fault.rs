//! Why an MFC stops.

use std::fmt;

use chasqui_memory::Access;

use super::command::{Command, Source};
use super::reason::Reason;

/// A command that can't go on: the MFC has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MfcFault {
    /// Why.
    pub reason: Reason,
    /// The queue it is in.
    pub source: Source,
    /// The command.
    pub command: Command,
    /// Of a list: the element, from 0 on.
    pub element: Option<u32>,
    /// Effective address at which it went wrong.
    pub address: u64,
    /// What was tried there.
    pub access: Access,
}

/// As a user reads it; which core, and where its program is, says whoever knows.
impl fmt::Display for MfcFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MfcFault { reason, source, command, element, address, .. } = self;
        let queue = match source {
            Source::Atomic => "atomic command",
            Source::Core => "command",
            Source::Proxy => "proxy command",
        };
        write!(f, "DMA {queue} {command}")?;
        if let Some(element) = element {
            write!(f, ", element {element}")?;
        }
        write!(f, ": {reason} (at {address:#x})")
    }
}

//! Rights that a process gives: others of its job may have their controllers send into a part of its memory.
//!
//! A right has a number, which says whose memory it is. A controller has room for so many (`GRANTS_MAX`); a number is used again
//! when all others have been.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::{Host, Protocol};
use super::Command;
use crate::registers::{TRANSFER_GRANT, TRANSFER_GRANTS, TRANSFER_KIND, TRANSFER_RIGHTS, TRANSFER_SEND};

/// A right.
struct Grant {
    /// The controller that has it.
    node: usize,
    /// Whose memory it is.
    owner: u32,
    /// Virtual addresses of that process.
    place: Range<u64>,
}

/// All rights, by number.
#[derive(Default)]
pub(super) struct Grants {
    given: BTreeMap<u64, Grant>,
    /// The number that was given last.
    last: u64,
}

impl Grants {
    /// A right to `place`. 0: the controller of `node` has no room for another.
    fn give(&mut self, node: usize, owner: u32, place: Range<u64>) -> u64 {
        if self.given.values().filter(|grant| grant.node == node).count() as u64 >= TRANSFER_GRANTS {
            return 0;
        }
        loop {
            self.last = self.last % (TRANSFER_RIGHTS - 1) + 1;
            if !self.given.contains_key(&self.last) {
                break;
            }
        }
        self.given.insert(self.last, Grant { node, owner, place });
        self.last
    }
}

/// The command gives a right, or takes one back: its answer, or what is wrong with it. `None`: it moves data.
pub(super) fn grant(
    protocol: &mut Protocol,
    (node, owner): (usize, u32),
    command: &Command,
) -> Option<Result<u64, String>> {
    let &Command { destination, bytes, right, start, .. } = command;
    let grants = &mut protocol.transfers.grants;
    if start == TRANSFER_GRANT {
        let Some(end) = destination.checked_add(bytes) else {
            return Some(Err(format!(
                "a right to {bytes} bytes at {destination:#x} goes past the end of addresses"
            )));
        };
        return Some(Ok(grants.give(node, owner, destination..end)));
    }
    if start == crate::registers::TRANSFER_REVOKE {
        if grants.given.get(&right).is_none_or(|grant| grant.owner != owner) {
            return Some(Err(format!("right {right} is not this process's to take back")));
        }
        grants.given.remove(&right);
        return Some(Ok(0));
    }
    None
}

/// Whose the destination of `command` is, which `owner` has its controller carry out; or what is wrong with the right that it names.
pub(super) fn receiver<H: Host>(
    protocol: &Protocol,
    host: &H,
    owner: u32,
    command: &Command,
) -> Result<u32, String> {
    if command.right == 0 {
        return Ok(owner);
    }
    if command.start & TRANSFER_KIND != TRANSFER_SEND || super::Cast::is_of(command) {
        return Err(format!("right {} is one to send to a process, and nothing else", command.right));
    }
    let grant = protocol.transfers.grants.given.get(&command.right);
    match grant.filter(|grant| host.is_of_one_job(owner, grant.owner)) {
        Some(grant) => Ok(grant.owner),
        None => Err(format!("no process of the job gives right {}", command.right)),
    }
}

/// What is wrong with a piece of the destination, as to the right that the command names.
pub(super) fn check_piece(protocol: &Protocol, command: &Command, piece: &Range<u64>) -> Result<(), String> {
    let Some(grant) = protocol.transfers.grants.given.get(&command.right) else { return Ok(()) };
    if piece.start < grant.place.start || piece.end > grant.place.end {
        return Err(format!(
            "{:#x} to {:#x} is not in {:#x} to {:#x}, to which right {} is",
            piece.start, piece.end, grant.place.start, grant.place.end, command.right
        ));
    }
    Ok(())
}

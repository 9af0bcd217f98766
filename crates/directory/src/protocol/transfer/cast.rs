//! Broadcasts: to the nodes of a row of the mesh, of a column, or of both.
//!
//! Whoever is to receive one has joined it before. One copy leaves the source for a row, and one for a column. Each node passes it on to the next, behind the last to the first,
//! until the source comes again.

use super::command::Command;
use super::{ONE, Transfer};
use crate::registers::{TRANSFER_COLUMN, TRANSFER_ROW};
use crate::times::Times;

/// What a packet of a broadcast carries beside its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cast {
    /// Whose broadcast it is, and its number.
    pub owner: u32,
    pub group: u64,
    pub source: usize,
    /// Tells its start from others of that number.
    pub serial: u64,
    /// Of all of it.
    pub bytes: u64,
    /// It goes along a column, else along a row.
    is_by_column: bool,
}

impl Cast {
    /// The command is a broadcast's source's.
    pub fn is_of(command: &Command) -> bool {
        command.start & (TRANSFER_ROW | TRANSFER_COLUMN) != 0
    }

    /// What leaves the source for each packet, the node that it goes to and the class. Nothing: it is no broadcast.
    pub fn of(transfer: &Transfer, times: &Times) -> Vec<(Cast, usize, usize)> {
        let &Transfer { ref command, source, owner, serial, .. } = transfer;
        let ways = [(TRANSFER_ROW, false), (TRANSFER_COLUMN, true)];
        let ways = ways.into_iter().filter(|&(option, _)| command.has(option));
        ways.map(|(_, is_by_column)| {
            let bytes = command.bytes * command.count;
            let cast = Cast { owner, group: command.group, source, serial, bytes, is_by_column };
            let (to, class) = cast.next(source, ONE, times);
            (cast, to, class)
        })
        .collect()
    }

    /// The node behind `node`, and the class of the room that a packet takes there which was of `class`.
    pub fn next(&self, node: usize, class: usize, times: &Times) -> (usize, usize) {
        let (next, is_first) = times.next(node, self.is_by_column);
        let before = if self.is_by_column { 3 } else { 1 };
        (next, if is_first || class == before + 1 { before + 1 } else { before })
    }
}

impl Transfer {
    /// Copies of each packet that leave the source.
    pub(super) fn copies(&self) -> u64 {
        let ways = [TRANSFER_ROW, TRANSFER_COLUMN];
        (ways.into_iter().filter(|&option| self.command.has(option)).count() as u64).max(1)
    }
}

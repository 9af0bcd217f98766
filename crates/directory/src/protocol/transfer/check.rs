//! What is wrong with a command, before any of its data move: each page is translated, its rights and its home are checked.

use std::ops::Range;

use chasqui_memory::PAGE_BYTES;

use super::super::{Host, Protocol};
use super::cast::Cast;
use super::command::Command;
use super::grant::{check_piece, receiver};
use crate::registers::{
    TRANSFER_ADD, TRANSFER_COLUMN, TRANSFER_GROUPS, TRANSFER_JOIN, TRANSFER_KIND, TRANSFER_RECEIVE,
    TRANSFER_ROW, TRANSFER_SEND, TRANSFER_TRANSPOSE, TRANSFER_TRY,
};

/// The nodes of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub source: usize,
    pub destination: usize,
    /// Whose address the destination is.
    pub receiver: u32,
}

/// Which end of a transfer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Destination,
}

/// What a transfer moves at most [bytes].
const BYTES_MAX: u64 = 1 << 30;
/// The longest element of a transpose [bytes].
const ELEMENT_MAX: u64 = 32;

impl Command {
    /// How many pieces it has at one end, and how long each is [bytes]: stride points, or rows of a matrix.
    fn pieces(&self, end: End) -> (u64, u64) {
        match (self.has(TRANSFER_TRANSPOSE), end) {
            (false, _) => (self.count, self.bytes),
            (true, End::Source) => (self.count, self.columns * self.bytes),
            (true, End::Destination) => (self.columns, self.count * self.bytes),
        }
    }
}

/// The home of the pages at one end of a transfer.
struct Homes {
    node: usize,
    end: End,
    /// They have to be here, or elsewhere.
    are_here: bool,
    /// The home of the first, and its address.
    found: Option<(usize, u64)>,
    /// The page that was checked last.
    page: Option<u64>,
}

impl Homes {
    fn check<H: Host>(&mut self, host: &mut H, owner: u32, piece: Range<u64>) -> Result<(), String> {
        if piece.end < piece.start {
            return Err(format!("the piece at {:#x} goes past the end of addresses", piece.start));
        }
        let mut address = piece.start;
        while address < piece.end {
            let page = address / PAGE_BYTES;
            if self.page != Some(page) {
                self.page = Some(page);
                self.check_page(host, owner, address)?;
            }
            address = (page + 1) * PAGE_BYTES;
        }
        Ok(())
    }

    fn check_page<H: Host>(&mut self, host: &mut H, owner: u32, address: u64) -> Result<(), String> {
        let writes = self.end == End::Destination;
        let (verb, right) = if writes { ("receives", "write") } else { ("sends", "read") };
        let Some(physical) = host.physical(owner, address, writes) else {
            return Err(format!("there is no page at {address:#x} that the process may {right}"));
        };
        let (node, home) = (self.node, host.home(physical));
        if self.are_here && home != node {
            return Err(format!(
                "{address:#x} is in memory of node {home}: what node {node} {verb} has to be in its own"
            ));
        }
        if !self.are_here && home == node {
            return Err(format!(
                "{address:#x} is in memory of node {node}, as the other end is: a transfer goes to another node"
            ));
        }
        let &mut (first, at) = self.found.get_or_insert((home, address));
        if first != home {
            return Err(format!(
                "{address:#x} is in memory of node {home}, and {at:#x} in that of node {first}: a transfer has \
                 one node at each end"
            ));
        }
        Ok(())
    }
}

/// What is wrong with the numbers alone.
fn check_numbers(command: &Command) -> Result<(), String> {
    let &Command { bytes, count, columns, destination_stride, flag, start, .. } = command;
    let kind = start & TRANSFER_KIND;
    let offered = match kind {
        TRANSFER_SEND if Cast::is_of(command) => TRANSFER_ADD | TRANSFER_TRY | TRANSFER_ROW | TRANSFER_COLUMN,
        TRANSFER_SEND | TRANSFER_RECEIVE => TRANSFER_ADD | TRANSFER_TRY | TRANSFER_TRANSPOSE,
        _ => TRANSFER_ADD,
    };
    if !(TRANSFER_SEND..=TRANSFER_JOIN).contains(&kind) || start & !(offered | TRANSFER_KIND) != 0 {
        return Err(format!("{start:#x} is no command of this controller (TRANSFER_START)"));
    }
    if command.has(TRANSFER_TRANSPOSE) {
        if !bytes.is_power_of_two() || bytes > ELEMENT_MAX {
            return Err(format!(
                "elements of {bytes} bytes are not transposed: 1, 2, 4, 8, 16 and 32 are allowed"
            ));
        }
        if columns == 0 {
            return Err("a matrix of 0 columns has nothing to transpose".into());
        }
    }
    let all = bytes.checked_mul(count).and_then(|bytes| bytes.checked_mul(columns.max(1)));
    if all.is_none_or(|bytes| bytes > BYTES_MAX) {
        return Err(format!(
            "{bytes} bytes at {count} stride points are more than a transfer may have, 1 GiB"
        ));
    }
    if bytes == 0 || count == 0 {
        return Err(format!("{bytes} bytes at {count} stride points are nothing to move"));
    }
    let (pieces, length) = command.pieces(End::Destination);
    if command.group >= TRANSFER_GROUPS {
        return Err(format!("there is no broadcast {}: numbers are below {TRANSFER_GROUPS}", command.group));
    }
    // A stride may go down.
    let apart = destination_stride.min(destination_stride.wrapping_neg());
    if pieces > 1 && apart < length && !Cast::is_of(command) {
        return Err(format!(
            "{length} bytes at every {} from {:#x} on lie over each other at the destination",
            destination_stride as i64, command.destination
        ));
    }
    if !flag.is_multiple_of(8) {
        return Err(format!("the flag at {flag:#x} is not aligned to 8"));
    }
    Ok(())
}

/// The ends of the transfer that `node` is to begin for `owner`, or what is wrong with it.
pub(super) fn check<H: Host>(
    protocol: &Protocol,
    host: &mut H,
    (node, owner): (usize, u32),
    command: &Command,
) -> Result<Ends, String> {
    check_numbers(command)?;
    let kind = command.start & TRANSFER_KIND;
    if kind == TRANSFER_JOIN && protocol.transfers.units[node].joined.contains_key(&(owner, command.group)) {
        return Err(format!("node {node} has joined broadcast {} already", command.group));
    }
    for (option, is_by_column, name) in [(TRANSFER_ROW, false, "row"), (TRANSFER_COLUMN, true, "column")] {
        if command.has(option) && protocol.times.next(node, is_by_column).0 == node {
            return Err(format!(
                "node {node} has nobody to broadcast to: it is alone in its {name} of the mesh"
            ));
        }
    }
    let receiver = receiver(protocol, host, owner, command)?;
    let homes = |end, are_here| Homes { node, end, are_here, found: None, page: None };
    let mut source = homes(End::Source, kind == TRANSFER_SEND);
    let mut destination = homes(End::Destination, kind != TRANSFER_SEND);
    let ends = [
        (&mut source, command.source, command.source_stride, kind != TRANSFER_JOIN),
        (&mut destination, command.destination, command.destination_stride, !Cast::is_of(command)),
    ];
    for (homes, base, stride, _) in ends.into_iter().filter(|&(.., is_used)| is_used) {
        let (pieces, length) = command.pieces(homes.end);
        for piece in 0..pieces {
            let start = base.wrapping_add(piece.wrapping_mul(stride));
            let piece = start..start.wrapping_add(length);
            if homes.end == End::Destination {
                check_piece(protocol, command, &piece)?;
                homes.check(host, receiver, piece)?;
            } else {
                homes.check(host, owner, piece)?;
            }
        }
    }
    if command.flag != 0 && host.physical(owner, command.flag, true).is_none() {
        return Err(format!(
            "there is no page at {:#x}, of the flag, that the process may write",
            command.flag
        ));
    }
    let node_of = |homes: Homes| homes.found.map_or(node, |(node, _)| node);
    Ok(Ends { source: node_of(source), destination: node_of(destination), receiver })
}

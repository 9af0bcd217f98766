//! What is wrong with a command, before any of its data move: each page is translated, its rights and its home are checked.

use std::ops::Range;

use chasqui_memory::PAGE_BYTES;

use super::super::{Host, Protocol};
use super::command::Command;
use crate::registers::{TRANSFER_ADD, TRANSFER_KIND, TRANSFER_RECEIVE, TRANSFER_SEND, TRANSFER_TRANSPOSE};

/// The nodes of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub source: usize,
    pub destination: usize,
}

/// Which end of a transfer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Destination,
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
    let Command { bytes, count, destination_stride, flag, start, .. } = *command;
    let kind = start & TRANSFER_KIND;
    let offered = TRANSFER_KIND | TRANSFER_ADD;
    if ![TRANSFER_SEND, TRANSFER_RECEIVE].contains(&kind) || start & !offered != 0 {
        return Err(format!("{start:#x} is no command of this controller (TRANSFER_START)"));
    }
    if bytes == 0 || count == 0 {
        return Err(format!("{bytes} bytes at {count} stride points are nothing to move"));
    }
    if count > 1 && destination_stride < bytes {
        return Err(format!(
            "{bytes} bytes at every {destination_stride} from {:#x} on lie over each other at the destination",
            command.destination
        ));
    }
    if !flag.is_multiple_of(8) {
        return Err(format!("the flag at {flag:#x} is not aligned to 8"));
    }
    Ok(())
}

impl Protocol {
    /// The ends of the transfer that `node` is to begin for `owner`, or what is wrong with it.
    pub(super) fn check<H: Host>(
        &self,
        host: &mut H,
        (node, owner): (usize, u32),
        command: &Command,
    ) -> Result<Ends, String> {
        check_numbers(command)?;
        debug_assert!(!command.has(TRANSFER_TRANSPOSE));
        let is_sender = command.start & TRANSFER_KIND == TRANSFER_SEND;
        let homes = |end, are_here| Homes { node, end, are_here, found: None, page: None };
        let mut source = homes(End::Source, is_sender);
        let mut destination = homes(End::Destination, !is_sender);
        let ends = [
            (&mut source, command.source, command.source_stride),
            (&mut destination, command.destination, command.destination_stride),
        ];
        for (homes, base, stride) in ends {
            for point in 0..command.count {
                let start = base.wrapping_add(point.wrapping_mul(stride));
                homes.check(host, owner, start..start.wrapping_add(command.bytes))?;
            }
        }
        if command.flag != 0 && host.physical(owner, command.flag, true).is_none() {
            return Err(format!(
                "there is no page at {:#x}, of the flag, that the process may write",
                command.flag
            ));
        }
        let node_of = |homes: Homes| homes.found.expect("a page").0;
        Ok(Ends { source: node_of(source), destination: node_of(destination) })
    }
}

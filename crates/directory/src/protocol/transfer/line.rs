//! A line of a transfer is taken from the caches, at its home, in the moment in which it is read or written.
//!
//! Mostly nobody has it, or the home's own cache: then the directory's entry and the cache change at once, as no message about the line is on
//! its way. Where another node has it the transfer can't go on, or, if the machine is told to, the home asks for the line as its
//! own processor would ([`Protocol::access`]), and gives it up when it has been read or written.

use chasqui_coherence::{CacheState, DirectoryState, Entry, Node};
use chasqui_engine::Time;

use super::super::access::{Access, Ticket, Want};
use super::super::{Host, Protocol, Step};
use super::TransferStep;
use super::flag::{next_flag, set_flag};
use super::receiver::write_asked;
use super::sender::read_asked;

/// Numbers of accesses that are a transfer's, behind the processor's own.
pub(super) const READ: u8 = 8;
pub(super) const WRITE: u8 = 9;
pub(super) const FLAG: u8 = 10;
pub(super) const GIVE_UP: u8 = 11;

impl Ticket {
    /// It is no processor's.
    pub(in super::super) fn is_transfers(self) -> bool {
        self.slot >= READ
    }
}

/// What a look-up has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No cache has the line any more that must not. The home's own had.
    Ready { was_cached: bool },
    /// It is to be tried again then.
    Later(Time),
    /// This node has it.
    Elsewhere(usize),
    /// It has to be asked for.
    Ask,
}

/// The line of `node`'s memory is to be read, or written, at `now`.
pub(super) fn find<H: Host>(
    protocol: &mut Protocol,
    host: &mut H,
    (node, line): (usize, u64),
    writes: bool,
    now: Time,
) -> Found {
    let (entry, state) = (protocol.entry(line), protocol.copies[node].state(line));
    let busy =
        if protocol.times.transfer.coherent { Found::Ask } else { Found::Later(now + protocol.times.retry) };
    let other = match entry.state {
        DirectoryState::Invalidating | DirectoryState::Forwarding => return busy,
        DirectoryState::Dirty => Some(usize::from(entry.owner.0)).filter(|&owner| owner != node),
        DirectoryState::Shared if writes => {
            let others = entry.sharers & !(1 << node);
            (others != 0).then(|| others.trailing_zeros() as usize)
        }
        DirectoryState::Shared | DirectoryState::Uncached => None,
    };
    if let Some(other) = other {
        return if protocol.times.transfer.coherent { Found::Ask } else { Found::Elsewhere(other) };
    }
    if !matches!(state, CacheState::Invalid | CacheState::Shared | CacheState::Modified) {
        return busy;
    }
    let takes = if writes { state != CacheState::Invalid } else { state == CacheState::Modified };
    if takes {
        let is_modified = state == CacheState::Modified;
        if let Some(later) = host.held_until(node, line, is_modified, now) {
            return Found::Later(later);
        }
        host.take(node, line, writes, now);
        protocol.copies[node].set(line, if writes { CacheState::Invalid } else { CacheState::Shared });
    }
    if let Some(home) = protocol.lines.get_mut(&line).filter(|_| takes || writes) {
        home.entry = Entry::default();
        if !writes {
            (home.entry.state, home.entry.sharers) = (DirectoryState::Shared, 1 << node);
        }
    }
    Found::Ready { was_cached: takes }
}

/// The home of a line asks for it, as its processor would.
pub(super) fn ask<H: Host>(
    protocol: &mut Protocol,
    host: &mut H,
    (node, line): (usize, u64),
    slot: u8,
    now: Time,
) {
    let want = if slot == READ { Want::Load } else { Want::Store };
    protocol.access(host, node, line, Ticket { want, slot }, now);
}

/// An access is over.
pub(super) fn done<H: Host>(protocol: &mut Protocol, host: &mut H, access: Access, now: Time) {
    let Access { node, ticket, .. } = access;
    match ticket.slot {
        READ => read_asked(protocol, host, node, now),
        WRITE | FLAG => {
            host.schedule(now, Step::Transfer(TransferStep::Owned(node, ticket.slot)));
        }
        GIVE_UP => {}
        _ => host.done(access, now),
    }
}

/// The line of an access of `node` that was asked for to be written.
pub(super) fn owned_line(protocol: &Protocol, node: usize, slot: u8) -> Option<u64> {
    let unit = &protocol.transfers.units[node];
    if slot == WRITE { unit.writing.as_ref().map(|writing| writing.line) } else { unit.flag_line }
}

/// The line that `node` has asked for is there, if it has not been taken away since.
pub(super) fn owned<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, slot: u8, now: Time) {
    let line = owned_line(protocol, node, slot).expect("it was asked for");
    if protocol.copies[node].state(line) != CacheState::Modified {
        return ask(protocol, host, (node, line), slot, now);
    }
    if let Some(later) = host.held_until(node, line, true, now) {
        return host.schedule(later, Step::Transfer(TransferStep::Owned(node, slot)));
    }
    // Its own copy, too.
    host.take(node, line, true, now);
    if slot == WRITE {
        write_asked(protocol, host, node, now);
    } else {
        set_flag(protocol, host, node, now);
    }
    give_up(protocol, host, (node, line), now);
    if slot == FLAG {
        next_flag(protocol, host, node, now);
    }
}

/// The home gives up a line that it had for a transfer.
fn give_up<H: Host>(protocol: &mut Protocol, host: &mut H, (node, line): (usize, u64), now: Time) {
    let home = protocol.lines.get_mut(&line).expect("it is dirty");
    if home.entry.state != DirectoryState::Dirty || home.entry.owner != Node(node as u8) {
        // Another has asked for it already.
        return protocol.access(host, node, line, Ticket { want: Want::WriteBack, slot: GIVE_UP }, now);
    }
    home.entry = Entry::default();
    protocol.copies[node].set(line, CacheState::Invalid);
    for ticket in protocol.copies[node].take_waiting(line) {
        protocol.access(host, node, line, ticket, now);
    }
}

//! Block transfers: the controllers move data from memory to memory, a line at a time, below the priority of misses.
//!
//! A processor tells its controller (`command.rs`), which checks every page (`check.rs`). The source prepares the transfer,
//! reads lines, and sends packets (`sender.rs`); the destination writes them (`receiver.rs`). When memory has all of them the
//! flag is set (`flag.rs`). How a line is taken from caches: `line.rs`. Events: `step.rs`. Counters: `statistics.rs`.
//!
//! Rule: a flag is set after the memory has the last of the data (`Transfer::outstanding` counts packets from when their lines
//! are read until then), and caches have no other copy of a line that was written from the moment on at which it is.

mod check;
mod command;
mod flag;
mod line;
mod receiver;
mod sender;
mod statistics;
mod step;

use std::collections::VecDeque;

use chasqui_coherence::CacheState;
use chasqui_engine::Time;

use super::{Host, Protocol, Step};
use crate::registers::{TRANSFER_KIND, TRANSFER_SEND};
use command::Cursor;
pub use command::{Command, Run};
use sender::Reading;
pub use statistics::TransferStatistics;
pub use step::TransferStep;

/// A transfer that is under way.
struct Transfer {
    command: Command,
    /// Whose addresses these are.
    owner: u32,
    initiator: usize,
    source: usize,
    destination: usize,
    cursor: Cursor,
    /// Packets whose data memory has yet to get.
    outstanding: u64,
    /// Lines of the source that were read for the packet before: virtual addresses and bytes.
    lines: Vec<(u64, Vec<u8>)>,
    began: Time,
    /// It has ended its process: what is left of it goes nowhere.
    has_failed: bool,
}

/// What goes to a line of the destination.
struct Packet {
    transfer: u32,
    to: usize,
    runs: Vec<Run>,
    /// Of all runs, in their order.
    data: Vec<u8>,
    /// It was read, or has come, then.
    since: Time,
}

impl Packet {
    /// Virtual address of the line that it goes to.
    fn line(&self, line_bytes: u64) -> u64 {
        self.runs[0].destination / line_bytes * line_bytes
    }
}

/// Things with numbers, which are used again.
struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    fn new() -> Slab<T> {
        Slab { places: vec![], free: vec![] }
    }

    fn add(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.places[id as usize] = Some(value);
                id
            }
            None => {
                self.places.push(Some(value));
                self.places.len() as u32 - 1
            }
        }
    }

    fn get(&self, id: u32) -> &T {
        self.places[id as usize].as_ref().expect("it is there")
    }

    fn get_mut(&mut self, id: u32) -> &mut T {
        self.places[id as usize].as_mut().expect("it is there")
    }

    fn remove(&mut self, id: u32) -> T {
        self.free.push(id);
        self.places[id as usize].take().expect("it is there")
    }
}

/// A line that a node writes.
struct Writing {
    packet: u32,
    /// Physical address of the line.
    line: u64,
}

/// A node's part in transfers.
struct Unit {
    /// Transfers that it prepares follow each other.
    prepared_at: Time,
    /// Transfers that have lines to be read, whose turn comes first in front.
    sending: VecDeque<u32>,
    reading: Option<Reading>,
    /// Packets that wait to leave.
    read: VecDeque<u32>,
    is_pushing: bool,
    /// Packets that there is room for here: those on their way count.
    room: usize,
    /// Nodes that have some and found no room, in their order.
    waiting: VecDeque<usize>,
    /// Packets that have come.
    arrived: VecDeque<u32>,
    writing: Option<Writing>,
    /// Nothing of `arrived` is tried before.
    writes_from: Time,
    /// Transfers whose flags are to be set; the first has asked for its line, of this address.
    flags: VecDeque<u32>,
    flag_line: Option<u64>,
    /// It is going to be asked to go on then.
    event_at: Option<Time>,
    /// Writes and reads take turns.
    is_write_turn: bool,
    /// It has wanted the controller and the memory since.
    wants_since: Option<Time>,
    /// It had the memory itself until then.
    own_until: Time,
}

impl Unit {
    fn new(room: usize) -> Unit {
        Unit {
            prepared_at: Time::ZERO,
            sending: VecDeque::new(),
            reading: None,
            read: VecDeque::new(),
            is_pushing: false,
            room,
            waiting: VecDeque::new(),
            arrived: VecDeque::new(),
            writing: None,
            writes_from: Time::ZERO,
            flags: VecDeque::new(),
            flag_line: None,
            event_at: None,
            is_write_turn: false,
            wants_since: None,
            own_until: Time::ZERO,
        }
    }
}

/// When a packet counts as there: what the rule says, and what it must not say (tests do that).
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// When it leaves.
    Sent,
    /// When it comes.
    Arrived,
    /// When memory has it: the rule.
    Written,
}

/// All of the transfers.
pub(super) struct Transfers {
    counts: Counts,
    units: Vec<Unit>,
    transfers: Slab<Transfer>,
    packets: Slab<Packet>,
    statistics: Vec<TransferStatistics>,
    active: usize,
}

impl Transfers {
    pub fn new(nodes: usize, room: usize) -> Transfers {
        Transfers {
            counts: Counts::Written,
            units: (0..nodes).map(|_| Unit::new(room)).collect(),
            transfers: Slab::new(),
            packets: Slab::new(),
            statistics: vec![TransferStatistics::default(); nodes],
            active: 0,
        }
    }
}

impl Protocol {
    /// The processor of `node` has its controller carry out `command` at `now`; addresses are those of `owner`.
    pub fn transfer<H: Host>(
        &mut self,
        host: &mut H,
        (node, owner): (usize, u32),
        command: Command,
        now: Time,
    ) {
        let ends = match self.check(host, (node, owner), &command) {
            Ok(ends) => ends,
            Err(wrong) => return host.fault((node, owner), format!("block transfer: {wrong}"), now),
        };
        self.transfers.active += 1;
        self.transfers.statistics[node].transfers += 1;
        let id = self.transfers.transfers.add(Transfer {
            command,
            owner,
            initiator: node,
            source: ends.source,
            destination: ends.destination,
            cursor: Cursor::default(),
            outstanding: 0,
            lines: vec![],
            began: now,
            has_failed: false,
        });
        if command.start & TRANSFER_KIND == TRANSFER_SEND {
            return self.prepare(host, id, now);
        }
        let way = self.times.construct + self.times.between(node, ends.source, false);
        host.schedule(now + way, Step::Transfer(TransferStep::Requested(id)));
    }

    /// Transfers are under way.
    pub fn transfers(&self) -> usize {
        self.transfers.active
    }

    /// Counters of the part of `node` in transfers.
    pub fn transfer_statistics(&self, node: usize) -> &TransferStatistics {
        &self.transfers.statistics[node]
    }

    /// An event of transfers is due.
    pub(super) fn transfer_step<H: Host>(&mut self, host: &mut H, step: TransferStep, now: Time) {
        match step {
            TransferStep::GoOn(node) => {
                let event_at = &mut self.transfers.units[node].event_at;
                event_at.take_if(|at| *at <= now);
                self.go_on(host, node, now);
            }
            TransferStep::Requested(id) => self.prepare(host, id, now),
            TransferStep::Started(id) => self.started(host, id, now),
            TransferStep::ReadLookedUp(node) => self.read_looked_up(host, node, now),
            TransferStep::LineRead(node) => self.line_read(host, node, now),
            TransferStep::Pushed(node) => self.pushed(host, node, now),
            TransferStep::Arrive(id) => self.packet_arrives(host, id, now),
            TransferStep::WriteLookedUp(node) => self.write_looked_up(host, node, now),
            TransferStep::Written(id) => self.written(host, id, now),
            TransferStep::Flag(id) => self.flag_comes(host, id, now),
            TransferStep::Owned(node, slot) => self.owned(host, node, slot, now),
        }
    }

    /// What `step` takes from a cache: of which node, which line, and whether it leaves.
    pub(super) fn transfer_takes(&self, step: TransferStep) -> Option<(usize, u64, bool)> {
        let of = |node: usize| &self.transfers.units[node];
        match step {
            TransferStep::ReadLookedUp(node) => {
                let line = of(node).reading.as_ref()?.line;
                (self.state(node, line) == CacheState::Modified).then_some((node, line, false))
            }
            TransferStep::WriteLookedUp(node) => Some((node, of(node).writing.as_ref()?.line, true)),
            TransferStep::Owned(node, slot) => Some((node, self.owned_line(node, slot)?, true)),
            _ => None,
        }
    }

    /// A node's part in transfers goes on, if misses leave it the controller and the memory.
    pub(super) fn go_on<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        if self.transfers.active == 0 {
            return;
        }
        loop {
            self.choose(host, node, now);
            let unit = &self.transfers.units[node];
            let reads = unit.reading.as_ref().filter(|reading| reading.is_next()).map(|reading| reading.from);
            let is_writable = unit.writing.is_none() && !unit.arrived.is_empty();
            let writes = is_writable.then_some(unit.writes_from);
            let Some(first) = reads.into_iter().chain(writes).min() else { return };
            if first > now {
                return self.go_on_at(host, node, first);
            }
            let (reads, writes) = (reads.is_some_and(|at| at <= now), writes.is_some_and(|at| at <= now));
            let is_write = writes && (unit.is_write_turn || !reads);
            let unit = &mut self.transfers.units[node];
            let wants_since = *unit.wants_since.get_or_insert(now);
            let own_until = unit.own_until;
            // Whoever has the controller calls this in the end.
            let controller = &self.controllers[node];
            if controller.taken > 0 || controller.next().is_some() {
                return;
            }
            // What is written is looked up before.
            let lead = if is_write { self.times.lookup } else { Time::ZERO };
            if controller.memory_free_at > now + lead {
                return self.go_on_at(host, node, controller.memory_free_at - lead);
            }
            let waited = now.max(own_until) - wants_since.max(own_until).min(now.max(own_until));
            self.transfers.statistics[node].suspended_ps += waited.0;
            let unit = &mut self.transfers.units[node];
            (unit.wants_since, unit.is_write_turn) = (None, !is_write);
            if is_write {
                self.begin_write(host, node, now);
            } else {
                self.begin_read(host, node, now);
            }
        }
    }

    fn go_on_at<H: Host>(&mut self, host: &mut H, node: usize, at: Time) {
        let event_at = &mut self.transfers.units[node].event_at;
        if event_at.is_none_or(|earlier| at < earlier) {
            *event_at = Some(at);
            host.schedule(at, Step::Transfer(TransferStep::GoOn(node)));
        }
    }

    /// A transfer can't be right: its process ends.
    fn fail<H: Host>(&mut self, host: &mut H, id: u32, wrong: &str, now: Time) {
        let transfer = self.transfers.transfers.get_mut(id);
        if !std::mem::replace(&mut transfer.has_failed, true) {
            let who = (transfer.initiator, transfer.owner);
            self.transfers.active -= 1;
            host.fault(who, format!("block transfer: {wrong}"), now);
        }
    }

    /// A packet of a transfer has come so far. If that counts, and all packets have: the flag.
    fn count<H: Host>(&mut self, host: &mut H, id: u32, point: Counts, now: Time) {
        if point != self.transfers.counts {
            return;
        }
        let transfer = self.transfers.transfers.get_mut(id);
        transfer.outstanding -= 1;
        let is_over = transfer.outstanding == 0 && transfer.cursor.is_at_end(&transfer.command);
        if is_over && !transfer.has_failed {
            self.all_written(host, id, now);
        }
    }

    /// The end of a transfer.
    fn end(&mut self, id: u32, now: Time) {
        let transfer = self.transfers.transfers.get(id);
        let (initiator, destination, time) = (transfer.initiator, transfer.destination, now - transfer.began);
        self.transfers.statistics[initiator].transfer_ps += time.0;
        self.transfers.statistics[destination].arrived += 1;
        if self.transfers.counts == Counts::Written {
            self.transfers.active -= 1;
            self.transfers.transfers.remove(id);
        }
    }

    /// Packets count sooner than they should.
    #[doc(hidden)]
    pub fn break_transfers(&mut self, counts: Counts) {
        self.transfers.counts = counts;
    }
}

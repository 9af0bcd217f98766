//! Block transfers: the controllers move data from memory to memory, a line at a time, below the priority of misses.
//!
//! A processor tells its controller (`command.rs`), which checks every page (`check.rs`). The source prepares the transfer,
//! reads lines, and sends packets (`sender.rs`); the destination writes them (`receiver.rs`). When memory has all of them the
//! flag is set (`flag.rs`). Rights to memory of other processes: `grant.rs`. Broadcasts: `cast.rs`. How a line is taken from caches: `line.rs`. Events: `step.rs`. Counters: `statistics.rs`.
//!
//! Rule: a flag is set after the memory has the last of the data (`Transfer::outstanding` counts from when lines are read until
//! then), and caches have no copy of a line that is written, from the moment on at which it is.

mod cast;
mod check;
mod command;
mod flag;
mod grant;
mod line;
mod receiver;
mod sender;
mod statistics;
mod step;

use std::collections::{BTreeMap, VecDeque};

use chasqui_coherence::CacheState;
use chasqui_engine::Time;

use super::access::Access;
use super::links::way;
use super::{Host, Protocol, Step};
use crate::registers::{TRANSFER_JOIN, TRANSFER_KIND, TRANSFER_SEND, TRANSFER_TRY};
use cast::Cast;
use check::{Ends, check};
use command::Cursor;
pub use command::{Command, Run};
use flag::{all_written, flag_comes};
use grant::{Grants, grant};
use line::{owned, owned_line};
use receiver::{begin_write, packet_arrives, write_looked_up, written};
use sender::{Reading, begin_read, choose, line_read, prepare, pushed, read_looked_up, started};
pub use statistics::TransferStatistics;
pub use step::TransferStep;

/// A transfer that is under way.
struct Transfer {
    command: Command,
    /// Whose addresses these are,
    owner: u32,
    /// but for the destination's.
    receiver: u32,
    initiator: usize,
    source: usize,
    destination: usize,
    cursor: Cursor,
    /// Bytes, of those that are in packets, which memory has yet to get.
    outstanding: u64,
    /// Lines of the source that were read for the packet before: virtual addresses and bytes.
    lines: Vec<(u64, Vec<u8>)>,
    began: Time,
    /// It is what comes of a broadcast; something has.
    is_joined: bool,
    has_begun: bool,
    /// Of a broadcast, and of what has joined it once a packet has come: which start of it that is.
    serial: u64,
    /// It has ended its process: what is left of it goes nowhere.
    has_failed: bool,
}

impl Transfer {
    fn new(command: Command, (initiator, owner): (usize, u32), ends: Ends, began: Time) -> Transfer {
        Transfer {
            command,
            owner,
            receiver: ends.receiver,
            initiator,
            source: ends.source,
            destination: ends.destination,
            cursor: Cursor::default(),
            outstanding: 0,
            lines: vec![],
            began,
            serial: 0,
            is_joined: false,
            has_begun: true,
            has_failed: false,
        }
    }

    /// Nothing of it is left to come.
    fn is_over(&self) -> bool {
        self.outstanding == 0 && (self.is_joined || self.cursor.is_at_end(&self.command))
    }
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
    /// For which packets the room is that it takes.
    class: usize,
    /// The room that it has taken at the node at which it is.
    hold: Option<u32>,
    /// Of a broadcast.
    cast: Option<Cast>,
}

/// Packets that there is room for by themselves at each node: to one node; and of broadcasts, by rows and columns, before they have gone
/// round the end of the mesh, and after. So none waits for one that waits for it.
const CLASSES: usize = 5;
const ONE: usize = 0;

/// A packet's room at a node.
struct Hold {
    node: usize,
    class: usize,
    /// Those who have it: it is written, and goes on.
    users: u32,
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

    fn is_empty(&self) -> bool {
        self.places.len() == self.free.len()
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
    /// Packets that there is room for here, by class: those on their way count.
    room: [usize; CLASSES],
    /// Nodes that have some and found no room, in their order.
    waiting: [VecDeque<usize>; CLASSES],
    /// What has been joined of broadcasts, by owner and number.
    joined: BTreeMap<(u32, u64), u32>,
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
            room: [room; CLASSES],
            waiting: Default::default(),
            joined: BTreeMap::new(),
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
    holds: Slab<Hold>,
    statistics: Vec<TransferStatistics>,
    active: usize,
    /// Broadcasts that have been started.
    broadcasts: u64,
    grants: Grants,
}

impl Transfers {
    pub fn new(nodes: usize, room: usize) -> Transfers {
        Transfers {
            counts: Counts::Written,
            units: (0..nodes).map(|_| Unit::new(room)).collect(),
            transfers: Slab::new(),
            packets: Slab::new(),
            holds: Slab::new(),
            statistics: vec![TransferStatistics::default(); nodes],
            active: 0,
            broadcasts: 0,
            grants: Grants::default(),
        }
    }
}

impl Protocol {
    /// The processor of `node` has its controller carry out `command` at `now`; addresses are those of `owner`. What it loads as
    /// answer.
    pub fn transfer<H: Host>(
        &mut self,
        host: &mut H,
        (node, owner): (usize, u32),
        command: Command,
        now: Time,
    ) -> u64 {
        let granted = grant(self, (node, owner), &command);
        let wrong = |host: &mut H, wrong: String| {
            host.fault((node, owner), format!("block transfer: {wrong}"), now);
            0
        };
        if let Some(answer) = granted {
            return answer.unwrap_or_else(|why| wrong(host, why));
        }
        let ends = match check(self, host, (node, owner), &command) {
            Ok(ends) => ends,
            Err(_) if command.has(TRANSFER_TRY) => return 0,
            Err(why) => return wrong(host, why),
        };
        let mut transfer = Transfer::new(command, (node, owner), ends, now);
        if command.start & TRANSFER_KIND == TRANSFER_JOIN {
            transfer.outstanding = command.bytes * command.count;
            (transfer.is_joined, transfer.has_begun) = (true, false);
            let id = self.transfers.transfers.add(transfer);
            self.transfers.units[node].joined.insert((owner, command.group), id);
            return 1;
        }
        if Cast::is_of(&command) {
            // Each who has joined says where; the place among all bytes travels.
            self.transfers.broadcasts += 1;
            transfer.serial = self.transfers.broadcasts;
            let command = &mut transfer.command;
            (command.destination, command.destination_stride) = (0, command.bytes);
        }
        self.transfers.active += 1;
        self.transfers.statistics[node].transfers += 1;
        let id = self.transfers.transfers.add(transfer);
        if command.start & TRANSFER_KIND == TRANSFER_SEND {
            prepare(self, host, id, now);
        } else {
            let made = now + self.times.construct;
            let way = way(self, (node, ends.source), 0, made);
            host.schedule(made + way, Step::Transfer(TransferStep::Requested(id)));
        }
        1
    }

    /// Something of a transfer is to come.
    pub fn is_moving(&self) -> bool {
        self.transfers.active > 0 || !self.transfers.packets.is_empty()
    }

    /// Transfers that are under way.
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
            TransferStep::Requested(id) => prepare(self, host, id, now),
            TransferStep::Started(id) => started(self, host, id, now),
            TransferStep::ReadLookedUp(node) => read_looked_up(self, host, node, now),
            TransferStep::LineRead(node) => line_read(self, host, node, now),
            TransferStep::Pushed(node) => pushed(self, host, node, now),
            TransferStep::Arrive(id) => packet_arrives(self, host, id, now),
            TransferStep::WriteLookedUp(node) => write_looked_up(self, host, node, now),
            TransferStep::Written(id) => written(self, host, id, now),
            TransferStep::Flag(id) => flag_comes(self, host, id, now),
            TransferStep::Owned(node, slot) => owned(self, host, node, slot, now),
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
            TransferStep::Owned(node, slot) => Some((node, owned_line(self, node, slot)?, true)),
            _ => None,
        }
    }

    /// A node's part in transfers goes on, if misses leave it the controller and the memory.
    pub(super) fn go_on<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        if !self.is_moving() {
            return;
        }
        loop {
            choose(self, host, node, now);
            let unit = &self.transfers.units[node];
            let reads = unit.reading.as_ref().filter(|reading| reading.is_next()).map(|reading| reading.from);
            let is_writable = unit.writing.is_none() && !unit.arrived.is_empty();
            let writes = is_writable.then_some(unit.writes_from);
            let Some(first) = reads.into_iter().chain(writes).min() else { return };
            if first > now {
                return go_on_at(self, host, node, first);
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
                return go_on_at(self, host, node, controller.memory_free_at - lead);
            }
            let waited = now.max(own_until) - wants_since.max(own_until).min(now.max(own_until));
            self.transfers.statistics[node].suspended_ps += waited.0;
            let unit = &mut self.transfers.units[node];
            (unit.wants_since, unit.is_write_turn) = (None, !is_write);
            if is_write {
                begin_write(self, host, node, now);
            } else {
                begin_read(self, host, node, now);
            }
        }
    }

    /// An access of a node's is over: its processor's, or one for a transfer.
    pub(super) fn done<H: Host>(&mut self, host: &mut H, access: Access, now: Time) {
        line::done(self, host, access, now);
    }

    /// Packets count sooner than they should.
    #[doc(hidden)]
    pub fn break_transfers(&mut self, counts: Counts) {
        self.transfers.counts = counts;
    }
}

fn go_on_at<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, at: Time) {
    let event_at = &mut protocol.transfers.units[node].event_at;
    if event_at.is_none_or(|earlier| at < earlier) {
        *event_at = Some(at);
        host.schedule(at, Step::Transfer(TransferStep::GoOn(node)));
    }
}

/// A transfer can't be right: its process ends.
fn fail<H: Host>(protocol: &mut Protocol, host: &mut H, id: u32, wrong: &str, now: Time) {
    let transfer = protocol.transfers.transfers.get_mut(id);
    if !std::mem::replace(&mut transfer.has_failed, true) {
        let who = (transfer.initiator, transfer.owner);
        protocol.transfers.active -= usize::from(transfer.has_begun);
        host.fault(who, format!("block transfer: {wrong}"), now);
    }
}

/// Bytes of a transfer have come so far. If that counts, and it was the last: the flag.
fn count<H: Host>(protocol: &mut Protocol, host: &mut H, of: (u32, u64), point: Counts, now: Time) {
    if point == protocol.transfers.counts {
        subtract(protocol, host, of, now);
    }
}

fn subtract<H: Host>(protocol: &mut Protocol, host: &mut H, (id, bytes): (u32, u64), now: Time) {
    let transfer = protocol.transfers.transfers.get_mut(id);
    transfer.outstanding -= bytes;
    if transfer.is_over() && !transfer.has_failed {
        all_written(protocol, host, id, now);
    }
}

/// The end of a transfer.
fn end(protocol: &mut Protocol, id: u32, now: Time) {
    let transfers = &mut protocol.transfers;
    let transfer = transfers.transfers.get(id);
    let destination = transfer.destination;
    if transfer.is_joined {
        transfers.units[destination].joined.remove(&(transfer.owner, transfer.command.group));
    } else {
        transfers.statistics[transfer.initiator].transfer_ps += (now - transfer.began).0;
    }
    transfers.statistics[destination].arrived += u64::from(!Cast::is_of(&transfer.command));
    if transfers.counts == Counts::Written {
        transfers.active -= 1;
        transfers.transfers.remove(id);
    }
}

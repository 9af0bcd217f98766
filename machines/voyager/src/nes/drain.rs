//! An NI with one set of queues (`voyager/onequeue`), which the process on the hart has to itself: it must be drained
//! before another process comes, on all nodes together.
//!
//! 1. A site whose quantum is over takes the hart from its process, and waits until what that has sent is in the TxU.
//! 2. It sends a *mark* to every other site. Paths are FIFO: when the marks of all others have come, so has every
//!    packet that they had sent.
//! 3. Then it sends a second mark to every other site. When those of all others have come, the network holds nothing
//!    of the process, nor does anybody wait for such: system software saves what lies in the queues, restores the next
//!    process's, and that runs, on all sites.
//!
//! First marks say which processes are alive at the site, and whether its hart and NES did nothing but wait in
//! the quantum; so all sites choose the same process, and know when none can go on. What waits in the queues of processes
//! that are not running is kept where it is: saving and restoring it is charged, slot by slot.

use std::collections::VecDeque;

use chasqui_counters::counters;
use chasqui_engine::Time;
use chasqui_ni::{Context, Leave};
use chasqui_placement::ProcessId;

use super::queues::QueueName;
use super::table::Destination;
use super::transmit::{packet_bytes, push_packet};
use super::{NesEvent, Shared};
use crate::service_registers::{PACKET_MARK, VoyagerPacket};

/// Mark flag: the second one.
const SECOND: u32 = 1;
/// Mark flag: the site did nothing but wait.
const IDLE: u32 = 2;
/// The queue in whose name marks are, so that they have its priority: all queues have the same.
const MARKED: QueueName = 0;
/// Bytes of a mark's data: processes that are alive.
const MARK_BYTES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A process has the queues.
    Running,
    /// What it has sent is on its way to the TxU.
    Emptying,
    /// First marks are sent and awaited.
    First,
    /// Second marks are.
    Second,
}

/// Whose turn it is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub from: ProcessId,
    pub to: ProcessId,
    /// There is no other turn after it.
    pub last: bool,
    /// The turn before was over then.
    pub since: Time,
}

counters! {
    /// Counters of draining.
    pub(super) struct DrainStatistics {
        /// Marks sent to drain the network.
        marks: "packets";
        /// Slots saved or restored when the queues became another process's.
        saved: "slots";
        /// Time from the ends of turns to when the next could begin.
        drain_ps: "ps";
    }
}

/// The draining of one site.
pub(super) struct Drain {
    sites: u32,
    processes: usize,
    state: State,
    /// Whose process has the queues.
    current: ProcessId,
    /// Marks to be sent: flags, processes, site.
    outgoing: VecDeque<(u32, u64, u32)>,
    crossing: bool,
    /// First marks that have come, oldest first: processes that are alive, and whether the site was idle. Those of
    /// the next turn come only after all of this one's: their senders have waited for this site.
    firsts: VecDeque<(u64, bool)>,
    /// Second marks that have come.
    seconds: usize,
    /// What this site says, then what all say.
    live: u64,
    idle: bool,
    /// Turns in succession in which everybody did.
    idle_turns: usize,
    /// Packets that the site had sent when the turn began.
    sent: u64,
    /// When the latest turn was over.
    since: Time,
    pub counters: DrainStatistics,
}

impl Drain {
    pub fn new(sites: u32, processes: usize) -> Drain {
        Drain {
            sites,
            processes,
            state: State::Running,
            current: ProcessId(0),
            outgoing: VecDeque::new(),
            crossing: false,
            firsts: VecDeque::new(),
            seconds: 0,
            live: 0,
            idle: false,
            idle_turns: 0,
            sent: 0,
            since: Time::ZERO,
            counters: DrainStatistics::default(),
        }
    }

    /// The quantum is over at `now`: the process has left the hart.
    pub fn begin(&mut self, leave: Leave, now: Time, s: &Shared) {
        self.since = now;
        self.state = State::Emptying;
        self.live = leave.live;
        self.idle = leave.idle && s.sent() == self.sent;
    }

    /// Goes on as far as it can; `empty`: nothing of the process waits to get into the TxU.
    pub fn go_on(&mut self, empty: bool, s: &mut Shared, c: &mut Context<'_, '_>) -> Option<Next> {
        if self.state == State::Emptying && empty {
            self.state = State::First;
            let flags = if self.idle { IDLE } else { 0 };
            self.send(flags, s);
        }
        let others = self.sites as usize - 1;
        if self.state == State::First && self.outgoing.is_empty() && self.firsts.len() >= others {
            for (live, idle) in self.firsts.drain(..others) {
                self.live |= live;
                self.idle &= idle;
            }
            self.state = State::Second;
            self.send(SECOND, s);
        }
        if self.state == State::Second && self.outgoing.is_empty() && self.seconds >= others {
            self.seconds -= others;
            return Some(self.turn(s));
        }
        if !self.crossing && s.txu_has_room(MARKED) && !self.outgoing.is_empty() {
            self.crossing = true;
            let bytes = (size_of::<VoyagerPacket>() + MARK_BYTES) as u64;
            c.at(s.cross(c.now, s.nes.transmit.cycles(), bytes), NesEvent::Marked.into());
        }
        None
    }

    /// Marks with `flags` for all other sites.
    fn send(&mut self, flags: u32, s: &Shared) {
        let here = s.link.port().node();
        let others = (0..self.sites).filter(|&site| site != here);
        self.outgoing.extend(others.map(|site| (flags, self.live, site)));
    }

    /// A mark has crossed the I-bus.
    pub fn marked(&mut self, s: &mut Shared) {
        let (flags, live, site) = self.outgoing.pop_front().expect("a mark crosses");
        self.crossing = false;
        let to = Destination { site, queue: MARKED, source: s.link.port().node() as u16 };
        self.counters.marks += 1;
        push_packet(
            s,
            (MARKED, site),
            packet_bytes(PACKET_MARK, to, flags, [&live.to_le_bytes(), &[]]),
            MARK_BYTES as u64,
            None,
        );
    }

    /// A mark has come.
    pub fn arrived(&mut self, packet: &[u8]) {
        let (header, data) = packet.split_at(size_of::<VoyagerPacket>());
        let flags = u32::from(VoyagerPacket::from_bytes(header).flags);
        if flags & SECOND != 0 {
            self.seconds += 1;
        } else {
            let live = u64::from_le_bytes(data[..MARK_BYTES].try_into().expect("eight bytes"));
            self.firsts.push_back((live, flags & IDLE != 0));
        }
    }

    /// The next processes' turn begins: that of the next number under which somebody lives.
    fn turn(&mut self, s: &Shared) -> Next {
        let count = self.processes as u32;
        let mut order = (1..=count).map(|i| ProcessId((self.current.0 + i) % count));
        let to = order.find(|process| self.live >> process.0 & 1 != 0).unwrap_or(self.current);
        let from = std::mem::replace(&mut self.current, to);
        self.idle_turns = if self.idle { self.idle_turns + 1 } else { 0 };
        self.state = State::Running;
        self.sent = s.sent();
        Next {
            from,
            to,
            last: self.live.count_ones() < 2 || self.idle_turns > self.processes,
            since: self.since,
        }
    }
}

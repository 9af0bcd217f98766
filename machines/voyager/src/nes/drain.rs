//! An NI with one set of queues (`voyager/onequeue`), which the process on the hart has to itself: before another process
//! comes the network is drained, and the queues are swapped out as a whole, on all nodes together (section 4.1, of machines
//! before). The service processor's firmware does this (`firmware/drain.c`). Here is what it hears of the node, and how it
//! says whose turn is next.

use chasqui_counters::counters;
use chasqui_engine::Time;
use chasqui_ni::{Context, Leave, Turn};
use chasqui_placement::ProcessId;

use super::{Nes, Shared};
use crate::service_registers as sp;

counters! {
    /// Counters of draining.
    pub(super) struct DrainStatistics {
        /// Time from the ends of turns to when the next could begin.
        drain_ps: "ps";
    }
}

/// The draining of one site.
pub(super) struct Drain {
    /// The quantum is over, and the firmware does not know it yet.
    is_leaving: bool,
    /// Processes that were alive then, and whether the site did nothing but wait.
    live: u64,
    idle: bool,
    /// Packets that the site had sent when the turn began.
    sent: u64,
    /// When the latest turn was over.
    since: Time,
    pub counters: DrainStatistics,
}

impl Drain {
    pub fn new() -> Drain {
        Drain {
            is_leaving: false,
            live: 0,
            idle: false,
            sent: 0,
            since: Time::ZERO,
            counters: DrainStatistics::default(),
        }
    }

    /// The quantum is over at `now`: the process has left the hart.
    pub fn begin(&mut self, leave: Leave, now: Time, s: &Shared) {
        self.is_leaving = true;
        self.live = leave.live;
        self.idle = leave.idle && s.sent() == self.sent;
        self.since = now;
    }

    /// The quantum is over, which the firmware has yet to hear.
    pub fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// The firmware has heard it.
    pub fn told(&mut self) {
        self.is_leaving = false;
    }

    /// What the firmware loads from TURN_OVER.
    pub fn over(&self) -> u64 {
        self.live | if self.idle { sp::TURN_IDLE } else { 0 }
    }
}

impl Nes {
    /// The quantum is over, and what the process had sent has left for the network.
    pub(super) fn turn_is_over(&self) -> bool {
        self.drain.as_ref().is_some_and(Drain::is_leaving)
            && self.transmitter.is_empty()
            && self.express.is_empty()
            && self.dma.is_empty()
    }

    /// `value` names a process that there is.
    pub(super) fn may_turn(&self, value: u64) -> bool {
        self.drain.is_some() && usize::from(value as u16) < self.shared.homes.names.processes
    }

    /// The firmware says whose turn begins.
    pub(super) fn turn(&mut self, c: &mut Context<'_, '_>, value: u64) {
        let drain = self.drain.as_mut().expect("may_turn");
        drain.counters.drain_ps += (c.now - drain.since).0;
        drain.sent = self.shared.sent();
        let process = ProcessId(u32::from(value as u16));
        c.outputs.turn = Some(Turn { process, after: Time::ZERO, last: value & sp::TURN_LAST != 0 });
    }
}

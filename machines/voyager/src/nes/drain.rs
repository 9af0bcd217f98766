//! An NI with one set of queues (`voyager/onequeue`), which the process on the hart has to itself: before another process
//! comes the network is drained, and the queues are swapped out as a whole, on all nodes together (section 4.1, of machines
//! before). The service processor's firmware does this (`firmware/drain.c`). Here is what it hears of the node, and how it
//! says whose turn is next.

use chasqui_counters::counters;
use chasqui_engine::Time;
use chasqui_ni::{Leave, Turn};
use chasqui_placement::ProcessId;

use super::Shared;
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

    /// The firmware has the event.
    pub fn notified(&mut self) {
        self.is_leaving = false;
    }

    /// The firmware stores `value` to TURN: whose turn begins at `now`.
    pub fn turn(&mut self, value: u64, now: Time, s: &Shared) -> Turn {
        self.counters.drain_ps += (now - self.since).0;
        self.sent = s.sent();
        let process = ProcessId(u32::from(value as u16));
        Turn { process, after: Time::ZERO, last: value & sp::TURN_LAST != 0 }
    }

    /// What the firmware loads from TURN_OVER.
    pub fn over(&self) -> u64 {
        self.live | if self.idle { sp::TURN_IDLE } else { 0 }
    }
}

//! Where the time of a rank's threads went.

use chasqui_engine::{Clock, Time};
use chasqui_memory::Stall;
use chasqui_node::{ProcessView, Spent};
use chasqui_record::{Messages, PeerWaits, Shares, WaitParts, Waits};

use crate::calls;

/// What a short program does: it begins.
pub(crate) const INIT: &str = "MPI_Init";
/// The call in which they end.
pub(crate) const FINALIZE: &str = "MPI_Finalize";

/// Cycles that are lost where times are rounded to them, at most.
const ROUNDED: u64 = 64;

/// Others that a rank waits for, which its summary names: those for which it waits longest.
const PEERS_NAMED: usize = 8;

/// How the time [ps] of a rank's threads in MPI calls is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct InCalls {
    /// In `MPI_Init`, whatever they do there.
    init: u64,
    /// In the others, while they could not go on.
    waiting: u64,
    /// In the others, while they could.
    working: u64,
}

impl InCalls {
    fn of(totals: &[chasqui_record::CallTotals]) -> InCalls {
        let mut sum = InCalls::default();
        for (number, call) in totals.iter().enumerate() {
            if is_init(number) {
                sum.init += call.time_ps;
            } else {
                sum.waiting += call.waiting_ps;
                sum.working += call.time_ps.saturating_sub(call.waiting_ps);
            }
        }
        sum
    }
}

fn is_init(call: usize) -> bool {
    calls::name(call as u32) == INIT
}

/// Cycles in which a process executed nothing.
struct Rest {
    blocked: u64,
    slept: u64,
    /// Others had the hart that it shares with them.
    displaced: u64,
}

impl Rest {
    /// Of a process that shares its hart, or not, with what it and others spent on it.
    fn of(shares: bool, Spent { used, away }: Spent) -> Rest {
        // A process that shares a hart has one thread. What it waited for otherwise is its turn.
        let (blocked, waited) = if shares { (0, used.blocked_cycles) } else { (used.blocked_cycles, 0) };
        Rest { blocked, slept: used.slept_cycles + away.asleep, displaced: away.displaced + waited }
    }
}

/// How long [ps] others had the hart that `p` shares with them, in MPI calls too.
pub(crate) fn displaced_ps(p: &ProcessView<'_>) -> u64 {
    let all = Spent { used: p.used(), away: p.away().unwrap_or_default() };
    clock_of(p).edge(Rest::of(p.away().is_some(), all).displaced).0
}

fn clock_of(p: &ProcessView<'_>) -> Clock {
    p.harts().next().expect("a process has a hart").hart.clock()
}

/// Waits of these processes that count: in calls other than `MPI_Init`.
pub(crate) fn waits<'a>(processes: &[ProcessView<'_>], messages: &'a Messages) -> Waits<'a> {
    let counted = |p: &ProcessView<'_>| {
        let waits = p.life().waits().iter().filter(|wait| !is_init(wait.call.into()));
        (p.rank().0 as u16, waits.copied().collect())
    };
    Waits::of(processes.iter().map(counted), messages)
}

/// Where the time of `p`'s threads went until `end_ps`, and whom it waited for.
pub(crate) fn shares(p: &ProcessView<'_>, end_ps: u64, waits: &Waits<'_>) -> (Shares, Vec<PeerWaits>) {
    let clock = clock_of(p);
    let ps = |cycles: u64| clock.edge(cycles).0;
    // MPI calls are counted by their times, whatever was done in them.
    let beyond = Spent { used: p.used(), away: p.away().unwrap_or_default() } - p.spent_in_calls();
    let is_shared = p.away().is_some();
    let rest = Rest::of(is_shared, beyond);
    let stalled = |stall| ps(beyond.used.stalled(stall));
    let in_calls = InCalls::of(&p.life().totals(end_ps));
    let (waited, mut peers) = waits.by_peer(p.rank().0 as u16);
    peers.truncate(PEERS_NAMED);
    // A kernel has its harts sleep when the process is gone.
    let after =
        p.harts().map(|core| core.hart.cycle.saturating_sub(core.hart.cycle_at(Time(end_ps)))).sum::<u64>();
    let slept = rest.slept.saturating_sub(if is_shared { 0 } else { after });
    let mut left = Left(end_ps.saturating_mul(p.started() as u64));
    // What has been counted in cycles is rounded, and may belong to two: so each has no more than is left.
    let mut shares = Shares {
        mpi_init_ps: left.take(in_calls.init),
        mpi_software_ps: left.take(in_calls.working),
        waiting: left.parts(waited),
        waiting_otherwise_ps: left.take(in_calls.waiting.saturating_sub(waited.all())),
        system_software_ps: left.take(ps(beyond.used.software_cycles)),
        uncached_ps: left.take(stalled(Stall::Uncached)),
        data_cache_ps: left.take(stalled(Stall::Data)),
        instruction_cache_ps: left.take(stalled(Stall::Instruction)),
        page_tables_ps: left.take(stalled(Stall::Walk)),
        stores_ps: left.take(stalled(Stall::WriteBuffer) + stalled(Stall::Posted)),
        other_threads_ps: left.take(ps(rest.blocked)),
        others_on_hart_ps: left.take(ps(rest.displaced)),
        asleep_ps: left.take(ps(slept)),
        ..Shares::default()
    };
    let used = beyond.used;
    let idle = used.stalled_by_all() + used.software_cycles + used.blocked_cycles + used.slept_cycles;
    let computed = ps(used.cycles.saturating_sub(idle));
    let is_all = is_shared || left.0 <= computed.saturating_add(ps(ROUNDED));
    shares.computing_ps = left.take(if is_all { u64::MAX } else { computed });
    shares.no_thread_ps = left.0;
    (shares, peers)
}

/// Time [ps] that no share has yet.
struct Left(u64);

impl Left {
    fn take(&mut self, ps: u64) -> u64 {
        let taken = ps.min(self.0);
        self.0 -= taken;
        taken
    }

    fn parts(&mut self, parts: WaitParts) -> WaitParts {
        WaitParts {
            late_sender_ps: self.take(parts.late_sender_ps),
            late_receiver_ps: self.take(parts.late_receiver_ps),
            ni_full_ps: self.take(parts.ni_full_ps),
            under_way_ps: self.take(parts.under_way_ps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_record::CallTotals;

    /// What is done in `MPI_Init`, as clearing memory, is not waiting; nor is the rest that a call does itself.
    #[test]
    fn working_is_not_waiting() {
        let mut totals = [CallTotals::default(); 10];
        totals[1] = CallTotals { count: 1, time_ps: 670, waiting_ps: 20, ..CallTotals::default() };
        totals[8] = CallTotals { count: 3, time_ps: 200, waiting_ps: 150, ..CallTotals::default() };
        totals[4] = CallTotals { count: 3, time_ps: 30, ..CallTotals::default() };
        assert_eq!(InCalls::of(&totals), InCalls { init: 670, waiting: 150, working: 80 });
    }

    #[test]
    fn no_share_is_more_than_is_left() {
        let mut left = Left(100);
        let parts = WaitParts { late_sender_ps: 30, ni_full_ps: 50, ..WaitParts::default() };
        assert_eq!(left.take(40), 40);
        assert_eq!(
            left.parts(parts),
            WaitParts { late_sender_ps: 30, ni_full_ps: 30, ..WaitParts::default() }
        );
        assert_eq!((left.take(7), left.0), (0, 0));
    }
}

//! What limited the program, in words.

use chasqui_memory::Stall;
use chasqui_node::{ProcessView, Spent};
use chasqui_record::CallTotals;

use crate::calls;

/// What limited a job.
pub(crate) struct Limit {
    /// The largest share of the ranks' time, for the last line of a run.
    pub text: String,
    /// Of their time after MPI_Init the ranks spent a quarter or more waiting in MPI calls.
    pub is_waiting: bool,
}

/// The part of the time from which on waiting is worth a word: a half, a third, a quarter.
const WAITING_PART: u64 = 4;
/// What a program does that communicates all the time.
const WAITING: &str = "waiting in MPI calls";
/// What a short program does: it begins.
const INIT: &str = "MPI_Init";

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
    /// Of ranks that were outside of calls for so long [ps].
    fn is_waiting(self, outside: u64) -> bool {
        self.waiting > 0 && self.waiting >= (self.waiting + self.working + outside) / WAITING_PART
    }

    fn add(&mut self, other: InCalls) {
        self.init += other.init;
        self.waiting += other.waiting;
        self.working += other.working;
    }

    fn all(self) -> u64 {
        self.init + self.waiting + self.working
    }

    fn of(totals: &[CallTotals]) -> InCalls {
        let mut sum = InCalls::default();
        for (number, call) in totals.iter().enumerate() {
            if calls::name(number as u32) == INIT {
                sum.init += call.time_ps;
            } else {
                sum.waiting += call.waiting_ps;
                sum.working += call.time_ps.saturating_sub(call.waiting_ps);
            }
        }
        sum
    }
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

/// What limited the job of `processes`, which took so long; of those that have not ended by themselves `end_of` says
/// when [ps] they did.
pub(crate) fn limited_by(
    processes: &[ProcessView<'_>],
    time_ps: u64,
    end_of: impl Fn(&ProcessView<'_>) -> u64,
) -> Limit {
    let mut shares: Vec<(String, u64)> = vec![
        (WAITING.into(), 0),
        ("instructions".into(), 0),
        ("data cache misses".into(), 0),
        ("instruction cache misses".into(), 0),
        ("page-table walks".into(), 0),
        ("uncached accesses to the NI".into(), 0),
        ("stores waiting for lines or the bus".into(), 0),
        ("system calls and page faults".into(), 0),
        ("waiting for other threads".into(), 0),
        (INIT.into(), 0),
        ("work in MPI calls".into(), 0),
        ("sleeping".into(), 0),
        ("other jobs on its harts".into(), 0),
    ];
    let (mut total, mut l2_hits) = (0, 0);
    let (mut in_all_calls, mut outside) = (InCalls::default(), 0);
    for p in processes {
        let clock = p.harts().next().expect("a process has a hart").hart.clock();
        let ps = |cycles: u64| clock.edge(cycles).0;
        let all = Spent { used: p.used(), away: p.away().unwrap_or_default() };
        // MPI calls are counted by their times, whatever was done in them.
        let beyond = all - p.spent_in_calls();
        let shares_hart = p.away().is_some();
        let rest = Rest::of(shares_hart, beyond);
        let stalled = |stall| ps(beyond.used.stalled(stall));
        let (software, blocked, slept) = (ps(beyond.used.software_cycles), ps(rest.blocked), ps(rest.slept));
        l2_hits += p.harts().map(|core| core.hart.port.statistics.l2_hits).sum::<u64>();
        let end_ps = end_of(p);
        let elapsed = end_ps * p.started() as u64;
        // What a rank did after its job's end is in the other figures, too.
        total += u128::from(time_ps.max(end_ps)) * p.started() as u128;
        let unused = ps(beyond.used.stalled_by_all()) + software + blocked + slept + ps(rest.displaced);
        let calls = p.life().totals(end_ps);
        let in_calls = InCalls::of(&calls);
        in_all_calls.add(in_calls);
        outside += elapsed.saturating_sub(in_calls.all());
        shares[0].1 += in_calls.waiting;
        shares[1].1 += elapsed.saturating_sub(in_calls.all() + unused);
        shares[2].1 += stalled(Stall::Data);
        shares[3].1 += stalled(Stall::Instruction);
        shares[4].1 += stalled(Stall::Walk);
        shares[5].1 += stalled(Stall::Uncached);
        shares[6].1 += stalled(Stall::WriteBuffer) + stalled(Stall::Posted);
        shares[7].1 += software;
        shares[8].1 += blocked;
        shares[9].1 += in_calls.init;
        shares[10].1 += in_calls.working;
        shares[11].1 += slept;
        // In calls, too: who waits there for a message might have had it.
        shares[12].1 += ps(Rest::of(shares_hart, all).displaced);
    }
    if l2_hits > 0 {
        // What these take is not counted apart.
        shares[1].0 = "instructions and hits of the L2".into();
    }
    let text = match shares.into_iter().max_by_key(|(_, ps)| *ps) {
        Some((what, ps)) if total > 0 => {
            format!("{what} ({} % of the ranks' time)", u128::from(ps) * 100 / total)
        }
        _ => "nothing: no time passed".into(),
    };
    Limit { text, is_waiting: in_all_calls.is_waiting(outside) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_start_hides_no_waiting() {
        let calls = InCalls { init: 60, waiting: 30, working: 10 };
        assert!(calls.is_waiting(80));
        assert!(!calls.is_waiting(90));
        assert!(!InCalls { working: 90, ..calls }.is_waiting(10));
        assert!(!InCalls::default().is_waiting(0), "of no time");
    }

    /// What is done in `MPI_Init`, as clearing memory, is not waiting; nor is the rest that a call does itself.
    #[test]
    fn working_is_not_waiting() {
        let mut totals = [CallTotals::default(); 10];
        totals[1] = CallTotals { count: 1, time_ps: 670, waiting_ps: 20, ..CallTotals::default() };
        totals[8] = CallTotals { count: 3, time_ps: 200, waiting_ps: 150, ..CallTotals::default() };
        totals[4] = CallTotals { count: 3, time_ps: 30, ..CallTotals::default() };
        assert_eq!(InCalls::of(&totals), InCalls { init: 670, waiting: 150, working: 80 });
    }
}

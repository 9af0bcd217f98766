//! What limited the program, in words.

use chasqui_node::ProcessView;
use chasqui_record::{RankSummary, Shares};

use crate::shares::{INIT, displaced_ps};

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
/// What limited the job of `processes`, by where the time of each went (`ranks`).
pub(crate) fn limited_by(processes: &[ProcessView<'_>], ranks: &[RankSummary]) -> Limit {
    let mut sum = Shares::default();
    let (mut displaced, mut l2_hits) = (0, 0);
    for (p, rank) in processes.iter().zip(ranks) {
        sum.add(rank.shares);
        displaced += displaced_ps(p);
        l2_hits += p.harts().map(|core| core.hart.port.statistics.l2_hits).sum::<u64>();
    }
    let parts = [
        (WAITING, sum.waiting_ps()),
        // What hits of an L2 take is not counted apart.
        (if l2_hits > 0 { "instructions and hits of the L2" } else { "instructions" }, sum.computing_ps),
        ("data cache misses", sum.data_cache_ps),
        ("instruction cache misses", sum.instruction_cache_ps),
        ("page-table walks", sum.page_tables_ps),
        ("uncached accesses to the NI", sum.uncached_ps),
        ("stores waiting for lines or the bus", sum.stores_ps),
        ("system calls and page faults", sum.system_software_ps),
        ("waiting for other threads", sum.other_threads_ps),
        (INIT, sum.mpi_init_ps),
        ("work in MPI calls", sum.mpi_software_ps),
        ("sleeping", sum.asleep_ps),
        // In calls, too: who waits there for a message might have had it.
        ("others on its harts", displaced),
    ];
    let text = match parts.into_iter().max_by_key(|(_, ps)| *ps) {
        Some((what, ps)) if sum.all() > 0 => {
            format!("{what} ({:.0} % of the ranks' time)", 100.0 * ps as f64 / sum.all() as f64)
        }
        _ => "nothing: no time passed".into(),
    };
    Limit { text, is_waiting: is_waiting(&sum) }
}

/// Whether ranks waited for a quarter of their time after MPI_Init.
fn is_waiting(sum: &Shares) -> bool {
    let waiting = sum.waiting_ps();
    waiting > 0 && waiting >= (sum.all() - sum.mpi_init_ps) / WAITING_PART
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_start_hides_no_waiting() {
        let sum = |mpi_init_ps, waiting_otherwise_ps, mpi_software_ps, computing_ps| Shares {
            mpi_init_ps,
            waiting_otherwise_ps,
            mpi_software_ps,
            computing_ps,
            ..Shares::default()
        };
        assert!(is_waiting(&sum(60, 30, 10, 80)));
        assert!(!is_waiting(&sum(60, 30, 10, 90)));
        assert!(!is_waiting(&sum(60, 30, 90, 10)));
        assert!(!is_waiting(&Shares::default()), "of no time");
    }
}

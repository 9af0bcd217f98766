//! What limited the program, in words.

use chasqui_memory::Stall;
use chasqui_node::{Core, ProcessView};

/// What a program does that communicates all the time.
pub(crate) const WAITING: &str = "waiting in MPI calls";

/// The largest share of the ranks' time, in words for the last line of a run.
pub(crate) fn limited_by(processes: &[ProcessView<'_>], time_ps: u64) -> String {
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
    ];
    let mut total = 0;
    for p in processes {
        let clock = p.harts().next().expect("a process has a hart").hart.clock();
        let ps = |cycles: u64| clock.edge(cycles).0;
        let of_harts = |cycles: &dyn Fn(&Core) -> u64| p.harts().map(cycles).sum::<u64>();
        let stalled = |s: Stall| ps(of_harts(&|t| t.hart.port.statistics.stalls[s]));
        let software = ps(of_harts(&|t| t.statistics.software_cycles));
        let blocked = ps(of_harts(&|t| t.blocked_cycles));
        let elapsed = p.ended().map_or(time_ps, |(at, _)| at.0) * p.started() as u64;
        total += u128::from(time_ps) * p.started() as u128;
        let all: u64 = Stall::ALL.into_iter().map(stalled).sum();
        shares[0].1 += p.life().mpi_ps();
        shares[1].1 += elapsed.saturating_sub(p.life().mpi_ps() + all + software + blocked);
        shares[2].1 += stalled(Stall::Data);
        shares[3].1 += stalled(Stall::Instruction);
        shares[4].1 += stalled(Stall::Walk);
        shares[5].1 += stalled(Stall::Uncached);
        shares[6].1 += stalled(Stall::WriteBuffer) + stalled(Stall::Posted);
        shares[7].1 += software;
        shares[8].1 += blocked;
    }
    match shares.into_iter().max_by_key(|(_, ps)| *ps) {
        Some((what, ps)) if total > 0 => {
            format!("{what} ({} % of the ranks' time)", u128::from(ps) * 100 / total)
        }
        _ => "nothing: no time passed".into(),
    }
}

//! Which event the firmware hears of next (ours). Kinds go in turn; of accesses and missed packets, which are jobs', the jobs
//! do, and each job's own kinds: so no job's, and no kind, waits for ever for others.

use chasqui_ni::Turns;
use chasqui_placement::JobId;

use crate::service_registers as sp;

/// Accesses and missed packets; the kinds of a site follow.
const OF_JOBS: u64 = sp::KIND_MISS;
const _: () = assert!(sp::KIND_ACCESS < OF_JOBS && sp::KIND_ROOM > OF_JOBS);

/// Whose turn it is.
#[derive(Default)]
pub(super) struct EventTurns {
    /// The jobs, as `OF_JOBS`, and the site's kinds.
    site: Turns,
    jobs: Turns,
    /// Of each job: its kinds.
    of_job: Vec<Turns>,
}

impl EventTurns {
    /// Of so many `jobs`.
    pub fn new(jobs: usize) -> EventTurns {
        EventTurns {
            site: Turns::new(OF_JOBS..=sp::KIND_OVER),
            jobs: Turns::new(0..=jobs as u64 - 1),
            of_job: vec![Turns::new(sp::KIND_ACCESS..=OF_JOBS); jobs],
        }
    }

    /// The kind whose turn it is among those for which `event` gives something, what it gives, and the job if it is a job's.
    pub fn next<E>(&mut self, event: impl Fn(u64, JobId) -> Option<E>) -> Option<(u64, E, JobId)> {
        let of_job = |job: u64| {
            let mut turns = self.of_job[job as usize].clone();
            let (kind, event) = turns.next(|kind| event(kind, JobId(job as u32)))?;
            Some((kind, event, turns))
        };
        let mut jobs = self.jobs.clone();
        let first = jobs.next(of_job);
        let (kind, found) = self.site.next(|kind| match kind {
            OF_JOBS => first.as_ref().map(|_| None),
            kind => event(kind, JobId(0)).map(Some),
        })?;
        if let Some(event) = found {
            return Some((kind, event, JobId(0)));
        }
        let (job, (kind, event, turns)) = first?;
        self.jobs = jobs;
        self.of_job[job as usize] = turns;
        Some((kind, event, JobId(job as u32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kinds and jobs of the next events where there always are those of `ready`.
    fn heard(turns: &mut EventTurns, count: usize, ready: &[(u64, u32)]) -> Vec<(u64, u32)> {
        let event = |kind, job: JobId| ready.contains(&(kind, job.0)).then_some(());
        (0..count).filter_map(|_| turns.next(event)).map(|(kind, (), job)| (kind, job.0)).collect()
    }

    #[test]
    fn jobs_go_in_turn_whatever_they_have() {
        let ready = [(sp::KIND_ACCESS, 0), (sp::KIND_ACCESS, 1), (sp::KIND_MISS, 0)];
        let expected =
            [(sp::KIND_ACCESS, 0), (sp::KIND_ACCESS, 1), (sp::KIND_MISS, 0), (sp::KIND_ACCESS, 1)].repeat(2);
        assert_eq!(heard(&mut EventTurns::new(2), 8, &ready), expected);
    }

    #[test]
    fn an_event_of_the_site_goes_after_one_of_a_job_however_many_have_one() {
        let jobs = (0..3).flat_map(|job| [(sp::KIND_ACCESS, job), (sp::KIND_MISS, job)]);
        let ready: Vec<_> = jobs.chain([(sp::KIND_LAUNCHED, 0), (sp::KIND_OVER, 0)]).collect();
        let kinds = heard(&mut EventTurns::new(3), 12, &ready);
        let at = |kind| (0..12).filter(|&i| kinds[i].0 == kind).collect::<Vec<_>>();
        assert_eq!((at(sp::KIND_LAUNCHED), at(sp::KIND_OVER)), (vec![1, 4, 7, 10], vec![2, 5, 8, 11]));
    }

    #[test]
    fn nothing_changes_while_there_is_nothing() {
        let mut turns = EventTurns::new(2);
        let ready = [(sp::KIND_ACCESS, 0), (sp::KIND_ACCESS, 1)];
        assert_eq!(heard(&mut turns, 1, &ready), [(sp::KIND_ACCESS, 0)]);
        assert!(heard(&mut turns, 1, &[]).is_empty());
        assert_eq!(heard(&mut turns, 1, &ready), [(sp::KIND_ACCESS, 1)]);
    }
}

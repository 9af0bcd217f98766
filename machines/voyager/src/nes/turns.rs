//! Whose turn it is (ours).
//!
//! Of what the firmware hears next: kinds go in turn; of accesses and missed packets, which are jobs', those of the job for
//! which it has taken least time, and each job's own kinds in turn: so no job's, and no kind, waits for ever for others. Of
//! what a unit sends next: jobs go in turn, and each job's processes or slots: so one with more of them has no more turns.

use chasqui_engine::Time;
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
    /// What the firmware has taken for jobs: a clock that each event sets to its job's time [ps], and that of each job, at
    /// which its next event begins, or later. So a job whose events take long has fewer of them, and none saves time up.
    /// A job is charged for all that the firmware does from an event of its own to the next look for one, also if that is
    /// a launch of another's. An event of the site is charged to none, until the firmware says for whose sake it goes on.
    clock: u64,
    times: Vec<u64>,
    /// Since when the firmware deals with an event, and the job that is charged for it.
    serves: Option<(Time, Option<JobId>)>,
}

impl EventTurns {
    /// Of so many `jobs`.
    pub fn new(jobs: usize) -> EventTurns {
        EventTurns {
            site: Turns::new(OF_JOBS..=sp::KIND_OVER),
            jobs: Turns::new(0..=jobs as u64 - 1),
            of_job: vec![Turns::new(sp::KIND_ACCESS..=OF_JOBS); jobs],
            clock: 0,
            times: vec![0; jobs],
            serves: None,
        }
    }

    /// The firmware is done with the last event.
    pub fn is_over(&mut self, now: Time) {
        if let Some((since, Some(job))) = self.serves.take() {
            self.times[job.index()] += now.0 - since.0;
        }
    }

    /// It deals with an event of `job`'s, whose turn it is.
    pub fn begin(&mut self, job: JobId, now: Time) {
        self.clock = self.begins(job);
        self.times[job.index()] = self.clock;
        self.again(job, now);
    }

    /// It goes on with one of `job`'s that it has begun before. The clock stands: this is no turn, and other jobs are owed as
    /// much as before.
    pub fn again(&mut self, job: JobId, now: Time) {
        self.serves = Some((now, Some(job)));
    }

    /// It deals with an event of the site, which is no turn.
    pub fn begin_of_site(&mut self, now: Time) {
        self.serves = Some((now, None));
    }

    /// What it does from here on is for `job`'s sake.
    pub fn charge(&mut self, job: JobId, now: Time) {
        self.is_over(now);
        self.serves = Some((now, Some(job)));
        // A job without events for a while has saved no time up.
        self.times[job.index()] = self.begins(job);
    }

    fn begins(&self, job: JobId) -> u64 {
        self.times[job.index()].max(self.clock)
    }

    /// The kind whose turn it is among those for which `event` gives something, what it gives, and the job if it is a job's:
    /// of jobs the one for which the firmware has taken least time.
    pub fn next<E>(&mut self, event: impl Fn(u64, JobId) -> Option<E>) -> Option<(u64, E, Option<JobId>)> {
        let of_job = |job: u64| {
            let mut turns = self.of_job[job as usize].clone();
            let (kind, event) = turns.next(|kind| event(kind, JobId(job as u32)))?;
            Some((kind, event, turns))
        };
        let ready = (0..self.times.len() as u64).filter(|job| of_job(*job).is_some());
        let least = ready.map(|job| self.begins(JobId(job as u32))).min();
        let mut jobs = self.jobs.clone();
        let first = jobs.next(|job| of_job(job).filter(|_| Some(self.begins(JobId(job as u32))) == least));
        let (kind, found) = self.site.next(|kind| match kind {
            OF_JOBS => first.as_ref().map(|_| None),
            kind => event(kind, JobId(0)).map(Some),
        })?;
        if let Some(event) = found {
            return Some((kind, event, None));
        }
        let (job, (kind, event, turns)) = first?;
        self.jobs = jobs;
        self.of_job[job as usize] = turns;
        Some((kind, event, Some(JobId(job as u32))))
    }
}

/// Turns of places, each of which is a job's.
pub(super) struct JobTurns {
    places: usize,
    /// The job whose turn was the last, and each job's last place.
    job: JobId,
    latest: Vec<usize>,
}

impl JobTurns {
    /// Of so many `places` of so many `jobs`; after the first of the first.
    pub fn new(places: usize, jobs: usize) -> JobTurns {
        JobTurns { places, job: JobId(0), latest: vec![0; jobs] }
    }

    /// So many jobs have turns.
    pub fn jobs(&self) -> usize {
        self.latest.len()
    }

    /// How many turns it is until that of `place`, which is `job`'s, if all have something: first of jobs.
    pub fn until(&self, place: usize, job: JobId) -> (usize, usize) {
        let after = |next: usize, latest: usize, count: usize| (next + count - latest - 1) % count;
        let (job, jobs) = (job.index(), self.latest.len());
        (after(job, self.job.index(), jobs), after(place, self.latest[job], self.places))
    }

    /// The turn of `place`, which is `job`'s, begins.
    pub fn begin(&mut self, place: usize, job: JobId) {
        self.job = job;
        self.latest[job.index()] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places whose turns come one after the other, if those of `ready` have something; `job`: whose each is.
    fn turns(turns: &mut JobTurns, job: &[u32], ready: &[usize]) -> Vec<usize> {
        let mut next = || {
            let until = |&&place: &&usize| turns.until(place, JobId(job[place]));
            let place = *ready.iter().min_by_key(until).expect("something is ready");
            turns.begin(place, JobId(job[place]));
            place
        };
        (0..8).map(|_| next()).collect()
    }

    #[test]
    fn a_job_with_more_places_has_no_more_turns() {
        let job = [0, 0, 0, 1];
        assert_eq!(turns(&mut JobTurns::new(4, 2), &job, &[0, 1, 2, 3]), [3, 1, 3, 2, 3, 0, 3, 1]);
        assert_eq!(turns(&mut JobTurns::new(4, 2), &job, &[0, 2]), [2, 0, 2, 0, 2, 0, 2, 0]);
    }

    #[test]
    fn places_of_one_job_go_in_turn() {
        assert_eq!(turns(&mut JobTurns::new(3, 1), &[0; 3], &[0, 1, 2]), [1, 2, 0, 1, 2, 0, 1, 2]);
    }

    /// Kinds and jobs of the next events where there always are those of `ready`.
    fn heard(turns: &mut EventTurns, count: usize, ready: &[(u64, u32)]) -> Vec<(u64, u32)> {
        let event = |kind, job: JobId| ready.contains(&(kind, job.0)).then_some(());
        let mut heard = vec![];
        for _ in 0..count {
            turns.is_over(Time::ZERO);
            let Some((kind, (), job)) = turns.next(event) else { break };
            job.inspect(|job| turns.begin(*job, Time::ZERO));
            heard.push((kind, job.map_or(0, |job| job.0)));
        }
        heard
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

    /// Firmware that hears of accesses of two jobs. One of job 1 takes three times as long.
    struct Served {
        turns: EventTurns,
        now: Time,
        /// So much of an event, of four parts, when it is heard of again.
        again: u64,
        /// What an event of the site takes that comes before that.
        site: u64,
    }

    impl Served {
        /// What it takes for each job, and how many events of each, of so many in all; those of `ready` always have one.
        fn serve(&mut self, count: usize, ready: &[u32]) -> [[u64; 2]; 2] {
            let event = |kind, job: JobId| (kind == sp::KIND_ACCESS && ready.contains(&job.0)).then_some(());
            let mut found = [[0; 2]; 2];
            for _ in 0..count {
                self.turns.is_over(self.now);
                let job = self.turns.next(event).and_then(|(_, (), job)| job).expect("it is a job's");
                let takes = [100, 300][job.index()];
                self.turns.begin(job, self.now);
                self.now.0 += takes * (4 - self.again) / 4;
                self.turns.is_over(self.now);
                self.now.0 += self.site;
                self.turns.again(job, self.now);
                self.now.0 += takes * self.again / 4;
                found[0][job.index()] += takes;
                found[1][job.index()] += 1;
            }
            found
        }
    }

    #[test]
    fn a_job_whose_events_take_long_has_fewer_of_them() {
        for (again, site) in [(0, 0), (0, 500), (1, 0), (3, 500), (4, 0)] {
            let mut served = Served { turns: EventTurns::new(2), now: Time::ZERO, again, site };
            let all = [[300_000; 2], [3000, 1000]];
            assert_eq!(served.serve(4000, &[0, 1]), all, "{again} parts again, {site}");
            // A job that had nothing has saved nothing up.
            served.serve(1000, &[1]);
            let [_, events] = served.serve(400, &[0, 1]);
            assert!(events[0].abs_diff(300) <= 3, "{events:?}, {again} parts again, {site}");
        }
    }

    /// Job 1 is owed a turn. That job 0's event is heard of again, however long that takes, leaves it so.
    #[test]
    fn an_event_heard_of_again_costs_others_nothing() {
        let mut turns = EventTurns::new(2);
        let event = |job: u32| move |kind, of: JobId| (kind == sp::KIND_ACCESS && of.0 == job).then_some(());
        for (job, from, to) in [(1, 0, 10), (0, 10, 40)] {
            turns.next(event(job)).expect("there is one");
            turns.begin(JobId(job), Time(from));
            turns.is_over(Time(to));
        }
        // Job 1 has had 10 and job 0 has had 30.
        turns.again(JobId(0), Time(40));
        turns.is_over(Time(100));
        let both = |kind, _: JobId| (kind == sp::KIND_ACCESS).then_some(());
        let mut order = vec![];
        let mut now = 100;
        for _ in 0..9 {
            let job = turns.next(both).and_then(|(_, (), job)| job).expect("it is a job's");
            turns.begin(job, Time(now));
            now += 10;
            turns.is_over(Time(now));
            order.push(job.0);
        }
        assert_eq!(order, [1, 1, 1, 1, 1, 1, 1, 1, 0]);
    }

    #[test]
    fn an_event_of_the_site_counts_with_the_job_for_whose_sake_it_is() {
        // Of 100: from when on for which job. What one has taken more, the other has before they go in turn.
        let cases = [
            (vec![], [15, 15]),
            (vec![(0, JobId(0)), (100, JobId(1))], [10, 20]),
            (vec![(0, JobId(0)), (80, JobId(1))], [12, 18]),
        ];
        for (number, before) in (0..cases.len()).flat_map(|number| [(number, 0), (number, 1000)]) {
            let (charged, expected) = &cases[number];
            let mut turns = EventTurns::new(2);
            let both = |kind, _: JobId| (kind == sp::KIND_ACCESS).then_some(());
            for now in (0..before).step_by(10) {
                turns.begin(JobId(1), Time(now));
                turns.is_over(Time(now + 10));
            }
            turns.begin_of_site(Time(before));
            charged.iter().for_each(|&(now, job)| turns.charge(job, Time(before + now)));
            turns.is_over(Time(before + 100));
            let mut events = [0_u64; 2];
            for now in (before + 100..before + 400).step_by(10) {
                let job = turns.next(both).and_then(|(_, (), job)| job).expect("it is a job's");
                turns.begin(job, Time(now));
                turns.is_over(Time(now + 10));
                events[job.index()] += 1;
            }
            // Who is first when both have had as much differs.
            assert!(events[0].abs_diff(expected[0]) <= 1, "{events:?}: {charged:?} after {before}");
        }
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

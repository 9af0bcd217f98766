//! The processor's accesses that wait for the firmware. Each job has mailboxes of its own, so that one whose accesses wait
//! takes no other's room: one for what it sends, which waits while the job is held up, and one for the rest, which keeps its
//! order. The rest goes first, since a processor waits for its loads; one that sends goes after each load, and after so many
//! stores.

use chasqui_ni::{Mailbox, MessageKey};
use chasqui_placement::JobId;

use super::Register;
use super::queues::{QueueName, QueueNames};
use crate::registers as r;
use crate::service_registers as sp;

/// An access of the processor that the firmware serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub address: u64,
    /// Of a store, its first word; none: a load.
    pub value: Option<u64>,
    /// All of a store of 64 bytes.
    pub wide: Option<[u64; 8]>,
    /// The queue, if it is to a single one.
    pub queue: Option<QueueName>,
    /// Of a store that is a message: its name.
    pub name: MessageKey,
    /// It is a message: an Express or a Tag-On one.
    pub sends: bool,
}

/// How the event ACCESS describes an access: what it is, and its queue or phantom queue.
pub(super) fn description(names: QueueNames, access: &Access) -> (u64, u64) {
    let queue = u64::from(access.queue.unwrap_or(0));
    match (Register::at(names, access.address), access.value.is_some()) {
        (Register::Pointer(_, r::TRANSMIT_PRODUCER), true) => (sp::WHAT_TRANSMIT_PRODUCER, queue),
        (Register::Pointer(_, r::TRANSMIT_CONSUMER), false) => (sp::WHAT_TRANSMIT_CONSUMER, queue),
        (Register::Pointer(_, r::RECEIVE_PRODUCER), false) => (sp::WHAT_RECEIVE_PRODUCER, queue),
        (Register::Pointer(_, r::RECEIVE_CONSUMER), true) => (sp::WHAT_RECEIVE_CONSUMER, queue),
        (Register::Express(_) | Register::Tag(_), true) => (sp::WHAT_EXPRESS, queue),
        (Register::Sent(_), false) => (sp::WHAT_EXPRESS_SENT, queue),
        (Register::Receive(_), false) => (sp::WHAT_EXPRESS_TAKE, queue),
        (Register::OnePoll(phantom), false) => (sp::WHAT_ONEPOLL, phantom as u64),
        (Register::System(_, r::SYSTEM_MIGRATE), true) => (sp::WHAT_MIGRATE, 0),
        (Register::System(_, r::SYSTEM_DONE), false) => (sp::WHAT_MIGRATED, 0),
        _ => (sp::WHAT_NOTHING, queue),
    }
}

/// Accesses of one job.
struct OfJob {
    sends: Mailbox<Access>,
    others: Mailbox<Access>,
    /// Others that may go before the next one that sends.
    others_left: usize,
}

impl OfJob {
    fn mailbox(&self, sends: bool) -> &Mailbox<Access> {
        if sends { &self.sends } else { &self.others }
    }

    fn mailbox_mut(&mut self, sends: bool) -> &mut Mailbox<Access> {
        if sends { &mut self.sends } else { &mut self.others }
    }

    /// What is next; nothing that sends if the job `is_held` up.
    fn next(&self, is_held: bool) -> Option<&Access> {
        let send = self.sends.front().filter(|_| !is_held);
        let other = self.others.front();
        if self.others_left == 0 { send.or(other) } else { other.or(send) }
    }
}

/// Stores to one queue that wait.
#[derive(Clone, Copy, Default)]
struct ToQueue {
    stores: usize,
    /// Those of them that are messages.
    sends: usize,
}

impl ToQueue {
    fn of(access: &Access) -> ToQueue {
        let is_store = access.value.is_some();
        ToQueue { stores: is_store.into(), sends: (is_store && access.sends).into() }
    }
}

/// Accesses that wait.
pub(super) struct Accesses {
    jobs: Vec<OfJob>,
    /// By queue.
    waiting: Vec<ToQueue>,
    /// The job whose oldest access, of those that send or of the others, the firmware deals with, until that is over.
    current: Option<(JobId, bool)>,
    /// Of a job: others that may go before one that sends.
    others_max: usize,
}

impl Accesses {
    /// Of so many `jobs` and `queues`; of each job, room for so many accesses that send (`sends`), and for `slots` others.
    pub fn new((jobs, queues): (usize, usize), slots: usize, sends: usize) -> Accesses {
        let of_job =
            |_| OfJob { sends: Mailbox::new(sends), others: Mailbox::new(slots), others_left: slots };
        let jobs = (0..jobs).map(of_job).collect();
        Accesses { jobs, waiting: vec![ToQueue::default(); queues], current: None, others_max: slots }
    }

    pub fn is_empty(&self) -> bool {
        self.jobs.iter().all(|job| job.sends.is_empty() && job.others.is_empty())
    }

    /// There is no room for an access of `job` that `sends`, or for another one.
    pub fn is_full(&self, job: JobId, sends: bool) -> bool {
        self.jobs[job.index()].mailbox(sends).is_full()
    }

    /// A store to `queue` waits: later ones must not overtake it.
    pub fn has_store(&self, queue: QueueName) -> bool {
        self.waiting[usize::from(queue)].stores > 0
    }

    /// Messages for `queue` that wait.
    pub fn sends(&self, queue: QueueName) -> usize {
        self.waiting[usize::from(queue)].sends
    }

    /// A load of `job` from `address` waits.
    pub fn has_load(&self, job: JobId, address: u64) -> bool {
        self.jobs[job.index()].others.iter().any(|a| a.address == address && a.value.is_none())
    }

    /// One of `job` waits behind those of its mailbox. A store that takes no time has not waited for room.
    pub fn put(&mut self, job: JobId, access: Access) {
        if let Some(queue) = access.queue {
            let (waiting, one) = (&mut self.waiting[usize::from(queue)], ToQueue::of(&access));
            waiting.stores += one.stores;
            waiting.sends += one.sends;
        }
        self.jobs[job.index()].mailbox_mut(access.sends).put_beyond(access);
    }

    /// The access of `job` that the firmware deals with, unless that waits while the job `is_held` up.
    pub fn begun(&self, job: JobId, is_held: bool) -> Option<&Access> {
        let current = self.current().filter(|_| self.current_job() == Some(job));
        current.filter(|access| !(is_held && access.sends))
    }

    /// The next access of `job`: the one that the firmware deals with, until that is over, or the next in turn. What the job
    /// sends waits while it `is_held` up.
    pub fn next(&self, job: JobId, is_held: bool) -> Option<&Access> {
        self.begun(job, is_held).or_else(|| self.jobs[job.index()].next(is_held))
    }

    /// The firmware deals with what is next of `job`.
    pub fn begin(&mut self, job: JobId, is_held: bool) {
        self.current = self.next(job, is_held).map(|access| (job, access.sends));
    }

    /// The job whose access the firmware deals with.
    pub fn current_job(&self) -> Option<JobId> {
        Some(self.current?.0)
    }

    /// What the firmware deals with.
    pub fn current(&self) -> Option<&Access> {
        let (job, sends) = self.current?;
        self.jobs[job.index()].mailbox(sends).front()
    }

    /// That is over: it is taken.
    pub fn take(&mut self) -> Option<Access> {
        let (job, sends) = self.current.take()?;
        let of_job = &mut self.jobs[job.index()];
        let access = of_job.mailbox_mut(sends).take()?;
        if let Some(queue) = access.queue {
            let (waiting, one) = (&mut self.waiting[usize::from(queue)], ToQueue::of(&access));
            waiting.stores -= one.stores;
            waiting.sends -= one.sends;
        }
        of_job.others_left = match access.value {
            None => 0,
            Some(_) if sends => self.others_max,
            Some(_) => of_job.others_left.saturating_sub(1),
        };
        Some(access)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: [JobId; 2] = [JobId(0), JobId(1)];

    fn load(address: u64) -> Access {
        Access { address, value: None, wide: None, queue: Some(0), name: None, sends: false }
    }

    fn store(address: u64) -> Access {
        Access { value: Some(0), ..load(address) }
    }

    fn send(address: u64) -> Access {
        Access { sends: true, ..store(address) }
    }

    /// Of a job: addresses of the accesses that the firmware gets, until it gets none.
    fn served(accesses: &mut Accesses, job: JobId, is_held: bool) -> Vec<u64> {
        let next = || {
            accesses.next(job, is_held)?;
            accesses.begin(job, is_held);
            accesses.take().map(|access| access.address)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn jobs_and_what_they_send_have_room_of_their_own() {
        let mut accesses = Accesses::new((2, 1), 1, 2);
        for (job, access) in [(0, send(1)), (0, send(2)), (1, load(3))] {
            accesses.put(JOBS[job], access);
        }
        let full = JOBS.map(|job| [true, false].map(|sends| accesses.is_full(job, sends)));
        assert_eq!(full, [[true, false], [false, true]]);
        assert!(accesses.has_load(JOBS[1], 3) && !accesses.has_load(JOBS[0], 1));
        assert_eq!(served(&mut accesses, JOBS[0], false), [1, 2]);
        assert_eq!(served(&mut accesses, JOBS[1], false), [3]);
        assert!(accesses.is_empty());
    }

    #[test]
    fn stores_and_messages_that_wait_are_counted_by_queue() {
        let mut accesses = Accesses::new((1, 2), 4, 4);
        for access in [send(1), store(2), load(3), Access { queue: Some(1), ..send(4) }] {
            accesses.put(JOBS[0], access);
        }
        let waiting = |accesses: &Accesses| [0, 1].map(|q| (accesses.has_store(q), accesses.sends(q)));
        assert_eq!(waiting(&accesses), [(true, 1), (true, 1)]);
        assert_eq!(served(&mut accesses, JOBS[0], true), [2, 3]);
        assert_eq!(waiting(&accesses), [(true, 1), (true, 1)]);
        assert_eq!(served(&mut accesses, JOBS[0], false), [1, 4]);
        assert_eq!(waiting(&accesses), [(false, 0), (false, 0)]);
    }

    #[test]
    fn what_sends_goes_after_a_load_or_so_many_stores() {
        let mut accesses = Accesses::new((1, 1), 2, 4);
        for access in [send(1), send(2), send(3), load(4), load(5), store(6), store(7), store(8)] {
            accesses.put(JOBS[0], access);
        }
        assert_eq!(served(&mut accesses, JOBS[0], false), [4, 1, 5, 2, 6, 7, 3, 8]);
    }

    #[test]
    fn nothing_is_sent_for_a_job_that_is_held_up_and_the_rest_keeps_its_order() {
        let mut accesses = Accesses::new((1, 1), 2, 4);
        for access in [send(1), load(2), store(3), load(4)] {
            accesses.put(JOBS[0], access);
        }
        assert_eq!(served(&mut accesses, JOBS[0], true), [2, 3, 4]);
        assert_eq!(served(&mut accesses, JOBS[0], false), [1]);
    }

    #[test]
    fn an_access_that_is_not_over_is_next_again() {
        let mut accesses = Accesses::new((2, 1), 4, 4);
        accesses.put(JOBS[1], send(1));
        accesses.begin(JOBS[1], false);
        accesses.put(JOBS[0], load(2));
        accesses.put(JOBS[1], load(3));
        assert_eq!((accesses.current_job(), accesses.current().unwrap().address), (Some(JOBS[1]), 1));
        assert_eq!(served(&mut accesses, JOBS[1], false), [1, 3]);
    }

    #[test]
    fn one_that_sends_is_next_again_when_its_job_is_held_up_no_longer() {
        let mut accesses = Accesses::new((1, 1), 4, 4);
        accesses.put(JOBS[0], send(1));
        accesses.begin(JOBS[0], false);
        accesses.put(JOBS[0], load(2));
        assert_eq!(accesses.begun(JOBS[0], true), None);
        assert_eq!(served(&mut accesses, JOBS[0], true), [2]);
        assert_eq!(served(&mut accesses, JOBS[0], false), [1]);
    }
}

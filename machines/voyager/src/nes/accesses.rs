//! The processor's accesses that wait for the firmware. Each job has a mailbox of its own, so that one whose accesses wait
//! takes no other's room; jobs take turns.

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
    /// It sends a message: an Express or a Tag-On one.
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

/// Accesses that wait.
pub(super) struct Accesses {
    /// By job.
    mailboxes: Vec<Mailbox<Access>>,
    /// The job whose access the firmware deals with, until that is over.
    current: usize,
}

impl Accesses {
    /// Of so many `jobs`, room for `slots` accesses of each.
    pub fn new(jobs: usize, slots: usize) -> Accesses {
        Accesses { mailboxes: (0..jobs).map(|_| Mailbox::new(slots)).collect(), current: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.mailboxes.iter().all(Mailbox::is_empty)
    }

    /// There is no room for one of `job`.
    pub fn is_full(&self, job: JobId) -> bool {
        self.mailboxes[job.index()].is_full()
    }

    /// A store of `job` to `queue` waits: later ones must not overtake it.
    pub fn has_store(&self, job: JobId, queue: QueueName) -> bool {
        self.mailboxes[job.index()].iter().any(|a| a.value.is_some() && a.queue == Some(queue))
    }

    /// A load of `job` from `address` waits.
    pub fn has_load(&self, job: JobId, address: u64) -> bool {
        self.mailboxes[job.index()].iter().any(|a| a.address == address && a.value.is_none())
    }

    /// One of `job` waits behind its others. A store that takes no time has not waited for room.
    pub fn put(&mut self, job: JobId, access: Access) {
        self.mailboxes[job.index()].put_beyond(access);
    }

    /// The job whose oldest access is next, and that: the one which the firmware deals with, or of the next job in turn.
    /// What a job sends that `is_held` up waits, and what it does behind that.
    pub fn next(&self, is_held: impl Fn(JobId) -> bool) -> Option<(JobId, &Access)> {
        let jobs = self.mailboxes.len();
        let mut in_turn = (0..jobs).map(|i| JobId(((self.current + i) % jobs) as u32));
        in_turn.find_map(|job| {
            let access = self.mailboxes[job.index()].front()?;
            (!access.sends || !is_held(job)).then_some((job, access))
        })
    }

    /// The firmware deals with what is next.
    pub fn begin_next(&mut self, is_held: impl Fn(JobId) -> bool) {
        if let Some((job, _)) = self.next(is_held) {
            self.current = job.index();
        }
    }

    /// What the firmware deals with.
    pub fn current(&self) -> Option<&Access> {
        self.mailboxes[self.current].front()
    }

    /// That is over: it is taken, and the next job has its turn.
    pub fn take(&mut self) -> Option<Access> {
        let access = self.mailboxes[self.current].take();
        self.current = (self.current + 1) % self.mailboxes.len();
        access
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: u64, sends: bool) -> Access {
        Access { address, value: sends.then_some(0), wide: None, queue: Some(0), name: None, sends }
    }

    fn next(accesses: &mut Accesses, held: &[JobId]) -> Option<u64> {
        let is_held = |job| held.contains(&job);
        let address = accesses.next(is_held)?.1.address;
        accesses.begin_next(is_held);
        assert_eq!(accesses.take().map(|access| access.address), Some(address));
        Some(address)
    }

    #[test]
    fn jobs_take_turns_and_have_room_each() {
        let mut accesses = Accesses::new(2, 2);
        for (job, address) in [(0, 1), (0, 2), (1, 3)] {
            accesses.put(JobId(job), access(address, true));
        }
        assert!(accesses.is_full(JobId(0)) && !accesses.is_full(JobId(1)));
        assert!(accesses.has_store(JobId(0), 0) && !accesses.has_load(JobId(0), 1));
        let found: Vec<_> = std::iter::from_fn(|| next(&mut accesses, &[])).collect();
        assert_eq!(found, [1, 3, 2]);
        assert!(accesses.is_empty());
    }

    #[test]
    fn what_a_job_sends_that_is_held_up_waits_and_what_is_behind_it() {
        let mut accesses = Accesses::new(2, 4);
        for (job, address, sends) in [(0, 1, false), (0, 2, true), (0, 3, false), (1, 4, true)] {
            accesses.put(JobId(job), access(address, sends));
        }
        let held = [JobId(0)];
        let found: Vec<_> = std::iter::from_fn(|| next(&mut accesses, &held)).collect();
        assert_eq!(found, [1, 4]);
        assert!(!accesses.is_empty());
        let found: Vec<_> = std::iter::from_fn(|| next(&mut accesses, &[])).collect();
        assert_eq!(found, [2, 3]);
    }

    #[test]
    fn an_access_that_is_not_over_is_next_again() {
        let mut accesses = Accesses::new(3, 4);
        accesses.put(JobId(2), access(1, false));
        accesses.begin_next(|_| false);
        accesses.put(JobId(0), access(2, false));
        assert_eq!(accesses.next(|_| false).unwrap().1.address, 1);
    }
}

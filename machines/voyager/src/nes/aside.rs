//! Pieces of blocks whose pages the operating system brings in, and what of their job's blocks has come behind them (ours: the memo
//! does not say what waits for a page). They leave the receive buffer, so that what others have sent goes on. There is room for
//! what is under way until the senders have heard that they are to wait ([`super::senders`]); what finds none waits as a packet does
//! that finds no room in its ring.

use std::collections::VecDeque;

use chasqui_engine::{Packet, Time};
use chasqui_placement::JobId;

/// What a job's oldest packet waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    /// Nothing, as far as is known: it may be looked at from then on.
    Nothing(Time),
    /// A piece, for its pages: they are there from then on.
    Page(Time),
    /// A notice, for room in its ring, or in the miss queue, since then.
    Room(Time),
}

impl Default for Awaits {
    fn default() -> Awaits {
        Awaits::Nothing(Time::ZERO)
    }
}

/// A job's packets.
#[derive(Default)]
struct OfJob {
    /// Oldest first.
    packets: VecDeque<Box<Packet>>,
    bytes: u64,
    oldest: Awaits,
}

/// These packets.
pub(super) struct Aside {
    jobs: Vec<OfJob>,
    /// The job whose turn was the last.
    latest: usize,
    /// Bytes of a job's packets at most, or one packet.
    room: u64,
}

impl Aside {
    /// Of so many `jobs`, each with `room` for so many bytes.
    pub fn new(jobs: usize, room: u64) -> Aside {
        Aside { jobs: (0..jobs).map(|_| OfJob::default()).collect(), latest: 0, room }
    }

    /// Something of `job` waits.
    #[inline]
    pub fn has(&self, job: JobId) -> bool {
        !self.jobs[job.index()].packets.is_empty()
    }

    /// `packet` of `job` waits behind what does: the first comes by `put_back`, and finds room always.
    ///
    /// # Errors
    /// There is no room: the packet.
    pub fn put(&mut self, job: JobId, packet: Box<Packet>) -> Result<(), Box<Packet>> {
        let of_job = &mut self.jobs[job.index()];
        let bytes = of_job.bytes + packet.bytes.len() as u64;
        if bytes > self.room {
            return Err(packet);
        }
        of_job.bytes = bytes;
        of_job.packets.push_back(packet);
        Ok(())
    }

    /// More than half of the room for `job` is taken: who sends is to wait, and what is under way finds the rest.
    pub fn is_high(&self, job: JobId) -> bool {
        self.jobs[job.index()].bytes > self.room / 2
    }

    /// So little of it is taken that who sends is to go on, before nothing is left to do.
    pub fn is_low(&self, job: JobId) -> bool {
        self.jobs[job.index()].bytes <= self.room / 4
    }

    /// The next job, of jobs in turn, whose oldest packet `may` go on.
    pub fn next(&mut self, may: impl Fn(Awaits, &Packet) -> bool) -> Option<JobId> {
        let jobs = self.jobs.len();
        let may = |&job: &usize| {
            let OfJob { packets, oldest, .. } = &self.jobs[job];
            packets.front().is_some_and(|packet| may(*oldest, packet))
        };
        self.latest = (1..=jobs).map(|next| (self.latest + next) % jobs).find(may)?;
        Some(JobId(self.latest as u32))
    }

    /// Notices wait for room.
    pub fn is_full(&self) -> bool {
        self.jobs.iter().any(|job| matches!(job.oldest, Awaits::Room(_)))
    }

    /// There may be room for them from `at` on. `waited`: one has waited since then.
    pub fn retry(&mut self, at: Time, mut waited: impl FnMut(Time)) {
        for job in &mut self.jobs {
            if let Awaits::Room(since) = job.oldest {
                job.oldest = Awaits::Nothing(at);
                waited(since);
            }
        }
    }

    /// `packet` is the oldest of `job`, or still is, and waits for that.
    pub fn put_back(&mut self, job: JobId, packet: Box<Packet>, awaits: Awaits) {
        let of_job = &mut self.jobs[job.index()];
        of_job.bytes += packet.bytes.len() as u64;
        of_job.packets.push_front(packet);
        of_job.oldest = awaits;
    }

    /// The oldest packet of `job` no longer waits.
    pub fn pop(&mut self, job: JobId) -> Box<Packet> {
        let of_job = &mut self.jobs[job.index()];
        let packet = of_job.packets.pop_front().expect("a packet waits aside");
        of_job.bytes -= packet.bytes.len() as u64;
        of_job.oldest = Awaits::default();
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: [JobId; 2] = [JobId(0), JobId(1)];

    /// Of so many bytes.
    fn packet(bytes: usize) -> Box<Packet> {
        let bytes = vec![0; bytes];
        let (source, destination, priority, wire_bytes) = (0, 1, 0, 0);
        Box::new(Packet { source, destination, priority, wire_bytes, more: false, bytes, message: None })
    }

    #[test]
    fn a_job_has_its_own_room_and_one_packet_finds_it_always() {
        let mut aside = Aside::new(2, 100);
        aside.put_back(JOBS[0], packet(200), Awaits::default());
        assert!(aside.is_high(JOBS[0]));
        assert!(aside.put(JOBS[0], packet(1)).is_err());
        assert!(aside.put(JOBS[1], packet(25)).is_ok() && aside.is_low(JOBS[1]));
        assert!(aside.put(JOBS[1], packet(25)).is_ok() && !aside.is_low(JOBS[1]) && !aside.is_high(JOBS[1]));
        assert!(aside.put(JOBS[1], packet(1)).is_ok() && aside.is_high(JOBS[1]));
        assert!(aside.put(JOBS[1], packet(50)).is_err());
        assert_eq!(aside.pop(JOBS[0]).bytes.len(), 200);
        assert!(aside.is_low(JOBS[0]) && !aside.has(JOBS[0]));
    }

    #[test]
    fn jobs_go_in_turn_each_in_its_order() {
        let mut aside = Aside::new(2, 100);
        for (job, bytes) in [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5)] {
            aside.put(JOBS[job], packet(bytes)).expect("there is room");
        }
        let mut next = || {
            let job = aside.next(|_, packet| packet.bytes.len() != 3)?;
            Some(aside.pop(job).bytes.len())
        };
        assert_eq!([(); 5].map(|()| next()), [Some(4), Some(1), Some(5), Some(2), None]);
    }

    #[test]
    fn what_waits_for_room_is_looked_at_again_from_then_on() {
        let mut aside = Aside::new(2, 100);
        aside.put_back(JOBS[0], packet(8), Awaits::Room(Time(3)));
        aside.put_back(JOBS[1], packet(8), Awaits::Page(Time(4)));
        assert!(aside.is_full());
        let mut since = vec![];
        aside.retry(Time(9), |time| since.push(time));
        assert_eq!(since, [Time(3)]);
        assert!(!aside.is_full());
        let known = |aside: &mut Aside, expected| aside.next(|known, _| known == expected);
        assert_eq!(known(&mut aside, Awaits::Nothing(Time(9))), Some(JOBS[0]));
        assert_eq!(known(&mut aside, Awaits::Page(Time(4))), Some(JOBS[1]));
        assert_eq!(aside.pop(JOBS[1]).bytes.len(), 8);
        assert!(known(&mut aside, Awaits::Page(Time(4))).is_none());
    }
}

//! Packets that have missed their queues and wait for the firmware (section 5.2). Each job's wait behind its own alone (ours):
//! only packets of one queue have an order, and so no job waits for what another one has sent.

use std::collections::VecDeque;

use chasqui_engine::Packet;
use chasqui_placement::JobId;

use super::queues::{Homes, QueueName};
use crate::PRIORITIES;
use crate::service_registers::VoyagerPacket;

/// The queue that a packet is for.
fn queue_of(packet: &Packet) -> QueueName {
    VoyagerPacket::from_bytes(&packet.bytes).queue
}

/// The miss queue.
pub(super) struct MissQueue {
    /// By priority and job, oldest first.
    packets: [Vec<VecDeque<Box<Packet>>>; PRIORITIES],
    /// Of these, how many the firmware has looked ahead at.
    seen: [Vec<usize>; PRIORITIES],
    /// Places that are left, by priority.
    places: [usize; PRIORITIES],
    /// Priority and job of the packet that the firmware sees.
    shown: (usize, JobId),
}

impl MissQueue {
    /// Of so many `jobs`. Each priority has `places` for each of them, which any may take: a job that finds none would hold up
    /// the link, which is everybody's.
    pub fn new(jobs: usize, places: usize) -> MissQueue {
        MissQueue {
            packets: std::array::from_fn(|_| vec![VecDeque::new(); jobs]),
            seen: std::array::from_fn(|_| vec![0; jobs]),
            places: [places * jobs; PRIORITIES],
            shown: (0, JobId(0)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.packets.iter().flatten().all(VecDeque::is_empty)
    }

    /// A packet of `priority` finds a place.
    pub fn has_room(&self, priority: usize) -> bool {
        self.places[priority] > 0
    }

    /// The packet, which finds a place, waits behind those of its job.
    pub fn put(&mut self, packet: Box<Packet>, homes: &Homes) {
        let priority = usize::from(packet.priority);
        self.places[priority] -= 1;
        let job = homes.job_of_queue(queue_of(&packet));
        self.packets[priority][job.index()].push_back(packet);
    }

    /// Priority of the next packet of `job`: the oldest of the highest.
    fn priority(&self, job: JobId) -> Option<usize> {
        (0..PRIORITIES).rev().find(|&priority| !self.packets[priority][job.index()].is_empty())
    }

    /// The queue of the next packet of `job`, how many of the job wait, and at how many of these the firmware has not looked.
    pub fn next(&self, job: JobId) -> Option<(QueueName, usize, usize)> {
        let packet = self.packets[self.priority(job)?][job.index()].front()?;
        let waiting: usize = self.packets.iter().map(|jobs| jobs[job.index()].len()).sum();
        let seen: usize = self.seen.iter().map(|jobs| jobs[job.index()]).sum();
        Some((queue_of(packet), waiting, waiting - seen))
    }

    /// The next packet that the firmware has not looked ahead at, of the job of the packet that it sees, which is the first of
    /// these: of the highest priority, the oldest.
    pub fn look_ahead(&mut self) -> Option<&Packet> {
        let job = self.shown.1.index();
        for priority in (0..PRIORITIES).rev() {
            if let Some(packet) = self.packets[priority][job].get(self.seen[priority][job]) {
                self.seen[priority][job] += 1;
                return Some(packet);
            }
        }
        None
    }

    /// The firmware sees the next packet of `job` until it is done with it.
    pub fn show(&mut self, job: JobId) {
        self.shown = (self.priority(job).unwrap_or(0), job);
    }

    /// The packet that the firmware sees, if there is one.
    pub fn shown(&self) -> Option<&Packet> {
        let (priority, job) = self.shown;
        self.packets[priority][job.index()].front().map(|packet| &**packet)
    }

    /// The firmware is done with the packet that it sees.
    pub fn pop(&mut self) {
        let (priority, job) = self.shown;
        if self.packets[priority][job.index()].pop_front().is_some() {
            self.places[priority] += 1;
            let seen = &mut self.seen[priority][job.index()];
            *seen = seen.saturating_sub(1);
        }
    }

    /// A packet of `queue`, which is of `job`, waits.
    pub fn has(&self, queue: QueueName, job: JobId) -> bool {
        self.packets.iter().flat_map(|jobs| &jobs[job.index()]).any(|packet| queue_of(packet) == queue)
    }
}

#[cfg(test)]
mod tests {
    use chasqui_abi::header::Bytes;

    use super::super::queues::QueueNames;
    use super::*;
    use crate::parameters::Queues;
    use crate::registers::EXPRESS_QUEUES;

    const JOBS: [JobId; 2] = [JobId(0), JobId(1)];

    /// Of two jobs with a process each.
    fn homes() -> Homes {
        Homes::new(QueueNames { processes: 2, basic: 3 }, &Queues::default(), 1)
    }

    /// From `source`, for an Express queue of `job`.
    fn packet(source: u32, job: JobId, priority: u8) -> Box<Packet> {
        let queue = job.0 as QueueName * EXPRESS_QUEUES as QueueName;
        let header = VoyagerPacket { kind: 0, flags: 0, source: source as _, queue, bytes: 0 };
        let mut bytes = Vec::new();
        header.put(&mut bytes);
        Box::new(Packet { source, priority, bytes, ..Packet::default() })
    }

    #[test]
    fn packets_wait_behind_those_of_their_job_alone_the_high_ones_first() {
        let (mut queue, homes) = (MissQueue::new(2, 8), homes());
        for (source, job, priority) in [(1, 0, 0), (2, 0, 0), (3, 1, 0), (4, 0, 1)] {
            queue.put(packet(source, JOBS[job], priority), &homes);
        }
        let mut found = Vec::new();
        for job in [1, 0, 0, 0] {
            let (_, waiting, _) = queue.next(JOBS[job]).expect("is there");
            queue.show(JOBS[job]);
            found.push((queue.shown().expect("is there").source, waiting));
            queue.pop();
        }
        assert_eq!(found, [(3, 1), (4, 3), (1, 2), (2, 1)]);
        assert!(queue.is_empty() && queue.next(JOBS[0]).is_none());
    }

    #[test]
    fn what_comes_while_the_firmware_sees_a_packet_does_not_take_its_place() {
        let (mut queue, homes) = (MissQueue::new(2, 8), homes());
        queue.put(packet(1, JOBS[0], 0), &homes);
        queue.show(JOBS[0]);
        queue.put(packet(2, JOBS[0], 1), &homes);
        assert_eq!(queue.shown().map(|packet| packet.source), Some(1));
        queue.pop();
        queue.show(JOBS[0]);
        assert_eq!(queue.shown().map(|packet| packet.source), Some(2));
    }

    #[test]
    fn the_firmware_looks_once_at_each_of_a_job_also_at_what_has_come_since() {
        let (mut queue, homes) = (MissQueue::new(2, 8), homes());
        let seen = |queue: &mut MissQueue| {
            std::iter::from_fn(|| queue.look_ahead().map(|packet| packet.source)).collect::<Vec<_>>()
        };
        for (source, job, priority) in [(1, 0, 0), (2, 0, 1), (3, 1, 0), (4, 0, 0)] {
            queue.put(packet(source, JOBS[job], priority), &homes);
        }
        queue.show(JOBS[0]);
        assert_eq!(seen(&mut queue), [2, 1, 4]);
        queue.put(packet(5, JOBS[0], 1), &homes);
        queue.pop();
        assert_eq!(seen(&mut queue), [5]);
        queue.show(JOBS[1]);
        queue.pop();
        queue.put(packet(6, JOBS[1], 0), &homes);
        assert_eq!(seen(&mut queue), [6]);
    }

    #[test]
    fn there_are_places_for_each_job_and_priority() {
        let (mut queue, homes) = (MissQueue::new(2, 1), homes());
        for job in JOBS {
            assert!(queue.has_room(0));
            queue.put(packet(0, job, 0), &homes);
        }
        assert!(!queue.has_room(0) && queue.has_room(1));
        queue.show(JOBS[1]);
        queue.pop();
        assert!(queue.has_room(0));
    }
}

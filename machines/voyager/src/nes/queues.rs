//! A site's queues (section 4.2): their names, and where each is at home. The hardware's slots are a cache of
//! them that system software manages.

use std::collections::VecDeque;

use chasqui_placement::{JobId, ProcessId};

use crate::parameters::Queues;
use crate::registers::{EXPRESS_QUEUES, SP_QUEUE};
use chasqui_ni::{MessageKey, Ring};

/// What a queue is called at its site, in both directions.
pub(super) type QueueName = u16;

/// The service processor's own queue, at every site.
pub(super) const SP: QueueName = SP_QUEUE as QueueName;

/// Which queues there are. Those of Express come first, two for each process; then those of Basic, process by process. They
/// have the same names at every site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueNames {
    /// Processes of a site.
    pub processes: usize,
    /// Basic queues of a process.
    pub basic: usize,
}

impl QueueNames {
    /// Queues of Express.
    pub fn express_count(self) -> usize {
        self.processes * EXPRESS_QUEUES as usize
    }

    /// All queues.
    pub fn count(self) -> usize {
        self.express_count() + self.processes * self.basic
    }

    /// Express queue `queue` of process `process`.
    pub fn express(self, process: ProcessId, queue: u64) -> QueueName {
        (u64::from(process.0) * EXPRESS_QUEUES + queue) as QueueName
    }

    /// Basic queue `index`, of all processes.
    pub fn basic(self, index: usize) -> QueueName {
        (self.express_count() + index) as QueueName
    }

    /// The first Basic queue of process `process`.
    pub fn first_basic(self, process: ProcessId) -> QueueName {
        self.basic(process.index() * self.basic)
    }

    /// Index of the Basic queue called `name`; none: it is of Express.
    pub fn basic_index(self, name: QueueName) -> Option<usize> {
        usize::from(name).checked_sub(self.express_count())
    }

    /// The queue is of Basic; else of Express.
    pub fn is_basic(self, name: QueueName) -> bool {
        self.basic_index(name).is_some()
    }

    /// Whose queue it is.
    pub fn process(self, name: QueueName) -> ProcessId {
        let process = match self.basic_index(name) {
            Some(index) => index / self.basic,
            None => usize::from(name) / EXPRESS_QUEUES as usize,
        };
        ProcessId(process as u32)
    }

    /// Queues of a process.
    pub fn own_count(self) -> usize {
        EXPRESS_QUEUES as usize + self.basic
    }

    /// The queue that process `process`'s process calls `own`. One that it does not have is nobody's.
    pub fn of(self, process: ProcessId, own: QueueName) -> QueueName {
        let index = usize::from(own);
        if index >= self.own_count() {
            (self.count() + index - self.own_count()).min(usize::from(QueueName::MAX)) as QueueName
        } else if u64::from(own) < EXPRESS_QUEUES {
            self.express(process, own.into())
        } else {
            self.first_basic(process) + own - EXPRESS_QUEUES as QueueName
        }
    }

    /// What the process whose queue it is calls it.
    pub fn own(self, name: QueueName) -> QueueName {
        match self.basic_index(name) {
            Some(index) if index < self.processes * self.basic => {
                (EXPRESS_QUEUES as usize + index % self.basic) as QueueName
            }
            Some(index) => (self.own_count() + index - self.processes * self.basic) as QueueName,
            None => name % EXPRESS_QUEUES as QueueName,
        }
    }
}

/// Names of the MPI messages of a queue that are with the firmware, for the records: it keeps the order of a queue's
/// messages, so that what comes back from it is the oldest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MessageKeys {
    names: VecDeque<MessageKey>,
    /// So many of them the firmware took from the hardware: they are older than those of diverted packets.
    older: usize,
}

impl MessageKeys {
    fn take(&mut self) -> MessageKey {
        self.older = self.older.saturating_sub(1);
        self.names.pop_front().flatten()
    }
}

/// What the hardware knows of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Home {
    /// Its slot, if it is resident.
    slot: Option<u8>,
    /// Logical network of what it sends.
    priority: u8,
    /// Packets for it go to the miss queue, though it is resident.
    diverted: bool,
    /// The firmware could not place a message, and is notified when there may be room.
    wants_room: bool,
    /// The latest transmit producer and receive consumer that the process has stored.
    stored: [u32; 2],
    messages: MessageKeys,
}

/// A pointer of a Basic queue that its process stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    TransmitProducer,
    ReceiveConsumer,
}

/// What becomes of a process's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Runs,
    /// It receives nothing any more; what it has sent goes on its way.
    HasExited,
    /// It is over before its time: nor is anything sent.
    IsClosed,
}

/// Where a site's queues are.
pub(super) struct Homes {
    pub names: QueueNames,
    homes: Vec<Home>,
    /// By process.
    lives: Vec<Life>,
    /// Jobs that send nothing for the time being, and processes of a job.
    held: Vec<JobId>,
    of_job: u32,
    /// Queues of a process, of Express and of Basic, that have high priority: the last ones.
    pub high: (u64, u64),
}

impl Homes {
    /// There are queues of high priority.
    pub fn has_high(&self) -> bool {
        self.high != (0, 0)
    }

    /// The first queues have slots, as long as there are some of their kind; of each process the last ones have high
    /// priority. Processes are of jobs one after the other, `of_job` of each.
    pub fn new(names: QueueNames, queues: &Queues, of_job: u32) -> Homes {
        let high = (queues.high_express, queues.high_basic);
        let low = (EXPRESS_QUEUES - high.0, names.basic as u64 - high.1);
        let home = |index: usize, slots: u64, is_high: bool| Home {
            slot: (index < slots as usize).then_some(index as u8),
            priority: u8::from(is_high),
            ..Home::default()
        };
        let express = (0..names.express_count())
            .map(|index| home(index, queues.resident_express, index as u64 % EXPRESS_QUEUES >= low.0));
        let basic = (0..names.processes * names.basic)
            .map(|index| home(index, queues.resident_basic, (index % names.basic) as u64 >= low.1));
        let lives = vec![Life::Runs; names.processes];
        Homes { names, homes: express.chain(basic).collect(), lives, held: Vec::new(), of_job, high }
    }

    /// `job` is held up: it sends nothing. Or it is no longer.
    pub fn hold(&mut self, job: JobId, is_held: bool) {
        self.held.retain(|&other| other != job);
        if is_held {
            self.held.push(job);
        }
    }

    /// Jobs that have processes here.
    pub fn jobs(&self) -> usize {
        self.names.processes.div_ceil(self.of_job as usize)
    }

    /// The job of `process`.
    pub fn job_of(&self, process: ProcessId) -> JobId {
        JobId(process.0 / self.of_job)
    }

    /// The first process of `job`.
    pub fn first_process(&self, job: JobId) -> ProcessId {
        ProcessId(job.0 * self.of_job)
    }

    /// Whose queue it is: the job.
    pub fn job_of_queue(&self, name: QueueName) -> JobId {
        self.job_of(self.names.process(name))
    }

    /// `job` is held up.
    #[inline]
    pub fn is_held(&self, job: JobId) -> bool {
        self.held.contains(&job)
    }

    /// The job of `process` is held up.
    #[inline]
    pub fn sends_nothing(&self, process: ProcessId) -> bool {
        !self.held.is_empty() && self.is_held(self.job_of(process))
    }

    /// Process `process` is over; `sends`: what it has sent goes on its way.
    pub fn close(&mut self, process: ProcessId, sends: bool) {
        self.lives[process.index()] = if sends { Life::HasExited } else { Life::IsClosed };
        for name in self.all().filter(|&name| self.names.process(name) == process) {
            self.homes[usize::from(name)].messages = MessageKeys::default();
        }
    }

    fn life(&self, name: QueueName) -> Life {
        self.lives.get(self.names.process(name).index()).copied().unwrap_or(Life::Runs)
    }

    /// What comes for the queue is taken.
    pub fn receives(&self, name: QueueName) -> bool {
        self.life(name) == Life::Runs
    }

    /// What the queue has to send is sent.
    pub fn sends(&self, name: QueueName) -> bool {
        self.life(name) != Life::IsClosed
    }

    /// Names of the queues that there are.
    pub fn all(&self) -> std::ops::Range<QueueName> {
        0..self.homes.len() as QueueName
    }

    /// The hardware slot of the queue, if it is resident: among those of its kind.
    pub fn slot(&self, name: QueueName) -> Option<usize> {
        self.homes.get(usize::from(name))?.slot.map(usize::from)
    }

    /// The logical network of what the queue sends; that of one that does not exist sends nothing.
    pub fn priority(&self, name: QueueName) -> u8 {
        self.homes.get(usize::from(name)).map_or(0, |home| home.priority)
    }

    /// The queue exists and is not resident.
    pub fn is_served(&self, name: QueueName) -> bool {
        self.homes.get(usize::from(name)).is_some_and(|home| home.slot.is_none())
    }

    /// Where packets for the queue go: a slot, if it is resident and they are not diverted.
    pub fn accepts(&self, name: QueueName) -> Option<usize> {
        self.homes.get(usize::from(name)).filter(|home| !home.diverted)?.slot.map(usize::from)
    }

    /// The queue's home is `slot` from now on, or it has none. Packets for it are diverted: the firmware may
    /// still have earlier ones.
    pub fn map(&mut self, name: QueueName, slot: Option<u8>) {
        if let Some(home) = self.homes.get_mut(usize::from(name)) {
            (home.slot, home.diverted) = (slot, true);
        }
    }

    /// The Express queue whose home is `slot`.
    pub fn in_express_slot(&self, slot: usize) -> Option<QueueName> {
        self.all().find(|&name| !self.names.is_basic(name) && self.slot(name) == Some(slot))
    }

    /// A packet for the queue goes to the miss queue, and later ones follow it.
    pub fn divert(&mut self, name: QueueName, message: MessageKey) {
        if let Some(home) = self.homes.get_mut(usize::from(name)) {
            home.diverted = true;
            home.messages.names.push_back(message);
        }
    }

    /// Packets for the queue go to the miss queue no longer.
    pub fn undivert(&mut self, name: QueueName) {
        if let Some(home) = self.homes.get_mut(usize::from(name)) {
            home.diverted = false;
        }
    }

    /// The firmware takes a message of the queue from the hardware.
    pub fn withdraw(&mut self, name: QueueName, message: MessageKey) {
        if let Some(Home { messages, .. }) = self.homes.get_mut(usize::from(name)) {
            messages.names.insert(messages.older, message);
            messages.older += 1;
        }
    }

    /// Name of the oldest message of the queue that is with the firmware.
    pub fn oldest_message(&self, name: QueueName) -> MessageKey {
        self.homes.get(usize::from(name)).and_then(|home| *home.messages.names.front()?)
    }

    /// The oldest message of the queue that was with the firmware comes back to the hardware, or to the processor: its
    /// name.
    pub fn return_message(&mut self, name: QueueName) -> MessageKey {
        self.homes.get_mut(usize::from(name)).and_then(|home| home.messages.take())
    }

    /// The firmware wants to know when the queue may have room.
    pub fn want_room(&mut self, name: QueueName) {
        if let Some(home) = self.homes.get_mut(usize::from(name)) {
            home.wants_room = true;
        }
    }

    /// The process stores `pointer` as the queue's `which` pointer.
    pub fn store(&mut self, name: QueueName, which: Stored, pointer: u32, ring: &Ring) -> Result<(), String> {
        let Some(home) = self.homes.get_mut(usize::from(name)) else { return Ok(()) };
        let stored = &mut home.stored[which as usize];
        let what = match which {
            Stored::TransmitProducer => "transmit producer",
            Stored::ReceiveConsumer => "receive consumer",
        };
        ring.check_step(what, *stored, pointer)?;
        *stored = pointer;
        Ok(())
    }

    /// The queue may have room. True: the firmware wants to know that.
    pub fn take_want(&mut self, name: QueueName) -> bool {
        let home = self.homes.get_mut(usize::from(name));
        home.is_some_and(|home| std::mem::take(&mut home.wants_room))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes() -> Homes {
        let queues = Queues { basic: 3, resident_express: 1, resident_basic: 2, ..Queues::default() };
        let queues = Queues { high_express: 1, high_basic: 2, ..queues };
        Homes::new(QueueNames { processes: 1, basic: 3 }, &queues, 1)
    }

    #[test]
    fn the_first_queues_are_resident() {
        let homes = homes();
        assert_eq!(homes.all(), 0..5);
        let slots: Vec<_> = homes.all().map(|name| homes.slot(name)).collect();
        assert_eq!(slots, [Some(0), None, Some(0), Some(1), None]);
        assert_eq!((homes.slot(5), homes.is_served(5), homes.is_served(4)), (None, false, true));
        assert_eq!(
            (homes.names.basic_index(1), homes.names.basic_index(homes.names.basic(2))),
            (None, Some(2))
        );
    }

    #[test]
    fn the_last_queues_have_high_priority() {
        let homes = homes();
        let priorities: Vec<_> = (0..6).map(|name| homes.priority(name)).collect();
        assert_eq!(priorities, [0, 1, 0, 1, 1, 0]);
        assert_eq!(homes.high, (1, 2));
    }

    #[test]
    fn a_queue_that_gets_a_slot_is_diverted_until_the_firmware_says_otherwise() {
        let mut homes = homes();
        let name = homes.names.basic(2);
        homes.map(name, Some(1));
        assert_eq!((homes.slot(name), homes.accepts(name)), (Some(1), None));
        homes.undivert(name);
        assert_eq!(homes.accepts(name), Some(1));
    }

    #[test]
    fn every_process_has_its_queues() {
        const SECOND: ProcessId = ProcessId(1);
        let names = QueueNames { processes: 2, basic: 3 };
        assert_eq!(
            (names.express(SECOND, 1), names.first_basic(ProcessId(0)), names.first_basic(SECOND)),
            (3, 4, 7)
        );
        assert_eq!((names.count(), names.basic_index(3), names.basic_index(7)), (10, None, Some(3)));
        let processes: Vec<_> = (0..10).map(|name| names.process(name).0).collect();
        assert_eq!(processes, [0, 0, 1, 1, 0, 0, 0, 1, 1, 1]);
        assert_eq!((names.own(3), names.own(0), names.own(9)), (1, 0, 4));
        let second: Vec<_> = (0..7).map(|own| names.of(SECOND, own)).collect();
        assert_eq!(second, [2, 3, 7, 8, 9, 10, 11], "the last two are nobody's");
        assert!((0..7).all(|own| names.own(names.of(SECOND, own)) == own));
        let nobodys = |own| usize::from(names.of(SECOND, own)) >= names.count();
        assert!((5..=QueueName::MAX).all(nobodys), "none of the greatest is another process's");
    }

    #[test]
    fn names_come_back_in_the_order_of_their_messages() {
        let mut homes = homes();
        let name = |sequence| Some((7, sequence));
        homes.divert(0, name(3));
        // What the firmware takes from the hardware came before it diverted anything.
        homes.withdraw(0, name(1));
        homes.withdraw(0, name(2));
        homes.divert(1, name(9));
        homes.divert(0, None);
        let back: Vec<_> = (0..3).map(|_| homes.return_message(0)).collect();
        assert_eq!(back, [name(1), name(2), name(3)]);
        homes.withdraw(0, name(4));
        let back: Vec<_> = (0..3).map(|_| homes.return_message(0)).collect();
        assert_eq!(back, [name(4), None, None]);
    }

    #[test]
    fn a_pointer_moves_by_a_ring_at_most() {
        let mut homes = homes();
        let ring = Ring { base: 0, slots: 8, slot_bytes: 96 };
        let mut store = |pointer| homes.store(2, Stored::TransmitProducer, pointer, &ring);
        assert_eq!([store(8), store(8), store(16)], [Ok(()), Ok(()), Ok(())]);
        let text = "protection: 0x19 was stored to the transmit producer of a ring of 8 slots, 0x9 slots further than 0x10";
        assert_eq!(store(25), Err(text.into()));
        assert!(store(15).is_err() && store(24).is_ok());
        assert!(homes.store(2, Stored::ReceiveConsumer, 9, &ring).is_err());
        assert!(homes.store(2, Stored::ReceiveConsumer, 8, &ring).is_ok());
    }

    #[test]
    fn room_is_notified_once_and_only_if_it_is_wanted() {
        let mut homes = homes();
        assert!(!homes.take_want(0));
        homes.want_room(0);
        assert!(homes.take_want(0) && !homes.take_want(0));
    }
}

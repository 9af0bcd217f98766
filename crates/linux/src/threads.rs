//! The threads of a process, each on a hart of its own, and the futexes that they wait for.

use crate::space::Policy;

/// A thread of the process, as in Linux.
pub(crate) struct Thread {
    /// Its id (`gettid`).
    pub id: i64,
    /// Zeroed when it ends, and threads that wait there are woken (`CLONE_CHILD_CLEARTID`); 0: nothing.
    pub clear_id: u64,
    /// Head of the list of robust mutexes that it holds (`set_robust_list`); 0: none.
    pub robust_list: u64,
    /// Signals that it blocks; signal `n` is bit `n - 1`.
    pub blocked: u64,
    /// Its alternate signal stack: address, flags, length.
    pub signal_stack: [u64; 3],
    /// Which node its pages come from.
    pub policy: Policy,
}

/// `SS_DISABLE`: there is no alternate stack.
const STACK_DISABLED: u64 = 2;

impl Thread {
    fn new(id: i64, blocked: u64) -> Thread {
        Thread {
            id,
            clear_id: 0,
            robust_list: 0,
            blocked,
            signal_stack: [0, STACK_DISABLED, 0],
            policy: Policy::Default,
        }
    }
}

/// A thread that waits for a futex.
#[derive(Clone, Copy)]
struct Waiter {
    hart: usize,
    address: u64,
    /// It is woken by calls that name one of these bits (`FUTEX_WAIT_BITSET`).
    bits: u32,
}

/// All threads of a process, by the harts that they are on.
pub(crate) struct Threads {
    seats: Vec<Option<Thread>>,
    process: i64,
    created: i64,
    /// Oldest first.
    waiters: Vec<Waiter>,
    /// Harts whose threads were woken and have not been restarted yet.
    woken: Vec<usize>,
    /// What the first thread exited with, if it did.
    first_status: Option<i32>,
}

/// Ids of threads are so far apart: process ids of ranks lie between.
const ID_STRIDE: i64 = 1 << 17;
/// Then ids begin again; a futex word has room for 30 bits (Linux `FUTEX_TID_MASK`).
const IDS: i64 = 1 << 12;

impl Threads {
    /// The first thread of process `process`, on the first of `harts` harts.
    pub fn new(process: i64, harts: u32) -> Threads {
        let mut seats: Vec<Option<Thread>> = (0..harts.max(1)).map(|_| None).collect();
        seats[0] = Some(Thread::new(process, 0));
        Threads { seats, process, created: 0, waiters: vec![], woken: vec![], first_status: None }
    }

    /// The thread on hart `hart`.
    ///
    /// # Panics
    /// When there is none.
    pub fn get(&mut self, hart: usize) -> &mut Thread {
        self.seats[hart].as_mut().expect("a thread calls from its hart")
    }

    /// The memory policy of the thread on hart `hart`.
    pub fn policy(&self, hart: usize) -> Policy {
        self.seats[hart].as_ref().map_or(Policy::Default, |thread| thread.policy)
    }

    /// Threads that have not ended.
    pub fn all(&self) -> impl Iterator<Item = &Thread> {
        self.seats.iter().flatten()
    }

    /// The thread with `id`.
    pub fn find(&self, id: i64) -> Option<&Thread> {
        self.all().find(|thread| thread.id == id)
    }

    /// A new thread, which blocks the signals that the thread on hart `parent` blocks: its hart and id.
    /// None: every hart has its thread.
    pub fn create(&mut self, parent: usize) -> Option<(usize, i64)> {
        let hart = self.seats.iter().position(Option::is_none)?;
        let id = loop {
            self.created += 1;
            let id = self.process + (1 + self.created % IDS) * ID_STRIDE;
            if self.find(id).is_none() {
                break id;
            }
        };
        let Thread { blocked, policy, .. } = *self.get(parent);
        self.seats[hart] = Some(Thread { policy, ..Thread::new(id, blocked) });
        Some((hart, id))
    }

    /// The thread on hart `hart` ends with `status`. With the last the process ends, with the status of its
    /// first thread, which this returns (Linux kernel/exit.c: the leader's exit code).
    pub fn end(&mut self, hart: usize, status: i32) -> Option<i32> {
        let thread = self.seats[hart].take().expect("a thread calls from its hart");
        if thread.id == self.process {
            self.first_status = Some(status);
        }
        if self.all().next().is_some() { None } else { self.first_status.or(Some(status)) }
    }

    /// The thread on hart `hart` waits for the futex at `address`.
    pub fn wait(&mut self, hart: usize, address: u64, bits: u32) {
        self.waiters.push(Waiter { hart, address, bits });
    }

    /// The thread on hart `hart` waits no longer.
    pub fn give_up(&mut self, hart: usize) {
        self.waiters.retain(|waiter| waiter.hart != hart);
    }

    /// Wakes at most `count` threads that wait at `address` for one of `bits`, the oldest first.
    pub fn wake(&mut self, address: u64, count: u64, bits: u32) -> u64 {
        let mut woken = 0;
        self.waiters.retain(|waiter| {
            let wakes = woken < count && waiter.address == address && waiter.bits & bits != 0;
            if wakes {
                self.woken.push(waiter.hart);
            }
            woken += u64::from(wakes);
            !wakes
        });
        woken
    }

    /// At most `count` threads that wait at `from` wait at `to` from now on.
    pub fn requeue(&mut self, from: u64, to: u64, count: u64) -> u64 {
        let mut moved = vec![];
        self.waiters.retain(|waiter| {
            let moves = (moved.len() as u64) < count && waiter.address == from;
            if moves {
                moved.push(Waiter { address: to, ..*waiter });
            }
            !moves
        });
        self.waiters.extend(&moved);
        moved.len() as u64
    }

    /// The harts whose threads were woken since the last call, in the order of waking.
    pub fn take_woken(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.woken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn futexes_wake_the_oldest_who_name_their_bits() {
        let mut t = Threads::new(1000, 4);
        for hart in 1..4 {
            assert_eq!(t.create(0).map(|(hart, _)| hart), Some(hart));
        }
        assert_eq!(t.create(0), None, "four harts");
        t.wait(2, 64, 1);
        t.wait(1, 64, 2);
        t.wait(3, 64, 3);
        assert_eq!(t.wake(64, 1, 2), 1);
        assert_eq!(t.take_woken(), [1], "2 does not name the bit");
        assert_eq!(t.requeue(64, 128, 1), 1);
        assert_eq!((t.wake(64, 9, u32::MAX), t.wake(128, 9, u32::MAX)), (1, 1));
        assert_eq!(t.take_woken(), [3, 2]);
    }

    #[test]
    fn the_last_thread_ends_the_process_with_the_status_of_the_first() {
        let mut t = Threads::new(1000, 2);
        let (hart, id) = t.create(0).expect("a hart");
        assert_eq!(t.end(0, 3), None);
        assert_eq!(t.find(id).map(|thread| thread.id), Some(id));
        assert_eq!(t.end(hart, 4), Some(3));
    }
}

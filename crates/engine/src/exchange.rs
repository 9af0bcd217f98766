//! Where host threads that run partitions side by side leave messages for each other, and say how soon they could
//! have an effect on each other.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::Time;
use crate::partition::Message;
use crate::share::Layout;
use crate::team::Bell;

/// Turns of a waiting loop that take about as long as a partition's turn, a microsecond or two.
const BRIEFLY: u32 = 50;

/// What the others know of a thread.
struct Desk {
    /// By group: no effect of its partitions there comes sooner, nor one of what lies in the inbox.
    reach: Vec<Time>,
    /// Messages that it has not taken.
    inbox: Vec<Message>,
    /// It had nothing to do when it knew this state of the exchange.
    resting_at: u64,
}

impl Desk {
    /// Effects of `message` bound the reach.
    fn note(&mut self, message: &Message, layout: &Layout) {
        let least = &layout.lookahead.least[layout.groups[message.to as usize]];
        for (reach, &least) in self.reach.iter_mut().zip(least) {
            *reach = (*reach).min(message.event.time + least);
        }
    }
}

/// A message, and the number of the thread that has the receiving partition.
pub(crate) type Outgoing = (usize, Message);

struct Table {
    desks: Vec<Desk>,
    /// Counts changes.
    state: u64,
}

/// Desks of the threads that go together. All that a thread knows of others it learns here, of one moment, so that no
/// message is ever unknown to both sides.
#[derive(Default)]
pub(crate) struct Exchange {
    table: Mutex<Table>,
    /// The table's, for who waits.
    state: AtomicU64,
    /// The round is: all leave as soon as they can.
    over: AtomicBool,
    changed: Bell,
}

impl Default for Table {
    fn default() -> Table {
        Table { desks: vec![], state: 1 }
    }
}

/// A thread in a round. When it leaves, for whatever reason, the round is over for all.
pub(crate) struct Visit<'a> {
    exchange: &'a Exchange,
    thread: usize,
    layout: &'a Layout,
    /// The state that it knows.
    seen: u64,
    /// The reach that it has told the others.
    told: Vec<Time>,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.exchange.over.store(true, Ordering::SeqCst);
        self.exchange.changed.ring();
    }
}

impl Exchange {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("a host thread has panicked")
    }

    /// A round begins, of as many threads as there are `reaches`, each by group.
    pub fn open(&self, reaches: impl Iterator<Item = Vec<Time>>) {
        let mut table = self.table();
        let desks = reaches.map(|reach| Desk { reach, inbox: vec![], resting_at: 0 });
        table.desks = desks.collect();
        self.over.store(false, Ordering::SeqCst);
    }

    /// The round is over and all have left: what `thread` has not taken.
    pub fn left(&self, thread: usize) -> Vec<Message> {
        std::mem::take(&mut self.table().desks[thread].inbox)
    }

    /// Thread `thread` takes part in the round.
    pub fn visit<'a>(&'a self, thread: usize, layout: &'a Layout) -> Visit<'a> {
        Visit { exchange: self, thread, layout, seen: 0, told: vec![] }
    }
}

impl Visit<'_> {
    /// The round is over.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.exchange.over.load(Ordering::Relaxed)
    }

    /// Leaves what is `outgoing`, tells the thread's own `reach` by group, takes what is in its `inbox`, and learns the
    /// least reach of the others, `outside`.
    pub fn meet(
        &mut self,
        outgoing: &mut Vec<Outgoing>,
        reach: &[Time],
        inbox: &mut Vec<Message>,
        outside: &mut [Time],
    ) {
        let is_current = self.exchange.state.load(Ordering::Relaxed) == self.seen;
        if is_current && outgoing.is_empty() && self.told == reach {
            return;
        }
        let mut table = self.exchange.table();
        let changed = !outgoing.is_empty() || self.told != reach;
        for (to, message) in outgoing.drain(..) {
            table.desks[to].note(&message, self.layout);
            table.desks[to].inbox.push(message);
        }
        let desk = &mut table.desks[self.thread];
        std::mem::swap(&mut desk.inbox, inbox);
        desk.reach.copy_from_slice(reach);
        inbox.iter().for_each(|message| desk.note(message, self.layout));
        self.told.clear();
        self.told.extend(&desk.reach);
        outside.fill(Time::NEVER);
        for (_, desk) in table.desks.iter().enumerate().filter(|&(thread, _)| thread != self.thread) {
            outside.iter_mut().zip(&desk.reach).for_each(|(least, &reach)| *least = reach.min(*least));
        }
        table.state += u64::from(changed);
        self.seen = table.state;
        if changed {
            self.exchange.state.store(table.state, Ordering::SeqCst);
            drop(table);
            self.exchange.changed.ring();
        }
    }

    /// Waits until something changes, but no longer than a turn may take.
    pub fn wait_briefly(&self) {
        for _ in 0..BRIEFLY {
            if self.exchange.state.load(Ordering::SeqCst) != self.seen || self.is_over() {
                return;
            }
            spin_loop();
        }
    }

    /// The thread has nothing to do until something changes. If nobody has, the round is over. `patient`: it waits as
    /// long as that takes; else it gives up after a while, and returns false.
    pub fn rest(&mut self, patient: bool) -> bool {
        let mut table = self.exchange.table();
        table.desks[self.thread].resting_at = self.seen;
        if table.desks.iter().all(|desk| desk.resting_at == table.state) {
            self.exchange.over.store(true, Ordering::SeqCst);
            drop(table);
            self.exchange.changed.ring();
            return true;
        }
        drop(table);
        let seen = self.seen;
        let reached = || {
            self.exchange.state.load(Ordering::SeqCst) != seen || self.exchange.over.load(Ordering::SeqCst)
        };
        if patient {
            self.exchange.changed.wait_until(reached);
            return true;
        }
        self.exchange.changed.wait_a_while(reached)
    }
}

//! Where host threads that run partitions in parallel leave messages for each other, and publish lower bounds on the
//! time stamps of their effects on each other.
//!
//! A turn takes about a microsecond, in which a line of the host's caches can go from one processor to another ten
//! times. So no thread waits for a lock to read the progress of others: each writes its bounds where the others
//! read them, with a version that shows whether they are of one moment.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::Time;
use crate::layout::Layout;
use crate::lookahead::GROUPS_MAX;
use crate::partition::Message;
use crate::team::Bell;

/// Turns of a waiting loop that take about as long as a partition's turn, a microsecond or two.
const BRIEFLY: u32 = 50;
/// How often others may change their bounds while a thread reads all of them, until it goes on with the former ones.
const TRIES: usize = 8;
/// The longest sleep: a thread that changes bounds does not exclude that another falls asleep at that moment.
const SLEEP: Duration = Duration::from_micros(500);

/// Lower bounds by group, in two neighbouring lines of a cache, which hosts fetch together. One thread writes at a
/// time.
#[derive(Default)]
#[repr(align(128))]
struct Bounds {
    /// Odd while they are being written.
    version: AtomicU64,
    least: [AtomicU64; GROUPS_MAX],
}

impl Bounds {
    /// From now on they are `least`; their version.
    fn write(&self, least: &[Time]) -> u64 {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        for (bound, least) in self.least.iter().zip(least) {
            bound.store(least.0, Ordering::Relaxed);
        }
        self.version.store(version + 2, Ordering::Release);
        version + 2
    }

    /// From now on they are no greater than `least`.
    fn lower(&self, least: &[Time; GROUPS_MAX]) {
        let mut lowered = *least;
        self.read(&mut lowered);
        self.write(&lowered);
    }

    /// Lowers `least` to them.
    fn read(&self, least: &mut [Time; GROUPS_MAX]) {
        for (least, bound) in least.iter_mut().zip(&self.least) {
            *least = (*least).min(Time(bound.load(Ordering::Relaxed)));
        }
    }
}

/// What a thread shows to the others.
#[derive(Default)]
struct Desk {
    /// No effect of its partitions comes sooner; it writes them.
    earliest: Bounds,
    /// Nor an effect of a message in the inbox; the thread that holds its lock writes them.
    mail: Bounds,
    /// Messages that it has not taken.
    inbox: Mutex<Vec<Message>>,
    /// It had nothing to do when it had read this state of the exchange.
    resting_at: AtomicU64,
}

impl Desk {
    fn inbox(&self) -> MutexGuard<'_, Vec<Message>> {
        self.inbox.lock().expect("a host thread has panicked")
    }
}

/// Lower bounds on the effects of `message`, which is still in an inbox, on partitions of threads other than the
/// receiver's. `by_zones`: these have other zones.
///
/// They may come sooner than a look-ahead after its event, unless the receiver's group is steady. What the receiver has
/// promised rests on what it knew: that nobody waits for a credit of its own, for example, since its buffer had room, which
/// this message takes. Then the credit, sent before the message comes, lets the sender go on. But that is in the sender's
/// future, beyond which it has not run.
fn effects(message: &Message, by_zones: bool, layout: &Layout) -> [Time; GROUPS_MAX] {
    let mut effects = [Time::NEVER; GROUPS_MAX];
    let groups = layout.lookahead.groups();
    let group = layout.groups[message.to as usize];
    let soonest = if layout.lookahead.is_steady[group] { Time::NEVER } else { message.soonest };
    let least = &layout.lookahead.least[group];
    let least = if by_zones { &least[groups..] } else { &least[..groups] };
    let reached = effects.iter_mut().zip(least).filter(|&(_, &least)| least != Time::NEVER);
    reached.for_each(|(effect, &least)| *effect = soonest.min(message.event.time + least));
    effects
}

fn lower(bounds: &mut [Time], others: &[Time; GROUPS_MAX]) {
    bounds.iter_mut().zip(others).for_each(|(bound, &other)| *bound = other.min(*bound));
}

/// A message, and the number of the thread that has the receiving partition.
pub(crate) type Outgoing = (usize, Message);

/// Desks of the threads that run together. At every moment some desk's bound covers every possible effect: a message
/// lowers the bound of the receiver's mail before the sender's earliest output rises, and the receiver's own bound before
/// it leaves the mail. A thread that has read all desks of one moment, and then takes its messages, misses nothing.
pub(crate) struct Exchange {
    desks: Vec<Desk>,
    /// The round is: all leave as soon as they can.
    over: AtomicBool,
    changed: Bell,
}

/// A thread in a round. When it leaves, for whatever reason, the round is over for all.
pub(crate) struct Visit<'a> {
    exchange: &'a Exchange,
    thread: usize,
    layout: &'a Layout,
    /// Each thread has zones of its own.
    by_zones: bool,
    /// Versions of all bounds when it looked at them; its own as they are.
    seen: Vec<[u64; 2]>,
    /// Room for others.
    versions: Vec<[u64; 2]>,
    /// The version of its mail when that was empty.
    empty: u64,
    /// The earliest outputs that the others can see.
    published: Vec<Time>,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.exchange.end();
    }
}

impl Exchange {
    /// Of so many threads.
    pub fn new(threads: usize) -> Exchange {
        let desks = (0..threads).map(|_| Desk::default()).collect();
        Exchange { desks, over: AtomicBool::new(false), changed: Bell::default() }
    }

    /// A round begins, of as many threads as there are `earliest`, each by group.
    pub fn open(&self, bounds: impl Iterator<Item = Vec<Time>>) {
        for (desk, earliest) in self.desks.iter().zip(bounds) {
            desk.earliest.write(&earliest);
            desk.mail.write(&[Time::NEVER; GROUPS_MAX]);
            desk.resting_at.store(0, Ordering::Relaxed);
        }
        self.over.store(false, Ordering::SeqCst);
    }

    fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.changed.ring();
    }

    /// The round is over and all have left: what `thread` has not taken.
    pub fn left(&self, thread: usize) -> Vec<Message> {
        std::mem::take(&mut self.desks[thread].inbox())
    }

    /// Thread `thread` takes part in the round, with the `earliest` with which that was opened. `by_zones`: each thread has zones
    /// of its own.
    pub fn visit<'a>(
        &'a self,
        thread: usize,
        earliest: &[Time],
        by_zones: bool,
        layout: &'a Layout,
    ) -> Visit<'a> {
        let versions = vec![[0; 2]; self.desks.len()];
        let (seen, published) = (versions.clone(), earliest.to_vec());
        // No version is zero any more: it has seen nothing yet, and others may have left mail before it came.
        Visit { exchange: self, thread, layout, by_zones, seen, versions, empty: 0, published }
    }

    fn versions(&self) -> impl Iterator<Item = [u64; 2]> {
        let version = |bounds: &Bounds| bounds.version.load(Ordering::Acquire);
        self.desks.iter().map(move |desk| [version(&desk.earliest), version(&desk.mail)])
    }
}

impl Visit<'_> {
    /// The round is over.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.exchange.over.load(Ordering::Relaxed)
    }

    /// Leaves the `outgoing` messages, and lowers the bounds of the others, `outside`, by their possible answers. It comes
    /// before [`Visit::publish`] of the earliest outputs that these messages no longer bound.
    pub fn send(&mut self, outgoing: &mut Vec<Outgoing>, outside: &mut [Time]) {
        for (to, message) in outgoing.drain(..) {
            let effects = effects(&message, self.by_zones, self.layout);
            lower(outside, &effects);
            let desk = &self.exchange.desks[to];
            let mut inbox = desk.inbox();
            inbox.push(message);
            desk.mail.lower(&effects);
        }
    }

    /// Publishes the thread's own earliest outputs, by group.
    #[inline]
    pub fn publish(&mut self, earliest: &[Time]) {
        if self.published.iter().ne(earliest) {
            self.published.copy_from_slice(earliest);
            self.write_published();
            self.exchange.changed.ring();
        }
    }

    fn write_published(&mut self) {
        self.seen[self.thread][0] = self.exchange.desks[self.thread].earliest.write(&self.published);
    }

    /// Reads the earliest output of the others into `outside`, and takes the messages from the `inbox`. False: nothing new.
    pub fn read_others(&mut self, outside: &mut [Time], inbox: &mut Vec<Message>) -> bool {
        if !(0..TRIES).any(|_| self.look(outside)) {
            return false;
        }
        if self.seen[self.thread][1] != self.empty {
            let desk = &self.exchange.desks[self.thread];
            let mut mail = desk.inbox();
            std::mem::swap(&mut *mail, inbox);
            inbox.iter().for_each(|message| {
                lower(&mut self.published, &effects(message, self.by_zones, self.layout))
            });
            self.write_published();
            self.empty = desk.mail.write(&[Time::NEVER; GROUPS_MAX]);
            self.seen[self.thread][1] = self.empty;
        }
        true
    }

    /// Reads all bounds as they are at one moment. False: they are as before, or keep changing.
    fn look(&mut self, outside: &mut [Time]) -> bool {
        let Visit { exchange, versions, seen, .. } = self;
        versions.iter_mut().zip(exchange.versions()).for_each(|(known, version)| *known = version);
        let is_written = versions.iter().flatten().any(|version| version % 2 == 1);
        if is_written || versions == seen {
            return false;
        }
        let mut least = [Time::NEVER; GROUPS_MAX];
        for (_, desk) in exchange.desks.iter().enumerate().filter(|&(thread, _)| thread != self.thread) {
            desk.earliest.read(&mut least);
            desk.mail.read(&mut least);
        }
        fence(Ordering::Acquire);
        if !exchange.versions().eq(versions.iter().copied()) {
            return false;
        }
        outside.copy_from_slice(&least[..outside.len()]);
        std::mem::swap(versions, seen);
        true
    }

    fn is_current(&self) -> bool {
        self.exchange.versions().eq(self.seen.iter().copied())
    }

    /// Waits until something changes, but no longer than a turn may take.
    pub fn wait_briefly(&self) {
        for _ in 0..BRIEFLY {
            if !self.is_current() || self.is_over() {
                return;
            }
            spin_loop();
        }
    }

    /// The thread has nothing to do until something changes. If that holds for all, the round is over. `patient`: it
    /// waits as long as that takes; else it gives up after a while, and returns false.
    pub fn rest(&self, patient: bool) -> bool {
        let state = self.seen.iter().flatten().sum();
        let desks = &self.exchange.desks;
        desks[self.thread].resting_at.store(state, Ordering::SeqCst);
        if self.is_current() && desks.iter().all(|desk| desk.resting_at.load(Ordering::SeqCst) == state) {
            self.exchange.end();
            return true;
        }
        let reached = || self.is_over() || !self.is_current();
        let changed = &self.exchange.changed;
        if patient {
            changed.wait_until(reached, SLEEP);
            return true;
        }
        changed.wait_a_while(reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Event, Lookahead, Port};

    /// What thread 1 learns of thread 0's desk, in whose inbox thread 2 has left a message that it sent at `sent`, for `at`.
    fn bound(sent: u64, at: u64, steady: bool) -> Time {
        let lookahead = Lookahead::new(vec![vec![Time(10)]]);
        let lookahead = if steady { lookahead.with_steady(0) } else { lookahead };
        let layout = Layout { groups: vec![0; 3], zones: vec![0; 3], lookahead };
        let exchange = Exchange::new(3);
        exchange.open((0..3).map(|_| vec![Time(1_000)]));
        let visit = |thread| exchange.visit(thread, &[Time(1_000)], false, &layout);
        let event =
            Event { time: Time(at), order: Port::new(2).next(Class::Packet), target: 0, payload: [0, 0] };
        let message = Message { to: 0, event, packet: None, soonest: Time(sent + 10) };
        visit(2).send(&mut vec![(0, message)], &mut [Time(1_000)]);
        let mut outside = [Time::ZERO];
        assert!(visit(1).look(&mut outside));
        outside[0]
    }

    #[test]
    fn a_message_may_have_effects_before_it_comes() {
        assert_eq!(bound(100, 110, false), Time(110));
        assert_eq!(bound(100, 500, false), Time(110), "the receiver's promises rest on what it knew");
        assert_eq!(bound(2_000, 2_500, false), Time(1_000));
        assert_eq!(bound(100, 500, true), Time(510), "the receiver's promises are steady");
    }
}

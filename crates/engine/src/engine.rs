//! The rounds in which partitions advance.
//!
//! How far each round goes, and which host thread runs a partition, affects only the speed, not the
//! results: the order of events is fixed by the events.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use crate::exchange::Exchange;
use crate::interrupt::Interrupt;
use crate::layout::Layout;
use crate::pace::{Pace, Threads};
use crate::partition::{Group, Partition, PartitionId};
use crate::share::{Member, Place, ROUND_MAX, Share};
use crate::team::Team;
use crate::{Lookahead, Time};

/// Why [`Engine::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing is left to do.
    Idle,
    /// A partition asked to stop; all have run to this time.
    Stopped(Time),
    /// The watcher asked to stop.
    Interrupted,
    /// All that is left to do lies behind the end of simulated time, or what was set for it ([`Engine::set_end`]).
    OutOfTime,
}

/// Advances partitions.
pub struct Engine {
    partitions: Vec<Box<dyn Partition>>,
    layout: Layout,
    window: Time,
    end: Time,
    interrupt: Interrupt,
    steps_together: u64,
    reached: Time,
    favoured: Option<PartitionId>,
}

impl Engine {
    /// An engine without partitions.
    pub fn new(lookahead: Lookahead) -> Engine {
        let layout = Layout { groups: vec![], zones: vec![], lookahead };
        let (window, interrupt) = (ROUND_MAX, Interrupt::default());
        let (end, reached) = (Time::END, Time::ZERO);
        let (partitions, favoured) = (vec![], None);
        Engine { partitions, layout, window, end, interrupt, steps_together: 0, reached, favoured }
    }

    /// Adds a partition of `group`.
    pub fn add(&mut self, group: Group, partition: Box<dyn Partition>) -> PartitionId {
        self.add_in_zone(group, 0, partition)
    }

    /// Adds a partition of `group` that is in zone `zone`, of which there are all from 0 on.
    pub fn add_in_zone(&mut self, group: Group, zone: usize, partition: Box<dyn Partition>) -> PartitionId {
        assert!(group < self.layout.lookahead.groups(), "group {group}");
        self.partitions.push(partition);
        self.layout.groups.push(group);
        self.layout.zones.push(zone);
        self.layout.groups.len() as PartitionId - 1
    }

    /// Nothing happens at or after `end`, as at [`Time::END`] without this.
    pub fn set_end(&mut self, end: Time) {
        self.end = end.min(Time::END);
    }

    /// Rounds in which all host threads ran partitions: about the host, not the simulation.
    pub fn steps_together(&self) -> u64 {
        self.steps_together
    }

    /// Before this some partition may have acted, and none at or after it: what is added to a partition between two runs
    /// comes no sooner.
    pub fn reached(&self) -> Time {
        self.reached
    }

    /// The next run, of one host thread, begins with partition `id` alone, as far as that may go. Who goes first changes no
    /// result.
    pub fn favour(&mut self, id: PartitionId) {
        self.favoured = Some(id);
    }

    /// Between two runs: a lower bound on the time of the next action of all.
    pub fn next(&self) -> Time {
        self.partitions.iter().map(|partition| partition.next()).fold(Time::NEVER, Time::min)
    }

    /// Partition `id`, between two runs.
    pub fn partition_mut(&mut self, id: PartitionId) -> &mut dyn Partition {
        &mut *self.partitions[id as usize]
    }

    /// Interrupts [`Engine::run`], from another thread, too.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// In a round no partition runs further than `window` past the earliest action of all. By default it is as long as
    /// possible; a shorter one changes no result, which tests check.
    ///
    /// # Panics
    /// When it is zero, or longer than a round may be.
    pub fn set_window(&mut self, window: Time) {
        assert!(window > Time::ZERO && window <= ROUND_MAX, "a window of {window}");
        self.window = window;
    }

    /// After a run that was stopped at `at`: the reasons of the partitions that stopped it are passed to all. Then
    /// the engine can run on. False: it can't, for a partition stops the run for good.
    pub fn spread(&mut self, at: Time) -> bool {
        let mut reasons: Vec<u64> =
            self.partitions.iter_mut().flat_map(|partition| partition.take_stop_reasons()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        self.partitions.iter_mut().for_each(|partition| partition.go_on(&reasons, at));
        self.partitions.iter().all(|partition| partition.stop().is_none())
    }

    /// The partitions, to collect results.
    pub fn partitions(self) -> Vec<Box<dyn Partition>> {
        self.partitions
    }

    /// Runs on `threads` until nothing is left before the end of simulated time, a partition stops the job, or `watch`
    /// returns false, or it is interrupted. `watch` is called once a round, by this thread, with the time up to which all is done.
    /// After an interrupt that was withdrawn it may run on: how often changes no result.
    pub fn run(&mut self, threads: Threads, watch: &mut dyn FnMut(Time) -> bool) -> Ended {
        let groups = self.layout.lookahead.groups();
        let shares: Vec<_> =
            (0..threads.count()).map(|thread| Mutex::new(Share::new(thread, groups))).collect();
        let members = self.partitions.drain(..).enumerate();
        let members = members.map(|(id, partition)| Member::new(id as PartitionId, partition)).collect();
        let (team, exchange, layout) = (Team::default(), Exchange::new(shares.len()), &self.layout);
        let interrupt = &self.interrupt;
        let (ended, steps_together) = std::thread::scope(|scope| {
            // Followers go home also if this thread panics.
            let home = Home(&team);
            let hire = || {
                for share in &shares[1..] {
                    let (team, exchange) = (&team, &exchange);
                    scope.spawn(move || team.follow(|| follow(share, exchange, layout, interrupt)));
                }
            };
            let mut leader = Leader {
                layout,
                interrupt,
                window: self.window,
                end: self.end,
                team: &team,
                exchange: &exchange,
                shares: &shares,
                held: shares.iter().map(lock).collect(),
                pace: Pace::new(threads),
                hire: Some(&hire),
                steps_together: 0,
                favoured: self.favoured.take(),
            };
            leader.deal(members);
            let ended = leader.run(watch);
            let steps_together = leader.steps_together;
            drop(leader);
            drop(home);
            (ended, steps_together)
        });
        self.steps_together += steps_together;
        let shares = shares.into_iter().map(|s| s.into_inner().expect("nobody has panicked"));
        let mut members: Vec<Member> = shares.flat_map(|mut share| share.take_members()).collect();
        members.sort_by_key(|member| member.id);
        self.reached = members.iter().map(Member::limit).fold(self.reached, Time::max);
        self.partitions = members.into_iter().map(|member| member.partition).collect();
        ended
    }
}

struct Home<'a>(&'a Team);

impl Drop for Home<'_> {
    fn drop(&mut self) {
        self.0.quit();
    }
}

fn lock(share: &Mutex<Share>) -> MutexGuard<'_, Share> {
    share.lock().expect("a host thread has panicked")
}

fn follow(share: &Mutex<Share>, exchange: &Exchange, layout: &Layout, interrupt: &Interrupt) {
    lock(share).take_turns_beside(exchange, usize::MAX, layout, interrupt);
}

/// The host thread that leads: it runs its share of the partitions, and does everything else alone.
struct Leader<'a> {
    layout: &'a Layout,
    interrupt: &'a Interrupt,
    window: Time,
    end: Time,
    team: &'a Team,
    exchange: &'a Exchange,
    shares: &'a [Mutex<Share>],
    /// All shares between rounds, its own always. That of this thread is the first.
    held: Vec<MutexGuard<'a, Share>>,
    pace: Pace,
    /// Starts the other threads, when they are first needed.
    hire: Option<&'a dyn Fn()>,
    steps_together: u64,
    favoured: Option<PartitionId>,
}

impl Leader<'_> {
    fn run(&mut self, watch: &mut dyn FnMut(Time) -> bool) -> Ended {
        // A run that was interrupted may have had to end.
        let mut stop = self.held.iter().map(|s| s.stop).fold(Time::NEVER, Time::min);
        loop {
            let now = self.held.iter().map(|s| s.next()).fold(Time::NEVER, Time::min);
            if now == Time::NEVER || now >= stop {
                return if stop == Time::NEVER { Ended::Idle } else { Ended::Stopped(stop) };
            }
            if now >= self.end {
                // A process that waits for the host waits beyond the end when it is to wait no more.
                return if self.interrupt.is_asked() { Ended::Interrupted } else { Ended::OutOfTime };
            }
            if !watch(now) || self.interrupt.is_asked() {
                return Ended::Interrupted;
            }
            self.set_pace();
            let horizon = stop.min(now + self.window).min(self.end);
            self.held.iter_mut().for_each(|s| s.horizon = horizon);
            if let Some(id) = self.favoured.take() {
                self.held[0].take_turns_of(id, self.layout, self.interrupt);
                continue;
            }
            if self.pace.together() {
                self.go_together()
            } else {
                self.held[0].take_turns(self.pace.turns(), self.layout, self.interrupt)
            }
            stop = self.held.iter().map(|s| s.stop).fold(stop, Time::min);
        }
    }

    /// A round of all threads.
    fn go_together(&mut self) {
        if let Some(hire) = self.hire.take() {
            hire();
        }
        self.steps_together += 1;
        self.exchange.open(self.held.iter().map(|s| s.earliest_outputs()));
        self.held.truncate(1);
        self.team.start(self.shares.len() as u32 - 1);
        self.held[0].take_turns_beside(self.exchange, self.pace.turns(), self.layout, self.interrupt);
        self.team.finish();
        self.held.extend(self.shares[1..].iter().map(lock));
        for (thread, share) in self.held.iter_mut().enumerate() {
            self.exchange.left(thread).into_iter().for_each(|message| share.receive(message, self.layout));
            share.note_received(self.layout);
        }
    }

    /// Decides whether the team goes on together.
    fn set_pace(&mut self) {
        if self.shares.len() == 1 {
            return;
        }
        let work = self.held.iter().map(|s| s.work).sum();
        let together = self.pace.together();
        self.pace.round(work, Instant::now);
        if together != self.pace.together() {
            let members = self.held.iter_mut().flat_map(|s| s.take_members()).collect();
            self.deal(members);
        }
    }

    /// Deals the partitions out: to all threads that go together, or to this one alone. Zones stay together if there is
    /// one for each thread, else neighbours.
    fn deal(&mut self, mut members: Vec<Member>) {
        members.sort_by_key(|member| member.id);
        let count = if self.pace.together() { self.shares.len() } else { 1 };
        let Layout { groups, zones, lookahead } = self.layout;
        let zone_count = zones.iter().max().map_or(0, |last| last + 1);
        let by_zones = count > 1 && zone_count >= count;
        let mut sizes = vec![0; lookahead.groups()];
        groups.iter().for_each(|&group| sizes[group] += 1);
        let mut dealt = vec![0; sizes.len()];
        let mut deal = |member: Member| {
            let (group, zone) = (groups[member.id as usize], zones[member.id as usize]);
            let share =
                if by_zones { zone * count / zone_count } else { dealt[group] * count / sizes[group] };
            dealt[group] += 1;
            self.held[share].add(member)
        };
        let places: Arc<[Place]> = members.into_iter().map(&mut deal).collect();
        self.held.iter_mut().for_each(|s| s.begin(places.clone(), by_zones, self.layout));
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::sync::Arc;

    use super::*;
    use crate::{Class, Event, EventQueue, Outbox, Packet, Port};

    type Log = Arc<Mutex<Vec<(u64, u32, u64)>>>;

    /// Passes a token to the next partition after a delay, `hops` times.
    struct Relay {
        id: u32,
        count: u32,
        delay: u64,
        queue: EventQueue,
        port: Port,
        log: Log,
    }

    impl Partition for Relay {
        fn next(&self) -> Time {
            self.queue.next_time()
        }
        fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
            let mut events = 0;
            while let Some(e) = self.queue.pop_before(out.limit()) {
                events += 1;
                self.log.lock().unwrap().push((e.time.0, self.id, e.payload[0]));
                if e.payload[0] > 0 {
                    let event = Event {
                        time: e.time + Time(self.delay),
                        order: self.port.next(Class::Packet),
                        target: 0,
                        payload: [e.payload[0] - 1, 0],
                    };
                    out.send(e.time, (self.id + 1) % self.count, event, None);
                }
            }
            events
        }
        fn receive(&mut self, event: Event, _: Option<Box<Packet>>) {
            self.queue.push(event);
        }
        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    }

    fn relay(id: u32, count: u32, delay: u64, log: &Log) -> Box<Relay> {
        let (queue, port) = (EventQueue::default(), Port::new(id));
        let mut relay = Relay { id, count, delay, queue, port, log: log.clone() };
        for (k, start) in [3u64, 3, 8].into_iter().enumerate() {
            let order = relay.port.next(Class::Internal);
            relay.queue.push(Event { time: Time(start), order, target: 0, payload: [20 + k as u64, 0] });
        }
        Box::new(relay)
    }

    fn ring(count: u32, lookahead: u64, window: Time, threads: Threads) -> Vec<(u64, u32, u64)> {
        let log = Arc::new(Mutex::new(vec![]));
        let mut engine = Engine::new(Lookahead::new(vec![vec![Time(lookahead)]]));
        engine.set_window(window);
        (0..count).for_each(|id| _ = engine.add(0, relay(id, count, 10, &log)));
        assert_eq!(engine.run(threads, &mut |_| true), Ended::Idle);
        let mut events = log.lock().unwrap().clone();
        // Partitions interleave differently; what each one sees must not.
        events.sort_by_key(|&(time, id, _)| (id, time));
        events
    }

    #[test]
    fn results_depend_neither_on_the_window_nor_on_threads() {
        let reference = ring(3, 10, ROUND_MAX, Threads::Exactly(1));
        assert_eq!(reference.len(), 3 * (21 + 22 + 23));
        for lookahead in [1, 3, 7] {
            for threads in [1, 2, 3, 5].into_iter().flat_map(|n| [Threads::Exactly(n), Threads::UpTo(n)]) {
                for window in [Time(1), Time(13), ROUND_MAX] {
                    assert_eq!(ring(3, lookahead, window, threads), reference);
                }
            }
        }
    }

    #[test]
    fn who_goes_first_and_how_often_it_is_interrupted_changes_nothing() {
        let whole = ring(3, 10, ROUND_MAX, Threads::Exactly(1));
        for favoured in 0..3 {
            let log = Arc::new(Mutex::new(vec![]));
            let mut engine = Engine::new(Lookahead::new(vec![vec![Time(10)]]));
            (0..3).for_each(|id| _ = engine.add(0, relay(id, 3, 10, &log)));
            let interrupt = engine.interrupt();
            let mut runs = 0;
            loop {
                engine.favour(favoured);
                let mut rounds = 0;
                // Rounds are short, so that there are many.
                engine.set_window(Time(7));
                let ended = engine.run(Threads::Exactly(1), &mut |_| {
                    rounds += 1;
                    if rounds == 3 {
                        interrupt.ask();
                    }
                    true
                });
                if ended == Ended::Idle {
                    break;
                }
                assert_eq!(ended, Ended::Interrupted);
                assert!(engine.next() != Time::NEVER && engine.reached() > Time::ZERO);
                interrupt.withdraw();
                runs += 1;
            }
            let mut events = log.lock().unwrap().clone();
            events.sort_by_key(|&(time, id, _)| (id, time));
            assert_eq!(events, whole);
            assert!(runs > 10, "{runs}");
        }
    }

    /// Takes long for each of its turns, and there is always another.
    struct Slow(u64);

    impl Partition for Slow {
        fn next(&self) -> Time {
            Time(self.0)
        }
        fn run(&mut self, _: &mut Outbox<'_>) -> u64 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            self.0 += 1;
            1
        }
        fn receive(&mut self, _: Event, _: Option<Box<Packet>>) {}
        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    }

    /// A round of theirs would take 100 million turns, or those of a whole round.
    #[test]
    fn an_interrupt_does_not_wait_for_the_end_of_the_round() {
        for threads in [1, 4] {
            let mut engine = Engine::new(Lookahead::new(vec![vec![Time(1_000_000)]]));
            (0..8).for_each(|_| _ = engine.add(0, Box::new(Slow(0))));
            let interrupt = engine.interrupt();
            let (begin, mut rounds) = (Instant::now(), 0);
            let ended = std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                    interrupt.ask();
                });
                engine.run(Threads::Exactly(threads), &mut |_| {
                    rounds += 1;
                    true
                })
            });
            assert_eq!(ended, Ended::Interrupted);
            assert_eq!(rounds, 2, "in the first round, on {threads} host threads");
            assert!(begin.elapsed() < std::time::Duration::from_secs(3));
        }
    }

    #[test]
    fn nothing_happens_after_the_end_of_time() {
        for threads in [1, 2] {
            let log = Arc::new(Mutex::new(vec![]));
            let mut engine = Engine::new(Lookahead::new(vec![vec![Time(10)]]));
            for id in 0..2 {
                let mut relay = Relay {
                    id,
                    count: 2,
                    delay: 10,
                    queue: EventQueue::default(),
                    port: Port::new(id),
                    log: log.clone(),
                };
                let order = relay.port.next(Class::Internal);
                let time = Time::END.0 - 15;
                relay.queue.push(Event { time: Time(time), order, target: 0, payload: [5, 0] });
                engine.add(0, Box::new(relay));
            }
            assert_eq!(engine.run(Threads::Exactly(threads), &mut |_| true), Ended::OutOfTime);
            let last = log.lock().unwrap().iter().map(|&(time, ..)| time).max();
            assert_eq!(last, Some(Time::END.0 - 5), "on {threads} host threads");
        }
    }

    /// Panics at its first turn.
    struct Broken;

    impl Partition for Broken {
        fn next(&self) -> Time {
            Time::ZERO
        }
        fn run(&mut self, _: &mut Outbox<'_>) -> u64 {
            panic!("a bug of the model");
        }
        fn receive(&mut self, _: Event, _: Option<Box<Packet>>) {}
        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    }

    #[test]
    #[should_panic(expected = "a host thread has panicked")]
    fn a_panic_of_a_follower_ends_the_run() {
        let mut engine = Engine::new(Lookahead::new(vec![vec![Time(1)]]));
        for _ in 0..2 {
            let relay = Relay {
                id: 0,
                count: 1,
                delay: 1,
                queue: EventQueue::default(),
                port: Port::new(0),
                log: Arc::default(),
            };
            engine.add(0, Box::new(relay));
        }
        // The second half is the follower's.
        (0..2).for_each(|_| _ = engine.add(0, Box::new(Broken)));
        engine.run(Threads::Exactly(2), &mut |_| true);
    }
}

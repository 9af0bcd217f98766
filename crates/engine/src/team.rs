//! Host threads that take steps together: one leads, the others follow.
//!
//! A step is short, a microsecond or less, so all spin for a while before they sleep.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Turns of a waiting loop before the thread lets others of the host on: so many at most, and at first; at least.
const SPIN: u32 = 2_000;
const SPIN_MIN: u32 = 50;
/// One wait in so many spins for as long as any may: whether it pays again is known by nothing else.
const TRIAL: u32 = 32;
/// Turns in which it lets others on, before it sleeps.
const YIELD_MAX: u32 = 100;

/// The longest sleep of a thread that is certainly woken.
const SLEEP: Duration = Duration::from_secs(1);

/// Where threads wait for a value that others change.
///
/// To spin pays if the other thread runs on a processor of its own. If the host has fewer than want to run, it keeps the
/// other thread from what is waited for. So each wait that spinning did not end halves how long the next ones spin; after
/// one that it did they spin for at least twice as long as that took (much as adaptive mutexes do). Now and then one is
/// tried that is as long as at first.
pub(crate) struct Bell {
    /// Turns of the next waiting loop.
    spin: AtomicU32,
    /// Waits so far.
    waits: AtomicU32,
    sleepers: AtomicU32,
    sleep: Mutex<()>,
    rung: Condvar,
}

impl Default for Bell {
    fn default() -> Bell {
        Bell {
            spin: AtomicU32::new(SPIN),
            waits: AtomicU32::default(),
            sleepers: AtomicU32::default(),
            sleep: Mutex::default(),
            rung: Condvar::default(),
        }
    }
}

impl Bell {
    /// Waits until `reached`, which looks at the value by loads that are sequentially consistent, but without
    /// sleeping. False: it is not reached.
    pub fn wait_a_while(&self, reached: impl Fn() -> bool) -> bool {
        if reached() {
            return true;
        }
        let waits = self.waits.load(Ordering::Relaxed).wrapping_add(1);
        self.waits.store(waits, Ordering::Relaxed);
        let spin = self.spin.load(Ordering::Relaxed);
        for turns in 1..=if waits.is_multiple_of(TRIAL) { SPIN } else { spin } {
            spin_loop();
            if reached() {
                self.spin.store(spin.max(SPIN.min(2 * turns)), Ordering::Relaxed);
                return true;
            }
        }
        self.spin.store(SPIN_MIN.max(spin / 2), Ordering::Relaxed);
        for _ in 0..YIELD_MAX {
            if reached() {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }

    /// The same, as long as it takes, and looks again at least once in each `sleep`.
    pub fn wait_until(&self, reached: impl Fn() -> bool, sleep: Duration) {
        if self.wait_a_while(&reached) {
            return;
        }
        let mut asleep = self.sleep.lock().expect("nobody panics here");
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !reached() {
            asleep = self.rung.wait_timeout(asleep, sleep).expect("nobody panics here").0;
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// The value has changed. By a store that is sequentially consistent: either this finds a thread that fell asleep before, or
    /// they find the value.
    pub fn ring(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _asleep = self.sleep.lock();
            self.rung.notify_all();
        }
    }
}

/// Where the threads meet.
#[derive(Default)]
pub(crate) struct Team {
    /// Number of the step under way, or of the last one.
    step: AtomicU32,
    /// Followers that have not ended it.
    busy: AtomicU32,
    quit: AtomicBool,
    started: Bell,
    ended: Bell,
}

impl Team {
    /// The leader starts a step of `followers`.
    pub fn start(&self, followers: u32) {
        self.busy.store(followers, Ordering::Relaxed);
        self.step.fetch_add(1, Ordering::SeqCst);
        self.started.ring();
    }

    /// The leader waits until all have ended the step.
    pub fn finish(&self) {
        self.ended.wait_until(|| self.busy.load(Ordering::SeqCst) == 0, SLEEP);
    }

    /// The leader sends the followers home.
    pub fn quit(&self) {
        self.quit.store(true, Ordering::SeqCst);
        self.start(0);
    }

    /// A follower does `work` in each step until it is sent home.
    pub fn follow(&self, mut work: impl FnMut()) {
        let mut seen = 0;
        loop {
            self.started.wait_until(|| self.step.load(Ordering::SeqCst) != seen, SLEEP);
            seen = seen.wrapping_add(1);
            if self.quit.load(Ordering::SeqCst) {
                return;
            }
            // Also if it panics: the leader then finds its share poisoned.
            let _ended = Ended(self);
            work();
        }
    }
}

/// A follower's part in a step.
struct Ended<'a>(&'a Team);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if self.0.busy.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.ended.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long enough for a waiting thread to fall asleep.
    fn pause(step: u32) {
        if step.is_multiple_of(500) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// A wait that is over after so many looks.
    fn wait(bell: &Bell, looks: u32) -> bool {
        let count = std::cell::Cell::new(0);
        bell.wait_a_while(|| count.replace(count.get() + 1) >= looks)
    }

    #[test]
    fn waits_spin_less_where_that_does_not_pay_and_as_long_as_at_first_once_it_does() {
        let bell = Bell::default();
        let spin = || bell.spin.load(Ordering::Relaxed);
        for _ in 0..TRIAL {
            assert!(!wait(&bell, u32::MAX));
        }
        assert_eq!(spin(), SPIN_MIN);
        // Longer than the shortest spin and what follows it, but within a trial.
        let found = (0..16 * TRIAL).filter(|_| wait(&bell, SPIN / 2)).count();
        assert!(found > 14 * TRIAL as usize, "{found}");
        assert_eq!(spin(), SPIN);
    }

    #[test]
    fn all_do_each_step_once() {
        let team = Team::default();
        let counts: Vec<AtomicU32> = (0..3).map(|_| AtomicU32::new(0)).collect();
        std::thread::scope(|scope| {
            for (number, count) in (0..).zip(&counts) {
                let team = &team;
                scope.spawn(move || team.follow(|| pause(number + count.fetch_add(1, Ordering::Relaxed))));
            }
            for step in 1..=2_000 {
                pause(step);
                team.start(3);
                team.finish();
                counts.iter().for_each(|c| assert_eq!(c.load(Ordering::Relaxed), step));
            }
            team.quit();
        });
    }
}

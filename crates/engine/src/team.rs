//! Host threads that take steps together: one leads, the others follow.
//!
//! A step is short, a microsecond or less, so all spin for a while before they sleep.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};

/// Turns of a waiting loop before the thread lets others of the host on, and before it sleeps.
const SPIN_MAX: u32 = 2_000;
const YIELD_MAX: u32 = 100;

/// Where the threads meet.
#[derive(Default)]
pub(crate) struct Team {
    /// Number of the step under way, or of the last one.
    step: AtomicU32,
    /// Followers that have not ended it.
    busy: AtomicU32,
    quit: AtomicBool,
    sleepers: AtomicU32,
    sleep: Mutex<()>,
    wake: Condvar,
}

impl Team {
    /// The leader starts a step of `followers`.
    pub fn start(&self, followers: u32) {
        self.busy.store(followers, Ordering::Relaxed);
        self.step.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _asleep = self.sleep.lock();
            self.wake.notify_all();
        }
    }

    /// The leader waits until all have ended the step.
    pub fn finish(&self) {
        let mut turns = 0;
        while self.busy.load(Ordering::Acquire) > 0 {
            turns += 1;
            if turns < SPIN_MAX { spin_loop() } else { std::thread::yield_now() }
        }
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
            self.wait(seen);
            seen = seen.wrapping_add(1);
            if self.quit.load(Ordering::SeqCst) {
                return;
            }
            // Also if it panics: the leader then finds its share poisoned.
            let _ended = Ended(&self.busy);
            work();
        }
    }

    /// Waits for the step after `seen`.
    fn wait(&self, seen: u32) {
        for turns in 0..SPIN_MAX + YIELD_MAX {
            if self.step.load(Ordering::Acquire) != seen {
                return;
            }
            if turns < SPIN_MAX { spin_loop() } else { std::thread::yield_now() }
        }
        let mut asleep = self.sleep.lock().expect("nobody panics here");
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.step.load(Ordering::SeqCst) == seen {
            asleep = self.wake.wait(asleep).expect("nobody panics here");
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A follower's part in a step.
struct Ended<'a>(&'a AtomicU32);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_do_each_step_once() {
        let team = Team::default();
        let counts: Vec<AtomicU32> = (0..3).map(|_| AtomicU32::new(0)).collect();
        std::thread::scope(|scope| {
            for count in &counts {
                let team = &team;
                scope.spawn(move || team.follow(|| _ = count.fetch_add(1, Ordering::Relaxed)));
            }
            for step in 1..=2_000 {
                if step % 500 == 0 {
                    // Long enough for the others to fall asleep.
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                team.start(3);
                team.finish();
                counts.iter().for_each(|c| assert_eq!(c.load(Ordering::Relaxed), step));
            }
            team.quit();
        });
    }
}

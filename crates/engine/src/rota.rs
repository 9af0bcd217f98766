//! Zones whose turns one host thread takes, one zone after the other.
//!
//! Between zones effects take longer than within one, so a zone may have many turns before it has to know what the others
//! do. Its partitions stay in the host's caches meanwhile. A thousand nodes do not: if each turn were that of the
//! next of all, a host would spend most of it on fetching what it looks at.

use crate::Time;
use crate::exchange::Outgoing;
use crate::interrupt::Interrupt;
use crate::layout::Layout;
use crate::share::Share;

/// Turns that a zone has before the next one has its own, at most: some milliseconds.
const TURNS: usize = 4096;

/// The shares of one host thread, a zone each. At every moment the bounds of a share cover what was sent to it.
pub(crate) struct Rota {
    pub shares: Vec<Share>,
    /// Whose turns are next.
    next: usize,
    /// Room for messages between zones.
    outgoing: Vec<Outgoing>,
    /// Room for bounds, by group.
    outside: Vec<Time>,
}

impl Rota {
    /// Of so many zones, and groups of partitions.
    pub fn new(zones: usize, groups: usize) -> Rota {
        let shares = (0..zones).map(|zone| Share::new(zone, 0, groups)).collect();
        Rota { shares, next: 0, outgoing: vec![], outside: vec![Time::NEVER; groups] }
    }

    /// So many turns, or a zone's more; fewer if nothing is left to do.
    pub fn take_turns(&mut self, turns_max: usize, layout: &Layout, interrupt: &Interrupt) {
        let (mut turns, mut idle) = (0, 0);
        let zones = self.shares.len();
        while turns < turns_max && idle < 2 * zones && !interrupt.is_asked() {
            // To look at all partitions of a zone for one that can do something pays only if nothing else can.
            self.shares[self.next].is_thorough = idle >= zones;
            let taken = self.go(self.next, layout, interrupt);
            self.next = (self.next + 1) % zones;
            turns += taken;
            idle = if taken > 0 { 0 } else { idle + 1 };
        }
    }

    /// Turns of `zone`, as far as the others let it; how many. Then what it has sent is delivered.
    fn go(&mut self, zone: usize, layout: &Layout, interrupt: &Interrupt) -> usize {
        let Rota { shares, outgoing, outside, .. } = self;
        outside.fill(Time::NEVER);
        let others = shares.iter().enumerate().filter(|&(number, _)| number != zone);
        others.for_each(|(_, other)| other.lower_by_first_effects(outside));
        let taken = shares[zone].take_turns_of_zone(TURNS, outside, outgoing, (layout, interrupt));
        for (to, message) in outgoing.drain(..) {
            shares[to].receive(message, layout);
        }
        shares.iter_mut().for_each(|share| share.note_received(layout));
        taken
    }
}

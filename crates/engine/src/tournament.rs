//! The least of many times, of which one changes now and then.

use crate::Time;

/// Times by place, which play a tournament: of two neighbours the earlier goes on to the next match. Matches that a
/// change concerns, log2 of the number of places at most, are played again.
#[derive(Clone, Default)]
pub(crate) struct Tournament {
    /// The winner of the last match at 1, of that between 2k and 2k + 1 at k. The second half are the times.
    winners: Vec<Time>,
}

impl Tournament {
    /// From now on there are so many places, and never is the time at each.
    pub fn reset(&mut self, places: usize) {
        self.winners.clear();
        self.winners.resize(2 * places, Time::NEVER);
    }

    /// The time at `place` is `time` from now on. Matches are played again up to one that ends as before.
    #[inline]
    pub fn set(&mut self, place: usize, time: Time) {
        let winners = &mut self.winners[..];
        let mut at = winners.len() / 2 + place;
        winners[at] = time;
        while at > 1 {
            let winner = winners[at].min(winners[at ^ 1]);
            at /= 2;
            if winners[at] == winner {
                return;
            }
            winners[at] = winner;
        }
    }

    /// The time at `place`.
    #[inline]
    pub fn at(&self, place: usize) -> Time {
        self.winners[self.winners.len() / 2 + place]
    }

    /// The least of all.
    #[inline]
    pub fn least(&self) -> Time {
        // Who is alone plays no match.
        self.winners[1]
    }

    /// Where the least of all is, itself, and the least of the others.
    #[inline]
    pub fn first(&self) -> (usize, Time, Time) {
        let winners = &self.winners[..];
        let half = winners.len() / 2;
        let (mut at, mut second) = (1, Time::NEVER);
        while at < half {
            let (left, right) = (winners[2 * at], winners[2 * at + 1]);
            second = second.min(left.max(right));
            at = 2 * at + usize::from(right < left);
        }
        (at - half, winners[at], second)
    }

    /// The least of all but that at `place`.
    #[inline]
    pub fn least_but(&self, place: usize) -> Time {
        let winners = &self.winners[..];
        let mut at = winners.len() / 2 + place;
        let mut least = Time::NEVER;
        while at > 1 {
            least = least.min(winners[at ^ 1]);
            at /= 2;
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use chasqui_random::Random;

    use super::*;

    #[test]
    fn the_least_is_found_whatever_changed() {
        let mut random = Random::for_test(1);
        for places in [1, 2, 3, 17, 64] {
            let (mut tournament, mut times) = (Tournament::default(), vec![Time::NEVER; places as usize]);
            tournament.reset(times.len());
            for _ in 0..200 {
                for _ in 0..random.below(3) {
                    let place = random.below(places) as usize;
                    times[place] = if random.once_in(8) { Time::NEVER } else { Time(random.below(50)) };
                    tournament.set(place, times[place]);
                }
                let (first, least, second) = tournament.first();
                assert_eq!((Some(least), least), (times.iter().copied().min(), times[first]));
                assert_eq!((tournament.least(), tournament.least_but(first)), (least, second));
                for place in 0..times.len() {
                    let others = (0..times.len()).filter(|&p| p != place).map(|p| times[p]);
                    assert_eq!(tournament.least_but(place), others.min().unwrap_or(Time::NEVER));
                }
            }
        }
    }
}

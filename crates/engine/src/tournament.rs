//! The least of many times, of which one changes now and then.

use crate::Time;

/// Times by place, which play a tournament: of two neighbours the earlier goes on to the next match. A change costs
/// as many matches as it has rounds, log2 of the number of places; so does the least of all others.
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

    /// The time at `place` is `time` from now on.
    #[inline]
    pub fn set(&mut self, place: usize, time: Time) {
        let winners = &mut self.winners[..];
        let mut at = winners.len() / 2 + place;
        let mut winner = time;
        winners[at] = winner;
        while at > 1 {
            winner = winner.min(winners[at ^ 1]);
            at /= 2;
            if winners[at] == winner {
                return;
            }
            winners[at] = winner;
        }
    }

    /// The least of all.
    #[inline]
    pub fn least(&self) -> Time {
        self.winners.get(1).copied().unwrap_or(Time::NEVER)
    }

    /// Where the least is.
    #[inline]
    pub fn first(&self) -> usize {
        let winners = &self.winners[..];
        let half = winners.len() / 2;
        let mut at = 1;
        while at < half {
            at *= 2;
            at += usize::from(winners[at + 1] < winners[at]);
        }
        at - half
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
                let place = random.below(places) as usize;
                times[place] = if random.once_in(8) { Time::NEVER } else { Time(random.below(50)) };
                tournament.set(place, times[place]);
                assert_eq!(Some(tournament.least()), times.iter().copied().min());
                assert_eq!(times[tournament.first()], tournament.least());
                for place in 0..times.len() {
                    let others = (0..times.len()).filter(|&p| p != place).map(|p| times[p]);
                    assert_eq!(tournament.least_but(place), others.min().unwrap_or(Time::NEVER));
                }
            }
        }
    }
}
